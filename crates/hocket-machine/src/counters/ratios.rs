//! The ratios that are made of counts: their meaning, and the formula for one kind of core.

use std::fmt;

/// What a ratio is about. The formula differs between kinds of core ([`super::Core`]); the meaning is the same, unless
/// the formula has a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Measure {
    /// Cycles per instruction.
    CyclesPerInstruction,
    /// Cycles per micro-operation that retired.
    CyclesPerUop,
    /// Arithmetic floating-point instructions, as a share of all.
    FloatingPoint,
    /// Loads that missed the first-level data cache, as a share of all.
    L1dMisses,
    /// Cycles in which fetching waited for instructions, as a share of all.
    L1iStalls,
    /// Cycles in which nothing was executed, as a share of all.
    ExecutionStalls,
    /// Top-down, level 1: slots that the front end left empty.
    FrontEndBound,
    /// Top-down, level 1: slots of operations that did not retire.
    BadSpeculation,
    /// Top-down, level 1: slots left empty because the back end took nothing.
    BackEndBound,
    /// Top-down, level 1: slots of operations that retired.
    Retiring,
    /// Slots that the core gave to the sibling (AMD).
    SmtContention,
    /// Time during which the sibling was active too, as a share of the thread's (Intel).
    SiblingActive,
    /// Cycles in `pause`, as a share of all.
    Pause,
    /// Cycles in the light waiting state of `tpause` and `umwait`, as a share of all.
    WaitC01,
    /// Cycles in their deeper waiting state, as a share of all.
    WaitC02,
}

impl Measure {
    /// All, in the order of tables.
    pub const ALL: [Measure; 15] = [
        Self::CyclesPerInstruction,
        Self::CyclesPerUop,
        Self::FloatingPoint,
        Self::L1dMisses,
        Self::L1iStalls,
        Self::ExecutionStalls,
        Self::FrontEndBound,
        Self::BadSpeculation,
        Self::BackEndBound,
        Self::Retiring,
        Self::SmtContention,
        Self::SiblingActive,
        Self::Pause,
        Self::WaitC01,
        Self::WaitC02,
    ];

    /// Its name in tables and records.
    pub fn name(self) -> &'static str {
        match self {
            Self::CyclesPerInstruction => "CPI",
            Self::CyclesPerUop => "cycles/uop",
            Self::FloatingPoint => "FP share",
            Self::L1dMisses => "L1D misses",
            Self::L1iStalls => "L1I stalls",
            Self::ExecutionStalls => "execution stalls",
            Self::FrontEndBound => "front end",
            Self::BadSpeculation => "bad speculation",
            Self::BackEndBound => "back end",
            Self::Retiring => "retiring",
            Self::SmtContention => "SMT contention",
            Self::SiblingActive => "sibling active",
            Self::Pause => "PAUSE",
            Self::WaitC01 => "C0.1",
            Self::WaitC02 => "C0.2",
        }
    }

    /// Its unit.
    pub fn unit(self) -> Unit {
        match self {
            Self::CyclesPerInstruction | Self::CyclesPerUop => Unit::Cycles,
            _ => Unit::Share,
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The unit of a ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Cycles per piece.
    Cycles,
    /// A share of 1.
    Share,
}

/// A sum of counts, each times a factor.
pub type Sum = &'static [(f64, &'static str)];

/// How a ratio is made of the counts of one group.
#[derive(Debug, PartialEq)]
pub struct Ratio {
    /// What it is about.
    pub measure: Measure,
    /// The sum above the line.
    pub above: Sum,
    /// The sum below the line.
    pub below: Sum,
    /// What the figure contains that its name does not say, on this kind of core.
    pub note: Option<&'static str>,
}

impl Ratio {
    /// The value for these counts; `None` where a count is missing or nothing was counted below the line.
    pub fn value(&self, count: impl Fn(&str) -> Option<u64>) -> Option<f64> {
        let sum = |parts: Sum| {
            parts
                .iter()
                .map(|(factor, name)| Some(factor * count(name)? as f64))
                .sum::<Option<f64>>()
        };
        let (above, below) = (sum(self.above)?, sum(self.below)?);
        (below > 0.0).then(|| above / below)
    }

    /// The events that it needs.
    pub fn events(&self) -> impl Iterator<Item = &'static str> {
        self.above.iter().chain(self.below).map(|(_, name)| *name)
    }

    /// The formula, for a reader: `a / (b + c)`.
    pub fn formula(&self) -> String {
        format!("{} / {}", formula(self.above), formula(self.below))
    }
}

fn formula(sum: Sum) -> String {
    let mut text = String::new();
    for (at, (factor, name)) in sum.iter().enumerate() {
        text += match (at, *factor < 0.0) {
            (0, false) => "",
            (0, true) => "-",
            (_, false) => " + ",
            (_, true) => " - ",
        };
        let size = factor.abs();
        text += &if size == 1.0 { (*name).to_owned() } else { format!("{size} {name}") };
    }
    if text.contains(' ') { format!("({text})") } else { text }
}
