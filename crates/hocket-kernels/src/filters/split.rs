//! An image in parts, a thread for each.

use std::io;
use std::ops::Range;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use hocket_rt::{Barrier, Wait};

use super::stage::Rows;
use super::{Filter, Image};
use crate::kernel::Wrong;
use crate::thread_group::ThreadGroup;

/// What parts do about each other between two stages.
#[derive(Clone, Copy, Debug)]
pub enum Split {
    /// All wait for all.
    Barrier(Wait),
    /// Nothing: each part computes the rows beyond its own that its later stages read, too.
    Margins,
}

/// An image and what it took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filtered {
    /// The same, however it was split.
    pub image: Image,
    /// Rows computed in all stages by all parts; more than the stages have where margins are computed twice.
    pub rows: usize,
    /// From the first thread's beginning to the last one's end.
    pub elapsed: Duration,
}

impl Filtered {
    /// Whether it is the image of which `checksum` is known (that of one part).
    ///
    /// # Errors
    /// [`Wrong`], if not.
    pub fn check(&self, checksum: u64) -> Result<(), Wrong> {
        Wrong::unless_equal("the checksum", self.image.checksum(), checksum)
    }
}

/// Filters `image` in as many bands of rows as `group` has threads, but no more than there are rows: threads beyond
/// that find their bands empty.
///
/// # Errors
/// What the system says when it has no more threads to give.
pub fn filter(
    image: &Image,
    filter: Filter,
    group: &ThreadGroup<'_>,
    split: Split,
) -> io::Result<Filtered> {
    let bands = bands(image.height, group.threads());
    match split {
        Split::Margins => with_margins(image, filter, group, &bands),
        Split::Barrier(wait) => with_barrier(image, filter, group, &bands, &wait),
    }
}

/// Parts that differ by at most one row.
fn bands(height: usize, parts: usize) -> Vec<Range<usize>> {
    (0..parts).map(|part| height * part / parts..height * (part + 1) / parts).collect()
}

/// A band and the rows around it, as far as they are known.
struct Window {
    rows: Range<usize>,
    pixels: Vec<u8>,
}

impl Window {
    fn row(&self, row: usize, width: usize) -> &[u8] {
        let at = (row - self.rows.start) * width;
        &self.pixels[at..at + width]
    }
}

/// Every part keeps to itself: each stage computes what is left to read for the stages behind it.
fn with_margins(
    image: &Image,
    filter: Filter,
    group: &ThreadGroup<'_>,
    bands: &[Range<usize>],
) -> io::Result<Filtered> {
    let finished = group.run(|part| {
        let band = &bands[part];
        let mut computed = 0;
        let mut from = widened(band, filter.stages() * filter.reach(), image);
        for stage in 1..=filter.stages() {
            let rows = widened_rows(band, (filter.stages() - stage) * filter.reach(), image.height);
            computed += rows.len();
            from = next(&from, rows, filter, image);
        }
        (from.pixels, computed)
    })?;
    let rows = finished.results.iter().map(|(_, rows)| rows).sum();
    let pixels = finished.results.into_iter().flat_map(|(pixels, _)| pixels).collect();
    Ok(Filtered { image: Image { pixels, ..*image }, rows, elapsed: finished.elapsed })
}

fn widened_rows(band: &Range<usize>, margin: usize, height: usize) -> Range<usize> {
    if band.is_empty() {
        return band.clone();
    }
    band.start.saturating_sub(margin)..(band.end + margin).min(height)
}

fn widened(band: &Range<usize>, margin: usize, image: &Image) -> Window {
    let rows = widened_rows(band, margin, image.height);
    let pixels = image.pixels[rows.start * image.width..rows.end * image.width].to_vec();
    Window { rows, pixels }
}

/// One stage over `rows`, all of whose neighbours are in `from` (or do not exist).
fn next(from: &Window, rows: Range<usize>, filter: Filter, image: &Image) -> Window {
    let width = image.width;
    let mut pixels = vec![0; rows.len() * width];
    for (row, out) in rows.clone().zip(pixels.chunks_exact_mut(width.max(1))) {
        let neighbours = Rows {
            above: from.row(above(row, filter), width),
            at: from.row(row, width),
            below: from.row(below(row, filter, image.height), width),
        };
        filter.row(neighbours, out);
    }
    Window { rows, pixels }
}

/// Which row is read as the one above. Beyond the image it is the row itself, and a filter without reach reads
/// no other.
fn above(row: usize, filter: Filter) -> usize {
    row.saturating_sub(filter.reach())
}

fn below(row: usize, filter: Filter, height: usize) -> usize {
    (row + filter.reach()).min(height - 1)
}

/// One buffer of an image, band by band. A band's lock is never waited for: the barrier between the stages sees to it
/// that whoever writes a band is alone with it. It is taken once a stage.
struct Buffer(Vec<RwLock<Vec<u8>>>);

