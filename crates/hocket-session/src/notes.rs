//! Notes of tracks: those that the file says itself, and those of MIDI files.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hocket_plan::session::{ClipMessage, ClipNote, MidiFile, NoteClip, NoteSource};
use hocket_time::{Midi1, TimeBase};
use midly::{MetaMessage, MidiMessage, Smf, Timing, TrackEvent, TrackEventKind};
use toml::Spanned;
use toml::de::DeValue;

use crate::Span;
use crate::fields::{At, Fields, describe, number, whole};
use crate::media::Folders;
use crate::midi_damage::Damage;
use crate::mistakes::Mistakes;
use crate::schema::{self, MAX_S};

/// The largest MIDI file: an hour of dense music has less than one MiB.
const MAX_BYTES: u64 = 4 << 20;
/// The velocity of a note that says none.
const USUAL_VELOCITY: f64 = 0.8;

/// The notes of a session; reads each MIDI file once.
pub(crate) struct NoteReader<'a> {
    mistakes: &'a Mistakes<'a>,
    folders: Folders,
    /// `None`: the file cannot be read, and that is reported.
    files: HashMap<PathBuf, Option<Arc<[u8]>>>,
    /// What is probably not intended, place included.
    pub(crate) warnings: Vec<String>,
    /// The same of files that are not whole, as mistakes.
    pub(crate) damaged: Vec<String>,
}

impl<'a> NoteReader<'a> {
    pub(crate) fn new(mistakes: &'a Mistakes<'a>) -> NoteReader<'a> {
        NoteReader {
            mistakes,
            folders: Folders::default(),
            files: HashMap::new(),
            warnings: Vec::new(),
            damaged: Vec::new(),
        }
    }

    /// Reads a clip; reports what is wrong with it.
    pub(crate) fn clip(&mut self, fields: &Fields<'_>) -> Option<NoteClip> {
        let base = match fields.choice(&schema::NOTE_TIME) {
            Some(0) => TimeBase::Seconds,
            _ => TimeBase::Beats,
        };
        let start = fields.number_or_zero(&schema::NOTE_START);
        let length = fields.number(&schema::NOTE_LENGTH).map(|length| length.value);
        let chase = fields.flag(&schema::NOTE_CHASE, true);
        let source = match (fields.has(&schema::NOTES), fields.has(&schema::NOTE_FILE)) {
            (true, true) => {
                let cause = "the notes are given twice, by notes and by file";
                let remedy = "keep one of the two; write another [[track.notes]] for the other";
                self.mistakes.report(fields.span_of(&schema::NOTE_FILE), cause, remedy);
                None
            }
            (_, false) => self.written(fields),
            (false, true) => self.file(fields, base),
        };
        Some(NoteClip { base, start, length, chase, source: source? })
    }

    fn written(&self, fields: &Fields<'_>) -> Option<NoteSource> {
        for key in [&schema::MIDI_TRACK, &schema::MIDI_CHANNEL] {
            if fields.has(key) {
                let cause = format!("{} is there without a file", key.name);
                let remedy = "take it out, or name a MIDI file: file = \"...\"";
                self.mistakes.report(fields.span_of(key), cause, remedy);
            }
        }
        let items = fields.require_items(&schema::NOTES)?;
        if items.is_empty() {
            let remedy = "give it at least one note, as in [[0, 1, 60]], or remove the table";
            self.mistakes.report(fields.span_of(&schema::NOTES), "there are no notes", remedy);
            return None;
        }
        let notes = items.iter().filter_map(|item| note(self.mistakes, item));
        Some(NoteSource::Written(notes.collect()))
    }

    fn file(&mut self, fields: &Fields<'_>, base: TimeBase) -> Option<NoteSource> {
        let track = fields.whole(&schema::MIDI_TRACK);
        let channel = fields.whole(&schema::MIDI_CHANNEL);
        let At { value, span } = fields.text(&schema::NOTE_FILE)?;
        let path: PathBuf = self.mistakes.source().folder().join(value).components().collect();
        let bytes = self.bytes(&path, &At { value, span: span.clone() })?;
        let track = track.map(|track| At { value: track.value - 1, span: track.span });
        let number = track.as_ref().and_then(|track| u16::try_from(track.value).ok());
        let channel = channel.and_then(|channel| u8::try_from(channel.value - 1).ok());
        match messages(&bytes, number, channel, base) {
            Ok((messages, damage)) => {
                if let Some(damage) = damage {
                    self.warn_of_damage(span, &path, damage);
                }
                Some(NoteSource::File(MidiFile { path, track: number, channel, messages }))
            }
            Err(Refusal::NoTrack(count)) => {
                let cause = format!("'{}' has {count} tracks", path.display());
                let span = track.map_or(span, |track| track.span);
                self.mistakes.report(
                    span,
                    cause,
                    format!("write a whole number from 1 to {count}"),
                );
                None
            }
            Err(Refusal::NoBeats) => {
                let cause = format!("'{}' counts seconds and has no beats", path.display());
                self.mistakes.report(span, cause, "add time = \"seconds\"");
                None
            }
            Err(Refusal::Cause(cause)) => {
                let cause = format!("'{}': {cause}", path.display());
                let remedy = "name a standard MIDI file (.mid), or export it again";
                self.mistakes.report(span, cause, remedy);
                None
            }
        }
    }

    fn warn_of_damage(&mut self, span: Span, path: &Path, damage: Damage) {
        let cause = format!("the MIDI file '{}' is cut short or damaged: {damage}", path.display());
        let source = self.mistakes.source();
        self.warnings.push(source.warning(span.clone(), &format!("{cause}; {PLAYS}")));
        self.damaged.push(source.error(span, cause, REPLACE).to_string());
    }

    /// What is in a file; looks at it only when it is named for the first time.
    fn bytes(&mut self, path: &Path, file: &At<&str>) -> Option<Arc<[u8]>> {
        if let Some(bytes) = self.files.get(path) {
            return bytes.clone();
        }
        let bytes = match self
            .folders
            .openable(path, !self.mistakes.is_full())
            .map_err(Some)
            .and_then(|()| read(path))
        {
            Ok(bytes) => Some(bytes),
            Err(why) => {
                let told = || (TOO_LARGE.to_owned(), "name a standard MIDI file (.mid)".to_owned());
                let (cause, remedy) = why.unwrap_or_else(told);
                let cause = format!("the MIDI file '{}' {cause}", path.display());
                self.mistakes.report(file.span.clone(), cause, remedy);
                None
            }
        };
        self.files.insert(path.to_owned(), bytes.clone());
        bytes
    }
}

