//! `hocket lab export` and `hocket lab query`: rows for other programs.

use std::path::Path;

use comfy_table::{ContentArrangement, Table as Drawn};
use hocket_files::is_standard_output;
use hocket_lab::foreign;
use hocket_lab::store::{NewFile, Table, csv, json};
use serde_json::Value;

use super::args::{ExportArgs, Format, QueryArgs};
use super::{failure, open};
use crate::failure::{Exit, Failure};
use crate::files::remove_dead_parts_of;
use crate::output::{print, print_json, print_rows};

/// Runs `export`.
pub(super) fn export(args: &ExportArgs) -> Result<Exit, Failure> {
    let store = open(&args.records.records)?;
    let run = match args.run.as_str() {
        "all" => None,
        asked => Some(store.choose(asked).map_err(failure)?.run),
    };
    let table = || store.export(run).map_err(failure);
    let output = args.output.as_deref().filter(|path| !is_standard_output(path));
    match args.format {
        Format::Csv => hand_out(output, &csv(&table()?))?,
        Format::Json => hand_out(output, &format!("{:#}\n", json(&table()?)))?,
    }
    Ok(Exit::Done)
}

fn hand_out(output: Option<&Path>, text: &str) -> Result<(), Failure> {
    match output {
        Some(path) => {
            remove_dead_parts_of(path);
            let written = NewFile::beside(path).and_then(|new| new.finish_with(text));
            written.map_err(failure)?;
            crate::written::wrote(path);
            Ok(())
        }
        None => {
            print_rows(text);
            Ok(())
        }
    }
}

/// Runs `query`.
pub(super) fn query(args: &QueryArgs) -> Result<Exit, Failure> {
    let table = open(&args.records.records)?.query(&args.sql).map_err(failure)?;
    match (args.csv, args.json) {
        (true, _) => print_rows(&csv(&table)),
        (_, true) => print_json(&format!("{:#}\n", json(&table))),
        _ => print(&drawn(&table)),
    }
    Ok(Exit::Done)
}

/// Longer texts are for `--csv` and `--json`.
const LONGEST_CELL: usize = 200;

fn cell(text: &str) -> String {
    foreign::shortened(&foreign::lines(text).replace('\n', "\\n"), LONGEST_CELL)
}

fn drawn(table: &Table) -> String {
    let mut drawn = Drawn::new();
    drawn
        .load_style(comfy_table::presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled);
    drawn.set_header(table.columns.iter().map(|name| cell(name)));
    for row in &table.rows {
        drawn.add_row(row.iter().map(|value| match value {
            Value::String(text) => cell(text),
            Value::Null => "-".into(),
            other => other.to_string(),
        }));
    }
    let text: String = drawn.lines().map(|line| line.trim_end().to_string() + "\n").collect();
    if table.rows.is_empty() { text + "0 rows\n" } else { text }
}
