//! One block's notes of all threads, in memory that was there before.

use hocket_dsp::rows;
use hocket_machine::clock::TickRate;
use hocket_trace::{BlockTrace, Doing, Lane, Span};

use super::EngineThreads;
use crate::block::stamps::{SpanTicks, What};
use crate::block::times::BlockTimes;
use crate::control::engine::Engine;

/// A copy of what the threads of an engine wrote down in one block.
#[derive(Clone)]
pub(crate) struct BlockNotes {
    pub times: BlockTimes,
    /// Number of the block since the first one that may be noted.
    pub number: u64,
    /// Number of the plan that was run.
    pub plan: u64,
    /// How long after the planned start the leader was still busy with something before.
    pub signaled_ns: u64,
    awake_ticks: u64,
    desks: Box<[DeskNotes]>,
    spans: Box<[SpanTicks]>,
    used: usize,
}

/// One thread's part.
#[derive(Debug, Clone, Copy, Default)]
struct DeskNotes {
    came: bool,
    awake: u64,
    finished: u64,
    /// Its spans are those from here up to the next one's.
    first: usize,
}

impl BlockNotes {
    /// Room for a block of `engine`.
    ///
    /// Thread: control; allocates.
    pub(crate) fn for_engine(engine: &Engine) -> BlockNotes {
        let desks = engine.reports().len() + 1;
        // A unit runs once a block, so all threads together have hardly more spans than one has room
        // for, and each some waits.
        let room = match engine.leader().stamps(0).capacity() {
            0 => 0,
            spans => spans + desks * 32,
        };
        BlockNotes {
            desks: vec![DeskNotes::default(); desks].into_boxed_slice(),
            spans: vec![SpanTicks::EMPTY; room].into_boxed_slice(),
            ..BlockNotes::without_room()
        }
    }

    /// Has room for no thread and no span.
    pub(crate) fn without_room() -> BlockNotes {
        BlockNotes {
            times: BlockTimes::default(),
            number: 0,
            plan: 0,
            signaled_ns: 0,
            awake_ticks: 0,
            desks: Box::default(),
            spans: Box::default(),
            used: 0,
        }
    }

    /// Copies the last block of the engine that it was made for. `first`: the block that has number 0; `left_ns`: when the
    /// block before was noted. Returns how many spans found no room and are left out.
    ///
    /// Thread: leader, between blocks. No allocation. Cost: O(threads + spans).
    pub(crate) fn note(
        &mut self,
        engine: &Engine,
        times: &BlockTimes,
        (first, left_ns): (u64, u64),
    ) -> u64 {
        self.number = times.block.saturating_sub(first);
        self.signaled_ns = left_ns.saturating_sub(times.signaled_ns);
        self.fill(engine, times)
    }

    /// As [`note`](Self::note), without a number and without the time that the leader lost before the block.
    pub(crate) fn fill(&mut self, engine: &Engine, times: &BlockTimes) -> u64 {
        let leader = engine.leader();
        self.times = *times;
        self.plan = leader.runner().plan().number;
        self.awake_ticks = engine.awake_ticks();
        self.used = 0;
        let mut left_out = 0;
        for (desk, notes) in self.desks.iter_mut().enumerate() {
            let stamps = leader.stamps(desk);
            let came = stamps.block == times.block;
            *notes = DeskNotes {
                came,
                awake: stamps.awake,
                finished: stamps.finished,
                first: self.used,
            };
            if came {
                let room = &mut self.spans[self.used..];
                let count = stamps.spans().len().min(room.len());
                rows::copy(&mut room[..count], &stamps.spans()[..count]);
                self.used += count;
                left_out += (stamps.spans().len() - count) as u64;
            }
        }
        left_out
    }

    /// Copies another frame of the same engine.
    ///
    /// Thread: leader, between blocks. No allocation.
    pub(crate) fn copy(&mut self, from: &BlockNotes) {
        (self.times, self.number) = (from.times, from.number);
        self.plan = from.plan;
        self.signaled_ns = from.signaled_ns;
        self.awake_ticks = from.awake_ticks;
        rows::copy(&mut self.desks, &from.desks);
        self.used = from.used;
        rows::copy(&mut self.spans[..self.used], &from.spans[..from.used]);
    }

    /// The block for people and programs.
    ///
    /// Thread: control; allocates.
    pub(crate) fn trace(
        &self,
        crew: &EngineThreads,
        unit_names: Vec<String>,
        rate: &TickRate,
    ) -> BlockTrace {
        let lateness = self.times.lateness_ns as i64;
        let lanes = crew.members.iter().enumerate().filter(|(desk, _)| self.desks[*desk].came);
        let lane = |(desk, member): (usize, &super::threads::Member)| Lane {
            name: member.name.clone(),
            cpu: member.cpu,
            awake_ns: self.since_signal(self.desks[desk].awake, rate),
            finished_ns: self.since_signal(self.desks[desk].finished, rate),
            spans: self.spans_of(desk).iter().map(|span| self.span(span, rate)).collect(),
        };
        BlockTrace {
            block: self.number,
            awake_ns: lateness,
            finished_ns: lateness + self.times.duration_ns as i64,
            deadline_ns: self.times.deadline_ns as i64,
            plan: Some(self.plan),
            unit_names,
            lanes: lanes.map(lane).collect(),
        }
    }

    fn spans_of(&self, desk: usize) -> &[SpanTicks] {
        let end = self.desks.get(desk + 1).map_or(self.used, |next| next.first);
        &self.spans[self.desks[desk].first..end]
    }

    /// The units that ran, with the thread and with whether another of `mates` was at work on the same
    /// core when the unit ended.
    pub(crate) fn runs<'a>(
        &'a self,
        crew: &'a EngineThreads,
    ) -> impl Iterator<Item = (usize, u32, bool)> + 'a {
        let workers = crew.workers().iter().enumerate();
        workers.filter(|(desk, _)| self.desks[*desk].came).flat_map(move |(desk, member)| {
            self.spans_of(desk).iter().filter_map(move |span| {
                let What::Unit(unit) = span.what() else { return None };
                let busy = member.mates.iter().any(|mate| self.at_work(*mate, span.end));
                Some((desk, unit, busy))
            })
        })
    }

    fn at_work(&self, desk: usize, tick: u64) -> bool {
        let runs = |span: &SpanTicks| {
            matches!(span.what(), What::Unit(_)) && span.start <= tick && tick < span.end
        };
        self.desks[desk].came && self.spans_of(desk).iter().any(runs)
    }

    fn span(&self, span: &SpanTicks, rate: &TickRate) -> Span {
        let doing = match span.what() {
            What::Unit(unit) => Doing::Unit(unit),
            What::Barrier => Doing::Barrier,
            What::Wait => Doing::Wait,
            What::Help => Doing::Help,
            What::Guard => Doing::Guard,
        };
        let [start_ns, end_ns] = [span.start, span.end].map(|tick| self.since_signal(tick, rate));
        Span { doing, start_ns, end_ns, away_ns: span.away_ns() }
    }

    fn since_signal(&self, tick: u64, rate: &TickRate) -> i64 {
        let lateness = self.times.lateness_ns as i64;
        match tick.checked_sub(self.awake_ticks) {
            Some(after) => lateness + rate.ticks_to_ns(after) as i64,
            None => lateness - rate.ticks_to_ns(self.awake_ticks - tick) as i64,
        }
    }
}
