//! The tempo map against integrals, counting and its own promises.

use hocket_time::{
    BarPosition, Glide, MAX_FRAME, MAX_POINT_BEATS, MAX_POINTS, MeterPoint, PointKind, Position,
    PositionError, TempoError, TempoMap, TempoPoint, TimeSignature,
};
use proptest::prelude::*;

const RATE_HZ: u32 = 48_000;

fn signature(numerator: u16, denominator: u16) -> TimeSignature {
    TimeSignature { numerator, denominator }
}

fn meter(beats: f64, numerator: u16, denominator: u16) -> MeterPoint {
    MeterPoint { beats, signature: signature(numerator, denominator) }
}

/// Tempo points of any kind: slow, fast, steps, lines, jumps, tiny distances.
fn tempos() -> impl Strategy<Value = Vec<TempoPoint>> {
    let bpm = prop_oneof![4 => 20.0..400.0, 1 => Just(1.0), 1 => Just(10_000.0), 1 => Just(120.0)];
    let gap = prop_oneof![4 => 0.01..64.0, 1 => Just(0.0), 1 => 1e-12..1e-6, 1 => Just(4.0)];
    let glide = prop_oneof![Just(Glide::Step), Just(Glide::Linear)];
    proptest::collection::vec((gap, bpm, glide), 1..12).prop_map(|points| {
        let mut beats = 0.0;
        let point = |(gap, bpm, glide)| {
            beats += gap;
            TempoPoint { beats, bpm, glide }
        };
        points.into_iter().map(point).collect()
    })
}

fn map(tempos: &[TempoPoint]) -> TempoMap {
    TempoMap::new(RATE_HZ, tempos, &[]).unwrap()
}

/// Frames around every point, and some of all sizes.
fn frames_of_interest(map: &TempoMap, tempos: &[TempoPoint]) -> Vec<i64> {
    let near = |frame: i64| (frame - 3..=frame + 3).collect::<Vec<_>>();
    let mut frames: Vec<i64> =
        tempos.iter().flat_map(|point| near(map.frame_at_beats(point.beats))).collect();
    frames.extend([0, 1 << 20, 1 << 30, MAX_FRAME - 4].into_iter().flat_map(near));
    frames.extend([-1_000_000, -MAX_FRAME + 4].into_iter().flat_map(near));
    frames
}

/// Seconds from beat 0 to `beats` by the definition: the integral of 60 / tempo, by the system's logarithm.
fn integral(tempos: &[TempoPoint], beats: f64) -> f64 {
    let mut seconds = tempos[0].beats.min(beats) * 60.0 / tempos[0].bpm;
    for (index, point) in tempos.iter().enumerate() {
        let next = tempos.get(index + 1);
        let length = next.map_or(f64::INFINITY, |next| next.beats - point.beats);
        let inside = (beats - point.beats).min(length);
        if inside <= 0.0 {
            continue;
        }
        let slope = next.map_or(0.0, |next| (next.bpm - point.bpm) / length);
        let is_line = point.glide == Glide::Linear && slope != 0.0 && length >= 1e-9;
        seconds += if is_line {
            60.0 / slope * (slope * inside / point.bpm).ln_1p()
        } else {
            inside * 60.0 / point.bpm
        };
    }
    seconds
}

