//! Engines: started and stopped by a control thread, entered and left by the leader.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::thread::ThreadId;

use hocket_engine::{
    Control, Editor, Engine as RustEngine, Entered, FlightDrain, FlightRecorder, FlightSettings,
    GraphEditor, Settings as EngineSettings, ThreadReport, flight,
};

use hocket_machine::memory::LockReport;

use crate::border::{made, quiet, seen};
use crate::editing::{Editing, GraphInHand, Hand};
use crate::failure::Failure;
use crate::graph::{Graph, Source};
use crate::session::Session;
use crate::settings::Settings;
use crate::status::{Error, Status};

/// An engine that runs.
pub struct Engine {
    leading: Mutex<Leading>,
    editing: Mutex<Editing>,
    pub(crate) control: Control,
    reports: Mutex<Reports>,
    /// `None`: late blocks are not explained.
    drain: Option<Mutex<FlightDrain>>,
    pub(crate) frames: u32,
}

/// What belongs to the leader.
pub(crate) struct Leading {
    seat: Option<Seat>,
    pub(crate) engine: RustEngine,
    pub(crate) recorder: Option<FlightRecorder>,
}

/// What threads asked for and got.
struct Reports {
    /// Workers and guards.
    own: Vec<ThreadReport>,
    leader: Option<ThreadReport>,
    protection: Option<Protected>,
    memory: Option<LockReport>,
}

/// What a policy asked of the rest of the process and of the system.
#[derive(Clone)]
pub(crate) struct Protected {
    pub asked: Option<String>,
    pub got: Option<String>,
    pub moved: usize,
    pub refused: Vec<String>,
}

/// The leader's seat, and whose it is.
struct Seat {
    thread: ThreadId,
    /// Dead as soon as the thread is.
    alive: Weak<()>,
    // Dropped where `thread` is the current thread; where that has ended, `Entered::outlive`.
    entered: Entered,
}

thread_local! {
    /// Lives as long as the thread.
    static ALIVE: Arc<()> = Arc::new(());
}

// SAFETY: `Entered` has to be dropped on the thread that entered, which is all that keeps it from being
// sent: it holds that thread's former CPUs and class. `Leading::leave` compares the threads before it
// drops one, and gives a seat whose thread has ended to `Entered::outlive`, which leaves both alone;
// `hocket_engine_stop` refuses as long as there is a seat.
unsafe impl Send for Seat {}

/// Starts an engine for a session; NULL on failure. When this returns, every worker sits on its seat and
/// waits. Rights that the system refuses are no failure: see `hocket_engine_reports`.
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
            Ok(Engine::new(engine, Hand::Session(Box::new(editor))))
        })
    }
}

/// Starts an engine for a graph, which is used up, whether this succeeds or not. As
/// `hocket_engine_start`, but there are nodes to be set and no strips.
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
            Engine::of_graph(*graph, settings, seating)
        })
    }
}

/// Stops an engine, ends its threads and frees it. NULL does nothing.
///
/// - A leader that has entered leaves first, or calls this itself. While its thread lives, other threads get
///   `HOCKET_STATUS_WRONG_THREAD`, and while it is inside a block `HOCKET_STATUS_BUSY`. The engine then goes
///   on.
/// - If the leader's thread has ended without leaving, any thread may stop the engine. It restores what the
///   policy asked of other threads and of the system; the leader's own CPUs and class are gone with its
///   thread.
/// - A thread that ends inside a block (`pthread_exit` in a callback) breaks C: the engine stays busy for
///   ever.
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
/// Blocks can be processed without it, by a thread with the CPUs and the class that it has. Entering again on
/// the same thread does nothing. If the thread of the last leader has ended without leaving, the calling
/// thread takes over.
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

