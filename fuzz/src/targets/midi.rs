//! MIDI 1.0, Universal MIDI Packets, and a buffer of events that is always too small.

use hocket_engine::time::{
    END_ROOM, Event, EventBuffer, EventKind, Midi1, Midi1To2, Note, ParamChange, Source, Ump,
    midi2_to_midi1,
};

use super::words::Words;

const CAPACITY: usize = 8;
const SYSEX_BYTES: usize = 64;

pub fn check(bytes: &[u8]) {
    let mut words = Words(bytes);
    let mut events = EventBuffer::new(CAPACITY, SYSEX_BYTES);
    let mut translator = Midi1To2::new();
    while !words.is_empty() {
        let (step, frame) = (words.u8(), u32::from(words.u8()));
        let source = Source::edge(usize::from(step >> 4));
        match step & 7 {
            0 | 1 => {
                let length = usize::from(step >> 3 & 3);
                let Some(message) = midi1(words.bytes(length), &mut translator) else { continue };
                let _ = events.push(Event::new(frame, source, EventKind::Midi(message)));
            }
            2 => {
                let packet = packet([0; 4].map(|_| words.u32()));
                let _ = events.push(Event::new(frame, source, EventKind::Ump(packet)));
            }
            3 => {
                let length = usize::from(words.u8());
                let _ = events.push_sysex(frame, source, words.bytes(length));
            }
            4 => {
                let param = u32::from(words.u8() & 3);
                let change = ParamChange { param, value: words.f64(), on_ramp: step & 8 != 0 };
                let _ = events.push(Event::new(frame, source, EventKind::Param(change)));
            }
            5 => {
                let id = i32::from(words.u8() as i8);
                let (channel, key) = (words.u8() as i8, words.u8() as i8);
                let note = if step & 8 == 0 { Note::on } else { Note::off };
                let note = note(id, channel, key, words.f64());
                if let Some(message) = note.to_midi() {
                    assert!(Note::from_midi(message).is_some());
                }
                let _ = events.push(Event::new(frame, source, EventKind::Note(note)));
            }
            6 => {
                let other = events.clone();
                events.merge(&other, frame, source);
            }
            _ => events.advance(frame),
        }
        check_buffer(&events);
    }
}

fn check_buffer(events: &EventBuffer) {
    assert!(events.all().len() <= CAPACITY + END_ROOM);
    assert!(events.all().is_sorted_by_key(|event| event.frame));
    for event in events.all() {
        if let EventKind::SysEx(message) = event.kind {
            assert_eq!(events.sysex(message).len(), message.len());
        }
    }
}

fn midi1(bytes: &[u8], translator: &mut Midi1To2) -> Option<Midi1> {
    let message = Midi1::new(bytes).ok()?;
    assert_eq!(message.as_slice(), bytes);
    let group = bytes[0] & 15;
    assert_eq!(packet(Ump::from_midi1(group, message).words()).midi1(), Some(message));
    if let Some(wide) = translator.translate(group, message) {
        assert_eq!(wide.group(), group);
        packet(wide.words());
    }
    if let Some(note) = Note::from_midi(message) {
        let again = note.to_midi().expect("a note of MIDI 1.0");
        assert!(again == message || message.bytes()[2] == 0);
    }
    Some(message)
}

fn packet(words: [u32; 4]) -> Ump {
    let packet = Ump::new(words);
    assert_eq!(Ump::new(packet.words()), packet);
    assert!((1..=4).contains(&packet.as_slice().len()));
    let narrow = midi2_to_midi1(&packet);
    assert!(narrow.as_slice().iter().all(|message| Midi1::new(message.as_slice()) == Ok(*message)));
    packet
}
