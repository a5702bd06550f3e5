//! What plug-ins send: notes and MIDI messages, for the effects behind them.
//!
//! A processor whose node has an event output sends during each run, at the frames that the plug-in names. So a port of the
//! engine holds what fits, and counts what does not. Of two instances, the first one sends for both.

use hocket_dsp::EventsOut;
use hocket_time::{EventKind, HeldNotes, Midi1, Source};

/// What a plug-in has begun. An instance that goes leaves notes behind, and nobody else ends them.
#[derive(Debug, Default)]
pub struct Sent {
    held: HeldNotes,
    /// Whether what sounds is that of an instance that is gone.
    is_over: bool,
}

impl Sent {
    /// Before the runs of a block.
    pub fn begin(&mut self, out: Option<&mut EventsOut<'_>>) {
        if !std::mem::take(&mut self.is_over) {
            return;
        }
        match out {
            Some(out) => {
                self.held.end_all(0, Source::edge(0), |end| _ = out.send(end.frame, end.kind));
            }
            None => self.held.clear(),
        }
    }

    /// After them.
    pub fn finish(&mut self, out: Option<&EventsOut<'_>>) {
        let sent = out.map_or(&[][..], EventsOut::sent);
        sent.iter().for_each(|event| self.held.watch(&event.kind));
    }

    /// The plug-in forgets what it plays, or another instance goes on. What sounds ends with the next block.
    pub fn end(&mut self) {
        self.is_over = true;
    }
}

/// Sends a message of MIDI 1.0, also a system-exclusive one. What is no message is left out.
pub fn send_midi(out: &mut EventsOut<'_>, frame: u32, bytes: &[u8]) {
    // The engine counts what finds no room.
    if bytes.first() == Some(&0xf0) {
        _ = out.send_sysex(frame, bytes);
    } else if let Ok(message) = Midi1::new(bytes) {
        _ = out.send(frame, EventKind::Midi(message));
    }
}

/// The message that three bytes begin with. `None`: they are none.
pub fn short_message(bytes: [u8; 3]) -> Option<Midi1> {
    (1..=3).find_map(|length| Midi1::new(&bytes[..length]).ok())
}

#[cfg(test)]
mod tests {
    use hocket_time::{Event, EventBuffer, Note};

    use super::*;

    #[test]
    fn messages_go_out_at_their_frames_and_no_others() {
        let mut buffer = EventBuffer::new(8, 64);
        let mut out = EventsOut::new(&mut buffer, 64);
        let sysex = [0xf0, 1, 2, 0xf7];
        let messages: [(u32, &[u8]); 5] =
            [(3, &[0x90, 60, 100]), (5, &[0xc0, 7]), (6, &[0x90, 60]), (7, &[]), (99, &sysex)];
        for (frame, bytes) in messages {
            send_midi(&mut out, frame, bytes);
        }
        let midi = |bytes: &[u8]| EventKind::Midi(Midi1::new(bytes).unwrap());
        let [on, program, last] = buffer.all() else { panic!("{buffer:?}") };
        assert_eq!((on.frame, on.kind), (3, midi(&[0x90, 60, 100])));
        assert_eq!((program.frame, program.kind), (5, midi(&[0xc0, 7])));
        let EventKind::SysEx(message) = last.kind else { panic!("{last:?}") };
        assert_eq!((last.frame, buffer.sysex(message)), (63, &sysex[..]));
        assert_eq!(short_message([0xc0, 7, 0]), Midi1::new(&[0xc0, 7]).ok());
        assert_eq!(short_message([0x30, 7, 0]), None);
    }

    #[test]
    fn what_an_instance_began_ends_when_it_goes() {
        let (mut sent, mut buffer) = (Sent::default(), EventBuffer::new(8, 0));
        let mut out = EventsOut::new(&mut buffer, 64);
        sent.begin(Some(&mut out));
        _ = out.send(9, EventKind::Note(Note::on(-1, 2, 60, 1.0)));
        sent.finish(Some(&out));
        buffer.clear();
        sent.end();
        let mut out = EventsOut::new(&mut buffer, 64);
        sent.begin(Some(&mut out));
        sent.finish(Some(&out));
        sent.begin(Some(&mut out));
        let off = EventKind::Note(Note::off(-1, 2, 60, 0.0));
        assert_eq!(buffer.all(), [Event::new(0, Source::edge(0), off)]);
    }
}
