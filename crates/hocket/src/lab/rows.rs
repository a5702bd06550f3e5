//! `hocket lab export` and `hocket lab query`: rows for other programs, handed out as they come.

mod drawn;

use std::ops::ControlFlow;
use std::path::Path;

use hocket_files::is_standard_output;
use hocket_lab::store::{Csv, Json, NewFile, StoreError, TakeRows};

use super::args::{ExportArgs, Format, QueryArgs};
use super::{failure, open};
use crate::failure::{Exit, Failure};
use crate::files::remove_dead_parts_of;
use crate::output::{Form, print_part};
use drawn::Drawn;

/// Bytes that are gathered before they are written, so that a row is no call of the system.
const GATHERED: usize = 1 << 16;

/// Gives all rows to what takes them.
type Rows<'a> = &'a dyn Fn(&mut dyn TakeRows) -> Result<(), StoreError>;

/// Runs `export`.
pub(super) fn export(args: &ExportArgs) -> Result<Exit, Failure> {
    let store = open(&args.records.records)?;
    let run = match args.run.as_str() {
        "all" => None,
        asked => Some(store.choose(asked).map_err(failure)?.run),
    };
    let rows: Rows<'_> = &|into| store.export(run, into);
    match args.output.as_deref().filter(|path| !is_standard_output(path)) {
        Some(path) => {
            remove_dead_parts_of(path);
            to_file(path, rows, args.format).map_err(failure)?;
            crate::written::wrote(path);
        }
        None => {
            hand_out(rows, args.format, |text| print_part(text, Form::Rows)).map_err(failure)?;
        }
    }
    Ok(Exit::Done)
}

/// All rows, or no file.
fn to_file(path: &Path, rows: Rows<'_>, format: Format) -> Result<(), StoreError> {
    let mut new = NewFile::beside(path)?;
    let mut written = Ok(());
    hand_out(rows, format, |text| {
        written = new.add(text);
        if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    written?;
    new.finish()
}

/// Runs `query`.
pub(super) fn query(args: &QueryArgs) -> Result<Exit, Failure> {
    let store = open(&args.records.records)?;
    let rows: Rows<'_> = &|into| store.ask(&args.sql, into);
    let asked = match (args.csv, args.json) {
        (true, _) => hand_out(rows, Format::Csv, |text| print_part(text, Form::Rows)),
        (_, true) => hand_out(rows, Format::Json, |text| print_part(text, Form::Json)),
        _ => {
            let mut drawn = Drawn::new(|text: &str| print_part(text, Form::Text));
            rows(&mut drawn).map(|()| drawn.end())
        }
    };
    asked.map_err(failure)?;
    Ok(Exit::Done)
}

/// Gives the rows to `put` as text, some at a time, until it wants no more.
fn hand_out(
    rows: Rows<'_>,
    format: Format,
    put: impl FnMut(&str) -> ControlFlow<()>,
) -> Result<(), StoreError> {
    let mut gathered = Gathered { held: String::new(), put };
    match format {
        Format::Csv => rows(&mut Csv::new(|text: &str| gathered.add(text)))?,
        Format::Json => {
            let mut list = Json::new(|text: &str| gathered.add(text));
            rows(&mut list)?;
            let _ = list.end();
        }
    }
    let _ = gathered.put_all();
    Ok(())
}

/// Text that waits until there is enough of it.
struct Gathered<P> {
    held: String,
    put: P,
}

impl<P: FnMut(&str) -> ControlFlow<()>> Gathered<P> {
    fn add(&mut self, text: &str) -> ControlFlow<()> {
        self.held += text;
        if self.held.len() < GATHERED { ControlFlow::Continue(()) } else { self.put_all() }
    }

    fn put_all(&mut self) -> ControlFlow<()> {
        let text = std::mem::take(&mut self.held);
        if text.is_empty() { ControlFlow::Continue(()) } else { (self.put)(&text) }
    }
}
