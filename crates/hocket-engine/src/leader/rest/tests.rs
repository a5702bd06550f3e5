use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use hocket_dsp::{Block, Processor};
use hocket_plan::{Edge, Fusing, Graph, Node, NodeKind, Ports, ScheduleKind, SiblingPolicy};
use hocket_time::{TimedCommand, TransportCommand};

use super::AFTER_S;
use crate::test_engines::{FRAMES, engine, node, settings};
use crate::{Engine, Prepared, VirtualDevice};

/// Blocks after which everything has been silent long enough.
const BLOCKS: u64 = AFTER_S * 48_000 / FRAMES as u64;

/// Passes its input on, and counts its blocks.
struct Counts {
    blocks: Arc<AtomicU64>,
    rests: bool,
}

impl Processor for Counts {
    fn process(&mut self, _: &mut Block<'_>) {
        self.blocks.fetch_add(1, Relaxed);
    }

    fn reset(&mut self) {}

    fn rests(&self) -> bool {
        self.rests
    }
}

/// What ends a rest.
type End = fn(&mut Stopped);

/// An engine whose song stands still. Its output is its input.
struct Stopped {
    engine: Engine,
    blocks: Arc<AtomicU64>,
}

impl Stopped {
    fn new(rests: bool) -> Stopped {
        let blocks = Arc::new(AtomicU64::new(0));
        let mut graph = Graph::default();
        let ports = Ports::default();
        let input = graph.add(Node { ports, ..Node::new("in", NodeKind::Input(0)) }).unwrap();
        graph.add(node(1, vec![Edge::new(input, 1.0)])).unwrap();
        let counts = Counts { blocks: Arc::clone(&blocks), rests };
        let prepared =
            Prepared::from_graph(&graph, vec![None, Some(Box::new(counts))], Fusing::None).unwrap();
        let settings = settings(ScheduleKind::Serial, SiblingPolicy::All);
        let mut stopped = Stopped { engine: engine(prepared, settings, 1), blocks };
        stopped.command(0, TransportCommand::Stop);
        stopped
    }

    fn command(&mut self, at_steady: u64, command: TransportCommand) {
        self.engine.command(TimedCommand { at_steady, command }).unwrap();
    }

    /// How many of the next blocks of so many frames are processed.
    fn processed(&mut self, blocks: u64, frames: usize) -> u64 {
        let before = self.blocks.load(Relaxed);
        for _ in 0..blocks {
            let times = self.engine.process(frames);
            assert_eq!((times.frames, times.workers), (frames, 1));
        }
        self.blocks.load(Relaxed) - before
    }

    /// Everything has been silent for so long that it rests.
    fn rested() -> Stopped {
        let mut stopped = Stopped::new(true);
        assert_eq!(stopped.processed(BLOCKS + 100, FRAMES), BLOCKS);
        stopped
    }
}

#[test]
fn a_stopped_engine_rests_and_counts_on() {
    let mut stopped = Stopped::rested();
    let frames = (BLOCKS + 100) * FRAMES as u64;
    assert_eq!(stopped.engine.transport().steady_frame(), frames);
    assert!(stopped.engine.output(FRAMES).left.iter().all(|sample| *sample == 0.0));
    assert!(stopped.engine.rests() && stopped.engine.progress.rests());
    // Rows hold silence as far as the last block went.
    assert_eq!(stopped.processed(10, FRAMES / 2), 0);
    assert_eq!(stopped.processed(1, FRAMES), 0);
}

/// Each with the number of blocks that it lasts.
#[test]
fn whatever_comes_ends_the_rest_for_ten_seconds() {
    let ends: [(End, u64); 4] = [
        (|stopped| stopped.command(0, TransportCommand::Locate(480)), 1),
        (|stopped| stopped.engine.input_mut(0, FRAMES).unwrap().row_mut(1)[7] = 0.5, 1),
        (
            |stopped| {
                let stop = TimedCommand { at_steady: 0, command: TransportCommand::Stop };
                stopped.engine.control().transport(stop).unwrap();
            },
            0,
        ),
        (
            |stopped| {
                stopped.command(0, TransportCommand::Play);
                assert_eq!(stopped.processed(5, FRAMES), 5);
                stopped.command(0, TransportCommand::Stop);
            },
            1,
        ),
    ];
    for (end, lasts) in ends {
        let mut stopped = Stopped::rested();
        end(&mut stopped);
        assert_eq!(stopped.processed(BLOCKS + 100, FRAMES), lasts + BLOCKS);
    }
}

