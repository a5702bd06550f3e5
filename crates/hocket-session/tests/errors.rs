//! Whatever is wrong with a session file gives one message with place, cause and remedy, and no further one that
//! only follows from it.

mod common;

use common::{Few, Folder, PLAYER, PLUGIN, loaded};
use hocket_plan::session::MediaId;
use hocket_session::{LoadOptions, SessionError, SessionErrors, load};

fn error(text: impl AsRef<[u8]>) -> SessionError {
    error_for(text, 4)
}

fn error_for(text: impl AsRef<[u8]>, seats: usize) -> SessionError {
    let text = text.as_ref();
    match Folder::new().load_for(text, seats) {
        Ok(_) => panic!("this session loads:\n{}", String::from_utf8_lossy(text)),
        Err(errors) => single(errors),
    }
}

/// The one mistake of these tests' sessions.
fn single(errors: SessionErrors) -> SessionError {
    assert_eq!(errors.count(), 1, "{errors}");
    errors.iter().next().expect("it is counted").clone()
}

/// The place is where `here` stands in `text` for the first time, and it is what the caret marks.
fn check_at(text: &str, here: &str, cause: &str, remedy: &str) {
    let byte = text.find(here).expect("the test's text has the place");
    check_error(&error(text), text, byte, here.chars().count(), cause, remedy);
}

/// The same where the session has other mistakes besides.
fn check_among(text: &str, here: &str, cause: &str, remedy: &str) {
    let byte = text.find(here).expect("the test's text has the place");
    let errors = match Folder::new().load_for(text.as_bytes(), 4) {
        Ok(_) => panic!("this session loads:\n{text}"),
        Err(errors) => errors,
    };
    let error = errors.iter().find(|error| error.to_string().contains(cause));
    let error = error.unwrap_or_else(|| panic!("nobody says '{cause}': {errors}"));
    check_error(error, text, byte, here.chars().count(), cause, remedy);
}

fn check_error(
    error: &SessionError,
    text: &str,
    byte: usize,
    width: usize,
    cause: &str,
    remedy: &str,
) {
    let message = error.to_string();
    let before = &text[..byte];
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    let place = format!("live.toml:{line}:{column}: ");
    assert!(message.contains(&place), "no '{place}' in\n{message}");
    assert!(error.cause().contains(cause), "no '{cause}' in\n{message}");
    assert!(error.remedy().contains(remedy), "no '{remedy}' in\n{message}");
    let rows: Vec<&str> = message.lines().collect();
    assert_eq!(rows.len(), 5, "{message}");
    let quoted = format!("{line} | {}", text.lines().nth(line - 1).unwrap_or_default());
    assert_eq!(rows[2], quoted, "{message}");
    let caret = format!("{}{}", " ".repeat(column - 1), "^".repeat(width.max(1)));
    assert_eq!(rows[3].split_once("| ").map(|(_, caret)| caret), Some(&*caret), "{message}");
    assert!(rows[0].ends_with(error.cause()) && rows[4].ends_with(error.remedy()), "{message}");
}

/// A session whose first track has `line` in its table.
fn in_track(line: &str) -> String {
    format!("[[track]]\nname = \"a\"\n{line}\n[[track.clip]]\nfile = \"audio/a.wav\"\n")
}

fn in_clip(line: &str) -> String {
    format!("[[track]]\nname = \"a\"\n[[track.clip]]\nfile = \"audio/a.wav\"\n{line}\n")
}

fn in_session(line: &str) -> String {
    format!("[session]\n{line}\n{}", in_track(""))
}

/// A track and whatever comes below it.
fn with(tables: &str) -> String {
    format!("{}{tables}", in_clip(""))
}

#[test]
fn unknown_keys() {
    let check = |text: &str, key: &str, remedy: &str| {
        check_among(text, key, &format!("unknown key '{key}' in "), remedy);
    };
    check(&in_track("gian_db = 3"), "gian_db", "did you mean 'gain_db'?");
    check(&in_clip("colour = 3"), "colour", "the keys here are 'file', 'start_s'");
    check(&in_clip("output = \"b\""), "output", "'output' belongs to [[track]]");
    check(&in_track("fade_in_s = 1"), "fade_in_s", "'fade_in_s' belongs to [[track.clip]]");
    check(&in_session("tempo = 1"), "tempo", "'name', 'sample_rate_hz'");
    check(&in_session("sample_rate = 1"), "sample_rate", "did you mean 'sample_rate_hz'?");
    check("tracks = []", "tracks", "did you mean 'track'?");
    check(&with("[[effect]]\nkind = \"reverb\""), "effect", "'effect' belongs to [[track]]");
    check(&with("[master]\nsolo = true"), "solo", "'solo' belongs to [[track]]");
    check(&with("[[track.send]]\nlevel = 1"), "level", "'to', 'gain_db', 'tap' and 'feedback'");
    check(&with("[preview]\nfiles = 1"), "files", "did you mean 'file'?");
}

