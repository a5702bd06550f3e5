//! Sessions built in code, through routing, graph and units.

use std::collections::BTreeMap;
use std::fmt;

use hocket_plan::graph::{EffectFacts, audible, session_graph};
use hocket_plan::session::{
    Clip, ClipFade, ClipNote, Destination, EffectAt, EventsOf, Group, GroupId, Input, InputId,
    LaneSpec, LaneTarget, MediaId, NoteClip, NoteSource, Output, OutputAt, Return, ReturnId, Send,
    SendAt, Strip, StripId, TakeFrom, TakeSpec, Tap, Track,
};
use hocket_plan::split::{CutOptions, SplitError, split};
use hocket_plan::{
    ChannelMap, Edge, Effect, ExtraOutput, Fusing, Graph, GraphError, InputPort, Key, Node,
    NodeKind, Ports, ScheduleKind, Session, UnitGraph, VerifiedSchedule,
};
use hocket_time::TimeBase;
use proptest::prelude::*;

/// An effect's first value is its cost, its second its latency.
struct Facts;

impl EffectFacts for Facts {
    fn cost(&self, effect: &Effect) -> f64 {
        f64::from(effect.values[0])
    }

    fn latency_frames(&self, effect: &Effect) -> u32 {
        effect.values[1] as u32
    }

    fn has_event_input(&self, effect: &Effect) -> bool {
        ["arp", "synth"].contains(&effect.kind.as_str())
    }

    fn has_event_output(&self, effect: &Effect) -> bool {
        ["arp", "pattern"].contains(&effect.kind.as_str())
    }

    fn extra_outputs(&self, effect: &Effect) -> Vec<ExtraOutput> {
        let output = |name: &str, channels| ExtraOutput { name: name.into(), channels };
        match effect.kind == "sampler" {
            true => vec![output("click", 1), output("kick", 2)],
            false => Vec::new(),
        }
    }
}

fn effect(kind: &str, cost: f32, latency_frames: f32) -> Effect {
    Effect::new(kind, vec![cost, latency_frames])
}

fn strip(name: &str) -> Strip {
    Strip {
        name: name.into(),
        chain: Vec::new(),
        gain_db: 0.0,
        pan: 0.0,
        mute: false,
        solo: false,
        sends: Vec::new(),
    }
}

/// An empty session to which strips are added; ids are indices in the order of adding.
fn session() -> Session {
    Session {
        name: "test".into(),
        sample_rate_hz: 48_000,
        length_s: None,
        media: Vec::new(),
        tracks: Vec::new(),
        groups: Vec::new(),
        returns: Vec::new(),
        master: strip("master"),
        ..Session::default()
    }
}

const MASTER: Destination = Destination::Master;

fn to_group(index: usize) -> Destination {
    Destination::Group(GroupId(index))
}

fn add_track(session: &mut Session, name: &str, output: Destination) -> usize {
    session.tracks.push(Track {
        strip: strip(name),
        output,
        clips: Vec::new(),
        input: None,
        from: None,
        notes: Vec::new(),
    });
    session.tracks.len() - 1
}

fn add_group(session: &mut Session, name: &str, output: Destination) -> usize {
    session.groups.push(Group { strip: strip(name), output });
    session.groups.len() - 1
}

fn add_return(session: &mut Session, name: &str, output: Destination) -> usize {
    session.returns.push(Return { strip: strip(name), output });
    session.returns.len() - 1
}

fn strip_mut(session: &mut Session, id: StripId) -> &mut Strip {
    match id {
        StripId::Track(i) => &mut session.tracks[i].strip,
        StripId::Group(i) => &mut session.groups[i].strip,
        StripId::Return(i) => &mut session.returns[i].strip,
        StripId::Master => &mut session.master,
    }
}

fn send(session: &mut Session, from: StripId, to: usize, tap: Tap, gain_db: f32) {
    strip_mut(session, from).sends.push(Send { to: ReturnId(to), gain_db, tap, feedback: false });
}

fn graph(session: &Session) -> Graph {
    session_graph(session, &Facts).expect("the session is sound")
}

fn node<'a>(graph: &'a Graph, name: &str) -> &'a Node {
    let found = graph.nodes().iter().find(|node| node.name == name);
    found.unwrap_or_else(|| panic!("no node '{name}'"))
}

/// What a node reads: names, with the gain where it is not 1.
fn inputs(graph: &Graph, name: &str) -> Vec<String> {
    let edges = node(graph, name).inputs.iter();
    edges
        .map(|edge| match edge.gain_lin {
            1.0 => graph.nodes()[edge.from.index()].name.clone(),
            gain => format!("{} * {gain}", graph.nodes()[edge.from.index()].name),
        })
        .collect()
}

fn unit_names(session: &Session) -> Vec<String> {
    let units = UnitGraph::compile(&graph(session), Fusing::Chains).expect("not empty");
    units.units().iter().map(|unit| unit.name.clone()).collect()
}

#[test]
fn a_strip_is_a_chain_from_player_to_fader() {
    let mut session = session();
    add_track(&mut session, "vocals", MASTER);
    session.tracks[0].strip.chain = vec![effect("eq", 30.0, 0.0), effect("gate", 12.0, 0.0)];
    let graph = graph(&session);
    let names: Vec<&str> = graph.nodes().iter().map(|node| node.name.as_str()).collect();
    let expected = [
        "vocals: play",
        "vocals: eq",
        "vocals: gate",
        "vocals: fader",
        "master: sum",
        "master: fader",
    ];
    assert_eq!(names, expected);
    assert_eq!(node(&graph, "vocals: play").kind, NodeKind::Play(0));
    let gate = NodeKind::Effect { strip: StripId::Track(0), index: 1 };
    assert_eq!(node(&graph, "vocals: gate").kind, gate);
    assert_eq!(node(&graph, "vocals: gate").cost, 12.0);
    assert_eq!(node(&graph, "master: sum").kind, NodeKind::Sum(StripId::Master));
    assert_eq!(graph.nodes().last().map(|n| n.kind), Some(NodeKind::Fader(StripId::Master)));
    for pair in names.windows(2) {
        assert_eq!(inputs(&graph, pair[1]), [pair[0]]);
    }
}

