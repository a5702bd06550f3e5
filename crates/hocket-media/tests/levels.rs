//! The level meter against the signals of EBU Tech 3341 and 3342, and against theory.

use std::f64::consts::TAU;

use hocket_media::{LevelMeter, Levels, NotMeasurable};

const RATE_HZ: u32 = 48_000;

/// A sine of these parts: seconds and peak in dBFS, on both sides.
fn sine(rate_hz: u32, hz: f64, phase: f64, parts: &[(f64, f64)]) -> Vec<f32> {
    let mut row = Vec::new();
    for (seconds, dbfs) in parts {
        let gain = 10f64.powf(dbfs / 20.0);
        for _ in 0..(seconds * f64::from(rate_hz)).round() as usize {
            let at = row.len() as f64 / f64::from(rate_hz);
            row.push((gain * (TAU * hz * at + phase).sin()) as f32);
        }
    }
    row
}

fn levels_at(rate_hz: u32, left: &[f32], right: &[f32]) -> Levels {
    let mut meter = LevelMeter::new(rate_hz).unwrap();
    meter.add(left, right);
    meter.levels()
}

fn levels(row: &[f32]) -> Levels {
    levels_at(RATE_HZ, row, row)
}

#[track_caller]
fn check(found: Result<f64, NotMeasurable>, expected: f64, tolerance: f64) {
    let found = found.unwrap();
    assert!((found - expected).abs() <= tolerance, "{found}, not {expected} within {tolerance}");
}

/// EBU Tech 3341, table 1, cases 1 to 5: integrated loudness within 0.1 LU.
#[test]
fn loudness_is_that_of_ebu_tech_3341() {
    let cases: [(&[(f64, f64)], f64); 5] = [
        (&[(20.0, -23.0)], -23.0),
        (&[(20.0, -33.0)], -33.0),
        (&[(10.0, -36.0), (60.0, -23.0), (10.0, -36.0)], -23.0),
        (&[(10.0, -72.0), (10.0, -36.0), (60.0, -23.0), (10.0, -36.0), (10.0, -72.0)], -23.0),
        (&[(20.0, -26.0), (20.1, -20.0), (20.0, -26.0)], -23.0),
    ];
    for (parts, lufs) in cases {
        check(levels(&sine(RATE_HZ, 1000.0, 0.0, parts)).loudness_lufs, lufs, 0.1);
    }
    for rate_hz in [44_100, 96_000, 192_000] {
        let row = sine(rate_hz, 1000.0, 0.0, &[(20.0, -23.0)]);
        check(levels_at(rate_hz, &row, &row).loudness_lufs, -23.0, 0.1);
    }
}

/// EBU Tech 3342, table 1, cases 1 to 4: loudness range within 1 LU.
#[test]
fn the_range_is_that_of_ebu_tech_3342() {
    let cases: [(&[(f64, f64)], f64); 4] = [
        (&[(20.0, -20.0), (20.0, -30.0)], 10.0),
        (&[(20.0, -20.0), (20.0, -15.0)], 5.0),
        (&[(20.0, -40.0), (20.0, -20.0)], 20.0),
        (&[(20.0, -50.0), (20.0, -35.0), (20.0, -20.0), (20.0, -35.0), (20.0, -50.0)], 15.0),
    ];
    for (parts, lu) in cases {
        check(levels(&sine(RATE_HZ, 1000.0, 0.0, parts)).range_lu, lu, 1.0);
    }
}

/// EBU Tech 3341, cases 15 to 19: a sine of a quarter of the rate whose samples miss its peaks. Within +0.2 and -0.4 dB.
#[test]
fn the_true_peak_lies_between_the_samples() {
    let quarter = f64::from(RATE_HZ) / 4.0;
    let half_db = 20.0 * 0.5f64.log10();
    for (phase, sample_peak) in [(0.0, half_db), (TAU / 8.0, half_db - 3.01)] {
        let found = levels(&sine(RATE_HZ, quarter, phase, &[(1.0, half_db)]));
        let true_peak = found.true_peak_dbtp.unwrap();
        assert!((half_db - 0.4..=half_db + 0.2).contains(&true_peak), "{true_peak}");
        check(found.sample_peak_dbfs, sample_peak, 0.01);
    }
}

