//! Linux on x86-64: the kernel turns system calls back, a signal handler makes and counts them.
//!
//! Invariants, named for the SAFETY comments that rely on them:
//!
//! - **KERNEL-FRAME**: the handler is installed by `install` alone, with `SA_SIGINFO`, so the
//!   kernel calls it with pointers to a `siginfo_t` and a `ucontext_t` on its own stack, which it
//!   reads back when the handler has returned.
//! - **OWN-SELECTOR**: the selector that the kernel reads lies in the thread's static thread-local
//!   block, which exists until the thread has made its last system call.
//! - **OWN-WAY-BACK**: the handler returns through `way_back`, whose bytes are the one region from
//!   which calls are never turned back; otherwise the return would be turned back itself.
//! - **AS-CALLED**: a call is made with the number and the arguments that its caller had put into
//!   the registers, so it asks of the kernel what the caller asked. The two differences, stack and
//!   instruction pointer, matter to `STEP_BACK` alone, and those are left to their caller.

#![allow(unsafe_code)]

use std::arch::{asm, naked_asm};
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed, Ordering::SeqCst, compiler_fence};

use super::{COUNTS, ForbiddenCall, POST, note_forbidden};

/// Values of the selector and of the prctl, of the kernel's `linux/prctl.h`.
const ALLOW: u8 = 0;
const BLOCK: u8 = 1;
const PR_SET_SYSCALL_USER_DISPATCH: c_int = 59;
const PR_SYS_DISPATCH_ON: u64 = 1;
/// `si_code` of a call that was turned back (`asm-generic/siginfo.h`).
const SYS_USER_DISPATCH: c_int = 2;
/// Restores the frame: the x86 kernel demands that the way back is given.
const SA_RESTORER: u64 = 0x0400_0000;

/// Calls that depend on the stack or on where they return to. The thread makes them itself, and
/// the sentry does not watch it for the rest of the block.
const STEP_BACK: [i64; 5] =
    [libc::SYS_rt_sigreturn, libc::SYS_clone, libc::SYS_clone3, libc::SYS_fork, libc::SYS_vfork];
/// Length of the instruction `syscall`.
const SYSCALL_BYTES: i64 = 2;

/// What a thread knows of its dispatch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Armed {
    NotAsked,
    Yes,
    No,
}

thread_local! {
    /// Read by the kernel at each system call of the thread.
    static SELECTOR: AtomicU8 = const { AtomicU8::new(ALLOW) };
    static ARMED: Cell<Armed> = const { Cell::new(Armed::NotAsked) };
}

/// Prepares the calling thread; does nothing the second time.
///
/// # Errors
/// What the system refuses.
pub(super) fn arm() -> Result<(), String> {
    if ARMED.get() == Armed::NotAsked {
        let armed = install().is_ok() && dispatch_on();
        ARMED.set(if armed { Armed::Yes } else { Armed::No });
    }
    if ARMED.get() == Armed::Yes {
        return Ok(());
    }
    install()?;
    Err("this kernel has no Syscall User Dispatch (Linux 5.11 or newer has it)".into())
}

/// Whether calls of this thread are turned back from now on.
pub(super) fn turn_back(calls: bool) {
    let selector = if calls && ARMED.get() == Armed::Yes { BLOCK } else { ALLOW };
    set_selector(selector);
}

fn set_selector(value: u8) {
    // The kernel reads it on this very thread, so it is enough that the compiler keeps the order.
    compiler_fence(SeqCst);
    SELECTOR.with(|selector| selector.store(value, Relaxed));
    compiler_fence(SeqCst);
}

fn dispatch_on() -> bool {
    let region = way_back as *const () as u64;
    let selector = SELECTOR.with(AtomicU8::as_ptr);
    // SAFETY: the kernel reads the selector until the thread ends (OWN-SELECTOR) and keeps nothing
    // else of what it is given.
    let status = unsafe {
        libc::prctl(
            PR_SET_SYSCALL_USER_DISPATCH,
            PR_SYS_DISPATCH_ON,
            region,
            WAY_BACK_BYTES,
            selector,
        )
    };
    status == 0
}

/// The kernel's own `struct sigaction`.
#[repr(C)]
struct KernelAction {
    handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void),
    flags: u64,
    restorer: unsafe extern "C" fn(),
    mask: u64,
}

/// Installs the handler, once for the process.
fn install() -> Result<(), String> {
    static INSTALLED: OnceLock<Result<(), String>> = OnceLock::new();
    INSTALLED.get_or_init(sigaction).clone()
}

/// Not through the C library: it would put its own way back in, which would be turned back.
fn sigaction() -> Result<(), String> {
    let action = KernelAction {
        handler: on_call,
        // Not masked inside of its handler: a foreign SIGSYS there must end the process as usual.
        flags: SA_RESTORER | libc::SA_SIGINFO as u64 | libc::SA_NODEFER as u64,
        restorer: way_back,
        mask: 0,
    };
    let none = std::ptr::null_mut::<KernelAction>();
    // SAFETY: the layout is the kernel's; the handler keeps to what a signal handler may do (it
    // touches atomics and thread-local cells, and makes the call it was asked for).
    let status = unsafe {
        libc::syscall(libc::SYS_rt_sigaction, libc::SIGSYS, &raw const action, none, 8usize)
    };
    match status {
        0 => Ok(()),
        _ => Err(format!("no handler for SIGSYS: {}", std::io::Error::last_os_error())),
    }
}

