//! MIDI files in every command, and the SoundFonts that play them.

use std::path::Path;

use crate::support::{Ran, check_refused, example, hocket, run, session};

fn tune() -> String {
    example("midi/small-tune.mid").display().to_string()
}

fn font() -> String {
    example("soundfonts/small.sf2").display().to_string()
}

fn done(args: &[&str]) -> Ran {
    let ran = run(args);
    assert_eq!(ran.code, Some(0), "{args:?}\n{}", ran.err);
    ran
}

#[test]
fn a_midi_file_renders_to_the_same_bytes_on_any_workers_and_as_a_session() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let render = |from: &str, to: &str, more: &[&str]| {
        let mut args = vec!["render", from, "-o", to, "--length", "3"];
        args.extend_from_slice(more);
        done(&args)
    };
    let ran = render(&tune(), &at("one.wav"), &["--soundfont", &font(), "--workers", "1"]);
    assert!(ran.err.contains("small.sf2 plays "), "{}", ran.err);
    let two = ["--soundfont", &font(), "--workers", "2", "--schedule", "steal", "--frames", "37"];
    render(&tune(), &at("two.wav"), &two);
    done(&["session", "convert", &tune(), "--soundfont", &font(), "-o", &at("tune.toml")]);
    done(&["check", &at("tune.toml")]);
    render(&at("tune.toml"), &at("session.wav"), &[]);
    let bytes = |name: &str| std::fs::read(at(name)).unwrap();
    assert!(bytes("one.wav").len() > 500_000);
    assert!(bytes("one.wav") == bytes("two.wav") && bytes("one.wav") == bytes("session.wav"));
    let text = std::fs::read_to_string(at("tune.toml")).unwrap();
    for part in ["channel 10 (drums)", "kind = \"soundfont\"", "midi_channel = 10", "small.sf2"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn every_command_takes_a_midi_file() {
    let (tune, font) = (tune(), font());
    let with = ["--soundfont", &font];
    let checked = done(&[&["check", &tune][..], &with].concat());
    assert!(checked.out.contains("4 tracks"), "{}", checked.out);
    let shown = done(&[&["session", "show", &tune][..], &with].concat());
    assert!(shown.out.contains("soundfont, plays"), "{}", shown.out);
    let played = done(&[&["play", &tune, "--length", "0.2", "--json"][..], &with].concat());
    assert!(played.out.contains("blocks"), "{}", played.out);
    let few = ["--blocks", "20", "--starts", "1", "--policy", "off", "--no-profile"];
    done(&[&["bench", &tune][..], &few, &with].concat());
}

#[test]
fn a_damaged_midi_file_plays_with_its_place_in_a_warning_and_is_refused_by_strict() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let whole = std::fs::read(tune()).unwrap();
    let cut = at("cut.mid");
    std::fs::write(&cut, &whole[..whole.len() - 40]).unwrap();
    let text = format!(
        "[[track]]\nname = \"one\"\nnotes = [{{ file = \"{cut}\" }}]\n[[track.effect]]\nkind = \"synth\"\n"
    );
    std::fs::write(at("cut.toml"), text).unwrap();
    let (font, out, of_session) = (font(), at("out.wav"), at("cut.toml"));
    let words = [
        "cut.mid",
        "is cut short or damaged: it is cut short in track 1, which can be read up to byte ",
    ];
    let with = ["--soundfont", &font];
    for (file, with) in [(&cut, &with[..]), (&of_session, &[])] {
        let check = [&["check", file][..], with].concat();
        let render = [&["render", file, "--length", "1", "--force", "-o", &out][..], with].concat();
        for args in [&check, &render] {
            let ran = done(args);
            assert!(words.iter().all(|word| ran.err.contains(word)), "{}", ran.err);
            assert!(ran.err.contains("what can be read of it plays"), "{}", ran.err);
        }
        let strict = [&words[..], &["leave out --strict"]].concat();
        check_refused(&[&check[..], &["--strict"]].concat(), 2, &strict);
        check_refused(&[&render[..], &["--strict"]].concat(), 2, &strict);
        let play = [&["play", file, "--length", "0.1", "--strict"][..], with].concat();
        check_refused(&play, 2, &strict);
    }
    let ran = done(&["check", &tune(), "--strict", "--soundfont", &font]);
    assert!(!ran.err.contains("warning"), "{}", ran.err);
}

#[test]
fn the_soundfont_is_the_one_of_the_variable_where_none_is_named() {
    let check = |variable: &str| -> Ran {
        hocket(&["check", &tune()]).env("HOCKET_SOUNDFONT", variable).output().unwrap().into()
    };
    let there = check(&font());
    assert_eq!(there.code, Some(0), "{}", there.err);
    let gone = check("/none/of/these.sf2");
    assert_eq!(gone.code, Some(2), "{}", gone.err);
    assert!(gone.err.contains("/none/of/these.sf2: this file does not exist"), "{}", gone.err);
    assert!(gone.err.contains("HOCKET_SOUNDFONT names this one"), "{}", gone.err);
    let usual = ["/usr/share/sounds/sf2", "/usr/share/soundfonts"];
    if usual.iter().any(|folder| Path::new(folder).exists()) {
        println!("SKIPPED no_soundfont_at_all: this machine has one");
        return;
    }
    let none = check("");
    assert_eq!(none.code, Some(2), "{}", none.err);
    for word in ["no SoundFont", "timgm6mb-soundfont", "--soundfont FILE"] {
        assert!(none.err.contains(word), "{}", none.err);
    }
}

