//! A client that follows the server's transport, beside one that moves it and hears where the song is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use hocket_devices::jack::{Place, TransportState};
use hocket_devices::{Bundle, Channels, Connect, Device, End, JackError, ServerTransport};
use hocket_engine::session::LoopPoints;
use hocket_engine::time::{TempoMap, TimeBase};
use hocket_engine::{Block, Engine, Fusing, Graph, Node, NodeKind, Ports, Prepared, Processor};

use super::jackd::sentry::{OtherClient, ROLLING, STARTING, STOPPED, SongCycle, counter};
use super::jackd::{Mode, Server, wait_until};
use super::{Counts, RATE_HZ, alone, open, sentry, start};

/// Frames of a cycle.
const CYCLE: u32 = 64;
/// Frames that the other client records: 43 seconds.
const ROOM: usize = 1 << 21;

/// Puts out where the song is: on the right always, on the left while it plays.
struct Where;

impl Processor for Where {
    fn process(&mut self, block: &mut Block<'_>) {
        let time = block.time.expect("it keeps time");
        let rows = block.main.left.iter_mut().zip(block.main.right.iter_mut());
        for (offset, (left, right)) in (0..).zip(rows) {
            *right = counter(time.position_at(offset) as u64);
            *left = if time.is_playing_at(offset) { *right } else { 0.0 };
        }
    }

    fn reset(&mut self) {}

    fn keeps_time(&self) -> bool {
        true
    }
}

/// An engine that puts out where its song is. The song has a loop of 0.1 s.
fn engine(frames: u32) -> Engine {
    let mut graph = Graph::default();
    let ports = Ports::default();
    graph.add(Node { ports, ..Node::new("where", NodeKind::Custom(0)) }).unwrap();
    let processors: Vec<Option<Box<dyn Processor>>> = vec![Some(Box::new(Where))];
    let mut prepared = Prepared::from_graph(&graph, processors, Fusing::Chains).unwrap();
    prepared.time.repeat = Some(LoopPoints { base: TimeBase::Seconds, from: 0.0, to: 0.1 });
    start(prepared, frames)
}

/// Ends a run, also where a test fails.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

/// What the other client heard, by channel, and what it saw of the transport.
type Heard = (Vec<Vec<f32>>, Vec<SongCycle>);

/// Follows in blocks of so many frames while `moves` lasts. `after`: the client is still there, and plays no more.
fn follow(
    server: &Server,
    (frames, waits): (u32, bool),
    moves: impl FnOnce(&OtherClient, &ServerTransport),
    after: impl FnOnce(&OtherClient),
) -> Heard {
    let other = server.client("other", (2, 0), ROOM);
    let mut device = open(&server.name, Connect::Client("other".into())).unwrap();
    let transport = device.follow_transport(waits);
    let outputs = vec![Bundle { name: "main".into(), channels: 2, events: false }];
    device.prepare(&Channels { outputs, ..Channels::default() }).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let observer = Counts { left: u64::MAX, blocks: Arc::new(AtomicU64::new(0)) };
        let playing = scope.spawn(|| device.play(engine(frames), observer, &stop));
        let ending = Ending(&stop);
        wait_until("sound", || other.has_heard());
        moves(&other, &transport);
        drop(ending);
        assert_eq!(playing.join().unwrap().unwrap().end, End::Stopped);
    });
    assert_eq!(sentry::allocations(), 0, "the server's thread allocates");
    after(&other);
    drop(device);
    assert_eq!(transport.now(), None, "the client has left");
    assert!(matches!(transport.start(), Err(JackError::Ended(_))));
    other.end_with_cycles()
}

/// Some more cycles.
fn await_cycles(other: &OtherClient) {
    let until = other.length() + 40 * CYCLE as usize;
    wait_until("cycles", || other.length() >= until);
}

/// Waits until the transport has rolled on from a frame for a while.
fn await_rolling(other: &OtherClient, from: u32) {
    let until = from..from.saturating_add(RATE_HZ * 60);
    wait_until(&format!("rolling from {from}"), || {
        let (state, frame) = other.transport();
        state == ROLLING && until.contains(&frame) && frame - from > 40 * CYCLE
    });
}

/// Waits until the transport stands there, and a while longer.
fn await_standing(other: &OtherClient, state: i32, frame: u32) {
    wait_until(&format!("standing at {frame}"), || other.transport() == (state, frame));
    await_cycles(other);
    assert_eq!(other.transport(), (state, frame));
}

