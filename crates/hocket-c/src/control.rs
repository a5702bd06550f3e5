//! What other threads change and read while the engine plays.

use std::ffi::{c_char, c_void};

use hocket_engine::{Edit, EffectAt};
use hocket_plan::Session;
use hocket_plan::session::StripId;

use crate::border::{c_text, done, quiet, seen, text};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::status::{Error, Status};

/// Sets a strip's fader, in decibels; `-INFINITY` is silence. Smoothed; it holds from the next block on.
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

/// Mutes a strip or lets it be heard again. Smoothed.
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

/// Solos a strip or no longer: every strip that is heard or not because of it is faded.
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
/// (docs/effects.md); held within its range. Parameters that decide memory or latency are refused.
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

/// Bypasses the effect at `effect` in a strip's chain, or lets it work again. Cross-faded.
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

/// Whether everything that was set has been carried out; true for NULL.
///
/// Thread: any but the leader. Cost: a lock among control threads; frees what plans no longer need.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_is_settled(engine: *const Engine) -> bool {
    // SAFETY: P, H.
    let Some(engine) = (unsafe { engine.as_ref() }) else { return true };
    quiet(false, || match engine.editor() {
        Some(mut editor) => editor.is_settled(),
        None => engine.control.is_settled(),
    })
}

/// What an engine does at present, and what was expected of it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Standing {
    /// The schedule, ends in a zero byte.
    pub schedule: [c_char; 16],
    /// Workers that the plan needs.
    pub workers: u32,
    /// Units of the plan.
    pub units: u32,
    /// What a block of full length was expected to take; NaN where nothing had been measured.
    pub expected_ns: f64,
    /// What it takes, as a running estimate; NaN before there is one.
    pub measured_ns: f64,
    /// What the serial walk takes or took; NaN where it never ran.
    pub serial_ns: f64,
}

/// Tells what an engine does at present.
///
/// Thread: any but the leader. Cost: a lock among control threads.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_standing(
    engine: *const Engine,
    standing: *mut Standing,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H.
    unsafe {
        done(error, || {
            let engine = seen(engine, "engine")?;
            let place = standing.as_mut().ok_or_else(|| Failure::null("standing"))?;
            *place = Standing::from(&engine.control.standing());
            Ok(())
        })
    }
}

/// What a unit was measured to cost.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct UnitCost {
    /// The unit; good until the callback returns.
    pub unit: *const c_char,
    /// Running estimate for a block of the engine's length.
    pub ns: f64,
    /// Kind of the seat it ran on, 0 for the fastest.
    pub kind: u32,
    /// Whether another worker of the engine was at work on the same core.
    pub sibling_busy: bool,
}

/// Called for each measured cost.
pub type CostFn = Option<unsafe extern "C" fn(user: *mut c_void, cost: *const UnitCost)>;

/// Calls `each` for every unit of the present plan that has been measured, once for each kind of seat
/// and sibling state that it was seen in.
///
/// Thread: any but the leader; `each` is called on the calling thread. Cost: a lock among control
/// threads, allocates.
///
/// # Safety
/// P, H, C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_costs(
    engine: *const Engine,
    each: CostFn,
    user: *mut c_void,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H, C.
    unsafe {
        done(error, || {
            let each = each.ok_or_else(|| Failure::null("each"))?;
            for cost in seen(engine, "engine")?.control.costs() {
                let (unit, kind) = (c_text(&cost.unit), cost.kind as u32);
                let sibling_busy = cost.sibling_busy;
                each(user, &UnitCost { unit: unit.as_ptr(), ns: cost.ns, kind, sibling_busy });
            }
            Ok(())
        })
    }
}

/// What a thread of the engine asked for and what the system says it has. The texts are good until the
/// callback returns.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ThreadReport {
    /// "leader", "worker 1", "guard of worker 0".
    pub name: *const c_char,
    /// The CPU it asked for; -1: none.
    pub cpu_asked: i64,
    /// The CPUs that the system reports for it.
    pub cpus_got: *const c_char,
    /// The scheduling class it asked for.
    pub class_asked: *const c_char,
    /// The class that the system reports.
    pub class_got: *const c_char,
    /// Why something was refused, with what would help; NULL: nothing was.
    pub why: *const c_char,
}

