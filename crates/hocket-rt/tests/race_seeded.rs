//! A data race on purpose, to see that ThreadSanitizer is awake: `check-tsan.sh` runs it and
//! expects a report. Ignored everywhere else.
#![cfg(not(loom))]

mod common;

use common::{Plain, together};

#[test]
#[ignore = "races on purpose; run by check-tsan.sh"]
fn two_threads_write_one_cell() {
    let cell = Plain::new(0);
    together(2, move |thread| {
        for _ in 0..1000 {
            cell.set(thread as u64);
        }
    });
}
