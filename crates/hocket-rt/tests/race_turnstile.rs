//! Edges E4 and E5 with real threads: the leader touches plain rows between two blocks, workers
//! touch them inside, and nothing but the turnstile is between them.
#![cfg(not(loom))]

mod common;

use common::{Plain, together, without_hanging};
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

/// Workers leave only when the system says that the leader's thread sleeps. A leader that never sleeps
/// would never get to the end of its first block.
#[cfg(target_os = "linux")]
#[test]
fn a_leader_that_waits_for_long_sleeps_and_is_woken() {
    const LONG_BLOCKS: u64 = 10;
    const MOMENT: std::time::Duration = std::time::Duration::from_micros(50);
    without_hanging(|| {
        let (turnstile, closing) = (Arc::new(Turnstile::new()), Arc::new(AtomicU64::new(0)));
        let (inside, closed) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let leader = std::fs::read_link("/proc/thread-self").unwrap();
        let workers: Vec<_> = (0..WORKERS)
            .map(|_| {
                let (turnstile, closing) = (Arc::clone(&turnstile), Arc::clone(&closing));
                let (inside, closed) = (Arc::clone(&inside), Arc::clone(&closed));
                let leader = leader.clone();
                std::thread::spawn(move || {
                    for block in 1..=LONG_BLOCKS {
                        let guard = loop {
                            match turnstile.enter() {
                                Some(guard) => break guard,
                                None => std::thread::sleep(MOMENT),
                            }
                        };
                        inside.fetch_add(1, Relaxed);
                        while closing.load(Relaxed) < block || !sleeps(&leader) {
                            std::thread::sleep(MOMENT);
                        }
                        drop(guard);
                        // Nobody comes into one block twice.
                        while closed.load(Relaxed) < block {
                            std::thread::sleep(MOMENT);
                        }
                    }
                })
            })
            .collect();
        for block in 1..=LONG_BLOCKS {
            turnstile.open();
            while inside.load(Relaxed) < WORKERS as u64 {
                std::thread::sleep(MOMENT);
            }
            closing.store(block, Relaxed);
            assert!(turnstile.close_and_wait().blocked > 0, "block {block}");
            inside.store(0, Relaxed);
            closed.store(block, Relaxed);
        }
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
}

/// Whether a thread sleeps in the kernel; `thread`: its link below /proc.
#[cfg(target_os = "linux")]
fn sleeps(thread: &std::path::Path) -> bool {
    let stat =
        std::fs::read_to_string(std::path::Path::new("/proc").join(thread).join("stat")).unwrap();
    // The state is the word behind the name in brackets.
    stat.rsplit(')').next().unwrap().trim_start().starts_with('S')
}
