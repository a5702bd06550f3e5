//! Constructed evidence for every cause, mixtures of them, and nonsense.
//!
//! Two workers, a period of 1000 µs. The block as planned:
//!
//! ```text
//! worker 0   . [drums 20..300] wait              [master 620..900]
//! worker 1   .. [vocals 30..........600]
//! ```

use hocket_trace::cause::{
    Caller, Cause, Evidence, Party, Seat, Share, Verdict, explain, explain_unusual,
};
use hocket_trace::switches::{Ran, Switches};
use hocket_trace::{BlockTrace, Doing, Lane, Span};
use proptest::prelude::*;

const US: i64 = 1_000;
const LEADER: &str = "worker 0 (leader)";
const STRANGER: i32 = 4711;
const OWN: [i32; 2] = [100, 101];

fn lane(name: &str, cpu: u32, awake: i64, units: &[(u32, i64, i64)]) -> Lane {
    let span = |&(unit, start, end): &(u32, i64, i64)| Span {
        doing: Doing::Unit(unit),
        start_ns: start * US,
        end_ns: end * US,
        away_ns: None,
    };
    let finished_ns = units.last().map_or(awake, |unit| unit.2) * US;
    let spans = units.iter().map(span).collect();
    Lane { name: name.into(), cpu: Some(cpu), awake_ns: awake * US, finished_ns, spans }
}

/// The leader wakes at `awake.0` and runs `lead`, worker 1 wakes at `awake.1` and runs `help`.
fn block(awake: (i64, i64), lead: &[(u32, i64, i64)], help: &[(u32, i64, i64)]) -> Evidence {
    let units = lead.iter().chain(help);
    let finished = units.map(|unit| unit.2).max().unwrap_or(awake.0);
    Evidence {
        trace: BlockTrace {
            block: 7,
            awake_ns: awake.0 * US,
            finished_ns: finished * US,
            deadline_ns: 1000 * US,
            plan: None,
            unit_names: ["drums", "vocals", "master"].map(String::from).to_vec(),
            lanes: vec![lane(LEADER, 0, awake.0, lead), lane("worker 1", 1, awake.1, help)],
        },
        estimates_ns: [280, 570, 280].map(|us| (us * US) as f64).to_vec(),
        expected_ns: (880 * US) as f64,
        signaled_ns: 0,
        engine_tids: OWN.to_vec(),
        seats: [LEADER, "worker 1"]
            .map(|lane| Seat { lane: lane.into(), ..Seat::default() })
            .to_vec(),
    }
}

/// `vocals` ends at `end` instead of 600, and `master` follows it.
fn slow_vocals(end: i64) -> Evidence {
    block((20, 30), &[(0, 20, 300), (2, end + 1, end + 281)], &[(1, 30, end)])
}

fn stranger(cpu: u32, start: i64, end: i64) -> Switches {
    let ran = |tid, name: &str, start: i64, end: i64| Ran {
        tid,
        name: name.into(),
        start_ns: start * US,
        end_ns: end * US,
    };
    let own = ran(OWN[1], "worker 1", 0, start);
    Switches { cpu, intervals: vec![own, ran(STRANGER, "preview", start, end)], unknown: vec![] }
}

fn verdict(evidence: &Evidence) -> Verdict {
    explain(evidence).unwrap_or_else(|| panic!("the block was late"))
}

/// The cause is `cause`, explains `share` us, and its sentence holds `words`.
#[track_caller]
fn check(evidence: &Evidence, cause: Cause, share: i64, words: &[&str]) -> Verdict {
    let found = verdict(evidence);
    assert_eq!((found.cause, found.share_ns / US), (cause, share), "{found:#?}");
    for word in words {
        assert!(found.text.contains(word), "`{word}` in: {}", found.text);
    }
    found
}

#[test]
fn a_block_in_time_is_explained_by_what_it_took_more_than_usual() {
    let mut evidence = slow_vocals(700);
    assert_eq!(explain(&evidence), None);
    let found = explain_unusual(&evidence).expect("101 µs more than usual");
    assert_eq!((found.cause, found.late_ns / US), (Cause::UnitSlow, 101), "{found:#?}");
    for word in ["981 µs of 1000 µs", "101 µs more than usual", "vocals took 670 µs"] {
        assert!(found.text.contains(word), "`{word}` in: {}", found.text);
    }
    evidence.expected_ns = (990 * US) as f64;
    assert_eq!(explain_unusual(&evidence), None, "it took less than usual");
    evidence.expected_ns = f64::NAN;
    assert_eq!(explain_unusual(&evidence), None, "nobody knows what is usual");
}

