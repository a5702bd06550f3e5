//! A VST3 plug-in for the tests: a gain with a delay that it reports as latency, notes that sound as constants, a side chain
//! that is added, and a state in each of its two halves, which are objects of their own.
//!
//! The gain follows the points of its changes in straight lines, as VST3 has it. The parameter `bend` is hidden: the pitch
//! bend of MIDI moves it, and its value is added to the output. A second output of one channel puts out a constant, once the host has
//! switched it on.
//!
//! Its file name decides how it loads: one with `crashes`, `hangs` or `unwilling` in it does so. The name also decides how
//! it misbehaves later (`Mode`).
#![allow(unsafe_code, reason = "all calls of VST3 are unsafe")]
#![allow(missing_docs)]

use std::ffi::{CStr, c_char, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use vst3::Steinberg::Linux::{IRunLoop, IRunLoopTrait, ITimerHandler, ITimerHandlerTrait};
use vst3::Steinberg::Vst::BusDirections_::{kInput, kOutput};
use vst3::Steinberg::Vst::BusTypes_::{kAux, kMain};
use vst3::Steinberg::Vst::ControllerNumbers_::kPitchBend;
use vst3::Steinberg::Vst::Event_::EventTypes_::{
    kLegacyMIDICCOutEvent, kNoteOffEvent, kNoteOnEvent,
};
use vst3::Steinberg::Vst::MediaTypes_::{kAudio, kEvent};
use vst3::Steinberg::Vst::ParameterInfo_::ParameterFlags_::{kCanAutomate, kIsBypass, kIsHidden};
use vst3::Steinberg::Vst::RestartFlags_::{kLatencyChanged, kReloadComponent};
use vst3::Steinberg::Vst::*;
use vst3::Steinberg::*;
use vst3::{Class, ComPtr, ComRef, ComWrapper, uid};

const COMPONENT: TUID = uid(0x484f_434b, 0x4554_0001, 0x5445_5354, 0x0000_0001);
const CONTROLLER: TUID = uid(0x484f_434b, 0x4554_0002, 0x5445_5354, 0x0000_0002);

const GAIN: u32 = 11;
const DELAY: u32 = 12;
const MODE: u32 = 13;
const BEND: u32 = 20;
const BYPASS: u32 = 21;
const ALL: [u32; 5] = [GAIN, DELAY, MODE, BEND, BYPASS];

/// What the gain is at 1.
const MOST_GAIN: f64 = 4.0;
const LONGEST: usize = 5_000;
/// A delay that it refuses in a state.
const BAD: f64 = 4_999.0;
/// How long it says that it sounds on.
const TAIL: u32 = 1_000;
/// What goes to the second output.
const SECOND: f32 = 7.0;

/// How it misbehaves, by what is in its file name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Not at all.
    Good,
    /// `segfaults`: in its first block.
    Segfaults,
    /// `nan`: its output is.
    Nan,
    /// `restarts`: asks to be made anew in its first block.
    Restarts,
    /// `errs`: cannot process every second block.
    Errs,
    /// `timers`: asks to be made anew when a timer of the host rings.
    Timers,
    /// `slow`: has another latency only after it was activated anew.
    Slow,
    /// `sends`: each note goes out an octave higher, and a controller in front of its start. That is no misbehaviour.
    Sends,
}

static NOW: OnceLock<Mode> = OnceLock::new();

fn mode() -> Mode {
    NOW.get().copied().unwrap_or(Mode::Good)
}

/// The path of this library.
fn own_path() -> String {
    // SAFETY: plain data; the address is that of a function of this library, and the text that comes back ends with a zero.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        libc::dladdr(own_path as *const () as *const c_void, &raw mut info);
        CStr::from_ptr(info.dli_fname).to_string_lossy().into_owned()
    }
}

