//! What a delay line or a port holds: the last frames of its rows. Reads them some frames late, also while one delay fades
//! into another.

use std::ops::Range;

use hocket_dsp::{RowsRef, mix};

use super::fade::{FADE_FRAMES, FADED, faded_at};
use super::heard::Heard;
use super::rows::Rows;

/// A ring for each row, and where the next frame goes.
///
/// What every block accesses comes first.
#[repr(C)]
pub(super) struct Ring {
    /// One ring after the other, in cache lines of their own.
    samples: Rows,
    /// Where the next frame goes, before the end of the ring.
    next: u32,
    rows: u32,
    /// Frames written since the start.
    written: u64,
    /// As long as fewer frames than these are written, the shorter ring is needed.
    alone_from: u64,
    /// A shorter ring that goes on beside this one, until this one holds all that is due. So nothing is copied.
    before: Option<Box<Ring>>,
    /// The most frames of a block.
    block: usize,
}

impl Ring {
    /// For delays up to `delay` and blocks up to `block` frames.
    ///
    /// A ring is a whole number of such blocks long, so that those that are this long do not wrap as they are written.
    ///
    /// Thread: control; allocates, and touches all of the memory.
    pub(super) fn new(rows: u16, delay: usize, block: usize) -> Ring {
        let samples = Rows::new(rows, (delay + block).next_multiple_of(block.max(1)));
        let (rows, next, written) = (rows.into(), 0, 0);
        Ring { samples, rows, next, written, alone_from: 0, before: None, block }
    }

    /// How much of it every block accesses, in bytes.
    pub(super) const EVERY_BLOCK: usize = std::mem::offset_of!(Ring, alone_from);

    /// Frames in each ring.
    #[inline]
    pub(super) fn frames(&self) -> usize {
        self.samples.room()
    }

    /// Room for a shorter ring.
    ///
    /// Thread: control; allocates.
    pub(super) fn following(self) -> Ring {
        Ring { before: Some(Box::new(Ring::new(0, 0, 0))), ..self }
    }

    /// Goes on after a shorter ring of which no delay longer than `delay` is due.
    pub(super) fn go_on(&mut self, shorter: &mut Ring, delay: usize) {
        let Some(before) = &mut self.before else { return };
        std::mem::swap(&mut **before, shorter);
        self.alone_from = delay as u64;
    }

    /// Whether the shorter ring is not needed any more, if there was one.
    pub(super) fn is_alone(&self) -> bool {
        self.written >= self.alone_from
    }

    /// How many frames may come at once: blocks may be longer than those that the shorter ring is for.
    pub(super) fn at_once(&self) -> usize {
        match &self.before {
            Some(before) if !self.is_alone() => self.block.min(before.at_once()),
            _ => self.block,
        }
    }

    /// Whether it is for any rows.
    pub(super) fn has_rows(&self) -> bool {
        self.rows > 0
    }

    /// Goes on where a ring of the same rows is whose blocks were shorter. What it holds of the last `from` frames comes
    /// first, then silence, until `to` frames are there: so a longer way loses and repeats nothing. Both ends of the
    /// silence fade; that behind it is the caller's.
    ///
    /// Cost: a copy of `to` frames.
    pub(super) fn go_on_later(&mut self, shorter: &Ring, from: usize, to: usize) {
        for row in 0..self.rows as usize {
            let (held, silent) = self.row_mut(row)[..to].split_at_mut(from);
            shorter.pull(row, from, held);
            if from < to {
                fade_out(held);
                mix::clear(silent);
            }
        }
        self.written = to as u64;
        self.next = if to < self.frames() { to as u32 } else { 0 };
    }

    /// Appends the frames of these rows that are at `range`.
    pub(super) fn push(&mut self, rows: RowsRef<'_>, first: usize, range: Range<usize>) {
        if !self.is_alone()
            && let Some(before) = &mut self.before
        {
            before.push(rows, first, range.clone());
        }
        self.append(rows, first, range);
    }

    /// As [`Ring::push`] to a ring that is alone.
    #[inline]
    pub(super) fn append(&mut self, rows: RowsRef<'_>, first: usize, range: Range<usize>) {
        let at = self.next as usize;
        let (end, count) = (self.frames(), range.len());
        for row in 0..self.rows as usize {
            let input = &rows.row(first + row)[range.clone()];
            let (begin, wrapped) = input.split_at(count.min(end - at));
            let ring = self.row_mut(row);
            copy(&mut ring[at..], begin);
            if !wrapped.is_empty() {
                copy(ring, wrapped);
            }
        }
        self.written += count as u64;
        let next = at + count;
        self.next = if next < end { next } else { next - end } as u32;
    }

