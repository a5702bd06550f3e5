//! `affinity-guest`: whether pinning helps a program of the user's.

use std::sync::OnceLock;
use std::time::Duration;

use super::guest::{COMMAND, command_of, written};
use crate::guest::command::{self, Ran};
use crate::harness::{
    About, Check, Design, Experiment, Fault, Historic, Host, Metric, NotMeasurable, Opened,
    Parameter, Results, Rounds, Sample, Section, Sentence, Size, Variant, contrast_sentences,
};

/// See [`About`].
pub struct AffinityGuest;

/// Its name.
pub const ID: &str = "affinity-guest";

static ABOUT: About = About {
    id: ID,
    section: Section::Programs,
    question: "Does pinning help a program of yours?",
    origin: "a comparison of quad cores of 2008, which ran SuperPi where the system put it, and on one CPU",
    method: "`hocket lab run affinity --guest CMD` runs a command from beginning to end, once for each turn: `free` where the \
             system puts its threads, on all CPUs that the lab may use; `pinned` on one CPU; `one-per-core` on one seat of each core. \
             The command is run once before, so that files are in memory. It has no input, what it prints is thrown away, and it \
             must end with 0.",
    limits: "The time contains the start of the program and the reading of its files. Whether its result is right, only its exit \
             status says. Migrations are those of the process itself, seen every 20 ms: a thread that lives for less than this may be \
             missed, and so may its last moves.",
    metrics: &[
        Metric::less("time", "ms").means("From before the command's start to its end."),
        Metric::less("cpu-time", "ms")
            .means("CPU time of the command, and of its children that it waited for."),
        Metric::less("switches", "")
            .means("Context switches of the same, voluntary and involuntary."),
        Metric::less("migrations", "")
            .means("How often the system moved the threads of the command to another CPU, as its kernel counts it."),
    ],
    parameters: &[Parameter::new("patience", &PATIENCE)],
};

/// How long one run may take.
const PATIENCE: [Duration; 2] = [Duration::from_secs(120), Duration::from_secs(1200)];

/// Turns that a verdict needs at most: six rounds, of three variants and a twin.
pub const MOST_TURNS: u32 = 6 * 4;

/// A command from the command line.
static ASKED: OnceLock<Vec<String>> = OnceLock::new();

/// From now on `affinity-guest` runs this command; once a process. Runs it once; how long that took.
///
/// # Errors
/// It fails, or `is_ending` says that it is to end.
pub fn ask_for(command: Vec<String>, is_ending: &dyn Fn() -> bool) -> Result<Duration, Fault> {
    let ran = command::run(&command, &[], Size::Full.of(PATIENCE), is_ending)?;
    // A second one in the same process is not asked for by anybody.
    let _ = ASKED.set(command);
    Ok(Duration::from_nanos(ran.wall_ns))
}

impl Experiment for AffinityGuest {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, host: &Host, size: Size) -> Result<Design, NotMeasurable> {
        let command = ASKED.get().ok_or_else(|| {
            NotMeasurable::new(
                "no command is named; `hocket lab run affinity --guest CMD` names one",
            )
        })?;
        design(host, command, size)
    }

    fn open(&self, _: &Host, size: Size, design: &Design) -> Opened {
        let command = command_of(&design.variants)?;
        let cpus: Vec<Vec<u32>> = design.variants.iter().map(|it| it.cpus.clone()).collect();
        Ok(Box::new(move |variant: usize| {
            Ok(samples(&command::run(&command, &cpus[variant], size.of(PATIENCE), &|| false)?))
        }))
    }

    fn turn_ms(&self) -> f64 {
        200.0
    }

    fn findings(&self, results: &Results) -> Vec<Sentence> {
        contrast_sentences(results).into_iter().chain(moved(results)).collect()
    }

    fn historic(&self) -> Vec<Historic> {
        super::pi::super_pi(
            "time",
            "Another program; what pinning changes compares, if the command is one thread that computes.",
        )
    }
}

