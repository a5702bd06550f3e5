//! The instances of CLAP plug-ins, on their main thread.

use std::collections::{HashMap, HashSet};
use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clack_extensions::audio_ports::{AudioPortInfoBuffer, PluginAudioPorts};
use clack_extensions::latency::PluginLatency;
use clack_extensions::note_ports::{NoteDialects, NotePortInfoBuffer, PluginNotePorts};
use clack_extensions::params::{ParamInfo, ParamInfoBuffer, ParamInfoFlags, PluginParams};
use clack_extensions::state::PluginState;
use clack_extensions::tail::PluginTail;
use clack_extensions::thread_pool::PluginThreadPool;
use clack_host::events::event_types::ParamValueEvent;
use clack_host::prelude::*;

use super::ffi;
use super::host::{Flags, Hocket, OfAnyThread, OfAudioThread, OfMainThread};
use super::main_thread::{Role, on_main, post, role};
use crate::LONGEST_RUN;
use crate::description::{Format, Param, Steps};
use crate::extra::{Placed, offered};
use crate::heard::heard;
use crate::layout::Layout;
use crate::names::{readable, unique};

/// The most channels that a plug-in may have, over all of its ports.
const MOST_CHANNELS: usize = 256;
/// Where a parameter has no finite limits.
const UNLIMITED: f32 = 1e6;

/// Which plug-in, and for which rate.
#[derive(Debug, Clone)]
pub struct Order {
    file: PathBuf,
    id: String,
    pub rate_hz: u32,
}

impl Order {
    pub fn new(file: &Path, id: &str, rate_hz: u32) -> Order {
        Order { file: file.into(), id: id.into(), rate_hz }
    }
}

/// Values of parameters.
#[derive(Debug, Clone)]
pub enum Values {
    /// What the plug-in begins with.
    Defaults,
    /// One for each parameter; missing ones are the defaults.
    Given(Vec<f32>),
}

/// What an instance says of itself.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    pub layout: Layout,
    /// Channels of each input port: main, side chain, others.
    pub inputs: Vec<usize>,
    /// Channels of each output port: main, others.
    pub outputs: Vec<usize>,
    /// Its output ports beside the first one, as far as tracks can play them.
    pub extra: Vec<Placed>,
    pub params: Vec<Param>,
    /// What its note input takes.
    pub notes: Option<NoteDialects>,
    /// Whether it sends events.
    pub sends: bool,
    pub state: bool,
}

impl Facts {
    /// Whether these are its audio ports.
    pub fn has_ports(&self, inputs: &[usize], outputs: &[usize]) -> bool {
        self.inputs == inputs && self.outputs == outputs
    }
}

/// Why a state is refused.
pub const OTHER_PORTS: &str = "its state asks for other ports";

/// The audio half of an instance. A drop ends the instance, on its main thread.
pub struct Voice {
    pub number: u64,
    pub processor: Option<PluginAudioProcessor<Hocket>>,
    pub flags: Arc<Flags>,
    pub facts: Arc<Facts>,
    pub latency: u32,
    pub tail: Option<PluginTail>,
    /// Whether it has tasks that several threads can run.
    pub pool: Option<PluginThreadPool>,
}

impl Drop for Voice {
    fn drop(&mut self) {
        let (number, processor) = (self.number, self.processor.take());
        let end = move |instances: &mut Instances| instances.end(number, processor);
        match role() {
            Role::Main => post(end),
            // Waits, so that a program does not end while a plug-in does.
            Role::Audio | Role::Pool | Role::Other => drop(on_main(end)),
        }
    }
}

/// Makes an instance, from any thread but the main one.
///
/// # Errors
/// What went wrong, for users.
pub fn make(order: &Order, values: &Values, state: Option<&[u8]>) -> Result<Voice, String> {
    let (order, values, state) = (order.clone(), values.clone(), state.map(<[u8]>::to_vec));
    on_main(move |instances| instances.make(&order, &values, state.as_deref()))?
}

/// All that the main thread keeps.
#[derive(Default)]
pub struct Instances {
    /// Files stay loaded.
    entries: HashMap<PathBuf, PluginEntry>,
    instances: HashMap<u64, Instance>,
    next: u64,
}

