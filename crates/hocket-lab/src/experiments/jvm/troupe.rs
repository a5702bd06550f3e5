//! The JVMs of a process start, and their turns.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};

use hocket_kernels::mandelbrot::{View, Writing};

use super::{ABOUT, BASE_THREADS, KERNEL_THREADS, MASK, ONE_CPU, OWN, PRIORITIES, UNSET};
use crate::experiments::calculators;
use crate::experiments::drawing::Drawing;
use crate::experiments::guest::drawn_samples;
use crate::experiments::openmp::{checked, request};
use crate::guest::tools::Jdk;
use crate::guest::{Stage, Turn};
use crate::harness::{Check, Fault, Sample, Variant};

/// Warnings of the JVM would stand among the answers, and a file of counters for other programs would stay behind where the
/// JVM is killed.
const OPTIONS: [&str; 5] = [
    "-Xmx512m",
    "-XX:+DisplayVMOutputToStderr",
    "-Xlog:disable",
    "-Xlog:all=warning:stderr",
    "-XX:-UsePerfData",
];
/// Java's priorities as nice values.
const WITH_PRIORITIES: &str = "-XX:ThreadPriorityPolicy=1";

/// What one JVM cannot be for two variants: its kit, its CPUs, whether it heeds priorities, and its nice value.
type Kind = (String, bool, bool, String);

fn kind(variant: &Variant) -> Kind {
    let is_of_priorities = variant.level("work") == "priorities";
    let heeds = is_of_priorities || !variant.level("priority").is_empty();
    let one_cpu = variant.level(MASK) == ONE_CPU;
    let nice = variant.level("process-nice").to_owned();
    (variant.level("jdk").to_owned(), one_cpu, heeds, nice)
}

/// JVMs, and the picture as it must be.
pub(super) struct Troupe {
    stages: BTreeMap<Kind, Stage>,
    drawing: Drawing,
    view: View,
    cpus: Vec<u32>,
}

impl Troupe {
    /// A JVM of each kind that these variants need, which has drawn in every way.
    pub(super) fn open(
        kits: &[Jdk],
        folder: &Path,
        cpus: &[u32],
        view: View,
        variants: &[Variant],
    ) -> Result<Troupe, Fault> {
        let java = Java { kits, folder: folder.into(), cpus };
        let mut stages = BTreeMap::new();
        for variant in variants.iter().filter(|variant| variant.level("kind") != OWN) {
            if let Entry::Vacant(free) = stages.entry(kind(variant)) {
                let mut stage = java.stage(free.key())?;
                warm_up(&mut stage, &view, &free.key().0)?;
                free.insert(stage);
            }
        }
        Ok(Troupe { stages, drawing: Drawing::of(view)?, view, cpus: cpus.to_vec() })
    }

    pub(super) fn turn(&mut self, variant: &Variant) -> Result<Vec<Sample>, Fault> {
        if variant.level("kind") == OWN {
            return self.own(variant);
        }
        let stage = self.stages.get_mut(&kind(variant));
        let stage = stage.ok_or_else(|| Fault::new("a variant of another version"))?;
        let asked = request(&self.view, &variant.factors);
        let load = calculators::of(variant, &self.cpus)?;
        let turn = stage.turn(&variant.name, &asked);
        drop(load);
        let turn = turn?;
        match variant.level("work") {
            "picture" => Ok(drawn_samples(&checked(counted(turn), self.drawing.checksum()))),
            "priorities" => nice(&turn),
            // What has a count and no checksum is right if the count is.
            "start" => started(&counted(Turn { check: masked(&turn), ..turn })),
            _ => Ok(drawn_samples(&counted(Turn { check: masked(&turn), ..turn }))),
        }
    }

    /// The same picture by this program.
    fn own(&self, variant: &Variant) -> Result<Vec<Sample>, Fault> {
        let threads = variant.level("threads").parse().map_err(Fault::new)?;
        let mut samples = self.drawing.turn(threads, Writing::Unlocked)?;
        samples.retain(|sample| ABOUT.metric(&sample.metric).is_some());
        Ok(samples)
    }
}

/// How the JVMs are started.
struct Java<'a> {
    kits: &'a [Jdk],
    folder: PathBuf,
    cpus: &'a [u32],
}

