//! Chains that run abreast: node by node, with equal effects of both as one vector.
//!
//! The processors keep their state (`hocket-dsp/src/abreast.rs`), so nothing outside of a block knows of couples: edits,
//! states, bypass and new plans find each node as ever. The answers, lanes and changes of each node come before its processor
//! runs, and the check for samples that are not finite comes behind it, as in any chain.
//!
//! Invariant THERE, which SAFETY comments here cite: an [`Avx2`] exists only where the CPU has AVX2, because
//! [`Avx2::here`], which looks, is its only constructor.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use hocket_dsp::abreast::{self, ABREAST};
use hocket_dsp::{Abreast, Block, StereoMut};

use super::bus::{ChainNode, ChainState, silence, split};
use super::now::Now;
use super::probe::Probe;
use super::rows::Rows;

/// Which instructions run effects abreast. Chosen when a plan is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kernel {
    /// Those of every CPU.
    Portable,
    /// One register for all rows of a couple.
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
}

/// A CPU with AVX2.
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Avx2(());

#[cfg(target_arch = "x86_64")]
impl Avx2 {
    pub(super) fn here() -> Option<Avx2> {
        std::is_x86_feature_detected!("avx2").then_some(Avx2(()))
    }
}

impl Kernel {
    /// The best one for this CPU.
    ///
    /// Thread: control.
    pub(crate) fn here() -> Kernel {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = Avx2::here() {
            return Kernel::Avx2(avx2);
        }
        Kernel::Portable
    }

    /// Whether two effects abreast take less time than one after the other, by a half at least. Narrow registers do not
    /// reach that: left and right fill them already.
    pub(crate) fn pays(self) -> bool {
        self != Kernel::Portable
    }

    /// Both blocks of two processors.
    ///
    /// Thread: worker, inside a block.
    #[inline]
    fn process(self, both: [Abreast<'_>; ABREAST], blocks: [&mut Block<'_>; ABREAST]) {
        match self {
            Kernel::Portable => abreast::process(both, blocks),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: THERE: this CPU has AVX2.
            Kernel::Avx2(Avx2(())) => unsafe { abreast::process_avx2(both, blocks) },
        }
    }
}

/// Runs the nodes of both chains on their buses, those at the same place one after the other or as one.
///
/// # Safety
/// ONE-WRITER and ONE-PLAN hold for the unit of both chains (`bus.rs`).
pub(super) unsafe fn process_abreast(
    kernel: Kernel,
    [one, other]: [&mut ChainState; ABREAST],
    frames: usize,
    now: &Now,
    probe: &mut impl Probe,
) {
    let places = one.nodes.len().max(other.nodes.len());
    let alike = |one: &ChainState, other: &ChainState, place: usize| {
        let nodes = one.nodes.get(place).zip(other.nodes.get(place));
        nodes.is_some_and(|(one, other)| one.is_like(other))
    };
    let mut place = 0;
    while place < places {
        let first = alike(one, other, place);
        let end = (place..places).find(|place| alike(one, other, *place) != first);
        let stretch = place..end.unwrap_or(places);
        place = stretch.end;
        // SAFETY: the caller's obligation.
        unsafe {
            if first {
                process_as_one(kernel, [one, other], stretch, frames, now, probe);
            } else {
                one.process_nodes(stretch.clone(), frames, now, probe);
                other.process_nodes(stretch, frames, now, probe);
            }
        }
    }
}

impl ChainNode {
    /// Whether both may run as one.
    #[inline]
    fn is_like(&self, other: &ChainNode) -> bool {
        let alike = self.abreast_key.is_some() && self.abreast_key == other.abreast_key;
        alike && self.ports.is_stereo() && other.ports.is_stereo()
    }
}

/// What runs of a couple, and which of the two it belongs to: 0 or 1.
#[derive(Clone, Copy, PartialEq)]
enum Step {
    /// Answers, lanes and changes.
    Begin(usize),
    /// Whether it can run abreast.
    Ask(usize),
    Abreast,
    /// The processor by itself, and the check of what comes out.
    Alone(usize),
    /// The check of what comes out of a kernel.
    End(usize),
}

