//! Engines. A control thread starts and stops them. The leader enters and leaves them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::thread::ThreadId;

use hocket_engine::time::{TimedCommand, TransportCommand};
use hocket_engine::{
    Control, ControlError, Editor, Engine as RustEngine, Entered, FlightDrain, FlightRecorder,
    FlightSettings, FollowReport, Following, GraphEditor, Protection, Settings as EngineSettings,
    SiblingPolicy, ThreadReport, flight,
};
use hocket_machine::memory::LockReport;
use hocket_streams::DiskBuffer;

use crate::border::{made, quiet, seen};
use crate::editing::{Editing, GraphInHand, Hand};
use crate::failure::Failure;
use crate::graph::{Graph, Source};
use crate::session::Session;
use crate::settings::Settings;
use crate::status::{Error, Status};

/// A running engine.
pub struct Engine {
    leading: Mutex<Leading>,
    editing: Mutex<Editing>,
    pub(crate) control: Control,
    /// Where files of its session stream.
    disk: Option<Arc<DiskBuffer>>,
    reports: Mutex<Reports>,
    /// While the workers follow a leader that belongs to a sound server.
    following: Mutex<Option<Following>>,
    /// `None`: the engine does not explain late blocks.
    drain: Option<Mutex<FlightDrain>>,
    pub(crate) rate_hz: u32,
}

/// What belongs to the leader.
pub(crate) struct Leading {
    seat: Option<Seat>,
    pub(crate) engine: RustEngine,
    pub(crate) recorder: Option<FlightRecorder>,
}

/// What threads requested and obtained.
struct Reports {
    /// Workers and guards.
    own: Vec<ThreadReport>,
    leader: Option<ThreadReport>,
    protection: Option<Protected>,
    memory: Option<LockReport>,
}

/// What a policy requested of other threads of the process and of the system.
#[derive(Clone)]
pub(crate) struct Protected {
    pub asked: Option<String>,
    pub got: Option<String>,
    pub moved: usize,
    pub refused: Vec<String>,
}

impl Protected {
    fn of(others: &Protection) -> Protected {
        let Protection { asked, got, moved, refused, .. } = others;
        let (asked, got, refused) = (asked.clone(), got.clone(), refused.clone());
        Protected { asked, got, moved: *moved, refused }
    }
}

/// The leader's seat, and the thread that has it.
struct Seat {
    thread: ThreadId,
    /// Expires when the thread ends.
    alive: Weak<()>,
    // Only `thread` drops it. If that thread has ended, another one calls `Entered::outlive`.
    entered: Entered,
}

thread_local! {
    /// Lives as long as the thread.
    static ALIVE: Arc<()> = Arc::new(());
}

// SAFETY: `Entered` holds the former CPUs and class of the thread that entered. It is not `Send` only because
// that thread has to drop it. `Leading::leave` compares the threads before it drops one. If the seat's thread
// has ended, it calls `Entered::outlive`, which changes neither CPUs nor class. `hocket_engine_stop` refuses as
// long as there is a seat.
unsafe impl Send for Seat {}

/// Starts an engine for a session, and returns NULL on failure. When it returns, every worker waits on its
/// seat. A right that the system refuses is not a failure: see `hocket_engine_reports`.
///
/// Thread: control; call it before the leader is a real-time thread. Cost: starts threads and allocates all
/// memory that blocks need. With a priority, it also locks the memory of the process.
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
            Ok(Engine::new(engine, Hand::Session(Box::new(editor)), loaded.disk.clone()))
        })
    }
}

/// Starts an engine for a graph. Like `hocket_engine_start`, but the engine has nodes instead of strips. The
/// call consumes the graph, even if it fails.
///
/// Thread: control; call it before the leader is a real-time thread. Cost: starts threads and allocates all
/// memory that blocks need.
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
/// - A leader that has entered must leave first, or call this itself. As long as its thread lives, other
///   threads get `HOCKET_STATUS_WRONG_THREAD`. While it is inside a block, they get `HOCKET_STATUS_BUSY`. In
///   both cases the engine goes on.
/// - If the leader's thread has ended without leaving, any thread may stop the engine. The engine then undoes
///   what the policy changed for other threads and for the system. The leader's own CPUs and class ended with
///   its thread.
/// - A thread that ends inside a block (`pthread_exit` in a callback) violates C. The engine stays busy for
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

