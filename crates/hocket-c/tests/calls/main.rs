//! What the functions say to callers that are wrong, and what they never do: crash.

use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};
use std::time::Duration;

use hocket_c::control::*;
use hocket_c::editing::*;
use hocket_c::effects::*;
use hocket_c::engine::*;
use hocket_c::explain::*;
use hocket_c::graph::*;
use hocket_c::node_edit::*;
use hocket_c::process::*;
use hocket_c::processor::{Block, ProcessFn, Processor};
use hocket_c::routing_edit::*;
use hocket_c::session::*;
use hocket_c::settings::*;
use hocket_c::status::*;
use hocket_c::strip_edit::*;
use hocket_c::track_edit::*;
use hocket_engine::Strategy;

mod automation;
mod costs;
mod events;
mod follow;
mod host;
mod liveness;
mod ports;
mod spread;
mod streams;
mod takes;
mod tracks;
mod transport;

/// Calls, and returns the message with which the call failed, empty where it did not.
///
/// Every `SAFETY: told` below: pointers are null where that is tested, and otherwise come from this
/// file's own values and handles, which outlive the call (P, H, X, G, C of the crate).
fn told<T>(call: impl FnOnce(*mut *mut Error) -> T) -> (T, String) {
    let mut error = null_mut();
    let result = call(&mut error);
    // SAFETY: told.
    let text = unsafe { CStr::from_ptr(hocket_error_text(error)) }.to_str().unwrap().to_owned();
    // SAFETY: told.
    unsafe { hocket_error_free(error) };
    (result, text)
}

fn settings() -> Settings {
    Settings { priority: 0, ..hocket_settings_for(64, 48_000) }
}

/// An engine that plays `process`, on an ordinary thread.
fn engine(process: ProcessFn, user: *mut c_void) -> *mut Engine {
    let processor =
        Processor { user, process, free: Some(count_free), cost: 1.0, ..Processor::default() };
    let (engine, text) = told(|error| {
        // SAFETY: told.
        unsafe {
            let graph = hocket_graph_new();
            assert_eq!(hocket_graph_add_node(graph, c"one".as_ptr(), &processor, error), 0);
            hocket_engine_start_graph(graph, &settings(), error)
        }
    });
    assert!(!engine.is_null(), "{text}");
    engine
}

unsafe extern "C" fn count_free(user: *mut c_void) {
    // SAFETY: told; every `user` here is null or a counter.
    if let Some(count) = unsafe { user.cast::<AtomicI32>().as_ref() } {
        count.fetch_add(1, Relaxed);
    }
}

unsafe extern "C" fn ones(_: *mut c_void, block: *const Block) {
    // SAFETY: told; the rows have `frames` samples.
    let rows = unsafe {
        let Block { left, right, frames, .. } = *block;
        [left, right].map(|row| std::slice::from_raw_parts_mut(row, frames as usize))
    };
    rows.into_iter().for_each(|row| row.fill(1.0));
}

fn process(engine: *const Engine, frames: u32) -> (Status, [f32; 64]) {
    let (mut left, mut right) = ([0.0; 64], [0.0; 64]);
    // SAFETY: told.
    let status = unsafe {
        hocket_engine_process(engine, frames, left.as_mut_ptr(), right.as_mut_ptr(), null_mut())
    };
    assert_eq!(left, right);
    (status, left)
}

