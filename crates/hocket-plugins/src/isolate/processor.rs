//! The engine's side of an isolated plug-in, inside a block.

use std::any::Any;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::{Arc, Mutex};

use hocket_dsp::delay_line::DelayLine;
use hocket_dsp::host::{Host, MainRequests, WorkRequests, WorkRoom};
use hocket_dsp::{
    Block, Change, EventSwitch, EventsOut, MoreRows, Processor, StereoMut, TimedChange,
};
use hocket_time::{Event, EventBuffer, EventKind, Pushed};

use super::keeper::{Fault, Keeper, Link, Loaded, Shared, Side};
use super::lead::{Due, Lead, Part};
use super::lock;
use super::mail::Facts;
use super::process::{Launch, Running};
use super::slots::{Answer, EVENT_WORDS, FRAMES, Request, flags, read_row, write_row};
use super::words::{
    KEPT, MOST_EVENT_WORDS, Reader, Writer, may_pass, read_event, write_event, write_song,
};
use crate::extra::put;
use crate::song::SongPoint;

/// How much longer a plug-in's latency may become with its dry signal as late, in frames.
const MORE_LATENCY: usize = 1 << 12;
/// The most latency that is believed, in frames.
const MOST_LATENCY: u32 = 1 << 20;
/// One request waits at most, and one is under way.
const ROOM: WorkRoom = WorkRoom { messages: 4, bytes: 0, outlives_reset: true };

/// Plays a plug-in that is in another process.
pub struct Isolated {
    link: Arc<Link>,
    launch: Arc<Launch>,
    running: Shared,
    lead: Lead,
    /// The last request, and the last number in `DONE` that made sense.
    sent: u32,
    done: u32,
    /// What the next request is to do besides.
    flags: u32,
    token: u32,
    /// Values that were set outside of blocks, for the request with the next reset.
    presets: Vec<Option<f32>>,
    /// The answer that is being played. `None`: it is missing.
    answer: [Vec<f32>; 2],
    /// Of its extra outputs.
    extra: Vec<Vec<f32>>,
    is_here: bool,
    /// What the plug-in sent with that answer, and what leaves; `None`: it sends nothing.
    outgoing: Option<Box<Outgoing>>,
    /// The input, as late as the output.
    dry_lines: [DelayLine; 2],
    /// The latency of the plug-in that these have room for.
    most_dry: usize,
    dry: [Vec<f32>; 2],
    latency: u32,
    keeps_time: bool,
    requests: Option<Box<dyn WorkRequests>>,
    main: Option<Box<dyn MainRequests>>,
    /// Calls of this block without an answer, and events that found no room.
    missing: u64,
    lost: u64,
}

/// The events of a plug-in that sends some.
struct Outgoing {
    /// Of the answer that is being played, at its frames.
    events: EventBuffer,
    switch: EventSwitch,
    /// An answer is missing: nobody knows what it would have ended.
    is_missing: bool,
}

impl Outgoing {
    fn new(latency: u32) -> Outgoing {
        let events = EventBuffer::new(EVENT_WORDS, 4 * EVENT_WORDS);
        let switch = EventSwitch::new(latency.max(1) as usize, false);
        Outgoing { events, switch, is_missing: false }
    }

    /// Takes the events of an answer. Returns how many found no room.
    fn fetch(&mut self, from: &mut Reader<'_>) -> u64 {
        self.events.clear();
        let mut lost = 0;
        while let Some(pushed) = read_event(from, &mut self.events) {
            lost += u64::from(pushed == Pushed::Refused);
        }
        lost
    }

    /// Sends the events of these frames of the answer.
    fn play(&self, due: &Due, mut out: EventsOut<'_>) {
        let here =
            |event: &&Event| (due.from..due.from + due.count).contains(&(event.frame as usize));
        for event in self.events.all().iter().filter(here).filter(|event| may_pass(&event.kind)) {
            let frame = event.frame - due.from as u32;
            // The engine counts what finds no room.
            _ = match event.kind {
                EventKind::SysEx(message) => out.send_sysex(frame, self.events.sysex(message)),
                kind => out.send(frame, kind),
            };
        }
    }

