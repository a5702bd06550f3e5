//! What moves while the song plays, and how its places follow when strips and effects come and go.

use std::sync::Arc;

use hocket_time::{CONTROL_GRID_FRAMES, Lane, LaneError, LanePoint, TempoMap, TimeBase};

use super::{EventsOf, Session, Strip, StripId, TakeFrom, Track};
use crate::effect::Effect;

/// An effect by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EffectAt {
    /// The strip.
    pub strip: StripId,
    /// Place in its chain.
    pub index: usize,
}

/// An extra output of an effect by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OutputAt {
    /// The effect.
    pub effect: EffectAt,
    /// Place among its extra outputs.
    pub index: usize,
}

/// A send by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SendAt {
    /// The strip.
    pub strip: StripId,
    /// Place among its sends.
    pub index: usize,
}

/// What a lane of a session moves. Values are in the parameter's unit; those out of its range count as its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LaneTarget {
    /// A strip's fader, in decibels; -200 and less is as good as silence.
    Gain(StripId),
    /// A strip's pan, -1 to +1.
    Pan(StripId),
    /// A strip's mute: on from 0.5.
    Mute(StripId),
    /// A send's level, in decibels; -200 and less is as good as silence.
    Send(SendAt),
    /// One of an effect's parameters.
    Param(EffectAt, usize),
    /// An effect's bypass: on from 0.5.
    Bypass(EffectAt),
}

/// What a lane is made of. A copy shares the points.
#[derive(Debug, Clone, PartialEq)]
pub struct LaneSpec {
    /// Sorted, in the unit of `base`.
    pub points: Arc<[LanePoint]>,
    /// The unit of the points. Those in beats follow the tempo map, also when it changes while the song plays.
    pub base: TimeBase,
    /// The distance of values on the way between two points, in frames.
    pub grid_frames: u32,
}

impl LaneSpec {
    /// A lane of these points, with values every [`CONTROL_GRID_FRAMES`] frames between them.
    pub fn new(base: TimeBase, points: impl Into<Arc<[LanePoint]>>) -> LaneSpec {
        LaneSpec { points: points.into(), base, grid_frames: CONTROL_GRID_FRAMES }
    }

    /// The lane under a tempo map.
    ///
    /// # Errors
    /// [`LaneError`] names the first wrong point.
    pub fn lane(&self, map: &TempoMap) -> Result<Lane, LaneError> {
        Lane::new(map, self.base, &self.points)?.with_grid(self.grid_frames)
    }
}

/// A lane of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Automation {
    /// What it moves.
    pub target: LaneTarget,
    /// How.
    pub lane: LaneSpec,
}

impl LaneTarget {
    /// The strip that it belongs to.
    pub fn strip(self) -> StripId {
        match self {
            LaneTarget::Gain(id) | LaneTarget::Pan(id) | LaneTarget::Mute(id) => id,
            LaneTarget::Send(at) => at.strip,
            LaneTarget::Param(at, _) | LaneTarget::Bypass(at) => at.strip,
        }
    }

    /// The same of another strip.
    pub fn on(mut self, strip: StripId) -> LaneTarget {
        *self.strip_mut() = strip;
        self
    }

    fn strip_mut(&mut self) -> &mut StripId {
        match self {
            LaneTarget::Gain(id) | LaneTarget::Pan(id) | LaneTarget::Mute(id) => id,
            LaneTarget::Send(at) => &mut at.strip,
            LaneTarget::Param(at, _) | LaneTarget::Bypass(at) => &mut at.strip,
        }
    }

    fn effect_mut(&mut self) -> Option<&mut EffectAt> {
        match self {
            LaneTarget::Param(at, _) | LaneTarget::Bypass(at) => Some(at),
            _ => None,
        }
    }
}

/// Automation, and places that follow an edit.
impl Session {
    /// The lane of a target.
    pub fn lane(&self, target: LaneTarget) -> Option<&LaneSpec> {
        let found = self.automation.iter().find(|automation| automation.target == target);
        found.map(|automation| &automation.lane)
    }

    /// Gives a target a lane, or takes it away.
    pub fn set_lane(&mut self, target: LaneTarget, lane: Option<LaneSpec>) {
        let place = self.automation.iter().position(|automation| automation.target == target);
        match (place, lane) {
            (Some(place), Some(lane)) => self.automation[place].lane = lane,
            (Some(place), None) => _ = self.automation.remove(place),
            (None, Some(lane)) => self.automation.push(Automation { target, lane }),
            (None, None) => {}
        }
    }