#[test]
fn one_track_is_one_unit_and_its_name_says_each_strip_once() {
    let mut session = session();
    let group = add_group(&mut session, "band: live", MASTER);
    add_track(&mut session, "vocals", to_group(group));
    session.tracks[0].strip.chain = vec![effect("eq", 1.0, 0.0)];
    let expected = "vocals: play, eq, fader, band: live: sum, fader, master: sum, fader";
    assert_eq!(unit_names(&session), [expected]);
}

#[test]
fn nested_groups_sum_inside_out() {
    let mut session = session();
    let all = add_group(&mut session, "all", MASTER);
    let drums = add_group(&mut session, "drums", to_group(all));
    let toms = add_group(&mut session, "toms", to_group(drums));
    for (name, output) in [("kick", drums), ("low", toms), ("high", toms), ("bass", all)] {
        add_track(&mut session, name, to_group(output));
    }
    let graph = graph(&session);
    assert_eq!(inputs(&graph, "toms: sum"), ["low: fader", "high: fader"]);
    assert_eq!(inputs(&graph, "drums: sum"), ["kick: fader", "toms: fader"]);
    assert_eq!(inputs(&graph, "all: sum"), ["bass: fader", "drums: fader"]);
    assert_eq!(inputs(&graph, "master: sum"), ["all: fader"]);
}

#[test]
fn a_send_leaves_before_or_after_the_fader() {
    let mut session = session();
    add_track(&mut session, "a", MASTER);
    add_track(&mut session, "b", MASTER);
    session.tracks[1].strip.chain = vec![effect("eq", 1.0, 0.0)];
    let room = add_return(&mut session, "room", MASTER);
    send(&mut session, StripId::Track(1), room, Tap::PreFader, 0.0);
    send(&mut session, StripId::Track(1), room, Tap::PostFader, 20.0);
    send(&mut session, StripId::Track(0), room, Tap::PreFader, -20.0);
    let graph = graph(&session);
    let expected = ["a: play * 0.1", "b: eq", "b: fader * 10"];
    assert_eq!(inputs(&graph, "room: sum"), expected, "before the fader is after the chain");
    assert_eq!(inputs(&graph, "master: sum"), ["a: fader", "b: fader", "room: fader"]);
}

#[test]
fn a_strip_with_a_send_is_cut_where_the_send_leaves() {
    let mut session = session();
    add_track(&mut session, "a", MASTER);
    session.tracks[0].strip.chain = vec![effect("eq", 50.0, 0.0)];
    let room = add_return(&mut session, "room", MASTER);
    send(&mut session, StripId::Track(0), room, Tap::PreFader, 0.0);
    let mut names = unit_names(&session);
    names.sort_unstable();
    let expected = ["a: fader", "a: play, eq", "master: sum, fader", "room: sum, fader"];
    assert_eq!(names, expected);
}

#[test]
fn inputs_come_as_tracks_groups_returns_whatever_the_order_of_work() {
    let mut session = session();
    // The returns are ready long before the groups, the groups before the last track's turn.
    let outer = add_group(&mut session, "outer", MASTER);
    let inner = add_group(&mut session, "inner", to_group(outer));
    let early = add_return(&mut session, "early", to_group(outer));
    let late = add_return(&mut session, "late", to_group(outer));
    add_track(&mut session, "one", to_group(inner));
    add_track(&mut session, "two", to_group(outer));
    send(&mut session, StripId::Group(inner), late, Tap::PostFader, 0.0);
    send(&mut session, StripId::Track(0), early, Tap::PostFader, 0.0);
    let expected = ["two: fader", "inner: fader", "early: fader", "late: fader"];
    assert_eq!(inputs(&graph(&session), "outer: sum"), expected);
}

#[test]
fn sends_may_go_from_return_to_return() {
    let mut session = session();
    add_track(&mut session, "a", MASTER);
    let echo = add_return(&mut session, "echo", MASTER);
    let room = add_return(&mut session, "room", MASTER);
    // Against the order in the file: the second return feeds the first.
    send(&mut session, StripId::Return(room), echo, Tap::PostFader, 0.0);
    send(&mut session, StripId::Track(0), room, Tap::PostFader, 0.0);
    let graph = graph(&session);
    assert_eq!(inputs(&graph, "echo: sum"), ["room: fader"]);
    assert_eq!(inputs(&graph, "master: sum"), ["a: fader", "echo: fader", "room: fader"]);
}

#[test]
fn a_silent_send_keeps_its_edge_with_gain_zero() {
    let mut session = session();
    add_track(&mut session, "a", MASTER);
    let room = add_return(&mut session, "room", MASTER);
    send(&mut session, StripId::Track(0), room, Tap::PostFader, f32::NEG_INFINITY);
    let graph = graph(&session);
    let edges = &node(&graph, "room: sum").inputs;
    assert_eq!(edges.len(), 1, "turning the send up later must not change the order of work");
    assert_eq!(edges[0].gain_lin.to_bits(), 0.0f32.to_bits());
}

#[test]
fn gains_are_decibels() {
    for (db, lin) in [(0.0, 1.0f32), (20.0, 10.0), (-20.0, 0.1), (-40.0, 0.01), (6.0206, 2.0)] {
        let mut session = session();
        add_track(&mut session, "a", MASTER);
        let room = add_return(&mut session, "room", MASTER);
        send(&mut session, StripId::Track(0), room, Tap::PostFader, db);
        let gain = node(&graph(&session), "room: sum").inputs[0].gain_lin;
        assert!((gain / lin - 1.0).abs() < 1e-6, "{db} dB gives {gain}");
    }
}

#[test]
fn an_empty_group_is_a_sum_of_nothing_that_still_flows() {
    let mut session = session();
    add_track(&mut session, "a", MASTER);
    add_group(&mut session, "empty", MASTER);
    add_return(&mut session, "unused", MASTER);
    let graph = graph(&session);
    assert_eq!(inputs(&graph, "empty: sum"), Vec::<String>::new());
    assert_eq!(inputs(&graph, "master: sum"), ["a: fader", "empty: fader", "unused: fader"]);
    let units = UnitGraph::compile(&graph, Fusing::Chains).expect("not empty");
    for kind in ScheduleKind::ALL {
        VerifiedSchedule::plan(kind, units.clone(), 3).expect("a sound schedule");
    }
}

#[test]
fn a_session_without_tracks_is_empty() {
    let mut session = session();
    add_group(&mut session, "group", MASTER);
    assert_eq!(session_graph(&session, &Facts), Err(GraphError::Empty));
}

