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

    /// Where there is no room, one makes room that has its answer, or else the first that has asked for nothing yet, or else
    /// the first that takes its answer slowly: those who dawdle together keep nobody out.
    fn welcome(&mut self, newcomer: Option<Connection>) {
        let Some(mut newcomer) = newcomer else { return };
        if self.all.len() >= MOST {
            let answered = self.all.iter().position(Connection::is_answered);
            let reading = || self.all.iter().position(Connection::is_reading);
            let now = Instant::now();
            let slow = || self.all.iter().position(|it| it.is_slow(now));
            match answered.or_else(reading).or_else(slow) {
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

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpStream};

    use super::*;

    fn connections() -> Connections {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        Connections::new(listener)
    }

    /// Somebody who has come.
    fn come(to: &mut Connections) -> TcpStream {
        let stream = TcpStream::connect(to.listener.local_addr().unwrap()).unwrap();
        // The system has it when `connect` returns.
        assert_eq!(to.take(1), 0);
        stream
    }

    /// Who is there.
    fn ports(of: &Connections) -> Vec<u16> {
        of.all.iter().map(Connection::from).map(|from: SocketAddr| from.port()).collect()
    }

    #[test]
    fn those_who_take_their_answers_slowly_keep_nobody_out() {
        let mut connections = connections();
        let mut browsers = Vec::new();
        for _ in 0..MOST {
            browsers.push(come(&mut connections));
            // Nothing is sent here, so nobody has taken anything.
            connections.all.last_mut().unwrap().answer(&Answer::text(Status::Done, "page"));
        }
        let before = ports(&connections);
        let refused = come(&mut connections);
        assert_eq!(ports(&connections)[..MOST], before, "each has its time");
        assert!(!connections.all[MOST].is_reading(), "it is told that there is no room");
        connections.all.truncate(MOST);
        for slow in [5, 20] {
            connections.all[slow].grow_old();
        }
        for left in [5, 20 - 1] {
            let mut expected = ports(&connections);
            expected.remove(left);
            browsers.push(come(&mut connections));
            expected.push(browsers.last().unwrap().local_addr().unwrap().port());
            assert_eq!(ports(&connections), expected);
            let newest = connections.all.last_mut().unwrap();
            assert!(newest.is_reading());
            newest.answer(&Answer::text(Status::Done, "page"));
        }
        drop((browsers, refused));
    }
}
