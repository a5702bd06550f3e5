//! Which part of the session is written. What comes before is rendered and left out, so effects, notes and streams are
//! where they are in the whole render, and the samples are the same.

use hocket_engine::time::{BarPosition, TempoMap};
use hocket_plan::Session;

use crate::cli::{Position, RenderArgs};
use crate::failure::Failure;

/// The latest position: as late as a session may end.
const LATEST_S: f64 = 1_000_000.0;

/// What the arguments say of the region. In frames from the start of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Asked {
    from: u64,
    /// `None`: the end of the session.
    to: Option<u64>,
}

/// The frames that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Region {
    /// The first one.
    pub from: u64,
    /// The one after the last.
    pub to: u64,
}

impl Asked {
    /// From `--from`, `--to` and `--length`.
    ///
    /// # Errors
    /// A position that the session does not have, or a region without frames: exit code 2.
    pub fn of(args: &RenderArgs, session: &Session, rate_hz: u32) -> Result<Asked, Failure> {
        let frame = |flag: &str, position: &Option<Position>| {
            position.map(|position| frame_of(flag, position, session, rate_hz)).transpose()
        };
        let from = frame("--from", &args.from)?.unwrap_or(0);
        let to = frame("--to", &args.to)?;
        if let (Some(end), Some(to)) = (to.filter(|to| *to <= from), args.to) {
            let what = if end == from { "no frames are left" } else { "this is before --from" };
            return Err(Failure::bad_input(format!(
                "--to {to}: {what}; choose a position after --from"
            )));
        }
        let length = args.length.map(|length| super::frames_of(length, rate_hz));
        Ok(Asked { from, to: to.or(length.map(|length| from + length)) })
    }

    /// The frame after the last, where the arguments or the session say it. Otherwise the audio files do.
    pub fn known_end(self, session: &Session, rate_hz: u32) -> Option<u64> {
        self.to.or_else(|| super::stated_frames(session, rate_hz)).filter(|frames| *frames > 0)
    }

    /// The region of a session that has so many frames; `None`: it has no end.
    ///
    /// # Errors
    /// The region begins behind the end: exit code 2.
    pub fn within(
        self,
        args: &RenderArgs,
        end: impl FnOnce() -> Result<u64, Failure>,
        rate_hz: u32,
    ) -> Result<Region, Failure> {
        let from = self.from;
        let to = self.to.map_or_else(end, Ok)?;
        match (from < to, args.from) {
            (false, Some(position)) => Err(Failure::bad_input(format!(
                "--from {position}: the session ends before, after {:.3} s; choose an earlier position, or say with --to \
                 how far to go",
                to as f64 / f64::from(rate_hz)
            ))),
            _ => Ok(Region { from, to }),
        }
    }
}

impl Region {
    /// How many frames are written.
    pub fn frames(self) -> u64 {
        self.to - self.from
    }
}

/// Refuses seconds that no session has.
pub(super) fn check_seconds(args: &RenderArgs) -> Result<(), Failure> {
    for (flag, position) in [("--from", args.from), ("--to", args.to)] {
        if let Some(position @ Position::Seconds(seconds)) = position {
            let refused = |why| Failure::bad_input(format!("{flag} {position}: {why}"));
            check_range(seconds).map_err(refused)?;
        }
    }
    Ok(())
}

fn check_range(seconds: f64) -> Result<(), String> {
    match (0.0..=LATEST_S).contains(&seconds) {
        true => Ok(()),
        false => Err(format!("choose 0 to {LATEST_S} seconds")),
    }
}

fn frame_of(
    flag: &str,
    position: Position,
    session: &Session,
    rate_hz: u32,
) -> Result<u64, Failure> {
    let refused = |why: String| Failure::bad_input(format!("{flag} {position}: {why}"));
    let map = session.time.map(rate_hz).map_err(|error| refused(error.to_string()))?;
    let frame = frame_at(position, &map, rate_hz).map_err(refused)?;
    match position {
        Position::Seconds(_) => Ok(frame),
        Position::Bar(..) => check_loop(session, &map, frame).map_err(refused),
    }
}

/// The frame at a position of the song.
///
/// # Errors
/// Later than a session may end, or a beat that its bar does not have: why, and what to do.
pub(crate) fn frame_at(position: Position, map: &TempoMap, rate_hz: u32) -> Result<u64, String> {
    let latest = (LATEST_S * f64::from(rate_hz)) as u64;
    let (bar, beat) = match position {
        Position::Seconds(seconds) => {
            check_range(seconds)?;
            return Ok((seconds * f64::from(rate_hz)).round() as u64);
        }
        Position::Bar(bar, beat) => (bar, beat),
    };
    let place = BarPosition { bar: i64::from(bar) - 1, beat: beat - 1, tick: 0 };
    let beats = map.beats_at_bar(place);
    let frame = u64::try_from(map.frame_at_beats(beats)).ok().filter(|frame| *frame <= latest);
    let frame = frame
        .ok_or_else(|| format!("it is later than {LATEST_S} seconds; choose an earlier bar"))?;
    match map.bar_at_beats(beats) == place {
        true => Ok(frame),
        false => Err(format!("bar {bar} has no beat {beat}; choose an earlier beat")),
    }
}

/// A bar behind the end of a loop is never played.
fn check_loop(session: &Session, map: &TempoMap, frame: u64) -> Result<u64, String> {
    let lap = session.time.loop_range(map).map_err(|error| error.to_string())?;
    match lap.filter(|lap| i64::try_from(frame).is_ok_and(|frame| frame > lap.end())) {
        Some(_) => Err("the session's loop never reaches this bar; give seconds".into()),
        None => Ok(frame),
    }
}
