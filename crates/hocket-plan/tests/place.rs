//! Placement over described machines, from one seat to a hybrid one nobody here has.

use std::collections::BTreeSet;

use hocket_plan::place::{Guard, PlaceError, Placement, capacity, place};
use hocket_plan::{CookieShape, Seat, SeatId, Seats, SiblingPolicy};
use proptest::prelude::*;

/// Seats from (core, speed) pairs.
fn seats(of: &[(usize, f32)]) -> Seats {
    Seats { seats: of.iter().map(|(core, speed)| Seat { core: *core, speed: *speed }).collect() }
}

fn one_core() -> Seats {
    seats(&[(0, 1.0)])
}

fn two_cores() -> Seats {
    seats(&[(0, 1.0), (1, 1.0)])
}

/// 4 cores, 8 threads, numbered as Linux does it on most PCs: 0 and 4 are siblings.
fn four_cores_eight_threads() -> Seats {
    let cores: Vec<(usize, f32)> = (0..8).map(|i| (i % 4, 1.0)).collect();
    seats(&cores)
}

/// Two cores of four threads, siblings next to each other.
fn smt4() -> Seats {
    let cores: Vec<(usize, f32)> = (0..8).map(|i| (i / 4, 1.0)).collect();
    seats(&cores)
}

/// Eight slow cores of one seat first, then six fast ones of two; cores numbered with gaps.
fn hybrid() -> Seats {
    let slow = (0..8).map(|i| (100 + i, 0.6));
    let fast = (0..12).map(|i| (8 * (i / 2), 1.0));
    seats(&slow.chain(fast).collect::<Vec<_>>())
}

/// As `hybrid`, but the cores with two seats are the slow ones.
fn pairs_on_slow_cores() -> Seats {
    seats(&[(0, 1.0), (1, 1.0), (2, 0.5), (2, 0.5)])
}

fn placed(seats: &Seats, policy: SiblingPolicy, workers: usize) -> Placement {
    place(seats, policy, Some(workers)).expect("there is room")
}

fn ids(of: &[usize]) -> Vec<SeatId> {
    of.iter().map(|i| SeatId(*i)).collect()
}

#[test]
fn capacity_counts_cores_or_seats() {
    let check = |seats: &Seats, cores: usize, all: usize| {
        for policy in SiblingPolicy::ALL {
            let spared = usize::from(policy.spares_a_core() && cores > 1);
            let expected = if policy.uses_siblings() { all } else { cores - spared };
            assert_eq!(capacity(seats, policy), expected, "{policy:?}");
            let full = place(seats, policy, None).expect("somebody can be placed");
            assert_eq!(full.workers.len(), expected, "{policy:?}");
        }
    };
    check(&one_core(), 1, 1);
    check(&two_cores(), 2, 2);
    check(&four_cores_eight_threads(), 4, 8);
    check(&smt4(), 2, 8);
    check(&hybrid(), 14, 20);
}

#[test]
fn every_core_has_a_worker_before_a_sibling_is_used() {
    let check = |seats: &Seats, order: &[usize]| {
        let all = place(seats, SiblingPolicy::All, None).expect("room").workers;
        assert_eq!(all, ids(order));
    };
    check(&four_cores_eight_threads(), &[0, 1, 2, 3, 4, 5, 6, 7]);
    check(&smt4(), &[0, 4, 1, 5, 2, 6, 3, 7]);
    // Fast cores' first seats, slow cores, fast cores' second seats.
    let hybrid_order = [8, 10, 12, 14, 16, 18, 0, 1, 2, 3, 4, 5, 6, 7, 9, 11, 13, 15, 17, 19];
    check(&hybrid(), &hybrid_order);
}

#[test]
fn few_workers_sit_on_the_fastest_cores() {
    for policy in SiblingPolicy::ALL {
        assert_eq!(placed(&hybrid(), policy, 6).workers, ids(&[8, 10, 12, 14, 16, 18]));
        assert_eq!(placed(&hybrid(), policy, 7).workers.last(), Some(&SeatId(0)));
    }
}

