//! Plug-ins that run on the audio threads, watched: one that spoils the sound again and again is reported and bypassed.
//!
//! [`Watch::over`] puts a processor around a plug-in. It keeps the input, times each call and looks at the output. What it
//! counts are its own plain fields. What it finds goes into atomic numbers, which control threads read
//! ([`Watch::findings`]). So a block neither locks nor allocates for it.
//!
//! # What is a fault
//! 1. [`Fault::NotFinite`]: the engine silences a block with NaN or infinity, and resets the plug-in. The fourth time is a
//!    fault, with less than a minute of sound in between, as for plug-ins in processes of their own.
//! 2. [`Fault::TooLong`]: calls take longer than their sound lasts. The sound of such calls, less that of the others, makes
//!    up a second. So an interruption is no fault, and many are none as long as they hit less than every second call.
//! 3. [`Fault::Subnormal`]: each call for ten seconds puts out subnormal numbers. Audio threads read these as zeros, so it
//!    is only reported.
//!
//! # What happens then
//! With [`OnFault::Bypass`], nobody calls the plug-in any more: its input passes, as late as its output was, and its extra
//! outputs are silent. If it sends events, those that it receives pass, too, and the notes that it has begun end. A reset from
//! outside tries it again, because the song begins anew.

use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, Weak};

use hocket_dsp::delay_line::DelayLine;
use hocket_dsp::finite::all_finite;
use hocket_dsp::host::Host;
use hocket_dsp::{Block, Change, EventSwitch, Processor, StereoRef};
use serde::Serialize;

use crate::isolate::{MOST_STARTS, WELL_S, lock};

/// How much longer a plug-in's latency may become with its dry signal as late, in frames.
const MORE_LATENCY: usize = 1 << 12;
/// The most latency that is believed, in frames.
const MOST_LATENCY: usize = 1 << 20;
/// The sound of calls that take too long, in seconds.
const TOO_LONG_S: u64 = 1;
/// The sound with subnormal numbers in each call, in seconds.
const SUBNORMAL_S: u64 = 10;

/// What a plug-in does again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// It puts out NaN or infinity.
    NotFinite,
    /// It takes longer than its sound lasts.
    TooLong,
    /// It puts out subnormal numbers.
    Subnormal,
}

impl Fault {
    const ALL: [Fault; 3] = [Fault::NotFinite, Fault::TooLong, Fault::Subnormal];

    fn bit(self) -> u32 {
        1 << self as u32
    }

    fn text(self) -> &'static str {
        match self {
            Fault::NotFinite => "puts out NaN or infinity again and again",
            Fault::TooLong => "takes longer than its sound lasts",
            Fault::Subnormal => "puts out subnormal numbers all the time",
        }
    }
}

/// What happens to a plug-in with a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFault {
    /// Its input passes, as late as its output was.
    Bypass,
    /// It plays on.
    Report,
}

/// Where blocks read the time.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    /// Called in blocks: it allocates nothing, waits for nothing and calls no system.
    pub now: fn() -> u64,
    /// How much it counts in a second.
    pub per_second: f64,
}

/// Watches plug-ins. Copies watch together.
#[derive(Debug, Clone)]
pub struct Watch {
    on_fault: OnFault,
    /// `None`: however long they take.
    clock: Option<Clock>,
    records: Arc<Mutex<Vec<Weak<Record>>>>,
}

/// What a plug-in does again and again, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The node's name: its strip and its kind.
    pub node: String,
    /// For people.
    pub title: String,
    /// At least one.
    pub faults: Vec<Fault>,
    /// Whether nobody calls it any more.
    pub bypassed: bool,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { node, title, faults, bypassed } = self;
        let faults: Vec<&str> = faults.iter().map(|fault| fault.text()).collect();
        write!(f, "plug-in '{node}' ({title}) {}", faults.join(", and "))?;
        if *bypassed { write!(f, "; bypassed: its input passes") } else { Ok(()) }
    }
}

/// What is known of a plug-in. Relaxed: each number stands for itself.
#[derive(Debug, Default)]
struct Record {
    node: Mutex<String>,
    title: String,
    /// By [`Fault::bit`].
    faults: AtomicU32,
    is_bypassed: AtomicBool,
}

