//! Performance events: counters that are read, and rings into which the kernel writes who was switched when.
//!
//! # Invariants (besides those of the parent)
//! - **own-mapping**: `SwitchRing::base` is a live shared mapping of `1 + pages` whole pages that nobody else of this
//!   process knows; it ends with the ring. The kernel writes there too, so it is reached through raw pointers, never
//!   through a slice that claims the bytes stand still.
//! - **kernel-ring** (the comment on `data_head` in the kernel's `perf_event.h`): the bytes from `data_tail` up to
//!   `data_head` are complete records, and the kernel does not write over them before `data_tail` has passed them.

mod group;

use std::fs::File;
use std::io::{self, Read};
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{ThreadNumber, check};

pub(crate) use group::{Counts, EventGroup};

/// The kernel's `perf_event_attr` up to the field for the clock (96 bytes, version 3, Linux 3.7). Kernels that record
/// switches (4.3) all know it.
#[repr(C)]
#[derive(Default)]
struct PerfEventAttr {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint: u32,
    config1: u64,
    config2: u64,
    branch_sample_type: u64,
    sample_regs_user: u64,
    sample_stack_user: u32,
    clock: i32,
}

const HARDWARE: u32 = 0;
const CYCLES: u64 = 0;
const INSTRUCTIONS: u64 = 1;
const SOFTWARE: u32 = 1;
const TRACEPOINT: u32 = 2;
const CACHE: u32 = 3;
/// First-level data cache, reads, misses.
const L1D_READ_MISS: u64 = 1 << 16;
/// Counts nothing: only its side records are of interest.
const DUMMY: u64 = 9;

/// Bits of `flags`.
mod flag {
    pub const EXCLUDE_KERNEL: u64 = 1 << 5;
    pub const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
    /// Records of threads that are renamed.
    pub const NAMES: u64 = 1 << 9;
    /// Records of threads that begin and end.
    pub const TASKS: u64 = 1 << 13;
    /// `wakeup` counts bytes.
    pub const WATERMARK: u64 = 1 << 14;
    /// Every record says thread, time and CPU.
    pub const SAMPLE_ID_ALL: u64 = 1 << 18;
    pub const USE_CLOCK: u64 = 1 << 25;
    pub const SWITCHES: u64 = 1 << 26;
}

/// Bits of `sample_type`: what stands at the end of every record, in this order.
const THREAD_TIME_CPU: u64 = 1 << 1 | 1 << 2 | 1 << 7;
/// Further in `sample_type`: what the tracepoint itself says, as its format in tracefs lays it out.
const RAW: u64 = 1 << 10;

/// Opens an event for `thread` (-1: all) on `cpu` (-1: all).
fn open(mut attr: PerfEventAttr, thread: ThreadNumber, cpu: i32) -> io::Result<File> {
    const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;
    attr.size = size_of::<PerfEventAttr>() as u32;
    let attr = &raw const attr;
    // SAFETY: own-buffer, kernel-checks.
    let fd = check(unsafe {
        libc::syscall(libc::SYS_perf_event_open, attr, thread, cpu, -1, CLOSE_ON_EXEC)
    })?;
    // SAFETY: owned-fd.
    Ok(unsafe { File::from_raw_fd(fd as i32) })
}

/// What a counter looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counter {
    /// Cycles of the calling thread in user code.
    OwnCycles,
    /// Its instructions.
    OwnInstructions,
    /// Its loads that missed the first-level data cache.
    OwnL1dMisses,
}

/// A counter that is open; closed on drop.
pub(crate) struct OpenCounter(File);

impl OpenCounter {
    /// Opens `counter`.
    pub fn open(counter: Counter) -> io::Result<Self> {
        let flags = flag::EXCLUDE_KERNEL | flag::EXCLUDE_HYPERVISOR;
        let (kind, config) = match counter {
            Counter::OwnCycles => (HARDWARE, CYCLES),
            Counter::OwnInstructions => (HARDWARE, INSTRUCTIONS),
            Counter::OwnL1dMisses => (CACHE, L1D_READ_MISS),
        };
        open(PerfEventAttr { kind, config, flags, ..Default::default() }, 0, -1).map(Self)
    }

    /// What was counted so far.
    pub fn read(&mut self) -> io::Result<u64> {
        let mut count = [0; 8];
        self.0.read_exact(&mut count)?;
        Ok(u64::from_ne_bytes(count))
    }
}