/// What becomes of a file that is not whole, in a warning.
pub(crate) const PLAYS: &str = "what can be read of it plays";
/// What to do with one where such files are refused.
pub(crate) const REPLACE: &str = "replace the file, or leave out --strict to play what can be read";

pub(crate) const TOO_LARGE: &str = "is larger than 4 MiB";

/// `Err(None)`: it is too large.
pub(crate) fn read(path: &Path) -> Result<Arc<[u8]>, Option<(String, String)>> {
    let mut bytes = Vec::new();
    let file = File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes));
    match file {
        Ok(_) if bytes.len() as u64 > MAX_BYTES => Err(None),
        Ok(_) => Ok(bytes.into()),
        Err(error) => {
            let cause = format!("cannot be read: {}", crate::source::io_cause(&error));
            Err(Some((cause, "make sure that you may read it".to_owned())))
        }
    }
}

/// `[time, length, key]`, and maybe the velocity and the MIDI channel.
fn note(mistakes: &Mistakes<'_>, item: &Spanned<DeValue<'_>>) -> Option<ClipNote> {
    let parts = item.get_ref().as_array().map(|parts| &parts[..]);
    let (at, length, key, rest) = match parts {
        Some([at, length, key, rest @ ..]) if rest.len() <= 2 => (at, length, key, rest),
        _ => {
            let cause = match parts {
                Some(parts) => format!("a note cannot have {} parts", parts.len()),
                None => format!("a note cannot be {}", describe(item.get_ref())),
            };
            let remedy = "write [time, length, key], [time, length, key, velocity] or [time, length, key, velocity, channel]";
            mistakes.report(item.span(), cause, remedy);
            return None;
        }
    };
    let at = part(mistakes, at, "the time of a note", (0.0, MAX_S));
    let length = part(mistakes, length, "the length of a note", (0.0, MAX_S)).filter(|found| {
        let fits = *found > 0.0;
        if !fits {
            let remedy = "write a number above 0";
            mistakes.report(length.span(), "the length of a note is 0", remedy);
        }
        fits
    });
    let key = midi_number(mistakes, key, "key", (0..=127, "127; 60 is middle C"));
    let velocity = match rest.first() {
        None => Some(USUAL_VELOCITY),
        Some(velocity) => part(mistakes, velocity, "the velocity of a note", (0.0, 1.0)),
    };
    let channel = match rest.get(1) {
        None => Some(1),
        Some(channel) => midi_number(mistakes, channel, "MIDI channel", (1..=16, "16")),
    };
    Some(ClipNote {
        at: at?,
        length: length?,
        key: key?,
        velocity: velocity?,
        channel: channel? - 1,
    })
}