proptest! {
    #[test]
    fn every_frame_comes_back_and_later_frames_have_later_beats(tempos in tempos()) {
        let map = map(&tempos);
        for frame in frames_of_interest(&map, &tempos) {
            let beats = map.beats_at_frame(frame);
            prop_assert_eq!(map.frame_at_beats(beats), frame);
            prop_assert_eq!(map.frame_at_seconds(map.seconds_at_frame(frame)), frame);
            prop_assert!(beats < map.beats_at_frame(frame + 1), "frame {}", frame);
            prop_assert!(map.seconds_at_frame(frame) < map.seconds_at_frame(frame + 1));
        }
    }

    #[test]
    fn later_beats_never_have_earlier_frames(
        tempos in tempos(),
        mut beats in proptest::collection::vec(-10.0..300.0, 50),
    ) {
        let map = map(&tempos);
        // Neighbours of points and of the middles between frames, where rounding decides.
        let near = tempos.iter().flat_map(|point| [point.beats, point.beats + 1e-9]);
        let middles = near.chain(beats.clone()).map(|beats| {
            let frame = map.frame_at_beats(beats);
            (map.beats_at_frame(frame) + map.beats_at_frame(frame + 1)) / 2.0
        });
        let middles: Vec<f64> = middles.collect();
        beats.extend(middles.iter().flat_map(|b| [b.next_down(), *b, b.next_up()]));
        beats.sort_by(f64::total_cmp);
        for pair in beats.windows(2) {
            prop_assert!(map.frame_at_beats(pair[0]) <= map.frame_at_beats(pair[1]), "{:?}", pair);
        }
    }

    #[test]
    fn times_are_the_integral_of_the_tempo(tempos in tempos(), beats in 0.0..400.0) {
        let map = map(&tempos);
        let expected = integral(&tempos, beats);
        let got = map.seconds_at_beats(beats);
        prop_assert!((got - expected).abs() <= 1e-9 * expected.max(1.0), "{} {}", got, expected);
        prop_assert!((map.beats_at_seconds(got) - beats).abs() <= 1e-9 * beats.max(1.0));
        let frame = (expected * f64::from(RATE_HZ)).round() as i64;
        prop_assert!((map.frame_at_beats(beats) - frame).abs() <= 1);
        // The tempo is the slope of beats over time.
        let bpm = map.bpm_at_beats(beats);
        prop_assert!((1.0..=10_000.0).contains(&bpm));
        let point = tempos.iter().rfind(|point| point.beats <= beats);
        if point.is_some_and(|point| point.glide == Glide::Step) {
            prop_assert_eq!(bpm, point.unwrap().bpm);
        }
    }

    #[test]
    fn steady_stretches_are_in_proportion(tempos in tempos(), from in 0..10_000_000i64, by in 1..500_000i64) {
        let map = map(&tempos);
        if map.is_steady(from, from + by) {
            let [start, middle, end] = [0, by / 2, by].map(|after| map.beats_at_frame(from + after));
            let expected = start + (end - start) * (by / 2) as f64 / by as f64;
            prop_assert!((middle - expected).abs() < 1e-9, "{} {}", middle, expected);
        } else {
            let end = map.beats_at_frame(from + by);
            let start = map.beats_at_frame(from);
            let inside = tempos.iter().any(|point| (start - 1e-6..=end + 1e-6).contains(&point.beats));
            let on_line = tempos.iter().any(|point| point.glide == Glide::Linear);
            prop_assert!(inside || on_line);
        }
    }

    #[test]
    fn bars_count_up_and_come_back(
        lengths in proptest::collection::vec((1u16..=13, 0u32..=6, 0.0..40.0), 0..6),
        beats in -20.0..250.0,
        tick in 0u16..3840,
    ) {
        let mut at = 0.0;
        let meters: Vec<MeterPoint> = lengths.iter().map(|(numerator, power, gap)| {
            at += gap + 0.125;
            meter(at, *numerator, 1 << power)
        }).collect();
        let map = TempoMap::new(RATE_HZ, &[TempoPoint::step(0.0, 97.0)], &meters).unwrap();
        let (start, bar, signature) = counted(&meters, beats);
        let place = map.bar_at_beats(beats);
        prop_assert_eq!(map.signature_at_beats(beats), signature);
        prop_assert_eq!(place.bar, bar);
        prop_assert!(map.beats_at_bar(place) <= beats && beats < map.beats_at_bar(place) + 1.01 / 960.0);
        let first = BarPosition { bar, beat: 0, tick: 0 };
        prop_assert!((map.beats_at_bar(first) - start).abs() < 1e-9);
        let before = map.bar_at_beats(map.beats_at_bar(first).next_down());
        prop_assert_eq!(before.bar, bar - 1);
        prop_assert_eq!(map.bar_at_beats(map.beats_at_bar(place)), place);
        // Every tick of the bar comes back, unless the bar ends before it.
        let per_beat = 3840 / signature.denominator;
        let other = BarPosition { bar, beat: tick / per_beat % signature.numerator, tick: tick % per_beat };
        let other_beats = map.beats_at_bar(other);
        let cut = meters.iter().any(|meter| meter.beats > start && meter.beats <= other_beats);
        prop_assert!(cut || map.bar_at_beats(other_beats) == other, "{}", other);
        prop_assert!(map.bar_at_beats(beats - 0.01) <= place);
        // A tick begins at the frame nearest to it.
        let frame = map.frame_at_beats(map.beats_at_bar(place));
        prop_assert_eq!(map.bar_at_frame(frame), place);
        prop_assert!(map.bar_at_frame(frame - 1) < place);
        prop_assert_eq!(map.signature_at_frame(frame), signature);
    }
}

