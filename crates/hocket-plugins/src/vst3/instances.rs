//! The instances of VST3 plug-ins, on their main thread.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::bundle::library_file;
use super::events::MidiMap;
use super::ffi::{Audio, BusSort, Buses, Flags, Instance, Module};
use super::main_thread::{is_main, on_main, post};
use super::params::{Scale, params_of};
use super::state::State;
use crate::description::Param;
use crate::extra::{Placed, offered};
use crate::layout::Layout;

/// Changes that find room in a run, beside two of each parameter. Of those that end notes there may be more.
pub const MOST_VALUES: usize = 1024;
/// Notes that find room in a run.
pub const MOST_NOTES: usize = 2048;

/// Events that it sends find room in a run: as many as in a block of the engine.
pub const MOST_SENT: usize = 1024;

/// Which plug-in, and for which rate.
#[derive(Debug, Clone)]
pub struct Order {
    bundle: PathBuf,
    id: String,
    pub rate_hz: u32,
}

impl Order {
    pub fn new(bundle: &Path, id: &str, rate_hz: u32) -> Order {
        Order { bundle: bundle.into(), id: id.into(), rate_hz }
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
    /// Channels of each input bus.
    pub inputs: Vec<usize>,
    /// Channels of each output bus.
    pub outputs: Vec<usize>,
    /// The main input bus, if there is one.
    pub main_input: Option<usize>,
    /// The input bus of the side chain.
    pub key_input: Option<usize>,
    /// The main output bus.
    pub main_output: Option<usize>,
    /// The other output buses, as far as tracks can play them.
    pub extra: Vec<Placed>,
    pub params: Vec<Param>,
    /// Of each parameter.
    pub scales: Vec<Scale>,
    /// Whether it takes notes.
    pub events: bool,
    /// Whether it sends notes.
    pub sends: bool,
    pub midi: MidiMap,
    pub state: bool,
}

impl Facts {
    /// Whether these are its audio buses.
    fn has_buses(&self, buses: &Buses) -> bool {
        self.inputs == channels(&buses.inputs) && self.outputs == channels(&buses.outputs)
    }

    /// That the rows, which are made for these, still fit.
    fn check_buses(&self, instance: &Instance) -> Result<(), String> {
        let fit = self.has_buses(&instance.buses()?);
        if fit { Ok(()) } else { Err("it changes its ports with its values".into()) }
    }

