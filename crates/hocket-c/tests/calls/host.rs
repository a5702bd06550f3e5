//! Background work, main sides, states, notices and longer blocks.

use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64};
use std::sync::{Mutex, mpsc};
use std::thread;

use super::*;
use hocket_c::automation::*;
use hocket_c::host::*;
use hocket_c::services::*;
use hocket_c::states::*;

/// What a test has of a processor with all three halves. It outlives the engine.
#[derive(Default)]
struct Shared {
    /// What happened, and on which thread.
    log: Mutex<Vec<(&'static str, String)>>,
    requests: AtomicPtr<WorkRequests>,
    main: AtomicPtr<MainRequests>,
    /// The level that it plays, as bits. Its state.
    level: AtomicU32,
    /// The most frames that it is ready for.
    room: AtomicU32,
    /// What its next block asks for.
    call: AtomicBool,
    latency: AtomicU32,
    others: AtomicBool,
    fails: AtomicBool,
    /// What it requests in each block: so many bytes. 0: nothing.
    bytes: AtomicU32,
    /// How its last request ended.
    requested: AtomicI32,
    /// How background work goes on: 0 answers, 1 waits for the end.
    waits: AtomicBool,
    works: AtomicBool,
    presets: AtomicU64,
}

impl Shared {
    fn note(&self, what: &'static str) {
        let name = thread::current().name().unwrap_or("nameless").to_owned();
        self.log.lock().unwrap().push((what, name));
    }

    fn log(&self) -> Vec<(&'static str, String)> {
        self.log.lock().unwrap().clone()
    }

