//! CPUs reserved for this process: a control group whose cpuset is a partition.
//!
//! The CPUs of a partition belong to its threads alone: no thread of another group runs there, and the scheduler
//! balances load inside it only ([`PartitionKind::Root`]) or not at all ([`PartitionKind::Isolated`]). With both seats of
//! a core in it, no stranger runs on a sibling. Interrupts and the kernel's threads for single CPUs still do.
//!
//! # Who can be put there
//! - [`Holds::Process`]: the whole process, wherever it is now. The group is made at the top of the hierarchy, so its
//!   parent is the root, which is always a partition. Threads that must not disturb the workers are pinned to a part of
//!   the CPUs ([`crate::pin::confine_process`]): no thread of the process can leave the partition alone.
//! - [`Holds::Threads`]: single threads, the others stay where they are. Control groups (version 2) separate the threads
//!   of a process only inside a *threaded* subtree, so the group is made below the group that the process is in. That
//!   works where this is the top of the hierarchy (containers and small systems without a service manager). Elsewhere
//!   the kernel asks for two things that a service manager rarely grants: no memory or I/O controller handed on by that
//!   group, and that it is a partition itself (or has `cpuset.cpus.exclusive`, from Linux 6.7 on). What it misses is in
//!   [`PartitionError::NotThreaded`] and [`PartitionError::Invalid`].
//!
//! # Order
//! Move, then pin: moving takes a thread's pinning away or narrows it. With CONFIG_RT_GROUP_SCHED and the `cpu`
//! controller on, move before asking for a real-time class. SMT first: CPUs that go off line leave the partition.
//!
//! # Undoing
//! Dropping a [`Partition`] moves everybody back, gives the CPUs back and removes the group. If the process is killed, a
//! process of its own does that (see [`crate::smt`]); if both are killed, [`Cgroups::left_behind`] finds the group. The
//! cpuset controller, once switched on for the groups below a group, stays on: without settings it does nothing.
//!
//! Rights: root, or write access to the folder of the parent group; whether a group is a partition is decided by its
//! parent's owner and cannot be delegated. Source: the kernel's `Documentation/admin-guide/cgroup-v2.rst`, sections
//! "Threads" and "Cpuset Interface Files".

mod error;
mod group;

use std::fmt;
use std::path::Path;

use serde::Serialize;

use crate::cpuset::CpuSet;
use crate::fact::Fact;
use crate::kernel_files::KernelFiles;
use crate::pin::ThreadId;
use crate::sys;

pub use error::PartitionError;
use group::Group;
pub use group::LeftGroup;

/// How the CPUs of a partition are scheduled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PartitionKind {
    /// The scheduler balances threads among the CPUs of the partition.
    Root,
    /// It does not: every thread stays where it is, so each has to be pinned. From Linux 6.1 on.
    Isolated,
}

impl fmt::Display for PartitionKind {
    /// The kernel's word.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Root => "root",
            Self::Isolated => "isolated",
        })
    }
}

/// Who is to be put into a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Holds {
    /// The whole process.
    Process,
    /// Single threads of it.
    Threads,
}

/// What the kernel says of a group's cpuset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PartitionState {
    /// No partition.
    Member,
    /// A valid partition.
    Valid(PartitionKind),
    /// Asked to be a partition, and not one; with the kernel's reason.
    Invalid(String),
    /// A word this version of Hocket does not know.
    Other(String),
}

impl PartitionState {
    /// From the text of `cpuset.cpus.partition`.
    pub fn of(text: &str) -> Self {
        match text {
            "member" => Self::Member,
            "root" => Self::Valid(PartitionKind::Root),
            "isolated" => Self::Valid(PartitionKind::Isolated),
            _ => text
                .split_once(" invalid")
                .map_or_else(|| Self::Other(text.into()), |(_, why)| Self::Invalid(reason(why))),
        }
    }
}

/// The kernel's reason without its brackets; kernels before 6.1 give none.
fn reason(text: &str) -> String {
    let inner = text.trim().trim_start_matches('(').trim_end_matches(')');
    if inner.is_empty() { "the kernel gives no reason".into() } else { inner.into() }
}

/// Where control groups are found: below a root, so that a test can have its own.
#[derive(Debug, Clone)]
pub struct Cgroups {
    files: KernelFiles,
}

impl Cgroups {
    /// Those of the running system.
    pub fn live() -> Self {
        Self::of(&KernelFiles::live())
    }

