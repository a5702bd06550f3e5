//! The SMT switch on a made-up tree: what is switched off is switched back, however the program ends. The real switch
//! is tried only where HOCKET_TEST_WHOLE_MACHINE is set, since it belongs to the whole machine.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use hocket_machine::smt::{Root, SmtControl, SmtError, SmtOff};

const TREE: &str = "HOCKET_TEST_SMT_TREE";
const WAY_OUT: &str = "HOCKET_TEST_SMT_WAY_OUT";

/// A machine with four CPUs in two cores, the last of which somebody had taken off line before.
fn tree() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let put = |path: &str, text: &str| {
        let path = folder.path().join("sys/devices/system/cpu").join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    };
    put("smt/control", "on\n");
    put("smt/active", "1\n");
    put("online", "0-2\n");
    put("present", "0-3\n");
    (0..4).for_each(|cpu| put(&format!("cpu{cpu}/online"), "1\n"));
    folder
}

fn read(folder: &Path, path: &str) -> String {
    let text = fs::read_to_string(folder.join("sys/devices/system/cpu").join(path));
    text.expect("there").trim().to_string()
}

fn note(folder: &Path) -> std::path::PathBuf {
    folder.join("run/hocket/smt-restore")
}

fn assert_put_back(folder: &Path) {
    assert_eq!(read(folder, "smt/control"), "on");
    assert_eq!(read(folder, "cpu3/online"), "0", "it was off line before");
    assert_eq!(read(folder, "cpu2/online"), "1");
    assert!(!note(folder).exists());
}

fn switch_off(folder: &Path) -> SmtOff {
    let off = Root::at(folder).switch_off().unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(off.before().control, SmtControl::On);
    assert_eq!(off.now().control, SmtControl::Off);
    off
}

#[test]
fn off_is_read_back_and_put_back() {
    let tree = tree();
    let off = switch_off(tree.path());
    assert_eq!(read(tree.path(), "smt/control"), "off");
    assert!(note(tree.path()).exists());
    let after = off.restore().unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(after.control, SmtControl::On);
    assert_put_back(tree.path());
}

#[test]
fn a_panic_puts_it_back() {
    let tree = tree();
    let result = std::panic::catch_unwind(|| {
        let _off = switch_off(tree.path());
        panic!("on purpose");
    });
    assert!(result.is_err());
    assert_put_back(tree.path());
}

#[test]
fn only_one_may_switch_at_a_time() {
    let tree = tree();
    let off = switch_off(tree.path());
    let me = std::process::id() as i32;
    assert_eq!(Root::at(tree.path()).switch_off().err(), Some(SmtError::Busy(me)));
    assert!(Root::at(tree.path()).left_behind().is_none(), "its owner lives");
    drop(off);
    assert_put_back(tree.path());
}

#[test]
fn what_cannot_be_switched_says_why() {
    let tree = tree();
    let refused = |word: &str| {
        fs::write(tree.path().join("sys/devices/system/cpu/smt/control"), word).expect("written");
        Root::at(tree.path()).switch_off().expect_err("refused").to_string()
    };
    assert!(refused("notsupported\n").contains("sees no SMT"));
    assert!(refused("notimplemented\n").contains("cannot switch SMT"));
    assert!(refused("perhaps\n").contains("`perhaps`"));
    fs::remove_file(tree.path().join("sys/devices/system/cpu/smt/control")).expect("removed");
    let error = Root::at(tree.path()).switch_off().expect_err("no file");
    assert!(matches!(error, SmtError::NoSwitch(_)), "{error}");
    assert!(!note(tree.path()).exists());
}

#[test]
fn what_is_off_stays_off() {
    let tree = tree();
    let control = tree.path().join("sys/devices/system/cpu/smt/control");
    for word in ["off", "forceoff", "1"] {
        fs::write(&control, word).expect("written");
        drop(Root::at(tree.path()).switch_off().unwrap_or_else(|e| panic!("{e}")));
        assert_eq!(fs::read_to_string(&control).expect("there"), word);
    }
}

#[test]
fn without_a_place_for_the_note_nothing_is_switched() {
    let tree = tree();
    fs::write(tree.path().join("run"), "a file where a folder is needed").expect("written");
    let error = Root::at(tree.path()).switch_off().expect_err("no note");
    assert!(matches!(error, SmtError::NoWayBack(_)), "{error}");
    assert_eq!(read(tree.path(), "smt/control"), "on");
}

