//! `capacity`: how many channels hold their deadlines.

use hocket_machine::Topology;
use hocket_plan::{ScheduleKind, SiblingPolicy};

use super::playing::{Player, Song, policy};
use crate::channels::{EXACT, largest};
use crate::harness::{
    About, Axis, Check, Design, Experiment, Fault, Host, Metric, NotMeasurable, Opened, Parameter,
    Plot, Results, Rounds, Sample, Section, Sentence, Series, Size, Variant,
};

/// See [`About`].
pub struct Capacity;

static ABOUT: About = About {
    id: "capacity",
    section: Section::Audio,
    question: "How many channels hold their deadlines?",
    origin: "what users of audio programs ask first; the buffer sizes are those that they can choose",
    // "misses its deadline" means any miss here, a skipped period too. The words stay, because runs with other words are not
    // compared. `limits` says it.
    method: "A session of equal channels (a looped clip of noise, four equalisers and four compressors each) is played \
             at 48 kHz in blocks of 32 to 1024 frames (64, 256 and 1024 in a quick run) with policy dataflow / off / hybrid, one worker a core. A \
             number of channels holds if no block of a probe misses its deadline and 99 of 100 end in nine tenths of \
             the period. The largest number that holds is found by halving the space between one that holds and \
             one that does not; the first guess is what the serial walk of a few channels promises. The first probe of a \
             turn is compared with the serial walk, bit for bit.",
    limits: "Probes last a fraction of a second, so this is what holds in general, not what never misses: a rare \
             disturbance is not seen, and one that happens to be seen ends the search too low. The median over \
             rounds is the figure. A period that the device skips is a miss, too, and counts as a missed deadline does.",
    metrics: &[Metric::more("channels", "")
        .means("The largest number of channels found to hold, exact to 3 %.")],
    parameters: &[
        Parameter::new("played-ns", &PLAYED_NS),
        Parameter::new("effects", &EFFECTS),
        Parameter::new("exact", &EXACT),
    ],
};

const FRAMES: [u32; 6] = [32, 64, 128, 256, 512, 1024];
/// Those of a quick run.
const IN_QUICK: [u32; 3] = [64, 256, 1024];
/// How long a probe plays.
const PLAYED_NS: [f64; 2] = [50e6, 1e9];
const EFFECTS: usize = 8;
/// No machine is asked for more: each has its memory.
const MOST: usize = 2_000;
/// Channels by which the first guess is made.
const FEW: usize = 4;

impl Experiment for Capacity {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, _: &Host, size: Size) -> Result<Design, NotMeasurable> {
        let rounds = Rounds { per_process: size.pick(3, 6), ..Rounds::few(size) };
        let variant = |frames| Variant::new(format!("{frames}-frames")).with("frames", frames);
        let frames = FRAMES.into_iter().filter(|n| size == Size::Full || IN_QUICK.contains(n));
        let design = Design::facts(frames.map(variant).collect(), rounds);
        Ok(design.twinned())
    }

    fn turn_ms(&self) -> f64 {
        723.0
    }

    fn open(&self, host: &Host, size: Size, design: &Design) -> Opened {
        let frames: Vec<u32> = design.each(|variant| variant.level("frames").parse().ok())?;
        let topology = host.topology.clone();
        let played_ns = size.of(PLAYED_NS);
        Ok(Box::new(move |variant: usize| {
            Search { topology: &topology, frames: frames[variant], played_ns }.turn()
        }))
    }

    fn findings(&self, results: &Results) -> Vec<Sentence> {
        told(results).into_iter().collect()
    }

    fn advice(&self, results: &Results) -> Option<Sentence> {
        let of = |frames: u32| {
            let channels = results.median(&format!("{frames}-frames"), "channels")?;
            Some(format!("{channels:.0} channels at {frames} frames"))
        };
        let told: Vec<String> = IN_QUICK.into_iter().filter_map(of).collect();
        let text = format!(
            "How much fits: the medians are {}, with {EFFECTS} effects each; `hocket bench` tells it of your session.",
            told.join(", ")
        );
        (!told.is_empty()).then(|| Sentence::fact(text))
    }

    fn plots(&self, results: &Results) -> Vec<Plot> {
        let point = |frames: &u32| {
            let estimate = results.estimate(&format!("{frames}-frames"), "channels")?;
            Some((f64::from(*frames), estimate))
        };
        let points: Vec<_> = FRAMES.iter().filter_map(point).collect();
        vec![Plot::Lines {
            title: "channels that hold their deadlines".into(),
            x: Axis::log("block length", "frames"),
            y: Axis::linear("channels", ""),
            series: vec![Series { name: "dataflow / off / hybrid".into(), points }],
            marks: Vec::new(),
        }]
    }
}

/// The search of one turn.
struct Search<'a> {
    topology: &'a Topology,
    frames: u32,
    /// How long a probe plays.
    played_ns: f64,
}

impl Search<'_> {
    fn turn(&self) -> Result<Vec<Sample>, Fault> {
        let (guess, check) = self.first_guess()?;
        let channels = largest(1..=MOST, guess, |channels| self.holds(channels))?.unwrap_or(0);
        Ok(vec![Sample::new("channels", channels as f64, channels as u64, check)])
    }

    fn player(&self, channels: usize) -> Result<Player, Fault> {
        let how = policy(ScheduleKind::Dataflow, SiblingPolicy::Off);
        Player::start(self.topology, Song { channels, effects: EFFECTS }, how, self.frames)
    }

    /// What the serial walk of a few channels promises for all workers.
    fn first_guess(&self) -> Result<(usize, Check), Fault> {
        let mut player = self.player(FEW)?;
        let check = player.check();
        let each_ns = player.serial_ns(8) / FEW as f64;
        let promised = Player::period_ns(self.frames) * 0.8 / each_ns * player.workers() as f64;
        Ok(((promised as usize).clamp(1, MOST), check))
    }

    fn holds(&self, channels: usize) -> Result<bool, Fault> {
        let period_ns = Player::period_ns(self.frames);
        let blocks = (self.played_ns / period_ns).ceil().max(8.0) as u64;
        let mut player = self.player(channels)?;
        // The first blocks fetch code and buffers.
        player.play(2)?;
        let played = player.play(blocks)?;
        let is_tight = |ns: &&f64| **ns > 0.9 * period_ns;
        let tight = played.duration_ns.iter().filter(is_tight).count() as u64;
        Ok(played.misses.total() == 0 && tight * 100 <= blocks)
    }
}

fn told(results: &Results) -> Option<Sentence> {
    let of = |frames: &u32| {
        let channels = results.median(&format!("{frames}-frames"), "channels")?;
        Some(format!("{channels:.0} at {frames}"))
    };
    let told: Vec<String> = FRAMES.iter().filter_map(of).collect();
    let text = format!("channels that hold, by frames a block: {}", told.join(", "));
    (!told.is_empty()).then(|| Sentence::fact(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_plays() {
        let topology = Topology::discover().unwrap();
        let search = Search { topology: &topology, frames: 64, played_ns: 1e6 };
        assert_eq!(search.first_guess().unwrap().1, Check::Passed);
        assert!(!search.holds(MOST).unwrap());
    }
}
