//! From a run of the lab to a profile.

use hocket_machine::Topology;
use hocket_machine::facts::MachineFacts;
use hocket_plan::schedule::Team;

use super::recommend::{self, Machine};
use super::{Conditions, Pairs, Profile, Seat, Together, waits};
use crate::experiments::siblings::found_cores;
use crate::harness::{ContrastResult, Results, Sentence};

/// The experiments that a profile rests on, in the order in which they are run.
pub const EXPERIMENTS: [&str; 7] =
    ["siblings", "core-speed", "ping-pong", "idle-cost", "wake", "protection", "schedules"];

/// Neighbouring seats whose speeds differ by less than this part count as one kind: more than clocks
/// and foreign load make of equal seats in a quick run, less than any two kinds of cores differ by.
const KIND_GAP: f64 = 0.12;

/// What a profile is derived from.
#[derive(Debug, Default)]
pub struct Evidence {
    results: Vec<Results>,
}

impl Evidence {
    /// Results of [`EXPERIMENTS`], in any order; others are ignored.
    pub fn new(results: Vec<Results>) -> Evidence {
        Evidence { results }
    }

    /// The rows of an experiment; `None` where it was not measured, or a result was wrong.
    pub(super) fn of(&self, id: &str) -> Option<&Results> {
        let has = |results: &&Results| !results.rows.is_empty() && !results.is_wrong();
        self.results.iter().filter(has).find(|results| results.run.id == id)
    }

    /// Those of [`EXPERIMENTS`] that were not measured, each with why.
    fn missing(&self) -> Vec<String> {
        let absent = EXPERIMENTS.iter().filter(|id| self.of(id).is_none());
        let why = |id: &&str| {
            let run = self.results.iter().find(|results| results.run.id == **id);
            let wrong = |results: &Results| results.is_wrong().then(|| "a result was wrong".into());
            let told = run.and_then(|run| run.run.not_measurable.clone().or_else(|| wrong(run)));
            format!("{id}: {}", told.unwrap_or_else(|| "not in the record".into()))
        };
        absent.map(why).collect()
    }
}

/// Derives the profile of this machine. `from` names the run, `made` is the date.
///
/// # Errors
/// `schedules` was not measured, so there is nothing to recommend.
pub fn derive(
    evidence: &Evidence,
    facts: &MachineFacts,
    topology: &Topology,
    from: String,
    made: String,
) -> Result<Profile, String> {
    let measured = evidence.of("schedules").ok_or(
        "the record holds no right rows of the experiment 'schedules', so there is nothing to recommend",
    )?;
    let machine = Machine::of(topology);
    let (blocks, undecided) = recommend::blocks(measured, evidence.of("protection"), &machine);
    Ok(Profile {
        version: Profile::VERSION,
        made,
        from,
        holds_while: Conditions::of(facts, topology),
        pairs: pairs(evidence),
        together: together(evidence),
        blocks,
        undecided,
        seats: seats(evidence),
        waits: waits::costs(evidence),
        unknown: evidence.missing(),
    })
}

fn pairs(evidence: &Evidence) -> Pairs {
    let verdict = |results: &Results| -> Option<String> {
        let experiment = crate::experiments::find("siblings")?;
        experiment.verdicts(results).into_iter().next().map(|Sentence { text, .. }| text)
    };
    let results = evidence.of("siblings");
    Pairs {
        verdict: results.and_then(verdict).unwrap_or_else(|| "not measured".into()),
        verified: results.map(found_cores).unwrap_or_default(),
    }
}

fn together(evidence: &Evidence) -> Together {
    let rate = |results: &Results| {
        let places = ["same-cache", "far"];
        let of = |place| results.median(&format!("signal-pause {place}"), "hand-overs");
        places.into_iter().find_map(of)
    };
    let spinning = |results: &Results| {
        let of = |class| results.median(&format!("pause {class} idle"), "lateness");
        of("fifo").or_else(|| of("ordinary"))
    };
    Together {
        pair_speed: evidence.of("core-speed").and_then(pair_speed),
        start_ns: evidence.of("wake").and_then(spinning).map(round),
        hand_over_ns: evidence.of("ping-pong").and_then(rate).map(|rate| round(1e9 / rate)),
    }
}