/// Makes the calling thread the leader until it leaves: moves it to its seat and requests its scheduling
/// class. This call is optional: without it, the thread that processes blocks keeps its CPUs and class. A
/// second call on the same thread does nothing. If the thread of the last leader has ended without leaving,
/// the calling thread takes over.
///
/// Thread: the one that will process blocks, before the first block. Cost: system calls, allocates.
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
/// Thread: the one that entered, between blocks; or any thread, if that one has ended. Cost: system calls.
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
    fn new(engine: RustEngine, hand: Hand, disk: Option<Arc<DiskBuffer>>) -> Engine {
        let records = engine.settings().spans;
        let flight = records.then(|| flight::record(&engine, FlightSettings::default()));
        let (recorder, drain) = flight.unzip();
        let (own, memory) = (engine.reports().to_vec(), engine.memory().cloned());
        Engine {
            editing: Mutex::new(Editing::new(hand)),
            control: engine.control(),
            disk,
            following: Mutex::new(None),
            reports: Mutex::new(Reports { own, leader: None, protection: None, memory }),
            drain: drain.map(Mutex::new),
            rate_hz: engine.settings().rate_hz,
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
        let (rate_hz, frames) = (settings.rate_hz, settings.frames);
        let laid_out = graph.laid_out(rate_hz)?;
        let processor = |(_, source)| match source {
            Source::New(processor) => Some(processor),
            Source::Sum | Source::Kept => None,
        };
        let processors = laid_out.nodes.into_iter().map(processor).collect();
        let (engine, editor) = GraphEditor::start(&laid_out.graph, processors, settings, seating)?;
        let in_hand = GraphInHand::new(editor, laid_out.played, (rate_hz, frames));
        Ok(Engine::new(engine, Hand::Graph(Box::new(in_hand)), None))
    }

    /// The leader's part. `None` while another thread has it.
    ///
    /// It never waits. All threads only try the lock and none blocks on it. So locking and unlocking are one
    /// atomic operation each, without a system call.
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

    /// Sends the transport a command, and has the streams look for the jump.
    pub(crate) fn command(&self, command: TimedCommand) -> Result<(), ControlError> {
        if let (TransportCommand::Locate(_), Some(disk)) = (&command.command, &self.disk) {
            disk.expect_jump();
        }
        self.control.transport(command).map(|_| ())
    }

    /// What explains late blocks. `None` if the settings do not request it.
    pub(crate) fn drain(&self) -> Option<MutexGuard<'_, FlightDrain>> {
        self.drain.as_ref().map(locked)
    }

    /// Seats the workers beside a leader that belongs to a sound server.
    pub(crate) fn follow(&self) -> Result<(), Failure> {
        let mut following = locked(&self.following);
        let Some(leading) = self.leading() else {
            let text =
                "a block runs now: follow the leader before the first one, or try again".into();
            return Err(Failure { status: Status::Busy, text });
        };
        if leading.seat.is_some() {
            let text = "a leader has entered this engine: it has to leave before one is followed";
            return Err(Failure::bad_input(text));
        }
        let follows = leading.engine.follow_leader()?;
        drop(leading);
        self.store_protection(&mut locked(&self.reports));
        *following = Some(follows);
        Ok(())
    }

    pub(crate) fn unfollow(&self) {
        *locked(&self.following) = None;
    }

    /// What it sees of a leader that it follows, and what it then did.
    pub(crate) fn look(&self) -> Option<FollowReport> {
        locked(&self.following).as_ref().map(Following::look)
    }

    /// The reports: the leader's first, if it has entered, then those of workers and guards.
    pub(crate) fn reports(&self) -> Vec<ThreadReport> {
        if let Some(following) = &*locked(&self.following) {
            return following.report().threads;
        }
        let reports = locked(&self.reports);
        reports.leader.iter().chain(&reports.own).cloned().collect()
    }

    /// The leader's report, once it has entered.
    pub(crate) fn leader_report(&self) -> Option<ThreadReport> {
        locked(&self.reports).leader.clone()
    }

    /// What the policy requested and obtained, once the leader has entered.
    pub(crate) fn protected(&self) -> Option<Protected> {
        locked(&self.reports).protection.clone()
    }

    /// Goes on under another policy.
    pub(crate) fn set_sibling_policy(&self, policy: SiblingPolicy) -> Result<(), Failure> {
        self.control.set_sibling_policy(policy)?;
        let mut reports = locked(&self.reports);
        // Before a leader enters, nothing has been requested.
        if reports.protection.is_some() {
            self.store_protection(&mut reports);
        }
        Ok(())
    }

    /// Stores what the present policy obtained. It asks anew, under the lock: another thread may have changed the policy since
    /// the caller did, and stored its report already.
    ///
    /// Order of locks: `following`, `reports`, and then those of `control`, which know none of the others.
    fn store_protection(&self, reports: &mut Reports) {
        reports.protection = Some(Protected::of(&self.control.protection()));
    }

    /// Whether the memory of the process is locked. `None`: the settings do not request it.
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
        // A thread that is ending counts as ended.
        let alive = ALIVE.try_with(Arc::downgrade).unwrap_or_default();
        leading.seat = Some(Seat { thread, alive, entered });
        drop(leading);
        let mut reports = locked(&self.reports);
        reports.leader = Some(report);
        self.store_protection(&mut reports);
        Status::Ok
    }

    fn leave(&self) -> Status {
        let Some(mut leading) = self.leading() else { return Status::Busy };
        if leading.leave() { Status::Ok } else { Status::WrongThread }
    }
}

