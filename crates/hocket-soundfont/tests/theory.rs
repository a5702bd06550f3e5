//! What SoundFonts sound like, against the formulas: pitch, level, envelopes, filters, and what MIDI says.

mod common;

use std::f64::consts::{FRAC_1_SQRT_2, TAU};
use std::sync::Arc;

use common::generator::*;
use common::{
    AMPLITUDE, Font, RATE_HZ, Sample, build, loud, midi, off, on, peak, play, range, run,
};
use hocket_time::{EventKind, Note};

/// The level of [`Sample::flat`] of half of full scale, at full velocity, in the centre.
const HALF: f64 = 0.5 * FRAC_1_SQRT_2;

/// Frames until a sample is between others: before its first one lies silence.
const BEGINNING: usize = 4;

fn near(found: f32, expected: f64, tolerance: f64) {
    assert!((f64::from(found) - expected).abs() <= tolerance, "{found}, not {expected}");
}

fn flat(generators: &[(u16, i16)]) -> Font {
    Font::of(Sample::flat(16_384), generators)
}

/// The level of the left and the right row, long after a note began.
fn levels(font: &Font, heard: &[(u32, EventKind)]) -> [f32; 2] {
    let mut all = vec![loud()];
    all.extend_from_slice(heard);
    play(font, 12_000, &all).map(|row| row[11_999])
}

#[test]
fn at_its_own_pitch_a_sample_plays_as_it_is() {
    let sample = Sample::sine(96, 5);
    let [left, right] = play(&Font::of(sample.clone(), &[]), 4800, &[loud(), (100, on(69))]);
    assert!(left[..100].iter().all(|sample| *sample == 0.0));
    for (frame, found) in left[100..].iter().enumerate() {
        let value = f64::from(sample.data[frame % sample.data.len()]) / 32_768.0;
        near(*found, value * FRAC_1_SQRT_2, 1e-6);
    }
    assert_eq!(left, right);
}

/// Key, generators, the pitch in cents from the sample's own.
type OfKey<'a> = (i8, &'a [(u16, i16)], f64);

#[test]
fn every_key_has_its_pitch() {
    let cases: [OfKey; 8] = [
        (81, &[], 1200.0),
        (57, &[], -1200.0),
        (70, &[], 100.0),
        (69, &[(COARSE_TUNE, -5)], -500.0),
        (69, &[(FINE_TUNE, 33)], 33.0),
        (69, &[(ROOT, 60)], 900.0),
        (93, &[(SCALE_TUNING, 50)], 1200.0),
        (93, &[(SCALE_TUNING, 0)], 0.0),
    ];
    for (key, generators, cents) in cases {
        let [left, _] =
            play(&Font::of(Sample::sine(200, 3), generators), 24_000, &[loud(), (0, on(key))]);
        let step = 2f64.powf(cents / 1200.0) / 200.0;
        for (frame, found) in left.iter().enumerate().skip(BEGINNING) {
            let expected = (TAU * step * frame as f64).sin() * AMPLITUDE / 32_768.0 * FRAC_1_SQRT_2;
            // Between the samples lies a cubic, and each has 16 bits.
            near(*found, expected, 2e-4);
        }
    }
}

#[test]
fn another_rate_and_a_correction_keep_the_pitch() {
    let sample = Sample { rate_hz: RATE_HZ / 2, correction: -20, ..Sample::sine(100, 4) };
    let font = Font::of(sample, &[(FINE_TUNE, 20)]);
    let [left, _] = play(&font, 9600, &[loud(), (0, on(69))]);
    for (frame, found) in left.iter().enumerate().skip(BEGINNING) {
        let expected = (TAU * frame as f64 / 200.0).sin() * AMPLITUDE / 32_768.0 * FRAC_1_SQRT_2;
        near(*found, expected, 2e-4);
    }
}

#[test]
fn velocity_and_controllers_fall_as_their_squares() {
    let at = |velocity: u8| (0, midi(&[0x90, 69, velocity]));
    near(levels(&flat(&[]), &[at(127)])[0], HALF, 1e-6);
    near(levels(&flat(&[]), &[at(64)])[0], HALF * (64.0f64 / 127.0).powi(2), 1e-6);
    for (controller, value) in [(7, 90), (11, 50)] {
        let found = levels(&flat(&[]), &[(0, midi(&[0xb0, controller, value])), at(127)]);
        near(found[0], HALF * (f64::from(value) / 127.0).powi(2), 1e-6);
    }
    // Without any, the volume is 100.
    let [left, _] = play(&flat(&[]), 4000, &[at(127)]);
    near(left[3999], HALF * (100.0f64 / 127.0).powi(2), 1e-6);
    // One that moves while the note sounds is smoothed, and arrives.
    let [left, _] = play(&flat(&[]), 24_000, &[loud(), at(127), (12_000, midi(&[0xb0, 7, 0]))]);
    assert!(left[12_001] > 0.3 && left[23_000].abs() < 1e-6);
    let jump = left.windows(2).skip(1).map(|pair| (pair[1] - pair[0]).abs()).fold(0.0, f32::max);
    assert!(jump < 3e-3, "{jump}");
}

