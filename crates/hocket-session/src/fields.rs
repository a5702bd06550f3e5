//! Reads one table of the file by its schema. What is wrong is reported, and reading goes on.

use hocket_plan::ParamSpec;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::Span;
use crate::mistakes::Mistakes;
use crate::schema::{Key, TABLES, Table, Value};
use crate::suggest::{list, nearest};

/// A value, and its place.
#[derive(Debug, Clone)]
pub(crate) struct At<T> {
    pub(crate) value: T,
    pub(crate) span: Span,
}

/// One table of the file.
pub(crate) struct Fields<'a> {
    mistakes: &'a Mistakes<'a>,
    table: &'a DeTable<'a>,
    schema: &'static Table,
    /// The header, or the braces of an inline table.
    pub(crate) span: Span,
    /// Whether keys that the schema does not know are reported already.
    closed: bool,
}

/// Bytes of a text. No name needs more, and no path may have more on Linux; copies of a track each have their name.
const LONGEST_TEXT: usize = 4096;

impl<'a> Fields<'a> {
    /// The whole file.
    pub(crate) fn root(
        mistakes: &'a Mistakes<'a>,
        table: &'a DeTable<'a>,
        schema: &'static Table,
    ) -> Fields<'a> {
        Fields { mistakes, table, schema, span: 0..0, closed: false }.closed()
    }

    /// A table whose keys are those of the schema.
    fn open(&self, value: &'a Spanned<DeValue<'a>>, schema: &'static Table) -> Option<Fields<'a>> {
        self.open_any(value, schema).map(Fields::closed)
    }

    fn closed(mut self) -> Fields<'a> {
        self.refuse_unknown(&[]);
        self.closed = true;
        self
    }

    fn open_any(
        &self,
        value: &'a Spanned<DeValue<'a>>,
        schema: &'static Table,
    ) -> Option<Fields<'a>> {
        let (mistakes, span) = (self.mistakes, value.span());
        let Some(table) = value.get_ref().as_table() else {
            let found = describe(value.get_ref());
            let cause = format!("{} must be a table, this is {found}", schema.header);
            let remedy = format!("write {} and its keys below it", schema.header);
            mistakes.report(span, cause, remedy);
            return None;
        };
        Some(Fields { mistakes, table, schema, span, closed: false })
    }

    /// The single table under `key`.
    pub(crate) fn table(&self, key: &Key, schema: &'static Table) -> Option<Fields<'a>> {
        let value = self.get(key)?;
        if value.get_ref().is_array() {
            let cause = format!("there is only one {}, this is a list of tables", schema.header);
            let remedy = format!("write {} with single brackets, once", schema.header);
            self.mistakes.report(value.span(), cause, remedy);
            return None;
        }
        self.open(value, schema)
    }

    /// The tables under `key`, in file order; none where the key is missing.
    pub(crate) fn tables(&self, key: &Key, schema: &'static Table) -> Vec<Fields<'a>> {
        self.list(key, schema).filter_map(|value| self.open(value, schema)).collect()
    }

    /// Like [`Fields::tables`], with keys that the schema does not know.
    pub(crate) fn open_tables(&self, key: &Key, schema: &'static Table) -> Vec<Fields<'a>> {
        self.list(key, schema).filter_map(|value| self.open_any(value, schema)).collect()
    }

    fn list(
        &self,
        key: &Key,
        schema: &'static Table,
    ) -> impl Iterator<Item = &'a Spanned<DeValue<'a>>> + use<'a> {
        let Some(value) = self.get(key) else { return [].iter() };
        let Some(list) = value.get_ref().as_array() else {
            let found = describe(value.get_ref());
            let header = schema.header;
            let cause = format!("'{}' must be a list of tables, this is {found}", key.name);
            let remedy = format!("write {header} with double brackets before each one");
            self.mistakes.report(value.span(), cause, remedy);
            return [].iter();
        };
        list.iter()
    }

    /// Number of tables under `key`.
    pub(crate) fn length(&self, key: &Key) -> usize {
        self.get(key).and_then(|list| list.get_ref().as_array()).map_or(0, |list| list.len())
    }

    /// Whether the file gives `key` a value, right or wrong.
    pub(crate) fn has(&self, key: &Key) -> bool {
        self.get(key).is_some()
    }

    fn get(&self, key: &Key) -> Option<&'a Spanned<DeValue<'a>>> {
        self.table.get(key.name)
    }

    /// The place of a key's value; that of the table where the key is missing.
    pub(crate) fn span_of(&self, key: &Key) -> Span {
        self.get(key).map_or(self.span.clone(), Spanned::span)
    }

    /// The items of a list that must be there.
    pub(crate) fn require_items(&self, key: &Key) -> Option<&'a [Spanned<DeValue<'a>>]> {
        let Some(found) = self.get(key) else {
            self.report_missing(key, key.value.allowed());
            return None;
        };
        match found.get_ref().as_array() {
            Some(items) => Some(items),
            None => self.wrong_type(key, found),
        }
    }

    /// A number in the key's range that must be there.
    pub(crate) fn require_number(&self, key: &Key) -> Option<At<f64>> {
        if !self.has(key) {
            self.report_missing(key, key.value.allowed());
        }
        self.number(key)
    }

    /// A place in a list, counted from 1 in the file, or a name in it.
    pub(crate) fn place_or_name(&self, key: &Key) -> Option<PlaceOrName<'a>> {
        match self.is_text(key) {
            true => self.text(key).map(PlaceOrName::Name),
            false => self.whole(key).map(|At { value, span }| {
                let value = usize::try_from(value - 1).unwrap_or(usize::MAX);
                PlaceOrName::Place(At { value, span })
            }),
        }
    }

    /// Reports a key that is missing and was not meant by a misspelt one.
    fn report_missing(&self, key: &Key, value: String) {
        if !self.is_misspelt(key) {
            let cause = format!("'{}' is missing in {}", key.name, self.schema.header);
            let remedy = format!("add {} = {value}: {}", key.name, sentence(key.summary));
            self.mistakes.report(self.span.clone(), cause, remedy);
        }
    }

    /// Text that must be there.
    pub(crate) fn require_text(&self, key: &Key) -> Option<At<&'a str>> {
        if !self.has(key) {
            self.report_missing(key, "\"...\"".into());
        }
        self.text(key)
    }

    /// Whether an unknown key, which is reported already, was meant to be this one.
    fn is_misspelt(&self, key: &Key) -> bool {
        let known = || self.schema.keys.iter().map(|key| key.name);
        let unknown = self.unknown(&[]);
        self.closed && unknown.iter().any(|(name, _)| nearest(name, known()) == Some(key.name))
    }

    /// Text that is not empty, not too long, and has no control characters.
    pub(crate) fn text(&self, key: &Key) -> Option<At<&'a str>> {
        let found = self.get(key)?;
        let Some(value) = found.get_ref().as_str() else { return self.wrong_type(key, found) };
        let problem = if value.trim().is_empty() {
            "is empty"
        } else if value.len() > LONGEST_TEXT {
            "is longer than 4096 bytes"
        } else if value.chars().any(char::is_control) {
            "has a control character in it"
        } else {
            return Some(At { value, span: found.span() });
        };
        let remedy = format!("give it a text: {}", sentence(key.summary));
        self.mistakes.report(found.span(), format!("'{}' {problem}", key.name), remedy);
        None
    }

    /// One of the key's words, as its place among them.
    pub(crate) fn choice(&self, key: &Key) -> Option<usize> {
        let (Some(At { value, span }), Value::Choice(words)) = (self.text(key), key.value) else {
            return None;
        };
        let place = words.iter().position(|word| *word == value);
        if place.is_none() {
            let cause = format!("'{}' cannot be '{value}'", key.name);
            self.mistakes.report(span, cause, format!("write {}", key.value.allowed()));
        }
        place
    }

    /// `otherwise` if the key is missing.
    pub(crate) fn flag(&self, key: &Key, otherwise: bool) -> bool {
        let Some(found) = self.get(key) else { return otherwise };
        found.get_ref().as_bool().or_else(|| self.wrong_type(key, found)).unwrap_or(otherwise)
    }

    /// A number in the key's range.
    pub(crate) fn number(&self, key: &Key) -> Option<At<f64>> {
        let found = self.get(key)?;
        let Some(value) = number(found.get_ref()) else { return self.wrong_type(key, found) };
        let fits = match key.value {
            Value::Number { min, max, above_min } => {
                value <= max && if above_min { value > min } else { value >= min }
            }
            Value::Level { min, max } => value == f64::NEG_INFINITY || (min..=max).contains(&value),
            _ => true,
        };
        match fits {
            true => Some(At { value, span: found.span() }),
            false => self.out_of_range(key.name, found, &key.value.allowed()),
        }
    }

    /// A number in the key's range; 0 if the key is missing.
    pub(crate) fn number_or_zero(&self, key: &Key) -> f64 {
        self.number(key).map_or(0.0, |found| found.value)
    }

    /// A number without a fraction in the key's range.
    pub(crate) fn whole(&self, key: &Key) -> Option<At<i64>> {
        let found = self.get(key)?;
        let Some(value) = whole(found.get_ref()) else { return self.wrong_type(key, found) };
        let (min, max) = match key.value {
            Value::Whole { min, max } => (min, max),
            Value::Count { max } => (1, max),
            Value::PlaceOrName => (1, i64::MAX),
            _ => (i64::MIN, i64::MAX),
        };
        match (min..=max).contains(&value) {
            true => Some(At { value, span: found.span() }),
            false => self.out_of_range(key.name, found, &key.value.allowed()),
        }
    }

    /// Whether the value under `key` is text.
    pub(crate) fn is_text(&self, key: &Key) -> bool {
        self.get(key).is_some_and(|found| found.get_ref().is_str())
    }

    /// The parameter of an effect, in its range or the default.
    pub(crate) fn parameter(&self, param: &ParamSpec) -> f32 {
        let ParamSpec { min, max, default, .. } = *param;
        let (name, summary) = (&*param.name, &*param.summary);
        let Some(found) = self.table.get(name) else { return default };
        let allowed = || match sentence(summary) {
            "" => format!("a number from {min} to {max}"),
            summary => format!("a number from {min} to {max}: {summary}"),
        };
        let Some(value) = number(found.get_ref()) else {
            let remedy = format!("write {name} = {}", allowed());
            self.mistakes.report(found.span(), mistyped(name, found.get_ref()), remedy);
            return default;
        };
        // In f32, because the ends of the range are f32 and 0.98 written in the file must be one.
        let value = value as f32;
        match (min..=max).contains(&value) {
            true => value,
            false => self.out_of_range(name, found, &allowed()).unwrap_or(default),
        }
    }

    /// Reports the keys that neither the schema nor `more` knows.
    pub(crate) fn refuse_unknown(&self, more: &[&str]) {
        for (name, span) in self.unknown(more) {
            self.report_unknown(name, span, more);
        }
    }

    /// The keys that neither the schema nor `more` knows, in file order.
    fn unknown(&self, more: &[&str]) -> Vec<(&'a str, Span)> {
        let known = |name: &str| {
            more.contains(&name) || self.schema.keys.iter().any(|key| key.name == name)
        };
        let names = self.table.keys().filter(|name| !known(name.get_ref()));
        let mut unknown: Vec<(&str, Span)> =
            names.map(|name| (name.get_ref().as_ref(), name.span())).collect();
        unknown.sort_by_key(|(_, span)| span.start);
        unknown
    }

    fn report_unknown(&self, name: &str, span: Span, more: &[&str]) {
        let header = self.schema.header;
        let known: Vec<&str> =
            self.schema.keys.iter().map(|key| key.name).chain(more.iter().copied()).collect();
        let remedy = if let Some(near) = nearest(name, known.iter().copied()) {
            format!("did you mean '{near}'?")
        } else if let Some(owner) = owner(name, header) {
            format!("'{name}' belongs to {owner}: a key belongs to the last header above it")
        } else {
            format!("the keys here are {}", list(known))
        };
        self.mistakes.report(span, format!("unknown key '{name}' in {header}"), remedy);
    }

    fn wrong_type<T>(&self, key: &Key, found: &Spanned<DeValue<'_>>) -> Option<T> {
        let cause = mistyped(key.name, found.get_ref());
        let remedy = format!("write {} = {}", key.name, key.value.allowed());
        self.mistakes.report(found.span(), cause, remedy);
        None
    }

    fn out_of_range<T>(
        &self,
        name: &str,
        found: &Spanned<DeValue<'_>>,
        allowed: &str,
    ) -> Option<T> {
        let text = self.mistakes.source().text().get(found.span()).unwrap_or_default();
        let cause = format!("{name} = {text} is out of range");
        self.mistakes.report(found.span(), cause, format!("write {allowed}"));
        None
    }
}

