//! The main thread of an engine's processors: where their main sides are called, and where processors are freed.
//!
//! # The rule
//! A processor that has joined an engine is freed on the engine's main thread, and its main side is called there and
//! nowhere else. So a plug-in finds one thread for its whole life, which is never an audio thread. A processor leaves when
//! the last plan that has its node is gone. The thread that drops the node, such as the planner's or an
//! editor's, only hands the processor over. The main thread first ends the background work and waits for it. Then it frees the processor, the
//! work, and the main side, in this order. So none of them is freed beside a call of another.
//!
//! [`Settings::main_thread`](crate::Settings) says which thread it is: one of the engine's own, which starts when there is
//! something to do, or the one that starts the engine.
//!
//! When the engine and all its handles are gone, everything is freed: the last handle's drop waits for it (`Held`). The
//! main thread may then still hold the planner. It frees that too before it ends.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, OnceLock, TryLockError, Weak};
use std::thread::{JoinHandle, ThreadId};

use hocket_dsp::Processor;
use hocket_dsp::host::{BackgroundWork, Host, MainRequests, MainSide, WorkRequests, WorkRoom};

use hocket_machine::clock::monotonic_ns;
use hocket_plan::{Graph, NodeId};

use super::background::{Background, LostWork, WorkThread, asleep, lock};
use super::edit::EditError;
use super::handle::ControlError;
use super::kinds::Kinds;
use super::planner::{Installation, Planner};
use super::settings::MainThread;
use crate::block::joined::{Disposal, Joined, Side};
use crate::block::node::NodeCell;
use crate::block::work::{Calls, Incoming, Wanted, WorkCounts};

/// What an engine has for its processors besides blocks.
pub(crate) struct Services {
    shared: Arc<Shared>,
    which: MainThread,
    /// The thread that started the engine.
    home: ThreadId,
    /// What its nodes are, for counts by kind.
    pub(crate) kinds: Kinds,
    /// The engine's own thread, once it has started.
    own: Mutex<Option<JoinHandle<()>>>,
}

/// What the main thread works on.
struct Shared {
    background: Arc<Background>,
    tasks: Mutex<VecDeque<Task>>,
    /// Processors whose background work may not have returned yet. Only the main thread uses it.
    leaving: Mutex<Vec<Leaving>>,
    sides: Mutex<Vec<Arc<Side>>>,
    /// Relaxed: the signal's edge shows it (E1).
    ending: AtomicBool,
    /// For new delays, where a processor's latency changed.
    planner: OnceLock<Weak<Mutex<Planner>>>,
    /// The most frames of a block, for processors that join. Relaxed: `Planner::install` refuses what came too early.
    largest: AtomicU32,
}

/// What the main thread does.
enum Task {
    Free(Box<Leaving>),
    Drop(Box<dyn Any + Send>),
    Run(Box<dyn FnOnce() + Send>),
}

/// A processor that goes, with all that belongs to it.
struct Leaving {
    processor: Box<dyn Processor>,
    /// What it left when it panicked.
    panicked: Option<Box<dyn Any + Send>>,
    work: Option<WorkThread>,
    side: Option<Arc<Side>>,
}

/// In [`Side::news`]: the delays that it needs are not possible.
const NOT_POSSIBLE: u64 = 1 << 63;

/// What a processor says about itself ([`hocket_dsp::host::MainRequests`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// Its output lags behind its input by another number of frames. The engine has made a plan with other delays.
    Latency {
        /// The node, in the newest graph.
        node: NodeId,
        /// In frames.
        frames: u32,
        /// Whether the delays are possible. If not, the old ones stay.
        possible: bool,
    },
    /// Its output goes on for another time after its input.
    Tail {
        /// The node, in the newest graph.
        node: NodeId,
        /// In frames; [`u64::MAX`]: for ever.
        frames: u64,
    },
    /// It wants to be made anew: replace it with a new processor. A host whose edits may come between asks
    /// [`Control::take_renewals`](super::handle::Control::take_renewals) instead.
    Restart {
        /// The node, in the newest graph.
        node: NodeId,
    },
}

