//! Edge E3: the last of several predecessors sees what all of them wrote.
#![cfg(loom)]

mod common;

use common::{Plain, model};
use hocket_rt::Countdown;
use loom::sync::Arc;
use loom::thread;

struct Shared {
    countdown: Countdown,
    rows: [Plain; 3],
}

fn finish(shared: &Shared, predecessor: usize) -> bool {
    shared.rows[predecessor].set(predecessor as u64 + 1);
    let last = shared.countdown.arrive();
    if last {
        let sum: u64 = shared.rows.iter().map(Plain::get).sum();
        assert_eq!(sum, 6);
        shared.countdown.reset();
    }
    last
}

#[test]
fn the_last_arrival_sees_every_row_and_there_is_one() {
    model(5, || {
        let shared = Arc::new(Shared {
            countdown: Countdown::new(3),
            rows: std::array::from_fn(|_| Plain::new(0)),
        });
        let others: Vec<_> = (1..3)
            .map(|predecessor| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || finish(&shared, predecessor))
            })
            .collect();
        let mut last = u32::from(finish(&shared, 0));
        for other in others {
            last += u32::from(other.join().unwrap());
        }
        assert_eq!(last, 1);
        // Wound up again: the next block counts from three.
        assert!(!shared.countdown.arrive() && !shared.countdown.arrive());
        assert!(shared.countdown.arrive());
    });
}
