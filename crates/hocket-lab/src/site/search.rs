//! Which files below some folders may be records.

use std::path::{Path, PathBuf};

use super::entry::Unread;

/// The largest JSON that a site reads: a record of a bench of six million blocks.
pub(super) const MOST_JSON: u64 = 256 << 20;
/// The largest record of the lab.
const MOST_LAB: u64 = 1 << 30;
/// The largest page of a trace that is copied.
pub(super) const MOST_PAGE: u64 = 64 << 20;
/// Files and folders that are looked at: more than anybody's records, fewer than a whole disk.
const MOST_FILES: usize = 50_000;
/// Folders within folders.
const DEPTH: usize = 16;

/// What a file is by the end of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// A record file of the lab. These come first: a run that is exported as well is the run that is in its file.
    Lab,
    Json,
    Page,
}

impl Kind {
    fn of(path: &Path) -> Option<Kind> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        match ending.as_str() {
            "sqlite" | "sqlite3" | "db" => Some(Kind::Lab),
            "json" => Some(Kind::Json),
            "html" | "htm" => Some(Kind::Page),
            _ => None,
        }
    }

    /// The bound, where a file is beyond it.
    pub(super) fn too_large(self, bytes: u64) -> Option<u64> {
        let most = match self {
            Kind::Lab => MOST_LAB,
            Kind::Json => MOST_JSON,
            // Other pages may be as large as they like: they are not copied.
            Kind::Page => return None,
        };
        (bytes > most).then_some(most)
    }
}

/// A file that may be a record.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) path: PathBuf,
    /// For people.
    pub(super) shown: String,
    pub(super) bytes: u64,
    pub(super) kind: Kind,
}

/// What the folders have.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// By kind, then by name.
    pub(super) files: Vec<Candidate>,
    pub(super) unread: Vec<Unread>,
    pub(super) passed_over: usize,
    /// Why not everything was looked at.
    pub(super) stopped: Option<String>,
}

/// Looks through the folders. Links to folders are not followed: they may lead round in a circle.
pub(super) fn search(roots: &[PathBuf], site: &Path) -> Found {
    let site = site.canonicalize().ok();
    let mut found = Found::default();
    let mut left: Vec<(PathBuf, usize)> = roots.iter().map(|root| (root.clone(), 0)).collect();
    let mut looked_at = 0;
    while let Some((path, depth)) = left.pop() {
        looked_at += 1;
        if looked_at > MOST_FILES {
            let why = format!(
                "Hocket stopped after {MOST_FILES} files; name the folders that hold records."
            );
            found.stopped = Some(why);
            break;
        }
        match std::fs::metadata(&path) {
            Ok(there) if there.is_file() => found.take(path, there.len()),
            Ok(there) if there.is_dir() => {
                let is_site = || site.is_some() && path.canonicalize().ok() == site;
                if (depth > 0 && path.is_symlink()) || is_site() {
                    continue;
                }
                match within(&path) {
                    Ok(inside) if depth < DEPTH => {
                        left.extend(inside.into_iter().map(|path| (path, depth + 1)));
                    }
                    Ok(_) => found.refuse(
                        &path,
                        format!("deeper than {DEPTH} folders; name it to have it read"),
                    ),
                    Err(cause) => found.refuse(&path, format!("cannot be read: {cause}")),
                }
            }
            // Pipes, devices, links that lead nowhere.
            _ => found.passed_over += 1,
        }
    }
    found.files.sort_by(|a, b| (a.kind, &a.path).cmp(&(b.kind, &b.path)));
    found.files.dedup_by(|a, b| a.path == b.path);
    found
}

fn within(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let is_hidden = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
    };
    let all = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let all: Vec<PathBuf> = all.collect::<std::io::Result<_>>()?;
    Ok(all.into_iter().filter(|path| !is_hidden(path)).collect())
}

impl Found {
    fn take(&mut self, path: PathBuf, bytes: u64) {
        match Kind::of(&path) {
            Some(kind) => {
                let shown = path.display().to_string();
                self.files.push(Candidate { path, shown, bytes, kind });
            }
            None => self.passed_over += 1,
        }
    }

    fn refuse(&mut self, path: &Path, why: String) {
        self.unread.push(Unread { shown: path.display().to_string(), why });
    }
}
