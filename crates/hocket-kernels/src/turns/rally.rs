//! The game itself.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use hocket_rt::Padded;

use super::signalled::Signalled;
use super::sleeping::{Conditional, FutexTable};
use super::spinning::SpinTable;
use super::table::{Side, Table};
use super::way::Way;
use crate::kernel::Wrong;
use crate::thread_group::ThreadGroup;

/// When a game ends: whichever comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Hand-overs of both threads together; an odd one is A's.
    pub hand_overs: u64,
    /// Time. Where both threads share a CPU, an empty loop makes one hand-over in a time slice.
    pub time: Duration,
}

/// What a game came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandOvers {
    /// Hand-overs from A to B.
    pub from_a: u64,
    /// Hand-overs from B to A.
    pub from_b: u64,
    /// The counter that only the owner increments, at the end.
    pub counter: u64,
    /// From the beginning to the end of the last turn.
    pub elapsed: Duration,
}

impl HandOvers {
    /// Of both threads.
    pub fn total(&self) -> u64 {
        self.from_a + self.from_b
    }

    /// Whether every turn was counted once, and the two took turns indeed.
    ///
    /// # Errors
    /// [`Wrong`], if not: then both owned the counter at once, or one had two turns running.
    pub fn check(&self) -> Result<(), Wrong> {
        Wrong::unless_equal("the counter", self.counter, self.total())?;
        let ahead = self.from_a.wrapping_sub(self.from_b);
        Wrong::unless_equal("A's lead below two", ahead <= 1, true)
    }
}

/// Lets two threads take turns until `limit`. `settle` runs first in each of them, with 0 for A and 1 for
/// B: the place to pin it.
///
/// Thread: any; it waits meanwhile, and ends the game when the time is over.
///
/// # Errors
/// What the system says if it has no threads, descriptors or semaphores to give, or "unsupported" with
/// the reason of [`Way::missing`].
pub fn hand_overs(
    way: Way,
    limit: Limit,
    settle: &(dyn Fn(usize) + Sync),
) -> io::Result<HandOvers> {
    if let Some(why) = way.missing() {
        return Err(io::Error::new(io::ErrorKind::Unsupported, why));
    }
    match way {
        Way::Empty => play(&SpinTable::new(|| {}), limit, settle),
        Way::Pause => play(&SpinTable::new(std::hint::spin_loop), limit, settle),
        Way::Yield => play(&SpinTable::new(std::thread::yield_now), limit, settle),
        Way::Signal(strategy) => play(&Signalled::new(strategy), limit, settle),
        Way::Futex => play(&FutexTable::new(), limit, settle),
        Way::Condvar => play(&Conditional::new(), limit, settle),
        Way::Semaphore | Way::Eventfd | Way::Pipe => posted(way, limit, settle),
    }
}

#[cfg(unix)]
fn posted(way: Way, limit: Limit, settle: &(dyn Fn(usize) + Sync)) -> io::Result<HandOvers> {
    use super::posted::Posted;
    use crate::sys::{Channel, Semaphore};
    match way {
        Way::Semaphore => play(&Posted::new(Semaphore::new)?, limit, settle),
        Way::Eventfd => play(&Posted::new(Channel::eventfd)?, limit, settle),
        _ => play(&Posted::new(Channel::pipe)?, limit, settle),
    }
}

#[cfg(not(unix))]
fn posted(_: Way, _: Limit, _: &(dyn Fn(usize) + Sync)) -> io::Result<HandOvers> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "only POSIX systems have it"))
}

/// Generic, so that what is timed holds no choice between ways.
fn play<T: Table>(
    table: &T,
    limit: Limit,
    settle: &(dyn Fn(usize) + Sync),
) -> io::Result<HandOvers> {
    let counter = Padded(AtomicU64::new(0));
    let (ended, ends) = channel();
    let shares = [limit.hand_overs.div_ceil(2), limit.hand_overs / 2];
    let turns = |number: usize| {
        let ended = ended.clone();
        let turns = take_turns(table, Side::of(number), shares[number], &counter);
        // The timekeeper may have gone home already.
        let _ = ended.send(());
        turns
    };
    let finished =
        ThreadGroup::new(2, settle).run_beside(turns, || keep_time(table, &ends, limit.time))?;
    Ok(HandOvers {
        from_a: finished.results[0],
        from_b: finished.results[1],
        // Relaxed: both were joined.
        counter: counter.load(Relaxed),
        elapsed: finished.elapsed,
    })
}

/// One side's turns, at most `share`. Returns how many it had.
fn take_turns(table: &impl Table, side: Side, share: u64, counter: &AtomicU64) -> u64 {
    let mut turns = 0;
    while turns < share && table.await_turn(side) {
        // Relaxed, and not one step: only owning the turn keeps the increment whole.
        counter.store(counter.load(Relaxed) + 1, Relaxed);
        turns += 1;
        table.hand_over(side);
    }
    turns
}

/// Waits until both sides have ended, and stops them if that takes longer than `time`.
fn keep_time(table: &impl Table, ends: &Receiver<()>, time: Duration) {
    let begun = Instant::now();
    for _ in 0..2 {
        if ends.recv_timeout(time.saturating_sub(begun.elapsed())).is_err() {
            table.stop();
            return;
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(120);

    fn play_for(way: Way, hand_overs: u64, time: Duration) -> HandOvers {
        let played = super::hand_overs(way, Limit { hand_overs, time }, &|_| {}).unwrap();
        assert_eq!(played.check(), Ok(()), "{way}");
        played
    }

    #[test]
    fn every_way_hands_over_as_often_as_asked() {
        for way in Way::ALL {
            if let Some(why) = way.missing() {
                println!("SKIPPED every_way_hands_over_as_often_as_asked with {way}: {why}");
                continue;
            }
            // On a busy machine a hand-over may take a time slice.
            let played = play_for(way, 101, LONG);
            assert_eq!((played.from_a, played.from_b), (51, 50), "{way}");
        }
    }

    #[test]
    fn every_way_ends_when_its_time_is_over() {
        for way in Way::here() {
            let played = play_for(way, u64::MAX, Duration::from_millis(15));
            assert!(played.total() < u64::MAX, "{way}");
        }
    }

    #[test]
    fn nobody_waits_for_a_game_of_no_turns() {
        for way in Way::here() {
            assert_eq!(play_for(way, 0, LONG).total(), 0, "{way}");
            assert_eq!(play_for(way, 1, LONG).from_a, 1, "{way}");
        }
    }

    #[test]
    fn a_way_that_is_missing_says_why() {
        for way in Way::ALL.into_iter().filter(|way| way.missing().is_some()) {
            let limit = Limit { hand_overs: 1, time: LONG };
            let error = super::hand_overs(way, limit, &|_| {}).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::Unsupported);
        }
    }

    #[test]
    fn names_are_read_back() {
        for way in Way::ALL {
            assert_eq!(way.to_string().parse(), Ok(way));
        }
    }
}
