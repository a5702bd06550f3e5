//! The leader's calls and a callback's block allocate nothing. A process of its own: it counts every allocation.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::Relaxed};

use hocket_c::automation::*;
use hocket_c::engine::*;
use hocket_c::events::*;
use hocket_c::graph::*;
use hocket_c::graph_ports::*;
use hocket_c::host::*;
use hocket_c::ports::*;
use hocket_c::process::*;
use hocket_c::processor::{Block, Processor};
use hocket_c::services::*;
use hocket_c::settings::*;
use hocket_c::spread::*;
use hocket_c::status::*;
use hocket_c::takes::*;
use hocket_c::time::*;
use hocket_c::transport::*;

/// Counts what the calling thread allocates.
struct Counts;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
    /// Changes of parameters that callbacks got.
    static EVENTS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counts {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = COUNT.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's obligation.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's obligation.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTS: Counts = Counts;

const FRAMES: usize = 256;

unsafe extern "C" fn passes(_: *mut c_void, _: u32) {}

unsafe extern "C" fn looks_at_all(user: *mut c_void, block: *const Block) {
    // SAFETY: the engine's block; `user` is a counter that outlives the engine.
    unsafe {
        let (jumps, block) = (&mut *user.cast::<usize>(), &*block);
        let segments = std::slice::from_raw_parts(block.segments, block.segment_count);
        EVENTS.set(EVENTS.get() + block.event_count);
        assert_eq!(hocket_block_spread(block, 3, Some(passes), null_mut()), Status::Ok);
        *jumps += segments.iter().filter(|segment| segment.jumped).count();
        let mut time = *block.time;
        let last = block.frames - 1;
        assert_eq!(hocket_time_at(block.clock, last, &mut time), Status::Ok);
        for channel in 0..block.main_count as usize {
            **block.main.add(channel) = time.song.beats as f32;
        }
    }
}

/// A system-exclusive message.
const SYSEX: [u8; 5] = [0xf0, 0x7d, 1, 2, 0xf7];

const fn note(frame: u32, kind: u32) -> Message {
    Message { frame, kind, data: [0, 60, HOCKET_ANY, 0], value: 0.5 }
}

/// Sends on what it receives.
unsafe extern "C" fn sends_on(_: *mut c_void, block: *const Block) {
    // SAFETY: the engine's block.
    unsafe {
        for index in 0..(*block).message_count {
            let mut message = note(0, 0);
            assert_eq!(hocket_message_at(block, index, &mut message), Status::Ok);
            let (mut bytes, mut count) = (null(), 0);
            let sent = match hocket_message_sysex(block, index, &mut bytes, &mut count) {
                Status::Ok => hocket_message_send_sysex(block, message.frame, bytes, count),
                _ => hocket_message_send(block, &message),
            };
            assert_eq!(sent, Status::Ok);
        }
    }
}

/// Hands a note and a system-exclusive message over.
///
/// # Safety
/// A running engine, between blocks.
unsafe fn write_messages(engine: *const Engine) {
    let notes = [note(200, HOCKET_MESSAGE_NOTE_OFF), note(3, HOCKET_MESSAGE_NOTE_ON)];
    let mut taken = 0;
    // SAFETY: the caller's obligation.
    unsafe {
        let written = hocket_engine_write_messages(engine, 0, notes.as_ptr(), 2, &mut taken);
        assert_eq!((written, taken), (Status::Ok, 2));
        let written = hocket_engine_write_sysex(engine, 0, 5, SYSEX.as_ptr(), SYSEX.len());
        assert_eq!(written, Status::Ok);
    }
}

/// Reads what came of them at the third output.
///
/// # Safety
/// As [`write_messages`].
unsafe fn read_messages(engine: *const Engine) {
    let (mut messages, mut bytes, mut count) = ([note(0, 0); 4], [0; 8], 0);
    // SAFETY: the caller's obligation.
    unsafe {
        let read = hocket_engine_read_messages(engine, 2, messages.as_mut_ptr(), 4, &mut count);
        assert_eq!((read, count), (Status::Ok, 3));
        assert_eq!(messages[1].kind, HOCKET_MESSAGE_SYSEX);
        let read = hocket_engine_read_sysex(engine, 2, 1, bytes.as_mut_ptr(), 8, &mut count);
        assert_eq!((read, &bytes[..count]), (Status::Ok, &SYSEX[..]));
        let unknown = hocket_engine_read_messages(engine, 0, null_mut(), 0, &mut count);
        assert_eq!(unknown, Status::BadInput);
    }
}

/// What the second processor uses.
#[derive(Default)]
struct Asks {
    requests: AtomicPtr<WorkRequests>,
    main: AtomicPtr<MainRequests>,
    answers: AtomicUsize,
    exchanges: AtomicUsize,
}

unsafe extern "C" fn asks(user: *mut c_void, _: *const Block) {
    // SAFETY: `user` outlives the engine; this is the processor's own callback.
    unsafe {
        let asks = &*user.cast::<Asks>();
        let (requests, main) = (asks.requests.load(Relaxed), asks.main.load(Relaxed));
        // One may wait. The others are refused and counted.
        let status = hocket_work_request(requests, user, 8);
        assert!(matches!(status, Status::Ok | Status::Busy));
        assert_eq!(hocket_work_request(requests, user, 9), Status::BadInput);
        assert_eq!(hocket_main_call(main), Status::Ok);
        assert_eq!(hocket_main_latency_changed(main, 0), Status::Ok);
        assert_eq!(hocket_main_tail_changed(main, 7), Status::Ok);
        assert_eq!(hocket_main_restart(main), Status::Ok);
    }
}

unsafe extern "C" fn answers(
    _: *mut c_void,
    request: *const c_void,
    bytes: usize,
    answers: *mut WorkAnswers,
) {
    // SAFETY: the bytes and the end are those of this callback.
    _ = unsafe { hocket_work_answer(answers, request, bytes) };
}

unsafe extern "C" fn answered(user: *mut c_void, _: *const c_void, bytes: usize) {
    assert_eq!(bytes, 8);
    // SAFETY: `user` outlives the engine.
    unsafe { (*user.cast::<Asks>()).answers.fetch_add(1, Relaxed) };
}

unsafe extern "C" fn loads(
    user: *mut c_void,
    _: *const c_void,
    _: usize,
    made: *mut *mut c_void,
) -> *const std::ffi::c_char {
    // SAFETY: `made` is that of this callback.
    unsafe { *made = user };
    null()
}

unsafe extern "C" fn exchanges(user: *mut c_void, _: u32, made: *mut c_void) -> *mut c_void {
    // SAFETY: `user` outlives the engine.
    unsafe { (*user.cast::<Asks>()).exchanges.fetch_add(1, Relaxed) };
    made
}

unsafe extern "C" fn joins(user: *mut c_void, host: *mut Host) {
    // SAFETY: `user` outlives the engine, and `host` is that of this callback.
    unsafe {
        let asks = &*user.cast::<Asks>();
        let (mut requests, mut main) = (null_mut(), null_mut());
        let work = BackgroundWork { user, work: Some(answers), free: None, messages: 1, bytes: 8 };
        assert_eq!(hocket_host_background(host, &work, &mut requests), Status::Ok);
        let side = MainSide {
            user,
            called: None,
            save: None,
            load: Some(loads),
            grow: None,
            free_made: None,
            free: None,
        };
        assert_eq!(hocket_host_main_side(host, &side, &mut main), Status::Ok);
        asks.requests.store(requests, Relaxed);
        asks.main.store(main, Relaxed);
    }
}

/// An engine of one thread: this one.
///
/// # Safety
/// `jumps` and `user` outlive the engine.
unsafe fn engine(jumps: *mut usize, user: &Asks) -> *mut Engine {
    let processor = Processor {
        user: jumps.cast(),
        process: Some(looks_at_all),
        cost: 1.0,
        keeps_time: true,
        ..Processor::default()
    };
    // SAFETY: all pointers are null or valid during the calls.
    unsafe {
        let (graph, none) = (hocket_graph_new(), null_mut());
        let input = hocket_graph_add_input(graph, c"in".as_ptr(), 0, 6, none);
        let node = hocket_graph_add_node(graph, c"looks".as_ptr(), &processor, none);
        let ports = Ports { main: 6, side_chain: 2, extra: 64 };
        assert_eq!(hocket_graph_set_ports(graph, node, &ports, none), Status::Ok);
        assert_eq!(hocket_graph_add_edge(graph, input, node, 1.0, none), Status::Ok);
        let processor = Processor {
            user: std::ptr::from_ref(user).cast_mut().cast(),
            process: Some(asks),
            cost: 1.0,
            join: Some(joins),
            answered: Some(answered),
            exchange: Some(exchanges),
            ..Processor::default()
        };
        assert_eq!(hocket_graph_add_node(graph, c"asks".as_ptr(), &processor, none), 2);
        let processor = Processor { process: Some(sends_on), cost: 1.0, ..Processor::default() };
        let sends = hocket_graph_add_node(graph, c"sends on".as_ptr(), &processor, none);
        let ports = [(input, false), (sends, true)];
        for (node, reads) in ports {
            let set = hocket_graph_set_event_ports(graph, node, reads, true, none);
            assert_eq!(set, Status::Ok);
        }
        assert_eq!(hocket_graph_connect_events(graph, input, sends, none), Status::Ok);
        let outputs = [node, 2, sends];
        assert_eq!(hocket_graph_set_outputs(graph, outputs.as_ptr(), 3, none), Status::Ok);
        let settings = Settings {
            priority: 0,
            workers: 1,
            schedule: c"serial".as_ptr(),
            ..hocket_settings_for(FRAMES as u32, 48_000)
        };
        hocket_engine_start_graph(graph, &settings, none)
    }
}

#[test]
fn the_leader_and_a_callback_allocate_nothing() {
    let (mut jumps, asks) = (0_usize, Asks::default());
    // SAFETY: `jumps` and `asks` outlive the engine; all pointers are valid during the calls.
    unsafe {
        let engine = engine(&raw mut jumps, &asks);
        if engine.is_null() {
            return println!("SKIPPED the_leader_and_a_callback_allocate_nothing: no engine here");
        }
        let mut rows = vec![vec![0.5_f32; FRAMES]; 70];
        let pointers: Vec<*mut f32> = rows.iter_mut().map(|row| row.as_mut_ptr()).collect();
        // More values than a block without lanes has room for.
        let ends = [0.0, 1.0].map(|at| LanePoint { at, value: at, shape: 1, curve: 0.0 });
        let ramp = Lane { points: ends.as_ptr(), count: 2, unit: 1, grid_frames: 1 };
        let lanes = [0, 1, 2, 3].map(|param| NodeLane { node: 1, param, lane: &ramp });
        let set = hocket_engine_automate_nodes(engine, lanes.as_ptr(), 4, null_mut());
        assert_eq!(set, Status::Ok);
        let folder = tempfile::TempDir::new().unwrap();
        let path = std::ffi::CString::new(folder.path().join("take.wav").to_str().unwrap());
        let path = path.unwrap();
        let recorder = hocket_recorder_new(null_mut());
        let settings = TakeSettings {
            path: path.as_ptr(),
            format: HOCKET_TAKE_WAV_FLOAT,
            rate_hz: 48_000,
            channels: 8,
            start_frame: 0,
            latency_frames: 0,
            ring_frames: 20 * 256,
        };
        let take = hocket_take_begin(recorder, &settings, null_mut());
        assert!(!take.is_null());
        let loaded = hocket_engine_load_state(engine, 2, null(), 0, null_mut());
        assert_eq!(loaded, Status::Ok);
        let before = COUNT.get();
        for block in 0..20 {
            let frames = FRAMES as u32;
            let written = hocket_engine_write_input(engine, 0, pointers.as_ptr().cast(), 6, frames);
            assert_eq!(written, Status::Ok);
            write_messages(engine);
            let jump = Command {
                action: HOCKET_LOCATE,
                at_steady_frame: block * 256 + 100,
                frame: 1_000,
                end: 0,
            };
            assert_eq!(hocket_engine_command(engine, &jump), Status::Ok);
            let wrong = Command { frame: i64::MAX, ..jump };
            assert_eq!(hocket_engine_command(engine, &wrong), Status::BadInput);
            assert_eq!(hocket_engine_run(engine, frames, hocket_now_ns(), null_mut()), Status::Ok);
            let read = hocket_engine_read_output(engine, 0, pointers.as_ptr(), 70, frames);
            assert_eq!(read, Status::Ok);
            read_messages(engine);
            assert_eq!(hocket_engine_record(engine, 0, take, frames), Status::Ok);
            let mut found = Output { main: 0, extra: 0, latency_frames: 0 };
            assert_eq!(hocket_engine_output(engine, 0, &mut found), Status::Ok);
            let unknown = hocket_engine_read_output(engine, 9, null(), 0, frames);
            assert_eq!(unknown, Status::BadInput);
        }
        assert!(EVENTS.get() > 1_000, "{} values of lanes", EVENTS.get());
        while asks.answers.load(Relaxed) == 0 {
            let frames = FRAMES as u32;
            assert_eq!(hocket_engine_run(engine, frames, hocket_now_ns(), null_mut()), Status::Ok);
        }
        assert_eq!(COUNT.get() - before, 0, "allocations in the blocks");
        assert_eq!(asks.exchanges.load(Relaxed), 1);
        hocket_recorder_free(recorder);
        hocket_take_free(take);
        assert_eq!(hocket_engine_stop(engine), Status::Ok);
    }
    assert_eq!(jumps, 20);
}
