//! Fades between sounds of different sources keep the power, those of one sound by two ways keep the level: under every
//! kind of schedule, however blocks are cut.

use hocket_engine::{
    Block, Edge, Engine, Graph, GraphEditor, Node, NodeId, NodeKind, NodeSource, Processor,
    ScheduleKind, Settings, Steer,
};

use super::model::Random;
use super::{seating, settings};

const FRAMES: usize = 64;
const FADE: usize = 512;

/// White noise between -1 and 1, of its own on each side.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f32 {
        // Knuth's MMIX generator; its upper half is the good one.
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 32) as u32 as f32 / (1u64 << 31) as f32 - 1.0
    }
}

impl Processor for Noise {
    fn process(&mut self, block: &mut Block<'_>) {
        for i in 0..block.frames() {
            (block.main.left[i], block.main.right[i]) = (self.next(), self.next());
        }
    }
    fn reset(&mut self) {}
}

/// Plays its value.
struct Constant(f32);

impl Processor for Constant {
    fn process(&mut self, block: &mut Block<'_>) {
        block.main.left.fill(self.0);
        block.main.right.fill(self.0);
    }
    fn reset(&mut self) {}
}

/// Passes on what it gets.
struct Passes;

impl Processor for Passes {
    fn process(&mut self, _: &mut Block<'_>) {}
    fn reset(&mut self) {}
}

/// A graph by what each node reads. The last one is the output.
fn graph(reads: &[&[usize]]) -> Graph {
    let mut graph = Graph::default();
    for (number, reads) in reads.iter().enumerate() {
        let inputs = reads.iter().map(|from| Edge::new(NodeId(*from as u32), 1.0)).collect();
        let node = Node::new(format!("n{number}"), NodeKind::Custom(0));
        graph.add(Node { inputs, ..node }).unwrap();
    }
    graph
}

fn start(
    graph: &Graph,
    processors: Vec<Option<Box<dyn Processor>>>,
    (schedule, workers): (ScheduleKind, usize),
) -> (Engine, GraphEditor) {
    let settings = settings(schedule);
    let settings = Settings { frames: FRAMES as u32, steer: Steer::Fixed, ..settings };
    GraphEditor::start(graph, processors, settings, seating(workers)).unwrap()
}

/// As many frames of the left side, in blocks of up to so many.
fn heard(engine: &mut Engine, mut frames: usize, at_once: usize) -> Vec<f32> {
    let mut heard = Vec::new();
    while frames > 0 {
        let part = frames.min(at_once);
        engine.process(part);
        heard.extend_from_slice(engine.output(part).left);
        frames -= part;
    }
    heard
}

/// Goes on with another graph of the same nodes.
fn exchange(editor: &mut GraphEditor, graph: &Graph) {
    let kept = (0..graph.nodes().len() as u32).map(|node| NodeSource::Kept(NodeId(node)));
    editor.replace(graph, kept.collect()).unwrap();
}

/// What is heard while the second graph takes the place of the first, which has the same nodes: the frames of the fade.
fn faded(sources: &[f32], first: &[&[usize]], second: &[&[usize]]) -> Vec<f32> {
    let (first, second) = (graph(first), graph(second));
    let processors = (0..first.nodes().len()).map(|node| match sources.get(node) {
        Some(value) => Some(Box::new(Constant(*value)) as Box<dyn Processor>),
        None => Some(Box::new(Passes) as _),
    });
    let way = (ScheduleKind::Serial, 1);
    let (mut engine, mut editor) = start(&first, processors.collect(), way);
    heard(&mut engine, FRAMES, FRAMES);
    exchange(&mut editor, &second);
    heard(&mut engine, FADE, FRAMES)
}

/// How much of a fade is over.
fn part(frame: usize) -> f64 {
    let part = frame as f64 / FADE as f64;
    part * part * (3.0 - 2.0 * part)
}

fn is_near(heard: &[f32], expected: impl Fn(usize) -> f64) {
    assert_eq!(heard.len(), FADE);
    for (frame, heard) in heard.iter().enumerate() {
        let expected = expected(frame);
        assert!((f64::from(*heard) - expected).abs() < 2e-6, "{frame}: {heard}, not {expected}");
    }
}

fn falls(frame: usize) -> f64 {
    (std::f64::consts::FRAC_PI_2 * part(frame)).cos()
}

fn rises(frame: usize) -> f64 {
    (std::f64::consts::FRAC_PI_2 * part(frame)).sin()
}

#[test]
fn two_independent_noises_keep_their_power_throughout_a_fade() {
    const FADES: usize = 300;
    let graphs = [graph(&[&[], &[], &[0]]), graph(&[&[], &[], &[1]])];
    let noise = |seed| Some(Box::new(Noise(seed)) as Box<dyn Processor>);
    let processors = vec![noise(1), noise(u64::MAX / 3), Some(Box::new(Passes) as _)];
    let (mut engine, mut editor) = start(&graphs[0], processors, (ScheduleKind::Dataflow, 2));
    // By part of a fade, and a part before it.
    let mut powers = [0.0; 9];
    for fade in 0..FADES {
        let before = heard(&mut engine, FRAMES, FRAMES);
        exchange(&mut editor, &graphs[1 - fade % 2]);
        let fading = heard(&mut engine, FADE, FRAMES);
        for (power, piece) in
            powers.iter_mut().zip([&before[..]].into_iter().chain(fading.chunks(FADE / 8)))
        {
            *power += piece.iter().map(|sample| f64::from(*sample).powi(2)).sum::<f64>();
        }
        assert!(editor.is_settled());
    }
    for (part, power) in powers[1..].iter().enumerate() {
        let decibels = 10.0 * (power / powers[0]).log10();
        assert!(decibels.abs() < 0.5, "part {part} of 8: {decibels} dB");
    }
}

#[test]
fn sounds_of_different_sources_fade_with_equal_power() {
    let (left, right): (&[&[usize]], &[&[usize]]) = (&[&[], &[], &[0]], &[&[], &[], &[1]]);
    is_near(&faded(&[1.0, 0.0], left, right), falls);
    is_near(&faded(&[0.0, 1.0], left, right), rises);
    // Over processors, and beside an edge that stays.
    let by_ways: [&[&[usize]]; 2] =
        [&[&[], &[], &[0], &[1], &[2, 0]], &[&[], &[], &[0], &[1], &[0, 3]]];
    is_near(&faded(&[0.0, 1.0], by_ways[0], by_ways[1]), rises);
}

#[test]
fn one_sound_by_two_ways_keeps_its_level() {
    let one = |_: usize| 1.0;
    // Past a processor and through it.
    is_near(&faded(&[1.0], &[&[], &[0], &[0]], &[&[], &[0], &[1]]), one);
    is_near(&faded(&[1.0], &[&[], &[0], &[1]], &[&[], &[0], &[0]]), one);
    // Two sounds change places: each of them keeps its level where both meet again.
    let places: [&[&[usize]]; 2] =
        [&[&[], &[], &[0], &[1], &[2, 3]], &[&[], &[], &[1], &[0], &[2, 3]]];
    is_near(&faded(&[1.0, 0.0], places[0], places[1]), one);
    is_near(&faded(&[0.0, 1.0], places[0], places[1]), one);
    // Both ways hear it, besides others.
    let mixed: [&[&[usize]]; 2] =
        [&[&[], &[], &[0], &[0, 1], &[2]], &[&[], &[], &[0], &[0, 1], &[3]]];
    is_near(&faded(&[1.0, 0.0], mixed[0], mixed[1]), one);
}

#[test]
fn what_comes_or_goes_alone_fades_with_the_curve_that_bends_least() {
    is_near(&faded(&[1.0, 0.0], &[&[], &[], &[0, 1]], &[&[], &[], &[1]]), |frame| {
        1.0 - part(frame)
    });
    is_near(&faded(&[1.0, 0.0], &[&[], &[], &[1]], &[&[], &[], &[0, 1]]), part);
    // Two that go and come at different nodes.
    let apart: [&[&[usize]]; 2] =
        [&[&[], &[], &[0], &[], &[2, 3]], &[&[], &[], &[], &[1], &[2, 3]]];
    is_near(&faded(&[1.0, 0.0], apart[0], apart[1]), |frame| 1.0 - part(frame));
}

/// Nodes of one engine input are one source, those of two are two.
#[test]
fn engine_inputs_are_sources() {
    for (second, expected) in [(0, (|_| 1.0) as fn(usize) -> f64), (1, falls)] {
        let graph = |from| {
            let mut graph = Graph::default();
            for number in [0, second] {
                graph.add(Node::new("input", NodeKind::Input(number))).unwrap();
            }
            let mix = Node::new("mix", NodeKind::Custom(0));
            graph.add(Node { inputs: vec![Edge::new(NodeId(from), 1.0)], ..mix }).unwrap();
            graph
        };
        let processors = vec![None, None, None];
        let (mut engine, mut editor) = start(&graph(0), processors, (ScheduleKind::Serial, 1));
        let block = |engine: &mut Engine| {
            // Only the first engine input has a sound.
            let mut rows = engine.input_mut(0, FRAMES).unwrap();
            rows.iter_mut().for_each(|row| row.fill(1.0));
            heard(engine, FRAMES, FRAMES)
        };
        block(&mut engine);
        let sources =
            [NodeSource::Kept(NodeId(0)), NodeSource::Kept(NodeId(1)), NodeSource::Kept(NodeId(2))];
        editor.replace(&graph(1), sources.into()).unwrap();
        let fading: Vec<f32> = (0..FADE / FRAMES).flat_map(|_| block(&mut engine)).collect();
        is_near(&fading, expected);
    }
}

/// Exchanges at every second block, so that fades are turned round.
#[test]
fn every_schedule_and_every_cut_gives_the_same_bits() {
    let play = |way, at_once| {
        let reads = |random: &mut Random| [random.below(3), random.below(3)];
        let graph = |[a, b]: [usize; 2]| graph(&[&[], &[], &[], &[a], &[b], &[3, 4]]);
        let noise = |seed| Some(Box::new(Noise(seed)) as Box<dyn Processor>);
        let passes = || Some(Box::new(Passes) as Box<dyn Processor>);
        let processors = vec![noise(3), noise(5), noise(7), passes(), passes(), passes()];
        let mut random = Random::new(5);
        let (mut engine, mut editor) = start(&graph([0, 1]), processors, way);
        let mut bits = Vec::new();
        for _ in 0..100 {
            exchange(&mut editor, &graph(reads(&mut random)));
            bits.extend(heard(&mut engine, 2 * FRAMES, at_once).into_iter().map(f32::to_bits));
        }
        bits
    };
    let expected = play((ScheduleKind::Serial, 1), FRAMES);
    for kind in ScheduleKind::ALL {
        let workers = if kind == ScheduleKind::Serial { 1 } else { 3 };
        for at_once in [FRAMES, 1, 23] {
            assert!(
                play((kind, workers), at_once) == expected,
                "{kind:?}, {at_once} frames at once"
            );
        }
    }
}
