use proptest::prelude::*;

use super::*;

fn thread(name: &str, tid: i32) -> Thread<'_> {
    Thread { name, tid: Some(tid) }
}

fn event(line: &str) -> Line<'_> {
    match parse(line) {
        Parsed::Event(line) => line,
        other => panic!("{other:?}: {line}"),
    }
}

const PERF: &str = "     migration/0    18 [000] 14205.635355:       sched:sched_switch: prev_comm=migration/0 prev_pid=18 prev_prio=0 prev_state=S ==> next_comm=opt cgu.00 next_pid=27973 next_prio=120";
const SWITCH: &str =
    "prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=b next_pid=2 next_prio=120";

#[test]
fn a_switch_of_perf_is_read() {
    let line = event(PERF);
    assert_eq!((line.cpu, line.at_ns, line.digits), (0, 14_205_635_355_000, 6));
    assert_eq!((line.tid, line.process, line.has_flags), (Some(18), None, false));
    let (out, into) = (thread("migration/0", 18), thread("opt cgu.00", 27973));
    assert_eq!(line.what, What::Switch { out, into, preempted: false, ended: false });
}

#[test]
fn each_head_is_read() {
    let head = |head: &str| {
        let text = format!("{head} {SWITCH}");
        let line = event(&text);
        (line.cpu, line.at_ns, line.tid, line.process, line.has_flags, line.in_interrupt)
    };
    let plain = |tid, process| (3, 1_500_000_000, tid, process, false, false);
    // perf script: plain, --ns, with the process, with a count, of a thread that has ended, of an odd name.
    assert_eq!(head("a 1 [003] 1.500000: sched:sched_switch:"), plain(Some(1), None));
    assert_eq!(head("a 1 [003] 1.500000000: sched:sched_switch:"), plain(Some(1), None));
    assert_eq!(head("a 7/1 [003] 1.500000: sched:sched_switch:"), plain(Some(1), Some(7)));
    assert_eq!(head("a 1 [003] 1.500000:      1 sched:sched_switch:"), plain(Some(1), None));
    assert_eq!(head("  :-1    -1 [003] 1.500000: sched:sched_switch:"), plain(None, None));
    assert_eq!(head("a [0] 2: x 1 [003] 1.500000: sched:sched_switch:"), plain(Some(1), None));
    assert_eq!(head("a/9/8 1 [003] 1.500000: sched:sched_switch:"), plain(Some(1), None));
    // ftrace and trace-cmd.
    assert_eq!(head("  a b-1  [003] 1.500000: sched_switch:"), plain(Some(1), None));
    assert_eq!(head("  <idle>-0 [003] 1.500000: sched_switch:"), plain(Some(0), None));
    let flags = |tid, process, in_interrupt| (3, 1_500_000_000, tid, process, true, in_interrupt);
    assert_eq!(head("<...>-1 [003] d..2. 1.500000: sched_switch:"), flags(Some(1), None, false));
    assert_eq!(head("a-1 (   7) [003] d.h2. 1.5: sched_switch:"), flags(Some(1), Some(7), true));
    assert_eq!(head("a-1 (-----) [003] dNs2. 1.5: sched_switch:"), flags(Some(1), None, true));
}

#[test]
fn each_event_is_read() {
    let what = |text: &str| match parse(text) {
        Parsed::Event(line) => format!("{:?}", line.what),
        other => format!("{other:?}"),
    };
    let woken = |name, tid, how| format!("{:?}", What::Woken { who: thread(name, tid), how });
    for (fields, expected) in [
        ("sched_waking: comm=a: b pid=18 prio=0 target_cpu=000", woken("a: b", 18, Woke::Waking)),
        (
            "sched_wakeup: comm=a pid=18 prio=120 success=1 target_cpu=001",
            woken("a", 18, Woke::Wakeup),
        ),
        ("sched_wakeup: a b:18 [120] success=1 CPU:001", woken("a b", 18, Woke::Wakeup)),
        (
            "sched_wakeup_new: comm=pid=7 pid=18 prio=120 target_cpu=000",
            woken("pid=7", 18, Woke::New),
        ),
        (
            "sched_migrate_task: comm=a pid=18 prio=120 orig_cpu=0 dest_cpu=1",
            format!("{:?}", What::Moved { who: thread("a", 18), to: 1 }),
        ),
        (
            "sched_process_fork: comm=a pid=18 child_comm=b c child_pid=19",
            format!("{:?}", What::Forked { parent: thread("a", 18), child: thread("b c", 19) }),
        ),
        (
            "irq_handler_entry: irq=34 name=eth0",
            format!("{:?}", What::Interrupt { number: 34, is_deferred: false, begins: true }),
        ),
        (
            "softirq_exit: vec=1 [action=TIMER]",
            format!("{:?}", What::Interrupt { number: 1, is_deferred: true, begins: false }),
        ),
    ] {
        assert_eq!(what(&format!("x 1 [000] 1.5: sched:{fields}")), expected);
        assert_eq!(what(&format!("x-1 [000] d..2. 1.5: {fields}")), expected);
    }
}

