//! The lost time on the way to the output, and what explains it.

use std::ops::Range;

use super::path::{Leg, SEAM_NS, What};
use super::{Cause, Evidence, Seat, sane};
use crate::switches::{Ran, Switches};
use crate::{Doing, Lane, Span};

/// What a minor page fault may cost. It enters the kernel and clears a page, which took 2.7 µs on a busy
/// virtual machine and takes less on bare metal.
pub const MINOR_FAULT_NS: i64 = 3_000;
/// What a change of the CPU may cost: it has to fill a core's private cache of 1 MiB again, at 10 GB/s.
pub const MIGRATION_NS: i64 = 100_000;

/// A part of an explanation.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub cause: Cause,
    pub ns: i64,
    /// A unit, a thread or a worker.
    pub subject: String,
    /// Other data for its sentence.
    pub detail: String,
}

/// Time that the output lost on one leg and that no rule has explained yet.
struct Loss<'a> {
    leg: &'a Leg,
    ns: i64,
    /// For how long strangers were seen on the seat meanwhile.
    taken_ns: i64,
}

/// One entry for each thing that delayed the output.
pub(super) fn entries(evidence: &Evidence, way: &[Leg]) -> Vec<Entry> {
    let mut account = Losses { evidence, way, entries: Vec::new() };
    let mut losses: Vec<Loss> = way.iter().map(|leg| account.loss(leg)).collect();
    // First events with a time, then counts, then the rest.
    losses.iter_mut().for_each(|loss| account.seat_taken(loss));
    losses.iter_mut().for_each(|loss| account.sibling_busy(loss));
    losses.iter_mut().for_each(|loss| account.cpu_lost(loss));
    for (lane, seat) in account.seats_of_lanes() {
        account.counted(&mut losses, lane, seat);
    }
    losses.iter().for_each(|loss| account.left(loss));
    let shifted = account.shifted();
    account.overload(shifted);
    account.entries
}

struct Losses<'a> {
    evidence: &'a Evidence,
    way: &'a [Leg],
    entries: Vec<Entry>,
}

impl<'a> Losses<'a> {
    fn enter(&mut self, cause: Cause, ns: i64, subject: String, detail: String) {
        let same = |e: &&mut Entry| e.cause == cause && e.subject == subject;
        match self.entries.iter_mut().find(same) {
            _ if ns <= 0 => {}
            Some(entry) => entry.ns = entry.ns.saturating_add(ns),
            None => self.entries.push(Entry { cause, ns, subject, detail }),
        }
    }