#[test]
fn guards_are_the_free_seats_beside_workers() {
    let guards = |seats: &Seats, workers| placed(seats, SiblingPolicy::IdleThread, workers).guards;
    let guard = |seat, worker| Guard { seat: SeatId(seat), worker };
    assert_eq!(guards(&two_cores(), 2), []);
    assert_eq!(guards(&four_cores_eight_threads(), 2), [guard(4, 0), guard(5, 1)]);
    assert_eq!(guards(&smt4(), 1), [guard(1, 0), guard(2, 0), guard(3, 0)]);
    // The seventh and eighth worker sit on slow cores, which have no sibling to guard.
    let hybrid = guards(&hybrid(), 8);
    assert_eq!(hybrid, (0..6).map(|i| guard(9 + 2 * i, i)).collect::<Vec<_>>());
}

#[test]
fn each_policy_asks_for_what_it_is_about() {
    for policy in SiblingPolicy::ALL {
        let placement = place(&four_cores_eight_threads(), policy, None).expect("room");
        assert_eq!(!placement.guards.is_empty(), policy == SiblingPolicy::IdleThread);
        let partners = placement.partners.iter().any(|partners| !partners.is_empty());
        assert_eq!(partners, policy == SiblingPolicy::PairBarrier);
        let keeps = [SiblingPolicy::ProcessAffinity, SiblingPolicy::ReserveCore];
        assert_eq!(placement.others.is_some(), keeps.contains(&policy));
        assert_eq!(placement.partition.is_some(), policy == SiblingPolicy::Partition);
        assert_eq!(placement.cookies.is_empty(), !matches!(policy, SiblingPolicy::Cookie(_)));
        assert_eq!(placement.partners.len(), placement.workers.len());
        assert_eq!(placement.policy, policy);
    }
}

#[test]
fn partners_are_the_workers_of_one_core() {
    let partners =
        |seats: &Seats, workers| placed(seats, SiblingPolicy::PairBarrier, workers).partners;
    let none = Vec::<usize>::new();
    assert_eq!(partners(&two_cores(), 2), vec![none.clone(); 2]);
    // Five workers on four cores: only the fifth shares, with the first.
    let five = vec![vec![4], none.clone(), none.clone(), none, vec![0]];
    assert_eq!(partners(&four_cores_eight_threads(), 5), five);
    let smt4 = partners(&smt4(), 8);
    assert_eq!(smt4[0], [2, 4, 6]);
    assert_eq!(smt4[7], [1, 3, 5]);
}

#[test]
fn process_affinity_keeps_the_others_on_one_seat_a_core() {
    let others = |seats: &Seats, workers| {
        placed(seats, SiblingPolicy::ProcessAffinity, workers).others.expect("others are kept")
    };
    assert_eq!(others(&four_cores_eight_threads(), 1), ids(&[0, 1, 2, 3]));
    assert_eq!(others(&smt4(), 2), ids(&[0, 4]));
    assert_eq!(others(&hybrid(), 3), ids(&[8, 10, 12, 14, 16, 18, 0, 1, 2, 3, 4, 5, 6, 7]));
}

#[test]
fn a_reserved_core_is_the_slowest_and_has_no_worker() {
    let reserved = |seats: &Seats| {
        let placement = place(seats, SiblingPolicy::ReserveCore, None).expect("room");
        (placement.workers.len(), placement.others)
    };
    assert_eq!(reserved(&four_cores_eight_threads()), (3, Some(ids(&[3, 7]))));
    assert_eq!(reserved(&smt4()), (1, Some(ids(&[4, 5, 6, 7]))));
    assert_eq!(reserved(&hybrid()), (13, Some(ids(&[7]))));
    assert_eq!(reserved(&one_core()), (1, None));
}

#[test]
fn cookies_are_shared_as_their_shape_says() {
    let cookies = |shape| {
        let policy = SiblingPolicy::Cookie(shape);
        place(&four_cores_eight_threads(), policy, None).expect("room").cookies
    };
    assert_eq!(cookies(CookieShape::Engine), [(0..8).collect::<Vec<_>>()]);
    assert_eq!(cookies(CookieShape::Worker), [[0], [1], [2], [3]]);
    assert_eq!(cookies(CookieShape::Pair), [[0, 4], [1, 5], [2, 6], [3, 7]]);
}

