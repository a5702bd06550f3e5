//! `hocket session show`, `convert` and `schema`.
//! To renew docs/session.schema.json: `HOCKET_RENEW_DOCS=1 cargo test -p hocket --test cli schema`

use std::path::PathBuf;

use serde_json::{Value as Json, json};

use crate::support::{check_refused, example, files, one_track, root, run, session};

#[test]
fn a_session_is_shown_with_its_routes_effects_lanes_and_times() {
    let file = example("automation.toml");
    let ran = run(&["session", "show", file.to_str().unwrap()]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    for line in [
        "session Automation at 44100 Hz, 20 s",
        "  tempo 110 at beat 0, then in a line to the next",
        "  meter 4/4 at beat 0",
        "  input 0: microphone, mono",
        "  output 0: master",
        "  output 1: reverberation, from hall",
        "  track drums -> master, -6 dB",
        "    lane of gain_db: 2 points from 0 to 8 beats",
        "    lane of band1_freq_hz of eq: 2 points from 2 to 12 s",
        "    lane of gain_db of the send to echo: 6 points from 4 to 16 s",
        "    input microphone",
        "    send to echo, -24 dB, a block later",
        "  master, 0 dB",
        "    lane of bypass of limiter: 2 points from 0 to 4 beats",
    ] {
        assert!(ran.out.lines().any(|own| own == line), "no '{line}' in\n{}", ran.out);
    }
    assert!(ran.out.contains("hears drums, before the fader"), "{}", ran.out);
    assert!(ran.out.contains("  latency "), "{}", ran.out);
    check_refused(&["session", "show", "nowhere.toml"], 2, &["cannot be read"]);
}

#[test]
fn a_converted_session_says_the_same_and_nothing_is_replaced() {
    let (folder, file) = one_track("pan = 0.5 # right");
    let new = folder.path().join("new.toml");
    let args = ["session", "convert", &file, "-o", new.to_str().unwrap()];
    let ran = run(&args);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let text = std::fs::read_to_string(&new).unwrap();
    let old = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("pan = 0.5 # right") && text.contains("format = 2"), "{text}");
    let plain = |file: &str| run(&["session", "show", file]).out;
    assert_eq!(plain(new.to_str().unwrap()), plain(&file));
    for output in [new.to_str().unwrap(), &file] {
        check_refused(&["session", "convert", &file, "-o", output], 2, &["nothing was changed"]);
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), old);
    assert_eq!(std::fs::read_to_string(&new).unwrap(), text);
    let link = folder.path().join("link.toml");
    std::os::unix::fs::symlink(folder.path().join("nowhere"), &link).unwrap();
    let args = ["session", "convert", &file, "-o", link.to_str().unwrap()];
    check_refused(&args, 2, &["nothing was changed"]);
    assert!(link.is_symlink());
    let printed = run(&["session", "convert", &file, "-o", "-"]);
    assert!(printed.code == Some(0) && printed.out.contains("format = 2"), "{}", printed.err);
    let mut piped = crate::support::hocket(&["session", "convert", "-", "-o", "-"]);
    piped.current_dir(folder.path()).stdin(std::fs::File::open(&file).unwrap());
    let piped: crate::support::Ran = piped.output().unwrap().into();
    assert_eq!((piped.code, piped.out), (Some(0), text), "{}", piped.err);
    let (wrong, wrong_file) = session("[[track]]\nname = 1\n");
    let output = wrong.path().join("out.toml");
    check_refused(
        &["session", "convert", &wrong_file, "-o", output.to_str().unwrap()],
        2,
        &["try.toml:2:8: "],
    );
    assert_eq!(files(wrong.path()), ["loop.flac", "try.toml"]);
}

#[test]
fn a_newer_format_names_the_version() {
    let (_folder, file) = session("[session]\nformat = 77\n");
    check_refused(
        &["check", &file],
        2,
        &["the format 77", env!("CARGO_PKG_VERSION"), "a newer Hocket"],
    );
}

