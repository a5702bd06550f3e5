//! A queue from one thread to one other thread.
//!
//! # The idea
//!
//! A ring is a fixed array of slots used in a circle. The writer owns the slots from `tail` up to one round
//! past `head`, the reader those from `head` to `tail`. When a side is done with a slot, it advances its own
//! position, which hands the slot over. Neither ever waits for the other. Each side remembers the other's
//! position, and reads it again only when the ring seems full or empty. So in a steady flow the two cache
//! lines move once per round and not once per value.
//!
//! Limits: a ring does not wait and does not overwrite. A full ring gives the value back.
//!
//! ```
//! let (mut writer, mut reader) = hocket_rt::Ring::new(2);
//! assert_eq!(writer.push("first"), Ok(()));
//! assert_eq!(writer.push("second"), Ok(()));
//! assert_eq!(writer.push("third"), Err("third"));
//! assert_eq!(reader.pop(), Some("first"));
//! ```
//!
//! An end may go to another thread only if the values may (E0277 otherwise):
//!
//! ```compile_fail,E0277
//! let (writer, _reader) = hocket_rt::Ring::<std::rc::Rc<u8>>::new(2);
//! std::thread::spawn(move || drop(writer));
//! ```

use crate::pad::Padded;
use crate::sync::{Arc, AtomicUsize, UnsafeCell};
use std::fmt;
use std::mem::MaybeUninit;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// A wait-free queue between one writer and one reader, of fixed capacity.
///
/// Positions count values since the start (wrapping). A value's slot is its position modulo the capacity,
/// which is a power of two.
///
/// Invariant RING-OWNER: the slots of positions `head..tail` hold values, and only the reader accesses them.
/// The others hold none, and only the writer accesses them. Only the reader moves `head`, and only the writer
/// moves `tail`. There is one of each, and both take `&mut self`.
pub struct Ring<T> {
    /// The reader writes it and the writer reads it: edge E8.
    head: Padded<AtomicUsize>,
    /// The writer writes it and the reader reads it: edge E7.
    tail: Padded<AtomicUsize>,
    slots: Box<[Slot<T>]>,
}

type Slot<T> = UnsafeCell<MaybeUninit<T>>;

// SAFETY: by RING-OWNER, one thread at a time accesses a slot, and E7 and E8 hand it over. So the ring only
// moves a `T` from one thread to another, for which `Send` is enough.
unsafe impl<T: Send> Sync for Ring<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Ring<T> {}

impl<T> Ring<T> {
    /// Both ends of a ring for at least `capacity` values. The capacity becomes a power of two, at least 1.
    ///
    /// The drop of the second end frees the ring and the values in it. So keep the other end of a real-time
    /// thread's ring until that thread has ended.
    ///
    /// Thread: control; allocates.
    ///
    /// # Panics
    /// If `capacity` is more than half of what can be counted.
    #[allow(clippy::new_ret_no_self)]
    pub fn new(capacity: usize) -> (RingWriter<T>, RingReader<T>) {
        let slots = capacity.max(1).next_power_of_two();
        let ring = Arc::new(Ring {
            head: Padded(AtomicUsize::new(0)),
            tail: Padded(AtomicUsize::new(0)),
            slots: (0..slots).map(|_| empty_slot()).collect(),
        });
        let writer = RingWriter { ring: Arc::clone(&ring), tail: 0, head_seen: 0 };
        let reader = RingReader { ring, head: 0, tail_seen: 0 };
        (writer, reader)
    }

    fn slot(&self, position: usize) -> &Slot<T> {
        &self.slots[position & (self.slots.len() - 1)]
    }
}

fn empty_slot<T>() -> Slot<T> {
    UnsafeCell::new(MaybeUninit::uninit())
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        // Relaxed: both ends are dropped, and the reference count has ordered their last accesses.
        let (mut head, tail) = (self.head.load(Relaxed), self.tail.load(Relaxed));
        while head != tail {
            // SAFETY: a position in `head..tail` holds a value, and this is the only owner left.
            self.slot(head).with_mut(|slot| unsafe { (*slot).assume_init_drop() });
            head = head.wrapping_add(1);
        }
    }
}

impl<T> fmt::Debug for Ring<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring").field("capacity", &self.slots.len()).finish_non_exhaustive()
    }
}

/// The writing end. One thread at a time has it.
#[derive(Debug)]
pub struct RingWriter<T> {
    ring: Arc<Ring<T>>,
    tail: usize,
    head_seen: usize,
}

