//! What else the machine did during a turn.

use hocket_engine::Engine;
use hocket_machine::facts;
use hocket_machine::noise::SystemSnapshot;
use hocket_machine::pin::{ThreadId, current_thread};
use hocket_machine::process::{self, ProcessCounters};

use crate::record::Noise;

/// Readings at the start of a turn.
pub(super) struct TurnNoise {
    system: SystemSnapshot,
    process: ProcessCounters,
    threads: Vec<(ThreadId, Option<u64>)>,
}

impl TurnNoise {
    /// For a turn of an engine, on its leader.
    pub(super) fn begin(engine: &Engine) -> TurnNoise {
        let workers = engine.reports().iter().map(|report| report.tid);
        Self::begin_for(workers.chain([current_thread()]))
    }

    /// For a turn of the calling thread alone.
    pub(super) fn begin_alone() -> TurnNoise {
        Self::begin_for([current_thread()])
    }

    fn begin_for(threads: impl IntoIterator<Item = ThreadId>) -> TurnNoise {
        let threads = threads.into_iter().map(|id| (id, switches(id))).collect();
        TurnNoise { system: SystemSnapshot::take(), process: process::counters(), threads }
    }

    /// What happened since.
    pub(super) fn end(self) -> Noise {
        let system = SystemSnapshot::take().since(&self.system);
        let own = process::counters();
        let own_cpu = difference(&own.cpu_ns, &self.process.cpu_ns);
        let all = system.all.value();
        let busy_ns = all.map(|times| times.busy_ns());
        let put_aside =
            self.threads.iter().map(|(id, before)| Some(switches(*id)?.saturating_sub((*before)?)));
        Noise {
            wall_ns: system.at_ns,
            steal_ticks: all.map(|times| times.steal_ns / TICK_NS),
            foreign_cpu_ns: busy_ns.zip(own_cpu).map(|(busy, own)| busy.saturating_sub(own)),
            involuntary_switches: put_aside.sum(),
            faults: difference(&own.faults, &self.process.faults),
            load: facts::read().load.value().map_or(f64::NAN, |load| load[0]),
        }
    }
}

/// The kernel counts steal in hundredths of a second.
const TICK_NS: u64 = 10_000_000;

fn switches(thread: ThreadId) -> Option<u64> {
    process::involuntary_switches(thread).value().copied()
}

fn difference(
    after: &hocket_machine::Fact<u64>,
    before: &hocket_machine::Fact<u64>,
) -> Option<u64> {
    Some(after.value()?.saturating_sub(*before.value()?))
}
