//! Rows for other programs.

use serde_json::{Map, Value, json};

use super::Table;

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
