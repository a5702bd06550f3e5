//! The same notes by rustysynth, a player that others wrote: as loud on both sides, and of the same pitch.
//!
//! It works in blocks of 64 frames, interpolates in straight lines and always filters, so no sample is the same. What is
//! compared is the level of pieces of 50 ms. Its envelopes fall by 80 dB in their time, where the format says 100, so no long
//! falls are compared. Of several voices of one note and exclusive class it plays one, so no drums are.

mod common;

use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::generator::*;
use common::{Font, RATE_HZ, Sample, build, midi, run};
use hocket_soundfont::SoundFont;
use hocket_time::EventKind;
use rustysynth::{SoundFont as TheirFont, Synthesizer, SynthesizerSettings};

/// A second.
const FRAMES: usize = 48_000;
const PIECE: usize = 2400;
/// Its blocks begin where events come.
const BLOCK: usize = 64;

type Message = (usize, [u8; 3]);

fn theirs(font: &Arc<TheirFont>, heard: &[Message]) -> [Vec<f32>; 2] {
    let mut settings = SynthesizerSettings::new(RATE_HZ as i32);
    settings.enable_reverb_and_chorus = false;
    settings.block_size = BLOCK;
    let mut synthesizer = Synthesizer::new(font, &settings).unwrap();
    // Volume and expression, both squared: it takes 127 for 16256 of 16383.
    synthesizer.set_master_volume((16_383.0f32 / 16_256.0).powi(4));
    let [mut left, mut right] = [vec![0.0; FRAMES], vec![0.0; FRAMES]];
    for begin in (0..FRAMES).step_by(BLOCK) {
        for (_, [status, first, second]) in heard.iter().filter(|(frame, _)| *frame == begin) {
            let [channel, command] = [status & 0xf, status & 0xf0].map(i32::from);
            synthesizer.process_midi_message(channel, command, (*first).into(), (*second).into());
        }
        let end = begin + BLOCK;
        synthesizer.render(&mut left[begin..end], &mut right[begin..end]);
    }
    [left, right]
}

fn ours(font: &Arc<SoundFont>, heard: &[Message]) -> [Vec<f32>; 2] {
    let event = |(frame, bytes): &Message| -> (u32, EventKind) {
        let length = if (0xc0..0xe0).contains(&bytes[0]) { 2 } else { 3 };
        (*frame as u32, midi(&bytes[..length]))
    };
    let heard: Vec<_> = heard.iter().map(event).collect();
    run(&mut *build(font, &[]), FRAMES, &[BLOCK], &heard)
}

fn rms(row: &[f32]) -> f64 {
    let squares: f64 = row.iter().map(|sample| f64::from(*sample).powi(2)).sum();
    (squares / row.len() as f64).sqrt()
}

/// How often the sign changes.
fn crossings(row: &[f32]) -> usize {
    row.windows(2).filter(|pair| (pair[0] < 0.0) != (pair[1] < 0.0)).count()
}

fn check(what: &str, font: &Font, heard: &[Message]) {
    let bytes = font.bytes();
    let their_font = Arc::new(TheirFont::new(&mut Cursor::new(&bytes)).unwrap());
    let [own, their] = [ours(&font.read(), heard), theirs(&their_font, heard)];
    for side in 0..2 {
        for begin in (0..FRAMES).step_by(PIECE).skip(2) {
            let [a, b] = [&own, &their].map(|rows| &rows[side][begin..begin + PIECE]);
            let (level, expected) = (rms(a), rms(b));
            assert!(
                (level - expected).abs() < 0.02 * expected + 1e-3,
                "{what}, side {side}, from frame {begin}: {level}, not {expected}"
            );
        }
        let [a, b] = [&own, &their].map(|rows| crossings(&rows[side][4800..24_000]));
        assert!(a.abs_diff(b) <= 2, "{what}, side {side}: {a} crossings, not {b}");
    }
}

