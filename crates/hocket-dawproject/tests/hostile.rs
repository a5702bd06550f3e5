//! Archives and texts that nobody would export: one clear error, or silence that is told, within bounds.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use common::{AUDIO, CATALOGUE, HOW, Made, ONE, lanes, ramp, song};
use hocket_dawproject::{Import, ImportError, import, import_text};
use hocket_plan::graph::session_graph;
use hocket_session::session_text;

#[track_caller]
fn check_refused(made: &Made, words: &[&str]) {
    let message = made.refused();
    for word in words {
        assert!(message.contains(word), "'{word}' is not in:\n{message}");
    }
    assert!(message.contains("remedy"), "{message}");
}

fn clip(audio: &str) -> String {
    lanes(&format!("<Clips><Clip time=\"0\" duration=\"4\">{audio}</Clip></Clips>"))
}

#[test]
fn what_is_no_archive_says_so() {
    for (bytes, word) in [
        (&b""[..], "empty"),
        (b"<?xml version=\"1.0\"?><Project/>", "bare XML"),
        (b"\x89PNG and so on", "not a ZIP archive"),
        (b"PK\x03\x04 and nothing behind", "damaged"),
    ] {
        let made = Made::of(&[]);
        std::fs::write(&made.path, bytes).expect("room");
        check_refused(&made, &[word, "song.dawproject"]);
    }
    let made = Made::of(&[]);
    std::fs::remove_file(&made.path).expect("it is there");
    std::fs::create_dir(&made.path).expect("a folder");
    check_refused(&made, &["not a regular file"]);
}

#[test]
fn an_archive_without_a_project_says_so() {
    check_refused(&Made::of(&[("audio/ramp.wav", &ramp(10))]), &["no project.xml"]);
    check_refused(&Made::of(&[("project.json", b"{}")]), &["draft", "project.json"]);
}

#[test]
fn files_of_one_name_are_refused() {
    let made = Made::project(&song(ONE, ""));
    let mut bytes = std::fs::read(&made.path).expect("it is there");
    // The writer refuses two entries of one name; two that differ in a letter become one.
    let other = Made::of(&[("project.xml", b"<a/>"), ("project.xmk", b"<b/>")]);
    bytes.clear();
    bytes.extend(std::fs::read(&other.path).expect("it is there"));
    for at in 0..bytes.len() - 11 {
        if &bytes[at..at + 11] == b"project.xmk" {
            bytes[at + 10] = b'l';
        }
    }
    std::fs::write(&made.path, bytes).expect("room");
    check_refused(&made, &["the same name"]);
}

/// Two files say that they hold nearly 4 GiB each, from a few bytes.
#[test]
fn an_archive_that_would_fill_a_disk_is_refused() {
    let names = ["audio/a.wav", "audio/b.wav"];
    let made = Made::of(&[("project.xml", b"<a/>"), (names[0], b"a"), (names[1], b"b")]);
    let mut bytes = std::fs::read(&made.path).expect("it is there");
    for at in 0..bytes.len() - 4 {
        let name = at + 46;
        let is_listed = bytes[at..].starts_with(b"PK\x01\x02");
        if is_listed && names.iter().any(|of| bytes[name..].starts_with(of.as_bytes())) {
            bytes[at + 24..at + 28].copy_from_slice(&(u32::MAX - 1).to_le_bytes());
        }
    }
    std::fs::write(&made.path, bytes).expect("room");
    check_refused(&made, &["8192 MiB unpacked", "4096 MiB", "zip -0"]);
}

#[test]
fn names_in_the_archive_decide_nothing() {
    let wav = ramp(4800);
    for name in [
        "../../../../evil.wav",
        "/tmp/evil.wav",
        "a/../../evil.wav",
        "..\\..\\evil.wav",
        "evil.wav",
    ] {
        let audio = AUDIO.replace("audio/ramp.wav", name);
        let xml = song(ONE, &clip(&audio));
        let made = Made::of(&[("project.xml", xml.as_bytes()), (name, &wav)]);
        let session = made.read().loaded.session;
        let inside = made.unpacked();
        for media in &session.media {
            assert_eq!(media.path.parent(), Some(inside.as_path()), "{name}: {:?}", media.path);
        }
        let there: Vec<_> = std::fs::read_dir(made.folder.path()).expect("it is there").collect();
        assert!(there.len() <= 2, "{name}: {there:?}");
    }
}

