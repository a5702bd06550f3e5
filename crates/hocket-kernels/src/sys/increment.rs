//! An increment of memory as one instruction, and as three.
//!
//! Compilers choose either for `i++`, and for a load and a store of an atomic, too; here the choice is made.

use std::sync::atomic::AtomicU64;

/// Why an increment cannot be one instruction here; `None` where it can.
pub(crate) fn one_instruction_missing() -> Option<&'static str> {
    match cfg!(all(target_arch = "x86_64", not(miri))) {
        true => None,
        false => Some("this processor has no instruction that increments memory"),
    }
}

/// Loads, adds and stores in one instruction, without a lock prefix: another CPU may come between load and store.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
pub(crate) fn in_one(counter: &AtomicU64) {
    // SAFETY:
    // - The address is that of a live, aligned word: `counter` is borrowed.
    // - The instruction loads and stores it once each, as two `Relaxed` accesses would.
    unsafe { std::arch::asm!("inc qword ptr [{}]", in(reg) counter.as_ptr(), options(nostack)) };
}

/// As [`in_one`], in three instructions: the scheduler may come between, too.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
pub(crate) fn in_three(counter: &AtomicU64) {
    // SAFETY: as in `in_one`; the register is this block's own.
    unsafe {
        std::arch::asm!(
            "mov {sum}, qword ptr [{counter}]",
            "add {sum}, 1",
            "mov qword ptr [{counter}], {sum}",
            counter = in(reg) counter.as_ptr(),
            sum = out(reg) _,
            options(nostack)
        );
    }
}

/// As a processor does it that computes in registers alone.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[inline(always)]
pub(crate) fn in_three(counter: &AtomicU64) {
    use std::sync::atomic::Ordering::Relaxed;
    // Relaxed, and not one step: that is the point.
    counter.store(counter.load(Relaxed).wrapping_add(1), Relaxed);
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub(crate) use in_three as in_one;
