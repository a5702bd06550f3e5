//! A file whose samples count, and what a recording of it must look like: each sample is one more than the one before,
//! but where the song stopped, went on or jumped. So a block that was lost, repeated or out of order shows.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

/// The rate of the session.
pub const RATE_HZ: u32 = 48_000;
/// The numbers that samples of 16 bits have.
const NUMBERS: i64 = 1 << 16;
/// Breaks that are closer than this are one: a command may come with another one.
const CLOSE_FRAMES: u64 = 64;
const HEADER_BYTES: usize = 44;

/// One channel of 16 bits that counts from the smallest number to the largest.
pub fn file() -> Vec<u8> {
    let samples = (i16::MIN..=i16::MAX).flat_map(i16::to_le_bytes);
    let (data, rate) = (2 * NUMBERS as u32, RATE_HZ.to_le_bytes());
    let mut bytes = Vec::with_capacity(HEADER_BYTES + data as usize);
    bytes.extend(b"RIFF");
    bytes.extend((36 + data).to_le_bytes());
    bytes.extend(b"WAVEfmt \x10\0\0\0\x01\0\x01\0");
    bytes.extend(rate);
    bytes.extend((2 * RATE_HZ).to_le_bytes());
    bytes.extend(b"\x02\0\x10\0data");
    bytes.extend(data.to_le_bytes());
    bytes.extend(samples);
    bytes
}

/// What a recording has.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct Recording {
    /// By its header.
    pub frames: u64,
    /// That were played while it recorded.
    pub frames_played: u64,
    /// Places where it does not count on.
    pub breaks: u64,
    /// Samples that are no numbers.
    pub not_finite: u64,
    /// Frames whose channels differ; of a file that counts.
    pub unlike: u64,
    /// What is wrong with the file itself.
    pub error: Option<String>,
}

/// Reads a recording of the counting file to its end.
pub fn check(path: &Path, frames_played: u64) -> Recording {
    read(path, frames_played, Some(Counter::default()))
}

/// Reads any recording: header, length, and whether all samples are numbers.
pub fn header(path: &Path, frames_played: u64) -> Recording {
    read(path, frames_played, None)
}

fn read(path: &Path, frames_played: u64, counter: Option<Counter>) -> Recording {
    let recording = Recording { frames_played, ..Recording::default() };
    let mut read = Reading { recording, counter };
    if let Err(why) = read.all(path) {
        read.recording.error = Some(format!("{}: {why}", path.display()));
    }
    read.recording
}

struct Reading {
    recording: Recording,
    counter: Option<Counter>,
}

impl Reading {
    fn all(&mut self, path: &Path) -> Result<(), String> {
        let refused = |error: std::io::Error| error.to_string();
        let file = File::open(path).map_err(refused)?;
        let length = file.metadata().map_err(refused)?.len();
        let mut file = BufReader::with_capacity(1 << 20, file);
        let data = data_chunk(&mut file)?;
        let left = length.checked_sub(data.at).ok_or("it is shorter than its header")?;
        if data.bytes > left || left - data.bytes > 1 {
            return Err(format!(
                "its header says {} bytes of samples, and {left} are there",
                data.bytes
            ));
        }
        self.recording.frames = data.bytes / 8;
        let mut frame = [0; 8];
        for _ in 0..self.recording.frames {
            file.read_exact(&mut frame).map_err(refused)?;
            self.frame(frame);
        }
        Ok(())
    }

    fn frame(&mut self, bytes: [u8; 8]) {
        let [a, b, c, d, e, f, g, h] = bytes;
        let (left, right) = (f32::from_le_bytes([a, b, c, d]), f32::from_le_bytes([e, f, g, h]));
        let strange = [left, right].iter().filter(|sample| !sample.is_finite()).count();
        self.recording.not_finite += strange as u64;
        if let Some(counter) = &mut self.counter {
            self.recording.unlike += u64::from(left.to_bits() != right.to_bits());
            self.recording.breaks += u64::from(counter.breaks(left));
        }
    }
}

