//! Each effect against what its theory says.

mod common;

use common::{
    Stereo, amplitude_at, build, db, energy, event, index, known, noise, run, run_with, sine,
    spectrum_at, stereo_noise, t60_s, values,
};
use hocket_dsp::effects::correlation::Correlation;
use hocket_dsp::effects::freeverb;
use hocket_dsp::segment::Segmented;
use hocket_dsp::{Coefficients, Shape, TimedChange, kinds};

// ---- Tremolo ----

/// The wave after so many cycles, in double precision.
fn tremolo_wave(shape: f32, cycles: f64, edge: f64) -> f64 {
    let height = (1.0 - 2.0 * (cycles - cycles.floor())).abs();
    match shape as u32 {
        0 => 0.5 + 0.5 * (std::f64::consts::TAU * cycles).cos(),
        1 => height,
        _ => {
            let part = ((height - 0.5) / edge + 0.5).clamp(0.0, 1.0);
            part * part * (3.0 - 2.0 * part)
        }
    }
}

#[test]
fn a_tremolo_swings_as_its_shape_says() {
    let (rate_hz, swing_hz, depth) = (48_000, 7.3, 0.8);
    for shape in [0.0, 1.0, 2.0] {
        for spread_deg in [0.0, 90.0, 180.0] {
            let settings = [
                ("rate_hz", swing_hz),
                ("depth", depth),
                ("shape", shape),
                ("spread_deg", spread_deg),
            ];
            let input = Stereo::mono(vec![1.0; 30_000]);
            let out = run(&mut *build("tremolo", rate_hz, &settings), &input);
            // 5 ms of the triangle, which passes its height twice per cycle.
            let edge = 2.0 * f64::from(swing_hz) * 0.005;
            for (row, lag) in out.rows().into_iter().zip([0.0, f64::from(spread_deg) / 360.0]) {
                for (frame, got) in row.iter().enumerate() {
                    let cycles = frame as f64 * f64::from(swing_hz) / f64::from(rate_hz) - lag;
                    let wave = tremolo_wave(shape, cycles, edge);
                    let error = f64::from(*got) - (1.0 - f64::from(depth) * (1.0 - wave));
                    assert!(error.abs() < 2e-6, "shape {shape}, frame {frame}: {error}");
                }
            }
        }
    }
}

#[test]
fn a_tremolo_goes_on_at_its_phase_when_its_rate_changes() {
    let input = Stereo::mono(vec![1.0; 24_000]);
    let settings = [("rate_hz", 2.0), ("depth", 1.0), ("shape", 1.0)];
    let events = [event(9_000, index("tremolo", "rate_hz"), 5.0)];
    let mut tremolo = build("tremolo", 48_000, &settings);
    let out = run_with(&mut *tremolo, &input, None, &[64], &events).left;
    // 9,000 frames at 2 Hz are 0.375 cycles.
    for (frame, sample) in out.iter().enumerate().skip(9_000) {
        let cycles = 0.375 + (frame - 9_000) as f64 * 5.0 / 48_000.0;
        let error = f64::from(*sample) - tremolo_wave(1.0, cycles, 1.0);
        assert!(error.abs() < 2e-6, "frame {frame}: {error}");
    }
}

/// The largest step between two frames of a square at full depth, while parameters change.
fn largest_step(settings: &[(&str, f32)], events: &[TimedChange]) -> f32 {
    let input = Stereo::mono(vec![1.0; 24_000]);
    let settings = [&[("depth", 1.0), ("shape", 2.0)], settings].concat();
    let out = run_with(&mut *build("tremolo", 48_000, &settings), &input, None, &[64], events);
    let steps = |row: &[f32]| row.windows(2).fold(0.0f32, |most, w| most.max((w[1] - w[0]).abs()));
    out.rows().into_iter().map(steps).fold(0.0, f32::max)
}

#[test]
fn no_change_makes_the_edge_of_a_square_steeper() {
    let ordinary = largest_step(&[("rate_hz", 5.0)], &[]);
    // 5 ms are 240 frames, and the curve is one and a half times as steep as a line.
    assert!((ordinary - 1.5 / 240.0).abs() < 1e-4, "{ordinary}");
    // The edge of 5 Hz is around frame 2400, that of 20 Hz around 600.
    for (from, to, edge) in [(5.0, 0.05, 2_400), (5.0, 20.0, 2_400), (20.0, 0.05, 600)] {
        for frame in (edge - 150..edge + 150).step_by(10) {
            let events = [event(frame, index("tremolo", "rate_hz"), to)];
            let step = largest_step(&[("rate_hz", from)], &events);
            assert!(step <= 1.02 * ordinary, "{from} to {to} Hz at {frame}: {step}");
            let back = event(frame + 30, index("tremolo", "rate_hz"), from);
            let step = largest_step(&[("rate_hz", from)], &[events[0], back]);
            assert!(step <= 1.02 * ordinary, "{from} to {to} Hz at {frame} and back: {step}");
        }
    }
    let turned = largest_step(&[], &[event(2_000, index("tremolo", "spread_deg"), 180.0)]);
    assert!(turned <= 1.02 * ordinary, "{turned}");
}