#[test]
fn a_device_ahead_of_its_clock_leaves_no_block_out_that_is_to_play() {
    let mut stopped = Stopped::rested();
    let (processed, frames) = (Arc::clone(&stopped.blocks), FRAMES as u64);
    let (before, begun) = (processed.load(Relaxed), stopped.engine.transport().steady_frame());
    let control = stopped.engine.control();
    let (mut planned, mut called) = (Vec::new(), 0);
    let mut device = VirtualDevice::new(FRAMES as u32, 48_000);
    device.run(&mut stopped.engine, 40, |times, _| {
        planned.push(times.signaled_ns);
        called += 1;
        if called == 20 {
            let play = TimedCommand { at_steady: 0, command: TransportCommand::Play };
            control.transport(play).unwrap();
        }
        true
    });
    assert_eq!(processed.load(Relaxed) - before, 20, "each one behind the command");
    assert_eq!(stopped.engine.transport().steady_frame() - begun, 40 * frames);
    assert!(planned.is_sorted_by(|one, next| one < next), "each has its own tick");
}

#[test]
fn silence_of_the_host_does_not_end_it_and_a_sound_comes_through() {
    let mut stopped = Stopped::rested();
    for _ in 0..10 {
        stopped.engine.input_mut(0, FRAMES).unwrap().row_mut(0).fill(0.0);
        assert_eq!(stopped.processed(1, FRAMES), 0);
    }
    stopped.engine.input_mut(0, FRAMES).unwrap().row_mut(0)[3] = 0.25;
    assert_eq!(stopped.processed(1, FRAMES), 1);
    assert_eq!(stopped.engine.output(FRAMES).left[3], 0.25);
    assert!(!stopped.engine.rests() && !stopped.engine.progress.rests());
    assert_eq!(stopped.processed(1, FRAMES), 1);
    assert_eq!(stopped.engine.output(FRAMES).left[3], 0.0);
}

#[test]
fn a_command_that_waits_for_its_frame_is_carried_out_there() {
    let mut stopped = Stopped::rested();
    let now = stopped.engine.transport().steady_frame();
    stopped.command(now + 10 * FRAMES as u64 + 5, TransportCommand::Play);
    assert_eq!(stopped.processed(11, FRAMES), 11);
    assert!(stopped.engine.transport().is_playing());
    assert_eq!(stopped.engine.transport().position(), FRAMES as i64 - 5);
}

#[test]
fn longer_blocks_offline_blocks_and_some_processors_do_not_rest() {
    let mut stopped = Stopped::new(true);
    assert_eq!(stopped.processed(2 * BLOCKS + 100, FRAMES / 2), 2 * BLOCKS);
    assert_eq!(stopped.processed(1, FRAMES), 1, "the rows hold more than half a block");
    assert_eq!(stopped.processed(100, FRAMES), 0);
    stopped.engine.set_offline(true);
    assert_eq!(stopped.processed(10, FRAMES), 10);
    stopped.engine.set_offline(false);
    assert_eq!(stopped.processed(10, FRAMES), 0);
    assert_eq!(Stopped::new(false).processed(BLOCKS + 100, FRAMES), BLOCKS + 100);
}

/// The planner looks for better plans all the time.
#[test]
fn another_plan_of_the_same_session_takes_one_block_and_not_ten_seconds() {
    let mut stopped = Stopped::rested();
    for kind in [ScheduleKind::Critical, ScheduleKind::Serial] {
        stopped.engine.control().set_schedule(Some(kind)).unwrap();
        assert_eq!(stopped.processed(100, FRAMES), 1, "{kind:?}");
        assert!(stopped.engine.output(FRAMES).left.iter().all(|sample| *sample == 0.0));
    }
    let mut stopped = Stopped::new(true);
    assert_eq!(stopped.processed(BLOCKS - 10, FRAMES), BLOCKS - 10);
    stopped.engine.control().set_schedule(Some(ScheduleKind::Critical)).unwrap();
    assert_eq!(stopped.processed(100, FRAMES), 10);
}
