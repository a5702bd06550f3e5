//! Effects of a chain, checked against the catalogue.

use std::path::PathBuf;
use std::sync::Arc;

use hocket_plan::session::StripId;
use hocket_plan::{
    Effect, EffectCatalogue, EventOutput, FileRefusal, Key, ParamSpec, Preset, is_plugin,
};

use crate::fields::{At, Fields};
use crate::mistakes::Mistakes;
use crate::ports::tap;
use crate::routing::Names;
use crate::schema;
use crate::state::StateReader;
use crate::suggest::{list, nearest};

/// Reads the chains of strips.
pub(crate) struct EffectReader<'r, 'a> {
    pub(crate) mistakes: &'r Mistakes<'a>,
    pub(crate) catalogue: &'r dyn EffectCatalogue,
    pub(crate) names: &'r mut Names<'a>,
    pub(crate) states: &'r mut StateReader<'a>,
}

impl EffectReader<'_, '_> {
    /// The chain of a strip; without the effects of which not even the kind is right.
    pub(crate) fn chain(&mut self, strip: &Fields<'_>, id: StripId) -> Vec<Effect> {
        let tables = strip.open_tables(&schema::EFFECTS, &schema::EFFECT_TABLE);
        tables.iter().filter_map(|fields| self.effect(fields, id)).collect()
    }

    fn effect(&mut self, fields: &Fields<'_>, id: StripId) -> Option<Effect> {
        let (mistakes, catalogue) = (self.mistakes, self.catalogue);
        let kind = fields.require_text(&schema::KIND)?;
        let Some(params) = catalogue.params(kind.value) else {
            report_unknown_kind(mistakes, kind, catalogue);
            return None;
        };
        let known: Vec<&str> = params.iter().map(|param| &*param.name).collect();
        fields.refuse_unknown(&known);
        if fields.has(&schema::SIDE_CHAIN) && !catalogue.has_side_chain(kind.value) {
            report_deaf(mistakes, fields, kind.value, catalogue);
        }
        if fields.has(&schema::EVENTS_FROM) && !catalogue.has_event_input(kind.value) {
            report_without_events(mistakes, fields, kind.value, catalogue);
        }
        let (preset_name, preset) = self.preset(fields, kind.value).unzip();
        let (state_file, state) = self.state(fields, kind.value).unzip();
        let file = self.file(fields, kind.value);
        // Where the file says nothing, a preset does.
        let base = |index: usize| preset.as_ref().and_then(|preset| preset.values.get(index));
        let value = |(index, param): (usize, &ParamSpec)| match base(index) {
            Some(&default) => fields.parameter(&ParamSpec { default, ..param.clone() }),
            None => fields.parameter(param),
        };
        let values = params.iter().enumerate().map(value).collect();
        let names = &mut *self.names;
        let effect = Effect {
            kind: kind.value.to_owned(),
            values,
            bypass: fields.flag(&schema::BYPASS, false),
            key: key(mistakes, names, (fields, id)),
            events: fields.text(&schema::EVENTS_FROM).and_then(|name| names.track(name)),
            send_events: self.send_events(fields, kind.value),
            state: state.or(preset.as_ref().and_then(|preset| preset.state.clone())),
            state_file,
            preset: preset_name,
            file,
            isolate: self.isolate(fields, kind.value),
        };
        self.check_file(fields, &effect);
        Some(effect)
    }

    /// The file that the effect plays.
    fn file(&self, fields: &Fields<'_>, kind: &str) -> Option<PathBuf> {
        if self.catalogue.takes_file(kind) {
            return self.states.file(&fields.require_text(&schema::EFFECT_FILE)?);
        }
        if fields.has(&schema::EFFECT_FILE) {
            let kinds = self.catalogue.kinds();
            let play = kinds.iter().copied().filter(|kind| self.catalogue.takes_file(kind));
            let remedy = format!(
                "a key belongs to the last header above it; the kinds of effects that play a file: {}",
                list(play)
            );
            let cause = format!("an effect of the kind '{kind}' plays no file");
            self.mistakes.report(fields.span_of(&schema::EFFECT_FILE), cause, remedy);
        }
        None
    }

    /// Whether what the effect sends reaches those behind it; `None`: the file does not say.
    fn send_events(&self, fields: &Fields<'_>, kind: &str) -> Option<bool> {
        if !fields.has(&schema::SEND_EVENTS) {
            return None;
        }
        if self.catalogue.event_output(kind) == EventOutput::None {
            let cause = format!("an effect of the kind '{kind}' sends no events");
            let remedy = match is_plugin(kind) {
                true => {
                    format!("take send_events out; `hocket plugin info {kind}` shows its ports")
                }
                false => "take send_events out: only plug-ins send events".to_owned(),
            };
            self.mistakes.report(fields.span_of(&schema::SEND_EVENTS), cause, remedy);
        }
        Some(fields.flag(&schema::SEND_EVENTS, false))
    }

