//! `protection`: which sibling policy keeps blocks on time beside a load.

use hocket_plan::{ScheduleKind, SiblingPolicy};

use super::playing::{Played, Player, Song, effects_for, no_effect, policy};
use crate::bench::seat_cpus;
use crate::disturb::{DisturbSpec, Disturbers, Load, SeatCpus, Where};
use crate::harness::{
    About, Apparatus, Check, Contrast, Design, Experiment, Fault, Host, Metric, NotMeasurable,
    Opened, Parameter, Results, Rounds, Sample, Section, Sentence, Size, Variant,
    contrast_sentences,
};
use crate::stats::wilson;

/// See [`About`].
pub struct Protection;

static ABOUT: About = About {
    id: "protection",
    section: Section::Priority,
    question: "Which sibling policy keeps a block on time?",
    origin: "the 2009 thesis on SMT in audio engines, 8.1 and 8.2",
    method: "A session of eight equal channels is played in blocks of 64 frames at 48 kHz, schedule `dataflow`, wait \
             `hybrid`, under each sibling policy that changes something here. All have the same effects, so many \
             that one worker a core has a quarter of the period to do. `quiet`: nothing else runs; `disturbed`: as many \
             threads of low priority as there are CPUs compute correlations wherever the system puts them. Before \
             each turn four blocks are compared with the serial walk, bit for bit.",
    limits: "Disturbers are threads of the same process, as a host's own helpers are; `process-affinity` and \
             `reserve-core` move those, and not other processes'. Policies with fewer workers take longer for a block.",
    metrics: &[
        Metric::less("duration", "us")
            .means("Median time from the leader's awakening to the complete output, over the blocks of a turn."),
        Metric::less("duration-p99", "us").means("99 of 100 blocks of a turn took at most this."),
        Metric::less("lateness-p99", "us")
            .means("99 of 100 blocks of a turn began at most this late."),
        Metric::less("misses", "%")
            .means("Periods for which the device had nothing new to play, in percent of all: those of late blocks, and \
                    those that passed without a block."),
        Metric::more("disturbers", "1/s")
            .means("Correlations of 4096 frames that all disturbers computed, for each second of playing."),
    ],
    parameters: &[
        Parameter::new("blocks", &BLOCKS),
        Parameter::new("frames", &FRAMES),
        Parameter::new("channels", &CHANNELS),
        Parameter::new("filled", &FILLED),
    ],
};

/// Blocks of a turn.
const BLOCKS: [u64; 2] = [120, 750];
const FRAMES: u32 = 64;
const CHANNELS: usize = 8;
const FILLED: f64 = 0.25;

impl Experiment for Protection {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, host: &Host, size: Size) -> Result<Design, NotMeasurable> {
        let rounds =
            Rounds { processes: size.pick(3, 5), per_process: size.pick(14, 40), warm_up: 0 };
        let mut design = Design::facts(Vec::new(), rounds);
        for sibling in SiblingPolicy::ALL {
            match absent(host, sibling) {
                Some(why) => design.missing.push((sibling.name().into(), why)),
                None => add(&mut design, sibling),
            }
        }
        Ok(design.twinned())
    }

    fn turn_ms(&self) -> f64 {
        168.0
    }

    fn open(&self, host: &Host, size: Size, design: &Design) -> Opened {
        let stage = Stage::set(host, design, size.of(BLOCKS)).map_err(NotMeasurable::new)?;
        Ok(Box::new(stage))
    }

    fn findings(&self, results: &Results) -> Vec<Sentence> {
        let mut sentences: Vec<Sentence> = results
            .designed()
            .iter()
            .filter(|variant| variant.level("load") == "disturbed")
            .filter_map(|variant| on_time(results, &variant.name))
            .collect();
        sentences.extend(contrast_sentences(results));
        sentences
    }
}

/// Why a policy is not measured.
fn absent(host: &Host, sibling: SiblingPolicy) -> Option<String> {
    let command = || format!("`hocket bench --policy {}` measures it", sibling.name());
    match sibling {
        SiblingPolicy::Offline => {
            Some(format!("it takes the siblings from every other policy; {}", command()))
        }
        SiblingPolicy::Partition => {
            Some(format!("it moves all processes of the machine; {}", command()))
        }
        _ => no_effect(&host.topology, sibling),
    }
}

/// A policy with and without load; under load it is compared with `off` under load.
fn add(design: &mut Design, sibling: SiblingPolicy) {
    let quiet = design.variants.len();
    for load in ["quiet", "disturbed"] {
        let variant = Variant::new(format!("{} {load}", sibling.name()))
            .with("policy", sibling.name())
            .with("load", load);
        design.variants.push(if load == "quiet" { variant } else { variant.crowded() });
    }
    design.contrasts.push(Contrast::new(quiet, quiet + 1, "duration-p99"));
    design.contrasts.push(Contrast::new(quiet, quiet + 1, "duration"));
    if quiet > 0 {
        design.contrasts.push(Contrast::new(1, quiet + 1, "duration-p99"));
    }
}

