//! The leader's side: notes every block, hands over those that have to be explained.

use hocket_machine::clock::{TickRate, monotonic_ns};
use hocket_rt::{Ring, RingReader, RingWriter};
use hocket_trace::BlockTrace;

use super::{BlockNotes, EngineThreads, FlightSettings, HandOver};
use crate::block::times::BlockTimes;
use crate::control::engine::Engine;

/// A block to be explained, between its neighbours.
pub(super) struct Event {
    pub before: BlockNotes,
    pub block: BlockNotes,
    pub after: BlockNotes,
    /// Whether the neighbours are there.
    pub has: [bool; 2],
}

/// The drain's ends of the rings in which events go round.
pub(super) struct Ends {
    pub full: RingReader<Box<Event>>,
    pub empty: RingWriter<Box<Event>>,
}

/// Keeps the last blocks of an engine, and hands over those that were late or the worst so far.
///
/// Thread: the leader's, between blocks.
pub struct FlightRecorder {
    /// None where every block is handed over.
    frames: Box<[BlockNotes]>,
    /// The engine's next block when this was made: blocks before it are not heard, and traces count from here.
    first_block: u64,
    /// Blocks noted since the start of the run.
    noted: u64,
    /// When the last block was noted, on the monotonic clock.
    left_ns: u64,
    worst_slack_ns: i64,
    which: HandOver,
    full: RingWriter<Box<Event>>,
    empty: RingReader<Box<Event>>,
    /// Waits for the block after it.
    pending: Option<Box<Event>>,
    /// For the worst block where no other event is left; handed over at the end of the run.
    reserve: Option<Box<Event>>,
    reserve_used: bool,
    dropped: u64,
    spans_left_out: u64,
}

/// See [`super::record`].
pub(super) fn new(engine: &Engine, settings: FlightSettings) -> (FlightRecorder, Ends) {
    let (events, blocks) = (settings.events.max(1), settings.blocks.max(2));
    let frame = BlockNotes::for_engine(engine);
    let neighbour = || match settings.hand_over {
        HandOver::LateOrWorst => frame.clone(),
        HandOver::Every => BlockNotes::without_room(),
    };
    let event = || {
        let [before, block, after] = [neighbour(), frame.clone(), neighbour()];
        Box::new(Event { before, block, after, has: [false; 2] })
    };
    // Both have room for every event that exists, the reserve among them.
    let (full, full_out) = Ring::new(events + 1);
    let (mut empty_in, empty) = Ring::new(events + 1);
    for _ in 0..events {
        let _ = empty_in.push(event());
    }
    let reserve = Some(event());
    let kept = match settings.hand_over {
        HandOver::LateOrWorst => blocks,
        HandOver::Every => 0,
    };
    let recorder = FlightRecorder {
        frames: vec![frame; kept].into_boxed_slice(),
        first_block: engine.block,
        noted: 0,
        left_ns: 0,
        worst_slack_ns: i64::MAX,
        which: settings.hand_over,
        full,
        empty,
        pending: None,
        reserve,
        reserve_used: false,
        dropped: 0,
        spans_left_out: 0,
    };
    (recorder, Ends { full: full_out, empty: empty_in })
}

impl FlightRecorder {
    /// Notes the last block of the engine that this is for. `times` as the device completed them.
    ///
    /// Thread: leader, right after the block. No allocation, lock or system call. Cost: a copy of the
    /// block's spans, some 25 bytes each.
    pub fn note(&mut self, engine: &Engine, times: &BlockTimes) {
        match self.which {
            HandOver::Every => self.hand_over_alone(engine, times),
            HandOver::LateOrWorst => self.keep(engine, times),
        }
        self.noted += 1;
        self.left_ns = monotonic_ns();
    }

    /// Ends a run of blocks: hands over what still waits for the block after it. The next block that is
    /// noted begins another run and has no neighbour before it.
    pub fn end_run(&mut self) {
        if let Some(event) = self.pending.take() {
            self.hand_over(event);
        }
        if let Some(event) = self.reserve.take_if(|_| self.reserve_used) {
            self.reserve_used = false;
            self.hand_over(event);
        }
        (self.noted, self.left_ns) = (0, 0);
    }

