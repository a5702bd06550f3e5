//! Channel messages of MIDI 1.0 in MIDI 2.0 and back, as far as MIDI 1.0 can say it (M2-104, appendix D).

use super::midi1::Midi1;
use super::scale::{scale_down, scale_down_rounded, scale_up};
use super::ump::{MIDI2, Ump};

const BANK_HIGH: u8 = 0;
const DATA_HIGH: u8 = 6;
const BANK_LOW: u8 = 32;
const DATA_LOW: u8 = 38;
const ASSIGNABLE_LOW: u8 = 98;
const ASSIGNABLE_HIGH: u8 = 99;
const REGISTERED_LOW: u8 = 100;
const REGISTERED_HIGH: u8 = 101;

/// Status of a registered controller in MIDI 2.0; assignable ones have the next.
const REGISTERED: u8 = 0x20;
const ASSIGNABLE: u8 = 0x30;

/// Centre of a 16-bit velocity: what an end has that came as a start with velocity 0.
const CENTRE_VELOCITY: u32 = 0x8000;

/// Translates channel messages of MIDI 1.0 to MIDI 2.0.
///
/// MIDI 2.0 says in one message what takes several in MIDI 1.0, so the translator remembers banks and parameter
/// numbers, per channel. Bank select waits for the next program change. A registered or assignable controller goes out
/// with its high data byte, and once more with the low one: a message never waits for a low byte that may not come.
/// (The specification holds it back; the last value is the same.)
///
/// Thread: one at a time, inside a block or not. Cost: O(1); no allocation.
#[derive(Debug, Clone, Default)]
pub struct Midi1To2 {
    channels: [Channel; 16],
}

/// What a channel remembers.
#[derive(Debug, Clone, Copy, Default)]
struct Channel {
    bank: (Option<u8>, Option<u8>),
    /// Status ([`REGISTERED`] or [`ASSIGNABLE`]), high and low byte of the parameter's number.
    param: Option<(u8, u8, u8)>,
    data_high: u8,
}

impl Midi1To2 {
    /// A translator that remembers nothing.
    pub fn new() -> Midi1To2 {
        Midi1To2::default()
    }

    /// The message in MIDI 2.0. `None`: it waits for another one, it is no channel message, or its parameter has no
    /// number (127/127).
    pub fn translate(&mut self, group: u8, message: Midi1) -> Option<Ump> {
        if message.is_system() {
            return None;
        }
        let [status, first, second] = message.bytes();
        let packet = |status, index, data| Some(Ump::midi2(group, status, index, data));
        let wide = |value: u8| scale_up(u32::from(value), 7, 32);
        match status & 0xf0 {
            0x90 if second == 0 => packet(status & 0x8f, [first, 0], CENTRE_VELOCITY << 16),
            0x80 | 0x90 => packet(status, [first, 0], scale_up(u32::from(second), 7, 16) << 16),
            0xa0 => packet(status, [first, 0], wide(second)),
            0xb0 => self.controller(group, status, first, second),
            0xc0 => {
                let (flag, bank) = self.channels[usize::from(status & 0xf)].take_bank();
                packet(status, [0, flag], u32::from(first) << 24 | bank)
            }
            0xd0 => packet(status, [0, 0], wide(first)),
            _ => packet(status, [0, 0], scale_up(bits_14(second, first), 14, 32)),
        }
    }

    fn controller(&mut self, group: u8, status: u8, index: u8, value: u8) -> Option<Ump> {
        let channel = &mut self.channels[usize::from(status & 0xf)];
        match index {
            BANK_HIGH => channel.bank.0 = Some(value),
            BANK_LOW => channel.bank.1 = Some(value),
            ASSIGNABLE_HIGH | ASSIGNABLE_LOW => {
                channel.number(ASSIGNABLE, index == ASSIGNABLE_HIGH, value)
            }
            REGISTERED_HIGH | REGISTERED_LOW => {
                channel.number(REGISTERED, index == REGISTERED_HIGH, value)
            }
            DATA_HIGH => {
                channel.data_high = value;
                return channel.data(group, status & 0xf, 0);
            }
            DATA_LOW => return channel.data(group, status & 0xf, value),
            _ => {
                let data = scale_up(u32::from(value), 7, 32);
                return Some(Ump::midi2(group, status, [index, 0], data));
            }
        }
        None
    }
}

impl Channel {
    /// Flag and bytes of the bank for a program change.
    fn take_bank(&mut self) -> (u8, u32) {
        match std::mem::take(&mut self.bank) {
            (None, None) => (0, 0),
            (high, low) => (1, u32::from(high.unwrap_or(0)) << 8 | u32::from(low.unwrap_or(0))),
        }
    }

