//! Rows for other programs.

use serde_json::{Map, Value, json};

use super::{Store, StoreError, Table};

impl Store {
    /// Every figure of a run, or of all runs, each with the run it belongs to.
    ///
    /// Cost: the whole table is in memory.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn export(&self, run: Option<i64>) -> Result<Table, StoreError> {
        self.query(&selection(run))
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

/// Comma-separated values with a line of names (RFC 4180).
pub fn csv(table: &Table) -> String {
    let line = |cells: Vec<String>| cells.join(",") + "\r\n";
    let names = line(table.columns.iter().map(|name| quoted(name)).collect());
    let rows = table.rows.iter().map(|row| line(row.iter().map(cell).collect()));
    std::iter::once(names).chain(rows).collect()
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

/// A list of objects.
pub fn json(table: &Table) -> Value {
    let object = |row: &Vec<Value>| {
        let pairs = table.columns.iter().cloned().zip(row.iter().cloned());
        Value::Object(pairs.collect::<Map<String, Value>>())
    };
    json!(table.rows.iter().map(object).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        let table = Table {
            columns: vec!["a".into(), "b,c".into()],
            rows: vec![vec![json!(1.5), json!("say \"x\"")], vec![Value::Null, json!("plain")]],
        };
        assert_eq!(csv(&table), "a,\"b,c\"\r\n1.5,\"say \"\"x\"\"\"\r\n,plain\r\n");
        assert_eq!(json(&table)[1]["b,c"], "plain");
    }
}
