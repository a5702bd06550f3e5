//! Asking which of many descriptors can be read.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::{Operation, Ran, repeated, sealed::Sealed};
use crate::sys::calls::{self, ReadSet};

/// Ends of pipes, of which the last one alone has something to read.
#[derive(Debug)]
struct Watched {
    ends: Vec<OwnedFd>,
    /// Where the last one is written to, and where the others would be.
    writers: Vec<OwnedFd>,
    count: usize,
}

impl Watched {
    fn new(count: usize) -> Watched {
        let count = count.max(1);
        // Room for all, because what is forked does not allocate.
        Watched { ends: Vec::with_capacity(count), writers: Vec::with_capacity(2), count }
    }

    fn open(&mut self) -> io::Result<()> {
        self.close();
        let [quiet, quiet_writer] = calls::pipe()?;
        let [ready, ready_writer] = calls::pipe()?;
        for _ in 1..self.count {
            self.ends.push(calls::duplicate(quiet.as_raw_fd())?);
        }
        self.ends.push(ready);
        calls::write_all(ready_writer.as_raw_fd(), &[1])?;
        self.writers.extend([quiet_writer, ready_writer]);
        Ok(())
    }

    fn close(&mut self) {
        self.ends.clear();
        self.writers.clear();
    }

    fn last(&self) -> i32 {
        self.ends.last().map_or(-1, |end| end.as_raw_fd())
    }
}

/// `select` on so many descriptors, without waiting: pipes, of which one can be read.
pub struct Select {
    watched: Watched,
    set: ReadSet,
}

impl Select {
    /// On so many, at least one.
    pub fn on(count: usize) -> Select {
        Select { watched: Watched::new(count), set: ReadSet::new() }
    }
}

impl Sealed for Select {}

impl Operation for Select {
    fn begin(&mut self) -> io::Result<()> {
        self.watched.open()?;
        self.set = ReadSet::new();
        self.watched.ends.iter().try_for_each(|end| self.set.add(end.as_raw_fd()))
    }

    fn run(&mut self, times: u64) -> io::Result<Ran> {
        let last = self.watched.last();
        Ok(repeated(times, || self.set.ready(last) == (1, true)))
    }

    fn end(&mut self) {
        self.set = ReadSet::new();
        self.watched.close();
    }
}

/// The same by `epoll_wait`.
#[derive(Debug)]
pub struct Epoll {
    watched: Watched,
    queue: Option<OwnedFd>,
}

impl Epoll {
    /// On so many, at least one.
    pub fn on(count: usize) -> Epoll {
        Epoll { watched: Watched::new(count), queue: None }
    }
}

impl Sealed for Epoll {}

impl Operation for Epoll {
    fn begin(&mut self) -> io::Result<()> {
        self.watched.open()?;
        let queue = calls::epoll()?;
        for (mark, end) in self.watched.ends.iter().enumerate() {
            calls::epoll_add(queue.as_raw_fd(), end.as_raw_fd(), mark as u64)?;
        }
        self.queue = Some(queue);
        Ok(())
    }

    fn run(&mut self, times: u64) -> io::Result<Ran> {
        let queue = self.queue.as_ref().map_or(-1, |queue| queue.as_raw_fd());
        let expected = (1, self.watched.count as u64 - 1);
        Ok(repeated(times, || calls::epoll_ready(queue) == expected))
    }

    fn end(&mut self) {
        self.queue = None;
        self.watched.close();
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::all_right;
    use super::*;

    #[test]
    fn the_one_that_can_be_read_is_found_among_all() {
        for count in [1, 10, 200] {
            all_right(Select::on(count), 5);
            all_right(Epoll::on(count), 5);
        }
    }

    #[test]
    fn what_is_not_ready_or_not_there_is_no_right_answer() {
        let mut epoll = Epoll::on(3);
        epoll.begin().unwrap();
        let ready = epoll.watched.last();
        calls::read_exact(ready, &mut [0]).unwrap();
        assert_eq!(epoll.run(2).unwrap().right, 0);
        assert_eq!(Epoll::on(3).run(2).unwrap().right, 0);
        assert_eq!(Select::on(3).run(2).unwrap().right, 0);
        assert!(ReadSet::new().add(100_000).is_err());
    }
}
