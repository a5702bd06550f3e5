//! `sessions`: how long a block of the thesis' projects takes.

use hocket_plan::{ScheduleKind, SiblingPolicy};

use super::playing::{Player, RATE_HZ, Song, effects_for, no_effect, policy};
use crate::bench::seat_cpus;
use crate::disturb::{DisturbSpec, Disturbers, Load, PreviewSource, SeatCpus, Where};
use crate::harness::{
    About, Apparatus, Check, Contrast, Design, Experiment, Fault, Historic, Host, Metric,
    NotMeasurable, Opened, Parameter, Results, Rounds, Sample, Section, Sentence, Size, Variant,
    contrast_sentences,
};
use crate::historic::{SessionKind, for_session_kind};

/// See [`About`].
pub struct Sessions;

static ABOUT: About = About {
    id: "sessions",
    section: Section::Audio,
    question: "How long does a block take, at best and at worst?",
    origin: "the 2009 thesis on SMT in audio engines, 7.1 and 8.3.4",
    method: "Sessions of 4, 8 and 32 equal channels (a looped clip of noise; equalisers and compressors by turns) are \
             played in blocks of 256 frames at 48 kHz with schedule `lists` and wait `hybrid`. Each channel gets so \
             many effects that a block takes about 2 ms where one worker a core shares the work. `best`: nothing else \
             runs. `worst`: one thread of low priority computes the waveform preview of a large file, in pieces of 1600 \
             bytes. Policies: `off` (the thesis' \"smt disabled\"), `all` (\"smt enabled\"), `pair-barrier` \
             (\"htBarriers\"). Before each turn four blocks are compared with the serial walk, bit for bit.",
    limits: "The thesis' effects and audio are not known; what compares is the order of the configurations and how \
             far the slowest block is from the mean. It left SMT off by the system's switch, which `off` only \
             imitates: siblings are then free for the preview. The file is read from the page cache.",
    metrics: &[
        Metric::less("block-mean", "ms")
            .means("Mean time from the leader's awakening to the complete output, over the blocks of a turn."),
        Metric::less("block-max", "ms").means("The largest of these times in a turn."),
        Metric::fact("effects", "")
            .means("Effects in each channel, so many that a block takes about 2 ms."),
        Metric::more("preview-pieces", "1/s")
            .means("Pieces of the preview that were computed in the turn, for each second of playing."),
    ],
    parameters: &[
        Parameter::new("blocks", &BLOCKS),
        Parameter::new("previewed", &PREVIEWED),
        Parameter::new("frames", &FRAMES),
        Parameter::new("block-ns", &BLOCK_NS),
    ],
};

/// Blocks of a turn.
const BLOCKS: [u64; 2] = [30, 300];
/// Bytes of the file whose preview is computed.
const PREVIEWED: [u64; 2] = [8 << 20, 64 << 20];
const FRAMES: u32 = 256;
const BLOCK_NS: f64 = 2e6;
const CHANNELS: [usize; 3] = [4, 8, 32];
const CASES: [&str; 2] = ["best", "worst"];
const POLICIES: [SiblingPolicy; 3] =
    [SiblingPolicy::Off, SiblingPolicy::All, SiblingPolicy::PairBarrier];

