//! The energy of a package, where the processor counts it and lets it be read.

use std::fs;

use hocket_machine::clock::monotonic_ns;

/// The first package's counter of microjoules.
const COUNTER: &str = "/sys/class/powercap/intel-rapl:0/energy_uj";
/// Where it begins again from zero.
const RANGE: &str = "/sys/class/powercap/intel-rapl:0/max_energy_range_uj";

/// A counter that can be read.
pub(super) struct Energy {
    range_uj: u64,
}

/// A reading.
pub(super) struct Reading {
    uj: u64,
    at_ns: u64,
    range_uj: u64,
}

impl Energy {
    /// Whether there is one, or why not. Cost: two files.
    pub(super) fn find() -> Result<Energy, String> {
        number(COUNTER)?;
        Ok(Energy { range_uj: number(RANGE)? })
    }

    /// Reads it; `None` where it cannot be read any more.
    pub(super) fn begin(&self) -> Option<Reading> {
        Some(Reading { uj: number(COUNTER).ok()?, at_ns: monotonic_ns(), range_uj: self.range_uj })
    }

    /// Mean power since a reading. The counter moves once a millisecond, so times below some ten are inexact.
    pub(super) fn watts(since: Reading) -> Option<f64> {
        let now = number(COUNTER).ok()?;
        let ns = monotonic_ns().saturating_sub(since.at_ns);
        watts(since.uj, now, since.range_uj, ns)
    }
}

fn watts(before_uj: u64, after_uj: u64, range_uj: u64, ns: u64) -> Option<f64> {
    let used = match after_uj >= before_uj {
        true => after_uj - before_uj,
        false => range_uj.checked_sub(before_uj)? + after_uj,
    };
    (ns > 0).then(|| used as f64 * 1e3 / ns as f64)
}

fn number(path: &str) -> Result<u64, String> {
    let text = fs::read_to_string(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            format!("{path} does not exist: no RAPL, as usual in a virtual machine")
        }
        std::io::ErrorKind::PermissionDenied => {
            format!("{path} may not be read; `chmod a+r` on it as root allows it")
        }
        _ => format!("{path}: {error}"),
    })?;
    text.trim().parse().map_err(|_| format!("{path} holds no number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_may_begin_again() {
        assert_eq!(watts(100, 400, 1_000, 100_000), Some(3.0));
        assert_eq!(watts(900, 200, 1_000, 100_000), Some(3.0));
        assert_eq!(watts(1, 2, 10, 0), None);
    }
}
