//! Whose fault misses and xruns were: what the leader noted, beside the flight recorder's verdicts.

use std::collections::{BTreeMap, VecDeque};

use hocket_devices::{LateCycle, Xrun, XrunFault, Xruns};
use hocket_engine::{Caller, Flight, Misses, Party, Verdict};
use hocket_trace::cause::Seat;

use super::incidents::{Incident, IncidentReader, Miss};

/// Verdicts that are kept for incidents which name their block later: an xrun may be reported 0.2 s after it.
const KEPT: usize = 4096;
/// A verdict comes with the look after its block; one that has not come after so many does not come.
const PATIENCE: u32 = 3;

/// A late block that is explained.
#[derive(Debug, Clone)]
pub(super) struct Explained {
    pub verdict: Verdict,
    pub whose: Party,
    /// What was seen on the workers' seats.
    pub seats: Vec<SeatSeen>,
}

/// What was seen on the seat of one worker, and beside it, while its block ran.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(super) struct SeatSeen {
    pub worker: String,
    /// Threads outside the engine that ran on its CPU; `None`: nobody watched.
    pub strangers: Option<Vec<String>>,
    pub minor_faults: u64,
    pub major_faults: u64,
    pub migrations: u64,
    pub steal_ns: i64,
}

/// Misses and xruns by party.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Faults {
    misses: BTreeMap<Party, u64>,
    xruns: BTreeMap<Party, u64>,
    /// Incidents that found no room on their way.
    pub lost: u64,
}

impl Faults {
    /// Misses that are a party's.
    pub(super) fn misses(&self, party: Party) -> u64 {
        self.misses.get(&party).copied().unwrap_or(0)
    }

    /// Xruns that are a party's.
    pub(super) fn xruns(&self, party: Party) -> u64 {
        self.xruns.get(&party).copied().unwrap_or(0)
    }

    /// Those that the leader counted and nobody attributed are of unknown cause.
    pub(super) fn complete(mut self, misses: Misses, xruns: Option<&Xruns>) -> Faults {
        let known: u64 = self.misses.values().sum();
        *self.misses.entry(Party::Unknown).or_default() += misses.total().saturating_sub(known);
        let known: u64 = self.xruns.values().sum();
        let all = xruns.map_or(0, Xruns::total);
        *self.xruns.entry(Party::Unknown).or_default() += all.saturating_sub(known);
        self
    }
}

/// Puts incidents and verdicts together.
pub(super) struct Blame {
    incidents: IncidentReader,
    caller: Caller,
    /// Incidents whose verdict has yet to come, and how often that was looked for.
    waiting: VecDeque<(Incident, u32)>,
    explained: BTreeMap<u64, Explained>,
    /// Whose fault it was that periods passed without a block before these, which were in time.
    gaps: BTreeMap<u64, Party>,
    faults: Faults,
}

impl Blame {
    /// `caller`: who calls the leader.
    pub(super) fn new(incidents: IncidentReader, caller: Caller) -> Blame {
        let (waiting, explained, gaps, faults) = Default::default();
        Blame { incidents, caller, waiting, explained, gaps, faults }
    }

    /// Learns the verdicts of these blocks, oldest first.
    pub(super) fn learn(&mut self, flights: &[Flight]) {
        for flight in flights.iter().filter(|flight| flight.times.is_late()) {
            let (Some(verdict), evidence) = (&flight.verdict, &flight.evidence) else { continue };
            let before = verdict.block.checked_sub(1).and_then(|block| self.explained.get(&block));
            let before = before.map(|explained| explained.whose);
            let whose = Party::of(verdict, evidence, self.caller, before);
            let seats = evidence.seats.iter().map(|seat| seen(seat, &evidence.engine_tids));
            let explained = Explained { verdict: verdict.clone(), whose, seats: seats.collect() };
            self.explained.insert(verdict.block, explained);
        }
        while self.explained.len() > KEPT {
            self.explained.pop_first();
        }
        let in_time = flights.iter().filter(|flight| !flight.times.is_late());
        for Flight { times, evidence, .. } in in_time.filter(|flight| flight.times.skipped > 0) {
            let period_ns = times.deadline_ns as i64;
            let party = whose_gap_at(evidence.leader_woken_ns(), self.caller, period_ns);
            self.gaps.insert(evidence.trace.block, party);
        }
        while self.gaps.len() > KEPT {
            self.gaps.pop_first();
        }
    }

    /// Takes over the incidents, and hands those on of which all is known, in their order. `ends`: nothing comes any more.
    pub(super) fn look(
        &mut self,
        ends: bool,
        mut tell: impl FnMut(&Incident, Party, Option<&Explained>),
    ) {
        let new = std::iter::from_fn(|| self.incidents.pop());
        self.waiting.extend(new.map(|incident| (incident, 0)));
        while let Some((incident, looks)) = self.waiting.front_mut() {
            let explained = self.explained.range(blocks_of(incident)).next_back();
            let explained = explained.map(|(_, explained)| explained);
            *looks += 1;
            let gap = behind_gap(incident).and_then(|block| self.gaps.get(&block));
            let is_known = explained.is_some() || gap.is_some();
            if !is_known && is_explained_later(incident) && *looks < PATIENCE && !ends {
                break;
            }
            let incident = *incident;
            let whose = self.whose(&incident, explained);
            tell(&incident, whose, explained);
            self.faults.count(&incident, whose);
            self.waiting.pop_front();
        }
        self.faults.lost = self.incidents.lost();
    }

