//! A guest's process: lines in and out, each with a deadline.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hocket_machine::pin::{self, CpuSet, ThreadId};
use hocket_machine::process::{self, GroupEnd};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::protocol::{name_of, shown};
use crate::harness::Fault;

/// No line of a guest is longer.
const MOST_OF_A_LINE: usize = 1 << 16;
/// Of what it writes to standard error, so much is kept.
const KEPT_STDERR: u64 = 4096;
/// How long it may take to end after its input has ended.
const END: Duration = Duration::from_millis(500);
/// How long a process may take to end after it was killed.
const KILLED: Duration = Duration::from_secs(if cfg!(test) { 60 } else { 5 });
/// What is wrong with one that does not.
const STILL_RUNS: &str = "cannot be ended (another user's?) and still runs";
/// What is wrong where the system refuses a process or a thread, and what helps.
pub(super) const NO_PROCESSES: &str =
    "the system has no more processes; raise their limit (`ulimit -u`, pids.max)";
/// How often somebody who waits for a line looks whether nobody needs it any more.
const LOOK: Duration = Duration::from_millis(100);

/// A process that leads a group, which ends with this value or with the lab.
pub struct Conversation {
    /// For messages.
    name: String,
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    /// What came behind the last line.
    pending: Vec<u8>,
    complaints: Complaints,
    /// Goes before the child is waited for.
    group: Option<GroupEnd>,
    /// How it ended; its number may be another's from then on.
    status: Option<ExitStatus>,
}

impl Conversation {
    /// Starts the program with its arguments, in the current folder.
    ///
    /// Thread: any; the guest may use the CPUs that this one may use.
    ///
    /// # Errors
    /// It is not there, or cannot be started.
    pub fn start<S: AsRef<OsStr>>(words: &[S]) -> Result<Conversation, Fault> {
        let Some((program, arguments)) = words.split_first() else {
            return Err(Fault::new("there is no guest to start"));
        };
        let name = name_of(words);
        let cannot = |why: &dyn std::fmt::Display| {
            Fault(format!(
                "the guest {name} cannot be started: {why}; check its path and its rights"
            ))
        };
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C in a terminal goes to every process of the group; this one ends with its group.
            .process_group(0)
            .spawn()
            .map_err(|error| cannot(&error))?;
        let group = GroupEnd::of(child.id());
        let taken = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let ((Some(stdin), Some(stdout), Some(stderr)), Ok(group)) = (taken, group) else {
            let _ = end_by_force(&mut child, None);
            return Err(Fault(format!("the guest {name} cannot be started: {NO_PROCESSES}")));
        };
        // A guest that does not read must not make the lab wait.
        let unblocked = rustix::io::ioctl_fionbio(&stdin, true);
        let guest = Conversation {
            name: name.clone(),
            child,
            stdin: Some(stdin),
            stdout,
            pending: Vec::new(),
            complaints: Complaints::of(Some(stderr)),
            group: Some(group),
            status: None,
        };
        if let Err(error) = unblocked {
            return Err(cannot(&error));
        }
        Ok(guest)
    }

