//! Pages, and what lies in them.

use std::hint::black_box;
use std::io;
use std::os::fd::OwnedFd;

use super::{Operation, Ran, repeated, sealed::Sealed};
use crate::random::Random;
use crate::sys::calls::now_ns;
use crate::sys::pages::{self, FreshPages, SharedWords};

/// Private memory of so many bytes is mapped and given back, untouched.
#[derive(Debug)]
pub struct Mapping {
    bytes: usize,
}

impl Mapping {
    /// Of so many bytes.
    pub fn of(bytes: usize) -> Mapping {
        Mapping { bytes: bytes.max(1) }
    }
}

impl Sealed for Mapping {}

impl Operation for Mapping {
    fn begin(&mut self) -> io::Result<()> {
        // What is mapped can be written to.
        FreshPages::new(1, self.bytes.max(pages::page_bytes())).map(|mut fresh| fresh.touch())
    }

    fn run(&mut self, times: u64) -> io::Result<Ran> {
        Ok(repeated(times, || pages::map_and_unmap(self.bytes)))
    }
}

/// A file is mapped whole, the first byte of each page is read, and it is given back.
#[derive(Debug)]
pub struct FileMapping {
    file: OwnedFd,
    bytes: usize,
    /// Of the first bytes of its pages.
    sum: u64,
}

impl FileMapping {
    /// Of a file that has this piece of whole pages so many times, keeps it, and stays as long.
    pub fn of(file: OwnedFd, piece: &[u8], times: usize) -> FileMapping {
        let firsts = piece.iter().step_by(pages::page_bytes());
        let sum = times as u64 * firsts.map(|byte| u64::from(*byte)).sum::<u64>();
        FileMapping { file, bytes: times * piece.len(), sum }
    }
}

impl Sealed for FileMapping {}

impl Operation for FileMapping {
    fn run(&mut self, times: u64) -> io::Result<Ran> {
        let page = pages::page_bytes();
        Ok(repeated(times, || {
            pages::map_and_read_file(&self.file, self.bytes, page) == Some(self.sum)
        }))
    }
}

/// A first write to a page of private memory. Mapping it and giving it back are not in the time. lmbench's lat_pagefault
/// reads pages of a file instead.
#[derive(Debug)]
pub struct PageFault {
    page: usize,
}

/// Pages that are mapped at once.
const PAGES: u64 = 256;

impl PageFault {
    /// With pages of the usual size.
    pub fn new() -> PageFault {
        PageFault { page: pages::page_bytes() }
    }
}

impl Default for PageFault {
    fn default() -> PageFault {
        PageFault::new()
    }
}

impl Sealed for PageFault {}

impl Operation for PageFault {
    fn run(&mut self, times: u64) -> io::Result<Ran> {
        let mut all = Ran::default();
        while all.times < times {
            let count = PAGES.min(times - all.times);
            let mut fresh = FreshPages::new(count as usize, self.page)?;
            let before = pages::faults()?;
            let start_ns = now_ns();
            fresh.touch();
            all.ns += now_ns() - start_ns;
            // The kernel's own count; a fault elsewhere does not make up for one that is missing.
            all.right += (pages::faults()? - before).min(count);
            all.times += count;
        }
        Ok(all)
    }
}

/// Private pages that nobody has touched, for threads that write to one now and then: a page fault each, unless the process
/// locks its memory.
#[derive(Debug)]
pub struct UntouchedPages {
    fresh: FreshPages,
    next: usize,
}

impl UntouchedPages {
    /// So many, of the usual size.
    ///
    /// # Errors
    /// The system has no room for them.
    pub fn map(count: usize) -> io::Result<UntouchedPages> {
        Ok(UntouchedPages { fresh: FreshPages::new(count.max(1), pages::page_bytes())?, next: 0 })
    }

    /// Writes to the next one; whether there was one left. Cost: a page fault, or one write to locked memory.
    #[inline]
    pub fn touch_next(&mut self) -> bool {
        let touched = self.fresh.touch_one(self.next);
        self.next += 1;
        touched
    }
}

/// What is done with memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transfer {
    /// Every word is read and summed.
    Read,
    /// Every word is written.
    Write,
    /// Every word of one half is copied to the other.
    Copy,
}