/// From the first cycle that the engine played to its last one, every frame is where the transport was. Returns these cycles.
#[track_caller]
fn check_every_frame((rows, cycles): &Heard) -> Vec<SongCycle> {
    let [left, right] = rows.as_slice() else { panic!("{} rows", rows.len()) };
    let sounds = |cycle: &SongCycle| right[cycle.at..][..cycle.frames].iter().any(|x| *x != 0.0);
    let first = cycles.iter().position(sounds).expect("a sound");
    let last = cycles.iter().rposition(sounds).unwrap();
    for cycle in &cycles[first..=last] {
        let rolls = cycle.state == ROLLING;
        for offset in 0..cycle.frames {
            let song = u64::from(cycle.frame) + if rolls { offset as u64 } else { 0 };
            let heard = [left[cycle.at + offset], right[cycle.at + offset]];
            let expected = [if rolls { counter(song) } else { 0.0 }, counter(song)];
            assert_eq!(heard, expected, "frame {offset} of {cycle:?}");
        }
    }
    cycles[first..=last].to_vec()
}

/// Whether the song played through these frames.
fn rolled_through(cycles: &[SongCycle], from: u32) -> bool {
    let at = |cycle: &&SongCycle| cycle.state == ROLLING && cycle.frame == from;
    cycles.iter().find(at).is_some() && cycles.iter().any(|it| it.frame == from + 20 * CYCLE)
}

#[test]
fn the_song_is_where_the_transport_is_in_every_frame() {
    let _alone = alone();
    const NAME: &str = "the_song_is_where_the_transport_is_in_every_frame";
    let Some(server) = Server::start(NAME, RATE_HZ, CYCLE, Mode::WaitsForClients) else { return };
    // Beyond every session's end, and the last place but some that there is.
    let far = 3_999_999_999;
    let moves = |other: &OtherClient, transport: &ServerTransport| {
        await_standing(other, STOPPED, 0);
        other.start();
        // Past the end of the song's own loop.
        await_rolling(other, 4_800);
        other.locate(100_001);
        await_rolling(other, 100_001);
        other.stop();
        wait_until("a stop", || other.transport().0 == STOPPED);
        other.locate(77);
        await_standing(other, STOPPED, 77);
        other.start();
        await_rolling(other, 77);
        // The same, asked for by the client that follows.
        transport.locate(far.into()).unwrap();
        await_rolling(other, far);
        transport.stop().unwrap();
        wait_until("a stop", || other.transport().0 == STOPPED);
        assert_eq!(transport.now().unwrap().state, TransportState::Stopped);
        transport.locate(12_345).unwrap();
        await_standing(other, STOPPED, 12_345);
        assert_eq!(transport.now().unwrap().frame, 12_345);
        transport.start().unwrap();
        await_rolling(other, 12_345);
        for frame in [-1, 1 << 32, i64::MAX] {
            assert_eq!(transport.locate(frame), Err(JackError::Place(frame)));
        }
        assert_eq!(transport.awaited(), None, "it need not wait");
        transport.stop().unwrap();
        transport.locate(0).unwrap();
        await_standing(other, STOPPED, 0);
    };
    // Blocks as long as cycles; and shorter ones, of which a cycle has several.
    for frames in [CYCLE, 48] {
        let cycles = check_every_frame(&follow(&server, (frames, false), moves, |_| {}));
        for from in [0, 100_001, 77, far, 12_345] {
            assert!(rolled_through(&cycles, from), "{frames}, {from}");
        }
        for (state, frame) in [(STOPPED, 0), (STOPPED, 77), (STOPPED, 12_345)] {
            let stood = cycles.iter().filter(|it| (it.state, it.frame) == (state, frame)).count();
            assert!(stood >= 20, "{frames}, {frame}: {stood} cycles");
        }
    }
}

/// Answers the server until it rolls.
fn answer_until_rolling(other: &OtherClient, transport: &ServerTransport) {
    wait_until("rolling", || {
        transport.awaited().into_iter().for_each(|place| transport.is_ready_at(place));
        other.transport().0 == ROLLING
    });
}

fn await_question(transport: &ServerTransport, frame: u32) -> Place {
    wait_until(&format!("a question for {frame}"), || {
        transport.awaited().is_some_and(|place| place.frame == frame)
    });
    transport.awaited().unwrap()
}

