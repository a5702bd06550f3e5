//! Edits of existing strips and effects: faders, parameters, bypass.

use std::ffi::c_char;

use hocket_engine::session::{Session, StripId};
use hocket_engine::{Edit, EffectAt};

use crate::border::{done, seen, text};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::status::{Error, Status};

/// Sets a strip's fader, in decibels. `-INFINITY` is silence. Smoothed. It applies from the next block on.
///
/// Thread: any but the leader. Cost: a lock among control threads, allocates.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_set_gain(
    engine: *const Engine,
    strip: *const c_char,
    gain_db: f32,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H.
    unsafe { edit(engine, strip, error, |_, strip| Ok(Edit::Gain(strip, gain_db))) }
}

/// Sets a strip's pan, from -1 (left) to +1 (right). Smoothed.
///
/// Thread: any but the leader. Cost: a lock among control threads, allocates.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_set_pan(
    engine: *const Engine,
    strip: *const c_char,
    pan: f32,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H.
    unsafe { edit(engine, strip, error, |_, strip| Ok(Edit::Pan(strip, pan))) }
}

/// Mutes a strip, or makes it audible again. Smoothed.
///
/// Thread: any but the leader. Cost: a lock among control threads, allocates.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_set_mute(
    engine: *const Engine,
    strip: *const c_char,
    mute: bool,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H.
    unsafe { edit(engine, strip, error, |_, strip| Ok(Edit::Mute(strip, mute))) }
}

/// Sets or ends a strip's solo. Every strip that it makes audible or silent is faded.
///
/// Thread: any but the leader. Cost: a lock among control threads, allocates.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_set_solo(
    engine: *const Engine,
    strip: *const c_char,
    solo: bool,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H.
    unsafe { edit(engine, strip, error, |_, strip| Ok(Edit::Solo(strip, solo))) }
}

/// Sets a parameter of the effect at `effect` in a strip's chain, by its name and in its unit
/// (docs/effects.md). A value out of range becomes the nearest value in range. The call refuses parameters
/// that decide memory or latency.
///
/// Thread: any but the leader. Cost: a lock among control threads, allocates.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_set_param(
    engine: *const Engine,
    strip: *const c_char,
    effect: u32,
    param: *const c_char,
    value: f32,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H.
    unsafe {
        edit(engine, strip, error, |session, strip| {
            let at = EffectAt { strip, index: effect as usize };
            let index = param_index(session, at, text(param, "param")?)?;
            Ok(Edit::Param(at, index, value))
        })
    }
}

/// Bypasses the effect at `effect` in a strip's chain, or ends its bypass. Cross-faded.
///
/// Thread: any but the leader. Cost: a lock among control threads, allocates.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_set_bypass(
    engine: *const Engine,
    strip: *const c_char,
    effect: u32,
    bypass: bool,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H.
    unsafe {
        edit(engine, strip, error, |_, strip| {
            Ok(Edit::Bypass(EffectAt { strip, index: effect as usize }, bypass))
        })
    }
}

/// Makes an edit for the strip of this name and sends it.
///
/// # Safety
/// P, H.
pub(crate) unsafe fn edit(
    engine: *const Engine,
    strip: *const c_char,
    error: *mut *mut Error,
    make: impl FnOnce(&Session, StripId) -> Result<Edit, Failure>,
) -> Status {
    // SAFETY: the caller's obligation.
    unsafe {
        done(error, || {
            seen(engine, "engine")?.editing().strips(|editor| {
                let strip = strip_named(editor.session(), text(strip, "strip")?)?;
                let edit = make(editor.session(), strip)?;
                Ok(editor.apply(edit)?)
            })
        })
    }
}

pub(crate) fn strip_named(session: &Session, name: &str) -> Result<StripId, Failure> {
    let found = session.strip_ids().into_iter().find(|id| session.strip(*id).name == name);
    found.ok_or_else(|| Failure::bad_input(format!("the session has no strip '{name}'")))
}

pub(crate) fn param_index(session: &Session, at: EffectAt, name: &str) -> Result<usize, Failure> {
    let strip = session.strip(at.strip);
    let effect = strip.chain.get(at.index).ok_or_else(|| {
        let (strip, index, length) = (&strip.name, at.index, strip.chain.len());
        Failure::bad_input(format!(
            "strip '{strip}' has no effect at place {index}: its chain has {length}, counted from 0"
        ))
    })?;
    let params = hocket_engine::kind(&effect.kind).map_or(&[][..], |kind| kind.params);
    match params.iter().position(|param| param.name == name) {
        Some(index) if !params[index].fixed => Ok(index),
        Some(_) => Err(Failure::bad_input(format!(
            "effect '{}': {name} decides memory or latency and cannot change while it plays: set it in \
             the session file",
            effect.kind
        ))),
        None => {
            let names: Vec<&str> = params.iter().map(|param| param.name).collect();
            let (kind, names) = (&effect.kind, names.join(", "));
            let text = format!("effect '{kind}' has no parameter '{name}': choose {names}");
            Err(Failure::bad_input(text))
        }
    }
}