#[test]
fn the_shapes_of_a_tremolo_are_one_together_however_often_they_change() {
    // At its top every shape is 1, and this one stays at its top.
    let settings = [("rate_hz", 0.05), ("depth", 1.0)];
    let input = Stereo::mono(vec![1.0; 6_000]);
    let shape = |frame, value| event(frame, index("tremolo", "shape"), value);
    let events =
        [shape(100, 1.0), shape(500, 2.0), shape(900, 0.0), shape(901, 1.0), shape(5_000, 0.0)];
    let out = run_with(&mut *build("tremolo", 48_000, &settings), &input, None, &[64], &events);
    for (frame, sample) in out.left.iter().enumerate() {
        let triangle = tremolo_wave(1.0, frame as f64 * 0.05 / 48_000.0, 1.0) as f32;
        assert!((triangle - 1e-5..=1.0 + 1e-6).contains(sample), "frame {frame}: {sample}");
    }
}

#[test]
fn a_tremolo_without_depth_changes_no_bit() {
    let input = stereo_noise(5000, 2);
    let out = run(&mut *build("tremolo", 44_100, &[("depth", 0.0)]), &input);
    assert_eq!(out.bits(), input.bits());
}

// ---- Equaliser ----

/// Every shape at several places and rates: the spectrum of the impulse response is H(z).
#[test]
fn eq_response_is_the_transfer_function() {
    let shapes = [
        (1.0, Shape::Peaking),
        (2.0, Shape::LowShelf),
        (3.0, Shape::HighShelf),
        (4.0, Shape::LowPass),
        (5.0, Shape::HighPass),
        (6.0, Shape::Notch),
        (7.0, Shape::BandPass),
        (8.0, Shape::AllPass),
    ];
    for (code, shape) in shapes {
        for (freq_hz, q, gain_db) in [(200.0, 0.7, 9.0), (1000.0, 2.0, -12.0), (9000.0, 1.0, 3.0)] {
            for rate_hz in [44_100, 96_000] {
                check_eq_band(code, shape, [freq_hz, q, gain_db], rate_hz);
            }
        }
    }
}

fn check_eq_band(code: f32, shape: Shape, [freq_hz, q, gain_db]: [f32; 3], rate_hz: u32) {
    let settings = [
        ("band1_type", 0.0),
        ("band2_type", 0.0),
        ("band3_type", code),
        ("band3_freq_hz", freq_hz),
        ("band3_q", q),
        ("band3_gain_db", gain_db),
        ("band4_type", 0.0),
    ];
    let out = run(&mut *build("eq", rate_hz, &settings), &Stereo::impulse(1 << 14, 0));
    let rate = f64::from(rate_hz);
    let analytic = Coefficients::design(shape, freq_hz.into(), q.into(), gain_db.into(), rate);
    for step in 0..60 {
        let at_hz = 20.0 * 1.12f64.powi(step);
        let (re, im) = spectrum_at(&out.left, at_hz / rate);
        let (expected_re, expected_im) = analytic.response(at_hz, rate);
        let error = (re - expected_re).hypot(im - expected_im);
        assert!(error < 2e-6, "{shape:?} {freq_hz} at {at_hz} Hz: off by {error}");
    }
}

#[test]
fn four_bands_multiply() {
    let rate = 48_000.0;
    let out = run(
        &mut *build(
            "eq",
            48_000,
            &[
                ("band1_gain_db", 6.0),
                ("band2_gain_db", -9.0),
                ("band3_gain_db", 4.0),
                ("band4_gain_db", -3.0),
            ],
        ),
        &Stereo::impulse(1 << 15, 0),
    );
    let q = std::f64::consts::FRAC_1_SQRT_2;
    let bands = [
        Coefficients::design(Shape::LowShelf, 100.0, q, 6.0, rate),
        Coefficients::design(Shape::Peaking, 400.0, q, -9.0, rate),
        Coefficients::design(Shape::Peaking, 2500.0, q, 4.0, rate),
        Coefficients::design(Shape::HighShelf, 8000.0, q, -3.0, rate),
    ];
    for at_hz in [20.0, 100.0, 300.0, 1000.0, 2500.0, 9000.0, 20_000.0] {
        let (re, im) = spectrum_at(&out.right, at_hz / rate);
        let expected: f64 = bands.iter().map(|band| band.magnitude(at_hz, rate)).product();
        assert!((re.hypot(im) / expected - 1.0).abs() < 1e-5, "{at_hz}");
    }
}

/// After a glide the equaliser is, to the bit, one that was built with the new setting.
#[test]
fn a_glide_ends_where_a_fresh_one_begins() {
    let target = [("band2_gain_db", 7.0), ("band2_freq_hz", 777.0), ("band1_type", 5.0)];
    let mut fresh = build("eq", 48_000, &target);
    let mut moved = build("eq", 48_000, &[]);
    let events = target.map(|(param, value)| event(9, index("eq", param), value));
    run_with(&mut *moved, &Stereo::silence(9600), None, &[64], &events);
    let input = stereo_noise(2000, 5);
    assert_eq!(run(&mut *moved, &input), run(&mut *fresh, &input));
}

