//! The memory of a bus: rows of samples in cache lines of their own.
//!
//! Invariant HALVES, which SAFETY comments here cite: a [`Line`] is [`LINE`] samples without padding, so lines in
//! sequence are samples in sequence.

use std::ops::Range;

use hocket_dsp::{RowsMut, RowsRef, StereoRef, finite, mix};

use super::fetch::Stretch;
use super::memory::{Memory, Slice};

/// A cache line of samples.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([f32; LINE]);

/// Samples in a line.
const LINE: usize = 16;

/// Rows of equal length, one after the other, in cache lines that hold nothing else.
///
/// When a worker on another core takes the unit over, it moves only the lines that it needs. No other
/// worker writes to these lines.
pub(super) struct Rows {
    lines: Slice<Line>,
    /// Capacity of a row, in samples.
    room: usize,
}

impl Rows {
    /// Silent rows, by themselves.
    ///
    /// Thread: control; allocates.
    pub(super) fn new(rows: u16, frames: usize) -> Rows {
        Rows::within(&Memory::own(), rows, frames)
    }

    /// Silent rows in a plan's memory.
    ///
    /// Thread: control; allocates.
    pub(super) fn within(memory: &Memory, rows: u16, frames: usize) -> Rows {
        let lines = frames.div_ceil(LINE);
        let all = (0..usize::from(rows) * lines).map(|_| Line([0.0; LINE]));
        Rows { lines: memory.keep(all), room: lines * LINE }
    }

    /// The memory of the first rows, each one by itself. A prefetch needs no more.
    pub(super) fn stretches(&self) -> impl Iterator<Item = Stretch> {
        let rows = self.lines.chunks((self.room / LINE).max(1));
        rows.take(2).filter_map(Stretch::of)
    }

    /// Capacity of a row, in samples. All rows of a plan have the same.
    #[inline]
    pub(super) fn room(&self) -> usize {
        self.room
    }

    /// All rows, one after the other.
    #[inline]
    pub(super) fn samples(&self) -> &[f32] {
        let samples = self.lines.as_ptr().cast::<f32>();
        // SAFETY: HALVES: so many samples in sequence.
        unsafe { std::slice::from_raw_parts(samples, self.lines.len() * LINE) }
    }

    /// Like [`Rows::samples`], for writing.
    #[inline]
    pub(super) fn samples_mut(&mut self) -> &mut [f32] {
        let (samples, count) = (self.lines.as_mut_ptr().cast::<f32>(), self.lines.len() * LINE);
        // SAFETY: HALVES, as above. The borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(samples, count) }
    }

    /// The first `frames` of the first two rows; the right one is empty if there is only one.
    pub(super) fn stereo(&self, frames: usize) -> StereoRef<'_> {
        let rows = self.all(frames);
        let right = if rows.len() > 1 { rows.row(1) } else { &[] };
        StereoRef { left: if rows.is_empty() { &[] } else { rows.row(0) }, right }
    }

    /// The first `frames` of all rows.
    #[inline]
    pub(super) fn all(&self, frames: usize) -> RowsRef<'_> {
        RowsRef::new(self.samples(), self.room, frames)
    }

    /// Like [`Rows::all`], for writing.
    #[inline]
    pub(super) fn all_mut(&mut self, frames: usize) -> RowsMut<'_> {
        let room = self.room;
        RowsMut::new(self.samples_mut(), room, frames)
    }

    /// The ranges of [`Rows::samples`] that hold the first `frames` of `rows`, for loops that treat all rows alike.
    ///
    /// If the frames fill the rows, as they usually do, one range covers all of them. Otherwise there is one for
    /// each row.
    #[inline]
    pub(super) fn pieces(
        &self,
        rows: Range<u16>,
        frames: usize,
    ) -> impl Iterator<Item = Range<usize>> + use<> {
        let (room, first) = (self.room, usize::from(rows.start));
        let count = usize::from(rows.end) - first;
        let (pieces, length) = match frames == room {
            true => (usize::from(count > 0), count * room),
            false => (count, frames),
        };
        (first..first + pieces).map(move |row| row * room..row * room + length)
    }

    /// Whether the first `frames` of `rows` hold neither NaN nor infinity.
    #[inline]
    pub(super) fn are_finite(&self, rows: Range<u16>, frames: usize) -> bool {
        self.pieces(rows, frames).all(|piece| finite::all_finite(&self.samples()[piece]))
    }

    /// Silences the first `frames` of `rows`.
    #[inline]
    pub(super) fn clear(&mut self, rows: Range<u16>, frames: usize) {
        for piece in self.pieces(rows, frames) {
            mix::clear(&mut self.samples_mut()[piece]);
        }
    }

    /// Silences all of them.
    pub(super) fn silence(&mut self) {
        self.lines.fill(Line([0.0; LINE]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One length of blocks fills the rows, the other two do not.
    #[test]
    fn a_clear_silences_the_frames_of_these_rows_and_no_other() {
        for (frames, cleared) in
            [32, 20, 1].into_iter().flat_map(|f| [(f, 0..3), (f, 1..2), (f, 2..2)])
        {
            let mut rows = Rows::new(3, 20);
            assert_eq!(rows.room(), 32);
            rows.samples_mut().fill(1.0);
            rows.clear(cleared.clone(), frames);
            for row in 0..3 {
                let (begin, rest) = rows.all(32).row(row).split_at(frames);
                let expected = if cleared.contains(&(row as u16)) { 0.0 } else { 1.0 };
                assert!(begin.iter().all(|sample| *sample == expected), "{frames}, row {row}");
                assert!(rest.iter().all(|sample| *sample == 1.0), "{frames}, row {row}");
            }
        }
    }

    #[test]
    fn every_frame_of_these_rows_is_looked_at_for_numbers() {
        for frames in [32, 20] {
            for place in [0, frames - 1, 32, 32 + frames - 1] {
                let mut rows = Rows::new(3, 32);
                assert!(rows.are_finite(0..3, frames));
                rows.samples_mut()[place] = f32::NAN;
                assert!(!rows.are_finite(0..2, frames), "{frames} frames, sample {place}");
                assert!(rows.are_finite(2..3, frames), "another row");
            }
        }
        let mut rows = Rows::new(2, 32);
        rows.samples_mut()[20] = f32::INFINITY;
        assert!(rows.are_finite(0..2, 20), "behind the block");
    }

    #[test]
    fn a_bus_of_one_row_has_no_right_side_and_one_of_none_is_silent() {
        assert_eq!(
            (Rows::new(1, 8).stereo(8).left.len(), Rows::new(1, 8).stereo(8).right.len()),
            (8, 0)
        );
        assert_eq!(Rows::new(0, 8).stereo(8).left.len(), 0);
    }
}
