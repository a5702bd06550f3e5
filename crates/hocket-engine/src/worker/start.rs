//! Starts workers and guards, and joins them.
//!
//! A thread pins itself, asks for its class and sets its float mode before it says that it is
//! ready; only then may the leader become a real-time thread. (A worker born on a CPU where a
//! SCHED_FIFO leader spins would never get to run: docs/results has the figure.)
//!
//! Thread: control; [`super::life`] is what a started thread does.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use super::life::live;
use super::seat::ThreadReport;
use crate::block::runner::Runner;

/// What a thread does in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Runs units; the desk's index is the worker's.
    Worker,
    /// Keeps a seat busy beside a worker.
    Guard,
}

/// A thread to be started.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub name: String,
    pub role: Role,
    pub desk: usize,
    pub cpu: Option<u32>,
    pub priority: Option<u8>,
}

/// A running thread.
pub(crate) struct Started {
    pub handle: JoinHandle<()>,
    pub report: ThreadReport,
}

/// Starts all threads and waits until each has said what it got.
///
/// # Errors
/// Where the system gives no more threads; those already started are stopped.
pub(crate) fn start_all(runner: &Arc<Runner>, jobs: &[Job]) -> std::io::Result<Vec<Started>> {
    let mut started = Vec::with_capacity(jobs.len());
    for job in jobs {
        match start(runner, job) {
            Ok(thread) => started.push(thread),
            Err(error) => {
                join_all(runner, &mut started);
                return Err(error);
            }
        }
    }
    Ok(started)
}

/// Ends all threads; safe to call twice.
pub(crate) fn join_all(runner: &Runner, threads: &mut Vec<Started>) {
    runner.stop();
    for thread in threads.drain(..) {
        // A worker that panicked has said so on stderr; there is nothing to save here.
        let _ = thread.handle.join();
    }
}

fn start(runner: &Arc<Runner>, job: &Job) -> std::io::Result<Started> {
    let (ready, report): (Sender<ThreadReport>, Receiver<ThreadReport>) = channel();
    let (runner, own) = (Arc::clone(runner), job.clone());
    let handle = std::thread::Builder::new()
        .name(job.name.clone())
        .spawn(move || live(&runner, &own, &ready))?;
    let report = report.recv().map_err(|_| std::io::Error::other("a worker ended at once"))?;
    Ok(Started { handle, report })
}
