//! What a processor of the host may ask of its engine besides blocks: background work, and a main side.
//!
//! A processor asks for both in its `join`. Each is a structure of callbacks with a `user` of its own, so that it may
//! outlive the processor by a moment: at the end the processor is freed first, then the background work, then the main
//! side, all on the engine's main thread.

use std::any::Any;
use std::ffi::{CStr, c_char, c_void};
use std::ptr::{NonNull, null_mut};

use hocket_engine::host::{
    BackgroundWork as EngineWork, Host as EngineHost, MainRequests as EngineMain,
    MainSide as EngineSide, NoState, StateError, WorkAnswers as EngineAnswers, WorkRefused,
    WorkRequests as EngineRequests, WorkRoom,
};

use crate::border::quiet;
use crate::processor::UserFn;
use crate::status::Status;

/// The engine as a processor meets it in `join`. It ends with that callback.
pub struct Host {
    _opaque: [u8; 0],
}

/// Where a processor requests background work. It belongs to the engine and lives until the processor's `free` has
/// returned. Only the processor's own callbacks use it, after `join`, and no pass of spread work does.
pub struct WorkRequests(Box<dyn EngineRequests>);

/// Where background work answers. It ends with the callback that gets it.
pub struct WorkAnswers {
    _opaque: [u8; 0],
}

/// Where a processor asks for calls of its main side and reports what has changed. It lives and is used as
/// `hocket_work_requests`.
pub struct MainRequests(Box<dyn EngineMain>);

/// The bytes of a state that is being saved. It ends with the callback that gets it.
pub struct State(Vec<u8>);

/// Works on one request of `bytes` bytes. It answers any number of times, also later to earlier requests.
///
/// Thread: one that belongs to this processor alone; offline (`hocket_engine_set_offline`) the leader between two
/// blocks. It may allocate, lock, wait and read files. It must not call a function that takes an engine, because the
/// engine may wait for this work.
pub type WorkFn = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        request: *const c_void,
        bytes: usize,
        answers: *mut WorkAnswers,
    ),
>;

/// What a processor has done in the background.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct BackgroundWork {
    /// The argument of both calls.
    pub user: *mut c_void,
    /// Works on a request. Requests come one by one in their order. Not NULL.
    pub work: WorkFn,
    /// The work has returned for the last time, and the processor is freed. Thread: the engine's main thread. NULL:
    /// there is nothing to free.
    pub free: UserFn,
    /// How many requests may wait, and how many answers; at least 1.
    pub messages: u32,
    /// The longest request or answer, in bytes.
    pub bytes: u32,
}

/// Writes the processor's state with `hocket_state_write`. Returns NULL, or why that is not possible: a text for users,
/// which stays valid until the next call of the main side.
///
/// Thread: the engine's main thread. Blocks may run at the same time.
pub type SaveFn =
    Option<unsafe extern "C" fn(user: *mut c_void, state: *mut State) -> *const c_char>;

/// Makes what the processor's `exchange` needs to go on with a state of `bytes` bytes, and stores it in `made`. Returns
/// NULL, or why the bytes are no state: a text for users, which stays valid until the next call of the main side.
/// Nothing is taken from `made` then.
///
/// Thread: the engine's main thread. Blocks may run at the same time.
pub type LoadFn = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        state: *const c_void,
        bytes: usize,
        made: *mut *mut c_void,
    ) -> *const c_char,
>;

/// Makes what the processor's `exchange` needs for blocks of up to so many frames. NULL: it needs nothing. What it makes
/// may be freed unused, and it may be asked for the same number again. No smaller number follows a larger one. What `load`
/// makes later has to do for so many frames too.
///
/// Thread: the engine's main thread. Blocks may run at the same time.
pub type GrowFn = Option<unsafe extern "C" fn(user: *mut c_void, frames: u32) -> *mut c_void>;

/// Frees what a main side has made, or what `exchange` returned for it. `purpose`: as in `exchange`.
///
/// Thread: the engine's main thread.
pub type FreeMadeFn = Option<unsafe extern "C" fn(purpose: u32, made: *mut c_void)>;