#[test]
fn every_unknown_key_of_the_file_is_named() {
    for (key, cause) in [("zzz", "unknown key 'zzz'"), ("aaa", "unknown key 'aaa'")] {
        check_among(&in_track("zzz = 1\naaa = 2"), key, cause, "the keys here are");
    }
}

#[test]
fn wrong_types() {
    let check = |text: &str, value: &str, cause: &str, remedy: &str| {
        check_among(text, value, cause, remedy);
    };
    check(
        &in_track("pan = \"left\""),
        "\"left\"",
        "'pan' cannot be a text",
        "a number from -1 to 1",
    );
    check(&in_track("gain_db = \"-inf\""), "\"-inf\"", "'gain_db' cannot be a text", "-inf");
    check(&in_track("mute = 1"), "1", "'mute' cannot be a whole number", "true or false");
    check(&in_track("output = true"), "true", "'output' cannot be true or false", "text in quotes");
    check(&in_track("count = 1.5"), "1.5", "'count' cannot be a number", "\"seats x N\"");
    check(&in_track("pan = [1]"), "[1]", "'pan' cannot be a list", "a number");
    check(&in_track("pan = {a = 1}"), "{a = 1}", "'pan' cannot be a table", "a number");
    check(
        &in_track("pan = 1979-05-27"),
        "1979-05-27",
        "'pan' cannot be a date or time",
        "a number",
    );
    check(
        &in_session("sample_rate_hz = 48000.0"),
        "48000.0",
        "'sample_rate_hz' cannot be a number",
        "a whole number from 8000 to 384000",
    );
    check("[track]\nname = 1", "[track]", "'track' must be a list of tables", "[[track]]");
    check("track = [1]", "1", "[[track]] must be a table, this is a whole number", "[[track]]");
    check(&with("[[master]]"), "[[master]]", "only one [master]", "single brackets");
    check("session = 3", "3", "[session] must be a table", "[session]");
    let effect = in_track("[[track.effect]]\nkind = \"reverb\"\nmix = true");
    check(
        &effect,
        "true",
        "'mix' cannot be true or false",
        "mix = a number from 0 to 0.98: How wet",
    );
}

#[test]
fn values_out_of_range() {
    let check = |text: &str, value: &str, remedy: &str| {
        check_at(text, value, &format!("= {value} is out of range"), remedy);
    };
    check(&in_track("pan = 1.5"), "1.5", "a number from -1 to 1");
    check(&in_track("pan = nan"), "nan", "a number from -1 to 1");
    check(&in_track("gain_db = 24.1"), "24.1", "a number from -200 to 24, or -inf for silence");
    check(&in_track("gain_db = inf"), "inf", "-inf for silence");
    check(&in_track("gain_db = -nan"), "-nan", "-inf for silence");
    check(&in_track("gain_db = -1e300"), "-1e300", "-inf for silence");
    check(&in_session("sample_rate_hz = 7999"), "7999", "from 8000 to 384000");
    check(&in_session("sample_rate_hz = 384001"), "384001", "from 8000 to 384000");
    check(&in_session("sample_rate_hz = -1"), "-1", "from 8000 to 384000");
    check(
        &in_session("sample_rate_hz = 99999999999999999999"),
        "99999999999999999999",
        "from 8000 to 384000",
    );
    let effect = in_track("[[track.effect]]\nkind = \"compressor\"\nratio = 0xff_ff");
    check(&effect, "0xff_ff", "a number from 1 to 100");
    let effect = in_track("[[track.effect]]\nkind = \"compressor\"\nthreshold_db = nan");
    check(&effect, "nan", "a number from -60 to 0");
}