/// Why a processor's state cannot be saved or loaded.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StateFailure {
    /// There is no such node, or it only sums.
    #[error("the graph has no node {} with a processor", .0.0)]
    NoNode(NodeId),
    /// Its processor has no main side.
    #[error("node '{0}' has no state to save or load: its processor has no main side")]
    NoState(String),
    /// Nobody plays a state that was saved: its node is gone, or it has another number now and shares its name.
    #[error("the state of node '{name}' finds no node: none with number {} has this name, and not just one", .node.0)]
    Gone {
        /// The node's number when it was saved.
        node: NodeId,
        /// Its name.
        name: String,
    },
    /// The processor refuses.
    #[error("node '{node}': {why}")]
    Refused {
        /// The node's name.
        node: String,
        /// What its processor says.
        why: String,
    },
    /// The engine.
    #[error(transparent)]
    Control(#[from] ControlError),
}

/// The way of a node's processor to the main thread when the node goes.
struct ToMainThread {
    services: Arc<Services>,
    work: Option<WorkThread>,
}

impl Services {
    /// Thread: control, the one that starts the engine.
    pub(crate) fn new(which: MainThread, frames: u32) -> Arc<Services> {
        let shared = Arc::new(Shared {
            background: Arc::new(Background::new()),
            tasks: Mutex::default(),
            leaving: Mutex::default(),
            sides: Mutex::default(),
            ending: AtomicBool::new(false),
            planner: OnceLock::new(),
            largest: AtomicU32::new(frames),
        });
        let home = std::thread::current().id();
        let (kinds, own) = (Kinds::default(), Mutex::default());
        Arc::new(Services { shared, which, home, kinds, own })
    }

    pub(crate) fn background(&self) -> &Arc<Background> {
        &self.shared.background
    }

    /// Whose plans follow latencies.
    pub(super) fn know(&self, planner: &Arc<Mutex<Planner>>) {
        _ = self.shared.planner.set(Arc::downgrade(planner));
    }

    /// Makes all processors ready for blocks of up to so many frames. Returns what their main sides made.
    pub(super) fn grow(self: &Arc<Self>, frames: u32) -> Result<Vec<Grown>, ControlError> {
        self.shared.largest.fetch_max(frames, Relaxed);
        let sides = lock(&self.shared.sides).clone();
        if sides.is_empty() {
            return Ok(Vec::new());
        }
        let shared = Arc::clone(&self.shared);
        let grow_all = move || {
            // The largest that anybody asked for: a main side goes by the last number, and no smaller one follows.
            // Relaxed: the number stands for itself.
            let frames = shared.largest.load(Relaxed) as usize;
            let grow = |side: Arc<Side>| {
                let grown = side.make(|side| side.grow(frames));
                (side, grown)
            };
            sides.into_iter().map(grow).collect::<Vec<_>>()
        };
        let grown = self.on_main(grow_all)?.into_iter().map(|(side, grown)| {
            let services = Arc::clone(self);
            let (turn, made) = grown.map_or((None, None), |(turn, made)| (Some(turn), made));
            Grown { side, turn, made, services }
        });
        Ok(grown.collect())
    }

    /// Does what waits for the main thread.
    pub(super) fn serve(&self) -> Result<(), ControlError> {
        if !self.is_here() {
            return Err(ControlError::NotMainThread);
        }
        self.shared.serve();
        Ok(())
    }

    /// Does what processors asked their main sides for, so that it takes effect with the next block. Where the main thread is
    /// the one that started the engine, only that thread can do this.
    ///
    /// Thread: leader, between blocks without a deadline.
    pub(super) fn serve_offline(&self) {
        if lock(&self.shared.sides).is_empty() {
            return;
        }
        let shared = Arc::clone(&self.shared);
        let _ = self.on_main(move || _ = shared.serve_sides());
    }

