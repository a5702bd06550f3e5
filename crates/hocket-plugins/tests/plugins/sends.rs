//! What plug-ins send: Debian's LV2 plug-in that plays fifths, and the tests' own CLAP and VST3 plug-ins.

use std::path::{Path, PathBuf};

use hocket_dsp::{Block, EventsOut, Processor, StereoMut};
use hocket_plugins::layout::Layout;
use hocket_plugins::{clap, lv2, vst3};
use hocket_time::{Event, EventBuffer, EventKind, Midi1, Note, Pushed, Source};

use crate::common::{bits, bundle, noise, test_sender, test_vst3};

const FIFTHS: &str = "http://lv2plug.in/plugins/eg-fifths";
const SENDER: &str = "test.hocket.sender";
const CUTS: [&[usize]; 4] = [&[64], &[1, 7, 300], &[1024], &[9_000]];
const FRAMES: usize = 10_000;
const NONE: Layout = Layout { inputs: 0, outputs: 0, side_chain: 0 };

/// What comes out of a processor that gets these events: sound, and events at frames of the sound. Events without room are
/// counted.
struct Heard {
    sound: [Vec<f32>; 2],
    events: Vec<(u32, EventKind)>,
    refused: u64,
}

fn heard(processor: &mut dyn Processor, events: &[(u32, EventKind)], lengths: &[usize]) -> Heard {
    let [mut left, mut right] = noise(FRAMES);
    let mut sent = EventBuffer::new(1024, 4096);
    let (mut all, mut at) = (Vec::new(), 0);
    for length in lengths.iter().cycle() {
        if at == FRAMES {
            break;
        }
        let end = FRAMES.min(at + length);
        let mut received = EventBuffer::new(64, 0);
        for (frame, kind) in
            events.iter().filter(|(frame, _)| (at..end).contains(&(*frame as usize)))
        {
            let event = Event::new(frame - at as u32, Source::edge(0), *kind);
            assert_eq!(received.push(event), Pushed::Stored);
        }
        sent.clear();
        let rows = StereoMut { left: &mut left[at..end], right: &mut right[at..end] };
        processor.process(&mut Block {
            events_in: Some(&received),
            events_out: Some(EventsOut::new(&mut sent, end - at)),
            ..Block::new(rows)
        });
        all.extend(sent.all().iter().map(|event| (event.frame + at as u32, event.kind)));
        at = end;
    }
    Heard { sound: [left, right], events: all, refused: sent.counts().refused }
}

fn midi(bytes: [u8; 3]) -> EventKind {
    EventKind::Midi(Midi1::new(&bytes).unwrap())
}

/// A file of the tests' own sender, which behaves as its name says.
fn sender(test: &str, name: &str) -> Option<(tempfile::TempDir, PathBuf)> {
    let file = test_sender(test)?;
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join(name);
    std::fs::copy(file, &library).unwrap();
    Some((folder, library))
}

fn built(library: &Path) -> Box<dyn Processor> {
    clap::build(library, SENDER, &[], 48_000, None).unwrap()
}

#[test]
fn an_lv2_plug_in_sends_what_it_makes_of_each_note_at_its_frame() {
    let test = "an_lv2_plug_in_sends_what_it_makes_of_each_note_at_its_frame";
    let Some(folder) = bundle(test, "eg-fifths.lv2") else { return };
    let found = lv2::describe(&folder, FIFTHS).unwrap();
    assert!(found.events && found.sends_events, "{found:?}");
    assert_eq!((found.layout, found.refusal), (NONE, None));
    let notes = [
        (0, midi([0x90, 60, 100])),
        (299, EventKind::Note(Note::on(-1, 2, 64, 1.0))),
        (5_000, midi([0x80, 60, 3])),
        (9_999, midi([0x82, 64, 0])),
    ];
    let expected = [
        (0, midi([0x90, 60, 100])),
        (0, midi([0x90, 67, 100])),
        (299, midi([0x92, 64, 127])),
        (299, midi([0x92, 71, 127])),
        (5_000, midi([0x80, 60, 3])),
        (5_000, midi([0x80, 67, 3])),
        (9_999, midi([0x82, 64, 0])),
        (9_999, midi([0x82, 71, 0])),
    ];
    for lengths in CUTS {
        let mut processor = lv2::build(&folder, FIFTHS, &[], 48_000, None).unwrap();
        assert!(processor.keeps_time(), "its notes end where the song stops");
        let heard = heard(&mut *processor, &notes, lengths);
        assert_eq!(heard.events, expected, "{lengths:?}");
        assert_eq!(bits(&heard.sound), bits(&noise(FRAMES)), "sound passes");
        assert_eq!(heard.refused, 0);
    }
}

#[test]
fn an_lv2_plug_in_whose_history_goes_ends_what_it_began() {
    let test = "an_lv2_plug_in_whose_history_goes_ends_what_it_began";
    let Some(folder) = bundle(test, "eg-fifths.lv2") else { return };
    let mut processor = lv2::build(&folder, FIFTHS, &[], 48_000, None).unwrap();
    heard(&mut *processor, &[(7, midi([0x91, 60, 100]))], &[256]);
    processor.reset();
    let ends = heard(&mut *processor, &[], &[256]).events;
    assert_eq!(ends, [(0, midi([0x81, 60, 0])), (0, midi([0x81, 67, 0]))]);
    assert!(heard(&mut *processor, &[], &[256]).events.is_empty(), "once");
}

