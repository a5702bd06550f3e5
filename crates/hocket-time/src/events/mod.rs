//! Events: parameter changes, notes and MIDI at frames, and the buffer that sorts them.

mod buffer;
mod event;
mod held;
mod sounding;
mod thin;

pub use buffer::{END_ROOM, EventBuffer, EventCounts, Pushed};
pub use event::{Event, EventKind, Note, NoteAction, ParamChange, Source, SysEx};
pub use held::HeldNotes;
pub use sounding::{Sounding, SoundingNotes};
