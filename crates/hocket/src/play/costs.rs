//! `--costs FILE`: what was measured the last time, and what is known at the end.

use std::path::Path;

use hocket_engine::{Control, Engine};
use hocket_lab::record::write_text_atomic;
use hocket_machine::facts;
use hocket_session::{costs_text, read_costs};

use crate::failure::Failure;

/// Gives the engine what the file knows, where there is one. Returns what is to be told of it.
///
/// # Errors
/// A file that is no cost table.
pub(super) fn adopt(path: &Path, engine: &Engine) -> Result<String, Failure> {
    let name = path.display();
    if !path.exists() {
        folder_of(path)?;
        return Ok(format!("{name}: there is no such file yet; it is written at the end"));
    }
    if !path.is_file() {
        return Err(Failure::bad_input(format!(
            "--costs {name}: this is no file (a folder, a pipe, a device): name a cost table, or a file \
             that does not exist yet"
        )));
    }
    let table = read_costs(path).map_err(Failure::bad_input)?;
    let adopted = engine.control().adopt_costs(&table).map_err(Failure::not_possible)?;
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
