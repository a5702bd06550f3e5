//! The examples run, and what they promise is heard.

use std::path::Path;
use std::process::Command;

#[path = "../src/bin/arpeggiator.rs"]
mod arpeggiator;
#[path = "../src/bin/feedback_delay.rs"]
mod feedback_delay;
#[path = "../src/bin/monitor.rs"]
mod monitor;
#[path = "../src/bin/surround.rs"]
mod surround;
#[path = "../src/bin/synth.rs"]
mod synth;

#[test]
fn the_synthesizer_follows_the_song() {
    let [first, again, slow, stopped] = synth::play().unwrap();
    let bits = |heard: &[f32]| heard.iter().map(|sample| sample.to_bits()).collect::<Vec<_>>();
    assert!(first.iter().any(|sample| sample.abs() > 0.2));
    assert_eq!(bits(&first), bits(&again), "a place of the song sounds the same each time");
    // At half the tempo the first note has the same sound, at half the loudness, and goes on when the second
    // would have come.
    let note = hocket_embedder::RATE_HZ as usize / 4;
    let halves = first[..note].iter().zip(&slow).all(|(loud, soft)| *soft == loud / 2.0);
    assert!(halves, "the first note");
    assert!(first[note..].iter().zip(&slow[note..]).any(|(loud, soft)| *soft != loud / 2.0));
    assert!(stopped.iter().all(|sample| *sample == 0.0));
    synth::main().unwrap();
}

/// The keys that the arpeggiator plays, and the frames at which each begins and ends.
fn arpeggio() -> Vec<(i8, u32, u32)> {
    let keys = [60, 67, 60, 64, 67, 60, 64];
    let begins = (100..).step_by(arpeggiator::STEP as usize);
    // The last one is cut short where the last key is released.
    let ends = |begin: u32| (begin + arpeggiator::STEP).min(20_500);
    keys.into_iter().zip(begins).map(|(key, begin)| (key, begin, ends(begin))).collect()
}

#[test]
fn the_arpeggiator_plays_the_held_keys_frame_by_frame() {
    let heard = arpeggiator::play(hocket_embedder::FRAMES).unwrap();
    let mut expected = vec![0.0; heard.len()];
    for (key, begin, end) in arpeggio() {
        for frame in begin..end {
            let tone = hocket_embedder::instrument::tone(key, frame - begin);
            expected[frame as usize] = arpeggiator::LOUDNESS * tone;
        }
    }
    for (frame, (heard, expected)) in heard.iter().zip(&expected).enumerate() {
        assert_eq!(heard, expected, "frame {frame}");
    }
    assert_eq!(arpeggiator::play(7).unwrap(), heard, "shorter blocks");
    arpeggiator::main().unwrap();
}

#[test]
fn the_echo_comes_on_time_and_halves() {
    let heard = feedback_delay::play().unwrap();
    for (frame, sample) in heard.iter().enumerate().take(5 * feedback_delay::ECHO) {
        let echo = (frame / feedback_delay::ECHO) as i32;
        let expected = if frame % feedback_delay::ECHO == 0 { 0.5_f32.powi(echo) } else { 0.0 };
        assert_eq!(*sample, expected, "frame {frame}");
    }
    feedback_delay::main().unwrap();
}

#[test]
fn the_fold_has_what_the_bus_has() {
    let (bus, fold) = surround::play().unwrap();
    assert_eq!(bus, [0.5, 0.5, 0.25, 0.0625, 0.125, 0.125]);
    let expected = 0.5 + (0.25 + 0.125) * std::f32::consts::FRAC_1_SQRT_2;
    assert_eq!(fold.len(), 2);
    assert!(fold.iter().all(|sample| (sample - expected).abs() < 1e-6), "{fold:?}");
    surround::main().unwrap();
}

#[test]
fn the_backing_waits_for_the_limiter_and_the_recorder_does_not() {
    let microphone: Vec<f32> = (0..3_000_u16).map(|frame| f32::from(frame % 7) / 16.0).collect();
    let take = monitor::play(&microphone).unwrap();
    assert_eq!(take.recorded, microphone);
    let late = take.latencies[0] as usize;
    assert!(late > 0 && take.latencies[1] == 0);
    for (frame, heard) in take.headphones[late..].iter().enumerate() {
        let click = if frame % 1_000 == 0 { 0.25 } else { 0.0 };
        let expected = 0.5 * microphone[frame] + click;
        assert!((heard - expected).abs() < 1e-6, "frame {frame}: {heard} and not {expected}");
    }
    assert!(take.headphones[..late].iter().all(|sample| *sample == 0.0));
    monitor::main().unwrap();
}

#[test]
fn the_recorder_writes_what_it_plays_but_for_the_room_and_replaces_nothing() {
    let folder = format!("recorder-{}", std::process::id());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    std::fs::create_dir_all(&folder).unwrap();
    let rate_hz = hocket_embedder::RATE_HZ;
    let sings = |frame| hocket_embedder::instrument::tone(57, frame % (rate_hz / 4));
    let voice: Vec<f32> = (0..2 * rate_hz).map(sings).collect();
    // FLAC has integers of 24 bits.
    let rounded = |sample: &f32| (sample * 8_388_608.0).round_ties_even() / 8_388_608.0;
    let flac = voice.iter().map(rounded).collect();
    for (name, expected) in [("take.wav", voice), ("take.flac", flac)] {
        let path = folder.join(name);
        let record = || Command::new(env!("CARGO_BIN_EXE_recorder")).arg(&path).output().unwrap();
        let done = record();
        let text = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success(), "{name}: {done:?}");
        assert!(text.contains("96000 frames, 0 of them silent"), "{name}: {text}");
        let audio = hocket_media::decode(&path).unwrap();
        assert!(audio.channels == [expected.clone(), expected], "{name} has other samples");
        let again = record();
        let text = String::from_utf8_lossy(&again.stderr);
        assert!(!again.status.success() && text.contains("exists"), "{name}: {text}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
