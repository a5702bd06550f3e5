//! One look at a session file finds all of its mistakes, each of them once.

mod common;

use common::{Few, Folder};
use hocket_session::{LoadOptions, MediaRefusal, MediaUse, SessionErrors, load_checking};

fn errors(text: &str) -> SessionErrors {
    match Folder::new().load(text) {
        Ok(_) => panic!("this session loads:\n{text}"),
        Err(errors) => errors,
    }
}

/// The mistakes by line, with a part of each cause.
#[track_caller]
fn check(text: &str, expected: &[(usize, &str)]) {
    let errors = errors(text);
    let found: Vec<(usize, &str)> = errors
        .iter()
        .map(|error| (error.place().map_or(0, |place| place.line), error.cause()))
        .collect();
    let is_as_expected = found.len() == expected.len()
        && found
            .iter()
            .zip(expected)
            .all(|(found, expected)| found.0 == expected.0 && found.1.contains(expected.1));
    assert!(is_as_expected, "found {found:#?}\nexpected {expected:#?}");
}

#[test]
fn mistakes_in_every_table_are_found_in_one_look() {
    let text = r#"[session]
tempo = 120
sample_rate_hz = 7999

[[track]]
name = "drums"
gain_db = "loud"
pan = 3
output = "rythm"
    [[track.clip]]
    file = "audio/none.wav"
    start_s = -1
    [[track.effect]]
    kind = "compresor"
    [[track.effect]]
    kind = "compressor"
    ratio = 0
    knee = 1
    [[track.send]]
    to = "hal"
    tap = "middle"

[[group]]
name = "rhythm"
output = "rhythm"
[[return]]
name = "hall"
[master]
mute = 1
"#;
    check(
        text,
        &[
            (2, "unknown key 'tempo'"),
            (3, "sample_rate_hz = 7999 is out of range"),
            (7, "'gain_db' cannot be a text"),
            (8, "pan = 3 is out of range"),
            (9, "'rythm', which does not exist"),
            (11, "does not exist"),
            (12, "start_s = -1 is out of range"),
            (14, "no effect of the kind 'compresor'"),
            (17, "ratio = 0 is out of range"),
            (18, "unknown key 'knee'"),
            (20, "'hal', which does not exist"),
            (21, "'tap' cannot be 'middle'"),
            (25, "cycle: rhythm -> rhythm"),
            (29, "'mute' cannot be a whole number"),
        ],
    );
}

#[test]
fn every_message_is_shown_with_a_line_between() {
    let errors = errors("[[track]]\nname = 1\npan = 2\n");
    let messages: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(errors.to_string(), messages.join("\n\n"));
    assert_eq!((errors.count(), errors.to_string().matches("= remedy: ").count()), (2, 2));
}

#[test]
fn nothing_follows_from_a_wrong_name() {
    let clip = "[[track.clip]]\nfile = \"audio/a.wav\"\n";
    // A group without a name, a misspelt key, a misspelt table, a name of two strips: outputs and sends to it are no
    // second mistake.
    let to_group = format!("[[track]]\nname = \"a\"\noutput = \"g\"\n{clip}");
    check(&format!("{to_group}[[group]]\npan = 0\n"), &[(6, "'name' is missing in [[group]]")]);
    check(&format!("{to_group}[[group]]\nnmae = \"g\"\n"), &[(7, "unknown key 'nmae'")]);
    check(&format!("{to_group}[[gruop]]\nname = \"g\"\n"), &[(6, "unknown key 'gruop'")]);
    check(&format!("{to_group}[group]\nname = \"g\"\n"), &[(6, "must be a list of tables")]);
    check(
        &format!("{to_group}[[track]]\nname = \"g\"\n{clip}[[group]]\nname = \"g\"\n"),
        &[(11, "'g' is already the name of the track in line 7")],
    );
    let to_return = format!("[[track]]\nname = \"a\"\n[[track.send]]\nto = \"r\"\n{clip}");
    check(&format!("{to_return}[[return]]\nname = 3\n"), &[(8, "'name' cannot be")]);
    check("[[tracks]]\nname = \"a\"\n", &[(1, "unknown key 'tracks'")]);
}

#[test]
fn a_wrong_name_hides_no_other_mistake() {
    let text = "[[track]]\nname = \"a\"\noutput = \"master\"\n[[track.send]]\nto = \"master\"\n\
                [[group]]\npan = 9\n";
    let expected =
        [(5, "which is a master"), (6, "'name' is missing in [[group]]"), (7, "pan = 9")];
    check(text, &expected);
}

