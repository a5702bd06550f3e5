//! A response, cut into a head and parts of two lengths, with their spectra.

use std::fmt;
use std::sync::Arc;

use crate::fourier::Fourier;
use crate::spectra::{PRODUCT_FLOPS, Spectra};

/// Length of the head and of a small part, in frames.
pub const SMALL: usize = 64;
/// Length of a large part, in frames.
pub const LARGE: usize = 1024;
/// The longest response, in frames.
pub const MAX_FRAMES: usize = 1 << 24;

/// Below this a sample is as good as silent.
const NOTHING: f32 = 1e-20;

/// Why rows are no response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImpulseError {
    /// What is wrong, one sentence without a full stop.
    pub cause: String,
    /// What to do about it, one sentence without a full stop.
    pub remedy: &'static str,
}

impl fmt::Display for ImpulseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.cause, self.remedy)
    }
}

impl std::error::Error for ImpulseError {}

/// A response that is ready to be played.
#[derive(Debug)]
pub struct Impulse {
    frames: usize,
    paths: Vec<Path>,
    /// `None`: the response is too short for it.
    pub(crate) small: Option<Arc<Parts>>,
    pub(crate) large: Option<Arc<Parts>>,
    energy: f64,
}

/// From which side to which.
#[derive(Debug, Clone)]
pub(crate) struct Path {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// The first [`SMALL`] frames.
    pub(crate) head: Vec<f32>,
}

/// All parts of one length.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) fourier: Fourier,
    /// Frames of a part.
    pub(crate) length: usize,
    /// How many there are.
    pub(crate) count: usize,
    /// From which side to which, and the row of `spectra` in which the parts begin.
    pub(crate) paths: Vec<(usize, usize, usize)>,
    pub(crate) spectra: Spectra,
}

impl Impulse {
    /// Prepares a response of one row (for both sides), two (left to left, right to right) or four (left to left, left to
    /// right, right to left, right to right).
    ///
    /// Shape: all rows are equally long; linear. Thread: control. Cost: allocates 8 bytes per sample; two transforms per part.
    ///
    /// # Errors
    /// Another number of rows; no frames, or more than [`MAX_FRAMES`]; silence; a sample that is no number.
    pub fn new(rows: &[Vec<f32>]) -> Result<Impulse, ImpulseError> {
        let sides = sides(rows.len())?;
        let frames = audible_frames(rows)?;
        let rows: Vec<&[f32]> = rows.iter().map(|row| &row[..frames.min(row.len())]).collect();
        let path = |(from, to, row): &(usize, usize, usize)| Path {
            from: *from,
            to: *to,
            head: part(rows[*row], 0, SMALL),
        };
        Ok(Impulse {
            frames,
            paths: sides.iter().map(path).collect(),
            small: Parts::new(&rows, &sides, SMALL, SMALL..2 * LARGE),
            large: Parts::new(&rows, &sides, LARGE, 2 * LARGE..frames),
            energy: energy(&rows, &sides),
        })
    }

    /// Whether a response can have so many channels.
    ///
    /// # Errors
    /// Which it can have.
    pub fn check_channels(channels: usize) -> Result<(), ImpulseError> {
        sides(channels).map(drop)
    }

    /// The memory of a response, [`Impulse::memory_bytes`], at most.
    pub fn most_memory_bytes(frames: usize, channels: usize) -> u64 {
        let stages = [(SMALL, SMALL..2 * LARGE), (LARGE, 2 * LARGE..frames)];
        let bins = |(length, range)| parts_of(range, length, frames) * (length + 1);
        let bins: usize = stages.into_iter().map(bins).sum();
        (channels * bins) as u64 * Spectra::BIN_BYTES
    }

    /// The response that changes nothing.
    pub fn unit() -> Impulse {
        let paths = [0, 1].map(|side| Path { from: side, to: side, head: part(&[1.0], 0, SMALL) });
        Impulse { frames: 1, paths: paths.into(), small: None, large: None, energy: 1.0 }
    }

    /// Length without the silence at its end.
    pub fn frames(&self) -> usize {
        self.frames
    }

    /// The memory that it takes.
    pub fn memory_bytes(&self) -> u64 {
        [&self.small, &self.large].into_iter().flatten().map(|parts| parts.spectra.bytes()).sum()
    }

    pub(crate) fn paths(&self) -> &[Path] {
        &self.paths
    }

    /// The factor with which noise comes out as loud as it went in, on the louder side.
    pub(crate) fn level(&self) -> f32 {
        (1.0 / self.energy.sqrt()) as f32
    }

