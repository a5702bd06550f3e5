//! Edits of a session's routing, which add and remove strips, effects and sends.

use std::ffi::c_char;

use hocket_engine::session::{
    Destination, Group, Return, ReturnId, Send, Session, Strip, StripId, Tap,
};
use hocket_engine::{Edit, Editor, Effect, EffectAt};

use crate::border::{done, seen, text};
use crate::effects::{kind_named, values_of};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::status::{Error, Status};
use crate::strip_edit::{edit, strip_named};

/// A new strip of a session. Add its effects and sends afterwards.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct NewStrip {
    /// Its name, which no other strip of the session may have.
    pub name: *const c_char,
    /// The group to which its output goes, by name. NULL: the master.
    pub output: *const c_char,
    /// The fader, in decibels. `-INFINITY` is silence.
    pub gain_db: f32,
    /// The pan, from -1 (left) to +1 (right).
    pub pan: f32,
    /// Whether it is silent. It is still processed.
    pub mute: bool,
    /// Whether only this strip and other soloed strips are audible.
    pub solo: bool,
}

/// Adds a group at the end of the list.
///
/// Thread: any but the leader. Cost: a lock among control threads, allocates; makes a plan.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_add_group(
    engine: *const Engine,
    strip: *const NewStrip,
    error: *mut *mut Error,
) -> Status {
    let group = |strip, output| Ok(Edit::AddGroup(Box::new(Group { strip, output })));
    // SAFETY: P, H.
    unsafe { add(engine, strip, error, group) }
}

/// Adds a return at the end of the list.
///
/// Thread: any but the leader. Cost: a lock among control threads, allocates; makes a plan.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_add_return(
    engine: *const Engine,
    strip: *const NewStrip,
    error: *mut *mut Error,
) -> Status {
    let back = |strip, output| Ok(Edit::AddReturn(Box::new(Return { strip, output })));
    // SAFETY: P, H.
    unsafe { add(engine, strip, error, back) }
}

/// Removes a track, group or return. It runs on while it fades out (`hocket_engine_fade_edits`). The call refuses this
/// as long as other strips play through it or send to it.
///
/// Thread: any but the leader. Cost: a lock among control threads, allocates; makes a plan.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_remove_strip(
    engine: *const Engine,
    strip: *const c_char,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H.
    unsafe {
        edit(engine, strip, error, |_, strip| match strip {
            StripId::Track(index) => Ok(Edit::RemoveTrack(index)),
            StripId::Group(index) => Ok(Edit::RemoveGroup(index)),
            StripId::Return(index) => Ok(Edit::RemoveReturn(index)),
            StripId::Master => Err(Failure::bad_input("the master cannot be removed")),
        })
    }
}

/// Routes a strip's output to a group, or to the master for NULL. The old route fades into the new one.
///
/// Thread: any but the leader. Cost: a lock among control threads, allocates; makes a plan.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_route(
    engine: *const Engine,
    strip: *const c_char,
    to: *const c_char,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H.
    unsafe {
        edit(engine, strip, error, |session, strip| {
            Ok(Edit::Route(strip, destination(session, to)?))
        })
    }
}

/// Sends a strip to a return, before or after its fader. It adds the send, or changes the level and tap of the
/// existing one.
///
/// Thread: any but the leader. Cost: a lock among control threads, allocates; makes a plan.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_send(
    engine: *const Engine,
    strip: *const c_char,
    to: *const c_char,
    gain_db: f32,
    before_fader: bool,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H.
    unsafe {
        edit(engine, strip, error, |session, strip| {
            let tap = if before_fader { Tap::PreFader } else { Tap::PostFader };
            let to = return_named(session, to)?;
            let before = session.strip(strip).sends.iter().find(|send| send.to == to);
            let feedback = before.is_some_and(|send| send.feedback);
            Ok(Edit::Send(strip, Send { to, gain_db, tap, feedback }))
        })
    }
}

/// Removes a strip's send to a return.
///
/// Thread: any but the leader. Cost: a lock among control threads, allocates; makes a plan.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_remove_send(
    engine: *const Engine,
    strip: *const c_char,
    to: *const c_char,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H.
    unsafe {
        edit(engine, strip, error, |session, strip| {
            Ok(Edit::RemoveSend(strip, return_named(session, to)?))
        })
    }
}

