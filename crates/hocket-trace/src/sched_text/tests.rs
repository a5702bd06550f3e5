use super::*;
use crate::system::{Did, SystemTrace};

/// As `perf script` prints it: `engine` wakes `disk io`, a stranger takes the CPU of `engine`, and `disk io` ends.
const PERF: &str = "\
          swapper     0 [000] 100.000000:       sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=engine next_pid=11 next_prio=20
           engine    11 [000] 100.000100:       sched:sched_waking: comm=disk io pid=12 prio=120 target_cpu=001
          swapper     0 [001] 100.000150:       sched:sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=disk io next_pid=12 next_prio=120
           engine    11 [000] 100.000200: sched:sched_stat_runtime: comm=engine pid=11 runtime=200000 [ns]
           engine    11 [000] 100.000200:       sched:sched_switch: prev_comm=engine prev_pid=11 prev_prio=20 prev_state=R ==> next_comm=a: [b] next_pid=13 next_prio=0
          disk io    12 [001] 100.000250:       sched:sched_switch: prev_comm=disk io prev_pid=12 prev_prio=120 prev_state=X ==> next_comm=swapper/1 next_pid=0 next_prio=120
           a: [b]    13 [000] 100.000300:       sched:sched_switch: prev_comm=a: [b] prev_pid=13 prev_prio=0 prev_state=S ==> next_comm=engine next_pid=11 next_prio=20
           engine    11 [000] 100.000400:       sched:sched_switch: prev_comm=engine prev_pid=11 prev_prio=20 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
";

/// The same as ftrace writes it.
fn ftrace() -> String {
    let mut text = "# tracer: nop\n#\n".to_owned();
    for line in PERF.lines() {
        let (head, event) =
            line.split_once(": ").filter(|_| !line.contains("a: [b]   ")).unwrap_or_else(|| {
                let at = line.find(" 100.000300").unwrap() + " 100.000300".len();
                (&line[..at], &line[at + 2..])
            });
        let (who, rest) = head.split_once(" [").unwrap();
        let (cpu, time) = rest.split_once("] ").unwrap();
        let (name, tid) = who.rsplit_once(' ').unwrap();
        let event = event.trim().strip_prefix("sched:").unwrap();
        text += &format!("{}-{tid} [{cpu}] d..2. {time}: {event}\n", name.trim_end());
    }
    text
}

fn chosen(threads: &[&str]) -> Choice {
    Choice { threads: threads.iter().map(|it| (*it).to_owned()).collect(), with_children: false }
}

fn read_all(text: &str, choice: &Choice) -> Result<SystemTrace, ReadError> {
    read(text.as_bytes(), AboutSystem::default(), choice, || false)
}

fn threads(system: &SystemTrace) -> Vec<(String, i64, u64, i64)> {
    let members = system.members().into_iter().map(|index| &system.threads[index as usize]);
    members.map(|it| (it.title(), it.ran_ns / 1000, it.woken, it.waited_ns / 1000)).collect()
}

#[test]
fn a_program_is_chosen_by_name_or_number() {
    let system = read_all(PERF, &chosen(&["engine", "12"])).unwrap();
    // Where a thread waits that has not run before is not known.
    let expected = [("engine (11)".into(), 300, 0, 100), ("disk io (12)".into(), 100, 1, 0)];
    assert_eq!(threads(&system), expected);
    let way: Vec<_> = system.in_the_way.iter().collect();
    assert_eq!(way.len(), 1, "{way:?}");
    let (waiting, running) = way[0].0;
    let title = |index: &u32| system.threads[*index as usize].title();
    assert_eq!((title(waiting), title(running)), ("engine (11)".into(), "a: [b] (13)".into()));
    assert_eq!((way[0].1.times, way[0].1.ns), (1, 100_000));
    assert_eq!(system.about.start_ns, 100_000_000_000);
    assert_eq!(system.length_ns(), 400_000);
    assert_eq!((system.cpus.len(), system.about.ended.as_str()), (2, "the file ended"));
}

#[test]
fn every_thread_counts_where_none_is_chosen() {
    let system = read_all(PERF, &Choice::default()).unwrap();
    assert_eq!(system.members().len(), 3);
    assert!(system.pieces.iter().any(|piece| piece.did == Did::Waited));
    let pairs: i64 = system.beside.values().map(|beside| beside.elsewhere_ns).sum();
    assert_eq!(pairs, 100_000);
}

#[test]
fn perf_and_ftrace_say_the_same() {
    let choice = Choice::default();
    let [a, b] = [read_all(PERF, &choice).unwrap(), read_all(&ftrace(), &choice).unwrap()];
    assert_eq!((threads(&a), &a.pieces, &a.wake_ups), (threads(&b), &b.pieces, &b.wake_ups));
    // Only one of them knows of interrupts.
    let has = |system: &SystemTrace| system.limits.iter().any(|it| it.contains("interrupts"));
    assert!(has(&a) && !has(&b), "{:?} {:?}", a.limits, b.limits);
}

