//! The transport against a model that moves frame by frame.

use hocket_time::{
    BlockTime, Full, LoopError, LoopRange, MAX_BLOCK_FRAMES, MAX_FRAME, MAX_PENDING, MAX_SEGMENTS,
    MIN_LOOP_FRAMES, Position, SegmentHistory, Segments, TempoMap, TimedCommand, Transport,
    TransportCommand,
};
use proptest::prelude::*;

/// One frame: position, whether it plays, whether it jumps.
type Frame = (i64, bool, bool);

/// What every frame has to be, by the definition of the commands.
fn model(commands: &[TimedCommand], frames: u64) -> Vec<Frame> {
    let (mut position, mut playing, mut led_to) = (0, false, 0);
    let mut repeat: Option<LoopRange> = None;
    let mut result = Vec::new();
    for frame in 0..frames {
        for timed in commands.iter().filter(|timed| timed.at_steady == frame) {
            match timed.command {
                TransportCommand::Play => playing = true,
                TransportCommand::Stop => playing = false,
                TransportCommand::Locate(to) => position = to,
                TransportCommand::Loop(range) => repeat = Some(range),
                TransportCommand::LoopOff => repeat = None,
            }
        }
        result.push((position, playing, position != led_to));
        position += i64::from(playing);
        led_to = position;
        if playing && let Some(range) = repeat.filter(|range| range.end() == position) {
            position = range.start();
        }
    }
    result
}

/// Checks the list and adds its frames.
fn expand(segments: &Segments, frames: u32, into: &mut Vec<Frame>) {
    let list = segments.as_slice();
    assert_eq!(segments.frames(), frames);
    assert!(list.len() <= MAX_SEGMENTS);
    for pair in list.windows(2) {
        assert_eq!(pair[0].end(), pair[1].offset);
        // As few as possible.
        assert!(pair[1].jumped || pair[0].playing != pair[1].playing, "{segments:?}");
    }
    for offset in 0..frames {
        let segment = segments.at(offset).unwrap();
        assert!((segment.offset..segment.end()).contains(&offset));
        let jumped = segment.jumped && offset == segment.offset;
        into.push((segment.position_at(offset), segment.playing, jumped));
    }
}

fn command() -> impl Strategy<Value = TransportCommand> {
    let place = || prop_oneof![3 => -500..3000i64, 1 => Just(0), 1 => Just(1000)];
    let range = (place(), MIN_LOOP_FRAMES..600)
        .prop_map(|(start, length)| LoopRange::from_frames(start, start + length).unwrap());
    prop_oneof![
        4 => Just(TransportCommand::Play),
        1 => Just(TransportCommand::Stop),
        2 => place().prop_map(TransportCommand::Locate),
        2 => range.prop_map(TransportCommand::Loop),
        1 => Just(TransportCommand::LoopOff),
    ]
}

fn commands(frames: u64) -> impl Strategy<Value = Vec<TimedCommand>> {
    let timed = (prop_oneof![1 => Just(0), 4 => 0..frames], command());
    let timed = timed.prop_map(|(at_steady, command)| TimedCommand { at_steady, command });
    proptest::collection::vec(timed, 0..MAX_PENDING)
}

proptest! {
    #[test]
    fn every_cut_gives_the_frames_of_the_model(
        commands in commands(5_000),
        cuts in proptest::collection::vec(1u32..900, 1..40),
    ) {
        let mut transport = Transport::new();
        let (mut got, mut sent) = (Vec::new(), vec![false; commands.len()]);
        for frames in cuts.iter().copied().cycle() {
            // Some commands come long before their frame, all of them before their block.
            let early = transport.steady_frame() + u64::from(frames) * 3;
            for (timed, sent) in commands.iter().zip(&mut sent) {
                if !*sent && timed.at_steady < early {
                    transport.schedule(*timed).unwrap();
                    *sent = true;
                }
            }
            let before = transport.steady_frame();
            let segments = transport.next_block(frames);
            prop_assert_eq!(transport.steady_frame(), before + u64::from(frames));
            expand(&segments, frames, &mut got);
            if got.len() > 5_000 {
                break;
            }
        }
        prop_assert_eq!(&got, &model(&commands, got.len() as u64));
    }
}

