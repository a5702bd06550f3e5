//! The C structs of LV2, as its headers give them, and the names that they are known by.

use std::ffi::{CStr, c_char, c_void};

/// `LV2_Handle`.
pub type Handle = *mut c_void;
/// `LV2_URID`.
pub type Urid = u32;

/// `LV2_Feature`.
#[repr(C)]
#[derive(Debug)]
pub struct Feature {
    pub uri: *const c_char,
    pub data: *mut c_void,
}

/// `LV2_Descriptor`.
#[repr(C)]
pub struct Descriptor {
    pub uri: *const c_char,
    pub instantiate: *const c_void,
    pub connect_port: Option<unsafe extern "C" fn(Handle, u32, *mut c_void)>,
    pub activate: Option<unsafe extern "C" fn(Handle)>,
    pub run: Option<unsafe extern "C" fn(Handle, u32)>,
    pub deactivate: Option<unsafe extern "C" fn(Handle)>,
    pub cleanup: *const c_void,
    pub extension_data: Option<unsafe extern "C" fn(*const c_char) -> *const c_void>,
}

/// `LilvInstance`: its layout is public, because lilv's own inline functions use it.
#[repr(C)]
pub struct LilvInstance {
    pub descriptor: *const Descriptor,
    pub handle: Handle,
    pub private: *mut c_void,
}

/// `LV2_URID_Map`.
#[repr(C)]
pub struct UridMap {
    pub handle: *mut c_void,
    pub map: unsafe extern "C" fn(*mut c_void, *const c_char) -> Urid,
}

/// `LV2_URID_Unmap`.
#[repr(C)]
pub struct UridUnmap {
    pub handle: *mut c_void,
    pub unmap: unsafe extern "C" fn(*mut c_void, Urid) -> *const c_char,
}

/// `LV2_Options_Option`.
#[repr(C)]
pub struct OptionEntry {
    pub context: u32,
    pub subject: u32,
    pub key: Urid,
    pub size: u32,
    pub kind: Urid,
    pub value: *const c_void,
}

/// `LV2_Worker_Status`: what a request or an answer comes to.
pub const WORKER_DONE: u32 = 0;
/// See [`WORKER_DONE`].
pub const WORKER_FAILED: u32 = 1;
/// See [`WORKER_DONE`].
pub const WORKER_NO_SPACE: u32 = 2;

/// `LV2_Worker_Schedule`.
#[repr(C)]
pub struct WorkerSchedule {
    pub handle: *mut c_void,
    pub schedule: unsafe extern "C" fn(*mut c_void, u32, *const c_void) -> u32,
}

/// `LV2_Worker_Respond_Function`.
pub type Respond = unsafe extern "C" fn(*mut c_void, u32, *const c_void) -> u32;

/// `LV2_Worker_Interface`.
#[repr(C)]
pub struct WorkerInterface {
    pub work: Option<unsafe extern "C" fn(Handle, Respond, *mut c_void, u32, *const c_void) -> u32>,
    pub work_response: Option<unsafe extern "C" fn(Handle, u32, *const c_void) -> u32>,
    pub end_run: Option<unsafe extern "C" fn(Handle) -> u32>,
}

/// `LV2_State_Store_Function`.
pub type Store = unsafe extern "C" fn(*mut c_void, Urid, *const c_void, usize, Urid, u32) -> u32;
/// `LV2_State_Retrieve_Function`.
pub type Retrieve =
    unsafe extern "C" fn(*mut c_void, Urid, *mut usize, *mut Urid, *mut u32) -> *const c_void;

/// `LV2_State_Interface`.
#[repr(C)]
pub struct StateInterface {
    pub save:
        Option<unsafe extern "C" fn(Handle, Store, *mut c_void, u32, *const *const Feature) -> u32>,
    pub restore: Option<
        unsafe extern "C" fn(Handle, Retrieve, *mut c_void, u32, *const *const Feature) -> u32,
    >,
}

/// `LilvSetPortValueFunc`: symbol, user data, value, its bytes and type.
pub type SetPort = unsafe extern "C" fn(*const c_char, *mut c_void, *const c_void, u32, Urid);

/// `LV2_STATE_SUCCESS`.
pub const STATE_DONE: u32 = 0;
/// `LV2_STATE_ERR_BAD_FLAGS`.
pub const STATE_BAD_FLAGS: u32 = 3;
/// `LV2_STATE_ERR_NO_SPACE`: here for what is too large to be kept.
pub const STATE_NO_SPACE: u32 = 6;
/// `LV2_STATE_IS_POD | LV2_STATE_IS_PORTABLE`.
pub const STATE_PLAIN: u32 = STATE_POD | 2;
/// `LV2_STATE_IS_POD`: the value is its bytes.
pub const STATE_POD: u32 = 1;

/// `LV2_State_Map_Path`.
#[repr(C)]
pub struct StateMapPath {
    pub handle: *mut c_void,
    pub abstract_path: unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_char,
    pub absolute_path: unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_char,
}

/// `LV2_State_Free_Path`.
#[repr(C)]
pub struct StateFreePath {
    pub handle: *mut c_void,
    pub free_path: unsafe extern "C" fn(*mut c_void, *mut c_char),
}

macro_rules! uris {
    ($($name:ident = $uri:literal;)*) => {
        $(pub const $name: &CStr = $uri;)*
    };
}

