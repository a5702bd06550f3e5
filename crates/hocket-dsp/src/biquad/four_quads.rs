//! Four quads in one pass over a row, where a register has room for four numbers.
//!
//! A quad alone leaves most of the arithmetic units idle: each frame waits for the feedback of the frame before. Here four
//! quads work in the same pass, each behind the one before it. They do not wait for each other.
//!
//! Vector `n` has section `n` of each quad, one quad per lane. In turn `t` they work on these frames:
//!
//! ```text
//!              lane 0    lane 1    lane 2     lane 3
//!   vector 0   t         t - 4     t - 8      t - 12
//!   vector 1   t - 1     t - 5     t - 9      t - 13
//!   vector 2   t - 2     t - 6     t - 10     t - 14
//!   vector 3   t - 3     t - 7     t - 11     t - 15
//! ```
//!
//! What a vector puts out in one turn is what the next vector takes in the next turn, lane by lane. From the last vector to
//! the first one it moves on by a lane. Only there a sample comes from one quad to the next, and only there it is narrowed. So
//! one instruction narrows it for all quads.
//!
//! At both ends of a row some sections have no frame. They compute something, and their sums stay as they were.
//!
//! Every value comes from the same operations in the same order as with one section after the other. So the bits are the same.
//! Nothing here multiplies and adds in one step.
//!
//! With registers of two numbers this gained little in blocks of 64 frames, and lost in shorter ones: the ends of a row are
//! longer than those of one quad. There each quad passes by itself.

use super::{Coefficients, QUAD};
use crate::math;

/// Quads, one per lane.
const QUADS: usize = 4;

/// Sections of all quads.
pub(super) const SECTIONS: usize = QUADS * QUAD;

/// A number of each quad.
type Lanes = [f64; QUADS];

/// Four quads of serial sections. Aligned, so that no register is filled from two cache lines.
#[derive(Debug, Clone)]
#[repr(align(32))]
pub(super) struct FourQuads {
    /// `b0 b1 b2 a1 a2` of each vector.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(dead_code, reason = "no kernel there reads them")
    )]
    coefficients: [[Lanes; 5]; QUAD],
    /// The two delayed sums of each vector.
    sums: [[Lanes; 2]; QUAD],
}

impl FourQuads {
    /// [`SECTIONS`] at rest, the first one first.
    pub(super) fn new(sections: &[Coefficients]) -> FourQuads {
        let mut coefficients = [[[0.0; QUADS]; 5]; QUAD];
        for (n, section) in sections.iter().enumerate() {
            for (lanes, value) in coefficients[n % QUAD].iter_mut().zip(section.to_array()) {
                lanes[n / QUAD] = value;
            }
        }
        FourQuads { coefficients, sums: [[[0.0; QUADS]; 2]; QUAD] }
    }

    /// Flushes tails, each section by itself.
    pub(super) fn flush(&mut self) {
        for [first, second] in &mut self.sums {
            for (first, second) in first.iter_mut().zip(second) {
                let mut sums = [*first, *second];
                math::flush_together(&mut sums);
                [*first, *second] = sums;
            }
        }
    }

    pub(super) fn reset(&mut self) {
        self.sums = [[[0.0; QUADS]; 2]; QUAD];
    }
}

/// One register for a number of all quads, by name as the equaliser's (`effects/eq/abreast.rs`).
#[cfg(target_arch = "x86_64")]
pub(super) mod avx2 {
    use std::arch::x86_64::{
        __m128, __m256d, _mm_castps_si128, _mm_castsi128_ps, _mm_move_ss, _mm_set_ss,
        _mm_setzero_ps, _mm_slli_si128, _mm256_add_pd, _mm256_blendv_pd, _mm256_castsi256_pd,
        _mm256_cvtps_pd, _mm256_mul_pd, _mm256_setr_epi64x, _mm256_setr_pd, _mm256_setzero_pd,
        _mm256_sub_pd,
    };
    use std::cell::Cell;

    use super::{FourQuads, Lanes, QUAD, QUADS, SECTIONS};
    use crate::abreast::avx2::{narrow, pair, samples};
    use crate::biquad::step;
    use crate::math;