/// Counts bars one by one: the start and the number of the bar at `beats`, and its signature.
fn counted(meters: &[MeterPoint], beats: f64) -> (f64, i64, TimeSignature) {
    let (mut start, mut bar, mut holds) = (0.0, 0, TimeSignature::COMMON);
    while beats < start {
        start -= holds.bar_beats();
        bar -= 1;
    }
    loop {
        holds = meters
            .iter()
            .rfind(|meter| meter.beats <= start.max(0.0))
            .map_or(holds, |it| it.signature);
        let cut =
            meters.iter().find(|meter| meter.beats > start).map_or(f64::INFINITY, |it| it.beats);
        let end = (start + holds.bar_beats()).min(cut);
        if beats < end {
            return (start, bar, holds);
        }
        (start, bar) = (end, bar + 1);
    }
}

/// The first beat of a frame: bisects between the beats of two frames.
fn first_beat_of(map: &TempoMap, frame: i64) -> f64 {
    let (mut low, mut high) = (map.beats_at_frame(frame - 1), map.beats_at_frame(frame));
    while low.next_up() < high {
        let middle = low + (high - low) / 2.0;
        if map.frame_at_beats(middle) < frame { low = middle } else { high = middle }
    }
    high
}

#[test]
fn on_lines_the_last_bits_of_a_beat_never_lead_back() {
    let line = [TempoPoint::linear(0.0, 61.0), TempoPoint::step(1000.0, 187.0)];
    let map = map(&line);
    for frame in (1..20_000_000).step_by(9_973) {
        let edge = first_beat_of(&map, frame);
        let (mut beats, mut last) = (edge - 40.0 * (edge.next_up() - edge), frame - 1);
        for _ in 0..80 {
            let here = map.frame_at_beats(beats);
            assert!(here >= last && (here == frame) == (beats >= edge), "{frame} {beats}");
            (beats, last) = (beats.next_up(), here);
        }
    }
}

#[test]
fn known_places() {
    let map = TempoMap::constant(RATE_HZ, 120.0).unwrap();
    assert_eq!(map.frame_at_beats(1.0), 24_000);
    assert_eq!(map.beats_at_frame(-24_000), -1.0);
    assert_eq!(map.seconds_at_beats(3.0), 1.5);
    assert_eq!(map.bar_at_beats(-0.5).to_string(), "-1.4.480");
    assert_eq!(map.bar_at_beats(9.25).to_string(), "3.2.240");

    // From 120 to 60 in four beats: 4 ln 2 seconds.
    let line = [TempoPoint::linear(0.0, 120.0), TempoPoint::step(4.0, 60.0)];
    let map = TempoMap::new(RATE_HZ, &line, &[meter(0.0, 6, 8), meter(4.0, 3, 4)]).unwrap();
    assert!((map.seconds_at_beats(4.0) - 4.0 * std::f64::consts::LN_2).abs() < 1e-14);
    assert_eq!((map.bpm_at_beats(2.0), map.bpm_at_beats(9.0)), (90.0, 60.0));
    // The second bar of 6/8 ends early.
    assert_eq!(map.bar_at_beats(3.5).to_string(), "2.2.000");
    assert_eq!(map.bar_at_beats(4.0).to_string(), "3.1.000");
    assert_eq!(map.bar_at_frame(map.frame_at_beats(8.0)).to_string(), "4.2.000");
    // Before the start the first tempo holds, also where it begins with a line.
    assert_eq!(map.seconds_at_beats(-2.0), -1.0);
    assert_eq!(map.bpm_at_beats(-2.0), 120.0);
}

