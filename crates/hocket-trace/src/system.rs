//! What the threads of a program did on all CPUs, who ran beside them, who woke them and who was in their way.
//!
//! It is plain data and counting. The caller watches the system and passes its events, with times on the monotonic clock:
//! [`Merge`] puts them in order, [`Tally`] counts and keeps what concerns the program, and [`Recent`] holds what every CPU
//! did in the last seconds. All three hold a bounded amount of memory, however many events come: [`Tally::held_bytes`].
//!
//! Who ran where is judged by [`Follow`](crate::switches::Follow) alone, as for late blocks.

mod merge;
mod recent;
mod tally;

use std::collections::BTreeMap;

pub use merge::Merge;
pub use recent::{InterruptOn, Recent, Surroundings, WokenOn};
pub use tally::Tally;

/// The name and version of what the files hold.
pub const FORMAT: &str = "hocket-threads/1";

/// Something that a CPU did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelEvent {
    /// On the monotonic clock.
    pub at_ns: i64,
    /// The CPU, by the system's number.
    pub cpu: u32,
    /// What.
    pub what: Happened,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Happened {
    /// One thread left the CPU and another one got it. As in [`SwitchAt`](crate::switches::SwitchAt).
    Switch {
        /// Runs from now on.
        in_tid: Option<i32>,
        /// Ran until now.
        out_tid: Option<i32>,
        /// Whether it wanted to go on.
        preempted: bool,
    },
    /// Records are missing.
    Lost {
        /// The last record before.
        after_ns: i64,
        /// How many.
        records: u64,
    },
    /// A thread was woken up.
    Woken {
        /// Who.
        tid: i32,
        /// By which thread; `None`: by an interrupt.
        by: Option<i32>,
    },
    /// A thread will run on another CPU.
    Moved {
        /// Who.
        tid: i32,
        /// To which CPU.
        to: u32,
    },
    /// A thread begins.
    Born {
        /// Who.
        tid: i32,
        /// In which process.
        process: i32,
        /// The process that started it.
        parent_process: i32,
    },
    /// A thread ends.
    Ended {
        /// Who.
        tid: i32,
    },
    /// An interrupt begins, or ends.
    Interrupt {
        /// Which one.
        number: i32,
        /// Whether the work is what an interrupt has put off.
        is_deferred: bool,
        /// Whether it begins.
        begins: bool,
    },
}

/// A CPU that was watched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cpu {
    /// The system's number.
    pub number: u32,
    /// The other CPUs of its core.
    pub beside: Vec<u32>,
    /// How long any thread ran on it.
    pub busy_ns: i64,
    /// For how long the records do not say who ran on it.
    pub unknown_ns: i64,
    /// Time in interrupts, and how many. Zero where they are not watched.
    pub interrupts: Interrupts,
}

/// Interrupts on a CPU or in the time of a thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Interrupts {
    /// How many.
    pub count: u64,
    /// How long.
    pub ns: i64,
}

/// A thread that was seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ThreadSeen {
    /// Its number. 0: all that were too many to be told apart.
    pub tid: i32,
    /// Its name; empty where it ended before anybody could read it.
    pub name: String,
    /// Whether it belongs to the program.
    pub is_member: bool,
    /// How long it ran.
    pub ran_ns: i64,
    /// How often it got a CPU.
    pub runs: u64,
    /// How often it ran on another CPU than before.
    pub moves: u64,
    /// How often it lost its CPU although it wanted to go on.
    pub preempted: u64,
    /// How often it was woken up.
    pub woken: u64,
    /// How long it was ready to run and did not.
    pub waited_ns: i64,
    /// The longest time of these.
    pub longest_wait_ns: i64,
    /// How long it ran on each CPU. For threads of the program only.
    pub by_cpu: BTreeMap<u32, i64>,
    /// Interrupts while it had the CPU.
    pub interrupts: Interrupts,
}

impl ThreadSeen {
    /// `audio (4711)`.
    pub fn title(&self) -> String {
        match (self.name.is_empty(), self.tid) {
            (_, 0) => "threads that were too many to be told apart".into(),
            (_, crate::switches::UNNAMED) => "threads that the records do not name".into(),
            (true, tid) => format!("thread {tid}"),
            (false, tid) => format!("{} ({tid})", self.name),
        }
    }
}

/// How long two threads ran at the same time. At least one belongs to the program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Beside {
    /// On one core.
    pub one_core_ns: i64,
    /// On different cores; only for two threads of the program.
    pub elsewhere_ns: i64,
}

/// How long a thread of the program was ready to run while another one had its CPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InTheWay {
    /// How often.
    pub times: u64,
    /// How long in all.
    pub ns: i64,
    /// The longest time.
    pub longest_ns: i64,
}

/// What a thread did in a [`Piece`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Did {
    /// It ran.
    Ran,
    /// It was ready to run and did not.
    Waited,
    /// An interrupt ran in its time.
    Interrupted,
}

/// A piece of the timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Start, on the monotonic clock.
    pub start_ns: i64,
    /// Length, up to four seconds; longer pieces are cut.
    pub length_ns: u32,
    /// Index into [`SystemTrace::threads`]; of an interrupt its number.
    pub thread: u32,
    /// The CPU.
    pub cpu: u16,
    /// What the thread did.
    pub did: Did,
}