#[test]
fn times_are_finite_and_not_negative() {
    for key in ["start_s", "offset_s", "fade_in_s", "fade_out_s"] {
        for value in ["-0.5", "nan", "inf", "-inf", "1e7"] {
            let text = in_clip(&format!("{key} = {value}"));
            let cause = format!("{key} = {value} is out of range");
            check_at(&text, value, &cause, "a number from 0 to 1000000");
        }
    }
}

#[test]
fn lengths_are_finite_and_above_zero() {
    for value in ["0", "-1", "nan", "inf", "-0.0"] {
        let cause = format!("length_s = {value} is out of range");
        for text in
            [in_clip(&format!("length_s = {value}")), in_session(&format!("length_s = {value}"))]
        {
            check_at(&text, value, &cause, "a number above 0");
        }
    }
}

#[test]
fn counts() {
    let allowed = "a whole number from 1 to 1024";
    for value in ["0", "-1", "1025"] {
        let text = in_track(&format!("count = {value}"));
        check_at(&text, value, &format!("count = {value} is out of range"), allowed);
    }
    for value in [
        "\"\u{1f41d}\"",
        "\"4\"",
        "\"seats x\"",
        "\"seats x -1\"",
        "\"seats - 1\"",
        "\"2 x seats\"",
    ] {
        let text = in_track(&format!("count = {value}"));
        check_at(&text, value, "'count' cannot be '", allowed);
    }
    for value in ["seats x 257", "seats x 0", "seats x 18446744073709551615"] {
        let text = in_track(&format!("count = \"{value}\""));
        let cause = format!("count = \"{value}\" is out of range with 4 seats");
        check_at(&text, &format!("\"{value}\""), &cause, "make it 1 to 1024 in all");
    }
    let nowhere = error_for(in_track("count = \"seats\""), 0);
    assert!(nowhere.cause().contains("out of range with 0 seats"), "{nowhere}");
}

#[test]
fn too_many_copies_together() {
    let mut text = String::new();
    for track in 0..1000 {
        text += &format!("[[track]]\nname = \"{track}\"\ncount = 1024\n");
    }
    let error = error(&text);
    assert!(error.cause().contains("up to here the session has 1000448 strips"), "{error}");
    assert!(error.remedy().contains("1000000"), "{error}");
    assert_eq!(error.place().map(|place| place.line), Some(3 * 976 + 1), "{error}");
}

#[test]
fn names() {
    let taken = |text: &str, cause: &str| {
        let byte = text.rfind("\"a").expect("the last name");
        let width = text[byte..].lines().next().map_or(0, str::len);
        check_error(&error(text), text, byte, width, cause, "choose another one");
    };
    taken(&with("[[track]]\nname = \"a\""), "'a' is already the name of the track in line 2");
    taken(&with("[[group]]\nname = \"a\""), "'a' is already the name of the track in line 2");
    taken(
        "[[track]]\nname = \"b\"\n[[group]]\nname = \"a\"\n[[return]]\nname = \"a\"\n",
        "'a' is already the name of the group in line 4",
    );
    let copies = "[[track]]\nname = \"a\"\ncount = 2\n[[track]]\nname = \"a 2\"";
    taken(copies, "'a 2' is already the name of the track in line 2");
    let master = with("[[group]]\nname = \"master\"");
    check_at(&master, "\"master\"", "'master' is the name of the master", "choose another one");
    let empty = with("[[group]]\nname = \" \"");
    check_at(&empty, "\" \"", "'name' is empty", "give it a text: Unique among");
    let control = with("[[group]]\nname = \"\\u0007\"");
    check_at(&control, "\"\\u0007\"", "'name' has a control character in it", "give it a text");
}

#[test]
fn required_keys() {
    check_at("[[track]]\npan = 0", "[[track]]", "'name' is missing in [[track]]", "add name = ");
    let file = with("[[track.clip]]\nstart_s = 0");
    let byte = file.rfind("[[track.clip]]").expect("the clip");
    check_error(
        &error(&file),
        &file,
        byte,
        14,
        "'file' is missing in [[track.clip]]",
        "add file = ",
    );
    let kind = with("[[track.effect]]");
    check_at(&kind, "[[track.effect]]", "'kind' is missing in [[track.effect]]", "add kind = ");
    let to = with("[[track.send]]");
    check_at(&to, "[[track.send]]", "'to' is missing in [[track.send]]", "add to = ");
    let preview = with("[preview]");
    check_at(&preview, "[preview]", "'file' is missing in [preview]", "add file = ");
}

