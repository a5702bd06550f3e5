//! The plug-ins that there are, and how one is built.

use std::path::PathBuf;

use hocket_dsp::Processor;

use crate::description::{Description, Format, session_name};
use crate::isolate::{self, Isolation};
use crate::lv2::{Preset, PresetName};
use crate::presets::PresetScanner;
use crate::{clap, lv2, vst3};

/// A plug-in as a session wants it.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// `lv2:URI`, `clap:ID` or `vst3:ID`.
    pub kind: &'a str,
    /// A value for each parameter, in their order; missing ones are the defaults.
    pub values: &'a [f32],
    /// Sample rate.
    pub rate_hz: u32,
    /// What the plug-in saved.
    pub state: Option<&'a [u8]>,
}

/// The plug-ins that there are.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    plugins: Vec<Description>,
    /// LV2 bundles that may hold presets.
    bundles: Vec<PathBuf>,
    /// What asks CLAP plug-ins for their presets.
    scanner: Option<PresetScanner>,
}

/// What a preset sets.
#[derive(Debug, Clone, PartialEq)]
pub struct PresetValues {
    /// A value for each parameter; where the preset says nothing, the default.
    pub values: Vec<f32>,
    /// What the plug-in starts with.
    pub state: Option<Vec<u8>>,
}

impl Catalog {
    /// Of what a scan found.
    pub fn new(plugins: Vec<Description>) -> Catalog {
        Catalog { plugins, bundles: Vec::new(), scanner: None }
    }

    /// With the LV2 bundles in which presets may lie besides those of the plug-ins themselves.
    #[must_use]
    pub fn with_bundles(self, bundles: Vec<PathBuf>) -> Catalog {
        Catalog { bundles, ..self }
    }

    /// With what asks CLAP plug-ins for their presets. Without it they have none.
    #[must_use]
    pub fn with_preset_scanner(self, scanner: PresetScanner) -> Catalog {
        Catalog { scanner: Some(scanner), ..self }
    }

    /// The presets of a plug-in, sorted by label. VST3 plug-ins have none here.
    ///
    /// Thread: control. Reads files; code of the plug-in runs in a process of its own.
    ///
    /// # Errors
    /// There is no such plug-in, liblilv is not there, or a CLAP plug-in cannot say. The text is for users.
    pub fn presets(&self, kind: &str) -> Result<Vec<PresetName>, String> {
        let plugin = self.usable(kind)?;
        match Format::of_kind(kind) {
            Some((Format::Lv2, uri)) => lv2::presets(&plugin.library, &self.bundles, uri),
            Some((Format::Clap, _)) => {
                self.scanner.as_ref().map_or(Ok(Vec::new()), |scanner| scanner.list(plugin))
            }
            _ => Ok(Vec::new()),
        }
    }

    /// The preset of a plug-in with this label, or with this URI (LV2) or place (CLAP).
    ///
    /// Thread: control. Reads files; code of the plug-in runs in a process of its own.
    ///
    /// # Errors
    /// There is no such preset, several have this label, or the plug-in does not load it. The text is for users.
    pub fn preset(&self, kind: &str, name: &str) -> Result<PresetValues, String> {
        let plugin = self.usable(kind)?;
        let uri = match (Format::of_kind(kind), &self.scanner) {
            (Some((Format::Lv2, uri)), _) => uri,
            (Some((Format::Clap, _)), Some(scanner)) => return scanner.load(plugin, name),
            _ => return Err("Hocket reads no presets of this plug-in; load a state instead".into()),
        };
        let Preset { ports, state } = lv2::preset(&plugin.library, &self.bundles, uri, name)?;
        let mut values: Vec<f32> =
            plugin.params.iter().map(|param| param.default_value()).collect();
        for (symbol, value) in ports {
            let name = session_name(&symbol);
            let place = plugin.params.iter().position(|param| param.name == name);
            if let Some(at) = place.filter(|_| value.is_finite()) {
                let (min, max) = plugin.params[at].range();
                values[at] = value.clamp(min, max);
            }
        }
        // What the plug-in cannot load is of no use to it.
        Ok(PresetValues { values, state: state.filter(|_| plugin.state) })
    }

