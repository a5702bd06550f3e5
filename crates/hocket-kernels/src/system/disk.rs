//! Blocks of a file: written, read and copied, in order or at random, with and without waiting for the disk.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::{Operation, Ran, sealed::Sealed};
use crate::random::Random;
use crate::sys::calls;

/// Bytes of a block, as in AIM9.
pub const BLOCK: usize = 1024;

/// What is done with each block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockTest {
    /// Written one after the other to a file that grows; at its full length it is cut to nothing.
    Write,
    /// Written at random places of a file of full length.
    WriteRandom,
    /// Read one after the other.
    Read,
    /// Read at random places.
    ReadRandom,
    /// Read from one file and written to another, one after the other.
    Copy,
}

impl BlockTest {
    fn writes(self) -> bool {
        !matches!(self, BlockTest::Read | BlockTest::ReadRandom)
    }

    /// Whether the file has its full length before.
    fn is_prepared(self) -> bool {
        matches!(self, BlockTest::WriteRandom | BlockTest::Read | BlockTest::ReadRandom)
    }

    fn is_random(self) -> bool {
        matches!(self, BlockTest::WriteRandom | BlockTest::ReadRandom)
    }
}

/// [`BlockTest`] on a file of its own. After each run what was written is read back and compared, not in the time.
#[derive(Debug)]
pub struct DiskBlocks {
    test: BlockTest,
    /// Whether each write waits for the disk (O_SYNC).
    sync: bool,
    path: CString,
    source: CString,
    blocks: u64,
    file: Option<OwnedFd>,
    from: Option<OwnedFd>,
    run: u64,
}

impl DiskBlocks {
    /// On files of this name in `folder`, of so many blocks at most. `None` if the folder's name holds a zero.
    pub fn new(
        test: BlockTest,
        sync: bool,
        folder: &Path,
        name: &str,
        blocks: u32,
    ) -> Option<DiskBlocks> {
        let path = |kind: &str| {
            let path = folder.join(format!("{name}-{kind}"));
            CString::new(path.as_os_str().as_bytes()).ok()
        };
        Some(DiskBlocks {
            test,
            sync,
            path: path("file")?,
            source: path("source")?,
            blocks: u64::from(blocks.max(1)),
            file: None,
            from: None,
            run: 0,
        })
    }

    /// Opens a new file; full of blocks of run 0, and on the disk, where it is prepared.
    fn make(&self, path: &CStr, is_full: bool) -> io::Result<()> {
        let file = calls::open(path, libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC)?;
        if is_full {
            for number in 0..self.blocks {
                calls::write_all(file.as_raw_fd(), &block(number, 0))?;
            }
            // Old writes must not be waited for by new ones.
            calls::sync(file.as_raw_fd())?;
        }
        Ok(())
    }

    /// A file that waits for the disk says so.
    fn open(&self) -> io::Result<OwnedFd> {
        let waits = if self.sync { libc::O_SYNC } else { 0 };
        let file = calls::open(&self.path, libc::O_RDWR | waits)?;
        if self.sync && calls::flags(file.as_raw_fd())? & libc::O_SYNC != libc::O_SYNC {
            return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
        }
        Ok(file)
    }

    /// Where the blocks of a run lie, one after the other.
    fn places(&self) -> Places {
        Places {
            random: self.test.is_random(),
            blocks: self.blocks,
            at: 0,
            draws: Random::new(self.run),
        }
    }

    fn one(&self, (file, from): (RawFd, RawFd), place: u64) -> io::Result<bool> {
        let at = place * BLOCK as u64;
        let mut read = [0; BLOCK];
        match self.test {
            BlockTest::Write => {
                if place == 0 {
                    calls::truncate(file)?;
                }
                calls::write_all(file, &block(place, self.run))?;
                Ok(true)
            }
            BlockTest::WriteRandom => {
                calls::seek(file, at)?;
                calls::write_all(file, &block(place, self.run))?;
                Ok(true)
            }
            BlockTest::Read | BlockTest::ReadRandom => {
                if place == 0 || self.test.is_random() {
                    calls::seek(file, at)?;
                }
                calls::read_exact(file, &mut read)?;
                Ok(is_block(&read, place, 0))
            }
            BlockTest::Copy => {
                if place == 0 {
                    calls::truncate(file)?;
                    calls::seek(from, 0)?;
                }
                calls::read_exact(from, &mut read)?;
                calls::write_all(file, &read)?;
                Ok(true)
            }
        }
    }

