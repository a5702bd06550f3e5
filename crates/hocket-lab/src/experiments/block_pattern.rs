//! `block-pattern`: the thesis' imitation of an audio engine.

mod play;

use super::beside::granted;
use crate::bench::seat_cpus;
use crate::disturb::{DisturbSpec, Disturbers, Load, PreviewSource, SeatCpus, Where};
use crate::harness::{
    About, Apparatus, Check, Contrast, Design, Experiment, Fault, Historic, Host, Metric,
    NotMeasurable, Opened, Parameter, Rounds, Sample, Section, Size, Variant,
};
use crate::patterns::StepPattern;
use hocket_engine::Settings;
use hocket_machine::class::Class;
use play::Playing;

/// See [`About`].
pub struct BlockPattern;

static ABOUT: About = About {
    id: "block-pattern",
    section: Section::Audio,
    question: "Does a thread of low priority slow an imitated audio engine down?",
    origin: "the 2009 thesis on SMT in audio engines, 7.2.1",
    method: "Pinned audio threads, FIFO 60 where granted, walk the thesis' pattern of steps once a millisecond: `B` waits \
             for all and sleeps, `SB` waits and spins (and yields after 20 µs where threads share CPUs), `P(n)` computes \
             n passes of 64 dependent multiplications and additions of doubles. The first thread is triggered by \
             the clock and opens the first barrier. `thesis`: its four threads; `fitted`: its first threads, as many \
             as there are cores, where there are fewer than four. `reader`: one thread of low priority reads a large \
             audio file in pieces of 1600 bytes and computes its waveform, wherever the system puts it. Every result of \
             every P(n) is compared with what it must be.",
    limits: "A pass is about 0.2 µs at 3 GHz, as the thesis' must have been by its times; its instructions are not known. \
             Where four threads share fewer CPUs a block cannot end in time, and that is what is seen.",
    metrics: &[
        Metric::less("block-mean", "ms")
            .means("Mean time from the first thread's awakening to the end of the last one's steps, over the blocks of a turn."),
        Metric::less("block-max", "ms").means("The largest of these times in a turn."),
        Metric::less("late", "%")
            .means("Blocks that ended more than 1 ms after they were planned, in percent."),
        Metric::more("reader-pieces", "1/s")
            .means("Pieces of 1600 bytes that the reader finished, for each second."),
    ],
    parameters: &[
        Parameter::new("blocks", &BLOCKS),
        Parameter::new("pattern", &StepPattern::THESIS),
        Parameter::new("priority", &PRIORITY),
    ],
};

/// Threads beside the pattern's, and the pattern's own.
const LOADS: [&str; 2] = ["quiet", "reader"];
/// Blocks of a turn.
const BLOCKS: [usize; 2] = [120, 1000];
const PRIORITY: u8 = Settings::PRIORITY;

impl Experiment for BlockPattern {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, host: &Host, size: Size) -> Result<Design, NotMeasurable> {
        if host.cpus.len() < 2 {
            return Err(NotMeasurable::new("threads that spin for each other need two CPUs"));
        }
        let thesis = StepPattern::parse(StepPattern::THESIS).map_err(NotMeasurable::new)?;
        let threads = thesis.threads.len();
        let rounds =
            Rounds { processes: size.pick(3, 5), per_process: size.pick(10, 40), warm_up: 0 };
        let mut design = Design::facts(Vec::new(), rounds);
        let cores = host.one_per_core().len();
        if cores < threads {
            add(&mut design, host, "fitted", cores.max(2));
        } else {
            let why = format!("four threads fit onto {cores} cores, so it is the same as `thesis`");
            design.missing.push(("fitted".into(), why));
        }
        add(&mut design, host, "thesis", threads);
        if let Err(why) = granted(Class::Fifo { priority: PRIORITY }) {
            let wanted = format!("FIFO {PRIORITY}");
            design.missing.push((wanted, format!("{why}; threads are ordinary ones")));
        }
        Ok(design.twinned())
    }

    fn turn_ms(&self) -> f64 {
        179.0
    }

    fn open(&self, host: &Host, size: Size, design: &Design) -> Opened {
        let blocks = size.of(BLOCKS);
        let stage = Stage::set(host, design, blocks).map_err(NotMeasurable::new)?;
        Ok(Box::new(stage))
    }

    fn historic(&self) -> Vec<Historic> {
        let figure = |label, value, metric| {
            Historic::new(label, value, "ms", metric)
                .beside("thesis reader")
                .means("Time of a block of the imitation, one thread reading a file beside it. No unit is printed; with a block \
                        a millisecond it must be ms.")
                .differs("SMT was switched for the measurement; here it is as the machine has it.")
                .printed_in("bachelor thesis, HAW Hamburg, 2009, section 7.2.1, Core i7 965")
        };
        vec![
            figure("mean, SMT off", 0.57, "block-mean"),
            figure("mean, SMT on", 0.59, "block-mean"),
            figure("slowest, SMT off", 0.77, "block-max"),
            figure("slowest, SMT on", 0.86, "block-max"),
        ]
    }
}

