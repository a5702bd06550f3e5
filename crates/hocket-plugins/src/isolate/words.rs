//! Numbers, events and places of the song as words of shared memory.
//!
//! A reader trusts nothing: what makes no sense is `None`.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use hocket_time::{
    BarPosition, Event, EventBuffer, EventKind, Midi1, Note, NoteAction, ParamChange, Pushed,
    Source, TimeSignature, Ump,
};

use crate::song::SongPoint;

/// Words of a [`SongPoint`].
pub const SONG_WORDS: usize = 15;

/// Appends words, as far as there is room. Relaxed: `SENT` publishes them (I1).
pub struct Writer<'a> {
    words: &'a [AtomicU32],
    used: usize,
}

impl<'a> Writer<'a> {
    pub fn new(words: &'a [AtomicU32]) -> Writer<'a> {
        Writer { words, used: 0 }
    }

    /// How many words are written.
    pub fn used(&self) -> usize {
        self.used
    }

    /// How many words find room.
    pub fn free(&self) -> usize {
        self.words.len() - self.used
    }

    /// Who writes too many loses them. Ask [`Writer::free`] first.
    pub fn word(&mut self, word: u32) {
        if let Some(place) = self.words.get(self.used) {
            place.store(word, Relaxed);
            self.used += 1;
        }
    }

    pub fn wide(&mut self, wide: u64) {
        self.word(wide as u32);
        self.word((wide >> 32) as u32);
    }

    pub fn float(&mut self, float: f64) {
        self.wide(float.to_bits());
    }
}

/// Reads words one by one. Relaxed: `SENT` or `DONE` published them (I1, I2).
pub struct Reader<'a> {
    words: &'a [AtomicU32],
}

impl<'a> Reader<'a> {
    pub fn new(words: &'a [AtomicU32]) -> Reader<'a> {
        Reader { words }
    }

    pub fn word(&mut self) -> Option<u32> {
        let (first, rest) = self.words.split_first()?;
        self.words = rest;
        Some(first.load(Relaxed))
    }

    pub fn wide(&mut self) -> Option<u64> {
        let low = u64::from(self.word()?);
        Some(low | (u64::from(self.word()?) << 32))
    }

    pub fn float(&mut self) -> Option<f64> {
        self.wide().map(f64::from_bits)
    }
}

pub fn write_song(point: &SongPoint, to: &mut Writer<'_>) {
    to.wide(point.frame as u64);
    to.float(point.seconds);
    to.float(point.beats);
    to.float(point.bpm);
    to.wide(point.bar.bar as u64);
    to.float(point.bar_start);
    to.word(u32::from(point.bar.beat) | (u32::from(point.bar.tick) << 16));
    let TimeSignature { numerator, denominator } = point.signature;
    to.word(u32::from(numerator) | (u32::from(denominator) << 16));
    to.word(u32::from(point.playing));
}

pub fn read_song(from: &mut Reader<'_>) -> Option<SongPoint> {
    let frame = from.wide()? as i64;
    let (seconds, beats, bpm) = (from.float()?, from.float()?, from.float()?);
    let (bar, bar_start) = (from.wide()? as i64, from.float()?);
    let (place, signature) = (from.word()?, from.word()?);
    let halves = |word: u32| (word as u16, (word >> 16) as u16);
    let ((beat, tick), (numerator, denominator)) = (halves(place), halves(signature));
    let bar = BarPosition { bar, beat, tick };
    let signature = TimeSignature { numerator, denominator: denominator.max(1) };
    let playing = from.word()? != 0;
    Some(SongPoint { frame, playing, seconds, beats, bpm, bar, bar_start, signature })
}

const PARAM: u32 = 0;
const NOTE: u32 = 1;
const MIDI: u32 = 2;
const UMP: u32 = 3;
const SYSEX: u32 = 4;
const END_ALL: u32 = 5;

/// The most words of an event that has no bytes elsewhere.
pub const MOST_EVENT_WORDS: usize = 6;

/// Appends an event at a frame. Returns whether it found room; `kept`: words that it must leave free.
pub fn write_event(
    frame: u32,
    kind: &EventKind,
    sysex: &[u8],
    (to, kept): (&mut Writer<'_>, usize),
) -> bool {
    if to.free() < kept + MOST_EVENT_WORDS + sysex.len().div_ceil(4) {
        return false;
    }
    let mut head = |tag: u32| {
        to.word(tag);
        to.word(frame);
    };
    match kind {
        EventKind::Param(change) => {
            head(PARAM | (u32::from(change.on_ramp) << 8));
            to.word(change.param);
            to.float(change.value);
        }
        EventKind::Note(note) => {
            let action = match note.action {
                NoteAction::On => 0,
                NoteAction::Off => 1,
                NoteAction::Choke => 2,
                NoteAction::End => 3,
            };
            let (channel, key) = (u32::from(note.channel as u8), u32::from(note.key as u8));
            head(NOTE | (action << 8) | (channel << 16) | (key << 24));
            to.word(note.id as u32);
            to.float(note.velocity);
        }
        EventKind::Midi(message) => {
            head(MIDI | ((message.as_slice().len() as u32) << 8));
            let [first, second, third] = message.bytes();
            to.word(u32::from_le_bytes([first, second, third, 0]));
        }
        EventKind::Ump(packet) => {
            head(UMP);
            packet.words().iter().for_each(|word| to.word(*word));
        }
        EventKind::SysEx(_) => {
            head(SYSEX);
            to.word(sysex.len() as u32);
            for part in sysex.chunks(4) {
                // Byte by byte: a block has no copy by the C library.
                let byte = |at: usize| part.get(at).copied().unwrap_or(0);
                to.word(u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)]));
            }
        }
        EventKind::EndAllNotes => head(END_ALL),
    }
    true
}

