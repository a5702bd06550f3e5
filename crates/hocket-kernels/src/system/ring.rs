//! A token that goes round a ring of processes.
#![allow(unsafe_code)]

use std::hint::black_box;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use super::{Operation, Ran, sealed::Sealed};
use crate::sys::calls;
use crate::sys::processes::{Child, fork};

/// So many processes in a ring of pipes. Each reads a token of 4 bytes, counts it up, sums a footprint of its own, and
/// writes the token to the next. On one CPU every hand-over is a switch of processes. What a hand-over costs without a
/// switch is measured by the same calls and sums of one process over as many pipes. The same operation as lmbench's
/// lat_ctx.
#[derive(Debug)]
pub struct Ring {
    processes: usize,
    /// Summed by each; a copy in each process, because each writes to it first.
    footprint: Vec<u64>,
    /// What each pipe of the ring leads from the process before; the first process's comes last.
    pipes: Vec<[OwnedFd; 2]>,
    /// As many pipes of one process.
    own_pipes: Vec<[OwnedFd; 2]>,
    others: Vec<Child>,
    token: u32,
}

impl Ring {
    /// Of at least two processes, with so many bytes each.
    pub fn of(processes: usize, footprint_bytes: usize) -> Ring {
        let processes = processes.max(2);
        Ring {
            processes,
            footprint: vec![0; footprint_bytes / 8],
            // Room for all, because what is forked does not allocate.
            pipes: Vec::with_capacity(processes),
            own_pipes: Vec::with_capacity(processes),
            others: Vec::with_capacity(processes),
            token: 0,
        }
    }

    /// Where process `number` reads and writes.
    fn ends(&self, number: usize) -> Option<(RawFd, RawFd)> {
        let read = self.pipes.get(number)?.first()?;
        let write = self.pipes.get((number + 1) % self.processes)?.last()?;
        Some((read.as_raw_fd(), write.as_raw_fd()))
    }

    /// What the other processes do.
    fn pass_on(&mut self, number: usize) -> libc::c_int {
        let Some((from, to)) = self.ends(number) else { return 1 };
        self.footprint.fill(number as u64);
        let expected = sum(&self.footprint);
        loop {
            let Ok(token) = receive(from) else { return 0 };
            let right = sum(&self.footprint) == expected;
            // A wrong sum breaks the count of the token.
            if send(to, token.wrapping_add(u32::from(right))).is_err() {
                return 1;
            }
        }
    }

    /// One round: as many hand-overs as processes. How many were right.
    fn round(&mut self, from: RawFd, to: RawFd) -> io::Result<u64> {
        send(to, self.token)?;
        let back = receive(from)?;
        black_box(sum(&self.footprint));
        let counted = back.wrapping_sub(self.token);
        self.token = back;
        let others = self.processes as u32 - 1;
        Ok(if counted == others { self.processes as u64 } else { 0 })
    }

    /// The same calls and sums without another process.
    fn round_alone(&mut self) -> io::Result<()> {
        for [from, to] in &self.own_pipes {
            send(to.as_raw_fd(), self.token)?;
            black_box(receive(from.as_raw_fd())?);
            black_box(sum(&self.footprint));
        }
        Ok(())
    }
}

fn send(to: RawFd, token: u32) -> io::Result<()> {
    calls::write_all(to, &token.to_ne_bytes())
}

fn receive(from: RawFd) -> io::Result<u32> {
    let mut bytes = [0; 4];
    calls::read_exact(from, &mut bytes)?;
    Ok(u32::from_ne_bytes(bytes))
}

fn sum(words: &[u64]) -> u64 {
    black_box(words).iter().fold(0, |sum, word| sum.wrapping_add(*word))
}

impl Sealed for Ring {}

impl Operation for Ring {
    fn begin(&mut self) -> io::Result<()> {
        self.end();
        for _ in 0..self.processes {
            self.pipes.push(calls::pipe()?);
            self.own_pipes.push(calls::pipe()?);
        }
        for number in 1..self.processes {
            // SAFETY: CHILD: reads, writes and sums.
            let other = unsafe { fork(|| self.pass_on(number)) }?;
            self.others.push(other);
        }
        self.footprint.fill(1);
        Ok(())
    }

    fn run(&mut self, times: u64) -> io::Result<Ran> {
        let (from, to) = self.ends(0).ok_or(io::ErrorKind::NotConnected)?;
        let rounds = times.div_ceil(self.processes as u64).max(1);
        let start_ns = calls::now_ns();
        let mut right = 0;
        for _ in 0..rounds {
            right += self.round(from, to)?;
        }
        let ns = calls::now_ns() - start_ns;
        let start_ns = calls::now_ns();
        for _ in 0..rounds {
            self.round_alone()?;
        }
        let without_switches_ns = calls::now_ns() - start_ns;
        Ok(Ran { ns, times: rounds * self.processes as u64, right, without_switches_ns })
    }

    fn end(&mut self) {
        self.others.clear();
        self.pipes.clear();
        self.own_pipes.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::all_right;
    use super::*;

    #[test]
    fn the_token_passes_every_process() {
        for (processes, bytes) in [(2, 0), (5, 16 << 10)] {
            all_right(Ring::of(processes, bytes), 40);
        }
    }

    #[test]
    fn a_process_that_is_left_out_is_found() {
        let mut ring = Ring::of(3, 8);
        for _ in 0..3 {
            ring.pipes.push(calls::pipe().unwrap());
        }
        // The first process talks to itself: the token comes back uncounted.
        let [from, to] = calls::pipe().unwrap();
        assert_eq!(ring.round(from.as_raw_fd(), to.as_raw_fd()).unwrap(), 0);
        assert!(Ring::of(2, 0).run(1).is_err(), "it has not begun");
    }
}
