//! `thread-limit`: how many threads can exist, and what sets the limit.

mod limits;

use std::sync::mpsc;
use std::thread::JoinHandle;

use hocket_machine::clock::monotonic_ns;
use hocket_machine::pin::{ThreadId, current_thread, is_own_thread};

use crate::harness::{
    About, Axis, Bar, Check, Design, Estimate, Experiment, Fault, Historic, Host, Metric,
    NotMeasurable, Opened, Parameter, Plot, Results, Rounds, Sample, Section, Sentence, Size,
    Variant,
};
use limits::{LIMITS, threads_are_told};

/// See [`About`].
pub struct ThreadLimit;

static ABOUT: About = About {
    id: "thread-limit",
    section: Section::Threads,
    question: "How many threads can exist?",
    origin: "a study of thread scaling of 2006, test case 2",
    method: "Reads what limits the number of threads here: the system's threads-max and pid_max, the user's limit of \
             processes, the pids controller of every control group above this process, and the number of memory maps \
             (two for each thread's stack and guard page). Then starts so many sleeping threads with stacks of 64 KiB, \
             256 in a quick run and 2000 in a full one, never more, and counts what the system's kernel sees.",
    limits: "The smallest limit is read, not tried: running into it would stop everything else on the machine. It is \
             shared with all other threads of system, user or group. Memory is no limit before that: a thread that \
             does nothing needs some 10 KiB.",
    metrics: &[
        Metric::more("started", "").means("Threads that were started and slept at the same time."),
        Metric::fact("kernel-threads", "")
            .means("How many of them the system's kernel then listed in this process, each by its own number."),
        Metric::less("start-time", "us").means("Time to start them, divided by their number."),
        Metric::more("threads-max", "")
            .means("/proc/sys/kernel/threads-max: threads of the whole system."),
        Metric::more("pid-max", "")
            .means("/proc/sys/kernel/pid_max: numbers for processes and threads of the whole system."),
        Metric::more("user-processes", "")
            .means("RLIMIT_NPROC: threads of this user; does not bind root."),
        Metric::more("group-pids", "")
            .means("The smallest pids.max of the control groups above this process."),
        Metric::more("maps", "")
            .means("/proc/sys/vm/max_map_count, halved: threads of one process, with two memory maps each."),
    ],
    parameters: &[Parameter::new("threads", &THREADS), Parameter::new("stack", &STACK)],
};

const THREADS: [usize; 2] = [256, 2000];
const STACK: usize = 64 * 1024;

impl Experiment for ThreadLimit {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, _: &Host, size: Size) -> Result<Design, NotMeasurable> {
        threads_are_told().map_err(NotMeasurable::new)?;
        let count: usize = size.of(THREADS);
        let variant = Variant::new(format!("{count}-threads")).with("threads", count);
        let rounds = Rounds { processes: 1, per_process: 3, warm_up: 0 };
        let mut design = Design::facts(vec![variant.crowded()], rounds);
        for limit in LIMITS {
            if let Err(why) = (limit.read)() {
                design.missing.push((limit.metric.into(), why));
            }
        }
        Ok(design)
    }

    fn open(&self, _: &Host, _: Size, design: &Design) -> Opened {
        let counts = design.each(|variant| variant.level("threads").parse::<usize>().ok())?;
        Ok(Box::new(move |variant: usize| measure(counts[variant])))
    }

    fn findings(&self, results: &Results) -> Vec<Sentence> {
        let Some(variant) = results.variants().into_iter().next() else { return Vec::new() };
        let of = |metric: &str| results.median(&variant, metric);
        let mut sentences: Vec<Sentence> = smallest(of).into_iter().collect();
        if let (Some(started), Some(kernel)) = (of("started"), of("kernel-threads")) {
            let each = if started == kernel { "one kernel thread each" } else { "not one each" };
            let time = of("start-time").unwrap_or(f64::NAN);
            sentences.push(Sentence::fact(format!(
                "{started:.0} threads were started at {time:.1} µs each; the kernel counts {kernel:.0}: {each}"
            )));
        }
        sentences
    }

    fn plots(&self, results: &Results) -> Vec<Plot> {
        let variant = results.variants().into_iter().next().unwrap_or_default();
        let metrics = ["started"].into_iter().chain(LIMITS.iter().map(|limit| limit.metric));
        let bar = |metric: &str| {
            let estimate = Estimate::exact(results.median(&variant, metric)?);
            Some(Bar { label: metric.into(), estimate, group: String::new() })
        };
        vec![Plot::Bars {
            title: "Threads that were started, and limits that were read".into(),
            axis: Axis::log("threads", ""),
            bars: metrics.filter_map(bar).collect(),
        }]
    }

    fn historic(&self) -> Vec<Historic> {
        let label = "Sun HotSpot 1.5, Windows XP Pro 32 bit, 4 GB";
        let definition = "Threads until each further one led to an out-of-memory exception, whatever the largest heap.";
        let figure = Historic::new(label, 7146.0, "", "started").means(definition);
        let figure = figure.differs("`started` stops long before any limit.");
        vec![figure.printed_in("a study of thread scaling, HTA Horw, 2006, section 7.1")]
    }
}