    fn lane(&self, lane: usize) -> Option<&'a Lane> {
        self.evidence.trace.lanes.get(lane)
    }

    fn lane_name(&self, lane: usize) -> String {
        self.lane(lane).map_or_else(|| format!("worker {lane}"), |lane| lane.name.clone())
    }

    fn seat(&self, lane: usize) -> Option<&'a Seat> {
        let name = &self.lane(lane)?.name;
        self.evidence.seats.iter().find(|seat| seat.lane == *name)
    }

    fn seats_of_lanes(&self) -> Vec<(usize, &'a Seat)> {
        let lanes = 0..self.evidence.trace.lanes.len();
        lanes.filter_map(|lane| Some((lane, self.seat(lane)?))).collect()
    }

    fn estimate(&self, unit: u32) -> Option<i64> {
        known_ns(*self.evidence.estimates_ns.get(unit as usize)?)
    }

    fn unit_name(&self, unit: u32) -> String {
        let name = self.evidence.trace.unit_names.get(unit as usize);
        name.cloned().unwrap_or_else(|| format!("unit {unit}"))
    }

    /// The lost time of a leg. For a unit it is the time beyond the expected one, for any other leg all of it.
    fn loss<'l>(&self, leg: &'l Leg) -> Loss<'l> {
        let took = leg.span.end - leg.span.start;
        let ns = match leg.what {
            What::Unit(unit) => self.estimate(unit).map_or(0, |expected| (took - expected).max(0)),
            _ => took,
        };
        Loss { leg, ns, taken_ns: 0 }
    }

    // ---- seen ---------------------------------------------------------------------------------------------------

    /// While a stranger had the seat, its worker did not run. That time is lost, whatever the unit's estimate
    /// is. A worker that had yet to wake up is not kept away by a thread that it outranks.
    fn seat_taken(&mut self, loss: &mut Loss) {
        let lane = loss.leg.lane;
        let Some(seat) = self.seat(lane) else { return };
        let asleep = matches!(loss.leg.what, What::LeaderWake | What::Wake);
        let harmless: &[i32] = if asleep { &seat.outranked } else { &[] };
        let is_awaited = !matches!(loss.leg.what, What::Signal | What::Call);
        if let (Some(own), true) = (&seat.own, is_awaited) {
            let worker = self.lane_name(lane);
            let taken = self.strangers(own, harmless, &worker, &loss.leg.span, i64::MAX);
            loss.ns -= taken.min(loss.ns);
            loss.taken_ns = taken;
        }
    }

    /// Enters the time of strangers on a worker's seat during `span`, at most `most`, without the `harmless` ones.
    /// Returns the time.
    fn strangers(
        &mut self,
        own: &Switches,
        harmless: &[i32],
        worker: &str,
        span: &Range<i64>,
        most: i64,
    ) -> i64 {
        let mut entered = 0_i64;
        for ran in self.strange(own).filter(|ran| !harmless.contains(&ran.tid)) {
            let ns = ran.within_ns(span).min(most - entered);
            let place = format!("CPU {}, the seat of {worker}", own.cpu);
            self.enter(Cause::SeatTaken, ns, thread(ran), place);
            entered += ns.max(0);
        }
        entered
    }

    fn strange<'s>(&self, switches: &'s Switches) -> impl Iterator<Item = &'s Ran> + use<'s, 'a> {
        let evidence = self.evidence;
        switches.intervals.iter().filter(move |ran| !evidence.engine_tids.contains(&ran.tid))
    }

    /// Two busy seats share the core about evenly. So while a stranger runs on one, the other loses up to
    /// half of its speed, and half of that time explains a unit's delay.
    fn sibling_busy(&mut self, loss: &mut Loss) {
        let (What::Unit(unit), Some(seat)) = (loss.leg.what, self.seat(loss.leg.lane)) else {
            return;
        };
        for sibling in &seat.siblings {
            for ran in self.strange(sibling) {
                let ns = (ran.within_ns(&loss.leg.span) / 2).min(loss.ns);
                let beside = format!("CPU {}, beside {}", sibling.cpu, seat.lane);
                let detail = format!("{beside}, while it computed {}", self.unit_name(unit));
                self.enter(Cause::SiblingBusy, ns, thread(ran), detail);
                loss.ns -= ns.max(0);
            }
        }
    }

    /// While its clock stood still, a worker had no CPU. Strangers that were seen there are entered already.
    fn cpu_lost(&mut self, loss: &mut Loss) {
        let (What::Unit(unit), Some(away_ns)) = (loss.leg.what, self.away_ns(loss.leg)) else {
            return;
        };
        let ns = (sane(away_ns) - loss.taken_ns).clamp(0, loss.ns);
        let while_it = format!("while it computed {}", self.unit_name(unit));
        self.enter(Cause::CpuLost, ns, self.lane_name(loss.leg.lane), while_it);
        loss.ns -= ns;
    }

    /// What the span of a unit on the way says of its thread's clock.
    fn away_ns(&self, leg: &Leg) -> Option<i64> {
        let spans = &self.lane(leg.lane)?.spans;
        let of_leg = |span: &&Span| match (&span.doing, leg.what) {
            (Doing::Unit(unit), What::Unit(of_leg)) => *unit == of_leg,
            _ => false,
        };
        spans.iter().find(of_leg)?.away_ns
    }

    // ---- counted ------------------------------------------------------------------------------------------------

    /// The counts of a worker or its CPU explain what is still open on its legs.
    fn counted(&mut self, losses: &mut [Loss], lane: usize, seat: &Seat) {
        // While another thread had yet to wake it up, the leader needed no CPU.
        let calls = seat.woken_by.is_none();
        let mut pay = |most: i64, units_only: bool| pay(losses, lane, most, (units_only, calls));
        // A disk access may take any time.
        let read = pay(if seat.major_faults > 0 { i64::MAX } else { 0 }, true);
        let stolen = pay(sane(seat.steal_ns), false);
        let cleared = pay(times(seat.minor_faults, MINOR_FAULT_NS), true);
        let moved = pay(times(seat.migrations, MIGRATION_NS), true);
        let worker = || seat.lane.clone();
        let faults = format!("{} from the disk, {} others", seat.major_faults, seat.minor_faults);
        self.enter(Cause::PageFault, read.saturating_add(cleared), worker(), faults);
        self.enter(Cause::HostSteal, stolen, worker(), String::new());
        self.enter(Cause::Migration, moved, worker(), seat.migrations.to_string());
    }

    // ---- left ---------------------------------------------------------------------------------------------------

    /// What no other rule explains belongs to the leg itself.
    fn left(&mut self, loss: &Loss) {
        let worker = self.lane_name(loss.leg.lane);
        match loss.leg.what {
            What::Signal => {
                self.enter(Cause::SignaledLate, loss.ns, "the device".into(), String::new())
            }
            What::Call => self.enter(Cause::CalledLate, loss.ns, worker, String::new()),
            What::LeaderWake => {
                let seat = self.seat(loss.leg.lane);
                let and = self.meanwhile(seat, &loss.leg.span);
                let and = if and.is_empty() { and } else { format!(" ({and})") };
                // It may have been awake before.
                let signaled_ns = sane(self.evidence.signaled_ns);
                let since = match seat.and_then(|seat| seat.woken_ns) {
                    Some(woken_ns) if woken_ns > signaled_ns => "it was woken up",
                    _ => "the signal",
                };
                self.enter(Cause::LeaderWokeLate, loss.ns, worker, format!("{since}{and}"));
            }
            What::Wake if loss.ns <= SEAM_NS => {}
            What::Wake => {
                let detail = self.meanwhile(self.seat(loss.leg.lane), &loss.leg.span);
                self.enter(Cause::WorkerWokeLate, loss.ns, worker, detail);
            }
            What::Unit(unit) => {
                let took = loss.leg.span.end - loss.leg.span.start;
                let expected = self.estimate(unit).unwrap_or(took);
                let detail = format!("{} instead of {}", us(took), us(expected));
                self.enter(Cause::UnitSlow, loss.ns, self.unit_name(unit), detail);
            }
        }
    }

    /// Who ran longest on the seat of a worker that outranks them, while it had yet to wake up. Empty: nobody.
    fn meanwhile(&self, seat: Option<&Seat>, span: &Range<i64>) -> String {
        let Some((seat, own)) = seat.and_then(|seat| Some((seat, seat.own.as_ref()?))) else {
            return String::new();
        };
        let outranked = self.strange(own).filter(|ran| seat.outranked.contains(&ran.tid));
        let longest = outranked.max_by_key(|ran| ran.within_ns(span));
        let longest = longest.filter(|ran| ran.within_ns(span) > SEAM_NS);
        longest.map_or_else(String::new, |ran| {
            let (thread, ns) = (thread(ran), us(ran.within_ns(span)));
            format!(
                "{thread} ran there for {ns} meanwhile; its priority is too low to hold a worker back"
            )
        })
    }

    // ---- the plan -----------------------------------------------------------------------------------------------

    /// Expected work on the way to the output.
    fn work_ns(&self) -> i64 {
        let unit = |leg: &Leg| match leg.what {
            What::Unit(unit) => self.estimate(unit).unwrap_or(0),
            _ => 0,
        };
        self.way.iter().map(unit).fold(0, i64::saturating_add)
    }

    /// If there is more work on the way than the expected time of the whole block, other workers did not do
    /// their part. Off the way, they were late or had lost their seats. Returns how much of the work this
    /// explains.
    fn shifted(&mut self) -> i64 {
        let expected = known_ns(self.evidence.expected_ns);
        let usual = expected.unwrap_or(sane(self.evidence.trace.deadline_ns));
        let surplus = self.work_ns().saturating_sub(usual).max(0);
        let mut open = surplus;
        for seat in &self.evidence.seats {
            open -= self.missing(seat, open);
        }
        surplus - open
    }

    /// The time in which a worker was missing off the way, at most `most`.
    fn missing(&mut self, seat: &'a Seat, most: i64) -> i64 {
        let trace = &self.evidence.trace;
        let lane = trace.lanes.iter().position(|lane| lane.name == seat.lane);
        let (start, end) = (sane(trace.awake_ns).max(0), sane(trace.finished_ns));
        let came =
            lane.map_or(end, |lane| sane(trace.lanes[lane].awake_ns).clamp(start, end.max(start)));
        let on_the_way: Vec<&Leg> = self.way.iter().filter(|leg| Some(leg.lane) == lane).collect();
        let mut entered = 0;
        if let Some(own) = &seat.own {
            // Only pieces of the block off the way: those on it are entered already.
            for span in outside(start..end, &on_the_way) {
                let open = most - entered;
                entered += self.strangers(own, &seat.outranked, &seat.lane, &span, open);
            }
        }
        let woken_on_the_way =
            on_the_way.iter().any(|leg| leg.what == What::Wake && leg.span.start <= start);
        if !woken_on_the_way && lane != Some(0) && came - start > SEAM_NS {
            let asleep = start..came;
            let strange = seat.own.as_ref().map_or(0, |own| {
                let own = own.without(&self.evidence.engine_tids);
                own.without(&seat.outranked).ran_ns(&asleep)
            });
            let late = (came - start - strange).clamp(0, most - entered);
            let detail = self.meanwhile(Some(seat), &asleep);
            self.enter(Cause::WorkerWokeLate, late, seat.lane.clone(), detail);
            entered += late;
        }
        entered
    }

    /// The unit of the block with the longest expected time, if units have a name and a time. Of two equal ones, the first.
    fn dearest_unit(&self) -> Option<(&'a str, i64)> {
        let names = self.evidence.trace.unit_names.iter().map(String::as_str);
        let known = names.zip(&self.evidence.estimates_ns);
        let known = known.filter_map(|(name, ns)| Some((name, known_ns(*ns)?)));
        known.min_by_key(|(_, ns)| std::cmp::Reverse(*ns))
    }

    /// A plan that takes longer than the period cannot be in time.
    fn overload(&mut self, shifted: i64) {
        let work = self.work_ns() - shifted;
        let need = work.max(known_ns(self.evidence.expected_ns).unwrap_or(0));
        let period = sane(self.evidence.trace.deadline_ns);
        let dearest = self
            .dearest_unit()
            .map(|(name, ns)| format!("; the dearest unit is {name} with {}", us(ns)));
        let detail =
            format!("{} in a period of {}{}", us(need), us(period), dearest.unwrap_or_default());
        self.enter(Cause::Overload, need.saturating_sub(period), "the plan".into(), detail);
    }
}

