//! M1 and M2: integers in memory.

use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::mem::{BUFFER_BYTES, ROW_BYTES, Visits};
use crate::kernel::{Kernel, Ops, Wrong};
use crate::random::digest;

const COLUMNS: usize = ROW_BYTES / size_of::<u32>();
/// What is added. Odd, so that no number of additions below 2^32 gets lost in the wrap.
const INPUT: u32 = 3;

type Row = [AtomicU32; COLUMNS];

/// `int_mem`: a random row of a 32 MB buffer, each of its eight 32-bit integers incremented `load`
/// times.
///
/// With a load of 32 (M1) the arithmetic units are kept busy, with 4 (M2) the thread mostly waits
/// for memory. A pass is one row.
///
/// The integers are atomics used with `Relaxed`, which is an ordinary load, addition and store: it
/// keeps the compiler from adding `load` times the input at once, as the original did not either.
#[derive(Debug)]
pub struct IntMem {
    buffer: Vec<Row>,
    visits: Visits,
    load: u32,
}

impl IntMem {
    /// A buffer of [`BUFFER_BYTES`], all of it touched. `seed` draws the rows.
    ///
    /// Cost: 36 MB and about 30 ms.
    pub fn new(load: u32, seed: u64) -> IntMem {
        IntMem::with_rows(BUFFER_BYTES / ROW_BYTES, load, seed)
    }

    fn with_rows(rows: usize, load: u32, seed: u64) -> IntMem {
        let buffer = (0..rows as u32).map(|row| fresh_row(black_box(row))).collect();
        IntMem { buffer, visits: Visits::new(rows, seed), load }
    }

    /// Increments of each integer of a row.
    pub fn load(&self) -> u32 {
        self.load
    }
}

impl Kernel for IntMem {
    fn name(&self) -> &'static str {
        "int_mem"
    }

    fn ops(&self) -> Ops {
        let each = u64::from(self.load) * COLUMNS as u64;
        Ops { int: each, float: 0, loads: each + 1, stores: each }
    }

    fn run(&mut self, passes: u64) -> u64 {
        let input = black_box(INPUT);
        let mut sum = 0u64;
        for _ in 0..passes {
            let row = &self.buffer[self.visits.next()];
            for _ in 0..self.load {
                increment(row, input);
            }
            // Relaxed: this thread's own number.
            sum = sum.wrapping_add(u64::from(row[0].load(Relaxed)));
        }
        black_box(sum)
    }

    fn check(&self) -> Result<(), Wrong> {
        let expected = |row: usize, visits: u64| {
            let added = (visits as u32).wrapping_mul(self.load).wrapping_mul(INPUT);
            (0..COLUMNS as u32).map(move |column| start(row as u32, column).wrapping_add(added))
        };
        let visits = self.visits.per_row();
        let should = visits.iter().enumerate().flat_map(|(row, &n)| expected(row, n));
        // Relaxed: nobody else has the buffer.
        let found = self.buffer.iter().flatten().map(|cell| cell.load(Relaxed));
        let what = format!("the digest of the buffer after {} rows", self.visits.made());
        Wrong::unless_equal(&what, digest(found.map(u64::from)), digest(should.map(u64::from)))
    }
}

#[inline(always)]
fn increment(row: &Row, input: u32) {
    for cell in row {
        // Relaxed: this thread's own number; see the type.
        cell.store(cell.load(Relaxed).wrapping_add(input), Relaxed);
    }
}

fn start(row: u32, column: u32) -> u32 {
    row.wrapping_mul(COLUMNS as u32).wrapping_add(column)
}

fn fresh_row(row: u32) -> Row {
    std::array::from_fn(|column| AtomicU32::new(start(row, column as u32)))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_visit_adds_load_times_the_input() {
        for load in [4, 32] {
            let mut kernel = IntMem::with_rows(64, load, 7);
            kernel.run(100);
            kernel.run(1_000);
            assert_eq!(kernel.check(), Ok(()), "load {load}");
        }
    }

    #[test]
    fn a_missing_increment_is_noticed() {
        let mut kernel = IntMem::with_rows(64, 4, 7);
        kernel.run(10);
        kernel.buffer[63][7].fetch_sub(INPUT, Relaxed);
        assert!(kernel.check().is_err());
    }

    #[test]
    fn the_buffer_has_the_size_of_the_thesis() {
        assert_eq!(IntMem::new(4, 1).buffer.len() * size_of::<Row>(), BUFFER_BYTES);
    }
}
