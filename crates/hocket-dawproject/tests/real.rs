//! Projects that other programs exported, and copies of them that were altered or broken.

mod common;

use std::path::Path;

use common::{HOW, shared};
use hocket_dawproject::{ImportError, Imported, import, import_text};

/// A project of the data, unpacked for as long as the folder lives.
fn read(path: &Path) -> (Result<Imported, ImportError>, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    (import(path, &folder.path().join("audio"), &HOW), folder)
}

#[track_caller]
fn good(path: &Path) -> (Imported, tempfile::TempDir) {
    match read(path) {
        (Ok(imported), folder) => (imported, folder),
        (Err(error), _) => panic!("{}: {error}", path.display()),
    }
}

#[test]
fn exports_of_other_programs_become_what_they_hold() {
    let Some(data) = shared("exports_of_other_programs_become_what_they_hold") else { return };
    let text = std::fs::read_to_string(data.join("ground-truth.json")).expect("it is there");
    let truth: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let mut seen = 0;
    for project in truth.as_array().expect("a list") {
        let name = project["file"].as_str().expect("a name");
        let path = data.join("real").join(name);
        let imported = if name.ends_with(".xml") {
            let text = std::fs::read_to_string(&path).expect("it is there");
            import_text(text, &HOW).map(|imported| (imported, None))
        } else {
            let (imported, folder) = read(&path);
            imported.map(|imported| (imported, Some(folder)))
        };
        if project["tracks"].is_null() {
            let error = imported.expect_err("it is a draft").to_string();
            assert!(error.contains("project.json"), "{name}: {error}");
            continue;
        }
        let (imported, _folder) = imported.unwrap_or_else(|error| panic!("{name}: {error}"));
        check(name, project, &imported);
        seen += 1;
    }
    assert!(seen >= 6, "{seen}");
}

fn check(name: &str, truth: &serde_json::Value, imported: &Imported) {
    let session = &imported.loaded.session;
    let tempo = truth["tempo_bpm"].as_f64().expect("a tempo");
    assert_eq!(session.time.tempos[0].bpm, tempo, "{name}");
    let tracks = truth["tracks"].as_array().expect("a list");
    let (mut regular, mut effects) = (0, 0);
    for track in tracks {
        let gain = track["volume_linear"].as_f64().expect("a volume");
        let strip = match track["role"].as_str() {
            Some("master") => &session.master,
            Some("effect") => {
                effects += 1;
                &session.returns[effects - 1].strip
            }
            _ => {
                regular += 1;
                &session.tracks[regular - 1].strip
            }
        };
        let got = 10.0_f64.powf(f64::from(strip.gain_db) / 20.0);
        assert!((got - gain).abs() < 1e-5, "{name}: {}: {got} {gain}", strip.name);
        let pan = track["pan_normalized"].as_f64().expect("a pan") * 2.0 - 1.0;
        assert!((f64::from(strip.pan) - pan).abs() < 1e-6, "{name}");
        assert_eq!(strip.mute, track["mute"] == "true", "{name}");
    }
    assert_eq!((session.tracks.len(), session.returns.len()), (regular, effects), "{name}");
    // Loops repeat notes, so there are at least as many.
    let clips = session.tracks.iter().flat_map(|track| &track.notes);
    let notes: usize = clips.map(hocket_plan::session::NoteClip::len).sum();
    let expected = truth["notes_total"].as_u64().expect("a number") as usize;
    assert!(
        notes >= expected.min(1) && (expected == 0) == (notes == 0),
        "{name}: {notes} {expected}"
    );
    let lanes = truth["automation"].as_array().expect("a list").len();
    assert_eq!(session.automation.len(), lanes, "{name}");
    // Audio that is in the archive plays as long as the clips around it do.
    let outer = truth["clips"].as_array().expect("a list").iter();
    let outer = outer.filter(|clip| clip["depth"] == 0);
    let end = outer.map(|clip| {
        clip["time"].as_f64().unwrap_or(0.0) + clip["duration"].as_f64().unwrap_or(0.0)
    });
    let end_s = end.fold(0.0, f64::max) * 60.0 / tempo;
    assert!((session.length_s.unwrap_or(0.0) - end_s).abs() < 1e-6, "{name}: {end_s}");
}

#[test]
fn clips_of_real_exports_lie_where_their_program_put_them() {
    let Some(data) = shared("clips_of_real_exports_lie_where_their_program_put_them") else {
        return;
    };
    let (canon, _folder) = good(&data.join("real/canon-bitwig-5.1.6.dawproject"));
    let clips = &canon.loaded.session.tracks[1].clips;
    assert_eq!(clips.len(), 1);
    assert_eq!((clips[0].start_s, clips[0].offset_s), (0.0, 0.0));
    assert!((clips[0].length_s.unwrap_or(0.0) - 19.2).abs() < 1e-9, "its warps are its own speed");
    assert_eq!(canon.loaded.session.sample_rate_hz, 44_100);
    let (chirp, _folder) = good(&data.join("real/audio-regions-bitwig-5.3.12.dawproject"));
    // 8 beats of a loop of 1.8333 beats, which is a second at 110 beats per minute: five laps, the last one cut.
    let clips = &chirp.loaded.session.tracks[0].clips;
    let starts: Vec<i64> =
        clips.iter().map(|clip| (clip.start_s * 1000.0).round() as i64).collect();
    assert_eq!(starts, [0, 1000, 2000, 3000, 4000]);
    let last = clips[4].length_s.unwrap_or(0.0);
    assert!((last - (8.0 * 60.0 / 110.0 - 4.0)).abs() < 1e-3, "{last}");
}

