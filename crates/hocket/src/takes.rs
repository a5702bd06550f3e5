//! Takes: what strips put out and inputs bring while a session plays or is rendered, recorded as it sounds.

mod numbers;
mod running;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hocket_disk::{Missing, Recorder, RecorderSettings, TakeReport, TakeWatch};
use hocket_engine::{Engine, NodeKind, Prepared};
use hocket_lab::numbers::counted;
use hocket_media::{FileFormat, FlacEncoder, WavFormat, WavLayout};
use hocket_plan::session::{
    EventsOf, InputId, Session, SongTime, StripId, TakeFrom, TakeSpec, Tap,
};
use hocket_plan::{Fusing, Graph, NodeId, Ports};
use serde_json::{Value, json};

use crate::cli::NamedFile;
use crate::failure::Failure;
use crate::files::{Files, Kind};
use crate::output::note;
use running::{Block, Running};

/// How long the end of a command waits for the disk, and for all its takes together. The units in `packaging/` give it that time.
const PATIENCE: Duration = Duration::from_secs(60);
/// The strip that every session has.
pub(crate) const MASTER: &str = "master";
/// So many names are listed where one is unknown.
const NAMES_LISTED: usize = 20;
/// So many places at which frames are missing are in a line for people.
const PLACES_TOLD: usize = 3;
/// And so many in JSON. The manifest has more.
const PLACES_IN_JSON: usize = 100;

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
    /// A device brings it, so that it may never arrive.
    is_live: bool,
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
        if matches!(from, TakeFrom::Events(_)) {
            // Recorded as a take of the command line.
            session.takes.push(TakeSpec { from, file: file.clone(), armed: false });
        }
        let (time, is_live) = (session.time.clone(), false);
        all.push(Wanted { name, from, channels, time, file, asked, is_live });
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
        let (name, from) = (name.clone(), take.from);
        let (file, asked) = (take.file.clone(), format!("the session's [[take]] of {name}"));
        let (time, is_live) = (session.time.clone(), false);
        all.push(Wanted { name, from, channels, time, file, asked, is_live });
    }
    Ok(all)
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

/// Says which inputs a device brings: what it skips is missing in their takes.
pub(crate) fn expect_live(takes: &mut [Wanted], is_live: impl Fn(InputId) -> bool) {
    for take in takes {
        take.is_live = match take.from {
            TakeFrom::Input(input) | TakeFrom::Events(EventsOf::Input(input)) => is_live(input),
            TakeFrom::Strip(..) | TakeFrom::Events(EventsOf::Track(_)) => false,
        };
    }
}

