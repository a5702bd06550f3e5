//! Takes: what strips put out while a session plays, recorded as it sounds.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hocket_disk::{
    Recorder, RecorderSettings, Take, TakeFormat, TakeInput, TakeReport, TakeSettings,
};
use hocket_engine::{Engine, NodeKind, Prepared};
use hocket_media::{FileFormat, WavFormat};
use hocket_plan::session::{Session, StripId};
use hocket_plan::{Fusing, NodeId};
use serde_json::{Value, json};

use crate::cli::TakeArg;
use crate::failure::Failure;
use crate::files::{Files, Kind};

/// How long the end of a command waits for the disk.
const PATIENCE: Duration = Duration::from_secs(60);
/// The strip that every session has.
const MASTER: &str = "master";
/// So many names are listed where one is unknown.
const NAMES_LISTED: usize = 20;

/// Sees that every take can begin: a new file of a known format in a folder that can be written to.
///
/// # Errors
/// A file that exists, an unknown ending, a rate that the format does not hold: exit code 2.
pub(super) fn check_files(
    takes: &[TakeArg],
    rate_hz: u32,
    files: &mut Files,
) -> Result<(), Failure> {
    for take in takes {
        let path = &take.file;
        let refused = |why: String| Err(Failure::bad_input(format!("--take {take}: {why}")));
        let Some(format) = FileFormat::of(path) else {
            return refused(format!("the ending says the format; choose {}", FileFormat::ENDINGS));
        };
        format.check(path, rate_hz, samples(format)).map_err(Failure::bad_input)?;
        for file in [path.clone(), manifest(path)] {
            if file.symlink_metadata().is_ok() {
                let there = file.display();
                return refused(format!(
                    "{there} exists, and a take never replaces a file; name another one, or remove it"
                ));
            }
        }
        files.writes("--take", path, Kind::Audio)?;
        files.writes("the notes of --take", &manifest(path), Kind::Session)?;
    }
    Ok(())
}

/// The file beside a take that says what it is.
fn manifest(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".take.toml");
    name.into()
}

fn samples(format: FileFormat) -> WavFormat {
    match format {
        FileFormat::Wav => WavFormat::Float32,
        FileFormat::Flac => WavFormat::Pcm24,
    }
}

/// The strips that takes name.
///
/// # Errors
/// A name that no strip has: exit code 2.
pub(super) fn strips(takes: &[TakeArg], session: &Session) -> Result<Vec<StripId>, Failure> {
    takes.iter().map(|take| strip(take, session)).collect()
}

fn strip(take: &TakeArg, session: &Session) -> Result<StripId, Failure> {
    if take.bus == MASTER {
        return Ok(StripId::Master);
    }
    let ids = session.strip_ids();
    let named = ids.iter().copied().find(|id| session.strip(*id).name == take.bus);
    named.ok_or_else(|| {
        let others = ids.iter().filter(|id| **id != StripId::Master);
        let names: Vec<&str> = others.map(|id| session.strip(*id).name.as_str()).collect();
        let more = if names.len() > NAMES_LISTED { ", ..." } else { "" };
        let names = names[..names.len().min(NAMES_LISTED)].join(", ");
        Failure::bad_input(format!(
            "--take {take}: the session has no strip '{}'; choose master or one of: {names}{more}",
            take.bus
        ))
    })
}

/// The same nodes with an output behind the fader of each strip, after the session's own.
///
/// # Errors
/// The graph cannot be compiled: exit code 2.
pub(super) fn tapped(prepared: Prepared, strips: &[StripId]) -> Result<Prepared, Failure> {
    if strips.is_empty() {
        return Ok(prepared);
    }
    let (mut graph, time, lanes) = (prepared.graph, prepared.time, prepared.lanes);
    let fader = |strip: &StripId| {
        let is = |kind| kind == NodeKind::Fader(*strip);
        graph.nodes().iter().position(|node| is(node.kind)).map(|index| NodeId(index as u32))
    };
    let mut outputs = graph.outputs();
    outputs.extend(strips.iter().filter_map(fader));
    graph.set_outputs(outputs).map_err(Failure::bad_input)?;
    let tapped = Prepared::from_graph(&graph, prepared.processors, Fusing::Chains);
    // Only the outputs are others, so lanes still name their nodes.
    Ok(Prepared { time, lanes, ..tapped.map_err(Failure::bad_input)? })
}

/// Takes that are recorded.
pub(super) struct Takes {
    /// Dropped after the takes have ended.
    recorder: Option<Recorder>,
    running: Vec<Running>,
    /// Frames that are still to record; `None`: no end.
    left: Option<u64>,
}

struct Running {
    arg: TakeArg,
    /// Of the engine's outputs.
    output: usize,
    input: TakeInput,
    take: Take,
}