    /// Turns at each end of a row in which not all sections have a frame.
    const EDGE: usize = SECTIONS - 1;

    /// Of all vectors. In cells, as the row is: so a loop that writes to the row reads them where they lie. Otherwise the
    /// compiler copies them to the stack first.
    type Coefficients = [Cell<Lanes>; 5 * QUAD];

    /// Delayed sums of a section of each quad, and what it put out.
    #[derive(Clone, Copy)]
    struct Vector {
        sums: [__m256d; 2],
        out: __m256d,
    }

    /// What changes from turn to turn. All vectors are taken by their names. If one is chosen by a number that changes, the
    /// compiler keeps them in memory, and copies them by a call of the C library.
    #[derive(Clone, Copy)]
    struct Pass {
        vectors: [Vector; QUAD],
        /// What the last vector put out, narrowed.
        narrow: __m128,
    }

    /// Filters a row.
    #[target_feature(enable = "avx2")]
    pub(in super::super) fn process(four: &mut FourQuads, row: &mut [f32]) {
        let frames = row.len();
        if frames < EDGE {
            return frame_by_frame(four, row);
        }
        let [a, b, c, d] = &four.sums;
        let mut pass =
            Pass { vectors: [rest(a), rest(b), rest(c), rest(d)], narrow: _mm_setzero_ps() };
        let coefficients = Cell::from_mut(four.coefficients.as_flattened_mut());
        let Ok(coefficients) = coefficients.as_slice_of_cells().try_into() else {
            unreachable!("an array has its length");
        };
        let row = Cell::from_mut(row).as_slice_of_cells();
        begin(&mut pass, coefficients, &row[..EDGE]);
        middle(&mut pass, coefficients, row);
        end(&mut pass, coefficients, &row[frames - EDGE..]);
        for (kept, vector) in four.sums.iter_mut().zip(&pass.vectors) {
            *kept = [store(vector.sums[0]), store(vector.sums[1])];
        }
    }