impl Step {
    /// If this step of one of them panics: that one, and where the other one goes on.
    fn failed(self) -> Option<(usize, Option<Step>)> {
        match self {
            Step::Begin(0) => Some((0, Some(Step::Begin(1)))),
            Step::Begin(_) | Step::Ask(1) => Some((1, Some(Step::Alone(0)))),
            Step::Ask(_) | Step::Alone(0) => Some((0, Some(Step::Alone(1)))),
            Step::Abreast => None,
            Step::End(0) => Some((0, Some(Step::End(1)))),
            Step::Alone(_) | Step::End(_) => Some((1, None)),
        }
    }
}

/// Runs nodes of both chains that are alike. If one panics in a step of its own, it stays silent. If code that runs for both
/// panics, nobody knows for whom: both stay silent.
///
/// # Safety
/// As [`process_abreast`].
unsafe fn process_as_one(
    kernel: Kernel,
    [one, other]: [&mut ChainState; ABREAST],
    places: std::ops::Range<usize>,
    frames: usize,
    now: &Now,
    probe: &mut impl Probe,
) {
    let (mut place, mut step) = (places.start, Step::Begin(0));
    while place < places.end {
        // Unwind safety: as in `ChainState::process_nodes`.
        let ran = catch_unwind(AssertUnwindSafe(|| {
            while place < places.end {
                let nodes = [&one.nodes[place], &other.nodes[place]];
                let rows = [&mut one.rows, &mut other.rows];
                // SAFETY: the caller's obligation. The plan has each node once (R3).
                unsafe { process_both(kernel, nodes, rows, frames, now, &mut step) };
                probe.ran(nodes[0].cell.kind, 2);
                place += 1;
            }
        }));
        if let Err(payload) = ran {
            // SAFETY: as above. The panic ended the references to the nodes.
            unsafe { contain([&mut *one, &mut *other], place, (step, payload), frames, now) };
            probe.lost();
            place += 1;
        }
    }
}

/// Silences the strip that has panicked, and does what is left for the other one.
///
/// # Safety
/// As [`process_abreast`].
#[cold]
unsafe fn contain(
    [one, other]: [&mut ChainState; ABREAST],
    place: usize,
    (step, payload): (Step, Box<dyn Any + Send>),
    frames: usize,
    now: &Now,
) {
    let Some((failed, goes_on)) = step.failed() else {
        // SAFETY: the caller's obligation.
        unsafe {
            silence_node(one, place, payload, frames);
            // block-path: a box of an empty type allocates nothing.
            silence_node(other, place, Box::new(()), frames);
        }
        return;
    };
    let (failed, rest) = if failed == 0 { (one, other) } else { (other, one) };
    // SAFETY: the caller's obligation.
    unsafe { silence_node(failed, place, payload, frames) };
    let Some(step) = goes_on else {
        return;
    };
    // Unwind safety: as in `ChainState::process_nodes`.
    let ran = catch_unwind(AssertUnwindSafe(|| {
        let node = &rest.nodes[place];
        // SAFETY: the caller's obligation.
        let state = unsafe { node.cell.get_mut() };
        if matches!(step, Step::Begin(_)) {
            node.begin(state, now);
        }
        if !matches!(step, Step::End(_)) {
            node.run(state, &mut rest.rows, frames, now, Default::default());
        }
        node.end(state, &mut rest.rows, frames);
    }));
    if let Err(payload) = ran {
        // SAFETY: the caller's obligation. The panic ended the other reference.
        unsafe { silence_node(rest, place, payload, frames) };
    }
}

/// # Safety
/// As [`process_abreast`].
unsafe fn silence_node(
    chain: &mut ChainState,
    place: usize,
    payload: Box<dyn Any + Send>,
    frames: usize,
) {
    let node = &chain.nodes[place];
    // SAFETY: the caller's obligation.
    let state = unsafe { node.cell.get_mut() };
    state.silence(payload);
    node.cell.show(state);
    silence(node.ports, &mut chain.rows, frames);
}

