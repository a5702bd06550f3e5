//! One control group: made, filled, emptied, removed.

use std::path::{Path, PathBuf};

use crate::cpuset::CpuSet;
use crate::fact::Fact;
use crate::kernel_files::{KernelFiles, plain};
use crate::pin::ThreadId;
use crate::sys::{self, Caretaker, Deed};

use super::{Holds, PartitionError};

const PREFIX: &str = "hocket-";

/// Writes a control file, and says which one refused.
pub(super) fn write(files: &KernelFiles, path: &str, text: &str) -> Result<(), PartitionError> {
    std::fs::write(files.path(path), text).map_err(|e| {
        let path = format!("/{path}");
        match e.kind() {
            std::io::ErrorKind::PermissionDenied => {
                PartitionError::NotAllowed { path, why: plain(&e) }
            }
            _ => PartitionError::Refused { path, why: plain(&e) },
        }
    })
}

/// A control group of ours.
#[derive(Debug)]
pub(super) struct Group {
    files: KernelFiles,
    /// Its folder, relative to the root of `files`.
    folder: String,
    full: PathBuf,
    /// Where its members go back to: the group this process was in.
    home: String,
    holds: Holds,
    caretaker: Option<Caretaker>,
    owner: u32,
}

impl Group {
    pub fn create(
        files: &KernelFiles,
        place: &str,
        home: &str,
        name: &str,
        holds: Holds,
    ) -> Result<Self, PartitionError> {
        let owner = std::process::id();
        let folder = format!("{place}/{PREFIX}{name}-{owner}");
        let full = files.path(&folder);
        std::fs::create_dir(&full).map_err(|e| not_made(&full, &e))?;
        let (files, home) = (files.clone(), home.to_string());
        let mut group = Self { files, folder, full, home, holds, caretaker: None, owner };
        group.start_caretaker()?;
        if holds == Holds::Threads {
            group.become_threaded(place)?;
        }
        Ok(group)
    }

    pub fn path(&self) -> &Path {
        &self.full
    }

    pub fn write(&self, file: &str, text: &str) -> Result<(), PartitionError> {
        write(&self.files, &format!("{}/{file}", self.folder), text)
    }

    pub fn read(&self, file: &str) -> Result<String, PartitionError> {
        let path = format!("{}/{file}", self.folder);
        let refused = |why| PartitionError::Refused { path: format!("/{path}"), why };
        self.files.text(&path).map_err(refused)
    }

    pub fn cpus(&self, file: &str) -> Fact<CpuSet> {
        self.files.cpu_list(&format!("{}/{file}", self.folder)).into()
    }

    /// The numbers in `cgroup.procs` or `cgroup.threads`.
    pub fn numbers(&self, file: &str) -> Result<Vec<i32>, PartitionError> {
        Ok(self.read(file)?.split_whitespace().filter_map(|word| word.parse().ok()).collect())
    }

    pub fn take_process(&self) -> Result<CpuSet, PartitionError> {
        self.take("cgroup.procs", self.owner as i32, crate::pin::current_thread())
    }

    pub fn take_thread(&self, thread: ThreadId) -> Result<CpuSet, PartitionError> {
        if self.holds == Holds::Process {
            return Err(PartitionError::WholeProcessOnly);
        }
        self.take("cgroup.threads", thread.0, thread)
    }

    /// Writes `number` to `file`, reads back that `thread` is in, and returns its CPUs.
    fn take(&self, file: &str, number: i32, thread: ThreadId) -> Result<CpuSet, PartitionError> {
        let not_moved = |why: String| PartitionError::NotMoved { number, why };
        self.write(file, &number.to_string()).map_err(|e| not_moved(e.why()))?;
        // In a group for threads the list of processes cannot be read; that of threads can everywhere.
        let list = if self.holds == Holds::Threads { "cgroup.threads" } else { file };
        let looked_for = if self.holds == Holds::Threads { thread.0 } else { number };
        if !self.numbers(list)?.contains(&looked_for) {
            return Err(not_moved("the kernel said yes, and it is not there".into()));
        }
        sys::affinity(thread.0).map_err(|e| not_moved(plain(&e)))
    }

    fn become_threaded(&self, place: &str) -> Result<(), PartitionError> {
        let not_threaded = |why| PartitionError::NotThreaded { place: format!("/{place}"), why };
        self.write("cgroup.type", "threaded").map_err(|e| not_threaded(e.why()))?;
        match self.read("cgroup.type")?.as_str() {
            "threaded" => Ok(()),
            other => Err(not_threaded(format!("the kernel says `{other}`"))),
        }
    }

