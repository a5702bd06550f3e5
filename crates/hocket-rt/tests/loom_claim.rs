//! Edge E11 and the protocol Claim: a list is walked once, each unit after its predecessors.
#![cfg(loom)]

mod common;

use common::{Plain, model};
use hocket_rt::{Claim, Countdown};
use loom::sync::Arc;
use loom::thread;

struct Shared {
    countdown: Countdown,
    rows: [Plain; 2],
}

#[test]
fn whoever_finds_it_down_sees_every_row() {
    model(3, || {
        let shared = Arc::new(Shared {
            countdown: Countdown::new(2),
            rows: std::array::from_fn(|_| Plain::new(0)),
        });
        let predecessors: Vec<_> = (0..2)
            .map(|predecessor| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    shared.rows[predecessor].set(1);
                    shared.countdown.arrive();
                })
            })
            .collect();
        if shared.countdown.is_down() {
            assert_eq!(shared.rows.iter().map(Plain::get).sum::<u64>(), 2);
        }
        predecessors.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(shared.countdown.is_down());
    });
}

/// Two lists of one unit each; the second unit waits for the first.
struct Lists {
    claims: [Claim; 2],
    first_done: Countdown,
    row: Plain,
    runs: [Plain; 2],
}

impl Lists {
    /// Walks what can be had, own list first.
    fn work(&self, own: usize) {
        for list in [own, 1 - own] {
            if !self.claims[list].take() {
                continue;
            }
            if list == 1 {
                while !self.first_done.is_down() {
                    thread::yield_now();
                    // Nobody has come for the first list: it is ours as well.
                    if self.claims[0].take() {
                        self.run_first();
                    }
                }
                assert_eq!(self.row.get(), 7);
            } else {
                self.run_first();
            }
            self.runs[list].set(self.runs[list].get() + u64::from(list == 1));
        }
    }

    fn run_first(&self) {
        self.row.set(7);
        self.runs[0].set(self.runs[0].get() + 1);
        self.first_done.arrive();
    }
}

#[test]
fn owner_and_stand_in_walk_each_list_once() {
    model(2, || {
        let lists = Arc::new(Lists {
            claims: [Claim::new(), Claim::new()],
            first_done: Countdown::new(1),
            row: Plain::new(0),
            runs: std::array::from_fn(|_| Plain::new(0)),
        });
        let late = {
            let lists = Arc::clone(&lists);
            thread::spawn(move || lists.work(0))
        };
        lists.work(1);
        late.join().unwrap();
        assert_eq!(lists.runs.each_ref().map(Plain::get), [1, 1]);
    });
}
