//! Session file or project -> session, and audio in memory or on the disk.

pub(crate) mod inputs;
pub(crate) mod project;
mod song;
mod impulses;
mod soundfonts;
mod sources;
mod stamp;
pub mod streams;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use hocket_engine::{
    Effects, MediaPool, NotReady, Prepared, PrerollError, Settings, SettingsError, prepare_session,
    seats_of,
};
use hocket_files::ScratchFolder;
use hocket_machine::Topology;
use hocket_plan::session::{InputId, MediaId};
use hocket_plan::{Fusing, Session};
use hocket_session::{LoadOptions, Loaded};
use hocket_streams::{Facts, SessionAudio, Told, Wholes, read_session};

use crate::cli::NamedFile;
use crate::failure::Failure;
use crate::output::{detail, note};
use inputs::{FedInput, InputSound};
pub use project::ProjectUse;
pub(crate) use song::{is_midi, open as open_midi};
use streams::{DiskBuffer, DiskUse, WORDS, refused, refused_disk, summary};

/// A session ready to be prepared for an engine.
pub struct LoadedSession {
    /// The session.
    pub session: Session,
    /// Its audio at `rate_hz`.
    pub media: MediaPool,
    /// The rate at which it will run.
    pub rate_hz: u32,
    /// What a user ought to know, place included.
    pub warnings: Vec<String>,
    /// Audio files and MIDI files that are cut short or damaged, place included; what is left of them is played.
    pub damaged: Vec<String>,
    /// Where files stream; `None`: every file is in memory.
    pub disk: Option<Arc<DiskBuffer>>,
    /// What files bring into the inputs.
    inputs: Vec<InputSound>,
    /// The audio files of a project; streams read them until the session goes.
    _unpacked: Option<ScratchFolder>,
}

/// A session file that is read and checked; of its audio files only the headers are.
pub struct OpenedSession {
    loaded: Loaded,
    rate_hz: u32,
    /// What the audio files say of themselves, by path.
    facts: Facts,
    /// Files that feed inputs.
    inputs: Vec<FedInput>,
    /// Whether something brings sound into the inputs.
    fed: bool,
    /// The audio files of a project, unpacked.
    unpacked: Option<ScratchFolder>,
    /// The song never comes to this frame.
    until: u64,
}

/// The machine at hand.
///
/// # Errors
/// Where neither hwloc nor the kernel says what it is made of: exit code 3.
pub fn topology() -> Result<Topology, Failure> {
    Topology::discover().map_err(Failure::not_possible)
}

/// The effects that sessions may use here. The one place that decides it.
pub(crate) fn effects() -> Effects {
    Effects::with(Arc::clone(&*sources::SOURCES) as _)
}

/// Loads a session for this machine; `rate_hz` overrides the session's own rate.
///
/// # Errors
/// [`Failure`] with exit code 2: whatever is wrong with the file or what it names.
pub fn load_session(
    path: &Path,
    rate_hz: Option<u32>,
    topology: &Topology,
) -> Result<LoadedSession, Failure> {
    OpenedSession::open(path, rate_hz, topology)?.load()
}

/// Loads a session for a machine with `seats` seats (`count = "seats x 2"` depends on it).
///
/// # Errors
/// As [`load_session`].
pub fn load_session_for_seats(
    path: &Path,
    rate_hz: Option<u32>,
    seats: usize,
) -> Result<LoadedSession, Failure> {
    load_session_streaming(path, rate_hz, seats, &DiskUse::IN_MEMORY)
}

/// As [`load_session_for_seats`], but long files stream.
///
/// # Errors
/// As [`load_session`]. A disk buffer that is too small: exit code 2.
pub fn load_session_streaming(
    path: &Path,
    rate_hz: Option<u32>,
    seats: usize,
    disk: &DiskUse,
) -> Result<LoadedSession, Failure> {
    OpenedSession::open_for_seats(path, rate_hz, seats)?.load_for(disk)
}

