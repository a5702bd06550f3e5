//! `sibling-priority`: whether priority counts between the two seats of a core.

use std::time::Duration;

use super::priority;
use crate::harness::{
    About, Design, Experiment, Host, Metric, NotMeasurable, Opened, Parameter, Relation, Results,
    Rounds, Section, Sentence, Size, Variant, contrast_sentence, contrast_sentences,
};

/// See [`About`].
pub struct SiblingPriority;

static ABOUT: About = About {
    id: "sibling-priority",
    section: Section::Priority,
    question: "Does a high priority protect a thread from its sibling?",
    origin: "the 2009 thesis on SMT in audio engines, 7.2.5, figure 42: no measurable difference",
    method: "Two threads on the two seats of one core compute blocks of 32 filters, the first a fixed number that is \
             timed. Their levels: `equal` (nice 0 and 0, high beside high), `over-nice-19` (high beside low), \
             `fifo` and `fifo-over-fifo` (real time beside ordinary, and beside lower real time), `idle-class` (low \
             beside high). All are compared with `equal` as well as with the thread alone. Outputs are checked.",
    limits: "One kind of work. Processors with two seats a core share it by their own rule; that of POWER and a few \
             others can be told priorities, which is not done here.",
    metrics: &[
        Metric::less("time", "ms").means("Time that the timed thread needs for its work."),
        Metric::more("load-share", "%").means(
            "CPU time that the other thread got, in percent of that time; a whole CPU is 100.",
        ),
    ],
    parameters: &[Parameter::new("turn", &TURN), Parameter::new("asked", &ASKED)],
};

const TURN: [Duration; 2] = [Duration::from_millis(6), Duration::from_millis(30)];
const ASKED: [(&str, usize); 5] =
    [("equal", 1), ("over-nice-19", 1), ("fifo", 1), ("fifo-over-fifo", 1), ("idle-class", 1)];

impl Experiment for SiblingPriority {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, host: &Host, size: Size) -> Result<Design, NotMeasurable> {
        let pair = host.pair(Relation::Siblings).ok_or_else(|| {
            NotMeasurable::new("no two usable CPUs share a core, so nobody has a sibling")
        })?;
        let alone = Variant::new("alone").with("load-threads", 0).with("level", "equal");
        let alone = alone.on(&[pair.0], None);
        let mut design = Design::facts(vec![alone], Rounds::usual(size));
        priority::add(&mut design, pair, Relation::Siblings, &ASKED);
        // `equal` is always granted, so it is the second.
        for candidate in 2..design.variants.len() {
            design = design.contrast(1, candidate, "time");
        }
        Ok(design.twinned())
    }

    fn open(&self, _: &Host, size: Size, design: &Design) -> Opened {
        priority::apparatus(design, size.of(TURN))
    }

    /// The contrasts with `equal` answer the question; they come first.
    fn findings(&self, results: &Results) -> Vec<Sentence> {
        let contrasts = results.contrasts();
        let answers = contrasts.iter().filter(|contrast| contrast.reference != "alone");
        let mut sentences: Vec<Sentence> = answers.map(contrast_sentence).collect();
        let rest = contrast_sentences(results).into_iter();
        let rest: Vec<Sentence> = rest.filter(|s| !sentences.contains(s)).collect();
        sentences.extend(rest);
        sentences
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn high_beside_low_is_compared_with_high_beside_high() {
        let host = Host::described_with_smt();
        let design = SiblingPriority.design(&host, Size::Quick).unwrap();
        assert_eq!((design.fault(), design.variants[1].level("level")), (None, "equal"));
        let low = design.index("over-nice-19 siblings 1-load").unwrap();
        assert!(design.contrasts.iter().any(|c| (c.reference, c.candidate) == (1, low)));
        assert_eq!(design.variants[low].cpus, [0, 2]);
    }
}