uris! {
    PRESET = c"http://lv2plug.in/ns/ext/presets#Preset";
    LABEL = c"http://www.w3.org/2000/01/rdf-schema#label";
    NAME = c"http://lv2plug.in/ns/lv2core#name";
    SYMBOL = c"http://lv2plug.in/ns/lv2core#symbol";
    ATOM_DOUBLE = c"http://lv2plug.in/ns/ext/atom#Double";
    ATOM_BOOL = c"http://lv2plug.in/ns/ext/atom#Bool";
    AUDIO_PORT = c"http://lv2plug.in/ns/lv2core#AudioPort";
    CONTROL_PORT = c"http://lv2plug.in/ns/lv2core#ControlPort";
    INPUT_PORT = c"http://lv2plug.in/ns/lv2core#InputPort";
    DESIGNATION = c"http://lv2plug.in/ns/lv2core#designation";
    CONNECTION_OPTIONAL = c"http://lv2plug.in/ns/lv2core#connectionOptional";
    SAMPLE_RATE = c"http://lv2plug.in/ns/lv2core#sampleRate";
    INTEGER = c"http://lv2plug.in/ns/lv2core#integer";
    TOGGLED = c"http://lv2plug.in/ns/lv2core#toggled";
    IS_SIDE_CHAIN = c"http://lv2plug.in/ns/lv2core#isSideChain";
    REPORTS_LATENCY = c"http://lv2plug.in/ns/lv2core#reportsLatency";
    PORT_GROUP = c"http://lv2plug.in/ns/ext/port-groups#group";
    SIDE_CHAIN_OF = c"http://lv2plug.in/ns/ext/port-groups#sideChainOf";
    MINIMUM_SIZE = c"http://lv2plug.in/ns/ext/resize-port#minimumSize";
    ATOM_PORT = c"http://lv2plug.in/ns/ext/atom#AtomPort";
    ATOM_SEQUENCE = c"http://lv2plug.in/ns/ext/atom#Sequence";
    ATOM_CHUNK = c"http://lv2plug.in/ns/ext/atom#Chunk";
    ATOM_OBJECT = c"http://lv2plug.in/ns/ext/atom#Object";
    ATOM_INT = c"http://lv2plug.in/ns/ext/atom#Int";
    ATOM_LONG = c"http://lv2plug.in/ns/ext/atom#Long";
    ATOM_FLOAT = c"http://lv2plug.in/ns/ext/atom#Float";
    UNIT_FRAME = c"http://lv2plug.in/ns/extensions/units#frame";
    MIDI_EVENT = c"http://lv2plug.in/ns/ext/midi#MidiEvent";
    TIME_POSITION = c"http://lv2plug.in/ns/ext/time#Position";
    TIME_FRAME = c"http://lv2plug.in/ns/ext/time#frame";
    TIME_SPEED = c"http://lv2plug.in/ns/ext/time#speed";
    TIME_BAR = c"http://lv2plug.in/ns/ext/time#bar";
    TIME_BAR_BEAT = c"http://lv2plug.in/ns/ext/time#barBeat";
    TIME_BEAT_UNIT = c"http://lv2plug.in/ns/ext/time#beatUnit";
    TIME_BEATS_PER_BAR = c"http://lv2plug.in/ns/ext/time#beatsPerBar";
    TIME_BPM = c"http://lv2plug.in/ns/ext/time#beatsPerMinute";
    URID_MAP = c"http://lv2plug.in/ns/ext/urid#map";
    URID_UNMAP = c"http://lv2plug.in/ns/ext/urid#unmap";
    OPTIONS = c"http://lv2plug.in/ns/ext/options#options";
    OPTION_RATE = c"http://lv2plug.in/ns/ext/parameters#sampleRate";
    OPTION_MIN_BLOCK = c"http://lv2plug.in/ns/ext/buf-size#minBlockLength";
    OPTION_MAX_BLOCK = c"http://lv2plug.in/ns/ext/buf-size#maxBlockLength";
    OPTION_NOMINAL_BLOCK = c"http://lv2plug.in/ns/ext/buf-size#nominalBlockLength";
    OPTION_SEQUENCE_SIZE = c"http://lv2plug.in/ns/ext/buf-size#sequenceSize";
    BOUNDED_BLOCK = c"http://lv2plug.in/ns/ext/buf-size#boundedBlockLength";
    FIXED_BLOCK = c"http://lv2plug.in/ns/ext/buf-size#fixedBlockLength";
    POWER_OF_2_BLOCK = c"http://lv2plug.in/ns/ext/buf-size#powerOf2BlockLength";
    COARSE_BLOCK = c"http://lv2plug.in/ns/ext/buf-size#coarseBlockLength";
    WORKER_SCHEDULE = c"http://lv2plug.in/ns/ext/worker#schedule";
    WORKER_INTERFACE = c"http://lv2plug.in/ns/ext/worker#interface";
    STATE_INTERFACE = c"http://lv2plug.in/ns/ext/state#interface";
    STATE_MAP_PATH = c"http://lv2plug.in/ns/ext/state#mapPath";
    STATE_FREE_PATH = c"http://lv2plug.in/ns/ext/state#freePath";
    STATE_THREAD_SAFE = c"http://lv2plug.in/ns/ext/state#threadSafeRestore";
}
