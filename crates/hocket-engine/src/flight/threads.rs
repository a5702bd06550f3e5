//! Who plays: the engine's threads as evidence names them.

use std::collections::BTreeMap;

use hocket_machine::pin::ThreadId;

use crate::control::engine::Engine;

/// An engine's threads, workers first, then guards.
#[derive(Debug, Clone)]
pub(crate) struct EngineThreads {
    pub members: Vec<Member>,
    /// How many of them are workers.
    pub workers: usize,
    /// The other CPUs of each core with seats, by CPU.
    pub cores: BTreeMap<u32, Vec<u32>>,
}

/// One of them.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    /// As in traces: `worker 0 (leader)`, `worker 1`, `guard of worker 0`.
    pub name: String,
    /// Where it sits; `None`: anywhere. A leader that belongs to a server runs where it likes, and workers that follow it
    /// move: [`Places`](super::places::Places) knows better.
    pub cpu: Option<u32>,
    /// `None`: the leader, before it is known who that is.
    pub tid: Option<ThreadId>,
    /// The other CPUs of its core.
    pub beside: Vec<u32>,
    /// Workers on the same core.
    pub mates: Vec<usize>,
    /// Index of its seat's kind.
    pub kind: usize,
}

impl EngineThreads {
    pub(crate) fn of(engine: &Engine) -> EngineThreads {
        let workers = engine.worker_count();
        let members = 0..engine.reports().len() + 1;
        EngineThreads {
            members: members.map(|desk| member(engine, desk, workers)).collect(),
            workers,
            cores: engine.seating().cores(),
        }
    }

    pub(crate) fn workers(&self) -> &[Member] {
        &self.members[..self.workers]
    }

    /// Numbers of those that are known.
    pub(crate) fn tids(&self) -> impl Iterator<Item = ThreadId> {
        self.members.iter().filter_map(|member| member.tid)
    }
}

fn member(engine: &Engine, desk: usize, workers: usize) -> Member {
    let seating = engine.seating();
    let report = desk.checked_sub(1).map(|index| &engine.reports()[index]);
    let worker = desk < workers;
    Member {
        name: match report {
            None => "worker 0 (leader)".into(),
            Some(report) => report.name.clone(),
        },
        cpu: report.map_or_else(|| seating.worker_cpu(0), |report| report.cpu_asked),
        tid: report.map(|report| report.tid),
        beside: if worker { seating.cpus_beside(desk) } else { Vec::new() },
        mates: (0..workers).filter(|other| worker && seating.are_mates(desk, *other)).collect(),
        kind: if worker { seating.kind_of(desk) } else { 0 },
    }
}
