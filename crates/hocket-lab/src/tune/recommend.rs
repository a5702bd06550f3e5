//! Schedule, workers, wait and policy for each block length.

use hocket_machine::Topology;
use hocket_plan::{ScheduleKind, SiblingPolicy};
use hocket_rt::Strategy;

use super::{Recommended, Undecided};
use crate::experiments::schedules::Way;
use crate::harness::{ContrastResult, Results, ratio_told};
use crate::numbers::changed;
use crate::stats::{Comparison, Judgement, MIN_ROUNDS};

/// Ways whose blocks differ by less are equally good, whatever the interval says: other sessions
/// differ by more.
const ALIKE: f64 = 0.03;
/// The serial walk is recommended only where every other way is shown to be shorter by less than this.
const NO_GAIN: f64 = 0.10;

/// How many may work.
pub(super) struct Machine {
    seats: usize,
    cores: usize,
}

impl Machine {
    pub(super) fn of(topology: &Topology) -> Machine {
        let (seats, _) = hocket_engine::seats_of(topology);
        let mut cores: Vec<usize> = seats.seats.iter().map(|seat| seat.core).collect();
        cores.sort_unstable();
        cores.dedup();
        Machine { seats: seats.seats.len(), cores: cores.len() }
    }

    fn workers(&self, way: Way) -> usize {
        match (way.policy.schedule, way.policy.sibling) {
            (ScheduleKind::Serial, _) => 1,
            (_, SiblingPolicy::All) => self.seats,
            _ => self.cores,
        }
    }
}

/// For every block length that was measured, shortest first: what is recommended, and where nothing is.
pub(super) fn blocks(
    measured: &Results,
    protection: Option<&Results>,
    machine: &Machine,
) -> (Vec<Recommended>, Vec<Undecided>) {
    let variants = measured.designed();
    let ways: Vec<Way> = variants.iter().filter_map(Way::of).collect();
    let mut lengths: Vec<u32> = ways.iter().map(|way| way.frames).collect();
    lengths.sort_unstable();
    lengths.dedup();
    let of = |frames: u32| {
        let own: Vec<Way> = ways.iter().copied().filter(|way| way.frames == frames).collect();
        Choice { measured, ways: own }.recommended(protection, machine)
    };
    let (mut blocks, mut undecided) = (Vec::new(), Vec::new());
    for found in lengths.into_iter().filter_map(of) {
        match found {
            Ok(block) => blocks.push(block),
            Err(length) => undecided.push(length),
        }
    }
    (blocks, undecided)
}

/// The ways of one block length.
struct Choice<'a> {
    measured: &'a Results,
    ways: Vec<Way>,
}

