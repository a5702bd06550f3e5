//! `ping-pong`: how fast two threads can take turns.

use std::time::Duration;

use hocket_kernels::turns::{HandOvers, Limit, Way, hand_overs};

use super::words::{then_and_now, where_two_are};
use crate::harness::settle::Settle;
use crate::harness::timed::calibrate;
use crate::harness::{
    About, Axis, Bar, Check, Contrast, Design, Experiment, Fault, Historic, Host, Metric,
    NamedRatio, NotMeasurable, Opened, Parameter, Plot, Relation, Results, Rounds, Sample, Section,
    Sentence, Size, Variant, judged_together, ratio_told,
};
use crate::numbers::{self, quantity};

/// See [`About`].
pub struct PingPong;

static ABOUT: About = About {
    id: "ping-pong",
    section: Section::Waiting,
    question: "How fast can two threads take turns?",
    origin: "tecCHANNEL article of 2003 on Hyper-Threading: empty loop, Sleep(0), PAUSE",
    method: "Only the owner may increment a counter, then makes the other thread the owner and waits until it is the owner \
             again. Every way of waiting is tried with both threads on one CPU and on two CPUs of every relation that \
             the machine has. A turn of the experiment has as many hand-overs as take some milliseconds; where a \
             hand-over on one CPU takes a whole time slice, it ends after a set time. The counter must be the number \
             of hand-overs of both, and neither thread may have had two turns running.",
    limits: "Two threads that do nothing but hand over, so that neither ever waits long: a way of waiting that sleeps \
             is measured with its wake-up, one that spins keeps its CPU busy, which `idle-cost` shows.",
    metrics: &[Metric::more("hand-overs", "1/s")
        .means("Hand-overs a second of both threads together, from the first turn's beginning to the last one's end.")],
    parameters: &[Parameter::new("turn", &TURN), Parameter::new("slices", &SLICES)],
};

const TURN: [Duration; 2] = [Duration::from_millis(3), Duration::from_millis(20)];
/// The same where a hand-over takes a time slice.
const SLICES: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(200)];
/// With what the others are compared, as in 2003.
const REFERENCE: Way = Way::Empty;

impl Experiment for PingPong {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, host: &Host, size: Size) -> Result<Design, NotMeasurable> {
        let mut design = Design::facts(Vec::new(), Rounds::usual(size));
        for (relation, (a, b)) in host.pairs_by_relation() {
            add_relation(&mut design, relation, [a, b]);
        }
        for way in Way::ALL {
            if let Some(why) = way.missing() {
                design.missing.push((way.to_string(), why.into()));
            }
        }
        Ok(design.without_relations_of(host).twinned())
    }

    fn open(&self, _: &Host, size: Size, design: &Design) -> Opened {
        let mut games = Vec::new();
        for variant in &design.variants {
            let game = Game::of(variant, size).map_err(NotMeasurable::new)?;
            games.push(game);
        }
        Ok(Box::new(move |variant: usize| games[variant].turn()))
    }

    fn findings(&self, results: &Results) -> Vec<Sentence> {
        let measured = Relation::ALL.into_iter();
        measured.filter_map(|relation| fastest(results, relation)).collect()
    }

    fn plots(&self, results: &Results) -> Vec<Plot> {
        let title = "Hand-overs a second, 2003 and now";
        then_and_now(results, title, "1/s").into_iter().chain([bars(results)]).collect()
    }

    fn historic(&self) -> Vec<Historic> {
        HISTORIC.to_vec()
    }
}

fn name(way: Way, relation: Relation) -> String {
    format!("{way} {relation}")
}

/// Every way on one pair of CPUs, compared with the empty loop.
fn add_relation(design: &mut Design, relation: Relation, cpus: [u32; 2]) {
    let first = design.variants.len();
    for way in Way::here() {
        let variant = Variant::new(name(way, relation))
            .with("way", way)
            .with("relation", relation)
            .on(&cpus, Some(relation));
        // On one CPU one of the two is put aside at every hand-over.
        let crowded = relation == Relation::SameCpu;
        design.variants.push(variant.crowded_if(crowded));
    }
    let reference = design.index(&name(REFERENCE, relation)).unwrap_or(first);
    let others = (first..design.variants.len()).filter(|other| *other != reference);
    design.contrasts.extend(others.map(|other| Contrast::new(reference, other, "hand-overs")));
}

/// One way of taking turns on two CPUs.
struct Game {
    way: Way,
    cpus: Vec<u32>,
    limit: Limit,
}

impl Game {
    /// With so many hand-overs as take some milliseconds, or a set time where one takes a time slice.
    fn of(variant: &Variant, size: Size) -> Result<Game, Fault> {
        let way: Way = variant.level("way").parse().map_err(Fault::new)?;
        let slow = way.needs_two_cpus() && variant.relation == Some(Relation::SameCpu);
        let time = match slow {
            true => size.of(SLICES),
            false => Duration::from_secs(2),
        };
        let mut game =
            Game { way, cpus: variant.cpus.clone(), limit: Limit { hand_overs: u64::MAX, time } };
        if !slow {
            let target = size.of(TURN);
            game.limit.hand_overs = calibrate(target, |n| game.played(n)).map(|n| n.max(2))?;
        }
        Ok(game)
    }

    fn played(&self, hand_overs: u64) -> Result<u64, Fault> {
        let played = self.play(Limit { hand_overs, ..self.limit })?;
        Ok(played.elapsed.as_nanos() as u64)
    }

    fn play(&self, limit: Limit) -> Result<HandOvers, Fault> {
        let settle = Settle::on(&self.cpus);
        let played = hand_overs(self.way, limit, &|number| settle.thread(number));
        settle.end()?;
        played.map_err(Fault::new)
    }