/// Restores the CPUs and the scheduling class that the calling thread had before it entered. It does
/// nothing if no leader has entered.
///
/// Thread: the one that entered, between blocks; any after that one has ended. Cost: system calls.
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
    fn new(engine: RustEngine, hand: Hand) -> Engine {
        let records = engine.settings().spans;
        let flight = records.then(|| flight::record(&engine, FlightSettings::default()));
        let (recorder, drain) = flight.unzip();
        let (own, memory) = (engine.reports().to_vec(), engine.memory().cloned());
        Engine {
            editing: Mutex::new(Editing::new(hand)),
            control: engine.control(),
            reports: Mutex::new(Reports { own, leader: None, protection: None, memory }),
            drain: drain.map(Mutex::new),
            frames: engine.settings().frames,
            leading: Mutex::new(Leading { seat: None, engine, recorder }),
        }
    }

    fn of_graph(
        graph: Graph,
        settings: EngineSettings,
        seating: hocket_engine::Seating,
    ) -> Result<Engine, Failure> {
        if graph.copy_of().is_some() {
            let text = "a copy of a graph that an engine plays cannot be started: exchange it";
            return Err(Failure::bad_input(text));
        }
        let rate_hz = settings.rate_hz;
        let laid_out = graph.laid_out(rate_hz)?;
        let processor = |(_, source)| match source {
            Source::New(processor) => Some(processor),
            Source::Sum | Source::Kept => None,
        };
        let processors = laid_out.nodes.into_iter().map(processor).collect();
        let (engine, editor) = GraphEditor::start(&laid_out.graph, processors, settings, seating)?;
        let in_hand = GraphInHand::new(editor, laid_out.played, rate_hz);
        Ok(Engine::new(engine, Hand::Graph(Box::new(in_hand))))
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

    /// The session or graph as control threads edit it.
    pub(crate) fn editing(&self) -> MutexGuard<'_, Editing> {
        locked(&self.editing)
    }

    /// What explains late blocks; `None` where the settings did not ask for it.
    pub(crate) fn drain(&self) -> Option<MutexGuard<'_, FlightDrain>> {
        self.drain.as_ref().map(locked)
    }

    /// The leader first, once it has entered, then workers and guards.
    pub(crate) fn reports(&self) -> Vec<ThreadReport> {
        let reports = locked(&self.reports);
        reports.leader.iter().chain(&reports.own).cloned().collect()
    }

    /// The leader's report, once it has entered.
    pub(crate) fn leader_report(&self) -> Option<ThreadReport> {
        locked(&self.reports).leader.clone()
    }

    /// What the policy came to, once the leader has entered.
    pub(crate) fn protected(&self) -> Option<Protected> {
        locked(&self.reports).protection.clone()
    }

    /// Whether the memory of the process stays in memory; `None`: nobody asked for it.
    pub(crate) fn memory(&self) -> Option<LockReport> {
        locked(&self.reports).memory.clone()
    }

    fn enter(&self) -> Status {
        let Some(mut leading) = self.leading() else { return Status::Busy };
        let thread = std::thread::current().id();
        if leading.seat.as_ref().is_some_and(|seat| seat.thread == thread) {
            return Status::Ok;
        }
        if !leading.leave() {
            return Status::WrongThread;
        }
        let entered = leading.engine.enter();
        let report = entered.report.clone();
        let others = &entered.others;
        let protection = Protected {
            asked: others.asked.clone(),
            got: others.got.clone(),
            moved: others.moved,
            refused: others.refused.clone(),
        };
        // A thread that already ends counts as one that has ended.
        let alive = ALIVE.try_with(Arc::downgrade).unwrap_or_default();
        leading.seat = Some(Seat { thread, alive, entered });
        drop(leading);
        let mut reports = locked(&self.reports);
        (reports.leader, reports.protection) = (Some(report), Some(protection));
        Status::Ok
    }

    fn leave(&self) -> Status {
        let Some(mut leading) = self.leading() else { return Status::Busy };
        if leading.leave() { Status::Ok } else { Status::WrongThread }
    }
}

impl Leading {
    /// Gives the seat back, if there is one; false where its thread lives and is not the calling one.
    fn leave(&mut self) -> bool {
        let own = |seat: &Seat| seat.thread == std::thread::current().id();
        // The thread is not inside a block: whoever calls this holds the leader's part.
        let ended = |seat: &Seat| seat.alive.strong_count() == 0;
        if self.seat.as_ref().is_some_and(|seat| !own(seat) && !ended(seat)) {
            return false;
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.end_run();
        }
        match self.seat.take() {
            Some(seat) if !own(&seat) => seat.entered.outlive(),
            seat => drop(seat),
        }
        true
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// C programs use these from several threads at once; a part that cannot be shared or sent is refused
/// here, when this is compiled.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Engine>();
    shared::<Session>();
    shared::<Error>();
};
