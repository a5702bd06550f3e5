//! Topologies of machines, as the kernel's own files tell them: a path and its content a line.

use std::path::{Component, Path};

use hocket_machine::Topology;

use super::{scratch, topology};

/// More files than this only take longer.
const MOST_FILES: usize = 512;

pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let root = scratch::empty_folder("root");
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    for (path, content) in lines.filter(|(path, _)| is_below(path)).take(MOST_FILES) {
        let path = root.join(path);
        // A name may already be that of a folder.
        let _ = path.parent().map(std::fs::create_dir_all);
        let _ = std::fs::write(path, content);
    }
    match Topology::from_sysfs(&root) {
        Ok(found) => {
            assert_eq!(Topology::from_sysfs(&root).expect("as before"), found);
            topology::check_found(&found);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Nothing is written beside the folder.
fn is_below(path: &str) -> bool {
    let path = Path::new(path);
    path.as_os_str().len() < 200
        && path.components().all(|part| matches!(part, Component::Normal(_)))
}
