//! CLAP plug-ins.
//!
//! A plug-in has one main thread for its whole life (`main_thread.rs`): a thread of Hocket that all CLAP plug-ins share
//! and that waits for nobody. Instances never leave it. What plays is the audio half that each instance hands over.

mod events;
#[allow(unsafe_code)]
mod ffi;
mod log;
mod host;
mod instances;
mod main_thread;
mod presets;
mod processor;

use std::path::Path;

use hocket_dsp::Processor;

use crate::Description;
use crate::catalog::PresetValues;
use crate::description::Format;
use crate::isolate::Hosted;
use crate::presets::ClapPreset;
use instances::{Order, Values};
use main_thread::on_main;
use processor::ClapProcessor;

/// The ids of the plug-ins of a file. Runs its code.
///
/// # Errors
/// It does not load, or is no CLAP file.
pub fn plugins(file: &Path) -> Result<Vec<String>, String> {
    let file = file.to_path_buf();
    on_main(move |instances| instances.ids(&file))?
}

/// The presets of a plug-in, as its file tells them. Runs its code, and looks at the files that it names.
///
/// # Errors
/// Its file does not load, or cannot list them.
pub fn presets(file: &Path, id: &str) -> Result<Vec<ClapPreset>, String> {
    let (file, id) = (file.to_path_buf(), id.to_owned());
    on_main(move |instances| instances.presets(&file, &id))?
}

/// What a preset sets: makes an instance, which loads it.
///
/// # Errors
/// The plug-in does not load it, or saves no state.
pub fn preset_values(file: &Path, id: &str, preset: &ClapPreset) -> Result<PresetValues, String> {
    let (file, id, preset) = (file.to_path_buf(), id.to_owned(), preset.clone());
    on_main(move |instances| instances.preset_values(&file, &id, &preset))?
}

/// Describes a plug-in. Makes an instance of it and activates it.
///
/// # Errors
/// Its file does not load.
pub fn describe(file: &Path, id: &str) -> Result<Description, String> {
    let mut found = Description::refused(Format::Clap.kind(id), file.into(), String::new());
    let order = Order::new(file, id, crate::description::SHOWN_RATE_HZ);
    let titled = order.clone();
    if let Some(title) = on_main(move |instances| instances.title(&titled))? {
        found.title = title;
    }
    match on_main(move |instances| instances.make(&order, &Values::Defaults, None))? {
        Ok(voice) => {
            let facts = &voice.facts;
            found.layout = facts.layout;
            found.extra_outputs = crate::extra::described(&facts.extra);
            found.params.clone_from(&facts.params);
            (found.events, found.state) = (facts.notes.is_some(), facts.state);
            found.sends_events = facts.sends;
            found.latency_frames = voice.latency;
            let fits = facts.layout.check(facts.sends);
            found.refusal = fits.and_then(|()| facts.layout.check_latency(voice.latency)).err();
        }
        Err(why) => found.refusal = Some(why),
    }
    Ok(found)
}

/// Builds a plug-in with these values of its parameters, or with the state that it saved. With a state, only values that
/// are not the default are set, because the state has values, too.
///
/// # Errors
/// What went wrong, for users.
pub fn build(
    file: &Path,
    id: &str,
    values: &[f32],
    rate_hz: u32,
    state: Option<&[u8]>,
) -> Result<Box<dyn Processor>, String> {
    hosted(file, id, values, rate_hz, state).map(|hosted| hosted as _)
}

/// As [`build`], for a process of its own.
pub(crate) fn hosted(
    file: &Path,
    id: &str,
    values: &[f32],
    rate_hz: u32,
    state: Option<&[u8]>,
) -> Result<Box<dyn Hosted>, String> {
    let order = Order::new(file, id, rate_hz);
    let values = Values::Given(values.to_vec());
    let state = state.map(<[u8]>::to_vec);
    let first = instances::make(&order, &values, state.as_deref())?;
    first.facts.layout.check(first.facts.sends)?;
    first.facts.layout.check_latency(first.latency)?;
    let mut voices = vec![first];
    while voices.len() < voices[0].facts.layout.instances() {
        voices.push(instances::make(&order, &values, state.as_deref())?);
    }
    Ok(Box::new(ClapProcessor::new(order, voices)))
}