/// An instance.
struct Instance {
    /// As in a session.
    kind: String,
    plugin: PluginInstance<Hocket>,
    flags: Arc<Flags>,
}

impl Instance {
    /// Passes on what it has logged.
    fn tell_log(&self) {
        self.flags.log.take_news().iter().for_each(|line| heard(&self.kind, line));
    }
}

impl Instances {
    pub(super) fn entry(&mut self, file: &Path) -> Result<PluginEntry, String> {
        if let Some(entry) = self.entries.get(file) {
            return Ok(entry.clone());
        }
        let entry = ffi::load(file).map_err(|error| format!("it does not load: {error}"))?;
        self.entries.insert(file.into(), entry.clone());
        Ok(entry)
    }

    /// The ids of the plug-ins of a file, in its order.
    pub fn ids(&mut self, file: &Path) -> Result<Vec<String>, String> {
        let entry = self.entry(file)?;
        let factory = entry.get_plugin_factory().ok_or("it has no plug-ins")?;
        let ids = factory.plugin_descriptors().filter_map(|plugin| plugin.id());
        Ok(ids.map(|id| id.to_string_lossy().into_owned()).collect())
    }

    /// The name of a plug-in.
    pub fn title(&mut self, order: &Order) -> Option<String> {
        let entry = self.entry(&order.file).ok()?;
        let factory = entry.get_plugin_factory()?;
        let is_it = |id: &std::ffi::CStr| id.to_bytes() == order.id.as_bytes();
        let plugin = factory.plugin_descriptors().find(|plugin| plugin.id().is_some_and(is_it))?;
        plugin.name().map(|name| name.to_string_lossy().into_owned())
    }

    /// Makes an instance, sets it up and activates it.
    pub fn make(
        &mut self,
        order: &Order,
        values: &Values,
        state: Option<&[u8]>,
    ) -> Result<Voice, String> {
        let entry = self.entry(&order.file)?;
        let flags = Arc::new(Flags::default());
        let mut instance = instance(&entry, &order.id, &flags)?;
        let facts = Arc::new(facts(&mut instance)?);
        if let Some(state) = state {
            load(&mut instance, state)?;
        }
        set_values(&mut instance, &facts.params, values, state.is_some());
        // A plug-in may change its ports while it is not active, and its rows are made for these.
        let (inputs, outputs) = audio_ports(&mut instance)?;
        if !facts.has_ports(&inputs, &outputs) {
            let values = "its values ask for other ports";
            return Err(if state.is_some() { OTHER_PORTS } else { values }.into());
        }
        let audio = Arc::clone(&flags);
        let configuration = PluginAudioConfiguration {
            sample_rate: f64::from(order.rate_hz),
            min_frames_count: 1,
            max_frames_count: LONGEST_RUN as u32,
        };
        let activated = instance.activate(move |_, _| OfAudioThread(audio), configuration);
        let processor = activated.map_err(|error| format!("it does not activate: {error}"))?;
        if flags.take_callback() {
            instance.call_on_main_thread_callback();
        }
        let latency = latency(&mut instance);
        flags.set_latency(latency);
        let tail = instance.plugin_handle().get_extension::<PluginTail>();
        let pool = instance.plugin_handle().get_extension::<PluginThreadPool>();
        self.next += 1;
        let number = self.next;
        let kind = Format::Clap.kind(&order.id);
        let made = Instance { kind, plugin: instance, flags: Arc::clone(&flags) };
        made.tell_log();
        self.instances.insert(number, made);
        Ok(Voice { number, processor: Some(processor.into()), flags, facts, latency, tail, pool })
    }

    /// Deactivates and destroys an instance.
    pub fn end(&mut self, number: u64, processor: Option<PluginAudioProcessor<Hocket>>) {
        let Some(mut instance) = self.instances.remove(&number) else { return };
        if let Some(processor) = processor {
            // Its audio thread is gone, so this one takes the role.
            let stopped = super::main_thread::as_audio(|| processor.into_stopped());
            instance.plugin.deactivate(stopped);
        }
        instance.tell_log();
        match instance.flags.log.more() {
            0 => {}
            1 => heard(&instance.kind, "one more line, which is not shown"),
            more => heard(&instance.kind, &format!("{more} more lines, which are not shown")),
        }
    }

