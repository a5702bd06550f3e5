//! Sends a track's notes and MIDI messages: the source of the events that instruments receive.

use hocket_dsp::{Block, Processor, mix};
use hocket_plan::session::{ClipNote, MidiFile, NoteClip, NoteSource};
use hocket_time::{EventKind, Note, TempoMap, TimeBase};

/// The MIDI channel of notes that the session says itself.
const CHANNEL: i8 = 0;

/// Something that a clip sends.
#[derive(Debug, Clone, Copy)]
struct Timed {
    /// In the clip's unit, counted from the song's start.
    at: f64,
    kind: EventKind,
}

/// The events of a clip, sorted.
#[derive(Debug, Clone)]
struct PlayingNotes {
    base: TimeBase,
    events: Box<[Timed]>,
}

/// Sends notes where the song is. While it stands still, none begins. The engine ends those that sound when it stops or
/// jumps, because the player keeps time.
///
/// What is in beats follows the tempo map, also when it changes while the song plays. A note that began before the place
/// to which the song jumps stays silent.
///
/// Shape: silences the block, sends events. Thread: worker, inside a block. Cost: O(segments * clips * log(events)) and
/// the events that are due.
pub struct NotePlayer {
    clips: Vec<PlayingNotes>,
}

impl NotePlayer {
    /// Makes a player for the notes of a track.
    ///
    /// Thread: control; allocates. Cost: O(n log n) in notes and messages.
    pub fn new(clips: &[NoteClip]) -> NotePlayer {
        // Every note has an id of its own, so that one may sound while another of its key begins or ends.
        let mut ids = 0..i32::MAX;
        NotePlayer { clips: clips.iter().map(|clip| PlayingNotes::new(clip, &mut ids)).collect() }
    }
}

impl PlayingNotes {
    fn new(clip: &NoteClip, ids: &mut impl Iterator<Item = i32>) -> PlayingNotes {
        let limit = clip.length.unwrap_or(f64::INFINITY);
        let mut events = match &clip.source {
            NoteSource::Written(notes) => of_notes(notes, limit, ids),
            NoteSource::File(file) => of_file(file, limit),
        };
        events.iter_mut().for_each(|event| event.at += clip.start);
        PlayingNotes { base: clip.base, events: events.into() }
    }

    /// The song frame of an event. Its order is that of the events, because a tempo map never goes back.
    fn frame(&self, event: &Timed, map: &TempoMap) -> i64 {
        map.song_frame(self.base.position(event.at)).unwrap_or(i64::MAX)
    }

    /// Sends what is due in `frames` frames of the song from `position` on, which begin at `offset` of the block.
    fn send(
        &self,
        block: &mut Block<'_>,
        map: &TempoMap,
        position: i64,
        (offset, frames): (u32, u32),
    ) {
        let first = self.events.partition_point(|event| self.frame(event, map) < position);
        let end = position.saturating_add(i64::from(frames));
        for event in &self.events[first..] {
            let frame = self.frame(event, map);
            if frame >= end {
                return;
            }
            // What finds no room is counted.
            _ = block.send(offset + (frame - position) as u32, event.kind);
        }
    }
}

/// Ends come before starts of the same time, so that a repeated note begins anew.
///
/// Thread: control; allocates.
fn of_notes(notes: &[ClipNote], limit: f64, ids: &mut impl Iterator<Item = i32>) -> Vec<Timed> {
    let mut events = Vec::with_capacity(2 * notes.len());
    for note in notes.iter().filter(|note| note.at < limit) {
        let (id, key) = (ids.next().unwrap_or(-1), note.key as i8);
        let on = EventKind::Note(Note::on(id, CHANNEL, key, note.velocity));
        let off = EventKind::Note(Note::off(id, CHANNEL, key, 0.5));
        events.push(Timed { at: note.at, kind: on });
        events.push(Timed { at: (note.at + note.length).min(limit), kind: off });
    }
    let starts = |event: &Timed| !event.kind.ends_notes();
    events.sort_by(|a, b| a.at.total_cmp(&b.at).then(starts(a).cmp(&starts(b))));
    events
}

/// The messages up to the limit, and the ends of the notes and pedals that are held there.
///
/// Thread: control; allocates.
fn of_file(file: &MidiFile, limit: f64) -> Vec<Timed> {
    let played = file.messages.iter().take_while(|message| message.at < limit);
    let event = |message: &hocket_plan::session::ClipMessage| Timed {
        at: message.at,
        kind: EventKind::Midi(message.message),
    };
    let mut events: Vec<Timed> = played.map(event).collect();
    if limit.is_finite() && events.len() < file.messages.len() {
        let mut held = hocket_time::HeldNotes::new();
        events.iter().for_each(|event| held.watch(&event.kind));
        let mut ends = Vec::new();
        held.end_all(0, hocket_time::Source::LANE, |end| ends.push(end.kind));
        events.extend(ends.into_iter().map(|kind| Timed { at: limit, kind }));
    }
    events
}