/// Length of [`way_back`], up to and with the address behind its `syscall`, which is what the kernel
/// compares.
const WAY_BACK_BYTES: u64 = 11;

/// Returns from the handler. The bytes (`mov rax, 15; syscall`) are those by which debuggers and
/// unwinders know a signal frame; the `ud2` behind them is never reached.
#[unsafe(naked)]
unsafe extern "C" fn way_back() {
    naked_asm!(".byte 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05, 0x0f, 0x0b")
}

/// A call was turned back.
///
/// Thread: any watched one, wherever it was inside its block.
extern "C" fn on_call(_: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    set_selector(ALLOW);
    // SAFETY: KERNEL-FRAME, for both; nobody else refers to the frame while the handler runs.
    let (info, context) = unsafe { (&*info, &mut *context.cast::<libc::ucontext_t>()) };
    if info.si_code != SYS_USER_DISPATCH {
        // Not ours: what would have happened without us.
        std::process::abort();
    }
    let registers = &mut context.uc_mcontext.gregs;
    let call = Call::of(registers);
    if STEP_BACK.contains(&call.nr) {
        return step_back(&call, registers);
    }
    // SAFETY: AS-CALLED.
    let result = unsafe { call.make() };
    registers[libc::REG_RAX as usize] = result;
    call.count(result);
    set_selector(BLOCK);
}

/// Lets the caller make its call again, unwatched: the selector stays at `ALLOW`.
fn step_back(call: &Call, registers: &mut [i64; 23]) {
    registers[libc::REG_RIP as usize] -= SYSCALL_BYTES;
    COUNTS.cut_short.fetch_add(1, Relaxed);
    // The return from a foreign handler is no deed of the block's.
    if call.nr != libc::SYS_rt_sigreturn {
        call.violates();
    }
}

/// A system call as its caller left it in the registers.
struct Call {
    nr: i64,
    args: [i64; 6],
    ip: i64,
}

impl Call {
    fn of(registers: &[i64; 23]) -> Call {
        let at = |register: c_int| registers[register as usize];
        Call {
            nr: at(libc::REG_RAX),
            args: [
                libc::REG_RDI,
                libc::REG_RSI,
                libc::REG_RDX,
                libc::REG_R10,
                libc::REG_R8,
                libc::REG_R9,
            ]
            .map(at),
            ip: at(libc::REG_RIP),
        }
    }

    /// Makes the call and returns what the kernel puts into `rax`.
    ///
    /// # Safety
    /// AS-CALLED holds.
    unsafe fn make(&self) -> i64 {
        let [a, b, c, d, e, f] = self.args;
        let result;
        // SAFETY: the caller answers for the call; the kernel changes `rax`, `rcx` and `r11` only.
        unsafe {
            asm!(
                "syscall",
                inlateout("rax") self.nr => result,
                in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
                lateout("rcx") _, lateout("r11") _,
                options(nostack),
            );
        }
        result
    }

    /// Whether it was meant: at an edge, and one of the calls that are made there.
    fn count(&self, result: i64) {
        let at_edge = POST.with(|post| post.edges.get() > 0);
        let count = match (at_edge, self.nr) {
            (true, libc::SYS_sched_yield) => &COUNTS.yields,
            (true, libc::SYS_futex) => match futex_count(self.args[1], result) {
                Some(count) => count,
                None => return self.violates(),
            },
            _ => return self.violates(),
        };
        count.fetch_add(1, Relaxed);
        POST.with(|post| {
            post.calls.set(post.calls.get() + 1);
            let is = |own: &AtomicU64| u64::from(std::ptr::eq(count, own));
            post.wakes.set(post.wakes.get() + is(&COUNTS.wakes));
            post.sleeps.set(post.sleeps.get() + is(&COUNTS.sleeps));
            post.turned_back.set(post.turned_back.get() + is(&COUNTS.turned_back));
        });
    }

    fn violates(&self) {
        note_forbidden(ForbiddenCall { nr: self.nr as u64, ip: self.ip as u64 });
    }
}

/// Which count a futex operation adds to; `None`: the engine makes no such.
fn futex_count(operation: i64, result: i64) -> Option<&'static AtomicU64> {
    match operation as c_int & libc::FUTEX_CMD_MASK {
        libc::FUTEX_WAKE => Some(&COUNTS.wakes),
        libc::FUTEX_WAIT if result == 0 || result == -i64::from(libc::EINTR) => {
            Some(&COUNTS.sleeps)
        }
        libc::FUTEX_WAIT => Some(&COUNTS.turned_back),
        _ => None,
    }
}
