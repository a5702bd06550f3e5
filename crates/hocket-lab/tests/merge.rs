//! The records of several process starts become one, and nothing of any of them is lost.

mod fixture;

use hocket_engine::{Couples, Policy, Strategy};
use hocket_lab::bench::{BenchPlan, VariantPlan, merge};
use hocket_lab::record::{BenchRecord, Contained, Counted, CountedGroup, DiskSilence, LostEvents};
use hocket_lab::report::Analysis;
use hocket_plan::{ScheduleKind, SiblingPolicy};

const STARTS: u64 = 3;

/// Five variants of 6 rounds in all.
fn plan() -> BenchPlan {
    let policy = Policy {
        schedule: ScheduleKind::Dataflow,
        sibling: SiblingPolicy::Off,
        wait: Strategy::Hybrid,
    };
    BenchPlan {
        variants: vec![VariantPlan { policy, auto: false, couples: Couples::Never }; 5],
        frames: 64,
        rate_hz: 48_000,
        workers: None,
        priority: None,
        seat_wait: Strategy::Pause,
        starts: STARTS as usize,
        blocks: 600,
        blocks_per_round: 100,
        warm_up: 50,
        seed: 9,
        disturb: Vec::new(),
        counters: false,
        counters_per_kind: false,
        command: vec!["hocket".into(), "bench".into()],
        session_file: "a.toml".into(),
        session_sha256: Some("5f70bf18".into()),
        fill: None,
        alone: false,
    }
}

/// What a process start tells: it knows of no other.
fn start(seed: u64) -> BenchRecord {
    let shape = fixture::Shape { seed, pairs: true, rounds: 2, blocks_per_round: 100, load: 0.9 };
    let mut record = shape.record();
    record.settings.starts = 1;
    record.variants.remove(5);
    for variant in &mut record.variants {
        variant.rounds.iter_mut().for_each(|round| round.start = 0);
    }
    record.wake_loop.rounds.iter_mut().for_each(|round| round.start = 0);
    record
}

fn starts() -> Vec<BenchRecord> {
    (0..STARTS).map(start).collect()
}

#[test]
fn every_sample_count_and_cause_is_there() {
    let starts = starts();
    let all = merge(&plan(), starts.clone(), None).unwrap();
    assert_eq!((all.settings.starts, all.settings.rounds, all.settings.seed), (3, 6, 9));
    assert_eq!((&all.session.file, all.command.len(), &all.partial), (&"a.toml".into(), 2, &None));
    for (index, variant) in all.variants.iter().enumerate() {
        let own = || starts.iter().map(|start| &start.variants[index]);
        assert!(variant.duration_ns().eq(own().flat_map(|it| it.duration_ns())));
        assert_eq!(variant.misses(), own().map(|it| it.misses()).sum());
        let numbers: Vec<(u32, u32)> = variant.rounds.iter().map(|r| (r.start, r.round)).collect();
        assert_eq!(numbers, [(0, 0), (0, 1), (1, 2), (1, 3), (2, 4), (2, 5)]);
        let late = variant.explained.as_ref().unwrap();
        assert_eq!(late.causes.total() + late.unexplained, variant.misses().late);
        assert!(late.last.len() <= 8);
        let slack = |it: &hocket_trace::BlockTrace| it.deadline_ns - it.finished_ns;
        let worst = own().filter_map(|it| it.worst.as_ref()).map(slack).min();
        assert_eq!(variant.worst.as_ref().map(slack), worst);
        for (number, disturber) in variant.disturbers.iter().enumerate() {
            let of = || own().map(move |it| &it.disturbers[number]);
            let progress: Vec<f64> = of().flat_map(|it| it.progress.clone()).collect();
            assert_eq!(disturber.progress, progress);
            assert_eq!(disturber.cpu_time_ns, of().map(|it| it.cpu_time_ns).sum::<u64>());
            assert!(disturber.ran_on.is_some());
        }
    }
    let loops = starts.iter().flat_map(|start| start.wake_loop.lateness_ns());
    assert!(all.wake_loop.lateness_ns().eq(loops));
    let analysis = Analysis::of(&all);
    assert!(analysis.starts == 3 && analysis.floor.is_some());
}

/// Every turn of the run has a place of its own, in the order of the starts.
#[test]
fn turns_keep_their_order() {
    let all = merge(&plan(), starts(), None).unwrap();
    let highest = |start: u32| {
        let rounds = all.variants.iter().flat_map(|variant| &variant.rounds);
        let own = move |it: &&hocket_lab::record::Round| it.start == start;
        let orders: Vec<u32> = rounds.filter(own).map(|round| round.order).collect();
        (*orders.iter().min().unwrap(), *orders.iter().max().unwrap())
    };
    assert!(highest(0).1 < highest(1).0 && highest(1).1 < highest(2).0);
}

