//! A process of its own that puts things back when the program that changed them is gone, however it went.
//!
//! A destructor does not run when a process is killed. What must be undone in any case (SMT switched off for the whole
//! machine) is therefore left to a child that waits for the end of its parent. A library has no program of its own to
//! start, so the child is a copy of the parent that never returns to the parent's code.
//!
//! # Why this is safe in a process with many threads
//! The copy has one thread, the caller's; locks that other threads held stay locked in it for ever. So, between the
//! copy and its end, it runs only [`caretake`] and what that calls: wrappers of single system calls that POSIX lists as
//! safe in signal handlers (or that are nothing but the call), on memory that was prepared before. No allocation, no
//! lock, no destructor, no unwinding, no handler: signals are blocked before the copy is made and stay blocked in it,
//! and the raw call skips the handlers that `fork` would run (`pthread_atfork`).
//!
//! # What it shares and what it does not
//! - It closes every descriptor but its own two, so it keeps no sound card, pipe or terminal open.
//! - It is in a session of its own: signals for the terminal's group pass it by. Only SIGKILL to itself ends it early.
//! - It sends no SIGCHLD and a plain `wait` does not see it, so programs that count their children are not disturbed.
//! - It holds the memory of its parent as copy-on-write: the first write to each page afterwards is a page fault in the
//!   parent. `mlockall` after the copy takes these faults at once (it breaks the sharing of writable pages).
//! - It learns of the parent's end by a pidfd (Linux 5.3) and by the end of a socket; either is enough.
//!
//! # Invariants (besides those of the parent module)
//! - **prepared**: what the child touches was allocated before the copy and is only read by it.
//! - **single-call**: a function the child calls is one system call without locks of the C library.

use std::ffi::CString;
use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

use super::check;

/// One thing to put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Deed {
    path: CString,
    what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    Write(Vec<u8>),
    TryToWrite(Vec<u8>),
    RemoveFile,
    RemoveFolder,
    EndGroup(libc::pid_t),
}

impl Deed {
    /// Writes `text` to a file that exists.
    pub fn write(path: &Path, text: &str) -> io::Result<Self> {
        Self::new(path, What::Write(text.as_bytes().to_vec()))
    }

    /// As [`Self::write`], and what follows is done even if this fails.
    pub fn try_to_write(path: &Path, text: &str) -> io::Result<Self> {
        Self::new(path, What::TryToWrite(text.as_bytes().to_vec()))
    }

    /// Removes a file; it is well if there is none.
    pub fn remove_file(path: &Path) -> io::Result<Self> {
        Self::new(path, What::RemoveFile)
    }

    /// Removes an empty folder (a control group counts as empty); it is well if there is none.
    pub fn remove_folder(path: &Path) -> io::Result<Self> {
        Self::new(path, What::RemoveFolder)
    }

    /// Kills every process of a group; it is well if there is none.
    pub fn end_group(leader: i32) -> Self {
        Self { path: CString::default(), what: What::EndGroup(leader) }
    }

    fn new(path: &Path, what: What) -> io::Result<Self> {
        Ok(Self { path: CString::new(path.as_os_str().as_bytes())?, what })
    }

    /// Does it. Called in the child too: single-call, prepared.
    fn attempt(&self) -> io::Result<()> {
        let path = self.path.as_ptr();
        match &self.what {
            What::Write(text) => write_file(path, text),
            What::TryToWrite(text) => write_file(path, text).or(Ok(())),
            // SAFETY: own-buffer: a zero-terminated string.
            What::RemoveFile => absent_is_well(unsafe { libc::unlink(path) }),
            // SAFETY: own-buffer: a zero-terminated string.
            What::RemoveFolder => absent_is_well(unsafe { libc::rmdir(path) }),
            // SAFETY: kernel-checks.
            What::EndGroup(leader) => absent_is_well(unsafe { libc::kill(-leader, libc::SIGKILL) }),
        }
    }
}

/// Does the deeds in order and stops at the first that cannot be done; each is tried again for a while where the system
/// says that it is busy (CPUs being switched, a group whose last process is just ending).
pub(crate) fn perform(deeds: &[Deed]) -> io::Result<()> {
    for deed in deeds {
        persist(deed)?;
    }
    Ok(())
}

/// Attempts a deed for at most five seconds.
fn persist(deed: &Deed) -> io::Result<()> {
    for _ in 0..500 {
        match deed.attempt() {
            Err(e) if is_passing(&e) => pause_10_ms(),
            result => return result,
        }
    }
    deed.attempt()
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EBUSY | libc::EAGAIN | libc::EINTR))
}

