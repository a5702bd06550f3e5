//! Tiny floating-point numbers as zero, for the calling thread.
//!
//! Numbers below the normal range (denormals) cost some processors a hundred cycles each, and every decaying filter
//! makes them. A worker therefore runs with results flushed to zero and inputs treated as zero.

use std::hint::black_box;
use std::marker::PhantomData;

use crate::arch;

/// While this lives, its thread computes with denormals as zero. Dropping it restores the old mode.
///
/// It belongs to that thread and cannot be sent to another. Drop guards of one thread in reverse order, as scopes do. Thread: worker or control, outside the block. Cost: some tens of cycles, no system call.
///
/// ```
/// use hocket_machine::float_mode::{FlushDenormals, denormals_flushed};
///
/// let guard = FlushDenormals::enter();
/// assert_eq!(guard.is_active(), denormals_flushed());
/// drop(guard);
/// assert!(!denormals_flushed());
/// ```
#[derive(Debug)]
#[must_use = "dropping it restores the old mode at once"]
pub struct FlushDenormals {
    before: u64,
    _not_send: PhantomData<*const ()>,
}

impl FlushDenormals {
    /// Switches the mode on, if the processor has one.
    pub fn enter() -> Self {
        let before = arch::float_control();
        arch::set_float_control(before | arch::flush_bits());
        Self { before, _not_send: PhantomData }
    }

    /// Whether the processor now reports the mode, read back from its control word.
    pub fn is_active(&self) -> bool {
        let bits = arch::flush_bits();
        bits != 0 && arch::float_control() & bits == bits
    }
}

impl Drop for FlushDenormals {
    fn drop(&mut self) {
        // Only our bits go back: exception flags that were raised meanwhile are not ours to clear.
        let bits = arch::flush_bits();
        let now = arch::float_control();
        arch::set_float_control((now & !bits) | (self.before & bits));
    }
}

/// Whether denormals are zero on the calling thread, found by computing with some: both as results and as inputs.
pub fn denormals_flushed() -> bool {
    let tiny_result = black_box(f32::MIN_POSITIVE) * black_box(0.5);
    let tiny_input = black_box(f32::from_bits(1)) * black_box(1.0e30);
    black_box(tiny_result) == 0.0 && black_box(tiny_input) == 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_is_set_nested_and_restored() {
        assert!(!denormals_flushed());
        let outer = FlushDenormals::enter();
        let inner = FlushDenormals::enter();
        assert!(inner.is_active() && denormals_flushed());
        drop(inner);
        assert!(outer.is_active() && denormals_flushed());
        drop(outer);
        assert!(!denormals_flushed());
    }
}