    /// The name of what takes from this strip besides sends and routes: an effect's strip, a track that plays an extra
    /// output, an output.
    pub fn listener(&self, id: StripId) -> Option<&str> {
        let hears = |strip: &&Strip| {
            let from = |effect: &Effect| [effect.key.map(|key| key.from), effect.events];
            strip.chain.iter().flat_map(from).any(|from| from == Some(id))
        };
        let strips = self.strip_ids().into_iter().filter(|own| *own != id);
        let strip = strips.map(|own| self.strip(own)).find(hears).map(|strip| strip.name.as_str());
        let strip = strip.or(self.player(|effect| effect.strip == id));
        let output = self.outputs.iter().find(|output| output.from == id);
        strip.or(output.map(|output| output.name.as_str()))
    }

    /// The name of a track that plays an extra output of an effect.
    pub fn player(&self, is_it: impl Fn(EffectAt) -> bool) -> Option<&str> {
        let plays = |track: &&Track| track.from.is_some_and(|from| is_it(from.effect));
        self.tracks.iter().find(plays).map(|track| track.strip.name.as_str())
    }

    /// A strip has been removed, to which nothing listens: its lanes go, and what speaks of strips behind it follows.
    pub fn forget_strip(&mut self, id: StripId) {
        self.automation.retain(|automation| automation.target.strip() != id);
        for automation in &mut self.automation {
            move_up(automation.target.strip_mut(), id);
        }
        for output in &mut self.outputs {
            move_up(&mut output.from, id);
        }
        // What is recorded was fixed when it began to play; a take of nothing goes.
        self.takes.retain(|take| take.from.strip() != Some(id));
        for take in &mut self.takes {
            match (&mut take.from, id) {
                (TakeFrom::Strip(strip, _), _) => move_up(strip, id),
                (TakeFrom::Events(EventsOf::Track(index)), StripId::Track(gone)) => {
                    *index -= usize::from(*index > gone);
                }
                _ => {}
            }
        }
        for from in self.tracks.iter_mut().filter_map(|track| track.from.as_mut()) {
            move_up(&mut from.effect.strip, id);
        }
        let tracks = self.tracks.iter_mut().map(|track| &mut track.strip);
        let groups = self.groups.iter_mut().map(|group| &mut group.strip);
        let returns = self.returns.iter_mut().map(|back| &mut back.strip);
        let strips = tracks.chain(groups).chain(returns).chain([&mut self.master]);
        for effect in strips.flat_map(|strip| &mut strip.chain) {
            if let Some(key) = &mut effect.key {
                move_up(&mut key.from, id);
            }
            if let Some(events) = &mut effect.events {
                move_up(events, id);
            }
        }
    }

    /// The effects of which lanes and tracks speak.
    fn effects_mut(&mut self) -> impl Iterator<Item = &mut EffectAt> {
        let lanes = self.automation.iter_mut().filter_map(|lane| lane.target.effect_mut());
        let tracks = self.tracks.iter_mut().filter_map(|track| track.from.as_mut());
        lanes.chain(tracks.map(|from| &mut from.effect))
    }

    /// An effect has been added at this place: what speaks of those behind it follows.
    pub fn make_room(&mut self, new: EffectAt) {
        let behind = self.effects_mut().filter(|at| at.strip == new.strip && at.index >= new.index);
        behind.for_each(|at| at.index += 1);
    }

    /// An effect has been removed, of which no track plays an output: its lanes go, and what speaks of those behind it
    /// follows.
    pub fn forget_effect(&mut self, gone: EffectAt) {
        self.automation.retain_mut(|lane| lane.target.effect_mut().is_none_or(|at| *at != gone));
        let behind =
            self.effects_mut().filter(|at| at.strip == gone.strip && at.index > gone.index);
        behind.for_each(|at| at.index -= 1);
    }

    /// A send has been removed: its lane goes, and those behind it follow.
    pub fn forget_send(&mut self, gone: SendAt) {
        self.automation.retain(|lane| lane.target != LaneTarget::Send(gone));
        for lane in &mut self.automation {
            if let LaneTarget::Send(at) = &mut lane.target
                && at.strip == gone.strip
                && at.index > gone.index
            {
                at.index -= 1;
            }
        }
    }
}

/// The id of a strip after `gone` has been removed.
fn move_up(id: &mut StripId, gone: StripId) {
    match (id, gone) {
        (StripId::Track(i), StripId::Track(gone))
        | (StripId::Group(i), StripId::Group(gone))
        | (StripId::Return(i), StripId::Return(gone))
            if *i > gone =>
        {
            *i -= 1;
        }
        _ => {}
    }
}
