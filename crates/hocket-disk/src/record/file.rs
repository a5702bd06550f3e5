//! The file of a take: a header that is valid at every moment, and samples behind it.
//!
//! The order is: samples, `fdatasync`, header, `fdatasync`. So a header never states what is not on the disk, and a power
//! cut leaves the header of the last sync. The header is written in one call and has the same length always, so a killed
//! process leaves the old one or the new one.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use hocket_media::{FlacEncoder, WavLayout, WriteError, Written};

use super::manifest::{self, Manifest};
use super::take::{TakeFormat, TakeSettings};

/// So much is gathered before it is given to the system.
const BUFFER_BYTES: usize = 1 << 18;
/// Frames of silence that are encoded at a time, where a hole in the file would not do.
const SILENCE_FRAMES: u64 = 4096;
const MOST_CHANNELS: usize = 64;

pub(crate) struct TakeFile {
    path: PathBuf,
    file: File,
    layout: WavLayout,
    /// `None`: WAV.
    flac: Option<Box<FlacEncoder>>,
    buffer: Vec<u8>,
    /// Where the next bytes go.
    at: u64,
    /// Frames before `at`.
    frames: u64,
    written: Written,
}

impl TakeFile {
    /// Creates the recording and its manifest; neither may exist. Nothing is left behind by a failure.
    pub fn create(settings: &TakeSettings) -> Result<(TakeFile, Manifest), WriteError> {
        let path = &settings.path;
        let layout = checked(settings)?;
        let flac = match settings.format {
            TakeFormat::Wav(_) => None,
            TakeFormat::Flac16 | TakeFormat::Flac24 => {
                FlacEncoder::check(path, layout)?;
                let failed = |error| WriteError::refused(path, error, "record WAV (.wav) instead");
                Some(Box::new(FlacEncoder::for_take(layout).map_err(failed)?))
            }
        };
        let io = |error| WriteError::io(path, error);
        let file =
            File::options().read(true).write(true).create_new(true).open(path).map_err(io)?;
        let manifest = Manifest::create(settings).map_err(|error| {
            // It is empty, and nobody else has it.
            let _ = std::fs::remove_file(path);
            WriteError::io(&manifest::path_of(path), error)
        })?;
        // Without locks on this file system, recovery cannot tell that the recording goes on.
        let _ = file.try_lock();
        let (path, buffer) = (path.clone(), Vec::with_capacity(2 * BUFFER_BYTES));
        let mut this = TakeFile {
            path,
            file,
            layout,
            flac,
            buffer,
            at: 0,
            frames: 0,
            written: Written::default(),
        };
        let begun = this.begin();
        if let Err(error) = begun {
            remove(&this.path);
            return Err(error);
        }
        Ok((this, manifest))
    }

    fn begin(&mut self) -> Result<(), WriteError> {
        self.at = self.header()?.len() as u64;
        self.put_header()?;
        self.file.sync_all().map_err(|error| self.failed(error))?;
        sync_folder(&self.path);
        Ok(())
    }

