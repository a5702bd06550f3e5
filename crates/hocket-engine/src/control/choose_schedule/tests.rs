//! The planner and the leader together, on simulated hosts with five kinds of schedule.

use super::*;
use crate::leader::choose_walk::hosts::{Block, PERIOD, Phases, Random, SECOND};
use crate::leader::choose_walk::{ChooseWalk, Sample, Walk};

/// Blocks between two looks of the planner.
const LOOKS: usize = 30;
const LONG: usize = 30 * SECOND;

/// What a block takes: by the serial walk, and by each of [`KINDS`].
#[derive(Debug, Clone, Copy)]
struct Times {
    serial: f64,
    kinds: [f64; 4],
}

impl Times {
    fn of(&self, kind: ScheduleKind) -> f64 {
        KINDS.iter().position(|own| *own == kind).map_or(self.serial, |place| self.kinds[place])
    }

    fn slower(self, factor: f64) -> Times {
        Times { serial: self.serial * factor, kinds: self.kinds.map(|took| took * factor) }
    }
}

/// What was played after the first second.
#[derive(Default)]
struct Played {
    auto: f64,
    serial: f64,
    kinds: [f64; 4],
    /// The plan of each block, and how it was walked.
    plans: Vec<(ScheduleKind, Walk)>,
}

impl Played {
    fn over_best(&self) -> f64 {
        self.auto / self.kinds.iter().fold(self.serial, |best, took| best.min(*took))
    }
}

fn play(before: Option<ScheduleKind>, mut host: impl FnMut(usize) -> Times) -> Played {
    let mut planner = ChooseSchedule::knowing(before);
    let mut leader = ChooseWalk::new(PERIOD, SECOND as f64 * PERIOD);
    let mut played = Played::default();
    let (mut kind, mut blocks) = (ScheduleKind::Serial, 0);
    for number in 0..LONG {
        let times = host(number);
        let walk = leader.next();
        let took = if walk == Walk::Serial { times.serial } else { times.of(kind) };
        let block = Block::new(times.serial, took);
        if !leader.passes() {
            leader.note(Sample { walk, took, work: block.work });
        }
        played.plans.push((kind, walk));
        blocks += 1;
        if number >= SECOND {
            played.auto += took;
            played.serial += times.serial;
            let sums = played.kinds.iter_mut().zip(times.kinds);
            sums.for_each(|(sum, took)| *sum += took);
        }
        if number % LOOKS == LOOKS - 1 && blocks >= 64 {
            let finding = leader.finding();
            let look = Look { finding, blocks, moved: 0.0, worth_trying: true };
            let (next, trial) = match planner.look(kind, &look) {
                Next::Try(next) => (next, true),
                Next::Use(next) => (next, false),
                Next::Keep | Next::OneWorker => continue,
            };
            (kind, blocks) = (next, 0);
            leader.exchanged(2, trial);
        }
    }
    played
}

fn holds(name: &str, host: impl FnMut(usize) -> Times) -> Played {
    let played = play(None, host);
    let (serial, best) = (played.auto / played.serial, played.over_best());
    assert!(serial <= 1.03, "{name}: {serial:.3} of the serial walk");
    assert!(best <= 1.05, "{name}: {best:.3} of the best of all");
    played
}

/// A quiet host on which the kinds take these parts of a serial block.
fn quiet(parts: [f64; 4], seed: u64) -> impl FnMut(usize) -> Times {
    let mut random = Random::new(seed);
    move |_| {
        let noise = random.between(0.98, 1.02);
        Times { serial: 100.0, kinds: parts.map(|part| 100.0 * part) }.slower(noise)
    }
}

#[test]
fn the_best_of_all_schedules_is_found_and_kept() {
    let cases = [
        ([0.53, 0.6, 0.65, 0.7], ScheduleKind::Critical),
        ([0.9, 0.6, 0.8, 0.75], ScheduleKind::Steal),
        ([0.7, 0.69, 0.55, 0.72], ScheduleKind::Dataflow),
        ([0.8, 0.7, 0.75, 0.55], ScheduleKind::Lists),
        ([1.2, 1.1, 0.9, 1.3], ScheduleKind::Dataflow),
    ];
    for (parts, best) in cases {
        for seed in 1..4 {
            let played = holds(&format!("{parts:?}"), quiet(parts, seed));
            let (kind, walk) = played.plans[LONG - 100];
            assert_eq!((kind, walk), (best, Walk::Parallel), "{parts:?}");
        }
    }
}

#[test]
fn the_first_trial_is_over_within_a_second() {
    for parts in [[0.53, 0.6, 0.65, 0.7], [0.9, 0.6, 0.8, 0.75], [0.6, 0.6, 0.6, 0.9]] {
        for seed in 1..4 {
            let played = play(None, quiet(parts, seed));
            let kinds =
                |blocks: std::ops::Range<usize>| played.plans[blocks].iter().map(|(kind, _)| *kind);
            // The first challenge comes after two seconds of the kind that has won.
            let won = played.plans[SECOND].0;
            assert!(kinds(SECOND..2 * SECOND).all(|kind| kind == won), "{parts:?}");
            assert!(
                KINDS.into_iter().all(|kind| kinds(0..SECOND).any(|own| own == kind)),
                "{parts:?}"
            );
        }
    }
}

