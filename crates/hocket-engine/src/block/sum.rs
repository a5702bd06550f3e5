//! What a chain sums before its nodes run, row by row and in the order of its edges.

use std::ops::Range;
use std::sync::Arc;

use hocket_dsp::mix::{self, Begin, Scaled};
use hocket_plan::compile::{LineId, PortId, Source, UnitInput};
use hocket_plan::{UnitGraph, UnitId};

use super::delay::{DelayCell, Set};
use super::heard::Heard;
use super::memory::{Memory, Slice};
use super::rows::Rows;

/// Where an input comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bus {
    /// The own bus of a unit.
    Unit(u32),
    /// The bus of a part of the same sum, of which perhaps nothing is heard.
    Part(u32),
    /// A chain folded into the same unit.
    Folded(u32),
    /// The bus of a folded chain of another unit, which is coupled with its own.
    Coupled(u32, u16),
    /// What came from outside before the block.
    Port(u32),
    /// One of this chain's delay lines.
    Line(u32),
}

impl Bus {
    /// `silent`: by unit, whether it is a part of which perhaps nothing is heard.
    pub(super) fn of(source: Source, silent: &[bool]) -> Bus {
        match source {
            Source::Unit(id) if silent.get(id.index()) == Some(&true) => Bus::Part(id.0),
            Source::Unit(UnitId(unit)) => Bus::Unit(unit),
            Source::Folded(chain) => Bus::Folded(chain),
            Source::Coupled(UnitId(unit), chain) => Bus::Coupled(unit, chain as u16),
            Source::Port(PortId(port)) => Bus::Port(port),
        }
    }
}

/// A term of a sum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Input {
    pub bus: Bus,
    pub gain_lin: f32,
    /// The first row of the bus.
    pub row: u16,
}

/// Rows that sum the same buses.
#[derive(Debug, PartialEq)]
pub(super) struct Sum {
    pub rows: Range<u16>,
    /// In summing order. Without any the rows begin as silence.
    pub inputs: Slice<Input>,
    /// Whether some of them may be silent, and are left out then.
    pub may_lack: bool,
}

/// An input that waits before it is summed.
pub(super) struct Waiting {
    pub bus: Bus,
    /// The first row of the bus.
    pub row: u16,
    pub cell: Arc<DelayCell>,
    /// What the line does from the plan's first block on, until that is over.
    set: Option<Set>,
}

impl Waiting {
    /// Does what the line has to do when the plan begins, once.
    ///
    /// # Safety
    /// As [`DelayCell::get_mut`].
    #[inline]
    pub(super) unsafe fn set(&mut self) {
        if self.set.is_some()
            && let Some(set) = self.set.take()
        {
            // SAFETY: the caller's obligation.
            unsafe { self.cell.set(set) };
        }
    }
}

