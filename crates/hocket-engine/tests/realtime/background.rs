//! Requests of background work and of the main side, answers, exchanged state and longer blocks leave no trace of the
//! system inside a block.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use hocket_engine::host::{
    BackgroundWork, Host, MainRequests, MainSide, StateError, WorkAnswers, WorkRequests, WorkRoom,
};
use hocket_engine::{Block, GraphEditor, Processor, Seating};
use hocket_plan::{Graph, Node, NodeId, NodeKind, ScheduleKind, SiblingPolicy};
use hocket_rt::Strategy;

use crate::stage::{self, FRAMES};
use crate::watching::{self, Watch};

const BLOCKS: u32 = 300;
const ROOM: WorkRoom = WorkRoom { messages: 4, bytes: 64, outlives_reset: false };

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
        main.latency_changed(0);
        block.main.left.fill(1.0);
        block.main.right.fill(1.0);
    }

    fn reset(&mut self) {}
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
        let asks = || Asks { requests: None, main: None, heard: Arc::clone(&heard) };
        let mut graph = Graph::default();
        let mut processors = Vec::new();
        for name in ["a", "b", "c"] {
            graph.add(Node::new(name, NodeKind::Custom(0))).unwrap();
            processors.push(Some(Box::new(asks()) as Box<dyn Processor>));
        }
        let settings = stage::ordinary(policy);
        let (mut engine, mut editor) =
            GraphEditor::start(&graph, processors, settings, seating).unwrap();
        watching::forget();
        let mut frames = FRAMES;
        let mut number = 0;
        // The other threads get their turn in any case.
        while number < BLOCKS || heard.answers.load(Relaxed) < 10 || heard.calls.load(Relaxed) < 3 {
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
            std::thread::yield_now();
        }
        let what = format!("{policy}");
        assert_eq!(engine.contained(), [], "{what}");
        assert_eq!(heard.exchanges.load(Relaxed), 6 + 3 * 3, "{what}");
        watching::check_clean(&what);
    }
}