#[test]
fn only_kinds_close_to_the_best_take_a_second_turn() {
    let mut trial = Trial::first();
    [0.60, 0.75, 0.55, 0.62].into_iter().for_each(|ratio| trial.end_turn(ratio));
    let again = [ScheduleKind::Lists, ScheduleKind::Dataflow, ScheduleKind::Critical];
    assert_eq!(&trial.turns[KINDS.len()..], again);
    // The one that was left out cannot win by what the others lose now.
    [0.95, 0.93, 0.97].into_iter().for_each(|ratio| trial.end_turn(ratio));
    assert_eq!(trial.turns.len(), trial.ratios.len());
    assert_eq!(trial.winner(None), ScheduleKind::Dataflow);

    let mut clear = Trial::first();
    [0.9, 0.6, 0.8, 0.7].into_iter().for_each(|ratio| clear.end_turn(ratio));
    assert_eq!((clear.turns.len(), clear.winner(None)), (KINDS.len(), ScheduleKind::Steal));
    let mut lost = Trial::first();
    [1.1, 1.1, 1.2, 1.3].into_iter().for_each(|ratio| lost.end_turn(ratio));
    assert_eq!((lost.turns.len(), lost.winner(None)), (KINDS.len(), ScheduleKind::Critical));
}

#[test]
fn where_all_schedules_lose_the_leader_walks_alone() {
    for parts in [[1.04, 1.5, 2.7, 3.0], [1.9; 4], [1.07; 4]] {
        for seed in 1..4 {
            let played = holds(&format!("{parts:?}"), quiet(parts, seed));
            let alone = played.plans[SECOND..].iter().filter(|(_, walk)| *walk == Walk::Serial);
            assert!(alone.count() > (LONG - SECOND) * 9 / 10, "{parts:?}");
        }
    }
}

#[test]
fn a_kind_that_becomes_better_takes_over() {
    let parts =
        |block| if block < 8 * SECOND { [0.55, 0.7, 0.6, 0.8] } else { [1.6, 0.9, 0.6, 0.9] };
    let played = play(None, |block| {
        let parts: [f64; 4] = parts(block);
        Times { serial: 100.0, kinds: parts.map(|part| 100.0 * part) }
    });
    assert_eq!(played.plans[7 * SECOND].0, ScheduleKind::Critical);
    assert_eq!(played.plans[LONG - 100], (ScheduleKind::Dataflow, Walk::Parallel));
}

#[test]
fn a_kind_that_won_before_saves_the_trial_and_is_challenged_later() {
    let played = play(Some(ScheduleKind::Steal), quiet([0.55, 0.9, 0.8, 0.7], 1));
    let first = played.plans.iter().find(|(kind, _)| *kind != ScheduleKind::Serial);
    assert_eq!(first, Some(&(ScheduleKind::Steal, Walk::Parallel)));
    assert!(played.plans[..SECOND].iter().all(|(kind, _)| *kind != ScheduleKind::Dataflow));
    assert_eq!(played.plans[LONG - 100].0, ScheduleKind::Critical);
}

#[test]
fn a_hundred_random_hosts_with_five_schedules() {
    let mut above = 0;
    for seed in 0..100 {
        let mut random = Random::new(2000 + seed);
        let mut phases = Phases::new();
        let serial = random.between(1.5, 6.0).exp();
        let mut parts = [random.between(0.5, 2.0); 4];
        parts[1..].iter_mut().for_each(|part| *part *= random.between(0.9, 1.4));
        let (far, load) = (random.between(0.8, 1.5), random.between(0.0, 0.1));
        let name = format!("random host {seed}: {serial:.1} µs, {parts:.2?}, {far:.2}, {load:.2}");
        let played = play(None, move |_| {
            let other = if phases.step(&mut random, (75.0, 400.0)) { far } else { 1.0 };
            let hit = if random.happens(load) { random.between(1.0, 3.0) } else { 1.0 };
            let kinds = parts.map(|part| serial * part * other);
            Times { serial, kinds }.slower(hit * random.between(0.97, 1.04))
        });
        let (alone, best) = (played.auto / played.serial, played.over_best());
        assert!(alone <= 1.03, "{name}: {alone:.3} of the serial walk");
        assert!(best <= 1.15, "{name}: {best:.3} of the best of all");
        above += usize::from(best > 1.05);
    }
    // Where a host's moods outlast a turn, the second best kind may win the first trial: on 38 of 1000 such hosts.
    assert!(above <= 5, "{above} of 100 are more than 5 % above the best of all");
}

#[test]
fn a_session_not_worth_it_gets_one_worker() {
    let mut planner = ChooseSchedule::knowing(None);
    let look = |blocks, worth_trying| Look {
        finding: Finding::default(),
        blocks,
        moved: 0.0,
        worth_trying,
    };
    assert_eq!(planner.look(ScheduleKind::Serial, &look(100, false)), Next::Keep);
    assert_eq!(planner.look(ScheduleKind::Critical, &look(100, false)), Next::Keep);
    assert_eq!(planner.look(ScheduleKind::Critical, &look(4000, false)), Next::OneWorker);
    let next = planner.look(ScheduleKind::Serial, &look(100, true));
    assert_eq!(next, Next::Try(ScheduleKind::Critical));
}

#[test]
fn costs_that_moved_make_a_plan_of_the_same_kind() {
    let mut planner = ChooseSchedule::knowing(Some(ScheduleKind::Steal));
    let look = |blocks, moved| {
        let finding = Finding { reason: Reason::WorkersPay, ..Finding::default() };
        Look { finding, blocks, moved, worth_trying: true }
    };
    assert_eq!(planner.look(ScheduleKind::Serial, &look(100, 0.0)), Next::Try(ScheduleKind::Steal));
    assert_eq!(planner.look(ScheduleKind::Steal, &look(100, 0.5)), Next::Keep);
    assert_eq!(planner.look(ScheduleKind::Steal, &look(800, 0.1)), Next::Keep);
    assert_eq!(planner.look(ScheduleKind::Steal, &look(800, 0.5)), Next::Use(ScheduleKind::Steal));
}