impl Choice<'_> {
    /// `None`: the serial walk was not measured.
    fn recommended(
        &self,
        protection: Option<&Results>,
        machine: &Machine,
    ) -> Option<Result<Recommended, Undecided>> {
        let serial = *self.ways.iter().find(|way| way.policy.schedule == ScheduleKind::Serial)?;
        self.took(serial)?;
        Some(self.best(serial).map(|Best { way, mut reasons, compared }| {
            let (policy, why) = policy(protection, way, machine);
            reasons.push(why);
            Recommended {
                frames: way.frames,
                schedule: way.policy.schedule,
                workers: machine.workers(way),
                wait: way.policy.wait,
                policy,
                reasons,
                turns: compared.map_or(self.turns(serial), |c| c.rounds),
                change_percent: compared.and_then(|c| c.interval).map(|interval| {
                    [interval.low, interval.high]
                        .map(|ratio| ((ratio - 1.0) * 1000.0).round() / 10.0)
                }),
            }
        }))
    }

    /// The gentlest of those that are as short as the shortest and themselves shown to be shorter than the serial walk;
    /// the serial walk, if none can be much shorter; otherwise nothing.
    fn best(&self, serial: Way) -> Result<Best, Undecided> {
        let timed = self.ways.iter().filter_map(|way| Some((*way, self.took(*way)?)));
        let shortest = timed.min_by(|a, b| a.1.total_cmp(&b.1)).map_or(serial, |(way, _)| way);
        if shortest == serial || !self.is_shorter(serial, shortest) {
            return self.serial_or_nothing(serial);
        }
        // Not to differ from the shortest is easy for a way whose turns scatter: it has to be shorter itself.
        let alike = self.ways.iter().copied().filter(|way| self.as_good(shortest, *way));
        let alike = alike.filter(|way| self.is_shorter(serial, *way));
        let way = alike.min_by_key(|way| rank(*way)).unwrap_or(shortest);
        let reasons = self.told(serial, shortest, way);
        Ok(Best { way, reasons, compared: self.judged(serial, way).all })
    }

    /// That no way is shown to be shorter means something only where each is shown not to be.
    fn serial_or_nothing(&self, serial: Way) -> Result<Best, Undecided> {
        let others = self.ways.iter().copied().filter(|way| *way != serial);
        let compared: Vec<(Way, Option<Comparison>)> = others
            .map(|way| {
                let judged = self.judged(serial, way);
                // A ratio without a steady level denies nothing, nor does a run that could not show so much.
                let tells = judged.judgement != Judgement::Unsteady
                    && judged.floor.is_some_and(|floor| floor < NO_GAIN);
                (
                    way,
                    judged
                        .all
                        .map(|all| Comparison { interval: all.interval.filter(|_| tells), ..all }),
                )
            })
            .collect();
        // How short a way may be, as far as this run tells: any, where there are too few turns.
        let least = |(_, compared): &&(Way, Option<Comparison>)| {
            compared.and_then(|c| c.interval).map_or(0.0, |interval| interval.low)
        };
        let closest = compared.iter().min_by(|a, b| least(a).total_cmp(&least(b)));
        let us = self.us(serial);
        match closest {
            None => Ok(Best {
                way: serial,
                reasons: vec![format!("there is no other way here than the serial walk{us}")],
                compared: None,
            }),
            Some(one) if least(&one) > 1.0 - NO_GAIN => Ok(Best {
                way: serial,
                reasons: vec![format!("no way is shown to be shorter than the serial walk{us}")],
                compared: one.1,
            }),
            Some((way, compared)) => Err(self.undecided(serial, *way, *compared)),
        }
    }

    fn undecided(&self, serial: Way, way: Way, compared: Option<Comparison>) -> Undecided {
        let turns = compared.map_or(0, |c| c.rounds);
        let against = match compared {
            Some(c) => {
                format!(
                    "{} against the serial walk{}: {}",
                    named(way),
                    self.us(serial),
                    changed(&c)
                )
            }
            None => format!("{} and the serial walk were not measured in one round", named(way)),
        };
        let limit = match turns {
            1 => "1 turn of each is too few".into(),
            0..MIN_ROUNDS => format!("{turns} turns of each are too few"),
            _ => format!("{turns} turns of each leave both open"),
        };
        Undecided { frames: serial.frames, turns, why: format!("{against}; {limit}") }
    }

    fn turns(&self, way: Way) -> usize {
        self.measured.values(&way.name(), "duration").len()
    }

    fn told(&self, serial: Way, shortest: Way, best: Way) -> Vec<String> {
        let against = ratio_told(&self.judged(serial, best));
        let mut reasons = vec![format!(
            "{} takes{}, the serial walk{}: {against}",
            named(best),
            self.us(best),
            self.us(serial)
        )];
        if best != shortest {
            reasons.push(format!(
                "{} is as short within {:.0} % or what can be shown ({}), and less gentle",
                named(shortest),
                ALIKE * 100.0,
                self.us(shortest).trim()
            ));
        }
        reasons
    }

    fn took(&self, way: Way) -> Option<f64> {
        self.measured.median(&way.name(), "duration")
    }

    fn us(&self, way: Way) -> String {
        self.took(way).map_or(String::new(), |us| format!(" {us:.0} µs"))
    }

    /// The one judgement; ways are picked among all of a length for their figures.
    fn judged(&self, reference: Way, candidate: Way) -> ContrastResult {
        let others = self.ways.len().saturating_sub(1).max(1);
        self.measured.judged_of(&reference.name(), &candidate.name(), "duration", others)
    }

    /// Shown, and by enough to matter.
    fn is_shorter(&self, reference: Way, candidate: Way) -> bool {
        shorter(&self.judged(reference, candidate))
    }

    fn as_good(&self, shortest: Way, way: Way) -> bool {
        way == shortest
            || way.policy.schedule != ScheduleKind::Serial && {
                let judged = self.judged(shortest, way);
                let tells =
                    judged.judgement.is_decided() && judged.judgement != Judgement::Unsteady;
                let most = if judged.is_shown() { 1.0 + ALIKE } else { 1.1 };
                tells && judged.all.is_some_and(|c| c.ratio < most)
            }
    }
}

