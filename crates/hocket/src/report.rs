//! `hocket report`: one record as a table, a page or a picture; `report/site.rs` for all records of some folders.

mod site;
mod serve;

use std::fs::File;
use std::io::Read;
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
    refuse_lab_file(record)?;
    let mut files = Files::new(args.force);
    files.reads("the record", record);
    files.prints()?;
    if let Some(path) = &args.svg {
        files.writes("--svg", path, Kind::Picture)?;
    }
    if let Some(path) = &args.output {
        files.writes("--output", path, Kind::Page)?;
    }
    let record = BenchRecord::read(record).map_err(Failure::bad_input)?;
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

/// A record file of the lab has many runs, which another command shows.
fn refuse_lab_file(record: &Path) -> Result<(), Failure> {
    // How every file of SQLite begins (sqlite.org/fileformat.html, 1.3).
    const SQLITE: &[u8; 16] = b"SQLite format 3\0";
    let mut head = [0; SQLITE.len()];
    // A pipe gives its bytes once. What cannot be read is refused by who needs all of it.
    let read = |mut file: File| file.read_exact(&mut head);
    if !record.is_file() || File::open(record).and_then(read).is_err() || head != *SQLITE {
        return Ok(());
    }
    let name = record.display();
    Err(Failure::bad_input(format!(
        "{name}: this is a record file of the lab (SQLite), not a record of `hocket bench`; \
         `hocket lab report --records {name} -o PAGE` writes the page of its last run, and `hocket report FOLDER` of the \
         folder that it is in makes a site with all runs"
    )))
}

/// Writes the page.
pub(crate) fn write_page(record: &BenchRecord, path: &Path) -> Result<(), Failure> {
    write(path, &hocket_lab::report::html(record))
}

/// Under its final name only when complete.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let _open = crate::pipe::reader_of(path)?;
    hocket_lab::record::write_text_atomic(path, text).map_err(Failure::not_possible)?;
    crate::written::wrote(path);
    Ok(())
}