    /// Before a block. `late`: how late its sound is.
    fn begin(&mut self, passes: bool, late: u32, out: &mut EventsOut<'_>) {
        self.switch.set_latency(late);
        self.switch.begin(passes, out);
        if std::mem::take(&mut self.is_missing) {
            self.switch.end_all(out);
        }
    }
}

/// Memory for longer blocks.
pub struct Longer {
    frames: usize,
    dry_lines: [DelayLine; 2],
}

impl Longer {
    /// Thread: control; allocates.
    pub fn new(frames: usize, latency: u32) -> Longer {
        Longer { frames, dry_lines: dry_lines(frames, latency) }
    }
}

fn dry_lines(frames: usize, latency: u32) -> [DelayLine; 2] {
    let latency = latency.min(MOST_LATENCY) as usize;
    [(); 2].map(|()| DelayLine::new(frames + latency + MORE_LATENCY + 1))
}

fn rows() -> [Vec<f32>; 2] {
    [vec![0.0; FRAMES], vec![0.0; FRAMES]]
}

impl Isolated {
    pub fn new(link: Arc<Link>, launch: Arc<Launch>, running: Running, facts: Facts) -> Isolated {
        let (frames, slots) = (launch.isolation.frames as usize, link.slots().count());
        let late = launch.isolation.frames.saturating_add(facts.latency.min(MOST_LATENCY));
        let outgoing = launch.sends_events().then(|| Box::new(Outgoing::new(late)));
        Isolated {
            lead: Lead::new(frames, slots),
            presets: vec![None; link.values().len()],
            running: Arc::new(Mutex::new(Some(running))),
            extra: vec![vec![0.0; FRAMES]; launch.extra_channels()],
            link,
            launch,
            sent: 0,
            done: 0,
            flags: flags::RESET | flags::BLOCK,
            token: 0,
            answer: rows(),
            is_here: false,
            outgoing,
            dry_lines: dry_lines(frames, facts.latency),
            most_dry: facts.latency.min(MOST_LATENCY) as usize + MORE_LATENCY,
            dry: rows(),
            latency: facts.latency.min(MOST_LATENCY),
            keeps_time: facts.keeps_time,
            requests: None,
            main: None,
            missing: 0,
            lost: 0,
        }
    }

    fn declared(&self) -> u32 {
        self.latency.saturating_add(self.lead.frames() as u32)
    }

    /// One request, and as many frames of output: frames `at` to `end` of the block.
    fn piece(&mut self, block: &mut Block<'_>, (at, end): (usize, usize)) {
        let frames = end - at;
        self.keep_dry(&block.main.part(at, end));
        if self.link.is_bypassed() {
            return self.pass_dry(&mut block.main.part(at, end), 0..frames);
        }
        let number = self.send(block, (at, end));
        self.lead.push(Part { number, frames });
        let mut main = block.main.part(at, end);
        let mut played = 0;
        while played < frames {
            let Some(due) = self.lead.take(frames - played) else { break };
            self.play(&due, &mut main, played);
            self.play_extra(&due, &mut block.more, at + played);
            if let (true, Some(sent), Some(out)) =
                (self.is_here, &self.outgoing, &mut block.events_out)
            {
                let place = at + played;
                sent.play(&due, out.part(place, place + due.count));
            }
            played += due.count;
        }
    }

    fn keep_dry(&mut self, rows: &StereoMut<'_>) {
        let late = self.lead.frames() + (self.latency as usize).min(self.most_dry);
        let inputs = [&*rows.left, &*rows.right];
        for ((line, dry), input) in self.dry_lines.iter_mut().zip(&mut self.dry).zip(inputs) {
            for (dry, sample) in dry.iter_mut().zip(input) {
                line.push(*sample);
                *dry = line.read(late + 1);
            }
        }
    }

