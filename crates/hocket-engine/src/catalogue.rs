//! The effects that an engine can run: the built-in ones, and those of a source such as a host of plug-ins.

use std::sync::Arc;

use hocket_dsp::{Bypass, Kind, Processor};
use hocket_plan::graph::EffectFacts;
use hocket_plan::{
    Effect, EffectCatalogue, EventOutput, ExtraOutput, FileRefusal, ParamLabel, ParamSpec, Preset,
};

/// Makes effects that are not built in, such as plug-ins.
///
/// A session asks for them by kind, as for built-in ones. Built-in kinds come first, so a source should name its kinds
/// so that no built-in one has their names: plug-ins are `lv2:URI`, `clap:ID` and `vst3:ID`.
pub trait EffectSource: Send + Sync {
    /// The parameters of `kind`, in the order of an effect's values; `None`: there is no such kind here. The index of a
    /// parameter is that of the changes that the processor receives.
    ///
    /// The names differ, and none is one of [`EFFECT_KEYS`](hocket_plan::EFFECT_KEYS).
    ///
    /// Thread: control. Cost: called for each effect, lane and edit, so it looks up what is known already.
    fn params(&self, kind: &str) -> Option<Vec<ParamSpec>>;
    /// As [`EffectCatalogue::param_labels`]. A source has none unless it says so.
    fn param_labels(&self, kind: &str) -> Vec<ParamLabel> {
        let _ = kind;
        Vec::new()
    }
    /// Whether `kind` listens to a side chain.
    fn has_side_chain(&self, kind: &str) -> bool;
    /// Whether `kind` has an event input: notes, MIDI and changes of parameters reach it.
    fn has_event_input(&self, kind: &str) -> bool;
    /// Whether `kind` sends events. The processor of an effect that sends gets [`Block::events_out`](hocket_dsp::Block), and
    /// says with [`Processor::keeps_time`] whether its notes end where the song stops or jumps. A source has none such unless
    /// it says so.
    fn event_output(&self, kind: &str) -> EventOutput {
        let _ = kind;
        EventOutput::None
    }
    /// As [`EffectCatalogue::extra_outputs`]: 64 channels together at most. The processor gets their rows as
    /// [`MoreRows::extra`](hocket_dsp::MoreRows::extra). A source has none unless it says so.
    fn extra_outputs(&self, kind: &str) -> Vec<ExtraOutput> {
        let _ = kind;
        Vec::new()
    }
    /// Declared operations per stereo frame, for the first cost estimate.
    fn cost(&self, effect: &Effect, rate_hz: u32) -> f64;
    /// The latency with which [`EffectSource::build`] makes the effect. Called whenever a graph is made.
    fn latency_frames(&self, effect: &Effect, rate_hz: u32) -> u32;
    /// Builds one stereo processor. It starts with the effect's state, and then takes the values that differ from their
    /// defaults: where the session says nothing, the state stands. The text of an error is for users: what is wrong, and what to do.
    ///
    /// Thread: control.
    ///
    /// # Errors
    /// What kept it from being made; nothing of it is left then.
    fn build(&self, effect: &Effect, rate_hz: u32) -> Result<Box<dyn Processor>, String>;
    /// Kinds that are the same on every machine, for lists and schemas. A source has none unless it says so.
    fn kinds(&self) -> &'static [&'static str] {
        &[]
    }
    /// As [`EffectCatalogue::takes_state`]. Every kind of a source does unless it says otherwise.
    fn takes_state(&self, kind: &str) -> bool {
        self.params(kind).is_some()
    }
    /// As [`EffectCatalogue::takes_file`]. No kind does unless the source says so.
    fn takes_file(&self, kind: &str) -> bool {
        let _ = kind;
        false
    }
    /// As [`EffectCatalogue::check_file`].
    ///
    /// Thread: control. Cost: may read files.
    ///
    /// # Errors
    /// As for [`EffectCatalogue::check_file`].
    fn check_file(&self, effect: &Effect) -> Result<(), FileRefusal> {
        let _ = effect;
        Ok(())
    }
    /// As [`EffectCatalogue::preset`]. A source has none unless it says so.
    ///
    /// Thread: control. Cost: may read files.
    ///
    /// # Errors
    /// As for [`EffectCatalogue::preset`].
    fn preset(&self, kind: &str, name: &str) -> Result<Preset, String> {
        Err(no_preset(kind, name))
    }
}

fn no_preset(kind: &str, name: &str) -> String {
    format!("an effect of the kind '{kind}' has no preset '{name}'")
}

/// Built-in effects and those of a source.
#[derive(Clone, Default)]
pub struct Effects {
    source: Option<Arc<dyn EffectSource>>,
}

impl std::fmt::Debug for Effects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Effects").field("has_source", &self.source.is_some()).finish()
    }
}

/// Why an effect cannot be built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BuildError {
    /// No such kind, or another number of parameters.
    Unknown,
    /// The source's text.
    Failed(String),
}

impl Effects {
    /// The built-in effects alone.
    pub const fn builtin() -> Effects {
        Effects { source: None }
    }

    /// The built-in effects and those of `source`.
    pub fn with(source: Arc<dyn EffectSource>) -> Effects {
        Effects { source: Some(source) }
    }

