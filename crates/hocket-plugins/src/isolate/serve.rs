//! The process of an isolated plug-in.
//!
//! | thread | what it does |
//! |---|---|
//! | the first | makes the plug-in, then calls its main side |
//! | `orders` | reads messages; where they end, the engine's process has ended, and so does this one |
//! | `audio` | waits at `SENT`, processes, and answers |
//! | `background` | background work, while the engine plays in real time |

use std::any::Any;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hocket_dsp::host::{
    BackgroundWork, Host, MainRequests, MainSide, NoState, WorkAnswers, WorkRefused, WorkRequests,
    WorkRoom,
};
use hocket_dsp::{Block, Change, EventsOut, MoreRows, RowsMut, StereoMut, StereoRef, TimedChange};
use hocket_time::{EventBuffer, Pushed};
use rustix::process::{Resource, Rlimit, Signal, getpid, getrlimit, kill_process, setrlimit};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use rustix::thread::futex;

use super::mail::{Facts, Job, Order, Reply, encoded, read};
use super::memory::Memory;
use super::slots::{
    Answer, EVENT_WORDS, FRAMES, Request, Shape, Slots, flags, read_row, write_row,
};
use super::words::{Reader, SONG_WORDS, read_event, read_song, write_all};
use super::{Hosted, Pace, lock};
use crate::description::Format;
use crate::extra::channels;
use crate::song::SongClock;
use crate::{clap, lv2, vst3};

/// How long the plug-in may take to end.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long its audio thread may run without a break, if it is a real-time thread.
const REAL_TIME: Duration = Duration::from_secs(2);
/// The most changes of a request.
const CHANGES: usize = EVENT_WORDS / 3;

/// Runs the audio thread of the process: gives it the class for this priority, and the engine's way with denormals.
pub type AudioThread = fn(Option<u8>, &mut dyn FnMut());

/// Serves a plug-in until the engine's process ends or wants no more.
///
/// Thread: the first of the process, in which nothing else runs.
///
/// # Errors
/// What the engine's process sent makes no sense.
pub fn serve(audio_thread: AudioThread) -> io::Result<()> {
    let (mut control, memory, bell) = take_over()?;
    let (to_main, asks) = channel();
    let (order, state) = read::<Order>(&mut control)?;
    let Order::Start(job) = order else { return Err(nonsense("an order without a plug-in")) };
    let orders = (control.try_clone()?, to_main.clone());
    std::thread::Builder::new().name("orders".into()).spawn(move || listen(orders.0, &orders.1))?;
    let (extra, sends) = (channels(&job.plugin.extra_outputs), job.plugin.sends_events);
    let shape = Shape { count: job.slots, extra, sends };
    let memory = Memory::open(&memory, shape.words())?;
    let mut hosted = match build(&job, job.has_state.then_some(&state)) {
        Ok(hosted) => hosted,
        Err(why) => return control.write_all(&encoded(&Reply::Refused(why), &[])),
    };
    let (mut halves, facts) = (Halves::new(job.pace, to_main.clone()), facts(&*hosted));
    hosted.join(&mut halves);
    let Halves { side, work, asked, .. } = halves;
    let ending = Arc::new(AtomicBool::new(false));
    let (loaded, memory) = (Loaded::default(), Arc::new(memory));
    let audio = Audio {
        memory: Arc::clone(&memory),
        bell,
        hosted,
        work,
        asked,
        loaded: Arc::clone(&loaded),
        to_main: to_main.clone(),
        ending: Arc::clone(&ending),
        latency: facts.latency,
        job: *job,
        shape,
        rows: std::array::from_fn(|_| vec![0.0; FRAMES]),
        extra: vec![0.0; shape.extra * FRAMES],
        changes: Vec::with_capacity(CHANGES),
        events: EventBuffer::new(EVENT_WORDS, 4 * EVENT_WORDS),
        sent: sends.then(|| EventBuffer::new(EVENT_WORDS, 4 * EVENT_WORDS)),
        refused: 0,
    };
    let priority = audio.job.priority;
    if priority.is_some() {
        bound_real_time();
    }
    let named = std::thread::Builder::new().name("audio".into());
    let (begun, begins) = channel();
    let thread = named.spawn(move || {
        let (mut audio, mut result) = (audio, Ok(()));
        let _over = Over(to_main);
        audio_thread(priority, &mut || {
            let _ = begun.send(());
            result = audio.run();
        });
        result
    })?;
    // Its class may take time.
    let _ = begins.recv();
    control.write_all(&encoded(&Reply::Ready(facts), &[]))?;
    main_thread(&asks, side, &loaded, &mut control);
    ending.store(true, Relaxed);
    if let Some(slots) = Slots::new(memory.words(), shape) {
        let _ = futex::wake(slots.sent(), futex::Flags::empty(), u32::MAX);
    }
    thread.join().unwrap_or_else(|_| Err(nonsense("the audio thread panicked")))
}