/// A whole number of a note, in its range; `to` is its end in words.
fn midi_number(
    mistakes: &Mistakes<'_>,
    item: &Spanned<DeValue<'_>>,
    what: &str,
    (range, to): (RangeInclusive<u8>, &str),
) -> Option<u8> {
    let found = whole(item.get_ref());
    let fits = found.and_then(|found| u8::try_from(found).ok()).filter(|it| range.contains(it));
    if fits.is_none() {
        let cause = match found {
            Some(found) => format!("the {what} of a note is out of range: {found}"),
            None => format!("the {what} of a note cannot be {}", describe(item.get_ref())),
        };
        let remedy = format!("write a whole number from {} to {to}", range.start());
        mistakes.report(item.span(), cause, remedy);
    }
    fits
}

/// A number of a note, in its range.
fn part(
    mistakes: &Mistakes<'_>,
    found: &Spanned<DeValue<'_>>,
    what: &str,
    (min, max): (f64, f64),
) -> Option<f64> {
    let Some(value) = number(found.get_ref()) else {
        let cause = format!("{what} cannot be {}", describe(found.get_ref()));
        mistakes.report(found.span(), cause, "write a number");
        return None;
    };
    if (min..=max).contains(&value) {
        return Some(value);
    }
    let text = mistakes.source().text().get(found.span()).unwrap_or_default();
    let remedy = format!("write a number from {min} to {max}");
    mistakes.report(found.span(), format!("{what} is out of range: {text}"), remedy);
    None
}

/// Why a MIDI file gives no messages.
pub(crate) enum Refusal {
    /// It has only so many tracks.
    NoTrack(usize),
    /// Its times are in seconds.
    NoBeats,
    /// What is wrong with it.
    Cause(String),
}

/// The channel messages of a MIDI file, of all tracks or one, and of all channels or one; times in the unit of `base`. And
/// where it is damaged, if it is: reading stops there.
pub(crate) fn messages(
    bytes: &[u8],
    track: Option<u16>,
    channel: Option<u8>,
    base: TimeBase,
) -> Result<(Arc<[ClipMessage]>, Option<Damage>), Refusal> {
    if has_impossible_rate(bytes) {
        return Err(Refusal::Cause("its header counts 128 frames per second".into()));
    }
    let file = Smf::parse(bytes).map_err(|error| Refusal::Cause(refusal(&error)))?;
    let tracks = file.tracks.len();
    if track.is_some_and(|track| usize::from(track) >= tracks) {
        return Err(Refusal::NoTrack(tracks));
    }
    let clock = Clock::of(&file, base)?;
    let mut found: Vec<(u64, Midi1)> = Vec::new();
    for (index, events) in file.tracks.iter().enumerate() {
        if track.is_none_or(|track| usize::from(track) == index) {
            collect(events, channel, &mut found);
        }
    }
    // Stable: messages of one time stay in the order of tracks, and of the file.
    found.sort_by_key(|(tick, _)| *tick);
    let message = |(tick, message): (u64, Midi1)| ClipMessage { at: clock.at(tick), message };
    let found: Arc<[ClipMessage]> = found.into_iter().map(message).collect();
    match found.last() {
        None if channel.is_some() || track.is_some() => {
            Err(Refusal::Cause("it has no notes or messages on this track and channel".into()))
        }
        None => Err(Refusal::Cause("it has no notes or messages".into())),
        Some(last) if last.at > MAX_S => {
            Err(Refusal::Cause(format!("it is longer than {MAX_S} beats or seconds")))
        }
        Some(_) => Ok((found, Damage::of(bytes))),
    }
}

/// Whether a header has a frame rate of -128: the parser negates it, which overflows.
fn has_impossible_rate(bytes: &[u8]) -> bool {
    let mut headers = bytes.windows(13).filter(|part| part.starts_with(b"MThd"));
    headers.any(|header| header[12] == 0x80)
}

fn refusal(error: &midly::Error) -> String {
    format!("this is no MIDI file, or a damaged one: {error}")
}

