//! The run that every experiment has in common.
//!
//! # The idea
//! An experiment says what it varies ([`Design`]) and how one variant is measured once
//! ([`Apparatus::measure`]). Everything that makes the figures worth believing is done here, in the
//! same way for all: variants in random order within rounds, several process starts with another
//! environment and stack each, what else the machine did beside every turn, a variant that is measured
//! twice under two names to see how large a difference nothing makes, and an end at a width or a time
//! that was set before.
//!
//! # The parts
//! | part | what it says |
//! |---|---|
//! | `about.rs`, `experiment.rs`, `design.rs` | what an experiment is |
//! | `host.rs` | which CPUs there are, how they are related, what is granted |
//! | `turn_threads.rs`, `settle.rs`, `timed.rs`, `lateness.rs` | helpers of those who measure |
//! | `child.rs`, `start.rs`, `layout.rs` | one process start, seen from inside and outside |
//! | `ledger.rs` | what else the machine did in a turn |
//! | `run.rs` | all process starts of some experiments |
//! | `results.rs`, `matched.rs`, `plot.rs`, `verdicts.rs`, `unpaired.rs` | what the rows of one experiment, or of two runs of it, show |
//! | `meta.rs` | what a record says about a run besides its figures |
//!
//! # Limits
//! A process start is one child of this program, so what differs only between boots, compilers or
//! link orders is not varied. The ledger counts processor time in steps of 10 ms.

mod about;
mod experiment;
mod design;

mod host;
pub mod turn_threads;
pub mod settle;
pub mod timed;
pub mod lateness;

pub mod child;
mod start;
pub mod layout;
pub(crate) mod ledger;
mod run;
mod meta;

mod results;
mod matched;
mod plot;
mod verdicts;
mod unpaired;

pub use about::{About, Better, Metric, Parameter, Section, same_definition};
pub use design::{Contrast, Design, NotMeasurable, Rounds, Size, TWIN, Variant, twin_of};
pub use experiment::{
    Apparatus, Check, Experiment, Fault, Historic, Nearest, Opened, Prepared, Quantiles, Sample,
};
pub use host::{FifoGrant, Host, Relation};
pub use ledger::{LedgerEntry, Limits};
pub use matched::{Circumstances, RoundSet, Subject};
pub(crate) use meta::fresh_uuid;
pub use meta::{head, host_digest, tail};
pub use plot::{Axis, Bar, Dumbbell, Estimate, Mark, Plot, Rank, Series, Span};
pub use results::{ContrastResult, ExperimentRun, Results, Row, Standing};
pub use run::{Budget, Event, Plan, RunError, enough_for_verdicts, run};
pub use start::Launcher;
pub use unpaired::{
    ExperimentPair, FigurePair, experiments_in_both, floor_of_both, incomparable, unpaired,
};
pub use verdicts::{
    NamedRatio, Sentence, as_far_as_it_holds, contrast_sentence, contrast_sentences, framed,
    judged_together, ratio_told, ratios_sentence, standard_plots,
};
