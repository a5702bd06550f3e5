//! All of a file at another sample rate, or its own, piece by piece.

use std::fmt;
use std::path::Path;

use crate::MediaError;
use crate::converter::Converter;
use crate::decode::PieceDecoder;
use crate::sample::silence_not_finite;

/// Decodes an audio file once, from its beginning to its end, and converts it to a sample rate. The frames have the bits of the
/// file that is decoded whole ([`decode`](crate::decode())) and converted ([`resample`](crate::resample)).
///
/// Thread: control; reads the file. Memory: a few blocks of the file and of the conversion, however long it is.
pub struct Conformer {
    decoder: PieceDecoder,
    /// `None`: the file has the rate that is wanted.
    converter: Option<Converter>,
    /// The latest piece, if it is not the decoder's own.
    rows: Vec<Vec<f32>>,
    not_finite: u64,
    is_complete: bool,
}

impl fmt::Debug for Conformer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate_hz = self.decoder.sample_rate_hz();
        f.debug_struct("Conformer").field("sample_rate_hz", &rate_hz).finish_non_exhaustive()
    }
}

impl Conformer {
    /// Opens a file that is converted to `to_hz`, which is not zero. Of more channels, the first `channels` are converted.
    ///
    /// # Errors
    /// As [`decode`](crate::decode()), for whatever is wrong up to the first sound; no file is too large.
    pub fn open(path: &Path, to_hz: u32, channels: usize) -> Result<Conformer, MediaError> {
        let decoder = PieceDecoder::open(path)?;
        let rows = vec![Vec::new(); channels.clamp(1, decoder.channels())];
        let from_hz = decoder.sample_rate_hz();
        let converter = (from_hz != to_hz).then(|| Converter::new(from_hz, to_hz, rows.len()));
        Ok(Conformer { decoder, converter, rows, not_finite: 0, is_complete: false })
    }

    /// The file's own rate, in frames per second.
    pub fn sample_rate_hz(&self) -> u32 {
        self.decoder.sample_rate_hz()
    }

    /// How many channels the file has.
    pub fn channels_of_file(&self) -> usize {
        self.decoder.channels()
    }

    /// How many rows a piece has.
    pub fn channels(&self) -> usize {
        self.rows.len()
    }

    /// The frames that come next; `None` at the end.
    ///
    /// Shape: `[channels][frames]`, one frame at least. Unit: linear, 1.0 = full scale, always finite.
    ///
    /// # Errors
    /// [`MediaError::Io`] where the file cannot be read, [`MediaError::Decoder`] where the decoder fails. Nothing comes behind that.
    pub fn next_piece(&mut self) -> Result<Option<&[Vec<f32>]>, MediaError> {
        let channels = self.rows.len();
        let Some(converter) = &mut self.converter else {
            return Ok(self.decoder.next_piece()?.map(|piece| &piece[..channels]));
        };
        self.rows.iter_mut().for_each(Vec::clear);
        while self.rows[0].is_empty() && !self.is_complete {
            match self.decoder.next_piece()? {
                Some(piece) => converter.convert(&piece[..channels], &mut self.rows),
                None => {
                    self.is_complete = true;
                    converter.finish(self.decoder.frames(), &mut self.rows);
                }
            }
        }
        self.not_finite += self.rows.iter_mut().map(|row| silence_not_finite(row)).sum::<u64>();
        Ok((!self.rows[0].is_empty()).then_some(&self.rows[..]))
    }

    /// Decodes the rest without converting it. Length and warnings are then those of the whole file, and no piece follows.
    ///
    /// # Errors
    /// As [`Conformer::next_piece`].
    pub fn skip_rest(&mut self) -> Result<(), MediaError> {
        self.is_complete = true;
        while self.decoder.next_piece()?.is_some() {}
        Ok(())
    }

    /// How many frames of the file were decoded so far, at its own rate. At the end: its length.
    pub fn frames_of_file(&self) -> u64 {
        self.decoder.frames()
    }

    /// How many frames become of those of the file that were decoded so far. At the end: the converted file's length.
    pub fn frames(&self) -> u64 {
        let frames = self.decoder.frames();
        self.converter.as_ref().map_or(frames, |converter| converter.output_frames(frames))
    }

    /// What is wrong with the file, as [`Audio::warnings`](crate::Audio::warnings). All of it is known at the end.
    pub fn warnings(&self) -> Vec<String> {
        self.decoder.warnings()
    }

    /// Samples that the conversion made infinite, because they were enormous. They are silent.
    pub fn not_finite(&self) -> u64 {
        self.not_finite
    }
}
