//! The engine as a library: workers, the block runner, deadline accounting and devices.
//!
//! # The shape
//! [`Settings`] say how to play, [`Seating`] says who sits where. [`Editor::start`] takes a
//! session and its audio, [`GraphEditor::start`] a graph with processors of your own; both can be edited
//! while they play. [`Engine::start`] takes [`Prepared`] nodes of either kind. All three verify the
//! schedule and start the workers.
//! [`VirtualDevice`], [`offline`] or your own audio callback then asks for block after block.
//!
//! # Threads
//! | thread | calls | may |
//! |---|---|---|
//! | control, any number | [`Editor`], [`GraphEditor`], [`Control`] | allocate, wait, fail |
//! | leader, one at a time | [`Engine::enter`], [`Engine::process`], [`Engine::output`] | nothing that takes long |
//! | workers and guards, the engine's own | processors inside a block | nothing that takes long |
//!
//! The leader is your thread. [`Engine::enter`] pins it and requests its scheduling class, until you
//! drop the returned [`Entered`]. The real-time thread of a sound server keeps its CPU and class: call
//! [`Engine::follow_leader`] instead, and the workers sit beside it, just below its priority. Control threads never delay a block: the leader carries out their
//! changes before the next one ([`BlockTimes::orders`]).
//!
//! # Costs
//! Starting allocates everything that blocks need and takes as long as threads take to start. A block
//! allocates nothing and waits for no lock; what it cost is in its [`BlockTimes`]. Between blocks workers sleep.
//!
//! System calls of the leader per block:
//! - One at most, to wake workers that sleep, under four conditions. The wait never blocks (`spin`, `pause`, `tpause`,
//!   `umwait`, `mwaitx`, `wfe`). All threads have seats and a real-time class. The leader has entered, or is followed and held
//!   to a CPU without workers. No wait in the block lasts four periods, and 10 ms at least; otherwise threads sleep, and the
//!   block costs what it costs with `futex`.
//! - One more in a block that takes over a plan for more workers than the last.
//! - One more in the first block of each thread, while the leader is followed ([`Engine::follow_leader`]).
//! - With `hybrid` and `futex`: also one for each time the leader sleeps, and one wake-up per unit that it runs
//!   and per barrier, where others sleep. With `yield`: also its yields.
//! - Without seats, a real-time class or a leader that has entered or is held to its CPU: each wait soon blocks, so that a
//!   leader and a worker on one CPU both make progress. A wait spins for 100 µs first, `hybrid` for
//!   [`Strategy::USUAL_SPIN`] at most. Without seats, or where [`Settings::priority`] asks for no class, a wait spins for
//!   [`Strategy::USUAL_SPIN`] and yields for 100 µs first.
//! - With processors that spread work ([`Block::spread`]): one for each loop in which the leader sleeps because a worker
//!   is late with its pass, and one wake-up for each loop of another thread that it leaves last while that thread
//!   sleeps. Threads with seats and a real-time class sleep there after 10 ms at the earliest.
//! - One more where the system takes the CPU away from a worker in the midst of the block.
//! - One more after the block, where a processor has asked for background work or for its main side, and the thread
//!   for these sleeps.
//!
//! Besides, these may call the system in any way:
//! - a block after [`Engine::set_offline`], which runs background work and main sides, takes locks and may wait
//! - the block of a panic, which allocates the message and calls the panic hook
//! - each reading of the clock, where the system's clock source has no vDSO
//! - clips that wait for the disk, because the host asked for that
//! - processors of the host
//!
//! # Errors
//! One enum per operation, on control threads only. Rights that the system refuses are no errors: each
//! thread's [`ThreadReport`] says what it requested, what it obtained and why.
//!
//! A block has no errors. A processor whose output is not finite is reset and silent for that block. A
//! processor that panics is silent from then on, under every plan; all other processors go on.
//! [`Engine::contained`] names both. In the block of a panic, the panic's message is allocated and the panic
//! hook prints it. A program built with `panic = "abort"` ends at the first panic.
//!
//! # Example
//! ```
//! use hocket_engine::{
//!     Block, Engine, Fusing, Graph, Node, NodeKind, Policy, Prepared, Processor, ScheduleKind, Seat,
//!     Seating, Seats, Settings, SiblingPolicy, Strategy,
//! };
//!
//! struct Constant(f32);
//!
//! impl Processor for Constant {
//!     fn process(&mut self, block: &mut Block<'_>) {
//!         block.main.left.fill(self.0);
//!         block.main.right.fill(-self.0);
//!     }
//!     fn reset(&mut self) {}
//! }
//!
//! let mut graph = Graph::default();
//! graph.add(Node::new("constant", NodeKind::Custom(0)))?;
//! let prepared = Prepared::from_graph(&graph, vec![Some(Box::new(Constant(0.5)))], Fusing::Chains)?;
//!
//! let policy = Policy {
//!     schedule: ScheduleKind::Serial,
//!     sibling: SiblingPolicy::Off,
//!     wait: Strategy::Hybrid,
//! };
//! // On a machine that is only described nobody is pinned; `Seating::here` is the one to play on.
//! let seats = Seats { seats: vec![Seat { core: 0, speed: 1.0 }] };
//! let seating = Seating::described(&seats, policy.sibling, None)?;
//! let settings = Settings { priority: None, ..Settings::new(64, 48_000, policy) };
//!
//! let mut engine = Engine::start(prepared, settings, seating)?;
//! let times = engine.process(64);
//! assert_eq!(engine.output(64).right, [-0.5; 64]);
//! assert_eq!(times.deadline_ns, 1_333_333);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `examples/embed.rs` plays a session and changes it on the way. `docs/embedding.md` describes the life
//! of an engine, for C as well.
//!
//! # Reading order of the sources
//! The folder says which thread runs the code, and when. Code for another thread says so in its comment
//! (`Thread: leader`):
//!
//! | folder | thread | may |
//! |---|---|---|
//! | `control/` | control threads, before, beside and after playing | allocate, wait, fail |
//! | `leader/` | the leader, between blocks | neither allocate nor lock, but for offline blocks and for accounts that say so |
//! | `block/` | the leader and the workers, inside a block | neither allocate, lock nor call the system, but for the waits and wake-ups that `watch.rs` marks |
//! | `worker/` | workers and guards, between blocks | wait |
//! | `device/` | the thread that calls the leader | wait for the clock |
//! | `flight/` | the leader notes, another thread explains | see `flight.rs` |
#![deny(unsafe_code)]