/// Where samples are in a file.
struct Data {
    at: u64,
    bytes: u64,
}

/// Finds them, in a RIFF file of floats in stereo. A take of more than 4 GiB is an RF64 file, which is refused here.
fn data_chunk(file: &mut impl Read) -> Result<Data, String> {
    let mut read = |bytes: &mut [u8]| file.read_exact(bytes).map_err(|error| error.to_string());
    let mut riff = [0; 12];
    read(&mut riff)?;
    if &riff[..4] != b"RIFF" || &riff[8..] != b"WAVE" {
        return Err("it is no RIFF file".into());
    }
    let mut at = 12u64;
    loop {
        let mut head = [0; 8];
        read(&mut head)?;
        at += 8;
        let bytes = u64::from(u32::from_le_bytes([head[4], head[5], head[6], head[7]]));
        if &head[..4] == b"data" {
            return Ok(Data { at, bytes });
        }
        if bytes > 1 << 20 {
            return Err("a chunk before its samples is too large".into());
        }
        let mut chunk = vec![0; bytes.next_multiple_of(2) as usize];
        read(&mut chunk)?;
        if &head[..4] == b"fmt "
            && (chunk.get(2..4), chunk.get(12..14)) != (Some(&[2, 0]), Some(&[8, 0]))
        {
            return Err("it has no floats in stereo".into());
        }
        at += chunk.len() as u64;
    }
}

/// Follows what counts.
#[derive(Default)]
struct Counter {
    frame: u64,
    /// The frame of the last break that was counted, and its end.
    last: Option<u64>,
    before: Option<State>,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Number(i64),
    /// The song stands still.
    Silence,
}

impl Counter {
    /// Whether a new break begins with this sample.
    fn breaks(&mut self, sample: f32) -> bool {
        let number = f64::from(sample) * (NUMBERS / 2) as f64;
        let number = (number.fract() == 0.0).then_some(number as i64);
        let goes_on = match (self.before, number) {
            (None, _) => true,
            (Some(State::Number(before)), Some(number)) => {
                (number - before).rem_euclid(NUMBERS) == 1
            }
            (Some(State::Silence), Some(number)) => number == 0,
            (Some(_), None) => false,
        };
        // Zero is a number, too: what stays there is silence.
        self.before = match (number, self.before) {
            (Some(0), Some(State::Number(-1))) => Some(State::Number(0)),
            (Some(0) | None, _) => Some(State::Silence),
            (Some(number), _) => Some(State::Number(number)),
        };
        self.frame += 1;
        let is_new = !goes_on && self.last.is_none_or(|last| self.frame - last > CLOSE_FRAMES);
        if !goes_on {
            self.last = Some(self.frame);
        }
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaks(numbers: impl IntoIterator<Item = i64>) -> usize {
        let mut counter = Counter::default();
        let sample = |number: i64| number as f32 / (NUMBERS / 2) as f32;
        numbers.into_iter().filter(|number| counter.breaks(sample(*number))).count()
    }

    #[test]
    fn what_counts_on_has_no_breaks_and_a_lost_block_is_one() {
        let all = || (-32_768..32_768).chain(-32_768..32_768);
        assert_eq!(breaks(all()), 0);
        assert_eq!(breaks(all().take(1000).chain(all().skip(1064).take(1000))), 1, "a lost block");
        assert_eq!(breaks(all().take(1000).chain(all().skip(936).take(1000))), 1, "repeated");
        let silence = || std::iter::repeat_n(0, 500);
        assert_eq!(breaks(all().take(1000).chain(silence())), 1, "stopped");
        let gap = all().take(1000).chain(silence()).chain(all().skip(1000).take(1000));
        assert_eq!(breaks(gap), 2, "silence in between");
    }
}