impl Takes {
    /// Creates the files. `outputs`: how many outputs of the engine are the device's; `frames`: the length of the
    /// session, if it has one.
    ///
    /// # Errors
    /// A file cannot be created: exit code 3. Takes that had begun stay, and are empty.
    pub(super) fn begin(
        args: &[TakeArg],
        engine: &Engine,
        (outputs, frames): (usize, Option<u64>),
    ) -> Result<Takes, Failure> {
        let (mut running, rate_hz) = (Vec::new(), engine.settings().rate_hz);
        if args.is_empty() {
            return Ok(Takes { recorder: None, running, left: frames });
        }
        let recorder = Recorder::start(RecorderSettings::default());
        let latencies = engine.output_latencies();
        for (output, arg) in (outputs..).zip(args) {
            let channels = engine.output_rows(output, 0).map_or(2, |rows| rows.len().max(1));
            let settings = TakeSettings {
                format: take_format(&arg.file),
                latency_frames: latencies.get(output).copied().unwrap_or(0).into(),
                ..TakeSettings::new(&arg.file, rate_hz, channels)
            };
            let (input, take) = recorder.begin(&settings).map_err(Failure::not_possible)?;
            running.push(Running { arg: arg.clone(), output, input, take });
        }
        Ok(Takes { recorder: Some(recorder), running, left: frames })
    }

    /// Takes the block that the engine has just processed.
    ///
    /// Thread: leader, between blocks. No allocation, lock or system call; what finds no room is counted.
    pub(super) fn note(&mut self, engine: &Engine, frames: usize) {
        let frames = self.left.map_or(frames, |left| frames.min(left as usize));
        self.left = self.left.map(|left| left - frames as u64);
        for running in &mut self.running {
            let Some(rows) = engine.output_rows(running.output, frames) else { continue };
            match rows.len() {
                0 => {}
                1 => drop(running.input.write(&[rows.row(0)])),
                _ => drop(running.input.write(&[rows.row(0), rows.row(1)])),
            }
        }
    }

    /// Ends the takes, and waits until they are on the disk.
    ///
    /// Thread: control.
    pub(super) fn end(self) -> Vec<Ended> {
        let Takes { recorder, running, .. } = self;
        let mut ending = Vec::new();
        for Running { arg, input, take, .. } in running {
            // The end of the input is the end of the take.
            drop(input);
            ending.push((arg, take));
        }
        let ended = ending.into_iter().map(|(arg, take)| {
            let report = take.finish(PATIENCE).ok();
            Ended { arg, report }
        });
        let ended: Vec<Ended> = ended.collect();
        if ended.iter().any(|take| take.report.is_none()) {
            // Its end would wait for a disk that does not answer.
            std::mem::forget(recorder);
        }
        ended
    }
}

fn take_format(path: &Path) -> TakeFormat {
    match FileFormat::of(path) {
        Some(FileFormat::Flac) => TakeFormat::Flac24,
        _ => TakeFormat::Wav(WavFormat::Float32),
    }
}

/// A take that has ended.
pub(super) struct Ended {
    arg: TakeArg,
    /// `None`: the disk does not answer.
    report: Option<TakeReport>,
}

impl Ended {
    /// Whether the file has every frame as it was played.
    pub(super) fn is_whole(&self) -> bool {
        self.report.as_ref().is_some_and(|report| {
            report.error.is_none() && report.silent_frames == 0 && report.not_finite == 0
        })
    }

    /// For people.
    pub(super) fn line(&self) -> String {
        let TakeArg { bus, file } = &self.arg;
        let begin = format!("take {bus}: {}: ", file.display());
        let Some(report) = &self.report else {
            return begin
                + &format!(
                    "the disk has not answered for {} s; when it does, complete the file with `hocket recover`",
                    PATIENCE.as_secs()
                );
        };
        let mut line = begin + &format!("{} frames", report.frames);
        if report.silent_frames > 0 {
            let first = report.silences.first().map_or(0, |silence| silence.at_frame);
            line += &format!(
                ", {} of them silent, the first at frame {first}, because the disk was too slow",
                report.silent_frames
            );
        }
        if report.clipped > 0 {
            line += &format!(", {} samples clipped at full scale", report.clipped);
        }
        if report.not_finite > 0 {
            line += &format!(", {} samples were not finite and are silent", report.not_finite);
        }
        if let Some(error) = &report.error {
            line += &format!("; it ended early: {error}");
        }
        line
    }

    /// For programs.
    pub(super) fn json(&self) -> Value {
        let report = self.report.as_ref();
        json!({
            "bus": self.arg.bus,
            "file": self.arg.file.display().to_string(),
            "whole": self.is_whole(),
            "frames": report.map(|report| report.frames),
            "silent_frames": report.map(|report| report.silent_frames),
            "clipped": report.map(|report| report.clipped),
            "not_finite": report.map(|report| report.not_finite),
            "error": report.and_then(|report| report.error.as_ref()).map(ToString::to_string),
        })
    }
}
