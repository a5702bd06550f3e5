//! Places for transport commands that wait for their frame.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use hocket_time::MAX_PENDING;

/// Counts the commands that wait for their frame, in the transport or on their way to it.
///
/// A transport has room for [`MAX_PENDING`]. The thread that sends a command for a frame takes a place first. So the leader
/// never finds the transport full, and no order waits for room in it. The leader gives the place back when it has carried the
/// command out.
///
/// Relaxed everywhere: the count publishes nothing. It is one word, so no two threads take the last place.
#[derive(Debug, Clone, Default)]
pub(crate) struct CommandPlaces(Arc<AtomicU32>);

impl CommandPlaces {
    /// Takes a place. `false`: there is none.
    ///
    /// Thread: any. Cost: an atomic exchange.
    pub(crate) fn take(&self) -> bool {
        let one_more = |taken| (taken < MAX_PENDING as u32).then_some(taken + 1);
        self.0.fetch_update(Relaxed, Relaxed, one_more).is_ok()
    }

    /// Gives places back that were taken.
    ///
    /// Thread: leader, or the one that took them. Cost: nothing for none.
    #[inline]
    pub(crate) fn give_back(&self, count: usize) {
        if count > 0 {
            self.0.fetch_sub(count as u32, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_take_as_many_places_as_there_are() {
        let places = CommandPlaces::default();
        let taken = AtomicU32::new(0);
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    let own = (0..MAX_PENDING).filter(|_| places.take()).count();
                    taken.fetch_add(own as u32, Relaxed);
                });
            }
        });
        assert_eq!(taken.into_inner(), MAX_PENDING as u32);
        places.give_back(0);
        assert!(!places.take());
        places.give_back(2);
        assert_eq!([0; 3].map(|_| places.take()), [true, true, false]);
    }
}
