//! Rows for other programs.

use std::ops::ControlFlow;

use serde_json::{Map, Value};

use super::{Store, StoreError, TakeRows};

impl Store {
    /// Every figure of a run, or of all runs, each with the run it belongs to.
    ///
    /// Memory: one row.
    ///
    /// # Errors
    /// [`StoreError`]; `into` may have got rows before.
    pub fn export(&self, run: Option<i64>, into: &mut dyn TakeRows) -> Result<(), StoreError> {
        self.ask(&selection(run), into)
    }
}

/// The rows that are exported: which run it was, all of `rows`, and the name that a job file gave the host.
fn selection(run: Option<i64>) -> String {
    let which = run.map_or(String::new(), |run| format!("WHERE rows.run = {run}"));
    format!(
        "SELECT runs.uuid, runs.started_at, runs.host, rows.*,
                CAST(meta ->> '$.job.host' AS TEXT) AS job_host
         FROM rows JOIN runs USING (run) {which} ORDER BY rows.rowid"
    )
}

/// Comma-separated values with a line of names (RFC 4180); each line goes to `put` as it comes.
pub struct Csv<P>(P);

impl<P: FnMut(&str) -> ControlFlow<()>> Csv<P> {
    /// Nothing is put yet.
    pub fn new(put: P) -> Csv<P> {
        Csv(put)
    }

    fn line(&mut self, cells: Vec<String>) -> ControlFlow<()> {
        (self.0)(&(cells.join(",") + "\r\n"))
    }
}

impl<P: FnMut(&str) -> ControlFlow<()>> TakeRows for Csv<P> {
    fn columns(&mut self, names: Vec<String>) -> ControlFlow<()> {
        self.line(names.iter().map(|name| quoted(name)).collect())
    }

    fn row(&mut self, row: Vec<Value>) -> ControlFlow<()> {
        self.line(row.iter().map(cell).collect())
    }
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => quoted(text),
        other => other.to_string(),
    }
}

fn quoted(text: &str) -> String {
    match text.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_string(),
    }
}

/// A list of objects; each goes to `put` as it comes.
pub struct Json<P> {
    put: P,
    names: Vec<String>,
    /// What stands in front of the next object.
    before: &'static str,
}

impl<P: FnMut(&str) -> ControlFlow<()>> Json<P> {
    /// Nothing is put yet.
    pub fn new(put: P) -> Json<P> {
        Json { put, names: Vec::new(), before: FIRST }
    }

    /// Ends the list.
    pub fn end(mut self) -> ControlFlow<()> {
        (self.put)(if self.before == FIRST { "[]\n" } else { "\n]\n" })
    }
}

/// In front of the first object of a list, and of those after it.
const FIRST: &str = "[\n";
const NEXT: &str = ",\n";

impl<P: FnMut(&str) -> ControlFlow<()>> TakeRows for Json<P> {
    fn columns(&mut self, names: Vec<String>) -> ControlFlow<()> {
        self.names = names;
        ControlFlow::Continue(())
    }

    fn row(&mut self, row: Vec<Value>) -> ControlFlow<()> {
        let pairs = self.names.iter().cloned().zip(row);
        let object = Value::Object(pairs.collect::<Map<String, Value>>());
        // JSON has no line breaks within a text, so each one begins a line of the object.
        let object = format!("{object:#}").replace('\n', "\n  ");
        let text = format!("{}  {object}", self.before);
        self.before = NEXT;
        (self.put)(&text)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Feeds the rows, as far as they are taken.
    fn feed(into: &mut dyn TakeRows, names: &[&str], rows: &[Vec<Value>]) {
        let mut flow = into.columns(names.iter().map(|name| (*name).to_owned()).collect());
        for row in rows {
            if flow.is_continue() {
                flow = into.row(row.clone());
            }
        }
    }

    fn rows() -> [Vec<Value>; 2] {
        [vec![json!(1.5), json!("say \"x\"\n")], vec![Value::Null, json!("plain")]]
    }

    fn as_json(rows: &[Vec<Value>]) -> String {
        let mut text = String::new();
        let mut list = Json::new(|part: &str| {
            text += part;
            ControlFlow::Continue(())
        });
        feed(&mut list, &["a", "b,c"], rows);
        assert!(list.end().is_continue());
        text
    }

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        let mut text = String::new();
        let mut csv = Csv::new(|part: &str| {
            text += part;
            ControlFlow::Continue(())
        });
        feed(&mut csv, &["a", "b,c"], &rows());
        assert_eq!(text, "a,\"b,c\"\r\n1.5,\"say \"\"x\"\"\n\"\r\n,plain\r\n");
    }

    #[test]
    fn objects_that_come_one_by_one_are_the_list_that_serde_writes() {
        let whole = json!([{ "a": 1.5, "b,c": "say \"x\"\n" }, { "a": null, "b,c": "plain" }]);
        assert_eq!(as_json(&rows()), format!("{whole:#}\n"));
        assert_eq!(as_json(&[]), format!("{:#}\n", json!([])));
    }

    #[test]
    fn a_reader_that_went_away_ends_it() {
        let mut parts = 0;
        let mut csv = Csv::new(|_: &str| {
            parts += 1;
            ControlFlow::Break(())
        });
        feed(&mut csv, &["a", "b"], &rows());
        assert_eq!(parts, 1);
    }
}
