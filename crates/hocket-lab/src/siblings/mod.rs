//! Who shares a core? Inferred from measurements, not asked of the system.
//!
//! Two kinds of evidence, which must agree (thesis of 2009, section 7.2.4; MCTOP, EuroSys 2017, for
//! the latencies; SMoTherSpectre, CCS 2019, for the contention):
//! - *latency*: siblings hand a cache line over within their core, faster than to any other seat;
//! - *contention*: two busy siblings slow each other down in work that never leaves the core,
//!   compared with both being busy beside CPUs that share nothing with them.
//!
//! Latency alone takes cores with a common second-level cache for siblings on a machine without
//! SMT, since some seat is always the nearest. Contention alone takes two parts of one core for
//! two cores where they have units of their own. Where the two disagree, or are too noisy to say
//! anything, the answer is [`Relation::Unknown`] with a [`Reason`].
//!
//! An experiment asks a [`Plan`] what to measure next, records it in [`Measurements`], and at the
//! end calls [`infer`]; [`compare_with_system`] sets the answer beside what the system says.
//! Everything here is computation; nothing starts a thread or reads a clock.

mod figure;
mod measurements;
mod levels;
mod nearness;
mod classes;
mod contention;
mod plan;
mod infer;
mod system;

pub use classes::{Classes, Nearness};
pub use contention::Units;
pub use figure::Figure;
pub use infer::{Finding, Inference, Reason, Relation, infer};
pub use levels::{Level, levels};
pub use measurements::{Kernel, Measurements, Slowdown};
pub use plan::{Plan, Step, Trial};
pub use system::{Disagreement, SystemView, compare_said, compare_with_system};

/// Two CPUs by the system's numbers, the smaller first.
pub type CpuPair = (u32, u32);

/// The pair of `a` and `b` in order.
pub fn cpu_pair(a: u32, b: u32) -> CpuPair {
    (a.min(b), a.max(b))
}

/// How many standard errors two figures must be apart to count as different. Three, because a
/// large machine asks thousands of such questions.
const CERTAIN: f64 = 3.0;
