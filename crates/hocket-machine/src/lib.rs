//! The machine: its parts, where threads may run, their scheduling, the time, and what the system grants.
//!
//! This crate requests and reads back; it never chooses. Every request returns what the system reports *afterwards*. If
//! that is not what was requested, it comes with a reason and a remedy. A value that cannot be known is a
//! [`Fact::Unknown`] with its reason, never a zero.
//!
//! - [`topology`]: packages, cores, seats (logical CPUs), pairs (seats of one core), kinds of core, caches, memory nodes;
//!   of this machine or of one described in a file.
//! - [`pin`]: which CPUs a thread, or all threads of the process, may use.
//! - [`class`]: scheduling class and priority.
//! - [`rights`]: the best class that the system grants, directly or through a service.
//! - [`rtkit`]: whether RealtimeKit, one of these services, is installed and runs.
//! - [`memory`]: locked memory.
//! - [`cookie`], [`partition`], [`smt`]: which threads may run beside a thread. They use the kernel's core scheduling,
//!   CPUs reserved in a control group, and SMT switched off.
//! - [`changes`]: settings of the whole machine that are changed for a while and put back.
//! - [`idle_latency`]: how deep idle CPUs may sleep.
//! - [`clock`]: ticks, their rate, monotonic time, absolute sleep and how late it may end.
//! - [`float_mode`]: tiny numbers as zero.
//! - [`grants`]: what this process may do here, probed without leaving a trace.
//! - [`facts`] and [`noise`]: what a record must contain to be credible, and what disturbed a measurement.
//! - [`kernel_settings`]: what an administrator can set, and what makes audio late when it is set badly.
//! - [`switches`]: which thread ran where and when, as the kernel records it.
//!
//! The system calls are in `sys` (one file per operating system), the instructions in `arch` (one file per processor);
//! nothing above them depends on which one it is.

pub mod topology;

pub mod pin;

pub mod class;
pub mod rights;
pub mod rtkit;
pub mod memory;

pub mod cookie;
pub mod partition;
pub mod smt;
pub mod changes;
pub mod idle_latency;

pub mod clock;

pub mod float_mode;

pub mod grants;

pub mod facts;
pub mod kernel_settings;
pub mod noise;
pub mod counters;
pub mod process;
pub mod switches;

mod arch;
mod cpuset;
mod fact;
mod kernel_files;
mod note_files;
mod sys;

pub use cpuset::{CpuSet, MAX_CPUS};
pub use fact::Fact;
pub use topology::{Topology, TopologyError};
