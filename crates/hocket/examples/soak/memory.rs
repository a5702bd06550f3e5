//! How much memory a process has, over time.

use std::time::{Duration, Instant};

/// How often it looks.
const EVERY: Duration = Duration::from_millis(500);

/// Follows a process.
pub struct Memory {
    process: u32,
    begun: Instant,
    looked: Option<Instant>,
    /// Seconds and bytes.
    seen: Vec<(f64, u64)>,
}

/// What was seen.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct Growth {
    /// Medians of the second quarter of the time, when everything is loaded, and of the last.
    pub second_quarter_bytes: u64,
    /// See above.
    pub last_quarter_bytes: u64,
    /// The most.
    pub most_bytes: u64,
    /// At most 200 looks: seconds since the start, and bytes in memory (RSS).
    pub over_time: Vec<(f64, u64)>,
}

impl Memory {
    pub fn of(process: u32) -> Memory {
        Memory { process, begun: Instant::now(), looked: None, seen: Vec::new() }
    }

    /// Looks, if it is time for that.
    pub fn look(&mut self) {
        if self.looked.is_some_and(|at| at.elapsed() < EVERY) {
            return;
        }
        self.looked = Some(Instant::now());
        let now = resident_bytes(self.process);
        self.seen.extend(now.map(|bytes| (self.begun.elapsed().as_secs_f64(), bytes)));
    }

    pub fn growth(&self) -> Growth {
        let count = self.seen.len();
        let median = |part: &[(f64, u64)]| {
            let mut bytes: Vec<u64> = part.iter().map(|(_, bytes)| *bytes).collect();
            bytes.sort_unstable();
            bytes.get(bytes.len() / 2).copied().unwrap_or(0)
        };
        Growth {
            second_quarter_bytes: median(&self.seen[count / 4..count / 2]),
            last_quarter_bytes: median(&self.seen[3 * count / 4..]),
            most_bytes: self.seen.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0),
            over_time: self.seen.iter().step_by(count.div_ceil(200).max(1)).copied().collect(),
        }
    }
}

/// From a line such as `VmRSS:  12345 kB`.
fn resident_bytes(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(1024 * kib)
}
