//! The states of all processors: saved in one go, restored before one block, into engines that start and that play.

use std::any::Any;
use std::sync::{Arc, Mutex};

use hocket_engine::host::{Host, MainSide, StateError};
use hocket_engine::{MainThread, SavedState, StateFailure};
use proptest::prelude::*;

use super::model::Random;
use super::{
    AppliedAt, Block, Engine, FRAMES, Graph, GraphEditor, Node, NodeId, NodeKind, NodeSource,
    Processor, ScheduleKind, Settings, level, seating, settings,
};

/// What the main side of a [`Keeps`] does besides keeping a number.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Does {
    Keep,
    HaveNone,
    RefuseToSave,
    RefuseToLoad,
    Panic,
}

/// Plays its number, which is its state.
struct Keeps {
    number: f32,
    side: Option<Side>,
}

struct Side {
    number: Arc<Mutex<f32>>,
    does: Does,
}

impl MainSide for Side {
    fn save(&mut self) -> Result<Vec<u8>, StateError> {
        match self.does {
            Does::HaveNone => Err(hocket_engine::host::NoState.into()),
            Does::RefuseToSave => Err("not now".into()),
            Does::Panic => panic!("as the test asked"),
            _ => Ok(self.number.lock().unwrap().to_le_bytes().to_vec()),
        }
    }

    fn load(&mut self, state: &[u8]) -> Result<Box<dyn Any + Send>, StateError> {
        if self.does == Does::RefuseToLoad {
            return Err("of another version".into());
        }
        let number = f32::from_le_bytes(state.try_into()?);
        *self.number.lock().unwrap() = number;
        Ok(Box::new(number))
    }
}

impl Processor for Keeps {
    fn join(&mut self, host: &mut dyn Host) {
        _ = host.main_side(Box::new(self.side.take().unwrap()));
    }
    fn process(&mut self, block: &mut Block<'_>) {
        block.main.left.fill(self.number);
        block.main.right.fill(self.number);
    }
    fn exchange(&mut self, new: &mut (dyn Any + Send)) {
        self.number = *new.downcast_ref().unwrap();
    }
    fn reset(&mut self) {}
}

fn keeps(number: f32, does: Does) -> Box<dyn Processor> {
    let side = Side { number: Arc::new(Mutex::new(number)), does };
    Box::new(Keeps { number, side: Some(side) })
}

/// Nodes of these names side by side, each an output of its own.
fn graph(names: &[&str]) -> Graph {
    let mut graph = Graph::default();
    for name in names {
        graph.add(Node::new(*name, NodeKind::Custom(0))).unwrap();
    }
    graph.set_outputs((0..names.len() as u32).map(NodeId).collect()).unwrap();
    graph
}

fn start(
    names: &[&str],
    processors: Vec<Box<dyn Processor>>,
    main_thread: MainThread,
) -> (Engine, GraphEditor) {
    let settings = Settings { main_thread, ..settings(ScheduleKind::Dataflow) };
    let processors = processors.into_iter().map(Some).collect();
    GraphEditor::start(&graph(names), processors, settings, seating(2)).unwrap()
}

/// What each node plays in the next block.
fn block(engine: &mut Engine) -> Vec<f32> {
    engine.process(FRAMES);
    let one = |rows: hocket_engine::RowsRef<'_>| {
        assert!(rows.row(0).iter().all(|sample| *sample == rows.row(0)[0]));
        rows.row(0)[0]
    };
    (0..).map_while(|output| engine.output_rows(output, FRAMES).map(one)).collect()
}

fn saved(node: u32, name: &str, number: f32) -> SavedState {
    SavedState { node: NodeId(node), name: name.into(), state: number.to_le_bytes().to_vec() }
}

fn gone(node: u32, name: &str) -> StateFailure {
    StateFailure::Gone { node: NodeId(node), name: name.into() }
}

fn refused(node: &str, why: &str) -> StateFailure {
    StateFailure::Refused { node: node.into(), why: why.into() }
}