    /// Does what the plug-in asked for, and reads its latency again.
    pub fn call(&mut self, number: u64) {
        if let Some(instance) = self.instances.get_mut(&number) {
            if instance.flags.take_callback() {
                instance.plugin.call_on_main_thread_callback();
                instance.flags.set_latency(latency(&mut instance.plugin));
            }
            instance.tell_log();
        }
    }

    /// The state of an instance; `None`: it has none beside its parameters.
    pub fn save(&mut self, number: u64) -> Result<Option<Vec<u8>>, String> {
        let instance = self.instances.get_mut(&number).ok_or("the plug-in is gone")?;
        let handle = instance.plugin.plugin_handle();
        let Some(state) = handle.get_extension::<PluginState>() else { return Ok(None) };
        let mut bytes = Vec::new();
        state.save(&handle, &mut bytes).map_err(|error| error.to_string())?;
        Ok(Some(bytes))
    }
}

pub(super) fn instance(
    entry: &PluginEntry,
    id: &str,
    flags: &Arc<Flags>,
) -> Result<PluginInstance<Hocket>, String> {
    let refused = |error: &dyn std::fmt::Display| format!("it makes no instance: {error}");
    let info = host_info().map_err(|error| refused(&error))?;
    let id = CString::new(id).map_err(|error| refused(&error))?;
    let (any, main) = (Arc::clone(flags), Arc::clone(flags));
    PluginInstance::new(move |_| OfAnyThread(any), move |_| OfMainThread(main), entry, &id, &info)
        .map_err(|error| refused(&error))
}

/// What a plug-in learns of Hocket.
pub(super) fn host_info() -> Result<HostInfo, std::ffi::NulError> {
    HostInfo::new("Hocket", "The Hocket authors", "", env!("CARGO_PKG_VERSION"))
}

/// Channels of each audio port: inputs, outputs.
fn audio_ports(instance: &mut PluginInstance<Hocket>) -> Result<(Vec<usize>, Vec<usize>), String> {
    let handle = instance.plugin_handle();
    let ports = handle.get_extension::<PluginAudioPorts>();
    let channels = |is_input| -> Vec<usize> {
        let Some(ports) = ports else { return Vec::new() };
        let mut buffer = AudioPortInfoBuffer::new();
        let port = |index| {
            ports.get(&handle, index, is_input, &mut buffer).map(|port| port.channel_count as usize)
        };
        (0..ports.count(&handle, is_input).min(MOST_CHANNELS as u32)).filter_map(port).collect()
    };
    let (inputs, outputs) = (channels(true), channels(false));
    if inputs.iter().chain(&outputs).any(|channels| *channels > MOST_CHANNELS) {
        return Err("it has a port with more than 256 channels".into());
    }
    Ok((inputs, outputs))
}

/// The names of its output ports.
fn output_names(instance: &mut PluginInstance<Hocket>) -> Vec<String> {
    let handle = instance.plugin_handle();
    let Some(ports) = handle.get_extension::<PluginAudioPorts>() else { return Vec::new() };
    let mut buffer = AudioPortInfoBuffer::new();
    let name = |index| {
        let port = ports.get(&handle, index, false, &mut buffer)?;
        Some(String::from_utf8_lossy(port.name).into_owned())
    };
    (0..ports.count(&handle, false).min(MOST_CHANNELS as u32)).filter_map(name).collect()
}

