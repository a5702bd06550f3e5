//! Notes of tracks: written in the session and read from MIDI files.

mod common;

use std::path::PathBuf;

use common::{Few, Folder, loaded};
use hocket_plan::Effect;
use hocket_plan::session::{ClipMessage, ClipNote, NoteClip, NoteSource, StripId};
use hocket_session::{LoadOptions, load, load_midi, session_text};
use hocket_time::{Midi1, TimeBase};

/// A track with these notes and a synthesizer.
fn track(notes: &str) -> String {
    format!("[[track]]\nname = 'a'\n[[track.notes]]\n{notes}\n[[track.effect]]\nkind = 'synth'\n")
}

fn only(text: &str) -> NoteClip {
    let loaded = loaded(text);
    assert_eq!(loaded.warnings, Vec::<String>::new());
    loaded.session.tracks[0].notes[0].clone()
}

fn messages(more: &str) -> Vec<(f64, Vec<u8>)> {
    let clip = only(&track(&format!("file = 'a.mid'\n{more}")));
    let NoteSource::File(file) = clip.source else { panic!("the clip plays a file") };
    let told = |message: &ClipMessage| (message.at, message.message.as_slice().to_vec());
    file.messages.iter().map(told).collect()
}

#[test]
fn written_notes_are_in_the_model() {
    let clip = only(&track(
        "notes = [[0, 1, 60], [1.5, 0.25, 64, 1], [2, 1, 36, 1, 10]]\nstart = 4\nlength = 2",
    ));
    let note = |at, length, key, velocity| ClipNote { at, length, key, velocity, channel: 0 };
    let drum = ClipNote { channel: 9, ..note(2.0, 1.0, 36, 1.0) };
    let notes = [note(0.0, 1.0, 60, 0.8), note(1.5, 0.25, 64, 1.0), drum];
    let expected = NoteClip {
        base: TimeBase::Beats,
        start: 4.0,
        length: Some(2.0),
        chase: true,
        source: NoteSource::Written(notes.into()),
    };
    assert_eq!(clip, expected);
    let seconds = only(&track("notes = [[0, 1, 60]]\ntime = 'seconds'"));
    assert_eq!((seconds.base, seconds.start, seconds.length), (TimeBase::Seconds, 0.0, None));
}

#[test]
fn a_midi_file_gives_its_messages_in_beats_or_seconds() {
    let all = |two: f64, four: f64| {
        vec![
            (0.0, vec![0x90, 60, 100]),
            (1.0, vec![0x80, 60, 0]),
            (1.0, vec![0xe1, 0, 0x60]),
            (1.0, vec![0xc1, 5]),
            (two, vec![0x90, 62, 64]),
            (four, vec![0x90, 62, 0]),
        ]
    };
    assert_eq!(messages(""), all(2.0, 4.0));
    // 60 beats per minute up to beat 2, then 120.
    assert_eq!(messages("time = 'seconds'"), all(2.0, 3.0));
    assert_eq!(messages("midi_track = 2"), all(2.0, 4.0)[2..4]);
    assert_eq!(messages("midi_channel = 2"), all(2.0, 4.0)[2..4]);
    assert_eq!(messages("midi_track = 1").len(), 4);
}

#[test]
fn an_effect_receives_the_notes_of_another_track() {
    let text = track("notes = [[0, 1, 60]]")
        + "[[group]]\nname = 'g'\n[[group.effect]]\nkind = 'synth'\nevents = 'a'\n";
    let session = loaded(&text).session;
    assert_eq!(session.groups[0].strip.chain[0].events, Some(StripId::Track(0)));
    assert_eq!(session.tracks[0].strip.chain[0].events, None);
}

#[test]
fn copies_share_their_notes() {
    let text = track("notes = [[0, 1, 60]]").replace("name = 'a'", "name = 'a'\ncount = 3");
    let tracks = loaded(&text).session.tracks;
    assert!(tracks.len() == 3 && tracks.iter().all(|track| track.notes == tracks[0].notes));
}

