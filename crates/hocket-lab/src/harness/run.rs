//! All process starts of some experiments, one after another, kept turn by turn.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::child::{Message, Spec};
use super::layout::Layout;
use super::start::{self, Ending, Launcher};
use super::{Design, Experiment, ExperimentRun, Host, Limits, Results, Rounds, Row, Size, ledger};
use crate::stats::{MIN_ROUNDS, Rng};
use crate::store::{RunWriter, StoreError};

/// How much time there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Budget {
    /// This time per experiment, on average. Half of it is the same for each; the other half follows how long a round takes.
    Each(Duration),
    /// So much for all: what one does not use, the next ones have.
    All(Duration),
}

/// What to run.
pub struct Plan {
    /// The experiments, in this order.
    pub experiments: Vec<&'static dyn Experiment>,
    /// How thorough.
    pub size: Size,
    /// How long.
    pub budget: Budget,
    /// Where every random choice comes from.
    pub seed: u64,
    /// How the program starts itself.
    pub launcher: Launcher,
    /// From which amount a turn is flagged.
    pub limits: Limits,
    /// An experiment ends before its time when the intervals of all its ratios are at most this wide,
    /// as a ratio minus one to either side.
    pub width: f64,
}

/// Why a run ended before its end. What was kept until then stays.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The record cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An experiment contradicts itself; its author has to look.
    #[error("experiment {id}: its design is impossible: {what}")]
    Design {
        /// Which.
        id: &'static str,
        /// What is wrong.
        what: String,
    },
}

/// How far the run is; told between turns.
#[derive(Debug, Clone, Copy)]
pub struct Event<'a> {
    /// The experiment that is measured.
    pub id: &'a str,
    /// Its place among those asked for, from 0.
    pub index: usize,
    /// How many were asked for.
    pub of: usize,
    /// Time that the run has taken.
    pub elapsed: Duration,
    /// Time that it will take at most, as known now.
    pub total: Duration,
}

/// Measures everything and keeps every turn as soon as it is told.
///
/// Thread: control; it sleeps while a child measures. Ends early when `stop` becomes true; what was
/// measured is kept and `end` of the experiment says so.
///
/// # Errors
/// [`RunError`].
pub fn run(
    plan: &Plan,
    host: &Host,
    stop: &AtomicBool,
    keep: &mut RunWriter<'_>,
    mut progress: impl FnMut(Event<'_>),
) -> Result<(), RunError> {
    let started = Instant::now();
    let of = plan.experiments.len();
    let weights = Weights::of(plan, host);
    for (index, experiment) in plan.experiments.iter().enumerate() {
        if stop.load(Relaxed) {
            break;
        }
        let budget = plan.share(&weights, index, started.elapsed());
        let total = plan.total(started.elapsed(), of - index);
        let id = experiment.about().id;
        let mut tell = || progress(Event { id, index, of, elapsed: started.elapsed(), total });
        tell();
        One { plan, host, stop, experiment: *experiment, budget }.run(keep, &mut tell)?;
    }
    Ok(())
}

/// The time that is enough for a verdict of each experiment of a quick run, more or less: with less, some have too few rounds.
pub fn enough_for_verdicts(plan: &Plan, host: &Host) -> Duration {
    Duration::from_secs_f64(Weights::of(plan, host).enough())
}

/// How long an experiment takes, in seconds, more or less; nothing where it is not measurable here.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Weight {
    /// A round.
    round: f64,
    /// The least: its start, and in one process start the rounds that warm up and the one that counts.
    least: f64,
    /// Its start, and in all process starts the rounds that warm up and as many as a verdict needs.
    verdict: f64,
}

impl Weight {
    /// Of an average share among `all`: half, and what its round takes of the other halves; at most two.
    fn share_of(&self, all: &[Weight]) -> f64 {
        let rounds: f64 = all.iter().map(|weight| weight.round).sum();
        let part = if rounds > 0.0 { self.round / rounds } else { 0.0 };
        (0.5 + 0.5 * part * all.len() as f64).min(2.0)
    }
}

/// Those of a run.
struct Weights(Vec<Weight>);

