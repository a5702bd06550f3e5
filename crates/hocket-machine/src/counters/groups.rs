//! Groups of counters of one thread: what can be counted where, opened, started, read.

use std::collections::BTreeSet;
use std::io;

use crate::kernel_files::{KernelFiles, field, plain};
use crate::pin::ThreadId;
use crate::switches;
use crate::sys::{Counts, EventGroup};

use super::events::{Code, Core, Event, Group, Model};
use super::glance::{Glance, WORDS};
use super::pmu::Pmu;
use super::ratios::{Measure, Ratio};
use super::reading::{Reading, ReadingError};

/// The kernel's number of its own events (`PERF_TYPE_SOFTWARE`).
const SOFTWARE: u32 = 1;

/// The kinds of core of this machine whose events can be counted.
#[derive(Debug, Clone)]
pub struct CoreEvents {
    units: Vec<(Pmu, &'static Core)>,
}

/// Events that are counted together on cores of one kind, and the ratios that they give: a group of the table, or
/// some of its events where the processor has too few counters.
#[derive(Debug, Clone)]
pub struct EventSet {
    /// The kind of core.
    pub core: &'static Core,
    /// The group that its events are from.
    pub group: &'static str,
    /// Its events, in the order of the counts.
    pub events: Vec<Event>,
    ratios: Vec<&'static Ratio>,
    counts: Vec<Counts>,
}

/// What can be counted on cores of one kind, set after set, and what cannot.
#[derive(Debug, Clone, Default)]
pub struct CountingPlan {
    /// Each is measured in a turn of its own.
    pub sets: Vec<EventSet>,
    /// A sentence for each measure that is not available.
    pub missing: Vec<(Measure, String)>,
}

/// A set that is open for a thread; closed on drop. It counts user code only.
#[derive(Debug)]
pub struct OpenEventSet {
    events: usize,
    group: EventGroup,
}

impl CoreEvents {
    /// What this machine has.
    ///
    /// # Errors
    /// Why there is nothing to count.
    pub fn here() -> Result<CoreEvents, String> {
        Self::of(&KernelFiles::live())
    }

    /// The same for the kernel's files below another root: a saved machine.
    ///
    /// # Errors
    /// As [`Self::here`].
    pub fn saved(root: &std::path::Path) -> Result<CoreEvents, String> {
        Self::of(&KernelFiles::at(root))
    }

    fn of(files: &KernelFiles) -> Result<CoreEvents, String> {
        let units = Pmu::all(files)?;
        let text = files.text("proc/cpuinfo").unwrap_or_default();
        let model = model(&text);
        let with_core = |pmu: Pmu| {
            let core = Core::of(model, &pmu.name);
            (pmu, core)
        };
        Ok(CoreEvents { units: units.into_iter().map(with_core).collect() })
    }

    /// The kinds of core, with the name of the unit that counts each.
    pub fn cores(&self) -> impl Iterator<Item = (&str, &'static Core)> {
        self.units.iter().map(|(pmu, core)| (&*pmu.name, *core))
    }

    /// The kind of the core that `cpus` belong to.
    ///
    /// # Errors
    /// A thread that may run on cores of several kinds has no counts of one kind.
    pub fn core_of(&self, cpus: impl IntoIterator<Item = u32>) -> Result<&'static Core, String> {
        let mut cpus = cpus.into_iter().peekable();
        let mut found = BTreeSet::new();
        if cpus.peek().is_none() || self.units.iter().all(|(pmu, _)| pmu.is_only_one()) {
            found.extend(0..self.units.len());
        }
        for cpu in cpus {
            let unit = self.units.iter().position(|(pmu, _)| pmu.covers(cpu));
            found.insert(unit.ok_or_else(|| format!("no unit counts events of CPU {cpu}"))?);
        }
        let mut found = found.into_iter();
        match (found.next(), found.next()) {
            (Some(one), None) => Ok(self.units[one].1),
            _ => {
                Err("the thread may run on cores of several kinds, whose events differ; pin it"
                    .into())
            }
        }
    }

