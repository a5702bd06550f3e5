//! Hardware counters: formulae on counts that others recorded, machines saved as files, and the counters of this machine
//! where it has some.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use hocket_machine::counters::{Core, CoreEvents, Group, Measure, Reading, ReadingError};
use hocket_machine::pin::current_thread;

/// Counts as `perf stat -x,` writes them, with the ratio of the same counts as perf printed it, in its last two fields.
/// The files say where they come from.
struct Recorded {
    core: &'static Core,
    counts: HashMap<String, u64>,
    /// Of the time in which the program ran, in percent.
    shares: HashMap<String, f64>,
    printed: Vec<(f64, String)>,
}

fn recorded(text: &str) -> Recorded {
    let mut lines = text.lines();
    let named = |line: &str, what: &str| line.strip_prefix(what).map(str::to_owned);
    let core = lines.find_map(|line| named(line, "# core: ")).unwrap();
    let mut found = Recorded {
        core: Core::of_name(&core).unwrap(),
        counts: HashMap::new(),
        shares: HashMap::new(),
        printed: Vec::new(),
    };
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split(',').collect();
        let [count, _unit, event, _running, share, printed, of] = fields[..] else {
            panic!("{line}");
        };
        found.counts.insert(event.into(), count.parse().unwrap());
        found.shares.insert(event.into(), share.parse().unwrap());
        if let Ok(printed) = printed.parse() {
            found.printed.push((printed, of.into()));
        }
    }
    found
}

impl Recorded {
    fn value(&self, measure: Measure) -> f64 {
        let ratios = self.core.groups.iter().flat_map(|group| group.ratios);
        let ratio = ratios.into_iter().find(|ratio| ratio.measure == measure).unwrap();
        ratio.value(|event| self.counts.get(event).copied()).unwrap()
    }
}

/// What perf printed is rounded to one digit behind the point.
#[track_caller]
fn check_as_perf_has_it(text: &str) {
    let recorded = recorded(text);
    assert!(!recorded.printed.is_empty());
    for (printed, of) in &recorded.printed {
        let measure = match &**of {
            "frontend_bound" => Measure::FrontEndBound,
            "bad_speculation" => Measure::BadSpeculation,
            "backend_bound" => Measure::BackEndBound,
            "retiring" => Measure::Retiring,
            "smt_contention" => Measure::SmtContention,
            "of all L1-dcache hits" => Measure::L1dMisses,
            "insn per cycle" => {
                let per_instruction = recorded.value(Measure::CyclesPerInstruction);
                assert!((1.0 / per_instruction - printed).abs() <= 0.005, "{per_instruction}");
                continue;
            }
            other => panic!("{other}"),
        };
        let percent = 100.0 * recorded.value(measure);
        // perf cuts off rather than rounds in some versions, and its counts of one line are of one share of the time.
        assert!((percent - printed).abs() <= 0.1, "{measure}: {percent} and not {printed}");
    }
}

const RECORDED: [&str; 6] = [
    include_str!("counters/zen4-events-branchless.csv"),
    include_str!("counters/zen4-events-default.csv"),
    include_str!("counters/golden-cove-matrix.csv"),
    include_str!("counters/gracemont-matrix.csv"),
    include_str!("counters/generic-scala-trees.csv"),
    include_str!("counters/generic-flow-table.csv"),
];

#[test]
fn formulae_agree_with_those_of_perf_on_counts_recorded_by_others() {
    RECORDED.into_iter().for_each(check_as_perf_has_it);
}

/// The kernel's answer for a group that was to count for a second, with the recorded counts.
fn answer(recorded: &Recorded, group: &Group, share: f64) -> Vec<u8> {
    let running_ns = (1e9 * share / 100.0) as u64;
    let counts = group.events.iter().map(|event| recorded.counts[event.name]);
    let head = [group.events.len() as u64, 1_000_000_000, running_ns];
    head.into_iter().chain(counts).flat_map(u64::to_ne_bytes).collect()
}

/// Whole groups of these records, as the kernel would write them: from its words to the ratio that perf printed.
#[test]
fn words_of_the_kernel_with_recorded_counts_give_the_ratios_that_perf_printed() {
    let mut checked = 0;
    for recorded in RECORDED.map(recorded) {
        let is_whole = |group: &&Group| {
            group.events.iter().all(|event| recorded.counts.contains_key(event.name))
        };
        for group in recorded.core.groups.iter().filter(is_whole) {
            let events = group.events.len();
            let reading = Reading::parse(&answer(&recorded, group, 100.0), events).unwrap();
            let reading = reading.whole().unwrap();
            let count = |name: &str| {
                let at = group.events.iter().position(|event| event.name == name)?;
                reading.counts.get(at).copied()
            };
            for ratio in group.ratios {
                assert_eq!(ratio.value(count).unwrap(), recorded.value(ratio.measure));
                checked += 1;
            }
            // These others had perf take turns, and extrapolate. Hocket refuses that.
            let least = group.events.iter().map(|event| recorded.shares[event.name]);
            let least = least.fold(100.0, f64::min);
            let part = Reading::parse(&answer(&recorded, group, least), events).unwrap();
            let refused = part.whole().unwrap_err();
            assert!(matches!(refused, ReadingError::Multiplexed { .. }), "{least}: {refused}");
        }
    }
    assert!(checked >= 4, "{checked}");
}

