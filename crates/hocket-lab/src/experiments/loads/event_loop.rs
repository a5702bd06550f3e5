//! Chat rooms without a thread for each user: loops that wait for many connections at once (epoll).
//!
//! Each message is one write, as in the threads. What a connection does not take waits in a buffer of its own, so a loop never
//! waits for a single user.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;

use rustix::event::{Timespec, epoll};

use super::chat::{BYTES, Heard, Message, USERS, message};
use super::loopback::{Line, PATIENCE};

/// Of a connection, at most so many bytes are read at a time.
const PIECE: usize = 4096;
/// Connections of which a loop hears at a time.
const HEARD_AT_ONCE: usize = 64;

/// The users of these rooms, the first of which has this number: what each heard.
pub(super) fn users(lines: &[Line], first_room: usize, messages: u32) -> io::Result<Vec<Heard>> {
    let mut all = Loop::over(lines.iter().map(|line| &line.client))?;
    let user = |at: usize| (first_room + at / USERS, at % USERS);
    let mut heard: Vec<Heard> =
        (0..lines.len()).map(|at| Heard::new(user(at).0, user(at).1)).collect();
    for (at, connection) in all.connections.iter_mut().enumerate() {
        let (room, user) = user(at);
        (0..messages).for_each(|number| connection.add(&message(room, user, number)));
    }
    let due = (lines.len() * (USERS - 1)) as u64 * u64::from(messages);
    let mut total = 0;
    all.write(0..lines.len())?;
    while total < due || !all.is_written() {
        for at in all.wait()? {
            let own = &mut heard[at];
            total += all.connections[at].read(|got| own.take(got))?;
            all.write([at])?;
        }
    }
    Ok(heard)
}

/// The server of these rooms: passes on what each user says to the others of the room.
pub(super) fn server(lines: &[Line], messages: u32) -> io::Result<()> {
    let mut all = Loop::over(lines.iter().map(|line| &line.server))?;
    let due = lines.len() as u64 * u64::from(messages);
    let mut total = 0;
    let mut got: Vec<Message> = Vec::new();
    while total < due || !all.is_written() {
        for at in all.wait()? {
            got.clear();
            total += all.connections[at].read(|message| got.push(*message))?;
            let first = at / USERS * USERS;
            let others = || (first..first + USERS).filter(|other| *other != at);
            for message in &got {
                others().for_each(|other| all.connections[other].add(message));
            }
            all.write(first..first + USERS)?;
        }
    }
    Ok(())
}

/// Connections that are waited for together.
struct Loop<'a> {
    queue: OwnedFd,
    connections: Vec<Connection<'a>>,
    events: Vec<epoll::Event>,
}

impl<'a> Loop<'a> {
    fn over(streams: impl Iterator<Item = &'a TcpStream>) -> io::Result<Loop<'a>> {
        let queue = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let mut connections = Vec::new();
        for (at, stream) in streams.enumerate() {
            stream.set_nonblocking(true)?;
            epoll::add(
                &queue,
                stream,
                epoll::EventData::new_u64(at as u64),
                epoll::EventFlags::IN,
            )?;
            connections.push(Connection::on(stream));
        }
        Ok(Loop { queue, connections, events: Vec::with_capacity(HEARD_AT_ONCE) })
    }

    /// Connections of which something can be read, or to which something can be written again.
    fn wait(&mut self) -> io::Result<Vec<usize>> {
        let patience = Timespec { tv_sec: PATIENCE.as_secs() as i64, tv_nsec: 0 };
        self.events.clear();
        let room = rustix::buffer::spare_capacity(&mut self.events);
        let count = match epoll::wait(&self.queue, room, Some(&patience)) {
            Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
            waited => waited?,
        };
        if count == 0 {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(self.events.iter().map(|event| event.data.u64() as usize).collect())
    }

    /// Writes to these what they take, and waits for those that do not take all.
    fn write(&mut self, to: impl IntoIterator<Item = usize>) -> io::Result<()> {
        for at in to {
            let connection = &mut self.connections[at];
            let was_full = connection.is_full;
            connection.write()?;
            if connection.is_full != was_full {
                let mut events = epoll::EventFlags::IN;
                events.set(epoll::EventFlags::OUT, connection.is_full);
                let mark = epoll::EventData::new_u64(at as u64);
                epoll::modify(&self.queue, connection.stream, mark, events)?;
            }
        }
        Ok(())
    }

    fn is_written(&self) -> bool {
        self.connections.iter().all(|connection| connection.out.is_empty())
    }
}

/// One end, with what is not whole yet and what is not written yet.
struct Connection<'a> {
    stream: &'a TcpStream,
    part: Vec<u8>,
    out: Vec<u8>,
    written: usize,
    /// It took less than all the last time.
    is_full: bool,
}

impl<'a> Connection<'a> {
    fn on(stream: &'a TcpStream) -> Connection<'a> {
        Connection { stream, part: Vec::new(), out: Vec::new(), written: 0, is_full: false }
    }

    fn add(&mut self, message: &Message) {
        self.out.extend_from_slice(message);
    }

    /// Reads once, and returns how many messages were completed.
    fn read(&mut self, mut take: impl FnMut(&Message)) -> io::Result<u64> {
        let mut piece = [0; PIECE];
        match self.stream.read(&mut piece) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => self.part.extend_from_slice(&piece[..count]),
            Err(error) if is_for_later(&error) => return Ok(0),
            Err(error) => return Err(error),
        }
        let (whole, _) = self.part.as_chunks::<BYTES>();
        whole.iter().for_each(&mut take);
        let count = whole.len();
        self.part.drain(..count * BYTES);
        Ok(count as u64)
    }

    /// One write a message, as far as they are taken.
    fn write(&mut self) -> io::Result<()> {
        self.is_full = false;
        while self.written < self.out.len() {
            let end = (self.written / BYTES + 1) * BYTES;
            match self.stream.write(&self.out[self.written..end]) {
                Ok(count) => self.written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_for_later(&error) => {
                    self.is_full = true;
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        self.out.clear();
        self.written = 0;
        Ok(())
    }
}

fn is_for_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::super::loopback::{Delay, lines};
    use super::*;

    #[test]
    fn what_a_connection_does_not_take_is_written_later() {
        let lines = lines(1, Delay::On).unwrap();
        let mut all = Loop::over([&lines[0].client].into_iter()).unwrap();
        // More than the buffers of both ends hold.
        let many = 200_000_u32;
        (0..many).for_each(|number| all.connections[0].add(&message(0, 0, number)));
        all.write([0]).unwrap();
        assert!(all.connections[0].is_full && !all.is_written());
        let mut reader = Connection::on(&lines[0].server);
        let mut next = 0;
        while next < many {
            reader
                .read(|got| {
                    assert_eq!(*got, message(0, 0, next));
                    next += 1;
                })
                .unwrap();
            all.write([0]).unwrap();
        }
        assert!(all.is_written() && !all.connections[0].is_full);
    }

    #[test]
    fn an_end_that_is_gone_is_an_error() {
        let lines = lines(USERS, Delay::On).unwrap();
        lines[3].client.shutdown(std::net::Shutdown::Both).unwrap();
        assert!(server(&lines, 1).is_err());
        assert!(users(&lines, 0, 1).is_err());
    }
}
