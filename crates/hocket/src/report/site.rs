//! `hocket report` of folders: a site of all records.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use hocket_files::is_standard_output;
use hocket_lab::numbers::counted;
use hocket_lab::site::{self, INDEX, Made};

use super::serve::Port;
use crate::cli::ReportArgs;
use crate::failure::{Exit, Failure};
use crate::files::{Files, Kind, remove_dead_parts_of};
use crate::output::print;

/// Where records lie if nobody says otherwise.
const RECORDS: &str = "out";
/// Where the site goes then.
const SITE: &str = "out/site";
/// The file that makes a folder a site, finished or not. It is written before all pages.
const MARK_FILE: &str = "hocket-site.txt";
/// How the mark begins.
pub(crate) const MARK: &str = "hocket-site/1: ";
/// What it says to people.
const MARK_REST: &str = "`hocket report` writes the pages in this folder, and replaces them when it makes the site anew.\n";

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
    files.writes("--output", &folder.join(MARK_FILE), Kind::Site)?;
    files.writes("--output", &folder.join(INDEX), Kind::Page)?;
    // A port that is taken is known before the work.
    let port = args.serve.map(Port::open).transpose()?;
    let stop = crate::interrupt::flag()?;
    files.make_folders()?;
    let made = make(&roots, folder, &mut files, &stop)?;
    crate::written::wrote(&folder.join(INDEX));
    print(&told(&made));
    let Some(port) = port else { return Ok(Exit::Done) };
    // Relaxed: the flag stands for itself.
    if stop.load(Relaxed) {
        return Err(Failure {
            message: format!(
                "interrupted: the site in {} is complete, and not served",
                folder.display()
            ),
            ..Failure::interrupted()
        });
    }
    port.serve(folder, &made.pages)?;
    Ok(Exit::Done)
}

/// Writes the mark and then all pages, the first page last.
fn make(
    roots: &[PathBuf],
    folder: &Path,
    files: &mut Files,
    stop: &AtomicBool,
) -> Result<Made, Failure> {
    let write = |name: &str, text: &str| {
        hocket_lab::record::write_text_atomic(folder.join(name), text)
            .map_err(Failure::not_possible)
    };
    let mut written = 0;
    write(MARK_FILE, &format!("{MARK}{MARK_REST}"))?;
    site::make(roots, folder, |name, text| {
        // Relaxed: the flag stands for itself.
        if stop.load(Relaxed) {
            return Err(interrupted(folder, written));
        }
        if name != INDEX {
            files.writes("--output", &folder.join(name), Kind::Page)?;
        }
        write(name, text)?;
        written += 1;
        Ok(())
    })
}

/// What there is after Ctrl-C.
fn interrupted(folder: &Path, written: usize) -> Failure {
    let pages = counted(written, "page");
    let message = format!(
        "interrupted: the site in {} is not complete: {pages} written, {INDEX} not; the same command makes it anew",
        folder.display()
    );
    Failure { message, ..Failure::interrupted() }
}

/// `43 records of 4 machines, 51 pages; 2 files could not be used, the first page says why`.
fn told(made: &Made) -> String {
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
    if is_standard_output(folder) {
        return refuse("a site is a folder of many pages and cannot go to standard output");
    }
    if folder.exists() && !folder.is_dir() {
        return refuse("there is a file, and a site is a folder");
    }
    let own = folder.canonicalize().ok();
    if own.is_some() && roots.iter().any(|root| root.canonicalize().ok() == own) {
        return refuse("the records are read from this folder");
    }
    // A killed run may have left no more than a part of the mark.
    remove_dead_parts_of(&folder.join(MARK_FILE));
    let has_something = std::fs::read_dir(folder).is_ok_and(|mut inside| inside.next().is_some());
    if has_something && !force && !Kind::Site.is_of(&folder.join(MARK_FILE)) {
        return Err(Failure::bad_input(format!(
            "--output {}: there is something in it, but no {MARK_FILE}, so it is no site of Hocket, and nothing was changed; \
             name another folder, or write among it with --force",
            folder.display()
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_site_says_so_and_is_made_anew() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("site");
        let records = [outer.path().join("records")];
        std::fs::create_dir(&records[0]).unwrap();
        let run = |stop: bool| {
            check_folder(&folder, &records, false)?;
            let mut files = Files::new(false);
            files.writes("--output", &folder.join(MARK_FILE), Kind::Site)?;
            files.writes("--output", &folder.join(INDEX), Kind::Page)?;
            files.make_folders()?;
            make(&records, &folder, &mut files, &AtomicBool::new(stop))
        };
        let why = run(true).unwrap_err();
        assert_eq!(why.exit, Exit::Interrupted);
        assert!(why.message.contains("not complete: 0 pages written"), "{why}");
        assert!(folder.join(MARK_FILE).exists() && !folder.join(INDEX).exists());
        // A folder with the mark is a site, finished or not.
        assert!(run(false).unwrap().pages.contains(&INDEX.to_string()));
        assert!(run(false).is_ok() && folder.join(INDEX).exists());
        std::fs::remove_file(folder.join(MARK_FILE)).unwrap();
        assert!(run(false).unwrap_err().message.contains("no site of Hocket"));
    }
}
