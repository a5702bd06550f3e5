//! What the plan knows of an effect: its kind by name and its parameter values, no sound.
//!
//! The makers of sound know which kinds exist: the built-in processors, and hosts of plug-ins. They
//! offer an [`EffectCatalogue`], so a reader of session files can check names and ranges without
//! knowing any processor.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use crate::places::{StripId, Tap};

/// What begins the kinds of plug-ins: `lv2:URI`, `clap:ID` and `vst3:ID`.
pub const PLUGIN_PREFIXES: [&str; 3] = ["lv2:", "clap:", "vst3:"];

/// The keys that every effect has in a session file. No parameter may have one of these names.
pub const EFFECT_KEYS: [&str; 10] = [
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

/// Whether `kind` has the form of a plug-in's kind. No built-in kind has.
pub fn is_plugin(kind: &str) -> bool {
    PLUGIN_PREFIXES.iter().any(|prefix| kind.starts_with(prefix))
}

/// One effect in a chain.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// The name under which the catalogue knows it, such as `eq` or `compressor`.
    pub kind: String,
    /// One value for each parameter of the kind, in the catalogue's order and units.
    pub values: Vec<f32>,
    /// A bypassed effect passes its input on unchanged (and delayed by its latency).
    pub bypass: bool,
    /// What it hears besides, at its side chain. Only for kinds that listen to one.
    pub key: Option<Key>,
    /// The track whose notes and events it receives; `None`: those of its own track, or what effects before it send. Only
    /// for kinds with an event input.
    pub events: Option<StripId>,
    /// Whether what it sends reaches the effects behind it; `None`: as its kind says ([`EventOutput::sends`]). Only for kinds
    /// with an event output.
    pub send_events: Option<bool>,
    /// The state that a plug-in saved; `None`: it starts with its own. Only for kinds that take one.
    pub state: Option<Arc<[u8]>>,
    /// The file that holds the state, which a written session names.
    pub state_file: Option<PathBuf>,
    /// The preset, by its URI or label, from which values and state come that the session does not give itself. A written
    /// session names it.
    pub preset: Option<String>,
    /// The file that it plays, already resolved against the session file's folder. Only for kinds that take one.
    pub file: Option<PathBuf>,
    /// Whether it runs in a process of its own, where the source of the effect can do that. Only for plug-ins.
    pub isolate: bool,
}

impl Effect {
    /// An effect that is not bypassed and listens to nothing else.
    pub fn new(kind: impl Into<String>, values: Vec<f32>) -> Effect {
        Effect {
            kind: kind.into(),
            values,
            bypass: false,
            key: None,
            events: None,
            send_events: None,
            state: None,
            state_file: None,
            preset: None,
            file: None,
            isolate: false,
        }
    }
}

/// Why an effect cannot play its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRefusal {
    /// What is wrong, one sentence without a full stop. It does not name the file.
    pub cause: String,
    /// What to do about it, one sentence without a full stop.
    pub remedy: String,
}

/// What a preset of a plug-in sets.
#[derive(Debug, Clone, PartialEq)]
pub struct Preset {
    /// One value for each parameter of the kind; where the preset says nothing, the default.
    pub values: Vec<f32>,
    /// The state, if it has one.
    pub state: Option<Arc<[u8]>>,
}

/// Whether an effect kind sends events: notes, MIDI messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EventOutput {
    /// It sends none.
    #[default]
    None,
    /// It makes or changes sound, too. It sends where the session says so.
    BesideSound,
    /// It sends events alone, and sound passes it. It sends unless the session says otherwise.
    Alone,
}

impl EventOutput {
    /// Whether an effect with this output sends. `wish`: what the session says ([`Effect::send_events`]).
    pub fn sends(self, wish: Option<bool>) -> bool {
        match self {
            EventOutput::None => false,
            EventOutput::BesideSound => wish == Some(true),
            EventOutput::Alone => wish != Some(false),
        }
    }
}

