//! A worker's own units, which others may steal.
//!
//! # The idea
//!
//! The owner pushes and pops at one end, like a stack: what it pushed last, it runs next, while the
//! inputs are in its cache. Thieves take from the other end, the oldest first. The ends meet only at
//! the last value. So an owner that nobody steals from shares no line that another thread writes, and
//! its push is two plain stores.
//!
//! This is the deque of Chase and Lev ("Dynamic circular work-stealing deque", SPAA 2005) with the
//! orderings of Lê, Pop, Cohen and Zappa Nardelli ("Correct and efficient work-stealing for weak
//! memory models", PPoPP 2013), without its growth: what may be pushed in a block is known
//! beforehand. `PROTOCOL.md` says where the orderings differ from the paper's, and why.
//!
//! The limits: no more than [`capacity`](Deque::capacity) pushes between two
//! [`load`](Deque::load)s. The order is by arrival; for an order by urgency use a
//! [`ReadySet`](crate::ReadySet).
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
/// The caller decides which thread is the owner; it may be another one in each block. A caller that
/// breaks the rules of a function may get a value twice or not at all. It is never a data race, because
/// the deque consists of atomics only.
///
/// Invariant DEQUE-ROUND: a position counts pushes minus pops since the last load and stays below the
/// capacity. So a slot belongs to one position, and no next round uses it.
#[derive(Debug)]
pub struct Deque {
    /// Position of the oldest value. It only grows. The thread that takes that value adds one: a thief, or
    /// the owner if the value is the last. Publishes nothing.
    top: Padded<AtomicU32>,
    /// Position behind the newest value. Written by the owner, read by thieves: edge E9. What the
    /// owner writes here while it pops, it orders before its look at `top`: edge E10.
    bottom: Padded<AtomicU32>,
    /// Written by the owner before `bottom` is past them; E9 publishes them.
    slots: Box<[Padded<Line>]>,
    /// Number of slots, a power of two, less one.
    mask: u32,
}

/// The result of an attempt to steal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a stolen value is the thief's to run"]
pub enum Steal {
    /// The value is the thief's alone.
    Stolen(u32),
    /// There was nothing to take, or the owner was about to take the last value.
    Empty,
    /// Another thread was faster. There may be more; it helps to try again.
    Retry,
}

/// Slots of one padded line: without it the short deques of two workers could share one.
type Line = [AtomicU32; SLOTS_PER_LINE];
/// As many as 128 bytes hold; a model has no caches.
const SLOTS_PER_LINE: usize = if cfg!(loom) { 1 } else { 32 };
/// Positions are compared by the sign of their difference.
const MOST_SLOTS: usize = 1 << 30;

