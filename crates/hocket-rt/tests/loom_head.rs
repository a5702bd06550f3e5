//! Edge E11 and the protocol Head: units are claimed once, in order, after their predecessors.
#![cfg(loom)]

mod common;

use common::{Plain, model};
use hocket_rt::{Countdown, Head};
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

/// A list of two units; the second waits for one that another thread runs.
struct List {
    head: Head,
    down: [Countdown; 2],
    runs: [Plain; 2],
}

impl List {
    /// Claims what can be claimed now; returns how many.
    fn work(&self) -> usize {
        let mut claimed = 0;
        loop {
            let place = self.head.place();
            let Some(countdown) = self.down.get(place as usize) else { return claimed };
            if !countdown.is_down() {
                return claimed;
            }
            if self.head.take(place) {
                // Plain: a second claimant would race here.
                let runs = &self.runs[place as usize];
                runs.set(runs.get() + 1);
                claimed += 1;
            }
        }
    }
}

#[test]
fn owner_and_rescuer_take_each_unit_once() {
    model(3, || {
        let list = Arc::new(List {
            head: Head::new(),
            down: [Countdown::new(0), Countdown::new(1)],
            runs: std::array::from_fn(|_| Plain::new(0)),
        });
        let rescuer = {
            let list = Arc::clone(&list);
            thread::spawn(move || list.work())
        };
        list.down[1].arrive();
        let own = list.work();
        let other = rescuer.join().unwrap();
        assert_eq!(own + other, 2, "the one who told of the second unit finds it at the latest");
        assert!(list.runs.iter().all(|runs| runs.get() == 1));
    });
}
