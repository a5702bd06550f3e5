//! Where a clip's frames come from: memory, or a file that streams.

use std::sync::Arc;

use hocket_dsp::StereoRef;

use super::stereo_audio::StereoAudio;

/// The frames of one file, for one clip.
///
/// A source belongs to one clip, because a file that streams is read ahead of one position.
///
/// Thread: the clip's worker, inside a block. It is made and dropped on control threads.
pub trait ClipSource: Send {
    /// Frames from `position` on, a frame of the file: at least 1, at most `frames`. The clip asks again for the rest.
    ///
    /// Shape: both rows have one length. Unit: linear, 1.0 = full scale, always finite.
    ///
    /// In live play no call waits, allocates or calls the system. What is not in memory is silence, and the source
    /// counts it ([`StreamHandle::not_ready`](crate::StreamHandle::not_ready)). A source for offline rendering waits.
    fn read(&mut self, position: u64, frames: usize) -> StereoRef<'_>;

    /// The clip is silent in this block. The next read will be at `position`, as far as the song's time shows it;
    /// `None`: nothing shows it.
    ///
    /// Cost: constant. As in live play, it never waits.
    fn rest(&mut self, position: Option<u64>);
}

/// A file in memory.
pub(crate) struct InMemory(pub Arc<StereoAudio>);

impl ClipSource for InMemory {
    #[inline]
    fn read(&mut self, position: u64, frames: usize) -> StereoRef<'_> {
        let from = (position as usize).min(self.0.frames());
        let to = from.saturating_add(frames).min(self.0.frames());
        StereoRef { left: &self.0.left()[from..to], right: &self.0.right()[from..to] }
    }

    fn rest(&mut self, _: Option<u64>) {}
}
