use proptest::prelude::*;

use super::*;
use crate::run::tests::{block, run};
use crate::system::DEFERRED;
use crate::write::chrome_json;

fn again(bytes: &[u8]) -> Result<RunTrace, ReadError> {
    read(bytes, "before.json".into(), || false)
}

fn text(run: &RunTrace) -> String {
    String::from_utf8(chrome_json(run)).unwrap()
}

/// All that a trace can hold: other plans, spans without a CPU, blocks that overlap, lists of remarks.
fn rich() -> RunTrace {
    let mut run = run();
    run.blocks[0].lanes[1].awake_ns = -70_000;
    run.blocks[0].lanes[1].spans[0].start_ns = -70_000;
    run.blocks[1].lanes[1].spans[1].away_ns = Some(123_456);
    run.blocks[2].plan = Some(6);
    let mut more = block(10, 700_000);
    more.unit_names.push("more".into());
    more.lanes[0].spans[2].doing = Doing::Unit(3);
    run.add(5_020_000_000, 2, &more);
    let mut next = block(11, -1);
    for lane in &mut next.lanes {
        (lane.awake_ns, lane.finished_ns) = (lane.awake_ns + 800_000, lane.finished_ns + 800_000);
        for span in &mut lane.spans {
            (span.start_ns, span.end_ns) = (span.start_ns + 800_000, span.end_ns + 800_000);
        }
    }
    (next.awake_ns, next.finished_ns) = (810_000, 1_799_999);
    run.add(5_021_000_000, 0, &next);
    let wake = |at_ns, by: Option<&str>| WokenOn {
        at_ns,
        cpu: 3,
        woken: "audio (12)".into(),
        by: by.map(str::to_owned),
    };
    run.blocks[1].wakes = vec![wake(-10, None), wake(500, Some("an interrupt (7)"))];
    run.blocks[2].interrupts = vec![
        InterruptOn { start_ns: -20, end_ns: 400, cpu: 1, number: 40 },
        InterruptOn { start_ns: 500, end_ns: 900, cpu: 1, number: DEFERRED | 1 },
    ];
    run.remarks.push("one; and the other".into());
    run.limits.push("nothing else".into());
    (run.lost_blocks, run.lost_spans, run.interrupted) = (3, 4, true);
    run
}

/// Byte by byte: what is read is written as it was.
#[test]
fn what_was_written_is_read_again() {
    let mut kept_on_miss = run();
    kept_on_miss.about.kept = Kept::OnMiss;
    for run in [run(), rich(), kept_on_miss] {
        let written = text(&run);
        let read = again(written.as_bytes()).unwrap();
        assert_eq!(text(&read), written);
        assert_eq!((&*read.about.file, &*run.about.file), ("before.json", ""));
        assert_eq!((read.about.kept, read.spans()), (run.about.kept, run.spans()));
        assert_eq!((&read.remarks, &read.limits), (&run.remarks, &run.limits));
        for (read, run) in read.blocks.iter().zip(&run.blocks) {
            assert_eq!((&read.verdict, &read.others), (&run.verdict, &run.others));
            assert_eq!((&read.wakes, &read.interrupts), (&run.wakes, &run.interrupts));
        }
    }
}

/// The page draws a critical path and lanes by seat of it.
#[test]
fn it_is_drawn_as_it_was() {
    let (run, read) = (rich(), again(&chrome_json(&rich())).unwrap());
    let threads = |run: &RunTrace| {
        run.by_seat().into_iter().map(|at| run.threads[at].clone()).collect::<Vec<_>>()
    };
    assert_eq!(threads(&read), threads(&run));
    let way = |run: &RunTrace, block: &RunBlock| {
        let unit = |unit: u32| run.unit_names[block.names][unit as usize].clone();
        let part = |it: crate::run::Awaited| {
            (run.threads[it.thread].name.clone(), it.unit.map(unit), it.start_ns, it.end_ns)
        };
        run.awaited(block).into_iter().map(part).collect::<Vec<_>>()
    };
    for (of_read, of_run) in read.blocks.iter().zip(&run.blocks) {
        assert_eq!(way(&read, of_read), way(&run, of_run));
    }
}

