//! Linux: the system calls that the lab times or needs while it does.
//!
//! Nothing here allocates, locks or panics, so all of it may run between a fork and the end of the child. Errors are
//! those of the system: an [`io::Error`] made of a number is no allocation.
//!
//! # Invariants
//! - **kernel-checks**: the kernel validates every number that it is given and answers with an error. A wrong
//!   descriptor, flag or process cannot harm memory.
//! - **own-buffer**: a pointer handed to the kernel points to a live buffer of at least the length that is passed with
//!   it, or that the call's documented struct has, for the length of the call.
//! - **owned-fd**: a descriptor that the kernel just returned belongs to nobody else.

use std::ffi::CStr;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// Nothing, or the error that the system has noted.
pub(crate) fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// CLOCK_MONOTONIC.
#[inline]
pub(crate) fn now_ns() -> u64 {
    // SAFETY: all-zero is a valid timespec; own-buffer.
    let now = unsafe {
        let mut now: libc::timespec = zeroed();
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now);
        now
    };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The process that started this one; a system call each time.
#[inline]
pub(crate) fn parent_id() -> libc::pid_t {
    // SAFETY: no arguments, cannot fail.
    unsafe { libc::getppid() }
}

/// The calling process.
pub(crate) fn process_id() -> libc::pid_t {
    // SAFETY: no arguments, cannot fail.
    unsafe { libc::getpid() }
}

/// Bytes that came, 0 at the end, negative for an error.
#[inline]
pub(crate) fn read(from: RawFd, into: &mut [u8]) -> isize {
    // SAFETY: own-buffer, kernel-checks.
    unsafe { libc::read(from, into.as_mut_ptr().cast(), into.len()) }
}

/// Bytes that went, negative for an error.
#[inline]
pub(crate) fn write(to: RawFd, bytes: &[u8]) -> isize {
    // SAFETY: own-buffer, kernel-checks.
    unsafe { libc::write(to, bytes.as_ptr().cast(), bytes.len()) }
}

/// Reads until the buffer is full; the end of what can be read is an error.
#[inline]
pub(crate) fn read_exact(from: RawFd, into: &mut [u8]) -> io::Result<()> {
    let mut done = 0;
    while let Some(rest) = into.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match read(from, rest) {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count if count > 0 => done += count as usize,
            _ => unless_interrupted()?,
        }
    }
    Ok(())
}

/// Writes all of it.
#[inline]
pub(crate) fn write_all(to: RawFd, bytes: &[u8]) -> io::Result<()> {
    let mut done = 0;
    while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
        match write(to, rest) {
            count if count >= 0 => done += count as usize,
            _ => unless_interrupted()?,
        }
    }
    Ok(())
}

/// Nothing where a signal has interrupted the last call, which is then to be repeated.
fn unless_interrupted() -> io::Result<()> {
    match io::Error::last_os_error() {
        error if error.kind() == io::ErrorKind::Interrupted => Ok(()),
        error => Err(error),
    }
}

/// Opens a file; a new one is for this user alone.
#[inline]
pub(crate) fn open(path: &CStr, flags: libc::c_int) -> io::Result<OwnedFd> {
    // SAFETY: own-buffer: the path ends with a zero; kernel-checks.
    let file = check(unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC, 0o600) })?;
    // SAFETY: owned-fd.
    Ok(unsafe { OwnedFd::from_raw_fd(file) })
}

/// The length of the file of this name.
#[inline]
pub(crate) fn length_of(path: &CStr) -> io::Result<u64> {
    // SAFETY: all-zero is a valid stat; own-buffer: the path ends with a zero.
    unsafe {
        let mut found: libc::stat = zeroed();
        check(libc::stat(path.as_ptr(), &mut found))?;
        Ok(found.st_size as u64)
    }
}

/// The length of an open file.
#[inline]
pub(crate) fn length_of_open(file: RawFd) -> io::Result<u64> {
    // SAFETY: all-zero is a valid stat; own-buffer, kernel-checks.
    unsafe {
        let mut found: libc::stat = zeroed();
        check(libc::fstat(file, &mut found))?;
        Ok(found.st_size as u64)
    }
}

/// Removes a file's name.
#[inline]
pub(crate) fn unlink(path: &CStr) -> io::Result<()> {
    // SAFETY: own-buffer: the path ends with a zero.
    check(unsafe { libc::unlink(path.as_ptr()) }).map(drop)
}

/// The place where an open file is read or written next.
#[inline]
pub(crate) fn seek(file: RawFd, to: u64) -> io::Result<()> {
    // SAFETY: kernel-checks.
    let at = unsafe { libc::lseek(file, to as libc::off_t, libc::SEEK_SET) };
    if at < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Cuts an open file to nothing, and goes to its beginning.
#[inline]
pub(crate) fn truncate(file: RawFd) -> io::Result<()> {
    // SAFETY: kernel-checks.
    check(unsafe { libc::ftruncate(file, 0) })?;
    seek(file, 0)
}

/// Waits until all of an open file is on its disk.
pub(crate) fn sync(file: RawFd) -> io::Result<()> {
    // SAFETY: kernel-checks.
    check(unsafe { libc::fsync(file) }).map(drop)
}

/// With which flags a file is open.
pub(crate) fn flags(file: RawFd) -> io::Result<libc::c_int> {
    // SAFETY: kernel-checks.
    check(unsafe { libc::fcntl(file, libc::F_GETFL) })
}

/// A pipe: its end to read from and its end to write to.
pub(crate) fn pipe() -> io::Result<[OwnedFd; 2]> {
    let mut ends = [-1; 2];
    // SAFETY: own-buffer: two descriptors are written.
    check(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) })?;
    // SAFETY: owned-fd.
    Ok(ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) }))
}

