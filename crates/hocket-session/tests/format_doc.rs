//! The tables in `docs/session-format.md` are those of the schema, and its examples load.
//! To renew the tables: `HOCKET_RENEW_DOCS=1 cargo test -p hocket-session --test format_doc`

mod common;

use std::path::PathBuf;

use common::Documented;
use hocket_session::schema::{Key, TABLES, Table, Value};
use hocket_session::{LoadOptions, load};

const RENEW: &str = "HOCKET_RENEW_DOCS=1 cargo test -p hocket-session --test format_doc";
const CLOSE: &str = "<!-- end of keys -->";

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/session-format.md")
}

fn text() -> String {
    std::fs::read_to_string(path()).expect("docs/session-format.md can be read")
}

fn row(key: &Key) -> String {
    let Key { name, value, default, summary } = key;
    let value = match value {
        Value::Tables => format!("tables `[[...{name}]]`"),
        Value::Table => format!("table `[{name}]`"),
        other => other.allowed(),
    };
    format!("| `{name}` | {value} | {default} | {summary} |\n")
}

fn rows(table: &Table) -> String {
    let head = "| key | value | default | meaning |\n|---|---|---|---|\n";
    let rows: String = table.keys.iter().map(row).collect();
    format!("{}\n\n{head}{rows}", table.summary)
}

/// The text with the part between the table's marks replaced by its keys.
fn with_keys(text: &str, table: &Table) -> Result<String, String> {
    let open = format!("<!-- keys of {} -->\n", table.header);
    let missing = || format!("the document has no `{}` followed by `{CLOSE}`", open.trim());
    let start = text.find(&open).ok_or_else(missing)? + open.len();
    let end = start + text[start..].find(CLOSE).ok_or_else(missing)?;
    Ok(format!("{}{}{}", &text[..start], rows(table), &text[end..]))
}

#[test]
fn every_key_is_in_the_document_as_the_schema_has_it() {
    let old = text();
    let renewed = TABLES.iter().try_fold(old.clone(), |text, table| with_keys(&text, table));
    let new = renewed.unwrap_or_else(|missing| panic!("{missing}"));
    if std::env::var_os("HOCKET_RENEW_DOCS").is_some() {
        // In one step, because the other test reads it at the same time.
        let aside = path().with_extension("md.new");
        std::fs::write(&aside, new).expect("a file can be written beside the document");
        std::fs::rename(&aside, path()).expect("docs/session-format.md can be replaced");
        return;
    }
    assert!(
        old == new,
        "docs/session-format.md is not that of the schema; renew it with\n    {RENEW}"
    );
}

#[test]
fn its_examples_load_without_warnings() {
    let text = text();
    let examples: Vec<&str> = text
        .split("<!-- example -->\n```toml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert_eq!(examples.len(), 5);
    for example in examples {
        let folder = common::Folder::new();
        for name in ["audio/drums.wav", "audio/voice.wav"] {
            std::fs::write(folder.path(name), b"RIFF").expect("a file in the test's folder");
        }
        std::fs::create_dir(folder.path("midi")).expect("a folder in the test's folder");
        std::fs::write(folder.path("midi/bass.mid"), common::midi()).expect("a file there");
        let path = folder.path("example.toml");
        std::fs::write(&path, example).expect("the example can be written");
        let loaded = load(&path, &Documented::read(), &LoadOptions::for_seats(4));
        let loaded = loaded.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(loaded.warnings, Vec::<String>::new());
    }
}
