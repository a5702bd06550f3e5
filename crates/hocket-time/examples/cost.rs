//! What time and events cost in a block: nanoseconds per call, the median of many.
//!
//!     cargo run --release -p hocket-time --example cost

use std::hint::black_box;
use std::time::Instant;

use hocket_time::{
    BlockTime, EventBuffer, Lane, LaneCursor, LanePoint, LoopRange, Shape, Source, TempoMap,
    TempoPoint, TimeBase, Transport, TransportCommand,
};

const BLOCK_FRAMES: u32 = 64;
const LANES: usize = 1000;

/// Median time of a call, in nanoseconds.
fn median_ns(mut call: impl FnMut()) -> f64 {
    let mut times: Vec<u128> = (0..2_000)
        .map(|_| {
            let start = Instant::now();
            call();
            start.elapsed().as_nanos()
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2] as f64
}

/// A point per second, each far from the one before.
fn lane(map: &TempoMap, shape: Shape) -> Lane {
    let point = |n: u32| LanePoint { at: f64::from(n), value: f64::from(n % 2), shape };
    let points: Vec<_> = (0..600).map(point).collect();
    Lane::new(map, TimeBase::Beats, &points).expect("a lane")
}

/// All lanes for a block, into one buffer.
fn lanes_ns(map: &TempoMap, shape: Shape) -> f64 {
    let lanes: Vec<Lane> = (0..LANES).map(|_| lane(map, shape)).collect();
    let mut cursors = vec![LaneCursor::new(); LANES];
    let mut events = EventBuffer::new(4 * LANES, 0);
    let mut transport = Transport::new();
    transport.apply(TransportCommand::Play);
    median_ns(|| {
        let steady_frame = transport.steady_frame();
        let segments = transport.next_block(BLOCK_FRAMES);
        let time = BlockTime { steady_frame, segments: &segments, map };
        for (n, (lane, cursor)) in lanes.iter().zip(&mut cursors).enumerate() {
            // A buffer per parameter, as nodes have them.
            cursor.run(lane, &time, |value| _ = events.push(value.event(n as u32)));
            events.clear();
        }
    })
}

fn main() {
    let steady = TempoMap::constant(48_000, 120.0).expect("a map");
    let ramp = [TempoPoint::linear(0.0, 60.0), TempoPoint::step(1_000.0, 180.0)];
    let ramp = TempoMap::new(48_000, &ramp, &[]).expect("a map");
    println!("nanoseconds; blocks of {BLOCK_FRAMES} frames");
    for (name, map) in [("one tempo", &steady), ("tempo line", &ramp)] {
        let mut frame = 0;
        let mut next = || {
            frame += 64;
            frame
        };
        let thousand = |call: &mut dyn FnMut()| median_ns(|| (0..1000).for_each(|_| call())) / 1e3;
        let beats = thousand(&mut || _ = black_box(map.beats_at_frame(next())));
        println!("beats_at_frame, {name}: {beats:.1}");
        let frames = thousand(&mut || _ = black_box(map.frame_at_beats(next() as f64 / 5e4)));
        println!("frame_at_beats, {name}: {frames:.1}");
    }
    let mut transport = Transport::new();
    transport.apply(TransportCommand::Play);
    transport.apply(TransportCommand::Loop(LoopRange::from_frames(0, 1000).expect("a loop")));
    let block = median_ns(|| {
        for _ in 0..1000 {
            black_box(transport.next_block(BLOCK_FRAMES));
        }
    }) / 1e3;
    println!("next_block: {block:.1}");
    for (name, shape) in
        [("hold", Shape::Hold), ("linear", Shape::Linear), ("curve", Shape::Curve(3.0))]
    {
        println!("{LANES} lanes, {name}, one tempo: {:.0}", lanes_ns(&steady, shape));
    }
    println!("{LANES} lanes, linear, tempo line: {:.0}", lanes_ns(&ramp, Shape::Linear));
    let mut other = EventBuffer::new(256, 0);
    for n in 0..200 {
        let source = Source::edge(0);
        let event = hocket_time::Event::new(n % 64, source, hocket_time::EventKind::param(n, 0.0));
        assert_eq!(other.push(event), hocket_time::Pushed::Stored);
    }
    let mut events = EventBuffer::new(1024, 0);
    let merge = median_ns(|| {
        events.clear();
        for edge in 0..4 {
            events.merge(&other, BLOCK_FRAMES, Source::edge(edge));
        }
    });
    println!("merge of 4 buffers of 200 events: {merge:.0}");
}
