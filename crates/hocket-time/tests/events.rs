//! Event buffers against a stable sort, and what they do when they are full.

use hocket_time::{
    END_ROOM, Event, EventBuffer, EventKind, HeldNotes, Midi1, Midi1To2, Note, NoteAction,
    ParamChange, Pushed, Sounding, SoundingNotes, Source, Ump, midi2_to_midi1,
};
use proptest::prelude::*;

fn param(frame: u32, source: u16, param: u32, value: f64) -> Event {
    Event::new(frame, Source(source), EventKind::param(param, value))
}

fn on_ramp(frame: u32, param: u32, value: f64) -> Event {
    let change = ParamChange { param, value, on_ramp: true };
    Event::new(frame, Source::LANE, EventKind::Param(change))
}

fn note(frame: u32, note: Note) -> Event {
    Event::new(frame, Source(1), EventKind::Note(note))
}

fn midi(frame: u32, bytes: &[u8]) -> Event {
    Event::new(frame, Source(2), EventKind::Midi(Midi1::new(bytes).unwrap()))
}

fn sorted(mut events: Vec<Event>) -> Vec<Event> {
    // Stable.
    events.sort_by_key(|event| (event.frame, event.source));
    events
}

/// Events that all differ in their value.
fn events(frames: u32) -> impl Strategy<Value = Vec<Event>> {
    let event = (0..frames, 0u16..4);
    proptest::collection::vec(event, 0..80).prop_map(|list| {
        let numbered = list.into_iter().enumerate();
        numbered.map(|(n, (frame, source))| param(frame, source, n as u32, n as f64)).collect()
    })
}

proptest! {
    #[test]
    fn events_are_sorted_by_frame_then_source_then_sequence(events in events(30)) {
        let mut buffer = EventBuffer::new(80, 0);
        for event in &events {
            prop_assert_eq!(buffer.push(*event), Pushed::Stored);
        }
        prop_assert_eq!(buffer.all(), &sorted(events)[..]);
    }

    #[test]
    fn a_merge_equals_the_pushes_of_its_events(
        (own, other) in (events(40), events(40)),
        frames in 0u32..45,
        capacity in 1usize..160,
        source in 0u16..4,
    ) {
        let mut from = EventBuffer::new(80, 0);
        other.iter().for_each(|event| assert_eq!(from.push(*event), Pushed::Stored));
        let (mut merged, mut pushed) = (EventBuffer::new(capacity, 0), EventBuffer::new(capacity, 0));
        for event in &own {
            prop_assert_eq!(merged.push(*event), pushed.push(*event));
        }
        let refused = merged.merge(&from, frames, Source(source));
        let all = from.block(frames).iter().map(|event| Event { source: Source(source), ..*event });
        let expected = all.filter(|event| pushed.push(*event) == Pushed::Refused).count();
        prop_assert_eq!(refused as usize, expected);
        prop_assert_eq!(merged.all(), pushed.all());
        prop_assert_eq!(merged.counts(), pushed.counts());
    }

    #[test]
    fn every_cut_gives_each_event_once_at_its_frame(
        events in events(400),
        cuts in proptest::collection::vec(1u32..100, 1..10),
    ) {
        let mut buffer = EventBuffer::new(80, 0);
        let (mut start, mut heard) = (0, Vec::new());
        events.iter().for_each(|event| assert_eq!(buffer.push(*event), Pushed::Stored));
        for frames in cuts.into_iter().cycle() {
            for event in buffer.block(frames) {
                prop_assert!(event.frame < frames);
                heard.push(Event { frame: start + event.frame, ..*event });
            }
            buffer.advance(frames);
            start += frames;
            if start >= 400 {
                break;
            }
        }
        prop_assert!(buffer.all().is_empty());
        prop_assert_eq!(heard, sorted(events));
    }

    #[test]
    fn a_flood_keeps_ends_jumps_and_last_values_and_counts_the_rest(
        kinds in proptest::collection::vec((0u32..64, 0u8..10, 0u32..4), 0..600),
        capacity in 8usize..64,
    ) {
        let mut buffer = EventBuffer::new(capacity, 0);
        let place = buffer.all().as_ptr();
        let (mut sent, mut refused) = (Vec::new(), 0);
        for (n, (frame, kind, param_id)) in kinds.into_iter().enumerate() {
            let key = (n % 100) as i8;
            let event = match kind {
                0..=5 => on_ramp(frame, param_id, n as f64),
                6 => param(frame, 3, param_id, n as f64),
                7 => note(frame, Note::on(n as i32, 0, key, 0.5)),
                _ => note(frame, Note::off(n as i32, 0, key, 0.5)),
            };
            let pushed = buffer.push(event);
            refused += u64::from(pushed == Pushed::Refused);
            sent.push((event, pushed));
        }
        let all = buffer.all();
        // Nothing moved to new memory, and nothing is lost without a count.
        prop_assert_eq!(all.as_ptr(), place);
        prop_assert!(all.len() <= capacity + END_ROOM);
        let counts = buffer.counts();
        prop_assert_eq!(counts.refused, refused);
        let ended_all = u64::from(all.iter().any(|event| event.kind == EventKind::EndAllNotes));
        let kept = all.len() as u64 - ended_all;
        prop_assert_eq!(kept + counts.merged_params + counts.merged_ends + refused, sent.len() as u64);
        prop_assert!(all.is_sorted_by_key(|event| (event.frame, event.source)));
        // Every end is there, or all notes end at its frame or later.
        let end_of_all = all.iter().rfind(|event| event.kind == EventKind::EndAllNotes);
        for (event, pushed) in sent.iter().filter(|it| it.0.kind.ends_notes()) {
            prop_assert!(*pushed != Pushed::Refused);
            let ended = end_of_all.is_some_and(|end| end.frame >= event.frame);
            prop_assert!(ended || all.contains(event), "{:?}", event);
        }
        // The last value of a parameter is the last that was sent and not refused.
        for id in 0..4 {
            let of = |event: &Event| matches!(event.kind, EventKind::Param(it) if it.param == id);
            let taken = sent.iter().filter(|it| of(&it.0) && it.1 != Pushed::Refused);
            let taken = sorted(taken.map(|it| it.0).collect());
            prop_assert_eq!(all.iter().rfind(|event| of(event)), taken.last());
        }
    }
}

