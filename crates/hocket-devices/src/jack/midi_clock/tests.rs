//! Sender and follower on transports, without a server.

use std::sync::Arc;

use hocket_engine::time::{
    Glide, LoopRange, TempoMap, TempoPoint, TimedCommand, Transport, TransportCommand,
};

use super::{
    CLOCK, CONTINUE, ClockFollowed, ClockFollower, ClockSender, ClockSent, PER_QUARTER, POSITION,
    Pulses, START, STOP,
};

const RATES_HZ: [u32; 3] = [44_100, 48_000, 96_000];
const BLOCKS: [u32; 9] = [1, 2, 3, 64, 127, 441, 1024, 4097, 8192];

/// Tempos with a step, a line, a very slow and the fastest part.
fn map(rate_hz: u32) -> Arc<TempoMap> {
    let line = |beats, bpm| TempoPoint { glide: Glide::Linear, ..TempoPoint::step(beats, bpm) };
    let points = [
        TempoPoint::step(0.0, 121.3),
        line(2.01, 90.0),
        TempoPoint::step(4.0, 177.77),
        TempoPoint::step(6.5, 10_000.0),
        TempoPoint::step(100.0, 33.0),
    ];
    Arc::new(TempoMap::new(rate_hz, &points, &[]).unwrap())
}

/// A message and its steady frame.
type Message = (u64, Vec<u8>);

/// A song that is played in blocks, and what its clock says.
struct Song {
    transport: Transport,
    sender: ClockSender,
    sent: Arc<ClockSent>,
    messages: Vec<Message>,
    /// Where the last segment began, and whether it played.
    here: (i64, bool),
}

impl Song {
    fn new(map: &Arc<TempoMap>) -> Song {
        let sent = Arc::new(ClockSent::default());
        let sender = ClockSender::new(Arc::clone(map), Arc::clone(&sent));
        Song { transport: Transport::new(), sender, sent, messages: Vec::new(), here: (0, false) }
    }

    fn at(&mut self, at_steady: u64, command: TransportCommand) {
        self.transport.schedule(TimedCommand { at_steady, command }).unwrap();
    }

    fn cycle(&mut self, frames: u32, has_room: bool) {
        let steady = self.transport.steady_frame();
        let block = self.transport.next_block(frames);
        let last = block.as_slice().last().unwrap();
        self.here = (last.position, last.playing);
        self.sender.begin_cycle();
        let messages = &mut self.messages;
        let before = messages.len();
        self.sender.block(0, block.as_slice(), &mut |at, bytes| {
            assert!(at < frames);
            if has_room {
                messages.push((steady + u64::from(at), bytes.to_vec()));
            }
            has_room
        });
        assert!(messages[before..].is_sorted_by_key(|message| message.0));
    }

    fn run(&mut self, frames: u64, block: u32) {
        let end = self.transport.steady_frame() + frames;
        while self.transport.steady_frame() < end {
            let left = end - self.transport.steady_frame();
            self.cycle(block.min(left as u32), true);
        }
    }
}

fn pulses_in(messages: &[Message]) -> Vec<u64> {
    messages.iter().filter(|message| message.1 == [CLOCK]).map(|message| message.0).collect()
}

fn others(messages: &[Message]) -> Vec<Message> {
    messages.iter().filter(|message| message.1 != [CLOCK]).cloned().collect()
}

#[test]
fn every_pulse_is_sent_once_in_the_frame_nearest_to_it() {
    for rate_hz in RATES_HZ {
        let map = map(rate_hz);
        let frames = u64::from(rate_hz) * 6;
        let nearest = (0..).map(|pulse| map.frame_at_beats(f64::from(pulse) / 24.0) as u64);
        let expected: Vec<u64> = nearest.take_while(|frame| *frame < frames).collect();
        assert!(expected.len() > 2000, "the fast part is in it");
        for block in BLOCKS {
            let mut song = Song::new(&map);
            song.at(0, TransportCommand::Play);
            song.run(frames, block);
            assert_eq!(pulses_in(&song.messages), expected, "{rate_hz} Hz, blocks of {block}");
            let begin = vec![(0, vec![POSITION, 0, 0]), (0, vec![START])];
            assert_eq!(others(&song.messages), begin);
            assert_eq!(song.sent.no_room.get(), 0);
        }
    }
}

#[test]
fn the_first_pulse_from_a_frame_is_the_first_one_that_is_not_before_it() {
    for rate_hz in RATES_HZ {
        let pulses = Pulses::of(map(rate_hz));
        let mut pulse = 0;
        for frame in 0..i64::from(rate_hz) * 5 {
            while pulses.frame(pulse) < frame {
                pulse += 1;
            }
            assert_eq!(pulses.first_from(frame), pulse, "{frame}");
        }
        assert_eq!(pulses.first_from(-1000), 0);
    }
}

