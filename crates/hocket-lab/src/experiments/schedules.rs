//! `schedules`: which schedule, how many workers and which wait suit which block length.

use hocket_engine::Policy;
use hocket_plan::{ScheduleKind, SiblingPolicy};
use hocket_rt::Strategy;

use super::playing::{Player, Song, effects_for, no_effect};
use crate::harness::{
    About, Apparatus, Axis, Check, ContrastResult, Design, Experiment, Fault, Host, Metric,
    NotMeasurable, Opened, Parameter, Plot, Results, Rounds, Sample, Section, Sentence, Series,
    Size, Variant, contrast_sentences, ratio_told,
};

/// See [`About`].
pub struct Schedules;

static ABOUT: About = About {
    id: "schedules",
    section: Section::Audio,
    question: "Which schedule, how many workers and which wait suit which block length?",
    origin: "what `hocket tune` recommends rests on it",
    method: "A session of 16 equal channels of equalisers and compressors, as many as make the serial walk of a block \
             take half of the period, is played at 48 kHz against the clock in blocks of 32 to 1024 frames (64 and \
             256 in a quick run). Every block length is played by one worker (serial) and by one worker a \
             core with every parallel schedule under `hybrid`; the schedule `critical` also with every other \
             wait that this CPU has, and, where cores have two seats, with workers on all seats. Sibling policy off, \
             or all where said. FIFO 60 where granted. Before its first turn each way plays four blocks beside the \
             serial walk, bit for bit the same.",
    limits: "One session of channels that depend on nothing but their sum; a session with long chains leaves less \
             to share. Nobody else wants the CPUs on purpose: `protection` is about that. A wait that spins \
             costs its seat for the length of the block, which is not counted here; `idle-cost` and `wake` show it.",
    metrics: &[
        Metric::less("duration", "us")
            .means("Median over a turn's blocks of the time from the leader's awakening to the complete output."),
        Metric::less("duration-p99", "us")
            .means("99 of 100 blocks of a turn took at most this; with fewer than 100 blocks, nearly the longest."),
    ],
    parameters: &[
        Parameter::new("played-ns", &PLAYED_NS),
        Parameter::new("channels", &CHANNELS),
        Parameter::new("filled", &FILLED),
    ],
};

/// Block lengths of a full run.
pub const FRAMES: [u32; 6] = [32, 64, 128, 256, 512, 1024];
/// Those of a quick run.
const IN_QUICK: [u32; 2] = [64, 256];
/// How long a turn plays.
const PLAYED_NS: [f64; 2] = [40e6, 400e6];
const CHANNELS: usize = 16;
/// What part of the period the serial walk takes.
const FILLED: f64 = 0.5;
/// Schedules for several workers that are tried; `lists` waits for everybody at every level.
const PARALLEL: [ScheduleKind; 3] =
    [ScheduleKind::Critical, ScheduleKind::Steal, ScheduleKind::Dataflow];

/// One way of playing a block length; the levels of a variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    /// Frames a block.
    pub frames: u32,
    /// How units are dealt out, who sits on siblings, how workers wait.
    pub policy: Policy,
}

impl Way {
    fn new(frames: u32, schedule: ScheduleKind, sibling: SiblingPolicy, wait: Strategy) -> Way {
        Way { frames, policy: Policy { schedule, sibling, wait } }
    }

    /// The variant's name, the same on every machine.
    pub fn name(self) -> String {
        let Policy { schedule, sibling, wait } = self.policy;
        match schedule {
            ScheduleKind::Serial => format!("{} serial", self.frames),
            _ => format!("{} {} {} {}", self.frames, schedule.name(), sibling.name(), wait.name()),
        }
    }

    fn variant(self) -> Variant {
        let Policy { schedule, sibling, wait } = self.policy;
        Variant::new(self.name())
            .with("frames", self.frames)
            .with("schedule", schedule.name())
            .with("policy", sibling.name())
            .with("wait", wait.name())
    }

    /// `None` for a variant of another version.
    pub fn of(variant: &Variant) -> Option<Way> {
        Some(Way::new(
            variant.level("frames").parse().ok()?,
            ScheduleKind::from_name(variant.level("schedule"))?,
            SiblingPolicy::from_name(variant.level("policy"))?,
            variant.level("wait").parse().ok()?,
        ))
    }
}

