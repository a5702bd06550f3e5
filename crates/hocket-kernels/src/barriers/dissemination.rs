//! Everybody tells somebody, several times.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use hocket_rt::{Padded, Signal, Wait, Waited};

use super::Meeting;

/// The dissemination barrier (Hensgen, Finkel, Manber 1988): in round k thread i tells thread i + 2^k and waits for
/// thread i - 2^k. After as many rounds as the number of threads has bits everybody has heard of everybody.
///
/// No thread waits for one that is last: all leave at about the same time, for n log n messages in place of 2 n.
#[derive(Debug)]
pub struct Dissemination {
    /// What each thread is told in each round.
    told: Vec<Vec<Signal>>,
    /// How often each thread has been here; written and read by that thread alone.
    met: Vec<Padded<AtomicU32>>,
}

impl Dissemination {
    /// For `parties` threads; at least one.
    pub fn new(parties: usize) -> Dissemination {
        let parties = parties.max(1);
        let rounds = parties.next_power_of_two().ilog2();
        let signals = || (0..rounds).map(|_| Signal::new()).collect();
        Dissemination {
            told: (0..parties).map(|_| signals()).collect(),
            met: (0..parties).map(|_| Padded(AtomicU32::new(0))).collect(),
        }
    }
}

impl Meeting for Dissemination {
    fn meet(&self, number: usize, wait: &Wait) -> Waited {
        let parties = self.parties();
        assert!(number < parties, "there is no thread {number} at this barrier");
        // Relaxed: this thread's own.
        let met = self.met[number].load(Relaxed);
        self.met[number].store(met.wrapping_add(1), Relaxed);
        let mut waited = Waited::default();
        for (round, signal) in self.told[number].iter().enumerate() {
            self.told[(number + (1 << round)) % parties][round].advance();
            // Each meeting advances a signal once, so `met` is what it showed when this one began. Whoever tells us
            // may be a meeting ahead, as it does not wait for us to have looked, but not two: it cannot end the
            // next one without us. Then the signal has left `met` as well.
            waited += signal.wait_past(met, wait).1;
        }
        waited
    }

    fn parties(&self) -> usize {
        self.told.len()
    }
}
