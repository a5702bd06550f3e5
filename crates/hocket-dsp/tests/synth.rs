//! The synthesizer: pitch, envelope, voices, what MIDI says, and the same bits for every cut into blocks.

mod common;

use common::{Stereo, amplitude_at, build, event, stereo_noise};
use hocket_dsp::{Block, Bypass, Processor, StereoMut, TimedChange};
use hocket_time::{EventBuffer, EventKind, Midi1, Note, NoteAction, Pushed, Source};

const RATE_HZ: u32 = 48_000;

/// Notes and messages at absolute frames.
type Heard<'a> = &'a [(u32, EventKind)];

fn on(key: i8) -> EventKind {
    EventKind::Note(Note::on(i32::from(key), 0, key, 1.0))
}

fn off(key: i8) -> EventKind {
    EventKind::Note(Note::off(i32::from(key), 0, key, 0.0))
}

fn midi(bytes: [u8; 3]) -> EventKind {
    EventKind::Midi(Midi1::new(&bytes).unwrap())
}

/// Runs over blocks of the given lengths, again and again.
fn run(
    synth: &mut dyn Processor,
    input: &Stereo,
    lengths: &[usize],
    heard: Heard<'_>,
    changes: &[TimedChange],
) -> Stereo {
    let (mut out, mut start) = (input.clone(), 0);
    let mut received = EventBuffer::new(1000, 0);
    for length in lengths.iter().cycle() {
        let end = (start + length).min(out.frames());
        received.clear();
        let inside = |frame: u32| (start..end).contains(&(frame as usize));
        for (frame, kind) in heard.iter().filter(|(frame, _)| inside(*frame)) {
            let event = hocket_time::Event::new(frame - start as u32, Source::edge(0), *kind);
            assert_eq!(received.push(event), Pushed::Stored);
        }
        let own = changes.iter().filter(|change| inside(change.frame));
        let own = own.map(|change| TimedChange { frame: change.frame - start as u32, ..*change });
        let own: Vec<TimedChange> = own.collect();
        let main = StereoMut { left: &mut out.left[start..end], right: &mut out.right[start..end] };
        let (events, events_in) = (&own[..], Some(&received));
        synth.process(&mut Block { events, events_in, ..Block::new(main) });
        start = end;
        if start == out.frames() {
            break;
        }
    }
    out
}

fn play(settings: &[(&str, f32)], frames: usize, heard: Heard<'_>) -> Vec<f32> {
    let mut synth = build("synth", RATE_HZ, settings);
    let out = run(&mut *synth, &Stereo::silence(frames), &[512], heard, &[]);
    assert_eq!(out.left, out.right);
    out.left
}

/// Sine, full sustain, an open filter and no gain: the wave itself.
const PLAIN: [(&str, f32); 6] = [
    ("wave", 0.0),
    ("sustain", 1.0),
    ("attack_ms", 0.1),
    ("cutoff_hz", 20_000.0),
    ("resonance", 0.0),
    ("gain_db", 0.0),
];

fn peak(row: &[f32]) -> f32 {
    row.iter().fold(0.0, |peak, sample| peak.max(sample.abs()))
}

#[test]
fn notes_have_their_pitch() {
    for (key, hz) in [(69, 440.0), (57, 220.0), (60, 261.625_565)] {
        let row = play(&PLAIN, 48_000, &[(0, on(key))]);
        let freq = hz / f64::from(RATE_HZ);
        let level = amplitude_at(&row[4800..43_200], freq);
        assert!((level - 1.0).abs() < 0.02, "{key}: {level}");
        for other in [0.9 * freq, 1.1 * freq, 2.0 * freq, 3.0 * freq] {
            assert!(amplitude_at(&row[4800..43_200], other) < 0.02, "{key}");
        }
    }
}

#[test]
fn bends_and_velocities_are_obeyed() {
    // Up by the whole range: two semitones.
    let bent = play(&PLAIN, 48_000, &[(0, midi([0xe0, 0x7f, 0x7f])), (0, midi([0x90, 67, 127]))]);
    assert!(amplitude_at(&bent[4800..43_200], 440.0 / f64::from(RATE_HZ)) > 0.95);
    let soft = play(&PLAIN, 9600, &[(0, EventKind::Note(Note::on(-1, 0, 69, 0.25)))]);
    assert!((peak(&soft[2400..]) - 0.25).abs() < 0.01);
}

