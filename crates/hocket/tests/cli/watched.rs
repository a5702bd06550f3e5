//! `--plugin-faults`: plug-ins on the audio threads that spoil the sound again and again.

use std::path::Path;

use crate::plugins::Machine;
use crate::support::{one_track, session};

const GAIN: &str = "clap:test.hocket.gain";

/// How a warning about the plug-in of the track `one` begins.
fn warning() -> String {
    format!("warning: plug-in 'one: {GAIN}' (Test gain) ")
}

fn left(path: &str) -> Vec<f32> {
    hocket_media::decode(Path::new(path)).unwrap().channels.swap_remove(0)
}

/// A render of the track with the plug-in, which is late by 480 frames, and what it said.
fn rendered(machine: &Machine, effect: &str, args: &[&str]) -> (Vec<f32>, String) {
    let (_folder, file) =
        one_track(&format!("[[track.effect]]\nkind = \"{GAIN}\"\ndelay = 480\n{effect}"));
    let out = machine.file("out.wav");
    let render = ["render", &file, "-o", &out, "--format", "32f", "--frames", "256", "--force"];
    let ran = machine.run(&[&render[..], args].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    (left(&out), ran.err)
}

#[test]
fn a_render_bypasses_a_plug_in_that_puts_out_nan_for_the_fourth_time() {
    let test = "a_render_bypasses_a_plug_in_that_puts_out_nan_for_the_fourth_time";
    let Some(machine) = Machine::with_test_clap(test, "nan") else { return };
    let (sound, said) = rendered(&machine, "", &[]);
    let fate = "puts out NaN or infinity again and again; bypassed: its input passes";
    assert!(said.contains(&(warning() + fate)), "{said}");
    assert!(said.contains("was silenced for 4 blocks that were not finite"), "{said}");
    // What a session bypasses is as late as the plug-in, too.
    let (passed, said) = rendered(&machine, "bypass = true", &[]);
    assert!(!said.contains(&warning()), "{said}");
    assert!(sound[..4 * 256].iter().all(|sample| *sample == 0.0));
    assert!(sound[4 * 256..] == passed[4 * 256..], "the input passes, to the bit");
    assert!(passed[4 * 256..].iter().any(|sample| *sample != 0.0));
    for schedule in ["serial", "lists", "dataflow", "steal", "critical"] {
        assert!(rendered(&machine, "", &["--schedule", schedule]).0 == sound, "{schedule}");
    }
}

#[test]
fn a_render_can_report_alone() {
    let Some(machine) = Machine::with_test_clap("a_render_can_report_alone", "nan") else {
        return;
    };
    let (sound, said) = rendered(&machine, "", &["--plugin-faults", "report"]);
    assert!(said.contains(&(warning() + "puts out NaN or infinity again and again\n")), "{said}");
    assert!(sound.iter().all(|sample| *sample == 0.0), "every block is silenced");
    let (_folder, file) = one_track("");
    let ran = machine.run(&["render", &file, "-o", "out.wav", "--plugin-faults", "ignore"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("bypass") && ran.err.contains("report"), "{}", ran.err);
}

#[test]
fn play_names_a_plug_in_that_puts_out_nan_and_bypasses_it() {
    let test = "play_names_a_plug_in_that_puts_out_nan_and_bypasses_it";
    let Some(machine) = Machine::with_test_clap(test, "nan") else { return };
    let (_folder, file) = one_track(&format!("[[track.effect]]\nkind = \"{GAIN}\"\n"));
    let play = ["play", &file, "--length", "0.5", "--priority", "0", "--json"];
    for (option, bypassed) in [("bypass", true), ("report", false)] {
        let ran = machine.run(&[&play[..], &["--plugin-faults", option]].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert!(ran.err.contains(&warning()), "{}", ran.err);
        let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        let finding = serde_json::json!({
            "node": format!("one: {GAIN}"),
            "title": "Test gain",
            "faults": ["not_finite"],
            "bypassed": bypassed,
        });
        assert_eq!(json["plugin_faults"], serde_json::json!([finding]), "{}", ran.out);
    }
}

/// The test plug-in sleeps for 60 ms in each call, in which it computes 32 ms of sound.
#[test]
fn play_bypasses_a_plug_in_that_takes_longer_than_its_sound_and_a_render_does_not() {
    let test = "play_bypasses_a_plug_in_that_takes_longer_than_its_sound_and_a_render_does_not";
    let Some(machine) = Machine::with_test_clap(test, "sleeps") else { return };
    let (_folder, file) = session(&format!(
        "[session]\nname = \"slow\"\nsample_rate_hz = 8000\n\n[[track]]\nname = \"one\"\n\
         clip = [{{ file = \"loop.flac\", loop = true }}]\n[[track.effect]]\nkind = \"{GAIN}\"\n"
    ));
    let args = ["--frames", "256", "--schedule", "serial", "--policy", "off"];
    let play = ["play", &file, "--length", "5", "--priority", "0", "--json"];
    let ran = machine.run(&[&play[..], &args].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let fate = "takes longer than its sound lasts; bypassed: its input passes";
    assert!(ran.err.contains(&(warning() + fate)), "{}", ran.err);
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(json["plugin_faults"][0]["faults"], serde_json::json!(["too_long"]), "{}", ran.out);
    let out = machine.file("out.wav");
    let ran = machine.run(&[&["render", &file, "-o", &out, "--length", "2"][..], &args].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(!ran.err.contains(&warning()), "{}", ran.err);
}

#[test]
fn a_plug_in_without_a_fault_is_not_named_and_sounds_the_same() {
    let test = "a_plug_in_without_a_fault_is_not_named_and_sounds_the_same";
    let Some(machine) = Machine::with_test_clap(test, "plain") else { return };
    let (sound, said) = rendered(&machine, "output_gain = 0.5", &[]);
    assert!(!said.contains("warning"), "{said}");
    let (reported, _) = rendered(&machine, "output_gain = 0.5", &["--plugin-faults", "report"]);
    assert!(sound == reported && sound.iter().any(|sample| *sample != 0.0));
    let (isolated, said) = rendered(&machine, "output_gain = 0.5", &["--isolate"]);
    assert!(sound == isolated && !said.contains("warning"), "{said}");
}
