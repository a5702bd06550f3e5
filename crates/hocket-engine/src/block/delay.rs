//! Delay lines of edges: what an input waits in so that all inputs of a node arrive together.
//!
//! A line belongs to an edge and not to a plan: the next plan goes on with it. So what is inside is not lost when a
//! session is edited. If its delay changes, both delays are heard for [`FADE_FRAMES`], one fading into the other. A line
//! also fades the gain of its edge, so edges that come, go or change their gain have one for that time.
//!
//! What is heard never depends on how long a line exists. A control thread may drop one that has nothing left to do, and
//! does so when it happens to look:
//!
//! - A line without delay whose fades are over multiplies by its gain, as a sum does for an edge without a line. At a gain
//!   of 0 both are left out of the sum.
//! - A line that is made anew begins with the gain and the delay that its edge has, and then does what one that was
//!   there does. A new delay begins after as many frames as it is long, however much the line holds already.
//!
//! [`FADE_FRAMES`]: super::fade::FADE_FRAMES

use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use hocket_dsp::RowsRef;
use hocket_dsp::mix;
use hocket_plan::compile::FadeCurve;

use super::fade::{GainRamp, Gains};
use super::heard::Heard;
use super::ring::{DelayChange, Ring, pull_all};
use super::rows::Rows;

/// The delay line of an input, which several plans may share.
///
/// The unit that has the input runs it (ONE-WRITER: rule R1 gives a line to one input), in the leader's plan
/// (ONE-PLAN). Between blocks it is the leader's (CLOSED).
#[repr(C, align(64))]
pub(crate) struct DelayCell {
    state: UnsafeCell<DelayState>,
    /// The longest delay that fits, and the most frames of a block, for control threads.
    longest: usize,
    block: usize,
    /// How many changes control threads have asked for. Only they use it.
    asked: AtomicU32,
    /// How many changes are over. A hint for control threads that publishes nothing.
    over: AtomicU32,
    /// The line whose place this one takes because it is too short; what it does goes on here.
    before: Option<Arc<DelayCell>>,
}

// SAFETY: `DelayState` is `Send`. ONE-WRITER, CLOSED and ONE-PLAN, at the top of `bus.rs`, govern the sharing.
unsafe impl Sync for DelayCell {}

/// The delay, the change to it, and what follows.
type Course = (usize, Option<DelayChange>, Option<usize>);

/// What is inside a [`DelayCell`].
///
/// Nearly always a line rests: its delay and its gain stay. Then a block writes its frames into the ring, and the sum reads
/// what is due out of it. What such a block accesses is in one cache line.
#[repr(C)]
pub(crate) struct DelayState {
    delay: usize,
    gain: f32,
    /// Whether something about it changes in the present block: what is heard is in `out` then, and else in the ring.
    moves: bool,
    /// Whether nothing of the present block is heard.
    silent: bool,
    ring: Ring,
    /// What comes out while it moves.
    out: Rows,
    change: Option<DelayChange>,
    /// Follows when the running change is over.
    then: Option<usize>,
    /// The course before the first delay that was set since the last block. Without a change it may be older.
    undo: Option<Course>,
    ramp: Option<GainRamp>,
    /// How many changes have begun.
    begun: u32,
    /// Whether it does what the line before did.
    inherited: bool,
}

const _: () = assert!(std::mem::offset_of!(DelayState, ring) + Ring::EVERY_BLOCK <= 64);

/// What a line does at its edge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LineSetting {
    /// In frames.
    pub delay: usize,
    /// Linear.
    pub gain_lin: f32,
}

/// What a line has to do from a block on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Set {
    pub waits: LineSetting,
    pub gains: Gains,
    /// Of a gain that fades.
    pub curve: FadeCurve,
}

