//! Audio at another speed: what warps ask for.

use std::num::{NonZeroU16, NonZeroU32};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use hocket_media::Audio;
use wsola::{Config, TimeStretch};

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
/// Steps of the stretcher, and how far it looks for a wave that continues the last one: half a period of 50 Hz.
const WINDOWS: Config = Config { hop_ms: 15.0, search_ms: 10.0 };
/// Steps before the first frame that is wanted. The first one fades in.
const LEAD: usize = 2;
/// Frames that the stretcher gets at once.
const CHUNK: usize = 4096;

/// A place in the song, in seconds after the start of the new file, and what of the file is heard there, in seconds.
pub(crate) type Knot = (f64, f64);

/// What becomes of the pitch at another speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Pitch {
    /// It changes with the speed, as that of a tape.
    Moves,
    /// It stays.
    Stays,
}

impl Pitch {
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
    /// The stretcher refuses it, in words.
    Refused(String),
}

impl From<wsola::Error> for Unmade {
    fn from(error: wsola::Error) -> Unmade {
        Unmade::Refused(error.to_string())
    }
}

/// The length of the new file in frames.
pub(crate) fn frames(knots: &[Knot], rate_hz: u32) -> f64 {
    knots.last().map_or(0.0, |(at, _)| at * f64::from(rate_hz))
}

/// `audio` with its places moved as `knots` say, which rise in both parts; between two of them the speed is constant.
///
/// Thread: control. Cost: about 512 multiplications per sample; where the pitch stays, twice as many as the stretcher's search
/// has places. Memory: that of the result, and of one piece.
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
        Pitch::Stays => at_pitch(audio, knots, frames, stop)?,
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

/// All pieces in one go, with the pitch of the file: waves of the file overlap at other distances (WSOLA).
fn at_pitch(
    audio: &Audio,
    knots: &[Knot],
    frames: usize,
    stop: &AtomicBool,
) -> Result<Vec<Vec<f32>>, Unmade> {
    let sides = audio.channels.len();
    let channels = u16::try_from(sides).ok().and_then(NonZeroU16::new);
    let Some((rate_hz, channels)) = NonZeroU32::new(audio.sample_rate_hz).zip(channels) else {
        return Ok(vec![vec![0.0; frames]; sides]);
    };
    let rate = f64::from(audio.sample_rate_hz);
    let mut stretcher = TimeStretch::with_config(rate_hz, channels, WINDOWS)?;
    let step = stretcher.min_output_buff_size() / sides;
    let lead = LEAD * step;
    let content = |frame: usize| {
        let at_s = (frame as f64 - lead as f64) / rate;
        content_at(knots, at_s) * rate
    };
    let mut source = Source { audio, next: content(0).floor() as i64 };
    // Where the stretcher is in what it got.
    let (origin, mut place) = (source.next as f64, 0.0);
    let mut rows: Vec<Vec<f32>> = (0..sides).map(|_| Vec::with_capacity(frames + lead)).collect();
    let mut block = vec![0.0; step * sides];
    while rows[0].len() < frames + lead {
        // Relaxed: the flag publishes nothing.
        if stop.load(Relaxed) {
            return Err(Unmade::Stopped);
        }
        let next = content(rows[0].len() + step) - origin;
        stretcher.set_tempo(((next - place) / step as f64) as f32);
        source.fill(&mut stretcher, &mut block)?;
        place += step as f64 * f64::from(stretcher.tempo());
        for frame in block.chunks_exact(sides) {
            rows.iter_mut().zip(frame).for_each(|(row, sample)| row.push(*sample));
        }
    }
    rows.iter_mut().for_each(|row| {
        row.drain(..lead);
        row.truncate(frames);
    });
    Ok(rows)
}

/// What is heard of the file at a time, in seconds. Before and behind the knots it goes on as at the ends.
fn content_at(knots: &[Knot], at_s: f64) -> f64 {
    let Some(last) = knots.len().checked_sub(2) else { return at_s };
    let pair = knots.partition_point(|(time_s, _)| *time_s <= at_s).saturating_sub(1).min(last);
    knots[pair].1 + (at_s - knots[pair].0) * speed(knots[pair], knots[pair + 1])
}

/// A file from some frame on. What is outside of it, or no number, is silence.
struct Source<'a> {
    audio: &'a Audio,
    next: i64,
}

