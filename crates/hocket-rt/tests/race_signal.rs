//! Edges E1 and E2 with real threads: plain data behind a signal, and sleeps that must end.
//!
//! Under ThreadSanitizer the plain accesses are what is checked; without it the values and the end
//! of the test are.
#![cfg(not(loom))]

mod common;

use common::{Plain, together, wait, without_hanging};
use hocket_rt::{Signal, Strategy, Wait, Waited, monotonic_ns};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

const ROUNDS: u32 = if cfg!(debug_assertions) { 20_000 } else { 50_000 };

struct Rally {
    /// One per player: advanced by it after each of its strokes.
    strokes: [Signal; 2],
    ball: Plain,
}

impl Rally {
    fn new() -> Rally {
        Rally { strokes: [Signal::new(), Signal::new()], ball: Plain::new(0) }
    }

    /// Player 0 strokes first. The ball is plain: each stroke hands it over.
    fn play(&self, player: usize, wait: &Wait) -> Waited {
        let mut waited = Waited::default();
        for round in 0..ROUNDS {
            if player == 1 {
                waited += self.receive(0, round, wait);
            }
            self.ball.set(self.ball.get() + 1);
            self.strokes[player].advance();
            if player == 0 {
                waited += self.receive(1, round, wait);
            }
        }
        waited
    }

    fn receive(&self, from: usize, round: u32, wait: &Wait) -> Waited {
        let (value, waited) = self.strokes[from].wait_past(round, wait);
        assert_eq!(value, round + 1);
        waited
    }
}

fn rally(strategy: Strategy) -> Waited {
    rally_by(wait(strategy))
}

fn rally_by(wait: Wait) -> Waited {
    let rally = std::sync::Arc::new(Rally::new());
    let players = std::sync::Arc::clone(&rally);
    let waited = together(2, move |player| players.play(player, &wait));
    assert_eq!(rally.ball.get(), 2 * u64::from(ROUNDS));
    waited.into_iter().fold(Waited::default(), |mut sum, waited| {
        sum += waited;
        sum
    })
}

#[test]
fn a_spinning_rally_hands_the_ball_over() {
    without_hanging(|| {
        assert_eq!(rally(Strategy::Pause).blocked, 0);
    });
}

#[test]
fn a_sleeping_rally_loses_no_wake_up() {
    without_hanging(|| {
        assert!(rally(Strategy::Futex).blocked > 0, "nobody ever slept");
    });
}

#[test]
fn a_hybrid_rally_loses_no_wake_up() {
    without_hanging(|| {
        rally(Strategy::Hybrid);
    });
}

/// Every way that this CPU has, with a bound after which it blocks.
#[test]
fn a_rally_that_blocks_in_the_end_loses_no_wake_up() {
    without_hanging(|| {
        for strategy in Strategy::here() {
            rally_by(wait(strategy).blocking_after(Duration::from_micros(1)));
        }
    });
}

/// Every other way that this CPU has; the rests of instructions it lacks are not seen here.
#[test]
fn a_rally_by_any_other_way_hands_the_ball_over() {
    without_hanging(|| {
        for strategy in Strategy::ALL {
            match (strategy, strategy.missing()) {
                (Strategy::Pause | Strategy::Futex | Strategy::Hybrid, _) => {}
                (_, Some(why)) => println!("SKIPPED a rally by {strategy}: {why}"),
                (_, None) => assert_eq!(rally(strategy).blocked, 0, "{strategy}"),
            }
        }
    });
}

/// One teller, several sleepers that answer each call: nobody is forgotten.
fn every_call_is_heard(call: Signal, sleepers: usize, rounds: u32) {
    without_hanging(move || {
        let answers: Vec<Signal> = (0..sleepers).map(|_| Signal::new()).collect();
        let futex = wait(Strategy::Futex);
        together(sleepers + 1, move |index| {
            for round in 0..rounds {
                if index < sleepers {
                    call.wait_past(round, &futex);
                    answers[index].advance();
                } else {
                    call.advance();
                    for answer in &answers {
                        answer.wait_past(round, &futex);
                    }
                }
            }
        });
    });
}

#[test]
fn every_sleeper_hears_every_call() {
    every_call_is_heard(Signal::new(), 3, ROUNDS / 8);
}

/// Those who have answered sleep on the new value while others are still asleep on the old one.
#[test]
fn fifteen_sleepers_pass_every_call_on() {
    for fan_out in [1, 2, 5] {
        every_call_is_heard(Signal::with_fan_out(fan_out), 15, ROUNDS / 50);
    }
}

