//! Ways to learn that it is one's turn.

use std::fmt;
use std::str::FromStr;

use hocket_rt::Strategy;

/// How a thread waits for its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// An empty loop that reads the owner.
    Empty,
    /// The same with PAUSE.
    Pause,
    /// The same with `sched_yield`.
    Yield,
    /// Hocket's own signal and way of waiting, as workers wait for each other in a block.
    Signal(Strategy),
    /// A futex: sleeps at once.
    Futex,
    /// A mutex and a condition variable.
    Condvar,
    /// Two semaphores of POSIX.
    Semaphore,
    /// Two eventfds.
    Eventfd,
    /// Two pipes.
    Pipe,
}

impl Way {
    /// All.
    pub const ALL: [Way; 17] = [
        Way::Empty,
        Way::Pause,
        Way::Yield,
        Way::Signal(Strategy::Spin),
        Way::Signal(Strategy::Pause),
        Way::Signal(Strategy::Yield),
        Way::Signal(Strategy::Tpause),
        Way::Signal(Strategy::Umwait),
        Way::Signal(Strategy::Mwaitx),
        Way::Signal(Strategy::Wfe),
        Way::Signal(Strategy::Hybrid),
        Way::Signal(Strategy::Futex),
        Way::Futex,
        Way::Condvar,
        Way::Semaphore,
        Way::Eventfd,
        Way::Pipe,
    ];

    /// Why this machine has it not; `None` if it has.
    pub fn missing(self) -> Option<&'static str> {
        match self {
            Way::Signal(strategy) => strategy.missing(),
            Way::Eventfd if !cfg!(target_os = "linux") => Some("only Linux has eventfd"),
            Way::Semaphore if !cfg!(unix) || cfg!(target_vendor = "apple") => {
                Some("this system has no unnamed semaphores of POSIX")
            }
            Way::Pipe if !cfg!(unix) => Some("this system has no pipes of POSIX"),
            _ => None,
        }
    }

    /// Those that this machine has.
    pub fn here() -> impl Iterator<Item = Way> {
        Way::ALL.into_iter().filter(|way| way.missing().is_none())
    }

    /// Whether the other thread must have a CPU of its own: on a shared one a turn takes a time slice.
    pub fn needs_two_cpus(self) -> bool {
        use Strategy::{Futex, Hybrid, Yield};
        match self {
            Way::Empty | Way::Pause => true,
            Way::Signal(strategy) => !matches!(strategy, Futex | Hybrid | Yield),
            _ => false,
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Way::Empty => "empty",
            Way::Pause => "pause",
            Way::Yield => "yield",
            Way::Signal(strategy) => return f.pad(&format!("signal-{strategy}")),
            Way::Futex => "futex",
            Way::Condvar => "condvar",
            Way::Semaphore => "semaphore",
            Way::Eventfd => "eventfd",
            Way::Pipe => "pipe",
        };
        f.pad(name)
    }
}

impl FromStr for Way {
    type Err = ParseWayError;

    fn from_str(text: &str) -> Result<Way, ParseWayError> {
        let named = Way::ALL.into_iter().find(|way| way.to_string() == text);
        named.ok_or_else(|| ParseWayError { text: text.into() })
    }
}

/// Text that is not the name of a way to take turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseWayError {
    text: String,
}

impl fmt::Display for ParseWayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Way::ALL.map(|way| way.to_string()).join(", ");
        write!(f, "unknown way to take turns '{}': use one of {names}", self.text)
    }
}

impl std::error::Error for ParseWayError {}
