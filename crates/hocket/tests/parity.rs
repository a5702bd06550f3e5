//! Parity: the same bits for every schedule, sibling policy, wait and worker count, over block
//! sizes and sample rates, on the four example sessions; and proof that the parallel path ran.
//!
//! Seats are described (cores of two seats), so that every policy has pairs to work with and four
//! workers run on any machine. Nothing here looks at time.

use std::path::PathBuf;

use hocket::load::{LoadedSession, load_session_for_seats};
use hocket_engine::{Engine, Policy, Seating, Settings, Strategy, offline, prepare_session};
use hocket_plan::{Fusing, ScheduleKind, Seat, Seats, SiblingPolicy};

const RATES_HZ: [u32; 3] = [44_100, 48_000, 96_000];
const FRAMES: [u32; 5] = [16, 64, 127, 441, 1024];
const WORKERS: std::ops::RangeInclusive<usize> = 1..=4;
/// Long enough for every effect's look-ahead and several blocks of the longest kind.
const TOTAL_FRAMES: u64 = 2 * 1024 + 100;

/// Two cores of two seats for policies that use siblings, four for those that do not: room for
/// four workers in each, with pairs that matter.
fn seats(policy: SiblingPolicy) -> Seats {
    let cores = if policy.uses_siblings() { 2 } else { 4 };
    let seat = |seat: usize| Seat { core: seat / 2, speed: 1.0 };
    Seats { seats: (0..2 * cores).map(seat).collect() }
}

fn load(name: &str, rate_hz: u32) -> LoadedSession {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file = root.join("sessions").join(name);
    load_session_for_seats(&file, Some(rate_hz), 4).unwrap_or_else(|error| panic!("{error}"))
}

fn policies() -> Vec<Policy> {
    let mut all = Vec::new();
    for schedule in ScheduleKind::ALL {
        for sibling in SiblingPolicy::ALL {
            for wait in Strategy::ALL {
                all.push(Policy { schedule, sibling, wait });
            }
        }
    }
    all
}

/// What a run gave: the bits of both rows, and who took part.
struct Run {
    bits: Vec<u32>,
    units_elsewhere: u64,
    workers: usize,
}

fn run(session: &LoadedSession, policy: Policy, workers: usize, frames: u32) -> Run {
    let seats = seats(policy.sibling);
    let seating = Seating::described(&seats, policy.sibling, Some(workers)).unwrap();
    let prepared =
        prepare_session(&session.session, &session.media, session.rate_hz, Fusing::Chains).unwrap();
    let settings = Settings { priority: None, ..Settings::new(frames, session.rate_hz, policy) };
    let mut engine = Engine::start(prepared, settings, seating).unwrap();
    let mut bits = Vec::with_capacity(2 * TOTAL_FRAMES as usize);
    let done = offline::render(&mut engine, TOTAL_FRAMES, |rows| {
        bits.extend(rows.left.iter().zip(rows.right).flat_map(|(l, r)| [l.to_bits(), r.to_bits()]));
        Ok::<bool, ()>(true)
    });
    assert_eq!(done, Ok(TOTAL_FRAMES));
    let units_elsewhere = engine.totals().iter().skip(1).map(|worker| worker.units).sum();
    Run { bits, units_elsewhere, workers: engine.schedule().workers() }
}

/// The whole grid for one session.
fn check_grid(name: &str) {
    let (mut cells, mut parallel, mut parallel_cells) = (0, 0, 0);
    for rate_hz in RATES_HZ {
        let session = load(name, rate_hz);
        let reference = Policy {
            schedule: ScheduleKind::Serial,
            sibling: SiblingPolicy::Off,
            wait: Strategy::Futex,
        };
        // One reference for all block sizes: processors give the same bits however time is cut.
        let expected = run(&session, reference, 1, FRAMES[1]).bits;
        assert!(expected.iter().any(|bits| *bits != 0), "{name}: the reference is silent");
        for frames in FRAMES {
            for policy in policies() {
                for workers in WORKERS {
                    let run = run(&session, policy, workers, frames);
                    cells += 1;
                    assert_eq!(
                        first_difference(&run.bits, &expected),
                        None,
                        "{name}, {policy}, {workers} workers, {frames} frames, {rate_hz} Hz"
                    );
                    let is_parallel = run.workers > 1;
                    assert_eq!(is_parallel, policy.schedule != ScheduleKind::Serial && workers > 1);
                    parallel += usize::from(is_parallel);
                    parallel_cells += usize::from(run.units_elsewhere > 0);
                    if is_parallel && policy.schedule == ScheduleKind::Lists {
                        assert!(
                            run.units_elsewhere > 0,
                            "{name}, {policy}: the workers ran nothing"
                        );
                    }
                }
            }
        }
    }
    println!(
        "{name}: {cells} cells are bit-identical; in {parallel_cells} of the {parallel} parallel ones \
         other workers than the leader ran units"
    );
    // In dataflow a worker may come too late for a whole short run; that many do is a fault.
    assert!(
        parallel_cells * 4 > parallel * 3,
        "{name}: parallel in {parallel_cells} of {parallel}"
    );
}

fn first_difference(a: &[u32], b: &[u32]) -> Option<usize> {
    if a.len() != b.len() {
        return Some(a.len().min(b.len()));
    }
    a.iter().zip(b).position(|(a, b)| a != b)
}

#[test]
fn worst_case_4_is_bit_identical_over_the_grid() {
    check_grid("worst-case-4.toml");
}

#[test]
fn worst_case_8_is_bit_identical_over_the_grid() {
    check_grid("worst-case-8.toml");
}

#[test]
fn best_case_is_bit_identical_over_the_grid() {
    check_grid("best-case.toml");
}

#[test]
fn band_is_bit_identical_over_the_grid() {
    check_grid("band.toml");
}