/// Every way that this machine has for a block length, the serial walk first.
fn ways(host: &Host, frames: u32) -> Vec<Way> {
    let off = SiblingPolicy::Off;
    let mut ways = vec![Way::new(frames, ScheduleKind::Serial, off, Strategy::Hybrid)];
    if host.one_per_core().len() < 2 && host.cpus.len() < 2 {
        return ways;
    }
    ways.extend(PARALLEL.map(|kind| Way::new(frames, kind, off, Strategy::Hybrid)));
    let others = Strategy::here().filter(|wait| *wait != Strategy::Hybrid);
    ways.extend(others.map(|wait| Way::new(frames, ScheduleKind::Critical, off, wait)));
    if no_effect(&host.topology, SiblingPolicy::All).is_none() {
        let all = |kind| Way::new(frames, kind, SiblingPolicy::All, Strategy::Hybrid);
        ways.extend(PARALLEL.map(all));
    }
    ways
}

impl Experiment for Schedules {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, host: &Host, size: Size) -> Result<Design, NotMeasurable> {
        let rounds =
            Rounds { processes: size.pick(3, 5), per_process: size.pick(10, 40), warm_up: 0 };
        let mut design = Design::facts(Vec::new(), rounds);
        for frames in lengths(size) {
            design.group("duration", ways(host, frames).into_iter().map(Way::variant));
        }
        for wait in Strategy::ALL {
            if let Some(why) = wait.missing() {
                design.missing.push((wait.name().into(), why.into()));
            }
        }
        if let Some(why) = no_effect(&host.topology, SiblingPolicy::All) {
            design.missing.push(("workers on all seats".into(), why));
        }
        Ok(design.twinned())
    }

    fn turn_ms(&self) -> f64 {
        49.0
    }

    fn open(&self, host: &Host, size: Size, design: &Design) -> Opened {
        let played_ns = size.of(PLAYED_NS);
        let players = players(host, design).map_err(NotMeasurable::new)?;
        Ok(Box::new(Stage::of(players, played_ns)))
    }

    fn findings(&self, results: &Results) -> Vec<Sentence> {
        let mut sentences: Vec<Sentence> =
            FRAMES.into_iter().filter_map(|frames| shortest_told(results, frames)).collect();
        sentences.extend(contrast_sentences(results));
        sentences
    }

    fn advice(&self, results: &Results) -> Option<Sentence> {
        let is_measured = |frames: &u32| results.median(&serial_of(*frames), "duration").is_some();
        let frames = IN_QUICK.into_iter().find(is_measured)?;
        let shortest = shortest(results, frames);
        match shortest.filter(|it| it.against_serial.judgement.is_less()) {
            Some(shortest) => {
                let text = format!(
                    "Use all workers: at {frames} frames the way with the shortest median ({}) takes {} against one worker.",
                    shortest.way(),
                    ratio_told(&shortest.against_serial)
                );
                Some(Sentence::about(text, &[shortest.against_serial]))
            }
            None => Some(Sentence::not_shown(
                "Leave the schedule to `auto`, which measures while it plays: that several workers are faster is not \
                 shown here.",
            )),
        }
    }

    fn plots(&self, results: &Results) -> Vec<Plot> {
        let lines = [ScheduleKind::Serial].into_iter().chain(PARALLEL);
        let series = lines.filter_map(|kind| series(results, kind)).collect();
        vec![Plot::Lines {
            title: "time of a block with hybrid waits, in parts of its period".into(),
            x: Axis::log("block length", "frames"),
            y: Axis::linear("part of the period", "%"),
            series,
            marks: Vec::new(),
        }]
    }
}

fn lengths(size: Size) -> impl Iterator<Item = u32> {
    FRAMES.into_iter().filter(move |n| size == Size::Full || IN_QUICK.contains(n))
}

/// An engine for each variant; sessions are filled once a block length.
fn players(host: &Host, design: &Design) -> Result<Vec<Player>, Fault> {
    let mut songs = std::collections::BTreeMap::new();
    let player = |variant: &Variant| {
        let way = Way::of(variant).ok_or_else(|| Fault::new("a variant of another version"))?;
        let song = match songs.get(&way.frames) {
            Some(song) => *song,
            None => {
                let target = FILLED * Player::period_ns(way.frames);
                let effects = effects_for(&host.topology, CHANNELS, way.frames, target)?;
                *songs.entry(way.frames).or_insert(Song { channels: CHANNELS, effects })
            }
        };
        Player::start(&host.topology, song, way.policy, way.frames)
    };
    design.variants.iter().map(player).collect()
}

struct Stage {
    players: Vec<Player>,
    /// Of each player, once it has been compared with the serial walk.
    checks: Vec<Option<Check>>,
    played_ns: f64,
}

