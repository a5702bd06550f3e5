//! Delay lines of edges: what an input waits in so that all inputs of a node arrive together, and what feedback
//! waits in until the next block.
//!
//! A line belongs to an edge and not to a plan: the next plan goes on with it. So what is inside is not lost when a
//! session is edited. If its delay changes, both delays are heard for [`FADE_FRAMES`], one fading into the other.

use std::cell::UnsafeCell;

use hocket_dsp::RowsRef;
use hocket_dsp::mix::Line;

use super::rows::Rows;

/// How long one delay fades into another.
const FADE_FRAMES: u32 = 512;

/// A ring for each row, and where the next frame goes.
pub(super) struct Ring {
    /// One ring after the other.
    samples: Box<[f32]>,
    /// Frames in each ring, a power of two.
    frames: usize,
    /// Frames written since the start.
    written: u64,
}

impl Ring {
    /// For delays up to `delay` and blocks up to `block` frames.
    ///
    /// Thread: control; allocates.
    fn new(rows: u16, delay: usize, block: usize) -> Ring {
        let frames = (delay + block).next_power_of_two();
        let samples = vec![0.0; frames * usize::from(rows)].into_boxed_slice();
        Ring { samples, frames, written: 0 }
    }

    /// Appends the frames of these rows.
    #[inline]
    fn push(&mut self, rows: RowsRef<'_>, first: usize) {
        let at = self.at(0);
        for (row, ring) in self.samples.chunks_exact_mut(self.frames).enumerate() {
            let input = rows.row(first + row);
            let (begin, wrapped) = input.split_at(input.len().min(ring.len() - at));
            copy(&mut ring[at..], begin);
            copy(ring, wrapped);
        }
        self.written += rows.frames() as u64;
    }

    /// Copies `out.len()` frames of a row that begin `back` frames before the next one to be written.
    #[inline]
    fn pull(&self, row: usize, back: usize, out: &mut [f32]) {
        let ring = &self.samples[row * self.frames..][..self.frames];
        let at = self.at(back);
        let (begin, wrapped) = out.split_at_mut(out.len().min(ring.len() - at));
        copy(begin, &ring[at..]);
        copy(wrapped, ring);
    }

    /// Where the frame is that is `back` frames before the next one to be written.
    #[inline]
    fn at(&self, back: usize) -> usize {
        (self.written as usize).wrapping_sub(back) & (self.frames - 1)
    }

    fn silence(&mut self) {
        self.samples.fill(0.0);
    }
}

/// The shorter of both counts.
#[inline]
fn copy(to: &mut [f32], from: &[f32]) {
    let count = to.len().min(from.len());
    hocket_dsp::rows::copy(&mut to[..count], &from[..count]);
}

/// The delay line of an input, which several plans may share.
///
/// The unit that has the input runs it (ONE-WRITER: rule R1 gives a line to one input), in the leader's plan
/// (ONE-PLAN). Between blocks it is the leader's (CLOSED).
#[repr(C, align(64))]
pub(crate) struct DelayCell {
    state: UnsafeCell<DelayState>,
    /// The longest delay that fits, for control threads.
    longest: usize,
}

// SAFETY: `DelayState` is `Send`. ONE-WRITER, CLOSED and ONE-PLAN, at the top of `bus.rs`, govern the sharing.
unsafe impl Sync for DelayCell {}

/// What is inside a [`DelayCell`].
pub(crate) struct DelayState {
    ring: Ring,
    /// What comes out.
    out: Rows,
    delay: usize,
    change: Option<Change>,
    /// Follows when the running change is over.
    then: Option<usize>,
}

/// From one delay to another.
#[derive(Clone, Copy)]
struct Change {
    from: usize,
    /// Frames until the ring holds what the new delay needs; the fade begins then.
    wait: u64,
    /// Frames of the fade that are over.
    over: u32,
}

impl DelayCell {
    /// A line that holds silence. `block`: the most frames of a block.
    ///
    /// Thread: control; allocates.
    pub(crate) fn new(rows: u16, delay: usize, block: usize) -> DelayCell {
        let (ring, out) = (Ring::new(rows, delay, block), Rows::new(rows, block));
        let longest = ring.frames - block;
        let state = DelayState { ring, out, delay, change: None, then: None };
        DelayCell { state: UnsafeCell::new(state), longest }
    }

    /// For an input that waited for nothing until now: it goes on without delay until there is something to
    /// fade into.
    ///
    /// Thread: control; allocates.
    pub(crate) fn joining(rows: u16, delay: usize, block: usize) -> DelayCell {
        let mut cell = DelayCell::new(rows, delay, block);
        let state = cell.state.get_mut();
        (state.delay, state.change) = (0, None);
        state.set(delay);
        cell
    }