impl Record {
    /// `None`: it has no fault, or has joined no engine.
    fn finding(&self) -> Option<Finding> {
        let bits = self.faults.load(Relaxed);
        let has = |fault: &Fault| bits & fault.bit() != 0;
        let finding = Finding {
            node: lock(&self.node).clone(),
            title: self.title.clone(),
            faults: Fault::ALL.into_iter().filter(has).collect(),
            bypassed: self.is_bypassed.load(Relaxed),
        };
        (!finding.faults.is_empty() && !finding.node.is_empty()).then_some(finding)
    }
}

impl Watch {
    /// Watches nothing yet. Without a clock, nothing takes too long.
    pub fn new(on_fault: OnFault, clock: Option<Clock>) -> Watch {
        Watch { on_fault, clock, records: Arc::default() }
    }

    /// The plug-in, watched. `title`: for people.
    ///
    /// Thread: control; allocates. Cost per block: two reads of the clock, and three passes over the rows.
    pub fn over(
        &self,
        plugin: Box<dyn Processor>,
        title: &str,
        rate_hz: u32,
    ) -> Box<dyn Processor> {
        Box::new(self.watched(plugin, title, rate_hz))
    }

    /// As [`Watch::over`], for a plug-in that sends events.
    ///
    /// Thread: control; allocates about 400 KiB more for a plug-in with latency.
    pub fn over_sender(
        &self,
        plugin: Box<dyn Processor>,
        title: &str,
        rate_hz: u32,
    ) -> Box<dyn Processor> {
        let latency = (plugin.latency_frames() as usize).min(MOST_LATENCY);
        let switch = Some(EventSwitch::new(latency, false));
        Box::new(Watched { switch, ..self.watched(plugin, title, rate_hz) })
    }

    fn watched(&self, plugin: Box<dyn Processor>, title: &str, rate_hz: u32) -> Watched {
        let record = Arc::new(Record { title: title.into(), ..Record::default() });
        let mut records = lock(&self.records);
        records.retain(|record| record.strong_count() > 0);
        records.push(Arc::downgrade(&record));
        let most_late = (plugin.latency_frames() as usize).min(MOST_LATENCY) + MORE_LATENCY;
        Watched {
            plugin,
            record,
            on_fault: self.on_fault,
            clock: self.clock,
            counts: Counts::new(rate_hz),
            awaits_reset: false,
            is_bypassed: false,
            input: [(); 2].map(|()| DelayLine::new(most_late + 1)),
            most_late,
            switch: None,
        }
    }

    /// The plug-ins with faults, in the order in which they were made.
    ///
    /// Thread: control; allocates.
    pub fn findings(&self) -> Vec<Finding> {
        let records: Vec<Arc<Record>> =
            lock(&self.records).iter().filter_map(Weak::upgrade).collect();
        records.iter().filter_map(|record| record.finding()).collect()
    }
}

/// What counts up to a fault. All of it is sound, in frames, unless it says otherwise.
#[derive(Debug, Clone, Copy)]
struct Counts {
    rate_hz: u32,
    /// How often in a row the output was not finite.
    bad: u32,
    /// Since the last time.
    well: u64,
    /// Of calls that took too long, less that of the others.
    late: u64,
    /// Of calls in a row with subnormal numbers.
    subnormal: u64,
}

impl Counts {
    fn new(rate_hz: u32) -> Counts {
        Counts { rate_hz: rate_hz.max(1), bad: 0, well: 0, late: 0, subnormal: 0 }
    }

    fn frames(&self, seconds: u64) -> u64 {
        seconds * u64::from(self.rate_hz)
    }

    /// The output was not finite. Whether that is a fault.
    fn has_bad(&mut self) -> bool {
        let is_new_row = self.well >= self.frames(WELL_S);
        self.bad = if is_new_row { 1 } else { self.bad.saturating_add(1) };
        self.well = 0;
        self.bad > MOST_STARTS
    }

    /// A call was over in time or not. Whether that is a fault.
    fn has_taken(&mut self, frames: u64, is_too_long: bool) -> bool {
        self.late = if is_too_long { self.late + frames } else { self.late.saturating_sub(frames) };
        let is_fault = self.late >= self.frames(TOO_LONG_S);
        if is_fault {
            self.late = 0;
        }
        is_fault
    }

