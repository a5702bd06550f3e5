//! The plug-ins of this machine as effects of sessions.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

use hocket_dsp::Processor;
use hocket_engine::EffectSource;
use hocket_plan::{Effect, EventOutput, ExtraOutput, ParamLabel, ParamSpec, Preset, is_plugin};
use hocket_plugins::isolate::Isolation;
use hocket_plugins::{Catalog, Description, Param, PresetValues, Wanted};

use super::isolated::Isolated;
use super::watched::Watching;

/// Operations per frame that a plug-in is taken to need, until it is measured: those of an equaliser.
const GUESSED_COST: f64 = 200.0;

/// The plug-ins. Nothing is looked for until a session names one.
pub(crate) static PLUGINS: LazyLock<Arc<Plugins>> = LazyLock::new(Arc::default);

/// Plug-ins as a source of effects.
#[derive(Default)]
pub(crate) struct Plugins {
    catalog: OnceLock<Catalog>,
    /// What an effect's latency is, by a hash of all that decides it. In a process of its own it is later by a block besides.
    latencies: Mutex<HashMap<u64, u32>>,
    /// Which run in processes of their own.
    pub(super) isolated: Isolated,
    /// What watches the others.
    pub(super) watched: Watching,
}

impl Plugins {
    fn find(&self, kind: &str) -> Option<&Description> {
        if !is_plugin(kind) {
            return None;
        }
        self.catalog().usable(kind).ok()
    }

    /// Where the program cannot start itself, there are none.
    pub(super) fn catalog(&self) -> &Catalog {
        self.catalog.get_or_init(|| super::catalog().unwrap_or_default())
    }

    fn build_with(
        &self,
        effect: &Effect,
        rate_hz: u32,
        isolation: Option<&Isolation>,
    ) -> Result<Box<dyn Processor>, String> {
        let Effect { kind, values, state, .. } = effect;
        let wanted = Wanted { kind, values, rate_hz, state: state.as_deref() };
        match isolation {
            Some(isolation) => self.catalog().build_isolated(&wanted, isolation),
            None => self.catalog().build(&wanted),
        }
    }
}

impl EffectSource for Plugins {
    fn params(&self, kind: &str) -> Option<Vec<ParamSpec>> {
        Some(self.find(kind)?.params.iter().map(spec).collect())
    }

    fn param_labels(&self, kind: &str) -> Vec<ParamLabel> {
        self.find(kind).map_or_else(Vec::new, |plugin| plugin.params.iter().map(label).collect())
    }

    fn has_side_chain(&self, kind: &str) -> bool {
        self.find(kind).is_some_and(|plugin| plugin.layout.side_chain > 0)
    }

    fn has_event_input(&self, kind: &str) -> bool {
        self.find(kind).is_some_and(|plugin| plugin.events)
    }

    fn event_output(&self, kind: &str) -> EventOutput {
        match self.find(kind) {
            Some(plugin) if plugin.sends_events && plugin.layout.outputs == 0 => EventOutput::Alone,
            Some(plugin) if plugin.sends_events => EventOutput::BesideSound,
            _ => EventOutput::None,
        }
    }

    fn extra_outputs(&self, kind: &str) -> Vec<ExtraOutput> {
        let outputs = self.find(kind).map_or(&[][..], |plugin| &plugin.extra_outputs);
        let output = |output: &hocket_plugins::ExtraOutput| ExtraOutput {
            name: output.name.clone(),
            channels: output.channels,
        };
        outputs.iter().map(output).collect()
    }

    fn cost(&self, effect: &Effect, _rate_hz: u32) -> f64 {
        let instances = self.find(&effect.kind).map_or(1, |plugin| plugin.layout.instances());
        GUESSED_COST * instances as f64
    }

    fn latency_frames(&self, effect: &Effect, rate_hz: u32) -> u32 {
        let isolation = self.isolated.of(effect);
        let late = isolation.as_ref().map_or(0, |isolation| isolation.frames);
        let key = key(effect, rate_hz, isolation.is_some());
        let mut latencies = self.latencies.lock().unwrap_or_else(PoisonError::into_inner);
        // One that cannot be built is refused when the session is prepared.
        let build = || match self.build_with(effect, rate_hz, isolation.as_ref()) {
            Ok(built) => built.latency_frames().saturating_sub(late),
            Err(_) => 0,
        };
        latencies.entry(key).or_insert_with(build).saturating_add(late)
    }

    fn build(&self, effect: &Effect, rate_hz: u32) -> Result<Box<dyn Processor>, String> {
        let isolation = self.isolated.of(effect);
        let built = self.build_with(effect, rate_hz, isolation.as_ref())?;
        let title = self.find(&effect.kind).map_or("", |plugin| plugin.title.as_str());
        // A process of its own is watched by the thread beside it.
        Ok(match isolation {
            Some(_) => built,
            None if self.event_output(&effect.kind).sends(effect.send_events) => {
                self.watched.over_sender(built, title, rate_hz)
            }
            None => self.watched.over(built, title, rate_hz),
        })
    }

    fn preset(&self, kind: &str, name: &str) -> Result<Preset, String> {
        let PresetValues { values, state } = self.catalog().preset(kind, name)?;
        Ok(Preset { values, state: state.map(Into::into) })
    }
}

fn key(effect: &Effect, rate_hz: u32, is_isolated: bool) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&effect.kind, rate_hz, &effect.state, is_isolated).hash(&mut hasher);
    effect.values.iter().for_each(|value| value.to_bits().hash(&mut hasher));
    hasher.finish()
}

fn label(param: &Param) -> ParamLabel {
    ParamLabel { id: param.id, title: param.title.clone(), per_rate: param.per_rate }
}

fn spec(param: &Param) -> ParamSpec {
    let (min, max) = param.range();
    ParamSpec {
        name: param.name.clone().into(),
        summary: param.title.clone().into(),
        min,
        max,
        default: param.default_value(),
        fixed: false,
    }
}
