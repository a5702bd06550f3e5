//! What control threads read while the engine plays.

use std::ffi::{CString, c_char, c_void};
use std::path::Path;
use std::ptr::null;

use hocket_engine::Contained as EngineContained;
use hocket_files::write_text;

use crate::border::{c_text, done, quiet, seen, text};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::settings::{schedule_named, sibling_named, wait_named};
use crate::status::{Error, Status};

/// Whether the engine has carried out every edit. True for NULL.
///
/// Thread: any but the leader. Cost: a lock among control threads; frees what plans no longer need.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_is_settled(engine: *const Engine) -> bool {
    // SAFETY: P, H.
    let Some(engine) = (unsafe { engine.as_ref() }) else { return true };
    quiet(false, || engine.editing().is_settled())
}

/// An edit that took effect.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Applied {
    /// Its number, as `hocket_last_edit` returned it.
    pub edit: u64,
    /// The frame at which it took effect, counted from the start: the first one of a block.
    pub frame: u64,
}

/// Called for each edit that took effect.
pub type AppliedFn = Option<unsafe extern "C" fn(user: *mut c_void, applied: *const Applied)>;

/// Calls `each` for the edits that took effect since the last call, in order, and forgets them. An engine
/// remembers the newest `HOCKET_APPLIED_KEPT`, so its memory does not grow if you never call this.
///
/// Thread: any but the leader; `each` runs on the calling thread. Cost: a lock among control
/// threads.
///
/// # Safety
/// P, H, C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_applied(
    engine: *const Engine,
    each: AppliedFn,
    user: *mut c_void,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H, C.
    unsafe {
        done(error, || {
            let each = each.ok_or_else(|| Failure::null("each"))?;
            let applied = seen(engine, "engine")?.editing().take_applied();
            for (edit, frame) in applied {
                each(user, &Applied { edit, frame });
            }
            Ok(())
        })
    }
}

/// What an engine does at present, and what the planner expected.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Standing {
    /// The name of the schedule. It ends in a zero byte.
    pub schedule: [c_char; 16],
    /// Workers that the plan needs.
    pub workers: u32,
    /// Units of the plan.
    pub units: u32,
    /// How many frames the output lags behind the inputs, on the longest path.
    pub latency_frames: u32,
    /// How long a block of full length takes, as the planner expected. NaN before the first measurement.
    pub expected_ns: f64,
    /// How long it takes, as a running estimate. NaN before there is one.
    pub measured_ns: f64,
    /// How long the serial walk takes, or took. NaN if it never ran.
    pub serial_ns: f64,
    /// How long a block with the plan's workers takes, or took. NaN before that is known.
    pub workers_ns: f64,
    /// How many times blocks with workers were compared with the serial blocks between them, at most 255.
    pub compared: u32,
    /// Whether the leader walks the plan alone, without its workers (steer "auto").
    pub walks_alone: bool,
    /// Why the plan is walked in this way, in words. It ends in a zero byte.
    pub reason: [c_char; 96],
}

/// Writes what an engine does at present into `standing`.
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

/// The measured cost of a unit.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct UnitCost {
    /// The unit's name. Valid until the callback returns.
    pub unit: *const c_char,
    /// A running estimate for a block of full length.
    pub ns: f64,
    /// The kind of seat on which it ran. 0 is the fastest.
    pub kind: u32,
    /// Whether another worker of the engine was working on the same core.
    pub sibling_busy: bool,
}

/// Called for each measured cost.
pub type CostFn = Option<unsafe extern "C" fn(user: *mut c_void, cost: *const UnitCost)>;

/// Calls `each` for every measured unit of the present plan, once for each kind of seat and state of the
/// sibling.
///
/// Thread: any but the leader; `each` runs on the calling thread. Cost: a lock among control threads,
/// allocates.
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

/// What a thread of the engine requested, and what the system reports. The texts are valid until the callback
/// returns.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ThreadReport {
    /// "leader", "worker 1", "guard of worker 0".
    pub name: *const c_char,
    /// The CPU that it requested. -1: none.
    pub cpu_asked: i64,
    /// The CPUs that the system reports for it.
    pub cpus_got: *const c_char,
    /// The scheduling class that it requested.
    pub class_asked: *const c_char,
    /// The class that the system reports.
    pub class_got: *const c_char,
    /// Why the system refused a request, and what would help. NULL: it granted all.
    pub why: *const c_char,
}

/// Called for each thread.
pub type ReportFn = Option<unsafe extern "C" fn(user: *mut c_void, report: *const ThreadReport)>;

/// Calls `each` for every thread: the leader, if one has entered, then workers and guards.
///
/// Thread: any but the leader; `each` runs on the calling thread. Cost: a short lock, allocates.
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