/// A few terms of a sum, which one pass over its rows takes.
pub(super) struct Terms<'a> {
    /// What is heard, and the first row of it.
    terms: [Option<(Heard<'a>, usize)>; mix::AT_ONCE],
    count: usize,
}

impl<'a> Terms<'a> {
    #[inline]
    pub(super) fn new() -> Terms<'a> {
        Terms { terms: [None; _], count: 0 }
    }

    #[inline]
    pub(super) fn push(&mut self, heard: Heard<'a>, row: usize) {
        self.terms[self.count] = Some((heard, row));
        self.count += 1;
    }

    #[inline]
    pub(super) fn are_full(&self) -> bool {
        self.count == mix::AT_ONCE
    }

    /// Sums the terms into the first `frames` of these rows, if there are any, and has none then. Returns what the next
    /// terms begin with.
    #[inline]
    pub(super) fn sum_into(
        &mut self,
        to: &mut Rows,
        rows: Range<u16>,
        frames: usize,
        begin: Begin,
    ) -> Begin {
        if self.count == 0 {
            return begin;
        }
        let mut from = 0;
        // The sum of each frame is one of its own, so it may be cut where a ring wraps.
        while from < frames {
            let until = self.until(from, frames);
            for (place, row) in rows.clone().enumerate() {
                let mut scaled: [Scaled<'_>; mix::AT_ONCE] = [(&[], 0.0); _];
                for (scaled, (heard, first)) in scaled.iter_mut().zip(self.iter()) {
                    *scaled = (heard.part(first + place, from..until), heard.gain_lin);
                }
                let at = usize::from(row) * to.room();
                let out = &mut to.samples_mut()[at + from..at + until];
                mix::accumulate(out, &scaled[..self.count], begin);
            }
            from = until;
        }
        self.count = 0;
        Begin::Onward
    }

    fn iter(&self) -> impl Iterator<Item = (Heard<'a>, usize)> {
        self.terms[..self.count].iter().copied().flatten()
    }

    /// The next frame where a term wraps, or the block's end.
    #[inline]
    fn until(&self, from: usize, frames: usize) -> usize {
        let wraps = self.iter().map(|(heard, _)| heard.until_wrap(frames));
        wraps.filter(|wrap| *wrap > from).min().unwrap_or(frames)
    }
}

/// By unit: whether it is a part of a sum of which perhaps nothing is heard. A sum leaves out what is silent, and a part
/// must not add a zero in its place.
///
/// Thread: control; allocates.
pub(super) fn silent_parts(units: &UnitGraph) -> Vec<bool> {
    let mut silent = vec![false; units.units().len()];
    // Units come after those that they read.
    for (at, unit) in units.units().iter().enumerate() {
        let may_be = |input: &UnitInput| match input.from {
            Source::Unit(from) if silent[from.index()] => true,
            _ => input.line.is_some() || input.gain_lin == 0.0,
        };
        silent[at] = unit.is_part() && unit.inputs.iter().all(may_be);
    }
    silent
}

/// The sums of a bus with so many rows: neighbouring rows in one sum where they have the same inputs. `silent`: see
/// [`silent_parts`].
///
/// Thread: control; allocates.
pub(super) fn sums(
    memory: &Memory,
    inputs: &[UnitInput],
    rows: u16,
    silent: &[bool],
) -> Slice<Sum> {
    let ends = inputs.iter().flat_map(|input| [input.span.to, input.span.to + input.span.count]);
    let mut cuts: Vec<u16> = ends.chain([0, rows]).filter(|cut| *cut <= rows).collect();
    cuts.sort_unstable();
    cuts.dedup();
    let lines = lines(inputs);
    let sum = |pair: &[u16]| {
        let rows = pair[0]..pair[1];
        let inputs = inputs.iter().zip(&lines).filter_map(|(input, line)| {
            let to = input.span.to;
            let covers = to <= rows.start && rows.end <= to + input.span.count;
            // A line whose gain is 0 is left out too, so the bits of a sum do not depend on whether there is one.
            let is_nothing = line.is_none() && input.gain_lin == 0.0;
            let into = rows.start - to.min(rows.start);
            // What comes out of a line begins with the first row of its span, and has its gain.
            let (bus, row, gain_lin) = match line {
                Some(line) => (Bus::Line(*line), into, 1.0),
                None => (Bus::of(input.from, silent), input.span.from + into, input.gain_lin),
            };
            (covers && !is_nothing).then_some(Input { bus, gain_lin, row })
        });
        let inputs: Vec<Input> = inputs.collect();
        let may_lack = inputs.iter().any(|input| matches!(input.bus, Bus::Line(_) | Bus::Part(_)));
        Sum { rows: rows.clone(), inputs: memory.keep(inputs.into_iter()), may_lack }
    };
    memory.keep(cuts.windows(2).map(sum))
}

/// For each input, its place among those that wait.
///
/// Thread: control; allocates.
fn lines(inputs: &[UnitInput]) -> Vec<Option<u32>> {
    let mut count = 0;
    let place = |input: &UnitInput| {
        input.line.map(|_| {
            count += 1;
            count - 1
        })
    };
    inputs.iter().map(place).collect()
}

/// The inputs that wait. `cells` and `sets`: by line; lines without a set go on as they are.
///
/// Thread: control; allocates.
pub(super) fn waiting(
    memory: &Memory,
    inputs: &[UnitInput],
    cells: &[Arc<DelayCell>],
    sets: &[Option<Set>],
) -> Slice<Waiting> {
    let wait = |input: &UnitInput| {
        let LineId(line) = input.line?;
        let cell = Arc::clone(&cells[line as usize]);
        let set = sets.get(line as usize).copied().flatten();
        Some(Waiting { bus: Bus::of(input.from, &[]), row: input.span.from, cell, set })
    };
    let waiting: Vec<_> = inputs.iter().filter_map(wait).collect();
    memory.keep(waiting.into_iter())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hocket_plan::Span;

    fn input(unit: u32, from: u16, to: u16, count: u16, line: Option<u32>) -> UnitInput {
        let span = Span { from, to, count };
        let source = Source::Unit(UnitId(unit));
        UnitInput { span, line: line.map(LineId), ..UnitInput::stereo(source, 1.0) }
    }

    /// By unit: only this one is a part that may be silent.
    const PARTS: [bool; 10] = [false, false, false, false, false, false, false, false, false, true];

    /// Rows, and the buses that they sum with their first rows.
    type Told = (Range<u16>, Vec<(Bus, u16)>);

    fn told(inputs: &[UnitInput], rows: u16) -> Vec<Told> {
        let sums = sums(&Memory::own(), inputs, rows, &PARTS);
        let terms = |sum: &Sum| sum.inputs.iter().map(|input| (input.bus, input.row)).collect();
        sums.iter().map(|sum| (sum.rows.clone(), terms(sum))).collect()
    }

    #[test]
    fn stereo_inputs_make_one_sum_and_none_make_silence() {
        let stereo = [input(3, 0, 0, 2, None), input(4, 0, 0, 2, None)];
        let terms = vec![(Bus::Unit(3), 0), (Bus::Unit(4), 0)];
        assert_eq!(told(&stereo, 2), [(0..2, terms)]);
        assert_eq!(told(&[], 2), [(0..2, vec![])]);
        assert_eq!(told(&[], 0), []);
    }

    #[test]
    fn an_input_with_a_gain_of_zero_is_left_out_unless_a_line_fades_it() {
        let silent = |line| UnitInput { gain_lin: 0.0, ..input(3, 0, 0, 2, line) };
        assert_eq!(told(&[silent(None)], 2), [(0..2, vec![])]);
        assert_eq!(told(&[silent(Some(0))], 2), [(0..2, vec![(Bus::Line(0), 0)])]);
    }

    #[test]
    fn a_part_that_may_be_silent_is_named_as_one() {
        let inputs = [input(9, 0, 0, 2, None), input(0, 0, 0, 2, None)];
        assert_eq!(told(&inputs, 2), [(0..2, vec![(Bus::Part(9), 0), (Bus::Unit(0), 0)])]);
        assert!(sums(&Memory::own(), &inputs, 2, &PARTS)[0].may_lack);
        assert!(!sums(&Memory::own(), &inputs, 2, &[])[0].may_lack);
    }

    #[test]
    fn rows_are_cut_where_their_inputs_differ_and_each_keeps_its_order() {
        // A stereo source, a mono one to the second row, a side chain on rows 2 and 3 through a line.
        let inputs = [input(0, 0, 0, 2, None), input(1, 5, 1, 1, None), input(2, 1, 2, 2, Some(7))];
        assert_eq!(
            told(&inputs, 5),
            [
                (0..1, vec![(Bus::Unit(0), 0)]),
                (1..2, vec![(Bus::Unit(0), 1), (Bus::Unit(1), 5)]),
                (2..4, vec![(Bus::Line(0), 0)]),
                (4..5, vec![]),
            ]
        );
    }
}
