//! Universal MIDI Packets.

use super::midi1::{Midi1, controller_ends_notes};

/// A Universal MIDI Packet of 1 to 4 words: messages of MIDI 1.0 and 2.0, and more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ump {
    words: [u32; 4],
}

/// Message type: system messages of MIDI 1.0.
pub(super) const SYSTEM: u8 = 0x1;
/// Message type: channel messages of MIDI 1.0.
pub(super) const MIDI1: u8 = 0x2;
/// Message type: channel messages of MIDI 2.0.
pub(super) const MIDI2: u8 = 0x4;

impl Ump {
    /// A packet. Words that its type does not have become 0.
    pub fn new(words: [u32; 4]) -> Ump {
        let mut packet = Ump { words };
        let count = packet.word_count();
        packet.words[count..].fill(0);
        packet
    }

    /// A packet that holds a message of MIDI 1.0 as it is. `group` is 0 to 15; higher bits do not count.
    pub fn from_midi1(group: u8, message: Midi1) -> Ump {
        let [status, first, second] = message.bytes();
        let kind = if message.is_system() { SYSTEM } else { MIDI1 };
        Ump::new([u32::from_be_bytes([kind << 4 | (group & 0xf), status, first, second]), 0, 0, 0])
    }

    /// A channel message of MIDI 2.0.
    pub(super) fn midi2(group: u8, status: u8, index: [u8; 2], data: u32) -> Ump {
        let head = [MIDI2 << 4 | (group & 0xf), status, index[0], index[1]];
        Ump::new([u32::from_be_bytes(head), data, 0, 0])
    }

    /// Its words. Those behind the last one are 0.
    pub fn words(&self) -> [u32; 4] {
        self.words
    }

    /// The words that it has.
    pub fn as_slice(&self) -> &[u32] {
        &self.words[..self.word_count()]
    }

    /// Message type, 0 to 15; the length follows from it.
    pub fn message_type(&self) -> u8 {
        (self.words[0] >> 28) as u8
    }

    /// Group, 0 to 15. Packets of the types 0 and 15 have none; there it means nothing.
    pub fn group(&self) -> u8 {
        (self.words[0] >> 24) as u8 & 0xf
    }

    fn word_count(&self) -> usize {
        match self.message_type() {
            0x0..=0x2 | 0x6 | 0x7 => 1,
            0x3 | 0x4 | 0x8..=0xa => 2,
            0xb | 0xc => 3,
            _ => 4,
        }
    }

    /// The message of MIDI 1.0 that it holds as it is. `None`: another packet, or one that is damaged.
    pub fn midi1(&self) -> Option<Midi1> {
        let [_, status, first, second] = self.words[0].to_be_bytes();
        let is_system = match self.message_type() {
            SYSTEM => true,
            MIDI1 => false,
            _ => return None,
        };
        let bytes = [status, first, second];
        let message = (1..=3).rev().find_map(|len| Midi1::new(&bytes[..len]).ok())?;
        (message.is_system() == is_system).then_some(message)
    }

    /// Whether it ends notes or releases a pedal, as [`Midi1::ends_notes`].
    pub fn ends_notes(&self) -> bool {
        if self.message_type() != MIDI2 {
            return self.midi1().is_some_and(|message| message.ends_notes());
        }
        let [_, status, index, _] = self.words[0].to_be_bytes();
        match status & 0xf0 {
            0x80 => true,
            0xb0 => controller_ends_notes(index, self.words[1] < 1 << 31),
            _ => false,
        }
    }
}
