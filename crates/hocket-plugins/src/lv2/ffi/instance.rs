//! One instance of a plug-in: its features, its memory and its calls.

use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::{NonNull, null, null_mut};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, TryLockError};
use std::time::Duration;

use hocket_dsp::host::{WorkAnswers, WorkRefused, WorkRequests};

use super::abi::{self, Descriptor, Feature, Handle, StateInterface, WorkerInterface};
use super::library::{Bundle, Made};
use super::row::Row;
use super::urid::{map_feature, unmap_feature, uri_of, urid};
use crate::lv2::state::{Entry, State};
use crate::{LONGEST_RUN, NOMINAL_RUN};

/// Bytes in front of a worker's message: the number of the instance that it belongs to.
const NUMBER_BYTES: usize = 8;
/// The longest message of a worker.
pub(super) const MESSAGE_BYTES: usize = 16 * 1024;
/// The most that a plug-in may keep under one key.
const STATE_BYTES: usize = 256 << 20;
/// Until background work or a save looks again whether a reset is over.
const RESET_PAUSE: Duration = Duration::from_millis(1);

/// What a port is connected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wires {
    /// The audio row of this number.
    Audio(usize),
    /// The control value at the port's own number.
    Control,
    /// The atom buffer of this number.
    Atom(usize),
    /// Nothing: the plug-in allows it.
    Nothing,
}

/// What the ports of an instance are connected to.
#[derive(Debug, Default)]
pub struct Memory {
    /// Rows of [`LONGEST_RUN`] samples.
    pub audio: Vec<Row<f32>>,
    /// A value for each port; those of other kinds are unused.
    pub controls: Row<f32>,
    /// Buffers of events.
    pub atoms: Vec<Row<u64>>,
}

/// What `schedule_work` finds at its handle.
struct Context {
    /// Goes before each message.
    number: u64,
    /// Set while the plug-in runs.
    requests: Option<Box<dyn WorkRequests>>,
    message: Vec<u8>,
}

/// The structs that features point to, at addresses that stay.
struct Features {
    list: Vec<*const Feature>,
    _features: Vec<Feature>,
    _options: Box<[abi::OptionEntry]>,
    _values: Box<Values>,
    _map: Box<abi::UridMap>,
    _unmap: Box<abi::UridUnmap>,
    _schedule: Box<abi::WorkerSchedule>,
    for_state: Box<StateFeatures>,
}

/// What the options point to.
struct Values {
    rate_hz: f32,
    min: i32,
    max: i32,
    nominal: i32,
    sequence: i32,
}

struct StateFeatures {
    list: Vec<*const Feature>,
    _features: Vec<Feature>,
    _map_path: Box<abi::StateMapPath>,
    _free_path: Box<abi::StateFreePath>,
}

/// What the halves of a processor share of an instance.
pub struct Shared {
    /// Dropped first: it cleans up, and the rest still lives then, also what the ports are connected to.
    made: Made,
    number: u64,
    context: Place,
    features: Features,
    worker: Option<NonNull<WorkerInterface>>,
    state: Option<NonNull<StateInterface>>,
    saving: Mutex<()>,
    /// Held to read in a call beside `run`, to write in a call that must be alone. `Some`: the instance has ended, and its
    /// ports stay connected to this until the cleanup.
    calls: RwLock<Option<Memory>>,
}

// SAFETY: One audio thread, Work beside; the features are only read.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

/// Owns the context.
struct Place(NonNull<Context>);