#[test]
fn ramps_are_thinned_out_and_their_ends_and_jumps_stay() {
    let mut buffer = EventBuffer::new(10, 0);
    for frame in 0..9 {
        assert_eq!(buffer.push(on_ramp(frame, 1, f64::from(frame))), Pushed::Stored);
    }
    assert_eq!(buffer.push(param(4, 9, 1, 44.0)), Pushed::Stored);
    // Full: of the ramp between its first and its last value, every second one goes.
    assert_eq!(buffer.push(midi(2, &[0x90, 60, 100])), Pushed::Stored);
    let frames: Vec<_> = buffer.all().iter().map(|event| event.frame).collect();
    assert_eq!(frames, [0, 2, 2, 4, 4, 6, 8]);
    assert_eq!(buffer.counts().merged_params, 4);
    assert!(buffer.all().contains(&param(4, 9, 1, 44.0)));
}

#[test]
fn without_ramps_the_last_value_wins_and_foreign_events_are_refused() {
    let mut buffer = EventBuffer::new(3, 0);
    let (first, second) = (param(0, 0, 1, 1.0), param(9, 0, 2, 2.0));
    for event in [first, second, param(20, 0, 2, 3.0)] {
        assert_eq!(buffer.push(event), Pushed::Stored);
    }
    assert_eq!(buffer.push(param(30, 0, 2, 4.0)), Pushed::Stored);
    assert_eq!(buffer.push(param(25, 0, 2, 5.0)), Pushed::Merged);
    assert_eq!(buffer.push(param(1, 0, 3, 6.0)), Pushed::Refused);
    assert_eq!(buffer.push(note(1, Note::on(1, 0, 60, 1.0))), Pushed::Refused);
    assert_eq!(buffer.push(note(2, Note::off(1, 0, 60, 0.0))), Pushed::Stored);
    let off = note(2, Note::off(1, 0, 60, 0.0));
    assert_eq!(buffer.all(), [first, off, second, param(30, 0, 2, 4.0)]);
    let counts = buffer.counts();
    assert_eq!((counts.merged_params, counts.refused, counts.merged_ends), (2, 2, 0));
    // A block frees the room.
    buffer.advance(10);
    assert_eq!(buffer.push(param(1, 0, 3, 6.0)), Pushed::Stored);
    assert_eq!(buffer.all(), [param(1, 0, 3, 6.0), param(20, 0, 2, 4.0)]);
}