/// Plays, loops, stops and moves.
fn busy(song: &mut Song) {
    song.at(100, TransportCommand::Play);
    song.at(100, TransportCommand::Loop(LoopRange::from_frames(777, 30_001).unwrap()));
    song.at(100_000, TransportCommand::LoopOff);
    song.at(120_001, TransportCommand::Stop);
    song.at(125_000, TransportCommand::Locate(50_000));
    song.at(130_000, TransportCommand::Play);
    song.at(150_000, TransportCommand::Locate(-5_000));
    song.at(190_000, TransportCommand::Locate(0));
}

#[test]
fn loops_and_jumps_lose_and_double_no_pulse_in_blocks_of_any_length() {
    for rate_hz in RATES_HZ {
        let map = map(rate_hz);
        let pulses = Pulses::of(Arc::clone(&map));
        let mut song = Song::new(&map);
        busy(&mut song);
        let mut expected = Vec::new();
        for steady in 0..230_000 {
            song.cycle(1, true);
            let (frame, plays) = (song.here.0, song.here.1 && song.here.0 >= 0);
            if plays && pulses.frame(pulses.first_from(frame)) == frame {
                expected.push(steady);
            }
        }
        assert_eq!(pulses_in(&song.messages), expected, "{rate_hz} Hz");
        for block in BLOCKS {
            let mut same = Song::new(&map);
            busy(&mut same);
            same.run(230_000, block);
            assert_eq!(same.messages, song.messages, "{rate_hz} Hz, blocks of {block}");
        }
    }
}

#[test]
fn receivers_are_placed_at_the_next_sixteenth_and_started_in_its_frame() {
    // A quarter note is 24000 frames, a sixteenth 6000, a pulse 1000.
    let map = Arc::new(TempoMap::constant(48_000, 120.0).unwrap());
    let mut song = Song::new(&map);
    song.at(0, TransportCommand::Locate(6_001));
    song.at(500, TransportCommand::Play);
    song.at(10_000, TransportCommand::Stop);
    song.at(11_000, TransportCommand::Play);
    song.at(20_000, TransportCommand::Locate(6_000 * 200));
    song.at(30_000, TransportCommand::Locate(0));
    song.run(40_000, 512);
    let expected = vec![
        (0, vec![POSITION, 2, 0]),
        (500, vec![POSITION, 2, 0]),
        // At 500 the song was at 6001, so it is at 12000 here.
        (6_499, vec![CONTINUE]),
        // At 15501.
        (10_000, vec![STOP]),
        (10_000, vec![POSITION, 3, 0]),
        (11_000, vec![POSITION, 3, 0]),
        (13_499, vec![CONTINUE]),
        (20_000, vec![STOP]),
        (20_000, vec![POSITION, 200 - 128, 1]),
        (20_000, vec![CONTINUE]),
        (30_000, vec![STOP]),
        (30_000, vec![POSITION, 0, 0]),
        (30_000, vec![START]),
    ];
    assert_eq!(others(&song.messages), expected);
}

#[test]
fn a_place_behind_the_last_song_position_stops_receivers_until_the_song_comes_back() {
    let map = Arc::new(TempoMap::constant(48_000, 120.0).unwrap());
    let mut song = Song::new(&map);
    song.at(0, TransportCommand::Play);
    song.at(3_000, TransportCommand::Locate(6_000 * 16_384));
    song.at(30_000, TransportCommand::Locate(6_000 * 16_383));
    song.run(50_000, 256);
    let told = others(&song.messages);
    assert_eq!(
        told[2..],
        [(3_000, vec![STOP]), (30_000, vec![POSITION, 0x7f, 0x7f]), (30_000, vec![CONTINUE]),]
    );
    assert_eq!((song.sent.beyond.get(), song.sent.no_room.get()), (1, 0));
    assert!(song.sender.runs(), "playing beyond the last position goes on");
}

#[test]
fn receivers_start_anew_behind_messages_that_found_no_room() {
    let map = Arc::new(TempoMap::constant(48_000, 120.0).unwrap());
    let mut song = Song::new(&map);
    song.at(0, TransportCommand::Play);
    song.cycle(2_000, true);
    song.cycle(2_000, false);
    song.run(20_000, 500);
    let told = others(&song.messages);
    let expected = [(4_000, vec![STOP]), (4_000, vec![POSITION, 1, 0]), (6_000, vec![CONTINUE])];
    assert_eq!(told[2..], expected);
    assert_eq!(song.sent.no_room.get(), 2, "two pulses");
    // Without any room, nothing is sent and nothing fails.
    let mut mute = Song::new(&map);
    mute.at(0, TransportCommand::Play);
    for _ in 0..100 {
        mute.cycle(1_000, false);
    }
    assert!(mute.messages.is_empty() && !mute.sender.runs());
    mute.run(12_000, 1_000);
    assert!(mute.sender.runs());
}