#[test]
fn every_wave_sounds_and_the_filter_takes_what_is_high() {
    let fundamental = 110.0 / f64::from(RATE_HZ);
    for wave in 0..4 {
        let mut settings = PLAIN;
        settings[0].1 = wave as f32;
        let open = play(&settings, 48_000, &[(0, on(45))]);
        let level =
            |row: &[f32], harmonic: f64| amplitude_at(&row[4800..43_200], harmonic * fundamental);
        assert!(level(&open, 1.0) > 0.6, "wave {wave}");
        settings[3].1 = 220.0;
        let closed = play(&settings, 48_000, &[(0, on(45))]);
        assert!(level(&closed, 1.0) > 0.5 * level(&open, 1.0), "wave {wave}");
        // Two octaves above the cutoff, 12 dB per octave.
        let high = level(&closed, 9.0) / level(&open, 9.0).max(1e-9);
        assert!(level(&open, 9.0) < 1e-3 || high < 0.1, "wave {wave}: {high}");
    }
    // Harmonics of a saw fall as 1/n, those of a square are odd.
    let mut settings = PLAIN;
    settings[0].1 = 2.0;
    let saw = play(&settings, 48_000, &[(0, on(45))]);
    settings[0].1 = 3.0;
    let square = play(&settings, 48_000, &[(0, on(45))]);
    let level =
        |row: &[f32], harmonic: f64| amplitude_at(&row[4800..43_200], harmonic * fundamental);
    for harmonic in [2.0, 3.0, 5.0] {
        let expected = 2.0 / std::f64::consts::PI / harmonic;
        assert!((level(&saw, harmonic) - expected).abs() < 0.03, "{harmonic}");
    }
    assert!((level(&square, 3.0) - 4.0 / std::f64::consts::PI / 3.0).abs() < 0.04);
    assert!(level(&square, 2.0) < 0.01);
}

#[test]
fn a_note_begins_and_ends_at_its_frame_and_its_release_ends_in_silence() {
    let mut settings = PLAIN.to_vec();
    settings.extend([("release_ms", 20.0)]);
    let row = play(&settings, 24_000, &[(777, on(69)), (5000, off(69))]);
    assert!(row[..777].iter().all(|sample| *sample == 0.0));
    assert!(row[777..800].iter().any(|sample| *sample != 0.0));
    assert!(peak(&row[4000..5000]) > 0.95);
    assert!(peak(&row[5960..6100]) < 2e-3, "60 dB in 20 ms");
    assert!(row[8000..].iter().all(|sample| *sample == 0.0));
}

#[test]
fn a_sustain_of_nothing_ends_by_itself() {
    let mut settings = PLAIN.to_vec();
    settings.extend([("decay_ms", 30.0)]);
    settings[1].1 = 0.0;
    let row = play(&settings, 24_000, &[(0, on(69))]);
    assert!(peak(&row[..1000]) > 0.5 && row[8000..].iter().all(|sample| *sample == 0.0));
}

#[test]
fn the_pedal_holds_and_what_ends_notes_ends_them() {
    let mut settings = PLAIN.to_vec();
    settings.extend([("release_ms", 10.0)]);
    let sounds = |heard: Heard<'_>| peak(&play(&settings, 12_000, heard)[10_000..]) > 0.5;
    let pedal = |frame, value| (frame, midi([0xb0, 64, value]));
    assert!(!sounds(&[(0, on(69)), (100, off(69))]));
    assert!(sounds(&[pedal(0, 127), (0, on(69)), (100, off(69))]));
    assert!(!sounds(&[pedal(0, 127), (0, on(69)), (100, off(69)), pedal(200, 0)]));
    assert!(sounds(&[(0, on(69)), (100, off(70))]), "another key");
    let all = Note { action: NoteAction::Off, id: -1, channel: -1, key: -1, velocity: 0.0 };
    let choke = Note { action: NoteAction::Choke, ..all };
    for end in [
        EventKind::Note(all),
        EventKind::Note(choke),
        EventKind::EndAllNotes,
        midi([0xb0, 120, 0]),
        midi([0xb0, 123, 0]),
        midi([0x90, 69, 0]),
        midi([0x80, 69, 0]),
    ] {
        let on = midi([0x90, 69, 127]);
        assert!(!sounds(&[(0, on), (100, end)]), "{end:?}");
    }
    assert!(sounds(&[(0, midi([0x90, 69, 127])), (100, midi([0xb1, 123, 0]))]), "another channel");
    assert!(!sounds(&[pedal(0, 127), (0, on(69)), (10, off(69)), (20, EventKind::EndAllNotes)]));
}