#[test]
fn inputs_that_nothing_brings_are_silent_and_one_line_says_so() {
    let (folder, file) = one_track("input = \"mic\"\n[[input]]\nname = \"mic\"");
    let plain = one_track("");
    let render = |file: &str, name: &str| {
        let out = folder.path().join(name);
        let ran = run(&["render", file, "-o", out.to_str().unwrap(), "--length", "0.2"]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        (std::fs::read(out).unwrap(), ran.err)
    };
    let (with, said) = render(&file, "with.wav");
    assert_eq!(said.matches("the inputs (mic)").count(), 1, "{said}");
    assert_eq!(with, render(&plain.1, "without.wav").0);
}

#[test]
fn a_fader_that_moves_is_rendered() {
    let steps =
        "[[track.automation]]\nparameter = \"gain_db\"\npoints = [[0, -200, \"hold\"], [0.1, 0]]";
    let (folder, file) = one_track(steps);
    let out = folder.path().join("out.wav");
    let args = ["render", &file, "-o", out.to_str().unwrap(), "--format", "16", "--length", "0.2"];
    let ran = run(&[&args[..], &["--dither", "none"]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    // 0.1 s are 4410 frames of 4 bytes, at the end of the file.
    let bytes = std::fs::read(out).unwrap();
    let (silent, loud) = bytes[bytes.len() - 2 * 4 * 4410..].split_at(4 * 4410);
    assert!(silent.iter().all(|byte| *byte == 0), "the fader is down from the first frame on");
    assert!(loud.iter().any(|byte| *byte != 0));
}

fn schema_path() -> PathBuf {
    root().join("docs/session.schema.json")
}

fn schema() -> Json {
    let ran = run(&["session", "schema"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    serde_json::from_str(&ran.out).unwrap()
}

#[test]
fn the_schema_in_the_docs_is_the_one_that_is_printed() {
    let printed = schema();
    if std::env::var_os("HOCKET_RENEW_DOCS").is_some() {
        std::fs::write(schema_path(), run(&["session", "schema"]).out).unwrap();
    }
    let text = std::fs::read_to_string(schema_path()).unwrap();
    let kept: Json = serde_json::from_str(&text).unwrap();
    let renew = "HOCKET_RENEW_DOCS=1 cargo test -p hocket --test cli schema";
    assert!(
        kept == printed,
        "docs/session.schema.json is an older one; renew it with\n    {renew}"
    );
}

/// TOML as JSON. What JSON has no number for is null.
fn as_json(value: &toml::Value) -> Json {
    match value {
        toml::Value::Float(number) => json!(number),
        toml::Value::Array(items) => items.iter().map(as_json).collect(),
        toml::Value::Table(table) => {
            Json::Object(table.iter().map(|(key, value)| (key.clone(), as_json(value))).collect())
        }
        toml::Value::Integer(number) => json!(number),
        toml::Value::Boolean(flag) => json!(flag),
        other => json!(other.as_str()),
    }
}

/// Checks values by the keywords of JSON Schema that the schema uses. An unknown keyword is a fault of the schema.
struct Checker<'a> {
    root: &'a Json,
}

impl Checker<'_> {
    fn accepts(&self, schema: &Json, value: &Json) -> bool {
        let rules = match schema {
            Json::Bool(all) => return *all,
            other => other.as_object().expect("a schema is an object"),
        };
        rules.iter().all(|(word, rule)| self.obeys(schema, word, rule, value))
    }

    fn obeys(&self, schema: &Json, word: &str, rule: &Json, value: &Json) -> bool {
        let number = |fits: &dyn Fn(f64, f64) -> bool| {
            value.as_f64().is_none_or(|value| fits(value, rule.as_f64().unwrap()))
        };
        let length = |fits: &dyn Fn(usize, usize) -> bool| {
            let most = rule.as_u64().unwrap() as usize;
            value.as_array().is_none_or(|items| fits(items.len(), most))
        };
        match word {
            "$schema" | "$defs" | "title" | "description" | "default" | "then" => true,
            "$ref" => {
                let place = rule.as_str().unwrap().trim_start_matches('#');
                self.accepts(self.root.pointer(place).expect("it is there"), value)
            }
            "type" => match rule.as_str().unwrap() {
                "object" => value.is_object(),
                "array" => value.is_array(),
                "string" => value.is_string(),
                "boolean" => value.is_boolean(),
                "integer" => value.is_i64() || value.is_u64(),
                "number" => value.is_number(),
                "null" => value.is_null(),
                other => panic!("type {other}"),
            },
            "enum" => rule.as_array().unwrap().contains(value),
            "anyOf" => rule.as_array().unwrap().iter().any(|one| self.accepts(one, value)),
            "allOf" => rule.as_array().unwrap().iter().all(|one| self.accepts(one, value)),
            "if" => !self.accepts(rule, value) || self.accepts(&schema["then"], value),
            "minimum" => number(&|value, least| value >= least),
            "exclusiveMinimum" => number(&|value, least| value > least),
            "maximum" => number(&|value, most| value <= most),
            "minItems" => length(&|length, least| length >= least),
            "maxItems" => length(&|length, most| length <= most),
            "pattern" => value.as_str().is_none_or(|text| matches(rule.as_str().unwrap(), text)),
            "required" => value.as_object().is_none_or(|table| {
                rule.as_array().unwrap().iter().all(|key| table.contains_key(key.as_str().unwrap()))
            }),
            "properties" => value.as_object().is_none_or(|table| {
                let rules = rule.as_object().unwrap();
                table
                    .iter()
                    .all(|(key, value)| rules.get(key).is_none_or(|rule| self.accepts(rule, value)))
            }),
            "additionalProperties" => {
                assert_eq!(rule, &json!(false));
                let known = &schema["properties"];
                value
                    .as_object()
                    .is_none_or(|table| table.keys().all(|key| known.get(key).is_some()))
            }
            "items" => value
                .as_array()
                .is_none_or(|items| items.iter().all(|item| self.accepts(rule, item))),
            "prefixItems" => value.as_array().is_none_or(|items| {
                items
                    .iter()
                    .zip(rule.as_array().unwrap())
                    .all(|(item, rule)| self.accepts(rule, item))
            }),
            other => panic!("the schema uses '{other}', which this test does not know"),
        }
    }
}

/// The three patterns of the schema, by hand.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern {
        "\\S" => !text.trim().is_empty(),
        "^ *seats *([x*] *[0-9]+ *)?$" => {
            let rest = text.trim().strip_prefix("seats").map(str::trim_start);
            rest.is_some_and(|rest| {
                let factor = rest.strip_prefix(['x', '*']).map(str::trim);
                rest.is_empty() || factor.is_some_and(|factor| factor.parse::<u32>().is_ok())
            })
        }
        "^ *[0-9]+ */ *(1|2|4|8|16|32|64) *$" => {
            text.split_once('/').is_some_and(|(over, under)| {
                let note = ["1", "2", "4", "8", "16", "32", "64"].contains(&under.trim());
                note && over.trim().parse::<u32>().is_ok()
            })
        }
        "^(lv2|clap|vst3):." => {
            let of = |prefix: &str| text.strip_prefix(prefix);
            let name = ["lv2:", "clap:", "vst3:"].into_iter().find_map(of);
            name.is_some_and(|name| !name.is_empty())
        }
        other => panic!("the schema has the pattern '{other}', which this test does not know"),
    }
}

fn accepts(schema: &Json, text: &str) -> bool {
    let table: toml::Table = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
    Checker { root: schema }.accepts(schema, &as_json(&toml::Value::Table(table)))
}

#[test]
fn the_schema_accepts_every_example() {
    let schema = schema();
    let here = std::fs::read_dir(root().join("sessions")).unwrap();
    let mut paths: Vec<PathBuf> = here.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    assert!(paths.len() >= 5, "{paths:?}");
    for name in ["format-2.toml", "notes.toml"] {
        paths.push(root().join("crates/hocket/tests/data").join(name));
    }
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(accepts(&schema, &text), "{}", path.display());
    }
}