#[test]
fn the_server_waits_where_it_starts_until_the_client_is_ready() {
    let _alone = alone();
    const NAME: &str = "the_server_waits_where_it_starts_until_the_client_is_ready";
    let Some(server) = Server::start(NAME, RATE_HZ, CYCLE, Mode::WaitsForClients) else { return };
    let moves = |other: &OtherClient, transport: &ServerTransport| {
        other.locate(50_000);
        await_question(transport, 50_000);
        other.start();
        await_standing(other, STARTING, 50_000);
        answer_until_rolling(other, transport);
        await_rolling(other, 50_000);
        // A rolling transport waits there, too, for the last place that it was asked for.
        other.locate(7);
        let first = await_question(transport, 7);
        await_standing(other, STARTING, 7);
        other.locate(90_009);
        await_question(transport, 90_009);
        transport.is_ready_at(first);
        await_standing(other, STARTING, 90_009);
        answer_until_rolling(other, transport);
        await_rolling(other, 90_009);
    };
    // A client that plays no more holds nobody up.
    let after = |other: &OtherClient| {
        other.locate(1_000);
        await_rolling(other, 1_000);
        other.stop();
    };
    let cycles = check_every_frame(&follow(&server, (CYCLE, true), moves, after));
    for (frame, rolls) in [(50_000, true), (7, false), (90_009, true)] {
        let waited = cycles.iter().filter(|it| (it.state, it.frame) == (STARTING, frame)).count();
        assert!(waited >= 20, "{frame}: {waited} cycles");
        assert_eq!(rolled_through(&cycles, frame), rolls, "{frame}");
    }
}

#[test]
fn a_server_that_has_ended_takes_no_requests() {
    let _alone = alone();
    const NAME: &str = "a_server_that_has_ended_takes_no_requests";
    let Some(mut server) = Server::start(NAME, RATE_HZ, CYCLE, Mode::Usual) else { return };
    let mut device = open(&server.name, Connect::No).unwrap();
    let transport = device.follow_transport(true);
    device.prepare(&Channels::default()).unwrap();
    transport.start().unwrap();
    server.end("-KILL");
    wait_until("the end of the server", || transport.now().is_none());
    let told = transport.locate(5).unwrap_err().to_string();
    assert!(told.contains(&server.name) && told.contains("has ended"), "{told}");
    assert!(transport.start().is_err() && transport.stop().is_err());
}

/// Where a cycle of the port `transport` says that the song is: the marked numbers are steps of 2^-30.
fn place_in(row: &[f32]) -> (bool, u64) {
    let number = |at: usize| (row[at] * (1_u32 << 30) as f32) as u64;
    (number(1) == 1, (number(2) << 20) + number(3))
}

#[test]
fn the_port_says_where_each_cycle_began_also_where_the_loop_begins_anew() {
    let _alone = alone();
    const NAME: &str = "the_port_says_where_each_cycle_began";
    let Some(server) = Server::start(NAME, RATE_HZ, CYCLE, Mode::WaitsForClients) else { return };
    let other = server.client("other", (3, 0), ROOM);
    let mut device = open(&server.name, Connect::Client("other".into())).unwrap();
    device.send_transport();
    let outputs = vec![Bundle { name: "main".into(), channels: 2, events: false }];
    device.prepare(&Channels { outputs, ..Channels::default() }).unwrap();
    other.connect(&format!("{}:transport", device.client_name()), "other:in_3");
    // Five passes of the loop of 0.1 s, which ends with a cycle; blocks as long as cycles, and shorter ones.
    for frames in [CYCLE, 48] {
        let blocks = Arc::new(AtomicU64::new(0));
        let observer = Counts { left: 24_000, blocks };
        device.play(engine(frames), observer, &AtomicBool::new(false)).unwrap();
    }
    assert_eq!(sentry::allocations(), 0, "the server's thread allocates");
    drop(device);
    let (rows, cycles) = other.end_with_cycles();
    let [_, right, place] = rows.as_slice() else { panic!("{} rows", rows.len()) };
    let told = |cycle: &&SongCycle| place[cycle.at] != 0.0;
    let mut passes = 0;
    for cycle in cycles.iter().filter(told) {
        let (plays, frame) = place_in(&place[cycle.at..]);
        assert!(plays);
        assert_eq!(counter(frame), right[cycle.at], "{cycle:?}");
        passes += usize::from(frame == 0);
    }
    assert!(passes >= 8, "{passes} passes");
}

#[test]
fn a_midi_clock_begins_anew_with_the_loop_and_allocates_nothing() {
    let _alone = alone();
    const NAME: &str = "a_midi_clock_begins_anew_with_the_loop_and_allocates_nothing";
    let Some(server) = Server::start(NAME, RATE_HZ, CYCLE, Mode::WaitsForClients) else { return };
    let mut device = open(&server.name, Connect::No).unwrap();
    let map = Arc::new(TempoMap::constant(RATE_HZ, 120.0).unwrap());
    let sent = device.send_clock(Arc::clone(&map));
    device.prepare(&Channels::default()).unwrap();
    // Five passes of the loop of 0.1 s, with a pulse in each thousandth frame; blocks as long as cycles, and shorter ones.
    for (run, frames) in (1..).zip([CYCLE, 48]) {
        let observer = Counts { left: 24_000, blocks: Arc::new(AtomicU64::new(0)) };
        device.play(engine(frames), observer, &AtomicBool::new(false)).unwrap();
        assert_eq!((sent.pulses.get(), sent.starts.get()), (run * 25, run * 5));
        assert_eq!((sent.no_room.get(), sent.beyond.get()), (0, 0));
    }
    assert_eq!(sentry::allocations(), 0, "the server's thread allocates");
    drop(device);
    // Without a clock, the song of a follower stands still.
    let mut device = open(&server.name, Connect::No).unwrap();
    let followed = device.follow_clock(map);
    device.prepare(&Channels::default()).unwrap();
    let observer = Counts { left: 24_000, blocks: Arc::new(AtomicU64::new(0)) };
    let played = device.play(engine(CYCLE), observer, &AtomicBool::new(false)).unwrap();
    assert_eq!((played.engine.transport().position(), followed.pulses.get()), (0, 0));
    assert_eq!(sentry::allocations(), 0, "the server's thread allocates");
}