    /// Whether what a run of so many blocks wrote is there.
    fn is_there(&self, file: RawFd, times: u64) -> io::Result<bool> {
        // Of copies: what the source has.
        let run = if self.test == BlockTest::Copy { 0 } else { self.run };
        // In order, only what came after the last cut is left.
        let kept = match self.test.is_random() {
            true => times,
            false => (times.max(1) - 1) % self.blocks + 1,
        };
        let mut read = [0; BLOCK];
        for place in self.places().take(kept as usize) {
            calls::seek(file, place * BLOCK as u64)?;
            calls::read_exact(file, &mut read)?;
            if read != block(place, run) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The places of a run.
struct Places {
    random: bool,
    blocks: u64,
    at: u64,
    draws: Random,
}

impl Iterator for Places {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if self.random {
            return Some(u64::from(self.draws.below(self.blocks as u32)));
        }
        let place = self.at;
        self.at = (self.at + 1) % self.blocks;
        Some(place)
    }
}

/// Block number `place` as `run` writes it: no two alike.
fn block(place: u64, run: u64) -> [u8; BLOCK] {
    let mut bytes = [0; BLOCK];
    let first = place.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ run.rotate_left(32);
    for (word, number) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(0_u64..) {
        *word = first.wrapping_add(number).to_le_bytes();
    }
    bytes
}

/// By its first and last word; the whole would be a large part of the time.
fn is_block(read: &[u8; BLOCK], place: u64, run: u64) -> bool {
    let due = block_ends(place, run);
    read[..8] == due[0] && read[BLOCK - 8..] == due[1]
}

fn block_ends(place: u64, run: u64) -> [[u8; 8]; 2] {
    let first = place.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ run.rotate_left(32);
    [first.to_le_bytes(), first.wrapping_add(BLOCK as u64 / 8 - 1).to_le_bytes()]
}

impl Sealed for DiskBlocks {}

impl Operation for DiskBlocks {
    fn begin(&mut self) -> io::Result<()> {
        self.make(&self.path, self.test.is_prepared())?;
        if self.test == BlockTest::Copy {
            self.make(&self.source, true)?;
            self.from = Some(calls::open(&self.source, libc::O_RDONLY)?);
        }
        self.file = Some(self.open()?);
        Ok(())
    }

    fn run(&mut self, times: u64) -> io::Result<Ran> {
        let file = self.file.as_ref().ok_or(io::ErrorKind::NotFound)?.as_raw_fd();
        let from = self.from.as_ref().map_or(-1, |from| from.as_raw_fd());
        self.run += 1;
        calls::seek(file, 0)?;
        let (mut right, mut places) = (0, self.places());
        let start_ns = calls::now_ns();
        for _ in 0..times {
            let place = places.next().unwrap_or(0);
            right += u64::from(self.one((file, from), place)?);
        }
        let ns = calls::now_ns() - start_ns;
        if self.test.writes() && !self.is_there(file, times)? {
            right = 0;
        }
        Ok(Ran { ns, times, right, without_switches_ns: 0 })
    }

    fn end(&mut self) {
        (self.file, self.from) = (None, None);
        // Whoever made the folder removes what cannot be removed here.
        let _ = calls::unlink(&self.path);
        let _ = calls::unlink(&self.source);
    }
}

#[cfg(test)]
mod tests {
    use super::super::run_in_processes;
    use super::super::tests::all_right;
    use super::*;

    const ALL: [BlockTest; 5] = [
        BlockTest::Write,
        BlockTest::WriteRandom,
        BlockTest::Read,
        BlockTest::ReadRandom,
        BlockTest::Copy,
    ];

    fn blocks(test: BlockTest, sync: bool, folder: &Path) -> DiskBlocks {
        DiskBlocks::new(test, sync, folder, "blocks", 7).unwrap()
    }

    #[test]
    fn every_block_is_where_it_must_be_and_no_file_is_left() {
        let folder = tempfile::tempdir().unwrap();
        for test in ALL {
            for sync in [false, true] {
                // More than the file has: it is cut, or read from its beginning.
                all_right(blocks(test, sync, folder.path()), 17);
            }
        }
        let any = blocks(BlockTest::Copy, false, folder.path());
        assert!(calls::length_of(&any.path).is_err() && calls::length_of(&any.source).is_err());
    }

    /// As another program would.
    fn overwrite(path: &CStr, bytes: &[u8]) {
        let file = calls::open(path, libc::O_WRONLY | libc::O_TRUNC).unwrap();
        calls::write_all(file.as_raw_fd(), bytes).unwrap();
    }

    #[test]
    fn blocks_that_others_have_changed_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let mut read = blocks(BlockTest::Read, false, folder.path());
        read.begin().unwrap();
        overwrite(&read.path, &[7; 7 * BLOCK]);
        assert_eq!(read.run(7).unwrap().right, 0);
        // Shorter than it must be.
        overwrite(&read.path, &[7; 10]);
        assert!(read.run(7).is_err());
        let mut copy = blocks(BlockTest::Copy, false, folder.path());
        copy.begin().unwrap();
        overwrite(&copy.source, &[7; 7 * BLOCK]);
        assert_eq!(copy.run(7).unwrap().right, 0);
        let written = blocks(BlockTest::Write, false, folder.path());
        assert!(!written.is_there(copy.file.as_ref().unwrap().as_raw_fd(), 3).unwrap());
        copy.end();
    }

    #[test]
    fn a_folder_that_is_not_there_or_a_full_disk_is_an_error() {
        let mut nowhere: [Box<dyn Operation>; 1] =
            [Box::new(blocks(BlockTest::Write, true, Path::new("/nowhere/none")))];
        assert!(
            run_in_processes(&mut nowhere, &[&[]], None, 1).unwrap_err().contains("os error 2")
        );
        assert!(DiskBlocks::new(BlockTest::Write, true, Path::new("/\0"), "x", 1).is_none());
        // A device that is always full.
        let mut full = blocks(BlockTest::Write, false, Path::new("/dev"));
        full.file = Some(calls::open(c"/dev/full", libc::O_WRONLY).unwrap());
        let error = full.one((full.file.as_ref().unwrap().as_raw_fd(), -1), 1).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOSPC));
    }

    #[test]
    fn the_ends_of_a_block_are_those_of_its_words() {
        let whole = block(5, 3);
        assert!(is_block(&whole, 5, 3) && !is_block(&whole, 6, 3) && !is_block(&whole, 5, 4));
    }
}