/// The half of a processor that is called on the engine's main thread only (`settings.main_thread`). Every callback but
/// `free` may be NULL where the processor does not need it. None of them may call a function that takes an engine.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct MainSide {
    /// The argument of the calls.
    pub user: *mut c_void,
    /// The processor has asked for this call (`hocket_main_call`).
    pub called: UserFn,
    /// Saves the state (`hocket_engine_save_state`). NULL: the processor has none.
    pub save: SaveFn,
    /// Loads a state (`hocket_engine_load_state`). NULL: the processor takes none.
    pub load: LoadFn,
    /// Makes what longer blocks need (`hocket_engine_set_largest_block`). NULL: the processor needs nothing for them.
    pub grow: GrowFn,
    /// Frees what `load` and `grow` made. NULL: there is nothing to free.
    pub free_made: FreeMadeFn,
    /// The processor and its background work are freed, and nobody calls the main side again. NULL: there is nothing
    /// to free.
    pub free: UserFn,
}

/// `exchange` gets what `load` made.
pub const HOCKET_MADE_FOR_STATE: u32 = 0;
/// `exchange` gets what `grow` made.
pub const HOCKET_MADE_FOR_FRAMES: u32 = 1;

/// The most frames of a block. It may grow later (`grow` of `hocket_main_side`). 0 for NULL.
///
/// Thread: the one that calls `join`, inside it. Cost: none.
///
/// # Safety
/// P (`host` is the one of the running callback).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_host_largest_block(host: *const Host) -> u32 {
    // SAFETY: P.
    let joining = unsafe { host.cast::<Joining<'_>>().as_ref() };
    joining.map_or(0, |joining| quiet(0, || joining.host.largest_block() as u32))
}

/// Has `work` done in the background, and stores where to request it. From now on `work->user` belongs to the engine.
/// Answers come to the processor's `answered`. It refuses a second call for a processor, and work without a callback or
/// without room for a message. `work->user` then still belongs to the host.
///
/// If the system cannot start the thread, the start or exchange of the graph fails with `HOCKET_STATUS_NOT_POSSIBLE`.
///
/// Thread: the one that calls `join`, inside it. Cost: allocates room for `messages` times `bytes` bytes twice; starts
/// a thread.
///
/// # Safety
/// P (`host` is the one of the running callback), C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_host_background(
    host: *mut Host,
    work: *const BackgroundWork,
    requests: *mut *mut WorkRequests,
) -> Status {
    // SAFETY: P.
    let all = unsafe { (Joining::of(host), work.as_ref(), requests.as_mut()) };
    let (Some(joining), Some(work), Some(requests)) = all else { return Status::BadInput };
    if work.work.is_none() || work.messages == 0 || joining.ends.work.is_some() {
        return Status::BadInput;
    }
    quiet(Status::Fault, || {
        let (messages, bytes) = (work.messages as usize, work.bytes as usize);
        let room = WorkRoom { messages, bytes, outlives_reset: false };
        let taken = WorkRequests(joining.host.background(Box::new(HostWork(*work)), room));
        *requests = joining.ends.work.insert(kept(taken)).as_ptr();
        Status::Ok
    })
}

/// Has `side` called on the engine's main thread, and stores where to ask for it. From now on `side->user` belongs to the
/// engine. It refuses a second call for a processor, and a side with `load` or `grow` for a processor without `exchange`.
/// `side->user` then still belongs to the host.
///
/// Thread: the one that calls `join`, inside it. Cost: allocates; starts the main thread.
///
/// # Safety
/// P (`host` is the one of the running callback), C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_host_main_side(
    host: *mut Host,
    side: *const MainSide,
    requests: *mut *mut MainRequests,
) -> Status {
    // SAFETY: P.
    let all = unsafe { (Joining::of(host), side.as_ref(), requests.as_mut()) };
    let (Some(joining), Some(side), Some(requests)) = all else { return Status::BadInput };
    let makes = side.load.is_some() || side.grow.is_some();
    if makes && !joining.exchanges || joining.ends.main.is_some() {
        return Status::BadInput;
    }
    quiet(Status::Fault, || {
        let taken = MainRequests(joining.host.main_side(Box::new(HostSide(*side))));
        *requests = joining.ends.main.insert(kept(taken)).as_ptr();
        Status::Ok
    })
}

