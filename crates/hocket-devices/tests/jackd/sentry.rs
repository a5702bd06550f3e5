//! A JACK client that shares no code with Hocket's: it records its inputs with the place of the server's transport, plays a
//! counter on its outputs and a note in each cycle, and starts, stops and moves the transport.

use std::ffi::{CString, c_char, c_int, c_ulong, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

/// JackNoStartServer and JackServerName.
const OPTIONS: c_int = 0x01 | 0x04;
const IS_INPUT: c_ulong = 1;
const IS_OUTPUT: c_ulong = 2;

/// The states of a transport in jack.h.
pub const STOPPED: c_int = 0;
pub const ROLLING: c_int = 1;
pub const STARTING: c_int = 3;

/// The figures of a port's latency in jack.h.
pub const CAPTURE: c_int = 0;
pub const PLAYBACK: c_int = 1;

/// Cycles are at least so long.
const SHORTEST_CYCLE: usize = 16;

/// What a client saw of the transport in a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SongCycle {
    /// The cycle's first frame in the recording.
    pub at: usize,
    /// How many frames were recorded.
    pub frames: usize,
    pub state: c_int,
    /// The transport's frame.
    pub frame: u32,
}

/// jack_position_t, with its first fields by name.
#[repr(C)]
#[derive(Default)]
struct Position {
    unique: u64,
    usecs: u64,
    frame_rate: u32,
    frame: u32,
    more: [u64; 30],
}

type Handle = *mut c_void;
type Clear = unsafe extern "C" fn(*mut f32);
type Write = unsafe extern "C" fn(*mut f32, u32, *const u8, usize) -> c_int;
type Query = unsafe extern "C" fn(Handle, *mut Position) -> c_int;
type Process = extern "C" fn(u32, *mut c_void) -> c_int;
type Message = extern "C" fn(*const c_char);

/// libjack.
pub struct Library(libloading::Library);

extern "C" fn say_nothing(_: *const c_char) {}

impl Library {
    /// Loads it, and silences its messages.
    pub fn load() -> Result<Arc<Library>, String> {
        // SAFETY: loading libjack has no conditions.
        let library = unsafe { libloading::Library::new("libjack.so.0") };
        let library = Library(library.map_err(|error| error.to_string())?);
        for name in ["jack_set_error_function", "jack_set_info_function"] {
            // SAFETY: both have this type in jack.h.
            unsafe { library.get::<unsafe extern "C" fn(Message)>(name)(say_nothing) };
        }
        Ok(Arc::new(library))
    }

    /// # Safety
    /// `T` is the function's type in jack.h.
    unsafe fn get<T: Copy>(&self, name: &str) -> T {
        // SAFETY: the caller's obligation.
        unsafe { *self.0.get::<T>(name).unwrap() }
    }
}

/// What the server's thread uses.
struct Shared {
    buffer: unsafe extern "C" fn(*mut c_void, u32) -> *mut f32,
    query: Query,
    handle: Handle,
    inputs: Vec<*mut c_void>,
    outputs: Vec<*mut c_void>,
    /// The MIDI port, if there are outputs.
    midi: Option<*mut c_void>,
    clear: Clear,
    write: Write,
    /// The counter's values where notes were sent. It does not move.
    notes: Vec<u64>,
    /// Room for everything; the vectors do not move.
    recorded: Vec<Vec<f32>>,
    /// As above.
    cycles: Vec<SongCycle>,
    /// Frames that are recorded.
    length: AtomicUsize,
    /// The counter's next value.
    next: AtomicU64,
    /// How long each cycle sleeps.
    sleeps_us: AtomicU64,
    /// What the server has reported.
    xruns: AtomicU64,
    /// An input was not silent.
    heard: AtomicBool,
    /// The client is about to leave.
    ended: AtomicBool,
}

/// A client with inputs `in_1`, ... and outputs `out_1`, ..., and then a MIDI output `notes`.
pub struct OtherClient {
    library: Arc<Library>,
    handle: Handle,
    shared: *mut Shared,
}