#[test]
fn a_block_that_is_on_time_has_no_cause() {
    assert_eq!(explain(&slow_vocals(600)), None);
}

#[test]
fn the_leader_woke_late() {
    let late = block((320, 330), &[(0, 320, 600), (2, 901, 1181)], &[(1, 330, 900)]);
    check(&late, Cause::LeaderWokeLate, 181, &["block 7 came 181 µs too late", "leader", "320 µs"]);
}

#[test]
fn the_device_signaled_late() {
    let mut late = block((320, 330), &[(0, 320, 600), (2, 901, 1181)], &[(1, 330, 900)]);
    late.signaled_ns = 310 * US;
    check(&late, Cause::SignaledLate, 181, &["device", "310 µs"]);
}

#[test]
fn a_worker_woke_late() {
    let late = block((20, 430), &[(0, 20, 300), (2, 1001, 1281)], &[(1, 430, 1000)]);
    check(&late, Cause::WorkerWokeLate, 281, &["worker 1 did not run for 410 µs"]);
}

#[test]
fn a_worker_that_never_came_left_its_work_to_the_leader() {
    let mut late = block((20, 0), &[(0, 20, 300), (1, 300, 870), (2, 870, 1150)], &[]);
    late.trace.lanes.pop();
    let found = check(&late, Cause::WorkerWokeLate, 150, &["worker 1"]);
    assert!(found.others.iter().all(|share| share.cause != Cause::Overload), "{found:#?}");
    late.seats[1].own = Some(stranger(1, 10, 2000));
    check(&late, Cause::SeatTaken, 150, &["preview (thread 4711)", "the seat of worker 1"]);
}

#[test]
fn a_unit_was_slow() {
    let found =
        check(&slow_vocals(900), Cause::UnitSlow, 181, &["vocals took 870 µs instead of 570 µs"]);
    assert_eq!(found.subject, "vocals");
}

/// A unit of two strips has both names, so each sentence about it names both.
#[test]
fn a_slow_unit_of_two_strips_is_named_by_both() {
    let both = "vocals: play, eq, fader | choir: play, eq, fader";
    let named = |mut late: Evidence| {
        late.trace.unit_names[1] = both.into();
        late
    };
    let words = [&*format!("{both} took 870 µs instead of 570 µs")];
    let found = check(&named(slow_vocals(900)), Cause::UnitSlow, 181, &words);
    assert_eq!(found.subject, both);
    let mut late = named(slow_vocals(900));
    late.seats[1].siblings = vec![stranger(5, 0, 2000)];
    check(&late, Cause::SiblingBusy, 181, &[both, "CPU 5, beside worker 1"]);
    late.seats[1].siblings.clear();
    late.trace.lanes[1].spans[0].away_ns = Some(250 * US);
    check(&late, Cause::CpuLost, 181, &["worker 1 had no CPU for 250 µs", both]);
}

#[test]
fn a_slow_unit_that_nobody_waited_for_is_not_accused() {
    // drums takes three times as long, and still ends before vocals.
    let mut late = block((20, 30), &[(0, 20, 590), (2, 901, 1181)], &[(1, 30, 900)]);
    late.seats[0].own = Some(stranger(0, 100, 500));
    check(&late, Cause::UnitSlow, 181, &["vocals"]);
}

/// The leader wakes at 320, and a stranger has its seat until then.
fn leader_behind_a_stranger() -> Evidence {
    let mut late = block((320, 330), &[(0, 320, 600), (2, 901, 1181)], &[(1, 330, 900)]);
    late.seats[0].own = Some(stranger(0, 0, 320));
    late
}

#[test]
fn a_thread_of_lower_priority_does_not_keep_a_sleeper_away() {
    let mut late = leader_behind_a_stranger();
    check(&late, Cause::SeatTaken, 181, &["preview (thread 4711) ran for 320 µs"]);
    late.seats[0].outranked = vec![STRANGER];
    let words =
        ["320 µs after the signal", "preview (thread 4711) ran there", "priority is too low"];
    check(&late, Cause::LeaderWokeLate, 181, &words);
    // A host that stopped the CPU explains it better.
    late.seats[0].steal_ns = 10_000 * US;
    check(&late, Cause::HostSteal, 181, &["worker 0"]);
}

