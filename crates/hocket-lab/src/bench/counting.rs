//! Hardware counters of a variant's leader and workers, over whole turns.
//!
//! The thread that measures opens, starts and reads them, between blocks: nothing is added to the block path. One group of
//! events counts per turn, so that all of its events count all the time; the next turn has the next group.
//!
//! Counts by kind of node are the exception: the threads read the same group inside blocks, around the parts of one unit each
//! (`Engine::count_parts`). What the kernel itself counts is a further group then, so every machine has something to count.

use std::sync::Arc;

use hocket_engine::{CountedParts, Engine, PartCount, ThreadReport};
use hocket_machine::CpuSet;
use hocket_machine::counters::{Core, CoreEvents, CountingPlan, EventSet, OpenEventSet, Reading};
use hocket_machine::pin::ThreadId;

use crate::record::{Counted, CountedGroup, CountedKind, NotCounted};

/// The counters of one variant.
pub(super) struct Counting {
    threads: Option<Vec<Counter>>,
    /// The number of the next turn; modulo the number of groups it is the group's.
    turn: usize,
    open: Vec<(Counter, Option<OpenEventSet>)>,
    per_kind: bool,
    found: Counted,
}

/// A thread, and what is counted of it.
#[derive(Clone)]
struct Counter {
    name: String,
    /// Its number in the engine.
    thread: usize,
    id: ThreadId,
    plan: Arc<CountingPlan>,
    set: usize,
}

impl Counter {
    fn set(&self) -> &EventSet {
        &self.plan.sets[self.set]
    }

    /// As a record has it.
    fn counted(&self, reading: Reading) -> CountedGroup {
        let set = self.set();
        let names = set.events.iter().map(|event| event.name.to_owned());
        CountedGroup {
            thread: self.name.clone(),
            core: set.core.name.into(),
            group: set.group.into(),
            turns: 1,
            running_ns: reading.running_ns,
            counts: names.zip(reading.counts).collect(),
        }
    }

    fn counted_kind(&self, part: PartCount) -> CountedKind {
        let set = self.set();
        let names = set.events.iter().map(|event| event.name.to_owned());
        CountedKind {
            kind: part.kind,
            core: set.core.name.into(),
            group: set.group.into(),
            readings: part.readings,
            nodes: part.nodes,
            counts: names.zip(part.counts).collect(),
        }
    }

    /// As a record has it.
    fn counted_parts(&self, parts: CountedParts) -> (Counted, OpenEventSet) {
        let CountedParts { kinds, reading, refused, set } = parts;
        let kinds = kinds.into_iter().map(|part| self.counted_kind(part)).collect();
        let readings = match reading.readings {
            0 => Vec::new(),
            _ => vec![self.counted_kind(reading)],
        };
        (Counted { kinds, readings, refused, ..Counted::default() }, set)
    }
}

impl Counting {
    /// For a variant; process starts count different groups first (`seed` differs by one between them), because each of
    /// them may have fewer turns than there are groups.
    pub(super) fn new(seed: u64, per_kind: bool) -> Counting {
        let found = Counted { per_kind, ..Counted::default() };
        Counting { threads: None, turn: seed as usize, open: Vec::new(), per_kind, found }
    }

    /// Opens this turn's group for every thread, on the thread that will lead, whose report is `leader`.
    pub(super) fn begin_turn(&mut self, engine: &Engine, leader: &ThreadReport) {
        if self.threads.is_none() {
            let reports = [(0, leader)].into_iter().chain(workers(engine));
            self.threads = Some(self.look_up(reports));
        }
        self.open.clear();
        for thread in self.threads.iter().flatten() {
            let set = self.turn % thread.plan.sets.len();
            let counter = Counter { set, ..thread.clone() };
            match counter.set().open(counter.id) {
                Ok(open) => self.open.push((counter, Some(open))),
                Err(why) => limit(&mut self.found, format!("{}: {why}", thread.name)),
            }
        }
        self.turn = self.turn.wrapping_add(1);
    }

