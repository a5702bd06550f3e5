//! Settings of a made-up machine: what is changed is put back, however the program ends.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hocket_machine::changes::{Change, ChangeError, Root, Setting};

const TREE: &str = "HOCKET_TEST_CHANGES_TREE";
const WAY_OUT: &str = "HOCKET_TEST_CHANGES_WAY_OUT";
const CPUS: [u32; 2] = [0, 1];

/// Two CPUs, three interrupts of which the first never comes to CPU 0, and a choice of preemption modes.
struct Tree(tempfile::TempDir);

impl Tree {
    fn new() -> Tree {
        let tree = Tree(tempfile::tempdir().expect("a folder"));
        CPUS.iter().for_each(|cpu| tree.put(&governor(*cpu), "powersave\n"));
        [(3, "1\n"), (24, "0-1\n"), (25, "0\n")]
            .iter()
            .for_each(|(n, cpus)| tree.put(&irq(*n), cpus));
        tree.put(PREEMPT, "none (voluntary) full\n");
        tree
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    fn says(&self, path: &str) -> String {
        fs::read_to_string(self.path().join(path)).expect("there").trim().to_string()
    }

    fn note(&self) -> PathBuf {
        self.path().join("run/hocket/settings-restore")
    }

    fn assert_put_back(&self) {
        CPUS.iter().for_each(|cpu| assert_eq!(self.says(&governor(*cpu)), "powersave"));
        assert_eq!([irq(3), irq(24), irq(25)].map(|path| self.says(&path)), ["1", "0-1", "0"]);
        assert!(self.says(PREEMPT).contains("voluntary"), "{}", self.says(PREEMPT));
        assert!(!self.note().exists());
    }

    fn assert_changed(&self) {
        CPUS.iter().for_each(|cpu| assert_eq!(self.says(&governor(*cpu)), "performance"));
        assert_eq!([irq(3), irq(24), irq(25)].map(|path| self.says(&path)), ["1", "1", "1"]);
        assert_eq!(self.says(PREEMPT), "full");
    }
}

const PREEMPT: &str = "sys/kernel/debug/sched/preempt";

fn governor(cpu: u32) -> String {
    format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor")
}

fn irq(number: u32) -> String {
    format!("proc/irq/{number}/smp_affinity_list")
}

/// Everything that can be changed.
fn all(root: &Root) -> Vec<Change> {
    let groups = [
        root.governors(&CPUS, "performance"),
        root.interrupts_away_from(0, &CPUS),
        root.preemption("full"),
    ];
    groups.into_iter().flat_map(|group| group.expect("there is something to change")).collect()
}

#[test]
fn changes_are_read_back_and_put_back() {
    let tree = Tree::new();
    let root = Root::at(tree.path());
    let keeper = root.keep(&all(&root)).expect("kept");
    assert!(tree.note().exists());
    assert_eq!(keeper.before().len(), 5, "the first interrupt stays where it is");
    let changed = keeper.change(&all(&root)).expect("changed");
    assert_eq!(changed.count(), 5);
    tree.assert_changed();
    changed.put_back().expect("put back");
    assert!(tree.note().exists(), "until the keeper ends");
    keeper.finish().expect("all is as before");
    tree.assert_put_back();
}

#[test]
fn a_panic_puts_them_back() {
    let tree = Tree::new();
    let result = std::panic::catch_unwind(|| {
        let root = Root::at(tree.path());
        let changes = all(&root);
        let keeper = root.keep(&changes).expect("kept");
        let _changed = keeper.change(&changes).expect("changed");
        panic!("on purpose");
    });
    assert!(result.is_err());
    tree.assert_put_back();
}

#[test]
fn only_one_process_changes_settings_at_a_time() {
    let tree = Tree::new();
    let root = Root::at(tree.path());
    let keeper = root.keep(&all(&root)).expect("kept");
    let me = std::process::id() as i32;
    assert_eq!(root.keep(&all(&root)).err(), Some(ChangeError::Busy(me)));
    assert!(root.left_behind().is_none(), "its owner lives");
    let waited = root.wait_until_put_back(Duration::ZERO);
    assert_eq!(
        waited,
        Err(ChangeError::LeftBehind(me)),
        "settings are as before, the note is there"
    );
    drop(keeper);
    assert_eq!(root.wait_until_put_back(Duration::ZERO), Ok(()));
}

#[test]
fn a_setting_that_cannot_be_put_back_is_named_with_its_value() {
    let tree = Tree::new();
    let root = Root::at(tree.path());
    let changes = all(&root);
    let keeper = root.keep(&changes).expect("kept");
    let changed = keeper.change(&changes).expect("changed");
    // Nobody can write to a folder, whatever the rights.
    let lost = tree.path().join(governor(1));
    fs::remove_file(&lost).expect("removed");
    fs::create_dir(&lost).expect("made");
    let why = changed.put_back().expect_err("a folder").to_string();
    let told = "/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor could not be put back";
    assert!(why.starts_with(told) && why.contains("write `powersave` to it"), "{why}");
    assert_eq!(tree.says(&governor(0)), "powersave", "the others are put back");
    assert_eq!(tree.says(&irq(24)), "0-1");
    assert!(matches!(keeper.finish(), Err(ChangeError::NotPutBack(_))));
    assert!(tree.note().exists(), "for the next start");
    let waited = root.wait_until_put_back(Duration::ZERO);
    assert!(matches!(waited, Err(ChangeError::NotPutBack(lost)) if lost.len() == 1));
}

#[test]
fn what_has_no_way_back_is_not_changed() {
    let tree = Tree::new();
    let root = Root::at(tree.path());
    let mut changes = root.governors(&CPUS, "performance").expect("two");
    changes.push(Change { setting: Setting::Governor { cpu: 9 }, value: "performance".into() });
    let refused = root.keep(&changes).expect_err("there is no CPU 9");
    assert!(refused.to_string().contains("cpu9"), "{refused}");
    tree.assert_put_back();
    // An interrupt that cannot be moved stays; without any other, that is the answer.
    let fixed = Change { setting: Setting::Interrupt { number: 99 }, value: "1".into() };
    assert!(root.keep(std::slice::from_ref(&fixed)).is_err());
    let mut some = root.interrupts_away_from(0, &CPUS).expect("two");
    some.push(fixed);
    let keeper = root.keep(&some).expect("kept");
    assert_eq!(keeper.change(&some).expect("changed").count(), 2);
    drop(keeper);
    tree.assert_put_back();
}

#[test]
fn without_a_place_for_the_note_nothing_is_changed() {
    let tree = Tree::new();
    fs::write(tree.path().join("run"), "a file where a folder is needed").expect("written");
    let root = Root::at(tree.path());
    assert!(matches!(root.keep(&all(&root)), Err(ChangeError::NoWayBack(_))));
    tree.assert_put_back();
}

#[test]
fn what_there_is_nothing_to_change_of_says_why() {
    let tree = Tree::new();
    let root = Root::at(tree.path());
    let why = |changes: Result<Vec<Change>, String>| changes.expect_err("nothing to change");
    assert!(why(root.governors(&CPUS, "powersave")).contains("`powersave` already"));
    assert!(why(root.governors(&[7], "performance")).contains("cpufreq"));
    assert!(why(root.interrupts_away_from(0, &[0])).contains("no other CPU"));
    assert!(why(root.interrupts_away_from(7, &CPUS)).contains("CPU 7"));
    assert!(why(root.preemption("voluntary")).contains("already"));
    assert!(why(root.preemption("extreme")).contains("no preemption mode `extreme`"));
    fs::remove_file(tree.path().join(PREEMPT)).expect("removed");
    assert!(why(root.preemption("full")).contains("debugfs"));
}

#[test]
fn a_program_that_is_ended_is_cleaned_up_after() {
    for way_out in ["interrupt", "terminate", "kill", "exit", "abort"] {
        let tree = Tree::new();
        let mut program = Program::start(tree.path(), way_out);
        tree.assert_changed();
        program.end();
        let root = Root::at(tree.path());
        root.wait_until_put_back(Duration::from_secs(120)).expect(way_out);
        tree.assert_put_back();
    }
}

#[test]
fn what_everybody_left_behind_is_found_and_put_back() {
    let tree = Tree::new();
    let mut program = Program::start(tree.path(), "kill");
    let number = program.0.id();
    for caretaker in children_of(number) {
        assert!(send(caretaker, libc::SIGKILL));
    }
    program.end();
    tree.assert_changed();
    let root = Root::at(tree.path());
    let refused = root.keep(&[Change { setting: Setting::Preemption, value: "none".into() }]);
    assert_eq!(refused.err(), Some(ChangeError::LeftBehind(number as i32)));
    let left = root.left_behind().expect("the note is there");
    assert_eq!((left.process(), left.before().len()), (number as i32, 5));
    // An interrupt that is gone has nothing to put back.
    fs::remove_file(tree.path().join(irq(25))).expect("removed");
    left.restore().expect("put back");
    tree.put(&irq(25), "0");
    tree.assert_put_back();
    assert!(root.left_behind().is_none());
}

/// This binary again, which changes everything and then ends in its own way.
struct Program(Child);

impl Program {
    fn start(folder: &Path, way_out: &str) -> Program {
        let me = std::env::current_exe().expect("a path");
        let child = Command::new(me)
            .args(["--exact", "--ignored", "--nocapture", "changes_and_ends"])
            .env(TREE, folder)
            .env(WAY_OUT, way_out)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .stdin(Stdio::piped())
            .spawn();
        let mut program = Program(child.expect("it starts"));
        let mut lines = BufReader::new(program.0.stdout.as_mut().expect("a pipe")).lines();
        assert!(lines.any(|line| line.is_ok_and(|line| line.contains("all is changed"))));
        program
    }