/// What is left to a seat beside a busy sibling: the median over all seats with one, if a loss is shown on any. The seats
/// on which it is shown would be a choice of the largest losses.
fn pair_speed(results: &Results) -> Option<f64> {
    let cpus = cpus(results);
    let name = |cpu: u32, what: &str| format!("biquads cpu{cpu} {what}");
    let judged = |cpu: &u32| {
        let (alone, beside) = (name(*cpu, "alone"), name(*cpu, "busy-sibling"));
        results.judged_of(&alone, &beside, "time", cpus.len())
    };
    let judged: Vec<ContrastResult> = cpus.iter().map(judged).collect();
    let is_lost = judged.iter().any(|seat| seat.judgement.is_more());
    let left = judged.iter().filter_map(|seat| seat.all.map(|all| 1.0 / all.ratio));
    let speed = crate::stats::median(&left.collect::<Vec<f64>>())?;
    (is_lost && speed > 0.0).then(|| (speed.min(1.0) * 1000.0).round() / 1000.0)
}

fn cpus(results: &Results) -> Vec<u32> {
    let variants = results.designed();
    let alone = variants.iter().filter(|v| v.name.ends_with(" alone"));
    let mut cpus: Vec<u32> = alone.filter_map(|v| v.cpus.first().copied()).collect();
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

/// Measured speeds, and those that planning counts with: clusters of seats that are alike.
fn seats(evidence: &Evidence) -> Vec<Seat> {
    let Some(results) = evidence.of("core-speed") else { return Vec::new() };
    let name = |cpu: u32| format!("biquads cpu{cpu} alone");
    let cpus = cpus(results);
    let Some(first) = cpus.first() else { return Vec::new() };
    // Round by round against the first seat: what drifts falls on both. What is not shown to differ is equal.
    let speed = |cpu: u32| match results.judged_of(&name(*first), &name(cpu), "time", cpus.len()) {
        _ if cpu == *first => Some(1.0),
        c if c.is_shown() => Some(1.0 / c.all?.ratio),
        c => c.all.map(|_| 1.0),
    };
    let known: Vec<(u32, f64)> = cpus.iter().filter_map(|cpu| Some((*cpu, speed(*cpu)?))).collect();
    let fastest = known.iter().map(|(_, speed)| *speed).fold(0.0, f64::max);
    let parts: Vec<(u32, f64)> = known.iter().map(|(cpu, s)| (*cpu, s / fastest)).collect();
    clustered(&parts)
}

/// Groups neighbours in speed; each counts as its group's middle, in parts of the fastest group's.
pub(super) fn clustered(speeds: &[(u32, f64)]) -> Vec<Seat> {
    let mut sorted: Vec<f64> = speeds.iter().map(|(_, speed)| *speed).collect();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let groups: Vec<Vec<f64>> = sorted
        .chunk_by(|fast, slow| *slow > fast * (1.0 - KIND_GAP))
        .map(<[f64]>::to_vec)
        .collect();
    let middle = |group: &Vec<f64>| group[group.len() / 2];
    let fastest = groups.first().map_or(1.0, middle);
    let speed_of = |own: f64| {
        let group = groups.iter().find(|group| group.contains(&own));
        (group.map_or(own, middle) / fastest * 100.0).round() as f32 / 100.0
    };
    let seat = |(cpu, own): &(u32, f64)| Seat {
        cpu: *cpu,
        speed: speed_of(*own).clamp(0.01, 1.0),
        measured: (own * 1000.0).round() / 1000.0,
    };
    speeds.iter().map(seat).collect()
}

/// Nanoseconds whole, as they are never known better.
fn round(ns: f64) -> f64 {
    ns.round()
}

impl Together {
    /// For the planner: what was not measured is assumed as it does.
    pub fn pair_speed_or_assumed(&self) -> f64 {
        self.pair_speed.unwrap_or(Team::PAIR_SPEED_UNMEASURED)
    }
}
