//! What needs unsafe code: a pseudo-terminal, and the question whether a library is there.

use std::ffi::CStr;
use std::os::fd::{FromRawFd, OwnedFd};

/// A new pseudo-terminal: its end for the one who watches, and the name of the other one.
pub fn pseudo_terminal() -> (OwnedFd, String) {
    // SAFETY: `posix_openpt` returns a descriptor that is nobody else's, or less than 0; the others take that
    // descriptor. `ptsname_r` writes a name with its zero byte into an array of this length.
    unsafe {
        let master = libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC);
        assert!(master >= 0, "no pseudo-terminal");
        assert_eq!((libc::grantpt(master), libc::unlockpt(master)), (0, 0));
        let mut name: [libc::c_char; 128] = [0; 128];
        assert_eq!(libc::ptsname_r(master, name.as_mut_ptr(), name.len()), 0);
        let name = CStr::from_ptr(name.as_ptr()).to_str().unwrap().to_string();
        (OwnedFd::from_raw_fd(master), name)
    }
}

/// Whether libasound can be loaded, or why not.
pub fn has_libasound() -> Result<(), String> {
    // SAFETY: libasound's start-up code has no conditions.
    let library = unsafe { libloading::Library::new("libasound.so.2") };
    library.map(drop).map_err(|error| error.to_string())
}
