//! Edges E4 and E5 with real threads: the leader touches plain rows between two blocks, workers
//! touch them inside, and nothing but the turnstile is between them.
#![cfg(not(loom))]

mod common;

use common::{Plain, together};
use hocket_rt::Turnstile;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

const BLOCKS: u64 = 1_000;
const WORKERS: usize = 3;

struct Engine {
    turnstile: Turnstile,
    input: Plain,
    outputs: [Plain; WORKERS],
    /// Relaxed on purpose: must not order what the turnstile is to order.
    done: AtomicBool,
    entered: AtomicU64,
}

impl Engine {
    fn new() -> Engine {
        Engine {
            turnstile: Turnstile::new(),
            input: Plain::new(0),
            outputs: std::array::from_fn(|_| Plain::new(0)),
            done: AtomicBool::new(false),
            entered: AtomicU64::new(0),
        }
    }

    fn work(&self, worker: usize) {
        while !self.done.load(Relaxed) {
            if let Some(_inside) = self.turnstile.enter() {
                self.outputs[worker].set(3 * self.input.get());
                self.entered.fetch_add(1, Relaxed);
            } else {
                std::thread::yield_now();
            }
        }
    }

    fn lead(&self) {
        for block in 1..=BLOCKS {
            self.input.set(block);
            self.turnstile.open();
            if block % 4 != 0 {
                std::thread::yield_now();
            }
            self.turnstile.close_and_wait();
            for output in &self.outputs {
                assert!(output.get() % 3 == 0 && output.get() <= 3 * block);
            }
        }
        self.done.store(true, Relaxed);
    }
}

#[test]
fn leader_and_workers_take_turns_at_plain_rows() {
    let engine = Arc::new(Engine::new());
    let running = Arc::clone(&engine);
    together(WORKERS + 1, move |index| match index {
        WORKERS => running.lead(),
        worker => running.work(worker),
    });
    if engine.entered.load(Relaxed) == 0 {
        println!(
            "SKIPPED the entries of leader_and_workers_take_turns_at_plain_rows: nobody came in time"
        );
    }
}
