//! Starts workers and guards, and joins them.
//!
//! A thread pins itself, requests its class and sets its float mode. Then it reports that it is ready. Only
//! after that may the leader become a real-time thread: on a CPU where a SCHED_FIFO leader spins, a new worker
//! would never run (docs/results has the figure).
//!
//! Thread: control. For what a started thread does, see [`super::life`].

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use super::life::{Job, live};
use super::seat::ThreadReport;
use crate::block::runner::Runner;

/// A running thread.
pub(crate) struct Started {
    pub handle: JoinHandle<()>,
    pub report: ThreadReport,
}

/// Starts all threads, and waits until each has reported what it obtained.
///
/// # Errors
/// The system cannot start another thread. Then this stops those that have started.
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

/// Ends all threads. A second call does nothing.
pub(crate) fn join_all(runner: &Runner, threads: &mut Vec<Started>) {
    runner.stop();
    for thread in threads.drain(..) {
        // A worker that panicked has printed so on stderr. There is nothing to save here.
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
