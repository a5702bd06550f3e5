//! What is wrong with an audio file, found by decoding it to its end. Nothing of it is kept.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::Source;
use super::compressed::{Stream, with_stream};
use super::header::Header;
use super::stream::StreamDecoder;
use crate::MediaError;
use crate::audio::not_finite;

/// About how many samples of an uncompressed file are decoded at a time.
const PIECE_SAMPLES: usize = 1 << 16;

/// Decodes a whole audio file and keeps nothing of it. Returns what [`decode`](super::decode) says in
/// [`Audio::warnings`](crate::Audio::warnings); `None` as soon as `stop` becomes true.
///
/// Thread: control. Cost: as [`decode`](super::decode). Memory: a few blocks of the file, so none is too large.
///
/// # Errors
/// As [`decode`](super::decode), but never [`MediaError::TooLarge`].
pub fn examine(path: &Path, stop: &AtomicBool) -> Result<Option<Vec<String>>, MediaError> {
    let mut source = Source::open(path)?;
    match source.any_header()? {
        Header::Pcm(layout) => uncompressed(StreamDecoder::pcm(source, layout)?, stop),
        Header::Compressed(format) => {
            with_stream(source, format, |stream| compressed(stream, stop))
        }
    }
}

fn uncompressed(
    mut decoder: StreamDecoder,
    stop: &AtomicBool,
) -> Result<Option<Vec<String>>, MediaError> {
    let mut warnings = decoder.info().warnings.clone();
    let (channels, frames) = (decoder.info().channels, decoder.info().frames);
    let mut piece = vec![vec![0.0; (PIECE_SAMPLES / channels).max(1)]; channels];
    let mut rows: Vec<&mut [f32]> = piece.iter_mut().map(Vec::as_mut_slice).collect();
    let mut done = 0;
    while done < frames {
        // Relaxed, here and below: the flag stands for itself.
        if stop.load(Relaxed) {
            return Ok(None);
        }
        match decoder.read(done, &mut rows)? {
            // The file became shorter meanwhile.
            0 => break,
            read => done += read as u64,
        }
    }
    warnings.extend(not_finite(decoder.not_finite()));
    Ok(Some(warnings))
}

fn compressed(mut stream: Stream, stop: &AtomicBool) -> Result<Option<Vec<String>>, MediaError> {
    let mut strange = 0;
    // The step that ends the stream may have decoded something, too.
    loop {
        let goes_on = stream.step();
        let samples = stream.sink.channels.iter().flatten();
        strange += samples.filter(|sample| !sample.is_finite()).count() as u64;
        stream.sink.clear();
        if !goes_on {
            break;
        }
        if stop.load(Relaxed) {
            return Ok(None);
        }
    }
    stream.check_started()?;
    let mut warnings = stream.sink.warnings();
    warnings.extend(not_finite(strange));
    Ok(Some(warnings))
}
