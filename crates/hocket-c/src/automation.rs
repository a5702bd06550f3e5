//! Automation: parameters that follow lanes of points, and events that found no room.

use std::ffi::{c_char, c_void};

use hocket_engine::session::{SendAt, Session, StripId};
use hocket_engine::time::{CONTROL_GRID_FRAMES, LanePoint as Point, Shape, TimeBase};
use hocket_engine::{Edit, EffectAt, LaneSpec, LaneTarget};

use crate::border::{c_text, done, seen, text};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::routing_edit::return_named;
use crate::status::{Error, Status};
use crate::strip_edit::{param_index, strip_named};
use crate::time::listed;

/// A lane's points count in quarter notes since the start of the song. They follow the tempo.
pub const HOCKET_LANE_BEATS: u32 = 0;
/// A lane's points count in seconds since the start of the song. They stay when the tempo changes.
pub const HOCKET_LANE_SECONDS: u32 = 1;

/// The value stays until the next point.
pub const HOCKET_SHAPE_HOLD: u32 = 0;
/// A straight line to the next point.
pub const HOCKET_SHAPE_LINEAR: u32 = 1;
/// An exponential curve to the next point: at the part x of the way from a to b, the value is
/// a + (b - a) * (1 - exp(c * x)) / (1 - exp(c)), where c is `curve`.
pub const HOCKET_SHAPE_CURVE: u32 = 2;

/// A value of a parameter at a place of the song.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct LanePoint {
    /// Where, in the unit of the lane.
    pub at: f64,
    /// The value, in the parameter's unit.
    pub value: f64,
    /// The way to the next point: `HOCKET_SHAPE_HOLD` and so on. Behind the last point the value stays.
    pub shape: u32,
    /// For `HOCKET_SHAPE_CURVE`: more than 0 starts slowly, less than 0 starts fast, near 0 it is a line; -20 to 20.
    /// Otherwise it counts for nothing.
    pub curve: f32,
}

/// The values of a parameter over the song. Before the first point its value holds, behind the last one that of the
/// last. Of several points at one place the first ends the way to it, and the last holds from there on.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Lane {
    /// The points, sorted. The call that gets them copies them.
    pub points: *const LanePoint,
    /// Number of `points`, 1 to 2,097,152.
    pub count: usize,
    /// `HOCKET_LANE_BEATS` or `HOCKET_LANE_SECONDS`.
    pub unit: u32,
    /// The distance of the values on the way between two points, in frames. 0 means 32, as often as the effects
    /// compute their coefficients.
    pub grid_frames: u32,
}

/// What a lane moves, in a graph.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct NodeLane {
    /// The node.
    pub node: u32,
    /// The parameter, as in `hocket_engine_set_node`.
    pub param: u32,
    /// Its new lane. NULL removes the lane, and the parameter stays as it is.
    pub lane: *const Lane,
}

/// A lane moves the strip's fader, in decibels. -200 and less is as good as silence.
pub const HOCKET_LANE_GAIN: u32 = 0;
/// A lane moves the strip's pan, -1 to +1.
pub const HOCKET_LANE_PAN: u32 = 1;
/// A lane moves the strip's mute: on from 0.5.
pub const HOCKET_LANE_MUTE: u32 = 2;
/// A lane moves the level of the send to the return `name`, in decibels. Lanes of sends can only be exchanged for
/// others: the session file gives a send its first one.
pub const HOCKET_LANE_SEND: u32 = 3;
/// A lane moves the parameter `name` of the effect at `effect`, in the parameter's unit. The session's file may not call
/// the parameter fixed (`hocket_param`).
pub const HOCKET_LANE_PARAM: u32 = 4;
/// A lane moves the bypass of the effect at `effect`: on from 0.5.
pub const HOCKET_LANE_BYPASS: u32 = 5;

/// What a lane moves, in a session. A value out of the parameter's range counts as the nearest one in it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct StripLane {
    /// The strip's name.
    pub strip: *const c_char,
    /// `HOCKET_LANE_GAIN` and so on. It says which of the next fields count.
    pub target: u32,
    /// The effect's place in the strip's chain.
    pub effect: u32,
    /// The name of the parameter or of the return.
    pub name: *const c_char,
    /// The new lane. NULL removes the lane, and the parameter stays as it is.
    pub lane: *const Lane,
}

