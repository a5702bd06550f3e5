//! Events leave no trace of the system either: handed over, sent on, delayed, read by the host, and ended when their edge
//! goes; nor do blocks that grow meanwhile.

use hocket_dsp::Block;
use hocket_engine::time::{Event, EventKind, Note, Pushed, Source, TimedCommand, TransportCommand};
use hocket_engine::{GraphEditor, NodeSource, Seating};
use hocket_plan::{
    Edge, EventPorts, Graph, Node, NodeId, NodeKind, Ports, ScheduleKind, SiblingPolicy,
};
use hocket_rt::Strategy;

use crate::stage::{self, Does, FRAMES};
use crate::watching::{self, Watch};

const BLOCKS: u32 = 120;

fn node(name: &str, kind: NodeKind, events: EventPorts, inputs: Vec<Edge>) -> Node {
    let ports = Ports::STEREO.with_events(events);
    Node { ports, inputs, cost: 100.0, ..Node::new(name, kind) }
}

/// A keyboard of the host, a node that sends on, a late effect, and a synthesizer that hears all of them. The host reads the
/// synthesizer, and the node that sends on. `connected`: whether the synthesizer gets what is sent on; delays are other ones
/// then.
fn graph(connected: bool) -> Graph {
    let mut graph = Graph::default();
    let custom = NodeKind::Custom(0);
    let mut add = |node| graph.add(node).unwrap();
    let keyboard = add(node("keyboard", NodeKind::Input(0), EventPorts::OUTPUT, vec![]));
    let inputs = vec![Edge::events(keyboard)];
    let sends_on = add(node("sends on", custom, EventPorts::BOTH, inputs));
    let inputs = vec![Edge::new(sends_on, 1.0)];
    let late = node("late", custom, EventPorts::NONE, inputs);
    let latency_frames = if connected { 100 } else { 250 };
    let late = add(Node { latency_frames, ..late });
    let mut inputs = vec![Edge::new(late, 1.0), Edge::events(keyboard)];
    inputs.extend(connected.then_some(Edge::events(sends_on)));
    let synth = add(node("synth", custom, EventPorts::INPUT, inputs));
    graph.set_outputs(vec![synth, sends_on]).unwrap();
    graph
}

/// Sends every event on, and a sound with it.
fn sends_on(block: &mut Block<'_>) {
    for event in block.received() {
        assert_eq!(block.send(event.frame, event.kind), Pushed::Stored);
        block.main.left[event.frame as usize] = 0.25;
    }
}

/// A step for each event.
fn synth() -> impl FnMut(&mut Block<'_>) + Send {
    let mut level = 0.0;
    move |block| {
        let mut events = block.received().iter().peekable();
        for (frame, sample) in (0..).zip(&mut *block.main.left) {
            while let Some(event) = events.next_if(|event| event.frame <= frame) {
                level = if event.kind.ends_notes() { 0.0 } else { level + 0.125 };
            }
            *sample += level;
        }
    }
}

#[test]
fn events_leave_no_trace_of_the_system() {
    let _alone = stage::alone();
    watching::announce("events_leave_no_trace_of_the_system");
    for schedule in ScheduleKind::ALL {
        let policy = stage::policy(schedule, SiblingPolicy::All, Strategy::Hybrid);
        let seats = stage::paired_cores(2);
        let workers = if schedule == ScheduleKind::Serial { 1 } else { 2 };
        let seating = Seating::described(&seats, policy.sibling, Some(workers)).unwrap();
        let does = |deed| Some(Box::new(deed) as Box<dyn hocket_dsp::Processor>);
        let processors = vec![None, does(Does(sends_on)), None, Some(Box::new(Does(synth())) as _)];
        let settings = stage::ordinary(policy);
        let (mut engine, mut editor) =
            GraphEditor::start(&graph(true), processors, settings, seating).unwrap();
        watching::forget();
        let (mut peak, mut read, mut frames) = (0.0f32, 0, FRAMES as usize);
        for block in 0..BLOCKS {
            if block % 16 == 7 {
                let kept = (0..4).map(|id| NodeSource::Kept(NodeId(id))).collect();
                editor.replace(&graph(block % 32 == 23), kept).unwrap();
            }
            stage::grow(editor.control(), block as usize, &mut frames);
            let _watch = Watch::begin();
            if block % 10 == 4 {
                let command = TransportCommand::Locate(i64::from(block));
                engine.command(TimedCommand { at_steady: 0, command }).unwrap();
            }
            let events = engine.events_mut(0).unwrap();
            for (frame, key) in [(60, 61), (3, 60), (200, 62)] {
                let note = match block % 3 {
                    0 => Note::off(-1, 0, key, 0.0),
                    _ => Note::on(-1, 0, key, 1.0),
                };
                // Some of these come in order, so that nothing has to move.
                let frame = if block % 2 == 0 { frame } else { key as u32 };
                let event = Event::new(frame, Source::LIVE, EventKind::Note(note));
                assert_eq!(events.push(event), Pushed::Stored);
            }
            engine.process(frames);
            let rows = engine.output(frames);
            peak = rows.left.iter().fold(peak, |peak, sample| peak.max(sample.abs()));
            read += engine.output_events(1).unwrap().all().len();
        }
        let what = format!("{policy}");
        assert!(peak > 0.1, "{what}: nothing was played");
        assert!(read >= 2 * BLOCKS as usize, "{what}: {read} events were read");
        assert_eq!(engine.largest_block(), frames, "{what}");
        assert_eq!(engine.contained(), [], "{what}");
        assert_eq!(engine.control().lost_events(), [], "{what}");
        watching::check_clean(&what);
    }
}
