//! Delay lines of edges: what an input waits in so that all inputs of a node arrive together, and what feedback
//! waits in until the next block.
//!
//! A line belongs to an edge and not to a plan: the next plan goes on with it. So what is inside is not lost when a
//! session is edited. If its delay changes, both delays are heard for [`FADE_FRAMES`], one fading into the other. A line
//! also fades the gain of its edge, so edges that come, go or change their gain have one for that time.
//!
//! What is heard never depends on how long a line exists: a control thread may drop one that has nothing left to do, and
//! does so when it happens to look.

use std::cell::UnsafeCell;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use hocket_dsp::mix;
use hocket_dsp::{RowsMut, RowsRef};

use super::rows::Rows;

/// How long a delay or a gain fades into another: 11 ms at 48 kHz.
pub(crate) const FADE_FRAMES: u32 = 512;

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

    /// Takes over what a shorter ring holds.
    fn go_on(&mut self, before: &Ring) {
        let known = before.frames.min(self.frames);
        let (rings, frames) = (self.samples.len() / self.frames, self.frames);
        self.written = before.written;
        for row in 0..rings {
            for back in 1..=known {
                let from = before.samples[row * before.frames + before.at(back)];
                let at = self.at(back);
                self.samples[row * frames + at] = from;
            }
        }
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
    /// How many changes control threads have asked for. Only they use it.
    asked: AtomicU32,
    /// How many changes are over. A hint for control threads that publishes nothing.
    over: AtomicU32,
    /// The line whose place this one takes because it is too short; what it holds goes on here.
    before: Option<Arc<DelayCell>>,
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
    gain: f32,
    ramp: Option<Ramp>,
    /// How many changes have begun.
    begun: u32,
    /// Whether nothing of the present block is heard.
    silent: bool,
    /// Whether what the line before holds is here.
    inherited: bool,
}

/// From one gain to another.
#[derive(Clone, Copy)]
struct Ramp {
    from: f32,
    /// Frames until it begins.
    wait: u64,
    /// Frames that are over.
    over: u32,
}

impl Ramp {
    fn gain_at(self, to: f32, frame: u32) -> f32 {
        let Some(frame) = u64::from(frame).checked_sub(self.wait) else { return self.from };
        match self.over.saturating_add(frame as u32) {
            // Exactly that, as in the blocks behind the fade.
            FADE_FRAMES.. => to,
            over => self.from + (to - self.from) * faded(over),
        }
    }
}

/// How much of a fade is over, 0 to 1: a curve without corners (3 t^2 - 2 t^3), so that a fade has none either. One
/// side's is what the other side's lacks, so two ways of the same sound stay as loud as one.
fn faded(frame: u32) -> f32 {
    let part = f64::from(frame.min(FADE_FRAMES)) / f64::from(FADE_FRAMES);
    (part * part * (3.0 - 2.0 * part)) as f32
}

