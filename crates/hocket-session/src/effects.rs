//! Effects of a chain, checked against the catalogue.

use hocket_plan::{Effect, EffectCatalogue};

use crate::fields::{At, Fields};
use crate::mistakes::Mistakes;
use crate::schema;
use crate::suggest::{list, nearest};

/// The chain of a strip; without the effects of which not even the kind is right.
pub(crate) fn chain(
    mistakes: &Mistakes<'_>,
    strip: &Fields<'_>,
    catalogue: &dyn EffectCatalogue,
) -> Vec<Effect> {
    let tables = strip.open_tables(&schema::EFFECTS, &schema::EFFECT_TABLE);
    tables.iter().filter_map(|fields| effect(mistakes, fields, catalogue)).collect()
}

fn effect(
    mistakes: &Mistakes<'_>,
    fields: &Fields<'_>,
    catalogue: &dyn EffectCatalogue,
) -> Option<Effect> {
    let kind = fields.require_text(&schema::KIND)?;
    let Some(params) = catalogue.params(kind.value) else {
        report_unknown_kind(mistakes, kind, catalogue);
        return None;
    };
    let names: Vec<&str> = params.iter().map(|param| param.name).collect();
    fields.refuse_unknown(&names);
    Some(Effect {
        kind: kind.value.to_owned(),
        values: params.iter().map(|param| fields.parameter(param)).collect(),
        bypass: fields.flag(&schema::BYPASS, false),
    })
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
