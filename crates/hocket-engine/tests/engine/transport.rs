//! Play, stop, locate and loop: at a block's edge or inside a block, from the leader or another thread, under every
//! schedule.

use std::sync::Arc;
use std::sync::Mutex;

use hocket_engine::time::{
    Full, LoopRange, MAX_PENDING, TempoMap, TimedCommand, Transport, TransportCommand as Command,
};
use hocket_engine::{
    Block, ControlError, Edge, Engine, Fusing, Graph, MediaPool, Node, NodeKind, Prepared,
    Processor, prepare_session,
};
use hocket_plan::session::Clip;
use hocket_plan::{ScheduleKind, Session};
use proptest::prelude::*;

use crate::stage::{self, FRAMES, RATE_HZ, policy, whole_file};

/// Tracks without effects: what is heard depends on the song's position alone.
fn session() -> Session {
    let mut session = stage::session();
    for (index, track) in session.tracks.iter_mut().enumerate() {
        track.strip.chain.clear();
        track.strip.sends.clear();
        let start_s = index as f64 * 100.0 / f64::from(RATE_HZ);
        track.clips = vec![Clip { start_s, looped: index == 0, ..whole_file() }];
    }
    session.groups.clear();
    session.returns.clear();
    session.master.chain.clear();
    for track in &mut session.tracks {
        track.output = hocket_plan::session::Destination::Master;
    }
    session
}

fn engine(session: &Session, media: &MediaPool, kind: ScheduleKind) -> Engine {
    let prepared = prepare_session(session, media, RATE_HZ, Fusing::Chains).unwrap();
    let workers = if kind == ScheduleKind::Serial { 1 } else { 2 };
    stage::engine(prepared, policy(kind), workers)
}

/// The whole song from its start, left row.
fn song(frames: usize) -> Vec<u32> {
    let mut engine = engine(&session(), &stage::media(), ScheduleKind::Serial);
    let mut heard = Vec::new();
    while heard.len() < frames {
        engine.process(FRAMES);
        heard.extend(engine.output(FRAMES).left.iter().map(|sample| sample.to_bits()));
    }
    heard
}

/// The position of each frame, and whether it plays: frame by frame.
fn positions(commands: &[TimedCommand], frames: usize) -> Vec<(i64, bool)> {
    let mut transport = Transport::new();
    transport.apply(Command::Play);
    let position = |frame: usize| {
        let due = commands.iter().filter(|command| command.at_steady == frame as u64);
        due.for_each(|command| transport.apply(command.command));
        let block = transport.next_block(1);
        (block.as_slice()[0].position, block.as_slice()[0].playing)
    };
    (0..frames).map(position).collect()
}