fn design(host: &Host, command: &[String], size: Size) -> Result<Design, NotMeasurable> {
    if host.cpus.len() < 2 {
        return Err(NotMeasurable::new("there is one CPU, so there is nothing to choose from"));
    }
    let command = written(command);
    let variant = |name: &str| Variant::new(name).with(COMMAND, &command);
    let cores = host.one_per_core();
    let mut variants = vec![variant("free"), variant("pinned").on(&host.cpus[..1], None).crowded()];
    let has_smt = cores.len() < host.cpus.len() && cores.len() > 1;
    if has_smt {
        variants.push(variant("one-per-core").on(&cores, None));
    }
    let rounds = Rounds { processes: size.pick(3, 5), per_process: size.pick(20, 60), warm_up: 0 };
    let design = Design::against_first(variants, "time", rounds).twinned();
    Ok(match has_smt {
        true => design,
        false => design.missing(
            "one-per-core",
            "no two usable CPUs share a core, or there is one core: it is the same as `free` or `pinned`",
        ),
    })
}

fn samples(ran: &Ran) -> Vec<Sample> {
    let ended = || Check::None("only the exit status says that it was right, and that is 0".into());
    let ms = |ns: u64| ns as f64 / 1e6;
    let further = [
        ("cpu-time", ran.cpu_ns.map(ms)),
        ("switches", ran.switches.map(|count| count as f64)),
        ("migrations", ran.migrations.map(|count| count as f64)),
    ];
    let further = further.into_iter().filter_map(|(metric, value)| Some((metric, value?)));
    let all = [("time", ms(ran.wall_ns))].into_iter().chain(further);
    all.map(|(metric, value)| Sample::new(metric, value, 1, ended())).collect()
}

/// How often the system moved the command where it was free to.
fn moved(results: &Results) -> Option<Sentence> {
    let moves = results.values("free", "migrations");
    let mean = moves.iter().sum::<f64>() / moves.len().max(1) as f64;
    let text = format!(
        "where the system chose, it moved the command's threads {mean:.1} times in a run (mean)"
    );
    (!moves.is_empty()).then(|| Sentence::fact(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_run_free_pinned_and_on_one_seat_of_each_core() {
        let host = Host::described_with_smt();
        let design = design(&host, &["true".into()], Size::Quick).unwrap();
        assert_eq!(design.fault(), None);
        let cpus: Vec<_> =
            design.variants.iter().map(|it| (it.name.as_str(), &it.cpus[..])).collect();
        assert_eq!(cpus, [("free", &[][..]), ("pinned", &[0]), ("one-per-core", &[0, 1])]);
        assert!(MOST_TURNS as usize >= 6 * design.turns());
    }

    #[test]
    fn a_command_is_measured_on_a_cpu_of_this_machine() {
        let host = Host::discover().unwrap();
        let words =
            ["sh", "-c", "i=0; while [ $i -lt 5000 ]; do i=$((i+1)); done"].map(String::from);
        let ran =
            command::run(&words, &host.cpus[..1], Duration::from_secs(600), &|| false).unwrap();
        let samples = samples(&ran);
        assert!(samples.len() >= 3 && samples.iter().all(|sample| sample.value.is_finite()));
        // Where it may run on one CPU only, nothing can move it there again.
        assert!(ran.migrations <= Some(1), "{ran:?}");
        let free = hocket_machine::pin::current_affinity().unwrap();
        assert_eq!(free.iter().count(), host.cpus.len(), "this thread may run everywhere again");
    }

    #[test]
    fn nothing_is_run_that_nobody_named() {
        let why = AffinityGuest.design(&Host::described_with_smt(), Size::Quick).unwrap_err();
        assert!(why.0.contains("--guest"), "{why}");
        let refused = ask_for(vec!["false".into()], &|| false).unwrap_err();
        assert!(refused.0.contains("failed"), "{refused}");
    }
}
