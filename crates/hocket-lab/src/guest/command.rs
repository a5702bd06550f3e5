//! A command that runs once for each turn, and what it used.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hocket_machine::pin;
use hocket_machine::process::{self, GroupEnd};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::conversation::{Complaints, end_by_force, is_ready};
use super::protocol::name_of;
use crate::harness::Fault;

/// How often its threads are looked at, and whether it is to end.
const LOOK: Duration = Duration::from_millis(20);

/// What one run of a command took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ran {
    /// From before its start to its end.
    pub wall_ns: u64,
    /// CPU time of the command and of all its children that it waited for.
    pub cpu_ns: Option<u64>,
    /// Their context switches.
    pub switches: Option<u64>,
    /// How often its threads changed their CPU, as far as they lived at a look. Without those of its children.
    pub migrations: Option<u64>,
}

/// Runs a command to its end, without input; what it writes is thrown away.
///
/// The command may use these CPUs only; without any, those that the calling thread may use. This
/// thread is on them only while it starts the command.
///
/// # Errors
/// It cannot be started, fails, takes longer than `patience`, or `is_ending` says that it is to end. In every case its
/// process group is gone, or the error says that it cannot be ended.
pub fn run(
    words: &[String],
    cpus: &[u32],
    patience: Duration,
    is_ending: &dyn Fn() -> bool,
) -> Result<Ran, Fault> {
    let (program, arguments) =
        words.split_first().ok_or_else(|| Fault::new("there is no command"))?;
    let name = name_of(words);
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command.process_group(0);
    let mut started = None;
    // The command inherits the CPUs. This thread is on them for the start only: later it would be in its way.
    let placed = on(cpus, || {
        let begun = Instant::now();
        let child = command.spawn().map_err(|error| {
            Fault(format!(
                "the command {name} cannot be started: {error}; check its path and its rights"
            ))
        })?;
        started = Some((child, begun));
        Ok(())
    });
    let (mut child, begun) = match (started, placed) {
        (Some(started), Ok(())) => started,
        (Some((mut child, _)), Err(why)) => {
            let _ = end_by_force(&mut child, None);
            return Err(why);
        }
        (None, placed) => {
            return Err(placed.err().unwrap_or_else(|| Fault::new("the command did not start")));
        }
    };
    let group = match GroupEnd::of(child.id()) {
        Ok(group) => group,
        Err(error) => {
            let _ = end_by_force(&mut child, None);
            return Err(Fault(format!("the command {name} has no keeper: {error}")));
        }
    };
    let mut complaints = Complaints::of(child.stderr.take());
    let watched = watch(&child, begun, patience, is_ending);
    // What it left in the background goes, before its number can be another's.
    drop(group);
    let before = process::children();
    let status = end_by_force(&mut child, None);
    let after = process::children();
    let (wall_ns, moved) = match (watched, &status) {
        (Ok(watched), _) => watched,
        (Err(why), Ok(_)) => return Err(Fault(format!("the command {name} {why}"))),
        (Err(_), Err(why)) => return Err(Fault(format!("the command {name} {why}"))),
    };
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => {
            complaints.wait();
            return Err(Fault(format!(
                "the command {name} failed ({status}){}",
                complaints.told()
            )));
        }
        Err(why) => return Err(Fault(format!("the command {name} {why}"))),
    }
    let used = after.value().zip(before.value());
    let cpu_ns = used.map(|(after, before)| after.cpu_ns.saturating_sub(before.cpu_ns));
    let switches = used.map(|(after, before)| after.switches.saturating_sub(before.switches));
    Ok(Ran { wall_ns, cpu_ns, switches, migrations: moved })
}

/// Starts processes that may use these CPUs only, by `work`; all that this thread may use if none are named.
///
/// # Errors
/// What `work` says, and CPUs that are refused.
pub fn on<T>(cpus: &[u32], work: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    if cpus.is_empty() {
        return work();
    }
    // Processes inherit where their parent's thread may run.
    let before = pin::current_affinity().map_err(Fault::new)?;
    let wanted = cpus.iter().copied().collect();
    let got = pin::pin_current_thread(&wanted).map_err(Fault::new)?;
    let done =
        if got == wanted { work() } else { Err(Fault(format!("only CPUs {got} are granted"))) };
    pin::pin_current_thread(&before).map_err(Fault::new)?;
    done
}

/// Waits for its end, which leaves its number alone; how long it took, and how often its threads moved.
fn watch(
    child: &Child,
    begun: Instant,
    patience: Duration,
    is_ending: &dyn Fn() -> bool,
) -> Result<(u64, Option<u64>), &'static str> {
    let until = begun + patience;
    let pidfd = pidfd_open(Pid::from_child(child), PidfdFlags::empty());
    let pidfd = pidfd.map_err(|_| "cannot be watched: the system has no pidfd (Linux 5.3)")?;
    let mut moved = BTreeMap::new();
    loop {
        let over = is_ready(&pidfd, until.min(Instant::now() + LOOK));
        // Looking at threads takes time, which is not the command's.
        let wall_ns = begun.elapsed().as_nanos() as u64;
        // Also after its end: a thread that has ended and was not waited for is still counted.
        moved.extend(process::migrations(child.id()));
        if over {
            return Ok((wall_ns, (!moved.is_empty()).then(|| moved.values().sum())));
        }
        if is_ending() {
            return Err("was ended, as was asked for");
        }
        if Instant::now() >= until {
            return Err("takes too long and was ended; give more time");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(script: &str, patience: Duration) -> Result<Ran, Fault> {
        let words = ["sh", "-c", script].map(String::from);
        run(&words, &[], patience, &|| false)
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_command_is_measured_with_its_children() {
        let work = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
        let alone = ran(work, LONG).unwrap();
        assert!(alone.wall_ns > 0 && alone.cpu_ns > Some(0) && alone.switches.is_some());
        let child = ran(&format!("sh -c '{work}'"), LONG).unwrap();
        assert!(child.cpu_ns > Some(0));
    }

    #[test]
    fn commands_that_fail_or_hang_say_so() {
        let why = ran("echo bad >&2; exit 3", LONG).unwrap_err().0;
        assert!(why.contains("failed (exit status: 3); it says: bad"), "{why}");
        let why = ran("sleep 1000", Duration::from_millis(30)).unwrap_err().0;
        assert!(why.contains("takes too long"), "{why}");
        let sleep = ["sleep", "1000"].map(String::from);
        assert!(run(&sleep, &[], LONG, &|| true).unwrap_err().0.contains("was ended"));
        let none = run(&["/no/such/command".into()], &[], LONG, &|| false).unwrap_err().0;
        assert!(none.contains("cannot be started"), "{none}");
    }

    #[test]
    fn what_a_command_leaves_in_the_background_goes_with_it() {
        let folder = super::super::tools::folder().unwrap();
        let file = folder.path().join("background");
        ran(&format!("sleep 1000 & echo $! > '{}'", file.display()), LONG).unwrap();
        let process: u32 = std::fs::read_to_string(&file).unwrap().trim().parse().unwrap();
        // Killed; its new parent may not have waited for it yet.
        let state = || std::fs::read_to_string(format!("/proc/{process}/stat"));
        while state().is_ok_and(|text| !text.contains(") Z ") && !text.contains(") X ")) {
            std::thread::yield_now();
        }
    }
}