impl Wanted {
    /// What is recorded.
    pub(crate) fn from(&self) -> TakeFrom {
        self.from
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
    /// Frames that come before the first one that is recorded.
    before: u64,
    /// Frames that are still to record; `None`: no end.
    left: Option<u64>,
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
    /// Creates the files. `outputs`: how many outputs of the engine are the device's; `frames`: the length of the
    /// session, if it has one.
    ///
    /// # Errors
    /// A file cannot be created: exit code 3. Takes that had begun stay, and are empty.
    pub(crate) fn begin(
        wanted: &[Wanted],
        engine: &Engine,
        frames: Option<u64>,
    ) -> Result<Takes, Failure> {
        let (mut running, rate_hz) = (Vec::new(), engine.settings().rate_hz);
        if wanted.is_empty() {
            return Ok(Takes { recorder: None, running, before: 0, left: frames });
        }
        let recorder = Recorder::start(RecorderSettings::default());
        let latencies = engine.output_latencies();
        // They are the last outputs.
        let first = latencies.len().saturating_sub(wanted.len());
        for (output, take_of) in (first..).zip(wanted) {
            let latency_frames = latencies.get(output).copied().unwrap_or(0).into();
            running.push(Running::begin(&recorder, take_of, output, (rate_hz, latency_frames))?);
        }
        Ok(Takes { recorder: Some(recorder), running, before: 0, left: frames })
    }

    /// All of them, for those who look while they are recorded.
    pub(crate) fn recordings(&self) -> Vec<Recording> {
        let recording = |Running { take_of, take, .. }: &Running| {
            let (name, file) = (take_of.name.clone(), take_of.file.clone());
            Recording { name, file, watch: take.watch() }
        };
        self.running.iter().map(recording).collect()
    }

    /// The same, but records nothing of the first `frames` frames.
    pub(crate) fn starting_at(self, frames: u64) -> Takes {
        Takes { before: frames, ..self }
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
        if self.before == 0 && self.left != Some(0) {
            self.running.iter_mut().for_each(|running| running.miss(frames));
        }
    }

    fn each(&mut self, engine: &Engine, frames: usize, patience: Duration) {
        let skipped = self.before.min(frames as u64) as usize;
        self.before -= skipped as u64;
        let kept = self.left.map_or(frames - skipped, |left| (frames - skipped).min(left as usize));
        self.left = self.left.map(|left| left - kept as u64);
        if kept == 0 {
            return;
        }
        let block = Block { engine, frames: skipped..skipped + kept, patience };
        self.running.iter_mut().for_each(|running| running.note(&block));
    }

    /// Ends the takes, and waits until they are on the disk.
    ///
    /// Thread: control.
    pub(crate) fn end(self) -> Vec<Ended> {
        let Takes { recorder, running, .. } = self;
        let mut ending = Vec::new();
        for Running { take_of, input, take, .. } in running {
            // The end of the input is the end of the take.
            drop(input);
            ending.push((take_of, take));
        }
        let ended = in_turn(ending, PATIENCE, |(take_of, take), left| {
            let report = take.finish(left).ok();
            Ended { take_of, report }
        });
        if ended.iter().any(|take| take.report.is_none()) {
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

/// A take that has ended.
pub(crate) struct Ended {
    take_of: Wanted,
    /// `None`: the disk does not answer.
    report: Option<TakeReport>,
}

impl Ended {
    /// Whether the file has every frame as it was played.
    pub(crate) fn is_whole(&self) -> bool {
        self.report.as_ref().is_some_and(|report| {
            let lost = report.events.map_or(0, |events| events.lost);
            report.error.is_none()
                && report.silent_frames == 0
                && report.missing_frames == 0
                && report.not_finite == 0
                && lost == 0
        })
    }

    /// For people.
    pub(crate) fn line(&self) -> String {
        let Wanted { name, file, .. } = &self.take_of;
        let begin = format!("take {name}: {}: ", file.display());
        let Some(report) = &self.report else {
            return begin
                + &format!(
                    "the disk has not answered for {} s; when it does, complete the file with `hocket recover`",
                    PATIENCE.as_secs()
                );
        };
        // A number of frames is one to copy.
        let frames = if report.frames == 1 { "frame" } else { "frames" };
        let mut line = begin + &format!("{} {frames}", report.frames);
        if let Some(events) = report.events {
            line += &format!(", {}", counted(events.written as usize, "message"));
            if events.left_out > 0 {
                let left_out = counted(events.left_out as usize, "event");
                line += &format!(", {left_out} left out, which MIDI files cannot hold");
            }
            if events.lost > 0 {
                let lost = counted(events.lost as usize, "event");
                line += &format!(", {lost} lost because the disk was too slow");
            }
        }
        if report.silent_frames > 0 {
            let first = report.silences.first().map_or(0, |silence| silence.at_frame);
            line += &format!(
                ", {} of them silent, the first at frame {first}, because the disk was too slow",
                report.silent_frames
            );
        }
        if report.missing_frames > 0 {
            line += &format!(", and {}", missing_text(report));
        }
        if report.clipped > 0 {
            let clipped = counted(report.clipped as usize, "sample");
            line += &format!(", {clipped} clipped at full scale");
        }
        if report.not_finite > 0 {
            let silent = counted(report.not_finite as usize, "sample");
            line += &format!(", {silent} silent, not finite before");
        }
        if let Some(error) = &report.error {
            line += &format!("; it ended early: {error}");
        }
        line
    }

    /// For programs.
    pub(crate) fn json(&self) -> Value {
        let report = self.report.as_ref();
        json!({
            "bus": self.take_of.name,
            "file": self.take_of.file.display().to_string(),
            "whole": self.is_whole(),
            "frames": report.map(|report| report.frames),
            "silent_frames": report.map(|report| report.silent_frames),
            "missing_frames": report.map(|report| report.missing_frames),
            "missing_places": report.map(|report| report.missing_places),
            "missing": report.map(|report| missing_json(&report.missing)),
            "clipped": report.map(|report| report.clipped),
            "not_finite": report.map(|report| report.not_finite),
            "events": report.and_then(|report| report.events).map(|events| json!({
                "written": events.written,
                "left_out": events.left_out,
                "lost": events.lost,
            })),
            "error": report.and_then(|report| report.error.as_ref()).map(ToString::to_string),
        })
    }
}

/// `96000 frames of the input never arrived, because periods were skipped: before the take's frames 480, 9600 and 2 more places`.
fn missing_text(report: &TakeReport) -> String {
    let first: Vec<String> =
        report.missing.iter().take(PLACES_TOLD).map(|place| place.at_frame.to_string()).collect();
    let more = report.missing_places.saturating_sub(first.len() as u64);
    let more = if more > 0 { format!(" and {more} more places") } else { String::new() };
    format!(
        "{} frames of the input never arrived, because periods were skipped: before the take's frames {}{more}",
        report.missing_frames,
        first.join(", ")
    )
}

fn missing_json(places: &[Missing]) -> Value {
    let place =
        |Missing { at_frame, frames }: &Missing| json!({ "at_frame": at_frame, "frames": frames });
    places.iter().take(PLACES_IN_JSON).map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
