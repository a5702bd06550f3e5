//! One instance of a plug-in, on the main thread.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::Arc;

use vst3::Steinberg::Vst::BusDirections_::{kInput, kOutput};
use vst3::Steinberg::Vst::BusTypes_::kMain;
use vst3::Steinberg::Vst::MediaTypes_::{kAudio, kEvent};
use vst3::Steinberg::Vst::ParameterInfo_::ParameterFlags_::{
    kIsBypass, kIsHidden, kIsList, kIsProgramChange, kIsReadOnly,
};
use vst3::Steinberg::Vst::ProcessModes_::kRealtime;
use vst3::Steinberg::Vst::SymbolicSampleSizes_::kSample32;
use vst3::Steinberg::Vst::{
    BusInfo, IAudioProcessor, IAudioProcessorTrait, IComponent, IComponentHandler, IComponentTrait,
    IConnectionPoint, IConnectionPointTrait, IEditController, IEditControllerTrait, IMidiMapping,
    IMidiMappingTrait, ParameterInfo, ProcessSetup, SpeakerArr, SpeakerArrangement, String128,
};
use vst3::Steinberg::{IBStream, IPluginBaseTrait, TUID, kNotImplemented, kResultOk};
use vst3::{ComPtr, ComWrapper};

use super::audio::Audio;
use super::host::{Flags, Handler, application};
use super::lists::Lists;
use super::module::Module;
use super::stream::Stream;
use super::text;
use crate::LONGEST_RUN;

/// The most buses of one direction, and the most channels of all of them.
const MOST_BUSES: i32 = 64;
const MOST_CHANNELS: usize = 256;
/// The most parameters.
const MOST_PARAMS: i32 = 1 << 16;

/// What a bus is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BusSort {
    Main,
    /// A side chain, among inputs.
    Aux,
}

/// The audio buses: what each is for, and its channels.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Buses {
    pub inputs: Vec<(BusSort, usize)>,
    pub outputs: Vec<(BusSort, usize)>,
}

/// What a plug-in says of a parameter. Values are from 0 to 1.
#[derive(Debug, Clone, PartialEq)]
pub struct ParamFacts {
    pub id: u32,
    pub title: String,
    pub unit: String,
    /// How many steps there are from the smallest to the largest; 0: no steps.
    pub steps: u32,
    pub default: f64,
    /// Whether its values have names.
    pub is_list: bool,
    /// Hidden, read-only, a choice of programs, or the plug-in's own bypass.
    pub is_internal: bool,
}

/// An instance. It ends with its drop, before which its [`Audio`] has been dropped.
pub struct Instance {
    // Dropped in this order: some plug-ins count on it that the component goes last.
    processor: ComPtr<IAudioProcessor>,
    controller: Option<ComPtr<IEditController>>,
    component: ComPtr<IComponent>,
    /// Whether the controller is another object than the component.
    is_apart: bool,
    /// The two halves, connected.
    connected: Option<(ComPtr<IConnectionPoint>, ComPtr<IConnectionPoint>)>,
    is_active: bool,
    _handler: ComWrapper<Handler>,
    _main: PhantomData<*const ()>,
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.deactivate();
        // SAFETY: Types; Counted; Main thread.
        unsafe {
            if let Some((component, controller)) = self.connected.take() {
                component.disconnect(controller.as_ptr());
                controller.disconnect(component.as_ptr());
            }
            if let Some(controller) = &self.controller {
                controller.setComponentHandler(null_mut());
                if self.is_apart {
                    controller.terminate();
                }
            }
            self.component.terminate();
        }
    }
}

impl Instance {
    /// Makes an instance of the plug-in with this number.
    ///
    /// # Errors
    /// What it lacks or refuses.
    pub fn new(module: &Module, id: [u8; 16], flags: &Arc<Flags>) -> Result<Instance, String> {
        let component: ComPtr<IComponent> = module.make(id).ok_or("it makes no instance")?;
        // SAFETY: Types; Counted; Main thread.
        if unsafe { component.initialize(application()) } != kResultOk {
            return Err("it makes no instance: it does not initialize".into());
        }
        let processor: Option<ComPtr<IAudioProcessor>> = component.cast();
        let Some(processor) = processor else {
            // SAFETY: Types; Counted; Main thread.
            unsafe { component.terminate() };
            return Err("it processes no audio".into());
        };
        let (controller, is_apart) = match component.cast::<IEditController>() {
            Some(controller) => (Some(controller), false),
            None => (controller(module, &component), true),
        };
        let handler = ComWrapper::new(Handler(Arc::clone(flags)));
        let mut instance = Instance {
            component,
            processor,
            controller,
            is_apart,
            connected: None,
            is_active: false,
            _handler: handler,
            _main: PhantomData,
        };
        instance.connect();
        // SAFETY: Types; Counted; Main thread.
        if unsafe { instance.processor.canProcessSampleSize(kSample32 as i32) } != kResultOk {
            return Err("it does not take samples of 32 bits".into());
        }
        Ok(instance)
    }

