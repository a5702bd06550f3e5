//! Linux: the system calls, each wrapped once, each error in words' reach (`io::Error`).
//!
//! Raw calls are used where the C library's wrapper acts on the wrong thing (it would apply to the process, or is absent
//! in some C libraries). A thread number of 0 means the calling thread.
//!
//! # Invariants
//! - **kernel-checks**: the kernel validates every number it is given and answers with an error; a wrong thread number,
//!   policy or flag cannot harm memory.
//! - **own-buffer**: a pointer handed to the kernel points to a live local or borrowed buffer of at least the length
//!   that is passed with it (or that the call's documented struct has), for the length of the call.
//! - **owned-fd**: a file descriptor that the kernel just returned belongs to nobody else.

mod caretaker;
mod out_of_memory;
mod perf;

use std::io;
use std::mem::{size_of, zeroed};
use std::path::Path;

pub(crate) use caretaker::{Caretaker, Deed, perform};
pub use out_of_memory::EndWithoutMemory;
pub(crate) use perf::{Counter, OpenCounter, RingError, SwitchRing, Watched};
pub(crate) use perf::{Counts, EventGroup};

use crate::cpuset::{CpuSet, MAX_CPUS};

/// The number of a thread as the kernel counts it.
pub(crate) type ThreadNumber = i32;

fn check(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

// ---- signals ------------------------------------------------------------------------------------------------------

/// Lets a write beyond the limit of a file's size fail, instead of ending the process.
pub(crate) fn ignore_file_size_signal() -> io::Result<()> {
    // SAFETY: kernel-checks; without a handler no code of ours runs in a signal.
    match unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) } {
        libc::SIG_ERR => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

// ---- affinity -----------------------------------------------------------------------------------------------------

/// The CPUs a thread may run on.
pub(crate) fn affinity(thread: ThreadNumber) -> io::Result<CpuSet> {
    let mut mask = vec![0_u8; MAX_CPUS as usize / 8];
    // SAFETY: own-buffer, kernel-checks.
    let length = check(unsafe {
        libc::syscall(libc::SYS_sched_getaffinity, thread, mask.len(), mask.as_mut_ptr())
    })?;
    Ok(CpuSet::from_mask_bytes(&mask[..length as usize]))
}

/// Asks that a thread run on `cpus` only. The kernel silently drops CPUs outside the thread's cpuset: read back.
pub(crate) fn set_affinity(thread: ThreadNumber, cpus: &CpuSet) -> io::Result<()> {
    let mask = cpus.to_mask_bytes(8);
    // SAFETY: own-buffer, kernel-checks.
    check(unsafe {
        libc::syscall(libc::SYS_sched_setaffinity, thread, mask.len(), mask.as_ptr())
    })?;
    Ok(())
}

/// The CPU the caller is on at this moment.
pub(crate) fn current_cpu() -> Option<u32> {
    // SAFETY: no arguments, no state.
    u32::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// The calling thread's number.
pub(crate) fn current_thread() -> ThreadNumber {
    // SAFETY: no arguments; cannot fail.
    unsafe { libc::syscall(libc::SYS_gettid) as ThreadNumber }
}

/// What tells the calling thread from the others that live now. No system call.
pub(crate) fn thread_mark() -> usize {
    // SAFETY: no arguments, cannot fail.
    unsafe { libc::pthread_self() as usize }
}

/// The numbers of all threads of this process.
pub(crate) fn threads() -> io::Result<Vec<ThreadNumber>> {
    let number =
        |entry: io::Result<std::fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse().ok();
    Ok(std::fs::read_dir("/proc/self/task")?.filter_map(number).collect())
}

/// Whether `thread` is a thread of this process.
pub(crate) fn is_own_thread(thread: ThreadNumber) -> bool {
    Path::new(&format!("/proc/self/task/{thread}")).exists()
}

// ---- scheduling class ---------------------------------------------------------------------------------------------

/// The kernel's `sched_attr`, first version (48 bytes), which every kernel with the call accepts.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SchedAttr {
    pub size: u32,
    pub policy: u32,
    pub flags: u64,
    pub nice: i32,
    pub priority: u32,
    pub runtime: u64,
    pub deadline: u64,
    pub period: u64,
}

pub(crate) const SCHED_OTHER: u32 = libc::SCHED_OTHER as u32;
pub(crate) const SCHED_FIFO: u32 = libc::SCHED_FIFO as u32;
pub(crate) const SCHED_RR: u32 = libc::SCHED_RR as u32;
pub(crate) const SCHED_BATCH: u32 = libc::SCHED_BATCH as u32;
pub(crate) const SCHED_IDLE: u32 = libc::SCHED_IDLE as u32;
pub(crate) const SCHED_DEADLINE: u32 = libc::SCHED_DEADLINE as u32;
/// Threads that this one starts begin as ordinary ones.
pub(crate) const RESET_ON_FORK: u64 = 1;

/// The calling thread's class.
pub(crate) fn sched_attr() -> io::Result<SchedAttr> {
    sched_attr_of(0)
}

/// A thread's class.
pub(crate) fn sched_attr_of(thread: ThreadNumber) -> io::Result<SchedAttr> {
    let mut attr = SchedAttr::default();
    let size = size_of::<SchedAttr>();
    // SAFETY: own-buffer, kernel-checks.
    check(unsafe { libc::syscall(libc::SYS_sched_getattr, thread, &raw mut attr, size, 0) })?;
    Ok(attr)
}

/// Asks for a class for the calling thread.
pub(crate) fn set_sched_attr(attr: &SchedAttr) -> io::Result<()> {
    set_sched_attr_of(0, attr)
}

/// Asks for a class for a thread.
pub(crate) fn set_sched_attr_of(thread: ThreadNumber, attr: &SchedAttr) -> io::Result<()> {
    let attr = SchedAttr { size: size_of::<SchedAttr>() as u32, ..*attr };
    // SAFETY: own-buffer, kernel-checks.
    check(unsafe { libc::syscall(libc::SYS_sched_setattr, thread, &raw const attr, 0) })?;
    Ok(())
}

// ---- limits -------------------------------------------------------------------------------------------------------

/// A resource limit: soft and hard; none means unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limit {
    pub soft: Option<u64>,
    pub hard: Option<u64>,
}

