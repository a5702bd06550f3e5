//! Figures as text: the one way for terminals, pages, pictures and sentences.

use crate::harness::Estimate;
use crate::stats::{Comparison, Interval, Proportion};

/// What stands where there is no figure.
pub(crate) const NONE: &str = "–";

/// Four digits that count, with commas between groups of three from five digits on; a power of ten
/// where that would be too long.
pub fn digits(value: f64) -> String {
    significant(value, 4)
}

fn significant(value: f64, wanted: i32) -> String {
    if !value.is_finite() {
        return NONE.into();
    }
    if value == 0.0 {
        return "0".into();
    }
    let power = value.abs().log10().floor();
    if !(-4.0..9.0).contains(&power) {
        return scientific(value, (wanted - 2).max(0) as usize);
    }
    let places = (wanted - 1 - power as i32).max(0) as usize;
    grouped(&format!("{:.places$}", without_noise(value, power, wanted)))
}

/// Digits of a large figure that do not count as zeros; whole numbers, which somebody counted, stay.
fn without_noise(value: f64, power: f64, wanted: i32) -> f64 {
    if power < 5.0 || value.fract() == 0.0 {
        return value;
    }
    let step = 10f64.powi(power as i32 + 1 - wanted);
    (value / step).round() * step
}

/// `1.2e12`; what records hold may be anything.
fn scientific(value: f64, places: usize) -> String {
    format!("{value:.places$e}")
}

/// A round figure as short as it can be said: `0.5`, `20`, `1,000,000`.
pub(crate) fn round(value: f64) -> String {
    let text = significant(value, 4);
    let mantissa = |text: &str| text.trim_end_matches('0').trim_end_matches('.').to_string();
    match text.split_once('e') {
        Some((front, power)) if front.contains('.') => format!("{}e{power}", mantissa(front)),
        None if text.contains('.') => mantissa(&text),
        _ => text,
    }
}

/// Units of time by size, each in nanoseconds, as records write them and as they are printed.
const TIMES: [(&str, &str, f64); 4] =
    [("ns", "ns", 1.0), ("us", "µs", 1e3), ("ms", "ms", 1e6), ("s", "s", 1e9)];

/// Microseconds as they are printed. As the unit of a figure it stays, whatever the size.
pub(crate) const MICROSECONDS: &str = "µs";

/// Units of rates by size, as they are printed; records write `1/s`.
const RATES: [(&str, f64); 4] = [("/s", 1.0), ("k/s", 1e3), ("M/s", 1e6), ("G/s", 1e9)];

/// The unit of times of blocks and of what is in them, in nanoseconds. They are told in microseconds, however long or short
/// they are, so that two of them compare at a glance.
pub(crate) const OF_BLOCKS: &str = "ns of a block";

/// The unit of figures that are times of the calendar, in seconds since 1970.
pub(crate) const DATE: &str = "date";

/// A time of the calendar, to the minute in UTC: `2026-11-22 08:20`.
pub(crate) fn date(seconds: f64) -> String {
    if !(0.0..1e11).contains(&seconds) {
        return NONE.into();
    }
    let text = crate::about::rfc3339(seconds as u64);
    text.get(..16).map_or_else(|| NONE.into(), |minute| minute.replace('T', " "))
}

/// The place of a figure on an axis, as a text tells it.
pub(crate) fn placed(value: f64, unit: &str) -> String {
    if unit == DATE { date(value) } else { round(value) }
}

/// A unit as it is printed.
pub fn printed(unit: &str) -> &str {
    TIMES.iter().find(|(name, ..)| *name == unit).map_or(unit, |(_, printed, _)| printed)
}

/// `time [µs]`, or the name alone for what has no unit.
pub(crate) fn with_unit(name: &str, unit: &str) -> String {
    if unit.is_empty() || unit == DATE {
        name.into()
    } else {
        format!("{name} [{}]", printed(unit))
    }
}

/// The unit of time or rate in which `value` is best read, and what to multiply by; `None` for other
/// units.
pub(crate) fn rescaled(value: f64, unit: &str) -> Option<(&'static str, f64)> {
    if unit == OF_BLOCKS {
        return Some((MICROSECONDS, 1e-3));
    }
    if unit == "1/s" {
        let fits = |(_, size): &&(&str, f64)| value.abs() >= *size * 0.9995;
        let (printed, size) = RATES.iter().rev().find(fits).unwrap_or(&RATES[0]);
        return Some((printed, 1.0 / size));
    }
    let (_, _, from) = TIMES.iter().find(|(name, ..)| *name == unit)?;
    let ns = value.abs() * from;
    let fits = |(_, _, size): &&(&str, &str, f64)| ns >= *size * 0.9995;
    let (_, printed, to) = TIMES.iter().rev().find(fits).unwrap_or(&TIMES[0]);
    Some((printed, from / to))
}

