//! A table, made once for pages and terminals.

use maud::{Markup, html};

use crate::foreign::plain;

/// Names over columns and rows of cells.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Table {
    /// Over the columns.
    pub heads: Vec<String>,
    /// As many cells each, the first one the row's name; or a name and a sentence where there are no figures.
    pub rows: Vec<Vec<String>>,
    /// How the rows look on a page, in order; those beyond look like any other.
    pub looks: Vec<&'static str>,
    /// Row and column of what looks bad on a page.
    pub bad: Vec<(usize, usize)>,
}

impl Table {
    /// A table whose rows all look alike.
    pub(crate) fn new<H: Into<String>>(
        heads: impl IntoIterator<Item = H>,
        rows: Vec<Vec<String>>,
    ) -> Table {
        Table { heads: heads.into_iter().map(H::into).collect(), rows, ..Table::default() }
    }

    /// As HTML in a box that scrolls where it is too wide; `name` is for those who do not see it.
    pub(crate) fn html(&self, name: &str) -> Markup {
        html! {
            div.scroll tabindex="0" role="group" aria-label=(plain(name)) {
                table {
                    thead { tr { @for head in &self.heads { @if head.is_empty() { td {} } @else { th scope="col" { (plain(head)) } } } } }
                    tbody { @for at in 0..self.rows.len() { (self.row(at)) } }
                }
            }
        }
    }

    fn row(&self, row: usize) -> Markup {
        let cells = &self.rows[row];
        let missing = self.heads.len().saturating_sub(cells.len());
        html! {
            tr class=[self.looks.get(row).filter(|look| !look.is_empty())] {
                @for (at, cell) in cells.iter().enumerate() {
                    @if at == 0 { th scope="row" { (plain(cell)) } }
                    @else if missing > 0 && at + 1 == cells.len() { td.why colspan=(missing + 1) { (plain(cell)) } }
                    @else { td.is-late[self.bad.contains(&(row, at))] { (plain(cell)) } }
                }
            }
        }
    }
}
