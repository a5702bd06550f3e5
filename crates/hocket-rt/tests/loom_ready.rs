//! Edge E6: each ready unit is taken once, with its inputs, and none is overlooked.
#![cfg(loom)]

mod common;

use common::{Plain, model, wait};
use hocket_rt::{Countdown, ReadySet, Signal, Strategy};
use loom::sync::Arc;
use loom::thread;

struct Shared {
    set: ReadySet,
    rows: [Plain; 3],
}

fn shared(workers: usize) -> Arc<Shared> {
    Arc::new(Shared {
        // Two words, so that the hints matter.
        set: ReadySet::new(workers, 70),
        rows: std::array::from_fn(|_| Plain::new(0)),
    })
}

/// Unit numbers in different words.
const UNITS: [u32; 3] = [1, 2, 65];

fn make_ready(shared: &Shared, index: usize, home: usize) {
    shared.rows[index].set(index as u64 + 1);
    shared.set.push(home, UNITS[index]);
}

/// Checks that the unit's row is there, and spoils it so that a second taker would notice.
fn run(shared: &Shared, unit: u32) {
    let index = UNITS.iter().position(|&known| known == unit).unwrap();
    assert_eq!(shared.rows[index].get(), index as u64 + 1);
    shared.rows[index].set(99);
}

#[test]
fn owner_and_thief_share_the_units_between_them() {
    model(4, || {
        let shared = shared(2);
        make_ready(&shared, 0, 0);
        let thief = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.set.steal(1).map(|unit| run(&shared, unit)).is_some())
        };
        make_ready(&shared, 1, 0);
        let mut taken = 0;
        while let Some(unit) = shared.set.pop(0) {
            run(&shared, unit);
            taken += 1;
        }
        taken += u32::from(thief.join().unwrap());
        assert_eq!(taken, 2);
        assert!(shared.set.is_empty_hint());
    });
}

#[test]
fn the_ends_meet_in_the_middle() {
    model(4, || {
        let shared = shared(2);
        (0..3).for_each(|index| make_ready(&shared, index, 0));
        let thief = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let unit = shared.set.steal(1);
                unit.inspect(|&unit| run(&shared, unit))
            })
        };
        let first = shared.set.pop(0).unwrap();
        run(&shared, first);
        let stolen = thief.join().unwrap().unwrap();
        assert_eq!((first, stolen), (1, 65));
        assert_eq!(shared.set.pop(0), Some(2));
        assert_eq!(shared.set.pop(0), None);
    });
}

/// A unit whose push is known is never overlooked, whatever else goes on in the home.
#[test]
fn a_known_unit_is_found() {
    model(4, || {
        let shared = shared(1);
        let other = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || make_ready(&shared, 0, 0))
        };
        make_ready(&shared, 1, 0);
        let mut found = shared.set.pop(0).expect("a unit that we pushed ourselves");
        if found != UNITS[1] {
            run(&shared, found);
            found = shared.set.pop(0).expect("a unit that we pushed ourselves");
        }
        assert_eq!(found, UNITS[1]);
        other.join().unwrap();
    });
}

/// Push then advance; read the number, look, wait: nobody sleeps beside a unit.
#[test]
fn a_sleeper_hears_of_a_push() {
    model(4, || {
        let shared = Arc::new((shared(1), Signal::new()));
        let other = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                make_ready(&shared.0, 2, 0);
                shared.1.advance();
            })
        };
        let mut seen = shared.1.value();
        let unit = loop {
            match shared.0.set.pop(0) {
                Some(unit) => break unit,
                None => (seen, _) = shared.1.wait_past(seen, &wait(Strategy::Futex)),
            }
        };
        run(&shared.0, unit);
        other.join().unwrap();
    });
}

/// Two predecessors, a countdown, a push by the last of them, a successor on a third thread: the
/// successor sees what *both* wrote, one of them through two edges.
#[test]
fn a_successor_sees_all_predecessors() {
    struct Diamond {
        set: ReadySet,
        countdown: Countdown,
        rows: [Plain; 2],
    }
    fn predecessor(diamond: &Diamond, index: usize) {
        diamond.rows[index].set(1);
        if diamond.countdown.arrive() {
            diamond.countdown.reset();
            diamond.set.push(0, 0);
        }
    }
    model(4, || {
        let diamond = Arc::new(Diamond {
            set: ReadySet::new(1, 1),
            countdown: Countdown::new(2),
            rows: std::array::from_fn(|_| Plain::new(0)),
        });
        let threads: Vec<_> = (0..2)
            .map(|index| {
                let diamond = Arc::clone(&diamond);
                thread::spawn(move || predecessor(&diamond, index))
            })
            .collect();
        if diamond.set.pop(0).is_some() {
            assert_eq!(diamond.rows[0].get() + diamond.rows[1].get(), 2);
            assert!(!diamond.countdown.arrive());
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}