/// Passes over memory, word by word; one operation is a pass. What lmbench's bw_mem calls frd, fwr and fcp, with words of
/// 8 bytes.
#[derive(Debug)]
pub struct Bandwidth {
    transfer: Transfer,
    memory: SharedWords,
    pass: u64,
}

impl Bandwidth {
    /// Over so many bytes; a copy has as many again to write to.
    ///
    /// # Errors
    /// Without so much memory.
    pub fn over(transfer: Transfer, bytes: usize) -> io::Result<Bandwidth> {
        let words = (bytes / 8).max(1) * if transfer == Transfer::Copy { 2 } else { 1 };
        let mut memory = SharedWords::new(words)?;
        for (at, word) in memory.words().iter_mut().enumerate() {
            *word = at as u64;
        }
        Ok(Bandwidth { transfer, memory, pass: 0 })
    }
}

/// 0 + 1 + ... below `count`.
fn sum_below(count: usize) -> u64 {
    (0..count as u64).fold(0, u64::wrapping_add)
}

fn sum(words: &[u64]) -> u64 {
    black_box(words).iter().fold(0, |sum, word| sum.wrapping_add(*word))
}

impl Sealed for Bandwidth {}

impl Operation for Bandwidth {
    fn is_for_forks(&mut self, is: bool) -> io::Result<()> {
        self.memory.is_for_forks(is)
    }

    /// The pages are found, and the caches hold what they can.
    fn begin(&mut self) -> io::Result<()> {
        black_box(sum(self.memory.words()));
        Ok(())
    }

    fn run(&mut self, times: u64) -> io::Result<Ran> {
        let words = self.memory.words();
        let ran = match self.transfer {
            Transfer::Read => {
                let expected = sum_below(words.len());
                repeated(times, || sum(words) == expected)
            }
            Transfer::Write => {
                let first = self.pass;
                let mut value = first;
                let ran = repeated(times, || {
                    value += 1;
                    black_box(&mut *words).fill(black_box(value));
                    true
                });
                self.pass = value;
                let whole = words.iter().all(|word| *word == value) && value == first + times;
                Ran { right: if whole { ran.right } else { 0 }, ..ran }
            }
            Transfer::Copy => {
                let (from, to) = words.split_at_mut(words.len() / 2);
                to.fill(0);
                let ran = repeated(times, || {
                    black_box(&mut *to).copy_from_slice(black_box(&*from));
                    true
                });
                Ran { right: if from == to { ran.right } else { 0 }, ..ran }
            }
        };
        Ok(ran)
    }
}

/// In which order a chain of loads goes over memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WalkOrder {
    /// From each place to one that nothing foretells.
    Random,
    /// From each place to the next.
    Forward,
}

/// Loads, each from the address that the one before has read, so that only one is on its way at a time: the same operation
/// as lmbench's lat_mem_rd. Places lie a stride apart; one operation is a load.
#[derive(Debug)]
pub struct Latency {
    memory: SharedWords,
    /// Words between two places.
    stride: usize,
    places: u64,
    at: u64,
}

/// Each place has the next place's first word, and how far it is along the chain.
const PLACE_WORDS: usize = 2;

impl Latency {
    /// Over so many bytes with places so many bytes apart: at least 16, and at least two places.
    ///
    /// # Errors
    /// Without so much memory.
    pub fn over(bytes: usize, stride_bytes: usize, order: WalkOrder) -> io::Result<Latency> {
        let stride = (stride_bytes / 8).max(PLACE_WORDS);
        let places = (bytes / 8 / stride).max(2);
        let mut memory = SharedWords::new(places * stride)?;
        // Given back when the chain is made: what a process keeps on its heap, each of its forks copies.
        let mut chain = SharedWords::new(places)?;
        let chain = chain.words();
        for (rank, place) in chain.iter_mut().enumerate() {
            *place = rank as u64;
        }
        if order == WalkOrder::Random {
            shuffle(chain);
        }
        let words = memory.words();
        for (rank, place) in chain.iter().enumerate() {
            let next = chain[(rank + 1) % chain.len()];
            let at = *place as usize * stride;
            words[at] = next * stride as u64;
            words[at + 1] = rank as u64;
        }
        let at = chain[0] * stride as u64;
        Ok(Latency { memory, stride, places: places as u64, at })
    }