    fn number(&mut self, kind: u8, is_high: bool, value: u8) {
        let (_, high, low) = self.param.filter(|param| param.0 == kind).unwrap_or((kind, 127, 127));
        self.param = Some(if is_high { (kind, value, low) } else { (kind, high, value) });
        self.data_high = 0;
    }

    fn data(&self, group: u8, channel: u8, data_low: u8) -> Option<Ump> {
        let (kind, high, low) = self.param.filter(|param| (param.1, param.2) != (127, 127))?;
        let value = bits_14(self.data_high, data_low);
        let data = if in_units(kind, low) { value << 18 } else { scale_up(value, 14, 32) };
        Some(Ump::midi2(group, kind | channel, [high, low], data))
    }
}

/// Whether a parameter counts in units, so that its centre and its end are not scaled.
fn in_units(kind: u8, low: u8) -> bool {
    kind == REGISTERED && low < 32
}

fn bits_14(high: u8, low: u8) -> u32 {
    u32::from(high) << 7 | u32::from(low)
}

/// Up to four messages of MIDI 1.0, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Midi1Messages {
    list: [Midi1; 4],
    len: usize,
}

impl Midi1Messages {
    fn none() -> Midi1Messages {
        Midi1Messages { list: [Midi1::channel(0x80, 0, 0, 0); 4], len: 0 }
    }

    fn and(mut self, message: Midi1) -> Midi1Messages {
        self.list[self.len] = message;
        self.len += 1;
        self
    }

    /// The messages, first to last.
    pub fn as_slice(&self) -> &[Midi1] {
        &self.list[..self.len]
    }
}

/// What a packet says in MIDI 1.0. No message, if MIDI 1.0 cannot say it: per-note and relative controllers, and
/// packets that are no channel or system messages.
///
/// A start has at least velocity 1. A registered or assignable controller becomes four messages, a program with a
/// bank three.
///
/// Thread: any. Cost: O(1); no allocation.
pub fn midi2_to_midi1(packet: &Ump) -> Midi1Messages {
    let none = Midi1Messages::none();
    if packet.message_type() != MIDI2 {
        return packet.midi1().map_or(none, |message| none.and(message));
    }
    let [head, data, ..] = packet.words();
    let [_, status, first, second] = head.to_be_bytes();
    let (status, channel) = (status & 0xf0, status & 0xf);
    let one = |first: u8, second: u8| none.and(Midi1::channel(status, channel, first, second));
    let bits_7 = |data: u32| scale_down(data, 32, 7) as u8;
    match status {
        0x80 => one(first, bits_7(data)),
        0x90 => one(first, bits_7(data).max(1)),
        0xa0 => one(first, bits_7(data)),
        0xb0 if is_part_of_another(first) => none,
        0xb0 => one(first, bits_7(data)),
        0xc0 => program(channel, second & 1 == 1, data),
        0xd0 => one(bits_7(data), 0),
        0xe0 => {
            let bend = scale_down(data, 32, 14);
            one(bend as u8 & 0x7f, (bend >> 7) as u8)
        }
        REGISTERED | ASSIGNABLE => parameter(status, channel, [first, second], data),
        _ => none,
    }
}

/// Controllers that MIDI 2.0 has messages of their own for.
fn is_part_of_another(controller: u8) -> bool {
    matches!(controller, BANK_HIGH | BANK_LOW | DATA_HIGH | DATA_LOW)
        || (ASSIGNABLE_LOW..=REGISTERED_HIGH).contains(&controller)
}

fn program(channel: u8, has_bank: bool, data: u32) -> Midi1Messages {
    let [program, _, bank_high, bank_low] = data.to_be_bytes();
    let controller = |index, value| Midi1::channel(0xb0, channel, index, value);
    let mut messages = Midi1Messages::none();
    if has_bank {
        messages =
            messages.and(controller(BANK_HIGH, bank_high)).and(controller(BANK_LOW, bank_low));
    }
    messages.and(Midi1::channel(0xc0, channel, program, 0))
}

fn parameter(kind: u8, channel: u8, [high, low]: [u8; 2], data: u32) -> Midi1Messages {
    let value = if in_units(kind, low) {
        scale_down_rounded(data, 32, 14)
    } else {
        scale_down(data, 32, 14)
    };
    let (index_high, index_low) = if kind == REGISTERED {
        (REGISTERED_HIGH, REGISTERED_LOW)
    } else {
        (ASSIGNABLE_HIGH, ASSIGNABLE_LOW)
    };
    let controller = |index, value| Midi1::channel(0xb0, channel, index, value);
    Midi1Messages::none()
        .and(controller(index_high, high))
        .and(controller(index_low, low))
        .and(controller(DATA_HIGH, (value >> 7) as u8))
        .and(controller(DATA_LOW, value as u8))
}