#[test]
fn notes_that_nobody_hears_give_a_warning() {
    let silent = "[[track]]\nname = 'a'\n[[track.notes]]\nnotes = [[0, 1, 60]]\n";
    let warnings = loaded(silent).warnings;
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("live.toml:3:1: no effect receives these notes"), "{warnings:?}");
    let heard = format!(
        "{silent}[[track]]\nname = 'b'\ninput = 'i'\n[[track.effect]]\nkind = 'synth'\nevents = 'a'\n\
         [[input]]\nname = 'i'\n"
    );
    assert_eq!(loaded(&heard).warnings, Vec::<String>::new());
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
fn wrong_notes_are_refused_with_place_and_remedy() {
    let notes = |notes: &str| track(&format!("notes = {notes}"));
    check(&notes("[]"), 4, "there are no notes", "at least one");
    check(&notes("3"), 4, "'notes' cannot be a whole number", "a list of notes");
    check(&notes("[[0, 1]]"), 4, "a note cannot have 2 parts", "[time, length, key]");
    check(&notes("[[0, 1, 60, 1, 1, 1]]"), 4, "a note cannot have 6 parts", "velocity, channel");
    check(
        &notes("[[0, 1, 60, 1, 0]]"),
        4,
        "the MIDI channel of a note is out of range: 0",
        "1 to 16",
    );
    check(&notes("[[0, 1, 60, 1, 17]]"), 4, "the MIDI channel of a note is out of range: 17", "16");
    check(&notes("[[0, 1, 60, 1, 1.5]]"), 4, "the MIDI channel of a note cannot be", "1 to 16");
    check(&notes("['C4']"), 4, "a note cannot be a text", "[time, length, key]");
    check(&notes("[[-1, 1, 60]]"), 4, "the time of a note is out of range: -1", "from 0 to");
    check(&notes("[['now', 1, 60]]"), 4, "the time of a note cannot be a text", "a number");
    check(&notes("[[0, 0, 60]]"), 4, "the length of a note is 0", "above 0");
    check(&notes("[[0, nan, 60]]"), 4, "the length of a note is out of range", "from 0 to");
    check(&notes("[[0, 1, 128]]"), 4, "the key of a note is out of range: 128", "0 to 127");
    check(&notes("[[0, 1, 60.5]]"), 4, "the key of a note cannot be a number", "0 to 127");
    check(&notes("[[0, 1, 60, 1.5]]"), 4, "the velocity of a note is out of range", "from 0 to 1");
    check(&notes("[[0, 1, 60]]\nfile = 'a.mid'"), 5, "given twice", "keep one");
    check(
        &notes("[[0, 1, 60]]\nmidi_track = 1"),
        5,
        "midi_track is there without a file",
        "file =",
    );
    check(&track("start = 1"), 3, "'notes' is missing", "notes = ");
    check(&notes("[[0, 1, 60]]\ntime = 'bars'"), 5, "'time' cannot be 'bars'", "beats");
    let far = format!("[[tempo]]\nbpm = 1\n{}", notes("[[1e6, 1, 60]]"));
    check(&far, 5, "frames from the song's start", "earlier beats");
}

#[test]
fn events_come_from_tracks_and_go_to_kinds_that_receive_them() {
    let to = |strip: &str, kind: &str| {
        track("notes = [[0, 1, 60]]")
            + &format!(
                "[[group]]\nname = 'g'\n[[group.effect]]\nkind = '{kind}'\nevents = '{strip}'\n"
            )
    };
    check(&to("b", "synth"), 11, "the track 'b' does not exist", "");
    check(&to("g", "synth"), 11, "'g' is a group, and only tracks have notes", "name a track");
    check(&to("master", "synth"), 11, "'master' is a master, and only tracks", "name a track");
    check(
        &to("a", "reverb"),
        11,
        "'reverb' has no event input",
        "the kinds with an event input are 'synth'",
    );
}

#[test]
fn wrong_midi_files_are_refused_at_their_place() {
    let file = |more: &str| track(&format!("file = {more}"));
    check(&file("'b.mid'"), 4, "b.mid' does not exist", "did you mean 'a.mid'");
    check(&file("'audio'"), 4, "audio' is a directory", "name a file");
    check(&file("'audio/a.wav'"), 4, "this is no MIDI file", "a standard MIDI file");
    check(&file("'a.mid'\nmidi_track = 3"), 5, "a.mid' has 2 tracks", "from 1 to 2");
    check(&file("'a.mid'\nmidi_channel = 9"), 4, "no notes or messages on this", "MIDI file");
    check(&file("'a.mid'\nmidi_channel = 17"), 5, "midi_channel = 17 is out of range", "1 to 16");
    let folder = Folder::new();
    // 25 frames per second, 40 ticks per frame.
    let mut smpte = common::midi();
    smpte[12..14].copy_from_slice(&[0xe7, 40]);
    std::fs::write(folder.path("smpte.mid"), &smpte).expect("a file in the test's folder");
    let errors = folder.load(file("'smpte.mid'")).expect_err("it has no beats");
    assert!(errors.to_string().contains("has no beats"), "{errors}");
    let seconds = folder.load(file("'smpte.mid'\ntime = 'seconds'"));
    let clip =
        seconds.unwrap_or_else(|errors| panic!("{errors}")).session.tracks[0].notes[0].clone();
    assert_eq!(clip.end(), 0.384);
    std::fs::write(folder.path("long.mid"), vec![0; (4 << 20) + 1]).expect("a file");
    let errors = folder.load(file("'long.mid'")).expect_err("it is too long");
    assert!(errors.to_string().contains("is larger than 4 MiB"), "{errors}");
}