#[test]
fn null_is_an_error_and_no_crash() {
    let strip = c"master".as_ptr();
    // SAFETY: told.
    unsafe {
        let (handle, text) = told(|error| hocket_session_load(null(), 0, error));
        assert!(handle.is_null() && text.contains("path is NULL"), "{text}");
        let (handle, text) = told(|error| hocket_engine_start(null(), &settings(), error));
        assert!(handle.is_null() && text.contains("session is NULL"), "{text}");
        let (handle, text) = told(|error| hocket_engine_start_graph(null_mut(), null(), error));
        assert!(handle.is_null() && text.contains("graph is NULL"), "{text}");
        let (status, text) = told(|error| hocket_engine_set_gain(null(), strip, 0.0, error));
        assert!(status == Status::BadInput && text.contains("engine is NULL"), "{text}");
        assert_eq!(process(null(), 64).0, Status::BadInput);
        assert_eq!(hocket_engine_enter(null()), Status::BadInput);
        assert_eq!(hocket_engine_stop(null_mut()), Status::Ok);
        hocket_session_free(null_mut());
        hocket_graph_free(null_mut());
        hocket_error_free(null_mut());
        assert_eq!(hocket_session_rate_hz(null()), 0);
        assert!(hocket_session_strip(null(), 0).is_null());
        assert!(hocket_engine_is_settled(null()));
        // Without a place for it nothing is made of the message.
        assert!(hocket_session_load(c"no such file".as_ptr(), 0, null_mut()).is_null());
    }
}

#[test]
fn settings_name_what_there_is() {
    let refused = |change: &dyn Fn(&mut Settings)| {
        let mut settings = settings();
        change(&mut settings);
        // SAFETY: told.
        let (engine, text) = told(|error| unsafe {
            hocket_engine_start_graph(hocket_graph_new(), &settings, error)
        });
        assert!(engine.is_null());
        text
    };
    assert!(refused(&|s| s.schedule = c"fast".as_ptr()).contains("dataflow"));
    assert!(refused(&|s| s.policy = c"none".as_ptr()).contains("pair-barrier"));
    assert!(refused(&|s| s.wait = c"\xff".as_ptr()).contains("UTF-8"));
    assert!(refused(&|s| s.wait = null()).contains("settings.wait is NULL"));
    assert!(refused(&|s| s.steer = c"left".as_ptr()).contains("auto"));
    assert!(refused(&|s| s.frames = 0).contains("1 to 8192"));
    assert!(refused(&|s| s.rate_hz = 0).contains("8000"));
    assert!(refused(&|s| s.priority = 100).contains("1 to 99"));
    assert!(refused(&|s| s.gate_spin_ns = u64::MAX).contains("gate_spin_ns"));
    assert!(refused(&|_| ()).contains("empty"), "a graph without nodes");
    for wait in hocket_engine::Strategy::ALL.into_iter().filter(|wait| wait.missing().is_some()) {
        let name = CString::new(wait.name()).unwrap();
        assert!(refused(&|s| s.wait = name.as_ptr()).contains("not possible here"), "{wait}");
    }
}

#[test]
fn a_graph_refuses_what_cannot_be_computed() {
    // SAFETY: told.
    unsafe {
        let graph = hocket_graph_new();
        let add = |kind: &CStr, values: &[f32]| {
            told(|error| {
                let (values, count) = (values.as_ptr(), values.len());
                hocket_graph_add_effect(graph, kind.as_ptr(), kind.as_ptr(), values, count, error)
            })
        };
        assert_eq!(add(c"gain", &[0.0]), (0, String::new()));
        let (node, text) = add(c"gian", &[0.0]);
        assert!(node == HOCKET_NO_NODE && text.contains("gain"), "{text}");
        assert!(add(c"gain", &[0.0, 1.0]).1.contains("1 parameters, 2 values"));
        assert!(add(c"gain", &[f32::NAN]).1.contains("not a number"));
        let edge =
            |from, to, gain| told(|error| hocket_graph_add_edge(graph, from, to, gain, error)).0;
        assert_eq!(add(c"eq", &hocket_engine::kind("eq").unwrap().defaults()).0, 1);
        assert_eq!(edge(0, 1, 1.0), Status::Ok);
        for (from, to, gain) in [(1, 0, 1.0), (1, 1, 1.0), (0, 2, 1.0), (0, 1, f32::INFINITY)] {
            assert_eq!(edge(from, to, gain), Status::BadInput, "{from} {to} {gain}");
        }
        hocket_graph_free(graph);
    }
}