/// Counts made up for these tests: each follows from the story told beside it.
#[test]
fn formulae_find_the_shares_that_counts_were_made_from() {
    let share = |core: &str, measure: Measure, counts: &[(&str, u64)]| {
        let core = Core::of_name(core).unwrap();
        let ratios = core.groups.iter().flat_map(|group| group.ratios);
        let ratio = ratios.into_iter().find(|ratio| ratio.measure == measure).unwrap();
        let count = |name: &str| counts.iter().find(|(event, _)| *event == name).map(|it| it.1);
        ratio.value(count).unwrap()
    };
    let close = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-9, "{value}");

    // 1000 instructions in 500 cycles; 250 of them scalar and 150 vector arithmetic; nothing executed in 125 cycles.
    let pipeline = [
        ("CPU_CLK_UNHALTED.THREAD_P", 500),
        ("INST_RETIRED.ANY_P", 1000),
        ("UOPS_RETIRED.SLOTS", 1250),
        ("FP_ARITH_INST_RETIRED.SCALAR", 250),
        ("FP_ARITH_INST_RETIRED.VECTOR", 150),
        ("CYCLE_ACTIVITY.STALLS_TOTAL", 125),
    ];
    close(share("Golden Cove", Measure::CyclesPerInstruction, &pipeline), 0.5);
    close(share("Golden Cove", Measure::CyclesPerUop, &pipeline), 0.4);
    close(share("Golden Cove", Measure::FloatingPoint, &pipeline), 0.4);
    close(share("Golden Cove", Measure::ExecutionStalls, &pipeline), 0.25);

    // 300 loads, of which 6 missed; in 50 of 500 cycles fetching waited.
    let caches = [
        ("CPU_CLK_UNHALTED.THREAD_P", 500),
        ("MEM_LOAD_RETIRED.L1_HIT", 294),
        ("MEM_LOAD_RETIRED.L1_MISS", 6),
        ("ICACHE_DATA.STALLS", 50),
    ];
    close(share("Sunny Cove", Measure::L1dMisses, &caches), 0.02);
    close(share("Sunny Cove", Measure::L1iStalls, &caches), 0.1);

    // 300 clocks alone in the core and 700 beside an active sibling, of which each thread is credited one half.
    let siblings = [
        ("CPU_CLK_UNHALTED.REF_DISTRIBUTED", 300 + 350),
        ("CPU_CLK_UNHALTED.ONE_THREAD_ACTIVE", 300),
    ];
    close(share("Golden Cove", Measure::SiblingActive, &siblings), 0.7);
    // On Skylake, REF_XCLK has all of them.
    let siblings =
        [("CPU_CLK_UNHALTED.REF_XCLK", 1000), ("CPU_CLK_UNHALTED.ONE_THREAD_ACTIVE", 300)];
    close(share("Skylake", Measure::SiblingActive, &siblings), 0.7);

    // Half of the cycles in `pause`, a tenth in C0.1, a fifth in C0.2.
    let waiting = [
        ("CPU_CLK_UNHALTED.THREAD_P", 1000),
        ("CPU_CLK_UNHALTED.PAUSE", 500),
        ("CPU_CLK_UNHALTED.C01", 100),
        ("CPU_CLK_UNHALTED.C02", 200),
    ];
    close(share("Golden Cove", Measure::Pause, &waiting), 0.5);
    close(share("Lion Cove", Measure::WaitC01, &waiting), 0.1);
    close(share("Lion Cove", Measure::WaitC02, &waiting), 0.2);

    // 100 cycles have 800 slots on Zen 5: 200 went to the sibling.
    let slots = [("ls_not_halted_cyc", 100), ("de_no_dispatch_per_slot.smt_contention", 200)];
    close(share("Zen 5", Measure::SmtContention, &slots), 0.25);
}