impl Piece {
    /// The end.
    pub fn end_ns(&self) -> i64 {
        self.start_ns.saturating_add(i64::from(self.length_ns))
    }
}

/// One thread woke another one up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wake {
    /// When.
    pub at_ns: i64,
    /// Index into [`SystemTrace::threads`]; `None`: an interrupt.
    pub by: Option<u32>,
    /// Index into [`SystemTrace::threads`].
    pub woken: u32,
}

/// What was watched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AboutSystem {
    /// The version of Hocket.
    pub hocket: String,
    /// The program: its name and number.
    pub program: String,
    /// When the watch began, on the monotonic clock.
    pub start_ns: i64,
    /// When it ended.
    pub end_ns: i64,
    /// Why it ended, in words.
    pub ended: String,
}

/// Pairs of threads, by indices into [`SystemTrace::threads`].
pub type Pairs<T> = BTreeMap<(u32, u32), T>;

/// What all CPUs did, as far as it concerns a program.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SystemTrace {
    /// What was watched.
    pub about: AboutSystem,
    /// Every CPU that was watched, ascending.
    pub cpus: Vec<Cpu>,
    /// Every thread that ran.
    pub threads: Vec<ThreadSeen>,
    /// Which ran at the same time; the smaller index first.
    pub beside: Pairs<Beside>,
    /// Who (second) was in the way of whom (first).
    pub in_the_way: Pairs<InTheWay>,
    /// Who (first) woke whom (second) how often; at least one belongs to the program. An interrupt is
    /// [`BY_INTERRUPT`].
    pub wakes: Pairs<u64>,
    /// What is drawn: the program's threads, and others while they concern it. In order of their ends.
    pub pieces: Vec<Piece>,
    /// The wake-ups that are drawn, in order of time.
    pub wake_ups: Vec<Wake>,
    /// The events that came.
    pub events: u64,
    /// Records that are missing.
    pub lost: u64,
    /// Pieces and wake-ups for which there was no room. They are counted all the same.
    pub not_drawn: u64,
    /// When the first piece came that is not drawn.
    pub drawn_until_ns: Option<i64>,
    /// Pairs of threads for which there was no room.
    pub lost_pairs: u64,
    /// What cannot be seen, a sentence each.
    pub limits: Vec<String>,
}

/// Stands for an interrupt in [`SystemTrace::wakes`].
pub const BY_INTERRUPT: u32 = u32::MAX;

impl SystemTrace {
    /// How long the watch lasted.
    pub fn length_ns(&self) -> i64 {
        self.about.end_ns.saturating_sub(self.about.start_ns)
    }

    /// Indices of the program's threads that were seen, those that ran longest first.
    pub fn members(&self) -> Vec<u32> {
        let mut members: Vec<u32> = (0..self.threads.len() as u32)
            .filter(|index| self.threads[*index as usize].is_member)
            .collect();
        members.sort_by_key(|index| std::cmp::Reverse(self.threads[*index as usize].ran_ns));
        members
    }

    /// The CPUs on which something is drawn, ascending.
    pub fn drawn_cpus(&self) -> Vec<u32> {
        let cpus: std::collections::BTreeSet<u32> =
            self.pieces.iter().map(|piece| u32::from(piece.cpu)).collect();
        cpus.into_iter().collect()
    }

    /// The name of who woke somebody.
    pub fn waker(&self, by: u32) -> String {
        match self.threads.get(by as usize) {
            Some(thread) => thread.title(),
            None => "an interrupt".into(),
        }
    }

    /// `CPU 1, beside CPU 0`.
    pub fn cpu_title(&self, number: u32) -> String {
        let beside = self.cpus.iter().find(|cpu| cpu.number == number);
        let beside = beside.map_or(&[][..], |cpu| &cpu.beside);
        match beside {
            [] => format!("CPU {number}"),
            mates => {
                let mates: Vec<String> = mates.iter().map(|mate| format!("CPU {mate}")).collect();
                format!("CPU {number}, beside {}", mates.join(" and "))
            }
        }
    }

    /// The pieces in order of their starts; they come in order of their ends.
    pub fn in_order(&self) -> Vec<&Piece> {
        let mut pieces: Vec<&Piece> = self.pieces.iter().collect();
        pieces.sort_by_key(|piece| piece.start_ns);
        pieces
    }
}

/// Set in the number of a [`Did::Interrupted`] piece if it is work that an interrupt has put off.
pub const DEFERRED: u32 = 1 << 31;

/// What an interrupt is called: `irq 34`, or `softirq TIMER` for what one has put off ([`DEFERRED`]).
pub fn interrupt_name(number: u32) -> String {
    /// The rows of `/proc/softirqs`.
    const DEFERRED_KINDS: [&str; 10] = [
        "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER",
        "RCU",
    ];
    let kind = number & !DEFERRED;
    match (number & DEFERRED != 0, DEFERRED_KINDS.get(kind as usize)) {
        (true, Some(name)) => format!("softirq {name}"),
        (true, None) => format!("softirq {kind}"),
        (false, _) => format!("irq {kind}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_have_the_names_of_the_system() {
        assert_eq!(interrupt_name(34), "irq 34");
        assert_eq!(
            [interrupt_name(DEFERRED | 1), interrupt_name(DEFERRED | 99)],
            ["softirq TIMER", "softirq 99"]
        );
    }
}