#[test]
fn the_schema_refuses_damaged_sessions_as_the_reader_does() {
    let schema = schema();
    let track = "[[track]]\nname = \"one\"\nclip = [{ file = \"loop.flac\" }]\n";
    assert!(accepts(&schema, track));
    let lane = |points: &str| {
        format!("{track}[[track.automation]]\nparameter = \"pan\"\npoints = {points}\n")
    };
    let effect = |keys: &str| format!("{track}[[track.effect]]\n{keys}\n");
    let notes = |notes: &str| format!("{track}[[track.notes]]\nnotes = {notes}\n");
    for right in [
        lane("[[0, -1], [1, 1, \"hold\"], [2, 0, \"curve\", -3]]"),
        effect("kind = \"compressor\"\nratio = 2\nkey = \"one\"")
            .replace("one\"\nclip", "two\"\nclip")
            + "[[track]]\nname = \"one\"\n[[track.clip]]\nfile = \"loop.flac\"\n",
        effect("kind = \"gate\"\nrange_db = -96\nhold_ms = 0\nkey = \"one\"")
            .replace("one\"\nclip", "two\"\nclip")
            + "[[track]]\nname = \"one\"\n[[track.clip]]\nfile = \"loop.flac\"\n",
        format!("{track}gain_db = -inf\ncount = \"seats x 2\"\n"),
        format!("{track}[[meter]]\nsignature = \"7/8\"\n"),
        notes("[[0, 1, 60], [0.5, 1e3, 127, 0]]"),
        effect("kind = \"synth\"\nwave = 1\nevents = \"one\""),
        format!("{track}[[take]]\nfrom = \"one\"\ntap = \"pre\"\nfile = \"a.wav\"\n"),
        format!(
            "{track}[[take]]\nfrom = \"one\"\nfile = \"a.wav\"\nalign = \"song\"\noffset_frames = -9\n"
        ),
    ] {
        let (_folder, file) = session(&right);
        assert_eq!(run(&["check", &file]).code, Some(0), "{}\n{right}", run(&["check", &file]).err);
        assert!(accepts(&schema, &right), "{right}");
    }
    for wrong in [
        "[session]\nname = \"no tracks\"\n".to_owned(),
        "[[track]]\nclip = [{ file = \"loop.flac\" }]\n".to_owned(),
        "[[track]]\nname = \" \"\nclip = [{ file = \"loop.flac\" }]\n".to_owned(),
        format!("{track}colour = 3\n"),
        format!("{track}pan = 2\n"),
        format!("{track}pan = \"left\"\n"),
        format!("{track}mute = 1\n"),
        format!("{track}count = 0\n"),
        format!("{track}count = \"many\"\n"),
        format!("{track}[session]\nformat = 3\n"),
        format!("{track}[session]\nlength_s = 0\n"),
        format!("{track}[[tempo]]\nbpm = 0\n"),
        format!("{track}[[meter]]\nsignature = \"4/3\"\n"),
        format!("{track}[[input]]\nname = \"mic\"\nchannels = 65\n"),
        format!("{track}[[output]]\nname = \"cue\"\n"),
        format!("{track}[[track.send]]\nto = 3\n"),
        effect("kind = \"compresor\""),
        effect("kind = \"compressor\"\nratio = 0"),
        effect("kind = \"compressor\"\nroom = 0.5"),
        effect("kind = \"gate\"\nrange_db = 6"),
        effect("kind = \"freeverb\"\nkey = \"one\""),
        lane("[]"),
        lane("[[0]]"),
        lane("[[-1, 0]]"),
        lane("[[0, 0, \"fast\"]]"),
        lane("[[0, 0, \"curve\"]]"),
        lane("[[0, 0, \"hold\", 1]]"),
        lane("[[0, 0, \"curve\", 21]]"),
        notes("[]"),
        notes("[[0, 1]]"),
        notes("[[0, 0, 60]]"),
        notes("[[0, 1, 128]]"),
        notes("[[0, 1, 60, 2]]"),
        effect("kind = \"freeverb\"\nevents = \"one\""),
        format!("{track}[[take]]\nfrom = \"one\"\n"),
        format!("{track}[[take]]\nfrom = \"one\"\nfile = \"a.wav\"\narmed = 1\n"),
        format!("{track}[[take]]\nfrom = \"one\"\nfile = \"a.wav\"\nalign = \"left\"\n"),
        format!("{track}[[take]]\nfrom = \"one\"\nfile = \"a.wav\"\noffset_frames = 65537\n"),
    ] {
        let (_folder, file) = session(&wrong);
        assert_eq!(run(&["check", &file]).code, Some(2), "{wrong}");
        assert!(!accepts(&schema, &wrong), "{wrong}");
    }
}

