//! A program that runs, as `/proc` shows it.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use crate::failure::Failure;

/// A process, and those that it has started if they are wanted.
pub(super) struct Program {
    /// Its number.
    pub process: i32,
    name: String,
    with_children: bool,
}

impl Program {
    /// The process with this number.
    ///
    /// # Errors
    /// There is none, or the number is that of a thread: exit code 2.
    pub(super) fn find(process: i32, with_children: bool) -> Result<Program, Failure> {
        let refused = |why: String| Failure::bad_input(format!("--attach {process}: {why}"));
        let name = name_of(process).filter(|_| lives(process)).ok_or_else(|| {
            refused("there is no such process; `pgrep NAME` finds the number of a program".into())
        })?;
        match leader_of(process) {
            Some(leader) if leader != process => {
                Err(refused(format!("this is a thread of process {leader}; attach to {leader}")))
            }
            _ => Ok(Program { process, name, with_children }),
        }
    }

    /// `jackd (4711)`.
    pub(super) fn title(&self) -> String {
        let children = if self.with_children { " and the processes it started" } else { "" };
        format!("{} ({}){children}", self.name, self.process)
    }

    /// Whether it still runs, as far as can be seen. A process that nobody has waited for yet has ended all the same.
    pub(super) fn lives(&self) -> bool {
        lives(self.process)
    }

    /// The threads that it has now, each with its process.
    pub(super) fn threads(&self) -> Vec<(i32, i32)> {
        let mut processes = BTreeSet::from([self.process]);
        if self.with_children {
            add_children(&mut processes);
        }
        let threads = |process: i32| {
            let tids = numbers(Path::new(&format!("/proc/{process}/task")));
            tids.into_iter().map(move |tid| (tid, process))
        };
        processes.into_iter().flat_map(threads).collect()
    }
}

/// The name of a thread that lives.
pub(super) fn name_of(tid: i32) -> Option<String> {
    let name = std::fs::read(format!("/proc/{tid}/comm")).ok()?;
    Some(String::from_utf8_lossy(&name).trim_end_matches('\n').to_owned())
}

/// The fields of `/proc/PID/stat` after the name, which may have blanks and brackets: the state first, then the parent.
///
/// # Errors
/// There is no such process ([`is_gone`]), or the file cannot be read.
fn stat(process: i32) -> io::Result<(char, i32)> {
    let stat = std::fs::read(format!("/proc/{process}/stat"))?;
    fields(&String::from_utf8_lossy(&stat)).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn fields(stat: &str) -> Option<(char, i32)> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

/// A program that cannot be looked at, because this process has too many open files for example, has not ended.
fn lives(process: i32) -> bool {
    match stat(process) {
        Ok((state, _)) => !matches!(state, 'Z' | 'X'),
        Err(why) => !is_gone(&why),
    }
}

/// Whether a process is not there, rather than out of sight. The system says the second if it ends while it is read.
fn is_gone(why: &io::Error) -> bool {
    const NO_SUCH_PROCESS: i32 = 3;
    why.kind() == io::ErrorKind::NotFound || why.raw_os_error() == Some(NO_SUCH_PROCESS)
}

/// The process to which a thread belongs.
fn leader_of(tid: i32) -> Option<i32> {
    let status = std::fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}

/// Adds every process whose parent is among them, and theirs.
fn add_children(processes: &mut BTreeSet<i32>) {
    let all: Vec<(i32, i32)> = numbers(Path::new("/proc"))
        .into_iter()
        .filter_map(|process| Some((process, stat(process).ok()?.1)))
        .collect();
    loop {
        let before = processes.len();
        let children = all.iter().filter(|(_, parent)| processes.contains(parent));
        let children: Vec<i32> = children.map(|(process, _)| *process).collect();
        processes.extend(children);
        if processes.len() == before {
            return;
        }
    }
}

/// The entries of a folder that are numbers.
fn numbers(folder: &Path) -> Vec<i32> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_is_found_with_its_threads() {
        let own = std::process::id() as i32;
        let program = Program::find(own, false).unwrap();
        assert!(program.lives() && program.title().ends_with(&format!("({own})")));
        assert!(program.threads().contains(&(own, own)));
        // This test runs on a thread of its own, which has another number.
        let tid = hocket_machine::pin::current_thread().number();
        assert!(program.threads().contains(&(tid, own)));
        if tid != own {
            let why = Program::find(tid, false).err().unwrap().message;
            assert!(why.contains(&format!("attach to {own}")), "{why}");
        }
    }

    #[test]
    fn a_process_that_has_ended_is_none() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let number = child.id() as i32;
        child.wait().unwrap();
        let failure = Program::find(number, false).err().unwrap();
        assert_eq!(failure.exit, crate::Exit::BadInput);
        assert!(failure.message.contains("no such process"), "{}", failure.message);
    }

    #[test]
    fn a_process_that_cannot_be_looked_at_is_not_gone() {
        const TOO_MANY_OPEN_FILES: i32 = 24;
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let number = child.id() as i32;
        child.wait().unwrap();
        assert!(is_gone(&stat(number).unwrap_err()) && !lives(number));
        for (code, gone) in [(2, true), (3, true), (13, false), (TOO_MANY_OPEN_FILES, false)] {
            assert_eq!(is_gone(&io::Error::from_raw_os_error(code)), gone, "{code}");
        }
    }

    #[test]
    fn processes_that_it_started_are_found() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let (own, number) = (std::process::id() as i32, child.id() as i32);
        let with = Program::find(own, true).unwrap().threads();
        let without = Program::find(own, false).unwrap().threads();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(with.contains(&(number, number)) && !without.contains(&(number, number)));
    }
}
