//! Atomics and cells, from `std` or from loom.
//!
//! With `--cfg loom` the same protocols run on loom's atomics, which try every interleaving and
//! every value that the memory model allows a load to return. The rest of the crate names only
//! what this file exports.

#[cfg(not(loom))]
pub(crate) use native::*;

#[cfg(loom)]
pub(crate) use modelled::*;

#[cfg(not(loom))]
mod native {
    pub(crate) use std::sync::Arc;
    pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, fence};
    pub(crate) use std::thread::yield_now;

    /// `std`'s cell behind the closures that loom needs to see both ends of an access.
    #[derive(Debug)]
    pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(std::cell::UnsafeCell::new(value))
        }

        #[inline(always)]
        pub(crate) fn with<R>(&self, access: impl FnOnce(*const T) -> R) -> R {
            access(self.0.get())
        }

        #[inline(always)]
        pub(crate) fn with_mut<R>(&self, access: impl FnOnce(*mut T) -> R) -> R {
            access(self.0.get())
        }
    }
}

#[cfg(loom)]
mod modelled {
    pub(crate) use loom::cell::UnsafeCell;
    pub(crate) use loom::sync::Arc;
    pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, fence};
    pub(crate) use loom::thread::yield_now;
}