#[test]
fn what_a_gate_cannot_be_is_refused_with_place_and_remedy() {
    let check = |keys: &str, words: &[&str]| {
        let (_folder, file) = one_track(&format!("[[track.effect]]\nkind = \"gate\"\n{keys}"));
        check_refused(&["check", &file], 2, words);
    };
    // The keys of the effect begin in line 10.
    check("threshold_db = 1", &["try.toml:10", "threshold_db = 1", "a number from -80 to 0"]);
    check("range_db = 60", &["try.toml:10", "range_db = 60", "a number from -96 to 0"]);
    check("attack_ms = 0", &["try.toml:10", "attack_ms = 0", "a number from 0.05 to 500"]);
    check("hold_ms = -1", &["try.toml:10", "hold_ms = -1", "a number from 0 to 5000"]);
    check("release_ms = 0.5", &["try.toml:10", "release_ms = 0.5", "a number from 1 to 5000"]);
    check("hysteresis_db = 25", &["try.toml:10", "hysteresis_db = 25", "a number from 0 to 24"]);
    check("ratio = 2", &["try.toml:10", "unknown key 'ratio'"]);
    check(
        "[[track.automation]]\neffect = \"gate\"\nparameter = \"hold_ms\"\npoints = [[0, 9000]]",
        &["try.toml:13", "9000", "5000"],
    );
}
