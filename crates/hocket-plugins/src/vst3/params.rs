//! Parameters in their own units. VST3 moves every parameter from 0 to 1; sessions and people use the plug-in's units.

use std::collections::HashSet;

use super::ffi::{Instance, ParamFacts};
use crate::description::{Param, Steps};
use crate::names::{readable, unique};

/// Where a range has no finite ends.
const UNLIMITED: f64 = 1e6;
/// In so many parts a range is looked at that is not even.
const PARTS: usize = 1024;
/// How far an even range may be off, as a share of the whole.
const EVEN: f64 = 1e-6;
/// The most values with a name.
const MOST_LABELS: u32 = 64;

/// How values in units become values from 0 to 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Scale {
    form: Form,
    /// The default in its unit and from 0 to 1, so that it comes back as it is.
    default: (f32, f64),
}

#[derive(Debug, Clone, PartialEq)]
enum Form {
    /// Even between two ends.
    Even { from: f64, to: f64 },
    /// Values at equal distances, none below the one before.
    Curve(Vec<f64>),
}

impl Scale {
    /// From 0 to 1.
    ///
    /// Thread: audio. Cost: up to ten comparisons.
    pub fn normalized(&self, value: f32) -> f64 {
        if value == self.default.0 {
            return self.default.1;
        }
        let value = f64::from(value);
        let share = match &self.form {
            Form::Even { from, to } if from == to => 0.0,
            Form::Even { from, to } => (value - from) / (to - from),
            Form::Curve(points) => on_curve(points, value),
        };
        share.clamp(0.0, 1.0)
    }
}

fn on_curve(points: &[f64], value: f64) -> f64 {
    let above = points.partition_point(|point| *point <= value);
    if above == 0 || above == points.len() {
        return if above == 0 { 0.0 } else { 1.0 };
    }
    let (low, high) = (points[above - 1], points[above]);
    (above as f64 - 1.0 + (value - low) / (high - low)) / (points.len() - 1) as f64
}

/// The parameters that a session may set, each with its scale: neither hidden nor read-only, and not the bypass, which is
/// Hocket's own.
pub fn params_of(instance: &Instance) -> Vec<(Param, Scale)> {
    let mut names = HashSet::new();
    let facts = instance.params().into_iter().filter(|facts| !facts.is_internal);
    facts
        .map(|facts| {
            let plain = |value| instance.plain(facts.id, value);
            let label = |value| instance.label(facts.id, value);
            param(&facts, plain, label, &mut names)
        })
        .collect()
}

fn param(
    facts: &ParamFacts,
    plain: impl Fn(f64) -> f64,
    label: impl Fn(f64) -> Option<String>,
    names: &mut HashSet<String>,
) -> (Param, Scale) {
    let default_share = if facts.default.is_nan() { 0.0 } else { facts.default.clamp(0.0, 1.0) };
    let (form, from, to) = match facts.steps {
        0 => form(&plain),
        steps => stepped(steps, &plain),
    };
    let (min, max) = (from.min(to) as f32, from.max(to) as f32);
    let default = match facts.steps {
        0 => limited(plain(default_share), from),
        _ => (from + (to - from) * default_share).round(),
    };
    let default = rounded(default as f32, max - min).clamp(min, max);
    let points = match facts.is_list && facts.steps <= MOST_LABELS {
        true => labels(facts.steps, (from, to), label),
        false => Vec::new(),
    };
    let param = Param {
        name: unique(&readable(&facts.title, facts.id), names),
        title: facts.title.clone(),
        unit: facts.unit.clone(),
        min,
        max,
        default,
        per_rate: false,
        steps: match facts.steps {
            0 => Steps::None,
            1 if (min, max) == (0.0, 1.0) => Steps::Switch,
            _ => Steps::Whole,
        },
        points,
        id: facts.id,
    };
    (param, Scale { form, default: (default, default_share) })
}

fn labels(
    steps: u32,
    (from, to): (f64, f64),
    label: impl Fn(f64) -> Option<String>,
) -> Vec<(f32, String)> {
    let of = |step: u32| {
        let share = f64::from(step) / f64::from(steps);
        Some(((from + (to - from) * share) as f32, label(share)?))
    };
    if steps == 0 { Vec::new() } else { (0..=steps).filter_map(of).collect() }
}

/// What is no number, or no finite one, is something that is one.
fn limited(value: f64, or: f64) -> f64 {
    if value.is_nan() { or } else { value.clamp(-UNLIMITED, UNLIMITED) }
}

/// Plug-ins compute with few digits: 0 comes as 0.0000012. What is less than a millionth of the range is not shown.
fn rounded(value: f32, range: f32) -> f32 {
    let digits = f64::from(range).log10().floor() - 5.0;
    let grain = 10_f64.powf(-digits);
    let near = ((f64::from(value) * grain).round() / grain) as f32;
    if near.is_finite() { near } else { value }
}

