//! `tuning`: what each setting is worth that a system may let a program change.

mod toggle;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use hocket_kernels::system::UntouchedPages;
use hocket_machine::changes::{Change, Keeper, Root};
use hocket_machine::clock::sleep_until_ns;

use self::toggle::{Held, Machine, Refusal, Toggle};
use super::beside::keep_busy;
use crate::harness::lateness::OpenLoop;
use crate::harness::turn_threads::{Place, TurnThreads};
use crate::harness::{
    About, Apparatus, Check, Contrast, ContrastResult, Design, Experiment, Fault, Host, Metric,
    NamedRatio, NotMeasurable, Opened, Parameter, Quantiles, Results, Rounds, Sample, Section,
    Sentence, Size, Variant, judged_together, ratio_told, ratios_sentence,
};
use crate::numbers::quantity;

/// Its name on the command line.
pub const ID: &str = "tuning";

/// See [`About`].
pub struct Tuning;

static ABOUT: About = About {
    id: ID,
    section: Section::Priority,
    question: "What is each setting of the system worth?",
    origin: "the usual advice for audio under Linux: real-time priority, locked memory, no deep sleep, the governor \
             `performance`, interrupts elsewhere, full preemption",
    method: "A thread sleeps up to instants that are planned 1.33 ms apart (64 frames at 48 kHz), and after each sleep \
             writes to a page of memory that nobody has touched. It is pinned, and has its CPU for itself (rest) or shares \
             it with a thread that computes in the ordinary class (busy). Each variant sets one thing, reads back what \
             the system granted, and puts it back after the turn. In the ordinary class: timer slack of 1 ns, a slice of \
             100 µs, and FIFO 50 instead. In FIFO 50, or in the ordinary class where that is refused: memory locked; and \
             with `--system-wide` /dev/cpu_dma_latency held at 2 µs, the governor `performance`, no interrupts for the \
             CPU, and the preemption mode `full`. SCHED_DEADLINE (200 µs in each period) is not granted to pinned \
             threads, so neither it nor the thread that it is compared with is pinned; a load is then on every CPU.",
    limits: "One setting at a time: two of them may help together, or not at all. An effect needs its cause, such as \
             interrupts that come, or deep sleep that the processor knows. A program that steers a setting itself \
             (irqbalance, tuned) may undo a change within a turn. Settings beside memory that is short, or a disk at \
             work, are not measured.",
    metrics: &[
        Metric::less("lateness", "ns")
            .means("Median over a turn of the time from the planned instant until the thread runs again and has \
                    written to its page."),
        Metric::less("lateness-p99", "ns")
            .means("99 of 100 of these times of a turn are at most this; in a full run only."),
    ],
    parameters: &[
        Parameter::new("period-ns", &PERIOD_NS),
        Parameter::new("wake-ups", &WAKES),
        Parameter::new("slack-ns", &toggle::SLACK_NS),
        Parameter::new("slice", &toggle::SLICE),
        Parameter::new("reserved", &toggle::RESERVED),
        Parameter::new("idle-us", &toggle::IDLE_US),
    ],
};

/// 64 frames at 48 kHz: an idle CPU has the time for the sleep that it has between blocks.
const PERIOD_NS: u64 = 1_333_333;
const PERIOD: Duration = Duration::from_nanos(PERIOD_NS);
/// Wake-ups of a turn.
const WAKES: [u64; 2] = [20, 150];
/// Wake-ups of a turn from which on one in a hundred is one.
const ENOUGH_FOR_P99: u64 = 100;
const FIFO: u8 = 50;
/// A process start that was killed has its settings put back beside the next one's beginning.
const PATIENCE: Duration = Duration::from_secs(2);
const LOADS: [&str; 2] = ["rest", "busy"];
const NOT_ASKED: &str = "it concerns the whole machine; `--system-wide` tries it, and puts it back";

static SYSTEM_WIDE: OnceLock<()> = OnceLock::new();

/// From now on settings of the whole machine are tried as well; the user has asked for it.
pub fn allow_system_wide() {
    // A second request changes nothing.
    let _ = SYSTEM_WIDE.set(());
}

