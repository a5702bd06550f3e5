//! What a sum takes from one bus or line in a block.

use std::ops::Range;

use super::rows::Rows;

/// Rows that a sum takes, and where in them the block begins: rows of a ring go on at their first frame behind their last.
#[derive(Clone, Copy)]
pub(super) struct Heard<'a> {
    pub rows: &'a Rows,
    pub at: usize,
    pub gain_lin: f32,
}

impl<'a> Heard<'a> {
    /// Rows that begin with the block.
    #[inline]
    pub(super) fn of(rows: &'a Rows, gain_lin: f32) -> Heard<'a> {
        Heard { rows, at: 0, gain_lin }
    }

    /// How many of the block's first frames lie before the end of the rows. The others lie at the beginning.
    #[inline]
    pub(super) fn until_wrap(&self, frames: usize) -> usize {
        frames.min(self.rows.room() - self.at)
    }

    /// Frames of a row, all before [`Heard::until_wrap`] or none.
    #[inline]
    pub(super) fn part(&self, row: usize, frames: Range<usize>) -> &'a [f32] {
        let (room, count) = (self.rows.room(), frames.len());
        let at = self.at + frames.start;
        let at = if at < room { at } else { at - room };
        &self.rows.samples()[row * room + at..][..count]
    }

    /// Prefetches the block's frames of these rows.
    #[inline]
    pub(super) fn fetch(&self, rows: Range<usize>, frames: usize) {
        let room = self.rows.room();
        for row in rows {
            let first = self.rows.samples().as_ptr().addr() + 4 * (row * room + self.at);
            (first..first + 4 * frames + 60).step_by(64).for_each(hocket_rt::fetch_line);
        }
    }
}
