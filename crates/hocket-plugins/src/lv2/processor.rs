//! An LV2 plug-in as a processor.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use hocket_dsp::host::{
    BackgroundWork, Host, MainRequests, MainSide, NoState, StateError, WorkAnswers, WorkRequests,
    WorkRoom,
};
use hocket_dsp::{Block, Change, Processor, StereoMut, StereoRef};
use hocket_time::{Event, EventBuffer, EventKind};

use super::events::{Sequence, Song, Urids, Written, offer};
use super::ffi::{Bundle, Instance, Shared, Terms};
use super::fixed::Fixed;
use super::ports::Ports;
use super::state::State;
use crate::changes::{At, Changes, of_block};
use crate::extra::put;
use crate::isolate::Hosted;
use crate::sent::{Sent, send_midi};
use crate::song::SongClock;
use crate::{LONGEST_RUN, NOMINAL_RUN};

/// Frames after which a latency port has its value.
const LATENCY_RUN: usize = 256;
/// The most latency that is believed.
const MOST_LATENCY_FRAMES: f32 = 10_000_000.0;
/// Room for a plug-in's background work. LV2 promises that work is answered, and a plug-in may wait for that.
const ROOM: WorkRoom = WorkRoom { messages: 64, bytes: 16 * 1024 + 8, outlives_reset: true };
/// A plug-in that requires this feature gets its blocks whole.
const WHOLE_BLOCKS: &str = "http://lv2plug.in/ns/ext/buf-size#coarseBlockLength";
/// One that requires one of these gets runs of one length, which is a power of 2.
const FIXED_BLOCKS: [&str; 2] = [
    "http://lv2plug.in/ns/ext/buf-size#fixedBlockLength",
    "http://lv2plug.in/ns/ext/buf-size#powerOf2BlockLength",
];
/// One that requires this feature is nothing without the state that its data describe.
const DEFAULT_STATE: &str = "http://lv2plug.in/ns/ext/state#loadDefaultState";

/// What is needed to make instances of a plug-in.
pub struct Plan {
    bundle: Bundle,
    uri: String,
    rate_hz: u32,
    pub ports: Ports,
    whole_blocks: bool,
    /// The length of every run, where the plug-in requires one.
    fixed: Option<usize>,
    /// With which it begins where no other one is given.
    default_state: Option<State>,
}

impl Plan {
    /// # Errors
    /// A port that Hocket cannot serve.
    pub fn new(bundle: Bundle, uri: &str, rate_hz: u32) -> Result<Plan, String> {
        let ports = Ports::of(&bundle.ports(uri))?;
        let required = bundle.required_features(uri);
        let requires = |wanted: &str| required.iter().any(|feature| feature == wanted);
        let default_state = match requires(DEFAULT_STATE) {
            false => None,
            true => match bundle.default_state(uri) {
                Some(entries) => Some(State { entries }),
                None => return Err("its default state cannot be read".into()),
            },
        };
        let fixed = FIXED_BLOCKS.into_iter().any(requires).then_some(NOMINAL_RUN);
        let whole_blocks = fixed.is_some() || requires(WHOLE_BLOCKS);
        Ok(Plan { bundle, uri: uri.into(), rate_hz, ports, whole_blocks, fixed, default_state })
    }

    /// The default of each parameter.
    pub fn defaults(&self) -> Vec<f32> {
        self.fitted(&self.ports.params.iter().map(|p| p.default_value()).collect::<Vec<_>>())
    }

    /// Values held within their ranges. Those that are missing are the defaults.
    fn fitted(&self, values: &[f32]) -> Vec<f32> {
        let params = self.ports.params.iter().enumerate();
        let value = |index| values.get(index).copied().filter(|value: &f32| !value.is_nan());
        params
            .map(|(index, param)| {
                param.fit(value(index).unwrap_or_else(|| param.default_value()), self.rate_hz)
            })
            .collect()
    }

