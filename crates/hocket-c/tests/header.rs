//! The C header is generated from this crate's sources. It is in the repository, so that a C programmer needs
//! no tool to read or use it. This test compares the two. With `cargo run -p xtask -- header` it writes the
//! header instead.

use std::path::Path;

/// If this variable is set, the test writes the header instead of comparing it.
const RENEW: &str = "HOCKET_RENEW_HEADER";

/// The text above the generated part.
const OPENING: &str = "\
// Hocket: a parallel real-time audio engine, for C and C++. MIT OR Apache-2.0.
//
// Generated from the sources of hocket-c (cargo run -p xtask -- header). Do not edit.
// docs/embedding.md describes the life of an engine, examples/c shows it.
//
// Every function requires these of its caller. It cites their letters under \"Safety\":
//
// P  pointers: a pointer is NULL only if the function allows it. Otherwise it points to a value of its
//    type during the call. Text is UTF-8 and ends in a zero byte. Rows do not overlap.
// H  handles: a handle comes from the function that makes it, and no call has taken it back yet.
// X  exclusive end: while a call takes a handle back, no other call with that handle runs.
// G  one builder: only one thread at a time uses a graph.
// C  callbacks: they return normally (no exception, no longjmp). Any thread may call process, but never
//    two threads at once for one node.
// O  own calls: what a processor got in its join is used only inside the processor's own callbacks, by one
//    thread at a time. No pass of a spread loop uses it.
// S  spread passes: several threads may call the body of a spread loop at the same time, with different
//    passes. It writes only what belongs to its pass.";

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

/// cbindgen follows the modules from the crate's root. It needs no other cargo, no compiler and no network.
fn generated() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).unwrap();
    let builder = cbindgen::Builder::new().with_config(config).with_header(OPENING);
    let mut text = Vec::new();
    builder.with_src(folder.join("src/lib.rs")).generate().unwrap().write(&mut text);
    String::from_utf8(text).unwrap()
}
