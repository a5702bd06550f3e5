//! `hocket plugin render`: an engine with two nodes, the file and the plug-in.

use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

use hocket_engine::{
    Engine, EventPorts, Graph, GraphEditor, Node, NodeKind, Policy, Ports, Processor, ScheduleKind,
    Seat, Seating, Seats, Settings, SiblingPolicy, Strategy, offline,
};
use hocket_media::{AudioWriter, FileFormat, WriteError};
use hocket_plugins::{Description, ExtraOutput};

use super::input::{Input, Sound};
use super::start::Start;
use crate::cli::{DitherArg, RunArgs};
use crate::disk_silence::DiskSilence;
use crate::failure::{Exit, Failure};
use crate::files::{Files, Kind};
use crate::lost_events::NoRoom;
use crate::output::{bar, note, tell};
use crate::stem_files::StemFiles;
use crate::written::wrote;

/// Runs the command.
///
/// # Errors
/// [`Failure`].
pub(super) fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let format = crate::render::format_of(&args.output)?;
    let dither = DitherArg::choose(args.dither, args.format)?;
    crate::bench::check_block(args.frames, crate::bench::ANY_RATE_HZ)?;
    let mut files = Files::new(args.force);
    files.reads("the input", &args.input);
    args.start.state.iter().for_each(|state| files.reads("the state", state));
    files.writes("--output", &args.output, Kind::Audio)?;
    let catalog = super::catalog()?;
    let plugin = super::usable(&catalog, &args.kind)?;
    if plugin.layout.outputs == 0 {
        return Err(Failure::bad_input(format!(
            "'{}' ({}) has no audio output: it sends events alone; put it in front of an instrument in a session",
            plugin.kind, plugin.title
        )));
    }
    let stems = stems(args, plugin, format)?;
    stems.check(&mut files)?;
    let start = Start::of(&args.start, &catalog, plugin)?;
    let Input { sound, rate_hz, frames, stream } = Input::of(args, plugin)?;
    crate::bench::check_block(args.frames, rate_hz)?;
    format.check(&args.output, rate_hz, args.format.into()).map_err(Failure::bad_input)?;
    let processor = start.build(&args.start, &catalog, (plugin, rate_hz))?;
    let latency = processor.latency_frames();
    let engine = engine(plugin, (sound, rate_hz), processor, args.frames)?;
    let _folder = stems.make_folder()?;
    let paths: Vec<&Path> = std::iter::once(args.output.as_path()).chain(stems.paths()).collect();
    let whole = write((args, plugin, &paths), (format, dither), engine, frames)?;
    if !whole {
        tell(format_args!("interrupted; nothing was written to {}", args.output.display()));
        return Ok(Exit::Interrupted);
    }
    wrote(&args.output);
    stems.line().into_iter().for_each(note);
    let silence = stream.map(|stream| stream.not_ready());
    let silence = DiskSilence::since(&[], silence.into_iter().collect());
    silence.tell();
    if let Some(why) = silence.refusal(false) {
        return Err(Failure::not_possible(format!("{}: {why}", args.output.display())));
    }
    if args.stems.is_none() && !plugin.extra_outputs.is_empty() {
        note(format_args!(
            "this is the first output alone; --stems DIR also writes {}",
            names(&plugin.extra_outputs)
        ));
    }
    if latency > 0 {
        note(format_args!(
            "the plug-in has a latency of {latency} frames: its sound begins so much later"
        ));
    }
    Ok(Exit::Done)
}

/// A file for each extra output, if the user wants them.
fn stems(args: &RunArgs, plugin: &Description, format: FileFormat) -> Result<StemFiles, Failure> {
    let Some(folder) = &args.stems else { return Ok(StemFiles::default()) };
    if plugin.extra_outputs.is_empty() {
        return Err(Failure::bad_input(format!(
            "--stems {}: '{}' ({}) has no extra outputs; leave --stems out",
            folder.display(),
            plugin.kind,
            plugin.title
        )));
    }
    let names = plugin.extra_outputs.iter().map(|output| output.name.as_str());
    Ok(StemFiles::of(folder, names, format))
}