pub mod catalogue;
pub mod control;
mod leader;
#[allow(unsafe_code)]
mod block;
mod worker;
mod watch;
pub mod device;
pub mod flight;
#[cfg(feature = "hostile")]
pub mod hostile;
#[cfg(feature = "sentry")]
#[allow(unsafe_code)]
pub mod sentry;
#[cfg(test)]
mod test_engines;

pub use block::cascades::cascade_kernel;
pub use block::clip_player::ClipPlayer;
pub use block::clip_source::ClipSource;
pub use block::lanes::most_events;
pub use block::node::Contained;
pub use block::note_player::NotePlayer;
pub use block::times::{BlockTimes, WorkerTotals, period_ns};
pub use catalogue::{EffectSource, Effects, EffectsAt, param_spec};
pub use control::admission::{Admission, Candidate};
pub use control::automation::{LaneChange, LaneSpec, ThinnedOut};
pub use control::background::LostWork;
pub use control::clip_streams::{
    ClipStream, NotReady, PrerollError, StreamGap, StreamHandle, StreamedFile,
};
pub use control::edit::{Edit, EditError, EffectAt, LaneTarget};
pub use control::editor::{Applied, Editor, EditorError};
pub use control::engine::{Engine, Entered};
pub use control::follow::{FollowError, FollowReport, Following, LeaderReport};
pub use control::graph_editor::{AppliedAt, GraphEditor, NodeSource};
pub use control::handle::{Control, ControlError, Spans, Standing};
pub use control::lost_events::LostEvents;
pub use control::main_thread::{Notice, StateFailure};
pub use control::measured_costs::{Adopted, UnitCost};
pub use control::media::{AudioParts, ClipMedia, MediaPool, StereoAudio, clip_frames};
pub use control::output_delays::OutputDelay;
pub use control::prepare::{PrepareError, Prepared, prepare_session, session_end_frames};
pub use control::protect::Protection;
pub use control::renewals::Renewal;
pub use control::seating::{SeatSpeeds, Seating, seats_of};
pub use control::settings::{Couples, MainThread, Policy, Settings, SettingsError, Steer};
pub use control::start::EngineError;
pub use control::states::{RestoredStates, SavedState, SavedStates};
pub use control::transition::RefusedFades;
pub use control::warm_up::{WarmCost, WarmUp};
pub use device::offline;
pub use device::virtual_device::VirtualDevice;
pub use flight::{
    Flight, FlightDrain, FlightLog, FlightRecorder, FlightSettings, HandOver, Neighbour,
};
pub use leader::choose_walk::Reason;
pub use leader::part_counts::{CountedParts, PartCount};
pub use worker::seat::{LeaderSeat, ThreadReport, settle_leader};

// What hosts need of the crates below, so that they depend on this one alone.

// Processors: what a host writes, and the built-in effects.
pub use hocket_dsp::{
    Block, Bypass, Change, EventsOut, Kind, MoreRows, Param, Processor, RowsMut, RowsRef,
    StereoMut, StereoRef, TimedChange, host, kind, kinds, rows,
};
// When it is played.
pub use hocket_time as time;
// Graphs and schedules: what is played, and by whom.
pub use hocket_plan::{
    ChannelMap, CookieShape, Edge, Effect, EffectCatalogue, EventOutput, EventPorts, ExtraOutput,
    Fusing, Graph, GraphError, InputPort, LiveCause, Liveness, Node, NodeId, NodeKind, ParamSpec,
    Placement, Ports, Schedule, ScheduleKind, Seat, SeatId, Seats, SiblingPolicy, VerifiedSchedule,
    Violation, shortest_path,
};
// Costs that are kept from one run to the next.
pub use hocket_plan::{ChainCost, CostTable};
// Waiting, the machine, and the clock of planned starts.
pub use hocket_machine::clock::monotonic_ns;
pub use hocket_machine::{Topology, TopologyError};
pub use hocket_rt::Strategy;
// Why a block was late.
pub use hocket_trace::cause::{Caller, Cause, Party, Verdict};
pub use hocket_trace::{BlockTrace, Misses};

/// The session model: tracks, groups, returns, sends and clips.
pub mod session {
    pub use hocket_plan::session::LaneSpec;
    pub use hocket_plan::session::{
        Alignment, Automation, Clip, ClipFade, ClipMessage, ClipNote, Destination, EventsOf, Group,
        GroupId, Input, InputId, LoopPoints, Media, MediaId, MidiFile, NoteClip, NoteSource,
        Output, OutputAt, Return, ReturnId, Send, SendAt, Session, SongTime, Strip, StripId,
        TakeFrom, TakeSpec, Tap, Track,
    };
    pub use hocket_plan::{Effect, Key};
}
pub use session::Session;