impl OpenedSession {
    /// Reads the session file and the headers of its audio files; `-` is standard input. `rate_hz` overrides the
    /// session's own rate.
    ///
    /// # Errors
    /// Exit code 2: all mistakes in the file and what it names, or a rate that is not possible.
    pub fn open(
        path: &Path,
        rate_hz: Option<u32>,
        topology: &Topology,
    ) -> Result<OpenedSession, Failure> {
        OpenedSession::open_as(path, rate_hz, topology, ProjectUse::default())
    }

    /// As [`OpenedSession::open`]; `project` says how a DAWproject file or a MIDI file becomes a session.
    ///
    /// # Errors
    /// As [`OpenedSession::open`], and for a project what `project` refuses, or for a MIDI file no SoundFont: exit code 2.
    /// Audio files that cannot be unpacked: exit code 3.
    pub fn open_as(
        path: &Path,
        rate_hz: Option<u32>,
        topology: &Topology,
        project: ProjectUse,
    ) -> Result<OpenedSession, Failure> {
        project::refuse_stand_in(path, &project)?;
        if song::is_midi(path) {
            return OpenedSession::open_midi(path, rate_hz, project);
        }
        song::refuse_soundfont(path, &project)?;
        match project::is_project(path) {
            true => OpenedSession::open_project(path, rate_hz, project),
            false => OpenedSession::open_for_seats(path, rate_hz, seats_of(topology).0.seats.len()),
        }
    }

    fn open_midi(
        path: &Path,
        rate_hz: Option<u32>,
        project: ProjectUse,
    ) -> Result<OpenedSession, Failure> {
        check_rate(rate_hz)?;
        let loaded = song::open(path, project)?;
        let rate_hz = rate_hz.unwrap_or(loaded.session.sample_rate_hz);
        Ok(OpenedSession::of(loaded, rate_hz, Facts::new()))
    }

    fn open_project(
        path: &Path,
        rate_hz: Option<u32>,
        project: ProjectUse,
    ) -> Result<OpenedSession, Failure> {
        check_rate(rate_hz)?;
        let (imported, folder) = project::open(path, project)?;
        let mut loaded = imported.loaded;
        loaded.warnings.extend(project_warning(path, &imported.remarks));
        let rate_hz = rate_hz.unwrap_or(loaded.session.sample_rate_hz);
        Ok(OpenedSession {
            unpacked: Some(folder),
            ..OpenedSession::of(loaded, rate_hz, imported.facts)
        })
    }

    fn open_for_seats(
        path: &Path,
        rate_hz: Option<u32>,
        seats: usize,
    ) -> Result<OpenedSession, Failure> {
        check_rate(rate_hz)?;
        let catalogue = effects();
        let options = LoadOptions { seats, rate_hz };
        let (loaded, facts) =
            read_session(path, &catalogue, &options, &WORDS).map_err(Failure::bad_input)?;
        let rate_hz = rate_hz.unwrap_or(loaded.session.sample_rate_hz);
        Ok(OpenedSession::of(loaded, rate_hz, facts))
    }

    /// Nothing feeds its inputs yet.
    fn of(loaded: Loaded, rate_hz: u32, facts: Facts) -> OpenedSession {
        let (inputs, fed, unpacked) = (Vec::new(), false, None);
        OpenedSession { loaded, rate_hz, facts, inputs, fed, unpacked, until: u64::MAX }
    }

    /// Files that bring sound into the inputs, as `--input` names them.
    ///
    /// # Errors
    /// A name that no input has, or an input that two files feed: exit code 2.
    pub(crate) fn feed(&mut self, args: &[NamedFile]) -> Result<(), Failure> {
        self.inputs = inputs::fed(args, &self.loaded.session)?;
        Ok(())
    }

    /// The files that feed inputs.
    pub(crate) fn input_files(&self) -> impl Iterator<Item = &Path> {
        self.inputs.iter().map(|input| input.file.as_path())
    }

