//! Changes to a session while it plays.

use hocket_plan::graph::GraphError;
use hocket_plan::session::{
    Destination, Group, GroupId, MediaId, Return, ReturnId, Send, SendAt, Session, Strip, StripId,
    Track,
};
use hocket_plan::{Effect, NodeId, NodeKind};

use super::automation::LaneSpec;
use super::handle::ControlError;
use super::prepare::PrepareError;
use crate::catalogue::Effects;
pub use hocket_plan::session::{EffectAt, LaneTarget};

/// One change. Indices are those of the session at the time of the edit. Routes, sends,
/// effects and strips that come or go fade, unless [`Editor::fade_edits`](crate::Editor::fade_edits) is off.
#[derive(Debug, Clone, PartialEq)]
pub enum Edit {
    /// A strip's fader, in decibels; smoothed.
    Gain(StripId, f32),
    /// A strip's pan, -1 to +1; smoothed.
    Pan(StripId, f32),
    /// A strip's mute; smoothed.
    Mute(StripId, bool),
    /// A strip's solo; every strip that it makes audible or silent is faded.
    Solo(StripId, bool),
    /// One of an effect's parameters, in its unit; smoothed if the effect smooths it.
    Param(EffectAt, usize, f32),
    /// An effect's bypass; cross-faded.
    Bypass(EffectAt, bool),
    /// Gives parameters automation lanes, or removes them: all before the same block. A live edit of the parameter holds
    /// until the lane's next value.
    ///
    /// Lanes stay with their strip, effect or send, and go with them. Lanes of sends can be exchanged, but not added or
    /// removed: a send without one is part of a sum.
    Automate(Vec<(LaneTarget, Option<LaneSpec>)>),
    /// Adds an effect before the one at this place; cross-faded.
    InsertEffect(EffectAt, Effect),
    /// Removes an effect of which no track plays an extra output.
    RemoveEffect(EffectAt),
    /// Adds a track at the end of the list. Its clips play from the song's position.
    AddTrack(Box<Track>),
    /// Removes a track.
    RemoveTrack(usize),
    /// Adds a group at the end of the list.
    AddGroup(Box<Group>),
    /// Removes a group that no strip uses; those after it move up.
    RemoveGroup(usize),
    /// Adds a return at the end of the list.
    AddReturn(Box<Return>),
    /// Removes a return that no strip sends to; those after it move up.
    RemoveReturn(usize),
    /// Routes a strip's output elsewhere.
    Route(StripId, Destination),
    /// Sets a strip's send to a return: adds it, or changes its level or tap.
    Send(StripId, Send),
    /// Removes a strip's send.
    RemoveSend(StripId, ReturnId),
}

