//! The transport: play, stop, locate and loop, now or at a frame.

use hocket_engine::time::{
    LoopError, LoopRange, MAX_FRAME, Position as SongPosition, PositionError, TimedCommand,
    TransportCommand,
};

use crate::border::{done, quiet, seen};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::process::lead;
use crate::status::{Error, Status};
use crate::time::TempoMap;

/// The song runs from where it is.
pub const HOCKET_PLAY: u32 = 1;
/// The song stays where it is.
pub const HOCKET_PAUSE: u32 = 2;
/// The song goes to `frame`, and plays or not as before.
pub const HOCKET_LOCATE: u32 = 3;
/// From now on, when the song reaches `end` from before it, it goes on at `frame`.
pub const HOCKET_LOOP: u32 = 4;
/// There is no loop.
pub const HOCKET_LOOP_OFF: u32 = 5;

/// What the transport is to do, and when. An engine starts at frame 0 of the song, and plays.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Command {
    /// `HOCKET_PLAY`, `HOCKET_PAUSE`, `HOCKET_LOCATE`, `HOCKET_LOOP` or `HOCKET_LOOP_OFF`.
    pub action: u32,
    /// The frame since the engine's start before which it takes effect, also in the middle of a block. A frame that
    /// has passed counts as the next block's first one, so 0 means at once.
    pub at_steady_frame: u64,
    /// For `HOCKET_LOCATE` the frame of the song, for `HOCKET_LOOP` the loop's first one. It may be negative.
    pub frame: i64,
    /// For `HOCKET_LOOP` the frame behind the loop's last one, at least 256 frames after `frame`.
    pub end: i64,
}

/// Sends the transport a command. It waits in order with the edits, but it is no edit: it has no number.
///
/// Thread: any but the leader. Cost: a lock among control threads, allocates. `HOCKET_STATUS_BUSY` if 256 edits and
/// commands are on their way, or if 16 commands with a frame other than 0 are on their way or wait for it.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_transport(
    engine: *const Engine,
    command: *const Command,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H.
    unsafe {
        done(error, || {
            let engine = seen(engine, "engine")?;
            engine.command(seen(command, "command")?.read()?)?;
            Ok(())
        })
    }
}

/// Gives the transport a command before the next block. `HOCKET_STATUS_BUSY` for a later frame if 16 commands wait for
/// their frame already, or are on their way from `hocket_engine_transport`.
///
/// Thread: leader, between blocks. Cost: no allocation, no lock.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_command(
    engine: *const Engine,
    command: *const Command,
) -> Status {
    // SAFETY: P.
    let Some(command) = (unsafe { command.as_ref() }) else { return Status::BadInput };
    let Some(command) = quiet(None, || command.read().ok()) else { return Status::BadInput };
    let mut full = false;
    // SAFETY: P, H.
    let status = unsafe { lead(engine, |leading| full = leading.command(command).is_err()) };
    if full { Status::Busy } else { status }
}

/// Where the song is after the last block.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct TransportState {
    /// Frames since the engine's start: the next block's first one. It never goes back.
    pub steady_frame: u64,
    /// Song position of the next frame.
    pub position: i64,
    /// The loop's first frame. 0 without a loop.
    pub loop_start: i64,
    /// The frame behind the loop's last one. 0 without a loop.
    pub loop_end: i64,
    /// Whether the next frame plays.
    pub playing: bool,
    /// Whether there is a loop.
    pub loops: bool,
}

/// Writes where the song is into `state`. Edits and commands that wait for the next block are not in it.
///
/// Thread: leader, between blocks. Cost: none.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_transport_state(
    engine: *const Engine,
    state: *mut TransportState,
) -> Status {
    // SAFETY: P.
    let Some(state) = (unsafe { state.as_mut() }) else { return Status::BadInput };
    // SAFETY: P, H.
    unsafe { lead(engine, |leading| *state = TransportState::from(leading.transport())) }
}

/// Goes on with other tempos and time signatures from the next block on. The song stays at its frame. The map has
/// to have the engine's sample rate. The engine copies it.
///
/// Thread: any but the leader. Cost: a lock among control threads, allocates. `HOCKET_STATUS_BUSY` if 256
/// edits and commands are on their way.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_set_tempo_map(
    engine: *const Engine,
    map: *const TempoMap,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H.
    unsafe {
        done(error, || {
            let (engine, map) = (seen(engine, "engine")?, &seen(map, "map")?.map);
            let (map_hz, engine_hz) = (map.rate_hz(), engine.rate_hz);
            if map_hz != engine_hz {
                return Err(Failure::bad_input(format!(
                    "the tempo map is for {map_hz} Hz, the engine runs at {engine_hz} Hz: make the \
                     map with that rate"
                )));
            }
            engine.control.set_tempo_map(map.clone())?;
            Ok(())
        })
    }
}

/// Why a command is not possible. The leader must not allocate a message.
enum Refused {
    Action(u32),
    Position(PositionError),
    Loop(LoopError),
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Failure {
        match refused {
            Refused::Position(error) => Failure::bad_input(error),
            Refused::Loop(error) => Failure::bad_input(error),
            Refused::Action(action) => Failure::bad_input(format!(
                "command.action of {action} is not possible: choose HOCKET_PLAY, HOCKET_PAUSE, HOCKET_LOCATE, \
                 HOCKET_LOOP or HOCKET_LOOP_OFF"
            )),
        }
    }
}

impl Command {
    /// The command for the engine, if it is possible.
    fn read(&self) -> Result<TimedCommand, Refused> {
        let command = match self.action {
            HOCKET_PLAY => TransportCommand::Play,
            HOCKET_PAUSE => TransportCommand::Stop,
            HOCKET_LOCATE => TransportCommand::Locate(reachable(self.frame)?),
            HOCKET_LOOP => {
                let range = LoopRange::from_frames(self.frame, self.end);
                TransportCommand::Loop(range.map_err(Refused::Loop)?)
            }
            HOCKET_LOOP_OFF => TransportCommand::LoopOff,
            other => return Err(Refused::Action(other)),
        };
        Ok(TimedCommand { at_steady: self.at_steady_frame, command })
    }
}

/// A frame that a song can have.
fn reachable(frame: i64) -> Result<i64, Refused> {
    match frame.unsigned_abs() > MAX_FRAME as u64 {
        true => Err(Refused::Position(PositionError::TooFar(SongPosition::Frame(frame)))),
        false => Ok(frame),
    }
}

impl From<&hocket_engine::time::Transport> for TransportState {
    fn from(transport: &hocket_engine::time::Transport) -> TransportState {
        let range = transport.loop_range();
        TransportState {
            steady_frame: transport.steady_frame(),
            position: transport.position(),
            loop_start: range.map_or(0, LoopRange::start),
            loop_end: range.map_or(0, LoopRange::end),
            playing: transport.is_playing(),
            loops: range.is_some(),
        }
    }
}