pub(super) fn facts(instance: &mut PluginInstance<Hocket>) -> Result<Facts, String> {
    let (inputs, outputs) = audio_ports(instance)?;
    let names = output_names(instance);
    let handle = instance.plugin_handle();
    let of = |ports: &[usize], index: usize| ports.get(index).copied().unwrap_or(0);
    let layout =
        Layout { inputs: of(&inputs, 0), outputs: of(&outputs, 0), side_chain: of(&inputs, 1) };
    let ports = names.into_iter().zip(&outputs).enumerate().skip(1);
    let extra = offered(&layout, ports.map(|(port, (name, channels))| (port, name, *channels)));
    let note_ports = handle.get_extension::<PluginNotePorts>();
    let sends = note_ports.is_some_and(|ports| ports.count(&handle, false) > 0);
    let notes = note_ports.and_then(|ports| {
        let mut buffer = NotePortInfoBuffer::new();
        let any = ports.count(&handle, true) > 0;
        any.then(|| ports.get(&handle, 0, true, &mut buffer).map(|port| port.supported_dialects))?
    });
    let state = handle.get_extension::<PluginState>().is_some();
    let params = handle.get_extension::<PluginParams>();
    let params = params.map(|extension| params_of(&handle, extension)).unwrap_or_default();
    Ok(Facts { layout, inputs, outputs, extra, params, notes, sends, state })
}

/// Those that a session may set: neither hidden nor read-only, and not the bypass, which is Hocket's own.
fn params_of(handle: &PluginMainThreadHandle<'_>, extension: PluginParams) -> Vec<Param> {
    let hidden =
        ParamInfoFlags::IS_HIDDEN | ParamInfoFlags::IS_READONLY | ParamInfoFlags::IS_BYPASS;
    let (mut buffer, mut names) = (ParamInfoBuffer::new(), HashSet::new());
    let mut params = Vec::new();
    for index in 0..extension.count(handle) {
        let Some(info) = extension.get_info(handle, index, &mut buffer) else { continue };
        if !info.flags.intersects(hidden) {
            params.push(param(&info, &mut names));
        }
    }
    params
}

fn param(info: &ParamInfo<'_>, names: &mut HashSet<String>) -> Param {
    let title = String::from_utf8_lossy(info.name).into_owned();
    // What is no number is something that is one.
    let limit = |value: f64, or: f32| match value.is_nan() {
        true => or,
        false => (value as f32).clamp(-UNLIMITED, UNLIMITED),
    };
    let min = limit(info.min_value, 0.0);
    let max = limit(info.max_value, min).max(min);
    let stepped = info.flags.contains(ParamInfoFlags::IS_STEPPED);
    Param {
        name: unique(&readable(&title, info.id.get()), names),
        title,
        unit: String::new(),
        min,
        max,
        default: limit(info.default_value, min).clamp(min, max),
        per_rate: false,
        steps: if stepped { Steps::Whole } else { Steps::None },
        points: Vec::new(),
        id: info.id.get(),
    }
}

fn load(instance: &mut PluginInstance<Hocket>, bytes: &[u8]) -> Result<(), String> {
    let handle = instance.plugin_handle();
    let state: PluginState = handle.get_extension().ok_or("the plug-in has no state")?;
    let mut reader = bytes;
    state.load(&handle, &mut reader).map_err(|_| "the plug-in refuses the state".into())
}

/// Before the activation, so that the plug-in knows them in time for its latency.
fn set_values(
    instance: &mut PluginInstance<Hocket>,
    params: &[Param],
    values: &Values,
    has_state: bool,
) {
    let Values::Given(values) = values else { return };
    let Some(extension) = instance.plugin_handle().get_extension::<PluginParams>() else { return };
    let mut events = EventBuffer::new();
    for (param, value) in params.iter().zip(values) {
        let value = param.fit(*value, 0);
        if let Some(id) =
            ClapId::from_raw(param.id).filter(|_| !has_state || value != param.default)
        {
            events.push(&ParamValueEvent::new(0, id, Pckn::match_all(), f64::from(value)));
        }
    }
    if let Some(mut handle) = instance.inactive_plugin_handle() {
        let (from, mut to) = (InputEvents::from_buffer(&events), OutputEvents::void());
        extension.flush(&mut handle, &from, &mut to);
    }
}

fn latency(instance: &mut PluginInstance<Hocket>) -> u32 {
    let handle = instance.plugin_handle();
    handle.get_extension::<PluginLatency>().map_or(0, |latency| latency.get(&handle))
}