impl Weights {
    fn of(plan: &Plan, host: &Host) -> Weights {
        let weight = |experiment: &&'static dyn Experiment| {
            let Ok(design) = experiment.design(host, plan.size) else { return Weight::default() };
            let round = design.turns() as f64 * experiment.turn_ms() / 1e3;
            let Rounds { processes, warm_up, .. } = design.rounds;
            let processes = processes.max(1);
            let start = experiment.start_ms() / 1e3;
            let with = |rounds: u32| start + f64::from(rounds) * round;
            let counted = (MIN_ROUNDS as u32).div_ceil(processes);
            let verdict = with(processes * (warm_up + counted));
            Weight { round, least: with(warm_up + 1), verdict }
        };
        Weights(plan.experiments.iter().map(weight).collect())
    }

    /// Of an average share of those that are not measured yet.
    fn shares(&self, index: usize) -> f64 {
        self.0[index].share_of(&self.0[index..])
    }

    /// For how long those that can be measured have to run until each has the rounds that a verdict needs.
    fn enough(&self) -> f64 {
        let measured: Vec<Weight> = self.0.iter().copied().filter(|it| it.round > 0.0).collect();
        let average = |weight: &Weight| weight.verdict / weight.share_of(&measured);
        measured.iter().map(average).fold(0.0, f64::max) * measured.len() as f64
    }

    /// What those behind it need at least.
    fn needed_after(&self, index: usize) -> Duration {
        let needed = self.0[index + 1..].iter().map(|weight| weight.least).sum();
        Duration::from_secs_f64(needed)
    }
}

impl Plan {
    /// What the experiment at `index` may take. In a quick run, an earlier one leaves the time that later ones need at least:
    /// it measures a round however short its time is. A full run has no such limit to keep, and the least that a later
    /// experiment needs may be more than all of its time.
    fn share(&self, weights: &Weights, index: usize, elapsed: Duration) -> Duration {
        let left = (weights.0.len() - index).max(1);
        let (all, most) = match self.budget {
            Budget::Each(each) => (each * weights.0.len() as u32, each * 2),
            Budget::All(all) => (all, all),
        };
        let rest = all.saturating_sub(elapsed);
        let average = rest / left as u32;
        let share = if left == 1 { average } else { average.mul_f64(weights.shares(index)) };
        let free = match self.size {
            Size::Quick => rest.saturating_sub(weights.needed_after(index)),
            Size::Full => rest,
        };
        share.min(most).min(free)
    }

    fn total(&self, elapsed: Duration, left: usize) -> Duration {
        match self.budget {
            Budget::Each(each) => {
                (each * self.experiments.len() as u32).max(elapsed + each * left as u32 / 2)
            }
            Budget::All(all) => all,
        }
    }
}

/// One experiment of a run.
struct One<'a> {
    plan: &'a Plan,
    host: &'a Host,
    stop: &'a AtomicBool,
    experiment: &'static dyn Experiment,
    budget: Duration,
}