    /// Brings the two halves together.
    fn connect(&mut self) {
        let Some(controller) = &self.controller else { return };
        let handler = self._handler.as_com_ref::<IComponentHandler>();
        // SAFETY: Types; Counted; Main thread. The handler lives as long as the instance.
        unsafe {
            controller.setComponentHandler(handler.map_or(null_mut(), |handler| handler.as_ptr()))
        };
        if !self.is_apart {
            return;
        }
        let points = (self.component.cast(), controller.cast());
        if let (Some(component), Some(controller)) = points {
            let (component, controller): (ComPtr<IConnectionPoint>, ComPtr<IConnectionPoint>) =
                (component, controller);
            // SAFETY: Types; Counted; Main thread.
            unsafe {
                component.connect(controller.as_ptr());
                controller.connect(component.as_ptr());
            }
            self.connected = Some((component, controller));
        }
        if let Ok(Some(state)) = self.component_state() {
            self.tell_controller(&state);
        }
    }

    /// The controller learns the state of the component.
    fn tell_controller(&self, state: &[u8]) {
        let stream = Stream::of(state);
        if let (Some(controller), Some(stream)) =
            (&self.controller, stream.as_com_ref::<IBStream>())
        {
            // SAFETY: Types; Counted; Main thread.
            unsafe { controller.setComponentState(stream.as_ptr()) };
        }
    }

    /// What the component keeps. `None`: nothing.
    ///
    /// # Errors
    /// It fails to save.
    pub fn component_state(&self) -> Result<Option<Vec<u8>>, String> {
        let stream = Stream::of(&[]);
        let Some(place) = stream.as_com_ref::<IBStream>() else { return Ok(None) };
        // SAFETY: Types; Counted; Main thread.
        let result = unsafe { self.component.getState(place.as_ptr()) };
        match result {
            _ if result == kNotImplemented => Ok(None),
            _ if result != kResultOk => Err("the plug-in fails to save its state".into()),
            _ => Ok(Some(stream.bytes()).filter(|bytes| !bytes.is_empty())),
        }
    }

    /// What the controller keeps beside it.
    pub fn controller_state(&self) -> Option<Vec<u8>> {
        let stream = Stream::of(&[]);
        let (controller, place) = (self.controller.as_ref()?, stream.as_com_ref::<IBStream>()?);
        // SAFETY: Types; Counted; Main thread.
        let saved = unsafe { controller.getState(place.as_ptr()) } == kResultOk;
        Some(stream.bytes()).filter(|bytes| saved && !bytes.is_empty())
    }

    /// `false`: the plug-in refuses it.
    pub fn load(&mut self, component: &[u8], controller: Option<&[u8]>) -> bool {
        let stream = Stream::of(component);
        let Some(place) = stream.as_com_ref::<IBStream>() else { return false };
        // SAFETY: Types; Counted; Main thread.
        if unsafe { self.component.setState(place.as_ptr()) } != kResultOk {
            return false;
        }
        self.tell_controller(component);
        let stream = controller.map(Stream::of);
        let place = stream.as_ref().and_then(|stream| stream.as_com_ref::<IBStream>());
        if let (Some(controller), Some(place)) = (&self.controller, place) {
            // SAFETY: Types; Counted; Main thread. What it does not know of itself it may ignore.
            unsafe { controller.setState(place.as_ptr()) };
        }
        true
    }

    /// Its audio buses.
    ///
    /// # Errors
    /// There are more than Hocket has rows for.
    pub fn buses(&self) -> Result<Buses, String> {
        let of = |direction| self.buses_of(direction);
        Ok(Buses { inputs: of(kInput as i32)?, outputs: of(kOutput as i32)? })
    }

    fn buses_of(&self, direction: i32) -> Result<Vec<(BusSort, usize)>, String> {
        let bus = |index| {
            let info = self.bus(direction, index);
            let sort = |info: &BusInfo| {
                if info.busType == kMain as i32 { BusSort::Main } else { BusSort::Aux }
            };
            let channels = |info: &BusInfo| info.channelCount.max(0) as usize;
            info.as_ref().map_or((BusSort::Aux, 0), |info| (sort(info), channels(info)))
        };
        // SAFETY: Types; Counted; Main thread.
        let count = unsafe { self.component.getBusCount(kAudio as i32, direction) };
        if count > MOST_BUSES {
            return Err(format!(
                "it has {count} audio buses, and Hocket has room for {MOST_BUSES}"
            ));
        }
        let buses: Vec<(BusSort, usize)> = (0..count.max(0)).map(bus).collect();
        let channels = buses.iter().map(|(_, channels)| channels).sum::<usize>();
        match channels {
            0..=MOST_CHANNELS => Ok(buses),
            _ => {
                Err(format!("it has {channels} channels, and Hocket has room for {MOST_CHANNELS}"))
            }
        }
    }

