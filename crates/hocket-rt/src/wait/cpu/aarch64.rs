//! arm64: the virtual counter, and WFE after a load that arms the exclusive monitor.
//!
//! Arm ARM, "Wait for Event": LDXR arms the monitor. A write to that memory by another core clears it, and
//! that is an event. If an event came before WFE, WFE ends at once. WFET (FEAT_WFxT) also ends at a given time.
//! Plain WFE has a time limit only if the kernel lets the timer send events
//! (`CONFIG_ARM_ARCH_TIMER_EVTSTREAM`, every 100 µs). Otherwise Hocket does not use WFE.

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

/// An instruction for a rest. Invariant *present*: `Wfet` exists only if the CPU has FEAT_WFxT, and `Wfe`
/// only if there is an event stream.
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

    /// The longest time of one rest, in ticks. A `Wfe` ends with the next event of the stream.
    pub(crate) fn step_ticks(self) -> u64 {
        ticks_in(MONITORED)
    }

    /// Rests for at most `ticks`, or until a thread writes to `word`.
    ///
    /// It calls `look` once the monitor is armed, and does not rest if `look` finds something. An atomic change
    /// inside `look` may disarm the monitor. Then the time limit ends the rest.
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

/// What else than a write ends a WFE here.
#[cfg(target_os = "linux")]
fn bounded_wfe() -> Option<Quiet> {
    const HWCAP_EVTSTRM: libc::c_ulong = 1 << 2;
    const HWCAP2_WFXT: libc::c_ulong = 1 << 31;
    // SAFETY: it reads a number in a table that the kernel gave this process.
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

/// Arms the monitor on `word`. Later looks at the same word come after it.
#[inline]
fn arm(word: &AtomicU32) {
    // SAFETY: it loads a live, aligned word into a register that nobody reads. Not `nomem`: the compiler must
    // not move the next look before it.
    unsafe {
        asm!(
            "ldxr {held:w}, [{word}]",
            held = out(reg) _,
            word = in(reg) word.as_ptr(),
            options(nostack, preserves_flags),
        );
    }
}

/// Rests until an event, at most for this many ticks.
#[inline]
fn wfet(for_ticks: u64) {
    let end = ticks().saturating_add(for_ticks);
    // SAFETY: invariant *present*. It reads one register. The code has `wfet x0` as a number, because
    // assemblers accept the name only if FEAT_WFxT is on for the whole binary.
    unsafe { asm!(".inst 0xd5031000", in("x0") end, options(nostack, preserves_flags)) };
}

/// Rests until an event.
#[inline]
fn wfe() {
    // SAFETY: a hint that accesses nothing.
    unsafe { asm!("wfe", options(nostack, preserves_flags)) };
}
