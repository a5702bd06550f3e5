//! Second-order filters: design, response, one section and cascades.
//!
//! Coefficients and state are `f64`. In `f32` a section at 80 Hz and 48 kHz already has rounding
//! noise around -100 dB, because the poles crowd at 1 where `f32` is coarse; on x86-64 and arm64
//! the wider numbers cost nothing in a section alone, since it waits for its own feedback and not
//! for the arithmetic units. Sixteen in one pass (`four_quads.rs`) do wait for these.

mod four_quads;

use std::f64::consts::TAU;

use crate::math;
use four_quads::FourQuads;

/// Normalised coefficients (`a0` is 1): `y = b0 x + b1 x' + b2 x'' - a1 y' - a2 y''`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coefficients {
    /// Of the newest input.
    pub b0: f64,
    /// Of the input one frame ago.
    pub b1: f64,
    /// Of the input two frames ago.
    pub b2: f64,
    /// Of the output one frame ago.
    pub a1: f64,
    /// Of the output two frames ago.
    pub a2: f64,
}

/// The response that a section is designed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Lifts or cuts around a frequency by a gain.
    Peaking,
    /// Lifts or cuts everything below.
    LowShelf,
    /// Lifts or cuts everything above.
    HighShelf,
    /// Removes what is above, 12 dB an octave.
    LowPass,
    /// Removes what is below, 12 dB an octave.
    HighPass,
    /// Removes one frequency.
    Notch,
    /// Keeps one frequency, with 0 dB at the peak.
    BandPass,
    /// Turns the phase only.
    AllPass,
}

impl Coefficients {
    /// Lets everything through unchanged.
    pub const IDENTITY: Coefficients = Coefficients { b0: 1.0, b1: 0.0, b2: 0.0, a1: 0.0, a2: 0.0 };

    /// Designs a section by R. Bristow-Johnson's audio EQ cookbook.
    ///
    /// `gain_db` counts for peaking and shelves only. A frequency at or above half the sample
    /// rate is held at 0.49 of it, so one setting works at any rate.
    pub fn design(shape: Shape, freq_hz: f64, q: f64, gain_db: f64, rate_hz: f64) -> Coefficients {
        let w = TAU * freq_hz.clamp(1e-3, 0.49 * rate_hz) / rate_hz;
        let (sin, cos) = math::sin_cos(w);
        let alpha = sin / (2.0 * q.max(1e-3));
        let a = math::exp(gain_db * (std::f64::consts::LN_10 / 40.0));
        match shape {
            Shape::Peaking => peaking(cos, alpha, a),
            Shape::LowShelf => shelf(cos, alpha, a, 1.0),
            Shape::HighShelf => shelf(cos, alpha, a, -1.0),
            _ => plain(shape, cos, alpha),
        }
    }

    /// The complex response at a frequency, as real and imaginary part.
    pub fn response(&self, freq_hz: f64, rate_hz: f64) -> (f64, f64) {
        let (s1, c1) = math::sin_cos(TAU * freq_hz / rate_hz);
        let (s2, c2) = math::sin_cos(2.0 * TAU * freq_hz / rate_hz);
        let top = (self.b0 + self.b1 * c1 + self.b2 * c2, -(self.b1 * s1 + self.b2 * s2));
        let bottom = (1.0 + self.a1 * c1 + self.a2 * c2, -(self.a1 * s1 + self.a2 * s2));
        let size = bottom.0 * bottom.0 + bottom.1 * bottom.1;
        ((top.0 * bottom.0 + top.1 * bottom.1) / size, (top.1 * bottom.0 - top.0 * bottom.1) / size)
    }

    /// The magnitude of the response at a frequency, linear.
    pub fn magnitude(&self, freq_hz: f64, rate_hz: f64) -> f64 {
        let (re, im) = self.response(freq_hz, rate_hz);
        (re * re + im * im).sqrt()
    }

    /// As an array `b0 b1 b2 a1 a2`.
    pub const fn to_array(self) -> [f64; 5] {
        [self.b0, self.b1, self.b2, self.a1, self.a2]
    }

    fn normalised(b: [f64; 3], a: [f64; 3]) -> Coefficients {
        Coefficients {
            b0: b[0] / a[0],
            b1: b[1] / a[0],
            b2: b[2] / a[0],
            a1: a[1] / a[0],
            a2: a[2] / a[0],
        }
    }
}