    /// What can be counted on `core`: opens each group once for the calling thread, and closes it. A group that the
    /// processor cannot count at once is cut into sets, one per ratio.
    ///
    /// Thread: control. Cost: some system calls per event.
    ///
    /// # Errors
    /// Why nothing at all can be counted, with the remedy where there is one.
    pub fn plan(&self, core: &'static Core) -> Result<CountingPlan, String> {
        let unit = self.units.iter().find(|(_, known)| *known == core);
        let (pmu, _) = unit.ok_or_else(|| format!("no unit counts events of {}", core.name))?;
        let known = core.missing.iter().map(|(measure, why)| (*measure, (*why).to_owned()));
        let mut plan = CountingPlan { sets: Vec::new(), missing: known.collect() };
        for group in core.groups {
            plan.add(core, group, pmu);
        }
        match plan.sets.is_empty() {
            true => Err(plan.missing.pop().map_or_else(|| "no events".into(), |(_, why)| why)),
            false => Ok(plan),
        }
    }
}

impl CountingPlan {
    fn add(&mut self, core: &'static Core, group: &'static Group, pmu: &Pmu) {
        let all: Vec<&'static Ratio> = group.ratios.iter().collect();
        if let Ok(set) = EventSet::tried(core, group, all, pmu) {
            self.sets.push(set);
            return;
        }
        for ratio in group.ratios {
            match EventSet::tried(core, group, vec![ratio], pmu) {
                Ok(set) => self.sets.push(set),
                Err(why) => self.missing.push((ratio.measure, why)),
            }
        }
    }
}

impl EventSet {
    /// The events that the ratios need, and the group's first one, which leads.
    fn new(
        core: &'static Core,
        group: &'static Group,
        ratios: Vec<&'static Ratio>,
        pmu: &Pmu,
    ) -> Result<EventSet, String> {
        let needs =
            |event: &Event| ratios.iter().any(|ratio| ratio.events().any(|it| it == event.name));
        let wanted = group.events.iter().enumerate().filter(|(at, event)| *at == 0 || needs(event));
        let events: Vec<Event> = wanted.map(|(_, event)| *event).collect();
        let counts = events.iter().map(|event| pmu.counts(event)).collect::<Result<_, _>>()?;
        Ok(EventSet { core, group: group.name, events, ratios, counts })
    }

    /// The set, if this machine counts it. Only where every CPU has the same cores does the calling thread run on the
    /// right one.
    fn tried(
        core: &'static Core,
        group: &'static Group,
        ratios: Vec<&'static Ratio>,
        pmu: &Pmu,
    ) -> Result<EventSet, String> {
        let set = EventSet::new(core, group, ratios, pmu)?;
        let mut open = set.open_for(0)?;
        if pmu.is_only_one() {
            open.start()?;
            work();
            open.stop()?;
            open.read().map_err(|why| why.to_string())?;
        }
        Ok(set)
    }

    /// What the kernel counts of every thread: its CPU time, page faults, switches and moves between CPUs. Works on machines
    /// without counters, too.
    ///
    /// Thread: control. Cost: some system calls.
    ///
    /// # Errors
    /// Why not. Switches happen in the kernel, so counting them needs CAP_PERFMON, or `kernel.perf_event_paranoid` of 1.
    pub fn software() -> Result<EventSet, String> {
        let core = Core::SOFTWARE;
        let group = &core.groups[0];
        let counts = |event: &Event| match event.code {
            Code::Software(config) => {
                Ok(Counts { kind: SOFTWARE, config: [config, 0, 0], in_kernel: true })
            }
            _ => Err(format!("{} is no event of the kernel", event.name)),
        };
        let counts = group.events.iter().map(counts).collect::<Result<_, _>>()?;
        let events = group.events.to_vec();
        let set = EventSet { core, group: group.name, events, ratios: Vec::new(), counts };
        let mut open = set.open_for(0)?;
        open.start()?;
        work();
        open.stop()?;
        open.read().map_err(|why| why.to_string())?;
        Ok(set)
    }

