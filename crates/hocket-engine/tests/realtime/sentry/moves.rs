//! The C library's fills and copies, as calls of this test binary: those inside of a block are counted,
//! because the registers that they take slow a core down (`hocket_dsp::rows`).
//!
//! A program's own `memset`, `memcpy` and `memmove` take the place of the library's for everything that is
//! linked into it. These keep the caller's address, for who looks for the place.

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Relaxed: numbers that stand for themselves, read when no block runs.
static CALLS: AtomicU64 = AtomicU64::new(0);
static LARGEST: AtomicUsize = AtomicUsize::new(0);
static CALLERS: [AtomicUsize; 8] = [const { AtomicUsize::new(0) }; 8];

/// Whether they are counted in this build: RealtimeSanitizer has functions of its own.
pub const COUNTED: bool =
    cfg!(all(target_os = "linux", target_arch = "x86_64", not(feature = "rtsan")));

/// Moves inside of blocks.
#[derive(Debug, PartialEq, Eq)]
pub struct Moves {
    pub calls: u64,
    largest: usize,
    callers: Vec<usize>,
}

impl fmt::Display for Moves {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Moves { calls, largest, callers } = self;
        let program = std::env::current_exe().unwrap_or_default();
        write!(
            f,
            "{calls} fills or copies by the C library, of at most {largest} bytes, some of "
        )?;
        write!(f, "them from {callers:#x?}: see addr2line -fCie {}", program.display())
    }
}

/// Those since the last question.
pub fn take() -> Moves {
    let mut callers: Vec<usize> = CALLERS.iter().map(|caller| caller.swap(0, Relaxed)).collect();
    callers.sort_unstable();
    callers.dedup();
    Moves { calls: CALLS.swap(0, Relaxed), largest: LARGEST.swap(0, Relaxed), callers }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64", not(feature = "rtsan")))]
mod library {
    use std::arch::{asm, naked_asm};
    use std::ffi::c_int;
    use std::sync::atomic::Ordering::Relaxed;

    use hocket_engine::sentry::in_block;

    use super::{CALLERS, CALLS, LARGEST};

    fn note(length: usize, caller: usize) {
        unsafe extern "C" {
            /// Where the program begins in memory; defined by the linker.
            static __executable_start: u8;
        }
        if in_block() {
            let call = CALLS.fetch_add(1, Relaxed) as usize;
            LARGEST.fetch_max(length, Relaxed);
            CALLERS[call % CALLERS.len()]
                .store(caller.wrapping_sub((&raw const __executable_start).addr()), Relaxed);
        }
    }

    /// As the C standard has it (C23, 7.26.6.1).
    #[unsafe(naked)]
    #[unsafe(no_mangle)]
    extern "C" fn memset(to: *mut u8, value: c_int, length: usize) -> *mut u8 {
        naked_asm!("mov rcx, [rsp]", "jmp {}", sym set)
    }

    /// As the C standard has it (C23, 7.26.2.1).
    #[unsafe(naked)]
    #[unsafe(no_mangle)]
    extern "C" fn memcpy(to: *mut u8, from: *const u8, length: usize) -> *mut u8 {
        naked_asm!("mov rcx, [rsp]", "jmp {}", sym copy)
    }

    /// As the C standard has it (C23, 7.26.2.3).
    #[unsafe(naked)]
    #[unsafe(no_mangle)]
    extern "C" fn memmove(to: *mut u8, from: *const u8, length: usize) -> *mut u8 {
        naked_asm!("mov rcx, [rsp]", "jmp {}", sym copy)
    }

    extern "C" fn set(to: *mut u8, value: c_int, length: usize, caller: usize) -> *mut u8 {
        note(length, caller);
        // SAFETY: the caller of `memset` may write `length` bytes from `to` on; the direction flag is clear at
        // every call (System V ABI, 3.2.1).
        unsafe {
            asm!("rep stosb", inout("rdi") to => _, inout("rcx") length => _, in("al") value as u8)
        };
        to
    }

    extern "C" fn copy(to: *mut u8, from: *const u8, length: usize, caller: usize) -> *mut u8 {
        note(length, caller);
        if to.addr().wrapping_sub(from.addr()) >= length {
            // SAFETY: the caller may read and write `length` bytes; going up, none is overwritten before it is
            // read.
            unsafe {
                asm!("rep movsb", inout("rdi") to => _, inout("rsi") from => _, inout("rcx") length => _)
            };
            return to;
        }
        // SAFETY: as above, going down; the flag is cleared again. `length` is not 0 where they overlap.
        unsafe {
            let (last_to, last_from) = (to.add(length - 1), from.add(length - 1));
            asm!("std", "rep movsb", "cld", inout("rdi") last_to => _, inout("rsi") last_from => _,
                inout("rcx") length => _);
        }
        to
    }
}
