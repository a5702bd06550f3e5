//! `hocket report`: one record as a table, a page or a picture; `report/site.rs` for all records of some folders.

mod site;
mod serve;

use std::path::Path;

use hocket_lab::record::BenchRecord;

use crate::cli::ReportArgs;
use crate::failure::{Exit, Failure};
use crate::files::{Files, Kind};
use crate::output::print;

pub(crate) use site::MARK as SITE_MARK;

/// Runs the command.
///
/// # Errors
/// [`Failure`].
pub fn run(args: &ReportArgs) -> Result<Exit, Failure> {
    match args.one_record() {
        Some(record) => of_record(args, record),
        None => site::run(args),
    }
}

fn of_record(args: &ReportArgs, record: &Path) -> Result<Exit, Failure> {
    let mut files = Files::new(args.force);
    files.reads("the record", record);
    files.prints()?;
    // What is wrong with the record is wrong whatever is written.
    let record = BenchRecord::read(record).map_err(Failure::bad_input)?;
    if let Some(path) = &args.svg {
        files.writes("--svg", path, Kind::Picture)?;
    }
    if let Some(path) = &args.output {
        files.writes("--output", path, Kind::Page)?;
    }
    files.make_folders()?;
    if let Some(path) = &args.svg {
        write(path, &hocket_lab::report::svg_comparison(&record))?;
    }
    match &args.output {
        Some(path) => write_page(&record, path)?,
        None if args.svg.is_none() => print(&hocket_lab::report::text_table(&record)),
        None => {}
    }
    Ok(Exit::Done)
}

/// Writes the page.
pub(crate) fn write_page(record: &BenchRecord, path: &Path) -> Result<(), Failure> {
    write(path, &hocket_lab::report::html(record))
}

/// Under its final name only when complete.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let _open = crate::pipe::reader_of(path)?;
    hocket_lab::record::write_text_atomic(path, text).map_err(Failure::not_written)?;
    crate::written::wrote(path);
    Ok(())
}
