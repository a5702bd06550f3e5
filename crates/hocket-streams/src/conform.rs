//! Long audio files that cannot stream as they are: decoded, converted and written once, as floats at the engine's rate.
//!
//! The floats go into a file that has no name, so nothing is left of it however the process ends. It streams as a WAV file would.
//! Only what clips play takes room on the disk: the file has holes everywhere else.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hocket_disk::{ReadAt, Storage};
use hocket_media::{
    Conformer, MediaError, PartDecoder, WavFormat, WavLayout, Written, silence_not_finite,
};

use crate::DiskError;
use crate::open_files::OpenFiles;

/// Frames of the file or of the result, whichever are more, that are converted at a time.
const PART_FRAMES: u64 = 1 << 16;

/// Why a file could not be conformed.
#[derive(Debug, thiserror::Error)]
pub enum ConformError {
    /// It cannot be read or decoded.
    #[error(transparent)]
    Media(#[from] MediaError),
    /// The temporary file cannot be written. On a full disk nothing more helps than room.
    #[error("the temporary file cannot be written: {0}")]
    Write(io::Error),
    /// Too many files are open.
    #[error(transparent)]
    Open(DiskError),
}

/// A file that was conformed: what it plays is in a temporary file.
pub struct Conformed {
    /// Where its floats are.
    pub storage: Arc<dyn Storage>,
    /// Its length at the engine's rate.
    pub frames: u64,
    /// How many of the file's channels were converted.
    pub channels: usize,
    /// The file's own rate.
    pub rate_of_file_hz: u32,
    /// How many channels the file has.
    pub channels_of_file: usize,
    /// Its length in seconds.
    pub length_s: f64,
    /// How many frames were written.
    pub written_frames: u64,
    /// What is wrong with it, as [`Audio::warnings`](hocket_media::Audio::warnings).
    pub warnings: Vec<String>,
    /// Samples that the conversion made infinite. They are silent.
    pub not_finite: u64,
}

/// What is to be conformed.
#[derive(Debug, Clone, Copy)]
pub struct Conform<'a> {
    /// The file.
    pub path: &'a Path,
    /// The engine's rate.
    pub rate_hz: u32,
    /// What clips play, in frames at that rate, in order and apart from each other. It may go beyond the end.
    pub parts: &'a [Range<u64>],
    /// Of more channels, so many first ones are converted: two for clips.
    pub channels: usize,
}

impl Conform<'_> {
    /// How many bytes of a disk it takes: for a file of `frames` frames at the engine's rate, of which `channels` are converted.
    pub fn bytes(parts: &[Range<u64>], frames: u64, channels: usize) -> u64 {
        let inside = |part: &Range<u64>| part.end.min(frames).saturating_sub(part.start);
        let all = parts.iter().map(inside).fold(0, u64::saturating_add);
        all.saturating_mul((channels * size_of::<f32>()) as u64)
    }

    /// Decodes the file to its end, and converts it as far as clips play it. `out` is a new file for this alone.
    ///
    /// Thread: control. Memory: a few blocks of the file.
    ///
    /// # Errors
    /// [`ConformError`].
    pub fn whole(self, out: File) -> Result<Conformed, ConformError> {
        let mut conformer = Conformer::open(self.path, self.rate_hz, self.channels)?;
        let mut floats = Floats::new(out, self, conformer.channels());
        let end = self.parts.last().map_or(0, |part| part.end);
        let mut at = 0;
        while at < end {
            let Some(piece) = conformer.next_piece()? else { break };
            floats.write(at, piece).map_err(ConformError::Write)?;
            at += piece[0].len() as u64;
        }
        conformer.skip_rest()?;
        let rate_of_file_hz = conformer.sample_rate_hz();
        let facts = Facts {
            rate_of_file_hz,
            channels_of_file: conformer.channels_of_file(),
            length_s: conformer.frames_of_file() as f64 / f64::from(rate_of_file_hz),
            warnings: conformer.warnings(),
            not_finite: conformer.not_finite(),
        };
        floats.finish(conformer.frames(), facts)
    }

    /// Decodes and converts only what clips play of a file that can be read from any position, in parts that take nothing of what is
    /// before them ([`PartDecoder::is_independent`]). `out` as in [`Conform::whole`].
    ///
    /// Thread: control. Memory: some thousand frames at a time.
    ///
    /// # Errors
    /// [`ConformError`].
    pub fn in_parts(self, mut decoder: PartDecoder, out: File) -> Result<Conformed, ConformError> {
        let (of_file, frames) = (decoder.info().clone(), decoder.frames());
        let channels = of_file.channels.min(self.channels);
        let mut floats = Floats::new(out, self, channels);
        let (to, from) = (u64::from(self.rate_hz), u64::from(of_file.sample_rate_hz));
        let most = (PART_FRAMES * to / from.max(1)).clamp(1, PART_FRAMES);
        let mut not_finite = 0;
        for part in self.parts {
            let mut at = part.start;
            let end = part.end.min(frames);
            while at < end {
                let next = end.min(at + most);
                let mut piece = decoder.part(at..next, channels)?;
                not_finite += piece.iter_mut().map(|row| silence_not_finite(row)).sum::<u64>();
                floats.write(at, &piece).map_err(ConformError::Write)?;
                at = next;
            }
        }
        let facts = Facts {
            rate_of_file_hz: of_file.sample_rate_hz,
            channels_of_file: of_file.channels,
            length_s: of_file.frames as f64 / f64::from(of_file.sample_rate_hz),
            warnings: decoder.warnings(),
            not_finite,
        };
        floats.finish(frames, facts)
    }
}

