//! The C header is made of the sources of hocket-c and stands in the repository, so that a C
//! programmer needs no tool to read or use it; this check keeps the two the same.

use std::path::{Path, PathBuf};

use crate::finding::Finding;

/// The crate whose functions C programs call.
const CRATE: &str = "crates/hocket-c";
/// The header, relative to the workspace root.
const HEADER: &str = "crates/hocket-c/include/hocket.h";

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
//    any thread, never twice at once for one node.
";

/// Compares the header with what the sources say.
pub fn check(root: &Path) -> Result<Vec<Finding>, String> {
    // Copies of the workspace that hold manifests only have nothing to compare.
    if !root.join(CRATE).join("cbindgen.toml").exists() {
        return Ok(Vec::new());
    }
    let stands = std::fs::read_to_string(root.join(HEADER)).unwrap_or_default();
    let made = generate(root)?;
    let differs = stands.lines().zip(made.lines()).position(|(stands, made)| stands != made);
    Ok((stands != made)
        .then(|| Finding {
            file: HEADER.into(),
            line: Some(differs.unwrap_or(stands.lines().count().min(made.lines().count())) + 1),
            rule: "header-is-made",
            what: "the header is not what the sources say".into(),
            remedy: "run `cargo run -q -p xtask -- header`".into(),
        })
        .into_iter()
        .collect())
}

/// Writes the header and returns its path.
pub fn write(root: &Path) -> Result<PathBuf, String> {
    let file = root.join(HEADER);
    std::fs::write(&file, generate(root)?)
        .map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(file)
}

/// The sources' modules are followed from the crate's root; no cargo, no compiler, no network.
fn generate(root: &Path) -> Result<String, String> {
    let folder = root.join(CRATE);
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml"))?;
    let bindings = cbindgen::Builder::new()
        .with_config(config)
        .with_header(OPENING.trim_end())
        .with_src(folder.join("src/lib.rs"))
        .generate()
        .map_err(|error| error.to_string())?;
    let mut text = Vec::new();
    bindings.write(&mut text);
    String::from_utf8(text).map_err(|error| error.to_string())
}
