//! `barrier`: what it costs that n threads wait for all.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use hocket_kernels::barriers::{BarrierKind, Meeting};
use hocket_rt::{Padded, SpinCost, Strategy, Wait};

use super::beside::undisturbed;
use crate::harness::timed::{calibrate, per_op};
use crate::harness::turn_threads::{Place, TurnThreads};
use crate::harness::{
    About, Axis, Check, Design, Experiment, Fault, Host, Mark, Metric, NotMeasurable, Opened,
    Parameter, Plot, Results, Rounds, Sample, Section, Series, Size, Variant,
};

/// See [`About`].
pub struct Barrier;

static ABOUT: About = About {
    id: "barrier",
    section: Section::Waiting,
    question: "What does a barrier of n workers cost?",
    origin: "the 2009 thesis on SMT in audio engines, 8.3; Mellor-Crummey and Scott 1991",
    method: "n pinned threads, FIFO 20 where granted, spread over cores first, meet again and again with nothing between. Barriers: `central` \
             (one countdown), `tree` (the last of two goes on to the next node), `dissemination` (each tells \
             another, several times), `pair` (partners first, then one of each pair). Waits: `pause` spins, \
             `futex` blocks, `hybrid` spins for 20 µs and then blocks; with more threads than CPUs `pause` yields after \
             20 µs (in a full run only). After each turn the threads meet 16 times more, and each looks whether all the others have \
             arrived.",
    limits: "Threads that arrive together and do no work: the least that a barrier costs. In a block they arrive \
             apart, and the wait for the last is the larger part.",
    metrics: &[Metric::less("time", "ns")
        .means("Time of one meeting: from the first thread's start to the last one's end, divided by the meetings.")],
    parameters: &[Parameter::new("turn", &TURN), Parameter::new("spin", &Strategy::USUAL_SPIN)],
};

/// How long the threads of a turn meet at the barrier.
const TURN: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(20)];
const WAITS: [Strategy; 3] = [Strategy::Pause, Strategy::Hybrid, Strategy::Futex];
/// Meetings after each turn in which arrivals are looked at.
const CHECKED: u64 = 16;
/// With more threads a barrier of blocking threads only shows the scheduler.
const MOST: usize = 64;

impl Experiment for Barrier {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, host: &Host, size: Size) -> Result<Design, NotMeasurable> {
        let cpus = host.cpus.len();
        if cpus < 2 {
            return Err(NotMeasurable::new("two threads at the same time need two CPUs"));
        }
        let rounds = Rounds { processes: size.pick(3, 8), ..Rounds::usual(size) };
        let mut design = Design::facts(Vec::new(), rounds);
        for threads in counts(host, size) {
            let crowded = threads > cpus;
            let fits = |wait: &&Strategy| match crowded {
                true => **wait == Strategy::Futex || size == Size::Full,
                false => true,
            };
            let waits = WAITS.iter().filter(fits);
            waits.for_each(|wait| add(&mut design, host, threads, *wait));
        }
        Ok(design.twinned())
    }

    fn open(&self, host: &Host, size: Size, design: &Design) -> Opened {
        let target = size.of(TURN);
        let mut meetings = design.each(|variant| Meetings::of(variant, host))?;
        for meeting in &mut meetings {
            let measured = calibrate(target, |ops| meeting.time(ops));
            meeting.ops = measured.map_err(NotMeasurable::new)?;
        }
        Ok(Box::new(move |variant: usize| meetings[variant].measure()))
    }

    fn plots(&self, results: &Results) -> Vec<Plot> {
        WAITS.iter().filter_map(|wait| plot(results, *wait)).collect()
    }
}

/// Two, all cores, all seats, twice as many; in a full run powers of two between.
fn counts(host: &Host, size: Size) -> Vec<usize> {
    let cpus = host.cpus.len();
    let mut counts = vec![2, host.one_per_core().len(), cpus, (2 * cpus).min(MOST)];
    counts.extend(size.pick(&[][..], &[4, 8, 16, 32]).iter().filter(|n| **n < cpus));
    counts.retain(|n| (2..=MOST).contains(n));
    counts.sort_unstable();
    counts.dedup();
    counts
}

/// The kinds for so many threads that wait so, each compared with `central`.
fn add(design: &mut Design, host: &Host, threads: usize, wait: Strategy) {
    let cpus = host.spread(threads);
    // Two threads are one pair and one node: all trees are the same there.
    let kinds = BarrierKind::ALL.iter().filter(|kind| threads > 2 || !is_tree(**kind));
    let variant = |kind: &BarrierKind| {
        let variant = Variant::new(format!("{kind} {wait} {threads}"))
            .with("barrier", kind)
            .with("wait", wait)
            .with("threads", threads)
            .on(&cpus, None);
        variant.crowded_if(threads > host.cpus.len())
    };
    design.group("time", kinds.map(variant));
}

