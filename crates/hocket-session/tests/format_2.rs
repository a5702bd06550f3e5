//! What format 2 brings: its mistakes, each with its place, and the files of format 1, which are read as before.

mod common;

use common::{Few, Folder, loaded};
use hocket_plan::session::StripId;
use hocket_plan::{EffectCatalogue, ParamSpec};
use hocket_session::{LoadOptions, SessionErrors, convert, load};

/// The mistakes by line, with a part of each cause and remedy.
#[track_caller]
fn check(text: &str, expected: &[(usize, &str, &str)]) {
    match Folder::new().load(text) {
        Ok(_) => panic!("this session loads:\n{text}"),
        Err(errors) => compare(&errors, expected),
    }
}

#[track_caller]
fn compare(errors: &SessionErrors, expected: &[(usize, &str, &str)]) {
    let line = |error: &hocket_session::SessionError| error.place().map_or(0, |place| place.line);
    let found: Vec<_> =
        errors.iter().map(|error| (line(error), error.cause(), error.remedy())).collect();
    let is_as_expected = found.len() == expected.len()
        && found.iter().zip(expected).all(|(found, expected)| {
            found.0 == expected.0 && found.1.contains(expected.1) && found.2.contains(expected.2)
        });
    assert!(is_as_expected, "found {found:#?}\nexpected {expected:#?}");
}

/// A track of two effects and a send, of which the keys of its first lane begin in line 15.
fn lane(keys: &str) -> String {
    format!(
        "[[return]]\nname = \"hall\"\n[[return]]\nname = \"room\"\n[[track]]\nname = \"a\"\n[[track.clip]]\n\
         file = \"audio/a.wav\"\n[[track.effect]]\nkind = \"compressor\"\n[[track.effect]]\nkind = \"reverb\"\n\
         [[track.send]]\nto = \"hall\"\n[[track.automation]]\n{keys}\n"
    )
}

#[test]
fn a_newer_format_is_the_only_mistake_and_older_ones_load() {
    let track = "[[track]]\nname = \"a\"\n[[track.clip]]\nfile = \"audio/a.wav\"\n";
    let version = env!("CARGO_PKG_VERSION");
    let cause = format!("has the format 3, and Hocket {version} reads the formats 1 to 2");
    let newer = format!("[session]\nwhatever = 1\nformat = 3\n{track}[[orchestra]]\n");
    check(&newer, &[(3, &cause, "use a newer Hocket")]);
    check(
        &format!("[session]\nformat = 0\n{track}"),
        &[(2, "format = 0 is out of range", "1 to 2")],
    );
    check(&format!("[session]\nformat = \"2\"\n{track}"), &[(2, "'format' cannot be a text", "")]);
    let folder = Folder::new();
    let session =
        |text: &str| folder.load(text).unwrap_or_else(|errors| panic!("{errors}")).session;
    let expected = session(track);
    for about in ["[session]\n", "[session]\nformat = 1\n", "[session]\nformat = 2\n"] {
        assert_eq!(session(&format!("{about}{track}")), expected);
    }
}

#[test]
fn points_that_are_none_are_all_found() {
    let text = lane(
        "parameter = \"pan\"\npoints = [\n[0, 2],\n[1],\n[1, 0, \"fast\"],\n[1, 0, \"curve\"],\n\
         [1, 0, \"curve\", 21],\n[1, 0, \"hold\", 1],\n[-1, 0],\n[nan, 0],\n[2, nan],\n[3, 0],\n[2, 0],\n7,\n\
         [\"0\", 0],\n[1, 0, 3],\n[4, -inf],\n]",
    );
    let expected = [
        (18, "out of range: 2", "from -1 to 1"),
        (19, "cannot have 1 parts", "[time, value]"),
        (20, "no way 'fast'", "\"hold\", \"linear\""),
        (21, "a curve needs its bend", "-20 to 20"),
        (22, "the bend of a curve is out of range: 21", "-20 to 20"),
        (23, "only a curve has a bend", "\"hold\""),
        (24, "the time of a point is out of range: -1", "0 to 1000000"),
        (25, "the time of a point is out of range: nan", "0 to 1000000"),
        (26, "the value of a point is out of range: nan", "-1 to 1"),
        (28, "the point at 2 comes behind the one at 3", "sort"),
        (29, "a point cannot be a whole number", "[time, value]"),
        (30, "the time of a point cannot be a text", "write a number"),
        (31, "cannot be a whole number", "\"curve\""),
        (32, "out of range: -inf", "-1 to 1"),
    ];
    check(&text, &expected);
}

