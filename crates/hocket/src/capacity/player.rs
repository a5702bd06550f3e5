//! Plays so many channels, each time in a new start of this program, as `hocket bench` does.

use std::sync::atomic::AtomicBool;

use hocket_lab::bench::BenchPlan;
use hocket_lab::channels::{Played, Plays, Probe, lasting};
use hocket_lab::numbers::counted;
use hocket_lab::record::{BenchRecord, Round, ThreadGrant, Variant};
use hocket_lab::stats::{Summary, median};
use indicatif::ProgressBar;

use crate::bench::Start;
use crate::cli::BenchArgs;
use crate::failure::{Exit, Failure};
use crate::load::OpenedSession;
use crate::output::{bar, detail, note};

/// The part of a period in which a block of a probe must be ready, as a rule.
const READY: f64 = 0.9;
/// The fewest blocks of a probe.
const FEWEST: f64 = 10.0;
/// The longest process start. Memory lies elsewhere in each, so that no one place of it decides.
const START_S: f64 = 60.0;
/// A turn lasts a second, but the warm-up before it is a small part of it also where blocks are long.
const TURN_BLOCKS: u64 = 500;

/// One block length at work.
pub(super) struct Player<'a> {
    /// The way to play, without a number of copies.
    pub args: &'a BenchArgs,
    /// Its plan, of one variant.
    pub plan: &'a BenchPlan,
    /// The session as it is.
    pub opened: &'a OpenedSession,
    /// Set by Ctrl-C.
    pub stop: &'a AtomicBool,
    /// How long a probe plays.
    pub probe_s: f64,
    /// What process starts say of the session is passed on once.
    pub is_silent: bool,
    /// What each thread asked of the system, and what it got.
    pub threads: Vec<ThreadGrant>,
    /// What readers have to know, a sentence each.
    pub remarks: Vec<String>,
}

impl Plays for Player<'_> {
    type Error = Failure;

    fn probe(&mut self, channels: usize) -> Result<Probe, Failure> {
        let blocks = (self.probe_s / self.period_s()).max(FEWEST).ceil() as u64;
        let plan = BenchPlan { starts: 1, blocks, blocks_per_round: blocks, ..self.plan.clone() };
        let record = self.start(channels, &plan, &ProgressBar::hidden(), 0)?;
        let probe = probed(channels, variant(&record)?, self.period_s() * 1e9);
        let told = if probe.holds() { "holds" } else { "does not hold" };
        let load = probe.load * 100.0;
        detail(format_args!(
            "{} frames, {}: {told}, the block in the middle is ready after {load:.0} % of the period",
            self.plan.frames,
            counted(channels, "channel")
        ));
        Ok(probe)
    }

    fn run(&mut self, channels: usize, time_s: f64, hopeless: u64) -> Result<Played, Failure> {
        let frames = self.plan.frames;
        let of_channels = counted(channels, "channel");
        note(format_args!("{frames} frames: playing {of_channels} for {}", lasting(time_s)));
        let whole = self.long_plan(time_s);
        let bar = bar(whole.turns() as u64, "playing");
        let (mut sum, mut done) = (Sum::default(), 0);
        let starts = whole.of_starts();
        for (at, plan) in starts.iter().enumerate() {
            let record = self.start(channels, plan, &bar, done)?;
            done += plan.turns() as u64;
            sum.add(variant(&record)?);
            self.remarks_of(&record);
            if sum.played.misses() >= hopeless && at + 1 < starts.len() {
                sum.is_cut = true;
                break;
            }
        }
        bar.finish_and_clear();
        Ok(sum.played(channels, self.period_s()))
    }
}

impl Player<'_> {
    fn period_s(&self) -> f64 {
        f64::from(self.plan.frames) / f64::from(self.plan.rate_hz)
    }

    fn long_plan(&self, time_s: f64) -> BenchPlan {
        let blocks = (time_s / self.period_s()).ceil().max(1.0) as u64;
        let a_second = (1.0 / self.period_s()) as u64;
        let blocks_per_round = a_second.max(TURN_BLOCKS).min(blocks);
        let starts = (time_s / START_S).ceil() as usize;
        BenchPlan { starts, blocks, blocks_per_round, ..self.plan.clone() }
    }

    fn start(
        &mut self,
        channels: usize,
        plan: &BenchPlan,
        bar: &ProgressBar,
        done: u64,
    ) -> Result<BenchRecord, Failure> {
        let copies = channels - self.opened.session().tracks.len();
        let args = BenchArgs { copies: Some(copies), ..self.args.clone() };
        // Only the first start of a run passes on what it says of the session.
        let place = (usize::from(std::mem::replace(&mut self.is_silent, true)), 2);
        let start = Start { plan, args: &args, text: self.opened.streamed_text(), place };
        let ended = start.run(self.stop, bar, done);
        let about = |why: String| format!("{} frames, {channels} channels: {why}", plan.frames);
        match (ended.failure, ended.record) {
            (Some(failure), _) if failure.exit == Exit::Interrupted => Err(failure),
            (Some(failure), _) => Err(Failure { message: about(failure.message), ..failure }),
            (None, None) => Err(Failure::not_possible(about("nothing was played".into()))),
            (None, Some(record)) => {
                self.threads.clone_from(&variant(&record)?.threads);
                Ok(record)
            }
        }
    }

    /// What was not computed or not heard would make room for more channels.
    fn remarks_of(&mut self, record: &BenchRecord) {
        let units = record.contained.iter().map(|it| {
            format!(
                "{} was silenced or failed, so less was computed than the session asks for.",
                it.unit
            )
        });
        let files = record.disk.iter().map(|it| {
            format!("{} was silent for a while, because the disk did not answer in time.", it.file)
        });
        let nodes = record
            .lost_events
            .iter()
            .map(|it| format!("{} lost events, because a block has no room for more.", it.node));
        let refused = variant(record).ok().and_then(|it| it.effect_here.clone());
        let refused =
            refused.map(|why| format!("The sibling policy does not do here what it says: {why}."));
        for remark in units.chain(files).chain(nodes).chain(refused) {
            if !self.remarks.contains(&remark) {
                self.remarks.push(remark);
            }
        }
    }
}

