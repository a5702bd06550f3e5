//! Text in columns and lines of a terminal.

pub(super) use crate::foreign::plain;

/// No line of prose is longer than this; tables are as wide as they must be.
pub(super) const WIDTH: usize = 100;
/// A name that is longer is shortened.
const LONGEST: usize = 72;

/// Lines of text, each ending with a line break.
#[derive(Debug, Default)]
pub(super) struct Lines {
    pub text: String,
}

impl Lines {
    /// A line as it is.
    pub(super) fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// An empty line.
    pub(super) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// Prose broken between words; `mark` stands before the first line, spaces before the others.
    pub(super) fn prose(&mut self, mark: &str, prose: &str) {
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
            line.push_str(word);
            fresh = false;
        }
        self.line(&line);
    }

    /// A table: the first column to the left, the others to the right.
    pub(super) fn table(&mut self, indent: &str, heads: &[String], rows: &[Vec<String>]) {
        let all: Vec<Vec<String>> =
            std::iter::once(heads).chain(rows.iter().map(Vec::as_slice)).map(cells).collect();
        let columns = all.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            all.iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in &all {
            let mut line = String::from(indent);
            for (at, (cell, width)) in row.iter().zip(&widths).enumerate() {
                line +=
                    &if at == 0 { format!("{cell:<width$}") } else { format!("  {cell:>width$}") };
            }
            self.line(&line);
        }
    }
}

fn cells(row: &[String]) -> Vec<String> {
    row.iter().map(|cell| shortened(&plain(cell))).collect()
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= LONGEST {
        return text.into();
    }
    text.chars().take(LONGEST - 1).chain(['…']).collect()
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
        out.table(
            " ",
            &["".into(), "n".into()],
            &[vec!["a\u{1b}b".into(), "10".into()], vec!["c".into()]],
        );
        assert_eq!(out.text, "            n\n a\\u{1b}b  10\n c\n");
    }
}