#[test]
fn the_equaliser_of_a_real_export_has_its_bands() {
    let Some(data) = shared("the_equaliser_of_a_real_export_has_its_bands") else { return };
    let (eq, _folder) = good(&data.join("real/eq-bitwig-5.3.12.dawproject"));
    let chain = &eq.loaded.session.returns[0].strip.chain;
    let eqs: Vec<&Vec<f32>> = chain.iter().filter(|e| e.kind == "eq").map(|e| &e.values).collect();
    let bands: Vec<[f32; 4]> = eqs
        .iter()
        .flat_map(|values| values.chunks(4).map(|band| [band[0], band[1], band[2], band[3]]))
        .filter(|band| band[0] != 0.0)
        .collect();
    // A high pass of eighth order is four sections, and five bands follow.
    let expected = [
        (5.0, 240.0, 0.0),
        (5.0, 240.0, 0.0),
        (5.0, 240.0, 0.0),
        (5.0, 240.0, 0.0),
        (1.0, 900.0, -9.0),
        (3.0, 12_000.0, 6.0),
        (1.0, 2000.0, 12.0),
        (1.0, 1173.426, 10.294_118),
        (1.0, 487.714, -5.589_767),
    ];
    assert_eq!(bands.len(), expected.len());
    for ([shape, freq, _, gain], (kind, hz, db)) in bands.iter().zip(expected) {
        assert_eq!(*shape, kind);
        assert!(
            (freq / hz - 1.0).abs() < 1e-5 && (gain - db).abs() < 1e-5,
            "{freq} {hz} {gain} {db}"
        );
    }
}

#[test]
fn altered_copies_load_as_the_original_does() {
    let Some(data) = shared("altered_copies_load_as_the_original_does") else { return };
    let derived = data.join("derived");
    let (plain, _folder) = good(&derived.join("canon-zip-stored.dawproject"));
    let clips = |imported: &Imported| imported.loaded.session.tracks[1].clips.clone();
    assert_eq!(clips(&plain).len(), 1);
    for name in [
        "canon-children-reordered",
        "canon-utf8-bom",
        "canon-backslash-path",
        "canon-external-file",
    ] {
        let (imported, _folder) = good(&derived.join(format!("{name}.dawproject")));
        let (got, expected) = (&imported.loaded.session, &plain.loaded.session);
        assert_eq!(clips(&imported), clips(&plain), "{name}");
        assert_eq!(got.master, expected.master, "{name}");
        let strips = |session: &hocket_plan::Session| -> Vec<hocket_plan::session::Strip> {
            session.strip_ids().iter().map(|id| session.strip(*id).clone()).collect()
        };
        assert_eq!(strips(got), strips(expected), "{name}");
        assert_eq!(imported.remarks.len(), plain.remarks.len(), "{name}: {:?}", imported.remarks);
    }
    let (missing, _folder) = good(&derived.join("canon-missing-media.dawproject"));
    let told = missing.remarks.join("\n");
    assert!(
        told.contains("canon_guitar_150bpm.wav") && told.contains("is not in the archive"),
        "{told}"
    );
    let name = "automation-v1-bitwig-5.3.12-media-removed.dawproject";
    let (moving, _folder) = good(&derived.join(name));
    let told = moving.remarks.join("\n");
    for word in ["FM-4", "EO_DubTcno_126_Drum_Loop_06_Full.wav", "notes of 'Vaporisateur'"] {
        assert!(told.contains(word), "{word}: {told}");
    }
    assert_eq!(moving.loaded.session.automation.len(), 1);
}

#[test]
fn broken_copies_give_what_is_expected_of_a_robust_reader() {
    let Some(data) = shared("broken_copies_give_what_is_expected_of_a_robust_reader") else {
        return;
    };
    let broken = data.join("broken");
    let list = std::fs::read_to_string(data.join("altered.json")).expect("it is there");
    let list: serde_json::Value = serde_json::from_str(&list).expect("JSON");
    // What the message or the list of remarks says; `true`: the file is refused.
    let expected = [
        ("empty", true, "empty"),
        ("not-a-zip", true, "bare XML"),
        ("truncated-60pct", true, "damaged"),
        ("audio-bad-crc", false, "canon_guitar_150bpm.wav"),
        ("no-project-xml", true, "project.xml"),
        ("xml-cut-off", true, "project.xml:"),
        ("zip-slip", false, ""),
        ("absolute-path", false, "/etc/passwd"),
        ("entity-bomb", true, "document type"),
        ("zip-bomb-400MB", false, ""),
        ("dangling-ids", false, "not there"),
        ("routing-loop", true, "cycle"),
        ("tempo-zero", true, "a tempo of 0"),
        ("lanes-20000-deep", true, "nested"),
        ("media-is-truncated-wav", false, ""),
    ];
    let files = list["broken"].as_object().expect("a table");
    assert_eq!(files.len(), expected.len(), "each file has a line here");
    for (name, is_refused, word) in expected {
        let file = format!("{name}.dawproject");
        assert!(files.contains_key(&file), "{file}");
        let (result, _folder) = read(&broken.join(&file));
        let told = match (&result, is_refused) {
            (Err(error), true) => error.to_string(),
            (Ok(imported), false) => imported.remarks.join("\n"),
            (Err(error), false) => panic!("{name}: {error}"),
            (Ok(_), true) => panic!("{name} is read"),
        };
        assert!(told.contains(word), "{name}: '{word}' is not in:\n{told}");
    }
    assert!(!Path::new("/tmp/duet-zip-slip.wav").exists());
}
