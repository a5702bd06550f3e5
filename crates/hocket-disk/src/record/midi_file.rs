//! The MIDI file of a take of events: valid at every moment.
//!
//! # The format
//! A header, a track with the song's tempos and time signatures, and a track with the events. A track states its length, and
//! its last event is End of Track. Neither can change in one step. So the order of a sync is:
//!
//! 1. New events and another End of Track behind the present one, which readers do not see yet, and `fdatasync`.
//! 2. The length that includes them, and `fdatasync`. The present End of Track still ends the track.
//! 3. One byte: the present End of Track becomes an empty sequencer-specific event, which every program ignores. `fdatasync`.
//!
//! After 1. a reader finds the old track, after 2. the same events, after 3. the new ones. Between two syncs events are already
//! given to the system behind the stated length, so `recover` finds them after the end of the process.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use hocket_media::WriteError;
use hocket_time::{Glide, Midi1, TempoMap, TempoPoint};
use midly::live::LiveEvent;
use midly::num::{u15, u24, u28};
use midly::{Format, Header, MetaMessage, Timing, TrackEvent, TrackEventKind};

use super::events::EventTakeSettings;
use super::file::{check_name, sync_folder, write_at};

/// Ticks per quarter note. So fine that a tick is less than a frame at 48 kHz and 94 beats per minute or more: what is played
/// from the file comes at the frames of the recording.
const TICKS_PER_QUARTER: u16 = 30_720;
/// What the first track says of itself.
pub(crate) const MARK: &str = "Hocket take";
/// A chunk's name and length.
const CHUNK: usize = 8;
/// The file's header with its chunk's.
const HEAD: usize = CHUNK + 6;
/// End of Track, no time behind the event before.
pub(crate) const END: [u8; 4] = [0, 0xff, END_KIND, 0];
const END_KIND: u8 = 0x2f;
/// What an End of Track becomes: a sequencer-specific event without bytes.
pub(crate) const SKIPPED_KIND: u8 = 0x7f;
/// Where that byte is, before the end of an End of Track.
pub(crate) const KIND_BEFORE_END: u64 = 2;
/// The longest time between two events.
const MOST_TICKS: u64 = (1 << 28) - 1;
/// A line of tempos becomes steps of so many quarter notes.
const GLIDE_BEATS: f64 = 0.25;
/// Steps of a line at most.
const MOST_STEPS: f64 = 4096.0;
/// A file says a tempo in so many microseconds per quarter note at most: 3.6 beats per minute.
const MOST_US: f64 = ((1 << 24) - 1) as f64;

pub(crate) struct MidiTakeFile {
    path: PathBuf,
    file: File,
    /// Where the bytes of the track of events begin.
    data_at: u64,
    /// Where the track ends that its header states.
    stated: u64,
    /// Where the next bytes go.
    at: u64,
    /// Of the latest event.
    tick: u64,
    buffer: Vec<u8>,
}

/// The tick of a place in the song.
pub(super) fn tick_of(beats: f64) -> u64 {
    // Negative places become 0.
    (beats * f64::from(TICKS_PER_QUARTER)).round() as u64
}

impl MidiTakeFile {
    /// Creates the recording, which must not exist. Nothing is left behind by a failure.
    pub fn create(settings: &EventTakeSettings) -> Result<MidiTakeFile, WriteError> {
        let (path, map) = (&settings.path, settings.map()?);
        let head = head(settings, &map);
        let io = |error| WriteError::io(path, error);
        let file =
            File::options().read(true).write(true).create_new(true).open(path).map_err(io)?;
        // Without locks on this file system, recovery cannot tell that the recording goes on.
        let _ = file.try_lock();
        let written = file.write_all_at(&head, 0).and_then(|()| file.sync_all());
        if let Err(error) = written {
            let _ = std::fs::remove_file(path);
            return Err(WriteError::io(path, error));
        }
        sync_folder(path);
        let end = head.len() as u64;
        // The name of the track and its end are in it.
        let data_at = end - track_of(&settings.name).len() as u64;
        let (path, buffer) = (path.clone(), Vec::new());
        Ok(MidiTakeFile { path, file, data_at, stated: end, at: end, tick: 0, buffer })
    }

