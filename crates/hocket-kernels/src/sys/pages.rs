//! Linux: memory that is mapped, by page.
//!
//! # Invariants, besides those of `calls.rs`
//! - **own-mapping**: a value here is the only one that knows its mapping, which lives as long as the value. A process
//!   that was forked meanwhile has the same mapping, and its parent does not use the value until that process has ended;
//!   or it lacks the mapping (`SharedWords`), and does not use the value.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr::{self, NonNull};

/// Bytes of a page.
pub(crate) fn page_bytes() -> usize {
    // SAFETY: takes a number, cannot harm memory.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).unwrap_or(4096)
}

fn map(bytes: usize, protection: libc::c_int, sharing: libc::c_int) -> io::Result<NonNull<u8>> {
    map_from(bytes, protection, sharing | libc::MAP_ANONYMOUS, -1)
}

fn map_from(
    bytes: usize,
    protection: libc::c_int,
    flags: libc::c_int,
    file: libc::c_int,
) -> io::Result<NonNull<u8>> {
    // SAFETY: a new mapping at a place that the kernel chooses; it replaces nothing.
    let at = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, file, 0) };
    if at == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(at.cast()).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))
}

const READ_WRITE: libc::c_int = libc::PROT_READ | libc::PROT_WRITE;

/// Memory that a forked process lacks, or shares with this one instead of getting a copy. A fork never copies its page tables,
/// so that a process with much of it forks as fast as one with none.
#[derive(Debug)]
pub(crate) struct SharedWords {
    at: NonNull<u64>,
    count: usize,
}

// SAFETY: own-mapping: plain memory that belongs to no thread.
unsafe impl Send for SharedWords {}

impl SharedWords {
    /// So many words, all zero, which forked processes lack.
    pub(crate) fn new(count: usize) -> io::Result<SharedWords> {
        let at = map((count * 8).max(1), READ_WRITE, libc::MAP_SHARED)?;
        let mut new = SharedWords { at: at.cast(), count };
        new.is_for_forks(false)?;
        Ok(new)
    }

    /// Whether processes that are forked from now on have it; one that lacks it must not use this value.
    pub(crate) fn is_for_forks(&mut self, is: bool) -> io::Result<()> {
        let advice = if is { libc::MADV_DOFORK } else { libc::MADV_DONTFORK };
        // SAFETY: own-mapping; this advice does not change contents.
        let advised =
            unsafe { libc::madvise(self.at.as_ptr().cast(), (self.count * 8).max(1), advice) };
        super::calls::check(advised).map(drop)
    }

    pub(crate) fn words(&mut self) -> &mut [u64] {
        // SAFETY: own-mapping; aligned to a page, zeroed by the kernel, and borrowed as long as `self` is.
        unsafe { std::slice::from_raw_parts_mut(self.at.as_ptr(), self.count) }
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        // SAFETY: own-mapping; nobody has a reference any more.
        unsafe { libc::munmap(self.at.as_ptr().cast(), (self.count * 8).max(1)) };
    }
}

/// Maps so many bytes of private memory and gives them back, untouched. Whether both worked.
#[inline]
pub(crate) fn map_and_unmap(bytes: usize) -> bool {
    let Ok(at) = map(bytes, READ_WRITE, libc::MAP_PRIVATE) else { return false };
    // SAFETY: own-mapping: it was just made, and nobody has its address.
    unsafe { libc::munmap(at.as_ptr().cast(), bytes) == 0 }
}

/// Maps so many bytes of a file, reads the first byte of each page, and gives them back. The sum of these bytes; `None` where
/// the file cannot be mapped or unmapped. The file must not become shorter meanwhile.
#[inline]
pub(crate) fn map_and_read_file(file: &impl AsFd, bytes: usize, page: usize) -> Option<u64> {
    let descriptor = file.as_fd().as_raw_fd();
    let at = map_from(bytes, libc::PROT_READ, libc::MAP_SHARED, descriptor).ok()?;
    // SAFETY: own-mapping: it was just made, and every place is within it; the file is as long, as the caller says.
    let read = |place: usize| u64::from(unsafe { at.as_ptr().add(place).read_volatile() });
    let sum = (0..bytes).step_by(page).map(read).sum();
    // SAFETY: own-mapping: nobody has its address.
    let unmapped = unsafe { libc::munmap(at.as_ptr().cast(), bytes) } == 0;
    unmapped.then_some(sum)
}

