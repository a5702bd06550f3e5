//! A shared loop with real threads: passes touch plain rows, and nothing but the loop orders them.
#![cfg(not(loom))]

mod common;

use common::{Plain, together, without_hanging};
use hocket_rt::SharedLoop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

const LOOPS: u64 = 1_000;
const PASSES: usize = 7;

struct Shared {
    place: SharedLoop,
    input: Plain,
    outputs: [Plain; PASSES],
    /// Relaxed on purpose: must not order what the loop is to order.
    done: AtomicBool,
    joined: AtomicU64,
}

impl Shared {
    fn new() -> Shared {
        Shared {
            place: SharedLoop::new(),
            input: Plain::new(0),
            outputs: std::array::from_fn(|_| Plain::new(0)),
            done: AtomicBool::new(false),
            joined: AtomicU64::new(0),
        }
    }

    fn join_until_done(&self) {
        while !self.done.load(Relaxed) {
            if self.place.join(|leave| _ = leave()) {
                self.joined.fetch_add(1, Relaxed);
            } else {
                std::thread::yield_now();
            }
        }
    }

    fn run(&self, number: u64, body: impl Fn(u32) + Sync) {
        self.input.set(number);
        let pass = |pass: u32| {
            let output = &self.outputs[pass as usize];
            output.set(output.get() + self.input.get());
            body(pass);
        };
        self.place.run(PASSES as u32, &pass, || false, |close| _ = close());
    }
}

#[test]
fn passes_touch_plain_rows_on_every_thread() {
    without_hanging(|| {
        let shared = Arc::new(Shared::new());
        let all = Arc::clone(&shared);
        together(3, move |thread| {
            if thread > 0 {
                return shared.join_until_done();
            }
            // Goes on until another thread has really taken part.
            let mut loops = 0;
            while loops < LOOPS || shared.joined.load(Relaxed) == 0 {
                loops += 1;
                shared.run(loops, |_| std::thread::yield_now());
                let expected = loops * (loops + 1) / 2;
                assert!(shared.outputs.iter().all(|output| output.get() == expected));
            }
            shared.done.store(true, Relaxed);
        });
        assert!(all.joined.load(Relaxed) > 0);
    });
}

#[test]
fn two_threads_open_loops_again_and_again() {
    without_hanging(|| {
        let place = Arc::new(SharedLoop::new());
        together(2, move |_| {
            for number in 1..=LOOPS {
                let rows: [Plain; PASSES] = std::array::from_fn(|_| Plain::new(0));
                let pass = |pass: u32| rows[pass as usize].set(number);
                place.run(PASSES as u32, &pass, || false, |close| _ = close());
                assert!(rows.iter().all(|row| row.get() == number));
                place.join(|leave| _ = leave());
            }
        });
    });
}

/// On whichever thread: the loop ends, the panic arrives where it was opened, and the next loop is as new.
#[test]
fn a_panic_in_a_pass_arrives_where_the_loop_was_opened() {
    without_hanging(|| {
        let shared = Arc::new(Shared::new());
        together(2, move |thread| {
            if thread > 0 {
                return shared.join_until_done();
            }
            let here = std::thread::current().id();
            let mut failed = [false; 2];
            while failed != [true; 2] {
                let fails = |fail_here: bool| {
                    let ran = catch_unwind(AssertUnwindSafe(|| {
                        shared.run(1, |_| {
                            std::thread::yield_now();
                            if (std::thread::current().id() == here) == fail_here {
                                std::panic::resume_unwind(Box::new("a pass that fails"));
                            }
                        });
                    }));
                    ran.is_err()
                };
                failed[0] |= fails(true);
                failed[1] |= fails(false);
                // As new: no panic is left from the loops before.
                shared.run(1, |_| ());
            }
            shared.done.store(true, Relaxed);
        });
    });
}

#[test]
fn nothing_to_join_and_nothing_to_run() {
    let place = SharedLoop::default();
    assert!(!place.is_open() && !place.join(|leave| _ = leave()));
    place.run(0, &|_| panic!("no pass"), || false, |close| _ = close());
    let (seen, inner) = (AtomicU64::new(0), AtomicU64::new(0));
    place.run(
        2,
        &|pass| {
            seen.fetch_add(u64::from(pass) + 1, Relaxed);
            // The place is taken: the inner loop runs here.
            place.run(3, &|_| _ = inner.fetch_add(1, Relaxed), || false, |close| _ = close());
        },
        || false,
        |close| _ = close(),
    );
    assert_eq!((seen.into_inner(), inner.into_inner()), (3, 6));
    assert!(!place.is_open());
}
