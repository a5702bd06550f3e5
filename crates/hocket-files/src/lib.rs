//! Files in and out: read with a bound, written whole or not at all.
//!
//! [`read_text`] reads a file that is text by its nature and stops at a limit, whatever the file is: a device, a pipe
//! or standard input. [`OutputFile`] writes beside its place and takes the name when it is complete. [`write_text`] does so
//! with a text. A part that a killed process left is recognised by its free lock: [`remove_dead_parts`] removes those of one
//! file, [`dead_parts_in`] finds those of a folder. [`rename_new`] gives a file a name that nobody has. [`expect_present`]
//! keeps an output from replacing a file that came later. [`ScratchFolder`] is the same as a part for a folder that is
//! needed for a while. [`folder_on_disk`] is where large temporary files lie.
//!
//! [`StandardOutput`] is where results go, also where plug-ins print.
//!
//! Everything here runs on control threads. It knows no format.
#![forbid(unsafe_code)]

mod read;
mod standard_output;
mod output;
mod links;
mod expected;
mod name;
mod scratch;
mod temporary;
mod size;

pub use expected::{Displaced, expect_anything, expect_present};
pub use links::target_of;
pub use name::rename_new;
pub use output::{
    DeadPart, LONGEST_NAME, OutputFile, dead_parts_in, remove_dead_parts, write_text,
};
pub use read::{
    Known, ReadError, closed_descriptor, is_standard_input, read_bytes, read_text, read_text_like,
    why_unread,
};
pub use scratch::{ScratchFolder, remove_dead_folders};
pub use size::readable;
pub use standard_output::{StandardOutput, is_standard_output};
pub use temporary::{ON_DISK, folder_on_disk};
