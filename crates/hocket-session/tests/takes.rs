//! Takes that a session asks for.

mod common;

use std::path::PathBuf;

use common::{Few, Folder, loaded};
use hocket_plan::session::{Alignment, EventsOf, InputId, StripId, TakeFrom, TakeSpec, Tap};
use hocket_session::session_text;

const TRACK: &str = "[[input]]\nname = 'mic'\n[[track]]\nname = 'a'\ninput = 'mic'\n";

fn with(take: &str) -> String {
    format!("{TRACK}[[take]]\n{take}\n")
}

#[test]
fn takes_are_in_the_model_and_are_written_back() {
    let folder = Folder::new();
    let text = with("from = 'a'\nfile = 'takes/a.wav'")
        + "[[take]]\nfrom = 'master'\ntap = 'pre'\nfile = 'mix.flac'\narmed = false\n"
        + "[[take]]\ninput = 'mic'\nfile = '/else/where.wav'\n";
    let session = folder.load(&text).unwrap_or_else(|errors| panic!("{errors}")).session;
    let take = |from, file: PathBuf, armed| TakeSpec { armed, ..TakeSpec::new(from, file) };
    let expected = [
        take(TakeFrom::Strip(StripId::Track(0), Tap::PostFader), folder.path("takes/a.wav"), true),
        take(TakeFrom::Strip(StripId::Master, Tap::PreFader), folder.path("mix.flac"), false),
        take(TakeFrom::Input(InputId(0)), "/else/where.wav".into(), true),
    ];
    assert_eq!(session.takes, expected);
    let written = session_text(&session, &Few, &folder.path("")).unwrap();
    let again = folder.load(&written).unwrap_or_else(|errors| panic!("{errors}\n{written}"));
    assert_eq!(again.session, session);
}

#[test]
fn takes_say_where_their_frames_are_put_and_inputs_follow_the_song_by_themselves() {
    let folder = Folder::new();
    let takes = [
        ("from = 'a'\nfile = 'a.wav'", Alignment::Arrival, 0),
        ("from = 'a'\nfile = 'b.wav'\nalign = 'song'", Alignment::Song, 0),
        ("input = 'mic'\nfile = 'c.wav'\noffset_frames = 30", Alignment::Song, 30),
        ("input = 'mic'\nfile = 'd.wav'\nalign = 'none'", Alignment::Arrival, 0),
        ("input = 'mic'\nfile = 'e.wav'\nalign = 'song'\noffset_frames = -7", Alignment::Song, -7),
    ];
    let text =
        takes.iter().fold(TRACK.to_owned(), |text, (take, ..)| text + "[[take]]\n" + take + "\n");
    let session = folder.load(&text).unwrap_or_else(|errors| panic!("{errors}")).session;
    let read: Vec<_> = session.takes.iter().map(|take| (take.align, take.offset_frames)).collect();
    assert_eq!(read, takes.map(|(_, align, offset)| (align, offset)));
    let written = session_text(&session, &Few, &folder.path("")).unwrap();
    assert_eq!((written.matches("align").count(), written.matches("offset").count()), (2, 2));
    let again = folder.load(&written).unwrap_or_else(|errors| panic!("{errors}\n{written}"));
    assert_eq!(again.session, session);
}

#[test]
fn an_input_is_recorded_also_where_no_track_plays_it() {
    let text = with("input = 'mic'\nfile = 'a.wav'").replace("input = 'mic'\n[[take", "[[take");
    let text = text + "[[track]]\nname = 'b'\n[[track.clip]]\nfile = 'audio/a.wav'\n";
    let session = loaded(&text).session;
    assert!(session.tracks.iter().all(|track| track.input.is_none()));
    let from: Vec<TakeFrom> = session.takes.iter().map(|take| take.from).collect();
    assert_eq!(from, [TakeFrom::Input(InputId(0))]);
}

#[test]
fn an_input_of_many_channels_can_be_recorded() {
    let track = "[[track]]\nname = 'a'\n[[track.clip]]\nfile = 'audio/a.wav'\n";
    let text = format!(
        "[[input]]\nname = 'field'\nchannels = 64\n{track}[[take]]\ninput = 'field'\nfile = 'a.wav'\n"
    );
    let folder = Folder::new();
    let session = folder.load(&text).unwrap_or_else(|errors| panic!("{errors}")).session;
    assert_eq!(session.inputs[0].channels, 64);
    let written = session_text(&session, &Few, &folder.path("")).unwrap();
    assert_eq!(folder.load(&written).unwrap().session, session);
}

