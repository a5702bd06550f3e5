//! The example project holds what its recipe says: the texts of `tests/pulse` and three recordings of the example
//! sessions, which are in the public domain. `HOCKET_RENEW_DOCS=1` makes it anew.

mod common;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use common::HOW;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

const AUDIO: [&str; 3] = ["bd_haus.flac", "sn_dub.flac", "elec_blip.flac"];

fn sessions() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sessions")
}

fn recipe() -> BTreeMap<String, Vec<u8>> {
    let texts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pulse");
    let read =
        |path: PathBuf| std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let texts =
        ["metadata.xml", "project.xml"].map(|name| (name.to_owned(), read(texts.join(name))));
    let audio =
        AUDIO.map(|name| (format!("audio/{name}"), read(sessions().join("audio").join(name))));
    texts.into_iter().chain(audio).collect()
}

fn renew(path: &Path) {
    let mut zip = ZipWriter::new(std::fs::File::create(path).expect("a file"));
    // Recordings are compressed already, and one writer's text is another's.
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, bytes) in recipe() {
        zip.start_file(name, stored).expect("a new entry");
        zip.write_all(&bytes).expect("room");
    }
    zip.finish().expect("room");
}

#[test]
fn the_example_holds_what_its_recipe_says() {
    let path = sessions().join("pulse.dawproject");
    if std::env::var_os("HOCKET_RENEW_DOCS").is_some() {
        renew(&path);
    }
    let file = std::fs::File::open(&path).expect("it is there");
    let mut zip = ZipArchive::new(file).expect("an archive");
    let mut held = BTreeMap::new();
    for index in 0..zip.len() {
        let mut entry = zip.by_index(index).expect("an entry");
        let name = entry.name().expect("a name").into_owned();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).expect("whole");
        held.insert(name, bytes);
    }
    assert!(held == recipe(), "HOCKET_RENEW_DOCS=1 cargo test -p hocket-dawproject --test example");
}

#[test]
fn the_example_shows_what_is_carried() {
    let folder = tempfile::tempdir().expect("a folder");
    let imported =
        hocket_dawproject::import(&sessions().join("pulse.dawproject"), folder.path(), &HOW);
    let imported = imported.unwrap_or_else(|error| panic!("{error}"));
    let session = &imported.loaded.session;
    assert_eq!((session.tracks.len(), session.groups.len(), session.returns.len()), (4, 1, 1));
    assert_eq!(session.tracks[0].clips.len(), 8, "a kick per beat");
    let why = "two recordings, and a third one at the speeds of two tempos";
    assert_eq!(session.media.len(), 4, "{why}");
    assert_eq!(imported.remarks.len(), 2, "{:?}", imported.remarks);
    assert_eq!(session.sample_rate_hz, 44_100);
}
