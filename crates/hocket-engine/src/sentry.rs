//! The watchman of the block path: sees every system call that a thread makes inside a block.
//!
//! For tests (feature `sentry`). The kernel is asked to turn back every system call of a thread
//! while its [`SentryWatch`] lives (Linux Syscall User Dispatch); the call then arrives here, is made,
//! and is counted:
//!
//! 1. a futex call or a yield inside of a [`SyncEdge`], where the engine's threads meet: counted, to
//!    be compared with what the engine itself counted;
//! 2. anything else: a [`ForbiddenCall`]. A futex call outside of an edge is a lock that was taken.
//!
//! What it cannot see: a lock that nobody contends makes no system call, and neither does an
//! allocation that the allocator serves from its own store. For the latter a test installs an
//! allocator that asks [`in_block`].
//!
//! Elsewhere than on Linux on x86-64 only [`in_block`] works, and [`available`] says why.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod dispatch;

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod dispatch {
    //! No dispatch on this system.

    pub(super) fn arm() -> Result<(), String> {
        Err("Syscall User Dispatch needs Linux on x86-64".into())
    }

    pub(super) fn turn_back(_calls: bool) {}
}

/// Where the calling thread is.
struct Post {
    /// Watches that live on this thread.
    watches: Cell<u32>,
    /// Edges that it is inside of.
    edges: Cell<u32>,
    /// Calls at edges that it has made.
    calls: Cell<u64>,
    /// The wake-ups among them.
    wakes: Cell<u64>,
    /// The waits among them that truly slept.
    sleeps: Cell<u64>,
    /// The sleeps among them that ended at once.
    turned_back: Cell<u64>,
}

thread_local! {
    // Constant and without a destructor: the first access neither allocates nor registers, so the
    // allocator and the signal handler may make it.
    static POST: Post = const {
        Post {
            watches: Cell::new(0),
            edges: Cell::new(0),
            calls: Cell::new(0),
            wakes: Cell::new(0),
            sleeps: Cell::new(0),
            turned_back: Cell::new(0),
        }
    };
}

/// Watches the calling thread while it lives; may be nested.
///
/// Thread: any, stays there. Cost: two system calls at the thread's first, none afterwards.
#[derive(Debug)]
#[must_use = "it watches while it lives"]
pub struct SentryWatch(PhantomData<*const ()>);

impl SentryWatch {
    /// Begins to watch. Where the system cannot ([`available`]) only [`in_block`] changes.
    pub fn begin() -> SentryWatch {
        let before = POST.with(|post| post.watches.replace(post.watches.get() + 1));
        if before == 0 && dispatch::arm().is_ok() {
            // Relaxed, as all counts here: read when no block runs.
            COUNTS.watched.fetch_add(1, Relaxed);
            dispatch::turn_back(true);
        }
        SentryWatch(PhantomData)
    }
}

impl Drop for SentryWatch {
    fn drop(&mut self) {
        let before = POST.with(|post| post.watches.replace(post.watches.get() - 1));
        if before == 1 {
            dispatch::turn_back(false);
        }
    }
}

/// A place where threads of the engine meet: its futex calls and yields are meant.
#[derive(Debug)]
#[must_use = "it counts while it lives"]
pub(crate) struct SyncEdge(PhantomData<*const ()>);

impl SyncEdge {
    pub(crate) fn begin() -> SyncEdge {
        POST.with(|post| post.edges.set(post.edges.get() + 1));
        SyncEdge(PhantomData)
    }
}

impl Drop for SyncEdge {
    fn drop(&mut self) {
        POST.with(|post| post.edges.set(post.edges.get() - 1));
    }
}

/// Whether the calling thread is inside a block. Cost: a load; no allocation, no system call.
pub fn in_block() -> bool {
    POST.with(|post| post.watches.get() > 0)
}

/// System calls that the calling thread has made at edges, since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnCalls {
    /// All of them: wake-ups, sleeps, sleeps that ended at once, yields.
    pub all: u64,
    /// The wake-ups.
    pub wakes: u64,
    /// Waits that truly slept.
    pub sleeps: u64,
    /// Sleeps that found their word changed and ended at once.
    pub turned_back: u64,
}

/// What the calling thread itself did: unlike a [`Report`], which is about all threads.
pub fn own_calls() -> OwnCalls {
    POST.with(|post| OwnCalls {
        all: post.calls.get(),
        wakes: post.wakes.get(),
        sleeps: post.sleeps.get(),
        turned_back: post.turned_back.get(),
    })
}

