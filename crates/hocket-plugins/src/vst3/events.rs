//! Notes and MIDI messages for VST3 plug-ins. VST3 has notes of its own; controllers of MIDI move parameters.

use hocket_time::{EventKind, Midi1, Note, NoteAction, midi2_to_midi1};

use super::ffi::{Audio, Told};
use super::instances::{MOST_NOTES, MOST_VALUES};
use crate::sent::short_message;

/// Channels of MIDI.
const CHANNELS: i16 = 16;
/// Keys of MIDI.
const KEYS: usize = 128;
/// Behind the 128 controllers of MIDI.
const CHANNEL_PRESSURE: i16 = 128;
const PITCH_BEND: i16 = 129;
/// Controllers of a channel, with the two above.
const CONTROLLERS: i16 = 130;
const SUSTAIN: i16 = 64;
const ALL_NOTES_OFF: i16 = 123;
/// No parameter.
const NONE: u32 = u32::MAX;

/// Which parameters controllers move.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MidiMap {
    /// The place of the parameter for each controller of each channel; empty: there are none.
    slots: Vec<u32>,
    /// Parameters that only controllers move, by id: their places are behind those of the others.
    pub others: Vec<u32>,
}

impl MidiMap {
    /// All channels and controllers.
    pub fn places() -> impl Iterator<Item = (i16, i16)> {
        (0..CHANNELS)
            .flat_map(|channel| (0..CONTROLLERS).map(move |controller| (channel, controller)))
    }

    pub fn set(&mut self, channel: i16, controller: i16, slot: usize) {
        if self.slots.is_empty() {
            self.slots = vec![NONE; (CHANNELS * CONTROLLERS) as usize];
        }
        let place = (channel * CONTROLLERS + controller) as usize;
        self.slots[place] = slot as u32;
    }

    fn get(&self, channel: i16, controller: i16) -> Option<usize> {
        let slot = self.slots.get((channel * CONTROLLERS + controller) as usize);
        slot.filter(|slot| **slot != NONE).map(|slot| *slot as usize)
    }
}

/// The notes that sound: VST3 knows no end of all notes.
pub struct Held {
    /// How often each key of each channel is down.
    counts: Box<[u8]>,
    any: usize,
}

impl Held {
    /// `false`: for a plug-in that takes no notes.
    pub fn new(takes_events: bool) -> Held {
        let keys = if takes_events { CHANNELS as usize * KEYS } else { 0 };
        Held { counts: vec![0; keys].into(), any: 0 }
    }

    /// Whether any note sounds.
    pub fn sounds(&self) -> bool {
        self.any > 0
    }

    /// No note sounds.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        self.any = 0;
    }
}

/// Writes the events of a run.
pub struct Writer<'a> {
    pub audio: &'a mut Audio,
    pub held: &'a mut Held,
    pub midi: &'a MidiMap,
}

impl Writer<'_> {
    /// Appends a note or message. The last room is for note ends. Returns whether all of it found room.
    pub fn event(&mut self, frame: u32, kind: &EventKind) -> bool {
        match kind {
            EventKind::Note(note) => self.note(frame, note),
            EventKind::Midi(message) => self.message(frame, *message),
            EventKind::Ump(packet) => {
                let messages = midi2_to_midi1(packet);
                let mut fits = true;
                for message in messages.as_slice() {
                    fits &= self.message(frame, *message);
                }
                fits
            }
            EventKind::EndAllNotes => self.end_all(frame),
            EventKind::Param(_) | EventKind::SysEx(_) => true,
        }
    }

    fn note(&mut self, frame: u32, note: &Note) -> bool {
        match note.action {
            NoteAction::On => {
                let (Ok(channel), Ok(key)) = (u8::try_from(note.channel), u8::try_from(note.key))
                else {
                    return true;
                };
                self.on(frame, (channel, key), note.velocity as f32)
            }
            NoteAction::Off => self.off(frame, (note.channel, note.key), note.velocity as f32),
            NoteAction::Choke => self.off(frame, (note.channel, note.key), 0.0),
            NoteAction::End => true,
        }
    }

    fn on(&mut self, frame: u32, (channel, key): (u8, u8), velocity: f32) -> bool {
        let place = (i16::from(channel & 0xf), i16::from(key & 0x7f));
        let fits = self.audio.lists.note_on(frame, place, velocity, MOST_NOTES);
        if let (true, Some(count)) = (fits, self.held.counts.get_mut(index(place))) {
            *count = count.saturating_add(1);
            self.held.any += 1;
        }
        fits
    }

    /// The ends of one note, or of all that sound on a channel or key of -1.
    fn off(&mut self, frame: u32, (channel, key): (i8, i8), velocity: f32) -> bool {
        if channel >= 0 && key >= 0 {
            let place = (i16::from(channel & 0xf), i16::from(key));
            let fits = self.audio.lists.note_off(frame, place, velocity, usize::MAX);
            if let (true, Some(count)) = (fits, self.held.counts.get_mut(index(place))) {
                self.held.any -= usize::from(*count > 0);
                *count = count.saturating_sub(1);
            }
            return fits;
        }
        self.end(frame, velocity, |place| {
            (channel < 0 || i16::from(channel) == place.0) && (key < 0 || i16::from(key) == place.1)
        })
    }

    /// Ends the notes that sound here.
    fn end(&mut self, frame: u32, velocity: f32, here: impl Fn((i16, i16)) -> bool) -> bool {
        let mut fits = true;
        if self.held.any == 0 {
            return fits;
        }
        for at in 0..self.held.counts.len() {
            let place = ((at / KEYS) as i16, (at % KEYS) as i16);
            while self.held.counts[at] > 0 && here(place) && fits {
                fits = self.audio.lists.note_off(frame, place, velocity, usize::MAX);
                if fits {
                    self.held.counts[at] -= 1;
                    self.held.any -= 1;
                }
            }
        }
        fits
    }

    fn message(&mut self, frame: u32, message: Midi1) -> bool {
        let [status, first, second] = message.bytes();
        let channel = i16::from(status & 0xf);
        let share = |value: u8| f64::from(value) / 127.0;
        match status & 0xf0 {
            0x80 | 0x90 => Note::from_midi(message).is_none_or(|note| self.note(frame, &note)),
            0xa0 => {
                let place = (channel, i16::from(first));
                self.audio.lists.pressure(frame, place, share(second) as f32, MOST_NOTES)
            }
            0xb0 => {
                let moved = self.moved(frame, (channel, i16::from(first)), share(second));
                // All sound off, all notes off, and the modes that end notes.
                let ends = matches!(first, 120 | 123..=127);
                moved & (!ends || self.end(frame, 0.0, |place| place.0 == channel))
            }
            0xd0 => self.moved(frame, (channel, CHANNEL_PRESSURE), share(first)),
            0xe0 => {
                let bend = u16::from(second) << 7 | u16::from(first);
                self.moved(frame, (channel, PITCH_BEND), f64::from(bend) / 16_383.0)
            }
            _ => true,
        }
    }

    /// A controller moves a parameter, if the plug-in has one for it.
    fn moved(&mut self, frame: u32, (channel, controller): (i16, i16), value: f64) -> bool {
        let Some(slot) = self.midi.get(channel, controller) else { return true };
        let releases = controller == SUSTAIN && value < 0.5;
        let most = if releases { usize::MAX } else { MOST_VALUES };
        self.audio.lists.change(slot, frame, value, most)
    }

    /// Pedals up, and every note ends.
    fn end_all(&mut self, frame: u32) -> bool {
        let mut fits = self.end(frame, 0.0, |_| true);
        for channel in 0..CHANNELS {
            for (controller, value) in [(SUSTAIN, 0.0), (ALL_NOTES_OFF, 0.0)] {
                if let Some(slot) = self.midi.get(channel, controller) {
                    fits &= self.audio.lists.change(slot, frame, value, usize::MAX);
                }
            }
        }
        fits
    }
}

