//! Which MIDI inputs are to end what sounds, because the ends of their notes will never come: a keyboard was unplugged with
//! keys held. Control threads see that, or a user asks for it, and the server's thread ends the notes.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Inputs from this one on share a bit: then more notes end than have to, and none hangs.
const LAST_BIT: usize = u64::BITS as usize - 1;

/// Asks for the end of all notes that have come in ([`Jack::note_ends`](super::Jack::note_ends)).
// A bit for each MIDI input that is asked for. Relaxed: it publishes nothing. What a sender sent before it left is in the
// server's buffers of earlier cycles.
#[derive(Debug, Default)]
pub struct NoteEnds(AtomicU64);

impl NoteEnds {
    /// All notes that have come in at MIDI ports end in the next cycle, and their pedals are lifted. What plays them gets
    /// [`EventKind::EndAllNotes`](hocket_engine::time::EventKind::EndAllNotes).
    ///
    /// Thread: control, any. Cost: one write; nobody waits.
    pub fn ask_all(&self) {
        // Relaxed: see above.
        self.0.store(u64::MAX, Relaxed);
    }

    /// The notes of this MIDI input are to end. Thread: control.
    pub(super) fn ask(&self, port: usize) {
        self.0.fetch_or(1 << port.min(LAST_BIT), Relaxed);
    }

    /// What was asked for since the last time. Thread: the server's. Cost: a read, where nothing was.
    pub(super) fn take(&self) -> Asked {
        match self.0.load(Relaxed) {
            0 => Asked(0),
            _ => Asked(self.0.swap(0, Relaxed)),
        }
    }
}

/// For which MIDI inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Asked(u64);

impl Asked {
    pub(super) fn has(self, port: usize) -> bool {
        self.0 >> port.min(LAST_BIT) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_taken_once() {
        let ends = NoteEnds::default();
        let now = || {
            let asked = ends.take();
            [0, 1, 2, 63, 64, 500].map(|port| asked.has(port))
        };
        assert_eq!(now(), [false; 6]);
        ends.ask(0);
        ends.ask(2);
        assert_eq!(now(), [true, false, true, false, false, false]);
        assert_eq!(now(), [false; 6]);
        ends.ask(64);
        assert_eq!(now(), [false, false, false, true, true, true]);
        ends.ask_all();
        assert_eq!((now(), now()), ([true; 6], [false; 6]));
    }
}