// ---- Delay ----

#[test]
fn an_impulse_comes_out_at_the_set_times() {
    let settings = [
        ("time_left_ms", 10.0),
        ("time_right_ms", 20.0),
        ("feedback", 0.5),
        ("damping", 0.0),
        ("mix", 1.0),
    ];
    let out = run(&mut *build("delay", 48_000, &settings), &Stereo::impulse(3000, 0));
    for n in 0..3000usize {
        let echo = |frames: usize| {
            if n > 0 && n.is_multiple_of(frames) {
                0.5f32.powi((n / frames) as i32 - 1)
            } else {
                0.0
            }
        };
        assert_eq!(out.left[n], echo(480), "{n}");
        assert_eq!(out.right[n], echo(960), "{n}");
    }
}

#[test]
fn ping_pong_changes_sides() {
    let settings = [
        ("time_left_ms", 10.0),
        ("time_right_ms", 10.0),
        ("feedback", 0.5),
        ("damping", 0.0),
        ("mix", 1.0),
        ("ping_pong", 1.0),
    ];
    let out = run(&mut *build("delay", 48_000, &settings), &Stereo::impulse(3000, 0));
    assert_eq!((out.left[480], out.right[480]), (1.0, 0.0));
    assert_eq!((out.left[960], out.right[960]), (0.0, 0.5));
    assert_eq!((out.left[1440], out.right[1440]), (0.25, 0.0));
}

#[test]
fn damped_echoes_lose_treble() {
    let settings = [("time_left_ms", 50.0), ("feedback", 0.9), ("damping", 0.5), ("mix", 1.0)];
    let out = run(&mut *build("delay", 48_000, &settings), &Stereo::impulse(24_000, 0));
    let echo = |n: usize| &out.left[n * 2400 - 100..n * 2400 + 1000];
    let treble = |n| amplitude_at(echo(n), 0.3) / amplitude_at(echo(n), 0.002);
    assert!(treble(4) < 0.5 * treble(2), "{} {}", treble(4), treble(2));
}

// ---- Reverbs ----

fn fdn_response(settings: &[(&str, f32)], seconds: f64) -> Stereo {
    let mut all = vec![("mix", 1.0), ("pre_delay_ms", 0.0)];
    all.extend_from_slice(settings);
    let frames = (seconds * 48_000.0) as usize;
    run(&mut *build("fdn", 48_000, &all), &Stereo::impulse(frames, 0))
}

/// A band of a row: two second-order band passes.
fn band(row: &[f32], freq_hz: f64) -> Vec<f32> {
    let section = Coefficients::design(Shape::BandPass, freq_hz, 1.4, 0.0, 48_000.0);
    let mut row = row.to_vec();
    hocket_dsp::BiquadCascade::repeated(section, 2).process_mono(&mut row);
    row
}

#[test]
fn the_hall_decays_in_the_set_time() {
    for lines in [8.0, 16.0] {
        for (t60, modulation) in [(0.5, 0.0), (1.5, 0.0), (3.0, 0.0), (1.5, 0.3)] {
            let settings = [
                ("lines", lines),
                ("t60_low_s", t60),
                ("t60_high_s", t60),
                ("modulation_ms", modulation),
            ];
            let out = fdn_response(&settings, f64::from(t60) * 1.5);
            // Interpolation of moving lines loses treble: measure where it does not matter.
            let row = if modulation > 0.0 { band(&out.left, 500.0) } else { out.left };
            let measured = t60_s(&row, 48_000.0);
            let ratio = measured / f64::from(t60);
            assert!((ratio - 1.0).abs() < 0.07, "{lines} lines, {t60} s: {measured} s");
        }
    }
}

#[test]
fn the_hall_decays_at_its_own_pace_in_each_band() {
    let settings =
        [("lines", 16.0), ("t60_low_s", 3.0), ("t60_high_s", 0.8), ("crossover_hz", 1500.0)];
    let out = fdn_response(&settings, 4.0);
    let low = t60_s(&band(&out.left, 120.0), 48_000.0);
    let high = t60_s(&band(&out.left, 12_000.0), 48_000.0);
    assert!((low / 3.0 - 1.0).abs() < 0.1, "low {low} s");
    assert!((high / 0.8 - 1.0).abs() < 0.15, "high {high} s");
}

#[test]
fn the_hall_waits_for_its_pre_delay_and_differs_between_sides() {
    let out = fdn_response(&[("pre_delay_ms", 100.0)], 1.0);
    assert!(out.left[..4800].iter().all(|sample| *sample == 0.0));
    assert!(energy(&out.left) > 0.1 && energy(&out.right) > 0.1);
    let cross: f64 = out.left.iter().zip(&out.right).map(|(l, r)| f64::from(l * r)).sum();
    let alike = cross / (energy(&out.left) * energy(&out.right)).sqrt();
    assert!(alike.abs() < 0.3, "{alike}");
}