/// Another descriptor of the same open file.
pub(crate) fn duplicate(file: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: kernel-checks.
    let copy = check(unsafe { libc::fcntl(file, libc::F_DUPFD_CLOEXEC, 0) })?;
    // SAFETY: owned-fd.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

/// Whether there is something to read, or the other end is gone, within so many milliseconds.
pub(crate) fn readable_within(file: RawFd, ms: libc::c_int) -> io::Result<bool> {
    let mut asked = libc::pollfd { fd: file, events: libc::POLLIN, revents: 0 };
    let end_ns = now_ns() + ms.max(0) as u64 * 1_000_000;
    loop {
        // A signal ends the call, and not the time.
        let left_ms = end_ns.saturating_sub(now_ns()) / 1_000_000;
        // SAFETY: own-buffer: one struct.
        match check(unsafe { libc::poll(&mut asked, 1, left_ms as libc::c_int) }) {
            Ok(ready) => return Ok(ready > 0),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// CPUs to run on, as the kernel takes them.
pub(crate) struct CpuMask(libc::cpu_set_t);

impl CpuMask {
    /// None where a number is beyond what the C library's set holds.
    pub(crate) fn of(cpus: &[u32]) -> Option<CpuMask> {
        // SAFETY: all-zero is an empty set.
        let mut set: libc::cpu_set_t = unsafe { zeroed() };
        for cpu in cpus {
            let cpu = *cpu as usize;
            if cpu >= libc::CPU_SETSIZE as usize {
                return None;
            }
            // SAFETY: the number is within the set.
            unsafe { libc::CPU_SET(cpu, &mut set) };
        }
        Some(CpuMask(set))
    }

    /// Puts the calling thread on these CPUs, and reads back whether it is.
    pub(crate) fn take(&self) -> io::Result<()> {
        // SAFETY: own-buffer, twice; all-zero is an empty set.
        let obtained = unsafe {
            check(libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &self.0))?;
            let mut obtained: libc::cpu_set_t = zeroed();
            check(libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut obtained))?;
            libc::CPU_EQUAL(&obtained, &self.0)
        };
        // Some of them were taken away.
        if obtained { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EINVAL)) }
    }
}

/// Descriptors for `select`.
pub(crate) struct ReadSet {
    set: libc::fd_set,
    highest: RawFd,
}

impl ReadSet {
    pub(crate) fn new() -> ReadSet {
        // SAFETY: all-zero is an empty set.
        ReadSet { set: unsafe { zeroed() }, highest: -1 }
    }

    /// Fails beyond the numbers that such a set can hold.
    pub(crate) fn add(&mut self, file: RawFd) -> io::Result<()> {
        if !(0..libc::FD_SETSIZE as RawFd).contains(&file) {
            return Err(io::Error::from_raw_os_error(libc::EMFILE));
        }
        // SAFETY: the number is within the set.
        unsafe { libc::FD_SET(file, &mut self.set) };
        self.highest = self.highest.max(file);
        Ok(())
    }

    /// How many can be read now, and whether `file` is one of them.
    #[inline]
    pub(crate) fn ready(&self, file: RawFd) -> (libc::c_int, bool) {
        let mut set = self.set;
        let mut now = libc::timeval { tv_sec: 0, tv_usec: 0 };
        let nothing = std::ptr::null_mut();
        // SAFETY: own-buffer: all descriptors up to the highest are within the set; null stands for no set.
        let count = unsafe { libc::select(self.highest + 1, &mut set, nothing, nothing, &mut now) };
        let is_added = (0..=self.highest).contains(&file);
        // SAFETY: `add` has let no number pass that is not within the set.
        (count, is_added && unsafe { libc::FD_ISSET(file, &set) })
    }
}

/// A queue of `epoll`.
pub(crate) fn epoll() -> io::Result<OwnedFd> {
    // SAFETY: kernel-checks.
    let queue = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
    // SAFETY: owned-fd.
    Ok(unsafe { OwnedFd::from_raw_fd(queue) })
}

/// Watches `file` for something to read; the queue answers with `mark`.
pub(crate) fn epoll_add(queue: RawFd, file: RawFd, mark: u64) -> io::Result<()> {
    let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: mark };
    // SAFETY: own-buffer, kernel-checks.
    check(unsafe { libc::epoll_ctl(queue, libc::EPOLL_CTL_ADD, file, &mut event) }).map(drop)
}

/// How many can be read now, and the mark of the first.
#[inline]
pub(crate) fn epoll_ready(queue: RawFd) -> (libc::c_int, u64) {
    let mut events = [libc::epoll_event { events: 0, u64: u64::MAX }; 8];
    // SAFETY: own-buffer: room for eight events.
    let count = unsafe { libc::epoll_wait(queue, events.as_mut_ptr(), 8, 0) };
    let [first, ..] = events;
    (count, first.u64)
}
