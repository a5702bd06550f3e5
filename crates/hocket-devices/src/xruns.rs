//! Whose fault an xrun was, as far as the cycles of this client show it.

/// For so long after a late cycle the server may report it: its notice comes through an ordinary thread.
const NOTICE_NS: u64 = 200_000_000;

/// Periods that a server could not deliver in time, by cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Xruns {
    /// A cycle of this client took too long.
    pub ours: u64,
    /// All cycles of this client ended in time: another client, the driver or the hardware.
    pub server: u64,
    /// This client ended late because it was called late: by the server, by clients before it, or by the system.
    pub unknown: u64,
}

impl Xruns {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.ours + self.server + self.unknown
    }
}

/// One cycle of the server, as this client saw it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Took {
    /// When the cycle was due, on the monotonic clock.
    pub due_ns: u64,
    /// From then to the call.
    pub lateness_ns: u64,
    /// From the call to the complete output.
    pub duration_ns: u64,
    /// How long the cycle is.
    pub period_ns: u64,
}

impl Took {
    /// Whose fault it is if this cycle causes an xrun; `None`: it ended in time.
    fn fault(&self) -> Option<Fault> {
        if self.lateness_ns + self.duration_ns <= self.period_ns {
            return None;
        }
        let too_slow = self.duration_ns > self.period_ns;
        let called_in_time = self.lateness_ns <= self.period_ns / 2;
        Some(if too_slow || called_in_time { Fault::Ours } else { Fault::Unknown })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Ours,
    Unknown,
}

/// Attributes what the server reports. Thread: leader; allocates nothing.
#[derive(Debug, Default)]
pub(crate) struct Attribution {
    /// The last late cycle, and when it ended.
    last: Option<(Fault, u64)>,
    /// When the last cycle that was ours ended, unless one has ended in time since.
    ours_ns: Option<u64>,
    /// Reports that are counted.
    counted: u64,
    xruns: Xruns,
}

impl Attribution {
    /// Begins to count behind what was `reported` before.
    pub(crate) fn since(reported: u64) -> Attribution {
        Attribution { counted: reported, ..Attribution::default() }
    }

    /// A cycle is over. `reported`: what the server has reported since the client was opened.
    pub(crate) fn note(&mut self, took: Took, reported: u64) {
        let now_ns = took.due_ns + took.lateness_ns + took.duration_ns;
        match took.fault() {
            None => self.ours_ns = None,
            Some(Fault::Ours) => {
                (self.last, self.ours_ns) = (Some((Fault::Ours, now_ns)), Some(now_ns));
            }
            Some(Fault::Unknown) => {
                let fault = if self.is_behind_ours(now_ns) { Fault::Ours } else { Fault::Unknown };
                self.last = Some((fault, now_ns));
            }
        }
        self.count(now_ns, reported);
    }

    /// Whether a cycle was called late because the one before it, which was ours, took too long.
    fn is_behind_ours(&self, now_ns: u64) -> bool {
        self.ours_ns.is_some_and(|at_ns| now_ns.saturating_sub(at_ns) <= NOTICE_NS)
    }

    fn count(&mut self, now_ns: u64, reported: u64) {
        let new = reported.saturating_sub(self.counted);
        self.counted = reported;
        let recent = self.last.filter(|(_, at_ns)| now_ns.saturating_sub(*at_ns) <= NOTICE_NS);
        let counter = match recent {
            Some((Fault::Ours, _)) => &mut self.xruns.ours,
            Some((Fault::Unknown, _)) => &mut self.xruns.unknown,
            None => &mut self.xruns.server,
        };
        *counter += new;
    }

    /// With what was `reported` after the last cycle.
    pub(crate) fn end(mut self, now_ns: u64, reported: u64) -> Xruns {
        self.count(now_ns, reported);
        self.xruns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD_NS: u64 = 1_000_000;

    fn took(at: u64, lateness_ns: u64, duration_ns: u64) -> Took {
        Took { due_ns: at * PERIOD_NS, lateness_ns, duration_ns, period_ns: PERIOD_NS }
    }

    /// One report after the last of these cycles.
    fn attributed(cycles: &[Took]) -> Xruns {
        let mut all = Attribution::since(7);
        let (last, before) = cycles.split_last().unwrap();
        before.iter().for_each(|cycle| all.note(*cycle, 7));
        all.note(*last, 8);
        all.end(u64::MAX, 8)
    }

    #[test]
    fn a_cycle_that_takes_longer_than_the_period_is_ours() {
        let ours = Xruns { ours: 1, ..Xruns::default() };
        assert_eq!(attributed(&[took(1, 0, 1_000_001)]), ours);
        assert_eq!(
            attributed(&[took(1, 900_000, 1_000_001)]),
            ours,
            "it would have been late anyway"
        );
        assert_eq!(attributed(&[took(1, 400_000, 700_000)]), ours, "called in time");
        assert_eq!(attributed(&[took(1, 0, 1_000_001), took(2, 0, 10)]), ours, "reported later");
    }

    #[test]
    fn a_cycle_that_was_called_too_late_is_of_unknown_cause() {
        let unknown = Xruns { unknown: 1, ..Xruns::default() };
        assert_eq!(attributed(&[took(1, 900_000, 200_000)]), unknown);
    }

    #[test]
    fn a_cycle_that_was_called_late_behind_ours_is_ours() {
        let (ours, unknown) =
            (Xruns { ours: 1, ..Xruns::default() }, Xruns { unknown: 1, ..Xruns::default() });
        let (too_slow, behind) = (took(1, 0, 2_000_000), |at| took(at, 900_000, 200_000));
        assert_eq!(attributed(&[too_slow, behind(2), behind(3)]), ours);
        assert_eq!(attributed(&[too_slow, took(2, 0, 10), behind(3)]), unknown, "in time between");
        assert_eq!(attributed(&[too_slow, behind(900)]), unknown, "long ago");
    }

    #[test]
    fn the_rest_is_the_servers() {
        let server = Xruns { server: 1, ..Xruns::default() };
        assert_eq!(attributed(&[took(1, 0, 1_000_000)]), server, "ended at the deadline");
        assert_eq!(attributed(&[took(1, 0, 2_000_000), took(900, 0, 10)]), server, "long ago");
    }

    #[test]
    fn reports_from_before_and_after_the_cycles_count_right() {
        assert_eq!(Attribution::since(5).end(0, 5).total(), 0);
        assert_eq!(Attribution::since(5).end(0, 7).total(), 2);
    }
}
