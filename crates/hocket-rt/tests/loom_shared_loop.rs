//! Edge E12 and the protocol Shared loop: each pass runs once, and the thread that opened the loop sees them all.
#![cfg(loom)]

mod common;

use common::{Plain, model};
use hocket_rt::SharedLoop;
use loom::sync::Arc;
use loom::thread;

const PASSES: usize = 2;

struct Shared {
    place: SharedLoop,
    /// Written before the loop, read by its passes.
    input: Plain,
    /// Written by a pass.
    outputs: [Plain; PASSES],
}

impl Shared {
    fn new() -> Arc<Shared> {
        Arc::new(Shared {
            place: SharedLoop::new(),
            input: Plain::new(0),
            outputs: std::array::from_fn(|_| Plain::new(0)),
        })
    }

    /// A pass that is run twice, or that nobody sees, is a wrong number or a race.
    fn run(&self, number: u64) {
        self.input.set(number);
        let pass = |pass: u32| {
            let output = &self.outputs[pass as usize];
            output.set(output.get() + self.input.get());
        };
        self.place.run(PASSES as u32, &pass, || false, |close| _ = close());
    }

    fn outputs(&self) -> [u64; PASSES] {
        self.outputs.each_ref().map(Plain::get)
    }
}

fn joins(shared: &Arc<Shared>, times: usize) -> thread::JoinHandle<()> {
    let shared = Arc::clone(shared);
    thread::spawn(move || (0..times).for_each(|_| _ = shared.place.join(|leave| _ = leave())))
}

/// The other thread comes at any time: before, inside, between the loops, too late.
#[test]
fn every_pass_runs_once_and_is_seen() {
    model(3, || {
        let shared = Shared::new();
        let other = joins(&shared, 2);
        shared.run(1);
        assert_eq!(shared.outputs(), [1, 1]);
        shared.run(10);
        assert_eq!(shared.outputs(), [11, 11]);
        other.join().unwrap();
    });
}

/// Both have a loop at the same place. One of them may find it taken.
#[test]
fn two_threads_open_loops_in_one_place() {
    model(3, || {
        let place = Arc::new(SharedLoop::new());
        let run = |place: &SharedLoop| {
            let outputs: [Plain; PASSES] = std::array::from_fn(|_| Plain::new(0));
            let pass = |pass: u32| outputs[pass as usize].set(outputs[pass as usize].get() + 1);
            place.run(PASSES as u32, &pass, || false, |close| _ = close());
            assert_eq!(outputs.each_ref().map(Plain::get), [1; PASSES]);
        };
        let other = {
            let place = Arc::clone(&place);
            thread::spawn(move || run(&place))
        };
        run(&place);
        other.join().unwrap();
    });
}

#[test]
fn a_loop_with_two_that_join() {
    model(2, || {
        let shared = Shared::new();
        let others = [joins(&shared, 1), joins(&shared, 1)];
        shared.run(1);
        assert_eq!(shared.outputs(), [1, 1]);
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}
