//! Audio files: decode, resample, encode, measure, draw.
//!
//! [`decode`] turns any audio file into planar `f32` rows, and [`StreamDecoder`] does so piece by
//! piece. [`decode_within`] refuses what is too long before it fills the memory. [`probe`] only reads the header,
//! [`examine`] all of the file, of which it keeps nothing. [`resample`] converts rows to the engine's rate, [`PartDecoder`]
//! converts parts of a long file without the rest, [`Conformer`] converts all of a file that is too long for the memory,
//! [`AudioWriter`] writes what was rendered, [`LevelMeter`] says how loud it is, and [`Preview`] computes the waveform overview of a file
//! piece by piece. [`WavLayout`] and [`FlacEncoder`] make the bytes of files that grow while they are
//! recorded.
//!
//! Everything here runs on control threads: it allocates, reads and writes files. Nothing here
//! believes a file's header: lengths are bounded by what is really there, damaged files give what
//! is intact and a warning, and what cannot be read is one clear error.
#![forbid(unsafe_code)]

mod audio;
mod error;
mod bytes;
mod decode;
mod resample;
mod parts;
mod converter;
mod conformer;
mod sample;
mod dither;
mod own;
mod wav_layout;
mod wav;
mod flac_encoder;
mod flac;
mod writer;
mod levels;
mod overview;

pub use audio::{Audio, AudioFacts};
pub use bytes::ReadAt;
pub use conformer::Conformer;
pub use decode::{
    MAX_CHANNELS, MAX_SAMPLE_RATE_HZ, MAX_SAMPLES, MIN_SAMPLE_RATE_HZ, decode, decode_within,
    examine, probe,
};
pub use decode::{SeekCost, StreamDecoder, StreamInfo};
pub use dither::Dither;
pub use error::{MediaError, WriteError};
pub use flac_encoder::FlacEncoder;
pub use levels::{LevelMeter, Levels, NotMeasurable};
pub use overview::{Overview, Point, Preview, Progress, THESIS_PIECE_BYTES};
pub use own::{SOFTWARE, is_output};
pub use parts::PartDecoder;
pub use resample::{resample, resample_beginning};
pub use sample::silence_not_finite;
pub use wav::{WavWriter, Written};
pub use wav_layout::{WavFormat, WavLayout};
pub use writer::{AudioWriter, FileFormat};