    /// After the warm-up.
    pub(super) fn start(&mut self, engine: &mut Engine) {
        let found = &mut self.found;
        self.open.retain(|(counter, open)| match open.iter().try_for_each(OpenEventSet::start) {
            Ok(()) => true,
            Err(why) => {
                limit(found, format!("{}: {why}", counter.name));
                false
            }
        });
        if self.per_kind {
            for (counter, open) in &mut self.open {
                open.take().into_iter().for_each(|open| engine.count_parts(counter.thread, open));
            }
        }
    }

    /// Reads what a turn counted; keeps it if the turn is `whole`.
    pub(super) fn end_turn(&mut self, engine: &mut Engine, whole: bool) {
        let mut parts = Counted::default();
        for (counter, open) in &mut self.open {
            if let Some(counted) = engine.counted_parts(counter.thread) {
                let (counted, set) = counter.counted_parts(counted);
                parts.add(counted);
                *open = Some(set);
            }
        }
        if whole {
            self.found.add(parts);
        }
        // All stop before the first is read: reading takes time in which workers look for work.
        let open = self.open.drain(..).filter_map(|(counter, open)| Some((counter, open?)));
        let open: Vec<_> = open.map(|(counter, open)| (counter, open.stop(), open)).collect();
        for (counter, stopped, mut open) in open {
            let set = counter.set();
            let read = stopped.and_then(|()| open.read().map_err(|why| why.to_string()));
            match read {
                // What the kernel counts makes no ratios.
                Ok(reading) if whole && set.core != Core::SOFTWARE => {
                    let groups = vec![counter.counted(reading)];
                    self.found.add(Counted { groups, ..Counted::default() });
                }
                Ok(_) => {}
                Err(why) => {
                    let what = format!("{}, {} of {}", counter.name, set.group, set.core.name);
                    limit(&mut self.found, format!("{what}: {why}"));
                }
            }
        }
    }

    pub(super) fn found(self) -> Counted {
        self.found
    }

    /// What can be counted of each thread; each kind of core is tried once.
    fn look_up<'r>(
        &mut self,
        reports: impl Iterator<Item = (usize, &'r ThreadReport)>,
    ) -> Vec<Counter> {
        let here = CoreEvents::here();
        let mut plans: Vec<(&'static Core, Result<CountingPlan, String>)> = Vec::new();
        let mut all = Vec::new();
        for (thread, report) in reports {
            let cpus = report.cpus_got.parse::<CpuSet>().unwrap_or_default();
            let plan = here.as_ref().map_err(Clone::clone).and_then(|here| {
                let core = here.core_of(cpus.iter())?;
                if let Some((_, plan)) = plans.iter().find(|(known, _)| *known == core) {
                    return plan.clone();
                }
                let plan = here.plan(core);
                plans.push((core, plan.clone()));
                plan
            });
            let plan = plan.unwrap_or_else(|why| {
                limit(&mut self.found, why);
                CountingPlan::default()
            });
            let plan = self.with_software(plan);
            if !plan.sets.is_empty() {
                let (name, plan) = (report.name.clone(), Arc::new(plan));
                all.push(Counter { name, thread, id: report.tid, plan, set: 0 });
            }
        }
        for (core, plan) in plans {
            let missing = plan.iter().flat_map(|plan| &plan.missing);
            let missing = missing.map(|(measure, why)| NotCounted {
                core: core.name.into(),
                measure: measure.name().into(),
                why: why.clone(),
            });
            let missing = missing.collect();
            self.found.add(Counted { missing, ..Counted::default() });
        }
        all
    }

    /// For counts by kind, adds what the kernel counts.
    fn with_software(&mut self, mut plan: CountingPlan) -> CountingPlan {
        if self.per_kind {
            match EventSet::software() {
                Ok(set) => plan.sets.push(set),
                Err(why) => limit(&mut self.found, why),
            }
        }
        plan
    }
}

/// Guards only hold seats: their counts say nothing about the work.
fn workers(engine: &Engine) -> impl Iterator<Item = (usize, &ThreadReport)> {
    (1..).zip(engine.reports()).filter(|(_, report)| !report.name.starts_with("guard"))
}

fn limit(found: &mut Counted, why: String) {
    found.add(Counted { limits: vec![why], ..Counted::default() });
}
