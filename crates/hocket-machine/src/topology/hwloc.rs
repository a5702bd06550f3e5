//! The hwloc library, loaded at run time: asked once for the XML of this machine.
//!
//! The program has no build-time need of the library and no dependency on its structs: everything is taken from the XML
//! that the library exports, through the same reader as files. Where the library is absent, [`super::sysfs`] serves.
//!
//! # Invariants
//! - **abi-15**: a library with the name `libhwloc.so.15` has the interface of hwloc 2.x: the functions named in
//!   [`Api`] exist with the C types written there (hwloc.h, hwloc/export.h). The name carries the interface's number
//!   precisely so that this holds. The interface version is checked as well ([`Api::load`]).
//! - **stays-loaded**: the library is never unloaded (the handle is kept for the life of the process), so function
//!   pointers taken from it stay valid.
//! - **one-owner**: a [`Handle`] is made by a successful `init`, used by one thread, and destroyed once, on drop.
//! - **buffer-freed-once**: the XML buffer belongs to the library; it is copied and then given back once, before the
//!   handle is destroyed.

use std::ffi::{c_char, c_int, c_uint, c_ulong, c_void};
use std::sync::OnceLock;

use libloading::Library;

const NAME: &str = "libhwloc.so.15";
/// Keep the CPUs that this process must not use in the answer; they are marked.
const INCLUDE_DISALLOWED: c_ulong = 1;
/// Keep all objects of a type; the library leaves instruction caches out otherwise.
const KEEP_ALL: c_int = 0;

type Topology = *mut c_void;

/// What the library reported.
pub(crate) struct Exported {
    /// The XML text.
    pub xml: String,
    /// The version of the library's interface.
    pub version: String,
    /// Whether the library says that this is the running system (not a file or a made-up machine).
    pub is_this_system: bool,
}

/// Loads the library and exports this machine. The error says why not, in words.
///
/// Call from a thread of its own: while it looks around, the library may move its caller from CPU to CPU.
pub(crate) fn export() -> Result<Exported, String> {
    let api = Api::get()?;
    let handle = Handle::load(api)?;
    Ok(Exported {
        xml: handle.xml()?,
        version: api.version(),
        is_this_system: handle.is_this_system(),
    })
}

/// The library's functions.
struct Api {
    version: unsafe extern "C" fn() -> c_uint,
    init: unsafe extern "C" fn(*mut Topology) -> c_int,
    set_flags: unsafe extern "C" fn(Topology, c_ulong) -> c_int,
    set_icache_filter: unsafe extern "C" fn(Topology, c_int) -> c_int,
    load: unsafe extern "C" fn(Topology) -> c_int,
    is_thissystem: unsafe extern "C" fn(Topology) -> c_int,
    export_xmlbuffer:
        unsafe extern "C" fn(Topology, *mut *mut c_char, *mut c_int, c_ulong) -> c_int,
    free_xmlbuffer: unsafe extern "C" fn(Topology, *mut c_char),
    destroy: unsafe extern "C" fn(Topology),
    _library: Library,
}

impl Api {
    fn get() -> Result<&'static Self, String> {
        static API: OnceLock<Result<Api, String>> = OnceLock::new();
        API.get_or_init(Self::load).as_ref().map_err(Clone::clone)
    }

    fn load() -> Result<Self, String> {
        // SAFETY: abi-15; loading runs the library's initialisers, which set up its own tables only.
        let library = unsafe { Library::new(NAME) }
            .map_err(|_| format!("the library {NAME} is not installed"))?;
        let missing = |e: libloading::Error| format!("{NAME} lacks a function: {e}");
        // SAFETY: abi-15 for every type; stays-loaded: the pointers live beside the library in a static.
        let api = unsafe {
            Self {
                version: *library.get(b"hwloc_get_api_version\0").map_err(missing)?,
                init: *library.get(b"hwloc_topology_init\0").map_err(missing)?,
                set_flags: *library.get(b"hwloc_topology_set_flags\0").map_err(missing)?,
                set_icache_filter: *library
                    .get(b"hwloc_topology_set_icache_types_filter\0")
                    .map_err(missing)?,
                load: *library.get(b"hwloc_topology_load\0").map_err(missing)?,
                is_thissystem: *library.get(b"hwloc_topology_is_thissystem\0").map_err(missing)?,
                export_xmlbuffer: *library
                    .get(b"hwloc_topology_export_xmlbuffer\0")
                    .map_err(missing)?,
                free_xmlbuffer: *library.get(b"hwloc_free_xmlbuffer\0").map_err(missing)?,
                destroy: *library.get(b"hwloc_topology_destroy\0").map_err(missing)?,
                _library: library,
            }
        };
        match api.raw_version() >> 16 {
            2 => Ok(api),
            other => Err(format!("{NAME} speaks interface {other}, expected 2")),
        }
    }

    fn raw_version(&self) -> c_uint {
        // SAFETY: abi-15: no arguments, no state.
        unsafe { (self.version)() }
    }

    /// The interface's version: 16 bits major, 8 bits minor, 8 bits release.
    fn version(&self) -> String {
        let v = self.raw_version();
        format!("{}.{}.{}", v >> 16, v >> 8 & 0xff, v & 0xff)
    }
}

/// A loaded topology of the library.
struct Handle {
    api: &'static Api,
    raw: Topology,
}

impl Handle {
    fn load(api: &'static Api) -> Result<Self, String> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: abi-15; `raw` is a place for one pointer.
        if unsafe { (api.init)(&mut raw) } != 0 || raw.is_null() {
            return Err("hwloc_topology_init failed".into());
        }
        let handle = Self { api, raw };
        // SAFETY: abi-15 and one-owner; flags come before loading, as the interface asks.
        let failed = unsafe {
            (api.set_flags)(raw, INCLUDE_DISALLOWED) != 0
                || (api.set_icache_filter)(raw, KEEP_ALL) != 0
                || (api.load)(raw) != 0
        };
        if failed { Err("hwloc could not read this machine".into()) } else { Ok(handle) }
    }

    fn is_this_system(&self) -> bool {
        // SAFETY: abi-15 and one-owner; the topology is loaded.
        unsafe { (self.api.is_thissystem)(self.raw) == 1 }
    }

    fn xml(&self) -> Result<String, String> {
        let (mut buffer, mut length) = (std::ptr::null_mut(), 0);
        // SAFETY: abi-15 and one-owner; both places are ours.
        let failed =
            unsafe { (self.api.export_xmlbuffer)(self.raw, &mut buffer, &mut length, 0) } != 0;
        let length = usize::try_from(length).unwrap_or(0);
        if failed || buffer.is_null() || length == 0 {
            return Err("hwloc could not write its XML".into());
        }
        // SAFETY: buffer-freed-once: the call succeeded, so `buffer` holds `length` bytes until it is given back below.
        let bytes = unsafe { std::slice::from_raw_parts(buffer.cast::<u8>(), length) }.to_vec();
        // SAFETY: buffer-freed-once.
        unsafe { (self.api.free_xmlbuffer)(self.raw, buffer) };
        let text = String::from_utf8(bytes)
            .map_err(|_| "hwloc wrote XML that is not UTF-8".to_string())?;
        // The length counts the terminating zero.
        Ok(text.trim_end_matches('\0').to_string())
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: abi-15 and one-owner.
        unsafe { (self.api.destroy)(self.raw) }
    }
}
