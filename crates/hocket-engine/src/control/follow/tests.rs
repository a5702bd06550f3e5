use super::*;

fn seen(cpu: u32, note: u32) -> Seen {
    Seen { thread: ThreadId::from_number(7), cpu, note }
}

fn cpus(list: &[u32]) -> CpuSet {
    list.iter().fold(CpuSet::new(), |set, cpu| set.union(&CpuSet::single(*cpu)))
}

fn class(policy: Policy, priority: u8) -> ClassNow {
    ClassNow { policy, priority, nice: 0, reset_on_fork: false, slice_ns: None }
}

#[test]
fn workers_are_just_below_the_leader_and_never_above() {
    let own = Rank::RealTime(60);
    for policy in [Policy::Fifo, Policy::RoundRobin] {
        assert_eq!(rank_beside(&class(policy, 65), own), Rank::RealTime(64));
        assert_eq!(rank_beside(&class(policy, 2), own), Rank::RealTime(1));
        assert_eq!(
            rank_beside(&class(policy, 1), own),
            Rank::RealTime(1),
            "there is nothing below"
        );
    }
    assert_eq!(rank_beside(&class(Policy::Deadline, 0), own), own);
    for policy in [Policy::Other, Policy::Batch, Policy::Idle, Policy::Unknown(7)] {
        assert_eq!(rank_beside(&class(policy, 0), own), Rank::Ordinary);
    }
}

#[test]
fn a_leader_held_to_one_cpu_is_followed_at_once() {
    let mut kept = KeptFree::default();
    assert_eq!(kept.look(seen(0, 1), &cpus(&[0])), Some(0));
    // Moved since its last block.
    assert_eq!(kept.look(seen(0, 1), &cpus(&[3])), Some(3));
}

#[test]
fn a_leader_that_roams_is_followed_once_it_settles() {
    let (mut kept, all) = (KeptFree::default(), cpus(&[0, 1, 2]));
    assert_eq!(kept.look(seen(0, 1), &all), Some(0));
    for note in 2..SETTLED_LOOKS + 1 {
        assert_eq!(kept.look(seen(2, note), &all), Some(0), "look {note}");
    }
    assert_eq!(kept.look(seen(2, 9), &all), Some(2));
    assert_eq!(kept.look(seen(0, 10), &all), Some(2), "a visit");
}

#[test]
fn a_leader_that_never_settles_moves_nobody() {
    let (mut kept, all) = (KeptFree::default(), cpus(&[0, 1, 2]));
    kept.look(seen(0, 0), &all);
    for note in 1..100 {
        assert_eq!(kept.look(seen(1 + note % 2, note), &all), Some(0));
    }
}

#[test]
fn one_block_seen_several_times_is_one_block() {
    let (mut kept, all) = (KeptFree::default(), cpus(&[0, 1]));
    kept.look(seen(0, 0), &all);
    for _ in 0..10 {
        assert_eq!(kept.look(seen(1, 1), &all), Some(0));
    }
}

#[test]
fn another_thread_and_a_forbidden_cpu_end_the_patience() {
    let (mut kept, all) = (KeptFree::default(), cpus(&[0, 1, 2]));
    kept.look(seen(0, 0), &all);
    let other = Seen { thread: ThreadId::from_number(8), ..seen(1, 0) };
    assert_eq!(kept.look(other, &all), Some(1), "another thread");
    let moved = Seen { cpu: 2, ..other };
    assert_eq!(kept.look(other, &cpus(&[0, 2])), Some(1), "it has run no block there yet");
    assert_eq!(kept.look(moved, &cpus(&[0, 2])), Some(2));
}

#[test]
fn a_following_may_move_between_threads() {
    fn is_sent<T: Send>() {}
    is_sent::<Following>();
}
