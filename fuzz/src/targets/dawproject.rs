//! DAWproject files: an archive where the bytes begin like one, else the text of a project. What is read can be planned,
//! written and read again.

use std::path::Path;

use hocket_dawproject::{Import, ImportError, Imported, import, import_text};
use hocket_engine::Effects;
use hocket_plan::graph::session_graph;
use hocket_session::session_text;

use super::scratch;

static CATALOGUE: Effects = Effects::builtin();
/// Larger sessions take too long to write thousands of times.
const MOST_CLIPS: usize = 1000;

pub fn check(bytes: &[u8]) {
    let once = || match bytes.starts_with(b"PK") {
        true => of_archive(bytes),
        false => import_text(String::from_utf8_lossy(bytes).into_owned(), &how()),
    };
    match (once(), once()) {
        (Ok(imported), Ok(again)) => {
            assert_eq!(imported.remarks, again.remarks);
            assert!(imported.remarks.iter().all(|remark| !remark.is_empty()));
            check_session(&imported);
            // Audio files have names of their own in the folder of each turn.
            if !bytes.starts_with(b"PK") {
                assert_eq!(imported.loaded.session, again.loaded.session);
            }
        }
        (Err(ImportError::Wrong(error)), Err(ImportError::Wrong(again))) => {
            assert_eq!(error.to_string(), again.to_string());
            assert!(!error.cause().is_empty() && !error.remedy().is_empty(), "{error}");
            if let Some(place) = error.place() {
                let length = place.text_line.chars().count();
                assert!(place.line > 0 && (1..=length + 1).contains(&place.column), "{error}");
            }
        }
        (Err(ImportError::NotPossible(_)), Err(ImportError::NotPossible(_))) => {}
        (one, other) => panic!("a project is read once as {one:?} and once as {other:?}"),
    }
}

fn how() -> Import<'static> {
    Import { catalogue: &CATALOGUE, stand_in: &[], stop: None, checks_schema: true }
}

fn of_archive(bytes: &[u8]) -> Result<Imported, ImportError> {
    let path = scratch::file("song.dawproject", bytes);
    let folder = tempfile::tempdir().expect("a folder");
    import(&path, &folder.path().join("audio"), &how())
}

fn check_session(imported: &Imported) {
    let session = &imported.loaded.session;
    session_graph(session, &CATALOGUE.at(session.sample_rate_hz))
        .expect("a session that is read can be planned");
    let map = session.time.map(48_000).expect("tempos that are read are right");
    for lane in &session.automation {
        lane.lane.lane(&map).expect("lanes that are read are right");
    }
    for track in &session.tracks {
        for clip in &track.clips {
            assert!(clip.media.0 < session.media.len());
            assert!(clip.start_s >= 0.0 && clip.offset_s >= 0.0, "{clip:?}");
            assert!(clip.length_s.is_some_and(|length| length > 0.0), "{clip:?}");
        }
    }
    if session.tracks.iter().map(|track| track.clips.len()).sum::<usize>() <= MOST_CLIPS {
        session_text(session, &CATALOGUE, Path::new("")).expect("it can be written");
    }
}
