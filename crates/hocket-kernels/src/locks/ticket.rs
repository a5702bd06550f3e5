//! First come, first served.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::Lock;
use crate::sync::{AtomicU32, Looks};

/// A ticket lock: whoever comes draws a number and waits until it is served. Fair; all waiters read the
/// same word, so each release costs every one of them a line transfer. A PAUSE between two looks.
#[derive(Debug)]
pub struct Ticket {
    next: AtomicU32,
    served: AtomicU32,
}

impl Ticket {
    /// A free lock.
    pub fn new() -> Ticket {
        Ticket { next: AtomicU32::new(0), served: AtomicU32::new(0) }
    }

    #[inline]
    fn acquire(&self) -> u32 {
        // Relaxed: numbers only have to differ, and nobody reads data because of this one.
        let number = self.next.fetch_add(1, Relaxed);
        let mut looks = Looks::new();
        while self.served() != number {
            looks.rest();
        }
        number
    }

    #[inline]
    fn served(&self) -> u32 {
        self.served.load(Acquire) // E5 (load)
    }

    #[inline]
    fn release(&self, number: u32) {
        self.served.store(number.wrapping_add(1), Release); // E5 (store)
    }
}

impl Default for Ticket {
    fn default() -> Ticket {
        Ticket::new()
    }
}

impl Lock for Ticket {
    #[inline]
    fn with<R>(&self, work: impl FnOnce() -> R) -> R {
        let _held = Held { lock: self, number: self.acquire() };
        work()
    }
}

struct Held<'a> {
    lock: &'a Ticket,
    number: u32,
}

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        self.lock.release(self.number);
    }
}
