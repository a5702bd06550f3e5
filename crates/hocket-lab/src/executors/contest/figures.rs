//! What the turns on a graph show, and what all graphs show together.
//!
//! Every ratio is paired by round: the median of an engine's turn by that of another's turn in the same
//! round. The best fixed schedule is chosen on one half of the rounds and judged on the other, both ways, so
//! that luck in choosing does not make it look better than it is.

use hocket_plan::ScheduleKind;

use super::play::{COUNTED, Played, Who};
use crate::stats::{Comparison, Interval, compare, median};

/// `auto` may take this much longer than the serial walk, beyond what the A/A pair shows.
const SERIAL_MARGIN: f64 = 1.03;
/// `auto` may take this much longer than the best fixed schedule.
const BEST_MARGIN: f64 = 1.05;
/// Of the bootstrap: same samples, same interval.
const SEED: u64 = 1;
/// A block counts as this many medians at most in a mean: what is longer was interrupted.
const INTERRUPTED: f64 = 2.0;

/// What one graph shows.
#[derive(Debug, Clone)]
pub(super) struct Figures {
    /// Median block of the serial walk.
    pub serial_ns: f64,
    /// The serial walk by itself: the A/A pair.
    pub again: Ratio,
    /// Each fixed schedule by the serial walk.
    pub fixed: Vec<(ScheduleKind, Ratio)>,
    pub auto_by_serial: Ratio,
    /// The same of the mean block instead of the median: it holds what trials cost.
    pub auto_by_serial_mean: f64,
    pub auto_by_best: Ratio,
    /// The best fixed schedules, the serial walk among them: by the one half of the rounds, by the other.
    pub best: [&'static str; 2],
    pub against_serial: Verdict,
    pub against_best: Verdict,
}

/// A ratio with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ratio {
    pub ratio: f64,
    pub interval: Interval,
}

/// Whether `auto` keeps its promise on a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The ratio is within its bound.
    Kept,
    /// The ratio lies above the bound, its interval does not: it may be chance.
    Exceeded,
    /// The whole interval lies above the bound.
    Broken,
}

impl Verdict {
    pub(super) fn name(self) -> &'static str {
        match self {
            Verdict::Kept => "kept",
            Verdict::Exceeded => "exceeded",
            Verdict::Broken => "broken",
        }
    }

    /// What `ratio` says about a promise to stay at or below `bound`.
    fn of(ratio: &Ratio, bound: f64) -> Verdict {
        match ratio.ratio <= bound {
            true => Verdict::Kept,
            false if ratio.interval.low <= bound => Verdict::Exceeded,
            false => Verdict::Broken,
        }
    }
}

impl Ratio {
    /// By rounds; `None` with fewer rounds than an interval needs.
    fn of(reference: &[f64], candidate: &[f64]) -> Option<Ratio> {
        let Comparison { ratio, interval, .. } = compare(reference, candidate, SEED)?;
        Some(Ratio { ratio, interval: interval? })
    }

    /// The farther end of its interval from one, in either direction: a false difference may be as large.
    fn farthest(&self) -> f64 {
        self.interval.high.max(1.0 / self.interval.low)
    }
}

impl Figures {
    /// `None` with fewer rounds than an interval needs.
    pub(super) fn of(played: &Played) -> Option<Figures> {
        let turns = |who: Who| {
            let run = played.runs.iter().find(|run| run.who == who)?;
            Some(run.block_ns.chunks(COUNTED).filter_map(median).collect::<Vec<f64>>())
        };
        let (serial, auto) = (turns(Who::Serial)?, turns(Who::Auto)?);
        let mut rivals = vec![(Who::Serial, serial.clone())];
        for who in Who::all().into_iter().filter(|who| matches!(who, Who::Fixed(_))) {
            rivals.push((who, turns(who)?));
        }
        let (best, best_turns) = best_of(&rivals)?;
        let again = Ratio::of(&serial, &turns(Who::SerialAgain)?)?;
        let auto_by_serial = Ratio::of(&serial, &auto)?;
        let auto_by_best = Ratio::of(&best_turns, &auto)?;
        Some(Figures {
            serial_ns: median(&serial)?,
            fixed: fixed(&rivals)?,
            auto_by_serial_mean: mean_of(played, Who::Auto)? / mean_of(played, Who::Serial)?,
            best,
            against_serial: Verdict::of(&auto_by_serial, SERIAL_MARGIN * again.farthest()),
            against_best: Verdict::of(&auto_by_best, BEST_MARGIN),
            again,
            auto_by_serial,
            auto_by_best,
        })
    }
}

