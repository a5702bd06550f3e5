//! Edges E1 and E2 with real threads: plain data behind a signal, and sleeps that must end.
//!
//! Under ThreadSanitizer the plain accesses are what is checked; without it the values and the end
//! of the test are.
#![cfg(not(loom))]

mod common;

use common::{Plain, together, wait, without_hanging};
use hocket_rt::{Signal, Strategy, Waited};
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
    fn play(&self, player: usize, strategy: Strategy) -> Waited {
        let mut waited = Waited::default();
        for round in 0..ROUNDS {
            if player == 1 {
                waited += self.receive(0, round, strategy);
            }
            self.ball.set(self.ball.get() + 1);
            self.strokes[player].advance();
            if player == 0 {
                waited += self.receive(1, round, strategy);
            }
        }
        waited
    }

    fn receive(&self, from: usize, round: u32, strategy: Strategy) -> Waited {
        let (value, waited) = self.strokes[from].wait_past(round, &wait(strategy));
        assert_eq!(value, round + 1);
        waited
    }
}

fn rally(strategy: Strategy) -> Waited {
    let rally = std::sync::Arc::new(Rally::new());
    let players = std::sync::Arc::clone(&rally);
    let waited = together(2, move |player| players.play(player, strategy));
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

/// One teller, several sleepers that answer each call: nobody is forgotten.
#[test]
fn every_sleeper_hears_every_call() {
    const SLEEPERS: usize = 3;
    without_hanging(|| {
        let call = Signal::new();
        let answers: [Signal; SLEEPERS] = std::array::from_fn(|_| Signal::new());
        let futex = wait(Strategy::Futex);
        together(SLEEPERS + 1, move |index| {
            for round in 0..ROUNDS / 8 {
                if index < SLEEPERS {
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