#[test]
fn a_partition_takes_whole_cores_and_leaves_one() {
    let partition =
        |seats: &Seats, workers| placed(seats, SiblingPolicy::Partition, workers).partition;
    assert_eq!(partition(&four_cores_eight_threads(), 2), Some(ids(&[0, 1, 4, 5])));
    assert_eq!(partition(&two_cores(), 1), Some(ids(&[0])));
    let all = capacity(&four_cores_eight_threads(), SiblingPolicy::Partition);
    assert_eq!(all, 3);
}

#[test]
fn a_policy_that_changes_nothing_says_why() {
    let why = |seats: &Seats, policy, workers| placed(seats, policy, workers).no_effect;
    let check = |seats: &Seats, policy, workers, expected: &str| {
        let why = why(seats, policy, workers).unwrap_or_default();
        assert!(why.contains(expected), "{policy:?}, {workers} workers: '{why}'");
    };
    use SiblingPolicy::{All, IdleThread, Off, Offline, PairBarrier, Partition};
    use SiblingPolicy::{ProcessAffinity, ReserveCore};
    for seats in [one_core(), two_cores()] {
        assert_eq!(why(&seats, Off, 1), None);
        for policy in [All, ProcessAffinity, IdleThread, PairBarrier, Offline] {
            check(&seats, policy, 1, "no two seats share a core");
        }
    }
    for policy in [ReserveCore, Partition] {
        check(&one_core(), policy, 1, "one core only");
        assert_eq!(why(&two_cores(), policy, 1), None);
    }
    let pc = four_cores_eight_threads();
    for policy in [All, PairBarrier] {
        check(&pc, policy, 1, "(1) has its own core");
        check(&pc, policy, 4, "(4) has its own core");
        assert_eq!(why(&pc, policy, 5), None);
        check(&hybrid(), policy, 14, "no sibling is used");
        assert_eq!(why(&hybrid(), policy, 15), None);
    }
    for policy in [Off, ProcessAffinity, IdleThread] {
        assert_eq!(why(&pc, policy, 4), None);
    }
    // There are pairs, but no worker sits beside one's free seat.
    check(&pairs_on_slow_cores(), IdleThread, 2, "no seat is free beside");
    assert_eq!(why(&pairs_on_slow_cores(), IdleThread, 3), None);
    assert_eq!(why(&pairs_on_slow_cores(), ProcessAffinity, 2), None);
}

#[test]
fn nobody_and_too_many_are_errors_that_name_the_numbers() {
    for policy in SiblingPolicy::ALL {
        let seats = four_cores_eight_threads();
        let nobody = place(&seats, policy, Some(0)).unwrap_err();
        let room = capacity(&seats, policy);
        assert_eq!(nobody, PlaceError::Nobody { workers: 0, seats: room });
        let many = place(&seats, policy, Some(room + 1)).unwrap_err();
        assert_eq!(many, PlaceError::TooManyWorkers { workers: room + 1, seats: room, policy });
        let text = many.to_string();
        assert!(text.contains(policy.name()) && text.contains(&room.to_string()), "{text}");
        let empty = place(&Seats::default(), policy, None).unwrap_err();
        assert_eq!(empty, PlaceError::Nobody { workers: 0, seats: 0 });
        let empty = place(&Seats::default(), policy, Some(3)).unwrap_err();
        assert_eq!(empty, PlaceError::Nobody { workers: 3, seats: 0 });
    }
}

#[test]
fn names_lead_back_to_their_policies() {
    let names: BTreeSet<&str> = SiblingPolicy::ALL.iter().map(|policy| policy.name()).collect();
    assert_eq!(names.len(), SiblingPolicy::ALL.len());
    for policy in SiblingPolicy::ALL {
        assert_eq!(SiblingPolicy::from_name(policy.name()), Some(policy));
    }
    assert_eq!(SiblingPolicy::from_name("sideways"), None);
}

/// Machines of 1 to 24 seats on up to 10 cores, in any order; a core's seats are equally fast.
fn machines() -> impl Strategy<Value = Seats> {
    let speeds = prop::collection::vec(prop::sample::select(vec![0.4f32, 0.6, 1.0]), 10);
    (speeds, prop::collection::vec(0..10usize, 1..24)).prop_map(|(speeds, cores)| Seats {
        seats: cores.into_iter().map(|core| Seat { core, speed: speeds[core] }).collect(),
    })
}

