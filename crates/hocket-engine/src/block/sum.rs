//! What a chain sums before its nodes run, row by row and in the order of its edges.

use std::ops::Range;
use std::sync::Arc;

use hocket_plan::UnitId;
use hocket_plan::compile::{LineId, PortId, Source, UnitInput};

use super::delay::DelayCell;

/// Where an input comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bus {
    /// The own bus of a unit.
    Unit(u32),
    /// A chain folded into the same unit.
    Folded(u32),
    /// What came from outside before the block.
    Port(u32),
    /// One of this chain's delay lines.
    Line(u32),
}

impl Bus {
    pub(super) fn of(source: Source) -> Bus {
        match source {
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
    /// Whether some of them come out of lines.
    pub has_lines: bool,
}

/// An input that waits before it is summed.
pub(super) struct Waiting {
    pub bus: Bus,
    /// The first row of the bus.
    pub row: u16,
    pub cell: Arc<DelayCell>,
}

/// The sums of a bus with so many rows: neighbouring rows in one sum where they have the same inputs.
///
/// Thread: control; allocates.
pub(super) fn sums(inputs: &[UnitInput], rows: u16) -> Box<[Sum]> {
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
            let into = rows.start - to.min(rows.start);
            // What comes out of a line begins with the first row of its span, and has its gain.
            let (bus, row, gain_lin) = match line {
                Some(line) => (Bus::Line(*line), into, 1.0),
                None => (Bus::of(input.from), input.span.from + into, input.gain_lin),
            };
            covers.then_some(Input { bus, gain_lin, row })
        });
        let inputs: Box<[Input]> = inputs.collect();
        let has_lines = inputs.iter().any(|input| matches!(input.bus, Bus::Line(_)));
        Sum { rows: rows.clone(), inputs, has_lines }
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

/// The inputs that wait. `cells`: by line.
///
/// Thread: control; allocates.
pub(super) fn waiting(inputs: &[UnitInput], cells: &[Arc<DelayCell>]) -> Box<[Waiting]> {
    let wait = |input: &UnitInput| {
        let LineId(line) = input.line?;
        let cell = Arc::clone(&cells[line as usize]);
        Some(Waiting { bus: Bus::of(input.from), row: input.span.from, cell })
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

    /// Rows, and the buses that they sum with their first rows.
    type Told = (Range<u16>, Vec<(Bus, u16)>);

    fn told(inputs: &[UnitInput], rows: u16) -> Vec<Told> {
        let sums = sums(inputs, rows);
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
