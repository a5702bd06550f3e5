//! Takes: what strips put out and inputs bring while a session plays or is rendered, recorded as it sounds.

mod alignment;
mod ended;
mod numbers;
mod running;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hocket_disk::{Recorder, RecorderSettings, TakeWatch};
use hocket_engine::{Engine, NodeKind, Prepared};
use hocket_media::{FileFormat, FlacEncoder, WavFormat, WavLayout};
use hocket_plan::session::{
    Alignment, EventsOf, InputId, Session, SongTime, StripId, TakeFrom, TakeSpec, Tap,
};
use hocket_plan::{Fusing, Graph, NodeId, Ports};
use serde_json::{Value, json};

use crate::cli::NamedFile;
use crate::failure::Failure;
use crate::files::{Files, Kind};
use crate::output::note;
use alignment::Aligned;
pub(crate) use alignment::RoundTrip;
pub(crate) use ended::Ended;
use running::{Block, Running};

/// How long the end of a command waits for the disk, and for all its takes together. The units in `packaging/` give it that time.
const PATIENCE: Duration = Duration::from_secs(60);
/// The strip that every session has.
pub(crate) const MASTER: &str = "master";
/// So many names are listed where one is unknown.
const NAMES_LISTED: usize = 20;

/// A take that is asked for, by the command line or by the session.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    /// What is recorded, in the session's words.
    name: String,
    from: TakeFrom,
    /// Of the file; none for a file of events.
    channels: u16,
    /// The tempos and time signatures of a file of events.
    time: SongTime,
    file: PathBuf,
    /// Who asks for it, for messages: `--take master=mix.wav`.
    asked: String,
    /// Where its frames are put, and how many more are left out at its start.
    align: Alignment,
    offset_frames: i32,
    /// The input that alone brings it, and does not state how late it is.
    input: Option<InputId>,
    /// A device brings it, so that it may never arrive.
    is_live: bool,
    /// A device brings what is in it, so that somebody plays it to what they hear.
    is_played_along: bool,
}

/// The takes of the command line, and those of the session that are armed. A take of events that the command line asks for
/// joins the session, so that its graph has a node for it.
///
/// # Errors
/// A name that no strip has; events of a strip that has none: exit code 2.
pub(crate) fn wanted(args: &[NamedFile], session: &mut Session) -> Result<Vec<Wanted>, Failure> {
    let mut all = Vec::new();
    for arg in args {
        let (name, file) = arg.named(|name| strip_named(name, session).is_some());
        let asked = format!("--take {arg}");
        let strip = strip_named(&name, session).ok_or_else(|| no_strip(&asked, &name, session))?;
        let (from, channels) = match TakeSpec::holds_events(&file) {
            true => (events_of(strip, session).ok_or_else(|| no_events(&asked, &name))?, 0),
            false => (TakeFrom::Strip(strip, Tap::PostFader), Ports::STEREO.main),
        };
        let spec = TakeSpec::new(from, file);
        if matches!(from, TakeFrom::Events(_)) {
            // Recorded as a take of the command line.
            session.takes.push(TakeSpec { armed: false, ..spec.clone() });
        }
        all.push(Wanted::new((name, asked), channels, &spec, session));
    }
    for take in session.takes.iter().filter(|take| take.armed) {
        let (name, channels) = match take.from {
            // Every strip is stereo, whatever its last effect listens to beside it.
            TakeFrom::Strip(strip, _) => (&session.strip(strip).name, Ports::STEREO.main),
            TakeFrom::Input(input) => {
                (&session.inputs[input.0].name, session.inputs[input.0].channels)
            }
            TakeFrom::Events(EventsOf::Track(track)) => (&session.tracks[track].strip.name, 0),
            TakeFrom::Events(EventsOf::Input(input)) => (&session.inputs[input.0].name, 0),
        };
        let named = (name.clone(), format!("the session's [[take]] of {name}"));
        all.push(Wanted::new(named, channels, take, session));
    }
    Ok(all)
}

/// The input that alone brings what a take records. One that states its latency says itself how late it is: nobody plays it to
/// what they hear.
fn sole_input(from: TakeFrom, session: &Session) -> Option<InputId> {
    let input = match from {
        TakeFrom::Input(input) | TakeFrom::Events(EventsOf::Input(input)) => Some(input),
        TakeFrom::Strip(StripId::Track(index), _) => {
            let track = &session.tracks[index];
            let plays = !track.clips.is_empty() || !track.notes.is_empty() || track.from.is_some();
            track.input.filter(|_| !plays)
        }
        TakeFrom::Events(EventsOf::Track(index)) => {
            let track = &session.tracks[index];
            track.input.filter(|_| track.notes.is_empty())
        }
        TakeFrom::Strip(..) => None,
    };
    input.filter(|input| session.inputs[input.0].latency_frames == 0)
}