#[test]
fn a_killed_process_is_cleaned_up_after() {
    for way_out in ["kill", "exit", "abort"] {
        let tree = tree();
        let mut child = program(tree.path(), way_out);
        // Ends when the child and everybody who has its output open is gone; the caretaker must not be among them.
        child.end();
        wait_until(|| !note(tree.path()).exists());
        assert_put_back(tree.path());
    }
}

#[test]
fn what_everybody_left_behind_is_found() {
    let tree = tree();
    let mut child = program(tree.path(), "kill");
    let number = child.0.id();
    for caretaker in children_of(number) {
        assert!(kill(caretaker));
    }
    child.end();
    assert_eq!(read(tree.path(), "smt/control"), "off");
    let root = Root::at(tree.path());
    assert_eq!(root.switch_off().err(), Some(SmtError::LeftBehind(number as i32)));
    let left = root.left_behind().expect("the note is there");
    assert_eq!((left.process(), left.before()), (number as i32, &SmtControl::On));
    let after = left.restore().unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(after.control, SmtControl::On);
    assert_put_back(tree.path());
    assert!(root.left_behind().is_none());
}

/// This binary again, which switches off and then ends in its own way.
struct Program(Child);

fn program(folder: &Path, way_out: &str) -> Program {
    let me = std::env::current_exe().expect("a path");
    let arguments = ["--exact", "--ignored", "--nocapture", "switches_off_and_ends"];
    let child = Command::new(me)
        .args(arguments)
        .env(TREE, folder)
        .env(WAY_OUT, way_out)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .stdin(Stdio::piped())
        .spawn();
    let mut program = Program(child.expect("it starts"));
    program.wait_until_off();
    program
}

impl Program {
    fn wait_until_off(&mut self) {
        let mut lines = BufReader::new(self.0.stdout.as_mut().expect("a pipe")).lines();
        assert!(lines.any(|line| line.is_ok_and(|line| line.contains("SMT is off"))));
    }

    fn end(&mut self) {
        drop(self.0.stdin.take());
        let mut rest = String::new();
        self.0.stdout.take().expect("a pipe").read_to_string(&mut rest).expect("the end");
        self.0.wait().expect("it ends");
    }
}

/// Run by [`program`] only.
#[test]
#[ignore = "a helper process of a_killed_process_is_cleaned_up_after"]
fn switches_off_and_ends() {
    let Some(folder) = std::env::var_os(TREE) else { return };
    let off = switch_off(Path::new(&folder));
    println!("SMT is off");
    std::io::stdin().read_to_end(&mut Vec::new()).expect("the end of the input");
    match std::env::var(WAY_OUT).as_deref() {
        Ok("exit") => {
            std::mem::forget(off);
            std::process::exit(0)
        }
        Ok("abort") => std::process::abort(),
        _ => {
            kill(std::process::id());
        }
    }
}

/// By the system call, so that the test needs no other program.
fn kill(process: u32) -> bool {
    // SAFETY: the kernel checks the number; it is this process or a child of a child of it.
    unsafe { libc::kill(process as libc::pid_t, libc::SIGKILL) == 0 }
}

/// The numbers of the processes whose parent is `process`.
fn children_of(process: u32) -> Vec<u32> {
    let parent =
        |stat: &str| stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse::<u32>().ok();
    let numbers = fs::read_dir("/proc").expect("a folder").flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let stat = |number: &u32| fs::read_to_string(format!("/proc/{number}/stat")).ok();
    numbers.filter(|number| stat(number).and_then(|s| parent(&s)) == Some(process)).collect()
}

fn wait_until(condition: impl Fn() -> bool) {
    // Two minutes are only there to end a hang.
    for _ in 0..12_000 {
        if condition() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("it did not come to pass");
}

#[test]
fn the_real_switch() {
    let root = Root::live();
    let before = match (root.may_switch(), std::env::var_os("HOCKET_TEST_WHOLE_MACHINE")) {
        (Err(why), _) => return println!("SKIPPED the_real_switch: {why}"),
        (Ok(_), None) => {
            return println!(
                "SKIPPED the_real_switch: it concerns the whole machine (set HOCKET_TEST_WHOLE_MACHINE)"
            );
        }
        (Ok(_), Some(_)) => root.state().unwrap_or_else(|e| panic!("{e}")),
    };
    let off = root.switch_off().unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(off.now().active.value(), Some(&false), "{:?}", off.now());
    assert_eq!(off.restore().as_ref(), Ok(&before));
    assert!(root.left_behind().is_none());
}
