//! A tracing instance of one's own, which is gone afterwards, also if this process is killed.
//!
//! The kernel's tracers run in a folder below `instances` of tracefs, so that what others trace stays as it is. A shell
//! takes the folder away again. It waits for the end of a pipe, so it does its work when [`Instance`] is dropped, and also
//! when this process panics, is interrupted or is killed. It is in a process group of its own and ignores the signals that
//! a terminal sends. Who kills a whole control group, as a service manager does and the kernel without memory may, also kills the
//! shell. Then the folder and its tracer stay until somebody removes them.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Where the kernel mounts tracefs.
pub(super) const TRACEFS: &str = "/sys/kernel/tracing";

/// Waits for the end of its input, switches the tracer off and removes the folder; a moment later once more, if somebody
/// still reads there.
const CARETAKER: &str = r#"trap '' INT TERM HUP QUIT
read -r _
for _ in 1 2 3 4 5; do
  echo nop >"$1/current_tracer"
  rmdir "$1" && exit 0
  sleep 0.2
done 2>/dev/null
exit 1"#;

/// See above.
#[derive(Debug)]
pub(super) struct Instance {
    folder: PathBuf,
    caretaker: Child,
}

impl Instance {
    /// Thread: control. Cost: a process and some folders.
    ///
    /// # Errors
    /// In words: tracefs is missing or may not be written, or no shell starts.
    pub(super) fn make() -> Result<Instance, String> {
        Instance::below(Path::new(TRACEFS))
    }

    fn below(tracefs: &Path) -> Result<Instance, String> {
        // Threads of one process, as in tests, have one each.
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        // Relaxed: only the number counts.
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("hocket-soak-{}-{number}", std::process::id());
        let folder = tracefs.join("instances").join(name);
        // The way back first: it finds nothing to remove if the folder cannot be made.
        let mut caretaker = caretaker(&folder).map_err(|error| format!("sh: {error}"))?;
        if let Err(error) = fs::create_dir(&folder) {
            drop(caretaker.stdin.take());
            let _ = caretaker.kill();
            let _ = caretaker.wait();
            return Err(format!("{}: {error}", folder.display()));
        }
        Ok(Instance { folder, caretaker })
    }

    /// Starts a tracer, or leaves none.
    ///
    /// # Errors
    /// In words, with the file.
    pub(super) fn start(&self, tracer: &str) -> Result<(), String> {
        let started =
            self.write("current_tracer", tracer).and_then(|()| self.write("tracing_on", "1"));
        started.inspect_err(|_| {
            // The first error tells more.
            let _ = self.write("current_tracer", "nop");
        })
    }

