//! All channels of an audio file, for what is no clip: inputs of a session, and what goes into a plug-in.

use std::fmt;
use std::sync::{Arc, Mutex};

use hocket_disk::{Stream, StreamReader};
use hocket_engine::{Block, Ports, StreamHandle, rows};

use crate::{DiskFile, DiskHandle, PIECE, Wait};

/// Frames of an audio file from any position, in memory or from the disk: for one thread at a time.
///
/// Drop it on a control thread: that frees memory.
pub struct RowsReader(Source);

enum Source {
    Memory(Arc<[Vec<f32>]>),
    Disk(Box<OnDisk>),
}

/// `reader` is dropped before the stream.
struct OnDisk {
    reader: StreamReader,
    rows: Vec<Vec<f32>>,
    /// Whether the first row is the mean of both.
    is_mean: bool,
    wait: Wait,
    _stream: Arc<Stream>,
}

impl fmt::Debug for RowsReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowsReader").finish_non_exhaustive()
    }
}

impl RowsReader {
    /// Of a file in memory. Shape: `[channels][frames]`.
    pub fn of_memory(rows: Arc<[Vec<f32>]>) -> RowsReader {
        RowsReader(Source::Memory(rows))
    }

    /// Overwrites a block with the frames from `position` on. A file of one channel plays on every channel of the block; channels
    /// beyond the file's, and what lies behind its end, are silent.
    ///
    /// Unit: linear, 1.0 = full scale, always finite. Thread: real-time, or offline rendering where the buffer waits for the disk. Cost:
    /// O(frames × channels); no allocation, lock or system call, but for that wait.
    pub fn play(&mut self, position: u64, block: &mut Block<'_>) {
        let (frames, channels) = (block.frames(), block.channels());
        let mut at = 0;
        while at < frames {
            let run = (frames - at).min(PIECE);
            let position = position.saturating_add(at as u64);
            if let Source::Disk(disk) = &mut self.0 {
                disk.fill(position, run);
            }
            for channel in 0..channels {
                let out = &mut block.channel_mut(channel)[at..at + run];
                let from = self.row(channel, position, run);
                rows::copy(&mut out[..from.len()], from);
                rows::fill(&mut out[from.len()..], 0.0);
            }
            at += run;
        }
    }

    /// A part of a row; less of it at the end, nothing of a row that is not there.
    fn row(&self, channel: usize, position: u64, run: usize) -> &[f32] {
        let (rows, start) = match &self.0 {
            Source::Memory(rows) => (&rows[..], usize::try_from(position).unwrap_or(usize::MAX)),
            Source::Disk(disk) => (disk.heard(), 0),
        };
        let row = if rows.len() == 1 { 0 } else { channel };
        let from = rows.get(row).and_then(|row| row.get(start..)).unwrap_or(&[]);
        &from[..run.min(from.len())]
    }

    /// Announces that the next read will be at `position`. The earlier the better.
    ///
    /// Thread: real-time. Cost: constant for a file in memory, otherwise an exchange for each chunk that was read ahead.
    pub fn locate(&mut self, position: u64) {
        if let Source::Disk(disk) = &mut self.0 {
            disk.reader.locate(position);
        }
    }
}

impl OnDisk {
    fn heard(&self) -> &[Vec<f32>] {
        if self.is_mean { &self.rows[..1] } else { &self.rows }
    }

    /// Reads so many frames, at most a piece.
    fn fill(&mut self, position: u64, run: usize) {
        let count = self.rows.len();
        let mut rows: [&mut [f32]; Ports::MOST as usize] =
            std::array::from_fn(|_| Default::default());
        for (into, row) in rows.iter_mut().zip(&mut self.rows) {
            *into = &mut row[..run];
        }
        match self.wait {
            Wait::Never => self.reader.read(position, &mut rows[..count]),
            Wait::ForTheDisk => self.reader.read_waiting(position, &mut rows[..count]),
        };
        if self.is_mean
            && let [left, right] = &mut self.rows[..]
        {
            mean(&mut left[..run], &right[..run]);
        }
    }
}

/// What an input of one channel gets of two.
pub(crate) fn mean(left: &mut [f32], right: &[f32]) {
    for (left, right) in left.iter_mut().zip(right) {
        *left = 0.5 * (*left + right);
    }
}

impl DiskFile {
    /// Opens a stream of its first `channels` channels, from its beginning on. Of several, one channel is the mean of the first two.
    ///
    /// Thread: control.
    ///
    /// # Errors
    /// Why it cannot be opened, with the file's name.
    pub fn open_rows(
        &self,
        channels: usize,
    ) -> Result<(RowsReader, Arc<dyn StreamHandle>), String> {
        let (mut reader, stream) = self.stream()?;
        reader.locate(0);
        let of_file = reader.channels();
        let is_mean = channels == 1 && of_file > 1;
        let count = if is_mean { 2 } else { channels.clamp(1, of_file.max(1)) };
        let rows = vec![vec![0.0; PIECE]; count.min(Ports::MOST as usize)];
        let wait = self.buffer.wait;
        let disk = OnDisk { reader, rows, is_mean, wait, _stream: Arc::clone(&stream) };
        let (name, wanted, _buffer) =
            (self.name.clone(), Mutex::default(), Arc::clone(&self.buffer));
        let handle = DiskHandle { stream, name, wanted, _buffer };
        Ok((RowsReader(Source::Disk(Box::new(disk))), Arc::new(handle)))
    }
}