impl Experiment for Sessions {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, host: &Host, size: Size) -> Result<Design, NotMeasurable> {
        let rounds =
            Rounds { processes: size.pick(3, 5), per_process: size.pick(7, 6), warm_up: 0 };
        let mut design = Design::facts(Vec::new(), rounds);
        for sibling in POLICIES {
            match no_effect(&host.topology, sibling) {
                Some(why) => design.missing.push((sibling.name().into(), why)),
                None => design.variants.extend(variants(sibling)),
            }
        }
        let find = |c: usize, case: &str, p: SiblingPolicy| design.index(&name(c, case, p));
        let mut contrasts = Vec::new();
        for channels in CHANNELS {
            for metric in ["block-mean", "block-max"] {
                let best = find(channels, CASES[0], SiblingPolicy::Off);
                let worst = find(channels, CASES[1], SiblingPolicy::Off);
                contrasts.extend(best.zip(worst).map(|(a, b)| Contrast::new(a, b, metric)));
                for (case, other) in CASES.iter().flat_map(|c| [(c, POLICIES[1]), (c, POLICIES[2])])
                {
                    let off = find(channels, case, SiblingPolicy::Off);
                    let pair = off.zip(find(channels, case, other));
                    contrasts.extend(pair.map(|(a, b)| Contrast::new(a, b, metric)));
                }
            }
        }
        design.contrasts = contrasts;
        Ok(design.twinned())
    }

    fn turn_ms(&self) -> f64 {
        246.0
    }

    fn open(&self, host: &Host, size: Size, design: &Design) -> Opened {
        let blocks = size.of(BLOCKS);
        let bytes = size.of(PREVIEWED);
        let stage = Stage::set(host, design, blocks, bytes).map_err(NotMeasurable::new)?;
        Ok(Box::new(stage))
    }

    fn findings(&self, results: &Results) -> Vec<Sentence> {
        let variants = results.designed();
        let told = variants.iter().filter_map(|variant| told(results, &variant.name));
        contrast_sentences(results).into_iter().chain(told).collect()
    }

    fn historic(&self) -> Vec<Historic> {
        let table = |kind, case: usize| {
            let rows = for_session_kind(kind).map_or(&[][..], |table| table.rows);
            rows.iter().flat_map(move |row| {
                let variant = HISTORIC[case].iter().find(|(name, _)| *name == row.configuration);
                let [mean, slowest] = label(row.os, row.configuration, case);
                let figure = |label, metric: &'static str, value| Historic {
                    differs: differs(row.configuration, metric, case),
                    label,
                    value,
                    unit: "ms",
                    metric,
                    variant: variant.map(|(_, variant)| *variant),
                    definition: "Time of a block over 3000 blocks, effects added until one took about 2 ms.",
                    source: "bachelor thesis, HAW Hamburg, 2009, section 8.3.4, Core i7 965",
                };
                [figure(mean, "block-mean", row.mean_ms), figure(slowest, "block-max", row.max_ms)]
            })
        };
        table(SessionKind::BestCase, 0).chain(table(SessionKind::WorstCase4, 1)).collect()
    }
}

/// What makes a figure of the thesis another one than ours.
fn differs(configuration: &str, metric: &str, case: usize) -> Option<&'static str> {
    match (configuration, metric) {
        _ if case == 1 => Some(
            "The previews of several large files were computed beside; here it is that of one.",
        ),
        (_, "block-max") => {
            Some("The slowest of 3000 blocks; `block-max` is the slowest of a turn of 30 or 300.")
        }
        ("smt disabled", _) => {
            Some("SMT was disabled; `off` leaves siblings free, for the preview too.")
        }
        _ => None,
    }
}

/// Beside which variant a configuration stands, at best and at worst.
const HISTORIC: [[(&str, &str); 3]; 2] = [
    [
        ("smt disabled", "8 best off"),
        ("smt enabled", "8 best all"),
        ("smt enabled, htBarriers", "8 best pair-barrier"),
    ],
    [
        ("smt disabled", "4 worst off"),
        ("smt enabled", "4 worst all"),
        ("smt enabled, htBarriers", "4 worst pair-barrier"),
    ],
];

/// What a historic figure is, at best and at worst, mean and slowest block.
macro_rules! labels {
    ($($row:literal),*) => {
        [$([
            [concat!($row, ": mean at best"), concat!($row, ": slowest at best")],
            [concat!($row, ": mean at worst"), concat!($row, ": slowest at worst")],
        ]),*]
    };
}

const LABELS: [[[&str; 2]; 2]; 6] = labels!(
    "Windows XP, SMT disabled",
    "Windows XP, SMT enabled",
    "Windows XP, htBarriers",
    "Windows Vista, SMT disabled",
    "Windows Vista, SMT enabled",
    "Windows Vista, htBarriers"
);

fn label(os: &str, configuration: &str, case: usize) -> [&'static str; 2] {
    let system = if os == "Windows XP" { 0 } else { 3 };
    let smt = match configuration {
        "smt disabled" => 0,
        "smt enabled" => 1,
        _ => 2,
    };
    LABELS[system + smt][case]
}

fn name(channels: usize, case: &str, sibling: SiblingPolicy) -> String {
    format!("{channels} {case} {}", sibling.name())
}

fn variants(sibling: SiblingPolicy) -> impl Iterator<Item = Variant> {
    CHANNELS.into_iter().flat_map(move |channels| {
        CASES.map(|case| {
            let variant = Variant::new(name(channels, case, sibling))
                .with("channels", channels)
                .with("case", case)
                .with("policy", sibling.name());
            variant.crowded_if(case == "worst")
        })
    })
}

