//! Session files: what loads can be planned. Bytes that begin as a MIDI file are one that a session plays.

use hocket_engine::Effects;
use hocket_plan::graph::session_graph;
use hocket_plan::{Fusing, ScheduleKind, Session, UnitGraph, VerifiedSchedule};
use hocket_session::{LoadOptions, Loaded, SessionErrors, load};

use super::scratch;

/// Larger graphs take too long to plan thousands of times.
const MOST_NODES: usize = 300;
const WORKERS: usize = 3;
/// A note of a quarter.
const MIDI: &[u8] =
    b"MThd\0\0\0\x06\0\0\0\x01\0\x60MTrk\0\0\0\x0c\0\x90\x3c\x64\x60\x80\x3c\0\0\xff\x2f\0";
/// Plays a MIDI file in both units.
const PLAYS: &[u8] =
    b"[[track]]\nname = 'a'\n[[track.notes]]\nfile = 'a.mid'\n[[track.notes]]\nfile = 'a.mid'\n\
    time = 'seconds'\nlength = 1\n[[track.effect]]\nkind = 'synth'\n";

pub fn check(bytes: &[u8]) {
    for name in ["audio/a.wav", "audio/b.wav"] {
        scratch::file(name, b"RIFF");
    }
    let is_midi = bytes.starts_with(b"MThd");
    scratch::file("a.mid", if is_midi { bytes } else { MIDI });
    let path = scratch::file("live.toml", if is_midi { PLAYS } else { bytes });
    let once = || load(&path, &Effects::builtin(), &LoadOptions::for_seats(4));
    match (once(), once()) {
        (Ok(loaded), Ok(again)) => {
            assert_eq!(loaded.session, again.session);
            assert_eq!(loaded.warnings, again.warnings);
            check_places(&loaded);
            plan(&loaded.session);
        }
        (Err(errors), Err(again)) => {
            assert_eq!(errors.to_string(), again.to_string());
            check_errors(if is_midi { PLAYS } else { bytes }, &errors);
        }
        _ => panic!("a file is right once and wrong once"),
    }
}

fn check_places(loaded: &Loaded) {
    for id in 0..loaded.session.media.len() {
        assert!(loaded.locate(hocket_plan::session::MediaId(id)).line > 0);
    }
    assert!(loaded.fade_warnings(|_| 1.0).iter().all(|warning| !warning.is_empty()));
}

fn check_errors(bytes: &[u8], errors: &SessionErrors) {
    assert!(errors.count() > 0 && !errors.render(true).is_empty());
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count() + 1;
    for error in errors.iter() {
        assert!(!error.cause().is_empty() && !error.remedy().is_empty(), "{error}");
        let Some(place) = error.place() else { continue };
        assert!((1..=lines).contains(&place.line), "{error}");
        assert!((1..=place.text_line.chars().count() + 1).contains(&place.column), "{error}");
    }
}

fn plan(session: &Session) {
    let effects = Effects::builtin();
    let graph = session_graph(session, &effects.at(session.sample_rate_hz))
        .expect("a session that loads can be planned");
    if graph.nodes().len() > MOST_NODES {
        return;
    }
    let units = UnitGraph::compile(&graph, Fusing::Chains).expect("it has nodes");
    for kind in ScheduleKind::ALL {
        VerifiedSchedule::plan(kind, units.clone(), WORKERS).expect("a plan obeys the rules");
    }
}
