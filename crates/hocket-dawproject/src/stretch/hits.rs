//! What is short and wide in a file: hits of drums, plucks, consonants. The rest are notes.
//!
//! Over time, a note is a line along its frequency, and a hit is one across all frequencies. So the median of neighbours in time
//! is what notes have in a bin, and that of neighbours in frequency what hits have (D. FitzGerald, *Harmonic/percussive separation
//! using median filtering*, 2010). A bin is a hit only if it is clearly one: a soft part of a note that moves with the hits is heard
//! as a rough sound.

use std::collections::VecDeque;

use hocket_media::Audio;

use super::spectrum::{Pair, Transform, mirror, pair, power};

/// A window is at least as long, in parts of a second.
const WINDOW_PER_S: usize = 24;
/// ... and for any rate as long, in frames.
const LEAST_WINDOW: usize = 128;
/// A window begins as many times in its length.
const STEPS: usize = 4;
/// How far neighbours in time are, to each side: one part of a second.
const NEAR_S: usize = 10;
/// How far neighbours in frequency are, to each side.
const NEAR_HZ: usize = 250;
/// How many times the power of notes a hit has in its bin, and in the bins around it.
const LEAD: f32 = 4.0;

/// The length of a window in frames.
pub(super) fn window(rate_hz: u32) -> usize {
    (rate_hz as usize / WINDOW_PER_S).next_power_of_two().max(LEAST_WINDOW)
}

/// The hits of a file, from some frame on.
pub(super) struct Hits<'a> {
    audio: &'a Audio,
    transform: Transform,
    length: usize,
    /// Neighbours to each side: spectra, and bins.
    near: (usize, usize),
    /// Spectra one after the other. The one in the middle is the next whose bins are shared out.
    spectra: VecDeque<Spectrum>,
    /// Where the next spectrum begins.
    next: i64,
    /// The hits from the frame `first` on; those before `ready` have all their windows.
    row: Vec<Pair>,
    first: i64,
    ready: i64,
    /// Where medians are found.
    room: Vec<f32>,
}

struct Spectrum {
    bins: Vec<Pair>,
    powers: Vec<f32>,
}

impl Hits<'_> {
    /// Those from the frame `from` on.
    pub(super) fn new(audio: &Audio, from: i64) -> Hits<'_> {
        let length = window(audio.sample_rate_hz);
        let rate_hz = audio.sample_rate_hz.max(1) as usize;
        let step = length / STEPS;
        let near = ((rate_hz / NEAR_S / step).max(1), (NEAR_HZ * length / rate_hz).max(1));
        let first = from - length as i64;
        Hits {
            audio,
            transform: Transform::new(length, step),
            length,
            near,
            spectra: VecDeque::new(),
            next: first - (near.0 * step) as i64,
            row: Vec::new(),
            first,
            ready: first,
            room: Vec::new(),
        }
    }

    /// Finds all hits before the frame `end`.
    pub(super) fn find(&mut self, end: i64) {
        while self.ready < end {
            while self.spectra.len() <= 2 * self.near.0 {
                let spectrum = self.spectrum();
                self.spectra.push_back(spectrum);
            }
            let mut hits = self.share();
            self.transform.frames(&mut hits);
            self.add(&hits);
            self.spectra.pop_front();
            self.ready += (self.length / STEPS) as i64;
        }
    }

    /// Hits that were found.
    pub(super) fn hits(&self, from: i64, length: usize) -> &[Pair] {
        let from = (from - self.first) as usize;
        &self.row[from..from + length]
    }

    /// What the file has there beside them.
    pub(super) fn notes(&self, from: i64, length: usize) -> Vec<Pair> {
        let hits = self.hits(from, length).iter();
        (from..).zip(hits).map(|(at, hit)| pair(self.audio, at) - hit).collect()
    }

    /// Forgets what is before a frame.
    pub(super) fn forget(&mut self, before: i64) {
        let many = (before - self.first).max(0) as usize;
        self.row.drain(..many);
        self.first += many as i64;
    }

    fn spectrum(&mut self) -> Spectrum {
        let places = self.next..self.next + self.length as i64;
        let mut bins: Vec<Pair> = places.map(|at| pair(self.audio, at)).collect();
        self.transform.spectrum(&mut bins);
        self.next += (self.length / STEPS) as i64;
        let powers = (0..=self.length / 2).map(|bin| power(&bins, bin)).collect();
        Spectrum { bins, powers }
    }

    /// The bins of the middle spectrum that are hits, without the others.
    fn share(&mut self) -> Vec<Pair> {
        let mut room = std::mem::take(&mut self.room);
        let middle = &self.spectra[self.near.0];
        let mut hits = vec![Pair::default(); self.length];
        for bin in 0..middle.powers.len() {
            if self.is_hit(middle, bin, &mut room) {
                let mirror = mirror(bin, self.length);
                (hits[bin], hits[mirror]) = (middle.bins[bin], middle.bins[mirror]);
            }
        }
        self.room = room;
        hits
    }

    fn is_hit(&self, middle: &Spectrum, bin: usize, room: &mut Vec<f32>) -> bool {
        let over_time = self.spectra.iter().map(|spectrum| spectrum.powers[bin]);
        let least = LEAD * median(over_time, room);
        let last = (bin + self.near.1).min(middle.powers.len() - 1);
        let near = &middle.powers[bin.saturating_sub(self.near.1)..=last];
        middle.powers[bin] > least && median(near.iter().copied(), room) > least
    }

    /// Adds frames that begin where what is ready ends.
    fn add(&mut self, frames: &[Pair]) {
        let from = (self.ready - self.first) as usize;
        self.row.resize(self.row.len().max(from + frames.len()), Pair::default());
        self.row[from..].iter_mut().zip(frames).for_each(|(sum, frame)| *sum += frame);
    }
}

