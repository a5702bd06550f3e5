//! Presets: values of ports and a state, under a label.

use std::path::{Path, PathBuf};

use super::ffi::Bundle;
use super::state::State;
use crate::presets::choose;

pub use super::ffi::PresetName;

/// No manifest that is searched is longer.
const LONGEST_MANIFEST: u64 = 4 << 20;

/// What a preset sets.
#[derive(Debug, Clone, PartialEq)]
pub struct Preset {
    /// Symbols of ports, and their values.
    pub ports: Vec<(String, f32)>,
    /// As the plug-in would save it.
    pub state: Option<Vec<u8>>,
}

/// The presets of a plug-in that its bundle and others hold, sorted by label. Runs no code of it.
///
/// # Errors
/// liblilv is not there.
pub fn presets(bundle: &Path, others: &[PathBuf], uri: &str) -> Result<Vec<PresetName>, String> {
    Ok(open(bundle, others)?.presets(uri))
}

/// The preset of a plug-in with this URI or label. Runs no code of it.
///
/// # Errors
/// There is no such preset, or several have this label. The text is for users.
pub fn preset(bundle: &Path, others: &[PathBuf], uri: &str, name: &str) -> Result<Preset, String> {
    let opened = open(bundle, others)?;
    let known = opened.presets(uri);
    let chosen = choose(&known, name, "URI")?;
    let facts = opened.preset(&chosen.uri);
    let facts =
        facts.ok_or_else(|| format!("the preset '{name}' ({}) cannot be read", chosen.uri))?;
    let state = Some(State { entries: facts.entries }).filter(|state| !state.entries.is_empty());
    Ok(Preset { ports: facts.ports, state: state.map(|state| state.to_bytes()) })
}

/// Bundles that say nothing of presets are left out: most do, and reading them takes time.
fn open(bundle: &Path, others: &[PathBuf]) -> Result<Bundle, String> {
    let more = others.iter().filter(|other| *other != bundle && names_presets(other));
    let folders = std::iter::once(bundle.to_path_buf()).chain(more.cloned()).collect();
    Bundle::open_all(folders).map_err(|missing| missing.to_string())
}

fn names_presets(bundle: &Path) -> bool {
    let manifest = hocket_files::read_bytes(&bundle.join("manifest.ttl"), LONGEST_MANIFEST);
    manifest.is_ok_and(|text| text.windows(6).any(|word| word == b"Preset"))
}