impl Place {
    fn new(number: u64) -> Place {
        let message = Vec::with_capacity(NUMBER_BYTES + MESSAGE_BYTES);
        Place(NonNull::from(Box::leak(Box::new(Context { number, requests: None, message }))))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // SAFETY: `new` leaked it; Alive: the plug-in is cleaned up, so nobody uses it.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// How an instance will run.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    /// Sample rate.
    pub rate_hz: u32,
    /// The length of every run, a power of 2. `None`: any length up to [`LONGEST_RUN`].
    pub run: Option<usize>,
}

/// An instance that is active.
pub struct Instance {
    shared: Arc<Shared>,
    memory: Memory,
    /// A reset found no moment alone yet.
    reset_due: bool,
}

/// Thread: none of real time; waits for background work or a save that is under way.
impl Drop for Instance {
    fn drop(&mut self) {
        let mut alone = self.shared.calls.write().unwrap_or_else(PoisonError::into_inner);
        self.shared.deactivate();
        *alone = Some(std::mem::take(&mut self.memory));
    }
}

/// Making and running it.
impl Instance {
    /// Loads the plug-in's library, connects its ports, restores a state, and activates it.
    ///
    /// # Errors
    /// What went wrong, for users.
    pub fn new(
        bundle: &Bundle,
        uri: &str,
        terms: Terms,
        (wires, memory): (&[Wires], Memory),
        state: Option<&State>,
    ) -> Result<Instance, String> {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        // Relaxed: a number that nobody else gets is all that is needed.
        let number = NUMBERS.fetch_add(1, Relaxed);
        let context = Place::new(number);
        let features = Features::new(context.0, terms);
        // SAFETY: Alive: `Shared` owns both.
        let made = unsafe { bundle.instantiate(uri, f64::from(terms.rate_hz), &features.list) };
        let made = made.ok_or("it makes no instance: its library does not load, or it refuses")?;
        let worker = interface(&made, abi::WORKER_INTERFACE).map(NonNull::cast);
        let state_interface = interface(&made, abi::STATE_INTERFACE).map(NonNull::cast);
        let (state_of, saving, calls) = (state_interface, Mutex::new(()), RwLock::default());
        let shared =
            Shared { made, number, context, features, worker, state: state_of, saving, calls };
        shared.connect(wires, &memory);
        // Some plug-ins save nothing while there is nothing to keep, and refuse that.
        if let Some(state) = state.filter(|state| !state.entries.is_empty()) {
            shared.restore(state)?;
        }
        shared.activate();
        Ok(Instance { shared: Arc::new(shared), memory, reset_due: false })
    }

    /// What it shares with its other halves.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// What its ports read and write.
    pub fn memory(&mut self) -> &mut Memory {
        &mut self.memory
    }

    /// Processes so many frames, at most [`LONGEST_RUN`], and then lets a worker's answers end. Requests of background
    /// work go to `requests`.
    pub fn run(&mut self, frames: usize, requests: &mut Option<Box<dyn WorkRequests>>) {
        self.reset_if_due();
        let Some(run) = self.shared.descriptor().run else { return };
        let frames = frames.min(LONGEST_RUN) as u32;
        self.with_requests(requests, |shared| {
            // SAFETY: Types, Alive, Connected, One audio thread.
            unsafe { run(shared.handle(), frames) };
            shared.end_run();
        });
    }

    /// Takes an answer to background work. `false`: it is for another instance.
    pub fn answered(
        &mut self,
        answer: &[u8],
        requests: &mut Option<Box<dyn WorkRequests>>,
    ) -> bool {
        let Some(message) = self.shared.message(answer) else { return false };
        if let Some(respond) = self.shared.worker().and_then(|worker| worker.work_response) {
            let (bytes, data) = (message.len() as u32, message.as_ptr().cast());
            self.with_requests(requests, |shared| {
                // SAFETY: Types, Alive, One audio thread.
                unsafe { respond(shared.handle(), bytes, data) };
            });
        }
        true
    }

    fn with_requests(
        &mut self,
        requests: &mut Option<Box<dyn WorkRequests>>,
        call: impl FnOnce(&Shared),
    ) {
        let context = self.shared.context.0.as_ptr();
        // SAFETY: One audio thread: between these lines only `schedule_work` uses the context, in the call.
        unsafe { (*context).requests = requests.take() };
        call(&self.shared);
        // SAFETY: as above.
        *requests = unsafe { (*context).requests.take() };
    }