#[test]
fn too_many_notes_are_refused() {
    let notes = "[0, 1, 60],".repeat(1000);
    let text = track(&format!("notes = [{notes}]"));
    let many = text.replace("name = 'a'", "name = 'a'\ncount = 1001");
    check(&many, 4, "up to here the session has 1001000 notes", "at most 1000000");
}

#[test]
fn a_midi_file_that_is_cut_short_plays_with_a_warning() {
    let folder = Folder::new();
    let whole = common::midi();
    std::fs::write(folder.path("cut.mid"), &whole[..whole.len() - 30]).expect("a file");
    let loaded = folder.load(track("file = 'cut.mid'")).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(loaded.warnings.len(), 1, "{:?}", loaded.warnings);
    assert!(loaded.warnings[0].contains("live.toml:4:8: "), "{:?}", loaded.warnings);
    let words =
        "is cut short or damaged: it is cut short in track 1, which can be read up to byte ";
    assert!(loaded.warnings[0].contains(words), "{:?}", loaded.warnings);
    assert_eq!(loaded.damaged.len(), 1, "{:?}", loaded.damaged);
    for words in ["live.toml:4:8: ", words, "remedy: replace the file"] {
        assert!(loaded.damaged[0].contains(words), "{:?}", loaded.damaged);
    }
    let synth = Effect::new("synth", vec![0.5]);
    let song = load_midi(&folder.path("cut.mid"), &synth).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((song.warnings.len(), song.damaged.len()), (1, 1));
    assert!(song.damaged[0].contains("cut.mid") && song.damaged[0].contains(words), "{song:?}");
}

#[test]
fn a_damaged_midi_file_is_refused_or_read_and_never_more() {
    let folder = Folder::new();
    let whole = common::midi();
    let text = track("file = 'cut.mid'");
    for length in 0..whole.len() {
        std::fs::write(folder.path("cut.mid"), &whole[..length]).expect("a file");
        let _ = folder.load(&text);
    }
    for at in 0..whole.len() {
        for byte in [0, 1, 0x7f, 0x80, 0x90, 0xff] {
            let mut damaged = whole.clone();
            damaged[at] = byte;
            std::fs::write(folder.path("cut.mid"), &damaged).expect("a file");
            if let Ok(loaded) = folder.load(&text) {
                let clip = &loaded.session.tracks[0].notes[0];
                assert!(clip.end().is_finite() && !clip.is_empty());
            }
        }
    }
}

/// The folder of MIDI files beside the repository, if it is there.
fn midi_files() -> Option<PathBuf> {
    let root = std::env::var_os("HOCKET_SHARED").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")),
        PathBuf::from,
    );
    let folder = root.join("data/midi");
    folder.join("ground-truth.json").is_file().then_some(folder)
}

#[test]
fn real_midi_files_have_their_notes() {
    let Some(folder) = midi_files() else {
        println!("SKIPPED real_midi_files_have_their_notes: no MIDI files; set HOCKET_SHARED");
        return;
    };
    let text = std::fs::read_to_string(folder.join("ground-truth.json")).expect("it is there");
    let truth: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    let mut seen = 0;
    for entry in std::fs::read_dir(&folder).expect("it is a folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|ending| ending != "mid") {
            continue;
        }
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let own = Folder::new();
        let session = own.path("real.toml");
        std::fs::write(&session, track(&format!("file = '{}'", path.display()))).expect("a file");
        match load(&session, &Few, &LoadOptions::for_seats(1)) {
            Ok(loaded) => {
                let NoteSource::File(file) = &loaded.session.tracks[0].notes[0].source else {
                    panic!("the clip plays a file")
                };
                let starts = |message: &&ClipMessage| is_start(message.message);
                let starts = file.messages.iter().filter(starts).count();
                assert!(file.messages.windows(2).all(|pair| pair[0].at <= pair[1].at), "{name}");
                if let Some(expected) = notes_of(&truth, &name) {
                    assert_eq!(starts as u64, expected, "{name}");
                }
                seen += 1;
            }
            // Files without any channel message.
            Err(errors) => {
                assert!(errors.to_string().contains("no notes or messages"), "{name}: {errors}")
            }
        }
    }
    assert!(seen >= 10, "only {seen} files were read");
}