    fn whose(&self, incident: &Incident, explained: Option<&Explained>) -> Party {
        let seen = explained.map(|explained| explained.whose).unwrap_or_default();
        match incident {
            Incident::Xrun(xrun) => whose_xrun(xrun, seen),
            Incident::Miss(miss) if miss.late_ns > 0 => seen,
            Incident::Miss(miss) => self.whose_gap(miss),
        }
    }

    /// A period that was in time, behind others that passed without a block: the late block before them made them pass,
    /// or else the server went on alone, unless the leader's thread was awake and got no CPU.
    fn whose_gap(&self, miss: &Miss) -> Party {
        let before = miss.first.checked_sub(1).and_then(|block| self.explained.get(&block));
        let alone = || self.gaps.get(&miss.first).copied();
        before.map(|before| before.whose).or_else(alone).unwrap_or(match self.caller {
            Caller::Server => Party::Server,
            Caller::Clock => Party::Unknown,
        })
    }

    pub(super) fn faults(&self) -> &Faults {
        &self.faults
    }
}

impl Faults {
    fn count(&mut self, incident: &Incident, whose: Party) {
        match incident {
            Incident::Miss(miss) => {
                *self.misses.entry(whose).or_default() += miss.misses().total();
            }
            Incident::Xrun(xrun) => *self.xruns.entry(whose).or_default() += xrun.count,
        }
    }
}

/// The blocks whose verdict explains an incident.
fn blocks_of(incident: &Incident) -> std::ops::Range<u64> {
    match incident {
        Incident::Miss(miss) if miss.late_ns > 0 => miss.first..miss.last + 1,
        Incident::Xrun(Xrun { cycle: Some(LateCycle { block: Some(block), .. }), .. }) => {
            *block..block + 1
        }
        _ => 0..0,
    }
}

/// Also of a block in time whose leader may have waited for a CPU.
fn is_explained_later(incident: &Incident) -> bool {
    matches!(incident, Incident::Miss(_)) || !blocks_of(incident).is_empty()
}

/// The block in time that came after periods without one.
fn behind_gap(incident: &Incident) -> Option<u64> {
    match incident {
        Incident::Miss(miss) if miss.late_ns == 0 => Some(miss.first),
        _ => None,
    }
}

/// Whose fault a gap before a block was, whose leader was woken up so long after its planned start. A server counts its periods
/// while the thread that it has woken up waits for a CPU, so what the thread gets then is a later period.
fn whose_gap_at(woken_ns: Option<i64>, caller: Caller, period_ns: i64) -> Party {
    match (woken_ns, caller) {
        (Some(woken_ns), _) if woken_ns < -period_ns / 2 => Party::Machine,
        (_, Caller::Server) => Party::Server,
        (_, Caller::Clock) => Party::Unknown,
    }
}

/// What the cycles show, unless a verdict says more. Where all cycles ended in time, no verdict can blame this client.
fn whose_xrun(xrun: &Xrun, seen: Party) -> Party {
    match (xrun.fault, seen) {
        (XrunFault::Server, _) => Party::Server,
        (XrunFault::Ours, Party::Unknown) => Party::Ours,
        (_, seen) => seen,
    }
}

fn seen(seat: &Seat, engine_tids: &[i32]) -> SeatSeen {
    let strangers = seat.own.as_ref().map(|own| {
        let own = own.intervals.iter().filter(|ran| !engine_tids.contains(&ran.tid));
        let mut names: Vec<String> = own.map(|ran| ran.name.clone()).collect();
        names.sort_unstable();
        names.dedup();
        names
    });
    SeatSeen {
        worker: seat.lane.clone(),
        strangers,
        minor_faults: seat.minor_faults,
        major_faults: seat.major_faults,
        migrations: seat.migrations,
        steal_ns: seat.steal_ns,
    }
}

#[cfg(test)]
mod tests {
    use hocket_engine::{BlockTimes, Cause};

    use super::super::incidents::{IncidentWriter, incidents};
    use super::*;

    fn blame(caller: Caller) -> (IncidentWriter, Blame) {
        let (writer, reader) = incidents();
        (writer, Blame::new(reader, caller))
    }

    /// A verdict on a block, by whatever cause.
    fn explain(blame: &mut Blame, block: u64, whose: Party) {
        let verdict = Verdict {
            block,
            late_ns: 1,
            cause: Cause::UnitSlow,
            share_ns: 1,
            subject: String::new(),
            text: String::new(),
            others: Vec::new(),
        };
        blame.explained.insert(block, Explained { verdict, whose, seats: Vec::new() });
    }