/// Private pages that nobody has touched.
#[derive(Debug)]
pub(crate) struct FreshPages {
    at: NonNull<u8>,
    pages: usize,
    page: usize,
}

impl FreshPages {
    /// Pages of the usual size: the kernel is asked not to join them to huge ones.
    pub(crate) fn new(pages: usize, page: usize) -> io::Result<FreshPages> {
        let fresh =
            FreshPages { at: map(pages * page, READ_WRITE, libc::MAP_PRIVATE)?, pages, page };
        // A kernel without huge pages refuses, and has nothing to join.
        // SAFETY: own-mapping; advice does not change contents.
        unsafe { libc::madvise(fresh.at.as_ptr().cast(), pages * page, libc::MADV_NOHUGEPAGE) };
        Ok(fresh)
    }

    /// Writes a byte to one of them; whether there is that one.
    #[inline]
    pub(crate) fn touch_one(&mut self, page: usize) -> bool {
        let is_there = page < self.pages;
        if is_there {
            // SAFETY: own-mapping: within it, and only this value's.
            unsafe { self.at.as_ptr().add(page * self.page).write_volatile(1) };
        }
        is_there
    }

    /// Writes a byte to each: a page fault each time.
    #[inline]
    pub(crate) fn touch(&mut self) {
        for page in 0..self.pages {
            // SAFETY: own-mapping: within it, and only this value's.
            unsafe { self.at.as_ptr().add(page * self.page).write_volatile(1) };
        }
    }
}

impl Drop for FreshPages {
    fn drop(&mut self) {
        // SAFETY: own-mapping; nobody has a reference any more.
        unsafe { libc::munmap(self.at.as_ptr().cast(), self.pages * self.page) };
    }
}

/// Page faults of the calling thread so far that needed no disk.
pub(crate) fn faults() -> io::Result<u64> {
    // SAFETY: all-zero is a valid rusage; own-buffer.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        super::calls::check(libc::getrusage(libc::RUSAGE_THREAD, &mut usage))?;
        Ok(usage.ru_minflt as u64)
    }
}

/// A page that is read only or not.
pub(crate) struct GuardedPage {
    at: NonNull<u8>,
    page: usize,
}

// SAFETY: own-mapping: plain memory that belongs to no thread.
unsafe impl Send for GuardedPage {}

impl GuardedPage {
    pub(crate) fn new() -> io::Result<GuardedPage> {
        let page = page_bytes();
        Ok(GuardedPage { at: map(page, READ_WRITE, libc::MAP_PRIVATE)?, page })
    }

    /// Its address and length, for the handler that opens it.
    pub(crate) fn place(&self) -> (usize, usize) {
        (self.at.as_ptr() as usize, self.page)
    }

    /// From now on a write is a fault.
    pub(crate) fn close(&mut self) -> io::Result<()> {
        // SAFETY: own-mapping; nobody has a reference to its contents.
        let closed = unsafe { libc::mprotect(self.at.as_ptr().cast(), self.page, libc::PROT_READ) };
        super::calls::check(closed).map(drop)
    }

    /// Writes; where the page is closed, the handler of SIGSEGV must open it, or this is repeated for ever.
    #[inline]
    pub(crate) fn write(&mut self, value: u8) {
        // SAFETY: own-mapping. A fault leaves memory as it is, and the instruction is tried again.
        unsafe { self.at.as_ptr().write_volatile(value) };
    }

    /// What was written last.
    pub(crate) fn read(&self) -> u8 {
        // SAFETY: own-mapping: readable at any time.
        unsafe { self.at.as_ptr().read_volatile() }
    }
}

impl Drop for GuardedPage {
    fn drop(&mut self) {
        // SAFETY: own-mapping; nobody has a reference any more.
        unsafe { libc::munmap(self.at.as_ptr().cast(), self.page) };
    }
}
