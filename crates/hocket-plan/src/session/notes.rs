//! What tracks play for instruments: notes and MIDI messages on the time line.

use std::path::PathBuf;
use std::sync::Arc;

use hocket_time::{Midi1, TimeBase};

/// Notes or MIDI messages on the time line of a track. Effects with an event input receive them.
#[derive(Debug, Clone, PartialEq)]
pub struct NoteClip {
    /// The unit of `start`, of `length`, and of the times of notes and messages.
    pub base: TimeBase,
    /// When it starts in the song.
    pub start: f64,
    /// How long it plays: what begins later is left out, and notes that sound then end. `None`: to its last event.
    pub length: Option<f64>,
    /// Whether its notes are started where the song starts or jumps into the middle of them. Controllers always follow.
    pub chase: bool,
    /// What it plays.
    pub source: NoteSource,
}

/// What a [`NoteClip`] plays. Copies share it.
#[derive(Debug, Clone, PartialEq)]
pub enum NoteSource {
    /// Notes that the session says itself, in any order.
    Written(Arc<[ClipNote]>),
    /// The messages of a standard MIDI file.
    File(MidiFile),
}

/// A note; times count from the start of the clip.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClipNote {
    /// When it starts.
    pub at: f64,
    /// How long it is held; above 0.
    pub length: f64,
    /// 0 to 127, 60 is middle C.
    pub key: u8,
    /// 0.0 to 1.0.
    pub velocity: f64,
    /// MIDI channel, 0 to 15.
    pub channel: u8,
}

/// A MIDI file that is read already.
#[derive(Debug, Clone, PartialEq)]
pub struct MidiFile {
    /// Its path, already resolved against the session file's folder.
    pub path: PathBuf,
    /// Which of its tracks, from 0. `None`: all of them.
    pub track: Option<u16>,
    /// Which MIDI channel, from 0. `None`: all of them.
    pub channel: Option<u8>,
    /// What is played of it, sorted by time; messages of one time are in the file's order.
    pub messages: Arc<[ClipMessage]>,
}

/// A channel message; the time counts from the start of the clip.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClipMessage {
    /// When it comes.
    pub at: f64,
    /// The message.
    pub message: Midi1,
}

impl NoteClip {
    /// How many notes or messages it has.
    pub fn len(&self) -> usize {
        match &self.source {
            NoteSource::Written(notes) => notes.len(),
            NoteSource::File(file) => file.messages.len(),
        }
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// When its last event is over, in the unit of `base`, counted from the song's start.
    pub fn end(&self) -> f64 {
        let last = match &self.source {
            NoteSource::Written(notes) => {
                notes.iter().map(|note| note.at + note.length).fold(0.0, f64::max)
            }
            NoteSource::File(file) => file.messages.last().map_or(0.0, |message| message.at),
        };
        self.start + self.length.map_or(last, |length| length.min(last))
    }
}
