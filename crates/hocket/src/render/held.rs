//! Rendered sound that waits until its gain is known.

use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use hocket_files::is_standard_output;
use hocket_media::WriteError;

use crate::files::folder_of;

/// Bytes of a stereo frame: two floats.
pub(super) const FRAME_BYTES: u64 = 8;
/// Frames that are read at once.
const PIECE_FRAMES: usize = 1 << 14;

/// Stereo sound as floats in a file without a name: however the program ends, the system removes it.
#[derive(Debug)]
pub(super) struct Held {
    /// Where it lies, for messages.
    folder: PathBuf,
    file: BufWriter<File>,
}

/// The folder in which the sound of this output waits: that of the output, or the one for temporary files if the output is
/// a stream.
pub(super) fn folder(output: &Path) -> PathBuf {
    let is_there = |path: &Path| std::fs::metadata(path).is_ok_and(|there| !there.is_file());
    match is_standard_output(output) || is_there(output) {
        true => std::env::temp_dir(),
        false => folder_of(output).into(),
    }
}

impl Held {
    /// Nothing yet, for this output.
    ///
    /// # Errors
    /// No file can be made there.
    pub fn create(output: &Path) -> Result<Held, WriteError> {
        let folder = folder(output);
        let file =
            tempfile::tempfile_in(&folder).map_err(|error| WriteError::io(&folder, error))?;
        Ok(Held { folder, file: BufWriter::with_capacity(1 << 16, file) })
    }

    /// Appends frames. Shape: two rows of one length.
    ///
    /// # Errors
    /// The disk is full or fails.
    pub fn write(&mut self, left: &[f32], right: &[f32]) -> Result<(), WriteError> {
        let frame = |(left, right): (&f32, &f32)| {
            let [a, b] = [left, right].map(|sample| sample.to_le_bytes());
            self.file.write_all(&[a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]])
        };
        let written = left.iter().zip(right).try_for_each(frame);
        written.map_err(|error| WriteError::io(&self.folder, error))
    }

    /// Passes everything on in pieces, from the start. It ends early where `pass` returns `false`, and returns `false` then.
    ///
    /// # Errors
    /// The disk is full or fails; what `pass` returns.
    pub fn play(
        self,
        mut pass: impl FnMut(&[f32], &[f32]) -> Result<bool, WriteError>,
    ) -> Result<bool, WriteError> {
        let failed = |error: std::io::Error| WriteError::io(&self.folder, error);
        let mut file = self.file.into_inner().map_err(|error| failed(error.into_error()))?;
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        let mut bytes = Vec::with_capacity(PIECE_FRAMES * FRAME_BYTES as usize);
        let mut rows = [Vec::with_capacity(PIECE_FRAMES), Vec::with_capacity(PIECE_FRAMES)];
        loop {
            bytes.clear();
            let most = (PIECE_FRAMES as u64) * FRAME_BYTES;
            if (&mut file).take(most).read_to_end(&mut bytes).map_err(failed)? == 0 {
                return Ok(true);
            }
            rows.iter_mut().for_each(Vec::clear);
            for (at, sample) in bytes.chunks_exact(4).enumerate() {
                rows[at % 2].push(f32::from_le_bytes([sample[0], sample[1], sample[2], sample[3]]));
            }
            if !pass(&rows[0], &rows[1])? {
                return Ok(false);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_comes_back_and_has_no_name() {
        let folder = tempfile::tempdir().unwrap();
        let mut held = Held::create(&folder.path().join("out.wav")).unwrap();
        let left: Vec<f32> = (0..40_000).map(|n| n as f32).collect();
        let right: Vec<f32> = left.iter().map(|x| f32::MIN_POSITIVE * x).collect();
        for (left, right) in left.chunks(777).zip(right.chunks(777)) {
            held.write(left, right).unwrap();
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let mut rows = [Vec::new(), Vec::new()];
        let whole = held.play(|left, right| {
            rows[0].extend_from_slice(left);
            rows[1].extend_from_slice(right);
            Ok(true)
        });
        assert!(whole.unwrap());
        assert!(rows == [left, right]);
    }

    #[test]
    fn what_is_for_a_stream_waits_among_temporary_files() {
        assert_eq!(folder(Path::new("-")), std::env::temp_dir());
        assert_eq!(folder(Path::new("/dev/null")), std::env::temp_dir());
        assert_eq!(folder(Path::new("out.wav")), Path::new("."));
    }
}