#[test]
fn a_processor_is_freed_once_and_only_when_it_was_taken() {
    let freed = AtomicI32::new(0);
    let user = (&raw const freed).cast_mut().cast();
    let good = Processor {
        user,
        process: Some(ones),
        free: Some(count_free),
        cost: 1.0,
        ..Processor::default()
    };
    let (name, none) = (c"one".as_ptr(), null_mut());
    // SAFETY: told.
    unsafe {
        let graph = hocket_graph_new();
        for refused in [Processor { process: None, ..good }, Processor { cost: 0.0, ..good }] {
            assert_eq!(hocket_graph_add_node(graph, name, &refused, none), HOCKET_NO_NODE);
        }
        assert_eq!(hocket_graph_add_node(graph, null(), &good, none), HOCKET_NO_NODE);
        assert_eq!(hocket_graph_add_node(null_mut(), name, &good, none), HOCKET_NO_NODE);
        assert_eq!(freed.load(Relaxed), 0, "what was refused stays the host's");
        assert_eq!(hocket_graph_add_node(graph, name, &good, none), 0);
        hocket_graph_free(graph);
        assert_eq!(freed.load(Relaxed), 1);
        let graph = hocket_graph_new();
        assert_eq!(hocket_graph_add_node(graph, name, &good, none), 0);
        assert!(hocket_engine_start_graph(graph, null(), none).is_null());
        assert_eq!(freed.load(Relaxed), 2, "a graph is used up by a failure too");
        let playing = engine(Some(ones), user);
        assert_eq!(process(playing, 64), (Status::Ok, [1.0; 64]));
        assert_eq!(freed.load(Relaxed), 2);
        assert_eq!(hocket_engine_stop(playing), Status::Ok);
        assert_eq!(freed.load(Relaxed), 3);
    }
}

#[test]
fn a_block_is_refused_where_it_does_not_fit() {
    let engine = engine(Some(ones), null_mut());
    assert_eq!(process(engine, 0), (Status::BadInput, [0.0; 64]));
    assert_eq!(process(engine, 65), (Status::BadInput, [0.0; 64]));
    let (status, row) = process(engine, 3);
    assert_eq!((status, &row[..4]), (Status::Ok, &[1.0, 1.0, 1.0, 0.0][..]));
    // SAFETY: told.
    unsafe {
        let status = hocket_engine_process(engine, 1, null_mut(), null_mut(), null_mut());
        assert_eq!(status, Status::BadInput);
        let (status, text) = told(|e| hocket_engine_set_mute(engine, c"one".as_ptr(), true, e));
        assert!(status == Status::BadInput && text.contains("no strips"), "{text}");
        assert_eq!(hocket_engine_stop(engine), Status::Ok);
    }
}

unsafe extern "C" fn wait_for_release(user: *mut c_void, _: *const Block) {
    // SAFETY: told.
    let stage = unsafe { &*user.cast::<AtomicI32>() };
    stage.store(1, Relaxed);
    while stage.load(Relaxed) == 1 {
        std::thread::sleep(Duration::from_micros(100));
    }
}

#[test]
fn a_second_leader_is_told_to_come_later() {
    let stage = AtomicI32::new(0);
    let engine = engine(Some(wait_for_release), (&raw const stage).cast_mut().cast());
    let shared = engine as usize;
    std::thread::scope(|scope| {
        let first = scope.spawn(move || process(shared as *const Engine, 64).0);
        while stage.load(Relaxed) != 1 {
            std::thread::yield_now();
        }
        assert_eq!(process(engine, 64).0, Status::Busy);
        // SAFETY: told; none of them gives the handle back.
        unsafe {
            assert_eq!(hocket_engine_enter(engine), Status::Busy);
            assert_eq!(hocket_engine_expect_next(engine, 1), Status::Busy);
            assert_eq!(hocket_engine_stop(engine), Status::Busy);
        }
        stage.store(2, Relaxed);
        assert_eq!(first.join().unwrap(), Status::Ok);
    });
    stage.store(0, Relaxed);
    // SAFETY: told.
    assert_eq!(unsafe { hocket_engine_stop(engine) }, Status::Ok);
}