#[test]
fn lanes_move_what_is_there_and_can_move() {
    let points = "points = [[0, 1]]";
    let one = |keys: &str, cause: &str, remedy: &str| {
        // The keys begin behind the header in line 15.
        check(&lane(&format!("{keys}\n{points}")), &[(16, cause, remedy)]);
    };
    one("parameter = \"gain\"", "a strip has no parameter 'gain'", "did you mean 'gain_db'?");
    one("parameter = \"ratio\"", "a strip has no parameter 'ratio'", "effect = 1");
    one("effect = 3\nparameter = \"ratio\"", "has 2 effects, so there is no number 3", "from 1");
    one("effect = 0\nparameter = \"ratio\"", "effect = 0 is out of range", "a whole number from 1");
    one(
        "effect = \"delay\"\nparameter = \"ratio\"",
        "has no effect of the kind 'delay'",
        "name one",
    );
    one("send = \"room\"\nparameter = \"gain_db\"", "has no send to 'room'", "name one");
    one("send = 2\nparameter = \"gain_db\"", "has 1 sends, so there is no number 2", "from 1");
    let second = |keys: &str, cause: &str, remedy: &str| {
        check(&lane(&format!("{keys}\n{points}")), &[(17, cause, remedy)]);
    };
    second("effect = 1\nparameter = \"mix\"", "'compressor' has no parameter 'mix'", "'ratio'");
    second("send = 1\nparameter = \"pan\"", "a send has no parameter 'pan'", "'gain_db'");
    second("effect = 1\nsend = 1\nparameter = \"ratio\"", "names both", "keep one");
    check(&lane("parameter = \"pan\""), &[(15, "'points' is missing", "[[0, -6]")]);
    check(&lane("points = [[0, 0]]"), &[(15, "'parameter' is missing", "parameter = ")]);
    check(
        &lane("parameter = \"pan\"\npoints = []"),
        &[(17, "the lane has no points", "at least one")],
    );
    check(
        &lane("parameter = \"pan\"\npoints = 3"),
        &[(17, "'points' cannot be a whole number", "[[0")],
    );
    let twice = format!(
        "parameter = \"pan\"\n{points}\n[[track.automation]]\nparameter = \"pan\"\n{points}"
    );
    check(&lane(&twice), &[(18, "an earlier lane of the strip moves the same", "one lane")]);
    let range = "effect = \"compressor\"\nparameter = \"ratio\"\npoints = [[0, 100], [1, 101]]";
    check(&lane(range), &[(18, "out of range: 101", "from 1 to 100")]);
}

#[test]
fn an_effect_that_is_wrong_makes_no_lane_wrong() {
    let text = lane("effect = 2\nparameter = \"mix\"\npoints = [[0, 0.5]]");
    let wrong = text.replace("kind = \"compressor\"", "kind = \"compresor\"");
    check(&wrong, &[(10, "no effect of the kind 'compresor'", "compressor")]);
    let lost =
        text.replace("effect = 2", "send = \"hall\"").replace("to = \"hall\"", "to = \"hal\"");
    let lost = lost.replace("parameter = \"mix\"", "parameter = \"gain_db\"");
    check(&lost, &[(14, "'hal', which does not exist", "hall")]);
}

/// A kind with a parameter that decides memory.
struct WithFixed;

impl EffectCatalogue for WithFixed {
    fn kinds(&self) -> Vec<&'static str> {
        vec!["hall"]
    }

    fn params(&self, kind: &str) -> Option<Vec<ParamSpec>> {
        let lines = ParamSpec {
            name: "lines".into(),
            summary: "".into(),
            min: 8.0,
            max: 16.0,
            default: 8.0,
            fixed: true,
        };
        (kind == "hall").then(|| vec![lines])
    }
}

#[test]
fn what_is_set_when_built_does_not_move_and_deaf_kinds_get_no_key() {
    let folder = Folder::new();
    let path = folder.path("live.toml");
    let text = "[[track]]\nname = \"a\"\n[[track.clip]]\nfile = \"audio/a.wav\"\n[[track.effect]]\nkind = \"hall\"\n\
                key = \"a\"\n[[track.automation]]\neffect = 1\nparameter = \"lines\"\npoints = [[0, 9]]\n";
    std::fs::write(&path, text).expect("the session can be written");
    let errors = load(&path, &WithFixed, &LoadOptions::for_seats(1)).expect_err("two mistakes");
    let cycle = "cycle: a -> a";
    let deaf = (7, "'hall' does not listen to a side chain", "take the key out");
    compare(
        &errors,
        &[deaf, (7, cycle, "feedback = true"), (10, "'lines' of 'hall' cannot change", "once")],
    );
}