/// The notes and messages of a track. `None`: the strip has none.
fn events_of(strip: StripId, session: &Session) -> Option<TakeFrom> {
    let StripId::Track(index) = strip else { return None };
    let track = &session.tracks[index];
    let has_input = track.input.is_some_and(|input| session.inputs[input.0].events);
    (has_input || !track.notes.is_empty()).then_some(TakeFrom::Events(EventsOf::Track(index)))
}

fn no_events(asked: &str, name: &str) -> Failure {
    Failure::bad_input(format!(
        "{asked}: '{name}' has no notes; record audio (.wav or .flac), or name a track with notes or with an input that takes \
         events"
    ))
}

/// A strip by its name; `master` is the master's, whatever the session calls it.
pub(crate) fn strip_named(name: &str, session: &Session) -> Option<StripId> {
    if name == MASTER {
        return Some(StripId::Master);
    }
    session.strip_ids().into_iter().find(|id| session.strip(*id).name == name)
}

/// As [`unknown`], for a take. An input is no strip, and only the session records it.
fn no_strip(asked: &str, name: &str, session: &Session) -> Failure {
    match session.inputs.iter().any(|input| input.name == name) {
        true => Failure::bad_input(format!(
            "{asked}: '{name}' is an input, and --take records strips; write [[take]] with input = \"{name}\" in the session, or \
             name the track that plays it"
        )),
        false => unknown(asked, name, session),
    }
}

/// `asked`: the flag and its value.
pub(crate) fn unknown(asked: &str, name: &str, session: &Session) -> Failure {
    let ids = session.strip_ids();
    let others = ids.iter().filter(|id| **id != StripId::Master);
    let names: Vec<&str> = others.map(|id| session.strip(*id).name.as_str()).collect();
    let more = if names.len() > NAMES_LISTED { ", ..." } else { "" };
    let names = names[..names.len().min(NAMES_LISTED)].join(", ");
    Failure::bad_input(format!(
        "{asked}: the session has no strip '{name}'; choose master or one of: {names}{more}"
    ))
}

/// The longest name of a file on Linux, in bytes.
const LONGEST_NAME: usize = 255;

/// Gives the takes and the log of a run that is not the first one a number that none has yet, the same to all of them, and
/// says so. A log that is no regular file, such as a pipe, keeps its name.
pub(crate) fn number(takes: &mut [Wanted], log: Option<&mut PathBuf>) {
    let is_file = |path: &PathBuf| std::fs::metadata(path).map_or(true, |there| there.is_file());
    let mut log = log.filter(|path| is_file(path));
    let mut files: Vec<&mut PathBuf> = takes.iter_mut().map(|take| &mut take.file).collect();
    files.extend(log.as_deref_mut());
    if numbers::number(&mut files) {
        for Wanted { asked, file, .. } in takes {
            note(format_args!("{asked} is recorded to {}", file.display()));
        }
        log.iter().for_each(|log| note(format_args!("the log is {}", log.display())));
    }
}

/// Sees that every take can begin: a new file of a known format in a folder that can be written to.
///
/// # Errors
/// A file that exists, an unknown ending, a name that is too long, a rate or channels that the format does not hold: exit
/// code 2.
pub(crate) fn check_files(
    takes: &[Wanted],
    rate_hz: u32,
    files: &mut Files,
) -> Result<(), Failure> {
    for Wanted { file: path, asked, channels, .. } in takes {
        let refused = |why: String| Err(Failure::bad_input(format!("{asked}: {why}")));
        if TakeSpec::holds_events(path) {
            if let Some(why) = too_long("its name", path) {
                return refused(why);
            }
            if path.symlink_metadata().is_ok() {
                return refused(is_there(path));
            }
            files.writes(asked, path, Kind::Audio)?;
            continue;
        }
        let Some(format) = FileFormat::of(path) else {
            return refused(format!(
                "the ending says the format; choose {}, or .mid for notes",
                FileFormat::ENDINGS
            ));
        };
        format.check(path, rate_hz, samples(format)).map_err(Failure::bad_input)?;
        if format == FileFormat::Flac {
            let (samples, sample_rate_hz, channels) = (samples(format), rate_hz, *channels);
            let layout = WavLayout { samples, sample_rate_hz, channels };
            if let Err(error) = FlacEncoder::check(path, layout) {
                return refused(error.to_string());
            }
        }
        // Seen before anything is created: a take whose manifest has no room would leave an empty file.
        if let Some(why) = too_long("the name of its manifest, NAME.take.toml,", &manifest(path)) {
            return refused(why);
        }
        if let Some(why) = in_the_way(path) {
            return refused(why);
        }
        files.writes(asked, path, Kind::Audio)?;
        files.writes(&format!("the notes of {asked}"), &manifest(path), Kind::Session)?;
    }
    Ok(())
}