/// Takes up to `most` from the open losses of a lane, largest first. Returns how much.
fn pay(losses: &mut [Loss], lane: usize, most: i64, (units_only, calls): (bool, bool)) -> i64 {
    let payable = |loss: &&mut Loss| match loss.leg.what {
        _ if loss.leg.lane != lane => false,
        What::Unit(_) => true,
        What::Signal => false,
        What::Call => calls && !units_only,
        What::LeaderWake | What::Wake => !units_only,
    };
    let mut open: Vec<&mut Loss> = losses.iter_mut().filter(payable).collect();
    open.sort_by_key(|loss| std::cmp::Reverse(loss.ns));
    let mut left = most.max(0);
    for loss in open {
        let ns = loss.ns.min(left);
        loss.ns -= ns;
        left -= ns;
    }
    most.max(0) - left
}

/// The pieces of `whole` that no leg covers. `legs` are ordered last first and do not overlap.
fn outside(whole: Range<i64>, legs: &[&Leg]) -> Vec<Range<i64>> {
    let mut pieces = Vec::new();
    let mut start = whole.start;
    for leg in legs.iter().rev() {
        pieces.push(start..leg.span.start.min(whole.end));
        start = start.max(leg.span.end);
    }
    pieces.push(start..whole.end);
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

fn thread(ran: &Ran) -> String {
    match ran.tid {
        crate::switches::UNNAMED => ran.name.clone(),
        tid => format!("{} (thread {tid})", ran.name),
    }
}

fn times(count: u64, each_ns: i64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX).saturating_mul(each_ns)
}

/// The time, if it is a finite number and not negative.
fn known_ns(ns: f64) -> Option<i64> {
    (ns.is_finite() && ns >= 0.0).then_some(sane(ns as i64))
}

/// A time in microseconds, as text.
pub(super) fn us(ns: i64) -> String {
    match ns {
        0..10_000 => format!("{:.1} µs", ns as f64 / 1e3),
        _ => format!("{} µs", ns / 1_000),
    }
}
