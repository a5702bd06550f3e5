//! Notes of projects play, where and as long as their clips say.

mod common;

use common::{HOW, Made, ONE, lanes, shared, song};
use hocket_dawproject::{Imported, import};
use hocket_plan::session::{NoteClip, NoteSource, StripId};
use hocket_time::TimeBase;

/// Start, length and key of each note.
type Notes = Vec<(f64, f64, u8)>;

fn notes_of(clip: &NoteClip) -> Notes {
    let NoteSource::Written(notes) = &clip.source else { panic!("{clip:?}") };
    assert_eq!((clip.start, clip.length), (0.0, None));
    notes.iter().map(|note| (note.at, note.length, note.key)).collect()
}

/// The notes of a track that has an instrument, in beats.
#[track_caller]
fn check(inside: &str, expected: &[(f64, f64, u8)]) {
    let imported = read(inside);
    let clips = &imported.loaded.session.tracks[0].notes;
    assert!(clips.iter().all(|clip| clip.base == TimeBase::Beats), "{inside}");
    let notes: Notes = clips.iter().flat_map(notes_of).collect();
    assert_eq!(notes, expected, "{inside}");
}

fn read(inside: &str) -> Imported {
    Made::project(&song(ONE, &lanes(inside))).read()
}

const FOUR: &str = "<Notes><Note time=\"0\" duration=\"1\" key=\"60\"/><Note time=\"2\" duration=\"1\" key=\"64\"/>\
    <Note time=\"1\" duration=\"2\" key=\"62\"/><Note time=\"3\" duration=\"9\" key=\"65\"/></Notes>";

#[test]
fn a_note_clip_plays_its_part_and_cuts_what_sounds_at_its_end() {
    check(
        &format!("<Clips><Clip time=\"4\" duration=\"4\">{FOUR}</Clip></Clips>"),
        &[(4.0, 1.0, 60), (5.0, 2.0, 62), (6.0, 1.0, 64), (7.0, 1.0, 65)],
    );
    // What begins before the offset, or where the clip ends, is not heard.
    check(
        &format!(
            "<Clips><Clip time=\"4\" duration=\"1.5\" playStart=\"0.5\">{FOUR}</Clip></Clips>"
        ),
        &[(4.5, 1.0, 62)],
    );
    check(
        &format!("<Clips><Clip time=\"4\" playStart=\"1\" playStop=\"3\">{FOUR}</Clip></Clips>"),
        &[(4.0, 2.0, 62), (5.0, 1.0, 64)],
    );
    check(
        &format!("<Clips><Clip time=\"4\" duration=\"4\" enable=\"false\">{FOUR}</Clip></Clips>"),
        &[],
    );
    // Without a clip around they lie in the song itself.
    check(FOUR, &[(0.0, 1.0, 60), (1.0, 2.0, 62), (2.0, 1.0, 64), (3.0, 9.0, 65)]);
    assert_eq!(read(FOUR).loaded.session.length_s, Some(6.0));
}

#[test]
fn a_note_ends_with_the_lap_of_its_loop() {
    check(
        &format!(
            "<Clips><Clip time=\"1\" duration=\"3\" playStart=\"1\" loopStart=\"0\" loopEnd=\"2\">{FOUR}</Clip></Clips>"
        ),
        &[(1.0, 1.0, 62), (2.0, 1.0, 60), (3.0, 1.0, 62)],
    );
}

#[test]
fn notes_in_clips_in_clips_are_cut_by_those_around() {
    check(
        &format!(
            "<Clips><Clip time=\"2\" duration=\"2.5\" playStart=\"0.5\"><Clips>\
             <Clip time=\"1\" duration=\"4\">{FOUR}</Clip></Clips></Clip></Clips>"
        ),
        &[(2.5, 1.0, 60), (3.5, 1.0, 62)],
    );
}

#[test]
fn notes_in_seconds_stay_in_seconds() {
    let inside = format!(
        "<Clips><Clip time=\"2\" duration=\"7\" contentTimeUnit=\"seconds\">{FOUR}</Clip></Clips>\
         <Clips><Clip time=\"0\" duration=\"1\">{FOUR}</Clip></Clips>"
    );
    let session = read(&inside).loaded.session;
    let [beats, seconds] = &session.tracks[0].notes[..] else { panic!("{session:?}") };
    assert_eq!((beats.base, notes_of(beats)), (TimeBase::Beats, vec![(0.0, 1.0, 60)]));
    let expected = vec![(1.0, 1.0, 60), (2.0, 2.0, 62), (3.0, 1.0, 64), (4.0, 0.5, 65)];
    assert_eq!((seconds.base, notes_of(seconds)), (TimeBase::Seconds, expected));
}