#[test]
fn a_worker_that_slept_off_the_way_was_not_kept_away_either() {
    let mut late = block((20, 0), &[(0, 20, 300), (1, 300, 870), (2, 870, 1150)], &[]);
    late.trace.lanes.pop();
    late.seats[1].own = Some(stranger(1, 10, 2000));
    late.seats[1].outranked = vec![STRANGER];
    check(&late, Cause::WorkerWokeLate, 150, &["worker 1 did not run"]);
}

#[test]
fn a_running_worker_that_lost_its_seat_lost_it_whatever_the_priorities() {
    // The system's limit on real-time threads gives the CPU to ordinary ones.
    let mut late = slow_vocals(900);
    late.seats[1].own = Some(stranger(1, 200, 480));
    late.seats[1].outranked = vec![STRANGER];
    check(&late, Cause::SeatTaken, 181, &["preview", "280 µs"]);
}

#[test]
fn a_seat_was_taken() {
    let mut late = slow_vocals(900);
    late.seats[1].own = Some(stranger(1, 200, 480));
    let found = check(&late, Cause::SeatTaken, 181, &["preview", "280 µs", "CPU 1", "worker 1"]);
    assert!(found.others.iter().all(|share| share.share_ns <= 40 * US), "{found:#?}");
    // Other threads of the engine are no strangers.
    late.engine_tids.push(STRANGER);
    check(&late, Cause::UnitSlow, 181, &["vocals"]);
}

#[test]
fn a_seat_was_taken_before_the_leader_woke() {
    let mut late = block((320, 330), &[(0, 320, 600), (2, 901, 1181)], &[(1, 330, 900)]);
    late.seats[0].own = Some(stranger(0, 5, 318));
    check(&late, Cause::SeatTaken, 181, &["the seat of worker 0 (leader)"]);
}

#[test]
fn a_sibling_was_busy() {
    let mut late = slow_vocals(900);
    late.seats[1].siblings = vec![stranger(5, 0, 2000)];
    check(&late, Cause::SiblingBusy, 181, &["preview", "CPU 5, beside worker 1", "vocals"]);
    // Half of 200 µs cannot explain 300.
    late.seats[1].siblings = vec![stranger(5, 100, 300)];
    let found = check(&late, Cause::UnitSlow, 181, &[]);
    assert_eq!((found.others[0].cause, found.others[0].share_ns), (Cause::SiblingBusy, 100 * US));
}

#[test]
fn a_clock_stood_still() {
    let mut late = slow_vocals(900);
    let is_vocals = |span: &&mut hocket_trace::Span| span.doing == Doing::Unit(1);
    let away = |late: &mut Evidence, us: i64| {
        let spans = late.trace.lanes.iter_mut().flat_map(|lane| &mut lane.spans);
        spans.filter(|span| is_vocals(span)).for_each(|span| span.away_ns = Some(us * US));
    };
    away(&mut late, 250);
    check(&late, Cause::CpuLost, 181, &["worker 1 had no CPU for 250 µs", "computed vocals"]);
    // Who was seen there explains it better.
    late.seats[1].own = Some(stranger(1, 200, 440));
    check(&late, Cause::SeatTaken, 181, &["preview", "240 µs"]);
    // It ran all the time, and was dear.
    late.seats[1].own = None;
    away(&mut late, 0);
    check(&late, Cause::UnitSlow, 181, &["vocals"]);
}

#[test]
fn memory_was_not_there() {
    let mut late = slow_vocals(900);
    late.seats[1].major_faults = 1;
    check(&late, Cause::PageFault, 181, &["1 from the disk"]);
    late.seats[1] = Seat { minor_faults: 60, major_faults: 0, ..late.seats[1].clone() };
    check(&late, Cause::PageFault, 180, &["60 others"]);
    late.seats[1].minor_faults = 3;
    check(&late, Cause::UnitSlow, 181, &[]);
}

#[test]
fn the_worker_was_moved() {
    let mut late = slow_vocals(900);
    late.seats[1].migrations = 2;
    check(&late, Cause::Migration, 181, &["worker 1 was moved 2 times"]);
}