    /// The output had subnormal numbers or not. Whether that is a fault.
    fn has_subnormal(&mut self, frames: u64, has: bool) -> bool {
        self.subnormal = if has { self.subnormal.saturating_add(frames) } else { 0 };
        self.subnormal >= self.frames(SUBNORMAL_S)
    }
}

/// Plays a plug-in.
struct Watched {
    plugin: Box<dyn Processor>,
    record: Arc<Record>,
    on_fault: OnFault,
    clock: Option<Clock>,
    counts: Counts,
    /// Whether its output was not finite since the last reset. The engine resets it for that.
    awaits_reset: bool,
    is_bypassed: bool,
    /// What came in.
    input: [DelayLine; 2],
    /// The latency that these have room for.
    most_late: usize,
    /// `None`: it sends no events.
    switch: Option<EventSwitch>,
}

impl Watched {
    /// Before its output has events.
    fn begin_events(&mut self, block: &mut Block<'_>) {
        if let (Some(switch), Some(out)) = (&mut self.switch, &mut block.events_out) {
            switch.begin(self.is_bypassed, out);
        }
    }

    fn finish_events(&mut self, block: &mut Block<'_>) {
        let received = block.events_in;
        if let (Some(switch), Some(out)) = (&mut self.switch, &mut block.events_out) {
            switch.finish(received, out);
        }
    }

    fn keep(&mut self, block: &Block<'_>) {
        let rows = [&*block.main.left, &*block.main.right];
        for (line, row) in self.input.iter_mut().zip(rows) {
            row.iter().for_each(|sample| line.push(*sample));
        }
    }

    fn pass(&mut self, block: &mut Block<'_>) {
        let late = (self.plugin.latency_frames() as usize).min(self.most_late);
        let rows = [&mut *block.main.left, &mut *block.main.right];
        for (line, row) in self.input.iter_mut().zip(rows) {
            for sample in row {
                line.push(*sample);
                *sample = line.read(late + 1);
            }
        }
    }

    fn now(&self) -> u64 {
        self.clock.map_or(0, |clock| (clock.now)())
    }

    /// Whether a call took longer than so many frames last.
    fn is_too_long(&self, took: u64, frames: u64) -> bool {
        let rate_hz = f64::from(self.counts.rate_hz);
        self.clock.is_some_and(|clock| took as f64 * rate_hz > frames as f64 * clock.per_second)
    }

    /// Looks at what a call put out. `is_its_own`: what came in was finite.
    fn judge(&mut self, block: &Block<'_>, took: u64, is_its_own: bool) {
        let frames = block.frames() as u64;
        let rows = || [&*block.main.left, &*block.main.right].into_iter().chain(extra_rows(block));
        let is_too_long = self.is_too_long(took, frames);
        if self.counts.has_taken(frames, is_too_long) {
            self.find(Fault::TooLong);
        }
        let has_subnormal = rows().any(any_subnormal);
        if self.counts.has_subnormal(frames, has_subnormal) {
            self.find(Fault::Subnormal);
        }
        if rows().all(all_finite) {
            self.counts.well = self.counts.well.saturating_add(frames);
            return;
        }
        // Until it is reset, more of it says nothing new.
        if is_its_own && !self.awaits_reset && self.counts.has_bad() {
            self.find(Fault::NotFinite);
        }
        self.awaits_reset = true;
    }

    fn find(&mut self, fault: Fault) {
        self.record.faults.fetch_or(fault.bit(), Relaxed);
        if self.on_fault == OnFault::Bypass && fault != Fault::Subnormal {
            self.is_bypassed = true;
            self.record.is_bypassed.store(true, Relaxed);
        }
    }

    fn try_again(&mut self) {
        self.counts = Counts::new(self.counts.rate_hz);
        self.is_bypassed = false;
        self.record.faults.store(0, Relaxed);
        self.record.is_bypassed.store(false, Relaxed);
        self.input.iter_mut().for_each(DelayLine::reset);
    }
}

