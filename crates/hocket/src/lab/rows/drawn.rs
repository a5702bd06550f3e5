//! Rows as a table for people. Its columns are as wide as the first thousand rows need; a later row that needs more makes them
//! wider from there on. So a table of any length takes bounded memory, and its beginning comes at once.

use std::ops::ControlFlow;

use comfy_table::{ContentArrangement, Table};
use hocket_lab::foreign;
use hocket_lab::store::TakeRows;
use serde_json::Value;

/// Longer texts are for `--csv` and `--json`.
const LONGEST_CELL: usize = 200;
/// Rows that are drawn at once.
const AT_ONCE: usize = 1000;

/// The part of a table that is not drawn yet.
pub(super) struct Drawn<P> {
    put: P,
    /// `None`: they are drawn.
    names: Option<Vec<String>>,
    rows: Vec<Vec<String>>,
    /// Of the columns, as far as they are drawn.
    widths: Vec<u16>,
}

impl<P: FnMut(&str) -> ControlFlow<()>> Drawn<P> {
    /// Nothing is drawn yet.
    pub fn new(put: P) -> Drawn<P> {
        Drawn { put, names: None, rows: Vec::new(), widths: Vec::new() }
    }

    /// Draws the rest.
    pub fn end(mut self) {
        let is_empty = self.names.is_some() && self.rows.is_empty();
        if !self.rows.is_empty() || is_empty {
            let _ = self.draw();
        }
        if is_empty {
            let _ = (self.put)("0 rows\n");
        }
    }

    fn draw(&mut self) -> ControlFlow<()> {
        let mut table = Table::new();
        table
            .load_style(comfy_table::presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Disabled);
        // A row that is not shown makes each column as wide as it was.
        let hidden = match self.names.take() {
            Some(names) => {
                table.set_header(names);
                0
            }
            None => {
                table.add_row(self.widths.iter().map(|width| "x".repeat(usize::from(*width))));
                1
            }
        };
        table.add_rows(std::mem::take(&mut self.rows));
        self.widths = table.column_max_content_widths();
        let lines = table.lines().skip(hidden);
        let text: String = lines.map(|line| line.trim_end().to_string() + "\n").collect();
        (self.put)(&text)
    }
}

impl<P: FnMut(&str) -> ControlFlow<()>> TakeRows for Drawn<P> {
    fn columns(&mut self, names: Vec<String>) -> ControlFlow<()> {
        self.names = Some(names.iter().map(|name| cell(name)).collect());
        ControlFlow::Continue(())
    }

    fn row(&mut self, row: Vec<Value>) -> ControlFlow<()> {
        let cells = row.into_iter().map(|value| match value {
            Value::String(text) => cell(&text),
            Value::Null => "-".into(),
            other => other.to_string(),
        });
        self.rows.push(cells.collect());
        if self.rows.len() < AT_ONCE { ControlFlow::Continue(()) } else { self.draw() }
    }
}

fn cell(text: &str) -> String {
    foreign::shortened(&foreign::lines(text).replace('\n', "\\n"), LONGEST_CELL)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn drawn(rows: impl Iterator<Item = Vec<Value>>) -> (String, usize) {
        let (mut text, mut parts) = (String::new(), 0);
        let mut table = Drawn::new(|part: &str| {
            text += part;
            parts += 1;
            ControlFlow::Continue(())
        });
        assert!(table.columns(vec!["n".into(), "name".into()]).is_continue());
        rows.for_each(|row| assert!(table.row(row).is_continue()));
        table.end();
        (text, parts)
    }

    #[test]
    fn a_long_table_is_drawn_in_parts_of_one_width() {
        let row = |n: usize| vec![json!(n), if n == 0 { json!("the widest") } else { Value::Null }];
        let rows = 2 * AT_ONCE + 10;
        let (text, parts) = drawn((0..rows).map(row));
        assert_eq!((text.lines().count(), parts), (rows + 1, 3));
        // The last part has neither the names nor a row that is not one of the answer.
        assert!(
            text.lines()
                .skip(1)
                .enumerate()
                .all(|(n, line)| line.trim_start().starts_with(&format!("{n} ")))
        );
        let place = |line: &str| line.find('-').unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(place(lines[2]), place(lines[AT_ONCE]), "one part");
        // In the first part the numbers have three digits, in the last one four.
        assert!(place(lines[rows]) - place(lines[2]) <= 1, "{}\n{}", lines[2], lines[rows]);
    }

    #[test]
    fn a_table_without_rows_has_its_names() {
        let (text, _) = drawn(std::iter::empty());
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].starts_with('n') && lines[0].ends_with("name") && lines[1] == "0 rows");
    }

    #[test]
    fn nothing_is_drawn_for_a_reader_that_went_away() {
        let mut parts = 0;
        let mut table = Drawn::new(|_: &str| {
            parts += 1;
            ControlFlow::Break(())
        });
        let _ = table.columns(vec!["n".into()]);
        let taken = (0..10 * AT_ONCE).take_while(|n| table.row(vec![json!(n)]).is_continue());
        assert_eq!((taken.count(), parts), (AT_ONCE - 1, 1));
    }
}