    pub(crate) fn of(files: &KernelFiles) -> Self {
        Self { files: files.clone() }
    }

    /// A tree with the folders `proc` and `sys` below `root`.
    pub fn at(root: &Path) -> Self {
        Self::of(&KernelFiles::at(root))
    }

    /// Whether a partition could be made here, as far as can be known without making one: the folder it would be in.
    ///
    /// Thread: any. Cost: some small files. Nothing is changed.
    ///
    /// # Errors
    /// [`PartitionError::NoCgroups`], [`PartitionError::NoController`], [`PartitionError::NotAllowed`].
    pub fn may_partition(&self, holds: Holds) -> Result<String, PartitionError> {
        let place = self.place(holds)?;
        self.check_controller(&place)?;
        let subtree = format!("{place}/cgroup.subtree_control");
        for path in [place.as_str(), &subtree] {
            sys::may_write(&self.files.path(path)).map_err(|e| PartitionError::NotAllowed {
                path: format!("/{path}"),
                why: crate::kernel_files::plain(&e),
            })?;
        }
        Ok(format!("/{place}"))
    }

    /// Groups that killed processes of Hocket have left; call it at every start. Cost: two folders.
    ///
    /// A group is left behind when the process whose number is in its name is gone.
    pub fn left_behind(&self) -> Vec<LeftGroup> {
        let places = [Holds::Process, Holds::Threads].map(|holds| self.place(holds).ok());
        let [top, own] = places;
        let own = own.filter(|own| Some(own) != top.as_ref());
        let found = [top, own].into_iter().flatten();
        found.flat_map(|place| group::left_in(&self.files, &place)).collect()
    }

    /// The folder, relative to the root, in which the group is made.
    fn place(&self, holds: Holds) -> Result<String, PartitionError> {
        let (mount, own) =
            crate::grants::cgroup_v2(&self.files).ok_or(PartitionError::NoCgroups)?;
        let below = if holds == Holds::Threads { own.as_str() } else { "" };
        Ok(format!("{mount}{below}").trim_matches('/').to_string())
    }

    fn check_controller(&self, place: &str) -> Result<(), PartitionError> {
        let controllers =
            self.files.text(&format!("{place}/cgroup.controllers")).unwrap_or_default();
        if has_word(&controllers, "cpuset") {
            return Ok(());
        }
        let groups = self.files.text("proc/self/cgroup").unwrap_or_default();
        let version_1 = groups.lines().any(|line| line.split(':').nth(1).is_some_and(is_cpuset));
        Err(PartitionError::NoController { place: format!("/{place}"), version_1 })
    }

    /// Makes the kernel pass the cpuset controller on to the groups below `place`.
    fn enable_controller(&self, place: &str) -> Result<(), PartitionError> {
        let file = format!("{place}/cgroup.subtree_control");
        if !has_word(&self.files.text(&file).unwrap_or_default(), "cpuset") {
            group::write(&self.files, &file, "+cpuset")?;
        }
        Ok(())
    }
}

fn has_word(text: &str, word: &str) -> bool {
    text.split_whitespace().any(|w| w == word)
}

fn is_cpuset(controllers: &str) -> bool {
    controllers.split(',').any(|controller| controller == "cpuset")
}

/// CPUs reserved until this is dropped or [`Partition::restore`]d.
#[derive(Debug)]
#[must_use = "dropping it gives the CPUs back at once"]
pub struct Partition {
    group: Group,
    kind: PartitionKind,
    effective: Fact<CpuSet>,
}

impl Partition {
    /// Reserves `cpus` on the running machine. See [`Partition::create_in`].
    ///
    /// # Errors
    /// See [`PartitionError`]; after each of them nothing stays changed.
    pub fn create(
        name: &str,
        cpus: &CpuSet,
        kind: PartitionKind,
        holds: Holds,
    ) -> Result<Self, PartitionError> {
        Self::create_in(&Cgroups::live(), name, cpus, kind, holds)
    }

