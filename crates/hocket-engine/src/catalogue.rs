//! The built-in processors as the plan's catalogue.

use hocket_dsp::Kind;
use hocket_plan::graph::EffectFacts;
use hocket_plan::{Effect, EffectCatalogue, ParamSpec};

/// The effects that this engine can run without plug-ins, at one sample rate.
#[derive(Debug, Clone, Copy)]
pub struct BuiltinEffects {
    /// The rate to which costs and latencies refer.
    pub rate_hz: u32,
}

impl EffectCatalogue for BuiltinEffects {
    fn kinds(&self) -> Vec<&'static str> {
        hocket_dsp::kinds().iter().map(|kind| kind.name).collect()
    }

    fn params(&self, kind: &str) -> Option<Vec<ParamSpec>> {
        let spec = |param: &hocket_dsp::Param| ParamSpec {
            name: param.name,
            summary: param.summary,
            min: param.min,
            max: param.max,
            default: param.default,
            fixed: param.fixed,
        };
        hocket_dsp::kind(kind).map(|kind| kind.params.iter().map(spec).collect())
    }

    fn has_side_chain(&self, kind: &str) -> bool {
        hocket_dsp::kind(kind).is_some_and(|kind| kind.side_chain)
    }

    fn has_event_input(&self, kind: &str) -> bool {
        hocket_dsp::kind(kind).is_some_and(|kind| kind.event_input)
    }
}

impl EffectFacts for BuiltinEffects {
    fn cost(&self, effect: &Effect) -> f64 {
        known(effect).map_or(0.0, |kind| (kind.flops_per_frame)(&effect.values, self.rate_hz))
    }

    fn latency_frames(&self, effect: &Effect) -> u32 {
        known(effect).map_or(0, |kind| (kind.build)(&effect.values, self.rate_hz).latency_frames())
    }

    fn has_event_input(&self, effect: &Effect) -> bool {
        known(effect).is_some_and(|kind| kind.event_input)
    }
}

fn known(effect: &Effect) -> Option<&'static Kind> {
    hocket_dsp::kind(&effect.kind).filter(|kind| kind.params.len() == effect.values.len())
}
