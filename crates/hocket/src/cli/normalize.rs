//! What a render is brought to: a loudness or a peak.

use std::fmt;
use std::str::FromStr;

use super::position::number;

/// What `--normalize` asks for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Normalize {
    /// What is measured.
    pub measure: Measure,
    /// What it is to be: LUFS, dBFS or dBTP.
    pub target: f64,
}

/// What can be brought to a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Integrated loudness in LUFS.
    Loudness,
    /// The largest sample in dBFS.
    Peak,
    /// The largest peak, between samples too, in dBTP.
    TruePeak,
}

impl Measure {
    const ALL: [Measure; 3] = [Measure::Loudness, Measure::Peak, Measure::TruePeak];
    /// The lowest target, the gate of loudness.
    const LOWEST: f64 = -70.0;

    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Loudness => "lufs",
            Measure::Peak => "peak",
            Measure::TruePeak => "true-peak",
        }
    }
}

impl FromStr for Normalize {
    type Err = String;

    fn from_str(text: &str) -> Result<Normalize, String> {
        let wrong = "write lufs=-16, peak=-1 or true-peak=-1";
        let (name, value) = text.split_once('=').ok_or(wrong)?;
        let measure = Measure::ALL.into_iter().find(|measure| measure.name() == name);
        let (measure, target) = measure.zip(value.parse::<f64>().ok()).ok_or(wrong)?;
        match (Measure::LOWEST..=0.0).contains(&target) {
            true => Ok(Normalize { measure, target }),
            false => Err(format!("choose a number from {} to 0", Measure::LOWEST)),
        }
    }
}

impl fmt::Display for Normalize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.measure.name(), number(self.target))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_a_measure_and_a_number() {
        for text in ["lufs=-16", "peak=0", "true-peak=-1.5"] {
            assert_eq!(text.parse::<Normalize>().unwrap().to_string(), text);
        }
        for wrong in ["", "lufs", "lufs=", "-16", "loud=-16", "lufs=nan", "peak=1", "peak=-71"] {
            assert!(wrong.parse::<Normalize>().is_err(), "{wrong}");
        }
    }
}