    /// Forgets its history: now, or before the first run that no background work and no save is beside.
    pub fn reset(&mut self) {
        self.reset_due = true;
        self.reset_if_due();
    }

    fn reset_if_due(&mut self) {
        if self.reset_due {
            self.reset_due = !self.shared.reset();
        }
    }
}

/// Calls.
impl Shared {
    fn descriptor(&self) -> &Descriptor {
        // SAFETY: Types, Alive.
        unsafe { &*self.made.instance().descriptor }
    }

    fn handle(&self) -> Handle {
        self.made.instance().handle
    }

    fn connect(&self, wires: &[Wires], memory: &Memory) {
        let Some(connect) = self.descriptor().connect_port else { return };
        for (index, wire) in wires.iter().enumerate() {
            let place: *mut c_void = match *wire {
                Wires::Audio(row) => memory.audio[row].pointer().cast(),
                Wires::Control => memory.controls.pointer().wrapping_add(index).cast(),
                Wires::Atom(atom) => memory.atoms[atom].pointer().cast(),
                Wires::Nothing => null_mut(),
            };
            // SAFETY: Types, Alive, Connected.
            unsafe { connect(self.handle(), index as u32, place) };
        }
    }

    fn activate(&self) {
        if let Some(activate) = self.descriptor().activate {
            // SAFETY: Types, Alive, One audio thread, Alone.
            unsafe { activate(self.handle()) };
        }
    }

    fn deactivate(&self) {
        if let Some(deactivate) = self.descriptor().deactivate {
            // SAFETY: Types, Alive, One audio thread, Alone.
            unsafe { deactivate(self.handle()) };
        }
    }

    /// `false`: another call is under way. Waits for nobody and wakes nobody.
    fn reset(&self) -> bool {
        let _alone = match self.calls.try_write() {
            Ok(alone) => alone,
            Err(TryLockError::Poisoned(alone)) => alone.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        self.deactivate();
        self.activate();
        true
    }

    /// For a call beside `run`; `None`: the instance has ended. It looks again after a pause and does not wait in line, so
    /// that a reset has nobody to wake.
    fn beside(&self) -> Option<RwLockReadGuard<'_, Option<Memory>>> {
        loop {
            let held = match self.calls.try_read() {
                Ok(held) => held,
                Err(TryLockError::Poisoned(held)) => held.into_inner(),
                Err(TryLockError::WouldBlock) => {
                    std::thread::sleep(RESET_PAUSE);
                    continue;
                }
            };
            return held.is_none().then_some(held);
        }
    }

    /// Whether it plays no more, and only background work still holds a share.
    pub fn has_ended(&self) -> bool {
        self.beside().is_none()
    }

    fn worker(&self) -> Option<&WorkerInterface> {
        // SAFETY: Types, Alive.
        self.worker.map(|worker| unsafe { worker.as_ref() })
    }

    fn end_run(&self) {
        if let Some(end) = self.worker().and_then(|worker| worker.end_run) {
            // SAFETY: Types, Alive, One audio thread.
            unsafe { end(self.handle()) };
        }
    }

    /// Whether it has background work.
    pub fn works(&self) -> bool {
        self.worker().is_some_and(|worker| worker.work.is_some())
    }

    /// The number that its messages begin with.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The message behind the number, if it is this instance's.
    fn message<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let (number, message) = bytes.split_at_checked(NUMBER_BYTES)?;
        (number == self.number.to_le_bytes()).then_some(message)
    }

    /// Works on a request; called by one thread at a time.
    pub fn work(&self, request: &[u8], answers: &mut dyn WorkAnswers) {
        let Some(work) = self.worker().and_then(|worker| worker.work) else { return };
        let Some(message) = self.message(request) else { return };
        let Some(_beside) = self.beside() else { return };
        let answer = Vec::with_capacity(NUMBER_BYTES + MESSAGE_BYTES);
        let mut answering = Answering { number: self.number, answers, answer };
        let (bytes, data) = (message.len() as u32, message.as_ptr().cast());
        let to = (&raw mut answering).cast();
        // SAFETY: Types, Alive, Work beside, Alone; the plug-in answers in this call only.
        unsafe { work(self.handle(), respond, to, bytes, data) };
    }