/// Requests background work: copies `bytes` bytes, which may be 0. The work begins soon after the block; offline the
/// leader does it before the next block. What is refused is counted (`hocket_engine_lost_work`):
/// `HOCKET_STATUS_BUSY` if as many requests wait as there is room for, `HOCKET_STATUS_BAD_INPUT` if this one is too long,
/// `HOCKET_STATUS_NOT_POSSIBLE` if nobody does the work.
///
/// Thread: the processor's, in any of its callbacks after `join`; one at a time. Cost: a copy; no allocation, lock or
/// system call.
///
/// # Safety
/// P (`request` has `bytes` bytes), H, O.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_work_request(
    requests: *mut WorkRequests,
    request: *const c_void,
    bytes: usize,
) -> Status {
    // SAFETY: P, H, O.
    let (Some(requests), Some(request)) =
        (unsafe { (requests.as_mut(), bytes_of(request, bytes)) })
    else {
        return Status::BadInput;
    };
    quiet(Status::Fault, || taken(requests.0.request(request)))
}

/// Sends an answer to the processor: copies `bytes` bytes, which may be 0. Answers come before the processor's next
/// block, in the order of sending. What is refused is counted, with the same statuses as `hocket_work_request`.
///
/// Thread: the one that works, inside the callback that got `answers`. Cost: a copy.
///
/// # Safety
/// P (`answer` has `bytes` bytes; `answers` is the one of the running callback).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_work_answer(
    answers: *mut WorkAnswers,
    answer: *const c_void,
    bytes: usize,
) -> Status {
    // SAFETY: P.
    let (Some(answering), Some(answer)) =
        (unsafe { (answers.cast::<Answering<'_>>().as_mut(), bytes_of(answer, bytes)) })
    else {
        return Status::BadInput;
    };
    quiet(Status::Fault, || taken(answering.0.answer(answer)))
}

/// Whether the processor goes. Long work should return then: the removal of the processor and the stop of the engine wait
/// for it. True for NULL.
///
/// Thread: the one that works, inside the callback that got `answers`. Cost: a load.
///
/// # Safety
/// P (`answers` is the one of the running callback).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_work_is_ending(answers: *const WorkAnswers) -> bool {
    // SAFETY: P.
    let answering = unsafe { answers.cast::<Answering<'_>>().as_ref() };
    answering.is_none_or(|answering| quiet(true, || answering.0.is_ending()))
}

/// Asks for a call of the main side (`called`). Several requests before the main thread comes count as one.
///
/// Thread: the processor's, in any of its callbacks after `join`; one at a time. Cost: two stores; no allocation, lock or
/// system call.
///
/// # Safety
/// P, H, O.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_main_call(requests: *mut MainRequests) -> Status {
    // SAFETY: P, H, O.
    unsafe { ask(requests, |main| main.call()) }
}

/// The output lags behind the input by so many frames from now on. The engine makes a plan with other delays, which fade
/// in, and the host gets a notice (`hocket_engine_notices`). The last number counts.
///
/// Thread: as `hocket_main_call`. Cost: as `hocket_main_call`.
///
/// # Safety
/// P, H, O.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_main_latency_changed(
    requests: *mut MainRequests,
    frames: u32,
) -> Status {
    // SAFETY: P, H, O.
    unsafe { ask(requests, |main| main.latency_changed(frames)) }
}

/// The output goes on for so many frames after the input; `HOCKET_ENDLESS`: for ever. The host gets a notice
/// (`hocket_engine_notices`). The last number counts.
///
/// Thread: as `hocket_main_call`. Cost: as `hocket_main_call`.
///
/// # Safety
/// P, H, O.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_main_tail_changed(
    requests: *mut MainRequests,
    frames: u64,
) -> Status {
    // SAFETY: P, H, O.
    unsafe { ask(requests, |main| main.tail_changed(frames)) }
}

/// The processor wants to be replaced by a new one. The host gets a notice (`hocket_engine_notices`).
///
/// Thread: as `hocket_main_call`. Cost: as `hocket_main_call`.
///
/// # Safety
/// P, H, O.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_main_restart(requests: *mut MainRequests) -> Status {
    // SAFETY: P, H, O.
    unsafe { ask(requests, |main| main.restart()) }
}

