//! Hardware counters of a variant's leader and workers, over whole turns.
//!
//! The thread that measures opens, starts and reads them, between blocks: nothing is added to the block path. One group of
//! events counts per turn, so that all of its events count all the time; the next turn has the next group.

use std::sync::Arc;

use hocket_engine::{Engine, ThreadReport};
use hocket_machine::CpuSet;
use hocket_machine::counters::{Core, CoreEvents, CountingPlan, EventSet, OpenEventSet, Reading};
use hocket_machine::pin::ThreadId;

use crate::record::{Counted, CountedGroup, NotCounted};

/// The counters of one variant.
pub(super) struct Counting {
    threads: Option<Vec<Counter>>,
    /// The number of the next turn; modulo the number of groups it is the group's.
    turn: usize,
    open: Vec<(Counter, OpenEventSet)>,
    found: Counted,
}

/// A thread, and what is counted of it.
#[derive(Clone)]
struct Counter {
    name: String,
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
}

impl Counting {
    /// For a variant; process starts count different groups first (`seed` differs by one between them), because each of
    /// them may have fewer turns than there are groups.
    pub(super) fn new(seed: u64) -> Counting {
        let found = Counted::default();
        Counting { threads: None, turn: seed as usize, open: Vec::new(), found }
    }

    /// Opens this turn's group for every thread, on the thread that will lead, whose report is `leader`.
    pub(super) fn begin_turn(&mut self, engine: &Engine, leader: &ThreadReport) {
        if self.threads.is_none() {
            let reports: Vec<&ThreadReport> =
                std::iter::once(leader).chain(workers(engine)).collect();
            self.threads = Some(self.look_up(&reports));
        }
        self.open.clear();
        for thread in self.threads.iter().flatten() {
            let set = self.turn % thread.plan.sets.len();
            let counter = Counter { set, ..thread.clone() };
            match counter.set().open(counter.id) {
                Ok(open) => self.open.push((counter, open)),
                Err(why) => limit(&mut self.found, format!("{}: {why}", thread.name)),
            }
        }
        self.turn = self.turn.wrapping_add(1);
    }

    /// After the warm-up.
    pub(super) fn start(&mut self) {
        let found = &mut self.found;
        self.open.retain(|(counter, open)| match open.start() {
            Ok(()) => true,
            Err(why) => {
                limit(found, format!("{}: {why}", counter.name));
                false
            }
        });
    }

    /// Reads what a turn counted; keeps it if the turn is `whole`.
    pub(super) fn end_turn(&mut self, whole: bool) {
        // All stop before the first is read: reading takes time in which workers look for work.
        let stopped = self.open.iter().map(|(_, open)| open.stop()).collect::<Vec<_>>();
        for ((counter, mut open), stopped) in self.open.drain(..).zip(stopped) {
            let read = stopped.and_then(|()| open.read().map_err(|why| why.to_string()));
            match read {
                Ok(reading) if whole => {
                    let groups = vec![counter.counted(reading)];
                    self.found.add(Counted { groups, ..Counted::default() });
                }
                Ok(_) => {}
                Err(why) => {
                    let set = counter.set();
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
    fn look_up(&mut self, reports: &[&ThreadReport]) -> Vec<Counter> {
        let here = match CoreEvents::here() {
            Ok(here) => here,
            Err(why) => {
                limit(&mut self.found, why);
                return Vec::new();
            }
        };
        let mut plans: Vec<(&'static Core, Result<Arc<CountingPlan>, String>)> = Vec::new();
        let mut all = Vec::new();
        for report in reports {
            let cpus = report.cpus_got.parse::<CpuSet>().unwrap_or_default();
            let plan = here.core_of(cpus.iter()).and_then(|core| {
                if let Some((_, plan)) = plans.iter().find(|(known, _)| *known == core) {
                    return plan.clone();
                }
                let plan = here.plan(core).map(Arc::new);
                plans.push((core, plan.clone()));
                plan
            });
            match plan {
                Ok(plan) => {
                    let name = report.name.clone();
                    all.push(Counter { name, id: report.tid, plan, set: 0 });
                }
                Err(why) => limit(&mut self.found, why),
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
}

/// Guards only hold seats: their counts say nothing about the work.
fn workers(engine: &Engine) -> impl Iterator<Item = &ThreadReport> {
    engine.reports().iter().filter(|report| !report.name.starts_with("guard"))
}

fn limit(found: &mut Counted, why: String) {
    found.add(Counted { limits: vec![why], ..Counted::default() });
}
