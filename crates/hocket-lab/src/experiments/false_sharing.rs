//! `false-sharing`: what a shared cache line costs threads that share nothing else.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use hocket_rt::Padded;

use crate::harness::timed::{calibrate, per_op};
use crate::harness::turn_threads::{Place, TurnThreads};
use crate::harness::{
    About, Check, Design, Experiment, Fault, Host, Metric, NotMeasurable, Opened, Parameter,
    Relation, Rounds, Sample, Section, Size, Variant,
};

/// See [`About`].
pub struct FalseSharing;

static ABOUT: About = About {
    id: "false-sharing",
    section: Section::Sharing,
    question: "What does a shared cache line cost threads that share nothing else?",
    origin: "glossary of the 2009 thesis on SMT in audio engines",
    method: "Two pinned threads count up, each its own 64-bit counter, beginning together. The counters lie 8 bytes \
             apart (one line), 64 bytes apart (next lines, which some processors fetch together) or 128 bytes \
             apart (own lines), for every relation of two CPUs that the machine has. `add` counts with an atomic \
             addition, `store` with a plain load and store. Both counters must hold exactly the number of \
             operations at the end.",
    limits: "Two threads that do nothing else: the worst case. Real code does other work between two writes, and \
             loses as much less.",
    metrics: &[Metric::less("time", "ns")
        .means("Time of one increment of the thread that ended first, because until then the other one counted \
                as well: from its start to its end, divided by its increments.")],
    parameters: &[Parameter::new("turn", &TURN), Parameter::new("layouts", &LAYOUTS)],
};

const TURN: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(20)];
/// Name of a layout and how many counters apart it puts two of them.
const LAYOUTS: [(&str, usize); 3] = [("own-lines", 16), ("next-lines", 8), ("one-line", 1)];
const COUNTS: [&str; 2] = ["add", "store"];

impl Experiment for FalseSharing {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, host: &Host, size: Size) -> Result<Design, NotMeasurable> {
        let mut design = Design::facts(Vec::new(), Rounds::usual(size));
        let apart = host.pairs_by_relation().into_iter().filter(|(r, _)| *r != Relation::SameCpu);
        for (relation, (a, b)) in apart {
            for count in COUNTS {
                add_layouts(&mut design, count, relation, [a, b]);
            }
        }
        if design.variants.is_empty() {
            return Err(NotMeasurable::new(
                "two threads at the same time need two CPUs, and there is one",
            ));
        }
        Ok(design.without_relations_of(host).twinned())
    }

    fn open(&self, _: &Host, size: Size, design: &Design) -> Opened {
        let target = size.of(TURN);
        let mut pairs = design.each(Pair::of)?;
        for pair in &mut pairs {
            pair.ops = calibrate(target, |ops| pair.turn(ops).map(|(ns, _)| ns))
                .map_err(NotMeasurable::new)?;
        }
        Ok(Box::new(move |variant: usize| {
            let pair = &pairs[variant];
            let (ns, check) = pair.turn(pair.ops)?;
            Ok(vec![Sample::new("time", per_op(ns, pair.ops), pair.ops, check)])
        }))
    }
}

/// The layouts of one way of counting on one pair of CPUs, compared with own lines.
fn add_layouts(design: &mut Design, count: &str, relation: Relation, cpus: [u32; 2]) {
    let variant = |(layout, _)| {
        Variant::new(format!("{count} {layout} {relation}"))
            .with("count", count)
            .with("layout", layout)
            .with("relation", relation)
            .on(&cpus, Some(relation))
    };
    design.group("time", LAYOUTS.map(variant));
}

/// Two CPUs, how far their counters lie apart, and how they count.
struct Pair {
    cpus: [u32; 2],
    stride: usize,
    atomic: bool,
    ops: u64,
}

impl Pair {
    fn of(variant: &Variant) -> Option<Pair> {
        let layout = LAYOUTS.iter().find(|(name, _)| *name == variant.level("layout"))?;
        let cpus = variant.cpus.as_slice().try_into().ok()?;
        Some(Pair { cpus, stride: layout.1, atomic: variant.level("count") == COUNTS[0], ops: 1 })
    }

    /// Nanoseconds for `ops` increments of the first thread to end, and whether none got lost.
    fn turn(&self, ops: u64) -> Result<(u64, Check), Fault> {
        let counters: [Padded<[AtomicU64; 16]>; 2] = Default::default();
        let counter = |thread: usize| {
            let at = thread * self.stride;
            &counters[at / 16][at % 16]
        };
        let work = |thread| move || count(counter(thread), ops, self.atomic);
        let team = TurnThreads::new()
            .with(Place::on(self.cpus[0]), work(0))
            .with(Place::on(self.cpus[1]), work(1));
        let run = team.run()?;
        let ns = run.members.iter().map(|member| member.wall_ns()).min().unwrap_or(0);
        let exact = |thread| Check::equal("a counter", counter(thread).load(Relaxed), ops);
        Ok((ns, exact(0).and(exact(1))))
    }
}

/// Relaxed: the counters publish nothing; they are read after the threads have been joined.
fn count(counter: &AtomicU64, ops: u64, atomic: bool) {
    if atomic {
        (0..ops).for_each(|_| {
            counter.fetch_add(1, Relaxed);
        });
    } else {
        (0..ops).for_each(|_| counter.store(counter.load(Relaxed) + 1, Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_increment_is_lost() {
        let host = Host::discover().unwrap();
        let Some((_, (a, b))) =
            host.pairs_by_relation().into_iter().find(|(r, _)| *r != Relation::SameCpu)
        else {
            println!("SKIPPED no_increment_is_lost: two CPUs are needed");
            return;
        };
        for (_, stride) in LAYOUTS {
            let pair = Pair { cpus: [a, b], stride, atomic: false, ops: 1 };
            assert_eq!(pair.turn(2000).unwrap().1, Check::Passed);
        }
    }
}