#[test]
fn paths_outside_of_the_archive_need_external() {
    let outside = Made::of(&[("project.xml", b"x")]);
    let file = outside.folder.path().join("beside.wav");
    std::fs::write(&file, ramp(4800)).expect("room");
    let absolute = file.display().to_string();
    for (path, is_external, plays) in
        [(absolute.as_str(), false, false), (&absolute, true, true), ("/dev/zero", true, false)]
    {
        let file = format!("<File path=\"{path}\" external=\"{is_external}\"/>");
        let audio = AUDIO.replace("<File path=\"audio/ramp.wav\"/>", &file);
        let imported = Made::project(&song(ONE, &clip(&audio))).read();
        assert_eq!(imported.loaded.session.media.len(), usize::from(plays), "{path}");
        assert_eq!(imported.remarks.is_empty(), plays, "{path}: {:?}", imported.remarks);
    }
}

#[test]
fn damaged_entries_are_silent_and_told() {
    let made = Made::project(&song(ONE, &clip(AUDIO)));
    let mut bytes = std::fs::read(&made.path).expect("it is there");
    let at = bytes.windows(4).rposition(|part| part == b"data").expect("the WAV file") + 100;
    bytes[at] ^= 0x55;
    std::fs::write(&made.path, bytes).expect("room");
    let imported = made.read();
    assert!(imported.loaded.session.media.is_empty());
    assert!(imported.remarks[0].contains("ramp.wav") && imported.remarks[0].contains("silent"));
    let not_audio = Made::of(&[
        ("project.xml", song(ONE, &clip(AUDIO)).as_bytes()),
        ("audio/ramp.wav", b"this is no sound"),
    ]);
    let imported = not_audio.read();
    assert!(imported.remarks[0].contains("cannot be decoded"), "{:?}", imported.remarks);
}