#[test]
fn the_leaders_seat_is_given_back_on_its_own_thread_only() {
    let engine = engine(Some(ones), null_mut());
    let shared = engine as usize;
    // SAFETY: told, for this test.
    unsafe {
        assert_eq!(hocket_engine_enter(engine), Status::Ok);
        assert_eq!(hocket_engine_enter(engine), Status::Ok, "a second time does nothing");
        assert_eq!(reports(engine)[0], "leader");
        let elsewhere = std::thread::spawn(move || {
            let engine = shared as *mut Engine;
            [hocket_engine_enter(engine), hocket_engine_leave(engine), hocket_engine_stop(engine)]
        });
        assert_eq!(elsewhere.join().unwrap(), [Status::WrongThread; 3]);
        assert_eq!(hocket_engine_stop(engine), Status::Ok, "the leader leaves as it stops");
    }
}

fn reports(engine: *const Engine) -> Vec<String> {
    unsafe extern "C" fn push(user: *mut c_void, report: *const ThreadReport) {
        // SAFETY: told.
        let (names, name) =
            unsafe { (&mut *user.cast::<Vec<String>>(), CStr::from_ptr((*report).name)) };
        names.push(name.to_str().unwrap().to_owned());
    }
    let mut names: Vec<String> = Vec::new();
    let user = (&raw mut names).cast();
    // SAFETY: told.
    let status = unsafe { hocket_engine_reports(engine, Some(push), user, null_mut()) };
    assert_eq!(status, Status::Ok);
    names
}

#[test]
fn a_session_is_played_and_set_by_name() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sessions/best-case.toml");
    let path = CString::new(path).unwrap();
    // SAFETY: told, for this test.
    unsafe {
        let (session, text) = told(|error| hocket_session_load(path.as_ptr(), 0, error));
        assert!(!session.is_null(), "{text}");
        assert_eq!(hocket_session_rate_hz(session), 48_000);
        assert_eq!(hocket_session_frames(session), 16 * 48_000);
        let track = hocket_session_strip(session, 0);
        assert_eq!(CStr::from_ptr(hocket_session_effect(session, 0, 1)), c"compressor");
        assert!(hocket_session_effect(session, 0, 4).is_null());
        let wrong = Settings { rate_hz: 44_100, ..settings() };
        let (engine, text) = told(|error| hocket_engine_start(session, &wrong, error));
        assert!(engine.is_null() && text.contains("loaded at 48000 Hz"), "{text}");
        let (engine, text) = told(|error| hocket_engine_start(session, &settings(), error));
        assert!(!engine.is_null(), "{text}");

        let param = |name: &CStr| {
            told(|e| hocket_engine_set_param(engine, track, 1, name.as_ptr(), -30.0, e))
        };
        assert_eq!(param(c"threshold_db"), (Status::Ok, String::new()));
        assert!(param(c"treshold_db").1.contains("threshold_db"));
        let (status, text) =
            told(|e| hocket_engine_set_param(engine, track, 9, c"mix".as_ptr(), 0.0, e));
        assert!(status == Status::BadInput && text.contains("its chain has 4"), "{text}");
        let (_, text) = told(|e| hocket_engine_set_gain(engine, c"Chanel".as_ptr(), 0.0, e));
        assert!(text.contains("no strip 'Chanel'"), "{text}");
        assert!(told(|e| hocket_engine_set_gain(engine, track, f32::NAN, e)).1.contains("NaN"));
        let none: *mut *mut Error = null_mut();
        assert_eq!(hocket_engine_set_pan(engine, track, -0.5, none), Status::Ok);
        assert_eq!(hocket_engine_set_solo(engine, track, true, none), Status::Ok);
        assert_eq!(hocket_engine_set_bypass(engine, track, 0, true, none), Status::Ok);
        let master = last_strip(session);
        assert_eq!(hocket_engine_set_mute(engine, master, true, none), Status::Ok);
        assert!(!hocket_engine_is_settled(engine));
        (0..40).for_each(|_| assert_eq!(process_any(engine), Status::Ok));
        assert!(hocket_engine_is_settled(engine));
        assert_eq!(process(engine, 64), (Status::Ok, [0.0; 64]), "the master is muted");
        let mut standing = std::mem::zeroed::<Standing>();
        assert_eq!(hocket_engine_standing(engine, &mut standing, none), Status::Ok);
        assert_eq!(CStr::from_ptr(standing.schedule.as_ptr()), c"dataflow");
        assert!(standing.measured_ns > 0.0 && standing.expected_ns.is_nan());
        let reason = CStr::from_ptr(standing.reason.as_ptr());
        assert_eq!((reason, standing.walks_alone), (c"the settings say so", false));
        let mut sum_ns = 0.0;
        let user = (&raw mut sum_ns).cast();
        assert_eq!(hocket_engine_costs(engine, Some(add_cost), user, none), Status::Ok);
        assert!(sum_ns > 0.0);
        hocket_session_free(session);
        assert_eq!(process_any(engine), Status::Ok, "it goes on without the handle");
        assert_eq!(hocket_engine_stop(engine), Status::Ok);
    }
}

