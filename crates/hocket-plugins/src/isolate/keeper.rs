//! What an isolated plug-in has beside the audio thread: the thread that wakes and watches its process, and its main side.

use std::any::Any;
use std::os::fd::OwnedFd;
use std::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hocket_dsp::host::{BackgroundWork, MainSide, NoState, StateError, WorkAnswers};
use rustix::thread::futex;

use super::mail::{Order, Reply};
use super::memory::Memory;
use super::process::{Launch, Patient, Refusal, Running};
use super::slots::{Shape, Slots, slots_for};
use super::{Isolation, MOST_STARTS, Pace, Record, WELL_S, lock};
use crate::extra::channels;
use crate::{Description, Wanted};

/// How long a wait for answers lasts before it looks around.
const LISTEN: Duration = Duration::from_millis(100);
/// How often a wait for a process that rings no bell looks.
const LOOK: Duration = Duration::from_micros(50);

/// What the halves of an isolated plug-in share in the engine's process.
pub struct Link {
    memory: Memory,
    shape: Shape,
    /// The number of the last request; `SENT` in the memory is a copy of it. Relaxed: each number stands for itself.
    sent: AtomicU32,
    /// Requests up to here are lost with a process that ended. Relaxed: the store of `DONE` behind it publishes it (I2).
    base: AtomicU32,
    /// Whether the thread beside is asked to wake the process (I3).
    asked: AtomicBool,
    /// What the audio thread found wrong: the request's number, and [`Fault`]. Relaxed: it stands for itself, as all below.
    fault: AtomicU64,
    bypassed: AtomicBool,
    /// Frames with an answer.
    heard: AtomicU64,
    /// Values of parameters, as bits.
    values: Box<[AtomicU32]>,
    pub(super) record: Record,
}

/// What the audio thread finds wrong with a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    NotFinite = 1,
    Damaged = 2,
}

impl Link {
    /// Memory for a plug-in, and its file.
    ///
    /// # Errors
    /// The system grants none. The text is for users.
    pub fn new(
        isolation: &Isolation,
        plugin: &Description,
        wanted: &Wanted<'_>,
    ) -> Result<(Link, OwnedFd), String> {
        let count = slots_for(isolation.frames as usize);
        let shape =
            Shape { count, extra: channels(&plugin.extra_outputs), sends: plugin.sends_events };
        let (memory, file) = Memory::create(shape.words())
            .map_err(|error| format!("there is no memory to share with its process: {error}"))?;
        // Touched now, so that no block is the first to do so.
        memory.words().iter().for_each(|word| word.store(0, Relaxed));
        let param = |(index, param): (usize, &crate::Param)| {
            let value = wanted.values.get(index).copied().unwrap_or_else(|| param.default_value());
            AtomicU32::new(value.to_bits())
        };
        let values = plugin.params.iter().enumerate().map(param).collect();
        let link = Link {
            memory,
            shape,
            sent: AtomicU32::new(0),
            base: AtomicU32::new(0),
            asked: AtomicBool::new(false),
            fault: AtomicU64::new(0),
            bypassed: AtomicBool::new(false),
            heard: AtomicU64::new(0),
            values,
            record: Record { title: plugin.title.clone(), ..Record::default() },
        };
        link.slots().write_header();
        Ok((link, file))
    }