#[test]
fn the_state_says_whether_a_thread_wanted_to_go_on() {
    for (state, expected) in [
        ("S", (false, false)),
        ("D", (false, false)),
        ("I", (false, false)),
        ("R", (true, false)),
        ("R+", (true, false)),
        ("Z", (false, true)),
        ("X", (false, true)),
        ("x|K", (false, true)),
    ] {
        let long = format!(
            "prev_comm=a prev_pid=1 prev_prio=1 prev_state={state} ==> next_comm=b next_pid=2 next_prio=3"
        );
        for fields in [long, format!("a:1 [120] {state} ==> b c:2 [120]")] {
            let text = format!("x 1 [000] 1.5: sched:sched_switch: {fields}");
            let What::Switch { preempted, ended, out, into } = event(&text).what else { panic!() };
            assert_eq!((preempted, ended), expected, "{text}");
            assert_eq!((out.tid, into.tid), (Some(1), Some(2)));
        }
    }
}

#[test]
fn what_is_no_event_is_passed_over() {
    for text in [
        "",
        "# tracer: nop",
        "cpus=2",
        "\tffffffff813ad60a update_se+0x13a ([kernel.kallsyms])",
        "a line of prose about sched_switch",
    ] {
        assert_eq!(parse(text), Parsed::Text, "{text}");
    }
    for text in [
        "  perf 1 [000] 1.5: sched:sched_stat_runtime: comm=perf pid=1 runtime=62338 [ns]",
        "  swapper     0 [000]     0.000000: PERF_RECORD_COMM: kthreadd:2/2",
    ] {
        assert_eq!(parse(text), Parsed::Other, "{text}");
    }
}

#[test]
fn missing_events_are_counted() {
    let lost = |cpu, events| Parsed::Lost { cpu, events };
    assert_eq!(parse("CPU:1 [LOST 123 EVENTS]"), lost(1, 123));
    assert_eq!(parse("CPU:1 [123 EVENTS DROPPED]"), lost(1, 123));
    assert_eq!(parse("CPU:1 [EVENTS DROPPED]"), Parsed::Text);
    assert_eq!(parse("perf 1 [002] 1.5: PERF_RECORD_LOST lost 40"), lost(2, 40));
}

#[test]
fn an_event_that_is_cut_or_wrong_is_bad() {
    // Any cut of a line is bad or none, but never another event.
    for end in 0..PERF.len() - "120".len() {
        let parsed = parse(&PERF[..end]);
        assert!(
            matches!(parsed, Parsed::Bad(_) | Parsed::Other | Parsed::Text),
            "{end}: {parsed:?}"
        );
    }
    let of = |head: &str| parse(&format!("{head} sched:sched_switch: {SWITCH}").leak()[..]);
    assert_eq!(of("a 1 1.5:"), Parsed::Bad(Bad::Head));
    assert_eq!(of("a 1 [000]"), Parsed::Bad(Bad::Head));
    assert_eq!(of("a 1 [000] 18446744073709551616.5:"), Parsed::Bad(Bad::Late));
    assert_eq!(of("a 1 [000] 9223372036854775807.5:"), Parsed::Bad(Bad::Late));
    assert_eq!(event(&format!("a 1 [99999999999] 1.5: sched_switch: {SWITCH}")).cpu, u32::MAX);
    let huge = "a 1 [0] 1.5: sched_waking: comm=a pid=99999999999 prio=1 target_cpu=0";
    assert_eq!(parse(huge), Parsed::Bad(Bad::Fields));
}

proptest! {
    #[test]
    fn nonsense_is_read_to_an_end(text in "\\PC{0,200}") {
        parse(&text);
    }

    #[test]
    fn any_name_is_read(name in "[a-z:/\\[\\]() <>=#é-]{1,15}", tid in 1..i32::MAX) {
        let text = format!("x 1 [000] 1.5: sched:sched_waking: comm={name} pid={tid} prio=120 target_cpu=000");
        prop_assert_eq!(event(&text).what, What::Woken { who: thread(&name, tid), how: Woke::Waking });
    }
}