    fn user(&self) -> *mut c_void {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    fn processor(&self) -> Processor {
        Processor {
            user: self.user(),
            process: Some(plays),
            free: Some(processor_goes),
            cost: 1.0,
            latency_frames: 3,
            join: Some(joins),
            answered: Some(answered),
            exchange: Some(exchanges),
            preset: Some(presets),
            ..Processor::default()
        }
    }
}

/// # Safety
/// told: `user` is the test's `Shared`, which outlives the engine.
unsafe fn shared<'a>(user: *mut c_void) -> &'a Shared {
    // SAFETY: the caller's obligation.
    unsafe { &*user.cast::<Shared>() }
}

unsafe extern "C" fn joins(user: *mut c_void, host: *mut Host) {
    // SAFETY: told, and this is the callback that got `host`.
    unsafe {
        let shared = shared(user);
        shared.room.store(hocket_host_largest_block(host), Relaxed);
        let (mut requests, mut main) = (null_mut(), null_mut());
        let work = BackgroundWork {
            user,
            work: Some(works),
            free: Some(work_goes),
            messages: 2,
            bytes: 4,
        };
        if shared.works.load(Relaxed) {
            let none = BackgroundWork { work: None, ..work };
            assert_eq!(hocket_host_background(host, &none, &mut requests), Status::BadInput);
            let no_room = BackgroundWork { messages: 0, ..work };
            assert_eq!(hocket_host_background(host, &no_room, &mut requests), Status::BadInput);
            assert_eq!(hocket_host_background(host, &work, &mut requests), Status::Ok);
            let again = hocket_host_background(host, &work, &mut null_mut());
            assert_eq!(again, Status::BadInput, "a processor has one work");
        }
        let side = MainSide {
            user,
            called: Some(called),
            save: Some(saves),
            load: Some(loads),
            grow: Some(grows),
            free_made: Some(free_made),
            free: Some(side_goes),
        };
        assert_eq!(hocket_host_main_side(host, null(), &mut main), Status::BadInput);
        assert_eq!(hocket_host_main_side(host, &side, null_mut()), Status::BadInput);
        assert_eq!(hocket_host_main_side(host, &side, &mut main), Status::Ok);
        let again = hocket_host_main_side(host, &side, &mut null_mut());
        assert_eq!(again, Status::BadInput, "a processor has one main side");
        shared.requests.store(requests, Relaxed);
        shared.main.store(main, Relaxed);
    }
}

unsafe extern "C" fn plays(user: *mut c_void, block: *const Block) {
    // SAFETY: told; this is the processor's own callback (O).
    unsafe {
        let (shared, block) = (shared(user), &*block);
        assert!(block.frames <= shared.room.load(Relaxed), "it has room for the block");
        let bytes = shared.bytes.load(Relaxed) as usize;
        if bytes > 0 {
            let requests = shared.requests.load(Relaxed);
            let request = [1_u8; 64];
            let status = hocket_work_request(requests, request.as_ptr().cast(), bytes);
            shared.requested.store(status as i32, Relaxed);
        }
        let main = shared.main.load(Relaxed);
        if shared.call.swap(false, Relaxed) {
            assert_eq!(hocket_main_call(main), Status::Ok);
        }
        let latency = shared.latency.swap(0, Relaxed);
        if latency > 0 {
            assert_eq!(hocket_main_latency_changed(main, latency), Status::Ok);
        }
        if shared.others.swap(false, Relaxed) {
            assert_eq!(hocket_main_tail_changed(main, 5), Status::Ok);
            assert_eq!(hocket_main_tail_changed(main, HOCKET_ENDLESS), Status::Ok);
            assert_eq!(hocket_main_restart(main), Status::Ok);
        }
        let fails = shared.fails.load(Relaxed);
        if fails {
            assert_eq!(hocket_main_failed(main), Status::Ok);
            assert_eq!(hocket_main_events_lost(main, 3), Status::Ok);
        }
        let level = if fails { 0.0 } else { f32::from_bits(shared.level.load(Relaxed)) };
        for row in [block.left, block.right] {
            std::slice::from_raw_parts_mut(row, block.frames as usize).fill(level);
        }
    }
}

unsafe extern "C" fn works(
    user: *mut c_void,
    request: *const c_void,
    bytes: usize,
    answers: *mut WorkAnswers,
) {
    // SAFETY: told; the bytes are there for the callback.
    unsafe {
        let shared = shared(user);
        let request = std::slice::from_raw_parts(request.cast::<u8>(), bytes);
        assert!(request.iter().all(|byte| *byte == 1));
        let waits = shared.waits.load(Relaxed);
        if waits {
            shared.note("work begins");
        }
        while waits && !hocket_work_is_ending(answers) {
            thread::yield_now();
        }
        if waits {
            return shared.note("work ends");
        }
        let level = (bytes as f32 / 8.0).to_bits().to_le_bytes();
        let sent = hocket_work_answer(answers, level.as_ptr().cast(), 4);
        assert_eq!(sent, Status::Ok);
        let long = hocket_work_answer(answers, [0_u8; 5].as_ptr().cast(), 5);
        assert_eq!(long, Status::BadInput);
        assert_eq!(hocket_work_answer(answers, null(), 1), Status::BadInput);
    }
}

unsafe extern "C" fn answered(user: *mut c_void, answer: *const c_void, bytes: usize) {
    assert_eq!(bytes, 4);
    // SAFETY: told; the bytes are there for the callback.
    unsafe {
        let bits = u32::from_le_bytes(answer.cast::<[u8; 4]>().read_unaligned());
        shared(user).level.store(bits, Relaxed);
    }
}

unsafe extern "C" fn presets(user: *mut c_void, param: u32, value: f32) {
    // SAFETY: told.
    unsafe {
        shared(user).presets.store(u64::from(param) << 32 | u64::from(value.to_bits()), Relaxed)
    }
}

unsafe extern "C" fn called(user: *mut c_void) {
    // SAFETY: told.
    unsafe { shared(user).note("called") }
}

unsafe extern "C" fn saves(user: *mut c_void, state: *mut State) -> *const c_char {
    // SAFETY: told, and this is the callback that got `state`.
    unsafe {
        let shared = shared(user);
        shared.note("save");
        let level = shared.level.load(Relaxed);
        if level == f32::to_bits(7.0) {
            return c"seven is not to be saved".as_ptr();
        }
        for byte in level.to_le_bytes() {
            assert_eq!(hocket_state_write(state, (&raw const byte).cast(), 1), Status::Ok);
        }
        assert_eq!(hocket_state_write(state, null(), 0), Status::Ok);
        assert_eq!(hocket_state_write(state, null(), 1), Status::BadInput);
    }
    null()
}

/// What a main side made, and who freed it.
struct Thing {
    purpose: u32,
    value: u32,
    log: *const Shared,
}

fn thing(purpose: u32, value: u32, shared: &Shared) -> *mut c_void {
    Box::into_raw(Box::new(Thing { purpose, value, log: shared })).cast()
}

unsafe extern "C" fn loads(
    user: *mut c_void,
    state: *const c_void,
    bytes: usize,
    made: *mut *mut c_void,
) -> *const c_char {
    if bytes != 4 {
        return c"four bytes are needed".as_ptr();
    }
    // SAFETY: told; the bytes are there for the callback, and so is `made`.
    unsafe {
        let shared = shared(user);
        shared.note("load");
        let level = u32::from_le_bytes(state.cast::<[u8; 4]>().read_unaligned());
        *made = thing(HOCKET_MADE_FOR_STATE, level, shared);
    }
    null()
}

unsafe extern "C" fn grows(user: *mut c_void, frames: u32) -> *mut c_void {
    // SAFETY: told.
    let shared = unsafe { shared(user) };
    shared.note("grow");
    thing(HOCKET_MADE_FOR_FRAMES, frames, shared)
}

unsafe extern "C" fn exchanges(user: *mut c_void, purpose: u32, made: *mut c_void) -> *mut c_void {
    // SAFETY: told; `made` is what this file made.
    let (shared, new) = unsafe { (shared(user), &mut *made.cast::<Thing>()) };
    assert_eq!(new.purpose, purpose);
    let own = if purpose == HOCKET_MADE_FOR_STATE { &shared.level } else { &shared.room };
    new.value = own.swap(new.value, Relaxed);
    made
}

unsafe extern "C" fn free_made(purpose: u32, made: *mut c_void) {
    // SAFETY: told; `made` is what this file made, and nobody has it any more.
    unsafe {
        let thing = Box::from_raw(made.cast::<Thing>());
        assert_eq!(thing.purpose, purpose);
        (*thing.log).note("made goes");
    }
}

unsafe extern "C" fn processor_goes(user: *mut c_void) {
    // SAFETY: told.
    unsafe { shared(user).note("processor") }
}

unsafe extern "C" fn work_goes(user: *mut c_void) {
    // SAFETY: told.
    unsafe { shared(user).note("work") }
}

unsafe extern "C" fn side_goes(user: *mut c_void) {
    // SAFETY: told.
    unsafe { shared(user).note("side") }
}

/// An engine whose graph has a sum first and the processor second, so that the host's numbers are others than the engine's.
fn started(shared: &Shared, settings: &Settings) -> *mut Engine {
    // SAFETY: told: `shared` outlives the engine.
    let (engine, text) = told(|error| unsafe {
        let (graph, none) = (hocket_graph_new(), null_mut());
        let sum = hocket_graph_add_node(graph, c"out".as_ptr(), null(), none);
        let node = hocket_graph_add_node(graph, c"whole".as_ptr(), &shared.processor(), none);
        assert_eq!((sum, node), (0, 1));
        assert_eq!(hocket_graph_add_edge(graph, node, sum, 1.0, none), Status::Ok);
        assert_eq!(hocket_graph_set_output(graph, sum, none), Status::Ok);
        hocket_engine_start_graph(graph, settings, error)
    });
    assert!(!engine.is_null(), "{text}");
    engine
}

fn stop(engine: *mut Engine) {
    // SAFETY: told.
    assert_eq!(unsafe { hocket_engine_stop(engine) }, Status::Ok);
}

/// The node of the processor.
const NODE: u32 = 1;

#[test]
fn answers_come_with_the_block_after_the_request_offline() {
    for schedule in [c"serial", c"dataflow", c"steal"] {
        let shared = Shared::default();
        shared.works.store(true, Relaxed);
        let settings = Settings { schedule: schedule.as_ptr(), ..settings() };
        let engine = started(&shared, &settings);
        // SAFETY: told.
        assert_eq!(unsafe { hocket_engine_set_offline(engine, true) }, Status::Ok);
        let mut heard = Vec::new();
        for bytes in [1, 3, 5, 2, 0] {
            shared.bytes.store(bytes, Relaxed);
            heard.push(process(engine, 64).1[0]);
            let expected = if bytes == 5 { Status::BadInput } else { Status::Ok };
            assert_eq!(shared.requested.load(Relaxed), expected as i32, "{bytes} bytes");
        }
        assert_eq!(heard, [0.0, 0.125, 0.375, 0.375, 0.25]);
        assert_eq!(lost(engine), [(String::from("whole"), 1, 3)]);
        stop(engine);
    }
}

/// The nodes with lost work: requests and answers.
fn lost(engine: *const Engine) -> Vec<(String, u64, u64)> {
    unsafe extern "C" fn push(user: *mut c_void, lost: *const LostWork) {
        // SAFETY: told.
        unsafe {
            let LostWork { node, requests, answers } = *lost;
            let node = CStr::from_ptr(node).to_str().unwrap().to_owned();
            (*user.cast::<Vec<(String, u64, u64)>>()).push((node, requests, answers));
        }
    }
    let mut all = Vec::new();
    // SAFETY: told.
    let status =
        unsafe { hocket_engine_lost_work(engine, Some(push), (&raw mut all).cast(), null_mut()) };
    assert_eq!(status, Status::Ok);
    all
}

#[test]
fn work_runs_on_a_thread_of_its_own_and_ends_before_anything_is_freed() {
    let shared = Shared::default();
    shared.works.store(true, Relaxed);
    shared.waits.store(true, Relaxed);
    shared.bytes.store(1, Relaxed);
    let engine = started(&shared, &settings());
    let mut refused = false;
    while shared.log().is_empty() || !refused {
        process(engine, 64);
        // Two wait while one is worked on, or none was taken yet.
        refused |= shared.requested.load(Relaxed) == Status::Busy as i32;
    }
    stop(engine);
    let log = shared.log();
    let what: Vec<_> = log.iter().map(|(what, _)| *what).collect();
    assert_eq!(what, ["work begins", "work ends", "processor", "work", "side"]);
    let threads: Vec<_> = log.iter().map(|(_, thread)| thread.as_str()).collect();
    assert_eq!(threads, ["background", "background", "processors", "processors", "processors"]);
}

#[test]
fn a_state_is_saved_while_it_plays_and_goes_in_at_a_frame() {
    let shared = Shared::default();
    shared.level.store(0.5_f32.to_bits(), Relaxed);
    let engine = started(&shared, &settings());
    assert_eq!(process(engine, 64).1[0], 0.5);
    let (status, text, saved) = save(engine, NODE);
    assert_eq!((status, text.as_str()), (Status::Ok, ""));
    assert_eq!(saved, 0.5_f32.to_bits().to_le_bytes());
    assert_eq!(load(engine, NODE, &0.25_f32.to_bits().to_le_bytes()).0, Status::Ok);
    assert_eq!(process(engine, 64).1[0], 0.25);
    assert_eq!(last_applied(engine).1, 64);
    assert_eq!(load(engine, NODE, &saved).0, Status::Ok);
    assert_eq!(process(engine, 64).1[0], 0.5);

    let (status, text) = load(engine, NODE, &[1, 2]);
    assert!(status == Status::BadInput && text.contains("'whole': four bytes"), "{text}");
    let (status, text) = load(engine, 0, &[1, 2]);
    assert!(status == Status::BadInput && text.contains("node 0 has no state"), "{text}");
    let (status, text, _) = save(engine, 9);
    assert!(status == Status::BadInput && text.contains("no node 9"), "{text}");
    assert_eq!(load(engine, NODE, &7.0_f32.to_bits().to_le_bytes()).0, Status::Ok);
    assert_eq!(process(engine, 64).1[0], 7.0);
    let (status, text, _) = save(engine, NODE);
    assert!(status == Status::BadInput && text.contains("seven"), "{text}");
    // SAFETY: told.
    unsafe {
        let none = hocket_engine_load_state(engine, NODE, null(), 4, null_mut());
        assert_eq!(none, Status::BadInput);
        let nobody = hocket_engine_save_state(engine, NODE, None, null_mut(), null_mut());
        assert_eq!(nobody, Status::BadInput);
    }
    stop(engine);
    let log = shared.log();
    assert!(log.iter().all(|(_, thread)| thread == "processors"), "{log:?}");
    let gone = log.iter().filter(|(what, _)| *what == "made goes").count();
    assert_eq!(gone, 3, "what was exchanged is freed: {log:?}");
}

fn save(engine: *const Engine, node: u32) -> (Status, String, Vec<u8>) {
    unsafe extern "C" fn keep(user: *mut c_void, state: *const c_void, bytes: usize) {
        // SAFETY: told.
        unsafe {
            let state = std::slice::from_raw_parts(state.cast::<u8>(), bytes);
            (*user.cast::<Vec<u8>>()).extend(state);
        }
    }
    let mut bytes: Vec<u8> = Vec::new();
    let user = (&raw mut bytes).cast();
    // SAFETY: told.
    let (status, text) =
        told(|error| unsafe { hocket_engine_save_state(engine, node, Some(keep), user, error) });
    (status, text, bytes)
}

fn load(engine: *const Engine, node: u32, state: &[u8]) -> (Status, String) {
    let (state, bytes) = (state.as_ptr().cast(), state.len());
    // SAFETY: told.
    told(|error| unsafe { hocket_engine_load_state(engine, node, state, bytes, error) })
}

/// By node: number, name, bytes.
type States = Vec<(u32, String, Vec<u8>)>;

unsafe extern "C" fn keep_state(user: *mut c_void, state: *const SavedState) {
    // SAFETY: told.
    unsafe {
        let SavedState { node, name, state, bytes } = *state;
        let state = std::slice::from_raw_parts(state.cast::<u8>(), bytes).to_vec();
        let name = CStr::from_ptr(name).to_str().unwrap().to_owned();
        (*user.cast::<(States, Vec<String>)>()).0.push((node, name, state));
    }
}

unsafe extern "C" fn keep_failure(user: *mut c_void, failure: *const StateFailure) {
    // SAFETY: told.
    unsafe {
        let why = CStr::from_ptr((*failure).why).to_str().unwrap().to_owned();
        (*user.cast::<(States, Vec<String>)>()).1.push(why);
    }
}

fn save_all(engine: *const Engine) -> (States, Vec<String>) {
    let mut all = (Vec::new(), Vec::new());
    let user = (&raw mut all).cast();
    let (each, failed) = (Some(keep_state as _), Some(keep_failure as _));
    // SAFETY: told.
    let status = unsafe { hocket_engine_save_states(engine, each, failed, user, null_mut()) };
    assert_eq!(status, Status::Ok);
    all
}

/// Returns what stays out.
fn restore_all(engine: *const Engine, states: &[(u32, &CStr, &[u8])]) -> Vec<String> {
    let mut all: (States, Vec<String>) = (Vec::new(), Vec::new());
    let state = |(node, name, bytes): &(u32, &CStr, &[u8])| {
        let (name, state) = (name.as_ptr(), bytes.as_ptr().cast());
        SavedState { node: *node, name, state, bytes: bytes.len() }
    };
    let states: Vec<SavedState> = states.iter().map(state).collect();
    let (user, failed) = ((&raw mut all).cast(), Some(keep_failure as _));
    // SAFETY: told.
    let (status, text) = told(|error| unsafe {
        hocket_engine_restore_states(engine, states.as_ptr(), states.len(), failed, user, error)
    });
    assert_eq!(status, Status::Ok, "{text}");
    all.1
}

#[test]
fn all_states_are_saved_and_restored_in_one_edit() {
    let shared = Shared::default();
    shared.level.store(0.5_f32.to_bits(), Relaxed);
    let engine = started(&shared, &settings());
    assert_eq!(process(engine, 64).1[0], 0.5);
    let level = |level: f32| level.to_bits().to_le_bytes();
    let expected = (NODE, String::from("whole"), level(0.5).to_vec());
    assert_eq!(save_all(engine), (vec![expected], vec![]));
    assert_eq!(restore_all(engine, &[(NODE, c"whole", &level(0.25))]), [""; 0]);
    assert_eq!(process(engine, 64).1[0], 0.25);
    assert_eq!(last_applied(engine).1, 64);
    // The number is another one's: the name decides.
    assert_eq!(restore_all(engine, &[(70, c"whole", &level(0.75))]), [""; 0]);
    assert_eq!(process(engine, 64).1[0], 0.75);
    let before = hocket_last_edit();
    let out =
        restore_all(engine, &[(NODE, c"whole", &[1, 2]), (0, c"out", &[]), (7, c"gone", &[])]);
    assert_eq!(out.len(), 3, "{out:?}");
    assert!(out.iter().any(|why| why.contains("'whole': four bytes")), "{out:?}");
    assert!(
        out.iter().any(|why| why.contains("'out' finds no node: none with number 0")),
        "{out:?}"
    );
    assert!(
        out.iter().any(|why| why.contains("'gone' finds no node: none with number 7")),
        "{out:?}"
    );
    assert_eq!(hocket_last_edit(), before, "nothing was handed over");
    assert_eq!(process(engine, 64).1[0], 0.75);
    shared.level.store(7.0_f32.to_bits(), Relaxed);
    let (states, failures) = save_all(engine);
    assert!(states.is_empty() && failures.len() == 1 && failures[0].contains("'whole': seven"));
    // SAFETY: told.
    unsafe {
        let (each, failed) = (Some(keep_state as _), Some(keep_failure as _));
        let none = null_mut();
        let save =
            |each, failed| hocket_engine_save_states(engine, each, failed, none, none.cast());
        assert_eq!(save(None, failed), Status::BadInput);
        assert_eq!(save(each, None), Status::BadInput);
        let restore = |states, failed| {
            hocket_engine_restore_states(engine, states, 1, failed, none, none.cast())
        };
        assert_eq!(restore(null(), failed), Status::BadInput);
        let nameless = SavedState { node: NODE, name: null(), state: null(), bytes: 0 };
        assert_eq!(restore(&nameless, failed), Status::BadInput);
        let empty = SavedState { name: c"whole".as_ptr(), bytes: 4, ..nameless };
        assert_eq!(restore(&empty, failed), Status::BadInput);
        assert_eq!(restore(&nameless, None), Status::BadInput);
    }
    stop(engine);
}

fn notices(engine: *const Engine) -> Vec<Notice> {
    unsafe extern "C" fn push(user: *mut c_void, notice: *const Notice) {
        // SAFETY: told.
        unsafe { (*user.cast::<Vec<Notice>>()).push(*notice) }
    }
    let mut all = Vec::new();
    // SAFETY: told.
    let status =
        unsafe { hocket_engine_notices(engine, Some(push), (&raw mut all).cast(), null_mut()) };
    assert_eq!(status, Status::Ok);
    all
}

fn latency(engine: *const Engine) -> u32 {
    // SAFETY: told; a `Standing` has no references.
    unsafe {
        let mut standing = std::mem::zeroed::<Standing>();
        assert_eq!(hocket_engine_standing(engine, &mut standing, null_mut()), Status::Ok);
        standing.latency_frames
    }
}

#[test]
fn what_a_processor_reports_reaches_the_host_with_its_own_numbers() {
    let shared = Shared::default();
    let engine = started(&shared, &settings());
    let told_of = |frames: u32| {
        shared.latency.store(frames, Relaxed);
        let mut found = Vec::new();
        while found.is_empty() {
            process(engine, 64);
            found = notices(engine);
            thread::yield_now();
        }
        found
    };
    process(engine, 64);
    assert_eq!(latency(engine), 3);
    let notice = |kind, frames, possible| Notice { kind, node: NODE, frames, possible };
    assert_eq!(told_of(100), [notice(HOCKET_NOTICE_LATENCY, 100, true)]);
    assert_eq!(latency(engine), 100);
    shared.others.store(true, Relaxed);
    process(engine, 64);
    let tail = notice(HOCKET_NOTICE_TAIL, HOCKET_ENDLESS, true);
    assert_eq!(notices(engine), [tail, notice(HOCKET_NOTICE_RESTART, 0, true)]);
    assert_eq!(notices(engine), []);
    // SAFETY: told.
    let nobody = unsafe { hocket_engine_notices(engine, None, null_mut(), null_mut()) };
    assert_eq!(nobody, Status::BadInput);
    stop(engine);
}

/// The contained nodes: name, blocks that were not finite, blocks that failed, panics.
fn contained(engine: *const Engine) -> Vec<(String, u64, u64, bool)> {
    unsafe extern "C" fn push(user: *mut c_void, contained: *const Contained) {
        // SAFETY: told.
        unsafe {
            let Contained { node, not_finite, failed, panicked } = *contained;
            let node = CStr::from_ptr(node).to_str().unwrap().to_owned();
            let all = user.cast::<Vec<(String, u64, u64, bool)>>();
            (*all).push((node, not_finite, failed, panicked));
        }
    }
    let mut all = Vec::new();
    // SAFETY: told.
    let status =
        unsafe { hocket_engine_contained(engine, Some(push), (&raw mut all).cast(), null_mut()) };
    assert_eq!(status, Status::Ok);
    all
}

/// The nodes that lost events, and how many.
fn lost_events(engine: *const Engine) -> Vec<(String, u64)> {
    unsafe extern "C" fn push(user: *mut c_void, lost: *const Lost) {
        // SAFETY: told.
        unsafe {
            let node = CStr::from_ptr((*lost).node).to_str().unwrap().to_owned();
            (*user.cast::<Vec<(String, u64)>>()).push((node, (*lost).count));
        }
    }
    let mut all = Vec::new();
    // SAFETY: told.
    let status =
        unsafe { hocket_engine_lost_events(engine, Some(push), (&raw mut all).cast(), null_mut()) };
    assert_eq!(status, Status::Ok);
    all
}

#[test]
fn blocks_in_which_a_processor_failed_are_counted_with_its_name() {
    let shared = Shared::default();
    shared.level.store(0.5_f32.to_bits(), Relaxed);
    let engine = started(&shared, &settings());
    assert_eq!(process(engine, 64).1, [0.5; 64]);
    assert_eq!(contained(engine), []);
    shared.fails.store(true, Relaxed);
    (0..3).for_each(|_| assert_eq!(process(engine, 64).1, [0.0; 64]));
    shared.fails.store(false, Relaxed);
    assert_eq!(process(engine, 64).1, [0.5; 64], "it goes on");
    assert_eq!(contained(engine), [(String::from("whole"), 0, 3, false)]);
    assert_eq!(lost_events(engine), [(String::from("whole"), 9)]);
    shared.level.store(f32::NAN.to_bits(), Relaxed);
    assert_eq!(process(engine, 64).1, [0.0; 64]);
    assert_eq!(contained(engine), [(String::from("whole"), 1, 3, false)]);
    // SAFETY: told.
    assert_eq!(unsafe { hocket_engine_reset(engine) }, Status::Ok);
    assert_eq!(contained(engine), [], "a reset begins anew");
    assert_eq!(lost_events(engine), []);
    stop(engine);
}

#[test]
fn blocks_grow_while_it_plays() {
    let shared = Shared::default();
    shared.level.store(0.5_f32.to_bits(), Relaxed);
    let engine = started(&shared, &settings());
    // SAFETY: told, for this test.
    unsafe {
        let mut rows = [[0.0_f32; 256]; 2];
        let [left, right] = rows.each_mut().map(|row| row.as_mut_ptr());
        let long = |frames| hocket_engine_process(engine, frames, left, right, null_mut());
        assert_eq!(hocket_engine_largest_block(engine), 64);
        assert_eq!(shared.room.load(Relaxed), 64, "it was told when it joined");
        assert_eq!((long(0), long(65), long(64)), (Status::BadInput, Status::BadInput, Status::Ok));
        let (status, text) = told(|error| hocket_engine_set_largest_block(engine, 9000, error));
        assert!(status == Status::BadInput && text.contains("9000"), "{text}");
        let (status, text) = told(|error| hocket_engine_set_largest_block(engine, 256, error));
        assert_eq!(status, Status::Ok, "{text}");
        assert_eq!(long(257), Status::BadInput);
        assert_eq!(hocket_engine_largest_block(engine), 256);
        assert_eq!(long(256), Status::Ok);
        assert_eq!(shared.room.load(Relaxed), 256, "its main side has made room");
        assert_eq!(rows, [[0.5; 256]; 2]);
        // A shorter one changes nothing.
        assert_eq!(hocket_engine_set_largest_block(engine, 16, null_mut()), Status::Ok);
        assert_eq!(process(engine, 64).0, Status::Ok);
        assert_eq!(hocket_engine_largest_block(engine), 256);
    }
    stop(engine);
}

unsafe extern "C" fn counts_events(user: *mut c_void, block: *const Block) {
    // SAFETY: told: the counter outlives the engine.
    unsafe { (*user.cast::<AtomicI32>()).fetch_add((*block).event_count as i32, Relaxed) };
}

#[test]
fn a_longer_block_has_room_for_the_values_of_its_lanes() {
    let events = AtomicI32::new(0);
    let engine = engine(Some(counts_events), std::ptr::from_ref(&events).cast_mut().cast());
    let ramp = |at: f64| LanePoint { at, value: at, shape: HOCKET_SHAPE_LINEAR, curve: 0.0 };
    let points = [ramp(0.0), ramp(1000.0)];
    let lane =
        Lane { points: points.as_ptr(), count: 2, unit: HOCKET_LANE_SECONDS, grid_frames: 1 };
    let set = NodeLane { node: 0, param: 0, lane: &lane };
    // SAFETY: told.
    unsafe {
        let (none, rows) = (null_mut(), &mut [0.0_f32; 2048]);
        assert_eq!(hocket_engine_automate_nodes(engine, &set, 1, none), Status::Ok);
        process(engine, 64);
        events.store(0, Relaxed);
        assert_eq!(hocket_engine_set_largest_block(engine, 1024, none), Status::Ok);
        let (left, right) = rows.split_at_mut(1024);
        let (left, right) = (left.as_mut_ptr(), right.as_mut_ptr());
        let status = hocket_engine_process(engine, 1024, left, right, null_mut());
        assert_eq!(status, Status::Ok);
    }
    assert_eq!(events.load(Relaxed), 1024, "a value per frame");
    stop(engine);
}

#[test]
fn a_processor_joins_and_leaves_while_it_plays() {
    let (first, second) = (Shared::default(), Shared::default());
    second.works.store(true, Relaxed);
    second.level.store(0.25_f32.to_bits(), Relaxed);
    let engine = started(&first, &settings());
    // SAFETY: told: both outlive the engine.
    unsafe {
        let none = null_mut();
        assert_eq!(hocket_engine_set_largest_block(engine, 128, none), Status::Ok);
        process(engine, 64);
        let copy = hocket_engine_graph(engine, none);
        let node = hocket_graph_add_node(copy, c"second".as_ptr(), &second.processor(), none);
        assert_eq!(hocket_graph_add_edge(copy, node, 0, 1.0, none), Status::Ok);
        assert_eq!(second.log(), [], "nobody has joined a graph that is only built");
        assert_eq!(second.room.load(Relaxed), 0);
        assert_eq!(hocket_engine_exchange_graph_at_once(engine, copy, none), Status::Ok);
        assert_eq!(second.room.load(Relaxed), 128, "it joins with the length of today");
        assert_eq!(process(engine, 64).1[63], 0.25);
        let (status, _, saved) = save(engine, node);
        assert_eq!((status, saved), (Status::Ok, 0.25_f32.to_bits().to_le_bytes().to_vec()));

        let copy = hocket_engine_graph(engine, none);
        assert_eq!(hocket_graph_remove_node(copy, node, none), Status::Ok);
        assert_eq!(hocket_engine_exchange_graph_at_once(engine, copy, none), Status::Ok);
        let (status, text, _) = save(engine, node);
        assert!(status == Status::BadInput && text.contains("no node 2"), "{text}");
        while second.log().len() < 4 {
            process(engine, 64);
            _ = hocket_engine_is_settled(engine);
            thread::yield_now();
        }
    }
    let on_main = |what| (what, String::from("processors"));
    assert_eq!(second.log(), ["save", "processor", "work", "side"].map(on_main));
    assert!(first.log().iter().all(|(what, _)| *what != "processor"), "the other one stays");
    stop(engine);
}

#[test]
fn a_lane_presets_its_parameter_before_the_first_block() {
    let shared = Shared::default();
    let engine = started(&shared, &settings());
    let points = [LanePoint { at: 0.0, value: 0.75, shape: HOCKET_SHAPE_HOLD, curve: 0.0 }];
    let lane = Lane { points: points.as_ptr(), count: 1, unit: HOCKET_LANE_BEATS, grid_frames: 0 };
    let set = NodeLane { node: NODE, param: 9, lane: &lane };
    // SAFETY: told.
    let status = unsafe { hocket_engine_automate_nodes(engine, &set, 1, null_mut()) };
    assert_eq!(status, Status::Ok);
    process(engine, 64);
    // SAFETY: told.
    assert_eq!(unsafe { hocket_engine_reset(engine) }, Status::Ok);
    let (param, bits) = (9_u64, u64::from(0.75_f32.to_bits()));
    assert_eq!(shared.presets.load(Relaxed), param << 32 | bits);
    stop(engine);
}

#[test]
fn the_thread_that_starts_the_engine_may_be_its_main_thread() {
    let shared = Shared::default();
    let settings = Settings { main_thread: c"starting".as_ptr(), ..settings() };
    let engine = started(&shared, &settings);
    let here = thread::current().name().unwrap().to_owned();
    let address = engine as usize;
    let (send, receive) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            let engine = address as *const Engine;
            // SAFETY: told.
            let service = told(|error| unsafe { hocket_engine_service(engine, error) });
            send.send((service, save(engine, NODE))).unwrap();
        });
    });
    let (service, saved) = receive.recv().unwrap();
    assert!(service.0 == Status::WrongThread && service.1.contains("main thread"), "{}", service.1);
    assert_eq!(saved.0, Status::WrongThread);
    shared.call.store(true, Relaxed);
    process(engine, 64);
    assert_eq!(shared.log(), [], "nobody has served");
    // SAFETY: told.
    assert_eq!(unsafe { hocket_engine_service(engine, null_mut()) }, Status::Ok);
    assert_eq!(shared.log(), [("called", here.clone())]);
    assert_eq!(save(engine, NODE).0, Status::Ok);
    stop(engine);
    assert!(shared.log().iter().all(|(_, thread)| *thread == here), "{:?}", shared.log());
    let wrong = Settings { main_thread: c"mine".as_ptr(), ..settings };
    // SAFETY: told.
    let (none, text) =
        told(|error| unsafe { hocket_engine_start_graph(hocket_graph_new(), &wrong, error) });
    assert!(none.is_null() && text.contains("main_thread 'mine'"), "{text}");
}