/// One node of each chain.
///
/// # Safety
/// ONE-WRITER and ONE-PLAN hold for both nodes, which differ.
#[inline]
unsafe fn process_both(
    kernel: Kernel,
    [one, other]: [&ChainNode; ABREAST],
    [rows, beside]: [&mut Rows; ABREAST],
    frames: usize,
    now: &Now,
    step: &mut Step,
) {
    // SAFETY: the caller's obligation.
    let (state, second) = unsafe { (one.cell.get_mut(), other.cell.get_mut()) };
    *step = Step::Begin(0);
    one.begin(state, now);
    *step = Step::Begin(1);
    other.begin(second, now);
    *step = Step::Ask(0);
    let first = state.processor.abreast(&state.events);
    *step = Step::Ask(1);
    let both = first.zip(second.processor.abreast(&second.events));
    if let Some((first, second_one)) = both {
        *step = Step::Abreast;
        let mut block = Block { events: &state.events, ..Block::new(stereo(rows, frames)) };
        let mut block_beside =
            Block { events: &second.events, ..Block::new(stereo(beside, frames)) };
        kernel.process([first, second_one], [&mut block, &mut block_beside]);
        *step = Step::End(0);
        one.end(state, rows, frames);
        *step = Step::End(1);
        other.end(second, beside, frames);
    } else {
        *step = Step::Alone(0);
        one.run(state, rows, frames, now, Default::default());
        one.end(state, rows, frames);
        *step = Step::Alone(1);
        other.run(second, beside, frames, now, Default::default());
        other.end(second, beside, frames);
    }
}

#[inline]
fn stereo(rows: &mut Rows, frames: usize) -> StereoMut<'_> {
    let (left, right) = split(rows);
    StereoMut { left: &mut left[..frames], right: &mut right[..frames] }
}

#[cfg(test)]
mod tests {
    use hocket_dsp::effects::eq::Eq;
    use hocket_dsp::segment::Segmented;
    use hocket_dsp::{Bypass, Change, Kind, Processor, TimedChange, kind};

    use super::super::random::Random;
    use super::*;

    const RATE_HZ: u32 = 48_000;
    /// Of each seed.
    const BLOCKS: usize = 120;

    fn kernels() -> Vec<Kernel> {
        let here = Kernel::here();
        if !here.pays() {
            println!("SKIPPED wide registers: this CPU has no AVX2");
        }
        if here == Kernel::Portable { vec![here] } else { vec![Kernel::Portable, here] }
    }

    impl Random {
        fn between(&mut self, low: f32, high: f32) -> f32 {
            low + (high - low) * self.below(1 << 20) as f32 / (1 << 20) as f32
        }

        fn sample(&mut self) -> f32 {
            let noise = self.between(-1.0, 1.0);
            match self.below(400) {
                0 => -0.0,
                1 => noise * 1e-39,
                2 => f32::MIN_POSITIVE,
                3 => noise * 1e-19,
                _ => noise,
            }
        }

        /// An equaliser with so many bands on.
        fn eq(&mut self, bands: usize) -> Vec<f32> {
            let eq = kind("eq").unwrap();
            let param = |(at, param): (usize, &hocket_dsp::Param)| match at % 4 {
                0 if at / 4 < bands => 1.0 + self.below(8) as f32,
                0 => 0.0,
                _ => self.between(param.min, param.max),
            };
            let mut values: Vec<f32> = eq.params.iter().enumerate().map(param).collect();
            // The bands in any order.
            let turn = 4 * self.below(4);
            values.rotate_left(turn);
            values
        }

        /// Settings of a kind: equalisers with so many bands, others anywhere.
        fn settings(&mut self, kind: &Kind, bands: usize) -> Vec<f32> {
            if kind.name == "eq" {
                return self.eq(bands);
            }
            kind.params.iter().map(|param| self.between(param.min, param.max)).collect()
        }

