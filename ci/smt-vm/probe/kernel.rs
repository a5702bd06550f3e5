//! What the policies are made of, without the engine: whether the kernel has it and keeps its word.

use std::time::Duration;

use hocket_engine::Settings;
use hocket_machine::class::{self, Class};
use hocket_machine::partition::{Holds, Partition, PartitionKind};
use hocket_machine::pin::{self, CpuSet};
use rustix::thread::{CoreSchedulingScope, core_scheduling_cookie, create_core_scheduling_cookie};

use crate::play::spin;
use crate::stretch::Stretch;

/// As often as [`TIMES`], with as much rest between: below the kernel's bound for real-time threads.
const SPIN_NS: u64 = 20_000_000;
const TIMES: usize = 10;

/// What keeps others off the sibling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Nothing, for comparison.
    Nothing,
    /// A core-scheduling cookie.
    Cookie,
    /// A cpuset partition of the whole core.
    Partition,
}

impl By {
    /// For reports.
    pub fn name(self) -> &'static str {
        match self {
            By::Nothing => "kernel: nothing asked",
            By::Cookie => "kernel: a cookie",
            By::Partition => "kernel: a partition",
        }
    }
}

/// Works as a worker would, on the first CPU of `core` in a real-time class, in a thread of its own.
///
/// # Errors
/// What the kernel refuses, in words.
pub fn work(core: &CpuSet, by: By) -> Result<Vec<Stretch>, String> {
    let core = core.clone();
    let body = move || {
        let partition = match by {
            By::Partition => Some(set_apart(&core)?),
            _ => None,
        };
        let cpu = core.first().ok_or("a core without CPUs")?;
        pin::pin_current_thread(&CpuSet::single(cpu)).map_err(|error| error.to_string())?;
        if let Some(why) = class::request(Class::Fifo { priority: Settings::PRIORITY }).why {
            return Err(why);
        }
        if by == By::Cookie {
            take_cookie()?;
        }
        let stretches = (0..TIMES).filter_map(|_| rest_and_spin()).collect();
        partition.map_or(Ok(()), Partition::restore).map_err(|error| error.to_string())?;
        Ok(stretches)
    };
    std::thread::spawn(body).join().map_err(|_| "the thread panicked".to_owned())?
}

fn rest_and_spin() -> Option<Stretch> {
    std::thread::sleep(Duration::from_nanos(SPIN_NS));
    spin(SPIN_NS)
}

/// Gives the calling thread a cookie of its own and reads it back; by the bare call, so that a
/// mistake around it in Hocket shows as a difference.
fn take_cookie() -> Result<(), String> {
    let me = rustix::thread::gettid();
    create_core_scheduling_cookie(me, CoreSchedulingScope::Thread)
        .map_err(|error| format!("PR_SCHED_CORE_CREATE: {error}"))?;
    match core_scheduling_cookie(me, CoreSchedulingScope::Thread) {
        Ok(0) => Err("the kernel took the request and gave no cookie".into()),
        Ok(_) => Ok(()),
        Err(error) => Err(format!("PR_SCHED_CORE_GET: {error}")),
    }
}

/// Sets a core apart and moves the calling thread there.
fn set_apart(core: &CpuSet) -> Result<Partition, String> {
    let partition = Partition::create("probe", core, PartitionKind::Root, Holds::Threads)
        .map_err(|error| error.to_string())?;
    partition.take_thread(pin::current_thread()).map_err(|error| error.to_string())?;
    Ok(partition)
}