impl Experiment for Tuning {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, host: &Host, size: Size) -> Result<Design, NotMeasurable> {
        let machine = machine(Root::live(), host);
        designed(host, size, &machine, SYSTEM_WIDE.get().is_some())
    }

    fn turn_ms(&self) -> f64 {
        29.0
    }

    fn open(&self, host: &Host, size: Size, design: &Design) -> Opened {
        // Here the design says what was asked for: the request is the parent's.
        Ok(Box::new(Turns::prepare(host, size, design, machine(Root::live(), host))?))
    }

    fn findings(&self, results: &Results) -> Vec<Sentence> {
        let mut sentences: Vec<Sentence> =
            LOADS.into_iter().filter_map(|load| times(results, load)).collect();
        for metric in ["lateness", "lateness-p99"] {
            for load in LOADS {
                let head = format!("what each setting changes of {metric}, {}", words_of(load));
                sentences.extend(ratios_sentence(results, &head, &pairs(results, load, metric)));
            }
        }
        sentences
    }

    /// What lets the thread run earlier, each with the load beside which it does.
    fn advice(&self, results: &Results) -> Option<Sentence> {
        let pairs: Vec<NamedRatio> =
            LOADS.into_iter().flat_map(|load| pairs(results, load, "lateness")).collect();
        let judged = judged_together(results, &pairs);
        let helps = |ratio: &ContrastResult| ratio.is_shown() && ratio.judgement.is_less();
        let told = judged.iter().filter(|(_, ratio)| helps(ratio)).filter_map(|(_, ratio)| {
            let variant = &results.design()?.variants[results.design()?.index(&ratio.candidate)?];
            let (what, load) = (variant_toggle(variant)?.advice(), words_of(variant.level("load")));
            Some(format!("{what} ({load}: lateness {})", ratio_told(ratio)))
        });
        let told: Vec<String> = told.collect();
        let ratios = judged.iter().map(|(_, ratio)| ratio);
        match (judged.is_empty(), told.is_empty()) {
            (true, _) => None,
            (_, true) => Some(Sentence::about(
                "Leave the system's settings as they are: none of those tried here lets a periodic thread run earlier",
                ratios,
            )),
            _ => Some(Sentence::about(format!("Worth setting here: {}.", told.join("; ")), ratios)),
        }
    }
}

fn machine(root: Root, host: &Host) -> Machine {
    Machine { root, cpu: host.cpus[0], cpus: host.cpus.clone() }
}

fn words_of(load: &str) -> &'static str {
    match load {
        "busy" => "beside a load",
        _ => "at rest",
    }
}

// ---- the design ---------------------------------------------------------------------------------------------------

fn designed(
    host: &Host,
    size: Size,
    machine: &Machine,
    system_wide: bool,
) -> Result<Design, NotMeasurable> {
    let rounds = Rounds { processes: size.pick(3, 6), per_process: size.pick(12, 40), warm_up: 0 };
    let mut design = Design::facts(Vec::new(), rounds);
    if system_wide {
        machine.root.wait_until_put_back(PATIENCE).map_err(NotMeasurable::new)?;
    }
    let mut ask = |toggles: &[Toggle]| granted(&mut design, machine, toggles, system_wide);
    let of_threads = ask(&[Toggle::TimerSlack, Toggle::Slice])?;
    let of_any_class = ask(&Toggle::OF_ANY_CLASS)?;
    let deadline = ask(&[Toggle::Deadline])?;
    let fifo = host.fifo(FIFO);
    let best = if fifo.is_ok() { "fifo" } else { "ordinary" };
    design.missing.extend(fifo.err().map(|why| ("fifo".into(), why)));
    for load in LOADS {
        let mut variants = Variants { design: &mut design, host, load, size };
        let ordinary = variants.add("ordinary", Toggle::AsIs, None);
        for toggle in &of_threads {
            variants.add("ordinary", *toggle, Some(ordinary));
        }
        let reference = match best {
            "fifo" => variants.add("fifo", Toggle::AsIs, Some(ordinary)),
            _ => ordinary,
        };
        for toggle in &of_any_class {
            variants.add(best, *toggle, Some(reference));
        }
        if !deadline.is_empty() {
            let reference = variants.add_unpinned(best, Toggle::AsIs, None);
            variants.add_unpinned("deadline", Toggle::Deadline, Some(reference));
        }
    }
    Ok(design.twinned())
}

/// Those of `toggles` that are granted here; the others are missing in the design, and why.
fn granted(
    design: &mut Design,
    machine: &Machine,
    toggles: &[Toggle],
    system_wide: bool,
) -> Result<Vec<Toggle>, NotMeasurable> {
    let mut granted = Vec::new();
    for toggle in toggles {
        let probed = match toggle.is_system_wide() && !system_wide {
            true => Err(Refusal::NotHere(NOT_ASKED.into())),
            false => machine.probe(*toggle, PERIOD),
        };
        match probed {
            Ok(()) => granted.push(*toggle),
            Err(Refusal::NotHere(why)) => design.missing.push((toggle.name().into(), why)),
            Err(Refusal::NotPutBack(why)) => return Err(NotMeasurable(why)),
        }
    }
    Ok(granted)
}

