//! Counts what a reader misses, and sends notices of it to control threads.

use hocket_rt::RingWriter;

use crate::chunk::Notice;

/// Thread: real-time. No call allocates or waits.
pub(crate) struct GapCounter {
    notices: RingWriter<Notice>,
    gap: Option<Notice>,
    total_frames: u64,
}

impl GapCounter {
    pub fn new(notices: RingWriter<Notice>) -> GapCounter {
        GapCounter { notices, gap: None, total_frames: 0 }
    }

    pub fn total_frames(&self) -> u64 {
        self.total_frames
    }

    /// Frames from `position` on are missing.
    pub fn miss(&mut self, position: u64, frames: u64) {
        self.total_frames += frames;
        let begin = Notice { position, frames: 0, total_frames: 0, is_over: false };
        let gap = self.gap.get_or_insert(begin);
        (gap.frames, gap.total_frames) = (gap.frames + frames, self.total_frames);
        // Without room it is lost, and the next one has the totals.
        let _ = self.notices.push(*gap);
    }

    /// Frames arrive again.
    pub fn end(&mut self) {
        if let Some(gap) = self.gap.take() {
            let _ = self.notices.push(Notice { is_over: true, ..gap });
        }
    }
}
