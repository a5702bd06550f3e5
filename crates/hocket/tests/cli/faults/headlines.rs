//! Fault 11: what the first line of a report says is what its figures bear.

use hocket_lab::record::{BenchRecord, Round, WakeRound};

use super::record;
use crate::support::run;

const PERIOD_NS: i64 = 1_333_333;

/// A record with turns of one variant and of the bare wake-up loop: in each so many blocks, of which so many are late.
fn made(variant: &[(usize, usize)], wakes: &[(usize, usize)]) -> BenchRecord {
    let mut made = BenchRecord::read(record()).unwrap();
    made.variants.truncate(1);
    let turn = made.variants[0].rounds[0].clone();
    made.variants[0].rounds = numbered(variant).map(|at| turn_of(&turn, at)).collect();
    let wake = made.wake_loop.rounds[0].clone();
    made.wake_loop.rounds = numbered(wakes)
        .map(|(round, blocks, late)| WakeRound {
            round,
            lateness_ns: times(blocks, late, 2 * PERIOD_NS, 5_000),
            ..wake.clone()
        })
        .collect();
    made.settings.frames = 64;
    made.settings.rate_hz = 48_000;
    made
}

fn numbered(turns: &[(usize, usize)]) -> impl Iterator<Item = (u32, usize, usize)> {
    turns.iter().zip(0..).map(|((blocks, late), round)| (round, *blocks, *late))
}

fn turn_of(turn: &Round, (round, blocks, late): (u32, usize, usize)) -> Round {
    Round {
        round,
        blocks: blocks as u64,
        first_block: u64::from(round) * blocks as u64,
        lateness_ns: times(blocks, 0, 0, 5_000),
        duration_ns: times(blocks, late, PERIOD_NS, 50_000),
        slack_ns: times(blocks, late, -5_000, PERIOD_NS - 55_000),
        worker_awake_max_ns: times(blocks, 0, 0, 5_000),
        skipped_periods: vec![0; blocks],
        ..turn.clone()
    }
}

fn times(blocks: usize, late: usize, late_ns: i64, other_ns: i64) -> Vec<i64> {
    [vec![late_ns; late], vec![other_ns; blocks - late]].concat()
}

/// What `hocket report` says of it on the terminal and on the page, without markup.
fn said(record: &BenchRecord) -> String {
    let folder = tempfile::tempdir().unwrap();
    let [file, page] = ["r.json", "r.html"].map(|name| folder.path().join(name));
    std::fs::write(&file, serde_json::to_string(record).unwrap()).unwrap();
    let ran = run(&["report", file.to_str().unwrap(), "-o", page.to_str().unwrap()]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let ran = run(&["report", file.to_str().unwrap()]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    ran.out + &std::fs::read_to_string(page).unwrap()
}

/// Of 20 wake-ups without a late one up to 16.1 % may be late. That is said of no block of the session.
#[test]
fn fault_11_a_bound_for_the_wake_up_loop_is_none_for_the_session() {
    let wakes = [(20, 0)];
    let enough = said(&made(&[(100, 0); 12], &wakes));
    assert!(enough.contains("Holds at 64 frames: none of 1200 blocks was late."), "{enough}");
    assert!(!enough.contains("may be late") && !enough.contains("up to 16.1 %"), "{enough}");
    let few = said(&made(&[(50, 0); 2], &wakes));
    assert!(few.contains("None of 100 blocks was late at 64 frames"), "{few}");
    assert!(few.contains("up to 3.7 % may be late") && !few.contains("Holds"), "{few}");
    let late = said(&made(&[(50, 5); 2], &wakes));
    assert!(late.contains("Misses at 64 frames: 10 of 100 blocks were late"), "{late}");
    assert!(!late.contains("may be late"), "{late}");
}

/// The longest of a hundred is no quantile of a thousand.
#[test]
fn fault_11_a_hundred_wake_ups_say_nothing_of_999_of_1000() {
    let slow = |turns: usize| {
        let mut record = made(&[(100, 0); 12], &vec![(50, 0); turns]);
        let wakes = record.wake_loop.rounds.iter_mut().flat_map(|round| &mut round.lateness_ns);
        wakes.for_each(|lateness_ns| *lateness_ns = 700_000);
        said(&record)
    };
    let hundred = slow(2);
    assert!(hundred.contains("in 99 of 100 cases"), "{hundred}");
    assert!(!hundred.contains("999 of 1000 cases"), "{hundred}");
    assert!(slow(20).contains("in 999 of 1000 cases"));
    assert!(!slow(1).contains("Waking up alone"));
}

/// 50 of 4500 blocks are more than what 3 of 900 wake-ups show of the machine, so the machine does not excuse them.
#[test]
fn fault_11_the_machine_excuses_no_more_than_its_own_loop_shows() {
    let mut turns = [(100, 1); 45];
    turns[..5].fill((100, 2));
    let wakes = [(300, 3), (300, 0), (300, 0)];
    let more = said(&made(&turns, &wakes));
    assert!(more.contains("Misses at 64 frames: 50 of 4500 blocks were late"), "{more}");
    assert!(more.contains("was late in 3 of 900"), "{more}");
    for excuse in ["not shown to be more", "as far as this machine", "Holds at"] {
        assert!(!more.contains(excuse), "'{excuse}' in\n{more}");
    }
    // Where the loop is late in as many of its turns, nothing shows that the session adds any.
    let mut turns = [(100, 0); 45];
    turns[..5].fill((100, 10));
    let like = said(&made(&turns, &wakes));
    assert!(like.contains("not shown to be more than this machine makes"), "{like}");
    assert!(!like.contains("Misses at 64 frames"), "{like}");
}
