//! How deep idle CPUs may sleep: a limit on the time that they take to come back (PM QoS, `/dev/cpu_dma_latency`).
//!
//! The limit is the machine's: the kernel keeps the lowest of all that are held, and forgets one when its file is closed,
//! however the process ends. A CPU that may not sleep deeply uses more power, and leaves less of it to the others.
//!
//! Rights: those to open the file, so in general root. Source: the kernel's `Documentation/power/pm_qos_interface.rst`.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::kernel_files::plain;

const DEVICE: &str = "/dev/cpu_dma_latency";

/// Why there is no limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdleLatencyError {
    /// The file cannot be opened, read or written.
    NoFile(String),
    /// A limit that is at most the requested one is in force already: another program holds it.
    AlreadyThere(u32),
    /// The kernel accepted the limit, and reports a longer time.
    NotKept {
        /// The request, in microseconds.
        asked_us: u32,
        /// What the kernel reports, in microseconds.
        got_us: u32,
    },
}

impl fmt::Display for IdleLatencyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFile(why) => write!(
                f,
                "{DEVICE}: {why}; run as root, or let a udev rule open it: KERNEL==\"cpu_dma_latency\", GROUP=\"audio\", \
                 MODE=\"0660\""
            ),
            Self::AlreadyThere(us) => {
                write!(f, "another program holds the limit at {us} µs already")
            }
            Self::NotKept { asked_us, got_us } => {
                write!(f, "a limit of {asked_us} µs was accepted, and {got_us} µs is reported")
            }
        }
    }
}

impl std::error::Error for IdleLatencyError {}

/// A limit, in force until it is dropped.
#[derive(Debug)]
#[must_use = "dropping it ends the limit at once"]
pub struct IdleLatency {
    /// The kernel ends the limit when this is closed.
    _device: File,
    now_us: u32,
}

impl IdleLatency {
    /// What the kernel reports as the limit of the machine, in microseconds: at most what was requested.
    pub fn now_us(&self) -> u32 {
        self.now_us
    }
}

/// Requests that idle CPUs come back within `us` microseconds, and reads back what is in force. 0 lets none sleep at all.
///
/// Thread: control. Cost: four system calls; each CPU is woken once.
///
/// # Errors
/// [`IdleLatencyError`]; then nothing is held.
pub fn hold(us: u32) -> Result<IdleLatency, IdleLatencyError> {
    hold_at(Path::new(DEVICE), us)
}

/// The limit of the machine now, in microseconds; some 2000 seconds where nobody holds one.
///
/// # Errors
/// [`IdleLatencyError::NoFile`] only.
pub fn now_us() -> Result<u32, IdleLatencyError> {
    File::open(DEVICE).and_then(|device| read(&device)).map_err(no_file)
}

fn hold_at(device: &Path, us: u32) -> Result<IdleLatency, IdleLatencyError> {
    let device = File::options().read(true).write(true).open(device).map_err(no_file)?;
    // Opening it asks for nothing yet, so this is what others hold.
    let before = read(&device).map_err(no_file)?;
    if before <= us {
        return Err(IdleLatencyError::AlreadyThere(before));
    }
    let asked = i32::try_from(us).unwrap_or(i32::MAX).to_ne_bytes();
    // The kernel takes all four bytes or none.
    match device.write_at(&asked, 0) {
        Ok(4) => {}
        Ok(_) => return Err(IdleLatencyError::NoFile("it does not take a number".into())),
        Err(e) => return Err(no_file(e)),
    }
    match read(&device).map_err(no_file)? {
        now_us if now_us <= us => Ok(IdleLatency { _device: device, now_us }),
        got_us => Err(IdleLatencyError::NotKept { asked_us: us, got_us }),
    }
}

fn read(device: &File) -> io::Result<u32> {
    let mut bytes = [0; 4];
    device.read_exact_at(&mut bytes, 0)?;
    Ok(i32::from_ne_bytes(bytes).max(0) as u32)
}

fn no_file(error: io::Error) -> IdleLatencyError {
    IdleLatencyError::NoFile(plain(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file in the place of the device, which says this.
    fn device(us: i32) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().expect("a file");
        file.as_file().write_all_at(&us.to_ne_bytes(), 0).expect("written");
        file
    }

    #[test]
    fn a_limit_is_written_and_read_back() {
        let device = device(2_000_000_000);
        let held = hold_at(device.path(), 2).expect("held");
        assert_eq!((held.now_us(), read(device.as_file()).expect("a number")), (2, 2));
    }

    #[test]
    fn a_lower_limit_of_another_program_is_reported() {
        let device = device(1);
        assert_eq!(hold_at(device.path(), 2).err(), Some(IdleLatencyError::AlreadyThere(1)));
        assert_eq!(read(device.as_file()).expect("a number"), 1, "nothing was written");
    }

    #[test]
    fn without_the_file_the_error_says_what_helps() {
        let folder = tempfile::tempdir().expect("a folder");
        let why = hold_at(&folder.path().join("none"), 2).expect_err("no file").to_string();
        assert!(why.contains("no such file") && why.contains("udev rule"), "{why}");
    }
}
