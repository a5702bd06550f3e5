//! x86-64: the time stamp counter, Intel's WAITPKG and AMD's MONITORX.
//!
//! Sources: Intel SDM vol. 2 (TPAUSE, UMONITOR, UMWAIT), AMD64 APM vol. 3 (MONITORX, MWAITX). The assembler
//! knows all five instructions without a target feature. So one binary contains them, and checks at run time
//! which ones the CPU has.

use super::{BLIND, MONITORED, ticks_in};
use crate::sync::AtomicU32;
use std::arch::asm;
use std::arch::x86_64::{__cpuid, __cpuid_count, _rdtsc};
use std::sync::atomic::{AtomicU32 as Number, Ordering::Relaxed};

const NO_WAITPKG: &str =
    "the CPU has no WAITPKG (Intel since Tremont and Alder Lake), or a hypervisor hides it";
const NO_MONITORX: &str =
    "the CPU has no MONITORX (AMD since Excavator and Zen), or a hypervisor hides it";
const NO_WFE: &str = "the CPU is not an arm64";

/// The state in which to rest: C0.2, which gives this thread's share of the core to the sibling.
///
/// C0.1, the operand 1, would wake sooner, but guarantees the sibling nothing. If the system has turned C0.2
/// off (`umwait_control/enable_c02`), the CPU uses C0.1.
const C0_2: u32 = 0;
/// The hint "no deep state": a deep state takes long to wake from (Linux, arch/x86/lib/delay.c).
const MWAITX_SHALLOW: u32 = 0xf0;
/// The extension "end the rest after EBX ticks".
const MWAITX_TIMER: u32 = 1 << 1;

/// The clock: the time stamp counter.
#[inline]
pub(crate) fn ticks() -> u64 {
    // SAFETY: every x86-64 has RDTSC.
    unsafe { _rdtsc() }
}

/// An instruction for a rest. Invariant *present*: a value exists only if CPUID reports the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quiet {
    Tpause,
    Umwait,
    Mwaitx,
}

impl Quiet {
    pub(crate) fn tpause() -> Result<Quiet, &'static str> {
        if has(WAITPKG) { Ok(Quiet::Tpause) } else { Err(NO_WAITPKG) }
    }

    pub(crate) fn umwait() -> Result<Quiet, &'static str> {
        if has(WAITPKG) { Ok(Quiet::Umwait) } else { Err(NO_WAITPKG) }
    }

    pub(crate) fn mwaitx() -> Result<Quiet, &'static str> {
        if has(MONITORX) { Ok(Quiet::Mwaitx) } else { Err(NO_MONITORX) }
    }

    pub(crate) fn wfe() -> Result<Quiet, &'static str> {
        Err(NO_WFE)
    }

    /// The longest time of one rest, in ticks.
    pub(crate) fn step_ticks(self) -> u64 {
        match self {
            Quiet::Tpause => ticks_in(BLIND),
            Quiet::Umwait | Quiet::Mwaitx => ticks_in(MONITORED),
        }
    }

    /// Rests for at most `ticks`, or until a thread writes to `word`.
    ///
    /// It calls `look` once the monitor is armed, and does not rest if `look` finds something. TPAUSE has no
    /// monitor: it rests without a look.
    #[inline]
    pub(crate) fn rest<T>(
        self,
        word: &AtomicU32,
        ticks: u64,
        look: &mut impl FnMut() -> Option<T>,
    ) -> Option<T> {
        // SAFETY: invariant *present*.
        unsafe {
            match self {
                Quiet::Tpause => {
                    tpause(ticks);
                    return None;
                }
                Quiet::Umwait => umonitor(word),
                Quiet::Mwaitx => monitorx(word),
            }
        }
        let found = look();
        if found.is_none() {
            // SAFETY: invariant *present*.
            unsafe { if self == Quiet::Umwait { umwait(ticks) } else { mwaitx(ticks) } }
        }
        found
    }
}

/// Bits for the features of the CPU. 0: not read yet.
///
/// The first caller writes it, because CPUID is slow under a hypervisor, which traps it. It publishes nothing
/// else, so all accesses are `Relaxed`.
static FEATURES: Number = Number::new(0);
const ASKED: u32 = 1 << 0;
const WAITPKG: u32 = 1 << 1;
const MONITORX: u32 = 1 << 2;

