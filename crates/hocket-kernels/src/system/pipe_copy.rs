//! Bytes through a pipe, in one process.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::{Operation, Ran, repeated_while_ok, sealed::Sealed};
use crate::sys::calls;

/// Bytes of a piece; a pipe holds more.
const PIECE: usize = 1024;

/// A process writes a piece into a pipe and reads it back: no other process, no switch. The same operation as AIM9's pipe_cpy
/// by its description.
#[derive(Debug, Default)]
pub struct PipeCopy {
    ends: Option<[OwnedFd; 2]>,
    number: u8,
}

impl PipeCopy {
    /// The pipe is made when it begins.
    pub fn new() -> PipeCopy {
        PipeCopy::default()
    }
}

impl Sealed for PipeCopy {}

impl Operation for PipeCopy {
    fn begin(&mut self) -> io::Result<()> {
        self.ends = Some(calls::pipe()?);
        Ok(())
    }

    fn run(&mut self, times: u64) -> io::Result<Ran> {
        let [reader, writer] = self.ends.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let (reader, writer) = (reader.as_raw_fd(), writer.as_raw_fd());
        let number = &mut self.number;
        let mut back = [0; PIECE];
        repeated_while_ok(times, || {
            *number = number.wrapping_add(1);
            calls::write_all(writer, &[*number; PIECE])?;
            calls::read_exact(reader, &mut back)?;
            Ok(back[0] == *number && back[PIECE - 1] == *number)
        })
    }

    fn end(&mut self) {
        self.ends = None;
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::all_right;
    use super::*;

    #[test]
    fn every_piece_comes_back() {
        all_right(PipeCopy::new(), 20);
    }

    #[test]
    fn a_piece_of_before_is_wrong_and_no_pipe_is_an_error() {
        assert!(PipeCopy::new().run(1).is_err());
        let mut copy = PipeCopy::new();
        copy.begin().unwrap();
        let writer = copy.ends.as_ref().unwrap()[1].as_raw_fd();
        calls::write_all(writer, &[200; PIECE]).unwrap();
        assert_eq!(copy.run(1).unwrap().right, 0);
    }
}
