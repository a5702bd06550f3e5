//! `hocket lab export` and `hocket lab query`: rows for other programs.

use comfy_table::{ContentArrangement, Table as Drawn};
use hocket_lab::store::{Table, csv, json};
use serde_json::Value;

use super::args::{ExportArgs, Format, QueryArgs};
use super::{failure, open};
use crate::failure::{Exit, Failure};
use crate::output::print;

/// Runs `export`.
pub(super) fn export(args: &ExportArgs) -> Result<Exit, Failure> {
    let store = open(&args.records.records)?;
    let which = match args.run.as_str() {
        "all" => String::new(),
        asked => format!("WHERE rows.run = {}", store.choose(asked).map_err(failure)?.run),
    };
    let sql = format!(
        "SELECT runs.uuid, runs.started_at, runs.host, rows.* FROM rows JOIN runs USING (run) {which}
         ORDER BY rows.rowid"
    );
    let table = store.query(&sql).map_err(failure)?;
    let text = match args.format {
        Format::Csv => csv(&table),
        Format::Json => format!("{:#}\n", json(&table)),
    };
    match &args.output {
        Some(path) => {
            hocket_lab::record::write_text_atomic(path, &text).map_err(Failure::not_possible)?
        }
        None => print(&text),
    }
    Ok(Exit::Done)
}

/// Runs `query`.
pub(super) fn query(args: &QueryArgs) -> Result<Exit, Failure> {
    let table = open(&args.records.records)?.query(&args.sql).map_err(failure)?;
    match (args.csv, args.json) {
        (true, _) => print(&csv(&table)),
        (_, true) => print(&format!("{:#}\n", json(&table))),
        _ => print(&drawn(&table)),
    }
    Ok(Exit::Done)
}

fn drawn(table: &Table) -> String {
    let mut drawn = Drawn::new();
    drawn
        .load_style(comfy_table::presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled);
    drawn.set_header(&table.columns);
    for row in &table.rows {
        drawn.add_row(row.iter().map(|value| match value {
            Value::String(text) => text.clone(),
            Value::Null => "-".into(),
            other => other.to_string(),
        }));
    }
    drawn.lines().map(|line| line.trim_end().to_string() + "\n").collect()
}