impl<T> RingWriter<T> {
    /// Puts `value` in, or gives it back if the ring is full.
    ///
    /// Thread: the writer. Cost: a store, and a load if the ring seems full. Never waits.
    ///
    /// # Errors
    /// `Err(value)`: there is no room. Try again after the reader has taken a value.
    #[inline]
    pub fn push(&mut self, value: T) -> Result<(), T> {
        if self.free_seen() == 0 {
            self.head_seen = self.ring.head.load(Acquire); // E8 (load)
            if self.free_seen() == 0 {
                return Err(value);
            }
        }
        // SAFETY: RING-OWNER: `tail` is less than a round past `head`, so its slot is the writer's, and empty.
        self.ring.slot(self.tail).with_mut(|slot| unsafe { (*slot).write(value) });
        self.tail = self.tail.wrapping_add(1);
        self.ring.tail.store(self.tail, Release); // E7 (store)
        Ok(())
    }

    /// How many values the ring holds when full.
    pub fn capacity(&self) -> usize {
        self.ring.slots.len()
    }

    /// The room at the last look. There may be more by now, never less.
    #[inline]
    fn free_seen(&self) -> usize {
        self.capacity() - self.tail.wrapping_sub(self.head_seen)
    }
}

/// The reading end. One thread at a time has it.
#[derive(Debug)]
pub struct RingReader<T> {
    ring: Arc<Ring<T>>,
    head: usize,
    tail_seen: usize,
}

impl<T> RingReader<T> {
    /// Takes the oldest value. `None` if there is none.
    ///
    /// Thread: the reader. Cost: a store, and a load if the ring seems empty. Never waits.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.head == self.tail_seen {
            self.tail_seen = self.ring.tail.load(Acquire); // E7 (load)
            if self.head == self.tail_seen {
                return None;
            }
        }
        // SAFETY: RING-OWNER: `head` is before `tail`, so its slot is the reader's and holds a value. The store
        // below gives the slot away, so nobody reads the value a second time.
        let value = self.ring.slot(self.head).with(|slot| unsafe { (*slot).assume_init_read() });
        self.head = self.head.wrapping_add(1);
        self.ring.head.store(self.head, Release); // E8 (store)
        Some(value)
    }

    /// How many values the ring holds when full.
    pub fn capacity(&self) -> usize {
        self.ring.slots.len()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_full_ring_gives_the_value_back() {
        let (mut writer, mut reader) = Ring::new(3);
        assert_eq!((writer.capacity(), reader.capacity()), (4, 4));
        for value in 0..4 {
            assert_eq!(writer.push(value), Ok(()));
        }
        assert_eq!(writer.push(4), Err(4));
        assert_eq!(reader.pop(), Some(0));
        assert_eq!(writer.push(4), Ok(()));
        assert_eq!(writer.push(5), Err(5));
        assert_eq!(std::iter::from_fn(|| reader.pop()).collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert_eq!(reader.pop(), None);
    }

    #[test]
    fn a_ring_of_nothing_holds_one() {
        let (mut writer, mut reader) = Ring::new(0);
        assert_eq!((writer.push(1), writer.push(2)), (Ok(()), Err(2)));
        assert_eq!((reader.pop(), reader.pop()), (Some(1), None));
    }

    #[test]
    fn positions_may_wrap() {
        let (mut writer, mut reader) = Ring::new(2);
        // As if the counters were about to wrap.
        let far = usize::MAX - 1;
        (writer.tail, writer.head_seen, reader.head, reader.tail_seen) = (far, far, far, far);
        writer.ring.head.store(far, Relaxed);
        writer.ring.tail.store(far, Relaxed);
        for value in 0..10 {
            assert_eq!(writer.push(value), Ok(()));
            assert_eq!(writer.push(value + 100), Ok(()));
            assert_eq!(writer.push(0), Err(0));
            assert_eq!((reader.pop(), reader.pop()), (Some(value), Some(value + 100)));
        }
    }

    #[test]
    fn what_is_left_is_dropped_once() {
        let value = Arc::new(());
        let (mut writer, mut reader) = Ring::new(4);
        for _ in 0..4 {
            writer.push(Arc::clone(&value)).unwrap();
        }
        drop(reader.pop());
        assert_eq!(Arc::strong_count(&value), 4);
        drop(writer);
        assert_eq!(Arc::strong_count(&value), 4, "the reader can still take them");
        drop(reader);
        assert_eq!(Arc::strong_count(&value), 1);
    }
}
