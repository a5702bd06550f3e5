//! Takes: what a real-time thread records, on its way to the disk.

mod input;
mod manifest;
mod file;
mod take;
mod recorder;

pub use input::TakeInput;
pub(crate) use manifest::is_interrupted;
pub use recorder::{Recorder, RecorderSettings};
pub use take::{Silence, Take, TakeFormat, TakeReport, TakeSettings, TakeStatus, TakeWatch};
