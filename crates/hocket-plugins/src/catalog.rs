//! The plug-ins that there are, and how one is built.

use hocket_dsp::Processor;

use crate::description::{Description, Format};
use crate::{clap, lv2};

/// A plug-in as a session wants it.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// `lv2:URI` or `clap:ID`.
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
}

impl Catalog {
    /// Of what a scan found.
    pub fn new(plugins: Vec<Description>) -> Catalog {
        Catalog { plugins }
    }

    /// All, sorted by kind.
    pub fn plugins(&self) -> &[Description] {
        &self.plugins
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
        let Some(plugin) = self.find(kind) else {
            return Err(format!(
                "there is no plug-in '{kind}' here; `hocket plugin list` shows all"
            ));
        };
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
            _ => lv2::build(library, id, values, rate_hz, state),
        };
        built.map_err(|why| format!("the plug-in '{}' ({}): {why}", wanted.kind, plugin.title))
    }
}