/// The variants beside one load.
struct Variants<'a> {
    design: &'a mut Design,
    host: &'a Host,
    load: &'static str,
    size: Size,
}

impl Variants<'_> {
    /// Adds a variant, compared with `reference`; its index.
    fn add(&mut self, class: &str, toggle: Toggle, reference: Option<usize>) -> usize {
        let variant = Variant::new(format!("{class} {} {}", toggle.name(), self.load));
        self.push(variant.on(&self.host.cpus[..1], None), class, toggle, reference)
    }

    /// The same for a thread that may run on every CPU.
    fn add_unpinned(&mut self, class: &str, toggle: Toggle, reference: Option<usize>) -> usize {
        let variant = Variant::new(format!("{class} unpinned {}", self.load));
        self.push(variant, class, toggle, reference)
    }

    fn push(
        &mut self,
        variant: Variant,
        class: &str,
        toggle: Toggle,
        reference: Option<usize>,
    ) -> usize {
        let variant = variant
            .with("class", class)
            .with("toggle", toggle.name())
            .with("load", self.load)
            .crowded_if(self.load == "busy");
        let index = self.design.variants.len();
        self.design.variants.push(variant);
        let metrics = self.size.pick(&["lateness"][..], &["lateness", "lateness-p99"][..]);
        let contrasts = reference.into_iter().flat_map(|reference| {
            metrics.iter().map(move |metric| Contrast::new(reference, index, metric))
        });
        self.design.contrasts.extend(contrasts);
        index
    }
}

fn variant_toggle(variant: &Variant) -> Option<Toggle> {
    Toggle::named(variant.level("toggle"))
}

/// Every comparison beside this load, named by its candidate.
fn pairs(results: &Results, load: &str, metric: &'static str) -> Vec<NamedRatio> {
    let Some(design) = results.design() else { return Vec::new() };
    let of = |contrast: &Contrast| {
        let [reference, candidate] =
            [contrast.reference, contrast.candidate].map(|index| &design.variants[index]);
        let label = match candidate.level("toggle") {
            "as-is" => candidate.level("class"),
            toggle => toggle,
        };
        let is_of_load = candidate.level("load") == load && contrast.metric == metric;
        is_of_load.then(|| NamedRatio::new(label, &reference.name, &candidate.name, metric))
    };
    design.contrasts.iter().filter_map(of).collect()
}

/// How late each variant is.
fn times(results: &Results, load: &str) -> Option<Sentence> {
    let one = |variant: &Variant| {
        let middle = quantity(results.median(&variant.name, "lateness")?, "ns");
        let late = results.median(&variant.name, "lateness-p99");
        let late =
            late.map_or(String::new(), |late| format!(" (99 of 100 {})", quantity(late, "ns")));
        let name = variant.name.trim_end_matches(load).trim_end();
        Some(format!("{name} {middle}{late}"))
    };
    let of_load = results.designed().iter().filter(|variant| variant.level("load") == load);
    let told: Vec<String> = of_load.filter_map(one).collect();
    let text = format!("{}: runs after: {}", words_of(load), told.join(", "));
    (!told.is_empty()).then(|| Sentence::fact(text))
}

// ---- a turn -------------------------------------------------------------------------------------------------------

/// All variants of a process start, and what puts their settings back.
struct Turns {
    setups: Vec<Setup>,
    keeper: Option<Keeper>,
    /// A setting could not be put back, so no later turn is what it seems.
    lost: Option<String>,
}

impl Turns {
    fn prepare(
        host: &Host,
        size: Size,
        design: &Design,
        machine: Machine,
    ) -> Result<Turns, NotMeasurable> {
        let is_system_wide =
            |variant: &Variant| variant_toggle(variant).is_some_and(Toggle::is_system_wide);
        if design.variants.iter().any(is_system_wide) {
            machine.root.wait_until_put_back(PATIENCE).map_err(NotMeasurable::new)?;
        }
        let setup = |variant: &Variant| Setup::of(variant, host, &machine, size.of(WAKES));
        let setups: Vec<Setup> =
            design.variants.iter().map(setup).collect::<Result<_, NotMeasurable>>()?;
        let changes: Vec<Change> = setups.iter().flat_map(|it| it.changes.clone()).collect();
        let keeper = match changes.is_empty() {
            true => None,
            false => Some(machine.root.keep(&changes).map_err(NotMeasurable::new)?),
        };
        Ok(Turns { setups, keeper, lost: None })
    }
}