/// Which limit a process meets first.
fn smallest(of: impl Fn(&str) -> Option<f64>) -> Option<Sentence> {
    let known = LIMITS.iter().filter_map(|limit| Some((of(limit.metric)?, limit)));
    let mut known: Vec<_> = known.collect();
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (value, first) = known.first()?;
    Some(Sentence::fact(format!(
        "about {value:.0} threads are possible; {} ({}) sets the limit",
        first.metric, first.shared
    )))
}

fn measure(count: usize) -> Result<Vec<Sample>, Fault> {
    let start_ns = monotonic_ns();
    let asleep = Asleep::start(count)?;
    let each_us = (monotonic_ns() - start_ns) as f64 / 1e3 / count as f64;
    let kernel = asleep.in_the_kernel();
    let started = asleep.threads.len();
    drop(asleep);
    let check = Check::equal("the number that the kernel counts", kernel, started as u64);
    let counted = || Check::None("read from the system".into());
    let mut samples = vec![
        Sample::new("started", started as f64, count as u64, check.clone()),
        Sample::new("kernel-threads", kernel as f64, 1, check),
        Sample::new("start-time", each_us, count as u64, counted()),
    ];
    for limit in LIMITS {
        if let Ok(value) = (limit.read)() {
            samples.push(Sample::new(limit.metric, value as f64, 1, counted()));
        }
    }
    Ok(samples)
}

/// Threads that sleep until this is dropped.
struct Asleep {
    threads: Vec<JoinHandle<()>>,
    bells: Vec<mpsc::Sender<()>>,
    /// The number of each thread, from the thread itself.
    numbers: mpsc::Receiver<i32>,
}

impl Asleep {
    /// As many of `count` as the system gives.
    fn start(count: usize) -> Result<Asleep, Fault> {
        let (tell, numbers) = mpsc::channel();
        let mut asleep = Asleep { threads: Vec::new(), bells: Vec::new(), numbers };
        for _ in 0..count {
            let (bell, ring) = mpsc::channel::<()>();
            let tell = tell.clone();
            let sleep = move || {
                let _ = tell.send(current_thread().number());
                drop(tell);
                // An error means that the bell is gone, which is the sign to end.
                let _ = ring.recv();
            };
            let builder = std::thread::Builder::new().name("sleeper".into()).stack_size(STACK);
            match builder.spawn(sleep) {
                Ok(thread) => asleep.threads.push(thread),
                Err(error) if asleep.threads.is_empty() => return Err(Fault::new(error)),
                Err(_) => break,
            }
            asleep.bells.push(bell);
        }
        Ok(asleep)
    }

    /// How many of these threads the kernel has. The process' sum would not do: a thread that was joined stays in it for a
    /// moment. A list of all would not do either: it may lack a thread while others end.
    fn in_the_kernel(&self) -> u64 {
        let numbers = self.numbers.iter().take(self.threads.len());
        numbers.filter(|number| is_own_thread(ThreadId::from_number(*number))).count() as u64
    }
}

impl Drop for Asleep {
    fn drop(&mut self) {
        self.bells.clear();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_limit_is_named() {
        let of = |metric: &str| match metric {
            "pid-max" => Some(100.0),
            "maps" => Some(70.0),
            _ => None,
        };
        assert!(smallest(of).unwrap().text.contains("about 70 threads are possible; maps"));
        assert_eq!(smallest(|_| None), None);
    }

    #[test]
    fn sleepers_are_started_and_end() {
        let asleep = Asleep::start(5).unwrap();
        assert_eq!(asleep.threads.len(), 5);
    }

    #[test]
    fn threads_of_the_round_before_that_still_end_are_not_counted() {
        if let Err(why) = threads_are_told() {
            return println!(
                "SKIPPED threads_of_the_round_before_that_still_end_are_not_counted: {why}"
            );
        }
        for _ in 0..50 {
            let asleep = Asleep::start(20).unwrap();
            assert_eq!(asleep.in_the_kernel(), asleep.threads.len() as u64);
        }
    }
}