/// The limits that matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resource {
    RealTimePriority,
    RealTimeMicroseconds,
    Nice,
    LockedBytes,
    OpenFiles,
}

impl Resource {
    /// The number; C libraries disagree on its type, so callers cast it to theirs.
    fn number(self) -> i32 {
        let number = match self {
            Self::RealTimePriority => libc::RLIMIT_RTPRIO,
            Self::RealTimeMicroseconds => libc::RLIMIT_RTTIME,
            Self::Nice => libc::RLIMIT_NICE,
            Self::LockedBytes => libc::RLIMIT_MEMLOCK,
            Self::OpenFiles => libc::RLIMIT_NOFILE,
        };
        number as i32
    }
}

/// Reads a limit of this process.
pub(crate) fn limit(resource: Resource) -> io::Result<Limit> {
    // SAFETY: all-zero is a valid rlimit; own-buffer.
    let limit = unsafe {
        let mut limit: libc::rlimit = zeroed();
        check(libc::getrlimit(resource.number() as _, &mut limit).into())?;
        limit
    };
    let known = |value| (value != libc::RLIM_INFINITY).then_some(value);
    Ok(Limit { soft: known(limit.rlim_cur), hard: known(limit.rlim_max) })
}

/// Sets a limit of a process; 0 is this one.
pub(crate) fn set_limit(process: ThreadNumber, resource: Resource, limit: Limit) -> io::Result<()> {
    let value = |value: Option<u64>| value.unwrap_or(libc::RLIM_INFINITY);
    let new = libc::rlimit { rlim_cur: value(limit.soft), rlim_max: value(limit.hard) };
    let old = std::ptr::null_mut::<libc::rlimit>();
    let number = resource.number() as _;
    // SAFETY: own-buffer, kernel-checks; the kernel takes a null pointer for the old limit.
    check(unsafe { libc::prlimit(process, number, &raw const new, old) }.into())?;
    Ok(())
}

// ---- memory lock --------------------------------------------------------------------------------------------------

/// Locks the pages the process has, and with `future` those it will get.
pub(crate) fn lock_memory(future: bool) -> io::Result<()> {
    let flags = libc::MCL_CURRENT | if future { libc::MCL_FUTURE } else { 0 };
    // SAFETY: kernel-checks.
    check(unsafe { libc::mlockall(flags) }.into())?;
    Ok(())
}

