//! `--input`: sound of files in the place of what a device would bring into the engine's inputs.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use hocket_engine::{Block, NodeKind, NotReady, Prepared, Processor, StreamHandle};
use hocket_plan::Session;
use hocket_plan::session::{EventsOf, InputId, TakeFrom, TakeSpec};
use hocket_streams::{DiskBuffer, LoadErrors, RowsReader, Told, WholeAudio, WholeFile, Wholes};

use super::streams::refused;
use crate::cli::NamedFile;
use crate::failure::Failure;
use crate::output::warn;

/// So many names are listed where one is unknown.
const NAMES_LISTED: usize = 20;

/// A file that plays at an input.
#[derive(Debug, Clone)]
pub(crate) struct FedInput {
    /// The engine's number of the input.
    pub number: u16,
    /// As the session calls it.
    pub name: String,
    pub file: PathBuf,
}

/// The sound of an input.
pub(crate) struct InputSound {
    number: u16,
    audio: WholeAudio,
    /// Of the stream that the latest engine plays.
    handle: Mutex<Option<Weak<dyn StreamHandle>>>,
}

/// The inputs that files feed.
///
/// # Errors
/// A name that no input has, or an input that two files feed: exit code 2.
pub(crate) fn fed(args: &[NamedFile], session: &Session) -> Result<Vec<FedInput>, Failure> {
    let mut all: Vec<FedInput> = Vec::new();
    for arg in args {
        let place = |name: &str| session.inputs.iter().position(|input| input.name == name);
        let (name, file) = arg.named(|name| place(name).is_some());
        let refused = |why: String| Err(Failure::bad_input(format!("--input {arg}: {why}")));
        let Some(place) = place(&name) else { return refused(unknown(&name, session)) };
        let number = u16::try_from(place).unwrap_or(u16::MAX);
        if all.iter().any(|other| other.number == number) {
            return refused(format!("another file feeds the input '{name}' already; name it once"));
        }
        if !is_used(InputId(place), session) {
            let file = file.display();
            warn(format_args!(
                "no track plays the input '{name}', and no take records it: {file} is silent"
            ));
        }
        all.push(FedInput { number, name, file });
    }
    Ok(all)
}

fn is_used(input: InputId, session: &Session) -> bool {
    let is_played = session.tracks.iter().any(|track| track.input == Some(input));
    let of_input = [TakeFrom::Input(input), TakeFrom::Events(EventsOf::Input(input))];
    let is_recorded = |take: &TakeSpec| take.armed && of_input.contains(&take.from);
    is_played || session.takes.iter().any(is_recorded)
}

fn unknown(name: &str, session: &Session) -> String {
    if session.inputs.is_empty() {
        return "the session has no inputs; add [[input]] with a name, and input = \"...\" to a track"
            .into();
    }
    let names = session.inputs.iter().take(NAMES_LISTED).map(|input| input.name.as_str());
    let names = names.collect::<Vec<_>>().join(", ");
    let more = if session.inputs.len() > NAMES_LISTED { ", ..." } else { "" };
    format!("the session has no input '{name}'; choose one of: {names}{more}")
}

/// Looks into the headers of the files. Mono plays on all channels of its input, and an input of one channel gets the mean of the first
/// two.
///
/// # Errors
/// A file that cannot be read, or has to be in memory and is too long: exit code 2.
pub(super) fn open(
    fed: &[FedInput],
    session: &Session,
    how: &Wholes<'_>,
) -> Result<Vec<WholeFile>, Failure> {
    let opened = fed.iter().map(|FedInput { number, name, file }| {
        let called = format!("--input {name}={}", file.display());
        if file.is_dir() {
            return Err(Failure::bad_input(format!(
                "{called}: this is a folder; name an audio file in it"
            )));
        }
        let channels = session.inputs.get(usize::from(*number)).map_or(2, |input| input.channels);
        WholeFile::open(file, called, usize::from(channels), how)
            .map_err(|error| refused(error.into()))
    });
    opened.collect()
}