#[test]
fn what_went_wrong_in_any_start_is_kept() {
    let mut starts = starts();
    let silent = |unit: &str, panic: Option<&str>| Contained {
        unit: unit.into(),
        blocks: 2,
        failed: 1,
        panic: panic.map(Into::into),
    };
    starts[0].contained = vec![silent("hall", None)];
    starts[2].contained = vec![silent("hall", Some("broken")), silent("bass", None)];
    let gap = |file: &str| DiskSilence {
        file: file.into(),
        silent_frames: 64,
        position: Some(7),
        cause: None,
    };
    starts[1].disk = vec![gap("a.wav")];
    starts[2].disk = vec![gap("a.wav"), gap("b.wav")];
    let lost = |events| vec![LostEvents { node: "lead notes".into(), events }];
    (starts[0].lost_events, starts[2].lost_events) = (lost(5), lost(6));
    starts[1].variants[0].threads[1].cpu_got = None;
    starts[2].partial = Some("a disturber ended".into());
    let all = merge(&plan(), starts, None).unwrap();
    let contained: Vec<_> =
        all.contained.iter().map(|it| (&*it.unit, it.blocks, it.failed)).collect();
    assert_eq!(contained, [("hall", 4, 2), ("bass", 2, 1)]);
    assert_eq!(all.contained[0].panic.as_deref(), Some("broken"));
    let disk: Vec<_> = all.disk.iter().map(|it| (&*it.file, it.silent_frames)).collect();
    assert_eq!(disk, [("a.wav", 128), ("b.wav", 64)]);
    assert_eq!(all.lost_events, lost(11));
    let threads = &all.variants[0].threads;
    assert_eq!(threads.len(), all.variants[1].threads.len() + 1);
    assert_eq!(threads.last().unwrap().thread, "worker 1, start 2");
    assert_eq!(all.partial.as_deref(), Some("a disturber ended"));
}

#[test]
fn a_run_that_was_cut_says_how_much_there_is() {
    let mut starts = starts();
    starts.pop();
    let turns = |record: &BenchRecord| record.partial.clone().unwrap();
    let all = merge(&plan(), starts, Some("interrupted")).unwrap();
    assert_eq!(turns(&all), "interrupted after 28 of 42 turns");
    assert!(merge(&plan(), Vec::new(), Some("interrupted")).is_none());
}

#[test]
fn rounds_are_dealt_out_among_the_starts() {
    let dealt = |starts: usize, blocks: u64| {
        let plan = BenchPlan { starts, blocks, ..plan() };
        let all = plan.of_starts();
        let seeds: std::collections::BTreeSet<u64> = all.iter().map(|it| it.seed).collect();
        assert_eq!(seeds.len(), all.len(), "each start has an order of its own");
        assert_eq!(all.iter().map(BenchPlan::turns).sum::<usize>(), plan.turns());
        all.iter().map(|it| it.blocks).collect::<Vec<u64>>()
    };
    assert_eq!(dealt(5, 2000), [400; 5]);
    assert_eq!(dealt(3, 700), [200, 200, 300]);
    assert_eq!(dealt(5, 150), [100, 100], "never more starts than rounds");
    assert_eq!(dealt(1, 250), [300]);
    assert_eq!(dealt(0, 100), [100]);
}

/// Counts of a thread and group add up; other events of the same group, as another start may have them, stay apart.
#[test]
fn counts_of_all_starts_add_up() {
    let counted = |events: &[&str], count: u64| Counted {
        groups: vec![CountedGroup {
            thread: "leader".into(),
            core: "Zen 4".into(),
            group: "pipeline".into(),
            turns: 1,
            running_ns: 10 * count,
            counts: events.iter().map(|event| ((*event).to_owned(), count)).collect(),
        }],
        limits: vec!["no counters on worker 1".into()],
        ..Counted::default()
    };
    let mut starts = starts();
    starts[0].variants[0].counted = Some(counted(&["cycles", "instructions"], 1));
    starts[1].variants[0].counted = Some(counted(&["cycles", "instructions"], 2));
    starts[2].variants[0].counted = Some(counted(&["cycles"], 4));
    let all = merge(&plan(), starts, None).unwrap();
    let counted = all.variants[0].counted.as_ref().unwrap();
    let sums: Vec<_> = counted.groups.iter().map(|it| (it.turns, it.running_ns)).collect();
    assert_eq!(sums, [(2, 30), (1, 40)]);
    assert_eq!(counted.groups[0].counts["instructions"], 3);
    assert_eq!(counted.limits, ["no counters on worker 1"]);
    assert_eq!(all.variants[1].counted, None);
}