#[test]
fn the_host_took_the_cpu() {
    let mut late = slow_vocals(900);
    late.seats[1].steal_ns = 10_000 * US;
    check(&late, Cause::HostSteal, 181, &["the host took the CPU of worker 1"]);
    // Stolen from a CPU that nobody waited for.
    late.seats.swap(0, 1);
    (late.seats[0].lane, late.seats[1].lane) = (LEADER.into(), "worker 1".into());
    check(&late, Cause::UnitSlow, 181, &[]);
}

#[test]
fn the_plan_does_not_fit() {
    let mut late = slow_vocals(900);
    late.estimates_ns[1] = (860 * US) as f64;
    late.expected_ns = (1170 * US) as f64;
    let needs =
        "the plan needs 1170 µs in a period of 1000 µs; the dearest unit is vocals with 860 µs";
    check(&late, Cause::Overload, 170, &[needs]);
    late.expected_ns = f64::NAN;
    check(&late, Cause::Overload, 140, &[]);
    // Nothing is said of a unit without a name or without a time.
    for known in [false, true] {
        let mut late = late.clone();
        late.expected_ns = (1170 * US) as f64;
        match known {
            true => late.trace.unit_names.clear(),
            false => late.estimates_ns.fill(f64::NAN),
        }
        let found = explain(&late).expect("late");
        assert!(!found.text.contains("dearest"), "{}", found.text);
    }
}

#[test]
fn without_estimates_a_slow_block_is_unknown() {
    let mut late = slow_vocals(900);
    late.estimates_ns = vec![f64::NAN; 3];
    check(&late, Cause::Unknown, 151, &["nothing known explains half", "worker 0 (leader)"]);
    late.estimates_ns.clear();
    let none = Evidence { expected_ns: f64::NAN, seats: vec![], ..late };
    check(&none, Cause::Unknown, 151, &[]);
}

#[test]
fn of_several_causes_the_largest_is_named() {
    // 150 µs late to wake up, then 300 µs more than expected, 200 of them by a stranger.
    let mut late = block((150, 160), &[(0, 150, 430), (2, 1031, 1311)], &[(1, 160, 1030)]);
    late.seats[1].own = Some(stranger(1, 300, 500));
    let found = check(&late, Cause::SeatTaken, 200, &[]);
    let others: Vec<(Cause, i64)> =
        found.others.iter().map(|s| (s.cause, s.share_ns / US)).collect();
    assert_eq!(others[..2], [(Cause::LeaderWokeLate, 150), (Cause::UnitSlow, 100)]);
}

#[test]
fn units_that_are_all_a_little_slow_are_one_cause() {
    let late = block((20, 30), &[(0, 20, 300), (2, 801, 1181)], &[(1, 30, 800)]);
    check(&late, Cause::UnitSlow, 181, &["vocals took 770 µs instead of 570 µs", "300 µs in all"]);
}

#[test]
fn evidence_survives_json() {
    let mut late = slow_vocals(900);
    late.estimates_ns[0] = f64::NAN;
    late.seats[1].own = Some(stranger(1, 200, 480));
    let text = serde_json::to_string(&late).expect("plain data");
    let read: Evidence = serde_json::from_str(&text).expect("read back");
    assert!(read.estimates_ns[0].is_nan());
    assert_eq!(explain(&read), explain(&late));
}

// ---- nonsense ---------------------------------------------------------------------------------------------------------

fn any_ns() -> impl Strategy<Value = i64> {
    prop_oneof![4 => -50_000..2_000_000_i64, 1 => any::<i64>()]
}

prop_compose! {
    fn any_lane()(
        guard: bool, number in 0..3_u32, awake_ns in any_ns(),
        spans in prop::collection::vec((0..5_u32, any_ns(), any_ns()), 0..6),
    ) -> Lane {
        let doing = |n| if n == 4 { Doing::Wait } else { Doing::Unit(n) };
        let span = |(n, start_ns, end_ns)| Span { doing: doing(n), start_ns, end_ns, away_ns: None };
        let name = if guard { "guard".into() } else { format!("worker {number}") };
        let spans = spans.into_iter().map(span).collect();
        Lane { name, cpu: Some(number), awake_ns, finished_ns: awake_ns, spans }
    }
}

