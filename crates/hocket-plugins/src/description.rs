//! What is known of a plug-in.

use std::path::PathBuf;

use serde::{Deserialize, Deserializer, Serialize, de};

use crate::extra::{ExtraOutput, sound_outputs};
use crate::layout::Layout;

/// The rate at which ranges that depend on it are shown.
pub const SHOWN_RATE_HZ: u32 = 48_000;
/// The highest rate that a range allows for.
const HIGHEST_RATE_HZ: f32 = 192_000.0;

/// How a plug-in talks to its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Hash)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// LV2.
    Lv2,
    /// CLAP.
    Clap,
    /// VST3.
    Vst3,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 3] = [Format::Lv2, Format::Clap, Format::Vst3];

    /// What its kinds begin with.
    pub fn prefix(self) -> &'static str {
        match self {
            Format::Lv2 => "lv2:",
            Format::Clap => "clap:",
            Format::Vst3 => "vst3:",
        }
    }

    /// What it is called in arguments: `lv2`, `clap`, `vst3`.
    pub fn word(self) -> &'static str {
        self.prefix().trim_end_matches(':')
    }

    /// The kind of a plug-in with this URI or id.
    pub fn kind(self, id: &str) -> String {
        format!("{}{id}", self.prefix())
    }

    /// The format and the URI or id of a kind; `None` for a built-in effect.
    pub fn of_kind(kind: &str) -> Option<(Format, &str)> {
        let strip = |format: Format| Some((format, kind.strip_prefix(format.prefix())?));
        Format::ALL.into_iter().find_map(strip)
    }
}

/// A plug-in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// As in sessions: `lv2:URI`, `clap:ID` or `vst3:ID`.
    pub kind: String,
    /// For people.
    pub title: String,
    /// The bundle or library that holds it.
    pub library: PathBuf,
    /// How its ports fit a strip.
    pub layout: Layout,
    /// Its outputs beside the first one, in the order of their rows.
    #[serde(default, deserialize_with = "sound_outputs")]
    pub extra_outputs: Vec<ExtraOutput>,
    /// Parameters, in the order of their values.
    #[serde(deserialize_with = "sound_params")]
    pub params: Vec<Param>,
    /// Frames, at 48 kHz and with the defaults.
    pub latency_frames: u32,
    /// Whether notes and MIDI reach it.
    pub events: bool,
    /// Whether it sends notes and MIDI.
    #[serde(default)]
    pub sends_events: bool,
    /// Whether it has a state beside its parameters.
    pub state: bool,
    /// What it asks of its host: URIs of LV2 features, names of CLAP extensions.
    pub features: Vec<String>,
    /// Why Hocket does not run it.
    pub refusal: Option<String>,
    /// It crashed or hung when it was to describe itself, or what it said could not be read.
    #[serde(default)]
    pub is_broken: bool,
    /// The refusal may be gone at the next look although the plug-in stays as it is. So it is when it makes no instance: mostly,
    /// another library is missing.
    #[serde(default)]
    pub may_pass: bool,
}

impl Description {
    /// The URI or id.
    pub fn id(&self) -> &str {
        Format::of_kind(&self.kind).map_or(&self.kind, |(_, id)| id)
    }

    /// What can be said of a plug-in that does not even describe itself.
    pub fn refused(kind: String, library: PathBuf, why: String) -> Description {
        let title = Format::of_kind(&kind).map_or("", |(_, id)| id).to_string();
        let (layout, refusal) = (Layout::default(), Some(why));
        let (extra_outputs, params, features) = (Vec::new(), Vec::new(), Vec::new());
        let (latency_frames, events, sends_events, state) = (0, false, false, false);
        Description {
            kind,
            title,
            library,
            layout,
            extra_outputs,
            params,
            latency_frames,
            events,
            sends_events,
            state,
            features,
            refusal,
            is_broken: false,
            may_pass: false,
        }
    }
}

/// The process that looks at a plug-in may be damaged by it, and so may what it writes.
fn sound_params<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Param>, D::Error> {
    let params = Vec::<Param>::deserialize(from)?;
    match params.iter().find(|param| !param.is_sound()) {
        None => Ok(params),
        Some(param) => Err(de::Error::custom(format!("the range of '{}' is none", param.name))),
    }
}

/// The keys that every effect has in a session.
const SESSION_KEYS: [&str; 10] = [
    "kind",
    "bypass",
    "key",
    "key_tap",
    "events",
    "send_events",
    "state",
    "preset",
    "file",
    "isolate",
];

/// The name of a parameter in sessions: its own, with `_` behind it if it is the name of another key.
pub(crate) fn session_name(name: &str) -> String {
    if SESSION_KEYS.contains(&name) { format!("{name}_") } else { name.into() }
}

/// Which values a parameter has between its smallest and its largest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Steps {
    /// All.
    None,
    /// Whole numbers.
    Whole,
    /// Off and on.
    Switch,
}