/// The only one.
fn variant(record: &BenchRecord) -> Result<&Variant, Failure> {
    let first = record.variants.first();
    first.ok_or_else(|| {
        Failure::not_possible("a process start played nothing; start the command again")
    })
}

fn probed(channels: usize, variant: &Variant, period_ns: f64) -> Probe {
    let misses = variant.misses();
    let slack = variant.rounds.iter().flat_map(|round| &round.slack_ns);
    let tight = slack.filter(|slack| (**slack as f64) < (1.0 - READY) * period_ns).count() as u64;
    let ready: Vec<f64> = variant.ready_ns().map(|ns| ns as f64).collect();
    Probe {
        channels,
        blocks: variant.blocks(),
        late: misses.late,
        skipped: misses.skipped,
        tight,
        load: median(&ready).unwrap_or(f64::MAX) / period_ns,
    }
}

/// The process starts of a long run.
#[derive(Default)]
struct Sum {
    played: Played,
    ready_ns: Vec<i64>,
    is_cut: bool,
}

impl Sum {
    fn add(&mut self, variant: &Variant) {
        let (played, misses) = (&mut self.played, variant.misses());
        played.blocks += variant.blocks();
        played.late += misses.late;
        played.skipped += misses.skipped;
        played.turns += variant.rounds.len() as u64;
        let had_steal = |round: &&Round| round.noise.steal_ticks.is_some_and(|ticks| ticks > 0);
        for round in variant.rounds.iter().filter(had_steal) {
            played.turns_with_steal += 1;
            played.beside_steal += round.misses().total();
        }
        if let Some(explained) = &variant.explained {
            played.causes.add(&explained.causes);
            played.unexplained += explained.unexplained;
        }
        self.ready_ns.extend(variant.ready_ns());
    }

    fn played(self, channels: usize, period_s: f64) -> Played {
        let summary = Summary::of(self.ready_ns);
        let periods = self.played.blocks + self.played.skipped;
        Played {
            channels,
            played_s: periods as f64 * period_s,
            is_whole: !self.is_cut,
            ready_p99_ns: summary.map_or(0.0, |it| it.p99),
            ready_max_ns: summary.map_or(0.0, |it| it.max),
            ..self.played
        }
    }
}

#[cfg(test)]
mod tests {
    use hocket_lab::record::Noise;

    use super::*;

    /// A turn of blocks with this slack, of which the last skipped so many periods.
    fn round(slack_ns: &[i64], skipped: u64, steal: Option<u64>) -> Round {
        let blocks = slack_ns.len();
        let mut skipped_periods = vec![0; blocks];
        skipped_periods[blocks - 1] = skipped;
        Round {
            start: 0,
            round: 0,
            order: 0,
            first_block: 0,
            wakes: 0,
            blocks: blocks as u64,
            noise: Noise { steal_ticks: steal, ..Noise::default() },
            lateness_ns: vec![0; blocks],
            duration_ns: slack_ns.iter().map(|slack| 1_000_000 - slack).collect(),
            slack_ns: slack_ns.to_vec(),
            worker_awake_max_ns: Vec::new(),
            skipped_periods,
        }
    }

    fn of(rounds: Vec<Round>) -> Variant {
        Variant {
            name: "dataflow / off / hybrid".into(),
            schedule: "dataflow".into(),
            sibling: "off".into(),
            wait: "hybrid".into(),
            lanes: false,
            twin: false,
            effect_here: None,
            refused: None,
            threads: Vec::new(),
            rounds,
            disturbers: Vec::new(),
            ordinary: None,
            worst: None,
            explained: None,
            counted: None,
        }
    }

    #[test]
    fn a_probe_counts_what_is_late_and_what_is_nearly_late() {
        let variant = of(vec![round(&[600_000, 500_000, 99_999, -1], 2, None)]);
        let probe = probed(7, &variant, 1e6);
        assert_eq!((probe.late, probe.skipped, probe.tight, probe.blocks), (1, 2, 2, 4));
        assert!((probe.load - 0.70).abs() < 1e-4, "{}", probe.load);
    }

    #[test]
    fn runs_add_up_and_late_blocks_beside_steal_count() {
        let mut sum = Sum::default();
        sum.add(&of(vec![round(&[500_000; 100], 0, Some(0)), round(&[-1, 400_000], 1, Some(3))]));
        sum.add(&of(vec![round(&[-5], 0, None)]));
        let played = sum.played(9, 0.001);
        assert_eq!((played.channels, played.blocks, played.late, played.skipped), (9, 103, 2, 1));
        assert_eq!((played.turns, played.turns_with_steal, played.beside_steal), (3, 1, 2));
        assert!((played.played_s - 0.104).abs() < 1e-9 && played.is_whole, "{played:?}");
        assert_eq!(played.ready_max_ns, 1_000_005.0);
    }
}
