//! `hocket report` of folders: a site of all records.

use std::path::{Path, PathBuf};

use hocket_lab::site::{self, INDEX, Made};

use super::serve::Port;
use crate::cli::ReportArgs;
use crate::failure::{Exit, Failure};
use crate::files::{Files, Kind};
use crate::output::print;

/// Where records lie if nobody says otherwise.
const RECORDS: &str = "out";
/// Where the site goes then.
const SITE: &str = "out/site";

/// Runs the command.
pub(super) fn run(args: &ReportArgs) -> Result<Exit, Failure> {
    if let Some(svg) = &args.svg {
        let text =
            format!("--svg {}: a picture is of one record; name its file alone", svg.display());
        return Err(Failure::bad_input(text));
    }
    let roots = roots(args)?;
    let folder = args.output.as_deref().unwrap_or(Path::new(SITE));
    check_folder(folder, &roots, args.force)?;
    let mut files = Files::new(args.force);
    files.writes("--output", &folder.join(INDEX), Kind::Page)?;
    // A port that is taken is known before the work.
    let port = args.serve.map(Port::open).transpose()?;
    files.make_folders()?;
    let made = site::make(&roots, folder, |name, text| {
        let path = folder.join(name);
        if name != INDEX {
            files.writes("--output", &path, Kind::Page)?;
        }
        hocket_lab::record::write_text_atomic(&path, text).map_err(Failure::not_possible)
    })?;
    crate::written::wrote(&folder.join(INDEX));
    print(&told(&made));
    if let Some(port) = port {
        port.serve(folder, &made.pages)?;
    }
    Ok(Exit::Done)
}

/// `43 records of 4 machines, 51 pages; 2 files could not be used, the first page says why`.
fn told(made: &Made) -> String {
    let counted = |n: usize, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
    let mut text = format!(
        "{} of {}, {}",
        counted(made.records, "record"),
        counted(made.machines, "machine"),
        counted(made.pages.len(), "page")
    );
    if made.unread > 0 {
        let files = counted(made.unread, "file");
        text += &format!("; {files} could not be used, the first page says why");
    }
    text + "\n"
}

fn roots(args: &ReportArgs) -> Result<Vec<PathBuf>, Failure> {
    let roots = match args.records.as_slice() {
        [] => vec![PathBuf::from(RECORDS)],
        named => named.to_vec(),
    };
    match roots.iter().find(|root| !root.is_file() && !root.is_dir()) {
        None => Ok(roots),
        Some(missing) if args.records.is_empty() => Err(Failure::bad_input(format!(
            "there is no folder {} here, where Hocket writes records; name the folders or files that have yours",
            missing.display()
        ))),
        Some(missing) => Err(Failure::bad_input(format!(
            "{}: there is no such file or folder; a site is made of folders and record files",
            missing.display()
        ))),
    }
}

/// A folder that has something in it and is no site of Hocket stays as it is.
fn check_folder(folder: &Path, roots: &[PathBuf], force: bool) -> Result<(), Failure> {
    let refuse = |why: &str| {
        Err(Failure::bad_input(format!(
            "--output {}: {why}, and nothing was changed; name another folder",
            folder.display()
        )))
    };
    if folder.exists() && !folder.is_dir() {
        return refuse("there is a file, and a site is a folder");
    }
    let own = folder.canonicalize().ok();
    if own.is_some() && roots.iter().any(|root| root.canonicalize().ok() == own) {
        return refuse("the records are read from this folder");
    }
    let has_something = std::fs::read_dir(folder).is_ok_and(|mut inside| inside.next().is_some());
    if has_something && !folder.join(INDEX).exists() && !force {
        return refuse("there is something in it that is no site of Hocket");
    }
    Ok(())
}
