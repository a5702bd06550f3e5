//! A take of events: notes and messages on their way into a MIDI file.
//!
//! The real-time end hands over events as they are, and the recorder's thread makes messages of them. Whether the input is
//! gone is seen by what both share: only the drop of the input gives its half of [`Alive`] back.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use hocket_rt::{RingReader, RingWriter};
use hocket_time::{
    EventBuffer, EventKind, MeterPoint, Midi1, Note, NoteAction, Sounding, SoundingNotes, TempoMap,
    TempoPoint, midi2_to_midi1,
};

use hocket_media::WriteError;

use super::midi_file::MidiTakeFile;
use super::missing::{Missing, MissingReader, MissingWriter, missing};
use super::note_ids::NoteIds;
use super::recorder::{Job, Pending, panicked};
use super::take::{EventsReport, TakeReport};
use crate::feeder::lock;

/// Events that find room while the disk does not answer: minutes of a player, 15 s of dense controllers.
const ROOM: usize = 1 << 15;
/// Bytes of a system-exclusive message that travel together.
const PART_BYTES: usize = 24;
/// How often an input that may wait looks for room.
const LOOK: Duration = Duration::from_millis(2);
/// The system message that ends everything.
const RESET: u8 = 0xff;
/// The tempo of a song that says nothing of it, in quarter notes per minute.
const USUAL_BPM: f64 = 120.0;

/// What to record of events, and where to.
#[derive(Debug, Clone, PartialEq)]
pub struct EventTakeSettings {
    /// The MIDI file. It must not exist: a recording never replaces anything.
    pub path: PathBuf,
    /// The name of the track in it.
    pub name: String,
    /// Frames per second.
    pub sample_rate_hz: u32,
    /// The song's tempos, sorted. None: 120 quarter notes per minute. The file has them, and its ticks follow them.
    pub tempos: Vec<TempoPoint>,
    /// The song's time signatures, sorted.
    pub meters: Vec<MeterPoint>,
    /// How many frames later than they belong the events arrive. They are written so much earlier.
    pub latency_frames: u64,
    /// How many events find room while the disk does not answer. System-exclusive messages count for each 24 bytes.
    pub room: usize,
}

impl EventTakeSettings {
    /// At 120 quarter notes per minute, without latency, with room for 32,768 events.
    pub fn new(path: &std::path::Path, name: &str, sample_rate_hz: u32) -> EventTakeSettings {
        EventTakeSettings {
            path: path.into(),
            name: name.into(),
            sample_rate_hz,
            tempos: Vec::new(),
            meters: Vec::new(),
            latency_frames: 0,
            room: ROOM,
        }
    }

    /// The tempos; at least one.
    pub(super) fn all_tempos(&self) -> Vec<TempoPoint> {
        match self.tempos.is_empty() {
            true => vec![TempoPoint::step(0.0, USUAL_BPM)],
            false => self.tempos.clone(),
        }
    }

    pub(super) fn map(&self) -> Result<TempoMap, WriteError> {
        let map = TempoMap::new(self.sample_rate_hz, &self.all_tempos(), &self.meters);
        map.map_err(|error| {
            WriteError::refused(&self.path, error.to_string(), "give the take the song's tempos")
        })
    }
}

/// Something on its way to the file. Frames count from the take's first one.
#[derive(Debug, Clone, Copy)]
enum Record {
    /// Where the song is at the take's first frame.
    Start { song_frame: i64 },
    /// Anything but a system-exclusive message.
    Event { at: u64, kind: EventKind },
    /// Some bytes of a system-exclusive message.
    Part { at: u64, bytes: [u8; PART_BYTES], count: u8, is_last: bool },
    /// Events before this one found no room.
    Lost { at: u64 },
}

/// What both ends count. Relaxed: they publish nothing.
#[derive(Debug, Default)]
struct Shared {
    /// Frames of the take so far.
    frames: AtomicU64,
    /// The recorder has ended the take.
    has_ended: AtomicBool,
}

/// The half of the input tells by its drop that the input is gone; the recorder's half asks for that
/// ([`Arc::get_mut`], which synchronises with the drop).
#[derive(Debug)]
struct Alive;

/// Takes events for a recording, from one thread at a time.
///
/// Where the disk is too slow, events find no room. They are counted, and all notes that sound end at that place in the file,
/// since the end of one may be among them.
///
/// The drop ends the take: what was given so far is written, and notes that still sound end with it. So does the stop of the
/// recorder; what is given during that may be in the file or not, and what is given after it counts as lost. Drop it on a
/// control thread, since that frees memory.
#[derive(Debug)]
pub struct EventTakeInput {
    records: RingWriter<Record>,
    shared: Arc<Shared>,
    /// Only the input adds.
    lost: Arc<AtomicU64>,
    frames: u64,
    has_begun: bool,
    /// Events were lost since the latest record.
    is_behind: bool,
    missing: MissingWriter,
    /// Declared last: the records come before it.
    _alive: Arc<Alive>,
}

