//! Every barrier with real threads: rows written before it are read after it, meeting after meeting.
#![cfg(not(loom))]

#[path = "../../hocket-rt/tests/common/mod.rs"]
mod common;

use common::{Plain, together, wait, without_hanging};
use hocket_kernels::barriers::BarrierKind;
use hocket_rt::Strategy;

const MEETINGS: u64 = 300;

fn rows_turn_round(kind: BarrierKind, parties: usize, strategy: Strategy) {
    without_hanging(move || {
        let meeting = kind.build(parties);
        let rows: Vec<Plain> = (0..parties).map(|_| Plain::new(0)).collect();
        together(parties, move |number| {
            for round in 1..=MEETINGS {
                rows[number].set(round);
                meeting.meet(number, &wait(strategy));
                for row in &rows {
                    assert_eq!(row.get(), round, "{kind}: somebody left early");
                }
                meeting.meet(number, &wait(strategy));
            }
        });
    });
}

#[test]
fn nobody_leaves_early_when_all_sleep() {
    for kind in BarrierKind::ALL {
        for parties in [1, 2, 3, 5, 8] {
            rows_turn_round(kind, parties, Strategy::Futex);
        }
    }
}

#[test]
fn nobody_leaves_early_when_all_spin() {
    for kind in BarrierKind::ALL {
        for parties in [2, 3] {
            rows_turn_round(kind, parties, Strategy::Pause);
        }
    }
}

#[test]
fn names_are_read_back() {
    for kind in BarrierKind::ALL {
        assert_eq!(kind.to_string().parse(), Ok(kind));
        assert_eq!(kind.build(0).parties(), 1);
    }
}