/// `what`: the name, in words.
fn too_long(what: &str, path: &Path) -> Option<String> {
    let bytes = path.file_name().map_or(0, |name| name.len());
    (bytes > LONGEST_NAME).then(|| {
        format!("{what} would have {bytes} bytes and may have {LONGEST_NAME}; choose a shorter one")
    })
}

/// What is there already: the recording, or what was noted of one.
fn in_the_way(path: &Path) -> Option<String> {
    let notes = manifest(path);
    let exists = |path: &Path| path.symlink_metadata().is_ok();
    match (exists(path), exists(&notes)) {
        (true, _) => Some(is_there(path)),
        (false, true) => Some(format!(
            "{} exists, although its recording does not: they are the notes of a take that was deleted or renamed; \
             remove them, or name another file",
            notes.display()
        )),
        (false, false) => None,
    }
}

fn is_there(path: &Path) -> String {
    format!(
        "{} exists, and a take never replaces a file; name another one, remove it with its notes, or give \
         --number-takes to `hocket play`",
        path.display()
    )
}

/// What the name of a take's notes has behind the take's own.
const NOTES: &str = ".take.toml";

/// The file beside a take that says what it is.
fn manifest(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(NOTES);
    name.into()
}

fn samples(format: FileFormat) -> WavFormat {
    match format {
        FileFormat::Wav => WavFormat::Float32,
        FileFormat::Flac => WavFormat::Pcm24,
    }
}

/// Says which inputs a device brings: what it skips is missing in their takes, and somebody plays them to what they hear.
pub(crate) fn expect_live(takes: &mut [Wanted], is_live: impl Fn(InputId) -> bool) {
    for take in takes {
        take.is_live = match take.from {
            TakeFrom::Input(input) | TakeFrom::Events(EventsOf::Input(input)) => is_live(input),
            TakeFrom::Strip(..) | TakeFrom::Events(EventsOf::Track(_)) => false,
        };
        take.is_played_along = take.input.is_some_and(&is_live);
    }
}

impl Wanted {
    /// `named`: what is recorded, in the session's words, and who asks for it.
    fn new(
        (name, asked): (String, String),
        channels: u16,
        spec: &TakeSpec,
        session: &Session,
    ) -> Wanted {
        let TakeSpec { from, ref file, align, offset_frames, .. } = *spec;
        Wanted {
            name,
            from,
            channels,
            time: session.time.clone(),
            file: file.clone(),
            asked,
            align,
            offset_frames,
            input: sole_input(from, session),
            is_live: false,
            is_played_along: false,
        }
    }

    /// What is recorded.
    pub(crate) fn from(&self) -> TakeFrom {
        self.from
    }

    fn is_notes(&self) -> bool {
        matches!(self.from, TakeFrom::Events(_))
    }
}

/// The same nodes with an output for each of these, after the session's own.
///
/// # Errors
/// The graph has no node for one of them, or cannot be compiled: exit code 2.
pub(crate) fn tapped(
    prepared: Prepared,
    wanted: impl IntoIterator<Item = TakeFrom>,
) -> Result<Prepared, Failure> {
    let mut wanted = wanted.into_iter().peekable();
    if wanted.peek().is_none() {
        return Ok(prepared);
    }
    let (mut graph, time, lanes) = (prepared.graph, prepared.time, prepared.lanes);
    let mut outputs = graph.outputs();
    for from in wanted {
        // Left out, it would shift those behind it.
        let missing = || Failure::bad_input(format!("nothing in the graph puts out {from:?}"));
        outputs.push(tap(&graph, from).ok_or_else(missing)?);
    }
    graph.set_outputs(outputs).map_err(Failure::bad_input)?;
    let tapped = Prepared::from_graph(&graph, prepared.processors, Fusing::Chains);
    // Only the outputs are others, so lanes still name their nodes.
    Ok(Prepared { time, lanes, ..tapped.map_err(Failure::bad_input)? })
}

