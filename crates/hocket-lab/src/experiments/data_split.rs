//! `data-split`: what it costs to compute an image in parts.

use std::time::Duration;

use hocket_kernels::ThreadGroup;
use hocket_kernels::filters::{Filter, Image, Split, filter};
use hocket_machine::class::{self, Class};
use hocket_machine::pin::{self, CpuSet};
use hocket_rt::{SpinCost, Strategy, Wait};

use crate::harness::{
    About, Axis, Check, Contrast, Design, Experiment, Fault, Host, Mark, Metric, NotMeasurable,
    Opened, Parameter, Plot, Results, Rounds, Sample, Section, Series, Size, Variant,
};

/// See [`About`].
pub struct DataSplit;

static ABOUT: About = About {
    id: "data-split",
    section: Section::Threads,
    question: "What does it cost to split an image filter into parts?",
    origin: "an article of 2003 on Hyper-Threading, optimisations and pitfalls",
    method: "An image of 640 by 480 grey pixels is brightened (a pixel by itself), sharpened (its neighbours) or blurred \
             three times (neighbours, stage after stage) in n bands by n pinned threads (FIFO 20 where granted). Between the stages all wait for \
             all, with `pause` or `futex` (`barrier-pause`, `barrier-futex`), or each part computes the margins that its \
             later stages read by itself (`margins`). One part needs neither. The image must be the same bits.",
    limits: "Starting the threads is not counted; `loop-parallel` counts it. The image fits into the last-level cache.",
    metrics: &[Metric::less("time", "us")
        .means("From the first thread's beginning to the last one's end, for one image.")],
    parameters: &[Parameter::new("images", &IMAGES), Parameter::new("size", &SIZE)],
};

const WAYS: [&str; 3] = ["margins", "barrier-pause", "barrier-futex"];
/// Images of a turn.
const IMAGES: [u64; 2] = [2, 8];
const SIZE: (usize, usize) = (640, 480);
/// With more parts than this the bands of the image are a few rows.
const MOST: usize = 64;

impl Experiment for DataSplit {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, host: &Host, size: Size) -> Result<Design, NotMeasurable> {
        let mut design = Design::facts(Vec::new(), Rounds::usual(size));
        for kind in Filter::ALL {
            let one = design.variants.len();
            design.variants.push(variant(kind, "whole", &host.spread(1), false));
            for parts in counts(host, size) {
                add(&mut design, host, kind, parts, one);
            }
        }
        Ok(design.twinned())
    }

    fn open(&self, host: &Host, size: Size, design: &Design) -> Opened {
        let images = size.of(IMAGES);
        let turns: Result<Vec<Turn>, Fault> =
            design.variants.iter().map(|variant| Turn::of(variant, host, images)).collect();
        let turns = turns.map_err(NotMeasurable::new)?;
        Ok(Box::new(move |variant: usize| turns[variant].measure()))
    }

    fn plots(&self, results: &Results) -> Vec<Plot> {
        // The filter of several stages first: there the ways of cutting differ.
        Filter::ALL.iter().rev().filter_map(|kind| plot(results, *kind)).collect()
    }
}

/// Halves, all cores, all CPUs, and twice as many parts.
fn counts(host: &Host, size: Size) -> Vec<usize> {
    let cpus = host.cpus.len();
    let mut counts = vec![2, host.one_per_core().len(), cpus];
    counts.extend(size.pick(None, Some(2 * cpus)));
    counts.retain(|parts| (2..=MOST).contains(parts));
    counts.sort_unstable();
    counts.dedup();
    counts
}

fn add(design: &mut Design, host: &Host, kind: Filter, parts: usize, one: usize) {
    let cpus = host.spread(parts);
    // With one stage there is nothing to wait for.
    let ways = if kind.stages() == 1 { &WAYS[..1] } else { &WAYS[..] };
    let first = design.variants.len();
    for way in ways {
        let index = design.variants.len();
        design.variants.push(variant(kind, way, &cpus, parts > host.cpus.len()));
        design.contrasts.push(Contrast::new(one, index, "time"));
        if index > first {
            design.contrasts.push(Contrast::new(first, index, "time"));
        }
    }
}

