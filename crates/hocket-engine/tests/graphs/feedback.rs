//! Echo loops that come and go: heard as fades.

use hocket_engine::{
    Block, Edge, Engine, Graph, GraphEditor, Node, NodeId, NodeKind, NodeSource, Processor,
    ScheduleKind, Settings,
};

use super::{FRAMES, seating, settings};

/// Of a fade, in blocks.
const FADE: usize = 512 / FRAMES;

struct One;

impl Processor for One {
    fn process(&mut self, block: &mut Block<'_>) {
        block.main.left.fill(1.0);
    }

    fn reset(&mut self) {}
}

/// A source, an echo of it if there is to be one, and what is heard: the echo or nothing.
fn graph(echo: bool, gain_lin: Option<f32>) -> Graph {
    let mut graph = Graph::default();
    let node = |name: &str, inputs| Node { inputs, ..Node::new(name, NodeKind::Custom(0)) };
    let source = graph.add(node("source", vec![])).unwrap();
    let mut heard = Vec::new();
    if echo {
        let echo = graph.add(node("echo", vec![Edge::new(source, 1.0)])).unwrap();
        let back = gain_lin.map(|gain_lin| graph.feed_back(Edge::new(echo, gain_lin), echo));
        back.into_iter().for_each(|done| done.unwrap());
        heard.push(Edge::new(echo, 1.0));
    }
    graph.add(node("heard", heard)).unwrap();
    graph
}

fn kept(ids: &[u32]) -> Vec<NodeSource> {
    ids.iter().map(|id| NodeSource::Kept(NodeId(*id))).collect()
}

fn start(gain_lin: Option<f32>) -> (Engine, GraphEditor) {
    let processors = vec![Some(Box::new(One) as _), None, None];
    let settings = settings(ScheduleKind::Dataflow);
    let (mut engine, editor) =
        GraphEditor::start(&graph(true, gain_lin), processors, settings, seating(2)).unwrap();
    // Until the loop is as loud as it gets.
    play(&mut engine, 40);
    (engine, editor)
}

fn play(engine: &mut Engine, blocks: usize) -> Vec<f32> {
    let block = |_| {
        engine.process(FRAMES);
        engine.output(FRAMES).left.to_vec()
    };
    (0..blocks).flat_map(block).collect()
}

fn steps(heard: &[f32]) -> f32 {
    heard.windows(2).map(|pair| (pair[1] - pair[0]).abs()).fold(0.0, f32::max)
}

#[test]
fn a_loop_that_is_removed_goes_on_while_it_fades_out() {
    let (mut engine, mut editor) = start(Some(0.5));
    let mut heard = play(&mut engine, 1);
    assert_eq!(heard[0], 2.0, "1 + 1/2 + 1/4 and so on");
    editor.replace(&graph(false, None), kept(&[0, 2])).unwrap();
    heard.extend(play(&mut engine, FADE + 1));
    // Half of the fade, and nothing of the loop is lost.
    assert_eq!(heard[FRAMES + 256], 1.0);
    assert!(steps(&heard) < 0.01, "{}", steps(&heard));
    assert_eq!(heard[heard.len() - 1], 0.0);
    assert!(editor.is_settled());
    engine.process(FRAMES);
    assert!(engine.schedule().units().units().iter().all(|unit| !unit.name.contains("echo")));
}

#[test]
fn feedback_edges_that_come_go_or_change_their_gain_fade() {
    let (mut engine, mut editor) = start(None);
    let mut heard = play(&mut engine, 1);
    for (gain_lin, level) in [(Some(0.5), 2.0), (Some(0.75), 4.0), (None, 1.0)] {
        editor.replace(&graph(true, gain_lin), kept(&[0, 1, 2])).unwrap();
        heard.extend(play(&mut engine, FADE + 100));
        let last = heard[heard.len() - 1];
        assert!((last - level).abs() < 1e-5, "{gain_lin:?}: {last}");
    }
    assert!(steps(&heard) < 0.03, "{}", steps(&heard));
    // At once, for comparison.
    editor.replace_at_once(&graph(true, Some(0.5)), kept(&[0, 1, 2])).unwrap();
    assert_eq!(steps(&play(&mut engine, 2)), 0.5);
}

#[test]
fn feedback_that_waits_longer_than_blocks_sounds_alike_with_all_of_them() {
    let heard = |frames: u32, grown: Option<u32>| {
        let mut graph = graph(true, Some(-0.75));
        graph.set_feedback_frames(96).unwrap();
        let processors = vec![Some(Box::new(Ramp(0.0)) as _), None, None];
        let settings = Settings { frames, ..settings(ScheduleKind::Dataflow) };
        let (mut engine, editor) =
            GraphEditor::start(&graph, processors, settings, seating(2)).unwrap();
        let mut heard = Vec::new();
        while heard.len() < 960 {
            if heard.len() >= 480 {
                grown.iter().for_each(|frames| _ = editor.control().set_largest_block(*frames));
            }
            let frames = engine.largest_block().min(96);
            assert_eq!(engine.process(frames).frames, frames);
            heard.extend(engine.output(frames).left.iter().map(|sample| sample.to_bits()));
        }
        heard.truncate(960);
        heard
    };
    let once = heard(96, None);
    assert_ne!(once[95], once[96], "it is heard");
    for (frames, grown) in [(16, None), (32, Some(96)), (16, Some(48)), (96, Some(96))] {
        assert_eq!(heard(frames, grown), once, "{frames} {grown:?}");
    }
    assert!(Graph::default().set_feedback_frames(Graph::MAX_DELAY + 1).is_err());
}

/// Another value in each frame.
struct Ramp(f32);

impl Processor for Ramp {
    fn process(&mut self, block: &mut Block<'_>) {
        for sample in block.main.left.iter_mut() {
            *sample = self.0;
            self.0 += 1.0;
        }
    }

    fn reset(&mut self) {}
}
