//! Processes blocks: all that the leader does for one, from the device's call to its return.

use std::sync::atomic::Ordering::Relaxed;

use hocket_dsp::{RowsMut, RowsRef, StereoRef};
use hocket_machine::clock::{TickRate, monotonic_ns, ticks};
use hocket_machine::float_mode::FlushDenormals;
use hocket_time::{EventBuffer, Full, Segment, TimedCommand, Transport};

use super::block_estimates::Of;
use super::choose_walk::{self, ChooseWalk, Finding, Sample};
use crate::block::leader::Leader;
use crate::block::plan::Plan;
use crate::block::times::{BlockTimes, period_ns};
use crate::control::engine::Engine;
use crate::watch::Watch;

/// How far ahead a block may be announced.
const FURTHEST_NS: u64 = 1_000_000_000;

/// What the caller asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// A block as the settings have it.
    Block,
    /// A block by the leader, unit after unit.
    Serial,
}

/// What `auto` knows between two blocks.
pub(crate) struct Chooser {
    choice: ChooseWalk,
    /// Number of the plan.
    plan: u64,
    /// The plan that `choice` knows; `None` where blocks have another length.
    known: Option<u64>,
    /// Whether that plan is walked as it stands ([`Plan::is_fixed`](crate::block::plan::Plan)).
    keeps_to_plan: bool,
    busy: Busy,
}

/// Ticks that threads have spent in units since the start.
#[derive(Default)]
struct Busy {
    leader: u64,
    workers: u64,
}

impl Chooser {
    /// For blocks of so many nanoseconds.
    pub(crate) fn new(period_ns: u64) -> Chooser {
        Chooser {
            choice: choice(period_ns),
            plan: NO_PLAN,
            known: None,
            keeps_to_plan: false,
            busy: Busy::default(),
        }
    }

    /// Forgets what it knows of blocks of another length, but not with whom it walks.
    fn restart(&mut self, period_ns: u64) {
        let together = self.choice.favourite() == choose_walk::Walk::Parallel;
        self.choice = choice(period_ns);
        self.choice.exchanged(if together { 2 } else { 1 }, together);
        self.known = None;
    }

    /// Looks at the plan, if it is another one or blocks have another length.
    fn look_at(&mut self, plan: &Plan) {
        if self.known == Some(plan.number) {
            return;
        }
        let new = self.plan != plan.number;
        (self.known, self.plan) = (Some(plan.number), plan.number);
        self.keeps_to_plan = plan.is_fixed;
        self.choice.exchanged(plan.workers(), plan.trial && new);
    }
}

/// No plan has this number.
const NO_PLAN: u64 = u64::MAX;

fn choice(period_ns: u64) -> ChooseWalk {
    let ticks = |ns| TickRate::get().ns_to_ticks(ns) as f64;
    ChooseWalk::new(ticks(period_ns), ticks(1_000_000_000))
}

/// The length to which blocks are compared. At first it is the plan's maximum; a host may ask for less for as long as it
/// likes.
#[derive(Debug)]
pub(crate) struct SteadyLength {
    frames: usize,
    /// Blocks in a row that cannot be compared with it, and the longest of them.
    row: u32,
    longest: usize,
    /// Such a row makes another length. It doubles each time: where lengths take turns, one of them stays.
    change_after: u32,
}

/// The first and the longest row of blocks of quite another length, after which that one is the length.
const STEADY: (u32, u32) = (32, 4096);

impl SteadyLength {
    pub(crate) fn of(frames: usize) -> SteadyLength {
        SteadyLength { frames, row: 0, longest: 0, change_after: STEADY.0 }
    }

    /// Whether a block of so many frames can be compared, scaled: half the length at least, and twice at most.
    fn compares(&self, frames: usize) -> bool {
        2 * frames >= self.frames && frames <= 2 * self.frames
    }

    /// Notes a block. Returns the new length, if there is one.
    fn note(&mut self, frames: usize) -> Option<usize> {
        if self.compares(frames) {
            (self.row, self.longest) = (0, 0);
            return None;
        }
        (self.row, self.longest) = (self.row + 1, self.longest.max(frames));
        if self.row < self.change_after {
            return None;
        }
        let change_after = (2 * self.change_after).min(STEADY.1);
        *self = SteadyLength { change_after, ..SteadyLength::of(self.longest) };
        Some(self.frames)
    }