/// Gives parameters of nodes lanes, exchanges their lanes or removes them, all before the next block. It is one edit. If
/// anything in the list is wrong, nothing changes. Of several lanes for one parameter the last one counts. Call it
/// before the first block for lanes that play from the start.
///
/// The values come in `events` of the node's block at their frames. A node behind a latency gets them later by it, as it
/// gets the sound. A new lane begins with the value where the song is. At one frame an edit wins over the lane, and the
/// lane's next value wins over the edit. A node keeps its lanes when the graph is exchanged, and lanes in beats follow
/// `hocket_engine_set_tempo_map`.
///
/// Thread: any but the leader. Cost: O(points), for which it holds a lock among control threads; allocates.
///
/// # Safety
/// P (`lanes` has `count` values), H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_automate_nodes(
    engine: *const Engine,
    lanes: *const NodeLane,
    count: usize,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H.
    unsafe {
        done(error, || {
            let (engine, lanes) = (seen(engine, "engine")?, listed(lanes, count, "lanes")?);
            let change = |it: &NodeLane| Ok((it.node, it.param, read(it.lane)?));
            let changes: Result<Vec<_>, Failure> = lanes.iter().map(change).collect();
            let changes = changes?;
            engine.editing().nodes(|graph| graph.automate(changes))
        })
    }
}

/// Like `hocket_engine_automate_nodes`, for an engine that plays a session.
///
/// Thread: any but the leader. Cost: as `hocket_engine_automate_nodes`.
///
/// # Safety
/// P (`lanes` has `count` values), H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_automate_strips(
    engine: *const Engine,
    lanes: *const StripLane,
    count: usize,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H.
    unsafe {
        done(error, || {
            let (engine, lanes) = (seen(engine, "engine")?, listed(lanes, count, "lanes")?);
            engine.editing().strips(|editor| {
                let session = editor.session();
                let change = |it: &StripLane| Ok((it.target(session)?, read(it.lane)?));
                let changes: Result<Vec<_>, Failure> = lanes.iter().map(change).collect();
                Ok(editor.apply(Edit::Automate(changes?))?)
            })
        })
    }
}

/// A node, and how much of it found no room.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Lost {
    /// The node's name. Valid until the callback returns.
    pub node: *const c_char,
    /// How many values or events, since the node joined or the engine was reset.
    pub count: u64,
}

/// Called for each node of which something found no room.
pub type LostFn = Option<unsafe extern "C" fn(user: *mut c_void, lost: *const Lost)>;

/// Calls `each` for every node whose lanes gave more values than it has room for in a block. Every second value on a
/// ramp goes then, points stay. A node with n lanes has room for one value per lane and frame as long as that is at most
/// 4096, or else for n * (frames / 16 + 16) values if that is more.
///
/// Thread: any but the leader; `each` runs on the calling thread. Cost: a lock among control threads, allocates.
///
/// # Safety
/// P, H, C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_thinned_out(
    engine: *const Engine,
    each: LostFn,
    user: *mut c_void,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H, C.
    unsafe {
        done(error, || {
            let (engine, each) =
                (seen(engine, "engine")?, each.ok_or_else(|| Failure::null("each"))?);
            for found in engine.control.thinned_out() {
                let node = c_text(&found.node);
                each(user, &Lost { node: node.as_ptr(), count: found.values });
            }
            Ok(())
        })
    }
}

/// Calls `each` for every node that events did not reach or leave, because they found no room. A port takes 1024 events
/// per block, and note ends besides. What a processor had no room to pass on counts too (`hocket_main_events_lost`).
///
/// Thread: any but the leader; `each` runs on the calling thread. Cost: a lock among control threads, allocates.
///
/// # Safety
/// P, H, C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_lost_events(
    engine: *const Engine,
    each: LostFn,
    user: *mut c_void,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H, C.
    unsafe {
        done(error, || {
            let (engine, each) =
                (seen(engine, "engine")?, each.ok_or_else(|| Failure::null("each"))?);
            for found in engine.control.lost_events() {
                let node = c_text(&found.node);
                each(user, &Lost { node: node.as_ptr(), count: found.events });
            }
            Ok(())
        })
    }
}

