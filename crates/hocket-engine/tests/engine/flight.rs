//! Late blocks explained: a unit that is slow on purpose, and a stranger on a worker's seat.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hocket_dsp::{Block, Processor};
use hocket_engine::{
    Engine, Flight, FlightLog, FlightSettings, HandOver, Prepared, Seating, Settings,
    VirtualDevice, flight,
};
use hocket_machine::Topology;
use hocket_machine::class::{self, Class};
use hocket_machine::clock::monotonic_ns;
use hocket_machine::pin::{CpuSet, current_thread, pin_current_thread};
use hocket_plan::{Edge, Fusing, Graph, Node, NodeKind, ScheduleKind, SiblingPolicy};
use hocket_trace::Doing;
use hocket_trace::cause::Cause;

use crate::stage::{self, Does, FRAMES, RATE_HZ};

/// What delays a block on purpose; many times its deadline, so that nothing else weighs as much.
const DELAY: Duration = Duration::from_millis(40);

type Deed = Box<dyn FnMut(&mut Block<'_>) + Send>;

/// `left` and `right` side by side, and their sum.
fn two_and_a_sum(left: Deed, right: Deed) -> Prepared {
    let mut graph = Graph::default();
    let mut node = |name: &str, inputs: Vec<Edge>| {
        let kind = NodeKind::Custom(graph.nodes().len() as u32);
        let node = Node {
            name: name.into(),
            kind,
            inputs,
            cost: 100.0,
            latency_frames: 0,
            ports: Default::default(),
        };
        graph.add(node).unwrap()
    };
    let edges = [node("left", vec![]), node("right", vec![])];
    node("sum", edges.map(|from| Edge::new(from, 1.0)).to_vec());
    let of = |deed: Deed| -> Option<Box<dyn Processor>> { Some(Box::new(Does(deed))) };
    Prepared::from_graph(&graph, vec![of(left), of(right), None], Fusing::None).unwrap()
}

fn spin(time: Duration) {
    let end = monotonic_ns() + time.as_nanos() as u64;
    while monotonic_ns() < end {}
}

fn works() -> Deed {
    Box::new(|audio| {
        spin(Duration::from_micros(50));
        audio.main.left.fill(0.1);
    })
}

/// As `works`, and every 50th block takes far too long.
fn stumbles() -> Deed {
    let mut block = 0;
    Box::new(move |audio| {
        block += 1;
        spin(if block % 50 == 0 { DELAY } else { Duration::from_micros(50) });
        audio.main.left.fill(0.1);
    })
}

/// Two workers on seats of this machine, if it has them.
fn engine_here(prepared: Prepared, test: &str) -> Option<Engine> {
    let policy = stage::policy(ScheduleKind::Lists);
    let seating = Topology::discover().map_err(|error| error.to_string()).and_then(|topology| {
        Seating::here(&topology, SiblingPolicy::All, Some(2)).map_err(|e| e.to_string())
    });
    match seating {
        Err(why) => {
            println!("SKIPPED {test}: {why}");
            None
        }
        Ok(seating) => {
            let settings = Settings::new(FRAMES as u32, RATE_HZ, policy);
            Some(Engine::start(prepared, settings, seating).unwrap())
        }
    }
}

/// Plays with a drain that is emptied by a thread of its own, as a program would.
fn play(engine: &mut Engine, blocks: u64) -> Vec<Flight> {
    let (mut recorder, mut drain) = flight::record(engine, FlightSettings::default());
    drain.watch(current_thread(), 1 << 18).iter().for_each(|limit| println!("{limit}"));
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let collector = std::thread::spawn(move || {
        let mut flights = Vec::new();
        while !stopped.load(Relaxed) {
            std::thread::sleep(Duration::from_millis(20));
            flights.extend(drain.collect());
        }
        flights.extend(drain.collect());
        flights
    });
    let entered = engine.enter();
    let mut device = VirtualDevice::new(FRAMES as u32, RATE_HZ);
    device.run(engine, blocks, |times, engine| {
        recorder.note(engine, times);
        true
    });
    recorder.end_run();
    drop(entered);
    stop.store(true, Relaxed);
    assert_eq!(recorder.recent().count(), 0, "a run that ended has no last blocks");
    collector.join().unwrap()
}

/// A run is repeated until the machine leaves it alone for long enough that what was planned is what
/// delayed a block most; a busy machine may do worse to every block of one run. A minute and a half are
/// only there to end a hang.
fn repeat_until(mut holds: impl FnMut() -> Result<(), String>) {
    let begun = Instant::now();
    while let Err(why) = holds() {
        assert!(begun.elapsed() < Duration::from_secs(90), "{why}");
    }
}

#[test]
fn a_slow_unit_is_named() {
    let _alone = stage::alone();
    let named = |flight: &&Flight| {
        let verdict = flight.verdict.as_ref().unwrap();
        (verdict.cause, verdict.subject.as_str()) == (Cause::UnitSlow, "right")
    };
    let slow = |flight: &&Flight| flight.times.block % 50 == 49 && flight.times.is_late();
    repeat_until(|| {
        let prepared = two_and_a_sum(works(), stumbles());
        let Some(mut engine) = engine_here(prepared, "a_slow_unit_is_named") else { return Ok(()) };
        let flights = play(&mut engine, 220);
        let slow: Vec<&Flight> = flights.iter().filter(slow).collect();
        check_neighbours(&slow);
        check_log(&flights);
        let found = slow.iter().filter(|flight| named(flight)).count();
        let texts: Vec<_> = slow.iter().map(|f| f.verdict.as_ref().map(|v| &v.text)).collect();
        match found * 2 > slow.len() {
            true => Ok(()),
            false => Err(format!("{found} of {}: {texts:#?}", slow.len())),
        }
    });
}

/// The log counts every late block that was handed over, and keeps the worst.
fn check_log(flights: &[Flight]) {
    let mut log = FlightLog::new(2);
    let late = flights.iter().filter(|flight| flight.times.is_late()).count();
    let worst = flights.iter().map(|flight| flight.times.slack_ns()).min();
    log.add(flights.to_vec());
    assert_eq!((log.tally().total(), log.last().len()), (late as u64, late.min(2)));
    assert_eq!(log.worst().map(|flight| flight.times.slack_ns()), worst);
}

fn check_neighbours(flights: &[&Flight]) {
    for flight in flights {
        let block = flight.times.block;
        let before = flight.before.as_ref().map(|it| it.trace.block);
        let after = flight.after.as_ref().map(|it| it.trace.block);
        assert_eq!((before, after), (Some(block - 1), Some(block + 1)));
        assert_eq!(flight.evidence.trace.unit_names, ["left", "right", "sum"].map(String::from));
        assert!(flight.evidence.trace.lanes.iter().all(|lane| !lane.spans.is_empty()));
    }
}

/// A thread of a higher class than the engine's that runs on a CPU now and then.
struct Intruder {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<(), String>>,
}

impl Intruder {
    fn start(cpu: u32) -> Intruder {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let live = move || {
            pin_current_thread(&CpuSet::single(cpu)).map_err(|error| error.to_string())?;
            if let Some(why) = class::request(Class::Fifo { priority: 80 }).why {
                return Err(why);
            }
            while !stopped.load(Relaxed) {
                std::thread::sleep(DELAY * 2);
                spin(DELAY);
            }
            Ok(())
        };
        let thread = std::thread::Builder::new().name("intruder".into()).spawn(live).unwrap();
        Intruder { stop, thread }
    }

    fn end(self) -> Result<(), String> {
        self.stop.store(true, Relaxed);
        self.thread.join().unwrap()
    }
}

#[test]
fn who_takes_a_seat_is_named() {
    const TEST: &str = "who_takes_a_seat_is_named";
    let _alone = stage::alone();
    let Some(mut engine) = engine_here(two_and_a_sum(works(), works()), TEST) else { return };
    let seat = engine.seating().worker_cpu(1).unwrap();
    if let Err(why) = hocket_machine::switches::SwitchWatch::start(&[seat], 4096) {
        return println!("SKIPPED {TEST}: {why}");
    }
    repeat_until(|| {
        let intruder = Intruder::start(seat);
        let flights = play(&mut engine, 400);
        if let Err(why) = intruder.end() {
            println!("SKIPPED {TEST}: no real-time class: {why}");
            return Ok(());
        }
        // Others may have delayed some of them too.
        let verdicts: Vec<_> =
            flights.iter().filter_map(|flight| flight.verdict.as_ref()).collect();
        let named = verdicts.iter().any(|verdict| {
            verdict.cause == Cause::SeatTaken && verdict.subject.starts_with("intruder")
        });
        if named { Ok(()) } else { Err(format!("{verdicts:#?}")) }
    });
}

#[test]
fn more_late_blocks_than_there_is_room_for_are_counted() {
    let _alone = stage::alone();
    let prepared = two_and_a_sum(works(), works());
    let mut engine = stage::engine(prepared, stage::policy(ScheduleKind::Serial), 1);
    let settings = FlightSettings { blocks: 4, events: 2, ..FlightSettings::default() };
    let (mut recorder, mut drain) = flight::record(&engine, settings);
    let late = |recorder: &mut hocket_engine::FlightRecorder, engine: &mut Engine, blocks: u64| {
        for _ in 0..blocks {
            let mut times = engine.process(FRAMES);
            times.lateness_ns = times.deadline_ns + 1_000_000;
            recorder.note(engine, &times);
        }
        recorder.end_run();
    };
    late(&mut recorder, &mut engine, 7);
    let flights = drain.collect();
    assert_eq!(flights.len() as u64 + recorder.dropped(), 7);
    // Two in order, and at most one more: the worst of the others.
    assert!((2..=3).contains(&flights.len()), "{}", flights.len());
    let dropped = recorder.dropped();
    late(&mut recorder, &mut engine, 2);
    let flights = drain.collect();
    assert_eq!((flights.len(), recorder.dropped()), (2, dropped));
    assert!(flights[0].before.is_none() && flights[1].after.is_none(), "a run of its own");
    let causes = flights.iter().filter_map(|flight| flight.verdict.as_ref());
    assert!(causes.clone().count() == 2);
    assert!(causes.into_iter().all(|verdict| verdict.cause == Cause::LeaderWokeLate));
}

#[test]
fn every_block_is_handed_over_in_order_where_that_is_asked_for() {
    let _alone = stage::alone();
    let prepared = two_and_a_sum(works(), works());
    let mut engine = stage::engine(prepared, stage::policy(ScheduleKind::Lists), 2);
    let settings = FlightSettings { blocks: 4, events: 8, hand_over: HandOver::Every };
    let (mut recorder, mut drain) = flight::record(&engine, settings);
    let mut note = |engine: &mut Engine, blocks: std::ops::Range<u64>| {
        for block in blocks {
            let mut times = engine.process(FRAMES);
            // Nobody decides by the clock what is late: block 5 alone is.
            times.lateness_ns = 0;
            times.duration_ns = if block == 5 { times.deadline_ns + 1 } else { 1 };
            recorder.note(engine, &times);
        }
        recorder.dropped()
    };
    assert_eq!(note(&mut engine, 0..7), 0);
    let flights = drain.collect();
    let numbers: Vec<u64> = flights.iter().map(|flight| flight.evidence.trace.block).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6]);
    let judged = flights.iter().filter(|flight| flight.verdict.is_some());
    assert_eq!(judged.map(|flight| flight.evidence.trace.block).collect::<Vec<_>>(), [5]);
    for flight in &flights {
        let trace = &flight.evidence.trace;
        assert!(flight.before.is_none() && flight.after.is_none());
        let units = trace.lanes.iter().flat_map(|lane| &lane.spans);
        let units = units.filter(|span| matches!(span.doing, Doing::Unit(_))).count();
        assert_eq!(units, 3, "each unit runs once");
        assert!(trace.lanes.iter().all(|l| drain.threads().iter().any(|t| t.name == l.name)));
    }
    // Nobody collects: what finds no room is counted, and those before it stay.
    assert_eq!(note(&mut engine, 7..20), 5);
    let kept: Vec<u64> = drain.collect().iter().map(|flight| flight.evidence.trace.block).collect();
    assert_eq!(kept, [7, 8, 9, 10, 11, 12, 13, 14]);
}

#[test]
fn a_span_costs_something() {
    assert!(flight::span_cost_ns() > 0);
}
