//! The instrument of the examples: a node with an event input that plays the notes it receives.

use std::f64::consts::TAU;

use hocket_engine::time::{EventKind, Note, NoteAction};
use hocket_engine::{Block, Change, Processor};

use crate::RATE_HZ;

/// A synthesizer with one voice: a decaying sine for each note. It takes notes of CLAP's kind and of MIDI 1.0.
/// Parameter 0 is the loudness.
pub struct Synth {
    loudness: f32,
    voice: Option<Voice>,
}

/// The note that sounds.
struct Voice {
    key: i8,
    /// Frames since it began.
    since: u32,
}

impl Synth {
    /// A silent one.
    pub fn new(loudness: f32) -> Synth {
        Synth { loudness, voice: None }
    }

    fn hear(&mut self, event: &EventKind) {
        let note = match event {
            EventKind::Note(note) => Some(*note),
            EventKind::Midi(message) => Note::from_midi(*message),
            // What is left of note ends that found no room. Every instrument has to take it.
            EventKind::EndAllNotes => return self.voice = None,
            _ => None,
        };
        match note {
            Some(Note { action: NoteAction::On, key, .. }) => {
                self.voice = Some(Voice { key, since: 0 })
            }
            Some(end) if self.voice.as_ref().is_some_and(|voice| voice.key == end.key) => {
                self.voice = None
            }
            _ => {}
        }
    }
}

impl Processor for Synth {
    fn process(&mut self, block: &mut Block<'_>) {
        // Notes come through the event input, edits and lanes of parameters apart from them.
        let mut notes = block.received().iter().peekable();
        let mut changes = block.events.iter().peekable();
        for frame in 0..block.frames() {
            while let Some(event) = notes.next_if(|event| event.frame as usize <= frame) {
                self.hear(&event.kind);
            }
            while let Some(event) = changes.next_if(|event| event.frame as usize <= frame) {
                if let Change::Param { index: 0, value } = event.change {
                    self.loudness = value.clamp(0.0, 1.0);
                }
            }
            let mut sample = 0.0;
            if let Some(voice) = &mut self.voice {
                sample = self.loudness * tone(voice.key, voice.since);
                voice.since += 1;
            }
            block.main.left[frame] = sample;
            block.main.right[frame] = sample;
        }
    }

    fn reset(&mut self) {
        self.voice = None;
    }
}

/// A decaying sine, so many frames after its beginning. Key 69 is A4, 440 Hz.
pub fn tone(key: i8, since: u32) -> f32 {
    let pitch_hz = 440.0 * ((f64::from(key) - 69.0) / 12.0).exp2();
    let since_s = f64::from(since) / f64::from(RATE_HZ);
    ((TAU * pitch_hz * since_s).sin() * (-8.0 * since_s).exp()) as f32
}