/// A caller's lane. Its points are checked where the tempo map is known.
///
/// # Safety
/// P.
unsafe fn read(lane: *const Lane) -> Result<Option<LaneSpec>, Failure> {
    // SAFETY: the caller's obligation.
    let Some(lane) = (unsafe { lane.as_ref() }) else { return Ok(None) };
    let base = time_base(lane.unit, "lane.unit")?;
    // SAFETY: the caller's obligation.
    let points = unsafe { listed(lane.points, lane.count, "lane.points") }?;
    let points = points.iter().enumerate().map(|(index, point)| point.read(index));
    let points: Vec<Point> = points.collect::<Result<_, _>>()?;
    let grid_frames = if lane.grid_frames == 0 { CONTROL_GRID_FRAMES } else { lane.grid_frames };
    Ok(Some(LaneSpec { grid_frames, ..LaneSpec::new(base, points) }))
}

/// What `HOCKET_LANE_BEATS` or `HOCKET_LANE_SECONDS` means. `what`: the field.
pub(crate) fn time_base(unit: u32, what: &str) -> Result<TimeBase, Failure> {
    match unit {
        HOCKET_LANE_BEATS => Ok(TimeBase::Beats),
        HOCKET_LANE_SECONDS => Ok(TimeBase::Seconds),
        unit => Err(Failure::bad_input(format!(
            "{what} of {unit} is not possible: choose HOCKET_LANE_BEATS or HOCKET_LANE_SECONDS"
        ))),
    }
}

impl LanePoint {
    fn read(&self, index: usize) -> Result<Point, Failure> {
        let LanePoint { at, value, shape, curve } = *self;
        let shape = match shape {
            HOCKET_SHAPE_HOLD => Shape::Hold,
            HOCKET_SHAPE_LINEAR => Shape::Linear,
            HOCKET_SHAPE_CURVE => Shape::Curve(curve),
            other => {
                return Err(Failure::bad_input(format!(
                    "automation point {index} has the shape {other}: choose HOCKET_SHAPE_HOLD, \
                     HOCKET_SHAPE_LINEAR or HOCKET_SHAPE_CURVE"
                )));
            }
        };
        Ok(Point { at, value, shape })
    }
}

impl StripLane {
    /// # Safety
    /// P.
    unsafe fn target(&self, session: &Session) -> Result<LaneTarget, Failure> {
        // SAFETY: the caller's obligation.
        let strip = unsafe { strip_named(session, text(self.strip, "lane.strip")?) }?;
        let effect = EffectAt { strip, index: self.effect as usize };
        Ok(match self.target {
            HOCKET_LANE_GAIN => LaneTarget::Gain(strip),
            HOCKET_LANE_PAN => LaneTarget::Pan(strip),
            HOCKET_LANE_MUTE => LaneTarget::Mute(strip),
            // SAFETY: the caller's obligation.
            HOCKET_LANE_SEND => LaneTarget::Send(unsafe { self.send(session, strip) }?),
            HOCKET_LANE_PARAM => {
                // SAFETY: the caller's obligation.
                let name = unsafe { text(self.name, "lane.name") }?;
                LaneTarget::Param(effect, param_index(session, effect, name)?)
            }
            HOCKET_LANE_BYPASS => LaneTarget::Bypass(effect),
            other => {
                return Err(Failure::bad_input(format!(
                    "lane.target of {other} is not possible: choose HOCKET_LANE_GAIN, HOCKET_LANE_PAN, \
                     HOCKET_LANE_MUTE, HOCKET_LANE_SEND, HOCKET_LANE_PARAM or HOCKET_LANE_BYPASS"
                )));
            }
        })
    }

    /// # Safety
    /// P.
    unsafe fn send(&self, session: &Session, strip: StripId) -> Result<SendAt, Failure> {
        // SAFETY: the caller's obligation.
        let to = unsafe { return_named(session, self.name) }?;
        let strip_of = session.strip(strip);
        let index = strip_of.sends.iter().position(|send| send.to == to);
        let missing = || {
            let (from, to) = (&strip_of.name, &session.returns[to.0].strip.name);
            Failure::bad_input(format!("strip '{from}' does not send to '{to}'"))
        };
        Ok(SendAt { strip, index: index.ok_or_else(missing)? })
    }
}