    /// What a block of the steady length would have taken; `None`: it cannot be compared.
    fn scaled(&self, took: u64, frames: usize) -> Option<u64> {
        self.compares(frames).then(|| scaled(took, frames, self.frames))
    }
}

/// Ticks for a block of `to` frames, if one of `from` took `took`.
fn scaled(took: u64, from: usize, to: usize) -> u64 {
    took.saturating_mul(to as u64) / from as u64
}

impl Busy {
    /// Ticks spent in units in the block that is over. Without workers, only the leader's notes have changed.
    fn since_last_block(&mut self, leader: &Leader, walk: choose_walk::Walk) -> u64 {
        let ticks = |desk| leader.stamps(desk).totals.busy_ticks;
        let mut now = Busy { leader: ticks(0), workers: self.workers };
        if walk == choose_walk::Walk::Parallel {
            now.workers = (1..leader.runner().workers()).map(ticks).sum();
        }
        let before = std::mem::replace(self, now);
        (self.leader + self.workers).saturating_sub(before.leader + before.workers)
    }
}

impl Engine {
    /// Processes one block that was planned for now; see [`Engine::process_planned`].
    pub fn process(&mut self, frames: usize) -> BlockTimes {
        self.process_planned(frames, monotonic_ns())
    }

    /// Processes one block of `frames` frames planned for `signaled_ns`.
    ///
    /// A block has [`Engine::largest_block`] frames at most. Of a longer one the first so many
    /// are processed, and [`BlockTimes::frames`] says how many: read [`Engine::output`], then ask for the
    /// rest. A block of no frames processes nothing and moves nothing.
    ///
    /// Thread: leader. No allocation and no lock, but for offline blocks ([`Engine::set_offline`]) and panics. System calls:
    /// see the crate's documentation, section Costs.
    pub fn process_planned(&mut self, frames: usize, signaled_ns: u64) -> BlockTimes {
        self.run(frames, signaled_ns, Asked::Block, |_, took| took)
    }

    /// Says when the block after the coming one is planned, on the monotonic clock, so that workers
    /// can be awake by then. Holds for one block; a device that knows its period says it each time.
    ///
    /// A time more than a second ahead is not believed (another clock?): the workers then sleep until they
    /// are woken. A block that comes sooner than announced wakes them, as one that was not announced does.
    pub fn expect_next(&mut self, next_ns: u64) {
        let soon = next_ns.saturating_sub(monotonic_ns()) < FURTHEST_NS;
        self.next_ns = if soon { next_ns } else { 0 };
    }

    /// Processes one block in serial order on the calling thread, on the same memory.
    pub fn process_serial(&mut self, frames: usize) -> BlockTimes {
        self.run(frames, monotonic_ns(), Asked::Serial, |_, took| took)
    }

    /// As [`Engine::process`], on a machine where blocks take what `took` says, in ticks.
    #[cfg(test)]
    pub(crate) fn process_as_if(&mut self, frames: usize, took: impl Fn(Of) -> u64) -> BlockTimes {
        self.run(frames, monotonic_ns(), Asked::Block, |of, _| took(of))
    }

    /// `measure`: what a block took, from what the clock says.
    fn run(
        &mut self,
        asked_frames: usize,
        signaled_ns: u64,
        asked: Asked,
        measure: impl FnOnce(Of, u64) -> u64,
    ) -> BlockTimes {
        if asked_frames == 0 {
            return BlockTimes { block: self.block, signaled_ns, ..BlockTimes::default() };
        }
        let offline = self.background.run_if_offline();
        if offline {
            self.control.serve_offline();
        }
        let awake_ns = monotonic_ns();
        let awake_ticks = ticks();
        self.note_thread();
        let (orders, frames, whole, of);
        {
            let _float = FlushDenormals::enter();
            let _watch = Watch::begin();
            orders = self.carry_out() + std::mem::take(&mut self.orders_before);
            // The orders may have made more room.
            frames = asked_frames.min(self.largest_block());
            if let Some(frames) = self.length.note(frames) {
                self.compare_blocks_of(frames);
            }
            whole = self.length.compares(frames);
            self.last.begun_ticks = ticks();
            of = match !offline && self.rest.covers(&mut self.leader, frames) {
                true => Of::Nothing,
                false => self.choose_walk(asked, whole),
            };
            self.walk(of, frames);
        }
        self.last.left_out = of == Of::Nothing;
        let finished_ticks = ticks();
        self.last.awake_ticks = awake_ticks;
        self.last.times = BlockTimes {
            block: self.block,
            frames,
            signaled_ns,
            lateness_ns: awake_ns.saturating_sub(signaled_ns),
            duration_ns: self.rate.ticks_to_ns(finished_ticks.wrapping_sub(awake_ticks)),
            deadline_ns: self.deadline_ns(frames),
            orders,
            orders_ns: self.rate.ticks_to_ns(self.last.begun_ticks.wrapping_sub(awake_ticks)),
            ..BlockTimes::default()
        };
        self.account_workers();
        // The host waits for the accounts too, and those of workers take longer.
        let took = measure(of, ticks().wrapping_sub(self.last.begun_ticks));
        let whole = self.length.compares(frames);
        let full = || scaled(took, frames, self.largest_block());
        let plan = self.leader.runner().plan().number;
        self.progress.note(of, plan, orders, whole.then(full));
        self.note_walk(of, took, frames);
        self.block += 1;
        self.background.attention.wake();
        self.last.times
    }