    /// Returns when everybody who has its output open is gone; the caretaker must not be among them.
    fn end(&mut self) {
        drop(self.0.stdin.take());
        let mut rest = String::new();
        self.0.stdout.take().expect("a pipe").read_to_string(&mut rest).expect("the end");
        self.0.wait().expect("it ends");
    }
}

/// Run by [`Program::start`] only.
#[test]
#[ignore = "a helper process of a_program_that_is_ended_is_cleaned_up_after"]
fn changes_and_ends() {
    let Some(folder) = std::env::var_os(TREE) else { return };
    let root = Root::at(Path::new(&folder));
    let changes = all(&root);
    let keeper = root.keep(&changes).expect("kept");
    let changed = keeper.change(&changes).expect("changed");
    println!("all is changed");
    std::io::stdin().read_to_end(&mut Vec::new()).expect("the end of the input");
    let me = std::process::id();
    match std::env::var(WAY_OUT).as_deref() {
        Ok("exit") => {
            std::mem::forget(changed);
            std::process::exit(0)
        }
        Ok("abort") => std::process::abort(),
        Ok("interrupt") => assert!(send(me, libc::SIGINT)),
        Ok("terminate") => assert!(send(me, libc::SIGTERM)),
        _ => assert!(send(me, libc::SIGKILL)),
    }
}

/// By the system call, so that the test needs no other program.
fn send(process: u32, signal: libc::c_int) -> bool {
    // SAFETY: the kernel checks the number; it is this process or a child of a child of it.
    unsafe { libc::kill(process as libc::pid_t, signal) == 0 }
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
