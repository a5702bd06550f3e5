//! Lanes and their cursors against a model that asks for every frame whether a value is due.

use hocket_time::{
    BlockTime, Event, EventKind, Glide, Lane, LaneCursor, LaneError, LanePoint, LaneValue,
    LoopRange, MAX_LANE_POINTS, PositionError, Shape, Source, TempoMap, TempoPoint, TimeBase,
    TimedCommand, Transport, TransportCommand,
};
use proptest::prelude::*;

const RATE_HZ: u32 = 8_000;

fn point(at: f64, value: f64, shape: Shape) -> LanePoint {
    LanePoint { at, value, shape }
}

/// A value at a steady frame, and whether it is one of a ramp.
type Heard = (u64, f64, bool);

/// Plays a transport in blocks and returns all values of the lane.
fn play(
    lane: &Lane,
    map: &TempoMap,
    commands: &[TimedCommand],
    cuts: &[u32],
    frames: u64,
) -> Vec<Heard> {
    let (mut transport, mut cursor) = (Transport::new(), LaneCursor::new());
    let mut resting = Resting::default();
    for timed in commands {
        transport.schedule(*timed).unwrap();
    }
    let mut heard = Vec::new();
    for cut in cuts.iter().copied().cycle() {
        let steady_frame = transport.steady_frame();
        let left = frames - steady_frame;
        if left == 0 {
            return heard;
        }
        let segments = transport.next_block(cut.min(left as u32));
        let time = BlockTime { steady_frame, segments: &segments, map };
        let (mut last, begun) = (None, heard.len());
        cursor.run(lane, &time, |it| {
            assert!(it.offset < time.frames() && last.is_none_or(|last| last < it.offset));
            last = Some(it.offset);
            heard.push((steady_frame + u64::from(it.offset), it.value, it.on_ramp));
        });
        assert_eq!(resting.run(lane, &time), heard[begun..]);
    }
    unreachable!("cuts never end")
}

/// Runs a cursor only where something may be due, and without a look at positions where the song plays on.
#[derive(Default)]
struct Resting {
    cursor: LaneCursor,
    /// How far the song has come without it.
    rested: Option<i64>,
}

impl Resting {
    fn run(&mut self, lane: &Lane, time: &BlockTime<'_>) -> Vec<Heard> {
        let mut heard = Vec::new();
        let give = |it: LaneValue| {
            heard.push((time.steady_frame + u64::from(it.offset), it.value, it.on_ramp));
        };
        let segments = time.segments.as_slice();
        let (first, end) = (segments[0], segments[segments.len() - 1].end_position());
        let until = self.cursor.rests_until();
        if let (1, Some(until), Some(position)) = (segments.len(), until, self.rested)
            && (first.playing && !first.jumped && first.position == position)
        {
            self.rested = Some(end);
            if end > until {
                let next = self.cursor.play_on(lane, &time.map, &first, give);
                assert_eq!(Some(next), self.cursor.rests_until());
            }
            return heard;
        }
        self.rested.take().into_iter().for_each(|position| self.cursor.rest(position));
        self.cursor.run(lane, time, give);
        self.rested = self.cursor.rests_until().map(|_| end);
        heard
    }
}

/// A point: frame, value, shape.
type AtFrame = (i64, f64, Shape);

/// What is due, by the definition: the points at their frames, asked frame by frame.
struct Model<'a> {
    map: &'a TempoMap,
    base: TimeBase,
    points: Vec<AtFrame>,
    grid: i64,
}

impl Model<'_> {
    /// The points around a song frame: the last one at or before it, and the one after it.
    fn around(&self, frame: i64) -> (Option<&AtFrame>, Option<&AtFrame>) {
        let before = self.points.iter().rfind(|point| point.0 <= frame);
        (before, self.points.iter().find(|point| point.0 > frame))
    }

    fn value(&self, frame: i64) -> f64 {
        let (Some(from), to) = self.around(frame) else { return self.points[0].1 };
        let Some(to) = to else { return from.1 };
        let place = |frame: i64| match self.base {
            TimeBase::Beats => self.map.beats_at_frame(frame),
            TimeBase::Seconds => frame as f64,
        };
        let part = (place(frame) - place(from.0)) / (place(to.0) - place(from.0));
        let part = match from.2 {
            Shape::Hold => 0.0,
            Shape::Linear | Shape::Curve(0.0) => part,
            Shape::Curve(c) => (f64::from(c) * part).exp_m1() / f64::from(c).exp_m1(),
        };
        from.1 + (to.1 - from.1) * part
    }

    /// Whether a value is due at a frame of a song that plays on, and whether it is one of a ramp.
    fn due(&self, frame: i64) -> Option<bool> {
        let (from, to) = self.around(frame);
        let from = from?;
        if from.0 == frame {
            return Some(false);
        }
        let moves = from.2 != Shape::Hold && to.is_some_and(|to| to.1 != from.1);
        (moves && (frame - from.0) % self.grid == 0).then_some(true)
    }

    fn play(&self, commands: &[TimedCommand], frames: u64) -> Vec<Heard> {
        let mut transport = Transport::new();
        commands.iter().for_each(|timed| transport.schedule(*timed).unwrap());
        let (mut heard, mut was_playing, mut is_first) = (Vec::new(), false, true);
        for steady in 0..frames {
            let segments = transport.next_block(1);
            let now = segments.as_slice()[0];
            let chase = is_first || now.jumped || (now.playing && !was_playing);
            let due = self.due(now.position).filter(|_| now.playing);
            if chase {
                heard.push((steady, self.value(now.position), false));
            } else if let Some(on_ramp) = due {
                heard.push((steady, self.value(now.position), on_ramp));
            }
            (was_playing, is_first) = (now.playing, false);
        }
        heard
    }
}