#[test]
fn an_output_or_send_that_leads_nowhere_is_an_error() {
    let check = |session: &Session, name: &str, feeds: StripId| {
        let error = session_graph(session, &Facts).unwrap_err();
        assert_eq!(error, GraphError::UnknownStrip { strip: name.into(), feeds });
        assert!(error.to_string().contains(name));
        assert_eq!(audible(session).len(), session.strip_ids().len(), "and no panic");
    };
    let mut lost = session();
    add_track(&mut lost, "lost", to_group(3));
    lost.tracks[0].strip.solo = true;
    check(&lost, "lost", StripId::Group(3));

    let mut lost = session();
    add_track(&mut lost, "a", MASTER);
    send(&mut lost, StripId::Master, 0, Tap::PostFader, 0.0);
    check(&lost, "master", StripId::Return(0));
}

/// The names on the cycle that the session is refused for.
fn cycle(session: &Session) -> Vec<String> {
    match session_graph(session, &Facts) {
        Err(GraphError::Cycle { names, .. }) => names,
        other => panic!("expected a cycle, got {other:?}"),
    }
}

/// Turns a closed path so that it starts with the smallest name.
fn turned(names: &[String]) -> Vec<&str> {
    assert_eq!(names.first(), names.last(), "the cycle closes");
    let round: Vec<&str> = names[1..].iter().map(String::as_str).collect();
    let least = (0..round.len()).min_by_key(|i| round[*i]).unwrap_or(0);
    round[least..].iter().chain(&round[..least]).copied().collect()
}

#[test]
fn groups_in_a_cycle_are_named_in_the_direction_of_the_signal() {
    let mut session = session();
    add_track(&mut session, "t", to_group(0));
    add_group(&mut session, "a", to_group(1));
    add_group(&mut session, "b", to_group(2));
    add_group(&mut session, "c", to_group(0));
    // Behind the cycle, so it waits as well, but it is no part of it.
    add_group(&mut session, "behind", MASTER);
    let room = add_return(&mut session, "room", to_group(3));
    send(&mut session, StripId::Group(1), room, Tap::PostFader, 0.0);
    assert_eq!(turned(&cycle(&session)), ["a", "b", "c"]);
}

#[test]
fn a_key_is_heard_in_the_same_block_and_feedback_is_not() {
    let mut session = session();
    add_track(&mut session, "bass", MASTER);
    add_track(&mut session, "drums", MASTER);
    let key = Some(Key { from: StripId::Track(1), tap: Tap::PreFader });
    session.tracks[0].strip.chain = vec![Effect { key, ..effect("comp", 1.0, 0.0) }];
    let made = graph(&session);
    assert_eq!(inputs(&made, "bass: comp"), ["bass: play", "drums: play"]);
    let edges = &node(&made, "bass: comp").inputs;
    assert_eq!([edges[0].to, edges[1].to], [InputPort::Main, InputPort::SideChain]);
    // Two that hear each other.
    let key = Some(Key { from: StripId::Track(0), tap: Tap::PostFader });
    session.tracks[1].strip.chain = vec![Effect { key, ..effect("comp", 1.0, 0.0) }];
    assert_eq!(turned(&cycle(&session)), ["bass", "drums"]);
    session.tracks[1].strip.chain.clear();
    let (x, y) = (add_return(&mut session, "x", MASTER), add_return(&mut session, "y", MASTER));
    send(&mut session, StripId::Return(x), y, Tap::PostFader, 0.0);
    send(&mut session, StripId::Return(y), x, Tap::PreFader, -6.0);
    assert_eq!(turned(&cycle(&session)), ["x", "y"]);
    session.returns[y].strip.sends[0].feedback = true;
    let made = graph(&session);
    assert_eq!(inputs(&made, "x: sum"), Vec::<String>::new());
    let [back] = made.feedback() else { panic!("{:?}", made.feedback()) };
    let names = [back.edge.from, back.reader].map(|id| made.nodes()[id.index()].name.as_str());
    assert_eq!(names, ["y: sum", "x: sum"]);
    assert!((back.edge.gain_lin - 10f32.powf(-0.3)).abs() < 1e-6);
}

#[test]
fn inputs_outputs_and_moving_sends_have_nodes() {
    let mut session = session();
    add_track(&mut session, "live", MASTER);
    add_track(&mut session, "both", MASTER);
    let room = add_return(&mut session, "room", MASTER);
    session.inputs = vec![
        Input { name: "unused".into(), channels: 2, events: false, latency_frames: 0 },
        Input { name: "mic".into(), channels: 1, events: false, latency_frames: 0 },
    ];
    let input = Some(InputId(1));
    (session.tracks[0].input, session.tracks[1].input) = (input, input);
    session.tracks[1].clips.push(clip());
    send(&mut session, StripId::Track(0), room, Tap::PreFader, -6.0);
    send(&mut session, StripId::Track(1), room, Tap::PostFader, -6.0);
    let at = SendAt { strip: StripId::Track(1), index: 0 };
    session.set_lane(LaneTarget::Send(at), Some(LaneSpec::new(TimeBase::Seconds, [])));
    let strip = StripId::Return(room);
    session.outputs = vec![Output { name: "cue".into(), from: strip, tap: Tap::PreFader }];
    let made = graph(&session);
    assert_eq!(inputs(&made, "live: sum"), ["input mic"]);
    assert_eq!(inputs(&made, "both: sum"), ["both: play", "input mic"]);
    assert_eq!(node(&made, "input mic").kind, NodeKind::Input(1));
    assert!(made.nodes().iter().all(|node| node.name != "input unused"));
    assert_eq!(inputs(&made, "room: sum")[1], "both: send to room");
    assert_eq!(inputs(&made, "both: send to room"), ["both: fader"]);
    assert!(inputs(&made, "room: sum")[0].starts_with("live: sum * 0.50"));
    let outputs: Vec<&str> =
        made.outputs().iter().map(|id| made.nodes()[id.index()].name.as_str()).collect();
    assert_eq!(outputs, ["master: fader", "room: sum"]);
    session.tracks[0].input = Some(InputId(2));
    let missing = GraphError::NoInput { track: "live".into(), input: 2 };
    assert_eq!(session_graph(&session, &Facts), Err(missing));
    session.tracks[0].input = None;
    session.outputs[0].from = StripId::Group(4);
    let lost = GraphError::UnknownStrip { strip: "cue".into(), feeds: StripId::Group(4) };
    assert_eq!(session_graph(&session, &Facts), Err(lost));
}