/// The processor could not process what it got in this call of `process`, and has written silence. The engine counts the
/// calls of this function and names the node (`failed` of `hocket_contained`). A processor of the host gets each block
/// whole, so these are blocks.
///
/// Thread: the processor's, in `process`; once for each such block. Cost: as `hocket_main_call`.
///
/// # Safety
/// P, H, O.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_main_failed(requests: *mut MainRequests) -> Status {
    // SAFETY: P, H, O.
    unsafe { ask(requests, |main| main.failed()) }
}

/// The processor got `events` messages that it had no room to pass on, for example to a plug-in. The engine counts them with
/// those that found no room on an event edge, and names the node (`hocket_engine_lost_events`).
///
/// Thread: the processor's, in `process`. Cost: as `hocket_main_call`.
///
/// # Safety
/// P, H, O.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_main_events_lost(
    requests: *mut MainRequests,
    events: u64,
) -> Status {
    // SAFETY: P, H, O.
    unsafe { ask(requests, |main| main.events_lost(events)) }
}

/// Appends bytes to a state that is being saved.
///
/// Thread: the engine's main thread, inside `save`. Cost: a copy; allocates.
///
/// # Safety
/// P (`part` has `bytes` bytes; `state` is the one of the running callback).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_state_write(
    state: *mut State,
    part: *const c_void,
    bytes: usize,
) -> Status {
    // SAFETY: P.
    let (Some(state), Some(part)) = (unsafe { (state.as_mut(), bytes_of(part, bytes)) }) else {
        return Status::BadInput;
    };
    quiet(Status::Fault, || {
        state.0.extend_from_slice(part);
        Status::Ok
    })
}

/// A caller's bytes. `None`: null where there should be some.
///
/// # Safety
/// P. The lifetime is that of the call.
pub(crate) unsafe fn bytes_of<'a>(bytes: *const c_void, count: usize) -> Option<&'a [u8]> {
    match count {
        0 => Some(&[]),
        _ if bytes.is_null() => None,
        // SAFETY: P, and not null.
        _ => Some(unsafe { std::slice::from_raw_parts(bytes.cast(), count) }),
    }
}

/// # Safety
/// P, H, O.
unsafe fn ask(requests: *mut MainRequests, ask: impl FnOnce(&mut dyn EngineMain)) -> Status {
    // SAFETY: the caller's obligation.
    let Some(requests) = (unsafe { requests.as_mut() }) else { return Status::BadInput };
    quiet(Status::Fault, || {
        ask(requests.0.as_mut());
        Status::Ok
    })
}

fn taken(sent: Result<(), WorkRefused>) -> Status {
    match sent {
        Ok(()) => Status::Ok,
        Err(WorkRefused::Full) => Status::Busy,
        Err(WorkRefused::TooLong) => Status::BadInput,
        Err(WorkRefused::Ended) => Status::NotPossible,
    }
}

/// What a [`Host`] points to.
pub(crate) struct Joining<'a> {
    pub(crate) host: &'a mut dyn EngineHost,
    pub(crate) ends: &'a mut Ends,
    /// Whether the processor takes what its main side makes.
    pub(crate) exchanges: bool,
}

impl<'a> Joining<'a> {
    /// For the callback that joins.
    pub(crate) fn handle(&mut self) -> *mut Host {
        std::ptr::from_mut(self).cast()
    }

    /// # Safety
    /// P: the callback that got the handle still runs.
    unsafe fn of(host: *mut Host) -> Option<&'a mut Joining<'a>> {
        // SAFETY: the caller's obligation. `Joining::handle` made the pointer from this type.
        unsafe { host.cast::<Joining<'a>>().as_mut() }
    }
}

/// What a processor got from its engine. The drop frees it.
#[derive(Default)]
pub(crate) struct Ends {
    work: Option<NonNull<WorkRequests>>,
    main: Option<NonNull<MainRequests>>,
}

impl Drop for Ends {
    fn drop(&mut self) {
        // SAFETY: `kept` made both from boxes. The processor, which alone uses them (O), has ended.
        unsafe {
            if let Some(work) = self.work.take() {
                drop(Box::from_raw(work.as_ptr()));
            }
            if let Some(main) = self.main.take() {
                drop(Box::from_raw(main.as_ptr()));
            }
        }
    }
}

fn kept<T>(value: T) -> NonNull<T> {
    NonNull::from(Box::leak(Box::new(value)))
}

/// What a [`WorkAnswers`] points to.
struct Answering<'a>(&'a mut dyn EngineAnswers);

