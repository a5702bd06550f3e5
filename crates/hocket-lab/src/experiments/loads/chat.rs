//! Chat rooms: what every user says is sent to all others in the room.

use std::io::{self, Read, Write};
use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

use super::loopback::{self, Delay, Exchange, Line, lines};
use super::{Load, Turn, event_loop, tasks};
use crate::harness::turn_threads::{Place, TurnThreads};
use crate::harness::{Check, Fault};

/// Users of a room, as in the chat benchmark of 2000.
pub(in crate::experiments) const USERS: usize = 20;
/// Bytes of a message, as there.
pub(super) const BYTES: usize = 100;

/// How users and server are carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::experiments) enum Mode {
    /// Four threads a user, sockets as the system makes them: as in version 1.0.1.
    Threads,
    /// The same, and small packets are sent at once.
    ThreadsNoDelay,
    /// One thread for the users of some rooms and one for their server, each with a loop over epoll.
    Epoll,
    /// The same threads, each with an asynchronous runtime and a task for each user.
    Tasks,
}

impl Mode {
    pub(in crate::experiments) const ALL: [Mode; 4] =
        [Mode::Threads, Mode::ThreadsNoDelay, Mode::Epoll, Mode::Tasks];

    pub(in crate::experiments) fn name(self) -> &'static str {
        match self {
            Mode::Threads => "threads",
            Mode::ThreadsNoDelay => "threads-nodelay",
            Mode::Epoll => "epoll",
            Mode::Tasks => "tasks",
        }
    }

    fn delay(self) -> Delay {
        match self {
            Mode::ThreadsNoDelay => Delay::Off,
            Mode::Threads | Mode::Epoll | Mode::Tasks => Delay::On,
        }
    }

    /// Whether the system lets it have so many users.
    ///
    /// # Errors
    /// With what helps.
    pub(in crate::experiments) fn probe(self, users: usize) -> Result<(), Fault> {
        match self {
            // A runtime has a descriptor of its own of each end.
            Mode::Tasks => loopback::probe_with_copies(users),
            _ => loopback::probe(users),
        }
    }

    /// What carries out the users of some rooms, and their server, on a thread each.
    fn loops(self) -> Option<Loops> {
        match self {
            Mode::Threads | Mode::ThreadsNoDelay => None,
            Mode::Epoll => Some(Loops { users: event_loop::users, server: event_loop::server }),
            Mode::Tasks => Some(Loops { users: tasks::users, server: tasks::server }),
        }
    }
}

/// Rooms on two threads.
#[derive(Clone, Copy)]
struct Loops {
    users: fn(&[Line], usize, u32) -> io::Result<Vec<Heard>>,
    server: fn(&[Line], u32) -> io::Result<()>,
}

pub(super) type Message = [u8; BYTES];

/// Rooms that stay open from turn to turn; a turn is a conversation in all of them.
pub(in crate::experiments) struct Chat {
    rooms: usize,
    /// That each user says in a turn.
    messages: u32,
    /// Room by room, user by user; none before the first turn and after one that failed.
    lines: Vec<Line>,
    mode: Mode,
}

impl Chat {
    /// So many rooms, in which each user says so many messages in a turn.
    pub(in crate::experiments) fn new(rooms: usize, messages: u32, mode: Mode) -> Chat {
        Chat { rooms, messages, lines: Vec::new(), mode }
    }

    fn talk(&self, cpus: &[u32]) -> Result<Turn, Fault> {
        match self.mode.loops() {
            None => self.talk_in_threads(cpus),
            Some(loops) => self.talk_in_loops(loops, cpus),
        }
    }

    /// Four threads a user, as there: one says, one hears, and on the server's side one takes in and one
    /// passes on.
    fn talk_in_threads(&self, cpus: &[u32]) -> Result<Turn, Fault> {
        let exchange = Exchange::on(&self.lines);
        let desks: Vec<Mutex<()>> = self.lines.iter().map(|_| Mutex::default()).collect();
        let mut team = TurnThreads::new();
        for index in 0..self.lines.len() {
            let exchange = &exchange;
            let seat = Seat { exchange, desks: &desks, index, messages: self.messages };
            let (post, inbox) = channel();
            let place = || Place::among(cpus);
            team = team
                .with(place(), move || seat.silent("a user who says", seat.say()))
                .with(place(), move || exchange.watched("a user who hears", seat.hear()))
                .with(place(), move || seat.silent("the server taking in", seat.take_in(&post)))
                .with(place(), move || seat.silent("the server passing on", seat.pass_on(&inbox)));
        }
        let run = team.run().map_err(|fault| self.refused(fault, 4 * self.lines.len()))?;
        exchange.end()?;
        let (wall_ns, cpu_ns) = (run.wall_ns(), run.cpu_ns());
        let heard: Vec<Heard> = run.into_results().into_iter().flatten().collect();
        Ok(self.told(wall_ns, cpu_ns, &heard))
    }