fn collect(events: &[TrackEvent<'_>], channel: Option<u8>, found: &mut Vec<(u64, Midi1)>) {
    let mut tick = 0u64;
    for event in events {
        tick += u64::from(event.delta.as_int());
        let TrackEventKind::Midi { channel: own, message } = event.kind else { continue };
        if channel.is_none_or(|channel| channel == own.as_int()) {
            found.extend(midi1(own.as_int(), message).map(|message| (tick, message)));
        }
    }
}

/// `None` never happens: every channel message has a form in MIDI 1.0.
fn midi1(channel: u8, message: MidiMessage) -> Option<Midi1> {
    let (status, first, second) = match message {
        MidiMessage::NoteOff { key, vel } => (0x80, key.as_int(), Some(vel.as_int())),
        MidiMessage::NoteOn { key, vel } => (0x90, key.as_int(), Some(vel.as_int())),
        MidiMessage::Aftertouch { key, vel } => (0xa0, key.as_int(), Some(vel.as_int())),
        MidiMessage::Controller { controller, value } => {
            (0xb0, controller.as_int(), Some(value.as_int()))
        }
        MidiMessage::ProgramChange { program } => (0xc0, program.as_int(), None),
        MidiMessage::ChannelAftertouch { vel } => (0xd0, vel.as_int(), None),
        MidiMessage::PitchBend { bend } => {
            let bits = bend.0.as_int();
            (0xe0, (bits & 0x7f) as u8, Some((bits >> 7) as u8))
        }
    };
    match second {
        Some(second) => Midi1::new(&[status | channel, first, second]).ok(),
        None => Midi1::new(&[status | channel, first]).ok(),
    }
}

/// Ticks of a MIDI file as beats or seconds.
enum Clock {
    /// A unit has so many ticks.
    Even(f64),
    /// The tempos of the file: from a tick and a second on, so many seconds per tick.
    Tempos(Vec<(u64, f64, f64)>),
}

/// What a file without a tempo has: 120 quarter notes per minute.
const USUAL_S_PER_BEAT: f64 = 0.5;

impl Clock {
    fn of(file: &Smf<'_>, base: TimeBase) -> Result<Clock, Refusal> {
        match (file.header.timing, base) {
            (Timing::Metrical(ticks), _) if ticks.as_int() == 0 => {
                Err(Refusal::Cause("a quarter note of it has no ticks".into()))
            }
            (Timing::Metrical(ticks), TimeBase::Beats) => {
                Ok(Clock::Even(f64::from(ticks.as_int())))
            }
            (Timing::Metrical(ticks), TimeBase::Seconds) => {
                Ok(Clock::Tempos(tempos(file, f64::from(ticks.as_int()))))
            }
            (Timing::Timecode(..), TimeBase::Beats) => Err(Refusal::NoBeats),
            (Timing::Timecode(fps, ticks), TimeBase::Seconds) => {
                let ticks = f64::from(fps.as_f32()) * f64::from(ticks);
                match ticks > 0.0 {
                    true => Ok(Clock::Even(ticks)),
                    false => Err(Refusal::Cause("a second of it has no ticks".into())),
                }
            }
        }
    }

    fn at(&self, tick: u64) -> f64 {
        match self {
            Clock::Even(ticks) => tick as f64 / ticks,
            Clock::Tempos(tempos) => {
                let begun = tempos.partition_point(|(from, _, _)| *from <= tick);
                let (from, second, per_tick) = tempos[begun.saturating_sub(1)];
                second + (tick - from) as f64 * per_tick
            }
        }
    }
}

/// The tempos of all tracks; the first is that of the file's start.
fn tempos(file: &Smf<'_>, ticks: f64) -> Vec<(u64, f64, f64)> {
    let mut changes: Vec<(u64, f64)> = Vec::new();
    for events in &file.tracks {
        let mut tick = 0u64;
        for event in events {
            tick += u64::from(event.delta.as_int());
            if let TrackEventKind::Meta(MetaMessage::Tempo(micros)) = event.kind {
                changes.push((tick, f64::from(micros.as_int()) * 1e-6));
            }
        }
    }
    changes.sort_by_key(|(tick, _)| *tick);
    let mut tempos = vec![(0, 0.0, USUAL_S_PER_BEAT / ticks)];
    for (tick, s_per_beat) in changes {
        let (from, second, per_tick) = tempos[tempos.len() - 1];
        tempos.push((tick, second + (tick - from) as f64 * per_tick, s_per_beat / ticks));
    }
    tempos
}