    /// Blocks that were not handed over, because nobody collected those before: late ones, or any with
    /// [`HandOver::Every`].
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Spans that found no room in the copies of their blocks. For spans that found none in the notes of their
    /// worker, see [`WorkerTotals::spans_dropped`](crate::WorkerTotals::spans_dropped).
    pub fn spans_left_out(&self) -> u64 {
        self.spans_left_out
    }

    /// Times of the last blocks of the run, oldest first; none with [`HandOver::Every`].
    pub fn recent(&self) -> impl Iterator<Item = &BlockTimes> {
        let kept = self.noted.min(self.frames.len() as u64);
        (self.noted - kept..self.noted).map(|block| &self.frames[self.slot(block)].times)
    }

    /// The trace of one of the last blocks of the run; `None` where it is not among them.
    ///
    /// Thread: leader, when it has time: allocates.
    pub fn trace(&self, engine: &Engine, block: u64) -> Option<BlockTrace> {
        let index = self.recent().position(|times| times.block == block)? as u64;
        let kept = self.noted.min(self.frames.len() as u64);
        let frame = &self.frames[self.slot(self.noted - kept + index)];
        let expected = engine.control().expectations(frame.plan);
        let names = expected.map_or_else(Vec::new, |expected| expected.names);
        Some(frame.trace(&EngineThreads::of(engine), names, &TickRate::get()))
    }

    fn slot(&self, block: u64) -> usize {
        (block % self.frames.len() as u64) as usize
    }

    fn complete_pending(&mut self, slot: usize) {
        if let Some(mut event) = self.pending.take() {
            event.after.copy(&self.frames[slot]);
            event.has[1] = true;
            self.hand_over(event);
        }
    }

    fn keep(&mut self, engine: &Engine, times: &BlockTimes) {
        let slot = self.slot(self.noted);
        let place = (self.first_block, self.left_ns);
        self.spans_left_out += self.frames[slot].note(engine, times, place);
        self.complete_pending(slot);
        if times.misses().total() > 0 || times.slack_ns() < self.worst_slack_ns {
            self.begin_event(slot, times.slack_ns());
        }
    }

    /// One copy, because the memory is cold: nobody has used this event since the drain gave it back.
    fn hand_over_alone(&mut self, engine: &Engine, times: &BlockTimes) {
        let Some(mut event) = self.empty.pop() else {
            self.dropped += 1;
            return;
        };
        let place = (self.first_block, self.left_ns);
        self.spans_left_out += event.block.note(engine, times, place);
        self.hand_over(event);
    }

    fn begin_event(&mut self, slot: usize, slack_ns: i64) {
        if self.reserve.is_none() {
            self.reserve = self.empty.pop();
        }
        match self.empty.pop() {
            Some(mut event) => {
                self.worst_slack_ns = self.worst_slack_ns.min(slack_ns);
                self.fill(&mut event, slot);
                self.pending = Some(event);
            }
            None => self.fall_back(slot, slack_ns),
        }
    }

    /// Nobody collects: of all that is lost, the worst is kept.
    fn fall_back(&mut self, slot: usize, slack_ns: i64) {
        let is_worst = slack_ns < self.worst_slack_ns;
        let Some(mut event) = self.reserve.take_if(|_| is_worst) else {
            self.dropped += u64::from(slack_ns < 0);
            return;
        };
        self.dropped += u64::from(self.reserve_used && event.block.times.is_late());
        self.worst_slack_ns = slack_ns;
        self.fill(&mut event, slot);
        (self.reserve, self.reserve_used) = (Some(event), true);
    }

    fn fill(&self, event: &mut Event, slot: usize) {
        event.block.copy(&self.frames[slot]);
        event.has = [self.noted > 0, false];
        if self.noted > 0 {
            event.before.copy(&self.frames[self.slot(self.noted - 1)]);
        }
    }

    fn hand_over(&mut self, event: Box<Event>) {
        // There is room for all events that exist.
        let _ = self.full.push(event);
    }
}
