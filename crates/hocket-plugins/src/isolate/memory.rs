//! Memory that two processes share.
//!
//! # Invariants
//! - SEALED: the file behind a mapping never changes its size. The side that makes it seals it, and the side that
//!   opens it looks for the seals first. So no access is behind the file's end, where the system would end the process.
//! - WORDS: the memory is used as atomic words alone. So whatever the other process writes at whatever time, each load here
//!   gives some number, and the number is untrusted.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;

use rustix::fs::{
    MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate, memfd_create,
};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// A mapping of shared memory.
#[derive(Debug)]
pub struct Memory {
    words: NonNull<AtomicU32>,
    len: usize,
}

// SAFETY: it is a part of the address space, which no thread owns; WORDS.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// New memory of so many words, all 0, and the file by which another process opens it.
    ///
    /// # Errors
    /// The system grants none.
    pub fn create(len: usize) -> io::Result<(Memory, OwnedFd)> {
        let file =
            memfd_create("hocket-isolated", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&file, bytes(len) as u64)?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let memory = Memory::open(&file, len)?;
        Ok((memory, file))
    }

    /// The memory of a file that [`Memory::create`] made.
    ///
    /// # Errors
    /// The file has another size, or may change its size.
    pub fn open(file: impl AsFd, len: usize) -> io::Result<Memory> {
        let sealed = fcntl_get_seals(&file)?.contains(SealFlags::SHRINK);
        let size = fstat(&file)?.st_size;
        if len == 0 || !sealed || usize::try_from(size) != Ok(bytes(len)) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "no memory of Hocket"));
        }
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the system chooses the place, so nothing that is there is replaced. SEALED was looked for just now.
        let start =
            unsafe { mmap(std::ptr::null_mut(), bytes(len), access, MapFlags::SHARED, file, 0) }?;
        let words = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Memory { words, len })
    }

    /// All words.
    pub fn words(&self) -> &[AtomicU32] {
        // SAFETY: the mapping has so many words and lives as long as `self`; a page begins on a word's boundary. SEALED: all
        // of it can be accessed. WORDS: nobody here uses it in another way.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr(), self.len) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: it is the mapping that `open` made, and no reference into it outlives `self`.
        let unmapped = unsafe { munmap(self.words.as_ptr().cast(), bytes(self.len)) };
        debug_assert!(unmapped.is_ok());
    }
}

fn bytes(words: usize) -> usize {
    words * size_of::<AtomicU32>()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;

    #[test]
    fn what_one_mapping_writes_the_other_reads() {
        let (one, file) = Memory::create(3000).unwrap();
        let other = Memory::open(&file, 3000).unwrap();
        one.words()[2999].store(7, Relaxed);
        assert_eq!(other.words()[2999].load(Relaxed), 7);
        assert_eq!(other.words()[0].load(Relaxed), 0);
    }

    #[test]
    fn nobody_makes_it_shorter_and_a_file_that_may_shrink_is_refused() {
        let (_memory, file) = Memory::create(1024).unwrap();
        assert!(ftruncate(&file, 0).is_err());
        assert!(Memory::open(&file, 1025).is_err());
        assert!(Memory::open(&file, 0).is_err());
        let open = memfd_create("open", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
        ftruncate(&open, 4096).unwrap();
        assert!(Memory::open(&open, 1024).is_err());
    }
}