    fn instance(&self, values: &[f32], state: Option<&State>) -> Result<Instance, String> {
        let state = state.or(self.default_state.as_ref());
        let wired = (self.ports.wires.as_slice(), self.ports.memory(values));
        let terms = Terms { rate_hz: self.rate_hz, run: self.fixed };
        Instance::new(&self.bundle, &self.uri, terms, wired, state)
    }

    fn instances(&self, values: &[f32], state: Option<&State>) -> Result<Vec<Instance>, String> {
        (0..self.ports.layout.instances()).map(|_| self.instance(values, state)).collect()
    }

    /// The latency. Runs an instance for a moment and reads its latency port, if it has one.
    ///
    /// # Errors
    /// It makes no instance.
    pub fn latency(&self, values: &[f32], state: Option<&State>) -> Result<u32, String> {
        if self.ports.latency.is_none() {
            return Ok(self.late());
        }
        let mut instance = self.instance(&self.fitted(values), state)?;
        let urids = Urids::new();
        self.offer_outputs(&urids, &mut instance);
        self.write_inputs(&mut instance, |buffer, _| {
            Sequence::new(urids, buffer);
        });
        instance.run(self.fixed.unwrap_or(LATENCY_RUN), &mut None);
        Ok(self.latency_of(&mut instance))
    }

    fn latency_of(&self, instance: &mut Instance) -> u32 {
        let frames = self.ports.latency.map_or(0.0, |port| instance.memory().controls.get()[port]);
        frames.clamp(0.0, MOST_LATENCY_FRAMES).round() as u32 + self.late()
    }

    /// By how much sound is late that waits for a run.
    pub fn late(&self) -> u32 {
        self.fixed.map_or(0, |frames| frames as u32)
    }

    fn offer_outputs(&self, urids: &Urids, instance: &mut Instance) {
        let buffers = instance.memory().atoms.iter_mut().zip(&self.ports.atoms);
        for (buffer, _) in buffers.filter(|(_, atom)| !atom.is_input) {
            offer(urids, buffer.bytes_mut());
        }
    }

    fn write_inputs(&self, instance: &mut Instance, mut write: impl FnMut(&mut [u8], usize)) {
        let buffers = instance.memory().atoms.iter_mut().zip(&self.ports.atoms).enumerate();
        for (index, (buffer, _)) in buffers.filter(|(_, (_, atom))| atom.is_input) {
            write(buffer.bytes_mut(), index);
        }
    }
}

/// Plays a plug-in.
pub struct Lv2Processor {
    plan: Arc<Plan>,
    urids: Urids,
    instances: Vec<Instance>,
    values: Vec<f32>,
    changes: Changes,
    /// Of a plug-in that requires runs of one length.
    fixed: Option<Box<Fixed>>,
    known: Arc<Known>,
    requests: Option<Box<dyn WorkRequests>>,
    main: Option<Box<dyn MainRequests>>,
    latency: u32,
    /// Events of this block that found no room.
    lost: u64,
    sent: Sent,
    /// Where the song goes on, if nothing happens.
    expected: Option<Song>,
}

impl Lv2Processor {
    /// # Errors
    /// It makes no instance, or refuses the state.
    pub fn new(
        plan: Arc<Plan>,
        values: &[f32],
        state: Option<State>,
    ) -> Result<Lv2Processor, String> {
        let values = plan.fitted(values);
        let latency = plan.latency(&values, state.as_ref())?;
        // What waits for a run is late with its sound.
        plan.ports.layout.check_latency(latency - plan.late())?;
        let instances = plan.instances(&values, state.as_ref())?;
        let known = Arc::new(Known::default());
        known.add(&instances);
        let changes = Changes::new(values.len(), plan.whole_blocks);
        let extra_rows = plan.ports.extra_rows().count();
        let sends = plan.ports.sends.is_some();
        let fixed = plan.fixed.map(|length| Box::new(Fixed::new(length, extra_rows, sends)));
        let (urids, requests, main, expected) = (Urids::new(), None, None, None);
        Ok(Lv2Processor {
            plan,
            urids,
            instances,
            values,
            changes,
            fixed,
            known,
            requests,
            main,
            latency,
            lost: 0,
            sent: Sent::default(),
            expected,
        })
    }

