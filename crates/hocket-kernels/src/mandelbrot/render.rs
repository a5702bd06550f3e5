//! Several threads draw one picture.

use std::fmt;
use std::io;
use std::str::FromStr;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use hocket_rt::Padded;

use super::{Picture, View};
use crate::kernel::Wrong;
use crate::locks::{Lock, StdMutex};
use crate::thread_group::ThreadGroup;

/// How the writing of a pixel is protected. (It needs no protection: no two threads write the same one.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Writing {
    /// Not at all; nothing is counted.
    Unlocked,
    /// One lock around writing and counting: the study's synchronized method.
    OneLock,
    /// A lock around counting, then one of the pixel's own around writing.
    PixelLocks,
    /// An atomic counter, then the pixel's own lock around writing.
    PixelLocksAtomicCounter,
    /// A counter that is read and exchanged for one more, again until nobody came between, then the pixel's own lock
    /// around writing: the study's CAS.
    PixelLocksCasCounter,
}

impl Writing {
    /// All, in the order of the study.
    pub const ALL: [Writing; 5] = [
        Writing::Unlocked,
        Writing::OneLock,
        Writing::PixelLocks,
        Writing::PixelLocksAtomicCounter,
        Writing::PixelLocksCasCounter,
    ];
}

impl fmt::Display for Writing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Writing::Unlocked => "unlocked",
            Writing::OneLock => "one-lock",
            Writing::PixelLocks => "pixel-locks",
            Writing::PixelLocksAtomicCounter => "pixel-locks-atomic-counter",
            Writing::PixelLocksCasCounter => "pixel-locks-cas-counter",
        })
    }
}

impl FromStr for Writing {
    type Err = ParseWritingError;

    fn from_str(text: &str) -> Result<Writing, ParseWritingError> {
        let named = Writing::ALL.into_iter().find(|writing| writing.to_string() == text);
        named.ok_or_else(|| ParseWritingError { text: text.into() })
    }
}

/// Text that is not the name of a way to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseWritingError {
    text: String,
}

impl fmt::Display for ParseWritingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Writing::ALL.map(|writing| writing.to_string()).join(", ");
        write!(f, "unknown way to write a pixel '{}': use one of {names}", self.text)
    }
}

impl std::error::Error for ParseWritingError {}

/// A picture and what it took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// The same, whoever drew it.
    pub picture: Picture,
    /// Pixels counted while writing; `None` where nothing is counted.
    pub counted: Option<u64>,
    /// How often the counter was read anew because another thread had come between; `None` where nothing is exchanged.
    pub retries: Option<u64>,
    /// Rows that each thread drew.
    pub rows: Vec<usize>,
    /// From the first thread's beginning to the last one's end.
    pub elapsed: Duration,
}

impl Rendered {
    /// Whether it is the picture of which `checksum` is known, and each pixel was counted once, by one thread without
    /// a retry.
    ///
    /// # Errors
    /// [`Wrong`], if not.
    pub fn check(&self, checksum: u64) -> Result<(), Wrong> {
        let pixels = self.picture.pixels.len() as u64;
        Wrong::unless_equal("the checksum", self.picture.checksum(), checksum)?;
        Wrong::unless_equal("the count of pixels", self.counted.unwrap_or(pixels), pixels)?;
        if self.rows.len() == 1 {
            Wrong::unless_equal("the retries of one thread", self.retries.unwrap_or(0), 0)?;
        }
        Wrong::unless_equal("rows", self.rows.iter().sum(), self.picture.height)
    }
}

/// Draws `view` with the threads of `group`; whoever has nothing to do takes the next row. Locks are [`StdMutex`].
///
/// Memory: 4 bytes a pixel, and 8 more with a lock for each.
///
/// # Errors
/// What the system says when it has no more threads to give.
pub fn render(view: &View, group: &ThreadGroup<'_>, writing: Writing) -> io::Result<Rendered> {
    let locks = match writing {
        Writing::Unlocked | Writing::OneLock => 0,
        _ => view.width * view.height,
    };
    let locks: Vec<StdMutex> = (0..locks).map(|_| StdMutex::default()).collect();
    let (lock, count) = (Padded(StdMutex::default()), Padded(AtomicU64::new(0)));
    // Relaxed, and not one step: the lock around it keeps it whole.
    let under_lock = || count.store(count.load(Relaxed) + 1, Relaxed);
    match writing {
        Writing::Unlocked => draw(view, group, None, |_, write| write.now()),
        Writing::OneLock => draw(view, group, Some(&count), |_, write| {
            lock.with(|| {
                under_lock();
                write.now();
            });
        }),
        Writing::PixelLocks => draw(view, group, Some(&count), |pixel, write| {
            lock.with(under_lock);
            locks[pixel].with(|| write.now());
        }),
        Writing::PixelLocksAtomicCounter => draw(view, group, Some(&count), |pixel, write| {
            // Relaxed: one step by itself; publishes nothing else.
            count.fetch_add(1, Relaxed);
            locks[pixel].with(|| write.now());
        }),
        Writing::PixelLocksCasCounter => {
            let retries = Padded(AtomicU64::new(0));
            let drawn = draw(view, group, Some(&count), |pixel, write| {
                add_by_exchange(&count, &retries);
                locks[pixel].with(|| write.now());
            })?;
            // Relaxed: all were joined.
            Ok(Rendered { retries: Some(retries.load(Relaxed)), ..drawn })
        }
    }
}