    /// Whether a delay fits.
    pub(crate) fn holds(&self, delay: usize) -> bool {
        delay <= self.longest
    }

    /// What is inside.
    ///
    /// # Safety
    /// The caller is the worker that runs the unit of the line's input (ONE-WRITER) in the leader's plan (ONE-PLAN),
    /// or the leader while CLOSED holds. It uses one reference at a time.
    #[allow(clippy::mut_from_ref)]
    #[inline]
    pub(crate) unsafe fn get_mut(&self) -> &mut DelayState {
        // SAFETY: the caller's obligation.
        unsafe { &mut *self.state.get() }
    }

    /// What came out.
    ///
    /// # Safety
    /// As [`DelayCell::get_mut`]; the caller holds no reference from there.
    #[inline]
    pub(super) unsafe fn out(&self) -> &Rows {
        // SAFETY: the caller's obligation.
        unsafe { &(*self.state.get()).out }
    }
}

impl DelayState {
    /// Waits `delay` frames from now on, or when the running change is over.
    ///
    /// Thread: leader, between blocks.
    pub(crate) fn set(&mut self, delay: usize) {
        if self.change.is_some() {
            self.then = Some(delay);
        } else if delay != self.delay {
            let wait = (delay as u64).saturating_sub(self.ring.written);
            self.change = Some(Change { from: self.delay, wait, over: 0 });
            self.delay = delay;
        }
    }

    /// Takes the frames of these rows from row `first` on, and gives those of `delay` frames ago.
    ///
    /// Thread: worker, inside a block.
    #[inline]
    pub(super) fn run(&mut self, rows: RowsRef<'_>, first: usize) {
        let DelayState { ring, out, delay, change, .. } = self;
        let frames = rows.frames();
        ring.push(rows, first);
        match change {
            None => pull_all(ring, *delay, out, frames),
            Some(moving) => {
                if !moving.run(ring, *delay, out, frames) {
                    *change = None;
                    self.go_on();
                }
            }
        }
    }

    #[cold]
    fn go_on(&mut self) {
        if let Some(delay) = self.then.take() {
            self.set(delay);
        }
    }

    pub(super) fn silence(&mut self) {
        self.ring.silence();
        (self.change, self.delay) = (None, self.then.take().unwrap_or(self.delay));
    }
}

#[inline]
fn pull_all(ring: &Ring, delay: usize, out: &mut Rows, frames: usize) {
    let mut out = out.all_mut(frames);
    for row in 0..out.len() {
        ring.pull(row, delay + frames, out.row_mut(row));
    }
}

impl Change {
    /// Whether it goes on after this block.
    #[cold]
    fn run(&mut self, ring: &Ring, to: usize, out: &mut Rows, frames: usize) -> bool {
        pull_all(ring, self.from, out, frames);
        let still = (frames as u64).min(self.wait) as usize;
        self.wait -= still as u64;
        let fade = Line { from: 0.0, to: 1.0, frames: FADE_FRAMES };
        let mut out = out.all_mut(frames);
        for row in 0..out.len() {
            let later = &mut out.row_mut(row)[still..];
            let (mut new, mut at) = ([0.0; 64], 0);
            for piece in later.chunks_mut(new.len()) {
                ring.pull(row, to + frames - still - at, &mut new[..piece.len()]);
                for (i, (sample, new)) in piece.iter_mut().zip(&new).enumerate() {
                    let part = fade.gain_at(u64::from(self.over) + (at + i) as u64);
                    *sample += (new - *sample) * part;
                }
                at += piece.len();
            }
        }
        self.over = self.over.saturating_add((frames - still) as u32);
        self.over < FADE_FRAMES
    }
}

/// What comes from outside before a block: an engine input, or feedback.
///
/// Invariant FILLED: only the leader writes it, between blocks (CLOSED). Inside a block all workers may read.
pub(crate) struct PortCell {
    state: UnsafeCell<PortState>,
}

// SAFETY: `PortState` is `Send`; FILLED governs the sharing.
unsafe impl Sync for PortCell {}

/// What is inside a [`PortCell`].
pub(crate) struct PortState {
    rows: Rows,
    /// For feedback.
    ring: Ring,
    /// The longest block: what feedback waits.
    delay: usize,
    /// The rows may hold something else than silence.
    written: bool,
}

impl PortCell {
    /// Thread: control; allocates. `block`: the most frames of a block.
    pub(crate) fn new(rows: u16, block: usize) -> PortCell {
        // What feeds back waits for the longest block, so a block never needs what it puts out itself.
        let ring = Ring::new(rows, block, block);
        let rows = Rows::new(rows, block);
        let state = PortState { rows, ring, delay: block, written: false };
        PortCell { state: UnsafeCell::new(state) }
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
    /// The rows, for what the host plays.
    pub(crate) fn input_mut(&mut self, frames: usize) -> hocket_dsp::RowsMut<'_> {
        self.written = true;
        self.rows.all_mut(frames)
    }

