//! Any other processor: the system's clock instead of a counter, and no control over tiny numbers.

use super::TickFlags;

/// Never called: there is no counter.
#[inline(always)]
pub(crate) fn raw_ticks() -> u64 {
    crate::sys::monotonic_ns()
}

/// No counter that is known here.
pub(crate) fn tick_flags() -> TickFlags {
    TickFlags { present: false, invariant: false, name: "none" }
}

/// Not known here.
pub(crate) fn hypervisor() -> Option<String> {
    None
}

/// Nothing to read.
#[inline]
pub(crate) fn float_control() -> u64 {
    0
}

/// Nothing to write.
#[inline]
pub(crate) fn set_float_control(_word: u64) {}

/// No bits.
pub(crate) fn flush_bits() -> u64 {
    0
}