/// Called for each thread.
pub type ReportFn = Option<unsafe extern "C" fn(user: *mut c_void, report: *const ThreadReport)>;

/// Calls `each` for every thread: the leader, if one has entered, then workers and guards.
///
/// Thread: any but the leader; `each` is called on the calling thread. Cost: a short lock, allocates.
///
/// # Safety
/// P, H, C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_reports(
    engine: *const Engine,
    each: ReportFn,
    user: *mut c_void,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H, C.
    unsafe {
        done(error, || {
            let each = each.ok_or_else(|| Failure::null("each"))?;
            for report in seen(engine, "engine")?.reports() {
                with_texts(&report, |report| each(user, report));
            }
            Ok(())
        })
    }
}

fn with_texts(report: &hocket_engine::ThreadReport, use_it: impl FnOnce(&ThreadReport)) {
    let (name, cpus_got) = (c_text(&report.name), c_text(&report.cpus_got));
    let (class_asked, class_got) = (c_text(&report.class_asked), c_text(&report.class_got));
    let why = report.why.as_deref().map(c_text);
    use_it(&ThreadReport {
        name: name.as_ptr(),
        cpu_asked: report.cpu_asked.map_or(-1, i64::from),
        cpus_got: cpus_got.as_ptr(),
        class_asked: class_asked.as_ptr(),
        class_got: class_got.as_ptr(),
        why: why.as_ref().map_or(std::ptr::null(), |why| why.as_ptr()),
    });
}

/// Makes an edit for the strip of this name and sends it.
///
/// # Safety
/// P, H.
unsafe fn edit(
    engine: *const Engine,
    strip: *const c_char,
    error: *mut *mut Error,
    make: impl FnOnce(&Session, StripId) -> Result<Edit, Failure>,
) -> Status {
    // SAFETY: the caller's.
    unsafe {
        done(error, || {
            let no_strips = || Failure::bad_input("an engine that plays a graph has no strips");
            let mut editor = seen(engine, "engine")?.editor().ok_or_else(no_strips)?;
            let strip = strip_named(editor.session(), text(strip, "strip")?)?;
            let edit = make(editor.session(), strip)?;
            Ok(editor.apply(edit)?)
        })
    }
}

fn strip_named(session: &Session, name: &str) -> Result<StripId, Failure> {
    let found = session.strip_ids().into_iter().find(|id| session.strip(*id).name == name);
    found.ok_or_else(|| Failure::bad_input(format!("the session has no strip '{name}'")))
}

fn param_index(session: &Session, at: EffectAt, name: &str) -> Result<usize, Failure> {
    let strip = session.strip(at.strip);
    let effect = strip.chain.get(at.index).ok_or_else(|| {
        let (strip, index, length) = (&strip.name, at.index, strip.chain.len());
        Failure::bad_input(format!(
            "strip '{strip}' has no effect at place {index}: its chain has {length}, counted from 0"
        ))
    })?;
    let params = hocket_dsp::kind(&effect.kind).map_or(&[][..], |kind| kind.params);
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

impl From<&hocket_engine::Standing> for Standing {
    fn from(standing: &hocket_engine::Standing) -> Standing {
        let mut schedule = [0; 16];
        // The last byte stays zero.
        let letters = schedule.iter_mut().take(15).zip(standing.kind.name().bytes());
        letters.for_each(|(place, letter)| *place = letter as c_char);
        Standing {
            schedule,
            workers: standing.workers as u32,
            units: standing.units as u32,
            expected_ns: standing.expected_ns.unwrap_or(f64::NAN),
            measured_ns: standing.measured_ns.unwrap_or(f64::NAN),
            serial_ns: standing.serial_ns.unwrap_or(f64::NAN),
        }
    }
}