impl One<'_> {
    fn run(&self, keep: &mut RunWriter<'_>, tell: &mut dyn FnMut()) -> Result<(), RunError> {
        let about = self.experiment.about();
        let mut run = ExperimentRun {
            definition: about.definition_digest(),
            started_at: crate::about::now(),
            ..ExperimentRun::new(about.id, self.plan.size)
        };
        match self.experiment.design(self.host, self.plan.size) {
            Err(why) => {
                run.not_measurable = Some(why.0);
                run.end = "not measurable here".into();
                keep.begin(&run)?;
            }
            Ok(design) => {
                if let Some(what) = design.fault() {
                    return Err(RunError::Design { id: about.id, what });
                }
                run.design = Some(design.clone());
                keep.begin(&run)?;
                let mut measuring = Measuring { run, rows: Vec::new() };
                self.processes(&design, &mut measuring, keep, tell)?;
                run = measuring.run;
            }
        }
        keep.finish(&run)?;
        Ok(())
    }

    /// Process start after process start, until one of the reasons to end holds.
    fn processes(
        &self,
        design: &Design,
        measuring: &mut Measuring,
        keep: &mut RunWriter<'_>,
        tell: &mut dyn FnMut(),
    ) -> Result<(), RunError> {
        let started = Instant::now();
        let mut rng = Rng::new(self.plan.seed ^ seed_of(&measuring.run.id));
        let processes = design.rounds.processes.max(1);
        let mut time_over = false;
        let looks = design.rounds.looks();
        // Relaxed: nothing is published with the flag.
        let is_ending = || self.stop.load(Relaxed);
        let folder = match self.experiment.prepare(&is_ending) {
            Ok(folder) => folder,
            Err(_) if is_ending() => {
                measuring.run.end = "interrupted".into();
                return Ok(());
            }
            Err(why) => {
                measuring.run.not_measurable = Some(why.0);
                measuring.run.end = "not measurable here".into();
                return Ok(());
            }
        };
        for process in 0..processes {
            let left = self.budget.saturating_sub(started.elapsed());
            if process > 0 && left < self.budget / (processes * 2) {
                time_over = true;
                break;
            }
            let time = left / (processes - process);
            let spec = Spec {
                folder: folder.as_ref().map(|folder| folder.path().into()),
                ..self.spec(design, process, time, &mut rng)
            };
            let ending = self.one_process(&spec, measuring, keep, tell)?;
            match ending {
                Ending::Done { time_over: over } => time_over |= over,
                Ending::NotMeasurable(why) => {
                    measuring.run.not_measurable = Some(why);
                    measuring.run.end = "not measurable here".into();
                    return Ok(());
                }
                Ending::Stopped => {
                    measuring.run.end = "interrupted".into();
                    return Ok(());
                }
                Ending::Died(why) => {
                    measuring.run.faults.push(format!("process start {process}: {why}"));
                }
            }
            let look =
                looks.as_ref().is_some_and(|looks| looks.at().contains(&(process as usize + 1)));
            if look && self.narrow_enough(measuring) {
                let percent = self.plan.width * 100.0;
                measuring.run.end = format!("every interval is within {percent:.1} %");
                return Ok(());
            }
        }
        measuring.run.end = match time_over {
            _ if measuring.rows.is_empty() => "nothing could be measured".into(),
            true => format!("time limit of {:.0} s", self.budget.as_secs_f64()),
            false => "all rounds measured".into(),
        };
        Ok(())
    }

    fn spec(&self, design: &Design, process: u32, time: Duration, rng: &mut Rng) -> Spec {
        Spec {
            experiment: self.experiment.about().id.into(),
            size: self.plan.size,
            design: design.clone(),
            process,
            seed: rng.next_u64(),
            layout: Layout::draw(rng),
            time,
            limits: self.plan.limits,
            folder: None,
        }
    }

    fn one_process(
        &self,
        spec: &Spec,
        measuring: &mut Measuring,
        keep: &mut RunWriter<'_>,
        tell: &mut dyn FnMut(),
    ) -> Result<Ending, RunError> {
        let patience =
            spec.time * 2 + self.plan.size.pick(Duration::from_secs(8), Duration::from_secs(60));
        let id = measuring.run.id.clone();
        keep.process(&id, spec.process, &spec.layout, spec.seed)?;
        let Measuring { run, rows } = measuring;
        start::run(&self.plan.launcher, spec, patience, self.stop, |message| {
            match message {
                Message::Turn(turn) => {
                    keep.rows(&id, &turn)?;
                    rows.extend(turn);
                    tell();
                }
                Message::Fault { variant, round, what } => {
                    run.faults.push(format!("{variant}, round {round}: {what}"));
                }
                _ => {}
            }
            Ok(())
        })
    }

    /// Whether all ratios of interest are known closely enough.
    fn narrow_enough(&self, measuring: &Measuring) -> bool {
        let results = Results {
            run: measuring.run.clone(),
            rows: measuring.rows.clone(),
            seed: self.plan.seed,
            historic: Vec::new(),
        };
        results.are_narrow(self.plan.width)
    }
}

/// What an experiment has come to so far.
struct Measuring {
    run: ExperimentRun,
    rows: Vec<Row>,
}