impl DelayCell {
    /// A line that holds silence. `block`: the most frames of a block.
    ///
    /// Thread: control; allocates.
    pub(crate) fn new(rows: u16, waits: LineSetting, block: usize) -> DelayCell {
        let LineSetting { delay, gain_lin } = waits;
        let (ring, out) = (Ring::new(rows, delay, block), Rows::new(rows, block));
        let longest = ring.frames() - block;
        let state = DelayState {
            delay,
            gain: gain_lin,
            moves: true,
            silent: false,
            ring,
            out,
            change: None,
            then: None,
            undo: None,
            ramp: None,
            begun: 0,
            inherited: false,
        };
        let (asked, over) = (AtomicU32::new(0), AtomicU32::new(0));
        let state = UnsafeCell::new(state);
        DelayCell { state, longest, block, asked, over, before: None }
    }

    /// For an edge that was there with `was`, without a line: it goes on with that and fades. `wait`: how long its source
    /// is silent, in frames.
    ///
    /// Thread: control; allocates.
    pub(crate) fn joining(
        rows: u16,
        was: LineSetting,
        (waits, curve): (LineSetting, FadeCurve),
        wait: u64,
        block: usize,
    ) -> DelayCell {
        let mut cell = DelayCell::new(rows, waits, block);
        let state = cell.state.get_mut();
        (state.delay, state.gain) = (was.delay, was.gain_lin);
        state.set(Set { waits, gains: Gains::Fade, curve });
        if let Some(ramp) = &mut state.ramp
            && was.delay == waits.delay
        {
            // Of a new edge nothing is heard before its delay is over: it fades in when there is something.
            *ramp = GainRamp::from(was.gain_lin, curve, waits.delay as u64 + wait);
        }
        cell.asked = AtomicU32::new(1);
        cell
    }

    /// In the place of one that is too short for its delay or for blocks. It goes on where that one is with the first [`DelayCell::set`].
    ///
    /// Thread: control; allocates.
    pub(crate) fn longer(
        before: &Arc<DelayCell>,
        rows: u16,
        waits: LineSetting,
        block: usize,
    ) -> DelayCell {
        // Never shorter, because that line may still fade from a longer delay, which goes on here. At least twice as long, if
        // the delay has grown: a line that grows again and again keeps few shorter ones.
        let times = if waits.delay > before.longest { 2 } else { 1 };
        let room = LineSetting { delay: waits.delay.max(times * before.longest), ..waits };
        let DelayCell { state, longest, asked, over, .. } = DelayCell::new(rows, room, block);
        let state = DelayState { delay: waits.delay, ..state.into_inner() };
        let state = UnsafeCell::new(DelayState { ring: state.ring.following(), ..state });
        DelayCell { state, longest, block, asked, over, before: Some(Arc::clone(before)) }
    }

    /// Whether all changes that were asked for are over.
    ///
    /// Thread: control.
    pub(crate) fn is_settled(&self) -> bool {
        // Relaxed: a hint. A control thread that sees it late keeps the line for longer.
        self.over.load(Relaxed) == self.asked.load(Relaxed)
    }

    /// A plan is on its way to the leader that will call [`DelayCell::set`] once.
    ///
    /// Thread: control, one at a time: the planner's lock orders them.
    pub(crate) fn ask(&self) {
        // Relaxed: only control threads read it.
        self.asked.fetch_add(1, Relaxed);
    }

    /// Does something else from the next frame on.
    ///
    /// Cost: some 10 ns; no allocation.
    ///
    /// # Safety
    /// As [`DelayCell::get_mut`].
    #[cold]
    pub(super) unsafe fn set(&self, set: Set) {
        // SAFETY: the caller's obligation.
        let state = unsafe { self.get_mut() };
        if let Some(before) = &self.before
            && !state.inherited
        {
            // SAFETY: the line before is in no plan that the leader has (ONE-PLAN), so nobody runs it.
            state.inherit(unsafe { before.get_mut() });
        }
        state.set(set);
    }

