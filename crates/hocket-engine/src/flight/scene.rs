//! What else happened around the workers' seats: who ran there, faults, migrations, steal time.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use hocket_machine::class;
use hocket_machine::noise::{SystemSnapshot, ThreadCounters, ThreadSnapshot};
use hocket_machine::pin::ThreadId;
use hocket_machine::switches::{Gap, Switch, SwitchWatch};
use hocket_trace::cause::Seat;
use hocket_trace::switches::{SwitchAt, Switches};

use super::EngineThreads;
use super::threads::Member;

/// Switches of one CPU that are kept.
const KEPT: usize = 1 << 14;

/// Watches the seats of a crew from an ordinary thread.
pub(super) struct Scene {
    watch: Option<SwitchWatch>,
    switches: BTreeMap<u32, VecDeque<Switch>>,
    gaps: VecDeque<Gap>,
    readings: [Reading; 2],
    limits: Vec<String>,
}

/// Counters at one moment.
#[derive(Default)]
struct Reading {
    /// By worker.
    threads: Vec<ThreadSnapshot>,
    system: Option<SystemSnapshot>,
}

impl Scene {
    /// `ring_bytes` for the switches of each CPU between two looks.
    pub(super) fn watch(crew: &EngineThreads, ring_bytes: usize) -> Scene {
        let mut limits = Vec::new();
        let watch = start_watch(crew, ring_bytes, &mut limits);
        let readings = [Reading::take(crew), Reading::take(crew)];
        limits.extend(readings[0].limit());
        let (switches, gaps) = (BTreeMap::new(), VecDeque::new());
        Scene { watch, switches, gaps, readings, limits }
    }

    /// What cannot be seen here, a sentence each.
    pub(super) fn limits(&self) -> &[String] {
        &self.limits
    }

    /// Takes in what happened since the last look.
    pub(super) fn look(&mut self, crew: &EngineThreads) {
        self.readings.swap(0, 1);
        self.readings[1] = Reading::take(crew);
        let Some(watch) = &mut self.watch else { return };
        let drained = watch.drain();
        for switch in drained.switches {
            let of_cpu = self.switches.entry(switch.cpu).or_default();
            of_cpu.push_back(switch);
            if of_cpu.len() > KEPT {
                of_cpu.pop_front();
            }
        }
        self.gaps.extend(drained.gaps);
        let surplus = self.gaps.len().saturating_sub(KEPT);
        self.gaps.drain(..surplus);
    }

    /// What happened to worker `index` and around its seat during `window`, on the monotonic clock;
    /// counts are those between the last two looks.
    pub(super) fn seat(&self, index: usize, member: &Member, window: &Range<u64>) -> Seat {
        let own = member.cpu.filter(|_| self.watch.is_some()).map(|cpu| self.on_cpu(cpu, window));
        let watched = member.beside.iter().filter(|_| self.watch.is_some());
        let [before, after] = &self.readings;
        let counters = thread_difference(before, after, index);
        let faults = |of: fn(&ThreadCounters) -> u64| counters.as_ref().map_or(0, of);
        Seat {
            lane: member.name.clone(),
            outranked: own.as_ref().map_or_else(Vec::new, |own| outranked(member, own)),
            own,
            siblings: watched.map(|cpu| self.on_cpu(*cpu, window)).collect(),
            minor_faults: faults(|counters| counters.minor_faults),
            major_faults: faults(|counters| counters.major_faults),
            migrations: faults(|counters| counters.migrations.value().copied().unwrap_or(0)),
            steal_ns: member.cpu.map_or(0, |cpu| stolen(before, after, cpu)),
        }
    }

    fn on_cpu(&self, cpu: u32, window: &Range<u64>) -> Switches {
        let since = |ns: u64| ns as i64 - window.start as i64;
        let at = |switch: &Switch| SwitchAt {
            at_ns: since(switch.at_ns),
            in_tid: switch.in_tid,
            out_tid: switch.out_tid,
            preempted: switch.preempted,
        };
        let records: Vec<SwitchAt> =
            self.switches.get(&cpu).into_iter().flatten().map(at).collect();
        let lost = self.gaps.iter().filter(|gap| gap.cpu == cpu);
        let lost: Vec<_> = lost.map(|gap| (since(gap.after_ns), since(gap.until_ns))).collect();
        let name = |tid| self.watch.as_ref()?.name_of(tid).map(str::to_owned);
        Switches::from_records(cpu, 0..since(window.end), &records, &lost, name)
    }
}

/// Threads on a worker's seat that cannot keep it away by their priority, as it is now. What a thread that has ended
/// had is not known, so it is not among them.
fn outranked(member: &Member, own: &Switches) -> Vec<i32> {
    let class = |tid| class::now_of(tid).value().copied();
    let Some(worker) = member.tid.and_then(class) else { return Vec::new() };
    let strangers = own.intervals.iter().map(|ran| ran.tid).filter(|tid| *tid > 0);
    let mut tids: Vec<i32> = strangers.collect();
    tids.sort_unstable();
    tids.dedup();
    tids.retain(|tid| {
        class(ThreadId::from_number(*tid)).is_some_and(|class| worker.outranks(&class))
    });
    tids
}

fn start_watch(
    crew: &EngineThreads,
    ring_bytes: usize,
    limits: &mut Vec<String>,
) -> Option<SwitchWatch> {
    let seats = crew.workers().iter();
    let cpus: Vec<u32> = seats.flat_map(|w| w.cpu.into_iter().chain(w.beside.clone())).collect();
    if cpus.is_empty() {
        limits.push("the workers have no seats of their own here, so nobody is watched".into());
        return None;
    }
    let threads: Vec<_> = crew.tids().collect();
    match SwitchWatch::start_best(&cpus, &threads, ring_bytes) {
        Ok(watch) => {
            limits.extend(watch.limits());
            Some(watch)
        }
        Err(error) => {
            limits.push(format!("who ran on the workers' seats is not known: {error}"));
            None
        }
    }
}

impl Reading {
    fn take(crew: &EngineThreads) -> Reading {
        let counters = |worker: &Member| match worker.tid {
            Some(tid) => ThreadSnapshot::of(tid),
            None => ThreadSnapshot(hocket_machine::Fact::Unknown("nobody leads yet".into())),
        };
        let threads = crew.workers().iter().map(counters).collect();
        Reading { threads, system: Some(SystemSnapshot::take()) }
    }

    /// Which counters are not available here, and why.
    fn limit(&self) -> Option<String> {
        let counters = self.threads.iter().find_map(|thread| thread.0.value());
        match counters {
            None => Some("the counters of the workers cannot be read".into()),
            Some(counters) => {
                let why = counters.migrations.why()?;
                Some(format!("moves of workers between CPUs are not counted: {why}"))
            }
        }
    }
}

fn thread_difference(before: &Reading, after: &Reading, index: usize) -> Option<ThreadCounters> {
    let (before, after) = (before.threads.get(index)?, after.threads.get(index)?);
    after.since(before).0.value().cloned()
}

fn stolen(before: &Reading, after: &Reading, cpu: u32) -> i64 {
    let (Some(before), Some(after)) = (&before.system, &after.system) else { return 0 };
    let since = after.since(before);
    let times = since.cpus.get(&cpu).and_then(|times| times.value());
    times.map_or(0, |times| times.steal_ns as i64)
}