/// Their names, as sentences have them.
fn names(outputs: &[ExtraOutput]) -> String {
    let names: Vec<String> = outputs.iter().map(|output| format!("'{}'", output.name)).collect();
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

/// An engine of one worker that plays a file through a plug-in.
pub(super) fn engine(
    plugin: &Description,
    (sound, rate_hz): (Sound, u32),
    processor: Box<dyn Processor>,
    frames: u32,
) -> Result<Engine, Failure> {
    let mut graph = Graph::default();
    let refused = |error: &dyn std::fmt::Display| Failure::not_possible(error);
    let file = graph.add(sound.node()).map_err(|error| refused(&error))?;
    let events = if plugin.events { EventPorts::INPUT } else { EventPorts::default() };
    let extra = plugin.extra_outputs.iter().map(|output| output.channels).sum();
    let node = Node {
        ports: Ports { extra, ..Ports::STEREO.with_events(events) },
        inputs: vec![sound.edge(file)],
        latency_frames: processor.latency_frames(),
        ..Node::new("plug-in", NodeKind::Custom(1))
    };
    let node = graph.add(node).map_err(|error| refused(&error))?;
    graph.set_outputs(vec![node]).map_err(|error| refused(&error))?;
    let (schedule, sibling) = (ScheduleKind::Serial, SiblingPolicy::All);
    let policy = Policy { schedule, sibling, wait: Strategy::Hybrid };
    let seats = Seats { seats: vec![Seat { core: 0, speed: 1.0 }] };
    let seating = Seating::described(&seats, sibling, Some(1)).map_err(|error| refused(&error))?;
    let settings =
        Settings { priority: None, spans: false, ..Settings::new(frames, rate_hz, policy) };
    let processors = vec![Some(sound.player()), Some(processor)];
    let started = GraphEditor::start(&graph, processors, settings, seating);
    started.map(|(engine, _)| engine).map_err(|error| refused(&error))
}

/// Writes the first output and those of the stems. `false`: the user stopped it.
fn write(
    (args, plugin, paths): (&RunArgs, &Description, &[&Path]),
    (format, dither): (FileFormat, DitherArg),
    mut engine: Engine,
    frames: u64,
) -> Result<bool, Failure> {
    let stop = crate::interrupt::flag()?;
    let rate_hz = engine.settings().rate_hz;
    let readers = paths.iter().map(|path| crate::pipe::reader_of(path));
    let _readers = readers.collect::<Result<Vec<_>, Failure>>()?;
    let writer = |(number, path): (u64, &&Path)| -> Result<AudioWriter, WriteError> {
        let writer = AudioWriter::create(path, format, rate_hz, args.format.into(), frames)?;
        Ok(writer.with_dither(dither.of_file(number, 0)))
    };
    let writers = (0..).zip(paths).map(writer).collect::<Result<Vec<_>, _>>();
    let mut writers = writers.map_err(Failure::not_possible)?;
    let sides = sides(&plugin.extra_outputs);
    let bar = bar(frames, "rendering");
    let done = offline::render_blocks(&mut engine, frames, |engine, length| {
        if let Some(rows) = engine.output_rows(0, length) {
            for (writer, [left, right]) in writers.iter_mut().zip(&sides) {
                writer.write(rows.row(*left), rows.row(*right))?;
            }
        }
        bar.inc(length as u64);
        Ok::<bool, WriteError>(!stop.load(Relaxed))
    });
    bar.finish_and_clear();
    if done.map_err(Failure::not_written)? < frames {
        return Ok(false);
    }
    let mut clipped = 0;
    for writer in writers {
        clipped += writer.finish().map_err(Failure::not_written)?.clipped;
    }
    if clipped > 0 {
        tell(format_args!(
            "warning: {clipped} samples were over full scale and are clipped; use --format 32f"
        ));
    }
    engine.contained().iter().for_each(|contained| tell(format_args!("warning: {contained}")));
    NoRoom::of(&engine).lines().for_each(|line| tell(format_args!("warning: {line}")));
    Ok(true)
}

/// Which of the node's rows are left and right of each file: the first output, then the extra ones. One channel plays on both
/// sides.
fn sides(outputs: &[ExtraOutput]) -> Vec<[usize; 2]> {
    let mut next = 2;
    let extra = outputs.iter().map(|output| {
        let channels = usize::from(output.channels);
        next += channels;
        [next - channels, next - 1]
    });
    std::iter::once([0, 1]).chain(extra).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outputs(channels: &[u16]) -> Vec<ExtraOutput> {
        let output = |(number, &channels)| ExtraOutput { name: format!("out {number}"), channels };
        channels.iter().enumerate().map(output).collect()
    }

    #[test]
    fn each_output_has_its_rows() {
        assert_eq!(sides(&[]), [[0, 1]]);
        assert_eq!(sides(&outputs(&[2, 1, 2])), [[0, 1], [2, 3], [4, 4], [5, 6]]);
    }

    #[test]
    fn names_make_a_sentence() {
        assert_eq!(names(&outputs(&[1])), "'out 0'");
        assert_eq!(names(&outputs(&[1, 1, 1])), "'out 0', 'out 1' and 'out 2'");
    }
}