proptest! {
    #[test]
    fn a_delayed_block_has_the_frames_of_before(
        commands in commands(5_000),
        cuts in proptest::collection::vec(1u32..900, 1..40),
        delays in proptest::collection::vec(0u32..2_000, 1..6),
    ) {
        let (mut transport, mut history) = (Transport::new(), SegmentHistory::new(1_500));
        commands.iter().for_each(|timed| transport.schedule(*timed).unwrap());
        let first = model(&commands, 1)[0].0;
        let (mut now, mut start) = (Vec::new(), 0);
        for (frames, delay) in cuts.iter().copied().cycle().zip(delays.iter().cycle()) {
            let block = transport.next_block(frames);
            history.push(&block);
            expand(&block, frames, &mut now);
            let mut late = Vec::new();
            expand(&history.delayed(*delay), frames, &mut late);
            let delay = (*delay).min(1_500) as usize;
            for (n, late) in late.into_iter().enumerate() {
                // Before the start the song stands where it starts.
                let expected = match (start + n).checked_sub(delay) {
                    None => (first, false, false),
                    Some(0) if delay > 0 => (first, now[0].1, false),
                    Some(before) => now[before],
                };
                prop_assert_eq!(late, expected, "{} {}", start, n);
            }
            start = now.len();
            if start > 5_000 {
                break;
            }
        }
    }
}

#[test]
fn a_storm_of_commands_costs_memory_nothing_and_ends() {
    let (mut transport, mut history) = (Transport::new(), SegmentHistory::new(4_000));
    transport.apply(TransportCommand::Play);
    for n in 0..4_000 {
        transport.apply(TransportCommand::Locate(n * 1_000_000));
        history.push(&transport.next_block(1));
    }
    // Far more segments than a block can have: the block is still covered.
    history.push(&transport.next_block(2_000));
    assert_eq!(history.delayed(1_000).frames(), 2_000);
    assert_eq!(history.delayed(1_000).as_slice().len(), MAX_SEGMENTS);
    history.push(&transport.next_block(2_000));
    let late = history.delayed(1_000);
    assert_eq!(late.as_slice()[0].position, 3_999_000_000 + 1 + 1_000);
}

#[test]
fn commands_are_small_and_everything_may_go_to_other_threads() {
    assert!(size_of::<TimedCommand>() <= 32);
    fn shared<T: Send + Sync + 'static>() {}
    shared::<(TempoMap, Transport, SegmentHistory, Segments, TimedCommand)>();
    shared::<(hocket_time::Lane, hocket_time::LaneCursor, hocket_time::EventBuffer)>();
}

#[test]
fn the_worst_block_fits() {
    let range = LoopRange::from_frames(0, MIN_LOOP_FRAMES).unwrap();
    for spread in [0, 1, 7, 257, 300, 511] {
        let mut transport = Transport::new();
        transport.apply(TransportCommand::Loop(range));
        transport.apply(TransportCommand::Play);
        let mut commands = Vec::new();
        for n in 0..MAX_PENDING as u64 {
            // Always just before the end of the loop, so that each one adds a pass.
            let command = TransportCommand::Locate(MIN_LOOP_FRAMES - 1 - (n as i64 % 2));
            commands.push(TimedCommand { at_steady: 1 + n * spread, command });
            transport.schedule(commands[n as usize]).unwrap();
        }
        let segments = transport.next_block(MAX_BLOCK_FRAMES);
        let first = [TransportCommand::Loop(range), TransportCommand::Play];
        let first = first.map(|command| TimedCommand { at_steady: 0, command });
        let mut got = Vec::new();
        expand(&segments, MAX_BLOCK_FRAMES, &mut got);
        commands.splice(0..0, first);
        assert_eq!(got, model(&commands, u64::from(MAX_BLOCK_FRAMES)));
    }
}

