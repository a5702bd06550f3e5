//! Files that are cut short, changed or hostile: an error that says where, or a font that can be played. Never a panic.

mod common;

use std::io::Cursor;
use std::sync::Arc;

use common::generator::*;
use common::{Font, Sample, build, chunk, midi, on, place_of, range, run};
use hocket_soundfont::{FontError, SoundFont};
use proptest::prelude::*;

fn read(bytes: &[u8]) -> Result<SoundFont, FontError> {
    SoundFont::read(Cursor::new(bytes))
}

fn good() -> Vec<u8> {
    Font::of(Sample::sine(96, 5), &[(RELEASE, 0)]).bytes()
}

/// The error of what `change` does to a good file.
fn refused(change: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut bytes = good();
    change(&mut bytes);
    let error = read(&bytes).expect_err("the file is wrong");
    assert!(!error.cause().is_empty() && !error.remedy().is_empty());
    error.to_string()
}

fn check(change: impl FnOnce(&mut Vec<u8>), expected: &[&str]) {
    let error = refused(change);
    for part in expected {
        assert!(error.contains(part), "{error:?} lacks {part:?}");
    }
}

/// Writes into the record of the sample, which has 46 bytes.
fn in_sample(at: usize, value: u32) -> impl FnOnce(&mut Vec<u8>) {
    move |bytes| {
        let place = place_of(bytes, b"shdr") + at;
        bytes[place..place + 4].copy_from_slice(&value.to_le_bytes());
    }
}

#[test]
fn what_is_no_soundfont_is_refused() {
    check(|bytes| bytes.clear(), &["0 bytes", ".sf2"]);
    check(|bytes| bytes[8..12].copy_from_slice(b"WAVE"), &["at byte 0", "no SoundFont 2 file"]);
    let version = |bytes: &mut Vec<u8>| {
        let at = place_of(bytes, b"ifil");
        bytes[at] = 3;
    };
    check(version, &["SF3", ".sf2"]);
    check(|bytes| *bytes = chunk(b"RIFF", b"sfbk"), &["no tables", "'pdta'"]);
}

#[test]
fn lengths_are_not_believed() {
    for name in [b"smpl", b"phdr", b"LIST", b"shdr"] {
        let absurd = |bytes: &mut Vec<u8>| {
            let at = place_of(bytes, name);
            bytes[at - 4..at].copy_from_slice(&u32::MAX.to_le_bytes());
        };
        check(absurd, &["at byte", "4294967295 bytes", "copy or download"]);
    }
    let odd = |bytes: &mut Vec<u8>| {
        let at = place_of(bytes, b"pgen");
        bytes[at - 4] -= 1;
    };
    check(odd, &["at byte", "'pgen'"]);
}

#[test]
fn samples_are_where_the_file_has_them() {
    check(in_sample(36, 0), &["at byte", "sample 0 'Sine'", "0 Hz"]);
    check(in_sample(24, 1_000_000), &["'Sine'", "from 0 to 1000000"]);
    check(in_sample(20, 480), &["from 480 to 480"]);
    check(in_sample(32, 0), &["its loop goes from 0 to 0"]);
    check(in_sample(28, 4_000_000_000), &["its loop goes from 4000000000"]);
    let rom = |bytes: &mut Vec<u8>| {
        let at = place_of(bytes, b"shdr") + 44;
        bytes[at + 1] = 0x80;
    };
    check(rom, &["memory of a sound card"]);
    // Without a loop, its places are of no account.
    let mut bytes = Font::of(Sample::sine(96, 5), &[(LOOP_MODE, 0)]).bytes();
    in_sample(32, 0)(&mut bytes);
    assert!(read(&bytes).is_ok());
}

#[test]
fn indices_are_checked() {
    let in_table = |name: &'static [u8; 4], at: usize, value: u16| {
        move |bytes: &mut Vec<u8>| {
            let place = place_of(bytes, name) + at;
            bytes[place..place + 2].copy_from_slice(&value.to_le_bytes());
        }
    };
    check(in_table(b"phdr", 24, 9), &["at byte", "its zones are 9 to 1"]);
    check(in_table(b"pbag", 4, 900), &["the generators of a zone are 0 to 900"]);
    check(in_table(b"pgen", 2, 77), &["names instrument 77", "has 1"]);
    check(in_table(b"igen", 10, 78), &["names sample 78", "has 1"]);
    let none = Font { presets: vec![], ..Font::of(Sample::flat(1), &[]) };
    assert!(read(&none.bytes()).is_err_and(|error| error.to_string().contains("no presets")));
}

