//! `--costs FILE`: what was measured the last time, and what is known at the end.

use std::path::Path;

use hocket_engine::{Control, Engine};
use hocket_lab::record::write_text_atomic;
use hocket_machine::facts;
use hocket_plan::CostTable;
use hocket_session::{costs_text, read_costs};

use crate::failure::Failure;

/// What the file knows, where there is one.
///
/// # Errors
/// A file that is no cost table, or one that could not be written at the end.
pub(super) fn read(path: &Path) -> Result<Option<CostTable>, Failure> {
    if !path.exists() {
        folder_of(path)?;
        return Ok(None);
    }
    if !path.is_file() {
        return Err(Failure::bad_input(format!(
            "--costs {}: this is no file (a folder, a pipe, a device): name a cost table, or a file \
             that does not exist yet",
            path.display()
        )));
    }
    read_costs(path).map(Some).map_err(Failure::bad_input)
}

/// Gives the engine what is known. Returns what is to be told of it.
pub(super) fn adopt(
    path: &Path,
    table: Option<&CostTable>,
    engine: &Engine,
) -> Result<String, Failure> {
    let name = path.display();
    let Some(table) = table else {
        return Ok(format!("{name}: there is no such file yet; it is written at the end"));
    };
    let adopted = engine.control().adopt_costs(table).map_err(Failure::not_possible)?;
    let (known, unknown) = (adopted.known, adopted.unknown);
    let of = known + unknown;
    Ok(match known {
        0 => format!("{name}: knows none of this session's {of} chains; estimates are used"),
        _ => format!("{name}: the costs of {known} of {of} chains, measured on {}", table.machine),
    })
}

/// Writes what the engine knows.
///
/// # Errors
/// The file cannot be written; what was there stays.
pub(super) fn keep(path: &Path, control: &Control) -> Result<(), Failure> {
    let model = facts::read().cpu_model;
    let table = control.cost_table(model.value().map_or("a processor without a name", |it| it));
    write_text_atomic(path, &costs_text(&table)).map_err(Failure::not_possible)
}

/// Said at once and not after an hour of playing.
fn folder_of(path: &Path) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match folder.filter(|folder| !folder.is_dir()) {
        None => Ok(()),
        Some(folder) => Err(Failure::bad_input(format!(
            "--costs {}: there is no folder {}: create it, or name another file",
            path.display(),
            folder.display()
        ))),
    }
}
