//! The files of a checkout.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders that are never part of the source, for checkouts without git.
const NOT_SOURCE: [&str; 4] = [".git", "target", "out", ".hocket-cache"];

/// Files under version control, relative to `root`; without git, every file that could be source.
pub fn tracked_files(root: &Path) -> Result<Vec<PathBuf>, String> {
    if !root.join(".git").exists() {
        return walk(root).map(|files| strip(root, files));
    }
    let listing = Command::new("git").arg("-C").arg(root).args(["ls-files", "-z"]).output();
    let listing = listing.map_err(|error| format!("git ls-files: {error}"))?;
    if !listing.status.success() {
        return Err(format!("git ls-files: {}", String::from_utf8_lossy(&listing.stderr).trim()));
    }
    let names = String::from_utf8_lossy(&listing.stdout);
    Ok(names.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from).collect())
}

/// The text of `file`, or `None` where it is gone, not text or a link.
pub fn text(root: &Path, file: &Path) -> Option<String> {
    let path = root.join(file);
    if !path.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let text = String::from_utf8(std::fs::read(path).ok()?).ok()?;
    (!text.contains('\0')).then_some(text)
}

/// Every Rust source file below `folder`, as full paths in alphabetical order.
pub fn rust_files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut files = walk(folder)?;
    files.retain(|file| file.extension() == Some(OsStr::new("rs")));
    files.sort();
    Ok(files)
}

fn walk(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        let entries = std::fs::read_dir(&folder);
        for entry in entries.map_err(|error| format!("{}: {error}", folder.display()))? {
            let path = entry.map_err(|error| format!("{}: {error}", folder.display()))?.path();
            match path.symlink_metadata() {
                Ok(meta) if meta.is_file() => files.push(path),
                Ok(meta) if meta.is_dir() && !is_not_source(&path) => open.push(path),
                _ => {}
            }
        }
    }
    Ok(files)
}

fn is_not_source(folder: &Path) -> bool {
    folder.file_name().and_then(OsStr::to_str).is_some_and(|name| NOT_SOURCE.contains(&name))
}

fn strip(root: &Path, files: Vec<PathBuf>) -> Vec<PathBuf> {
    let relative = files.iter().filter_map(|file| file.strip_prefix(root).ok());
    relative.map(Path::to_path_buf).collect()
}