    /// Its state; `None` for a plug-in without.
    ///
    /// # Errors
    /// The plug-in fails.
    pub fn save(&self) -> Result<Option<State>, String> {
        // SAFETY: Types, Alive.
        let Some(save) = self.state.and_then(|state| unsafe { state.as_ref() }.save) else {
            return Ok(None);
        };
        let _saving = self.saving.lock().unwrap_or_else(PoisonError::into_inner);
        let _beside = self.beside().ok_or("the plug-in is gone")?;
        let mut state = State::default();
        let (to, features) = ((&raw mut state).cast(), self.features.for_state.list.as_ptr());
        // SAFETY: Types, Alive, Work beside, Alone.
        match unsafe { save(self.handle(), store, to, abi::STATE_PLAIN, features) } {
            abi::STATE_DONE => Ok(Some(state)),
            failed => Err(format!("the plug-in cannot save its state (LV2 state error {failed})")),
        }
    }

    /// Only before it is active.
    fn restore(&self, state: &State) -> Result<(), String> {
        // SAFETY: Types, Alive.
        let Some(restore) = self.state.and_then(|state| unsafe { state.as_ref() }.restore) else {
            return Err("the plug-in has no state".into());
        };
        let restoring = Restoring::new(state);
        let (from, features) =
            ((&raw const restoring).cast_mut().cast(), self.features.for_state.list.as_ptr());
        // SAFETY: Types, Alive: no other call is under way yet.
        match unsafe { restore(self.handle(), retrieve, from, abi::STATE_PLAIN, features) } {
            abi::STATE_DONE => Ok(()),
            failed => Err(format!("the plug-in refuses the state (LV2 state error {failed})")),
        }
    }
}

fn interface(made: &Made, uri: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: Types, Alive.
    let data = unsafe {
        let descriptor = &*made.instance().descriptor;
        (descriptor.extension_data?)(uri.as_ptr())
    };
    NonNull::new(data.cast_mut())
}

impl Features {
    fn new(context: NonNull<Context>, terms: Terms) -> Features {
        let map = Box::new(map_feature());
        let unmap = Box::new(unmap_feature());
        let schedule = Box::new(abi::WorkerSchedule { handle: context.as_ptr().cast(), schedule });
        let values = Box::new(Values {
            rate_hz: terms.rate_hz as f32,
            min: terms.run.unwrap_or(1) as i32,
            max: terms.run.unwrap_or(LONGEST_RUN) as i32,
            nominal: terms.run.unwrap_or(NOMINAL_RUN) as i32,
            sequence: crate::lv2::SEQUENCE_BYTES as i32,
        });
        let options = options(&values);
        let entry = |uri: &'static CStr, data: *const c_void| Feature {
            uri: uri.as_ptr(),
            data: data.cast_mut(),
        };
        let mut features = vec![
            entry(abi::URID_MAP, (&raw const *map).cast()),
            entry(abi::URID_UNMAP, (&raw const *unmap).cast()),
            entry(abi::WORKER_SCHEDULE, (&raw const *schedule).cast()),
            entry(abi::OPTIONS, options.as_ptr().cast()),
            entry(abi::BOUNDED_BLOCK, null()),
            entry(abi::COARSE_BLOCK, null()),
            entry(abi::STATE_THREAD_SAFE, null()),
        ];
        if terms.run.is_some() {
            let fixed = [abi::FIXED_BLOCK, abi::POWER_OF_2_BLOCK];
            features.extend(fixed.map(|uri| entry(uri, null())));
        }
        let for_state = Box::new(StateFeatures::new());
        let list = list_of(&features, &for_state._features);
        let (_map, _unmap, _schedule) = (map, unmap, schedule);
        let (_features, _options, _values) = (features, options, values);
        Features { list, _features, _options, _values, _map, _unmap, _schedule, for_state }
    }
}

