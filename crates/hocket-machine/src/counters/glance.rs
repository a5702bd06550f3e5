//! What a group shows at one moment: read inside a block, so nothing here allocates.

/// The most events of a group.
pub const MOST_EVENTS: usize = 8;

/// Eight bytes each: number of counts, time enabled, time running.
const HEAD: usize = 3;

/// The kernel's words for the largest group.
pub(super) const WORDS: usize = HEAD + MOST_EVENTS;

/// Counts of a group up to one moment, or between two, in the order of its events. Places behind the last event are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Glance {
    /// The counts.
    pub counts: [u64; MOST_EVENTS],
    enabled_ns: u64,
    running_ns: u64,
}

impl Glance {
    /// Reads the kernel's words, as [`Reading::parse`](super::Reading::parse) does; `None` where that refuses, or for a group
    /// larger than [`MOST_EVENTS`].
    pub fn parse(bytes: &[u8], events: usize) -> Option<Glance> {
        let (words, rest) = bytes.as_chunks::<8>();
        let word = |at: usize| u64::from_ne_bytes(words[at]);
        let fits = rest.is_empty() && events <= MOST_EVENTS && words.len() == HEAD + events;
        if !fits || word(0) != events as u64 {
            return None;
        }
        let mut counts = [0; MOST_EVENTS];
        (0..events).for_each(|event| counts[event] = word(HEAD + event));
        Some(Glance { counts, enabled_ns: word(1), running_ns: word(2) })
    }

    /// What was counted after `before`. `None`: for a part of that time others had the counters. Both times move by the same
    /// clock, so they differ by nothing else.
    pub fn since(&self, before: &Glance) -> Option<Glance> {
        let enabled_ns = self.enabled_ns.wrapping_sub(before.enabled_ns);
        let running_ns = self.running_ns.wrapping_sub(before.running_ns);
        let pairs = self.counts.iter().zip(&before.counts);
        let mut counts = [0; MOST_EVENTS];
        for (count, (after, before)) in counts.iter_mut().zip(pairs) {
            *count = after.wrapping_sub(*before);
        }
        (enabled_ns == running_ns).then_some(Glance { counts, enabled_ns, running_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::{Core, EventSet};

    fn glance(words: &[u64]) -> Option<Glance> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        Glance::parse(&bytes, words.len().saturating_sub(HEAD))
    }

    #[test]
    fn the_difference_of_two_glances_is_what_lies_between() {
        let before = glance(&[2, 100, 90, 5, 7]).unwrap();
        let after = glance(&[2, 150, 140, 25, 7]).unwrap();
        let between = after.since(&before).unwrap();
        assert_eq!(between.counts, [20, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn a_difference_over_a_time_that_was_counted_in_part_is_refused() {
        let before = glance(&[1, 100, 100, 5]).unwrap();
        assert_eq!(glance(&[1, 150, 149, 25]).unwrap().since(&before), None);
        assert!(glance(&[1, 150, 150, 25]).unwrap().since(&before).is_some());
    }

    #[test]
    fn what_the_kernel_does_not_write_is_no_glance() {
        assert_eq!(Glance::parse(&[], 1), None);
        assert_eq!(glance(&[2, 1, 1, 5]), None);
        let good: Vec<u8> = [1_u64, 9, 9, 5].iter().flat_map(|word| word.to_ne_bytes()).collect();
        assert!(Glance::parse(&good, 1).is_some() && Glance::parse(&good, 2).is_none());
        assert!(Glance::parse(&good[..31], 1).is_none());
        let mut large = vec![MOST_EVENTS as u64 + 1, 9, 9];
        large.extend([0; MOST_EVENTS + 1]);
        assert_eq!(glance(&large), None);
    }

    #[test]
    fn every_group_of_the_tables_has_room() {
        let all = Core::ALL.into_iter().chain(Core::of_name("generic")).chain([Core::SOFTWARE]);
        for group in all.flat_map(|core| core.groups) {
            assert!(group.events.len() <= MOST_EVENTS, "{}", group.name);
        }
    }

    /// The kernel counts these everywhere, unless it is forbidden.
    #[test]
    fn the_kernel_counts_what_the_thread_does() {
        let set = match EventSet::software() {
            Ok(set) => set,
            Err(why) => {
                println!("SKIPPED the_kernel_counts_what_the_thread_does: {why}");
                return;
            }
        };
        let open = set.open(crate::pin::current_thread()).unwrap();
        open.start().unwrap();
        let before = open.glance().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(1));
        let between = open.glance().unwrap().since(&before).unwrap();
        let count = |name: &str| {
            let at = set.events.iter().position(|event| event.name == name).unwrap();
            between.counts[at]
        };
        assert!(count("context-switches") >= 1, "a sleep is a switch: {between:?}");
        assert!(count("task-clock") > 0, "{between:?}");
    }
}