#[test]
fn a_soundfont_that_is_damaged_or_lacks_the_preset_is_refused_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let whole = std::fs::read(font()).unwrap();
    std::fs::write(at("cut.sf2"), &whole[..whole.len() / 2]).unwrap();
    std::fs::write(at("text.sf2"), b"no soundfont at all").unwrap();
    let refused = |name: &str, words: &[&str]| {
        check_refused(&["check", &tune(), "--soundfont", &at(name)], 2, words);
        let wav = at("a.wav");
        check_refused(&["render", &tune(), "-o", &wav, "--soundfont", &at(name)], 2, words);
    };
    refused("cut.sf2", &["cut.sf2", "at byte", "remedy: copy or download the file again"]);
    refused("text.sf2", &["text.sf2", "no SoundFont 2 file", "remedy: name a SoundFont 2 file"]);
    refused("none.sf2", &["none.sf2", "does not exist"]);
    let effect = |more: &str| {
        session(&format!(
            "[[track]]\nname = \"one\"\nnotes = [{{ notes = [[0, 1, 60]] }}]\n[[track.effect]]\nkind = \"soundfont\"\n\
             {more}\n"
        ))
    };
    let refused = |more: &str, words: &[&str]| {
        let (_folder, file) = effect(more);
        check_refused(&["check", &file], 2, words);
    };
    let named = format!("file = \"{}\"", font());
    refused(
        &format!("{named}\nprogram = 5"),
        &["try.toml:6:", "no program 5 in bank 0", "0:32 'Bass'"],
    );
    refused(&format!("{named}\nbank = 7"), &["no presets in bank 7", "128:0"]);
    refused(
        &format!("file = \"{}\"", at("cut.sf2")),
        &["try.toml:6:", "at byte", "copy or download"],
    );
    refused("", &["'file' is missing in [[track.effect]]"]);
    let (_folder, file) = effect(&format!("{named}\nprogram = 32"));
    done(&["check", &file]);
}

#[test]
fn a_soundfont_for_what_is_no_midi_file_is_refused() {
    let band = example("best-case.toml").display().to_string();
    let words = ["--soundfont", "no MIDI file"];
    check_refused(&["play", &band, "--soundfont", &font(), "--length", "0.1"], 2, &words);
    check_refused(&["session", "convert", &band, "--soundfont", &font(), "-o", "-"], 2, &words);
    check_refused(&["check", &band, "--soundfont", &font()], 2, &words);
    let project = example("pulse.dawproject").display().to_string();
    check_refused(&["session", "convert", &project, "--soundfont", &font(), "-o", "-"], 2, &words);
    check_refused(
        &["check", "none.mid", "--soundfont", &font()],
        2,
        &["none.mid", "does not exist"],
    );
}

/// Two tracks with a synthesizer at a tempo that glides; the first plays `notes`.
fn tracks(notes: &str, more: &str) -> String {
    format!(
        "[session]\nlength_s = 2\n[[tempo]]\nbpm = 100\nglide = \"linear\"\n[[tempo]]\nat_beats = 3\nbpm = 160\n\
         [[track]]\nname = \"bass\"\n{notes}\n[[track.effect]]\nkind = \"synth\"\n\
         [[track]]\nname = \"voice\"\nclip = [{{ file = \"loop.flac\" }}]\n{more}"
    )
}

const WRITTEN: &str =
    "notes = [{ notes = [[0, 1.3, 33, 1], [0.75, 2, 45, 1], [1.3, 0.1, 52, 1], [2.6, 9, 40, 1]] }]";

#[test]
fn recorded_notes_play_the_same_bytes_and_are_recovered() {
    let take = "[[take]]\nfrom = \"bass\"\nfile = \"bass.mid\"\n";
    let (folder, file) = session(&tracks(WRITTEN, take));
    let at = |name: &str| folder.path().join(name).display().to_string();
    let rendered = done(&["render", &file, "-o", &at("one.wav"), "--frames", "100"]);
    assert!(
        rendered.err.contains("take bass: ") && rendered.err.contains(" 8 messages"),
        "{}",
        rendered.err
    );
    // The session of the command line's take has none of its own.
    std::fs::write(at("plain.toml"), tracks(WRITTEN, "")).unwrap();
    let arg = format!("bass={}", at("played.MID"));
    let played = done(&["play", &at("plain.toml"), "--length", "2", "--take", &arg, "--json"]);
    let told: serde_json::Value = serde_json::from_str(&played.out).unwrap();
    assert_eq!(told["takes"][0]["events"]["written"], 8, "{told:#}");
    assert_eq!(told["takes"][0]["whole"], true, "{told:#}");
    let bytes = |name: &str| std::fs::read(at(name)).unwrap();
    for (recorded, wav) in [("bass.mid", "two.wav"), ("played.MID", "three.wav")] {
        let notes = format!("notes = [{{ file = \"{recorded}\" }}]");
        std::fs::write(at("again.toml"), tracks(&notes, "")).unwrap();
        done(&["render", &at("again.toml"), "-o", &at(wav)]);
        assert!(bytes("one.wav") == bytes(wav), "{recorded} sounds different");
    }
    let recovered = done(&["recover", &at("bass.mid")]);
    assert!(recovered.out.contains("the track is right: 8 messages"), "{}", recovered.out);
    let there = format!("bass={}", at("bass.mid"));
    check_refused(&["play", &file, "--take", &there], 2, &["bass.mid", "never replaces a file"]);
    let none = format!("voice={}", at("voice.mid"));
    check_refused(&["play", &file, "--take", &none], 2, &["'voice' has no notes", "record audio"]);
    assert!(!folder.path().join("voice.mid").exists());
}