    /// What a graph at this sample rate needs to know of its effects.
    pub fn at(&self, rate_hz: u32) -> EffectsAt<'_> {
        EffectsAt { effects: self, rate_hz }
    }

    /// The parameter at `index` of `kind`.
    pub(crate) fn param(&self, kind: &str, index: usize) -> Option<ParamSpec> {
        match hocket_dsp::kind(kind) {
            Some(kind) => kind.params.get(index).map(param_spec),
            // The last index is that of the bypass.
            None if index >= usize::from(Bypass::PARAM) => None,
            None => self.source.as_ref()?.params(kind)?.into_iter().nth(index),
        }
    }

    /// The processor of an effect.
    pub(crate) fn build(
        &self,
        effect: &Effect,
        rate_hz: u32,
    ) -> Result<Box<dyn Processor>, BuildError> {
        match (hocket_dsp::kind(&effect.kind), &self.source) {
            (Some(_), _) => {
                let kind = known(effect).ok_or(BuildError::Unknown)?;
                Ok((kind.build)(&effect.values, rate_hz))
            }
            (None, Some(source)) => {
                let params = source.params(&effect.kind).ok_or(BuildError::Unknown)?;
                match params.len() == effect.values.len() {
                    true => source.build(effect, rate_hz).map_err(BuildError::Failed),
                    false => Err(BuildError::Unknown),
                }
            }
            (None, None) => Err(BuildError::Unknown),
        }
    }

    /// Asks the source about a kind that is not built in.
    fn of_source<T: Default>(&self, kind: &str, ask: impl Fn(&dyn EffectSource) -> T) -> T {
        let source = self.source.as_deref().filter(|_| hocket_dsp::kind(kind).is_none());
        source.map_or_else(T::default, ask)
    }
}

impl EffectCatalogue for Effects {
    fn kinds(&self) -> Vec<&'static str> {
        let own = hocket_dsp::kinds().iter().map(|kind| kind.name);
        let of_source = self.source.as_ref().map_or(&[][..], |source| source.kinds());
        own.chain(of_source.iter().copied()).collect()
    }

    fn params(&self, kind: &str) -> Option<Vec<ParamSpec>> {
        match hocket_dsp::kind(kind) {
            Some(kind) => Some(kind.params.iter().map(param_spec).collect()),
            None => self.source.as_ref()?.params(kind),
        }
    }

    fn param_labels(&self, kind: &str) -> Vec<ParamLabel> {
        self.of_source(kind, |source| source.param_labels(kind))
    }

    fn has_side_chain(&self, kind: &str) -> bool {
        hocket_dsp::kind(kind).is_some_and(|kind| kind.side_chain)
            || self.of_source(kind, |source| source.has_side_chain(kind))
    }

    fn has_event_input(&self, kind: &str) -> bool {
        hocket_dsp::kind(kind).is_some_and(|kind| kind.event_input)
            || self.of_source(kind, |source| source.has_event_input(kind))
    }

    fn event_output(&self, kind: &str) -> EventOutput {
        self.of_source(kind, |source| source.event_output(kind))
    }

    fn extra_outputs(&self, kind: &str) -> Vec<ExtraOutput> {
        self.of_source(kind, |source| source.extra_outputs(kind))
    }

    fn takes_state(&self, kind: &str) -> bool {
        self.of_source(kind, |source| source.takes_state(kind))
    }

    fn takes_file(&self, kind: &str) -> bool {
        self.of_source(kind, |source| source.takes_file(kind))
    }

    fn check_file(&self, effect: &Effect) -> Result<(), FileRefusal> {
        match (hocket_dsp::kind(&effect.kind), &self.source) {
            (None, Some(source)) => source.check_file(effect),
            _ => Ok(()),
        }
    }

    fn preset(&self, kind: &str, name: &str) -> Result<Preset, String> {
        match (hocket_dsp::kind(kind), &self.source) {
            (None, Some(source)) => source.preset(kind, name),
            _ => Err(no_preset(kind, name)),
        }
    }
}

/// Costs and latencies of [`Effects`] at one sample rate.
#[derive(Debug, Clone, Copy)]
pub struct EffectsAt<'a> {
    effects: &'a Effects,
    rate_hz: u32,
}

impl EffectFacts for EffectsAt<'_> {
    fn cost(&self, effect: &Effect) -> f64 {
        let of_source = |source: &dyn EffectSource| source.cost(effect, self.rate_hz);
        match known(effect) {
            Some(kind) => (kind.flops_per_frame)(&effect.values, self.rate_hz),
            None => self.effects.of_source(&effect.kind, of_source),
        }
    }

    fn latency_frames(&self, effect: &Effect) -> u32 {
        let of_source = |source: &dyn EffectSource| source.latency_frames(effect, self.rate_hz);
        match known(effect) {
            Some(kind) => (kind.build)(&effect.values, self.rate_hz).latency_frames(),
            None => self.effects.of_source(&effect.kind, of_source),
        }
    }

    fn has_event_input(&self, effect: &Effect) -> bool {
        self.effects.has_event_input(&effect.kind)
    }

    fn has_event_output(&self, effect: &Effect) -> bool {
        self.effects.event_output(&effect.kind).sends(effect.send_events)
    }

    fn extra_outputs(&self, effect: &Effect) -> Vec<ExtraOutput> {
        self.effects.extra_outputs(&effect.kind)
    }
}

/// The built-in kind of an effect whose values fit it.
fn known(effect: &Effect) -> Option<&'static Kind> {
    hocket_dsp::kind(&effect.kind).filter(|kind| kind.params.len() == effect.values.len())
}

/// A parameter of a processor as sessions know it.
pub fn param_spec(param: &hocket_dsp::Param) -> ParamSpec {
    ParamSpec {
        name: param.name.into(),
        summary: param.summary.into(),
        min: param.min,
        max: param.max,
        default: param.default,
        fixed: param.fixed,
    }
}