#[test]
fn a_track_reads_an_extra_output_where_the_effect_puts_it_out() {
    let mut session = session();
    let first = add_track(&mut session, "click", MASTER);
    let drums = add_track(&mut session, "drums", MASTER);
    let kick = add_track(&mut session, "kick", MASTER);
    session.tracks[drums].strip.chain =
        vec![effect("eq", 1.0, 0.0), effect("sampler", 1.0, 64.0), effect("gain", 1.0, 0.0)];
    let at = |index| EffectAt { strip: StripId::Track(drums), index };
    session.tracks[first].from = Some(OutputAt { effect: at(1), index: 0 });
    session.tracks[kick].from = Some(OutputAt { effect: at(1), index: 1 });
    session.tracks[kick].clips.push(clip());
    let made = graph(&session);
    assert_eq!(node(&made, "drums: sampler").ports, Ports { extra: 3, ..Ports::STEREO });
    assert_eq!(node(&made, "drums: eq").ports, Ports::STEREO);
    let maps = |name: &str| -> Vec<ChannelMap> {
        node(&made, name).inputs.iter().map(|edge| edge.map).collect()
    };
    let range = |from, to, count| ChannelMap::Range { from, to, count };
    // One channel goes to both sides.
    assert_eq!(inputs(&made, "click: sum"), ["drums: sampler"; 2]);
    assert_eq!(maps("click: sum"), [range(2, 0, 1), range(2, 1, 1)]);
    assert_eq!(inputs(&made, "kick: sum"), ["kick: play", "drums: sampler"]);
    assert_eq!(maps("kick: sum"), [ChannelMap::Straight, range(3, 0, 2)]);
    for (effect, index) in [(at(1), 2), (at(0), 0), (at(7), 0)] {
        let from = OutputAt { effect, index };
        session.tracks[kick].from = Some(from);
        let missing = GraphError::NoOutput { track: "kick".into(), from };
        assert_eq!(session_graph(&session, &Facts), Err(missing));
    }
    let own = EffectAt { strip: StripId::Track(kick), index: 0 };
    session.tracks[kick].strip.chain = vec![effect("sampler", 1.0, 0.0)];
    session.tracks[kick].from = Some(OutputAt { effect: own, index: 0 });
    let cycle = session_graph(&session, &Facts).unwrap_err();
    assert!(matches!(cycle, GraphError::Cycle { .. }), "{cycle}");
}

#[test]
fn a_track_stays_with_the_effect_whose_output_it_plays_when_a_session_is_split() {
    let mut session = session();
    let [low, high] = ["low", "high"].map(|name| add_group(&mut session, name, MASTER));
    add_track(&mut session, "here", MASTER);
    let kick = add_track(&mut session, "kick", to_group(low));
    let drums = add_track(&mut session, "drums", to_group(high));
    session.tracks[drums].strip.chain = vec![effect("sampler", 1.0, 64.0)];
    let cut = |session: &Session, hosts| {
        let costs = vec![1.0; session.strip_ids().len()];
        split(session, &Facts, &CutOptions { hosts, network_frames: 128, costs: &costs })
    };
    assert_eq!(cut(&session, 3).map(|cut| cut.parts.len()), Ok(3));
    let effect = EffectAt { strip: StripId::Track(drums), index: 0 };
    session.tracks[kick].from = Some(OutputAt { effect, index: 1 });
    assert!(matches!(cut(&session, 3), Err(SplitError::Hosts { most: 2, .. })));
    let cut = cut(&session, 2).unwrap();
    let moved = &cut.parts[1].session;
    let from = moved.tracks.iter().find_map(|track| track.from).expect("the kick plays it");
    assert_eq!(moved.strip(from.effect.strip).name, "drums");
    assert!(cut.parts[0].session.tracks.iter().all(|track| track.from.is_none()));
}

#[test]
fn an_input_that_a_take_records_has_a_node_whether_a_track_plays_it_or_not() {
    let mut session = session();
    add_track(&mut session, "one", MASTER);
    add_track(&mut session, "live", MASTER);
    let input =
        |name: &str| Input { name: name.into(), channels: 1, events: false, latency_frames: 0 };
    session.inputs = vec![input("mic"), input("room"), input("unused")];
    session.tracks[1].input = Some(InputId(0));
    let take = |input, armed| {
        let new = TakeSpec::new(TakeFrom::Input(InputId(input)), "a.wav".into());
        TakeSpec { armed, ..new }
    };
    session.takes = vec![take(1, false), take(0, true), take(1, true)];
    let made = graph(&session);
    let count = |name: &str| made.nodes().iter().filter(|node| node.name == name).count();
    let counts = ["input mic", "input room", "input unused"].map(count);
    assert_eq!(counts, [1, 1, 0]);
    assert_eq!(inputs(&made, "live: sum"), ["input mic"]);
    let outputs: Vec<&str> =
        made.outputs().iter().map(|id| made.nodes()[id.index()].name.as_str()).collect();
    assert_eq!(outputs, ["master: fader"]);
    session.takes.push(take(3, true));
    assert_eq!(session_graph(&session, &Facts), Err(GraphError::NoTakenInput { input: 3 }));
}

/// A clip of one note.
fn notes() -> NoteClip {
    NoteClip {
        base: TimeBase::Beats,
        start: 0.0,
        length: None,
        chase: true,
        source: NoteSource::Written(
            [ClipNote { at: 0.0, length: 1.0, key: 60, velocity: 1.0, channel: 0 }].into(),
        ),
    }
}

/// The nodes whose events each effect of the track `a` receives, where the chain has these kinds.
fn received(session: &mut Session, kinds: &[&str]) -> Vec<Vec<String>> {
    session.tracks[0].strip.chain = kinds.iter().map(|kind| effect(kind, 1.0, 0.0)).collect();
    let made = graph(session);
    let effects = made.nodes().iter().filter(
        |node| matches!(node.kind, NodeKind::Effect { strip, .. } if strip == StripId::Track(0)),
    );
    let events = |node: &Node| {
        let edges = node.inputs.iter().filter(|edge| edge.is_for_events());
        edges.map(|edge| made.nodes()[edge.from.index()].name.clone()).collect()
    };
    effects.map(events).collect()
}

