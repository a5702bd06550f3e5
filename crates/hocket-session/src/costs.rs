//! Cost tables as files (TOML): measured costs of a session, for the next time it plays.
//!
//! ```toml
//! format = "hocket-costs/1"
//! frames = 64
//! rate_hz = 48000
//! machine = "the processor's model"
//!
//! [[chain]]
//! name = "drums: clips, gate, pan"
//! kind = 0
//! alone_ns = 1834.2
//! shared_ns = 2790.0
//! ```

use std::fmt::Write;
use std::path::Path;

use hocket_plan::{ChainCost, CostTable};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::Span;
use crate::error::SessionError;
use crate::source::{Source, What};

/// Name and version of the format, the first key of the file.
pub const COST_FORMAT: &str = "hocket-costs/1";

/// The longest credible time: ten seconds per block.
const MAX_NS: f64 = 10e9;
const FILE_KEYS: [&str; 5] = ["format", "frames", "rate_hz", "machine", "chain"];
const CHAIN_KEYS: [&str; 4] = ["name", "kind", "alone_ns", "shared_ns"];
/// What to do about a file that may be somebody else's: Hocket cannot tell, so it does not ask to delete it.
const ANOTHER_FILE: &str =
    "name another file; if Hocket wrote this one, move it away: Hocket then writes a new one";

type Read<T> = Result<T, SessionError>;

/// Reads a cost table.
///
/// Thread: control; does file I/O. Cost: O(length of the file).
///
/// # Errors
/// [`SessionError`] for the first mistake, with its place.
pub fn read_costs(path: &Path) -> Read<CostTable> {
    let source = Source::read(path, What::Costs)?;
    let document = DeTable::parse(source.text()).map_err(|error| syntax(&source, &error))?;
    let file = Table { source: &source, table: document.get_ref(), span: 0..0 };
    // Before the keys: those of another format, or of somebody else's file, are no mistakes to mend.
    let (format, span) = file.text("format")?;
    if format != COST_FORMAT {
        let cause = format!("this is a table of the format '{format}', not '{COST_FORMAT}'");
        return Err(source.error(span, cause, ANOTHER_FILE));
    }
    file.refuse_unknown(&FILE_KEYS)?;
    let rows = file.tables("chain")?.iter().map(row).collect::<Read<Vec<_>>>()?;
    refuse_twice(&file, &rows)?;
    Ok(CostTable {
        frames: file.whole("frames", 1, 1 << 20)? as u32,
        rate_hz: file.whole("rate_hz", 1, 10_000_000)? as u32,
        machine: file.text("machine")?.0,
        rows,
    })
}

/// The file that [`read_costs`] reads back as the same table.
pub fn costs_text(table: &CostTable) -> String {
    let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
    let mut out = String::from(
        "# Measured costs of a block of this session, chain by chain (hocket play --costs).\n",
    );
    let (machine, frames, rate) = (quoted(&table.machine), table.frames, table.rate_hz);
    let _ = writeln!(out, "format = \"{COST_FORMAT}\"\nframes = {frames}\nrate_hz = {rate}");
    let _ = writeln!(out, "machine = {machine}");
    for row in &table.rows {
        let _ = writeln!(out, "\n[[chain]]\nname = {}\nkind = {}", quoted(&row.chain), row.kind);
        for (key, ns) in [("alone_ns", row.alone_ns), ("shared_ns", row.shared_ns)] {
            if let Some(ns) = ns {
                let _ = writeln!(out, "{key} = {ns:?}");
            }
        }
    }
    out
}

fn row(table: &Table) -> Read<ChainCost> {
    table.refuse_unknown(&CHAIN_KEYS)?;
    Ok(ChainCost {
        chain: table.text("name")?.0,
        kind: table.whole("kind", 0, 3)? as usize,
        alone_ns: table.time("alone_ns")?,
        shared_ns: table.time("shared_ns")?,
    })
}

fn refuse_twice(file: &Table, rows: &[ChainCost]) -> Read<()> {
    let mut seen = std::collections::HashSet::new();
    for (row, table) in rows.iter().zip(file.tables("chain")?) {
        if !seen.insert((&row.chain, row.kind)) {
            let cause = format!("the chain '{}' has kind {} twice", row.chain, row.kind);
            return Err(file.source.error(table.span, cause, "keep one of the two"));
        }
    }
    Ok(())
}

fn syntax(source: &Source, error: &toml::de::Error) -> SessionError {
    let cause = format!("this is not TOML: {}", error.message().replace('\n', ", "));
    source.error(error.span().unwrap_or(0..0), cause, ANOTHER_FILE)
}

/// A table of the file, and its place.
struct Table<'a> {
    source: &'a Source,
    table: &'a DeTable<'a>,
    span: Span,
}

impl<'a> Table<'a> {
    fn refuse_unknown(&self, known: &[&str]) -> Read<()> {
        match self.table.keys().find(|key| !known.contains(&key.get_ref().as_ref())) {
            None => Ok(()),
            Some(key) => {
                let cause = format!("a cost table has no key '{}' here", key.get_ref());
                Err(self.source.error(key.span(), cause, format!("keys are {}", known.join(", "))))
            }
        }
    }

    fn get(&self, key: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.table.get(key)
    }

    fn require(&self, key: &str) -> Read<&'a Spanned<DeValue<'a>>> {
        self.get(key).ok_or_else(|| {
            self.source.error(self.span.clone(), format!("'{key}' is missing"), ANOTHER_FILE)
        })
    }

    fn wrong(&self, key: &str, span: Span, must: &str) -> SessionError {
        self.source.error(span, format!("'{key}' must be {must}"), format!("write {must}"))
    }

    fn text(&self, key: &str) -> Read<(String, Span)> {
        let value = self.require(key)?;
        let text = value.get_ref().as_str().map(|text| (text.to_owned(), value.span()));
        text.ok_or_else(|| self.wrong(key, value.span(), "a text in quotes"))
    }

    fn whole(&self, key: &str, min: u64, max: u64) -> Read<u64> {
        let value = self.require(key)?;
        let number = value.get_ref().as_integer().and_then(|n| n.as_str().parse::<u64>().ok());
        let number = number.filter(|number| (min..=max).contains(number));
        let must = || format!("a whole number from {min} to {max}");
        number.ok_or_else(|| self.wrong(key, value.span(), &must()))
    }

    fn time(&self, key: &str) -> Read<Option<f64>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let number = match value.get_ref() {
            DeValue::Float(number) => number.as_str().parse::<f64>().ok(),
            DeValue::Integer(number) => number.as_str().parse::<f64>().ok(),
            _ => None,
        };
        let number = number.filter(|ns| (0.0..=MAX_NS).contains(ns));
        let must = "a time in nanoseconds, from 0 to 10000000000";
        number.map(Some).ok_or_else(|| self.wrong(key, value.span(), must))
    }

    fn tables(&self, key: &str) -> Read<Vec<Table<'a>>> {
        let Some(value) = self.get(key) else { return Ok(Vec::new()) };
        let list = value.get_ref().as_array();
        let list = list.ok_or_else(|| self.wrong(key, value.span(), "a list of tables"))?;
        let table = |item: &'a Spanned<DeValue<'a>>| {
            let table = item.get_ref().as_table();
            let table = table.ok_or_else(|| self.wrong(key, item.span(), "a list of tables"))?;
            Ok(Table { source: self.source, table, span: item.span() })
        };
        list.iter().map(table).collect()
    }
}