impl EventTakeInput {
    /// Takes the events of some frames of a block, and moves on by as many frames. `song_frame`: where the song is at the first
    /// of these frames; that of the first call is the take's beginning. Returns how many events found room.
    ///
    /// Thread: real-time. Cost: O(events); no allocation, lock or system call.
    pub fn write(&mut self, events: &EventBuffer, frames: Range<u32>, song_frame: i64) -> usize {
        self.write_waiting(events, frames, song_frame, Duration::ZERO)
    }

    /// The same, but waits for room for each event: an offline render is faster than a disk.
    ///
    /// Thread: control.
    pub fn write_waiting(
        &mut self,
        events: &EventBuffer,
        frames: Range<u32>,
        song_frame: i64,
        patience: Duration,
    ) -> usize {
        if !self.has_begun && !frames.is_empty() {
            self.has_begun = self.push(Record::Start { song_frame }, patience);
        }
        let mut stored = 0;
        for event in events.block(frames.end).iter().filter(|event| event.frame >= frames.start) {
            let at = self.frames + u64::from(event.frame - frames.start);
            match self.take(at, event.kind, events, patience) {
                true => stored += 1,
                false => {
                    self.is_behind = true;
                    self.lost.fetch_add(1, Relaxed);
                }
            }
        }
        self.frames += u64::from(frames.end.saturating_sub(frames.start));
        self.shared.frames.store(self.frames, Relaxed);
        stored
    }

    /// Says that frames of the input never arrived between what was given last and what comes next, and with them whatever
    /// messages came in: periods that the device skipped. Nothing takes their place. The first 1,000 places are in the report.
    ///
    /// Thread: real-time. Cost: constant. No allocation or system call; never waits.
    pub fn miss(&mut self, frames: u64) {
        if frames > 0 {
            self.missing.add(Missing { at_frame: self.frames, frames });
        }
    }

    /// All frames so far.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// All events so far that found no room.
    pub fn lost_events(&self) -> u64 {
        self.lost.load(Relaxed)
    }

    /// Whether the event found room.
    fn take(&mut self, at: u64, kind: EventKind, events: &EventBuffer, patience: Duration) -> bool {
        if self.is_behind && !self.push(Record::Lost { at }, patience) {
            return false;
        }
        self.is_behind = false;
        match kind {
            EventKind::SysEx(message) => self.take_bytes(at, events.sysex(message), patience),
            kind => self.push(Record::Event { at, kind }, patience),
        }
    }

    fn push(&mut self, record: Record, patience: Duration) -> bool {
        let mut refused = record;
        let mut waited = Duration::ZERO;
        loop {
            if self.shared.has_ended.load(Relaxed) {
                return false;
            }
            match self.records.push(refused) {
                Ok(()) => return true,
                Err(_) if waited >= patience => return false,
                Err(record) => refused = record,
            }
            std::thread::sleep(LOOK);
            waited += LOOK;
        }
    }

    fn take_bytes(&mut self, at: u64, message: &[u8], patience: Duration) -> bool {
        let parts = message.chunks(PART_BYTES);
        let last = parts.len().saturating_sub(1);
        parts.enumerate().all(|(place, part)| {
            let mut bytes = [0; PART_BYTES];
            // One by one: a block has no copy by the C library.
            bytes.iter_mut().zip(part).for_each(|(to, from)| *to = *from);
            let (count, is_last) = (part.len() as u8, place == last);
            self.push(Record::Part { at, bytes, count, is_last }, patience)
        })
    }
}

/// Makes both ends of a take, and what the recorder's thread runs.
pub(super) fn begin(
    settings: &EventTakeSettings,
    sync_every: Duration,
) -> Result<(EventTakeInput, Box<EventWriting>, Arc<super::take::TakeShared>), WriteError> {
    let map = settings.map()?;
    let file = MidiTakeFile::create(settings)?;
    let (records, reader) = hocket_rt::Ring::new(settings.room.max(2));
    let (shared, alive, lost) = (Arc::new(Shared::default()), Arc::new(Alive), Arc::default());
    let (missing_writer, missing) = missing();
    let missing_counts = missing_writer.counts();
    let input = EventTakeInput {
        records,
        shared: Arc::clone(&shared),
        lost: Arc::clone(&lost),
        frames: 0,
        has_begun: false,
        is_behind: false,
        missing: missing_writer,
        _alive: Arc::clone(&alive),
    };
    let take = Arc::new(super::take::TakeShared::of_events(Arc::clone(&lost), missing_counts));
    let writing = EventWriting {
        path: settings.path.clone(),
        records: reader,
        alive,
        shared,
        lost,
        missing,
        messages: Messages {
            file,
            map,
            latency_frames: settings.latency_frames,
            start: 0,
            at: 0,
            sounding: SoundingNotes::new(),
            ids: NoteIds::default(),
            bytes: Vec::new(),
            written: 0,
            left_out: 0,
        },
        sync_every,
        next_sync: Instant::now() + sync_every,
        error: None,
        report: Pending::of_events(&settings.path, Arc::clone(&take)),
    };
    Ok((input, Box::new(writing), take))
}

