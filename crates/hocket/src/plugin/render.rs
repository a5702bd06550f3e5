//! `hocket plugin render`: an engine with two nodes, the file and the plug-in.

use std::sync::atomic::Ordering::Relaxed;

use hocket_engine::{
    Engine, EventPorts, Graph, GraphEditor, Node, NodeKind, Policy, Ports, Processor, ScheduleKind,
    Seat, Seating, Seats, Settings, SiblingPolicy, Strategy, offline,
};
use hocket_media::{AudioWriter, FileFormat, WriteError};
use hocket_plugins::Description;

use super::input::{Input, Sound};
use super::start::Start;
use crate::cli::{DitherArg, RunArgs};
use crate::failure::{Exit, Failure};
use crate::files::{Files, Kind};
use crate::lost_events::NoRoom;
use crate::output::{bar, note, tell};
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
    let plugin = catalog.usable(&args.kind).map_err(Failure::bad_input)?;
    let start = Start::of(&args.start, &catalog, plugin)?;
    let Input { sound, rate_hz, frames } = Input::of(args, plugin)?;
    crate::bench::check_block(args.frames, rate_hz)?;
    format.check(&args.output, rate_hz, args.format.into()).map_err(Failure::bad_input)?;
    let processor = start.build(&args.start, &catalog, (plugin, rate_hz))?;
    let latency = processor.latency_frames();
    let engine = engine(plugin, (sound, rate_hz), processor, args.frames)?;
    let whole = write(args, (format, dither), engine, frames)?;
    if !whole {
        tell(format_args!("interrupted; nothing was written to {}", args.output.display()));
        return Ok(Exit::Interrupted);
    }
    wrote(&args.output);
    if latency > 0 {
        note(format_args!(
            "the plug-in has a latency of {latency} frames: its sound begins so much later"
        ));
    }
    Ok(Exit::Done)
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
    let node = Node {
        ports: Ports::STEREO.with_events(events),
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

/// `false`: the user stopped it.
fn write(
    args: &RunArgs,
    (format, dither): (FileFormat, DitherArg),
    mut engine: Engine,
    frames: u64,
) -> Result<bool, Failure> {
    let stop = crate::interrupt::flag()?;
    let rate_hz = engine.settings().rate_hz;
    let _reader = crate::pipe::reader_of(&args.output)?;
    let writer = AudioWriter::create(&args.output, format, rate_hz, args.format.into(), frames);
    let mut writer = writer.map_err(Failure::not_possible)?.with_dither(dither.of_file(0, 0));
    let bar = bar(frames, "rendering");
    let done = offline::render(&mut engine, frames, |rows| {
        writer.write(rows.left, rows.right)?;
        bar.inc(rows.left.len() as u64);
        Ok::<bool, WriteError>(!stop.load(Relaxed))
    });
    bar.finish_and_clear();
    if done.map_err(Failure::not_possible)? < frames {
        return Ok(false);
    }
    let written = writer.finish().map_err(Failure::not_possible)?;
    if written.clipped > 0 {
        tell(format_args!(
            "warning: {} samples were over full scale and are clipped; use --format 32f",
            written.clipped
        ));
    }
    engine.contained().iter().for_each(|contained| tell(format_args!("warning: {contained}")));
    NoRoom::of(&engine).lines().for_each(|line| tell(format_args!("warning: {line}")));
    Ok(true)
}
