//! Notes and MIDI messages at random.

use hocket_time::{Event, EventKind, Midi1, Note, Source};

use super::super::player::{Player, Score};
use super::super::sound::{Random, constant, from, peak};
use super::{CHANGING, Exercises, FRAMES, LONGEST_TAIL_S, RATE_HZ, ROUNDS, SILENT};
use crate::layout::Layout;

impl Exercises<'_> {
    pub(super) fn events(&mut self) -> Result<(), String> {
        if !self.plugin.events {
            self.notes.ok("it takes none");
            return Ok(());
        }
        let mut heard = 0.0_f32;
        for round in 0..ROUNDS {
            let seed = self.seed.wrapping_add(round);
            self.at(RATE_HZ, CHANGING, seed);
            let mut player = self.player(RATE_HZ)?;
            let score = Score { changes: Vec::new(), events: music(seed, FRAMES) };
            let made = player.play(&constant(0.0, FRAMES), CHANGING, &score);
            heard = heard.max(peak(&made));
            if !self.is_fine(&made, "with notes and MIDI messages")
                || !self.falls_silent(&mut player)
            {
                return Ok(());
            }
        }
        let Layout { inputs, outputs, .. } = self.plugin.layout;
        if inputs == 0 && outputs > 0 && heard <= SILENT {
            self.notes
                .warn("no note made a sound", "check the note input: key, channel and velocity");
        }
        if self.notes.is_clean() {
            self.notes.ok(format!(
                "{ROUNDS} rounds of random notes, controllers and messages; every note ends"
            ));
        }
        Ok(())
    }

    /// Ends all notes and waits. `false`: it sounds on.
    fn falls_silent(&mut self, player: &mut Player) -> bool {
        let rate = RATE_HZ as usize;
        let end = Event::new(0, Source::LIVE, EventKind::EndAllNotes);
        let mut score = Score { changes: Vec::new(), events: vec![end] };
        for _ in 0..LONGEST_TAIL_S {
            self.notes.at(self.notes.at.clone());
            let made = player.play(&constant(0.0, rate), &[512], &score);
            score.events.clear();
            if !self.is_fine(&made, "after the end of all notes") {
                return false;
            }
            if peak(&from(&made, rate / 2)) <= SILENT {
                return true;
            }
        }
        if self.plugin.layout.inputs == 0 {
            let found =
                format!("it sounds for {LONGEST_TAIL_S} s after all notes ended: a note may hang");
            self.notes
                .warn(found, "end notes on note-off, controller 123, and with the pedal (64) up");
        }
        false
    }
}

/// Notes, controllers, pitch bends, pressures and programs, with the odd ones: ends without a start, velocity 0, every key.
pub(super) fn music(seed: u64, frames: usize) -> Vec<Event> {
    let mut random = Random::new(seed);
    let mut events: Vec<Event> = (0..300).map(|_| random_event(&mut random, frames)).collect();
    events.sort_by_key(|event| event.frame);
    events
}

fn random_event(random: &mut Random, frames: usize) -> Event {
    let (frame, channel) = (random.below(frames) as u32, random.below(16) as u8);
    let (one, two) = (random.below(128) as u8, random.below(128) as u8);
    let velocity = f64::from(random.unit());
    let message = |bytes: &[u8]| Midi1::new(bytes).map_or(EventKind::EndAllNotes, EventKind::Midi);
    let kind = match random.below(8) {
        0..3 => EventKind::Note(Note::on(-1, channel as i8, one as i8, velocity)),
        3..5 => EventKind::Note(Note::off(-1, channel as i8, one as i8, velocity)),
        5 => message(&[0xb0 | channel, one, two]),
        6 => message(&[0xe0 | channel, one, two]),
        _ => message(&[0xc0 | channel, one]),
    };
    Event::new(frame, Source::LIVE, kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_events_are_in_the_order_of_frames() {
        let events = music(3, 1000);
        assert!(events.is_sorted_by_key(|event| event.frame) && events.len() == 300);
        assert_eq!(events, music(3, 1000));
    }
}