#[test]
fn what_an_effect_sends_reaches_those_behind_it() {
    let mut session = session();
    add_track(&mut session, "a", MASTER);
    add_track(&mut session, "b", MASTER);
    session.tracks[0].notes = vec![notes()];
    session.tracks[1].notes = vec![notes()];
    let all = |expected: &[&[&str]]| -> Vec<Vec<String>> {
        expected.iter().map(|names| names.iter().map(|name| (*name).into()).collect()).collect()
    };
    // Without a sender, every effect gets the notes of the track.
    let plain = received(&mut session, &["synth", "comp", "synth"]);
    assert_eq!(plain, all(&[&["a: notes"], &[], &["a: notes"]]));
    // One that takes notes stands for them.
    let played = received(&mut session, &["synth", "arp", "comp", "synth", "synth"]);
    let notes = ["a: notes"];
    assert_eq!(played, all(&[&notes, &notes, &[], &["a: arp"], &["a: arp"]]));
    let twice = received(&mut session, &["arp", "arp", "synth"]);
    assert_eq!(twice, all(&[&notes, &["a: arp"], &["a: arp"]]));
    // One that takes none adds to them, or to what others send.
    let added = received(&mut session, &["pattern", "synth"]);
    assert_eq!(added, all(&[&[], &["a: notes", "a: pattern"]]));
    let both = received(&mut session, &["arp", "pattern", "synth"]);
    assert_eq!(both, all(&[&notes, &[], &["a: arp", "a: pattern"]]));
    let taken = received(&mut session, &["pattern", "arp", "synth"]);
    assert_eq!(taken, all(&[&[], &["a: notes", "a: pattern"], &["a: arp"]]));
}

#[test]
fn an_effect_that_names_a_track_gets_its_notes_alone() {
    let mut session = session();
    add_track(&mut session, "a", MASTER);
    add_track(&mut session, "b", MASTER);
    let group = add_group(&mut session, "g", MASTER);
    session.tracks[1].notes = vec![notes()];
    let named = |kind| Effect { events: Some(StripId::Track(1)), ..effect(kind, 1.0, 0.0) };
    session.tracks[0].strip.chain = vec![effect("pattern", 1.0, 0.0), named("synth")];
    session.groups[group].strip.chain = vec![named("arp"), effect("synth", 1.0, 0.0)];
    let made = graph(&session);
    assert_eq!(inputs(&made, "a: synth"), ["a: pattern", "b: notes"]);
    // A group has no notes of its own.
    assert_eq!(inputs(&made, "g: arp"), ["g: sum", "b: notes"]);
    assert_eq!(inputs(&made, "g: synth"), ["g: arp", "g: arp"], "its sound and its events");
}

#[test]
fn the_events_that_takes_record_have_one_node_for_each_track_and_input() {
    let mut session = session();
    for name in ["bass", "piano", "voice"] {
        add_track(&mut session, name, MASTER);
    }
    let input =
        |name: &str, events| Input { name: name.into(), channels: 1, events, latency_frames: 0 };
    session.inputs = vec![input("keys", true), input("mic", false)];
    session.tracks[1].notes = vec![notes()];
    session.tracks[1].input = Some(InputId(0));
    session.tracks[2].input = Some(InputId(1));
    let take = |of| TakeSpec::new(TakeFrom::Events(of), "a.mid".into());
    let both = [EventsOf::Track(1), EventsOf::Input(InputId(0)), EventsOf::Track(1)];
    session.takes = both.map(take).into();
    let made = graph(&session);
    assert_eq!(inputs(&made, "piano: events"), ["piano: notes", "input keys"]);
    assert_eq!(inputs(&made, "keys: events"), ["input keys"]);
    let nodes = made.nodes().iter();
    assert_eq!(nodes.filter(|node| matches!(node.kind, NodeKind::Events(_))).count(), 2);
    let outputs: Vec<&str> =
        made.outputs().iter().map(|id| made.nodes()[id.index()].name.as_str()).collect();
    assert_eq!(outputs, ["master: fader"]);
    for of in
        [EventsOf::Track(0), EventsOf::Track(2), EventsOf::Track(9), EventsOf::Input(InputId(1))]
    {
        session.takes = vec![take(of)];
        assert_eq!(session_graph(&session, &Facts), Err(GraphError::NoTakenEvents { of }));
    }
    session.takes = vec![take(EventsOf::Input(InputId(7)))];
    assert_eq!(session_graph(&session, &Facts), Err(GraphError::NoTakenInput { input: 7 }));
}

#[test]
fn places_follow_what_is_removed() {
    let mut session = session();
    for name in ["a", "b", "c"] {
        add_track(&mut session, name, MASTER);
    }
    let lane = || Some(LaneSpec::new(TimeBase::Beats, []));
    let effect_at = |strip, index| LaneTarget::Bypass(EffectAt { strip, index });
    let send_at = |strip, index| LaneTarget::Send(SendAt { strip, index });
    let [a, b, c] = [0, 1, 2].map(StripId::Track);
    for target in [
        LaneTarget::Pan(a),
        LaneTarget::Gain(b),
        effect_at(c, 0),
        effect_at(c, 1),
        send_at(c, 0),
        send_at(c, 1),
    ] {
        session.set_lane(target, lane());
    }
    session.outputs = vec![Output { name: "o".into(), from: c, tap: Tap::PostFader }];
    let key = Some(Key { from: b, tap: Tap::PostFader });
    session.master.chain = vec![Effect { key, ..effect("comp", 1.0, 0.0) }];
    let from = |strip, index| Some(OutputAt { effect: EffectAt { strip, index }, index: 3 });
    session.tracks[1].from = from(c, 1);
    assert_eq!([a, b, c].map(|id| session.listener(id)), [None, Some("master"), Some("b")]);
    session.tracks.remove(0);
    session.forget_strip(a);
    let targets = |session: &Session| -> Vec<LaneTarget> {
        session.automation.iter().map(|lane| lane.target).collect()
    };
    let (b, c) = (StripId::Track(0), StripId::Track(1));
    let expected =
        [LaneTarget::Gain(b), effect_at(c, 0), effect_at(c, 1), send_at(c, 0), send_at(c, 1)];
    assert_eq!(targets(&session), expected);
    assert_eq!(
        (session.outputs[0].from, session.master.chain[0].key.map(|key| key.from)),
        (c, Some(b))
    );
    assert_eq!(session.tracks[0].from, from(c, 1));
    session.forget_effect(EffectAt { strip: c, index: 0 });
    assert_eq!(session.tracks[0].from, from(c, 0));
    session.make_room(EffectAt { strip: c, index: 0 });
    session.forget_send(SendAt { strip: c, index: 0 });
    assert_eq!(targets(&session), [LaneTarget::Gain(b), effect_at(c, 1), send_at(c, 0)]);
    session.set_lane(LaneTarget::Gain(b), None);
    assert!(session.lane(LaneTarget::Gain(b)).is_none() && session.lane(send_at(c, 0)).is_some());
}