/// Experiments draw from the same seed and yet differently.
fn seed_of(id: &str) -> u64 {
    id.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

/// What the ledger cannot hold on this machine, and why; for the record of a run.
pub(crate) fn absent_from_ledger(host: &Host) -> Vec<(&'static str, String)> {
    ledger::absent(host.cpus[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an experiment takes beyond its share (compilers that build a guest, processes that start slowly, a last round that
    /// is long) is missing for the others, so that all together keep to their time.
    #[test]
    fn time_beyond_a_share_is_taken_from_those_that_follow() {
        let experiments = crate::experiments::ALL[..5].to_vec();
        let all = Duration::from_secs(50);
        let launcher = Launcher { program: "none".into(), arguments: Vec::new() };
        let (budget, limits) = (Budget::All(all), Limits::USUAL);
        let (size, seed, width) = (Size::Quick, 1, 0.0);
        let plan = Plan { experiments, size, budget, seed, launcher, limits, width };
        let weights = weighing(&[(1.0, 0.0); 5]);
        let share = |index, elapsed| plan.share(&weights, index, Duration::from_secs(elapsed));
        assert_eq!(share(0, 0), Duration::from_secs(10));
        // The first took 30 s instead: the other four share 20.
        assert_eq!(share(1, 30), Duration::from_secs(5));
        assert_eq!(share(4, 49), Duration::from_secs(1));
        assert_eq!(share(4, 60), Duration::ZERO);
    }

    /// The last ones build programs and start JVMs; nobody is behind them whose time they could take.
    #[test]
    fn what_later_experiments_need_at_least_is_kept_free() {
        let experiments = crate::experiments::ALL[..3].to_vec();
        let launcher = Launcher { program: "none".into(), arguments: Vec::new() };
        let budget = Budget::Each(Duration::from_secs(10));
        let (size, seed, width, limits) = (Size::Quick, 1, 0.0, Limits::USUAL);
        let plan = Plan { experiments, size, budget, seed, launcher, limits, width };
        let weights = weighing(&[(1.0, 1.0), (1.0, 1.0), (1.0, 18.0)]);
        let share = |index, elapsed| plan.share(&weights, index, Duration::from_secs(elapsed));
        // 30 s in all, 19 of which the others need.
        assert_eq!(share(0, 0), Duration::from_secs(10));
        assert_eq!(share(1, 10), Duration::from_secs(2));
        assert_eq!(share(2, 12), Duration::from_secs(18));
        // Whatever happened before, the last one has what it needs or what is left.
        assert_eq!(share(1, 13), Duration::ZERO);
        assert_eq!(share(2, 14), Duration::from_secs(16));
    }

    fn weighing(of: &[(f64, f64)]) -> Weights {
        let weight = |(round, least): &(f64, f64)| Weight {
            round: *round,
            least: *least,
            verdict: *round * 10.0,
        };
        Weights(of.iter().map(weight).collect())
    }

    #[test]
    fn enough_time_gives_every_share_the_rounds_of_a_verdict() {
        for rounds in [&[1.0, 1.0][..], &[0.1, 3.0, 0.5, 0.4], &[2.0], &[0.2, 0.0, 9.0]] {
            let weights = weighing(&rounds.iter().map(|round| (*round, 0.0)).collect::<Vec<_>>());
            let enough = weights.enough();
            let measured: Vec<Weight> =
                weights.0.iter().copied().filter(|it| it.round > 0.0).collect();
            let given =
                |weight: &Weight| enough / measured.len() as f64 * weight.share_of(&measured);
            assert!(
                measured.iter().all(|weight| given(weight) >= weight.verdict * 0.999),
                "{rounds:?}"
            );
            let needed: f64 = measured.iter().map(|weight| weight.verdict).sum();
            assert!(enough >= needed * 0.999 && enough <= 4.0 * needed, "{rounds:?}: {enough}");
        }
        assert_eq!(weighing(&[]).enough(), 0.0);
    }

    #[test]
    fn long_rounds_get_more_of_the_time_and_nobody_gets_less_than_half() {
        let weights = weighing(&[0.1, 3.0, 0.5, 0.4].map(|round| (round, 0.0)));
        assert!((weights.shares(0) - 0.55).abs() < 1e-9);
        assert!(weights.shares(1) > 1.6 && weights.shares(1) <= 2.0);
        assert!(weights.shares(3) == 1.0, "the last one takes what is left");
        assert!(Weights(vec![Weight::default(); 2]).shares(0) == 0.5);
    }
}
