//! VST3 plug-ins.
//!
//! A plug-in has two halves: a component, which plays, and a controller, which knows the parameters. Hocket makes both on
//! one thread (`main_thread.rs`), which they never leave but for what plays. So VST3 has the same shape here as CLAP.

mod bundle;
mod events;
#[allow(unsafe_code)]
mod ffi;
mod instances;
mod main_thread;
mod params;
mod processor;
mod state;

use std::path::Path;

use hocket_dsp::Processor;

use crate::Description;
use crate::description::Format;
use crate::isolate::Hosted;
use instances::{Order, Values};
use main_thread::on_main;
use processor::Vst3Processor;

pub(crate) use bundle::{is_bundle, library_place};
pub use state::State;

/// The ids of the plug-ins of a bundle. Runs its code.
///
/// # Errors
/// It does not load, or is no VST3 bundle.
pub fn plugins(bundle: &Path) -> Result<Vec<String>, String> {
    let bundle = bundle.to_path_buf();
    on_main(move |instances| instances.ids(&bundle))?
}

/// Describes a plug-in. Makes an instance of it and activates it.
///
/// # Errors
/// Its library does not load.
pub fn describe(bundle: &Path, id: &str) -> Result<Description, String> {
    let mut found = Description::refused(Format::Vst3.kind(id), bundle.into(), String::new());
    let order = Order::new(bundle, id, crate::description::SHOWN_RATE_HZ);
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
            (found.events, found.state) = (facts.events, facts.state);
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
    bundle: &Path,
    id: &str,
    values: &[f32],
    rate_hz: u32,
    state: Option<&[u8]>,
) -> Result<Box<dyn Processor>, String> {
    hosted(bundle, id, values, rate_hz, state).map(|hosted| hosted as _)
}

/// As [`build`], for a process of its own.
pub(crate) fn hosted(
    bundle: &Path,
    id: &str,
    values: &[f32],
    rate_hz: u32,
    state: Option<&[u8]>,
) -> Result<Box<dyn Hosted>, String> {
    let order = Order::new(bundle, id, rate_hz);
    let values = Values::Given(values.to_vec());
    let first = instances::make(&order, &values, state)?;
    first.facts.layout.check(first.facts.sends)?;
    first.facts.layout.check_latency(first.latency)?;
    let mut voices = vec![first];
    while voices.len() < voices[0].facts.layout.instances() {
        voices.push(instances::make(&order, &values, state)?);
    }
    Ok(Box::new(Vst3Processor::new(order, voices)))
}