fn peaking(cos: f64, alpha: f64, a: f64) -> Coefficients {
    Coefficients::normalised(
        [1.0 + alpha * a, -2.0 * cos, 1.0 - alpha * a],
        [1.0 + alpha / a, -2.0 * cos, 1.0 - alpha / a],
    )
}

/// Both shelves: the high one is the low one with the frequency axis turned round (`side` -1).
fn shelf(cos: f64, alpha: f64, a: f64, side: f64) -> Coefficients {
    let root = 2.0 * a.sqrt() * alpha;
    let (plus, minus) = (a + 1.0, a - 1.0);
    let cos = side * cos;
    Coefficients::normalised(
        [
            a * (plus - minus * cos + root),
            side * 2.0 * a * (minus - plus * cos),
            a * (plus - minus * cos - root),
        ],
        [plus + minus * cos + root, side * -2.0 * (minus + plus * cos), plus + minus * cos - root],
    )
}

fn plain(shape: Shape, cos: f64, alpha: f64) -> Coefficients {
    let b = match shape {
        Shape::LowPass => [(1.0 - cos) / 2.0, 1.0 - cos, (1.0 - cos) / 2.0],
        Shape::HighPass => [(1.0 + cos) / 2.0, -(1.0 + cos), (1.0 + cos) / 2.0],
        Shape::BandPass => [alpha, 0.0, -alpha],
        Shape::AllPass => [1.0 - alpha, -2.0 * cos, 1.0 + alpha],
        _ => [1.0, -2.0 * cos, 1.0],
    };
    Coefficients::normalised(b, [1.0 + alpha, -2.0 * cos, 1.0 - alpha])
}

/// One step of one section, transposed direct form II: the delayed sums stay small, so it is
/// the form with the least noise for floating-point numbers.
#[inline(always)]
pub(crate) fn step(c: &[f64; 5], state: &mut [f64; 2], x: f64) -> f64 {
    let y = c[0] * x + state[0];
    state[0] = (c[1] * x + state[1]) - c[3] * y;
    state[1] = c[2] * x - c[4] * y;
    y
}

/// The two delayed sums of a section, each for left and right: so both sides of a sum are one vector. The other way
/// round, [side][sum], the compiler leaves half of the work scalar.
pub(crate) type BothSides = [[f64; 2]; 2];

/// [`step`] for both sides at once, with the same operations in the same order.
#[inline(always)]
pub(crate) fn step_both(c: &[f64; 5], [first, second]: &mut BothSides, y: &mut [f64; 2]) {
    let x = *y;
    for side in 0..2 {
        y[side] = c[0] * x[side] + first[side];
    }
    for side in 0..2 {
        first[side] = (c[1] * x[side] + second[side]) - c[3] * y[side];
    }
    for side in 0..2 {
        second[side] = c[2] * x[side] - c[4] * y[side];
    }
}

/// Flushes tails, each side by itself: what one side plays does not change the other one.
pub(crate) fn flush_sides<const N: usize>(state: &mut [[f64; 2]; N]) {
    for side in 0..2 {
        let mut sums = state.map(|sides| sides[side]);
        math::flush_together(&mut sums);
        for (sides, sum) in state.iter_mut().zip(sums) {
            sides[side] = sum;
        }
    }
}

/// How often cascades look for tails to flush, in frames.
const FLUSH_FRAMES: usize = 1024;

/// One section on one row.
#[derive(Debug, Clone)]
pub struct Biquad {
    cascade: BiquadCascade,
}

impl Biquad {
    /// Operations a sample: five multiplications, four additions.
    pub const FLOPS: f64 = 9.0;

    /// A section at rest.
    pub fn new(coefficients: Coefficients) -> Biquad {
        Biquad { cascade: BiquadCascade::new(&[coefficients]) }
    }

    /// Filters a row in place. Cost: [`Biquad::FLOPS`] a sample; no allocation.
    pub fn process_mono(&mut self, row: &mut [f32]) {
        self.cascade.process_mono(row);
    }

    /// Forgets the past.
    pub fn reset(&mut self) {
        self.cascade.reset();
    }
}

/// Sections of a quad.
const QUAD: usize = 4;

/// Four serial sections, coefficients and state turned so that each array is one vector.
#[derive(Debug, Clone)]
struct Quad {
    c: [[f64; QUAD]; 5],
    s1: [f64; QUAD],
    s2: [f64; QUAD],
}

impl Quad {
    fn new(sections: &[Coefficients]) -> Quad {
        let mut c = [[0.0; QUAD]; 5];
        for (lane, section) in sections.iter().enumerate() {
            for (row, value) in c.iter_mut().zip(section.to_array()) {
                row[lane] = value;
            }
        }
        Quad { c, s1: [0.0; QUAD], s2: [0.0; QUAD] }
    }

