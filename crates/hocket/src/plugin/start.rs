//! How a plug-in starts on the command line: `--preset`, `--state` and `--set`.

use std::path::Path;

use hocket_dsp::Processor;
use hocket_plugins::{Catalog, Description, PresetValues, Wanted};

use crate::cli::StartArgs;
use crate::failure::Failure;

/// The largest state that is read.
const MOST_STATE_BYTES: u64 = 1 << 30;

/// Values and state of a plug-in before its first block.
#[derive(Debug)]
pub(super) struct Start {
    /// One for each parameter.
    pub values: Vec<f32>,
    state: Option<Vec<u8>>,
}

impl Start {
    /// # Errors
    /// There is no such preset, file or parameter, or a value is out of range: exit code 2.
    pub fn of(args: &StartArgs, catalog: &Catalog, plugin: &Description) -> Result<Start, Failure> {
        let start = match &args.preset {
            Some(name) => preset(catalog, &plugin.kind, name)?,
            None => PresetValues { values: defaults(plugin), state: None },
        };
        let values = values(plugin, start.values, &args.set)?;
        let state = args.state.as_deref().map(state).transpose()?.or(start.state);
        Ok(Start { values, state })
    }

    /// Builds the plug-in.
    ///
    /// # Errors
    /// It does not start here, or does not take the state.
    pub fn build(
        &self,
        args: &StartArgs,
        catalog: &Catalog,
        (plugin, rate_hz): (&Description, u32),
    ) -> Result<Box<dyn Processor>, Failure> {
        let (kind, values) = (plugin.kind.as_str(), self.values.as_slice());
        let wanted = Wanted { kind, values, rate_hz, state: self.state.as_deref() };
        catalog.build(&wanted).map_err(|why| match &args.state {
            Some(path) if builds_without(catalog, &wanted) => state_refused(path, &why),
            _ => Failure::not_possible(why),
        })
    }
}

/// The value of each parameter where nothing else is said.
pub(super) fn defaults(plugin: &Description) -> Vec<f32> {
    plugin.params.iter().map(|param| param.default_value()).collect()
}

fn preset(catalog: &Catalog, kind: &str, name: &str) -> Result<PresetValues, Failure> {
    catalog.preset(kind, name).map_err(|why| {
        Failure::bad_input(format!(
            "--preset {name}: {why} (`hocket plugin info {kind}` lists all)"
        ))
    })
}

/// A value for each parameter: those that are set, and else those at the start.
fn values(plugin: &Description, mut values: Vec<f32>, set: &[String]) -> Result<Vec<f32>, Failure> {
    let mut is_set = vec![false; values.len()];
    for text in set {
        let refused = |why: String| Failure::bad_input(format!("--set {text}: {why}"));
        let Some((name, value)) = text.split_once('=') else {
            return Err(refused("write NAME=VALUE".into()));
        };
        let Some(index) = plugin.params.iter().position(|param| param.name == name) else {
            return Err(refused(unknown(plugin, name)));
        };
        let (min, max) = plugin.params[index].range();
        if std::mem::replace(&mut is_set[index], true) {
            return Err(refused(format!("another --set sets '{name}'; leave one out")));
        }
        let number: Option<f32> = value.parse().ok().filter(|value| (min..=max).contains(value));
        values[index] =
            number.ok_or_else(|| refused(format!("choose a number from {min} to {max}")))?;
    }
    Ok(values)
}

fn unknown(plugin: &Description, name: &str) -> String {
    let names: Vec<&str> = plugin.params.iter().map(|param| param.name.as_str()).collect();
    match names.as_slice() {
        [] => "the plug-in has no parameters".into(),
        names => format!("there is no parameter '{name}'; there are {}", names.join(", ")),
    }
}

fn state(path: &Path) -> Result<Vec<u8>, Failure> {
    let read = hocket_files::read_bytes(path, MOST_STATE_BYTES);
    read.map_err(|error| state_refused(path, &error.to_string()))
}

fn state_refused(path: &Path, why: &str) -> Failure {
    Failure::bad_input(format!("--state {}: {why}", path.display()))
}

/// Whether it is the state that the plug-in does not take.
fn builds_without(catalog: &Catalog, wanted: &Wanted<'_>) -> bool {
    catalog.build(&Wanted { state: None, ..*wanted }).is_ok()
}