    fn set(&mut self, index: usize, value: f32) {
        let Some(param) = self.plan.ports.params.get(index) else { return };
        let (port, value) = (param.id as usize, param.fit(value, self.plan.rate_hz));
        self.values[index] = value;
        for instance in &mut self.instances {
            instance.memory().controls.get_mut()[port] = value;
        }
    }

    fn apply(&mut self, block_start: bool) {
        let mut changes = std::mem::replace(&mut self.changes, Changes::new(0, false));
        changes.take(block_start, |index, value| self.set(index, value));
        self.changes = changes;
    }

    /// One run of the plug-in: frames `at` to `end` of the block.
    fn run(&mut self, block: &mut Block<'_>, (at, end): (usize, usize), song: Option<&Song>) {
        let key = block.side_chain.map(|key| key.part(at, end));
        let heard = Heard { at, end, events: block.received(), buffer: block.events_in };
        let mut main = block.main.part(at, end);
        let plan = Arc::clone(&self.plan);
        // Two instances get the same events, so the last one's count is that of each.
        let mut lost = 0;
        for index in 0..self.instances.len() {
            lost = self.feed(&plan, index, (&main, key), (&heard, song));
        }
        self.lost += lost;
        for instance in &mut self.instances {
            instance.run(end - at, &mut self.requests);
        }
        for (index, instance) in self.instances.iter_mut().enumerate() {
            for (channel, row) in plan.ports.outputs.iter().enumerate() {
                let from = &instance.memory().audio[*row].get()[..end - at];
                plan.ports.layout.put(index, channel, from, &mut main);
            }
        }
        self.send(block, (at, end));
        // Two instances have no extra outputs.
        if let Some(instance) = self.instances.first_mut() {
            let memory = instance.memory();
            let rows = plan.ports.extra_rows().map(|row| &memory.audio[row].get()[..end - at]);
            put(&mut block.more, (at, end), rows);
        }
        self.changes.pass(end - at);
    }

    /// Sends what the plug-in wrote in a run.
    fn send(&mut self, block: &mut Block<'_>, (at, end): (usize, usize)) {
        let (Some(out), Some(atom)) = (&mut block.events_out, self.plan.ports.sends) else {
            return;
        };
        let Some(instance) = self.instances.first_mut() else { return };
        let mut out = out.part(at, end);
        for (frame, message) in Written::new(&self.urids, instance.memory().atoms[atom].bytes()) {
            send_midi(&mut out, frame, message);
        }
    }

