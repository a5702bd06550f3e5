//! Which projects are what the format's schema allows: exports of other programs, copies of them, and our example.

mod common;

use std::path::Path;

use common::{HOW, shared};
use hocket_dawproject::{Import, Imported, import, import_text};

fn read(path: &Path) -> Imported {
    let how = Import { checks_schema: true, ..HOW };
    let imported = if path.extension().is_some_and(|ending| ending == "xml") {
        import_text(std::fs::read_to_string(path).expect("it is there"), &how)
    } else {
        let folder = tempfile::tempdir().expect("a folder");
        import(path, &folder.path().join("audio"), &how)
    };
    imported.unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// `xmllint` says the same of all of these, but for the order of elements, which Hocket does not look at.
#[test]
fn exports_of_other_programs_are_what_the_schema_allows() {
    let Some(data) = shared("exports_of_other_programs_are_what_the_schema_allows") else { return };
    for name in [
        "real/audio-regions-bitwig-5.3.12.dawproject",
        "real/automation-bitwig-5.3.12.dawproject",
        "real/bitwig-readme-example.project.xml",
        "real/canon-bitwig-5.1.6.dawproject",
        "real/eq-bitwig-5.3.12.dawproject",
        "real/note-regions-bitwig-5.3.12.dawproject",
        "derived/automation-v1-bitwig-5.3.12-media-removed.dawproject",
        // These two have elements in another order.
        "derived/canon-children-reordered.dawproject",
        "real/canon-rewritten-by-hifa-lang-invalid.dawproject",
    ] {
        assert_eq!(read(&data.join(name)).deviations, [""; 0], "{name}");
    }
}

#[test]
fn the_example_is_what_the_schema_allows() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sessions/pulse.dawproject");
    assert_eq!(read(&path).deviations, [""; 0]);
}

/// The cost of a look: nobody pays for what nobody asked for.
#[test]
fn deviations_are_looked_for_only_if_asked_for() {
    let text = "<Project version=\"1.0\"><Hat/><Structure><Track/></Structure></Project>";
    let read = |how: &Import<'_>| import_text(text.to_owned(), how).expect("it is read");
    assert_eq!(read(&HOW).deviations, [""; 0]);
    let asked = read(&Import { checks_schema: true, ..HOW });
    assert_eq!(asked.deviations.len(), 2, "{:?}", asked.deviations);
}