    /// Whether the device brings what comes in at this input, and no file.
    pub(crate) fn is_live(&self, input: InputId) -> bool {
        self.fed && !self.inputs.iter().any(|file| usize::from(file.number) == input.0)
    }

    /// Which inputs nothing feeds, in one line; `None` where there is none.
    fn silent_inputs(&self) -> Option<String> {
        if self.fed {
            return None;
        }
        let is_fed = |name: &str| self.inputs.iter().any(|input| input.name == name);
        let names = self.loaded.session.inputs.iter().map(|input| input.name.as_str());
        let silent: Vec<&str> = names.filter(|name| !is_fed(name)).collect();
        let names = silent.join(", ");
        let help = "--input NAME=FILE plays a file there";
        (!silent.is_empty()).then(|| {
            format!("nothing brings sound into the inputs ({names}): they are silent; {help}")
        })
    }

    /// Says whether a device brings sound into the inputs. Otherwise loading tells that they are silent.
    pub(crate) fn feed_inputs(&mut self, fed: bool) {
        self.fed = fed;
    }

    /// Says that the song never comes to this frame. What clips would play from there on need not be in memory.
    pub(crate) fn ends_before(&mut self, frame: u64) {
        self.until = frame;
    }

    /// Which audio files are converted to the session's rate, in one line; `None` where all have it.
    pub(crate) fn conversions(&self) -> Option<String> {
        let files =
            self.loaded.session.media.iter().filter_map(|media| self.facts.get(&media.path));
        let rates = files.map(|facts| facts.sample_rate_hz).filter(|rate| *rate != self.rate_hz);
        let mut rates: Vec<u32> = rates.collect();
        let files = match rates.len() {
            0 => return None,
            1 => "1 audio file".into(),
            count => format!("{count} audio files"),
        };
        rates.sort_unstable();
        rates.dedup();
        let rates: Vec<String> = rates.iter().map(u32::to_string).collect();
        Some(format!("{files} of {} Hz converted to {} Hz", rates.join(" and "), self.rate_hz))
    }

    /// What is probably not intended, as far as headers show it, place included.
    pub fn warnings(&self) -> Vec<String> {
        let length_s = |id: MediaId| {
            let facts = self.facts.get(&self.loaded.session.media[id.0].path);
            let frames = facts.and_then(|facts| Some((facts.frames?, facts.sample_rate_hz)));
            frames.map_or(f64::INFINITY, |(frames, rate)| frames as f64 / f64::from(rate))
        };
        let mut warnings = self.loaded.warnings.clone();
        warnings.extend(self.loaded.fade_warnings(length_s));
        warnings
    }

    /// The session.
    pub fn session(&self) -> &Session {
        &self.loaded.session
    }

    /// What people call a file of it: its path, or its place in the project that it was unpacked from.
    pub(crate) fn name_of(&self, path: &Path) -> String {
        self.loaded.name_of(path)
    }

    /// The session, to be changed before anything is loaded for it.
    pub(crate) fn session_mut(&mut self) -> &mut Session {
        &mut self.loaded.session
    }

    /// The text of a session from standard input or a pipe, which nobody can read there again.
    pub(crate) fn streamed_text(&self) -> Option<&str> {
        self.loaded.streamed_text()
    }

    /// The rate at which it will run.
    pub fn rate_hz(&self) -> u32 {
        self.rate_hz
    }

    /// The files that it reads: audio, states of plug-ins, SoundFonts.
    pub fn sources(&self) -> impl Iterator<Item = PathBuf> {
        let session = &self.loaded.session;
        let chains = session.strip_ids().into_iter().flat_map(|id| &session.strip(id).chain);
        let of_effects = chains.flat_map(|effect| [effect.state_file.clone(), effect.file.clone()]);
        session.media.iter().map(|media| media.path.clone()).chain(of_effects.flatten())
    }