/// Why an edit is refused; the session goes on unchanged.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EditError {
    /// There is no such strip.
    #[error("the session has no {0:?}")]
    NoStrip(StripId),
    /// The master cannot do that.
    #[error("the master has no output to route and no sends")]
    Master,
    /// There is no such node, or it has nothing that could change.
    #[error("the graph has no node {} that could be kept or changed", .0.0)]
    NoNode(NodeId),
    /// The newest graph has no node of this kind that could be changed.
    #[error("the graph has no {0:?} that could be changed")]
    NoKind(NodeKind),
    /// The largest block grew while the edit was made, and a new processor is not ready for it.
    #[error("the largest block grew while this edit was made: make the edit again")]
    Grew,
    /// A candidate whose session has another graph by now.
    #[error("another edit changed the graph since this one was tried out: try it out again")]
    Outdated,
    /// A new processor panicked while it was tried out.
    #[error("node '{0}' panicked while it was tried out")]
    Panicked(String),
    /// An effect that the engine made without a bypass.
    #[error(
        "effect {index} of strip '{strip}' cannot be bypassed while it plays: the engine began without an editor, so \
         remove the effect, or start the engine with one"
    )]
    NoBypass {
        /// The strip's name.
        strip: String,
        /// The effect's place.
        index: usize,
    },
    /// An output that the host added would lose its node.
    #[error("something records what this edit removes: end the recording first")]
    Tapped,
    /// An engine whose nodes are not those of the session.
    #[error("the engine does not play this session: its graph has other nodes")]
    OtherSession,
    /// The system cannot start a thread that a processor needs.
    #[error("a thread for background work cannot be started: {0}; close other programs")]
    Thread(String),
    /// There is no such effect.
    #[error("strip '{strip}' has no effect at place {index}: its chain has {length}")]
    NoEffect {
        /// The strip's name.
        strip: String,
        /// Requested.
        index: usize,
        /// Effects that it has.
        length: usize,
    },
    /// There is no such parameter, it cannot change while it plays, or the value is not a number.
    #[error("effect '{kind}' has no parameter {index} that could be set to {value} while it plays")]
    NoParam {
        /// The effect's kind.
        kind: String,
        /// Requested.
        index: usize,
        /// Requested.
        value: f32,
    },
    /// There is no such parameter, or it cannot change while it plays.
    #[error("effect '{kind}' has no parameter {index} that could be automated")]
    NoLane {
        /// The effect's kind.
        kind: String,
        /// Requested.
        index: usize,
    },
    /// A lane for a send that had none, or none for one that had.
    #[error("'{0}' has no such send with a lane: lanes of sends can only be exchanged for others")]
    SendLane(String),
    /// The session has no such input.
    #[error("track '{track}' plays input {input}, which the session does not have")]
    NoInput {
        /// The track's name.
        track: String,
        /// Index of the input.
        input: usize,
    },
    /// The strip does not send there.
    #[error("strip '{0}' has no such send")]
    NoSend(String),
    /// Media that was not loaded when the session began.
    #[error("media {0:?} was not loaded with the session")]
    NoMedia(MediaId),
    /// A number that is not finite.
    #[error("{0} is not a level or position")]
    NotANumber(f32),
    /// Other strips still use it.
    #[error("'{strip}' is still used by '{by}': route or send that one elsewhere first")]
    InUse {
        /// The strip to remove.
        strip: String,
        /// One that uses it.
        by: String,
    },
    /// The last track cannot be removed.
    #[error("a session needs at least one track")]
    LastTrack,
    /// The routing would be invalid.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A processor cannot be made.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The engine takes no orders now.
    #[error(transparent)]
    Control(#[from] ControlError),
}

/// What an edit changes in the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    /// Parameters or their lanes change, the nodes stay.
    Changes,
    /// Nodes or edges change.
    Plan,
}

impl Edit {
    pub(super) fn needs(&self) -> Needs {
        match self {
            Edit::Gain(..)
            | Edit::Pan(..)
            | Edit::Mute(..)
            | Edit::Solo(..)
            | Edit::Param(..)
            | Edit::Bypass(..)
            | Edit::Automate(..) => Needs::Changes,
            _ => Needs::Plan,
        }
    }

    /// Makes the change in the model.
    ///
    /// # Errors
    /// [`EditError`]; the session may then be half changed, so pass a copy.
    pub(super) fn apply(&self, session: &mut Session, effects: &Effects) -> Result<(), EditError> {
        match self {
            Edit::Gain(id, gain_db) => strip(session, *id)?.gain_db = level(*gain_db)?,
            Edit::Pan(id, pan) => strip(session, *id)?.pan = finite(*pan)?.clamp(-1.0, 1.0),
            Edit::Mute(id, mute) => strip(session, *id)?.mute = *mute,
            Edit::Solo(id, solo) => strip(session, *id)?.solo = *solo,
            Edit::Param(at, index, value) => {
                set_param(effect(session, *at)?, effects, *index, *value)?
            }
            Edit::Bypass(at, bypass) => effect(session, *at)?.bypass = *bypass,
            Edit::Automate(lanes) => {
                let mut find = |target, lane| find(session, effects, target, lane);
                lanes.iter().try_for_each(|(target, lane)| find(*target, lane))?;
                lanes.iter().for_each(|(target, lane)| session.set_lane(*target, lane.clone()));
            }
            Edit::InsertEffect(at, new) => insert_effect(session, *at, new)?,
            Edit::RemoveEffect(at) => {
                let kind = effect(session, *at)?.kind.clone();
                if let Some(by) = session.player(|effect| effect == *at) {
                    let strip = format!("{}: {kind}", session.strip(at.strip).name);
                    return Err(EditError::InUse { strip, by: by.into() });
                }
                strip(session, at.strip)?.chain.remove(at.index);
                session.forget_effect(*at);
            }
            Edit::AddTrack(track) => add_track(session, track)?,
            Edit::RemoveTrack(index) => remove_track(session, *index)?,
            Edit::AddGroup(group) => {
                numbers(&group.strip)?;
                session.groups.push((**group).clone());
            }
            Edit::RemoveGroup(index) => remove_group(session, *index)?,
            Edit::AddReturn(back) => {
                numbers(&back.strip)?;
                session.returns.push((**back).clone());
            }
            Edit::RemoveReturn(index) => remove_return(session, *index)?,
            Edit::Route(id, to) => *output(session, *id)? = *to,
            Edit::Send(id, send) => set_send(strip(session, *id)?, send)?,
            Edit::RemoveSend(id, to) => remove_send(session, *id, *to)?,
        }
        Ok(())
    }
}