    /// Appends a channel message, not earlier than the one before.
    pub fn push(&mut self, tick: u64, message: Midi1) -> Result<(), WriteError> {
        match LiveEvent::parse(message.as_slice()) {
            Ok(LiveEvent::Midi { channel, message }) => {
                self.append(tick, TrackEventKind::Midi { channel, message });
                Ok(())
            }
            // Every message with a channel is one.
            _ => Ok(()),
        }
    }

    /// Appends a system-exclusive message with its first and last byte.
    pub fn push_sysex(&mut self, tick: u64, message: &[u8]) -> Result<(), WriteError> {
        if let [0xf0, data @ ..] = message {
            self.append(tick, TrackEventKind::SysEx(data));
        }
        Ok(())
    }

    fn append(&mut self, tick: u64, kind: TrackEventKind<'_>) {
        let mut left = tick.saturating_sub(self.tick);
        self.tick = self.tick.max(tick);
        while left > MOST_TICKS {
            let nothing = TrackEventKind::Meta(MetaMessage::SequencerSpecific(&[]));
            self.buffer.extend(bytes_of(&[event(MOST_TICKS, nothing)]));
            left -= MOST_TICKS;
        }
        // Each with its status byte: so recovery may begin at any event.
        self.buffer.extend(bytes_of(&[event(left, kind)]));
    }

    /// Gives everything so far to the system.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        let (_, result) = write_at(&self.file, &self.buffer, self.at);
        result.map_err(|error| self.failed(error))?;
        self.at += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Puts everything so far on the disk, and states it.
    pub fn sync(&mut self) -> Result<(), WriteError> {
        self.flush()?;
        if self.at == self.stated { Ok(()) } else { self.state(&END) }
    }

    /// Completes the file, which then lasts up to `tick`.
    pub fn finish(&mut self, tick: u64) -> Result<(), WriteError> {
        self.append(tick, TrackEventKind::Meta(MetaMessage::EndOfTrack));
        let end = std::mem::take(&mut self.buffer);
        // What comes before the end is written before it; the end itself is stated.
        self.state(&end)?;
        self.file.sync_all().map_err(|error| self.failed(error))
    }

    /// The steps of a sync, see above. `end`: its last event is End of Track.
    fn state(&mut self, end: &[u8]) -> Result<(), WriteError> {
        let (_, result) = write_at(&self.file, end, self.at);
        result.map_err(|error| self.failed(error))?;
        let to = self.at + end.len() as u64;
        let Ok(length) = u32::try_from(to - self.data_at) else {
            let remedy = "end the take and begin another one";
            return Err(WriteError::refused(&self.path, "a MIDI track holds 4 GiB", remedy));
        };
        let steps = [
            (&length.to_be_bytes()[..], self.data_at - 4),
            (&[SKIPPED_KIND][..], self.stated - KIND_BEFORE_END),
        ];
        self.file.sync_data().map_err(|error| self.failed(error))?;
        for (bytes, at) in steps {
            let written = self.file.write_all_at(bytes, at).and_then(|()| self.file.sync_data());
            written.map_err(|error| self.failed(error))?;
        }
        (self.at, self.stated) = (to, to);
        Ok(())
    }

    /// See [`check_name`].
    pub fn check_name(&self) -> Result<(), WriteError> {
        check_name(&self.file, &self.path)
    }

    /// Gives the lock back: from now on the file may be recovered, or changed.
    pub fn release(&self) {
        let _ = self.file.unlock();
    }

    fn failed(&self, error: std::io::Error) -> WriteError {
        WriteError::io(&self.path, error)
    }
}

/// Removes a recording that never began.
pub(super) fn remove(path: &Path) {
    let _ = std::fs::remove_file(path);
}

/// A file without events: everything up to the end of its second track.
fn head(settings: &EventTakeSettings, map: &TempoMap) -> Vec<u8> {
    let timing = Timing::Metrical(u15::from(TICKS_PER_QUARTER));
    let header = Header::new(Format::Parallel, timing);
    let song = song_track(settings, map);
    let name = name_track(&settings.name);
    let mut bytes = Vec::new();
    // Into memory it cannot fail.
    let _ = midly::write(&header, [&song[..], &name[..]], &mut bytes);
    bytes
}

fn name_track(name: &str) -> [TrackEvent<'_>; 2] {
    let name = TrackEventKind::Meta(MetaMessage::TrackName(name.as_bytes()));
    [event(0, name), event(0, TrackEventKind::Meta(MetaMessage::EndOfTrack))]
}

