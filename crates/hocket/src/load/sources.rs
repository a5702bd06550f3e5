//! Where effects come from that are not built into the engine: plug-ins, the player of SoundFonts, and impulse responses.

use std::sync::{Arc, LazyLock};

use hocket_dsp::Processor;
use hocket_engine::EffectSource;
use hocket_plan::{Effect, EventOutput, ExtraOutput, FileRefusal, ParamLabel, ParamSpec, Preset};

use super::impulses::Impulses;
use super::soundfonts::SoundFonts;
use crate::plugin::source::PLUGINS;

/// All of them.
pub(super) static SOURCES: LazyLock<Arc<Sources>> = LazyLock::new(Arc::default);

/// Asks the one that knows a kind.
#[derive(Default)]
pub(super) struct Sources {
    fonts: SoundFonts,
    impulses: Impulses,
}

impl Sources {
    fn of(&self, kind: &str) -> &dyn EffectSource {
        match kind {
            hocket_soundfont::KIND => &self.fonts,
            hocket_convolution::KIND => &self.impulses,
            _ => &**PLUGINS,
        }
    }
}

impl EffectSource for Sources {
    fn params(&self, kind: &str) -> Option<Vec<ParamSpec>> {
        self.of(kind).params(kind)
    }

    fn param_labels(&self, kind: &str) -> Vec<ParamLabel> {
        self.of(kind).param_labels(kind)
    }

    fn has_side_chain(&self, kind: &str) -> bool {
        self.of(kind).has_side_chain(kind)
    }

    fn has_event_input(&self, kind: &str) -> bool {
        self.of(kind).has_event_input(kind)
    }

    fn event_output(&self, kind: &str) -> EventOutput {
        self.of(kind).event_output(kind)
    }

    fn extra_outputs(&self, kind: &str) -> Vec<ExtraOutput> {
        self.of(kind).extra_outputs(kind)
    }

    fn cost(&self, effect: &Effect, rate_hz: u32) -> f64 {
        self.of(&effect.kind).cost(effect, rate_hz)
    }

    fn latency_frames(&self, effect: &Effect, rate_hz: u32) -> u32 {
        self.of(&effect.kind).latency_frames(effect, rate_hz)
    }

    fn build(&self, effect: &Effect, rate_hz: u32) -> Result<Box<dyn Processor>, String> {
        self.of(&effect.kind).build(effect, rate_hz)
    }

    fn kinds(&self) -> &'static [&'static str] {
        &[hocket_soundfont::KIND, hocket_convolution::KIND]
    }

    fn takes_state(&self, kind: &str) -> bool {
        self.of(kind).takes_state(kind)
    }

    fn takes_file(&self, kind: &str) -> bool {
        self.of(kind).takes_file(kind)
    }

    fn check_file(&self, effect: &Effect) -> Result<(), FileRefusal> {
        self.of(&effect.kind).check_file(effect)
    }

    fn preset(&self, kind: &str, name: &str) -> Result<Preset, String> {
        self.of(kind).preset(kind, name)
    }
}
