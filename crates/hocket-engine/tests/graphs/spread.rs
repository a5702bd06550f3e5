//! Work that a processor spreads over the workers that wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::thread::{self, ThreadId};

use super::*;

const VOICES: usize = 9;

/// Voices with a state each, one pass per voice.
struct Synth {
    /// As bits. Each pass has its own.
    voices: [AtomicU32; VOICES],
    passes: Arc<AtomicU64>,
}

impl Synth {
    fn new(passes: &Arc<AtomicU64>) -> Synth {
        let voices = std::array::from_fn(|voice| AtomicU32::new((voice as f32).to_bits()));
        Synth { voices, passes: Arc::clone(passes) }
    }

    fn next(voice: &AtomicU32, number: u32) -> f32 {
        let next = f32::from_bits(voice.load(Relaxed)) * 0.9 + 0.1 / (number + 1) as f32;
        voice.store(next.to_bits(), Relaxed);
        next
    }
}

impl Processor for Synth {
    fn process(&mut self, block: &mut Block<'_>) {
        block.spread(VOICES as u32, &|pass| {
            Synth::next(&self.voices[pass as usize], pass);
            self.passes.fetch_add(1, Relaxed);
        });
        let sum: f32 = self.voices.iter().map(|voice| f32::from_bits(voice.load(Relaxed))).sum();
        block.main.left.fill(sum);
        block.main.right.fill(-sum);
    }
    fn reset(&mut self) {}
}

/// Three synthesizers side by side: their loops meet in one place.
fn synths(passes: &Arc<AtomicU64>) -> (Graph, Vec<Option<Box<dyn Processor>>>) {
    let mut graph = Graph::default();
    for name in ["a", "b", "c"] {
        graph.add(node(name, &[])).unwrap();
    }
    graph.add(node("out", &[(0, 1.0), (1, 0.5), (2, 0.25)])).unwrap();
    let synth = || Some(Box::new(Synth::new(passes)) as Box<dyn Processor>);
    (graph, vec![synth(), synth(), synth(), None])
}

#[test]
fn spread_work_has_the_same_bits_whoever_does_it() {
    const BLOCKS: usize = 300;
    let play = |kind, workers| {
        let passes = Arc::default();
        let (graph, processors) = synths(&passes);
        let (mut engine, _editor) = start(&graph, processors, (kind, workers));
        let bits: Vec<_> = (0..BLOCKS)
            .map(|_| {
                let (left, right) = block(&mut engine);
                (left.to_bits(), right.to_bits())
            })
            .collect();
        drop(engine);
        assert_eq!(passes.load(Relaxed), (3 * VOICES * BLOCKS) as u64, "{kind:?} {workers}");
        bits
    };
    let expected = play(ScheduleKind::Serial, 1);
    for kind in ScheduleKind::ALL.into_iter().filter(|kind| *kind != ScheduleKind::Serial) {
        for workers in 1..=4 {
            assert_eq!(play(kind, workers), expected, "{kind:?} {workers}");
        }
    }
}

/// What a pass of [`Asks`] does on a thread other than its processor's.
#[derive(Clone, Copy, PartialEq)]
enum Elsewhere {
    Works,
    Panics,
}

/// Spreads passes that yield, so that another thread has time to come.
struct Asks {
    elsewhere: Elsewhere,
    came: Arc<AtomicBool>,
}

impl Asks {
    fn pass(&self, here: ThreadId) {
        if thread::current().id() == here {
            return thread::yield_now();
        }
        self.came.store(true, Relaxed);
        assert!(self.elsewhere == Elsewhere::Works, "as the test asked");
    }
}

impl Processor for Asks {
    fn process(&mut self, block: &mut Block<'_>) {
        let here = thread::current().id();
        block.spread(500, &|_| self.pass(here));
        block.main.left.fill(1.0);
        block.main.right.fill(1.0);
    }
    fn reset(&mut self) {}
}

/// A processor that asks for help, and beside it one with nothing to do, whose worker then waits.
fn asking(kind: ScheduleKind, elsewhere: Elsewhere) -> (Engine, GraphEditor, Arc<AtomicBool>) {
    let mut graph = Graph::default();
    graph.add(node("asks", &[])).unwrap();
    graph.add(node("idle", &[])).unwrap();
    graph.add(node("out", &[(0, 1.0), (1, 1.0)])).unwrap();
    let came = Arc::default();
    let asks = Asks { elsewhere, came: Arc::clone(&came) };
    let processors = vec![Some(Box::new(asks) as _), Some(level(0.0)), None];
    let (engine, editor) = start(&graph, processors, (kind, 2));
    (engine, editor, came)
}

#[test]
fn workers_that_wait_help_under_every_schedule() {
    for kind in ScheduleKind::ALL.into_iter().filter(|kind| *kind != ScheduleKind::Serial) {
        let (mut engine, _editor, came) = asking(kind, Elsewhere::Works);
        // In some block the other worker is awake in time. A hang here means that nobody ever helps.
        while !came.load(Relaxed) {
            assert_eq!(block(&mut engine).1, 1.0, "{kind:?}");
        }
    }
}

#[test]
fn a_panic_on_a_worker_that_helps_silences_the_processor_that_asked() {
    for kind in [ScheduleKind::Lists, ScheduleKind::Dataflow, ScheduleKind::Critical] {
        let (mut engine, editor, came) = asking(kind, Elsewhere::Panics);
        while !came.load(Relaxed) {
            block(&mut engine);
        }
        for _ in 0..20 {
            assert_eq!(block(&mut engine).1, 0.0, "{kind:?}: silent from then on");
        }
        let contained = editor.control().contained();
        assert_eq!(contained.len(), 1, "{kind:?}");
        assert_eq!((contained[0].node.as_str(), contained[0].panicked), ("asks", true), "{kind:?}");
        // The panic of the pass itself, whoever ran it.
        let message = engine.contained().remove(0).message;
        assert_eq!(message.as_deref(), Some("as the test asked"), "{kind:?}");
    }
}