#[test]
fn a_process_is_chosen_by_the_column_of_its_number() {
    let text = PERF
        .replace("  11 [", "  7/11 [")
        .replace("  12 [", "  7/12 [")
        .replace("  13 [", " 9/13 [");
    let names = |number| threads(&read_all(&text, &chosen(&[number])).unwrap());
    assert_eq!(names("7").len(), 2);
    assert_eq!(names("9")[0].0, "a: [b] (13)");
}

#[test]
fn children_are_included() {
    let fork = "engine 11 [000] 99.0: sched:sched_process_fork: comm=engine pid=11 child_comm=engine child_pid=13\n";
    let text = PERF.replacen('\n', &format!("\n{}", fork.replace("99.0", "100.000050")), 1);
    let with = Choice { with_children: true, ..chosen(&["11"]) };
    assert_eq!(threads(&read_all(&text, &with).unwrap()).len(), 2);
    assert_eq!(threads(&read_all(&text, &chosen(&["11"])).unwrap()).len(), 1);
}

#[test]
fn a_number_that_is_used_again_is_another_thread() {
    let again = "x 0 [001] 100.000500: sched:sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=other next_pid=12 next_prio=120\n";
    let system = read_all(&format!("{PERF}{again}"), &Choice::default()).unwrap();
    let titles: Vec<String> = system.threads.iter().map(|thread| thread.title()).collect();
    assert!(
        titles.contains(&"disk io (12)".into()) && titles.contains(&"other (12)".into()),
        "{titles:?}"
    );
}

#[test]
fn what_cannot_be_read_is_said_with_its_line() {
    let mut text = PERF.to_owned();
    for line in [
        "x 1 [000] 99.0: sched:sched_waking: comm=a pid=1 prio=1 target_cpu=0",
        "x 1 [1000000] 100.1: sched:sched_waking: comm=a pid=1 prio=1 target_cpu=0",
        "x 1 [000] 18446744073709551615.1: sched:sched_waking: comm=a pid=1 prio=1 target_cpu=0",
        "x 1 [000] 9000000.1: sched:sched_waking: comm=a pid=1 prio=1 target_cpu=0",
        "x 1 100.1: sched:sched_waking: comm=a pid=1 prio=1 target_cpu=0",
        &"y".repeat(1 << 20),
        "x 1 [000] 100.1: sched:sched_switch: prev_comm=a prev_p",
    ] {
        text += &format!("{line}\n");
    }
    let system = read_all(&text, &Choice::default()).unwrap();
    for (part, line) in [
        ("earlier time", 9),
        ("on a CPU above", 10),
        ("more than a week", 11),
        ("no CPU or no time", 13),
        ("too long", 14),
        ("are cut", 15),
    ] {
        let found = system.limits.iter().find(|limit| limit.contains(part));
        let found = found.unwrap_or_else(|| panic!("{part}: {:?}", system.limits));
        assert!(found.contains(&format!("line {line}")), "{found}");
    }
    assert_eq!(threads(&system), threads(&read_all(PERF, &Choice::default()).unwrap()));
}

#[test]
fn missing_events_leave_a_gap() {
    let lost = "CPU:0 [LOST 40 EVENTS]\n";
    let at = PERF.find("           a: [b]    13").unwrap();
    let text = format!("{}{lost}{}", &PERF[..at], &PERF[at..]);
    let system = read_all(&text, &Choice::default()).unwrap();
    assert_eq!(system.lost, 40);
    // From the last event of the CPU before to the first after.
    assert_eq!(system.cpus[0].unknown_ns, 100_000);
}

#[test]
fn what_is_no_such_text_is_refused_with_a_remedy() {
    let refused = |text: &[u8], words: &[&str]| {
        let why = read(text, AboutSystem::default(), &Choice::default(), || false).unwrap_err();
        let why = why.to_string();
        assert!(words.iter().all(|word| why.contains(word)), "{why}");
    };
    refused(b"PERFILE2h\0\0\0", &["perf's binary file", "perf script -i FILE > trace.txt"]);
    // As a machine of the other order of bytes writes it.
    refused(b"2ELIFREPh\0\0\0", &["perf's binary file", "perf script -i FILE > trace.txt"]);
    refused(b"\x17\x08\x44tracing6\0", &["trace-cmd report -i FILE"]);
    refused(b"\x7fELF\0", &["line 1", "not text", "perf sched record"]);
    refused(b"", &["in its 0 lines", "perf sched record"]);
    refused(b"# a page\nof prose\n", &["in its 2 lines", "perf sched record"]);
    let no_cpu = PERF.replace("[000]", "").replace("[001]", "");
    refused(
        no_cpu.as_bytes(),
        &["line 1", "no CPU or no time", "perf script -F comm,pid,tid,cpu,time"],
    );
    let nobody = read_all(PERF, &chosen(&["jackd"])).unwrap_err().to_string();
    assert!(nobody.contains("jackd") && nobody.contains("engine (11)"), "{nobody}");
}