#[test]
fn a_jump_behind_a_line_ends_the_line_at_its_first_tempo() {
    let points =
        [TempoPoint::linear(0.0, 100.0), TempoPoint::step(8.0, 200.0), TempoPoint::step(8.0, 50.0)];
    let map = map(&points);
    assert_eq!(map.bpm_at_beats(4.0), 150.0);
    assert!((map.bpm_at_beats(8.0f64.next_down()) - 200.0).abs() < 1e-9);
    assert_eq!(map.bpm_at_beats(8.0), 50.0);
    let frame = map.frame_at_beats(8.0);
    assert_eq!(map.bpm_at_frame(frame), 50.0);
    assert!((map.bpm_at_frame(frame - 1) - 200.0).abs() < 0.01);
}

#[test]
fn a_tick_between_two_frames_begins_at_the_later_one() {
    // 12.5 frames per tick.
    let map = TempoMap::constant(RATE_HZ, 240.0).unwrap();
    assert_eq!(map.frame_at_beats(1.0 / 960.0), 13);
    assert_eq!([12, 13].map(|frame| map.bar_at_frame(frame).tick), [0, 1]);
}

#[test]
fn a_tempo_later_than_the_start_holds_before_it() {
    let map = map(&[TempoPoint::step(16.0, 60.0), TempoPoint::step(32.0, 30.0)]);
    assert_eq!(map.seconds_at_beats(16.0), 16.0);
    assert_eq!(map.seconds_at_beats(33.0), 34.0);
}

#[test]
fn a_million_points_lose_no_frame() {
    // 1e6 steps of 0.01 beats, in turn 99 and 101 beats per minute.
    let bpm = |n: usize| if n.is_multiple_of(2) { 99.0 } else { 101.0 };
    let points: Vec<_> =
        (0..1_000_000).map(|n| TempoPoint::step(n as f64 / 100.0, bpm(n))).collect();
    let map = map(&points);
    let pair = 0.01 * 60.0 / 99.0 + 0.01 * 60.0 / 101.0;
    let expected = 499_999.0 * pair;
    assert!((map.seconds_at_beats(9_999.98) - expected).abs() < 1e-8);
    for frame in (0..48_000 * 6_000).step_by(1_000_003) {
        assert_eq!(map.frame_at_beats(map.beats_at_frame(frame)), frame);
    }
}

#[test]
fn lookups_take_any_number() {
    let map = map(&[TempoPoint::linear(1.0, 100.0), TempoPoint::step(2.0, 120.0)]);
    let numbers = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN, 1e-320, -0.0];
    for number in numbers {
        for frame in [map.frame_at_beats(number), map.frame_at_seconds(number)] {
            assert!((-MAX_FRAME..=MAX_FRAME).contains(&frame), "{number}");
        }
        let _ = (map.bar_at_beats(number), map.bpm_at_beats(number), map.beats_at_seconds(number));
    }
    assert_eq!(map.frame_at_beats(f64::NAN), 0);
    assert_eq!(map.frame_at_beats(f64::INFINITY), MAX_FRAME);
    assert_eq!(map.frame_at_seconds(f64::MIN), -MAX_FRAME);
    for frame in [i64::MAX, i64::MIN] {
        let _ = (map.beats_at_frame(frame), map.bar_at_frame(frame), map.bpm_at_frame(frame));
    }
    for bar in [i64::MAX, i64::MIN] {
        let _ = map.beats_at_bar(BarPosition { bar, beat: u16::MAX, tick: u16::MAX });
    }
}