    /// Decodes all audio to its end and keeps nothing of it. Returns what `--strict` refuses, MIDI files, too, place included; `None` as soon
    /// as `stop` becomes true.
    pub(crate) fn damaged(&self, stop: &AtomicBool) -> Option<Vec<String>> {
        let mut damaged = self.loaded.damaged.clone();
        for id in (0..self.loaded.session.media.len()).map(MediaId) {
            damaged.extend(self.audio(&DiskUse::IN_MEMORY).faults(id, stop)?);
        }
        Some(damaged)
    }

    /// Decodes all audio and converts what is played of it to the rate.
    ///
    /// # Errors
    /// Audio that cannot be decoded, or is too long: exit code 2. Less free memory than it needs: exit code 3.
    pub fn load(self) -> Result<LoadedSession, Failure> {
        self.load_for(&DiskUse::IN_MEMORY)
    }

    /// As [`OpenedSession::load`], but long files stream. Those that cannot as they are, are decoded into temporary files before.
    ///
    /// # Errors
    /// As [`OpenedSession::load`]. A disk buffer that is too small: exit code 2. No room for temporary files: exit code 3.
    pub fn load_for(self, disk: &DiskUse) -> Result<LoadedSession, Failure> {
        let too_long = self.too_long(disk);
        if !too_long.is_empty() {
            return Err(Failure::bad_input(too_long.join("\n")));
        }
        if let Some(conversions) = self.conversions() {
            note(format_args!("{conversions}; resample = false in [session] refuses that"));
        }
        self.silent_inputs().into_iter().for_each(note);
        let wholes =
            Wholes { rate_hz: Some(self.rate_hz), until: self.until, disk: *disk, words: &WORDS };
        let inputs = inputs::open(&self.inputs, &self.loaded.session, &wholes)?;
        let mut plan = self.audio(disk).plan(&inputs).map_err(refused)?;
        let (warnings, damaged) = (self.loaded.warnings.clone(), self.loaded.damaged.clone());
        let mut all = Told { warnings, damaged, details: Vec::new() };
        let mut told = plan.told();
        let inputs = inputs::load(inputs, &mut told);
        add(&mut all, told);
        let inputs = inputs?;
        let files = plan.load(|told| add(&mut all, told)).map_err(refused)?;
        let OpenedSession { loaded, rate_hz, unpacked, inputs: fed, .. } = self;
        let Told { mut warnings, damaged, .. } = all;
        warnings.extend(loaded.fade_warnings(|id| files.length_s(id)));
        let (media, buffer) =
            files.play(&loaded, disk, &inputs, rate_hz).map_err(|error| refused_disk(&error))?;
        if let Some(buffer) = &buffer {
            detail(format_args!("{}", summary(buffer)));
        }
        let media = MediaPool::of(media).with_effects(effects());
        let (session, disk, _unpacked) = (loaded.session, buffer, unpacked);
        let inputs = inputs::sounds(&fed, inputs);
        Ok(LoadedSession { session, media, rate_hz, warnings, damaged, disk, inputs, _unpacked })
    }

    /// Audio files that are too long to be in memory and do not stream, as far as headers show it; place included.
    pub(crate) fn too_long(&self, disk: &DiskUse) -> Vec<String> {
        self.audio(disk).too_long()
    }

    /// Its audio files, and how they are to be played.
    fn audio(&self, disk: &DiskUse) -> SessionAudio<'_> {
        SessionAudio {
            loaded: &self.loaded,
            facts: &self.facts,
            rate_hz: self.rate_hz,
            until: self.until,
            disk: *disk,
            words: &WORDS,
        }
    }

    /// As [`OpenedSession::load_for`]; `None` as soon as `stop` becomes true. The thread that loads is then left alone: it
    /// holds nothing but memory and files without a name, and the command ends.
    ///
    /// # Errors
    /// As [`OpenedSession::load_for`].
    pub fn load_unless(
        mut self,
        disk: DiskUse,
        stop: &AtomicBool,
    ) -> Result<Option<LoadedSession>, Failure> {
        let (done, wait) = channel();
        // It stays here, because the thread does not live to remove it.
        let unpacked = self.unpacked.take();
        std::thread::spawn(move || {
            // After an interruption nobody waits for it any more.
            let _ = done.send(self.load_for(&disk));
        });
        loop {
            match wait.recv_timeout(Duration::from_millis(50)) {
                Ok(loaded) => {
                    let mut loaded = loaded?;
                    loaded._unpacked = unpacked;
                    return Ok(Some(loaded));
                }
                Err(RecvTimeoutError::Timeout) if stop.load(Relaxed) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Failure::not_possible("loading the session's audio failed"));
                }
            }
        }
    }
}