#[test]
fn effects() {
    let kind = |kind: &str| in_track(&format!("[[track.effect]]\nkind = \"{kind}\""));
    check_at(
        &kind("compresor"),
        "\"compresor\"",
        "there is no effect of the kind 'compresor'",
        "did you mean 'compressor'? the kinds are 'compressor', 'reverb' and 'synth'",
    );
    let remedy = "the kinds are 'compressor', 'reverb' and 'synth'";
    check_at(&kind("vocoder"), "\"vocoder\"", "there is no effect of the kind 'vocoder'", remedy);
    let param = in_track("[[track.effect]]\nkind = \"compressor\"\ntreshold_db = -3");
    check_at(&param, "treshold_db", "unknown key 'treshold_db'", "did you mean 'threshold_db'?");
    let other = with("[[group]]\nname = \"g\"\n[[group.effect]]\nkind = \"reverb\"\nratio = 2");
    check_at(
        &other,
        "ratio",
        "unknown key 'ratio'",
        "the keys here are 'kind', 'bypass', 'key', 'key_tap', 'events', 'send_events', 'state', 'preset', 'file', 'isolate' and 'mix'",
    );
}

#[test]
fn files_of_effects() {
    let of =
        |kind: &str, more: &str| in_track(&format!("[[track.effect]]\nkind = \"{kind}\"\n{more}"));
    let missing = of(PLAYER, "");
    check_at(&missing, "[[track.effect]]", "'file' is missing in [[track.effect]]", "add file = ");
    let gone = of(PLAYER, "file = \"audio/c.wav\"");
    let quoted = "\"audio/c.wav\"";
    check_at(&gone, quoted, "c.wav' does not exist", "did you mean 'a.wav'");
    let wrong = of(PLAYER, "file = \"audio/b.wav\"");
    check_at(&wrong, "\"audio/b.wav\"", "b.wav': at byte 12: its rate is 0 Hz", "export it again");
    let program = of(PLAYER, "file = \"audio/a.wav\"\nprogram = 9");
    check_at(&program, "\"audio/a.wav\"", "it has no such program", "export it again");
    let deaf = of("reverb", "file = \"audio/a.wav\"");
    let remedy = "a key belongs to the last header above it";
    let cause = "an effect of the kind 'reverb' plays no file";
    check_at(&deaf, "\"audio/a.wav\"", cause, remedy);
}

#[test]
fn outputs_and_sends_to_nowhere() {
    let strips = "[[group]]\nname = \"drums\"\n[[return]]\nname = \"hall\"\n";
    let output = |to: &str| format!("{}{strips}", in_track(&format!("output = \"{to}\"")));
    let check = |to: &str, cause: &str, remedy: &str| {
        let cause = format!("the output goes to '{to}', which {cause}");
        check_at(&output(to), &format!("\"{to}\""), &cause, remedy);
    };
    check("durms", "does not exist", "did you mean 'drums'?");
    check("nothing", "does not exist", "an output goes to one of 'drums' and 'master'");
    check("hall", "is a return", "returns are fed by sends");
    check("Master", "does not exist", "did you mean 'master'?");
    let send = |to: &str| {
        let send = format!("[[track.send]]\nto = \"{to}\"\n");
        format!("{}{strips}", with(&send))
    };
    let check = |to: &str, cause: &str, remedy: &str| {
        let text = send(to);
        let here = format!("\"{to}\"");
        let cause = format!("the send goes to '{to}', which {cause}");
        check_at(&text, &here, &cause, remedy);
    };
    check("hal", "does not exist", "did you mean 'hall'?");
    check("nothing", "does not exist", "a send goes to one of the returns 'hall'");
    check("drums", "is a group", "a send goes to one of the returns 'hall'");
    check("master", "is a master", "a send goes to one of the returns 'hall'");
    let none = with("[[track.send]]\nto = \"hall\"\n");
    check_at(
        &none,
        "\"hall\"",
        "which does not exist",
        "the session has no returns: add [[return]]",
    );
    let to_track = with("[[group]]\nname = \"g\"\noutput = \"a\"");
    let byte = to_track.rfind("\"a\"").expect("the output");
    check_error(
        &error(&to_track),
        &to_track,
        byte,
        3,
        "which is a track",
        "an output goes to one of",
    );
}