    /// The block itself.
    fn walk(&mut self, of: Of, frames: usize) {
        if of == Of::Nothing {
            self.next_ns = 0;
            self.leader.move_on(frames);
            return self.leader.leave_out(self.block);
        }
        self.leader.fill_ports(frames);
        self.leader.move_on(frames);
        match of {
            Of::Plan { .. } => {
                let next_ns = self.next_parallel_ns(frames);
                self.leader.lead(frames, self.block, next_ns);
            }
            Of::ChosenSerialWalk => {
                self.next_ns = 0;
                self.leader.lead_without_workers(frames, self.block);
            }
            Of::SerialWalk | Of::Nothing => self.leader.lead_serial(frames, self.block),
        }
        self.rest.note(&mut self.leader, frames);
        self.leader.drain_ports(frames);
    }

    /// The most frames of a block: [`Settings::frames`](crate::Settings), or what
    /// [`Control::set_largest_block`](crate::Control::set_largest_block) has made of it.
    ///
    /// Thread: leader, between blocks. [`Engine::input_mut`] with more frames carries such an order out; so does a block.
    #[inline]
    pub fn largest_block(&self) -> usize {
        self.leader.runner().plan().frames
    }

    /// Whether the last block was left out, because the song stands still and everything has been silent for ten seconds. What is
    /// done again and again beside the engine can then be done less often.
    ///
    /// Thread: leader, between blocks. Cost: one read.
    #[inline]
    pub fn rests(&self) -> bool {
        self.last.left_out
    }

    /// Carries out what control threads sent. Returns how many orders took effect.
    fn carry_out(&mut self) -> u32 {
        let (orders, heard) = self.inbox.carry_out(&mut self.leader);
        if heard > 0 {
            self.rest.begin_anew();
        }
        if self.settings.frames as usize != self.largest_block() {
            self.go_on_with_length();
        }
        orders
    }

    /// Times of blocks of another length say nothing about those to come.
    #[cold]
    fn go_on_with_length(&mut self) {
        self.settings.frames = self.largest_block() as u32;
        self.length = SteadyLength::of(self.largest_block());
        self.compare_blocks_of(self.largest_block());
    }

    /// From now on times are those of this length.
    #[cold]
    fn compare_blocks_of(&mut self, frames: usize) {
        self.progress.forget_times();
        let period_ns = self.deadline_ns(frames);
        if let Some(chooser) = &mut self.chooser {
            chooser.restart(period_ns);
        }
    }

    /// The host wants to write more than a block has: perhaps a larger one is on its way.
    #[cold]
    fn make_room(&mut self) {
        let _float = FlushDenormals::enter();
        let _watch = Watch::begin();
        self.orders_before += self.carry_out();
    }

    /// Whether blocks are made as fast as they are done, without a deadline, from the next one on: for files, and for sound
    /// servers that freewheel. The leader then does the background work of processors itself, before the next block. So
    /// the answers always come with the block after the request, and the output has the same bits with every schedule and
    /// number of workers. Live, the answers come when they are ready.
    ///
    /// In the same way the leader waits before each block until main sides were called that were asked for, and until new
    /// latencies are planned. Only where the main thread is the one that started the engine
    /// ([`MainThread::Starting`](crate::MainThread)) and another one leads, this waits for
    /// [`Control::service`](crate::Control::service).
    ///
    /// [`offline::render`](crate::offline::render) does this by itself. Thread: leader, between blocks. Cost: a system call
    /// where it ends.
    /// Returns what held before.
    pub fn set_offline(&mut self, offline: bool) -> bool {
        self.background.set_offline(offline)
    }