/// Refused before anything is converted to it.
fn check_rate(rate_hz: Option<u32>) -> Result<(), Failure> {
    match rate_hz.filter(|rate_hz| !Settings::RATES_HZ.contains(rate_hz)) {
        Some(rate_hz) => Err(Failure::bad_input(SettingsError::Rate(rate_hz))),
        None => Ok(()),
    }
}

/// Adds what came later. Tells the details at once.
fn add(all: &mut Told, later: Told) {
    later.details.iter().for_each(detail);
    all.warnings.extend(later.warnings);
    all.damaged.extend(later.damaged);
}

/// What of a project does not play as it was meant, in one warning; `None` if all does.
fn project_warning(path: &Path, remarks: &[String]) -> Option<String> {
    let list = remarks.join("\n  ");
    let path = path.display();
    (!remarks.is_empty()).then(|| {
        format!("{path}: not all of this project plays; refuse such with --strict:\n  {list}")
    })
}

impl LoadedSession {
    /// Graph, units and processors; files play at the inputs that they feed.
    ///
    /// # Errors
    /// What the engine refuses: exit code 2.
    pub(crate) fn prepare(&self) -> Result<Prepared, Failure> {
        let prepared = prepare_session(&self.session, &self.media, self.rate_hz, Fusing::Chains);
        inputs::feed(prepared.map_err(Failure::bad_input)?, &self.inputs, self.disk.as_ref())
    }

    /// Waits until all that plays from the disk is read ahead ([`MediaPool::fill`]), files at inputs, too.
    ///
    /// # Errors
    /// What is not there after `patience`.
    pub(crate) fn fill(&self, patience: Duration) -> Result<(), PrerollError> {
        let until = Instant::now() + patience;
        let mut causes = self.media.fill(patience).err().map_or_else(Vec::new, |it| it.causes);
        causes.extend(inputs::fill(&self.inputs, until));
        if causes.is_empty() { Ok(()) } else { Err(PrerollError { causes }) }
    }

    /// What was not in memory in time ([`MediaPool::not_ready`]), of files at inputs, too.
    pub(crate) fn not_ready(&self) -> Vec<NotReady> {
        // Inputs stay the same, and edits add clips.
        inputs::not_ready(&self.inputs).chain(self.media.not_ready()).collect()
    }

    /// Refuses damaged audio and MIDI files where the user asked for that (`--strict`), and prints the warnings otherwise.
    ///
    /// # Errors
    /// [`Failure`] with exit code 2, naming every such file.
    pub fn accept(&self, strict: bool) -> Result<(), Failure> {
        if strict && !self.damaged.is_empty() {
            return Err(Failure::bad_input(self.damaged.join("\n")));
        }
        self.print_warnings();
        Ok(())
    }

    /// Prints the warnings on standard error.
    pub fn print_warnings(&self) {
        for warning in &self.warnings {
            crate::output::tell(format_args!("warning: {warning}"));
        }
    }

    /// Both rows of the preview's file, where the session names one.
    pub fn preview_audio(&self) -> Option<(Vec<f32>, Vec<f32>)> {
        let audio = self.media.get(self.session.preview?)?;
        Some((audio.left().to_vec(), audio.right().to_vec()))
    }
}
