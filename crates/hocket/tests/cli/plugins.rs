//! `hocket plugin`, and sessions with plug-ins.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::support::{Ran, example, hocket, one_track, session};

const OVERDRIVE: &str = "lv2:http://drobilla.net/plugins/mda/Overdrive";
const DX10: &str = "lv2:http://drobilla.net/plugins/mda/DX10";
const EPIANO: &str = "lv2:http://drobilla.net/plugins/mda/EPiano";
const LESLIE: &str = "lv2:http://drobilla.net/plugins/mda/Leslie";

/// A machine with the LV2 plug-ins of mda alone, and a cache of its own.
pub struct Machine(tempfile::TempDir);

impl Machine {
    pub fn with_mda(test: &str) -> Option<Machine> {
        let mda = Path::new("/usr/lib/lv2/mda.lv2");
        let missing = hocket_plugins::lv2::available().err();
        if !mda.exists() || missing.is_some() {
            println!("SKIPPED {test}: no {}, or no liblilv", mda.display());
            return None;
        }
        let machine = Machine(tempfile::tempdir().unwrap());
        std::fs::create_dir(machine.0.path().join("lv2")).unwrap();
        symlink(mda, machine.0.path().join("lv2/mda.lv2")).unwrap();
        Some(machine)
    }

    /// A machine with the LV2 bundles of these names, and nothing else.
    pub fn with_lv2(test: &str, names: &[&str]) -> Option<Machine> {
        if let Err(missing) = hocket_plugins::lv2::available() {
            println!("SKIPPED {test}: {missing}");
            return None;
        }
        let machine = Machine(tempfile::tempdir().unwrap());
        std::fs::create_dir(machine.0.path().join("lv2")).unwrap();
        for name in names {
            let bundle = Path::new("/usr/lib/lv2").join(name);
            if !bundle.exists() {
                println!("SKIPPED {test}: no {}", bundle.display());
                return None;
            }
            symlink(bundle, machine.0.path().join("lv2").join(name)).unwrap();
        }
        Some(machine)
    }

    /// A machine with the tests' CLAP plug-in alone, which misbehaves as `name` says.
    pub fn with_test_clap(test: &str, name: &str) -> Option<Machine> {
        let program = Path::new(env!("CARGO_BIN_EXE_hocket"));
        let plugin = program.parent().unwrap().join("examples/libtest_clap.so");
        if !plugin.exists() {
            println!("SKIPPED {test}: the example test_clap is not built: build with --examples");
            return None;
        }
        let machine = Machine(tempfile::tempdir().unwrap());
        std::fs::create_dir(machine.0.path().join("clap")).unwrap();
        std::fs::copy(plugin, machine.0.path().join(format!("clap/{name}.clap"))).unwrap();
        Some(machine)
    }

    /// A machine with the tests' LV2 plug-in of three outputs alone, built from C.
    pub fn with_outputs_lv2(test: &str) -> Option<Machine> {
        if let Err(missing) = hocket_plugins::lv2::available() {
            println!("SKIPPED {test}: {missing}");
            return None;
        }
        let source = "../hocket-plugins/tests/plugins/outputs.lv2";
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(source);
        let machine = Machine(tempfile::tempdir().unwrap());
        let bundle = machine.0.path().join("lv2/outputs.lv2");
        std::fs::create_dir_all(&bundle).unwrap();
        for file in ["manifest.ttl", "outputs.ttl"] {
            std::fs::copy(source.join(file), bundle.join(file)).unwrap();
        }
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(bundle.join("outputs.so"));
        match compiler.arg(source.join("outputs.c")).status() {
            Ok(status) => assert!(status.success()),
            Err(error) => {
                println!("SKIPPED {test}: no cc: {error}");
                return None;
            }
        }
        Some(machine)
    }

    /// A machine with the tests' VST3 plug-in alone.
    pub fn with_test_vst3(test: &str) -> Option<Machine> {
        let program = Path::new(env!("CARGO_BIN_EXE_hocket"));
        let plugin = program.parent().unwrap().join("examples/libtest_vst3.so");
        if !plugin.exists() {
            println!("SKIPPED {test}: the example test_vst3 is not built: build with --examples");
            return None;
        }
        let machine = Machine(tempfile::tempdir().unwrap());
        let place = format!("vst3/plain.vst3/Contents/{}-linux", std::env::consts::ARCH);
        let place = machine.0.path().join(place);
        std::fs::create_dir_all(&place).unwrap();
        std::fs::copy(plugin, place.join("plain.so")).unwrap();
        Some(machine)
    }

    /// A machine with the VST3 plug-ins of zam-plugins of these names, and nothing else.
    pub fn with_zam(test: &str, names: &[&str]) -> Option<Machine> {
        Machine::with_zam_in("vst3", test, names)
    }

    /// A machine with the plug-ins of zam-plugins of these names in one format (`lv2`, `clap`, `vst3`), and nothing else.
    pub fn with_zam_in(format: &str, test: &str, names: &[&str]) -> Option<Machine> {
        let machine = Machine(tempfile::tempdir().unwrap());
        std::fs::create_dir(machine.0.path().join(format)).unwrap();
        for name in names.iter().map(|name| format!("{name}.{format}")) {
            let bundle = Path::new("/usr/lib").join(format).join(&name);
            if !bundle.exists() {
                println!("SKIPPED {test}: no {}", bundle.display());
                return None;
            }
            symlink(bundle, machine.0.path().join(format).join(name)).unwrap();
        }
        Some(machine)
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        self.command(args).output().unwrap().into()
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let at = |name: &str| self.0.path().join(name);
        let mut command = hocket(args);
        command.env("LV2_PATH", at("lv2")).env("CLAP_PATH", at("clap"));
        command.env("VST3_PATH", at("vst3"));
        command.env("XDG_CACHE_HOME", at("cache")).env("HOME", at("home"));
        command
    }

    pub fn file(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }
}