fn has(feature: u32) -> bool {
    // Relaxed: it publishes nothing, see the static.
    let mut features = FEATURES.load(Relaxed);
    if features == 0 {
        features = ASKED;
        features |= if ecx_of_leaf(0x7) & 1 << 5 != 0 { WAITPKG } else { 0 };
        features |= if ecx_of_leaf(0x8000_0001) & 1 << 29 != 0 { MONITORX } else { 0 };
        // Relaxed: every thread reads the same features.
        FEATURES.store(features, Relaxed);
    }
    features & feature != 0
}

/// ECX of a leaf of CPUID. 0 if the CPU has no such leaf.
#[allow(unused_unsafe, reason = "asking is safe for newer compilers and was not for older ones")]
fn ecx_of_leaf(number: u32) -> u32 {
    // SAFETY: every x86-64 has CPUID, and it only returns values.
    unsafe {
        let highest = __cpuid(number & 0x8000_0000).eax;
        if highest >= number { __cpuid_count(number, 0).ecx } else { 0 }
    }
}

/// Rests for this many ticks, or until the system's limit or an interrupt. The carry flag says which of them
/// ended the rest. It makes no difference, because the caller looks again.
///
/// # Safety
/// The CPU has WAITPKG.
#[inline]
unsafe fn tpause(for_ticks: u64) {
    let end = ticks().saturating_add(for_ticks);
    // SAFETY: the caller's obligation. The instruction reads three registers and writes the flags.
    unsafe {
        asm!(
            "tpause {state:e}",
            state = in(reg) C0_2,
            in("eax") end as u32,
            in("edx") (end >> 32) as u32,
            options(nomem, nostack),
        );
    }
}

/// Arms the monitor on the line of `word`. The CPU orders it like a load, so later looks come after it.
///
/// # Safety
/// The CPU has WAITPKG.
#[inline]
unsafe fn umonitor(word: &AtomicU32) {
    // SAFETY: the caller's obligation. The address is that of a live word. Not `nomem`: the compiler must not
    // move the next look before it.
    unsafe {
        asm!("umonitor {word}", word = in(reg) word.as_ptr(), options(nostack, preserves_flags));
    }
}

/// Rests until a thread writes to the armed line, at most for this many ticks. Returns at once if a thread has
/// already written.
///
/// # Safety
/// The CPU has WAITPKG.
#[inline]
unsafe fn umwait(for_ticks: u64) {
    let end = ticks().saturating_add(for_ticks);
    // SAFETY: as for `tpause`. Not `nomem`: the compiler must not move the looks before and after it.
    unsafe {
        asm!(
            "umwait {state:e}",
            state = in(reg) C0_2,
            in("eax") end as u32,
            in("edx") (end >> 32) as u32,
            options(nostack),
        );
    }
}

/// Like [`umonitor`].
///
/// # Safety
/// The CPU has MONITORX.
#[inline]
unsafe fn monitorx(word: &AtomicU32) {
    // SAFETY: as for `umonitor`. It uses no extensions and no hints.
    unsafe {
        asm!(
            "monitorx",
            in("rax") word.as_ptr(),
            in("ecx") 0,
            in("edx") 0,
            options(nostack, preserves_flags),
        );
    }
}

/// Like [`umwait`], but the time is a duration with 32 bits.
///
/// # Safety
/// The CPU has MONITORX.
#[inline]
unsafe fn mwaitx(for_ticks: u64) {
    let timer = for_ticks.clamp(1, u32::MAX.into());
    // SAFETY: the caller's obligation. RBX belongs to the compiler, so the code restores it after the
    // instruction.
    unsafe {
        asm!(
            "xchg {timer}, rbx",
            "mwaitx",
            "mov rbx, {timer}",
            timer = inout(reg) timer => _,
            in("eax") MWAITX_SHALLOW,
            in("ecx") MWAITX_TIMER,
            options(nostack, preserves_flags),
        );
    }
}
