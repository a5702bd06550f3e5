//! Equal effects of two strips as one: the bits, and what is contained, are those of each strip by itself. With every
//! schedule, number of workers and length of blocks, and while strips come, go and change.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use hocket_engine::{ChainCost, CostTable, Couples, Fusing, Prepared};
use hocket_plan::Unit;

use super::*;

const STRIPS: u32 = 12;
const LONGEST: usize = 128;
const TOTAL_FRAMES: usize = 40 * LONGEST;

/// Noise from a seed, with a few samples that are none, or hardly any.
struct Noise {
    seed: u32,
    next: u32,
    frame: usize,
}

impl Noise {
    fn sample(&mut self) -> f32 {
        self.next = self.next.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let noise = (self.next >> 8) as f32 / 8_388_608.0 - 1.0;
        let place = self.frame + 97 * self.seed as usize;
        self.frame += 1;
        match place % 3001 {
            // Too much for an equaliser that lifts: the strip's next effect is contained.
            1500 if self.seed.is_multiple_of(3) => f32::MAX,
            1900 if self.seed.is_multiple_of(4) => -f32::MAX,
            2000 if self.seed == 5 => f32::NAN,
            700 => -0.0,
            701..720 => noise * 1e-39,
            2500..2900 => 0.0,
            _ => noise,
        }
    }
}

impl Processor for Noise {
    fn process(&mut self, block: &mut Block<'_>) {
        for frame in 0..block.frames() {
            block.main.left[frame] = self.sample();
            // What is no number comes on one side.
            block.main.right[frame] = 0.5 - 0.001 * (self.frame % 100) as f32;
        }
    }
    fn reset(&mut self) {
        (self.next, self.frame) = (self.seed, 0);
    }
}

fn noise(seed: u32) -> Box<dyn Processor> {
    Box::new(Noise { seed, next: seed, frame: 0 })
}

/// An equaliser with so many bands on; `seed` says where.
fn eq(bands: u32, seed: u32) -> Box<dyn Processor> {
    let eq = hocket_dsp::kind("eq").unwrap();
    let mut values = eq.defaults();
    for band in 0..4 {
        let at = 4 * band as usize;
        values[at] = if band < bands { (1 + (seed + band) % 8) as f32 } else { 0.0 };
        values[at + 1] = (80 * (1 + seed) + 900 * band) as f32;
        values[at + 3] = 5.0 - seed as f32;
    }
    (eq.build)(&values, 48_000)
}

/// A compressor that works hard; `seed` says how.
fn compressor(seed: u32) -> Box<dyn Processor> {
    let compressor = hocket_dsp::kind("compressor").unwrap();
    let mut values = compressor.defaults();
    (values[0], values[3]) = (-40.0 + 2.0 * seed as f32, 0.5 + seed as f32);
    (compressor.build)(&values, 48_000)
}

/// Strips of noise through two equalisers of four bands, a compressor, and a gain; and a master. The last strip
/// has no second equaliser.
fn strips() -> (Graph, Vec<Option<Box<dyn Processor>>>) {
    let mut graph = Graph::default();
    let mut processors: Vec<Option<Box<dyn Processor>>> = Vec::new();
    let mut add = |name: String, inputs: &[(u32, f32)], processor| {
        processors.push(processor);
        graph.add(Node { latency_frames: 0, cost: 10.0, ..node(&name, inputs) }).unwrap().0
    };
    let mut ends = Vec::new();
    for strip in 0..STRIPS {
        let mut last = add(format!("{strip}: noise"), &[], Some(noise(strip)));
        last = add(format!("{strip}: eq"), &[(last, 1.0)], Some(eq(4, strip)));
        if strip + 1 < STRIPS {
            last = add(format!("{strip}: eq"), &[(last, 1.0)], Some(eq(4, strip + 1)));
        }
        last = add(format!("{strip}: compressor"), &[(last, 1.0)], Some(compressor(strip)));
        let gain = hocket_dsp::kind("gain").unwrap();
        let gain = (gain.build)(&[-6.0], 48_000);
        ends.push((add(format!("{strip}: gain"), &[(last, 1.0)], Some(gain)), 1.0));
    }
    add("master: sum".into(), &ends, None);
    (graph, processors)
}

fn engine(schedule: ScheduleKind, workers: usize, couples: Couples) -> Engine {
    let (graph, processors) = strips();
    engine_of(&graph, processors, schedule, workers, couples)
}