    /// One thread for the users of some rooms, and one for the server's side of these.
    fn talk_in_loops(&self, loops: Loops, cpus: &[u32]) -> Result<Turn, Fault> {
        let exchange = Exchange::on(&self.lines);
        let many = if cpus.is_empty() { usable_cpus() } else { cpus.len() };
        let rooms_of_each = self.rooms.div_ceil(many.max(1)).max(1);
        let mut team = TurnThreads::new();
        for (at, lines) in self.lines.chunks(rooms_of_each * USERS).enumerate() {
            let (exchange, messages, first) = (&exchange, self.messages, at * rooms_of_each);
            team = team
                .with(Place::among(cpus), move || {
                    exchange.watched("the users", (loops.users)(lines, first, messages))
                })
                .with(Place::among(cpus), move || {
                    let served = (loops.server)(lines, messages).map(|()| Vec::new());
                    exchange.watched("the server", served)
                });
        }
        let run = team.run()?;
        exchange.end()?;
        let (wall_ns, cpu_ns) = (run.wall_ns(), run.cpu_ns());
        let heard: Vec<Heard> = run.into_results().into_iter().flatten().flatten().collect();
        Ok(self.told(wall_ns, cpu_ns, &heard))
    }

    fn told(&self, wall_ns: u64, cpu_ns: Option<u64>, heard: &[Heard]) -> Turn {
        let said = self.lines.len() as u64 * u64::from(self.messages);
        let ops = said + heard.iter().map(Heard::total).sum::<u64>();
        Turn { wall_ns, cpu_ns, ops, bytes: 0, check: self.check(heard), took: Vec::new() }
    }

    fn refused(&self, fault: Fault, threads: usize) -> Fault {
        match fault.0.contains("cannot be started") {
            true => Fault(format!(
                "{fault}; {} rooms need {threads} threads: raise the limit of processes (`ulimit -u`, pids.max)",
                self.rooms
            )),
            false => fault,
        }
    }

    fn check(&self, heard: &[Heard]) -> Check {
        let users = Check::equal("the number of users who heard", heard.len(), self.rooms * USERS);
        heard.iter().fold(users, |check, heard| check.and(heard.check(self.messages)))
    }
}

fn usable_cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl Load for Chat {
    fn turn(&mut self, cpus: &[u32]) -> Result<Turn, Fault> {
        if self.lines.is_empty() {
            self.lines = lines(self.rooms * USERS, self.mode.delay())?;
        }
        let turn = self.talk(cpus);
        if !matches!(&turn, Ok(turn) if turn.check == Check::Passed) {
            // What is left on the lines must not be taken for the next turn's.
            self.lines.clear();
        }
        turn
    }
}

/// One user of one room, and the user's threads at the server.
#[derive(Clone, Copy)]
struct Seat<'a> {
    exchange: &'a Exchange<'a>,
    /// Held by who writes to a user, so that messages do not mix.
    desks: &'a [Mutex<()>],
    index: usize,
    messages: u32,
}