#[test]
fn all_states_are_saved_and_go_into_another_engine_before_its_first_block_or_all_before_a_later_one()
 {
    for main_thread in [MainThread::Own, MainThread::Starting] {
        for offline in [false, true] {
            let names = ["a", "plain", "b", "none"];
            let all = |numbers: [f32; 2]| {
                let [a, b] = numbers.map(|number| keeps(number, Does::Keep));
                vec![a, level(7.0), b, keeps(9.0, Does::HaveNone)]
            };
            let (mut engine, editor) = start(&names, all([1.0, 2.0]), main_thread);
            engine.set_offline(offline);
            block(&mut engine);
            let states = editor.control().save_states().unwrap();
            assert_eq!(states.failures, []);
            assert_eq!(states.states, [saved(0, "a", 1.0), saved(2, "b", 2.0)]);
            let (mut other, mut editor) = start(&names, all([3.0, 4.0]), main_thread);
            other.set_offline(offline);
            let restored = editor.restore_states(&states.states).unwrap();
            assert_eq!((restored.number, restored.failures), (Some(0), vec![]));
            let play = |engine: &mut Engine| {
                let all = block(engine);
                [all[0], all[2]]
            };
            assert_eq!(play(&mut other), [1.0, 2.0]);
            let later = [saved(2, "b", 6.0), saved(0, "a", 5.0)];
            assert_eq!(editor.restore_states(&later).unwrap().number, Some(1));
            assert_eq!(play(&mut other), [5.0, 6.0]);
            let frames = [(0, 0), (1, FRAMES as u64)];
            let applied = frames.map(|(number, frame)| AppliedAt { number, frame });
            assert_eq!(editor.take_applied(), applied);
        }
    }
}

#[test]
fn what_fails_is_named_and_the_others_are_saved_and_restored() {
    let names = ["good", "shy", "panics", "old", "plain"];
    let does = [Does::Keep, Does::RefuseToSave, Does::Panic, Does::RefuseToLoad];
    let mut processors: Vec<_> = does.map(|does| keeps(1.0, does)).into();
    processors.push(level(1.0));
    let (mut engine, mut editor) = start(&names, processors, MainThread::Own);
    let states = editor.control().save_states().unwrap();
    assert_eq!(states.states, [saved(0, "good", 1.0), saved(3, "old", 1.0)]);
    let panicked =
        "the processor's main side panicked and is not called again, or it is inside a call";
    assert_eq!(states.failures, [refused("shy", "not now"), refused("panics", panicked)]);
    let all = [
        saved(9, "away", 5.0),
        saved(4, "plain", 5.0),
        saved(2, "panics", 5.0),
        saved(3, "old", 5.0),
        saved(0, "good", 5.0),
        saved(0, "good", 6.0),
    ];
    let restored = editor.restore_states(&all).unwrap();
    let expected = [
        gone(9, "away"),
        StateFailure::NoState("plain".into()),
        gone(0, "good"),
        refused("panics", panicked),
        refused("old", "of another version"),
    ];
    assert_eq!(restored.failures, expected);
    assert_eq!(block(&mut engine)[..4], [5.0, 1.0, 1.0, 1.0]);
    let none = editor.restore_states(&[saved(9, "away", 5.0)]).unwrap();
    assert_eq!((none.number, none.failures), (None, vec![gone(9, "away")]));
}

#[test]
fn of_nodes_that_share_a_name_each_gets_its_own_state_and_none_a_foreign_one() {
    let pair = || vec![keeps(1.0, Does::Keep), keeps(2.0, Does::Keep)];
    let (mut engine, mut editor) = start(&["eq", "eq"], pair(), MainThread::Own);
    let states = [saved(0, "eq", 3.0), saved(1, "eq", 4.0)];
    assert_eq!(editor.restore_states(&states).unwrap().failures, []);
    assert_eq!(block(&mut engine), [3.0, 4.0]);
    let elsewhere = [saved(5, "eq", 8.0)];
    assert_eq!(editor.restore_states(&elsewhere).unwrap().failures, [gone(5, "eq")]);
    assert_eq!(block(&mut engine), [3.0, 4.0]);
}

/// All that a processor has: what its main side makes is a whole one, as that of a plug-in may be.
#[derive(Clone, Copy)]
struct Whole {
    number: f32,
    room: usize,
}

impl MainSide for Whole {
    fn load(&mut self, state: &[u8]) -> Result<Box<dyn Any + Send>, StateError> {
        self.number = f32::from_le_bytes(state.try_into()?);
        Ok(Box::new(*self))
    }
    fn grow(&mut self, frames: usize) -> Option<Box<dyn Any + Send>> {
        assert!(frames >= self.room, "no smaller number follows");
        self.room = frames;
        Some(Box::new(*self))
    }
}

impl Processor for Whole {
    fn join(&mut self, host: &mut dyn Host) {
        self.room = host.largest_block();
        _ = host.main_side(Box::new(*self));
    }
    fn process(&mut self, block: &mut Block<'_>) {
        assert!(block.frames() <= self.room, "it has room for {}", self.room);
        block.main.left.fill(self.number);
        block.main.right.fill(self.number);
    }
    fn exchange(&mut self, new: &mut (dyn Any + Send)) {
        *self = *new.downcast_ref().unwrap();
    }
    fn reset(&mut self) {}
}

