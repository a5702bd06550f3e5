//! Extra outputs: of the tests' own CLAP and LV2 plug-ins, which put out their main output upside down as `Kick`, and the sum of
//! both sides as `Click`; of the tests' own VST3 plug-in; and of one that is installed.

use std::path::PathBuf;

use hocket_dsp::{Bypass, Change, Processor, TimedChange};
use hocket_plugins::{ExtraOutput, clap, lv2, vst3};

use crate::common::{
    Stereo, bits, bundle, compiled, noise, played, played_wide, test_clap, test_vst3,
};

const CLAP_ID: &str = "test.hocket.gain";
const URI: &str = "urn:hocket:test:outputs";
/// A frequency shifter whose third output is the mean of the other two.
const SHIFTER: &str = "http://plugin.org.uk/swh-plugins/bodeShifterCV";

fn kick_and_click() -> Vec<ExtraOutput> {
    let output = |name: &str, channels| ExtraOutput { name: name.into(), channels };
    vec![output("Kick", 2), output("Click", 1)]
}

/// The test plug-in with further outputs.
fn wide_clap(test: &str) -> Option<(tempfile::TempDir, PathBuf)> {
    let file = test_clap(test)?;
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("outputs.clap");
    std::fs::copy(file, &library).unwrap();
    Some((folder, library))
}

/// What `Kick` and `Click` are of this main output.
fn expected([left, right]: &Stereo) -> Vec<Vec<f32>> {
    let kick = [left, right].map(|row| row.iter().map(|sample| -sample).collect());
    let click = left.iter().zip(right).map(|(left, right)| left + right).collect();
    kick.into_iter().chain([click]).collect()
}

fn row_bits(rows: &[Vec<f32>]) -> Vec<u32> {
    rows.iter().flatten().map(|sample| sample.to_bits()).collect()
}

#[test]
fn a_clap_plug_in_has_an_output_for_each_further_port() {
    let test = "a_clap_plug_in_has_an_output_for_each_further_port";
    let Some((_folder, library)) = wide_clap(test) else { return };
    let found = clap::describe(&library, CLAP_ID).unwrap();
    assert_eq!((found.extra_outputs, found.refusal), (kick_and_click(), None));
    let sound = noise(10_000);
    let half = TimedChange { frame: 777, change: Change::Param { index: 0, value: 0.5 } };
    // A block of 9000 frames is three runs of the plug-in.
    for lengths in [&[64][..], &[1, 7, 300], &[9_000]] {
        let mut processor = clap::build(&library, CLAP_ID, &[], 48_000, None).unwrap();
        let (main, extra) = played_wide(&mut *processor, &sound, lengths, &[half], 3);
        assert_eq!(main[0][778], sound[0][778] * 0.5);
        assert_eq!(row_bits(&extra), row_bits(&expected(&main)), "{lengths:?}");
        // A node that has no rows for them sounds the same.
        processor.reset();
        let one = TimedChange { frame: 0, change: Change::Param { index: 0, value: 1.0 } };
        let alone = played(&mut *processor, &sound, lengths, &[one, half]);
        assert_eq!(bits(&alone), bits(&main), "{lengths:?}");
    }
}

#[test]
fn an_lv2_plug_in_has_an_output_for_each_group_and_for_each_port_without_one() {
    let test = "an_lv2_plug_in_has_an_output_for_each_group_and_for_each_port_without_one";
    let Some((_folder, bundle)) = compiled(test, "outputs") else { return };
    let found = lv2::describe(&bundle, URI).unwrap();
    assert_eq!((found.extra_outputs, found.refusal), (kick_and_click(), None));
    let sound = noise(10_000);
    for lengths in [&[64][..], &[1, 7, 300], &[9_000]] {
        let mut processor = lv2::build(&bundle, URI, &[], 48_000, None).unwrap();
        let (main, extra) = played_wide(&mut *processor, &sound, lengths, &[], 3);
        assert_eq!(bits(&main), bits(&sound), "{lengths:?}");
        assert_eq!(row_bits(&extra), row_bits(&expected(&sound)), "{lengths:?}");
    }
}