    /// Whether the effect runs in a process of its own.
    fn isolate(&self, fields: &Fields<'_>, kind: &str) -> bool {
        if fields.has(&schema::ISOLATE) && !is_plugin(kind) {
            let cause = format!("an effect of the kind '{kind}' has no process of its own");
            let remedy = "take isolate out: only plug-ins run in processes of their own";
            self.mistakes.report(fields.span_of(&schema::ISOLATE), cause, remedy);
        }
        fields.flag(&schema::ISOLATE, false)
    }

    /// Whether the file holds what the effect wants of it.
    fn check_file(&self, fields: &Fields<'_>, effect: &Effect) {
        let Some(file) = &effect.file else { return };
        if let Err(FileRefusal { cause, remedy }) = self.catalogue.check_file(effect) {
            let cause = format!("'{}': {cause}", file.display());
            self.mistakes.report(fields.span_of(&schema::EFFECT_FILE), cause, remedy);
        }
    }

    /// The name of the effect's preset, and what it sets.
    fn preset(&self, fields: &Fields<'_>, kind: &str) -> Option<(String, Preset)> {
        let name = fields.text(&schema::PRESET)?;
        if fields.has(&schema::STATE) {
            let remedy = "take one of them out: each says in which state the plug-in starts";
            self.mistakes.report(name.span, "preset and state are both there", remedy);
            return None;
        }
        let preset = self.catalogue.preset(kind, name.value);
        let report = |cause: String| {
            let remedy = match is_plugin(kind) {
                true => format!("`hocket plugin info {kind}` lists its presets"),
                false => "take preset out: only plug-ins have presets".to_owned(),
            };
            self.mistakes.report(name.span.clone(), cause, remedy);
        };
        Some((name.value.to_owned(), preset.map_err(report).ok()?))
    }

    /// The state in which the effect starts, and its file.
    fn state(&mut self, fields: &Fields<'_>, kind: &str) -> Option<(PathBuf, Arc<[u8]>)> {
        let file = fields.text(&schema::STATE)?;
        if !self.catalogue.takes_state(kind) {
            let cause = format!("an effect of the kind '{kind}' has no state");
            let remedy = "take state out: only plug-ins start with the state of a file";
            self.mistakes.report(fields.span_of(&schema::STATE), cause, remedy);
            return None;
        }
        self.states.state(&file)
    }
}

/// What the effect hears at its side chain.
fn key(
    mistakes: &Mistakes<'_>,
    names: &mut Names<'_>,
    (fields, id): (&Fields<'_>, StripId),
) -> Option<Key> {
    let tap = tap(fields, &schema::KEY_TAP);
    if fields.has(&schema::KEY_TAP) && !fields.has(&schema::SIDE_CHAIN) {
        let remedy = "add key = \"...\", the name of the strip that the effect hears";
        mistakes.report(fields.span_of(&schema::KEY_TAP), "key_tap is there without a key", remedy);
    }
    let from = names.key(id, fields.text(&schema::SIDE_CHAIN)?)?;
    Some(Key { from, tap })
}

fn report_deaf(
    mistakes: &Mistakes<'_>,
    fields: &Fields<'_>,
    kind: &str,
    catalogue: &dyn EffectCatalogue,
) {
    let kinds = catalogue.kinds();
    let listen = kinds.iter().copied().filter(|kind| catalogue.has_side_chain(kind));
    let remedy = format!("take the key out; the kinds that listen are {}", list(listen));
    let cause = format!("an effect of the kind '{kind}' does not listen to a side chain");
    mistakes.report(fields.span_of(&schema::SIDE_CHAIN), cause, remedy);
}

fn report_without_events(
    mistakes: &Mistakes<'_>,
    fields: &Fields<'_>,
    kind: &str,
    catalogue: &dyn EffectCatalogue,
) {
    let kinds = catalogue.kinds();
    let hear = kinds.iter().copied().filter(|kind| catalogue.has_event_input(kind));
    let remedy = format!("take events out; the kinds with an event input are {}", list(hear));
    let cause = format!("an effect of the kind '{kind}' has no event input");
    mistakes.report(fields.span_of(&schema::EVENTS_FROM), cause, remedy);
}

fn report_unknown_kind(mistakes: &Mistakes<'_>, kind: At<&str>, catalogue: &dyn EffectCatalogue) {
    if is_plugin(kind.value) {
        let cause = format!("the plug-in '{}' cannot be used here", kind.value);
        let remedy = "`hocket plugin list` shows those that can, and why others cannot";
        mistakes.report(kind.span, cause, remedy);
        return;
    }
    let kinds = catalogue.kinds();
    let all = format!("the kinds are {}", list(kinds.iter().copied()));
    let remedy = match nearest(kind.value, kinds) {
        Some(near) => format!("did you mean '{near}'? {all}"),
        None => all,
    };
    mistakes.report(kind.span, format!("there is no effect of the kind '{}'", kind.value), remedy);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_parameter_may_have_the_name_of_a_key() {
        let keys = schema::EFFECT_TABLE.keys.iter().map(|key| key.name);
        assert!(keys.eq(hocket_plan::EFFECT_KEYS));
    }
}
