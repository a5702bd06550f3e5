//! Ownership for one block.

use crate::sync::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// Something that exactly one of several threads gets.
///
/// All accesses are relaxed: a claim decides which thread owns a thing, and publishes nothing. The
/// turnstile publishes what was written before the block (edge E4). Countdowns publish what the units of a
/// claimed list read (edge E11). See `PROTOCOL.md`, section Claim.
#[derive(Debug, Default)]
pub struct Claim(AtomicU32);

impl Claim {
    /// A claim that nobody has taken.
    pub fn new() -> Claim {
        Claim(AtomicU32::new(0))
    }

    /// Whether nobody has taken it. `true` may be outdated, `false` never is.
    #[inline]
    pub fn is_free(&self) -> bool {
        // Relaxed: only `take` decides.
        self.0.load(Relaxed) == 0
    }

    /// Takes it. Returns `false` if another thread has taken it.
    ///
    /// Thread: any. Cost: one atomic exchange.
    #[inline]
    pub fn take(&self) -> bool {
        // Relaxed: it needs only that exchanges of one word have one order.
        self.0.compare_exchange(0, 1, Relaxed, Relaxed).is_ok()
    }

    /// Makes it free again. No other thread may access it at the same time.
    #[inline]
    pub fn release(&self) {
        // Relaxed: E4 publishes it to the threads that enter.
        self.0.store(0, Relaxed);
    }
}