/// Unlocks every page of the process.
pub(crate) fn unlock_memory() -> io::Result<()> {
    // SAFETY: no arguments.
    check(unsafe { libc::munlockall() }.into())?;
    Ok(())
}

/// Locks the pages of `buffer`.
pub(crate) fn lock_buffer(buffer: &[u8]) -> io::Result<()> {
    // SAFETY: own-buffer; locking pages changes no content.
    check(unsafe { libc::mlock(buffer.as_ptr().cast(), buffer.len()) }.into())?;
    Ok(())
}

/// Unlocks the pages of `buffer`.
pub(crate) fn unlock_buffer(buffer: &[u8]) -> io::Result<()> {
    // SAFETY: own-buffer; unlocking pages changes no content.
    check(unsafe { libc::munlock(buffer.as_ptr().cast(), buffer.len()) }.into())?;
    Ok(())
}

// ---- clocks -------------------------------------------------------------------------------------------------------

/// CLOCK_MONOTONIC in nanoseconds.
#[inline]
pub(crate) fn monotonic_ns() -> u64 {
    // SAFETY: all-zero is a valid timespec; own-buffer; CLOCK_MONOTONIC exists on every Linux, so the call cannot fail.
    let now = unsafe {
        let mut now: libc::timespec = zeroed();
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now);
        now
    };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The step that the kernel claims for CLOCK_MONOTONIC, in nanoseconds.
pub(crate) fn monotonic_step_ns() -> io::Result<u64> {
    // SAFETY: all-zero is a valid timespec; own-buffer.
    let step = unsafe {
        let mut step: libc::timespec = zeroed();
        check(libc::clock_getres(libc::CLOCK_MONOTONIC, &mut step).into())?;
        step
    };
    Ok(step.tv_sec as u64 * 1_000_000_000 + step.tv_nsec as u64)
}

/// CPU time of the calling thread.
pub(crate) fn thread_cpu_ns() -> io::Result<u64> {
    cpu_time_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// CPU time of all threads of this process.
pub(crate) fn process_cpu_ns() -> io::Result<u64> {
    cpu_time_ns(libc::CLOCK_PROCESS_CPUTIME_ID)
}

fn cpu_time_ns(clock: libc::clockid_t) -> io::Result<u64> {
    // SAFETY: all-zero is a valid timespec; own-buffer.
    let used = unsafe {
        let mut used: libc::timespec = zeroed();
        check(libc::clock_gettime(clock, &mut used).into())?;
        used
    };
    Ok(used.tv_sec as u64 * 1_000_000_000 + used.tv_nsec as u64)
}

/// Sleeps until CLOCK_MONOTONIC reads at least `deadline_ns`; signals do not end the sleep.
pub(crate) fn sleep_until_ns(deadline_ns: u64) {
    let seconds = (deadline_ns / 1_000_000_000).min(i64::MAX as u64 / 2);
    // SAFETY: all-zero is a valid timespec.
    let mut until: libc::timespec = unsafe { zeroed() };
    until.tv_sec = seconds as libc::time_t;
    until.tv_nsec = (deadline_ns % 1_000_000_000) as _;
    let sleep = || {
        // SAFETY: own-buffer; an absolute sleep writes no remainder, so the last pointer may be null.
        unsafe {
            libc::clock_nanosleep(
                libc::CLOCK_MONOTONIC,
                libc::TIMER_ABSTIME,
                &until,
                std::ptr::null_mut(),
            )
        }
    };
    while sleep() == libc::EINTR {}
}

// ---- counters -----------------------------------------------------------------------------------------------------

/// What the kernel counted for the calling thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ThreadUsage {
    pub user_ns: u64,
    pub system_ns: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
}

/// Reads the counters of the calling thread.
pub(crate) fn thread_usage() -> io::Result<ThreadUsage> {
    usage(libc::RUSAGE_THREAD)
}

/// The same for all threads of the process, those that have ended included.
pub(crate) fn process_usage() -> io::Result<ThreadUsage> {
    usage(libc::RUSAGE_SELF)
}

