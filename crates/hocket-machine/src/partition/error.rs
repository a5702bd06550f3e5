//! Why there is no partition, and what would help.

use std::fmt;

use crate::cpuset::CpuSet;

use super::PartitionKind;

/// Why CPUs could not be set apart, or not be given back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartitionError {
    /// The name is not of letters, digits and dashes.
    BadName(String),
    /// No CPU was named.
    Empty,
    /// No control groups of version 2 are mounted.
    NoCgroups,
    /// The control groups there cannot limit CPUs.
    NoController {
        /// The folder that lacks it.
        place: String,
        /// Whether the controller is taken by a hierarchy of version 1.
        version_1: bool,
    },
    /// This process may not write there.
    NotAllowed {
        /// The file or folder.
        path: String,
        /// The system's reason.
        why: String,
    },
    /// This process has a partition of this name already.
    InUse(String),
    /// The group cannot hold single threads where it is.
    NotThreaded {
        /// The folder in which it was made.
        place: String,
        /// The system's reason.
        why: String,
    },
    /// The partition was made for whole processes.
    WholeProcessOnly,
    /// The kernel took the request and says that the partition is not valid.
    Invalid {
        /// What was asked.
        cpus: CpuSet,
        /// What was asked.
        kind: PartitionKind,
        /// The kernel's reason.
        reason: String,
    },
    /// The partition is valid and has other CPUs than asked.
    Partly {
        /// What was asked.
        asked: CpuSet,
        /// What it has.
        got: CpuSet,
    },
    /// A thread or process could not be moved.
    NotMoved {
        /// Its number.
        number: i32,
        /// The system's reason.
        why: String,
    },
    /// A file of the control group refused.
    Refused {
        /// Which.
        path: String,
        /// The system's reason.
        why: String,
    },
    /// What makes giving back certain could not be prepared.
    NoWayBack(String),
    /// The group is still there.
    NotRemoved {
        /// Where.
        path: String,
        /// The system's reason.
        why: String,
    },
}

impl PartitionError {
    /// What happened, without the remedy.
    pub fn why(&self) -> String {
        match self {
            Self::BadName(name) => format!("`{name}` is no name for a partition"),
            Self::Empty => "no CPU was named to set apart".into(),
            Self::NoCgroups => "no unified control groups (cgroup v2) are mounted".into(),
            Self::NoController { place, version_1: true } => format!(
                "the control groups at {place} have no cpuset controller: a hierarchy of version 1 has taken it"
            ),
            Self::NoController { place, .. } => {
                format!("the control groups at {place} have no cpuset controller")
            }
            Self::NotAllowed { path, why } => format!("{path} may not be written: {why}"),
            Self::InUse(path) => format!("this process has the partition {path} already"),
            Self::NotThreaded { place, why } => {
                format!("a group below {place} cannot hold single threads: {why}")
            }
            Self::WholeProcessOnly => {
                "a partition for the whole process cannot take single threads".into()
            }
            Self::Invalid { cpus, kind, reason } => {
                format!("CPUs {cpus} are no valid partition ({kind}): {reason}")
            }
            Self::Partly { asked, got } => {
                format!("asked for a partition of CPUs {asked}, got CPUs {got}")
            }
            Self::NotMoved { number, why } => {
                format!("thread or process {number} could not be moved: {why}")
            }
            Self::Refused { path, why } => format!("{path}: {why}"),
            Self::NoWayBack(why) => format!(
                "no CPUs were set apart, since giving them back could not be made certain: {why}"
            ),
            Self::NotRemoved { path, why } => format!("the group {path} is still there: {why}"),
        }
    }

    /// What would help, where something would.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::BadName(_) => Some("use 1 to 64 letters, digits and dashes"),
            Self::Empty => Some("name at least one, and leave one for everybody else"),
            Self::NoCgroups => Some("boot with systemd.unified_cgroup_hierarchy=1"),
            Self::NoController { version_1: true, .. } => {
                Some("boot with systemd.unified_cgroup_hierarchy=1, or with cgroup_no_v1=cpuset")
            }
            Self::NoController { .. } => Some(
                "use a kernel with CONFIG_CPUSETS=y; in a container, have the host hand the controller on",
            ),
            Self::NotAllowed { .. } => {
                Some("run as root, or let systemd make the partition (AllowedCPUs=)")
            }
            Self::InUse(_) => Some("restore it first, or choose another name"),
            Self::NotThreaded { .. } => Some(
                "put the whole process into the partition and pin its threads; single threads need a parent group \
                 that is the top, or that hands no memory or I/O controller on",
            ),
            Self::WholeProcessOnly => Some("ask for a partition that holds threads"),
            Self::Invalid { .. } => Some(
                "leave a CPU to everybody else, name CPUs that no other group has, and have a parent group that is \
                 a partition (the top always is)",
            ),
            Self::Partly { .. } => Some("name CPUs that are on line and not isolated at boot"),
            Self::NotMoved { .. } => Some(
                "move before asking for a real-time class where the kernel has CONFIG_RT_GROUP_SCHED; else run as root",
            ),
            Self::Refused { .. } => Some("partitions need Linux 5.0, isolated ones 6.1"),
            Self::NoWayBack(_) => None,
            Self::NotRemoved { .. } => Some(
                "end the processes listed in its cgroup.procs, then remove the folder with rmdir",
            ),
        }
    }
}

impl fmt::Display for PartitionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why())?;
        self.remedy().map_or(Ok(()), |remedy| write!(f, "; {remedy}"))
    }
}

impl std::error::Error for PartitionError {}