fn pause_10_ms() {
    let time = libc::timespec { tv_sec: 0, tv_nsec: 10_000_000 };
    // SAFETY: own-buffer; no remainder is asked for.
    unsafe { libc::nanosleep(&time, std::ptr::null_mut()) };
}

fn write_file(path: *const libc::c_char, text: &[u8]) -> io::Result<()> {
    // Truncation means nothing to the kernel's own files and is right for ordinary ones.
    let flags = libc::O_WRONLY | libc::O_TRUNC | libc::O_CLOEXEC;
    // SAFETY: own-buffer: a zero-terminated string.
    let fd = check(unsafe { libc::open(path, flags) }.into())? as RawFd;
    // SAFETY: own-buffer; the descriptor was just opened.
    let written = check(unsafe { libc::write(fd, text.as_ptr().cast(), text.len()) } as _);
    // SAFETY: owned-fd.
    unsafe { libc::close(fd) };
    match written? as usize == text.len() {
        true => Ok(()),
        false => Err(io::Error::from_raw_os_error(libc::EIO)),
    }
}

fn absent_is_well(result: libc::c_int) -> io::Result<()> {
    match check(result.into()) {
        Err(e) if matches!(e.raw_os_error(), Some(libc::ENOENT | libc::ESRCH)) => Ok(()),
        result => result.map(drop),
    }
}

/// A waiting child that does its deeds when this process asks, or has ended.
#[derive(Debug)]
pub(crate) struct Caretaker {
    child: libc::pid_t,
    owner: u32,
    line: UnixStream,
    deeds: Vec<Deed>,
    told: bool,
}

impl Caretaker {
    /// Starts the child. Cost: a copy of this process's page tables.
    pub fn start(deeds: Vec<Deed>) -> io::Result<Self> {
        let (line, childs_end) = UnixStream::pair()?;
        let parent = own_pidfd();
        let parent_fd = parent.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        let signals = BlockedSignals::all()?;
        // SAFETY: a copy without shared memory, without a signal at its end; see the module's text for what it may do.
        let child = unsafe { libc::syscall(libc::SYS_clone, 0, 0, 0, 0, 0) };
        if child == 0 {
            caretake(childs_end.as_raw_fd(), parent_fd, &deeds);
        }
        drop(signals);
        let child = check(child)? as libc::pid_t;
        Ok(Self { child, owner: std::process::id(), line, deeds, told: false })
    }

    /// The child's process number.
    #[cfg(test)]
    pub fn process(&self) -> i32 {
        self.child
    }

    /// Has the deeds done now and waits until they are. If the child was killed, this process does them.
    pub fn finish(mut self) -> io::Result<()> {
        self.tell()
    }

    fn tell(&mut self) -> io::Result<()> {
        // A forked copy of this process is not the owner: what it drops must stay.
        if std::mem::replace(&mut self.told, true) || self.owner != std::process::id() {
            return Ok(());
        }
        // A shutdown reaches the child even while a forked copy of this process has the line open too, and unlike
        // a written byte it never raises SIGPIPE.
        // SAFETY: kernel-checks; the descriptor is ours.
        unsafe { libc::shutdown(self.line.as_raw_fd(), libc::SHUT_RDWR) };
        match wait_for(self.child) {
            Some(0) => Ok(()),
            _ => perform(&self.deeds),
        }
    }
}

impl Drop for Caretaker {
    fn drop(&mut self) {
        let _ = self.tell();
    }
}