    /// All, sorted by kind.
    pub fn plugins(&self) -> &[Description] {
        &self.plugins
    }

    /// The plug-in that a user means, also one that Hocket refuses: its kind, or its URI or id alone. Of several with one id,
    /// the first one that Hocket runs.
    ///
    /// # Errors
    /// There is none. The text is for users.
    pub fn named(&self, word: &str) -> Result<&Description, String> {
        let named = || self.plugins.iter().filter(|plugin| is_named(&plugin.kind, word));
        let usable = named().find(|plugin| plugin.refusal.is_none());
        usable.or_else(|| named().next()).ok_or_else(|| unknown(word))
    }

    /// The plug-in of this kind, also one that Hocket refuses.
    pub fn find(&self, kind: &str) -> Option<&Description> {
        self.plugins.iter().find(|plugin| plugin.kind == kind)
    }

    /// The plug-in of this kind.
    ///
    /// # Errors
    /// There is none, or Hocket does not run it. The text is for users.
    pub fn usable(&self, kind: &str) -> Result<&Description, String> {
        let plugin = self.find(kind).ok_or_else(|| unknown(kind))?;
        match &plugin.refusal {
            Some(why) => Err(format!("Hocket does not run the plug-in '{kind}': {why}")),
            None => Ok(plugin),
        }
    }

    /// Builds a plug-in.
    ///
    /// Thread: control. Runs code of the plug-in.
    ///
    /// # Errors
    /// What went wrong, for users.
    pub fn build(&self, wanted: &Wanted<'_>) -> Result<Box<dyn Processor>, String> {
        let plugin = self.usable(wanted.kind)?;
        let Wanted { values, rate_hz, state, .. } = *wanted;
        let (library, id) = (plugin.library.as_path(), plugin.id());
        let built = match Format::of_kind(wanted.kind) {
            Some((Format::Clap, _)) => clap::build(library, id, values, rate_hz, state),
            Some((Format::Vst3, _)) => vst3::build(library, id, values, rate_hz, state),
            _ => lv2::build(library, id, values, rate_hz, state),
        };
        built.map_err(|why| format!("the plug-in '{}' ({}): {why}", wanted.kind, plugin.title))
    }

    /// Builds a plug-in in a process of its own.
    ///
    /// Thread: control. Runs no code of the plug-in here.
    ///
    /// # Errors
    /// What went wrong, for users.
    pub fn build_isolated(
        &self,
        wanted: &Wanted<'_>,
        isolation: &Isolation,
    ) -> Result<Box<dyn Processor>, String> {
        let plugin = self.usable(wanted.kind)?;
        let built = isolate::build(isolation, plugin, wanted);
        built.map_err(|why| format!("the plug-in '{}' ({}): {why}", wanted.kind, plugin.title))
    }
}

/// Whether a user means this kind: by all of it, or by its URI or id alone.
pub fn is_named(kind: &str, word: &str) -> bool {
    kind == word || Format::of_kind(kind).is_some_and(|(_, id)| id == word)
}

fn unknown(word: &str) -> String {
    format!("there is no plug-in '{word}' here; `hocket plugin list` shows all")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plug_in_is_named_by_its_kind_or_its_id() {
        let refused = |kind: &str| Description::refused(kind.into(), "/a".into(), "no".into());
        let usable = |kind: &str| Description { refusal: None, ..refused(kind) };
        let plugins =
            vec![refused("clap:b"), refused("lv2:urn:a"), refused("lv2:x"), usable("vst3:x")];
        let catalog = Catalog::new(plugins);
        let kind = |word: &str| catalog.named(word).map(|plugin| plugin.kind.as_str());
        assert_eq!((kind("lv2:urn:a"), kind("urn:a")), (Ok("lv2:urn:a"), Ok("lv2:urn:a")));
        assert_eq!(
            (kind("b"), kind("x"), kind("lv2:x")),
            (Ok("clap:b"), Ok("vst3:x"), Ok("lv2:x"))
        );
        let none = kind("urn:c").unwrap_err();
        assert_eq!(none, "there is no plug-in 'urn:c' here; `hocket plugin list` shows all");
    }
}
