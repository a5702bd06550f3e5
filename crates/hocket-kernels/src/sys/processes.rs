//! Linux: other processes.
//!
//! # Invariants, besides those of `calls.rs`
//! - **CHILD**: between a fork and its end, a child calls only what POSIX (2008) calls async-signal-safe, and plain
//!   system calls. It allocates nothing, takes no lock and does not unwind. The process that forks may have other
//!   threads, which the child lacks, and which may have held a lock.
//! - **VFORK**: a child that shares its parent's memory runs on a stack of its own while its parent stands still, and
//!   does nothing there but execute a program or end.
//! - **program**: the pointers of a [`Program`] point into its own strings, which never change.

use std::ffi::CString;
use std::io;
use std::ptr;

use super::calls::{check, parent_id, process_id};

/// A process that was started, and that ends with this value at the latest.
#[derive(Debug)]
pub(crate) struct Child(libc::pid_t);

impl Child {
    /// Waits for its end; whether it ended by itself with this code.
    pub(crate) fn ended_with(self, code: libc::c_int) -> io::Result<bool> {
        let status = reap(self.0);
        // It is gone, or was never ours: there is nothing left to end.
        std::mem::forget(self);
        status.map(|status| is_exit(status, code))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // SAFETY: kernel-checks; the number is still its own, because it was not waited for.
        unsafe { libc::kill(self.0, libc::SIGKILL) };
        // What was killed ends, so this returns; there is nobody to tell of an error.
        let _ = reap(self.0);
    }
}

#[inline]
fn is_exit(status: libc::c_int, code: libc::c_int) -> bool {
    libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == code
}