/// A parameter of a plug-in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Param {
    /// As in sessions: the port's symbol, or a name with words joined by `_`.
    pub name: String,
    /// For people.
    pub title: String,
    /// Of its values, for people; empty where the plug-in names none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// Smallest value.
    pub min: f32,
    /// Largest value.
    pub max: f32,
    /// Value when not given.
    pub default: f32,
    /// Whether the three are multiples of the sample rate.
    pub per_rate: bool,
    /// Values between.
    pub steps: Steps,
    /// Values with a name.
    pub points: Vec<(f32, String)>,
    /// The plug-in's own number of it: a port, or an id of CLAP or VST3.
    pub id: u32,
}

impl Param {
    /// Whether values can be held within the range.
    fn is_sound(&self) -> bool {
        let ends = [self.min, self.default, self.max];
        ends.iter().all(|end| end.is_finite()) && ends.is_sorted()
    }

    /// What multiples of the rate are multiplied by.
    fn factor(&self, rate_hz: f32) -> f32 {
        if self.per_rate { rate_hz } else { 1.0 }
    }

    /// Smallest and largest value at any rate.
    pub fn range(&self) -> (f32, f32) {
        match self.per_rate {
            true => (self.min.min(0.0) * HIGHEST_RATE_HZ, self.max.max(0.0) * HIGHEST_RATE_HZ),
            false => (self.min, self.max),
        }
    }

    /// The default; one that depends on the rate is that of 48 kHz, so that a session means the same at each.
    pub fn default_value(&self) -> f32 {
        self.default * self.factor(SHOWN_RATE_HZ as f32)
    }

    /// `value` held within the range at this rate, and on a step.
    pub fn fit(&self, value: f32, rate_hz: u32) -> f32 {
        let factor = self.factor(rate_hz as f32);
        let value = value.clamp(self.min * factor, self.max * factor);
        match self.steps {
            Steps::None => value,
            Steps::Whole => value.round(),
            Steps::Switch => f32::from(value > (self.min + self.max) / 2.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn param(min: f32, max: f32, per_rate: bool, steps: Steps) -> Param {
        let (name, title, unit) = (String::new(), String::new(), String::new());
        Param { name, title, unit, min, max, default: min, per_rate, steps, points: vec![], id: 0 }
    }

    #[test]
    fn a_range_that_depends_on_the_rate_ends_at_its_part_of_it() {
        let cutoff = param(0.125, 0.5, true, Steps::None);
        assert_eq!(cutoff.fit(1e6, 48_000), 24_000.0);
        assert_eq!(cutoff.fit(1e6, 96_000), 48_000.0);
        assert_eq!(cutoff.fit(0.0, 48_000), 6_000.0);
        assert_eq!(cutoff.range(), (0.0, 96_000.0));
        assert_eq!(param(-1.0, -0.5, true, Steps::None).range(), (-192_000.0, 0.0));
    }

    #[test]
    fn a_description_with_a_range_that_is_none_is_refused() {
        let read = |min: f32, default: f32, max: f32| {
            let known = Description::refused("clap:a".into(), PathBuf::new(), String::new());
            let param = Param { default, ..param(min, max, false, Steps::None) };
            let text = serde_json::to_string(&Description { params: vec![param], ..known });
            serde_json::from_str::<Description>(&text.unwrap())
        };
        assert!(read(0.0, 0.5, 1.0).is_ok() && read(1.0, 1.0, 1.0).is_ok());
        for [min, default, max] in [[1.0, 0.5, 0.0], [0.0, 2.0, 1.0], [0.0, f32::NAN, 1.0]] {
            assert!(read(min, default, max).is_err(), "{min} {default} {max}");
        }
        let text = r#"{"name":"a","title":"","min":0.0,"max":1e39,"default":0.0,"per_rate":false,"steps":"none","points":[],"id":0}"#;
        assert!(!serde_json::from_str::<Param>(text).is_ok_and(|param| param.is_sound()));
    }

    #[test]
    fn values_fall_on_steps() {
        assert_eq!(param(0.0, 7.0, false, Steps::Whole).fit(2.6, 48_000), 3.0);
        assert_eq!(param(0.0, 1.0, false, Steps::Switch).fit(0.6, 48_000), 1.0);
        assert_eq!(param(0.0, 1.0, false, Steps::Switch).fit(0.4, 48_000), 0.0);
    }

    #[test]
    fn no_parameter_has_the_name_of_another_key() {
        assert_eq!(["gain", "bypass", "key"].map(session_name), ["gain", "bypass_", "key_"]);
    }

    #[test]
    fn a_kind_names_its_format() {
        assert_eq!(Format::of_kind("lv2:urn:x"), Some((Format::Lv2, "urn:x")));
        assert_eq!(Format::of_kind("clap:a.b"), Some((Format::Clap, "a.b")));
        assert_eq!(Format::of_kind("vst3:0A"), Some((Format::Vst3, "0A")));
        assert_eq!(Format::of_kind("gain"), None);
    }
}
