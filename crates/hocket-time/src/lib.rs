//! Musical time, transport, automation and events, as plain values.
//!
//! Engine, sessions, importers and plug-in hosts speak of time and events in these types. There are no threads,
//! clocks or files here. Given the same input, everything gives the same bits on every machine, however time is cut
//! into blocks.
//!
//! # Reading order
//! 1. [`Position`]: a place in the song, in frames, seconds or beats. [`TempoMap`]: each from each.
//! 2. [`Transport`]: commands in, [`Segments`] of song time out, block by block. [`BlockTime`]: what a processor sees
//!    of them, and [`SegmentHistory`]: the same for a processor whose input is late.
//! 3. [`Lane`]: a parameter's values over the song. [`LaneCursor`]: those of one block.
//! 4. [`Event`]: what happens at a frame. [`EventBuffer`]: the sorted events of a port. [`SoundingNotes`]: what has to
//!    end when the song stops or jumps. [`HeldNotes`]: the events that end it.
//! 5. [`Midi1`], [`Ump`]: messages of MIDI 1.0 and 2.0, and each as the other.
//!
//! # Who does what
//! | thread | does |
//! |---|---|
//! | control | makes maps, lanes and buffers, and checks them: only this allocates |
//! | leader | moves the [`Transport`] on, once per block |
//! | worker | reads [`BlockTime`], runs cursors, merges events |
//!
//! # Which value wins
//! At one frame, events take effect in the order of source, then sequence. Lanes come first ([`Source::LANE`]), then
//! the inputs of a node in the order of its edges, then live edits ([`Source::LIVE`]). So a live edit wins over a lane
//! at its frame, and the next value of the lane wins over the edit. A host that wants the edit to last pauses the
//! lane ([`LaneCursor::set_paused`]).
//!
//! In the engine, lanes and edits reach a processor apart from the events of its inputs. There the processor decides; see
//! `Block::events` of hocket-dsp.
//!
//! # Example
//! A lane in beats, played in a loop:
//! ```
//! use hocket_time::*;
//!
//! // Control thread: 120 beats per minute, and a fade in the first beat.
//! let map = TempoMap::new(48_000, &[TempoPoint::step(0.0, 120.0)], &[])?;
//! let points = [
//!     LanePoint { at: 0.0, value: 0.0, shape: Shape::Linear },
//!     LanePoint { at: 1.0, value: 1.0, shape: Shape::Hold },
//! ];
//! let lane = Lane::new(&map, TimeBase::Beats, &points)?.with_grid(6_000)?;
//! let range = LoopRange::new(&map, Position::Beats(0.5), Position::Beats(2.0))?;
//! let (mut cursor, mut events) = (LaneCursor::new(), EventBuffer::new(256, 0));
//! let mut transport = Transport::new();
//!
//! // Leader: orders, then a block of 60,000 frames in parts that a device may have.
//! for command in [TransportCommand::Loop(range), TransportCommand::Play] {
//!     transport.apply(command);
//! }
//! let mut heard = Vec::new();
//! for _ in 0..60 {
//!     let steady_frame = transport.steady_frame();
//!     let segments = transport.next_block(1_000);
//!     let time = BlockTime { steady_frame, segments: &segments, map: &map };
//!     // Worker: the lane's values become events.
//!     cursor.run(&lane, &time, |value| {
//!         assert_eq!(events.push(value.event(7)), Pushed::Stored);
//!     });
//!     for event in events.block(time.frames()) {
//!         let EventKind::Param(change) = event.kind else { continue };
//!         heard.push((steady_frame + u64::from(event.frame), change.value));
//!     }
//!     events.advance(time.frames());
//! }
//! // The loop ends at frame 48,000 and goes on at beat 0.5, where the fade is at its half.
//! let expected = [(0, 0.0), (6_000, 0.25), (12_000, 0.5), (18_000, 0.75), (24_000, 1.0)];
//! assert_eq!(heard[..5], expected);
//! assert_eq!(heard[5..], [(48_000, 0.5), (54_000, 0.75)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod position;
mod math;
mod tempo;

mod transport;
mod block_time;

mod automation;

mod events;
mod midi;

pub use automation::{
    CONTROL_GRID_FRAMES, Lane, LaneCursor, LaneError, LanePoint, LaneValue, MAX_CURVE,
    MAX_LANE_POINTS, Shape,
};
pub use block_time::BlockTime;
pub use events::{
    END_ROOM, Event, EventBuffer, EventCounts, EventKind, HeldNotes, Note, NoteAction, ParamChange,
    Pushed, Sounding, SoundingNotes, Source, SysEx,
};
pub use midi::{
    Midi1, Midi1Messages, Midi1To2, MidiError, Ump, midi2_to_midi1, scale_down, scale_down_rounded,
    scale_up,
};
pub use position::{MAX_FRAME, Position, PositionError, TimeBase};
pub use tempo::{
    BarPosition, Glide, MAX_POINT_BEATS, MAX_POINTS, MeterPoint, PointKind, RATES_HZ, TEMPO_BPM,
    TICKS_PER_QUARTER, TempoError, TempoMap, TempoPoint, TimeSignature,
};
pub use transport::{
    Full, LoopError, LoopRange, MAX_BLOCK_FRAMES, MAX_PENDING, MAX_SEGMENTS, MIN_LOOP_FRAMES,
    Segment, SegmentHistory, Segments, TimedCommand, Transport, TransportCommand,
};