#[test]
fn a_seventeenth_note_takes_the_oldest_voice() {
    let many: Vec<(u32, EventKind)> = (0..17).map(|n| (10 * n, on(40 + 2 * n as i8))).collect();
    let mut settings = PLAIN;
    settings[5].1 = -20.0;
    let row = play(&settings, 48_000, &many);
    let level = |key: f64| {
        amplitude_at(&row[4800..43_200], 440.0 * ((key - 69.0) / 12.0).exp2() / f64::from(RATE_HZ))
    };
    assert!(level(40.0) < 0.02, "the first note is gone");
    assert!(level(42.0) > 0.08 && level(72.0) > 0.08);
}

/// A melody with chords, controllers and moving parameters, at frames that meet no common border.
fn melody() -> (Vec<(u32, EventKind)>, Vec<TimedChange>) {
    let mut heard = Vec::new();
    for n in 0..40u32 {
        let key = 40 + (n * 7 % 37) as i8;
        heard.push((
            n * 137,
            EventKind::Note(Note::on(n as i32, 0, key, 0.3 + 0.01 * f64::from(n))),
        ));
        heard.push((n * 137 + 211 + n, EventKind::Note(Note::off(n as i32, 0, key, 0.0))));
    }
    heard.push((1001, midi([0xe0, 5, 90])));
    heard.push((2003, midi([0xb0, 64, 127])));
    heard.push((3001, midi([0xb0, 64, 0])));
    heard.push((3333, EventKind::param(5, 700.0)));
    heard.sort_by_key(|(frame, _)| *frame);
    let changes = vec![event(500, 5, 9000.0), event(1500, 6, 0.9), event(2600, 4, 40.0)];
    (heard, changes)
}

#[test]
fn the_bits_are_the_same_for_every_cut_into_blocks() {
    let (heard, changes) = melody();
    let input = stereo_noise(6000, 3);
    for wave in 0..4 {
        let make = || build("synth", RATE_HZ, &[("wave", wave as f32)]);
        let whole = run(&mut *make(), &input, &[6000], &heard, &changes);
        let wrapped = || Bypass::new(make(), RATE_HZ, false).with_event_input();
        for lengths in [&[1][..], &[7], &[31, 32, 33], &[441], &[1024], &[1, 2, 3, 5, 8, 13, 500]] {
            let parts = run(&mut *make(), &input, lengths, &heard, &changes);
            assert_eq!(parts.bits(), whole.bits(), "wave {wave}, blocks of {lengths:?}");
            let parts = run(&mut wrapped(), &input, lengths, &heard, &changes);
            assert_eq!(parts.bits(), whole.bits(), "a bypass, wave {wave}, blocks of {lengths:?}");
        }
    }
}

#[test]
fn a_bypassed_synthesizer_hears_on_and_the_input_passes() {
    let input = stereo_noise(6000, 9);
    let mut bypass = Bypass::new(build("synth", RATE_HZ, &PLAIN), RATE_HZ, true).with_event_input();
    let back = [event(4000, Bypass::PARAM, 0.0)];
    let out = run(&mut bypass, &input, &[64], &[(100, on(69))], &back);
    assert_eq!(out.left[..4000], input.left[..4000]);
    let mut alone = build("synth", RATE_HZ, &PLAIN);
    let expected = run(&mut *alone, &input, &[64], &[(100, on(69))], &[]);
    assert_eq!(out.left[4300..], expected.left[4300..]);
}

#[test]
fn a_reset_ends_every_note() {
    let mut synth = build("synth", RATE_HZ, &PLAIN);
    let silence = Stereo::silence(1000);
    let first = run(&mut *synth, &silence, &[100], &[(0, on(60)), (5, midi([0xe0, 0, 0]))], &[]);
    assert!(first.max() > 0.5);
    synth.reset();
    assert_eq!(run(&mut *synth, &silence, &[100], &[], &[]).max(), 0.0);
    synth.reset();
    let again = run(&mut *synth, &silence, &[100], &[(0, on(60)), (5, midi([0xe0, 0, 0]))], &[]);
    assert_eq!(again.bits(), first.bits());
}