impl Source<'_> {
    /// Fills a block, with as much of the file as that takes.
    fn fill(&mut self, stretcher: &mut TimeStretch, block: &mut [f32]) -> Result<(), Unmade> {
        loop {
            match stretcher.pull(block) {
                Ok(_) => return Ok(()),
                Err(wsola::Error::NotEnoughInput) => stretcher.push(&self.chunk()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn chunk(&mut self) -> Vec<f32> {
        let places = self.next..self.next + CHUNK as i64;
        self.next = places.end;
        let sample = |row: &Vec<f32>, at: i64| {
            let there = usize::try_from(at).ok().and_then(|at| row.get(at));
            there.copied().filter(|sample| sample.is_finite()).unwrap_or(0.0)
        };
        let rows = &self.audio.channels;
        places.flat_map(|at| rows.iter().map(move |row| sample(row, at))).collect()
    }
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

    fn kept(audio: &Audio, knots: &[Knot]) -> Audio {
        assert_eq!(Pitch::Stays.possible(knots, audio.sample_rate_hz), Pitch::Stays);
        stretched(audio, knots, Pitch::Stays, &AtomicBool::new(false)).expect("nobody stops it")
    }

    #[test]
    fn it_ends_when_it_is_told_to() {
        let knots = [(0.0, 0.0), (0.5, 1.0)];
        for pitch in [Pitch::Moves, Pitch::Stays] {
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
        for speed in [0.5, 0.8, 0.97, 1.05, 1.25, 2.0] {
            let slow = kept(&audio, &[(0.0, 0.0), (2.0 / speed, 2.0)]);
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
        let bent = kept(&audio, &knots);
        assert_eq!(bent.frames(), 136_800);
        let row = &bent.channels[0];
        // Their middles are at 0.51 s and 2.01 s of the file.
        for (content_s, from, to) in [(0.51 * 1.25, 0.3, 1.0), (1.25 + 1.01 * 0.8, 1.6, 2.6)] {
            let found = middle_s(row, from, to);
            assert!((found - content_s).abs() < 0.02, "{found} s instead of {content_s} s");
        }
    }

    #[test]
    fn pieces_that_keep_their_pitch_join_without_a_click() {
        let audio = sine(200.0, 96_000);
        let bent = kept(&audio, &[(0.0, 0.0), (0.7, 1.0), (1.9, 2.0)]);
        let steps = bent.channels[0].windows(2).map(|pair| (pair[1] - pair[0]).abs());
        // A sine of 200 Hz has steps of 0.026.
        let largest = steps.skip(1).fold(0.0, f32::max);
        assert!(largest < 0.08, "the joint clicks: {largest}");
    }

    #[test]
    fn both_sides_are_kept_apart_and_the_same_bits_come_again() {
        let (left, right) = (sine(500.0, 48_000), sine(1500.0, 48_000));
        let rows = vec![left.channels[0].clone(), right.channels[0].clone()];
        let mut audio = Audio { channels: rows, ..left };
        audio.channels[1][100] = f32::NAN;
        let knots = [(0.0, 0.0), (1.2, 1.0)];
        let slow = kept(&audio, &knots);
        let [left, right] = &slow.channels[..] else { panic!("two sides") };
        assert!(part_of_sine(&left[20_000..24_800], 500.0) > 0.95);
        assert!(part_of_sine(&right[20_000..24_800], 1500.0) > 0.95);
        assert!(slow.channels.iter().flatten().all(|sample| sample.is_finite()));
        let again = kept(&audio, &knots);
        let bits = |audio: &Audio| -> Vec<u32> {
            audio.channels.iter().flatten().map(|sample| sample.to_bits()).collect()
        };
        assert!(bits(&slow) == bits(&again));
    }

    #[test]
    fn a_pitch_that_cannot_stay_moves() {
        let speeds = |speed: f64| [(0.0, 0.0), (1.0, speed)];
        let possible = |speed, rate_hz| Pitch::Stays.possible(&speeds(speed), rate_hz);
        for (speed, rate_hz) in [(4.1, 48_000), (0.24, 48_000), (1.1, 384_000)] {
            assert_eq!(possible(speed, rate_hz), Pitch::Moves, "{speed}, {rate_hz} Hz");
        }
        for (speed, rate_hz) in [(4.0, 48_000), (0.25, 44_100), (1.1, 8000), (1.1, 192_000)] {
            assert_eq!(possible(speed, rate_hz), Pitch::Stays, "{speed}, {rate_hz} Hz");
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
