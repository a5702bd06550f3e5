//! `hocket plugin save`: the state of a plug-in as a file that sessions name.

use std::io::Write;
use std::path::Path;

use hocket_files::OutputFile;
use hocket_media::WriteError;
use hocket_plugins::{Description, Format};
use hocket_streams::RowsReader;

use super::input::Sound;
use super::start::{Start, defaults};
use crate::cli::SaveArgs;
use crate::failure::{Exit, Failure};
use crate::files::{Files, Kind};
use crate::output::print;
use crate::written::wrote;

/// A block of silence, so that what was set has reached the plug-in.
const FRAMES: u32 = 64;

/// Runs the command.
///
/// # Errors
/// [`Failure`].
pub(super) fn run(args: &SaveArgs) -> Result<Exit, Failure> {
    crate::bench::check_block(FRAMES, args.rate)?;
    let mut files = Files::new(args.force);
    args.start.state.iter().for_each(|state| files.reads("the state", state));
    files.writes("--output", &args.output, Kind::State)?;
    let catalog = super::catalog()?;
    let plugin = super::usable(&catalog, &args.kind)?;
    let start = Start::of(&args.start, &catalog, plugin)?;
    if !plugin.state {
        return Err(Failure::bad_input(format!(
            "{}: the plug-in has no state beside its parameters; write them into the session instead",
            plugin.kind
        )));
    }
    let state = state(args, plugin, start.build(&args.start, &catalog, (plugin, args.rate))?)?;
    put(&args.output, &state).map_err(Failure::not_possible)?;
    wrote(&args.output);
    // Nothing but the state on the way that it takes.
    if !hocket_files::is_standard_output(&args.output) {
        print(&effect(plugin, &args.output, &start.values));
    }
    Ok(Exit::Done)
}

fn state(
    args: &SaveArgs,
    plugin: &Description,
    processor: Box<dyn hocket_engine::Processor>,
) -> Result<Vec<u8>, Failure> {
    let rows = vec![vec![0.0; FRAMES as usize]; 2];
    let silence = Sound::File(RowsReader::of_memory(rows.into()));
    let mut engine = super::render::engine(plugin, (silence, args.rate), processor, FRAMES)?;
    engine.process(FRAMES as usize);
    let saved = engine.control().save_states().map_err(Failure::not_possible)?;
    let failure = saved.failures.first().map(ToString::to_string);
    let state = saved.states.into_iter().next().map(|saved| saved.state);
    state.ok_or_else(|| {
        let why = failure.unwrap_or_else(|| "it gives no state".into());
        Failure::not_possible(format!("{}: {why}", plugin.kind))
    })
}

fn put(path: &Path, state: &[u8]) -> Result<(), WriteError> {
    let written = OutputFile::create(path).and_then(|mut file| {
        file.file().write_all(state)?;
        file.commit()
    });
    written.map_err(|error| WriteError::io(path, error))
}

/// What a session says to start with this. LV2 keeps the values of parameters apart from the state.
fn effect(plugin: &Description, path: &Path, values: &[f32]) -> String {
    let text = |text: &str| serde_json::json!(text).to_string();
    let file = text(&path.to_string_lossy());
    let mut lines = format!("[[track.effect]]\nkind = {}\nstate = {file}\n", text(&plugin.kind));
    if matches!(Format::of_kind(&plugin.kind), Some((Format::Lv2, _))) {
        for ((param, value), default) in plugin.params.iter().zip(values).zip(defaults(plugin)) {
            if *value != default {
                lines += &format!("{} = {value}\n", param.name);
            }
        }
    }
    lines
}