/// What a plug-in has sent, as others receive it. `None`: no such channel, key or message.
pub fn received(told: Told) -> Option<EventKind> {
    let place = |channel: i16, key: i16| {
        let fits = (0..CHANNELS).contains(&channel) && (0..KEYS as i16).contains(&key);
        fits.then_some((channel as i8, key as i8))
    };
    let amount =
        |amount: f32| if amount.is_nan() { 0.0 } else { f64::from(amount.clamp(0.0, 1.0)) };
    match told {
        Told::On(id, channel, key, velocity) => {
            let (channel, key) = place(channel, key)?;
            Some(EventKind::Note(Note::on(id.max(-1), channel, key, amount(velocity))))
        }
        Told::Off(id, channel, key, velocity) => {
            let (channel, key) = place(channel, key)?;
            Some(EventKind::Note(Note::off(id.max(-1), channel, key, amount(velocity))))
        }
        Told::Pressure(channel, key, pressure) => {
            let (channel, key) = place(channel, key)?;
            let pressure = (amount(pressure) * 127.0 + 0.5) as u8;
            short_message([0xa0 | channel as u8, key as u8, pressure]).map(EventKind::Midi)
        }
        Told::Controller(number, channel, first, second) => {
            let channel = u8::try_from(channel).ok().filter(|channel| *channel < 16)?;
            let (first, second) = (u8::try_from(first).ok()?, u8::try_from(second).ok()?);
            let bytes = match number {
                0..=127 => [0xb0 | channel, number, first],
                128 => [0xd0 | channel, first, 0],
                129 => [0xe0 | channel, first, second],
                130 => [0xc0 | channel, first, 0],
                131 => [0xa0 | channel, first, second],
                _ => return None,
            };
            short_message(bytes).map(EventKind::Midi)
        }
    }
}

fn index((channel, key): (i16, i16)) -> usize {
    channel as usize * KEYS + key as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_plug_in_sends_becomes_notes_and_messages() {
        let midi = |bytes: &[u8]| Some(EventKind::Midi(Midi1::new(bytes).unwrap()));
        let on = EventKind::Note(Note::on(7, 2, 60, 0.5));
        assert_eq!(received(Told::On(7, 2, 60, 0.5)), Some(on));
        let off = EventKind::Note(Note::off(-1, 2, 60, 0.0));
        assert_eq!(received(Told::Off(-9, 2, 60, f32::NAN)), Some(off));
        assert_eq!(received(Told::Pressure(2, 60, 2.0)), midi(&[0xa2, 60, 127]));
        assert_eq!(received(Told::Controller(64, 2, 127, 0)), midi(&[0xb2, 64, 127]));
        assert_eq!(received(Told::Controller(128, 2, 9, 0)), midi(&[0xd2, 9]));
        assert_eq!(received(Told::Controller(129, 2, 1, 64)), midi(&[0xe2, 1, 64]));
        assert_eq!(received(Told::Controller(130, 2, 5, 0)), midi(&[0xc2, 5]));
        assert_eq!(received(Told::Controller(131, 2, 60, 9)), midi(&[0xa2, 60, 9]));
        let nonsense = [
            Told::On(-1, 16, 60, 1.0),
            Told::Off(-1, 0, -1, 1.0),
            Told::Controller(200, 0, 0, 0),
            Told::Controller(7, -1, 0, 0),
            Told::Controller(7, 0, -1, 0),
        ];
        assert!(nonsense.iter().all(|told| received(*told).is_none()));
    }
}
