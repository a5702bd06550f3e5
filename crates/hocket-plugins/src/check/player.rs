//! Plays one instance, in the place of an engine.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use hocket_dsp::host::{
    BackgroundWork, Host, MainRequests, MainSide, NoState, WorkAnswers, WorkRefused, WorkRequests,
    WorkRoom,
};
use hocket_dsp::{Block, MoreRows, Processor, RowsMut, StereoMut, StereoRef, TimedChange};
use hocket_time::{Event, EventBuffer};

use super::sound::Sound;
use super::{SystemCalls, calls};
use crate::extra::channels;
use crate::{Catalog, Description, LONGEST_RUN, Wanted};

/// Events of a block that find room.
const EVENTS: usize = 1024;

/// What changes while a sound plays, at frames of the sound.
#[derive(Debug, Clone, Default)]
pub struct Score {
    pub changes: Vec<TimedChange>,
    pub events: Vec<Event>,
}

/// An instance, and its other halves.
pub struct Player {
    processor: Box<dyn Processor>,
    halves: Halves,
    events: EventBuffer,
    has_side_chain: bool,
    key: Sound,
    /// The rows of its extra outputs, as long as the present block. They have their memory before the first one.
    extra: Vec<f32>,
    extra_rows: usize,
    /// How long each block took, in nanoseconds.
    pub times_ns: Vec<u64>,
    /// Set while system calls are watched.
    pub watch: Option<SystemCalls>,
}

impl Player {
    pub fn new(
        plugin: &Description,
        values: &[f32],
        rate_hz: u32,
        state: Option<&[u8]>,
    ) -> Result<Player, String> {
        let catalog = Catalog::new(vec![plugin.clone()]);
        let mut processor =
            catalog.build(&Wanted { kind: &plugin.kind, values, rate_hz, state })?;
        let mut halves = Halves::default();
        processor.join(&mut halves);
        let extra_rows = channels(&plugin.extra_outputs);
        Ok(Player {
            processor,
            halves,
            events: EventBuffer::new(EVENTS, 4096),
            has_side_chain: plugin.layout.side_chain > 0,
            key: vec![vec![0.25; LONGEST_RUN], vec![-0.25; LONGEST_RUN]],
            extra: vec![f32::MIN_POSITIVE; extra_rows * LONGEST_RUN],
            extra_rows,
            times_ns: Vec::with_capacity(1 << 16),
            watch: None,
        })
    }

    /// What becomes of a sound, in blocks of these lengths in turn. No length is above [`LONGEST_RUN`]. The extra outputs
    /// follow the first one.
    pub fn play(&mut self, sound: &Sound, lengths: &[usize], score: &Score) -> Sound {
        let mut made = sound.clone();
        let frames = made[0].len();
        made.resize_with(2 + self.extra_rows, || Vec::with_capacity(frames));
        self.times_ns.clear();
        let mut lengths = lengths.iter().cycle();
        let mut at = 0;
        while at < frames {
            let end = frames.min(at + lengths.next().map_or(1, |length| *length));
            let (main, extra) = made.split_at_mut(2);
            let [left, right] = main else { break };
            let rows = StereoMut { left: &mut left[at..end], right: &mut right[at..end] };
            self.block(rows, (at, end), score);
            for (into, row) in extra.iter_mut().zip(self.extra.chunks_exact(end - at)) {
                into.extend_from_slice(row);
            }
            at = end;
        }
        made
    }

    fn block(&mut self, main: StereoMut<'_>, (at, end): (usize, usize), score: &Score) {
        let within = |frame: u32| (at..end).contains(&(frame as usize));
        let changes: Vec<TimedChange> = score
            .changes
            .iter()
            .filter(|change| within(change.frame))
            .map(|change| TimedChange { frame: change.frame - at as u32, ..*change })
            .collect();
        self.events.clear();
        for event in score.events.iter().filter(|event| within(event.frame)) {
            let _ = self.events.push(Event { frame: event.frame - at as u32, ..*event });
        }
        self.halves.deliver(&mut *self.processor);
        let frames = end - at;
        let key = StereoRef { left: &self.key[0][..frames], right: &self.key[1][..frames] };
        let extra = &mut self.extra[..self.extra_rows * frames];
        extra.fill(0.0);
        let extra = RowsMut::new(extra, frames, frames);
        let mut more = MoreRows { extra, ..MoreRows::default() };
        let mut block = Block::new(main);
        block.events = &changes;
        block.events_in = Some(&self.events);
        block.side_chain = self.has_side_chain.then_some(key);
        block.more = (self.extra_rows > 0).then_some(&mut more);
        let processor = &mut self.processor;
        let mut call = || calls::within(|| processor.process(&mut block));
        let begin = Instant::now();
        match self.watch {
            Some(watch) => (watch.during)(&mut call),
            None => call(),
        }
        self.times_ns.push(begin.elapsed().as_nanos() as u64);
        self.halves.after_block();
    }

