//! A worker's own units, which others may steal.
//!
//! # The idea
//!
//! The owner pushes and pops at one end, like a stack. It runs next what it pushed last, while the inputs
//! are in its cache. Thieves take from the other end, the oldest first. The ends meet only at the last value.
//! If nobody steals from an owner, no other thread writes to its cache lines, and its push is two plain
//! stores.
//!
//! This is the deque of Chase and Lev ("Dynamic circular work-stealing deque", SPAA 2005) with the
//! orderings of Lê, Pop, Cohen and Zappa Nardelli ("Correct and efficient work-stealing for weak
//! memory models", PPoPP 2013). It never grows, because the most pushes of a block are known beforehand.
//! `PROTOCOL.md` says where the orderings differ from the paper's, and why.
//!
//! Limits: at most [`capacity`](Deque::capacity) pushes between two [`load`](Deque::load)s. The order is by
//! arrival. For an order by urgency use a [`ReadySet`](crate::ReadySet).
//!
//! ```
//! use hocket_rt::{Deque, Steal};
//!
//! let deque = Deque::new(8);
//! deque.load(&[10, 11]);
//! deque.push(12);
//! assert_eq!(deque.pop(), Some(12));
//! assert_eq!(deque.steal(), Steal::Stolen(10));
//! assert_eq!((deque.pop(), deque.pop()), (Some(11), None));
//! assert_eq!(deque.steal(), Steal::Empty);
//! ```

use crate::pad::Padded;
use crate::sync::{AtomicU32, fence};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

/// A work-stealing deque of fixed capacity: one owner, any number of thieves.
///
/// The caller decides which thread is the owner. Each block may have another owner. A caller that breaks the
/// rules of a function may get a value twice or not at all, but never a data race: the deque has only atomics.
///
/// Invariant DEQUE-ROUND: a position counts pushes minus pops since the last load and stays below the
/// capacity. So each slot belongs to one position, and positions never wrap to it.
#[derive(Debug)]
pub struct Deque {
    /// Position of the oldest value. It only grows. The thread that takes that value adds one: a thief, or
    /// the owner if the value is the last. Publishes nothing.
    top: Padded<AtomicU32>,
    /// Position after the newest value. The owner writes it and thieves read it: edge E9. A pop writes it
    /// before it looks at `top`: edge E10.
    bottom: Padded<AtomicU32>,
    /// The owner writes a slot before it moves `bottom` past it. E9 publishes the slot.
    slots: Box<[Padded<Line>]>,
    /// The number of slots, a power of two, minus one.
    mask: u32,
}

/// The result of an attempt to steal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a stolen value is the thief's to run"]
pub enum Steal {
    /// Only this thief has the value.
    Stolen(u32),
    /// There was nothing to take, or the owner was about to take the last value.
    Empty,
    /// Another thread was faster. There may be more values, so try again.
    Retry,
}

/// The slots of one padded line. Without padding, the short deques of two workers could share a cache line.
type Line = [AtomicU32; SLOTS_PER_LINE];
/// As many as fit into 128 bytes. A model has no caches, so one is enough there.
const SLOTS_PER_LINE: usize = if cfg!(loom) { 1 } else { 32 };
/// The code compares positions by the sign of their difference, so this must fit a signed number.
const MOST_SLOTS: usize = 1 << 30;

impl Deque {
    /// An empty deque for at least `capacity` pushes between two loads. The capacity becomes a power of two.
    ///
    /// Thread: control; allocates.
    ///
    /// # Panics
    /// If `capacity` is more than 2^30.
    pub fn new(capacity: usize) -> Deque {
        assert!(capacity <= MOST_SLOTS, "a deque of {capacity} values: at most 2^30");
        let slots = capacity.max(SLOTS_PER_LINE).next_power_of_two();
        Deque {
            top: Padded(AtomicU32::new(0)),
            bottom: Padded(AtomicU32::new(0)),
            slots: (0..slots / SLOTS_PER_LINE).map(|_| empty_line()).collect(),
            mask: slots as u32 - 1,
        }
    }

    /// Puts `value` at the owner's end.
    ///
    /// Publishes all that the caller did before to the thread that takes the value. Wakes nobody.
    ///
    /// There is always room, because a block pushes each unit at most once, and the capacity is at least the
    /// number of units. If the caller breaks that, a debug build panics. Other builds may overwrite a value.
    ///
    /// Thread: the owner, inside the block. Cost: two stores, no fence and no exchange.
    #[inline]
    pub fn push(&self, value: u32) {
        // Relaxed: only the owner writes `bottom`, and the store to it publishes the slot.
        let bottom = self.bottom.load(Relaxed);
        debug_assert!(
            bottom <= self.mask,
            "more pushes since the last load than {}",
            self.mask + 1
        );
        self.slot(bottom).store(value, Relaxed);
        self.set_bottom(bottom.wrapping_add(1));
    }

