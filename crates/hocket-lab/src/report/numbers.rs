//! Figures as text.

pub(crate) use crate::foreign::plain;
use crate::stats::{Interval, Proportion};

/// Microseconds with so many decimals: `1,333.3`.
pub(crate) fn us(ns: f64, decimals: usize) -> String {
    grouped(&format!("{:.decimals$}", ns / 1e3))
}

/// A whole number with separators from five digits on: `9000`, `27,000`.
pub(crate) fn count(n: u64) -> String {
    grouped(&n.to_string())
}

/// Puts commas between groups of three where there are five digits or more before the point.
pub(crate) fn grouped(number: &str) -> String {
    let (sign, rest) = number.strip_prefix('-').map_or(("", number), |rest| ("-", rest));
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

/// `3 of 3000`.
pub(super) fn of(share: Proportion) -> String {
    format!("{} of {}", count(share.count), count(share.of))
}

/// A share in per cent with two meaningful digits: `0.10 %`.
pub(super) fn percent(share: f64) -> String {
    format!("{} %", percent_digits(share))
}

/// `0.03 to 0.29 %`.
pub(super) fn percent_range(range: Interval) -> String {
    format!("{} to {} %", percent_digits(range.low), percent_digits(range.high))
}

fn percent_digits(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        p if p == 0.0 || p >= 10.0 => format!("{p:.0}"),
        p if p >= 1.0 => format!("{p:.1}"),
        p if p >= 0.01 => format!("{p:.2}"),
        _ => "<0.01".into(),
    }
}

/// A ratio as a change in words: `6.2 % shorter`.
pub(super) fn change(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    format!("{:.1} % {}", percent.abs(), if percent < 0.0 { "shorter" } else { "longer" })
}

/// The interval of a change, smaller end first: `5.4 to 6.9 %`.
pub(super) fn change_range(range: Interval) -> String {
    let (a, b) = ((range.low - 1.0).abs() * 100.0, (range.high - 1.0).abs() * 100.0);
    format!("{:.1} to {:.1} %", a.min(b), a.max(b))
}

/// `1 process start`, `5 process starts`.
pub(super) fn starts(n: usize) -> String {
    format!("{n} process start{}", if n == 1 { "" } else { "s" })
}

/// `0.938`.
pub(super) fn ratio(ratio: f64) -> String {
    format!("{ratio:.3}")
}

/// `0.931 to 0.946`; a dash where there is none.
pub(super) fn ratio_range(range: Option<Interval>) -> String {
    range.map_or_else(|| "–".into(), |range| format!("{:.3} to {:.3}", range.low, range.high))
}

/// Enough decimals to tell block times of this size apart.
pub(super) fn decimals(typical_ns: f64) -> usize {
    if typical_ns < 100_000.0 { 1 } else { 0 }
}

/// `a`, `a and b`, `a, b and c`; from the fourth on `a, b and 2 others`.
pub(super) fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).into(),
        [a, b] => format!("{a} and {b}"),
        [a, b, c] => format!("{a}, {b} and {c}"),
        [a, b, rest @ ..] => format!("{a}, {b} and {} others", rest.len()),
    }
}

/// Command arguments so that a shell reads them back as they are.
pub(super) fn shell(command: &[String]) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    let quoted = |word: &String| {
        let bare = !word.is_empty() && word.chars().all(safe);
        if bare { word.clone() } else { format!("'{}'", word.replace('\'', r"'\''")) }
    };
    command.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(us(1_333_333.0, 0), "1333");
        assert_eq!(us(41_250.0, 1), "41.2");
        assert_eq!(us(12_345_678.0, 1), "12,345.7");
        assert_eq!(us(-12_345_678.0, 0), "-12,346");
        assert_eq!(
            (count(9000), count(27_000), count(1_234_567)),
            ("9000".into(), "27,000".into(), "1,234,567".into())
        );
    }

    #[test]
    fn shares_keep_two_digits() {
        let shown = [0.0, 0.00005, 0.001, 0.0123, 0.5].map(percent);
        assert_eq!(shown, ["0 %", "<0.01 %", "0.10 %", "1.2 %", "50 %"]);
    }

    #[test]
    fn changes_are_named_by_direction() {
        assert_eq!(change(0.938), "6.2 % shorter");
        assert_eq!(change(1.02), "2.0 % longer");
        assert_eq!(change_range(Interval { low: 0.93, high: 0.95 }), "5.0 to 7.0 %");
    }

    #[test]
    fn commands_survive_a_shell() {
        let command = ["hocket", "bench", "my songs/it's.toml", ""].map(String::from);
        assert_eq!(shell(&command), r"hocket bench 'my songs/it'\''s.toml' ''");
    }
}