#[test]
fn a_missing_file_is_one_mistake_however_many_clips_play_it() {
    let clips = "[[track.clip]]\nfile = \"audio/none.wav\"\n".repeat(5);
    check(&format!("[[track]]\nname = \"a\"\n{clips}"), &[(4, "does not exist")]);
}

#[test]
fn every_cycle_is_found() {
    let group = |name: &str, to: &str| format!("[[group]]\nname = \"{name}\"\noutput = \"{to}\"\n");
    let track = "[[track]]\nname = \"a\"\n[[track.clip]]\nfile = \"audio/a.wav\"\n";
    let groups = group("p", "q") + &group("q", "p") + &group("r", "s") + &group("s", "r");
    check(&format!("{track}{groups}"), &[(7, "forms a cycle: "), (13, "forms a cycle: ")]);
}

#[test]
fn text_that_is_not_toml_gives_one_mistake_per_line() {
    check(
        "[[track]]\nname = drums bass\npan = \n[[track.clip]\nfile = \"audio/a.wav\"\n",
        &[(2, "this is not TOML"), (3, "this is not TOML"), (4, "this is not TOML")],
    );
}

#[test]
fn twenty_are_shown_a_hundred_are_kept_and_all_are_counted() {
    let strip = |n: usize| format!("[[group]]\nname = \"{n}\"\npan = 2\n");
    let groups: String = (0..250).map(strip).collect();
    let track = "[[track]]\nname = \"a\"\n[[track.clip]]\nfile = \"audio/a.wav\"\n";
    let many = errors(&format!("{track}{groups}"));
    assert_eq!((many.count(), many.iter().count()), (250, 100));
    let told = many.to_string();
    assert_eq!(told.matches("= remedy: ").count(), 20, "{told}");
    assert!(told.ends_with("\n\n230 more mistakes are not shown; correct these first"), "{told}");
    let told = |count: usize| {
        let groups: String = (0..count).map(strip).collect();
        errors(&format!("{track}{groups}")).to_string()
    };
    assert!(told(21).ends_with("\n\n1 more mistake is not shown; correct these first"));
    assert!(!told(20).contains("more mistake"));
}

#[test]
fn what_the_decoder_refuses_is_among_the_mistakes() {
    let folder = Folder::new();
    let path = folder.path("live.toml");
    let session = "[session]\nsample_rate_hz = 44100\nresample = false\n[[track]]\nname = \"a\"\npan = 2\n\
                   [[track.clip]]\nfile = \"audio/a.wav\"\n[[track.clip]]\nfile = \"audio/b.wav\"\n";
    std::fs::write(&path, session).expect("the session can be written");
    let refuse_b = |path: &std::path::Path, wanted: MediaUse| {
        assert_eq!(wanted, MediaUse { sample_rate_hz: 44_100, resample: false });
        match path.ends_with("audio/b.wav") {
            false => Ok(()),
            true => Err(MediaRefusal { cause: "no audio".into(), remedy: "replace it".into() }),
        }
    };
    let loaded = load_checking(&path, &Few, &LoadOptions::for_seats(1), &refuse_b);
    let errors = loaded.expect_err("two things are wrong");
    let causes: Vec<&str> = errors.iter().map(|error| error.cause()).collect();
    assert_eq!(causes.len(), 2, "{errors}");
    assert!(causes[0].contains("pan = 2") && causes[1].ends_with("b.wav': no audio"), "{errors}");
}

#[test]
fn many_missing_files_in_a_large_folder_are_all_counted() {
    let folder = Folder::new();
    for number in 0..2000 {
        std::fs::write(folder.path(&format!("audio/there {number:05}.wav")), b"").expect("a file");
    }
    let clip = |number: usize| format!("[[track.clip]]\nfile = \"audio/gone {number:05}.wav\"\n");
    let clips: String = (0..1000).map(clip).collect();
    let errors =
        folder.load(format!("[[track]]\nname = \"a\"\n{clips}")).expect_err("all are gone");
    assert_eq!((errors.count(), errors.iter().count()), (1000, 100));
    let near = "[[track]]\nname = \"a\"\n[[track.clip]]\nfile = \"audio/thier 01234.wav\"\n";
    let error = folder.load(near).expect_err("it is misspelt").to_string();
    assert!(error.contains("did you mean 'there 01234.wav'"), "{error}");
}