#[inline]
fn reap(process: libc::pid_t) -> io::Result<libc::c_int> {
    let mut status = 0;
    loop {
        // SAFETY: own-buffer, kernel-checks.
        match check(unsafe { libc::waitpid(process, &mut status, 0) }) {
            Ok(_) => return Ok(status),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Ends the process where the stack is unwound.
struct NoUnwinding;

impl Drop for NoUnwinding {
    fn drop(&mut self) {
        // SAFETY: ends the process at once.
        unsafe { libc::_exit(UNWOUND) };
    }
}

const UNWOUND: libc::c_int = 101;
/// The process that forked is gone already.
const ORPHANED: libc::c_int = 99;
/// As shells do it.
const NOT_EXECUTED: libc::c_int = 127;

/// A copy of this process that does `work` and ends with what it returns. It also ends with the thread that calls this.
///
/// # Safety
/// CHILD holds for `work`.
///
/// # Errors
/// There is no room for a process, or the system waits for children of this one by itself (SIGCHLD is ignored, as a parent may
/// leave it): then nobody could know how one ended, nor whether its number is another's by now.
pub(crate) unsafe fn fork(work: impl FnOnce() -> libc::c_int) -> io::Result<Child> {
    if reaps_by_itself()? {
        return Err(io::Error::from_raw_os_error(libc::ECHILD));
    }
    let parent = process_id();
    // SAFETY: CHILD, by the caller and by the few calls here.
    match unsafe { libc::fork() } {
        0 => {
            let _end = NoUnwinding;
            // SAFETY: CHILD: two system calls.
            unsafe {
                if !ends_with_parent() || parent_id() != parent {
                    libc::_exit(ORPHANED);
                }
            }
            let code = work();
            // SAFETY: ends the process at once.
            unsafe { libc::_exit(code) }
        }
        child => check(child).map(Child),
    }
}

/// Whether the calling process ends with the thread that started it.
fn ends_with_parent() -> bool {
    // SAFETY: kernel-checks.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) == 0 }
}

fn reaps_by_itself() -> io::Result<bool> {
    // SAFETY: all-zero is a valid sigaction; own-buffer; null: nothing is changed.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        check(libc::sigaction(libc::SIGCHLD, ptr::null(), &mut now))?;
        Ok(now.sa_sigaction == libc::SIG_IGN || now.sa_flags & libc::SA_NOCLDWAIT != 0)
    }
}

/// Forks; the child ends with this code. Whether it did.
#[inline]
pub(crate) fn fork_and_exit(code: libc::c_int) -> io::Result<bool> {
    // SAFETY: CHILD: it ends at once.
    match unsafe { libc::fork() } {
        // SAFETY: ends the process at once.
        0 => unsafe { libc::_exit(code) },
        child => reap(check(child)?).map(|status| is_exit(status, code)),
    }
}

/// The same by `clone3` without any flag: what the C library does around a fork is left out.
#[inline]
pub(crate) fn clone3_and_exit(code: libc::c_int) -> io::Result<bool> {
    // The kernel's `clone_args` in its first version: the fifth of eight words is the signal at the child's end.
    let arguments: [u64; 8] = [0, 0, 0, 0, libc::SIGCHLD as u64, 0, 0, 0];
    // SAFETY: own-buffer. CHILD: it has copies of memory and stack, as after a fork, and ends at once.
    match unsafe { libc::syscall(CLONE3, arguments.as_ptr(), size_of_val(&arguments)) } {
        // SAFETY: ends the process at once.
        0 => unsafe { libc::_exit(code) },
        child => reap(check(child as libc::c_int)?).map(|status| is_exit(status, code)),
    }
}

/// The same number on every architecture.
const CLONE3: libc::c_long = 435;

/// A program with its arguments and an empty environment.
pub(crate) struct Program {
    /// The path, then the arguments; the first of those is the program's name.
    strings: Vec<CString>,
    /// Of the arguments, and null.
    arguments: Vec<*const libc::c_char>,
    stack: Vec<u128>,
}

// SAFETY: program: the pointers go with the strings.
unsafe impl Send for Program {}

/// No environment.
const EMPTY: [*const libc::c_char; 1] = [ptr::null()];
/// 64 KiB for a child that shares its parent's memory.
const STACK: usize = 4096;

impl Program {
    /// `None` where a text holds a zero.
    pub(crate) fn new(path: &str, arguments: &[&str]) -> Option<Program> {
        let texts = std::iter::once(path).chain(arguments.iter().copied());
        let strings: Vec<CString> =
            texts.map(|text| CString::new(text).ok()).collect::<Option<_>>()?;
        let mut arguments: Vec<_> = strings.iter().skip(1).map(|text| text.as_ptr()).collect();
        arguments.push(ptr::null());
        Some(Program { strings, arguments, stack: vec![0; STACK] })
    }

    fn path(&self) -> *const libc::c_char {
        self.strings.first().map_or(ptr::null(), |path| path.as_ptr())
    }

    /// Becomes the program, or ends. A program that hangs ends with the process that started it.
    fn execute(&self) -> ! {
        ends_with_parent();
        // SAFETY: program. The call is async-signal-safe, and so is the end.
        unsafe {
            libc::execve(self.path(), self.arguments.as_ptr(), EMPTY.as_ptr());
            libc::_exit(NOT_EXECUTED)
        }
    }

    /// Forks; the child executes the program. Whether it ended well.
    #[inline]
    pub(crate) fn fork_and_execute(&self) -> io::Result<bool> {
        // SAFETY: CHILD: it executes a program or ends.
        match unsafe { libc::fork() } {
            0 => self.execute(),
            child => reap(check(child)?).map(|status| is_exit(status, 0)),
        }
    }

    /// The same with a child that shares this process's memory until then, as vfork's does.
    #[inline]
    pub(crate) fn vfork_and_execute(&mut self) -> io::Result<bool> {
        extern "C" fn execute(program: *mut libc::c_void) -> libc::c_int {
            // SAFETY: VFORK: the parent stands still and keeps it alive.
            unsafe { &*program.cast::<Program>() }.execute()
        }
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        // Stacks grow downwards here; an end of 16-byte words is aligned as every ABI wants it.
        let top = self.stack.as_mut_ptr_range().end;
        let program = ptr::from_mut(self).cast();
        // SAFETY: VFORK: the stack is this value's own and is used by nobody else.
        let child = unsafe { libc::clone(execute, top.cast(), flags, program) };
        reap(check(child)?).map(|status| is_exit(status, 0))
    }

    /// The same by `posix_spawn`. Not between a fork and the child's end: POSIX does not call it async-signal-safe.
    #[inline]
    pub(crate) fn spawn(&self) -> io::Result<bool> {
        let mut child = 0;
        // SAFETY: program; own-buffer; null stands for no attributes and no actions. The function writes to no argument.
        let error = unsafe {
            libc::posix_spawn(
                &mut child,
                self.path(),
                ptr::null(),
                ptr::null(),
                self.arguments.as_ptr().cast(),
                EMPTY.as_ptr().cast(),
            )
        };
        if error != 0 {
            return Err(io::Error::from_raw_os_error(error));
        }
        reap(child).map(|status| is_exit(status, 0))
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn children_end_with_their_code_or_are_ended() {
        // SAFETY: CHILD: nothing is called.
        let child = unsafe { fork(|| 5) }.unwrap();
        assert!(child.ended_with(5).unwrap());
        // SAFETY: CHILD: one system call after the other.
        let child = unsafe {
            fork(|| {
                loop {
                    libc::pause();
                }
            })
        };
        let process = child.as_ref().unwrap().0;
        drop(child);
        assert!(reap(process).is_err(), "it was waited for");
    }

    #[test]
    fn the_children_of_a_killed_process_end_with_it() {
        let [heard, tell] = crate::sys::calls::pipe().unwrap();
        // SAFETY: CHILD: system calls alone, here and in the inner one, which holds the pipe's end and says that it is.
        let outer = unsafe {
            fork(|| {
                let _inner = fork(|| {
                    let _ = crate::sys::calls::write_all(tell.as_raw_fd(), &[1]);
                    loop {
                        libc::pause();
                    }
                });
                loop {
                    libc::pause();
                }
            })
        }
        .unwrap();
        drop(tell);
        let mut said = [0];
        let is_told = || crate::sys::calls::readable_within(heard.as_raw_fd(), 60_000).unwrap();
        assert!(is_told(), "no inner one");
        crate::sys::calls::read_exact(heard.as_raw_fd(), &mut said).unwrap();
        drop(outer);
        // The end of what can be read: nobody is left who could write.
        assert!(is_told(), "somebody lives on");
        let end = crate::sys::calls::read_exact(heard.as_raw_fd(), &mut said);
        assert_eq!(end.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn every_way_starts_a_program_and_sees_how_it_ended() {
        assert!(fork_and_exit(3).unwrap());
        let mut well = Program::new("/bin/sh", &["sh", "-c", "exit 0"]).unwrap();
        let mut badly = Program::new("/bin/sh", &["sh", "-c", "exit 1"]).unwrap();
        let mut absent = Program::new("/nowhere/none", &["none"]).unwrap();
        assert!(well.fork_and_execute().unwrap() && well.vfork_and_execute().unwrap());
        assert!(well.spawn().unwrap());
        assert!(!badly.fork_and_execute().unwrap() && !badly.vfork_and_execute().unwrap());
        assert!(!badly.spawn().unwrap());
        assert!(!absent.fork_and_execute().unwrap() && !absent.vfork_and_execute().unwrap());
        assert!(Program::new("/bin/\0", &[]).is_none());
    }
}
