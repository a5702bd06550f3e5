//! `openmp`: the Mandelbrot picture by OpenMP's loops, in a C program, beside own threads here.

use std::collections::BTreeMap;
use std::path::Path;

use hocket_kernels::mandelbrot::{View, Writing};

use super::calculators;
use super::drawing::{Drawing, THREADS, VIEW};
use super::guest::{
    CPU_TIME, DRAW_CPU_TIME, INVOLUNTARY, OVERHEAD, TIME, VOLUNTARY, drawn_samples,
};
use crate::guest::{Stage, Turn, tools};
use crate::harness::{
    About, Check, Design, Experiment, Fault, Historic, Host, Nearest, NotMeasurable, Opened,
    Parameter, Prepared, Results, Rounds, Sample, Section, Sentence, Size, Variant,
};

mod told;

/// See [`About`].
pub struct OpenMp;

static ABOUT: About = About {
    id: "openmp",
    section: Section::Programs,
    question: "How fast are OpenMP's loops, compared with own threads?",
    origin: "a study of thread scaling of 2006, test cases 1, 7, 8 and 10: the picture in 1 to 512 threads, on one of \
             the CPUs, and by JOMP, OpenMP-like directives for Java",
    method: "A C program, which the lab builds with gcc, draws the Mandelbrot set in 1016 by 718 pixels, row by row, with an \
             OpenMP loop: `static` gives each thread one piece of the picture, `dynamic` gives the next row to the thread that is \
             free, `guided` gives shrinking pieces. At the end of a loop threads wait as libgomp sees fit; `spinning` waits \
             actively (OMP_WAIT_POLICY), as JOMP did, and `sleeping` passively. The user's own settings of OpenMP are left out. \
             `one-cpu` is a program that was started on one CPU; each turn reads back that its threads are confined to it. \
             `calculator` is a thread of the lab that computes all the time beside it, anywhere, and with `calculator-apart` on the \
             other CPUs. A full run has static loops of 1 to 512 threads, on one CPU and on all, and dynamic and guided ones on all. \
             `own` is the lab's own kernel: threads that take the \
             next row. Threads of OpenMP are started before the time begins and are ended after it. The checksum of \
             each picture must be that of the lab. The first round of a process start warms up.",
    limits: "One compiler's OpenMP, libgomp, and one optimization level, -O2. gcc and the compiler of the lab may make other \
             instructions of the same loop: compare `static 1` with `own 1` before you compare more threads. `cpu-time` contains the \
             start of the threads, and of as many before them that show whether the system has so many; `draw-cpu-time` and the \
             context switches do not.",
    metrics: &[TIME, DRAW_CPU_TIME, VOLUNTARY, INVOLUNTARY, OVERHEAD, CPU_TIME],
    parameters: &[Parameter::new("view", &VIEW), Parameter::new("threads", &THREADS)],
};

/// The program.
const SOURCE: &str = include_str!("../../../../guests/openmp/guest.c");

/// How threads wait at the end of a loop: name, and what the environment says.
const WAITS: [(&str, Option<&str>); 3] = [
    ("default", None),
    ("spinning", Some("OMP_WAIT_POLICY=active")),
    ("sleeping", Some("OMP_WAIT_POLICY=passive")),
];

/// What in the user's environment would make a variant another one than its name says.
const SETTINGS: [&str; 11] = [
    "OMP_WAIT_POLICY",
    "GOMP_SPINCOUNT",
    "OMP_PROC_BIND",
    "OMP_PLACES",
    "GOMP_CPU_AFFINITY",
    "OMP_THREAD_LIMIT",
    "OMP_NUM_THREADS",
    "OMP_DYNAMIC",
    "OMP_MAX_ACTIVE_LEVELS",
    "OMP_STACKSIZE",
    "GOMP_STACKSIZE",
];

/// The factor that says on which CPUs the program may run.
const MASK: &str = "mask";
/// On all that the lab may use.
const ALL_CPUS: &str = "all";
/// On the first of them.
const ONE_CPU: &str = "one-cpu";
/// Numbers of threads of the study that a quick run takes.
const QUICK_THREADS: [usize; 3] = [1, 8, 512];
/// Those of a quick run on one CPU.
const QUICK_ON_ONE: [usize; 2] = [1, 512];

/// What the lab draws itself.
const OWN: &str = "own";

