//! Clips against the formula that the session model states, frame by frame.

use std::sync::Arc;

use hocket_dsp::{Block, Processor, StereoMut};
use hocket_engine::ClipPlayer;
use hocket_engine::time::{BlockTime, Segments, TempoMap};
use hocket_engine::{MediaPool, StereoAudio, session_end_frames};
use hocket_plan::session::{Clip, ClipFade};
use proptest::prelude::*;

use crate::stage::{self, RATE_HZ, whole_file};

fn seconds(frames: u64) -> f64 {
    frames as f64 / f64::from(RATE_HZ)
}

fn frames(seconds: f64) -> u64 {
    (seconds * f64::from(RATE_HZ)).round() as u64
}

/// The first frame after the clip; `None`: it never ends.
fn end_of(clip: &Clip, length: u64) -> Option<u64> {
    let start = frames(clip.start_s);
    let to_play = length.saturating_sub(frames(clip.offset_s));
    let asked = clip.length_s.map(|length| start + frames(length));
    if clip.looped && to_play > 0 {
        return asked;
    }
    Some(asked.map_or(start + to_play, |asked| asked.min(start + to_play)))
}

/// What a clip adds at frame `t`, in double precision.
fn formula(clip: &Clip, row: &[f32], t: u64) -> f64 {
    let end = end_of(clip, row.len() as u64);
    let start = frames(clip.start_s);
    if t < start || end.is_some_and(|end| t >= end) {
        return 0.0;
    }
    let played = t - start;
    let offset = frames(clip.offset_s);
    let source = offset + if clip.looped { played % (row.len() as u64 - offset) } else { played };
    let share = |part: u64, whole: u64| if part < whole { part as f64 / whole as f64 } else { 1.0 };
    let curve = |share: f64| match clip.fade_curve {
        ClipFade::Linear => share,
        ClipFade::EqualPower => (share * std::f64::consts::FRAC_PI_2).sin(),
        ClipFade::SCurve => 0.5 - 0.5 * (share * std::f64::consts::PI).cos(),
        ClipFade::Logarithmic => 10f64.powf(-5.0 * (1.0 - share)),
    };
    let fade_in = curve(share(played, frames(clip.fade_in_s)));
    let fade_out = curve(end.map_or(1.0, |end| share(end - t, frames(clip.fade_out_s))));
    f64::from(row[source as usize])
        * 10f64.powf(f64::from(clip.gain_db) / 20.0)
        * fade_in
        * fade_out
}

/// The rows that a player makes in blocks of `lengths`, over and over, up to `total` frames.
fn play(player: &mut ClipPlayer, lengths: &[usize], total: usize) -> [Vec<f32>; 2] {
    // What was there before is overwritten.
    let mut rows = [vec![9.0; total], vec![9.0; total]];
    let map = TempoMap::constant(RATE_HZ, 120.0).unwrap();
    let mut at = 0;
    for length in lengths.iter().cycle() {
        let to = total.min(at + length);
        let length = to - at;
        if at == to {
            return rows;
        }
        let [left, right] = &mut rows;
        let main = StereoMut { left: &mut left[at..to], right: &mut right[at..to] };
        let segments = Segments::playing(at as i64, length as u32);
        let time = BlockTime { steady_frame: at as u64, segments: &segments, map: &map };
        player.process(&mut Block { time: Some(&time), ..Block::new(main) });
        at = to;
    }
    rows
}

fn check(clips: &[Clip], audio: &StereoAudio, lengths: &[usize], total: usize) {
    let with_audio: Vec<_> =
        clips.iter().map(|clip| (clip.clone(), Arc::new(audio.clone()))).collect();
    let mut player = ClipPlayer::new(&with_audio, RATE_HZ);
    let ends: Option<Vec<u64>> =
        clips.iter().map(|clip| end_of(clip, audio.frames() as u64)).collect();
    assert_eq!(player.end(), ends.map(|ends| ends.into_iter().max().unwrap_or(0)));
    let got = play(&mut player, lengths, total);
    for (row, source) in got.iter().zip([audio.left(), audio.right()]) {
        for (t, sample) in row.iter().enumerate() {
            let expected: f64 = clips.iter().map(|clip| formula(clip, source, t as u64)).sum();
            assert!((f64::from(*sample) - expected).abs() < 1.0e-5, "{t}: {sample} {expected}");
        }
    }
    player.reset();
    assert_eq!(play(&mut player, lengths, total), got, "after a reset it plays the same");
}