#[test]
fn a_removed_strip_takes_its_takes_along() {
    let text = format!(
        "{TRACK}[[track]]\nname = 'b'\ninput = 'mic'\n[[take]]\nfrom = 'a'\nfile = 'a.wav'\n\
         [[take]]\nfrom = 'b'\nfile = 'b.wav'\n"
    );
    let mut session = loaded(&text).session;
    session.tracks.remove(0);
    session.forget_strip(StripId::Track(0));
    let from: Vec<TakeFrom> = session.takes.iter().map(|take| take.from).collect();
    assert_eq!(from, [TakeFrom::Strip(StripId::Track(0), Tap::PostFader)]);
}

/// One mistake, with its line and parts of cause and remedy.
#[track_caller]
fn check(text: &str, line: usize, cause: &str, remedy: &str) {
    let errors = Folder::new().load(text).expect_err("it is wrong");
    let told = errors.to_string();
    assert_eq!(errors.count(), 1, "{told}");
    let error = errors.iter().next().expect("there is one");
    assert_eq!(error.place().map(|place| place.line), Some(line), "{told}");
    assert!(error.cause().contains(cause), "no '{cause}' in\n{told}");
    assert!(error.remedy().contains(remedy), "no '{remedy}' in\n{told}");
}

#[test]
fn wrong_takes_are_refused_with_place_and_remedy() {
    check(&with("from = 'a'"), 6, "'file' is missing in [[take]]", "file = ");
    check(&with("file = 'a.wav'"), 6, "'from' is missing in [[take]]", "from = ");
    check(&with("from = 'b'\nfile = 'a.wav'"), 7, "the strip 'b' does not exist", "");
    check(&with("input = 'mike'\nfile = 'a.wav'"), 7, "the input 'mike' does not exist", "'mic'");
    check(&with("from = 'a'\ninput = 'mic'\nfile = 'a.wav'"), 8, "names both", "keep one");
    check(
        &with("input = 'mic'\ntap = 'pre'\nfile = 'a.wav'"),
        8,
        "an input has no fader",
        "tap out",
    );
    check(&with("from = 'a'\nfile = 'a.wav'\nalign = 'left'"), 9, "cannot be 'left'", "\"song\"");
    let offset = "from = 'a'\nfile = 'a.wav'\noffset_frames = 70000";
    check(&with(offset), 9, "out of range", "from -65536 to 65536");
    let twice = with("from = 'a'\nfile = 'a.wav'") + "[[take]]\nfrom = 'a'\nfile = './a.wav'\n";
    check(&twice, 11, "an earlier take is recorded to the same file", "another file");
}

/// A track with notes, one that plays an input which takes events, and one with neither.
const NOTES: &str = "[[input]]\nname = 'keys'\nevents = true\n[[input]]\nname = 'mic'\n\
    [[track]]\nname = 'bass'\n[[track.notes]]\nnotes = [[0, 1, 33]]\n\
    [[track]]\nname = 'piano'\ninput = 'keys'\n[[track]]\nname = 'voice'\ninput = 'mic'\n";

fn with_notes(take: &str) -> String {
    format!("{NOTES}[[take]]\n{take}\n")
}

#[test]
fn a_take_to_a_midi_file_records_notes() {
    let folder = Folder::new();
    let text = with_notes("from = 'bass'\nfile = 'bass.mid'")
        + "[[take]]\nfrom = 'piano'\nfile = 'piano.MIDI'\n"
        + "[[take]]\ninput = 'keys'\nfile = 'keys.mid'\narmed = false\n";
    let session = folder.load(&text).unwrap_or_else(|errors| panic!("{errors}")).session;
    let from: Vec<TakeFrom> = session.takes.iter().map(|take| take.from).collect();
    let expected = [EventsOf::Track(0), EventsOf::Track(1), EventsOf::Input(InputId(0))];
    assert_eq!(from, expected.map(TakeFrom::Events));
    let written = session_text(&session, &Few, &folder.path("")).unwrap();
    let again = folder.load(&written).unwrap_or_else(|errors| panic!("{errors}\n{written}"));
    assert_eq!(again.session, session);
    let mut session = session;
    session.tracks.remove(0);
    session.forget_strip(StripId::Track(0));
    let from: Vec<TakeFrom> = session.takes.iter().map(|take| take.from).collect();
    let expected = [EventsOf::Track(0), EventsOf::Input(InputId(0))];
    assert_eq!(from, expected.map(TakeFrom::Events));
}

#[test]
fn a_midi_file_of_what_has_no_notes_is_refused() {
    check(
        &with_notes("from = 'voice'\nfile = 'a.mid'"),
        17,
        "the track has no notes",
        "record audio",
    );
    check(&with_notes("input = 'mic'\nfile = 'a.mid'"), 17, "takes no events", "events = true");
    check(
        &with_notes("from = 'master'\nfile = 'a.mid'"),
        17,
        "only tracks and inputs",
        "name a track",
    );
    check(&with_notes("from = 'bass'\ntap = 'pre'\nfile = 'a.mid'"), 18, "no tap", "tap out");
}
