//! Edges E9 and E10: each value is taken once, with what its pusher did, by owner or thief.
#![cfg(loom)]

mod common;

use common::{Plain, model};
use hocket_rt::{Deque, Steal, Turnstile};
use loom::sync::Arc;
use loom::thread;

struct Shared {
    deque: Deque,
    turnstile: Turnstile,
    rows: [Plain; 3],
}

fn shared() -> Arc<Shared> {
    Arc::new(Shared {
        deque: Deque::new(4),
        turnstile: Turnstile::new(),
        rows: std::array::from_fn(|_| Plain::new(0)),
    })
}

impl Shared {
    fn push(&self, unit: u32) {
        self.rows[unit as usize].set(1);
        self.deque.push(unit);
    }

    /// Checks that the unit's row is there, and spoils it so that a second taker would notice.
    fn run(&self, unit: u32) {
        assert_eq!(self.rows[unit as usize].get(), 1);
        self.rows[unit as usize].set(99);
    }

    fn pop(&self) -> u32 {
        self.deque.pop().map_or(0, |unit| {
            self.run(unit);
            1
        })
    }

    fn steal(&self) -> Steal {
        let outcome = self.deque.steal();
        if let Steal::Stolen(unit) = outcome {
            self.run(unit);
        }
        outcome
    }
}

/// A thief that tries so many times and returns how many it got.
fn thief(shared: &Arc<Shared>, attempts: u32) -> thread::JoinHandle<u32> {
    let shared = Arc::clone(shared);
    let stolen = move |_: &u32| matches!(shared.steal(), Steal::Stolen(_));
    thread::spawn(move || (0..attempts).filter(stolen).count() as u32)
}

#[test]
fn owner_and_thief_meet_at_the_last_value() {
    model(5, || {
        let shared = shared();
        shared.push(0);
        let thief = thief(&shared, 1);
        let popped = shared.pop();
        assert_eq!(popped + thief.join().unwrap(), 1);
        // The place is free again, whoever had it.
        shared.push(1);
        assert_eq!((shared.pop(), shared.pop()), (1, 0));
    });
}

/// The thief comes up from below while the owner comes down: the owner takes a value without an
/// exchange, and the thief must not find it through an old `bottom`.
#[test]
fn a_thief_does_not_pass_the_owner() {
    model(4, || {
        let shared = shared();
        (0..2).for_each(|unit| shared.push(unit));
        let thief = thief(&shared, 2);
        let popped = shared.pop();
        let taken = popped + thief.join().unwrap();
        let left = shared.pop() + shared.pop();
        assert_eq!(taken + left, 2);
    });
}

#[test]
fn an_empty_deque_is_empty_for_both() {
    model(4, || {
        let shared = shared();
        shared.push(0);
        let thief = thief(&shared, 2);
        let popped = shared.pop() + shared.pop();
        assert_eq!(popped + thief.join().unwrap(), 1);
        assert!(shared.deque.is_empty_hint());
        assert_eq!(shared.steal(), Steal::Empty);
    });
}

#[test]
fn one_of_two_thieves_gets_it() {
    model(3, || {
        let shared = shared();
        shared.push(0);
        let thieves = [thief(&shared, 1), thief(&shared, 1)];
        let stolen: u32 = thieves.into_iter().map(|thief| thief.join().unwrap()).sum();
        assert_eq!(stolen, 1);
    });
}

#[test]
fn two_thieves_and_the_owner_share_two_values() {
    model(2, || {
        let shared = shared();
        (0..2).for_each(|unit| shared.push(unit));
        let thieves = [thief(&shared, 1), thief(&shared, 1)];
        let popped = shared.pop();
        let stolen: u32 = thieves.into_iter().map(|thief| thief.join().unwrap()).sum();
        assert_eq!(popped + stolen + shared.pop() + shared.pop(), 2);
    });
}

#[test]
fn a_push_gives_its_row_to_the_thief() {
    model(4, || {
        let shared = shared();
        let thief = thief(&shared, 1);
        shared.push(0);
        assert_eq!(thief.join().unwrap() + shared.pop(), 1);
    });
}

/// The thief's first look finds one value, its second, behind the fence, a later one: the fence has
/// brought what the first look found and nothing more.
#[test]
fn a_push_between_two_looks_gives_its_row_too() {
    model(4, || {
        let shared = shared();
        let thief = thief(&shared, 1);
        shared.push(0);
        let popped = shared.pop();
        shared.push(1);
        assert_eq!(popped + thief.join().unwrap() + shared.pop() + shared.pop(), 2);
    });
}

/// The thief may learn of the first value from the `bottom` that a pop of the second one left.
#[test]
fn a_pop_passes_on_what_the_push_before_it_published() {
    model(4, || {
        let shared = shared();
        let thief = thief(&shared, 1);
        (0..2).for_each(|unit| shared.push(unit));
        let popped = shared.pop();
        assert_eq!(popped + thief.join().unwrap() + shared.pop(), 2);
    });
}

/// A value whose push is known is not overlooked while the owner is busy at its own end.
#[test]
fn a_known_value_is_found() {
    model(4, || {
        let shared = shared();
        shared.push(0);
        let thief = thief(&shared, 1);
        shared.push(1);
        assert_eq!(shared.pop(), 1);
        assert_eq!(thief.join().unwrap(), 1, "nobody else could take the first one");
        assert_eq!(shared.pop(), 0);
    });
}

/// Two blocks with a thief that may come late: the indices start anew, and no theft reaches over.
#[test]
fn a_load_starts_anew_while_nobody_is_inside() {
    model(3, || {
        let shared = shared();
        let late = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let Some(_inside) = shared.turnstile.enter() else { return };
                let _ = shared.steal();
            })
        };
        for unit in 0..2u32 {
            shared.rows[unit as usize].set(1);
            shared.deque.load(&[unit]);
            shared.turnstile.open();
            shared.pop();
            shared.turnstile.close_and_wait();
            assert_eq!(shared.rows[unit as usize].get(), 99, "taken by one of them");
            assert!(shared.deque.is_empty_hint());
        }
        late.join().unwrap();
    });
}
