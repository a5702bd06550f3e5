//! The functions of libjack that Hocket calls, looked up at run time.

use std::ffi::{c_char, c_int, c_ulong, c_void};
use std::path::Path;
use std::sync::OnceLock;

use crate::LatencyRange;
use crate::library::{self, functions};

/// `jack_client_t`.
pub(super) enum JackClient {}
/// `jack_port_t`.
pub(super) enum JackPort {}

/// The beginning of `jack_position_t`, which every version and every machine has in this way, and more room than any of
/// them needs for the rest.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Position {
    unique_1: u64,
    usecs: u64,
    frame_rate: u32,
    pub(super) frame: u32,
    rest: [u64; 32],
}

/// `jack_midi_event_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct MidiEvent {
    /// Frame of the cycle.
    pub(super) time: u32,
    pub(super) size: usize,
    pub(super) bytes: *mut u8,
}

pub(super) type Handle = *mut JackClient;
pub(super) type Argument = *mut c_void;
pub(super) type OnProcess = extern "C-unwind" fn(u32, Argument) -> c_int;
pub(super) type OnFrames = extern "C" fn(u32, Argument) -> c_int;
pub(super) type OnXrun = extern "C" fn(Argument) -> c_int;
pub(super) type OnShutdown = extern "C" fn(Argument);
pub(super) type OnPort = extern "C" fn(u32, c_int, Argument);
pub(super) type OnInfoShutdown = extern "C" fn(c_int, *const c_char, Argument);
pub(super) type OnSync = extern "C-unwind" fn(c_int, *mut Position, Argument) -> c_int;
pub(super) type OnLatency = extern "C" fn(c_int, Argument);
pub(super) type OnFreewheel = extern "C" fn(c_int, Argument);
pub(super) type OnMessage = extern "C" fn(*const c_char);

/// The names under which the library is installed. The first one that loads is taken.
const NAMES: [&str; 2] = ["libjack.so.0", "libjack.so"];