/// Plays a block, whatever it sounds like.
fn process_any(engine: *const Engine) -> Status {
    let (mut left, mut right) = ([0.0; 64], [0.0; 64]);
    // SAFETY: told.
    unsafe { hocket_engine_process(engine, 64, left.as_mut_ptr(), right.as_mut_ptr(), null_mut()) }
}

unsafe extern "C" fn add_cost(user: *mut c_void, cost: *const UnitCost) {
    // SAFETY: told.
    unsafe { *user.cast::<f64>() += (*cost).ns }
}

fn last_strip(session: *const Session) -> *const c_char {
    // SAFETY: told.
    let strips = (0..).map(|index| unsafe { hocket_session_strip(session, index) });
    strips.take_while(|name| !name.is_null()).last().unwrap()
}

/// The number of the thread's last edit and the frame at which it took effect.
fn last_applied(engine: *const Engine) -> (u64, u64) {
    unsafe extern "C" fn keep(user: *mut c_void, applied: *const Applied) {
        // SAFETY: told.
        unsafe { *user.cast() = ((*applied).edit, (*applied).frame) }
    }
    let mut last = (HOCKET_NO_EDIT, 0);
    // SAFETY: told.
    let status =
        unsafe { hocket_engine_applied(engine, Some(keep), (&raw mut last).cast(), null_mut()) };
    assert_eq!(status, Status::Ok);
    assert_eq!(last.0, hocket_last_edit());
    last
}

