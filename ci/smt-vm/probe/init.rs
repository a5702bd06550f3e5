//! The first process of a machine: mounts what the check reads, runs it, and ends the machine.

use std::ffi::CStr;
use std::process::{Command, ExitCode};

use rustix::mount::{MountFlags, mount};
use rustix::system::{RebootCommand, reboot};

/// Where what is mounted, in order.
const MOUNTS: [(&str, &str); 5] = [
    ("proc", "/proc"),
    ("sysfs", "/sys"),
    ("cgroup2", "/sys/fs/cgroup"),
    ("tmpfs", "/tmp"),
    ("tmpfs", "/run"),
];

/// Does not come back. The kernel hands on what it does not know of its command line: policies.
pub fn run(policies: &[&str]) -> ExitCode {
    for (kind, place) in MOUNTS {
        if let Err(error) = mount(kind, place, kind, MountFlags::empty(), None::<&CStr>) {
            println!("smt-vm: FAILED {kind} cannot be mounted: {error}");
        }
    }
    // A busy host stretches blocks until they take more than the kernel leaves to real-time threads.
    if let Err(error) = std::fs::write("/proc/sys/kernel/sched_rt_runtime_us", "-1") {
        println!("smt-vm: FAILED real-time threads stay bounded: {error}");
    }
    // A process of its own: signals and the end of a first process mean something else.
    match Command::new("/proc/self/exe").arg("check").args(policies).status() {
        Ok(status) => println!("smt-vm: the check ended with {status}"),
        Err(error) => println!("smt-vm: FAILED the check cannot be started: {error}"),
    }
    // QEMU is told to end instead of starting again: that needs nothing from the kernel, unlike
    // switching off.
    if let Err(error) = reboot(RebootCommand::Restart) {
        println!("smt-vm: FAILED the machine cannot be ended: {error}");
    }
    ExitCode::FAILURE
}
