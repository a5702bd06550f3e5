//! Prose and tables for a terminal.

use crate::foreign::plain;
use crate::table::Table;

/// No line of prose is longer than this; tables are as wide as they must be.
pub(crate) const WIDTH: usize = 100;
/// A cell that is longer is shortened.
const LONGEST: usize = 72;
/// So is a word.
const LONGEST_WORD: usize = 110;

/// Lines of text, each ending with a line break.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    pub text: String,
}

impl Lines {
    /// A line as it is.
    pub(crate) fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// An empty line.
    pub(crate) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// Prose broken between words; `mark` stands before the first line, spaces before the others.
    pub(crate) fn prose(&mut self, mark: &str, prose: &str) {
        let indent = mark.chars().count();
        let mut line = String::from(mark);
        let mut fresh = true;
        for word in plain(prose).split_whitespace() {
            if !fresh && line.chars().count() + 1 + word.chars().count() > WIDTH {
                self.line(&line);
                line = " ".repeat(indent);
                fresh = true;
            }
            if !fresh {
                line.push(' ');
            }
            line.push_str(&shortened(word, LONGEST_WORD));
            fresh = false;
        }
        self.line(&line);
    }

    /// A table: the first column to the left, the others to the right. A sentence in place of figures runs on.
    pub(crate) fn table(&mut self, indent: &str, table: &Table) {
        let heads = std::iter::once(&table.heads);
        let all: Vec<Vec<String>> = heads.chain(&table.rows).map(|row| cells(row)).collect();
        let columns = table.heads.len();
        let is_whole = |row: &&Vec<String>| row.len() == columns;
        let width = |column: usize| {
            let rows = all.iter().filter(|row| column == 0 || is_whole(row));
            rows.filter_map(|row| row.get(column)).map(|it| it.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in &all {
            let mut line = String::from(indent);
            for (at, (cell, width)) in row.iter().zip(&widths).enumerate() {
                line += &match at {
                    0 => format!("{cell:<width$}"),
                    _ if is_whole(&row) => format!("  {cell:>width$}"),
                    _ => format!("  {cell}"),
                };
            }
            self.line(&line);
        }
    }
}

fn cells(row: &[String]) -> Vec<String> {
    row.iter().map(|cell| shortened(&plain(cell), LONGEST)).collect()
}

/// The text itself, or its beginning where it is longer than `most`.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.into();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_broken_and_tables_are_aligned() {
        let mut out = Lines::default();
        out.prose("* ", &"word ".repeat(40));
        assert!(out.text.lines().count() == 3 && out.text.lines().all(|line| line.len() <= WIDTH));
        let mut out = Lines::default();
        let rows = [&["a\u{1b}b", "10", "1"][..], &["c", "nothing was measured"]];
        let rows = rows.map(|row| row.iter().map(|cell| cell.to_string()).collect());
        out.table(" ", &Table::new(["", "n", "of"], rows.into()));
        assert_eq!(
            out.text,
            "            n  of\n a\\u{1b}b  10   1\n c         nothing was measured\n"
        );
    }
}
