//! `aa`: the same thing measured twice.

use std::time::Duration;

use hocket_machine::clock::sleep_until_ns;

use crate::harness::lateness::OpenLoop;
use crate::harness::timed::{calibrate, per_op, time};
use crate::harness::{
    About, Apparatus, Check, Design, Experiment, Fault, Host, Metric, NotMeasurable, Opened,
    Parameter, Results, Rounds, Sample, Section, Sentence, Size, Variant, twin_of,
};

/// See [`About`].
pub struct Aa;

static ABOUT: About = About {
    id: "aa",
    section: Section::Method,
    question: "How large a difference does nothing make here?",
    origin: "the null experiment of every comparison: one variant under two names",
    method: "One piece of code is measured under two names, in random order within rounds and over several \
             process starts: a chain of dependent integer operations in registers, a walk over 256 KiB in an order \
             that nothing predicts, and the lateness of a sleeping thread. The ratio of the two names should \
             be 1; how far its 95 % interval reaches from 1 is the smallest difference that this machine \
             can show today.",
    limits: "It holds for work of this kind and length on the CPU that the scheduler chose; every other \
             experiment therefore measures one of its own variants twice as well.",
    metrics: &[
        Metric::less("compute", "ns")
            .means("Time of one step of a chain of dependent 64-bit operations (xorshift), over about 1 ms."),
        Metric::less("memory", "ns")
            .means("Time of one dependent load from 256 KiB in random order, over about 1 ms."),
        Metric::less("wake", "ns")
            .means("Median of how late a thread of the ordinary class wakes up from an absolute sleep, \
                    8 planned wake-ups, 200 µs apart."),
    ],
    parameters: &[
        Parameter::new("turn", &TARGET),
        Parameter::new("cells", &CELLS),
        Parameter::new("wake-ups", &WAKES),
    ],
};

impl Experiment for Aa {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, _host: &Host, size: Size) -> Result<Design, NotMeasurable> {
        // Short turns: a turn that is over before somebody else gets the CPU is worth many that are not.
        let rounds =
            Rounds { processes: size.pick(5, 10), per_process: size.pick(180, 1000), warm_up: 1 };
        let design = Design::facts(vec![Variant::new("same")], rounds);
        Ok(design.twinned())
    }

    fn open(&self, _: &Host, _: Size, _: &Design) -> Opened {
        let twice = Twice::new().map_err(NotMeasurable::new)?;
        Ok(Box::new(twice))
    }

    fn findings(&self, results: &Results) -> Vec<Sentence> {
        results.metrics().iter().map(|(metric, _)| verdict(results, metric)).collect()
    }
}

fn verdict(results: &Results, metric: &str) -> Sentence {
    let compared = results.compare("same", &twin_of("same"), metric);
    let Some((all, interval)) = compared.and_then(|all| Some((all, all.interval?))) else {
        return Sentence::not_shown(format!("{metric}: too few rounds"));
    };
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    let Some(floor) = results.floor("same", metric).map(|floor| floor * 100.0) else {
        return Sentence::not_shown(format!(
            "{metric}: too few process starts ({})",
            results.starts()
        ));
    };
    Sentence::fact(format!(
        "{metric}: the same twice differs by {:+.2} % [{:+.2}, {:+.2}]; here and today a difference below {floor:.2} % \
         cannot be shown",
        percent(all.ratio),
        percent(interval.low),
        percent(interval.high)
    ))
}

const CELLS: usize = (1 << 18) / size_of::<u32>();
const WAKES: OpenLoop = OpenLoop { period_ns: 200_000, wakes: 8 };
const TARGET: Duration = Duration::from_millis(1);

struct Twice {
    /// A single cycle through all cells.
    next: Vec<u32>,
    steps: u64,
    loads: u64,
}

impl Twice {
    fn new() -> Result<Twice, Fault> {
        let next = cycle(CELLS);
        let steps = calibrate(TARGET, |ops| Ok(time(|| chain(ops)).0))?;
        let loads = calibrate(TARGET, |ops| Ok(time(|| walk(&next, ops)).0))?;
        Ok(Twice { next, steps, loads })
    }
}

impl Apparatus for Twice {
    fn measure(&mut self, _variant: usize) -> Result<Vec<Sample>, Fault> {
        let (compute_ns, end) = time(|| chain(self.steps));
        let chained = Check::equal("the end of the chain", end, chain(self.steps));
        // A multiple of the cycle's length ends where it began.
        let loads = self.loads.next_multiple_of(CELLS as u64);
        let (memory_ns, cell) = time(|| walk(&self.next, loads));
        let walked = Check::equal("the end of the walk", cell, 0);
        let late = WAKES.run(sleep_until_ns);
        let unchecked = Check::None("a wake-up computes nothing".into());
        let mut samples = vec![
            Sample::new("compute", per_op(compute_ns, self.steps), self.steps, chained),
            Sample::new("memory", per_op(memory_ns, loads), loads, walked),
        ];
        samples.extend(Sample::median_of("wake", &late, unchecked));
        Ok(samples)
    }
}

/// `steps` of xorshift64 (Marsaglia 2003): each needs the one before.
fn chain(steps: u64) -> u64 {
    let mut x = std::hint::black_box(0x9E37_79B9_7F4A_7C15_u64);
    for _ in 0..steps {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    x
}

fn walk(next: &[u32], loads: u64) -> u32 {
    (0..loads).fold(0, |cell, _| next[cell as usize])
}

/// A random single cycle through `n` cells (Sattolo 1986), the same in every process.
fn cycle(n: usize) -> Vec<u32> {
    let mut rng = crate::stats::Rng::new(1);
    let mut next: Vec<u32> = (0..n as u32).collect();
    for last in (1..n).rev() {
        next.swap(last, rng.below(last));
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_walk_visits_every_cell_once() {
        let next = cycle(1000);
        let mut seen = std::collections::BTreeSet::new();
        let mut cell = 0;
        while seen.insert(cell) {
            cell = next[cell as usize];
        }
        assert_eq!((seen.len(), cell), (1000, 0));
        assert_eq!(walk(&next, 2000), 0);
    }

    #[test]
    fn the_chain_is_that_of_its_definition() {
        let one = chain(1);
        let x = 0x9E37_79B9_7F4A_7C15_u64;
        let x = x ^ (x << 13);
        let x = x ^ (x >> 7);
        assert_eq!(one, x ^ (x << 17));
    }
}