extern "C" fn on_process(frames: u32, shared: *mut c_void) -> c_int {
    // SAFETY: `open` passed this pointer, and frees it after the client is closed; there is one process thread, and the
    // others use atomics only while it runs.
    let shared = unsafe { &mut *shared.cast::<Shared>() };
    if shared.ended.load(SeqCst) {
        return 0;
    }
    let count = frames as usize;
    let (state, frame) = at(shared.query, shared.handle);
    let (begin, room) = shared.recorded.first().map_or((0, 0), |row| (row.len(), row.capacity()));
    if shared.cycles.len() < shared.cycles.capacity() {
        let frames = count.min(room - begin);
        shared.cycles.push(SongCycle { at: begin, frames, state, frame });
    }
    for (port, row) in shared.inputs.iter().zip(&mut shared.recorded) {
        // SAFETY: jack.h: a buffer of so many frames, valid in this cycle.
        let buffer = unsafe { std::slice::from_raw_parts((shared.buffer)(*port, frames), count) };
        let room = (row.capacity() - row.len()).min(count);
        row.extend_from_slice(&buffer[..room]);
        shared.heard.fetch_or(buffer.iter().any(|sample| *sample != 0.0), SeqCst);
    }
    let next = shared.next.fetch_add(u64::from(frames), SeqCst);
    for port in &shared.outputs {
        // SAFETY: as above, and nobody else writes it.
        let buffer =
            unsafe { std::slice::from_raw_parts_mut((shared.buffer)(*port, frames), count) };
        buffer.iter_mut().zip(next..).for_each(|(sample, number)| *sample = counter(number));
    }
    if let Some(midi) = shared.midi {
        let frame = note_frame(next, frames);
        // SAFETY: as above; the types are those of jack.h, and libjack copies the message.
        let answer = unsafe {
            let buffer = (shared.buffer)(midi, frames);
            (shared.clear)(buffer);
            (shared.write)(buffer, frame, NOTE.as_ptr(), NOTE.len())
        };
        if answer == 0 && shared.notes.len() < shared.notes.capacity() {
            shared.notes.push(next + u64::from(frame));
        }
    }
    let sleeps = shared.sleeps_us.load(SeqCst);
    if sleeps > 0 {
        std::thread::sleep(Duration::from_micros(sleeps));
    }
    shared.length.fetch_add(count, SeqCst);
    0
}

extern "C" fn on_xrun(shared: *mut c_void) -> c_int {
    // SAFETY: as in `on_process`; of what this thread shares with others it uses an atomic alone.
    unsafe { (*shared.cast::<Shared>()).xruns.fetch_add(1, SeqCst) };
    0
}

/// Where the transport is.
fn at(query: Query, handle: Handle) -> (c_int, u32) {
    let mut position = Position::default();
    // SAFETY: the type is that of jack.h, with more room than its struct needs, and the handle is open.
    let state = unsafe { query(handle, &raw mut position) };
    (state, position.frame)
}

/// Middle C begins.
const NOTE: [u8; 3] = [0x90, 60, 100];

/// In which frame of a cycle a note begins: in another one each time.
fn note_frame(next: u64, frames: u32) -> u32 {
    (next / u64::from(frames) * 7 % u64::from(frames)) as u32
}

/// After so many frames the counter begins anew.
pub const COUNTS: u64 = 1_000_000;

/// What the outputs play at a frame: never 0, and different for a long time.
pub fn counter(frame: u64) -> f32 {
    (1 + frame % COUNTS) as f32 / 1_048_576.0
}

