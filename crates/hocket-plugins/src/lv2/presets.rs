//! Presets: values of ports and a state, under a label.

use std::path::{Path, PathBuf};

use super::ffi::Bundle;
use super::state::State;

pub use super::ffi::PresetName;

/// No manifest that is searched is longer.
const LONGEST_MANIFEST: u64 = 4 << 20;
/// How many labels a message names.
const MOST_NAMED: usize = 8;

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
    let chosen = choose(&known, name)?;
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

fn choose<'a>(known: &'a [PresetName], name: &str) -> Result<&'a PresetName, String> {
    if let Some(preset) = known.iter().find(|preset| preset.uri == name) {
        return Ok(preset);
    }
    let labelled: Vec<&PresetName> = known.iter().filter(|preset| preset.label == name).collect();
    match labelled.as_slice() {
        [preset] => Ok(preset),
        [] => Err(unknown(known, name)),
        several => {
            let uris: Vec<&str> = several.iter().map(|preset| preset.uri.as_str()).collect();
            Err(format!(
                "several presets are called '{name}'; name one by its URI: {}",
                uris.join(", ")
            ))
        }
    }
}

fn unknown(known: &[PresetName], name: &str) -> String {
    if known.is_empty() {
        return format!("there is no preset '{name}': the plug-in has no presets");
    }
    let labels: Vec<String> =
        known.iter().take(MOST_NAMED).map(|preset| format!("'{}'", preset.label)).collect();
    let more = known.len().saturating_sub(MOST_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("there is no preset '{name}'; there are {}{more}", labels.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(uri: &str, label: &str) -> PresetName {
        PresetName { uri: uri.into(), label: label.into() }
    }

    #[test]
    fn a_preset_is_chosen_by_uri_or_by_a_label_that_one_has() {
        let known = [named("u:1", "Soft"), named("u:2", "Loud"), named("u:3", "Loud")];
        assert_eq!(choose(&known, "u:3"), Ok(&known[2]));
        assert_eq!(choose(&known, "Soft"), Ok(&known[0]));
        let several = choose(&known, "Loud").unwrap_err();
        assert!(several.contains("u:2, u:3"), "{several}");
        let unknown = choose(&known, "soft").unwrap_err();
        assert!(
            unknown.contains("no preset 'soft'; there are 'Soft', 'Loud', 'Loud'"),
            "{unknown}"
        );
        assert!(choose(&[], "x").unwrap_err().contains("has no presets"));
        let many: Vec<PresetName> = (0..10).map(|n| named(&format!("u:{n}"), "Same")).collect();
        assert!(choose(&many, "x").unwrap_err().ends_with(" and 2 more"));
    }
}
