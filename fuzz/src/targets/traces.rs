//! Traces of Hocket's own, and what is made of them again.

use hocket_trace::read::{is_own, read};
use hocket_trace::run::RunTrace;
use hocket_trace::sched_text::ReadError;
use hocket_trace::write::chrome_json;

pub fn check(bytes: &[u8]) {
    let run = read_again(bytes);
    assert_eq!(run, read_again(bytes));
    match run {
        Ok(run) => check_run(&run),
        Err(error) => assert!(error.remedy().is_some(), "{error}"),
    }
    let _ = is_own(bytes);
}

fn read_again(bytes: &[u8]) -> Result<RunTrace, ReadError> {
    read(bytes, "a.json".into(), || false)
}

fn check_run(run: &RunTrace) {
    assert!(!run.blocks.is_empty());
    assert!(run.blocks.windows(2).all(|two| two[0].number < two[1].number));
    for lane in run.blocks.iter().flat_map(|block| &block.lanes) {
        assert!(lane.thread < run.threads.len());
        assert!(lane.spans.iter().all(|span| span.start_ns <= span.end_ns));
    }
    let written = chrome_json(run);
    assert_eq!(chrome_json(&read_again(&written).expect("what was written is read")), written);
    assert!(!hocket_trace::write::text(run).is_empty());
    let both = [run.clone(), run.clone()];
    assert!(hocket_lab::trace_page::html(&both).contains("</html>"));
}