impl Apparatus for Turns {
    fn measure(&mut self, variant: usize) -> Result<Vec<Sample>, Fault> {
        if let Some(lost) = &self.lost {
            return Err(Fault(lost.clone()));
        }
        let setup = &self.setups[variant];
        let held = Held::ask(setup.toggle, &setup.changes, self.keeper.as_ref()).map_err(Fault)?;
        let late_ns = setup.lateness();
        let put_back = held.put_back();
        self.conclude(variant, late_ns, put_back)
    }
}

impl Turns {
    /// A setting that could not be put back is a wrong result: no figure of the run is to be believed.
    fn conclude(
        &mut self,
        variant: usize,
        late_ns: Result<Vec<f64>, Fault>,
        put_back: Result<(), String>,
    ) -> Result<Vec<Sample>, Fault> {
        self.lost = put_back.as_ref().err().cloned();
        match (late_ns, put_back) {
            (Err(_), Err(lost)) => Err(Fault(lost)),
            (late_ns, put_back) => self.setups[variant].samples(&late_ns?, Check::of(put_back)),
        }
    }
}

/// One variant, ready to have its turns.
struct Setup {
    toggle: Toggle,
    changes: Vec<Change>,
    place: Place,
    load: Vec<u32>,
    wakes: u64,
}

impl Setup {
    fn of(
        variant: &Variant,
        host: &Host,
        machine: &Machine,
        wakes: u64,
    ) -> Result<Setup, NotMeasurable> {
        let toggle = variant_toggle(variant)
            .ok_or_else(|| NotMeasurable::new("a variant of another version"))?;
        let place = Place::among(&variant.cpus);
        let place = match variant.level("class") {
            "fifo" => place.class(host.fifo(FIFO).map_err(NotMeasurable)?),
            _ => place,
        };
        let on = if variant.cpus.is_empty() { &host.cpus } else { &variant.cpus };
        let load = if variant.level("load") == "busy" { on.clone() } else { Vec::new() };
        let changes = machine.changes(toggle).map_err(NotMeasurable)?;
        Ok(Setup { toggle, changes, place, load, wakes })
    }

    /// How late the thread was each time.
    fn lateness(&self) -> Result<Vec<f64>, Fault> {
        let over = AtomicBool::new(false);
        let sleeper = || {
            let late_ns = self.sleep();
            // Relaxed: the flag publishes nothing.
            over.store(true, Relaxed);
            late_ns
        };
        let mut team = TurnThreads::new().with(self.place.clone(), sleeper);
        for cpu in &self.load {
            team = team.with(Place::on(*cpu), || compute(&over));
        }
        team.run()?.into_results().swap_remove(0).map_err(Fault)
    }

    fn sleep(&self) -> Result<Vec<f64>, String> {
        self.toggle.in_thread(PERIOD)?;
        let mut pages = UntouchedPages::map(self.wakes as usize).map_err(|e| e.to_string())?;
        let plan = OpenLoop { period_ns: PERIOD_NS, wakes: self.wakes };
        Ok(plan.run(|planned_ns| {
            sleep_until_ns(planned_ns);
            std::hint::black_box(pages.touch_next());
        }))
    }

    fn samples(&self, late_ns: &[f64], put_back: Check) -> Result<Vec<Sample>, Fault> {
        let check = Check::equal("the number of wake-ups", late_ns.len() as u64, self.wakes);
        let check = put_back.and(check);
        let quantiles = Quantiles::of(late_ns).ok_or_else(|| Fault::new("nobody woke up"))?;
        let mut samples: Vec<Sample> =
            Sample::median_of("lateness", late_ns, check.clone()).into_iter().collect();
        // Of fewer values it would be the longest one under another name.
        if quantiles.n >= ENOUGH_FOR_P99 {
            samples.push(Sample::new("lateness-p99", quantiles.p99, quantiles.n, check));
        }
        Ok(samples)
    }
}

/// Keeps a CPU busy until the thread that is measured is done.
fn compute(over: &AtomicBool) -> Result<Vec<f64>, String> {
    keep_busy(over);
    Ok(Vec::new())
}

#[cfg(test)]
mod tests;