impl Java<'_> {
    fn stage(&self, (version, one_cpu, heeds, nice): &Kind) -> Result<Stage, Fault> {
        let kit = self.kits.iter().find(|kit| kit.version == *version);
        let kit = kit.ok_or_else(|| Fault(format!("the JDK {version} is gone")))?;
        let cpus = if *one_cpu { &self.cpus[..1] } else { self.cpus };
        // Those that it may use, whatever it finds out of a container's limits.
        let seen = format!("-XX:ActiveProcessorCount={}", cpus.len());
        let mut options = OPTIONS.to_vec();
        options.push(&seen);
        options.extend(heeds.then_some(WITH_PRIORITIES));
        let command = kit.command(&options, &self.folder);
        let command = if nice.is_empty() { command } else { nicely(nice, command) };
        if *one_cpu { Stage::open_on(&command, cpus) } else { Stage::open(&command) }
    }
}

/// The command with another nice value; without the right to it the value stays, and the figures show it.
fn nicely(nice: &str, command: Vec<String>) -> Vec<String> {
    ["nice", "-n", nice].map(String::from).into_iter().chain(command).collect()
}

/// Lets the JVM draw in every way, and reads back that it is of the version that was asked for.
fn warm_up(stage: &mut Stage, view: &View, version: &str) -> Result<(), Fault> {
    let how = [("work", "warm-up"), ("kind", "platform"), ("threads", "2")];
    let how = how.into_iter().map(|(name, level)| (name.to_owned(), level.to_owned())).collect();
    let turn = stage.turn("warm-up", &request(view, &how))?;
    is_version(turn.answer.text("java").unwrap_or_default(), version)
}

fn is_version(said: &str, version: &str) -> Result<(), Fault> {
    // A kit of an early version says more of itself than its file: 26-ea is 26.
    match version == "unknown" || said.starts_with(version) {
        true => Ok(()),
        false => Err(Fault(format!(
            "the JVM is {said}, and the file `release` of its JDK says {version}"
        ))),
    }
}

/// What is left of the check of a turn that has no checksum: whether the JVM is where it must be.
fn masked(turn: &Turn) -> Check {
    match &turn.check {
        Check::Failed(why) => Check::Failed(why.clone()),
        _ => Check::Passed,
    }
}

/// The same with the check that all was counted.
fn counted(turn: Turn) -> Turn {
    let Some(count) = turn.answer.number("counted") else { return turn };
    let check = Check::equal("the count", count, turn.answer.ops as f64);
    Turn { check: turn.check.and(check), ..turn }
}

/// Case 2: threads of Java and of the system.
fn started(turn: &Turn) -> Result<Vec<Sample>, Fault> {
    let number = |name: &str| {
        let number = turn.answer.number(name);
        number.ok_or_else(|| Fault(format!("the guest does not tell {name}")))
    };
    let each = number("kernel_threads")? / turn.answer.ops as f64;
    let read_back = || Check::None("it is what the system counts".into());
    let further = [
        Sample::new(KERNEL_THREADS, each, turn.answer.ops, read_back()),
        Sample::new(BASE_THREADS, number("base_threads")?, 1, read_back()),
    ];
    Ok(drawn_samples(turn).into_iter().chain(further).collect())
}

fn nice(turn: &Turn) -> Result<Vec<Sample>, Fault> {
    let read_back = || Check::None("it is what the system reports".into());
    let value = |metric: &&'static str| {
        let value = turn.answer.number(metric);
        let value = value.ok_or_else(|| Fault(format!("the guest does not tell {metric}")))?;
        Ok(Sample::new(metric, value, 1, read_back()))
    };
    PRIORITIES.iter().chain([&UNSET]).map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_a_jvm_is_read_back() {
        for (said, version) in [("25.0.3", "25.0.3"), ("26-ea", "26"), ("21", "unknown")] {
            assert_eq!(is_version(said, version), Ok(()));
        }
        let why = is_version("17.0.15", "25.0.3").unwrap_err().0;
        assert!(why.contains("is 17.0.15") && why.contains("says 25.0.3"), "{why}");
    }

    #[test]
    fn variants_share_a_jvm_where_it_can_be_the_same() {
        let of = |factors: &[(&str, &str)]| {
            let with = |it: Variant, (factor, level): &(&str, &str)| it.with(factor, level);
            kind(&factors.iter().fold(Variant::new("x"), with))
        };
        let plain = of(&[("work", "picture"), ("threads", "2")]);
        assert_eq!(plain, of(&[("work", "counter"), ("threads", "512"), ("calculators", "1")]));
        for other in [
            &[("mask", "one-cpu")][..],
            &[("priority", "3")],
            &[("process-nice", "2")],
            &[("work", "priorities")],
            &[("jdk", "17")],
        ] {
            assert_ne!(plain, of(other), "{other:?}");
        }
    }
}