    /// Takes the frames of these rows from row `first` on. What is due is then [`DelayCell::heard`].
    ///
    /// Thread: worker, inside a block.
    ///
    /// # Safety
    /// As [`DelayCell::get_mut`].
    #[inline]
    pub(super) unsafe fn run(&self, rows: RowsRef<'_>, first: usize) {
        // SAFETY: the caller's obligation.
        let state = unsafe { self.get_mut() };
        if !state.moves {
            return state.ring.append(rows, first, 0..rows.frames());
        }
        match state.still_moves() {
            true => state.run_moving(rows, first),
            false => {
                state.come_to_rest();
                state.ring.append(rows, first, 0..rows.frames());
            }
        }
        // Write only if needed: a write takes the cache line away from a thread that reads it.
        if !state.fades() && self.over.load(Relaxed) != state.begun {
            self.over.store(state.begun, Relaxed);
        }
    }

    /// What is heard of the present block; `None`: it has faded out, and nothing is.
    ///
    /// # Safety
    /// As [`DelayCell::get_mut`], and it has run; the caller holds no reference from there.
    #[inline]
    pub(super) unsafe fn heard(&self, frames: usize) -> Option<Heard<'_>> {
        // SAFETY: the caller's obligation.
        let state = unsafe { &*self.state.get() };
        let heard = if state.moves {
            Heard::of(&state.out, 1.0)
        } else {
            state.ring.heard(state.delay + frames, state.gain)
        };
        (!state.silent).then_some(heard)
    }

    /// Prefetches where the next block is written to.
    ///
    /// # Safety
    /// As [`DelayCell::get_mut`].
    #[inline]
    pub(super) unsafe fn fetch(&self, frames: usize) {
        // SAFETY: the caller's obligation.
        let ring = unsafe { &(*self.state.get()).ring };
        ring.fetch(frames);
    }

    /// Whether a delay and blocks of so many frames fit.
    pub(crate) fn holds(&self, delay: usize, block: usize) -> bool {
        delay <= self.longest && block <= self.block
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
}

impl DelayState {
    /// Does something else from now on. A new delay takes the place of one of which nothing is heard yet, and otherwise waits
    /// until the running change is over.
    fn set(&mut self, Set { waits, gains, curve }: Set) {
        self.begun += 1;
        self.moves = true;
        self.set_delay(waits.delay);
        if gains == Gains::Jump {
            (self.gain, self.ramp) = (waits.gain_lin, None);
        } else if waits.gain_lin != self.gain {
            let begin = GainRamp::from(self.gain, curve, 0);
            let ramp = self.ramp.map_or(begin, |ramp| ramp.turned(self.gain, curve));
            (self.gain, self.ramp) = (waits.gain_lin, Some(ramp));
        }
    }

    /// Of several delays before one block the last one counts, as if it were the only one.
    fn set_delay(&mut self, delay: usize) {
        let before = *self.undo.get_or_insert((self.delay, self.change, self.then));
        (self.delay, self.change, self.then) = before;
        self.aim(delay);
    }

    fn aim(&mut self, delay: usize) {
        match self.change {
            _ if delay == self.then.unwrap_or(self.delay) => {}
            Some(change) if change.has_begun() => self.then = Some(delay),
            pending => {
                let from = pending.map_or(self.delay, |change| change.from);
                // For so long at most, what is due is not in the ring yet. Always the same time, however long the line is
                // there already: a control thread drops it when it likes.
                self.change = (from != delay).then(|| DelayChange::from(from, delay as u64));
                self.delay = delay;
            }
        }
    }

    fn fades(&self) -> bool {
        self.change.is_some() || self.ramp.is_some()
    }