    /// Whether the calling thread is the main thread.
    fn is_here(&self) -> bool {
        let here = std::thread::current().id();
        match self.which {
            MainThread::Starting => here == self.home,
            MainThread::Own => {
                lock(&self.own).as_ref().is_some_and(|own| own.thread().id() == here)
            }
        }
    }

    fn add(&self, task: Task) -> std::io::Result<()> {
        lock(&self.shared.tasks).push_back(task);
        if self.which == MainThread::Own {
            self.start_own()?;
            self.shared.background.attention.signal.advance();
        }
        Ok(())
    }

    /// Ends the main thread, after it has freed everything. If it is the calling one, it goes on by itself until all is done.
    fn end(&self) {
        self.shared.ending.store(true, Relaxed);
        self.shared.background.attention.signal.advance();
        let own = lock(&self.own).take();
        match own {
            Some(own) if own.thread().id() == std::thread::current().id() => {}
            // What it calls cannot end it: panics are contained.
            Some(own) => _ = own.join(),
            None => _ = self.shared.serve(),
        }
    }

    /// Frees something that processors made, on the main thread.
    pub(crate) fn free(&self, made: Box<dyn Any + Send>) {
        self.add_for_ever(Task::Drop(made));
    }

    /// Without a thread a task waits for the next one, and at the latest for the end.
    fn add_for_ever(&self, task: Task) {
        let _ = self.add(task);
    }

    /// Starts the engine's own thread, unless it runs.
    fn start_own(&self) -> std::io::Result<()> {
        let mut own = lock(&self.own);
        // Relaxed: who ends the services takes the thread afterwards, under this lock.
        if own.is_none() && !self.shared.ending.load(Relaxed) {
            let shared = Arc::clone(&self.shared);
            let named = std::thread::Builder::new().name("processors".into());
            *own = Some(named.spawn(move || shared.live())?);
        }
        Ok(())
    }

    /// What `task` returns on the main thread. Waits for it.
    ///
    /// Thread: control; the caller holds no lock that the main thread takes.
    pub(super) fn on_main<T: Send + 'static>(
        &self,
        task: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ControlError> {
        if self.is_here() {
            return Ok(task());
        }
        if self.which == MainThread::Starting {
            return Err(ControlError::NotMainThread);
        }
        let (send, receive) = channel();
        let run = move || _ = send.send(task());
        let added = self.add(Task::Run(Box::new(run)));
        added.map_err(|error| ControlError::Thread(error.to_string()))?;
        receive.recv().map_err(|_| ControlError::Panicked)
    }
}

/// A main side that was asked to be ready for longer blocks.
pub(super) struct Grown {
    pub(super) side: Arc<Side>,
    /// `None`: it could not be called.
    pub(super) turn: Option<u64>,
    /// What it made, if it needs anything. A drop frees it on the main thread.
    pub(super) made: Option<Box<dyn Any + Send>>,
    services: Arc<Services>,
}

impl Drop for Grown {
    fn drop(&mut self) {
        if let Some(made) = self.made.take() {
            self.services.free(made);
        }
    }
}

/// Held by every handle of the host program, and by nothing that the main thread holds. So its last drop is on the host's
/// side, where it waits for the main thread. A handle drops it after everything else that it has.
pub(super) struct Held(Arc<Services>);