/// The exit status of a child; none if it was killed, or if somebody else has waited for it.
fn wait_for(child: libc::pid_t) -> Option<i32> {
    let mut status = 0;
    loop {
        // SAFETY: own-buffer, kernel-checks.
        let result = check(unsafe { libc::waitpid(child, &mut status, libc::__WALL) }.into());
        match result {
            Ok(_) => return libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

/// A descriptor that becomes readable when this process, with all its threads, has ended.
fn own_pidfd() -> Option<OwnedFd> {
    let process = std::process::id() as libc::pid_t;
    // SAFETY: kernel-checks.
    let fd = check(unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) }).ok()?;
    // SAFETY: owned-fd.
    Some(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// Blocks every signal for the calling thread until it is dropped.
struct BlockedSignals(libc::sigset_t);

impl BlockedSignals {
    fn all() -> io::Result<Self> {
        // SAFETY: all-zero is a valid signal set; own-buffer.
        unsafe {
            let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = (zeroed(), zeroed());
            libc::sigfillset(&mut all);
            match libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before) {
                0 => Ok(Self(before)),
                error => Err(io::Error::from_raw_os_error(error)),
            }
        }
    }
}

impl Drop for BlockedSignals {
    fn drop(&mut self) {
        // SAFETY: own-buffer; the set is the one the kernel gave.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, std::ptr::null_mut()) };
    }
}

// ---- in the child -------------------------------------------------------------------------------------------------

/// The child's whole life: leave everything, wait, do, end.
fn caretake(line: RawFd, parent: RawFd, deeds: &[Deed]) -> ! {
    // SAFETY: single-call, kernel-checks; the strings are constants.
    unsafe {
        libc::setsid();
        libc::chdir(c"/".as_ptr());
        libc::prctl(libc::PR_SET_NAME, c"hocket-restore".as_ptr());
    }
    close_all_but(line, parent);
    wait_for_the_end(line, parent);
    let status = i32::from(perform(deeds).is_err());
    // SAFETY: single-call; ends the process without handlers and destructors.
    unsafe { libc::_exit(status) }
}

fn close_all_but(one: RawFd, other: RawFd) {
    let (low, high) = (one.min(other), one.max(other));
    close_between(0, low - 1);
    close_between(low + 1, high - 1);
    close_between(high + 1, RawFd::MAX);
}

/// Closes the descriptors from `first` to `last`, both included.
fn close_between(first: RawFd, last: RawFd) {
    let first = first.max(0);
    if first > last {
        return;
    }
    // SAFETY: single-call; nothing in this process uses the descriptors any more.
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    if result == 0 {
        return;
    }
    // Before Linux 5.9: one by one, as far as descriptors usually go.
    for fd in first..=last.min(65_535) {
        // SAFETY: single-call; as above.
        unsafe { libc::close(fd) };
    }
}

/// Waits until the line is shut down (or all its other ends are closed), or the parent is gone.
fn wait_for_the_end(line: RawFd, parent: RawFd) {
    let on = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // The kernel passes over a negative descriptor.
    let mut both = [on(line), on(parent)];
    loop {
        // SAFETY: own-buffer, single-call.
        let ready = unsafe { libc::poll(both.as_mut_ptr(), both.len() as libc::nfds_t, -1) };
        if ready > 0 {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn deeds(folder: &Path) -> Vec<Deed> {
        fs::write(folder.join("value"), "new, and longer").expect("written");
        fs::write(folder.join("note"), "").expect("written");
        fs::create_dir(folder.join("group")).expect("made");
        vec![
            Deed::write(&folder.join("value"), "old").expect("a path"),
            Deed::remove_file(&folder.join("note")).expect("a path"),
            Deed::remove_folder(&folder.join("group")).expect("a path"),
        ]
    }

    fn is_put_back(folder: &Path) -> bool {
        fs::read_to_string(folder.join("value")).is_ok_and(|text| text == "old")
            && !folder.join("note").exists()
            && !folder.join("group").exists()
    }

    #[test]
    fn deeds_are_done_when_told_and_not_before() {
        let folder = tempfile::tempdir().expect("a folder");
        let caretaker = Caretaker::start(deeds(folder.path())).expect("a child");
        assert!(!is_put_back(folder.path()));
        caretaker.finish().expect("done");
        assert!(is_put_back(folder.path()));
    }

    #[test]
    fn a_killed_caretaker_is_replaced_by_its_owner() {
        let folder = tempfile::tempdir().expect("a folder");
        let caretaker = Caretaker::start(deeds(folder.path())).expect("a child");
        // SAFETY: kernel-checks; the child is ours and nobody has waited for it.
        unsafe { libc::kill(caretaker.process(), libc::SIGKILL) };
        caretaker.finish().expect("done here");
        assert!(is_put_back(folder.path()));
    }

    #[test]
    fn it_keeps_nothing_open_and_stands_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let caretaker = Caretaker::start(deeds(folder.path())).expect("a child");
        drop(theirs);
        let mut byte = [0];
        // Ends only when the child has closed its copy of the other end.
        assert_eq!(io::Read::read(&mut &ours, &mut byte).expect("the end"), 0);
        let stat = fs::read_to_string(format!("/proc/{}/stat", caretaker.process()));
        let stat = stat.expect("it lives");
        assert!(stat.contains("(hocket-restore)"), "{stat}");
        let session = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(3));
        assert_eq!(session, Some(caretaker.process().to_string().as_str()));
    }

    #[test]
    fn the_first_deed_that_fails_ends_the_row() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut row = deeds(folder.path());
        row.insert(0, Deed::write(&folder.path().join("absent"), "x").expect("a path"));
        let error = Caretaker::start(row).expect("a child").finish().expect_err("no such file");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(folder.path().join("note").exists(), "what follows is left as it was");
    }
}