    fn pass_dry(&self, main: &mut StereoMut<'_>, range: std::ops::Range<usize>) {
        let rows = [&mut *main.left, &mut *main.right];
        for (row, dry) in rows.into_iter().zip(&self.dry).filter(|(row, _)| !row.is_empty()) {
            row[range.clone()].iter_mut().zip(&dry[range.clone()]).for_each(|(to, dry)| *to = *dry);
        }
    }

    /// Frames of the output, at `place` of the piece.
    fn play(&mut self, due: &Due, main: &mut StereoMut<'_>, place: usize) {
        let Due { part, from, count } = *due;
        if from == 0 {
            self.is_here = part.number.is_some_and(|number| self.fetch(number, part.frames));
        }
        let range = place..place + count;
        match (self.is_here, self.launch.is_instrument()) {
            (false, true) => self.pass_dry(main, range),
            (here, _) => {
                let rows = [&mut *main.left, &mut *main.right];
                for (row, answer) in rows.into_iter().zip(&self.answer) {
                    let row = row.iter_mut().skip(place).take(count);
                    // What is not there may be longer than an answer: the silence at the start is a whole block.
                    match here {
                        true => row.zip(&answer[from..]).for_each(|(to, from)| *to = *from),
                        false => row.for_each(|to| *to = 0.0),
                    }
                }
            }
        }
    }

    /// Extra outputs are silent already where there is no answer.
    fn play_extra(&self, due: &Due, more: &mut Option<&mut MoreRows<'_>>, at: usize) {
        let Due { from, count, .. } = *due;
        if self.is_here {
            let rows = self.extra.iter().map(|row| &row[from..from + count]);
            put(more, (at, at + count), rows);
        }
    }

    /// Copies an answer out of the shared memory. `false`: there is none that can be used.
    ///
    /// It is read once: what the process writes later changes nothing.
    fn fetch(&mut self, number: u32, frames: usize) -> bool {
        self.look();
        let slots = self.link.slots();
        let is_behind = self.done.wrapping_sub(number) > u32::MAX / 2;
        let answer = slots.answer(number).filter(|_| !is_behind);
        let fits = |answer: &Answer| answer.number == number && answer.frames as usize == frames;
        // Of a process that has ended, none is left.
        let is_old = number.wrapping_sub(self.link.base()).wrapping_sub(1) > u32::MAX / 2;
        let Some(answer) = answer.filter(|_| !is_old) else { return self.miss() };
        if !fits(&answer) {
            return self.fault(number, Fault::Damaged);
        }
        if answer.flags & flags::SKIPPED != 0 {
            return self.miss();
        }
        let mut finite = true;
        for (row, into) in self.answer.iter_mut().chain(&mut self.extra).enumerate() {
            finite &= read_row(slots.answer_row(number, row), &mut into[..frames]);
        }
        if !finite {
            return self.fault(number, Fault::NotFinite);
        }
        if let Some(sent) = &mut self.outgoing {
            let words = slots.answer_events(number);
            let used = (answer.used as usize).min(words.len());
            self.lost += sent.fetch(&mut Reader::new(&words[..used]));
        }
        self.link.add_heard(frames);
        self.heed(&answer);
        true
    }

    fn fault(&mut self, number: u32, fault: Fault) -> bool {
        self.link.report(number, fault);
        self.miss()
    }

    fn miss(&mut self) -> bool {
        self.missing += 1;
        self.outgoing.iter_mut().for_each(|sent| sent.is_missing = true);
        false
    }

    /// Reads how far the process is. A number that makes no sense is a fault, and changes nothing.
    fn look(&mut self) {
        // Acquire: the answers up to here, and `base` (I2).
        let done = self.link.slots().done().load(Acquire);
        if done.wrapping_sub(self.done) <= self.sent.wrapping_sub(self.done) {
            self.done = done;
        } else {
            self.link.report(self.sent, Fault::Damaged);
        }
    }