impl Held {
    pub(super) fn new(services: &Arc<Services>) -> Arc<Held> {
        Arc::new(Held(Arc::clone(services)))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Drop for Services {
    /// For an engine that never started, and for what came after the end.
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    /// The life of the engine's own thread.
    fn live(&self) {
        self.background.beside.settle();
        let (attention, wait) = (&self.background.attention, asleep());
        loop {
            let seen = attention.signal.value();
            let ending = self.ending.load(Relaxed);
            // A panic in the drop of what is freed here must not end the thread.
            let again = catch_unwind(AssertUnwindSafe(|| self.serve())).unwrap_or(Served::Part);
            if ending && self.is_done() {
                return;
            }
            match again {
                // What it freed may have added something.
                _ if ending => {}
                Served::All => _ = attention.signal.wait_past(seen, &wait),
                Served::Part => {
                    _ = attention.signal.wait_past_by(seen, &wait, monotonic_ns() + AGAIN_NS);
                }
            }
        }
    }

    fn next(&self) -> Option<Task> {
        lock(&self.tasks).pop_front()
    }

    fn is_done(&self) -> bool {
        lock(&self.tasks).is_empty() && lock(&self.leaving).is_empty()
    }

    fn serve(&self) -> Served {
        while let Some(task) = self.next() {
            // Unwind safety: what panicked is gone.
            let _ = catch_unwind(AssertUnwindSafe(|| match task {
                Task::Free(leaving) => {
                    lock(&self.leaving).push(*leaving);
                    self.free_leaving();
                }
                Task::Drop(made) => drop(made),
                Task::Run(run) => run(),
            }));
        }
        self.free_leaving();
        self.serve_sides()
    }

    /// Does what processors asked their main sides for.
    fn serve_sides(&self) -> Served {
        let sides = lock(&self.sides).clone();
        sides.iter().for_each(|side| side.serve());
        // Relaxed: only the main thread uses it.
        let unplanned: Vec<_> =
            sides.into_iter().filter(|side| side.unplanned.load(Relaxed)).collect();
        if unplanned.is_empty() { Served::All } else { self.plan(&unplanned) }
    }

    /// Has a plan made with the latencies that processors have reported.
    fn plan(&self, sides: &[Arc<Side>]) -> Served {
        let Some(planner) = self.planner.get().and_then(Weak::upgrade) else { return Served::All };
        let follow = |sides: &[(&Side, u64)]| {
            let planned = lock(&planner).follow_latencies();
            match planned {
                Ok(()) => sides.iter().for_each(|(side, latency)| side.is_planned(*latency)),
                Err(EditError::Graph(_)) => return Some(Served::All),
                Err(_) => return Some(Served::Part),
            }
            None
        };
        // Relaxed, as below: each number stands for itself.
        let told: Vec<_> = sides.iter().map(|side| (&**side, side.latency.load(Relaxed))).collect();
        match follow(&told) {
            None => return Served::All,
            Some(Served::Part) => return Served::Part,
            Some(Served::All) => {}
        }
        // All of them together are not possible, but some may be.
        told.iter().for_each(|(side, _)| side.latency.store(side.planned.load(Relaxed), Relaxed));
        let mut served = Served::All;
        for (side, latency) in told {
            let planned = side.latency.swap(latency, Relaxed);
            match follow(&[(side, latency)]) {
                None => {}
                Some(Served::Part) => served = Served::Part,
                Some(Served::All) => {
                    side.latency.store(planned, Relaxed);
                    side.tell(latency | NOT_POSSIBLE);
                }
            }
        }
        served
    }

    /// Frees the processors that go and whose work has returned. The signal announces the others; at the end it waits.
    fn free_leaving(&self) {
        // Relaxed: where it is set late, the next pass waits.
        let ending = self.ending.load(Relaxed);
        let can_go = |leaving: &mut Leaving| {
            let has_ended = || leaving.work.as_ref().is_none_or(WorkThread::has_ended);
            // Not from inside one of its own calls.
            !leaving.side.as_ref().is_some_and(|side| side.is_inside()) && (ending || has_ended())
        };
        let go: Vec<_> = lock(&self.leaving).extract_if(.., can_go).collect();
        go.into_iter().for_each(|leaving| self.free(leaving));
    }

    fn free(&self, Leaving { processor, panicked, work, side }: Leaving) {
        let side = side.and_then(|side| {
            lock(&self.sides).retain(|other| !Arc::ptr_eq(other, &side));
            // Others may still have it and call it later. They find nothing.
            lock(&side.side).take()
        });
        let work = work.map(WorkThread::join);
        // Each by itself, so that a panic in one drop does not leave the others behind.
        let parts: [Box<dyn FnOnce()>; 4] = [
            Box::new(|| drop(processor)),
            Box::new(|| drop(panicked)),
            Box::new(|| drop(work)),
            Box::new(|| drop(side)),
        ];
        for part in parts {
            // Unwind safety: what panicked is gone.
            let _ = catch_unwind(AssertUnwindSafe(part));
        }
    }
}

impl Side {
    /// Calls it. `None`: it has panicked, now or before, is freed, or this is inside one of its calls.
    ///
    /// Thread: main.
    pub(super) fn call<T>(&self, call: impl FnOnce(&mut dyn MainSide) -> T) -> Option<T> {
        // Relaxed: only the main thread uses it.
        if self.panicked.load(Relaxed) {
            return None;
        }
        let mut side = self.side.try_lock().ok()?;
        let side = side.as_deref_mut()?;
        // Unwind safety: after a panic nobody calls it again. It is only freed.
        let called = catch_unwind(AssertUnwindSafe(|| call(side)));
        called.map_err(|_| self.panicked.store(true, Relaxed)).ok()
    }

    /// Calls it to make something for its processor. Returns the number of the turn besides.
    ///
    /// A processor has to get what its main side makes in the order of these turns: what is made later knows of what was
    /// made before, such as a state or the length of blocks ([`is_outdated`](Side::is_outdated)).
    ///
    /// Thread: main.
    pub(super) fn make<T>(&self, make: impl FnOnce(&mut dyn MainSide) -> T) -> Option<(u64, T)> {
        let made = self.call(make)?;
        Some((self.turns.fetch_add(1, Relaxed) + 1, made))
    }

    /// Whether something that it made later is on its way already, so that what it made in this turn has to be made anew.
    ///
    /// Thread: control, which holds the planner's lock.
    pub(super) fn is_outdated(&self, turn: u64) -> bool {
        turn < self.handed.load(Relaxed)
    }

    /// What it made in this turn is on its way.
    ///
    /// Thread: control, which holds the planner's lock.
    pub(super) fn is_handed_over(&self, turn: u64) {
        self.handed.fetch_max(turn, Relaxed);
    }

    /// The present plan has its latency.
    fn is_planned(&self, latency: u64) {
        // Relaxed, as below: each number stands for itself.
        self.planned.store(latency, Relaxed);
        self.tell(latency);
    }

    fn tell(&self, news: u64) {
        self.unplanned.store(false, Relaxed);
        self.news.store(news, Relaxed);
    }

    /// Whether this is inside one of its calls.
    ///
    /// Thread: main.
    fn is_inside(&self) -> bool {
        matches!(self.side.try_lock(), Err(TryLockError::WouldBlock))
    }

    /// Does what its processor asked for.
    ///
    /// Thread: main.
    fn serve(&self) {
        // What the processor did before it asked is seen in the call.
        if self.wanted.call.take() {
            self.call(|side| side.called());
        }
        // Relaxed: the number stands for itself.
        let latency = self.wanted.latency.swap(0, Relaxed);
        if latency > 0 && self.latency.swap(latency, Relaxed) != latency {
            self.unplanned.store(true, Relaxed);
        }
    }
}

/// How far the main thread came.
#[derive(PartialEq, Eq)]
enum Served {
    All,
    /// Too many orders are on their way.
    Part,
}

/// When the main thread tries again.
const AGAIN_NS: u64 = 40_000_000;

impl Disposal for ToMainThread {
    fn leave(
        self: Box<Self>,
        processor: Box<dyn Processor>,
        panicked: Option<Box<dyn Any + Send>>,
        side: Option<Arc<Side>>,
    ) {
        let ToMainThread { services, work } = *self;
        if let Some(work) = &work {
            work.ask_to_end();
        }
        let leaving = Leaving { processor, panicked, work, side };
        services.add_for_ever(Task::Free(Box::new(leaving)));
    }

    fn free(&self, made: Box<dyn Any + Send>) {
        self.services.free(made);
    }
}

/// An engine as a processor meets it.
struct Joining<'a> {
    services: &'a Arc<Services>,
    /// The node's name.
    node: &'a str,
    counts: Option<Arc<WorkCounts>>,
    work: Option<(Incoming, WorkThread)>,
    side: Option<Arc<Side>>,
    failed: Option<std::io::Error>,
    largest: u32,
}

impl Host for Joining<'_> {
    fn largest_block(&self) -> usize {
        self.largest as usize
    }

