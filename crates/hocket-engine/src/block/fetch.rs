//! Prefetches the memory of the next unit while the present one runs.
//!
//! Between two blocks all other programs use the caches too. So a unit's memory is far away, and the CPU
//! finds its parts one after the other: unit, node, processor. But a plan knows all these addresses. It
//! stores them, and the block prefetches them all at once, one unit ahead.
//!
//! On a graph of 265 nodes that no cache holds from block to block, this saves 5 % of the block
//! (docs/scheduling.md). It does not cover what a processor owns outside its struct, such as delay lines or a
//! bypassed effect inside its bypass.

use hocket_rt::fetch_line;

/// Bytes of a cache line. On a CPU with longer lines some lines are prefetched twice.
const LINE_BYTES: usize = 64;
/// The most lines of one stretch. The CPU itself prefetches the rest, because the unit reads it in order.
const MOST_LINES: usize = 16;
/// The most stretches of one unit. A CPU has room for ten to twenty requests, and waits if there are more. A
/// unit with many folded chains runs the first of them first.
const MOST_STRETCHES: usize = 24;

/// A sequence of lines: the address of the first line, with the number of further lines in the lower bits.
/// Those bits are zero in the address of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stretch(usize);

impl Stretch {
    /// The memory of `thing`. `None`: its size is zero.
    pub(crate) fn of<T: ?Sized>(thing: &T) -> Option<Stretch> {
        let (at, size) = (std::ptr::from_ref(thing).addr(), size_of_val(thing));
        let first = at & !(LINE_BYTES - 1);
        let lines = (at + size - first).div_ceil(LINE_BYTES).min(MOST_LINES);
        (size > 0).then(|| Stretch(first | (lines - 1)))
    }

    fn lines(self) -> impl Iterator<Item = usize> {
        let first = self.0 & !(LINE_BYTES - 1);
        (0..(self.0 & (LINE_BYTES - 1)) + 1).map(move |line| first + line * LINE_BYTES)
    }
}

/// The memory that each unit of a plan accesses.
///
/// These are only addresses, and nobody reads through them. They are valid as long as the plan, and an old one
/// does no harm.
pub(crate) struct Touched {
    /// For each unit, where its lines start in `lines`. The last entry is the end.
    starts: Box<[u32]>,
    /// The address of each line. It takes less time to read them in the block than to compute them.
    lines: Box<[usize]>,
}

impl Touched {
    /// Thread: control; allocates.
    pub(crate) fn new(units: impl Iterator<Item = Vec<Stretch>>) -> Touched {
        let (mut starts, mut lines) = (vec![0], Vec::new());
        for unit in units {
            lines.extend(unit.into_iter().take(MOST_STRETCHES).flat_map(Stretch::lines));
            starts.push(lines.len() as u32);
        }
        Touched { starts: starts.into_boxed_slice(), lines: lines.into_boxed_slice() }
    }

    /// Prefetches the memory of `unit`, if there is such a unit.
    ///
    /// Thread: worker, inside a block. Cost: one instruction per line; a unit of one node has ten to twenty
    /// lines.
    #[inline]
    pub(crate) fn fetch(&self, unit: usize) {
        let next = unit.saturating_add(1);
        let (Some(from), Some(to)) = (self.starts.get(unit), self.starts.get(next)) else { return };
        let Some(own) = self.lines.get(*from as usize..*to as usize) else { return };
        own.iter().copied().for_each(fetch_line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(align(64))]
    struct Room([u8; 64 * 40]);

    #[test]
    fn a_stretch_is_every_line_that_a_thing_lies_in() {
        let room = Room([0; 64 * 40]);
        let start = room.0.as_ptr().addr();
        let lines = |from: usize, to: usize| -> Vec<usize> {
            let stretch = Stretch::of(&room.0[from..to]);
            stretch.into_iter().flat_map(Stretch::lines).map(|at| at - start).collect()
        };
        assert_eq!(lines(0, 1), [0]);
        assert_eq!(lines(63, 65), [0, 64]);
        assert_eq!(lines(64, 192), [64, 128]);
        assert_eq!((lines(70, 70), lines(64, 64)), (vec![], vec![]), "nothing");
        assert_eq!(lines(0, 64 * 40).len(), MOST_LINES);
    }

    #[test]
    fn units_without_anything_and_no_units_are_fine() {
        let thing = 7u64;
        let units = [vec![], Stretch::of(&thing).into_iter().collect(), vec![]];
        let touched = Touched::new(units.into_iter());
        assert_eq!(&*touched.starts, [0, 0, 1, 1]);
        (0..5).chain([usize::MAX]).for_each(|unit| touched.fetch(unit));
        Touched::new(std::iter::empty()).fetch(0);
    }
}
