//! A place in a session: in seconds, or a bar and a beat.

use std::fmt;
use std::str::FromStr;

/// Where a region begins or ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Position {
    /// Seconds from the start of the session.
    Seconds(f64),
    /// A bar and its beat, both counted from 1.
    Bar(u32, u16),
}

impl FromStr for Position {
    type Err = String;

    fn from_str(text: &str) -> Result<Position, String> {
        let wrong = || {
            "write seconds such as 12.5, or a bar and a beat such as 9:1 (both count from 1)"
                .to_owned()
        };
        let Some((bar, beat)) = text.split_once(':') else {
            let seconds = text.parse().ok().filter(|seconds: &f64| seconds.is_finite());
            return seconds.map(Position::Seconds).ok_or_else(wrong);
        };
        match (bar.parse(), beat.parse()) {
            (Ok(bar @ 1..), Ok(beat @ 1..)) => Ok(Position::Bar(bar, beat)),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Position::Seconds(seconds) => f.write_str(&number(*seconds)),
            Position::Bar(bar, beat) => write!(f, "{bar}:{beat}"),
        }
    }
}

/// A number that was typed, without hundreds of zeros.
pub fn number(value: f64) -> String {
    match value.abs() {
        size if size != 0.0 && !(1e-9..1e15).contains(&size) && size.is_finite() => {
            format!("{value:e}")
        }
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let typed = ["0", "-1", "12.5", "86400", "1e300", "-1e300", "1e-320", "inf", "NaN"];
        let shown = typed.map(|text| number(text.parse().unwrap()));
        assert_eq!(shown, ["0", "-1", "12.5", "86400", "1e300", "-1e300", "1e-320", "inf", "NaN"]);
    }

    #[test]
    fn a_position_is_seconds_or_a_bar_and_a_beat() {
        assert_eq!("12.5".parse(), Ok(Position::Seconds(12.5)));
        assert_eq!("9:1".parse(), Ok(Position::Bar(9, 1)));
        for wrong in ["", "x", "nan", "inf", "1:", ":1", "0:1", "1:0", "1.5:1", "1:1:1", "-1:1"] {
            assert!(wrong.parse::<Position>().is_err(), "{wrong}");
        }
    }
}