/// Reads an event into a buffer. Returns what became of it; `None`: these words are no event.
pub fn read_event(from: &mut Reader<'_>, into: &mut EventBuffer) -> Option<Pushed> {
    let (head, frame) = (from.word()?, from.word()?);
    let kind = match head & 0xff {
        PARAM => EventKind::Param(ParamChange {
            on_ramp: head >> 8 != 0,
            param: from.word()?,
            value: from.float()?,
        }),
        NOTE => EventKind::Note(Note {
            action: match (head >> 8) & 0xff {
                0 => NoteAction::On,
                1 => NoteAction::Off,
                2 => NoteAction::Choke,
                3 => NoteAction::End,
                _ => return None,
            },
            channel: (head >> 16) as u8 as i8,
            key: (head >> 24) as u8 as i8,
            id: from.word()? as i32,
            velocity: from.float()?,
        }),
        MIDI => {
            let bytes = from.word()?.to_le_bytes();
            let bytes = bytes.get(..(head >> 8) as usize)?;
            EventKind::Midi(Midi1::new(bytes).ok()?)
        }
        UMP => {
            let words = [from.word()?, from.word()?, from.word()?, from.word()?];
            EventKind::Ump(Ump::new(words))
        }
        SYSEX => return read_sysex(frame, from, into),
        END_ALL => EventKind::EndAllNotes,
        _ => return None,
    };
    Some(into.push(Event::new(frame, Source::edge(0), kind)))
}

/// Whether an event of a plug-in is one that others may receive: its process may have written anything.
pub fn may_pass(kind: &EventKind) -> bool {
    match kind {
        EventKind::Note(note) => {
            let fits = (-1..16).contains(&note.channel) && note.key >= -1 && note.id >= -1;
            let begins = note.action == NoteAction::On;
            let has_place = !begins || (note.channel >= 0 && note.key >= 0);
            fits && has_place && (0.0..=1.0).contains(&note.velocity)
        }
        // Changes of parameters have numbers of the sender.
        EventKind::Param(_) => false,
        EventKind::Midi(_) | EventKind::Ump(_) | EventKind::SysEx(_) | EventKind::EndAllNotes => {
            true
        }
    }
}

/// How many words changes and starts of notes leave free for ends of notes.
pub const KEPT: usize = hocket_time::END_ROOM * MOST_EVENT_WORDS;

/// Appends all events of a buffer. Returns how many words they have, and how many events found no room.
pub fn write_all(events: &EventBuffer, to: &[AtomicU32]) -> (u32, u64) {
    let (mut to, mut lost) = (Writer::new(to), 0);
    for event in events.all() {
        let sysex = match &event.kind {
            EventKind::SysEx(message) => events.sysex(*message),
            _ => &[],
        };
        let kept = if event.kind.ends_notes() { 0 } else { KEPT };
        let fits = write_event(event.frame, &event.kind, sysex, (&mut to, kept));
        lost += u64::from(!fits);
    }
    (to.used() as u32, lost)
}

