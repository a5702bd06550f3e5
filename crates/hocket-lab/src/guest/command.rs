//! A command that runs once for each turn, and what it used.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hocket_machine::pin;
use hocket_machine::process::{self, GroupEnd};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::conversation::{Complaints, is_ready};
use super::protocol::shown;
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
/// The command may use the CPUs that the calling thread may use.
///
/// # Errors
/// It cannot be started, fails, takes longer than `patience`, or `is_ending` says that it is to end. In every case its
/// process group is gone.
pub fn run(
    words: &[String],
    patience: Duration,
    is_ending: &dyn Fn() -> bool,
) -> Result<Ran, Fault> {
    let (program, arguments) =
        words.split_first().ok_or_else(|| Fault::new("there is no command"))?;
    let name =
        shown(&std::path::Path::new(program).file_name().unwrap_or_default().to_string_lossy());
    let begun = Instant::now();
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| {
            Fault(format!(
                "the command {name} cannot be started: {error}; check its path and its rights"
            ))
        })?;
    let group = match GroupEnd::of(child.id()) {
        Ok(group) => group,
        Err(error) => {
            let _ = child.kill();
            let _ = child.wait();
            return Err(Fault(format!("the command {name} has no keeper: {error}")));
        }
    };
    let mut complaints = Complaints::of(child.stderr.take());
    let watched = watch(&child, begun + patience, is_ending);
    let wall_ns = begun.elapsed().as_nanos() as u64;
    // What it left in the background goes, before its number can be another's.
    drop(group);
    let before = process::children();
    let status = child.wait();
    let after = process::children();
    let moved = watched.map_err(|why| Fault(format!("the command {name} {why}")))?;
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => {
            complaints.wait();
            return Err(Fault(format!(
                "the command {name} failed ({status}){}",
                complaints.told()
            )));
        }
        Err(error) => return Err(Fault(format!("the command {name} is lost: {error}"))),
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

/// Waits for its end, which leaves its number alone; how often its threads moved.
fn watch(
    child: &Child,
    until: Instant,
    is_ending: &dyn Fn() -> bool,
) -> Result<Option<u64>, &'static str> {
    let pidfd = pidfd_open(Pid::from_child(child), PidfdFlags::empty());
    let pidfd = pidfd.map_err(|_| "cannot be watched: the system has no pidfd (Linux 5.3)")?;
    let mut moved = BTreeMap::new();
    loop {
        let over = is_ready(&pidfd, until.min(Instant::now() + LOOK));
        // Also after its end: a thread that has ended and was not waited for is still counted.
        moved.extend(process::migrations(child.id()));
        if over {
            return Ok((!moved.is_empty()).then(|| moved.values().sum()));
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
        run(&words, patience, &|| false)
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
        assert!(run(&sleep, LONG, &|| true).unwrap_err().0.contains("was ended"));
        let none = run(&["/no/such/command".into()], LONG, &|| false).unwrap_err().0;
        assert!(none.contains("cannot be started"), "{none}");
    }

    #[test]
    fn what_a_command_leaves_in_the_background_goes_with_it() {
        // The end of standard error is only reached when all of them are gone.
        let begun = Instant::now();
        ran("sleep 1000 & exit 0", LONG).unwrap();
        assert!(begun.elapsed() < Duration::from_secs(1000));
    }
}