/// CPU time of another process, of all its threads, those that have ended included.
pub(crate) fn cpu_ns_of(process: i32) -> io::Result<u64> {
    let mut clock = 0;
    // SAFETY: own-buffer, kernel-checks.
    match unsafe { libc::clock_getcpuclockid(process, &mut clock) } {
        0 => cpu_time_ns(clock),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// What the children that ended, and were waited for, have used; those of children included.
pub(crate) fn children_usage() -> io::Result<ThreadUsage> {
    usage(libc::RUSAGE_CHILDREN)
}

fn usage(whose: libc::c_int) -> io::Result<ThreadUsage> {
    // SAFETY: all-zero is a valid rusage; own-buffer.
    let usage = unsafe {
        let mut usage: libc::rusage = zeroed();
        check(libc::getrusage(whose, &mut usage).into())?;
        usage
    };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    Ok(ThreadUsage {
        user_ns: ns(usage.ru_utime),
        system_ns: ns(usage.ru_stime),
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
        minor_faults: usage.ru_minflt as u64,
        major_faults: usage.ru_majflt as u64,
    })
}

// ---- core scheduling ----------------------------------------------------------------------------------------------

/// A request about core-scheduling cookies; the kernel's numbers (`include/uapi/linux/prctl.h`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CookieRequest {
    /// A new cookie for the thread.
    Create = 1,
    /// The caller's cookie for the thread.
    ShareTo = 2,
    /// The thread's cookie for the caller.
    ShareFrom = 3,
}

const PR_SCHED_CORE: libc::c_int = 62;
const ONE_THREAD: libc::c_ulong = 0;
const WHOLE_PROCESS: libc::c_ulong = 1;

/// The core-scheduling cookie of a thread; 0 is nobody's.
pub(crate) fn core_cookie(thread: ThreadNumber) -> io::Result<u64> {
    const GET: libc::c_ulong = 0;
    let mut cookie = 0_u64;
    let (number, place) = (thread as libc::c_ulong, &raw mut cookie);
    // SAFETY: own-buffer, kernel-checks.
    let result = unsafe { libc::prctl(PR_SCHED_CORE, GET, number, ONE_THREAD, place) };
    check(result.into())?;
    Ok(cookie)
}

/// Asks for a change of the cookie of a thread, or with `whole_process` of all threads of its process.
pub(crate) fn change_core_cookie(
    request: CookieRequest,
    thread: ThreadNumber,
    whole_process: bool,
) -> io::Result<()> {
    let scope = if whole_process { WHOLE_PROCESS } else { ONE_THREAD };
    let (command, number) = (request as libc::c_ulong, thread as libc::c_ulong);
    let nowhere: libc::c_ulong = 0;
    // SAFETY: no pointers, kernel-checks.
    let result = unsafe { libc::prctl(PR_SCHED_CORE, command, number, scope, nowhere) };
    check(result.into())?;
    Ok(())
}

// ---- the rest -----------------------------------------------------------------------------------------------------

/// By how many nanoseconds the kernel may delay the calling thread's sleeps to batch wake-ups.
pub(crate) fn timer_slack_ns() -> io::Result<u64> {
    // SAFETY: no pointers.
    Ok(check(unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) }.into())? as u64)
}

/// Sets the calling thread's timer slack; 0 restores the thread's default.
pub(crate) fn set_timer_slack_ns(ns: u64) -> io::Result<()> {
    // SAFETY: no pointers.
    check(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, ns as libc::c_ulong) }.into())?;
    Ok(())
}

/// Whether this process may write to `path` (by its effective rights; nothing is opened or changed).
pub(crate) fn may_write(path: &Path) -> io::Result<()> {
    use std::os::unix::ffi::OsStrExt;
    let path = std::ffi::CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: own-buffer: a zero-terminated string.
    let result =
        unsafe { libc::faccessat(libc::AT_FDCWD, path.as_ptr(), libc::W_OK, libc::AT_EACCESS) };
    check(result.into())?;
    Ok(())
}

/// Kernel release, kernel version text and machine architecture.
pub(crate) fn kernel_names() -> io::Result<(String, String, String)> {
    // SAFETY: all-zero is a valid utsname; own-buffer.
    let names = unsafe {
        let mut names: libc::utsname = zeroed();
        check(libc::uname(&mut names).into())?;
        names
    };
    Ok((c_text(&names.release), c_text(&names.version), c_text(&names.machine)))
}

/// The text before the first zero.
fn c_text(chars: &[libc::c_char]) -> String {
    let bytes: Vec<u8> = chars.iter().take_while(|&&c| c != 0).map(|&c| c as u8).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