    /// Does what an answer says besides.
    fn heed(&mut self, answer: &Answer) {
        let latency = answer.latency.min(MOST_LATENCY);
        let is_new = latency != self.latency;
        self.latency = latency;
        let declared = self.declared();
        let Some(main) = &mut self.main else { return };
        if is_new {
            main.latency_changed(declared);
        }
        if answer.flags & flags::FAILED != 0 {
            main.failed();
        }
        if answer.flags & flags::RESTART != 0 {
            main.restart();
        }
        if answer.flags & flags::TAIL != 0 {
            main.tail_changed(answer.tail);
        }
        if answer.lost > 0 {
            main.events_lost(answer.lost.into());
        }
    }

    /// Writes a request. `None`: there is no free slot.
    fn send(&mut self, block: &Block<'_>, (at, end): (usize, usize)) -> Option<u32> {
        let number = self.sent.wrapping_add(1);
        let count = self.link.slots().count() as u32;
        self.look();
        let is_open = number.wrapping_sub(self.done) > count;
        let is_due = self.lead.oldest().is_some_and(|oldest| number.wrapping_sub(oldest) >= count);
        if is_open || is_due {
            self.note_values(block, (at, end));
            // No answer will come for it.
            self.miss();
            return None;
        }
        let mut request = Request { number, frames: (end - at) as u32, ..Request::default() };
        request.flags = std::mem::take(&mut self.flags);
        request.token = self.token;
        self.write_events(&mut request, block, (at, end));
        let slots = self.link.slots();
        if let Some(time) = block.time {
            request.flags |= flags::SONG;
            let mut to = Writer::new(slots.song(number));
            write_song(&SongPoint::at(time, at as u32), &mut to);
            write_song(&SongPoint::at(time, end as u32), &mut to);
        }
        write_row(&block.main.left[at..end], slots.row(number, 0));
        match block.main.right.get(at..end) {
            Some(right) => write_row(right, slots.row(number, 1)),
            None => request.flags |= flags::MONO,
        }
        if let Some(key) = block.side_chain {
            request.flags |= flags::KEY;
            write_row(&key.left[at..end], slots.row(number, 2));
            match key.right.get(at..end) {
                Some(right) => write_row(right, slots.row(number, 3)),
                None => request.flags |= flags::MONO_KEY,
            }
        }
        slots.write_request(&request);
        self.link.send(number);
        self.sent = number;
        Some(number)
    }

    /// What is not sent counts when the plug-in starts again.
    fn note_values(&mut self, block: &Block<'_>, (at, end): (usize, usize)) {
        let within = |change: &&TimedChange| (at..end).contains(&(change.frame as usize));
        for change in block.events.iter().filter(within) {
            let Change::Param { index, value } = change.change;
            self.link.set_value(index.into(), value);
            self.lost += 1;
        }
    }

    fn write_events(
        &mut self,
        request: &mut Request,
        block: &Block<'_>,
        (at, end): (usize, usize),
    ) {
        let slots = self.link.slots();
        let mut to = Writer::new(slots.events(request.number));
        if request.flags & flags::RESET != 0 {
            for (index, preset) in self.presets.iter_mut().enumerate() {
                let Some(value) = preset.take() else { continue };
                if to.free() < KEPT + 2 {
                    self.lost += 1;
                    continue;
                }
                to.word(index as u32);
                to.word(value.to_bits());
                request.presets += 1;
            }
        }
        let within = |frame: u32| (at..end).contains(&(frame as usize));
        for change in block.events.iter().filter(|change| within(change.frame)) {
            let Change::Param { index, value } = change.change;
            self.link.set_value(index.into(), value);
            if to.free() < KEPT + 3 {
                self.lost += 1;
                continue;
            }
            to.word(change.frame - at as u32);
            to.word(index.into());
            to.word(value.to_bits());
            request.changes += 1;
        }
        for event in block.received().iter().filter(|event| within(event.frame)) {
            if let EventKind::Param(change) = event.kind {
                self.link.set_value(change.param as usize, change.value as f32);
            }
            let sysex = match (&event.kind, block.events_in) {
                (EventKind::SysEx(message), Some(buffer)) => buffer.sysex(*message),
                _ => &[],
            };
            let kept = if event.kind.ends_notes() { 0 } else { KEPT };
            let frame = event.frame - at as u32;
            let fits = write_event(frame, &event.kind, sysex, (&mut to, kept));
            self.lost += u64::from(!fits);
        }
        request.used = to.used() as u32;
    }