/// A receiver of MIDI takes the end of a note for that of the next one of its key, if it comes later by a rounding.
#[test]
fn no_note_ends_behind_the_start_of_the_next_one() {
    let note = |at: u32| {
        let at = f64::from(at) * 0.1;
        format!("<Note time=\"{at:.6}\" duration=\"0.1\" key=\"60\"/>")
    };
    let all: String = (0..40).map(note).collect();
    let inside = format!(
        "<Clips><Clip time=\"0.7\" duration=\"9\" loopStart=\"0\" loopEnd=\"1.1\"><Notes>{all}</Notes></Clip></Clips>"
    );
    let session = read(&inside).loaded.session;
    let notes = notes_of(&session.tracks[0].notes[0]);
    assert_eq!(notes.len(), 90);
    for pair in notes.windows(2) {
        let end = pair[0].0 + pair[0].1;
        assert!(end <= pair[1].0 && end > pair[1].0 - 1e-8, "{pair:?}");
    }
}

#[test]
fn velocities_and_what_a_session_lacks() {
    let devices = "role=\"regular\"><Devices><Lv2Plugin deviceID=\"urn:x\"/></Devices>";
    let xml = song(
        &ONE.replacen("role=\"regular\">", devices, 1),
        &lanes(
            "<Notes><Note time=\"0\" duration=\"1\" key=\"60\" vel=\"0.25\" rel=\"0.1\"/>\
             <Note time=\"0\" duration=\"1\" key=\"61\" vel=\"7\"/><Note time=\"0\" duration=\"1\" key=\"62\"/>\
             <Note time=\"0\" duration=\"1\" key=\"128\"/><Note time=\"0\" duration=\"1\"/><Note time=\"0\" key=\"1\"/>\
             <Note time=\"0\" duration=\"1\" key=\"63\"><Points><Target expression=\"pan\"/></Points></Note></Notes>",
        ),
    );
    let imported = Made::project(&xml).read();
    let NoteSource::Written(notes) = &imported.loaded.session.tracks[0].notes[0].source else {
        panic!()
    };
    let velocities: Vec<(u8, f64)> = notes.iter().map(|note| (note.key, note.velocity)).collect();
    assert_eq!(velocities, [(60, 0.25), (61, 1.0), (62, 0.8), (63, 0.8)]);
    let all = imported.remarks.join("\n");
    for (word, count) in [("without a key", 2), ("without a length", 1), ("inside a note", 1)] {
        assert_eq!(all.matches(word).count(), count, "{word}: {all}");
    }
}

#[test]
fn notes_without_an_instrument_are_kept_and_the_remedy_is_named() {
    let imported = read(&format!("<Clips><Clip time=\"0\" duration=\"4\">{FOUR}</Clip></Clips>"));
    assert_eq!(imported.loaded.session.tracks[0].notes[0].len(), 4);
    assert_eq!(imported.remarks.len(), 1);
    for word in ["4 notes of 'one'", "no effect there plays notes", "synth"] {
        assert!(imported.remarks[0].contains(word), "{word}: {:?}", imported.remarks);
    }
    // An empty list is not worth a word.
    assert!(
        read("<Clips><Clip time=\"0\" duration=\"4\"><Notes/></Clip></Clips>").remarks.is_empty()
    );
    let outside = song(ONE, &format!("<Lanes timeUnit=\"beats\">{FOUR}</Lanes>"));
    let outside = Made::project(&outside).read();
    assert!(outside.remarks[0].contains("outside of a track"), "{:?}", outside.remarks);
}

#[test]
fn real_loops_of_notes_lie_where_their_program_put_them() {
    let Some(data) = shared("real_loops_of_notes_lie_where_their_program_put_them") else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = data.join("real/note-regions-bitwig-5.3.12.dawproject");
    let session = import(&path, folder.path(), &HOW).unwrap().loaded.session;
    let keys = [60, 63, 67, 69, 72, 68, 65, 62];
    let steps = |from: usize, to: usize, of: &dyn Fn(usize) -> u8| -> Notes {
        (from..to).map(|step| (step as f64 * 0.25, 0.25, of(step))).collect()
    };
    let notes = |track: usize| notes_of(&session.tracks[track].notes[0]);
    assert_eq!(notes(0), steps(0, 16, &|step| keys[step % 8]));
    assert_eq!(notes(1), steps(4, 16, &|step| keys[step % 8]));
    // The first half beat, then laps of one beat; each begins with two notes.
    let third = notes(2);
    assert_eq!(third[..2], [(1.0, 0.25, 67), (1.25, 0.25, 69)]);
    assert_eq!(
        third[2..7],
        [(1.5, 0.25, 60), (1.5, 0.25, 72), (1.75, 0.25, 63), (2.0, 0.25, 67), (2.25, 0.25, 69)]
    );
    assert_eq!(third.last(), Some(&(3.75, 0.25, 63)));
    assert_eq!(session.strip(StripId::Track(2)).name, "Inst 3");
}