#[test]
fn sends_tap_before_or_after() {
    let text = with("[[track.send]]\nto = \"hall\"\ntap = \"middle\"\n[[return]]\nname = \"hall\"");
    check_at(&text, "\"middle\"", "'tap' cannot be 'middle'", "write \"pre\" or \"post\"");
}

#[test]
fn cycles() {
    let own = with("[[group]]\nname = \"g\"\noutput = \"g\"");
    let byte = own.rfind("\"g\"").expect("the output");
    let remedy = "let one of these outputs go to \"master\"";
    check_error(&error(&own), &own, byte, 3, "the routing forms a cycle: g -> g", remedy);

    let two =
        with("[[group]]\nname = \"p\"\noutput = \"q\"\n[[group]]\nname = \"q\"\noutput = \"p\"");
    let byte = two.find("\"q\"").expect("the first output");
    let error_of_two = error(&two);
    check_error(&error_of_two, &two, byte, 3, "the routing forms a cycle: ", remedy);
    let cycle = error_of_two.cause();
    assert!(cycle.ends_with("p -> q -> p") || cycle.ends_with("q -> p -> q"), "{cycle}");

    let sends = "[[return]]\nname = \"r\"\n[[return.send]]\nto = \"s\"\n\
                 [[return]]\nname = \"s\"\n[[return.send]]\nto = \"r\"\n";
    let sends = with(sends);
    let byte = sends.find("\"s\"").expect("the first send");
    check_error(&error(&sends), &sends, byte, 3, "the routing forms a cycle: ", remedy);

    let mixed = "[[group]]\nname = \"g\"\n[[group.send]]\nto = \"r\"\n\
                 [[return]]\nname = \"r\"\noutput = \"g\"\n";
    let mixed = with(mixed);
    let byte = mixed.find("\"r\"").expect("the send");
    check_error(&error(&mixed), &mixed, byte, 3, "the routing forms a cycle: ", remedy);
}

#[test]
fn a_long_cycle_is_cut_short_and_found_fast() {
    let mut text = in_track("");
    for group in 0..20_000 {
        let next = (group + 1) % 20_000;
        text += &format!("[[group]]\nname = \"{group}\"\noutput = \"{next}\"\n");
    }
    let error = error(&text);
    assert!(error.cause().contains(" -> (19989 more) -> "), "{error}");
    assert_eq!(error.place().map(|place| place.line), Some(8), "{error}");
}

#[test]
fn empty_sessions() {
    for text in ["", "\n\n", "track = []", "[session]\nname = \"x\"\n", "[master]\n"] {
        let error = error(text);
        let message = error.to_string();
        assert!(message.contains("live.toml:1:1: the session has no tracks"), "{message}");
        assert!(message.contains("remedy: add [[track]]"), "{message}");
    }
}

#[test]
fn toml_syntax() {
    let check = |text: &str, line: usize| {
        let error = error(text);
        assert!(error.cause().starts_with("this is not TOML: "), "{error}");
        assert!(error.remedy().contains("key = value"), "{error}");
        assert_eq!(error.place().map(|place| place.line), Some(line), "{error}");
        assert_eq!(error.to_string().lines().count(), 5, "{error}");
    };
    check("[[track]\nname = \"a\"", 1);
    check("[[track]]\nname = a", 2);
    check("[[track]]\nname = \"a\nb = 2", 2);
    check("[[track]]\nname = \"a\"\nname = \"b\"", 3);
    check("[session]\n[session]\n", 2);
    check("[[track]]\ngain_db = --3", 2);
    check("[[track]]\nname", 2);
    check("just some words", 1);
    check(&"[".repeat(100_000), 1);
    check(&format!("a = {}", "[".repeat(100_000)), 1);
    check(&format!("a = {}", "{a=".repeat(100_000)), 1);
    check(&format!("{}b = 1", "a.".repeat(100_000)), 1);
}

#[test]
fn media_files() {
    let clip = |file: &str| in_track("").replace("audio/a.wav", file);
    let check = |file: &str, cause: &str, remedy: &str| {
        check_at(&clip(file), &format!("\"{file}\""), cause, remedy);
    };
    check("audio/c.wav", "audio/c.wav' does not exist", "did you mean 'a.wav', which is in");
    check("audio/other.flac", "does not exist", "paths are relative to the session file's folder");
    check("sound/a.wav", "does not exist", "cannot be read either");
    check("audio", "audio' is a directory", "name a file in it");
    check("audio/a.wav/b", "cannot be read: not a directory", "correct the path");
    let preview = with("[preview]\nfile = \"audio/x.wav\"");
    check_at(&preview, "\"audio/x.wav\"", "does not exist", "did you mean");
    let device = clip("/dev/null");
    check_at(&device, "\"/dev/null\"", "is not a regular file", "copy its contents into a file");
}

