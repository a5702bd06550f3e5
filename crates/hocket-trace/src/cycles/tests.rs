use proptest::prelude::*;

use super::*;

/// Two clients of JACK; in the third cycle one was not triggered, and the server skipped a period.
const JACK: &str = "1333 \t 410 \t4 \t 5 \t 25 \t 200 \t 20 \t 175 \t 3 \t5 \t 200 \t 215 \t 400 \t 15 \t 185 \t 3 \t\n\
1334 \t 1500 \t4 \t 5 \t 25 \t 1200 \t 20 \t 1175 \t 3 \t5 \t 1200 \t 1215 \t 1490 \t 15 \t 275 \t 3 \t\n\
2667 \t 210 \t4 \t 5 \t 25 \t 200 \t 20 \t 175 \t 3 \t\t  \t  \t  \t  \t  \t \t\n\
1333 \t 410 \t4 \t 5 \t 25 \t 200 \t 20 \t 175 \t 3 \t5 \t 200 \t 0 \t 0 \t 0 \t 0 \t 1 \t\n";

fn pipewire() -> String {
    let empty = " \t \t \t \t \t \t \t \t";
    let client = "80\t5.100\t25.200\t200.300\t20.100\t175.100\t3\t0\t";
    let row = format!("1333.000\t410.500\t0.000\t1333.333\t{client}{}\n", empty.repeat(63));
    row.repeat(3)
}

const JSON: &str = r#"[{ "type": "info", "count": 1, "cpu_load0": 0.010000, "cpu_load1": 0.010000, "cpu_load2": 0.010000 },
{ "type": "clock", "flags": 0, "id": 52, "name": "api.alsa.0", "nsec": 999, "rate": "1/48000", "position": 64, "duration": 64, "delay": 0, "diff": 1.000000, "next_nsec": 1333, "transport": "stopped", "cycle": 1, "xrun": 0 },
{ "type": "driver", "id": 52, "name": "alsa_output", "prev": 0, "signal": 5000000000, "awake": 5000010000, "finish": 5000400000, "status": "finished", "latency": "64/48000", "xrun_count": 0 },
{ "type": "follower", "id": 80, "name": "</script>", "prev": 0, "signal": 5000012000, "awake": 5000030000, "finish": 5000390000, "status": "finished", "latency": "0/0", "xrun_count": 0 },
{ "type": "follower", "id": 81, "name": "not there", "prev": 0, "signal": 0, "awake": 0, "finish": 0, "status": "triggered", "latency": "0/0", "xrun_count": 0 },
{ "type": "followerClock", "id": 0, "name": "", "nsec": 0, "rate": "0/0", "position": 0, "duration": 0, "delay": 0, "diff": 0.000000, "next_nsec": 0, "xrun": 0 },
{ "type": "info", "count": 2, "cpu_load0": 0.010000, "cpu_load1": 0.010000, "cpu_load2": 0.010000 },
{ "type": "clock", "flags": 0, "id": 52, "name": "api.alsa.0", "nsec": 999, "rate": "1/48000", "position": 64, "duration": 64, "delay": 0, "diff": 1.000000, "next_nsec": 1333, "transport": "stopped", "cycle": 2, "xrun": 0 },
{ "type": "driver", "id": 52, "name": "alsa_output", "prev": 5000000000, "signal": 5001333000, "awake": 5001340000, "finish": 5002733000, "status": "finished", "latency": "64/48000", "xrun_count": 0 },
{ "type": "driver", "id": 99, "name": "dummy", "prev": 1, "signal": 2, "awake": 3, "finish": 4, "status": "finished", "latency": "64/48000", "xrun_count": 0 },
{ } ]
"#;

fn read_all(text: &str) -> Result<RunTrace, ReadError> {
    let profiler = Profiler::of(text.as_bytes()).expect("a profiler's file");
    read(text.as_bytes(), profiler, Named::default(), || false)
}

fn spans(run: &RunTrace, block: usize) -> Vec<(String, i64, i64)> {
    let lanes = run.blocks[block].lanes.iter();
    let spans = lanes.flat_map(|lane| &lane.spans);
    let name = |span: &Span| match span.doing {
        Doing::Unit(unit) => run.unit_names[0][unit as usize].clone(),
        _ => "wait".into(),
    };
    spans.map(|span| (name(span), span.start_ns / 1000, span.end_ns / 1000)).collect()
}

fn said(run: &RunTrace, part: &str) -> bool {
    run.limits.iter().any(|limit| limit.contains(part))
}

#[test]
fn each_file_is_known_by_its_beginning() {
    assert_eq!(Profiler::of(JACK.as_bytes()), Some(Profiler::Jack));
    assert_eq!(Profiler::of(pipewire().as_bytes()), Some(Profiler::PipeWire));
    assert_eq!(Profiler::of(JSON.as_bytes()), Some(Profiler::PipeWireJson));
    for other in ["", "perf 1 [000] 1.5: sched:sched_switch:", "# tracer: nop", "12", "[a] 1 [000]"]
    {
        assert_eq!(Profiler::of(other.as_bytes()), None, "{other}");
    }
}