/// What a plug-in puts out beside its main output.
fn extra_rows<'b>(block: &'b Block<'_>) -> impl Iterator<Item = &'b [f32]> {
    let extra = block.more.as_ref().map(|more| &more.extra);
    extra.into_iter().flat_map(|extra| (0..extra.len()).map(move |row| extra.row(row)))
}

/// Whether all that a plug-in hears is finite.
fn hears_finite(block: &Block<'_>) -> bool {
    let key = block.side_chain.unwrap_or(StereoRef { left: &[], right: &[] });
    let rows = [&*block.main.left, &*block.main.right, key.left, key.right];
    rows.into_iter().all(all_finite)
}

/// By their bits, because audio threads read subnormal numbers as zeros. No branch, so that it vectorises.
fn any_subnormal(row: &[f32]) -> bool {
    // Without the sign, twice the bits. A zero becomes the largest number.
    const FIRST_NORMAL: u32 = 0x0080_0000 << 1;
    let is = |sample: &f32| (sample.to_bits() << 1).wrapping_sub(1) < FIRST_NORMAL - 1;
    row.iter().fold(false, |any, sample| any | is(sample))
}

impl Processor for Watched {
    fn process(&mut self, block: &mut Block<'_>) {
        if self.is_bypassed {
            self.begin_events(block);
            self.finish_events(block);
            return self.pass(block);
        }
        // Beside the audio, where nobody helps, the engine tries out what a plug-in takes, and resets it.
        if block.helpers.is_none() {
            return self.plugin.process(block);
        }
        self.keep(block);
        let is_its_own = hears_finite(block);
        self.begin_events(block);
        let begun = self.now();
        self.plugin.process(block);
        let took = self.now().wrapping_sub(begun);
        self.finish_events(block);
        self.judge(block, took, is_its_own);
    }

    fn join(&mut self, host: &mut dyn Host) {
        *lock(&self.record.node) = host.node().into();
        self.plugin.join(host);
    }

    fn answered(&mut self, answer: &[u8]) {
        self.plugin.answered(answer);
    }

    fn exchange(&mut self, new: &mut (dyn Any + Send)) {
        self.plugin.exchange(new);
    }

    /// The engine also resets a node whose output was not finite. That is no new beginning.
    fn reset(&mut self) {
        if !std::mem::take(&mut self.awaits_reset) {
            self.try_again();
            let passes = self.is_bypassed;
            self.switch.iter_mut().for_each(|switch| switch.reset(passes));
        }
        self.plugin.reset();
    }

    fn preset(&mut self, change: Change) {
        self.plugin.preset(change);
    }

    fn keeps_time(&self) -> bool {
        self.plugin.keeps_time()
    }

    fn rests(&self) -> bool {
        self.plugin.rests()
    }

    fn events_per_jump(&self) -> usize {
        self.plugin.events_per_jump()
    }

    fn is_stereo(&self) -> bool {
        self.plugin.is_stereo()
    }

    fn latency_frames(&self) -> u32 {
        self.plugin.latency_frames()
    }

