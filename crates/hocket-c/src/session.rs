//! Sessions from files.

use std::ffi::{CString, c_char};
use std::path::Path;

use hocket_engine::{Settings as EngineSettings, session_end_frames};

use hocket_streams::DiskUse;

use crate::border::{c_text, listed, made, quiet, text};
use crate::failure::Failure;
use crate::load::{LoadedSession, load};
use crate::status::Error;

/// The result of `hocket_session_frames` for a session that has no end.
pub const HOCKET_ENDLESS: u64 = u64::MAX;

/// A session with its audio, in memory or on the disk. It never changes. You may start several engines from it, on several
/// threads, and free it as soon as they have started.
pub struct Session {
    pub(crate) loaded: LoadedSession,
    strips: Vec<CString>,
    /// One entry per strip.
    effects: Vec<Vec<CString>>,
    media: Vec<CString>,
    warnings: Vec<CString>,
    frames: u64,
}

/// Reads a session file (docs/session-format.md) and decodes its audio at `rate_hz`. 0 means the session's own
/// rate. Of a file that is cut short or damaged, what can be read plays, and `hocket_session_warning` says so. Returns NULL on
/// failure.
///
/// Thread: control. Cost: reads files; memory for all audio, 8 bytes per frame.
///
/// # Safety
/// P.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_session_load(
    path: *const c_char,
    rate_hz: u32,
    error: *mut *mut Error,
) -> *mut Session {
    // SAFETY: P, for both.
    unsafe {
        made(error, || Session::load(Path::new(text(path, "path")?), rate_hz, &DiskUse::IN_MEMORY))
    }
}

/// Frees a session. NULL does nothing. Engines that started from it go on.
///
/// Thread: control. Cost: frees memory.
///
/// # Safety
/// P, H, X.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_session_free(session: *mut Session) {
    if !session.is_null() {
        // SAFETY: H (made by `border::made`), X.
        let session = unsafe { Box::from_raw(session) };
        quiet((), || drop(session));
    }
}

/// The sample rate of the loaded session, in Hz. 0 for NULL.
///
/// Thread: any. Cost: none.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_session_rate_hz(session: *const Session) -> u32 {
    // SAFETY: P, H.
    unsafe { session.as_ref() }.map_or(0, |session| session.loaded.rate_hz)
}

/// The length of the session in frames at its rate: the one in the file, or else to the end of the last clip.
/// `HOCKET_ENDLESS` if a clip loops for ever, 0 for NULL.
///
/// Thread: any. Cost: none.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_session_frames(session: *const Session) -> u64 {
    // SAFETY: P, H.
    unsafe { session.as_ref() }.map_or(0, |session| session.frames)
}

/// The name of a strip. The order is: the tracks in file order, groups, returns, master. NULL past the end. The
/// text lives as long as the session.
///
/// Thread: any. Cost: none.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_session_strip(
    session: *const Session,
    index: usize,
) -> *const c_char {
    // SAFETY: P, H.
    let session = unsafe { session.as_ref() };
    session.map_or(std::ptr::null(), |session| listed(&session.strips, index))
}

/// The kind of an effect (docs/effects.md), by the index of its strip (as in `hocket_session_strip`) and its
/// place in the strip's chain. NULL past the end. The text lives as long as the session.
///
/// Thread: any. Cost: none.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_session_effect(
    session: *const Session,
    strip: usize,
    effect: usize,
) -> *const c_char {
    // SAFETY: P, H.
    let chain = unsafe { session.as_ref() }.and_then(|session| session.effects.get(strip));
    chain.map_or(std::ptr::null(), |chain| listed(chain, effect))
}

/// The path of an audio file of the session, by the number that clips use (`hocket_clip`). NULL past the end.
/// The text lives as long as the session.
///
/// Thread: any. Cost: none.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_session_media(
    session: *const Session,
    index: usize,
) -> *const c_char {
    // SAFETY: P, H.
    let session = unsafe { session.as_ref() };
    session.map_or(std::ptr::null(), |session| listed(&session.media, index))
}

/// A warning about the session: one line with its place. NULL past the end. The text lives as long as the
/// session.
///
/// Thread: any. Cost: none.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_session_warning(
    session: *const Session,
    index: usize,
) -> *const c_char {
    // SAFETY: P, H.
    let session = unsafe { session.as_ref() };
    session.map_or(std::ptr::null(), |session| listed(&session.warnings, index))
}

impl Session {
    pub(crate) fn load(path: &Path, rate_hz: u32, disk: &DiskUse) -> Result<Session, Failure> {
        if rate_hz != 0 && !EngineSettings::RATES_HZ.contains(&rate_hz) {
            let (min, max) = EngineSettings::RATES_HZ.into_inner();
            let text = format!("a rate of {rate_hz} Hz is not possible: choose {min} to {max} Hz");
            return Err(Failure::bad_input(text));
        }
        Ok(Session::of(load(path, (rate_hz != 0).then_some(rate_hz), disk)?))
    }

    fn of(loaded: LoadedSession) -> Session {
        let session = &loaded.session;
        let strips: Vec<_> = session.strip_ids().iter().map(|id| session.strip(*id)).collect();
        let chain = |chain: &[hocket_engine::Effect]| -> Vec<CString> {
            chain.iter().map(|effect| c_text(&effect.kind)).collect()
        };
        let set = session.length_s.map(|s| (s * f64::from(loaded.rate_hz)).round() as u64);
        let frames = set.or_else(|| session_end_frames(session, &loaded.media, loaded.rate_hz));
        Session {
            strips: strips.iter().map(|strip| c_text(&strip.name)).collect(),
            effects: strips.iter().map(|strip| chain(&strip.chain)).collect(),
            media: session.media.iter().map(|it| c_text(&it.path.to_string_lossy())).collect(),
            warnings: loaded.warnings.iter().map(|line| c_text(line)).collect(),
            frames: frames.unwrap_or(HOCKET_ENDLESS),
            loaded,
        }
    }
}