fn median(values: impl Iterator<Item = f32>, room: &mut Vec<f32>) -> f32 {
    room.clear();
    room.extend(values);
    let middle = room.len() / 2;
    *room.select_nth_unstable_by(middle, f32::total_cmp).1
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: u32 = 48_000;

    /// The share of a row's energy that is found to be hits, in its second second of three: its ends are hits.
    fn share_of_hits(row: Vec<f32>) -> f32 {
        let all: f32 = row[48_000..96_000].iter().map(|sample| sample * sample).sum();
        let audio =
            Audio { sample_rate_hz: RATE, channels: vec![row.clone(), row], warnings: Vec::new() };
        let mut hits = Hits::new(&audio, 0);
        hits.find(96_000);
        hits.forget(40_000);
        let found: f32 = hits.hits(48_000, 48_000).iter().map(|pair| pair.re * pair.re).sum();
        let rest: f32 = hits.notes(48_000, 48_000).iter().map(|pair| pair.im * pair.im).sum();
        // Both parts of a bin never sound at once, except in what overlaps.
        assert!((found + rest - all).abs() < 0.1 * all, "{found} + {rest} of {all}");
        found / all
    }

    #[test]
    fn a_click_is_a_hit_and_a_note_is_none() {
        let clicks = |at: usize| if at % 12_000 < 24 { 0.5 } else { 0.0 };
        let share = share_of_hits((0..144_000).map(clicks).collect());
        assert!(share > 0.99, "{share} of the clicks");
        let note = |at: usize| (std::f64::consts::TAU * at as f64 * 220.0 / 48_000.0).sin() as f32;
        let share = share_of_hits((0..144_000).map(note).collect());
        assert!(share < 1e-9, "{share} of a note");
    }

    #[test]
    fn silence_has_no_hits() {
        let audio =
            Audio { sample_rate_hz: RATE, channels: vec![vec![0.0; 100]], warnings: Vec::new() };
        let mut hits = Hits::new(&audio, -5000);
        hits.find(5000);
        assert!(hits.hits(-5000, 10_000).iter().all(|pair| pair.norm_sqr() == 0.0));
    }

    #[test]
    fn the_median_is_the_one_in_the_middle() {
        let mut room = Vec::new();
        let mut check = |values: &[f32], expected: f32| {
            assert_eq!(median(values.iter().copied(), &mut room), expected);
        };
        check(&[3.0], 3.0);
        check(&[9.0, 0.0, 1e-30], 1e-30);
        check(&[5.0, 1.0, 4.0, 2.0, 1e30], 4.0);
    }
}
