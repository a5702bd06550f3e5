//! Filling and copying rows without the C library.
//!
//! A compiler turns `row.fill(0.0)` and `copy_from_slice` into calls of the C library's `memset` and
//! `memcpy`. Where the CPU has AVX-512, glibc's take the registers that came with it (numbers 16 to 31,
//! 256 bits of each). On the Cascade Lake server of our records a thread that comes to them after a pause of
//! a period works 1.6 times slower for 30 to 50 us, whatever it then does. That Intel's cores switch the upper
//! parts of their vector units off after two thirds of a millisecond without use, and work at a reduced rate
//! until they are up again, is described for Skylake by A. Fog ("The microarchitecture of Intel, AMD and VIA
//! CPUs") and T. Downs ("Gathering Intel on Intel AVX-512 Transitions", 2020). An audio thread comes once a
//! period, so it pays each time: `docs/scheduling.md` has the figures.
//!
//! The functions here give the same bytes 16 at once, in the registers that every x86-64 program has. They
//! are for the block path; elsewhere the library's are better. A test build sees who forgets
//! (`hocket-engine/tests/realtime`). A processor that computes with such registers on purpose pays anyway, and
//! may as well fill and copy with them.

use std::sync::atomic::{Ordering, compiler_fence};

/// Elements moved at once: 16 bytes of samples.
const PIECE: usize = 4;

/// Moves of more than 128 bytes become calls again.
const fn fits<T>() -> bool {
    PIECE * size_of::<T>() <= 128
}

/// A loop with this inside is not taken for a fill or a copy as a whole. Emits no instruction, and orders
/// nothing between threads.
#[inline(always)]
pub(crate) fn keep_apart() {
    compiler_fence(Ordering::SeqCst);
}

/// Writes `value` everywhere.
///
/// Cost: a store a 16 bytes; no allocation.
#[inline]
pub fn fill<T: Copy>(row: &mut [T], value: T) {
    const { assert!(fits::<T>(), "an element is too large") }
    let (pieces, rest) = row.as_chunks_mut::<PIECE>();
    for piece in pieces {
        *piece = [value; PIECE];
        keep_apart();
    }
    for element in rest {
        *element = value;
        keep_apart();
    }
}

/// Copies `from` to `to`.
///
/// Cost: a load and a store a 16 bytes; no allocation.
///
/// # Panics
/// If the lengths differ.
#[inline]
pub fn copy<T: Copy>(to: &mut [T], from: &[T]) {
    const { assert!(fits::<T>(), "an element is too large") }
    assert_eq!(to.len(), from.len(), "as much as there is room for");
    let ((to, to_rest), (from, from_rest)) =
        (to.as_chunks_mut::<PIECE>(), from.as_chunks::<PIECE>());
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
        keep_apart();
    }
    for (to, from) in to_rest.iter_mut().zip(from_rest) {
        *to = *from;
        keep_apart();
    }
}

/// Moves the last `row.len() - by` elements to the front; what they leave at the end stays.
///
/// Cost: as [`copy`] where `by` is large; one copy for each `by` elements.
///
/// # Panics
/// If `by` is longer than the row.
#[inline]
pub fn shift_down<T: Copy>(row: &mut [T], by: usize) {
    assert!(by <= row.len(), "by no more than the row has");
    let mut rest = row;
    while by > 0 && rest.len() > by {
        let length = by.min(rest.len() - by);
        let (front, back) = rest.split_at_mut(by);
        copy(&mut front[..length], &back[..length]);
        rest = back;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_any_length_are_filled_and_copied() {
        for length in 0..40 {
            let from: Vec<u32> = (1..=length).collect();
            let mut to = vec![0; length as usize];
            copy(&mut to, &from);
            assert_eq!(to, from);
            fill(&mut to, 7);
            assert!(to.iter().all(|element| *element == 7));
        }
    }

    #[test]
    fn every_bit_is_copied() {
        let from = [f32::from_bits(0x7fa0_0001), -0.0, f32::from_bits(1), f32::NEG_INFINITY, 0.5];
        let mut to = [1.0; 5];
        copy(&mut to, &from);
        assert_eq!(to.map(f32::to_bits), from.map(f32::to_bits));
    }

    #[test]
    fn a_shift_is_what_the_library_does() {
        for length in 1..30 {
            for by in 0..=length {
                let mut row: Vec<usize> = (0..length).collect();
                let mut expected = row.clone();
                expected.copy_within(by.., 0);
                shift_down(&mut row, by);
                assert_eq!(row, expected, "{length} by {by}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "as much as there is room for")]
    fn what_does_not_fit_is_not_copied() {
        copy(&mut [0; 3], &[1; 4]);
    }
}
