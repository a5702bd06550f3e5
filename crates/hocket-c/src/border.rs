//! What every call passes on its way in and out: panics end here, text becomes Rust's.

use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::failure::Failure;
use crate::status::{Error, Status};

/// Runs a call of a control thread; a failure, or a panic as one, is told in `error`, where that is not
/// null, and null in it means success.
///
/// # Safety
/// P for `error`.
pub(crate) unsafe fn told<T>(
    error: *mut *mut Error,
    call: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Status> {
    // Unwind safety: what a call changes lies behind mutexes and is plain data when it panics.
    let outcome = catch_unwind(AssertUnwindSafe(call))
        .unwrap_or_else(|payload| Err(Failure::fault(payload.as_ref())));
    // SAFETY: P.
    if let Some(place) = unsafe { error.as_mut() } {
        *place = match &outcome {
            Ok(_) => std::ptr::null_mut(),
            Err(failure) => Box::into_raw(Box::new(Error::new(failure))),
        };
    }
    outcome.map_err(|failure| failure.status)
}

/// As [`told`], for a call that has nothing to hand out but its status.
///
/// # Safety
/// P for `error`.
pub(crate) unsafe fn done(
    error: *mut *mut Error,
    call: impl FnOnce() -> Result<(), Failure>,
) -> Status {
    // SAFETY: the caller's.
    match unsafe { told(error, call) } {
        Ok(()) => Status::Ok,
        Err(status) => status,
    }
}

/// As [`told`], for a call that makes a handle; null where it fails.
///
/// # Safety
/// P for `error`.
pub(crate) unsafe fn made<T>(
    error: *mut *mut Error,
    call: impl FnOnce() -> Result<T, Failure>,
) -> *mut T {
    // SAFETY: the caller's.
    match unsafe { told(error, call) } {
        Ok(handle) => Box::into_raw(Box::new(handle)),
        Err(_) => std::ptr::null_mut(),
    }
}

/// Runs a call that has no message: on the audio thread, where nothing is allocated, or one that
/// cannot fail but by a panic, for which `otherwise` stands.
pub(crate) fn quiet<T>(otherwise: T, call: impl FnOnce() -> T) -> T {
    // Unwind safety: as in `told`.
    catch_unwind(AssertUnwindSafe(call)).unwrap_or(otherwise)
}

/// What a handle or structure pointer points to.
///
/// # Safety
/// P, and H where it is a handle; the lifetime is that of the call.
pub(crate) unsafe fn seen<'a, T>(pointer: *const T, what: &str) -> Result<&'a T, Failure> {
    // SAFETY: the caller's.
    unsafe { pointer.as_ref() }.ok_or_else(|| Failure::null(what))
}

/// A caller's text.
///
/// # Safety
/// P; the lifetime is that of the call.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, what: &str) -> Result<&'a str, Failure> {
    if pointer.is_null() {
        return Err(Failure::null(what));
    }
    // SAFETY: P, not null.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|_| Failure::bad_input(format!("{what} is not UTF-8")))
}

/// Text for a caller; a zero byte inside becomes the sign for what cannot be shown.
pub(crate) fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default()
}

/// The text at `index`, or null past the end.
pub(crate) fn listed(texts: &[CString], index: usize) -> *const c_char {
    texts.get(index).map_or(std::ptr::null(), |text| text.as_ptr())
}