    #[inline(always)]
    fn lane(&mut self, lane: usize, x: f64) -> f64 {
        let c =
            [self.c[0][lane], self.c[1][lane], self.c[2][lane], self.c[3][lane], self.c[4][lane]];
        let mut state = [self.s1[lane], self.s2[lane]];
        let y = step(&c, &mut state, x);
        [self.s1[lane], self.s2[lane]] = state;
        y
    }

    /// All four lanes at once, each on its own frame: lane k is k frames behind lane 0.
    #[inline(always)]
    fn all_lanes(&mut self, x: [f64; QUAD]) -> [f64; QUAD] {
        let c = &self.c;
        let mut y = [0.0; QUAD];
        for k in 0..QUAD {
            y[k] = c[0][k] * x[k] + self.s1[k];
        }
        for k in 0..QUAD {
            self.s1[k] = (c[1][k] * x[k] + self.s2[k]) - c[3][k] * y[k];
        }
        for k in 0..QUAD {
            self.s2[k] = c[2][k] * x[k] - c[4][k] * y[k];
        }
        y
    }

    /// Filters a row as a wavefront.
    ///
    /// A section must wait for its own feedback, and the next section for this one's output. When
    /// section k works on frame n while section k + 1 works on frame n - 1, all four are
    /// independent and run in one vector. The triangles at both ends of the row are done lane by
    /// lane. Every value is computed by the same operations in the same order as one section
    /// after the other would: the bits are the same.
    fn process(&mut self, row: &mut [f32]) {
        let frames = row.len();
        if frames < QUAD {
            return row.iter_mut().for_each(|sample| self.one(sample));
        }
        let mut y = [0.0; QUAD];
        for frame in 0..QUAD - 1 {
            self.triangle(row, frame, 0, frame + 1, &mut y);
        }
        let mut local = self.clone();
        for frame in QUAD - 1..frames {
            y = local.all_lanes([f64::from(row[frame]), y[0], y[1], y[2]]);
            row[frame + 1 - QUAD] = math::narrow(y[QUAD - 1]);
        }
        *self = local;
        for late in 1..QUAD {
            self.triangle(row, frames - 1 + late, late, QUAD, &mut y);
        }
    }

    /// Lanes `from..to` of wavefront step `front`, last lane first, so that each lane finds its
    /// predecessor's output of the step before.
    fn triangle(
        &mut self,
        row: &mut [f32],
        front: usize,
        from: usize,
        to: usize,
        y: &mut [f64; QUAD],
    ) {
        for lane in (from..to).rev() {
            let x = if lane == 0 { f64::from(row[front]) } else { y[lane - 1] };
            y[lane] = self.lane(lane, x);
            if lane == QUAD - 1 {
                row[front - lane] = math::narrow(y[lane]);
            }
        }
    }

    fn one(&mut self, sample: &mut f32) {
        let mut y = f64::from(*sample);
        for lane in 0..QUAD {
            y = self.lane(lane, y);
        }
        *sample = math::narrow(y);
    }

    fn reset(&mut self) {
        self.s1 = [0.0; QUAD];
        self.s2 = [0.0; QUAD];
    }
}

/// Which instructions compute a cascade. All give the same bits.
///
/// One that needs a CPU of its kind exists only on such a CPU, because its constructor can be called nowhere else.
#[derive(Debug, Clone, Copy)]
pub struct CascadeKernel {
    /// Filters a row, four quads in one pass. `None` where a quad passes by itself.
    four_quads: Option<fn(&mut FourQuads, &mut [f32])>,
}

impl CascadeKernel {
    /// The instructions of every CPU.
    pub const PORTABLE: CascadeKernel = CascadeKernel { four_quads: None };

    /// One register for a number of all four quads.
    ///
    /// # Safety
    /// The CPU has AVX2.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    pub fn avx2() -> CascadeKernel {
        CascadeKernel { four_quads: Some(four_quads::avx2::process) }
    }
}

/// Serial sections of one channel, first what fills four quads, then one, then none.
#[derive(Debug, Clone)]
struct Channel {
    kernel: CascadeKernel,
    fours: Vec<FourQuads>,
    quads: Vec<Quad>,
    rest: Vec<([f64; 5], [f64; 2])>,
    until_flush: usize,
}