pub(super) fn strip(session: &mut Session, id: StripId) -> Result<&mut Strip, EditError> {
    let found = match id {
        StripId::Track(i) => session.tracks.get_mut(i).map(|track| &mut track.strip),
        StripId::Group(i) => session.groups.get_mut(i).map(|group| &mut group.strip),
        StripId::Return(i) => session.returns.get_mut(i).map(|back| &mut back.strip),
        StripId::Master => Some(&mut session.master),
    };
    found.ok_or(EditError::NoStrip(id))
}

fn output(session: &mut Session, id: StripId) -> Result<&mut Destination, EditError> {
    let found = match id {
        StripId::Track(i) => session.tracks.get_mut(i).map(|track| &mut track.output),
        StripId::Group(i) => session.groups.get_mut(i).map(|group| &mut group.output),
        StripId::Return(i) => session.returns.get_mut(i).map(|back| &mut back.output),
        StripId::Master => return Err(EditError::Master),
    };
    found.ok_or(EditError::NoStrip(id))
}

fn effect(session: &mut Session, at: EffectAt) -> Result<&mut Effect, EditError> {
    let strip = strip(session, at.strip)?;
    let (name, length) = (strip.name.clone(), strip.chain.len());
    let missing = || EditError::NoEffect { strip: name, index: at.index, length };
    strip.chain.get_mut(at.index).ok_or_else(missing)
}

/// A level in decibels: a number, or minus infinity.
fn level(gain_db: f32) -> Result<f32, EditError> {
    if gain_db == f32::NEG_INFINITY { Ok(gain_db) } else { finite(gain_db) }
}

fn finite(value: f32) -> Result<f32, EditError> {
    if value.is_finite() { Ok(value) } else { Err(EditError::NotANumber(value)) }
}

fn set_param(
    effect: &mut Effect,
    effects: &Effects,
    index: usize,
    value: f32,
) -> Result<(), EditError> {
    let param = effects.param(&effect.kind, index);
    let param = param.filter(|param| value.is_finite() && !param.fixed);
    let no_param = || EditError::NoParam { kind: effect.kind.clone(), index, value };
    let (min, max) = param.map(|param| (param.min, param.max)).ok_or_else(no_param)?;
    // Not `clamp`, which panics where a plug-in declares its ends the wrong way round.
    let value = value.max(min).min(max);
    effect.values.get_mut(index).map(|own| *own = value).ok_or_else(no_param)
}

/// Whether the session has what a lane is to move.
fn find(
    session: &mut Session,
    effects: &Effects,
    target: LaneTarget,
    lane: &Option<LaneSpec>,
) -> Result<(), EditError> {
    match target {
        LaneTarget::Send(at) => {
            let stays = session.lane(target).is_some() && lane.is_some();
            let name = strip(session, at.strip)?.name.clone();
            if stays { Ok(()) } else { Err(EditError::SendLane(name)) }
        }
        LaneTarget::Gain(id) | LaneTarget::Pan(id) | LaneTarget::Mute(id) => {
            strip(session, id).map(drop)
        }
        LaneTarget::Bypass(at) => effect(session, at).map(drop),
        LaneTarget::Param(at, index) => {
            let Effect { kind, .. } = effect(session, at)?;
            let found = effects.param(kind, index).is_some_and(|param| !param.fixed);
            let missing = || EditError::NoLane { kind: kind.clone(), index };
            if found { Ok(()) } else { Err(missing()) }
        }
    }
}

fn insert_effect(session: &mut Session, at: EffectAt, new: &Effect) -> Result<(), EditError> {
    let strip = strip(session, at.strip)?;
    let (name, length) = (strip.name.clone(), strip.chain.len());
    if at.index > length {
        return Err(EditError::NoEffect { strip: name, index: at.index, length });
    }
    values(new)?;
    strip.chain.insert(at.index, new.clone());
    session.make_room(at);
    Ok(())
}

