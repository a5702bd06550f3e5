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
    // SAFETY: the caller's obligation.
    String::from_utf8_lossy(unsafe { bytes_of_c(text) }).into_owned()
}

/// As it is, without the NUL. Empty for NULL.
///
/// # Safety
/// NULL, or a text that ends with NUL and stays as it is for `'t`.
pub(super) unsafe fn bytes_of_c<'t>(text: *const c_char) -> &'t [u8] {
    if text.is_null() {
        return &[];
    }
    // SAFETY: the caller's obligation.
    unsafe { CStr::from_ptr(text) }.to_bytes()
}
