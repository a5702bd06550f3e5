//! Where the player is while the server calls, and how control threads put it there and take it out.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, TryLockError};
use std::time::{Duration, Instant};

use super::player::Player;
use super::{CLOCK_PORT, libjack, midi_clock};
use crate::BlockObserver;

/// How often a control thread tries.
const TRY_EVERY: Duration = Duration::from_micros(200);

/// Room for a player, behind a mutex that both sides only try.
pub(super) struct Slot<T> {
    content: Mutex<Option<T>>,
    /// The control thread wants the mutex. Relaxed: it publishes nothing, the mutex does.
    wanted: AtomicBool,
    /// Receivers of the MIDI clock run. Relaxed: only the server's thread uses it.
    clock_runs: AtomicBool,
    /// Whether the engine rests, as of the last cycle. Relaxed: it publishes nothing.
    engine_rests: AtomicBool,
}

/// The server's thread hangs while it has the mutex. What was to be put in is given back.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Hangs<T>(pub(super) Option<T>);

impl<T> Slot<T> {
    pub(super) fn empty() -> Slot<T> {
        let [wanted, clock_runs, engine_rests] = [const { AtomicBool::new(false) }; 3];
        Slot { content: Mutex::new(None), wanted, clock_runs, engine_rests }
    }

    /// Puts the player in or takes it out, and returns what was there.
    ///
    /// Thread: control. Waits for the callback that runs, for so long at most.
    ///
    /// # Errors
    /// [`Hangs`]. The callback plays silence from then on.
    pub(super) fn exchange(
        &self,
        content: Option<T>,
        patience: Duration,
    ) -> Result<Option<T>, Hangs<T>> {
        self.wanted.store(true, Relaxed);
        let begun = Instant::now();
        loop {
            match self.content.try_lock() {
                Ok(mut there) => return Ok(self.replace(&mut there, content)),
                Err(TryLockError::Poisoned(there)) => {
                    return Ok(self.replace(&mut there.into_inner(), content));
                }
                Err(TryLockError::WouldBlock) if begun.elapsed() >= patience => {
                    return Err(Hangs(content));
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(TRY_EVERY),
            }
        }
    }

    /// Under the mutex. The callback may come before that is unlocked, and then rests once more.
    fn replace(&self, there: &mut Option<T>, content: Option<T>) -> Option<T> {
        self.wanted.store(false, Relaxed);
        std::mem::replace(there, content)
    }

    /// Whether the engine rested in the last cycle.
    pub(super) fn engine_rests(&self) -> bool {
        self.engine_rests.load(Relaxed)
    }
}

impl<O: BlockObserver> Slot<Player<O>> {
    /// One cycle. Thread: the server's. Never waits.
    pub(super) fn cycle(&self, cycle: libjack::Cycle, ports: &mut libjack::OpenPorts<'_>) {
        if self.wanted.load(Relaxed) {
            return self.rest(ports);
        }
        match self.content.try_lock() {
            Ok(mut player) => match player.as_mut().filter(|player| !player.is_done()) {
                Some(player) => {
                    player.cycle(cycle, ports);
                    self.clock_runs.store(player.clock_runs(), Relaxed);
                    self.engine_rests.store(player.engine.rests(), Relaxed);
                }
                None => self.rest(ports),
            },
            Err(_) => self.rest(ports),
        }
    }

    /// A cycle without an engine. Those that follow its clock are to stop.
    fn rest(&self, ports: &mut libjack::OpenPorts<'_>) {
        ports.silence_from(0);
        if self.clock_runs.load(Relaxed) && ports.send(CLOCK_PORT, 0, &[midi_clock::STOP]) {
            self.clock_runs.store(false, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_hanging_thread_does_not_let_in_is_given_back() {
        let slot = Slot::empty();
        let short = Duration::from_millis(1);
        assert_eq!(slot.exchange(Some("one"), short), Ok(None));
        {
            let _hangs = slot.content.lock().unwrap();
            assert_eq!(slot.exchange(Some("two"), short), Err(Hangs(Some("two"))));
            assert_eq!(slot.exchange(None, short), Err(Hangs(None)));
            assert!(slot.wanted.load(Relaxed), "the thread plays silence when it comes back");
        }
        assert_eq!(slot.exchange(None, short), Ok(Some("one")));
        assert!(!slot.wanted.load(Relaxed));
    }

    #[test]
    fn a_thread_that_panicked_leaves_what_it_had() {
        let slot = Slot::empty();
        assert_eq!(slot.exchange(Some(7), Duration::ZERO), Ok(None));
        std::thread::scope(|scope| {
            let panics = scope.spawn(|| {
                let _held = slot.content.lock().unwrap();
                panic!("in a cycle");
            });
            assert!(panics.join().is_err());
        });
        assert_eq!(slot.exchange(None, Duration::ZERO), Ok(Some(7)));
    }
}
