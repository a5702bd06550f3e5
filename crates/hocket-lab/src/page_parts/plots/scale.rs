//! Axes: where a figure lies, and which round figures are named.

use crate::numbers::{DATE, date, printed, rescaled, round, round_quantity};

/// An axis from one figure to a larger one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    low: f64,
    high: f64,
    logarithmic: bool,
}

/// Beyond this, and below its inverse on a logarithmic axis, quotients of two figures are no longer finite.
const LARGEST: f64 = 1e150;

impl Scale {
    /// A linear axis that holds zero and all of `values` that are numbers.
    pub(crate) fn linear(values: impl Iterator<Item = f64>) -> Scale {
        let (low, high) = range(values.chain([0.0]));
        let high = if high > low { high } else { low + 1.0 };
        let room = (high - low) * 0.04;
        let low = if low < 0.0 { low - room } else { low };
        Scale { low, high: if high > 0.0 { high + room } else { high }, logarithmic: false }
    }

    /// A linear axis from `low` to `high`, without room at its ends.
    pub(crate) fn between(low: f64, high: f64) -> Scale {
        let (low, high) = range([low, high].into_iter());
        let high = if high > low { high } else { low + 1.0 };
        Scale { low, high, logarithmic: false }
    }

    /// A logarithmic axis that holds all of `values` that are above zero.
    pub(crate) fn log(values: impl Iterator<Item = f64>) -> Scale {
        let (low, high) = range(values.filter(|value| *value > 1.0 / LARGEST));
        let (low, high) = if low > 0.0 { (low, high) } else { (1.0, 10.0) };
        let (low, high) = if high / low < 1.2 { (low / 1.2, high * 1.2) } else { (low, high) };
        let room = (high / low).powf(0.03);
        Scale { low: low / room, high: high * room, logarithmic: true }
    }

    /// Either of the two.
    pub(crate) fn of(values: impl Iterator<Item = f64>, logarithmic: bool) -> Scale {
        if logarithmic { Scale::log(values) } else { Scale::linear(values) }
    }

    /// Whether equal ratios lie equally far apart.
    pub(crate) fn is_logarithmic(&self) -> bool {
        self.logarithmic
    }

    /// Place on the axis, 0 at its beginning and 1 at its end; `None` for what has none: no number, or
    /// not above zero on a logarithmic axis.
    pub(crate) fn place(&self, value: f64) -> Option<f64> {
        let place = match self.logarithmic {
            true if value > 0.0 => (value / self.low).ln() / (self.high / self.low).ln(),
            true => return None,
            false => (value - self.low) / (self.high - self.low),
        };
        (value.is_finite() && !place.is_nan()).then(|| place.clamp(0.0, 1.0))
    }