    /// The host's frames have been heard; a host that writes nothing for the next block plays silence.
    pub(crate) fn forget(&mut self) {
        if std::mem::take(&mut self.written) {
            self.rows.silence();
        }
    }

    /// Before a block: what was put out one longest block ago.
    pub(super) fn arrive(&mut self, frames: usize) {
        let mut rows = self.rows.all_mut(frames);
        for row in 0..rows.len() {
            self.ring.pull(row, self.delay, rows.row_mut(row));
        }
    }

    /// After a block: what its source put out.
    pub(super) fn keep(&mut self, rows: RowsRef<'_>) {
        self.ring.push(rows, 0);
    }

    pub(super) fn silence(&mut self) {
        self.ring.silence();
        self.rows.silence();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cell's answer to numbered frames in blocks of these lengths; `set` changes the delay before a block.
    fn answer(cell: &DelayCell, blocks: &[usize], set: &[(usize, usize)]) -> Vec<f32> {
        let (mut heard, mut next) = (Vec::new(), 1.0);
        for (block, frames) in blocks.iter().enumerate() {
            // SAFETY: this is the only thread and the only reference.
            let state = unsafe { cell.get_mut() };
            set.iter().filter(|(at, _)| *at == block).for_each(|(_, delay)| state.set(*delay));
            let room = 16;
            let mut samples = vec![0.0; 2 * room];
            for sample in &mut samples[room..room + frames] {
                *sample = next;
                next += 1.0;
            }
            state.run(RowsRef::new(&samples, room, *frames), 1);
            heard.extend_from_slice(state.out.all(*frames).row(0));
        }
        heard
    }

    #[test]
    fn a_line_gives_back_what_it_took_after_its_delay_however_blocks_are_cut() {
        for delay in [1, 2, 15, 16, 17, 100] {
            for blocks in [vec![16; 20], vec![1; 320], [7, 16, 1, 3, 5].repeat(10)] {
                let heard = answer(&DelayCell::new(1, delay, 16), &blocks, &[]);
                let expected = (1..=heard.len()).map(|i| i.saturating_sub(delay) as f32);
                assert!(heard.iter().copied().eq(expected), "{delay} {blocks:?}");
            }
        }
    }

    #[test]
    fn one_delay_fades_into_another_when_its_frames_are_there() {
        let blocks = vec![16; 100];
        for (cell, delay_before, wait) in
            [(DelayCell::joining(1, 40, 16), 0, 40), (DelayCell::new(1, 100, 16), 100, 0)]
        {
            let set = if delay_before > 0 { vec![(10, 40)] } else { vec![] };
            let heard = answer(&cell, &blocks, &set);
            let begin = if delay_before > 0 { 160 } else { wait };
            let fade = FADE_FRAMES as usize;
            for (i, sample) in heard.iter().enumerate() {
                let at = |delay: usize| (i + 1).saturating_sub(delay) as f32;
                let (old, new) = (at(delay_before), at(40));
                match i {
                    _ if i <= begin => assert_eq!(*sample, old, "{i}"),
                    _ if i >= begin + fade => assert_eq!(*sample, new, "{i}"),
                    _ => assert!(
                        (old.min(new)..=old.max(new)).contains(sample)
                            && (sample - old).abs() > 0.0,
                        "{i}: {sample} between {old} and {new}"
                    ),
                }
            }
        }
    }

    #[test]
    fn a_change_during_a_change_follows_it_and_the_cut_into_blocks_is_not_heard() {
        let set = [(2, 30), (3, 10), (4, 70)];
        let whole = answer(&DelayCell::new(1, 100, 16), &[16; 100], &set);
        let mut cut = vec![16; 5];
        cut.extend([3, 13, 1, 15].repeat(47));
        cut.extend([16]);
        let parts = answer(&DelayCell::new(1, 100, 16), &cut, &set);
        assert_eq!(whole[..1500], parts[..1500]);
        let last = whole.len();
        assert_eq!(whole[last - 1], (last - 70) as f32, "the last one in the end");
        let mut steps = whole[200..].windows(2).map(|pair| (pair[1] - pair[0]).abs());
        assert!(steps.all(|step| step < 3.0), "no jump");
    }

    #[test]
    fn feedback_comes_one_longest_block_later_and_an_input_is_heard_once() {
        let port = PortCell::new(1, 16);
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
        let host = PortCell::new(1, 16);
        // SAFETY: as above.
        let state = unsafe { host.get_mut() };
        state.input_mut(16).row_mut(0).fill(0.5);
        assert_eq!(state.rows.all(16).row(0), [0.5; 16]);
        state.forget();
        assert_eq!(state.rows.all(16).row(0), [0.0; 16], "not a second time");
    }
}