impl OtherClient {
    /// `ports`: inputs and outputs; `room`: frames that can be recorded.
    pub fn open(
        library: &Arc<Library>,
        server: &str,
        name: &str,
        (inputs, outputs): (usize, usize),
        room: usize,
    ) -> Result<OtherClient, String> {
        let text = |text: &str| CString::new(text).unwrap();
        let (server, name) = (text(server), text(name));
        let (audio, midi) = (text("32 bit float mono audio"), text("8 bit raw midi"));
        let mut status = 0;
        // SAFETY: the types are those of jack.h, and the handle is open from here on.
        unsafe {
            type Open = unsafe extern "C" fn(*const c_char, c_int, *mut c_int, ...) -> Handle;
            type Register = unsafe extern "C" fn(
                Handle,
                *const c_char,
                *const c_char,
                c_ulong,
                c_ulong,
            ) -> *mut c_void;
            type SetProcess = unsafe extern "C" fn(Handle, Process, *mut c_void) -> c_int;
            type Xrun = extern "C" fn(*mut c_void) -> c_int;
            type SetXrun = unsafe extern "C" fn(Handle, Xrun, *mut c_void) -> c_int;
            let open = library.get::<Open>("jack_client_open");
            let handle = open(name.as_ptr(), OPTIONS, &raw mut status, server.as_ptr());
            if handle.is_null() {
                return Err(format!("jack_client_open: status {status:#x}"));
            }
            let register = |name: String, kind: &CString, flags| {
                let name = CString::new(name).unwrap();
                let register = library.get::<Register>("jack_port_register");
                let port = register(handle, name.as_ptr(), kind.as_ptr(), flags, 0);
                assert!(!port.is_null(), "jack_port_register");
                port
            };
            let audio_port = |name, flags| register(name, &audio, flags);
            let shared = Box::into_raw(Box::new(Shared {
                buffer: library.get("jack_port_get_buffer"),
                query: library.get("jack_transport_query"),
                handle,
                inputs: (1..=inputs).map(|n| audio_port(format!("in_{n}"), IS_INPUT)).collect(),
                outputs: (1..=outputs).map(|n| audio_port(format!("out_{n}"), IS_OUTPUT)).collect(),
                midi: (outputs > 0).then(|| register("notes".into(), &midi, IS_OUTPUT)),
                clear: library.get("jack_midi_clear_buffer"),
                write: library.get("jack_midi_event_write"),
                notes: Vec::with_capacity(room / SHORTEST_CYCLE),
                recorded: vec![Vec::with_capacity(room); inputs],
                cycles: Vec::with_capacity(room / SHORTEST_CYCLE),
                length: AtomicUsize::new(0),
                next: AtomicU64::new(0),
                sleeps_us: AtomicU64::new(0),
                xruns: AtomicU64::new(0),
                heard: AtomicBool::new(false),
                ended: AtomicBool::new(false),
            }));
            // A clone of a vector has no room.
            (*shared).recorded.iter_mut().for_each(|row| row.reserve_exact(room));
            let client = OtherClient { library: Arc::clone(library), handle, shared };
            let set = library.get::<SetProcess>("jack_set_process_callback");
            assert_eq!(set(handle, on_process, shared.cast()), 0);
            let set = library.get::<SetXrun>("jack_set_xrun_callback");
            assert_eq!(set(handle, on_xrun, shared.cast()), 0);
            if inputs + outputs > 0 {
                assert_eq!(client.call("jack_activate"), 0);
            }
            Ok(client)
        }
    }

    fn call(&self, name: &str) -> c_int {
        // SAFETY: each caller names a function of this type, and the handle is open.
        unsafe { self.library.get::<unsafe extern "C" fn(Handle) -> c_int>(name)(self.handle) }
    }

    fn shared(&self) -> (&AtomicUsize, &AtomicU64, &AtomicBool, &AtomicBool) {
        // SAFETY: it lives as long as the client; these are atomics.
        unsafe {
            let shared = self.shared;
            (&(*shared).length, &(*shared).sleeps_us, &(*shared).ended, &(*shared).heard)
        }
    }

    /// Whether an input was not silent.
    pub fn has_heard(&self) -> bool {
        self.shared().3.load(SeqCst)
    }

    /// Frames that are recorded.
    pub fn length(&self) -> usize {
        self.shared().0.load(SeqCst)
    }

    /// How many xruns the server has reported since the client is active.
    pub fn xruns(&self) -> u64 {
        // SAFETY: as in `shared`.
        unsafe { (*self.shared).xruns.load(SeqCst) }
    }

    /// From now on every cycle takes so long.
    pub fn sleep_in_cycles(&self, time: Duration) {
        self.shared().1.store(time.as_micros() as u64, SeqCst);
    }

    /// State and frame of the server's transport.
    pub fn transport(&self) -> (c_int, u32) {
        // SAFETY: `at` has the type of jack.h.
        at(unsafe { self.library.get("jack_transport_query") }, self.handle)
    }