    pub fn slots(&self) -> Slots<'_> {
        // It was made for these.
        Slots::new(self.memory.words(), self.shape).unwrap_or_else(|| unreachable!())
    }

    pub fn values(&self) -> Vec<u32> {
        self.values.iter().map(|value| value.load(Relaxed)).collect()
    }

    /// A parameter has another value, with which the plug-in would start again.
    pub fn set_value(&self, index: usize, value: f32) {
        if let Some(place) = self.values.get(index).filter(|_| !value.is_nan()) {
            place.store(value.to_bits(), Relaxed);
        }
    }

    pub fn base(&self) -> u32 {
        self.base.load(Relaxed)
    }

    pub fn is_bypassed(&self) -> bool {
        self.bypassed.load(Relaxed)
    }

    pub fn add_heard(&self, frames: usize) {
        self.heard.fetch_add(frames as u64, Relaxed);
    }

    pub fn report(&self, number: u32, fault: Fault) {
        self.fault.store((u64::from(number) << 32) | fault as u64, Relaxed);
    }

    /// What was reported of the process that there is; `None`: nothing.
    fn take_fault(&self) -> Option<Fault> {
        let fault = self.fault.swap(0, Relaxed);
        let (number, is_old) = ((fault >> 32) as u32, u32::MAX / 2);
        let is_ours = number.wrapping_sub(self.base()).wrapping_sub(1) <= is_old;
        [Fault::NotFinite, Fault::Damaged]
            .into_iter()
            .find(|one| is_ours && *one as u32 == fault as u32)
    }

    /// A request is in its slot.
    ///
    /// Thread: the processor's.
    pub fn send(&self, number: u32) {
        self.sent.store(number, Relaxed);
        // Release: publishes the slot (I1).
        self.slots().sent().store(number, Release);
    }

    /// Whether the thread beside has to be asked to wake the process. AcqRel: publishes `SENT` to that thread, also where
    /// it was asked before (I3).
    pub fn must_ask(&self) -> bool {
        !self.asked.swap(true, AcqRel)
    }

    /// The thread beside is here. AcqRel: what was sent before the question is seen by the process that it wakes (I3).
    fn take_asked(&self) {
        self.asked.swap(false, AcqRel);
    }

    /// Wakes the process, if it sleeps.
    pub fn wake(&self) {
        let _ = futex::wake(self.slots().sent(), futex::Flags::empty(), u32::MAX);
    }

    /// How many requests have no answer, and the number of the last answer. What makes no sense counts as none answered.
    fn open(&self) -> (u32, u32) {
        // Acquire: of the process's store (I2). Nothing is read behind it here.
        let (sent, done) = (self.sent.load(Relaxed), self.slots().done().load(Acquire));
        (sent.wrapping_sub(done), done)
    }

    /// What was sent is lost. Nobody else writes `DONE`: the process has ended.
    fn forget(&self) {
        let sent = self.sent.load(Relaxed);
        self.base.store(sent, Relaxed);
        self.slots().write_header();
        // The process may have written over it. A newer number replaces it soon.
        self.slots().sent().store(sent, Release);
        // Release: publishes `base` to the processor (I2).
        self.slots().done().store(sent, Release);
        self.fault.store(0, Relaxed);
    }
}

/// The process; `None` once it is given up.
pub type Shared = Arc<Mutex<Option<Running>>>;

/// Wakes the process after a block, and looks after it.
pub struct Keeper {
    link: Arc<Link>,
    launch: Arc<Launch>,
    running: Shared,
    /// Failures in a row, and frames with an answer before the last of them.
    failures: u32,
    heard: u64,
    /// Whether the thread has requested its priority.
    requested: bool,
    /// The last answer, and since when there was no newer one although requests are open.
    since: Option<(u32, Instant)>,
}

impl Keeper {
    pub fn new(link: Arc<Link>, launch: Arc<Launch>, running: Shared) -> Keeper {
        Keeper { link, launch, running, failures: 0, heard: 0, requested: false, since: None }
    }

    /// What is wrong with the process, behind the plug-in's name; `None`: nothing.
    fn trouble(&mut self) -> Option<String> {
        match self.link.take_fault() {
            Some(Fault::NotFinite) => return Some("put out samples that are not finite".into()),
            Some(Fault::Damaged) => {
                return Some("wrote over the memory that it shares with the engine".into());
            }
            None => {}
        }
        // While the main side speaks with it, that side sees its end.
        if let Ok(mut running) = self.running.try_lock()
            && let Some(how) = running.as_mut().and_then(|running| running.ended(Duration::ZERO))
        {
            return Some(how);
        }
        self.hangs().then(|| {
            format!("gave no answer for {} s", self.launch.isolation.patience.answer.as_secs_f64())
        })
    }

    fn hangs(&mut self) -> bool {
        let (open, done) = self.link.open();
        let since = match self.since.filter(|(last, _)| open > 0 && *last == done) {
            Some((_, since)) => since,
            None => Instant::now(),
        };
        self.since = (open > 0).then_some((done, since));
        open > 0 && since.elapsed() > self.launch.isolation.patience.answer
    }

    /// A wake-up must not wait for other programs. In real time a thread of its own does all this.
    fn request(&mut self) {
        let isolation = &self.launch.isolation;
        if let (false, Some(priority)) =
            (std::mem::replace(&mut self.requested, true), isolation.priority)
        {
            (isolation.request)(priority);
        }
    }

    /// Waits until all requests have answers.
    fn wait(&mut self, answers: &dyn WorkAnswers) -> Option<String> {
        loop {
            if let Some(trouble) = self.trouble() {
                return Some(trouble);
            }
            if self.link.open().0 == 0 || answers.is_ending() {
                return None;
            }
            if self.launch.isolation.pace == Pace::RealTime {
                // Such a process rings no bell, because nobody waits for it as a rule.
                std::thread::sleep(LOOK);
            } else if let Some(running) = &mut *lock(&self.running) {
                running.listen(LISTEN);
            }
        }
    }

