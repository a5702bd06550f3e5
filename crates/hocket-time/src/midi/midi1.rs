//! Messages of MIDI 1.0.

use thiserror::Error;

/// Controllers that hold notes: sustain, sostenuto, hold 2. Below 64 they are released.
pub(crate) const PEDALS: [u8; 3] = [64, 66, 69];

/// A message of MIDI 1.0 with 1 to 3 bytes: a channel message, or a system message other than system exclusive.
/// Every value is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Midi1 {
    bytes: [u8; 3],
    len: u8,
}

/// Why bytes are no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum MidiError {
    /// The first byte is no status byte of such a message.
    #[error(
        "the MIDI message begins with {0:#04x}: begin with a status byte, 0x80 to 0xff, and send system \
             exclusive messages (0xf0) by themselves"
    )]
    Status(u8),
    /// The status byte asks for another length.
    #[error("the MIDI message {status:#04x} has {found} bytes: send {expected}")]
    Length {
        /// Its first byte.
        status: u8,
        /// How many bytes it needs.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// A byte behind the first has its highest bit set.
    #[error("byte {index} of the MIDI message is {byte:#04x}: data bytes are 0x00 to 0x7f")]
    Data {
        /// Which byte, from 0.
        index: usize,
        /// What it is.
        byte: u8,
    },
}

/// How many bytes a message has. `None`: no such message.
fn length(status: u8) -> Option<usize> {
    match status {
        0x80..=0xbf | 0xe0..=0xef | 0xf2 => Some(3),
        0xc0..=0xdf | 0xf1 | 0xf3 => Some(2),
        0xf6 | 0xf8 | 0xfa..=0xfc | 0xfe | 0xff => Some(1),
        _ => None,
    }
}

impl Midi1 {
    /// A message of exactly these bytes.
    ///
    /// # Errors
    /// [`MidiError`] if they are not one message of MIDI 1.0.
    pub fn new(bytes: &[u8]) -> Result<Midi1, MidiError> {
        let status = bytes.first().copied().unwrap_or(0);
        let expected = length(status).ok_or(MidiError::Status(status))?;
        if bytes.len() != expected {
            return Err(MidiError::Length { status, expected, found: bytes.len() });
        }
        let data = bytes.iter().copied().enumerate().skip(1);
        if let Some((index, byte)) = data.clone().find(|(_, byte)| *byte >= 0x80) {
            return Err(MidiError::Data { index, byte });
        }
        let mut all = [0; 3];
        all[..expected].copy_from_slice(bytes);
        Ok(Midi1 { bytes: all, len: expected as u8 })
    }

    /// A channel message from parts that are in range. `second` is 0 where the message has one data byte.
    pub(crate) fn channel(status: u8, channel: u8, first: u8, second: u8) -> Midi1 {
        let status = status | (channel & 0xf);
        let len = length(status).unwrap_or(3) as u8;
        Midi1 { bytes: [status, first & 0x7f, second & 0x7f], len }
    }

    /// Its bytes; those that it does not have are 0.
    pub fn bytes(&self) -> [u8; 3] {
        self.bytes
    }

    /// The bytes that it has.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// Whether it is a system message, which has no channel.
    pub fn is_system(&self) -> bool {
        self.bytes[0] >= 0xf0
    }

    /// Whether it ends notes or releases a pedal: note off, note on with velocity 0, all sound or notes off, the
    /// modes (which end notes too), sustain, sostenuto and hold 2 below 64, system reset.
    pub fn ends_notes(&self) -> bool {
        let [status, first, second] = self.bytes;
        match status & 0xf0 {
            0x80 => true,
            0x90 => second == 0,
            0xb0 => controller_ends_notes(first, second < 64),
            _ => status == 0xff,
        }
    }
}

/// Whether a controller ends notes; `low` if its value is in the lower half.
pub(super) fn controller_ends_notes(controller: u8, low: bool) -> bool {
    matches!(controller, 120 | 123..=127) || (PEDALS.contains(&controller) && low)
}