proptest! {
    #[test]
    fn placements_hold_together_on_any_machine(machine in machines(), asked in 1..24usize) {
        for policy in SiblingPolicy::ALL {
            let workers = asked.min(capacity(&machine, policy));
            let placement = placed(&machine, policy, workers);
            check_workers(&machine, policy, &placement.workers);
            check_guards(&machine, &placement);
            check_partners(&machine, &placement);
            check_cookies(&machine, &placement);
            if let (SiblingPolicy::ReserveCore, Some(others)) = (policy, &placement.others) {
                let taken = cores_of(&machine, &placement.workers);
                prop_assert!(others.iter().all(|seat| !taken.contains(&machine.seats[seat.0].core)));
            }
            if let (SiblingPolicy::ProcessAffinity, Some(others)) = (policy, &placement.others) {
                prop_assert_eq!(cores_of(&machine, others).len(), machine.cores());
                prop_assert_eq!(others.len(), machine.cores());
                prop_assert!(placement.workers.iter().all(|seat| others.contains(seat)));
            }
        }
    }

    /// A placement with fewer workers is the beginning of one with more.
    #[test]
    fn adding_a_worker_moves_nobody(machine in machines()) {
        let all = place(&machine, SiblingPolicy::All, None).unwrap().workers;
        for workers in 1..all.len() {
            let some = placed(&machine, SiblingPolicy::All, workers).workers;
            prop_assert_eq!(&some[..], &all[..workers]);
        }
    }
}

fn cores_of(machine: &Seats, seats: &[SeatId]) -> BTreeSet<usize> {
    seats.iter().map(|seat| machine.seats[seat.0].core).collect()
}

/// Nobody shares a seat; nobody shares a core while a core is free; no slow core before a fast one.
fn check_workers(machine: &Seats, policy: SiblingPolicy, workers: &[SeatId]) {
    assert_eq!(workers.iter().collect::<BTreeSet<_>>().len(), workers.len());
    let expected = workers.len().min(machine.cores());
    assert_eq!(cores_of(machine, workers).len(), expected, "{policy:?}");
    let firsts: Vec<f32> =
        workers[..expected].iter().map(|seat| machine.seats[seat.0].speed).collect();
    assert!(firsts.is_sorted_by(|a, b| a >= b), "{firsts:?}");
    let taken = cores_of(machine, workers);
    let slowest = firsts.last().copied().unwrap_or(0.0);
    let left = machine.seats.iter().filter(|seat| !taken.contains(&seat.core));
    left.for_each(|seat| assert!(seat.speed <= slowest));
}

fn check_guards(machine: &Seats, placement: &Placement) {
    let mut seen = BTreeSet::new();
    for Guard { seat, worker } in &placement.guards {
        assert!(seen.insert(*seat), "guarded twice");
        assert!(!placement.workers.contains(seat), "a worker sits there");
        let of_worker = placement.workers[*worker];
        assert_eq!(machine.seats[seat.0].core, machine.seats[of_worker.0].core);
    }
    if placement.policy == SiblingPolicy::IdleThread {
        let beside: usize =
            placement.workers.iter().map(|seat| machine.siblings(*seat).len()).sum();
        assert_eq!(placement.guards.len(), beside);
        assert_eq!(placement.guards.is_empty(), placement.no_effect.is_some());
    }
}

/// Each worker has one cookie, and strangers to it never share its core.
fn check_cookies(machine: &Seats, placement: &Placement) {
    let SiblingPolicy::Cookie(shape) = placement.policy else { return };
    let mut all: Vec<usize> = placement.cookies.iter().flatten().copied().collect();
    all.sort_unstable();
    assert_eq!(all, (0..placement.workers.len()).collect::<Vec<_>>());
    let core = |worker: &usize| machine.seats[placement.workers[*worker].0].core;
    for group in placement.cookies.iter().filter(|_| shape == CookieShape::Pair) {
        assert!(group.iter().all(|worker| core(worker) == core(&group[0])));
    }
}

fn check_partners(machine: &Seats, placement: &Placement) {
    let core = |worker: usize| machine.seats[placement.workers[worker].0].core;
    for (worker, partners) in placement.partners.iter().enumerate() {
        for other in partners {
            assert_ne!(*other, worker);
            assert_eq!(core(*other), core(worker));
            assert!(placement.partners[*other].contains(&worker), "partners see each other");
        }
    }
}