/// Whose switches are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Watched {
    /// Every thread on this CPU, with names, beginnings and ends of threads.
    Cpu(u32),
    /// One thread, wherever it runs.
    Thread(ThreadNumber),
}

impl Watched {
    fn open(self) -> io::Result<File> {
        let flags = flag::SWITCHES | flag::SAMPLE_ID_ALL | flag::USE_CLOCK | flag::WATERMARK;
        let attr = PerfEventAttr {
            kind: SOFTWARE,
            config: DUMMY,
            sample_type: THREAD_TIME_CPU,
            // The ring is looked at when somebody asks. A reader that is never woken up needs no interrupt on the
            // watched CPU, so the mark is put as high as the kernel lets it be.
            wakeup: u32::MAX,
            clock: libc::CLOCK_MONOTONIC,
            flags,
            ..Default::default()
        };
        match self {
            Self::Cpu(cpu) => {
                let flags = flags | flag::NAMES | flag::TASKS;
                open(PerfEventAttr { flags, ..attr }, -1, cpu as i32)
            }
            Self::Thread(thread) => {
                // Own threads may be watched by anybody who promises not to look into the kernel.
                let flags = flags | flag::EXCLUDE_KERNEL | flag::EXCLUDE_HYPERVISOR;
                open(PerfEventAttr { flags, ..attr }, thread, -1)
            }
        }
    }
}

/// Opens the tracepoint with this number for all threads on `cpu`, with a record for each time it is passed.
fn open_tracepoint(number: u64, cpu: u32) -> io::Result<File> {
    let attr = PerfEventAttr {
        kind: TRACEPOINT,
        config: number,
        sample_period: 1,
        sample_type: THREAD_TIME_CPU | RAW,
        wakeup: u32::MAX,
        clock: libc::CLOCK_MONOTONIC,
        // Records of lost records say thread, time and CPU, whichever event notices the loss.
        flags: flag::SAMPLE_ID_ALL | flag::USE_CLOCK | flag::WATERMARK,
        ..Default::default()
    };
    open(attr, -1, cpu as i32)
}

/// Places in the first page of a ring, in bytes (`perf_event_mmap_page`).
const DATA_HEAD: usize = 1024;
const DATA_TAIL: usize = 1032;

/// An event with the ring into which the kernel writes its records; closed and unmapped on drop.
#[derive(Debug)]
pub(crate) struct SwitchRing {
    base: NonNull<u8>,
    page: usize,
    /// Length of the part with records, in bytes: a power of two.
    data: usize,
    /// Further events that write into this ring; closed before the event whose ring it is.
    also: Vec<File>,
    /// After the mapping: the kernel holds the event as long as either lives.
    event: File,
}

// SAFETY: own-mapping: no other thread knows the mapping, and nothing in it belongs to one thread.
unsafe impl Send for SwitchRing {}

/// Which step failed: opening is a question of rights, mapping one of memory.
#[derive(Debug)]
pub(crate) enum RingError {
    Open(io::Error),
    Map(io::Error),
}

impl SwitchRing {
    /// Starts recording into a ring of at least `bytes` (rounded up to a power of two of pages).
    pub fn open(watched: Watched, bytes: usize) -> Result<Self, RingError> {
        let event = watched.open().map_err(RingError::Open)?;
        let page = page_bytes();
        let data = bytes.div_ceil(page).next_power_of_two() * page;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: kernel-checks: a new mapping at a place of the kernel's choice touches no memory in use.
        let base = unsafe {
            let (nowhere, fd) = (std::ptr::null_mut(), event.as_raw_fd());
            libc::mmap(nowhere, page + data, protection, libc::MAP_SHARED, fd, 0)
        };
        let failed = || RingError::Map(io::Error::last_os_error());
        let base = (base != libc::MAP_FAILED).then(|| NonNull::new(base.cast())).flatten();
        Ok(Self { base: base.ok_or_else(failed)?, page, data, also: Vec::new(), event })
    }

    /// Lets a tracepoint on the same `cpu` write into this ring, too.
    pub fn add_tracepoint(&mut self, number: u64, cpu: u32) -> io::Result<()> {
        let event = open_tracepoint(number, cpu)?;
        self.write_here(event)
    }

