//! All connections of one port. Nothing here waits for a browser.

use std::io::ErrorKind;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::connection::Connection;
use super::{Answer, Status};

/// Connections at once.
const MOST: usize = 48;
/// Connections that are taken in one go; others wait in the system's queue.
pub(crate) const TAKEN_AT_ONCE: usize = 32;

/// A port with who has come.
pub(crate) struct Connections {
    listener: TcpListener,
    /// Those who are there.
    pub(crate) all: Vec<Connection>,
}

impl Connections {
    /// `listener` does not block.
    pub(crate) fn new(listener: TcpListener) -> Connections {
        Connections { listener, all: Vec::new() }
    }

    /// Until somebody comes, sends or takes something, or for this time. `takes`: whether it matters that somebody comes.
    pub(crate) fn wait(&self, time: Duration, takes: bool) {
        let mut fds: Vec<PollFd<'_>> = self.all.iter().map(Connection::awaited).collect();
        if takes {
            fds.push(PollFd::new(&self.listener, PollFlags::IN));
        }
        let time = Timespec::try_from(time).ok();
        if poll(&mut fds, time.as_ref()).is_err() {
            // Such as a signal: the next round looks anew.
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Takes who has come, `most` at once. Returns how many may still come.
    pub(crate) fn take(&mut self, most: usize) -> usize {
        for left in (0..most).rev() {
            match self.listener.accept() {
                Ok((stream, from)) => self.welcome(Connection::new(stream, from)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return left + 1,
                // Such as too many open files: that takes a while.
                Err(_) => return 0,
            }
        }
        0
    }

    /// Where there is no room, one makes room that has its answer, or else the first that has asked for nothing yet.
    fn welcome(&mut self, newcomer: Option<Connection>) {
        let Some(mut newcomer) = newcomer else { return };
        if self.all.len() >= MOST {
            let answered = self.all.iter().position(Connection::is_answered);
            let reading = || self.all.iter().position(Connection::is_reading);
            match answered.or_else(reading) {
                Some(idle) => drop(self.all.remove(idle)),
                None => newcomer.answer(&Answer::text(Status::Busy, "too many browsers at once")),
            }
        }
        // A few more may be on their way out.
        if self.all.len() < 2 * MOST {
            self.all.push(newcomer);
        }
    }

    /// Sends what each takes now, and forgets those that have ended or have taken too long.
    pub(crate) fn send(&mut self, now: Instant) {
        self.all.iter_mut().for_each(Connection::send);
        self.all.retain(|connection| !connection.is_over(now));
    }
}