fn shape() -> impl Strategy<Value = Shape> {
    prop_oneof![
        Just(Shape::Hold),
        Just(Shape::Linear),
        (-20.0f32..20.0).prop_map(Shape::Curve),
        Just(Shape::Curve(0.0)),
    ]
}

fn points() -> impl Strategy<Value = Vec<LanePoint>> {
    let gap = prop_oneof![4 => 0.0..0.2, 1 => Just(0.0), 1 => 0.0..1e-4];
    let value = prop_oneof![3 => -1.0..1.0, 1 => Just(0.5)];
    proptest::collection::vec((gap, value, shape()), 1..12).prop_map(|points| {
        let mut at = -0.05;
        let point = |(gap, value, shape)| {
            at += gap;
            point(at, value, shape)
        };
        points.into_iter().map(point).collect()
    })
}

fn map() -> impl Strategy<Value = TempoMap> {
    let glide = prop_oneof![2 => Just(Glide::Step), 1 => Just(Glide::Linear)];
    let tempo = (0.01..0.3, 60.0..240.0, glide);
    proptest::collection::vec(tempo, 1..4).prop_map(|tempos| {
        let mut beats = -0.01;
        let point = |(gap, bpm, glide)| {
            beats += gap;
            TempoPoint { beats, bpm, glide }
        };
        let points: Vec<_> = tempos.into_iter().map(point).collect();
        TempoMap::new(RATE_HZ, &points, &[]).unwrap()
    })
}

fn commands() -> impl Strategy<Value = Vec<TimedCommand>> {
    let range = LoopRange::from_frames(100, 700).unwrap();
    let command = prop_oneof![
        3 => Just(TransportCommand::Play),
        1 => Just(TransportCommand::Stop),
        2 => (-300..4000i64).prop_map(TransportCommand::Locate),
        1 => Just(TransportCommand::Loop(range)),
    ];
    let timed = (prop_oneof![Just(0), 0..3_000u64], command);
    let timed = timed.prop_map(|(at_steady, command)| TimedCommand { at_steady, command });
    proptest::collection::vec(timed, 1..10)
}

proptest! {
    #[test]
    fn every_cut_gives_the_values_of_the_model(
        map in map(),
        points in points(),
        commands in commands(),
        cuts in proptest::collection::vec(1u32..300, 1..20),
        grid in 1u32..64,
        in_beats in any::<bool>(),
    ) {
        let base = if in_beats { TimeBase::Beats } else { TimeBase::Seconds };
        let lane = Lane::new(&map, base, &points).unwrap().with_grid(grid).unwrap();
        let frame = |at| map.song_frame(base.position(at)).unwrap();
        let at_frames = points.iter().map(|it| (frame(it.at), it.value, it.shape)).collect();
        let model = Model { map: &map, base, points: at_frames, grid: i64::from(grid) };

        let expected = model.play(&commands, 3_000);
        let got = play(&lane, &map, &commands, &cuts, 3_000);
        let places = |list: &[Heard]| list.iter().map(|it| (it.0, it.2)).collect::<Vec<_>>();
        prop_assert_eq!(places(&got), places(&expected));
        for (got, expected) in got.iter().zip(&expected) {
            prop_assert!((got.1 - expected.1).abs() < 1e-9, "{:?} {:?}", got, expected);
        }
        // Bit for bit, whatever the cut.
        let whole = play(&lane, &map, &commands, &[3_000], 3_000);
        let bits = |list: &[Heard]| list.iter().map(|it| it.1.to_bits()).collect::<Vec<_>>();
        prop_assert_eq!(bits(&got), bits(&whole));
    }

    #[test]
    fn values_stay_between_their_points(
        from in -10.0..10.0, to in -10.0..10.0, shape in shape(), frame in 0i64..8_000,
    ) {
        let map = TempoMap::constant(RATE_HZ, 60.0).unwrap();
        let points = [point(0.0, from, shape), point(1.0, to, Shape::Hold)];
        let lane = Lane::new(&map, TimeBase::Beats, &points).unwrap();
        let (low, high) = (f64::min(from, to), f64::max(from, to));
        let [value, next] = [frame, frame + 1].map(|frame| lane.value_at(&map, frame));
        prop_assert!((low..=high).contains(&value));
        // A way goes in one direction.
        prop_assert!((next - value) * (to - from) >= -1e-12);
    }
}