fn read_sysex(frame: u32, from: &mut Reader<'_>, into: &mut EventBuffer) -> Option<Pushed> {
    let count = from.word()? as usize;
    let mut bytes = [0; 4 * super::slots::EVENT_WORDS];
    let bytes = bytes.get_mut(..count)?;
    for part in bytes.chunks_mut(4) {
        let word = from.word()?.to_le_bytes();
        part.copy_from_slice(&word[..part.len()]);
    }
    Some(into.push_sysex(frame, Source::edge(0), bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(words: usize) -> Vec<AtomicU32> {
        (0..words).map(|_| AtomicU32::new(u32::MAX)).collect()
    }

    #[test]
    fn events_come_out_as_they_went_in() {
        let kinds = [
            EventKind::Param(ParamChange { param: 7, value: -0.1, on_ramp: true }),
            EventKind::param(u32::MAX, f64::MAX),
            EventKind::Note(Note::on(-1, 15, 127, 1.0)),
            EventKind::Note(Note {
                action: NoteAction::Choke,
                id: 5,
                channel: -1,
                key: -1,
                velocity: 0.3,
            }),
            EventKind::Midi(Midi1::new(&[0xc3, 9]).unwrap()),
            EventKind::Midi(Midi1::new(&[0x93, 9, 100]).unwrap()),
            EventKind::Ump(Ump::new([0x4090_3c00, 0xffff_0000, 0, 0])),
            EventKind::EndAllNotes,
        ];
        let words = room(1024);
        let mut writer = Writer::new(&words);
        for (frame, kind) in kinds.iter().enumerate() {
            assert!(write_event(frame as u32, kind, &[], (&mut writer, 0)));
        }
        let mut into = EventBuffer::new(100, 100);
        let mut reader = Reader::new(&words[..writer.used()]);
        for _ in &kinds {
            assert_eq!(read_event(&mut reader, &mut into), Some(Pushed::Stored));
        }
        assert_eq!(read_event(&mut reader, &mut into), None);
        let read: Vec<EventKind> = into.all().iter().map(|event| event.kind).collect();
        assert_eq!(read, kinds);
    }

    #[test]
    fn what_a_plug_in_sends_is_written_as_far_as_there_is_room_and_nonsense_passes_nowhere() {
        let mut events = EventBuffer::new(300, 0);
        let on = EventKind::Note(Note::on(-1, 0, 60, 1.0));
        for frame in 0..200 {
            assert_eq!(events.push(Event::new(frame, Source::edge(0), on)), Pushed::Stored);
        }
        let off = EventKind::Note(Note::off(-1, 0, 60, 0.0));
        assert_eq!(events.push(Event::new(200, Source::edge(0), off)), Pushed::Stored);
        let words = room(1024);
        let (used, lost) = write_all(&events, &words);
        let mut into = EventBuffer::new(300, 0);
        let mut reader = Reader::new(&words[..used as usize]);
        while read_event(&mut reader, &mut into).is_some() {}
        assert_eq!(into.all().len() as u64, 201 - lost);
        assert!(lost > 0 && into.all().iter().any(|event| event.kind == off));
        assert_eq!(write_all(&events, &[]), (0, 201));

        let note = |channel, key, velocity| EventKind::Note(Note::on(-1, channel, key, velocity));
        assert!(may_pass(&on) && may_pass(&off) && may_pass(&EventKind::EndAllNotes));
        let all = EventKind::Note(Note::off(-1, -1, -1, 0.0));
        assert!(may_pass(&all) && !may_pass(&EventKind::param(1, 0.0)));
        let bad = [note(16, 0, 0.5), note(-1, 0, 0.5), note(0, -2, 0.5), note(0, 0, f64::NAN)];
        assert!(bad.iter().all(|kind| !may_pass(kind)));
    }

    #[test]
    fn messages_keep_their_bytes() {
        let message: Vec<u8> = [0xf0].into_iter().chain(1..100).chain([0xf7]).collect();
        let mut from = EventBuffer::new(10, 1000);
        assert_eq!(from.push_sysex(3, Source::edge(0), &message), Pushed::Stored);
        let kind = from.all()[0].kind;
        let words = room(64);
        let mut writer = Writer::new(&words);
        assert!(write_event(3, &kind, &message, (&mut writer, 0)));
        let mut into = EventBuffer::new(10, 1000);
        let read = read_event(&mut Reader::new(&words[..writer.used()]), &mut into);
        assert_eq!(read, Some(Pushed::Stored));
        let EventKind::SysEx(read) = into.all()[0].kind else { panic!("no message") };
        assert_eq!(into.sysex(read), message);
        assert!(!write_event(3, &kind, &message, (&mut Writer::new(&words[..20]), 0)));
    }

    #[test]
    fn places_of_the_song_come_out_as_they_went_in() {
        let point = SongPoint {
            frame: -3,
            playing: true,
            seconds: 0.1,
            beats: f64::MIN,
            bpm: 120.5,
            bar: BarPosition { bar: -7, beat: 3, tick: 959 },
            bar_start: 1e9,
            signature: TimeSignature { numerator: 7, denominator: 8 },
        };
        let words = room(SONG_WORDS);
        let mut writer = Writer::new(&words);
        write_song(&point, &mut writer);
        assert_eq!(writer.free(), 0);
        assert_eq!(read_song(&mut Reader::new(&words)), Some(point));
        assert_eq!(read_song(&mut Reader::new(&words[1..])), None);
    }

    #[test]
    fn any_words_are_read_without_harm() {
        let mut seed = 1_u32;
        for _ in 0..20_000 {
            let words = room(32);
            for word in &words {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                // Small numbers reach more of the branches.
                let value = if seed & 0x100 == 0 { seed >> 29 } else { seed };
                word.store(value, Relaxed);
            }
            let (mut reader, mut into) = (Reader::new(&words), EventBuffer::new(4, 16));
            while read_event(&mut reader, &mut into).is_some() {}
            let _ = read_song(&mut Reader::new(&words));
        }
    }
}
