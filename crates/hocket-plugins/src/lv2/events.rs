//! LV2's buffers of events, as bytes.

use hocket_time::{EventKind, Midi1, midi2_to_midi1};

use super::ffi::{abi, urid};
use crate::END_EVENTS;
use crate::song::SongPoint;

/// The numbers of the URIs that events are written with.
#[derive(Debug, Clone, Copy)]
pub struct Urids {
    sequence: u32,
    chunk: u32,
    object: u32,
    int: u32,
    long: u32,
    float: u32,
    midi: u32,
    unit_frame: u32,
    position: u32,
    frame: u32,
    speed: u32,
    bar: u32,
    bar_beat: u32,
    beat_unit: u32,
    beats_per_bar: u32,
    bpm: u32,
}

impl Urids {
    pub fn new() -> Urids {
        Urids {
            sequence: urid(abi::ATOM_SEQUENCE),
            chunk: urid(abi::ATOM_CHUNK),
            object: urid(abi::ATOM_OBJECT),
            int: urid(abi::ATOM_INT),
            long: urid(abi::ATOM_LONG),
            float: urid(abi::ATOM_FLOAT),
            midi: urid(abi::MIDI_EVENT),
            unit_frame: urid(abi::UNIT_FRAME),
            position: urid(abi::TIME_POSITION),
            frame: urid(abi::TIME_FRAME),
            speed: urid(abi::TIME_SPEED),
            bar: urid(abi::TIME_BAR),
            bar_beat: urid(abi::TIME_BAR_BEAT),
            beat_unit: urid(abi::TIME_BEAT_UNIT),
            beats_per_bar: urid(abi::TIME_BEATS_PER_BAR),
            bpm: urid(abi::TIME_BPM),
        }
    }
}

/// Offers an output buffer of this size.
pub fn offer(urids: &Urids, buffer: &mut [u8]) {
    let capacity = buffer.len() as u32 - 8;
    put(buffer, 0, &capacity.to_ne_bytes());
    put(buffer, 4, &urids.chunk.to_ne_bytes());
    // Some plug-ins write no unit of time, and mean frames.
    put(buffer, 8, &[0; 8]);
}

/// The MIDI messages that a plug-in wrote into a buffer, with their frames, in its order. It may have written anything: what
/// makes no sense ends the sequence.
pub struct Written<'a> {
    midi: u32,
    rest: &'a [u8],
}

