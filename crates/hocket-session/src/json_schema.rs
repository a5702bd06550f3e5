//! The format as JSON Schema, for editors: they complete keys and mark mistakes while one writes.

use hocket_plan::{EffectCatalogue, EventOutput, ParamSpec, is_plugin};
use serde_json::{Map, Value as Json, json};

use crate::schema::{self, Key, TABLES, Table, Value};

/// The schema of session files with the effects of `catalogue`, as JSON Schema 2020-12 with a line end behind it.
///
/// It is made of the tables that the reader uses. It says less than the reader: names are not looked up, files are not
/// opened, and points need not be sorted. JSON has no `-inf`, so a level may be `null`, which no TOML file can say.
pub fn json_schema(catalogue: &dyn EffectCatalogue) -> String {
    let mut schema = object(&schema::ROOT);
    schema.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
    schema.insert("title".into(), json!("Hocket session"));
    let tables =
        TABLES.iter().skip(1).map(|table| (definition(table.header), of_table(table, catalogue)));
    schema.insert("$defs".into(), Json::Object(tables.collect()));
    let text = serde_json::to_string_pretty(&Json::Object(schema));
    // Text and numbers always become JSON.
    text.unwrap_or_default() + "\n"
}

fn of_table(table: &Table, catalogue: &dyn EffectCatalogue) -> Json {
    let mut schema = object(table);
    if table.header == schema::EFFECT_TABLE.header {
        add_kinds(&mut schema, catalogue);
    }
    if table.header == schema::SESSION_TABLE.header {
        // A session may say nothing of itself.
        schema.remove("required");
    }
    Json::Object(schema)
}

/// A table with these keys and no others.
fn object(table: &Table) -> Map<String, Json> {
    let property = |key: &Key| (key.name.to_owned(), of_key(key));
    let required = table.keys.iter().filter(|key| key.default == schema::REQUIRED);
    let required: Vec<&str> = required.map(|key| key.name).collect();
    let mut schema = Map::new();
    schema.insert("type".into(), json!("object"));
    schema.insert("description".into(), json!(table.summary));
    schema.insert("properties".into(), Json::Object(table.keys.iter().map(property).collect()));
    schema.insert("additionalProperties".into(), json!(false));
    schema.insert("required".into(), json!(required));
    schema
}

/// `[[track.clip]]` as `track.clip`.
fn definition(header: &str) -> String {
    header.trim_matches(['[', ']']).to_owned()
}

/// The tables under a key: of the file itself, or those that strips share.
fn tables_of(name: &str) -> Json {
    let is = |table: &&&Table| {
        let own = definition(table.header);
        own == name || own.strip_prefix("track.") == Some(name)
    };
    let below = TABLES.iter().find(is).map_or(String::new(), |table| definition(table.header));
    json!({ "$ref": format!("#/$defs/{below}") })
}

fn of_key(key: &Key) -> Json {
    let mut schema = of_value(key);
    if let Json::Object(schema) = &mut schema {
        let default = match key.default {
            schema::REQUIRED => key.summary.to_owned(),
            default => format!("{} Default: {default}.", key.summary),
        };
        schema.insert("description".into(), json!(default));
    }
    schema
}