/// States are restored while blocks grow and graphs are exchanged, each by a thread of its own.
#[test]
fn restored_states_reach_the_processors_that_play_whatever_else_is_ordered_meanwhile() {
    const TIMES: u32 = 40;
    let whole = || Box::new(Whole { number: 0.0, room: 0 }) as Box<dyn Processor>;
    let names = ["a", "b"];
    let (mut engine, mut editor) = start(&names, vec![whole(), whole()], MainThread::Own);
    let control = editor.control().clone();
    std::thread::scope(|scope| {
        let restores = scope.spawn(|| {
            for time in 1..=TIMES {
                let number = time as f32;
                let states = [saved(0, "a", number), saved(1, "b", -number)];
                assert_eq!(control.restore_states(&states).unwrap().failures, []);
            }
        });
        let grows = scope.spawn(|| {
            let sizes = (1..=TIMES).map(|time| FRAMES as u32 + time);
            sizes.for_each(|frames| _ = control.set_largest_block(frames).unwrap());
        });
        let edits = scope.spawn(|| {
            for _ in 0..TIMES {
                let kept = [NodeId(0), NodeId(1)].map(NodeSource::Kept);
                editor.replace(&graph(&names), kept.into()).unwrap();
            }
        });
        let all = [restores, grows, edits];
        while !all.iter().all(|thread| thread.is_finished()) || !control.is_settled() {
            let frames = engine.largest_block();
            engine.process(frames);
        }
        all.into_iter().for_each(|thread| thread.join().unwrap());
    });
    assert_eq!(engine.largest_block(), FRAMES + TIMES as usize);
    assert_eq!(block(&mut engine), [TIMES as f32, -(TIMES as f32)]);
    assert_eq!(engine.contained(), []);
}

/// A node of the graph that a random sequence of edits changes.
#[derive(Debug, Clone)]
struct Present {
    name: String,
    number: f32,
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(40),
        failure_persistence: Some(Box::new(
            proptest::test_runner::FileFailurePersistence::Direct(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/tests/proptest-regressions/graphs-states.txt"
            ))
        )),
        ..ProptestConfig::default()
    })]

    /// Nodes come, go and change their places; now and then all states are saved, or the last ones restored.
    #[test]
    fn states_find_their_nodes_after_any_edits(seed in any::<u64>(), steps in 2..24usize) {
        let mut random = Random::new(seed);
        let mut all: Vec<Present> =
            (0..4).map(|n| Present { name: format!("n{n}"), number: n as f32 }).collect();
        let names: Vec<&str> = all.iter().map(|it| it.name.as_str()).collect();
        let processors = all.iter().map(|it| keeps(it.number, Does::Keep)).collect();
        let (mut engine, mut editor) = start(&names, processors, MainThread::Own);
        let mut kept: Vec<SavedState> = Vec::new();
        let mut made = 4;
        for _ in 0..steps {
            match random.below(4) {
                0 => {
                    let states = editor.control().save_states().unwrap();
                    prop_assert_eq!(states.failures, []);
                    let expected =
                        (0..).zip(&all).map(|(node, it)| saved(node, &it.name, it.number));
                    prop_assert!(states.states.iter().cloned().eq(expected));
                    kept = states.states;
                }
                1 => {
                    let restored = editor.restore_states(&kept).unwrap();
                    let mut lost = Vec::new();
                    for state in &kept {
                        let number = f32::from_le_bytes(state.state[..].try_into().unwrap());
                        match all.iter_mut().find(|it| it.name == state.name) {
                            Some(it) => it.number = number,
                            None => lost.push(gone(state.node.0, &state.name)),
                        }
                    }
                    prop_assert_eq!(restored.failures, lost);
                }
                _ => {
                    let before = all.clone();
                    all.retain(|_| !random.one_in(4));
                    let new = Present { name: format!("n{made}"), number: made as f32 };
                    made += 1;
                    all.insert(random.below(all.len() + 1), new);
                    let (from, to) = (random.below(all.len()), random.below(all.len()));
                    all.swap(from, to);
                    let source = |it: &Present| {
                        match before.iter().position(|was| was.name == it.name) {
                            Some(id) => NodeSource::Kept(NodeId(id as u32)),
                            None => NodeSource::New(keeps(it.number, Does::Keep)),
                        }
                    };
                    let names: Vec<&str> = all.iter().map(|it| it.name.as_str()).collect();
                    let sources = all.iter().map(source).collect();
                    editor.replace(&graph(&names), sources).unwrap();
                }
            }
            let expected: Vec<f32> = all.iter().map(|it| it.number).collect();
            prop_assert_eq!(block(&mut engine), expected);
        }
    }
}
