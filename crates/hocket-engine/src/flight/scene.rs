//! What else happened around the workers' seats: who ran there, faults, migrations, steal time.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use hocket_machine::class;
use hocket_machine::noise::{SystemSnapshot, ThreadCounters, ThreadSnapshot};
use hocket_machine::pin::{self, ThreadId};
use hocket_machine::switches::{Gap, Scope, Switch, SwitchWatch};
use hocket_trace::cause::Seat;
use hocket_trace::switches::{SwitchAt, Switches};

use super::EngineThreads;
use super::places::Places;
use super::threads::Member;

/// Switches of one CPU that are kept.
const KEPT: usize = 1 << 14;

/// Watches the seats of a crew from an ordinary thread.
pub(super) struct Scene {
    watch: Option<SwitchWatch>,
    switches: BTreeMap<u32, VecDeque<Switch>>,
    places: Places,
    /// The leader is not held to its seat.
    is_loose: bool,
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
        let (switches, gaps) = Default::default();
        let places = Places::of(crew.tids().map(ThreadId::number));
        let seat = crew.members[0].cpu;
        let is_loose = roams_on(crew).iter().any(|cpu| Some(*cpu) != seat);
        Scene { watch, switches, places, is_loose, gaps, readings, limits }
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
        self.places.learn(&drained.switches, &drained.wakes);
        for switch in drained.switches {
            let of_cpu = self.switches.entry(switch.cpu).or_default();
            if of_cpu.len() >= KEPT {
                of_cpu.pop_front();
            }
            of_cpu.push_back(switch);
        }
        self.gaps.extend(drained.gaps);
        let surplus = self.gaps.len().saturating_sub(KEPT);
        self.gaps.drain(..surplus);
    }

    /// What happened to worker `index` of a crew and around its seat during `window`, on the monotonic clock, in which the
    /// leader began at `awake_ns`; counts are those between the last two looks.
    pub(super) fn seat(
        &self,
        index: usize,
        crew: &EngineThreads,
        (window, awake_ns): (&Range<u64>, u64),
    ) -> Seat {
        let member = &crew.workers()[index];
        let is_watched = self.watch.is_some();
        // The leader certainly ran then. Where the records do not say so, they say nothing of it.
        let is_loose = index == 0 && (self.is_loose || member.cpu.is_none());
        let is_seen = |tid: ThreadId| self.places.is_seen(tid.number(), awake_ns);
        let is_watched = is_watched && (!is_loose || member.tid.is_some_and(is_seen));
        let parts = if is_watched { self.parts(member, window) } else { Vec::new() };
        let cpu = parts.last().map(|(_, cpu)| *cpu);
        let beside = self.beside(member, cpu, crew);
        let own = cpu.map(|cpu| self.on_seat(cpu, &parts, window));
        let woken = member.tid.filter(|_| is_watched);
        let woken = woken.and_then(|tid| self.places.woken_before(tid.number(), awake_ns));
        let [before, after] = &self.readings;
        let counters = thread_difference(before, after, index);
        let faults = |of: fn(&ThreadCounters) -> u64| counters.as_ref().map_or(0, of);
        Seat {
            lane: member.name.clone(),
            outranked: own.as_ref().map_or_else(Vec::new, |own| outranked(member, own)),
            own,
            siblings: beside.iter().map(|cpu| self.on_cpu(*cpu, window, window.start)).collect(),
            woken_ns: woken.map(|(at_ns, _)| at_ns as i64 - window.start as i64),
            woken_by: woken.and_then(|(_, by)| by),
            minor_faults: faults(|counters| counters.minor_faults),
            major_faults: faults(|counters| counters.major_faults),
            migrations: faults(|counters| counters.migrations.value().copied().unwrap_or(0)),
            steal_ns: cpu.or(member.cpu).map_or(0, |cpu| stolen(before, after, cpu)),
        }
    }

    /// Where it ran in each part of a window, or else where it sits.
    fn parts(&self, member: &Member, window: &Range<u64>) -> Vec<(Range<u64>, u32)> {
        let seen = member.tid.map(|tid| self.places.in_window(tid.number(), window));
        let seat = || member.cpu.map(|cpu| (window.clone(), cpu)).into_iter().collect();
        seen.filter(|parts| !parts.is_empty()).unwrap_or_else(seat)
    }

    /// Who ran on a seat that was on these CPUs, on `cpu` at last.
    fn on_seat(&self, cpu: u32, parts: &[(Range<u64>, u32)], window: &Range<u64>) -> Switches {
        let mut own = Switches { cpu, ..Switches::default() };
        for (part, cpu) in parts {
            let Switches { intervals, unknown, .. } = self.on_cpu(*cpu, part, window.start);
            own.intervals.extend(intervals);
            own.unknown.extend(unknown);
        }
        own
    }

    /// The CPUs beside that one which are watched.
    fn beside(&self, member: &Member, cpu: Option<u32>, crew: &EngineThreads) -> Vec<u32> {
        let Some(cpu) = cpu else { return Vec::new() };
        let beside = match member.cpu == Some(cpu) {
            true => &member.beside,
            false => crew.cores.get(&cpu).unwrap_or(&member.beside),
        };
        beside.clone()
    }

    /// Who ran on a CPU during `window`, in times since `zero_ns`.
    fn on_cpu(&self, cpu: u32, window: &Range<u64>, zero_ns: u64) -> Switches {
        let since = |ns: u64| ns as i64 - zero_ns as i64;
        let at = |switch: &Switch| SwitchAt {
            at_ns: since(switch.at_ns),
            in_tid: switch.in_tid,
            out_tid: switch.out_tid,
            preempted: switch.preempted,
        };
        let kept = self.switches.get(&cpu);
        let records = kept.into_iter().flat_map(|kept| kept.range(around(kept, window)));
        let records: Vec<SwitchAt> = records.map(at).collect();
        let lost = self.gaps.iter().filter(|gap| gap.cpu == cpu && gap.until_ns > window.start);
        let lost: Vec<_> = lost.map(|gap| (since(gap.after_ns), since(gap.until_ns))).collect();
        let name = |tid| self.watch.as_ref()?.name_of(tid).map(str::to_owned);
        Switches::from_records(cpu, since(window.start)..since(window.end), &records, &lost, name)
    }
}