    /// Takes the newest value.
    ///
    /// `None`: when this returns, other threads have taken every value.
    ///
    /// Thread: the owner. Cost: two loads if the deque is empty. Otherwise a fence and at most two stores, and
    /// an atomic exchange for the last value.
    #[inline]
    pub fn pop(&self) -> Option<u32> {
        // With an old `top` the deque seems fuller than it is, never emptier.
        if self.is_empty_hint() {
            return None;
        }
        // Relaxed: only this thread writes it. The value was pushed by this thread or before the block.
        let last = self.bottom.load(Relaxed).wrapping_sub(1);
        self.set_bottom(last);
        fence(SeqCst); // E10 (store)
        // Relaxed: the fence orders it, and no data depends on it.
        let top = self.top.load(Relaxed);
        match values_between(top, last) {
            1.. => Some(self.slot(last).load(Relaxed)),
            0 => self.pop_last(last),
            _ => {
                self.set_bottom(top);
                None
            }
        }
    }

    /// The value that [`pop`](Self::pop) would take now, unless a thief takes it first: a hint.
    ///
    /// Thread: the owner. Cost: four loads.
    #[inline]
    pub fn last_hint(&self) -> Option<u32> {
        // Relaxed: only this thread writes it. The value was pushed by this thread or before the block.
        let last = self.bottom.load(Relaxed).wrapping_sub(1);
        (!self.is_empty_hint()).then(|| self.slot(last).load(Relaxed))
    }

    /// Takes the oldest value.
    ///
    /// The thief sees all that the pusher did before the push. Never waits.
    ///
    /// Thread: any inside the block. Cost: two loads if the deque is empty, otherwise a fence and an atomic
    /// exchange.
    #[inline]
    pub fn steal(&self) -> Steal {
        // Look before the fence, which is expensive: most victims are empty.
        if self.is_empty_hint() {
            return Steal::Empty;
        }
        // Relaxed: the fence orders it before the look at `bottom`, and the exchange confirms it.
        let top = self.top.load(Relaxed);
        fence(SeqCst); // E10 (load)
        let bottom = self.bottom.load(Acquire); // E9 (load)
        if values_between(top, bottom) <= 0 {
            return Steal::Empty;
        }
        // Relaxed: E9 has published the slot.
        let value = self.slot(top).load(Relaxed);
        match self.take_at(top) {
            true => Steal::Stolen(value),
            false => Steal::Retry,
        }
    }

    /// Replaces the content by `values`. Thieves take the first value first, the owner takes the last one
    /// first.
    ///
    /// It also restarts the count of pushes, with `values.len()`. So call it before every block, even with an
    /// empty slice.
    ///
    /// Thread: the leader, while nobody is inside. The opening of the block publishes it. Cost: one store per
    /// value.
    ///
    /// # Panics
    /// If there are more values than the capacity.
    pub fn load(&self, values: &[u32]) {
        assert!(values.len() <= self.capacity(), "more values than the capacity");
        // Relaxed, as all below: nobody is inside, and E4 publishes it to the threads that enter.
        for (position, &value) in (0..).zip(values) {
            self.slot(position).store(value, Relaxed);
        }
        self.top.store(0, Relaxed);
        self.bottom.store(values.len() as u32, Relaxed);
    }

    /// Whether the deque looked empty. For the owner `true` is exact. Every other result is a hint.
    #[inline]
    pub fn is_empty_hint(&self) -> bool {
        // Relaxed: no data depends on it. If a thread knows of a push, and nobody has taken that value or is
        // taking it, the thread never sees an empty deque: see PROTOCOL.md.
        values_between(self.top.load(Relaxed), self.bottom.load(Relaxed)) <= 0
    }

    /// The most values from one load to the next, loaded or pushed.
    pub fn capacity(&self) -> usize {
        self.mask as usize + 1
    }
}

/// Steps.
impl Deque {
    /// Takes the only value, unless a thief takes it first.
    #[inline]
    fn pop_last(&self, last: u32) -> Option<u32> {
        let taken = self.take_at(last);
        // Whether this thread or a thief took it, `top` is now past it. The next value goes there.
        self.set_bottom(last.wrapping_add(1));
        // Relaxed: pushed by this thread or before the block.
        taken.then(|| self.slot(last).load(Relaxed))
    }