#[test]
fn too_many_note_ends_end_all_notes() {
    let mut buffer = EventBuffer::new(0, 0);
    let off = |frame: u32| note(frame, Note::off(frame as i32, 0, 60, 0.0));
    for frame in 0..END_ROOM as u32 - 1 {
        assert_eq!(buffer.push(off(frame)), Pushed::Stored);
    }
    assert_eq!(buffer.push(off(5)), Pushed::Merged);
    assert_eq!(buffer.push(off(200)), Pushed::Merged);
    assert_eq!(buffer.push(off(100)), Pushed::Merged);
    let last = buffer.all().last().unwrap();
    assert_eq!((last.frame, last.kind), (200, EventKind::EndAllNotes));
    assert_eq!(buffer.all().len(), END_ROOM);
    assert_eq!(buffer.counts().merged_ends, 3);
}

#[test]
fn system_exclusive_messages_are_copied_wait_and_free_their_bytes() {
    let mut buffer = EventBuffer::new(8, 10);
    let (long, short) = ([0xf0, 1, 2, 3, 0xf7], [0xf0, 9, 0xf7]);
    assert_eq!(buffer.push_sysex(3, Source(1), &short), Pushed::Stored);
    assert_eq!(buffer.push_sysex(70, Source(1), &long), Pushed::Stored);
    assert_eq!(buffer.push_sysex(4, Source(1), &short), Pushed::Refused);
    let bytes = |buffer: &EventBuffer, n: usize| match buffer.all()[n].kind {
        EventKind::SysEx(message) => buffer.sysex(message).to_vec(),
        _ => Vec::new(),
    };
    assert_eq!((bytes(&buffer, 0), bytes(&buffer, 1)), (short.to_vec(), long.to_vec()));

    let mut other = EventBuffer::new(8, 20);
    assert_eq!(other.push_sysex(0, Source(7), &[0xf0, 0xf7]), Pushed::Stored);
    assert_eq!(other.merge(&buffer, 64, Source(2)), 0);
    assert_eq!(bytes(&other, 1), short);
    // A message of another buffer has no bytes here.
    assert_eq!(other.push(buffer.all()[0]), Pushed::Refused);

    buffer.advance(64);
    assert_eq!((buffer.all().len(), bytes(&buffer, 0)), (1, long.to_vec()));
    // The bytes of the first message are free again, and an earlier event may come behind.
    assert_eq!(buffer.push_sysex(1, Source(1), &long), Pushed::Stored);
    assert_eq!((bytes(&buffer, 0), bytes(&buffer, 1)), (long.to_vec(), long.to_vec()));
    buffer.advance(64);
    assert!(buffer.all().is_empty());
    assert_eq!(buffer.push_sysex(0, Source(1), &[0; 10]), Pushed::Stored);
    buffer.clear();
    assert_eq!(buffer.push_sysex(0, Source(1), &[1; 10]), Pushed::Stored);
    assert_eq!(bytes(&buffer, 0), [1; 10]);
}

/// An event of notes or pedals, in each of the dialects.
fn sounding_event() -> impl Strategy<Value = EventKind> {
    let key = prop_oneof![Just(60u8), Just(61), Just(0), Just(127)];
    let controller = prop_oneof![Just(64u8), Just(66), Just(69), Just(123), Just(120), Just(7)];
    let value = prop_oneof![Just(0u8), Just(63), Just(64), Just(127)];
    let note = (0x80u8..0xa0, key, value.clone()).prop_map(|(status, key, v)| [status, key, v]);
    let control = (0xb0u8..0xc0, controller, value).prop_map(|(status, c, v)| [status, c, v]);
    let midi = prop_oneof![4 => note, 1 => control];
    let midi = midi.prop_map(|bytes| Midi1::new(&bytes).unwrap());
    (midi, 0..3, any::<bool>()).prop_map(|(message, dialect, every)| match dialect {
        0 => EventKind::Midi(message),
        1 => EventKind::Ump(Midi1To2::new().translate(0, message).unwrap()),
        _ => match Note::from_midi(message) {
            Some(note) if every && note.action != NoteAction::On => {
                EventKind::Note(Note { key: -1, ..note })
            }
            Some(note) => EventKind::Note(note),
            None => EventKind::Midi(message),
        },
    })
}