/// The node that a take records.
fn tap(graph: &Graph, from: TakeFrom) -> Option<NodeId> {
    let kind = match from {
        TakeFrom::Strip(strip, _) => NodeKind::Fader(strip),
        TakeFrom::Input(input) => NodeKind::Input(u16::try_from(input.0).ok()?),
        TakeFrom::Events(of) => NodeKind::Events(of),
    };
    let place = graph.nodes().iter().position(|node| node.kind == kind)?;
    match from {
        // A fader reads the end of its chain.
        TakeFrom::Strip(_, Tap::PreFader) => Some(graph.nodes()[place].inputs.first()?.from),
        _ => Some(NodeId(place as u32)),
    }
}

/// Takes that are recorded.
pub(crate) struct Takes {
    /// Dropped after the takes have ended.
    recorder: Option<Recorder>,
    running: Vec<Running>,
    /// Frames before the first one that anybody wants.
    before: u64,
    /// Frames that have passed since.
    passed: u64,
    /// How many are the song's, once that is known.
    song_frames: Option<u64>,
}

/// What part of the song is recorded, and how late it is heard and comes in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recorded {
    /// Where the song is at the first frame.
    pub(crate) start_frame: u64,
    /// `None`: as long as it plays.
    pub(crate) frames: Option<u64>,
    /// `None`: nothing sounds.
    pub(crate) trip: Option<RoundTrip>,
}

/// A take that is being recorded, for those who look from beside it.
#[derive(Debug, Clone)]
pub(crate) struct Recording {
    /// What is recorded, in the session's words.
    pub(crate) name: String,
    pub(crate) file: PathBuf,
    pub(crate) watch: TakeWatch,
}

impl Takes {
    /// Creates the files. What is wanted are the engine's last outputs.
    ///
    /// # Errors
    /// A file cannot be created: exit code 3. Nothing is left behind, also not of takes that had begun.
    pub(crate) fn begin(
        wanted: &[Wanted],
        engine: &Engine,
        recorded: &Recorded,
    ) -> Result<Takes, Failure> {
        let (mut running, song_frames) = (Vec::new(), recorded.frames);
        if wanted.is_empty() {
            return Ok(Takes { recorder: None, running, before: 0, passed: 0, song_frames });
        }
        let recorder = Recorder::start(RecorderSettings::default());
        let latencies = engine.output_latencies();
        // They are the last outputs.
        let first = latencies.len().saturating_sub(wanted.len());
        for (output, take_of) in (first..).zip(wanted) {
            let late = latencies.get(output).copied().unwrap_or(0).into();
            let aligned = Aligned::new(take_of, late, recorded.trip.as_ref());
            let output = (output, engine.settings().rate_hz);
            match Running::begin(&recorder, take_of, output, (aligned, recorded)) {
                Ok(begun) => running.push(begun),
                Err(failure) => {
                    // One that is empty would forbid the next take of its name.
                    running.into_iter().for_each(Running::discard);
                    return Err(failure);
                }
            }
        }
        Ok(Takes { recorder: Some(recorder), running, before: 0, passed: 0, song_frames })
    }

    /// All of them, for those who look while they are recorded.
    pub(crate) fn recordings(&self) -> Vec<Recording> {
        let recording = |Running { take_of, take, .. }: &Running| {
            let (name, file) = (take_of.name.clone(), take_of.file.clone());
            Recording { name, file, watch: take.watch() }
        };
        self.running.iter().map(recording).collect()
    }