/// The pan of `automation-bitwig-5.3.12.dawproject`: 0.5, 0, 1 at the beats 0, 2, 4, 110 beats per minute.
#[test]
fn linear_points_as_bitwig_exports_them() {
    let map = TempoMap::constant(44_100, 110.0).unwrap();
    let points = [(0.0, 0.5), (2.0, 0.0), (4.0, 1.0)];
    let points = points.map(|(at, value)| point(at, value, Shape::Linear));
    let lane = Lane::new(&map, TimeBase::Beats, &points).unwrap();
    let at = |beats| lane.value_at(&map, map.frame_at_beats(beats));
    for (beats, value) in
        [(-1.0, 0.5), (0.0, 0.5), (1.0, 0.25), (2.0, 0.0), (3.0, 0.5), (4.0, 1.0), (9.0, 1.0)]
    {
        assert!((at(beats) - value).abs() < 1e-4, "{beats}: {}", at(beats));
    }
    assert_eq!((at(2.0), at(4.0)), (0.0, 1.0));
}

#[test]
fn a_lane_in_beats_follows_the_tempo_between_points() {
    // The tempo halves in the middle of the way: half of the beats take two thirds of the time.
    let tempos = [TempoPoint::step(0.0, 120.0), TempoPoint::step(1.0, 60.0)];
    let map = TempoMap::new(RATE_HZ, &tempos, &[]).unwrap();
    let points = [point(0.0, 0.0, Shape::Linear), point(2.0, 1.0, Shape::Hold)];
    let in_beats = Lane::new(&map, TimeBase::Beats, &points).unwrap();
    assert!((in_beats.value_at(&map, 4_000) - 0.5).abs() < 1e-12);
    assert!((in_beats.value_at(&map, 8_000) - 0.75).abs() < 1e-12);
    let in_seconds = Lane::new(&map, TimeBase::Seconds, &points).unwrap();
    assert_eq!(in_seconds.value_at(&map, 4_000), 0.25);
}

#[test]
fn a_curve_has_the_stated_formula() {
    let map = TempoMap::constant(RATE_HZ, 60.0).unwrap();
    for curve in [-20.0f32, -3.0, -1e-6, 1e-6, 2.0, 20.0] {
        let points = [point(0.0, 2.0, Shape::Curve(curve)), point(1.0, 5.0, Shape::Hold)];
        let lane = Lane::new(&map, TimeBase::Seconds, &points).unwrap();
        let c = f64::from(curve);
        for frame in [1, 2_000, 4_000, 7_999] {
            let x = f64::from(frame) / f64::from(RATE_HZ);
            let expected = 2.0 + 3.0 * (c * x).exp_m1() / c.exp_m1();
            let value = lane.value_at(&map, i64::from(frame));
            assert!((value - expected).abs() < 1e-14, "{curve} {frame}: {value} {expected}");
        }
    }
}

#[test]
fn a_jump_is_one_event_and_points_at_one_frame_are_merged() {
    let map = TempoMap::constant(RATE_HZ, 60.0).unwrap();
    let points = [
        point(0.0, 0.0, Shape::Linear),
        point(0.01, 1.0, Shape::Hold),
        point(0.01, 7.0, Shape::Hold),
        point(0.01, 8.0, Shape::Hold),
        point(0.01, 3.0, Shape::Hold),
    ];
    let lane = Lane::new(&map, TimeBase::Seconds, &points).unwrap();
    assert_eq!(lane.dropped(), 2);
    let start = [TimedCommand { at_steady: 0, command: TransportCommand::Play }];
    let heard = play(&lane, &map, &start, &[64], 200);
    assert_eq!(heard, [(0, 0.0, false), (32, 0.4, true), (64, 0.8, true), (80, 3.0, false)]);
}