fn list_of(features: &[Feature], more: &[Feature]) -> Vec<*const Feature> {
    let all = features.iter().chain(more).map(|feature| &raw const *feature);
    all.chain([null()]).collect()
}

fn options(values: &Values) -> Box<[abi::OptionEntry]> {
    let int =
        |key: &CStr, value: &i32| option(urid(key), abi::ATOM_INT, (&raw const *value).cast());
    let rate = (&raw const values.rate_hz).cast();
    Box::new([
        option(urid(abi::OPTION_RATE), abi::ATOM_FLOAT, rate),
        int(abi::OPTION_MIN_BLOCK, &values.min),
        int(abi::OPTION_MAX_BLOCK, &values.max),
        int(abi::OPTION_NOMINAL_BLOCK, &values.nominal),
        int(abi::OPTION_SEQUENCE_SIZE, &values.sequence),
        abi::OptionEntry { context: 0, subject: 0, key: 0, size: 0, kind: 0, value: null() },
    ])
}

fn option(key: abi::Urid, kind: &CStr, value: *const c_void) -> abi::OptionEntry {
    abi::OptionEntry { context: 0, subject: 0, key, size: 4, kind: urid(kind), value }
}

impl StateFeatures {
    fn new() -> StateFeatures {
        let handle = null_mut();
        let map_path = Box::new(abi::StateMapPath {
            handle,
            abstract_path: same_path,
            absolute_path: same_path,
        });
        let free_path = Box::new(abi::StateFreePath { handle, free_path });
        let features = vec![
            Feature {
                uri: abi::STATE_MAP_PATH.as_ptr(),
                data: (&raw const *map_path).cast_mut().cast(),
            },
            Feature {
                uri: abi::STATE_FREE_PATH.as_ptr(),
                data: (&raw const *free_path).cast_mut().cast(),
            },
        ];
        let list = list_of(&features, &[]);
        StateFeatures { list, _features: features, _map_path: map_path, _free_path: free_path }
    }
}

unsafe extern "C" {
    /// In the C library: plug-ins older than `freePath` free paths with its `free`.
    fn strdup(text: *const c_char) -> *mut c_char;
    fn free(memory: *mut c_void);
}

/// Files keep their absolute path.
unsafe extern "C" fn same_path(_: *mut c_void, path: *const c_char) -> *mut c_char {
    if path.is_null() {
        return null_mut();
    }
    // SAFETY: Types: the plug-in passes a text that ends with NUL.
    unsafe { strdup(path) }
}

unsafe extern "C" fn free_path(_: *mut c_void, path: *mut c_char) {
    // SAFETY: Types: `same_path` gave it.
    unsafe { free(path.cast()) };
}

unsafe extern "C" fn schedule(context: *mut c_void, bytes: u32, data: *const c_void) -> u32 {
    // SAFETY: One audio thread: `Instance` holds no reference into the context during the call.
    let context = unsafe { &mut *context.cast::<Context>() };
    let Some(requests) = &mut context.requests else { return abi::WORKER_FAILED };
    // SAFETY: Types.
    let Some(message) = (unsafe { bytes_at(data, bytes as usize) }) else {
        return abi::WORKER_FAILED;
    };
    match compose(&mut context.message, context.number, message) {
        true => status(requests.request(&context.message)),
        false => abi::WORKER_NO_SPACE,
    }
}

/// Puts the number before the message. `false`: it is too long.
fn compose(into: &mut Vec<u8>, number: u64, message: &[u8]) -> bool {
    let fits = message.len() <= MESSAGE_BYTES;
    if fits {
        into.clear();
        into.extend_from_slice(&number.to_le_bytes());
        into.extend_from_slice(message);
    }
    fits
}

fn status(sent: Result<(), WorkRefused>) -> u32 {
    match sent {
        Ok(()) => abi::WORKER_DONE,
        Err(WorkRefused::Ended) => abi::WORKER_FAILED,
        Err(WorkRefused::Full | WorkRefused::TooLong) => abi::WORKER_NO_SPACE,
    }
}

