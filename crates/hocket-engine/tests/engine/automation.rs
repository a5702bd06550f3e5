//! Automation lanes: exact at every frame under every schedule, beside live edits, exchanged while they play.

use hocket_engine::time::{
    Lane, LanePoint, LoopRange, MAX_LANE_POINTS, Shape, TempoMap, TempoPoint, TimeBase,
    TimedCommand, Transport, TransportCommand as Command,
};
use hocket_engine::{
    Block, Change, ControlError, Edge, Edit, EditError, Editor, EffectAt, Engine, Graph,
    GraphEditor, LaneChange, LaneSpec, LaneTarget, Node, NodeId, NodeKind, NodeSource, Processor,
    ThinnedOut, prepare_session,
};
use hocket_plan::session::{Automation, StripId};
use hocket_plan::{Fusing, ScheduleKind, Session};
use proptest::prelude::*;

use crate::stage::{self, FRAMES, RATE_HZ, policy};

/// Writes its first two parameters into the rows, frame by frame.
struct Probe([f32; 2]);

impl Processor for Probe {
    fn process(&mut self, block: &mut Block<'_>) {
        assert!(block.time.is_none(), "it does not ask for it");
        assert!(block.events.iter().all(|event| (event.frame as usize) < block.frames()));
        let mut events = block.events.iter().peekable();
        for frame in 0..block.frames() {
            while let Some(event) = events.next_if(|event| event.frame as usize == frame) {
                let Change::Param { index, value } = event.change;
                if let Some(param) = self.0.get_mut(usize::from(index)) {
                    *param = value;
                }
            }
            (block.main.left[frame], block.main.right[frame]) = (self.0[0], self.0[1]);
        }
        assert!(events.next().is_none(), "sorted by frame");
    }

    fn reset(&mut self) {}
}

/// Passes on what it gets, and says that it is late.
struct Pass;

impl Processor for Pass {
    fn process(&mut self, block: &mut Block<'_>) {
        assert!(block.events.is_empty());
    }

    fn reset(&mut self) {}
}

const PROBE: NodeId = NodeId(1);

/// A node with a latency, and a probe behind it.
fn probe(late: u32, kind: ScheduleKind) -> (Engine, GraphEditor) {
    let (graph, processors) = probe_graph(late);
    let workers = if kind == ScheduleKind::Serial { 1 } else { 2 };
    let policy = policy(kind);
    let (settings, seating) = (stage::settings(policy), stage::seating(policy.sibling, workers));
    GraphEditor::start(&graph, processors, settings, seating).unwrap()
}

fn probe_graph(late: u32) -> (Graph, Vec<Option<Box<dyn Processor>>>) {
    let mut graph = Graph::default();
    let node = |name, inputs| Node { inputs, ..Node::new(name, NodeKind::Custom(0)) };
    let slow = Node { latency_frames: late, ..node("slow", vec![]) };
    let slow = graph.add(slow).unwrap();
    graph.add(node("probe", vec![Edge::new(slow, 1.0)])).unwrap();
    (graph, vec![Some(Box::new(Pass)), Some(Box::new(Probe([-1.0, -2.0])))])
}

fn lane(param: u16, lane: LaneSpec) -> LaneChange {
    LaneChange { node: PROBE, param, lane: Some(lane) }
}

fn remove(param: u16) -> LaneChange {
    LaneChange { node: PROBE, param, lane: None }
}

/// Values that hold, at frames.
fn steps(points: &[(i64, f64)]) -> LaneSpec {
    let point = |(frame, value): &(i64, f64)| LanePoint {
        at: *frame as f64 / f64::from(RATE_HZ),
        value: *value,
        shape: Shape::Hold,
    };
    LaneSpec::new(TimeBase::Seconds, points.iter().map(point).collect::<Vec<_>>())
}

/// Both rows of blocks of these lengths.
fn heard(engine: &mut Engine, lengths: impl IntoIterator<Item = usize>) -> Vec<[f32; 2]> {
    let mut heard = Vec::new();
    for length in lengths {
        engine.process(length);
        let rows = engine.output(length);
        heard.extend(rows.left.iter().zip(rows.right).map(|(left, right)| [*left, *right]));
    }
    heard
}

fn locate(engine: &Engine, frame: i64) {
    let command = Command::Locate(frame);
    engine.control().transport(TimedCommand { at_steady: 0, command }).unwrap();
}