#[cfg(unix)]
#[test]
fn a_media_file_that_may_not_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let path = folder.path("audio/a.wav");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o0)).expect("own file");
    if std::fs::File::open(&path).is_ok() {
        println!("SKIPPED a_media_file_that_may_not_be_read: this user may read everything");
        return;
    }
    let error = single(folder.load(in_track("")).expect_err("the file may not be read"));
    assert!(error.cause().contains("cannot be read: permission denied"), "{error}");
}

/// The message for a file that has no lines to show: place, cause and remedy in two rows.
fn check_whole(error: &SessionError, cause: &str, remedy: &str) {
    let message = error.to_string();
    assert!(message.contains(&format!("live.toml: {cause}")), "{message}");
    assert!(message.lines().nth(1).is_some_and(|row| row.contains(remedy)), "{message}");
    assert_eq!((message.lines().count(), error.place()), (2, None));
}

#[test]
fn files_that_are_no_text() {
    check_whole(&error(b"RIFF\x10\0\0\0WAVE"), "this is a binary file", "name a session file");
    let large = vec![b'\n'; (16 << 20) + 1];
    check_whole(&error(large), "this file is larger than 16 MiB", "name the session");
    let error = error(b"[session]\nname = \"\xe4\"\n");
    let message = error.to_string();
    assert!(message.contains("live.toml:2:9: the byte 0xE4 here is not UTF-8"), "{message}");
    assert!(message.contains("remedy: save the file with the encoding UTF-8"), "{message}");
}

#[test]
fn the_largest_file_loads() {
    let mut text = in_track("");
    text.push_str(&format!("#{}", "-".repeat((16 << 20) - text.len() - 1)));
    loaded(&text);
}

#[test]
fn paths_that_are_no_file() {
    let folder = Folder::new();
    let path = folder.path("live.toml");
    let options = LoadOptions::for_seats(1);
    let read = || single(load(&path, &Few, &options).expect_err("there is no session"));
    check_whole(&read(), "this session file cannot be read: no such file", "check the spelling");
    std::fs::create_dir(&path).expect("a directory of that name");
    check_whole(&read(), "this is a directory", "name a session file");
}

#[test]
fn whoever_decodes_reports_at_the_clip() {
    let text = with("[[track.clip]]\nfile = \"audio/b.wav\"\n");
    let loaded = loaded(&text);
    let error = loaded.media_error(MediaId(1), "the file ends early", "copy it again");
    let byte = text.find("\"audio/b.wav\"").expect("the clip");
    check_error(&error, &text, byte, 13, "audio/b.wav': the file ends early", "copy it again");
    let place = loaded.locate(MediaId(1));
    assert_eq!((place.line, place.column), (7, 8));
    assert_eq!(place.text_line, "file = \"audio/b.wav\"");
    assert_eq!(loaded.locate(MediaId(99)).line, 1);
}

#[test]
fn what_is_quoted_cannot_move_the_cursor() {
    let text = in_track("\tpan =\t\"\u{202e}left\u{9b}\"");
    let error = error(&text);
    let message = error.to_string();
    assert!(message.contains("3 |  pan = \"?left?\"\n"), "{message}");
    assert!(message.contains("\n  |        ^^^^^^^^\n"), "{message}");
    assert!(!message.contains('\u{1b}'), "{message}");
}

