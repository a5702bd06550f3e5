//! What an engine does not accept, and what it says.

use hocket_engine::control::prepare::PrepareError;
use hocket_engine::{
    Engine, EngineError, MediaPool, Prepared, Settings, SettingsError, StereoAudio, prepare_session,
};
use hocket_plan::{
    Edge, Fusing, Graph, Node, NodeKind, Ports, Rule, ScheduleKind, SiblingPolicy, Unit, UnitGraph,
    UnitId, VerifiedSchedule,
};

use crate::stage::{self, RATE_HZ};

fn start(settings: Settings) -> Result<Engine, EngineError> {
    let (prepared, _) = stage::lattice(1, 2);
    Engine::start(prepared, settings, stage::seating(SiblingPolicy::Off, 1))
}

fn usual() -> Settings {
    stage::settings(stage::policy(ScheduleKind::Lists))
}

#[test]
fn settings_out_of_range_are_named_with_the_range() {
    let refused = |settings: Settings, words: &[&str]| {
        let error = start(settings).err().unwrap();
        assert!(matches!(error, EngineError::Settings(_)), "{error:?}");
        let told = error.to_string();
        assert!(words.iter().all(|word| told.contains(word)), "{told}");
    };
    refused(Settings { frames: 0, ..usual() }, &["0 frames", "1 to 8192"]);
    refused(Settings { frames: 100_000, ..usual() }, &["100000 frames", "1 to 8192"]);
    refused(Settings { rate_hz: 0, ..usual() }, &["0 Hz", "8000 to 384000"]);
    refused(Settings { rate_hz: 7_999, ..usual() }, &["7999 Hz"]);
    refused(Settings { rate_hz: u32::MAX, ..usual() }, &["4294967295 Hz"]);
    refused(Settings { priority: Some(0), ..usual() }, &["priority of 0", "1 to 99"]);
    refused(Settings { priority: Some(100), ..usual() }, &["priority of 100"]);
}

#[test]
fn the_ends_of_the_ranges_are_accepted() {
    let _alone = stage::alone();
    for (frames, rate_hz) in [(1, 8_000), (8_192, 384_000)] {
        let mut engine = start(Settings { frames, rate_hz, ..usual() }).unwrap();
        engine.process(frames as usize);
        assert_eq!(engine.output(frames as usize).left, vec![2.0; frames as usize]);
    }
    assert_eq!(Settings { rate_hz: 1, ..usual() }.check(), Err(SettingsError::Rate(1)));
}

#[test]
fn more_workers_than_seats_are_refused() {
    let (prepared, _) = stage::lattice(3, 4);
    let kind = ScheduleKind::Dataflow;
    let schedule = VerifiedSchedule::plan(kind, prepared.units.clone(), 3).unwrap();
    let seating = stage::seating(SiblingPolicy::Off, 2);
    let error =
        Engine::start_verified(prepared, schedule, stage::settings(stage::policy(kind)), seating);
    let error = error.err().unwrap();
    assert!(matches!(error, EngineError::Seating { workers: 3, seats: 2 }), "{error:?}");
    assert_eq!(error.to_string(), "the schedule is for 3 workers, the seating for 2");
}

#[test]
fn a_schedule_for_another_graph_is_refused() {
    let kind = ScheduleKind::Dataflow;
    // As many nodes each, but one of them has another channel.
    let with = |ports: Ports| {
        let mut graph = Graph::default();
        let node = |name: &str, inputs, ports| Node {
            name: name.into(),
            kind: NodeKind::Custom(0),
            inputs,
            cost: 1.0,
            latency_frames: 0,
            ports,
        };
        let from = graph.add(node("source", vec![], ports)).unwrap();
        graph.add(node("sum", vec![Edge::new(from, 1.0)], Ports::default())).unwrap();
        Prepared::from_graph(&graph, vec![None, None], Fusing::None).unwrap()
    };
    let other = with(Ports { extra: 1, ..Ports::default() });
    let schedule = VerifiedSchedule::plan(kind, other.units, 2).unwrap();
    let settings = stage::settings(stage::policy(kind));
    let seating = stage::seating(SiblingPolicy::Off, 2);
    let error =
        Engine::start_verified(with(Ports::default()), schedule, settings, seating).err().unwrap();
    assert!(matches!(error, EngineError::OtherGraph), "{error:?}");
}