#[test]
fn the_routing_of_a_session_changes_while_it_plays() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sessions/best-case.toml");
    let path = CString::new(path).unwrap();
    let none: *mut *mut Error = null_mut();
    // SAFETY: told, for this test.
    unsafe {
        let (session, text) = told(|error| hocket_session_load(path.as_ptr(), 0, error));
        assert!(!session.is_null(), "{text}");
        assert!(!hocket_session_media(session, 0).is_null());
        assert!(hocket_session_media(session, 1000).is_null());
        let (engine, text) = told(|error| hocket_engine_start(session, &settings(), error));
        assert!(!engine.is_null(), "{text}");
        let track = hocket_session_strip(session, 0);

        let room = NewStrip {
            name: c"new room".as_ptr(),
            output: null(),
            gain_db: -6.0,
            pan: 0.0,
            mute: false,
            solo: false,
        };
        let done = |what: (Status, String)| {
            assert_eq!(what.0, Status::Ok, "{}", what.1);
            assert_eq!(process_any(engine), Status::Ok);
            last_applied(engine)
        };
        assert_eq!(done(told(|e| hocket_engine_add_return(engine, &room, e))).1, 0);
        let again = told(|e| hocket_engine_add_return(engine, &room, e));
        assert!(again.1.contains("already"), "{}", again.1);
        let reverb = c"freeverb".as_ptr();
        let (second, frame) =
            done(told(|e| hocket_engine_insert_effect(engine, room.name, 0, reverb, null(), 0, e)));
        assert_eq!((second, frame), (1, 64));
        done(told(|e| hocket_engine_send(engine, track, room.name, -12.0, true, e)));
        let wrong = told(|e| hocket_engine_send(engine, track, track, 0.0, true, e));
        assert!(wrong.1.contains("no return"), "{}", wrong.1);
        let used = told(|e| hocket_engine_remove_strip(engine, room.name, e));
        assert!(used.1.contains("still used"), "{}", used.1);
        done(told(|e| hocket_engine_remove_send(engine, track, room.name, e)));
        done(told(|e| hocket_engine_remove_effect(engine, room.name, 0, e)));
        done(told(|e| hocket_engine_remove_strip(engine, room.name, e)));

        let group = NewStrip { name: c"new group".as_ptr(), ..room };
        done(told(|e| hocket_engine_add_group(engine, &group, e)));
        done(told(|e| hocket_engine_route(engine, track, group.name, e)));
        let wrong = told(|e| hocket_engine_route(engine, group.name, track, e));
        assert!(wrong.1.contains("no group"), "{}", wrong.1);
        done(told(|e| hocket_engine_route(engine, track, null(), e)));

        let clip = NewClip {
            media: 0,
            start_s: 0.0,
            offset_s: 0.0,
            length_s: f64::NAN,
            looped: true,
            gain_db: 0.0,
            fade_in_s: 0.0,
            fade_out_s: 0.0,
            fade_curve: HOCKET_FADE_EQUAL_POWER,
        };
        let track = NewStrip { name: c"new track".as_ptr(), output: group.name, ..room };
        for wrong in [
            NewClip { start_s: -1.0, ..clip },
            NewClip { fade_curve: 4, ..clip },
            NewClip { media: 1000, ..clip },
            NewClip { gain_db: f32::NAN, ..clip },
        ] {
            let told = told(|e| hocket_engine_add_track(engine, &track, &wrong, 1, e));
            assert_eq!(told.0, Status::BadInput);
        }
        let (number, frame) = done(told(|e| hocket_engine_add_track(engine, &track, &clip, 1, e)));
        assert_eq!(frame, number * 64, "an edit and a block at a time");
        assert_eq!(hocket_engine_set_mute(engine, track.name, true, none), Status::Ok);
        assert_eq!(hocket_engine_set_node(engine, 0, 0, 0.0, none), Status::BadInput);
        assert!(hocket_engine_graph(engine, none).is_null());
        assert_eq!(hocket_engine_stop(engine), Status::Ok);
        hocket_session_free(session);
    }
}

#[test]
fn the_schedule_changes_while_it_plays() {
    // SAFETY: told, for this test.
    unsafe {
        let first = engine(Some(ones), null_mut());
        let set = |name: &CStr| told(|e| hocket_engine_set_schedule(first, name.as_ptr(), e));
        for name in [c"serial", c"lists", c"steal", c"critical", c"dataflow"] {
            assert_eq!(set(name), (Status::Ok, String::new()));
            (0..20).for_each(|_| assert_eq!(process_any(first), Status::Ok));
            let mut now: Standing = std::mem::zeroed();
            assert_eq!(hocket_engine_standing(first, &raw mut now, null_mut()), Status::Ok);
            let shown = CStr::from_ptr(now.schedule.as_ptr());
            assert_eq!(shown, name);
        }
        let (status, text) = set(c"fastest");
        assert_eq!(status, Status::BadInput);
        assert!(text.contains("there is no schedule 'fastest'"), "{text}");
        assert_eq!(set(c"auto").0, Status::BadInput, "it was not started to choose");
        let (status, _) = told(|e| hocket_engine_set_schedule(first, null(), e));
        assert_eq!(status, Status::BadInput);
        assert_eq!(hocket_engine_stop(first), Status::Ok);
    }
}

