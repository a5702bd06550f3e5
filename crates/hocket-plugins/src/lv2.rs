//! LV2 plug-ins, through liblilv.

mod events;
#[allow(unsafe_code)]
mod ffi;
mod fixed;
mod ports;
mod presets;
mod processor;
mod state;

use std::path::Path;
use std::sync::Arc;

use hocket_dsp::Processor;

use crate::Description;
use crate::description::Format;
use crate::isolate::Hosted;
use ffi::Bundle;
use processor::{Lv2Processor, Plan};

pub use presets::{Preset, PresetName, preset, presets};
pub use state::{Entry, State};

/// Room for the events of a run.
const SEQUENCE_BYTES: usize = 64 * 1024;

/// What Hocket offers: the features that a plug-in may require.
pub(crate) const OFFERED: [&str; 16] = [
    "http://lv2plug.in/ns/ext/urid#map",
    "http://lv2plug.in/ns/ext/urid#unmap",
    "http://lv2plug.in/ns/ext/options#options",
    "http://lv2plug.in/ns/ext/buf-size#boundedBlockLength",
    "http://lv2plug.in/ns/ext/buf-size#coarseBlockLength",
    "http://lv2plug.in/ns/ext/buf-size#fixedBlockLength",
    "http://lv2plug.in/ns/ext/buf-size#powerOf2BlockLength",
    "http://lv2plug.in/ns/ext/worker#schedule",
    "http://lv2plug.in/ns/ext/state#mapPath",
    "http://lv2plug.in/ns/ext/state#freePath",
    "http://lv2plug.in/ns/ext/state#threadSafeRestore",
    "http://lv2plug.in/ns/ext/state#loadDefaultState",
    "http://lv2plug.in/ns/lv2core#hardRTCapable",
    // Hocket gives every plug-in rows of its own.
    "http://lv2plug.in/ns/lv2core#inPlaceBroken",
    // What the data of a plug-in must be known for is known.
    "http://lv2plug.in/ns/ext/port-groups#groups",
    "http://lv2plug.in/ns/ext/atom#atomTransfer",
];

/// Whether liblilv is there.
///
/// # Errors
/// That it is not, and how to get it.
pub fn available() -> Result<(), String> {
    ffi::check_lilv().map_err(|missing| missing.to_string())
}

/// The URIs of the plug-ins of a bundle. Runs no code of them.
///
/// # Errors
/// liblilv is not there.
pub fn plugins(bundle: &Path) -> Result<Vec<String>, String> {
    Ok(open(bundle)?.plugins())
}

/// Describes a plug-in. Makes an instance of it and runs it, unless its data say that it cannot run here.
///
/// # Errors
/// liblilv is not there.
pub fn describe(bundle: &Path, uri: &str) -> Result<Description, String> {
    let opened = open(bundle)?;
    let kind = Format::Lv2.kind(uri);
    let mut found = Description::refused(kind, bundle.into(), String::new());
    found.title = opened.title(uri).unwrap_or_else(|| uri.into());
    found.features = opened.required_features(uri);
    found.state = opened.has_interface(uri, ffi::abi::STATE_INTERFACE);
    match Plan::new(opened, uri, crate::description::SHOWN_RATE_HZ) {
        Ok(plan) => {
            found.layout = plan.ports.layout;
            found.extra_outputs = crate::extra::described(&plan.ports.extra);
            found.params.clone_from(&plan.ports.params);
            found.events = plan.ports.midi.is_some();
            found.sends_events = plan.ports.sends.is_some();
            let latency = || plan.latency(&plan.defaults(), None);
            match check(&found).map(|()| latency()) {
                Ok(Ok(frames)) => {
                    let own = found.layout.check_latency(frames - plan.late());
                    (found.latency_frames, found.refusal) = (frames, own.err());
                }
                Ok(Err(why)) => (found.refusal, found.may_pass) = (Some(why), true),
                Err(why) => found.refusal = Some(why),
            }
        }
        Err(why) => found.refusal = Some(why),
    }
    Ok(found)
}

fn check(found: &Description) -> Result<(), String> {
    if let Some(missing) = found.features.iter().find(|uri| !OFFERED.contains(&uri.as_str())) {
        return Err(format!("it requires the feature {missing}, which Hocket does not offer"));
    }
    found.layout.check(found.sends_events)
}

/// Builds a plug-in with these values of its parameters, and the state that it saved.
///
/// # Errors
/// What went wrong, for users.
pub fn build(
    bundle: &Path,
    uri: &str,
    values: &[f32],
    rate_hz: u32,
    state: Option<&[u8]>,
) -> Result<Box<dyn Processor>, String> {
    hosted(bundle, uri, values, rate_hz, state).map(|hosted| hosted as _)
}

/// As [`build`], for a process of its own.
pub(crate) fn hosted(
    bundle: &Path,
    uri: &str,
    values: &[f32],
    rate_hz: u32,
    state: Option<&[u8]>,
) -> Result<Box<dyn Hosted>, String> {
    let plan = Arc::new(Plan::new(open(bundle)?, uri, rate_hz)?);
    let state = state.map(State::from_bytes).transpose()?;
    Ok(Box::new(Lv2Processor::new(plan, values, state)?))
}

/// The latency with these values, in frames.
///
/// # Errors
/// What went wrong, for users.
pub fn latency(
    bundle: &Path,
    uri: &str,
    values: &[f32],
    rate_hz: u32,
    state: Option<&[u8]>,
) -> Result<u32, String> {
    let plan = Plan::new(open(bundle)?, uri, rate_hz)?;
    plan.latency(values, state.map(State::from_bytes).transpose()?.as_ref())
}

fn open(bundle: &Path) -> Result<Bundle, String> {
    Bundle::open(bundle).map_err(|missing| missing.to_string())
}
