//! M3: floating-point numbers in memory.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::mem::{BUFFER_BYTES, ROW_BYTES, Visits};
use crate::kernel::{Kernel, Ops, Wrong};
use crate::random::digest;

const COLUMNS: usize = ROW_BYTES / size_of::<f64>();
/// What is added: a whole number, so that every sum below 2^53 is exact.
const INPUT: f64 = 3.0;

type Row = [AtomicU64; COLUMNS];

/// `dbl_mem`: a random row of a 32 MB buffer, each of its four doubles increased `load` times.
///
/// As [`IntMem`](super::IntMem), with additions that need the floating-point units beside the
/// addresses that need the integer ones. A pass is one row. The doubles are kept as the bits of
/// `Relaxed` atomics for the same reason.
#[derive(Debug)]
pub struct DblMem {
    buffer: Vec<Row>,
    visits: Visits,
    load: u32,
}

impl DblMem {
    /// A buffer of [`BUFFER_BYTES`], all of it touched. `seed` draws the rows.
    ///
    /// Cost: 36 MB and about 30 ms.
    pub fn new(load: u32, seed: u64) -> DblMem {
        DblMem::with_rows(BUFFER_BYTES / ROW_BYTES, load, seed)
    }

    fn with_rows(rows: usize, load: u32, seed: u64) -> DblMem {
        let buffer = (0..rows).map(|row| fresh_row(black_box(row))).collect();
        DblMem { buffer, visits: Visits::new(rows, seed), load }
    }

    /// Additions to each double of a row.
    pub fn load(&self) -> u32 {
        self.load
    }
}

impl Kernel for DblMem {
    fn name(&self) -> &'static str {
        "dbl_mem"
    }

    fn ops(&self) -> Ops {
        let each = u64::from(self.load) * COLUMNS as u64;
        Ops { int: 0, float: each, loads: each + 1, stores: each }
    }

    fn run(&mut self, passes: u64) -> u64 {
        let input = black_box(INPUT);
        let mut sum = 0u64;
        for _ in 0..passes {
            let row = &self.buffer[self.visits.next()];
            for _ in 0..self.load {
                increase(row, input);
            }
            // Relaxed: this thread's own number.
            sum = sum.wrapping_add(row[0].load(Relaxed));
        }
        black_box(sum)
    }

    fn check(&self) -> Result<(), Wrong> {
        let visits = self.visits.per_row();
        let should = visits.iter().enumerate().flat_map(|(row, &n)| {
            let added = (n * u64::from(self.load)) as f64 * INPUT;
            (0..COLUMNS).map(move |column| (start(row, column) + added).to_bits())
        });
        // Relaxed: nobody else has the buffer.
        let found = self.buffer.iter().flatten().map(|cell| cell.load(Relaxed));
        let what = format!("the digest of the buffer after {} rows", self.visits.made());
        Wrong::unless_equal(&what, digest(found), digest(should))
    }
}

#[inline(always)]
fn increase(row: &Row, input: f64) {
    for cell in row {
        // Relaxed: this thread's own number; see the type.
        let sum = f64::from_bits(cell.load(Relaxed)) + input;
        cell.store(sum.to_bits(), Relaxed);
    }
}

fn start(row: usize, column: usize) -> f64 {
    (row * COLUMNS + column) as f64
}

fn fresh_row(row: usize) -> Row {
    std::array::from_fn(|column| AtomicU64::new(start(row, column).to_bits()))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_visit_adds_load_times_the_input() {
        let mut kernel = DblMem::with_rows(64, 32, 7);
        kernel.run(100);
        kernel.run(1_000);
        assert_eq!(kernel.check(), Ok(()));
    }

    #[test]
    fn a_missing_addition_is_noticed() {
        let mut kernel = DblMem::with_rows(64, 4, 7);
        kernel.run(10);
        kernel.buffer[0][3].store((-1.0f64).to_bits(), Relaxed);
        assert!(kernel.check().is_err());
    }

    #[test]
    fn the_buffer_has_the_size_of_the_thesis() {
        assert_eq!(DblMem::new(32, 1).buffer.len() * size_of::<Row>(), BUFFER_BYTES);
    }
}