#[test]
fn positions_are_checked() {
    let map = TempoMap::constant(RATE_HZ, 120.0).unwrap();
    assert_eq!(map.song_frame(Position::Beats(-1.0)), Ok(-24_000));
    assert_eq!(map.song_frame(Position::Seconds(0.5)), Ok(24_000));
    for bad in [Position::Beats(f64::NAN), Position::Seconds(f64::INFINITY)] {
        let error = map.song_frame(bad).unwrap_err();
        assert!(error.to_string().contains("no finite number"), "{error}");
    }
    for far in [Position::Frame(i64::MIN), Position::Seconds(1e12), Position::Beats(-1e300)] {
        assert_eq!(map.song_frame(far), Err(PositionError::TooFar(far)));
    }
}

#[test]
fn broken_maps_are_refused_with_place_and_remedy() {
    let refusal = |tempos: &[TempoPoint], meters: &[MeterPoint]| {
        TempoMap::new(RATE_HZ, tempos, meters).unwrap_err()
    };
    for bpm in [0.0, -120.0, f64::NAN, f64::INFINITY, 0.5, 1e9] {
        let error = refusal(&[TempoPoint::step(0.0, 100.0), TempoPoint::step(1.0, bpm)], &[]);
        assert!(matches!(error, TempoError::Tempo { index: 1, .. }), "{bpm}");
        assert!(error.to_string().ends_with("use 1 to 10000"), "{error}");
    }
    for beats in [-1.0, f64::NAN, f64::INFINITY, 2.0 * MAX_POINT_BEATS] {
        let error = refusal(&[TempoPoint::step(beats, 100.0)], &[]);
        assert!(matches!(error, TempoError::Beats { kind: PointKind::Tempo, index: 0, .. }));
        let error = refusal(&[TempoPoint::step(0.0, 100.0)], &[meter(beats, 4, 4)]);
        assert!(matches!(error, TempoError::Beats { kind: PointKind::TimeSignature, .. }));
    }
    let unsorted = [TempoPoint::step(4.0, 100.0), TempoPoint::step(3.0, 100.0)];
    assert!(matches!(refusal(&unsorted, &[]), TempoError::Order { index: 1, before: 4.0, .. }));
    let good = [TempoPoint::step(0.0, 100.0)];
    for (numerator, denominator) in [(0, 4), (4, 0), (4, 3), (256, 4), (4, 128)] {
        let error = refusal(&good, &[meter(0.0, numerator, denominator)]);
        assert!(matches!(error, TempoError::Signature { .. }), "{numerator}/{denominator}");
    }
    let twice = refusal(&good, &[meter(4.0, 4, 4), meter(4.0, 3, 4)]);
    assert!(matches!(twice, TempoError::Order { kind: PointKind::TimeSignature, .. }));
    assert_eq!(refusal(&[], &[]), TempoError::Empty);
    assert_eq!(TempoMap::constant(0, 120.0).unwrap_err(), TempoError::Rate(0));
    let many = vec![TempoPoint::step(0.0, 100.0); MAX_POINTS + 1];
    assert!(matches!(refusal(&many, &[]), TempoError::TooMany { .. }));
    let late = [TempoPoint::step(0.0, 1.0), TempoPoint::step(1e6, 100.0)];
    assert_eq!(refusal(&late, &[]), TempoError::TooLate { index: 1, beats: 1e6 });
    for bad in [TempoPoint::from_midi(960, 0, 500_000), TempoPoint::from_midi(0, 96, 0)] {
        assert!(TempoMap::new(RATE_HZ, &[bad], &[]).is_err());
    }
}