    fn turn(&self) -> Result<Vec<Sample>, Fault> {
        let played = self.play(self.limit)?;
        let total = played.total();
        if total == 0 {
            let time = self.limit.time.as_millis();
            return Err(Fault(format!("no hand-over in {time} ms: the CPU never changed hands")));
        }
        let check = Check::of(played.check());
        let rate = total as f64 / played.elapsed.as_secs_f64().max(1e-9);
        Ok(vec![Sample::new("hand-overs", rate, total, check)])
    }
}

/// The fastest way, the fastest that sleeps, the slowest, and what PAUSE and yielding change.
fn fastest(results: &Results, relation: Relation) -> Option<Sentence> {
    let of = |way: Way| Some((way, results.estimate(&name(way, relation), "hand-overs")?));
    let mut ranked: Vec<_> = Way::ALL.into_iter().filter_map(of).collect();
    ranked.sort_by(|a, b| b.1.value.total_cmp(&a.1.value));
    let (best, most) = ranked.first()?;
    let (worst, fewest) = ranked.last()?;
    let mut text = format!(
        "{}: fastest is {best} with {} hand-overs, slowest {worst} with {}",
        where_two_are(relation),
        numbers::estimate(most, "1/s"),
        quantity(fewest.value, "1/s")
    );
    if let Some((way, rate_of)) = ranked.iter().find(|(way, _)| sleeps(*way)) {
        text += &format!("; of those that sleep {way} with {}", quantity(rate_of.value, "1/s"));
    }
    let pair = |way: Way| {
        let label = format!("{way} against {REFERENCE}");
        NamedRatio::new(label, name(REFERENCE, relation), name(way, relation), "hand-overs")
    };
    for (label, ratio) in judged_together(results, &[pair(Way::Pause), pair(Way::Yield)]) {
        text += &format!("; {label}: {}", ratio_told(&ratio));
    }
    // The two were picked among all ways.
    let pairs = ranked.len() * (ranked.len() - 1) / 2;
    let (slow, fast) = (name(*worst, relation), name(*best, relation));
    Some(Sentence::about(text, &[results.judged_of(&slow, &fast, "hand-overs", pairs.max(1))]))
}

/// Whether a waiter leaves its CPU at once.
fn sleeps(way: Way) -> bool {
    use hocket_rt::Strategy;
    matches!(
        way,
        Way::Signal(Strategy::Futex)
            | Way::Futex
            | Way::Condvar
            | Way::Semaphore
            | Way::Eventfd
            | Way::Pipe
    )
}

fn bars(results: &Results) -> Plot {
    let bar = |relation: Relation, way: Way| {
        let estimate = results.estimate(&name(way, relation), "hand-overs")?;
        Some(Bar { label: way.to_string(), estimate, group: relation.to_string() })
    };
    let of = |relation| Way::ALL.into_iter().filter_map(move |way| bar(relation, way));
    Plot::Bars {
        title: "Hand-overs by way of waiting and relation of the CPUs".into(),
        axis: Axis::log("hand-overs", "1/s"),
        bars: Relation::ALL.into_iter().flat_map(of).collect(),
    }
}

const fn siblings(label: &'static str, value: f64, variant: &'static str) -> Historic {
    Historic::new(label, value, "1/s", "hand-overs")
        .beside(variant)
        .means("Two threads on the two siblings of one core; increments of both in a second.")
        .printed_in("tecCHANNEL 2003, Hyper-Threading: loops a second with and without Hyper-Threading, Pentium 4 3.06 GHz, \
                     Windows XP")
}

const fn one_cpu(label: &'static str, value: f64, variant: &'static str) -> Historic {
    siblings(label, value, variant)
        .means("Two threads on the one CPU of the system; increments of both in a second.")
        .differs("The system had one CPU; here two threads share one CPU of several.")
}

/// Sleep(0) offers the time slice to another thread that is ready, as `sched_yield` does.
static HISTORIC: [Historic; 6] = [
    one_cpu("empty loop, one CPU", 11.0, "empty same-cpu"),
    siblings("empty loop, Hyper-Threading on", 8_557_000.0, "empty siblings"),
    one_cpu("Sleep(0), beside sched_yield, one CPU", 1_253_000.0, "yield same-cpu"),
    siblings("Sleep(0), beside sched_yield, Hyper-Threading on", 2_392_000.0, "yield siblings"),
    one_cpu("PAUSE, one CPU", 11.0, "pause same-cpu"),
    siblings("PAUSE, Hyper-Threading on", 51_058_000.0, "pause siblings"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_2003_stand_beside_variants_of_a_machine_with_siblings() {
        let design = PingPong.design(&Host::described_with_smt(), Size::Quick).unwrap();
        assert_eq!(design.fault(), None);
        for old in PingPong.historic() {
            assert!(old.variant.is_some_and(|variant| design.index(variant).is_some()));
        }
        let pair = &design.variants[design.index("pause siblings").unwrap()];
        assert_eq!((pair.cpus.as_slice(), pair.crowded), (&[0, 2][..], false));
    }

    #[test]
    fn sleeping_threads_take_turns_on_one_cpu_and_on_two() {
        let host = Host::discover().unwrap();
        for way in Way::here().filter(|way| sleeps(*way)) {
            for cpus in [vec![host.cpus[0]; 2], host.spread(2)] {
                let limit = Limit { hand_overs: 51, time: Duration::from_secs(120) };
                let samples = Game { way, cpus, limit }.turn().unwrap();
                assert_eq!((samples[0].ops, &samples[0].check), (51, &Check::Passed), "{way}");
            }
        }
    }
}