prop_compose! {
    fn any_switches()(
        cpu in 0..4_u32, ran in prop::collection::vec((-1..4_i32, any_ns(), any_ns()), 0..5),
    ) -> Switches {
        let one = |(tid, start_ns, end_ns)| Ran { tid, name: "x".into(), start_ns, end_ns };
        Switches { cpu, intervals: ran.into_iter().map(one).collect(), unknown: vec![] }
    }
}

prop_compose! {
    fn any_seat()(
        number in 0..3_u32, own in prop::option::of(any_switches()),
        outranked in prop::collection::vec(-1..4_i32, 0..3),
        siblings in prop::collection::vec(any_switches(), 0..3),
        woken_ns in prop::option::of(any_ns()), woken_by in prop::option::of(0..4_i32), minor_faults: u64, major_faults in 0..3_u64, migrations: u64,
        steal_ns in any_ns(),
    ) -> Seat {
        let lane = format!("worker {number}");
        let counts = (minor_faults, major_faults, migrations, steal_ns);
        let (minor_faults, major_faults, migrations, steal_ns) = counts;
        Seat {
            lane, own, outranked, siblings, woken_ns, woken_by, minor_faults, major_faults, migrations, steal_ns,
        }
    }
}

prop_compose! {
    fn any_evidence()(
        lanes in prop::collection::vec(any_lane(), 0..4),
        times in (any_ns(), any_ns(), any_ns(), any_ns()),
        estimates_ns in prop::collection::vec(any::<f64>(), 0..4),
        expected_ns: f64,
        seats in prop::collection::vec(any_seat(), 0..4),
    ) -> Evidence {
        let (awake_ns, finished_ns, deadline_ns, signaled_ns) = times;
        let unit_names = vec!["a".into(), "b".into()];
        let trace = BlockTrace { block: 1, awake_ns, finished_ns, deadline_ns, plan: None, unit_names, lanes };
        Evidence { trace, estimates_ns, expected_ns, signaled_ns, engine_tids: vec![1], seats }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn shares_stay_within_the_lateness(evidence in any_evidence()) {
        let Some(found) = explain(&evidence) else { return Ok(()) };
        prop_assert!(found.late_ns > 0 && !found.text.is_empty());
        prop_assert!((0..=found.late_ns).contains(&found.share_ns));
        for share in &found.others {
            prop_assert!(0 < share.share_ns && share.share_ns <= found.late_ns);
            prop_assert!(share.cause != found.cause && share.cause != Cause::Unknown);
        }
        let named = found.cause != Cause::Unknown;
        prop_assert!(!named || found.share_ns * 2 >= found.late_ns);
        prop_assert!(found.others.is_sorted_by(|a, b| a.share_ns >= b.share_ns));
    }
}

/// Whose fault the block was, with a leader that waits for a clock and with one that a server calls.
fn parties(evidence: &Evidence) -> [Party; 2] {
    let found = verdict(evidence);
    [Caller::Clock, Caller::Server].map(|caller| Party::of(&found, evidence, caller, None))
}

#[test]
fn what_takes_a_seat_is_the_machines_fault() {
    let mut taken = slow_vocals(900);
    taken.seats[1].own = Some(stranger(1, 100, 600));
    assert_eq!(parties(&taken), [Party::Machine; 2]);
    let mut beside = slow_vocals(900);
    beside.seats[1].siblings = vec![stranger(3, 30, 900)];
    assert_eq!(parties(&beside), [Party::Machine; 2]);
    let mut stolen = slow_vocals(900);
    stolen.seats[1].steal_ns = 300 * US;
    assert_eq!(parties(&stolen), [Party::Machine; 2]);
}

#[test]
fn what_nothing_else_explains_is_ours() {
    assert_eq!(parties(&slow_vocals(900)), [Party::Ours; 2], "a unit took too long");
    let mut faults = slow_vocals(900);
    faults.seats[1].major_faults = 1;
    assert_eq!(parties(&faults), [Party::Ours; 2], "memory that is not there is Hocket's to lock");
    let mut dear = block((0, 0), &[(0, 0, 700), (2, 900, 1180)], &[(1, 0, 899)]);
    (dear.estimates_ns, dear.expected_ns) = (vec![700e3, 899e3, 280e3], 1.18e6);
    assert_eq!(parties(&dear), [Party::Ours; 2], "the plan is too long");
}

#[test]
fn a_late_call_is_the_machines_by_a_clock_and_the_servers_only_if_the_seat_was_watched() {
    let mut late = block((500, 510), &[(0, 500, 780), (2, 1081, 1361)], &[(1, 510, 1080)]);
    assert_eq!(verdict(&late).cause, Cause::LeaderWokeLate);
    assert_eq!(parties(&late), [Party::Machine, Party::Unknown]);
    late.seats[0].own = Some(Switches { cpu: 0, intervals: vec![], unknown: vec![] });
    assert_eq!(parties(&late), [Party::Machine, Party::Server]);
}

#[test]
fn what_passed_before_a_leader_was_woken_up_is_the_callers_and_the_rest_the_machines() {
    let mut late = block((500, 510), &[(0, 500, 780), (2, 1081, 1361)], &[(1, 510, 1080)]);
    late.seats[0].woken_ns = Some(400 * US);
    let words = ["worker 0 (leader) was woken up only 400 µs after the signal"];
    let found = check(&late, Cause::CalledLate, 361, &words);
    assert_eq!(
        (found.others[0].cause, found.others[0].share_ns),
        (Cause::LeaderWokeLate, 100 * US)
    );
    assert_eq!(parties(&late), [Party::Machine, Party::Server]);
    late.seats[0].woken_ns = Some(100 * US);
    let words = ["worker 0 (leader) ran only 400 µs after it was woken up"];
    check(&late, Cause::LeaderWokeLate, 361, &words);
    assert_eq!(parties(&late), [Party::Machine; 2]);
    // Who ran on the CPU before anybody needed it took nothing away.
    late.seats[0].woken_ns = Some(400 * US);
    late.seats[0].own = Some(stranger(0, 0, 400));
    check(&late, Cause::CalledLate, 361, &[]);
    // A host that stopped the CPU explains a late timer, and no late caller.
    late.seats[0] = Seat {
        lane: LEADER.into(),
        woken_ns: Some(400 * US),
        steal_ns: 10_000 * US,
        ..Seat::default()
    };
    check(&late, Cause::HostSteal, 361, &[]);
    late.seats[0].woken_by = Some(7);
    check(&late, Cause::CalledLate, 361, &["400 µs"]);
    // A time that cannot be counts as the nearest one that can.
    for (woken_us, cause) in [(-9_000, Cause::LeaderWokeLate), (9_000, Cause::CalledLate)] {
        late.seats[0] =
            Seat { lane: LEADER.into(), woken_ns: Some(woken_us * US), ..Seat::default() };
        check(&late, cause, 361, &["500 µs"]);
    }
}

#[test]
fn a_block_behind_a_late_one_has_the_fault_of_that_one() {
    let mut behind = block((500, 510), &[(0, 500, 780), (2, 1081, 1361)], &[(1, 510, 1080)]);
    behind.signaled_ns = 490 * US;
    let found = verdict(&behind);
    assert_eq!(found.cause, Cause::SignaledLate);
    for before in [Party::Ours, Party::Machine] {
        assert_eq!(Party::of(&found, &behind, Caller::Clock, Some(before)), before);
    }
    assert_eq!(Party::of(&found, &behind, Caller::Clock, None), Party::Unknown);
}

#[test]
fn small_causes_of_one_party_add_up() {
    let share = |cause, share_ns| Share { cause, share_ns, subject: "a".into(), text: "b".into() };
    let mixed = |shares: &[(Cause, i64)]| Verdict {
        block: 7,
        late_ns: 100,
        cause: Cause::Unknown,
        share_ns: 0,
        subject: String::new(),
        text: String::new(),
        others: shares.iter().map(|(cause, ns)| share(*cause, *ns)).collect(),
    };
    let of =
        |shares: &[(Cause, i64)]| Party::of(&mixed(shares), &slow_vocals(900), Caller::Clock, None);
    let two = [(Cause::SeatTaken, 30), (Cause::HostSteal, 25), (Cause::UnitSlow, 40)];
    assert_eq!(of(&two), Party::Machine);
    assert_eq!(of(&two[1..]), Party::Unknown, "nobody has half");
    assert_eq!(of(&[]), Party::Unknown);
}

#[test]
fn names_of_parties_are_those_of_their_json() {
    for party in Party::ALL {
        assert_eq!(serde_json::to_value(party).unwrap(), party.name());
    }
}