#[test]
fn peaks_and_rms_are_those_of_theory() {
    let sine = sine(RATE_HZ, 1000.0, 0.0, &[(1.0, 0.0)]);
    check(levels(&sine).rms_dbfs, -3.0103, 0.001);
    check(levels(&sine).sample_peak_dbfs, 0.0, 0.001);
    // One side alone has half of the power, and the peak is that of the louder side.
    let silence = vec![0.0; sine.len()];
    let one = levels_at(RATE_HZ, &silence, &sine);
    check(one.rms_dbfs, -6.0206, 0.001);
    check(one.sample_peak_dbfs, 0.0, 0.001);
    // Over full scale is measured, too.
    let over: Vec<f32> = sine.iter().map(|x| 2.0 * x).collect();
    check(levels(&over).sample_peak_dbfs, 6.0206, 0.001);
}

#[test]
fn what_is_not_measurable_says_why() {
    let silent = levels(&vec![0.0; 96_000]);
    let Levels { loudness_lufs, range_lu, true_peak_dbtp, sample_peak_dbfs, rms_dbfs } = silent;
    for level in [loudness_lufs, range_lu, true_peak_dbtp, sample_peak_dbfs, rms_dbfs] {
        assert_eq!(level, Err(NotMeasurable::Silent));
    }
    assert_eq!(levels(&[]).rms_dbfs, Err(NotMeasurable::Silent));
    let tone = sine(RATE_HZ, 1000.0, 0.0, &[(3.0, -20.0)]);
    let short = levels(&tone[..19_199]);
    assert_eq!(short.loudness_lufs, Err(NotMeasurable::ShorterThan(400)));
    assert_eq!(short.range_lu, Err(NotMeasurable::ShorterThan(3000)));
    check(short.rms_dbfs, -23.01, 0.01);
    check(levels(&tone[..19_200]).loudness_lufs, -20.0, 0.2);
    assert_eq!(levels(&tone[..143_999]).range_lu, Err(NotMeasurable::ShorterThan(3000)));
    check(levels(&tone).range_lu, 0.0, 0.1);
    let quiet: Vec<f32> = tone.iter().map(|x| x / 1000.0).collect();
    assert_eq!(levels(&quiet).loudness_lufs, Err(NotMeasurable::Quiet));
    assert_eq!(levels(&quiet).range_lu, Err(NotMeasurable::Quiet));
    check(levels(&quiet).sample_peak_dbfs, -80.0, 0.01);
    assert_eq!(NotMeasurable::ShorterThan(400).to_string(), "shorter than 0.4 s");
}

#[test]
fn pieces_and_what_is_not_finite_make_no_difference() {
    let parts = [(2.0, -20.0), (2.0, -32.0)];
    let [left, right] = [440.0, 1234.5].map(|hz| sine(44_100, hz, 0.3, &parts));
    let whole = levels_at(44_100, &left, &right);
    for piece in [1, 17, 4096] {
        let mut meter = LevelMeter::new(44_100).unwrap();
        for (left, right) in left.chunks(piece).zip(right.chunks(piece)) {
            meter.add(left, right);
        }
        assert_eq!(meter.levels(), whole, "pieces of {piece}");
    }
    let mut broken = [left.clone(), right.clone()];
    let mut silenced = [left, right];
    for (at, odd) in [(5000, f32::NAN), (70_000, f32::INFINITY)] {
        broken[at % 2][at] = odd;
        silenced[at % 2][at] = 0.0;
    }
    let [broken, silenced] =
        [broken, silenced].map(|[left, right]| levels_at(44_100, &left, &right));
    assert_eq!(broken, silenced);
}