#[test]
fn attenuation_and_gain_are_in_decibels() {
    // Players obey two fifths of what files say.
    near(levels(&flat(&[(ATTENUATION, 250)]), &[(0, on(69))])[0], HALF * 10f64.powf(-0.5), 1e-6);
    let font = flat(&[]).read();
    let [left, _] =
        run(&mut *build(&font, &[("gain_db", -20.0)]), 4000, &[64], &[loud(), (0, on(69))]);
    near(left[3999], HALF * 0.1, 1e-6);
}

#[test]
fn pan_has_constant_power() {
    for (generator, controller, part) in [
        (-500, 64, 0.0),
        (500, 64, 1.0),
        (0, 1, 0.0),
        (0, 127, 1.0),
        (250, 64, 0.75),
        (400, 127, 1.0),
    ] {
        let font = flat(&[(PAN, generator)]);
        let [left, right] = levels(&font, &[(0, midi(&[0xb0, 10, controller])), (0, on(69))]);
        let angle = part * std::f64::consts::FRAC_PI_2;
        near(left, 0.5 * angle.cos(), 1e-6);
        near(right, 0.5 * angle.sin(), 1e-6);
    }
}

#[test]
fn the_volume_envelope_follows_its_times() {
    // Attack 0.25 s, hold 0.125 s, 100 dB in 2 s down to -20 dB, release 100 dB in 1 s.
    let times = [(ATTACK, -2400), (HOLD, -3600), (DECAY, 1200), (SUSTAIN, 200), (RELEASE, 0)];
    let heard = [loud(), (0, on(69)), (60_000, off(69))];
    let [left, _] = play(&flat(&times), 120_000, &heard);
    let level = |seconds: f64| left[(seconds * f64::from(RATE_HZ)) as usize];
    near(level(0.125), 0.5 * HALF, 1e-4);
    near(level(0.3), HALF, 1e-6);
    near(level(0.375 + 0.2), HALF * 10f64.powf(-0.5), 1e-4);
    near(level(1.2), HALF * 0.1, 1e-6);
    near(level(1.25 + 0.2), HALF * 0.1 * 0.1, 1e-5);
    assert!(left[110_000..].iter().all(|sample| *sample == 0.0));
}

#[test]
fn a_low_cutoff_takes_what_is_high() {
    // Two octaves above the cutoff, 12 dB per octave; two below, nothing is lost.
    let of = |cents: i16| {
        let font = Font::of(Sample::sine(48, 10), &[(CUTOFF, cents)]);
        let [left, _] = play(&font, 24_000, &[loud(), (0, on(69))]);
        f64::from(peak(&left[12_000..])) / (0.5 * FRAC_1_SQRT_2)
    };
    // 1 kHz, in absolute cents.
    let own = 1200.0 * (1000.0f64 / 8.175_798_915_643_707).log2();
    assert!((of((own + 2400.0) as i16) - 1.0).abs() < 0.01);
    near(of(own as i16) as f32, FRAC_1_SQRT_2, 0.01);
    near(of((own - 2400.0) as i16) as f32, 1.0 / 17.0, 0.01);
}

#[test]
fn keys_and_velocities_choose_the_sample_and_a_preset_narrows_them() {
    let samples = [4096, 8192, 16_384].map(Sample::flat).to_vec();
    let zone = |range: (u16, i16), sample| (vec![range, (LOOP_MODE, 1)], Some(sample));
    let font = Font {
        samples,
        instruments: vec![vec![
            zone((KEYS, range(0, 59)), 0),
            (vec![(KEYS, range(60, 127)), (VELOCITIES, range(0, 63)), (LOOP_MODE, 1)], Some(1)),
            (vec![(KEYS, range(60, 127)), (VELOCITIES, range(64, 127)), (LOOP_MODE, 1)], Some(2)),
        ]],
        presets: vec![(0, 0, vec![(vec![(KEYS, range(0, 99))], Some(0))])],
        names: Vec::new(),
    };
    let level = |key: u8, velocity: u8| {
        let found = levels(&font, &[(0, midi(&[0x90, key, velocity]))]);
        f64::from(found[0]) / (f64::from(velocity) / 127.0).powi(2) / FRAC_1_SQRT_2
    };
    for (key, velocity, expected) in
        [(40, 127, 0.125), (60, 63, 0.25), (60, 64, 0.5), (99, 127, 0.5), (100, 127, 0.0)]
    {
        near(level(key, velocity) as f32, expected, 1e-6);
    }
}