#[test]
fn a_clip_that_starts_in_the_midst_of_a_block_starts_at_its_frame() {
    let clip = Clip { start_s: seconds(100), ..whole_file() };
    check(&[clip], &stage::audio(300), &[64], 512);
}

#[test]
fn a_clip_longer_than_its_file_ends_with_the_file() {
    let clip = Clip { length_s: Some(seconds(1000)), fade_out_s: seconds(50), ..whole_file() };
    check(&[clip], &stage::audio(300), &[64], 512);
}

#[test]
fn a_loop_goes_back_to_its_offset_and_ends_where_it_shall() {
    let looped = Clip { looped: true, offset_s: seconds(250), ..whole_file() };
    let ending = Clip { length_s: Some(seconds(333)), fade_out_s: seconds(77), ..looped.clone() };
    check(&[looped], &stage::audio(300), &[64, 3], 700);
    check(&[ending], &stage::audio(300), &[64, 3], 700);
}

#[test]
fn clips_without_a_sound_are_silent() {
    let none = stage::audio(0);
    let past = Clip { offset_s: seconds(300), looped: true, ..whole_file() };
    check(&[], &none, &[64], 130);
    check(&[whole_file(), Clip { looped: true, ..whole_file() }], &none, &[64], 130);
    check(std::slice::from_ref(&past), &stage::audio(300), &[64], 130);
    check(&[Clip { length_s: Some(0.0), ..whole_file() }, past], &stage::audio(300), &[64], 130);
}

#[test]
fn times_beyond_counting_are_held_within() {
    let far = Clip { start_s: 1.0e300, length_s: Some(1.0e300), ..whole_file() };
    let endless = Clip { length_s: Some(f64::MAX), looped: true, ..whole_file() };
    let before = Clip { start_s: -1.0, ..whole_file() };
    for clip in [far, endless, before] {
        let mut player = ClipPlayer::new(&[(clip, Arc::new(stage::audio(300)))], RATE_HZ);
        let rows = play(&mut player, &[64], 128);
        assert!(rows.iter().flatten().all(|sample| sample.abs() <= 1.0));
    }
}

#[test]
fn a_session_ends_with_its_last_clip_unless_one_goes_on_for_ever() {
    let mut session = stage::session();
    assert_eq!(session_end_frames(&session, &stage::media(), RATE_HZ), None);
    for (index, track) in session.tracks.iter_mut().enumerate() {
        track.clips = vec![Clip { start_s: seconds(index as u64 * 10), ..whole_file() }];
    }
    let last = (session.tracks.len() as u64 - 1) * 10 + 3_000;
    assert_eq!(session_end_frames(&session, &stage::media(), RATE_HZ), Some(last));
    assert_eq!(session_end_frames(&session, &MediaPool::default(), RATE_HZ), None);
}

prop_compose! {
    fn any_clip()(
        start in 0u64..600, offset in 0u64..350, length in proptest::option::of(0u64..700),
        looped: bool, gain_db in -24.0f32..6.0, fade_in in 0u64..200, fade_out in 0u64..200,
        fade_curve in proptest::sample::select(ClipFade::ALL.to_vec()),
    ) -> Clip {
        Clip {
            start_s: seconds(start),
            offset_s: seconds(offset),
            length_s: length.map(seconds),
            looped,
            gain_db,
            fade_in_s: seconds(fade_in),
            fade_out_s: seconds(fade_out),
            fade_curve,
            ..whole_file()
        }
    }
}

proptest! {
    #[test]
    fn any_clips_in_any_blocks_are_what_the_formula_says(
        clips in proptest::collection::vec(any_clip(), 1..4),
        file in 0usize..320,
        lengths in proptest::collection::vec(1usize..130, 1..6),
    ) {
        check(&clips, &stage::audio(file), &lengths, 1_500);
    }
}