    /// Whether the axis reaches this figure.
    pub(crate) fn shows(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Sets of round figures on the axis, the finest first, every one with two or more where possible.
    fn tick_sets(&self) -> Vec<Vec<f64>> {
        let decades = (self.high / self.low).log10();
        match self.logarithmic {
            true if decades > 0.9 => self.log_sets(decades),
            _ => (2..=10).rev().map(|wanted| self.linear_ticks(wanted)).collect(),
        }
    }

    /// Sets of whole days, on a short axis of whole hours and minutes, the finest first. Where it has none of them, round
    /// numbers of seconds.
    fn date_sets(&self) -> Vec<Vec<f64>> {
        let is_short = self.high - self.low < FEW_DAYS;
        let steps = DATE_STEPS.iter().filter(|step| is_short || **step >= DAY);
        let few = steps.filter(|step| (self.high - self.low) / **step < 30.0);
        let ticks = |step: &f64| {
            let first = (self.low / step).ceil();
            let ticks = (0..31).map(|at| (first + f64::from(at)) * step);
            ticks.filter(|tick| self.shows(*tick)).collect::<Vec<f64>>()
        };
        let sets = few.map(ticks).filter(|ticks| ticks.len() > 1);
        sets.chain(self.tick_sets()).collect()
    }

    fn log_sets(&self, decades: f64) -> Vec<Vec<f64>> {
        let coarse = (1..=64).map(|every| self.powers(every, &[1.0]));
        let fine: [&[f64]; 2] = [&[1.0, 2.0, 5.0], &[1.0, 3.0]];
        let fine = fine.into_iter().filter(|_| decades < 6.0).map(|steps| self.powers(1, steps));
        fine.chain(coarse).collect()
    }

    fn powers(&self, every: i32, steps: &[f64]) -> Vec<f64> {
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let powers = (first..=last).filter(|power| power.rem_euclid(every) == 0);
        let ticks = powers.flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
        ticks.filter(|tick| self.shows(*tick)).collect()
    }

    fn linear_ticks(&self, wanted: u32) -> Vec<f64> {
        let rough = (self.high - self.low) / f64::from(wanted);
        if !rough.is_finite() || rough <= 0.0 {
            return vec![self.low];
        }
        let power = 10f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
        let step = steps.into_iter().find(|step| *step >= rough * 0.999).unwrap_or(rough);
        let first = (self.low / step).ceil();
        let ticks = (0..=wanted + 1).map(|at| (first + f64::from(at)) * step);
        ticks.filter(|tick| self.shows(*tick)).collect()
    }

    /// Figures that are named on an axis, with their places and names, so that no two names touch. `size`
    /// is how much of the axis a name takes.
    pub(crate) fn ticks(
        &self,
        names: &Names,
        length: &Length,
        size: impl Fn(&str) -> f64,
    ) -> Vec<Tick> {
        let named = |ticks: Vec<f64>| -> Vec<Tick> {
            let tick = |value| Some(Tick { place: self.place(value)?, name: names.name(value) });
            ticks.into_iter().filter_map(tick).collect()
        };
        let sets = if names.unit == DATE { self.date_sets() } else { self.tick_sets() };
        let sets = sets.into_iter().map(named);
        sets.into_iter().find(|ticks| apart(ticks, length, &size)).unwrap_or_default()
    }

    /// The same with these figures instead of round ones, where there is room for them.
    pub(crate) fn ticks_at(
        &self,
        values: &[f64],
        names: &Names,
        length: &Length,
        size: impl Fn(&str) -> f64,
    ) -> Option<Vec<Tick>> {
        let tick =
            |value: &f64| Some(Tick { place: self.place(*value)?, name: names.name(*value) });
        let ticks: Vec<Tick> = values.iter().filter_map(tick).collect();
        apart(&ticks, length, &size).then_some(ticks)
    }
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let usable = values.filter(|value| value.abs() <= LARGEST);
    let all = usable.fold(None, |range: Option<(f64, f64)>, value| {
        Some(range.map_or((value, value), |(low, high)| (low.min(value), high.max(value))))
    });
    all.unwrap_or((0.0, 0.0))
}

/// A named place of an axis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    /// From 0 to 1.
    pub place: f64,
    /// Its name.
    pub name: String,
}

/// How long an axis is, and how far names may reach beyond its ends, in pixels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Length {
    /// From end to end.
    pub axis: f64,
    /// Before its beginning.
    pub before: f64,
    /// After its end.
    pub after: f64,
}

impl Length {
    /// An axis from `left` to `right` in a picture of this width.
    pub(crate) fn within(left: f64, right: f64, width: f64) -> Length {
        Length { axis: right - left, before: left, after: width - right }
    }

    /// Where the middle of a name lies, moved so that it does not reach too far.
    fn middle(&self, place: f64, size: f64) -> f64 {
        (place * self.axis).max(size / 2.0 - self.before).min(self.axis + self.after - size / 2.0)
    }
}

/// Space between two names.
const GAP: f64 = 10.0;

fn apart(ticks: &[Tick], length: &Length, size: impl Fn(&str) -> f64) -> bool {
    ticks.windows(2).all(|pair| {
        let [a, b] = [0, 1].map(|at: usize| size(&pair[at].name));
        length.middle(pair[1].place, b) - length.middle(pair[0].place, a) >= (a + b) / 2.0 + GAP
    })
}

/// How the figures of an axis are named.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Names {
    unit: String,
    /// Each name carries its own unit of time.
    own: bool,
    factor: f64,
    title_unit: String,
    /// Of an axis of dates: whether it is so short that names tell the time of day.
    of_hours: bool,
}

/// In seconds.
const DAY: f64 = 86_400.0;

/// Axes of dates that are shorter tell the time of day, in seconds.
const FEW_DAYS: f64 = 3.0 * DAY;

/// Distances of two ticks of an axis of dates, in seconds: minutes, hours, days.
const DATE_STEPS: [f64; 17] = [
    60.0,
    300.0,
    900.0,
    3_600.0,
    3.0 * 3_600.0,
    6.0 * 3_600.0,
    12.0 * 3_600.0,
    DAY,
    2.0 * DAY,
    5.0 * DAY,
    10.0 * DAY,
    20.0 * DAY,
    50.0 * DAY,
    100.0 * DAY,
    200.0 * DAY,
    500.0 * DAY,
    2_000.0 * DAY,
];