    fn node(&self) -> &str {
        self.node
    }

    fn background(
        &mut self,
        work: Box<dyn BackgroundWork>,
        room: WorkRoom,
    ) -> Box<dyn WorkRequests> {
        let background = self.services.background();
        if self.work.is_none() {
            match background.begin(work, room) {
                Ok((requests, answers, thread)) => {
                    self.counts = Some(Arc::clone(&requests.counts));
                    self.work = Some((answers, thread));
                    return Box::new(requests);
                }
                Err(error) => self.failed = Some(error),
            }
        }
        Box::new(background.refusing(self.counts.get_or_insert_default()))
    }

    fn main_side(&mut self, side: Box<dyn MainSide>) -> Box<dyn MainRequests> {
        let wanted: Arc<Wanted> = Arc::default();
        if self.side.is_none() {
            let side = Side {
                side: Mutex::new(Some(side)),
                wanted: Arc::clone(&wanted),
                panicked: AtomicBool::new(false),
                turns: AtomicU64::new(0),
                handed: AtomicU64::new(0),
                largest: AtomicU32::new(self.largest),
                latency: AtomicU64::new(0),
                planned: AtomicU64::new(0),
                unplanned: AtomicBool::new(false),
                news: AtomicU64::new(0),
            };
            self.side = Some(Arc::new(side));
        }
        let attention = Arc::clone(&self.services.background().attention);
        Box::new(Calls { wanted, attention })
    }
}

