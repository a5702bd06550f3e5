//! Rayon's threads, seated and scheduled as Hocket's workers are.
//!
//! By default the leader is a member of the pool (`use_current_thread`): a pool of N threads is the
//! leader and N - 1 more, `install` on the leader is a plain call, and while the leader waits for
//! the end of a scope it takes tasks like anybody else. That is the best a user of rayon can do from
//! a thread that an audio device calls. The other way, [`Leader::Outside`], is what comes without
//! thinking: N threads besides the leader, and `install` hands the block over to one of them and
//! sleeps until it is done, which costs two wake-ups a block.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use hocket_engine::ThreadReport;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::seats::Seats;

/// What the thread that asks for blocks is to the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Leader {
    /// One of its threads.
    Member,
    /// A stranger that waits.
    Outside,
}

/// A pool of one thread a worker.
#[derive(Debug)]
pub struct Pool {
    pool: ThreadPool,
    reports: Vec<ThreadReport>,
}

impl Pool {
    /// Starts the pool's threads and waits until each sits on its seat.
    ///
    /// Thread: the leader-to-be, still in its ordinary class: a thread born on the CPU of a
    /// SCHED_FIFO leader would not get to run. As a member the leader stays one as long as it
    /// lives, so there can be one pool a leader.
    ///
    /// # Errors
    /// No more threads to be had, or the calling thread is in a pool already.
    pub fn start(seats: &Seats, leader: Leader) -> Result<Pool, String> {
        let (workers, seats) = (seats.count(), seats.clone());
        let (ready, reports) = channel();
        let ready = Mutex::new(ready);
        let seated = move |index: usize| report(seats.settle(&name(index), index), &ready);
        let builder =
            ThreadPoolBuilder::new().num_threads(workers).thread_name(name).start_handler(seated);
        let (builder, started) = match leader {
            Leader::Member => (builder.use_current_thread(), workers - 1),
            Leader::Outside => (builder, workers),
        };
        let pool = builder.build().map_err(|error| {
            format!("rayon's pool of {workers} threads does not start: {error}; close other programs or ask for fewer workers")
        })?;
        Ok(Pool { pool, reports: gather(&reports, started)? })
    }

    /// Runs `block` inside the pool and returns when it is done.
    pub fn install(&self, block: impl FnOnce() + Send) {
        self.pool.install(block);
    }

    /// Threads, the leader included where it is a member.
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// What its threads asked for and got, by index; a leader's own report is not among them.
    pub fn reports(&self) -> &[ThreadReport] {
        &self.reports
    }
}

fn name(index: usize) -> String {
    format!("rayon {index}")
}

fn report(report: ThreadReport, ready: &Mutex<Sender<ThreadReport>>) {
    if let Ok(ready) = ready.lock() {
        // Nobody listens any more where the start was given up.
        let _ = ready.send(report);
    }
}

fn gather(reports: &Receiver<ThreadReport>, count: usize) -> Result<Vec<ThreadReport>, String> {
    let reports: Result<Vec<_>, _> = (0..count).map(|_| reports.recv()).collect();
    let mut reports = reports.map_err(|_| "a thread of rayon's pool ended at once")?;
    reports.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(reports)
}