/// Background work of the host. Its drop calls `free`.
struct HostWork(BackgroundWork);

// SAFETY: C: the threads that `hocket_background_work` names may call its callbacks, one at a time.
unsafe impl Send for HostWork {}

impl EngineWork for HostWork {
    fn work(&mut self, request: &[u8], answers: &mut dyn EngineAnswers) {
        let Some(work) = self.0.work else { return };
        let mut answering = Answering(answers);
        let handle = (&raw mut answering).cast();
        // SAFETY: C.
        unsafe { work(self.0.user, request.as_ptr().cast(), request.len(), handle) }
    }
}

impl Drop for HostWork {
    fn drop(&mut self) {
        call(self.0.free, self.0.user);
    }
}

/// A main side of the host. Its drop calls `free`.
struct HostSide(MainSide);

// SAFETY: C: the engine's main thread, which another thread may hand it to, calls its callbacks, one at a time.
unsafe impl Send for HostSide {}

impl HostSide {
    fn made(&self, purpose: u32, made: *mut c_void) -> Box<dyn Any + Send> {
        Box::new(Made { purpose, made, free: self.0.free_made })
    }
}

impl EngineSide for HostSide {
    fn called(&mut self) {
        call(self.0.called, self.0.user);
    }

    fn save(&mut self) -> Result<Vec<u8>, StateError> {
        let save = self.0.save.ok_or(NoState)?;
        let mut state = State(Vec::new());
        // SAFETY: C, and P for the text.
        unsafe { refusal(save(self.0.user, &mut state)) }?;
        Ok(state.0)
    }

    fn load(&mut self, state: &[u8]) -> Result<Box<dyn Any + Send>, StateError> {
        let load = self.0.load.ok_or("this processor loads no state")?;
        let mut made = null_mut();
        let (bytes, count) = (state.as_ptr().cast(), state.len());
        // SAFETY: C, and P for the text.
        unsafe { refusal(load(self.0.user, bytes, count, &mut made)) }?;
        Ok(self.made(HOCKET_MADE_FOR_STATE, made))
    }

    fn grow(&mut self, frames: usize) -> Option<Box<dyn Any + Send>> {
        let grow = self.0.grow?;
        // SAFETY: C.
        let made = unsafe { grow(self.0.user, frames as u32) };
        (!made.is_null()).then(|| self.made(HOCKET_MADE_FOR_FRAMES, made))
    }
}

impl Drop for HostSide {
    fn drop(&mut self) {
        call(self.0.free, self.0.user);
    }
}

/// What a main side refuses, and why.
///
/// # Safety
/// P for the text.
unsafe fn refusal(why: *const c_char) -> Result<(), StateError> {
    if why.is_null() {
        return Ok(());
    }
    // SAFETY: the caller's obligation, and not null.
    Err(unsafe { CStr::from_ptr(why) }.to_string_lossy().into())
}

/// What a main side made, or what the processor gave back for it. Its drop frees it.
pub(crate) struct Made {
    pub(crate) purpose: u32,
    pub(crate) made: *mut c_void,
    free: FreeMadeFn,
}

// SAFETY: C: the main thread makes and frees it, and the leader hands it to the processor.
unsafe impl Send for Made {}

impl Drop for Made {
    fn drop(&mut self) {
        if let Some(free) = self.free.filter(|_| !self.made.is_null()) {
            // SAFETY: C.
            unsafe { free(self.purpose, self.made) }
        }
    }
}

pub(crate) fn call(function: UserFn, user: *mut c_void) {
    if let Some(function) = function {
        // SAFETY: C.
        unsafe { function(user) }
    }
}