#[test]
fn freeverb_decays_as_its_loop_gain_says() {
    for room in [0.2f32, 0.5, 0.8] {
        let settings = [("room", room), ("damp", 0.0), ("mix", 1.0)];
        for rate_hz in [44_100u32, 96_000] {
            let rate = f64::from(rate_hz);
            let input = Stereo::impulse(4 * rate_hz as usize, 0);
            let out = run(&mut *build("freeverb", rate_hz, &settings), &input);
            let gain_db = db(f64::from(freeverb::feedback(room)));
            let pass_s = |frames: f64| frames / 44_100.0;
            let (shortest, longest) =
                (-60.0 / gain_db * pass_s(1116.0), -60.0 / gain_db * pass_s(1640.0));
            let measured = t60_s(&out.left, rate);
            assert!(
                (0.95 * shortest..1.05 * longest).contains(&measured),
                "room {room} at {rate_hz}: {measured} s, expected {shortest}..{longest}"
            );
        }
    }
}

#[test]
fn reverbs_gather_no_offset_and_never_grow() {
    for name in ["freeverb", "fdn", "delay"] {
        let mut processor = build(name, 48_000, &[("mix", 1.0)]);
        let burst = run(&mut *processor, &stereo_noise(48_000, 2));
        let mut last = energy(&burst.left) + energy(&burst.right);
        for second in 0..6 {
            let out = run(&mut *processor, &Stereo::silence(48_000));
            let now = energy(&out.left) + energy(&out.right);
            assert!(now <= last, "{name}: energy grows in second {second}");
            last = now;
            let mean = out.left.iter().map(|s| f64::from(*s)).sum::<f64>() / 48_000.0;
            let rms = (energy(&out.left) / 48_000.0).sqrt();
            assert!(mean.abs() <= 0.05 * rms + 1e-9, "{name}: offset {mean} of {rms}");
        }
        assert!(last < 1.0, "{name}");
    }
}

// ---- Dynamics ----

/// What the compressor makes of a constant level, in decibels.
fn compressed_db(settings: &[(&str, f32)], level_db: f32) -> f64 {
    let level = hocket_dsp::level::db_to_lin(level_db);
    let input = Stereo::mono(vec![level; 48_000]);
    let out = run(&mut *build("compressor", 48_000, settings), &input);
    db(f64::from(out.left[47_999]))
}

#[test]
fn the_static_curve_is_the_set_one() {
    let settings = [("threshold_db", -20.0), ("ratio", 4.0), ("knee_db", 10.0), ("makeup_db", 3.0)];
    for tenths in -600..=0 {
        if tenths % 25 != 0 {
            continue;
        }
        let level = f64::from(tenths) / 10.0;
        let over = level + 20.0;
        let reduction = match over {
            over if over <= -5.0 => 0.0,
            over if over >= 5.0 => over * 0.75,
            over => 0.75 * (over + 5.0).powi(2) / 20.0,
        };
        let got = compressed_db(&settings, level as f32);
        assert!((got - (level - reduction + 3.0)).abs() < 0.01, "{level} dB gives {got} dB");
    }
}

#[test]
fn attack_and_release_take_the_set_times() {
    let settings = [
        ("threshold_db", -40.0),
        ("ratio", 100.0),
        ("knee_db", 0.0),
        ("attack_ms", 20.0),
        ("release_ms", 100.0),
    ];
    let mut row = vec![0.001; 4800];
    row.extend(vec![0.5; 48_000]);
    row.extend(vec![0.001; 48_000]);
    let out = run(&mut *build("compressor", 48_000, &settings), &Stereo::mono(row.clone()));
    let reduction = |n: usize| -db(f64::from(out.left[n] / row[n]));
    let full = reduction(52_799);
    let after = |from: usize, ms: usize| reduction(from + 48 * ms - 1);
    let part = 1.0 - (-1.0f64).exp();
    assert!((after(4800, 20) / full - part).abs() < 0.01, "attack");
    assert!((after(52_800, 100) / full - (1.0 - part)).abs() < 0.01, "release");
}

#[test]
fn the_key_steers_and_both_sides_get_one_gain() {
    let settings = [("threshold_db", -30.0), ("ratio", 10.0), ("attack_ms", 0.1)];
    let input = Stereo { left: vec![0.1; 4800], right: vec![0.02; 4800] };
    let loud = Stereo { left: vec![0.0; 4800], right: vec![1.0; 4800] };
    let quiet = Stereo::silence(4800);
    let mut processor = build("compressor", 48_000, &settings);
    let ducked = run_with(&mut *processor, &input, Some(&loud), &[512], &[]);
    assert!(processor.reading().is_some_and(|reduction| (reduction - 27.0).abs() < 0.1));
    assert!(ducked.left[4799] < 0.005);
    assert!((ducked.left[4799] / ducked.right[4799] - 5.0).abs() < 1e-4);
    processor.reset();
    let open = run_with(&mut *processor, &input, Some(&quiet), &[512], &[]);
    assert_eq!(open, input);
}

