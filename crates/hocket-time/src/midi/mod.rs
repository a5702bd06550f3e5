//! MIDI 1.0 and 2.0: messages, packets, and each in terms of the other.

mod midi1;
mod scale;
mod translate;
mod ump;

pub(crate) use midi1::PEDALS;
pub use midi1::{Midi1, MidiError};
pub use scale::{scale_down, scale_down_rounded, scale_up};
pub use translate::{Midi1Messages, Midi1To2, midi2_to_midi1};
pub use ump::Ump;
