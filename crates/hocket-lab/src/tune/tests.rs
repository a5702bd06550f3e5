use hocket_machine::{Topology, facts};
use hocket_plan::{ScheduleKind, SiblingPolicy};
use hocket_rt::Strategy;

use super::derive::clustered;
use super::*;
use crate::harness::{
    Check, Design, ExperimentRun, Results, Rounds, Row, Sample, Size, Variant, twin_of,
};
use crate::stats::Rng;

/// Rows of 24 rounds in which each variant takes its time, give or take a percent.
fn measured(id: &str, metric: &str, times: &[(Variant, f64)]) -> Results {
    measured_in(24, 0.01, id, metric, times)
}

fn measured_in(
    rounds: u32,
    noise: f64,
    id: &str,
    metric: &str,
    times: &[(Variant, f64)],
) -> Results {
    let mut rng = Rng::new(7);
    let mut rows = Vec::new();
    let twins = times.iter().map(|(variant, time)| (twin_of(&variant.name), *time));
    let turns: Vec<(String, f64)> =
        times.iter().map(|(variant, time)| (variant.name.clone(), *time)).chain(twins).collect();
    for round in 0..rounds {
        for (variant, time) in &turns {
            let value = time * (1.0 + noise * rng.normal());
            let sample = Sample::new(metric, value, 1, Check::Passed);
            rows.push(Row::new(variant, round % 5, round / 5, sample));
        }
    }
    let variants = times.iter().map(|(variant, _)| variant.clone()).collect();
    let facts = Design::facts(variants, Rounds::usual(Size::Quick));
    let design = Some(Design { twins: (0..times.len()).collect(), ..facts });
    let run = ExperimentRun { design, ..ExperimentRun::new(id, Size::Quick) };
    Results { run, rows, seed: 1, historic: Vec::new() }
}

fn way(frames: u32, schedule: &str, policy: &str, wait: &str) -> Variant {
    let name = match schedule {
        "serial" => format!("{frames} serial"),
        _ => format!("{frames} {schedule} {policy} {wait}"),
    };
    Variant::new(name)
        .with("frames", frames)
        .with("schedule", schedule)
        .with("policy", policy)
        .with("wait", wait)
}

/// 64 frames: `steal` is as short as the gentler `critical`; 1024 frames: nothing beats one worker.
fn schedules() -> Results {
    schedules_in(24, 0.01)
}

fn schedules_in(rounds: u32, noise: f64) -> Results {
    let times = [
        (way(64, "serial", "off", "hybrid"), 600.0),
        (way(64, "critical", "off", "hybrid"), 352.0),
        (way(64, "steal", "off", "hybrid"), 350.0),
        (way(64, "critical", "off", "futex"), 420.0),
        (way(1024, "serial", "off", "hybrid"), 600.0),
        (way(1024, "critical", "off", "hybrid"), 598.0),
    ];
    measured_in(rounds, noise, "schedules", "duration", &times)
}

fn profile_of(results: Vec<Results>) -> Result<Profile, String> {
    let topology = Topology::discover().unwrap();
    let evidence = Evidence::new(results);
    derive(&evidence, &facts::read(), &topology, "run 1".into(), "2026-01-01T00:00:00Z".into())
}

#[test]
fn of_ways_that_are_as_short_the_gentlest_is_recommended() {
    let profile = profile_of(vec![schedules()]).unwrap();
    let [short, long] = &profile.blocks[..] else { panic!("{:?}", profile.blocks) };
    assert_eq!((short.frames, short.schedule), (64, ScheduleKind::Critical));
    assert_eq!((short.wait, short.policy), (Strategy::Hybrid, SiblingPolicy::Off));
    assert!(short.reasons[0].contains("350") || short.reasons[0].contains("352"), "{short:?}");
    assert!(short.reasons[1].starts_with("steal with hybrid is as short"), "{short:?}");
    assert_eq!((long.frames, long.schedule, long.workers), (1024, ScheduleKind::Serial, 1));
    assert_eq!(profile.for_frames(96).unwrap().frames, 64);
    assert_eq!(profile.for_frames(512).unwrap().frames, 1024);
}

