//! The strategies by name, and which of them this CPU has.

use crate::wait::cpu::Quiet;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// How a thread waits.
///
/// For the fallback when the CPU lacks an instruction, see [`Wait::new`](crate::Wait::new).
/// [`Strategy::missing`] says whether it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Strategy {
    /// Looks again and again without any hint to the core. It answers fastest, and leaves half a core to the
    /// sibling. Never blocks.
    Spin,
    /// Spins with the instruction that tells the core so (PAUSE on x86-64, ISB on arm64). Never blocks.
    Pause,
    /// Offers its CPU to others again and again (`sched_yield`). Never blocks.
    ///
    /// It is for ordinary threads, if there are more of them than CPUs. Under `SCHED_FIFO` only threads of the
    /// same priority take the offer. So if the thread waits for an ordinary one on the same CPU, that one never
    /// runs. Every offer is a system call that takes the lock of the CPU's run queue.
    Yield,
    /// Rests for a microsecond between two looks, in a light sleep of the core that leaves the
    /// execution units to the sibling (TPAUSE, state C0.2). Never blocks.
    Tpause,
    /// Rests in that same light sleep until another thread writes to the word it waits for (UMONITOR and
    /// UMWAIT). Never blocks.
    Umwait,
    /// The same with AMD's instructions, MONITORX and MWAITX. Never blocks.
    Mwaitx,
    /// The same on arm64: a load that arms the monitor, then WFET, or WFE if the system's event stream bounds
    /// it. Never blocks.
    Wfe,
    /// Spins for a bounded time like [`Strategy::Pause`], then blocks.
    ///
    /// It uses PAUSE even if the CPU has a quieter rest. It expects the answer during the spin, so its looks
    /// should be close together.
    Hybrid,
    /// Blocks at once.
    Futex,
}

impl Strategy {
    /// All of them, ordered by what they cost the other threads of the machine, most expensive first.
    pub const ALL: [Strategy; 9] = [
        Strategy::Spin,
        Strategy::Pause,
        Strategy::Yield,
        Strategy::Tpause,
        Strategy::Umwait,
        Strategy::Mwaitx,
        Strategy::Wfe,
        Strategy::Hybrid,
        Strategy::Futex,
    ];

    /// How long a thread usually spins: `hybrid` before it blocks, and, if threads share a CPU, any spin
    /// before it yields. It is twice the usual wake-up of 6 to 9 µs. For a shorter wait, a spin is cheaper.
    pub const USUAL_SPIN: Duration = Duration::from_micros(20);

    /// Its name in files, options and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Strategy::Spin => "spin",
            Strategy::Pause => "pause",
            Strategy::Yield => "yield",
            Strategy::Tpause => "tpause",
            Strategy::Umwait => "umwait",
            Strategy::Mwaitx => "mwaitx",
            Strategy::Wfe => "wfe",
            Strategy::Hybrid => "hybrid",
            Strategy::Futex => "futex",
        }
    }

    /// Why this CPU cannot use it; `None` if it can.
    ///
    /// A hypervisor may hide an instruction that the CPU has. Then it is missing. Thread: any. Cost: the first
    /// call asks the CPU, which takes microseconds in a virtual machine. A later call costs a load.
    ///
    /// ```
    /// use hocket_rt::Strategy;
    ///
    /// assert_eq!(Strategy::Pause.missing(), None);
    /// match Strategy::Umwait.missing() {
    ///     Some(why) => println!("{}: not possible here: {why}", Strategy::Umwait),
    ///     None => println!("{} is there", Strategy::Umwait),
    /// }
    /// ```
    pub fn missing(self) -> Option<&'static str> {
        self.quiet()?.err()
    }

    /// The strategies that this CPU can use, in the order of [`Strategy::ALL`].
    ///
    /// ```
    /// use hocket_rt::Strategy;
    ///
    /// let here: Vec<&str> = Strategy::here().map(Strategy::name).collect();
    /// assert!(here.starts_with(&["spin", "pause", "yield"]) && here.ends_with(&["hybrid", "futex"]));
    /// ```
    pub fn here() -> impl Iterator<Item = Strategy> {
        Strategy::ALL.into_iter().filter(|strategy| strategy.missing().is_none())
    }

    /// The instruction for its rests, or why that is missing. `None` if it needs none.
    pub(crate) fn quiet(self) -> Option<Result<Quiet, &'static str>> {
        match self {
            Strategy::Tpause => Some(Quiet::tpause()),
            Strategy::Umwait => Some(Quiet::umwait()),
            Strategy::Mwaitx => Some(Quiet::mwaitx()),
            Strategy::Wfe => Some(Quiet::wfe()),
            Strategy::Spin | Strategy::Pause | Strategy::Yield => None,
            Strategy::Hybrid | Strategy::Futex => None,
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Strategy {
    type Err = ParseStrategyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Strategy::ALL
            .into_iter()
            .find(|strategy| strategy.name() == text)
            .ok_or_else(|| ParseStrategyError { text: text.into() })
    }
}

/// The text is not the name of a strategy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseStrategyError {
    text: String,
}

impl fmt::Display for ParseStrategyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Strategy::ALL.map(Strategy::name).join(", ");
        write!(f, "unknown way of waiting '{}': use one of {names}", self.text)
    }
}

impl std::error::Error for ParseStrategyError {}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for strategy in Strategy::ALL {
            assert_eq!(strategy.to_string().parse(), Ok(strategy));
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let error = "sleep".parse::<Strategy>().unwrap_err().to_string();
        let names = "spin, pause, yield, tpause, umwait, mwaitx, wfe, hybrid, futex";
        assert_eq!(error, format!("unknown way of waiting 'sleep': use one of {names}"));
    }

    #[test]
    fn what_needs_no_instruction_is_never_missing() {
        let here: Vec<Strategy> = Strategy::here().collect();
        for strategy in Strategy::ALL {
            assert_eq!(here.contains(&strategy), strategy.missing().is_none());
            assert!(strategy.quiet().is_some() || strategy.missing().is_none(), "{strategy}");
        }
    }

    #[test]
    fn no_cpu_has_the_instructions_of_all_makers() {
        let found = |strategy: Strategy| strategy.missing().is_none();
        assert_eq!(found(Strategy::Tpause), found(Strategy::Umwait), "WAITPKG has both");
        assert!(!(found(Strategy::Wfe) && (found(Strategy::Umwait) || found(Strategy::Mwaitx))));
    }
}
