//! Audio at another speed: what warps ask for.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use hocket_media::Audio;

mod waves;
mod vocoder;
mod hits;
mod grains;
mod spectrum;
#[cfg(test)]
mod quality;

/// Algorithms that change the pitch with the speed; the first is that of a project that names none.
const RESAMPLED: [&str; 4] = ["", "repitch", "none", "raw"];
/// Words in the names of algorithms for one voice, such as `elastique_solo`.
const ONE_VOICE: [&str; 5] = ["solo", "mono", "voice", "vocal", "speech"];
/// The speed is a fraction of this many parts, which misses a place by less than 2 ms in an hour.
const PARTS: u32 = 1_000_000;
/// Speeds at which anything is still to be heard.
pub(crate) const SPEEDS: std::ops::RangeInclusive<f64> = 1.0 / 64.0..=64.0;
/// Frames over which two pieces of different speed fade into each other.
const JOINT: usize = 256;
/// Frames of the file that the converter sees before and behind a piece, times the speed.
const MARGIN: f64 = 1024.0;
/// Speeds at which the pitch can stay.
const PITCHED_SPEEDS: std::ops::RangeInclusive<f64> = 0.25..=4.0;
/// The highest sample rate at which it can stay: what it takes for a second grows with the square of the rate.
const PITCHED_MAX_HZ: u32 = 192_000;
/// Samples from here on are silence: 180 dB above full scale. Squares of them would be no numbers.
const TOO_LOUD: f32 = 1e9;

/// A place in the song, in seconds after the start of the new file, and what of the file is heard there, in seconds.
pub(crate) type Knot = (f64, f64);

/// What becomes of the pitch at another speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Pitch {
    /// It changes with the speed, as that of a tape.
    Moves,
    /// It stays, also that of chords and of whole songs.
    Stays,
    /// It stays, and there is one voice only.
    StaysOfOneVoice,
}

impl Pitch {
    /// What a project's program does at another speed with an algorithm of this name.
    pub(crate) fn by_algorithm(name: &str) -> Pitch {
        let name = name.to_ascii_lowercase();
        match RESAMPLED.contains(&name.as_str()) {
            true => Pitch::Moves,
            false if ONE_VOICE.into_iter().any(|word| name.contains(word)) => {
                Pitch::StaysOfOneVoice
            }
            false => Pitch::Stays,
        }
    }

    /// What is possible for these places of a file.
    pub(crate) fn possible(self, knots: &[Knot], rate_hz: u32) -> Pitch {
        let mut speeds = knots.windows(2).map(|pair| speed(pair[0], pair[1]));
        let is_possible =
            rate_hz <= PITCHED_MAX_HZ && speeds.all(|speed| PITCHED_SPEEDS.contains(&speed));
        if is_possible { self } else { Pitch::Moves }
    }
}

fn speed(from: Knot, to: Knot) -> f64 {
    (to.1 - from.1) / (to.0 - from.0)
}

/// Why nothing was made.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Unmade {
    /// Somebody stops it.
    Stopped,
    /// The stretcher of voices refuses it, in words.
    Refused(String),
}

/// The length of the new file in frames.
pub(crate) fn frames(knots: &[Knot], rate_hz: u32) -> f64 {
    knots.last().map_or(0.0, |(at, _)| at * f64::from(rate_hz))
}

/// `audio` with its places moved as `knots` say, which rise in both parts; between two of them the speed is constant.
///
/// Thread: control. Cost: about 512 multiplications per sample. Where the pitch stays, three transforms of a window per eighth of
/// it, two of a shorter window per quarter of that, and two medians of about 20 numbers per bin of these. Where that of one voice
/// stays, twice as many multiplications as the stretcher's search has places. Memory: that of the result, and of one piece.
///
/// # Errors
/// [`Unmade::Stopped`] once `stop` is true; [`Unmade::Refused`] if the stretcher refuses.
pub(crate) fn stretched(
    audio: &Audio,
    knots: &[Knot],
    pitch: Pitch,
    stop: &AtomicBool,
) -> Result<Audio, Unmade> {
    let frames = frames(knots, audio.sample_rate_hz).round() as usize;
    let channels = match pitch {
        Pitch::Moves => resampled(audio, knots, frames, stop)?,
        Pitch::Stays => vocoder::at_pitch(audio, knots, frames, stop)?,
        Pitch::StaysOfOneVoice => waves::at_pitch(audio, knots, frames, stop)?,
    };
    Ok(Audio { channels, sample_rate_hz: audio.sample_rate_hz, warnings: Vec::new() })
}