/// What to multiply figures in `from` by to get figures in `to`; `None` where they are of different
/// kinds.
pub(crate) fn conversion(from: &str, to: &str) -> Option<f64> {
    let size = |unit: &str| TIMES.iter().find(|(name, ..)| *name == unit).map(|(.., ns)| *ns);
    match (size(from), size(to)) {
        (Some(from), Some(to)) => Some(from / to),
        _ => (from == to).then_some(1.0),
    }
}

/// A figure with its unit; times in the unit that suits them: `1.25 µs`.
pub(crate) fn quantity(value: f64, unit: &str) -> String {
    said(value, unit, |value| significant(value, 3))
}

/// The same for round figures on axes: `1 ms`.
pub(crate) fn round_quantity(value: f64, unit: &str) -> String {
    said(value, unit, round)
}

/// A time of a block or of what is in it: `1333 µs`.
pub(crate) fn block_time(ns: f64) -> String {
    quantity(ns, OF_BLOCKS)
}

fn said(value: f64, unit: &str, number: impl Fn(f64) -> String) -> String {
    if !value.is_finite() {
        return NONE.into();
    }
    match rescaled(value, unit) {
        Some((printed, factor)) => format!("{} {printed}", number(value * factor)),
        None if unit.is_empty() => number(value),
        None => format!("{} {unit}", number(value)),
    }
}

/// `1.25 µs [1.20, 1.31]`.
pub(crate) fn estimate(estimate: &Estimate, unit: &str) -> String {
    let (printed, factor) = rescaled(estimate.value, unit).unwrap_or((printed(unit), 1.0));
    let number = |value: f64| significant(value * factor, 3);
    let range = match (estimate.low, estimate.high) {
        (Some(low), Some(high)) => format!(" [{}, {}]", number(low), number(high)),
        _ => String::new(),
    };
    format!("{} {printed}{range}", number(estimate.value)).trim_end().into()
}

/// Nanoseconds in [`MICROSECONDS`].
pub(crate) fn in_microseconds(ns: &Estimate) -> Estimate {
    let us = |ns: f64| ns / 1e3;
    Estimate { value: us(ns.value), low: ns.low.map(us), high: ns.high.map(us) }
}

/// A ratio as a change: `-12.1 %`, `+240 %`.
pub fn change(ratio: f64) -> String {
    change_with(ratio, None)
}

/// The same with its interval: `-12.1 % [-13.0, -11.2]`. Always percent, so that the changes of a list compare.
pub fn change_with(ratio: f64, interval: Option<Interval>) -> String {
    if !ratio.is_finite() {
        return NONE.into();
    }
    let range = interval.map_or(String::new(), |it| {
        format!(" [{}, {}]", percent_change(it.low), percent_change(it.high))
    });
    format!("{} %{range}", percent_change(ratio))
}

/// The same of a comparison.
pub(crate) fn changed(comparison: &Comparison) -> String {
    change_with(comparison.ratio, comparison.interval)
}

/// The same of a ratio that is an estimate.
pub(crate) fn estimated_change(ratio: &Estimate) -> String {
    let ends = ratio.low.zip(ratio.high);
    change_with(ratio.value, ends.map(|(low, high)| Interval { low, high }))
}

fn percent_change(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    if percent.abs() < 100.0 {
        format!("{percent:+.1}")
    } else {
        grouped(&format!("{percent:+.0}"))
    }
}

/// A share or a floor in per cent, two digits that count: `0.10 %`.
pub(crate) fn percent(share: f64) -> String {
    format!("{} %", percent_digits(share))
}

/// `0.03 to 0.29 %`.
pub(crate) fn percent_range(range: Interval) -> String {
    format!("{} to {} %", percent_digits(range.low), percent_digits(range.high))
}

fn percent_digits(share: f64) -> String {
    match share * 100.0 {
        p if !p.is_finite() => NONE.into(),
        p if p.abs() >= 1000.0 => significant(p, 3),
        p if p == 0.0 || p.abs() >= 10.0 => format!("{p:.0}"),
        p if p.abs() >= 1.0 => format!("{p:.1}"),
        p if p.abs() >= 0.01 => format!("{p:.2}"),
        _ => "<0.01".into(),
    }
}

/// `3 of 3000`.
pub(crate) fn of(share: Proportion) -> String {
    format!("{} of {}", count(share.count), count(share.of))
}

/// A whole number with separators from five digits on: `9000`, `27,000`.
pub(crate) fn count(n: u64) -> String {
    grouped(&n.to_string())
}

/// `1 round`, `3 rounds`.
pub fn counted(n: usize, one: &str) -> String {
    format!("{} {one}{}", count(n as u64), if n == 1 { "" } else { "s" })
}

/// Nanoseconds for a column of microseconds: `1333`, `41.25`.
pub(crate) fn us(ns: f64) -> String {
    digits(ns / 1e3)
}

