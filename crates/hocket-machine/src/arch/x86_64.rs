//! x86-64: time-stamp counter and MXCSR.
//!
//! # Invariants
//! - **base-isa**: `cpuid`, `rdtsc`, `ldmxcsr`, `stmxcsr` and `fxsave` belong to every x86-64 processor, and Linux leaves all of
//!   them to user code (a process that asked for `PR_SET_TSC` traps would get a signal, which is what it asked for).
//! - **own-buffer**: the memory operand is a live local of the size and alignment that the instruction wants.
//! - **no-fault-bits**: [`set_float_control`] gets a word that was read from MXCSR with only bits of [`flush_bits`] changed;
//!   those are bits that the processor's mask declares writable, so the load cannot fault.
//!
//! # A known hack
//! The language assumes the default floating-point environment; code that runs with flush-to-zero set is outside that
//! assumption, though every compiler in use treats the bits as the processor does. What is formally unclear is whether
//! the optimiser may evaluate a constant expression with full denormals; audio code does not care which it does. A
//! target feature or attribute for it in the language would remove the hack.

use std::arch::asm;
use std::arch::x86_64::{__cpuid, _rdtsc, CpuidResult};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::TickFlags;

const FLUSH_RESULTS: u32 = 1 << 15;
const TREAT_INPUTS_AS_ZERO: u32 = 1 << 6;

/// The time-stamp counter. Not ordered with the instructions around it; the error is some tens of cycles.
#[inline(always)]
pub(crate) fn raw_ticks() -> u64 {
    // SAFETY: base-isa.
    unsafe { _rdtsc() }
}

/// A leaf of CPUID; a safe function only from later versions of Rust on, hence the permission.
#[allow(unused_unsafe)]
fn cpuid(leaf: u32) -> CpuidResult {
    // SAFETY: base-isa: every x86-64 processor has the instruction.
    unsafe { __cpuid(leaf) }
}

/// CPUID leaf 8000_0007h, EDX bit 8: invariant TSC.
pub(crate) fn tick_flags() -> TickFlags {
    let highest = cpuid(0x8000_0000).eax;
    let invariant = highest >= 0x8000_0007 && cpuid(0x8000_0007).edx >> 8 & 1 == 1;
    TickFlags { present: true, invariant, name: "tsc" }
}

/// The signature of the hypervisor (CPUID leaf 4000_0000h), such as `KVMKVMKVM`; none where the
/// processor says that there is no hypervisor.
pub(crate) fn hypervisor() -> Option<String> {
    if cpuid(1).ecx >> 31 & 1 == 0 {
        return None;
    }
    let leaf = cpuid(0x4000_0000);
    let bytes = [leaf.ebx, leaf.ecx, leaf.edx].map(u32::to_le_bytes).concat();
    let text: String = bytes.into_iter().filter(u8::is_ascii_graphic).map(char::from).collect();
    (!text.is_empty()).then_some(text)
}

/// MXCSR.
#[inline]
pub(crate) fn float_control() -> u64 {
    let mut word = 0_u32;
    // SAFETY: base-isa, own-buffer.
    unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut word, options(nostack, preserves_flags)) };
    u64::from(word)
}

/// Writes MXCSR.
#[inline]
pub(crate) fn set_float_control(word: u64) {
    let word = word as u32;
    // SAFETY: base-isa, own-buffer, no-fault-bits.
    unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const word, options(nostack, preserves_flags)) };
}

/// Flush-to-zero, and denormals-are-zero where this processor has it (the very first x86-64 ones do not).
pub(crate) fn flush_bits() -> u64 {
    u64::from(FLUSH_RESULTS | (TREAT_INPUTS_AS_ZERO & writable_bits()))
}

/// MXCSR_MASK. Asked once: every block sets the mode and puts it back, and the question takes longer than
/// both.
fn writable_bits() -> u32 {
    static KNOWN: AtomicU32 = AtomicU32::new(0);
    // Relaxed: a number stands for itself; who does not see it asks again.
    match KNOWN.load(Relaxed) {
        0 => {
            let bits = ask_for_writable_bits();
            KNOWN.store(bits, Relaxed);
            bits
        }
        bits => bits,
    }
}

/// As `fxsave` stores it at byte 28; 0 means the mask of the first processors.
#[cold]
fn ask_for_writable_bits() -> u32 {
    #[repr(C, align(16))]
    struct Area([u8; 512]);
    // Not zeroed first: that would be a call of the C library, in the first block.
    let mut area = MaybeUninit::<Area>::uninit();
    let area = area.as_mut_ptr();
    let mask = area.cast::<u8>().wrapping_add(28).cast::<u32>();
    // SAFETY: base-isa, own-buffer (512 bytes, aligned to 16).
    unsafe { asm!("fxsave64 [{}]", in(reg) area, options(nostack, preserves_flags)) };
    // SAFETY: own-buffer: `fxsave` has written these four bytes; 28 is a multiple of 4.
    match unsafe { mask.read() } {
        0 => 0xffbf,
        mask => mask,
    }
}
