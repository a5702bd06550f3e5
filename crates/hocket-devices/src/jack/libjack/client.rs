//! A client of a JACK server, and what the server calls.

use std::ffi::{c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use hocket_machine::clock::monotonic_ns;
use hocket_machine::pin::{ThreadId, ThreadMark, current_thread, thread_mark};

use super::cancel;
use super::functions::{Argument, Functions, Handle, JackPort, Position};
use super::port_latency::{self, LatencyArgument, SharedPassages};
use super::ports::{Direction, Kind, OpenPorts, Ports, Side};
use super::reason::Reason;
use super::strings::{bytes_of_c, from_c, to_c};
use super::transport::{self, Readiness, Requests, TransportAt};
use crate::LatencyRange;
use crate::jack::port_latency::Passages;

/// `JackNoStartServer`: nobody wants a server that a program has started behind their back.
const NO_START_SERVER: c_int = 0x01;
/// `JackServerName`: the server's name is the fourth argument.
const SERVER_NAME: c_int = 0x04;
/// `JackPortIsPhysical`.
const PHYSICAL: u64 = 0x4;
/// `EEXIST`: the ports are connected already.
const CONNECTED_ALREADY: c_int = 17;
/// A cycle ends within this time, whatever the block length. A callback that takes longer hangs.
const LONGEST_CYCLE: Duration = Duration::from_secs(5);
/// A server lets a client go within this time, or never.
const LONGEST_LEAVE: Duration = Duration::from_secs(10);

/// What the server has reported. Each number stands for itself and publishes nothing, so all accesses are relaxed; but
/// see [`Reason`] and [`Readiness`].
#[derive(Debug, Default)]
pub(in crate::jack) struct Events {
    /// Xruns since the client was opened.
    xruns: AtomicU64,
    /// Cycles since the client was activated.
    cycles: AtomicU64,
    /// Ports that have left the server since the client was opened.
    ports_gone: AtomicU64,
    /// The last rate that the server has named; 0: none.
    rate_hz: AtomicU32,
    /// The server freewheels. jackd says so while no cycle runs, PipeWire some cycles later.
    freewheels: AtomicBool,
    /// The thread of the last cycle; 0: none yet.
    thread: AtomicI32,
    /// What the process callback called has panicked.
    panicked: AtomicBool,
    /// The callback is to play silence and nothing else.
    parked: AtomicBool,
    /// The callback has done so: it will never again do anything else.
    rests: AtomicBool,
    /// A callback runs.
    inside: AtomicBool,
    /// Why the server is gone.
    gone: Reason,
    /// Whether we are ready where the server's transport wants to start.
    readiness: Readiness,
}

impl Events {
    pub(in crate::jack) fn xruns(&self) -> u64 {
        self.xruns.load(Relaxed)
    }

    pub(in crate::jack) fn cycles(&self) -> u64 {
        self.cycles.load(Relaxed)
    }

    pub(in crate::jack) fn ports_gone(&self) -> u64 {
        self.ports_gone.load(Relaxed)
    }

    pub(in crate::jack) fn rate_hz(&self) -> Option<u32> {
        Some(self.rate_hz.load(Relaxed)).filter(|rate_hz| *rate_hz > 0)
    }

    pub(in crate::jack) fn freewheels(&self) -> bool {
        self.freewheels.load(Relaxed)
    }

    pub(in crate::jack) fn thread(&self) -> Option<ThreadId> {
        let number = self.thread.load(Relaxed);
        (number > 0).then(|| ThreadId::from_number(number))
    }

    pub(in crate::jack) fn panicked(&self) -> bool {
        self.panicked.load(Relaxed)
    }

    pub(in crate::jack) fn gone(&self) -> Option<String> {
        self.gone.text()
    }

    pub(super) fn readiness(&self) -> &Readiness {
        &self.readiness
    }

    /// The server's transport waits for us no longer.
    pub(in crate::jack) fn let_start(&self) {
        self.readiness.hold(false);
    }
}

/// One call of the server.
#[derive(Debug, Clone, Copy)]
pub(in crate::jack) struct Cycle {
    /// How long it is.
    pub(in crate::jack) frames: usize,
    /// When it was asked how long ago it began, on the monotonic clock.
    pub(in crate::jack) asked_ns: u64,
    /// How long ago that was, in whole frames.
    pub(in crate::jack) ago: u32,
    /// The server's number of the first frame. It wraps around.
    pub(in crate::jack) frame: u32,
    /// Where the server's transport is; `None`: the client does not follow it.
    pub(in crate::jack) transport: Option<TransportAt>,
}

type Process = Box<dyn FnMut(Cycle, &mut OpenPorts<'_>) + Send>;

/// What the process callback gets.
struct ProcessArgument {
    functions: &'static Functions,
    handle: Handle,
    events: Arc<Events>,
    ports: Ports,
    process: Process,
    /// Room for the transport's position; `None`: the client does not follow it.
    position: Option<Position>,
    /// The thread of the last cycle.
    mark: Option<ThreadMark>,
}

/// Why a client cannot be opened: `jack_status_t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::jack) struct OpenError(pub(in crate::jack) i32);

/// A client. A drop leaves the server.
pub(in crate::jack) struct Client {
    functions: &'static Functions,
    handle: Handle,
    events: Arc<Events>,
    /// The count that the server's callbacks hold.
    events_of_callbacks: *const Events,
    /// Ports that wait for the activation.
    ports: Option<Ports>,
    /// `None` until the activation.
    argument: Option<*mut ProcessArgument>,
    /// As above, for the server's questions how late ports are.
    of_latencies: Option<*mut LatencyArgument>,
    passages: SharedPassages,
    /// These questions are answered.
    answers_latencies: bool,
    /// The server calls.
    active: bool,
    /// Requests to the server's transport.
    requests: Requests,
    /// `Some`: the client follows the server's transport. `true`: the server waits for it where it starts.
    follows: Option<bool>,
    /// [`Client::leave`] was called.
    has_left: bool,
}

// SAFETY: jack.h lets any thread call its functions; the pointers are only given back where the client leaves.
unsafe impl Send for Client {}

/// Not `extern "C"`, because a cancellation may unwind through it (Cancelled).
extern "C-unwind" fn on_process(frames: u32, argument: Argument) -> c_int {
    let before = cancel::hold_off();
    one_cycle(frames, argument);
    cancel::restore(before);
    0
}

/// `extern "C"`: a panic that nothing catches ends the process, because none may reach libjack.
extern "C" fn one_cycle(frames: u32, argument: Argument) {
    // SAFETY: Outlives and One cycle; `activate` passed this pointer.
    let argument = unsafe { &mut *argument.cast::<ProcessArgument>() };
    let events = &argument.events;
    events.inside.store(true, Relaxed);
    // The thread-init callback does not say it: JACK calls that in each of the client's threads. One system call per thread.
    let mark = thread_mark();
    if argument.mark.replace(mark) != Some(mark) {
        events.thread.store(current_thread().number(), Relaxed);
    }
    events.cycles.store(events.cycles.load(Relaxed).wrapping_add(1), Relaxed);
    // SAFETY: this is the process callback, and `ports` is dropped before it returns.
    let mut ports = unsafe { argument.ports.open(frames) };
    if events.parked.load(Relaxed) {
        ports.silence_from(0);
        // A thread that has once read that it is parked reads it in every later cycle.
        events.rests.store(true, Relaxed);
    } else {
        let (functions, handle) = (argument.functions, argument.handle);
        let at = |position| transport::transport_at(functions, handle, position);
        let transport = argument.position.as_mut().map(at);
        let cycle = Cycle { transport, ..cycle(functions, handle, frames) };
        let process = &mut argument.process;
        if catch_unwind(AssertUnwindSafe(|| process(cycle, &mut ports))).is_err() {
            events.panicked.store(true, Relaxed);
            events.parked.store(true, Relaxed);
            ports.silence_from(0);
        }
    }
    events.inside.store(false, Relaxed);
}

/// The cycle that the server has begun last.
fn cycle(functions: &Functions, handle: Handle, frames: u32) -> Cycle {
    // SAFETY: Open, and this is the process callback.
    let (frame, ago) = unsafe {
        let frame = (functions.last_frame_time)(handle);
        (frame, (functions.frames_since_cycle_start)(handle))
    };
    let asked_ns = monotonic_ns();
    Cycle { frames: frames as usize, asked_ns, ago, frame, transport: None }
}

/// As [`on_process`], and in the same thread, before it.
extern "C-unwind" fn on_sync(state: c_int, position: *mut Position, argument: Argument) -> c_int {
    let before = cancel::hold_off();
    let is_ready = one_answer(state, position, argument);
    cancel::restore(before);
    is_ready
}

extern "C" fn one_answer(state: c_int, position: *mut Position, argument: Argument) -> c_int {
    // SAFETY: the sync callback of a client, with what libjack hands to it.
    unsafe { transport::answer(events(argument), state, position).into() }
}

/// # Safety
/// `argument` is one of a client's callbacks.
unsafe fn events<'a>(argument: Argument) -> &'a Events {
    // SAFETY: Outlives; `Client::open` passed this pointer.
    unsafe { &*argument.cast::<Events>() }
}

extern "C" fn on_xrun(argument: Argument) -> c_int {
    // SAFETY: a callback of a client.
    unsafe { events(argument) }.xruns.fetch_add(1, Relaxed);
    0
}

extern "C" fn on_sample_rate(rate_hz: u32, argument: Argument) -> c_int {
    // SAFETY: a callback of a client.
    unsafe { events(argument) }.rate_hz.store(rate_hz, Relaxed);
    0
}

extern "C" fn on_freewheel(freewheels: c_int, argument: Argument) {
    // SAFETY: a callback of a client.
    unsafe { events(argument) }.freewheels.store(freewheels != 0, Relaxed);
}

extern "C" fn on_port(_: u32, registered: c_int, argument: Argument) {
    if registered == 0 {
        // SAFETY: a callback of a client.
        unsafe { events(argument) }.ports_gone.fetch_add(1, Relaxed);
    }
}

/// jack.h: to be written like a signal handler.
extern "C" fn on_info_shutdown(_code: c_int, reason: *const c_char, argument: Argument) {
    // SAFETY: a callback of a client, and jack.h's promise for `reason`.
    unsafe { events(argument).gone.set(bytes_of_c(reason)) };
}

/// The same without a reason. JACK's servers call the other one where both are there, and PipeWire's library (0.3.65) calls
/// only this one. Whichever comes first counts.
extern "C" fn on_shutdown(argument: Argument) {
    // SAFETY: a callback of a client.
    unsafe { events(argument) }.gone.set(b"");
}

impl Client {
    /// Becomes a client of the server that runs, under this name or a similar one. `server`: `None` for the usual one.
    pub(in crate::jack) fn open(
        functions: &'static Functions,
        name: &str,
        server: Option<&str>,
    ) -> Result<Client, OpenError> {
        let (name, server, mut status) = (to_c(name), server.map(to_c), 0);
        let (open, name, at) = (functions.client_open, name.as_ptr(), &raw mut status);
        // SAFETY: Types; the option says whether there is a fourth argument. The texts outlive the call.
        let handle = unsafe {
            match &server {
                Some(server) => open(name, NO_START_SERVER | SERVER_NAME, at, server.as_ptr()),
                None => open(name, NO_START_SERVER, at),
            }
        };
        if handle.is_null() {
            return Err(OpenError(status));
        }
        let events = Arc::new(Events::default());
        let of_callbacks = Arc::into_raw(Arc::clone(&events));
        let argument = of_callbacks.cast_mut().cast();
        // SAFETY: Types, Open, Outlives. A server that refuses one of these does not report such events.
        unsafe {
            (functions.on_xrun)(handle, on_xrun, argument);
            (functions.on_sample_rate)(handle, on_sample_rate, argument);
            (functions.on_port)(handle, on_port, argument);
            (functions.on_info_shutdown)(handle, on_info_shutdown, argument);
            (functions.on_shutdown)(handle, on_shutdown, argument);
            functions.on_freewheel.into_iter().for_each(|listen| {
                listen(handle, on_freewheel, argument);
            });
        }
        let ports = Some(Ports::none(functions));
        let client = Client {
            functions,
            handle,
            requests: Requests::new(functions, handle, &events),
            events,
            events_of_callbacks: of_callbacks,
            ports,
            argument: None,
            of_latencies: None,
            passages: SharedPassages::default(),
            answers_latencies: false,
            active: false,
            follows: None,
            has_left: false,
        };
        Ok(client)
    }

    /// From the activation on, each cycle says where the server's transport is. `waits`: the server waits where it starts
    /// until [`Requests::is_ready_at`] that place, for as long as its patience lasts.
    pub(in crate::jack) fn follow_transport(&mut self, waits: bool) -> Requests {
        self.follows = Some(waits);
        self.events.readiness().hold(waits);
        self.requests.clone()
    }

    /// Whether each cycle says where the server's transport is.
    pub(in crate::jack) fn follows_transport(&self) -> bool {
        self.follows.is_some()
    }

    pub(in crate::jack) fn events(&self) -> &Arc<Events> {
        &self.events
    }

    /// The name that the server gave.
    pub(in crate::jack) fn name(&self) -> String {
        // SAFETY: Types, Open; the text lives as long as the client.
        unsafe { from_c((self.functions.client_name)(self.handle)) }
    }

    pub(in crate::jack) fn sample_rate(&self) -> u32 {
        // SAFETY: Types, Open.
        unsafe { (self.functions.sample_rate)(self.handle) }
    }

    pub(in crate::jack) fn buffer_size(&self) -> u32 {
        // SAFETY: Types, Open.
        unsafe { (self.functions.buffer_size)(self.handle) }
    }

    /// Whether the server gives its clients a real-time class.
    pub(in crate::jack) fn is_realtime(&self) -> bool {
        // SAFETY: Types, Open.
        unsafe { (self.functions.is_realtime)(self.handle) != 0 }
    }

    pub(in crate::jack) fn version(&self) -> String {
        // SAFETY: Types; the text is a constant of libjack.
        unsafe { from_c((self.functions.version)()) }
    }

    /// Whether it is PipeWire, through whichever library.
    pub(in crate::jack) fn is_pipewire(&self) -> bool {
        self.version().contains("PipeWire")
    }

    /// How long the name of a port may be, the client's name and a colon included, and a NUL.
    pub(in crate::jack) fn longest_port_name(&self) -> usize {
        // SAFETY: Types.
        unsafe { (self.functions.port_name_size)() }.max(2) as usize - 1
    }

    /// Adds a port. `None`: the server refuses, for example a name that is taken. Only before the activation.
    pub(in crate::jack) fn register(
        &mut self,
        name: &str,
        kind: Kind,
        direction: Direction,
    ) -> Option<String> {
        let ports = self.ports.as_mut()?;
        let (name, type_name) = (to_c(name), to_c(kind.name()));
        // SAFETY: Types, Open.
        unsafe {
            let (name, type_name, flags) = (name.as_ptr(), type_name.as_ptr(), direction as _);
            let port = (self.functions.port_register)(self.handle, name, type_name, flags, 0);
            if port.is_null() {
                return None;
            }
            ports.add(port, kind, direction);
            Some(from_c((self.functions.port_name)(port)))
        }
    }

    /// From now on the server calls `process` in its own thread, once per cycle.
    ///
    /// # Errors
    /// What libjack returned. A second activation: -1.
    pub(in crate::jack) fn activate(&mut self, process: Process) -> Result<(), c_int> {
        let ports = self.ports.take().ok_or(-1)?;
        let events = Arc::clone(&self.events);
        let (functions, handle) = (self.functions, self.handle);
        let of_latencies = LatencyArgument::new(functions, &ports, self.passages.clone());
        let of_latencies = *self.of_latencies.insert(Box::into_raw(Box::new(of_latencies)));
        // SAFETY: Open, Outlives.
        self.answers_latencies =
            !self.is_pipewire() && unsafe { port_latency::listen(functions, handle, of_latencies) };
        let position = self.follows.map(|_| Position::default());
        let mark = None;
        let argument =
            ProcessArgument { functions, handle, events, ports, process, position, mark };
        let argument = *self.argument.insert(Box::into_raw(Box::new(argument)));
        let of_events = self.events_of_callbacks.cast_mut().cast();
        // SAFETY: Types, Open, Outlives; Before activation, nobody uses `argument` yet.
        let answer = unsafe {
            let mut answer = (functions.on_process)(handle, on_process, argument.cast());
            if answer == 0 && self.follows == Some(true) {
                answer = (functions.on_sync)(handle, on_sync, of_events);
            }
            if answer == 0 { (functions.activate)(handle) } else { answer }
        };
        self.active = answer == 0;
        if self.active { Ok(()) } else { Err(answer) }
    }

    /// Connects two ports by their full names.
    pub(in crate::jack) fn connect(&self, from: &str, to: &str) -> Result<(), c_int> {
        let (from, to) = (to_c(from), to_c(to));
        // SAFETY: Types, Open.
        match unsafe { (self.functions.connect)(self.handle, from.as_ptr(), to.as_ptr()) } {
            0 | CONNECTED_ALREADY => Ok(()),
            refused => Err(refused),
        }
    }

    /// The names of all ports of this kind and direction, or of those of the hardware.
    pub(in crate::jack) fn all_ports(
        &self,
        kind: Kind,
        direction: Direction,
        physical: bool,
    ) -> Vec<String> {
        let kind = to_c(kind.name());
        let flags = direction as u64 | if physical { PHYSICAL } else { 0 };
        // SAFETY: Types, Open.
        unsafe {
            self.names((self.functions.ports)(self.handle, null(), kind.as_ptr(), flags as _))
        }
    }

    /// What a port is connected to. Nothing if there is no such port.
    pub(in crate::jack) fn connections(&self, port: &str) -> Vec<String> {
        let Some(port) = self.port(port) else { return Vec::new() };
        // SAFETY: Types, Open.
        unsafe { self.names((self.functions.port_connections)(self.handle, port)) }
    }

    pub(in crate::jack) fn has_port(&self, port: &str) -> bool {
        self.port(port).is_some()
    }

    fn port(&self, name: &str) -> Option<*mut JackPort> {
        let name = to_c(name);
        // SAFETY: Types, Open.
        let port = unsafe { (self.functions.port_by_name)(self.handle, name.as_ptr()) };
        (!port.is_null()).then_some(port)
    }

    /// # Safety
    /// NULL, or a list of texts that ends with NULL and that libjack has allocated for its caller. It is freed.
    unsafe fn names(&self, list: *mut *const c_char) -> Vec<String> {
        let mut names = Vec::new();
        if list.is_null() {
            return names;
        }
        // SAFETY: the caller's promise, and Types.
        unsafe {
            let mut at = list;
            while !(*at).is_null() {
                names.push(from_c(*at));
                at = at.add(1);
            }
            (self.functions.free)(list.cast());
        }
        names
    }

    /// The latency of a port, in frames. `None`: there is no such port.
    pub(in crate::jack) fn latency(&self, port: &str, side: Side) -> Option<LatencyRange> {
        Some(port_latency::range(self.functions, self.port(port)?, side))
    }

    /// Whether the server knows how late the client's ports are.
    pub(in crate::jack) fn answers_latencies(&self) -> bool {
        self.answers_latencies
    }

    /// From now on these are the ways through the client. If they are others than before, the server is to ask all clients anew.
    ///
    /// Thread: control, under no lock that a callback may want: the server asks before this returns.
    pub(in crate::jack) fn set_passages(&self, passages: Passages) {
        if self.passages.set(passages) {
            self.recompute_latencies();
        }
    }

    /// Has the server ask all clients how late their ports are, as it does by itself some time after each new connection.
    ///
    /// Thread: as above.
    pub(in crate::jack) fn recompute_latencies(&self) {
        let is_there = self.answers_latencies && self.active && self.events.gone().is_none();
        if let Some(recompute) = self.functions.recompute_latencies.filter(|_| is_there) {
            // SAFETY: Types, Open. A server that refuses has the figures that it knew.
            unsafe { recompute(self.handle) };
        }
    }
}

/// How long the name of a client may be.
pub(in crate::jack) fn longest_client_name(functions: &Functions) -> usize {
    // SAFETY: Types.
    unsafe { (functions.client_name_size)() }.max(2) as usize - 1
}

impl Client {
    /// Waits until the callback plays silence and nothing else. `false`: it hangs in what it called.
    fn come_to_rest(&self) -> bool {
        let (events, begun) = (&self.events, Instant::now());
        let is_over = || events.gone().is_some() && !events.inside.load(Relaxed);
        while !events.rests.load(Relaxed) && !is_over() && begun.elapsed() < LONGEST_CYCLE {
            std::thread::sleep(Duration::from_millis(1));
        }
        // A server that calls no more has left no callback behind.
        events.rests.load(Relaxed) || !events.inside.load(Relaxed)
    }
}

impl Client {
    /// Leaves the server. `false`: it does not let the client go. Then what callbacks use is leaked, and the end of the process tells the
    /// server.
    ///
    /// JACK's server (1.9.21) can wait for ever for a client that it notifies and that leaves at the same time: so libjack is
    /// asked on a thread of its own, which nobody has to wait for.
    pub(in crate::jack) fn leave(&mut self) -> bool {
        if std::mem::replace(&mut self.has_left, true) {
            return true;
        }
        self.requests.close();
        self.events.let_start();
        self.events.parked.store(true, Relaxed);
        // libjack cancels its thread and joins it. A callback that hangs would be joined for ever, and it uses what
        // would be freed, so client and arguments are leaked.
        if self.active && !self.come_to_rest() {
            return false;
        }
        let leaving = Leaving {
            functions: self.functions,
            handle: self.handle,
            events_of_callbacks: self.events_of_callbacks,
            argument: self.argument.take(),
            of_latencies: self.of_latencies.take(),
            active: self.active,
        };
        let (done, left) = mpsc::channel();
        let leaves = std::thread::Builder::new().name("hocket leaves".into()).spawn(move || {
            leaving.end();
            // Nobody may wait any more.
            let _ = done.send(());
        });
        leaves.is_ok() && left.recv_timeout(LONGEST_LEAVE).is_ok()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.leave();
    }
}

/// What is left of a client whose callbacks rest.
struct Leaving {
    functions: &'static Functions,
    handle: Handle,
    events_of_callbacks: *const Events,
    argument: Option<*mut ProcessArgument>,
    of_latencies: Option<*mut LatencyArgument>,
    active: bool,
}

// SAFETY: as for `Client`: jack.h lets any thread call its functions, and the pointers are given back once, in `end`.
unsafe impl Send for Leaving {}

impl Leaving {
    fn end(self) {
        // SAFETY: Types, Open: this is the end of it. If the client cannot be closed, callbacks may still come, so what
        // they use is leaked. Otherwise the pointers are given back to what made them.
        unsafe {
            if self.active {
                (self.functions.deactivate)(self.handle);
            }
            if (self.functions.client_close)(self.handle) == 0 {
                self.argument.into_iter().for_each(|argument| drop(Box::from_raw(argument)));
                self.of_latencies.into_iter().for_each(|argument| drop(Box::from_raw(argument)));
                drop(Arc::from_raw(self.events_of_callbacks));
            }
        }
    }
}