/// Each fixed schedule by the serial walk, which is the first of `rivals`.
fn fixed(rivals: &[(Who, Vec<f64>)]) -> Option<Vec<(ScheduleKind, Ratio)>> {
    let (_, serial) = rivals.first()?;
    let kind = |(who, turns): &(Who, Vec<f64>)| match who {
        Who::Fixed(kind) => Some(Ratio::of(serial, turns).map(|ratio| (*kind, ratio))),
        _ => None,
    };
    rivals.iter().filter_map(kind).collect()
}

/// The best of `rivals` by the even rounds and by the odd ones; and in each round the turn of the one that
/// is the best by the other half. Neighbours lie in different halves, so both saw the same drift.
fn best_of(rivals: &[(Who, Vec<f64>)]) -> Option<([&'static str; 2], Vec<f64>)> {
    let best = [best_in(rivals, 0)?, best_in(rivals, 1)?];
    let rounds = rivals.iter().map(|(_, turns)| turns.len()).min()?;
    let turns = (0..rounds).map(|round| rivals[best[1 - round % 2]].1[round]).collect();
    Some((best.map(|place| rivals[place].0.name()), turns))
}

/// The place of the rival with the shortest turns among the rounds of this half.
fn best_in(rivals: &[(Who, Vec<f64>)], half: usize) -> Option<usize> {
    let typical = |turns: &Vec<f64>| {
        let own: Vec<f64> = turns.iter().skip(half).step_by(2).copied().collect();
        median(&own).unwrap_or(f64::INFINITY)
    };
    (0..rivals.len()).min_by(|a, b| typical(&rivals[*a].1).total_cmp(&typical(&rivals[*b].1)))
}

/// The mean block, interruptions cut.
fn mean_of(played: &Played, who: Who) -> Option<f64> {
    let blocks = &played.runs.iter().find(|run| run.who == who)?.block_ns;
    let most = INTERRUPTED * median(blocks)?;
    Some(blocks.iter().map(|ns| ns.min(most)).sum::<f64>() / blocks.len() as f64)
}

/// What all graphs show together.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Summary {
    pub graphs: usize,
    /// Graphs on which several workers were best, by both halves.
    pub parallel_pays: usize,
    /// Graphs on which the interval of the A/A pair does not hold one: 5 in 100 do so by chance.
    pub again_differs: usize,
    /// The median graph's `auto` by serial, and `auto` by the best fixed schedule.
    pub typical: [f64; 2],
    /// Against the serial walk, and against the best fixed schedule.
    pub promises: [Promise; 2],
}

/// How often `auto` keeps a promise.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Promise {
    /// What it promises.
    pub words: &'static str,
    /// Graphs whose ratio lies above the bound, the broken ones among them.
    pub exceeded: usize,
    /// Graphs whose whole interval lies above the bound.
    pub broken: usize,
    /// The largest ratios, the worst first.
    pub worst: Vec<(String, f64)>,
}

/// How many of the worst are named.
const NAMED: usize = 5;

impl Summary {
    /// Of graphs by name.
    pub(super) fn of<'a>(all: impl Iterator<Item = (&'a str, &'a Figures)>) -> Summary {
        let all: Vec<_> = all.collect();
        let count = |is: &dyn Fn(&Figures) -> bool| all.iter().filter(|(_, f)| is(f)).count();
        let serial = Who::Serial.name();
        let typical = |of: &dyn Fn(&Figures) -> f64| {
            median(&all.iter().map(|(_, f)| of(f)).collect::<Vec<_>>()).unwrap_or(f64::NAN)
        };
        Summary {
            graphs: all.len(),
            parallel_pays: count(&|f| f.best.iter().all(|best| *best != serial)),
            again_differs: count(&|f| !f.again.interval.contains(1.0)),
            typical: [typical(&|f| f.auto_by_serial.ratio), typical(&|f| f.auto_by_best.ratio)],
            promises: [
                Promise::of(
                    "above the serial walk by more than 3 % beyond the A/A interval",
                    &all,
                    |f| (f.auto_by_serial.ratio, f.against_serial),
                ),
                Promise::of("above the best fixed schedule by more than 5 %", &all, |f| {
                    (f.auto_by_best.ratio, f.against_best)
                }),
            ],
        }
    }
}

