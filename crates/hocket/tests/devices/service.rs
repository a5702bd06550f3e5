//! The unit of a user (`packaging/user`), run by a systemd of this test's own: it has the folder of a user, its own control
//! group, and believes that the machine was started by a systemd.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use super::jackd::{Mode, Server, send, wait_until};
use super::{RATE_HZ, alone, text};

const TEST: &str = "the_unit_of_a_user_starts_stops_and_starts_again";
const SYSTEMD: &str = "/lib/systemd/systemd";
/// How long a manager may take to end with all its units.
const PATIENCE: Duration = Duration::from_secs(60);

/// A view of its own on the machine. GROUP is the name of a control group below the test's own.
const VIEW: &str = "set -e
    mount -t tmpfs none /run
    mkdir -p /run/systemd/system
    [ \"$(stat -f -c %T /sys/fs/cgroup)\" = cgroup2fs ] || mount -t cgroup2 none /sys/fs/cgroup
    group=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)/$GROUP
    ";
const BEGIN: &str = "mkdir \"$group\"
    echo $$ >\"$group/cgroup.procs\"
    exec \"$@\"";
/// Whatever is left is killed, and the group goes.
const END: &str = "if [ -e \"$group/cgroup.kill\" ]; then echo 1 >\"$group/cgroup.kill\"; fi
    for try in 1 2 3 4 5 6 7 8 9; do
        find \"$group\" -depth -type d -exec rmdir {} + 2>/dev/null && exit
        sleep 1
    done
    exit 1";

/// A shell in this view. `args`: what it has as `$@`.
fn in_view(group: &str, script: &str, args: &[&str]) -> Command {
    let mut command = Command::new("unshare");
    let script = format!("{VIEW}{script}");
    command.args(["--mount", "--propagation", "private", "sh", "-c", &script, "sh"]);
    command.args(args).env("GROUP", group).stdin(Stdio::null());
    command
}

/// The manager of a user's units.
struct Manager {
    process: Child,
    home: tempfile::TempDir,
    group: String,
}

impl Manager {
    /// `None`, and a line that says why: this system grants or has no such thing.
    fn start() -> Option<Manager> {
        let home = tempfile::tempdir().unwrap();
        let group = format!("hkt-{}", std::process::id());
        let skipped = |why: String| {
            println!("SKIPPED {TEST}: {why}");
            None
        };
        if !Path::new(SYSTEMD).exists() {
            return skipped("systemd is not installed".into());
        }
        let tried = in_view(&group, BEGIN, &["true"]).output();
        let ended = in_view(&group, END, &[]).output();
        for tried in [tried, ended] {
            match tried {
                Ok(tried) if tried.status.success() => {}
                Ok(tried) => {
                    let why = text(&tried.stderr);
                    return skipped(format!("no control group of its own: {}", why.trim()));
                }
                Err(why) => return skipped(format!("no unshare: {why}")),
            }
        }
        let run = home.path().join("run");
        std::fs::create_dir(&run).unwrap();
        let said = std::fs::File::create(home.path().join("said.txt")).unwrap();
        let mut command = in_view(&group, BEGIN, &[SYSTEMD, "--user", "--unit=basic.target"]);
        command.stdout(said.try_clone().unwrap()).stderr(said);
        let process = in_home(&mut command, home.path()).spawn().unwrap();
        let mut manager = Manager { process, home, group };
        manager.await_answer();
        Some(manager)
    }

    fn await_answer(&mut self) {
        let said = self.home.path().join("said.txt");
        wait_until("systemd", || {
            let ended = self.process.try_wait().unwrap();
            assert_eq!(ended, None, "{}", std::fs::read_to_string(&said).unwrap());
            self.systemctl(&["is-active", "basic.target"]).status.success()
        });
    }

    fn systemctl(&self, args: &[&str]) -> Output {
        let mut command = Command::new("systemctl");
        command.args(["--user", "--no-pager"]).args(args);
        in_home(&mut command, self.home.path()).output().unwrap()
    }

    #[track_caller]
    fn done(&self, args: &[&str]) -> String {
        let output = self.systemctl(args);
        assert!(output.status.success(), "systemctl {args:?}: {}", text(&output.stderr));
        text(&output.stdout).trim().to_owned()
    }

    fn property(&self, unit: &str, name: &str) -> String {
        self.done(&["show", "--value", "--property", name, unit])
    }

    fn restarts(&self, unit: &str) -> u32 {
        self.property(unit, "NRestarts").parse().unwrap()
    }

    /// A file of the user, below the home folder.
    fn file(&self, name: &str) -> PathBuf {
        let path = self.home.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    fn session(&self, name: &str, length_s: f64) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let audio = root.join("sessions/audio/29800__stomachache__3.wav");
        let audio = audio.canonicalize().unwrap();
        let take = self.file(&format!("music/{name}.wav"));
        let text = format!(
            "[session]\nsample_rate_hz = 48000\nlength_s = {length_s}\n\n\
             [[track]]\nname = \"one\"\nclip = [{{ file = \"{}\", loop = true }}]\n\n\
             [[take]]\nfrom = \"master\"\nfile = \"{}\"\n",
            audio.display(),
            take.display()
        );
        std::fs::write(self.file(&format!(".config/hocket/{name}.toml")), text).unwrap();
    }

    /// Waits until the start with this number has a log that says how it began.
    fn await_log(&self, name: &str, number: u32) {
        wait_until("the log", || self.log(name, number).contains("\"event\":\"start\""));
    }

