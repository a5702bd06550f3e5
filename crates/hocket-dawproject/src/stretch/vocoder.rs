//! The pitch of chords and of whole songs: Hocket separates notes and hits, and stretches each with what fits it.
//!
//! - Notes are long. A phase vocoder reads their spectra at the distances that the speed asks for, and writes them at others. It
//!   turns each note so that it goes on where it was, with all bins around it ("identity phase locking", J. Laroche, M. Dolson,
//!   *Improved phase vocoder time-scale modification of audio*, 1999). A note that begins keeps the phase of the file (A. Röbel,
//!   *A new approach to transient processing in the phase vocoder*, 2003).
//! - [Hits](super::hits) are short. A spectrum would smear them over its window, so [short grains](super::grains) move them (J.
//!   Driedger, M. Müller, S. Ewert, *Improving time-scale modification of music signals using harmonic-percussive separation*, 2014).
//!
//! How far a note turns in a step is seen between two spectra of the file that are one step apart, whatever the speed. So no
//! frequency is estimated, and at the file's own speed comes the file itself. Both sides turn alike, so places between them stay.
//!
//! The limits: at another speed, notes nearer than about 25 Hz to each other beat as one note does. The attack of a soft note takes up
//! to half a window. Noise loses level.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use hocket_media::Audio;

use super::grains::Grains;
use super::hits::{self, Hits};
use super::spectrum::{Pair, Transform, mirror, power};
use super::{Knot, Places, Unmade};

/// A window is at least as long, in parts of a second. Shorter ones mix up notes in the bass, and longer ones flatten a vibrato.
const WINDOW_PER_S: usize = 8;
/// ... and for any rate as long, in frames.
const LEAST_WINDOW: usize = 256;
/// A window begins as many times in its length.
const STEPS: usize = 8;
/// A note begins where its power grows by more than this in a step of the file.
const RISE: f32 = 4.0;
/// Squares of powers up to this are silence, 180 dB below full scale: nothing to go on from.
const SILENCE: f32 = 1e-24;
/// A turn by nothing.
const NO_TURN: Pair = Pair::new(1.0, 0.0);

/// All pieces in one go. `stop` is looked at before each step.
pub(super) fn at_pitch(
    audio: &Audio,
    knots: &[Knot],
    frames: usize,
    stop: &AtomicBool,
) -> Result<Vec<Vec<f32>>, Unmade> {
    let mut rows = vec![vec![0.0; frames]; audio.channels.len()];
    if frames == 0 {
        return Ok(rows);
    }
    let places = Places::new(knots, audio.sample_rate_hz);
    let window = window(audio.sample_rate_hz);
    let (half, step) = (window as i64 / 2, (window / STEPS) as i64);
    let mut notes = Notes::new(window);
    let mut grains = Grains::new(hits::window(audio.sample_rate_hz) / 4, -half);
    let first = places.in_file(-half) - half - step - grains.reach();
    let mut hits = Hits::new(audio, first);
    // The middle of a window.
    let mut middle = -half;
    while middle < frames as i64 + half {
        // Relaxed: the flag publishes nothing.
        if stop.load(Relaxed) {
            return Err(Unmade::Stopped);
        }
        let from = places.in_file(middle) - half;
        hits.find((from + window as i64).max(places.in_file(middle + step) + grains.reach()));
        let [now, before] = [from, from - step].map(|from| hits.notes(from, window));
        add(&mut rows, middle - half, notes.next(now, before));
        grains.add(&mut rows, &hits, &places, middle + step);
        hits.forget((from - step).min(places.in_file(middle) - grains.reach()));
        middle += step;
    }
    Ok(rows)
}

/// The shortest of 2^n or 3 * 2^n frames that is long enough: spectra of these are quick.
fn window(rate_hz: u32) -> usize {
    let least = rate_hz as usize / WINDOW_PER_S;
    let whole = least.next_power_of_two().max(LEAST_WINDOW);
    if whole * 3 / 4 >= least.max(LEAST_WINDOW) { whole * 3 / 4 } else { whole }
}

/// Adds what is in the rows of frames from a place on, which may lie before them.
pub(super) fn add(rows: &mut [Vec<f32>], from: i64, frames: impl IntoIterator<Item = Pair>) {
    for (at, frame) in (from..).zip(frames) {
        let Ok(at) = usize::try_from(at) else { continue };
        for (row, side) in rows.iter_mut().zip([frame.re, frame.im]) {
            if let Some(sum) = row.get_mut(at) {
                *sum += side;
            }
        }
    }
}

/// Notes that go on at other distances than in the file.
struct Notes {
    transform: Transform,
    /// The last spectrum of the file; empty before the first.
    last: Vec<Pair>,
    /// By how much its bins were turned.
    turns: Vec<Pair>,
}