    fn reading(&self) -> Option<f32> {
        self.plugin.reading()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::atomic::AtomicU64;

    use hocket_dsp::host::{BackgroundWork, MainRequests, MainSide, WorkRequests, WorkRoom};
    use hocket_dsp::{EventsOut, Helpers, StereoMut};
    use hocket_time::{Event, EventBuffer, EventKind, Note, Source};

    use super::*;

    const RATE_HZ: u32 = 1000;
    /// A tenth of a second.
    const FRAMES: usize = 100;
    const LATE: u32 = 30;

    thread_local! {
        /// The time of a test, in milliseconds.
        static NOW: Cell<u64> = const { Cell::new(0) };
    }

    fn now() -> u64 {
        NOW.get()
    }

    const CLOCK: Option<Clock> = Some(Clock { now, per_second: 1000.0 });

    /// How the plug-in of a test behaves, and how often it was called.
    #[derive(Default)]
    struct Acts {
        /// The sample that it puts out, as bits.
        sample: AtomicU32,
        takes_ms: AtomicU64,
        calls: AtomicU32,
        resets: AtomicU32,
    }

    struct Plugin(Arc<Acts>);

    impl Processor for Plugin {
        fn process(&mut self, block: &mut Block<'_>) {
            let sample = f32::from_bits(self.0.sample.load(Relaxed));
            block.main.left.fill(sample);
            block.main.right.fill(sample);
            let _ = block.send(5, EventKind::Note(Note::on(-1, 0, 60, 0.5)));
            NOW.set(NOW.get() + self.0.takes_ms.load(Relaxed));
            self.0.calls.fetch_add(1, Relaxed);
        }

        fn reset(&mut self) {
            self.0.resets.fetch_add(1, Relaxed);
        }

        fn latency_frames(&self) -> u32 {
            LATE
        }
    }

    /// Where it joins.
    struct Bass;

    impl Host for Bass {
        fn largest_block(&self) -> usize {
            FRAMES
        }

        fn node(&self) -> &str {
            "bass: test"
        }

        fn background(&mut self, _: Box<dyn BackgroundWork>, _: WorkRoom) -> Box<dyn WorkRequests> {
            unreachable!("the plug-in has no background work")
        }

        fn main_side(&mut self, _: Box<dyn MainSide>) -> Box<dyn MainRequests> {
            unreachable!("the plug-in has no main side")
        }
    }

    /// Who helps in its blocks.
    #[derive(Debug)]
    struct Nobody;

    impl Helpers for Nobody {
        fn share(&self, passes: u32, body: &(dyn Fn(u32) + Sync)) {
            (0..passes).for_each(body);
        }
    }

    /// A watched plug-in in an engine.
    struct Stage {
        acts: Arc<Acts>,
        watch: Watch,
        processor: Box<dyn Processor>,
        played: usize,
    }

    impl Stage {
        fn new(on_fault: OnFault, clock: Option<Clock>) -> Stage {
            let (acts, watch) = (Arc::new(Acts::default()), Watch::new(on_fault, clock));
            let mut processor = watch.over(Box::new(Plugin(Arc::clone(&acts))), "Test", RATE_HZ);
            processor.join(&mut Bass);
            Stage { acts, watch, processor, played: 0 }
        }

        /// From now on the plug-in puts out this sample, and takes so long.
        fn acts(&self, sample: f32, takes_ms: u64) {
            self.acts.sample.store(sample.to_bits(), Relaxed);
            self.acts.takes_ms.store(takes_ms, Relaxed);
        }

        fn calls(&self) -> u32 {
            self.acts.calls.load(Relaxed)
        }

        /// A block whose samples are the numbers of their frames, from 1 on.
        fn block(&mut self) -> Vec<f32> {
            let input = (1..=FRAMES).map(|n| (self.played + n) as f32).collect();
            self.block_of(input)
        }

        fn block_of(&mut self, mut left: Vec<f32>) -> Vec<f32> {
            let mut right = left.clone();
            let main = StereoMut { left: &mut left, right: &mut right };
            self.processor.process(&mut Block { helpers: Some(&Nobody), ..Block::new(main) });
            self.played += FRAMES;
            // As an engine does with a node.
            if !all_finite(&left) {
                self.processor.reset();
            }
            left
        }

        fn blocks(&mut self, count: usize) {
            (0..count).for_each(|_| _ = self.block());
        }

        fn faults(&self) -> Vec<(Vec<Fault>, bool)> {
            let of = |finding: Finding| (finding.faults, finding.bypassed);
            self.watch.findings().into_iter().map(of).collect()
        }
    }

    #[test]
    fn after_the_fourth_block_that_is_not_finite_the_input_passes_as_late_as_the_output_was() {
        for bad in [f32::NAN, f32::INFINITY] {
            let mut stage = Stage::new(OnFault::Bypass, None);
            stage.acts(bad, 0);
            stage.blocks(3);
            assert_eq!(stage.faults(), []);
            stage.blocks(1);
            let finding = Finding {
                node: "bass: test".into(),
                title: "Test".into(),
                faults: vec![Fault::NotFinite],
                bypassed: true,
            };
            let text = "plug-in 'bass: test' (Test) puts out NaN or infinity again and again; \
                        bypassed: its input passes";
            assert_eq!(finding.to_string(), text);
            assert_eq!(stage.watch.findings(), [finding]);
            let first = stage.played + 1 - LATE as usize;
            let expected: Vec<f32> = (first..first + FRAMES).map(|n| n as f32).collect();
            assert_eq!(stage.block(), expected);
            assert_eq!((stage.calls(), stage.acts.resets.load(Relaxed)), (4, 4));
            assert_eq!(stage.processor.latency_frames(), LATE);
        }
    }

    #[test]
    fn events_pass_a_bypassed_plug_in_as_late_as_its_sound_and_its_own_notes_end() {
        let (acts, watch) = (Arc::new(Acts::default()), Watch::new(OnFault::Bypass, None));
        let mut processor = watch.over_sender(Box::new(Plugin(Arc::clone(&acts))), "Test", RATE_HZ);
        acts.sample.store(f32::NAN.to_bits(), Relaxed);
        let on = |key| EventKind::Note(Note::on(-1, 0, key, 0.5));
        let mut block = |frame: u32, key: i8| {
            let (mut left, mut right) = ([0.0; FRAMES], [0.0; FRAMES]);
            let (mut received, mut sent) = (EventBuffer::new(8, 0), EventBuffer::new(8, 0));
            let _ = received.push(Event::new(frame, Source::edge(0), on(key)));
            processor.process(&mut Block {
                helpers: Some(&Nobody),
                events_in: Some(&received),
                events_out: Some(EventsOut::new(&mut sent, FRAMES)),
                ..Block::new(StereoMut { left: &mut left, right: &mut right })
            });
            processor.reset();
            sent.all().iter().map(|event| (event.frame, event.kind)).collect::<Vec<_>>()
        };
        for _ in 0..4 {
            assert_eq!(block(95, 61), [(5, on(60))], "the plug-in's own");
        }
        let off = EventKind::Note(Note::off(-1, 0, 60, 0.0));
        assert_eq!(block(40, 62), [(0, off), (95 + LATE - FRAMES as u32, on(61)), (70, on(62))]);
    }

    #[test]
    fn a_minute_of_sound_begins_a_new_row() {
        let mut stage = Stage::new(OnFault::Bypass, None);
        let minute = 60 * RATE_HZ as usize / FRAMES;
        for (bad, good) in [(3, minute), (3, minute - 1)] {
            stage.acts(f32::NAN, 0);
            stage.blocks(bad);
            stage.acts(0.5, 0);
            stage.blocks(good);
            assert_eq!(stage.faults(), []);
        }
        stage.acts(f32::NAN, 0);
        stage.blocks(1);
        assert_eq!(stage.faults(), [(vec![Fault::NotFinite], true)]);
    }

    #[test]
    fn what_comes_before_a_reset_counts_once() {
        let mut stage = Stage::new(OnFault::Bypass, None);
        stage.acts(f32::NAN, 0);
        for _ in 0..10 {
            let (mut left, mut right) = ([0.0; FRAMES], [0.0; FRAMES]);
            let main = StereoMut { left: &mut left, right: &mut right };
            stage.processor.process(&mut Block { helpers: Some(&Nobody), ..Block::new(main) });
        }
        stage.processor.reset();
        stage.blocks(2);
        assert_eq!(stage.faults(), []);
        stage.blocks(1);
        assert_eq!(stage.faults(), [(vec![Fault::NotFinite], true)]);
    }

    #[test]
    fn nobody_is_blamed_for_what_it_hears() {
        let mut stage = Stage::new(OnFault::Bypass, None);
        stage.acts(f32::NAN, 0);
        (0..10).for_each(|_| _ = stage.block_of(vec![f32::INFINITY; FRAMES]));
        assert_eq!((stage.faults(), stage.calls()), (vec![], 10));
    }

    #[test]
    fn a_second_of_calls_that_take_longer_than_their_sound_is_a_fault() {
        let mut stage = Stage::new(OnFault::Bypass, CLOCK);
        stage.acts(0.5, 100);
        stage.blocks(100);
        assert_eq!(stage.faults(), [], "just in time");
        stage.acts(0.5, 101);
        stage.blocks(9);
        assert_eq!(stage.faults(), []);
        stage.blocks(1);
        assert_eq!(stage.faults(), [(vec![Fault::TooLong], true)]);
        stage.blocks(10);
        assert_eq!(stage.calls(), 110, "nobody calls it any more");
        let mut unwatched = Stage::new(OnFault::Bypass, None);
        unwatched.acts(0.5, 5000);
        unwatched.blocks(100);
        assert_eq!(unwatched.faults(), [], "without a clock");
    }

    #[test]
    fn interruptions_of_every_second_call_are_no_fault_and_those_of_two_in_three_are() {
        let mut stage = Stage::new(OnFault::Bypass, CLOCK);
        for turn in 0..1000 {
            stage.acts(0.5, if turn % 2 == 0 { 3000 } else { 1 });
            stage.blocks(1);
        }
        assert_eq!(stage.faults(), []);
        for turn in 0..30 {
            stage.acts(0.5, if turn % 3 == 0 { 1 } else { 101 });
            stage.blocks(1);
        }
        assert_eq!(stage.faults(), [(vec![Fault::TooLong], true)]);
    }

    #[test]
    fn ten_seconds_of_subnormal_numbers_are_only_reported() {
        let mut stage = Stage::new(OnFault::Bypass, None);
        let tiny = f32::from_bits(0x0040_0000);
        for sample in [tiny, 0.0, -tiny] {
            stage.acts(sample, 0);
            stage.blocks(99);
            assert_eq!(stage.faults(), [], "{sample:e}");
        }
        stage.blocks(1);
        assert_eq!(stage.faults(), [(vec![Fault::Subnormal], false)]);
        stage.blocks(100);
        assert_eq!(stage.calls(), 398);
    }

    #[test]
    fn subnormal_numbers_are_found_by_their_bits() {
        let normal = [0.0, -0.0, f32::MIN_POSITIVE, -f32::MIN_POSITIVE, 1.0, f32::MAX];
        assert!(!any_subnormal(&normal) && !any_subnormal(&[f32::NAN, f32::INFINITY]));
        for bits in [1, 0x0040_0000, 0x007f_ffff, 0x8000_0001, 0x807f_ffff] {
            let mut row = [0.5; 67];
            row[66] = f32::from_bits(bits);
            assert!(any_subnormal(&row), "{bits:x}");
        }
    }

    #[test]
    fn a_plug_in_that_is_only_reported_plays_on() {
        let mut stage = Stage::new(OnFault::Report, CLOCK);
        stage.acts(f32::NAN, 200);
        stage.blocks(20);
        assert_eq!(stage.faults(), [(vec![Fault::NotFinite, Fault::TooLong], false)]);
        assert_eq!((stage.calls(), stage.acts.resets.load(Relaxed)), (20, 20));
    }

    #[test]
    fn a_reset_from_outside_tries_it_again() {
        let mut stage = Stage::new(OnFault::Bypass, None);
        stage.acts(f32::NAN, 0);
        stage.blocks(10);
        assert_eq!((stage.faults().len(), stage.calls()), (1, 4));
        stage.processor.reset();
        assert_eq!(stage.faults(), []);
        stage.acts(0.5, 0);
        assert_eq!(stage.block(), [0.5; FRAMES]);
        assert_eq!(stage.calls(), 5);
        stage.acts(f32::NAN, 0);
        stage.blocks(4);
        assert_eq!(stage.faults(), [(vec![Fault::NotFinite], true)]);
    }

    #[test]
    fn what_it_does_in_a_trial_is_no_fault() {
        let mut stage = Stage::new(OnFault::Bypass, CLOCK);
        stage.acts(f32::NAN, 5000);
        for _ in 0..100 {
            let (mut left, mut right) = ([0.0; FRAMES], [0.0; FRAMES]);
            let main = StereoMut { left: &mut left, right: &mut right };
            stage.processor.process(&mut Block::new(main));
        }
        assert_eq!((stage.faults(), stage.calls()), (vec![], 100));
    }

    #[test]
    fn a_plug_in_that_is_gone_has_no_findings() {
        let mut stage = Stage::new(OnFault::Report, None);
        stage.acts(f32::NAN, 0);
        stage.blocks(4);
        assert_eq!(stage.faults().len(), 1);
        stage.processor = Box::new(Plugin(Arc::default()));
        assert_eq!(stage.faults(), []);
    }
}
