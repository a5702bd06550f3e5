//! Loading a CLAP file: the only unsafe code for CLAP. The library clack does the rest.
//!
//! The SAFETY comment cites this invariant:
//!
//! - **Foreign code.** A file that is loaded runs start-up code that can do anything. A scan in a process of its own has
//!   seen it load; nothing more can be known.

use std::path::Path;

use clack_host::entry::{PluginEntry, PluginEntryError};

/// Loads a file.
///
/// # Errors
/// It does not load, or is no CLAP file.
pub fn load(file: &Path) -> Result<PluginEntry, PluginEntryError> {
    // SAFETY: Foreign code.
    unsafe { PluginEntry::load(file) }
}