impl Experiment for OpenMp {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, host: &Host, size: Size) -> Result<Design, NotMeasurable> {
        tools::c_compiler()?;
        Ok(design(&host.cpus, size))
    }

    fn open(&self, _: &Host, _: Size, _: &Design) -> Opened {
        Err(NotMeasurable::new("the guest was not built"))
    }

    fn prepare(&self, is_ending: &dyn Fn() -> bool) -> Prepared {
        let folder = tools::folder()?;
        tools::build_c(SOURCE, folder.path(), is_ending)?;
        Ok(Some(folder))
    }

    fn open_in(&self, host: &Host, size: Size, design: &Design, folder: Option<&Path>) -> Opened {
        let Some(folder) = folder else { return self.open(host, size, design) };
        let mut troupe = Troupe::open(folder, &host.cpus).map_err(NotMeasurable::new)?;
        let variants = design.variants.clone();
        Ok(Box::new(move |variant: usize| troupe.turn(&variants[variant])))
    }

    fn turn_ms(&self) -> f64 {
        30.0
    }

    /// A compiler.
    fn start_ms(&self) -> f64 {
        1000.0
    }

    fn findings(&self, results: &Results) -> Vec<Sentence> {
        told::all(results)
    }

    fn historic(&self) -> Vec<Historic> {
        told::historic()
    }

    fn nearest(&self, old: &Historic) -> Vec<Nearest> {
        told::nearest(old)
    }
}

fn design(on: &[u32], size: Size) -> Design {
    let rounds = Rounds { warm_up: 1, ..Rounds::few(size) };
    let mut design = Design::facts(Vec::new(), rounds);
    let all = all(on.len());
    let default = WAITS[0].0;
    let free = |loop_, threads| variant(on, loop_, threads, default);
    // By as many threads as CPUs: loops, waits, and the lab's own threads. Then scaling, as in the study.
    let mut variants = vec![free("static", all)];
    variants.extend(["dynamic", "guided", OWN].map(|loop_| free(loop_, all)));
    variants.extend(WAITS[1..].iter().map(|(wait, _)| variant(on, "static", all, wait)));
    let others = |quick| size.pick(quick, &THREADS[..]).iter().copied().filter(|n| *n != all);
    variants.extend(others(&QUICK_THREADS).map(|threads| free("static", threads)));
    if size == Size::Full {
        for loop_ in ["dynamic", "guided"] {
            variants.extend(others(&[]).map(|threads| free(loop_, threads)));
        }
    }
    variants.push(free(OWN, 1));
    design.group(TIME.name, variants);
    let confined = |threads| on_one(on, threads);
    let confined: Vec<Variant> =
        [all].into_iter().chain(others(&QUICK_ON_ONE)).map(confined).collect();
    design.group(TIME.name, confined);
    calculators::add_case_7(&mut design, on.len(), &on_one(on, all));
    design.twinned()
}

/// As many threads as CPUs, and at least the study's two.
fn all(cpus: usize) -> usize {
    cpus.max(2)
}

fn variant(on: &[u32], loop_: &str, threads: usize, wait: &str) -> Variant {
    let wait_in_name = if wait == WAITS[0].0 { String::new() } else { format!(" {wait}") };
    let case = match (loop_, threads) {
        ("static", 1) => "1, 8, 10",
        ("static", n) if n == all(on.len()) => "1, 8, 10",
        ("static", _) => "8, 10",
        _ => "",
    };
    Variant::new(format!("{loop_} {threads}{wait_in_name}"))
        .with("loop", loop_)
        .with("threads", threads)
        .with("wait", wait)
        .with(MASK, ALL_CPUS)
        .with("case", case)
        .crowded_if(threads > on.len())
}

fn on_one(on: &[u32], threads: usize) -> Variant {
    let free = variant(on, "static", threads, WAITS[0].0);
    let case = if threads == all(on.len()) { "1, 7, 8, 10" } else { "8, 10" };
    Variant { name: format!("{} {ONE_CPU}", free.name), ..free }
        .with(MASK, ONE_CPU)
        .with("case", case)
        .on(&on[..1], None)
        .crowded_if(threads > 1)
}

/// A guest for each way of waiting, and the picture as it must be.
struct Troupe {
    /// In the order of [`WAITS`].
    stages: Vec<Stage>,
    one_cpu: Stage,
    drawing: Drawing,
    cpus: Vec<u32>,
}

impl Troupe {
    fn open(folder: &Path, cpus: &[u32]) -> Result<Troupe, Fault> {
        let program = folder.join("guest").to_string_lossy().into_owned();
        let command = |setting: Option<&str>| {
            let setting = setting.map(String::from);
            tools::without(&SETTINGS, setting.into_iter().chain([program.clone()]))
        };
        let stage = |(_, setting): &(&str, Option<&str>)| Stage::open(&command(*setting));
        let stages = WAITS.iter().map(stage).collect::<Result<_, _>>()?;
        let one_cpu = Stage::open_on(&command(None), &cpus[..1])?;
        Ok(Troupe { stages, one_cpu, drawing: Drawing::of(VIEW)?, cpus: cpus.to_vec() })
    }

    fn turn(&mut self, variant: &Variant) -> Result<Vec<Sample>, Fault> {
        let threads = variant.level("threads");
        if variant.level("loop") == OWN {
            let threads = threads.parse().map_err(Fault::new)?;
            return self.own(threads);
        }
        let stage = WAITS.iter().position(|(wait, _)| *wait == variant.level("wait"));
        let stage = match variant.level(MASK) {
            ONE_CPU => Some(&mut self.one_cpu),
            _ => stage.and_then(|at| self.stages.get_mut(at)),
        };
        let stage = stage.ok_or_else(|| Fault::new("a variant of another version"))?;
        let load = calculators::of(variant, &self.cpus)?;
        let turn = stage.turn(&variant.name, &request(&VIEW, &variant.factors));
        drop(load);
        Ok(drawn_samples(&checked(turn?, self.drawing.checksum())))
    }