/// A take of events while it is written.
pub(super) struct EventWriting {
    path: PathBuf,
    records: RingReader<Record>,
    alive: Arc<Alive>,
    shared: Arc<Shared>,
    lost: Arc<AtomicU64>,
    missing: MissingReader,
    messages: Messages,
    sync_every: Duration,
    next_sync: Instant,
    error: Option<WriteError>,
    report: Pending,
}

impl EventWriting {
    fn fail_on(&mut self, result: Result<(), WriteError>) {
        if let Err(error) = result {
            self.error.get_or_insert(error);
        }
    }

    fn publish(&self, is_safe: bool) {
        let frames = self.shared.frames.load(Relaxed);
        let mut status = lock(&self.report.shared.status);
        (status.frames, status.writing_since) = (frames, None);
        if is_safe {
            status.safe_frames = frames;
        }
        status.error = self.error.as_ref().map(ToString::to_string);
    }
}

impl Job for EventWriting {
    fn work(&mut self, stops: bool) -> bool {
        lock(&self.report.shared.status).writing_since = Some(Instant::now());
        // Before the records: an input that is gone adds none.
        let is_gone = Arc::get_mut(&mut self.alive).is_some();
        self.shared.has_ended.store(stops, Relaxed);
        self.missing.look();
        while let Some(record) = self.records.pop() {
            if self.error.is_none() {
                let taken = self.messages.take(record);
                self.fail_on(taken);
            }
        }
        if stops || is_gone {
            return true;
        }
        if self.error.is_none() {
            // Given to the system at once: then it is there after the end of this process, whatever ends it.
            let written = self.messages.file.flush();
            self.fail_on(written);
        }
        let now = Instant::now();
        let is_due = now >= self.next_sync;
        if is_due {
            self.next_sync = now + self.sync_every;
            if self.error.is_none() {
                let synced = self.messages.file.sync();
                self.fail_on(synced);
            }
        }
        self.publish(is_due && self.error.is_none());
        false
    }

    fn panicked(mut self: Box<Self>) -> Box<dyn Job> {
        self.shared.has_ended.store(true, Relaxed);
        let remedy = "please report this; the file holds what was written before";
        self.error = Some(panicked(&self.path, remedy));
        self
    }

    fn end(mut self: Box<Self>) {
        self.shared.has_ended.store(true, Relaxed);
        let frames = self.shared.frames.load(Relaxed);
        if self.error.is_none() {
            let finished = self.messages.end(frames).and_then(|()| self.messages.file.check_name());
            self.fail_on(finished);
        }
        self.missing.look();
        let EventWriting { path, messages, lost, missing, error, report, .. } = *self;
        messages.file.release();
        let events = EventsReport {
            written: messages.written,
            left_out: messages.left_out,
            lost: lost.load(Relaxed),
        };
        drop(messages);
        let mut status = lock(&report.shared.status);
        (status.frames, status.safe_frames, status.writing_since) = (frames, frames, None);
        status.error = error.as_ref().map(ToString::to_string);
        drop(status);
        report.make(TakeReport {
            frames,
            missing_frames: missing.counts().frames(),
            missing_places: missing.counts().places(),
            missing: missing.into_places(),
            events: Some(events),
            error,
            ..TakeReport::nothing(path)
        });
    }
}

/// Makes messages of events, at the ticks of the song.
struct Messages {
    file: MidiTakeFile,
    map: TempoMap,
    latency_frames: u64,
    /// The song's frame at the take's first one.
    start: i64,
    /// The latest frame.
    at: u64,
    /// What has begun in the file and not ended.
    sounding: SoundingNotes,
    ids: NoteIds,
    /// Of a system-exclusive message that has not come as a whole.
    bytes: Vec<u8>,
    written: u64,
    left_out: u64,
}