#[test]
fn cycles_of_jack_are_blocks() {
    let run = read_all(JACK).unwrap();
    assert_eq!((run.played, run.blocks.len(), run.threads.len()), (4, 4, 2));
    let client = |name: &str, times: [(i64, i64); 2]| {
        [("wait".to_owned(), times[0].0, times[0].1), (name.to_owned(), times[1].0, times[1].1)]
    };
    let first =
        [client("client 4", [(5, 25), (25, 200)]), client("client 5", [(200, 215), (215, 400)])];
    assert_eq!(spans(&run, 0), first.concat());
    let starts: Vec<u64> = run.blocks.iter().map(|block| block.start_ns / 1000).collect();
    assert_eq!(starts, [0, 1333, 2667, 5334]);
    // The middle of 1333, 1333, 1334 and 2667.
    assert_eq!(run.about.period_ns, 1_334_000);
    let judged: Vec<(bool, u64)> = run.blocks.iter().map(|it| (it.is_late(), it.skipped)).collect();
    assert_eq!(judged, [(false, 0), (true, 0), (false, 1), (false, 0)]);
    assert_eq!(run.misses, Misses { late: 1, skipped: 1 });
    assert_eq!((spans(&run, 2).len(), spans(&run, 3).len()), (2, 2));
    assert!(said(&run, "once a client had not finished") && said(&run, "the period"));
}

#[test]
fn cycles_of_pipewires_log_are_blocks() {
    let run = read_all(&pipewire()).unwrap();
    assert_eq!((run.played, run.about.period_ns, run.misses.total()), (3, 1_333_333, 0));
    assert_eq!(spans(&run, 2), [("wait".into(), 5, 25), ("node 80".into(), 25, 200)]);
    assert_eq!((run.blocks[2].start_ns, run.blocks[2].finished_ns), (2_666_000, 410_500));
}

#[test]
fn cycles_of_pipewires_json_are_blocks_on_the_monotonic_clock() {
    let run = read_all(JSON).unwrap();
    assert_eq!((run.about.frames, run.about.rate_hz, run.about.period_ns), (64, 48_000, 1_333_333));
    assert_eq!(run.about.policy, "PipeWire's profiler, driver alsa_output (52)");
    assert_eq!(run.origin_ns(), 5_000_000_000);
    assert_eq!(spans(&run, 0), [("wait".into(), 12, 30), ("</script> (80)".into(), 30, 390)]);
    let ends: Vec<(i64, bool)> =
        run.blocks.iter().map(|it| (it.finished_ns, it.is_late())).collect();
    assert_eq!(ends, [(400_000, false), (1_400_000, true)]);
    assert!(
        said(&run, "1 cycle left out, of other drivers") && said(&run, "had not finished"),
        "{:?}",
        run.limits
    );
    assert!(!said(&run, "no cycle;"), "{:?}", run.limits);
}

#[test]
fn lines_that_are_no_cycle_are_counted_and_named() {
    let text = format!(
        "{JACK}{}\n18446744073709551616 \t 1 \t\nNaN \t 1 \t\n1333 \t 410 \t4 \t 5 \t 2",
        "x".repeat(1 << 20)
    );
    let run = read_all(&text).unwrap();
    assert!(
        run.played == 4 && said(&run, "4 lines left out") && said(&run, "first is line 5"),
        "{:?}",
        run.limits
    );
    let cut = &JSON[..JSON.find("followerClock").unwrap()];
    assert!(said(&read_all(cut).unwrap(), "the first is line 6"));
    let nothing = read_all("[{ \"type\": \"driver\" },\n").unwrap_err().to_string();
    assert!(
        nothing.contains("no cycle is in 1 line of it") && nothing.contains("pw-profiler -J"),
        "{nothing}"
    );
}

#[test]
fn a_file_without_a_cycle_in_its_first_lines_is_not_read_on() {
    let why =
        read_all(&"18446744073709551616 \t 1 \t\n".repeat(2 * FIRST_LINES as usize)).unwrap_err();
    assert!(matches!(why, ReadError::NoCycles { lines: FIRST_LINES, .. }), "{why}");
    let late = "18446744073709551616 \t 1 \t\n".repeat(FIRST_LINES as usize - 1) + JACK;
    assert!(read_all(&late).unwrap().played > 0);
}

#[test]
fn many_clients_and_far_times_are_bounded() {
    let client = |number: usize| format!("{number} \t 1 \t 2 \t 3 \t 1 \t 1 \t 3 \t");
    let row: String = (0..1000).map(client).collect();
    let run = read_all(&format!("1000 \t 5 \t{row}\n")).unwrap();
    assert_eq!((run.threads.len(), run.blocks[0].lanes.len()), (MOST_CLIENTS, MOST_CLIENTS));
    assert!(said(&run, "have no lane"));
    let far = JSON.replace("5001333000", "18446744073709551615");
    let run = read_all(&far).unwrap();
    assert!(run.blocks.len() == 1 && said(&run, "an earlier begin"), "{:?}", run.limits);
}

proptest! {
    #[test]
    fn any_file_can_be_written(rows in prop::collection::vec(prop::collection::vec(-10_i64..4000, 9), 1..6)) {
        let row = |row: &Vec<i64>| row.iter().map(|it| format!("{it} \t")).collect::<String>();
        let text: String = rows.iter().map(|it| row(it).replace(" \t-", " \t -") + "\n").collect();
        if let Ok(run) = read(text.as_bytes(), Profiler::Jack, Named::default(), || false) {
            for block in &run.blocks {
                prop_assert!(block.awake_ns >= 0 && block.deadline_ns > 0);
                run.awaited(block);
            }
            prop_assert!(!crate::write::text(&run).is_empty());
            prop_assert!(!crate::write::chrome_json(&run).is_empty());
            prop_assert!(!crate::write::perfetto(&run).is_empty());
        }
    }
}
