//! Takes: what a real-time thread records, on its way to the disk.

mod missing;
mod input;
mod manifest;
mod file;
mod take;
mod events;
mod note_ids;
mod midi_file;
mod recorder;

pub(crate) use events::end_of;
pub use events::{EventTakeInput, EventTakeSettings};
pub use input::TakeInput;
pub(crate) use manifest::is_interrupted;
pub(crate) use midi_file::{END, KIND_BEFORE_END, MARK, SKIPPED_KIND, bytes_of};
pub use missing::Missing;
pub use recorder::{Recorder, RecorderSettings};
pub use take::{
    EventsReport, Silence, Take, TakeFormat, TakeReport, TakeSettings, TakeStatus, TakeWatch,
};