    /// A line for each take that nobody can put where it belongs.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = String> {
        self.running.iter().filter_map(|Running { take_of, aligned, .. }| {
            let why = aligned.unknown()?;
            Some(format!(
                "take {}: its latency is unknown, because {why}; no frames are left out for it",
                take_of.name
            ))
        })
    }

    /// How they are put where they belong, for programs.
    pub(crate) fn json(&self) -> Value {
        let one = |Running { take_of, aligned, .. }: &Running| {
            json!({
                "bus": take_of.name,
                "file": take_of.file.display().to_string(),
                "aligned": aligned.json(),
            })
        };
        self.running.iter().map(one).collect()
    }

    /// The same, but records nothing of the first `frames` frames.
    pub(crate) fn starting_at(mut self, frames: u64) -> Takes {
        self.before = frames;
        self
    }

    /// Takes the block that the engine has just processed.
    ///
    /// Thread: leader, between blocks. No allocation, lock or system call; what finds no room is counted.
    pub(crate) fn note(&mut self, engine: &Engine, frames: usize) {
        self.each(engine, frames, Duration::ZERO);
    }

    /// The same, but waits for a slow disk, as long as it answers at all.
    ///
    /// Thread: control, which leads an offline render.
    pub(crate) fn keep(&mut self, engine: &Engine, frames: usize) {
        self.keep_for(engine, frames, PATIENCE);
    }

    /// The same, but no take waits longer than so.
    ///
    /// Thread: leader of blocks without a deadline.
    pub(crate) fn keep_for(&mut self, engine: &Engine, frames: usize, patience: Duration) {
        self.each(engine, frames, patience);
    }

    /// So many frames passed before the block that comes next, and the device did not bring them: inputs miss them. The song stood
    /// still meanwhile, as all other takes do.
    ///
    /// Thread: leader, between blocks. No allocation, lock or system call.
    pub(crate) fn miss(&mut self, frames: u64) {
        if self.before == 0 {
            self.running.iter_mut().for_each(|running| running.miss(frames));
        }
    }

    /// The song has ended with the last block. Takes go on until they have [`Takes::remaining`] frames more.
    ///
    /// Thread: leader, between blocks. No allocation, lock or system call.
    pub(crate) fn end_song(&mut self) {
        let frames = *self.song_frames.get_or_insert(self.passed);
        self.running.iter_mut().for_each(|running| running.end_song(frames));
    }

    /// So many frames have to pass until all have the end of the song, too, where that is known.
    pub(crate) fn remaining(&self) -> u64 {
        self.running.iter().map(|running| running.span.remaining()).max().unwrap_or(0)
    }

    fn each(&mut self, engine: &Engine, frames: usize, patience: Duration) {
        let from = self.before.min(frames as u64) as usize;
        self.before -= from as u64;
        self.passed += (frames - from) as u64;
        for running in &mut self.running {
            let next = running.span.next(frames - from);
            if !next.is_empty() {
                let frames = from + next.start..from + next.end;
                running.note(&Block { engine, frames, patience });
            }
        }
    }

    /// Ends the takes, and waits until they are on the disk.
    ///
    /// Thread: control.
    pub(crate) fn end(self) -> Vec<Ended> {
        let Takes { recorder, running, passed, song_frames, .. } = self;
        let song_frames = song_frames.map_or(passed, |frames| frames.min(passed));
        let mut ending = Vec::new();
        for Running { take_of, aligned, span, input, take, .. } in running {
            // The end of the input is the end of the take.
            drop(input);
            let all = song_frames + aligned.more_frames();
            ending.push((take_of, (aligned, all.saturating_sub(span.kept)), take));
        }
        let ended = in_turn(ending, PATIENCE, |(take_of, aligned, take), left| {
            Ended::new(take_of, aligned, take.finish(left).ok())
        });
        if ended.iter().any(|take| !take.has_report()) {
            // Its end would wait for a disk that does not answer.
            std::mem::forget(recorder);
        }
        ended
    }
}

/// Does something to one after another, each within what the ones before have left of the time for all: a disk that does not
/// answer would otherwise take it anew for each.
fn in_turn<T, R>(all: Vec<T>, time: Duration, mut each: impl FnMut(T, Duration) -> R) -> Vec<R> {
    let until = Instant::now() + time;
    let one = |one| each(one, until.saturating_duration_since(Instant::now()));
    all.into_iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Wanted {
        /// A take of this, of nowhere.
        pub(super) fn of_nothing(from: TakeFrom) -> Wanted {
            let named = ("it".into(), "it".into());
            let mut session = Session::default();
            session.inputs.push(hocket_plan::session::Input {
                name: "mic".into(),
                channels: 1,
                events: true,
                latency_frames: 0,
            });
            session.tracks.push(hocket_plan::session::Track {
                strip: hocket_plan::session::Strip::new("one"),
                output: hocket_plan::session::Destination::Master,
                clips: Vec::new(),
                input: Some(InputId(0)),
                from: None,
                notes: Vec::new(),
            });
            Wanted::new(named, 2, &TakeSpec::new(from, "it.wav".into()), &session)
        }
    }

    /// However slow the machine is: what one waits for is not given to the next one.
    #[test]
    fn takes_that_wait_for_one_disk_share_the_time() {
        let (mut given, time) = (Vec::new(), Duration::from_millis(50));
        let numbers = in_turn(vec![1, 2, 3], time, |number, left| {
            given.push(left);
            std::thread::sleep(left);
            number
        });
        assert_eq!(numbers, [1, 2, 3]);
        assert_eq!(given[1..], [Duration::ZERO; 2], "{given:?}");
        assert!(given.iter().sum::<Duration>() <= time, "{given:?}");
    }
}
