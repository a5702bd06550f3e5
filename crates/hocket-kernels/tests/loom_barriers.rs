//! Barriers built of hocket-rt's parts: nobody leaves early, everybody sees everybody's rows.
#![cfg(loom)]

#[path = "../../hocket-rt/tests/common/mod.rs"]
mod common;

use common::{Plain, model, wait};
use hocket_kernels::barriers::{Dissemination, Meeting, Tree};
use hocket_rt::Strategy;
use loom::sync::Arc;
use loom::thread;

/// Writes its row, meets, reads all rows, meets again.
fn work(meeting: &dyn Meeting, rows: &[Plain], number: usize) {
    rows[number].set(1);
    meeting.meet(number, &wait(Strategy::Futex));
    for row in rows {
        assert_eq!(row.get(), 1);
    }
    meeting.meet(number, &wait(Strategy::Futex));
    rows[number].set(2);
}

fn check<M: Meeting + 'static>(preemptions: usize, make: impl Fn() -> M + Send + Sync + 'static) {
    model(preemptions, move || {
        let meeting = make();
        let rows: Vec<Plain> = (0..meeting.parties()).map(|_| Plain::new(0)).collect();
        let shared = Arc::new((meeting, rows));
        let others: Vec<_> = (1..shared.0.parties())
            .map(|number| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || work(&shared.0, &shared.1, number))
            })
            .collect();
        work(&shared.0, &shared.1, 0);
        for other in others {
            other.join().unwrap();
        }
    });
}

#[test]
fn a_tree_of_three() {
    check(1, || Tree::new(3, 2));
}

#[test]
fn dissemination_among_two() {
    check(2, || Dissemination::new(2));
}

#[test]
fn dissemination_among_three() {
    check(1, || Dissemination::new(3));
}
