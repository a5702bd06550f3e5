//! What a chain sums before its nodes run, row by row and in the order of its edges.

use std::ops::Range;
use std::sync::Arc;

use hocket_plan::compile::{LineId, PortId, Source, UnitInput};
use hocket_plan::{UnitGraph, UnitId};

use super::delay::{DelayCell, Set};

/// Where an input comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bus {
    /// The own bus of a unit.
    Unit(u32),
    /// The bus of a part of the same sum, of which perhaps nothing is heard.
    Part(u32),
    /// A chain folded into the same unit.
    Folded(u32),
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
    pub inputs: Box<[Input]>,
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
        if let Some(set) = self.set.take() {
            // SAFETY: the caller's obligation.
            unsafe { self.cell.set(set) };
        }
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
pub(super) fn sums(inputs: &[UnitInput], rows: u16, silent: &[bool]) -> Box<[Sum]> {
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
        let inputs: Box<[Input]> = inputs.collect();
        let may_lack = inputs.iter().any(|input| matches!(input.bus, Bus::Line(_) | Bus::Part(_)));
        Sum { rows: rows.clone(), inputs, may_lack }
    };
    cuts.windows(2).map(sum).collect()
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
    inputs: &[UnitInput],
    cells: &[Arc<DelayCell>],
    sets: &[Option<Set>],
) -> Box<[Waiting]> {
    let wait = |input: &UnitInput| {
        let LineId(line) = input.line?;
        let cell = Arc::clone(&cells[line as usize]);
        let set = sets.get(line as usize).copied().flatten();
        Some(Waiting { bus: Bus::of(input.from, &[]), row: input.span.from, cell, set })
    };
    inputs.iter().filter_map(wait).collect()
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
        let sums = sums(inputs, rows, &PARTS);
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
        assert!(sums(&inputs, 2, &PARTS)[0].may_lack);
        assert!(!sums(&inputs, 2, &[])[0].may_lack);
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
