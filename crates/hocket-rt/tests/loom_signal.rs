//! Edges E1 and E2: a signal publishes, and no wake-up is lost.
#![cfg(loom)]

mod common;

use common::{Plain, model, wait};
use hocket_rt::{Signal, Strategy};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering::Relaxed};
use loom::thread;
use std::time::Duration;

/// A deadline that may pass at any moment.
const SOME_TIME: u64 = 1;

#[test]
fn what_was_done_before_an_advance_is_seen_after_the_wait() {
    model(5, || {
        let shared = Arc::new((Signal::new(), Plain::new(0)));
        let teller = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                shared.1.set(7);
                shared.0.advance();
            })
        };
        let (value, _) = shared.0.wait_past(0, &wait(Strategy::Pause));
        assert_eq!((value, shared.1.get()), (1, 7));
        teller.join().unwrap();
    });
}

/// Loom reports a lost wake-up as a deadlock.
fn sleepers_are_woken(strategy: Strategy, sleepers: usize, preemptions: usize) {
    model(preemptions, move || {
        let signal = Arc::new(Signal::new());
        let threads: Vec<_> = (0..sleepers)
            .map(|_| {
                let signal = Arc::clone(&signal);
                thread::spawn(move || signal.wait_past(0, &wait(strategy)).0)
            })
            .collect();
        signal.advance();
        for sleeper in threads {
            assert_eq!(sleeper.join().unwrap(), 1);
        }
    });
}

#[test]
fn a_sleeper_is_woken() {
    sleepers_are_woken(Strategy::Futex, 1, 5);
}

#[test]
fn a_sleeper_is_woken_after_a_spin() {
    sleepers_are_woken(Strategy::Hybrid, 1, 5);
}

/// A wait that spins, yields and blocks in the end.
#[test]
fn a_sleeper_is_woken_after_a_spin_and_yields() {
    model(5, || {
        let signal = Arc::new(Signal::new());
        let sleeper = {
            let signal = Arc::clone(&signal);
            let wait = wait(Strategy::Pause).blocking_after(Duration::from_nanos(100));
            thread::spawn(move || signal.wait_past(0, &wait).0)
        };
        signal.advance();
        assert_eq!(sleeper.join().unwrap(), 1);
    });
}

#[test]
fn all_sleepers_are_woken() {
    sleepers_are_woken(Strategy::Futex, 2, 4);
}

/// One teller, one wake-up at a time: each that wakes up wakes the next.
fn a_chain_wakes(sleepers: usize, preemptions: usize) {
    model(preemptions, move || {
        let signal = Arc::new(Signal::with_fan_out(1));
        let threads: Vec<_> = (0..sleepers)
            .map(|_| {
                let signal = Arc::clone(&signal);
                thread::spawn(move || signal.wait_past(0, &wait(Strategy::Futex)).0)
            })
            .collect();
        signal.advance();
        for sleeper in threads {
            assert_eq!(sleeper.join().unwrap(), 1);
        }
        assert!(!signal.advance(), "a call for nobody");
    });
}

#[test]
fn a_chain_of_two_wakes_both() {
    a_chain_wakes(2, 3);
}

#[test]
fn a_chain_of_three_wakes_all() {
    a_chain_wakes(3, 2);
}

/// The teller itself goes to sleep on the new value, in front of those who sleep on the old one: a
/// wake-up that is meant for them must not end with it. The second of them wakes the teller.
#[test]
fn a_newcomer_does_not_take_an_old_sleepers_wake_up() {
    model(2, || {
        let shared = Arc::new((Signal::with_fan_out(1), AtomicU32::new(2)));
        let old: Vec<_> = (0..2)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    shared.0.wait_past(0, &wait(Strategy::Futex));
                    if shared.1.fetch_sub(1, Relaxed) == 1 {
                        shared.0.advance();
                    }
                })
            })
            .collect();
        shared.0.advance();
        shared.0.wait_past(1, &wait(Strategy::Futex));
        for sleeper in old {
            sleeper.join().unwrap();
        }
    });
}

/// A deadline that never passes: only the advance can end the sleep.
#[test]
fn a_sleeper_with_a_deadline_is_woken() {
    model(5, || {
        let signal = Arc::new(Signal::new());
        let sleeper = {
            let signal = Arc::clone(&signal);
            thread::spawn(move || signal.wait_past_by(0, &wait(Strategy::Futex), u64::MAX).0)
        };
        signal.advance();
        assert_eq!(sleeper.join().unwrap(), 1);
    });
}

/// The deadline may pass at any moment. What was done before the advance is seen where the value is
/// the new one.
#[test]
fn a_deadline_may_pass_while_somebody_advances() {
    model(5, || {
        let shared = Arc::new((Signal::new(), Plain::new(0)));
        let sleeper = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                match shared.0.wait_past_by(0, &wait(Strategy::Futex), SOME_TIME).0 {
                    0 => {}
                    value => assert_eq!((value, shared.1.get()), (1, 7)),
                }
            })
        };
        shared.1.set(7);
        shared.0.advance();
        sleeper.join().unwrap();
    });
}

/// The wake-up may go to the thread that gives up in the same moment; the other one must not be
/// forgotten.
#[test]
fn who_gives_up_takes_nobodys_wake_up_along() {
    model(3, || {
        let signal = Arc::new(Signal::with_fan_out(1));
        let sleeper = {
            let signal = Arc::clone(&signal);
            thread::spawn(move || signal.wait_past(0, &wait(Strategy::Futex)).0)
        };
        let hasty = {
            let signal = Arc::clone(&signal);
            thread::spawn(move || {
                signal.wait_past_by(0, &wait(Strategy::Futex), SOME_TIME);
            })
        };
        signal.advance();
        hasty.join().unwrap();
        assert_eq!(sleeper.join().unwrap(), 1);
    });
}

/// Two rounds: a sleeper of the first that is late to leave must not hide one of the second.
#[test]
fn a_second_sleep_is_ended_too() {
    model(5, || {
        let signal = Arc::new(Signal::new());
        let sleeper = {
            let signal = Arc::clone(&signal);
            thread::spawn(move || {
                let (first, _) = signal.wait_past(0, &wait(Strategy::Futex));
                if first == 1 {
                    signal.wait_past(1, &wait(Strategy::Futex));
                }
            })
        };
        signal.advance();
        signal.advance();
        sleeper.join().unwrap();
    });
}

/// The event count: read, look, wait. An event between the look and the wait is not missed.
#[test]
fn an_event_between_look_and_wait_is_not_missed() {
    model(5, || {
        let shared = Arc::new((Signal::new(), AtomicU32::new(0)));
        let teller = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                shared.1.store(1, Relaxed);
                shared.0.advance();
            })
        };
        let mut seen = shared.0.value();
        while shared.1.load(Relaxed) == 0 {
            (seen, _) = shared.0.wait_past(seen, &wait(Strategy::Futex));
        }
        teller.join().unwrap();
    });
}

#[test]
fn stop_ends_a_wait_when_an_advance_follows_it() {
    model(5, || {
        let shared = Arc::new((Signal::new(), AtomicU32::new(0)));
        let teller = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                shared.1.store(1, Relaxed);
                shared.0.advance();
            })
        };
        let stop = || shared.1.load(Relaxed) == 1;
        shared.0.wait_until(0, &wait(Strategy::Futex), stop);
        assert!(stop());
        teller.join().unwrap();
    });
}
