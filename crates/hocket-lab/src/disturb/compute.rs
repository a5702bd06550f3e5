//! The compute load: correlation of two channels, the kernel of the thesis' prototype (7.2.2).

use super::Work;

/// Small enough for any first-level data cache (2 rows of 16 KiB).
const FRAMES: usize = 4096;

pub(super) struct Correlation {
    left: Vec<f32>,
    right: Vec<f32>,
    /// Kept, so that no compiler may leave the work out.
    last: f64,
}

impl Correlation {
    pub(super) fn new() -> Correlation {
        let wave = |step: f64| (0..FRAMES).map(|i| (i as f64 * step).sin() as f32).collect();
        Correlation { left: wave(0.037), right: wave(0.041), last: 0.0 }
    }

    fn correlate(&self) -> f64 {
        let (mut lr, mut ll, mut rr) = (0.0f64, 0.0f64, 0.0f64);
        for (l, r) in self.left.iter().zip(&self.right) {
            let (l, r) = (f64::from(*l), f64::from(*r));
            lr += l * r;
            ll += l * l;
            rr += r * r;
        }
        lr / (ll * rr).sqrt().max(f64::MIN_POSITIVE)
    }
}

impl Work for Correlation {
    fn piece(&mut self) -> Result<(), String> {
        self.last = std::hint::black_box(self.correlate());
        if self.last.is_finite() { Ok(()) } else { Err("the correlation is not a number".into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlation_lies_between_minus_one_and_one_and_is_one_for_equal_rows() {
        let mut load = Correlation::new();
        load.piece().unwrap();
        assert!(load.last.abs() < 1.0);
        load.right = load.left.clone();
        assert!((load.correlate() - 1.0).abs() < 1e-12);
    }
}
