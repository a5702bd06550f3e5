//! Engines: started and stopped by a control thread, entered and left by the leader.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::ThreadId;

use hocket_engine::{Control, Editor, Engine as RustEngine, Entered, ThreadReport};

use crate::border::{made, quiet, seen};
use crate::failure::Failure;
use crate::graph::Graph;
use crate::session::Session;
use crate::settings::Settings;
use crate::status::{Error, Status};

/// An engine that runs.
pub struct Engine {
    leading: Mutex<Leading>,
    /// `None` for an engine of a graph.
    editor: Option<Mutex<Editor>>,
    pub(crate) control: Control,
    /// Workers and guards, and the leader behind them once it has entered.
    reports: Mutex<(Vec<ThreadReport>, Option<ThreadReport>)>,
    pub(crate) frames: u32,
}

/// What belongs to the leader.
pub(crate) struct Leading {
    seat: Option<Seat>,
    pub(crate) engine: RustEngine,
}

/// The leader's seat, and whose it is.
struct Seat {
    thread: ThreadId,
    // Dropped where `thread` is the current thread, and nowhere else: `Leading::leave`.
    _entered: Entered,
}

// SAFETY: `Entered` has to be dropped on the thread that entered, which is all that keeps it from being
// sent: it holds that thread's former CPUs and class. `Leading::leave` compares the threads before it
// drops one, and `hocket_engine_stop` refuses as long as there is one.
unsafe impl Send for Seat {}

/// Starts an engine for a session: when this returns, every worker sits on its seat and waits. NULL
/// where that fails. Rights that the system refuses are no failure: see `hocket_engine_reports`.
///
/// Thread: control; call it before the leader is a real-time thread. Cost: starts threads, allocates
/// everything that blocks need; with a priority, asks that the memory of the process stays in memory.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_start(
    session: *const Session,
    settings: *const Settings,
    error: *mut *mut Error,
) -> *mut Engine {
    // SAFETY: P, H.
    unsafe {
        made(error, || {
            let loaded = &seen(session, "session")?.loaded;
            let asked = seen(settings, "settings")?;
            let settings = asked.read(loaded.rate_hz)?;
            if settings.rate_hz != loaded.rate_hz {
                return Err(Failure::bad_input(format!(
                    "the session was loaded at {} Hz, the engine is to run at {} Hz: load it again, \
                     or set settings.rate_hz to 0",
                    loaded.rate_hz, settings.rate_hz
                )));
            }
            let seating = asked.seating(settings.policy.sibling)?;
            let (session, media) = (loaded.session.clone(), loaded.media.clone());
            let (engine, editor) = Editor::start(session, media, settings, seating)?;
            Ok(Engine::new(engine, Some(editor)))
        })
    }
}

/// Starts an engine for a graph, which is used up, whether this succeeds or not. As
/// `hocket_engine_start`, but there are no strips to be set.
///
/// Thread: control; call it before the leader is a real-time thread. Cost: starts threads, allocates
/// everything that blocks need.
///
/// # Safety
/// P, H, X (for the graph), C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_start_graph(
    graph: *mut Graph,
    settings: *const Settings,
    error: *mut *mut Error,
) -> *mut Engine {
    // SAFETY: P; H and X for the graph, which `hocket_graph_new` made.
    unsafe {
        let graph = (!graph.is_null()).then(|| Box::from_raw(graph));
        made(error, || {
            let graph = graph.ok_or_else(|| Failure::null("graph"))?;
            let asked = seen(settings, "settings")?;
            let settings = asked.read(0)?;
            let seating = asked.seating(settings.policy.sibling)?;
            let prepared = graph.prepared(settings.rate_hz)?;
            Ok(Engine::new(RustEngine::start(prepared, settings, seating)?, None))
        })
    }
}

/// Stops an engine, ends its threads and frees it; NULL is left alone. Where a leader has entered, that
/// thread has to leave first, or be the one that calls this; otherwise `HOCKET_STATUS_WRONG_THREAD`, and
/// the engine goes on.
///
/// Thread: control, or the leader between blocks. Cost: waits for the threads, frees memory.
///
/// # Safety
/// P, H, X.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_stop(engine: *mut Engine) -> Status {
    // SAFETY: P, H.
    let Some(running) = (unsafe { engine.as_ref() }) else { return Status::Ok };
    let left = quiet(Status::Fault, || running.leave());
    if left == Status::Ok {
        // SAFETY: H (made by `border::made`), X.
        let engine = unsafe { Box::from_raw(engine) };
        return quiet(Status::Fault, || {
            drop(engine);
            Status::Ok
        });
    }
    left
}

/// Makes the calling thread the leader until it leaves: on its seat, in the scheduling class asked for.
/// Without it blocks are processed as well, by a thread as the system has it. Entering again on the same
/// thread does nothing.
///
/// Thread: the one that will process blocks, before the first. Cost: system calls, allocates.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_enter(engine: *const Engine) -> Status {
    // SAFETY: P, H.
    let Some(engine) = (unsafe { engine.as_ref() }) else { return Status::BadInput };
    quiet(Status::Fault, || engine.enter())
}

/// Gives the calling thread back the CPUs and the scheduling class that it had before it entered;
/// nothing where nobody has entered.
///
/// Thread: the one that entered, between blocks. Cost: system calls.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_leave(engine: *const Engine) -> Status {
    // SAFETY: P, H.
    let Some(engine) = (unsafe { engine.as_ref() }) else { return Status::BadInput };
    quiet(Status::Fault, || engine.leave())
}

impl Engine {
    fn new(engine: RustEngine, editor: Option<Editor>) -> Engine {
        Engine {
            editor: editor.map(Mutex::new),
            control: engine.control(),
            reports: Mutex::new((engine.reports().to_vec(), None)),
            frames: engine.settings().frames,
            leading: Mutex::new(Leading { seat: None, engine }),
        }
    }

    /// The leader's part; `None` while another thread has it. Never waits: everybody tries, nobody
    /// blocks, so taking and giving back is one atomic operation each and no system call.
    pub(crate) fn leading(&self) -> Option<MutexGuard<'_, Leading>> {
        match self.leading.try_lock() {
            Ok(leading) => Some(leading),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The session's editor; `None` for an engine of a graph.
    pub(crate) fn editor(&self) -> Option<MutexGuard<'_, Editor>> {
        self.editor.as_ref().map(|editor| editor.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The leader first, once it has entered, then workers and guards.
    pub(crate) fn reports(&self) -> Vec<ThreadReport> {
        let reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        reports.1.iter().chain(&reports.0).cloned().collect()
    }

    fn enter(&self) -> Status {
        let Some(mut leading) = self.leading() else { return Status::Busy };
        let thread = std::thread::current().id();
        if let Some(seat) = &leading.seat {
            return if seat.thread == thread { Status::Ok } else { Status::WrongThread };
        }
        let entered = leading.engine.enter();
        let report = entered.report.clone();
        leading.seat = Some(Seat { thread, _entered: entered });
        drop(leading);
        self.reports.lock().unwrap_or_else(PoisonError::into_inner).1 = Some(report);
        Status::Ok
    }

    fn leave(&self) -> Status {
        let Some(mut leading) = self.leading() else { return Status::Busy };
        match &leading.seat {
            Some(seat) if seat.thread != std::thread::current().id() => Status::WrongThread,
            _ => {
                leading.seat = None;
                Status::Ok
            }
        }
    }
}

/// C programs use these from several threads at once; a part that cannot be shared or sent is refused
/// here, when this is compiled.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Engine>();
    shared::<Session>();
    shared::<Error>();
};