#[test]
fn a_group_into_itself_is_a_cycle_of_one() {
    let mut session = session();
    add_track(&mut session, "t", MASTER);
    add_group(&mut session, "own", to_group(0));
    assert_eq!(cycle(&session), ["own", "own"]);
    let text = session_graph(&session, &Facts).unwrap_err().to_string();
    assert_eq!(text, "the routing forms a cycle: own -> own; remove one output or send of it");
}

#[test]
fn returns_that_send_to_each_other_are_a_cycle() {
    for tap in [Tap::PreFader, Tap::PostFader] {
        let mut session = session();
        add_track(&mut session, "t", MASTER);
        add_return(&mut session, "echo", MASTER);
        add_return(&mut session, "room", MASTER);
        add_return(&mut session, "plate", MASTER);
        send(&mut session, StripId::Return(0), 2, tap, f32::NEG_INFINITY);
        send(&mut session, StripId::Return(2), 1, tap, 0.0);
        send(&mut session, StripId::Return(1), 0, tap, 0.0);
        assert_eq!(turned(&cycle(&session)), ["echo", "plate", "room"]);
    }
}

#[test]
fn a_group_that_sends_to_a_return_inside_it_is_a_cycle() {
    let mut session = session();
    let band = add_group(&mut session, "band", MASTER);
    add_track(&mut session, "t", to_group(band));
    let room = add_return(&mut session, "room", to_group(band));
    send(&mut session, StripId::Group(band), room, Tap::PreFader, 0.0);
    assert_eq!(turned(&cycle(&session)), ["band", "room"]);
}

#[test]
fn a_send_from_the_master_is_a_cycle() {
    let mut session = session();
    add_track(&mut session, "t", MASTER);
    let room = add_return(&mut session, "room", MASTER);
    send(&mut session, StripId::Master, room, Tap::PostFader, 0.0);
    assert_eq!(turned(&cycle(&session)), ["master", "room"]);
}

#[test]
fn latency_adds_up_along_the_longest_way() {
    let mut session = session();
    let band = add_group(&mut session, "band", MASTER);
    add_track(&mut session, "slow", to_group(band));
    add_track(&mut session, "fast", to_group(band));
    let room = add_return(&mut session, "room", MASTER);
    session.tracks[0].strip.chain = vec![effect("limit", 1.0, 64.0), effect("fft", 1.0, 512.0)];
    session.tracks[1].strip.chain = vec![effect("limit", 1.0, 64.0)];
    session.groups[band].strip.chain = vec![effect("limit", 1.0, 10.0)];
    session.returns[room].strip.chain = vec![effect("convolve", 1.0, 1024.0)];
    send(&mut session, StripId::Track(1), room, Tap::PostFader, 0.0);
    let units = UnitGraph::compile(&graph(&session), Fusing::Chains).expect("not empty");
    let latency: BTreeMap<&str, u32> =
        units.units().iter().map(|u| (u.name.as_str(), u.latency_frames)).collect();
    assert_eq!(latency["slow: play, limit, fft, fader"], 576);
    assert_eq!(latency["fast: play, limit, fader"], 64);
    assert_eq!(latency["band: sum, limit, fader"], 586);
    assert_eq!(latency["room: sum, convolve, fader"], 1088);
    assert_eq!(latency["master: sum, fader"], 1088);
}

#[test]
fn more_clips_and_more_inputs_cost_more() {
    let mut session = session();
    add_track(&mut session, "a", MASTER);
    let lone = graph(&session);
    add_track(&mut session, "b", MASTER);
    session.tracks[1].clips = vec![clip(), clip(), clip()];
    let two = graph(&session);
    assert!(node(&two, "master: sum").cost > node(&lone, "master: sum").cost);
    assert_eq!(node(&two, "b: play").cost, 3.0 * node(&two, "a: play").cost);
    assert!(lone.nodes().iter().all(|node| node.cost >= 1.0));
}

fn clip() -> Clip {
    Clip {
        media: MediaId(0),
        start_s: 0.0,
        offset_s: 0.0,
        length_s: None,
        looped: false,
        gain_db: 0.0,
        fade_in_s: 0.0,
        fade_out_s: 0.0,
        fade_curve: ClipFade::default(),
    }
}

/// Tracks `in`, `deep`, `out`; groups `outer` with `inner` and the track `in` in it, `inner` with
/// the track `deep`; the track `out` and the return `room` go to the master.
fn solo_session() -> Session {
    let mut session = session();
    let outer = add_group(&mut session, "outer", MASTER);
    let inner = add_group(&mut session, "inner", to_group(outer));
    add_track(&mut session, "in", to_group(outer));
    add_track(&mut session, "deep", to_group(inner));
    add_track(&mut session, "out", MASTER);
    add_return(&mut session, "room", MASTER);
    session
}

/// The names of the strips that are heard.
fn heard(session: &Session) -> Vec<&str> {
    let ids = session.strip_ids().into_iter().zip(audible(session));
    ids.filter(|(_, heard)| *heard).map(|(id, _)| session.strip(id).name.as_str()).collect()
}

fn id_of(session: &Session, name: &str) -> StripId {
    let mut ids = session.strip_ids().into_iter();
    ids.find(|id| session.strip(*id).name == name).unwrap_or_else(|| panic!("no strip '{name}'"))
}