proptest! {
    #[test]
    fn sounding_notes_are_those_of_a_list(events in proptest::collection::vec(sounding_event(), 0..60)) {
        let mut notes = SoundingNotes::new();
        let mut list: Vec<(u8, u8, bool)> = Vec::new();
        for event in &events {
            notes.watch(event);
            let message = match event {
                EventKind::Midi(message) => *message,
                EventKind::Ump(packet) => midi2_to_midi1(packet).as_slice()[0],
                EventKind::Note(note) if note.key < 0 => {
                    list.retain(|it| it.2 || it.0 as i8 != note.channel);
                    continue;
                }
                EventKind::Note(note) => note.to_midi().unwrap(),
                _ => unreachable!(),
            };
            let [status, first, second] = message.bytes();
            let (channel, is_pedal) = (status & 0xf, status >= 0xb0);
            match (is_pedal, first) {
                (true, 120 | 123) => list.retain(|it| it.2 || it.0 != channel),
                (true, 7) => {}
                _ => list.retain(|it| *it != (channel, first, is_pedal)),
            }
            let on = if is_pedal { second >= 64 && first < 120 && first != 7 } else { status >= 0x90 && second > 0 };
            if on {
                list.push((channel, first, is_pedal));
            }
        }
        list.sort_by_key(|it| (it.0, it.2, it.1));
        let mut ended = Vec::new();
        notes.end_all(|it| ended.push(match it {
            Sounding::Note { channel, key } => (channel, key, false),
            Sounding::Pedal { channel, controller } => (channel, controller, true),
        }));
        prop_assert_eq!(ended, list);
        prop_assert_eq!(notes, SoundingNotes::new());
    }
}

#[test]
fn an_end_of_everything_leaves_nothing() {
    let start = [Note::on(1, 3, 60, 0.0), Note::on(2, 15, 127, 1.0)];
    let ends = [
        EventKind::EndAllNotes,
        EventKind::Midi(Midi1::new(&[0xff]).unwrap()),
        EventKind::Note(Note::off(-1, -1, -1, 0.0)),
    ];
    for end in ends {
        let mut notes = SoundingNotes::new();
        start.iter().for_each(|note| notes.watch(&EventKind::Note(*note)));
        // A start of no certain note changes nothing.
        notes.watch(&EventKind::Note(Note::on(1, -1, -1, 1.0)));
        assert_eq!(notes.count(), 2);
        notes.watch(&end);
        assert_eq!(notes.count(), 0);
    }
}

#[test]
fn an_event_is_small() {
    assert_eq!(size_of::<Event>(), 32);
}

#[test]
fn later_sources_win_at_one_frame() {
    assert!(Source::LANE < Source::edge(0) && Source::edge(0) < Source::edge(1));
    assert!(Source::edge(usize::MAX - 1) < Source::LIVE && Source::edge(70_000) < Source::LIVE);
}

#[test]
fn what_ends_notes_is_known() {
    let ends: [&[u8]; 9] = [
        &[0x83, 60, 1],
        &[0x92, 60, 0],
        &[0xb0, 64, 63],
        &[0xb0, 66, 0],
        &[0xbf, 69, 5],
        &[0xb0, 120, 0],
        &[0xb0, 123, 0],
        &[0xb0, 126, 1],
        &[0xff],
    ];
    let others: [&[u8]; 7] = [
        &[0x92, 60, 1],
        &[0xb0, 64, 64],
        &[0xb0, 7, 0],
        &[0xb0, 121, 0],
        &[0xe0, 0, 0],
        &[0xfe],
        &[0xc0, 0],
    ];
    let cases =
        ends.into_iter().map(|it| (it, true)).chain(others.into_iter().map(|it| (it, false)));
    for (bytes, expected) in cases {
        let message = Midi1::new(bytes).unwrap();
        assert_eq!(EventKind::Midi(message).ends_notes(), expected, "{bytes:x?}");
        let packet = Ump::from_midi1(3, message);
        assert_eq!(EventKind::Ump(packet).ends_notes(), expected, "{bytes:x?}");
    }
    // In MIDI 2.0 a start with velocity 0 is a start, as in CLAP.
    let packets =
        [(0x4083_3c00, true), (0x4093_3c00, false), (0x40b3_4000, true), (0x40b3_0700, false)];
    for (head, expected) in packets {
        assert_eq!(Ump::new([head, 0, 0, 0]).ends_notes(), expected, "{head:x}");
    }
    assert!(!EventKind::Note(Note::on(0, 0, 60, 0.0)).ends_notes());
    assert!(EventKind::EndAllNotes.ends_notes() && !EventKind::param(0, 0.0).ends_notes());
}

/// Notes, MIDI and packets of both protocols that start and end notes, and pedals.
fn notes() -> impl Strategy<Value = Vec<EventKind>> {
    let one = (0u8..4, 0u8..5, 0u8..16, 0u8..128, 0u8..128).prop_map(
        |(kind, what, channel, key, value)| {
            let bytes = match what {
                0..=2 => [0x90 | channel, key, value],
                3 => [0x80 | channel, key, value],
                _ => [0xb0 | channel, [64, 66, 69][usize::from(key % 3)], value],
            };
            let message = Midi1::new(&bytes).unwrap();
            let note = Note::from_midi(message);
            match (kind, note) {
                (0, Some(note)) => EventKind::Note(note),
                (1, _) => EventKind::Ump(Ump::from_midi1(channel, message)),
                (2, _) => EventKind::Ump(Midi1To2::new().translate(channel, message).unwrap()),
                _ => EventKind::Midi(message),
            }
        },
    );
    proptest::collection::vec(one, 0..60)
}