#[test]
fn one_processor_a_node_is_asked_for() {
    for (missing, more) in [(1, 0), (0, 1)] {
        let (mut prepared, _) = stage::lattice(2, 2);
        let nodes = prepared.processors.len();
        prepared.processors.truncate(nodes - missing);
        prepared.processors.extend((0..more).map(|_| None));
        let seating = stage::seating(SiblingPolicy::Off, 1);
        let error = Engine::start(prepared, usual(), seating).err().unwrap();
        let told = error.to_string();
        assert!(matches!(error, EngineError::Processors { .. }), "{error:?}");
        assert_eq!(told, format!("{} processors for {nodes} nodes", nodes - missing + more));
    }
}

/// One unit for the one node, with a successor that does not exist.
fn unit_out_of_range() -> Unit {
    let (prepared, _) = stage::lattice(0, 1);
    Unit { successors: vec![UnitId(7)], ..prepared.units.units()[0].clone() }
}

#[test]
fn units_that_break_a_rule_are_refused_before_anybody_follows_them() {
    for kind in ScheduleKind::ALL {
        let start = |units: Vec<Unit>| {
            let (graph, units) = (Graph::default(), UnitGraph::from_units(units, 1));
            let (time, lanes) = (Default::default(), Vec::new());
            let (processors, node_names) = (vec![None], vec!["one".into()]);
            let prepared = Prepared { graph, units, processors, node_names, time, lanes };
            let seating = stage::seating(SiblingPolicy::Off, 2);
            Engine::start(prepared, stage::settings(stage::policy(kind)), seating).err().unwrap()
        };
        for (units, rule) in [(vec![], Rule::R9Shape), (vec![unit_out_of_range()], Rule::R1InRange)]
        {
            match start(units) {
                EngineError::Schedule(violation) => assert_eq!(violation.rule, rule),
                other => panic!("{other}"),
            }
        }
    }
}

#[test]
fn a_session_with_an_unknown_effect_or_missing_media_is_refused_by_name() {
    let prepare = |session, media: &MediaPool| {
        prepare_session(&session, media, RATE_HZ, Fusing::Chains).err().unwrap()
    };
    let mut session = stage::session();
    session.tracks[1].strip.chain[0].kind = "flanger".into();
    let error = prepare(session, &stage::media());
    assert!(matches!(error, PrepareError::UnknownEffect { .. }));
    assert!(error.to_string().contains("'flanger'") && error.to_string().contains("'pan'"));

    let mut session = stage::session();
    session.tracks[2].strip.chain[0].values.pop();
    assert!(matches!(prepare(session, &stage::media()), PrepareError::UnknownEffect { .. }));

    let error = prepare(stage::session(), &MediaPool::default());
    assert!(matches!(error, PrepareError::MissingMedia { media: 0, .. }), "{error}");
}

#[test]
fn samples_that_are_no_numbers_become_silence_when_loaded() {
    let audio = StereoAudio::from_planar(&[
        vec![0.5, f32::NAN, 0.25, 0.125],
        vec![f32::INFINITY, 1.0, f32::NEG_INFINITY],
    ]);
    assert_eq!(audio.left(), [0.5, 0.0, 0.25], "cut to the shorter side");
    assert_eq!(audio.right(), [0.0, 1.0, 0.0]);
    assert_eq!(audio.contained(), 3);
    assert_eq!(StereoAudio::from_planar(&[]).frames(), 0);
}
