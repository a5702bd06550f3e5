//! What sounds of one port, and the events that end it.

use super::event::{Event, EventKind, Note, Source};
use super::sounding::{Sounding, SoundingNotes};
use crate::midi::{Midi1, Midi1To2, Ump};

/// Which notes sound and which pedals are down on one port, by the kind of event that began them, so that each is ended
/// in its own kind.
///
/// Thread: one at a time, inside a block. Cost: O(1) per event, O(notes) to end them; no allocation.
///
/// ```
/// use hocket_time::{Event, EventKind, HeldNotes, Midi1, Note, Source};
///
/// let mut held = HeldNotes::new();
/// held.watch(&EventKind::Note(Note::on(7, 0, 60, 0.8)));
/// held.watch(&EventKind::Midi(Midi1::new(&[0x93, 64, 100]).unwrap()));
/// let mut ends = Vec::new();
/// held.end_all(5, Source::LANE, |end| ends.push(end.kind));
/// let off = EventKind::Midi(Midi1::new(&[0x83, 64, 0]).unwrap());
/// assert_eq!(ends, [EventKind::Note(Note::off(-1, 0, 60, 0.0)), off]);
/// assert!(held.is_empty());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeldNotes {
    /// Begun by [`EventKind::Note`].
    notes: SoundingNotes,
    /// By [`EventKind::Midi`].
    midi: SoundingNotes,
    /// By [`EventKind::Ump`].
    packets: SoundingNotes,
    /// A bit for each group of the packets. What sounds in one of them is ended in all.
    groups: u16,
    /// Whether the packets are of MIDI 2.0.
    is_midi2: bool,
    /// Whether anything may sound.
    any: bool,
}

impl HeldNotes {
    /// Silence.
    pub fn new() -> HeldNotes {
        HeldNotes::default()
    }

    /// Whether nothing sounds for sure.
    #[inline]
    pub fn is_empty(&self) -> bool {
        !self.any
    }

    /// Takes note of an event that the port gets.
    pub fn watch(&mut self, event: &EventKind) {
        match event {
            EventKind::Param(_) | EventKind::SysEx(_) => return,
            EventKind::Note(_) => self.notes.watch(event),
            EventKind::Midi(_) => self.midi.watch(event),
            EventKind::Ump(packet) => {
                self.groups |= 1 << packet.group();
                self.is_midi2 = packet.message_type() == MIDI2;
                self.packets.watch(event);
            }
            EventKind::EndAllNotes => return self.clear(),
        }
        self.any = true;
    }

    /// Forgets everything, and gives the events at `frame` that end it.
    pub fn end_all(&mut self, frame: u32, source: Source, mut end: impl FnMut(Event)) {
        if self.is_empty() {
            return;
        }
        let HeldNotes { notes, midi, packets, groups, is_midi2, .. } = self;
        let mut give = |kind| end(Event::new(frame, source, kind));
        notes.end_all(|held| give(end_of_note(held)));
        midi.end_all(|held| give(EventKind::Midi(message(held))));
        packets.end_all(|held| {
            let own = (0..16).filter(|group| *groups >> group & 1 == 1);
            own.for_each(|group| give(EventKind::Ump(packet(group, held, *is_midi2))));
        });
        (self.groups, self.is_midi2, self.any) = (0, false, false);
    }

    /// Takes over what sounds of another port, which forgets it.
    pub fn take_over(&mut self, other: &mut HeldNotes) {
        if other.is_empty() {
            return;
        }
        self.notes.merge(&other.notes);
        self.midi.merge(&other.midi);
        self.packets.merge(&other.packets);
        self.groups |= other.groups;
        self.is_midi2 |= other.is_midi2;
        self.any = true;
        other.clear();
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        if self.any {
            let HeldNotes { notes, midi, packets, .. } = self;
            [notes, midi, packets].into_iter().for_each(SoundingNotes::clear);
            (self.groups, self.is_midi2, self.any) = (0, false, false);
        }
    }
}

/// Message type of MIDI 2.0's channel messages.
const MIDI2: u8 = 0x4;

fn end_of_note(held: Sounding) -> EventKind {
    match held {
        Sounding::Note { channel, key } => {
            EventKind::Note(Note::off(-1, channel as i8, key as i8, 0.0))
        }
        // Notes of CLAP have no pedals.
        pedal => EventKind::Midi(message(pedal)),
    }
}

fn message(held: Sounding) -> Midi1 {
    match held {
        Sounding::Note { channel, key } => Midi1::channel(0x80, channel, key, 0),
        Sounding::Pedal { channel, controller } => Midi1::channel(0xb0, channel, controller, 0),
    }
}

fn packet(group: u8, held: Sounding, is_midi2: bool) -> Ump {
    let message = message(held);
    let translated = is_midi2.then(|| Midi1To2::new().translate(group, message)).flatten();
    translated.unwrap_or_else(|| Ump::from_midi1(group, message))
}