#[test]
fn a_zone_for_all_holds_where_others_say_nothing() {
    let mut font = flat(&[]);
    font.instruments[0].insert(0, (vec![(ATTENUATION, 250), (PAN, -500)], None));
    font.instruments[0][1].0.push((PAN, 500));
    font.presets[0].2.insert(0, (vec![(ATTENUATION, 250)], None));
    let [left, right] = levels(&font, &[(0, on(69))]);
    near(left, 0.0, 1e-7);
    near(right, 0.5 * 0.1, 1e-6);
}

#[test]
fn a_sample_without_a_loop_ends_and_frees_its_voice() {
    let font = flat(&[(LOOP_MODE, 0)]);
    let [left, _] = play(&font, 1000, &[loud(), (10, on(69))]);
    assert!(left[10..74].iter().all(|sample| *sample > 0.3));
    assert!(left[74..].iter().all(|sample| *sample == 0.0));
}

#[test]
fn a_closed_hi_hat_ends_an_open_one() {
    let mut font = flat(&[(EXCLUSIVE, 1), (KEYS, range(60, 60))]);
    font.samples.push(Sample::flat(0));
    font.instruments[0].push((vec![(EXCLUSIVE, 1), (KEYS, range(61, 61))], Some(1)));
    font.instruments[0].push((vec![(EXCLUSIVE, 2), (KEYS, range(62, 62))], Some(1)));
    let level = |other: i8| play(&font, 6000, &[loud(), (0, on(60)), (1000, on(other))])[0][5999];
    assert_eq!(level(61), 0.0);
    near(level(62), HALF, 1e-6);
    // Two voices of one note leave each other alone.
    let mut font = flat(&[(EXCLUSIVE, 1)]);
    let twin = font.instruments[0][0].clone();
    font.instruments[0].push(twin);
    near(levels(&font, &[(0, on(60))])[0], 2.0 * HALF, 1e-6);
}

#[test]
fn the_pedal_holds_and_bends_move_the_pitch() {
    let pedal = |value| midi(&[0xb0, 64, value]);
    let heard = [loud(), (0, on(69)), (100, pedal(127)), (200, off(69)), (8000, pedal(0))];
    let [left, _] = play(&flat(&[]), 16_000, &heard);
    near(left[7999], HALF, 1e-6);
    assert_eq!(left[15_000], 0.0);
    // Up by the whole range of an octave.
    let font = Font::of(Sample::sine(200, 3), &[]);
    let bend = [
        loud(),
        (0, midi(&[0xb0, 101, 0])),
        (0, midi(&[0xb0, 100, 0])),
        (0, midi(&[0xb0, 6, 12])),
        (0, midi(&[0xe0, 0, 0])),
        (0, on(69)),
    ];
    let [left, _] = play(&font, 9600, &bend);
    for (frame, found) in left.iter().enumerate().skip(BEGINNING) {
        let expected = (TAU * frame as f64 / 400.0).sin() * AMPLITUDE / 32_768.0 * FRAC_1_SQRT_2;
        near(*found, expected, 2e-4);
    }
}

/// Banks 0, 5 and 128, whose presets differ in their level.
fn banks() -> Font {
    let levels = [4096, 8192, 12_288, 16_384];
    let zone = |index: u16| vec![(vec![], Some(index))];
    Font {
        samples: levels.map(Sample::flat).to_vec(),
        instruments: (0..4).map(|index| vec![(vec![(LOOP_MODE, 1)], Some(index))]).collect(),
        presets: vec![(128, 0, zone(3)), (5, 7, zone(2)), (0, 7, zone(1)), (0, 0, zone(0))],
        names: Vec::new(),
    }
}

/// Channel, what it hears before the note, the level of the preset that plays.
type OfChannel<'a> = (u8, &'a [(u32, EventKind)], f64);