/// Decodes what does not stream of them, into memory or into temporary files.
///
/// # Errors
/// Files that cannot be decoded: exit code 2. More memory or room than there is: exit code 3.
pub(super) fn load(files: Vec<WholeFile>, told: &mut Told) -> Result<Vec<WholeAudio>, Failure> {
    let (mut loaded, mut errors) = (Vec::new(), Vec::new());
    for file in files {
        match file.load(told) {
            Ok(audio) => loaded.push(audio),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(loaded) } else { Err(refused(LoadErrors(errors))) }
}

/// The sound of inputs: what their files bring.
pub(super) fn sounds(fed: &[FedInput], audio: Vec<WholeAudio>) -> Vec<InputSound> {
    let sound = |(fed, audio): (&FedInput, WholeAudio)| InputSound {
        number: fed.number,
        audio,
        handle: Mutex::new(None),
    };
    fed.iter().zip(audio).map(sound).collect()
}

impl InputSound {
    /// Of the stream that an engine plays now; `None`: the file is in memory, or no engine plays it.
    fn handle(&self) -> Option<Arc<dyn StreamHandle>> {
        self.handle.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.upgrade()
    }

    fn player(&self, buffer: Option<&Arc<DiskBuffer>>) -> Result<InputFile, Failure> {
        let (file, handle) = self.audio.open(buffer).map_err(Failure::not_possible)?;
        let kept = handle.as_ref().map(Arc::downgrade);
        *self.handle.lock().unwrap_or_else(PoisonError::into_inner) = kept;
        Ok(InputFile { file, _handle: handle })
    }
}

/// How often a control thread looks whether streams are filled.
const LOOK: Duration = Duration::from_millis(2);

/// Waits until those that stream are read ahead, at most until then. Returns what was too slow.
pub(super) fn fill(sounds: &[InputSound], until: Instant) -> Vec<String> {
    let mut waiting: Vec<_> = sounds.iter().filter_map(InputSound::handle).collect();
    loop {
        waiting.retain(|handle| !handle.is_filled());
        if waiting.is_empty() || Instant::now() >= until {
            let slow = |handle: &Arc<dyn StreamHandle>| {
                let file = handle.not_ready().file;
                format!("{file}: the disk is too slow to fill the stream before the start")
            };
            return waiting.iter().map(slow).collect();
        }
        std::thread::sleep(LOOK);
    }
}

/// What those that stream did not have in memory in time.
pub(super) fn not_ready(sounds: &[InputSound]) -> impl Iterator<Item = NotReady> {
    sounds.iter().filter_map(|sound| Some(sound.handle()?.not_ready()))
}

/// The same graph, in which the nodes of these inputs play their files.
///
/// # Errors
/// A file that can no longer be opened: exit code 3.
pub(crate) fn feed(
    mut prepared: Prepared,
    sounds: &[InputSound],
    buffer: Option<&Arc<DiskBuffer>>,
) -> Result<Prepared, Failure> {
    for (place, node) in prepared.graph.nodes().iter().enumerate() {
        let own = |sound: &&InputSound| node.kind == NodeKind::Input(sound.number);
        if let Some(sound) = sounds.iter().find(own) {
            prepared.processors[place] = Some(Box::new(sound.player(buffer)?));
        }
    }
    Ok(prepared)
}

/// Plays a file from the engine's start on, whatever the song does: as a microphone would.
///
/// Shape: overwrites the block. Thread: worker, inside a block. Cost: O(frames); no allocation, lock or system call, but that a render
/// waits for the disk.
struct InputFile {
    file: RowsReader,
    /// A stream lives as long as its player.
    _handle: Option<Arc<dyn StreamHandle>>,
}

impl Processor for InputFile {
    fn process(&mut self, block: &mut Block<'_>) {
        if let Some(time) = block.time {
            self.file.play(time.steady_frame, block);
        }
    }

    fn reset(&mut self) {
        self.file.locate(0);
    }

    fn keeps_time(&self) -> bool {
        true
    }
}