/// What an effect hears at its side chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// The strip that it hears.
    pub from: StripId,
    /// Where on that strip.
    pub tap: Tap,
}

/// One parameter of an effect kind.
#[derive(Debug, Clone, PartialEq)]
pub struct ParamSpec {
    /// The name in session files, unit included: `threshold_db`, `time_ms`. None of [`EFFECT_KEYS`].
    pub name: Cow<'static, str>,
    /// One sentence for documentation and error messages.
    pub summary: Cow<'static, str>,
    /// The smallest value allowed.
    pub min: f32,
    /// The largest value allowed.
    pub max: f32,
    /// The value if the file does not set the parameter.
    pub default: f32,
    /// Set when the effect is built; no automation moves it.
    pub fixed: bool,
}

/// What a plug-in itself calls one of its parameters; other programs write these names into their projects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParamLabel {
    /// The plug-in's own number of it: a port of LV2, an id of CLAP or VST3.
    pub id: u32,
    /// For people.
    pub title: String,
    /// Whether its range depends on the sample rate, so that a share of [`ParamSpec`]'s range says nothing.
    pub per_rate: bool,
}

/// An audio output of an effect kind beside its first one, such as the snare of a drum sampler. A track plays it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtraOutput {
    /// The name in session files; unique among those of the kind.
    pub name: String,
    /// 1, which both sides of a track get, or 2.
    pub channels: u16,
}

/// The effect kinds that exist where the session will run.
pub trait EffectCatalogue {
    /// The names of the kinds that come with the program, in the order in which they are documented. There may be others.
    fn kinds(&self) -> Vec<&'static str>;
    /// The parameters of `kind`, or `None` if no such kind exists.
    fn params(&self, kind: &str) -> Option<Vec<ParamSpec>>;
    /// What a plug-in calls the parameters of `kind`, in their order; nothing for kinds that are no plug-ins.
    fn param_labels(&self, kind: &str) -> Vec<ParamLabel> {
        let _ = kind;
        Vec::new()
    }
    /// Whether `kind` listens to a side chain. None does unless the catalogue says so.
    fn has_side_chain(&self, kind: &str) -> bool {
        let _ = kind;
        false
    }
    /// Whether `kind` has an event input, as instruments do. None has unless the catalogue says so.
    fn has_event_input(&self, kind: &str) -> bool {
        let _ = kind;
        false
    }
    /// Whether `kind` sends events. None does unless the catalogue says so.
    fn event_output(&self, kind: &str) -> EventOutput {
        let _ = kind;
        EventOutput::None
    }
    /// The extra outputs of `kind`, in the order of their channels. None has any unless the catalogue says so.
    fn extra_outputs(&self, kind: &str) -> Vec<ExtraOutput> {
        let _ = kind;
        Vec::new()
    }
    /// Whether `kind` starts with a state that the session gives, as plug-ins do. None does unless the catalogue says so.
    fn takes_state(&self, kind: &str) -> bool {
        let _ = kind;
        false
    }
    /// Whether `kind` plays a file that the session names, such as a SoundFont or an impulse response. None does unless the catalogue says so.
    fn takes_file(&self, kind: &str) -> bool {
        let _ = kind;
        false
    }
    /// Whether the effect, of a kind that takes a file, can play the one that it names.
    ///
    /// # Errors
    /// [`FileRefusal`]: the file is wrong, or it lacks what the effect wants of it.
    fn check_file(&self, effect: &Effect) -> Result<(), FileRefusal> {
        let _ = effect;
        Ok(())
    }
    /// The preset of `kind` with this URI or label. No kind has presets unless the catalogue says so.
    ///
    /// # Errors
    /// There is no such preset, or it cannot be read. The text is for users and says what is wrong.
    fn preset(&self, kind: &str, name: &str) -> Result<Preset, String> {
        Err(format!("an effect of the kind '{kind}' has no preset '{name}'"))
    }
}
