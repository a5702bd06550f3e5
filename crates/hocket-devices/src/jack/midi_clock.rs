//! A MIDI clock: a message for each pulse, of which a quarter note has 24, and messages that start, stop and place the song.
//!
//! ```text
//! pulses      the song's pulses and their frames, from its tempo map
//! sender     where the song is  ->  messages of a MIDI output port
//! follower   messages of a MIDI input port  ->  commands for the transport
//! counts     what both have done, for control threads
//! ```
//!
//! A song position counts sixteenths, so a song starts elsewhere at a sixteenth: the sender says which one comes next, and
//! sends the start in its frame. The pulse right behind a start is the place itself, and has the same frame.
//!
//! Limits: a follower's song has its own tempos, because audio is not stretched. It never chases the clock; a difference is
//! measured and counted. Frames between two pulses cannot be said.

mod pulses;
mod sender;
mod follower;
mod counts;

pub use counts::{ClockFollowed, ClockSent, Count};
pub(super) use follower::ClockFollower;
use pulses::{PER_QUARTER, PER_SIXTEENTH, Pulses};
pub(super) use sender::ClockSender;

/// A pulse.
const CLOCK: u8 = 0xf8;
/// The song begins at its start with the next pulse.
const START: u8 = 0xfa;
/// The song goes on where it stands with the next pulse.
const CONTINUE: u8 = 0xfb;
/// The song stops.
pub(super) const STOP: u8 = 0xfc;
/// The song goes to a sixteenth: two bytes with 7 bits each, the low ones first.
const POSITION: u8 = 0xf2;
/// The last sixteenth that a song position can say.
const LAST_SIXTEENTH: i64 = (1 << 14) - 1;

#[cfg(test)]
mod tests;