impl Notes {
    fn new(window: usize) -> Notes {
        let turns = vec![NO_TURN; window / 2 + 1];
        Notes { transform: Transform::new(window, window / STEPS), last: Vec::new(), turns }
    }

    /// A window of the file, as it goes on one step behind the last one. `before` is what the file has one step before it.
    fn next(&mut self, mut now: Vec<Pair>, mut before: Vec<Pair>) -> Vec<Pair> {
        self.transform.spectrum(&mut now);
        self.transform.spectrum(&mut before);
        if !self.last.is_empty() {
            self.turns = self.next_turns(&now, &before);
        }
        self.last.clone_from(&now);
        turn(&mut now, &self.turns);
        self.transform.frames(&mut now);
        now
    }

    fn next_turns(&self, now: &[Pair], before: &[Pair]) -> Vec<Pair> {
        let powers: Vec<f32> = (0..self.turns.len()).map(|bin| power(now, bin)).collect();
        let mut turns = self.turns.clone();
        for (peak, around) in notes(&powers) {
            let begins = powers[peak] > RISE * power(before, peak);
            turns[around].fill(if begins { NO_TURN } else { self.next_turn(peak, before) });
        }
        turns
    }

    /// How far a bin has to turn so that it goes on where the last window was one step later. Its neighbours count too, because a
    /// vibrato may have been there. Behind silence it may begin anew.
    fn next_turn(&self, bin: usize, before: &[Pair]) -> Pair {
        let around = bin.saturating_sub(1)..(bin + 2).min(self.turns.len());
        let ways = around.map(|bin| self.turns[bin] * likeness(&self.last, before, bin));
        let way: Pair = ways.sum();
        let square = way.norm_sqr();
        if square > SILENCE && square.is_finite() { way / square.sqrt() } else { NO_TURN }
    }
}

/// How far one spectrum is turned against another in a bin, times the power: the louder side counts more.
fn likeness(one: &[Pair], other: &[Pair], bin: usize) -> Pair {
    let mirror = mirror(bin, one.len());
    one[bin] * other[bin].conj() + one[mirror].conj() * other[mirror]
}

/// Turns both sides alike.
fn turn(spectrum: &mut [Pair], turns: &[Pair]) {
    let length = spectrum.len();
    for (bin, turn) in turns.iter().enumerate() {
        let mirror = mirror(bin, length);
        if mirror == bin {
            // The lowest and the highest bin have no phase.
            spectrum[bin] *= turn.re;
        } else {
            spectrum[bin] *= turn;
            spectrum[mirror] *= turn.conj();
        }
    }
}

/// Bins that are louder than two neighbours to each side, with those around up to the softest ones between.
fn notes(powers: &[f32]) -> Vec<(usize, Range<usize>)> {
    let is_peak = |bin: &usize| {
        let mut near = bin.saturating_sub(2)..(*bin + 3).min(powers.len());
        // Of equals the first.
        near.all(|other| match other < *bin {
            true => powers[other] < powers[*bin],
            false => powers[other] <= powers[*bin],
        })
    };
    let peaks: Vec<usize> = (0..powers.len()).filter(is_peak).collect();
    let softest = |bins: Range<usize>| bins.min_by(|a, b| powers[*a].total_cmp(&powers[*b]));
    let mut from = 0;
    let note = |(index, peak): (usize, &usize)| {
        let next = peaks.get(index + 1);
        let to = next.and_then(|next| softest(*peak..*next)).unwrap_or(powers.len());
        let around = from..to;
        from = to;
        (*peak, around)
    };
    peaks.iter().enumerate().map(note).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_end_where_it_is_softest_between() {
        let found = notes(&[1.0, 5.0, 2.0, 0.5, 1.0, 3.0, 3.0, 2.0, 0.1, 0.2]);
        assert_eq!(found, [(1, 0..3), (5, 3..10)]);
        assert_eq!(notes(&[0.0; 8]), [(0, 0..8)], "silence is one note");
        assert_eq!(notes(&[4.0, 3.0, 2.0, 1.0, 2.0, 3.0, 4.0]), [(0, 0..3), (6, 3..7)]);
    }

    #[test]
    fn windows_last_between_125_and_170_ms() {
        for rate_hz in [8000, 11_025, 22_050, 32_000, 44_100, 48_000, 88_200, 96_000, 192_000] {
            let window_s = window(rate_hz) as f64 / f64::from(rate_hz);
            assert!((0.125..0.17).contains(&window_s), "{rate_hz} Hz: {window_s} s");
            assert_eq!(window(rate_hz) % STEPS, 0);
        }
        assert_eq!(window(48_000), 6144);
        assert_eq!(window(1), LEAST_WINDOW);
    }
}