#[test]
fn the_sibling_policy_and_the_wait_change_while_it_plays() {
    // SAFETY: told, for this test.
    unsafe {
        let graph = || {
            let graph = hocket_graph_new();
            let processor = Processor { process: Some(ones), cost: 1.0, ..Processor::default() };
            let (node, text) =
                told(|e| hocket_graph_add_node(graph, c"one".as_ptr(), &processor, e));
            assert_eq!(node, 0, "{text}");
            graph
        };
        let with = |policies: &CStr| Settings { sibling_policies: policies.as_ptr(), ..settings() };
        for (policies, why) in
            [(c"all,seat", "there is no policy 'seat'"), (c"partition", "cannot change")]
        {
            let (refused, text) = told(|e| hocket_engine_start_graph(graph(), &with(policies), e));
            assert!(refused.is_null() && text.contains(why), "{text}");
        }
        let settings = with(c"all, process-affinity");
        let (engine, text) = told(|e| hocket_engine_start_graph(graph(), &settings, e));
        assert!(!engine.is_null(), "{text}");
        let policy =
            |name: &CStr| told(|e| hocket_engine_set_sibling_policy(engine, name.as_ptr(), e));
        let wait = |name: &CStr| told(|e| hocket_engine_set_wait(engine, name.as_ptr(), e));
        assert_eq!(hocket_engine_enter(engine), Status::Ok);
        for (name, waits) in
            [(c"all", c"futex"), (c"process-affinity", c"pause"), (c"off", c"yield")]
        {
            assert_eq!(policy(name), (Status::Ok, String::new()));
            assert_eq!(wait(waits), (Status::Ok, String::new()));
            (0..20).for_each(|_| assert_eq!(process_any(engine), Status::Ok));
            let mut asked = false;
            let user = (&raw mut asked).cast();
            let (status, text) =
                told(|e| hocket_engine_protection(engine, Some(note_asked), user, e));
            assert_eq!(status, Status::Ok, "{text}");
            assert!(!asked || name == c"process-affinity", "{name:?} asks the system for nothing");
        }
        let (status, text) = policy(c"cookie");
        assert_eq!(status, Status::BadInput, "the engine was not started with it: {text}");
        assert!(wait(c"sleep").1.contains("there is no wait 'sleep'"));
        for missing in Strategy::ALL.into_iter().filter(|wait| wait.missing().is_some()) {
            let name = CString::new(missing.name()).unwrap();
            assert_eq!(wait(&name).0, Status::NotPossible);
        }
        assert_eq!(told(|e| hocket_engine_set_wait(engine, null(), e)).0, Status::BadInput);
        assert_eq!(
            told(|e| hocket_engine_set_sibling_policy(engine, null(), e)).0,
            Status::BadInput
        );
        assert_eq!(hocket_engine_leave(engine), Status::Ok);
        assert_eq!(hocket_engine_stop(engine), Status::Ok);
    }
}

/// Whether the policy asked the system for something.
unsafe extern "C" fn note_asked(user: *mut c_void, protection: *const Protection) {
    // SAFETY: told; `user` is a flag of the caller, and the protection lives as long as this call.
    unsafe { *user.cast::<bool>() = !(*protection).asked.is_null() };
}