impl Channel {
    fn new(sections: &[Coefficients], kernel: CascadeKernel) -> Channel {
        let most = if kernel.four_quads.is_some() { sections.len() } else { 0 };
        let fours = sections[..most].chunks_exact(four_quads::SECTIONS);
        let quads = sections[fours.len() * four_quads::SECTIONS..].chunks_exact(QUAD);
        let rest = quads.remainder().iter();
        Channel {
            kernel,
            rest: rest.map(|c| (c.to_array(), [0.0; 2])).collect(),
            quads: quads.map(Quad::new).collect(),
            fours: fours.map(FourQuads::new).collect(),
            until_flush: FLUSH_FRAMES,
        }
    }

    fn len(&self) -> usize {
        self.fours.len() * four_quads::SECTIONS + self.quads.len() * QUAD + self.rest.len()
    }

    /// Flushes at frame counts, not at block ends: the bits do not depend on block sizes.
    fn process(&mut self, mut row: &mut [f32]) {
        while !row.is_empty() {
            let (part, later) = row.split_at_mut(self.until_flush.min(row.len()));
            if let Some(run) = self.kernel.four_quads {
                self.fours.iter_mut().for_each(|four| run(four, part));
            }
            self.quads.iter_mut().for_each(|quad| quad.process(part));
            self.rest(part);
            self.until_flush -= part.len();
            if self.until_flush == 0 {
                self.flush();
            }
            row = later;
        }
    }

    /// The up to three sections that fill no vector: frame by frame, so that the processor can
    /// overlap one section's wait with the next one's work.
    fn rest(&mut self, row: &mut [f32]) {
        match self.rest.as_mut_slice() {
            [] => {}
            [a] => serial(row, [a]),
            [a, b] => serial(row, [a, b]),
            [a, b, c, ..] => serial(row, [a, b, c]),
        }
    }

    fn flush(&mut self) {
        self.until_flush = FLUSH_FRAMES;
        self.fours.iter_mut().for_each(FourQuads::flush);
        for quad in &mut self.quads {
            for lane in 0..QUAD {
                let mut state = [quad.s1[lane], quad.s2[lane]];
                math::flush_together(&mut state);
                [quad.s1[lane], quad.s2[lane]] = state;
            }
        }
        for (_, state) in &mut self.rest {
            math::flush_together(state);
        }
    }

    fn reset(&mut self) {
        self.fours.iter_mut().for_each(FourQuads::reset);
        self.quads.iter_mut().for_each(Quad::reset);
        self.rest.iter_mut().for_each(|(_, state)| *state = [0.0; 2]);
        self.until_flush = FLUSH_FRAMES;
    }
}

fn serial<const N: usize>(row: &mut [f32], sections: [&mut ([f64; 5], [f64; 2]); N]) {
    let mut local = sections.each_ref().map(|section| **section);
    for sample in row {
        let mut y = f64::from(*sample);
        for (c, state) in &mut local {
            y = step(c, state, y);
        }
        *sample = math::narrow(y);
    }
    for (section, local) in sections.into_iter().zip(local) {
        *section = local;
    }
}

/// Serial sections on one mono row or on both rows of a stereo signal.
///
/// Groups of four sections (quads) run as one vector, or four quads run side by side, as the [`CascadeKernel`] can. Between
/// quads the signal is rounded to `f32`.
#[derive(Debug, Clone)]
pub struct BiquadCascade {
    left: Channel,
    right: Channel,
}

impl BiquadCascade {
    /// A cascade at rest, first section first, with the instructions of every CPU.
    pub fn new(sections: &[Coefficients]) -> BiquadCascade {
        BiquadCascade::with_kernel(sections, CascadeKernel::PORTABLE)
    }

    /// The same with the instructions of `kernel`. The bits do not depend on them.
    pub fn with_kernel(sections: &[Coefficients], kernel: CascadeKernel) -> BiquadCascade {
        let channel = || Channel::new(sections, kernel);
        BiquadCascade { left: channel(), right: channel() }
    }

    /// The same section `count` times: the load that other engines are compared with.
    pub fn repeated(section: Coefficients, count: usize) -> BiquadCascade {
        BiquadCascade::new(&vec![section; count])
    }

    /// How many sections there are.
    pub fn len(&self) -> usize {
        self.left.len()
    }

    /// Whether there is no section.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Operations a sample of one row: 9 a section (the flush of the output is not counted, so
    /// that figures compare with those of other engines).
    pub fn flops_per_sample(&self) -> f64 {
        self.len() as f64 * Biquad::FLOPS
    }