/// A track, and other tables from line 5 on.
fn with(tables: &str) -> String {
    format!("[[track]]\nname = \"a\"\n[[track.clip]]\nfile = \"audio/a.wav\"\n{tables}")
}

#[test]
fn tempos_time_signatures_and_loops_are_checked() {
    check(&with("[[tempo]]\nbpm = 0\n"), &[(6, "bpm = 0 is out of range", "1 to 10000")]);
    check(&with("[[tempo]]\n"), &[(5, "'bpm' is missing", "Quarter notes per minute")]);
    let two = |first: &str, second: &str| {
        with(&format!("[[tempo]]\nbpm = 90\n{first}\n[[tempo]]\nbpm = 60\n{second}\n"))
    };
    check(&two("at_beats = 4", "at_beats = 3"), &[(10, "this tempo begins before", "sort")]);
    check(&two("at_s = 4", "at_s = 3"), &[(10, "this tempo begins before", "sort")]);
    check(&two("glide = \"linear\"", "at_s = 3"), &[(10, "behind a linear glide", "at_beats")]);
    check(
        &two("", "at_s = 3\nat_beats = 4"),
        &[(10, "given twice, by at_beats and by at_s", "keep one")],
    );
    check(&two("", "at_beats = nan"), &[(10, "at_beats = nan is out of range", "")]);
    check(&with("[[meter]]\nsignature = \"4/3\"\n"), &[(6, "'4/3' is no time signature", "6/8")]);
    check(&with("[[meter]]\nsignature = \"0/4\"\n"), &[(6, "'0/4' is no time signature", "6/8")]);
    let same = "[[meter]]\nsignature = \"3/4\"\n[[meter]]\nat_bar = 1\nsignature = \"4/4\"\n";
    check(&with(same), &[(8, "this time signature begins before", "sort")]);
    check(&with("[transport]\nloop_from = 1\n"), &[(6, "loop_to is missing", "add loop_to")]);
    check(
        &with("[transport]\nloop_from = 1\nloop_to = 1.001\n"),
        &[(7, "the loop is shorter than 256 frames", "move loop_to")],
    );
    // A wrong time signature or tempo hides no wrong loop.
    let short = "[transport]\nloop_from = 1\nloop_to = 1.001\n";
    check(
        &with(&format!("[[meter]]\nsignature = \"4/3\"\n{short}")),
        &[(6, "'4/3' is no time signature", "6/8"), (9, "the loop is shorter", "move loop_to")],
    );
    check(
        &with(&format!("[[tempo]]\nbpm = 0\n{short}")),
        &[(6, "bpm = 0 is out of range", "from 1"), (9, "the loop is shorter", "move loop_to")],
    );
    let beats =
        "[[tempo]]\nbpm = 0\n[transport]\nloop_from = 1\nloop_to = 1.001\ntime = \"beats\"\n";
    check(&with(beats), &[(6, "bpm = 0 is out of range", "from 1")]);
    let slow = "[[tempo]]\nbpm = 1\n[[master.automation]]\nparameter = \"pan\"\ntime = \"beats\"\npoints = [[1e6, 0]]\n";
    let slow = with(&slow.replace("[[master", "[master]\n[[master"));
    check(&slow, &[(11, "more than 1099511627776 frames", "earlier beats")]);
}

#[test]
fn inputs_outputs_and_keys_name_what_is_there() {
    let text = "[[input]]\nname = \"mic\"\n[[input]]\nname = \"mic\"\nchannels = 65\n\
                [[output]]\nname = \"cue\"\nfrom = \"hal\"\n[[output]]\nname = \"master\"\nfrom = \"master\"\n\
                [[return]]\nname = \"hall\"\n\
                [[track]]\nname = \"a\"\ninput = \"mike\"\n[[track.clip]]\nfile = \"audio/a.wav\"\n\
                [[track.effect]]\nkind = \"compressor\"\nkey = \"halls\"\n[[track.effect]]\nkind = \"compressor\"\nkey_tap = \"pre\"\n";
    let expected = [
        (4, "'mic' is already the name of another input", "choose another"),
        (5, "channels = 65 is out of range", "1 to 64"),
        (8, "the strip 'hal' does not exist", "did you mean 'hall'?"),
        (10, "'master' is already the name of another output", "choose another"),
        (16, "the input 'mike' does not exist", "did you mean 'mic'?"),
        (21, "the strip 'halls' does not exist", "did you mean 'hall'?"),
        (24, "key_tap is there without a key", "add key"),
    ];
    check(text, &expected);
}