/// # Safety
/// There are so many bytes at `data`, and they stay as they are for as long as the result is used.
unsafe fn bytes_at<'a>(data: *const c_void, bytes: usize) -> Option<&'a [u8]> {
    match (bytes, data.is_null()) {
        (0, _) => Some(&[]),
        (_, true) => None,
        // SAFETY: the caller's promise.
        (_, false) => Some(unsafe { std::slice::from_raw_parts(data.cast(), bytes) }),
    }
}

/// What `respond` finds at its handle.
struct Answering<'a> {
    number: u64,
    answers: &'a mut dyn WorkAnswers,
    answer: Vec<u8>,
}

unsafe extern "C" fn respond(handle: *mut c_void, bytes: u32, data: *const c_void) -> u32 {
    // SAFETY: `Shared::work` passed it, and its call is under way.
    let answering = unsafe { &mut *handle.cast::<Answering<'_>>() };
    // SAFETY: Types.
    let Some(message) = (unsafe { bytes_at(data, bytes as usize) }) else {
        return abi::WORKER_FAILED;
    };
    match compose(&mut answering.answer, answering.number, message) {
        true => status(answering.answers.answer(&answering.answer)),
        false => abi::WORKER_NO_SPACE,
    }
}

unsafe extern "C" fn store(
    state: *mut c_void,
    key: abi::Urid,
    value: *const c_void,
    bytes: usize,
    kind: abi::Urid,
    flags: u32,
) -> u32 {
    // SAFETY: `Shared::save` passed it, and its call is under way.
    let state = unsafe { &mut *state.cast::<State>() };
    if flags & abi::STATE_POD == 0 {
        // Its bytes alone are not the value: they may be pointers.
        return abi::STATE_BAD_FLAGS;
    }
    if bytes > STATE_BYTES {
        return abi::STATE_NO_SPACE;
    }
    // SAFETY: Types.
    let value = unsafe { bytes_at(value, bytes) };
    let (Some(key), Some(kind), Some(value)) = (uri_of(key), uri_of(kind), value) else {
        return abi::WORKER_FAILED;
    };
    state.entries.push(Entry {
        key: key.to_string_lossy().into_owned(),
        kind: kind.to_string_lossy().into_owned(),
        flags,
        value: value.to_vec(),
    });
    abi::STATE_DONE
}

/// A state with its numbers, and values at addresses that any type of value may have.
struct Restoring {
    entries: Vec<(abi::Urid, abi::Urid, u32, usize, Row<u64>)>,
}

impl Restoring {
    fn new(state: &State) -> Restoring {
        let number = |uri: &str| CString::new(uri).map_or(0, |uri| urid(&uri));
        let entry = |entry: &Entry| {
            let mut value = Row::new(0_u64, entry.value.len().div_ceil(8));
            value.bytes_mut()[..entry.value.len()].copy_from_slice(&entry.value);
            (number(&entry.key), number(&entry.kind), entry.flags, entry.value.len(), value)
        };
        Restoring { entries: state.entries.iter().map(entry).collect() }
    }
}

unsafe extern "C" fn retrieve(
    restoring: *mut c_void,
    key: abi::Urid,
    bytes: *mut usize,
    kind: *mut abi::Urid,
    flags: *mut u32,
) -> *const c_void {
    // SAFETY: `Shared::restore` passed it, and its call is under way.
    let restoring = unsafe { &*restoring.cast::<Restoring>() };
    let found = restoring.entries.iter().find(|(known, ..)| *known == key);
    let Some((_, known_kind, known_flags, len, value)) = found else { return null() };
    // SAFETY: Types; each may be left out.
    unsafe {
        bytes.as_mut().into_iter().for_each(|bytes| *bytes = *len);
        kind.as_mut().into_iter().for_each(|kind| *kind = *known_kind);
        flags.as_mut().into_iter().for_each(|flags| *flags = *known_flags);
    }
    value.pointer().cast_const().cast()
}