    /// Before the first turn.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn rest([first, second]: &[Lanes; 2]) -> Vector {
        Vector { sums: [load(first), load(second)], out: _mm256_setzero_pd() }
    }

    /// Rows so short that in no turn of a pass all sections would have a frame.
    fn frame_by_frame(four: &mut FourQuads, row: &mut [f32]) {
        for sample in row {
            for quad in 0..QUADS {
                let mut y = f64::from(*sample);
                for (c, sums) in four.coefficients.iter().zip(&mut four.sums) {
                    let mut both = sums.map(|lanes| lanes[quad]);
                    y = step(&c.map(|lanes| lanes[quad]), &mut both, y);
                    [sums[0][quad], sums[1][quad]] = both;
                }
                *sample = math::narrow(y);
            }
        }
    }

    /// Turns that some sections have not reached.
    ///
    /// A function of its own, as the following two: in one function the compiler runs out of registers, and the feedback of
    /// some sections goes through memory.
    #[target_feature(enable = "avx2")]
    #[inline(never)]
    fn begin(kept: &mut Pass, coefficients: &Coefficients, row: &[Cell<f32>]) {
        let mut pass = *kept;
        for (n, input) in (1..=EDGE).zip(row) {
            turn(&mut pass, coefficients, input.get(), |vector, before, after| {
                blend(before, after, reached(n, vector))
            });
        }
        *kept = pass;
    }

    /// Turns in which all sections have a frame. The output is `EDGE` frames behind the input.
    #[target_feature(enable = "avx2")]
    #[inline(never)]
    fn middle(kept: &mut Pass, coefficients: &Coefficients, row: &[Cell<f32>]) {
        let mut pass = *kept;
        for (input, output) in row[EDGE..].iter().zip(row) {
            output.set(turn(&mut pass, coefficients, input.get(), |_, _, after| after));
        }
        *kept = pass;
    }

    /// Turns in which some sections are done with the row, whose last frames are `row`.
    #[target_feature(enable = "avx2")]
    #[inline(never)]
    fn end(kept: &mut Pass, coefficients: &Coefficients, row: &[Cell<f32>]) {
        let mut pass = *kept;
        for (n, output) in (1..=EDGE).zip(row) {
            output.set(turn(&mut pass, coefficients, 0.0, |vector, before, after| {
                blend(after, before, reached(n, vector))
            }));
        }
        *kept = pass;
    }

    /// A frame of each section; returns what the last one puts out. `sums` says which sums a vector keeps: of those before and
    /// after the frame.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn turn(
        pass: &mut Pass,
        coefficients: &Coefficients,
        input: f32,
        sums: impl Fn(usize, [__m256d; 2], [__m256d; 2]) -> [__m256d; 2],
    ) -> f32 {
        let next = moved_on(pass.narrow, input);
        let [a, b, c, d] = &mut pass.vectors;
        // The last one first, so that each finds what the one before it put out in the turn before.
        frame::<3>(d, c.out, coefficients, &sums);
        frame::<2>(c, b.out, coefficients, &sums);
        frame::<1>(b, a.out, coefficients, &sums);
        frame::<0>(a, next, coefficients, &sums);
        pass.narrow = narrow(d.out);
        samples(pass.narrow)[QUADS - 1]
    }

    /// A frame of vector `N`.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn frame<const N: usize>(
        vector: &mut Vector,
        x: __m256d,
        coefficients: &Coefficients,
        sums: impl Fn(usize, [__m256d; 2], [__m256d; 2]) -> [__m256d; 2],
    ) {
        let c: [__m256d; 5] = std::array::from_fn(|k| load(&coefficients[5 * N + k].get()));
        let [first, second] = vector.sums;
        let y = _mm256_add_pd(_mm256_mul_pd(c[0], x), first);
        let sum = _mm256_add_pd(_mm256_mul_pd(c[1], x), second);
        let after = [
            _mm256_sub_pd(sum, _mm256_mul_pd(c[3], y)),
            _mm256_sub_pd(_mm256_mul_pd(c[2], x), _mm256_mul_pd(c[4], y)),
        ];
        *vector = Vector { sums: sums(N, [first, second], after), out: y };
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn blend(one: [__m256d; 2], other: [__m256d; 2], mask: __m256d) -> [__m256d; 2] {
        [_mm256_blendv_pd(one[0], other[0], mask), _mm256_blendv_pd(one[1], other[1], mask)]
    }

    /// What the first vector takes: the row's next sample, and what each quad but the last one put out.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn moved_on(narrow: __m128, input: f32) -> __m256d {
        let behind = _mm_castsi128_ps(_mm_slli_si128::<4>(_mm_castps_si128(narrow)));
        _mm256_cvtps_pd(_mm_move_ss(behind, _mm_set_ss(input)))
    }

    /// Which sections of a vector have a frame in the `n`th turn of a row: all bits of a lane, or none. So many turns after the
    /// row's last frame the same sections have none any more.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn reached(n: usize, vector: usize) -> __m256d {
        let [a, b, c, d] = REACHED.0[n + QUAD - 1 - vector];
        _mm256_castsi256_pd(_mm256_setr_epi64x(a, b, c, d))
    }

    static REACHED: Masks = Masks::new();

    /// Row `n + QUAD - 1` has the lanes of vector 0 in the `n`th turn.
    #[repr(align(32))]
    struct Masks([[i64; QUADS]; EDGE + QUAD]);

    impl Masks {
        const fn new() -> Masks {
            let mut masks = [[0; QUADS]; EDGE + QUAD];
            let mut n = 0;
            while n < masks.len() * QUADS {
                let (row, lane) = (n / QUADS, n % QUADS);
                masks[row][lane] = if QUAD * (lane + 1) <= row { -1 } else { 0 };
                n += 1;
            }
            Masks(masks)
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn load(lanes: &Lanes) -> __m256d {
        _mm256_setr_pd(lanes[0], lanes[1], lanes[2], lanes[3])
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn store(lanes: __m256d) -> Lanes {
        let [[a, b], [c, d]] = pair(lanes);
        [a, b, c, d]
    }
}