    pub fn reset(&mut self) {
        self.processor.reset();
    }

    pub fn latency(&self) -> u32 {
        self.processor.latency_frames()
    }

    /// Its state; `None`: it has none.
    pub fn save(&mut self) -> Result<Option<Vec<u8>>, String> {
        let Some(side) = &mut self.halves.side else { return Ok(None) };
        match side.save() {
            Ok(state) => Ok(Some(state)),
            Err(error) if error.is::<NoState>() => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Whether it has asked to be made anew.
    pub fn wants_restart(&self) -> bool {
        self.halves.asked.restart.load(Relaxed)
    }
}

/// What the processor hands over and asks for.
#[derive(Default)]
struct Halves {
    side: Option<Box<dyn MainSide>>,
    work: Option<Box<dyn BackgroundWork>>,
    mail: Arc<Mutex<Mail>>,
    asked: Arc<Asked>,
    answers: Answers,
}

/// Relaxed everywhere: each flag stands for itself.
#[derive(Default)]
struct Asked {
    call: AtomicBool,
    restart: AtomicBool,
}

/// Requests of background work. It has all of its room before the first block.
#[derive(Default)]
struct Mail {
    bytes: Vec<u8>,
    lengths: Vec<usize>,
    room: Option<WorkRoom>,
}

#[derive(Default)]
struct Answers(Vec<Vec<u8>>);

impl Halves {
    fn after_block(&mut self) {
        if self.asked.call.swap(false, Relaxed) {
            self.side.iter_mut().for_each(|side| side.called());
        }
        let Some(work) = &mut self.work else { return };
        let (bytes, lengths) = {
            let mut mail = self.mail.lock().unwrap_or_else(PoisonError::into_inner);
            let taken = (mail.bytes.clone(), mail.lengths.clone());
            mail.bytes.clear();
            mail.lengths.clear();
            taken
        };
        let mut rest = bytes.as_slice();
        for length in lengths {
            let (request, more) = rest.split_at(length);
            work.work(request, &mut self.answers);
            rest = more;
        }
    }

    fn deliver(&mut self, processor: &mut dyn Processor) {
        self.answers.0.drain(..).for_each(|answer| processor.answered(&answer));
    }
}

impl Host for Halves {
    fn largest_block(&self) -> usize {
        LONGEST_RUN
    }

    fn background(
        &mut self,
        work: Box<dyn BackgroundWork>,
        room: WorkRoom,
    ) -> Box<dyn WorkRequests> {
        let mail = Mail {
            bytes: Vec::with_capacity(room.messages * room.bytes),
            lengths: Vec::with_capacity(room.messages),
            room: Some(room),
        };
        self.work = Some(work);
        *self.mail.lock().unwrap_or_else(PoisonError::into_inner) = mail;
        Box::new(Requests(Arc::clone(&self.mail)))
    }

    fn main_side(&mut self, side: Box<dyn MainSide>) -> Box<dyn MainRequests> {
        self.side = Some(side);
        Box::new(Asks(Arc::clone(&self.asked)))
    }
}

struct Requests(Arc<Mutex<Mail>>);

impl WorkRequests for Requests {
    fn request(&mut self, request: &[u8]) -> Result<(), WorkRefused> {
        let mut mail = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room = mail.room.ok_or(WorkRefused::Ended)?;
        if request.len() > room.bytes {
            return Err(WorkRefused::TooLong);
        }
        if mail.lengths.len() == room.messages {
            return Err(WorkRefused::Full);
        }
        mail.bytes.extend_from_slice(request);
        mail.lengths.push(request.len());
        Ok(())
    }
}

impl WorkAnswers for Answers {
    fn answer(&mut self, answer: &[u8]) -> Result<(), WorkRefused> {
        self.0.push(answer.to_vec());
        Ok(())
    }

    fn is_ending(&self) -> bool {
        false
    }
}

struct Asks(Arc<Asked>);

impl MainRequests for Asks {
    fn call(&mut self) {
        self.0.call.store(true, Relaxed);
    }

    fn latency_changed(&mut self, _: u32) {}

    fn tail_changed(&mut self, _: u64) {}

    fn restart(&mut self) {
        self.0.restart.store(true, Relaxed);
    }
}
