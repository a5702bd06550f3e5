//! A guest's process: lines in and out, each with a deadline.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hocket_machine::process::{self, GroupEnd};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::protocol::shown;
use crate::harness::Fault;

/// No line of a guest is longer.
const MOST_OF_A_LINE: usize = 1 << 16;
/// Of what it writes to standard error, so much is kept.
const KEPT_STDERR: u64 = 4096;
/// How long it may take to end after its input has ended.
const END: Duration = Duration::from_millis(500);

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
        let name = Path::new(program).file_name().unwrap_or(program.as_ref());
        let name = shown(&name.to_string_lossy());
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
            let _ = child.kill();
            let _ = child.wait();
            return Err(cannot(&"the system has no more processes"));
        };
        // A guest that does not read must not make the lab wait.
        let unblocked = rustix::io::ioctl_fionbio(&stdin, true);
        let mut guest = Conversation {
            name: name.clone(),
            child,
            stdin: Some(stdin),
            stdout,
            pending: Vec::new(),
            complaints: Complaints::of(Some(stderr)),
            group: Some(group),
        };
        if let Err(error) = unblocked {
            guest.end();
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
            self.more(deadline)?;
        }
    }

    /// Waits for bytes of standard output.
    fn more(&mut self, deadline: Instant) -> Result<(), Fault> {
        if !is_ready(&self.stdout, deadline) {
            return Err(self.fault("does not answer in time and was ended"));
        }
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

    /// What it has written that nobody has asked for.
    pub fn is_ahead(&self) -> bool {
        !self.pending.is_empty()
    }

    /// CPU time of all its threads so far, without that of its own children.
    pub fn cpu_ns(&self) -> Option<u64> {
        process::cpu_ns_of(self.child.id()).value().copied()
    }

    /// What is wrong with it.
    pub fn fault(&self, what: &str) -> Fault {
        Fault(format!("the guest {} {what}{}", self.name, self.complaints.told()))
    }

    /// How it ended, although nobody asked it to.
    fn ended(&mut self) -> Fault {
        wait_for_end(&self.child);
        // The reader ends when all that was written is read.
        self.complaints.wait();
        match self.child.try_wait() {
            Ok(Some(status)) => self.fault(&format!("ended early ({status})")),
            _ => self.fault("has closed its output"),
        }
    }

    /// Ends it: by the end of its input; by force, with its group, if it takes too long.
    fn end(&mut self) {
        drop(self.stdin.take());
        wait_for_end(&self.child);
        drop(self.group.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        self.end();
    }
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

/// Waits until a child has ended, for a while. It is not waited for: its number stays its own.
fn wait_for_end(child: &Child) {
    if let Ok(pidfd) = pidfd_open(Pid::from_child(child), PidfdFlags::empty()) {
        is_ready(&pidfd, Instant::now() + END);
    }
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
        assert!(guest.cpu_ns().is_some() && !guest.is_ahead());
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
