//! What is found wrong with a file that is not kept is what decoding it says.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use hocket_media::{MediaError, decode, examine};

fn corpus() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/audio");
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn examined(path: &Path) -> Result<Vec<String>, String> {
    let found = examine(path, &AtomicBool::new(false)).map_err(|error| error.to_string())?;
    Ok(found.expect("nobody stopped it"))
}

#[test]
fn whole_and_cut_files_of_every_format_have_the_same_faults_as_decoded() {
    let folder = tempfile::tempdir().unwrap();
    let mut faults = 0;
    for path in corpus() {
        let bytes = std::fs::read(&path).unwrap();
        let copy = folder.path().join(path.file_name().unwrap());
        for len in [bytes.len(), bytes.len() / 2, bytes.len() / 3] {
            std::fs::write(&copy, &bytes[..len]).unwrap();
            let decoded = decode(&copy).map(|audio| audio.warnings);
            faults += decoded.iter().flatten().count();
            let name = format!("{}, {len} bytes", path.display());
            assert_eq!(examined(&copy), decoded.map_err(|error| error.to_string()), "{name}");
        }
    }
    assert!(faults > 20, "{faults} faults in all");
}

#[test]
fn it_can_be_stopped() {
    let stop = AtomicBool::new(true);
    for name in ["wav16-44k1-stereo.wav", "vorbis-q2-22k05-mono.ogg"] {
        let path = corpus().into_iter().find(|path| path.ends_with(name)).unwrap();
        assert_eq!(examine(&path, &stop).unwrap(), None, "{name}");
    }
    let missing = examine(Path::new("none.wav"), &stop);
    assert!(matches!(missing, Err(MediaError::Io { .. })));
}
