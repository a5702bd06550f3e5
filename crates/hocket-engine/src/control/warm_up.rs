//! New processors are run beside the audio before they play.
//!
//! The first blocks of a processor are its longest: its memory is cold, and many plug-ins set themselves up there. So a control
//! thread runs a new one with blocks of the engine's length and a typical input, and measures what a block takes. Then it
//! resets the processor, which begins as one that has not run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hocket_dsp::{Block, EventsOut, MoreRows, RowsMut, RowsRef, StereoMut, StereoRef};
use hocket_machine::clock::{TickRate, ticks};
use hocket_machine::float_mode::FlushDenormals;
use hocket_plan::Ports;
use hocket_time::{
    BlockTime, Event, EventBuffer, EventKind, Note, NoteAction, Source, TempoMap, Transport,
    TransportCommand,
};

use super::background::Background;
use crate::block::node::NodeCell;
use crate::block::times::period_ns;

/// How long a new processor is run before it plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WarmUp {
    /// Blocks that are measured, at least 1. A quarter as many run before them, for the caches and what a processor does
    /// first.
    pub blocks: u32,
    /// It ends earlier after this time, but not before 8 measured blocks. A processor that hangs is not ended.
    pub at_most: Duration,
}

impl Default for WarmUp {
    /// 200 blocks, and at most 2 seconds.
    fn default() -> WarmUp {
        WarmUp { blocks: 200, at_most: Duration::from_secs(2) }
    }
}

/// What a new processor takes per block, as the warm-up measured it.
#[derive(Debug, Clone, PartialEq)]
pub struct WarmCost {
    /// The node's name.
    pub node: String,
    /// Blocks that were measured.
    pub blocks: u32,
    /// Half of them take at most this, in nanoseconds.
    pub median_ns: f64,
    /// 95 of 100 take at most this, in nanoseconds. Decisions rest on this one.
    pub high_ns: f64,
    /// In how many of them the processor said that it failed: as a plug-in that cannot process, or one in a process of its
    /// own whose answer came too late.
    pub failed: u64,
}

/// The part of blocks that take at most [`WarmCost::high_ns`].
const HIGH: f64 = 0.95;
/// The fewest blocks that are measured, however long they take.
const FEWEST: usize = 8;
/// Events that a block of a warm-up has room for.
const EVENTS: usize = 256;
/// A chord begins anew after so many blocks.
const CHORD_EVERY: u32 = 32;
/// Its keys.
const CHORD: [i8; 4] = [48, 55, 60, 64];
/// Half of full scale: typical of music, and nobody hears it.
const LEVEL: f32 = 0.5;

/// Where warm-ups happen: the engine's block, and what works beside it.
pub(super) struct Beside {
    pub(super) frames: usize,
    pub(super) rate_hz: u32,
    pub(super) map: Arc<TempoMap>,
    pub(super) background: Arc<Background>,
}

impl Beside {
    /// Runs a node that is in no plan, and resets it. `None`: its processor panicked.
    ///
    /// A processor with background work gets a block per period, as when it plays: its answers come between blocks.
    ///
    /// Thread: control. Cost: as many blocks as `how` says.
    pub(super) fn run(&self, cell: &mut NodeCell, ports: Ports, how: WarmUp) -> Option<WarmCost> {
        let mut input = Input::new(ports, self.frames);
        let is_paced = cell.joined.as_ref().is_some_and(|joined| joined.counts.is_some());
        let (before, blocks) = (how.blocks / 4, how.blocks.max(1));
        let (begun, mut took) = (Instant::now(), Vec::with_capacity(blocks as usize));
        let mut failed_before = 0;
        for number in 0..before + blocks {
            let is_late = begun.elapsed() > how.at_most;
            if is_late && took.len() >= FEWEST {
                break;
            }
            if took.is_empty() {
                failed_before = cell.failed();
            }
            let ticks =
                self.paced(is_paced, || input.block(number, self, |block| cell.run_alone(block)))?;
            if is_late || number >= before {
                took.push(ticks);
            }
        }
        // An effect that can be bypassed gets a long block in pieces, and each piece counts.
        let failed = cell.failed().saturating_sub(failed_before).min(took.len() as u64);
        cell.begin_again();
        Some(WarmCost { failed, ..WarmCost::of(cell.name.clone(), took) })
    }

    /// Runs a block; where it is paced, wakes its background work and waits until the period is over.
    fn paced<R>(&self, is_paced: bool, run: impl FnOnce() -> R) -> R {
        let begun = Instant::now();
        let ran = run();
        if is_paced {
            let period = Duration::from_nanos(period_ns(self.frames as u64, self.rate_hz));
            self.background.attention.signal.advance();
            std::thread::sleep(period.saturating_sub(begun.elapsed()));
        }
        ran
    }
}