    /// Gives a position to exactly one of the threads that request it.
    ///
    /// It must not be the weak exchange, which may fail without cause. The owner would then lose a value.
    #[inline]
    fn take_at(&self, position: u32) -> bool {
        let next = position.wrapping_add(1);
        // Relaxed: it publishes nothing. The taker has the value and its rows by E9. By DEQUE-ROUND, this
        // exchange allows nobody to write the slot again. E10 orders the looks.
        self.top.compare_exchange(position, next, Relaxed, Relaxed).is_ok()
    }

    /// Sets `bottom`. Every store to it inside a block is a release, also in `pop`: a thief may read any of
    /// them, and a relaxed store would not publish what the push before it published.
    #[inline(always)]
    fn set_bottom(&self, bottom: u32) {
        self.bottom.store(bottom, Release); // E9 (store)
    }

    /// The slot of a position. The mask keeps the index in range even if the caller breaks the invariant.
    #[inline(always)]
    fn slot(&self, position: u32) -> &AtomicU32 {
        let slot = (position & self.mask) as usize;
        &self.slots[slot / SLOTS_PER_LINE][slot % SLOTS_PER_LINE]
    }
}

/// The number of values in `top..bottom`.
///
/// It is signed: it is -1 while an owner that came too late has not restored `bottom` yet.
#[inline(always)]
fn values_between(top: u32, bottom: u32) -> i32 {
    bottom.wrapping_sub(top) as i32
}

fn empty_line() -> Padded<Line> {
    Padded(std::array::from_fn(|_| AtomicU32::new(0)))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn the_owner_takes_the_newest_and_a_thief_the_oldest() {
        let deque = Deque::new(5);
        (1..=4).for_each(|value| deque.push(value));
        assert_eq!((deque.pop(), deque.steal()), (Some(4), Steal::Stolen(1)));
        assert_eq!((deque.steal(), deque.pop()), (Steal::Stolen(2), Some(3)));
        assert_eq!((deque.pop(), deque.steal()), (None, Steal::Empty));
    }

    #[test]
    fn a_load_replaces_what_was_there_and_counts_anew() {
        let deque = Deque::new(32);
        for round in 0..10 {
            let values: Vec<u32> = (round..round + 20).collect();
            deque.load(&values);
            (0..12).for_each(|value| deque.push(value));
            assert_eq!((deque.pop(), deque.steal()), (Some(11), Steal::Stolen(round)));
        }
        deque.load(&[]);
        assert!(deque.is_empty_hint());
        assert_eq!((deque.pop(), deque.steal()), (None, Steal::Empty));
    }

    #[test]
    fn it_holds_as_many_as_it_says() {
        for (asked, capacity) in [(0, 32), (32, 32), (33, 64), (1_000, 1_024)] {
            let deque = Deque::new(asked);
            assert_eq!(deque.capacity(), capacity);
            (0..capacity as u32).for_each(|value| deque.push(value));
            let popped: Vec<u32> = std::iter::from_fn(|| deque.pop()).collect();
            assert!(popped.into_iter().eq((0..capacity as u32).rev()));
        }
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "more pushes since the last load than 32")]
    fn one_push_too_many_is_noticed_in_a_debug_build() {
        let deque = Deque::new(32);
        deque.load(&[0; 32]);
        deque.push(1);
    }

    #[test]
    #[should_panic(expected = "more values than the capacity")]
    fn one_value_too_many_is_not_loaded() {
        Deque::new(32).load(&[0; 33]);
    }

    #[test]
    fn owner_and_thieves_write_on_different_lines() {
        assert_eq!(align_of::<Line>(), 4);
        assert_eq!((size_of::<Padded<Line>>(), size_of::<Deque>()), (128, 384));
    }

    /// Compares with a queue with two ends, over random sequences of all operations, one sequence per load.
    #[test]
    fn it_behaves_like_a_queue_with_two_ends() {
        let deque = Deque::new(64);
        let mut random = 0x9e37_79b9_7f4a_7c15u64;
        let mut next = |below: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random >> 16) % below
        };
        for _ in 0..500 {
            let mut model: VecDeque<u32> = (0..next(40)).map(|_| next(1 << 32) as u32).collect();
            deque.load(model.make_contiguous());
            let mut pushes_left = deque.capacity() - model.len();
            for _ in 0..200 {
                match next(5) {
                    0 | 1 if pushes_left > 0 => {
                        pushes_left -= 1;
                        let value = next(1 << 32) as u32;
                        model.push_back(value);
                        deque.push(value);
                    }
                    2 => assert_eq!(deque.pop(), model.pop_back()),
                    3 => {
                        let expected = model.pop_front().map_or(Steal::Empty, Steal::Stolen);
                        assert_eq!(deque.steal(), expected);
                    }
                    _ => {
                        assert_eq!(deque.is_empty_hint(), model.is_empty());
                        assert_eq!(deque.last_hint(), model.back().copied());
                    }
                }
            }
        }
    }
}
