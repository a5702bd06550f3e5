//! Cost files are whole or not there, whatever interrupts their writer.

use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use hocket_files::dead_parts_in;
use hocket_session::read_costs;

use super::*;

/// Names the file for the child.
const FILE: &str = "HOCKET_C_TEST_COSTS";

/// An engine that has measured something.
fn measured() -> *mut Engine {
    let engine = engine(Some(ones), null_mut());
    (0..50).for_each(|_| assert_eq!(process_any(engine), Status::Ok));
    engine
}

fn save(engine: *const Engine, path: &Path) -> (Status, String) {
    let path = CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: told.
    told(|error| unsafe { hocket_engine_save_costs(engine, path.as_ptr(), error) })
}

fn stop(engine: *mut Engine) {
    // SAFETY: told.
    assert_eq!(unsafe { hocket_engine_stop(engine) }, Status::Ok);
}

fn names_in(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn threads_that_save_at_once_never_mix_their_tables() {
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("costs.toml");
    let engine = measured();
    assert_eq!(save(engine, &file), (Status::Ok, String::new()));
    let (handle, is_over) = (engine as usize, AtomicBool::new(false));
    std::thread::scope(|scope| {
        let write = || (0..20).for_each(|_| assert_eq!(save(handle as _, &file).0, Status::Ok));
        let writers = [scope.spawn(write), scope.spawn(write)];
        scope.spawn(|| {
            while !is_over.load(Relaxed) {
                read_costs(&file).expect("a whole table");
            }
        });
        let ended = writers.map(|writer| writer.join());
        is_over.store(true, Relaxed);
        assert!(ended.iter().all(Result::is_ok));
    });
    stop(engine);
    assert_eq!(names_in(folder.path()), ["costs.toml"]);
}

#[test]
fn what_cannot_be_written_says_why_and_changes_nothing() {
    let folder = tempfile::TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("folder")).unwrap();
    symlink("/dev/full", at("full")).unwrap();
    let engine = measured();
    for (name, why) in [("none/costs.toml", "No such"), ("folder", "directory"), ("full", "space")]
    {
        let (status, text) = save(engine, &at(name));
        assert_eq!(status, Status::NotPossible, "{text}");
        assert!(text.contains(name) && text.contains(why), "{text}");
        assert!(text.contains("name another file"), "{text}");
    }
    assert!(at("full").symlink_metadata().unwrap().is_symlink());
    // A link stays one, and where it leads the table is.
    symlink("there.toml", at("link.toml")).unwrap();
    assert_eq!(save(engine, &at("link.toml")), (Status::Ok, String::new()));
    stop(engine);
    assert!(at("link.toml").symlink_metadata().unwrap().is_symlink());
    assert!(read_costs(&at("there.toml")).is_ok());
    assert_eq!(names_in(folder.path()), ["folder", "full", "link.toml", "there.toml"]);
}

#[test]
#[ignore = "a part of the next test: the system ends it while it writes"]
fn saves_where_no_file_may_grow() {
    let Some(file) = std::env::var_os(FILE) else { return };
    let (status, text) = save(measured(), Path::new(&file));
    panic!("nothing ended it: {status:?}, {text}");
}

#[test]
fn a_writer_that_is_killed_leaves_the_old_table_and_a_part_that_is_known() {
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("costs.toml");
    let engine = measured();
    assert_eq!(save(engine, &file).0, Status::Ok);
    stop(engine);
    let before = std::fs::read(&file).unwrap();
    // The first byte that goes into a file ends it with a signal.
    let mut child = Command::new("sh");
    child
        .args(["-c", "ulimit -c 0 && ulimit -f 0 && exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap());
    child.args(["--exact", "costs::saves_where_no_file_may_grow", "--ignored", "--nocapture"]);
    let ran = child.env(FILE, &file).output().unwrap();
    const SIGXFSZ: i32 = 25;
    assert_eq!(ran.status.signal(), Some(SIGXFSZ), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(std::fs::read(&file).unwrap(), before);
    let dead = dead_parts_in(folder.path());
    assert!(matches!(&dead[..], [part] if part.target == file), "{dead:?}");
    assert_eq!(names_in(folder.path()).len(), 2, "the table and the part");
}