    /// Goes on where a shorter line is.
    fn inherit(&mut self, before: &mut DelayState) {
        self.inherited = true;
        let needs = |(delay, change, _): Course| change.map_or(delay, |it| delay.max(it.from));
        let now = (before.delay, before.change, before.then);
        let due = needs(now).max(before.undo.map_or(0, needs));
        self.ring.go_on(&mut before.ring, due);
        self.undo = before.undo;
        (self.delay, self.change, self.then) = (before.delay, before.change, before.then);
        (self.gain, self.ramp) = (before.gain, before.ramp);
    }

    /// Whether what it does in this block is more than to wait. The shorter ring has to be over too.
    fn still_moves(&self) -> bool {
        self.fades() || !self.ring.is_alone()
    }

    #[cold]
    fn come_to_rest(&mut self) {
        (self.moves, self.silent, self.undo) = (false, self.gain == 0.0, None);
    }

    #[cold]
    fn run_moving(&mut self, rows: RowsRef<'_>, first: usize) {
        let (frames, mut at) = (rows.frames(), 0);
        while at < frames {
            let end = frames.min(at + self.ring.at_once());
            self.ring.push(rows, first, at..end);
            self.run_change(at, end);
            at = end;
        }
        self.amplify(frames);
    }

    /// A change may end inside the block, and another one begin there: at a frame, not at a block's edge.
    fn run_change(&mut self, mut at: usize, end: usize) {
        self.undo = None;
        while at < end {
            let DelayState { ring, out, delay, change, .. } = self;
            let Some(moving) = change else {
                return pull_all(ring, *delay, out, at..end, end);
            };
            at = moving.run(ring, *delay, out, at..end, end);
            if moving.is_over() {
                *change = None;
                self.go_on();
            }
        }
    }

    fn amplify(&mut self, frames: usize) {
        let DelayState { out, gain, ramp, silent, .. } = self;
        *silent = *gain == 0.0 && ramp.is_none();
        let mut rows = out.all_mut(frames);
        for row in 0..rows.len() {
            match ramp {
                Some(ramp) => ramp.scale(rows.row_mut(row), *gain),
                None if *gain != 1.0 => mix::scale(rows.row_mut(row), *gain),
                None => {}
            }
        }
        *ramp = ramp.and_then(|ramp| ramp.after(frames));
    }

    fn go_on(&mut self) {
        if let Some(delay) = self.then.take() {
            self.aim(delay);
        }
    }