/// A main side that makes something for a processor that would not take it.
unsafe extern "C" fn joins_in_vain(user: *mut c_void, host: *mut Host) {
    let side = MainSide {
        user,
        called: None,
        save: None,
        load: Some(loads),
        grow: None,
        free_made: None,
        free: Some(side_goes),
    };
    // SAFETY: told, and this is the callback that got `host`.
    unsafe {
        let mut main = null_mut();
        assert_eq!(hocket_host_main_side(host, &side, &mut main), Status::BadInput);
        let side = MainSide { load: None, ..side };
        assert_eq!(hocket_host_main_side(host, &side, &mut main), Status::Ok);
    }
}

#[test]
fn a_main_side_without_callbacks_saves_and_loads_nothing() {
    let shared = Shared::default();
    let processor = Processor {
        user: shared.user(),
        process: Some(ones),
        cost: 1.0,
        join: Some(joins_in_vain),
        ..Processor::default()
    };
    // SAFETY: told: `shared` outlives the engine.
    let engine = unsafe {
        let graph = hocket_graph_new();
        assert_eq!(hocket_graph_add_node(graph, c"one".as_ptr(), &processor, null_mut()), 0);
        hocket_engine_start_graph(graph, &settings(), null_mut())
    };
    let (status, text, _) = save(engine, 0);
    assert!(status == Status::BadInput && text.contains("saves no state"), "{text}");
    let (status, text) = load(engine, 0, &[]);
    assert!(status == Status::BadInput && text.contains("loads no state"), "{text}");
    stop(engine);
    assert_eq!(shared.log().len(), 1, "the side is freed once");
}