fn add_track(session: &mut Session, track: &Track) -> Result<(), EditError> {
    let unknown = track.clips.iter().find(|clip| clip.media.0 >= session.media.len());
    if let Some(clip) = unknown {
        return Err(EditError::NoMedia(clip.media));
    }
    if let Some(input) = track.input.filter(|input| input.0 >= session.inputs.len()) {
        return Err(EditError::NoInput { track: track.strip.name.clone(), input: input.0 });
    }
    numbers(&track.strip)?;
    session.tracks.push(track.clone());
    Ok(())
}

/// Whether the numbers of a new strip are numbers.
fn numbers(strip: &Strip) -> Result<(), EditError> {
    level(strip.gain_db)?;
    finite(strip.pan)?;
    strip.sends.iter().try_for_each(|send| level(send.gain_db).map(drop))?;
    strip.chain.iter().try_for_each(values)
}

/// Whether the values of a new effect are numbers.
fn values(effect: &Effect) -> Result<(), EditError> {
    effect.values.iter().try_for_each(|value| finite(*value).map(drop))
}

/// Removes a group that no strip uses; those after it move up.
fn remove_group(session: &mut Session, index: usize) -> Result<(), EditError> {
    if index >= session.groups.len() {
        return Err(EditError::NoStrip(StripId::Group(index)));
    }
    let by = |id: &StripId| session.output(*id) == Some(Destination::Group(GroupId(index)));
    refuse_used(session, StripId::Group(index), session.strip_ids().into_iter().find(by))?;
    session.groups.remove(index);
    session.forget_strip(StripId::Group(index));
    for id in session.strip_ids() {
        if let Ok(Destination::Group(GroupId(to))) = output(session, id) {
            *to -= usize::from(*to > index);
        }
    }
    Ok(())
}

/// Removes a return that no strip sends to; those after it move up.
fn remove_return(session: &mut Session, index: usize) -> Result<(), EditError> {
    if index >= session.returns.len() {
        return Err(EditError::NoStrip(StripId::Return(index)));
    }
    let sends = |id: &StripId| session.strip(*id).sends.iter().any(|send| send.to.0 == index);
    refuse_used(session, StripId::Return(index), session.strip_ids().into_iter().find(sends))?;
    session.returns.remove(index);
    session.forget_strip(StripId::Return(index));
    for id in session.strip_ids() {
        for send in &mut strip(session, id)?.sends {
            send.to.0 -= usize::from(send.to.0 > index);
        }
    }
    Ok(())
}

fn refuse_used(session: &Session, id: StripId, by: Option<StripId>) -> Result<(), EditError> {
    let name = |id| session.strip(id).name.clone();
    let by = by.map(name).or(session.listener(id).map(str::to_owned));
    by.map_or(Ok(()), |by| Err(EditError::InUse { strip: name(id), by }))
}

fn remove_track(session: &mut Session, index: usize) -> Result<(), EditError> {
    match session.tracks.len() {
        length if index >= length => Err(EditError::NoStrip(StripId::Track(index))),
        1 => Err(EditError::LastTrack),
        _ => {
            refuse_used(session, StripId::Track(index), None)?;
            session.tracks.remove(index);
            session.forget_strip(StripId::Track(index));
            Ok(())
        }
    }
}

fn set_send(strip: &mut Strip, send: &Send) -> Result<(), EditError> {
    level(send.gain_db)?;
    match strip.sends.iter_mut().find(|own| own.to == send.to) {
        Some(own) => *own = send.clone(),
        None => strip.sends.push(send.clone()),
    }
    Ok(())
}

fn remove_send(session: &mut Session, id: StripId, to: ReturnId) -> Result<(), EditError> {
    let strip = strip(session, id)?;
    let Some(index) = strip.sends.iter().position(|own| own.to == to) else {
        return Err(EditError::NoSend(strip.name.clone()));
    };
    strip.sends.remove(index);
    session.forget_send(SendAt { strip: id, index });
    Ok(())
}

/// Where a group's own output leads is checked with the graph; whether a group exists, here.
pub(super) fn check_destinations(session: &Session) -> Result<(), EditError> {
    let outputs = session.strip_ids().into_iter().filter_map(|id| session.output(id));
    let missing = outputs.into_iter().find_map(|to| match to {
        Destination::Group(GroupId(i)) if i >= session.groups.len() => Some(StripId::Group(i)),
        _ => None,
    });
    missing.map_or(Ok(()), |id| Err(EditError::NoStrip(id)))
}

impl From<std::io::Error> for EditError {
    fn from(error: std::io::Error) -> EditError {
        EditError::Thread(error.to_string())
    }
}
