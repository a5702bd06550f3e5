//! MIDI 1.0 and 2.0, each as the other.

use hocket_time::{Midi1, Midi1To2, MidiError, Note, NoteAction, Ump, midi2_to_midi1, scale_up};
use proptest::prelude::*;

fn midi(bytes: &[u8]) -> Midi1 {
    Midi1::new(bytes).unwrap()
}

fn both_ways(translator: &mut Midi1To2, message: Midi1) -> Option<Vec<Midi1>> {
    let packet = translator.translate(5, message)?;
    assert_eq!((packet.message_type(), packet.group(), packet.as_slice().len()), (4, 5, 2));
    Some(midi2_to_midi1(&packet).as_slice().to_vec())
}

/// Controllers that MIDI 2.0 expresses in other messages.
const PARTS: [u8; 8] = [0, 6, 32, 38, 98, 99, 100, 101];

#[test]
fn every_channel_message_comes_back() {
    let mut translator = Midi1To2::new();
    for status in 0x80..=0xef {
        for first in 0..128 {
            for second in [0, 1, 63, 64, 65, 100, 127] {
                let short = [status, first];
                let long = [status, first, second];
                let kind = status & 0xf0;
                let bytes: &[u8] = if matches!(kind, 0xc0 | 0xd0) { &short } else { &long };
                if kind == 0xb0 && PARTS.contains(&first) {
                    continue;
                }
                let message = midi(bytes);
                // A start with velocity 0 is an end; its velocity is the centre.
                let expected = if kind == 0x90 && second == 0 {
                    midi(&[status & 0x8f, first, 64])
                } else {
                    message
                };
                assert_eq!(both_ways(&mut translator, message), Some(vec![expected]), "{bytes:x?}");
            }
        }
    }
}

#[test]
fn values_have_the_resolution_of_midi_2() {
    let mut translator = Midi1To2::new();
    let mut words = |bytes: &[u8]| translator.translate(0, midi(bytes)).unwrap().words();
    assert_eq!(words(&[0x93, 60, 127]), [0x4093_3c00, 0xffff_0000, 0, 0]);
    assert_eq!(words(&[0x93, 60, 1]), [0x4093_3c00, 0x0200_0000, 0, 0]);
    assert_eq!(words(&[0x93, 60, 0]), [0x4083_3c00, 0x8000_0000, 0, 0]);
    assert_eq!(words(&[0xb0, 7, 64]), [0x40b0_0700, 0x8000_0000, 0, 0]);
    assert_eq!(words(&[0xe0, 0, 64]), [0x40e0_0000, 0x8000_0000, 0, 0]);
    assert_eq!(words(&[0xe0, 127, 127]), [0x40e0_0000, 0xffff_ffff, 0, 0]);
    assert_eq!(words(&[0xc2, 5]), [0x40c2_0000, 0x0500_0000, 0, 0]);
    // MIDI 2.0 has soft starts that MIDI 1.0 must not turn into ends.
    let soft = Ump::new([0x4093_3c00, 0x01ff_0000, 0, 0]);
    assert_eq!(midi2_to_midi1(&soft).as_slice(), [midi(&[0x93, 60, 1])]);
}

#[test]
fn a_bank_waits_for_its_program() {
    let mut translator = Midi1To2::new();
    assert_eq!(translator.translate(0, midi(&[0xb4, 0, 3])), None);
    assert_eq!(translator.translate(0, midi(&[0xb4, 32, 9])), None);
    // Other channels have their own banks.
    assert_eq!(translator.translate(0, midi(&[0xc5, 7])).unwrap().words()[0], 0x40c5_0000);
    let packet = translator.translate(0, midi(&[0xc4, 7])).unwrap();
    assert_eq!(packet.words(), [0x40c4_0001, 0x0700_0309, 0, 0]);
    let expected = [midi(&[0xb4, 0, 3]), midi(&[0xb4, 32, 9]), midi(&[0xc4, 7])];
    assert_eq!(midi2_to_midi1(&packet).as_slice(), expected);
    // A bank counts once.
    assert_eq!(translator.translate(0, midi(&[0xc4, 8])).unwrap().words()[0], 0x40c4_0000);
}