#[test]
fn a_paused_cursor_is_silent_and_then_chases() {
    let map = TempoMap::constant(RATE_HZ, 60.0).unwrap();
    let points = [point(0.0, 0.0, Shape::Hold), point(0.01, 1.0, Shape::Hold)];
    let lane = Lane::new(&map, TimeBase::Seconds, &points).unwrap();
    let (mut transport, mut cursor) = (Transport::new(), LaneCursor::new());
    transport.apply(TransportCommand::Play);
    let mut next = |cursor: &mut LaneCursor| {
        let segments = transport.next_block(100);
        let time = BlockTime { steady_frame: 0, segments: &segments, map: &map };
        let mut events = Vec::new();
        cursor.run(&lane, &time, |value| events.push(value.event(4)));
        events
    };
    cursor.set_paused(true);
    assert_eq!(next(&mut cursor), []);
    cursor.set_paused(false);
    let chased = Event::new(0, Source::LANE, EventKind::param(4, 1.0));
    assert_eq!(next(&mut cursor), [chased]);
    assert_eq!(next(&mut cursor), []);
    cursor.restart();
    assert_eq!(next(&mut cursor), [chased]);
}

#[test]
fn a_lane_exchanged_without_a_restart_stays_in_the_block() {
    let map = TempoMap::constant(RATE_HZ, 60.0).unwrap();
    let lane = |count: u32, gap: f64, shape| {
        let points = (0..count).map(|n| point(f64::from(n) * gap, f64::from(n % 3), shape));
        Lane::new(&map, TimeBase::Seconds, &points.collect::<Vec<_>>()).unwrap()
    };
    let lanes = [
        lane(1, 1.0, Shape::Hold),
        lane(300, 0.007, Shape::Linear),
        lane(20, 0.1, Shape::Curve(2.0)),
        lane(900, 0.001, Shape::Hold),
    ];
    let (mut transport, mut cursor) = (Transport::new(), LaneCursor::new());
    transport.apply(TransportCommand::Play);
    for n in 0..600 {
        let segments = transport.next_block(37);
        let time = BlockTime { steady_frame: 0, segments: &segments, map: &map };
        let mut last = None;
        cursor.run(&lanes[n * 7 / 3 % 4], &time, |value| {
            assert!(value.offset < 37 && last.is_none_or(|last| last < value.offset));
            last = Some(value.offset);
        });
    }
}

#[test]
fn a_million_points_play() {
    let map = TempoMap::constant(RATE_HZ, 60.0).unwrap();
    let points: Vec<_> = (0..1_000_000)
        .map(|n| point(f64::from(n) / 100.0, f64::from(n % 7), Shape::Linear))
        .collect();
    let lane = Lane::new(&map, TimeBase::Seconds, &points).unwrap();
    let commands = [
        TimedCommand { at_steady: 0, command: TransportCommand::Locate(70_000_000) },
        TimedCommand { at_steady: 0, command: TransportCommand::Play },
    ];
    let heard = play(&lane, &map, &commands, &[256], 800);
    // A point every 80 frames, and two values on the way to the next.
    assert_eq!(heard.len(), 30);
    assert_eq!(heard[0], (0, f64::from(70_000_000 / 80 % 7), false));
}

#[test]
fn broken_lanes_are_refused_with_place_and_remedy() {
    let map = TempoMap::constant(RATE_HZ, 60.0).unwrap();
    let refusal = |points: &[LanePoint]| Lane::new(&map, TimeBase::Beats, points).unwrap_err();
    let good = point(1.0, 0.0, Shape::Linear);
    assert_eq!(refusal(&[]), LaneError::Empty);
    let unsorted = refusal(&[good, point(0.5, 0.0, Shape::Hold)]);
    assert_eq!(unsorted, LaneError::Order { index: 1, at: 0.5, before: 1.0 });
    for at in [f64::NAN, f64::INFINITY] {
        let error = refusal(&[good, point(at, 0.0, Shape::Hold)]);
        assert!(matches!(
            error,
            LaneError::Position { index: 1, why: PositionError::NotFinite(_) }
        ));
    }
    let far = refusal(&[good, point(1e300, 0.0, Shape::Hold)]);
    assert!(matches!(far, LaneError::Position { why: PositionError::TooFar(_), .. }));
    for value in [f64::NAN, f64::NEG_INFINITY, 1e39] {
        assert!(matches!(
            refusal(&[point(0.0, value, Shape::Hold)]),
            LaneError::Value { index: 0, .. }
        ));
    }
    for curve in [f32::NAN, f32::INFINITY, 20.5] {
        let error = refusal(&[good, point(2.0, 0.0, Shape::Curve(curve))]);
        assert!(matches!(error, LaneError::Curve { index: 1, .. }));
        assert!(error.to_string().ends_with("use -20 to 20"), "{error}");
    }
    let many = vec![good; MAX_LANE_POINTS + 1];
    assert_eq!(refusal(&many), LaneError::TooMany(MAX_LANE_POINTS + 1));
    let lane = Lane::new(&map, TimeBase::Beats, &[good]).unwrap();
    assert_eq!(lane.with_grid(0).unwrap_err(), LaneError::Grid);
}