/// Players for all variants.
struct Stage {
    players: Vec<(Player, bool)>,
    seats: SeatCpus,
    cpus: usize,
    blocks: u64,
}

impl Stage {
    fn set(host: &Host, design: &Design, blocks: u64) -> Result<Stage, Fault> {
        let target = FILLED * Player::period_ns(FRAMES) * host.one_per_core().len() as f64;
        let effects = effects_for(&host.topology, CHANNELS, FRAMES, target)?;
        let song = Song { channels: CHANNELS, effects };
        let player = |variant: &Variant| {
            let sibling = SiblingPolicy::from_name(variant.level("policy"))
                .ok_or_else(|| Fault::new("a variant of another version"))?;
            let how = policy(ScheduleKind::Dataflow, sibling);
            let player = Player::start(&host.topology, song, how, FRAMES)?;
            Ok((player, variant.level("load") == "disturbed"))
        };
        let players: Result<_, Fault> = design.variants.iter().map(player).collect();
        let seats = seat_cpus(&host.topology);
        Ok(Stage { players: players?, seats, cpus: host.cpus.len(), blocks })
    }
}

impl Apparatus for Stage {
    fn measure(&mut self, variant: usize) -> Result<Vec<Sample>, Fault> {
        let (player, disturbed) = &mut self.players[variant];
        let check = player.check();
        let spec = DisturbSpec { load: Load::Compute, count: self.cpus, place: Where::Anywhere };
        let specs: &[DisturbSpec] = if *disturbed { &[spec] } else { &[] };
        let disturbers = Disturbers::start(specs, None, &self.seats).map_err(Fault::new)?;
        let played = player.play(self.blocks)?;
        let pieces = disturbers.pieces();
        let mut samples = samples(&played, self.blocks, check)?;
        if *disturbed {
            let seconds = self.blocks as f64 * Player::period_ns(FRAMES) / 1e9;
            let counted = Check::None("counted".into());
            samples.push(Sample::new("disturbers", pieces as f64 / seconds, pieces, counted));
        }
        Ok(samples)
    }
}

fn samples(played: &Played, blocks: u64, check: Check) -> Result<Vec<Sample>, Fault> {
    let us = |ns: &[f64]| ns.iter().map(|ns| ns / 1e3).collect::<Vec<f64>>();
    let (duration, lateness) = (us(&played.duration_ns), us(&played.lateness_ns));
    let periods = (blocks + played.misses.skipped).max(1);
    let misses = played.misses.total() as f64 * 100.0 / periods as f64;
    Ok(vec![
        median("duration", &duration, &check)?,
        p99("duration-p99", &duration, &check)?,
        p99("lateness-p99", &lateness, &check)?,
        Sample::new("misses", misses, periods, check),
    ])
}

fn median(metric: &str, values: &[f64], check: &Check) -> Result<Sample, Fault> {
    let sample = Sample::median_of(metric, values, check.clone());
    sample.ok_or_else(|| Fault::new("no block was played"))
}

fn p99(metric: &str, values: &[f64], check: &Check) -> Result<Sample, Fault> {
    let whole = median(metric, values, check)?;
    let value = whole.distribution.map_or(whole.value, |all| all.p99);
    Ok(Sample { value, ..whole })
}

/// What a variant's blocks came to, all turns together. Misses come in bursts, so the true share may be larger still.
fn on_time(results: &Results, name: &str) -> Option<Sentence> {
    let misses = || results.rows_of(name, "misses").map(|row| &row.sample);
    let periods: u64 = misses().map(|sample| sample.ops).sum();
    let count =
        misses().map(|sample| sample.value * sample.ops as f64 / 100.0).sum::<f64>().round();
    let most = wilson(count as u64, periods).high * 100.0;
    let p99 = results.median(name, "duration-p99")?;
    let late = results.median(name, "lateness-p99")?;
    let pieces = results.median(name, "disturbers").map_or(String::new(), |pieces| {
        format!("; the disturbers did {pieces:.0} pieces a second meanwhile")
    });
    Some(Sentence::fact(format!(
        "{name}: {count:.0} of {periods} periods missed (95 %: at most {most:.2} %), 99 of 100 took at most {p99:.0} µs and began at most {late:.0} µs \
         late{pieces}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_of_this_machine_plays_the_same() {
        let host = Host::discover().unwrap();
        let design = Protection.design(&host, Size::Quick).unwrap();
        let mut stage = Stage::set(&host, &design, 5).unwrap();
        for (index, variant) in design.variants.iter().enumerate() {
            match stage.measure(index) {
                Ok(samples) => assert_eq!(samples[0].check, Check::Passed, "{}", variant.name),
                Err(fault) => assert!(fault.0.contains("not granted"), "{fault}"),
            }
        }
    }
}