/// Nobody answers: calls overtake the chains of those before.
#[test]
fn calls_that_overtake_each_other_reach_sixteen_threads() {
    const CALLS: u32 = ROUNDS / 20;
    for fan_out in [1, 3] {
        without_hanging(move || {
            let call = Signal::with_fan_out(fan_out);
            let futex = wait(Strategy::Futex);
            together(16, move |index| {
                let mut seen = 0;
                while seen < CALLS {
                    if index == 0 {
                        call.advance();
                        std::thread::yield_now();
                        seen = call.value();
                    } else {
                        (seen, _) = call.wait_past(seen, &futex);
                    }
                }
            });
        });
    }
}

/// Deadlines so short that they often pass while the call is made, beside threads without one. Those
/// who give up try again, so everybody reaches the last call.
#[test]
fn calls_reach_those_who_give_up_and_those_who_do_not() {
    const CALLS: u32 = ROUNDS / 20;
    for fan_out in [1, 2, u32::MAX] {
        without_hanging(move || {
            let call = Signal::with_fan_out(fan_out);
            let futex = wait(Strategy::Futex);
            together(7, move |index| {
                let mut seen = 0;
                while seen < CALLS {
                    if index == 0 {
                        call.advance();
                        std::thread::yield_now();
                        seen = call.value();
                    } else if index % 2 == 0 {
                        let deadline_ns = monotonic_ns() + 3_000 * index as u64;
                        (seen, _) = call.wait_past_by(seen, &futex, deadline_ns);
                    } else {
                        (seen, _) = call.wait_past(seen, &futex);
                    }
                }
            });
        });
    }
}

/// The ball changes hands by advances alone: the deadlines are too far ahead to help.
#[test]
fn an_advance_ends_a_wait_whose_deadline_is_far() {
    without_hanging(|| {
        let shared = std::sync::Arc::new(([Signal::new(), Signal::new()], Plain::new(0)));
        let players = std::sync::Arc::clone(&shared);
        together(2, move |player| {
            let (strokes, ball) = &*players;
            let in_an_hour = monotonic_ns() + 3_600_000_000_000;
            let futex = wait(Strategy::Futex);
            for round in 0..ROUNDS / 10 {
                // Player 0 strokes first: it waits for the stroke of the round before.
                let seen = (round + player as u32).wrapping_sub(1);
                if player == 1 || round > 0 {
                    strokes[1 - player].wait_past_by(seen, &futex, in_an_hour);
                }
                ball.set(ball.get() + 1);
                strokes[player].advance();
            }
        });
        assert_eq!(shared.1.get(), 2 * u64::from(ROUNDS / 10));
    });
}

/// A wake tree must not leave anything behind that looks like a sleeper.
#[test]
fn an_advance_makes_no_call_when_all_sleepers_have_left() {
    for call in [Signal::new(), Signal::with_fan_out(2)] {
        without_hanging(move || {
            let shared = std::sync::Arc::new((call, AtomicBool::new(false)));
            let sleepers = std::sync::Arc::clone(&shared);
            let threads: Vec<_> = (0..3)
                .map(|_| {
                    let shared = std::sync::Arc::clone(&sleepers);
                    std::thread::spawn(move || {
                        let mut seen = shared.0.value();
                        while !shared.1.load(Relaxed) {
                            (seen, _) = shared.0.wait_past(seen, &wait(Strategy::Futex));
                        }
                    })
                })
                .collect();
            while !shared.0.advance() {
                std::thread::yield_now();
            }
            shared.1.store(true, Relaxed);
            shared.0.advance();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            assert!(!shared.0.advance(), "a call for nobody");
        });
    }
}

#[test]
fn an_advance_says_whether_it_woke_anybody() {
    without_hanging(|| {
        let signal = std::sync::Arc::new(Signal::new());
        assert!(!signal.advance(), "nobody sleeps");
        let sleeper = {
            let signal = std::sync::Arc::clone(&signal);
            std::thread::spawn(move || {
                let mut seen = signal.value();
                while seen < 1000 {
                    (seen, _) = signal.wait_past(seen, &wait(Strategy::Futex));
                }
            })
        };
        let mut woke = false;
        for _ in 0..1000 {
            woke |= signal.advance();
            std::thread::sleep(Duration::from_micros(100));
        }
        sleeper.join().unwrap();
        assert!(woke, "a sleeper was never seen in a thousand advances");
    });
}