impl Promise {
    fn of(
        words: &'static str,
        all: &[(&str, &Figures)],
        judged: impl Fn(&Figures) -> (f64, Verdict),
    ) -> Promise {
        let verdicts: Vec<Verdict> = all.iter().map(|(_, figures)| judged(figures).1).collect();
        let count =
            |is: fn(&Verdict) -> bool| verdicts.iter().filter(|verdict| is(verdict)).count();
        let mut worst: Vec<(String, f64)> =
            all.iter().map(|(name, figures)| ((*name).to_owned(), judged(figures).0)).collect();
        worst.sort_by(|a, b| b.1.total_cmp(&a.1));
        worst.truncate(NAMED);
        Promise {
            words,
            exceeded: count(|verdict| *verdict != Verdict::Kept),
            broken: count(|verdict| *verdict == Verdict::Broken),
            worst,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::play::Run;
    use super::*;

    const ROUNDS: usize = 24;

    /// What a machine does to turns: how far each deviates, how much of that the next one of the engine keeps, how often one
    /// is disturbed.
    struct Noise {
        name: &'static str,
        own: f64,
        memory: f64,
        stall: f64,
    }

    const CALM: Noise = Noise { name: "calm", own: 0.0, memory: 0.0, stall: 0.0 };

    /// Everybody's turns take `us(who)` with 1 % of noise in each block and a drift that all share.
    fn played(name: &str, us: impl Fn(Who) -> f64) -> Played {
        noisy(&CALM, 3, name, us)
    }

    fn noisy(noise: &Noise, seed: u64, name: &str, us: impl Fn(Who) -> f64) -> Played {
        let mut rng = crate::stats::Rng::new(seed);
        // Of turns, so that it changes no block.
        let mut between = crate::stats::Rng::new(!seed);
        let fresh = (1.0 - noise.memory * noise.memory).sqrt();
        let mut run = |who: Who| {
            let mut own = 0.0;
            let mut turn = || {
                own = noise.memory * own + fresh * between.normal();
                let stall = if between.unit() < noise.stall { 1.5 } else { 1.0 };
                (noise.own * own).exp() * stall
            };
            let turns: Vec<f64> = (0..ROUNDS).map(|_| turn()).collect();
            let block = |index: usize| {
                let drift = 1.0 + (index / COUNTED) as f64 / ROUNDS as f64;
                let turn = turns[index / COUNTED];
                1000.0 * us(who) * drift * turn * (1.0 + 0.01 * rng.normal())
            };
            let block_ns = (0..ROUNDS * COUNTED).map(block).collect();
            Run { who, block_ns, came: vec![1.0], plan: (ScheduleKind::Serial, 1) }
        };
        Played {
            graph: name.into(),
            words: String::new(),
            about: serde_json::Value::Null,
            runs: Who::all().into_iter().map(&mut run).collect(),
            threads: Vec::new(),
        }
    }

    /// A graph on which `steal` takes `steal_us`, the other fixed schedules 150, and the serial walk 100.
    fn figures(steal_us: f64, auto_us: f64) -> Figures {
        let us = |who| match who {
            Who::Serial | Who::SerialAgain => 100.0,
            Who::Fixed(ScheduleKind::Steal) => steal_us,
            Who::Fixed(_) => 150.0,
            Who::Auto => auto_us,
        };
        Figures::of(&played("made up", us)).unwrap()
    }

    #[test]
    fn ratios_are_those_of_the_turns() {
        let figures = figures(60.0, 66.0);
        assert_eq!(figures.best, ["steal", "steal"]);
        assert!((figures.auto_by_serial.ratio - 0.66).abs() < 0.01, "{figures:?}");
        assert!((figures.auto_by_serial_mean - 0.66).abs() < 0.01, "{figures:?}");
        assert!((figures.auto_by_best.ratio - 1.1).abs() < 0.01, "{figures:?}");
        assert!((figures.again.ratio - 1.0).abs() < 0.01, "{figures:?}");
        let kinds: Vec<_> = figures.fixed.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, ScheduleKind::ALL[1..]);
        assert_eq!(
            (figures.against_serial, figures.against_best),
            (Verdict::Kept, Verdict::Broken)
        );
    }

    #[test]
    fn the_serial_walk_is_one_of_the_fixed_schedules() {
        let slower = figures(140.0, 140.0);
        assert_eq!(slower.best, ["serial", "serial"]);
        assert_eq!(
            (slower.against_serial, slower.against_best),
            (Verdict::Broken, Verdict::Broken)
        );
        let kept = figures(140.0, 101.0);
        assert_eq!((kept.against_serial, kept.against_best), (Verdict::Kept, Verdict::Kept));
    }

    #[test]
    fn what_the_pair_differs_by_is_allowed_for() {
        let again = |low, high| Ratio { ratio: 1.0, interval: Interval { low, high } };
        assert_eq!(again(0.98, 1.01).farthest(), 1.0 / 0.98);
        assert_eq!(again(0.99, 1.05).farthest(), 1.05);
        let ratio = Ratio { ratio: 1.06, interval: Interval { low: 1.04, high: 1.08 } };
        assert_eq!(Verdict::of(&ratio, 1.03), Verdict::Broken);
        assert_eq!(Verdict::of(&ratio, 1.05), Verdict::Exceeded);
        assert_eq!(Verdict::of(&ratio, 1.07), Verdict::Kept);
    }

    #[test]
    fn luck_in_choosing_does_not_help_the_best() {
        // Five rivals that differ by nothing but noise of 10 %: the shortest of all rounds is too short by
        // 3 % or so; judged on the other half it is as long as everybody.
        let mut rng = crate::stats::Rng::new(11);
        let mut off = 0.0;
        for _ in 0..200 {
            let mut turns = || (0..ROUNDS).map(|_| (0.1 * rng.normal()).exp()).collect::<Vec<_>>();
            let rivals: Vec<_> = Who::all().into_iter().map(|who| (who, turns())).collect();
            let (_, best) = best_of(&rivals).unwrap();
            off += median(&best).unwrap().ln() / 200.0;
        }
        assert!(off.abs() < 0.01, "{off}");
    }

    /// How many of so many graphs are called broken, against the serial walk and against the best, if `auto` takes so many
    /// times as long as the serial walk, which is the best.
    fn broken(noise: &Noise, auto: f64, graphs: u64) -> [usize; 2] {
        let us = |who| match who {
            Who::Serial | Who::SerialAgain => 100.0,
            Who::Fixed(_) => 150.0,
            Who::Auto => 100.0 * auto,
        };
        let verdicts: Vec<[Verdict; 2]> = (0..graphs)
            .filter_map(|seed| Figures::of(&noisy(noise, seed, "made up", us)))
            .map(|figures| [figures.against_serial, figures.against_best])
            .collect();
        assert_eq!(verdicts.len() as u64, graphs);
        [0, 1].map(|at| verdicts.iter().filter(|it| it[at] == Verdict::Broken).count())
    }

    /// On the bound itself as well: there a verdict that only looked at the ratio would be wrong in every second case.
    #[test]
    fn a_promise_that_is_kept_is_called_broken_on_at_most_five_per_cent_of_graphs() {
        const GRAPHS: u64 = 40;
        let noises = [
            CALM,
            Noise { name: "white", own: 0.03, ..CALM },
            Noise { name: "AR(1) 0.5", own: 0.03, memory: 0.5, ..CALM },
            Noise { name: "stalls", own: 0.02, stall: 0.15, ..CALM },
        ];
        let mut all = [0; 2];
        for noise in &noises {
            let equal = broken(noise, 1.0, GRAPHS);
            // The A/A pair allows for more than the margin of the serial walk, never for less.
            let bounds =
                [broken(noise, SERIAL_MARGIN, GRAPHS)[0], broken(noise, BEST_MARGIN, GRAPHS)[1]];
            println!("{:10} equal {equal:?}, on the bounds {bounds:?} of {GRAPHS}", noise.name);
            assert_eq!(equal, [0, 0], "{}", noise.name);
            (all[0], all[1]) = (all[0] + bounds[0], all[1] + bounds[1]);
        }
        let n = (GRAPHS * noises.len() as u64) as f64;
        // So many are the most that 5 % give in all but one of 1000 cases.
        let most = 0.05 * n + 3.09 * (n * 0.05 * 0.95).sqrt();
        assert!(all.iter().all(|count| *count as f64 <= most), "{all:?} of {n}");
        let found = broken(&noises[1], 1.25, GRAPHS);
        assert!(found.iter().all(|count| *count as f64 > 0.85 * GRAPHS as f64), "{found:?}");
    }

    #[test]
    fn a_summary_counts_and_names_the_worst() {
        let all =
            [("a", figures(60.0, 60.0)), ("b", figures(60.0, 80.0)), ("c", figures(150.0, 130.0))];
        let summary = Summary::of(all.iter().map(|(name, figures)| (*name, figures)));
        assert_eq!((summary.graphs, summary.parallel_pays), (3, 2));
        let [serial, best] = &summary.promises;
        assert_eq!((serial.exceeded, serial.broken), (1, 1));
        assert_eq!((best.exceeded, best.broken), (2, 2));
        assert_eq!(serial.worst[0].0, "c");
        assert_eq!(
            best.worst.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
            ["b", "c", "a"]
        );
    }

    #[test]
    fn too_few_rounds_give_no_figures() {
        let mut played = played("short", |_| 100.0);
        played.runs.iter_mut().for_each(|run| run.block_ns.truncate(5 * COUNTED));
        assert!(Figures::of(&played).is_none());
    }
}
