//! Parity of every kind of port, and of spread and background work: every schedule, worker count, policy that seats workers
//! differently, and cut into blocks, against the model.

use hocket_engine::{Engine, Fusing, Prepared};

use super::model::{Case, bits};
use super::*;

/// As long as latencies, events, three passes of the feedback and answers from the background need.
const TOTAL_FRAMES: usize = 7 * FRAMES;
/// Single frames, blocks beside every period of the graph, and the largest.
const CUTS: [usize; 3] = [1, 7, FRAMES];
const POLICIES: [SiblingPolicy; 5] = [
    SiblingPolicy::Off,
    SiblingPolicy::All,
    SiblingPolicy::ProcessAffinity,
    SiblingPolicy::IdleThread,
    SiblingPolicy::PairBarrier,
];
/// By output, row and frame.
type Outputs = Vec<Vec<Vec<u32>>>;

fn start(case: &Case, schedule: ScheduleKind, sibling: SiblingPolicy, workers: usize) -> Engine {
    // Room for four workers, in pairs that matter where the policy uses them.
    let cores = if sibling.uses_siblings() { 2 } else { 4 };
    let seats = (0..2 * cores).map(|seat| Seat { core: seat / 2, speed: 1.0 }).collect();
    let seating = Seating::described(&Seats { seats }, sibling, Some(workers)).unwrap();
    let policy = Policy { schedule, sibling, wait: Strategy::Hybrid };
    let settings = Settings { priority: None, ..Settings::new(FRAMES as u32, 48_000, policy) };
    let prepared = Prepared::from_graph(&case.graph, case.processors(), Fusing::Chains).unwrap();
    let mut engine = Engine::start(prepared, settings, seating).unwrap();
    // Answers from the background come with the next block, and not when a thread is ready.
    engine.set_offline(true);
    engine
}

fn play(engine: &mut Engine, cut: usize) -> Outputs {
    engine.reset();
    let outputs = (0..).map_while(|output| Some(engine.output_rows(output, 1)?.len()));
    let mut heard: Outputs = outputs.map(|rows| vec![Vec::new(); rows]).collect();
    let mut frame = 0;
    while frame < TOTAL_FRAMES {
        let frames = cut.min(TOTAL_FRAMES - frame);
        Case::play_inputs(engine, frame, frames);
        engine.process(frames);
        for (output, rows) in heard.iter_mut().enumerate() {
            let now = engine.output_rows(output, frames).unwrap();
            rows.iter_mut().enumerate().for_each(|(row, heard)| heard.extend(bits(now, row)));
        }
        frame += frames;
    }
    heard
}

/// What the model says, without the rows of side chains, which nobody reads behind the node.
fn expected(case: &Case) -> Outputs {
    let of_row = |row: &Vec<f32>| row.iter().map(|sample| sample.to_bits()).collect();
    let of_output = |rows: &Vec<Vec<f32>>| rows.iter().map(of_row).collect();
    let mut all: Outputs = case.expected(TOTAL_FRAMES).iter().map(of_output).collect();
    forget_side_chains(case, &mut all);
    all
}

fn forget_side_chains(case: &Case, all: &mut Outputs) {
    for (id, rows) in case.graph.outputs().iter().zip(all) {
        let ports = case.graph.nodes()[id.index()].ports;
        let first = usize::from(ports.main);
        rows[first..first + usize::from(ports.side_chain)].iter_mut().for_each(Vec::clear);
    }
}

#[test]
fn every_kind_of_port_and_of_work_has_the_same_bits_under_every_schedule_policy_and_cut() {
    let case = Case::of_every_port();
    let expected = expected(&case);
    let sound = expected.iter().flatten().filter(|row| row.iter().any(|bits| *bits != 0)).count();
    assert!(sound > 64, "{sound} rows sound");
    let mut cells = 0;
    for schedule in ScheduleKind::ALL {
        let most = if schedule == ScheduleKind::Serial { 1 } else { 4 };
        for (workers, sibling) in
            (1..=most).flat_map(|workers| POLICIES.map(|sibling| (workers, sibling)))
        {
            let mut engine = start(&case, schedule, sibling, workers);
            let place = format!("{schedule:?}, {sibling:?}, {workers} workers");
            assert_eq!(engine.schedule().workers(), workers, "{place}");
            for cut in CUTS {
                let mut heard = play(&mut engine, cut);
                forget_side_chains(&case, &mut heard);
                assert!(heard == expected, "{place}: blocks of {cut} frames differ");
                cells += 1;
            }
            // A worker may come too late for any one block. One that never comes hangs here.
            while engine.totals().iter().take(workers).any(|worker| worker.units == 0) {
                play(&mut engine, FRAMES);
            }
            assert_eq!(engine.control().lost_events(), [], "{place}");
            assert_eq!(engine.control().lost_work(), [], "{place}");
        }
    }
    assert_eq!(cells, (1 + 4 * 4) * POLICIES.len() * CUTS.len());
}
