//! Audio at another speed: what warps ask for, without keeping the pitch.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use hocket_media::Audio;

/// The speed is a fraction of this many parts, which misses a place by less than 2 ms in an hour.
const PARTS: u32 = 1_000_000;
/// Speeds at which anything is still to be heard.
pub(crate) const SPEEDS: std::ops::RangeInclusive<f64> = 1.0 / 64.0..=64.0;
/// Frames over which two pieces of different speed fade into each other.
const JOINT: usize = 256;
/// Frames of the file that the converter sees before and behind a piece, times the speed.
const MARGIN: f64 = 1024.0;

/// A place in the song, in seconds after the start of the new file, and what of the file is heard there, in seconds.
pub(crate) type Knot = (f64, f64);

/// The length of the new file in frames.
pub(crate) fn frames(knots: &[Knot], rate_hz: u32) -> f64 {
    knots.last().map_or(0.0, |(at, _)| at * f64::from(rate_hz))
}

/// `audio` with its places moved as `knots` say, which rise in both parts; between two of them the speed is constant.
/// `None` once `stop` is true, which is looked at before each piece.
///
/// Thread: control. Cost: about 512 multiplications per sample. Memory: that of the result, and of one piece.
pub(crate) fn stretched(audio: &Audio, knots: &[Knot], stop: &AtomicBool) -> Option<Audio> {
    let rate = f64::from(audio.sample_rate_hz);
    let frames = frames(knots, audio.sample_rate_hz).round() as usize;
    let mut rows = vec![vec![0.0; frames]; audio.channels.len()];
    for (index, pair) in knots.windows(2).enumerate() {
        // Relaxed: the flag publishes nothing.
        if stop.load(Relaxed) {
            return None;
        }
        let [(from_s, content_s), (to_s, content_to_s)] = [pair[0], pair[1]];
        let speed = (content_to_s - content_s) / (to_s - from_s);
        let (begin, end) = ((from_s * rate).round() as usize, (to_s * rate).round() as usize);
        let end = end.min(frames);
        // Pieces reach into their neighbours, where both fade.
        let before = if index == 0 { 0 } else { JOINT.min(begin) };
        let first = begin - before;
        let place = content_s * rate + (first as f64 - from_s * rate) * speed;
        let piece = at_speed(audio, place, speed, end.saturating_sub(first));
        for (row, piece) in rows.iter_mut().zip(&piece) {
            join(&mut row[first..end.max(first)], piece, before);
        }
    }
    Some(Audio { channels: rows, sample_rate_hz: audio.sample_rate_hz, warnings: Vec::new() })
}

/// Puts a piece over what is there, with a straight fade over its first frames.
fn join(row: &mut [f32], piece: &[f32], fade: usize) {
    for (at, (sample, new)) in row.iter_mut().zip(piece).enumerate() {
        let share = if at < fade { (at + 1) as f32 / (fade + 1) as f32 } else { 1.0 };
        *sample += (new - *sample) * share;
    }
}

/// `wanted` frames from the place `from` on, in frames of the file, at a constant speed.
fn at_speed(audio: &Audio, from: f64, speed: f64, wanted: usize) -> Vec<Vec<f32>> {
    let parts = (speed * f64::from(PARTS)).round() as u32;
    let lead = lead(from, speed);
    let start = (from - lead * speed).round();
    let end = from + (wanted as f64 + lead) * speed;
    let length = audio.frames() as f64;
    let row = |row: &Vec<f32>| -> Vec<f32> {
        let zeros = (-start).clamp(0.0, end - start) as usize;
        let mut part = vec![0.0; zeros];
        let inside = start.clamp(0.0, length) as usize..end.ceil().clamp(0.0, length) as usize;
        part.extend(&row[inside.start..inside.end.max(inside.start)]);
        part
    };
    let part = Audio {
        sample_rate_hz: parts,
        channels: audio.channels.iter().map(row).collect(),
        warnings: Vec::new(),
    };
    let lead = lead as usize;
    let converted = hocket_media::resample_beginning(&part, PARTS, lead + wanted);
    let cut = |row: Vec<f32>| {
        let mut row: Vec<f32> = row.into_iter().skip(lead).collect();
        row.resize(wanted, 0.0);
        row
    };
    converted.channels.into_iter().map(cut).collect()
}

