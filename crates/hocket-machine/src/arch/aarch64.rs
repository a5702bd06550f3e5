//! AArch64: virtual counter and FPCR.
//!
//! # Invariants
//! - **el0-counter**: Linux lets user code read CNTVCT_EL0.
//! - **el0-fpcr**: FPCR is readable and writable from user code; setting FZ (bit 24) changes only how tiny numbers are
//!   treated. See the x86-64 file for what the language says about it.

use std::arch::asm;

use super::TickFlags;

const FLUSH: u64 = 1 << 24;

/// The virtual counter. Not ordered with the instructions around it.
#[inline(always)]
pub(crate) fn raw_ticks() -> u64 {
    let ticks: u64;
    // SAFETY: el0-counter.
    unsafe { asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags)) };
    ticks
}

/// The architecture demands a constant rate through every sleep state.
pub(crate) fn tick_flags() -> TickFlags {
    TickFlags { present: true, invariant: true, name: "cntvct" }
}

/// The architecture has no such signature.
pub(crate) fn hypervisor() -> Option<String> {
    None
}

/// FPCR.
#[inline]
pub(crate) fn float_control() -> u64 {
    let word: u64;
    // SAFETY: el0-fpcr.
    unsafe { asm!("mrs {}, fpcr", out(reg) word, options(nomem, nostack, preserves_flags)) };
    word
}

/// Writes FPCR.
#[inline]
pub(crate) fn set_float_control(word: u64) {
    // SAFETY: el0-fpcr.
    unsafe { asm!("msr fpcr, {}", in(reg) word, options(nostack, preserves_flags)) };
}

/// FZ: results and inputs alike.
pub(crate) fn flush_bits() -> u64 {
    FLUSH
}
