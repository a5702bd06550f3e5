//! Whose fault an xrun was, as far as the cycles of this client show it.

/// For so long after a late cycle the server may report it: its notice comes through an ordinary thread.
const NOTICE_NS: u64 = 200_000_000;
/// A server reports a late client at each beginning of a cycle that finds it still at work. The clients behind it are reported
/// with it, and their notices may reach one more cycle of ours.
const MORE_CYCLES: u64 = 1;

/// Periods that a server could not deliver in time, by cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Xruns {
    /// A cycle of this client took too long.
    pub ours: u64,
    /// All cycles of this client ended in time, or those that were late are reported already: another client, the driver or
    /// the hardware.
    pub server: u64,
    /// This client ended late because it was called late: by the server, by clients before it, or by the system.
    pub unknown: u64,
}

impl Xruns {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.ours + self.server + self.unknown
    }

    fn of(&mut self, fault: XrunFault) -> &mut u64 {
        match fault {
            XrunFault::Ours => &mut self.ours,
            XrunFault::Server => &mut self.server,
            XrunFault::Unknown => &mut self.unknown,
        }
    }
}

/// An xrun, when the leader learns of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Xrun {
    /// How many the server has reported since the last one.
    pub count: u64,
    /// The end of the cycle in which the leader learned of it, on the monotonic clock.
    pub at_ns: u64,
    /// Whose fault it was, as far as cycles show it.
    pub fault: XrunFault,
    /// The late cycle that it is put down to; `None`: it is the server's.
    pub cycle: Option<LateCycle>,
}

/// A cycle that ended after its deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LateCycle {
    /// Its last block, as the engine counts. `None`: the engine had none in this cycle.
    pub block: Option<u64>,
    /// By how much it was late.
    pub late_ns: u64,
}

/// Whose fault an xrun was, as far as the cycles of this client show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum XrunFault {
    /// As [`Xruns::ours`].
    Ours,
    /// As [`Xruns::server`].
    Server,
    /// As [`Xruns::unknown`].
    Unknown,
}

/// One cycle of the server, as this client saw it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Took {
    /// The engine's number of its last block. `None`: it had none.
    pub block: Option<u64>,
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
    fn fault(&self) -> Option<XrunFault> {
        if self.late_ns() == 0 {
            return None;
        }
        let too_slow = self.duration_ns > self.period_ns;
        let called_in_time = self.lateness_ns <= self.period_ns / 2;
        Some(if too_slow || called_in_time { XrunFault::Ours } else { XrunFault::Unknown })
    }

    fn late_ns(&self) -> u64 {
        (self.lateness_ns + self.duration_ns).saturating_sub(self.period_ns)
    }

    /// In how many cycles the server may report that this one was late.
    fn reports(&self) -> u64 {
        self.late_ns().div_ceil(self.period_ns.max(1)) + MORE_CYCLES
    }
}

/// The last late cycle.
#[derive(Debug, Clone, Copy)]
struct Last {
    fault: XrunFault,
    /// When it ended.
    at_ns: u64,
    cycle: LateCycle,
    /// In how many more cycles a report may be put down to it, and to those right before it with the same fault.
    reports: u64,
}

/// Attributes what the server reports. Thread: leader; allocates nothing.
#[derive(Debug, Default)]
pub(crate) struct Attribution {
    last: Option<Last>,
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

    /// What the server has `reported` since the last cycle was not noted, is nobody's xrun: it had no clock meanwhile.
    pub(crate) fn begin_anew(&mut self, reported: u64) {
        *self = Attribution { xruns: self.xruns, ..Attribution::since(reported) };
    }

    /// A cycle is over. `reported`: what the server has reported since the client was opened. Returns what is new.
    pub(crate) fn note(&mut self, took: Took, reported: u64) -> Option<Xrun> {
        let now_ns = took.due_ns + took.lateness_ns + took.duration_ns;
        match took.fault() {
            None => self.ours_ns = None,
            Some(mut fault) => {
                if fault == XrunFault::Ours {
                    self.ours_ns = Some(now_ns);
                } else if self.is_behind_ours(now_ns) {
                    fault = XrunFault::Ours;
                }
                let cycle = LateCycle { block: took.block, late_ns: took.late_ns() };
                let before = self.recent(now_ns).filter(|last| last.fault == fault);
                let before = before.map_or(0, |last| last.reports);
                let reports = took.reports().saturating_add(before);
                self.last = Some(Last { fault, at_ns: now_ns, cycle, reports });
            }
        }
        self.count(now_ns, reported)
    }

    /// Whether a cycle was called late because the one before it, which was ours, took too long.
    fn is_behind_ours(&self, now_ns: u64) -> bool {
        self.ours_ns.is_some_and(|at_ns| now_ns.saturating_sub(at_ns) <= NOTICE_NS)
    }

    /// The last late cycle, while the server may report it.
    fn recent(&self, now_ns: u64) -> Option<Last> {
        self.last.filter(|last| now_ns.saturating_sub(last.at_ns) <= NOTICE_NS)
    }