fn engine_of(
    graph: &Graph,
    processors: Vec<Option<Box<dyn Processor>>>,
    schedule: ScheduleKind,
    workers: usize,
    couples: Couples,
) -> Engine {
    let prepared = Prepared::from_graph(graph, processors, Fusing::Chains).unwrap();
    let seats = (0..8).map(|seat| Seat { core: seat / 2, speed: 1.0 }).collect();
    let sibling = SiblingPolicy::All;
    let seating = Seating::described(&Seats { seats }, sibling, Some(workers)).unwrap();
    let policy = Policy { schedule, sibling, wait: Strategy::Hybrid };
    let settings = Settings { priority: None, ..Settings::new(LONGEST as u32, 48_000, policy) };
    Engine::start(prepared, Settings { couples, ..settings }, seating).unwrap()
}

fn couples_of(engine: &Engine) -> usize {
    engine.schedule().units().units().iter().map(|unit| unit.couples.len()).sum()
}

/// The output, and what was contained.
fn play(engine: &mut Engine, cut: usize) -> (Vec<u32>, Vec<(String, u64)>) {
    engine.reset();
    let mut bits = [Vec::new(), Vec::new()];
    let mut frame = 0;
    while frame < TOTAL_FRAMES {
        let frames = cut.min(TOTAL_FRAMES - frame);
        engine.process(frames);
        let rows = engine.output(frames);
        bits[0].extend(rows.left.iter().map(|sample| sample.to_bits()));
        bits[1].extend(rows.right.iter().map(|sample| sample.to_bits()));
        frame += frames;
    }
    let contained = engine.contained();
    let mut contained: Vec<_> =
        contained.into_iter().map(|contained| (contained.node, contained.not_finite)).collect();
    contained.sort();
    (bits.concat(), contained)
}

#[test]
fn strips_abreast_have_the_bits_of_each_by_itself() {
    for cut in [LONGEST, 1, 5, 33, 61, 100] {
        let mut plain = engine(ScheduleKind::Serial, 1, Couples::Never);
        assert_eq!(couples_of(&plain), 0);
        let expected = play(&mut plain, cut);
        assert!(expected.0.iter().any(|bits| *bits != 0));
        assert!(!expected.1.is_empty(), "nothing had to be contained");
        for schedule in ScheduleKind::ALL {
            let most = if schedule == ScheduleKind::Serial { 1 } else { 3 };
            for workers in 1..=most {
                let mut engine = engine(schedule, workers, Couples::Always);
                // The last strip is another one. Three units stay for each of several workers.
                let made = [5, 5, 4][workers - 1];
                assert_eq!(couples_of(&engine), made, "{schedule:?}, {workers} workers");
                let played = play(&mut engine, cut);
                assert!(played == expected, "{schedule:?}, {workers} workers, blocks of {cut}");
            }
        }
    }
}

/// Every few blocks another plan with other couples, for blocks whose lengths change.
#[test]
fn plans_that_take_over_have_the_bits_of_each_by_itself() {
    let lengths = [LONGEST, 1, 33, 5, 100, 61, 2, LONGEST - 1];
    let mut plain = engine(ScheduleKind::Serial, 1, Couples::Never);
    let mut engine = engine(ScheduleKind::Dataflow, 3, Couples::Always);
    let control = engine.control();
    let mut coupled = HashSet::new();
    for (block, frames) in lengths.into_iter().cycle().take(400).enumerate() {
        let kind = ScheduleKind::ALL[block / 5 % ScheduleKind::ALL.len()];
        if block % 5 == 0 {
            control.set_schedule(Some(kind)).unwrap();
        }
        let [got, expected] = [&mut engine, &mut plain].map(|engine| {
            engine.process(frames);
            let rows = engine.output(frames);
            rows.left.iter().chain(rows.right).map(|sample| sample.to_bits()).collect::<Vec<u32>>()
        });
        assert!(got == expected, "{kind:?}, block {block} of {frames} frames");
        assert_eq!(engine.schedule().kind(), kind, "block {block}");
        coupled.insert(couples_of(&engine));
    }
    let contained = [&engine, &plain].map(|engine| {
        let mut contained = engine.contained();
        contained.sort_by(|one, other| one.node.cmp(&other.node));
        contained
    });
    assert_eq!(contained[0], contained[1]);
    assert!(!contained[0].is_empty(), "nothing had to be contained");
    assert!(coupled.iter().any(|couples| *couples > 0), "no plan had a couple");
}

