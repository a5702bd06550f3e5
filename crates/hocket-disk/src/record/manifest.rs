//! A file beside a recording that says what it is, also if its program is killed.
//!
//! It is TOML, and it only grows: first what the take is, then a table for each silence and for each place at which frames
//! never arrived, at last how it ended. A recording whose manifest has no `[end]` was interrupted.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::missing::Missing;
use super::take::{Silence, TakeSettings};

const ENDING: &str = ".take.toml";
const END: &str = "[end]";

/// The manifest's place: the recording's name with `.take.toml` behind it.
pub(crate) fn path_of(recording: &Path) -> PathBuf {
    let mut name = recording.as_os_str().to_owned();
    name.push(ENDING);
    name.into()
}

/// Whether there is a manifest of this recording, and it does not say how the take ended.
pub(crate) fn is_interrupted(recording: &Path) -> bool {
    let path = path_of(recording);
    // A pipe would never answer.
    let is_file = std::fs::metadata(&path).is_ok_and(|there| there.is_file());
    is_file
        && hocket_files::read_text(&path, 64 << 20)
            .is_ok_and(|bytes| !String::from_utf8_lossy(&bytes).lines().any(|line| line == END))
}

/// An open manifest.
#[derive(Debug)]
pub(crate) struct Manifest {
    file: File,
}

impl Manifest {
    /// Writes what is known before the first frame, and puts it on the disk.
    pub fn create(settings: &TakeSettings) -> io::Result<Manifest> {
        let path = path_of(&settings.path);
        let mut file = File::create_new(&path)?;
        let written = file.write_all(head(settings).as_bytes()).and_then(|()| file.sync_all());
        if let Err(error) = written {
            // It says nothing, and would forbid the next take of this name.
            let _ = std::fs::remove_file(&path);
            return Err(error);
        }
        Ok(Manifest { file })
    }

    /// Adds silences. The caller puts them on the disk.
    pub fn add(&mut self, silences: &[Silence]) -> io::Result<()> {
        let mut text = String::new();
        for Silence { at_frame, frames } in silences {
            let _ = write!(text, "\n[[silence]]\nat_frame = {at_frame}\nframes = {frames}\n");
        }
        self.file.write_all(text.as_bytes())
    }

    /// Adds places at which frames never arrived. The caller puts them on the disk.
    pub fn add_missing(&mut self, missing: &[Missing]) -> io::Result<()> {
        let mut text = String::new();
        for Missing { at_frame, frames } in missing {
            let _ = write!(text, "\n[[missing]]\nat_frame = {at_frame}\nframes = {frames}\n");
        }
        self.file.write_all(text.as_bytes())
    }

    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Says how the take ended, and puts it on the disk.
    pub fn end(&mut self, frames: u64, missing: u64, error: Option<&str>) -> io::Result<()> {
        let mut text = format!("\n{END}\nframes = {frames}\n");
        if missing > 0 {
            let _ = writeln!(text, "missing_frames = {missing}");
        }
        if let Some(error) = error {
            let _ = writeln!(text, "error = {}", quoted(error));
        }
        self.file.write_all(text.as_bytes())?;
        self.file.sync_all()
    }
}

fn head(settings: &TakeSettings) -> String {
    let name = settings.path.file_name().unwrap_or_default().to_string_lossy();
    let dropped = match settings.dropped_frames {
        0 => String::new(),
        frames => format!("dropped_frames = {frames}\n"),
    };
    format!(
        "# What the recording beside this file is. Without [end] it was interrupted.\n\
         file = {}\nformat = \"{}\"\nsample_rate_hz = {}\nchannels = {}\nstart_frame = {}\nlatency_frames = {}\n{dropped}",
        quoted(&name),
        settings.format.name(),
        settings.sample_rate_hz,
        settings.channels,
        settings.start_frame,
        settings.latency_frames,
    )
}

/// As a string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for sign in text.chars() {
        match sign {
            '"' | '\\' => quoted.extend(['\\', sign]),
            sign if sign.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(sign));
            }
            sign => quoted.push(sign),
        }
    }
    quoted.push('"');
    quoted
}