    /// Writes a line, which must be shorter than the system's buffer of a pipe (4096 bytes).
    ///
    /// # Errors
    /// The guest does not read, or has ended.
    pub fn say(&mut self, line: &str) -> Result<(), Fault> {
        let said = match &mut self.stdin {
            Some(stdin) => stdin.write_all(format!("{line}\n").as_bytes()),
            None => return Err(self.fault("has ended")),
        };
        match said {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                Err(self.fault("answers without reading what it is asked"))
            }
            Err(_) => Err(self.ended()),
        }
    }

    /// The next line that the guest writes, without its end.
    ///
    /// # Errors
    /// It wrote none until `deadline`, one that is too long, or it has ended.
    pub fn line(&mut self, deadline: Instant) -> Result<String, Fault> {
        self.line_unless(deadline, &|| false)
    }

    /// The same, for somebody who may stop waiting.
    ///
    /// # Errors
    /// As above, or `is_ending` says that nobody needs the line any more.
    pub fn line_unless(
        &mut self,
        deadline: Instant,
        is_ending: &dyn Fn() -> bool,
    ) -> Result<String, Fault> {
        loop {
            if let Some(end) = self.pending.iter().position(|byte| *byte == b'\n') {
                let rest = self.pending.split_off(end + 1);
                let line = std::mem::replace(&mut self.pending, rest);
                return Ok(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
            if self.pending.len() > MOST_OF_A_LINE {
                let begin = String::from_utf8_lossy(&self.pending[..80]).into_owned();
                return Err(self.fault(&format!(
                    "writes more than {MOST_OF_A_LINE} bytes without the end of a line: {}",
                    shown(&begin)
                )));
            }
            self.more(deadline, is_ending)?;
        }
    }

    /// Waits for bytes of standard output.
    fn more(&mut self, deadline: Instant, is_ending: &dyn Fn() -> bool) -> Result<(), Fault> {
        while !is_ready(&self.stdout, deadline.min(Instant::now() + LOOK)) {
            if is_ending() {
                return Err(self.fault("was ended, as was asked for"));
            }
            if Instant::now() >= deadline {
                return Err(self.fault("does not answer in time and was ended"));
            }
        }
        self.read()
    }

    /// Takes what is ready, at most a piece: so what has no end of a line stays bounded.
    fn read(&mut self) -> Result<(), Fault> {
        let mut bytes = [0; 4096];
        match self.stdout.read(&mut bytes) {
            Ok(0) => Err(self.ended()),
            Ok(read) => {
                self.pending.extend_from_slice(&bytes[..read]);
                Ok(())
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(self.fault(&format!("cannot be read: {error}"))),
        }
    }

    /// Whether it has written what nobody has asked for.
    ///
    /// # Errors
    /// It has ended, although nobody asked it to.
    pub fn is_ahead(&mut self) -> Result<bool, Fault> {
        // What is still in the pipe is ahead, too: it would be taken for the next answer.
        if self.pending.is_empty() && is_ready(&self.stdout, Instant::now()) {
            self.read()?;
        }
        Ok(!self.pending.is_empty())
    }

    /// CPU time of all its threads so far, without that of its own children; `None` after its end.
    pub fn cpu_ns(&self) -> Option<u64> {
        if self.status.is_some() {
            return None;
        }
        process::cpu_ns_of(self.child.id()).value().copied()
    }

    /// The CPUs that its threads may use: a set for each thread that lives. Cost: a system call per thread.
    pub fn cpus_of_threads(&self) -> Vec<CpuSet> {
        let folder = format!("/proc/{}/task", self.child.id());
        let threads = std::fs::read_dir(folder).into_iter().flatten();
        let of = |entry: std::io::Result<std::fs::DirEntry>| {
            let thread: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            // One that has ended meanwhile is no thread of it any more.
            pin::affinity_of_thread(ThreadId::from_number(thread)).ok()
        };
        threads.filter_map(of).collect()
    }

    /// What is wrong with it.
    pub fn fault(&self, what: &str) -> Fault {
        Fault(format!("the guest {} {what}{}", self.name, self.complaints.told()))
    }

    /// How it ended, although nobody asked it to.
    fn ended(&mut self) -> Fault {
        if self.status.is_none() && has_ended(&self.child, END) {
            // The number is the child's until it is waited for, so its group goes first.
            drop(self.group.take());
            self.status = self.child.wait().ok();
        }
        // The reader ends when all that was written is read.
        self.complaints.wait();
        match self.status {
            Some(status) => self.fault(&format!("ended early ({status})")),
            None => self.fault("has closed its output"),
        }
    }

    /// Ends it, and waits for its end: by the end of its input; by force, with its group, if it takes too long.
    ///
    /// # Errors
    /// It cannot be ended.
    pub fn end(&mut self) -> Result<(), Fault> {
        drop(self.stdin.take());
        if self.status.is_some() {
            return Ok(());
        }
        // Without a group this was tried before.
        let Some(group) = self.group.take() else { return Err(self.fault(STILL_RUNS)) };
        has_ended(&self.child, END);
        let ended = end_by_force(&mut self.child, Some(group));
        self.status = Some(ended.map_err(|why| self.fault(&why))?);
        Ok(())
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Kills a child that was not waited for yet, with the rest of its group, and waits for its end.
///
/// # Errors
/// It goes on: a process of another user cannot be killed.
pub(super) fn end_by_force(
    child: &mut Child,
    group: Option<GroupEnd>,
) -> Result<ExitStatus, String> {
    // The number is the child's until it is waited for, so its group goes first.
    drop(group);
    let _ = child.kill();
    wait_bounded(child, KILLED)
}

/// Waits for a child for a while: for one that cannot be killed it would be for ever.
fn wait_bounded(child: &mut Child, within: Duration) -> Result<ExitStatus, String> {
    if !has_ended(child, within) {
        return Err(STILL_RUNS.into());
    }
    child.wait().map_err(|error| format!("is lost: {error}"))
}

/// Whether there is something to read, or the end of it, before the deadline.
pub(super) fn is_ready(from: &impl std::os::fd::AsFd, deadline: Instant) -> bool {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let step = Timespec {
            tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        };
        let mut polled = [PollFd::new(from, PollFlags::IN)];
        match poll(&mut polled, Some(&step)) {
            Ok(ready) if ready > 0 => return true,
            _ if left.is_zero() => return false,
            _ => {}
        }
    }
}

/// Whether a child that was not waited for ends within a while. It is not waited for here: its number stays its own.
fn has_ended(child: &Child, within: Duration) -> bool {
    let pidfd = pidfd_open(Pid::from_child(child), PidfdFlags::empty());
    pidfd.is_ok_and(|pidfd| is_ready(&pidfd, Instant::now() + within))
}

/// What a guest writes to standard error.
pub(super) struct Complaints {
    text: Arc<Mutex<String>>,
    /// It may read for longer than the guest lives, where somebody else has its standard error too.
    reader: Option<JoinHandle<()>>,
}

impl Complaints {
    pub(super) fn of(stderr: Option<ChildStderr>) -> Complaints {
        let text = Arc::new(Mutex::new(String::new()));
        let kept = Arc::clone(&text);
        let read = move |mut stderr: ChildStderr| {
            let (mut bytes, mut left) = ([0; 1024], KEPT_STDERR as usize);
            while let Ok(read @ 1..) = stderr.read(&mut bytes) {
                let new = String::from_utf8_lossy(&bytes[..read.min(left)]).into_owned();
                kept.lock().unwrap_or_else(PoisonError::into_inner).push_str(&new);
                // The rest is read so that the guest does not wait for room.
                left = left.saturating_sub(read);
            }
        };
        let reader =
            stderr.and_then(|stderr| std::thread::Builder::new().spawn(move || read(stderr)).ok());
        Complaints { text, reader }
    }

    /// Waits until all is read, for a while.
    pub(super) fn wait(&mut self) {
        let until = Instant::now() + END;
        while self.reader.as_ref().is_some_and(|reader| !reader.is_finished())
            && Instant::now() < until
        {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// As the end of a message; empty where there is nothing.
    pub(super) fn told(&self) -> String {
        let text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        match text.trim() {
            "" => String::new(),
            text => format!(
                "; it says: {}",
                crate::foreign::shortened(&crate::foreign::plain(text), 400)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Conversation {
        Conversation::start(&["sh", "-c", script]).unwrap()
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_millis(50)
    }

    fn late() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[track_caller]
    fn told(fault: Result<impl std::fmt::Debug, Fault>, words: &[&str]) {
        let why = fault.unwrap_err().0;
        words.iter().for_each(|word| assert!(why.contains(word), "no '{word}' in {why}"));
    }

    #[test]
    fn lines_go_there_and_come_back() {
        let mut guest = shell("while read line; do echo \"<$line>\"; done");
        for word in ["a", "b"] {
            guest.say(word).unwrap();
            assert_eq!(guest.line(late()).unwrap(), format!("<{word}>"));
        }
        assert!(guest.cpu_ns().is_some() && !guest.is_ahead().unwrap());
        guest.end().unwrap();
        assert!(guest.cpu_ns().is_none());
    }

    #[test]
    fn what_nobody_asked_for_is_seen_in_the_pipe_and_so_is_an_end() {
        let mut guest = shell("echo a; echo b; cat");
        assert_eq!(guest.line(late()).unwrap(), "a");
        while !guest.is_ahead().unwrap() {
            std::thread::yield_now();
        }
        let mut guest = shell("echo a; echo why >&2; exit 3");
        assert_eq!(guest.line(late()).unwrap(), "a");
        let ended = loop {
            match guest.is_ahead() {
                Ok(ahead) => assert!(!ahead),
                Err(fault) => break fault,
            }
        };
        told(Err::<(), _>(ended), &["ended early (exit status: 3)", "it says: why"]);
    }

    #[test]
    fn a_process_that_does_not_end_is_not_waited_for_without_end() {
        let mut child = Command::new("sleep").arg("1000").process_group(0).spawn().unwrap();
        let why = wait_bounded(&mut child, Duration::from_millis(20)).unwrap_err();
        assert!(why.contains("still runs"), "{why}");
        let group = GroupEnd::of(child.id()).unwrap();
        let status = end_by_force(&mut child, Some(group)).unwrap();
        assert!(!status.success());
    }

    #[test]
    fn nobody_has_to_wait_for_a_line() {
        let mut guest = shell("sleep 1000");
        told(guest.line_unless(late(), &|| true), &["was ended, as was asked for"]);
    }

    #[test]
    fn a_guest_that_hangs_is_ended_with_its_children() {
        let mut guest = shell("sleep 1000 & echo $!; sleep 1000");
        let child: i32 = guest.line(late()).unwrap().parse().unwrap();
        told(guest.line(soon()), &["the guest sh", "does not answer in time"]);
        drop(guest);
        // Killed; its new parent may not have waited for it yet.
        let state = |pid| std::fs::read_to_string(format!("/proc/{pid}/stat"));
        let lives =
            || state(child).is_ok_and(|text| !text.contains(") Z ") && !text.contains(") X "));
        while lives() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_guest_that_dies_has_its_last_words() {
        let mut guest = shell("echo 'no \u{1b}memory' >&2; exit 7");
        told(guest.line(late()), &["ended early (exit status: 7)", "it says: no \\u{1b}memory"]);
        let mut guest = shell("kill -9 $$");
        told(guest.line(late()), &["signal: 9"]);
        let mut guest = shell("exec 1>&-; sleep 1000");
        told(guest.line(late()), &["has closed its output"]);
        told(Conversation::start(&["/no/such/guest"]).map(|_| ()), &["guest cannot be started"]);
        told(Conversation::start(&[] as &[&str]).map(|_| ()), &["no guest"]);
    }

    #[test]
    fn endless_lines_and_endless_complaints_have_an_end() {
        let mut guest = shell("cat /dev/zero");
        told(guest.line(late()), &["without the end of a line"]);
        let mut guest = shell("head -c 1000000 /dev/zero >&2; echo done");
        assert_eq!(guest.line(late()).unwrap(), "done");
        assert!(guest.complaints.text.lock().unwrap().len() <= 3 * KEPT_STDERR as usize);
    }

    #[test]
    fn a_guest_that_does_not_read_does_not_make_the_lab_wait() {
        let mut guest = shell("sleep 1000");
        let line = "x".repeat(4000);
        let refused = (0..100_000).find_map(|_| guest.say(&line).err());
        assert!(refused.is_some_and(|fault| fault.0.contains("without reading")));
    }
}
