//! What killed runs left among the temporary files, and what only looks like it.

use crate::support::{Ran, files, hocket};

/// The note is in the user's own folder, and names an interrupt that there never was: nothing of this machine is touched.
#[test]
fn settings_that_a_killed_run_left_are_named_and_put_back() {
    let own = tempfile::tempdir().unwrap();
    let note = own.path().join("hocket/settings-restore");
    std::fs::create_dir(own.path().join("hocket")).unwrap();
    std::fs::write(&note, "process=2147483647\nstarted=1\ninterrupt-4000000000=0\n").unwrap();
    let machine = |option: &[&str]| -> Ran {
        let arguments = [&["machine"], option].concat();
        hocket(&arguments).env("XDG_RUNTIME_DIR", own.path()).output().unwrap().into()
    };
    let said = machine(&[]).err;
    for words in ["process 2147483647, which is gone", "/proc/irq/4000000000/", "--restore"] {
        assert!(said.contains(words), "no '{words}' in {said}");
    }
    let restored = machine(&["--restore"]);
    assert!(restored.code == Some(0) && restored.out.contains("`0` again"), "{}", restored.err);
    assert!(!note.exists());
    assert!(!machine(&[]).err.contains("which is gone"));
}

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