fn is_start(message: Midi1) -> bool {
    let [status, _, velocity] = message.bytes();
    status & 0xf0 == 0x90 && velocity > 0
}

/// What another program found: how many notes.
fn notes_of(truth: &serde_json::Value, name: &str) -> Option<u64> {
    let files = truth["files"].as_array()?;
    files.iter().find(|file| file["file"] == name)?["notes"].as_u64()
}

#[test]
fn real_midi_files_are_as_long_as_another_program_says() {
    let Some(folder) = midi_files() else {
        println!("SKIPPED real_midi_files_are_as_long_as_another_program_says: set HOCKET_SHARED");
        return;
    };
    let text = std::fs::read_to_string(folder.join("ground-truth.json")).expect("it is there");
    let truth: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    for file in truth["files"].as_array().expect("a list") {
        let name = file["file"].as_str().expect("a name");
        let (Some(length_s), Some(end_tick)) =
            (file["length_s"].as_f64(), file["end_tick"].as_f64())
        else {
            continue;
        };
        let beats = end_tick / file["ticks_per_beat"].as_f64().expect("ticks");
        let path = folder.join(name);
        for (time, end) in [("seconds", length_s), ("beats", beats)] {
            let own = Folder::new();
            let notes = format!("file = '{}'\ntime = '{time}'", path.display());
            let Ok(loaded) = own.load(track(&notes)) else { continue };
            let found = loaded.session.tracks[0].notes[0].end();
            // The last message may come before the end of the file.
            assert!(found <= end + 1e-3 && found > 0.5 * end, "{name}: {found} of {end} {time}");
        }
    }
}

#[test]
fn a_midi_file_is_a_session_with_a_track_for_each_channel_that_has_notes() {
    let folder = Folder::new();
    let instrument = Effect::new("synth", vec![0.5]);
    let path = folder.path("a.mid");
    let loaded = load_midi(&path, &instrument).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((loaded.session.name.as_str(), loaded.warnings.len()), ("a", 0));
    // Channel 2 has a bend and a program, and no notes. In seconds, the last event comes after 3.
    assert_eq!(loaded.session.length_s, Some(6.0));
    let [track] = &loaded.session.tracks[..] else { panic!("one channel has notes") };
    assert_eq!(
        (track.strip.name.as_str(), &track.strip.chain[..]),
        ("channel 1", &[instrument][..])
    );
    let clip = &track.notes[0];
    assert_eq!((clip.base, clip.chase, clip.len()), (TimeBase::Seconds, true, 4));
    // Written as a file, it is the same session.
    let text = session_text(&loaded.session, &Few, &folder.path("")).unwrap();
    let again = folder.load(&text).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    assert_eq!(again.session, loaded.session);
}

#[test]
fn a_midi_file_that_cannot_be_a_session_is_refused() {
    let folder = Folder::new();
    let refused = |name: &str, bytes: &[u8], cause: &str| {
        let path = folder.path(name);
        if !bytes.is_empty() {
            std::fs::write(&path, bytes).unwrap();
        }
        let error = load_midi(&path, &Effect::new("synth", vec![0.5])).expect_err(cause);
        let text = error.to_string();
        assert!(text.contains(name) && text.contains(cause) && text.contains("remedy"), "{text}");
    };
    refused("none.mid", b"", "does not exist");
    refused("text.mid", b"notes, please", "this is no MIDI file");
    let quiet = b"MThd\0\0\0\x06\0\0\0\x01\0\x60MTrk\0\0\0\x07\0\xc0\x05\0\xff\x2f\0";
    refused("quiet.mid", quiet, "it has no notes");
    refused("large.mid", &vec![0; (4 << 20) + 1], "is larger than 4 MiB");
}
