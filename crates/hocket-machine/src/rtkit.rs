//! RealtimeKit as it is installed: its program, the file by which the bus starts it, the bus, and its process.
//!
//! This module reads files and changes nothing. Whether RealtimeKit gives this user a priority, and up to which limits, is
//! what [`rights::probe`](crate::rights::probe) tries.

use serde::Serialize;

use crate::fact::Fact;
use crate::kernel_files::KernelFiles;

/// Where distributions put the daemon.
const PROGRAMS: [&str; 3] =
    ["usr/libexec/rtkit-daemon", "usr/lib/rtkit/rtkit-daemon", "usr/lib/rtkit-daemon"];
const SERVICES: [&str; 1] =
    ["usr/share/dbus-1/system-services/org.freedesktop.RealtimeKit1.service"];
const BUSES: [&str; 2] = ["run/dbus/system_bus_socket", "var/run/dbus/system_bus_socket"];
/// The daemon's name among the processes.
const PROCESS: &str = "rtkit-daemon";

/// What there is of RealtimeKit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RtkitFiles {
    /// The daemon's program.
    pub program: Fact<String>,
    /// The file by which the system bus starts the daemon when a program asks for it.
    pub service: Fact<String>,
    /// The socket of the system bus, at its usual place.
    pub bus: Fact<String>,
    /// The number of the daemon's process.
    pub process: Fact<u32>,
}

impl RtkitFiles {
    /// Whether anything of it is installed at one of the usual places.
    pub fn is_installed(&self) -> bool {
        self.program.value().is_some() || self.service.value().is_some()
    }
}

/// Reads the files. Thread: control. Cost: a few looks, and a file for each process.
pub fn read() -> RtkitFiles {
    read_below(&KernelFiles::live())
}

fn read_below(files: &KernelFiles) -> RtkitFiles {
    RtkitFiles {
        program: first(files, &PROGRAMS),
        service: first(files, &SERVICES),
        bus: first(files, &BUSES),
        process: process(files),
    }
}

/// The first of some places at which there is something.
fn first(files: &KernelFiles, places: &[&str]) -> Fact<String> {
    match places.iter().find(|place| files.exists(place)) {
        Some(place) => Fact::Value(format!("/{place}")),
        None => Fact::Unknown(format!("there is no /{}", places.join(", no /"))),
    }
}

fn process(files: &KernelFiles) -> Fact<u32> {
    let name = |process: u32| files.text(&format!("proc/{process}/comm"));
    let is_daemon = |process: &u32| name(*process).is_ok_and(|name| name == PROCESS);
    match files.numbered("proc", "").into_iter().find(is_daemon) {
        Some(process) => Fact::Value(process),
        None => Fact::Unknown(format!("there is no process {PROCESS}")),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn machine(files: &[(&str, &str)]) -> RtkitFiles {
        let root = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        read_below(&KernelFiles::at(root.path()))
    }

    #[test]
    fn a_machine_without_it_says_what_is_missing() {
        let found = machine(&[("proc/1/comm", "init\n")]);
        assert!(!found.is_installed());
        let why = found.program.why().expect("no program");
        assert!(PROGRAMS.iter().all(|place| why.contains(&format!("/{place}"))), "{why}");
        assert!(found.service.why().is_some_and(|why| why.contains("RealtimeKit1.service")));
        assert!(found.bus.why().is_some_and(|why| why.contains("/run/dbus/")));
        assert_eq!(found.process.why(), Some("there is no process rtkit-daemon"));
    }

    #[test]
    fn what_is_installed_is_named_and_the_daemon_is_found_by_its_name() {
        let found = machine(&[
            (PROGRAMS[1], ""),
            (SERVICES[0], "[D-BUS Service]"),
            (BUSES[0], ""),
            ("proc/7/comm", "rtkit-daemon2\n"),
            ("proc/77/comm", "rtkit-daemon\n"),
        ]);
        assert!(found.is_installed());
        assert_eq!(found.program, Fact::Value("/usr/lib/rtkit/rtkit-daemon".into()));
        assert_eq!(found.bus, Fact::Value("/run/dbus/system_bus_socket".into()));
        assert_eq!(found.process, Fact::Value(77));
    }

    #[test]
    fn the_file_of_the_bus_alone_counts_as_installed() {
        let found = machine(&[(SERVICES[0], "")]);
        assert!(found.is_installed() && found.program.why().is_some());
    }
}
