//! What a text does not say, and which of its lines could not be read.

use std::collections::BTreeMap;

use super::event::{Line, What};
use super::{MOST_CPU_NUMBER, ReadError};
use crate::words::counted;

/// Why a line is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Bad {
    /// No CPU or no time is in front of the event.
    Head,
    /// The event's fields are not those it has, or they are cut.
    Fields,
    /// The line is too long.
    Long,
    /// No machine has this CPU, or there are too many.
    Cpu,
    /// The time is earlier than that of the event before.
    Back,
    /// The time is so late that it must be a mistake.
    Late,
}

impl Bad {
    fn words(self) -> String {
        match self {
            Bad::Head => "have no CPU or no time in front of the event".into(),
            Bad::Fields => "are cut, or have other fields than the event has".into(),
            Bad::Long => "are too long".into(),
            Bad::Cpu => {
                format!("are on a CPU above {MOST_CPU_NUMBER}, or on too many different ones")
            }
            Bad::Back => "have an earlier time than the event before".into(),
            Bad::Late => "are more than a week after the first event".into(),
        }
    }
}

/// Counts what is left out, and looks at what the events have.
#[derive(Default)]
pub(super) struct Notes {
    /// How many lines, and the first of them.
    left_out: BTreeMap<Bad, (u64, u64)>,
    has_wakes: bool,
    has_flags: bool,
    has_coarse_times: bool,
}

impl Notes {
    pub fn bad(&mut self, why: Bad, line: u64) {
        self.left_out.entry(why).or_insert((0, line)).0 += 1;
    }

    /// Looks at an event that can be read.
    pub fn saw(&mut self, line: &Line<'_>) {
        self.has_wakes |= matches!(line.what, What::Woken { .. });
        self.has_flags |= line.has_flags;
        self.has_coarse_times |= line.digits < 9;
    }

    /// A sentence each.
    pub fn limits(&self) -> Vec<String> {
        let mut limits = vec![
            "the file does not say which CPUs share a core, so each CPU counts as a core of its own".to_owned(),
        ];
        if !self.has_wakes {
            limits.push(
                "wake-ups are not in the file, so only threads that lost their CPU count as ready"
                    .into(),
            );
        } else if !self.has_flags {
            limits.push("the file does not say which wake-ups came from interrupts; they count for the thread that had the CPU".into());
        }
        if self.has_coarse_times {
            limits.push(
                "the file's times are whole microseconds; perf script --ns prints nanoseconds"
                    .into(),
            );
        }
        let left_out = self.left_out.iter();
        limits.extend(left_out.map(|(why, (count, first))| {
            let lines = counted(*count, "line");
            format!("{lines} left out, the first is line {first}: such lines {}", why.words())
        }));
        limits
    }

    /// Why a text without an event is none.
    pub fn nothing(&self, lines: u64) -> ReadError {
        self.unreadable().unwrap_or(ReadError::NoEvents { lines })
    }

    /// As [`Notes::nothing`], where only so many lines were read.
    pub fn no_beginning(&self, lines: u64) -> ReadError {
        self.unreadable().unwrap_or(ReadError::NoBeginning { lines })
    }

    fn unreadable(&self) -> Option<ReadError> {
        let (why, (_, line)) = self.left_out.iter().min_by_key(|(_, (_, first))| *first)?;
        Some(ReadError::Unreadable { line: *line, why: why.words() })
    }
}
