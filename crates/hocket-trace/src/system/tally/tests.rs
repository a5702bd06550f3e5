use super::*;
use crate::switches::IDLE;
use crate::system::{Beside, Interrupts, Merge};

const PROCESS: i32 = 100;
/// Two threads of the program, and two strangers.
const AUDIO: i32 = 101;
const DISK: i32 = 102;
const BROWSER: i32 = 900;
const BUILD: i32 = 901;

/// Two cores with two CPUs each: 0 and 1, 2 and 3.
fn cpus() -> Vec<Cpu> {
    let cpu = |number: u32| Cpu { number, beside: vec![number ^ 1], ..Cpu::default() };
    (0..4).map(cpu).collect()
}

fn tally() -> Tally {
    let about = AboutSystem { program: "host".into(), ..AboutSystem::default() };
    let mut tally = Tally::new(about, cpus(), PROCESS, false);
    tally.add_member(AUDIO, PROCESS);
    tally.add_member(DISK, PROCESS);
    tally
}

fn event(at_ns: i64, cpu: u32, what: Happened) -> KernelEvent {
    KernelEvent { at_ns, cpu, what }
}

fn switch(at_ns: i64, cpu: u32, out: i32, into: i32) -> KernelEvent {
    let what = Happened::Switch { in_tid: Some(into), out_tid: Some(out), preempted: false };
    event(at_ns, cpu, what)
}

fn preempt(at_ns: i64, cpu: u32, out: i32, into: i32) -> KernelEvent {
    let what = Happened::Switch { in_tid: Some(into), out_tid: Some(out), preempted: true };
    event(at_ns, cpu, what)
}

fn woken(at_ns: i64, cpu: u32, tid: i32, by: Option<i32>) -> KernelEvent {
    event(at_ns, cpu, Happened::Woken { tid, by })
}

fn tallied(events: &[KernelEvent], end_ns: i64) -> SystemTrace {
    let mut tally = tally();
    events.iter().for_each(|event| tally.add(event));
    tally.finish(end_ns, "the end".into())
}

fn seen(trace: &SystemTrace, tid: i32) -> &ThreadSeen {
    trace.threads.iter().find(|thread| thread.tid == tid).expect("seen")
}

fn of_pair<T: Copy + Default>(trace: &SystemTrace, pairs: &Pairs<T>, a: i32, b: i32) -> T {
    let index = |tid| trace.threads.iter().position(|thread| thread.tid == tid).unwrap() as u32;
    pairs.get(&(index(a), index(b))).copied().unwrap_or_default()
}

fn pieces(trace: &SystemTrace, did: Did) -> Vec<(i32, u16, i64, i64)> {
    let of = trace.pieces.iter().filter(|piece| piece.did == did);
    let piece = |piece: &Piece| {
        let tid = trace.threads[piece.thread as usize].tid;
        (tid, piece.cpu, piece.start_ns, piece.end_ns())
    };
    of.map(piece).collect()
}

#[test]
fn two_threads_that_hand_over_wake_each_other_and_never_run_together() {
    let events = [
        switch(100, 0, IDLE, AUDIO),
        woken(200, 0, DISK, Some(AUDIO)),
        switch(210, 0, AUDIO, DISK),
        woken(300, 0, AUDIO, Some(DISK)),
        switch(320, 0, DISK, AUDIO),
        switch(400, 0, AUDIO, IDLE),
    ];
    let trace = tallied(&events, 1000);
    let (audio, disk) = (seen(&trace, AUDIO), seen(&trace, DISK));
    assert_eq!((audio.ran_ns, audio.runs, audio.woken), (110 + 80, 2, 1));
    assert_eq!((disk.ran_ns, disk.runs, disk.woken), (110, 1, 1));
    assert_eq!(audio.by_cpu, BTreeMap::from([(0, 190)]));
    assert_eq!(of_pair(&trace, &trace.wakes, AUDIO, DISK), 1);
    assert_eq!(of_pair(&trace, &trace.wakes, DISK, AUDIO), 1);
    assert_eq!(of_pair(&trace, &trace.beside, AUDIO, DISK), Beside::default());
    // The disk's thread had not run before, so nobody knew where it waits; the other one waited 20 ns.
    assert_eq!((audio.waited_ns, audio.longest_wait_ns), (20, 20));
    assert_eq!(of_pair(&trace, &trace.in_the_way, AUDIO, DISK).ns, 20);
}

use std::collections::BTreeMap;

#[test]
fn who_runs_beside_whom_is_told_by_core() {
    let events = [
        switch(0, 0, IDLE, AUDIO),
        switch(100, 1, IDLE, BROWSER),
        switch(150, 2, IDLE, DISK),
        switch(200, 3, IDLE, BUILD),
        switch(300, 0, AUDIO, IDLE),
        switch(400, 1, BROWSER, IDLE),
        switch(500, 2, DISK, IDLE),
        switch(900, 3, BUILD, IDLE),
    ];
    let trace = tallied(&events, 1000);
    let beside = |a, b| of_pair(&trace, &trace.beside, a, b);
    assert_eq!(beside(AUDIO, BROWSER), Beside { one_core_ns: 200, elsewhere_ns: 0 });
    assert_eq!(beside(DISK, BUILD), Beside { one_core_ns: 300, elsewhere_ns: 0 });
    assert_eq!(beside(AUDIO, DISK), Beside { one_core_ns: 0, elsewhere_ns: 150 });
    assert_eq!(beside(AUDIO, BUILD), Beside::default(), "strangers elsewhere are of no interest");
    assert_eq!(trace.drawn_cpus(), [0, 1, 2, 3]);
    assert_eq!((trace.cpus[3].busy_ns, trace.cpus[3].unknown_ns), (700, 0));
}