        /// Changes in a block, sorted; mostly none.
        fn changes(&mut self, kind: &Kind, frames: usize) -> Vec<TimedChange> {
            let count = if self.below(8) == 0 { 1 + self.below(3) } else { 0 };
            let mut change = || {
                let index = self.below(kind.params.len());
                let param = &kind.params[index];
                let value = self.between(param.min, param.max).round();
                let change = Change::Param { index: index as u16, value };
                TimedChange { frame: self.below(frames) as u32, change }
            };
            let mut changes: Vec<TimedChange> = (0..count).map(|_| change()).collect();
            changes.sort_by_key(|change| change.frame);
            changes
        }
    }

    /// Two rows of noise that may hold what is hardly a number, and now and then none.
    fn rows(random: &mut Random, frames: usize) -> [Vec<f32>; 2] {
        let mut row = || (0..frames).map(|_| random.sample()).collect::<Vec<f32>>();
        let mut rows = [row(), row()];
        let bad = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX];
        if random.below(60) == 0 {
            rows[random.below(2)][random.below(frames)] = bad[random.below(bad.len())];
        }
        rows
    }

    fn block<'a>([left, right]: &'a mut [Vec<f32>; 2], events: &'a [TimedChange]) -> Block<'a> {
        Block { events, ..Block::new(StereoMut { left, right }) }
    }

    fn same(one: f32, other: f32) -> bool {
        // The engine lets no such sample through, so it does not matter which one it is.
        one.to_bits() == other.to_bits() || one.is_nan() && other.is_nan()
    }

    fn differs(got: &[Vec<f32>; 2], expected: &[Vec<f32>; 2]) -> bool {
        let rows = got.iter().flatten().zip(expected.iter().flatten());
        rows.into_iter().any(|(got, expected)| !same(*got, *expected))
    }

    /// As the engine does it: what is not finite ends with a reset.
    fn contain(processor: &mut dyn Processor, rows: &[Vec<f32>; 2]) {
        if !rows.iter().flatten().all(|sample| sample.is_finite()) {
            processor.reset();
        }
    }

    /// Both, in so many frames: abreast if both can. Returns whether they did.
    fn run_both(
        kernel: Kernel,
        [one, other]: &mut [Box<dyn Processor>; 2],
        [first, second]: [&mut Block<'_>; 2],
    ) -> bool {
        if let (Some(one), Some(other)) = (one.abreast(first.events), other.abreast(second.events))
        {
            kernel.process([one, other], [first, second]);
            return true;
        }
        one.process(first);
        other.process(second);
        false
    }

    /// Random blocks of two processors of a kind. Every third seed they can be bypassed. Returns how many blocks ran abreast.
    fn check(kernel: Kernel, kind: &Kind, seed: u64) -> usize {
        let mut random = Random::new(seed);
        let bands = random.below(5);
        let differ = random.below(4) == 0;
        let beside = if differ { random.below(5) } else { bands };
        let mut values = [random.settings(kind, bands), random.settings(kind, beside)];
        let fixed = kind.params.iter().position(|param| param.fixed);
        if let (Some(index), false) = (fixed, differ) {
            values[1][index] = values[0][index];
        }
        let can_be_bypassed = seed.is_multiple_of(3);
        let build = |values: &Vec<f32>| -> Box<dyn Processor> {
            let effect = (kind.build)(values, RATE_HZ);
            match can_be_bypassed {
                true => Box::new(Bypass::new(effect, RATE_HZ, false)),
                false => effect,
            }
        };
        let mut both = values.each_ref().map(build);
        let mut alone = values.each_ref().map(build);
        let mut together = 0;
        for number in 0..BLOCKS {
            let frames = 1 + random.below(100);
            let mut events = [random.changes(kind, frames), random.changes(kind, frames)];
            if can_be_bypassed && random.below(30) == 0 {
                let value = random.below(2) as f32;
                let change = Change::Param { index: Bypass::PARAM, value };
                events[random.below(2)] = vec![TimedChange { frame: 0, change }];
            }
            let mut expected = [rows(&mut random, frames), rows(&mut random, frames)];
            let mut got = expected.clone();
            for ((alone, rows), events) in alone.iter_mut().zip(&mut expected).zip(&events) {
                alone.process(&mut block(rows, events));
                contain(alone.as_mut(), rows);
            }
            let [first, second] = &mut got;
            let blocks = [&mut block(first, &events[0]), &mut block(second, &events[1])];
            together += usize::from(run_both(kernel, &mut both, blocks));
            both.iter_mut().zip(&got).for_each(|(one, rows)| contain(one.as_mut(), rows));
            for side in 0..2 {
                let place = format!("{kernel:?}, {}, seed {seed}, block {number}", kind.name);
                assert!(!differs(&got[side], &expected[side]), "{place}, the one at {side}");
                let readings = [&both[side], &alone[side]].map(|one| one.reading());
                let [got, expected] = readings.map(|reading| reading.map(f32::to_bits));
                assert_eq!(got, expected, "{place}, what the meter at {side} shows");
            }
        }
        together
    }

    #[test]
    fn every_set_of_instructions_gives_the_bits_of_each_processor_alone() {
        for kernel in kernels() {
            for name in ["eq", "compressor", "amp", "correlation"] {
                let seeds = 0..60;
                let all = seeds.end as usize * BLOCKS;
                let kind = kind(name).unwrap();
                let together: usize = seeds.map(|seed| check(kernel, kind, seed)).sum();
                assert!(together > all / 2, "{kernel:?}, {name}: {together} blocks of {all}");
            }
        }
    }

    /// An equaliser with four bands whose tails are over within a second.
    fn brief(seed: u32) -> Segmented<Eq> {
        let eq = kind("eq").unwrap();
        let mut values = eq.defaults();
        for band in 0..4 {
            let at = 4 * band as usize;
            (values[at], values[at + 1]) =
                ((1 + (seed + band) % 8) as f32, 300.0 + 500.0 * band as f32);
        }
        Segmented::new(&values, RATE_HZ)
    }

    /// What an equaliser keeps is not heard below 1e-20, and flushed at control points below 1e-30. So states are compared.
    /// The signals end at different frames, and a change puts the control points of one out of step with the other's, and
    /// another one back into step.
    #[test]
    fn tails_are_flushed_at_the_frames_at_which_each_flushes_alone() {
        for (kernel, seed) in
            kernels().into_iter().flat_map(|kernel| (0..8).map(move |n| (kernel, n)))
        {
            let mut random = Random::new(u64::from(seed));
            let mut both = [brief(seed), brief(seed + 3)];
            let mut alone = both.clone();
            let mut start = 0;
            while start < 40_000 {
                let frames = 1 + random.below(if seed < 4 { 100 } else { 1000 });
                let inside = |frame: usize| (start..start + frames).contains(&frame);
                let change = |frame: usize| {
                    inside(frame).then(|| TimedChange {
                        frame: (frame - start) as u32,
                        change: Change::Param { index: 3, value: 6.0 },
                    })
                };
                let events = [[change(1_013), change(9_000)], [change(9_000), None]];
                let events = events.map(|all| all.into_iter().flatten().collect::<Vec<_>>());
                let mut sample = |end: usize| if start < end { random.sample() } else { 0.0 };
                let mut expected = [2_000, 3_100].map(|end| {
                    [0, 400]
                        .map(|later| (0..frames).map(|_| sample(end + later)).collect::<Vec<f32>>())
                });
                let mut got = expected.clone();
                for ((alone, rows), events) in alone.iter_mut().zip(&mut expected).zip(&events) {
                    alone.process(&mut block(rows, events));
                }
                let [first, second] = &mut got;
                let [one, other] = &mut both;
                let pair = [one.abreast(&events[0]).unwrap(), other.abreast(&events[1]).unwrap()];
                kernel
                    .process(pair, [&mut block(first, &events[0]), &mut block(second, &events[1])]);
                assert_eq!(
                    format!("{both:?}"),
                    format!("{alone:?}"),
                    "{kernel:?}, {seed}, frame {start}"
                );
                assert!(!differs(&got[0], &expected[0]) && !differs(&got[1], &expected[1]));
                start += frames;
            }
            assert!(!format!("{both:?}").contains("e-3"), "tails are left, so nothing was tested");
        }
    }
}