    /// Reserves `cpus`: makes the group `hocket-NAME-PROCESS` and turns it into a partition. Nobody is in it yet, but from
    /// now on no other thread may use the CPUs.
    ///
    /// `name` is of letters, digits and dashes. Thread: control, before playing. Cost: milliseconds: the scheduler
    /// builds its domains anew, for the whole machine; and a small process that waits, as in [`crate::smt`].
    ///
    /// # Errors
    /// See [`PartitionError`]; after each of them nothing stays changed.
    pub fn create_in(
        cgroups: &Cgroups,
        name: &str,
        cpus: &CpuSet,
        kind: PartitionKind,
        holds: Holds,
    ) -> Result<Self, PartitionError> {
        check_request(name, cpus)?;
        let place = cgroups.place(holds)?;
        cgroups.check_controller(&place)?;
        let home = cgroups.place(Holds::Threads)?;
        cgroups.enable_controller(&place)?;
        let group = Group::create(&cgroups.files, &place, &home, name, holds)?;
        group.write("cpuset.cpus", &cpus.to_string())?;
        group.write("cpuset.cpus.partition", &kind.to_string())?;
        let partition = Self { kind, effective: group.cpus("cpuset.cpus.effective"), group };
        partition.check(cpus)?;
        Ok(partition)
    }

    /// The CPUs that the partition has, as the kernel reported when it was made.
    pub fn effective(&self) -> &Fact<CpuSet> {
        &self.effective
    }

    /// The group's folder.
    pub fn path(&self) -> &Path {
        self.group.path()
    }

    /// What the kernel says now: a partition can become invalid later, for example when its CPUs go off line.
    ///
    /// # Errors
    /// [`PartitionError::Refused`] if the group is gone.
    pub fn state(&self) -> Result<PartitionState, PartitionError> {
        self.group.read("cpuset.cpus.partition").map(|text| PartitionState::of(&text))
    }

    /// Moves this whole process, with all its threads, into the partition, and returns the CPUs that the calling thread
    /// may use afterwards.
    ///
    /// Later threads and processes start there. Thread: control. Cost: milliseconds.
    ///
    /// # Errors
    /// [`PartitionError::NotMoved`]; in a partition for single threads it moves all of them.
    pub fn take_process(&self) -> Result<CpuSet, PartitionError> {
        self.group.take_process()
    }

    /// Moves one thread of this process into the partition and returns the CPUs that it may use afterwards.
    ///
    /// Threads that it starts later start there. Thread: control. Cost: milliseconds.
    ///
    /// # Errors
    /// [`PartitionError::WholeProcessOnly`] if it was made for the process; [`PartitionError::NotMoved`].
    pub fn take_thread(&self, thread: ThreadId) -> Result<CpuSet, PartitionError> {
        self.group.take_thread(thread)
    }

    /// The threads that are in it now.
    ///
    /// # Errors
    /// [`PartitionError::Refused`] if the group cannot be read.
    pub fn threads(&self) -> Result<Vec<ThreadId>, PartitionError> {
        Ok(self.group.numbers("cgroup.threads")?.into_iter().map(ThreadId).collect())
    }

    /// Moves everybody back to where this process was before, gives the CPUs back and removes the group.
    ///
    /// # Errors
    /// [`PartitionError::NotRemoved`]; then [`Cgroups::left_behind`] finds the group when this process has ended.
    pub fn restore(mut self) -> Result<(), PartitionError> {
        self.group.remove()
    }

    fn check(&self, asked: &CpuSet) -> Result<(), PartitionError> {
        let invalid =
            |reason| PartitionError::Invalid { cpus: asked.clone(), kind: self.kind, reason };
        match self.state()? {
            PartitionState::Valid(kind) if kind == self.kind => {}
            PartitionState::Invalid(reason) => return Err(invalid(reason)),
            other => return Err(invalid(format!("the kernel says {other:?}"))),
        }
        match self.effective.value() {
            Some(got) if got != asked => {
                Err(PartitionError::Partly { asked: asked.clone(), got: got.clone() })
            }
            _ => Ok(()),
        }
    }
}

fn check_request(name: &str, cpus: &CpuSet) -> Result<(), PartitionError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
        return Err(PartitionError::BadName(name.into()));
    }
    if cpus.is_empty() { Err(PartitionError::Empty) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_words_are_known() {
        let of = PartitionState::of;
        assert_eq!(of("member"), PartitionState::Member);
        assert_eq!(of("isolated"), PartitionState::Valid(PartitionKind::Isolated));
        let why = "Cpu list in cpuset.cpus not exclusive";
        assert_eq!(of(&format!("root invalid ({why})")), PartitionState::Invalid(why.into()));
        let none = PartitionState::Invalid("the kernel gives no reason".into());
        assert_eq!(of("root invalid"), none);
        assert_eq!(of("new"), PartitionState::Other("new".into()));
    }
}