    /// A leader that belongs to somebody else is followed; see [`Engine::follow_leader`].
    fn note_thread(&mut self) {
        if self.notes.note() {
            // Relaxed: a hint. Nobody knows yet what class this thread has.
            self.leader.runner().real_time.store(false, Relaxed);
        }
    }

    /// How this block is walked. Under `auto` the leader chooses.
    fn choose_walk(&mut self, asked: Asked, whole: bool) -> Of {
        let plan = self.leader.runner().plan();
        let as_planned = Of::Plan { alone: plan.workers() == 1 };
        let Some(chooser) = self.chooser.as_mut() else {
            return if asked == Asked::Serial { Of::SerialWalk } else { as_planned };
        };
        chooser.look_at(plan);
        if chooser.keeps_to_plan {
            return if asked == Asked::Serial { Of::SerialWalk } else { as_planned };
        }
        let choice = &chooser.choice;
        match if whole { choice.next() } else { choice.favourite() } {
            _ if asked == Asked::Serial => Of::SerialWalk,
            choose_walk::Walk::Serial if plan.workers() > 1 => Of::ChosenSerialWalk,
            _ => as_planned,
        }
    }

    /// When the workers are needed next, from when the next block is planned: serial blocks in between
    /// need nobody.
    fn next_parallel_ns(&mut self, frames: usize) -> u64 {
        let next_ns = std::mem::take(&mut self.next_ns);
        let chooser = self.chooser.as_ref().filter(|chooser| !chooser.keeps_to_plan);
        let pause = chooser.map_or(0, |chooser| chooser.choice.pause_after_next());
        let period_ns = self.deadline_ns(frames);
        if next_ns > 0 { next_ns + u64::from(pause) * period_ns } else { 0 }
    }

    /// Tells `auto` what a block of so many frames took that the caller left to it.
    fn note_walk(&mut self, of: Of, took: u64, frames: usize) {
        let full_length = self.largest_block();
        let Some(chooser) = self.chooser.as_mut() else { return };
        let walk = match of {
            Of::Plan { alone: false } => choose_walk::Walk::Parallel,
            Of::Plan { alone: true } | Of::ChosenSerialWalk | Of::SerialWalk | Of::Nothing => {
                choose_walk::Walk::Serial
            }
        };
        let work = chooser.busy.since_last_block(&self.leader, walk);
        if chooser.keeps_to_plan {
            return;
        }
        let of_steady_length = |ticks| self.length.scaled(ticks, frames).map(|ticks| ticks as f64);
        // What the caller wants to see says nothing about what it lives with, nor does a block that was left out.
        let is_usual = !matches!(of, Of::SerialWalk | Of::Nothing);
        let took = of_steady_length(took).filter(|_| is_usual);
        match (took, of_steady_length(work)) {
            (Some(_), _) if chooser.choice.passes() => return,
            (Some(took), Some(work)) => chooser.choice.note(Sample { walk, took, work }),
            _ => {}
        }
        let finding = chooser.choice.finding();
        // Others know nothing of the steady length.
        let longer = full_length as f64 / self.length.frames as f64;
        let serial = finding.serial.map(|ticks| ticks * longer);
        self.progress.publish(chooser.plan, Finding { serial, ..finding });
    }

    fn deadline_ns(&self, frames: usize) -> u64 {
        period_ns(frames as u64, self.settings.rate_hz)
    }

    /// After the deadline-critical part: who came, and when.
    fn account_workers(&mut self) {
        let mut last_awake = self.last.awake_ticks;
        for desk in 0..self.leader.runner().plan().workers() {
            let stamps = self.leader.stamps(desk);
            if stamps.block == self.block {
                self.last.times.workers += 1;
                if desk > 0 {
                    last_awake = last_awake.max(stamps.awake);
                }
            }
        }
        self.last.times.workers_awake_ns =
            self.rate.ticks_to_ns(last_awake - self.last.awake_ticks);
    }