    /// The same picture by this program.
    fn own(&self, threads: usize) -> Result<Vec<Sample>, Fault> {
        let mut samples = self.drawing.turn(threads, Writing::Unlocked)?;
        samples.retain(|sample| ABOUT.metric(&sample.metric).is_some());
        Ok(samples)
    }
}

/// What a guest is asked: the picture, and what its variant is made of.
pub(super) fn request(view: &View, factors: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    // Each float as the shortest text that is read as the same float.
    let picture = [
        ("width", view.width.to_string()),
        ("height", view.height.to_string()),
        ("limit", view.limit.to_string()),
        ("centre_re", format!("{:?}", view.centre_re)),
        ("centre_im", format!("{:?}", view.centre_im)),
        ("step", format!("{:?}", view.step)),
    ];
    let picture = picture.into_iter().map(|(name, text)| (name.to_owned(), text));
    picture.chain(factors.iter().map(|(name, level)| (name.clone(), level.clone()))).collect()
}

/// The same with the check of its picture.
pub(super) fn checked(turn: Turn, checksum: u64) -> Turn {
    let said = turn.answer.checksum.clone().unwrap_or_default();
    let check = Check::equal("the checksum", said, format!("{checksum:016x}"));
    Turn { check: turn.check.and(check), ..turn }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_waits_and_numbers_of_threads_are_compared() {
        for cpus in [1, 2, 3, 8] {
            for size in [Size::Quick, Size::Full] {
                let design = design(&(0..cpus).collect::<Vec<u32>>(), size);
                assert_eq!(design.fault(), None, "{cpus} CPUs");
                assert!(design.index("static 512").is_some() && design.index("own 1").is_some());
                for way in ["spinning", "sleeping", "one-cpu", "one-cpu calculator"] {
                    assert!(design.index(&format!("static {} {way}", cpus.max(2))).is_some());
                }
                let apart = format!("static {} one-cpu calculator-apart", cpus.max(2));
                assert_eq!(design.index(&apart).is_some(), cpus > 1);
            }
        }
    }

    #[test]
    fn a_full_run_has_the_numbers_of_the_study_on_one_cpu_and_on_all() {
        let design = design(&[3, 5], Size::Full);
        for threads in THREADS {
            for name in ["static", "dynamic", "guided"] {
                assert!(design.index(&format!("{name} {threads}")).is_some(), "{name} {threads}");
            }
            let one = &design.variants[design.index(&format!("static {threads} one-cpu")).unwrap()];
            assert_eq!((one.level(MASK), &one.cpus[..]), (ONE_CPU, &[3][..]));
        }
        for case in ["1", "7", "8", "10"] {
            let is_of = |it: &Variant| it.level("case").split(", ").any(|it| it == case);
            assert!(design.variants.iter().any(is_of), "case {case}");
        }
    }

    #[test]
    fn floats_come_back_from_a_request() {
        let asked = request(&VIEW, &BTreeMap::new());
        assert_eq!(asked["step"].parse::<f64>().unwrap(), VIEW.step);
        assert_eq!((asked["width"].as_str(), asked["centre_im"].as_str()), ("1016", "0.0"));
    }

    #[test]
    fn every_loop_draws_the_picture_of_the_lab() {
        // Without gcc or libgomp there is nothing to test; a guest that does not compile is a fault.
        let folder = tools::folder().unwrap();
        let least = "#include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }\n";
        if let Err(why) = tools::build_c(least, folder.path(), &|| false) {
            println!("SKIPPED every_loop_draws_the_picture_of_the_lab: {why}");
            return;
        }
        let folder = OpenMp.prepare(&|| false).unwrap().unwrap();
        let cpus = Host::discover().unwrap().cpus;
        let mut troupe = Troupe::open(folder.path(), &cpus).unwrap();
        for variant in &design(&cpus, Size::Quick).variants {
            let samples = match troupe.turn(variant) {
                Err(why) if why.0.contains("no more threads") => {
                    println!("SKIPPED {}: {why}", variant.name);
                    continue;
                }
                samples => samples.unwrap(),
            };
            assert_eq!(samples[0].check, Check::Passed, "{}", variant.name);
            assert_eq!(samples[0].ops, 729_488);
            let has = |metric: &str| samples.iter().any(|it| it.metric == metric);
            assert_eq!(
                has(VOLUNTARY.name) && has(DRAW_CPU_TIME.name),
                !variant.name.starts_with(OWN)
            );
        }
        let wrong =
            Variant::new("wrong").with("loop", "none").with("threads", 2).with("wait", "default");
        assert!(troupe.turn(&wrong).unwrap_err().0.contains("unknown loop"));
    }
}