/// A song that follows messages.
struct Follows {
    transport: Transport,
    follower: ClockFollower,
    counts: Arc<ClockFollowed>,
    /// Where each frame was, and whether it played.
    frames: Vec<(i64, bool)>,
}

impl Follows {
    fn new(map: &Arc<TempoMap>) -> Follows {
        let counts = Arc::new(ClockFollowed::default());
        let follower = ClockFollower::new(Arc::clone(map), Arc::clone(&counts));
        Follows { transport: Transport::new(), follower, counts, frames: Vec::new() }
    }

    /// Plays so many frames, in cycles of this length.
    fn run(&mut self, frames: u64, cycle: u32, messages: &[Message]) {
        let end = self.transport.steady_frame() + frames;
        while self.transport.steady_frame() < end {
            let from = self.transport.steady_frame();
            let length = u64::from(cycle).min(end - from);
            let transport = &mut self.transport;
            let mut take = |command: TimedCommand| match command.at_steady <= from {
                true => {
                    transport.apply(command.command);
                    true
                }
                false => transport.schedule(command).is_ok(),
            };
            let inside = from..from + length;
            for (at, bytes) in messages.iter().filter(|message| inside.contains(&message.0)) {
                self.follower.message(*at, bytes, &mut take);
            }
            self.follower.time_passes(from + length - 1, &mut take);
            for segment in self.transport.next_block(length as u32).as_slice() {
                let moves = i64::from(segment.playing);
                let at = |n: u32| (segment.position + moves * i64::from(n), segment.playing);
                self.frames.extend((0..segment.frames).map(at));
            }
        }
    }
}

#[test]
fn a_song_is_where_the_song_is_that_sends_the_clock() {
    for rate_hz in RATES_HZ {
        let map = map(rate_hz);
        let mut song = Song::new(&map);
        busy(&mut song);
        let mut places = Vec::new();
        for _ in 0..230_000 {
            song.cycle(1, true);
            places.push((song.here.0, song.here.1, song.sender.runs()));
        }
        for cycle in [1, 64, 441, 8192] {
            let mut follows = Follows::new(&map);
            follows.run(230_000, cycle, &song.messages);
            for (at, (here, there)) in follows.frames.iter().zip(&places).enumerate() {
                let (place, plays, runs) = *there;
                assert_eq!(here.1, plays && runs, "{rate_hz} Hz, cycles of {cycle}, frame {at}");
                if here.1 {
                    assert_eq!(here.0, place, "{rate_hz} Hz, cycles of {cycle}, frame {at}");
                }
            }
            let counts = &follows.counts;
            assert_eq!((counts.no_room.get(), counts.lost.get(), counts.ignored.get()), (0, 0, 0));
            assert_eq!((counts.most_apart.get(), counts.other_tempo.get()), (0, 0));
            let played = follows.frames.iter().filter(|frame| frame.1).count();
            assert!(played > 100_000, "{played}");
        }
    }
}

/// Messages with as many frames between them, from a frame on.
fn steady_pulses(from: u64, every: u64, count: u64) -> Vec<Message> {
    (0..count).map(|clock| (from + clock * every, vec![CLOCK])).collect()
}

fn constant() -> Arc<TempoMap> {
    Arc::new(TempoMap::constant(48_000, 120.0).unwrap())
}

#[test]
fn pulses_without_a_start_move_nothing() {
    let mut follows = Follows::new(&constant());
    follows.run(200_000, 256, &steady_pulses(10, 1_000, 199));
    assert!(follows.frames.iter().all(|frame| *frame == (0, false)));
    assert_eq!((follows.counts.pulses.get(), follows.counts.unused_pulses.get()), (199, 199));
}

#[test]
fn a_start_without_a_pulse_waits() {
    let mut follows = Follows::new(&constant());
    let messages = vec![(500, vec![POSITION, 4, 0]), (600, vec![CONTINUE])];
    follows.run(200_000, 256, &messages);
    assert_eq!(follows.frames.last(), Some(&(24_000, false)));
    assert_eq!(follows.counts.waits_at(), Some(24_000));
    assert_eq!(follows.counts.lost.get(), 0);
}

#[test]
fn a_clock_that_comes_no_longer_stops_the_song_after_a_second() {
    let mut follows = Follows::new(&constant());
    let mut messages = vec![(0, vec![START])];
    messages.extend(steady_pulses(0, 1_000, 49));
    // It comes back, without a start and then with one.
    messages.extend(steady_pulses(150_000, 1_000, 10));
    messages.push((170_000, vec![CONTINUE]));
    messages.extend(steady_pulses(170_000, 1_000, 30));
    follows.run(200_000, 256, &messages);
    let plays = |at: usize| follows.frames[at].1;
    assert!(plays(48_000 + 47_999) && !plays(48_000 + 48_001));
    assert!(!plays(155_000) && plays(170_000));
    assert_eq!(follows.frames[170_000].0, 49_000, "on from the last clock");
    assert_eq!(follows.counts.lost.get(), 1);
}