#[test]
fn null_ends_and_handles_are_errors() {
    // SAFETY: told.
    unsafe {
        assert_eq!(hocket_host_largest_block(null()), 0);
        assert_eq!(hocket_host_background(null_mut(), null(), null_mut()), Status::BadInput);
        assert_eq!(hocket_work_request(null_mut(), null(), 0), Status::BadInput);
        assert_eq!(hocket_work_answer(null_mut(), null(), 0), Status::BadInput);
        assert!(hocket_work_is_ending(null()));
        assert_eq!(hocket_main_call(null_mut()), Status::BadInput);
        assert_eq!(hocket_main_restart(null_mut()), Status::BadInput);
        assert_eq!(hocket_main_failed(null_mut()), Status::BadInput);
        assert_eq!(hocket_main_events_lost(null_mut(), 1), Status::BadInput);
        assert_eq!(hocket_state_write(null_mut(), null(), 0), Status::BadInput);
        assert_eq!(hocket_engine_largest_block(null()), 0);
        assert_eq!(hocket_engine_set_offline(null(), true), Status::BadInput);
        let (status, text) = told(|error| hocket_engine_set_largest_block(null(), 64, error));
        assert!(status == Status::BadInput && text.contains("engine is NULL"), "{text}");
        let (status, text) = told(|error| hocket_engine_service(null(), error));
        assert!(status == Status::BadInput && text.contains("engine is NULL"), "{text}");
    }
}
