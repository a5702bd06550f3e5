//! The audio files of a session: how each of them plays, and what is wrong with them.
//!
//! Reading order: [`read_session`], [`SessionAudio`], [`FilePlan`], [`LoadedFiles`].
//!
//! The program and the C library load sessions with it, so both have the same ways, limits and messages. [`Words`] is what differs:
//! how their users change what decides.

mod error;
mod told;
mod all;
mod ways;
mod audio;
mod parts;
mod temporary;
mod conforming;
mod whole;
mod limits;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hocket_engine::session::MediaId;
use hocket_engine::{ClipMedia, EffectCatalogue};
use hocket_media::AudioFacts;
use hocket_session::{LoadOptions, Loaded, SessionErrors};

use crate::{DiskBuffer, DiskError, DiskUse, Streamable, clips_of_files, streamed_files};
pub use error::{LoadError, LoadErrors};
pub use told::{Told, Words};
use ways::{Ready, Way};
pub use whole::{WholeAudio, WholeFile, Wholes};

/// What audio files say of themselves, by path.
pub type Facts = HashMap<PathBuf, AudioFacts>;

/// Reads a session file and the headers of its audio files; `-` is standard input.
///
/// Thread: control; reads files.
///
/// # Errors
/// All mistakes of the file and of what it names.
pub fn read_session(
    path: &Path,
    catalogue: &dyn EffectCatalogue,
    options: &LoadOptions,
    words: &Words,
) -> Result<(Loaded, Facts), SessionErrors> {
    let facts = RefCell::new(Facts::new());
    let look = |path: &Path, wanted| {
        let found = audio::check(path, wanted, options.rate_hz, words)?;
        facts.borrow_mut().insert(path.to_owned(), found);
        Ok(())
    };
    let loaded = hocket_session::load_checking(path, catalogue, options, &look)?;
    Ok((loaded, facts.into_inner()))
}

/// The audio files of a session that was read, and how it is to be played.
#[derive(Debug, Clone, Copy)]
pub struct SessionAudio<'s> {
    /// The session.
    pub loaded: &'s Loaded,
    /// What its audio files say of themselves.
    pub facts: &'s Facts,
    /// The rate at which it runs.
    pub rate_hz: u32,
    /// The song never comes to this frame. What clips would play from there on is not decoded.
    pub until: u64,
    /// How files play from the disk.
    pub disk: DiskUse,
    /// How messages name what decides.
    pub words: &'s Words,
}

impl<'s> SessionAudio<'s> {
    /// Files that are too long to be in memory and do not stream, as far as headers show it; place included.
    ///
    /// Thread: control; reads headers of long files.
    pub fn too_long(&self) -> Vec<String> {
        let media = self.loaded.session.media.iter().enumerate();
        let long: Vec<(MediaId, &AudioFacts)> = media
            .filter_map(|(index, media)| Some((MediaId(index), self.facts.get(&media.path)?)))
            .filter(|(_, facts)| limits::is_long(facts))
            .collect();
        if long.is_empty() {
            return Vec::new();
        }
        let (streams, clips) = (self.streamable(), clips_of_files(&self.loaded.session));
        let in_memory = long.into_iter().filter(|(id, _)| !streams.contains_key(&id.0));
        let refused = in_memory.filter_map(|(id, facts)| {
            let way = Way::beside_streams(self, id, clips[id.0]);
            let refusal = limits::refusal(self, id, (&way, facts))?;
            Some(limits::refused(self, id, &refusal).to_string())
        });
        refused.collect()
    }

    /// Decodes a file to its end and keeps nothing of it. Returns what is wrong with it, place included; `None` as soon as `stop`
    /// becomes true.
    ///
    /// Thread: control; reads the file.
    pub fn faults(&self, id: MediaId, stop: &AtomicBool) -> Option<Vec<String>> {
        audio::faults(self, id, stop)
    }

