//! New processes, and how they begin.

use std::io;

use super::{Operation, Ran, repeated_while_ok, sealed::Sealed};
use crate::sys::processes::{Program, clone3_and_exit, fork_and_exit};

/// How a process is started, and what it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// The C library's `fork`; the child ends. The same operation as lmbench's lat_proc fork.
    ForkExit,
    /// The call `clone3` without flags; the child ends.
    Clone3Exit,
    /// `fork`, and the child executes a program. As lmbench's lat_proc exec, with another program.
    ForkExecute,
    /// `clone` with CLONE_VM and CLONE_VFORK, as vfork's; the child executes a program.
    VforkExecute,
    /// The C library's `posix_spawn` of a program.
    PosixSpawn,
    /// `fork`, and the child executes a shell that runs a program. As lmbench's lat_proc shell, with another program.
    ForkShell,
}

/// Processes that are started and waited for, one after the other.
pub struct Starts {
    start: Start,
    program: Option<Program>,
}

/// No other end of a process has this code.
const CODE: libc::c_int = 7;

impl Starts {
    /// Of this kind. `program` is the path of one that ends with 0, `shell` that of a POSIX shell. `None` where a path
    /// cannot be one.
    pub fn new(start: Start, program: &str, shell: &str) -> Option<Starts> {
        let program = match start {
            Start::ForkExit | Start::Clone3Exit => None,
            Start::ForkShell => Some(Program::new(shell, &["sh", "-c", program])?),
            _ => Some(Program::new(program, &[program])?),
        };
        Some(Starts { start, program })
    }
}

impl Sealed for Starts {}

impl Operation for Starts {
    fn run(&mut self, times: u64) -> io::Result<Ran> {
        let program = self.program.as_mut();
        match (self.start, program) {
            (Start::ForkExit, _) => repeated_while_ok(times, || fork_and_exit(CODE)),
            (Start::Clone3Exit, _) => repeated_while_ok(times, || clone3_and_exit(CODE)),
            (Start::VforkExecute, Some(program)) => {
                repeated_while_ok(times, || program.vfork_and_execute())
            }
            (Start::PosixSpawn, Some(program)) => repeated_while_ok(times, || program.spawn()),
            (_, Some(program)) => repeated_while_ok(times, || program.fork_and_execute()),
            (_, None) => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn may_be_forked(&self) -> bool {
        self.start != Start::PosixSpawn
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::all_right;
    use super::super::{run_here, run_in_processes};
    use super::*;

    #[test]
    fn every_process_ends_as_it_must() {
        for start in [Start::ForkExit, Start::ForkExecute, Start::VforkExecute, Start::ForkShell] {
            all_right(Starts::new(start, "/bin/true", "/bin/sh").unwrap(), 3);
        }
        let mut spawned = Starts::new(Start::PosixSpawn, "/bin/true", "/bin/sh").unwrap();
        assert_eq!(run_here(&mut spawned, 3).unwrap().right, 3);
        let refused = run_in_processes(&mut [Box::new(spawned)], &[&[]], None, 1).unwrap_err();
        assert!(refused.contains("forked"), "{refused}");
    }

    #[test]
    fn clone3_starts_processes_where_the_kernel_has_it() {
        let starts = Starts::new(Start::Clone3Exit, "", "").unwrap();
        // In a process of its own, which a sandbox may end for this call.
        match run_in_processes(&mut [Box::new(starts)], &[&[]], None, 3) {
            Ok(ran) => assert_eq!(ran[0].right, 3),
            Err(error) => {
                println!("SKIPPED clone3_starts_processes_where_the_kernel_has_it: {error}")
            }
        }
    }

    #[test]
    fn a_program_that_fails_or_is_not_there_is_found() {
        for path in ["/bin/false", "/nowhere/none"] {
            for start in [Start::ForkExecute, Start::VforkExecute, Start::ForkShell] {
                let mut starts = Starts::new(start, path, "/bin/sh").unwrap();
                assert_eq!(run_here(&mut starts, 2).unwrap().right, 0, "{path} {start:?}");
            }
        }
        assert!(Starts::new(Start::ForkExecute, "\0", "").is_none());
    }
}