    /// What it has traced since it was started, and no tracer any more, also if a step fails: one that runs on would
    /// disturb the turns of others.
    ///
    /// # Errors
    /// In words, with the file: the first one.
    pub(super) fn stop(&self) -> Result<String, String> {
        let paused = self.write("tracing_on", "0");
        let path = self.folder.join("trace");
        // Names of threads may be anything.
        let text = fs::read(&path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let text = text.map_err(|error| told(&path, &error));
        let ended = self.write("current_tracer", "nop");
        // Writing to it empties it.
        let emptied = self.write("trace", "");
        paused?;
        let text = text?;
        ended.and(emptied).map(|()| text)
    }

    fn write(&self, file: &str, value: &str) -> Result<(), String> {
        let path = self.folder.join(file);
        fs::write(&path, value).map_err(|error| told(&path, &error))
    }
}

fn told(path: &Path, error: &io::Error) -> String {
    match error.raw_os_error() {
        // EBUSY
        Some(16) => format!("{}: another tracer of this kind is in use", path.display()),
        _ => format!("{}: {error}", path.display()),
    }
}

fn caretaker(folder: &Path) -> io::Result<Child> {
    let mut shell = Command::new("sh");
    shell.args(["-c", CARETAKER, "sh"]).arg(folder).process_group(0);
    shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}

impl Drop for Instance {
    fn drop(&mut self) {
        drop(self.caretaker.stdin.take());
        if !self.caretaker.wait().is_ok_and(|status| status.success()) {
            let folder = self.folder.display();
            eprintln!(
                "soak: a tracer could not be removed; as root: echo nop >{folder}/current_tracer; rmdir {folder}"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufRead;

    use super::*;

    /// `None`, and a line that says why, where this system has no tracing instances for this user.
    fn instance(test: &str) -> Option<Instance> {
        Instance::make().map_err(|why| println!("SKIPPED {test}: {why}")).ok()
    }

    #[test]
    fn an_instance_traces_and_is_gone_afterwards() {
        let Some(instance) = instance("an_instance_traces_and_is_gone_afterwards") else { return };
        let folder = instance.folder.clone();
        let tracer = || fs::read_to_string(folder.join("current_tracer")).unwrap();
        instance.start("nop").unwrap();
        fs::write(folder.join("trace_marker"), "a mark of the test").unwrap();
        let text = instance.stop().unwrap();
        assert!(text.contains("a mark of the test"), "{text}");
        assert_eq!(tracer().trim(), "nop");
        assert!(!instance.stop().unwrap().contains("a mark"), "the next turn begins with nothing");
        drop(instance);
        assert!(!folder.exists());
    }

    #[test]
    fn an_unknown_tracer_is_an_error_with_its_file() {
        let Some(instance) = instance("an_unknown_tracer_is_an_error_with_its_file") else {
            return;
        };
        let why = instance.start("no-such-tracer").unwrap_err();
        assert!(why.contains("current_tracer: "), "{why}");
    }

    /// Plain folders in the place of tracefs, in which a folder with the name of a file makes its writing fail.
    fn with_a_broken(file: &str) -> (tempfile::TempDir, Instance) {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("instances")).unwrap();
        let instance = Instance::below(root.path()).unwrap();
        fs::create_dir(instance.folder.join(file)).unwrap();
        (root, instance)
    }

    fn tracer_of(instance: &Instance) -> String {
        fs::read_to_string(instance.folder.join("current_tracer")).unwrap()
    }

    #[test]
    fn a_failed_start_leaves_no_tracer() {
        let (_root, instance) = with_a_broken("tracing_on");
        let why = instance.start("osnoise").unwrap_err();
        assert!(why.contains("tracing_on: "), "{why}");
        assert_eq!(tracer_of(&instance), "nop");
    }

    #[test]
    fn a_failed_stop_leaves_no_tracer_and_tells_the_first_error() {
        for file in ["tracing_on", "trace"] {
            let (_root, instance) = with_a_broken(file);
            fs::write(instance.folder.join("current_tracer"), "osnoise").unwrap();
            let why = instance.stop().unwrap_err();
            assert!(why.contains(&format!("{file}: ")), "{why}");
            assert_eq!(tracer_of(&instance), "nop");
        }
    }

    #[test]
    fn a_panic_leaves_nothing_behind() {
        let Some(instance) = instance("a_panic_leaves_nothing_behind") else { return };
        let folder = instance.folder.clone();
        let panicked = std::thread::spawn(move || {
            let _held = &instance;
            panic!("on purpose");
        });
        assert!(panicked.join().is_err());
        assert!(!folder.exists());
    }

    const HOLD: &str = "HOCKET_TEST_HOLDS_AN_INSTANCE";

    /// Does nothing but for the next test, which starts this one in a process of its own.
    #[test]
    fn a_process_holds_an_instance() {
        if std::env::var_os(HOLD).is_some() {
            let instance = Instance::make().unwrap();
            println!("\nheld: {}", instance.folder.display());
            std::thread::sleep(std::time::Duration::from_secs(60));
        }
    }

    #[test]
    fn a_killed_process_leaves_nothing_behind() {
        if instance("a_killed_process_leaves_nothing_behind").is_none() {
            return;
        }
        let name = std::thread::current().name().unwrap_or_default().to_owned();
        let held =
            name.replace("a_killed_process_leaves_nothing_behind", "a_process_holds_an_instance");
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args([&held, "--exact", "--nocapture"])
            .env(HOLD, "yes")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = io::BufReader::new(process.stdout.take().unwrap()).lines();
        let folder = lines
            .map_while(Result::ok)
            .find_map(|line| Some(line.strip_prefix("held: ")?.to_owned()));
        let folder = PathBuf::from(folder.expect("the process says what it holds"));
        assert!(folder.exists());
        process.kill().unwrap();
        process.wait().unwrap();
        // The time is there to end a failing test.
        for _ in 0..500 {
            if !folder.exists() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        panic!("{} is still there", folder.display());
    }

    /// The shell does its work for a plain folder as well, where this process is killed or interrupted: only the end of the
    /// pipe counts.
    #[test]
    fn signals_do_not_stop_the_way_back() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("instance");
        let mut caretaker = caretaker(&folder).unwrap();
        // It ignores signals from its first line on.
        while !ignores_interrupts(caretaker.id()) {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        fs::create_dir(&folder).unwrap();
        for signal in ["-INT", "-TERM", "-HUP"] {
            let process = caretaker.id().to_string();
            let sent =
                Command::new("sh").args(["-c", r#"kill "$0" "$1""#, signal, &process]).status();
            assert!(sent.unwrap().success());
        }
        assert!(folder.exists() && caretaker.try_wait().unwrap().is_none());
        drop(caretaker.stdin.take());
        // It writes `nop` into a file here, which tracefs removes with its folder.
        let ended = caretaker.wait().unwrap();
        assert_eq!(fs::read_to_string(folder.join("current_tracer")).unwrap(), "nop\n");
        assert_eq!(ended.code(), Some(1), "a plain folder with a file in it cannot be removed");
    }

    fn ignores_interrupts(process: u32) -> bool {
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
        u64::from_str_radix(ignored.trim(), 16).unwrap() & 0b10 != 0
    }

    #[test]
    fn without_tracefs_there_is_a_reason_and_no_process() {
        let root = tempfile::tempdir().unwrap();
        let why = Instance::below(root.path()).unwrap_err();
        assert!(why.contains("instances/hocket-soak-"), "{why}");
    }
}