impl<'a> Written<'a> {
    /// Of a buffer that was offered before the run. A plug-in that wrote nothing left it as it was.
    pub fn new(urids: &Urids, buffer: &'a [u8]) -> Written<'a> {
        let (bytes, kind, unit) = (word(buffer, 0), word(buffer, 4), word(buffer, 8));
        let is_sequence = kind == Some(urids.sequence);
        let in_frames = [Some(0), Some(urids.unit_frame)].contains(&unit);
        let end = (bytes.unwrap_or(0) as usize).saturating_add(8).min(buffer.len());
        let rest = buffer.get(HEAD..end).filter(|_| is_sequence && in_frames);
        Written { midi: urids.midi, rest: rest.unwrap_or_default() }
    }
}

impl<'a> Iterator for Written<'a> {
    type Item = (u32, &'a [u8]);

    fn next(&mut self) -> Option<(u32, &'a [u8])> {
        loop {
            let (head, rest) = std::mem::take(&mut self.rest).split_at_checked(16)?;
            let frame = i64::from_ne_bytes(head[..8].try_into().ok()?);
            let bytes = word(head, 8)? as usize;
            let body = rest.get(..bytes)?;
            self.rest = rest.get(bytes.next_multiple_of(8)..).unwrap_or_default();
            if word(head, 12)? == self.midi {
                return Some((frame.clamp(0, i64::from(u32::MAX)) as u32, body));
            }
        }
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..at + 4)?;
    word.try_into().ok().map(u32::from_ne_bytes)
}

fn put(buffer: &mut [u8], at: usize, bytes: &[u8]) {
    buffer[at..at + bytes.len()].copy_from_slice(bytes);
}

/// Writes a sequence of events into a buffer.
#[derive(Debug)]
pub struct Sequence<'a> {
    urids: Urids,
    buffer: &'a mut [u8],
    used: usize,
    /// Bytes at the buffer's end that the present event leaves free.
    free: usize,
    /// Whether all of the present event found room.
    fits: bool,
}

/// The buffer's head: the atom's, the unit of time (0: frames), and padding.
const HEAD: usize = 16;
/// An event of up to 8 bytes.
const SHORT: usize = 24;

impl<'a> Sequence<'a> {
    /// An empty one. The buffer has room for the head, at least.
    pub fn new(urids: Urids, buffer: &'a mut [u8]) -> Sequence<'a> {
        put(buffer, 4, &urids.sequence.to_ne_bytes());
        put(buffer, 8, &[0; 8]);
        let mut sequence = Sequence { urids, buffer, used: HEAD, free: 0, fits: true };
        sequence.close();
        sequence
    }

    /// The size of an atom is that of its body.
    fn close(&mut self) {
        let bytes = (self.used - 8) as u32;
        put(self.buffer, 0, &bytes.to_ne_bytes());
    }

    /// Appends an event. One that finds no room is left out whole.
    fn push(&mut self, frame: u32, kind: u32, parts: &[&[u8]]) {
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        let end = self.used + 16 + bytes.next_multiple_of(8);
        if end + self.free > self.buffer.len() {
            self.fits = false;
            return;
        }
        put(self.buffer, self.used, &i64::from(frame).to_ne_bytes());
        put(self.buffer, self.used + 8, &(bytes as u32).to_ne_bytes());
        put(self.buffer, self.used + 12, &kind.to_ne_bytes());
        let mut at = self.used + 16;
        for part in parts {
            put(self.buffer, at, part);
            at += part.len();
        }
        self.buffer[at..end].fill(0);
        self.used = end;
        self.close();
    }

    fn midi(&mut self, frame: u32, message: Midi1) {
        self.push(frame, self.urids.midi, &[message.as_slice()]);
    }

    /// Appends what happens at a frame of the run, as MIDI 1.0. `sysex`: the bytes of a message that has them elsewhere.
    /// The last room is for note ends. Returns whether all of it found room.
    pub fn event(&mut self, frame: u32, kind: &EventKind, sysex: &[u8]) -> bool {
        self.fits = true;
        self.free = if kind.ends_notes() { 0 } else { END_EVENTS * SHORT };
        match kind {
            EventKind::Note(note) => {
                note.to_midi().into_iter().for_each(|message| self.midi(frame, message));
            }
            EventKind::Midi(message) => self.midi(frame, *message),
            EventKind::Ump(packet) => {
                let messages = midi2_to_midi1(packet);
                messages.as_slice().iter().for_each(|message| self.midi(frame, *message));
            }
            EventKind::SysEx(_) => self.push(frame, self.urids.midi, &[sysex]),
            EventKind::EndAllNotes => self.end_all_notes(frame),
            EventKind::Param(_) => {}
        }
        self.fits
    }

    /// Pedals up, and every note ends.
    fn end_all_notes(&mut self, frame: u32) {
        for channel in 0..16 {
            for controller in [64, 123] {
                self.push(frame, self.urids.midi, &[&[0xb0 | channel, controller, 0]]);
            }
        }
    }

    /// Appends where the song is.
    pub fn position(&mut self, song: &Song) {
        let urids = self.urids;
        let mut body = [0; Song::BYTES];
        put(&mut body, 4, &urids.position.to_ne_bytes());
        let values = [
            (urids.frame, urids.long, song.frame.to_ne_bytes()),
            (urids.bar, urids.long, song.bar.to_ne_bytes()),
            (urids.beat_unit, urids.int, wide(song.beat_unit.to_ne_bytes())),
            (urids.speed, urids.float, wide(song.speed.to_ne_bytes())),
            (urids.bar_beat, urids.float, wide(song.bar_beat.to_ne_bytes())),
            (urids.beats_per_bar, urids.float, wide(song.beats_per_bar.to_ne_bytes())),
            (urids.bpm, urids.float, wide(song.bpm.to_ne_bytes())),
        ];
        for (index, (key, kind, value)) in values.into_iter().enumerate() {
            let at = 8 + 24 * index;
            let bytes: u32 = if kind == urids.long { 8 } else { 4 };
            put(&mut body, at, &key.to_ne_bytes());
            put(&mut body, at + 8, &bytes.to_ne_bytes());
            put(&mut body, at + 12, &kind.to_ne_bytes());
            put(&mut body, at + 16, &value);
        }
        self.push(0, urids.object, &[&body]);
    }
}

/// Values are padded to 8 bytes.
fn wide(value: [u8; 4]) -> [u8; 8] {
    let mut wide = [0; 8];
    wide[..4].copy_from_slice(&value);
    wide
}

/// Where the song is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Song {
    frame: i64,
    bar: i64,
    beat_unit: i32,
    speed: f32,
    bar_beat: f32,
    beats_per_bar: f32,
    bpm: f32,
}

impl Song {
    /// The object's head, and seven properties.
    const BYTES: usize = 8 + 7 * 24;