/// `critical` is gentler than `steal`, and its turns scatter so far that nothing shows a difference between the two. The
/// same scatter hides that it is longer than the serial walk.
#[test]
fn a_way_that_is_not_shown_to_be_shorter_than_the_serial_walk_is_not_recommended() {
    let times = [
        (way(64, "serial", "off", "hybrid"), 100.0),
        (way(64, "steal", "off", "hybrid"), 95.0),
        (way(64, "critical", "off", "hybrid"), 103.0),
    ];
    let mut results = measured("schedules", "duration", &times);
    for row in results.rows.iter_mut().filter(|row| row.variant == "64 critical off hybrid") {
        row.sample.value *= [0.93, 1.07, 0.95, 1.05, 1.0][row.process as usize];
    }
    let [serial, steal, critical] = times.map(|(variant, _)| variant.name);
    let against = |reference: &str, way: &str| results.judged_of(reference, way, "duration", 2);
    let alike = against(&steal, &critical);
    assert!(!alike.is_shown() && alike.all.unwrap().ratio < 1.1, "{alike:?}");
    assert!(against(&serial, &steal).judgement.is_less());
    let profile = profile_of(vec![results]).unwrap();
    let [only] = &profile.blocks[..] else { panic!("{:?}", profile.undecided) };
    assert_eq!(only.schedule, ScheduleKind::Steal, "{only:?}");
}

#[test]
fn a_recommendation_says_on_what_it_rests() {
    let profile = profile_of(vec![schedules()]).unwrap();
    let [short, long] = &profile.blocks[..] else { panic!("{:?}", profile.blocks) };
    assert_eq!((short.turns, long.turns), (24, 24));
    let [low, high] = short.change_percent.unwrap();
    assert!(-44.0 < low && low < high && high < -39.0, "{short:?}");
    let [low, high] = long.change_percent.unwrap();
    assert!(-5.0 < low && low < 0.5 && high > -2.0, "{long:?}");
}

#[test]
fn too_few_turns_recommend_nothing() {
    let profile = profile_of(vec![schedules_in(3, 0.01)]).unwrap();
    assert!(profile.blocks.is_empty(), "{:?}", profile.blocks);
    let [short, long] = &profile.undecided[..] else { panic!("{:?}", profile.undecided) };
    assert_eq!((short.frames, long.frames, short.turns), (64, 1024, 3));
    assert!(short.why.contains("against the serial walk 6"), "{short:?}");
    assert!(short.why.contains("3 turns of each are too few"), "{short:?}");
    assert_eq!((profile.for_frames(64), profile.for_frames(1024)), (None, None));
}

/// Enough turns for an interval, which holds both "as short as the serial walk" and "much shorter".
#[test]
fn turns_that_leave_both_open_recommend_nothing() {
    let profile = profile_of(vec![schedules_in(8, 0.3)]).unwrap();
    let long = profile.undecided.iter().find(|it| it.frames == 1024).expect("undecided");
    assert!(long.why.contains("leave both open"), "{long:?}");
    assert_eq!(profile.for_frames(1024), None);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("machine.toml");
    profile.write(&path).unwrap();
    assert_eq!(Profile::read(&path).unwrap(), profile);
}

#[test]
fn a_length_that_was_not_decided_does_not_take_its_neighbours_advice() {
    let mut profile = profile_of(vec![schedules()]).unwrap();
    let why = "too few".to_string();
    profile.undecided = vec![Undecided { frames: 256, turns: 2, why }];
    let frames = |frames| profile.for_frames(frames).map(|block| block.frames);
    assert_eq!((frames(64), frames(100)), (Some(64), Some(64)));
    assert_eq!((frames(256), frames(300), frames(2048)), (None, None, Some(1024)));
}

#[test]
fn what_was_not_measured_is_told_and_assumed() {
    let profile = profile_of(vec![schedules()]).unwrap();
    assert_eq!(profile.unknown.len(), EXPERIMENTS.len() - 1, "{:?}", profile.unknown);
    assert!(profile.seats.is_empty() && profile.waits.is_empty());
    assert!(profile.together.pair_speed.is_none());
    let nothing = profile_of(Vec::new()).unwrap_err();
    assert!(nothing.contains("schedules"), "{nothing}");
}

#[test]
fn a_busy_sibling_and_the_way_to_another_core_are_counted_with() {
    let seat = |cpu: u32, beside: &str| {
        Variant::new(format!("biquads cpu{cpu} {beside}")).on(&[cpu], None)
    };
    let speeds = measured(
        "core-speed",
        "time",
        &[
            (seat(0, "alone"), 1000.0),
            (seat(1, "alone"), 1030.0),
            (seat(2, "alone"), 2000.0),
            (seat(0, "busy-sibling"), 1600.0),
            (seat(1, "busy-sibling"), 1648.0),
        ],
    );
    let turns = [(Variant::new("signal-pause same-cache"), 5e6)];
    let wake = [(Variant::new("pause fifo idle"), 800.0), (Variant::new("hybrid fifo idle"), 9e3)];
    let profile = profile_of(vec![
        schedules(),
        speeds,
        measured("ping-pong", "hand-overs", &turns),
        measured("wake", "lateness", &wake),
    ])
    .unwrap();
    let near = |value: Option<f64>, expected: f64| {
        assert!((value.unwrap() / expected - 1.0).abs() < 0.02, "{value:?} {expected}");
    };
    near(profile.together.pair_speed, 0.625);
    near(profile.together.hand_over_ns, 200.0);
    near(profile.together.start_ns, 800.0);
    let speeds: Vec<f32> = profile.seats.iter().map(|seat| seat.speed).collect();
    assert!(speeds[0] == 1.0 && speeds[1] == 1.0 && (speeds[2] - 0.5).abs() < 0.03, "{speeds:?}");
    assert_eq!(profile.waits.len(), 2);
    near(Some(profile.waits[1].wake_us), 9.0);
}

