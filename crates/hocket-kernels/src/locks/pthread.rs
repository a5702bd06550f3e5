//! Those of POSIX.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::io;
use std::mem::MaybeUninit;

use super::Lock;

/// `pthread_mutex_t`: what programs in C use. It stays where it was made, as its address may be known
/// to the system.
pub struct Pthread {
    raw: Box<UnsafeCell<libc::pthread_mutex_t>>,
}

// SAFETY: `with` locks and unlocks in one thread; the functions may be called by any.
unsafe impl Send for Pthread {}
// SAFETY: as above; the memory is accessed by these functions alone.
unsafe impl Sync for Pthread {}

impl Pthread {
    /// `PTHREAD_MUTEX_NORMAL`: a waiter sleeps at once.
    ///
    /// # Errors
    /// What the system says, if it has no memory or no such mutex.
    pub fn normal() -> io::Result<Pthread> {
        Pthread::of_type(libc::PTHREAD_MUTEX_NORMAL)
    }

    /// `PTHREAD_MUTEX_ADAPTIVE_NP`: a waiter spins for about as long as it had to the last few times,
    /// at most 100 looks, and then sleeps.
    ///
    /// # Errors
    /// As [`normal`](Pthread::normal); "unsupported" where the C library is not glibc.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    pub fn adaptive() -> io::Result<Pthread> {
        Pthread::of_type(libc::PTHREAD_MUTEX_ADAPTIVE_NP)
    }

    /// `PTHREAD_MUTEX_ADAPTIVE_NP` is glibc's.
    ///
    /// # Errors
    /// Always.
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    pub fn adaptive() -> io::Result<Pthread> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "only glibc has adaptive mutexes"))
    }

    fn of_type(kind: libc::c_int) -> io::Result<Pthread> {
        // SAFETY: a `pthread_mutex_t` is plain memory; `pthread_mutex_init` gives it its value.
        let raw = Box::new(UnsafeCell::new(unsafe { std::mem::zeroed() }));
        let mut attributes = MaybeUninit::uninit();
        // SAFETY:
        // - The attributes are initialised by the first call, read by the second and third only if it
        //   succeeded, and destroyed by the last.
        // - The mutex is live and not in use yet.
        let status = unsafe {
            let mut status = libc::pthread_mutexattr_init(attributes.as_mut_ptr());
            if status == 0 {
                status = libc::pthread_mutexattr_settype(attributes.as_mut_ptr(), kind);
                if status == 0 {
                    status = libc::pthread_mutex_init(raw.get(), attributes.as_ptr());
                }
                libc::pthread_mutexattr_destroy(attributes.as_mut_ptr());
            }
            status
        };
        if status == 0 { Ok(Pthread { raw }) } else { Err(io::Error::from_raw_os_error(status)) }
    }
}

impl Lock for Pthread {
    #[inline]
    fn with<R>(&self, work: impl FnOnce() -> R) -> R {
        // SAFETY: initialised by `of_type`, the only constructor, and destroyed by `drop` alone. Neither
        // type of mutex has another failure than wrong use.
        unsafe { libc::pthread_mutex_lock(self.raw.get()) };
        let _held = Held(self);
        work()
    }
}

struct Held<'a>(&'a Pthread);

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: locked by this thread: `with` makes a `Held` right after it has locked.
        unsafe { libc::pthread_mutex_unlock(self.0.raw.get()) };
    }
}

impl Drop for Pthread {
    fn drop(&mut self) {
        // SAFETY: initialised, and nobody is under it, as nobody has a reference any more.
        unsafe { libc::pthread_mutex_destroy(self.raw.get()) };
    }
}