impl Deque {
    /// An empty deque for at least `capacity` pushes between two loads: the next power of two.
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
    /// Publishes all that the caller did before to the thread that takes it. Thread: the owner's, inside
    /// the block. Cost: two stores; no fence, no exchange. Wakes nobody.
    ///
    /// There is always room: a unit is pushed at most once per block, and the capacity is at least the
    /// number of units. If the caller breaks that, a debug build panics; another build may overwrite a
    /// value that is still there.
    #[inline]
    pub fn push(&self, value: u32) {
        // Relaxed: the owner alone writes `bottom`, and the slot is published by it.
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
    /// `None`: every value that was in has been taken, by the time this returns. Thread: the
    /// owner's. Cost: two loads when empty; otherwise two stores at most and a fence, and for the
    /// last value an atomic exchange.
    #[inline]
    pub fn pop(&self) -> Option<u32> {
        // An old `top` makes it look fuller than it is, never emptier.
        if self.is_empty_hint() {
            return None;
        }
        // Relaxed: our own; the value was pushed by us or before the block opened.
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

    /// The value that [`pop`](Self::pop) would take now, unless a thief does: a hint.
    ///
    /// Thread: the owner's. Cost: four loads.
    #[inline]
    pub fn last_hint(&self) -> Option<u32> {
        // Relaxed: our own; the value was pushed by us or before the block opened.
        let last = self.bottom.load(Relaxed).wrapping_sub(1);
        (!self.is_empty_hint()).then(|| self.slot(last).load(Relaxed))
    }

    /// Takes the oldest value.
    ///
    /// All that its pusher did before is visible to the thief. Thread: any inside the block.
    /// Cost: two loads when empty; otherwise a fence and an atomic exchange. Never waits.
    #[inline]
    pub fn steal(&self) -> Steal {
        // The fence is expensive, and most victims are empty.
        if self.is_empty_hint() {
            return Steal::Empty;
        }
        // Relaxed: the fence orders it before the look at `bottom`; the exchange confirms it.
        let top = self.top.load(Relaxed);
        fence(SeqCst); // E10 (load)
        let bottom = self.bottom.load(Acquire); // E9 (load)
        if values_between(top, bottom) <= 0 {
            return Steal::Empty;
        }
        // Relaxed: E9 has brought the slot.
        let value = self.slot(top).load(Relaxed);
        match self.take_at(top) {
            true => Steal::Stolen(value),
            false => Steal::Retry,
        }
    }

    /// Replaces what is in by `values`. Thieves take the first of them first, the owner the last.
    ///
    /// Thread: the leader, while nobody is inside; the opening of the block publishes it. Starts
    /// the count of pushes anew, with `values.len()`; so it belongs before every block, if only
    /// with an empty slice. Cost: a store for each value.
    ///
    /// # Panics
    /// If there are more values than the capacity.
    pub fn load(&self, values: &[u32]) {
        assert!(values.len() <= self.capacity(), "more values than the capacity");
        // Relaxed, as all below: nobody is inside, and E4 publishes it to whoever enters.
        for (position, &value) in (0..).zip(values) {
            self.slot(position).store(value, Relaxed);
        }
        self.top.store(0, Relaxed);
        self.bottom.store(values.len() as u32, Relaxed);
    }

    /// Whether it looked empty: exact for the owner when `true`, otherwise a hint.
    #[inline]
    pub fn is_empty_hint(&self) -> bool {
        // Relaxed: no data depends on it. Never empty to a thread that knows of a push whose value
        // nobody has taken or is taking: see PROTOCOL.md.
        values_between(self.top.load(Relaxed), self.bottom.load(Relaxed)) <= 0
    }

    /// How many values may be pushed or loaded from one load to the next.
    pub fn capacity(&self) -> usize {
        self.mask as usize + 1
    }
}

/// Steps.
impl Deque {
    /// Takes the only value, if no thief does.
    #[inline]
    fn pop_last(&self, last: u32) -> Option<u32> {
        let taken = self.take_at(last);
        // Taken by us or by a thief, `top` is now past it, and that is where the next one goes.
        self.set_bottom(last.wrapping_add(1));
        // Relaxed: our own.
        taken.then(|| self.slot(last).load(Relaxed))
    }

    /// Gives a position to exactly one of the threads that ask for it.
    ///
    /// Not the weak exchange: if that failed without cause, the owner would leave a value behind.
    #[inline]
    fn take_at(&self, position: u32) -> bool {
        let next = position.wrapping_add(1);
        // Relaxed: nothing is published. The taker has the value and its rows by E9. By DEQUE-ROUND this
        // exchange lets nobody write the slot again. E10 orders the looks.
        self.top.compare_exchange(position, next, Relaxed, Relaxed).is_ok()
    }

    /// Every store to `bottom` inside a block releases, those of `pop` too: a thief may read any
    /// of them, and a relaxed one would not carry on what the push before it published.
    #[inline(always)]
    fn set_bottom(&self, bottom: u32) {
        self.bottom.store(bottom, Release); // E9 (store)
    }

    /// The mask keeps a broken invariant from reaching beyond the slots.
    #[inline(always)]
    fn slot(&self, position: u32) -> &AtomicU32 {
        let slot = (position & self.mask) as usize;
        &self.slots[slot / SLOTS_PER_LINE][slot % SLOTS_PER_LINE]
    }
}

/// How many values lie in `top..bottom`; -1 while an owner that came too late has yet to restore
/// `bottom`, hence signed.
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

    /// Against a plain queue with two ends, over long random courses of everything, one a load.
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
