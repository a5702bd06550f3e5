//! Sessions whose long audio files play from the disk.

use std::ffi::{CString, c_char, c_void};
use std::path::Path;
use std::time::Duration;

use hocket_engine::PrerollError;
use hocket_engine::time::MAX_FRAME;
use hocket_streams::{DiskUse as Disk, Wait};

use crate::border::{c_text, done, made, seen, text};
use crate::failure::Failure;
use crate::session::Session;
use crate::status::{Error, Status};

/// How a session plays audio files from the disk.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct DiskUse {
    /// The memory for all clips that stream together, in bytes. 0: every file is decoded in memory.
    pub buffer_bytes: u64,
    /// Whether blocks wait for the disk, for programs that do not play in real time. If not, frames that are not in memory
    /// in time are silent and counted.
    pub waits: bool,
    /// How many engines play the session at the same time. They share the memory. 0 means 1.
    pub engines: u32,
}

/// Like `hocket_session_load`, but long files stream (docs/disks.md): the engine reads them ahead while it plays. Those that
/// cannot stream as they are, compressed or at another rate, are decoded into temporary files without a name first: in the
/// folder that `TMPDIR` names, or the usual one. Each clip that streams keeps its file open; the call lets the process open as
/// many as that takes, if the system allows it. Call `hocket_session_fill` before the first block. Where files cannot be
/// played, the message names all of them. `HOCKET_STATUS_NOT_POSSIBLE`: no room for temporary files.
///
/// Thread: control. Cost: reads files, and writes temporary ones on as many threads as there are CPUs, at most 16; memory
/// for what does not stream; starts threads that read.
///
/// # Safety
/// P.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_session_load_streaming(
    path: *const c_char,
    rate_hz: u32,
    disk: *const DiskUse,
    error: *mut *mut Error,
) -> *mut Session {
    // SAFETY: P.
    unsafe {
        made(error, || {
            let disk = seen(disk, "disk")?.read()?;
            Session::load(Path::new(text(path, "path")?), rate_hz, &disk)
        })
    }
}

/// Waits until every clip that streams has been read as far ahead as its memory allows. Call it after the engine's start
/// and reset, before the first block in real time. `HOCKET_STATUS_BUSY`: not all are ready after `patience_ms`, and the
/// message names them. Playing is possible all the same; it may begin with silence. Only clips of engines that run now
/// count.
///
/// Thread: control. Cost: waits for the disk.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_session_fill(
    session: *const Session,
    patience_ms: u64,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H.
    unsafe {
        done(error, || {
            let media = &seen(session, "session")?.loaded.media;
            media.fill(Duration::from_millis(patience_ms)).map_err(not_ready)
        })
    }
}

/// Brings a frame of the song into memory for every clip that plays there or soon after it. Call it before the song jumps
/// there, and for the start of a loop. A stream keeps the latest two such places. `HOCKET_STATUS_BUSY` as in
/// `hocket_session_fill`.
///
/// Thread: control. Cost: waits for the disk. The engine has to run blocks meanwhile, or to have had no more than two such
/// calls since its last block.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_session_preroll(
    session: *const Session,
    frame: i64,
    patience_ms: u64,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H.
    unsafe {
        done(error, || {
            let media = &seen(session, "session")?.loaded.media;
            if frame.unsigned_abs() > MAX_FRAME as u64 {
                return Err(Failure::bad_input(format!(
                    "no song reaches frame {frame}: choose one nearer"
                )));
            }
            media.preroll(frame, Duration::from_millis(patience_ms)).map_err(not_ready)
        })
    }
}

/// Frames in a row that were silent because they were not in memory in time.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Gap {
    /// The first one, as a frame of the file.
    pub position: u64,
    /// How many.
    pub frames: u64,
    /// What the disk said, or that it was too slow.
    pub cause: *const c_char,
}

/// What a clip did not have in memory in time. Texts and lists are valid until the callback returns.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct StreamSilence {
    /// The file.
    pub file: *const c_char,
    /// All frames of silence. 0: it had everything.
    pub frames: u64,
    /// Where and why: the latest ones.
    pub gaps: *const Gap,
    /// Number of `gaps`.
    pub gap_count: usize,
}

/// Called for each clip that streams.
pub type StreamSilenceFn =
    Option<unsafe extern "C" fn(user: *mut c_void, silence: *const StreamSilence)>;

/// Calls `each` for every clip that streams in an engine that runs now: what was silent so far because the disk was too
/// slow, and why. Ask before you stop the engine.
///
/// Thread: control; `each` runs on the calling thread. Cost: a short lock, allocates; never waits for the disk.
///
/// # Safety
/// P, H, C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_session_silences(
    session: *const Session,
    each: StreamSilenceFn,
    user: *mut c_void,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H, C.
    unsafe {
        done(error, || {
            let each = each.ok_or_else(|| Failure::null("each"))?;
            for found in seen(session, "session")?.loaded.media.not_ready() {
                let file = c_text(&found.file);
                let causes: Vec<CString> =
                    found.gaps.iter().map(|gap| c_text(&gap.cause)).collect();
                let gaps = found.gaps.iter().zip(&causes).map(|(gap, cause)| Gap {
                    position: gap.position,
                    frames: gap.frames,
                    cause: cause.as_ptr(),
                });
                let (gaps, frames): (Vec<Gap>, u64) = (gaps.collect(), found.frames);
                let (file, gap_count) = (file.as_ptr(), gaps.len());
                each(user, &StreamSilence { file, frames, gaps: gaps.as_ptr(), gap_count });
            }
            Ok(())
        })
    }
}

fn not_ready(error: PrerollError) -> Failure {
    Failure { status: Status::Busy, text: error.to_string() }
}

impl DiskUse {
    fn read(&self) -> Result<Disk, Failure> {
        let too_large =
            |_| Failure::bad_input("disk.buffer_bytes is more than this machine can address");
        Ok(Disk {
            buffer_bytes: usize::try_from(self.buffer_bytes).map_err(too_large)?,
            wait: if self.waits { Wait::ForTheDisk } else { Wait::Never },
            engines: self.engines.max(1) as usize,
            strict: false,
        })
    }
}