    /// Declared floating-point operations per stereo frame.
    pub(crate) fn flops_per_frame(&self) -> f64 {
        let head = self.paths.len() as f64 * 2.0 * SMALL as f64;
        let parts = [&self.small, &self.large].into_iter().flatten();
        head + parts.map(|parts| parts.flops_per_frame()).sum::<f64>()
    }
}

impl Parts {
    /// The frames of `range`, or none.
    fn new(
        rows: &[&[f32]],
        sides: &[(usize, usize, usize)],
        length: usize,
        range: std::ops::Range<usize>,
    ) -> Option<Arc<Parts>> {
        let frames = rows.iter().map(|row| row.len()).max().unwrap_or(0);
        let count = parts_of(range.clone(), length, frames);
        if count == 0 {
            return None;
        }
        let fourier = Fourier::new(length);
        let (mut spectra, mut scratch) =
            (Spectra::new(rows.len() * count, fourier.bins()), fourier.scratch());
        for (index, row) in rows.iter().enumerate() {
            for number in 0..count {
                let mut padded = part(row, range.start + number * length, length);
                // What the way back multiplies with.
                padded.iter_mut().for_each(|sample| *sample /= (2 * length) as f32);
                padded.resize(2 * length, 0.0);
                let bins = spectra.row_mut(index * count + number);
                fourier.forward(&padded, bins, &mut scratch);
            }
        }
        let paths = sides.iter().map(|(from, to, row)| (*from, *to, row * count)).collect();
        Some(Arc::new(Parts { fourier, length, count, paths, spectra }))
    }

    fn flops_per_frame(&self) -> f64 {
        let products = (self.paths.len() * self.count * self.fourier.bins()) as f64;
        let transforms = 4.0 * self.fourier.flops();
        (products * PRODUCT_FLOPS + transforms) / self.length as f64
    }
}

/// How many parts the frames of `range` are, of a response of `frames`.
fn parts_of(range: std::ops::Range<usize>, length: usize, frames: usize) -> usize {
    range.end.min(frames).saturating_sub(range.start).div_ceil(length)
}

/// From which side to which side which row plays.
fn sides(rows: usize) -> Result<Vec<(usize, usize, usize)>, ImpulseError> {
    match rows {
        1 => Ok(vec![(0, 0, 0), (1, 1, 0)]),
        2 => Ok(vec![(0, 0, 0), (1, 1, 1)]),
        4 => Ok(vec![(0, 0, 0), (0, 1, 1), (1, 0, 2), (1, 1, 3)]),
        other => Err(ImpulseError {
            cause: format!("an impulse response has 1, 2 or 4 channels, and this has {other}"),
            remedy: "choose another file, or take two channels out of this one",
        }),
    }
}

/// How many frames there are before silence to the end.
fn audible_frames(rows: &[Vec<f32>]) -> Result<usize, ImpulseError> {
    let refuse = |cause: &str, remedy| Err(ImpulseError { cause: cause.to_owned(), remedy });
    if rows.iter().flatten().any(|sample| !sample.is_finite()) {
        return refuse("it has samples that are no numbers", "export it again");
    }
    let last = |row: &Vec<f32>| row.iter().rposition(|sample| sample.abs() >= NOTHING);
    let Some(last) = rows.iter().filter_map(last).max() else {
        return refuse("it is silent", "choose a file with an impulse response");
    };
    if last >= MAX_FRAMES {
        let cause = format!("it has more than {MAX_FRAMES} frames");
        return refuse(&cause, "cut it: an impulse response lasts seconds");
    }
    Ok(last + 1)
}

/// A piece of a row, with silence behind its end.
fn part(row: &[f32], start: usize, length: usize) -> Vec<f32> {
    let from = start.min(row.len());
    let to = (start + length).min(row.len());
    let audible = |sample: &f32| if sample.abs() < NOTHING { 0.0 } else { *sample };
    let mut part: Vec<f32> = row[from..to].iter().map(audible).collect();
    part.resize(length, 0.0);
    part
}

/// The larger sum of squares of all that comes to one side.
fn energy(rows: &[&[f32]], sides: &[(usize, usize, usize)]) -> f64 {
    let of = |row: usize| rows[row].iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>();
    let mut sums = [0.0; 2];
    sides.iter().for_each(|(_, to, row)| sums[*to] += of(*row));
    // A response of very small numbers still has a level.
    sums[0].max(sums[1]).max(1e-24)
}