/// What is known of a file at its end.
struct Facts {
    rate_of_file_hz: u32,
    channels_of_file: usize,
    length_s: f64,
    warnings: Vec<String>,
    not_finite: u64,
}

/// Floats on their way into the temporary file.
struct Floats<'a> {
    out: File,
    layout: WavLayout,
    conform: Conform<'a>,
    bytes: Vec<u8>,
    written_frames: u64,
}

impl<'a> Floats<'a> {
    fn new(out: File, conform: Conform<'a>, channels: usize) -> Floats<'a> {
        let layout = WavLayout {
            samples: WavFormat::Float32,
            sample_rate_hz: conform.rate_hz,
            channels: channels as u16,
        };
        Floats { out, layout, conform, bytes: Vec::new(), written_frames: 0 }
    }

    /// Writes what clips play of a piece that begins at frame `first`.
    fn write(&mut self, first: u64, rows: &[Vec<f32>]) -> io::Result<()> {
        let end = first + rows[0].len() as u64;
        for part in self.conform.parts {
            let (from, to) = (part.start.max(first), part.end.min(end));
            if from < to {
                self.write_all(from, rows, (from - first) as usize..(to - first) as usize)?;
            }
        }
        Ok(())
    }

    /// Writes the frames `inside` the rows to the place of frame `at`.
    fn write_all(&mut self, at: u64, rows: &[Vec<f32>], inside: Range<usize>) -> io::Result<()> {
        self.written_frames += inside.len() as u64;
        self.bytes.clear();
        let samples = inside.flat_map(|frame| rows.iter().map(move |row| row[frame]));
        self.layout.encode(samples, &mut self.bytes, &mut Written::default());
        self.out.write_all_at(&self.bytes, self.place(at))
    }

    fn place(&self, frame: u64) -> u64 {
        self.layout.header_bytes() + frame * self.layout.frame_bytes()
    }

    /// Gives the file its length and its header.
    fn finish(self, frames: u64, facts: Facts) -> Result<Conformed, ConformError> {
        let open = OpenFiles::allow(1).map_err(ConformError::Open)?;
        let complete = || -> io::Result<u64> {
            self.out.set_len(self.place(frames))?;
            self.out.write_all_at(&self.layout.header(frames), 0)?;
            Ok(self.out.metadata()?.dev())
        };
        let device = complete().map_err(ConformError::Write)?;
        let path = shown(self.conform.path);
        let storage = NamelessFile { path, file: Arc::new(self.out), device, _open: open };
        let Facts { rate_of_file_hz, channels_of_file, length_s, warnings, not_finite } = facts;
        Ok(Conformed {
            storage: Arc::new(storage),
            frames,
            channels: usize::from(self.layout.channels),
            rate_of_file_hz,
            channels_of_file,
            length_s,
            written_frames: self.written_frames,
            warnings,
            not_finite,
        })
    }
}

/// What messages call the temporary file of an audio file.
fn shown(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(" (its temporary file)");
    name.into()
}

/// A file without a name. It stays open, because nobody could open it again.
struct NamelessFile {
    /// What messages call it.
    path: PathBuf,
    file: Arc<File>,
    device: u64,
    _open: OpenFiles,
}

impl Storage for NamelessFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn open(&self) -> io::Result<Arc<dyn ReadAt>> {
        Ok(Arc::clone(&self.file) as Arc<dyn ReadAt>)
    }

    fn device(&self) -> u64 {
        self.device
    }
}
