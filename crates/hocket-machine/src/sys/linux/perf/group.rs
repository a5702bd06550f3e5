//! Several counters that count together: the kernel puts all of them on the processor's counters, or none.

use std::fs::File;
use std::io::{self, Read};
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd};

use super::super::{ThreadNumber, check};
use super::{PerfEventAttr, flag};

/// What one counter of a group counts, as `perf_event_attr` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    /// The number of the unit that counts (`type`).
    pub kind: u32,
    /// `config`, `config1`, `config2`.
    pub config: [u64; 3],
    /// Whether it counts in the kernel, too. That takes more rights.
    pub in_kernel: bool,
}

/// Bits of `flags`.
const DISABLED: u64 = 1;
/// The group is on the counters whenever its thread runs, or never: the kernel does not take turns with it.
const PINNED: u64 = 1 << 2;

/// Bits of `read_format`: one reading has all members, and how long the group was wanted and counted.
const TIMES_AND_GROUP: u64 = 1 | 1 << 1 | 1 << 3;

/// `_IO('$', 0)`, `_IO('$', 1)` and `_IO('$', 3)`.
const ENABLE: libc::c_ulong = 0x2400;
const DISABLE: libc::c_ulong = 0x2401;
const RESET: libc::c_ulong = 0x2403;
const WHOLE_GROUP: libc::c_ulong = 1;

/// Which counter of a group did not open, and why.
#[derive(Debug)]
pub(crate) struct GroupError {
    /// Its place in the group, from 0.
    pub at: usize,
    pub error: io::Error,
}

/// A group that is open, in user code of one thread; closed on drop.
#[derive(Debug)]
pub(crate) struct EventGroup {
    leader: File,
    /// Kept open: a member that is closed leaves the group.
    members: Vec<File>,
}

impl EventGroup {
    /// Opens a group that does not count yet. A thread of 0 is the caller.
    pub fn open(all: &[Counts], thread: ThreadNumber) -> Result<Self, GroupError> {
        let mut files: Vec<File> = Vec::with_capacity(all.len());
        for (at, counts) in all.iter().enumerate() {
            let leader = files.first().map_or(-1, AsRawFd::as_raw_fd);
            files.push(open(*counts, thread, leader).map_err(|error| GroupError { at, error })?);
        }
        let mut files = files.into_iter();
        let nobody = || GroupError { at: 0, error: io::ErrorKind::InvalidInput.into() };
        Ok(Self { leader: files.next().ok_or_else(nobody)?, members: files.collect() })
    }

    /// Counts on from zero.
    pub fn start(&self) -> io::Result<()> {
        self.control(RESET)?;
        self.control(ENABLE)
    }

    /// Stops counting; the counts stay.
    pub fn stop(&self) -> io::Result<()> {
        self.control(DISABLE)
    }

    /// The kernel's words: how many counts, the two times, the counts. Nothing, where the group found no place on the
    /// counters.
    pub fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; 8 * (4 + self.members.len())];
        let length = self.leader.read(&mut bytes)?;
        bytes.truncate(length);
        Ok(bytes)
    }

    /// The same words into memory of the caller; returns how many bytes there are. One system call, and nothing is allocated.
    pub fn look(&self, bytes: &mut [u8]) -> io::Result<usize> {
        (&self.leader).read(bytes)
    }

    fn control(&self, request: libc::c_ulong) -> io::Result<()> {
        // SAFETY: kernel-checks: the argument is a number, not a pointer.
        check(libc::c_long::from(unsafe {
            libc::ioctl(self.leader.as_raw_fd(), request as _, WHOLE_GROUP)
        }))?;
        Ok(())
    }
}

fn open(counts: Counts, thread: ThreadNumber, leader: i32) -> io::Result<File> {
    const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;
    let [config, config1, config2] = counts.config;
    let kernel = if counts.in_kernel { 0 } else { flag::EXCLUDE_KERNEL };
    let of_leader = if leader < 0 { DISABLED | PINNED } else { 0 };
    let attr = PerfEventAttr {
        kind: counts.kind,
        size: size_of::<PerfEventAttr>() as u32,
        config,
        config1,
        config2,
        read_format: TIMES_AND_GROUP,
        flags: kernel | flag::EXCLUDE_HYPERVISOR | of_leader,
        ..Default::default()
    };
    let attr = &raw const attr;
    // SAFETY: own-buffer, kernel-checks.
    let fd = check(unsafe {
        libc::syscall(libc::SYS_perf_event_open, attr, thread, -1, leader, CLOSE_ON_EXEC)
    })?;
    // SAFETY: owned-fd.
    Ok(unsafe { File::from_raw_fd(fd as i32) })
}
