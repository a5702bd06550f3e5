//! Effects of a chain, checked against the catalogue.

use hocket_plan::session::StripId;
use hocket_plan::{Effect, EffectCatalogue, Key};

use crate::fields::{At, Fields};
use crate::mistakes::Mistakes;
use crate::ports::tap;
use crate::routing::Names;
use crate::schema;
use crate::suggest::{list, nearest};

/// The chain of a strip; without the effects of which not even the kind is right.
pub(crate) fn chain(
    mistakes: &Mistakes<'_>,
    names: &mut Names<'_>,
    (strip, id): (&Fields<'_>, StripId),
    catalogue: &dyn EffectCatalogue,
) -> Vec<Effect> {
    let tables = strip.open_tables(&schema::EFFECTS, &schema::EFFECT_TABLE);
    tables.iter().filter_map(|fields| effect(mistakes, names, (fields, id), catalogue)).collect()
}

fn effect(
    mistakes: &Mistakes<'_>,
    names: &mut Names<'_>,
    (fields, id): (&Fields<'_>, StripId),
    catalogue: &dyn EffectCatalogue,
) -> Option<Effect> {
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
    Some(Effect {
        kind: kind.value.to_owned(),
        values: params.iter().map(|param| fields.parameter(param)).collect(),
        bypass: fields.flag(&schema::BYPASS, false),
        key: key(mistakes, names, (fields, id)),
        events: fields.text(&schema::EVENTS_FROM).and_then(|name| names.track(name)),
        state: None,
        state_file: None,
    })
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
    let kinds = catalogue.kinds();
    let all = format!("the kinds are {}", list(kinds.iter().copied()));
    let remedy = match nearest(kind.value, kinds) {
        Some(near) => format!("did you mean '{near}'? {all}"),
        None => all,
    };
    mistakes.report(kind.span, format!("there is no effect of the kind '{}'", kind.value), remedy);
}
