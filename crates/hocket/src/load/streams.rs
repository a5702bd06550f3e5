//! Audio files that play from the disk, as this program's options and messages have it. hocket-streams does the rest.

pub use hocket_streams::{DiskBuffer, DiskError, DiskFile, DiskUse, TooSmall, Wait};
use hocket_streams::{LoadErrors, Words};

use crate::failure::{Exit, Failure};
use crate::written::readable;

/// The memory for all streams together, unless --disk-buffer says otherwise.
pub(crate) const DISK_BUFFER_BYTES: usize = 256 << 20;

/// The options that decide how files play.
pub(crate) const WORDS: Words = Words {
    stream: "leave out --disk-buffer 0",
    run_at: "run at its rate with --rate",
    refuse_damaged: Some("--strict"),
};

/// Why audio files cannot be loaded.
pub(crate) fn refused(errors: LoadErrors) -> Failure {
    let message = errors.text(|error| refused_disk(error).message);
    let exit = if errors.is_bad_input() { Exit::BadInput } else { Exit::NotPossible };
    Failure { exit, message }
}

/// Why clips cannot play from the disk, in the words of this program's options.
pub(crate) fn refused_disk(error: &DiskError) -> Failure {
    match error {
        DiskError::TooSmall(TooSmall { streams, needs_bytes, has_bytes }) => {
            let mib = needs_bytes.div_ceil(1 << 20);
            let (has, streams) = (readable(*has_bytes as u64), count(*streams, "clip"));
            Failure::bad_input(format!(
                "--disk-buffer: {has} are too little for {streams} that play from the disk; give {mib}M or more, or 0 to \
                 decode every file in memory"
            ))
        }
        DiskError::OpenFiles { .. } => {
            Failure::not_possible(format!("{error} with --disk-buffer 0"))
        }
        DiskError::Thread(_) => Failure::not_possible(error),
    }
}

/// `1 clip`, `2 clips`.
fn count(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// For people: `200 streams, each 1.19 s ahead, disk buffer 256 MB`.
pub fn summary(buffer: &DiskBuffer) -> String {
    let (streams, bytes) = (count(buffer.streams(), "stream"), readable(buffer.bytes() as u64));
    format!("{streams}, each {:.2} s ahead, disk buffer {bytes}", buffer.ahead_s())
}