/// What a line does at its edge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Waits {
    /// In frames.
    pub delay: usize,
    /// Linear.
    pub gain_lin: f32,
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
    pub(crate) fn new(rows: u16, waits: Waits, block: usize) -> DelayCell {
        let Waits { delay, gain_lin } = waits;
        let (ring, out) = (Ring::new(rows, delay, block), Rows::new(rows, block));
        let longest = ring.frames - block;
        let state = DelayState {
            ring,
            out,
            delay,
            change: None,
            then: None,
            gain: gain_lin,
            ramp: None,
            begun: 0,
            silent: false,
            inherited: false,
        };
        let (asked, over) = (AtomicU32::new(0), AtomicU32::new(0));
        DelayCell { state: UnsafeCell::new(state), longest, asked, over, before: None }
    }

    /// For an edge that was there with `was`, without a line: it goes on with that and fades. `wait`: how long its source
    /// is silent, in frames.
    ///
    /// Thread: control; allocates.
    pub(crate) fn joining(
        rows: u16,
        was: Waits,
        waits: Waits,
        wait: u64,
        block: usize,
    ) -> DelayCell {
        let mut cell = DelayCell::new(rows, waits, block);
        let state = cell.state.get_mut();
        (state.delay, state.gain) = (was.delay, was.gain_lin);
        state.set(waits);
        if let Some(ramp) = &mut state.ramp
            && was.delay == waits.delay
        {
            // Of a new edge nothing is heard before its delay is over: it fades in when there is something.
            ramp.wait = waits.delay as u64 + wait;
        }
        cell.asked = AtomicU32::new(1);
        cell
    }

    /// In the place of one that is too short.
    ///
    /// Thread: control; allocates.
    pub(crate) fn longer(
        before: &Arc<DelayCell>,
        rows: u16,
        waits: Waits,
        block: usize,
    ) -> DelayCell {
        let mut cell = DelayCell::new(rows, waits, block);
        cell.before = Some(Arc::clone(before));
        cell.state.get_mut().begun = 1;
        cell.asked = AtomicU32::new(1);
        cell
    }

    /// Whether all changes that were asked for are over.
    ///
    /// Thread: control.
    pub(crate) fn is_settled(&self) -> bool {
        // Relaxed: a hint. A control thread that sees it late keeps the line for longer.
        self.over.load(Relaxed) == self.asked.load(Relaxed)
    }

    /// An order is on its way to the leader that will call [`DelayCell::set`] once.
    ///
    /// Thread: control, one at a time: the planner's lock orders them.
    pub(crate) fn ask(&self) {
        // Relaxed: only control threads read it.
        self.asked.fetch_add(1, Relaxed);
    }

    /// Waits for something else from the next block on.
    ///
    /// # Safety
    /// The caller is the leader while CLOSED and ONE-PLAN hold, and holds no other reference.
    pub(crate) unsafe fn set(&self, waits: Waits) {
        // SAFETY: the caller's obligation.
        unsafe { self.get_mut() }.set(waits);
    }

    /// Takes the frames of these rows from row `first` on, and gives those that are due.
    ///
    /// Thread: worker, inside a block.
    ///
    /// # Safety
    /// As [`DelayCell::get_mut`].
    #[inline]
    pub(super) unsafe fn run(&self, rows: RowsRef<'_>, first: usize) {
        if self.before.is_some() {
            // SAFETY: the caller's obligation.
            unsafe { self.inherit() };
        }
        // SAFETY: the caller's obligation.
        let state = unsafe { self.get_mut() };
        state.run(rows, first);
        // Write only if needed: a write takes the cache line away from a thread that reads it.
        if !state.fades() && self.over.load(Relaxed) != state.begun {
            self.over.store(state.begun, Relaxed);
        }
    }

    /// Takes over what the shorter line holds, which may itself have taken over from another and not begun.
    ///
    /// # Safety
    /// As [`DelayCell::get_mut`]. The lines before are in no plan that the leader has (ONE-PLAN), so nobody runs them.
    #[cold]
    unsafe fn inherit(&self) {
        let Some(before) = &self.before else { return };
        // SAFETY: the caller's obligation.
        unsafe {
            before.inherit();
            let (state, before) = (self.get_mut(), before.get_mut());
            if !state.inherited {
                state.inherit(before);
            }
        }
    }

    /// Whether it has faded out: nothing of it is heard.
    ///
    /// # Safety
    /// As [`DelayCell::get_mut`].
    #[inline]
    pub(super) unsafe fn is_silent(&self) -> bool {
        // SAFETY: the caller's obligation.
        unsafe { &*self.state.get() }.silent
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
    /// Waits for something else from now on, or when the running change is over.
    ///
    /// Thread: leader, between blocks.
    pub(crate) fn set(&mut self, waits: Waits) {
        self.begun += 1;
        self.set_delay(waits.delay);
        if waits.gain_lin != self.gain {
            let now = self.ramp.map(|ramp| ramp.gain_at(self.gain, 0));
            self.ramp = Some(Ramp { from: now.unwrap_or(self.gain), wait: 0, over: 0 });
            self.gain = waits.gain_lin;
        }
    }

    fn set_delay(&mut self, delay: usize) {
        if self.change.is_some() {
            self.then = Some(delay);
        } else if delay != self.delay {
            // For so long at most, what is due is not in the ring yet. Always the same time, however long the line is
            // there already: a control thread drops it when it likes.
            self.change = Some(Change { from: self.delay, wait: delay as u64, over: 0 });
            self.delay = delay;
        }
    }

    fn fades(&self) -> bool {
        self.change.is_some() || self.ramp.is_some()
    }

    /// Goes on where a shorter line ended.
    #[cold]
    fn inherit(&mut self, before: &mut DelayState) {
        self.inherited = true;
        self.ring.go_on(&before.ring);
        let waits = Waits { delay: self.then.take().unwrap_or(self.delay), gain_lin: self.gain };
        (self.delay, self.change, self.then) = (before.delay, before.change, before.then);
        (self.gain, self.ramp) = (before.gain, before.ramp);
        self.set(waits);
        // Counted when the line was made.
        self.begun -= 1;
    }

    #[inline]
    fn run(&mut self, rows: RowsRef<'_>, first: usize) {
        let frames = rows.frames();
        self.ring.push(rows, first);
        if self.change.is_none() {
            pull_all(&self.ring, self.delay, &mut self.out, 0..frames, frames);
        } else {
            self.run_change(frames);
        }
        self.amplify(frames);
    }

    /// A change may end inside the block, and another one begin there: at a frame, not at a block's edge.
    #[cold]
    fn run_change(&mut self, frames: usize) {
        let mut at = 0;
        while at < frames {
            let DelayState { ring, out, delay, change, .. } = self;
            let Some(moving) = change else {
                return pull_all(ring, *delay, out, at..frames, frames);
            };
            at = moving.run(ring, *delay, out, at..frames, frames);
            if moving.over == FADE_FRAMES {
                *change = None;
                self.go_on();
            }
        }
    }

    #[inline]
    fn amplify(&mut self, frames: usize) {
        let DelayState { out, gain, ramp, silent, .. } = self;
        *silent = *gain == 0.0 && ramp.is_none();
        let mut rows = out.all_mut(frames);
        for row in 0..rows.len() {
            match ramp {
                Some(ramp) => {
                    let samples = (0..).zip(rows.row_mut(row));
                    samples.for_each(|(i, sample)| *sample *= ramp.gain_at(*gain, i));
                }
                None if *gain != 1.0 => mix::scale(rows.row_mut(row), *gain),
                None => {}
            }
        }
        if let Some(moving) = ramp {
            let still = moving.wait.min(frames as u64);
            moving.wait -= still;
            moving.over = moving.over.saturating_add(frames as u32 - still as u32);
            if moving.over >= FADE_FRAMES {
                *ramp = None;
            }
        }
    }

    #[cold]
    fn go_on(&mut self) {
        if let Some(delay) = self.then.take() {
            self.set_delay(delay);
        }
    }

    pub(super) fn silence(&mut self) {
        self.ring.silence();
        (self.change, self.delay) = (None, self.then.take().unwrap_or(self.delay));
        self.ramp = None;
    }
}