    fn start_caretaker(&mut self) -> Result<(), PartitionError> {
        let deeds = removal(&self.full);
        let caretaker = deeds.and_then(Caretaker::start).map_err(|e| {
            let _ = std::fs::remove_dir(&self.full);
            PartitionError::NoWayBack(plain(&e))
        })?;
        self.caretaker = Some(caretaker);
        Ok(())
    }

    /// Moves everybody home, gives the CPUs back and removes the folder.
    pub fn remove(&mut self) -> Result<(), PartitionError> {
        // A forked copy of this process must not take the partition away from it.
        let Some(caretaker) = self.caretaker.take().filter(|_| self.owner == std::process::id())
        else {
            return Ok(());
        };
        self.send_home();
        caretaker.finish().map_err(|e| not_removed(&self.full, &e))
    }

    /// Members may start others meanwhile, so the list is read until it is empty or nobody can be moved.
    fn send_home(&self) {
        let list = if self.holds == Holds::Threads { "cgroup.threads" } else { "cgroup.procs" };
        let home = format!("{}/{list}", self.home);
        for _ in 0..64 {
            let members = self.numbers(list).unwrap_or_default();
            let moved = |number: &i32| write(&self.files, &home, &number.to_string()).is_ok();
            if members.iter().filter(|number| moved(number)).count() == 0 {
                break;
            }
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = self.remove();
    }
}

/// Giving CPUs back first: then they are free even while the group still has a member.
fn removal(folder: &Path) -> std::io::Result<Vec<Deed>> {
    let partition = folder.join("cpuset.cpus.partition");
    Ok(vec![Deed::try_to_write(&partition, "member")?, Deed::remove_folder(folder)?])
}

fn not_made(folder: &Path, error: &std::io::Error) -> PartitionError {
    let path = folder.display().to_string();
    match error.kind() {
        std::io::ErrorKind::AlreadyExists => PartitionError::InUse(path),
        std::io::ErrorKind::PermissionDenied => {
            PartitionError::NotAllowed { path, why: plain(error) }
        }
        _ => PartitionError::Refused { path, why: plain(error) },
    }
}

fn not_removed(folder: &Path, error: &std::io::Error) -> PartitionError {
    PartitionError::NotRemoved { path: folder.display().to_string(), why: plain(error) }
}

/// A group whose owner was killed together with the process that would have removed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftGroup {
    path: PathBuf,
    process: u32,
}

/// The groups in `place` whose owners are gone.
pub(super) fn left_in(files: &KernelFiles, place: &str) -> Vec<LeftGroup> {
    let left = |name: String| {
        let process = name.strip_prefix(PREFIX)?.rsplit_once('-')?.1.parse().ok()?;
        let gone = !Path::new(&format!("/proc/{process}")).exists();
        gone.then(|| LeftGroup { path: files.path(place).join(name), process })
    };
    files.names(place).into_iter().filter_map(left).collect()
}

impl LeftGroup {
    /// The group's folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The process that made it.
    pub fn process(&self) -> u32 {
        self.process
    }

    /// Gives its CPUs back and removes it. Cost: milliseconds.
    ///
    /// # Errors
    /// [`PartitionError::NotRemoved`], for example while processes that the killed one had started are in it.
    pub fn restore(self) -> Result<(), PartitionError> {
        let result = removal(&self.path).and_then(|deeds| sys::perform(&deeds));
        result.map_err(|e| not_removed(&self.path, &e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::Cgroups;
    use crate::pin::current_thread;

    /// The system's own groups, with or without a cpuset controller: moving needs none.
    #[test]
    fn a_thread_is_moved_and_comes_home() {
        let name = "a_thread_is_moved_and_comes_home";
        let files = KernelFiles::live();
        let Ok(place) = Cgroups::live().place(Holds::Threads) else {
            return println!("SKIPPED {name}: {}", PartitionError::NoCgroups);
        };
        let group = match Group::create(&files, &place, &place, "moving", Holds::Threads) {
            Ok(group) => group,
            Err(why) => return println!("SKIPPED {name}: {why}"),
        };
        let mine = || files.text("proc/thread-self/cgroup").expect("readable");
        let before = mine();
        let again = Group::create(&files, &place, &place, "moving", Holds::Threads);
        assert!(matches!(again.err(), Some(PartitionError::InUse(_))));
        group.take_thread(current_thread()).unwrap_or_else(|e| panic!("{e}"));
        assert!(mine().contains("hocket-moving-"), "{}", mine());
        assert_eq!(group.numbers("cgroup.threads").ok(), Some(vec![current_thread().0]));
        let folder = group.path().to_path_buf();
        drop(group);
        assert_eq!(mine(), before);
        assert!(!folder.exists());
    }
}
