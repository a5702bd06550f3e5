//! Values of parameters in the units of sessions.

use hocket_plan::ParamSpec;

use crate::xml::Element;

/// The loudest fader of a session.
pub(crate) const LOUDEST_DB: f64 = 24.0;
/// As good as silence; lanes know nothing lower.
pub(crate) const SILENCE_DB: f64 = -200.0;

/// How a value of a project becomes one of a session.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Convert {
    /// It stays, times a factor, plus an offset.
    Affine {
        /// Times.
        factor: f64,
        /// Plus.
        offset: f64,
    },
    /// A linear factor to decibels.
    Decibels,
    /// MIDI note numbers, with fractions, to hertz.
    Hertz,
    /// A share of 0 to 1 to the ratio that reduces by that share: 0 is 1:1, 1 is a limiter.
    Ratio {
        /// What is 1.
        whole: f64,
    },
}

impl Convert {
    /// Nothing changes.
    pub(crate) const SAME: Convert = Convert::Affine { factor: 1.0, offset: 0.0 };

    pub(crate) fn value(self, value: f64) -> f64 {
        match self {
            Convert::Affine { factor, offset } => value * factor + offset,
            Convert::Decibels if value > 0.0 => 20.0 * value.log10(),
            Convert::Decibels => f64::NEG_INFINITY,
            Convert::Hertz => 440.0 * ((value - 69.0) / 12.0).exp2(),
            Convert::Ratio { whole } => 1.0 / (1.0 - (value / whole).clamp(0.0, 0.99)),
        }
    }

    /// Of a level: a linear factor, or decibels.
    pub(crate) fn level(parameter: &Element<'_>) -> Convert {
        match parameter.attribute("unit") {
            Some("decibel") => Convert::SAME,
            _ => Convert::Decibels,
        }
    }

    /// Of a pan position, to -1 to +1.
    pub(crate) fn pan(parameter: &Element<'_>) -> Convert {
        let of = |name: &str| parameter.attribute(name)?.trim().parse::<f64>().ok();
        let ends = of("min").zip(of("max")).filter(|(min, max)| max > min);
        let usual = match parameter.attribute("unit") {
            Some("linear") => (-1.0, 1.0),
            Some("percent") => (0.0, 100.0),
            _ => (0.0, 1.0),
        };
        let (min, max) =
            ends.filter(|ends| ends.0.is_finite() && ends.1.is_finite()).unwrap_or(usual);
        let factor = 2.0 / (max - min);
        Convert::Affine { factor, offset: -1.0 - min * factor }
    }

    /// Of a frequency.
    pub(crate) fn frequency(parameter: &Element<'_>) -> Convert {
        match parameter.attribute("unit") {
            Some("semitones") => Convert::Hertz,
            _ => Convert::SAME,
        }
    }

    /// Of a time, to milliseconds.
    pub(crate) fn milliseconds() -> Convert {
        Convert::Affine { factor: 1000.0, offset: 0.0 }
    }

    /// Of a compressor's ratio.
    pub(crate) fn ratio(parameter: &Element<'_>) -> Convert {
        match parameter.attribute("unit") {
            Some("linear") => Convert::SAME,
            Some("normalized") => Convert::Ratio { whole: 1.0 },
            _ => Convert::Ratio { whole: 100.0 },
        }
    }
}

/// A fader's level: what a session can say, and whether the project said more.
pub(crate) fn fader_db(db: f64) -> (f32, bool) {
    let silent = db < SILENCE_DB;
    let value = if silent { f64::NEG_INFINITY } else { db.min(LOUDEST_DB) };
    (value as f32, db > LOUDEST_DB)
}

/// A value within what the effect knows, and whether it was outside.
pub(crate) fn within(spec: &ParamSpec, value: f64) -> (f32, bool) {
    let (min, max) = (f64::from(spec.min), f64::from(spec.max));
    let held = value.clamp(min, max);
    // Ends were rounded to single precision, so a value at an end is not outside.
    let slack = 1e-6 * (1.0 + held.abs());
    ((held as f32).clamp(spec.min, spec.max), (held - value).abs() > slack)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_that_programs_mean() {
        assert!((Convert::Hertz.value(58.506371) - 240.0).abs() < 1e-3);
        assert!((Convert::Hertz.value(126.232645) - 12_000.0).abs() < 1e-2);
        assert_eq!(Convert::Hertz.value(69.0), 440.0);
        assert!((Convert::Decibels.value(0.316228) + 10.0).abs() < 1e-4);
        assert_eq!(Convert::Decibels.value(0.0), f64::NEG_INFINITY);
        assert_eq!(Convert::Ratio { whole: 100.0 }.value(75.0), 4.0);
        assert_eq!(fader_db(f64::NEG_INFINITY), (f32::NEG_INFINITY, false));
        assert_eq!(fader_db(30.0), (24.0, true));
    }
}
