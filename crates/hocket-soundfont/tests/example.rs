//! The SoundFont and the MIDI file of `sessions/soundfont.toml` are those that are made here, out of sines and noise. Both
//! are free (CC0). To write them anew:
//! `HOCKET_RENEW_SOUNDFONT=1 cargo test -p hocket-soundfont --test example`

mod common;

use std::f64::consts::TAU;
use std::path::{Path, PathBuf};

use common::generator::*;
use common::{Font, Sample, build, chunk, midi, range, run};
use hocket_dsp::math::{exp, sin_cos};
use hocket_soundfont::SoundFont;

const RENEW: &str = "HOCKET_RENEW_SOUNDFONT=1 cargo test -p hocket-soundfont --test example";
/// Half of what sounds usually have: the file stays small.
const SMALL_RATE_HZ: u32 = 22_050;

fn in_sessions(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sessions").join(name)
}

fn sin(cycles: f64) -> f64 {
    sin_cos(TAU * (cycles - cycles.floor())).0
}

/// As loud as a sample may be, and 6 dB less.
fn loud(row: &[f64]) -> Vec<i16> {
    let peak = row.iter().fold(1e-9, |peak: f64, value| peak.max(value.abs()));
    row.iter().map(|value| (value / peak * 16_384.0).round() as i16).collect()
}

/// Periods of 100 samples with these levels of the harmonics, which repeat as a whole. Each period is a bit different, by
/// two voices that part and meet again.
fn harmonics(name: &'static str, periods: usize, levels: &[f64]) -> Sample {
    let frames = 100 * periods;
    let value = |n: usize| {
        let of = |(index, level): (usize, &f64)| {
            let harmonic = (index + 1) as f64;
            let near = harmonic + 1.0 / periods as f64;
            level * (sin(harmonic * n as f64 / 100.0) + 0.6 * sin(near * n as f64 / 100.0))
        };
        levels.iter().enumerate().map(of).sum::<f64>()
    };
    let row: Vec<f64> = (0..frames).map(value).collect();
    // 220.5 Hz: A below middle C, and 4 cents.
    let looped = (0, frames as u32);
    let data = loud(&row);
    Sample { name, data, looped, rate_hz: SMALL_RATE_HZ, root: 57, correction: -4, kind: 1 }
}

/// A sound without pitch that ends by itself.
fn strike(name: &'static str, seconds: f64, value: impl Fn(f64, f64) -> f64) -> Sample {
    let mut seed = 1u32;
    let mut noise = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(seed >> 8) / 8_388_608.0 - 1.0
    };
    let frames = (seconds * f64::from(SMALL_RATE_HZ)) as usize;
    let at = |n: usize| n as f64 / f64::from(SMALL_RATE_HZ);
    let row: Vec<f64> = (0..frames).map(|n| value(at(n), noise())).collect();
    let (data, looped) = (loud(&row), (0, frames as u32));
    Sample { name, data, looped, rate_hz: SMALL_RATE_HZ, root: 60, correction: 0, kind: 1 }
}

/// Keys, a bass, strings, and drums.
fn font() -> Font {
    let saw: Vec<f64> = (1..=18).map(|n| 1.0 / f64::from(n)).collect();
    let soft: Vec<f64> = (1..=8).map(|n| 1.0 / f64::from(n * n)).collect();
    let samples = vec![
        harmonics("Keys", 24, &[1.0, 0.5, 0.35, 0.12, 0.2, 0.05, 0.1]),
        harmonics("Bass", 12, &saw),
        harmonics("Strings", 96, &soft),
        // The pitch falls from 200 to 50 Hz.
        strike("Kick", 0.25, |t, _| sin(50.0 * t + 4.0 * (1.0 - exp(-t * 40.0))) * exp(-t * 14.0)),
        strike("Snare", 0.2, |t, noise| (noise + 0.6 * sin(190.0 * t)) * exp(-t * 22.0)),
        strike("Hi-hat", 0.3, |t, noise| noise * sin(6000.0 * t) * exp(-t * 9.0)),
    ];
    let tone = |sample, more: &[(u16, i16)]| {
        let mut generators = vec![(LOOP_MODE, 1)];
        generators.extend_from_slice(more);
        vec![(generators, Some(sample))]
    };
    let drum = |keys, sample, more: &[(u16, i16)]| {
        let mut generators = vec![keys, (SCALE_TUNING, 0), (RELEASE, 0)];
        generators.extend_from_slice(more);
        (generators, Some(sample))
    };
    let keys = |low, high| (KEYS, range(low, high));
    let named = |index: u16| vec![(vec![], Some(index))];
    Font {
        samples,
        instruments: vec![
            // To a thousandth in about two seconds; the filter closes with it.
            tone(
                0,
                &[
                    (DECAY, 2400),
                    (SUSTAIN, 1000),
                    (RELEASE, -1200),
                    (CUTOFF, 9500),
                    (11, 2000),
                    (28, 0),
                    (29, 1000),
                ],
            ),
            tone(
                1,
                &[
                    (DECAY, 1200),
                    (SUSTAIN, 120),
                    (RELEASE, -2400),
                    (CUTOFF, 7500),
                    (9, 60),
                    (11, 2400),
                    (28, -1200),
                    (29, 800),
                ],
            ),
            // A slow attack, and a vibrato that begins after a while.
            tone(2, &[(ATTACK, -1800), (RELEASE, 300), (6, 12), (23, -600), (24, -600)]),
            vec![
                drum(keys(35, 36), 3, &[]),
                drum(keys(38, 40), 4, &[]),
                // The closed one ends the open one.
                drum(
                    keys(42, 42),
                    5,
                    &[(EXCLUSIVE, 1), (DECAY, -3600), (SUSTAIN, 1000), (PAN, 120)],
                ),
                drum(keys(46, 46), 5, &[(EXCLUSIVE, 1), (PAN, 120)]),
            ],
        ],
        presets: vec![(0, 0, named(0)), (0, 32, named(1)), (0, 48, named(2)), (128, 0, named(3))],
        names: vec!["Keys", "Bass", "Strings", "Drums"],
    }
}

