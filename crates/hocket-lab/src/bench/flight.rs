//! Late blocks of a variant explained: watched during its turns, judged between them.

use hocket_engine::{BlockTimes, Engine, FlightDrain, FlightLog, FlightRecorder, FlightSettings};
use hocket_machine::pin::current_thread;
use hocket_trace::BlockTrace;

use super::BenchPlan;
use crate::record::{Explained, Variant};
use crate::stats;

/// Traces kept a turn, at blocks spread evenly over its last ones.
const SAMPLES_A_TURN: usize = 4;
/// Explanations kept for the record.
pub(super) const EXPLANATIONS: usize = 8;
/// Room for the thread switches of one CPU: at most some 10 000 a second, 80 bytes each.
const RING_BYTES_A_SECOND: f64 = 800_000.0;
const RING_BYTES: std::ops::RangeInclusive<usize> = (1 << 17)..=(1 << 22);

/// The recorder of a variant and what came of it.
pub(super) struct Watched {
    recorder: FlightRecorder,
    drain: FlightDrain,
    log: FlightLog,
    samples: Vec<BlockTrace>,
    limits: Vec<String>,
    ring_bytes: usize,
}

impl Watched {
    pub(super) fn new(plan: &BenchPlan, engine: &Engine) -> Watched {
        let events = (plan.blocks_per_round as usize).clamp(16, 256);
        let settings = FlightSettings { events, ..FlightSettings::default() };
        let (recorder, drain) = hocket_engine::flight::record(engine, settings);
        let blocks = (plan.blocks_per_round + plan.warm_up) as f64;
        let turn_s = blocks * f64::from(plan.frames) / f64::from(plan.rate_hz);
        let (least, most) = (*RING_BYTES.start(), *RING_BYTES.end());
        Watched {
            recorder,
            drain,
            log: FlightLog::new(EXPLANATIONS),
            samples: Vec::new(),
            limits: Vec::new(),
            ring_bytes: ((turn_s * RING_BYTES_A_SECOND) as usize).clamp(least, most),
        }
    }

    /// Before a turn, on the thread that leads, on its seat by now: all variants share the CPUs, so each is watched in
    /// its own turns only.
    pub(super) fn begin_turn(&mut self) {
        let limits = self.drain.watch(current_thread(), self.ring_bytes);
        if self.limits.is_empty() {
            self.limits = limits;
        }
    }

    /// Thread: leader, after each measured block.
    pub(super) fn note(&mut self, engine: &Engine, times: &BlockTimes) {
        self.recorder.note(engine, times);
    }

    /// After a turn; `whole`: whether it counts.
    pub(super) fn end_turn(&mut self, engine: &Engine, whole: bool) {
        let samples = self.sample(engine);
        self.recorder.end_run();
        let flights = self.drain.collect();
        self.drain.unwatch();
        if whole {
            self.log.add(flights);
            self.samples.extend(samples);
        }
    }

    fn sample(&self, engine: &Engine) -> Vec<BlockTrace> {
        let last: Vec<u64> = self.recorder.recent().map(|times| times.block).collect();
        let spread = last.iter().step_by((last.len() / SAMPLES_A_TURN).max(1));
        spread.filter_map(|block| self.recorder.trace(engine, *block)).collect()
    }

    /// Writes everything into the variant's record, whose samples are complete.
    pub(super) fn tell(mut self, record: &mut Variant) {
        record.ordinary = self.nearest_median(record);
        let worst = self.log.worst();
        record.worst = worst.map(|flight| flight.evidence.trace.clone());
        record.explained = Some(Explained {
            causes: self.log.tally().clone(),
            unexplained: record.misses().late.saturating_sub(self.log.tally().total()),
            last: self.log.last().cloned().collect(),
            worst: worst.and_then(|flight| flight.verdict.clone()),
            limits: self.limits,
        });
    }

    /// The sampled block whose duration is nearest to the variant's median.
    fn nearest_median(&mut self, variant: &Variant) -> Option<BlockTrace> {
        let durations: Vec<f64> = variant.duration_ns().map(|ns| ns as f64).collect();
        let median = stats::median(&durations)?;
        let off = |trace: &BlockTrace| (trace.duration_ns() as f64 - median).abs();
        let nearest = (0..self.samples.len())
            .min_by(|a, b| off(&self.samples[*a]).total_cmp(&off(&self.samples[*b])))?;
        Some(self.samples.swap_remove(nearest))
    }
}