#[test]
fn the_usual_settings_have_no_couples_and_those_that_look_have_them_where_the_cpu_can() {
    let policy = Policy {
        schedule: ScheduleKind::Serial,
        sibling: SiblingPolicy::Off,
        wait: Strategy::Hybrid,
    };
    assert_eq!(Settings::new(64, 48_000, policy).couples, Couples::Never);
    let made = couples_of(&engine(ScheduleKind::Serial, 1, Couples::WhereTheyPay));
    assert!([0, 5].contains(&made), "{made}");
}

/// Strips so cheap that the master's unit runs all of them.
#[test]
fn traces_name_the_strips_of_all_couples_of_a_unit() {
    let mut plain = engine(ScheduleKind::Serial, 1, Couples::Never);
    let expected = play(&mut plain, LONGEST);
    let mut engine = engine(ScheduleKind::Serial, 1, Couples::Always);
    let control = engine.control();
    let cheap = |unit: &Unit| {
        let (chain, kind) = (unit.name.clone(), 0);
        ChainCost { chain, kind, alone_ns: Some(1.0), shared_ns: None }
    };
    let rows = plain.schedule().units().units().iter().map(cheap).collect();
    let costs = CostTable { frames: LONGEST as u32, rate_hz: 48_000, machine: String::new(), rows };
    control.adopt_costs(&costs).unwrap();
    control.set_schedule(Some(ScheduleKind::Serial)).unwrap();
    assert!(play(&mut engine, LONGEST) == expected);
    let all = "master: sum (0 | 1; 2 | 3; 4 | 5; 6 | 7; 8 | 9)";
    assert_eq!(engine.trace().unit_names, [all]);
    assert!(control.costs().iter().any(|cost| cost.unit == all), "{:?}", control.costs());
}

#[test]
fn traces_name_both_strips() {
    let mut engine = engine(ScheduleKind::Serial, 1, Couples::Always);
    engine.process(LONGEST);
    let names: Vec<String> = engine.trace().unit_names;
    let both = "0: noise, eq, eq, compressor, gain | 1: noise, eq, eq, compressor, gain";
    assert!(names.iter().any(|name| name == both), "{names:?}");
    let costs = engine.control().costs();
    assert!(costs.iter().any(|cost| cost.unit == both), "{costs:?}");
    // A cost table knows each chain by itself.
    let table = engine.control().cost_table("");
    for strip in 0..STRIPS {
        let own = |row: &&ChainCost| row.chain.starts_with(&format!("{strip}: "));
        assert_eq!(table.rows.iter().filter(own).count(), 1, "strip {strip}");
    }
}

/// Where an equaliser panics.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Where {
    /// Before it runs abreast.
    Asked,
    /// In a block of its own: it has a key, but never runs abreast.
    Alone,
    /// When it is reset, because what comes out is not finite.
    Reset,
}

/// An equaliser that panics after so many blocks, and says when it is freed.
struct Fails {
    eq: Box<dyn Processor>,
    place: Where,
    left: usize,
    freed: Arc<AtomicBool>,
}

impl Fails {
    fn new(eq: Box<dyn Processor>, place: Where) -> Fails {
        Fails::of(eq, place, &Arc::default())
    }

    fn of(eq: Box<dyn Processor>, place: Where, freed: &Arc<AtomicBool>) -> Fails {
        Fails { eq, place, left: 3, freed: Arc::clone(freed) }
    }

    fn count(&mut self, place: Where) {
        if place == self.place {
            self.left = self.left.checked_sub(1).expect("enough");
        }
    }
}

impl Drop for Fails {
    fn drop(&mut self) {
        self.freed.store(true, Relaxed);
    }
}

impl Processor for Fails {
    fn process(&mut self, block: &mut Block<'_>) {
        self.count(Where::Alone);
        self.eq.process(block);
    }
    fn reset(&mut self) {
        assert!(self.place != Where::Reset, "not again");
        self.eq.reset();
    }
    fn abreast_key(&self) -> Option<hocket_dsp::AbreastKey> {
        self.eq.abreast_key()
    }
    fn abreast(&mut self, events: &[hocket_dsp::TimedChange]) -> Option<hocket_dsp::Abreast<'_>> {
        self.count(Where::Asked);
        if self.place == Where::Alone { None } else { self.eq.abreast(events) }
    }
}

