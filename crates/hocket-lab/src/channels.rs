//! How many channels hold, and what a run shows of that: `hocket capacity` without the machine that plays.
//!
//! [`measure()`] searches with short probes, then plays what it found for long, and less where that was too much. Each long
//! run bounds how often blocks are late ([`Run::at_most_an_hour`]). The [`CapacityRecord`] holds every probe and run of every
//! block length, [`text`] and [`svg`] are made from it alone.
//!
//! Limits: a bound takes late blocks as independent, and holds for the machine as it was during the run.

mod search;
mod runs;
mod record;
mod text;
mod picture;

pub use picture::svg;
pub use record::{CapacityRecord, FORMAT, PlayedSession, SizeRecord, is_record};
pub use runs::{MOST_RUNS, Played, Probe, Run, Verdict, Wish, outside};
pub use search::{EXACT, Found, Plays, largest, measure};
pub use text::{lasting, sentence, text};
