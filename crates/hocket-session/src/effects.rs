//! Effects of a chain, checked against the catalogue.

use hocket_plan::{Effect, EffectCatalogue};

use crate::error::SessionError;
use crate::fields::{At, Fields};
use crate::schema;
use crate::source::Source;
use crate::suggest::{list, nearest};

/// The chain of a strip.
pub(crate) fn chain(
    source: &Source,
    strip: &Fields<'_>,
    catalogue: &dyn EffectCatalogue,
) -> Result<Vec<Effect>, SessionError> {
    let tables = strip.open_tables(&schema::EFFECTS, &schema::EFFECT_TABLE)?;
    tables.iter().map(|fields| effect(source, fields, catalogue)).collect()
}

fn effect(
    source: &Source,
    fields: &Fields<'_>,
    catalogue: &dyn EffectCatalogue,
) -> Result<Effect, SessionError> {
    let kind = fields.require_text(&schema::KIND)?;
    let Some(params) = catalogue.params(kind.value) else {
        return Err(unknown_kind(source, kind, catalogue));
    };
    let names: Vec<&str> = params.iter().map(|param| param.name).collect();
    fields.refuse_unknown(&names)?;
    let values: Result<_, SessionError> =
        params.iter().map(|param| fields.parameter(param)).collect();
    Ok(Effect {
        kind: kind.value.to_owned(),
        values: values?,
        bypass: fields.flag(&schema::BYPASS)?,
    })
}

fn unknown_kind(source: &Source, kind: At<&str>, catalogue: &dyn EffectCatalogue) -> SessionError {
    let kinds = catalogue.kinds();
    let all = format!("the kinds are {}", list(kinds.iter().copied()));
    let remedy = match nearest(kind.value, kinds) {
        Some(near) => format!("did you mean '{near}'? {all}"),
        None => all,
    };
    source.error(kind.span, format!("there is no effect of the kind '{}'", kind.value), remedy)
}