    /// The names of so many of its output buses.
    pub fn output_names(&self, count: usize) -> Vec<String> {
        let name = |index: usize| {
            let info = self.bus(kOutput as i32, index as i32);
            info.map_or_else(String::new, |info| text(&info.name))
        };
        (0..count).map(name).collect()
    }

    fn bus(&self, direction: i32, index: i32) -> Option<BusInfo> {
        // SAFETY: Plain data.
        let mut info: BusInfo = unsafe { MaybeUninit::zeroed().assume_init() };
        // SAFETY: Types; Counted; Main thread.
        let found =
            unsafe { self.component.getBusInfo(kAudio as i32, direction, index, &raw mut info) };
        (found == kResultOk).then_some(info)
    }

    /// Whether notes reach it.
    pub fn takes_events(&self) -> bool {
        // SAFETY: Types; Counted; Main thread.
        unsafe { self.component.getBusCount(kEvent as i32, kInput as i32) > 0 }
    }

    /// Whether it sends notes.
    pub fn sends_events(&self) -> bool {
        // SAFETY: Types; Counted; Main thread.
        unsafe { self.component.getBusCount(kEvent as i32, kOutput as i32) > 0 }
    }

    /// Asks for mono and stereo buses where the plug-in has such, and for stereo where it has more channels. A plug-in may
    /// refuse, or do what it can: [`Instance::buses`] says what came of it.
    ///
    /// # Errors
    /// As [`Instance::buses`].
    pub fn arrange(&mut self) -> Result<(), String> {
        let wanted = |buses: &[(BusSort, usize)]| -> Vec<SpeakerArrangement> {
            let of = |(_, channels): &(BusSort, usize)| match channels {
                0 => SpeakerArr::kEmpty,
                1 => SpeakerArr::kMono,
                _ => SpeakerArr::kStereo,
            };
            buses.iter().map(of).collect()
        };
        let buses = self.buses()?;
        let (mut inputs, mut outputs) = (wanted(&buses.inputs), wanted(&buses.outputs));
        // SAFETY: Types; Counted; Main thread.
        unsafe {
            self.processor.setBusArrangements(
                inputs.as_mut_ptr(),
                inputs.len() as i32,
                outputs.as_mut_ptr(),
                outputs.len() as i32,
            )
        };
        Ok(())
    }

    /// Switches the buses of these numbers on and all others off; and the first event bus of each direction on, if there is
    /// one.
    ///
    /// # Errors
    /// As [`Instance::buses`].
    pub fn use_buses(&mut self, inputs: &[usize], outputs: &[usize]) -> Result<(), String> {
        let buses = self.buses()?;
        let set = |media: u32, direction: u32, index: usize, on: bool| {
            // SAFETY: Types; Counted; Main thread.
            unsafe {
                self.component.activateBus(media as i32, direction as i32, index as i32, on.into())
            };
        };
        (0..buses.inputs.len()).for_each(|bus| set(kAudio, kInput, bus, inputs.contains(&bus)));
        (0..buses.outputs.len()).for_each(|bus| set(kAudio, kOutput, bus, outputs.contains(&bus)));
        if self.takes_events() {
            set(kEvent, kInput, 0, true);
        }
        if self.sends_events() {
            set(kEvent, kOutput, 0, true);
        }
        Ok(())
    }

    /// Its parameters, in its order.
    pub fn params(&self) -> Vec<ParamFacts> {
        let Some(controller) = &self.controller else { return Vec::new() };
        let param = |index| {
            // SAFETY: Plain data.
            let mut info: ParameterInfo = unsafe { MaybeUninit::zeroed().assume_init() };
            // SAFETY: Types; Counted; Main thread.
            let found = unsafe { controller.getParameterInfo(index, &raw mut info) } == kResultOk;
            let has = |flag: i32| info.flags & flag != 0;
            found.then(|| ParamFacts {
                id: info.id,
                title: text(&info.title),
                unit: text(&info.units),
                steps: u32::try_from(info.stepCount).unwrap_or(0),
                default: info.defaultNormalizedValue,
                is_list: has(kIsList),
                is_internal: [kIsHidden, kIsReadOnly, kIsProgramChange, kIsBypass]
                    .into_iter()
                    .any(has),
            })
        };
        // SAFETY: Types; Counted; Main thread.
        let count = unsafe { controller.getParameterCount() };
        (0..count.clamp(0, MOST_PARAMS)).filter_map(param).collect()
    }