/// Lengths of blocks that give `frames` frames together.
fn cut(lengths: &[usize], mut frames: usize) -> Vec<usize> {
    let mut cut = Vec::new();
    for length in lengths.iter().cycle() {
        let length = (*length).min(frames);
        if length == 0 {
            break;
        }
        frames -= length;
        cut.push(length);
    }
    cut
}

fn any_shape() -> impl Strategy<Value = Shape> {
    prop_oneof![Just(Shape::Hold), Just(Shape::Linear), (-8.0f32..8.0).prop_map(Shape::Curve)]
}

/// Between frames -500 and 4,500, with several at one frame now and then, and a value at every frame.
fn any_lane() -> impl Strategy<Value = LaneSpec> {
    let point = (-500i32..4_500, -1.0f64..1.0, any_shape());
    let points = proptest::collection::vec(point, 1..30);
    (points, any::<bool>()).prop_map(|(mut points, in_beats)| {
        points.sort_by_key(|point| point.0);
        let base = if in_beats { TimeBase::Beats } else { TimeBase::Seconds };
        // 120 quarter notes per minute.
        let rate = f64::from(RATE_HZ) / if in_beats { 2.0 } else { 1.0 };
        let point = |(frame, value, shape)| LanePoint { at: f64::from(frame) / rate, value, shape };
        let points: Vec<LanePoint> = points.into_iter().map(point).collect();
        LaneSpec { grid_frames: 1, ..LaneSpec::new(base, points) }
    })
}

fn any_command() -> impl Strategy<Value = Command> {
    prop_oneof![
        Just(Command::Play),
        Just(Command::Stop),
        Just(Command::Play),
        (-300i64..3_000).prop_map(Command::Locate),
        (0i64..1_500, 256i64..600).prop_map(|(start, length)| {
            Command::Loop(LoopRange::from_frames(start, start + length).unwrap())
        }),
        Just(Command::LoopOff),
    ]
}

/// Where the song is at each frame, and whether it plays: what reaches a node `late` frames later.
fn positions(commands: &[TimedCommand], frames: usize, late: usize) -> Vec<(i64, bool)> {
    let mut transport = Transport::new();
    transport.apply(Command::Play);
    let position = |frame: usize| {
        let due = commands.iter().filter(|command| command.at_steady == frame as u64);
        due.for_each(|command| transport.apply(command.command));
        let block = transport.next_block(1);
        (block.as_slice()[0].position, block.as_slice()[0].playing)
    };
    let there: Vec<_> = (0..frames).map(position).collect();
    (0..frames).map(|at| at.checked_sub(late).map_or((there[0].0, false), |at| there[at])).collect()
}

