//! What `int_mem` and `dbl_mem` have in common: in which order rows are visited.

use crate::random::Random;

/// The buffer, in bytes: too large for the last-level caches of 2009. (The share of one core in
/// that of a large server may hold it today; the lab says how large it is where it runs.)
pub const BUFFER_BYTES: usize = 32 << 20;

/// A row, in bytes: no more than a cache line, so that only its first access can miss.
pub const ROW_BYTES: usize = 32;

/// Row numbers drawn beforehand, so that drawing is no part of what is measured.
#[derive(Debug)]
pub(super) struct Visits {
    rows: Vec<u32>,
    next: usize,
    made: u64,
}

impl Visits {
    /// As many visits as there are rows; afterwards they begin again.
    pub(super) fn new(rows: usize, seed: u64) -> Visits {
        let mut random = Random::new(seed);
        let bound = rows as u32;
        Visits { rows: (0..rows).map(|_| random.below(bound)).collect(), next: 0, made: 0 }
    }

    #[inline(always)]
    pub(super) fn next(&mut self) -> usize {
        let row = self.rows[self.next];
        self.next = if self.next + 1 == self.rows.len() { 0 } else { self.next + 1 };
        self.made += 1;
        row as usize
    }

    /// How many visits were made.
    pub(super) fn made(&self) -> u64 {
        self.made
    }

    /// How often each row was visited, counted anew from the drawn numbers.
    pub(super) fn per_row(&self) -> Vec<u64> {
        let rows = self.rows.len();
        let (whole, rest) = (self.made / rows as u64, (self.made % rows as u64) as usize);
        let mut visits = vec![0; rows];
        for (at, &row) in self.rows.iter().enumerate() {
            visits[row as usize] += whole + u64::from(at < rest);
        }
        visits
    }
}