/// Whether system calls can be seen here.
///
/// # Errors
/// What is missing, as the end of a sentence.
pub fn available() -> Result<(), String> {
    dispatch::arm()
}

/// What a watched thread did that it must not do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForbiddenCall {
    /// Number of the system call.
    pub nr: u64,
    /// Address of the instruction after the call, for a debugger.
    pub ip: u64,
}

impl ForbiddenCall {
    /// The call's name, of those that are likely.
    pub fn name(&self) -> &'static str {
        let known = NAMES.iter().find(|(nr, _)| *nr == self.nr);
        known.map_or("system call", |(_, name)| name)
    }
}

impl fmt::Display for ForbiddenCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}) at {:#x}", self.name(), self.nr, self.ip)
    }
}

/// Calls of x86-64 that allocators, locks, clocks, files and threads make.
const NAMES: [(u64, &str); 22] = [
    (0, "read"),
    (1, "write"),
    (3, "close"),
    (7, "poll"),
    (9, "mmap"),
    (10, "mprotect"),
    (11, "munmap"),
    (12, "brk"),
    (14, "rt_sigprocmask"),
    (20, "writev"),
    (24, "sched_yield"),
    (25, "mremap"),
    (28, "madvise"),
    (39, "getpid"),
    (56, "clone"),
    (186, "gettid"),
    (202, "futex"),
    (228, "clock_gettime"),
    (230, "clock_nanosleep"),
    (257, "openat"),
    (318, "getrandom"),
    (435, "clone3"),
];

/// What all watched threads did since the last report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Parts of blocks that were watched: one for each thread and block.
    pub blocks_watched: u64,
    /// Wake-up calls at edges.
    pub wakes: u64,
    /// Waits at edges that truly slept.
    pub sleeps: u64,
    /// Waits at edges that found their word changed and returned at once.
    pub turned_back: u64,
    /// Yields at edges.
    pub yields: u64,
    /// The first forbidden calls, as many as there was room for.
    pub forbidden: Vec<ForbiddenCall>,
    /// Forbidden calls for which there was no room.
    pub more_forbidden: u64,
    /// Parts of blocks whose rest was not watched, because a call had to be made by its own
    /// caller: the return from a foreign signal handler, a new thread or process.
    pub cut_short: u64,
}

impl Report {
    /// Futex calls at edges.
    pub fn edges(&self) -> u64 {
        self.wakes + self.sleeps + self.turned_back
    }
}

/// Takes what was counted since the last call, of all threads of the process.
///
/// Thread: control, while no block runs.
pub fn take_report() -> Report {
    let take = |count: &AtomicU64| count.swap(0, Relaxed);
    let noted = take(&COUNTS.forbidden);
    let room = noted.min(NOTES.len() as u64);
    let note = |note: &Note| ForbiddenCall { nr: take(&note.nr), ip: take(&note.ip) };
    Report {
        blocks_watched: take(&COUNTS.watched),
        wakes: take(&COUNTS.wakes),
        sleeps: take(&COUNTS.sleeps),
        turned_back: take(&COUNTS.turned_back),
        yields: take(&COUNTS.yields),
        forbidden: NOTES[..room as usize].iter().map(note).collect(),
        more_forbidden: noted - room,
        cut_short: take(&COUNTS.cut_short),
    }
}

/// Counts of all threads. Relaxed everywhere: each stands for itself, and a report is taken when
/// the block is closed, which orders it after all of them.
struct Counts {
    watched: AtomicU64,
    wakes: AtomicU64,
    sleeps: AtomicU64,
    turned_back: AtomicU64,
    yields: AtomicU64,
    forbidden: AtomicU64,
    cut_short: AtomicU64,
}

static COUNTS: Counts = Counts {
    watched: AtomicU64::new(0),
    wakes: AtomicU64::new(0),
    sleeps: AtomicU64::new(0),
    turned_back: AtomicU64::new(0),
    yields: AtomicU64::new(0),
    forbidden: AtomicU64::new(0),
    cut_short: AtomicU64::new(0),
};

/// Room for one forbidden call; a slot belongs to the thread that drew its number.
struct Note {
    nr: AtomicU64,
    ip: AtomicU64,
}

static NOTES: [Note; 64] = [const { Note { nr: AtomicU64::new(0), ip: AtomicU64::new(0) } }; 64];

fn note_forbidden(call: ForbiddenCall) {
    let place = COUNTS.forbidden.fetch_add(1, Relaxed) as usize;
    if let Some(note) = NOTES.get(place) {
        note.nr.store(call.nr, Relaxed);
        note.ip.store(call.ip, Relaxed);
    }
}