/// Eight bars: a chord per bar, a bass, a tune and drums, each on its channel.
fn tune() -> Vec<u8> {
    const BEAT: u32 = 96;
    let mut events: Vec<(u32, Vec<u8>)> = Vec::new();
    let mut note = |channel: u8, at: u32, length: u32, key: u8, velocity: u8| {
        events.push((at, vec![0x90 | channel, key, velocity]));
        events.push((at + length, vec![0x80 | channel, key, 0]));
    };
    let roots = [45u8, 41, 48, 43];
    let thirds = [3u8, 4, 4, 4];
    for bar in 0..8u32 {
        let (at, index) = (bar * 4 * BEAT, (bar % 4) as usize);
        let root = roots[index];
        for part in [0, thirds[index], 7] {
            note(2, at, 4 * BEAT - 6, root + 12 + part, 70);
        }
        for step in 0..8 {
            let key = if step % 4 == 3 { root - 5 } else { root - 12 };
            note(1, at + step * BEAT / 2, BEAT / 2 - 8, key, if step % 2 == 0 { 100 } else { 76 });
        }
        for (step, part) in [(0, 24), (3, 31), (4, 24 + thirds[index]), (6, 19)] {
            note(0, at + step * BEAT / 2, BEAT, root + part, 92);
        }
        for step in 0..8 {
            let open = step == 7;
            note(9, at + step * BEAT / 2, 24, if open { 46 } else { 42 }, 80);
        }
        for (beat, key) in [(0, 36), (1, 38), (2, 36), (3, 38)] {
            note(9, at + beat * BEAT, 24, key, 110);
        }
    }
    let setup: [&[u8]; 8] = [
        &[0xff, 0x51, 3, 0x07, 0xa1, 0x20],
        &[0xc0, 0],
        &[0xc1, 32],
        &[0xc2, 48],
        &[0xb0, 10, 80],
        &[0xb1, 7, 110],
        &[0xb2, 7, 90],
        &[0xb2, 10, 44],
    ];
    events.splice(0..0, setup.iter().map(|bytes| (0, bytes.to_vec())));
    // Ends go before starts at one time.
    events.sort_by_key(|(at, bytes)| (*at, bytes[0] & 0xf0 == 0x90));
    let (mut track, mut now) = (Vec::new(), 0);
    for (at, bytes) in events {
        track.extend(variable(at - now));
        track.extend(bytes);
        now = at;
    }
    track.extend([0, 0xff, 0x2f, 0]);
    let mut file = b"MThd\0\0\0\x06\0\0\0\x01\0\x60MTrk".to_vec();
    file.extend((track.len() as u32).to_be_bytes());
    file.extend(track);
    file
}

/// A number as MIDI files have it, below 2^14.
fn variable(number: u32) -> Vec<u8> {
    match number {
        0..128 => vec![number as u8],
        _ => vec![0x80 | (number >> 7) as u8, (number & 0x7f) as u8],
    }
}

fn check(name: &str, bytes: &[u8]) {
    let path = in_sessions(name);
    if std::env::var_os("HOCKET_RENEW_SOUNDFONT").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        return;
    }
    let there = std::fs::read(&path).unwrap_or_default();
    assert!(
        there == bytes,
        "sessions/{name} is not what this test makes; renew it with\n    {RENEW}"
    );
}

#[test]
fn the_files_are_those_made_here_and_small() {
    let font = font().bytes();
    assert!(font.len() < 200_000, "{} bytes", font.len());
    check("soundfonts/small.sf2", &font);
    check("midi/small-tune.mid", &tune());
}

#[test]
fn every_preset_sounds() {
    let font = font().read();
    let names: Vec<(u16, u16)> =
        font.presets().iter().map(|preset| (preset.bank, preset.program)).collect();
    assert_eq!(names, [(0, 0), (0, 32), (0, 48), (128, 0)]);
    for (status, program, key) in [(0x90, 0, 60), (0x91, 32, 36), (0x92, 48, 64), (0x99, 0, 36)] {
        let heard = [(0, midi(&[0xc0 | status & 15, program])), (0, midi(&[status, key, 100]))];
        let [left, _] = run(&mut *build(&font, &[]), 24_000, &[64], &heard);
        assert!(common::peak(&left) > 0.05, "{program}");
    }
    assert!(SoundFont::read(std::io::Cursor::new(chunk(b"RIFF", b"sfbk"))).is_err());
}
