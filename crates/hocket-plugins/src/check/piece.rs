//! What a plug-in plays in the checks: sound, and notes where it takes them.
//!
//! A plug-in that takes notes may be silent without them, and silence is the same for every block length. So each comparison
//! plays a phrase of notes, the same for the same seed, and what takes time is measured while notes are held.

use hocket_time::{Event, EventKind, Note, Source};

use super::player::Score;
use super::sound::{Random, Sound, constant, noise};
use crate::Description;

/// How many notes a phrase has.
const NOTES: usize = 8;
/// Their keys: two octaves, in which drum samplers have their drums.
const LOWEST: i8 = 36;
const KEYS: usize = 24;
/// A phrase in parts of its length: a note starts in each of [`NOTES`] steps, between a tenth and a third of it, and ends 1.4 to
/// 2 steps behind the step's begin. So it overlaps the next one, and all have ended where the phrase ends. What some plug-ins do
/// before their first note depends on the block length, so it does not start at once.
const STEPS: f64 = NOTES as f64 + 1.5;
const SHORTEST: f64 = 1.4;
const LONGEST: f64 = 2.0;
/// How many notes are held while blocks are timed.
pub const HELD: usize = 8;
/// The lowest of them; the others are thirds above it.
const LOWEST_HELD: i8 = 36;
const THIRD: i8 = 3;
/// After how many frames they are struck anew: half a second. Otherwise those that fade out would cost nothing soon.
pub const STRIKE: usize = 24_000;

/// What goes into a plug-in.
pub struct Piece {
    pub sound: Sound,
    pub score: Score,
}

impl Piece {
    /// Noise for its inputs, and a phrase where it takes notes.
    pub fn of(plugin: &Description, frames: usize, seed: u64) -> Piece {
        let events = if plugin.events { phrase(frames, seed) } else { Vec::new() };
        Piece { sound: sound(plugin, frames, seed), score: Score { changes: Vec::new(), events } }
    }

    /// Noise for its inputs, and [`HELD`] notes from the first frame on where it takes notes.
    pub fn held(plugin: &Description, frames: usize, seed: u64) -> Piece {
        let events = if plugin.events { held(frames) } else { Vec::new() };
        Piece { sound: sound(plugin, frames, seed), score: Score { changes: Vec::new(), events } }
    }
}

/// Noise. What has no inputs gets silence, because its output is added to it.
pub fn sound(plugin: &Description, frames: usize, seed: u64) -> Sound {
    match plugin.layout.inputs {
        0 => constant(0.0, frames),
        _ => noise(frames, seed),
    }
}

/// Notes of different keys that overlap and end.
fn phrase(frames: usize, seed: u64) -> Vec<Event> {
    let mut random = Random::new(seed);
    let mut keys: Vec<i8> = (LOWEST..).take(KEYS).collect();
    let mut events = Vec::with_capacity(2 * NOTES);
    let at = |step: f64| (step / STEPS * frames as f64) as u32;
    for number in 0..NOTES {
        let key = keys.swap_remove(random.below(keys.len()));
        let delay = 0.1 + f64::from(random.unit()) * 0.23;
        let start = number as f64 + delay;
        let length = SHORTEST + (LONGEST - SHORTEST) * f64::from(random.unit()) - delay;
        let velocity = 0.5 + f64::from(random.unit()) / 2.0;
        events.push(event(at(start), Note::on(-1, 0, key, velocity)));
        events.push(event(at(start + length), Note::off(-1, 0, key, 0.5)));
    }
    // Stable: in a short phrase, a note may start and end at one frame.
    events.sort_by_key(|event| event.frame);
    events
}

/// Notes that are held, and struck anew every [`STRIKE`] frames. Also the first strike ends what an earlier call holds.
fn held(frames: usize) -> Vec<Event> {
    let keys = || (0..HELD as i8).map(|number| LOWEST_HELD + THIRD * number);
    let strike = |frame: usize| {
        let frame = frame as u32;
        let ends = keys().map(move |key| event(frame, Note::off(-1, 0, key, 0.5)));
        ends.chain(keys().map(move |key| event(frame, Note::on(-1, 0, key, 0.8))))
    };
    (0..frames).step_by(STRIKE).flat_map(strike).collect()
}

fn event(frame: u32, note: Note) -> Event {
    Event::new(frame, Source::LIVE, EventKind::Note(note))
}

#[cfg(test)]
mod tests {
    use hocket_time::NoteAction;

    use super::*;

    /// How many notes sound behind each event.
    fn sounding(events: &[Event]) -> Vec<i32> {
        let step = |event: &Event| match event.kind {
            EventKind::Note(note) if note.action == NoteAction::On => 1,
            _ => -1,
        };
        let steps = events.iter().map(step);
        steps.scan(0, |count, step| Some(*count + step).inspect(|now| *count = *now)).collect()
    }

    #[test]
    fn a_phrase_overlaps_and_ends_and_is_the_same_for_a_seed() {
        for seed in 0..200 {
            let frames = 48_000;
            let events = phrase(frames, seed);
            assert_eq!(events, phrase(frames, seed));
            assert!(events.is_sorted_by_key(|event| event.frame) && events[0].frame > 0);
            assert!(events.iter().all(|event| (event.frame as usize) < frames));
            let counts = sounding(&events);
            assert_eq!((counts.len(), counts.last()), (2 * NOTES, Some(&0)), "{events:?}");
            let before_last = &counts[..counts.len() - 1];
            assert!(before_last.iter().all(|count| (1..=3).contains(count)), "{counts:?}");
        }
        assert_ne!(phrase(48_000, 1), phrase(48_000, 2));
    }

    #[test]
    fn held_notes_are_struck_anew_and_never_more_than_said() {
        let events = held(2 * STRIKE + 1);
        assert_eq!(events.len(), 3 * 2 * HELD);
        assert!(events.is_sorted_by_key(|event| event.frame));
        let frames: Vec<usize> = events.iter().map(|event| event.frame as usize).collect();
        assert_eq!((frames[0], frames[2 * HELD], frames[5 * HELD]), (0, STRIKE, 2 * STRIKE));
        // The ends of the first strike end nothing.
        assert_eq!(sounding(&events[HELD..]).iter().max(), Some(&(HELD as i32)));
    }
}
