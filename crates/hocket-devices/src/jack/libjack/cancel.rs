//! Holds off a cancellation of the calling thread. Cost: an access to a thread's own memory; no system call.

pub(super) use of_system::{hold_off, restore};

#[cfg(target_os = "linux")]
mod of_system {
    use std::ffi::c_int;

    /// `PTHREAD_CANCEL_DISABLE`, in glibc and musl.
    const DISABLE: c_int = 1;

    unsafe extern "C-unwind" {
        /// In the C library, which Rust's standard library links.
        fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
    }

    fn set(state: c_int) -> c_int {
        let mut before = state;
        // SAFETY: Types, as pthread.h gives it; Cancelled: nothing here needs a drop.
        unsafe { pthread_setcancelstate(state, &raw mut before) };
        before
    }

    /// Returns how it was.
    pub(in super::super) fn hold_off() -> c_int {
        set(DISABLE)
    }

    /// As it was. The thread may end in this call.
    pub(in super::super) fn restore(before: c_int) {
        set(before);
    }
}

/// Where no libjack is known that cancels its thread.
#[cfg(not(target_os = "linux"))]
mod of_system {
    pub(in super::super) fn hold_off() {}

    pub(in super::super) fn restore((): ()) {}
}