/// The bytes of the track of events at first.
fn track_of(name: &str) -> Vec<u8> {
    bytes_of(&name_track(name))
}

/// The song's tempos and time signatures.
fn song_track<'a>(settings: &EventTakeSettings, map: &TempoMap) -> Vec<TrackEvent<'a>> {
    let mut timed: Vec<(u64, MetaMessage<'a>)> = vec![(0, MetaMessage::Text(MARK.as_bytes()))];
    for meter in &settings.meters {
        let signature = meter.signature;
        // Readers of sessions have checked them: 1 to 255 over a power of two.
        let over = signature.denominator.trailing_zeros() as u8;
        let message = MetaMessage::TimeSignature(signature.numerator as u8, over, 24, 8);
        timed.push((tick_of(meter.beats), message));
    }
    let tempos = settings.all_tempos();
    if let Some(first) = tempos.first() {
        timed.push((0, tempo(60e6 / first.bpm)));
    }
    for (place, point) in tempos.iter().enumerate() {
        steps(point, tempos.get(place + 1), map, &mut timed);
    }
    // Stable: of two tempos at one tick the later one holds.
    timed.sort_by_key(|(tick, _)| *tick);
    let mut before = 0;
    let mut track = Vec::new();
    for (tick, message) in timed {
        // At the largest place that a tempo may have, 10 million quarter notes, this is a filler or more.
        let mut left = tick - before;
        while left > MOST_TICKS {
            let nothing = MetaMessage::SequencerSpecific(&[]);
            track.push(event(MOST_TICKS, TrackEventKind::Meta(nothing)));
            left -= MOST_TICKS;
        }
        track.push(event(left, TrackEventKind::Meta(message)));
        before = tick;
    }
    track.push(event(0, TrackEventKind::Meta(MetaMessage::EndOfTrack)));
    track
}

/// The tempos from a point to the next one. A file knows steps alone, so each step of a line lasts as long as that part of the
/// line.
fn steps<'a>(
    point: &TempoPoint,
    next: Option<&TempoPoint>,
    map: &TempoMap,
    timed: &mut Vec<(u64, MetaMessage<'a>)>,
) {
    let line = next.filter(|next| point.glide == Glide::Linear && next.beats > point.beats);
    let Some(next) = line else {
        timed.push((tick_of(point.beats), tempo(60e6 / point.bpm)));
        return;
    };
    let length = next.beats - point.beats;
    let count = (length / GLIDE_BEATS).ceil().clamp(1.0, MOST_STEPS);
    for step in 0..count as u32 {
        let at = |step: f64| point.beats + length * step / count;
        let (from, to) = (at(f64::from(step)), at(f64::from(step) + 1.0));
        let seconds = map.seconds_at_beats(to) - map.seconds_at_beats(from);
        timed.push((tick_of(from), tempo(seconds * 1e6 / (to - from))));
    }
}

fn tempo<'a>(us_per_quarter: f64) -> MetaMessage<'a> {
    MetaMessage::Tempo(u24::from(us_per_quarter.round().clamp(1.0, MOST_US) as u32))
}

/// `ticks`: behind the event before, at most [`MOST_TICKS`].
fn event(ticks: u64, kind: TrackEventKind<'_>) -> TrackEvent<'_> {
    TrackEvent { delta: u28::from(ticks as u32), kind }
}

/// Events as they are in a track.
pub(crate) fn bytes_of(events: &[TrackEvent<'_>]) -> Vec<u8> {
    let header = Header::new(Format::SingleTrack, Timing::Metrical(u15::from(TICKS_PER_QUARTER)));
    let mut bytes = Vec::new();
    // Into memory it cannot fail.
    let _ = midly::write(&header, [events], &mut bytes);
    bytes.drain(..(HEAD + CHUNK).min(bytes.len()));
    bytes
}

#[cfg(test)]
mod tests {
    use midly::Smf;

    use super::*;

    fn settings(path: &Path) -> EventTakeSettings {
        EventTakeSettings::new(path, "keys", 48_000)
    }

    /// What readers see: the events of the second track with their ticks, and whether the track ends as it should.
    fn seen(path: &Path) -> (Vec<(u64, Vec<u8>)>, bool) {
        let bytes = std::fs::read(path).unwrap();
        let file = Smf::parse(&bytes).unwrap();
        let (mut tick, mut found, mut ends) = (0, Vec::new(), false);
        for event in &file.tracks[1] {
            tick += u64::from(event.delta.as_int());
            match event.kind {
                TrackEventKind::Midi { channel, message } => {
                    let mut own = Vec::new();
                    LiveEvent::Midi { channel, message }.write(&mut own).unwrap();
                    found.push((tick, own));
                }
                TrackEventKind::Meta(MetaMessage::EndOfTrack) => {
                    ends = true;
                    break;
                }
                _ => {}
            }
        }
        (found, ends)
    }

    fn on(key: u8) -> Midi1 {
        Midi1::new(&[0x90, key, 100]).unwrap()
    }

    #[test]
    fn a_reader_finds_a_whole_track_after_every_step() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("take.mid");
        let mut file = MidiTakeFile::create(&settings(&path)).unwrap();
        assert_eq!(seen(&path), (vec![], true));
        file.push(30_720, on(60)).unwrap();
        file.flush().unwrap();
        assert_eq!(seen(&path), (vec![], true), "given to the system, and not stated yet");
        file.sync().unwrap();
        let first = (30_720, vec![0x90, 60, 100]);
        assert_eq!(seen(&path), (vec![first.clone()], true));
        // More than the longest time between two events.
        let late = 30_720 + 3 * MOST_TICKS;
        file.push(late, on(61)).unwrap();
        file.sync().unwrap();
        file.sync().unwrap();
        let both = vec![first, (late, vec![0x90, 61, 100])];
        assert_eq!(seen(&path), (both.clone(), true));
        file.finish(late + 100).unwrap();
        assert_eq!(seen(&path), (both, true));
        assert!(MidiTakeFile::create(&settings(&path)).is_err(), "it replaces nothing");
    }

    #[test]
    fn between_the_steps_of_a_sync_the_old_track_stands() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("take.mid");
        let mut file = MidiTakeFile::create(&settings(&path)).unwrap();
        file.push(0, on(60)).unwrap();
        file.sync().unwrap();
        let before = seen(&path);
        let old = std::fs::read(&path).unwrap();
        file.push(10, on(61)).unwrap();
        file.sync().unwrap();
        let new = std::fs::read(&path).unwrap();
        let length = file.data_at as usize - 4..file.data_at as usize;
        let mut between = new.clone();
        between[..old.len()].copy_from_slice(&old);
        std::fs::write(&path, &between).unwrap();
        assert_eq!(seen(&path), before, "step 1");
        between[length.clone()].copy_from_slice(&new[length]);
        std::fs::write(&path, &between).unwrap();
        assert_eq!(seen(&path), before, "step 2");
        between[old.len() - KIND_BEFORE_END as usize] = SKIPPED_KIND;
        assert_eq!(between, new, "step 3");
    }

    #[test]
    fn the_song_track_lasts_as_long_as_the_song() {
        let tempos = [
            TempoPoint::linear(4.0, 90.0),
            TempoPoint::step(12.0, 150.0),
            TempoPoint::step(20.0, 60.0),
        ];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("take.mid");
        let settings = EventTakeSettings { tempos: tempos.into(), ..settings(&path) };
        let map = settings.map().unwrap();
        drop(MidiTakeFile::create(&settings).unwrap());
        let bytes = std::fs::read(&path).unwrap();
        let file = Smf::parse(&bytes).unwrap();
        let (mut tick, mut us, mut per_quarter) = (0, 0.0, 0.0);
        for event in &file.tracks[0] {
            let delta = u64::from(event.delta.as_int());
            tick += delta;
            us += delta as f64 / f64::from(TICKS_PER_QUARTER) * per_quarter;
            if let TrackEventKind::Meta(MetaMessage::Tempo(own)) = event.kind {
                let beats = tick as f64 / f64::from(TICKS_PER_QUARTER);
                let expected = map.seconds_at_beats(beats) * 1e6;
                assert!((us - expected).abs() < 20.0, "at {beats}: {us} µs for {expected}");
                per_quarter = f64::from(own.as_int());
            }
        }
        assert_eq!(tick, tick_of(20.0));
        assert_eq!(per_quarter, 1e6);
    }
}