impl Buffer {
    fn read(&self, band: usize) -> RwLockReadGuard<'_, Vec<u8>> {
        self.0[band].read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All parts share two buffers and meet after each stage.
fn with_barrier(
    image: &Image,
    filter: Filter,
    group: &ThreadGroup<'_>,
    bands: &[Range<usize>],
    wait: &Wait,
) -> io::Result<Filtered> {
    let of = |band: &Range<usize>| band.start * image.width..band.end * image.width;
    let full =
        || Buffer(bands.iter().map(|band| RwLock::new(image.pixels[of(band)].to_vec())).collect());
    let buffers = [full(), full()];
    let barrier = Barrier::new(group.threads() as u32);
    let finished = group.run(|part| {
        for stage in 0..filter.stages() {
            let [from, to] = [&buffers[stage % 2], &buffers[(stage + 1) % 2]];
            stage_of_band(image, filter, bands, part, from, to);
            barrier.wait(wait);
        }
        bands[part].len() * filter.stages()
    })?;
    let last = &buffers[filter.stages() % 2];
    let pixels = (0..bands.len()).flat_map(|band| last.read(band).clone()).collect();
    let rows = finished.results.iter().sum();
    Ok(Filtered { image: Image { pixels, ..*image }, rows, elapsed: finished.elapsed })
}

/// One stage of one part, read from its own band and those beside it.
fn stage_of_band(
    image: &Image,
    filter: Filter,
    bands: &[Range<usize>],
    part: usize,
    from: &Buffer,
    to: &Buffer,
) {
    let band = &bands[part];
    let reach = widened_rows(band, filter.reach(), image.height);
    let read: Vec<_> = (0..bands.len())
        .filter(|other| bands[*other].start < reach.end && reach.start < bands[*other].end)
        .map(|other| (&bands[other], from.read(other)))
        .collect();
    let row = |row: usize| {
        let (band, pixels) = read.iter().find(|(band, _)| band.contains(&row)).expect("in reach");
        &pixels[(row - band.start) * image.width..][..image.width]
    };
    let mut out = to.0[part].write().unwrap_or_else(PoisonError::into_inner);
    for (at, out) in band.clone().zip(out.chunks_exact_mut(image.width.max(1))) {
        let (above, below) = (above(at, filter), below(at, filter, image.height));
        filter.row(Rows { above: row(above), at: row(at), below: row(below) }, out);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use hocket_rt::{SpinCost, Strategy};

    fn barrier() -> Split {
        Split::Barrier(Wait::new(Strategy::Futex, &SpinCost::measure(), Duration::ZERO))
    }

    /// The filters again, pixel by pixel and as plainly as can be.
    fn expected(image: &Image, kind: Filter) -> Image {
        let mut image = image.clone();
        for _ in 0..kind.stages() {
            let old = image.clone();
            let at = |x: isize, y: isize| {
                let x = x.clamp(0, old.width as isize - 1) as usize;
                let y = y.clamp(0, old.height as isize - 1) as usize;
                i32::from(old.pixels[y * old.width + x])
            };
            for (index, pixel) in image.pixels.iter_mut().enumerate() {
                let (x, y) = ((index % old.width) as isize, (index / old.width) as isize);
                let around = |reach: isize| {
                    (-reach..=reach).flat_map(move |dy| (-reach..=reach).map(move |dx| (dx, dy)))
                };
                let cross = [(0, -1), (-1, 0), (1, 0), (0, 1)];
                let value = match kind {
                    Filter::Brightness => at(x, y) * 3 / 2 + 10,
                    Filter::Sharpen => {
                        5 * at(x, y) - cross.iter().map(|(dx, dy)| at(x + dx, y + dy)).sum::<i32>()
                    }
                    Filter::Blur => around(1).map(|(dx, dy)| at(x + dx, y + dy)).sum::<i32>() / 9,
                };
                *pixel = value.clamp(0, 255) as u8;
            }
        }
        image
    }

    #[test]
    fn every_split_gives_the_same_image() {
        for (width, height) in [(37, 23), (1, 1), (2, 5), (5, 2)] {
            let image = Image::noise(width, height, 5);
            for kind in Filter::ALL {
                let should = expected(&image, kind);
                for (parts, split) in [1, 2, 3, 8, 40]
                    .into_iter()
                    .flat_map(|parts| [(parts, barrier()), (parts, Split::Margins)])
                {
                    let filtered =
                        filter(&image, kind, &ThreadGroup::anywhere(parts), split).unwrap();
                    assert_eq!(filtered.image, should, "{kind} in {parts} parts, {split:?}");
                    assert_eq!(filtered.check(should.checksum()), Ok(()));
                }
            }
        }
    }

    #[test]
    fn margins_are_computed_twice_and_bands_once() {
        let image = Image::noise(4, 100, 1);
        let rows = |parts: usize, split: Split| {
            filter(&image, Filter::Blur, &ThreadGroup::anywhere(parts), split).unwrap().rows
        };
        assert_eq!((rows(1, Split::Margins), rows(2, barrier())), (300, 300));
        // Two rows of the first stage and one of the second, on either side of the cut.
        assert_eq!(rows(2, Split::Margins), 306);
    }

    #[test]
    fn names_are_read_back() {
        for kind in Filter::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
    }
}
