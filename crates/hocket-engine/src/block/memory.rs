//! The memory of a plan: one stretch, in the order in which a block goes through it.
//!
//! Between two blocks other programs use the caches, so a block finds its memory far away. The CPU fetches lines that
//! follow each other by itself. A plan that is made while others exist would lie in the gaps that they left, and its blocks
//! would take longer than those of the first plan (docs/scheduling.md, The memory of a plan in one stretch).
//!
//! Invariant STAYS, which SAFETY comments here cite: a `Bump` neither moves nor frees what it gave out until it is dropped,
//! and gives nothing out twice. Every slice holds a clone of its [`Memory`], so the `Bump` goes after the last slice.

use std::alloc::Layout;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use allocator_api2::alloc::{AllocError, Allocator, Global};
use allocator_api2::boxed::Box;
use allocator_api2::vec::Vec;
use bumpalo::Bump;

/// A slice in a [`Memory`].
pub(super) type Slice<T> = Box<[T], Memory>;

/// The memory of a plan, freed as a whole with its last slice; or none, and each slice has its own.
#[derive(Debug, Clone)]
pub(super) struct Memory(Option<Arc<Mutex<Bump>>>);

impl Memory {
    /// For slices that outlive plans: each lies by itself.
    pub(super) fn own() -> Memory {
        Memory(None)
    }

    /// A stretch of so many bytes. What has no room there lies in further stretches.
    ///
    /// Thread: control; allocates.
    pub(super) fn of(bytes: usize) -> Memory {
        Memory(Some(Arc::new(Mutex::new(Bump::with_capacity(bytes)))))
    }

    /// Moves these into a slice next to the one before.
    ///
    /// Thread: control; allocates.
    pub(super) fn keep<T>(&self, things: impl ExactSizeIterator<Item = T>) -> Slice<T> {
        let mut all = Vec::with_capacity_in(things.len(), self.clone());
        all.extend(things);
        all.into_boxed_slice()
    }
}

// SAFETY: STAYS, for memory that is shared. Otherwise both calls are those of `Global`: a clone has the same kind.
unsafe impl Allocator for Memory {
    /// Thread: control; allocates, and locks.
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        let Some(shared) = &self.0 else { return Global.allocate(layout) };
        // Nothing in there panics halfway.
        let bump = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let start = bump.try_alloc_layout(layout).map_err(|_| AllocError)?;
        Ok(NonNull::slice_from_raw_parts(start, layout.size()))
    }

    /// Thread: control.
    unsafe fn deallocate(&self, start: NonNull<u8>, layout: Layout) {
        // Shared memory goes as a whole.
        if self.0.is_none() {
            // SAFETY: the caller's obligation; `Global` gave it out.
            unsafe { Global.deallocate(start, layout) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_lie_in_one_stretch_and_outlive_their_memory() {
        #[repr(align(64))]
        struct Line([u8; 64]);
        let counted = Arc::new(());
        let memory = Memory::of(4096);
        let lines = memory.keep((0..8).map(|n| Line([n; 64])));
        let owners = memory.keep((0..3).map(|_| Arc::clone(&counted)));
        let more = memory.keep((0..5u16).map(|n| 100 + n));
        drop(memory);
        let starts = [lines.as_ptr().addr(), owners.as_ptr().addr(), more.as_ptr().addr()];
        let apart = starts.iter().max().zip(starts.iter().min()).map(|(last, first)| last - first);
        assert!(apart.is_some_and(|apart| apart < 4096), "{starts:?}");
        assert_eq!(starts[0] % 64, 0);
        assert_eq!(Arc::strong_count(&counted), 4);
        drop(owners);
        assert_eq!(Arc::strong_count(&counted), 1, "what lies there is dropped");
        assert!((0..).zip(lines.iter()).all(|(n, line)| line.0 == [n; 64]));
        assert_eq!(*more, [100, 101, 102, 103, 104]);
    }

    #[test]
    fn what_has_no_room_lies_elsewhere_and_nothing_takes_no_room() {
        let memory = Memory::of(64);
        let many = (0..100).map(|n| memory.keep([n; 7].into_iter()));
        let many: std::vec::Vec<Slice<u64>> = many.collect();
        assert!((0..).zip(&many).all(|(n, slice)| **slice == [n; 7]));
        assert!(memory.keep(std::iter::empty::<u64>()).is_empty());
        assert_eq!(*Memory::own().keep([7, 8].into_iter()), [7, 8]);
    }
}