#[test]
fn colour_only_where_asked_for() {
    let error = error(in_track("pan = 3"));
    assert!(error.to_string().is_ascii());
    assert_eq!(error.render(false), error.to_string());
    let colored = error.render(true);
    assert!(colored.contains("\u{1b}[1;31m"), "{colored}");
    let mut plain = colored;
    for code in ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[1;31m", "\u{1b}[1;34m"] {
        plain = plain.replace(code, "");
    }
    assert_eq!(plain, error.to_string());
}

#[test]
fn of_a_long_line_the_part_around_the_place_is_shown() {
    let text = in_track(&format!("solo = true # {}\npan = 3", "x".repeat(500)));
    assert!(error(&text).to_string().lines().all(|row| row.chars().count() < 200));
    let inline = format!("track = [{{ name = \"a\",{} pan = 3 }}]", " ".repeat(1000));
    let message = error(&inline).to_string();
    let rows: Vec<&str> = message.lines().collect();
    assert_eq!(rows[2].chars().nth(rows[3].find('^').expect("a caret")), Some('3'), "{message}");
    assert!(rows[2].len() < 120, "{message}");
}

#[test]
fn a_byte_order_mark_and_crlf_shift_no_column() {
    let error = error("\u{feff}tracks = 1\r\n[session]\r\n");
    let message = error.to_string();
    assert!(message.contains("live.toml:1:1: unknown key"), "{message}");
    assert!(message.contains("1 | tracks = 1\n  | ^^^^^^\n"), "{message}");
}

#[test]
fn text_that_a_crlf_cuts_off_ends_at_the_lines_end() {
    let error = error("[session]\r\nname = \"band\r\n");
    assert_eq!(error.place().map(|place| (place.line, place.column)), Some((2, 13)), "{error}");
}

#[test]
fn plugins_and_their_states() {
    let effect = |text: &str| in_track(&format!("[[track.effect]]\n{text}"));
    let installed = format!("kind = \"{PLUGIN}\"\n");
    let missing = effect("kind = \"clap:org.none\"\nanything = 3\nstate = \"none\"");
    let remedy = "`hocket plugin list` shows those that can, and why others cannot";
    let cause = "the plug-in 'clap:org.none' cannot be used here";
    check_at(&missing, "\"clap:org.none\"", cause, remedy);
    let range = effect(&format!("{installed}\"Drive (dB)\" = 30"));
    check_at(&range, "30", "Drive (dB) = 30 is out of range", "write a number from 0 to 24");
    let gone = effect(&format!("{installed}state = \"a.stat\""));
    let remedy = "did you mean 'a.state', which is in that folder?";
    check_at(&gone, "\"a.stat\"", "a.stat' does not exist", remedy);
    let folder = effect(&format!("{installed}state = \"audio\""));
    check_at(&folder, "\"audio\"", "audio' is a directory", "name a file in it");
    let built_in = effect("kind = \"reverb\"\nstate = \"a.state\"");
    let remedy = "take state out: only plug-ins start with the state of a file";
    check_at(&built_in, "\"a.state\"", "an effect of the kind 'reverb' has no state", remedy);
    let unknown = effect(&format!("{installed}preset = \"Cold\""));
    let remedy = format!("`hocket plugin info {PLUGIN}` lists its presets");
    check_at(&unknown, "\"Cold\"", "there is no preset 'Cold'", &remedy);
    let both = effect(&format!("{installed}state = \"a.state\"\npreset = \"Warm\""));
    let remedy = "take one of them out: each says in which state the plug-in starts";
    check_at(&both, "\"Warm\"", "preset and state are both there", remedy);
    let built_in = effect("kind = \"reverb\"\npreset = \"Warm\"");
    let remedy = "take preset out: only plug-ins have presets";
    check_at(&built_in, "\"Warm\"", "there is no preset 'Warm'", remedy);
    let no_flag = effect(&format!("{installed}isolate = 1"));
    check_at(&no_flag, "1", "'isolate' cannot be a whole number", "write isolate = true or false");
    let built_in = effect("kind = \"reverb\"\nisolate = true");
    let remedy = "take isolate out: only plug-ins run in processes of their own";
    let cause = "an effect of the kind 'reverb' has no process of its own";
    check_at(&built_in, "true", cause, remedy);
    let built_in = effect("kind = \"reverb\"\nsend_events = true");
    let remedy = "take send_events out: only plug-ins send events";
    check_at(&built_in, "true", "an effect of the kind 'reverb' sends no events", remedy);
    let no_flag = effect(&format!("{installed}send_events = \"yes\""));
    let cause = "'send_events' cannot be a text";
    check_at(&no_flag, "\"yes\"", cause, "write send_events = true or false");
}

/// The track `kick`, and below it what has an extra output.
fn kick(lines: &str, others: &str) -> String {
    format!("[[track]]\nname = \"kick\"\n{lines}\n{others}")
}

#[test]
fn extra_outputs() {
    let drums = |effects: &str| format!("[[group]]\nname = \"drums\"\n{effects}");
    let plugin = format!("[[group.effect]]\nkind = \"{PLUGIN}\"\n");
    let from = |output: &str| format!("from = \"drums\"\nfrom_output = \"{output}\"");
    let text = kick(&from("Kik"), &drums(&plugin));
    let all = "the extra outputs of 'drums' are 'Kick' and 'Click'";
    let near = format!("did you mean 'Kick'? {all}");
    check_at(&text, "\"Kik\"", "'drums' has no extra output 'Kik'", &near);
    let text = kick(&from("Room microphone"), &drums(&plugin));
    check_at(&text, "\"Room microphone\"", "'drums' has no extra output", all);
    let text = kick(&from("Kick"), &drums("[[group.effect]]\nkind = \"reverb\""));
    let remedy = "only plug-ins have extra outputs, which `hocket plugin info` lists";
    check_at(&text, "\"Kick\"", "no effect of 'drums' has an extra output", remedy);
    let text = kick(&from("Kick"), &drums(&[&plugin[..], &plugin].concat()));
    let cause = "'drums' has several effects with an extra output 'Kick'";
    check_at(&text, "\"Kick\"", cause, "put each of them on a strip of its own");
    let text = kick("from = \"drums\"", &drums(&plugin));
    check_at(&text, "\"drums\"", "from is there without from_output", "add from_output = ");
    let text = kick("from_output = \"Kick\"", &drums(&plugin));
    check_at(&text, "\"Kick\"", "from_output is there without from", "add from = ");
    let text = kick("from = \"drum\"\nfrom_output = \"Kick\"", &drums(&plugin));
    check_at(&text, "\"drum\"", "the strip 'drum' does not exist", "did you mean 'drums'?");
    // What is wrong with an effect is the one mistake.
    let text = kick(&from("Kick"), &drums("[[group.effect]]\nkind = \"lv2:urn:none\""));
    check_at(&text, "\"lv2:urn:none\"", "cannot be used here", "`hocket plugin list`");
}

#[test]
fn extra_outputs_that_close_a_cycle() {
    let remedy = "take one of these sends, keys or extra outputs out";
    let plugin = format!("[[track.effect]]\nkind = \"{PLUGIN}\"\n");
    let own = kick(&format!("from = \"kick\"\nfrom_output = \"Kick\"\n{plugin}"), "");
    let byte = own.find("\"kick\"\nfrom_output").expect("it is there");
    check_error(&error(&own), &own, byte, 6, "the routing forms a cycle: kick -> kick", remedy);
    // The track goes to the group that has the plug-in.
    let group = format!("[[group]]\nname = \"drums\"\n{}", plugin.replace("track", "group"));
    let text = kick("output = \"drums\"\nfrom = \"drums\"\nfrom_output = \"Kick\"", &group);
    let error = error(&text);
    assert!(error.cause().contains("the routing forms a cycle: "), "{error}");
    assert!(error.remedy().contains(remedy), "{error}");
}

#[test]
fn the_rest_of_a_file_is_checked_beside_a_missing_plugin() {
    let lane = "[[track.automation]]\neffect = 1\nparameter = \"x\"\npoints = [[0, 1]]";
    let text = in_track(&format!(
        "gain_db = 99\n[[track.effect]]\nkind = \"lv2:urn:none\"\n{lane}\n[[track.effect]]\nkind = \"vocoder\""
    ));
    let errors = Folder::new().load(text).unwrap_err();
    assert_eq!(errors.count(), 3, "{errors}");
    let errors = errors.to_string();
    let all =
        ["'lv2:urn:none' cannot be used here", "gain_db = 99 is out", "of the kind 'vocoder'"];
    assert!(all.iter().all(|part| errors.contains(part)), "{errors}");
}

#[test]
fn xml_is_one_mistake_and_not_one_for_each_line() {
    let project = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Project version=\"1.0\">\n<Structure/>\n</Project>\n";
    for text in [project.to_owned(), format!("\u{feff}{project}"), "<Project>\n\n</Project>".into()]
    {
        let error = error(text);
        assert_eq!(error.cause(), "this is the XML of a DAWproject, not a session");
        assert!(error.to_string().contains(".dawproject"), "{error}");
    }
    let other = error("<?xml version=\"1.0\"?>\n<page>\n</page>\n");
    assert_eq!(other.cause(), "this is XML, not a session");
}
