//! What killed runs left among the temporary files, and what only looks like it.

use crate::support::{Ran, files, hocket};

/// The folders of previews, jobs, projects, and of two of the lab's experiments: a lock that nobody holds says whose they are.
#[test]
fn the_next_start_removes_every_kind_of_folder_of_a_killed_run() {
    let temporary = tempfile::tempdir().unwrap();
    let at = |name: &str| temporary.path().join(name);
    let kinds = [
        "hocket-project-",
        "hocket-render-",
        "hocket-preview-",
        "hocket-lab-files-",
        "hocket-lab-kernel-",
        "hocket-guest-",
    ];
    for kind in kinds {
        std::fs::create_dir(at(&format!("{kind}1234-0"))).unwrap();
        std::fs::write(at(&format!("{kind}1234-0/client")), "half a file").unwrap();
        std::fs::write(at(&format!("{kind}1234-0.lock")), "hocket scratch folder\n").unwrap();
        // Without a lock it is somebody's, whatever it is called.
        std::fs::create_dir(at(&format!("{kind}1234-1"))).unwrap();
    }
    let next =
        || -> Ran { hocket(&["machine"]).env("TMPDIR", temporary.path()).output().unwrap().into() };
    let ran = next();
    let stays: Vec<String> = files(temporary.path());
    for kind in kinds {
        assert!(ran.err.contains(&format!("{kind}1234-0")), "{kind}: {}", ran.err);
        assert!(stays.contains(&format!("{kind}1234-1")), "{stays:?}");
    }
    assert_eq!(stays.len(), kinds.len(), "{stays:?}");
    assert!(!next().err.contains("removed"));
}