    /// Returns how many events found no room.
    fn feed(
        &mut self,
        plan: &Plan,
        index: usize,
        (main, key): (&StereoMut<'_>, Option<StereoRef<'_>>),
        (heard, song): (&Heard<'_>, Option<&Song>),
    ) -> u64 {
        let (urids, layout) = (self.urids, plan.ports.layout);
        let instance = &mut self.instances[index];
        let mut missing = 0;
        let from = StereoRef { left: main.left, right: main.right };
        for (channel, row) in plan.ports.inputs.iter().enumerate() {
            let into = &mut instance.memory().audio[*row].get_mut()[..from.left.len()];
            layout.feed(index, channel, from, into);
        }
        for (channel, row) in plan.ports.side_chain.iter().enumerate() {
            let into = &mut instance.memory().audio[*row].get_mut()[..from.left.len()];
            layout.feed_key(index, channel, key, into);
        }
        plan.offer_outputs(&urids, instance);
        plan.write_inputs(instance, |buffer, atom| {
            let mut sequence = Sequence::new(urids, buffer);
            if plan.ports.time == Some(atom) {
                song.into_iter().for_each(|song| sequence.position(song));
            }
            if plan.ports.midi == Some(atom) {
                missing = heard.write(&mut sequence);
            }
        });
        missing
    }

    /// Where the song is, if the plug-in does not know it yet.
    fn news(&mut self, clock: Option<SongClock<'_>>, frames: usize) -> Option<Song> {
        let clock = clock.filter(|_| self.plan.ports.time.is_some())?;
        let song = Song::at(&clock.at(0));
        let known = self.expected == Some(song);
        self.expected = Some(Song::at(&clock.at(frames as u32)));
        (!known).then_some(song)
    }

    /// The block of a plug-in whose runs have one length. Changes take effect at the start of the next run.
    fn process_fixed(
        &mut self,
        fixed: &mut Fixed,
        block: &mut Block<'_>,
        song: Option<SongClock<'_>>,
    ) {
        let frames = block.frames();
        let song = song.filter(|_| self.plan.ports.time.is_some());
        let mut next = of_block(block.events, block.received()).peekable();
        let mut at = 0;
        while at < frames {
            while let Some(change) = next.next_if(|change| change.frame as usize <= at) {
                self.changes.wait(change.index, change.value);
            }
            if fixed.is_empty() {
                self.apply(true);
                let point = song.and_then(|song| song.known_at(at as u32));
                fixed.song = point.as_ref().map(Song::at);
            }
            let end = at + fixed.room(frames - at);
            self.lost += fixed.exchange(block, (at, end));
            if fixed.is_full() {
                let run = (0, fixed.length());
                fixed.run(|waiting, song| self.run(waiting, run, song.as_ref()));
            }
            at = end;
        }
        next.for_each(|change| self.changes.wait(change.index, change.value));
    }

    fn report_lost(&mut self) {
        let lost = std::mem::take(&mut self.lost);
        if lost > 0 {
            self.main.iter_mut().for_each(|main| main.events_lost(lost));
        }
    }

    fn report_latency(&mut self) {
        if self.plan.ports.latency.is_none() {
            return;
        }
        let plan = &self.plan;
        let now = self.instances.iter_mut().map(|instance| plan.latency_of(instance)).max();
        let now = now.unwrap_or(0);
        if now != self.latency {
            self.latency = now;
            self.main.iter_mut().for_each(|main| main.latency_changed(now));
        }
    }
}

impl Hosted for Lv2Processor {
    fn process_told(&mut self, block: &mut Block<'_>, song: Option<SongClock<'_>>) {
        self.sent.begin(block.events_out.as_mut());
        if let Some(mut fixed) = self.fixed.take() {
            self.process_fixed(&mut fixed, block, song);
            self.fixed = Some(fixed);
        } else {
            self.process_runs(block, song);
        }
        self.sent.finish(block.events_out.as_ref());
        self.report_lost();
        self.report_latency();
    }
}

impl Lv2Processor {
    /// The block of a plug-in whose runs may have any length.
    fn process_runs(&mut self, block: &mut Block<'_>, song: Option<SongClock<'_>>) {
        let frames = block.frames();
        let mut song = self.news(song, frames);
        let mut next = of_block(block.events, block.received()).peekable();
        let mut at = 0;
        while at < frames {
            while let Some(change) = next.next_if(|change| change.frame as usize <= at) {
                self.changes.wait(change.index, change.value);
            }
            self.apply(at == 0);
            let change = next.peek().map(|change: &At| change.frame as usize - at);
            let end = at + self.changes.run((frames - at).min(LONGEST_RUN), change);
            self.run(block, (at, end), song.take().as_ref());
            at = end;
        }
        next.for_each(|change| self.changes.wait(change.index, change.value));
    }
}

impl Processor for Lv2Processor {
    fn process(&mut self, block: &mut Block<'_>) {
        let song = block.time.map(SongClock::Block);
        self.process_told(block, song);
    }

    fn join(&mut self, host: &mut dyn Host) {
        if self.instances.iter().any(|instance| instance.shared().works()) {
            let work = Box::new(Work { known: Arc::clone(&self.known) });
            self.requests = Some(host.background(work, ROOM));
        }
        let (plan, known) = (Arc::clone(&self.plan), Arc::clone(&self.known));
        let values = self.values.clone();
        self.main = Some(host.main_side(Box::new(Side { plan, known, values })));
    }