#[test]
fn programs_and_banks_choose_the_preset_and_channel_10_the_drums() {
    let font = banks();
    let program = |channel: u8, program| (0, midi(&[0xc0 | channel, program]));
    let bank = |channel: u8, bank| (0, midi(&[0xb0 | channel, 0, bank]));
    let cases: [OfChannel; 9] = [
        (0, &[], 0.125),
        (0, &[program(0, 7)], 0.25),
        (0, &[bank(0, 5), program(0, 7)], 0.375),
        // What the file lacks, another preset plays.
        (0, &[bank(0, 6), program(0, 7)], 0.25),
        (0, &[program(0, 99)], 0.125),
        (9, &[], 0.5),
        (9, &[program(9, 40)], 0.5),
        (9, &[bank(9, 5), program(9, 7)], 0.5),
        (3, &[bank(3, 127)], 0.5),
    ];
    for (channel, before, expected) in cases {
        let mut heard = vec![(0, midi(&[0xb0 | channel, 7, 127]))];
        heard.extend_from_slice(before);
        heard.push((0, midi(&[0x90 | channel, 60, 127])));
        let [left, _] = play(&font, 1000, &heard);
        near(left[999], expected * FRAC_1_SQRT_2, 1e-6);
    }
    // What the session gives goes before all of it.
    let given = [("bank", 5.0), ("program", 7.0)];
    let [left, _] =
        run(&mut *build(&font.read(), &given), 1000, &[64], &[loud(), program(0, 0), (0, on(60))]);
    near(left[999], 0.375 * FRAC_1_SQRT_2, 1e-6);
}

#[test]
fn voices_are_bounded_and_the_oldest_makes_room() {
    let font = flat(&[]).read();
    let mut two = build(&font, &[("voices", 2.0)]);
    let heard = [loud(), (0, on(60)), (100, on(61)), (200, on(62))];
    let [left, _] = run(&mut *two, 8000, &[64], &heard);
    near(left[199], 2.0 * HALF, 1e-6);
    near(left[7999], 2.0 * HALF, 1e-6);
    // It fades, and does not break off.
    let jump = left[201..].windows(2).map(|pair| (pair[1] - pair[0]).abs()).fold(0.0, f32::max);
    assert!(jump < 0.05, "{jump}");
    // Any number of notes at one frame.
    let many: Vec<_> = (0..500).map(|n| (0, on((n % 128) as i8))).collect();
    let mut one = build(&font, &[("voices", 1.0)]);
    let [left, _] = run(&mut *one, 8000, &[64], &many);
    assert!(peak(&left) < 20.0 && left[7999] > 0.0);
}

#[test]
fn a_reset_instrument_is_as_new_and_silence_stays_silent() {
    let font = Font::of(Sample::sine(77, 3), &[(CUTOFF, 9000), (RELEASE, 1200)]).read();
    let heard = [(0, midi(&[0xc0, 3])), (3, on(64)), (900, off(64))];
    let mut instrument = build(&font, &[]);
    let first = run(&mut *instrument, 2000, &[64], &heard);
    instrument.reset();
    assert_eq!(run(&mut *instrument, 2000, &[64], &heard), first);
    instrument.reset();
    let [left, right] = run(&mut *instrument, 500, &[64], &[]);
    assert!(left.iter().chain(&right).all(|sample| *sample == 0.0));
}

#[test]
fn instruments_share_the_samples() {
    let font = flat(&[]).read();
    let instruments: Vec<_> = (0..5).map(|_| build(&font, &[])).collect();
    assert_eq!(Arc::strong_count(&font), 1 + instruments.len());
    assert_eq!(font.sample_bytes(), 2 * (64 + 46));
}

#[test]
fn a_choke_and_controllers_end_notes() {
    let choke = EventKind::Note(Note {
        action: hocket_time::NoteAction::Choke,
        ..Note::off(-1, -1, -1, 0.0)
    });
    for end in [choke, midi(&[0xb0, 120, 0]), midi(&[0xb0, 123, 0]), EventKind::EndAllNotes] {
        let [left, _] = play(&flat(&[]), 8000, &[loud(), (0, on(60)), (0, on(64)), (2000, end)]);
        assert!(left[1999] > 0.6 && left[7000] == 0.0, "{end:?}");
    }
}

#[test]
fn what_is_ending_or_held_by_the_pedal_can_be_choked() {
    let choke = EventKind::Note(Note {
        action: hocket_time::NoteAction::Choke,
        ..Note::off(-1, 0, 60, 0.0)
    });
    // A release of 32 seconds.
    let font = flat(&[(RELEASE, 6000)]);
    let ends = [vec![(1000, off(60))], vec![(900, midi(&[0xb0, 64, 127])), (1000, off(60))]];
    for before in ends {
        let heard = [vec![loud(), (0, on(60))], before, vec![(2000, choke)]].concat();
        let [left, _] = play(&font, 8000, &heard);
        assert!(left[1999] > 0.3 && left[7000] == 0.0, "{heard:?}");
    }
}