/// Signals that are made to slip through: peaks one frame long, on one side, right behind each
/// other, steps, silence in between, far above full scale, and values that are no numbers.
fn hostile(frames: usize) -> Stereo {
    let mut signal = stereo_noise(frames, 21);
    for (n, sample) in signal.left.iter_mut().enumerate() {
        *sample *= match n % 4096 {
            0 => 1000.0,
            97 => -300.0,
            500..=900 => 20.0,
            901..=1500 => 0.0,
            2000..=2100 if n % 3 == 0 => 1e6,
            _ => 0.8,
        };
    }
    for (n, sample) in signal.right.iter_mut().enumerate() {
        match n % 5000 {
            1234 => *sample = f32::MAX,
            2345 => *sample = f32::INFINITY,
            2346 => *sample = f32::NAN,
            3000..=3200 => *sample = 50.0,
            _ => {}
        }
    }
    signal
}

#[test]
fn nothing_passes_the_ceiling() {
    for ceiling_db in [-24.0, -1.0, 0.0] {
        for lookahead_ms in [0.1, 2.0, 10.0] {
            for release_ms in [1.0, 300.0] {
                let settings = [
                    ("ceiling_db", ceiling_db),
                    ("lookahead_ms", lookahead_ms),
                    ("release_ms", release_ms),
                    ("input_db", 12.0),
                ];
                let out = run(&mut *build("limiter", 44_100, &settings), &hostile(40_000));
                assert!(out.max() <= hocket_dsp::level::db_to_lin(ceiling_db), "{settings:?}");
                assert!(out.rows().iter().all(|row| hocket_dsp::finite::all_finite(row)));
            }
        }
    }
}

#[test]
fn below_the_ceiling_the_limiter_is_a_delay() {
    let input = stereo_noise(9000, 3);
    let mut limiter = build("limiter", 48_000, &[("ceiling_db", 0.0), ("lookahead_ms", 1.5)]);
    assert_eq!(limiter.latency_frames(), 72);
    let out = run(&mut *limiter, &input);
    assert_eq!(out.left[72..], input.left[..9000 - 72]);
    assert_eq!(limiter.reading(), Some(0.0));
}

#[test]
fn a_limited_peak_is_approached_smoothly() {
    let mut input = Stereo::mono(vec![0.5; 4800]);
    input.left[2400] = 2.0;
    let out = run(&mut *build("limiter", 48_000, &[("ceiling_db", 0.0)]), &input);
    let step = |pair: &[f32]| (pair[1] - pair[0]).abs();
    assert!((out.left[2400 + 96] - 1.0).abs() < 1e-5, "the peak itself is at the ceiling");
    let before = &out.left[200..2400 + 96];
    assert!(before.windows(2).map(step).fold(0.0, f32::max) < 0.01);
}

// ---- Gate ----

/// A gate by its definition in docs/effects.md, in double precision: the gain of each frame in decibels.
struct Definition {
    threshold_db: f64,
    range_db: f64,
    attack_ms: f64,
    hold_ms: f64,
    release_ms: f64,
    hysteresis_db: f64,
}