fn is_tree(kind: BarrierKind) -> bool {
    matches!(kind, BarrierKind::Tree | BarrierKind::Pair)
}

/// One variant, ready to be measured.
struct Meetings {
    kind: BarrierKind,
    wait: Wait,
    places: Vec<Place>,
    ops: u64,
}

impl Meetings {
    fn of(variant: &Variant, host: &Host) -> Option<Meetings> {
        let wait = Wait::new(
            variant.level("wait").parse().ok()?,
            &SpinCost::measure(),
            Strategy::USUAL_SPIN,
        );
        let crowded = variant.cpus.len() > host.cpus.len();
        Some(Meetings {
            kind: variant.level("barrier").parse().ok()?,
            wait: if crowded { wait.yielding_after(Strategy::USUAL_SPIN) } else { wait },
            places: variant.cpus.iter().map(|cpu| undisturbed(host, *cpu)).collect(),
            ops: 1,
        })
    }

    /// Nanoseconds of so many meetings.
    fn time(&self, meetings: u64) -> Result<u64, Fault> {
        let barrier = self.kind.build(self.places.len());
        let work = |number: usize| {
            for _ in 0..meetings {
                barrier.meet(number, &self.wait);
            }
        };
        Ok(self.together(&work)?.0)
    }

    fn measure(&self) -> Result<Vec<Sample>, Fault> {
        let ns = self.time(self.ops)?;
        let check = self.check()?;
        Ok(vec![Sample::new("time", per_op(ns, self.ops), self.ops, check)])
    }

    /// Whether nobody is ever through before all have arrived.
    fn check(&self) -> Result<Check, Fault> {
        let barrier = self.kind.build(self.places.len());
        // Relaxed: only the barrier may order these, or the check would do its work.
        let arrived: Vec<Padded<AtomicU64>> =
            self.places.iter().map(|_| Padded(AtomicU64::new(0))).collect();
        let work = |number: usize| meet_and_look(&*barrier, number, &self.wait, &arrived);
        let early: u64 = self.together(&work)?.1.into_iter().sum();
        Ok(Check::equal("threads that had not arrived when others were through", early, 0))
    }

    fn together<R: Send>(
        &self,
        work: &(impl Fn(usize) -> R + Sync),
    ) -> Result<(u64, Vec<R>), Fault> {
        let mut team = TurnThreads::new();
        for (number, place) in self.places.iter().enumerate() {
            team = team.with(place.clone(), move || work(number));
        }
        let run = team.run()?;
        Ok((run.wall_ns(), run.into_results()))
    }
}

/// Meets [`CHECKED`] times and counts those found missing behind the barrier.
fn meet_and_look(
    barrier: &dyn Meeting,
    number: usize,
    wait: &Wait,
    arrived: &[Padded<AtomicU64>],
) -> u64 {
    let mut missing = 0;
    for round in 1..=CHECKED {
        arrived[number].store(round, Relaxed);
        barrier.meet(number, wait);
        missing += arrived.iter().filter(|other| other.load(Relaxed) < round).count() as u64;
    }
    missing
}

/// Time by the number of threads, a line a kind.
fn plot(results: &Results, wait: Strategy) -> Option<Plot> {
    let design = results.design()?;
    let line = |kind: &BarrierKind| {
        let is = |v: &&Variant| {
            v.level("barrier") == kind.to_string() && v.level("wait") == wait.to_string()
        };
        let point = |variant: &Variant| {
            let threads: f64 = variant.level("threads").parse().ok()?;
            Some((threads, results.estimate(&variant.name, "time")?))
        };
        let points: Vec<_> = design.variants.iter().filter(is).filter_map(point).collect();
        (!points.is_empty()).then(|| Series { name: kind.to_string(), points })
    };
    let series: Vec<Series> = BarrierKind::ALL.iter().filter_map(line).collect();
    let cpus = design.variants.iter().filter(|v| !v.crowded).map(|v| v.cpus.len()).max();
    (!series.is_empty()).then(|| Plot::Lines {
        title: format!("one meeting of n threads that wait with {wait}"),
        x: Axis::linear("threads", ""),
        y: Axis::log("time of a meeting", "ns"),
        series,
        marks: cpus.map(|n| Mark { at: n as f64, label: "CPUs".into() }).into_iter().collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_through_before_all_have_arrived() {
        let host = Host::discover().unwrap();
        let Ok(design) = Barrier.design(&host, Size::Quick) else {
            println!("SKIPPED nobody_is_through_before_all_have_arrived: two CPUs are needed");
            return;
        };
        for variant in &design.variants {
            let meetings = Meetings { ops: 10, ..Meetings::of(variant, &host).unwrap() };
            let samples = meetings.measure().unwrap();
            assert_eq!(samples[0].check, Check::Passed, "{}", variant.name);
        }
    }
}