fn refused_text(text: &str) -> String {
    match import_text(text.to_owned(), &HOW) {
        Ok(_) => panic!("it is read"),
        Err(ImportError::Wrong(error)) => error.to_string(),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn texts_that_ask_for_too_much_are_refused_with_their_place() {
    let entities = "<?xml version=\"1.0\"?>\n<!DOCTYPE a [<!ENTITY b \"bbbbbbbb\"><!ENTITY c \"&b;&b;&b;\">]>\n\
        <Project version=\"1.0\">&c;</Project>";
    let deep = format!("{}{}", "<Lanes>".repeat(30_000), "</Lanes>".repeat(30_000));
    let deep = song(ONE, &deep);
    let many = song(
        ONE,
        &lanes(&format!(
            "<Clips><Clip time=\"0\" duration=\"100000\" loopStart=\"0\" loopEnd=\"0.0001\">{AUDIO}</Clip></Clips>"
        )),
    );
    let endless = song(
        ONE,
        &lanes(&format!(
            "<Clips><Clip time=\"0\" duration=\"100000\" loopStart=\"0\" loopEnd=\"1e-300\">{AUDIO}</Clip></Clips>"
        )),
    );
    let slow = song(ONE, "").replace("120", "0");
    let attributes: String = (0..2000).map(|number| format!(" a{number}='>'")).collect();
    let attributes = song(ONE, &format!("<!-- \" --><Lanes{attributes}/>"));
    // Timelines that lead into each other through references: each is nested little.
    let within = |inner: &str| format!("{}{inner}{}", "<Lanes>".repeat(60), "</Lanes>".repeat(60));
    let linked = (0..9).map(|number| {
        let clip = format!(
            "<Clips><Clip time=\"0\" duration=\"1\" reference=\"l{}\"/></Clips>",
            number + 1
        );
        within(&clip).replacen("<Lanes>", &format!("<Lanes id=\"l{number}\">"), 1)
    });
    let linked = song(ONE, &lanes(&linked.collect::<String>()));
    let not_a_number = song(ONE, &lanes("<Clips><Clip time=\"soon\" duration=\"1\"/></Clips>"))
        .replace("/></Clips>", &format!(">{AUDIO}</Clip></Clips>"));
    for (text, word) in [
        (entities, "document type"),
        (deep.as_str(), "nested"),
        (&attributes, "more than 1000 attributes"),
        (&linked, "timelines are nested"),
        (&many, "after loops are laid out"),
        (&endless, "loop"),
        (&slow, "a tempo of 0"),
        (&not_a_number, "'soon' is no number"),
        ("<Project version=\"1.0\">\n  <Structure>\n", "ends early"),
        ("<Project version=\"1.0\">\n <a></b></Project>", "not XML"),
        ("<Session/>", "<Session>"),
        ("<Project version=\"2.0\"/>", "version"),
        ("<Project version=\"1.0\"/>", "no tracks"),
        ("", "ends early"),
    ] {
        let message = refused_text(text);
        assert!(
            message.contains(word) && message.contains("remedy"),
            "'{word}' is not in:\n{message}"
        );
    }
    let message = refused_text("<Project version=\"1.0\">\n <a></b></Project>");
    assert!(message.starts_with("project.xml:2:"), "{message}");
}

/// What is read can be planned, written and read again, whatever the numbers are.
#[test]
fn whatever_is_read_is_a_session() {
    let numbers = ["-5", "0", "1e-9", "0.3", "7", "1e12", "-1e300"];
    for (index, a) in numbers.iter().enumerate() {
        for b in numbers {
            for (c, d) in [("1", "0"), ("0", "2"), (*a, b), (b, *a)] {
                let clip = format!(
                    "<Clips><Clip time=\"{a}\" duration=\"{b}\" playStart=\"{c}\" fadeInTime=\"{a}\" fadeOutTime=\"{d}\">\
                     <Warps contentTimeUnit=\"seconds\">{AUDIO}<Warp time=\"{a}\" contentTime=\"{c}\"/>\
                     <Warp time=\"{b}\" contentTime=\"{d}\"/></Warps></Clip></Clips>\
                     <Points><Target parameter=\"one-v\"/><RealPoint time=\"{a}\" value=\"{b}\" interpolation=\"linear\"/>\
                     <RealPoint time=\"{c}\" value=\"{d}\"/></Points>"
                );
                let unit = if index % 2 == 0 { "seconds" } else { "beats" };
                let text = song(ONE, &lanes(&clip).replacen("beats", unit, 1));
                let Ok(imported) = import_text(text.clone(), &HOW) else { continue };
                let session = imported.loaded.session;
                assert!(session_graph(&session, &CATALOGUE.at(48_000)).is_ok(), "{text}");
                let lanes = &session.automation;
                let map = session.time.map(48_000).expect("a tempo");
                assert!(lanes.iter().all(|lane| lane.lane.lane(&map).is_ok()), "{text}");
                let written =
                    session_text(&session, &CATALOGUE, std::path::Path::new("")).expect("text");
                let folder = tempfile::tempdir().expect("a folder");
                for media in &session.media {
                    std::fs::write(folder.path().join(&media.path), ramp(10)).expect("room");
                }
                let file = folder.path().join("again.toml");
                std::fs::write(&file, written).expect("room");
                let options = hocket_session::LoadOptions::for_seats(1);
                let again = hocket_session::load(&file, &CATALOGUE, &options);
                let again = again.unwrap_or_else(|errors| panic!("{errors}\n{text}")).session;
                assert_eq!(again.tracks[0].clips, session.tracks[0].clips);
                assert_eq!(again.automation, session.automation);
            }
        }
    }
}

#[test]
fn an_import_that_is_stopped_leaves_no_file() {
    let made = Made::project(&song(ONE, &clip(AUDIO)));
    let stop = Arc::new(AtomicBool::new(true));
    let how = Import { stop: Some(&stop), ..HOW };
    let stopped = import(&made.path, &made.unpacked(), &how);
    assert_eq!(stopped.err(), Some(ImportError::Stopped));
    let left = std::fs::read_dir(made.unpacked()).expect("it is made before the first file");
    assert_eq!(left.count(), 0);
    stop.store(false, Relaxed);
    assert!(import(&made.path, &made.unpacked(), &how).is_ok());
}