/// Piece by piece; `stop` is looked at before each.
fn resampled(
    audio: &Audio,
    knots: &[Knot],
    frames: usize,
    stop: &AtomicBool,
) -> Result<Vec<Vec<f32>>, Unmade> {
    let rate = f64::from(audio.sample_rate_hz);
    let mut rows = vec![vec![0.0; frames]; audio.channels.len()];
    for (index, pair) in knots.windows(2).enumerate() {
        // Relaxed: the flag publishes nothing.
        if stop.load(Relaxed) {
            return Err(Unmade::Stopped);
        }
        let [(from_s, content_s), (to_s, _)] = [pair[0], pair[1]];
        let speed = speed(pair[0], pair[1]);
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
    Ok(rows)
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

/// What is heard of the file at a time, in seconds. Before and behind the knots it goes on as at the ends.
fn content_at(knots: &[Knot], at_s: f64) -> f64 {
    let Some(last) = knots.len().checked_sub(2) else { return at_s };
    let pair = knots.partition_point(|(time_s, _)| *time_s <= at_s).saturating_sub(1).min(last);
    knots[pair].1 + (at_s - knots[pair].0) * speed(knots[pair], knots[pair + 1])
}

/// Which frames of the file and of the result belong to each other.
struct Places {
    knots: Vec<Knot>,
    /// The same the other way round: what of the file is heard, and when.
    inverse: Vec<Knot>,
    rate_hz: f64,
}

impl Places {
    fn new(knots: &[Knot], rate_hz: u32) -> Places {
        let inverse = knots.iter().map(|(at_s, content_s)| (*content_s, *at_s)).collect();
        Places { knots: knots.to_vec(), inverse, rate_hz: f64::from(rate_hz) }
    }

    fn in_file(&self, frame: i64) -> i64 {
        self.moved(&self.knots, frame)
    }

    fn in_result(&self, frame: i64) -> i64 {
        self.moved(&self.inverse, frame)
    }

    fn moved(&self, knots: &[Knot], frame: i64) -> i64 {
        (content_at(knots, frame as f64 / self.rate_hz) * self.rate_hz).round() as i64
    }
}

/// A sample of a file. What is outside of it, no number, or far beyond any sound is silence.
fn sample(row: &[f32], at: i64) -> f32 {
    let there = usize::try_from(at).ok().and_then(|at| row.get(at));
    there.copied().filter(|sample| sample.abs() < TOO_LOUD).unwrap_or(0.0)
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
        stretched(audio, knots, Pitch::Moves, &AtomicBool::new(false)).expect("nobody stops it")
    }

    const KEPT: [Pitch; 2] = [Pitch::Stays, Pitch::StaysOfOneVoice];

    fn kept(audio: &Audio, knots: &[Knot], pitch: Pitch) -> Audio {
        assert_eq!(pitch.possible(knots, audio.sample_rate_hz), pitch);
        stretched(audio, knots, pitch, &AtomicBool::new(false)).expect("nobody stops it")
    }

    #[test]
    fn it_ends_when_it_is_told_to() {
        let knots = [(0.0, 0.0), (0.5, 1.0)];
        for pitch in [Pitch::Moves, Pitch::Stays, Pitch::StaysOfOneVoice] {
            let stopped = stretched(&sine(500.0, 4800), &knots, pitch, &AtomicBool::new(true));
            assert_eq!(stopped.err(), Some(Unmade::Stopped));
        }
    }

    fn sine(hz: f64, frames: usize) -> Audio {
        let sample = |at: usize| (std::f64::consts::TAU * hz * at as f64 / f64::from(RATE)).sin();
        let row = (0..frames).map(|at| sample(at) as f32).collect();
        Audio { sample_rate_hz: RATE, channels: vec![row], warnings: Vec::new() }
    }

    /// The part of a sine of this frequency in a row, from 0 to 1: by how much of its energy.
    fn part_of_sine(row: &[f32], hz: f64) -> f64 {
        let (mut cosine, mut sine, mut energy) = (0.0, 0.0, 0.0);
        for (at, sample) in row.iter().enumerate() {
            let angle = std::f64::consts::TAU * hz * at as f64 / f64::from(RATE);
            let sample = f64::from(*sample);
            cosine += sample * angle.cos();
            sine += sample * angle.sin();
            energy += sample * sample;
        }
        2.0 * (cosine * cosine + sine * sine) / row.len() as f64 / energy.max(1e-9)
    }

    #[test]
    fn the_pitch_stays_at_another_speed() {
        let audio = sine(1000.0, 96_000);
        let speeds = [0.5, 0.8, 0.97, 1.05, 1.25, 2.0];
        for (speed, pitch) in speeds.into_iter().flat_map(|speed| KEPT.map(|kept| (speed, kept))) {
            let slow = kept(&audio, &[(0.0, 0.0), (2.0 / speed, 2.0)], pitch);
            assert_eq!(slow.frames(), (96_000.0_f64 / speed).round() as usize);
            let middle = slow.frames() / 2;
            let row = &slow.channels[0][middle..middle + 4800];
            assert!(part_of_sine(row, 1000.0) > 0.97, "{speed}: {}", part_of_sine(row, 1000.0));
            let power = row.iter().map(|it| it * it).sum::<f32>() / row.len() as f32;
            assert!((0.35..0.7).contains(&power), "{speed}: {power}, the sine's is 0.5");
        }
    }

    /// Where most of a row's energy lies, in seconds.
    fn middle_s(row: &[f32], from_s: f64, to_s: f64) -> f64 {
        let range = (from_s * f64::from(RATE)) as usize..(to_s * f64::from(RATE)) as usize;
        let energy = |at: usize| f64::from(row[at]).powi(2);
        let all: f64 = range.clone().map(energy).sum();
        range.map(|at| energy(at) * at as f64).sum::<f64>() / all / f64::from(RATE)
    }

    #[test]
    fn what_keeps_its_pitch_sounds_where_the_knots_say() {
        // Bursts of 20 ms after half a second and after two.
        let mut audio = sine(700.0, 144_000);
        let is_in =
            |at: usize| [24_000, 96_000].iter().any(|from| (*from..*from + 960).contains(&at));
        for (at, sample) in audio.channels[0].iter_mut().enumerate() {
            if !is_in(at) {
                *sample = 0.0;
            }
        }
        let knots = [(0.0, 0.0), (1.25, 1.0), (2.85, 3.0)];
        for pitch in KEPT {
            let bent = kept(&audio, &knots, pitch);
            assert_eq!(bent.frames(), 136_800);
            let row = &bent.channels[0];
            // Their middles are at 0.51 s and 2.01 s of the file.
            for (content_s, from, to) in [(0.51 * 1.25, 0.3, 1.0), (1.25 + 1.01 * 0.8, 1.6, 2.6)] {
                let found = middle_s(row, from, to);
                assert!((found - content_s).abs() < 0.02, "{found} s instead of {content_s} s");
            }
        }
    }

    #[test]
    fn pieces_that_keep_their_pitch_join_without_a_click() {
        let audio = sine(200.0, 96_000);
        for pitch in KEPT {
            let bent = kept(&audio, &[(0.0, 0.0), (0.7, 1.0), (1.9, 2.0)], pitch);
            let steps = bent.channels[0].windows(2).map(|pair| (pair[1] - pair[0]).abs());
            // A sine of 200 Hz has steps of 0.026.
            let largest = steps.skip(1).fold(0.0, f32::max);
            assert!(largest < 0.08, "the joint clicks: {largest}");
        }
    }

    #[test]
    fn both_sides_are_kept_apart_and_the_same_bits_come_again() {
        let (left, right) = (sine(500.0, 48_000), sine(1500.0, 48_000));
        let rows = vec![left.channels[0].clone(), right.channels[0].clone()];
        let mut audio = Audio { channels: rows, ..left };
        (audio.channels[1][100], audio.channels[0][200]) = (f32::NAN, f32::MAX);
        let knots = [(0.0, 0.0), (1.2, 1.0)];
        for pitch in KEPT {
            let slow = kept(&audio, &knots, pitch);
            let [left, right] = &slow.channels[..] else { panic!("two sides") };
            assert!(part_of_sine(&left[20_000..24_800], 500.0) > 0.95);
            assert!(part_of_sine(&right[20_000..24_800], 1500.0) > 0.95);
            assert!(slow.channels.iter().flatten().all(|sample| sample.is_finite()));
            let again = kept(&audio, &knots, pitch);
            let bits = |audio: &Audio| -> Vec<u32> {
                audio.channels.iter().flatten().map(|sample| sample.to_bits()).collect()
            };
            assert!(bits(&slow) == bits(&again));
        }
    }

    #[test]
    fn the_name_of_an_algorithm_says_what_becomes_of_the_pitch() {
        let check = |names: &[&str], expected| {
            for name in names {
                assert_eq!(Pitch::by_algorithm(name), expected, "{name}");
            }
        };
        check(&["", "raw", "none", "Repitch"], Pitch::Moves);
        check(&["elastique_solo", "Elastique Soloist", "monophonic"], Pitch::StaysOfOneVoice);
        check(&["stretch", "stretch_subbands", "slice", "elastique_pro"], Pitch::Stays);
    }

    #[test]
    fn a_pitch_that_cannot_stay_moves() {
        let speeds = |speed: f64| [(0.0, 0.0), (1.0, speed)];
        for pitch in KEPT {
            let possible = |speed, rate_hz| pitch.possible(&speeds(speed), rate_hz);
            for (speed, rate_hz) in [(4.1, 48_000), (0.24, 48_000), (1.1, 384_000)] {
                assert_eq!(possible(speed, rate_hz), Pitch::Moves, "{speed}, {rate_hz} Hz");
            }
            for (speed, rate_hz) in [(4.0, 48_000), (0.25, 44_100), (1.1, 8000), (1.1, 192_000)] {
                assert_eq!(possible(speed, rate_hz), pitch, "{speed}, {rate_hz} Hz");
            }
        }
        let range = f64::from(wsola::MIN_TEMPO)..=f64::from(wsola::MAX_TEMPO);
        assert_eq!(PITCHED_SPEEDS, range);
        assert_eq!(Pitch::Moves.possible(&speeds(1.1), 48_000), Pitch::Moves);
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
