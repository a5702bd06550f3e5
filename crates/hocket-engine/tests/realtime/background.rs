//! Requests of background work and of the main side, answers, exchanged state, longer blocks and delay lines of other lengths
//! leave no trace of the system inside a block.

use std::any::Any;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use hocket_engine::host::{
    BackgroundWork, Host, MainRequests, MainSide, StateError, WorkAnswers, WorkRequests, WorkRoom,
};
use hocket_engine::{Block, GraphEditor, Processor, Seating};
use hocket_plan::{Edge, Graph, Node, NodeId, NodeKind, ScheduleKind, SiblingPolicy};
use hocket_rt::Strategy;

use crate::stage::{self, FRAMES};
use crate::watching::{self, Watch};

const BLOCKS: u32 = 300;
const ROOM: WorkRoom = WorkRoom { messages: 4, bytes: 64, outlives_reset: false };

/// What a processor reports as its latency, one after the other, for so many blocks each.
const LATENCIES: [u32; 6] = [0, 40, 300, 7, 90, 20];
const HOLDS: usize = 16;

/// What a processor has heard and was called for.
#[derive(Default)]
struct Heard {
    answers: AtomicU32,
    calls: AtomicU32,
    exchanges: AtomicU32,
}

/// Asks for everything in every block.
struct Asks {
    requests: Option<Box<dyn WorkRequests>>,
    main: Option<Box<dyn MainRequests>>,
    heard: Arc<Heard>,
    /// Blocks that it counts.
    blocks: usize,
}

struct Repeats;

impl BackgroundWork for Repeats {
    fn work(&mut self, request: &[u8], answers: &mut dyn WorkAnswers) {
        // Allocates, as real work does.
        let answer = request.to_vec();
        let _ = answers.answer(&answer);
    }
}

struct Side(Arc<Heard>);

impl MainSide for Side {
    fn called(&mut self) {
        self.0.calls.fetch_add(1, Relaxed);
    }

    fn load(&mut self, state: &[u8]) -> Result<Box<dyn Any + Send>, StateError> {
        Ok(Box::new(state.to_vec()))
    }

    fn grow(&mut self, frames: usize) -> Option<Box<dyn Any + Send>> {
        Some(Box::new(vec![0u8; frames]))
    }
}

impl Processor for Asks {
    fn join(&mut self, host: &mut dyn Host) {
        self.requests = Some(host.background(Box::new(Repeats), ROOM));
        self.main = Some(host.main_side(Box::new(Side(Arc::clone(&self.heard)))));
    }

    fn answered(&mut self, answer: &[u8]) {
        assert_eq!(answer, [7; 64]);
        self.heard.answers.fetch_add(1, Relaxed);
    }

    fn exchange(&mut self, new: &mut (dyn Any + Send)) {
        assert!(new.is::<Vec<u8>>());
        self.heard.exchanges.fetch_add(1, Relaxed);
    }

    fn process(&mut self, block: &mut Block<'_>) {
        let _ = self.requests.as_mut().unwrap().request(&[7; 64]);
        let _ = self.requests.as_mut().unwrap().request(&[7; 65]);
        let main = self.main.as_mut().unwrap();
        main.call();
        main.tail_changed(100);
        main.latency_changed(LATENCIES[self.blocks / HOLDS % LATENCIES.len()]);
        self.blocks += 1;
        block.main.left.fill(1.0);
        block.main.right.fill(1.0);
    }

    fn reset(&mut self) {}
}

/// Three that ask, and their mix. They count from different numbers, so that their latencies differ.
fn graph(heard: &Arc<Heard>) -> (Graph, Vec<Option<Box<dyn Processor>>>) {
    let mut graph = Graph::default();
    let mut processors: Vec<Option<Box<dyn Processor>>> = Vec::new();
    for (name, blocks) in [("a", 0), ("b", HOLDS), ("c", HOLDS * 5 / 2)] {
        graph.add(Node::new(name, NodeKind::Custom(0))).unwrap();
        let asks = Asks { requests: None, main: None, heard: Arc::clone(heard), blocks };
        processors.push(Some(Box::new(asks)));
    }
    let inputs = (0..3).map(|from| Edge::new(NodeId(from), 1.0)).collect();
    graph.add(Node { inputs, ..Node::new("mix", NodeKind::Custom(0)) }).unwrap();
    processors.push(None);
    (graph, processors)
}

#[test]
fn what_processors_ask_for_leaves_no_trace_of_the_system() {
    let _alone = stage::alone();
    watching::announce("what_processors_ask_for_leaves_no_trace_of_the_system");
    for schedule in ScheduleKind::ALL {
        let policy = stage::policy(schedule, SiblingPolicy::All, Strategy::Hybrid);
        let workers = if schedule == ScheduleKind::Serial { 1 } else { 2 };
        let seating =
            Seating::described(&stage::paired_cores(2), policy.sibling, Some(workers)).unwrap();
        let heard: Arc<Heard> = Arc::default();
        let (graph, processors) = graph(&heard);
        let settings = stage::ordinary(policy);
        let (mut engine, mut editor) =
            GraphEditor::start(&graph, processors, settings, seating).unwrap();
        watching::forget();
        let (mut frames, mut number) = (FRAMES, 0);
        let mut latencies = BTreeSet::new();
        let is_heard = || heard.answers.load(Relaxed) >= 10 && heard.calls.load(Relaxed) >= 3;
        // The other threads get their turn in any case.
        while number < BLOCKS || !is_heard() || latencies.len() < 3 {
            if number % 50 == 20 && number < BLOCKS {
                editor.load_state(NodeId(1), &[1, 2, 3]).unwrap();
            }
            if number % 100 == 70 && number < BLOCKS {
                frames += 32;
                editor.control().set_largest_block(frames).unwrap();
            }
            {
                let _watch = Watch::begin();
                engine.process(frames as usize);
            }
            number += 1;
            latencies.extend(engine.output_latencies());
            std::thread::yield_now();
        }
        let what = format!("{policy}");
        assert_eq!(engine.contained(), [], "{what}");
        assert_eq!(heard.exchanges.load(Relaxed), 6 + 3 * 3, "{what}");
        watching::check_clean(&what);
    }
}
