//! Which notes sound, so that they can be ended one by one.

use super::event::{EventKind, Note, NoteAction};
use crate::midi::{Midi1, PEDALS, Ump, midi2_to_midi1};

const CHANNELS: usize = 16;

/// Something that has to be ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sounding {
    /// A note.
    Note {
        /// 0 to 15.
        channel: u8,
        /// 0 to 127.
        key: u8,
    },
    /// A pedal that holds notes.
    Pedal {
        /// 0 to 15.
        channel: u8,
        /// Its controller: 64, 66 or 69.
        controller: u8,
    },
}

/// Remembers which notes have started and not ended, and which pedals are down, of one port.
///
/// MIDI and plug-ins have no event that ends every note for sure. When the song stops or jumps, when a plug-in is
/// bypassed, or for [`EventKind::EndAllNotes`], a sender ends what is remembered here, in its own kind of message.
/// Notes of one channel and key count as one in MIDI. Notes with ids may overlap: then the key counts as sounding until an
/// end means all of its notes, so more may be ended than sounds, and nothing hangs.
///
/// Thread: one at a time, inside a block. Cost: O(1) per event, O(notes) to end them; no allocation.
///
/// ```
/// use hocket_time::{EventKind, Note, Sounding, SoundingNotes};
///
/// let mut notes = SoundingNotes::new();
/// notes.watch(&EventKind::Note(Note::on(1, 0, 60, 0.8)));
/// notes.watch(&EventKind::Note(Note::on(2, 0, 64, 0.8)));
/// notes.watch(&EventKind::Note(Note::off(1, 0, 60, 0.0)));
/// let mut left = Vec::new();
/// notes.end_all(|it| left.push(it));
/// assert_eq!(left, [Sounding::Note { channel: 0, key: 64 }]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SoundingNotes {
    /// A bit per key.
    keys: [u128; CHANNELS],
    /// A bit per key of which a note started before another one had ended.
    overlap: [u128; CHANNELS],
    /// A bit per pedal, in the order of [`PEDALS`].
    pedals: [u8; CHANNELS],
}

impl SoundingNotes {
    /// Silence.
    pub fn new() -> SoundingNotes {
        SoundingNotes::default()
    }

    /// How many keys sound.
    pub fn count(&self) -> u32 {
        self.keys.iter().map(|keys| keys.count_ones()).sum()
    }

    /// Takes note of an event that the port gets. Others than notes and pedals change nothing.
    pub fn watch(&mut self, event: &EventKind) {
        match event {
            EventKind::Note(note) => self.watch_note(note),
            EventKind::Midi(message) => self.watch_midi(*message),
            EventKind::Ump(packet) => self.watch_packet(packet),
            EventKind::EndAllNotes => self.clear(),
            EventKind::Param(_) | EventKind::SysEx(_) => {}
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        // One by one: a block has no fill by the C library.
        self.keys.iter_mut().filter(|keys| **keys != 0).for_each(|keys| *keys = 0);
        self.overlap.iter_mut().filter(|keys| **keys != 0).for_each(|keys| *keys = 0);
        self.pedals.iter_mut().filter(|pedals| **pedals != 0).for_each(|pedals| *pedals = 0);
    }

    /// Also takes note of what sounds of another port.
    pub fn merge(&mut self, other: &SoundingNotes) {
        let overlap = self.overlap.iter_mut().zip(&other.overlap);
        for ((own, other), (overlap, others)) in self.keys.iter_mut().zip(&other.keys).zip(overlap)
        {
            *overlap |= others | *own & other;
            *own |= other;
        }
        self.pedals.iter_mut().zip(&other.pedals).for_each(|(own, other)| *own |= other);
    }

    /// Forgets everything, and gives it to be ended: of each channel the notes from low to high, then the pedals.
    pub fn end_all(&mut self, mut end: impl FnMut(Sounding)) {
        self.overlap.iter_mut().filter(|keys| **keys != 0).for_each(|keys| *keys = 0);
        let channels = self.keys.iter_mut().zip(&mut self.pedals);
        for (channel, (keys, pedals)) in (0..).zip(channels) {
            // One by one: a block has no copy by the C library.
            let (mut keys, pedals) = (std::mem::take(keys), std::mem::take(pedals));
            while keys != 0 {
                end(Sounding::Note { channel, key: keys.trailing_zeros() as u8 });
                keys &= keys - 1;
            }
            let down = PEDALS.into_iter().enumerate().filter(|(n, _)| pedals >> n & 1 == 1);
            down.for_each(|(_, controller)| end(Sounding::Pedal { channel, controller }));
        }
    }

    fn watch_note(&mut self, note: &Note) {
        let Note { action, id, channel, key, .. } = *note;
        if action == NoteAction::On {
            // A start has one channel and one key.
            if let (Ok(channel), 0..) = (usize::try_from(channel), key)
                && let Some(keys) = self.keys.get_mut(channel)
            {
                self.overlap[channel] |= *keys & 1 << key;
                *keys |= 1 << key;
            }
            return;
        }
        let ended = if key < 0 { u128::MAX } else { 1 << key };
        let channels = (0..).zip(self.keys.iter_mut().zip(&mut self.overlap));
        for (_, (keys, overlap)) in channels.filter(|(n, _)| channel < 0 || channel == *n) {
            // One of several notes, and nobody counts them.
            let others = if id < 0 { 0 } else { *overlap };
            *keys &= !ended | others;
            *overlap &= !ended | others;
        }
    }

    fn watch_midi(&mut self, message: Midi1) {
        let [status, first, second] = message.bytes();
        if status == 0xff {
            self.clear();
        }
        let (keys, pedals) = (&mut self.keys, &mut self.pedals);
        let channel = usize::from(status & 0xf);
        match status & 0xf0 {
            0x90 if second > 0 => keys[channel] |= 1 << first,
            0x80 | 0x90 => keys[channel] &= !(1 << first),
            0xb0 if matches!(first, 120 | 123..=127) => keys[channel] = 0,
            0xb0 => {
                let Some(pedal) = PEDALS.iter().position(|it| *it == first) else { return };
                let down = u8::from(second >= 64) << pedal;
                pedals[channel] = pedals[channel] & !(1 << pedal) | down;
            }
            _ => {}
        }
    }

    fn watch_packet(&mut self, packet: &Ump) {
        for message in midi2_to_midi1(packet).as_slice() {
            self.watch_midi(*message);
        }
    }
}