#[test]
fn a_full_queue_gives_the_command_back_and_keeps_the_others() {
    let mut transport = Transport::new();
    let locate =
        |n: u64| TimedCommand { at_steady: 10, command: TransportCommand::Locate(n as i64) };
    for n in 0..MAX_PENDING as u64 {
        assert_eq!(transport.schedule(locate(n)), Ok(()));
    }
    let more = locate(99);
    assert_eq!(transport.schedule(more), Err(Full(more)));
    transport.next_block(11);
    assert_eq!(transport.position(), MAX_PENDING as i64 - 1);
    assert_eq!(transport.schedule(more), Ok(()));
    // Its frame has passed: it takes effect at once.
    assert!(transport.next_block(1).as_slice()[0].jumped);
    assert_eq!(transport.position(), 99);
}

#[test]
fn a_locate_to_where_it_leads_is_no_jump_and_positions_are_bounded() {
    let mut transport = Transport::new();
    transport.apply(TransportCommand::Locate(500));
    transport.apply(TransportCommand::Locate(0));
    assert!(!transport.next_block(8).as_slice()[0].jumped);
    transport.apply(TransportCommand::Locate(i64::MAX));
    assert_eq!(transport.position(), MAX_FRAME);
    transport.apply(TransportCommand::Locate(i64::MIN));
    assert_eq!(transport.position(), -MAX_FRAME);
}

#[test]
fn too_long_a_block_is_covered_in_parts() {
    let mut transport = Transport::new();
    assert_eq!(transport.next_block(u32::MAX).frames(), MAX_BLOCK_FRAMES);
    assert_eq!(transport.steady_frame(), u64::from(MAX_BLOCK_FRAMES));
    assert_eq!(transport.next_block(0), Segments::EMPTY);
}

#[test]
fn short_and_wrong_loops_are_refused_with_the_reason() {
    let map = TempoMap::constant(48_000, 120.0).unwrap();
    let beats = |start, end| LoopRange::new(&map, Position::Beats(start), Position::Beats(end));
    assert_eq!(beats(1.0, 2.0).map(|range| (range.start(), range.end())), Ok((24_000, 48_000)));
    for (start, end) in [(1.0, 1.0), (2.0, 1.0), (1.0, 1.01)] {
        let error = beats(start, end).unwrap_err();
        assert!(matches!(error, LoopError::Short { .. }));
        assert!(error.to_string().contains("sound as a tone: move its end to frame"), "{error}");
    }
    let error = beats(0.0, f64::NAN).unwrap_err();
    assert!(error.to_string().starts_with("the loop's end: the position Beats(NaN)"), "{error}");
    for (start, end) in [(i64::MIN, i64::MAX), (0, i64::MAX), (i64::MIN, 0)] {
        assert!(matches!(LoopRange::from_frames(start, end), Err(LoopError::Position { .. })));
    }
    assert!(LoopRange::from_frames(-MIN_LOOP_FRAMES, 0).is_ok());
}

#[test]
fn a_block_says_when_it_plays() {
    let map = TempoMap::constant(48_000, 60.0).unwrap();
    let mut transport = Transport::new();
    transport.apply(TransportCommand::Locate(96_000));
    transport.schedule(TimedCommand { at_steady: 32, command: TransportCommand::Play }).unwrap();
    let locate = TransportCommand::Locate(-48_000);
    transport.schedule(TimedCommand { at_steady: 48, command: locate }).unwrap();
    let steady_frame = transport.steady_frame();
    let segments = transport.next_block(64);
    let time = BlockTime { steady_frame, segments: &segments, map: &map };
    assert_eq!((time.frames(), time.segment_at(40).offset), (64, 32));
    assert_eq!(
        [0, 31, 32, 40, 48].map(|n| time.position_at(n)),
        [96_000, 96_000, 96_000, 96_008, -48_000]
    );
    assert_eq!([0, 31, 32, 63].map(|n| time.is_playing_at(n)), [false, false, true, true]);
    assert_eq!((time.beats_at(0), time.seconds_at(48), time.bpm_at(7)), (2.0, -1.0, 60.0));
    assert_eq!(time.bar_at(48).to_string(), "-1.4.000");
    assert_eq!(time.jumps().map(|segment| segment.offset).collect::<Vec<_>>(), [0, 48]);
    let nothing = BlockTime { segments: &Segments::EMPTY, ..time };
    assert_eq!((nothing.frames(), nothing.position_at(5), nothing.is_playing_at(0)), (0, 0, false));
}
