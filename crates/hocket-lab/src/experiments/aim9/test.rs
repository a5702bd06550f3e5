//! The tests: their names, and how each is made.

use std::path::Path;

use hocket_kernels::aim9::{Arithmetic, Chain, Known, Sorting, Strings};
use hocket_kernels::sieve::AIM9_SIEVES;
use hocket_kernels::system::{
    BlockTest, Caught, Computing, DiskBlocks, Operation, PipeCopy, SignalOperation, Start, Starts,
    run_in_processes,
};

use rustix::io::Errno;

use crate::experiments::folder::{self, FileSystem};
use crate::harness::{Fault, Size};

/// Blocks of a file of the disk tests; 5 MB as in AIM9 in a full run.
pub(super) const FILE_BLOCKS: [u32; 2] = [1024, 5120];

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Test {
    Sieve,
    Arithmetic(Arithmetic),
    Strings,
    Sort,
    Pipe,
    Signal,
    Start(Start),
    /// Whether each write waits for the disk.
    Disk(BlockTest, bool),
}

const STARTS: [Start; 3] = [Start::ForkExit, Start::ForkExecute, Start::ForkShell];
/// Those of the article first.
const DISK: [(BlockTest, bool); 8] = [
    (BlockTest::WriteRandom, true),
    (BlockTest::Write, true),
    (BlockTest::Copy, true),
    (BlockTest::WriteRandom, false),
    (BlockTest::Write, false),
    (BlockTest::Copy, false),
    (BlockTest::ReadRandom, false),
    (BlockTest::Read, false),
];
const PROGRAMS: [&str; 2] = ["/bin/true", "/usr/bin/true"];
const SHELL: &str = "/bin/sh";

impl Test {
    /// In the order of tables.
    pub(super) fn all() -> Vec<Test> {
        let mut all = vec![Test::Sieve];
        all.extend(DISK.map(|(test, sync)| Test::Disk(test, sync)));
        all.extend(Arithmetic::ALL.map(Test::Arithmetic));
        all.extend([Test::Strings, Test::Sort, Test::Pipe, Test::Signal]);
        all.extend(STARTS.map(Test::Start));
        all
    }

    /// Those of which the article has a figure.
    pub(super) fn of_the_article() -> [Test; 4] {
        let [random, write, copy, ..] = DISK.map(|(test, sync)| Test::Disk(test, sync));
        [Test::Sieve, random, write, copy]
    }