/// Puts commas between groups of three where there are five digits or more before the point.
fn grouped(number: &str) -> String {
    let (sign, rest) = number.split_at(usize::from(number.starts_with(['-', '+'])));
    let (whole, decimals) = rest.split_once('.').map_or((rest, None), |(w, d)| (w, Some(d)));
    let mut out = String::from(sign);
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && whole.len() > 4 && (whole.len() - at) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    if let Some(decimals) = decimals {
        out.push('.');
        out.push_str(decimals);
    }
    out
}

/// `a`, `a and b`, `a, b and c`; from the fourth on `a, b and 2 others`.
pub(crate) fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).into(),
        [a, b] => format!("{a} and {b}"),
        [a, b, c] => format!("{a}, {b} and {c}"),
        [a, b, rest @ ..] => format!("{a}, {b} and {} others", rest.len()),
    }
}

/// With a capital letter, for the beginning of a sentence.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_what_counts() {
        let shown = [0.0, 0.012_345, 1.0, 123.456, 12_345.6, 1e12, -3.5e-9].map(digits);
        assert_eq!(shown, ["0", "0.01235", "1.000", "123.5", "12,346", "1.00e12", "-3.50e-9"]);
        assert_eq!(digits(f64::NAN), NONE);
        assert_eq!([9_173_003.4, 131_072.0].map(digits), ["9,173,000", "131,072"]);
    }

    #[test]
    fn times_of_the_calendar_are_named() {
        assert_eq!(placed(951_782_460.0, DATE), "2000-02-29 00:01");
        assert_eq!([f64::NAN, -1.0, 1e300].map(|it| placed(it, DATE)), [NONE; 3]);
        assert_eq!(with_unit("begun", DATE), "begun");
    }

    #[test]
    fn round_figures_are_short() {
        let shown = [0.5, 20.0, 1.25, 1e6, 1e12, 0.0].map(round);
        assert_eq!(shown, ["0.5", "20", "1.25", "1,000,000", "1e12", "0"]);
    }

    #[test]
    fn times_are_told_in_the_unit_that_suits_them() {
        assert_eq!(quantity(1250.0, "ns"), "1.25 µs");
        assert_eq!(quantity(0.002, "s"), "2.00 ms");
        assert_eq!(quantity(3.0, "1/s"), "3.00 /s");
        assert_eq!(quantity(4_916_383.2, "1/s"), "4.92 M/s");
        assert_eq!(round_quantity(1e6, "1/s"), "1 M/s");
        assert_eq!(round_quantity(1e9, "ns"), "1 s");
        let known = Estimate { value: 1250.0, low: Some(1200.0), high: Some(1310.0) };
        assert_eq!(estimate(&known, "ns"), "1.25 µs [1.20, 1.31]");
        assert_eq!(estimate(&Estimate::exact(7.0), ""), "7.00");
    }

    #[test]
    fn times_of_blocks_are_microseconds_however_long_they_are() {
        let shown = [0.0, 850.0, 41_300.0, 1_333_333.0, 12_345_678.0].map(block_time);
        assert_eq!(shown, ["0 µs", "0.850 µs", "41.3 µs", "1333 µs", "12,346 µs"]);
        assert_eq!(round_quantity(2e6, OF_BLOCKS), "2000 µs");
        let known = Estimate { value: 1.25e6, low: Some(1.2e6), high: None };
        assert_eq!(estimate(&known, OF_BLOCKS), "1250 µs");
        assert_eq!(estimate(&in_microseconds(&known), MICROSECONDS), "1250 µs");
    }

    #[test]
    fn units_of_one_kind_are_converted_and_others_are_not() {
        assert_eq!(conversion("ms", "ns"), Some(1e6));
        assert_eq!(conversion("1/s", "1/s"), Some(1.0));
        assert_eq!(conversion("us", "1/s"), None);
    }

    #[test]
    fn changes_and_shares_are_per_cent() {
        assert_eq!([0.98, 2.5, 50.0, f64::NAN].map(change), ["-2.0 %", "+150 %", "+4900 %", "–"]);
        let range = Some(Interval { low: 0.4, high: 1.1 });
        assert_eq!(change_with(1.0, range), "+0.0 % [-60.0, +10.0]");
        let shown = [0.0, 0.00005, 0.001, 0.0123, 0.034, 0.5, 20.0].map(percent);
        assert_eq!(shown, ["0 %", "<0.01 %", "0.10 %", "1.2 %", "3.4 %", "50 %", "2000 %"]);
    }

    #[test]
    fn large_numbers_are_grouped() {
        assert_eq!([9000, 27_000, 1_234_567].map(count), ["9000", "27,000", "1,234,567"]);
        assert_eq!([1_333_333.0, 41_250.0, -12_345_678.0].map(us), ["1333", "41.25", "-12,346"]);
        assert_eq!([counted(1, "round"), counted(3, "round")], ["1 round", "3 rounds"]);
    }
}