impl Definition {
    fn settings(&self) -> [(&'static str, f32); 6] {
        [
            ("threshold_db", self.threshold_db as f32),
            ("range_db", self.range_db as f32),
            ("attack_ms", self.attack_ms as f32),
            ("hold_ms", self.hold_ms as f32),
            ("release_ms", self.release_ms as f32),
            ("hysteresis_db", self.hysteresis_db as f32),
        ]
    }

    fn gains_db(&self, key: &Stereo, rate_hz: u32) -> Vec<f64> {
        let frames = |ms: f64| (ms * f64::from(rate_hz) / 1000.0).round();
        let (mut is_open, mut quiet, mut way) = (false, 0.0, 0.0f64);
        let gain = |n: usize| {
            let level_db = db(f64::from(key.left[n].abs().max(key.right[n].abs())));
            let least_db = self.threshold_db - if is_open { self.hysteresis_db } else { 0.0 };
            quiet = if level_db >= least_db { 0.0 } else { quiet + 1.0 };
            is_open = quiet == 0.0 || is_open && quiet <= frames(self.hold_ms);
            way += match is_open {
                true => 1.0 / frames(self.attack_ms).max(1.0),
                false => -1.0 / frames(self.release_ms).max(1.0),
            };
            // A way of whole frames ends at its end, whatever sums of thirds round to.
            way = if way > 1.0 - 1e-9 { 1.0 } else { way };
            way = if way < 1e-9 { 0.0 } else { way };
            self.range_db * (1.0 - way)
        };
        (0..key.frames()).map(gain).collect()
    }
}

/// Noise that swells and sinks by turns, from silence up to full scale.
fn swelling(frames: usize, seed: u32) -> Stereo {
    let mut signal = stereo_noise(frames, seed);
    let swells = |n: usize| (0.5 - 0.5 * (n as f64 / 1700.0).cos()).powi(6) as f32;
    for row in [&mut signal.left, &mut signal.right] {
        row.iter_mut().enumerate().for_each(|(n, sample)| *sample *= swells(n));
    }
    signal
}

#[test]
fn a_gate_is_its_definition() {
    let settings = [
        [-40.0, -60.0, 1.0, 20.0, 100.0, 4.0],
        [-20.0, -12.0, 0.05, 0.0, 1.0, 0.0],
        [-6.0, -90.0, 30.0, 3.0, 7.0, 24.0],
        [-30.0, 0.0, 5.0, 5.0, 5.0, 1.0],
        [-12.5, -33.3, 2.5, 0.7, 40.0, 9.0],
    ];
    for (values, seed) in settings.into_iter().zip(1..) {
        let [threshold_db, range_db, attack_ms, hold_ms, release_ms, hysteresis_db] = values;
        let gate =
            Definition { threshold_db, range_db, attack_ms, hold_ms, release_ms, hysteresis_db };
        for (rate_hz, keyed) in [(8000, false), (44_100, true), (48_000, false), (96_000, true)] {
            let (input, other) = (swelling(40_000, seed), swelling(40_000, 100 + seed));
            let key = keyed.then_some(&other);
            let mut processor = build("gate", rate_hz, &gate.settings());
            let out = run_with(&mut *processor, &input, key, &[480, 1, 31], &[]);
            let gains_db = gate.gains_db(key.unwrap_or(&input), rate_hz);
            let turns = gains_db.windows(2).filter(|pair| pair[0] != pair[1]).count();
            assert!(turns > 20 || range_db == 0.0, "{values:?} at {rate_hz}: it never moves");
            for (n, gain_db) in gains_db.into_iter().enumerate() {
                let factor = 10f64.powf(gain_db / 20.0);
                for (out, row) in out.rows().into_iter().zip(input.rows()) {
                    let (got, expected) = (f64::from(out[n]), f64::from(row[n]) * factor);
                    let error = (got - expected).abs();
                    assert!(
                        error <= 4e-6 * expected.abs() + 1e-30,
                        "{values:?} at {rate_hz}, frame {n}: {got} for {expected}"
                    );
                }
            }
        }
    }
}

/// Two levels by turns: quiet for so many frames, then loud, and so on.
fn steps(quiet: f32, loud: f32, lengths: &[usize]) -> Vec<f32> {
    let levels = [quiet, loud].into_iter().cycle();
    lengths.iter().zip(levels).flat_map(|(length, level)| vec![level; *length]).collect()
}

#[test]
fn a_gate_opens_holds_and_closes_in_whole_frames() {
    let settings = [
        ("threshold_db", -20.0),
        ("range_db", -40.0),
        ("attack_ms", 2.0),
        ("hold_ms", 10.0),
        ("release_ms", 20.0),
        ("hysteresis_db", 0.0),
    ];
    for rate_hz in [8000, 48_000, 96_000] {
        let frames = |ms: usize| ms * rate_hz / 1000;
        let (attack, hold, release) = (frames(2), frames(10), frames(20));
        let (loud_at, quiet_at) = (100, 100 + attack + 500);
        let row = steps(0.001, 0.5, &[loud_at, attack + 500, hold + release + 300]);
        let mut gate = build("gate", rate_hz as u32, &settings);
        let out = run(&mut *gate, &Stereo::mono(row.clone())).left;
        assert_eq!(gate.latency_frames(), 0);
        let gain_db = |n: usize| db(f64::from(out[n]) / f64::from(row[n]));
        let check = |n: usize, expected_db: f64| {
            let got = gain_db(n);
            assert!((got - expected_db).abs() < 1e-4, "{rate_hz}, frame {n}: {got} {expected_db}");
        };
        check(0, -40.0);
        check(loud_at - 1, -40.0);
        for n in 0..attack - 1 {
            check(loud_at + n, -40.0 * (1.0 - (n + 1) as f64 / attack as f64));
        }
        let open = loud_at + attack - 1..quiet_at + hold;
        assert_eq!(out[open.clone()], row[open], "an open gate changes no bit");
        assert!(out[loud_at + attack - 2] < row[loud_at + attack - 2], "not a frame earlier");
        for n in 0..release {
            check(quiet_at + hold + n, -40.0 * (n + 1) as f64 / release as f64);
        }
        assert!(gain_db(quiet_at + hold + release - 2) > -40.0 + 1e-3, "not a frame earlier");
        (quiet_at + hold + release..row.len()).for_each(|n| check(n, -40.0));
    }
}

#[test]
fn an_open_gate_stays_open_below_the_threshold_by_its_hysteresis() {
    let settings =
        [("threshold_db", -20.0), ("hysteresis_db", 6.0), ("hold_ms", 0.0), ("release_ms", 1.0)];
    let level = hocket_dsp::level::db_to_lin;
    let mut gate = build("gate", 48_000, &settings);
    let mut is_open_after = |level_db: f32| {
        let input = Stereo::mono(vec![level(level_db); 480]);
        run(&mut *gate, &input).left[479] == input.left[479]
    };
    let course = [
        (-23.0, false),
        (-20.5, false),
        (-19.5, true),
        (-23.0, true),
        (-25.5, true),
        (-26.5, false),
        (-25.5, false),
        (-20.5, false),
        (-10.0, true),
        (-25.9, true),
    ];
    for (place, (level_db, expected)) in course.into_iter().enumerate() {
        assert_eq!(is_open_after(level_db), expected, "step {place}, {level_db} dB");
    }
}

#[test]
fn a_gates_hold_spans_the_zeros_of_a_low_wave() {
    let wave = Stereo::mono(sine(48_000, 30.0 / 48_000.0, 0.5));
    let half = 0.5 * 48_000.0 / 30.0;
    let held = |hold_ms: f32| {
        let settings = [("threshold_db", -12.0), ("hysteresis_db", 0.0), ("hold_ms", hold_ms)];
        run(&mut *build("gate", 48_000, &settings), &wave)
    };
    let open = held((half / 48.0) as f32);
    assert_eq!(open.left[4800..], wave.left[4800..]);
    assert_ne!(held(0.0).left[4800..], wave.left[4800..]);
}

#[test]
fn a_gates_key_steers_and_both_sides_get_one_gain() {
    let settings = [("threshold_db", -30.0), ("range_db", -20.0), ("release_ms", 5.0)];
    let input = Stereo { left: vec![0.1; 4800], right: vec![0.02; 4800] };
    let loud = Stereo { left: vec![0.0; 4800], right: vec![1.0; 4800] };
    let mut gate = build("gate", 48_000, &settings);
    assert_eq!(gate.reading(), Some(20.0));
    let closed = run_with(&mut *gate, &input, Some(&Stereo::silence(4800)), &[512], &[]);
    for (got, given) in closed.rows().into_iter().zip(input.rows()) {
        assert!((got[4799] / given[4799] - 0.1).abs() < 1e-6, "however loud it is itself");
    }
    let open = run_with(&mut *gate, &input, Some(&loud), &[512], &[]);
    assert_eq!(open.left[48..], input.left[48..]);
    assert_eq!(open.right[48..], input.right[48..]);
    assert_eq!(gate.reading(), Some(0.0));
    let by_itself = run(&mut *build("gate", 48_000, &settings), &input);
    assert_eq!(by_itself.left[48..], input.left[48..], "0.1 is above -30 dB");
}

#[test]
fn the_widest_range_of_a_gate_is_silence() {
    let input = Stereo::mono(vec![0.001; 9600]);
    let closed = run(&mut *build("gate", 48_000, &[("range_db", -96.0)]), &input);
    assert_eq!(closed.max(), 0.0);
    // A range that moves while it is closed glides like a fader's gain.
    let mut gate = build("gate", 48_000, &[("range_db", -96.0)]);
    let change = event(100, index("gate", "range_db"), 0.0);
    let out = run_with(&mut *gate, &input, None, &[64], &[change]).left;
    assert!(out[..100].iter().all(|sample| *sample == 0.0));
    let rises = out[100..].windows(2).all(|pair| pair[0] <= pair[1]);
    assert!(rises && out[100 + 480] < 0.1 * input.left[0]);
    assert_eq!(out[100 + 960..], input.left[100 + 960..]);
}

// ---- Amplifier ----

/// Energy besides the harmonics below half the rate, relative to all energy, in decibels.
fn aliases_db(oversampling: f32, drive_db: f32) -> f64 {
    // A prime number of cycles in a second: folded harmonics fall beside true ones. None of them
    // lies in the slope of the first half-band filter, 21.4 to 26.6 kHz.
    let freq_hz = 7001.0;
    let settings =
        [("oversampling", oversampling), ("drive_db", drive_db), ("cabinet", 0.0), ("bias", 0.4)];
    let input = Stereo::mono(sine(96_000, freq_hz / 48_000.0, 0.5));
    let out = run(&mut *build("amp", 48_000, &settings), &input);
    let second = &out.left[48_000..];
    let harmonic = |n: i32| amplitude_at(second, f64::from(n) * freq_hz / 48_000.0).powi(2) / 2.0;
    let mean = second.iter().map(|s| f64::from(*s)).sum::<f64>() / 48_000.0;
    let all = energy(second) / 48_000.0 - mean * mean;
    let harmonics: f64 = (1..=3).map(harmonic).sum();
    0.5 * db((all - harmonics).max(0.0) / all)
}

#[test]
fn more_oversampling_leaves_less_aliasing() {
    // Driven hard, a sine becomes a square, whose harmonics fall by 6 dB an octave only.
    for (drive_db, at_most_db) in [(36.0, -30.0), (12.0, -50.0), (0.0, -80.0)] {
        let left = [1.0, 2.0, 4.0, 8.0].map(|factor| aliases_db(factor, drive_db));
        let falls = |pair: &[f64]| pair[1] < (pair[0] - 3.0).max(-100.0);
        assert!(left.windows(2).all(falls), "{drive_db}: {left:?}");
        assert!(left[3] < at_most_db, "{drive_db}: {left:?}");
    }
}

#[test]
fn bias_makes_even_harmonics() {
    let even_part = |bias: f32| {
        let settings = [("bias", bias), ("drive_db", 20.0), ("cabinet", 0.0)];
        let input = Stereo::mono(sine(96_000, 0.01, 0.1));
        let out = run(&mut *build("amp", 48_000, &settings), &input);
        let second = &out.left[48_000..];
        amplitude_at(second, 0.02) / amplitude_at(second, 0.01)
    };
    assert!(even_part(0.0) < 1e-5, "{}", even_part(0.0));
    assert!(even_part(0.5) > 0.01, "{}", even_part(0.5));
}

#[test]
fn the_amplifier_reports_the_latency_of_its_oversampling() {
    for (oversampling, latency) in [(1.0, 0), (2.0, 47), (4.0, 53), (7.0, 53), (8.0, 55)] {
        let amp = build("amp", 48_000, &[("oversampling", oversampling)]);
        assert_eq!(amp.latency_frames(), latency);
    }
}

// ---- Correlation ----

fn correlated(left: Vec<f32>, right: Vec<f32>) -> f32 {
    let mut meter = build("correlation", 48_000, &[("window_ms", 50.0)]);
    let input = Stereo { left, right };
    assert_eq!(run(&mut *meter, &input), input, "the meter changes the sound");
    meter.reading().unwrap_or(f32::NAN)
}

#[test]
fn correlation_knows_equal_opposite_and_unrelated() {
    let (a, b) = (noise(48_000, 1), noise(48_000, 77));
    let negative: Vec<f32> = a.iter().map(|sample| -sample).collect();
    let half: Vec<f32> = a.iter().map(|sample| 0.5 * sample).collect();
    assert!((correlated(a.clone(), a.clone()) - 1.0).abs() < 1e-6);
    assert!((correlated(a.clone(), half) - 1.0).abs() < 1e-6);
    assert!((correlated(a.clone(), negative) + 1.0).abs() < 1e-6);
    assert!(correlated(a.clone(), b).abs() < 0.05);
    assert_eq!(correlated(a, vec![0.0; 48_000]), 0.0);
    let quarter = |n: usize| (0.01 * std::f64::consts::TAU * n as f64).cos() as f32;
    assert!(correlated(sine(48_000, 0.01, 1.0), (0..48_000).map(quarter).collect()).abs() < 0.03);
}

#[test]
fn longer_windows_remember_longer() {
    let kind = known("correlation");
    let settings = values(kind, &[("window_ms", 10.0), ("windows", 6.0)]);
    let mut meter = Segmented::<Correlation>::new(&settings, 48_000);
    let row = noise(48_000, 1);
    run(&mut meter, &Stereo::mono(row.clone()));
    let negative = row.iter().map(|sample| -sample).collect();
    run(&mut meter, &Stereo { left: row[..4800].to_vec(), right: negative }.cut(4800));
    let values: Vec<f32> = (0..6).filter_map(|n| meter.effect().value(n)).collect();
    assert_eq!(values.len(), 6);
    assert!(values.windows(2).all(|pair| pair[0] < pair[1]), "{values:?}");
    assert!(values[0] < -0.99 && values[5] > 0.0, "{values:?}");
    assert_eq!(meter.effect().value(6), None);
}

impl Stereo {
    fn cut(mut self, frames: usize) -> Stereo {
        self.left.truncate(frames);
        self.right.truncate(frames);
        self
    }
}

// ---- Declared costs ----

#[test]
fn declared_costs_are_plausible() {
    let flops = |name: &str, settings: &[(&str, f32)]| {
        let kind = known(name);
        (kind.flops_per_frame)(&values(kind, settings), 48_000)
    };
    let amps = [1.0, 2.0, 4.0, 8.0].map(|factor| flops("amp", &[("oversampling", factor)]));
    assert!(amps.windows(2).all(|pair| pair[0] < pair[1]), "{amps:?}");
    let off = [("band1_type", 0.0), ("band2_type", 0.0), ("band3_type", 0.0), ("band4_type", 0.0)];
    assert_eq!(flops("eq", &off), 0.0);
    assert_eq!(flops("eq", &[]), 76.0);
    let still = flops("fdn", &[("lines", 16.0)]);
    assert!(flops("fdn", &[]) < still);
    assert!(still < flops("fdn", &[("lines", 16.0), ("modulation_ms", 0.5)]));
    assert!(flops("correlation", &[]) < flops("correlation", &[("windows", 8.0)]));
    assert!(flops("delay", &[]) < flops("delay", &[("time_left_ms", 0.3101 + 100.0)]));
    assert!(flops("gain", &[]) < flops("compressor", &[]));
    for kind in kinds() {
        assert!((kind.flops_per_frame)(&kind.defaults(), 48_000) > 0.0, "{}", kind.name);
    }
}