    fn rank(words: &[u64], at: u64) -> u64 {
        words.get(at as usize + 1).copied().unwrap_or(u64::MAX)
    }
}

/// Into an order of chance (Fisher and Yates) that is the same in every run.
fn shuffle(numbers: &mut [u64]) {
    let mut random = Random::new(numbers.len() as u64);
    for at in (1..numbers.len()).rev() {
        numbers.swap(at, random.below(at as u32 + 1) as usize);
    }
}

impl Sealed for Latency {}

impl Operation for Latency {
    fn is_for_forks(&mut self, is: bool) -> io::Result<()> {
        self.memory.is_for_forks(is)
    }

    /// The pages are found, and the caches hold what they can.
    fn begin(&mut self) -> io::Result<()> {
        black_box(sum(self.memory.words()));
        Ok(())
    }

    fn run(&mut self, times: u64) -> io::Result<Ran> {
        let words = &*self.memory.words();
        let before = Latency::rank(words, self.at);
        let mut at = black_box(self.at);
        let start_ns = now_ns();
        for _ in 0..times {
            // Every word that is followed is within memory; the chain's end is checked.
            at = words.get(at as usize).copied().unwrap_or(0);
        }
        let at = black_box(at);
        let ns = now_ns() - start_ns;
        let expected = (before + times % self.places) % self.places;
        let is_place = at.is_multiple_of(self.stride as u64);
        let right = is_place && Latency::rank(words, at) == expected;
        self.at = at;
        Ok(Ran { ns, times, right: if right { times } else { 0 }, without_switches_ns: 0 })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::super::tests::all_right;
    use super::*;

    #[test]
    fn each_page_is_touched_once_and_then_there_is_none() {
        let mut pages = UntouchedPages::map(3).unwrap();
        let before = pages::faults().unwrap();
        let touched = (0..5).filter(|_| pages.touch_next()).count();
        assert_eq!(touched, 3);
        // The kernel's own count, of this thread alone.
        assert!(pages::faults().unwrap() >= before + 3);
    }

    #[test]
    fn pages_are_mapped_and_come_at_the_first_write() {
        all_right(Mapping::of(64 << 10), 20);
        all_right(PageFault::new(), 300);
    }

    #[test]
    fn a_file_is_mapped_and_read_whole() {
        let contents: Vec<u8> = (0..64 << 10).map(|at| (at / 1024) as u8).collect();
        let file = || {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&contents.repeat(3)).unwrap();
            OwnedFd::from(file)
        };
        all_right(FileMapping::of(file(), &contents, 3), 20);
        let mut other = FileMapping::of(file(), &contents, 3);
        other.sum += 1;
        assert_eq!(other.run(3).unwrap().right, 0);
    }

    #[test]
    fn memory_is_read_written_and_copied_whole() {
        for transfer in [Transfer::Read, Transfer::Write, Transfer::Copy] {
            all_right(Bandwidth::over(transfer, 16 << 10).unwrap(), 5);
        }
        let mut read = Bandwidth::over(Transfer::Read, 4096).unwrap();
        read.begin().unwrap();
        read.memory.words()[7] = 0;
        assert_eq!(read.run(4).unwrap().right, 0);
    }

    #[test]
    fn chains_pass_every_place_and_end_where_they_must() {
        for order in [WalkOrder::Random, WalkOrder::Forward] {
            for (bytes, stride) in [(4096, 64), (4096, 16), (64 << 10, 4096), (1, 1)] {
                all_right(Latency::over(bytes, stride, order).unwrap(), 1000);
            }
        }
        let mut chain = Latency::over(4096, 64, WalkOrder::Random).unwrap();
        let mut passed = [false; 64];
        for _ in 0..64 {
            passed[chain.at as usize / 8] = true;
            chain.run(1).unwrap();
        }
        assert!(passed.iter().all(|passed| *passed), "a place was left out");
        let next = chain.memory.words()[chain.at as usize];
        chain.memory.words()[next as usize + 1] += 1;
        assert_eq!(chain.run(1).unwrap().right, 0);
    }
}