#[test]
fn a_small_file_cannot_ask_for_much() {
    // Each zone of 1000 presets names an instrument of 1000 zones, each for keys and velocities of its own.
    let many = |count: usize| vec![(vec![], Some(0)); count];
    let apart =
        |index: u8, step: u8| vec![(KEYS, range(index, index)), (VELOCITIES, range(step, step))];
    let zones = (0..100).flat_map(|key| (1..11).map(move |step| (apart(key, step), Some(0))));
    let font = Font {
        samples: vec![Sample::flat(1)],
        instruments: vec![zones.collect()],
        presets: (0..1000).map(|program| (0, program, many(1))).collect(),
        names: Vec::new(),
    };
    let error = read(&font.bytes()).expect_err("too much").to_string();
    assert!(error.contains("more than 524288 regions"), "{error}");
    let font = Font { presets: vec![(0, 0, many(9))], ..font };
    let error = read(&font.bytes()).expect_err("too much").to_string();
    assert!(error.contains("'Preset 0' has more than 8192 regions"), "{error}");
}

#[test]
fn a_note_cannot_ask_for_much() {
    let layers = |count: usize| Font {
        samples: vec![Sample::flat(1)],
        instruments: vec![vec![(vec![(KEYS, range(60, 62))], Some(0)); count]],
        presets: vec![(0, 0, vec![(vec![], Some(0))])],
        names: Vec::new(),
    };
    read(&layers(64).bytes()).expect("64 regions of a note are played");
    let error = read(&layers(65).bytes()).expect_err("too much").to_string();
    assert!(error.contains("more than 64 regions of the preset 'Preset 0'"), "{error}");
}

#[test]
fn zones_are_not_gone_through_again_and_again() {
    // The zones of every second instrument are those of all: the first one of the next begins where it began.
    let zones = vec![(vec![(CUTOFF, 5000)], None); 2000];
    let font = Font {
        samples: vec![Sample::flat(1)],
        instruments: vec![zones; 1],
        presets: vec![(0, 0, vec![(vec![], Some(0))])],
        names: Vec::new(),
    };
    let again = Font {
        instruments: (0..2000)
            .map(|index| if index == 0 { font.instruments[0].clone() } else { vec![] })
            .collect(),
        presets: vec![(0, 0, (0..1000).map(|index| (vec![], Some(2 * index))).collect())],
        ..font
    };
    let mut bytes = again.bytes();
    // Records of instruments have 22 bytes, and their first zone stands at the end of each.
    let inst = place_of(&bytes, b"inst");
    for index in (0..2000).step_by(2) {
        let at = inst + 22 * index + 20;
        bytes[at..at + 2].copy_from_slice(&0u16.to_le_bytes());
    }
    let error = read(&bytes).expect_err("too much").to_string();
    assert!(error.contains("the same zones again and again"), "{error}");
}

#[test]
fn a_file_that_cannot_be_opened_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().to_owned(), folder.path().join("none.sf2")] {
        let error = SoundFont::open(&path).expect_err("no file");
        assert!(!error.remedy().is_empty());
    }
    let path = folder.path().join("a.sf2");
    std::fs::write(&path, good()).unwrap();
    let font = SoundFont::open(&path).unwrap();
    assert_eq!((font.name(), font.presets().len()), ("Test", 1));
    assert_eq!(font.presets()[0].name, "Preset 0");
}

#[test]
fn cut_short_anywhere_it_is_refused_or_plays() {
    let bytes = good();
    for length in 0..bytes.len() {
        if let Ok(font) = read(&bytes[..length]) {
            play(font);
        }
    }
}

/// Plays some notes; what comes out is finite.
fn play(font: SoundFont) {
    let font = Arc::new(font);
    let mut instrument = build(&font, &[("voices", 4.0)]);
    let heard = [
        (0, on(0)),
        (0, on(69)),
        (5, on(127)),
        (9, midi(&[0x99, 60, 1])),
        (90, midi(&[0xb0, 123, 0])),
    ];
    for row in run(&mut *instrument, 200, &[64], &heard) {
        assert!(row.iter().all(|sample| sample.is_finite()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn changed_anywhere_it_is_refused_or_plays(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = good();
        // The tables, where changes matter most.
        let tables = place_of(&bytes, b"pdta");
        let length = bytes.len() - tables;
        for (place, value) in changes {
            bytes[tables + place.index(length)] = value;
        }
        if let Ok(font) = read(&bytes) {
            play(font);
        }
    }
}