    fn answered(&mut self, answer: &[u8]) {
        for instance in &mut self.instances {
            if instance.answered(answer, &mut self.requests) {
                return;
            }
        }
    }

    fn exchange(&mut self, new: &mut (dyn Any + Send)) {
        if let Some(instances) = new.downcast_mut::<Vec<Instance>>() {
            std::mem::swap(&mut self.instances, instances);
            for index in 0..self.values.len() {
                self.set(index, self.values[index]);
            }
            self.expected = None;
            self.sent.end();
        }
    }

    fn reset(&mut self) {
        self.apply(true);
        self.changes.reset();
        self.instances.iter_mut().for_each(Instance::reset);
        self.fixed.iter_mut().for_each(|fixed| fixed.reset());
        self.sent.end();
        self.expected = None;
    }

    fn preset(&mut self, change: Change) {
        let Change::Param { index, value } = change;
        if !value.is_nan() {
            self.set(usize::from(index), value);
        }
    }

    /// One that sends keeps time, so that its notes end where the song stops or jumps.
    fn keeps_time(&self) -> bool {
        self.plan.ports.time.is_some() || self.plan.ports.sends.is_some()
    }

    fn latency_frames(&self) -> u32 {
        self.latency
    }
}

/// The events of a run.
struct Heard<'a> {
    at: usize,
    end: usize,
    events: &'a [Event],
    buffer: Option<&'a EventBuffer>,
}

impl Heard<'_> {
    /// Returns how many found no room.
    fn write(&self, sequence: &mut Sequence<'_>) -> u64 {
        let mut lost = 0;
        let run = |frame: u32| (self.at..self.end).contains(&(frame as usize));
        for event in self.events.iter().filter(|event| run(event.frame)) {
            let sysex = match (&event.kind, self.buffer) {
                (EventKind::SysEx(message), Some(buffer)) => buffer.sysex(*message),
                _ => &[],
            };
            let fits = sequence.event(event.frame - self.at as u32, &event.kind, sysex);
            lost += u64::from(!fits);
        }
        lost
    }
}

/// The instances that there are: the processor's, and those that a state was loaded into. The lock is for threads that
/// are not of real time; the processor itself does not look.
#[derive(Default)]
struct Known(Mutex<Vec<Weak<Shared>>>);

impl Known {
    fn add(&self, instances: &[Instance]) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|instance| instance.strong_count() > 0);
        known.extend(instances.iter().map(|instance| Arc::downgrade(instance.shared())));
    }

    fn all(&self) -> Vec<Arc<Shared>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().filter_map(Weak::upgrade).collect()
    }
}

/// Does what the plug-in's worker has to do.
struct Work {
    known: Arc<Known>,
}

impl BackgroundWork for Work {
    fn work(&mut self, request: &[u8], answers: &mut dyn WorkAnswers) {
        // Each looks whether the request is its own.
        self.known.all().iter().for_each(|instance| instance.work(request, answers));
    }
}

/// Saves and loads.
struct Side {
    plan: Arc<Plan>,
    known: Arc<Known>,
    values: Vec<f32>,
}

impl MainSide for Side {
    /// Two instances get the same values and events, so the newest one speaks for both.
    fn save(&mut self) -> Result<Vec<u8>, StateError> {
        let instances = self.known.all();
        let playing = instances.iter().filter(|instance| !instance.has_ended());
        let newest = playing.max_by_key(|instance| instance.number());
        let state = newest.map(|instance| instance.save()).transpose()?.flatten();
        Ok(state.ok_or(NoState)?.to_bytes())
    }

    fn load(&mut self, state: &[u8]) -> Result<Box<dyn Any + Send>, StateError> {
        let state = State::from_bytes(state)?;
        let instances = self.plan.instances(&self.values, Some(&state))?;
        self.known.add(&instances);
        Ok(Box::new(instances))
    }
}