    fn log(&self, name: &str, number: u32) -> String {
        let number = if number == 1 { String::new() } else { format!("-{number}") };
        let log = self.home.path().join(format!(".local/state/hocket/{name}{number}.jsonl"));
        std::fs::read_to_string(log).unwrap_or_default()
    }
}

/// The user's own variables.
fn in_home<'a>(command: &'a mut Command, home: &Path) -> &'a mut Command {
    let units = format!("{}:/usr/lib/systemd/user", home.join(".config/systemd/user").display());
    command.env("HOME", home).env("XDG_RUNTIME_DIR", home.join("run"));
    // Nothing that this machine's users have switched on.
    command.env("SYSTEMD_UNIT_PATH", units).env("LC_ALL", "C");
    for name in ["DBUS_SESSION_BUS_ADDRESS", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "NOTIFY_SOCKET"] {
        command.env_remove(name);
    }
    command
}

impl Drop for Manager {
    fn drop(&mut self) {
        if let Ok(None) = self.process.try_wait() {
            send(self.process.id(), "-TERM");
        }
        let begun = Instant::now();
        while matches!(self.process.try_wait(), Ok(None)) && begun.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = in_view(&self.group, END, &[]).output();
    }
}

/// As the comments of the unit say: copied, enabled, started before there is a server, stopped by SIGINT. docs/live.md says
/// after which exit codes it starts again.
#[test]
fn the_unit_of_a_user_starts_stops_and_starts_again() {
    let _alone = alone();
    let Some(mut server) = Server::start(TEST, RATE_HZ, 256, Mode::Usual) else { return };
    let Some(manager) = Manager::start() else { return };
    // Its name is known now, and there is none.
    server.end("-TERM");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let unit = manager.file(".config/systemd/user/hocket@.service");
    std::fs::copy(root.join("packaging/user/hocket@.service"), unit).unwrap();
    let program = manager.file(".local/bin/hocket");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_hocket"), program).unwrap();
    manager.session("evening", 3600.0);
    manager.session("short", 0.5);
    std::fs::write(manager.file(".config/hocket/broken.toml"), "[session").unwrap();
    let server_name = format!("JACK_DEFAULT_SERVER={}", server.name);
    manager.done(&["set-environment", &server_name, "HOCKET_PROFILE=none"]);
    manager.done(&["daemon-reload"]);

    let unit = "hocket@evening.service";
    manager.done(&["enable", "--now", "hocket@evening"]);
    // More starts than systemd allows in ten seconds, if they came faster.
    wait_until("the seventh start", || manager.restarts(unit) >= 6);
    server.start_again(RATE_HZ, 256, Mode::Usual);
    manager.await_log("evening", 1);
    check_running(&manager, unit);

    // The server is killed, and comes back.
    let (before, begun) = (manager.restarts(unit), Instant::now());
    server.end("-KILL");
    wait_until("another start", || manager.restarts(unit) > before);
    // `RestartSec=2` of the unit: the least that may pass. A busy machine takes longer.
    assert!(begun.elapsed() >= Duration::from_secs(2), "{:?}", begun.elapsed());
    server.start_again(RATE_HZ, 256, Mode::Usual);
    manager.await_log("evening", 2);
    check_running(&manager, unit);

    manager.done(&["stop", "hocket@evening"]);
    // Exit code 130 would be a failure otherwise. Of what has not failed systemd keeps no more than this.
    assert_eq!(manager.property(unit, "ActiveState"), "inactive");
    for (number, take) in [(1, "evening.wav"), (2, "evening-2.wav")] {
        let log = manager.log("evening", number);
        assert!(log.lines().last().unwrap().contains("\"event\":\"end\""), "{log}");
        hocket_media::decode(&manager.file(&format!("music/{take}"))).unwrap();
    }

    for (unit, state) in [("hocket@short.service", "inactive"), ("hocket@broken.service", "failed")]
    {
        manager.done(&["start", unit]);
        wait_until("its end", || manager.property(unit, "ActiveState") == state);
        assert_eq!(manager.restarts(unit), 0, "{unit}");
    }
    assert!(manager.log("short", 1).contains("\"event\":\"end\""), "it has played");
    assert_eq!(manager.log("short", 2), "", "it has played twice");
    assert_eq!(manager.property("hocket@broken.service", "ExecMainStatus"), "2");
}

/// It runs, with the limits that the unit asks for.
#[track_caller]
fn check_running(manager: &Manager, unit: &str) {
    let status = manager.systemctl(&["status", unit]);
    assert!(status.status.success(), "{}", text(&status.stdout));
    let process = manager.property(unit, "MainPID");
    for (name, option, wanted) in [
        ("Max realtime priority", "--rtprio", "95"),
        ("Max locked memory", "--memlock", "unlimited"),
    ] {
        let [_, most] = limits("self", name);
        let most = if may_raise(option, wanted) { wanted.to_owned() } else { most };
        assert_eq!(limits(&process, name), [most.clone(), most], "{name}");
    }
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    assert!(status.contains("NoNewPrivs:\t1"), "{status}");
}

/// A limit of a process: what holds, and what it may ask for.
fn limits(process: &str, name: &str) -> [String; 2] {
    let all = std::fs::read_to_string(format!("/proc/{process}/limits")).unwrap();
    let limit = all.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    let mut words = limit.split_whitespace().map(str::to_owned);
    [(); 2].map(|()| words.next().unwrap())
}

/// Whether this process may raise a limit so far. Otherwise the unit gets what systemd may have itself.
fn may_raise(option: &str, wanted: &str) -> bool {
    let mut prlimit = Command::new("prlimit");
    prlimit.args([&format!("{option}={wanted}"), "true"]).stderr(Stdio::null());
    prlimit.status().is_ok_and(|status| status.success())
}
