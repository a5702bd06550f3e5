//! Who watches in this build, behind the same names.

#[cfg(feature = "sentry")]
pub use sees::*;
#[cfg(not(feature = "sentry"))]
pub use sees_nothing::*;

/// A host's part of a block, from construction to drop: the call of the engine, and all that the host does around it.
#[must_use = "it watches while it lives"]
pub struct Watch {
    #[cfg(feature = "rtsan")]
    _rtsan: rtsan_standalone::ScopedSanitizeRealtime,
    // Last, as in the engine's own watch: what the sanitizer does at its end is watched too.
    #[cfg(feature = "sentry")]
    _sentry: hocket_engine::sentry::SentryWatch,
}

impl Watch {
    pub fn begin() -> Watch {
        Watch {
            #[cfg(feature = "sentry")]
            _sentry: hocket_engine::sentry::SentryWatch::begin(),
            #[cfg(feature = "rtsan")]
            _rtsan: rtsan_standalone::ScopedSanitizeRealtime::default(),
        }
    }

    /// As `begin`, for a part with a system call that is no edge and that is meant. RealtimeSanitizer would end the process
    /// there, so it sees the engine's own part alone.
    pub fn begin_with_a_call() -> Option<Watch> {
        (!cfg!(feature = "rtsan")).then(Watch::begin)
    }
}

#[cfg(feature = "sentry")]
mod sees {
    pub use hocket_engine::sentry::{Report, available, in_block, own_calls, take_report};
    use hocket_engine::{Engine, WorkerTotals};

    use crate::sentry::{moves, take_allocations};

    /// Says what is not watched; `true` where nothing is missing.
    pub fn announce(test: &str) -> bool {
        let missing = available().err();
        if let Some(why) = &missing {
            println!("SKIPPED {test}: system calls are not seen: {why}");
        }
        missing.is_none()
    }

    pub fn forget() {
        take_report();
        take_allocations();
        moves::take();
    }

    /// Nothing happened in `blocks` blocks that the engine did not count as an edge.
    pub fn check(engine: &Engine, blocks: usize, what: &str) {
        if let Some(report) = check_clean(what) {
            check_edges(engine, blocks as u64, &report, what);
        }
    }

    /// Nothing happened but at edges; `None`: system calls are not seen here.
    pub fn check_clean(what: &str) -> Option<Report> {
        let (allocations, largest) = take_allocations();
        assert_eq!(allocations, 0, "{what}: allocator called, largest size {largest} bytes");
        let moves = moves::take();
        assert_eq!(moves.calls, 0, "{what}: {moves}");
        if available().is_err() {
            return None;
        }
        let report = take_report();
        let forbidden: Vec<String> = report.forbidden.iter().map(ToString::to_string).collect();
        assert!(forbidden.is_empty(), "{what}: {}", forbidden.join(", "));
        assert_eq!((report.more_forbidden, report.cut_short), (0, 0), "{what}");
        Some(report)
    }

    /// Takes the names of the system calls that are no edges. Thread: leader, between blocks.
    pub fn take_calls() -> Vec<&'static str> {
        take_report().forbidden.iter().map(|call| call.name()).collect()
    }

    /// A leader that is followed asks once for the number of its thread.
    pub fn check_first_calls(calls: &[&str]) {
        if available().is_ok() {
            assert_eq!(calls, ["gettid"]);
        }
    }

    fn check_edges(engine: &Engine, blocks: u64, report: &Report, what: &str) {
        let totals = sum(&engine.totals());
        let context = || format!("{what}: {report:?} {totals:?}");
        // More than took part where somebody came in a second time.
        assert!(report.blocks_watched >= totals.blocks.max(blocks), "{}", context());
        assert_eq!(report.sleeps, totals.blocked, "{}", context());
        assert_eq!(report.yields, totals.yielded, "{}", context());
        // The last to come to a barrier wakes the others, which nobody counts.
        let barriers = engine.schedule().barriers() as u64 * blocks;
        let wakes = totals.wakes..=totals.wakes + barriers;
        assert!(wakes.contains(&report.wakes), "{}", context());
    }

    fn sum(totals: &[WorkerTotals]) -> WorkerTotals {
        totals.iter().fold(WorkerTotals::default(), |sum, one| WorkerTotals {
            blocks: sum.blocks + one.blocks,
            blocked: sum.blocked + one.blocked,
            yielded: sum.yielded + one.yielded,
            wakes: sum.wakes + one.wakes,
            ..sum
        })
    }
}

#[cfg(not(feature = "sentry"))]
mod sees_nothing {
    use hocket_engine::Engine;

    pub fn in_block() -> bool {
        false
    }

    pub fn announce(test: &str) -> bool {
        let sanitized = cfg!(feature = "rtsan") && option_env!("RTSAN_ENABLE").is_some();
        if !sanitized {
            println!(
                "SKIPPED {test}: nobody watches: built without the features 'sentry', 'rtsan'"
            );
        }
        sanitized
    }

    pub fn forget() {}

    pub fn check(_: &Engine, _: usize, _: &str) {}

    pub fn check_clean(_: &str) {}

    pub fn take_calls() -> Vec<&'static str> {
        Vec::new()
    }

    pub fn check_first_calls(_: &[&str]) {}
}