    /// Opens the set for a thread of this process. It does not count yet.
    ///
    /// Thread: control. Cost: one system call per event.
    ///
    /// # Errors
    /// What the system refuses, and why.
    pub fn open(&self, thread: ThreadId) -> Result<OpenEventSet, String> {
        self.open_for(thread.number())
    }

    fn open_for(&self, thread: i32) -> Result<OpenEventSet, String> {
        let group = EventGroup::open(&self.counts, thread);
        let group = group.map_err(|refused| match self.core == Core::SOFTWARE {
            true => why_no_software(self.events[refused.at].name, &refused.error),
            false => why_not(self.events[refused.at].name, &refused.error),
        })?;
        Ok(OpenEventSet { events: self.events.len(), group })
    }

    /// The ratios that it gives.
    pub fn ratios(&self) -> &[&'static Ratio] {
        &self.ratios
    }
}

/// Enough for a counter of cycles to move.
fn work() {
    let sum = (0..10_000_u64).fold(0, |sum, x| std::hint::black_box(sum ^ x));
    std::hint::black_box(sum);
}

impl OpenEventSet {
    /// Counts from zero on. Cost: two system calls.
    ///
    /// # Errors
    /// What the system says.
    pub fn start(&self) -> Result<(), String> {
        self.group.start().map_err(|error| format!("the counters do not start: {}", plain(&error)))
    }

    /// Stops counting. Cost: one system call.
    ///
    /// # Errors
    /// What the system says.
    pub fn stop(&self) -> Result<(), String> {
        self.group.stop().map_err(|error| format!("the counters do not stop: {}", plain(&error)))
    }

    /// What has been counted up to now, for a difference ([`Glance::since`]); `None`: the group is not on the counters, or
    /// the system refuses.
    ///
    /// Thread: any. Cost: one system call (`read`); allocates nothing.
    pub fn glance(&self) -> Option<Glance> {
        let mut bytes = [0; 8 * WORDS];
        let length = self.group.look(&mut bytes).ok()?;
        Glance::parse(&bytes[..length], self.events)
    }

    /// What was counted since the start; only if it was counted all the time. Cost: one system call.
    ///
    /// # Errors
    /// [`ReadingError`]; a system that refuses to read counts as one without room.
    pub fn read(&mut self) -> Result<Reading, ReadingError> {
        let bytes = self.group.read().map_err(|_| ReadingError::NoRoom)?;
        Reading::parse(&bytes, self.events)?.whole()
    }
}

fn why_no_software(event: &str, error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => format!(
            "{event}: {}; it happens in the kernel, so counting it needs sysctl kernel.perf_event_paranoid=1, as root",
            switches::paranoia()
        ),
        _ => why_not(event, error),
    }
}

fn why_not(event: &str, error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) => {
            format!("{event}: this machine has no counter for it (a virtual machine without one?)")
        }
        Some(libc::EACCES | libc::EPERM) => {
            format!("{}; sysctl kernel.perf_event_paranoid=2, as root", switches::paranoia())
        }
        Some(libc::EINVAL) => {
            format!("{event}: the processor cannot count it beside the others of its group")
        }
        Some(libc::EMFILE) => "too many files are open; raise `ulimit -n`".into(),
        _ => format!("{event}: perf_event_open: {}", plain(error)),
    }
}

/// The first processor of the file; other architectures have other fields.
fn model(cpuinfo: &str) -> Option<Model<'_>> {
    let number = |name| field(cpuinfo, name)?.parse().ok();
    let vendor = field(cpuinfo, "vendor_id")?;
    Some(Model { vendor, family: number("cpu family")?, model: number("model")? })
}