/// Players for all variants.
struct Stage {
    players: Vec<OnePlayer>,
    seats: SeatCpus,
    preview: PreviewSource,
    blocks: u64,
}

struct OnePlayer {
    player: Player,
    effects: usize,
    worst: bool,
}

impl Stage {
    fn set(host: &Host, design: &Design, blocks: u64, bytes: u64) -> Result<Stage, Fault> {
        let cores = host.one_per_core().len();
        let mut players = Vec::new();
        let mut effects = std::collections::BTreeMap::new();
        for variant in &design.variants {
            let sibling = SiblingPolicy::from_name(variant.level("policy"));
            let channels = variant.level("channels").parse().ok();
            let (Some(sibling), Some(channels)) = (sibling, channels) else {
                return Err(Fault::new("a variant of another version"));
            };
            let effects = match effects.get(&channels) {
                Some(effects) => *effects,
                None => {
                    let target = BLOCK_NS * cores.min(channels) as f64;
                    let found = effects_for(&host.topology, channels, FRAMES, target)?;
                    effects.insert(channels, found);
                    found
                }
            };
            let (song, how) = (Song { channels, effects }, policy(ScheduleKind::Lists, sibling));
            let player = Player::start(&host.topology, song, how, FRAMES)?;
            players.push(OnePlayer { player, effects, worst: variant.level("case") == "worst" });
        }
        let preview = PreviewSource::tone(RATE_HZ, bytes);
        Ok(Stage { players, seats: seat_cpus(&host.topology), preview, blocks })
    }
}

impl Apparatus for Stage {
    fn measure(&mut self, variant: usize) -> Result<Vec<Sample>, Fault> {
        let one = &mut self.players[variant];
        let check = one.player.check();
        let spec = DisturbSpec { load: Load::Preview, count: 1, place: Where::Anywhere };
        let specs: &[DisturbSpec] = if one.worst { &[spec] } else { &[] };
        let disturbers = Disturbers::start(specs, Some(&self.preview), &self.seats);
        let disturbers = disturbers.map_err(Fault::new)?;
        let before = disturbers.pieces();
        let played = one.player.play(self.blocks)?;
        let pieces = disturbers.pieces() - before;
        if let Some(why) = disturbers.troubles().first() {
            return Err(Fault::new(why));
        }
        let ms: Vec<f64> = played.duration_ns.iter().map(|ns| ns / 1e6).collect();
        let mean = ms.iter().sum::<f64>() / ms.len().max(1) as f64;
        let max = ms.iter().copied().fold(0.0, f64::max);
        let counted = || Check::None("counted".into());
        let mut samples = vec![
            Sample::new("block-mean", mean, self.blocks, check.clone()),
            Sample::new("block-max", max, self.blocks, check),
            Sample::new("effects", one.effects as f64, 1, counted()),
        ];
        if one.worst {
            let seconds = self.blocks as f64 * Player::period_ns(FRAMES) / 1e9;
            samples.push(Sample::new("preview-pieces", pieces as f64 / seconds, 1, counted()));
        }
        Ok(samples)
    }
}

/// Average and slowest block of a configuration, as the thesis prints them.
fn told(results: &Results, name: &str) -> Option<Sentence> {
    let mean = results.median(name, "block-mean")?;
    let max = results.values(name, "block-max").into_iter().fold(0.0, f64::max);
    Some(Sentence::fact(format!("{name}: average {mean:.3} ms, slowest block {max:.3} ms")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn historic_figures_stand_beside_variants_that_may_exist() {
        let possible: Vec<String> =
            POLICIES.into_iter().flat_map(variants).map(|variant| variant.name).collect();
        let historic = Sessions.historic();
        assert_eq!(historic.len(), 24);
        for figure in historic {
            assert!(possible.iter().any(|name| Some(name.as_str()) == figure.variant));
        }
    }

    #[test]
    fn a_turn_of_each_case_is_right() {
        let host = Host::discover().unwrap();
        let mut design = Sessions.design(&host, Size::Quick).unwrap();
        design.variants.retain(|variant| variant.level("channels") == "4");
        let mut stage = Stage::set(&host, &design, 4, 1 << 20).unwrap();
        for (index, variant) in design.variants.iter().enumerate() {
            let samples = stage.measure(index).unwrap();
            assert_eq!(samples[0].check, Check::Passed, "{}", variant.name);
        }
    }
}