#[test]
fn a_track_plays_no_input_that_is_wider_than_itself() {
    let wide = |channels: u16| {
        format!(
            "[[input]]\nname = \"mic\"\nchannels = {channels}\n[[track]]\nname = \"a\"\ninput = \"mic\"\n"
        )
    };
    check(&wide(8), &[(6, "the input 'mic' has 8", "record it with [[take]]")]);
    check(&wide(0), &[(3, "channels = 0 is out of range", "1 to 64")]);
    for channels in [1, 2] {
        assert!(Folder::new().load(wide(channels)).is_ok());
    }
}

#[test]
fn only_feedback_closes_a_cycle() {
    let returns = |feedback: &str| {
        with(&format!(
            "[[return]]\nname = \"x\"\n[[return.send]]\nto = \"y\"\n[[return]]\nname = \"y\"\n[[return.send]]\nto = \"x\"\n{feedback}\n"
        ))
    };
    check(&returns(""), &[(8, "cycle: x -> y -> x", "feedback = true")]);
    let session = loaded(&returns("feedback = true")).session;
    assert!(
        session.returns[1].strip.sends[0].feedback && !session.returns[0].strip.sends[0].feedback
    );
    assert_eq!(session.feedback_s, None);
    let late = |value: &str| format!("[session]\nformat = 2\nfeedback_s = {value}\n{}", with(""));
    assert_eq!(loaded(&late("0.0213")).session.feedback_frames(48_000), 1022);
    check(&late("0"), &[(3, "feedback_s = 0 is out of range", "10")]);
    // A side chain is heard in the same block.
    let key = with(
        "output = \"g\"\n[[track.effect]]\nkind = \"compressor\"\nkey = \"g\"\n[[group]]\nname = \"g\"\n",
    );
    let key = key.replace(
        "file = \"audio/a.wav\"\noutput",
        "file = \"audio/a.wav\"\n[[track]]\nname = \"b\"\noutput",
    );
    check(&key, &[(7, "cycle: ", "")]);
}

#[test]
fn a_million_points_are_enough() {
    let points = "[0,0],".repeat(1_000);
    let lane = format!("[[track.automation]]\nparameter = \"pan\"\npoints = [{points}]\n");
    let track = |copies: usize| {
        format!(
            "[[track]]\nname = \"a\"\ncount = {copies}\n[[track.clip]]\nfile = \"audio/a.wav\"\n{lane}"
        )
    };
    assert_eq!(loaded(&track(1_000)).session.automation.len(), 1_000);
    check(&track(1_001), &[(8, "has 1001000 automation points", "at most 1000000")]);
}

#[test]
fn copies_have_lanes_of_their_own_and_share_the_points() {
    let text = lane("parameter = \"pan\"\npoints = [[0, 1]]")
        .replace("name = \"a\"", "name = \"a\"\ncount = 3");
    let session = loaded(&text).session;
    let strips: Vec<StripId> = session.automation.iter().map(|lane| lane.target.strip()).collect();
    assert_eq!(strips, [0, 1, 2].map(StripId::Track));
    let points = |copy: usize| session.automation[copy].lane.points.as_ptr();
    assert_eq!(points(0), points(2));
}

#[test]
fn a_converted_file_says_the_same_from_another_folder() {
    let folder = Folder::new();
    let path = folder.path("live.toml");
    let text = with("start_s = 1 # late\n");
    let before = folder.load(&text).unwrap_or_else(|errors| panic!("{errors}")).session;
    let deep = folder.path("deep/er");
    std::fs::create_dir_all(&deep).expect("a folder");
    let options = LoadOptions::for_seats(4);
    let converted =
        convert(&path, &deep, &Few, &options).unwrap_or_else(|errors| panic!("{errors}"));
    assert!(converted.contains("start_s = 1 # late"), "{converted}");
    assert!(converted.contains("file = \"../../audio/a.wav\""), "{converted}");
    assert!(converted.starts_with("[session]\nformat = 2\n"), "{converted}");
    let new = deep.join("live.toml");
    std::fs::write(&new, &converted).expect("the session can be written");
    let mut after = load(&new, &Few, &options).unwrap_or_else(|errors| panic!("{errors}")).session;
    after.media[0].path = after.media[0].path.canonicalize().expect("the file is there");
    let mut expected = before;
    expected.media[0].path = expected.media[0].path.canonicalize().expect("the file is there");
    assert_eq!(after, expected);
    let again = convert(&new, &deep, &Few, &options).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(again, converted);
}