    pub(super) fn silence(&mut self) {
        self.ring.silence();
        (self.change, self.delay) = (None, self.then.take().unwrap_or(self.delay));
        self.undo = None;
        self.ramp = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::fade::FADE_FRAMES;

    const PLAIN: LineSetting = LineSetting { delay: 0, gain_lin: 1.0 };

    fn to(delay: usize) -> Set {
        Set {
            waits: LineSetting { delay, ..PLAIN },
            gains: Gains::Fade,
            curve: FadeCurve::EqualGain,
        }
    }

    fn line(delay: usize) -> DelayCell {
        DelayCell::new(1, LineSetting { delay, ..PLAIN }, 16)
    }

    /// Of an edge that had no line.
    fn joining(waits: LineSetting) -> DelayCell {
        DelayCell::joining(1, PLAIN, (waits, FadeCurve::EqualGain), 0, 16)
    }

    /// What is heard of a row.
    fn row_of(cell: &DelayCell, frames: usize, row: usize) -> Vec<f32> {
        // SAFETY: this is the only thread and the only reference.
        let Some(heard) = (unsafe { cell.heard(frames) }) else { return vec![0.0; frames] };
        let wrap = heard.until_wrap(frames);
        let parts = [0..wrap, wrap..frames].map(|part| heard.part(row, part));
        parts.concat().iter().map(|sample| sample * heard.gain_lin).collect()
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
                heard.extend(row_of(cell, *frames, 0));
            }
        }
        heard
    }

    /// A cell's answer to numbered frames in blocks of these lengths; `sets` change the delay before a block.
    fn answer(cell: &DelayCell, blocks: &[usize], sets: &[(usize, usize)]) -> Vec<f32> {
        let (mut heard, mut next) = (Vec::new(), 1.0);
        for (block, frames) in blocks.iter().enumerate() {
            // SAFETY: this is the only thread and the only reference.
            let set = |delay: usize| unsafe { cell.get_mut() }.set(to(delay));
            sets.iter().filter(|(at, _)| *at == block).for_each(|(_, delay)| set(*delay));
            let room = 16;
            let mut samples = vec![0.0; 2 * room];
            for sample in &mut samples[room..room + frames] {
                *sample = next;
                next += 1.0;
            }
            // SAFETY: as above.
            unsafe { cell.run(RowsRef::new(&samples, room, *frames), 1) };
            heard.extend(row_of(cell, *frames, 0));
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
    fn a_change_that_was_taken_back_leaves_nothing_for_later() {
        let blocks = vec![16; 200];
        let taken_back = answer(&line(100), &blocks, &[(3, 40), (4, 100), (50, 40)]);
        assert_eq!(taken_back, answer(&line(100), &blocks, &[(50, 40)]));
    }

    #[test]
    fn a_line_that_grows_again_and_again_keeps_few_shorter_ones() {
        let mut cell = Arc::new(line(16));
        let mut made = 0;
        for delay in (16..16_000).step_by(16) {
            if !cell.holds(delay, 16) {
                cell = Arc::new(DelayCell::longer(&cell, 1, LineSetting { delay, ..PLAIN }, 16));
                made += 1;
            }
        }
        assert!(made <= 10, "{made} lines");
    }

    #[test]
    fn one_delay_fades_into_another_when_its_frames_are_there() {
        let blocks = vec![16; 100];
        for (cell, delay_before, wait) in
            [(joining(LineSetting { delay: 40, ..PLAIN }), 0, 40), (line(100), 100, 40)]
        {
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
    fn of_several_delays_before_one_block_the_last_one_counts() {
        let blocks = [16; 200];
        // Before a fade, while the ring fills, inside a fade, and back to where the line was.
        for (block, last) in [(3, 90), (4, 30), (5, 70), (20, 40), (30, 10), (40, 40), (150, 0)] {
            let once = [(3, 40), (block, last)];
            let often = [(3, 40), (block, 70), (block, 2), (block, 40), (block, last)];
            let [once, often] = [&once[..], &often[..]].map(|set| answer(&line(100), &blocks, set));
            assert_eq!(once, often, "{last} in block {block}");
            assert_eq!(once[blocks.len() * 16 - 1], (blocks.len() * 16 - last) as f32);
        }
        let twice = answer(&line(100), &blocks, &[(3, 40), (3, 100)]);
        assert_eq!(twice, answer(&line(100), &blocks, &[]), "it stays where it is");
    }

    #[test]
    fn a_longer_line_goes_on_with_what_shorter_ones_held() {
        let first = Arc::new(line(40));
        let mut heard = answer(&first, &[16; 20], &[]);
        // Nobody runs the second one before the third takes its place.
        let longer =
            |before, delay| DelayCell::longer(before, 1, LineSetting { delay, ..PLAIN }, 16);
        assert!(!first.holds(500, 16));
        let second = Arc::new(longer(&first, 300));
        let third = longer(&second, 500);
        for (line, delay) in [(&*second, 300), (&third, 500)] {
            line.ask();
            // SAFETY: this is the only thread and the only reference.
            unsafe { line.set(to(delay)) };
        }
        assert!(!third.is_settled());
        let before = heard.len();
        heard.extend(answer_from(&third, before, &[16; 120]));
        let late = |i: usize, delay: usize| (i + 1).saturating_sub(delay) as f32;
        for (i, sample) in heard.iter().enumerate() {
            // Nobody has heard of 300. The fade to 500 begins when its frames are there.
            match i {
                _ if i <= before + 500 => assert_eq!(*sample, late(i, 40), "{i}"),
                _ if i > before + 500 + 512 => assert_eq!(*sample, late(i, 500), "{i}"),
                _ => assert!(late(i, 500) <= *sample && *sample <= late(i, 40), "{i}: {sample}"),
            }
        }
        assert!(third.is_settled());
    }

    /// Two rows of numbered frames.
    fn run(cell: &DelayCell, block: usize) -> Vec<u32> {
        let samples: Vec<f32> = (0..32).map(|i| (16 * block + 1000 * i) as f32 * 0.37).collect();
        // SAFETY: this is the only thread and the only reference.
        unsafe {
            cell.run(RowsRef::new(&samples, 16, 16), 0);
            let rows = [0, 1].map(|row| row_of(cell, 16, row));
            rows.concat().iter().map(|sample| sample.to_bits()).collect()
        }
    }

    #[test]
    fn a_line_sounds_the_same_whether_it_was_long_enough_or_longer_ones_took_its_place() {
        for seed in 0..50usize {
            let number = |step: usize| (seed * 7919 + step * 104_729) / 64 % 1000;
            let mut enough = DelayCell::new(2, LineSetting { delay: 2000, ..PLAIN }, 16);
            enough.state.get_mut().delay = 40;
            let mut short = Arc::new(DelayCell::new(2, LineSetting { delay: 40, ..PLAIN }, 16));
            for block in 0..400 {
                // Now and then several changes before one block, as in a burst of edits.
                for change in 0..(if number(block).is_multiple_of(8) { 1 + block % 3 } else { 0 }) {
                    let delay = number(block + 1000 * change) * (block + 40) / 400;
                    let gain_lin = number(block + change) as f32 * 0.001;
                    let set = Set { waits: LineSetting { delay, gain_lin }, ..to(delay) };
                    if !short.holds(delay, 16) {
                        short = Arc::new(DelayCell::longer(&short, 2, set.waits, 16));
                    }
                    // SAFETY: this is the only thread and the only reference.
                    unsafe {
                        enough.set(set);
                        short.set(set);
                    }
                }
                assert_eq!(run(&enough, block), run(&short, block), "seed {seed}, block {block}");
            }
            assert!(short.before.is_some(), "seed {seed}: nothing took its place");
        }
    }

    #[test]
    fn a_gain_that_jumps_ends_the_fade_that_runs() {
        let cell = joining(LineSetting { gain_lin: 0.25, ..PLAIN });
        let fading = answer(&cell, &[16], &[]);
        assert!(fading[15] < 16.0 && fading[15] > 15.9, "{fading:?}");
        let jump =
            Set { waits: LineSetting { gain_lin: 0.5, ..PLAIN }, gains: Gains::Jump, ..to(0) };
        // SAFETY: this is the only thread and the only reference.
        unsafe { cell.set(jump) };
        assert_eq!(answer(&cell, &[16], &[])[..3], [0.5, 1.0, 1.5]);
    }

    #[test]
    fn a_gain_fades_without_a_corner_and_is_silent_in_the_end() {
        let cell = joining(LineSetting { gain_lin: 0.0, ..PLAIN });
        let ones = [1.0; 16];
        let mut heard = Vec::new();
        for block in 0..40 {
            // SAFETY: this is the only thread and the only reference.
            let silent = unsafe {
                cell.run(RowsRef::new(&ones, 16, 16), 0);
                cell.heard(16).is_none()
            };
            heard.extend(row_of(&cell, 16, 0));
            assert_eq!((silent, cell.is_settled()), (block >= 32, block >= 31), "{block}");
        }
        assert_eq!((heard[0], heard[256], heard[512]), (1.0, 0.5, 0.0));
        let bends = heard.windows(3).map(|three| (three[2] - 2.0 * three[1] + three[0]).abs());
        assert!(bends.fold(0.0, f32::max) < 6.0 / (512.0 * 512.0) * 1.1);
    }
}