#[test]
fn costs_are_kept_and_taken_over() {
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("costs.toml");
    let path = CString::new(file.to_str().unwrap()).unwrap();
    let none: *mut *mut Error = null_mut();
    // SAFETY: told, for this test.
    unsafe {
        let first = engine(Some(ones), null_mut());
        assert_eq!(hocket_engine_replan(first, none), Status::Busy, "nothing is measured");
        (0..50).for_each(|_| assert_eq!(process_any(first), Status::Ok));
        assert_eq!(hocket_engine_replan(first, none), Status::Ok);
        // A plan that has not run yet has measured nothing.
        (0..50).for_each(|_| assert_eq!(process_any(first), Status::Ok));
        let (status, text) = told(|e| hocket_engine_save_costs(first, path.as_ptr(), e));
        assert_eq!(status, Status::Ok, "{text}");
        let mut totals = 0_u64;
        let user = (&raw mut totals).cast();
        assert_eq!(hocket_engine_totals(first, Some(add_blocks), user), Status::Ok);
        assert!(totals >= 50);
        assert_eq!(hocket_engine_stop(first), Status::Ok);

        let second = engine(Some(ones), null_mut());
        let mut adopted = Adopted { known: 0, unknown: 0 };
        let (status, text) =
            told(|e| hocket_engine_adopt_costs(second, path.as_ptr(), &mut adopted, e));
        assert_eq!(status, Status::Ok, "{text}");
        assert_eq!((adopted.known, adopted.unknown), (1, 0));
        let missing =
            told(|e| hocket_engine_adopt_costs(second, c"/no such/file".as_ptr(), null_mut(), e));
        assert!(missing.0 == Status::BadInput && missing.1.contains("no such"), "{}", missing.1);
        assert_eq!(hocket_engine_stop(second), Status::Ok);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
}

unsafe extern "C" fn add_blocks(user: *mut c_void, totals: *const WorkerTotals) {
    // SAFETY: told.
    unsafe { *user.cast::<u64>() += (*totals).blocks }
}

#[test]
fn effects_and_their_parameters_are_listed() {
    // SAFETY: told, for this test.
    unsafe {
        let names = (0..).map(|index| hocket_effect_kind(index)).take_while(|it| !it.is_null());
        let names: Vec<&CStr> = names.map(|name| CStr::from_ptr(name)).collect();
        assert_eq!(names.len(), hocket_engine::kinds().len());
        let mut param = std::mem::zeroed::<Param>();
        for (name, kind) in names.iter().zip(hocket_engine::kinds()) {
            assert_eq!(name.to_str(), Ok(kind.name));
            for (index, expected) in kind.params.iter().enumerate() {
                assert!(hocket_effect_param(name.as_ptr(), index, &mut param));
                assert_eq!(CStr::from_ptr(param.name).to_str(), Ok(expected.name));
                assert_eq!((param.min, param.max), (expected.min, expected.max));
                assert_eq!((param.usual, param.fixed), (expected.default, expected.fixed));
            }
            assert!(!hocket_effect_param(name.as_ptr(), kind.params.len(), &mut param));
        }
        assert!(!hocket_effect_param(c"gian".as_ptr(), 0, &mut param));
        assert!(!hocket_effect_param(null(), 0, &mut param));
    }
}

#[test]
fn late_blocks_are_explained_only_where_that_was_asked_for() {
    let engine = engine(Some(ones), null_mut());
    // SAFETY: told, for this test.
    unsafe {
        unsafe extern "C" fn nobody(_: *mut c_void, _: *const Explanation) {}
        let (status, text) = told(|e| hocket_engine_explain(engine, Some(nobody), null_mut(), e));
        assert!(status == Status::BadInput && text.contains("explain_late"), "{text}");
        let (status, text) = told(|e| hocket_engine_watch(engine, None, null_mut(), e));
        assert!(status == Status::BadInput && text.contains("no leader"), "{text}");
        assert_eq!(hocket_engine_stop(engine), Status::Ok);
    }
}

#[test]
fn every_status_has_words() {
    for status in -1..9 {
        // SAFETY: told.
        let words = unsafe { CStr::from_ptr(hocket_status_text(status)) };
        assert!(!words.is_empty());
    }
}
