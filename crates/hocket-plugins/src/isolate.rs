//! Plug-ins in processes of their own: one that crashes takes nothing else with it.
//!
//! [`Isolation`] says how. [`build`] starts the program again, and that process ([`serve()`]) makes the plug-in. Both share
//! memory (`slots.rs`). What comes back is a processor whose output is one largest block late, which it declares, so a
//! block never waits for another process:
//!
//! ```text
//! engine                                     thread beside it            the plug-in's process
//! block n: takes the answers to block n - 1
//!          writes its input, SENT (I1)
//!          requests background work
//! after it: wakes the thread  -------------> wakes the process  -------> reads the input
//!                                            looks whether it lives      processes
//! block n + 1: takes the answers  <------------------------------------- writes output, DONE (I2)
//! ```
//!
//! - `processor.rs`: the engine's side inside a block.
//! - `lead.rs`: which frames of which answer are due.
//! - `keeper.rs`: the thread beside it, which wakes, watches and starts again; and the main side.
//! - `process.rs` and `mail.rs`: the process, and messages that are no blocks.
//! - `serve.rs`: the plug-in's side.
//! - `slots.rs`, `words.rs` and `memory.rs`: what lies where in the shared memory. `memory.rs` has the unsafe code.
//!
//! # What is trusted
//! Nothing that the other process writes. Each word is read once, checked, and used as a copy. A number of an answer, a
//! length or a sample that makes no sense is a fault: the process is ended and started again.
//!
//! # What happens meanwhile
//! Where an answer is not there in time, an effect is silent, and an instrument adds nothing. Each such call is counted
//! ([`MainRequests::failed`](hocket_dsp::host::MainRequests::failed)). After [`MOST_STARTS`] failures in a row the plug-in is
//! bypassed: its input passes, as late as its output was.

mod keeper;
mod lead;
mod mail;
#[allow(unsafe_code)]
mod memory;
mod process;
mod processor;
mod serve;
mod slots;
mod words;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use hocket_dsp::{Block, Processor};
use serde::{Deserialize, Serialize};

pub use serve::{AudioThread, serve};

use crate::song::SongClock;
use crate::{Description, Wanted};
use keeper::Link;
use process::{Launch, Refusal};
use processor::Isolated;

/// How often in a row a plug-in is started again. A minute of sound begins a new row.
pub const MOST_STARTS: u32 = 3;
/// The sound after which a plug-in counts as well, in seconds.
pub(crate) const WELL_S: u64 = 60;

/// A plug-in that can play without a map of tempos.
pub(crate) trait Hosted: Processor {
    /// As [`Processor::process`], with the song from elsewhere.
    fn process_told(&mut self, block: &mut Block<'_>, song: Option<SongClock<'_>>);
}

/// Who waits for whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pace {
    /// Nobody waits: an answer that is late is left out.
    RealTime,
    /// Before each block, background work waits until every answer is there or the process has ended. So the output has
    /// the bits that the plug-in has without isolation in runs of at most 256 frames, one largest block later. A plug-in whose
    /// output does not depend on the length of its runs has the same bits in blocks of any length. Only for engines that are
    /// offline (`Engine::set_offline`).
    Offline,
}

/// How long a process may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// To make its plug-in.
    pub start: Duration,
    /// To answer a block. Later, it hangs.
    pub answer: Duration,
}

impl Patience {
    /// Of play: a minute of silence would be no better than a bypass.
    pub const REAL_TIME: Patience =
        Patience { start: Duration::from_secs(60), answer: Duration::from_secs(3) };
    /// Of renders: a plug-in may load while it plays.
    pub const OFFLINE: Patience =
        Patience { start: Duration::from_secs(60), answer: Duration::from_secs(30) };
}

/// Receives what happens to a plug-in, in words.
pub type Tell = Arc<dyn Fn(&str) + Send + Sync>;

/// How plug-ins run in processes of their own.
#[derive(Clone)]
pub struct Isolation {
    /// What is started, with these arguments. It calls [`serve()`].
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Who waits for whom.
    pub pace: Pace,
    /// The largest block, in frames: so late is the output.
    pub frames: u32,
    /// The real-time priority that the process requests for its audio thread, and the thread that wakes it for itself.
    pub priority: Option<u8>,
    /// Requests a priority for the calling thread. What it starts afterwards must be ordinary.
    pub request: fn(u8),
    /// When a process counts as hanging.
    pub patience: Patience,
    /// Called with a sentence about each failure. Thread: any but an audio thread.
    pub tell: Tell,
    /// The plug-ins that there are.
    pub group: Group,
}