    /// The next period of a block each is over, `late_ns` behind its deadline.
    fn period(writer: &mut IncidentWriter, block: u64, late_ns: u64, skipped: u64) {
        let duration_ns = 1_000 + late_ns;
        let (frames, deadline_ns) = (64, 1_000);
        let times = BlockTimes {
            block,
            frames,
            duration_ns,
            deadline_ns,
            skipped,
            ..BlockTimes::default()
        };
        writer.block(&times);
        writer.period(&times);
    }

    fn told(blame: &mut Blame, ends: bool) -> Vec<Party> {
        let mut all = Vec::new();
        blame.look(ends, |_, whose, _| all.push(whose));
        all
    }

    #[test]
    fn a_late_block_is_the_fault_that_its_verdict_says() {
        let (mut writer, mut blame) = blame(Caller::Clock);
        // The engine counts from another block than the listener.
        for (block, late_ns, skipped) in [(100, 0, 0), (101, 7, 0), (102, 7, 2)] {
            period(&mut writer, block, late_ns, skipped);
        }
        explain(&mut blame, 1, Party::Machine);
        explain(&mut blame, 2, Party::Ours);
        assert_eq!(told(&mut blame, false), [Party::Machine, Party::Ours]);
        let faults = blame.faults();
        assert_eq!((faults.misses(Party::Machine), faults.misses(Party::Ours)), (1, 3));
    }

    #[test]
    fn a_verdict_is_waited_for_and_not_for_ever() {
        let (mut writer, mut blame) = blame(Caller::Clock);
        for block in [0, 1] {
            period(&mut writer, block, 7, 0);
        }
        explain(&mut blame, 1, Party::Machine);
        for _ in 1..PATIENCE {
            assert!(told(&mut blame, false).is_empty(), "the order stays");
        }
        assert_eq!(told(&mut blame, false), [Party::Unknown, Party::Machine]);
        period(&mut writer, 2, 7, 0);
        assert_eq!(told(&mut blame, true), [Party::Unknown], "nothing comes any more");
    }

    #[test]
    fn periods_that_passed_are_the_fault_of_the_late_block_before_or_the_servers() {
        for (caller, alone) in [(Caller::Server, Party::Server), (Caller::Clock, Party::Unknown)] {
            let (mut writer, mut blame) = blame(caller);
            for (block, skipped) in [(0, 0), (1, 3)] {
                period(&mut writer, block, 0, skipped);
            }
            assert_eq!(told(&mut blame, false), [], "whether the leader waited for a CPU may come");
            assert_eq!(told(&mut blame, true), [alone]);
            explain(&mut blame, 1, Party::Machine);
            period(&mut writer, 2, 0, 1);
            assert_eq!(told(&mut blame, true), [Party::Machine]);
            assert_eq!(blame.faults().misses(alone), 3);
        }
    }

    #[test]
    fn periods_that_passed_while_the_leader_waited_for_a_cpu_are_the_machines() {
        let whose = |woken_us: Option<i64>| {
            whose_gap_at(woken_us.map(|us| us * 1_000), Caller::Server, 1_000_000)
        };
        assert_eq!(whose(Some(-2_400)), Party::Machine);
        assert_eq!([Some(-400), Some(30), None].map(whose), [Party::Server; 3]);
        let (mut writer, mut blame) = blame(Caller::Server);
        for (block, skipped) in [(0, 0), (1, 3)] {
            period(&mut writer, block, 0, skipped);
        }
        assert_eq!(told(&mut blame, false), []);
        blame.gaps.insert(1, Party::Machine);
        assert_eq!(told(&mut blame, false), [Party::Machine]);
        assert_eq!(blame.faults().misses(Party::Machine), 3);
    }

    #[test]
    fn an_xrun_is_what_the_cycles_show_unless_a_verdict_says_more() {
        let (mut writer, mut blame) = blame(Caller::Server);
        period(&mut writer, 50, 0, 0);
        let cycle = |block| Some(LateCycle { block: Some(block), late_ns: 9 });
        let mut report = |fault, cycle| {
            writer.xrun(&Xrun { count: 2, at_ns: 0, fault, cycle });
        };
        report(XrunFault::Server, None);
        report(XrunFault::Unknown, cycle(53));
        report(XrunFault::Ours, cycle(53));
        report(XrunFault::Ours, cycle(54));
        report(XrunFault::Unknown, cycle(54));
        explain(&mut blame, 3, Party::Machine);
        explain(&mut blame, 4, Party::Unknown);
        let expected = [Party::Server, Party::Machine, Party::Machine, Party::Ours, Party::Unknown];
        assert_eq!(told(&mut blame, false), expected);
        let xruns = Xruns { ours: 4, server: 2, unknown: 5 };
        let faults = blame.faults().clone().complete(Misses { late: 1, skipped: 0 }, Some(&xruns));
        assert_eq!(Party::ALL.map(|party| faults.xruns(party)), [2, 2, 4, 3]);
        assert_eq!(faults.misses(Party::Unknown), 1, "one that nobody told");
    }
}