#[test]
fn slow_pulses_are_not_lost() {
    let slow = Arc::new(TempoMap::constant(48_000, 1.0).unwrap());
    let mut follows = Follows::new(&slow);
    let mut messages = vec![(0, vec![START])];
    messages.extend(steady_pulses(0, 120_000, 5));
    follows.run(480_001, 1_024, &messages);
    assert_eq!(follows.counts.lost.get(), 0);
    assert_eq!(follows.frames.last(), Some(&(480_000, true)));
}

#[test]
fn another_tempo_is_measured_and_does_not_move_the_song() {
    let mut follows = Follows::new(&constant());
    let mut messages = vec![(0, vec![START])];
    // 100 quarter notes per minute instead of 120.
    messages.extend(steady_pulses(0, 1_200, 97));
    follows.run(116_000, 256, &messages);
    let at_own_tempo =
        follows.frames.iter().enumerate().all(|(at, place)| *place == (at as i64, true));
    assert!(at_own_tempo);
    let counts = &follows.counts;
    assert_eq!((counts.quarters.get(), counts.other_tempo.get()), (4, 4));
    assert_eq!((counts.took_frames.get(), counts.session_frames.get()), (115_200, 96_000));
    assert_eq!(counts.most_apart.get(), 96 * 200);
    // Less than a hundredth is jitter, or the clock of another machine.
    let mut close = Follows::new(&constant());
    let mut messages = vec![(0, vec![START])];
    messages.extend(steady_pulses(0, 1_009, 97));
    close.run(97_000, 256, &messages);
    assert_eq!((close.counts.quarters.get(), close.counts.other_tempo.get()), (4, 0));
}

#[test]
fn a_song_position_moves_a_song_that_plays_at_the_next_pulse() {
    let mut follows = Follows::new(&constant());
    let mut messages = vec![(0, vec![START]), (0, vec![CLOCK]), (500, vec![POSITION, 8, 0])];
    messages.extend(steady_pulses(1_000, 1_000, 10));
    follows.run(5_000, 256, &messages);
    assert_eq!(follows.frames[999], (999, true));
    assert_eq!(follows.frames[1_000], (48_000, true));
    assert_eq!(follows.frames[4_999], (51_999, true));
}

#[test]
fn garbage_is_counted_and_harmless() {
    let mut follows = Follows::new(&constant());
    let bad: [&[u8]; 9] = [
        &[],
        &[POSITION],
        &[POSITION, 1],
        &[POSITION, 0x80, 0],
        &[POSITION, 1, 2, 3],
        &[CLOCK, CLOCK],
        &[0xf0, 1, 2, 0xf7],
        &[0x90, 60, 100],
        &[0xf9],
    ];
    let messages: Vec<Message> =
        (0u64..).zip(bad).map(|(at, bytes)| (at, bytes.to_vec())).collect();
    follows.run(1_000, 64, &messages);
    assert!(follows.frames.iter().all(|frame| *frame == (0, false)));
    assert_eq!(follows.counts.ignored.get(), bad.len() as u64);
    // The last place that a message can name, far behind any song.
    let far =
        vec![(1_000, vec![POSITION, 0x7f, 0x7f]), (1_001, vec![CONTINUE]), (1_002, vec![CLOCK])];
    follows.run(1_000, 64, &far);
    assert_eq!(follows.frames[1_999], (6_000 * 16_383 + 997, true));
}

#[test]
fn any_bytes_at_all_are_harmless() {
    let mut follows = Follows::new(&map(48_000));
    let mut state = 1u64;
    let mut next = |below: u64| {
        // Knuth's MMIX.
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let kinds = [CLOCK, START, CONTINUE, STOP, POSITION, 0xff, 0x00];
    let mut messages = Vec::new();
    let mut at = 0;
    while at < 300_000 {
        // Many in one frame, too: more than an engine has room for.
        at += next(3) * next(400);
        let mut bytes = vec![kinds[next(kinds.len() as u64) as usize]];
        bytes.extend((0..next(4)).map(|_| next(256) as u8));
        messages.push((at, bytes));
    }
    messages.extend((0..200).map(|n| (301_000 + n, vec![[START, STOP, CLOCK][n as usize % 3]])));
    messages.push((302_000, vec![STOP]));
    messages.push((303_000, vec![START]));
    messages.extend(steady_pulses(303_500, 1_000, 3 * PER_QUARTER as u64));
    follows.run(310_000, 1_024, &messages);
    assert!(follows.counts.ignored.get() > 0);
    assert_eq!(follows.frames[309_999], (6_499, true), "it obeys as before");
}