/// Whole numbers: the plug-in's own where each step is one, else from 0.
fn stepped(steps: u32, plain: impl Fn(f64) -> f64) -> (Form, f64, f64) {
    let (from, to) = (limited(plain(0.0), 0.0), limited(plain(1.0), 0.0));
    let whole = from == from.round() && (to - from).abs() == f64::from(steps);
    let (from, to) = if whole { (from, to) } else { (0.0, f64::from(steps)) };
    (Form::Even { from, to }, from, to)
}

/// A range without steps. One that goes up and down again has no unit: it stays from 0 to 1.
fn form(plain: impl Fn(f64) -> f64) -> (Form, f64, f64) {
    let (from, to) = (limited(plain(0.0), 0.0), limited(plain(1.0), 1.0));
    let at = |part: usize, parts: usize| limited(plain(part as f64 / parts as f64), f64::NAN);
    let even = |part: usize, parts: usize| from + (to - from) * part as f64 / parts as f64;
    let is_even = |parts: usize| {
        (0..=parts)
            .all(|part| (at(part, parts) - even(part, parts)).abs() <= EVEN * (to - from).abs())
    };
    if from != to && is_even(16) {
        return (Form::Even { from, to }, from, to);
    }
    let points: Vec<f64> = (0..=PARTS).map(|part| at(part, PARTS)).collect();
    match from < to && points.is_sorted() {
        true => (Form::Curve(points), from, to),
        false => (Form::Even { from: 0.0, to: 1.0 }, 0.0, 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(steps: u32, default: f64, plain: impl Fn(f64) -> f64) -> (Param, Scale) {
        let (title, unit) = ("Drive".into(), "dB".into());
        let facts = ParamFacts {
            id: 3,
            title,
            unit,
            steps,
            default,
            is_list: steps > 1,
            is_internal: false,
        };
        let label = |share: f64| Some(format!("at {share}"));
        param(&facts, plain, label, &mut HashSet::new())
    }

    #[test]
    fn an_even_range_has_the_plug_ins_units() {
        let (param, scale) = made(0, 0.3, |share| share * 72.0 - 60.0);
        assert_eq!((param.name.as_str(), param.unit.as_str()), ("drive", "dB"));
        assert_eq!((param.min, param.max, param.steps), (-60.0, 12.0, Steps::None));
        assert_eq!(scale.normalized(param.default), 0.3, "the default is the plug-in's own");
        assert_eq!(
            [-60.0, -24.0, 12.0, 99.0].map(|value| scale.normalized(value)),
            [0.0, 0.5, 1.0, 1.0]
        );
        let (near, scale) = made(0, 50.0 / 70.0, |share| share * 70.0 - 49.999_998);
        assert_eq!((near.default, scale.normalized(0.0)), (0.0, 50.0 / 70.0));
        let (falling, scale) = made(0, 0.0, |share| 10.0 - share * 10.0);
        assert_eq!((falling.min, falling.max, falling.default), (0.0, 10.0, 10.0));
        assert_eq!(scale.normalized(2.5), 0.75);
    }

    #[test]
    fn a_curve_is_followed_closely() {
        let plain = |share: f64| 20.0 * 1000.0_f64.powf(share);
        let (param, scale) = made(0, 0.5, plain);
        assert_eq!((param.min, param.max), (20.0, 20_000.0));
        for value in [20.0_f32, 21.0, 440.0, 1_000.0, 19_999.0, 20_000.0] {
            let back = plain(scale.normalized(value)) as f32;
            assert!((back / value - 1.0).abs() < 1e-5, "{value} {back}");
        }
        let (odd, _) = made(0, 0.5, |share| (share * 9.0).sin());
        assert_eq!((odd.min, odd.max), (0.0, 1.0), "it goes up and down");
        let (none, scale) = made(0, f64::NAN, |_| f64::NAN);
        assert_eq!((none.min, none.max, scale.normalized(0.25)), (0.0, 1.0, 0.25));
    }

    #[test]
    fn steps_are_whole_numbers() {
        let (param, scale) = made(3, 1.0 / 3.0, |share| (share * 4.0).floor().min(3.0) + 5.0);
        assert_eq!(
            (param.min, param.max, param.default, param.steps),
            (5.0, 8.0, 6.0, Steps::Whole)
        );
        assert_eq!(scale.normalized(7.0), 2.0 / 3.0);
        assert_eq!(param.points[3], (8.0, "at 1".into()));
        let (choice, scale) = made(4, 0.0, |share| share);
        assert_eq!((choice.max, scale.normalized(1.0)), (4.0, 0.25));
        assert_eq!(made(1, 1.0, |share| share).0.steps, Steps::Switch);
    }
}
