//! Tracks that play notes, and edits of a session that do not fade.

use super::*;
use hocket_c::automation::{HOCKET_LANE_BEATS, HOCKET_LANE_SECONDS};

/// A session that plays, and its engine.
fn session() -> (*mut Session, *mut Engine) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sessions/best-case.toml");
    let path = CString::new(path).unwrap();
    // SAFETY: told.
    unsafe {
        let (session, text) = told(|error| hocket_session_load(path.as_ptr(), 0, error));
        assert!(!session.is_null(), "{text}");
        let (engine, text) = told(|error| hocket_engine_start(session, &settings(), error));
        assert!(!engine.is_null(), "{text}");
        (session, engine)
    }
}

/// The left samples of so many blocks, as bits.
fn heard(engine: *const Engine, blocks: usize) -> Vec<u32> {
    let (mut left, mut right) = ([0.0_f32; 64], [0.0_f32; 64]);
    let block = |_| {
        let (left, right) = (&mut left, &mut right);
        let rows = (left.as_mut_ptr(), right.as_mut_ptr());
        // SAFETY: told.
        let status = unsafe { hocket_engine_process(engine, 64, rows.0, rows.1, null_mut()) };
        assert_eq!(status, Status::Ok);
        left.map(f32::to_bits)
    };
    (0..blocks).flat_map(block).collect()
}

const NEW: NewStrip = NewStrip {
    name: c"keys".as_ptr(),
    output: null(),
    gain_db: 0.0,
    pan: 0.0,
    mute: false,
    solo: true,
};

#[test]
fn a_new_track_plays_notes() {
    let (session, engine) = session();
    let notes = [
        ClipNote { at: 0.0, length: 4.0, key: 69, velocity: 0.75, channel: 0 },
        ClipNote { at: 0.0, length: 4.0, key: 73, velocity: 1.0, channel: 15 },
    ];
    let clip = NoteClip {
        unit: HOCKET_LANE_SECONDS,
        start: 0.0,
        length: f64::NAN,
        notes: notes.as_ptr(),
        count: notes.len(),
    };
    let sources = |clip: &NoteClip| TrackSources {
        clips: null(),
        clip_count: 0,
        note_clips: clip,
        note_clip_count: 1,
        input: HOCKET_NO_INPUT,
    };
    let add = |sources: &TrackSources| {
        // SAFETY: told.
        told(|error| unsafe { hocket_engine_add_track_with(engine, &NEW, sources, error) })
    };
    for (wrong, why) in [
        (NoteClip { unit: 9, ..clip }, "note_clip.unit of 9"),
        (NoteClip { start: -1.0, ..clip }, "-1 is no time"),
        (NoteClip { length: f64::INFINITY, ..clip }, "inf is no time"),
        (NoteClip { notes: null(), ..clip }, "note_clip.notes is NULL"),
    ] {
        let (status, text) = add(&sources(&wrong));
        assert!(status == Status::BadInput && text.contains(why), "{text}");
    }
    for wrong in [
        ClipNote { key: 128, ..notes[0] },
        ClipNote { length: 0.0, ..notes[0] },
        ClipNote { velocity: 1.5, ..notes[0] },
        ClipNote { channel: 16, ..notes[0] },
        ClipNote { at: f64::NAN, ..notes[0] },
    ] {
        let (status, text) = add(&sources(&NoteClip { notes: &wrong, count: 1, ..clip }));
        assert!(status == Status::BadInput && text.contains("note 0 is not possible"), "{text}");
    }
    let (status, text) = add(&TrackSources { input: 7, ..sources(&clip) });
    assert!(status == Status::BadInput && text.contains("input 7"), "{text}");
    let beats = NoteClip { unit: HOCKET_LANE_BEATS, start: 1.0, ..clip };
    assert_eq!(add(&sources(&beats)), (Status::Ok, String::new()));
    let synth = c"synth".as_ptr();
    // SAFETY: told.
    let (status, text) = told(|error| unsafe {
        hocket_engine_insert_effect(engine, NEW.name, 0, synth, null(), 0, error)
    });
    assert_eq!(status, Status::Ok, "{text}");
    // A beat has 24,000 frames. Until then only the others fade out, which the solo silences.
    let before = heard(engine, 370);
    assert!(before[12_800..].iter().all(|bits| f32::from_bits(*bits) == 0.0), "it is too early");
    let after = heard(engine, 40);
    assert!(after.iter().any(|bits| f32::from_bits(*bits).abs() > 1e-3), "nobody plays");
    // SAFETY: told.
    unsafe {
        assert_eq!(hocket_engine_stop(engine), Status::Ok);
        hocket_session_free(session);
    }
}

#[test]
fn edits_of_a_session_change_at_once_where_the_host_says_so() {
    let after_edit = |fades| {
        let (session, engine) = session();
        let (gain, gain_db) = (c"gain".as_ptr(), -20.0);
        // SAFETY: told.
        unsafe {
            let none = null_mut();
            assert_eq!(hocket_engine_fade_edits(engine, fades, none), Status::Ok);
            let before = heard(engine, 300);
            let track = hocket_session_strip(session, 0);
            let edit = hocket_engine_insert_effect(engine, track, 0, gain, &gain_db, 1, none);
            assert_eq!(edit, Status::Ok);
            // The mix comes later by its latency.
            let after = heard(engine, 20);
            assert_eq!(hocket_engine_stop(engine), Status::Ok);
            hocket_session_free(session);
            (before, after)
        }
    };
    let (faded, at_once) = (after_edit(true), after_edit(false));
    assert!(faded.0 == at_once.0, "nothing has been edited yet");
    assert!(faded.1 != at_once.1, "both change in the same way");
    let graph = engine(Some(ones), null_mut());
    // SAFETY: told.
    unsafe {
        let (status, text) = told(|error| hocket_engine_fade_edits(graph, false, error));
        assert!(status == Status::BadInput && text.contains("plays a graph"), "{text}");
        assert_eq!(hocket_engine_stop(graph), Status::Ok);
    }
}