impl Leading {
    /// Gives the seat back, if there is one. Returns false if its thread lives and is not the calling thread.
    fn leave(&mut self) -> bool {
        let own = |seat: &Seat| seat.thread == std::thread::current().id();
        // The seat's thread is not inside a block, because the caller holds the leader's part.
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

/// C programs use these types from several threads at once. If a part of one cannot be shared or sent, this
/// does not compile.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Engine>();
    shared::<Session>();
    shared::<Error>();
};

#[cfg(test)]
mod tests {
    use std::ffi::c_void;
    use std::ptr::null_mut;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::graph::{hocket_graph_add_node, hocket_graph_new};
    use crate::processor::{Block, Processor};
    use crate::settings::hocket_settings_for;

    unsafe extern "C" fn nothing(_: *mut c_void, _: *const Block) {}

    /// It may change between these policies.
    fn engine() -> Engine {
        let processor = Processor { process: Some(nothing), cost: 1.0, ..Processor::default() };
        let settings = Settings {
            priority: 0,
            sibling_policies: c"all, process-affinity".as_ptr(),
            ..hocket_settings_for(64, 48_000)
        };
        let graph = hocket_graph_new();
        // SAFETY: P, H, X: all of these outlive the calls, and the graph is used by nobody else.
        let engine = unsafe {
            hocket_graph_add_node(graph, c"one".as_ptr(), &processor, null_mut());
            hocket_engine_start_graph(graph, &settings, null_mut())
        };
        assert!(!engine.is_null());
        // SAFETY: H (made by `border::made`), X.
        *unsafe { Box::from_raw(engine) }
    }

    #[test]
    fn of_two_changes_the_report_of_the_later_one_stays() {
        let engine = engine();
        // Beside a leader of a server the policy is asked for and refused, so no thread of this program moves.
        engine.follow().unwrap();
        let reports = locked(&engine.reports);
        std::thread::scope(|scope| {
            let change = || engine.set_sibling_policy(SiblingPolicy::ProcessAffinity);
            let first = scope.spawn(change);
            let begun = Instant::now();
            while engine.control.standing().sibling != SiblingPolicy::ProcessAffinity {
                assert!(begun.elapsed() < Duration::from_secs(120), "nothing changes");
                std::thread::sleep(Duration::from_millis(1));
            }
            // It waits for the first change. The first thread has not stored its report, since this one holds the reports.
            engine.control.set_sibling_policy(SiblingPolicy::All).unwrap();
            drop(reports);
            first.join().unwrap().unwrap();
        });
        assert_eq!(engine.protected().unwrap().asked, None, "`all` asks for nothing");
        engine.set_sibling_policy(SiblingPolicy::ProcessAffinity).unwrap();
        let asked = engine.control.protection().asked;
        assert_eq!(engine.protected().unwrap().asked, asked);
        engine.unfollow();
    }
}
