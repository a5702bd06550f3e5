//! What units read that no unit of the same block writes: engine inputs, and feedback from the block before.

use std::cell::UnsafeCell;
use std::sync::Arc;

use hocket_dsp::{RowsMut, RowsRef, rows};

use super::fade::{FADE_FRAMES, faded_at};
use super::ring::Ring;
use super::rows::Rows;

/// What comes from outside before a block: an engine input, or feedback.
///
/// Invariant FILLED: only the leader writes it, between blocks (CLOSED). Inside a block all workers may read.
pub(crate) struct PortCell {
    state: UnsafeCell<PortState>,
    /// The most frames of a block, for control threads.
    block: usize,
    /// The port whose place this one takes because blocks grow; what that one holds goes on here.
    before: Option<Arc<PortCell>>,
}

// SAFETY: `PortState` is `Send`; FILLED governs the sharing.
unsafe impl Sync for PortCell {}

/// What is inside a [`PortCell`].
pub(crate) struct PortState {
    rows: Rows,
    /// For feedback.
    ring: Ring,
    /// What feedback waits: the longest block, or longer.
    delay: usize,
    /// How many rows may hold something else than silence.
    written: u16,
    /// Whether it goes on where the port before was.
    inherited: bool,
    /// Frames since feedback became later, until what comes then has faded in.
    later: Option<usize>,
}

impl PortCell {
    /// Thread: control; allocates. `block`: the most frames of a block.
    pub(crate) fn input(rows: u16, block: usize) -> PortCell {
        PortCell::with_ring(rows, Ring::new(0, 0, block), 0, block)
    }

    /// Thread: control; allocates. `frames`: how long to wait at least. `block`: the most frames of a block.
    pub(crate) fn feedback(rows: u16, frames: usize, block: usize) -> PortCell {
        // What feeds back waits for the longest block, so a block never needs what it puts out itself.
        let delay = frames.max(block);
        PortCell::with_ring(rows, Ring::new(rows, delay, block), delay, block)
    }

    fn with_ring(rows: u16, ring: Ring, delay: usize, block: usize) -> PortCell {
        let rows = Rows::new(rows, block);
        let (written, inherited, later) = (0, false, None);
        let state = PortState { rows, ring, delay, written, inherited, later };
        PortCell { state: UnsafeCell::new(state), block, before: None }
    }

    /// This port in the place of one for shorter blocks.
    ///
    /// Thread: control.
    pub(crate) fn instead_of(self, before: &Arc<PortCell>) -> PortCell {
        PortCell { before: Some(Arc::clone(before)), ..self }
    }

    /// Whether it is long enough.
    pub(crate) fn holds(&self, block: usize) -> bool {
        block <= self.block
    }

    /// Goes on where the port before is. A second time does nothing.
    ///
    /// # Safety
    /// The caller is the leader while CLOSED and ONE-PLAN hold, and has no other reference.
    pub(super) unsafe fn inherit(&self) {
        let Some(before) = &self.before else { return };
        // SAFETY: the caller's obligation. The cells differ. The plan of the one before has been the leader's, so that one
        // has inherited.
        let (state, before) = unsafe { (self.get_mut(), before.get_mut()) };
        if !state.inherited {
            state.inherit(before);
        }
    }

    /// The rows, inside a block.
    ///
    /// # Safety
    /// FILLED: a block is open, or the caller is the leader and holds no reference from [`PortCell::get_mut`].
    #[inline]
    pub(super) unsafe fn rows(&self) -> &Rows {
        // SAFETY: the caller's obligation.
        unsafe { &(*self.state.get()).rows }
    }

    /// # Safety
    /// The caller is the leader while CLOSED and ONE-PLAN hold, and uses one reference at a time.
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn get_mut(&self) -> &mut PortState {
        // SAFETY: the caller's obligation.
        unsafe { &mut *self.state.get() }
    }
}

