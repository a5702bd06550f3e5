//! Files for parsers that read files: one folder per thread, written anew for each input.

use std::path::PathBuf;

use tempfile::TempDir;

thread_local! {
    static FOLDER: TempDir = tempfile::tempdir().expect("a temporary folder");
}

/// A file of this name and content. A name may lie in a folder.
pub fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = FOLDER.with(|folder| folder.path().join(name));
    std::fs::create_dir_all(path.parent().expect("it lies in the folder")).expect("a folder");
    std::fs::write(&path, bytes).expect("the temporary folder can be written");
    path
}

/// A folder of this name with nothing in it.
pub fn empty_folder(name: &str) -> PathBuf {
    let path = FOLDER.with(|folder| folder.path().join(name));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("the temporary folder can be written");
    path
}