#[test]
fn a_vst3_plug_in_has_an_output_for_each_further_bus() {
    let test = "a_vst3_plug_in_has_an_output_for_each_further_bus";
    let folder = tempfile::tempdir().unwrap();
    let Some(bundle) = test_vst3(test, folder.path(), "usual") else { return };
    let id = vst3::plugins(&bundle).unwrap().remove(0);
    let found = vst3::describe(&bundle, &id).unwrap();
    let bus = ExtraOutput { name: "Bus".into(), channels: 1 };
    assert_eq!((found.extra_outputs, found.refusal), (vec![bus], None));
    for lengths in [&[64][..], &[1, 7, 300], &[9_000]] {
        let mut processor = vst3::build(&bundle, &id, &[], 48_000, None).unwrap();
        let (_, extra) = played_wide(&mut *processor, &noise(10_000), lengths, &[], 1);
        // It puts out a constant where the bus is switched on.
        assert!(extra[0].iter().all(|sample| *sample == 7.0), "{lengths:?}");
    }
}

/// It has no groups: its first two ports are left and right, and the third is an output of one channel.
#[test]
fn a_third_output_of_an_installed_plug_in_is_heard() {
    let test = "a_third_output_of_an_installed_plug_in_is_heard";
    let Some(bundle) = bundle(test, "bode_shifter_cv-swh.lv2") else { return };
    let found = lv2::describe(&bundle, SHIFTER).unwrap();
    let mix = ExtraOutput { name: "Mix out".into(), channels: 1 };
    assert_eq!((found.extra_outputs, found.refusal), (vec![mix], None));
    let mut processor = lv2::build(&bundle, SHIFTER, &[], 48_000, None).unwrap();
    let (main, extra) = played_wide(&mut *processor, &noise(4_800), &[256], &[], 1);
    assert!(extra[0].iter().any(|sample| sample.abs() > 0.01));
    for (frame, mix) in extra[0].iter().enumerate() {
        let mean = (main[0][frame] + main[1][frame]) / 2.0;
        assert!((mix - mean).abs() < 1e-6, "frame {frame}: {mix} {mean}");
    }
}

/// Longer blocks reach the plug-in in pieces.
#[test]
fn a_bypass_silences_extra_outputs_and_fades_them() {
    let test = "a_bypass_silences_extra_outputs_and_fades_them";
    let Some((_folder, library)) = wide_clap(test) else { return };
    let sound = noise(6_000);
    let change =
        |frame, value| TimedChange { frame, change: Change::Param { index: Bypass::PARAM, value } };
    let made = |lengths: &[usize]| {
        let inner = clap::build(&library, CLAP_ID, &[], 48_000, None).unwrap();
        let mut bypass: Box<dyn Processor> = Box::new(Bypass::new(inner, 48_000, false));
        let changes = [change(2_000, 1.0), change(4_000, 0.0)];
        played_wide(&mut *bypass, &sound, lengths, &changes, 3).1
    };
    let extra = made(&[64]);
    for (row, wet) in extra.iter().zip(expected(&sound)) {
        let fade = 240;
        assert_eq!(row[..2_000], wet[..2_000]);
        assert!(row[2_000 + fade..4_000].iter().all(|sample| *sample == 0.0));
        assert_eq!(row[4_000 + fade..], wet[4_000 + fade..]);
        let between = 2_000 + fade / 2;
        assert!(row[between].abs() < wet[between].abs() && row[between] * wet[between] > 0.0);
    }
    for lengths in [&[1_000][..], &[5_000, 1_000], &[300, 7]] {
        assert_eq!(row_bits(&made(lengths)), row_bits(&extra), "{lengths:?}");
    }
}
