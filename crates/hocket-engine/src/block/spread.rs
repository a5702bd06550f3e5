//! Work that a processor spreads: a loop whose passes workers take that wait for a unit.

use std::cell::{Cell, OnceCell};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use hocket_dsp::Helpers;
use hocket_machine::clock::ticks;
use hocket_machine::pin::{self, ThreadMark};
use hocket_rt::SharedLoop;

use crate::watch::edge;

/// One loop at a time, of whichever processor comes first. The others run theirs alone.
///
/// Workers that spin come at once. Nobody wakes those that sleep: that would take longer than most loops.
#[derive(Debug, Default)]
pub(crate) struct SpreadWork {
    place: SharedLoop,
    /// As in the runner: whether every thread holds a real-time class.
    real_time: Arc<AtomicBool>,
    /// How long the processor's thread spins for those that help, in ticks: with a real-time class, and otherwise. As
    /// for all waits inside a block, no healthy one ends in a sleep.
    spins: [u64; 2],
    /// One for each desk.
    sleepers: Box<[Sleeper]>,
}

/// A desk's thread, and how often it slept at the end of its loops.
///
/// A processor knows no desk. So a thread that slept looks for its own mark; others pay nothing for the count.
#[derive(Debug, Default)]
struct Sleeper {
    /// Its thread writes it, and only that thread finds itself here. Empty for the leader, which may be any thread.
    thread: OnceLock<ThreadMark>,
    slept: AtomicU64,
}

/// What a thread did for the loop of another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Help {
    /// It ran a pass.
    pub worked: bool,
    /// It left last, and woke the thread whose loop it is.
    pub woke: bool,
}

impl SpreadWork {
    /// Thread: control; allocates.
    pub(super) fn new(
        real_time: &Arc<AtomicBool>,
        (longest, ordinary): (u64, u64),
        desks: usize,
    ) -> SpreadWork {
        SpreadWork {
            place: SharedLoop::new(),
            real_time: Arc::clone(real_time),
            spins: [longest, ordinary],
            sleepers: (0..desks).map(|_| Sleeper::default()).collect(),
        }
    }

    /// The calling thread is that of a desk.
    ///
    /// Thread: worker, before its first block.
    pub(super) fn sits_at(&self, desk: usize) {
        // Nobody else writes it, so it is empty.
        let _ = self.sleepers[desk].thread.set(pin::thread_mark());
    }

    /// How often a desk's thread slept at the end of its loops.
    pub(crate) fn slept(&self, desk: usize) -> u64 {
        // Relaxed: a count that publishes nothing.
        self.sleepers[desk].slept.load(Relaxed)
    }

    #[cold]
    fn note_sleeps(&self, sleeps: u32) {
        let own = pin::thread_mark();
        let is_own = |sleeper: &&Sleeper| sleeper.thread.get() == Some(&own);
        // A thread without a desk is the leader.
        if let Some(sleeper) = self.sleepers.iter().find(is_own).or(self.sleepers.first()) {
            // Relaxed: as in `slept`.
            sleeper.slept.fetch_add(u64::from(sleeps), Relaxed);
        }
    }

    /// Whether a worker that waits should help. A hint.
    #[inline]
    pub(super) fn is_offered(&self) -> bool {
        self.place.is_open()
    }

    /// Takes passes until none is left.
    ///
    /// Thread: worker, inside a block, outside units.
    #[cold]
    pub(super) fn help(&self) -> Help {
        let woke = Cell::new(false);
        // block-path: it joins a loop, not a thread.
        let worked = self.place.join(|leave| woke.set(edge(leave)));
        Help { worked, woke: woke.get() }
    }

    fn spin_until(&self) -> u64 {
        // Relaxed: either limit is right at any time.
        let real_time = self.real_time.load(Relaxed);
        ticks() + self.spins[usize::from(!real_time)]
    }
}

impl Helpers for SpreadWork {
    fn share(&self, passes: u32, body: &(dyn Fn(u32) + Sync)) {
        let until = OnceCell::new();
        let awake = || ticks() < *until.get_or_init(|| self.spin_until());
        self.place.run(passes, body, awake, |close| {
            let waited = edge(close);
            if waited.blocked > 0 {
                self.note_sleeps(waited.blocked);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;
    use std::thread::{self, yield_now};
    use std::time::Duration;

    use super::*;
    use crate::test_engines::ends;

    /// The thread of desk 1 opens loops until it has slept. Another thread is always inside then, in a pass that takes
    /// longer than the first one spins, which is no time at all.
    #[test]
    fn a_sleep_at_the_end_of_a_loop_and_the_wake_up_that_ends_it_are_counted() {
        let (slept, wakes) = ends(|| {
            let (spread, over) =
                (SpreadWork::new(&Arc::default(), (0, 0), 3), AtomicBool::new(false));
            let (came, loops, wakes) = (AtomicU32::new(0), AtomicU32::new(0), AtomicU64::new(0));
            let open = || {
                spread.sits_at(1);
                let here = thread::current().id();
                while spread.slept(1) == 0 {
                    let number = loops.fetch_add(1, Relaxed) + 1;
                    spread.share(2, &|_| {
                        if thread::current().id() == here {
                            (0..)
                                .take_while(|_| came.load(Relaxed) < number)
                                .for_each(|_| yield_now());
                        } else {
                            came.store(number, Relaxed);
                            thread::sleep(Duration::from_millis(2));
                        }
                    });
                }
                over.store(true, Relaxed);
            };
            let help = || {
                while !over.load(Relaxed) {
                    wakes.fetch_add(u64::from(spread.help().woke), Relaxed);
                    yield_now();
                }
            };
            thread::scope(|threads| {
                threads.spawn(open);
                threads.spawn(help);
            });
            ([0, 1, 2].map(|desk| spread.slept(desk)), wakes.into_inner())
        });
        assert!(slept[1] > 0 && wakes > 0, "{slept:?}, {wakes} wake-ups");
        assert_eq!((slept[0], slept[2]), (0, 0));
    }

    #[test]
    fn a_thread_without_a_desk_is_the_leader() {
        let spread = SpreadWork::new(&Arc::default(), (0, 0), 2);
        spread.note_sleeps(3);
        spread.sits_at(1);
        spread.note_sleeps(2);
        assert_eq!([0, 1].map(|desk| spread.slept(desk)), [3, 2]);
    }
}