    fn write_here(&mut self, event: File) -> io::Result<()> {
        /// `PERF_EVENT_IOC_SET_OUTPUT`.
        const SET_OUTPUT: u64 = 0x2405;
        // SAFETY: kernel-checks: both are files of this ring, and the call takes no pointer.
        check(libc::c_long::from(unsafe {
            libc::ioctl(event.as_raw_fd(), SET_OUTPUT as _, self.event.as_raw_fd())
        }))?;
        self.also.push(event);
        Ok(())
    }

    /// The same for records that the kernel's `filter` lets through, such as `pid == 4711`.
    pub fn add_filtered_tracepoint(
        &mut self,
        number: u64,
        cpu: u32,
        filter: &str,
    ) -> io::Result<()> {
        /// `PERF_EVENT_IOC_SET_FILTER`, with a pointer of 64 bits.
        const SET_FILTER: u64 = 0x4008_2406;
        let filter = std::ffi::CString::new(filter)?;
        let event = open_tracepoint(number, cpu)?;
        // Before it has a ring to write to.
        // SAFETY: own-buffer: a zero-terminated string; kernel-checks.
        check(libc::c_long::from(unsafe {
            libc::ioctl(event.as_raw_fd(), SET_FILTER as _, filter.as_ptr())
        }))?;
        self.write_here(event)
    }

    /// How many tracepoints write into this ring.
    pub fn tracepoints(&self) -> usize {
        self.also.len()
    }

    /// Ends all tracepoints but the first so many.
    pub fn keep_tracepoints(&mut self, count: usize) {
        self.also.truncate(count);
    }

    /// The number of the file that was opened last. The system gives the lowest one that is free.
    pub fn newest_file(&self) -> u64 {
        self.also.last().unwrap_or(&self.event).as_raw_fd().unsigned_abs().into()
    }

    /// Whether the watched thread has ended. Then the ring has all its records.
    pub fn has_ended(&self) -> bool {
        let mut asked = libc::pollfd { fd: self.event.as_raw_fd(), events: 0, revents: 0 };
        // SAFETY: own-buffer, kernel-checks.
        let answered = unsafe { libc::poll(&raw mut asked, 1, 0) };
        answered > 0 && asked.revents & libc::POLLHUP != 0
    }

    /// Appends the records that have come since the last call to `into`, and frees their place.
    pub fn take(&mut self, into: &mut Vec<u8>) {
        // Acquire: pairs with the kernel's store of data_head after the records (kernel-ring).
        let head = self.place(DATA_HEAD).load(Ordering::Acquire);
        // Relaxed: nobody but this ring writes data_tail.
        let tail = self.place(DATA_TAIL).load(Ordering::Relaxed);
        let length = (head.wrapping_sub(tail) as usize).min(self.data);
        let start = (tail as usize) & (self.data - 1);
        let first = length.min(self.data - start);
        self.copy(start, first, into);
        self.copy(0, length - first, into);
        // Release: the copies are done before the kernel may write over their place (kernel-ring).
        self.place(DATA_TAIL).store(head, Ordering::Release);
    }

    fn place(&self, offset: usize) -> &AtomicU64 {
        // SAFETY:
        // - own-mapping: in the first page, aligned to 8 bytes, alive as long as `self`.
        // - The kernel reads and writes these two words whole, so both sides are atomic.
        unsafe { AtomicU64::from_ptr(self.base.as_ptr().add(offset).cast()) }
    }

    /// Appends `length` bytes of the records from `start`.
    fn copy(&self, start: usize, length: usize, into: &mut Vec<u8>) {
        into.reserve(length);
        let held = into.len();
        // SAFETY:
        // - own-mapping: `start + length <= self.data`, by the caller's arithmetic in this file.
        // - kernel-ring: these bytes stand still until data_tail passes them.
        // - The destination was reserved just now and is written before its length says so.
        unsafe {
            let from = self.base.as_ptr().add(self.page + start);
            std::ptr::copy_nonoverlapping(from, into.as_mut_ptr().add(held), length);
            into.set_len(held + length);
        }
    }
}

impl Drop for SwitchRing {
    fn drop(&mut self) {
        // SAFETY: own-mapping: mapped in `open` with this length, and nobody has a pointer into it after this.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.page + self.data) };
    }
}

/// The size of a page of memory.
fn page_bytes() -> usize {
    // SAFETY: no pointers.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}