    /// The value in its unit.
    pub fn plain(&self, id: u32, value: f64) -> f64 {
        // SAFETY: Types; Counted; Main thread.
        let plain = |controller: &ComPtr<IEditController>| unsafe {
            controller.normalizedParamToPlain(id, value)
        };
        self.controller.as_ref().map_or(value, plain)
    }

    /// The value in words.
    pub fn label(&self, id: u32, value: f64) -> Option<String> {
        let mut label: String128 = [0; 128];
        let controller = self.controller.as_ref()?;
        // SAFETY: Types; Counted; Main thread.
        let found = unsafe { controller.getParamStringByValue(id, value, &raw mut label) };
        Some(text(&label)).filter(|label| found == kResultOk && !label.is_empty())
    }

    /// The value that the controller has.
    pub fn value(&self, id: u32) -> f64 {
        // SAFETY: Types; Counted; Main thread.
        let value =
            |controller: &ComPtr<IEditController>| unsafe { controller.getParamNormalized(id) };
        self.controller.as_ref().map_or(0.0, value)
    }

    /// Sets the value that the controller has. The processor gets it with its next run.
    pub fn set_value(&mut self, id: u32, value: f64) {
        if let Some(controller) = &self.controller {
            // SAFETY: Types; Counted; Main thread.
            unsafe { controller.setParamNormalized(id, value) };
        }
    }

    /// The parameter that a controller of MIDI moves, on a channel.
    pub fn midi_param(&self, channel: i16, controller: i16) -> Option<u32> {
        let mapping: ComPtr<IMidiMapping> = self.controller.as_ref()?.cast()?;
        let mut id = 0;
        // SAFETY: Types; Counted; Main thread.
        let found =
            unsafe { mapping.getMidiControllerAssignment(0, channel, controller, &raw mut id) };
        (found == kResultOk).then_some(id)
    }

    /// Whether it knows [`Instance::midi_param`].
    pub fn maps_midi(&self) -> bool {
        self.controller
            .as_ref()
            .is_some_and(|controller| controller.cast::<IMidiMapping>().is_some())
    }

    /// Prepares it for a rate.
    pub fn set_up(&mut self, rate_hz: u32) -> bool {
        let mut setup = ProcessSetup {
            processMode: kRealtime as i32,
            symbolicSampleSize: kSample32 as i32,
            maxSamplesPerBlock: LONGEST_RUN as i32,
            sampleRate: f64::from(rate_hz),
        };
        // SAFETY: Types; Counted; Main thread: it is not active.
        unsafe { self.processor.setupProcessing(&raw mut setup) == kResultOk }
    }

    /// `false`: it refuses.
    pub fn activate(&mut self) -> bool {
        // SAFETY: Types; Counted; Main thread.
        self.is_active = unsafe { self.component.setActive(1) } == kResultOk;
        self.is_active
    }

    /// It must not be processing.
    pub fn deactivate(&mut self) {
        if std::mem::take(&mut self.is_active) {
            // SAFETY: Types; Counted; Main thread.
            unsafe { self.component.setActive(0) };
        }
    }

    /// By how many frames its output is late.
    pub fn latency(&self) -> u32 {
        // SAFETY: Types; Counted; Main thread.
        unsafe { self.processor.getLatencySamples() }
    }

    /// How long it sounds after its input.
    pub fn tail(&self) -> u32 {
        // SAFETY: Types; Counted; Main thread.
        unsafe { self.processor.getTailSamples() }
    }

    /// The half that plays. `slots`: the parameters that may change, by id, with their values. So many changes and events
    /// find room in a run, and so many events that it sends.
    pub fn audio(
        &self,
        channels: (&[usize], &[usize]),
        slots: &[(u32, f64)],
        (changes, events, sent): (usize, usize, usize),
        rate_hz: u32,
    ) -> Audio {
        let lists = Lists::new(slots, changes, (events, sent));
        Audio::new(self.processor.clone(), channels, lists, rate_hz)
    }
}

/// The controller of a component, which is an object of its own.
fn controller(module: &Module, component: &ComPtr<IComponent>) -> Option<ComPtr<IEditController>> {
    let mut id: TUID = [0; 16];
    // SAFETY: Types; Counted; Main thread.
    let found = unsafe { component.getControllerClassId(&raw mut id) } == kResultOk;
    let id = id.map(|byte| byte as u8);
    let controller: ComPtr<IEditController> = module.make(id).filter(|_| found)?;
    // SAFETY: Types; Counted; Main thread.
    let ready = unsafe { controller.initialize(application()) } == kResultOk;
    Some(controller).filter(|_| ready)
}