    /// Connects two ports of the server.
    pub fn connect(&self, from: &str, to: &str) {
        type Connect = unsafe extern "C" fn(Handle, *const c_char, *const c_char) -> c_int;
        let [from, to] = [from, to].map(|name| CString::new(name).unwrap());
        // SAFETY: the type is that of jack.h, the handle is open, and both names end with a zero.
        let answer = unsafe {
            let connect = self.library.get::<Connect>("jack_connect");
            connect(self.handle, from.as_ptr(), to.as_ptr())
        };
        assert_eq!(answer, 0, "{from:?} to {to:?}");
    }

    /// What the server has for a port: the shortest and the longest way, in frames. `side`: [`CAPTURE`] or [`PLAYBACK`].
    pub fn latency(&self, port: &str, side: c_int) -> [u32; 2] {
        type ByName = unsafe extern "C" fn(Handle, *const c_char) -> *mut c_void;
        type Latency = unsafe extern "C" fn(*mut c_void, c_int, *mut [u32; 2]);
        let name = CString::new(port).unwrap();
        let mut range = [u32::MAX; 2];
        // SAFETY: the types are those of jack.h, whose range is two numbers; the handle is open, and the name ends with a zero.
        unsafe {
            let found = self.library.get::<ByName>("jack_port_by_name")(self.handle, name.as_ptr());
            assert!(!found.is_null(), "no port {port}");
            let get = self.library.get::<Latency>("jack_port_get_latency_range");
            get(found, side, &raw mut range);
        }
        range
    }

    /// The server is to call its clients as fast as they are ready, or again by its clock. jackd has done so when this returns.
    pub fn freewheel(&self, freewheels: bool) {
        type Freewheel = unsafe extern "C" fn(Handle, c_int) -> c_int;
        // SAFETY: as in `start`.
        let answer = unsafe {
            let set = self.library.get::<Freewheel>("jack_set_freewheel");
            set(self.handle, c_int::from(freewheels))
        };
        assert_eq!(answer, 0, "jack_set_freewheel {freewheels}");
    }

    /// The server's transport is to roll.
    pub fn start(&self) {
        // SAFETY: the type is that of jack.h, and the handle is open.
        unsafe {
            let start = self.library.get::<unsafe extern "C" fn(Handle)>("jack_transport_start");
            start(self.handle);
        }
    }

    /// The server's transport is to stop.
    pub fn stop(&self) {
        // SAFETY: as in `start`.
        unsafe {
            let stop = self.library.get::<unsafe extern "C" fn(Handle)>("jack_transport_stop");
            stop(self.handle);
        }
    }

    /// The server's transport is to go to this frame.
    pub fn locate(&self, frame: u32) {
        type Locate = unsafe extern "C" fn(Handle, u32) -> c_int;
        // SAFETY: as in `start`.
        let answer = unsafe {
            let locate = self.library.get::<Locate>("jack_transport_locate");
            locate(self.handle, frame)
        };
        assert_eq!(answer, 0, "jack_transport_locate {frame}");
    }

    /// Leaves the server; returns what came in, by input.
    pub fn end(self) -> Vec<Vec<f32>> {
        self.end_with_cycles().0
    }

    /// The same with what the transport did in each cycle.
    pub fn end_with_cycles(self) -> (Vec<Vec<f32>>, Vec<SongCycle>) {
        let shared = self.close();
        (shared.recorded, shared.cycles)
    }

    /// What came in, and the values of the counter at which a note was sent.
    pub fn end_with_notes(self) -> (Vec<Vec<f32>>, Vec<u64>) {
        let shared = self.close();
        (shared.recorded, shared.notes)
    }

    fn close(self) -> Box<Shared> {
        self.shared().2.store(true, SeqCst);
        self.call("jack_deactivate");
        self.call("jack_client_close");
        let shared = self.shared;
        std::mem::forget(self);
        // SAFETY: it came from `Box::into_raw`, and the client is closed.
        unsafe { Box::from_raw(shared) }
    }
}

impl Drop for OtherClient {
    fn drop(&mut self) {
        self.shared().2.store(true, SeqCst);
        self.call("jack_deactivate");
        self.call("jack_client_close");
        // SAFETY: as in `end`.
        drop(unsafe { Box::from_raw(self.shared) });
    }
}
