//! What the leader notes about its own thread, for a control thread that follows it.
//!
//! A leader that belongs to a sound server does not pin itself and asks for nothing. It only notes which thread it is
//! and on which CPU. `control/follow.rs` does the rest.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use hocket_machine::pin::{self, ThreadId, ThreadMark};

/// Where the leader's thread was when its last block began. All accesses are relaxed: one number says it all, and it is
/// a hint.
#[derive(Debug, Default)]
pub(crate) struct Sighting {
    /// Whether anybody reads it.
    followed: AtomicBool,
    /// Whether the follower does not find the thread: the leader is another one with the same mark.
    lost: AtomicBool,
    /// A [`Seen`], packed: 24 bits for the thread, 16 for the CPU, 24 for the blocks. 0: no block yet.
    seen: AtomicU64,
}

/// What a [`Sighting`] says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) thread: ThreadId,
    pub(crate) cpu: u32,
    /// Number of the note, modulo 2^24: another one, another block.
    pub(crate) note: u32,
}

/// Linux numbers no more than 2^22 threads.
const THREAD_BITS: u32 = 24;
const CPU_BITS: u32 = 16;
const NOTE_BITS: u32 = 24;

fn low(value: u64, bits: u32) -> u64 {
    value & ((1 << bits) - 1)
}

impl Seen {
    fn pack(self) -> u64 {
        let thread = low(self.thread.number() as u64, THREAD_BITS);
        let cpu = low(u64::from(self.cpu), CPU_BITS);
        (thread << CPU_BITS | cpu) << NOTE_BITS | low(u64::from(self.note), NOTE_BITS)
    }

    fn unpack(packed: u64) -> Seen {
        Seen {
            thread: ThreadId::from_number((packed >> (CPU_BITS + NOTE_BITS)) as i32),
            cpu: low(packed >> NOTE_BITS, CPU_BITS) as u32,
            note: low(packed, NOTE_BITS) as u32,
        }
    }
}

impl Sighting {
    /// Begins to be followed. `false`: it is already.
    ///
    /// Thread: control, as all of these.
    pub(crate) fn follow(&self) -> bool {
        // Nothing that was noted for an earlier follower counts.
        self.seen.store(0, Relaxed);
        !self.followed.swap(true, Relaxed)
    }

    pub(crate) fn leave(&self) {
        self.followed.store(false, Relaxed);
    }

    /// What the leader noted last.
    pub(crate) fn seen(&self) -> Option<Seen> {
        let packed = self.seen.load(Relaxed);
        (packed != 0).then(|| Seen::unpack(packed))
    }

    /// The thread that was seen has ended, so the leader reads its number again.
    pub(crate) fn lose(&self) {
        self.lost.store(true, Relaxed);
    }
}

/// The leader's side of a [`Sighting`].
pub(crate) struct LeaderNotes {
    sighting: Arc<Sighting>,
    own: Option<(ThreadMark, ThreadId)>,
    note: u32,
}

impl LeaderNotes {
    pub(crate) fn new(sighting: Arc<Sighting>) -> LeaderNotes {
        LeaderNotes { sighting, own: None, note: 0 }
    }

    pub(crate) fn sighting(&self) -> &Arc<Sighting> {
        &self.sighting
    }

    /// Notes the calling thread and its CPU, if anybody follows. Returns whether the leader is another thread than
    /// in the block before.
    ///
    /// Thread: leader, before a block. Cost: one load if nobody follows; else some nanoseconds, and one system call
    /// in the first block of each thread.
    pub(crate) fn note(&mut self) -> bool {
        if !self.sighting.followed.load(Relaxed) {
            return false;
        }
        let (thread, is_new) = self.own_thread();
        self.note = self.note.wrapping_add(1);
        if let Some(cpu) = pin::current_cpu() {
            let seen = Seen { thread, cpu, note: self.note };
            self.sighting.seen.store(seen.pack(), Relaxed);
        }
        is_new
    }

    fn own_thread(&mut self) -> (ThreadId, bool) {
        let mark = pin::thread_mark();
        match self.own {
            Some((known, thread)) if known == mark && !self.sighting.lost.load(Relaxed) => {
                (thread, false)
            }
            _ => {
                self.sighting.lost.store(false, Relaxed);
                let thread = pin::current_thread();
                self.own = Some((mark, thread));
                (thread, true)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_is_what_is_seen() {
        for (number, cpu, note) in [(1, 0, 0), (0x3f_ffff, 16_383, 0xff_ffff), (77, 5, 9)] {
            let seen = Seen { thread: ThreadId::from_number(number), cpu, note };
            assert_eq!(Seen::unpack(seen.pack()), seen);
        }
    }

    #[test]
    fn a_leader_notes_its_thread_only_while_somebody_follows() {
        let sighting = Arc::new(Sighting::default());
        let mut notes = LeaderNotes::new(Arc::clone(&sighting));
        assert!(!notes.note());
        assert_eq!(sighting.seen(), None);
        assert!(sighting.follow() && !sighting.follow());
        assert!(notes.note(), "the first block of this thread");
        let first = sighting.seen().unwrap();
        assert_eq!(first.thread, pin::current_thread());
        assert!(!notes.note(), "the same thread");
        assert_ne!(sighting.seen().unwrap().note, first.note);
        sighting.leave();
        assert!(!notes.note());
    }

    #[test]
    fn another_thread_is_noticed_and_so_is_a_lost_one() {
        let sighting = Arc::new(Sighting::default());
        let mut notes = LeaderNotes::new(Arc::clone(&sighting));
        sighting.follow();
        notes.note();
        std::thread::scope(|scope| {
            let other = scope.spawn(|| (notes.note(), pin::current_thread())).join().unwrap();
            assert_eq!(other, (true, sighting.seen().unwrap().thread));
        });
        assert!(notes.note(), "back on this thread");
        sighting.lose();
        assert!(notes.note(), "the number is read again");
        assert!(!notes.note(), "once");
    }
}