/// A lane with a value at every frame: the value where the song is. Where it stops, the last one stays.
fn expected(spec: &LaneSpec, map: &TempoMap, positions: &[(i64, bool)]) -> Vec<f32> {
    let lane = Lane::new(map, spec.base, &spec.points).unwrap();
    let (mut led_to, mut value) = (None, f32::NAN);
    let mut at = |(position, playing): (i64, bool)| {
        if playing || led_to != Some(position) {
            value = lane.value_at(map, position) as f32;
        }
        led_to = Some(position + i64::from(playing));
        value
    };
    positions.iter().map(|position| at(*position)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn every_frame_has_the_value_of_where_the_song_is(
        lanes in [any_lane(), any_lane()],
        commands in proptest::collection::vec((0u64..2_000, any_command()), 0..10),
        lengths in proptest::collection::vec(1usize..=FRAMES, 1..5),
        kind in proptest::sample::select(ScheduleKind::ALL.to_vec()),
        late in prop_oneof![Just(0u32), 1u32..500],
    ) {
        let _alone = stage::alone();
        let mut commands: Vec<TimedCommand> = commands.into_iter()
            .map(|(at_steady, command)| TimedCommand { at_steady, command }).collect();
        commands.sort_by_key(|command| command.at_steady);
        let (mut engine, mut editor) = probe(late, kind);
        let changes = lanes.iter().zip(0..).map(|(spec, param)| lane(param, spec.clone()));
        editor.automate(changes).unwrap();
        for command in &commands {
            prop_assert!(engine.command(*command).is_ok());
        }
        let heard = heard(&mut engine, cut(&lengths, 2_000));
        let positions = positions(&commands, heard.len(), late as usize);
        let map = TempoMap::constant(RATE_HZ, 120.0).unwrap();
        for (side, spec) in lanes.iter().enumerate() {
            let expected = expected(spec, &map, &positions);
            for (frame, value) in expected.into_iter().enumerate() {
                let heard = heard[frame][side];
                prop_assert_eq!(heard.to_bits(), value.to_bits(), "frame {}, lane {}", frame, side);
            }
        }
        prop_assert_eq!(editor.control().thinned_out(), []);
    }
}

#[test]
fn an_edit_wins_at_its_frame_and_the_next_value_of_the_lane_wins_over_the_edit() {
    let _alone = stage::alone();
    let (mut engine, mut editor) = probe(0, ScheduleKind::Dataflow);
    // A point at the edit's frame, and one in the middle of a block.
    let points = [(0, 1.0), (FRAMES as i64, 2.0), (2 * FRAMES as i64 + 10, 3.0)];
    editor.automate([lane(0, steps(&points)), lane(1, steps(&[(0, 0.5)]))]).unwrap();
    assert_eq!(heard(&mut engine, [FRAMES]), [[1.0, 0.5]; FRAMES]);
    let change = |index, value| Change::Param { index, value };
    editor.change(PROBE, change(0, 7.0)).unwrap();
    editor.change(PROBE, change(0, 8.0)).unwrap();
    editor.change(PROBE, change(1, 9.0)).unwrap();
    assert_eq!(heard(&mut engine, [FRAMES]), [[8.0, 9.0]; FRAMES], "the last edit wins");
    let third = heard(&mut engine, [FRAMES]);
    assert_eq!((&third[..10], &third[10..]), (&[[8.0, 9.0]; 10][..], &[[3.0, 9.0]; 54][..]));
    locate(&engine, 5);
    assert_eq!(heard(&mut engine, [1]), [[1.0, 0.5]], "a locate chases");
}

#[test]
fn a_lane_is_exchanged_between_two_blocks_and_the_others_of_the_node_go_on() {
    let _alone = stage::alone();
    let (mut engine, mut editor) = probe(0, ScheduleKind::Critical);
    editor.automate([lane(0, steps(&[(0, 1.0)])), lane(1, steps(&[(0, 2.0)]))]).unwrap();
    assert_eq!(heard(&mut engine, [FRAMES])[0], [1.0, 2.0]);
    // The edit would be gone if the other lane began again.
    editor.change(PROBE, Change::Param { index: 1, value: 5.0 }).unwrap();
    editor.automate([lane(0, steps(&[(0, 3.0), (100, 4.0)]))]).unwrap();
    let both = heard(&mut engine, [FRAMES]);
    assert_eq!((both[0], both[35], both[36]), ([3.0, 5.0], [3.0, 5.0], [4.0, 5.0]));
    editor.automate([remove(0), remove(0)]).unwrap();
    assert_eq!(heard(&mut engine, [FRAMES])[0], [4.0, 5.0], "a parameter without lane stays");
    editor.automate([remove(1)]).unwrap();
    locate(&engine, 0);
    assert_eq!(heard(&mut engine, [FRAMES])[0], [4.0, 5.0], "nobody chases");
    let frames: Vec<u64> = editor.take_applied().iter().map(|applied| applied.frame).collect();
    assert_eq!(frames, [0, 1, 1, 2, 3].map(|block| block * FRAMES as u64));
}

#[test]
fn lanes_go_on_over_new_plans_and_follow_a_latency_that_changed() {
    let _alone = stage::alone();
    let (mut engine, mut editor) = probe(0, ScheduleKind::Dataflow);
    let points: Vec<(i64, f64)> = (0..1_000).map(|frame| (frame, frame as f64)).collect();
    editor.automate([lane(0, steps(&points))]).unwrap();
    let (graph, _) = probe_graph(100);
    let first = heard(&mut engine, [FRAMES, FRAMES]);
    assert!(first.iter().enumerate().all(|(frame, heard)| heard[0] == frame as f32));
    let kept = (0..2).map(|node| NodeSource::Kept(NodeId(node))).collect();
    editor.replace_at_once(&graph, kept).unwrap();
    let second = heard(&mut engine, [FRAMES, FRAMES]);
    assert!(second.iter().enumerate().all(|(frame, heard)| heard[0] == 28.0 + frame as f32));
}

#[test]
fn a_node_has_its_new_number_while_an_edit_fades() {
    let _alone = stage::alone();
    let (mut engine, mut editor) = probe(0, ScheduleKind::Dataflow);
    let mut graph = Graph::default();
    let alone = graph.add(Node::new("probe", NodeKind::Custom(0))).unwrap();
    editor.replace(&graph, vec![NodeSource::Kept(PROBE)]).unwrap();
    heard(&mut engine, [FRAMES]);
    let spec = steps(&[(0, 3.0)]);
    editor.automate([LaneChange { node: alone, ..lane(0, spec.clone()) }]).unwrap();
    assert_eq!(heard(&mut engine, [FRAMES]), [[3.0, -2.0]; FRAMES]);
    assert_eq!(editor.automate([lane(0, spec)]), Err(EditError::NoNode(PROBE)));
    assert_eq!(engine.contained(), []);
}

#[test]
fn an_engine_that_is_reset_plays_its_lanes_from_the_start() {
    let _alone = stage::alone();
    let (mut engine, mut editor) = probe(70, ScheduleKind::Dataflow);
    let points: Vec<(i64, f64)> = (0..500).map(|frame| (frame, frame as f64)).collect();
    editor.automate([lane(0, steps(&points)), lane(1, steps(&[(0, 0.25)]))]).unwrap();
    let first = heard(&mut engine, [FRAMES; 5]);
    engine.reset();
    assert_eq!(heard(&mut engine, [FRAMES; 5]), first);
}

#[test]
fn lanes_in_beats_follow_the_tempo_and_those_in_seconds_do_not() {
    let _alone = stage::alone();
    let (mut engine, mut editor) = probe(0, ScheduleKind::Serial);
    let point = |at| LanePoint { at, value: 1.0, shape: Shape::Hold };
    let zero = LanePoint { at: 0.0, value: 0.0, shape: Shape::Hold };
    let spec = |base, at| LaneSpec::new(base, vec![zero, point(at)]);
    let in_beats = spec(TimeBase::Beats, 0.01);
    editor.automate([lane(0, in_beats), lane(1, spec(TimeBase::Seconds, 0.005))]).unwrap();
    let begin = |heard: &[[f32; 2]]| {
        [0, 1].map(|side| heard.iter().position(|heard| heard[side] == 1.0).unwrap())
    };
    assert_eq!(begin(&heard(&mut engine, [FRAMES; 10])), [240, 240]);
    editor.control().set_tempo_map(TempoMap::constant(RATE_HZ, 60.0).unwrap()).unwrap();
    locate(&engine, 0);
    assert_eq!(begin(&heard(&mut engine, [FRAMES; 10])), [480, 240]);
    // A lane that comes later is made with these tempos.
    editor.automate([lane(1, spec(TimeBase::Beats, 0.01))]).unwrap();
    locate(&engine, 0);
    assert_eq!(begin(&heard(&mut engine, [FRAMES; 10])), [480, 480]);
}

#[test]
fn a_tempo_map_in_which_a_lane_does_not_fit_is_refused_and_nothing_changes() {
    let _alone = stage::alone();
    let (mut engine, mut editor) = probe(0, ScheduleKind::Serial);
    let far = LanePoint { at: 4.0e7, value: 1.0, shape: Shape::Linear };
    let near = LanePoint { at: 0.0, value: 0.5, shape: Shape::Hold };
    let spec = LaneSpec::new(TimeBase::Beats, vec![near, far]);
    editor.automate([lane(0, spec)]).unwrap();
    let slow = TempoMap::new(RATE_HZ, &[TempoPoint::step(0.0, 60.0)], &[]).unwrap();
    let refused = editor.control().set_tempo_map(slow).unwrap_err();
    let text = refused.to_string();
    assert!(matches!(refused, ControlError::Lane { param: 0, .. }), "{refused:?}");
    assert!(text.contains("'probe'") && text.contains("automation point 1"), "{text}");
    assert_eq!(heard(&mut engine, [FRAMES])[0][0], 0.5);
}

#[test]
fn a_million_points_are_played_and_more_than_two_are_refused() {
    let _alone = stage::alone();
    let (mut engine, mut editor) = probe(0, ScheduleKind::Dataflow);
    let value = |frame: i64| ((frame * 7) % 1_001) as f64;
    let points: Vec<(i64, f64)> = (0..1_000_000).map(|frame| (frame, value(frame))).collect();
    editor.automate([lane(0, steps(&points))]).unwrap();
    for start in [0, 999_900, 500_000] {
        locate(&engine, start);
        for (frame, heard) in (start..).zip(heard(&mut engine, [FRAMES, FRAMES])) {
            assert_eq!(f64::from(heard[0]), value(frame.min(999_999)), "frame {frame}");
        }
    }
    assert_eq!(editor.control().thinned_out(), []);
    let many: Vec<(i64, f64)> = (0..=MAX_LANE_POINTS as i64).map(|frame| (frame, 0.0)).collect();
    let refused = editor.automate([lane(0, steps(&many))]).unwrap_err().to_string();
    assert!(refused.contains("2097153 points") && refused.contains("thin them out"), "{refused}");
}

#[test]
fn lanes_that_cannot_be_are_refused_before_they_play() {
    let _alone = stage::alone();
    let (mut engine, mut editor) = probe(0, ScheduleKind::Dataflow);
    let mut refused = |change: LaneChange, words: &[&str]| {
        let fine = lane(1, steps(&[(0, 9.0)]));
        let error = editor.automate([fine, change]).unwrap_err();
        let text = error.to_string();
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
        error
    };
    let nan = refused(lane(0, steps(&[(0, 1.0), (5, f64::NAN)])), &["'probe'", "point 1", "NaN"]);
    assert!(matches!(nan, EditError::Control(ControlError::Lane { param: 0, .. })), "{nan:?}");
    refused(lane(0, steps(&[(5, 1.0), (0, 1.0)])), &["point 1", "before its predecessor"]);
    refused(lane(0, steps(&[(0, f64::NEG_INFINITY)])), &["point 0", "finite"]);
    refused(lane(3, steps(&[])), &["parameter 3", "no points"]);
    refused(lane(0, LaneSpec { grid_frames: 0, ..steps(&[(0, 1.0)]) }), &["grid"]);
    let nobody = LaneChange { node: NodeId(7), ..lane(0, steps(&[(0, 1.0)])) };
    assert_eq!(refused(nobody, &["7"]), EditError::NoNode(NodeId(7)));
    assert_eq!(heard(&mut engine, [FRAMES])[0], [-1.0, -2.0], "nothing has changed");
    assert!(editor.take_applied().is_empty());
}

#[test]
fn values_without_room_are_thinned_out_on_ramps_and_counted() {
    let _alone = stage::alone();
    let (mut engine, mut editor) = probe(0, ScheduleKind::Dataflow);
    let ramp = |to| {
        let point = |at, value| LanePoint { at, value, shape: Shape::Linear };
        let points = vec![point(0.0, 0.0), point(1.0, to)];
        LaneSpec { grid_frames: 1, ..LaneSpec::new(TimeBase::Seconds, points) }
    };
    // One value per lane and frame: up to 64 lanes find room.
    editor.automate((0..64).map(|param| lane(param, ramp(1.0)))).unwrap();
    heard(&mut engine, [FRAMES]);
    assert_eq!(editor.control().thinned_out(), []);
    editor.automate((64..200).map(|param| lane(param, ramp(1.0)))).unwrap();
    let position = FRAMES as f64;
    let second = heard(&mut engine, [FRAMES]);
    let at = |frame: f64| ((position + frame) / f64::from(RATE_HZ)) as f32;
    assert_eq!((second[0][0], second[FRAMES - 1][0]), (at(0.0), at(63.0)), "first and last stay");
    let thinned = editor.control().thinned_out();
    let [ThinnedOut { node, values }] = thinned.as_slice() else { panic!("{thinned:?}") };
    // What is left fits.
    assert!(node == "probe" && *values >= 200 * 64 - 4096, "{thinned:?}");
    engine.reset();
    assert_eq!(editor.control().thinned_out(), []);
}

/// The effect of the track that has this kind.
fn effect(kind: &str) -> EffectAt {
    let track = hocket_dsp::kinds().iter().position(|known| known.name == kind).unwrap();
    EffectAt { strip: StripId::Track(track), index: 0 }
}

/// A line over the first quarter of a second.
fn line(from: f64, to: f64) -> LaneSpec {
    let point = |at, value| LanePoint { at, value, shape: Shape::Linear };
    LaneSpec::new(TimeBase::Beats, vec![point(0.0, from), point(0.5, to)])
}

fn editor(kind: ScheduleKind, workers: usize) -> (Engine, Editor) {
    let policy = policy(kind);
    let seating = stage::seating(policy.sibling, workers);
    Editor::start(stage::session(), stage::media(), stage::settings(policy), seating).unwrap()
}

/// Lanes of every kind of target, live edits beside them, and a loop.
fn automated(kind: ScheduleKind, workers: usize, lengths: &[usize]) -> Vec<[u32; 2]> {
    let (mut engine, mut editor) = editor(kind, workers);
    let mutes = steps(&[(0, 0.0), (700, 1.0), (1_500, 0.0)]);
    let lanes = vec![
        (LaneTarget::Gain(StripId::Track(0)), Some(line(-40.0, 6.0))),
        (LaneTarget::Pan(StripId::Track(1)), Some(line(-1.0, 1.0))),
        (LaneTarget::Mute(StripId::Master), Some(mutes.clone())),
        (LaneTarget::Bypass(effect("delay")), Some(mutes)),
        (LaneTarget::Param(effect("amp"), 2), Some(line(0.0, 20.0))),
        (LaneTarget::Param(effect("compressor"), 0), Some(line(-30.0, 0.0))),
    ];
    editor.apply(Edit::Automate(lanes)).unwrap();
    let range = LoopRange::from_frames(300, 2_100).unwrap();
    engine.command(TimedCommand { at_steady: 1_000, command: Command::Loop(range) }).unwrap();
    let mut heard = Vec::new();
    for block in 0..60 {
        match block {
            5 => editor.apply(Edit::Gain(StripId::Track(0), 0.0)).unwrap(),
            9 => editor.apply(Edit::Param(effect("amp"), 2, 3.0)).unwrap(),
            20 => editor.apply(Edit::RemoveEffect(effect("compressor"))).unwrap(),
            30 => editor
                .apply(Edit::Automate(vec![(LaneTarget::Gain(StripId::Track(0)), None)]))
                .unwrap(),
            _ => {}
        }
        for length in cut(lengths, FRAMES) {
            engine.process(length);
            let rows = engine.output(length);
            let bits = rows.left.iter().zip(rows.right).map(|(l, r)| [l.to_bits(), r.to_bits()]);
            heard.extend(bits);
        }
    }
    heard
}

#[test]
fn every_schedule_and_cut_gives_the_same_bits_with_lanes_and_edits() {
    let _alone = stage::alone();
    let reference = automated(ScheduleKind::Serial, 1, &[FRAMES]);
    assert!(reference.iter().flatten().any(|bits| f32::from_bits(*bits).abs() > 1.0e-3));
    for kind in ScheduleKind::ALL {
        for lengths in [&[FRAMES][..], &[1, 30, 7], &[33, 5]] {
            let workers = if kind == ScheduleKind::Serial { 1 } else { 3 };
            let heard = automated(kind, workers, lengths);
            let at = heard.iter().zip(&reference).position(|(a, b)| a != b);
            assert_eq!(at, None, "{kind:?}, {lengths:?}");
        }
    }
}

/// A parameter that moves at the edges of blocks.
struct Moves {
    target: LaneTarget,
    /// What the session says.
    first: f32,
    /// Blocks, and the values from then on.
    then: Vec<(usize, f32)>,
}

/// Of every fader, and of every effect a parameter and the bypass.
fn moves() -> Vec<Moves> {
    let session = stage::session();
    let mut all = Vec::new();
    let mut add = |target, first, then: [(usize, f32); 2]| {
        all.push(Moves { target, first, then: then.into() });
    };
    for (number, strip) in session.strip_ids().into_iter().enumerate() {
        let of = session.strip(strip);
        add(LaneTarget::Gain(strip), of.gain_db, [(20 + number, -20.0), (41 + number / 4, 0.0)]);
        add(LaneTarget::Pan(strip), of.pan, [(24 + number / 3, 0.7), (41 + number / 4, -0.5)]);
        for (index, effect) in of.chain.iter().enumerate() {
            let at = EffectAt { strip, index };
            let kind = hocket_dsp::kind(&effect.kind).unwrap();
            let moving = kind.params.iter().position(|param| !param.fixed);
            if let Some((param, index)) = moving.map(|index| (&kind.params[index], index)) {
                let then = [(22, param.max), (35 + number / 4, param.min)];
                add(LaneTarget::Param(at, index), param.default, then);
            }
            add(LaneTarget::Bypass(at), 0.0, [(30, 1.0), (34 + number % 3, 0.0)]);
        }
    }
    all
}

/// The same as lanes. A lane says when a value is heard at the output of the graph's sources, so it reaches what hears them
/// later as much later; an edit does not.
fn as_lanes(moves: &[Moves]) -> Vec<(LaneTarget, LaneSpec)> {
    let prepared = stage::prepared();
    let late = |target| {
        let kind = match target {
            LaneTarget::Gain(strip) | LaneTarget::Pan(strip) => NodeKind::Fader(strip),
            LaneTarget::Param(at, _) | LaneTarget::Bypass(at) => {
                NodeKind::Effect { strip: at.strip, index: at.index }
            }
            other => panic!("{other:?} does not move here"),
        };
        let node = prepared.graph.nodes().iter().position(|node| node.kind == kind).unwrap();
        i64::from(prepared.units.heard_frames(NodeId(node as u32)))
    };
    let lane = |moves: &Moves| {
        let then = moves.then.iter().map(|(block, value)| {
            ((block * FRAMES) as i64 - late(moves.target), f64::from(*value))
        });
        let points: Vec<_> = [(0, f64::from(moves.first))].into_iter().chain(then).collect();
        (moves.target, steps(&points))
    };
    let lanes: Vec<_> = moves.iter().map(lane).collect();
    assert!(moves.iter().any(|moves| late(moves.target) > 0), "nothing is late");
    lanes
}

fn edit(target: LaneTarget, value: f32) -> Edit {
    match target {
        LaneTarget::Gain(strip) => Edit::Gain(strip, value),
        LaneTarget::Pan(strip) => Edit::Pan(strip, value),
        LaneTarget::Param(at, index) => Edit::Param(at, index, value),
        LaneTarget::Bypass(at) => Edit::Bypass(at, value >= 0.5),
        other => panic!("{other:?} does not move here"),
    }
}

/// Blocks that are played.
const MOVED: usize = 60;

#[test]
fn moves_at_block_edges_give_the_same_bits_as_edits_as_lanes_and_offline() {
    let _alone = stage::alone();
    let moves = moves();
    let lanes = as_lanes(&moves);
    let automation = lanes.iter().cloned().map(|(target, lane)| Automation { target, lane });
    let session = Session { automation: automation.collect(), ..stage::session() };
    let prepared = prepare_session(&session, &stage::media(), RATE_HZ, Fusing::Chains).unwrap();
    let mut offline = stage::engine(prepared, policy(ScheduleKind::Serial), 1);
    let expected = stage::play(&mut offline, MOVED);
    let prepared = prepare_session(&stage::session(), &stage::media(), RATE_HZ, Fusing::Chains);
    let mut unmoved = stage::engine(prepared.unwrap(), policy(ScheduleKind::Serial), 1);
    let unmoved = stage::play(&mut unmoved, MOVED);
    assert_eq!(unmoved[..20], expected[..20], "the first values are the session's");
    // The first of them are heard behind the latencies.
    assert!((30..MOVED).all(|block| unmoved[block] != expected[block]), "the moves are heard");
    for kind in ScheduleKind::ALL {
        let workers = if kind == ScheduleKind::Serial { 1 } else { 3 };
        let differs = |heard: &[Vec<u32>]| {
            heard.iter().zip(&expected).position(|(heard, expected)| heard != expected)
        };
        let (mut engine, mut live) = editor(kind, workers);
        let mut heard = Vec::new();
        for block in 0..MOVED {
            for Moves { target, then, .. } in &moves {
                let due = then.iter().filter(|(due, _)| *due == block);
                due.for_each(|(_, value)| live.apply(edit(*target, *value)).unwrap());
            }
            heard.extend(stage::play(&mut engine, 1));
            assert!(live.is_settled(), "block {block}: each edit has its block");
        }
        assert_eq!(differs(&heard), None, "{kind:?}, as edits: the first block that differs");
        drop((engine, live));
        let (mut engine, mut automated) = editor(kind, workers);
        let lanes = lanes.iter().map(|(target, lane)| (*target, Some(lane.clone()))).collect();
        automated.apply(Edit::Automate(lanes)).unwrap();
        let heard = stage::play(&mut engine, MOVED);
        assert_eq!(differs(&heard), None, "{kind:?}, as lanes: the first block that differs");
    }
}

/// The difference between the two: an edit reaches every node at its block, a point of a lane with the sound of its frame.
#[test]
fn behind_a_latency_a_lane_is_late_with_the_sound_and_an_edit_is_not() {
    let _alone = stage::alone();
    const LATE: usize = 70;
    let edge = 3 * FRAMES;
    for kind in ScheduleKind::ALL {
        let begin = |heard: &[[f32; 2]], side: usize| {
            heard.iter().position(|heard| heard[side] == 5.0).unwrap()
        };
        let (mut engine, mut editor) = probe(LATE as u32, kind);
        editor.automate([lane(1, steps(&[(0, -2.0), (edge as i64, 5.0)]))]).unwrap();
        let mut all = heard(&mut engine, [FRAMES; 3]);
        editor.change(PROBE, Change::Param { index: 0, value: 5.0 }).unwrap();
        all.extend(heard(&mut engine, [FRAMES; 3]));
        assert_eq!((begin(&all, 0), begin(&all, 1)), (edge, edge + LATE), "{kind:?}");
    }
}

/// Of an edit and a value of the lane, the one that is heard later holds from there on. At one frame it is the edit.
#[test]
fn behind_a_latency_an_edit_and_a_lane_meet_at_the_frame_at_which_they_are_heard() {
    let _alone = stage::alone();
    const APART: usize = 29;
    const EDITED: [usize; 5] = [2, 3, 7, 8, 15];
    let points: Vec<(i64, f64)> =
        (0..40).map(|point| ((point * APART) as i64, 100.0 + point as f64)).collect();
    for (kind, late) in ScheduleKind::ALL.into_iter().zip([1, 12, FRAMES, 70, 300]) {
        let (mut engine, mut editor) = probe(late as u32, kind);
        editor.automate([lane(0, steps(&points))]).unwrap();
        let mut all = Vec::new();
        for block in 0..16 {
            if EDITED.contains(&block) {
                let change = Change::Param { index: 0, value: block as f32 };
                editor.change(PROBE, change).unwrap();
            }
            all.extend(heard(&mut engine, [FRAMES]));
        }
        for (frame, heard) in all.iter().enumerate().skip(late) {
            let point = (frame - late) / APART;
            let edit = EDITED.into_iter().rfind(|block| block * FRAMES <= frame);
            let by_edit = edit.filter(|block| block * FRAMES >= late + point * APART);
            let expected = by_edit.map_or(100.0 + point as f32, |block| block as f32);
            assert_eq!(heard[0], expected, "{kind:?}, {late} frames late, frame {frame}");
        }
    }
    // With 12 frames, a point is heard at the edge of an edited block.
    assert!(EDITED.iter().any(|block| (block * FRAMES - 12).is_multiple_of(APART)));
}

#[test]
fn an_editor_refuses_lanes_of_what_is_not_there() {
    let _alone = stage::alone();
    let (_engine, mut editor) = editor(ScheduleKind::Serial, 1);
    let mut refused = |target| {
        let lanes = vec![(LaneTarget::Pan(StripId::Master), Some(line(0.0, 1.0)))];
        let lanes = lanes.into_iter().chain([(target, Some(line(0.0, 1.0)))]).collect();
        editor.apply(Edit::Automate(lanes)).unwrap_err()
    };
    let nowhere = StripId::Group(9);
    assert_eq!(refused(LaneTarget::Gain(nowhere)), EditError::NoStrip(nowhere));
    let missing = EffectAt { strip: StripId::Track(0), index: 4 };
    assert!(matches!(refused(LaneTarget::Bypass(missing)), EditError::NoEffect { .. }));
    let none = refused(LaneTarget::Param(effect("gain"), 77));
    assert!(matches!(none, EditError::NoLane { index: 77, .. }), "{none:?}");
    assert!(editor.is_settled(), "nothing was sent");
}
