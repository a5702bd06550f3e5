//! Whose something is, for one block.

use crate::sync::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// Something that exactly one of several threads gets.
///
/// All accesses are relaxed: a claim says whose a thing is and publishes nothing. What was there before
/// the block is published by the turnstile (edge E4), and what the units of a claimed list read by
/// their countdowns (edge E11). `PROTOCOL.md`, section Claim.
#[derive(Debug, Default)]
pub struct Claim(AtomicU32);

impl Claim {
    /// Nobody's.
    pub fn new() -> Claim {
        Claim(AtomicU32::new(0))
    }

    /// Whether it is still to be had; may be old news when `true`, never when `false`.
    #[inline]
    pub fn is_free(&self) -> bool {
        // Relaxed: only `take` decides.
        self.0.load(Relaxed) == 0
    }

    /// Takes it; `false` where somebody else has.
    ///
    /// Thread: any. Cost: one atomic exchange.
    #[inline]
    pub fn take(&self) -> bool {
        // Relaxed: that exchanges of one word have one order is all that is needed.
        self.0.compare_exchange(0, 1, Relaxed, Relaxed).is_ok()
    }

    /// Makes it nobody's again, while nobody else looks.
    #[inline]
    pub fn release(&self) {
        // Relaxed: E4 carries it to whoever enters.
        self.0.store(0, Relaxed);
    }
}