proptest! {
    #[test]
    fn parameters_come_back(
        assignable in any::<bool>(), channel in 0u8..16,
        high in 0u8..127, low in prop_oneof![0u8..127, 30u8..34], data_high in 0u8..128, data_low in 0u8..128,
    ) {
        let (index_high, index_low) = if assignable { (99, 98) } else { (101, 100) };
        let controller = |index, value| midi(&[0xb0 | channel, index, value]);
        let messages = [
            controller(index_high, high),
            controller(index_low, low),
            controller(6, data_high),
            controller(38, data_low),
        ];
        let mut translator = Midi1To2::new();
        let packets: Vec<_> = messages.iter().filter_map(|it| translator.translate(2, *it)).collect();
        // With the high byte, and again with the low one.
        prop_assert_eq!(packets.len(), 2);
        let status = if assignable { 0x30 } else { 0x20 };
        let head = u32::from_be_bytes([0x42, status | channel, high, low]);
        let value = u32::from(data_high) << 7 | u32::from(data_low);
        let in_units = !assignable && low < 32;
        let data = if in_units { value << 18 } else { scale_up(value, 14, 32) };
        prop_assert_eq!(packets[1].words(), [head, data, 0, 0]);
        prop_assert_eq!(midi2_to_midi1(&packets[1]).as_slice().to_vec(), messages.to_vec());
        let mut first = messages;
        first[3] = controller(38, 0);
        prop_assert_eq!(midi2_to_midi1(&packets[0]).as_slice().to_vec(), first.to_vec());
    }

    #[test]
    fn any_words_are_a_packet_and_any_bytes_a_message_or_an_error(
        words in any::<[u32; 4]>(), bytes in proptest::collection::vec(any::<u8>(), 0..5),
    ) {
        let packet = Ump::new(words);
        let lengths = [1, 1, 1, 2, 2, 4, 1, 1, 2, 2, 2, 3, 3, 4, 4, 4];
        let length = lengths[usize::from(packet.message_type())];
        prop_assert_eq!(packet.as_slice(), &words[..length]);
        prop_assert_eq!(Ump::new(packet.words()), packet);
        let _ = (packet.ends_notes(), packet.group());
        for message in midi2_to_midi1(&packet).as_slice() {
            prop_assert_eq!(Midi1::new(message.as_slice()), Ok(*message));
        }
        if let Ok(message) = Midi1::new(&bytes) {
            prop_assert_eq!(message.as_slice(), &bytes[..]);
            prop_assert_eq!(Ump::from_midi1(9, message).midi1(), Some(message));
            let mut translator = Midi1To2::new();
            let translated = translator.translate(9, message);
            prop_assert!(!message.is_system() || translated.is_none());
        }
    }
}

#[test]
fn what_midi_1_cannot_say_gives_no_message() {
    // Per-note and relative controllers, per-note bend and management, utility, data, stream.
    let heads = [0x4000_3c01, 0x4010_3c01, 0x4040_0000, 0x4050_0000, 0x4060_3c00, 0x40f0_3c00];
    for head in heads.into_iter().chain([0x0010_0000, 0x5000_0000, 0xf000_0000, 0x40b0_0600]) {
        let packet = Ump::new([head, 0x1234_5678, 0, 0]);
        assert_eq!(midi2_to_midi1(&packet).as_slice(), [], "{head:x}");
    }
    // A parameter without a number, and a value before any number.
    let mut translator = Midi1To2::new();
    for bytes in [[0xb0, 6, 5], [0xb0, 101, 127], [0xb0, 100, 127], [0xb0, 6, 5], [0xb0, 38, 5]] {
        assert_eq!(translator.translate(0, midi(&bytes)), None);
    }
}

#[test]
fn broken_messages_are_refused_with_place_and_remedy() {
    let refusal = |bytes: &[u8]| Midi1::new(bytes).unwrap_err();
    for status in [0x00, 0x7f, 0xf0, 0xf4, 0xf5, 0xf7, 0xf9, 0xfd] {
        assert_eq!(refusal(&[status, 1, 2]), MidiError::Status(status));
    }
    assert_eq!(refusal(&[]), MidiError::Status(0));
    assert_eq!(refusal(&[0x90, 60]), MidiError::Length { status: 0x90, expected: 3, found: 2 });
    assert_eq!(refusal(&[0xf8, 1]), MidiError::Length { status: 0xf8, expected: 1, found: 2 });
    let error = refusal(&[0x90, 60, 0x80]);
    assert_eq!(error, MidiError::Data { index: 2, byte: 0x80 });
    assert_eq!(
        error.to_string(),
        "byte 2 of the MIDI message is 0x80: data bytes are 0x00 to 0x7f"
    );
}

#[test]
fn notes_become_midi_and_come_back() {
    for velocity in 0..128u8 {
        for status in [0x80, 0x9f] {
            let message = midi(&[status, 60, velocity]);
            let note = Note::from_midi(message).unwrap();
            let is_start = status == 0x9f && velocity > 0;
            assert_eq!(note.action == NoteAction::On, is_start);
            let back = note.to_midi().unwrap();
            if status == 0x9f && velocity == 0 {
                assert_eq!(back, midi(&[0x8f, 60, 64]));
            } else {
                assert_eq!(back, message);
            }
        }
    }
    assert_eq!(Note::from_midi(midi(&[0xb0, 1, 2])), None);
    // CLAP knows a start with velocity 0.
    assert_eq!(Note::on(7, 2, 60, 0.0).to_midi(), Some(midi(&[0x92, 60, 1])));
    for note in [Note::off(7, -1, 60, 0.0), Note::off(7, 0, -1, 0.0), Note::on(1, 16, 0, 1.0)] {
        assert_eq!(note.to_midi(), None);
    }
    assert_eq!(Note::on(1, 0, 60, f64::NAN).to_midi(), Some(midi(&[0x90, 60, 1])));
    let choke = Note { action: NoteAction::Choke, ..Note::on(1, 0, 60, 1.0) };
    assert_eq!(choke.to_midi(), Some(midi(&[0x80, 60, 0])));
    assert_eq!(Note { action: NoteAction::End, ..choke }.to_midi(), None);
}