impl NodeCell {
    /// A node that has not run, whose processor joins the engine.
    ///
    /// Thread: control; allocates, and starts a thread for background work.
    ///
    /// # Errors
    /// The system cannot start the thread.
    pub(crate) fn joining(
        name: String,
        mut processor: Box<dyn Processor>,
        services: &Arc<Services>,
    ) -> std::io::Result<NodeCell> {
        let (counts, work, side, failed) = (None, None, None, None);
        let largest = services.shared.largest.load(Relaxed);
        let node = name.as_str();
        let mut joining = Joining { services, node, counts, work, side, failed, largest };
        processor.join(&mut joining);
        let Joining { counts, work, side, failed, .. } = joining;
        let (answers, work) = work.unzip();
        let mut started = failed.map_or(Ok(()), Err);
        if let Some(side) = &side {
            lock(&services.shared.sides).push(Arc::clone(side));
            if services.which == MainThread::Own {
                started = started.and(services.start_own());
            }
        }
        let disposal = Box::new(ToMainThread { services: Arc::clone(services), work });
        let joined = Joined { disposal, counts, side };
        let kind = services.kinds.number(&name);
        let mut cell = NodeCell::new(name, processor);
        cell.kind = kind;
        cell.has_joined(joined, answers);
        started.map(|()| cell)
    }
}

impl NodeCell {
    pub(super) fn side(&self) -> Option<&Arc<Side>> {
        self.joined.as_ref()?.side.as_ref()
    }
}

