//! The functions of libasound that Hocket calls, looked up at run time.

use std::ffi::{CStr, c_char, c_int, c_long, c_uint, c_ulong, c_void};
use std::sync::OnceLock;

use super::Error;
use crate::library::{self, functions};

/// `snd_pcm_t`.
pub(super) enum SndPcm {}
/// `snd_pcm_hw_params_t`.
pub(super) enum HwParams {}
/// `snd_pcm_sw_params_t`.
pub(super) enum SwParams {}

pub(super) type Handle = *mut SndPcm;
/// `snd_lib_error_handler_t` has further arguments behind the last one, which its calling convention lets a function
/// ignore.
pub(super) type OnError = extern "C" fn(*const c_char, c_int, *const c_char, c_int, *const c_char);

/// The names under which the library is installed. The first one that loads is taken.
const NAMES: [&str; 2] = ["libasound.so.2", "libasound.so"];

functions! {
    /// The functions.
    pub(in crate::alsa) struct Functions {
        error_text: unsafe extern "C" fn(c_int) -> *const c_char = "snd_strerror";
        on_error: unsafe extern "C" fn(OnError) -> c_int = "snd_lib_error_set_handler";
        card_next: unsafe extern "C" fn(*mut c_int) -> c_int = "snd_card_next";
        card_name: unsafe extern "C" fn(c_int, *mut *mut c_char) -> c_int = "snd_card_get_name";
        free: unsafe extern "C" fn(*mut c_void) = "free";
        open: unsafe extern "C" fn(*mut Handle, *const c_char, c_int, c_int) -> c_int = "snd_pcm_open";
        close: unsafe extern "C" fn(Handle) -> c_int = "snd_pcm_close";
        kind: unsafe extern "C" fn(Handle) -> c_int = "snd_pcm_type";
        hw_malloc: unsafe extern "C" fn(*mut *mut HwParams) -> c_int = "snd_pcm_hw_params_malloc";
        hw_free: unsafe extern "C" fn(*mut HwParams) = "snd_pcm_hw_params_free";
        hw_any: unsafe extern "C" fn(Handle, *mut HwParams) -> c_int = "snd_pcm_hw_params_any";
        hw_access: unsafe extern "C" fn(Handle, *mut HwParams, c_int) -> c_int = "snd_pcm_hw_params_set_access";
        hw_has_format: unsafe extern "C" fn(Handle, *mut HwParams, c_int) -> c_int = "snd_pcm_hw_params_test_format";
        hw_format: unsafe extern "C" fn(Handle, *mut HwParams, c_int) -> c_int = "snd_pcm_hw_params_set_format";
        hw_channels: unsafe extern "C" fn(Handle, *mut HwParams, *mut c_uint) -> c_int = "snd_pcm_hw_params_set_channels_near";
        hw_resample: unsafe extern "C" fn(Handle, *mut HwParams, c_uint) -> c_int = "snd_pcm_hw_params_set_rate_resample";
        hw_rate: unsafe extern "C" fn(Handle, *mut HwParams, *mut c_uint, *mut c_int) -> c_int = "snd_pcm_hw_params_set_rate_near";
        hw_period: unsafe extern "C" fn(Handle, *mut HwParams, *mut c_ulong, *mut c_int) -> c_int = "snd_pcm_hw_params_set_period_size_near";
        hw_buffer: unsafe extern "C" fn(Handle, *mut HwParams, *mut c_ulong) -> c_int = "snd_pcm_hw_params_set_buffer_size_near";
        hw_install: unsafe extern "C" fn(Handle, *mut HwParams) -> c_int = "snd_pcm_hw_params";
        hw_got_period: unsafe extern "C" fn(*const HwParams, *mut c_ulong, *mut c_int) -> c_int = "snd_pcm_hw_params_get_period_size";
        hw_got_buffer: unsafe extern "C" fn(*const HwParams, *mut c_ulong) -> c_int = "snd_pcm_hw_params_get_buffer_size";
        sw_malloc: unsafe extern "C" fn(*mut *mut SwParams) -> c_int = "snd_pcm_sw_params_malloc";
        sw_free: unsafe extern "C" fn(*mut SwParams) = "snd_pcm_sw_params_free";
        sw_current: unsafe extern "C" fn(Handle, *mut SwParams) -> c_int = "snd_pcm_sw_params_current";
        sw_avail_min: unsafe extern "C" fn(Handle, *mut SwParams, c_ulong) -> c_int = "snd_pcm_sw_params_set_avail_min";
        sw_start: unsafe extern "C" fn(Handle, *mut SwParams, c_ulong) -> c_int = "snd_pcm_sw_params_set_start_threshold";
        sw_install: unsafe extern "C" fn(Handle, *mut SwParams) -> c_int = "snd_pcm_sw_params";
        link: unsafe extern "C" fn(Handle, Handle) -> c_int = "snd_pcm_link";
        prepare: unsafe extern "C" fn(Handle) -> c_int = "snd_pcm_prepare";
        start: unsafe extern "C" fn(Handle) -> c_int = "snd_pcm_start";
        drop: unsafe extern "C" fn(Handle) -> c_int = "snd_pcm_drop";
        resume: unsafe extern "C" fn(Handle) -> c_int = "snd_pcm_resume";
        wait: unsafe extern "C" fn(Handle, c_int) -> c_int = "snd_pcm_wait";
        available: unsafe extern "C" fn(Handle) -> c_long = "snd_pcm_avail_update";
        write: unsafe extern "C" fn(Handle, *const c_void, c_ulong) -> c_long = "snd_pcm_writei";
        write_mapped: unsafe extern "C" fn(Handle, *const c_void, c_ulong) -> c_long = "snd_pcm_mmap_writei";
        read: unsafe extern "C" fn(Handle, *mut c_void, c_ulong) -> c_long = "snd_pcm_readi";
        read_mapped: unsafe extern "C" fn(Handle, *mut c_void, c_ulong) -> c_long = "snd_pcm_mmap_readi";
    }
}

impl Functions {
    /// The code of a call, or what the library says of it.
    pub(super) fn checked(&self, code: c_int) -> Result<c_int, Error> {
        if code >= 0 {
            return Ok(code);
        }
        // SAFETY: Types. The text is the library's own and lasts.
        let text = unsafe { CStr::from_ptr((self.error_text)(code)) };
        Err(Error { code, text: text.to_string_lossy().into_owned() })
    }
}

extern "C" fn say_nothing(
    _: *const c_char,
    _: c_int,
    _: *const c_char,
    _: c_int,
    _: *const c_char,
) {
}

/// The library, loaded at the first call. Its own messages are silenced, because each failure is reported here.
pub(in crate::alsa) fn load() -> Result<&'static Functions, String> {
    static LOADED: OnceLock<Result<Functions, String>> = OnceLock::new();
    LOADED.get_or_init(find).as_ref().map_err(Clone::clone)
}

fn find() -> Result<Functions, String> {
    // SAFETY: libasound's start-up code has no conditions. Types.
    let functions = unsafe { library::load(&NAMES, Functions::find) }?;
    // SAFETY: Types. The callback lives as long as the process.
    unsafe { (functions.on_error)(say_nothing) };
    Ok(functions)
}
