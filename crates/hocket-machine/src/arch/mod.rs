//! The processor seam: one file per architecture, all with the same names. Nothing above asks which processor it is.
//!
//! Each file offers: `raw_ticks` (the cycle counter that user code may read), `tick_flags` (whether
//! it runs at one rate and through sleep), `hypervisor` (its signature), and the control word for
//! tiny floating-point numbers (`float_control`, `set_float_control`, `flush_bits`).

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::*;

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "aarch64")]
pub(crate) use aarch64::*;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod other;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) use other::*;

/// What the processor says about its cycle counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TickFlags {
    /// There is a counter that user code may read.
    pub present: bool,
    /// It runs at one rate whatever the core's clock, and does not stop while the core sleeps.
    pub invariant: bool,
    /// Its name.
    pub name: &'static str,
}
