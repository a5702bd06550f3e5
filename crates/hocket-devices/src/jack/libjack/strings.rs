//! Texts to and from C.

use std::ffi::{CStr, CString, c_char};

/// For C. What is behind a NUL is cut off.
pub(super) fn to_c(text: &str) -> CString {
    let text = text.split('\0').next().unwrap_or_default();
    CString::new(text).unwrap_or_default()
}

/// A copy. Empty for NULL.
///
/// # Safety
/// NULL, or a text that ends with NUL and stays as it is during the call.
pub(super) unsafe fn from_c(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller's obligation.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
