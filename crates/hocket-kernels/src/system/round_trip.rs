//! A byte to another process and back.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use super::{Operation, Ran, repeated_while_ok, sealed::Sealed};
use crate::sys::calls;
use crate::sys::processes::{Child, fork};

/// One end of a connection: where its process reads, and where it writes.
#[derive(Debug)]
pub struct End {
    reader: OwnedFd,
    /// `None`: the reader is written to, too.
    writer: Option<OwnedFd>,
}

impl End {
    /// Of one descriptor that both is read from and written to: a socket.
    pub fn both_ways(socket: OwnedFd) -> End {
        End { reader: socket, writer: None }
    }

    /// Of two.
    pub fn of(reader: OwnedFd, writer: OwnedFd) -> End {
        End { reader, writer: Some(writer) }
    }

    fn read_from(&self) -> RawFd {
        self.reader.as_raw_fd()
    }

    fn written_to(&self) -> RawFd {
        self.writer.as_ref().unwrap_or(&self.reader).as_raw_fd()
    }
}

/// A byte goes to another process, which sends it back. A round trip has both ways and, where the two share a CPU, two
/// switches of processes: the same as lmbench's lat_pipe, lat_unix, lat_tcp and lat_udp.
#[derive(Debug)]
pub struct RoundTrip {
    own: End,
    other: End,
    partner: Option<Child>,
    token: u8,
}

impl RoundTrip {
    /// Between two connected ends.
    pub fn between(own: End, other: End) -> RoundTrip {
        RoundTrip { own, other, partner: None, token: 0 }
    }

    /// By two pipes.
    ///
    /// # Errors
    /// Without descriptors.
    pub fn by_pipes() -> io::Result<RoundTrip> {
        let [own_reader, other_writer] = calls::pipe()?;
        let [other_reader, own_writer] = calls::pipe()?;
        Ok(RoundTrip::between(End::of(own_reader, own_writer), End::of(other_reader, other_writer)))
    }
}

/// Sends back what comes, until nothing comes any more.
fn echo(end: &End) -> libc::c_int {
    let mut byte = [0];
    let ended = loop {
        let read = calls::read_exact(end.read_from(), &mut byte);
        if let Err(error) = read.and_then(|()| calls::write_all(end.written_to(), &byte)) {
            break error;
        }
    };
    i32::from(ended.kind() != io::ErrorKind::UnexpectedEof)
}

impl Sealed for RoundTrip {}

impl Operation for RoundTrip {
    fn begin(&mut self) -> io::Result<()> {
        // SAFETY: CHILD: reads and writes.
        self.partner = Some(unsafe { fork(|| echo(&self.other)) }?);
        Ok(())
    }

    fn run(&mut self, times: u64) -> io::Result<Ran> {
        repeated_while_ok(times, || {
            self.token = self.token.wrapping_add(1);
            calls::write_all(self.own.written_to(), &[self.token])?;
            let mut back = [0];
            calls::read_exact(self.own.read_from(), &mut back)?;
            Ok(back == [self.token])
        })
    }

    fn end(&mut self) {
        self.partner = None;
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::super::tests::all_right;
    use super::*;

    #[test]
    fn bytes_come_back_by_pipes_and_by_sockets() {
        all_right(RoundTrip::by_pipes().unwrap(), 30);
        let (one, other) = UnixStream::pair().unwrap();
        let ends = [one, other].map(|socket| End::both_ways(socket.into()));
        let [own, other] = ends;
        all_right(RoundTrip::between(own, other), 30);
    }

    #[test]
    fn a_byte_that_is_not_the_one_that_went_is_found() {
        let mut trip = RoundTrip::by_pipes().unwrap();
        // In place of a partner: an answer of before.
        calls::write_all(trip.other.written_to(), &[77]).unwrap();
        assert_eq!(trip.run(1).unwrap().right, 0);
    }
}