functions! {
    /// The functions.
    pub(in crate::jack) struct Functions {
        client_open: unsafe extern "C" fn(*const c_char, c_int, *mut c_int, ...) -> Handle = "jack_client_open";
        client_close: unsafe extern "C" fn(Handle) -> c_int = "jack_client_close";
        client_name: unsafe extern "C" fn(Handle) -> *const c_char = "jack_get_client_name";
        client_name_size: unsafe extern "C" fn() -> c_int = "jack_client_name_size";
        activate: unsafe extern "C" fn(Handle) -> c_int = "jack_activate";
        deactivate: unsafe extern "C" fn(Handle) -> c_int = "jack_deactivate";
        version: unsafe extern "C" fn() -> *const c_char = "jack_get_version_string";
        sample_rate: unsafe extern "C" fn(Handle) -> u32 = "jack_get_sample_rate";
        buffer_size: unsafe extern "C" fn(Handle) -> u32 = "jack_get_buffer_size";
        is_realtime: unsafe extern "C" fn(Handle) -> c_int = "jack_is_realtime";
        on_process: unsafe extern "C" fn(Handle, OnProcess, Argument) -> c_int = "jack_set_process_callback";
        on_sample_rate: unsafe extern "C" fn(Handle, OnFrames, Argument) -> c_int = "jack_set_sample_rate_callback";
        on_xrun: unsafe extern "C" fn(Handle, OnXrun, Argument) -> c_int = "jack_set_xrun_callback";
        on_shutdown: unsafe extern "C" fn(Handle, OnShutdown, Argument) = "jack_on_shutdown";
        on_info_shutdown: unsafe extern "C" fn(Handle, OnInfoShutdown, Argument) = "jack_on_info_shutdown";
        on_port: unsafe extern "C" fn(Handle, OnPort, Argument) -> c_int = "jack_set_port_registration_callback";
        on_error_message: unsafe extern "C" fn(OnMessage) = "jack_set_error_function";
        on_info_message: unsafe extern "C" fn(OnMessage) = "jack_set_info_function";
        on_sync: unsafe extern "C" fn(Handle, OnSync, Argument) -> c_int = "jack_set_sync_callback";
        transport_query: unsafe extern "C" fn(Handle, *mut Position) -> c_int = "jack_transport_query";
        transport_start: unsafe extern "C" fn(Handle) = "jack_transport_start";
        transport_stop: unsafe extern "C" fn(Handle) = "jack_transport_stop";
        transport_locate: unsafe extern "C" fn(Handle, u32) -> c_int = "jack_transport_locate";
        port_register: unsafe extern "C" fn(Handle, *const c_char, *const c_char, c_ulong, c_ulong) -> *mut JackPort = "jack_port_register";
        port_name: unsafe extern "C" fn(*const JackPort) -> *const c_char = "jack_port_name";
        port_name_size: unsafe extern "C" fn() -> c_int = "jack_port_name_size";
        port_buffer: unsafe extern "C" fn(*mut JackPort, u32) -> *mut c_void = "jack_port_get_buffer";
        port_by_name: unsafe extern "C" fn(Handle, *const c_char) -> *mut JackPort = "jack_port_by_name";
        port_connected: unsafe extern "C" fn(*const JackPort) -> c_int = "jack_port_connected";
        port_latency: unsafe extern "C" fn(*mut JackPort, c_int, *mut LatencyRange) = "jack_port_get_latency_range";
        ports: unsafe extern "C" fn(Handle, *const c_char, *const c_char, c_ulong) -> *mut *const c_char = "jack_get_ports";
        connect: unsafe extern "C" fn(Handle, *const c_char, *const c_char) -> c_int = "jack_connect";
        port_connections: unsafe extern "C" fn(Handle, *const JackPort) -> *mut *const c_char = "jack_port_get_all_connections";
        midi_count: unsafe extern "C" fn(*mut c_void) -> u32 = "jack_midi_get_event_count";
        midi_event: unsafe extern "C" fn(*mut MidiEvent, *mut c_void, u32) -> c_int = "jack_midi_event_get";
        midi_clear: unsafe extern "C" fn(*mut c_void) = "jack_midi_clear_buffer";
        midi_write: unsafe extern "C" fn(*mut c_void, u32, *const u8, usize) -> c_int = "jack_midi_event_write";
        free: unsafe extern "C" fn(*mut c_void) = "jack_free";
        last_frame_time: unsafe extern "C" fn(Handle) -> u32 = "jack_last_frame_time";
        frames_since_cycle_start: unsafe extern "C" fn(Handle) -> u32 = "jack_frames_since_cycle_start";
        // jack.h: weak, because older libraries lack them.
        ? on_latency: unsafe extern "C" fn(Handle, OnLatency, Argument) -> c_int = "jack_set_latency_callback";
        ? set_port_latency: unsafe extern "C" fn(*mut JackPort, c_int, *mut LatencyRange) = "jack_port_set_latency_range";
        ? on_freewheel: unsafe extern "C" fn(Handle, OnFreewheel, Argument) -> c_int = "jack_set_freewheel_callback";
        ? recompute_latencies: unsafe extern "C" fn(Handle) -> c_int = "jack_recompute_total_latencies";
    }
}

extern "C" fn say_nothing(_: *const c_char) {}

/// The library, loaded at the first call. Its own messages are silenced, because each failure is reported here.
pub(in crate::jack) fn load() -> Result<&'static Functions, String> {
    static LOADED: OnceLock<Result<Functions, String>> = OnceLock::new();
    LOADED.get_or_init(|| find(&NAMES)).as_ref().map_err(Clone::clone)
}

/// PipeWire's library, loaded at the first call from this path.
pub(in crate::jack) fn load_pipewire(path: &Path) -> Result<&'static Functions, String> {
    static LOADED: OnceLock<Result<Functions, String>> = OnceLock::new();
    LOADED.get_or_init(|| find(&[&path.to_string_lossy()])).as_ref().map_err(Clone::clone)
}

fn find(names: &[&str]) -> Result<Functions, String> {
    // SAFETY: the start-up code of both libraries has no conditions. Types.
    let functions = unsafe { library::load(names, Functions::find) }?;
    // SAFETY: Types. The callback lives as long as the process.
    unsafe {
        (functions.on_error_message)(say_nothing);
        (functions.on_info_message)(say_nothing);
    }
    Ok(functions)
}