/// The records that say who ran in a window: those in it, and the ones right before and after. A ring keeps seconds, and a
/// block takes milliseconds.
fn around(kept: &VecDeque<Switch>, window: &Range<u64>) -> Range<usize> {
    let first = kept.partition_point(|switch| switch.at_ns < window.start);
    let behind = kept.partition_point(|switch| switch.at_ns < window.end);
    first.saturating_sub(1)..(behind + 1).min(kept.len())
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

/// CPUs beside the seats that are watched because the leader may run there. Each takes a ring, and its switches are read.
const MOST_ROAMED: usize = 32;

/// The CPUs on which a leader may run that is not held to its seat.
fn roams_on(crew: &EngineThreads) -> Vec<u32> {
    let leader = &crew.members[0];
    let cpus = leader.tid.and_then(|tid| pin::affinity_of_thread(tid).ok());
    cpus.map_or_else(Vec::new, |cpus| cpus.iter().collect())
}

fn start_watch(
    crew: &EngineThreads,
    ring_bytes: usize,
    limits: &mut Vec<String>,
) -> Option<SwitchWatch> {
    let seats = crew.workers().iter();
    let seats: Vec<u32> = seats.flat_map(|w| w.cpu.into_iter().chain(w.beside.clone())).collect();
    let roams: Vec<u32> =
        roams_on(crew).into_iter().filter(|cpu| !seats.contains(cpu)).take(MOST_ROAMED).collect();
    let all = [seats.clone(), roams.clone()].concat();
    if all.is_empty() {
        limits.push("the workers have no seats of their own here, so nobody is watched".into());
        return None;
    }
    let threads: Vec<_> = crew.tids().collect();
    let mut watch = SwitchWatch::start_best(&all, &threads, ring_bytes);
    if let (Err(why), false, false) = (&watch, seats.is_empty(), roams.is_empty()) {
        let limit = format!("only the workers' seats are watched, wherever the leader runs: {why}");
        watch = SwitchWatch::start_best(&seats, &threads, ring_bytes);
        limits.extend(watch.is_ok().then_some(limit));
    }
    match watch {
        Ok(watch) => Some(with_wakes(watch, crew, limits)),
        Err(error) => {
            limits.push(format!("who ran on the workers' seats is not known: {error}"));
            None
        }
    }
}

/// The same, and also when the leader is woken up. Where only threads are watched, that has been told.
fn with_wakes(
    mut watch: SwitchWatch,
    crew: &EngineThreads,
    limits: &mut Vec<String>,
) -> SwitchWatch {
    limits.extend(watch.limits());
    if let (Some(leader), Scope::Cpus(_)) = (crew.members[0].tid, watch.scope())
        && let Err(why) = watch.add_wakes(leader)
    {
        limits.push(format!("when the leader was woken up is not known: {why}"));
    }
    watch
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

#[cfg(test)]
mod tests {
    use super::*;

    fn switch(at_ns: u64) -> Switch {
        let of = |ns: u64| Some((ns % 7) as i32);
        Switch {
            cpu: 0,
            at_ns,
            in_tid: of(at_ns),
            out_tid: of(at_ns / 3),
            preempted: at_ns.is_multiple_of(2),
        }
    }

    fn seen<'a>(records: impl Iterator<Item = &'a Switch>, window: &Range<u64>) -> Switches {
        let at = |switch: &Switch| SwitchAt {
            at_ns: switch.at_ns as i64,
            in_tid: switch.in_tid,
            out_tid: switch.out_tid,
            preempted: switch.preempted,
        };
        let records: Vec<SwitchAt> = records.map(at).collect();
        let window = window.start as i64..window.end as i64;
        Switches::from_records(0, window, &records, &[], |_| None)
    }

    #[test]
    fn records_around_a_window_say_as_much_of_it_as_all() {
        let kept: VecDeque<Switch> = (0..60).map(|number| switch(100 + number * 11)).collect();
        for start in 0..900 {
            for length in [1, 10, 30, 300, 900] {
                let window = start..start + length;
                let few = seen(kept.range(around(&kept, &window)), &window);
                assert_eq!(few, seen(kept.iter(), &window), "{window:?}");
            }
        }
        assert_eq!(around(&VecDeque::new(), &(3..9)), 0..0);
    }
}
