//! The border that every call crosses. Panics end here, and C text becomes Rust text.

use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::failure::Failure;
use crate::status::{Error, Status};

/// Runs a call of a control thread and catches panics.
///
/// If `error` is not null, it receives the failure, or null on success. A panic counts as a failure.
///
/// # Safety
/// P for `error`.
pub(crate) unsafe fn told<T>(
    error: *mut *mut Error,
    call: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Status> {
    // Unwind safety: what a call changes is behind mutexes, and a panic leaves it as plain data.
    let outcome = catch_unwind(AssertUnwindSafe(call))
        .unwrap_or_else(|payload| Err(Failure::fault(payload.as_ref())));
    // SAFETY: P.
    if let Some(place) = unsafe { error.as_mut() } {
        *place = match &outcome {
            Ok(_) => std::ptr::null_mut(),
            Err(failure) => {
                Box::into_raw(Box::new(Error::new(failure.status, c_text(&failure.text))))
            }
        };
    }
    outcome.map_err(|failure| failure.status)
}

/// Like [`told`], for a call that returns only a status.
///
/// # Safety
/// P for `error`.
pub(crate) unsafe fn done(
    error: *mut *mut Error,
    call: impl FnOnce() -> Result<(), Failure>,
) -> Status {
    // SAFETY: the caller's obligation.
    match unsafe { told(error, call) } {
        Ok(()) => Status::Ok,
        Err(status) => status,
    }
}

/// Like [`told`], for a call that makes a handle. Returns null on failure.
///
/// # Safety
/// P for `error`.
pub(crate) unsafe fn made<T>(
    error: *mut *mut Error,
    call: impl FnOnce() -> Result<T, Failure>,
) -> *mut T {
    // SAFETY: the caller's obligation.
    match unsafe { told(error, call) } {
        Ok(handle) => Box::into_raw(Box::new(handle)),
        Err(_) => std::ptr::null_mut(),
    }
}

/// Runs a call without an error message. Returns `otherwise` if it panics.
///
/// It is for the audio thread, which must not allocate, and for calls that fail only by a panic.
pub(crate) fn quiet<T>(otherwise: T, call: impl FnOnce() -> T) -> T {
    // Unwind safety: as in `told`.
    catch_unwind(AssertUnwindSafe(call)).unwrap_or(otherwise)
}

/// The target of a handle or structure pointer.
///
/// # Safety
/// P, and H for a handle. The lifetime is that of the call.
pub(crate) unsafe fn seen<'a, T>(pointer: *const T, what: &str) -> Result<&'a T, Failure> {
    // SAFETY: the caller's obligation.
    unsafe { pointer.as_ref() }.ok_or_else(|| Failure::null(what))
}

/// Reads a caller's text.
///
/// # Safety
/// P. The lifetime is that of the call.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, what: &str) -> Result<&'a str, Failure> {
    if pointer.is_null() {
        return Err(Failure::null(what));
    }
    // SAFETY: P, and not null.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|_| Failure::bad_input(format!("{what} is not UTF-8")))
}

/// Text for a caller. A zero byte inside becomes the replacement character.
pub(crate) fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default()
}

/// The text at `index`, or null past the end.
pub(crate) fn listed(texts: &[CString], index: usize) -> *const c_char {
    texts.get(index).map_or(std::ptr::null(), |text| text.as_ptr())
}
