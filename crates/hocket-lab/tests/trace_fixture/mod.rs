//! A run for the tests of its page: two workers on one core, a late block that another thread delayed.

use hocket_trace::cause::{Cause, Evidence, Seat, Share, Verdict};
use hocket_trace::run::{About, Kept, RunTrace, Thread};
use hocket_trace::switches::{Ran, Switches};
use hocket_trace::{BlockTrace, Doing, Lane, Misses, Span};

/// The period.
pub const PERIOD_NS: i64 = 1_000_000;
/// The late block, and how late it is.
pub const LATE: (u64, i64) = (3, 250_000);
/// Units of the session.
pub const UNITS: [&str; 4] = ["drums: play, eq", "bass: play", "vocals: play, eq, comp", "master"];

fn span(doing: Doing, start_ns: i64, end_ns: i64) -> Span {
    Span { doing, start_ns, end_ns, away_ns: None }
}

fn lane(name: &str, cpu: u32, spans: Vec<Span>) -> Lane {
    let (awake_ns, finished_ns) = (spans[0].start_ns, spans[spans.len() - 1].end_ns);
    Lane { name: name.into(), cpu: Some(cpu), awake_ns, finished_ns, spans }
}

fn block(number: u64) -> BlockTrace {
    let late = if number == LATE.0 { 450_000 + LATE.1 } else { 0 };
    let vocals = 500_000 + late;
    let lead = vec![
        span(Doing::Unit(0), 10_000, 210_000),
        span(Doing::Unit(1), 210_000, 300_000),
        span(Doing::Wait, 300_000, vocals),
        span(Doing::Unit(3), vocals, vocals + 50_000),
    ];
    let help = vec![
        span(Doing::Barrier, 20_000, 25_000),
        // Of the late block alone it is known.
        Span { away_ns: (late > 0).then_some(650_500), ..span(Doing::Unit(2), 25_000, vocals) },
        span(Doing::Help, vocals, vocals + 10_000),
        span(Doing::Guard, vocals + 10_000, vocals + 50_000),
    ];
    BlockTrace {
        block: number,
        awake_ns: 10_000,
        finished_ns: vocals + 50_000,
        deadline_ns: PERIOD_NS,
        plan: None,
        unit_names: UNITS.map(String::from).into(),
        lanes: vec![lane("worker 0 (leader)", 0, lead), lane("worker 1", 1, help)],
    }
}

fn evidence() -> Evidence {
    let ran = |tid, name: &str, start_ns, end_ns| Ran { tid, name: name.into(), start_ns, end_ns };
    let intervals = vec![ran(11, "worker 1", 0, 100_000), ran(99, "preview", 100_000, 800_000)];
    let own = Switches { cpu: 1, intervals, unknown: Vec::new() };
    let seat = Seat { lane: "worker 1".into(), own: Some(own), ..Seat::default() };
    Evidence {
        trace: block(LATE.0),
        estimates_ns: Vec::new(),
        expected_ns: f64::NAN,
        signaled_ns: 0,
        engine_tids: vec![10, 11],
        seats: vec![seat],
    }
}

fn verdict() -> Verdict {
    let others = vec![Share {
        cause: Cause::Migration,
        share_ns: 9_000,
        subject: "worker 1".into(),
        text: "worker 1 was moved 2 times: up to 9 µs lost".into(),
    }];
    Verdict {
        block: LATE.0,
        late_ns: LATE.1,
        cause: Cause::SeatTaken,
        share_ns: LATE.1,
        subject: "preview".into(),
        text: "block 3 came 250 µs too late: preview ran for 700 µs on the seat of worker 1".into(),
        others,
    }
}

/// A run of so many blocks.
pub fn run(blocks: u64) -> RunTrace {
    let about = About {
        hocket: "0.1.0".into(),
        session: "The Band".into(),
        policy: "dataflow / all / hybrid".into(),
        frames: 48,
        rate_hz: 48_000,
        period_ns: PERIOD_NS as u64,
        kept: Kept::Every,
        span_cost_ns: 15,
        machine: String::new(),
        file: String::new(),
    };
    let thread = |name: &str, cpu, beside| Thread {
        name: name.into(),
        cpu: Some(cpu),
        beside: vec![beside],
    };
    let threads = vec![thread("worker 0 (leader)", 0, 1), thread("worker 1", 1, 0)];
    let mut run = RunTrace::new(about, threads);
    for number in 0..blocks {
        // The late block takes the period behind it, too.
        let period = number + u64::from(number > LATE.0);
        let start_ns = 7_000_000_000 + period * PERIOD_NS as u64;
        run.add(start_ns, u64::from(number == LATE.0), &block(number));
    }
    run.explain(&evidence(), Some(&verdict()));
    (run.played, run.misses) = (blocks, Misses { late: 1, skipped: 1 });
    run.limits = vec!["the CPU's counters cannot be read".into()];
    run
}