/// What it is called, the generators of the font's only zone, and what is heard.
type Case<'a> = (&'a str, &'a [(u16, i16)], &'a [Message]);

#[test]
fn generators_and_controllers_do_the_same() {
    let sine = || Sample::sine(100, 6);
    let note = |velocity| (0, [0x90, 69, velocity]);
    let envelope = [(ATTACK, -1200), (HOLD, -2400), (DECAY, -6000), (SUSTAIN, 60)];
    let wide = [
        (0, [0xb0, 101, 0]),
        (0, [0xb0, 100, 0]),
        (0, [0xb0, 6, 7]),
        (0, [0xe0, 0, 10]),
        note(100),
    ];
    let pedal = [note(90), (64, [0xb0, 64, 127]), (640, [0x80, 69, 0]), (20_352, [0xb0, 64, 0])];
    let cases: [Case; 13] = [
        ("plain", &[], &[note(127)]),
        ("softer", &[], &[note(40)]),
        ("an octave up", &[], &[(0, [0x90, 81, 100])]),
        (
            "tuned",
            &[(COARSE_TUNE, 3), (FINE_TUNE, 40), (SCALE_TUNING, 50)],
            &[(0, [0x90, 80, 100])],
        ),
        ("attenuated", &[(ATTENUATION, 180)], &[note(100)]),
        ("to the left", &[(PAN, -320)], &[note(100)]),
        ("pan by controller", &[(PAN, 100)], &[(0, [0xb0, 10, 90]), note(100)]),
        ("volume and expression", &[], &[(0, [0xb0, 7, 70]), (0, [0xb0, 11, 90]), note(100)]),
        ("an envelope", &envelope, &[note(100)]),
        ("a pedal", &[], &pedal),
        ("a bend", &[], &[(0, [0xe0, 0, 100]), note(100)]),
        ("a wide bend", &[], &wide),
        ("a low cutoff", &[(CUTOFF, 8000)], &[note(100)]),
    ];
    for (what, generators, heard) in cases {
        check(what, &Font::of(sine(), generators), heard);
    }
}

/// A General MIDI set, where there is one.
fn general_midi() -> Option<PathBuf> {
    let named = std::env::var_os("HOCKET_SOUNDFONT").map(PathBuf::from);
    let usual = ["default-GM.sf2", "TimGM6mb.sf2", "FluidR3_GM.sf2"];
    let usual = usual.map(|name| Path::new("/usr/share/sounds/sf2").join(name));
    named.into_iter().chain(usual).find(|path| path.is_file())
}

#[test]
fn the_presets_of_a_general_midi_set_are_as_loud() {
    let Some(path) = general_midi() else {
        println!("SKIPPED the_presets_of_a_general_midi_set_are_as_loud: no such set is installed");
        return;
    };
    let font = Arc::new(SoundFont::open(&path).unwrap_or_else(|error| panic!("{error}")));
    let mut file = std::fs::File::open(&path).unwrap();
    let their_font = Arc::new(TheirFont::new(&mut file).unwrap());
    let (mut compared, mut far) = (0, Vec::new());
    for program in 0..128 {
        for key in [48, 60, 67] {
            let heard = [(0, [0xc0, program, 0]), (0, [0x90, key, 100]), (19_200, [0x80, key, 0])];
            let [own, their] = [ours(&font, &heard), theirs(&their_font, &heard)];
            let [a, b] = [own, their].map(|rows| rms(&rows[0]).hypot(rms(&rows[1])));
            if a.max(b) < 1e-3 {
                continue;
            }
            compared += 1;
            let difference_db = 20.0 * (a / b).log10();
            if difference_db.abs() > 1.0 {
                far.push(format!("program {program}, key {key}: {difference_db:+.2} dB"));
            }
        }
    }
    println!("{}: {compared} notes compared, further apart than 1 dB: {far:#?}", path.display());
    // What sounds near half the rate of its sample is softer in straight lines.
    assert!(compared > 200 && far.len() * 10 < compared, "{far:#?}");
}
