//! The work of a block: pieces that fill a row and filter another one, and when each of them was done.

use std::hint::black_box;

use hocket_dsp::{Processor, rows};
use hocket_machine::clock::monotonic_ns;

use crate::graphs::BiquadLoad;
use crate::harness::Check;
use crate::stats::median;

/// Frames of a row.
pub(super) const FRAMES: usize = 64;
/// Pieces of a block: as many as rows have frames, so that each leaves its mark at a place of its own.
pub(super) const PIECES: usize = 64;
/// Filters of a piece.
pub(super) const SECTIONS: usize = 4;
/// What the rows are filtered from; no silence, and soon a constant one, so that nothing grows.
const INPUT: f32 = 0.25;

/// How the row is filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fill {
    /// By `slice::fill`, which is a call of the C library where the length is not known beforehand.
    Library,
    /// By [`rows::fill`].
    Narrow,
    /// Not at all.
    None,
}

impl Fill {
    pub(super) const ALL: [Fill; 3] = [Fill::None, Fill::Narrow, Fill::Library];

    pub(super) fn name(self) -> &'static str {
        match self {
            Fill::Library => "library",
            Fill::Narrow => "narrow",
            Fill::None => "none",
        }
    }

    /// What the marks of a block sum up to afterwards.
    fn remains(self) -> f32 {
        if self == Fill::None { PIECES as f32 } else { 0.0 }
    }
}

/// What a thread works on.
#[derive(Debug)]
pub(super) struct Walk {
    fill: Fill,
    filled: [f32; FRAMES],
    filtered: [f32; FRAMES],
    filters: BiquadLoad,
}

impl Walk {
    pub(super) fn new(fill: Fill) -> Walk {
        let (filled, filtered) = ([0.0; FRAMES], [0.0; FRAMES]);
        Walk { fill, filled, filtered, filters: BiquadLoad::new(SECTIONS) }
    }

    /// One block from silence; `stamps` gets its beginning and the end of each piece.
    ///
    /// Nothing in here may copy or clear a row or a filter as a whole: that would be a call of the
    /// library in every variant.
    fn block(&mut self, stamps: &mut [u64]) {
        self.filters.reset();
        let Some((begin, ends)) = stamps.split_first_mut() else { return };
        *begin = monotonic_ns();
        for (piece, end) in ends.iter_mut().enumerate() {
            self.filled[piece] = 1.0;
            fill(self.fill, &mut self.filled);
            rows::fill(&mut self.filtered, INPUT);
            self.filters.run(&mut self.filtered);
            *end = monotonic_ns();
        }
    }

    /// Blocks, each after `wait` for it. `wait` gets the number of the block.
    pub(super) fn blocks(&mut self, blocks: usize, mut wait: impl FnMut(usize)) -> Times {
        // Ones, not zeros: pages that have been written to are there when the clock runs.
        let mut stamps = vec![1; blocks * (PIECES + 1)];
        let mut check = Check::Passed;
        let expected = expected();
        for (number, stamps) in stamps.chunks_exact_mut(PIECES + 1).enumerate() {
            wait(number);
            self.block(stamps);
            check = check.and(self.check(expected));
        }
        Times { stamps, check }
    }

    fn digest(&self) -> u32 {
        let bits = self.filtered.iter().map(|sample| sample.to_bits());
        bits.fold(0, |sum, bits| sum.rotate_left(1) ^ bits)
    }

    fn check(&self, expected: u32) -> Check {
        let remains: f32 = self.filled.iter().sum();
        Check::equal("the sum of the filled row", remains, self.fill.remains()).and(Check::equal(
            "the digest of the filtered row",
            self.digest(),
            expected,
        ))
    }
}

/// The digest after a block, by another road: frame by frame through all sections.
fn expected() -> u32 {
    let mut state = [(0.0f32, 0.0f32); SECTIONS];
    let mut walk = Walk::new(Fill::None);
    for _ in 0..PIECES {
        for sample in &mut walk.filtered {
            let through = |x: f32, (first, second): &mut (f32, f32)| {
                let y = 0.2 * x + *first;
                *first = (0.3 * x + *second) + 0.5 * y;
                *second = 0.2 * x - 0.25 * y;
                y
            };
            *sample = state.iter_mut().fold(INPUT, through);
        }
    }
    walk.digest()
}

/// Not inlined and of a length that nobody knows: the library's fill has to be called.
#[inline(never)]
fn fill(how: Fill, row: &mut [f32; FRAMES]) {
    let row = &mut black_box(row)[..black_box(FRAMES)];
    match how {
        Fill::Library => row.fill(0.0),
        Fill::Narrow => rows::fill(row, 0.0),
        Fill::None => {}
    }
    black_box(row);
}

/// When the pieces of a turn's blocks were done.
#[derive(Debug)]
pub(super) struct Times {
    stamps: Vec<u64>,
    /// Whether all blocks computed what they must.
    pub check: Check,
}

impl Times {
    fn by_block(&self) -> impl Iterator<Item = &[u64]> {
        self.stamps.chunks_exact(PIECES + 1)
    }

    /// Time of each block in nanoseconds.
    pub(super) fn blocks_ns(&self) -> Vec<f64> {
        self.by_block().map(|stamps| (stamps[PIECES] - stamps[0]) as f64).collect()
    }

    /// Time of each piece in nanoseconds, by its place in the block: the median over the blocks.
    pub(super) fn pieces_ns(&self) -> Vec<f64> {
        let at = |piece: usize| {
            let times = self.by_block().map(|stamps| (stamps[piece + 1] - stamps[piece]) as f64);
            median(&times.collect::<Vec<_>>()).unwrap_or(0.0)
        };
        (0..PIECES).map(at).collect()
    }
}

/// A piece that takes this many times as long as those at the end is slow.
const SLOW: f64 = 1.25;

/// From the beginning to the end of the last slow piece, in nanoseconds; 0 where none is.
pub(super) fn slow_ns(pieces_ns: &[f64]) -> f64 {
    let usual = median(&pieces_ns[pieces_ns.len() * 3 / 4..]).unwrap_or(0.0);
    let last = pieces_ns.iter().rposition(|ns| *ns >= SLOW * usual);
    last.map_or(0.0, |last| pieces_ns[..=last].iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fill_computes_what_it_must() {
        for fill in Fill::ALL {
            let times = Walk::new(fill).blocks(3, |_| ());
            assert_eq!(times.check, Check::Passed, "{}", fill.name());
            assert_eq!((times.blocks_ns().len(), times.pieces_ns().len()), (3, PIECES));
            assert!(times.blocks_ns().iter().all(|ns| *ns > 0.0));
        }
        let mut unfilled = Walk::new(Fill::None);
        unfilled.blocks(1, |_| ());
        unfilled.fill = Fill::Narrow;
        assert!(matches!(unfilled.check(expected()), Check::Failed(_)));
    }

    #[test]
    fn the_slow_beginning_ends_with_its_last_slow_piece() {
        let mut pieces = vec![10.0; 64];
        assert_eq!(slow_ns(&pieces), 0.0);
        pieces[..20].fill(16.0);
        assert_eq!(slow_ns(&pieces), 320.0);
        pieces[25] = 30.0;
        assert_eq!(slow_ns(&pieces), 320.0 + 50.0 + 30.0);
    }
}
