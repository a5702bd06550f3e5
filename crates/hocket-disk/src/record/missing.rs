//! Frames of an input that never arrived: counted and told, with nothing in their place.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use hocket_rt::{Ring, RingReader, RingWriter};

/// So many places are kept. Of further ones, only the frames count.
pub(crate) const PLACES: usize = 1_000;

/// A place of a recording before which frames never arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missing {
    /// The recording's first frame behind them.
    pub at_frame: u64,
    /// How many.
    pub frames: u64,
}

/// What the input counts. Relaxed: each number stands for itself. Those of a report are complete, because the ring that hands
/// over the take's last piece publishes them. Those of a take of events are so by the drop of its input.
#[derive(Debug, Default)]
pub(crate) struct MissingCounts {
    frames: AtomicU64,
    places: AtomicU64,
    /// The first place, and 1; 0: none.
    first: AtomicU64,
}

impl MissingCounts {
    pub fn frames(&self) -> u64 {
        self.frames.load(Relaxed)
    }

    pub fn places(&self) -> u64 {
        self.places.load(Relaxed)
    }

    pub fn first_at(&self) -> Option<u64> {
        self.first.load(Relaxed).checked_sub(1)
    }
}

/// The input's end.
#[derive(Debug)]
pub(crate) struct MissingWriter {
    counts: Arc<MissingCounts>,
    told: RingWriter<Missing>,
}

impl MissingWriter {
    pub fn counts(&self) -> Arc<MissingCounts> {
        Arc::clone(&self.counts)
    }

    /// Thread: real-time, the only one that adds. Cost: constant; no allocation, lock or system call.
    pub fn add(&mut self, place: Missing) {
        let counts = &self.counts;
        if counts.first.load(Relaxed) == 0 {
            counts.first.store(place.at_frame.saturating_add(1), Relaxed);
        }
        counts.places.store(counts.places() + 1, Relaxed);
        counts.frames.store(counts.frames().saturating_add(place.frames), Relaxed);
        // A full ring has as many places as are kept.
        let _ = self.told.push(place);
    }
}

/// The recorder's end.
#[derive(Debug)]
pub(crate) struct MissingReader {
    counts: Arc<MissingCounts>,
    told: RingReader<Missing>,
    places: Vec<Missing>,
    /// So many of them are in the manifest.
    listed: usize,
}

impl MissingReader {
    pub fn counts(&self) -> &MissingCounts {
        &self.counts
    }

    /// Takes what has come.
    pub fn look(&mut self) {
        while let Some(place) = self.told.pop() {
            if self.places.len() < PLACES {
                self.places.push(place);
            }
        }
    }

    /// The places that nobody has listed yet. They count as listed from now on.
    pub fn unlisted(&mut self) -> &[Missing] {
        let from = std::mem::replace(&mut self.listed, self.places.len());
        &self.places[from..]
    }

    /// The first places.
    pub fn into_places(self) -> Vec<Missing> {
        self.places
    }
}

/// Both ends. Memory: 16 KB.
pub(crate) fn missing() -> (MissingWriter, MissingReader) {
    let (writer, reader) = Ring::new(PLACES);
    let counts: Arc<MissingCounts> = Arc::default();
    let input = MissingWriter { counts: Arc::clone(&counts), told: writer };
    (input, MissingReader { counts, told: reader, places: Vec::new(), listed: 0 })
}