impl Planner {
    /// What processors said since the last call.
    pub(super) fn take_notices(&self) -> Vec<Notice> {
        let mut notices = Vec::new();
        for (node, place) in (0..).map(NodeId).zip(&self.places) {
            let cell = self.nodes()[place.index()].as_ref();
            let Some(side) = cell.and_then(|cell| cell.side()) else { continue };
            // Relaxed: each number stands for itself.
            let latency = side.news.swap(0, Relaxed);
            if latency > 0 {
                let (frames, possible) = (latency & !NOT_POSSIBLE, latency & NOT_POSSIBLE == 0);
                notices.push(Notice::Latency { node, frames: (frames - 1) as u32, possible });
            }
            let tail = side.wanted.tail.swap(0, Relaxed);
            if tail > 0 {
                let frames = if tail == u64::MAX { tail } else { tail - 1 };
                notices.push(Notice::Tail { node, frames });
            }
            if side.wanted.restart.swap(false, Relaxed) {
                notices.push(Notice::Restart { node });
            }
        }
        notices
    }

    /// Gives nodes the latencies that their processors have reported.
    pub(super) fn told_latencies<'a>(
        graph: &mut Graph,
        cells: impl IntoIterator<Item = &'a Option<Arc<NodeCell>>>,
    ) {
        for (node, cell) in (0..).map(NodeId).zip(cells) {
            // Relaxed: each number stands for itself.
            let told =
                cell.as_ref().and_then(|cell| cell.side()?.latency.load(Relaxed).checked_sub(1));
            if let Some(frames) = told {
                graph.set_latency(node, frames as u32);
            }
        }
    }

    /// Goes on with the latencies that processors have reported.
    fn follow_latencies(&mut self) -> Result<(), EditError> {
        let graph = self.requested.clone();
        let nodes = self.places.iter().map(|place| self.nodes()[place.index()].clone()).collect();
        let new = Installation { graph, nodes, changes: Vec::new(), fades: true };
        self.install(new, Some).map(|_| ())
    }

    pub(super) fn lost_work(&self) -> Vec<LostWork> {
        let nodes = self.nodes().iter().flatten();
        let lost = nodes.filter_map(|node| {
            let counts = node.joined.as_ref()?.counts.as_ref()?;
            counts.lost(&node.name)
        });
        lost.collect()
    }
}

#[cfg(test)]
mod tests {
    use hocket_dsp::Block;

    use super::*;

    struct Plain(Option<Box<dyn MainSide>>);

    impl Processor for Plain {
        fn join(&mut self, host: &mut dyn Host) {
            _ = host.main_side(self.0.take().unwrap());
        }
        fn process(&mut self, _: &mut Block<'_>) {}
        fn reset(&mut self) {}
    }

    /// Counts its calls, and says that it is freed.
    struct Counts(Arc<AtomicU32>, Arc<AtomicBool>);

    impl MainSide for Counts {
        fn called(&mut self) {
            self.0.fetch_add(1, Relaxed);
        }
    }

    impl Drop for Counts {
        fn drop(&mut self) {
            self.1.store(true, Relaxed);
        }
    }

    #[test]
    fn a_main_side_whose_processor_is_freed_is_not_called_by_who_still_has_it() {
        for which in [MainThread::Own, MainThread::Starting] {
            let services = Services::new(which, 64);
            let (calls, freed) = (Arc::<AtomicU32>::default(), Arc::<AtomicBool>::default());
            let side = Box::new(Counts(Arc::clone(&calls), Arc::clone(&freed)));
            let processor = Box::new(Plain(Some(side)));
            let cell = NodeCell::joining("counts".into(), processor, &services).unwrap();
            let side = cell.side().cloned().unwrap();
            let call = |side: &Arc<Side>| {
                let side = Arc::clone(side);
                services.on_main(move || side.call(|side| side.called())).unwrap()
            };
            assert_eq!(call(&side), Some(()));
            // The task that frees it comes before the next call.
            drop(cell);
            if which == MainThread::Starting {
                services.serve().unwrap();
            }
            assert_eq!(call(&side), None);
            assert_eq!((calls.load(Relaxed), freed.load(Relaxed)), (1, true), "{which:?}");
        }
    }
}