impl Seat<'_> {
    /// Of a thread that has nothing to tell unless it fails.
    fn silent(&self, who: &str, outcome: io::Result<()>) -> Option<Heard> {
        self.exchange.watched(who, outcome).and(None)
    }

    fn line(&self) -> &Line {
        &self.exchange.lines[self.index]
    }

    fn room(&self) -> usize {
        self.index / USERS
    }

    fn all_of_the_room(&self) -> Range<usize> {
        let first = self.room() * USERS;
        first..first + USERS
    }

    fn say(&self) -> io::Result<()> {
        for number in 0..self.messages {
            let message = message(self.room(), self.index % USERS, number);
            (&self.line().client).write_all(&message)?;
        }
        Ok(())
    }

    fn hear(&self) -> io::Result<Heard> {
        let mut heard = Heard::new(self.room(), self.index % USERS);
        let mut message = [0; BYTES];
        for _ in 0..self.messages as usize * (USERS - 1) {
            (&self.line().client).read_exact(&mut message)?;
            heard.take(&message);
        }
        Ok(heard)
    }

    fn take_in(&self, post: &Sender<Message>) -> io::Result<()> {
        let mut message = [0; BYTES];
        for _ in 0..self.messages {
            (&self.line().server).read_exact(&mut message)?;
            post.send(message).map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// Ends when the one who takes in does.
    fn pass_on(&self, inbox: &Receiver<Message>) -> io::Result<()> {
        for _ in 0..self.messages {
            let message = inbox.recv().map_err(io::Error::other)?;
            for other in self.all_of_the_room().filter(|other| *other != self.index) {
                let _desk = self.desks[other].lock().unwrap_or_else(PoisonError::into_inner);
                (&self.exchange.lines[other].server).write_all(&message)?;
            }
        }
        Ok(())
    }
}

/// Room, user and number in front, then bytes that follow from them.
pub(super) fn message(room: usize, user: usize, number: u32) -> Message {
    let start = room * 13 + user * 31 + number as usize * 7;
    let mut message: Message = std::array::from_fn(|at| (start + at) as u8);
    message[0] = user as u8;
    message[1..5].copy_from_slice(&(room as u32).to_le_bytes());
    message[5..9].copy_from_slice(&number.to_le_bytes());
    message
}

/// What one user heard.
#[derive(Debug, Clone)]
pub(super) struct Heard {
    room: usize,
    user: usize,
    /// Of each user, whole and in order.
    from: [u32; USERS],
    wrong: u64,
}

impl Heard {
    pub(super) fn new(room: usize, user: usize) -> Heard {
        Heard { room, user, from: [0; USERS], wrong: 0 }
    }

    /// The room and the user.
    pub(super) fn whose(&self) -> (usize, usize) {
        (self.room, self.user)
    }

    pub(super) fn take(&mut self, got: &Message) {
        let user = usize::from(got[0]);
        match self.from.get_mut(user) {
            Some(next) if *got == message(self.room, user, *next) => *next += 1,
            _ => self.wrong += 1,
        }
    }

    pub(super) fn total(&self) -> u64 {
        self.from.iter().map(|heard| u64::from(*heard)).sum::<u64>() + self.wrong
    }

    fn check(&self, messages: u32) -> Check {
        let at = format!("user {} of room {}", self.user, self.room);
        let wrong = Check::equal(&format!("the number of wrong messages to {at}"), self.wrong, 0);
        self.from.iter().enumerate().fold(wrong, |check, (user, heard)| {
            let due = if user == self.user { 0 } else { messages };
            check.and(Check::equal(
                &format!("the number of messages of user {user} to {at}"),
                *heard,
                due,
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What user 3 of room 1 hears if nothing is lost.
    fn all_heard(messages: u32) -> Heard {
        let mut heard = Heard::new(1, 3);
        for number in 0..messages {
            (0..USERS)
                .filter(|user| *user != 3)
                .for_each(|user| heard.take(&message(1, user, number)));
        }
        heard
    }

    #[test]
    fn a_message_that_is_lost_or_doubled_or_damaged_or_of_another_room_is_found() {
        assert_eq!(all_heard(4).check(4), Check::Passed);
        assert!(matches!(all_heard(3).check(4), Check::Failed(_)));
        let mut damaged = message(1, 5, 4);
        damaged[99] ^= 1;
        for extra in [message(1, 5, 3), damaged, message(0, 5, 4), [255; BYTES]] {
            let mut heard = all_heard(4);
            heard.take(&extra);
            assert!(matches!(heard.check(4), Check::Failed(why) if why.contains("wrong messages")));
        }
        let room = Chat::new(1, 4, Mode::Threads);
        assert!(matches!(room.check(&vec![all_heard(4); USERS - 1]), Check::Failed(_)));
    }

    #[test]
    fn everybody_hears_everybody_else_turn_after_turn() {
        for mode in Mode::ALL {
            let mut chat = Chat::new(2, 3, mode);
            for _ in 0..2 {
                let turn = chat.turn(&[]).unwrap();
                assert_eq!((turn.check, turn.ops), (Check::Passed, 2 * 20 * 3 * 20), "{mode:?}");
            }
        }
    }

    #[test]
    fn after_a_line_is_cut_the_turn_is_a_fault_and_the_next_one_is_not() {
        for mode in Mode::ALL {
            let mut chat = Chat::new(1, 3, mode);
            chat.turn(&[]).unwrap();
            chat.lines[7].server.shutdown(std::net::Shutdown::Both).unwrap();
            assert!(chat.turn(&[]).is_err(), "{mode:?}");
            assert_eq!(chat.turn(&[]).unwrap().check, Check::Passed);
        }
    }

    #[test]
    fn a_limit_of_threads_is_told_with_what_helps() {
        let chat = Chat::new(10, 1, Mode::Threads);
        let fault = chat.refused(Fault::new("thread 300 cannot be started: no"), 800);
        assert!(fault.0.contains("800 threads") && fault.0.contains("ulimit -u"), "{fault}");
        assert_eq!(chat.refused(Fault::new("other"), 800), Fault::new("other"));
    }
}
