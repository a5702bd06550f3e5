//! The lab's files that are made and removed: whole while they are there, and then gone.
#![cfg(target_os = "linux")]

use std::io::ErrorKind;
use std::path::Path;

use hocket_kernels::system::{CreatedFiles, Operation, run_here, run_in_processes};

#[test]
fn files_are_whole_and_then_gone() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path();
    for bytes in [0, 10_240] {
        for (times, files) in [
            (103, CreatedFiles::made(folder, "a", bytes).unwrap()),
            (3, CreatedFiles::removed(folder, "b", bytes).unwrap()),
        ] {
            let mut files: [Box<dyn Operation>; 1] = [Box::new(files)];
            let ran = run_in_processes(&mut files, &[&[]], None, times).unwrap();
            assert_eq!((ran[0].times, ran[0].right), (times, times));
        }
    }
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
}

#[test]
fn a_folder_that_is_not_there_is_told() {
    let mut files = CreatedFiles::made(Path::new("/nowhere/none"), "a", 1).unwrap();
    assert_eq!(run_here(&mut files, 1).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn what_a_killed_run_has_left_is_removed() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path();
    std::fs::write(folder.join("a-00"), "left").unwrap();
    let mut files = CreatedFiles::made(folder, "a", 1).unwrap();
    assert_eq!(run_here(&mut files, 1).unwrap().right, 1);
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
}
