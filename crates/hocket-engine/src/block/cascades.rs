//! With which instructions cascades of filters are computed here.

use hocket_dsp::CascadeKernel;

#[cfg(target_arch = "x86_64")]
use super::abreast::Avx2;

/// The best instructions of this CPU for a [`BiquadCascade`](hocket_dsp::BiquadCascade).
///
/// Thread: control. Cost: a look at what the standard library knows of the CPU.
pub fn cascade_kernel() -> CascadeKernel {
    #[cfg(target_arch = "x86_64")]
    if Avx2::here().is_some() {
        // SAFETY: THERE (`abreast.rs`): this CPU has AVX2.
        return unsafe { CascadeKernel::avx2() };
    }
    CascadeKernel::PORTABLE
}

#[cfg(test)]
mod tests {
    use hocket_dsp::{BiquadCascade, Coefficients, Shape, math};

    use super::super::random::Random;
    use super::*;

    /// Sections after which the signal is narrowed.
    const QUAD: usize = 4;
    /// After how many frames tails are flushed.
    const FLUSH_FRAMES: usize = 1024;

    fn kernels() -> Vec<(&'static str, CascadeKernel)> {
        #[cfg(target_arch = "x86_64")]
        if Avx2::here().is_some() {
            return vec![("portable", CascadeKernel::PORTABLE), ("wide", cascade_kernel())];
        }
        println!("SKIPPED wide registers: this CPU has no AVX2");
        vec![("portable", CascadeKernel::PORTABLE)]
    }

    /// One section after the other, frame by frame.
    struct Plain {
        sections: Vec<([f64; 5], [f64; 2])>,
        until_flush: usize,
    }

    impl Plain {
        fn new(sections: &[Coefficients]) -> Plain {
            let sections = sections.iter().map(|c| (c.to_array(), [0.0; 2])).collect();
            Plain { sections, until_flush: FLUSH_FRAMES }
        }

        fn process(&mut self, row: &mut [f32]) {
            // Without sections nothing is narrowed, either.
            if self.sections.is_empty() {
                return;
            }
            for sample in row {
                let mut x = f64::from(*sample);
                for (n, (c, [first, second])) in self.sections.iter_mut().enumerate() {
                    let y = c[0] * x + *first;
                    *first = (c[1] * x + *second) - c[3] * y;
                    *second = c[2] * x - c[4] * y;
                    x = if n % QUAD == QUAD - 1 { math::narrow(y).into() } else { y };
                }
                *sample = math::narrow(x);
                self.until_flush -= 1;
                if self.until_flush == 0 {
                    self.until_flush = FLUSH_FRAMES;
                    self.sections.iter_mut().for_each(|(_, sums)| math::flush_together(sums));
                }
            }
        }
    }

    impl Random {
        fn noise(&mut self) -> f64 {
            self.below(1 << 24) as f64 / f64::from(1 << 23) - 1.0
        }

        /// One in so many is unusual.
        fn number(&mut self, usual: usize) -> f64 {
            let noise = self.noise();
            let unusual = [
                -0.0,
                0.0,
                noise * 1e-310,
                noise * 1e-39,
                noise * 1e-31,
                noise * 1e-20,
                noise * 1e300,
                f64::from(f32::MAX),
                f64::INFINITY,
                f64::NEG_INFINITY,
                f64::NAN,
            ];
            match self.below(usual) {
                0 => unusual[self.below(unusual.len())],
                _ => noise,
            }
        }

        /// Of an equaliser, or one of any numbers in so many.
        fn section(&mut self, usual: usize) -> Coefficients {
            let shapes = [Shape::Peaking, Shape::LowShelf, Shape::BandPass, Shape::AllPass];
            let (freq_hz, gain_db) = (3000.0 * (1.001 + self.noise()), 6.0 * self.noise());
            match self.below(usual) {
                0 => {
                    let [b0, b1, b2, a1, a2] = [(); 5].map(|()| self.number(40));
                    Coefficients { b0, b1, b2, a1, a2 }
                }
                n => Coefficients::design(shapes[n % 4], freq_hz, 0.9, gain_db, 48_000.0),
            }
        }

        /// Blocks of any length: few frames, or many.
        fn frames(&mut self) -> usize {
            let most = [6, 40, 100, 1500][self.below(4)];
            self.below(most)
        }
    }

    /// Which of several bit patterns a NaN has, the language does not promise.
    fn same(one: f32, other: f32) -> bool {
        one.to_bits() == other.to_bits() || one.is_nan() && other.is_nan()
    }

    /// Noise, silence until tails end, and noise again. In some seeds most numbers are of an equaliser, in some few.
    fn check(name: &str, kernel: CascadeKernel, seed: u64) {
        let mut random = Random::new(seed);
        let [of_equaliser, usual] = [[1000, 10_000_000], [60, 1000], [3, 100]][seed as usize % 3];
        let count = random.below(45);
        let sections: Vec<Coefficients> =
            (0..count).map(|_| random.section(of_equaliser)).collect();
        let mut cascade = BiquadCascade::with_kernel(&sections, kernel);
        assert_eq!(cascade.len(), count);
        let mut plain = Plain::new(&sections);
        let mut at = 0;
        while at < 9000 {
            let sounds = !(2500..7500).contains(&at);
            let frames = random.frames();
            let mut sample = || if sounds { random.number(usual) as f32 } else { 0.0 };
            let mut expected: Vec<f32> = (0..frames).map(|_| sample()).collect();
            let mut got = expected.clone();
            plain.process(&mut expected);
            cascade.process_mono(&mut got);
            for (frame, (got, expected)) in got.iter().zip(&expected).enumerate() {
                let place = format!("{name}, seed {seed}, {count} sections");
                assert!(same(*got, *expected), "{place}, frame {}", at + frame);
            }
            at += frames;
        }
    }

    #[test]
    fn every_set_of_instructions_gives_the_bits_of_one_section_after_the_other() {
        for (name, kernel) in kernels() {
            (0..150).for_each(|seed| check(name, kernel, seed));
        }
    }

    #[test]
    fn both_rows_have_their_own_past_and_a_reset_forgets_it() {
        for (name, kernel) in kernels() {
            let mut random = Random::new(3);
            let sections: Vec<Coefficients> = (0..39).map(|_| random.section(1000)).collect();
            let mut cascade = BiquadCascade::with_kernel(&sections, kernel);
            let noise: Vec<f32> = (0..500).map(|_| random.noise() as f32).collect();
            let mut turn = || {
                let (mut left, mut right) = (noise.clone(), vec![0.0; 500]);
                cascade.process_stereo(&mut left, &mut right);
                assert_eq!(right, [0.0; 500], "{name}");
                cascade.reset();
                left
            };
            assert_eq!(turn(), turn(), "{name}");
        }
    }
}