/// Shown, and by enough to matter.
fn shorter(judged: &ContrastResult) -> bool {
    judged.is_shown() && judged.all.is_some_and(|c| c.ratio < 1.0 - ALIKE)
}

/// What is preferred among equals: siblings left empty, waits that give the CPU or the core's units away
/// soon, schedules that follow measured costs.
fn rank(way: Way) -> impl Ord {
    let wait =
        [Strategy::Hybrid, Strategy::Umwait, Strategy::Mwaitx, Strategy::Wfe, Strategy::Tpause];
    let wait = wait.iter().position(|known| *known == way.policy.wait).unwrap_or(9);
    let kinds = [ScheduleKind::Critical, ScheduleKind::Steal, ScheduleKind::Dataflow];
    let kind = kinds.iter().position(|known| *known == way.policy.schedule).unwrap_or(9);
    (way.policy.sibling != SiblingPolicy::Off, wait, kind)
}

/// A way, why, and the comparison with the serial walk that it rests on.
struct Best {
    way: Way,
    reasons: Vec<String>,
    compared: Option<Comparison>,
}

fn named(way: Way) -> String {
    format!("{} with {}", way.policy.schedule.name(), way.policy.wait)
}

/// The sibling policy: what `protection` shows to help against load, among those that seat workers as the
/// schedule wants them.
fn policy(protection: Option<&Results>, way: Way, machine: &Machine) -> (SiblingPolicy, String) {
    let base = way.policy.sibling;
    if machine.seats == machine.cores {
        return (base, "no two usable CPUs share a core, so there is nobody to keep off".into());
    }
    let Some(results) = protection else {
        return (base, "the experiment 'protection' was not measured".into());
    };
    let like = |policy: &SiblingPolicy| (base == SiblingPolicy::All) == on_all_seats(*policy);
    let name = |policy: SiblingPolicy| format!("{} disturbed", policy.name());
    let p99 = |policy: SiblingPolicy| results.median(&name(policy), "duration-p99");
    let measured =
        |policy: &SiblingPolicy| *policy != base && like(policy) && p99(*policy).is_some();
    let others: Vec<SiblingPolicy> = SiblingPolicy::ALL.into_iter().filter(measured).collect();
    let judged = |policy: SiblingPolicy| {
        results.judged_of(&name(base), &name(policy), "duration-p99", others.len())
    };
    let enough = others.iter().all(|policy| judged(*policy).judgement.is_decided());
    let candidates = others.iter().copied().filter(|policy| shorter(&judged(*policy)));
    let best = candidates.filter_map(|p| Some((p, p99(p)?))).min_by(|a, b| a.1.total_cmp(&b.1));
    match (best, p99(base)) {
        (Some((best, us)), Some(before)) => {
            let name = best.name();
            (
                best,
                format!(
                    "under load 99 of 100 blocks take {us:.0} µs with {name}, {before:.0} µs without"
                ),
            )
        }
        _ if enough => {
            (base, "no sibling policy is shown to make blocks shorter under load".into())
        }
        _ => (base, "too few turns under load to tell whether a sibling policy helps".into()),
    }
}

fn on_all_seats(policy: SiblingPolicy) -> bool {
    use hocket_plan::CookieShape::{Engine, Pair};
    matches!(
        policy,
        SiblingPolicy::All
            | SiblingPolicy::PairBarrier
            | SiblingPolicy::Cookie(Engine)
            | SiblingPolicy::Cookie(Pair)
    )
}
