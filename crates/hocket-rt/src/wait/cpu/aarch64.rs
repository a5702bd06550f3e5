//! arm64: the virtual counter; WFE behind a load that arms the exclusive monitor.
//!
//! Arm ARM, "Wait for Event": the monitor is armed by LDXR; a write to that memory by another
//! core clears it, and that is an event. An event that came before WFE ends it at once. WFET
//! (FEAT_WFxT) ends at a time, too. Plain WFE is bounded where the kernel lets the timer send events
//! (`CONFIG_ARM_ARCH_TIMER_EVTSTREAM`, every 100 us); where it does not, there is no bound and
//! WFE is not used.

use super::{MONITORED, ticks_in};
use crate::sync::AtomicU32;
use std::arch::asm;
use std::sync::OnceLock;

const NO_X86: &str = "the CPU is not an x86-64";
const UNBOUNDED: &str =
    "nothing would end a WFE in time: the CPU has no FEAT_WFxT and the system no event stream";

/// The clock: the virtual counter, which Linux lets programs read.
#[inline]
pub(crate) fn ticks() -> u64 {
    let now;
    // SAFETY: reads one register, which every system that runs this open to programs.
    unsafe { asm!("mrs {}, cntvct_el0", out(reg) now, options(nomem, nostack, preserves_flags)) };
    now
}

/// An instruction to rest with. Invariant *present*: `Wfet` is made only where the CPU has
/// FEAT_WFxT, `Wfe` only where there is an event stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quiet {
    Wfet,
    Wfe,
}

impl Quiet {
    pub(crate) fn tpause() -> Result<Quiet, &'static str> {
        Err(NO_X86)
    }

    pub(crate) fn umwait() -> Result<Quiet, &'static str> {
        Err(NO_X86)
    }

    pub(crate) fn mwaitx() -> Result<Quiet, &'static str> {
        Err(NO_X86)
    }

    pub(crate) fn wfe() -> Result<Quiet, &'static str> {
        static FOUND: OnceLock<Option<Quiet>> = OnceLock::new();
        FOUND.get_or_init(bounded_wfe).ok_or(UNBOUNDED)
    }

    /// How long one rest lasts at most, in ticks. A `Wfe` ends with the next event of the stream.
    pub(crate) fn step_ticks(self) -> u64 {
        ticks_in(MONITORED)
    }

    /// Rests for at most `ticks`, or until `word` is written; not at all if `look`, asked once
    /// the monitor is armed, finds something.
    ///
    /// An atomic change inside `look` may disarm the monitor; the rest then ends in time.
    #[inline]
    pub(crate) fn rest<T>(
        self,
        word: &AtomicU32,
        ticks: u64,
        look: &mut impl FnMut() -> Option<T>,
    ) -> Option<T> {
        arm(word);
        let found = look();
        if found.is_none() {
            match self {
                Quiet::Wfet => wfet(ticks),
                Quiet::Wfe => wfe(),
            }
        }
        found
    }
}

/// What ends a WFE here besides a write.
#[cfg(target_os = "linux")]
fn bounded_wfe() -> Option<Quiet> {
    const HWCAP_EVTSTRM: libc::c_ulong = 1 << 2;
    const HWCAP2_WFXT: libc::c_ulong = 1 << 31;
    // SAFETY: looks up a number in a table that the kernel gave this process.
    let has = |table, bit| unsafe { libc::getauxval(table) } & bit != 0;
    if has(libc::AT_HWCAP2, HWCAP2_WFXT) {
        return Some(Quiet::Wfet);
    }
    has(libc::AT_HWCAP, HWCAP_EVTSTRM).then_some(Quiet::Wfe)
}

/// Other systems do not say whether they have an event stream.
#[cfg(not(target_os = "linux"))]
fn bounded_wfe() -> Option<Quiet> {
    None
}

/// Arms the monitor on `word`. Looks at the same word that follow are not taken before it.
#[inline]
fn arm(word: &AtomicU32) {
    // SAFETY: loads a live, aligned word into a register that nobody reads. Not `nomem`: the
    // compiler must not move the look that follows to before it.
    unsafe {
        asm!(
            "ldxr {held:w}, [{word}]",
            held = out(reg) _,
            word = in(reg) word.as_ptr(),
            options(nostack, preserves_flags),
        );
    }
}

/// Rests until an event, at most for so many ticks.
#[inline]
fn wfet(for_ticks: u64) {
    let end = ticks().saturating_add(for_ticks);
    // SAFETY: invariant *present*; reads one register. `wfet x0` by its number, since assemblers
    // want FEAT_WFxT to be switched on for the whole binary.
    unsafe { asm!(".inst 0xd5031000", in("x0") end, options(nostack, preserves_flags)) };
}

/// Rests until an event.
#[inline]
fn wfe() {
    // SAFETY: a hint; touches nothing.
    unsafe { asm!("wfe", options(nostack, preserves_flags)) };
}