impl WarmCost {
    /// Of blocks that took so many ticks; at least one.
    fn of(node: String, mut took: Vec<u64>) -> WarmCost {
        took.sort_unstable();
        let rate = TickRate::get();
        let at = |part: f64| {
            let place = (took.len() as f64 * part).ceil() as usize;
            rate.ticks_to_ns(took[place.max(1) - 1]) as f64
        };
        let (median_ns, high_ns) = (at(0.5), at(HIGH));
        WarmCost { node, blocks: took.len() as u32, median_ns, high_ns, failed: 0 }
    }
}

/// What a processor gets in a warm-up: noise on every channel, and chords if it takes events.
struct Input {
    ports: Ports,
    frames: usize,
    /// Noise, longer than a row, so that no two rows are the same.
    noise: Vec<f32>,
    main: Vec<f32>,
    more_main: Vec<f32>,
    side_chain: Vec<f32>,
    extra: Vec<f32>,
    events_in: EventBuffer,
    events_out: EventBuffer,
    song: Transport,
}

impl Input {
    fn new(ports: Ports, frames: usize) -> Input {
        let rows = |count: u16| vec![0.0; usize::from(count) * frames];
        let mut song = Transport::new();
        song.apply(TransportCommand::Play);
        Input {
            noise: noise(frames + 4096),
            main: rows(ports.main.min(2)),
            more_main: rows(ports.main.saturating_sub(2)),
            side_chain: rows(ports.side_chain),
            extra: rows(ports.extra),
            events_in: EventBuffer::new(EVENTS, 0),
            events_out: EventBuffer::new(EVENTS, 0),
            ports,
            frames,
            song,
        }
    }

    /// Has a block run. Returns what it took, in ticks; `None` if `run` returns `false`.
    fn block(
        &mut self,
        number: u32,
        beside: &Beside,
        run: impl FnOnce(&mut Block<'_>) -> bool,
    ) -> Option<u64> {
        self.fill(number);
        let (frames, ports) = (self.frames, self.ports);
        let steady_frame = self.song.steady_frame();
        let segments = self.song.next_block(frames as u32);
        let time = BlockTime { steady_frame, segments: &segments, map: &beside.map };
        let (left, right) = self.main.split_at_mut(frames);
        let key = |row: usize| {
            let row = row.min(usize::from(ports.side_chain) - 1) * frames;
            &self.side_chain[row..row + frames]
        };
        let mut more = MoreRows {
            main: RowsMut::new(&mut self.more_main, frames, frames),
            side_chain: RowsRef::new(&self.side_chain, frames, frames),
            extra: RowsMut::new(&mut self.extra, frames, frames),
        };
        let is_stereo = ports.main <= 2 && ports.side_chain <= 2 && ports.extra == 0;
        let mut block = Block::new(StereoMut { left, right });
        block.side_chain =
            (ports.side_chain > 0).then(|| StereoRef { left: key(0), right: key(1) });
        block.more = if is_stereo { None } else { Some(&mut more) };
        block.time = Some(&time);
        block.events_in = ports.events.input.then_some(&self.events_in);
        block.events_out =
            ports.events.output.then(|| EventsOut::new(&mut self.events_out, frames));
        let _float = FlushDenormals::enter();
        let begun = ticks();
        let ran = run(&mut block);
        let took = ticks().wrapping_sub(begun);
        ran.then_some(took)
    }

    fn fill(&mut self, number: u32) {
        let Input { noise, frames, .. } = self;
        let rows = self.main.chunks_mut(*frames).chain(self.more_main.chunks_mut(*frames));
        let rows = rows.chain(self.side_chain.chunks_mut(*frames));
        for (row, at) in rows.zip((number as usize * 61..).step_by(977)) {
            let at = at % 4096;
            row.copy_from_slice(&noise[at..at + *frames]);
        }
        self.extra.fill(0.0);
        self.events_in.clear();
        self.events_out.clear();
        let action = match number % CHORD_EVERY {
            0 => NoteAction::On,
            place if place == CHORD_EVERY - 1 => NoteAction::Off,
            _ => return,
        };
        for key in CHORD {
            let note = Note { action, id: -1, channel: 0, key, velocity: 0.8 };
            _ = self.events_in.push(Event::new(0, Source::edge(0), EventKind::Note(note)));
        }
    }
}

/// The same noise each time.
fn noise(samples: usize) -> Vec<f32> {
    let mut seed = 0x2545_f491_u32;
    let mut next = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((seed >> 8) as f32 / (1 << 23) as f32 - 1.0) * LEVEL
    };
    (0..samples).map(|_| next()).collect()
}