/// Of four seats, one is shown to be slower beside its sibling. What it loses is not what a seat loses.
#[test]
fn what_a_seat_loses_is_the_median_over_all_seats() {
    let speed_of = |beside: [f64; 4]| {
        let seat = |cpu: u32, beside: &str| {
            Variant::new(format!("biquads cpu{cpu} {beside}")).on(&[cpu], None)
        };
        let times = (0..).zip(beside).flat_map(|(cpu, beside)| {
            [(seat(cpu, "alone"), 1000.0), (seat(cpu, "busy-sibling"), beside)]
        });
        let speeds = measured("core-speed", "time", &times.collect::<Vec<_>>());
        profile_of(vec![schedules(), speeds]).unwrap().together.pair_speed
    };
    let one_slow = speed_of([1600.0, 1000.0, 1000.0, 1000.0]).unwrap();
    assert!((0.97..=1.0).contains(&one_slow), "{one_slow}");
    let all_slow = speed_of([1600.0, 1500.0, 1700.0, 1600.0]).unwrap();
    assert!((0.61..0.64).contains(&all_slow), "{all_slow}");
    // Nobody is slower, so nothing is known of a loss; a seat that is faster is none.
    assert_eq!(speed_of([500.0, 1000.0, 1000.0, 1000.0]), None);
}

#[test]
fn seats_that_differ_little_are_of_one_kind() {
    let speeds = |all: &[f64]| -> Vec<f32> {
        let seats: Vec<(u32, f64)> = (0..).zip(all.iter().copied()).collect();
        clustered(&seats).iter().map(|seat| seat.speed).collect()
    };
    assert_eq!(speeds(&[1.0, 0.93, 0.97, 0.95]), [1.0; 4]);
    assert_eq!(speeds(&[0.55, 1.0, 0.53, 0.98]), [0.54, 1.0, 0.54, 1.0]);
    assert!(speeds(&[]).is_empty());
}

#[test]
fn the_file_gives_back_what_was_written() {
    let profile = profile_of(vec![schedules()]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("machine.toml");
    profile.write(&path).unwrap();
    assert_eq!(Profile::read(&path).unwrap(), profile);

    let refused = |text: String, word: &str| {
        std::fs::write(&path, text).unwrap();
        let error = Profile::read(&path).unwrap_err().to_string();
        assert!(error.contains(word) && error.contains("hocket tune"), "{error}");
    };
    refused(profile.text().replace("version = 2", "version = 9"), "version 9");
    refused(profile.text().replace("\"critical\"", "\"fastest\""), "'fastest'");
    refused(profile.text().replace("workers = 1", "workers = 0"), "0 workers");
    refused(profile.text().replace("frames = 64", "frames = 0"), "0 frames");
    refused(profile.text().replace("[together]", "[together]\nstart_ns = nan"), "start_ns");
    refused(profile.text().replace("[together]", "[together]\npair_speed = -3.0"), "pair_speed");
    refused(profile.text()[..profile.text().len() / 2].to_string(), "machine.toml");
}

#[test]
fn what_is_no_file_is_refused_at_once() {
    for path in ["/dev/zero", "/"] {
        let error = Profile::read(std::path::Path::new(path)).unwrap_err().to_string();
        assert!(error.contains("no file"), "{error}");
    }
}

#[test]
fn it_holds_until_something_changes() {
    let profile = profile_of(vec![schedules()]).unwrap();
    let then = &profile.holds_while;
    let now = Conditions::of(&facts::read(), &Topology::discover().unwrap());
    assert!(then.changed(&now).is_empty());
    let other = Conditions { kernel: "9.9".into(), topology: "0+1".into(), ..now };
    let changed = then.changed(&other);
    assert_eq!(changed.len(), 2);
    assert!(changed[0].contains("the kernel was") && changed[0].contains("'9.9'"), "{changed:?}");
}