fn add(design: &mut Design, host: &Host, name: &str, threads: usize) {
    let quiet = design.variants.len();
    let cpus = host.spread(threads);
    let variant = |load| {
        let variant = Variant::new(format!("{name} {load}"))
            .with("pattern", name)
            .with("threads", threads)
            .with("load", load)
            .on(&cpus, None);
        variant.crowded_if(load == LOADS[1] || threads > host.cpus.len())
    };
    design.group("block-mean", LOADS.map(variant));
    design.contrasts.push(Contrast::new(quiet, quiet + 1, "block-max"));
}

struct Stage {
    scenes: Vec<(Playing, bool)>,
    preview: PreviewSource,
    seats: SeatCpus,
    blocks: usize,
}

impl Stage {
    fn set(host: &Host, design: &Design, blocks: usize) -> Result<Stage, Fault> {
        let thesis = StepPattern::parse(StepPattern::THESIS).map_err(Fault::new)?;
        let class = granted(Class::Fifo { priority: PRIORITY }).ok();
        let scene = |variant: &Variant| {
            let pattern = thesis.first(variant.cpus.len());
            let shared = variant.cpus.len() > host.cpus.len();
            let playing = Playing::new(pattern, &variant.cpus, class, shared);
            (playing, variant.level("load") == LOADS[1])
        };
        let preview = PreviewSource::tone(44_100, 8 << 20);
        let scenes = design.variants.iter().map(scene).collect();
        Ok(Stage { scenes, preview, seats: seat_cpus(&host.topology), blocks })
    }
}

impl Apparatus for Stage {
    fn measure(&mut self, variant: usize) -> Result<Vec<Sample>, Fault> {
        let (playing, read) = &self.scenes[variant];
        let spec = DisturbSpec { load: Load::Preview, count: 1, place: Where::Anywhere };
        let specs: &[DisturbSpec] = if *read { &[spec] } else { &[] };
        let disturbers = Disturbers::start(specs, Some(&self.preview), &self.seats);
        let disturbers = disturbers.map_err(Fault::new)?;
        let before = disturbers.pieces();
        let played = playing.play(self.blocks)?;
        let pieces = disturbers.pieces() - before;
        if let Some(why) = disturbers.troubles().first() {
            return Err(Fault::new(why));
        }
        let n = played.block_ms.len().max(1) as f64;
        let mean = played.block_ms.iter().sum::<f64>() / n;
        let max = played.block_ms.iter().copied().fold(0.0, f64::max);
        let blocks = self.blocks as u64;
        let mut samples = vec![
            Sample::new("block-mean", mean, blocks, played.check.clone()),
            Sample::new("block-max", max, blocks, played.check.clone()),
            Sample::new("late", played.late as f64 * 100.0 / n, blocks, played.check),
        ];
        if *read {
            let rate = pieces as f64 * 1e9 / played.wall_ns as f64;
            let counted = Check::None("counted".into());
            samples.push(Sample::new("reader-pieces", rate, pieces, counted));
        }
        Ok(samples)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variant_computes_what_it_must() {
        let host = Host::discover().unwrap();
        let Ok(design) = BlockPattern.design(&host, Size::Quick) else {
            println!("SKIPPED every_variant_computes_what_it_must: two CPUs are needed");
            return;
        };
        let mut stage = Stage::set(&host, &design, 5).unwrap();
        for (index, variant) in design.variants.iter().enumerate() {
            let samples = stage.measure(index).unwrap();
            assert_eq!(samples[0].check, Check::Passed, "{}", variant.name);
        }
    }
}
