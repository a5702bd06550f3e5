//! Two threads take turns.
//!
//! The test of the article of 2003 on Hyper-Threading (the "ping-pong"): only the owner may increment a counter,
//! then makes the other thread the owner and waits until it is the owner again. Its figures, on a
//! Pentium 4 of 3.06 GHz, are hand-overs a second: 11 with an empty loop on one seat (one a time
//! slice) and 8.6 million on two siblings, 51 million with PAUSE.

mod way;

mod table;

mod spinning;

mod signalled;

mod sleeping;

#[cfg(unix)]
mod posted;

mod rally;

pub use rally::{HandOvers, Limit, hand_overs};
pub use sleeping::FutexTable;
pub use spinning::SpinTable;
pub use table::{Side, Table};
pub use way::{ParseWayError, Way};