/// One more, as `AtomicInteger.incrementAndGet` did it in 2006.
fn add_by_exchange(count: &AtomicU64, retries: &AtomicU64) {
    loop {
        // Relaxed: each counter by itself; they publish nothing.
        let seen = count.load(Relaxed);
        if count.compare_exchange(seen, seen + 1, Relaxed, Relaxed).is_ok() {
            return;
        }
        retries.fetch_add(1, Relaxed);
    }
}

/// A pixel about to be written.
struct Write<'a> {
    pixel: &'a AtomicU32,
    iterations: u32,
}

impl Write<'_> {
    #[inline(always)]
    fn now(self) {
        // Relaxed: joining the threads publishes the picture.
        self.pixel.store(self.iterations, Relaxed);
    }
}

/// Draws with `protect` around the writing of each pixel.
fn draw(
    view: &View,
    group: &ThreadGroup<'_>,
    count: Option<&AtomicU64>,
    protect: impl Fn(usize, Write<'_>) + Sync,
) -> io::Result<Rendered> {
    let pixels: Vec<AtomicU32> = (0..view.width * view.height).map(|_| AtomicU32::new(0)).collect();
    let next_row = Padded(AtomicUsize::new(0));
    let finished = group.run(|_| {
        let mut rows = 0;
        loop {
            // Relaxed: one step by itself; whoever gets a row has nothing to see of others.
            let row = next_row.fetch_add(1, Relaxed);
            if row >= view.height {
                return rows;
            }
            rows += 1;
            for column in 0..view.width {
                let pixel = row * view.width + column;
                let iterations = view.iterations(column, row);
                protect(pixel, Write { pixel: &pixels[pixel], iterations });
            }
        }
    })?;
    let pixels = pixels.into_iter().map(AtomicU32::into_inner).collect();
    Ok(Rendered {
        picture: Picture { width: view.width, height: view.height, pixels },
        // Relaxed: all were joined.
        counted: count.map(|count| count.load(Relaxed)),
        retries: None,
        rows: finished.results,
        elapsed: finished.elapsed,
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_picture_is_the_same_under_every_lock_and_for_every_number_of_threads() {
        let view = View::whole(64).scaled_to_width(127);
        let alone = render(&view, &ThreadGroup::anywhere(1), Writing::Unlocked).unwrap();
        let checksum = alone.picture.checksum();
        for (pixel, iterations) in alone.picture.pixels.iter().enumerate() {
            assert_eq!(*iterations, view.iterations(pixel % view.width, pixel / view.width));
        }
        for writing in Writing::ALL {
            for threads in [1, 2, 7, 32] {
                let drawn = render(&view, &ThreadGroup::anywhere(threads), writing).unwrap();
                assert_eq!(drawn.check(checksum), Ok(()), "{writing}, {threads} threads");
                assert_eq!(drawn.counted.is_none(), writing == Writing::Unlocked);
                assert_eq!(drawn.retries.is_some(), writing == Writing::PixelLocksCasCounter);
            }
        }
    }

    #[test]
    fn a_pixel_that_is_not_counted_and_a_retry_of_nobody_are_noticed() {
        let view = View::whole(8).scaled_to_width(16);
        let group = ThreadGroup::anywhere(1);
        let drawn = render(&view, &group, Writing::PixelLocksCasCounter).unwrap();
        let checksum = drawn.picture.checksum();
        assert_eq!(drawn.check(checksum), Ok(()));
        let counted = drawn.counted.map(|pixels| pixels - 1);
        assert!(Rendered { counted, ..drawn.clone() }.check(checksum).is_err());
        assert!(Rendered { retries: Some(1), ..drawn }.check(checksum).is_err());
    }

    #[test]
    fn the_whole_view_has_the_size_of_the_study() {
        let view = View::whole(2);
        assert_eq!((view.width, view.height, view.width * view.height), (1016, 718, 729_488));
    }

    #[test]
    fn greys_cover_the_scale() {
        let view = View::whole(100).scaled_to_width(80);
        let drawn = render(&view, &ThreadGroup::anywhere(1), Writing::Unlocked).unwrap();
        let grey = drawn.picture.grey(view.limit);
        assert_eq!(grey.len(), drawn.picture.pixels.len());
        assert!(grey.contains(&0) && grey.iter().any(|shade| *shade > 100));
    }

    #[test]
    fn names_are_read_back() {
        for writing in Writing::ALL {
            assert_eq!(writing.to_string().parse(), Ok(writing));
        }
    }
}