#[test]
fn who_is_in_the_way_is_named_with_its_time() {
    let events = [
        switch(0, 0, IDLE, AUDIO),
        preempt(100, 0, AUDIO, BROWSER),
        preempt(160, 0, BROWSER, BUILD),
        switch(200, 0, BUILD, AUDIO),
        switch(300, 0, AUDIO, IDLE),
        // A stranger that concerns nobody.
        switch(400, 0, IDLE, BUILD),
        switch(500, 0, BUILD, IDLE),
    ];
    let trace = tallied(&events, 1000);
    let audio = seen(&trace, AUDIO);
    assert_eq!((audio.preempted, audio.waited_ns, audio.ran_ns), (1, 100, 200));
    let in_the_way = |by| of_pair(&trace, &trace.in_the_way, AUDIO, by);
    assert_eq!(in_the_way(BROWSER), InTheWay { times: 1, ns: 60, longest_ns: 60 });
    assert_eq!(in_the_way(BUILD), InTheWay { times: 1, ns: 40, longest_ns: 40 });
    let ran =
        [(AUDIO, 0, 0, 100), (BROWSER, 0, 100, 160), (BUILD, 0, 160, 200), (AUDIO, 0, 200, 300)];
    assert_eq!(pieces(&trace, Did::Ran), ran);
    assert_eq!(pieces(&trace, Did::Waited), [(AUDIO, 0, 100, 200)]);
}

#[test]
fn a_thread_that_moves_while_it_waits_is_in_nobodys_way_there() {
    let events = [
        switch(0, 0, IDLE, AUDIO),
        switch(10, 2, IDLE, BUILD),
        preempt(100, 0, AUDIO, BROWSER),
        event(150, 0, Happened::Moved { tid: AUDIO, to: 2 }),
        switch(190, 2, BUILD, AUDIO),
        switch(300, 0, BROWSER, IDLE),
    ];
    let trace = tallied(&events, 1000);
    let in_the_way = |by| of_pair(&trace, &trace.in_the_way, AUDIO, by).ns;
    assert_eq!((in_the_way(BROWSER), in_the_way(BUILD)), (50, 40));
    assert_eq!((seen(&trace, AUDIO).moves, seen(&trace, AUDIO).waited_ns), (1, 90));
    assert_eq!(seen(&trace, AUDIO).by_cpu, BTreeMap::from([(0, 100), (2, 810)]));
}

#[test]
fn a_wake_up_that_comes_before_the_sleep_counts_once() {
    let events = [
        switch(0, 0, IDLE, AUDIO),
        woken(95, 2, AUDIO, Some(DISK)),
        switch(100, 0, AUDIO, IDLE),
        switch(130, 0, IDLE, AUDIO),
        // A thread that does not sleep is not woken up.
        woken(150, 2, AUDIO, Some(DISK)),
        preempt(160, 0, AUDIO, BUILD),
        switch(170, 0, BUILD, AUDIO),
        switch(200, 0, AUDIO, IDLE),
        woken(300, 0, AUDIO, None),
    ];
    let trace = tallied(&events, 400);
    assert_eq!(of_pair(&trace, &trace.wakes, DISK, AUDIO), 1);
    let audio = trace.threads.iter().position(|thread| thread.tid == AUDIO).unwrap() as u32;
    assert_eq!(trace.wakes[&(BY_INTERRUPT, audio)], 1);
    assert_eq!(trace.threads[audio as usize].woken, 2);
    // Nobody let it run until the end.
    assert_eq!(trace.threads[audio as usize].waited_ns, 10 + 100);
}

#[test]
fn threads_that_begin_belong_to_the_program_and_their_numbers_may_come_again() {
    let born = |at_ns, tid, process, parent_process| {
        event(at_ns, 0, Happened::Born { tid, process, parent_process })
    };
    let events = [
        born(10, 103, PROCESS, PROCESS),
        born(11, 200, 200, PROCESS),
        switch(20, 0, IDLE, 103),
        event(30, 0, Happened::Ended { tid: 103 }),
        event(31, 0, Happened::Switch { in_tid: Some(200), out_tid: None, preempted: false }),
        switch(50, 0, 200, 103),
        switch(90, 0, 103, IDLE),
    ];
    let trace = tallied(&events, 100);
    let of_number: Vec<_> = trace.threads.iter().filter(|thread| thread.tid == 103).collect();
    assert_eq!(of_number.len(), 2, "a later thread with the same number is another one");
    assert!(of_number[0].is_member && of_number[0].ran_ns == 11);
    assert!(!of_number[1].is_member && of_number[1].ran_ns == 40);
    assert!(!seen(&trace, 200).is_member, "a child of the program is another one");

    let mut tally = Tally::new(AboutSystem::default(), cpus(), PROCESS, true);
    events.iter().for_each(|event| tally.add(event));
    assert!(tally.living().contains(&200));
    assert!(seen(&tally.finish(100, String::new()), 200).is_member);
}

