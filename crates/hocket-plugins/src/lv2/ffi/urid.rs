//! Numbers for URIs, the same for every plug-in of the process.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::null;
use std::sync::{LazyLock, Mutex, PoisonError};

use super::abi::{Urid, UridMap, UridUnmap};

/// URIs in the order of their numbers, which begin with 1. They stay until the process ends.
#[derive(Default)]
struct Known {
    numbers: HashMap<&'static CStr, Urid>,
    uris: Vec<&'static CStr>,
}

/// Plug-ins may ask on any thread, so there is a lock. Hocket itself asks on control threads only.
static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

/// The number of a URI.
pub fn urid(uri: &CStr) -> Urid {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(number) = known.numbers.get(uri) {
        return *number;
    }
    let uri: &'static CStr = Box::leak(CString::from(uri).into_boxed_c_str());
    known.uris.push(uri);
    let number = known.uris.len() as Urid;
    known.numbers.insert(uri, number);
    number
}

/// The URI of a number that [`urid`] gave.
pub fn uri_of(number: Urid) -> Option<&'static CStr> {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.uris.get((number as usize).checked_sub(1)?).copied()
}

unsafe extern "C" fn map(_: *mut c_void, uri: *const c_char) -> Urid {
    if uri.is_null() {
        return 0;
    }
    // SAFETY: Types: the plug-in passes a text that ends with NUL.
    urid(unsafe { CStr::from_ptr(uri) })
}

unsafe extern "C" fn unmap(_: *mut c_void, number: Urid) -> *const c_char {
    uri_of(number).map_or(null(), CStr::as_ptr)
}

/// For the feature of this name.
pub fn map_feature() -> UridMap {
    UridMap { handle: std::ptr::null_mut(), map }
}

/// For the feature of this name.
pub fn unmap_feature() -> UridUnmap {
    UridUnmap { handle: std::ptr::null_mut(), unmap }
}