/// What runs for so many blocks, and then something else.
struct Until {
    left: usize,
    first: Box<dyn Processor>,
    then: fn(&mut f32),
}

impl Processor for Until {
    fn process(&mut self, block: &mut Block<'_>) {
        self.first.process(block);
        match self.left.checked_sub(1) {
            Some(left) => self.left = left,
            None => {
                block.main.left.iter_mut().chain(block.main.right.iter_mut()).for_each(self.then)
            }
        }
    }
    fn reset(&mut self) {
        self.first.reset();
    }
}

type Put<'a> = &'a dyn Fn(u32, Box<dyn Processor>) -> Box<dyn Processor>;

/// Four strips of noise through an equaliser each, in two couples. `source` and `effect` may put something else there.
fn of_four(source: Put<'_>, effect: Put<'_>) -> Engine {
    let mut graph = Graph::default();
    let mut processors: Vec<Option<Box<dyn Processor>>> = Vec::new();
    let mut ends = Vec::new();
    for strip in 0..4 {
        processors.push(Some(source(strip, noise(1 + strip))));
        let from = graph.add(node(&format!("noise {strip}"), &[])).unwrap().0;
        processors.push(Some(effect(strip, eq(4, strip))));
        ends.push((graph.add(node(&format!("eq {strip}"), &[(from, 1.0)])).unwrap().0, 1.0));
    }
    processors.push(None);
    graph.add(node("sum", &ends)).unwrap();
    engine_of(&graph, processors, ScheduleKind::Serial, 1, Couples::Always)
}

/// Only the strip whose code panics is silent, from that block on. The other one of its couple sounds as ever.
#[test]
fn a_strip_that_panics_is_silent_and_no_other_one() {
    for (place, fails) in [Where::Asked, Where::Alone, Where::Reset]
        .into_iter()
        .flat_map(|place| [0, 1].map(|fails| (place, fails)))
    {
        let source = |strip, noise| -> Box<dyn Processor> {
            match place == Where::Reset && strip == fails {
                true => Box::new(Until {
                    left: 3,
                    first: noise,
                    then: |it| *it = it.signum() * f32::MAX,
                }),
                false => noise,
            }
        };
        // The first equaliser makes loud sounds louder.
        let effect = |strip, other| -> Box<dyn Processor> {
            if strip == fails { Box::new(Fails::new(eq(4, 0), place)) } else { other }
        };
        let muted = |strip, other| -> Box<dyn Processor> {
            match strip == fails {
                true => Box::new(Until { left: 3, first: eq(4, 0), then: |it| *it = 0.0 }),
                false => other,
            }
        };
        let (mut engine, mut expected) = (of_four(&source, &effect), of_four(&source, &muted));
        assert_eq!((couples_of(&engine), couples_of(&expected)), (2, 1));
        for block in 0..6 {
            engine.process(LONGEST);
            expected.process(LONGEST);
            let sound = engine.output(LONGEST).left;
            let case = format!("{place:?}, strip {fails}, block {block}");
            assert!(sound.iter().any(|sample| *sample != 0.0), "{case}: silent");
            assert_eq!(sound, expected.output(LONGEST).left, "{case}");
            let contained = engine.contained();
            let named: Vec<_> = contained.iter().map(|it| (&*it.node, it.panicked)).collect();
            let failed = [(&*format!("eq {fails}"), true)];
            assert_eq!(named, if block < 3 { &[][..] } else { &failed }, "{case}");
        }
    }
}

/// One of a couple was silent before the other one fails. A block frees nothing, so what the first one was stays.
#[test]
fn a_strip_that_was_silent_before_keeps_what_it_has() {
    let freed = Arc::new(AtomicBool::new(false));
    let effect = |strip, eq| -> Box<dyn Processor> {
        match strip {
            0 => Box::new(Fails::of(eq, Where::Reset, &freed)),
            1 => Box::new(Fails::new(eq, Where::Asked)),
            _ => eq,
        }
    };
    let mut engine = of_four(&|_, noise| noise, &effect);
    engine.reset();
    for block in 0..6 {
        engine.process(LONGEST);
        assert!(!freed.load(Relaxed), "block {block} freed a processor");
    }
    let contained = engine.contained();
    let named: Vec<_> = contained.iter().map(|it| (&*it.node, it.message.as_deref())).collect();
    assert_eq!(named, [("eq 0", Some("not again")), ("eq 1", Some("enough"))]);
    drop(engine);
    assert!(freed.load(Relaxed));
}