    /// At a frame of the song.
    pub fn at(point: &SongPoint) -> Song {
        let beats_in_bar = (point.beats - point.bar_start) / point.signature.beat_beats();
        Song {
            frame: point.frame,
            bar: point.bar.bar,
            beat_unit: i32::from(point.signature.denominator),
            speed: if point.playing { 1.0 } else { 0.0 },
            bar_beat: beats_in_bar as f32,
            beats_per_bar: f32::from(point.signature.numerator),
            bpm: point.bpm as f32,
        }
    }
}

#[cfg(test)]
mod tests {
    use hocket_time::Note;

    use super::*;

    #[test]
    fn a_note_is_an_event_of_twenty_four_bytes() {
        let urids = Urids::new();
        let mut buffer = [0xff; 64 + END_EVENTS * SHORT];
        let mut sequence = Sequence::new(urids, &mut buffer);
        sequence.event(7, &EventKind::Midi(Midi1::new(&[0x90, 60, 100]).unwrap()), &[]);
        assert_eq!(buffer[..4], 32_u32.to_ne_bytes(), "the sequence's body: 8 and 24");
        assert_eq!(buffer[16..24], 7_i64.to_ne_bytes());
        assert_eq!(buffer[24..28], 3_u32.to_ne_bytes());
        assert_eq!(buffer[32..40], [0x90, 60, 100, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn what_a_plug_in_wrote_is_read_and_nonsense_ends_it() {
        let urids = Urids::new();
        let mut buffer = [0xff; 256 + END_EVENTS * SHORT];
        offer(&urids, &mut buffer);
        assert_eq!(Written::new(&urids, &buffer).count(), 0, "it wrote nothing");
        let mut sequence = Sequence::new(urids, &mut buffer);
        let message = |bytes: &[u8]| EventKind::Midi(Midi1::new(bytes).unwrap());
        sequence.event(7, &message(&[0x90, 60, 100]), &[]);
        sequence.push(8, urids.object, &[&[1, 2, 3]]);
        sequence.event(9, &message(&[0xc3, 5]), &[]);
        let expected: [(u32, &[u8]); 2] = [(7, &[0x90, 60, 100]), (9, &[0xc3, 5])];
        assert!(Written::new(&urids, &buffer).eq(expected));
        put(&mut buffer, 8, &urids.unit_frame.to_ne_bytes());
        assert!(Written::new(&urids, &buffer).eq(expected));
        // The second event is longer than the buffer, the first one before the run.
        put(&mut buffer, 48, &u32::MAX.to_ne_bytes());
        put(&mut buffer, 16, &(-1_i64).to_ne_bytes());
        assert!(Written::new(&urids, &buffer).eq([(0, expected[0].1)]));
        for (at, word) in [(8, urids.midi), (4, urids.chunk), (0, 3)] {
            let mut other = buffer;
            put(&mut other, at, &word.to_ne_bytes());
            assert_eq!(Written::new(&urids, &other).count(), 0, "{at}");
        }
    }

    #[test]
    fn what_finds_no_room_is_left_out_whole() {
        let mut buffer = [0; 48];
        let mut sequence = Sequence::new(Urids::new(), &mut buffer);
        assert!(!sequence.event(0, &EventKind::EndAllNotes, &[]), "it is lost");
        assert_eq!(buffer[..4], 32_u32.to_ne_bytes(), "one of 32 messages");
    }

    #[test]
    fn a_full_buffer_takes_note_ends() {
        let mut buffer = [0; 4096];
        let mut sequence = Sequence::new(Urids::new(), &mut buffer);
        let on = EventKind::Note(Note::on(-1, 0, 60, 0.8));
        let taken = (0..1_000).filter(|_| sequence.event(0, &on, &[])).count();
        let full = sequence.used;
        assert_eq!(full, HEAD + taken * SHORT);
        for key in 0..64 {
            assert!(sequence.event(0, &EventKind::Note(Note::off(-1, 0, key, 0.8)), &[]));
        }
        assert!(sequence.event(0, &EventKind::EndAllNotes, &[]));
        assert_eq!(sequence.used, full + (64 + 32) * SHORT, "and the end of all notes");
        assert!(!sequence.event(0, &on, &[]));
        assert_eq!(sequence.used, full + (64 + 32) * SHORT);
    }

    #[test]
    fn an_output_is_offered_with_its_capacity() {
        let (urids, mut buffer) = (Urids::new(), [0; 64]);
        offer(&urids, &mut buffer);
        assert_eq!(buffer[..4], 56_u32.to_ne_bytes());
        assert_eq!(buffer[4..8], urids.chunk.to_ne_bytes());
    }
}