fn of_value(key: &Key) -> Json {
    match key.value {
        // Not empty, and no spaces alone.
        Value::Text => json!({ "type": "string", "pattern": "\\S" }),
        Value::Choice(words) => json!({ "enum": words }),
        Value::Flag => json!({ "type": "boolean" }),
        Value::Number { min, max, above_min: false } => number(min, max),
        Value::Number { min, max, above_min: true } => {
            json!({ "type": "number", "exclusiveMinimum": min, "maximum": max })
        }
        Value::Level { min, max } => json!({ "anyOf": [number(min, max), { "type": "null" }] }),
        Value::Whole { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Value::Count { max } => json!({ "anyOf": [
            { "type": "integer", "minimum": 1, "maximum": max },
            { "type": "string", "pattern": "^ *seats *([x*] *[0-9]+ *)?$" },
        ] }),
        Value::PlaceOrName => json!({ "anyOf": [
            { "type": "integer", "minimum": 1 },
            { "type": "string", "pattern": "\\S" },
        ] }),
        Value::Signature => {
            json!({ "type": "string", "pattern": "^ *[0-9]+ */ *(1|2|4|8|16|32|64) *$" })
        }
        Value::Points => json!({ "type": "array", "minItems": 1, "items": point() }),
        Value::Notes => json!({ "type": "array", "minItems": 1, "items": note() }),
        Value::Tables => json!({ "type": "array", "items": tables_of(key.name) }),
        Value::Table => tables_of(key.name),
    }
}

fn number(min: f64, max: f64) -> Json {
    json!({ "type": "number", "minimum": min, "maximum": max })
}

/// A note of a clip: with a velocity and a MIDI channel, or without.
fn note() -> Json {
    let length = json!({ "type": "number", "exclusiveMinimum": 0.0, "maximum": schema::MAX_S });
    let key = json!({ "type": "integer", "minimum": 0, "maximum": 127 });
    let channel = json!({ "type": "integer", "minimum": 1, "maximum": 16 });
    let parts = [number(0.0, schema::MAX_S), length, key, number(0.0, 1.0), channel];
    json!({ "type": "array", "minItems": 3, "maxItems": 5, "prefixItems": parts })
}

/// A point of a lane: with the way to the next one, or without.
fn point() -> Json {
    let (time, value) = (number(0.0, schema::MAX_S), json!({ "type": "number" }));
    let bend = number(-f64::from(hocket_time::MAX_CURVE), f64::from(hocket_time::MAX_CURVE));
    json!({ "anyOf": [
        {
            "type": "array",
            "minItems": 2,
            "maxItems": 3,
            "prefixItems": [time, value, { "enum": ["hold", "linear"] }],
        },
        {
            "type": "array",
            "minItems": 4,
            "maxItems": 4,
            "prefixItems": [time, value, { "enum": ["curve"] }, bend],
        },
    ] })
}

/// An effect has the parameters of its kind, a key only where the kind listens to one, and events only where it has an
/// input for them.
fn add_kinds(effect: &mut Map<String, Json>, catalogue: &dyn EffectCatalogue) {
    let kinds = catalogue.kinds();
    let mut rules = Vec::new();
    for kind in &kinds {
        let mut known: Map<String, Json> = Map::new();
        let takes_file = catalogue.takes_file(kind);
        for key in schema::EFFECT_TABLE.keys {
            let is_key = [schema::SIDE_CHAIN.name, schema::KEY_TAP.name].contains(&key.name);
            let is_events = key.name == schema::EVENTS_FROM.name;
            let is_state = [schema::STATE.name, schema::PRESET.name].contains(&key.name);
            let fits = !is_key || catalogue.has_side_chain(kind);
            let fits = fits && (!is_state || catalogue.takes_state(kind));
            let fits = fits && (key.name != schema::EFFECT_FILE.name || takes_file);
            let fits = fits && (key.name != schema::ISOLATE.name || is_plugin(kind));
            let sends = catalogue.event_output(kind) != EventOutput::None;
            let fits = fits && (key.name != schema::SEND_EVENTS.name || sends);
            if fits && (!is_events || catalogue.has_event_input(kind)) {
                known.insert(key.name.into(), json!(true));
            }
        }
        let params = catalogue.params(kind).unwrap_or_default();
        known.extend(params.iter().map(|param| (param.name.to_string(), of_param(param))));
        let mut then = json!({ "properties": known, "additionalProperties": false });
        if takes_file {
            then["required"] = json!([schema::EFFECT_FILE.name]);
        }
        rules.push(json!({
            "if": { "properties": { "kind": { "enum": [kind] } } },
            "then": then,
        }));
    }
    rules.push(of_plugins());
    // The rules know all keys of each kind.
    effect.remove("additionalProperties");
    effect.insert("allOf".into(), json!(rules));
    if let Some(kind) = effect.get_mut("properties").and_then(|keys| keys.get_mut("kind")) {
        *kind = json!({
            "anyOf": [{ "enum": kinds }, { "type": "string", "pattern": PLUGIN }],
            "description": schema::KIND.summary,
        });
    }
}

/// The kinds of plug-ins, which this text does not list: they differ from machine to machine.
const PLUGIN: &str = "^(lv2|clap|vst3):.";

/// A plug-in has parameters of any name.
fn of_plugins() -> Json {
    let keys = schema::EFFECT_TABLE.keys.iter().filter(|key| key.name != schema::EFFECT_FILE.name);
    let known = keys.map(|key| (key.name.to_owned(), json!(true)));
    let known: Map<String, Json> = known.collect();
    json!({
        "if": { "properties": { "kind": { "type": "string", "pattern": PLUGIN } }, "required": ["kind"] },
        "then": { "properties": known, "additionalProperties": { "type": "number" } },
    })
}

fn of_param(param: &ParamSpec) -> Json {
    let ParamSpec { summary, min, max, default, .. } = param;
    json!({
        "type": "number",
        "minimum": short(*min),
        "maximum": short(*max),
        "default": short(*default),
        "description": summary,
    })
}

/// The number that people would write: 0.98, where single precision has 0.9800000190734863.
fn short(value: f32) -> f64 {
    format!("{value:?}").parse().unwrap_or(f64::from(value))
}