impl Messages {
    fn take(&mut self, record: Record) -> Result<(), WriteError> {
        match record {
            Record::Start { song_frame } => {
                self.start = song_frame;
                Ok(())
            }
            Record::Lost { at } => {
                self.bytes.clear();
                self.end_all(at)
            }
            Record::Part { at, bytes, count, is_last } => {
                self.bytes.extend_from_slice(&bytes[..usize::from(count)]);
                if is_last { self.put_bytes(at) } else { Ok(()) }
            }
            Record::Event { at, kind } => self.event(at, kind),
        }
    }

    fn event(&mut self, at: u64, kind: EventKind) -> Result<(), WriteError> {
        match kind {
            EventKind::Midi(message) => self.put_without_id(at, message),
            EventKind::Note(note) => self.note(at, &note),
            EventKind::Ump(packet) => {
                let messages = midi2_to_midi1(&packet);
                if messages.as_slice().is_empty() {
                    self.left_out += 1;
                }
                let mut messages = messages.as_slice().iter();
                messages.try_for_each(|message| self.put_without_id(at, *message))
            }
            EventKind::EndAllNotes => self.end_all(at),
            // Its bytes come in parts.
            EventKind::SysEx(_) => Ok(()),
            // No message of MIDI says which parameter that is.
            EventKind::Param(_) => {
                self.left_out += 1;
                Ok(())
            }
        }
    }

    fn note(&mut self, at: u64, note: &Note) -> Result<(), WriteError> {
        let Some(message) = note.to_midi() else { return self.end_meant(at, note) };
        match note.action {
            NoteAction::On => self.ids.start(note),
            _ => drop(self.ids.end(note)),
        }
        self.put(at, message)
    }

    /// A file has no place for clocks and other system messages. A reset ends what sounds nevertheless.
    fn put_without_id(&mut self, at: u64, message: Midi1) -> Result<(), WriteError> {
        if message.is_system() {
            self.left_out += 1;
            return if message.bytes()[0] == RESET { self.end_all(at) } else { Ok(()) };
        }
        self.ids.watch(message);
        self.put(at, message)
    }

    fn put(&mut self, at: u64, message: Midi1) -> Result<(), WriteError> {
        self.sounding.watch(&EventKind::Midi(message));
        self.written += 1;
        let tick = self.tick(at);
        self.file.push(tick, message)
    }

    fn put_bytes(&mut self, at: u64) -> Result<(), WriteError> {
        let message = std::mem::take(&mut self.bytes);
        self.written += 1;
        let tick = self.tick(at);
        self.file.push_sysex(tick, &message)
    }

    /// An end without a channel or without a key.
    fn end_meant(&mut self, at: u64, note: &Note) -> Result<(), WriteError> {
        if matches!(note.action, NoteAction::On | NoteAction::End) {
            self.left_out += u64::from(note.action == NoteAction::On);
            return Ok(());
        }
        let mut ends = Vec::new();
        let of_id = self.ids.end(note);
        match note.id >= 0 {
            true => ends.extend(of_id.into_iter().filter_map(end_of)),
            false => self.sounding.clone().end_all(|sounding| {
                if let Sounding::Note { channel, key } = sounding
                    && (note.channel < 0 || note.channel == channel as i8)
                    && (note.key < 0 || note.key == key as i8)
                {
                    ends.extend(end_of(sounding));
                }
            }),
        }
        ends.into_iter().try_for_each(|end| self.put(at, end))
    }

    fn end_all(&mut self, at: u64) -> Result<(), WriteError> {
        self.ids.clear();
        let mut ends = Vec::new();
        self.sounding.clone().end_all(|sounding| ends.extend(end_of(sounding)));
        ends.into_iter().try_for_each(|end| self.put(at, end))
    }

    /// Ends what sounds, and the file.
    fn end(&mut self, frames: u64) -> Result<(), WriteError> {
        self.end_all(frames)?;
        let tick = self.tick(frames);
        self.file.finish(tick)
    }

    /// What belongs before the song's start is at its first tick.
    fn tick(&mut self, at: u64) -> u64 {
        self.at = self.at.max(at);
        let late = i64::try_from(self.latency_frames).unwrap_or(i64::MAX);
        let frame = i64::try_from(self.at).unwrap_or(i64::MAX).saturating_add(self.start);
        let beats = self.map.beats_at_frame(frame.saturating_sub(late));
        super::midi_file::tick_of(beats)
    }
}

/// The message that ends it.
pub(crate) fn end_of(sounding: Sounding) -> Option<Midi1> {
    match sounding {
        Sounding::Note { channel, key } => Midi1::new(&[0x80 | channel, key, 64]).ok(),
        Sounding::Pedal { channel, controller } => {
            Midi1::new(&[0xb0 | channel, controller, 0]).ok()
        }
    }
}
