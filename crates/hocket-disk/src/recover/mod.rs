//! Recordings whose program was killed, or whose machine lost its power.
//!
//! A header may state less than the file holds: nothing (0), "unknown" (-1), or the length at the last sync. Then, and
//! only then, it is corrected. Samples are never touched, nor is anything removed.

mod riff;
mod flac;
mod midi;

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::error::RecoverError;
use crate::record::is_interrupted;

/// What [`recover`] found and did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recovery {
    /// The header states what the file holds.
    Intact {
        /// That much, in frames.
        frames: u64,
    },
    /// The header states more frames than before. The time of the last change is the one before.
    Repaired {
        /// What it stated, in frames; `None` if that was nothing or "unknown".
        stated: Option<u64>,
        /// What it states now, in frames.
        frames: u64,
    },
    /// A MIDI file states all its events.
    IntactEvents {
        /// So many messages.
        events: u64,
    },
    /// A MIDI file states more events than before. Notes that sounded at its end end there.
    RepairedEvents {
        /// What it stated, in messages.
        stated: u64,
        /// What it states now.
        events: u64,
    },
    /// The header does not fit the file, but correcting it would be a guess.
    LeftAlone {
        /// Why.
        why: String,
    },
}

impl std::fmt::Display for Recovery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Intact { frames } => write!(f, "the header is right: {frames} frames"),
            Self::Repaired { stated: Some(stated), frames } => {
                write!(f, "the header stated {stated} frames and now states all {frames}")
            }
            Self::Repaired { stated: None, frames } => {
                write!(f, "the header stated no length and now states {frames} frames")
            }
            Self::IntactEvents { events } => write!(f, "the track is right: {events} messages"),
            Self::RepairedEvents { stated, events } => {
                write!(f, "the track stated {stated} messages and now states all {events}")
            }
            Self::LeftAlone { why } => write!(f, "left as it is: {why}"),
        }
    }
}

/// Completes the header of an interrupted recording: WAV, RF64 or FLAC, by any program; MIDI, by Hocket. Of a MIDI file, a last
/// event that is not there as a whole goes, and notes and pedals that sound at the end get ends. Events within the stated length
/// stay. A file that shows the hand of another program (running status, more tracks, something behind its track) stays as it is.
///
/// A header that states a length, but less than the file holds, is only corrected if nothing but samples can follow:
/// the manifest beside the file says that the recording was interrupted, or the bytes are no other chunk.
///
/// Thread: control. Cost: reads the header; decodes a FLAC file once.
///
/// # Errors
/// [`RecoverError`]; the file is as it was.
pub fn recover(path: &Path) -> Result<Recovery, RecoverError> {
    let io = |source| RecoverError::Io { path: path.into(), source };
    let file = File::options().read(true).write(true).open(path).map_err(io)?;
    if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
        return Err(RecoverError::InUse { path: path.into() });
    }
    let metadata = file.metadata().map_err(io)?;
    let mut magic = [0; 4];
    let found = read_at(&file, 0, &mut magic).map_err(io)?;
    let repair = match &magic[..found] {
        b"fLaC" => flac::repair(path)?,
        b"RIFF" | b"RF64" | b"BW64" => {
            riff::repair(path, &file, metadata.len(), is_interrupted(path))?
        }
        b"MThd" => midi::repair(path, &file, metadata.len())?,
        _ => {
            let cause = "it begins with neither RIFF nor RF64 nor fLaC nor MThd".into();
            return Err(RecoverError::NotARecording { path: path.into(), cause });
        }
    };
    if !repair.patches.is_empty() {
        for (at, bytes) in &repair.patches {
            file.write_all_at(bytes, *at).map_err(io)?;
        }
        if let Some(length) = repair.length {
            file.set_len(length).map_err(io)?;
        }
        file.sync_data().map_err(io)?;
        // Not every file system keeps this time; the content is right in either case.
        let _ = metadata.modified().and_then(|modified| file.set_modified(modified));
        file.sync_all().map_err(io)?;
    }
    Ok(repair.recovery)
}

/// What to write where, and what that amounts to.
struct Repair {
    recovery: Recovery,
    patches: Vec<(u64, Vec<u8>)>,
    /// The file's length, if that is another one.
    length: Option<u64>,
}

impl Repair {
    fn nothing(recovery: Recovery) -> Repair {
        Repair { recovery, patches: Vec::new(), length: None }
    }
}

/// Fills as much of `buffer` as the file has at `position`; returns how much that is.
fn read_at(file: &File, position: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], position + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