/// The plug-ins of an [`Isolation`].
#[derive(Clone, Default)]
pub struct Group {
    links: Arc<Mutex<Vec<Weak<Link>>>>,
    /// Relaxed: it publishes nothing, and either answer is right for a block that runs.
    waits: Arc<AtomicBool>,
}

/// What became of an isolated plug-in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The node's name: its strip and its kind.
    pub node: String,
    /// For people.
    pub title: String,
    /// Calls that had no answer in time.
    pub late: u64,
    /// How often its process was started again.
    pub restarts: u32,
    /// Why, the last time.
    pub why: Option<String>,
    /// Whether it was given up.
    pub bypassed: bool,
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Report { node, title, late, restarts, why, bypassed } = self;
        write!(f, "isolated plug-in '{node}' ({title}): {late} blocks without an answer in time")?;
        if *restarts > 0 {
            write!(f, ", started again: {restarts}")?;
        }
        if let Some(why) = why {
            write!(f, "; the last time, it {why}")?;
        }
        if *bypassed {
            write!(f, "; bypassed since then")?;
        }
        Ok(())
    }
}

/// What happened to a plug-in so far. Relaxed: each number stands for itself.
#[derive(Default)]
struct Record {
    node: Mutex<String>,
    title: String,
    late: AtomicU64,
    restarts: AtomicU32,
    why: Mutex<Option<String>>,
    bypassed: AtomicBool,
}

impl Record {
    /// `None`: nothing, or it has not joined an engine.
    fn report(&self) -> Option<Report> {
        let report = Report {
            node: lock(&self.node).clone(),
            title: self.title.clone(),
            late: self.late.load(Relaxed),
            restarts: self.restarts.load(Relaxed),
            why: lock(&self.why).clone(),
            bypassed: self.bypassed.load(Relaxed),
        };
        let happened = report.late > 0 || report.restarts > 0 || report.bypassed;
        (happened && !report.node.is_empty()).then_some(report)
    }
}

impl Group {
    fn add(&self, link: &Arc<Link>) {
        let mut links = lock(&self.links);
        links.retain(|link| link.strong_count() > 0);
        links.push(Arc::downgrade(link));
    }

    /// Wakes every process that has something to do, so that they work side by side.
    fn wake(&self) {
        lock(&self.links).iter().filter_map(Weak::upgrade).for_each(|link| link.wake());
    }

    /// Whether the engine of plug-ins of [`Pace::RealTime`] has no deadline from now on: while a sound server freewheels, and the engine
    /// is offline (`Engine::set_offline`). Then it waits before each block until every answer is there, or a plug-in has
    /// taken longer than [`Patience::answer`].
    ///
    /// Thread: any. No allocation, lock or system call.
    pub fn wait_for_answers(&self, waits: bool) {
        self.waits.store(waits, Relaxed);
    }

    fn waits(&self) -> bool {
        self.waits.load(Relaxed)
    }

    /// The plug-ins to which something happened, in the order in which they were made.
    ///
    /// Thread: control; allocates.
    pub fn reports(&self) -> Vec<Report> {
        let links: Vec<Arc<Link>> = lock(&self.links).iter().filter_map(Weak::upgrade).collect();
        links.iter().filter_map(|link| link.record.report()).collect()
    }
}

/// Builds a plug-in in a process of its own. Its output is [`Isolation::frames`] later than that of the plug-in alone.
///
/// Thread: control. Starts a process and waits until it has made the plug-in.
///
/// # Errors
/// What went wrong, for users.
pub fn build(
    isolation: &Isolation,
    plugin: &Description,
    wanted: &Wanted<'_>,
) -> Result<Box<dyn Processor>, String> {
    let (link, file) = Link::new(isolation, plugin, wanted)?;
    let link = Arc::new(link);
    let launch = Launch::new(isolation, plugin, wanted, file);
    let (running, facts) = launch.start(&link, &|| false).map_err(|refusal| match refusal {
        Refusal::Plugin(why) => why,
        Refusal::Process(what) => format!("it {what}"),
    })?;
    isolation.group.add(&link);
    Ok(Box::new(Isolated::new(link, Arc::new(launch), running, facts)))
}

/// Threads that panicked left plain data.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
