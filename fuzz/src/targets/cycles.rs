//! Files of the profilers of PipeWire and JACK, and the pages made of them.

use hocket_trace::cycles::{Named, Profiler, read};
use hocket_trace::run::RunTrace;
use hocket_trace::sched_text::ReadError;

pub fn check(bytes: &[u8]) {
    let Some(profiler) = Profiler::of(bytes) else { return };
    let run = read_as(bytes, profiler);
    assert_eq!(run, read_as(bytes, profiler));
    match run {
        Ok(run) => check_run(&run),
        Err(error) => assert!(error.remedy().is_some(), "{error}"),
    }
}

fn read_as(bytes: &[u8], profiler: Profiler) -> Result<RunTrace, ReadError> {
    read(bytes, profiler, Named::default(), || false)
}

fn check_run(run: &RunTrace) {
    assert!(!run.blocks.is_empty());
    assert!(run.blocks.windows(2).all(|two| two[0].start_ns <= two[1].start_ns));
    for lane in run.blocks.iter().flat_map(|block| &block.lanes) {
        assert!(lane.thread < run.threads.len());
        assert!(lane.spans.iter().all(|span| 0 <= span.start_ns && span.start_ns < span.end_ns));
    }
    assert!(!hocket_trace::write::text(run).is_empty());
    assert!(!hocket_trace::write::chrome_json(run).is_empty());
    assert!(hocket_lab::trace_page::html(std::slice::from_ref(run)).contains("</html>"));
}