    /// Copies `out.len()` frames of a row that begin `back` frames before the next one to be written.
    #[inline]
    pub(super) fn pull(&self, row: usize, back: usize, out: &mut [f32]) {
        if (back as u64) > self.written
            && let Some(before) = &self.before
        {
            return before.pull(row, back, out);
        }
        let ring = &self.samples.samples()[row * self.frames()..][..self.frames()];
        let at = self.at(back);
        let (begin, wrapped) = out.split_at_mut(out.len().min(ring.len() - at));
        copy(begin, &ring[at..]);
        copy(wrapped, ring);
    }

    /// What a sum takes of it: the frames that begin `back` frames before the next one to be written.
    #[inline]
    pub(super) fn heard(&self, back: usize, gain_lin: f32) -> Heard<'_> {
        Heard { rows: &self.samples, at: self.at(back), gain_lin }
    }

    /// Prefetches where the next `frames` frames go.
    #[inline]
    pub(super) fn fetch(&self, frames: usize) {
        let at = self.next as usize;
        Heard { rows: &self.samples, at, gain_lin: 1.0 }.fetch(0..self.rows as usize, frames);
    }

    /// Where the frame is that is `back` frames before the next one to be written: no more than there are in a ring.
    #[inline]
    fn at(&self, back: usize) -> usize {
        debug_assert!(back <= self.frames(), "{back} frames back in a ring of {}", self.frames());
        let next = self.next as usize;
        if back <= next { next - back } else { next + self.frames() - back }
    }

    #[inline]
    fn row_mut(&mut self, row: usize) -> &mut [f32] {
        let frames = self.frames();
        &mut self.samples.samples_mut()[row * frames..][..frames]
    }

    pub(super) fn silence(&mut self) {
        self.samples.silence();
        self.before.iter_mut().for_each(|before| before.silence());
    }
}

/// Fades the end of a row out.
fn fade_out(row: &mut [f32]) {
    let fade = row.len().min(FADE_FRAMES as usize);
    let from = row.len() - fade;
    for (place, sample) in row[from..].iter_mut().enumerate() {
        *sample *= 1.0 - faded_at(place, fade);
    }
}

/// The shorter of both counts.
#[inline]
fn copy(to: &mut [f32], from: &[f32]) {
    let count = to.len().min(from.len());
    hocket_dsp::rows::copy(&mut to[..count], &from[..count]);
}

/// The frames at `range` of a block, each `delay` frames late. The ring holds the first `frames` of the block already.
pub(super) fn pull_all(
    ring: &Ring,
    delay: usize,
    out: &mut Rows,
    range: Range<usize>,
    frames: usize,
) {
    let mut out = out.all_mut(frames);
    for row in 0..out.len() {
        ring.pull(row, delay + frames - range.start, &mut out.row_mut(row)[range.clone()]);
    }
}

/// From one delay to another, with equal gain: both are one sound. Delays differ by little, so its low frequencies meet in
/// phase, and equal power would make them up to 3 dB louder in the middle.
#[derive(Clone, Copy)]
pub(super) struct DelayChange {
    pub(super) from: usize,
    /// Frames until the ring holds what the new delay needs; the fade begins then.
    wait: u64,
    /// Frames of the fade that are over.
    over: u32,
}

impl DelayChange {
    /// `wait`: frames until it begins.
    pub(super) fn from(from: usize, wait: u64) -> DelayChange {
        DelayChange { from, wait, over: 0 }
    }

    /// Whether something of the new delay has been heard.
    pub(super) fn has_begun(self) -> bool {
        self.over > 0
    }

    pub(super) fn is_over(self) -> bool {
        self.over == FADE_FRAMES
    }

    /// The frames at `range` of a block, as far as the change goes. Returns where it ended.
    pub(super) fn run(
        &mut self,
        ring: &Ring,
        to: usize,
        out: &mut Rows,
        range: Range<usize>,
        frames: usize,
    ) -> usize {
        let still = range.len().min(usize::try_from(self.wait).unwrap_or(usize::MAX));
        let fading = (range.len() - still).min((FADE_FRAMES - self.over) as usize);
        let (begin, end) = (range.start + still, range.start + still + fading);
        pull_all(ring, self.from, out, range.start..end, frames);
        let parts = &FADED[self.over as usize..][..fading];
        let mut out = out.all_mut(frames);
        for row in 0..out.len() {
            let (mut new, mut at) = ([0.0; 64], begin);
            let pieces = out.row_mut(row)[begin..end].chunks_mut(new.len());
            for (piece, parts) in pieces.zip(parts.chunks(new.len())) {
                ring.pull(row, to + frames - at, &mut new[..piece.len()]);
                for ((sample, new), part) in piece.iter_mut().zip(&new).zip(parts) {
                    *sample += (new - *sample) * part;
                }
                at += piece.len();
            }
        }
        self.wait -= still as u64;
        self.over += fading as u32;
        end
    }
}