#[test]
fn mute_and_solo_truth_table() {
    let check = |soloed: &[&str], muted: &[&str], expected: &str| {
        let mut session = solo_session();
        for name in soloed {
            let id = id_of(&session, name);
            strip_mut(&mut session, id).solo = true;
        }
        for name in muted {
            let id = id_of(&session, name);
            strip_mut(&mut session, id).mute = true;
        }
        assert_eq!(heard(&session).join(" "), expected, "solo {soloed:?}, mute {muted:?}");
    };
    check(&[], &[], "in deep out outer inner room master");
    // Mute silences one strip; what is downstream is still processed and heard.
    check(&[], &["in"], "deep out outer inner room master");
    check(&[], &["outer"], "in deep out inner room master");
    check(&[], &["room"], "in deep out outer inner master");
    check(&[], &["master"], "in deep out outer inner room");
    // A soloed track is heard through its groups, which are heard for its sake.
    check(&["out"], &[], "out room master");
    check(&["in"], &[], "in outer room master");
    check(&["deep"], &[], "deep outer inner room master");
    // A soloed group is heard with all that flows into it, through however many groups.
    check(&["inner"], &[], "deep outer inner room master");
    check(&["outer"], &[], "in deep outer inner room master");
    check(&["outer", "out"], &[], "in deep out outer inner room master");
    check(&["in", "deep"], &[], "in deep outer inner room master");
    // A solo on a return or the master silences nobody.
    check(&["room"], &[], "in deep out outer inner room master");
    check(&["master"], &[], "in deep out outer inner room master");
    check(&["room", "out"], &[], "out room master");
    // Mute wins over solo.
    check(&["out"], &["out"], "room master");
    check(&["inner"], &["deep"], "outer inner room master");
    check(&["deep"], &["outer"], "deep inner room master");
    check(&["out"], &["room"], "out master");
}

/// Whether its level moves makes no difference: a send of its own node is silent, too.
#[test]
fn a_solo_silences_what_leaves_other_strips_before_their_faders() {
    let mut session = solo_session();
    let [tracks_in, out] = ["in", "out"].map(|name| id_of(&session, name));
    for from in [tracks_in, out] {
        send(&mut session, from, 0, Tap::PreFader, 0.0);
        send(&mut session, from, 0, Tap::PostFader, 0.0);
    }
    let gains = |session: &Session| -> Vec<(String, f32)> {
        let graph = session_graph(session, &Facts).unwrap();
        let inputs = &node(&graph, "room: sum").inputs;
        let name = |edge: &Edge| graph.nodes()[edge.from.index()].name.clone();
        inputs.iter().map(|edge| (name(edge), edge.gain_lin)).collect()
    };
    let check = |session: &Session, expected: [f32; 4]| {
        let gains = gains(session);
        assert_eq!(gains.iter().map(|(_, gain)| *gain).collect::<Vec<_>>(), expected, "{gains:?}");
    };
    check(&session, [1.0; 4]);
    strip_mut(&mut session, tracks_in).mute = true;
    check(&session, [1.0; 4]);
    strip_mut(&mut session, out).solo = true;
    check(&session, [0.0, 1.0, 1.0, 1.0]);
    let moves = LaneTarget::Send(SendAt { strip: tracks_in, index: 0 });
    session.set_lane(moves, Some(LaneSpec::new(TimeBase::Seconds, [])));
    check(&session, [0.0, 1.0, 1.0, 1.0]);
}

#[test]
fn solo_among_groups_in_a_cycle_ends() {
    let mut session = solo_session();
    session.groups[0].output = to_group(1);
    session.groups[1].strip.solo = true;
    assert_eq!(heard(&session).join(" "), "in deep outer inner room master");
}

/// Ten thousand tracks in a hundred groups with sends: the graph of a machine-made session.
#[test]
fn ten_thousand_tracks_in_groups_with_sends_become_a_schedule() {
    let mut session = session();
    for i in 0..100 {
        let output = if i % 10 == 0 { MASTER } else { to_group(i / 10 * 10) };
        add_group(&mut session, &format!("g{i}"), output);
    }
    (0..10).for_each(|i| _ = add_return(&mut session, &format!("r{i}"), MASTER));
    for i in 0..10_000 {
        let track = StripId::Track(add_track(&mut session, &format!("t{i}"), to_group(i % 100)));
        strip_mut(&mut session, track).solo = i % 3 == 0;
        send(&mut session, track, i % 10, Tap::PostFader, -6.0);
        send(&mut session, track, (i + 5) % 10, Tap::PreFader, -6.0);
    }
    assert_eq!(audible(&session).iter().filter(|heard| **heard).count(), 3334 + 100 + 11);
    check_schedules(&session);
}

/// Ten thousand groups, each in the next: as deep as it gets.
#[test]
fn ten_thousand_nested_groups_become_a_schedule() {
    let mut session = session();
    add_track(&mut session, "t", to_group(0));
    for i in 0..10_000 {
        let output = if i == 9_999 { MASTER } else { to_group(i + 1) };
        add_group(&mut session, &format!("g{i}"), output);
    }
    check_schedules(&session);
    session.groups[9_999].output = to_group(0);
    assert_eq!(cycle(&session).len(), 10_001);
}

fn check_schedules(session: &Session) {
    for fusing in [Fusing::Chains, Fusing::None] {
        let units = UnitGraph::compile(&graph(session), fusing).expect("not empty");
        for kind in ScheduleKind::ALL {
            VerifiedSchedule::plan(kind, units.clone(), 8).expect("a sound schedule");
        }
    }
}

/// A session drawn by lot, printed as its routing.
#[derive(Clone)]
struct Drawn(Session);

impl fmt::Debug for Drawn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for id in self.0.strip_ids() {
            let strip = self.0.strip(id);
            let flags = [(strip.mute, " mute"), (strip.solo, " solo")];
            let flags = flags.iter().filter(|(on, _)| *on).map(|(_, name)| *name);
            writeln!(f, "  {}{}: {:?}", strip.name, flags.collect::<String>(), feeds(&self.0, id))?;
        }
        Ok(())
    }
}

/// Every strip that `id` feeds.
fn feeds(session: &Session, id: StripId) -> Vec<StripId> {
    let output = session.output(id).map(StripId::from);
    let sends = session.strip(id).sends.iter().map(|send| StripId::from(send.to));
    output.into_iter().chain(sends).collect()
}

type DrawnStrip = (usize, Vec<(usize, bool, f32)>, bool, bool);

/// Output (0: master), sends, mute and solo of a strip.
fn drawn_strip() -> impl Strategy<Value = DrawnStrip> {
    let gain_db = prop::sample::select(vec![0.0f32, -6.0, f32::NEG_INFINITY]);
    let sends = prop::collection::vec((any::<usize>(), any::<bool>(), gain_db), 0..3);
    (0..8usize, sends, prop::bool::weighted(0.2), prop::bool::weighted(0.2))
}