proptest! {
    #[test]
    fn what_is_held_is_ended_in_its_own_kind_and_nothing_else_is(
        notes in notes(), also in notes(), at in 0usize..60,
    ) {
        let mut held = HeldNotes::new();
        // What each kind alone makes of it.
        let kind = |event: &EventKind| std::mem::discriminant(event);
        let mut alone: Vec<(std::mem::Discriminant<EventKind>, SoundingNotes)> = Vec::new();
        let mut other = HeldNotes::new();
        for (n, event) in notes.iter().chain(&also).enumerate() {
            // Two ports, one of which the other takes over in the end.
            if n < at { held.watch(event) } else { other.watch(event) }
            match alone.iter_mut().find(|(own, _)| *own == kind(event)) {
                Some((_, sounding)) => sounding.watch(event),
                None => {
                    let mut sounding = SoundingNotes::new();
                    sounding.watch(event);
                    alone.push((kind(event), sounding));
                }
            }
        }
        held.take_over(&mut other);
        prop_assert!(other.is_empty());
        let mut ends = Vec::new();
        held.end_all(7, Source(3), |end| ends.push(end));
        prop_assert!(held.is_empty());
        let mut again = 0;
        held.end_all(0, Source(3), |_| again += 1);
        prop_assert_eq!(again, 0);
        for end in &ends {
            prop_assert!(end.kind.ends_notes() && (end.frame, end.source) == (7, Source(3)));
            let sounding = alone.iter_mut().filter(|(own, _)| *own == kind(&end.kind));
            sounding.for_each(|(_, sounding)| sounding.watch(&end.kind));
        }
        // Pedals of CLAP's notes do not exist, so every kind is silent now.
        prop_assert!(alone.iter().all(|(_, sounding)| *sounding == SoundingNotes::new()));
    }
}

#[test]
fn packets_are_ended_in_every_group_and_in_their_protocol() {
    let mut held = HeldNotes::new();
    let on = Midi1::new(&[0x95, 60, 100]).unwrap();
    for group in [2, 11] {
        held.watch(&EventKind::Ump(Midi1To2::new().translate(group, on).unwrap()));
    }
    let mut ends = Vec::new();
    held.end_all(0, Source::LANE, |end| match end.kind {
        EventKind::Ump(packet) => {
            ends.push((packet.message_type(), packet.group(), packet.ends_notes()))
        }
        other => panic!("{other:?}"),
    });
    assert_eq!(ends, [(4, 2, true), (4, 11, true)]);
    held.watch(&EventKind::Midi(on));
    held.watch(&EventKind::EndAllNotes);
    assert!(held.is_empty());
}

#[test]
fn of_notes_that_overlap_on_a_key_none_hangs() {
    let kinds = |notes: &mut SoundingNotes| {
        let mut left = Vec::new();
        notes.end_all(|it| left.push(it));
        left
    };
    let note = |note| EventKind::Note(note);
    let mut notes = SoundingNotes::new();
    notes.watch(&note(Note::on(1, 0, 60, 0.8)));
    notes.watch(&note(Note::on(2, 0, 60, 0.8)));
    notes.watch(&note(Note::off(1, 0, 60, 0.0)));
    let sounding = [Sounding::Note { channel: 0, key: 60 }];
    assert_eq!(kinds(&mut notes), sounding, "the second one sounds");
    assert_eq!(kinds(&mut notes), []);
    // Two ports with a note of one key each.
    let mut other = SoundingNotes::new();
    notes.watch(&note(Note::on(1, 0, 60, 0.8)));
    other.watch(&note(Note::on(2, 0, 60, 0.8)));
    notes.merge(&other);
    notes.watch(&note(Note::off(2, 0, 60, 0.0)));
    assert_eq!(kinds(&mut notes), sounding);
    // An end of any id ends all of them.
    notes.watch(&note(Note::on(1, 0, 60, 0.8)));
    notes.watch(&note(Note::on(2, 0, 60, 0.8)));
    notes.watch(&note(Note::off(-1, 0, 60, 0.0)));
    assert_eq!(kinds(&mut notes), []);
}
