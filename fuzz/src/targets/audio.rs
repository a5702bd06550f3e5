//! Audio files: header, whole file, stream; what is written of them and read again.

use std::io;
use std::path::Path;
use std::sync::Arc;

use hocket_media::{
    Audio, AudioWriter, FileFormat, MAX_CHANNELS, MediaError, ReadAt, StreamDecoder, WavFormat,
    decode, probe,
};

use super::scratch;

/// Files of more samples are read as far as this, as a stream.
const MOST_SAMPLES: u64 = 1 << 22;
const PIECE_FRAMES: usize = 1000;

struct Bytes(Vec<u8>);

impl ReadAt for Bytes {
    fn read_at(&self, position: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let from = usize::try_from(position).unwrap_or(usize::MAX).min(self.0.len());
        let count = buffer.len().min(self.0.len() - from);
        buffer[..count].copy_from_slice(&self.0[from..from + count]);
        Ok(count)
    }

    fn byte_len(&self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }
}

pub fn check(bytes: &[u8]) {
    // By this name bytes of unknown kind are tried as MP3; all others are known by their content.
    let path = scratch::file("sound.mp3", bytes);
    let facts = probe(&path);
    let streamed = stream(&path, bytes);
    let few = streamed.as_ref().is_ok_and(|streamed| streamed.is_whole);
    let whole = if few { decode(&path) } else { return message(streamed.err()) };
    let (Ok(whole), Ok(streamed)) = (&whole, &streamed) else { return message(whole.err()) };
    check_audio(whole);
    if let Ok(facts) = facts {
        let found = (whole.sample_rate_hz, whole.channels.len());
        assert_eq!((facts.sample_rate_hz, facts.channels), found, "header and sound");
    }
    if whole.warnings.is_empty() && streamed.rows.len() == whole.channels.len() {
        assert_eq!(bits(&streamed.rows), bits(&whole.channels), "stream and whole file");
    }
    write_and_read(whole);
}

fn message(error: Option<MediaError>) {
    assert!(error.is_none_or(|error| !error.to_string().is_empty()));
}

fn bits(rows: &[Vec<f32>]) -> Vec<Vec<u32>> {
    rows.iter().map(|row| row.iter().map(|sample| sample.to_bits()).collect()).collect()
}

struct Streamed {
    rows: Vec<Vec<f32>>,
    is_whole: bool,
}

/// Reads a stream in pieces, then one piece again from the middle.
fn stream(path: &Path, bytes: &[u8]) -> Result<Streamed, MediaError> {
    let mut stream = StreamDecoder::open(path, Arc::new(Bytes(bytes.into())))?;
    let (channels, frames) = (stream.info().channels, stream.info().frames);
    assert!((1..=MAX_CHANNELS).contains(&channels));
    let is_whole = frames.saturating_mul(channels as u64) <= MOST_SAMPLES;
    let most = frames.min(MOST_SAMPLES / channels as u64);
    let mut rows = vec![Vec::new(); channels];
    while (rows[0].len() as u64) < most {
        let at = rows[0].len() as u64;
        let piece = piece(&mut stream, at)?;
        let got = piece[0].len();
        rows.iter_mut().zip(piece).for_each(|(row, piece)| row.extend(piece));
        if got < PIECE_FRAMES {
            break;
        }
    }
    assert!(rows.iter().flatten().all(|sample| sample.is_finite()));
    let middle = rows[0].len() / 2;
    let again = piece(&mut stream, middle as u64)?;
    let there = |row: &Vec<f32>| row[middle..row.len().min(middle + again[0].len())].to_vec();
    let before: Vec<Vec<f32>> = rows.iter().map(there).collect();
    if is_whole {
        assert_eq!(bits(&before), bits(&again), "read twice from frame {middle}");
    }
    Ok(Streamed { rows, is_whole })
}

fn piece(stream: &mut StreamDecoder, at: u64) -> Result<Vec<Vec<f32>>, MediaError> {
    let mut rows = vec![vec![f32::NAN; PIECE_FRAMES]; stream.info().channels];
    let mut slices: Vec<&mut [f32]> = rows.iter_mut().map(Vec::as_mut_slice).collect();
    let got = stream.read(at, &mut slices)?;
    rows.iter_mut().for_each(|row| row.truncate(got));
    Ok(rows)
}

fn check_audio(audio: &Audio) {
    assert!((1..=MAX_CHANNELS).contains(&audio.channels.len()));
    assert!(audio.channels.iter().all(|row| row.len() == audio.frames()));
    assert!(audio.channels.iter().flatten().all(|sample| sample.is_finite()));
    assert!(audio.warnings.iter().all(|warning| !warning.is_empty()));
}

/// 32-bit floats keep every bit.
fn write_and_read(audio: &Audio) {
    let path = scratch::file("written.wav", b"");
    let (left, right) = (&audio.channels[0], audio.channels.last().expect("a channel"));
    let (rate, frames) = (audio.sample_rate_hz, left.len() as u64);
    let writer = AudioWriter::create(&path, FileFormat::Wav, rate, WavFormat::Float32, frames);
    let mut writer = writer.expect("a file can be made");
    writer.write(left, right).expect("written");
    writer.finish().expect("finished");
    if frames == 0 {
        return;
    }
    let again = decode(&path).expect("what Hocket writes");
    assert_eq!(again.sample_rate_hz, rate);
    assert_eq!(bits(&again.channels), bits(&[left.clone(), right.clone()]), "written and read");
}
