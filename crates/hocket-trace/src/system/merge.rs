//! Events of many CPUs in one order of time.

use super::KernelEvent;

/// Puts events in order. A batch has the events of several CPUs, and one CPU's may be later than another's of the next
/// batch. So each batch says until when everything has been collected, and later events are held until the next one.
///
/// Holds the events of one batch, and those of the batch before that came after its limit.
#[derive(Debug, Default)]
pub struct Merge {
    held: Vec<KernelEvent>,
}

impl Merge {
    /// Takes a batch in, and passes on every event before `complete_ns` that is held, in order of time. Events of one time
    /// stay in the order in which they came.
    ///
    /// Cost: n log n in the events that are held, and less if they are nearly in order.
    pub fn add(
        &mut self,
        batch: impl IntoIterator<Item = KernelEvent>,
        complete_ns: i64,
        mut each: impl FnMut(&KernelEvent),
    ) {
        self.held.extend(batch);
        self.held.sort_by_key(|event| event.at_ns);
        let complete = self.held.partition_point(|event| event.at_ns < complete_ns);
        self.held[..complete].iter().for_each(&mut each);
        self.held.drain(..complete);
    }

    /// The memory it holds.
    pub fn held_bytes(&self) -> usize {
        self.held.capacity() * size_of::<KernelEvent>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::Happened;

    fn ended(cpu: u32, at_ns: i64) -> KernelEvent {
        KernelEvent { at_ns, cpu, what: Happened::Ended { tid: 1 } }
    }

    #[test]
    fn what_comes_late_is_still_in_order() {
        let mut merge = Merge::default();
        let mut times = Vec::new();
        let mut each = |event: &KernelEvent| times.push((event.at_ns, event.cpu));
        // The first CPU was read at 100, the second a while later.
        merge.add([ended(0, 10), ended(0, 90), ended(1, 20), ended(1, 130)], 100, &mut each);
        merge.add([ended(0, 110), ended(0, 150), ended(1, 110)], 200, &mut each);
        assert_eq!(times, [(10, 0), (20, 1), (90, 0), (110, 0), (110, 1), (130, 1), (150, 0)]);
    }
}