/// What never ends is refused after its first lines, and a long header is none.
#[test]
fn a_text_that_does_not_begin_like_a_trace_is_not_read_on() {
    use std::io::{BufReader, Read};
    /// One line again and again.
    struct Endless(&'static [u8], usize);
    impl Read for Endless {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            for byte in into.iter_mut() {
                *byte = self.0[self.1 % self.0.len()];
                self.1 += 1;
            }
            Ok(into.len())
        }
    }
    let refused = |line: &'static [u8]| {
        let text = BufReader::new(Endless(line, 0));
        read(text, AboutSystem::default(), &Choice::default(), || false).unwrap_err()
    };
    let yes = refused(b"y\n");
    assert_eq!(yes, ReadError::NoBeginning { lines: FIRST_LINES });
    let yes = yes.to_string();
    assert!(yes.contains("none of its first 10000 lines") && yes.contains("perf script"), "{yes}");
    assert!(matches!(
        refused(b"x 1 1.5: sched:sched_switch: y\n"),
        ReadError::Unreadable { line: 1, .. }
    ));
    let header = "# event : name = sched:sched_switch\n".repeat(FIRST_LINES as usize - 1);
    assert_eq!(read_all(&(header + PERF), &Choice::default()).unwrap().members().len(), 3);
    // Events of other kinds are a beginning, too.
    let other = "  swapper     0 [000]     0.000000: PERF_RECORD_COMM: kthreadd:2/2\n";
    let text = other.to_owned()
        + &"\tffffffff813ad60a update_se\n".repeat(2 * FIRST_LINES as usize)
        + PERF;
    assert_eq!(read_all(&text, &Choice::default()).unwrap().members().len(), 3);
}

#[cfg(feature = "write")]
#[test]
fn a_trace_of_our_own_is_refused_with_a_remedy() {
    use crate::write::{
        chrome_json, chrome_json_of_system, perfetto, perfetto_of_system, system_text, text,
    };
    let run = crate::run::tests::run();
    let system = read_all(PERF, &Choice::default()).unwrap();
    let page = "<!DOCTYPE html><html lang=\"en\"><head><title>Band \u{2013} hocket trace</title>\
                <meta name=\"generator\" content=\"Hocket\">";
    for (bytes, what) in [
        (text(&run).into_bytes(), "format hocket-trace/1 that"),
        (chrome_json(&run), "format hocket-trace/1 that"),
        (perfetto(&run), "format hocket-trace/1 that"),
        (system_text(&system).into_bytes(), "format hocket-threads/1 that"),
        (chrome_json_of_system(&system), "format hocket-threads/1 that"),
        (perfetto_of_system(&system), "format hocket-threads/1 that"),
        (b"hocket-trace/27, written by hocket 9.0\n".into(), "format hocket-trace/27 that"),
        (page.into(), "a page that hocket trace wrote"),
    ] {
        let why = read(&bytes[..], AboutSystem::default(), &Choice::default(), || false);
        let why = why.unwrap_err().to_string();
        assert!(why.contains(what) && why.contains("hocket trace SESSION -o trace.json"), "{why}");
    }
    // A name alone makes no trace.
    let named = read_all("hocket-trace/ is a format\n", &Choice::default()).unwrap_err();
    assert_eq!(named, ReadError::NoEvents { lines: 1 });
}

#[test]
fn a_stop_keeps_what_was_read() {
    let text = PERF.to_owned() + &"#\n".repeat(2 * STOP_EVERY as usize);
    let system = read(text.as_bytes(), AboutSystem::default(), &Choice::default(), || true);
    assert_eq!(system.unwrap().about.ended, "stopped by the user");
}

#[test]
fn many_cpus_and_threads_take_bounded_memory_and_any_order_is_read() {
    let mut text = String::new();
    for at in 0..40_000_u32 {
        let (cpu, tid) = (at % 10_000, at % 30_000 + 1);
        text += &format!(
            "x 1 [{cpu}] 1.{at:06}: sched:sched_switch: prev_comm=a prev_pid={tid} prev_prio=1 prev_state=R ==> next_comm=b next_pid={} next_prio=1\n",
            at % 777
        );
    }
    let system = read_all(&text, &Choice::default()).unwrap();
    assert_eq!(system.cpus.len(), MOST_CPUS);
    assert!(
        system.limits.iter().any(|limit| limit.contains("CPU above 8191")),
        "{:?}",
        system.limits
    );
}