    /// What the server goes on to report while cycles end in time is not this client's.
    fn count(&mut self, now_ns: u64, reported: u64) -> Option<Xrun> {
        let count = reported.saturating_sub(self.counted);
        if count == 0 {
            return None;
        }
        self.counted = reported;
        let late = self.recent(now_ns).filter(|last| last.reports > 0);
        self.last.iter_mut().for_each(|last| last.reports = last.reports.saturating_sub(1));
        let fault = late.map_or(XrunFault::Server, |last| last.fault);
        *self.xruns.of(fault) += count;
        Some(Xrun { count, at_ns: now_ns, fault, cycle: late.map(|last| last.cycle) })
    }

    /// With what was `reported` after the last cycle.
    pub(crate) fn end(mut self, now_ns: u64, reported: u64) -> (Xruns, Option<Xrun>) {
        let last = self.count(now_ns, reported);
        (self.xruns, last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD_NS: u64 = 1_000_000;

    fn took(at: u64, lateness_ns: u64, duration_ns: u64) -> Took {
        Took {
            block: Some(at),
            due_ns: at * PERIOD_NS,
            lateness_ns,
            duration_ns,
            period_ns: PERIOD_NS,
        }
    }

    /// One report after the last of these cycles.
    fn attributed(cycles: &[Took]) -> Xruns {
        let mut all = Attribution::since(7);
        let (last, before) = cycles.split_last().unwrap();
        assert!(before.iter().all(|cycle| all.note(*cycle, 7).is_none()));
        assert_eq!(all.note(*last, 8).map(|xrun| xrun.count), Some(1));
        all.end(u64::MAX, 8).0
    }

    #[test]
    fn an_xrun_names_the_late_cycle_that_it_is_put_down_to() {
        let mut all = Attribution::since(0);
        assert_eq!(all.note(took(1, 0, 1_200_000), 0), None);
        let xrun = all.note(took(2, 0, 10), 1).expect("a report");
        let cycle = LateCycle { block: Some(1), late_ns: 200_000 };
        assert_eq!((xrun.fault, xrun.cycle), (XrunFault::Ours, Some(cycle)));
        assert_eq!(xrun.at_ns, 2 * PERIOD_NS + 10);
        let later = all.note(took(900, 0, 10), 3).expect("two reports");
        assert_eq!((later.count, later.fault, later.cycle), (2, XrunFault::Server, None));
    }

    #[test]
    fn a_late_cycle_without_a_block_names_none() {
        let mut all = Attribution::since(0);
        assert_eq!(all.note(Took { block: None, ..took(1, 0, 1_200_000) }, 0), None);
        let xrun = all.note(took(2, 0, 10), 1).expect("a report");
        let cycle = LateCycle { block: None, late_ns: 200_000 };
        assert_eq!((xrun.fault, xrun.cycle), (XrunFault::Ours, Some(cycle)));
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

    /// Whose fault the reports are that come in each of the next cycles, which end in time.
    fn reported_on(all: &mut Attribution, begin: u64, cycles: u64) -> Vec<XrunFault> {
        let counted = all.counted;
        let report = |number| all.note(took(begin + number, 0, 10), counted + number + 1);
        (0..cycles).map(report).map(|xrun| xrun.expect("a report").fault).collect()
    }

    #[test]
    fn what_is_reported_on_and_on_while_cycles_end_in_time_is_the_servers() {
        let [ours, server] = [XrunFault::Ours, XrunFault::Server];
        let mut all = Attribution::since(0);
        all.note(took(1, 0, 1_200_000), 0);
        assert_eq!(reported_on(&mut all, 2, 5), [ours, ours, server, server, server]);
        assert_eq!(all.end(u64::MAX, 5).0, Xruns { ours: 2, server: 3, unknown: 0 });
        // One that is late by four periods is reported in four cycles.
        let mut all = Attribution::since(0);
        all.note(took(1, 0, 4_500_000), 0);
        assert_eq!(reported_on(&mut all, 5, 6), [ours, ours, ours, ours, ours, server]);
    }

    #[test]
    fn late_cycles_of_one_fault_add_up_and_those_of_another_do_not() {
        let [ours, server] = [XrunFault::Ours, XrunFault::Server];
        let mut all = Attribution::since(0);
        (1..=2).for_each(|at| _ = all.note(took(at, 0, 1_000_001), 0));
        assert_eq!(reported_on(&mut all, 3, 5), [ours, ours, ours, ours, server]);
        let mut all = Attribution::since(0);
        (1..=50).for_each(|at| _ = all.note(took(at, 900_000, 200_000), 0));
        all.note(took(51, 0, 1_000_001), 0);
        assert_eq!(reported_on(&mut all, 52, 3), [ours, ours, server]);
    }

    #[test]
    fn the_rest_is_the_servers() {
        let server = Xruns { server: 1, ..Xruns::default() };
        assert_eq!(attributed(&[took(1, 0, 1_000_000)]), server, "ended at the deadline");
        assert_eq!(attributed(&[took(1, 0, 2_000_000), took(900, 0, 10)]), server, "long ago");
    }

    #[test]
    fn reports_from_before_and_after_the_cycles_count_right() {
        let (none, nothing) = Attribution::since(5).end(0, 5);
        assert_eq!((none.total(), nothing), (0, None));
        let (two, xrun) = Attribution::since(5).end(0, 7);
        assert_eq!((two.total(), xrun.map(|xrun| xrun.count)), (2, Some(2)));
    }
}