    /// Ends the process and starts another one, unless it failed too often.
    fn start_again(&mut self, trouble: String, answers: &dyn WorkAnswers) {
        // Relaxed: as the field says.
        let heard = self.link.heard.load(Relaxed);
        if heard - self.heard > WELL_S * u64::from(self.launch.rate_hz()) {
            self.failures = 0;
        }
        self.heard = heard;
        let mut why = trouble;
        let running = Arc::clone(&self.running);
        let mut running = lock(&running);
        loop {
            if let Some(running) = running.take() {
                running.kill();
            }
            self.link.forget();
            self.since = None;
            self.failures += 1;
            let record = &self.link.record;
            *lock(&record.why) = Some(why.clone());
            if self.failures > MOST_STARTS {
                record.bypassed.store(true, Relaxed);
                self.link.bypassed.store(true, Relaxed);
                return self.tell(&format!(
                    "{why}; it failed {} times in a row and is bypassed from now on",
                    self.failures
                ));
            }
            match self.launch.start(&self.link, &|| answers.is_ending()) {
                Ok((started, _)) => {
                    *running = Some(started);
                    record.restarts.fetch_add(1, Relaxed);
                    let nth = self.failures;
                    return self.tell(&format!("{why}; started again ({nth} of {MOST_STARTS})"));
                }
                Err(_) if answers.is_ending() => return self.tell(&why),
                Err(refusal) => {
                    self.tell(&why);
                    let what = match refusal {
                        Refusal::Process(what) => what,
                        Refusal::Plugin(why) => format!("did not start: {why}"),
                    };
                    why = format!("{what}, when it was started again");
                }
            }
        }
    }

    fn tell(&self, what: &str) {
        let record = &self.link.record;
        let node = lock(&record.node).clone();
        (self.launch.isolation.tell)(&format!("{node}: the plug-in '{}' {what}", record.title));
    }
}

impl BackgroundWork for Keeper {
    fn work(&mut self, _: &[u8], answers: &mut dyn WorkAnswers) {
        self.link.take_asked();
        if self.link.is_bypassed() {
            return;
        }
        let Isolation { pace, group, .. } = &self.launch.isolation;
        let trouble = match *pace == Pace::Offline || group.waits() {
            true => {
                group.wake();
                self.wait(&*answers)
            }
            false => {
                self.request();
                self.link.wake();
                self.trouble()
            }
        };
        if let Some(trouble) = trouble {
            self.start_again(trouble, &*answers);
        }
        if self.launch.isolation.pace == Pace::Offline {
            // Tells the processor that another block begins. There is room.
            let _ = answers.answer(&[]);
        }
    }
}

/// Saves and loads.
pub struct Side {
    link: Arc<Link>,
    launch: Arc<Launch>,
    running: Shared,
    token: u32,
    largest: usize,
    /// Of the plug-in at first.
    latency: u32,
}

/// A state that the process has loaded, under its number.
pub struct Loaded(pub u32);

impl Side {
    pub fn new(link: Arc<Link>, launch: Arc<Launch>, running: Shared, latency: u32) -> Side {
        let largest = launch.isolation.frames as usize;
        Side { link, launch, running, token: 0, largest, latency }
    }

    fn ask(&self, order: &Order, bytes: &[u8]) -> Result<(Reply, Vec<u8>), StateError> {
        let mut running = lock(&self.running);
        let running = running.as_mut().ok_or("the plug-in is bypassed because it failed")?;
        let until = Instant::now() + self.launch.isolation.patience.start;
        let patience = Patient { until, is_ending: &|| self.link.is_bypassed() };
        let asked = running.ask(order, bytes, &patience);
        Ok(asked.map_err(|why| format!("the plug-in {why}"))?)
    }
}

impl MainSide for Side {
    fn save(&mut self) -> Result<Vec<u8>, StateError> {
        match self.ask(&Order::Save, &[])? {
            (Reply::Saved, state) => {
                *lock(&self.launch.state) = Some(state.clone());
                Ok(state)
            }
            (Reply::NoState, _) => Err(NoState.into()),
            (Reply::Refused(why), _) => Err(why.into()),
            _ => Err("the plug-in's process answers nonsense".into()),
        }
    }

    fn load(&mut self, state: &[u8]) -> Result<Box<dyn Any + Send>, StateError> {
        self.token += 1;
        match self.ask(&Order::Load { token: self.token }, state)? {
            (Reply::Loaded, _) => {
                *lock(&self.launch.state) = Some(state.to_vec());
                Ok(Box::new(Loaded(self.token)))
            }
            (Reply::Refused(why), _) => Err(why.into()),
            _ => Err("the plug-in's process answers nonsense".into()),
        }
    }

    fn grow(&mut self, frames: usize) -> Option<Box<dyn Any + Send>> {
        let grows = frames > self.largest;
        self.largest = self.largest.max(frames);
        grows.then(|| Box::new(super::processor::Longer::new(frames, self.latency)) as _)
    }
}