/// Inserts an effect into a strip's chain, before the one at `at`. If `at` is the chain's length, it goes to
/// the end. Cross-faded. For `values` see `hocket_graph_add_effect`.
///
/// Thread: any but the leader. Cost: a lock among control threads, allocates; builds the effect and a plan.
///
/// # Safety
/// P (`values` has `count` values), H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_insert_effect(
    engine: *const Engine,
    strip: *const c_char,
    at: u32,
    kind: *const c_char,
    values: *const f32,
    count: usize,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H.
    unsafe {
        edit(engine, strip, error, |_, strip| {
            let kind = kind_named(text(kind, "kind")?)?;
            let values = values_of(kind, values, count)?;
            let effect = Effect::new(kind.name, values);
            Ok(Edit::InsertEffect(EffectAt { strip, index: at as usize }, effect))
        })
    }
}

/// Removes the effect at `effect` from a strip's chain. Cross-faded.
///
/// Thread: any but the leader. Cost: a lock among control threads, allocates; makes a plan.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_remove_effect(
    engine: *const Engine,
    strip: *const c_char,
    effect: u32,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H.
    unsafe {
        edit(engine, strip, error, |_, strip| {
            Ok(Edit::RemoveEffect(EffectAt { strip, index: effect as usize }))
        })
    }
}

/// Whether routes, sends, effects and strips that come or go fade from now on, over 512 frames, as they do at the start.
/// Otherwise they change from one block to the next, and fades that run end. A replay of the same edits sounds the same if
/// it is made with the same setting. It is no edit and has no number.
///
/// Thread: any but the leader. Cost: a lock among control threads.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_fade_edits(
    engine: *const Engine,
    on: bool,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H.
    unsafe { done(error, || seen(engine, "engine")?.editing().fade_edits(on)) }
}

/// Makes an edit that adds a strip, and sends it.
///
/// # Safety
/// P, H.
pub(crate) unsafe fn add(
    engine: *const Engine,
    new: *const NewStrip,
    error: *mut *mut Error,
    make: impl FnOnce(Strip, Destination) -> Result<Edit, Failure>,
) -> Status {
    // SAFETY: the caller's obligation.
    unsafe {
        done(error, || {
            let new = seen(new, "strip")?;
            seen(engine, "engine")?.editing().strips(|editor: &mut Editor| {
                let session = editor.session();
                let name = text(new.name, "strip.name")?;
                if strip_named(session, name).is_ok() {
                    let text = format!("the session has a strip '{name}' already");
                    return Err(Failure::bad_input(text));
                }
                let output = destination(session, new.output)?;
                let edit = make(new.strip(name), output)?;
                Ok(editor.apply(edit)?)
            })
        })
    }
}

/// # Safety
/// P.
unsafe fn destination(session: &Session, to: *const c_char) -> Result<Destination, Failure> {
    if to.is_null() {
        return Ok(Destination::Master);
    }
    // SAFETY: the caller's obligation.
    let name = unsafe { text(to, "the destination") }?;
    match strip_named(session, name)? {
        StripId::Master => Ok(Destination::Master),
        StripId::Group(index) => Ok(Destination::Group(hocket_engine::session::GroupId(index))),
        StripId::Track(_) | StripId::Return(_) => {
            Err(Failure::bad_input(format!("'{name}' is no group: route to a group or the master")))
        }
    }
}

/// # Safety
/// P.
pub(crate) unsafe fn return_named(
    session: &Session,
    to: *const c_char,
) -> Result<ReturnId, Failure> {
    // SAFETY: the caller's obligation.
    let name = unsafe { text(to, "the return") }?;
    match strip_named(session, name)? {
        StripId::Return(index) => Ok(ReturnId(index)),
        _ => Err(Failure::bad_input(format!("'{name}' is no return: sends lead to returns"))),
    }
}

impl NewStrip {
    fn strip(&self, name: &str) -> Strip {
        Strip {
            name: name.to_owned(),
            chain: Vec::new(),
            gain_db: self.gain_db,
            pan: self.pan.clamp(-1.0, 1.0),
            mute: self.mute,
            solo: self.solo,
            sends: Vec::new(),
        }
    }
}
