//! The temporary files into which long audio files are decoded: where they lie, and whether there is room for them.

use std::path::PathBuf;

use hocket_files::{folder_on_disk, readable};
use hocket_media::{MediaError, PartDecoder, WriteError};

use super::parts::all_faults;
use crate::{Conform, ConformError, Conformed, DiskError};

/// What helps where no temporary file can be made.
pub(super) const WRITABLE: &str = "set TMPDIR to a folder that you may write to";
/// What helps where one finds no room.
pub(super) const ROOM: &str = "set TMPDIR to a folder with more room";

/// Why no temporary file was made.
pub(super) enum NotMade {
    /// The audio file cannot be decoded.
    Media(MediaError),
    /// It could not stream.
    Disk(DiskError),
    /// No file can be made in the folder, with the cause.
    Folder(String),
    /// The file found no room, with the cause.
    Room(String),
}

/// Where temporary audio is written: the folder that TMPDIR names. Without it, the folder for temporary files, or `/var/tmp` where that
/// one is held in memory.
pub(super) fn folder() -> PathBuf {
    match std::env::var_os("TMPDIR") {
        Some(named) if !named.is_empty() => std::env::temp_dir(),
        _ => folder_on_disk(),
    }
}

/// Decodes a file into a new one that has no name, or loses it at once on file systems that know no files without one.
///
/// `is_direct`: it can be read from any position, and is converted. Then what does not play is not decoded, except with `strict`.
pub(super) fn make(
    conform: Conform<'_>,
    is_direct: bool,
    strict: bool,
) -> Result<Conformed, NotMade> {
    let folder = folder();
    let out = tempfile::tempfile_in(&folder).map_err(|error| {
        let why = WriteError::io(&folder, error).cause;
        let folder = folder.display();
        NotMade::Folder(format!("no temporary file for it can be made in {folder}: {why}"))
    })?;
    let decoded = || -> Result<Conformed, ConformError> {
        let direct = match is_direct {
            true => PartDecoder::open(conform.path, conform.rate_hz).ok().flatten(),
            false => None,
        };
        let Some(decoder) = direct.filter(PartDecoder::is_independent) else {
            return conform.whole(out);
        };
        let file = conform.in_parts(decoder, out)?;
        let warnings = if strict { all_faults(conform.path)? } else { file.warnings };
        Ok(Conformed { warnings, ..file })
    };
    decoded().map_err(|error| match error {
        ConformError::Media(error) => NotMade::Media(error),
        ConformError::Open(error) => NotMade::Disk(error),
        ConformError::Write(error) => {
            let why = WriteError::io(&folder, error).cause;
            let folder = folder.display();
            NotMade::Room(format!("its temporary file in {folder} cannot be written: {why}"))
        }
    })
}

/// The largest of these files, and why the disk has no room for all of them, if it has none.
pub(super) fn lack_of_room<T>(files: &[(u64, T)]) -> Option<(&T, String)> {
    let (most, largest) = files.iter().max_by_key(|(bytes, _)| *bytes)?;
    let needed = files.iter().fold(0u64, |sum, (bytes, _)| sum.saturating_add(*bytes));
    let folder = folder();
    let disk = rustix::fs::statvfs(&folder).ok()?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    if needed <= free {
        return None;
    }
    let others = match files.len() - 1 {
        0 => String::new(),
        1 => format!(", and with one more file {}", readable(needed)),
        more => format!(", and with {more} more files {}", readable(needed)),
    };
    let (most, free, folder) = (readable(*most), readable(free), folder.display());
    Some((largest, format!("decoded, it takes {most} in {folder}{others}; {free} are free")))
}
