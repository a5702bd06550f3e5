//! One connection: what it has sent, what it has still to take, and for how long it may stay. Nothing here waits.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::net::sockopt::set_socket_send_buffer_size;

use super::{Answer, Refused, Request, read, stream_head};

/// How long a request may take to come. An answer and an update are given up when nothing of them was taken for so long.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the rest of a request that was refused is thrown away. A connection that is closed before that may lose its answer.
const DRAIN: Duration = Duration::from_secs(1);
/// So much is thrown away at most, in bytes.
const DRAINED: usize = 64 << 10;
/// The system keeps so much for a watcher, in bytes: a few updates. More would be old news when it comes. A page is no news, so
/// for other answers the system keeps what it likes.
const KEPT: usize = 16 << 10;

/// A browser, or something that looks like one.
pub(crate) struct Connection {
    stream: TcpStream,
    from: SocketAddr,
    input: Vec<u8>,
    output: Vec<u8>,
    /// Of the output.
    sent: usize,
    state: State,
    /// When the state began.
    begun: Instant,
    /// When the state began, something was last taken, or a watcher got an update.
    since: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// A request is on its way.
    Reads,
    /// An answer is.
    Answers,
    /// Updates, until somebody ends it; which state of the strips it has, 0 for none.
    Watches(u64),
    /// The answer was taken; so much of the rest was thrown away.
    Drains(usize),
    Over,
}

/// What came.
pub(crate) enum Received {
    /// Nothing that is complete.
    Nothing,
    Request(Request),
    Refused(Refused),
}

impl Connection {
    /// `None`: it has gone already.
    pub(crate) fn new(stream: TcpStream, from: SocketAddr) -> Option<Connection> {
        stream.set_nonblocking(true).ok()?;
        // An update is small and wants to arrive.
        let _ = stream.set_nodelay(true);
        let (input, output) = (Vec::new(), Vec::new());
        let (state, now) = (State::Reads, Instant::now());
        Some(Connection { stream, from, input, output, sent: 0, state, begun: now, since: now })
    }

    pub(crate) fn from(&self) -> SocketAddr {
        self.from
    }

    /// Whether it has asked for nothing yet.
    pub(crate) fn is_reading(&self) -> bool {
        self.state == State::Reads
    }

    /// Whether all of its answer was sent.
    pub(crate) fn is_answered(&self) -> bool {
        matches!(self.state, State::Drains(_))
    }

    /// Whether its answer has been under way for so long that another may have its place.
    pub(crate) fn is_slow(&self, now: Instant) -> bool {
        self.state == State::Answers && now.saturating_duration_since(self.begun) > PATIENCE
    }

    pub(crate) fn is_watching(&self) -> bool {
        self.strips_seen().is_some()
    }

    /// Of a watcher: which state of the strips it has, 0 for none.
    pub(crate) fn strips_seen(&self) -> Option<u64> {
        match self.state {
            State::Watches(strips) => Some(strips),
            _ => None,
        }
    }