/// A real-time thread that never blocks could keep the engine's process from ending it. So the system ends it.
fn bound_real_time() {
    let Rlimit { current, maximum } = getrlimit(Resource::Rttime);
    let bound = REAL_TIME.as_micros() as u64;
    let current = Some(current.map_or(bound, |current| current.min(bound)));
    // Where the system refuses, its own bounds hold.
    let _ = setrlimit(Resource::Rttime, Rlimit { current, maximum });
}

fn nonsense(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Moves what the standard streams are away, so that nothing that the plug-in prints gets there.
fn take_over() -> io::Result<(UnixStream, OwnedFd, UnixStream)> {
    use std::os::fd::AsFd;
    let control = io::stdin().as_fd().try_clone_to_owned()?;
    let bell = io::stdout().as_fd().try_clone_to_owned()?;
    let memory = io::stderr().as_fd().try_clone_to_owned()?;
    let nowhere = File::options().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&nowhere)?;
    dup2_stdout(&nowhere)?;
    dup2_stderr(&nowhere)?;
    let bell = UnixStream::from(bell);
    bell.set_nonblocking(true)?;
    Ok((UnixStream::from(control), memory, bell))
}

/// The life of the thread `orders`.
fn listen(mut control: UnixStream, to_main: &Sender<Ask>) {
    while let Ok((order, bytes)) = read::<Order>(&mut control) {
        let _ = to_main.send(Ask::Order(order, bytes));
    }
    let _ = to_main.send(Ask::End);
    // A plug-in that hangs does not keep the process.
    std::thread::sleep(PATIENCE);
    let _ = kill_process(getpid(), Signal::KILL);
}

fn build(job: &Job, state: Option<&Vec<u8>>) -> Result<Box<dyn Hosted>, String> {
    let values: Vec<f32> = job.values.iter().copied().map(f32::from_bits).collect();
    let (library, id) = (job.plugin.library.as_path(), job.plugin.id());
    let state = state.map(Vec::as_slice);
    match Format::of_kind(&job.plugin.kind) {
        Some((Format::Clap, _)) => clap::hosted(library, id, &values, job.rate_hz, state),
        Some((Format::Vst3, _)) => vst3::hosted(library, id, &values, job.rate_hz, state),
        _ => lv2::hosted(library, id, &values, job.rate_hz, state),
    }
}

fn facts(hosted: &dyn Hosted) -> Facts {
    Facts { latency: hosted.latency_frames(), keeps_time: hosted.keeps_time() }
}

/// What the first thread is asked.
enum Ask {
    Order(Order, Vec<u8>),
    /// Call the main side; the answer says that it has returned.
    Called(Option<Sender<()>>),
    /// Free what the processor no longer needs.
    Free(Box<dyn Any + Send>),
    End,
}

/// Ends the process with the audio thread, however that ends.
struct Over(Sender<Ask>);

impl Drop for Over {
    fn drop(&mut self) {
        let _ = self.0.send(Ask::End);
    }
}

/// States that are loaded and not yet played, by their numbers.
type Loaded = Arc<Mutex<HashMap<u32, Box<dyn Any + Send>>>>;

/// Calls the main side until the end.
fn main_thread(
    asks: &Receiver<Ask>,
    mut side: Option<Box<dyn MainSide>>,
    loaded: &Loaded,
    control: &mut UnixStream,
) {
    for ask in asks {
        let reply = match ask {
            Ask::End => return,
            Ask::Free(made) => {
                drop(made);
                continue;
            }
            Ask::Called(done) => {
                side.iter_mut().for_each(|side| side.called());
                done.into_iter().for_each(|done| _ = done.send(()));
                continue;
            }
            Ask::Order(Order::Start(_), _) => return,
            Ask::Order(Order::Save, _) => save(side.as_deref_mut()),
            Ask::Order(Order::Load { token }, state) => {
                load(side.as_deref_mut(), (token, &state), loaded)
            }
        };
        if control.write_all(&reply).is_err() {
            return;
        }
    }
}

