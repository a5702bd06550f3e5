//! A session that is cut for several hosts sounds as the whole: an engine for each host, and lines in place of the network.

#[allow(dead_code)]
#[path = "engine/stage.rs"]
mod stage;

use std::collections::VecDeque;

use hocket_engine::time::{LanePoint, Shape, TimeBase};
use hocket_engine::{Effects, Engine, Fusing, LaneSpec, LaneTarget, prepare_session};
use hocket_plan::session::{
    Automation, Destination, Group, GroupId, Return, ReturnId, Send, SendAt, Strip, StripId, Tap,
    Track,
};
use hocket_plan::split::{Cut, CutOptions, SplitError, expected_costs, split};
use hocket_plan::{Effect, Key, ScheduleKind, Session};

use stage::{FRAMES, RATE_HZ, whole_file};

/// Periods that the network takes.
const PERIODS: usize = 3;
const BLOCKS: usize = 300;

fn strip(name: &str, chain: &[&str]) -> Strip {
    let chain = chain.iter().map(|kind| stage::effect(kind)).collect();
    Strip { gain_db: -5.0, pan: 0.2, chain, ..Strip::new(name) }
}

fn send(to: usize, gain_db: f32, tap: Tap) -> Send {
    Send { to: ReturnId(to), gain_db, tap, feedback: false }
}

fn track(name: &str, output: Destination, chain: &[&str], sends: Vec<Send>) -> Track {
    let start = f64::from(name.as_bytes()[0]) * 0.0003;
    let clip = hocket_plan::session::Clip { start_s: start, looped: true, ..whole_file() };
    let strip = Strip { sends, ..strip(name, chain) };
    Track { strip, output, clips: vec![clip], input: None, from: None, notes: Vec::new() }
}

/// Three groups that go to the master, one with another group in it. Every kind of send leads from them to the returns. One has
/// effects with latency, and a send of one moves.
fn session() -> Session {
    let (pre, post) = (Tap::PreFader, Tap::PostFader);
    let to = |group| Destination::Group(GroupId(group));
    let tracks = vec![
        track("alone", Destination::Master, &["eq"], vec![send(0, -9.0, post)]),
        track("bass", to(0), &["compressor"], vec![send(0, -3.0, pre), send(1, -4.0, post)]),
        track("cello", to(0), &[], vec![send(1, -1.0, post), send(1, -8.0, pre)]),
        track("drums", to(1), &["limiter"], vec![]),
        track("echo", to(2), &["eq"], vec![send(0, -2.0, post)]),
        track("flute", to(3), &[], vec![]),
        track("guitar", Destination::Master, &[], vec![]),
    ];
    let group = |name, output, chain: &[&str], sends| Group {
        strip: Strip { sends, ..strip(name, chain) },
        output,
    };
    let groups = vec![
        group("strings", Destination::Master, &["compressor"], vec![send(1, -6.0, pre)]),
        group("rhythm", Destination::Master, &["limiter"], vec![send(0, -7.0, post)]),
        group("inner", to(1), &[], vec![send(0, -5.0, pre)]),
        group("winds", Destination::Master, &[], vec![]),
    ];
    let back = |name, chain: &[&str], sends| Return {
        strip: Strip { sends, ..strip(name, chain) },
        output: Destination::Master,
    };
    let returns = vec![
        back("room", &["freeverb"], vec![send(1, -12.0, post)]),
        back("echoes", &["delay", "eq"], vec![]),
    ];
    let point = |at: f64, value: f64| LanePoint { at, value, shape: Shape::Linear };
    let lane = LaneSpec::new(TimeBase::Seconds, vec![point(0.0, -30.0), point(0.3, 0.0)]);
    let at = SendAt { strip: StripId::Track(2), index: 1 };
    let automation = vec![
        Automation { target: LaneTarget::Send(at), lane: lane.clone() },
        Automation { target: LaneTarget::Gain(StripId::Master), lane: lane.clone() },
        Automation { target: LaneTarget::Gain(StripId::Group(1)), lane },
    ];
    Session {
        tracks,
        groups,
        returns,
        automation,
        master: strip("master", &["compressor", "limiter"]),
        ..stage::session()
    }
}

fn cut(session: &Session, hosts: usize) -> Result<Cut, SplitError> {
    let effects = Effects::builtin();
    let facts = effects.at(RATE_HZ);
    let costs = expected_costs(session, &facts).unwrap();
    let network_frames = (PERIODS * FRAMES) as u32;
    split(session, &facts, &CutOptions { hosts, network_frames, costs: &costs })
}

fn engine(session: &Session) -> Engine {
    let prepared = prepare_session(session, &stage::media(), RATE_HZ, Fusing::Chains).unwrap();
    stage::engine(prepared, stage::policy(ScheduleKind::Serial), 1)
}

/// Both channels of the master, from the song's first frame on.
fn in_time(engine: &Engine, rows: [Vec<f32>; 2]) -> [Vec<f32>; 2] {
    let late = engine.control().standing().latency_frames as usize;
    rows.map(|row| row[late..].to_vec())
}

fn whole(session: &Session) -> [Vec<f32>; 2] {
    let (mut engine, mut rows) = (engine(session), [Vec::new(), Vec::new()]);
    for _ in 0..BLOCKS {
        engine.process(FRAMES);
        let output = engine.output(FRAMES);
        rows[0].extend_from_slice(output.left);
        rows[1].extend_from_slice(output.right);
    }
    in_time(&engine, rows)
}