    /// What the thread waits for.
    pub(crate) fn awaited(&self) -> PollFd<'_> {
        let flags = if self.has_unsent() { PollFlags::OUT } else { PollFlags::IN };
        PollFd::new(&self.stream, flags)
    }

    fn has_unsent(&self) -> bool {
        self.sent < self.output.len()
    }

    /// Whether it has ended, or has taken too long.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        let took = now.saturating_duration_since(self.since);
        match self.state {
            State::Reads | State::Answers => took > PATIENCE,
            State::Watches(_) => self.has_unsent() && took > PATIENCE,
            State::Drains(_) => took > DRAIN,
            State::Over => true,
        }
    }

    fn go_on(&mut self, state: State) {
        self.state = state;
        self.begun = Instant::now();
        self.since = self.begun;
    }

    /// Takes what has come.
    pub(crate) fn receive(&mut self) -> Received {
        if self.state == State::Answers {
            // Whether it still takes something is found out by sending.
            return Received::Nothing;
        }
        let mut bytes = [0; 4096];
        // Once: a fast sender has to wait for the others.
        let count = match self.stream.read(&mut bytes) {
            Ok(0) => {
                // A request of which the end will never come, or nobody who takes an answer.
                self.state = State::Over;
                return Received::Nothing;
            }
            Ok(count) => count,
            Err(error) => {
                if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) {
                    self.state = State::Over;
                }
                return Received::Nothing;
            }
        };
        match self.state {
            State::Reads => self.input.extend_from_slice(&bytes[..count]),
            State::Drains(before) if before + count <= DRAINED => {
                self.state = State::Drains(before + count);
                return Received::Nothing;
            }
            // A watcher has nothing to say.
            _ => {
                self.state = State::Over;
                return Received::Nothing;
            }
        }
        match read(&self.input) {
            Ok(None) => Received::Nothing,
            Ok(Some(request)) => Received::Request(request),
            Err(refused) => Received::Refused(refused),
        }
    }

    /// Answers, and ends when that is taken.
    pub(crate) fn answer(&mut self, answer: &Answer) {
        self.output = answer.bytes();
        self.input = Vec::new();
        self.go_on(State::Answers);
    }

    /// From now on it gets updates.
    pub(crate) fn watch(&mut self, first: &[u8]) {
        let _ = set_socket_send_buffer_size(&self.stream, KEPT);
        self.output = stream_head();
        self.output.extend_from_slice(first);
        self.input = Vec::new();
        self.go_on(State::Watches(0));
    }

    /// Gives a watcher an update, and the strips if it does not know them. Returns whether it had taken the last one: if not,
    /// it gets none.
    pub(crate) fn update(&mut self, now: &[u8], changes: u64, strips: &[u8]) -> bool {
        let State::Watches(seen) = self.state else { return false };
        if self.has_unsent() {
            return false;
        }
        (self.output, self.sent) = (now.to_vec(), 0);
        if seen != changes {
            self.output.extend_from_slice(strips);
        }
        self.go_on(State::Watches(changes));
        true
    }

    /// The last that a watcher gets, if it takes it at once.
    pub(crate) fn end(&mut self, last: &[u8]) {
        if !self.has_unsent() {
            (self.output, self.sent) = (last.to_vec(), 0);
            self.send();
        }
    }

    /// Sends what it takes now.
    pub(crate) fn send(&mut self) {
        while self.has_unsent() {
            match self.stream.write(&self.output[self.sent..]) {
                Ok(count @ 1..) => {
                    self.sent += count;
                    self.since = Instant::now();
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Ok(0) | Err(_) => {
                    self.state = State::Over;
                    return;
                }
            }
        }
        if self.state == State::Answers {
            self.output = Vec::new();
            self.sent = 0;
            // Says that this was all; what is still on its way here is thrown away.
            let _ = self.stream.shutdown(std::net::Shutdown::Write);
            self.go_on(State::Drains(0));
        }
    }
}

#[cfg(test)]
impl Connection {
    /// As if its state had begun long before.
    pub(super) fn grow_old(&mut self) {
        self.begun = self.begun.checked_sub(2 * PATIENCE).unwrap();
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn an_answer_that_is_being_taken_has_time() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let _browser = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, from) = listener.accept().unwrap();
        let mut connection = Connection::new(stream, from).unwrap();
        // More than the system keeps of it, and nobody reads.
        connection.answer(&Answer::file(vec![b'x'; 64 << 20]));
        let long_ago = Instant::now().checked_sub(2 * PATIENCE).unwrap();
        loop {
            let before = connection.sent;
            connection.since = long_ago;
            connection.send();
            let is_taken = connection.sent > before;
            assert_eq!(connection.is_over(long_ago + 2 * PATIENCE), !is_taken);
            if !is_taken {
                break;
            }
        }
        assert!(connection.sent > KEPT && connection.has_unsent());
    }
}
