//! The sentry is awake: whoever breaks the rules on purpose is seen.

use std::fs::File;
use std::hint::black_box;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;

use hocket_dsp::{Block, Processor, rows};
use hocket_machine::pin::current_thread;
use hocket_plan::{ScheduleKind, SiblingPolicy};
use hocket_rt::Strategy;

use crate::sentry::{moves, take_allocations};
use crate::stage::{self, Does, FRAMES};
use crate::watching::{Report, announce, take_report};

const SOURCES: usize = 4;
const BLOCKS: usize = 5;

/// Runs processors that do `deed`, dealt to two workers.
fn report_of<F>(deed: impl Fn() -> F) -> Report
where
    F: FnMut(&mut Block<'_>) + Send + 'static,
{
    let sources = (0..SOURCES).map(|_| Box::new(Does(deed())) as Box<dyn Processor>).collect();
    let policy = stage::policy(ScheduleKind::Lists, SiblingPolicy::All, Strategy::Futex);
    let mut engine = stage::described_engine(stage::side_by_side(sources), policy, 2);
    take_report();
    take_allocations();
    moves::take();
    for _ in 0..BLOCKS {
        engine.process(FRAMES as usize);
    }
    assert!(engine.totals()[1].units >= BLOCKS as u64, "the worker has its share");
    take_report()
}

/// How many forbidden calls have this name; there are no others.
fn named(report: &Report, name: &str) -> usize {
    let all = report.forbidden.len();
    let named = report.forbidden.iter().filter(|call| call.name() == name).count();
    assert_eq!(named, all, "{:?}", report.forbidden);
    named
}

#[test]
fn a_system_call_is_seen_on_leader_and_worker_and_still_made() {
    let _alone = stage::alone();
    if !announce("a_system_call_is_seen_on_leader_and_worker_and_still_made") {
        return;
    }
    let own = std::process::id();
    let report = report_of(|| move |_: &mut Block<'_>| assert_eq!(std::process::id(), own));
    assert_eq!(named(&report, "getpid"), SOURCES * BLOCKS);
    assert!(report.forbidden.iter().all(|call| call.ip != 0));
}

#[test]
fn a_fill_and_a_copy_by_the_library_are_seen() {
    let _alone = stage::alone();
    if !moves::COUNTED {
        return println!("SKIPPED a_fill_and_a_copy_by_the_library_are_seen: not counted here");
    }
    report_of(|| |block: &mut Block<'_>| block.main.left.fill(0.0));
    assert_eq!(moves::take().calls, (SOURCES * BLOCKS) as u64);
    report_of(|| |block: &mut Block<'_>| block.main.left.copy_from_slice(block.main.right));
    assert_eq!(moves::take().calls, (SOURCES * BLOCKS) as u64);
    report_of(|| |block: &mut Block<'_>| rows::copy(block.main.left, block.main.right));
    assert_eq!(moves::take().calls, 0);
}

#[test]
fn writing_is_seen() {
    let _alone = stage::alone();
    if !announce("writing_is_seen") {
        return;
    }
    let report = report_of(|| {
        let mut file = File::options().write(true).open("/dev/null").unwrap();
        move |_: &mut Block<'_>| file.write_all(b"in the block").unwrap()
    });
    assert_eq!(named(&report, "write"), SOURCES * BLOCKS);
}

#[test]
fn allocating_is_seen_even_without_a_system_call() {
    let _alone = stage::alone();
    report_of(|| |_: &mut Block<'_>| drop(black_box(Vec::<u8>::with_capacity(black_box(1234)))));
    let (calls, largest) = take_allocations();
    assert_eq!(calls as usize, 2 * SOURCES * BLOCKS, "one to get it, one to give it back");
    assert_eq!(largest, 1234);
}

#[test]
fn a_large_allocation_is_a_system_call_too() {
    let _alone = stage::alone();
    if !announce("a_large_allocation_is_a_system_call_too") {
        return;
    }
    // Far above every threshold from which allocators ask the system for memory of its own.
    let large = 256 << 20;
    let report =
        report_of(|| move |_: &mut Block<'_>| drop(black_box(Vec::<u8>::with_capacity(large))));
    let names: Vec<&str> = report.forbidden.iter().map(|call| call.name()).collect();
    assert!(names.contains(&"mmap") && names.contains(&"munmap"), "{names:?}");
    assert_eq!(take_allocations(), ((2 * SOURCES * BLOCKS) as u64, large));
}

/// Whether a thread of this process blocks in the kernel; `R` is one that runs or waits for a CPU.
fn is_asleep(thread: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat"));
    stat.is_ok_and(|stat| stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" S")))
}

#[test]
fn a_contended_lock_is_no_edge() {
    let _alone = stage::alone();
    if !announce("a_contended_lock_is_no_edge") {
        return;
    }
    let lock = Arc::new(Mutex::new(()));
    let wanted = Arc::new(AtomicBool::new(false));
    let leader_is = AtomicI32::new(0);
    let taken = lock.lock().unwrap();
    let deed = {
        let (lock, wanted) = (Arc::clone(&lock), Arc::clone(&wanted));
        Does(move |_: &mut Block<'_>| {
            wanted.store(true, SeqCst);
            drop(lock.lock().unwrap());
        })
    };
    take_report();
    let report = std::thread::scope(|scope| {
        let leader = scope.spawn(|| {
            leader_is.store(current_thread().number(), SeqCst);
            let policy = stage::policy(ScheduleKind::Serial, SiblingPolicy::Off, Strategy::Pause);
            let prepared = stage::side_by_side(vec![Box::new(deed)]);
            stage::described_engine(prepared, policy, 1).process(FRAMES as usize);
            take_report()
        });
        while !(wanted.load(SeqCst) && is_asleep(leader_is.load(SeqCst))) {
            sleep(Duration::from_millis(1));
        }
        drop(taken);
        leader.join().unwrap()
    });
    assert!(named(&report, "futex") >= 1, "{report:?}");
    assert_eq!(report.edges(), 0, "{report:?}");
}

#[test]
fn a_thread_started_in_the_block_is_seen_and_runs() {
    let _alone = stage::alone();
    if !announce("a_thread_started_in_the_block_is_seen_and_runs") {
        return;
    }
    let report =
        report_of(|| |_: &mut Block<'_>| assert_eq!(std::thread::spawn(|| 7).join().unwrap(), 7));
    let started = report.forbidden.iter().filter(|call| call.name().starts_with("clone"));
    assert_eq!(started.count(), report.cut_short as usize, "{report:?}");
    assert!(report.cut_short >= 1, "{report:?}");
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn a_foreign_signal_is_no_violation_and_ends_the_watch_of_its_block_alone() {
    let _alone = stage::alone();
    if !announce("a_foreign_signal_is_no_violation_and_ends_the_watch_of_its_block_alone") {
        return;
    }
    crate::sentry::expect_traps();
    let report = report_of(|| |_: &mut Block<'_>| crate::sentry::trap());
    assert_eq!(report.forbidden, [], "{report:?}");
    // Two sources a worker, of which the second is not watched any more.
    assert_eq!(report.cut_short as usize, 2 * BLOCKS, "{report:?}");
}