/// # Safety
/// `to` is null or a place for a `T`.
unsafe fn put<T>(to: *mut T, value: T) -> tresult {
    if to.is_null() {
        return kInvalidArgument;
    }
    // SAFETY: the caller says so.
    unsafe { to.write(value) };
    kResultOk
}

fn write_text(text: &str, into: &mut [TChar]) {
    into.iter_mut().zip(text.encode_utf16()).for_each(|(to, from)| *to = from);
}

fn write_short(text: &str, into: &mut [c_char]) {
    into.iter_mut().zip(text.bytes()).for_each(|(to, from)| *to = from as c_char);
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads numbers from a stream; fewer than there are room for are none.
fn read<const N: usize>(stream: *mut IBStream) -> Option<[f64; N]> {
    let mut bytes = [0_u8; 64];
    let mut count = 0;
    // SAFETY: a host hands over a stream; the buffer is as long as is said.
    unsafe {
        let stream = ComRef::from_raw(stream)?;
        stream.read(bytes.as_mut_ptr().cast(), 8 * N as i32, &raw mut count);
    }
    let number =
        |index: usize| bytes[8 * index..].first_chunk().map(|chunk| f64::from_le_bytes(*chunk));
    (count == 8 * N as i32).then(|| std::array::from_fn(|index| number(index).unwrap_or(0.0)))
}

/// In two pieces, as some plug-ins do.
fn write(stream: *mut IBStream, numbers: &[f64]) -> tresult {
    // SAFETY: a host hands over a stream.
    let Some(stream) = (unsafe { ComRef::from_raw(stream) }) else { return kInvalidArgument };
    for number in numbers {
        let mut bytes = number.to_le_bytes();
        // SAFETY: the buffer is as long as is said.
        unsafe { stream.write(bytes.as_mut_ptr().cast(), 8, null_mut()) };
    }
    kResultOk
}

/// The half that plays.
struct Component {
    inner: Mutex<Inner>,
    latency: AtomicU32,
    host: Mutex<Option<ComPtr<IHostApplication>>>,
    peer: Mutex<Option<ComPtr<IConnectionPoint>>>,
}

struct Inner {
    /// From 0 to 1, in the order of `ALL`.
    values: [f64; 5],
    history: [Vec<f32>; 2],
    at: usize,
    /// The velocities of notes that sound, by their keys.
    notes: [f32; 128],
    blocks: u32,
    is_on: bool,
    /// Whether the second output is switched on.
    has_second: bool,
}

impl Class for Component {
    type Interfaces = (IComponent, IAudioProcessor, IConnectionPoint);
}

impl Component {
    fn new() -> Component {
        let history = || vec![0.0; LONGEST + 1];
        Component {
            inner: Mutex::new(Inner {
                values: [0.25, 0.0, 0.0, 0.0, 0.0],
                history: [history(), history()],
                at: 0,
                notes: [0.0; 128],
                blocks: 0,
                is_on: false,
                has_second: false,
            }),
            latency: AtomicU32::new(0),
            host: Mutex::new(None),
            peer: Mutex::new(None),
        }
    }

    /// Tells the other half through a message of the host.
    fn send_latency(&self) {
        let (host, peer) = (lock(&self.host), lock(&self.peer));
        let (Some(host), Some(peer)) = (host.as_ref(), peer.as_ref()) else { return };
        let mut id: TUID = IMessage_iid;
        let mut wanted: TUID = IMessage_iid;
        let mut object: *mut c_void = null_mut();
        // SAFETY: the host writes a message for us; texts end with zeros.
        unsafe {
            host.createInstance(&raw mut id, &raw mut wanted, &raw mut object);
            let Some(message) = ComPtr::from_raw(object.cast::<IMessage>()) else { return };
            message.setMessageID(c"latency".as_ptr());
            if let Some(attributes) = ComRef::from_raw(message.getAttributes()) {
                attributes.setInt(c"frames".as_ptr(), 1);
            }
            peer.notify(message.as_ptr());
        }
    }
}

impl Inner {
    fn delay(&self) -> usize {
        (self.values[1] * LONGEST as f64).round() as usize
    }
}

impl IPluginBaseTrait for Component {
    unsafe fn initialize(&self, context: *mut FUnknown) -> tresult {
        // SAFETY: a host hands over itself.
        let host = unsafe { ComRef::from_raw(context) };
        *lock(&self.host) = host.and_then(|host| host.cast());
        kResultOk
    }

    unsafe fn terminate(&self) -> tresult {
        *lock(&self.host) = None;
        kResultOk
    }
}

impl IConnectionPointTrait for Component {
    unsafe fn connect(&self, other: *mut IConnectionPoint) -> tresult {
        // SAFETY: a host hands over the other half.
        *lock(&self.peer) = unsafe { ComRef::from_raw(other) }.map(|other| other.to_com_ptr());
        kResultOk
    }

    unsafe fn disconnect(&self, _: *mut IConnectionPoint) -> tresult {
        *lock(&self.peer) = None;
        kResultOk
    }

    unsafe fn notify(&self, _: *mut IMessage) -> tresult {
        kResultOk
    }
}

impl IComponentTrait for Component {
    unsafe fn getControllerClassId(&self, class: *mut TUID) -> tresult {
        // SAFETY: as above.
        unsafe { put(class, CONTROLLER) }
    }

    unsafe fn setIoMode(&self, _: IoMode) -> tresult {
        kResultOk
    }

    unsafe fn getBusCount(&self, media: MediaType, direction: BusDirection) -> i32 {
        match (media as u32, direction as u32) {
            (media, _) if media == kAudio => 2,
            (media, direction) if media == kEvent && direction == kInput => 1,
            (media, _) if media == kEvent => i32::from(mode() == Mode::Sends),
            _ => 0,
        }
    }

    unsafe fn getBusInfo(
        &self,
        media: MediaType,
        direction: BusDirection,
        index: i32,
        info: *mut BusInfo,
    ) -> tresult {
        if media as u32 != kAudio || !(0..2).contains(&index) {
            return kInvalidArgument;
        }
        let channels = if index == 0 { 2 } else { 1 };
        let sort = if index == 0 { kMain } else { kAux };
        let mut name: String128 = [0; 128];
        write_text("Bus", &mut name);
        let bus = BusInfo {
            mediaType: media,
            direction,
            channelCount: channels,
            name,
            busType: sort as i32,
            flags: 0,
        };
        // SAFETY: as above.
        unsafe { put(info, bus) }
    }

    unsafe fn getRoutingInfo(&self, _: *mut RoutingInfo, _: *mut RoutingInfo) -> tresult {
        kNotImplemented
    }

    unsafe fn activateBus(
        &self,
        media: MediaType,
        direction: BusDirection,
        index: i32,
        on: TBool,
    ) -> tresult {
        if (media as u32, direction as u32, index) == (kAudio, kOutput, 1) {
            lock(&self.inner).has_second = on != 0;
        }
        kResultOk
    }

    unsafe fn setActive(&self, on: TBool) -> tresult {
        let inner = lock(&self.inner);
        if on != 0 {
            self.latency.store(inner.delay() as u32, Relaxed);
        }
        kResultOk
    }

    unsafe fn setState(&self, stream: *mut IBStream) -> tresult {
        let Some([gain, delay]) = read(stream) else { return kResultFalse };
        if delay * LONGEST as f64 == BAD {
            return kResultFalse;
        }
        let mut inner = lock(&self.inner);
        (inner.values[0], inner.values[1]) = (gain, delay);
        kResultOk
    }

    unsafe fn getState(&self, stream: *mut IBStream) -> tresult {
        let inner = lock(&self.inner);
        write(stream, &inner.values[..2])
    }
}

impl IAudioProcessorTrait for Component {
    unsafe fn setBusArrangements(
        &self,
        inputs: *mut SpeakerArrangement,
        input_count: i32,
        outputs: *mut SpeakerArrangement,
        output_count: i32,
    ) -> tresult {
        let wanted = [SpeakerArr::kStereo, SpeakerArr::kMono];
        // SAFETY: a host hands over as many as it says.
        let fits = unsafe {
            (input_count, output_count) == (2, 2)
                && std::slice::from_raw_parts(inputs, 2) == wanted
                && std::slice::from_raw_parts(outputs, 2) == wanted
        };
        if fits { kResultTrue } else { kResultFalse }
    }

    unsafe fn getBusArrangement(
        &self,
        _: BusDirection,
        index: i32,
        arrangement: *mut SpeakerArrangement,
    ) -> tresult {
        // SAFETY: as above.
        unsafe {
            put(arrangement, if index == 0 { SpeakerArr::kStereo } else { SpeakerArr::kMono })
        }
    }

    unsafe fn canProcessSampleSize(&self, size: i32) -> tresult {
        if size == SymbolicSampleSizes_::kSample32 as i32 { kResultTrue } else { kResultFalse }
    }

    unsafe fn getLatencySamples(&self) -> u32 {
        self.latency.load(Relaxed)
    }

    unsafe fn setupProcessing(&self, setup: *mut ProcessSetup) -> tresult {
        // SAFETY: as above.
        let rate = unsafe { (*setup).sampleRate };
        if rate == 44_101.0 { kResultFalse } else { kResultOk }
    }

    /// Forgets what it has heard.
    unsafe fn setProcessing(&self, on: TBool) -> tresult {
        let mut inner = lock(&self.inner);
        inner.is_on = on != 0;
        if on != 0 {
            inner.history.iter_mut().for_each(|row| row.fill(0.0));
            inner.notes.fill(0.0);
        }
        kResultOk
    }

    unsafe fn process(&self, data: *mut ProcessData) -> tresult {
        // SAFETY: as above.
        let data = unsafe { &mut *data };
        let before = lock(&self.inner).delay();
        let result = lock(&self.inner).process(data);
        let after = lock(&self.inner).delay();
        if before != after {
            if mode() != Mode::Slow {
                self.latency.store(after as u32, Relaxed);
            }
            self.send_latency();
        }
        if mode() == Mode::Restarts && lock(&self.inner).blocks == 1 {
            self.send_latency();
        }
        result
    }

    unsafe fn getTailSamples(&self) -> u32 {
        TAIL
    }
}

impl Inner {
    fn process(&mut self, data: &mut ProcessData) -> tresult {
        let frames = data.numSamples as usize;
        let gains = self.take_values(data, frames);
        if frames == 0 {
            return kResultOk;
        }
        self.blocks += 1;
        match mode() {
            // SAFETY: none, on purpose: nothing is at this address.
            Mode::Segfaults => unsafe {
                std::ptr::without_provenance_mut::<u8>(8).write_volatile(1)
            },
            Mode::Errs if self.blocks.is_multiple_of(2) => return kInternalError,
            _ => {}
        }
        if !self.is_on || (data.numInputs, data.numOutputs) != (2, 2) {
            return kInternalError;
        }
        let second = if self.has_second { SECOND } else { 0.0 };
        // SAFETY: a host hands over rows of so many frames for the buses that there are.
        let (inputs, outputs, key) = unsafe {
            let inputs = std::slice::from_raw_parts(data.inputs, 2);
            let outputs = std::slice::from_raw_parts(data.outputs, 2);
            let row =
                |bus: &AudioBusBuffers, channel: usize| *bus.__field0.channelBuffers32.add(channel);
            let input =
                [0, 1].map(|channel| std::slice::from_raw_parts(row(&inputs[0], channel), frames));
            let output = [0, 1]
                .map(|channel| std::slice::from_raw_parts_mut(row(&outputs[0], channel), frames));
            std::slice::from_raw_parts_mut(row(&outputs[1], 0), frames).fill(second);
            (input, output, std::slice::from_raw_parts(row(&inputs[1], 0), frames))
        };
        let delay = self.delay();
        let bend = self.values[3] as f32;
        let mut next_event = 0;
        for frame in 0..frames {
            next_event = self.take_events(data, frame, next_event);
            let notes: f32 = self.notes.iter().sum();
            let length = LONGEST + 1;
            for channel in 0..2 {
                self.history[channel][self.at] = inputs[channel][frame];
                let delayed = self.history[channel][(self.at + length - delay) % length];
                outputs[channel][frame] = delayed * gains(frame) + key[frame] + notes + bend;
                if mode() == Mode::Nan {
                    outputs[channel][frame] = f32::NAN;
                }
            }
            self.at = (self.at + 1) % length;
        }
        kResultOk
    }

    /// Takes changes of parameters. Returns the gain at each frame: straight lines between the points.
    fn take_values(&mut self, data: &ProcessData, _: usize) -> impl Fn(usize) -> f32 + use<> {
        let mut points = vec![(-1.0, self.values[0])];
        // SAFETY: a host hands over its list.
        let changes = unsafe { ComRef::from_raw(data.inputParameterChanges) };
        // SAFETY: as above, and all that it gives.
        unsafe {
            let count = changes.map_or(0, |changes| changes.getParameterCount());
            for index in 0..count {
                let queue =
                    changes.and_then(|changes| ComRef::from_raw(changes.getParameterData(index)));
                let Some(queue) = queue else { continue };
                let place = ALL.iter().position(|id| *id == queue.getParameterId());
                for point in 0..queue.getPointCount() {
                    let (mut frame, mut value) = (0, 0.0);
                    queue.getPoint(point, &raw mut frame, &raw mut value);
                    match place {
                        Some(0) => points.push((f64::from(frame), value)),
                        Some(place) => self.values[place] = value,
                        None => {}
                    }
                }
            }
        }
        self.values[0] = points[points.len() - 1].1;
        move |frame| {
            let at = frame as f64;
            let behind = points.partition_point(|(frame, _)| *frame <= at);
            let (from, low) = points[behind - 1];
            let share = points
                .get(behind)
                .map_or(low, |(to, high)| low + (high - low) * (at - from) / (to - from));
            (share * MOST_GAIN) as f32
        }
    }

    /// Takes the events of a frame; they come in order.
    fn take_events(&mut self, data: &ProcessData, frame: usize, mut next: i32) -> i32 {
        // SAFETY: a host hands over its list, and events of the kinds that they say.
        unsafe {
            let Some(events) = ComRef::from_raw(data.inputEvents) else { return next };
            let mut event: Event = std::mem::zeroed();
            while next < events.getEventCount() {
                events.getEvent(next, &raw mut event);
                if event.sampleOffset as usize > frame {
                    break;
                }
                if mode() == Mode::Sends {
                    send(data, event);
                }
                match u32::from(event.r#type) {
                    kind if kind == kNoteOnEvent => {
                        let note = event.__field0.noteOn;
                        self.notes[note.pitch as usize & 127] = note.velocity;
                    }
                    kind if kind == kNoteOffEvent => {
                        self.notes[event.__field0.noteOff.pitch as usize & 127] = 0.0;
                    }
                    _ => {}
                }
                next += 1;
            }
        }
        next
    }
}

/// Sends a note an octave higher, and a controller in front of its start.
fn send(data: &ProcessData, mut event: Event) {
    // SAFETY: a host hands over its list, and events of the kinds that they say.
    unsafe {
        let Some(to) = ComRef::from_raw(data.outputEvents) else { return };
        match u32::from(event.r#type) {
            kind if kind == kNoteOnEvent => {
                let channel = event.__field0.noteOn.channel as i8;
                let wheel =
                    LegacyMIDICCOutEvent { controlNumber: 1, channel, value: 100, value2: 0 };
                let mut moved = event;
                moved.r#type = kLegacyMIDICCOutEvent as u16;
                moved.__field0 = Event__type0 { midiCCOut: wheel };
                to.addEvent(&raw mut moved);
                event.__field0.noteOn.pitch += 12;
            }
            kind if kind == kNoteOffEvent => event.__field0.noteOff.pitch += 12,
            _ => return,
        }
        to.addEvent(&raw mut event);
    }
}

/// The half that knows the parameters.
struct Controller {
    values: Mutex<[f64; 5]>,
    /// What only this half keeps.
    own: Mutex<f64>,
    handler: Mutex<Option<ComPtr<IComponentHandler>>>,
    run_loop: Mutex<Option<ComPtr<IRunLoop>>>,
    ring: Mutex<Option<ComPtr<ITimerHandler>>>,
}

impl Class for Controller {
    type Interfaces = (IEditController, IConnectionPoint, IMidiMapping);
}

impl Controller {
    fn new() -> Controller {
        Controller {
            values: Mutex::new([0.25, 0.0, 0.0, 0.0, 0.0]),
            own: Mutex::new(0.0),
            handler: Mutex::new(None),
            run_loop: Mutex::new(None),
            ring: Mutex::new(None),
        }
    }

    fn restart(&self, flags: i32) {
        if let Some(handler) = &*lock(&self.handler) {
            // SAFETY: the handler is the host's.
            unsafe { handler.restartComponent(flags) };
        }
    }
}

/// Rings once.
struct Ring(Mutex<Option<ComPtr<IComponentHandler>>>);

impl Class for Ring {
    type Interfaces = (ITimerHandler,);
}

impl ITimerHandlerTrait for Ring {
    unsafe fn onTimer(&self) {
        if let Some(handler) = lock(&self.0).take() {
            // SAFETY: the handler is the host's.
            unsafe { handler.restartComponent(kReloadComponent) };
        }
    }
}

impl IPluginBaseTrait for Controller {
    unsafe fn initialize(&self, context: *mut FUnknown) -> tresult {
        // SAFETY: a host hands over itself.
        let context = unsafe { ComRef::from_raw(context) };
        *lock(&self.run_loop) = context.and_then(|context| context.cast());
        kResultOk
    }

    unsafe fn terminate(&self) -> tresult {
        if let (Some(run_loop), Some(ring)) = (lock(&self.run_loop).take(), lock(&self.ring).take())
        {
            // SAFETY: the loop is the host's.
            unsafe { run_loop.unregisterTimer(ring.as_ptr()) };
        }
        kResultOk
    }
}

impl IConnectionPointTrait for Controller {
    unsafe fn connect(&self, _: *mut IConnectionPoint) -> tresult {
        kResultOk
    }

    unsafe fn disconnect(&self, _: *mut IConnectionPoint) -> tresult {
        kResultOk
    }

    unsafe fn notify(&self, message: *mut IMessage) -> tresult {
        // SAFETY: the other half hands over a message of the host.
        let is_right = unsafe {
            let Some(message) = ComRef::from_raw(message) else { return kInvalidArgument };
            let mut frames = 0;
            let attributes = ComRef::from_raw(message.getAttributes());
            let found = attributes.map(|list| list.getInt(c"frames".as_ptr(), &raw mut frames));
            CStr::from_ptr(message.getMessageID()) == c"latency"
                && found == Some(kResultOk)
                && frames == 1
        };
        if is_right {
            let flags = if mode() == Mode::Restarts { kReloadComponent } else { kLatencyChanged };
            self.restart(flags);
        }
        kResultOk
    }
}

impl IMidiMappingTrait for Controller {
    unsafe fn getMidiControllerAssignment(
        &self,
        bus: i32,
        _: i16,
        controller: CtrlNumber,
        id: *mut ParamID,
    ) -> tresult {
        if bus != 0 || controller as u32 != kPitchBend {
            return kResultFalse;
        }
        // SAFETY: as above.
        unsafe { put(id, BEND) }
    }
}

impl IEditControllerTrait for Controller {
    unsafe fn setComponentState(&self, stream: *mut IBStream) -> tresult {
        if let Some([gain, delay]) = read(stream) {
            let mut values = lock(&self.values);
            (values[0], values[1]) = (gain, delay);
        }
        kResultOk
    }

    unsafe fn setState(&self, stream: *mut IBStream) -> tresult {
        let Some([own]) = read(stream) else { return kResultFalse };
        *lock(&self.own) = own;
        kResultOk
    }

    /// Another number each time that a state was loaded.
    unsafe fn getState(&self, stream: *mut IBStream) -> tresult {
        write(stream, &[*lock(&self.own) + 1.0])
    }

    unsafe fn getParameterCount(&self) -> i32 {
        ALL.len() as i32
    }

    unsafe fn getParameterInfo(&self, index: i32, into: *mut ParameterInfo) -> tresult {
        let Some(id) = usize::try_from(index).ok().and_then(|index| ALL.get(index)) else {
            return kInvalidArgument;
        };
        let (title, unit, steps, flags, default) = match *id {
            GAIN => ("Output Gain", "x", 0, kCanAutomate, 0.25),
            DELAY => ("Delay", "frames", LONGEST as i32, kCanAutomate, 0.0),
            MODE => ("Mode", "", 2, kCanAutomate | ParameterInfo_::ParameterFlags_::kIsList, 0.0),
            BEND => ("Bend", "", 0, kIsHidden, 0.0),
            _ => ("Bypass", "", 1, kCanAutomate | kIsBypass, 0.0),
        };
        let mut info = ParameterInfo {
            id: *id,
            title: [0; 128],
            shortTitle: [0; 128],
            units: [0; 128],
            stepCount: steps,
            defaultNormalizedValue: default,
            unitId: 0,
            flags,
        };
        write_text(title, &mut info.title);
        write_text(unit, &mut info.units);
        // SAFETY: as above.
        unsafe { put(into, info) }
    }

    unsafe fn getParamStringByValue(
        &self,
        id: ParamID,
        value: ParamValue,
        text: *mut String128,
    ) -> tresult {
        let shown = match id {
            MODE => ["Soft", "Hard", "Off"][(value * 2.0).round() as usize % 3].to_string(),
            _ => value.to_string(),
        };
        let mut all: String128 = [0; 128];
        write_text(&shown, &mut all);
        // SAFETY: as above.
        unsafe { put(text, all) }
    }

    unsafe fn getParamValueByString(
        &self,
        _: ParamID,
        _: *mut TChar,
        _: *mut ParamValue,
    ) -> tresult {
        kNotImplemented
    }

    unsafe fn normalizedParamToPlain(&self, id: ParamID, value: ParamValue) -> ParamValue {
        match id {
            GAIN => value * MOST_GAIN,
            DELAY => (value * LONGEST as f64).round(),
            MODE => (value * 3.0).floor().min(2.0),
            _ => value,
        }
    }

    unsafe fn plainParamToNormalized(&self, id: ParamID, value: ParamValue) -> ParamValue {
        match id {
            GAIN => value / MOST_GAIN,
            DELAY => value / LONGEST as f64,
            MODE => value / 2.0,
            _ => value,
        }
    }

    unsafe fn getParamNormalized(&self, id: ParamID) -> ParamValue {
        let place = ALL.iter().position(|known| *known == id);
        place.map_or(0.0, |place| lock(&self.values)[place])
    }

    unsafe fn setParamNormalized(&self, id: ParamID, value: ParamValue) -> tresult {
        let Some(place) = ALL.iter().position(|known| *known == id) else {
            return kInvalidArgument;
        };
        lock(&self.values)[place] = value;
        kResultOk
    }

    unsafe fn setComponentHandler(&self, handler: *mut IComponentHandler) -> tresult {
        // SAFETY: a host hands over its handler.
        let handler = unsafe { ComRef::from_raw(handler) }.map(|handler| handler.to_com_ptr());
        let run_loop = lock(&self.run_loop);
        let run_loop = run_loop.as_ref().filter(|_| mode() == Mode::Timers);
        if let (Some(handler), Some(run_loop)) = (&handler, run_loop) {
            let ring = ComWrapper::new(Ring(Mutex::new(Some(handler.clone()))));
            *lock(&self.ring) = ring.to_com_ptr();
            if let Some(ring) = &*lock(&self.ring) {
                // SAFETY: the loop is the host's.
                unsafe { run_loop.registerTimer(ring.as_ptr(), 20) };
            }
        }
        *lock(&self.handler) = handler;
        kResultOk
    }

    unsafe fn createView(&self, _: FIDString) -> *mut IPlugView {
        null_mut()
    }
}

struct Factory;

impl Class for Factory {
    type Interfaces = (IPluginFactory,);
}

impl IPluginFactoryTrait for Factory {
    unsafe fn getFactoryInfo(&self, _: *mut PFactoryInfo) -> tresult {
        kNotImplemented
    }

    unsafe fn countClasses(&self) -> i32 {
        2
    }

    unsafe fn getClassInfo(&self, index: i32, into: *mut PClassInfo) -> tresult {
        let (cid, sort) = match index {
            0 => (COMPONENT, "Audio Module Class"),
            1 => (CONTROLLER, "Component Controller Class"),
            _ => return kInvalidArgument,
        };
        let mut info = PClassInfo { cid, cardinality: i32::MAX, category: [0; 32], name: [0; 64] };
        write_short(sort, &mut info.category);
        write_short("Test gain", &mut info.name);
        // SAFETY: as above.
        unsafe { put(into, info) }
    }

    unsafe fn createInstance(
        &self,
        class: FIDString,
        wanted: FIDString,
        object: *mut *mut c_void,
    ) -> tresult {
        // SAFETY: a host hands over two ids of 16 bytes, and a place.
        unsafe {
            let made = match *class.cast::<TUID>() {
                COMPONENT => ComWrapper::new(Component::new()).to_com_ptr::<FUnknown>(),
                CONTROLLER => ComWrapper::new(Controller::new()).to_com_ptr::<FUnknown>(),
                _ => None,
            };
            let Some(made) = made else { return kInvalidArgument };
            let made = made.as_ptr();
            ((*(*made).vtbl).queryInterface)(made, wanted.cast(), object)
        }
    }
}

// SAFETY: no other library of the process has this name, and VST3 wants it.
#[unsafe(no_mangle)]
extern "C" fn ModuleEntry(_: *mut c_void) -> bool {
    let name = own_path();
    if name.contains("crashes") {
        std::process::abort();
    }
    if name.contains("hangs") {
        std::thread::sleep(std::time::Duration::from_secs(3600));
    }
    let modes = [
        ("segfaults", Mode::Segfaults),
        ("nan", Mode::Nan),
        ("restarts", Mode::Restarts),
        ("errs", Mode::Errs),
        ("timers", Mode::Timers),
        ("slow", Mode::Slow),
        ("sends", Mode::Sends),
    ];
    let mode = modes.iter().find(|(part, _)| name.contains(part)).map_or(Mode::Good, |mode| mode.1);
    let _ = NOW.set(mode);
    !name.contains("unwilling")
}

// SAFETY: as above.
#[unsafe(no_mangle)]
extern "C" fn ModuleExit() -> bool {
    true
}

// SAFETY: as above.
#[unsafe(no_mangle)]
extern "system" fn GetPluginFactory() -> *mut IPluginFactory {
    ComWrapper::new(Factory).to_com_ptr().map_or(null_mut(), ComPtr::into_raw)
}
