//! `loop-parallel`: what a parallel loop of a library costs against own threads.

mod workers;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use hocket_kernels::ThreadGroup;
use hocket_kernels::mandelbrot::View;
use rayon::prelude::*;

use crate::harness::timed::time;
use crate::harness::{
    About, Check, Contrast, Design, Experiment, Fault, Host, Metric, NotMeasurable, Opened,
    Parameter, Rounds, Sample, Section, Size, Variant,
};
use workers::Workers;

/// See [`About`].
pub struct LoopParallel;

static ABOUT: About = About {
    id: "loop-parallel",
    section: Section::Threads,
    question: "What does a parallel loop of a library cost against own threads?",
    origin: "a study of thread scaling of 2006, test case 10: JOMP, OpenMP-like \
             directives for Java, took as long as own threads",
    method: "The rows of a Mandelbrot picture are computed by a loop: `serial` by one thread; `rayon` by the parallel \
             iterator of the rayon library, on a pool that was started before; `new-threads` by threads that are \
             started for this loop; `waiting-threads` by threads that were started before and wait, hybrid, at a \
             barrier of hocket-rt. All use as many threads as CPUs, and own threads take the next row when they are \
             done with one. Loops: `large` (about 10 ms of work), `small` (about 100 µs), `tiny` (about 10 µs). The sum \
             of all iterations is compared with the serial one.",
    limits: "One kind of loop, whose rows differ in length. `openmp` measures OpenMP from C, `jvm` the \
             JVM's parallel streams; comparison/ measures OpenMP under the engine's own graphs.",
    metrics: &[Metric::less("time", "us").means(
        "Time of one loop, as its caller sees it: from before it begins to after it has ended.",
    )],
    parameters: &[Parameter::new("loops", &LOOPS)],
};

/// Name, width of the picture, iterations, loops in a turn.
const LOOPS: [(&str, usize, u32, u64); 3] =
    [("large", 256, 200, 1), ("small", 48, 50, 40), ("tiny", 16, 40, 200)];
const WAYS: [&str; 4] = ["serial", "rayon", "new-threads", "waiting-threads"];

impl Experiment for LoopParallel {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, host: &Host, size: Size) -> Result<Design, NotMeasurable> {
        if host.cpus.len() < 2 {
            return Err(NotMeasurable::new("a parallel loop needs two CPUs, and there is one"));
        }
        let mut design = Design::facts(Vec::new(), Rounds::usual(size));
        for (kind, ..) in LOOPS {
            let first = design.variants.len();
            for way in WAYS {
                let variant = Variant::new(format!("{way} {kind}"));
                design.variants.push(variant.with("way", way).with("loop", kind));
            }
            // The library against serial and against each of the own ways.
            for (reference, candidate) in [(3, 1), (2, 1), (0, 1), (0, 3)] {
                design.contrasts.push(Contrast::new(first + reference, first + candidate, "time"));
            }
        }
        Ok(design.twinned())
    }

    fn open(&self, host: &Host, _: Size, design: &Design) -> Opened {
        let stage = Stage::set(host.cpus.len()).map_err(NotMeasurable::new)?;
        let asked = design.each(indices)?;
        Ok(Box::new(move |variant: usize| stage.measure(asked[variant])))
    }
}

fn indices(variant: &Variant) -> Option<(usize, usize)> {
    let way = WAYS.iter().position(|way| *way == variant.level("way"))?;
    let kind = LOOPS.iter().position(|(kind, ..)| *kind == variant.level("loop"))?;
    Some((way, kind))
}

/// The views, what they must come to, and threads that wait.
struct Stage {
    views: Vec<(View, u64)>,
    pool: rayon::ThreadPool,
    workers: Workers,
    threads: usize,
}

impl Stage {
    fn set(threads: usize) -> Result<Stage, Fault> {
        let view = |(_, width, limit, _): &(&str, usize, u32, u64)| {
            let view = View::whole(*limit).scaled_to_width(*width);
            (view, serial(&view))
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        Ok(Stage {
            views: LOOPS.iter().map(view).collect(),
            pool: pool.map_err(Fault::new)?,
            workers: Workers::start(threads).map_err(Fault::new)?,
            threads,
        })
    }

    fn measure(&self, (way, kind): (usize, usize)) -> Result<Vec<Sample>, Fault> {
        let (view, expected) = &self.views[kind];
        let loops = LOOPS[kind].3;
        // Within the pool, so that entering it from outside is not paid for by each loop.
        let (ns, wrong) = match WAYS[way] {
            "rayon" => self.pool.install(|| repeat(loops, *expected, || Ok(rayon_sum(view)))),
            "serial" => repeat(loops, *expected, || Ok(serial(view))),
            "new-threads" => repeat(loops, *expected, || self.with_new_threads(view)),
            _ => repeat(loops, *expected, || Ok(self.workers.sum(view))),
        }?;
        let check = Check::equal("loops with another sum", wrong, 0);
        let us = ns as f64 / 1e3 / loops as f64;
        Ok(vec![Sample::new("time", us, loops, check)])
    }

    fn with_new_threads(&self, view: &View) -> Result<u64, Fault> {
        let next = AtomicUsize::new(0);
        let run = ThreadGroup::anywhere(self.threads).run(|_| rows(view, &next));
        Ok(run.map_err(Fault::new)?.results.into_iter().sum())
    }
}

/// Time of so many loops, and how many of them came to something else.
fn repeat(
    loops: u64,
    expected: u64,
    mut one: impl FnMut() -> Result<u64, Fault>,
) -> Result<(u64, u64), Fault> {
    let mut wrong = 0;
    let (ns, done) = time(|| {
        (0..loops).try_for_each(|_| {
            wrong += u64::from(one()? != expected);
            Ok(())
        })
    });
    done.map(|()| (ns, wrong))
}

/// Iterations of all points of a row.
fn row(view: &View, row: usize) -> u64 {
    (0..view.width).map(|column| u64::from(view.iterations(column, row))).sum()
}

fn serial(view: &View) -> u64 {
    (0..view.height).map(|at| row(view, at)).sum()
}

fn rayon_sum(view: &View) -> u64 {
    (0..view.height).into_par_iter().map(|at| row(view, at)).sum()
}

/// Takes row after row until none is left.
fn rows(view: &View, next: &AtomicUsize) -> u64 {
    let mut sum = 0;
    loop {
        // Relaxed: who takes a row is decided by the addition alone.
        let at = next.fetch_add(1, Relaxed);
        if at >= view.height {
            return sum;
        }
        sum += row(view, at);
    }
}

/// A sum that several threads add to; read after all have met. Relaxed: the meeting publishes it.
#[derive(Default)]
struct Sum(AtomicU64);

impl Sum {
    fn add(&self, part: u64) {
        self.0.fetch_add(part, Relaxed);
    }

    fn take(&self) -> u64 {
        self.0.swap(0, Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_comes_to_the_same_sum() {
        let stage = Stage::set(3).unwrap();
        for (way, name) in WAYS.iter().enumerate() {
            for (kind, its) in LOOPS.iter().enumerate().skip(1) {
                let samples = stage.measure((way, kind)).unwrap();
                assert_eq!(samples[0].check, Check::Passed, "{name} {}", its.0);
            }
        }
    }
}
