//! How much `hocket bench --fill` adds to a session.

use std::str::FromStr;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fill {
    /// So many equalisers: `120`.
    Effects(usize),
    /// As many as make a block take so many nanoseconds in the median: `2ms`, `800us`.
    Time(f64),
    /// As many as make it take this share of the period: `85%`.
    Share(f64),
}

impl Fill {
    /// More are hardly a session.
    pub const MOST_EFFECTS: usize = 20_000;
}

impl FromStr for Fill {
    type Err = String;

    fn from_str(text: &str) -> Result<Fill, String> {
        let help = || {
            format!(
                "say the time of a block, such as 2ms or 800us, its share of the period, such as 85%, or a number of equalisers, 1 \
                 to {}",
                Fill::MOST_EFFECTS
            )
        };
        let number = |text: &str| {
            let number: Option<f64> = text.trim().parse().ok();
            number.filter(|it| it.is_finite() && *it > 0.0).ok_or_else(help)
        };
        if let Some(share) = text.strip_suffix('%') {
            let share = number(share)? / 100.0;
            return if share <= 1.0 { Ok(Fill::Share(share)) } else { Err(help()) };
        }
        if let Some(us) = text.strip_suffix("us").or_else(|| text.strip_suffix("µs")) {
            return Ok(Fill::Time(number(us)? * 1e3));
        }
        if let Some(ms) = text.strip_suffix("ms") {
            return Ok(Fill::Time(number(ms)? * 1e6));
        }
        let effects: Option<usize> = text.parse().ok();
        let known = effects.filter(|it| *it <= Fill::MOST_EFFECTS);
        known.map(Fill::Effects).ok_or_else(help)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_shares_and_numbers_are_read() {
        let read = |text: &str| text.parse::<Fill>();
        assert_eq!(read("2ms"), Ok(Fill::Time(2e6)));
        assert_eq!(read("800us"), Ok(Fill::Time(8e5)));
        assert_eq!(read("85%"), Ok(Fill::Share(0.85)));
        assert_eq!(read("120"), Ok(Fill::Effects(120)));
        for wrong in ["", "ms", "-1ms", "0%", "101%", "nan%", "inf us", "2s", "1.5", "20001", "two"]
        {
            assert!(read(wrong).unwrap_err().contains("85%"), "{wrong}");
        }
    }
}