    /// Asks the thread beside to wake the process after the block.
    fn ask(&mut self) {
        let Some(requests) = &mut self.requests else { return };
        if !self.link.is_bypassed() && self.link.must_ask() {
            // There is room: the thread takes a request before it says that it may be asked again.
            let _ = requests.request(&[]);
        }
    }

    fn count(&mut self) {
        let (missing, lost) = (std::mem::take(&mut self.missing), std::mem::take(&mut self.lost));
        if missing > 0 {
            // Relaxed: the number stands for itself.
            self.link.record.late.fetch_add(missing, Relaxed);
        }
        let Some(main) = &mut self.main else { return };
        (0..missing).for_each(|_| main.failed());
        if lost > 0 {
            main.events_lost(lost);
        }
    }
}

impl Processor for Isolated {
    fn process(&mut self, block: &mut Block<'_>) {
        let frames = block.frames();
        let (passes, late) = (self.link.is_bypassed(), self.declared());
        if let (Some(sent), Some(out)) = (&mut self.outgoing, &mut block.events_out) {
            sent.begin(passes, late, out);
        }
        let mut at = 0;
        while at < frames {
            let end = frames.min(at + FRAMES);
            self.piece(block, (at, end));
            at = end;
        }
        let received = block.events_in;
        if let (Some(sent), Some(out)) = (&mut self.outgoing, &mut block.events_out) {
            sent.switch.finish(received, out);
        }
        self.ask();
        self.count();
    }

    fn join(&mut self, host: &mut dyn Host) {
        *lock(&self.link.record.node) = host.node().into();
        let (link, launch, running) =
            (Arc::clone(&self.link), Arc::clone(&self.launch), Arc::clone(&self.running));
        let side =
            Side::new(Arc::clone(&link), Arc::clone(&launch), Arc::clone(&running), self.latency);
        self.main = Some(host.main_side(Box::new(side)));
        let keeper = Keeper::new(link, launch, running);
        self.requests = Some(host.background(Box::new(keeper), ROOM));
    }

    /// The thread beside has waited for all answers, and another block begins.
    fn answered(&mut self, _: &[u8]) {
        self.flags |= flags::BLOCK;
    }

    fn exchange(&mut self, new: &mut (dyn Any + Send)) {
        if let Some(Loaded(token)) = new.downcast_mut::<Loaded>() {
            self.token = *token;
            self.flags |= flags::EXCHANGE;
        }
        if let Some(longer) = new.downcast_mut::<Longer>() {
            self.lead.grow(longer.frames);
            std::mem::swap(&mut self.dry_lines, &mut longer.dry_lines);
            let declared = self.declared();
            self.main.iter_mut().for_each(|main| main.latency_changed(declared));
        }
    }

    fn reset(&mut self) {
        self.lead.reset();
        let passes = self.link.is_bypassed();
        if let Some(sent) = &mut self.outgoing {
            sent.switch.reset(passes);
            sent.events.clear();
            sent.is_missing = false;
        }
        self.flags |= flags::RESET | flags::BLOCK;
        self.dry_lines.iter_mut().for_each(DelayLine::reset);
        // Relaxed: the number stands for itself.
        self.link.record.late.store(0, Relaxed);
        (self.missing, self.lost) = (0, 0);
    }

    fn preset(&mut self, change: Change) {
        let Change::Param { index, value } = change;
        self.link.set_value(index.into(), value);
        if let Some(preset) = self.presets.get_mut(usize::from(index)) {
            *preset = Some(value);
        }
    }

    fn keeps_time(&self) -> bool {
        self.keeps_time
    }

    fn latency_frames(&self) -> u32 {
        self.declared()
    }
}

const _: () = assert!(KEPT + MOST_EVENT_WORDS < EVENT_WORDS);