#[test]
fn a_file_that_is_cut_anywhere_is_refused() {
    let written = chrome_json(&rich());
    for length in 0..written.len() - 1 {
        let why = again(&written[..length]).expect_err("it is cut");
        // Where the number of the format is cut, it may be that of another.
        let is_head = length < "{\"otherData\":{\"format\":\"hocket-trace/1\"".len();
        assert!(is_head || matches!(why, ReadError::Cut { .. }), "{length}: {why}");
    }
    let why = again(&written[..written.len() / 2]).unwrap_err().to_string();
    assert!(why.starts_with("the trace is cut: the file ends in line "), "{why}");
}

/// What `change` makes of the trace is refused with these words.
fn refused(change: impl Fn(&str) -> String, words: &[&str]) {
    let before = text(&rich());
    let after = change(&before);
    assert_ne!(after, before, "{words:?}: nothing is changed");
    let why = again(after.as_bytes()).expect_err("it is not ours").to_string();
    words.iter().for_each(|word| assert!(why.contains(word), "'{word}' is missing: {why}"));
}

#[test]
fn what_hocket_did_not_write_so_is_refused_with_its_line() {
    let with = |from: &'static str, to: &'static str| move |text: &str| text.replacen(from, to, 1);
    refused(
        with("hocket-trace/1", "hocket-trace/2"),
        &["format hocket-trace/2", "hocket-trace/1", "version"],
    );
    refused(with("\"frames\":\"48\"", "\"frames\":\"many\""), &["line 1: ", "`frames`"]);
    refused(with("\"kept\":\"every", "\"kept\":\"any"), &["line 1: ", "`kept`"]);
    refused(
        with("\"block\":{\"awake", "\"gone\":{\"awake"),
        &["line 19: ", "could not read its traces again"],
    );
    refused(with("\"number\":8", "\"number\":7"), &["no greater number"]);
    refused(with("\"start_ns\":5008000000", "\"start_ns\":5006000000"), &["begins earlier"]);
    refused(with("\"dur\":570.0", "\"dur\":-570.0"), &["begins before"]);
    refused(with("\"dur\":570.0", "\"dur\":1e300"), &["11 days"]);
    refused(with("\"dur\":570.0", "\"dur\":"), &["no event as Hocket writes them", "column"]);
    refused(with("\"lanes\":[[3,", "\"lanes\":[[1,"), &["lane of tid 1", "no thread"]);
    refused(with("\"interrupt\":40", "\"gone\":40"), &["an interrupt", "which one"]);
    refused(with("woken: audio", "audio"), &["a wake-up", "of whom"]);
    let tid = with("\"tid\":7,\"ts\":1100.0", "\"tid\":99,\"ts\":1100.0");
    refused(tid, &["of another thread", "on which CPU"]);
    refused(|text| format!("{text}{text}"), &["behind the end"]);
    // As another program would write it.
    refused(|text| text.replace(",\n", ",\n  \n"), &["line 3: ", "no event"]);
    refused(|text| text.replacen(",\"traceEvents\":[\n", ",\n\"traceEvents\":[\n", 1), &["cut"]);
    refused(
        |text| {
            text.lines()
                .filter(|line| !line.contains("\"ph\":\"X\"") && !line.contains("woken"))
                .collect::<Vec<_>>()
                .join("\n")
        },
        &["no block"],
    );
}

#[test]
fn whoever_waits_for_a_large_file_can_stop() {
    let mut written = text(&run()).replace("\n]}\n", "");
    for _ in 0..STOP_EVERY {
        written += ",\n{\"name\":\"deadline\",\"cat\":\"deadline\",\"ph\":\"i\",\"pid\":1,\"tid\":2,\"ts\":0.0}";
    }
    written += "\n]}\n";
    assert!(again(written.as_bytes()).is_ok());
    let why = read(written.as_bytes(), String::new(), || true).unwrap_err();
    assert_eq!(why, ReadError::Stopped);
}

proptest! {
    /// Whatever is changed, it is refused, or a run that can be written and drawn.
    #[test]
    fn changed_bytes_do_no_harm(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = chrome_json(&rich());
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(run) = again(&bytes) {
            run.blocks.iter().for_each(|block| drop(run.awaited(block)));
            let written = chrome_json(&run);
            prop_assert_eq!(chrome_json(&again(&written).unwrap()), written);
        }
    }
}