/// How many frames of the result to convert before the piece: so many that they begin as near to a whole frame of the
/// file as can be, because the converter begins with one.
fn lead(from: f64, speed: f64) -> f64 {
    let least = (MARGIN * speed.max(1.0) / speed).ceil();
    let distance = |lead: f64| {
        let start = from - lead * speed;
        (start - start.round()).abs()
    };
    let tried = (0..2048).map(|more| least + f64::from(more));
    tried.min_by(|a, b| distance(*a).total_cmp(&distance(*b))).unwrap_or(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: u32 = 48_000;

    fn moved(audio: &Audio, knots: &[Knot]) -> Audio {
        stretched(audio, knots, &AtomicBool::new(false)).expect("nobody stops it")
    }

    #[test]
    fn it_ends_when_it_is_told_to() {
        let knots = [(0.0, 0.0), (0.5, 1.0)];
        assert!(stretched(&sine(500.0, 4800), &knots, &AtomicBool::new(true)).is_none());
    }

    fn sine(hz: f64, frames: usize) -> Audio {
        let sample = |at: usize| (std::f64::consts::TAU * hz * at as f64 / f64::from(RATE)).sin();
        let row = (0..frames).map(|at| sample(at) as f32).collect();
        Audio { sample_rate_hz: RATE, channels: vec![row], warnings: Vec::new() }
    }

    #[test]
    fn a_sine_at_another_speed_is_a_sine_of_another_frequency() {
        let audio = sine(1000.0, 48_000);
        for speed in [0.5, 0.9, 1.05, 2.0] {
            let knots = [(0.0, 0.0), (1.0 / speed, 1.0)];
            let slow = moved(&audio, &knots);
            assert_eq!(slow.frames(), (48_000.0_f64 / speed).round() as usize);
            let expected = sine(1000.0 * speed, slow.frames());
            // The file's ends are edges, which no filter passes unchanged.
            for at in 2000..slow.frames() - 2000 {
                let (got, wanted) = (slow.channels[0][at], expected.channels[0][at]);
                assert!((got - wanted).abs() < 1e-3, "{speed}: {at}: {got} {wanted}");
            }
        }
    }

    #[test]
    fn pieces_of_different_speed_meet_where_the_knots_say() {
        let audio = sine(200.0, 96_000);
        let knots = [(0.0, 0.0), (0.5, 1.0), (2.5, 2.0)];
        let bent = moved(&audio, &knots);
        assert_eq!(bent.frames(), 120_000);
        for at in (2000..23_000).chain(25_000..118_000) {
            let s = at as f64 / f64::from(RATE);
            let content = if s < 0.5 { 2.0 * s } else { 1.0 + 0.5 * (s - 0.5) };
            let wanted = (std::f64::consts::TAU * 200.0 * content).sin() as f32;
            assert!((bent.channels[0][at] - wanted).abs() < 2e-3, "{at}");
        }
        let steps = bent.channels[0].windows(2).map(|pair| (pair[1] - pair[0]).abs());
        let largest = steps.skip(1).fold(0.0, f32::max);
        assert!(largest < 0.06, "the joint clicks: {largest}");
    }

    #[test]
    fn what_is_outside_of_the_file_is_silence() {
        let audio = sine(500.0, 4800);
        let late = moved(&audio, &[(0.0, 0.05), (0.2, 0.3)]);
        assert_eq!(late.frames(), 9600);
        assert!(late.channels[0][5000..].iter().all(|sample| sample.abs() < 1e-3));
    }
}