impl Processor for NotePlayer {
    fn process(&mut self, block: &mut Block<'_>) {
        mix::clear(block.main.left);
        mix::clear(block.main.right);
        let Some(time) = block.time else { return };
        for segment in time.segments.into_iter().filter(|segment| segment.playing) {
            for clip in &self.clips {
                let place = (segment.offset, segment.frames);
                clip.send(block, time.map, segment.position, place);
            }
        }
    }

    fn reset(&mut self) {}

    fn keeps_time(&self) -> bool {
        true
    }
}

/// When the last note of all clips is over, in frames of `map`.
pub(crate) fn last_note_end(clips: &[NoteClip], map: &TempoMap) -> u64 {
    let end = |clip: &NoteClip| map.song_frame(clip.base.position(clip.end())).unwrap_or(0);
    clips.iter().map(end).max().map_or(0, |end| u64::try_from(end).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hocket_time::NoteAction;

    use super::*;

    fn note(at: f64, length: f64, key: u8) -> ClipNote {
        ClipNote { at, length, key, velocity: 1.0 }
    }

    fn clip(notes: Vec<ClipNote>, length: Option<f64>) -> NoteClip {
        let source = NoteSource::Written(Arc::from(notes));
        NoteClip { base: TimeBase::Beats, start: 4.0, length, source }
    }

    /// Time, key, whether it starts.
    fn of(clips: &[NoteClip]) -> Vec<(f64, i8, bool)> {
        let player = NotePlayer::new(clips);
        let events = player.clips.iter().flat_map(|clip| clip.events.iter());
        let told = |event: &Timed| match event.kind {
            EventKind::Note(note) => (event.at, note.key, note.action == NoteAction::On),
            _ => (event.at, -1, false),
        };
        events.map(told).collect()
    }

    #[test]
    fn ends_come_before_starts_of_the_same_time() {
        let clip = clip(vec![note(1.0, 1.0, 60), note(0.0, 1.0, 60), note(0.5, 0.25, 64)], None);
        let expected = [
            (4.0, 60, true),
            (4.5, 64, true),
            (4.75, 64, false),
            (5.0, 60, false),
            (5.0, 60, true),
            (6.0, 60, false),
        ];
        assert_eq!(of(std::slice::from_ref(&clip)), expected);
        assert_eq!((clip.end(), clip.len()), (6.0, 3));
    }

    #[test]
    fn a_length_ends_what_sounds_and_leaves_out_what_begins_later() {
        let clip =
            clip(vec![note(0.0, 4.0, 60), note(1.5, 1.0, 62), note(2.0, 1.0, 64)], Some(2.0));
        let expected = [(4.0, 60, true), (5.5, 62, true), (6.0, 60, false), (6.0, 62, false)];
        assert_eq!(of(std::slice::from_ref(&clip)), expected);
        assert_eq!(clip.end(), 6.0);
    }

    #[test]
    fn a_file_that_is_cut_ends_its_notes_and_pedals() {
        let message = |at: f64, bytes: [u8; 3]| hocket_plan::session::ClipMessage {
            at,
            message: hocket_time::Midi1::new(&bytes).unwrap(),
        };
        let messages = [
            message(0.0, [0x90, 60, 100]),
            message(0.0, [0xb0, 64, 127]),
            message(1.0, [0x80, 60, 0]),
            message(1.0, [0x91, 61, 100]),
            message(3.0, [0x81, 61, 0]),
        ];
        let file = MidiFile {
            path: "a.mid".into(),
            track: None,
            channel: None,
            messages: messages.into(),
        };
        let all = of_file(&file, f64::INFINITY);
        assert_eq!(all.len(), 5);
        let cut = of_file(&file, 2.0);
        let ends: Vec<_> = cut[4..].iter().map(|event| (event.at, event.kind)).collect();
        assert!(!ends.is_empty() && ends.iter().all(|(at, kind)| *at == 2.0 && kind.ends_notes()));
        let mut held = hocket_time::HeldNotes::new();
        cut.iter().for_each(|event| held.watch(&event.kind));
        let mut left = 0;
        held.end_all(0, hocket_time::Source::LANE, |_| left += 1);
        assert_eq!(left, 0, "nothing is held at the end");
    }
}
