//! What is done to a row.

use std::fmt;
use std::str::FromStr;

use crate::kernel::Ops;

/// What to do to an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Filter {
    /// Each pixel by itself: half as bright again, plus 10.
    Brightness,
    /// Each pixel five times, less its four neighbours.
    Sharpen,
    /// The mean of each pixel and its eight neighbours, three times over.
    Blur,
}

impl Filter {
    /// All.
    pub const ALL: [Filter; 3] = [Filter::Brightness, Filter::Sharpen, Filter::Blur];

    /// How many times the image is gone through.
    pub const fn stages(self) -> usize {
        match self {
            Filter::Brightness | Filter::Sharpen => 1,
            Filter::Blur => 3,
        }
    }

    /// Rows above and below that a stage reads.
    pub const fn reach(self) -> usize {
        match self {
            Filter::Brightness => 0,
            Filter::Sharpen | Filter::Blur => 1,
        }
    }

    /// What is done for one pixel in all stages, without the pixels at the sides.
    pub const fn ops(self) -> Ops {
        let (int, loads) = match self {
            Filter::Brightness => (4, 1),
            Filter::Sharpen => (7, 5),
            Filter::Blur => (3 * 10, 3 * 9),
        };
        Ops { int, float: 0, loads, stores: self.stages() as u64 }
    }

    /// One row of one stage. At the sides the pixel beside is the pixel itself.
    /// Shape: all rows of the same length.
    pub(super) fn row(self, rows: Rows<'_>, out: &mut [u8]) {
        match self {
            Filter::Brightness => brighten(rows.at, out),
            Filter::Sharpen => inner_and_sides(rows, out, sharpen),
            Filter::Blur => inner_and_sides(rows, out, mean),
        }
    }
}

/// A row and its neighbours.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) above: &'a [u8],
    pub(super) at: &'a [u8],
    pub(super) below: &'a [u8],
}

fn brighten(row: &[u8], out: &mut [u8]) {
    for (out, pixel) in out.iter_mut().zip(row) {
        *out = (u16::from(*pixel) * 3 / 2 + 10).min(255) as u8;
    }
}

/// A pixel's neighbourhood: left, middle and right of the row above, its own, and below.
type Nine = [[u8; 3]; 3];

/// The inner pixels in a loop without conditions, then the two at the sides.
fn inner_and_sides(rows: Rows<'_>, out: &mut [u8], pixel: impl Fn(Nine) -> u8) {
    let Rows { above, at, below } = rows;
    let width = out.len();
    let triples = above.windows(3).zip(at.windows(3)).zip(below.windows(3));
    for (out, ((above, at), below)) in out.iter_mut().skip(1).zip(triples) {
        *out = pixel([three(above), three(at), three(below)]);
    }
    for column in [0, width.saturating_sub(1)] {
        if let Some(out) = out.get_mut(column) {
            *out = pixel([above, at, below].map(|row| around(row, column)));
        }
    }
}

fn three(window: &[u8]) -> [u8; 3] {
    [window[0], window[1], window[2]]
}

fn around(row: &[u8], column: usize) -> [u8; 3] {
    let right = (column + 1).min(row.len() - 1);
    [row[column.saturating_sub(1)], row[column], row[right]]
}

#[inline(always)]
fn sharpen([above, at, below]: Nine) -> u8 {
    let neighbours = [above[1], at[0], at[2], below[1]].map(i16::from);
    let sum: i16 = neighbours.iter().sum();
    (5 * i16::from(at[1]) - sum).clamp(0, 255) as u8
}

#[inline(always)]
fn mean(nine: Nine) -> u8 {
    let sum: u16 = nine.as_flattened().iter().map(|pixel| u16::from(*pixel)).sum();
    (sum / 9) as u8
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Filter::Brightness => "brightness",
            Filter::Sharpen => "sharpen",
            Filter::Blur => "blur",
        })
    }
}

impl FromStr for Filter {
    type Err = ParseFilterError;

    fn from_str(text: &str) -> Result<Filter, ParseFilterError> {
        let named = Filter::ALL.into_iter().find(|filter| filter.to_string() == text);
        named.ok_or_else(|| ParseFilterError { text: text.into() })
    }
}

/// Text that is not the name of a filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseFilterError {
    text: String,
}

impl fmt::Display for ParseFilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown filter '{}': use one of brightness, sharpen, blur", self.text)
    }
}

impl std::error::Error for ParseFilterError {}