fn variant(kind: Filter, way: &str, cpus: &[u32], crowded: bool) -> Variant {
    let variant = Variant::new(format!("{kind} {way} {}", cpus.len()))
        .with("filter", kind)
        .with("way", way)
        .with("parts", cpus.len())
        .on(cpus, None);
    variant.crowded_if(crowded)
}

/// One variant, ready to be measured.
struct Turn {
    image: Image,
    checksum: u64,
    kind: Filter,
    split: Split,
    cpus: Vec<u32>,
    class: Option<Class>,
    images: u64,
}

impl Turn {
    fn of(variant: &Variant, host: &Host, images: u64) -> Result<Turn, Fault> {
        let image = Image::noise(SIZE.0, SIZE.1, 1);
        let kind: Filter = variant.level("filter").parse().map_err(Fault::new)?;
        let whole = filter(&image, kind, &ThreadGroup::anywhere(1), Split::Margins);
        let checksum = whole.map_err(Fault::new)?.image.checksum();
        let wait = |way| Wait::new(way, &SpinCost::measure(), Duration::ZERO);
        let split = match variant.level("way") {
            "barrier-pause" => {
                Split::Barrier(wait(Strategy::Pause).yielding_after(Duration::from_micros(50)))
            }
            "barrier-futex" => Split::Barrier(wait(Strategy::Futex)),
            _ => Split::Margins,
        };
        let (cpus, class) = (variant.cpus.clone(), host.fifo(20).ok());
        Ok(Turn { image, checksum, kind, split, cpus, class, images })
    }

    fn measure(&self) -> Result<Vec<Sample>, Fault> {
        let settle = |part: usize| {
            // Where it is refused the thread runs anywhere, as the others of the variant do.
            let _ = pin::pin_current_thread(&CpuSet::single(self.cpus[part]));
            self.class.map(class::request);
        };
        let group = ThreadGroup::new(self.cpus.len(), &settle);
        let (mut took, mut check) = (Duration::ZERO, Check::Passed);
        for _ in 0..self.images {
            let filtered =
                filter(&self.image, self.kind, &group, self.split).map_err(Fault::new)?;
            took += filtered.elapsed;
            let wrong = filtered.check(self.checksum).err();
            check =
                check.and(wrong.map_or(Check::Passed, |wrong| Check::Failed(wrong.to_string())));
        }
        let us = took.as_secs_f64() * 1e6 / self.images as f64;
        Ok(vec![Sample::new("time", us, self.images, check)])
    }
}

/// Time by the number of parts, a line a way.
fn plot(results: &Results, kind: Filter) -> Option<Plot> {
    let design = results.design()?;
    let of = |way: &str| {
        let is = |v: &&Variant| {
            v.level("filter") == kind.to_string() && [way, "whole"].contains(&v.level("way"))
        };
        let point = |variant: &Variant| {
            Some((variant.cpus.len() as f64, results.estimate(&variant.name, "time")?))
        };
        let points: Vec<_> = design.variants.iter().filter(is).filter_map(point).collect();
        (points.len() > 1).then(|| Series { name: way.into(), points })
    };
    let series: Vec<Series> = WAYS.into_iter().filter_map(of).collect();
    let cpus = design.variants.iter().filter(|v| !v.crowded).map(|v| v.cpus.len()).max();
    (!series.is_empty()).then(|| Plot::Lines {
        title: format!("{kind}: one image in n parts"),
        x: Axis::linear("parts", ""),
        y: Axis::linear("time of an image", "us"),
        series,
        marks: cpus.map(|n| Mark { at: n as f64, label: "CPUs".into() }).into_iter().collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_split_of_this_machine_gives_the_image() {
        let host = Host::discover().unwrap();
        let design = DataSplit.design(&host, Size::Quick).unwrap();
        for variant in &design.variants {
            let samples = Turn::of(variant, &host, 1).unwrap().measure().unwrap();
            assert_eq!(samples[0].check, Check::Passed, "{}", variant.name);
        }
    }
}
