//! Hits that sound at other distances: short grains of them overlap.
//!
//! At another speed, grains around a hit would repeat it or skip it. So all that are near one read it as the file has it, and its
//! middle stays at the place that the speed asks for. What is between hits is read at the distances that the speed asks for.

use super::Places;
use super::hits::Hits;
use super::spectrum::{Pair, hann};
use super::vocoder::add;

/// How far hits are looked for around a grain, in lengths of a grain: as far as it moves in the file at the highest speed.
const SEARCH: i64 = 4;
/// How far hits are found and kept around a grain: the search, one grain to compare with, and one to read.
const REACH: i64 = SEARCH + 2;
/// A hit that is so much softer than the loudest one near it is none.
const SOFT: f32 = 1e-3;

/// Grains of one length that begin twice in it.
pub(super) struct Grains {
    length: i64,
    fade: Vec<f32>,
    /// The middle of the next grain.
    next: i64,
}

impl Grains {
    /// Those of `length` frames, from the frame `first` of the result on.
    pub(super) fn new(length: usize, first: i64) -> Grains {
        Grains { length: length as i64, fade: hann(length), next: first }
    }

    /// How many frames of the file have to be known to both sides of a grain.
    pub(super) fn reach(&self) -> i64 {
        REACH * self.length
    }

    /// Adds all grains before the frame `end` of the result.
    pub(super) fn add(
        &mut self,
        rows: &mut [Vec<f32>],
        hits: &Hits<'_>,
        places: &Places,
        end: i64,
    ) {
        while self.next < end {
            let from = self.middle_in_file(hits, places) - self.length / 2;
            let grain = hits.hits(from, self.length as usize).iter().zip(&self.fade);
            add(rows, self.next - self.length / 2, grain.map(|(hit, fade)| hit * fade));
            self.next += self.length / 2;
        }
    }

    /// Where the middle of the next grain is read.
    fn middle_in_file(&self, hits: &Hits<'_>, places: &Places) -> i64 {
        let here = places.in_file(self.next);
        let Some(hit) = self.nearest_hit(hits, here) else { return here };
        let behind = self.next - places.in_result(hit);
        // It would be heard in this grain, or in what overlaps with one in which it is.
        let is_near = (hit - here).abs() <= self.length / 2 || behind.abs() <= self.length;
        if is_near { hit + behind } else { here }
    }

    /// The nearest place that is louder than all others within one grain of it.
    fn nearest_hit(&self, hits: &Hits<'_>, here: i64) -> Option<i64> {
        let part = (self.length / 16).max(1);
        let around = (self.length / part) as usize;
        let first = (here - SEARCH * self.length).div_euclid(part) - around as i64;
        let count = (2 * SEARCH * self.length / part) as usize + 2 * around;
        let energies: Vec<f32> = hits
            .hits(first * part, count * part as usize)
            .chunks_exact(part as usize)
            .map(|part| part.iter().map(Pair::norm_sqr).sum())
            .collect();
        let floor = SOFT * energies.iter().copied().fold(0.0, f32::max);
        let is_hit = |at: &usize| {
            let energy = energies[*at];
            // Of equals the first.
            energy > floor
                && energies[at - around..*at].iter().all(|before| *before < energy)
                && energies[*at..=at + around].iter().all(|behind| *behind <= energy)
        };
        let loud = (around..count - around).filter(is_hit);
        let middles = loud.map(|at| (first + at as i64) * part + part / 2);
        middles.min_by_key(|middle| (middle - here).abs())
    }
}
