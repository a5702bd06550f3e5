//! VST3 as safe Rust: the only unsafe code for it. The crate `vst3` has the types of the interfaces, and nothing above them.
//!
//! The SAFETY comments cite these invariants:
//!
//! - **Types.** Each interface and struct has the type that the VST3 headers give it: the crate `vst3` is made from them.
//! - **Foreign code.** A library that is loaded runs start-up code that can do anything. A scan in a process of its own has
//!   seen it load; nothing more can be known.
//! - **Loaded for good.** A library is never unloaded, so what it exports and its factory are valid until the process ends.
//! - **Counted.** A `ComPtr` holds a reference, so its object is valid. Objects that a plug-in gets from Hocket count
//!   references, too.
//! - **Main thread.** An [`Instance`] and a [`Module`] are not `Send`. They are made and used on the thread `vst3-main`
//!   alone, and all calls that VST3 wants from one thread are made through them.
//! - **One audio thread.** `process` and `setProcessing` are called through `&mut Audio`, so never two at once. The lists
//!   that a plug-in finds there (parameters, events) are its alone during that call. They move to another thread between
//!   calls only.
//! - **Rows.** The pointers of a call lead to the rows of the same [`Audio`], which are as long as the longest run, and to
//!   its lists. They are written anew before each call.
//! - **Plain data.** The struct is made of numbers and arrays of numbers, for which zero is a value.
//! - **Written by the host.** What a plug-in hands over to be written is checked for null. It is as large as its type says,
//!   or as the length that comes with it.
//! - **Read by the host.** What a plug-in hands over to be read is checked for null. It is what its type says, and stays so
//!   during the call.
//!
//! A plug-in is foreign code. It can break all of this; a scan in a process of its own finds those that crash at once.

mod audio;
mod host;
mod instance;
mod lists;
mod module;
mod run_loop;
mod stream;

pub use audio::Audio;
pub use host::Flags;
pub use instance::{BusSort, Buses, Instance, ParamFacts};
pub use lists::Told;
pub use module::Module;
pub use run_loop::{dispatch, forget, has_handlers, next_timer, watched};

/// Writes for a plug-in. `false`: it gave no place.
///
/// # Safety
/// Written by the host: `to` is null or a place for a `T`.
unsafe fn put<T>(to: *mut T, value: T) -> bool {
    if to.is_null() {
        return false;
    }
    // SAFETY: Written by the host.
    unsafe { to.write(value) };
    true
}

/// The text of an array that ends at its first zero.
fn text(characters: &[u16]) -> String {
    let length = characters.iter().position(|character| *character == 0);
    String::from_utf16_lossy(&characters[..length.unwrap_or(characters.len())]).trim().into()
}

/// As [`text`], for bytes.
fn short_text(bytes: &[std::ffi::c_char]) -> String {
    let bytes: Vec<u8> =
        bytes.iter().map(|byte| *byte as u8).take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).trim().into()
}