impl Names {
    /// Names for figures in `unit` on an axis: times on a logarithmic axis each in its own unit, on a
    /// linear one all in the unit that suits the largest.
    pub(crate) fn of(scale: &Scale, unit: &str) -> Names {
        let (title_unit, factor) = match rescaled(scale.high.max(scale.low.abs()), unit) {
            _ if scale.logarithmic => (printed(unit), 1.0),
            Some((printed, factor)) => (printed, factor),
            None => (unit, 1.0),
        };
        let own = scale.logarithmic && rescaled(1.0, unit).is_some();
        let title_unit = if own || unit == DATE { "" } else { title_unit };
        let of_hours = scale.high - scale.low < FEW_DAYS;
        Names { unit: unit.into(), own, factor, title_unit: title_unit.into(), of_hours }
    }

    fn name(&self, value: f64) -> String {
        if self.unit == DATE {
            let whole = date(value);
            let part = if self.of_hours { whole.get(5..) } else { whole.get(..10) };
            return part.unwrap_or_default().into();
        }
        if self.own { round_quantity(value, &self.unit) } else { round(value * self.factor) }
    }

    /// The title of the axis with the unit of its names.
    pub(crate) fn title(&self, title: &str) -> String {
        match self.title_unit.as_str() {
            "" => title.into(),
            unit if title.is_empty() => format!("[{unit}]"),
            unit => format!("{title} [{unit}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(scale: Scale, unit: &str, length: f64) -> Vec<String> {
        let length = Length::within(50.0, 50.0 + length, 100.0 + length);
        let ticks = scale.ticks(&Names::of(&scale, unit), &length, |name| name.len() as f64 * 7.0);
        ticks.into_iter().map(|tick| tick.name).collect()
    }

    #[test]
    fn linear_axes_step_by_one_two_five() {
        let scale = Scale::linear([3.0, 96.0].into_iter());
        assert_eq!(
            names(scale, "", 400.0),
            ["0", "10", "20", "30", "40", "50", "60", "70", "80", "90"]
        );
        assert_eq!(names(scale, "", 120.0), ["0", "20", "40", "60", "80"]);
        let times = Scale::linear([90_000.0].into_iter());
        assert_eq!(names(times, "ns", 60.0), ["0", "50"]);
        assert_eq!(Names::of(&times, "ns").title("time"), "time [µs]");
    }

    #[test]
    fn logarithmic_axes_name_decades_and_times_in_their_own_unit() {
        let scale = Scale::log([200.0, 9e6].into_iter());
        assert_eq!(names(scale, "ns", 400.0), ["1 µs", "10 µs", "100 µs", "1 ms", "10 ms"]);
        let close = Scale::log([5.0, 6.0].into_iter());
        assert!(names(close, "", 400.0).len() >= 3, "{:?}", names(close, "", 400.0));
    }

    #[test]
    fn dates_are_named_as_finely_as_they_lie_apart() {
        // 2000-02-29.
        let (first, day) = (951_782_400.0, 86_400.0);
        let weeks = Scale::between(first + 1.0, first + 21.5 * day);
        let expected = ["2000-03-04", "2000-03-09", "2000-03-14", "2000-03-19"];
        assert_eq!(names(weeks, DATE, 420.0), expected);
        let hours = Scale::between(first + 1.0, first + day);
        let expected = ["02-29 06:00", "02-29 12:00", "02-29 18:00", "03-01 00:00"];
        assert_eq!(names(hours, DATE, 450.0), expected);
        let seconds = Scale::between(first + 1.0, first + 30.0);
        assert!(!names(seconds, DATE, 400.0).is_empty());
    }

    #[test]
    fn nonsense_still_gives_an_axis() {
        let odd = [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e308, f64::MIN_POSITIVE];
        for value in odd {
            for logarithmic in [false, true] {
                let scale = Scale::of([value].into_iter(), logarithmic);
                assert!(scale.low < scale.high, "{value}: {scale:?}");
                assert!(scale.place(5.0).is_some_and(|place| (0.0..=1.0).contains(&place)));
                assert!(names(scale, "ns", 300.0).len() < 60, "{value}");
            }
        }
        let wide = Scale::log([1e-140, 1e140].into_iter());
        assert!((2..20).contains(&names(wide, "", 400.0).len()), "{:?}", names(wide, "", 400.0));
    }
}
