//! The C header is made of this crate's sources and stands in the repository, so that a C programmer
//! needs no tool to read or use it. This test keeps the two the same; `cargo run -p xtask -- header`
//! runs it in a way that writes the header anew.

use std::path::Path;

/// Set: write the header instead of comparing it.
const RENEW: &str = "HOCKET_RENEW_HEADER";

/// What stands above everything that is generated.
const OPENING: &str = "\
// Hocket: a parallel real-time audio engine, for C and C++. MIT OR Apache-2.0.
//
// Made of the sources of hocket-c (cargo run -p xtask -- header); do not edit.
// docs/embedding.md tells the life of an engine, examples/c shows it.
//
// What every function asks of its caller, by the letters under \"Safety\":
//
// P  pointers: NULL where the function says that it may be, and otherwise to what the type says, for
//    as long as the call lasts. Text is UTF-8 and ends in a zero byte. Rows do not overlap.
// H  handles: from the function that makes them, and not yet given to the one that takes them back.
// X  exclusive end: while a handle is given back, no other call with it is running.
// G  one builder: a graph is used by one thread at a time.
// C  callbacks: they come back the ordinary way (no exception, no longjmp); process may be called on
//    any thread, never twice at once for one node.";

#[test]
fn the_header_is_what_the_sources_say() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/hocket.h");
    let made = generated();
    if std::env::var_os(RENEW).is_some() {
        return std::fs::write(&file, made).unwrap();
    }
    let stands = std::fs::read_to_string(&file).unwrap_or_default();
    let differs = stands.lines().zip(made.lines()).position(|(stands, made)| stands != made);
    let line = differs.unwrap_or(stands.lines().count().min(made.lines().count())) + 1;
    assert!(
        stands == made,
        "{}:{line}: not what the sources say; run `cargo run -q -p xtask -- header`",
        file.display()
    );
}

/// The sources' modules are followed from the crate's root: no other cargo, no compiler, no network.
fn generated() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).unwrap();
    let builder = cbindgen::Builder::new().with_config(config).with_header(OPENING);
    let mut text = Vec::new();
    builder.with_src(folder.join("src/lib.rs")).generate().unwrap().write(&mut text);
    String::from_utf8(text).unwrap()
}