/// The frames at `range` of a block of so many, each `delay` frames late. The ring holds the block already.
#[inline]
fn pull_all(ring: &Ring, delay: usize, out: &mut Rows, range: Range<usize>, frames: usize) {
    let mut out = out.all_mut(frames);
    for row in 0..out.len() {
        ring.pull(row, delay + frames - range.start, &mut out.row_mut(row)[range.clone()]);
    }
}

impl Change {
    /// The frames at `range` of a block, as far as the change goes. Returns where it ended.
    fn run(
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
        let mut out = out.all_mut(frames);
        for row in 0..out.len() {
            let (mut new, mut at) = ([0.0; 64], begin);
            for piece in out.row_mut(row)[begin..end].chunks_mut(new.len()) {
                ring.pull(row, to + frames - at, &mut new[..piece.len()]);
                for (i, (sample, new)) in piece.iter_mut().zip(&new).enumerate() {
                    let part = faded(self.over + (at - begin + i) as u32);
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
    /// How many rows may hold something else than silence.
    written: u16,
}

impl PortCell {
    /// Thread: control; allocates. `block`: the most frames of a block.
    pub(crate) fn input(rows: u16, block: usize) -> PortCell {
        PortCell::with_ring(rows, Ring::new(0, 0, block), block)
    }

    /// Thread: control; allocates. `block`: the most frames of a block.
    pub(crate) fn feedback(rows: u16, block: usize) -> PortCell {
        // What feeds back waits for the longest block, so a block never needs what it puts out itself.
        PortCell::with_ring(rows, Ring::new(rows, block, block), block)
    }

    fn with_ring(rows: u16, ring: Ring, block: usize) -> PortCell {
        let rows = Rows::new(rows, block);
        let state = PortState { rows, ring, delay: block, written: 0 };
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
    /// The first rows, for what the host plays.
    pub(crate) fn input_mut(&mut self, rows: u16, frames: usize) -> RowsMut<'_> {
        self.written = self.written.max(rows);
        self.rows.all_mut(frames).first(rows.into())
    }

    /// The host's frames have been heard; a host that writes nothing for the next block plays silence.
    pub(crate) fn forget(&mut self) {
        let (written, room) = (std::mem::take(&mut self.written), self.rows.room());
        self.rows.clear(0..written, room);
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

    const PLAIN: Waits = Waits { delay: 0, gain_lin: 1.0 };

    fn line(delay: usize) -> DelayCell {
        DelayCell::new(1, Waits { delay, ..PLAIN }, 16)
    }

    /// A cell's answer to frames numbered from `from + 1` on.
    fn answer_from(cell: &DelayCell, from: usize, blocks: &[usize]) -> Vec<f32> {
        let mut heard = Vec::new();
        for (block, frames) in blocks.iter().enumerate() {
            let first = from + 16 * block + 1;
            let samples: Vec<f32> = (first..first + frames).map(|frame| frame as f32).collect();
            // SAFETY: this is the only thread and the only reference.
            unsafe {
                cell.run(RowsRef::new(&samples, *frames, *frames), 0);
                heard.extend_from_slice(cell.out().all(*frames).row(0));
            }
        }
        heard
    }

    /// A cell's answer to numbered frames in blocks of these lengths; `set` changes the delay before a block.
    fn answer(cell: &DelayCell, blocks: &[usize], set: &[(usize, usize)]) -> Vec<f32> {
        let (mut heard, mut next) = (Vec::new(), 1.0);
        for (block, frames) in blocks.iter().enumerate() {
            // SAFETY: this is the only thread and the only reference.
            let state = unsafe { cell.get_mut() };
            let waits = |delay| Waits { delay, gain_lin: 1.0 };
            set.iter().filter(|(at, _)| *at == block).for_each(|(_, d)| state.set(waits(*d)));
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
                let heard = answer(&line(delay), &blocks, &[]);
                let expected = (1..=heard.len()).map(|i| i.saturating_sub(delay) as f32);
                assert!(heard.iter().copied().eq(expected), "{delay} {blocks:?}");
            }
        }
    }

    #[test]
    fn one_delay_fades_into_another_when_its_frames_are_there() {
        let blocks = vec![16; 100];
        for (cell, delay_before, wait) in [
            (DelayCell::joining(1, PLAIN, Waits { delay: 40, ..PLAIN }, 0, 16), 0, 40),
            (line(100), 100, 40),
        ] {
            let set = if delay_before > 0 { vec![(10, 40)] } else { vec![] };
            let heard = answer(&cell, &blocks, &set);
            let begin = wait + if delay_before > 0 { 160 } else { 0 };
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
        let whole = answer(&line(100), &[16; 100], &set);
        let mut cut = vec![16; 5];
        cut.extend([3, 14, 1, 15, 7].repeat(38));
        let parts = answer(&line(100), &cut, &set);
        let common = whole.len().min(parts.len());
        assert!(common > 1500);
        assert_eq!(whole[..common], parts[..common]);
        let last = whole.len();
        assert_eq!(whole[last - 1], (last - 70) as f32, "the last one in the end");
        let mut steps = whole[200..].windows(2).map(|pair| (pair[1] - pair[0]).abs());
        assert!(steps.all(|step| step < 3.0), "no jump");
    }

    #[test]
    fn a_longer_line_goes_on_with_what_shorter_ones_held() {
        let first = Arc::new(line(40));
        let mut heard = answer(&first, &[16; 20], &[]);
        // Nobody runs the second one before the third takes its place.
        let longer = |before, delay| DelayCell::longer(before, 1, Waits { delay, ..PLAIN }, 16);
        assert!(!first.holds(500));
        let second = Arc::new(longer(&first, 300));
        let third = longer(&second, 500);
        assert!(!third.is_settled());
        let before = heard.len();
        heard.extend(answer_from(&third, before, &[16; 120]));
        let late = |i: usize, delay: usize| (i + 1).saturating_sub(delay) as f32;
        for (i, sample) in heard.iter().enumerate() {
            // First to 300, then, when that is over, to 500; each begins when its frames are there.
            match i {
                _ if i <= before + 300 => assert_eq!(*sample, late(i, 40), "{i}"),
                _ if i > before + 300 + 512 + 16 + 500 + 512 => {
                    assert_eq!(*sample, late(i, 500), "{i}")
                }
                _ => assert!(late(i, 500) <= *sample && *sample <= late(i, 40), "{i}: {sample}"),
            }
        }
        assert!(third.is_settled());
    }

    #[test]
    fn a_gain_fades_without_a_corner_and_is_silent_in_the_end() {
        let cell = DelayCell::joining(1, PLAIN, Waits { gain_lin: 0.0, ..PLAIN }, 0, 16);
        let ones = [1.0; 16];
        let mut heard = Vec::new();
        for block in 0..40 {
            // SAFETY: this is the only thread and the only reference.
            let silent = unsafe {
                cell.run(RowsRef::new(&ones, 16, 16), 0);
                heard.extend_from_slice(cell.out().all(16).row(0));
                cell.is_silent()
            };
            assert_eq!((silent, cell.is_settled()), (block >= 32, block >= 31), "{block}");
        }
        assert_eq!((heard[0], heard[256], heard[512]), (1.0, 0.5, 0.0));
        let bends = heard.windows(3).map(|three| (three[2] - 2.0 * three[1] + three[0]).abs());
        assert!(bends.fold(0.0, f32::max) < 6.0 / (512.0 * 512.0) * 1.1);
    }

    #[test]
    fn feedback_comes_one_longest_block_later_and_an_input_is_heard_once() {
        let port = PortCell::feedback(1, 16);
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