/// A node whose output the engine silenced, or whose processor was silent itself because it failed.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Contained {
    /// The node's name. Valid until the callback returns.
    pub node: *const c_char,
    /// In how many blocks the output was not finite. The engine reset the processor and silenced the node for
    /// each.
    pub not_finite: u64,
    /// How often the processor said that it failed (`hocket_main_failed`, or a plug-in that refused to process). It was
    /// silent there. Each call of the processor that failed counts once. A call is a whole block. Only an effect of a session
    /// that can be bypassed gets a block of more than 256 frames in pieces of up to 256 frames, and each piece counts: with
    /// blocks of 1024 frames usually 4 for each block.
    pub failed: u64,
    /// Whether its processor panicked, as an effect written in Rust may. The node is silent from then on.
    pub panicked: bool,
}

/// Called for each such node.
pub type ContainedFn = Option<unsafe extern "C" fn(user: *mut c_void, contained: *const Contained)>;

/// Calls `each` for every node whose processor panicked, or whose output was not finite or whose processor failed since it
/// joined or since the last reset of the engine. `not_finite` counts blocks, `failed` calls of the processor
/// (`hocket_contained`).
///
/// Thread: any but the leader; `each` runs on the calling thread. Cost: a lock among control threads,
/// allocates.
///
/// # Safety
/// P, H, C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_contained(
    engine: *const Engine,
    each: ContainedFn,
    user: *mut c_void,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H, C.
    unsafe {
        done(error, || {
            let each = each.ok_or_else(|| Failure::null("each"))?;
            for found in seen(engine, "engine")?.control.contained() {
                let name = c_text(&found.node);
                let EngineContained { not_finite, failed, panicked, .. } = found;
                each(user, &Contained { node: name.as_ptr(), not_finite, failed, panicked });
            }
            Ok(())
        })
    }
}

/// What a policy requested of other threads of the process and of the system. The texts are valid until the
/// callback returns.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Protection {
    /// What it requested, in words. NULL: nothing.
    pub asked: *const c_char,
    /// What the system reports as granted. NULL: nothing.
    pub got: *const c_char,
    /// What the system refused and why, one line each. NULL: nothing.
    pub refused: *const c_char,
    /// How many other threads are now where the policy wants them, as the system reports.
    pub moved: u64,
}

/// Called with the result of a policy.
pub type ProtectionFn =
    Option<unsafe extern "C" fn(user: *mut c_void, protection: *const Protection)>;

/// If a leader has entered, calls `tell` once with the result of the settings' policy.
///
/// Thread: any but the leader; `tell` runs on the calling thread. Cost: a short lock, allocates.
///
/// # Safety
/// P, H, C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_protection(
    engine: *const Engine,
    tell: ProtectionFn,
    user: *mut c_void,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H, C.
    unsafe {
        done(error, || {
            let tell = tell.ok_or_else(|| Failure::null("tell"))?;
            let Some(protected) = seen(engine, "engine")?.protected() else { return Ok(()) };
            let refused = (!protected.refused.is_empty()).then(|| protected.refused.join("\n"));
            let [asked, got, refused] =
                [protected.asked, protected.got, refused].map(|it| it.as_deref().map(c_text));
            let shown = |text: &Option<CString>| text.as_ref().map_or(null(), |it| it.as_ptr());
            let (asked, got, refused) = (shown(&asked), shown(&got), shown(&refused));
            tell(user, &Protection { asked, got, refused, moved: protected.moved as u64 });
            Ok(())
        })
    }
}

/// Whether the memory of the process is locked, so that the system does not swap it out. The text is valid
/// until the callback returns.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    /// Whether the system accepted it.
    pub granted: bool,
    /// Why not, and what would help. NULL: the system granted it.
    pub why: *const c_char,
}

/// Called with the result of the memory lock.
pub type MemoryFn = Option<unsafe extern "C" fn(user: *mut c_void, memory: *const Memory)>;

/// Calls `tell` once if the engine requested to lock the memory of the process, as it does with a priority.
///
/// Thread: any but the leader; `tell` runs on the calling thread. Cost: a short lock, allocates.
///
/// # Safety
/// P, H, C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_memory(
    engine: *const Engine,
    tell: MemoryFn,
    user: *mut c_void,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H, C.
    unsafe {
        done(error, || {
            let tell = tell.ok_or_else(|| Failure::null("tell"))?;
            let Some(report) = seen(engine, "engine")?.memory() else { return Ok(()) };
            let lines: Vec<&str> =
                [&report.why, &report.remedy].into_iter().flatten().map(String::as_str).collect();
            let why = (!lines.is_empty()).then(|| c_text(&lines.join("\n")));
            let shown = why.as_ref().map_or(null(), |why| why.as_ptr());
            tell(user, &Memory { granted: report.granted, why: shown });
            Ok(())
        })
    }
}

/// Makes a plan from measured costs and uses it from now on, even if the settings do not steer. Returns
/// `HOCKET_STATUS_BUSY` before the first measured block.
///
/// Thread: any but the leader. Cost: a lock among control threads, allocates; makes a plan.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_replan(
    engine: *const Engine,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H.
    unsafe { done(error, || Ok(seen(engine, "engine")?.control.replan()?)) }
}

