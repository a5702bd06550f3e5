//! A card whose output is connected to its input, as a JACK client of its own: it gives what it gets back some frames later, and its
//! ports state a latency. It shares no code with Hocket's client.

use std::ffi::{CString, c_char, c_int, c_ulong, c_void};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

/// JackNoStartServer and JackServerName.
const OPTIONS: c_int = 0x01 | 0x04;
const IS_INPUT: c_ulong = 1;
const IS_OUTPUT: c_ulong = 2;
/// JackCaptureLatency and JackPlaybackLatency.
const CAPTURE: c_int = 0;
const PLAYBACK: c_int = 1;

/// jack_latency_range_t.
#[repr(C)]
#[derive(Debug, Default, Clone, Copy)]
struct Range {
    min: u32,
    max: u32,
}

type Handle = *mut c_void;
type Buffer = unsafe extern "C" fn(*mut c_void, u32) -> *mut f32;
type SetRange = unsafe extern "C" fn(*mut c_void, c_int, *mut Range);

/// What the server's threads use.
struct Shared {
    buffer: Buffer,
    set_range: SetRange,
    inputs: [*mut c_void; 2],
    output: *mut c_void,
    /// What its ports state: how long sound takes to the ears, and from the microphone.
    out_frames: AtomicU32,
    in_frames: AtomicU32,
    /// What came in last, as long as the delay.
    line: Vec<f32>,
    oldest: usize,
}

/// A client with inputs `in_1`, `in_2` and an output `out_1`, on which the first input comes back.
pub struct Card {
    library: libloading::Library,
    handle: Handle,
    shared: *mut Shared,
}

extern "C" fn on_process(frames: u32, shared: *mut c_void) -> c_int {
    // SAFETY: `open` passed this pointer, and frees it after the client is closed; the other threads use other fields.
    let shared = unsafe { &mut *shared.cast::<Shared>() };
    let count = frames as usize;
    // SAFETY: jack.h: buffers of so many frames, valid in this cycle, of which nobody else writes the second one.
    let (input, output) = unsafe {
        let input = (shared.buffer)(shared.inputs[0], frames);
        let output = (shared.buffer)(shared.output, frames);
        (std::slice::from_raw_parts(input, count), std::slice::from_raw_parts_mut(output, count))
    };
    for (from, to) in input.iter().zip(output) {
        match shared.line.get_mut(shared.oldest) {
            Some(place) => *to = std::mem::replace(place, *from),
            None => *to = *from,
        }
        shared.oldest = (shared.oldest + 1) % shared.line.len().max(1);
    }
    0
}

extern "C" fn on_latency(side: c_int, shared: *mut c_void) {
    // SAFETY: as in `on_process`; these fields do not change, or are atomics.
    let shared = unsafe { &*shared.cast::<Shared>() };
    shared.state(side);
}

impl Shared {
    fn state(&self, side: c_int) {
        let range = |frames: &AtomicU32| {
            let frames = frames.load(SeqCst);
            Range { min: frames, max: frames }
        };
        let (mut range, ports) = match side {
            CAPTURE => (range(&self.in_frames), &[self.output][..]),
            _ => (range(&self.out_frames), &self.inputs[..]),
        };
        for port in ports {
            // SAFETY: the type is that of jack.h, and the port is the client's own.
            unsafe { (self.set_range)(*port, side, &raw mut range) };
        }
    }
}

impl Card {
    /// `delay`: of the card alone. `latency`: what its ports state, out and in.
    pub fn open(server: &str, delay: usize, [out_frames, in_frames]: [u32; 2]) -> Card {
        type Open = unsafe extern "C" fn(*const c_char, c_int, *mut c_int, ...) -> Handle;
        type Register = unsafe extern "C" fn(
            Handle,
            *const c_char,
            *const c_char,
            c_ulong,
            c_ulong,
        ) -> *mut c_void;
        type Process = extern "C" fn(u32, *mut c_void) -> c_int;
        type SetProcess = unsafe extern "C" fn(Handle, Process, *mut c_void) -> c_int;
        type OnLatency = extern "C" fn(c_int, *mut c_void);
        type SetLatency = unsafe extern "C" fn(Handle, OnLatency, *mut c_void) -> c_int;
        let text = |text: &str| CString::new(text).unwrap();
        let (name, server) = (text("card"), text(server));
        let mut status = 0;
        // SAFETY: loading libjack has no conditions; the types are those of jack.h, and the handle is open from here on.
        unsafe {
            let library = libloading::Library::new("libjack.so.0").unwrap();
            let open = *library.get::<Open>("jack_client_open").unwrap();
            let handle = open(name.as_ptr(), OPTIONS, &raw mut status, server.as_ptr());
            assert!(!handle.is_null(), "jack_client_open: status {status:#x}");
            let register = *library.get::<Register>("jack_port_register").unwrap();
            let port = |name: &str, flags| {
                let (name, kind) = (text(name), text("32 bit float mono audio"));
                let port = register(handle, name.as_ptr(), kind.as_ptr(), flags, 0);
                assert!(!port.is_null(), "jack_port_register");
                port
            };
            let shared = Box::into_raw(Box::new(Shared {
                buffer: *library.get("jack_port_get_buffer").unwrap(),
                set_range: *library.get("jack_port_set_latency_range").unwrap(),
                inputs: ["in_1", "in_2"].map(|name| port(name, IS_INPUT)),
                output: port("out_1", IS_OUTPUT),
                out_frames: AtomicU32::new(out_frames),
                in_frames: AtomicU32::new(in_frames),
                line: vec![0.0; delay],
                oldest: 0,
            }));
            let set = *library.get::<SetProcess>("jack_set_process_callback").unwrap();
            assert_eq!(set(handle, on_process, shared.cast()), 0);
            let set = *library.get::<SetLatency>("jack_set_latency_callback").unwrap();
            assert_eq!(set(handle, on_latency, shared.cast()), 0);
            let card = Card { library, handle, shared };
            assert_eq!(card.call("jack_activate"), 0);
            card.tell_latency();
            card
        }
    }

    /// The ports state another latency, and the card delays as before.
    pub fn set_latency(&self, [out_frames, in_frames]: [u32; 2]) {
        // SAFETY: it lives as long as the client; these are atomics.
        let shared = unsafe { &*self.shared };
        shared.out_frames.store(out_frames, SeqCst);
        shared.in_frames.store(in_frames, SeqCst);
        self.tell_latency();
    }

    /// States it, and has the server ask all clients anew.
    fn tell_latency(&self) {
        // SAFETY: it lives as long as the client.
        let shared = unsafe { &*self.shared };
        [CAPTURE, PLAYBACK].into_iter().for_each(|side| shared.state(side));
        self.call("jack_recompute_total_latencies");
    }

    fn call(&self, name: &str) -> c_int {
        // SAFETY: each caller names a function of this type, and the handle is open.
        unsafe {
            self.library.get::<unsafe extern "C" fn(Handle) -> c_int>(name).unwrap()(self.handle)
        }
    }
}

impl Drop for Card {
    fn drop(&mut self) {
        self.call("jack_deactivate");
        self.call("jack_client_close");
        // SAFETY: it came from `Box::into_raw`, and the client is closed.
        drop(unsafe { Box::from_raw(self.shared) });
    }
}
