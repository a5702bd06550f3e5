//! `hocket bench --fill`: equalisers on the tracks, until a block takes as long as asked for.
//!
//! How long a block takes is measured as everything else is: a start of this program plays the session with so many
//! equalisers, with the first variant, and the next number comes from what it found.

use std::sync::atomic::AtomicBool;

use hocket_lab::bench::BenchPlan;
use hocket_lab::stats::median;
use hocket_plan::{Effect, EffectCatalogue, Session};
use indicatif::ProgressBar;

use super::start::Start;
use crate::cli::{BenchArgs, Fill};
use crate::failure::Failure;
use crate::load::OpenedSession;
use crate::output::{detail, note};

/// Blocks of one probe.
const BLOCKS: u64 = 200;
/// A block that takes this much longer or shorter than asked for is good enough.
const CLOSE: f64 = 0.02;
/// Each halves the distance at least nearly.
const MOST_PROBES: usize = 10;

/// Adds what [`BenchArgs::fill`] asks for to the session, and leaves the number in the arguments: each process start adds as
/// many.
///
/// # Errors
/// A session without tracks, or one whose blocks take longer already, or a time that no block has: exit code 2.
pub(super) fn fill(
    args: &mut BenchArgs,
    plan: &BenchPlan,
    opened: &mut OpenedSession,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let Some(asked) = args.fill else { return Ok(()) };
    let tracks = opened.session().tracks.len();
    if tracks == 0 {
        return Err(Failure::bad_input(
            "--fill: the session has no track that could take an effect",
        ));
    }
    let period_ns = hocket_engine::period_ns(plan.frames.into(), plan.rate_hz) as f64;
    let effects = match asked {
        Fill::Effects(effects) => effects,
        Fill::Time(ns) => find(ns, period_ns, (tracks, args, plan, opened, stop))?,
        Fill::Share(share) => {
            find(share * period_ns, period_ns, (tracks, args, plan, opened, stop))?
        }
    };
    args.fill = Some(Fill::Effects(effects));
    add(opened.session_mut(), effects);
    Ok(())
}

fn find(
    asked_ns: f64,
    period_ns: f64,
    (tracks, args, plan, opened, stop): (
        usize,
        &BenchArgs,
        &BenchPlan,
        &OpenedSession,
        &AtomicBool,
    ),
) -> Result<usize, Failure> {
    if asked_ns > period_ns {
        return Err(Failure::bad_input(format!(
            "--fill: a block of {} frames at {} Hz lasts {:.2} ms, and none that takes {:.2} ms is ever in time; ask for less, or \
             for more --frames",
            plan.frames,
            plan.rate_hz,
            period_ns / 1e6,
            asked_ns / 1e6
        )));
    }
    note("filling the session; each probe starts it once");
    let probe = |effects: usize| probe(effects, args, plan, opened, stop);
    let (effects, found_ns) = search(asked_ns, tracks, probe)?;
    let equalisers = counted(effects);
    note(format_args!(
        "filled with {equalisers}: a block takes {:.0} µs in the median, {:.0} µs were asked for; `--fill {effects}` adds as many \
         again",
        found_ns / 1e3,
        asked_ns / 1e3
    ));
    Ok(effects)
}

/// How long a block takes in the median with so many equalisers.
fn probe(
    effects: usize,
    args: &BenchArgs,
    plan: &BenchPlan,
    opened: &OpenedSession,
    stop: &AtomicBool,
) -> Result<f64, Failure> {
    let args = BenchArgs { fill: Some(Fill::Effects(effects)), ..args.clone() };
    let plan = BenchPlan {
        variants: plan.variants[..1].to_vec(),
        starts: 1,
        blocks: BLOCKS,
        blocks_per_round: BLOCKS,
        disturb: Vec::new(),
        counters: false,
        counters_per_kind: false,
        ..plan.clone()
    };
    // Only the first start of a run passes on what it says of the session.
    let place = (1, 2);
    let start = Start { plan: &plan, args: &args, text: opened.streamed_text(), place };
    let ended = start.run(stop, &ProgressBar::hidden(), 0);
    if let Some(failure) = ended.failure {
        return Err(failure);
    }
    let variant = ended.record.and_then(|record| record.variants.into_iter().next());
    let times = variant.iter().flat_map(|variant| variant.duration_ns()).map(|ns| ns as f64);
    let times: Vec<f64> = times.collect();
    let found =
        median(&times).ok_or_else(|| Failure::not_possible("--fill: a probe played no block"))?;
    detail(format_args!("{}: {:.0} µs per block", counted(effects), found / 1e3));
    Ok(found)
}

/// The number of equalisers with which a block takes about `asked_ns`, and what it takes.
fn search(
    asked_ns: f64,
    tracks: usize,
    mut time_ns: impl FnMut(usize) -> Result<f64, Failure>,
) -> Result<(usize, f64), Failure> {
    let empty = (0, time_ns(0)?);
    if empty.1 > asked_ns * (1.0 + CLOSE) {
        return Err(Failure::bad_input(format!(
            "--fill: a block of this session takes {:.0} µs as it is, {:.0} µs were asked for; ask for more, or for more --frames",
            empty.1 / 1e3,
            asked_ns / 1e3
        )));
    }
    let distance = |it: &(usize, f64)| (it.1 / asked_ns - 1.0).abs();
    if distance(&empty) <= CLOSE {
        return Ok(empty);
    }
    let (mut low, mut high) = (empty, None::<(usize, f64)>);
    let mut next = tracks;
    for _ in 0..MOST_PROBES {
        let found = (next, time_ns(next)?);
        if distance(&found) <= CLOSE {
            return Ok(found);
        }
        if found.1 < asked_ns {
            low = found;
        } else {
            high = Some(found);
        }
        let guess = line(asked_ns, low, high.unwrap_or(empty));
        next = match high {
            // What is far away is guessed badly.
            None => guess.clamp(low.0 + 1, low.0.max(tracks) * 8),
            Some(high) if high.0 - low.0 < 2 => break,
            Some(high) => guess.clamp(low.0 + 1, high.0 - 1),
        };
        if next > Fill::MOST_EFFECTS {
            return Err(Failure::bad_input(format!(
                "--fill: {} make no block of {:.0} µs; ask for less, or use a session with more in it",
                counted(Fill::MOST_EFFECTS),
                asked_ns / 1e3
            )));
        }
    }
    let nearer = |high: (usize, f64)| if distance(&high) < distance(&low) { high } else { low };
    Ok(high.map_or(low, nearer))
}