    /// Decides how each file plays. `others` share disk and disk buffer with them.
    ///
    /// Thread: control; reads headers of long files.
    ///
    /// # Errors
    /// A disk buffer that is too small for the streams, or a disk without the room for temporary files: before anything is decoded.
    pub fn plan(self, others: &[WholeFile]) -> Result<FilePlan<'s>, LoadErrors> {
        let (mut told, mut streams) = (Told::default(), self.streamable());
        for (index, file) in &streams {
            told.details.push(format!(
                "{}: plays from the disk: {:.2} s, channels: {}",
                self.name_of(MediaId(*index)),
                file.info.frames as f64 / f64::from(self.rate_hz),
                file.info.channels,
            ));
        }
        let clips = clips_of_files(&self.loaded.session).into_iter().enumerate();
        let of_file = |(index, clips)| match streams.remove(&index) {
            Some(file) => Way::Stream(file),
            None => Way::beside_streams(&self, MediaId(index), clips),
        };
        let plan = FilePlan { ways: clips.map(of_file).collect(), audio: self, told };
        plan.check_disk(others)?;
        Ok(plan)
    }

    /// The files that stream as they are, by their place in the session's list.
    fn streamable(&self) -> BTreeMap<usize, Streamable> {
        streamed_files(&self.loaded.session, &self.disk, |path| {
            audio::streamable(self, path, self.facts.get(path))
        })
    }

    /// What people call a file.
    fn name_of(&self, id: MediaId) -> String {
        self.loaded.name_of(&self.loaded.session.media[id.0].path)
    }
}

/// How each audio file of a session plays. Nothing is decoded yet.
pub struct FilePlan<'s> {
    audio: SessionAudio<'s>,
    /// In the order of the session's list.
    ways: Vec<Way>,
    told: Told,
}

impl FilePlan<'_> {
    fn check_disk(&self, others: &[WholeFile]) -> Result<(), LoadErrors> {
        let SessionAudio { loaded, disk, .. } = &self.audio;
        let streams = self.ways.iter().enumerate();
        let streams = streams.filter_map(|(index, way)| Some((index, way.stream_channels()?)));
        let channels: Vec<usize> = others.iter().filter_map(WholeFile::stream_channels).collect();
        DiskBuffer::check(&loaded.session, disk, &streams.collect(), &channels)
            .map_err(LoadError::Disk)?;
        conforming::check_room(&self.audio, &self.ways, others)?;
        Ok(())
    }

    /// Which files stream as they are. Each call says what none has said before.
    pub fn told(&mut self) -> Told {
        std::mem::take(&mut self.told)
    }

    /// Decodes what is not read while it plays: into memory, or into temporary files. These are made on as many threads as there are
    /// CPUs. `tell` gets what is found out, in the session's order and as soon as it is known.
    ///
    /// Thread: control; reads and writes files. Memory: that of what does not stream.
    ///
    /// # Errors
    /// Those of all files, in the session's order.
    pub fn load(mut self, mut tell: impl FnMut(Told)) -> Result<LoadedFiles, LoadErrors> {
        tell(self.told());
        let files = all::load(&self.audio, self.ways, tell)?;
        Ok(LoadedFiles { files })
    }
}

/// The audio files of a session, ready to play.
pub struct LoadedFiles {
    files: Vec<Ready>,
}

impl LoadedFiles {
    /// The length of a file in seconds, also where only a part of it was decoded.
    pub fn length_s(&self, id: MediaId) -> f64 {
        self.files[id.0].length_s
    }

    /// For an engine: the files in the session's order, and the buffer of those that stream and of `others`; `None`:
    /// none does.
    ///
    /// Thread: control; starts threads that read ahead.
    ///
    /// # Errors
    /// [`DiskError`].
    pub fn play(
        self,
        loaded: &Loaded,
        disk: &DiskUse,
        others: &[WholeAudio],
        rate_hz: u32,
    ) -> Result<(Vec<ClipMedia>, Option<Arc<DiskBuffer>>), DiskError> {
        let streams = self.files.iter().enumerate();
        let streams = streams.filter_map(|(index, file)| Some((index, file.stream_channels()?)));
        let (session, streams) = (&loaded.session, streams.collect());
        let others: Vec<usize> = others.iter().filter_map(WholeAudio::stream_channels).collect();
        let buffer = DiskBuffer::of(session, disk, &streams, &others, rate_hz)?;
        let media = self.files.into_iter().zip(&session.media);
        let media =
            media.map(|(file, media)| file.play(buffer.as_ref(), loaded.name_of(&media.path)));
        Ok((media.collect(), buffer))
    }
}