/// What host 0 puts out: in each period it hears what the others put out some periods before.
fn together(cut: &Cut) -> [Vec<f32>; 2] {
    let mut engines: Vec<Engine> = cut.parts.iter().map(|part| engine(&part.session)).collect();
    let silence = vec![[vec![0.0; FRAMES], vec![0.0; FRAMES]]; cut.links.len()];
    let mut network: VecDeque<_> = std::iter::repeat_n(silence, PERIODS).collect();
    let mut rows = [Vec::new(), Vec::new()];
    for _ in 0..BLOCKS {
        let mut sent = Vec::new();
        for (host, engine) in engines.iter_mut().enumerate().skip(1) {
            engine.process(FRAMES);
            let links = cut.links.iter().enumerate().filter(|(_, link)| link.host == host);
            for (output, (link, _)) in links.enumerate() {
                let all = engine.output_rows(output + 1, FRAMES).unwrap();
                sent.push((link, [all.row(0).to_vec(), all.row(1).to_vec()]));
            }
        }
        sent.sort_by_key(|(link, _)| *link);
        network.push_back(sent.into_iter().map(|(_, rows)| rows).collect());
        for (number, sound) in network.pop_front().unwrap().iter().enumerate() {
            let mut all = engines[0].input_mut(number as u16, FRAMES).unwrap();
            all.row_mut(0).copy_from_slice(&sound[0]);
            all.row_mut(1).copy_from_slice(&sound[1]);
        }
        engines[0].process(FRAMES);
        let output = engines[0].output(FRAMES);
        rows[0].extend_from_slice(output.left);
        rows[1].extend_from_slice(output.right);
    }
    in_time(&engines[0], rows)
}

#[test]
fn hosts_sound_together_as_the_whole_bit_for_bit() {
    let _alone = stage::alone();
    let session = session();
    let whole = whole(&session);
    assert!(whole[0].iter().any(|sample| sample.abs() > 0.01), "the whole is silent");
    for hosts in 2..=4 {
        let cut = cut(&session, hosts).unwrap();
        assert_eq!(cut.parts.len(), hosts);
        assert!((1..hosts).all(|host| !cut.parts[host].groups.is_empty()));
        let together = together(&cut);
        for (channel, (together, whole)) in together.iter().zip(&whole).enumerate() {
            // Zeros may differ in their sign: a muted strip that only sends adds some.
            let differs =
                |(a, b): (&f32, &f32)| a.to_bits() != b.to_bits() && (*a, *b) != (0.0, 0.0);
            let place = together.iter().zip(whole).position(differs);
            assert!(together.len() > RATE_HZ as usize / 4, "{}", together.len());
            assert_eq!(place, None, "{hosts} hosts, channel {channel}, first frame that differs");
        }
    }
}

#[test]
fn inputs_say_how_late_they_are_with_the_latency_of_the_effects_there() {
    let session = session();
    let cut = cut(&session, 4).unwrap();
    let network = (PERIODS * FRAMES) as u32;
    let of = |carries: &str| {
        let link = cut.links.iter().find(|link| link.carries == carries);
        link.unwrap_or_else(|| panic!("{carries}: {:?}", cut.links)).latency_frames
    };
    assert_eq!(of("'winds'"), network);
    assert_eq!(of("'cello'"), network);
    let limiter =
        (hocket_dsp::kind("limiter").unwrap().build)(&stage::effect("limiter").values, RATE_HZ);
    let limiter = limiter.latency_frames();
    assert!(limiter > 0);
    // One in the track, one in the group.
    assert_eq!(of("'rhythm'"), network + 2 * limiter);
    let inputs = &cut.parts[0].session.inputs;
    assert_eq!(inputs.len(), cut.links.len());
    for (input, link) in inputs.iter().zip(&cut.links) {
        assert_eq!((&input.name, input.latency_frames), (&link.name, link.latency_frames));
    }
}

#[test]
fn what_hears_another_group_stays_with_it() {
    let mut session = session();
    let key = Key { from: StripId::Group(0), tap: Tap::PostFader };
    session.tracks[3].strip.chain.push(Effect { key: Some(key), ..stage::effect("compressor") });
    assert!(matches!(cut(&session, 4), Err(SplitError::Hosts { most: 3, .. })));
    let cut = cut(&session, 3).unwrap();
    assert!(cut.parts.iter().any(|part| part.groups == ["strings", "rhythm"]), "{:?}", cut.parts);
}

#[test]
fn shares_are_about_equal_and_no_host_is_without() {
    let session = session();
    let effects = Effects::builtin();
    let facts = effects.at(RATE_HZ);
    let ids = session.strip_ids();
    // The drums cost as much as all else together.
    let cost = |id: &StripId| if *id == StripId::Track(3) { 100.0 } else { 1.0 };
    let costs: Vec<f64> = ids.iter().map(cost).collect();
    let options = CutOptions { hosts: 2, network_frames: 64, costs: &costs };
    let cut = split(&session, &facts, &options).unwrap();
    assert_eq!(cut.parts[1].groups, ["rhythm"]);
    let sum: f64 = cut.parts.iter().map(|part| part.cost).sum();
    assert_eq!(sum, costs.iter().sum::<f64>());
    // Nothing costs anything: all the same each host has a group.
    let nothing = vec![0.0; ids.len()];
    let options = CutOptions { hosts: 4, network_frames: 64, costs: &nothing };
    let cut = split(&session, &facts, &options).unwrap();
    assert!((1..4).all(|host| cut.parts[host].groups.len() == 1));
}