#[test]
fn a_clap_plug_in_sends_notes_and_messages_at_their_frames() {
    let test = "a_clap_plug_in_sends_notes_and_messages_at_their_frames";
    let Some((_folder, library)) = sender(test, "octave.clap") else { return };
    let found = clap::describe(&library, SENDER).unwrap();
    assert!(found.events && found.sends_events, "{found:?}");
    assert_eq!((found.layout, found.refusal), (NONE, None));
    let note = EventKind::Note;
    let notes = [
        (3, note(Note::on(5, 1, 60, 0.3))),
        (4_096, note(Note::on(-1, 2, 64, 0.7))),
        (4_097, note(Note::off(5, 1, 60, 0.1))),
        (9_999, note(Note::off(-1, 2, 64, 0.0))),
    ];
    let expected = [
        (3, midi([0xb1, 1, 100])),
        (3, note(Note::on(5, 1, 72, 0.3))),
        (4_096, midi([0xb2, 1, 100])),
        (4_096, note(Note::on(-1, 2, 76, 0.7))),
        (4_097, note(Note::off(5, 1, 72, 0.1))),
        (9_999, note(Note::off(-1, 2, 76, 0.0))),
    ];
    for lengths in CUTS {
        let heard = heard(&mut *built(&library), &notes, lengths);
        assert_eq!(heard.events, expected, "{lengths:?}");
        assert_eq!(bits(&heard.sound), bits(&noise(FRAMES)), "sound passes");
    }
}

#[test]
fn a_pattern_of_a_clap_plug_in_without_audio_runs_as_long_as_the_block() {
    let test = "a_pattern_of_a_clap_plug_in_without_audio_runs_as_long_as_the_block";
    let Some((_folder, library)) = sender(test, "pattern.clap") else { return };
    let found = clap::describe(&library, SENDER).unwrap();
    assert!(!found.events && found.sends_events, "{found:?}");
    let expected: Vec<(u32, EventKind)> = (0..10)
        .flat_map(|step| {
            let on = EventKind::Note(Note::on(-1, 0, 60, 1.0));
            let off = EventKind::Note(Note::off(-1, 0, 60, 0.0));
            [(1_000 * step, on), (1_000 * step + 400, off)]
        })
        .collect();
    for lengths in CUTS {
        assert_eq!(heard(&mut *built(&library), &[], lengths).events, expected, "{lengths:?}");
    }
}

/// A port takes 1024 events of a block, and note ends besides.
#[test]
fn events_of_a_clap_plug_in_without_room_are_counted() {
    let test = "events_of_a_clap_plug_in_without_room_are_counted";
    let Some((_folder, library)) = sender(test, "floods.clap") else { return };
    let notes = [
        (10, EventKind::Note(Note::on(-1, 0, 60, 1.0))),
        (20, EventKind::Note(Note::off(-1, 0, 60, 0.0))),
    ];
    let heard = heard(&mut *built(&library), &notes, &[FRAMES]);
    assert_eq!((heard.events.len(), heard.refused), (1_025, 1_501 - 1_024));
    let off = EventKind::Note(Note::off(-1, 0, 72, 0.0));
    assert_eq!(heard.events.last(), Some(&(20, off)), "the end has room of its own");
}

/// Nobody hears a plug-in whose node has no event output, and nothing is counted.
#[test]
fn without_an_event_output_nothing_is_sent() {
    let test = "without_an_event_output_nothing_is_sent";
    let Some((_folder, library)) = sender(test, "floods.clap") else { return };
    let mut received = EventBuffer::new(8, 0);
    let on = Event::new(1, Source::edge(0), EventKind::Note(Note::on(-1, 0, 60, 1.0)));
    assert_eq!(received.push(on), Pushed::Stored);
    let sound = noise(64);
    let [mut left, mut right] = sound.clone();
    let rows = StereoMut { left: &mut left, right: &mut right };
    built(&library).process(&mut Block { events_in: Some(&received), ..Block::new(rows) });
    assert_eq!(bits(&[left, right]), bits(&sound));
}

#[test]
fn a_vst3_plug_in_sends_notes_and_controllers_at_their_frames() {
    const ID: &str = "484F434B455400015445535400000001";
    let test = "a_vst3_plug_in_sends_notes_and_controllers_at_their_frames";
    let folder = tempfile::tempdir().unwrap();
    let Some(bundle) = test_vst3(test, folder.path(), "sends") else { return };
    let found = vst3::describe(&bundle, ID).unwrap();
    assert!(found.events && found.sends_events && found.refusal.is_none(), "{found:?}");
    let note = EventKind::Note;
    let notes = [
        (3, note(Note::on(-1, 1, 60, 0.5))),
        (4_096, note(Note::on(-1, 2, 64, 0.25))),
        (4_097, note(Note::off(-1, 1, 60, 0.0))),
        (9_999, note(Note::off(-1, 2, 64, 0.0))),
    ];
    let expected = [
        (3, midi([0xb1, 1, 100])),
        (3, note(Note::on(-1, 1, 72, 0.5))),
        (4_096, midi([0xb2, 1, 100])),
        (4_096, note(Note::on(-1, 2, 76, 0.25))),
        (4_097, note(Note::off(-1, 1, 72, 0.0))),
        (9_999, note(Note::off(-1, 2, 76, 0.0))),
    ];
    for lengths in CUTS {
        let mut processor = vst3::build(&bundle, ID, &[], 48_000, None).unwrap();
        assert_eq!(heard(&mut *processor, &notes, lengths).events, expected, "{lengths:?}");
    }
    // Others say that they send nothing.
    let Some(bundle) = test_vst3(test, folder.path(), "usual") else { return };
    assert!(!vst3::describe(&bundle, ID).unwrap().sends_events);
}