#[test]
fn what_is_lost_is_nobodys_time() {
    let events = [
        switch(0, 0, IDLE, AUDIO),
        event(300, 0, Happened::Lost { after_ns: 100, records: 7 }),
        switch(400, 0, BROWSER, AUDIO),
    ];
    let trace = tallied(&events, 500);
    assert_eq!((trace.lost, trace.cpus[0].unknown_ns), (7, 200));
    assert_eq!((seen(&trace, AUDIO).ran_ns, seen(&trace, BROWSER).ran_ns), (200, 100));
}

#[test]
fn interrupts_count_for_the_thread_whose_time_they_take() {
    let interrupt = |at_ns, is_deferred, begins| {
        event(at_ns, 0, Happened::Interrupt { number: 3, is_deferred, begins })
    };
    let events = [
        interrupt(10, false, false),
        switch(20, 0, IDLE, AUDIO),
        interrupt(30, false, true),
        interrupt(40, false, false),
        interrupt(40, true, true),
        interrupt(45, true, false),
        switch(50, 0, AUDIO, IDLE),
        interrupt(60, false, true),
        interrupt(70, false, false),
    ];
    let trace = tallied(&events, 100);
    assert_eq!(seen(&trace, AUDIO).interrupts, Interrupts { count: 2, ns: 15 });
    assert_eq!(trace.cpus[0].interrupts, Interrupts { count: 3, ns: 25 });
    let drawn = trace.pieces.iter().filter(|piece| piece.did == Did::Interrupted);
    let drawn: Vec<_> = drawn.map(|piece| (piece.thread, piece.start_ns)).collect();
    assert_eq!(drawn, [(3, 30), (3 | crate::system::DEFERRED, 40)]);
}

#[test]
fn nothing_at_all_is_a_trace_too() {
    let trace = tallied(&[], 100);
    assert_eq!((trace.events, trace.pieces.len(), trace.members().len()), (0, 0, 2));
    // Nothing switched, so nobody knows.
    assert!(trace.cpus.iter().all(|cpu| cpu.unknown_ns == 100 && cpu.busy_ns == 0));
}

/// Numbers that look like chance and are the same each time (a linear congruential generator).
fn chance(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % below
}

#[test]
fn ten_million_events_stay_below_their_bound() {
    const EVENTS: u64 = 10_000_000;
    const BATCH: u64 = 100_000;
    let (mut tally, mut merge, mut state) = (tally(), Merge::default(), 1);
    let (mut most_bytes, mut given) = (0, 0);
    let mut running = [IDLE; 4];
    while given < EVENTS {
        let until_ns = ((given + BATCH) * 1000) as i64;
        let batch: Vec<KernelEvent> = (given..given + BATCH)
            .map(|number| {
                // Up to 50 µs before its time in the order, as where CPUs are read one after the other.
                let at_ns = (number * 1000) as i64 - chance(&mut state, 50_000) as i64;
                let cpu = chance(&mut state, 4) as u32;
                // Half a million different threads, and the program's own again and again.
                let tid = match chance(&mut state, 4) {
                    0 => AUDIO,
                    1 => DISK,
                    _ => 1000 + chance(&mut state, 500_000) as i32,
                };
                match chance(&mut state, 3) {
                    0 => woken(at_ns, cpu, tid, Some(AUDIO)),
                    _ => {
                        let out = std::mem::replace(&mut running[cpu as usize], tid);
                        preempt(at_ns, cpu, out, tid)
                    }
                }
            })
            .collect();
        given += BATCH;
        merge.add(batch, until_ns - 50_000, |event| tally.add(event));
        most_bytes = most_bytes.max(merge.held_bytes() + tally.held_bytes());
    }
    merge.add([], i64::MAX, |event| tally.add(event));
    assert!(tally.on_cpus.iter().all(|cpu| cpu.waiting.len() <= 2), "a thread waits once");
    // What names take comes on top: at most 20,000 of 16 bytes.
    assert!(most_bytes < 100 << 20, "{most_bytes} bytes");
    let trace = tally.finish(i64::MAX / 2, "the end".into());
    assert_eq!(trace.events, EVENTS);
    assert!(trace.threads.len() <= MOST_THREADS + 1 && trace.pieces.len() == MOST_PIECES);
    let pairs = [trace.beside.len(), trace.in_the_way.len(), trace.wakes.len()];
    assert!(pairs.iter().all(|pairs| *pairs <= MOST_PAIRS));
    // What is not drawn is counted all the same.
    assert!(trace.not_drawn > 0 && trace.drawn_until_ns.is_some());
    assert!(seen(&trace, AUDIO).runs + seen(&trace, DISK).runs > 1_000_000);
}
