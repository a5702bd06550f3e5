//! Memory that a plug-in and Hocket both use, in turns.

use std::ptr::NonNull;

/// Numbers at an address that stays. Not a `Box`, because the plug-in keeps a pointer to it.
#[derive(Debug)]
pub struct Row<T> {
    first: NonNull<T>,
    len: usize,
}

// SAFETY: One audio thread: the plug-in's pointer is used only in calls through the instance that owns the row.
unsafe impl<T: Send> Send for Row<T> {}

impl<T: Copy + Default> Default for Row<T> {
    fn default() -> Row<T> {
        Row::new(T::default(), 0)
    }
}

impl<T: Copy> Row<T> {
    /// So many times `value`.
    pub fn new(value: T, len: usize) -> Row<T> {
        let first = Box::leak(vec![value; len.max(1)].into_boxed_slice());
        Row { len: first.len(), first: NonNull::from(first).cast() }
    }

    /// Where the plug-in finds it.
    pub fn pointer(&self) -> *mut T {
        self.first.as_ptr()
    }

    /// To read.
    pub fn get(&self) -> &[T] {
        // SAFETY: `new` made this many; One audio thread.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.len) }
    }

    /// To write.
    pub fn get_mut(&mut self) -> &mut [T] {
        // SAFETY: `new` made this many; One audio thread.
        unsafe { std::slice::from_raw_parts_mut(self.first.as_ptr(), self.len) }
    }
}

impl Row<u64> {
    /// Its bytes, to read.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `new` made so many numbers of 8 bytes; One audio thread.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr().cast(), self.len * 8) }
    }

    /// Its bytes, at an address that LV2's atoms may have.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: `new` made so many numbers of 8 bytes; One audio thread.
        unsafe { std::slice::from_raw_parts_mut(self.first.as_ptr().cast(), self.len * 8) }
    }
}

impl<T> Drop for Row<T> {
    fn drop(&mut self) {
        let all = std::ptr::slice_from_raw_parts_mut(self.first.as_ptr(), self.len);
        // SAFETY: `new` leaked this box.
        drop(unsafe { Box::from_raw(all) });
    }
}