impl Stage {
    fn of(players: Vec<Player>, played_ns: f64) -> Stage {
        Stage { checks: vec![None; players.len()], players, played_ns }
    }
}

/// Long blocks would have too few in the time of a turn.
const LEAST_BLOCKS: f64 = 8.0;

impl Apparatus for Stage {
    fn measure(&mut self, variant: usize) -> Result<Vec<Sample>, Fault> {
        let player = &mut self.players[variant];
        let check = self.checks[variant].get_or_insert_with(|| player.check()).clone();
        let blocks =
            (self.played_ns / Player::period_ns(player.frames())).ceil().max(LEAST_BLOCKS) as u64;
        // The first blocks fetch code and buffers, and wake who slept long.
        player.play(2)?;
        let played = player.play(blocks)?;
        let us: Vec<f64> = played.duration_ns.iter().map(|ns| ns / 1e3).collect();
        let median = Sample::median_of("duration", &us, check.clone());
        let median = median.ok_or_else(|| Fault::new("no block was played"))?;
        let p99 = median.distribution.map_or(median.value, |all| all.p99);
        Ok(vec![median, Sample::new("duration-p99", p99, blocks, check)])
    }
}

fn serial_of(frames: u32) -> String {
    Way::new(frames, ScheduleKind::Serial, SiblingPolicy::Off, Strategy::Hybrid).name()
}

/// The way with the shortest median for a block length.
struct Shortest {
    name: String,
    duration_us: f64,
    against_serial: ContrastResult,
}

impl Shortest {
    /// Its name without the length.
    fn way(&self) -> &str {
        self.name.trim_start_matches(|c: char| c.is_ascii_digit()).trim()
    }
}

/// `None` without figures, or where it is the serial walk.
fn shortest(results: &Results, frames: u32) -> Option<Shortest> {
    let serial = serial_of(frames);
    let variants = &results.design()?.variants;
    let of_length = || variants.iter().filter(|v| v.level("frames") == frames.to_string());
    let took = |v: &Variant| Some((v.name.clone(), results.median(&v.name, "duration")?));
    let (name, duration_us) = of_length().filter_map(took).min_by(|a, b| a.1.total_cmp(&b.1))?;
    if name == serial {
        return None;
    }
    let others = of_length().count() - 1;
    let against_serial = results.judged_of(&serial, &name, "duration", others);
    Some(Shortest { name, duration_us, against_serial })
}

/// The shortest way for a block length, against the serial walk.
fn shortest_told(results: &Results, frames: u32) -> Option<Sentence> {
    let Some(shortest) = shortest(results, frames) else {
        results.median(&serial_of(frames), "duration")?;
        let text = format!("{frames} frames: no way is shown to be shorter than the serial walk");
        return Some(Sentence::not_shown(text));
    };
    let text = format!(
        "{frames} frames: the shortest median has {} with {:.0} µs, against the serial walk {}",
        shortest.way(),
        shortest.duration_us,
        ratio_told(&shortest.against_serial),
    );
    Some(Sentence::about(text, &[shortest.against_serial]))
}

fn series(results: &Results, kind: ScheduleKind) -> Option<Series> {
    let point = |frames: u32| {
        let way = Way::new(frames, kind, SiblingPolicy::Off, Strategy::Hybrid);
        let took = results.estimate(&way.name(), "duration")?;
        Some((f64::from(frames), took.scaled(1e5 / Player::period_ns(frames))))
    };
    let points: Vec<_> = FRAMES.into_iter().filter_map(point).collect();
    (!points.is_empty()).then(|| Series { name: kind.name().into(), points })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_is_found_again_by_its_levels() {
        let host = Host::described_with_smt();
        let design = Schedules.design(&host, Size::Full).unwrap();
        assert_eq!(design.fault(), None);
        for variant in &design.variants {
            assert_eq!(Way::of(variant).map(Way::name).as_deref(), Some(variant.name.as_str()));
        }
        assert!(design.index("64 critical all hybrid").is_some());
        assert!(Way::of(&Variant::new("x").with("frames", 64)).is_none());
    }

    #[test]
    fn every_way_plays_the_same() {
        let host = Host::discover().unwrap();
        let mut design = Schedules.design(&host, Size::Quick).unwrap();
        design.variants.retain(|variant| variant.level("frames") == "64");
        let players = players(&host, &design).unwrap();
        let mut stage = Stage::of(players, 1e6);
        for index in 0..design.variants.len() {
            let samples = stage.measure(index).unwrap();
            assert_eq!(samples[0].check, Check::Passed);
        }
    }
}