fn any_command() -> impl Strategy<Value = Command> {
    prop_oneof![
        Just(Command::Play),
        Just(Command::Stop),
        Just(Command::Play),
        (-300i64..3_000).prop_map(Command::Locate),
        (0i64..1_500, 256i64..600).prop_map(|(start, length)| {
            Command::Loop(LoopRange::from_frames(start, start + length).unwrap())
        }),
        Just(Command::LoopOff),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn what_is_heard_is_the_song_at_the_transports_position(
        commands in proptest::collection::vec((0u64..2_000, any_command()), 0..10),
        lengths in proptest::collection::vec(1usize..=FRAMES, 1..5),
        kind in proptest::sample::select(ScheduleKind::ALL.to_vec()),
        from_the_leader: bool,
    ) {
        let _alone = stage::alone();
        let mut commands: Vec<TimedCommand> = commands.into_iter()
            .map(|(at_steady, command)| TimedCommand { at_steady, command }).collect();
        commands.sort_by_key(|command| command.at_steady);
        let (frames, song) = (2_000, song(6_000));
        let mut engine = engine(&session(), &stage::media(), kind);
        for command in &commands {
            match from_the_leader {
                true => prop_assert!(engine.command(*command).is_ok()),
                false => prop_assert!(engine.control().transport(*command).is_ok()),
            }
        }
        let mut heard = Vec::new();
        for length in lengths.iter().cycle() {
            let length = (*length).min(frames - heard.len());
            if length == 0 {
                break;
            }
            engine.process(length);
            heard.extend(engine.output(length).left.iter().map(|sample| sample.to_bits()));
        }
        for (frame, (position, playing)) in positions(&commands, frames).into_iter().enumerate() {
            let there = usize::try_from(position).ok().filter(|_| playing);
            let expected = there.map_or(0, |position| song[position]);
            prop_assert_eq!(heard[frame], expected, "frame {}, position {}", frame, position);
        }
    }
}

#[test]
fn an_engine_says_where_it_is_and_goes_back_to_the_start_with_a_reset() {
    let _alone = stage::alone();
    let mut engine = engine(&session(), &stage::media(), ScheduleKind::Dataflow);
    let now = |command| TimedCommand { at_steady: 0, command };
    engine.process(FRAMES);
    assert_eq!(engine.transport().position(), FRAMES as i64);
    engine.command(now(Command::Locate(1_000))).unwrap();
    engine.command(now(Command::Stop)).unwrap();
    engine.process(FRAMES);
    assert_eq!((engine.transport().position(), engine.transport().is_playing()), (1_000, false));
    assert_eq!(engine.transport().steady_frame(), 2 * FRAMES as u64);
    assert!(engine.output(FRAMES).left.iter().all(|sample| *sample == 0.0));
    engine.reset();
    assert_eq!((engine.transport().position(), engine.transport().is_playing()), (0, true));
    let first = stage::play(&mut engine, 1);
    assert_eq!(first[0][..FRAMES], song(FRAMES)[..FRAMES]);
}

#[test]
fn an_engine_says_where_a_block_began_in_a_loop_and_after_another_threads_command() {
    let _alone = stage::alone();
    let mut engine = engine(&session(), &stage::media(), ScheduleKind::Dataflow);
    let now = |command| TimedCommand { at_steady: 0, command };
    let place = |engine: &Engine| engine.first_segment().map(|it| (it.position, it.playing));
    assert_eq!(place(&engine), None);
    let frames = FRAMES as i64;
    // A pass ends with the fourth block.
    let range = LoopRange::from_frames(0, 4 * frames).unwrap();
    engine.command(now(Command::Loop(range))).unwrap();
    for begins in [0, 1, 2, 3, 0, 1, 2, 3].map(|block| block * frames) {
        engine.process(FRAMES);
        assert_eq!(place(&engine), Some((begins, true)));
    }
    assert_eq!(engine.transport().position(), 0);
    let control = engine.control();
    control.transport(now(Command::Locate(7))).unwrap();
    control.transport(now(Command::Stop)).unwrap();
    engine.process(FRAMES);
    assert_eq!(place(&engine), Some((7, false)));
}

#[test]
fn a_command_beyond_those_that_can_wait_is_refused_and_holds_up_no_order() {
    let _alone = stage::alone();
    let mut engine = engine(&session(), &stage::media(), ScheduleKind::Dataflow);
    let control = engine.control();
    let frame = FRAMES as u64;
    let stop_at = |at_steady| TimedCommand { at_steady, command: Command::Stop };
    engine.process(FRAMES);
    // 10 of other threads and 6 of the leader: they share the room.
    for _ in 0..10 {
        control.transport(stop_at(4 * frame)).unwrap();
    }
    for _ in 0..MAX_PENDING - 10 {
        engine.command(stop_at(1 << 40)).unwrap();
    }
    let refused = control.transport(stop_at(4 * frame)).unwrap_err();
    assert_eq!(refused, ControlError::TooManyCommands);
    assert!(refused.to_string().contains("16 transport commands wait"), "{refused}");
    assert_eq!(engine.command(stop_at(4 * frame)), Err(Full(stop_at(4 * frame))));
    // A command for now and other orders pass.
    control.transport(TimedCommand { at_steady: 0, command: Command::Locate(-1_000) }).unwrap();
    control.set_tempo_map(TempoMap::constant(RATE_HZ, 90.0).unwrap()).unwrap();
    engine.process(FRAMES);
    assert!(control.is_settled());
    assert_eq!(engine.transport().position(), FRAMES as i64 - 1_000);
    assert_eq!(engine.transport().waiting(), MAX_PENDING);
    // The frame of the ten comes. One that has passed counts until it is carried out.
    (2..5).for_each(|_| _ = engine.process(FRAMES));
    assert!(!engine.transport().is_playing());
    assert_eq!(engine.transport().waiting(), MAX_PENDING - 10);
    let sent = || (0..2 * MAX_PENDING).filter(|_| control.transport(stop_at(1)).is_ok()).count();
    assert_eq!(sent(), 10);
    engine.process(FRAMES);
    assert_eq!(sent(), 10);
    // Those that wait are gone with a reset, and those on their way are not.
    engine.reset();
    assert_eq!(sent(), MAX_PENDING - 10);
    engine.process(FRAMES);
    engine.process(FRAMES);
    assert_eq!(sent(), MAX_PENDING);
}

#[test]
fn a_command_that_is_refused_because_the_ring_is_full_takes_no_place() {
    let _alone = stage::alone();
    let mut engine = engine(&session(), &stage::media(), ScheduleKind::Serial);
    let control = engine.control();
    let play_at = |at_steady| TimedCommand { at_steady, command: Command::Play };
    while control.transport(play_at(0)).is_ok() {}
    for _ in 0..2 * MAX_PENDING {
        assert_eq!(control.transport(play_at(1 << 40)), Err(ControlError::Full));
    }
    while !control.is_settled() {
        engine.process(FRAMES);
    }
    for _ in 0..MAX_PENDING {
        control.transport(play_at(1 << 40)).unwrap();
    }
    assert_eq!(control.transport(play_at(1 << 40)), Err(ControlError::TooManyCommands));
}

/// Notes where the song is.
struct Watch(Arc<Mutex<Vec<(i64, f64, bool)>>>);

impl Processor for Watch {
    fn process(&mut self, block: &mut Block<'_>) {
        let time = block.time.expect("it keeps time");
        let mut seen = self.0.lock().unwrap();
        for frame in 0..block.frames() as u32 {
            seen.push((time.position_at(frame), time.bpm_at(frame), time.is_playing_at(frame)));
        }
    }

    fn reset(&mut self) {}

    fn keeps_time(&self) -> bool {
        true
    }
}

/// Delays by nothing, but says so: only the clock is looked at.
struct Late;

impl Processor for Late {
    fn process(&mut self, block: &mut Block<'_>) {
        assert!(block.time.is_none(), "it does not ask for it");
    }

    fn reset(&mut self) {}
}

#[test]
fn a_node_behind_a_latency_sees_the_time_of_what_it_hears() {
    let _alone = stage::alone();
    let late = 100;
    let (first, second) = (Arc::default(), Arc::default());
    let mut graph = Graph::default();
    let custom = |name, inputs, latency_frames| Node {
        inputs,
        latency_frames,
        ..Node::new(name, NodeKind::Custom(0))
    };
    let source = graph.add(custom("source", vec![], 0)).unwrap();
    let slow = graph.add(custom("slow", vec![Edge::new(source, 1.0)], late)).unwrap();
    graph.add(custom("behind", vec![Edge::new(slow, 1.0)], 0)).unwrap();
    let processors: Vec<Option<Box<dyn Processor>>> = vec![
        Some(Box::new(Watch(Arc::clone(&first)))),
        Some(Box::new(Late)),
        Some(Box::new(Watch(Arc::clone(&second)))),
    ];
    let prepared = Prepared::from_graph(&graph, processors, Fusing::Chains).unwrap();
    let mut engine = stage::engine(prepared, policy(ScheduleKind::Serial), 1);
    for block in 0..40 {
        if block == 10 {
            engine.control().set_tempo_map(TempoMap::constant(RATE_HZ, 90.0).unwrap()).unwrap();
        }
        if block == 20 {
            let command = Command::Locate(-5);
            engine.control().transport(TimedCommand { at_steady: 0, command }).unwrap();
        }
        engine.process(1 + block * 7 % FRAMES);
    }
    let (first, second) = (first.lock().unwrap(), second.lock().unwrap());
    let (heard, early) = (&second[late as usize..], &second[..late as usize]);
    assert!(
        heard.iter().zip(first.iter()).all(|(late, then)| late.0 == then.0 && late.2 == then.2)
    );
    assert!(early.iter().all(|(position, _, playing)| *position == 0 && !playing));
    assert_eq!((first[0].1, first[first.len() - 1].1), (120.0, 90.0));
    let back = first.iter().position(|(position, ..)| *position == -5).unwrap();
    assert_eq!(second[back + late as usize].0, -5);
}