/// Sessions with any routing, half of them with a cycle.
fn sessions() -> impl Strategy<Value = Drawn> {
    let strips = |range| prop::collection::vec(drawn_strip(), range);
    let parts = (strips(1..8), strips(0..6), strips(0..4), any::<bool>());
    parts.prop_map(|(tracks, groups, returns, forward)| {
        Drawn(drawn_session(&tracks, &groups, &returns, forward))
    })
}

/// `forward`: groups and returns only feed later ones, so no cycle can be.
fn drawn_session(
    tracks: &[DrawnStrip],
    groups: &[DrawnStrip],
    returns: &[DrawnStrip],
    forward: bool,
) -> Session {
    let mut session = session();
    let group_from = |first: usize, drawn: &DrawnStrip| match drawn.0 {
        0 => MASTER,
        n if first < groups.len() => to_group(first + (n - 1) % (groups.len() - first)),
        _ => MASTER,
    };
    for (i, drawn) in tracks.iter().enumerate() {
        let id = add_track(&mut session, &format!("t{i}"), group_from(0, drawn));
        draw_strip(&mut session, StripId::Track(id), drawn, 0, returns.len());
    }
    for (i, drawn) in groups.iter().enumerate() {
        let first = if forward { i + 1 } else { 0 };
        let id = add_group(&mut session, &format!("g{i}"), group_from(first, drawn));
        draw_strip(&mut session, StripId::Group(id), drawn, 0, returns.len());
    }
    for (i, drawn) in returns.iter().enumerate() {
        let output = if forward { MASTER } else { group_from(0, drawn) };
        let id = add_return(&mut session, &format!("r{i}"), output);
        let first = if forward { i + 1 } else { 0 };
        draw_strip(&mut session, StripId::Return(id), drawn, first, returns.len());
    }
    session
}

fn draw_strip(session: &mut Session, id: StripId, drawn: &DrawnStrip, first: usize, end: usize) {
    let (_, sends, mute, solo) = drawn;
    for (to, pre, gain_db) in sends.iter().filter(|_| first < end) {
        let tap = if *pre { Tap::PreFader } else { Tap::PostFader };
        send(session, id, first + to % (end - first), tap, *gain_db);
    }
    let strip = strip_mut(session, id);
    (strip.mute, strip.solo) = (*mute, *solo);
}

/// Whether any strip can reach itself, by exhaustion.
fn has_cycle(session: &Session) -> bool {
    let ids = session.strip_ids();
    ids.iter().any(|start| {
        let mut open = feeds(session, *start);
        let mut seen = Vec::new();
        while let Some(id) = open.pop() {
            if !seen.contains(&id) {
                seen.push(id);
                open.extend(feeds(session, id));
            }
        }
        seen.contains(start)
    })
}

/// What flows into a strip, straight from the session model.
fn expected_inputs(session: &Session, id: StripId) -> Vec<(String, f32)> {
    let mut expected = Vec::new();
    for from in session.strip_ids() {
        let strip = session.strip(from);
        let head = if matches!(from, StripId::Track(_)) { "play" } else { "sum" };
        if session.output(from).map(StripId::from) == Some(id) {
            expected.push((format!("{}: fader", strip.name), 1.0));
        }
        for send in strip.sends.iter().filter(|send| StripId::from(send.to) == id) {
            let node = if send.tap == Tap::PreFader { head } else { "fader" };
            let is_silent = send.tap == Tap::PreFader && !leaves_solos(session, from);
            let gain_lin = match is_silent {
                true => 0.0,
                false => 10f64.powf(f64::from(send.gain_db) / 20.0) as f32,
            };
            expected.push((format!("{}: {node}", strip.name), gain_lin));
        }
    }
    expected
}

/// The rule for solo and mute, word for word.
fn expected_heard(session: &Session, id: StripId) -> bool {
    leaves_solos(session, id) && !session.strip(id).mute
}

/// The part of the rule that is about solo.
fn leaves_solos(session: &Session, id: StripId) -> bool {
    let through = |id: StripId| {
        let mut path = vec![id];
        while let Some(Destination::Group(GroupId(next))) = session.output(path[path.len() - 1]) {
            if path.contains(&StripId::Group(next)) {
                break;
            }
            path.push(StripId::Group(next));
        }
        path
    };
    let safe = |id: &StripId| matches!(id, StripId::Return(_) | StripId::Master);
    let ids = session.strip_ids();
    let soloed: Vec<StripId> =
        ids.into_iter().filter(|id| !safe(id) && session.strip(*id).solo).collect();
    soloed.is_empty()
        || safe(&id)
        || through(id).iter().any(|group| soloed.contains(group))
        || soloed.iter().any(|from| through(*from).contains(&id))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_session_has_a_graph_or_a_cycle(Drawn(session) in sessions()) {
        match session_graph(&session, &Facts) {
            Err(GraphError::Cycle { strips, names }) => {
                prop_assert!(has_cycle(&session));
                prop_assert!(strips.len() >= 2);
                prop_assert_eq!(strips.first(), strips.last());
                for pair in strips.windows(2) {
                    prop_assert!(feeds(&session, pair[0]).contains(&pair[1]), "{:?}", names);
                }
                let mut once = strips[1..].to_vec();
                once.sort_unstable();
                once.dedup();
                prop_assert_eq!(once.len(), strips.len() - 1, "no strip twice: {:?}", names);
            }
            Err(other) => return Err(TestCaseError::fail(other.to_string())),
            Ok(graph) => {
                prop_assert!(!has_cycle(&session));
                for id in session.strip_ids() {
                    if let StripId::Track(_) = id { continue }
                    let head = node(&graph, &format!("{}: sum", session.strip(id).name));
                    let inputs: Vec<(String, f32)> = head.inputs.iter()
                        .map(|e| (graph.nodes()[e.from.index()].name.clone(), e.gain_lin))
                        .collect();
                    prop_assert_eq!(inputs, expected_inputs(&session, id));
                }
                check_schedules(&session);
            }
        }
    }

    #[test]
    fn who_is_heard_follows_the_rule(Drawn(session) in sessions()) {
        let expected: Vec<bool> =
            session.strip_ids().into_iter().map(|id| expected_heard(&session, id)).collect();
        prop_assert_eq!(audible(&session), expected);
    }
}
