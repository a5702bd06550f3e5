//! What the next unit touches is asked for while this one runs.
//!
//! Between two blocks everybody else on the machine uses the caches too. A unit's memory then comes from far
//! away, and its parts are found one behind the other: unit, node, processor. All their addresses are
//! known when a plan is made, so they are written down and asked for at once, a unit ahead. On a graph of 265
//! nodes that has to be fetched anew for every block that is 5 % of the block (docs/scheduling.md). What a
//! processor owns beyond its own struct (delay lines, a bypassed effect inside its bypass) is not known here.

use hocket_rt::fetch_line;

/// Bytes of a cache line. Where lines are longer some are asked for twice.
const LINE_BYTES: usize = 64;
/// Lines of one thing that are asked for at most: the CPU itself goes on with what is read in order.
const MOST_LINES: usize = 16;
/// Stretches of one unit that are asked for at most. A CPU has room for some ten to twenty requests and waits
/// beyond that; a unit with many folded chains begins with the first of them.
const MOST_STRETCHES: usize = 24;

/// Lines one after the other: the address of the first, and how many follow it in the lower bits, which are
/// zero in every such address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stretch(usize);

impl Stretch {
    /// Where `thing` lies; `None`: it takes no room.
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

/// What each unit of a plan touches.
///
/// Addresses only, never looked behind: they hold as long as the plan does, and a stale one would do no harm.
pub(crate) struct Touched {
    /// Where each unit's lines begin; one more at the end.
    starts: Box<[u32]>,
    /// Addresses of lines, one by one: to work them out in the block takes longer than to read them.
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

    /// Asks for what `unit` touches; for nothing where there is no such unit.
    ///
    /// Thread: worker, inside a block. Cost: an instruction a line, some ten to twenty lines for a unit of one node.
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