    /// Whether another instance has the same buses.
    pub fn fits(&self, other: &Facts) -> bool {
        self.inputs == other.inputs && self.outputs == other.outputs
    }
}

/// Why a state is refused.
pub const OTHER_PORTS: &str = "its state asks for other ports";

/// The audio half of an instance. A drop ends the instance, on its main thread.
pub struct Voice {
    pub number: u64,
    pub audio: Option<Audio>,
    pub flags: Arc<Flags>,
    pub facts: Arc<Facts>,
    pub latency: u32,
    pub tail: u64,
}

impl Drop for Voice {
    fn drop(&mut self) {
        let (number, audio) = (self.number, self.audio.take());
        let end = move |instances: &mut Instances| instances.end(number, audio);
        match is_main() {
            true => post(end),
            // Waits, so that a program does not end while a plug-in does.
            false => drop(on_main(end)),
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
    /// Libraries stay loaded.
    modules: HashMap<PathBuf, Module>,
    instances: HashMap<u64, Playing>,
    next: u64,
}

/// An instance whose audio half is elsewhere.
struct Playing {
    instance: Instance,
    id: String,
    flags: Arc<Flags>,
    /// The latency with which it was activated. `None`: it has been asked for a restart.
    first: Option<u32>,
}

impl Instances {
    fn module(&mut self, bundle: &Path) -> Result<&Module, String> {
        if !self.modules.contains_key(bundle) {
            let module = Module::load(&library_file(bundle)?)?;
            self.modules.insert(bundle.into(), module);
        }
        self.modules.get(bundle).ok_or_else(|| "it is not loaded".into())
    }

    /// The ids of the plug-ins of a bundle, in its order.
    pub fn ids(&mut self, bundle: &Path) -> Result<Vec<String>, String> {
        let classes = self.module(bundle)?.classes();
        Ok(classes.into_iter().map(|class| shown(class.id)).collect())
    }

    /// The name of a plug-in.
    pub fn title(&mut self, order: &Order) -> Option<String> {
        let classes = self.module(&order.bundle).ok()?.classes();
        let class = classes.into_iter().find(|class| shown(class.id) == order.id);
        class.map(|class| class.title).filter(|title| !title.is_empty())
    }

    /// Makes an instance, sets it up and activates it.
    pub fn make(
        &mut self,
        order: &Order,
        values: &Values,
        state: Option<&[u8]>,
    ) -> Result<Voice, String> {
        let module = self.module(&order.bundle)?;
        let id = number(&order.id).ok_or("its id is not 32 hexadecimal digits")?;
        let flags = Arc::new(Flags::default());
        let mut instance = Instance::new(module, id, &flags)?;
        instance.arrange()?;
        let facts = Arc::new(facts(&instance)?);
        if let Some(state) = state {
            load(&mut instance, &order.id, state)?;
        }
        // A state may change buses, and the rows are made for these.
        if !facts.has_buses(&instance.buses()?) {
            return Err(OTHER_PORTS.into());
        }
        let extra = facts.extra.iter().map(|extra| extra.place);
        let outputs: Vec<usize> = facts.main_output.into_iter().chain(extra).collect();
        let inputs: Vec<usize> = facts.main_input.into_iter().chain(facts.key_input).collect();
        instance.use_buses(&inputs, &outputs)?;
        if !instance.set_up(order.rate_hz) {
            return Err(format!("it does not play at {} Hz: choose another rate", order.rate_hz));
        }
        let initial = set_values(&mut instance, &facts, values, state.is_some());
        facts.check_buses(&instance)?;
        let mut audio = audio(&instance, &facts, order.rate_hz);
        start(&mut instance, &mut audio, &initial, &facts, &flags)?;
        let latency = instance.latency();
        flags.set_latency(latency);
        let tail = match instance.tail() {
            u32::MAX => u64::MAX,
            frames => u64::from(frames),
        };
        self.next += 1;
        let number = self.next;
        let id = order.id.clone();
        let playing = Playing { instance, id, flags: Arc::clone(&flags), first: Some(latency) };
        self.instances.insert(number, playing);
        Ok(Voice { number, audio: Some(audio), flags, facts, latency, tail })
    }

    /// Deactivates and destroys an instance.
    pub fn end(&mut self, number: u64, audio: Option<Audio>) {
        let playing = self.instances.remove(&number);
        if let Some(mut audio) = audio {
            // Its audio thread is gone, so this one takes the role.
            audio.set_processing(false);
        }
        drop(playing);
    }

    /// Reads the latency again. A plug-in that says that it has another one, and goes on with the old one, shows the new one
    /// only when it is made anew.
    pub fn call(&mut self, number: u64) {
        if let Some(Playing { instance, flags, first, .. }) = self.instances.get_mut(&number) {
            let latency = instance.latency();
            // Once, as some say it twice, or say it late of the latency that they began with.
            if flags.take_latency_due()
                && latency == flags.latency()
                && first.take_if(|first| *first == latency).is_some()
            {
                flags.ask_restart();
            }
            flags.set_latency(latency);
        }
    }

    /// The state of an instance; `None`: it has none.
    pub fn save(&mut self, number: u64) -> Result<Option<Vec<u8>>, String> {
        let Playing { instance, id, .. } =
            self.instances.get(&number).ok_or("the plug-in is gone")?;
        let Some(component) = instance.component_state()? else { return Ok(None) };
        let state = State { id: id.clone(), component, controller: instance.controller_state() };
        Ok(Some(state.to_bytes()))
    }
}

/// 32 hexadecimal digits.
fn shown(id: [u8; 16]) -> String {
    id.iter().map(|byte| format!("{byte:02X}")).collect()
}

fn number(id: &str) -> Option<[u8; 16]> {
    let digits = id.as_bytes();
    if digits.len() != 32 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u128::from_str_radix(id, 16).ok().map(u128::to_be_bytes)
}

fn channels(buses: &[(BusSort, usize)]) -> Vec<usize> {
    buses.iter().map(|(_, channels)| *channels).collect()
}

fn facts(instance: &Instance) -> Result<Facts, String> {
    let buses = instance.buses()?;
    let first = |buses: &[(BusSort, usize)], wanted: BusSort| {
        buses.iter().position(|(sort, _)| *sort == wanted)
    };
    let main_input = first(&buses.inputs, BusSort::Main);
    let key_input = first(&buses.inputs, BusSort::Aux);
    let main_output = first(&buses.outputs, BusSort::Main);
    let (inputs, outputs) = (channels(&buses.inputs), channels(&buses.outputs));
    let of = |channels: &[usize], bus: Option<usize>| bus.map_or(0, |bus| channels[bus]);
    let layout = Layout {
        inputs: of(&inputs, main_input),
        outputs: of(&outputs, main_output),
        side_chain: of(&inputs, key_input),
    };
    let names = instance.output_names(outputs.len()).into_iter().zip(&outputs).enumerate();
    let others = names.filter(|(bus, _)| Some(*bus) != main_output);
    let extra = offered(&layout, others.map(|(bus, (name, channels))| (bus, name, *channels)));
    let (params, scales): (Vec<Param>, Vec<Scale>) = params_of(instance).into_iter().unzip();
    let (events, sends) = (instance.takes_events(), instance.sends_events());
    let midi = if events { midi_map(instance, &params) } else { MidiMap::default() };
    let state = instance.component_state().is_ok_and(|state| state.is_some());
    Ok(Facts {
        layout,
        inputs,
        outputs,
        main_input,
        key_input,
        main_output,
        extra,
        params,
        scales,
        events,
        sends,
        midi,
        state,
    })
}

/// Which parameters the controllers of MIDI move. Those that no session can set get places behind the others.
fn midi_map(instance: &Instance, params: &[Param]) -> MidiMap {
    let mut map = MidiMap::default();
    if !instance.maps_midi() {
        return map;
    }
    let mut known: HashMap<u32, usize> =
        params.iter().enumerate().map(|(slot, param)| (param.id, slot)).collect();
    for (channel, controller) in MidiMap::places() {
        let Some(id) = instance.midi_param(channel, controller) else { continue };
        let next = params.len() + map.others.len();
        let slot = *known.entry(id).or_insert(next);
        if slot == next {
            map.others.push(id);
        }
        map.set(channel, controller, slot);
    }
    map
}

fn load(instance: &mut Instance, id: &str, bytes: &[u8]) -> Result<(), String> {
    let state = State::from_bytes(bytes)?;
    if state.id != id {
        return Err(format!("the state is that of the plug-in vst3:{}", state.id));
    }
    match instance.load(&state.component, state.controller.as_deref()) {
        true => Ok(()),
        false => Err("the plug-in refuses the state".into()),
    }
}

/// The values that are to be set.
#[derive(Default)]
struct Initial {
    /// Places and values from 0 to 1.
    changes: Vec<(usize, f64)>,
    /// Whether any is another one than before.
    differ: bool,
}

/// Tells the controller the values that are to be set, and returns them.
fn set_values(instance: &mut Instance, facts: &Facts, values: &Values, has_state: bool) -> Initial {
    let mut initial = Initial::default();
    let Values::Given(values) = values else { return initial };
    for (slot, (param, value)) in facts.params.iter().zip(values).enumerate() {
        if value.is_nan() {
            continue;
        }
        let value = param.fit(*value, 0);
        let normalized = facts.scales[slot].normalized(value);
        // What a plug-in begins with is not always what it calls the default.
        if !has_state || value != param.default {
            initial.differ |= normalized != instance.value(param.id);
            instance.set_value(param.id, normalized);
            initial.changes.push((slot, normalized));
        }
    }
    initial
}

fn audio(instance: &Instance, facts: &Facts, rate_hz: u32) -> Audio {
    let ids = facts.params.iter().map(|param| param.id).chain(facts.midi.others.iter().copied());
    let slots: Vec<(u32, f64)> = ids.map(|id| (id, instance.value(id))).collect();
    let changes = MOST_VALUES + 2 * slots.len() + crate::END_EVENTS;
    let events = if facts.events { 2 * MOST_NOTES + crate::END_EVENTS } else { 0 };
    let sent = if facts.sends { MOST_SENT } else { 0 };
    instance.audio((&facts.inputs, &facts.outputs), &slots, (changes, events, sent), rate_hz)
}

/// Activates it, and sends it its values. If its latency depends on them, it is activated once more.
fn start(
    instance: &mut Instance,
    audio: &mut Audio,
    initial: &Initial,
    facts: &Facts,
    flags: &Flags,
) -> Result<(), String> {
    activate(instance, audio)?;
    facts.check_buses(instance)?;
    // What it asked for up to here, it has got.
    flags.take_latency_asked();
    flags.take_restart();
    send(instance, audio, initial);
    if flags.take_latency_asked() | flags.take_restart() {
        audio.set_processing(false);
        instance.deactivate();
        facts.check_buses(instance)?;
        activate(instance, audio)?;
        flags.take_latency_asked();
        flags.take_restart();
    }
    flags.take_latency_due();
    facts.check_buses(instance)
}

fn activate(instance: &mut Instance, audio: &mut Audio) -> Result<(), String> {
    if !instance.activate() {
        return Err("it does not activate".into());
    }
    audio.set_processing(true);
    Ok(())
}

/// Sends it its values in a run without sound, as VST3 has it. Some plug-ins take no values there; they would save a state
/// without them. So they get a frame of silence, and then a reset.
fn send(instance: &Instance, audio: &mut Audio, initial: &Initial) {
    if initial.changes.is_empty() {
        return;
    }
    let state = || instance.component_state().ok().flatten();
    let before = state().filter(|_| initial.differ);
    for (slot, value) in &initial.changes {
        audio.lists.change(*slot, 0, *value, usize::MAX);
    }
    audio.process(0, None, 0);
    if before.is_some() && before == state() {
        audio.process(1, None, 0);
        audio.set_processing(false);
        audio.set_processing(true);
    }
    // They stay in the list, and come with the first run again.
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_hexadecimal() {
        let id = "0123456789ABCDEF0123456789ABCDEF";
        assert_eq!(shown(number(id).unwrap()), id);
        assert_eq!(number("0123"), None);
        assert_eq!(number(&"+".repeat(32)), None);
    }
}