#[test]
fn a_song_that_follows_a_clock_is_where_the_song_is_that_sends_it() {
    /// Frames of a sixteenth at 120 quarter notes per minute.
    const SIXTEENTH: u32 = 6_000;
    let _alone = alone();
    const NAME: &str = "a_song_that_follows_a_clock_is_where_the_song_is_that_sends_it";
    let Some(server) = Server::start(NAME, RATE_HZ, CYCLE, Mode::WaitsForClients) else { return };
    let other = server.client("other", (2, 0), ROOM);
    let map = Arc::new(TempoMap::constant(RATE_HZ, 120.0).unwrap());
    let [mut lead, mut after] = [(); 2].map(|()| open(&server.name, Connect::No).unwrap());
    let _transport = lead.follow_transport(false);
    let sent = lead.send_clock(Arc::clone(&map));
    let followed = after.follow_clock(map);
    for (device, input) in [(&mut lead, "other:in_1"), (&mut after, "other:in_2")] {
        let outputs = vec![Bundle { name: "main".into(), channels: 2, events: false }];
        device.prepare(&Channels { outputs, ..Channels::default() }).unwrap();
        other.connect(&format!("{}:main_1", device.client_name()), input);
    }
    let ports = (lead.client_name() + ":clock_out", after.client_name() + ":clock_in");
    other.connect(&ports.0, &ports.1);
    await_cycles(&other);
    let stops = [const { AtomicBool::new(false) }; 2];
    std::thread::scope(|scope| {
        let ending = [Ending(&stops[0]), Ending(&stops[1])];
        let observer = || Counts { left: u64::MAX, blocks: Arc::new(AtomicU64::new(0)) };
        let (first, second) = (observer(), observer());
        // The follower's blocks are shorter than cycles.
        scope.spawn(|| after.play(engine(48), second, &stops[1]).map(drop).unwrap());
        scope.spawn(|| lead.play(engine(CYCLE), first, &stops[0]).map(drop).unwrap());
        await_cycles(&other);
        other.locate(16 * SIXTEENTH);
        await_standing(&other, STOPPED, 16 * SIXTEENTH);
        other.start();
        await_rolling(&other, 16 * SIXTEENTH);
        other.locate(50 * SIXTEENTH);
        await_rolling(&other, 50 * SIXTEENTH);
        other.locate(0);
        await_rolling(&other, 0);
        // Between two sixteenths, and on behind the next one.
        other.locate(52 * SIXTEENTH + 1);
        wait_until("the next sixteenth", || {
            (54 * SIXTEENTH..100 * SIXTEENTH).contains(&other.transport().1)
        });
        // The sender ends while its song plays.
        let [lead_ends, after_ends] = ending;
        drop(lead_ends);
        wait_until("the last stop", || followed.stops.get() > sent.stops.get());
        await_cycles(&other);
        drop(after_ends);
    });
    assert_eq!(sentry::allocations(), 0, "the server's thread allocates");
    assert_eq!((followed.lost.get(), followed.ignored.get(), followed.no_room.get()), (0, 0, 0));
    assert_eq!((followed.most_apart.get(), followed.other_tempo.get()), (0, 0));
    assert_eq!(
        (followed.pulses.get(), followed.starts.get()),
        (sent.pulses.get(), sent.starts.get())
    );
    drop((lead, after));
    let rows = other.end();
    let differs = |(_, (lead, after)): &(usize, (&f32, &f32))| lead != after;
    let apart: Vec<_> = (0..).zip(rows[0].iter().zip(&rows[1])).filter(differs).collect();
    assert_eq!(apart.len(), SIXTEENTH as usize - 1, "until the next sixteenth, and nowhere else");
    assert!(apart.iter().all(|(_, (_, after))| **after == 0.0));
    assert!(rows[1].iter().filter(|sample| **sample != 0.0).count() > 10_000);
}
