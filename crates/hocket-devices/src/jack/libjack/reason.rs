//! A short text that is set once, without allocation or lock: where it is set, only what a signal handler may do is
//! allowed.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize};

/// A longer text is cut off.
const LONGEST: usize = 256;

/// Nothing, or a text.
#[derive(Debug)]
pub(super) struct Reason {
    /// Somebody sets it.
    taken: AtomicBool,
    /// How long it is, and 1; 0: there is none.
    told: AtomicUsize,
    bytes: [AtomicU8; LONGEST],
}

impl Default for Reason {
    fn default() -> Reason {
        let bytes = [const { AtomicU8::new(0) }; LONGEST];
        Reason { taken: AtomicBool::new(false), told: AtomicUsize::new(0), bytes }
    }
}

impl Reason {
    /// Only the first text counts.
    pub(super) fn set(&self, text: &[u8]) {
        // Relaxed: it only decides who writes.
        if self.taken.swap(true, Relaxed) {
            return;
        }
        // Relaxed: D1 publishes them.
        self.bytes.iter().zip(text).for_each(|(to, byte)| to.store(*byte, Relaxed));
        self.told.store(text.len().min(LONGEST) + 1, Release); // D1 (store)
    }

    /// The text, if there is one. Allocates.
    pub(super) fn text(&self) -> Option<String> {
        let length = self.told.load(Acquire).checked_sub(1)?; // D1 (load)
        // Relaxed: D1 publishes them.
        let bytes: Vec<u8> = self.bytes[..length].iter().map(|byte| byte.load(Relaxed)).collect();
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_text_stays_and_a_long_one_is_cut_off() {
        let reason = Reason::default();
        assert_eq!(reason.text(), None);
        reason.set(b"");
        reason.set(b"later");
        assert_eq!(reason.text().as_deref(), Some(""));
        let reason = Reason::default();
        reason.set("o".repeat(LONGEST - 1).as_bytes());
        assert_eq!(reason.text(), Some("o".repeat(LONGEST - 1)));
        let reason = Reason::default();
        reason.set(&[b'x'; 2 * LONGEST]);
        assert_eq!(reason.text(), Some("x".repeat(LONGEST)));
    }

    #[test]
    fn who_sees_the_text_sees_all_of_it() {
        let reason = Reason::default();
        std::thread::scope(|scope| {
            scope.spawn(|| reason.set(b"the server has ended"));
            let text = loop {
                match reason.text() {
                    Some(text) => break text,
                    None => std::thread::yield_now(),
                }
            };
            assert_eq!(text, "the server has ended");
        });
    }
}