    /// Frames that are in the file.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    pub fn written(&self) -> Written {
        Written { frames: self.frames, ..self.written }
    }

    /// Appends samples, frame after frame and channel after channel.
    pub fn push(&mut self, samples: impl Iterator<Item = f32>) -> Result<(), WriteError> {
        match &mut self.flac {
            None => self.layout.encode(samples, &mut self.buffer, &mut self.written),
            Some(flac) => {
                let pushed = flac.push(samples, &mut self.buffer, &mut self.written);
                pushed.map_err(|error| {
                    WriteError::refused(&self.path, error, "record WAV (.wav) instead")
                })?;
            }
        }
        if self.buffer.len() >= BUFFER_BYTES { self.flush() } else { Ok(()) }
    }

    /// Appends silence. In a WAV file it is a hole, since silence is zeros there: a disk that was too slow need not
    /// write it.
    pub fn push_silence(&mut self, frames: u64) -> Result<(), WriteError> {
        if self.flac.is_none() {
            self.flush()?;
            let to = self.at + frames * self.layout.frame_bytes();
            self.file.set_len(to).map_err(|error| self.failed(error))?;
            (self.at, self.frames) = (to, self.frames + frames);
            return Ok(());
        }
        let mut left = frames;
        while left > 0 {
            let run = left.min(SILENCE_FRAMES);
            let samples = run as usize * usize::from(self.layout.channels);
            self.push(std::iter::repeat_n(0.0, samples))?;
            left -= run;
        }
        Ok(())
    }

    /// Puts everything so far on the disk, and then a header that says so.
    pub fn sync(&mut self) -> Result<(), WriteError> {
        self.flush()?;
        self.file.sync_data().map_err(|error| self.failed(error))?;
        self.put_header()?;
        // Without this, the system may keep the header in memory for half a minute.
        self.file.sync_data().map_err(|error| self.failed(error))
    }

    /// Completes the file.
    pub fn finish(&mut self) -> Result<(), WriteError> {
        if let Some(flac) = &mut self.flac {
            let ended = flac.end(&mut self.buffer);
            ended.map_err(|error| {
                WriteError::refused(&self.path, error, "record WAV (.wav) instead")
            })?;
        }
        self.flush()?;
        if self.flac.is_none() && !(self.frames * self.layout.frame_bytes()).is_multiple_of(2) {
            self.file.write_all_at(&[0], self.at).map_err(|error| self.failed(error))?;
        }
        self.file.sync_data().map_err(|error| self.failed(error))?;
        self.put_header()?;
        self.file.sync_all().map_err(|error| self.failed(error))
    }

    /// After a failure: leaves the frames that are whole, and a header for them, as far as the disk allows. If it
    /// does not, the header of the last sync is still valid.
    pub fn settle(&mut self) {
        self.buffer.clear();
        let settled = self.file.set_len(self.at).and_then(|()| self.file.sync_data());
        if settled.is_ok() && self.put_header().is_ok() {
            let _ = self.file.sync_all();
        }
    }

    /// See [`check_name`].
    pub fn check_name(&self) -> Result<(), WriteError> {
        check_name(&self.file, &self.path)
    }

    /// Gives the lock back: from now on the file may be recovered, or changed.
    pub fn release(&self) {
        let _ = self.file.unlock();
    }

    fn flush(&mut self) -> Result<(), WriteError> {
        let (done, result) = write_at(&self.file, &self.buffer, self.at);
        let complete = done == self.buffer.len();
        self.buffer.clear();
        match &self.flac {
            // Bytes of a block are of no use without the rest of it.
            Some(flac) if complete => {
                (self.at, self.frames) = (self.at + done as u64, flac.frames());
            }
            Some(_) => {}
            None => {
                let frames = done as u64 / self.layout.frame_bytes();
                self.at += frames * self.layout.frame_bytes();
                self.frames += frames;
            }
        }
        result.map_err(|error| self.failed(error))
    }

    fn header(&self) -> Result<Vec<u8>, WriteError> {
        match &self.flac {
            None => Ok(self.layout.take_header(self.frames)),
            Some(flac) => {
                let head = flac.head_of(self.frames);
                head.map_err(|error| {
                    WriteError::refused(&self.path, error, "record WAV (.wav) instead")
                })
            }
        }
    }

    fn put_header(&self) -> Result<(), WriteError> {
        self.file.write_all_at(&self.header()?, 0).map_err(|error| self.failed(error))
    }

    fn failed(&self, error: io::Error) -> WriteError {
        WriteError::io(&self.path, error)
    }
}

/// Removes a recording that never began, and its manifest. Both were created for it.
pub(crate) fn remove(path: &Path) {
    let _ = std::fs::remove_file(path);
    let _ = std::fs::remove_file(manifest::path_of(path));
}

fn checked(settings: &TakeSettings) -> Result<WavLayout, WriteError> {
    let refused = |cause: String, remedy| Err(WriteError::refused(&settings.path, cause, remedy));
    if !(1..=MOST_CHANNELS).contains(&settings.channels) {
        let cause = format!("{} channels cannot be recorded", settings.channels);
        return refused(cause, "record 1 to 64 channels");
    }
    let rates = hocket_media::MIN_SAMPLE_RATE_HZ..=hocket_media::MAX_SAMPLE_RATE_HZ;
    if !rates.contains(&settings.sample_rate_hz) {
        let cause = format!("a rate of {} Hz cannot be recorded", settings.sample_rate_hz);
        return refused(cause, "choose a rate between 1000 and 1536000 Hz");
    }
    Ok(WavLayout {
        samples: settings.format.samples(),
        sample_rate_hz: settings.sample_rate_hz,
        channels: settings.channels as u16,
    })
}

/// Writes as much as is possible; how much that was, and why no more.
pub(super) fn write_at(file: &File, bytes: &[u8], at: u64) -> (usize, io::Result<()>) {
    let mut done = 0;
    while done < bytes.len() {
        match file.write_at(&bytes[done..], at + done as u64) {
            Ok(0) => return (done, Err(io::ErrorKind::WriteZero.into())),
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (done, Err(error)),
        }
    }
    (done, Ok(()))
}

/// Whether the file still has its name: somebody may have removed or replaced it.
///
/// # Errors
/// It has not.
pub(super) fn check_name(file: &File, path: &Path) -> Result<(), WriteError> {
    let id = |there: &std::fs::Metadata| (there.dev(), there.ino());
    let own = file.metadata().as_ref().map(id).ok();
    let there = std::fs::metadata(path).as_ref().map(id).ok();
    match own.is_some() && own == there {
        true => Ok(()),
        false => Err(WriteError::refused(
            path,
            "the file was removed, renamed or replaced while it was recorded",
            "leave a take alone until it has ended",
        )),
    }
}

/// Makes the new names survive a power cut. Not every file system can.
pub(super) fn sync_folder(path: &Path) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Ok(folder) = File::open(folder.unwrap_or(Path::new("."))) {
        let _ = folder.sync_all();
    }
}
