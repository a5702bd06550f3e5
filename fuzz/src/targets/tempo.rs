//! Tempo maps: any points, and the promises of `TempoMap` for those that it accepts.

use hocket_engine::time::{
    BarPosition, Glide, MAX_FRAME, MeterPoint, Position, TempoMap, TempoPoint, TimeSignature,
};

use super::words::Words;

pub fn check(bytes: &[u8]) {
    let mut words = Words(bytes);
    let rate_hz = match words.u8() % 4 {
        0 => 44_100,
        1 => 48_000,
        2 => 384_000,
        _ => words.u32(),
    };
    let tempos = tempos(&mut words);
    let meters = meters(&mut words);
    let map = match TempoMap::new(rate_hz, &tempos, &meters) {
        Ok(map) => map,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    check_frames(&map, &mut words);
    check_any_number(&map, &mut words);
}

/// Half of the points follow the one before; the others are any numbers.
fn beats(words: &mut Words<'_>, last: &mut f64) -> (f64, u8) {
    let kind = words.u8();
    *last = if kind & 1 == 0 { *last + f64::from(words.u16()) / 256.0 } else { words.f64() };
    (*last, kind)
}

fn tempos(words: &mut Words<'_>) -> Vec<TempoPoint> {
    let mut last = 0.0;
    let count = words.u8() % 12;
    let mut points = Vec::new();
    for _ in 0..count {
        let (beats, kind) = beats(words, &mut last);
        let bpm = if kind & 2 == 0 { f64::from(words.u16()) / 8.0 } else { words.f64() };
        let glide = if kind & 4 == 0 { Glide::Step } else { Glide::Linear };
        points.push(TempoPoint { beats, bpm, glide });
    }
    points
}

fn meters(words: &mut Words<'_>) -> Vec<MeterPoint> {
    let mut last = 0.0;
    let count = words.u8() % 8;
    let mut points = Vec::new();
    for _ in 0..count {
        let (beats, kind) = beats(words, &mut last);
        let numerator = u16::from(words.u8());
        let denominator = if kind & 2 == 0 { 1 << (words.u8() % 7) } else { words.u16() };
        points.push(MeterPoint { beats, signature: TimeSignature { numerator, denominator } });
    }
    points
}

/// No frame is lost, and later frames have later beats.
fn check_frames(map: &TempoMap, words: &mut Words<'_>) {
    let mut frames = vec![-MAX_FRAME, -1, 0, 1, 48_000, MAX_FRAME];
    frames.extend((0..8).map(|_| words.i64() % (MAX_FRAME + 1)));
    frames.sort_unstable();
    frames.dedup();
    let beats: Vec<f64> = frames.iter().map(|frame| map.beats_at_frame(*frame)).collect();
    assert!(beats.is_sorted_by(|a, b| a < b), "{frames:?} {beats:?}");
    for (frame, beats) in frames.iter().zip(&beats) {
        assert_eq!(map.frame_at_beats(*beats), *frame, "{map:?}");
        assert!(map.bpm_at_frame(*frame) > 0.0);
        map.bar_at_frame(*frame);
        map.signature_at_frame(*frame);
    }
    for pair in frames.windows(2) {
        map.is_steady(pair[0], pair[1]);
    }
}

/// No lookup panics, and none leaves the range of frames.
fn check_any_number(map: &TempoMap, words: &mut Words<'_>) {
    for _ in 0..4 {
        let number = words.f64();
        for frame in [map.frame_at_beats(number), map.frame_at_seconds(number)] {
            assert!(frame.abs() <= MAX_FRAME);
        }
        assert!(!map.bar_at_beats(number).to_string().is_empty());
        let bar = BarPosition { bar: words.i64(), beat: words.u16(), tick: words.u16() };
        map.frame_at_beats(map.beats_at_bar(bar));
        for position in
            [Position::Beats(number), Position::Seconds(number), Position::Frame(words.i64())]
        {
            if let Ok(frame) = map.song_frame(position) {
                assert!(frame.abs() < MAX_FRAME);
            }
        }
    }
}
