//! Padding between values.

use std::ops::{Deref, DerefMut};

/// A value that shares its cache lines with no other value.
///
/// The alignment is 128 bytes and not 64: x86 cores fetch lines in pairs, and some arm64 cores have lines of
/// 128 bytes. So two values at a distance of 64 would still disturb each other.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
#[repr(align(128))]
pub struct Padded<T>(pub T);

impl<T> Deref for Padded<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Padded<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