/// Which part of a strip is meant.
pub(crate) enum PlaceOrName<'a> {
    /// Its place, from 0.
    Place(At<usize>),
    /// Its name.
    Name(At<&'a str>),
}

/// The table that has such a key, where this one has not.
fn owner(name: &str, header: &str) -> Option<&'static str> {
    let has =
        |table: &&&Table| table.header != header && table.keys.iter().any(|key| key.name == name);
    let table = TABLES.iter().skip(1).find(has)?;
    Some(table.header)
}

fn mistyped(name: &str, found: &DeValue<'_>) -> String {
    format!("'{name}' cannot be {}", describe(found))
}

/// `a text`, `a number`: for messages.
pub(crate) fn describe(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

pub(crate) fn number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Float(float) => float.as_str().parse().ok(),
        DeValue::Integer(_) => whole(value).map(|whole| whole as f64),
        _ => None,
    }
}

/// A whole number; one that no 64 bits hold is the nearest that they do, and so out of any range.
pub(crate) fn whole(value: &DeValue<'_>) -> Option<i64> {
    let DeValue::Integer(integer) = value else { return None };
    let text = integer.as_str();
    let end = if text.starts_with('-') { i64::MIN } else { i64::MAX };
    Some(i64::from_str_radix(text, integer.radix()).unwrap_or(end))
}

/// A summary as part of a sentence: without its full stop.
fn sentence(summary: &str) -> &str {
    summary.trim_end_matches('.')
}