    /// The one of this name.
    pub(super) fn named(name: &str) -> Option<Test> {
        Test::all().into_iter().find(|test| test.name() == name)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Test::Sieve => "sieve",
            Test::Arithmetic(arithmetic) => arithmetic.name(),
            Test::Strings => "strings",
            Test::Sort => "sort",
            Test::Pipe => "pipe",
            Test::Signal => "signal",
            Test::Start(Start::ForkExecute) => "exec",
            Test::Start(Start::ForkShell) => "shell",
            Test::Start(_) => "fork",
            Test::Disk(BlockTest::WriteRandom, true) => "sync-write-random",
            Test::Disk(BlockTest::Write, true) => "sync-write",
            Test::Disk(BlockTest::Copy, true) => "sync-copy",
            Test::Disk(BlockTest::WriteRandom, false) => "disk-write-random",
            Test::Disk(BlockTest::Write, false) => "disk-write",
            Test::Disk(BlockTest::Copy, false) => "disk-copy",
            Test::Disk(BlockTest::ReadRandom, _) => "disk-read-random",
            Test::Disk(BlockTest::Read, _) => "disk-read",
        }
    }

    /// Whether it needs a folder.
    pub(super) fn has_files(self) -> bool {
        matches!(self, Test::Disk(..))
    }

    /// Whether it waits for a disk.
    pub(super) fn waits(self) -> bool {
        matches!(self, Test::Disk(_, true))
    }

    /// Operations of its rate for each time that it is done.
    pub(super) fn operations(self) -> u64 {
        match self {
            Test::Sieve => AIM9_SIEVES,
            Test::Arithmetic(arithmetic) => Chain::of(arithmetic).operations(),
            Test::Strings => Strings::new().operations(),
            _ => 1,
        }
    }

    /// On files in `folder`, where it needs some.
    pub(super) fn operation(
        self,
        folder: Option<&Path>,
        size: Size,
    ) -> Result<Box<dyn Operation>, Fault> {
        Ok(match self {
            Test::Sieve => Box::new(Computing::sieve()),
            Test::Arithmetic(arithmetic) => Box::new(Computing::of(Chain::of(arithmetic))),
            Test::Strings => Box::new(Computing::of(Strings::new())),
            Test::Sort => Box::new(Computing::of(Sorting::new())),
            Test::Pipe => Box::new(PipeCopy::new()),
            Test::Signal => Box::new(SignalOperation::new(Caught::Sent)),
            Test::Start(start) => {
                let there = |path: &&str| Path::new(path).is_file();
                let program = PROGRAMS.into_iter().find(there).unwrap_or_default();
                let made = Starts::new(start, program, SHELL);
                Box::new(made.ok_or_else(|| Fault::new("a path with a zero"))?)
            }
            Test::Disk(test, sync) => {
                let folder = folder.ok_or_else(|| Fault::new("there is no folder for files"))?;
                let blocks = size.of(FILE_BLOCKS);
                let made = DiskBlocks::new(test, sync, folder, self.name(), blocks);
                Box::new(made.ok_or_else(|| Fault::new("a folder with a zero in its name"))?)
            }
        })
    }

    /// Why this machine lacks it, with what helps; `None` if it has it. Does it once.
    pub(super) fn refusal(self) -> Option<String> {
        self.try_below(&folder::below()).err().map(|fault| fault.0)
    }

    fn try_below(self, below: &Path) -> Result<(), Fault> {
        let folder = self.has_files().then(|| folder::make_in(below)).transpose()?;
        let in_memory = FileSystem::of(below).filter(FileSystem::is_in_memory);
        if let Some(found) = in_memory.filter(|_| self.waits()) {
            return Err(Fault(format!(
                "{} is {found}, which memory holds: no write waits for a disk; --folder names another folder",
                below.display()
            )));
        }
        let mut one = [self.operation(folder.as_ref().map(|it| it.path()), Size::Quick)?];
        let ran = run_in_processes(&mut one, &[&[]], None, 1).map_err(|why| match self {
            Test::Disk(..) => folder::refused(below, &why),
            _ => Fault(with_remedy(&why)),
        })?;
        match ran.iter().all(|ran| ran.right == ran.times) {
            true => Ok(()),
            false => Err(self.wrong()),
        }
    }

    fn wrong(self) -> Fault {
        match self {
            Test::Start(_) => Fault(format!(
                "a process did not end as it must; it needs {} and {SHELL}",
                PROGRAMS[0]
            )),
            _ => Fault(format!("{} did not do what it must", self.name())),
        }
    }
}

/// What helps against a limit of the system.
pub(super) fn with_remedy(why: &str) -> String {
    let is = |errno: Errno| why.ends_with(&format!("(os error {})", errno.raw_os_error()));
    match () {
        () if is(Errno::AGAIN) => {
            format!("{why}; raise the limit of processes (`ulimit -u`, pids.max)")
        }
        () if is(Errno::MFILE) => format!("{why}; raise the limit of open files (`ulimit -n`)"),
        () => why.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_test_is_found_by_its_name_and_does_what_it_must() {
        let folder = tempfile::tempdir().unwrap();
        for test in Test::all() {
            assert_eq!(Test::named(test.name()), Some(test));
            let mut one = [test.operation(Some(folder.path()), Size::Quick).unwrap()];
            let ran = run_in_processes(&mut one, &[&[]], None, 2).unwrap();
            assert_eq!(ran[0].right, ran[0].times, "{}", test.name());
            assert!(test.operations() > 0);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn limits_are_told_with_what_helps() {
        let of = |errno: Errno| with_remedy(&std::io::Error::from(errno).to_string());
        assert!(of(Errno::AGAIN).contains("ulimit -u") && of(Errno::MFILE).contains("ulimit -n"));
        assert_eq!(with_remedy("the process ended"), "the process ended");
    }

    #[test]
    fn a_folder_that_cannot_be_used_is_told_with_what_helps() {
        let disk = Test::Disk(BlockTest::Write, true);
        let nowhere = disk.try_below(Path::new("/nowhere/none")).unwrap_err();
        assert!(nowhere.0.contains("--folder") && nowhere.0.contains("/nowhere"), "{nowhere}");
        // Nothing can be made below a file of the kernel.
        assert!(disk.try_below(Path::new("/proc/self")).is_err());
        let memory = Path::new("/dev/shm");
        match FileSystem::of(memory) {
            Some(found) if found.is_in_memory() && folder::make_in(memory).is_ok() => {
                let refused = disk.try_below(memory).unwrap_err();
                assert!(refused.0.contains("memory"), "{refused}");
            }
            _ => println!("SKIPPED a part: no file system in memory at /dev/shm"),
        }
        assert!(disk.operation(None, Size::Quick).is_err());
    }
}
