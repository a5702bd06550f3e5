//! Periodic wake-ups against a plan that does not give way.
//!
//! The planned times are fixed before the first wake-up. Who comes late does not shift the next
//! planned time and skips none, so a long disturbance shows in every wake-up that it delayed; a loop
//! that counted from the last wake-up would hide all but the first.

use hocket_machine::clock::monotonic_ns;

/// A plan of wake-ups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenLoop {
    /// Between two planned times, in nanoseconds.
    pub period_ns: u64,
    /// How many.
    pub wakes: u64,
}

impl OpenLoop {
    /// The first planned time is this far ahead, so that it is not missed by whoever only begins.
    const LEAD_NS: u64 = 500_000;

    /// The planned times, the first a little ahead of now.
    pub fn plan(&self) -> impl Iterator<Item = u64> + use<> {
        let (start, period) = (monotonic_ns() + Self::LEAD_NS, self.period_ns);
        (0..self.wakes).map(move |wake| start + wake * period)
    }

    /// Lets `wait` wait for each planned time (CLOCK_MONOTONIC, nanoseconds) and returns by how much
    /// it was late each time, in nanoseconds; 0 where it was early.
    pub fn run(&self, mut wait: impl FnMut(u64)) -> Vec<f64> {
        let mut late_ns = Vec::with_capacity(self.wakes as usize);
        for planned in self.plan() {
            wait(planned);
            late_ns.push(monotonic_ns().saturating_sub(planned) as f64);
        }
        late_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hocket_machine::clock::sleep_until_ns;

    #[test]
    fn a_stall_delays_every_wake_up_that_it_covers() {
        let plan = OpenLoop { period_ns: 1_000_000, wakes: 8 };
        let mut wake = 0;
        let late = plan.run(|planned| {
            sleep_until_ns(planned);
            if wake == 2 {
                sleep_until_ns(planned + 3_500_000);
            }
            wake += 1;
        });
        assert_eq!(late.len(), 8);
        assert!(late[2] >= 3_500_000.0 && late[3] >= 2_500_000.0 && late[4] >= 1_500_000.0);
    }
}