    /// Filters a row in place, with the left channel's state. No allocation.
    pub fn process_mono(&mut self, row: &mut [f32]) {
        self.left.process(row);
    }

    /// Filters both rows in place. No allocation.
    pub fn process_stereo(&mut self, left: &mut [f32], right: &mut [f32]) {
        self.left.process(left);
        self.right.process(right);
    }

    /// Forgets the past.
    pub fn reset(&mut self) {
        self.left.reset();
        self.right.reset();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(frames: usize) -> Vec<f32> {
        let mut seed = 7u32;
        let mut next = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) as f32 / 8_388_608.0 - 1.0
        };
        (0..frames).map(|_| next()).collect()
    }

    fn sections(count: usize) -> Vec<Coefficients> {
        (0..count)
            .map(|n| {
                let freq_hz = 100.0 * (n + 1) as f64;
                Coefficients::design(Shape::Peaking, freq_hz, 0.9, 3.0, 48_000.0)
            })
            .collect()
    }

    #[test]
    fn a_wavefront_has_the_bits_of_one_section_after_the_other() {
        for count in 0..=41 {
            let sections = sections(count);
            let mut fast = noise(3000);
            BiquadCascade::new(&sections).process_mono(&mut fast);
            let mut plain = noise(3000);
            let mut states = vec![[0.0; 2]; count];
            for sample in &mut plain {
                let mut y = f64::from(*sample);
                for (n, (section, state)) in sections.iter().zip(&mut states).enumerate() {
                    y = step(&section.to_array(), state, y);
                    if n % QUAD == QUAD - 1 {
                        y = f64::from(math::narrow(y));
                    }
                }
                *sample = math::narrow(y);
            }
            assert_eq!(fast, plain, "{count} sections");
        }
    }

    #[test]
    fn blocks_of_any_length_give_the_same_bits() {
        let mut whole = noise(5000);
        let mut cascade = BiquadCascade::new(&sections(11));
        cascade.process_mono(&mut whole);
        for length in [1, 2, 3, 4, 5, 64, 441] {
            let mut parts = noise(5000);
            cascade.reset();
            for part in parts.chunks_mut(length) {
                cascade.process_mono(part);
            }
            assert_eq!(whole, parts, "{length}");
        }
    }

    #[test]
    fn every_section_of_a_channel_pair_has_its_own_state() {
        let (mut left, mut right) = (noise(500), vec![0.0; 500]);
        let mut cascade = BiquadCascade::repeated(sections(1)[0], 32);
        cascade.process_stereo(&mut left, &mut right);
        assert_eq!(right, [0.0; 500]);
        assert_eq!(cascade.len(), 32);
        assert_eq!(cascade.flops_per_sample(), 288.0);
    }

    #[test]
    fn a_tail_ends_in_zeros() {
        let mut biquad =
            Biquad::new(Coefficients::design(Shape::BandPass, 40.0, 30.0, 0.0, 48_000.0));
        let mut row = vec![0.0; 48_000];
        row[0] = 1.0;
        biquad.process_mono(&mut row);
        for _ in 0..30 {
            row.fill(0.0);
            biquad.process_mono(&mut row);
        }
        assert!(row.iter().all(|sample| *sample == 0.0));
    }

    #[test]
    fn shapes_have_their_defining_gains() {
        let rate = 48_000.0;
        let at = |shape, freq_hz: f64| {
            let section = Coefficients::design(shape, 1000.0, 0.9, 6.0, rate);
            20.0 * section.magnitude(freq_hz, rate).log10()
        };
        let close = |got: f64, expected: f64| assert!((got - expected).abs() < 1e-6, "{got}");
        close(at(Shape::Peaking, 1000.0), 6.0);
        close(at(Shape::LowShelf, 0.0), 6.0);
        close(at(Shape::LowShelf, 24_000.0), 0.0);
        close(at(Shape::LowShelf, 1000.0), 3.0);
        close(at(Shape::HighShelf, 24_000.0), 6.0);
        close(at(Shape::HighShelf, 0.0), 0.0);
        close(at(Shape::LowPass, 0.0), 0.0);
        close(at(Shape::HighPass, 24_000.0), 0.0);
        close(at(Shape::BandPass, 1000.0), 0.0);
        close(at(Shape::AllPass, 333.0), 0.0);
        assert!(at(Shape::Notch, 1000.0) < -200.0);
        assert!((at(Shape::LowPass, 1000.0) - 20.0 * 0.9f64.log10()).abs() < 1e-6);
    }
}
