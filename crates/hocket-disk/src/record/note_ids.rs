//! Ids of notes: a MIDI file has none, so the end of a note by its id needs the channel and key that it started with.

use hocket_time::{Midi1, Note, Sounding};

/// So many are remembered: more than a player holds by far. A processor may start notes for ever and end none.
const MOST: usize = 4096;

/// Notes with an id that have started, and that nothing has ended.
#[derive(Debug, Default)]
pub(super) struct NoteIds {
    /// The oldest one first.
    started: Vec<Started>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Started {
    id: i32,
    channel: i8,
    key: i8,
}

impl NoteIds {
    /// A start, with its channel and key. Beyond [`MOST`], the oldest one is forgotten: it ends with the take at the latest.
    pub fn start(&mut self, note: &Note) {
        let Note { id, channel, key, .. } = *note;
        if id < 0 {
            return;
        }
        let started = Started { id, channel, key };
        self.started.retain(|other| *other != started);
        if self.started.len() == MOST {
            self.started.remove(0);
        }
        self.started.push(started);
    }

    /// Forgets the notes that an end means, and returns them.
    pub fn end(&mut self, note: &Note) -> Vec<Sounding> {
        let Note { id, channel, key, .. } = *note;
        let is_meant = |it: &mut Started| {
            (id < 0 || it.id == id)
                && (channel < 0 || it.channel == channel)
                && (key < 0 || it.key == key)
        };
        let ended = self.started.extract_if(.., is_meant);
        ended.map(|it| Sounding::Note { channel: it.channel as u8, key: it.key as u8 }).collect()
    }

    /// A message that has no ids. One that ends notes of a channel ends them whatever their ids.
    pub fn watch(&mut self, message: Midi1) {
        let [status, first, second] = message.bytes();
        let channel = (status & 0xf) as i8;
        match status & 0xf0 {
            0x80 => drop(self.end(&Note::off(-1, channel, first as i8, 0.0))),
            0x90 if second == 0 => drop(self.end(&Note::off(-1, channel, first as i8, 0.0))),
            0xb0 if matches!(first, 120 | 123..=127) => {
                drop(self.end(&Note::off(-1, channel, -1, 0.0)));
            }
            _ => {}
        }
    }

    pub fn clear(&mut self) {
        self.started.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(channel: u8, key: u8) -> Sounding {
        Sounding::Note { channel, key }
    }

    #[test]
    fn an_end_means_the_notes_that_match_all_it_names() {
        let mut ids = NoteIds::default();
        for (id, channel, key) in [(7, 0, 60), (8, 0, 60), (7, 1, 60), (9, 1, 62), (-1, 1, 63)] {
            ids.start(&Note::on(id, channel, key, 1.0));
        }
        assert_eq!(ids.end(&Note::off(7, -1, -1, 0.0)), [note(0, 60), note(1, 60)]);
        assert_eq!(ids.end(&Note::off(7, -1, -1, 0.0)), [], "they have ended");
        assert_eq!(ids.end(&Note::off(9, 0, -1, 0.0)), [], "it is on another channel");
        ids.watch(Midi1::new(&[0x90, 60, 0]).unwrap());
        assert_eq!(ids.end(&Note::off(8, -1, -1, 0.0)), [], "its key has ended");
        ids.watch(Midi1::new(&[0xb1, 123, 0]).unwrap());
        assert_eq!(ids.end(&Note::off(9, -1, -1, 0.0)), [], "its channel has ended");
        assert!(ids.started.is_empty());
    }

    #[test]
    fn notes_that_never_end_are_forgotten_in_their_order() {
        let mut ids = NoteIds::default();
        for id in 0..=MOST as i32 {
            ids.start(&Note::on(id, 0, 60, 1.0));
            ids.start(&Note::on(id, 0, 60, 1.0));
        }
        assert_eq!(ids.started.len(), MOST);
        assert_eq!(ids.end(&Note::off(0, -1, -1, 0.0)), []);
        assert_eq!(ids.end(&Note::off(1, -1, -1, 0.0)), [note(0, 60)]);
    }
}