    /// The first two channels of the first output in the last block: for a session, the master's.
    pub fn output(&self, frames: usize) -> StereoRef<'_> {
        let (unit, _) = self.leader.runner().plan().outputs[0];
        let unit = self.leader.unit(unit as usize);
        unit.stereo(frames.min(self.largest_block()))
    }

    /// All main and extra channels of an output in the last block; see
    /// [`Graph::set_outputs`](hocket_plan::Graph::set_outputs). `None`: the graph has fewer outputs.
    ///
    /// Rows that are the node's side chain lie between both. Thread: leader, between blocks.
    pub fn output_rows(&self, output: usize, frames: usize) -> Option<RowsRef<'_>> {
        let (unit, ports) = *self.leader.runner().plan().outputs.get(output)?;
        let rows = self.leader.unit(unit as usize).rows(frames.min(self.largest_block()));
        Some(rows.first(usize::from(ports.rows())))
    }

    /// The events that an output's node sent in the last block: notes, MIDI and changes of parameters, for a MIDI port of the
    /// host or a recording. `None`: the graph has no such output, or its node has no event output, or it is an engine input.
    ///
    /// Frames count from the block's first one. As the output's audio, the events lag by its latency
    /// ([`Engine::output_latencies`]). Notes that still sound when the host stops, or when an edit takes the output away, are
    /// the host's to end.
    ///
    /// Thread: leader, between blocks. Reads and allocates nothing else.
    pub fn output_events(&self, output: usize) -> Option<&EventBuffer> {
        let (unit, _) = *self.leader.runner().plan().outputs.get(output)?;
        self.leader.unit(unit as usize).sent()
    }

    /// The rows of an engine input ([`NodeKind::Input`](hocket_plan::NodeKind::Input)), to be written before each
    /// block; what is not written is silence. `None`: the graph has no such input.
    ///
    /// Thread: leader, between blocks.
    pub fn input_mut(&mut self, number: u16, frames: usize) -> Option<RowsMut<'_>> {
        if frames > self.largest_block() {
            self.make_room();
        }
        let frames = frames.min(self.largest_block());
        self.leader.input_mut(number, frames)
    }

    /// The events of an engine input whose node has an event output, to be handed over before a block. `None`: the graph
    /// has no such input.
    ///
    /// Frames count from the first one of the next block. Events may come in any order. Those behind the block wait for
    /// later blocks. It takes 1024 events, and note ends besides; [`EventBuffer`] says what becomes of more.
    /// [`EventBuffer::push`] returns whether it took an event, and [`EventBuffer::counts`] how many it did not. To end
    /// everything that sounds, hand over [`EventKind::EndAllNotes`](hocket_time::EventKind::EndAllNotes).
    ///
    /// Thread: leader, between blocks. Allocates nothing.
    pub fn events_mut(&mut self, number: u16) -> Option<&mut EventBuffer> {
        self.leader.events_mut(number)
    }

    /// What plays, and where: the state after the last block and the commands carried out before it.
    ///
    /// Thread: leader, between blocks.
    pub fn transport(&self) -> &Transport {
        self.leader.transport()
    }

    /// Where the song was at the last block's first frame, and whether it played. `None` before the first block.
    ///
    /// Commands of control threads that took effect at that frame are included. In a loop, [`Engine::transport`] may be at the
    /// loop's start already.
    ///
    /// Thread: leader, between blocks. Cost: one read.
    pub fn first_segment(&self) -> Option<&Segment> {
        self.segments().first()
    }

    /// Where the song was in the last block, piece by piece: [`Engine::first_segment`] and what came behind it in the same
    /// block. Empty before the first block.
    ///
    /// Thread: leader, between blocks. Cost: one read.
    pub fn segments(&self) -> &[Segment] {
        self.leader.segments().as_slice()
    }

    /// Plays, stops, locates or loops, from the next block on. For leaders; other threads use
    /// [`Control::transport`](crate::Control::transport).
    ///
    /// Thread: leader, between blocks. Reads and allocates nothing.
    ///
    /// # Errors
    /// Gives a command for a later frame back if [`MAX_PENDING`](hocket_time::MAX_PENDING) wait already, or are on their way
    /// from control threads.
    pub fn command(&mut self, command: TimedCommand) -> Result<(), Full> {
        self.leader.command(command)
    }

    /// Forgets all history: the next block is the session's first, and it plays. Processors get the answers of their
    /// background work that are there; offline these are all. Later ones to requests from before are dropped, except for
    /// processors that want them ([`WorkRoom::outlives_reset`](hocket_dsp::host::WorkRoom::outlives_reset)).
    ///
    /// Thread: leader, between blocks. Cost: a system call where a processor asks for something.
    pub fn reset(&mut self) {
        self.background.run_if_offline();
        self.leader.reset();
        // Processors may have asked for something.
        self.background.attention.wake();
    }
}

#[cfg(test)]
mod tests;