fn save(side: Option<&mut (dyn MainSide + '_)>) -> Vec<u8> {
    match side.map_or_else(|| Err(NoState.into()), |side| side.save()) {
        Ok(state) => encoded(&Reply::Saved, &state),
        Err(error) if error.is::<NoState>() => encoded(&Reply::NoState, &[]),
        Err(error) => encoded(&Reply::Refused(error.to_string()), &[]),
    }
}

fn load(
    side: Option<&mut (dyn MainSide + '_)>,
    (token, state): (u32, &[u8]),
    loaded: &Loaded,
) -> Vec<u8> {
    let made = match side {
        Some(side) => side.load(state).map_err(|error| error.to_string()),
        None => Err("this plug-in loads no state".into()),
    };
    match made {
        Ok(made) => {
            lock(loaded).insert(token, made);
            encoded(&Reply::Loaded, &[])
        }
        Err(why) => encoded(&Reply::Refused(why), &[]),
    }
}

/// The audio thread.
struct Audio {
    memory: Arc<Memory>,
    bell: UnixStream,
    hosted: Box<dyn Hosted>,
    work: Option<Work>,
    asked: Arc<Asked>,
    loaded: Loaded,
    to_main: Sender<Ask>,
    ending: Arc<AtomicBool>,
    latency: u32,
    job: Job,
    shape: Shape,
    /// Left, right, and both of the side chain.
    rows: [Vec<f32>; 4],
    /// The rows of extra outputs, one after the other.
    extra: Vec<f32>,
    changes: Vec<TimedChange>,
    events: EventBuffer,
    /// What it sends in a request; `None`: it sends nothing.
    sent: Option<EventBuffer>,
    /// How many events of that have found no room so far.
    refused: u64,
}

impl Audio {
    fn run(&mut self) -> io::Result<()> {
        let memory = Arc::clone(&self.memory);
        let slots = Slots::new(memory.words(), self.shape).filter(|slots| slots.has_header());
        let slots = slots.ok_or_else(|| nonsense("no slots of this version"))?;
        let mut served = self.skip(slots)?;
        while !self.ending.load(Relaxed) {
            // Acquire: of the engine's store (I1). The slots up to here are ours.
            let sent = slots.sent().load(Acquire);
            match sent.wrapping_sub(served) as usize {
                0 => _ = futex::wait(slots.sent(), futex::Flags::empty(), sent, None),
                open if open > slots.count() => return Err(nonsense("more requests than slots")),
                _ => {
                    served = served.wrapping_add(1);
                    let request = slots.request(served);
                    self.one(slots, &request.ok_or_else(|| nonsense("no request"))?);
                    self.finish(slots, served);
                }
            }
        }
        Ok(())
    }

    /// Requests that came before the process was ready are late already.
    fn skip(&mut self, slots: Slots<'_>) -> io::Result<u32> {
        let mut served = self.job.base;
        // Acquire: as above.
        let sent = slots.sent().load(Acquire);
        // In a render nobody is late.
        if self.job.pace == Pace::RealTime {
            if sent.wrapping_sub(served) as usize > slots.count() {
                return Err(nonsense("more requests than slots"));
            }
            while served != sent {
                served = served.wrapping_add(1);
                let latency = self.latency;
                let answer =
                    Answer { number: served, flags: flags::SKIPPED, latency, ..Answer::default() };
                slots.write_answer(&Answer { frames: frames_of(slots, served), ..answer });
            }
        }
        self.finish(slots, served);
        Ok(served)
    }

    fn finish(&mut self, slots: Slots<'_>, served: u32) {
        // Release: publishes the answer (I2).
        slots.done().store(served, Release);
        if self.job.pace == Pace::Offline {
            // A bell that is full has rung.
            let _ = self.bell.write(&[0]);
        }
    }

    /// One request.
    fn one(&mut self, slots: Slots<'_>, request: &Request) {
        self.before(request);
        let mut events = Reader::new(&slots.events(request.number)[..request.used as usize]);
        let mut lost = self.take_events(request, &mut events);
        let frames = request.frames as usize;
        for (row, into) in self.rows.iter_mut().enumerate() {
            read_row(slots.row(request.number, row), &mut into[..frames]);
        }
        let is = |flag: u32| request.flags & flag != 0;
        let song = is(flags::SONG).then(|| song(slots, request.number)).flatten();
        let [left, right, key_left, key_right] = &mut self.rows;
        let right = if is(flags::MONO) { &mut [][..] } else { &mut right[..frames] };
        let key_right = if is(flags::MONO_KEY) { &[][..] } else { &key_right[..frames] };
        let key = StereoRef { left: &key_left[..frames], right: key_right };
        let mut block = Block::new(StereoMut { left: &mut left[..frames], right });
        block.side_chain = is(flags::KEY).then_some(key);
        block.events = &self.changes;
        block.events_in = Some(&self.events);
        self.extra.fill(0.0);
        let extra = RowsMut::new(&mut self.extra, FRAMES, frames);
        let mut more = MoreRows { extra, ..MoreRows::default() };
        block.more = Some(&mut more);
        block.events_out = self.sent.as_mut().map(|sent| {
            sent.clear();
            EventsOut::new(sent, frames)
        });
        self.hosted.process_told(&mut block, song);
        let extra = self.extra.chunks_exact(FRAMES);
        let rows = self.rows.iter().take(2).map(Vec::as_slice).chain(extra);
        for (row, from) in rows.enumerate() {
            write_row(&from[..frames], slots.answer_row(request.number, row));
        }
        let (used, unsent) = self.write_sent(slots, request.number);
        lost += self.asked.lost.swap(0, Relaxed) + unsent;
        let answer = self.answer(request, lost);
        slots.write_answer(&Answer { used, ..answer });
    }

    /// Writes what the plug-in has sent. Returns how many words that has, and how many events found no room.
    fn write_sent(&mut self, slots: Slots<'_>, number: u32) -> (u32, u64) {
        let Some(sent) = &self.sent else { return (0, 0) };
        let (used, lost) = write_all(sent, slots.answer_events(number));
        let all = sent.counts().refused;
        (used, lost + all - std::mem::replace(&mut self.refused, all))
    }

    /// What comes before a block.
    fn before(&mut self, request: &Request) {
        if request.flags & flags::EXCHANGE != 0
            && let Some(mut made) = lock(&self.loaded).remove(&request.token)
        {
            self.hosted.exchange(&mut *made);
            let _ = self.to_main.send(Ask::Free(made));
        }
        let is_offline = self.job.pace == Pace::Offline;
        // Offline, as in an engine: before each of its blocks, all that was asked for is done.
        if is_offline && request.flags & flags::BLOCK != 0 {
            if let Some(work) = &mut self.work {
                work.run_all();
            }
            if self.asked.call.swap(false, Relaxed) {
                let (done, wait) = channel();
                let _ = self.to_main.send(Ask::Called(Some(done)));
                let _ = wait.recv();
            }
        }
        if !is_offline || request.flags & flags::BLOCK != 0 {
            let answers = self.work.iter().flat_map(|work| work.answers.try_iter());
            answers.for_each(|answer| self.hosted.answered(&answer));
        }
    }

    /// Takes what the request says of parameters and events, and resets. Returns how many events found no room.
    fn take_events(&mut self, request: &Request, from: &mut Reader<'_>) -> u64 {
        self.changes.clear();
        self.events.clear();
        for _ in 0..request.presets.min(EVENT_WORDS as u32) {
            let (Some(index), Some(value)) = (from.word(), from.word()) else { return 1 };
            let (index, value) = (index as u16, f32::from_bits(value));
            self.hosted.preset(Change::Param { index, value });
        }
        if request.flags & flags::RESET != 0 {
            self.hosted.reset();
        }
        let last = request.frames - 1;
        for _ in 0..request.changes.min(CHANGES as u32) {
            let (Some(frame), Some(index), Some(value)) = (from.word(), from.word(), from.word())
            else {
                return 1;
            };
            let change = Change::Param { index: index as u16, value: f32::from_bits(value) };
            self.changes.push(TimedChange { frame: frame.min(last), change });
        }
        let mut lost = 0;
        while let Some(pushed) = read_event(from, &mut self.events) {
            lost += u64::from(pushed == Pushed::Refused);
        }
        lost
    }

    fn answer(&mut self, request: &Request, lost: u64) -> Answer {
        let asked = &self.asked;
        // Relaxed: this thread alone sets them in its calls of the plug-in.
        let latency = asked.latency.swap(0, Relaxed);
        if latency > 0 {
            self.latency = (latency - 1) as u32;
        }
        let mut answer = Answer {
            number: request.number,
            frames: request.frames,
            flags: 0,
            latency: self.latency,
            tail: asked.tail.load(Relaxed),
            used: 0,
            lost: lost.min(u64::from(u32::MAX)) as u32,
        };
        if asked.failed.swap(0, Relaxed) > 0 {
            answer.flags |= flags::FAILED;
        }
        if asked.restart.swap(false, Relaxed) {
            answer.flags |= flags::RESTART;
        }
        if asked.has_tail.swap(false, Relaxed) {
            answer.flags |= flags::TAIL;
        }
        if self.job.pace == Pace::RealTime && asked.call.swap(false, Relaxed) {
            let _ = self.to_main.send(Ask::Called(None));
        }
        answer
    }
}

fn frames_of(slots: Slots<'_>, number: u32) -> u32 {
    slots.request(number).map_or(0, |request| request.frames)
}

fn song(slots: Slots<'_>, number: u32) -> Option<SongClock<'static>> {
    let mut from = Reader::new(&slots.song(number)[..2 * SONG_WORDS]);
    Some(SongClock::Told { start: read_song(&mut from)?, end: read_song(&mut from)? })
}

/// What the processor asks for. Relaxed: the audio thread writes and reads it.
#[derive(Default)]
struct Asked {
    call: AtomicBool,
    restart: AtomicBool,
    /// In frames and one more; 0: nothing new.
    latency: AtomicU64,
    has_tail: AtomicBool,
    tail: AtomicU64,
    failed: AtomicU32,
    lost: AtomicU64,
}

/// What the processor hands over when it joins.
struct Halves {
    pace: Pace,
    side: Option<Box<dyn MainSide>>,
    work: Option<Work>,
    asked: Arc<Asked>,
    to_main: Sender<Ask>,
}

/// Background work: the ends of its messages, and offline the work itself.
struct Work {
    answers: Receiver<Vec<u8>>,
    /// `None`: a thread has it.
    here: Option<Worker>,
}

struct Worker {
    work: Box<dyn BackgroundWork>,
    requests: Receiver<Vec<u8>>,
    answers: Answers,
}

impl Worker {
    fn one(&mut self, request: &[u8]) {
        self.work.work(request, &mut self.answers);
    }
}

impl Work {
    fn run_all(&mut self) {
        let Some(worker) = &mut self.here else { return };
        while let Ok(request) = worker.requests.try_recv() {
            worker.one(&request);
        }
    }
}

impl Halves {
    fn new(pace: Pace, to_main: Sender<Ask>) -> Halves {
        Halves { pace, side: None, work: None, asked: Arc::default(), to_main }
    }
}

impl Host for Halves {
    fn largest_block(&self) -> usize {
        FRAMES
    }

    fn background(
        &mut self,
        work: Box<dyn BackgroundWork>,
        room: WorkRoom,
    ) -> Box<dyn WorkRequests> {
        let (send, requests) = sync_channel(room.messages.max(1));
        let (answer, answers) = sync_channel(room.messages.max(1));
        let mut worker = Worker { work, requests, answers: Answers { to: answer, room } };
        let here = match self.pace {
            Pace::Offline => Some(worker),
            Pace::RealTime => {
                let over = Over(self.to_main.clone());
                let run = move || {
                    let _over = over;
                    while let Ok(request) = worker.requests.recv() {
                        worker.one(&request);
                    }
                };
                // Without the thread, requests find no room.
                let _ = std::thread::Builder::new().name("background".into()).spawn(run);
                None
            }
        };
        self.work = Some(Work { answers, here });
        Box::new(Requests { to: send, room })
    }

    fn main_side(&mut self, side: Box<dyn MainSide>) -> Box<dyn MainRequests> {
        self.side = Some(side);
        Box::new(Asks(Arc::clone(&self.asked)))
    }
}

/// Messages are allocated: this process is no engine, and its plug-in asks for work rarely.
fn send(to: &SyncSender<Vec<u8>>, room: WorkRoom, bytes: &[u8]) -> Result<(), WorkRefused> {
    if bytes.len() > room.bytes {
        return Err(WorkRefused::TooLong);
    }
    to.try_send(bytes.to_vec()).map_err(|error| match error {
        TrySendError::Full(_) => WorkRefused::Full,
        TrySendError::Disconnected(_) => WorkRefused::Ended,
    })
}

struct Requests {
    to: SyncSender<Vec<u8>>,
    room: WorkRoom,
}

impl WorkRequests for Requests {
    fn request(&mut self, request: &[u8]) -> Result<(), WorkRefused> {
        send(&self.to, self.room, request)
    }
}

struct Answers {
    to: SyncSender<Vec<u8>>,
    room: WorkRoom,
}

impl WorkAnswers for Answers {
    fn answer(&mut self, answer: &[u8]) -> Result<(), WorkRefused> {
        send(&self.to, self.room, answer)
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

    fn latency_changed(&mut self, frames: u32) {
        self.0.latency.store(u64::from(frames) + 1, Relaxed);
    }

    fn tail_changed(&mut self, frames: u64) {
        self.0.tail.store(frames, Relaxed);
        self.0.has_tail.store(true, Relaxed);
    }

    fn restart(&mut self) {
        self.0.restart.store(true, Relaxed);
    }

    fn failed(&mut self) {
        self.0.failed.fetch_add(1, Relaxed);
    }

    fn events_lost(&mut self, events: u64) {
        self.0.lost.fetch_add(events, Relaxed);
    }
}
