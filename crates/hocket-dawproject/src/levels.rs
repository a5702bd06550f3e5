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
    Decibels {
        /// What is 0 dB.
        whole: f64,
    },
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
    /// A linear factor.
    pub(crate) const LINEAR: Convert = Convert::Decibels { whole: 1.0 };

    pub(crate) fn value(self, value: f64) -> f64 {
        match self {
            Convert::Affine { factor, offset } => value * factor + offset,
            Convert::Decibels { whole } if value > 0.0 => 20.0 * (value / whole).log10(),
            Convert::Decibels { .. } => f64::NEG_INFINITY,
            Convert::Hertz => 440.0 * ((value - 69.0) / 12.0).exp2(),
            Convert::Ratio { whole } => 1.0 / (1.0 - (value / whole).clamp(0.0, 0.99)),
        }
    }
}

/// What a parameter is, which with its unit says how it becomes a value of a session.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Quantity {
    /// Of a fader or a send: a linear factor unless the unit is decibels.
    Level,
    /// Of a device: decibels unless the unit is a linear factor.
    Gain,
    /// To -1 to +1.
    Pan,
    Frequency,
    /// To milliseconds.
    Time,
    /// Of a compressor.
    Ratio,
    /// It has no unit.
    Plain,
    /// Of a plug-in: in its own unit, or a share of the range between these ends.
    Ranged(f32, f32),
}

impl Quantity {
    /// Of the parameter's own value.
    pub(crate) fn convert(self, parameter: &Element<'_>) -> Convert {
        self.convert_in(parameter, None)
    }

    /// Of values of the parameter in the unit `of_points`; without one, in its own.
    pub(crate) fn convert_in(self, parameter: &Element<'_>, of_points: Option<&str>) -> Convert {
        let own = parameter.attribute("unit");
        let unit = of_points.or(own);
        match (self, unit) {
            (Quantity::Level, Some("decibel")) => Convert::SAME,
            (Quantity::Level, Some("percent")) => Convert::Decibels { whole: 100.0 },
            (Quantity::Level, _) => Convert::LINEAR,
            (Quantity::Gain, Some("linear" | "normalized")) => Convert::LINEAR,
            (Quantity::Gain, Some("percent")) => Convert::Decibels { whole: 100.0 },
            (Quantity::Pan, _) => pan(unit, ends(parameter).filter(|_| unit == own)),
            (Quantity::Frequency, Some("semitones")) => Convert::Hertz,
            (Quantity::Time, _) => Convert::Affine { factor: 1000.0, offset: 0.0 },
            (Quantity::Ratio, Some("linear")) => Convert::SAME,
            (Quantity::Ratio, Some("normalized")) => Convert::Ratio { whole: 1.0 },
            (Quantity::Ratio, _) => Convert::Ratio { whole: 100.0 },
            (Quantity::Ranged(min, max), Some("normalized")) => {
                let (min, max) = (f64::from(min), f64::from(max));
                Convert::Affine { factor: max - min, offset: min }
            }
            (Quantity::Gain | Quantity::Frequency | Quantity::Plain | Quantity::Ranged(..), _) => {
                Convert::SAME
            }
        }
    }
}

/// What the parameter says of its range.
fn ends(parameter: &Element<'_>) -> Option<(f64, f64)> {
    let of = |name: &str| parameter.attribute(name)?.trim().parse::<f64>().ok();
    of("min").zip(of("max")).filter(|(min, max)| max > min)
}

fn pan(unit: Option<&str>, ends: Option<(f64, f64)>) -> Convert {
    let of = |(min, max): (f64, f64)| {
        let factor = 2.0 / (max - min);
        (factor, -1.0 - min * factor)
    };
    let usual = match unit {
        Some("linear") => (-1.0, 1.0),
        Some("percent") => (0.0, 100.0),
        _ => (0.0, 1.0),
    };
    // Ends that are too near or too far say nothing.
    let own = ends.map(of).filter(|(factor, offset)| factor.is_normal() && offset.is_finite());
    let (factor, offset) = own.unwrap_or_else(|| of(usual));
    Convert::Affine { factor, offset }
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
    // Not `clamp`, which panics where a plug-in declares its ends the wrong way round.
    let held = value.max(min).min(max);
    // Ends were rounded to single precision, so a value at an end is not outside.
    let slack = 1e-6 * (1.0 + held.abs());
    ((held as f32).max(spec.min).min(spec.max), (held - value).abs() > slack)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_that_programs_mean() {
        assert!((Convert::Hertz.value(58.506371) - 240.0).abs() < 1e-3);
        assert!((Convert::Hertz.value(126.232645) - 12_000.0).abs() < 1e-2);
        assert_eq!(Convert::Hertz.value(69.0), 440.0);
        assert!((Convert::LINEAR.value(0.316228) + 10.0).abs() < 1e-4);
        assert_eq!(Convert::LINEAR.value(0.0), f64::NEG_INFINITY);
        assert_eq!(Convert::Ratio { whole: 100.0 }.value(75.0), 4.0);
        assert_eq!(Convert::Decibels { whole: 100.0 }.value(10.0), -20.0);
        assert_eq!(fader_db(f64::NEG_INFINITY), (f32::NEG_INFINITY, false));
        assert_eq!(fader_db(30.0), (24.0, true));
    }

    #[test]
    fn a_range_that_is_no_range_is_not_used() {
        let at = |convert: Convert, value: f64| convert.value(value);
        assert_eq!(at(pan(Some("linear"), Some((-2.0, 2.0))), 1.0), 0.5);
        for ends in [(0.0, 1e-320), (-1e308, 1e308), (f64::NEG_INFINITY, 0.0)] {
            assert_eq!(at(pan(Some("normalized"), Some(ends)), 0.5), 0.0, "{ends:?}");
        }
    }
}
