//! How a call ended, and errors with their messages.

use std::ffi::{CString, c_char};

/// How a call ended.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Done.
    Ok = 0,
    /// An argument, a file or a setting is wrong. The same call would fail again.
    BadInput = 2,
    /// Not possible here: threads, rights, or what the system reports about the machine.
    NotPossible = 3,
    /// Another thread leads this engine now, or too many edits wait for the next block: try again after a
    /// block.
    Busy = 4,
    /// The call belongs to the thread that entered, which still lives.
    WrongThread = 5,
    /// An error in Hocket itself. You may still stop or free the handle.
    Fault = 6,
}

/// An error with its message. Functions that take `hocket_error **error` set it to NULL when they succeed, and
/// to a new error when they fail: free it with `hocket_error_free`. Pass NULL if you do not want the message.
pub struct Error {
    status: Status,
    text: CString,
}

impl Error {
    pub(crate) fn new(status: Status, text: CString) -> Error {
        Error { status, text }
    }
}

/// An error's message: place, cause and remedy, in UTF-8, possibly several lines. The text lives as long as the
/// error. For NULL it is empty.
///
/// Thread: any. Cost: none.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_error_text(error: *const Error) -> *const c_char {
    // SAFETY: P, H.
    unsafe { error.as_ref() }.map_or(c"".as_ptr(), |error| error.text.as_ptr())
}

/// An error's status. For NULL `HOCKET_STATUS_OK`.
///
/// Thread: any. Cost: none.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_error_status(error: *const Error) -> Status {
    // SAFETY: P, H.
    unsafe { error.as_ref() }.map_or(Status::Ok, |error| error.status)
}

/// Frees an error. NULL does nothing.
///
/// Thread: any but the leader. Cost: frees memory.
///
/// # Safety
/// P, H, X.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_error_free(error: *mut Error) {
    if !error.is_null() {
        // SAFETY: H (made by `Box::into_raw` in `border::told`), X.
        drop(unsafe { Box::from_raw(error) });
    }
}

/// A status in words, for calls without a message. The text belongs to the library: do not free it. A number
/// that is not a status also has a text.
///
/// Thread: any. Cost: none.
#[unsafe(no_mangle)]
pub extern "C" fn hocket_status_text(status: i32) -> *const c_char {
    const WORDS: [(Status, &std::ffi::CStr); 6] = [
        (Status::Ok, c"done"),
        (Status::BadInput, c"an argument, a file or a setting is wrong"),
        (Status::NotPossible, c"not possible here"),
        (
            Status::Busy,
            c"another thread leads the engine now, or too many edits wait: try again after a block",
        ),
        (Status::WrongThread, c"the call belongs to the thread that entered"),
        (Status::Fault, c"an error in Hocket itself"),
    ];
    let found = WORDS.iter().find(|(known, _)| *known as i32 == status);
    found.map_or(c"no status of Hocket's".as_ptr(), |(_, words)| words.as_ptr())
}