/// Where the line through two points reaches `asked_ns`.
fn line(asked_ns: f64, a: (usize, f64), b: (usize, f64)) -> usize {
    let each = (a.1 - b.1) / (a.0 as f64 - b.0 as f64);
    // Where the machine slipped, the line may fall; then the middle between the points, or far to the right.
    let right = match each > 0.0 {
        true => a.0 as f64 + (asked_ns - a.1) / each,
        false => (a.0 + b.0) as f64 / 2.0,
    };
    right.round().max(0.0) as usize
}

fn counted(effects: usize) -> String {
    match effects {
        1 => "1 equaliser more".into(),
        _ => format!("{effects} equalisers more"),
    }
}

/// Adds so many equalisers of four bands at the ends of the tracks' chains, by turns: none has two more than another.
pub(super) fn add(session: &mut Session, effects: usize) {
    let tracks = session.tracks.len();
    // What one raises, the next one on the same track lowers, so that no signal grows.
    let both = [equaliser(3.0), equaliser(-3.0)];
    for number in 0..effects {
        let chain = &mut session.tracks[number % tracks].strip.chain;
        chain.push(both[number / tracks % 2].clone());
    }
    if effects > 0 {
        session.name += &format!(", filled with {}", counted(effects));
    }
}

fn equaliser(gain_db: f32) -> Effect {
    let params = crate::load::effects().params("eq").unwrap_or_default();
    let value = |name: &str, default: f32| match name.split_once('_') {
        // Peaking.
        Some((_, "type")) => 1.0,
        Some((_, "gain_db")) => gain_db,
        _ => default,
    };
    Effect::new("eq", params.iter().map(|param| value(&param.name, param.default)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn searched(asked_ns: f64, tracks: usize, time: impl Fn(usize) -> f64) -> (usize, f64, usize) {
        let mut probes = 0;
        let found = search(asked_ns, tracks, |effects| {
            probes += 1;
            Ok(time(effects))
        });
        let (effects, ns) = found.unwrap();
        (effects, ns, probes)
    }

    #[test]
    fn a_block_takes_what_was_asked_for() {
        let time = |effects: usize| 20_000.0 + 450.0 * effects as f64;
        for (asked, tracks) in [(100_000.0, 8), (1_000_000.0, 2), (25_000.0, 30), (21_000.0, 1)] {
            let (effects, ns, probes) = searched(asked, tracks, time);
            assert!((ns / asked - 1.0).abs() < 0.03, "{asked}: {effects} take {ns}");
            assert!(probes <= MOST_PROBES + 1);
        }
        assert_eq!(searched(20_100.0, 8, time).0, 0);
    }

    #[test]
    fn a_machine_that_slips_ends_the_search_all_the_same() {
        // Every third probe takes twice as long.
        let calls = std::cell::Cell::new(0);
        let time = |effects: usize| {
            calls.set(calls.get() + 1);
            let slip = if calls.get() % 3 == 0 { 2.0 } else { 1.0 };
            slip * (20_000.0 + 450.0 * effects as f64)
        };
        let (effects, _, probes) = searched(300_000.0, 8, time);
        assert!(
            (1..Fill::MOST_EFFECTS).contains(&effects) && probes <= MOST_PROBES + 1,
            "{effects} {probes}"
        );
    }

    #[test]
    fn what_cannot_be_filled_is_refused() {
        let full = search(10_000.0, 8, |_| Ok(20_000.0)).unwrap_err();
        assert!(full.message.contains("20 µs as it is"), "{}", full.message);
        let endless = search(1e9, 8, |effects| Ok(20_000.0 + effects as f64)).unwrap_err();
        assert!(endless.message.contains("20000 equalisers"), "{}", endless.message);
    }

    #[test]
    fn equalisers_go_to_all_tracks_by_turns() {
        let track = |name: &str| hocket_plan::session::Track {
            strip: hocket_plan::session::Strip::new(name),
            output: hocket_plan::session::Destination::Master,
            clips: Vec::new(),
            input: None,
            from: None,
            notes: Vec::new(),
        };
        let mut session = Session { tracks: vec![track("a"), track("b")], ..Session::default() };
        add(&mut session, 5);
        let counts: Vec<usize> =
            session.tracks.iter().map(|track| track.strip.chain.len()).collect();
        assert_eq!(counts, [3, 2]);
        let gains: Vec<f32> = session.tracks[0].strip.chain.iter().map(|eq| eq.values[3]).collect();
        assert_eq!(gains, [3.0, -3.0, 3.0]);
        assert!(session.name.ends_with("filled with 5 equalisers more"), "{}", session.name);
    }
}