impl PortState {
    /// The first rows, for what the host plays.
    pub(crate) fn input_mut(&mut self, rows: u16, frames: usize) -> RowsMut<'_> {
        self.written = self.written.max(rows);
        self.rows.all_mut(frames).first(rows.into())
    }

    /// Whether the host has written nothing but silence for a block of so many frames.
    pub(super) fn is_silent(&self, frames: usize) -> bool {
        let rows = self.rows.all(frames.min(self.rows.room()));
        (0..usize::from(self.written)).all(|row| is_silent(rows.row(row)))
    }

    /// The host's frames have been heard; a host that writes nothing for the next block plays silence.
    pub(crate) fn forget(&mut self) {
        let (written, room) = (std::mem::take(&mut self.written), self.rows.room());
        self.rows.clear(0..written, room);
    }

    /// Before a block: what was put out so long ago as feedback waits.
    pub(super) fn arrive(&mut self, frames: usize) {
        let mut rows = self.rows.all_mut(frames);
        for row in 0..rows.len() {
            self.ring.pull(row, self.delay, rows.row_mut(row));
        }
        if self.later.is_some() {
            self.fade_in(frames);
        }
    }

    /// What feeds back begins anew where it became later.
    #[cold]
    fn fade_in(&mut self, frames: usize) {
        let PortState { rows, delay, later: Some(over), .. } = self else { return };
        let mut rows = rows.all_mut(frames);
        let fade = FADE_FRAMES as usize;
        for sample in 0..frames {
            let at = *over + sample;
            if (*delay..*delay + fade).contains(&at) {
                let gain = faded_at(at - *delay, fade);
                rows.iter_mut().for_each(|row| row[sample] *= gain);
            }
        }
        *over += frames;
        if *over >= *delay + fade {
            self.later = None;
        }
    }

    /// Goes on where a port for shorter blocks is. Feedback becomes later by the difference, if it waited for no longer than
    /// the longest block.
    fn inherit(&mut self, before: &mut PortState) {
        self.inherited = true;
        self.written = before.written;
        let frames = before.rows.room().min(self.rows.room());
        let (from, mut to) = (before.rows.all(frames), self.rows.all_mut(frames));
        for row in 0..from.len().min(to.len()) {
            rows::copy(to.row_mut(row), from.row(row));
        }
        if self.ring.has_rows() {
            self.ring.go_on_later(&before.ring, before.delay, self.delay);
            self.later = (self.delay > before.delay).then_some(0);
        }
    }

    /// After a block: what its source put out.
    pub(super) fn keep(&mut self, rows: RowsRef<'_>) {
        self.ring.push(rows, 0, 0..rows.frames());
    }

    pub(super) fn silence(&mut self) {
        self.ring.silence();
        self.rows.silence();
        self.later = None;
    }
}

/// Whether a row has no sound in it.
pub(super) fn is_silent(row: &[f32]) -> bool {
    row.iter().all(|sample| *sample == 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feedback_comes_one_longest_block_later_and_an_input_is_heard_once() {
        let port = PortCell::feedback(1, 0, 16);
        let (mut heard, mut next) = (Vec::new(), 1.0);
        for frames in [16, 5, 11, 16, 1, 15, 9, 16] {
            // SAFETY: this is the only thread and the only reference.
            let state = unsafe { port.get_mut() };
            state.arrive(frames);
            heard.extend_from_slice(state.rows.all(frames).row(0));
            let out: Vec<f32> = (0..frames).map(|i| next + i as f32).collect();
            next += frames as f32;
            state.keep(RowsRef::new(&out, frames, frames));
        }
        assert!(heard.iter().copied().eq((1..=heard.len()).map(|i| i.saturating_sub(16) as f32)));
        let host = PortCell::input(1, 16);
        // SAFETY: as above.
        let state = unsafe { host.get_mut() };
        state.input_mut(1, 16).row_mut(0).fill(0.5);
        assert_eq!(state.rows.all(16).row(0), [0.5; 16]);
        state.forget();
        assert_eq!(state.rows.all(16).row(0), [0.0; 16], "not a second time");
    }
}
