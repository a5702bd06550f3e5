//! The audio of a session: in memory, ready to play, or on the disk. And where its effects come from.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use hocket_plan::session::{Clip, MediaId};

use super::clip_streams::{ClipStream, Cues, NotReady, PrerollError, StreamedFile};
pub use crate::block::audio_parts::AudioParts;
use crate::block::clip_cue::Cue;
use crate::block::clip_player::PlayingClip;
use crate::block::clip_times::ClipTimes;
pub use crate::block::stereo_audio::StereoAudio;
use crate::catalogue::Effects;

/// The frames of its file that a clip plays, at the engine's rate; `file_frames` is how many the file has. A clip that loops
/// plays them again and again.
pub fn clip_frames(clip: &Clip, file_frames: u64, rate_hz: u32) -> Range<u64> {
    ClipTimes::new(clip, file_frames, rate_hz).played()
}

/// The audio of one file.
#[derive(Debug, Clone)]
pub enum ClipMedia {
    /// All of it is in memory.
    Memory(Arc<StereoAudio>),
    /// What its clips play is in memory.
    Parts(Arc<AudioParts>),
    /// It plays from the disk.
    Stream(Arc<dyn StreamedFile>),
}

/// The audio of a session's media, by [`MediaId`], and where its effects come from. Clones share the streams that clips
/// open.
#[derive(Debug, Clone, Default)]
pub struct MediaPool {
    media: Vec<ClipMedia>,
    cues: Cues,
    effects: Effects,
}

impl MediaPool {
    /// Audio in memory, in the order of the session's media list.
    pub fn new(audio: Vec<Arc<StereoAudio>>) -> MediaPool {
        MediaPool::of(audio.into_iter().map(ClipMedia::Memory).collect())
    }

    /// In the order of the session's media list.
    pub fn of(media: Vec<ClipMedia>) -> MediaPool {
        MediaPool { media, cues: Cues::default(), effects: Effects::builtin() }
    }

    /// The same audio for a session that also has effects that are not built in.
    pub fn with_effects(self, effects: Effects) -> MediaPool {
        MediaPool { effects, ..self }
    }

    /// Where the session's effects come from; built-in ones unless [`MediaPool::with_effects`] says otherwise.
    pub fn effects(&self) -> &Effects {
        &self.effects
    }

    /// The audio of one file; `None` if not all of it is in memory.
    pub fn get(&self, id: MediaId) -> Option<&Arc<StereoAudio>> {
        match self.media.get(id.0)? {
            ClipMedia::Memory(audio) => Some(audio),
            ClipMedia::Parts(_) | ClipMedia::Stream(_) => None,
        }
    }

    /// Brings into memory what clips play when the song goes on at frame `song`. Call it before a locate, and for the
    /// start of a loop. A stream keeps the latest two positions; a clip that loops soon needs both. The next read there is ready at once, and the stream
    /// goes on by itself.
    ///
    /// Thread: control; waits for the disk, at most `patience`. The engine has to run blocks meanwhile, or to have
    /// had no more than two such calls since its last block.
    ///
    /// # Errors
    /// The clips that are not ready. A retry may help.
    pub fn preroll(&self, song: i64, patience: Duration) -> Result<(), PrerollError> {
        self.cues.preroll(song, patience)
    }

    /// Waits until every stream has read as far ahead as its memory allows. Call it after the engine's start and
    /// reset, before the first block in real time.
    ///
    /// Thread: control; waits for the disk, at most `patience`.
    ///
    /// # Errors
    /// The clips that are not ready. A retry may help.
    pub fn fill(&self, patience: Duration) -> Result<(), PrerollError> {
        self.cues.fill(patience)
    }

    /// What was silent so far because it was not in memory in time: an entry for each clip that streams. Those of
    /// engines that were dropped are gone.
    ///
    /// Thread: control; never waits for the disk.
    pub fn not_ready(&self) -> Vec<NotReady> {
        self.cues.not_ready()
    }

    /// A clip, ready to play. `None`: its file was not loaded.
    pub(crate) fn clip(&self, clip: &Clip, rate_hz: u32) -> Option<Result<PlayingClip, String>> {
        let times = self.times(clip, rate_hz)?;
        Some(match self.media.get(clip.media.0)? {
            ClipMedia::Memory(audio) => Ok(PlayingClip::in_memory(times, audio)),
            ClipMedia::Parts(audio) => Ok(PlayingClip::in_parts(times, audio)),
            ClipMedia::Stream(file) => self.stream(times, file.as_ref(), rate_hz),
        })
    }

    /// When a clip sounds. `None`: its file was not loaded.
    pub(crate) fn times(&self, clip: &Clip, rate_hz: u32) -> Option<ClipTimes> {
        let frames = match self.media.get(clip.media.0)? {
            ClipMedia::Memory(audio) => audio.frames() as u64,
            ClipMedia::Parts(audio) => audio.frames(),
            ClipMedia::Stream(file) => file.frames(),
        };
        Some(ClipTimes::new(clip, frames, rate_hz))
    }

    fn stream(
        &self,
        times: ClipTimes,
        file: &dyn StreamedFile,
        rate_hz: u32,
    ) -> Result<PlayingClip, String> {
        let ClipStream { source, handle } =
            file.open(times.next_read(0).unwrap_or(0), times.lap())?;
        let cue = Arc::new(Cue::new(times.clone(), rate_hz, handle));
        self.cues.add(&cue);
        Ok(PlayingClip::streamed(times, source, cue))
    }
}