#[test]
fn a_count_that_is_missing_or_zero_below_the_line_gives_no_ratio() {
    for core in Core::ALL {
        for ratio in core.groups.iter().flat_map(|group| group.ratios) {
            assert_eq!(ratio.value(|_| Some(0)), None, "{}", ratio.formula());
            assert_eq!(ratio.value(|_| None), None, "{}", ratio.formula());
        }
    }
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn a_saved_hybrid_machine_has_two_kinds_of_core() {
    let folder = tempfile::tempdir().unwrap();
    let cpuinfo = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 183\nmodel name\t: X\n";
    write(folder.path(), "proc/cpuinfo", cpuinfo);
    let devices = "sys/bus/event_source/devices";
    for (unit, kind, cpus) in [("cpu_core", "4", "0-3"), ("cpu_atom", "10", "4-7")] {
        write(folder.path(), &format!("{devices}/{unit}/type"), kind);
        write(folder.path(), &format!("{devices}/{unit}/cpus"), cpus);
        for (field, bits) in [("event", "0-7"), ("umask", "8-15"), ("cmask", "24-31")] {
            let format = format!("config:{bits}\n");
            write(folder.path(), &format!("{devices}/{unit}/format/{field}"), &format);
        }
    }
    let machine = CoreEvents::saved(folder.path()).unwrap();
    let cores: Vec<(&str, &str)> = machine.cores().map(|(unit, core)| (unit, core.name)).collect();
    assert_eq!(cores, [("cpu_atom", "Gracemont"), ("cpu_core", "Golden Cove")]);
    assert_eq!(machine.core_of([2]).unwrap().name, "Golden Cove");
    assert_eq!(machine.core_of([4, 6]).unwrap().name, "Gracemont");
    for cpus in [vec![3, 4], Vec::new()] {
        assert!(machine.core_of(cpus).unwrap_err().contains("pin it"));
    }
    assert!(machine.core_of([8]).unwrap_err().contains("CPU 8"));
}

#[test]
fn a_saved_machine_without_counters_says_so() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "sys/bus/event_source/devices/software/type", "1\n");
    let why = CoreEvents::saved(folder.path()).unwrap_err();
    assert!(
        why.contains("no counters of the processor") && why.contains("virtual machine"),
        "{why}"
    );
}

/// Every set that this machine plans counts a loop of known length, all the time.
#[test]
fn the_counters_of_this_machine_count_or_it_is_said_why_not() {
    const NAME: &str = "the_counters_of_this_machine_count_or_it_is_said_why_not";
    const PASSES: u64 = 1_000_000;
    let planned = CoreEvents::here().and_then(|here| {
        let cpus = hocket_machine::pin::current_affinity().map_err(|why| why.to_string())?;
        here.plan(here.core_of(cpus.iter())?)
    });
    let plan = match planned {
        Ok(plan) => plan,
        Err(why) => {
            assert!(!why.is_empty());
            println!("SKIPPED {NAME}: {why}");
            return;
        }
    };
    for set in &plan.sets {
        let mut open = set.open(current_thread()).unwrap();
        open.start().unwrap();
        let sum = (0..PASSES).fold(0, |sum, x| std::hint::black_box(sum ^ x));
        std::hint::black_box(sum);
        open.stop().unwrap();
        // Another program may take the counters meanwhile; then it is said, and nothing is extrapolated.
        let reading = match open.read() {
            Ok(reading) => reading,
            Err(why) => {
                println!("SKIPPED {NAME}: {} of {}: {why}", set.group, set.core.name);
                continue;
            }
        };
        assert_eq!(reading.counts.len(), set.events.len());
        let named = set.events.iter().zip(&reading.counts);
        for (event, count) in named {
            let instructions = ["INST_RETIRED.ANY_P", "ex_ret_instr", "instructions"];
            if instructions.contains(&event.name) {
                assert!(*count >= PASSES, "{count} {}", event.name);
            }
        }
    }
}

/// docs/counters.md has every formula of every kind of core, under its name, and no other.
#[test]
fn the_page_on_counters_has_every_formula() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/counters.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, formulae) = page.split_once("## Formulae").unwrap();
    let sections: HashMap<&str, &str> =
        formulae.split("\n### ").skip(1).filter_map(|section| section.split_once('\n')).collect();
    let cores: Vec<&Core> = Core::ALL.into_iter().chain(Core::of_name("generic")).collect();
    assert_eq!(sections.len(), cores.len());
    for core in cores {
        let section = sections[core.name];
        assert!(section.contains(&format!("Source: {}.", core.source)), "{}", core.name);
        let ratios = core.groups.iter().flat_map(|group| group.ratios);
        let mut expected: Vec<String> =
            ratios.map(|it| format!("| {} | `{}` |", it.measure, it.formula())).collect();
        let rows = section.lines().filter(|line| line.starts_with("| ")).skip(1);
        let mut written: Vec<String> = rows.map(str::to_owned).collect();
        expected.sort();
        written.sort();
        assert_eq!(written, expected, "{}", core.name);
    }
}