#[test]
fn plug_ins_are_listed_described_and_run() {
    let Some(machine) = Machine::with_mda("plug_ins_are_listed_described_and_run") else { return };
    let list = machine.run(&["plugin", "list"]);
    assert!(
        list.out.contains(&format!("{OVERDRIVE}  MDA Overdrive (2 in, 2 out)")),
        "{}",
        list.out
    );
    assert!(machine.0.path().join("cache/hocket/plugins.json").exists());
    let json: serde_json::Value =
        serde_json::from_str(&machine.run(&["plugin", "list", "--json"]).out).unwrap();
    let plugins = json["plugins"].as_array().unwrap();
    assert!(plugins.iter().any(|plugin| plugin["kind"] == OVERDRIVE));
    let info = machine.run(&["plugin", "info", OVERDRIVE]);
    assert!(info.out.contains("drive   0 to 1, default 0  Drive"), "{}", info.out);

    let (input, output) = (example("audio/drum_snare_hard.flac"), machine.file("out.wav"));
    let input = input.to_str().unwrap();
    let render = ["plugin", "render", OVERDRIVE, "-i", input, "-o", &output, "--set", "drive=0.8"];
    let ran = machine.run(&render);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let first = std::fs::read(&output).unwrap();
    let ran = machine.run(&[&render[..], &["--frames", "17"]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(std::fs::read(&output).unwrap(), first);
}

#[test]
fn an_instrument_plays_a_midi_file_to_the_same_bytes_for_every_block_length() {
    let test = "an_instrument_plays_a_midi_file_to_the_same_bytes_for_every_block_length";
    let Some(machine) = Machine::with_mda(test) else { return };
    let (input, output) = (example("midi/bass.mid"), machine.file("out.wav"));
    let input = input.to_str().unwrap();
    // The other instruments of mda end voices where a run ends, so their bits depend on the block length.
    let args = ["plugin", "render", DX10, "-i", input, "-o", &output];
    let rendered = |more: &[&str]| {
        let ran = machine.run(&[&args[..], more].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let audio = hocket_media::decode(Path::new(&output)).unwrap();
        (audio.sample_rate_hz, audio.channels)
    };
    let (rate_hz, whole) = rendered(&[]);
    assert_eq!(rate_hz, 48_000);
    let loud = |rows: &[Vec<f32>]| rows.iter().flatten().any(|sample| sample.abs() > 0.01);
    assert!(loud(&whole));
    assert!(rendered(&["--frames", "37"]).1 == whole);
    // The last note ends three seconds before the end.
    let song = hocket_session::read_midi(Path::new(input)).unwrap();
    assert_eq!(whole[0].len(), (song.length_s * 48_000.0).round() as usize);
    let (_, part) = rendered(&["--length", "0.5"]);
    assert!(part[0].len() == 24_000 && part[0] == whole[0][..24_000]);
    let (rate_hz, other) = rendered(&["--length", "0.5", "--rate", "44100"]);
    assert!(rate_hz == 44_100 && other[0].len() == 22_050 && loud(&other));
}

/// Its notes sound as constants. It reads the pitch bend once per run, so other block lengths mean other bits.
#[test]
fn a_vst3_plug_in_plays_a_midi_file() {
    let Some(machine) = Machine::with_test_vst3("a_vst3_plug_in_plays_a_midi_file") else { return };
    let (input, output) = (example("midi/bass.mid"), machine.file("out.wav"));
    let kind = "vst3:484F434B455400015445535400000001";
    let args = ["plugin", "render", kind, "-i", input.to_str().unwrap(), "-o", &output];
    let ran = machine.run(&args);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let rows = hocket_media::decode(Path::new(&output)).unwrap().channels;
    assert!(rows[0].iter().any(|sample| *sample > 0.1));
}

#[test]
fn the_length_of_a_plug_in_s_output_can_be_chosen() {
    let test = "the_length_of_a_plug_in_s_output_can_be_chosen";
    let Some(machine) = Machine::with_mda(test) else { return };
    let (input, output) = (example("audio/drum_snare_hard.flac"), machine.file("out.wav"));
    let args = ["plugin", "render", OVERDRIVE, "-i", input.to_str().unwrap(), "-o", &output];
    let rendered = |more: &[&str]| {
        let ran = machine.run(&[&args[..], more].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        hocket_media::decode(Path::new(&output)).unwrap()
    };
    let whole = rendered(&[]);
    let long = rendered(&["--length", "3"]);
    let (frames, rate_hz) = (whole.frames(), whole.sample_rate_hz as usize);
    assert_eq!(long.frames(), 3 * rate_hz);
    assert!(long.channels[0][..frames] == whole.channels[0]);
    // Silence goes in behind the file.
    assert!(long.channels[0][frames + rate_hz / 2..].iter().all(|sample| sample.abs() < 1e-3));
}

#[test]
fn what_a_plug_in_cannot_play_is_refused() {
    let test = "what_a_plug_in_cannot_play_is_refused";
    let Some(machine) = Machine::with_mda(test) else { return };
    let (song, sound) = (example("midi/bass.mid"), example("audio/drum_snare_hard.flac"));
    let (song, sound, output) = (song.display(), sound.display(), machine.file("out.wav"));
    let (song, sound) = (song.to_string(), sound.to_string());
    let broken = machine.file("broken.mid");
    std::fs::write(&broken, "no MIDI file").unwrap();
    let check = |kind: &str, input: &str, more: &[&str], words: &str| {
        let args = ["plugin", "render", kind, "-i", input, "-o", &output];
        let ran = machine.run(&[&args[..], more].concat());
        assert!(ran.code == Some(2) && ran.err.contains(words), "{words}: {}", ran.err);
        assert!(!Path::new(&output).exists());
    };
    let takes_none = "takes no notes; name an audio file, or choose an instrument";
    check(OVERDRIVE, &song, &[], takes_none);
    check(EPIANO, &broken, &[], "broken.mid");
    check(EPIANO, &song, &["--length", "0"], "--length 0: choose more than 0");
    check(EPIANO, &song, &["--rate", "1"], "1");
    check(OVERDRIVE, &sound, &["--rate", "44100"], "leave --rate out");
}

#[test]
fn presets_are_listed_rendered_and_named_in_sessions() {
    let test = "presets_are_listed_rendered_and_named_in_sessions";
    let Some(machine) = Machine::with_mda(test) else { return };
    let info = machine.run(&["plugin", "info", LESLIE]);
    let fast = "presets\n  Default  http://drobilla.net/plugins/mda/presets#Leslie-leslie-simulator\n  Fast     http";
    assert!(info.out.contains(fast), "{}", info.out);
    let info = machine.run(&["plugin", "info", LESLIE, "--json"]);
    let json: serde_json::Value = serde_json::from_str(&info.out).unwrap();
    assert_eq!(json["presets"][1]["label"], "Fast", "{}", info.out);
    // A preset of the user's own, in a bundle beside.
    let own = machine.0.path().join("lv2/own.preset.lv2");
    std::fs::create_dir(&own).unwrap();
    let turtle = "@prefix lv2: <http://lv2plug.in/ns/lv2core#> .\n\
                  @prefix pset: <http://lv2plug.in/ns/ext/presets#> .\n\
                  @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n\
                  <urn:test:own> a pset:Preset ; lv2:appliesTo <http://drobilla.net/plugins/mda/Overdrive> ; \
                  rdfs:label \"My own\" ; lv2:port [ lv2:symbol \"drive\" ; pset:value 0.8 ] .\n";
    std::fs::write(own.join("manifest.ttl"), turtle).unwrap();
    let (input, output) = (example("audio/drum_snare_hard.flac"), machine.file("out.wav"));
    let rendered = |more: &[&str]| {
        let args = ["plugin", "render", OVERDRIVE, "-i", input.to_str().unwrap(), "-o", &output];
        let ran = machine.run(&[&args[..], more].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        std::fs::read(&output).unwrap()
    };
    let set = rendered(&["--set", "drive=0.8"]);
    assert!(rendered(&["--preset", "My own"]) == set);
    assert!(rendered(&["--preset", "urn:test:own", "--set", "muffle=0.7"]) != set);
    let session = |effect: &str| {
        let text = format!("[[track.effect]]\nkind = \"{OVERDRIVE}\"\n{effect}\n");
        let (_folder, session) = one_track(&text);
        let ran = machine.run(&["render", &session, "-o", &output]);
        (ran, std::fs::read(&output).ok())
    };
    let (ran, by_value) = session("drive = 0.8");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(session("preset = \"My own\"").1 == by_value);
    assert!(session("preset = \"My own\"\ndrive = 0.1").1 != by_value);
    let (ran, _) = session("preset = \"Nobody's\"");
    let words = ["there is no preset 'Nobody's'; there are 'My own'", "hocket plugin info"];
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(words.iter().all(|word| ran.err.contains(word)), "{}", ran.err);
}

/// A CLAP plug-in is asked in a process of its own.
#[test]
fn presets_of_clap_plug_ins_are_listed_and_named_in_sessions() {
    let test = "presets_of_clap_plug_ins_are_listed_and_named_in_sessions";
    let Some(machine) = Machine::with_test_clap(test, "presets") else { return };
    let info = machine.run(&["plugin", "info", GAIN]);
    assert!(info.out.contains("presets\n  Broken  #broken\n  Fatal   #fatal\n"), "{}", info.out);
    let output = machine.file("out.wav");
    let session = |effect: &str| {
        let text = format!("[[track.effect]]\nkind = \"{GAIN}\"\n{effect}\n");
        let (_folder, session) = one_track(&text);
        let ran = machine.run(&["render", &session, "-o", &output]);
        (ran, std::fs::read(&output).ok())
    };
    let (ran, by_value) = session("output_gain = 0.25\ndelay = 2.5");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(session("preset = \"Quiet\"").1 == by_value);
    assert!(session("preset = \"#quiet\"").1 == by_value);
    assert!(session("preset = \"Quiet\"\noutput_gain = 0.5").1 != by_value);
    let refused = |preset: &str, words: &str| {
        let (ran, _) = session(&format!("preset = \"{preset}\""));
        assert!(ran.code == Some(2) && ran.err.contains(words), "{preset}: {}", ran.err);
    };
    refused(
        "Loudest",
        "there is no preset 'Loudest'; there are 'Broken', 'Fatal', 'Loud', 'Quiet'",
    );
    refused("Broken", "does not load the preset 'Broken': nobody can load it");
    refused("Fatal", "the plug-in crashed (signal 6) when it was asked for presets");
}

#[test]
fn a_state_is_saved_for_sessions() {
    let test = "a_state_is_saved_for_sessions";
    let Some(machine) = Machine::with_test_clap(test, "plain") else { return };
    let (folder, by_value) =
        one_track(&format!("[[track.effect]]\nkind = \"{GAIN}\"\noutput_gain = 0.25\n"));
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (state, output) = (at("quiet.state"), machine.file("out.wav"));
    let save = ["plugin", "save", GAIN, "-o", &state, "--set", "output_gain=0.25"];
    let ran = machine.run(&save);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.out, format!("[[track.effect]]\nkind = \"{GAIN}\"\nstate = \"{state}\"\n"));
    let rendered = |session: &str| {
        let ran = machine.run(&["render", session, "-o", &output]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        std::fs::read(&output).unwrap()
    };
    // What it printed is what a session says.
    let (_folder, by_state) = one_track(&ran.out);
    let (_folder, by_default) = one_track(&format!("[[track.effect]]\nkind = \"{GAIN}\"\n"));
    assert!(rendered(&by_state) == rendered(&by_value));
    assert!(rendered(&by_default) != rendered(&by_value));
    // It is not replaced unasked, and a copy of it through the plug-in is the same.
    let ran = machine.run(&save);
    assert!(ran.code == Some(2) && ran.err.contains("--force"), "{}", ran.err);
    let copy = at("copy.state");
    let ran = machine.run(&["plugin", "save", GAIN, "-o", &copy, "--state", &state]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(std::fs::read(&copy).unwrap(), std::fs::read(&state).unwrap());
}

#[test]
fn a_plug_in_without_a_state_saves_none() {
    let Some(machine) = Machine::with_mda("a_plug_in_without_a_state_saves_none") else { return };
    let state = machine.file("a.state");
    let ran = machine.run(&["plugin", "save", OVERDRIVE, "-o", &state]);
    assert!(
        ran.code == Some(2) && ran.err.contains("no state beside its parameters"),
        "{}",
        ran.err
    );
    assert!(!Path::new(&state).exists());
}

#[test]
fn what_is_wrong_is_named() {
    let Some(machine) = Machine::with_mda("what_is_wrong_is_named") else { return };
    let (input, output) = (example("audio/drum_snare_hard.flac"), machine.file("out.wav"));
    let render = ["plugin", "render", OVERDRIVE, "-i", input.to_str().unwrap(), "-o", &output];
    // A file, and not the state of a plug-in.
    let recording = input.display().to_string();
    let state_refused = format!("--state {recording}: ");
    for (more, words) in [
        (
            &["--set", "volume=1"][..],
            "--set volume=1: there is no parameter 'volume'; there are drive",
        ),
        (&["--set", "drive=2"], "--set drive=2: choose a number from 0 to 1"),
        (&["--set", "drive"], "--set drive: write NAME=VALUE"),
        (
            &["--set", "drive=0.5", "--set", "drive=1"],
            "--set drive=1: another --set sets 'drive'; leave one out",
        ),
        (&["--state", "/nowhere"], "--state /nowhere: "),
        (&["--preset", "Loud"], "--preset Loud: there is no preset 'Loud'"),
        (&["--state", &recording], &state_refused),
    ] {
        let ran = machine.run(&[&render[..], more].concat());
        assert_eq!(ran.code, Some(2), "{}", ran.err);
        assert!(ran.err.contains(words), "{}", ran.err);
    }
    let ran = machine.run(&["plugin", "info", "lv2:urn:nobody"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("there is no plug-in 'lv2:urn:nobody' here"), "{}", ran.err);
    assert!(!Path::new(&output).exists());
}

#[test]
fn a_uri_alone_names_a_plug_in_in_every_command() {
    let test = "a_uri_alone_names_a_plug_in_in_every_command";
    let Some(machine) = Machine::with_mda(test) else { return };
    let uri = OVERDRIVE.strip_prefix("lv2:").unwrap();
    let [whole, alone] = [OVERDRIVE, uri].map(|name| machine.run(&["plugin", "info", name]));
    assert_eq!((whole.code, alone.code), (Some(0), Some(0)), "{}", alone.err);
    assert_eq!(whole.out, alone.out);
    let (input, out) = (machine.file("in.wav"), machine.file("out.wav"));
    crate::support::write_wav(Path::new(&input), 48_000, &[0.25; 4_800]);
    let ran = machine.run(&["plugin", "render", uri, "-i", &input, "-o", &out]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let ran = machine.run(&["plugin", "save", uri, "-o", &machine.file("a.state")]);
    assert!(ran.err.contains(&format!("{OVERDRIVE}: the plug-in has no state")), "{}", ran.err);
    let ran = machine.run(&["plugin", "info", "urn:nobody"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("there is no plug-in 'urn:nobody' here"), "{}", ran.err);
}

/// A scan needs temporary files. Without them nothing is known of a plug-in, which is not the same as none.
#[test]
fn a_scan_that_is_not_possible_is_not_an_empty_one() {
    let Some(machine) = Machine::with_mda("a_scan_that_is_not_possible") else { return };
    let tried = |args: &[&str]| -> Ran {
        let mut command = hocket(args);
        command.env("LV2_PATH", machine.file("lv2")).env("CLAP_PATH", machine.file("clap"));
        command.env("VST3_PATH", machine.file("vst3"));
        command.env("XDG_CACHE_HOME", machine.file("cache")).env("HOME", machine.file("home"));
        command.env("TMPDIR", "/nonexistent").output().unwrap().into()
    };
    let ran = tried(&["plugin", "info", OVERDRIVE]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    let words = ["/nonexistent: no temporary file can be made there", "set TMPDIR to a folder"];
    assert!(words.iter().all(|word| ran.err.contains(word)), "{}", ran.err);
    // What was known before needs no scan.
    assert_eq!(machine.run(&["plugin", "list"]).code, Some(0));
    let ran = tried(&["plugin", "info", OVERDRIVE]);
    assert!(ran.code == Some(0) && !ran.err.contains("TMPDIR"), "{}", ran.err);
}

#[test]
fn a_session_with_plug_ins_has_the_same_bytes_for_every_schedule() {
    let test = "a_session_with_plug_ins_has_the_same_bytes_for_every_schedule";
    let Some(machine) = Machine::with_mda(test) else { return };
    let effects = format!(
        "[[track.effect]]\nkind = \"{OVERDRIVE}\"\ndrive = 0.5\n\
         [[track.effect]]\nkind = \"lv2:http://drobilla.net/plugins/mda/Delay\"\n"
    );
    let (_folder, session) = one_track(&effects);
    let mut first: Option<Vec<u8>> = None;
    for schedule in ["serial", "lists", "dataflow", "steal", "critical"] {
        let output = machine.file(&format!("{schedule}.wav"));
        let args = ["render", &session, "-o", &output, "--schedule", schedule, "--format", "32f"];
        let ran = machine.run(&args);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let bytes = std::fs::read(&output).unwrap();
        assert!(*first.get_or_insert_with(|| bytes.clone()) == bytes, "{schedule}");
    }
    let (_folder, dry) = one_track("");
    let output = machine.file("dry.wav");
    machine.run(&["render", &dry, "-o", &output, "--format", "32f"]);
    assert!(std::fs::read(&output).unwrap() != first.unwrap(), "the plug-ins change the sound");
}

const ZAM_COMP: &str = "vst3:2046504473616C63504D435A00000000";

/// With a lane, in its own process and in that of Hocket.
#[test]
fn a_session_with_vst3_plug_ins_has_the_same_bytes_for_every_schedule_and_worker_count() {
    let test = "a_session_with_vst3_plug_ins_has_the_same_bytes";
    let Some(machine) = Machine::with_zam(test, &["ZamComp", "ZamDelay"]) else { return };
    let listed = machine.run(&["plugin", "list"]);
    let line = format!("{ZAM_COMP}  ZamComp (1 in, 1 out, side chain 1)");
    assert!(listed.out.contains(&line), "{}", listed.out);
    let info = machine.run(&["plugin", "info", ZAM_COMP]);
    for words in ["threshold  -80 to 0 dB, default 0", "sidechain  0 to 1, default 0, off or on"] {
        assert!(info.out.contains(words), "{}", info.out);
    }
    let effects = format!("[[track.effect]]\nkind = \"{ZAM_COMP}\"\nthreshold = -40\nmakeup = 6\n");
    let (_folder, session) = one_track(&effects);
    let output = machine.file("out.wav");
    let mut first: Option<Vec<u8>> = None;
    for (schedule, workers) in [("serial", "1"), ("dataflow", "2"), ("steal", "2")] {
        let args = ["render", &session, "-o", &output, "--format", "32f"];
        let ran =
            machine.run(&[&args[..], &["--schedule", schedule, "--workers", workers]].concat());
        if ran.code == Some(2) && ran.err.contains("seats") {
            println!("SKIPPED {test}: {schedule} with {workers} workers: {}", ran.err.trim());
            continue;
        }
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let bytes = std::fs::read(&output).unwrap();
        assert!(*first.get_or_insert_with(|| bytes.clone()) == bytes, "{schedule}");
    }
    let first = first.unwrap();
    let isolated =
        machine.run(&["render", &session, "-o", &output, "--format", "32f", "--isolate"]);
    assert_eq!(isolated.code, Some(0), "{}", isolated.err);
    assert!(std::fs::read(&output).unwrap() == first, "in a process of its own");
    // The state alone sounds the same.
    let state = machine.file("comp.vstpreset");
    let args = ["plugin", "save", ZAM_COMP, "-o", &state, "--set", "threshold=-40"];
    let saved = machine.run(&[&args[..], &["--set", "makeup=6"]].concat());
    assert_eq!(saved.code, Some(0), "{}", saved.err);
    assert!(std::fs::read(&state).unwrap().starts_with(b"VST3"));
    let effects = format!("[[track.effect]]\nkind = \"{ZAM_COMP}\"\nstate = \"{state}\"\n");
    let (_folder, session) = one_track(&effects);
    let ran = machine.run(&["render", &session, "-o", &output, "--format", "32f"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(std::fs::read(&output).unwrap() == first, "with its state");
    let (_folder, dry) = one_track("");
    machine.run(&["render", &dry, "-o", &output, "--format", "32f"]);
    assert!(std::fs::read(&output).unwrap() != first, "the plug-in changes the sound");
}

/// Instruments, effects, presets, automation and a group: `sessions/plugins/stage-piano.toml`.
#[test]
fn the_example_with_plug_ins_has_the_same_bytes_for_every_schedule_and_worker_count() {
    let test = "the_example_with_plug_ins_has_the_same_bytes";
    let Some(machine) = Machine::with_mda(test) else { return };
    let session = example("plugins/stage-piano.toml").display().to_string();
    let check = machine.run(&["check", &session]);
    assert!(check.code == Some(0) && !check.err.contains("warning"), "{}{}", check.out, check.err);
    let (output, stems) = (machine.file("out.wav"), machine.file("stems"));
    let mut first: Option<Vec<u8>> = None;
    for schedule in ["serial", "lists", "dataflow", "steal", "critical"] {
        for workers in ["1", "2", "3"] {
            let args = ["render", &session, "-o", &output, "--length", "3", "--format", "32f"];
            let more = ["--schedule", schedule, "--workers", workers];
            let ran = machine.run(&[&args[..], &more].concat());
            if ran.code == Some(2) && ran.err.contains("seats") {
                println!("SKIPPED {test}: {schedule} with {workers} workers: {}", ran.err.trim());
                continue;
            }
            assert_eq!(ran.code, Some(0), "{}", ran.err);
            let bytes = std::fs::read(&output).unwrap();
            assert!(*first.get_or_insert_with(|| bytes.clone()) == bytes, "{more:?}");
        }
    }
    // Each track is heard, and the lane moves the rotors.
    let render = |session: &str, from: &str| {
        let args = ["render", session, "-o", &output, "--stems", &stems, "--format", "32f"];
        let ran = machine.run(&[&args[..], &["--from", from, "--length", "1"]].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        ["piano", "bass", "drums", "keys"].map(|name| {
            let path = std::path::PathBuf::from(&stems).join(format!("{name}.wav"));
            hocket_media::decode(&path).unwrap().channels
        })
    };
    let moved = render(&session, "12");
    for stem in &moved {
        assert!(stem.iter().flatten().any(|sample| sample.abs() > 0.01));
    }
    let text = std::fs::read_to_string(&session).unwrap();
    let still = text
        .replace("[28, 0.9]", "[28, 0.3]")
        .replace("../", &format!("{}/", example("").display()));
    assert_ne!(still, text);
    let file = machine.file("still.toml");
    std::fs::write(&file, still).unwrap();
    let still = render(&file, "12");
    assert!(moved[0] != still[0], "the lane moves nothing");
    assert!(moved[1] == still[1]);
}

#[test]
fn a_plug_in_is_checked() {
    let Some(machine) = Machine::with_mda("a_plug_in_is_checked") else { return };
    let ran = machine.run(&["plugin", "check", OVERDRIVE, "--seed", "7"]);
    // Code 1 only if this machine is so busy that half of the blocks are late.
    assert!(
        ran.out.starts_with(&format!("MDA Overdrive ({OVERDRIVE}), seed 7\nok ")),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("ok       reset "), "{}", ran.out);
    let uri = OVERDRIVE.strip_prefix("lv2:").unwrap();
    let ran = machine.run(&["plugin", "check", uri, "--seed", "7", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(json["format"], "hocket-plugin-check/1");
    let verdicts = json["plugins"][0]["verdicts"].as_array().unwrap();
    let failed = verdicts.iter().filter(|verdict| verdict["level"] == "failed");
    assert!(failed.clone().all(|verdict| verdict["check"] == "timing"), "{}", ran.out);
    assert_eq!(ran.code, Some(i32::from(failed.count() > 0)));
}

/// The plug-in prints lines that look like those of Hocket's own processes.
#[test]
fn what_a_plug_in_prints_reaches_no_result() {
    let test = "what_a_plug_in_prints_reaches_no_result";
    let Some(machine) = Machine::with_test_clap(test, "prints") else { return };
    let (folder, session) = one_track("[[track.effect]]\nkind = \"clap:test.hocket.gain\"\n");
    let ran = |args: &[&str]| {
        let ran = machine.command(args).output().unwrap();
        let err = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.code(), Some(0), "{err}");
        assert!(err.contains("{\"ends\":null}\na plug-in that prints\n"), "{args:?}: {err}");
        ran.stdout
    };
    let link = folder.path().join("out.wav").display().to_string();
    symlink("/dev/stdout", &link).unwrap();
    let render = |output: &str| ran(&["render", &session, "-o", output, "--to", "0.1"]);
    let first = render("-");
    assert!(first.starts_with(b"RIFF"), "{}", String::from_utf8_lossy(&first[..40]));
    for output in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/proc/thread-self/fd/1", &link] {
        assert!(render(output) == first, "{output}");
    }
    let input = example("audio/drum_snare_hard.flac");
    let input = input.to_str().unwrap();
    let sound = ran(&["plugin", "render", "clap:test.hocket.gain", "-i", input, "-o", "-"]);
    assert!(sound.starts_with(b"RIFF"));
    let play = ["play", &session, "--length", "0.1", "--priority", "0", "--json"];
    let json: serde_json::Value = serde_json::from_slice(&ran(&play)).unwrap();
    assert!(json["blocks"].is_number(), "{json}");
}

/// Each start of a bench is a process that speaks with its parent over standard output.
#[test]
fn a_bench_understands_its_processes_although_a_plug_in_prints() {
    let test = "a_bench_understands_its_processes_although_a_plug_in_prints";
    let Some(machine) = Machine::with_test_clap(test, "prints") else { return };
    let (_folder, session) = one_track("[[track.effect]]\nkind = \"clap:test.hocket.gain\"\n");
    let bench = ["bench", &session, "--blocks", "40", "--policy", "all", "--priority", "0"];
    let ran = machine.run(&[&bench[..], &["--workers", "1", "--json"]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert!(json["format"].as_str().unwrap().starts_with("hocket-bench/"), "{}", ran.out);
}

#[test]
fn what_a_plug_in_logs_in_every_block_is_shown_three_times_and_counted() {
    let test = "what_a_plug_in_logs_in_every_block_is_shown_three_times_and_counted";
    let Some(machine) = Machine::with_test_clap(test, "errs") else { return };
    let (_folder, session) = one_track("[[track.effect]]\nkind = \"clap:test.hocket.gain\"\n");
    let output = machine.file("out.wav");
    let render = ["render", &session, "-o", &output, "--frames", "100", "--to", "0.04"];
    let ran = machine.run(&render);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let lines: Vec<&str> = ran
        .err
        .lines()
        .filter_map(|line| line.strip_prefix("hocket: clap:test.hocket.gain: "))
        .collect();
    // It fails nine times.
    assert_eq!(lines.len(), 4, "{}", ran.err);
    assert!(lines[1] == lines[0] && lines[2] == lines[0], "{}", ran.err);
    assert_eq!(lines[3], "6 more lines, which are not shown");
    assert!(!ran.err.contains("CLAP_PLUGIN_ERROR"), "{}", ran.err);
}

#[test]
fn blocks_that_a_plug_in_fails_to_process_are_counted_with_its_name() {
    let test = "blocks_that_a_plug_in_fails_to_process_are_counted_with_its_name";
    let Some(machine) = Machine::with_test_clap(test, "errs") else { return };
    let (_folder, session) = one_track("[[track.effect]]\nkind = \"clap:test.hocket.gain\"\n");
    let output = machine.file("out.wav");
    let args = ["render", &session, "-o", &output, "--frames", "100", "--to", "0.04"];
    let ran = machine.run(&args);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let told = "warning: node 'one: clap:test.hocket.gain' failed to process ";
    let count = ran.err.split(told).nth(1).and_then(|rest| rest.split(' ').next());
    // 1,764 frames are 18 blocks, of which it fails every second one.
    assert_eq!(count, Some("9"), "{}", ran.err);
    let ran = machine.run(&["play", &session, "--length", "0.1", "--priority", "0", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(json["contained"][0]["node"], "one: clap:test.hocket.gain");
    assert!(json["contained"][0]["failed"].as_u64().unwrap() > 0, "{}", ran.out);
}

#[test]
fn a_plug_in_that_asks_for_a_restart_is_made_anew_while_it_plays() {
    let test = "a_plug_in_that_asks_for_a_restart_is_made_anew_while_it_plays";
    let Some(machine) = Machine::with_test_clap(test, "restarts") else { return };
    let effect = "[[track.effect]]\nkind = \"clap:test.hocket.gain\"\noutput_gain = 0.5\n";
    let (_folder, session) = one_track(effect);
    let ran = machine.run(&["play", &session, "--length", "2", "--priority", "0"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    // The plug-in asks again in its first block, so it may also be ignored in the end.
    assert!(ran.err.contains("the plug-in asked to be made anew, and was"), "{}", ran.err);
}

/// Each instance asks in its first block, three are made anew, and each begins with an empty delay.
#[test]
fn a_render_makes_a_plug_in_anew_at_block_edges() {
    let test = "a_render_makes_a_plug_in_anew_at_block_edges";
    let Some(restarts) = Machine::with_test_clap(test, "restarts") else { return };
    let Some(plain) = Machine::with_test_clap(test, "plain") else { return };
    let effect =
        "[[track.effect]]\nkind = \"clap:test.hocket.gain\"\noutput_gain = 0.5\ndelay = 480\n";
    let (_folder, session) = one_track(effect);
    let rendered = |machine: &Machine, more: &[&str]| {
        let output = machine.file("out.wav");
        let args = ["render", &session, "-o", &output, "--format", "32f", "--frames", "1000"];
        let ran = machine.run(&[&args[..], more].concat());
        assert_eq!(ran.code, Some(0), "{more:?}: {}", ran.err);
        let channels = hocket_media::decode(Path::new(&output)).unwrap().channels;
        (channels, ran.err.matches("the plug-in asked to be made anew, and was").count(), ran.err)
    };
    let (mut expected, _, _) = rendered(&plain, &[]);
    for row in &mut expected {
        [1000, 2000, 3000].iter().for_each(|edge| row[*edge..edge + 480].fill(0.0));
    }
    for schedule in ["serial", "critical", "steal"] {
        let (made, count, err) = rendered(&restarts, &["--schedule", schedule]);
        assert!(made == expected, "{schedule}");
        assert_eq!(count, 3, "{err}");
        assert!(err.contains("it was made anew 3 times and asks again"), "{err}");
    }
}

#[test]
fn what_cannot_be_checked_is_named() {
    let Some(machine) = Machine::with_mda("what_cannot_be_checked_is_named") else { return };
    let ran = machine.run(&["plugin", "check", "lv2:urn:nobody"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("no file and no plug-in 'lv2:urn:nobody' here"), "{}", ran.err);
    let (text, library) = (machine.file("text.txt"), machine.file("text.clap"));
    std::fs::write(&text, "no library").unwrap();
    std::fs::write(&library, "no library").unwrap();
    let ran = machine.run(&["plugin", "check", &text]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("no CLAP file (.clap), VST3 bundle"), "{}", ran.err);
    let ran = machine.run(&["plugin", "check", &library]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(ran.out.contains("FAILED   builds      it does not load"), "{}", ran.out);
}

/// Three equal chains and one that all wait for: there are workers that wait while a plug-in asks for its tasks.
#[test]
fn tasks_of_a_plug_in_make_the_same_bytes_for_all_workers() {
    let test = "tasks_of_a_plug_in_make_the_same_bytes_for_all_workers";
    let Some(machine) = Machine::with_test_clap(test, "pools") else { return };
    let effect = "kind = \"clap:test.hocket.gain\"\noutput_gain = 0.5\n";
    let track = |name: &str| {
        format!(
            "[[track]]\nname = \"{name}\"\nclip = [{{ file = \"loop.flac\" }}]\n[[track.effect]]\n{effect}"
        )
    };
    let tracks: String = ["a", "b", "c"].map(track).concat();
    let text = format!(
        "[session]\nname = \"try\"\nsample_rate_hz = 44100\nlength_s = 1\n\n{tracks}[master]\n[[master.effect]]\n{effect}"
    );
    let (_folder, session) = session(&text);
    let output = machine.file("out.wav");
    let rendered = |more: &[&str]| {
        let args = ["render", &session, "-o", &output, "--format", "32f", "--frames", "300"];
        let ran = machine.run(&[&args[..], more].concat());
        assert_eq!(ran.code, Some(0), "{more:?}: {}", ran.err);
        // A plug-in whose tasks did not run fails, and Hocket says so.
        assert!(!ran.err.contains("warning"), "{more:?}: {}", ran.err);
        std::fs::read(&output).unwrap()
    };
    let alone = rendered(&["--schedule", "serial"]);
    for schedule in ["lists", "dataflow", "steal", "critical"] {
        // As many as the seats of this machine.
        assert!(rendered(&["--schedule", schedule]) == alone, "{schedule}");
        let more = ["--schedule", schedule, "--workers", "1"];
        assert!(rendered(&more) == alone, "{more:?}");
    }
    assert!(rendered(&["--isolate"]) == alone);
}

const GAIN: &str = "clap:test.hocket.gain";
const OUTPUTS: &str = "lv2:urn:hocket:test:outputs";

/// A track with a plug-in that has the extra outputs `Kick` and `Click`, and two tracks that play them. `more`: what else the
/// effect's table says.
fn drum_kit(kind: &str, more: &str) -> (tempfile::TempDir, String) {
    let track = |name: &str, output: &str| {
        format!("[[track]]\nname = \"{name}\"\nfrom = \"drums\"\nfrom_output = \"{output}\"\n\n")
    };
    session(&format!(
        "[session]\nname = \"try\"\nsample_rate_hz = 44100\nlength_s = 1\n\n\
         {}[[track]]\nname = \"drums\"\ngain_db = -3\nclip = [{{ file = \"loop.flac\" }}]\n\
         [[track.effect]]\nkind = \"{kind}\"\n{more}\n\
         [[track]]\nname = \"dry\"\nclip = [{{ file = \"loop.flac\" }}]\n\n{}",
        track("kick", "Kick"),
        track("click", "Click")
    ))
}

/// The mix as bytes, and the rows of the stems `dry`, `kick` and `click`.
fn stems(machine: &Machine, session: &str, more: &[&str]) -> (Vec<u8>, [Vec<Vec<f32>>; 3], Ran) {
    let (output, folder) = (machine.file("out.wav"), tempfile::tempdir().unwrap());
    let stems = folder.path().display().to_string();
    let args = ["render", session, "-o", &output, "--format", "32f", "--stems", &stems, "--force"];
    let ran = machine.run(&[&args[..], more].concat());
    assert_eq!(ran.code, Some(0), "{more:?}: {}", ran.err);
    let rows = ["dry", "kick", "click"].map(|name| {
        let file = folder.path().join(format!("{name}.wav"));
        hocket_media::decode(&file).unwrap().channels
    });
    (std::fs::read(&output).unwrap(), rows, ran)
}

/// The kick is the track without the plug-in upside down, times `gain`, and the click the sum of both sides.
fn check_kit([dry, kick, click]: &[Vec<Vec<f32>>; 3], gain: f32) {
    assert!(dry[0].iter().any(|sample| sample.abs() > 0.1));
    for (frame, (left, right)) in dry[0].iter().zip(&dry[1]).enumerate() {
        let [left, right] = [left, right].map(|sample| sample * gain);
        assert_eq!([kick[0][frame], kick[1][frame]], [-left, -right], "frame {frame}");
        assert_eq!([click[0][frame], click[1][frame]], [left + right; 2], "frame {frame}");
    }
}

#[test]
fn tracks_play_the_extra_outputs_of_a_plug_in_with_the_same_bytes_for_every_schedule() {
    let test = "tracks_play_the_extra_outputs_of_a_plug_in";
    let clap = Machine::with_test_clap(test, "outputs").map(|machine| {
        // Its latency is compensated: the dry track waits.
        (machine, GAIN, "output_gain = 0.5\ndelay = 480", 0.5)
    });
    let lv2 = Machine::with_outputs_lv2(test).map(|machine| (machine, OUTPUTS, "", 1.0));
    for (machine, kind, more, gain) in clap.into_iter().chain(lv2) {
        let info = machine.run(&["plugin", "info", kind]);
        let listed = "outputs   \"Kick\", stereo\n          \"Click\", mono\n";
        assert!(info.out.contains(listed), "{}", info.out);
        assert!(info.out.contains("2 in, 2 out, 2 extra outputs"), "{}", info.out);
        let (_folder, session) = drum_kit(kind, more);
        let (mix, rows, _) = stems(&machine, &session, &[]);
        check_kit(&rows, gain);
        for schedule in ["serial", "lists", "dataflow", "steal", "critical"] {
            for frames in ["256", "1000"] {
                let again = ["--schedule", schedule, "--frames", frames];
                assert!(stems(&machine, &session, &again).0 == mix, "{kind} {schedule} {frames}");
            }
        }
        let (isolated, rows, ran) = stems(&machine, &session, &["--isolate"]);
        assert!(isolated == mix, "{kind} in a process of its own: {}", ran.err);
        check_kit(&rows, gain);
        let shown = machine.run(&["session", "show", &session]);
        let line = format!("output Kick of drums: {kind}");
        assert!(shown.out.contains(&line), "{}", shown.out);
    }
}

#[test]
fn extra_outputs_of_a_plug_in_are_silent_where_it_is_bypassed_or_fails() {
    let test = "extra_outputs_of_a_plug_in_are_silent_where_it_is_bypassed_or_fails";
    let silent = |name: &str, effect: &str, args: &[&str]| {
        let machine = Machine::with_test_clap(test, name)?;
        let (_folder, session) = drum_kit(GAIN, effect);
        let (_, [_, kick, click], ran) = stems(&machine, &session, args);
        assert!(kick.iter().chain(&click).flatten().all(|sample| *sample == 0.0), "{name}");
        Some(ran.err)
    };
    let Some(_) = silent("outputs", "bypass = true\ndelay = 480", &[]) else { return };
    let told = silent("outputs-nan", "", &[]).unwrap();
    assert!(told.contains("puts out NaN or infinity again and again; bypassed"), "{told}");
    let told = silent("outputs-segfaults", "", &["--isolate"]).unwrap();
    assert!(told.contains("crashed (signal 11)") && told.contains("bypassed"), "{told}");
}

/// The plug-ins have the extra outputs `Kick`, which is the first output upside down, and `Click`, the sum of its sides.
#[test]
fn plugin_render_writes_extra_outputs_as_stems() {
    let test = "plugin_render_writes_extra_outputs_as_stems";
    let machines = [
        Machine::with_test_clap(test, "outputs").map(|machine| (machine, GAIN)),
        Machine::with_outputs_lv2(test).map(|machine| (machine, OUTPUTS)),
    ];
    let sound = example("audio/drum_snare_hard.flac").display().to_string();
    for (machine, kind) in machines.into_iter().flatten() {
        let (output, kit) = (machine.file("out.wav"), machine.file("kit"));
        let args = ["plugin", "render", kind, "-i", &sound, "-o", &output, "--format", "32f"];
        let rendered = |more: &[&str]| {
            let ran = machine.run(&[&args[..], more].concat());
            assert_eq!(ran.code, Some(0), "{}", ran.err);
            (std::fs::read(&output).unwrap(), ran.err)
        };
        let (first, told) = rendered(&[]);
        let words = "this is the first output alone; --stems DIR also writes 'Kick' and 'Click'";
        assert!(told.contains(words), "{told}");
        for frames in ["1024", "100"] {
            let (again, told) = rendered(&["--stems", &kit, "--frames", frames]);
            assert!(again == first, "{kind} {frames}");
            assert!(told.contains("wrote 2 stems to ") && !told.contains("alone"), "{told}");
            let rows = |file: String| hocket_media::decode(Path::new(&file)).unwrap().channels;
            let main = rows(output.clone());
            let [kick, click] = ["Kick", "Click"].map(|name| rows(format!("{kit}/{name}.wav")));
            assert!(main[0].iter().any(|sample| sample.abs() > 0.1));
            for (frame, (left, right)) in main[0].iter().zip(&main[1]).enumerate() {
                assert_eq!([kick[0][frame], kick[1][frame]], [-left, -right], "frame {frame}");
                assert_eq!([click[0][frame], click[1][frame]], [left + right; 2], "{frame}");
            }
        }
    }
}

#[test]
fn stems_of_a_plug_in_without_extra_outputs_are_refused_and_nothing_is_written() {
    let test = "stems_of_a_plug_in_without_extra_outputs_are_refused_and_nothing_is_written";
    let Some(machine) = Machine::with_test_clap(test, "plain") else { return };
    let (output, kit) = (machine.file("out.wav"), machine.file("kit"));
    let sound = example("audio/drum_snare_hard.flac").display().to_string();
    let ran =
        machine.run(&["plugin", "render", GAIN, "-i", &sound, "-o", &output, "--stems", &kit]);
    let words = "has no extra outputs; leave --stems out";
    assert!(ran.code == Some(2) && ran.err.contains(words), "{}", ran.err);
    assert!(!Path::new(&output).exists() && !Path::new(&kit).exists());
}

#[test]
fn an_extra_output_that_no_plug_in_has_is_refused_with_those_that_there_are() {
    let test = "an_extra_output_that_no_plug_in_has_is_refused_with_those_that_there_are";
    let Some(machine) = Machine::with_test_clap(test, "outputs") else { return };
    let (_folder, session) = drum_kit(GAIN, "");
    let text = std::fs::read_to_string(&session).unwrap();
    std::fs::write(&session, text.replace("\"Kick\"", "\"Kik\"")).unwrap();
    let ran = machine.run(&["check", &session]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    let words = [
        "try.toml:9:15: 'drums' has no extra output 'Kik'",
        "did you mean 'Kick'? the extra outputs of 'drums' are 'Kick' and 'Click'",
    ];
    assert!(words.iter().all(|word| ran.err.contains(word)), "{}", ran.err);
}

const FIFTHS: &str = "lv2:http://lv2plug.in/plugins/eg-fifths";

/// A session of a track with these effects and notes: time, length and key, each with the highest velocity.
fn notes_on(effects: &str, notes: &[(f64, f64, u8)]) -> (tempfile::TempDir, String) {
    let note = |(at, length, key): &(f64, f64, u8)| format!("[{at}, {length}, {key}, 1.0]");
    let notes: Vec<String> = notes.iter().map(note).collect();
    session(&format!(
        "[session]\nname = \"try\"\nsample_rate_hz = 48000\nlength_s = 1.0\n\n[[track]]\nname = \"one\"\n\
         {effects}\n[[track.notes]]\ntime = \"seconds\"\nnotes = [{}]\n",
        notes.join(", ")
    ))
}

/// The bytes of a render.
fn rendered(machine: &Machine, session: &str, more: &[&str]) -> Vec<u8> {
    let output = machine.file("out.wav");
    let args = ["render", session, "-o", &output, "--format", "32f", "--force"];
    let ran = machine.run(&[&args[..], more].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    std::fs::read(&output).unwrap()
}

/// A real plug-in that plays a fifth above each note, in front of the built-in synthesizer: it sounds as the same notes do that
/// a session writes out.
#[test]
fn what_a_plug_in_sends_plays_the_instrument_behind_it_with_the_same_bytes_for_every_schedule() {
    let test = "what_a_plug_in_sends_plays_the_instrument_behind_it";
    let Some(machine) = Machine::with_lv2(test, &["eg-fifths.lv2"]) else { return };
    let notes = [(0.0, 0.25, 60), (0.1, 0.5, 64), (0.333, 0.4, 70)];
    let fifths: Vec<(f64, f64, u8)> = notes
        .iter()
        .flat_map(|(at, length, key)| [(*at, *length, *key), (*at, *length, key + 7)])
        .collect();
    let synth = "[[track.effect]]\nkind = \"synth\"\n";
    let sender = |more: &str| format!("[[track.effect]]\nkind = \"{FIFTHS}\"\n{more}{synth}");
    let (_folder, written) = notes_on(synth, &fifths);
    let written = rendered(&machine, &written, &[]);
    let (_folder, alone) = notes_on(synth, &notes);
    let alone = rendered(&machine, &alone, &[]);
    assert!(written != alone, "the fifths sound");
    let (_folder, session) = notes_on(&sender(""), &notes);
    let all = [
        ("serial", "1"),
        ("lists", "2"),
        ("dataflow", "2"),
        ("steal", "2"),
        ("critical", "2"),
        ("critical", "1"),
    ];
    for (schedule, workers) in all {
        let more = ["--schedule", schedule, "--workers", workers];
        assert!(rendered(&machine, &session, &more) == written, "{schedule}, {workers}");
    }
    assert!(rendered(&machine, &session, &["--frames", "100"]) == written, "in other blocks");
    assert!(rendered(&machine, &session, &["--isolate"]) == written, "in a process of its own");
    for silent in ["bypass = true\n", "send_events = false\n"] {
        let (_folder, session) = notes_on(&sender(silent), &notes);
        assert!(rendered(&machine, &session, &[]) == alone, "{silent}");
    }
}

#[test]
fn a_plug_in_that_sends_events_alone_says_so_and_is_not_rendered_alone() {
    let test = "a_plug_in_that_sends_events_alone_says_so_and_is_not_rendered_alone";
    let Some(machine) = Machine::with_lv2(test, &["eg-fifths.lv2"]) else { return };
    let info = machine.run(&["plugin", "info", FIFTHS]);
    for words in ["0 in, 0 out, MIDI, sends MIDI", "notes and MIDI, to the effects behind it"] {
        assert!(info.out.contains(words), "{}", info.out);
    }
    let json = machine.run(&["plugin", "info", FIFTHS, "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["sends_events"], true);
    let (input, output) = (example("audio/drum_snare_hard.flac"), machine.file("out.wav"));
    let ran =
        machine.run(&["plugin", "render", FIFTHS, "-i", input.to_str().unwrap(), "-o", &output]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("has no audio output: it sends events alone"), "{}", ran.err);
    assert!(!Path::new(&output).exists());
}
