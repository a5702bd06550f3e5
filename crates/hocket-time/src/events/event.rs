//! What happens at a frame.

use crate::midi::{Midi1, Ump};

/// Who sends an event. At one frame, events take effect in the order of their sources, so the highest one wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Source(pub u16);

impl Source {
    /// Automation lanes.
    pub const LANE: Source = Source(0);
    /// Edits by people and programs while the song plays. They win over lanes and inputs at the same frame. The
    /// next value of a lane wins over them.
    pub const LIVE: Source = Source(u16::MAX);
    /// The input edge `index` of a node, in the order of its edges. Edges behind the 65,000th share a source.
    pub fn edge(index: usize) -> Source {
        Source(u16::try_from(index + 1).map_or(u16::MAX - 1, |index| index.min(u16::MAX - 1)))
    }
}

/// Something that happens at a frame. 32 bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Event {
    /// Frames since the beginning of the block. The block has the frames from 0 up to but not including its length;
    /// later events belong to later blocks.
    pub frame: u32,
    /// Who sends it.
    pub source: Source,
    /// What happens.
    pub kind: EventKind,
}

impl Event {
    /// An event at a frame.
    pub fn new(frame: u32, source: Source, kind: EventKind) -> Event {
        Event { frame, source, kind }
    }

    /// What events are sorted by. Events that are equal in it keep the order in which they came.
    pub(super) fn key(&self) -> (u32, Source) {
        (self.frame, self.source)
    }
}

/// What an [`Event`] does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum EventKind {
    /// A parameter gets a value.
    Param(ParamChange),
    /// A note starts or ends, in the terms of CLAP.
    Note(Note),
    /// A MIDI 1.0 message of 1 to 3 bytes.
    Midi(Midi1),
    /// A Universal MIDI Packet, of MIDI 1.0 or 2.0.
    Ump(Ump),
    /// A system-exclusive message. Its bytes are in the buffer that holds the event
    /// ([`EventBuffer::sysex`](super::EventBuffer::sysex)).
    SysEx(SysEx),
    /// Every note ends and every pedal is released: what is left of note ends that found no room.
    EndAllNotes,
}

/// A parameter gets a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ParamChange {
    /// The parameter: an index for built-in effects, an id for plug-ins.
    pub param: u32,
    /// The value, in the parameter's unit.
    pub value: f64,
    /// Whether it is one of many on the way between two points. Such a change may be thinned out; all others are
    /// points or jumps and stay.
    pub on_ramp: bool,
}

/// A note starts or ends, as CLAP has it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Note {
    /// Start or end.
    pub action: NoteAction,
    /// The note's id, or -1: none given (a start), or notes of any id (an end).
    pub id: i32,
    /// 0 to 15, or -1: every channel.
    pub channel: i8,
    /// 0 to 127, 60 is middle C, or -1: every key.
    pub key: i8,
    /// 0.0 to 1.0. A start with 0.0 is a start here, unlike in MIDI 1.0.
    pub velocity: f64,
}

/// What happens to a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoteAction {
    /// It starts.
    On,
    /// It is released.
    Off,
    /// It stops at once.
    Choke,
    /// The processor reports that it has ended.
    End,
}

/// Where a buffer keeps the bytes of a system-exclusive message. It is valid in the buffer that gave it, until that
/// is advanced or cleared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SysEx {
    pub(super) start: u32,
    pub(super) len: u32,
}

impl SysEx {
    /// Its length in bytes, with the first (0xF0) and the last (0xF7).
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl EventKind {
    /// A change of a parameter that is a point or a jump.
    pub fn param(param: u32, value: f64) -> EventKind {
        EventKind::Param(ParamChange { param, value, on_ramp: false })
    }

    /// Whether it ends notes or releases a pedal. A buffer never drops such an event.
    pub fn ends_notes(&self) -> bool {
        match self {
            EventKind::Note(note) => note.action != NoteAction::On,
            EventKind::Midi(message) => message.ends_notes(),
            EventKind::Ump(packet) => packet.ends_notes(),
            EventKind::EndAllNotes => true,
            EventKind::Param(_) | EventKind::SysEx(_) => false,
        }
    }

    /// The parameter that it changes.
    pub(super) fn changes(&self) -> Option<u32> {
        if let EventKind::Param(change) = self { Some(change.param) } else { None }
    }
}

impl Note {
    /// A note that starts.
    pub fn on(id: i32, channel: i8, key: i8, velocity: f64) -> Note {
        Note { action: NoteAction::On, id, channel, key, velocity }
    }

    /// A note that is released.
    pub fn off(id: i32, channel: i8, key: i8, velocity: f64) -> Note {
        Note { action: NoteAction::Off, id, channel, key, velocity }
    }

    /// A note of MIDI 1.0. A start with velocity 0 is an end with velocity 64, as the MIDI 2.0 specification has it.
    /// `None`: another message.
    pub fn from_midi(message: Midi1) -> Option<Note> {
        let [status, key, velocity] = message.bytes();
        let (channel, key) = ((status & 0xf) as i8, key as i8);
        let amount = |velocity: u8| f64::from(velocity) / 127.0;
        match (status & 0xf0, velocity) {
            (0x90, 0) => Some(Note::off(-1, channel, key, amount(64))),
            (0x90, velocity) => Some(Note::on(-1, channel, key, amount(velocity))),
            (0x80, velocity) => Some(Note::off(-1, channel, key, amount(velocity))),
            _ => None,
        }
    }

    /// The same in MIDI 1.0: the velocity in 127 steps, a start with at least 1. `None` for wildcards, for keys and
    /// channels that MIDI does not have, and for [`NoteAction::End`]; a choke becomes an end with velocity 0.
    pub fn to_midi(&self) -> Option<Midi1> {
        let steps = (self.velocity.clamp(0.0, 1.0) * 127.0 + 0.5) as u8;
        let (status, velocity) = match self.action {
            NoteAction::On => (0x90, steps.max(1)),
            NoteAction::Off => (0x80, steps),
            NoteAction::Choke => (0x80, 0),
            NoteAction::End => return None,
        };
        let channel = u8::try_from(self.channel).ok().filter(|channel| *channel < 16)?;
        Midi1::new(&[status | channel, u8::try_from(self.key).ok()?, velocity]).ok()
    }
}