/// Goes on with a schedule of this name, without a break and with the same bits: one of those of the settings, which
/// then stays, or "auto", if the engine was started to choose. "critical" goes on following costs. Returns
/// `HOCKET_STATUS_BUSY` if too many edits are on their way; nothing has changed then.
///
/// Thread: any but the leader. Cost: a lock among control threads, allocates; makes a plan.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_set_schedule(
    engine: *const Engine,
    schedule: *const c_char,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H.
    unsafe {
        done(error, || {
            let kind = match text(schedule, "schedule")? {
                "auto" => None,
                name => Some(schedule_named(name)?),
            };
            Ok(seen(engine, "engine")?.control.set_schedule(kind)?)
        })
    }
}

/// Goes on under another sibling policy, without a break and with the same bits: the one that the engine began with, or one of
/// `settings.sibling_policies`. What the system refuses is no error: `hocket_engine_protection` says what came of it. Returns
/// `HOCKET_STATUS_BUSY` if too many edits are on their way; nothing has changed then.
///
/// Thread: any but the leader. Cost: a lock among control threads, allocates; makes a plan, and waits up to 250 ms until the
/// leader has taken it over. A policy that moves or marks threads makes some system calls for each of them, so a block or two
/// may take longer.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_set_sibling_policy(
    engine: *const Engine,
    policy: *const c_char,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H.
    unsafe {
        done(error, || {
            let (engine, policy) = (seen(engine, "engine")?, text(policy, "policy")?);
            engine.set_sibling_policy(sibling_named(policy)?)
        })
    }
}

/// Has threads wait in another way, inside blocks and between them, with the same bits: one of the names of `settings.wait`. A
/// wait that has begun goes on as it began, so a worker that sleeps changes with the next block. `settings.seat_wait` stays.
/// Hocket refuses one that the CPU lacks (`HOCKET_STATUS_NOT_POSSIBLE`).
///
/// Thread: any but the leader. Cost: a lock among control threads.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_set_wait(
    engine: *const Engine,
    wait: *const c_char,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H.
    unsafe {
        done(error, || {
            let wait = wait_named(text(wait, "wait")?)?;
            Ok(seen(engine, "engine")?.control.set_wait(wait)?)
        })
    }
}

/// Writes the measured costs of the session's or graph's chains to a file, for the next engine that plays it
/// (docs/embedding.md). It replaces an existing file when all is on the disk. If that fails, the existing file stays
/// as it was. A link stays a link. A pipe or a device is written to.
///
/// Thread: any but the leader. Cost: a lock among control threads, allocates; writes a file and waits for the disk.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_save_costs(
    engine: *const Engine,
    path: *const c_char,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H.
    unsafe {
        done(error, || {
            let (engine, path) = (seen(engine, "engine")?, text(path, "path")?);
            let model = hocket_machine::facts::read().cpu_model;
            let model = model.value().map_or("a processor without a name", |model| model);
            let table = engine.control.cost_table(model);
            let unwritten = |error| {
                Failure::not_possible(format!("{path}: not written: {error}; name another file"))
            };
            write_text(Path::new(path), &hocket_session::costs_text(&table)).map_err(unwritten)
        })
    }
}

/// How many chains of a session or graph a cost table covers.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Adopted {
    /// Chains whose cost the table has.
    pub known: u32,
    /// Chains that it lacks.
    pub unknown: u32,
}

/// Reads costs that `hocket_engine_save_costs` wrote. If the settings steer by costs, the engine makes a plan
/// from them and uses it. `adopted` may be NULL.
///
/// Thread: any but the leader, best before the first block. Cost: reads a file; a lock among control threads,
/// allocates; makes a plan.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_adopt_costs(
    engine: *const Engine,
    path: *const c_char,
    adopted: *mut Adopted,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H.
    unsafe {
        done(error, || {
            let (engine, path) = (seen(engine, "engine")?, text(path, "path")?);
            let table = hocket_session::read_costs(Path::new(path)).map_err(Failure::bad_input)?;
            let found = engine.control.adopt_costs(&table)?;
            if let Some(place) = adopted.as_mut() {
                *place = Adopted { known: found.known as u32, unknown: found.unknown as u32 };
            }
            Ok(())
        })
    }
}

impl From<&hocket_engine::Standing> for Standing {
    fn from(standing: &hocket_engine::Standing) -> Standing {
        Standing {
            schedule: letters(standing.kind.name()),
            workers: standing.workers as u32,
            units: standing.units as u32,
            latency_frames: standing.latency_frames,
            expected_ns: standing.expected_ns.unwrap_or(f64::NAN),
            measured_ns: standing.measured_ns.unwrap_or(f64::NAN),
            serial_ns: standing.serial_ns.unwrap_or(f64::NAN),
            workers_ns: standing.workers_ns.unwrap_or(f64::NAN),
            compared: standing.compared,
            walks_alone: standing.walks_alone,
            reason: letters(standing.reason.text()),
        }
    }
}

/// A text in place. The last byte stays zero.
fn letters<const ROOM: usize>(text: &str) -> [c_char; ROOM] {
    let mut place = [0; ROOM];
    let letters = place.iter_mut().take(ROOM - 1).zip(text.bytes());
    letters.for_each(|(place, letter)| *place = letter as c_char);
    place
}
