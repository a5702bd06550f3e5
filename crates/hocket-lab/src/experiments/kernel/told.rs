//! What the rows say, what to draw, and what was printed long ago.

use hocket_kernels::system::Caught;
use hocket_machine::topology::CacheType;

use super::company::Company;
use super::primitive::{FORWARD_KIB, MEMORY_KIB, Primitive, RINGS, STRIDES};
use super::variant;
use crate::experiments::words::{by_company, series};
use crate::harness::{
    Axis, Bar, Historic, Host, NamedRatio, Nearest, Plot, Results, Sentence, Series, Size,
    ratios_sentence,
};
use crate::numbers::{self, quantity};
use crate::once::each_once;

/// The caches of the CPU that is measured alone, as the system tells them: `L1 48 KiB, L2 2 MiB`.
pub(super) fn caches(host: &Host) -> String {
    let cpu = Company::Alone.cpus(host).and_then(|cpus| cpus.first().copied());
    let seat = cpu.and_then(|cpu| host.topology.seat_of_cpu(cpu));
    let holds_data = |kind: CacheType| !matches!(kind, CacheType::Instruction);
    let mut caches: Vec<(u32, u64)> = host
        .topology
        .caches
        .iter()
        .filter(|cache| {
            holds_data(cache.cache_type) && seat.is_some_and(|it| cache.seats.contains(&it))
        })
        .filter_map(|cache| Some((cache.level, cache.size_bytes?)))
        .collect();
    caches.sort_unstable();
    caches.dedup();
    let told =
        |(level, bytes): &(u32, u64)| format!("L{level} {}", kib_told((bytes >> 10) as usize));
    caches.iter().map(told).collect::<Vec<_>>().join(", ")
}

fn kib_told(kib: usize) -> String {
    match kib {
        kib if kib >= 1024 && kib.is_multiple_of(1024) => format!("{} MiB", kib / 1024),
        kib => format!("{kib} KiB"),
    }
}

pub(super) fn findings(results: &Results) -> Vec<Sentence> {
    let companies = Company::ALL.into_iter().filter_map(|company| in_company(results, company));
    let facts = GROUPS.iter().filter_map(|(head, group)| fact(results, head, group()));
    let own = [caught(results), switches(results), steps(results)];
    companies.chain(facts).chain(own.into_iter().flatten()).collect()
}

/// All primitives that were measured in this company, against alone.
fn in_company(results: &Results, company: Company) -> Option<Sentence> {
    let pair = |primitive: Primitive| {
        let (alone, other) = (variant(primitive, Company::Alone), variant(primitive, company));
        NamedRatio::new(primitive.name(), alone, other, "time")
    };
    if company == Company::Alone {
        return None;
    }
    let pairs: Vec<NamedRatio> = primitives(results).into_iter().map(pair).collect();
    ratios_sentence(results, &format!("time {}", company.told()), &pairs)
}

/// The primitives that are there, in order.
fn primitives(results: &Results) -> Vec<Primitive> {
    let named = results.designed().iter().map(|variant| variant.level("primitive"));
    each_once(named.filter_map(Primitive::named))
}

type Group = (&'static str, fn() -> Vec<Primitive>);

/// Which primitives a sentence has together.
const GROUPS: [Group; 5] = [
    ("system calls", || {
        of_families(&["null", "null-write", "read", "write", "stat", "fstat", "open-close"])
    }),
    ("a byte to another process and back on one CPU", || {
        of_families(&["pipe", "unix", "tcp", "udp"])
    }),
    ("a new process, waited for", || {
        of_families(&[
            "fork-exit",
            "clone3-exit",
            "vfork-exec",
            "posix-spawn",
            "fork-exec",
            "fork-sh",
        ])
    }),
    ("memory and pages", || of_families(&["map", "map-file", "page-fault"])),
    ("files", || of_families(&["file"])),
];

fn of_families(families: &[&str]) -> Vec<Primitive> {
    let all = Primitive::all(Size::Full).into_iter();
    all.filter(|primitive| families.contains(&primitive.family())).collect()
}

/// `HEAD: null 89.1 ns [88.0, 90.2], read ...`, all alone.
fn fact(results: &Results, head: &str, group: Vec<Primitive>) -> Option<Sentence> {
    let told = |primitive: Primitive| {
        let time = results.estimate(&variant(primitive, Company::Alone), "time")?;
        Some(format!("{} {}", primitive.name(), numbers::estimate(&time, "ns")))
    };
    let told: Vec<String> = group.into_iter().filter_map(told).collect();
    (!told.is_empty()).then(|| Sentence::fact(format!("{head}: {}", told.join(", "))))
}

/// A signal without the call that sends it.
fn caught(results: &Results) -> Option<Sentence> {
    let time = |caught| results.median(&variant(Primitive::Signal(caught), Company::Alone), "time");
    let (none, sent) = (time(Caught::Nothing)?, time(Caught::Sent)?);
    let mut text = format!(
        "signals: one to the own process, caught, takes {}; {} without the call that sends it",
        quantity(sent, "ns"),
        quantity((sent - none).max(0.0), "ns")
    );
    if let Some(install) = time(Caught::Installed) {
        text += &format!("; to install a handler takes {}", quantity(install, "ns"));
    }
    if let Some(fault) = time(Caught::Fault) {
        text += &format!("; a protection fault, caught, takes {}", quantity(fault, "ns"));
    }
    Some(Sentence::fact(text))
}

fn switches(results: &Results) -> Option<Sentence> {
    let told = |primitive: Primitive| {
        let Primitive::Ring { processes, kib } = primitive else { return None };
        let switch = results.estimate(&variant(primitive, Company::Alone), "switch")?;
        let footprint = if kib == 0 { "nothing".into() } else { kib_told(kib) };
        let switch = numbers::estimate(&switch, "ns");
        Some(format!("{processes} processes with {footprint} each {switch}"))
    };
    let told: Vec<String> = primitives(results).into_iter().filter_map(told).collect();
    let text = format!("a switch of processes on one CPU: {}", told.join(", "));
    (!told.is_empty()).then(|| Sentence::fact(text))
}

/// A load over the next size takes so many times as long: beyond a cache.
const STEP: f64 = 1.4;

/// Sizes after which loads take clearly longer: the last of each flat stretch.
fn steps_after(latencies: &[(usize, f64)]) -> Vec<usize> {
    let mut found = Vec::new();
    let mut rising = false;
    for pair in latencies.windows(2) {
        let [(kib, ns), (_, next_ns)] = pair else { continue };
        let rises = *next_ns > STEP * ns;
        if rises && !rising {
            found.push(*kib);
        }
        rising = rises;
    }
    found
}

/// Which caches the loads show, beside what the system says.
fn steps(results: &Results) -> Option<Sentence> {
    let latency = |primitive: Primitive| match primitive {
        Primitive::LoadsRandom(kib) => {
            Some((kib, results.median(&variant(primitive, Company::Alone), "time")?))
        }
        _ => None,
    };
    let latencies: Vec<(usize, f64)> =
        primitives(results).into_iter().filter_map(latency).collect();
    let ((least, fast), (most, slow)) = (latencies.first()?, latencies.last()?);
    let steps: Vec<String> = steps_after(&latencies).into_iter().map(kib_told).collect();
    let steps = match steps.is_empty() {
        true => "no size after which it takes clearly longer".into(),
        false => format!("it takes clearly longer beyond {}", steps.join(", ")),
    };
    let said = results.designed().first().map_or("", |variant| variant.level("caches"));
    let said = match said {
        "" => "the system does not say which caches there are".into(),
        said => format!("the system says {said}"),
    };
    Some(Sentence::fact(format!(
        "a load in random order takes {} in {} and {} in {}; {steps}; {said}",
        quantity(*fast, "ns"),
        kib_told(*least),
        quantity(*slow, "ns"),
        kib_told(*most)
    )))
}

pub(super) fn plots(results: &Results) -> Vec<Plot> {
    let all =
        [times(results), companies(results), loads(results), strides(results), rings(results)];
    all.into_iter().chain([grid(results), bandwidths(results)]).flatten().collect()
}

/// Every primitive alone, but those that have a plot of their own.
fn times(results: &Results) -> Option<Plot> {
    let has_own = |it: &Primitive| ["ring", "load", "memory"].contains(&it.family());
    let bar = |primitive: Primitive| {
        let estimate = results.estimate(&variant(primitive, Company::Alone), "time")?;
        Some(Bar { label: primitive.name(), estimate, group: String::new() })
    };
    let bars: Vec<Bar> =
        primitives(results).into_iter().filter(|it| !has_own(it)).filter_map(bar).collect();
    (!bars.is_empty()).then(|| Plot::Bars {
        title: "Time of one operation, alone on a CPU".into(),
        axis: Axis::log("time", "ns"),
        bars,
    })
}

/// What company costs, where there is some.
fn companies(results: &Results) -> Option<Plot> {
    let title = "How many times as long it takes in company as alone";
    by_company(results, title, Axis::log("time against alone", "times"))
}

/// A line of `metric` alone, over what `at` says of each primitive.
fn line(
    results: &Results,
    name: &str,
    metric: &str,
    at: impl Fn(Primitive) -> Option<usize>,
) -> Series {
    let points = primitives(results)
        .into_iter()
        .filter_map(|primitive| Some((at(primitive)? as f64, variant(primitive, Company::Alone))));
    series(results, name, metric, points)
}

fn lines(title: &str, x: Axis, y: Axis, all: Vec<Series>) -> Option<Plot> {
    let series: Vec<Series> = all.into_iter().filter(|line| !line.points.is_empty()).collect();
    let marks = Vec::new();
    (!series.is_empty()).then(|| Plot::Lines { title: title.into(), x, y, series, marks })
}

fn loads(results: &Results) -> Option<Plot> {
    let random = line(results, "random order", "time", |primitive| match primitive {
        Primitive::LoadsRandom(kib) => Some(kib),
        _ => None,
    });
    lines(
        "Time of a load by the memory that the loads go over",
        Axis::log("memory in KiB", ""),
        Axis::log("time of a load", "ns"),
        vec![random],
    )
}

fn strides(results: &Results) -> Option<Plot> {
    let size = FORWARD_KIB[0][0];
    let forward = line(results, "forward", "time", |primitive| match primitive {
        Primitive::LoadsForward { stride, kib } if kib == size => Some(stride),
        _ => None,
    });
    lines(
        &format!("Time of a load by stride, forward over {}", kib_told(size)),
        Axis::log("stride in bytes", ""),
        Axis::log("time of a load", "ns"),
        vec![forward],
    )
}

/// One line for each stride, over the memory; none where it was measured over one size only.
fn grid(results: &Results) -> Option<Plot> {
    let of = |stride: usize| {
        line(results, &format!("stride {stride}"), "time", |primitive| match primitive {
            Primitive::LoadsForward { stride: its, kib } if its == stride => Some(kib),
            _ => None,
        })
    };
    let several = STRIDES.map(of).into_iter().filter(|line| line.points.len() > 1).collect();
    lines(
        "Time of a load by the memory that loads go over forward, for each stride in bytes",
        Axis::log("memory in KiB", ""),
        Axis::log("time of a load", "ns"),
        several,
    )
}

fn rings(results: &Results) -> Option<Plot> {
    let mut footprints: Vec<usize> = RINGS[1].iter().map(|(_, kib)| *kib).collect();
    footprints.sort_unstable();
    footprints.dedup();
    let of = |footprint: usize| {
        line(results, &format!("{footprint} KiB each"), "switch", |primitive| match primitive {
            Primitive::Ring { processes, kib } if kib == footprint => Some(processes),
            _ => None,
        })
    };
    lines(
        "Time of a switch by the number of processes on one CPU",
        Axis::log("processes", ""),
        Axis::log("time of a switch", "ns"),
        footprints.into_iter().map(of).collect(),
    )
}

fn bandwidths(results: &Results) -> Option<Plot> {
    let known: Vec<usize> = MEMORY_KIB.concat();
    let bar = |primitive: Primitive| {
        let Primitive::Memory(_, kib) = primitive else { return None };
        let estimate = results.estimate(&variant(primitive, Company::Alone), "bandwidth")?;
        let name = primitive.name();
        let label = name.split('-').next().unwrap_or(&name).to_string();
        known.contains(&kib).then(|| (kib, Bar { label, estimate, group: kib_told(kib) }))
    };
    let mut sized: Vec<(usize, Bar)> = primitives(results).into_iter().filter_map(bar).collect();
    sized.sort_by_key(|(kib, _)| *kib);
    let bars: Vec<Bar> = sized.into_iter().map(|(_, bar)| bar).collect();
    (!bars.is_empty()).then(|| Plot::Bars {
        title: "Bytes a second, alone on a CPU".into(),
        axis: Axis::log("bandwidth", "MB/s"),
        bars,
    })
}

const ARTICLE: &str = "Vianney, \"Hyper-Threading speeds Linux\", 2003, table 1 (one Xeon MP 1.6 GHz with two seats, Linux \
                       2.4.19, LMbench)";
const BOOTED: &str =
    "Latency with SMT against without, the system booted for each; negative: longer with SMT.";

const fn of_2003(label: &'static str, value: f64, variant: &'static str) -> Historic {
    let figure = Historic::new(label, value, "%", "time").beside(variant);
    figure.means(BOOTED).differs(SEATS).printed_in(ARTICLE)
}

const SEATS: &str = "The system was booted with and without SMT; here the processes may use one seat of a core or both, \
                     with SMT on.";
const PROGRAM: &str = "The system was booted with and without SMT, and the child ran a program of LMbench; here the processes \
                       may use one seat of a core or both, and the child runs `true` without an environment.";
const IDLE: &str = "The second seat was there and idle, or not there; here it is always there, and busy where it is compared.";

const ANOTHER_FILE: &str =
    "It names a file of LMbench's choice in another folder; here it is /etc/passwd.";
const NONE_READY: &str =
    "None of the 10 files can be read there; here one of 10 ends of pipes can.";

/// An absolute figure of the table, for the system that was booted with one seat.
const fn of_table_1(label: &'static str, us: f64, variant: &'static str) -> Historic {
    let figure = Historic::new(label, us, "us", "time").beside(variant);
    figure.means("Time of one call.").printed_in(ARTICLE)
}

/// What a change of the latency is called in the text, in per cent: the operations are those of the variants, the
/// conditions are not. Then the times of table 1.
pub(super) static HISTORIC: [Historic; 19] = [
    of_2003("pipe latency, 2003", -1.0, "pipe both-seats"),
    of_2003("fork and exit, 2003", -4.0, "fork-exit both-seats"),
    of_2003("fork and execve, 2003", -6.0, "fork-exec both-seats").differs(PROGRAM),
    of_2003("fork and sh -c, 2003", -2.0, "fork-sh both-seats").differs(PROGRAM),
    of_2003("functions of one thread, 2003", 0.0, "null busy-sibling").differs(IDLE),
    of_table_1("table 1, simple system call", 1.10, "null alone"),
    of_table_1("table 1, read", 1.49, "read alone"),
    of_table_1("table 1, write", 1.40, "write alone"),
    of_table_1("table 1, fstat", 1.50, "fstat alone"),
    of_table_1("table 1, stat", 5.12, "stat alone").differs(ANOTHER_FILE),
    of_table_1("table 1, open and close", 7.38, "open-close alone")
        .means("Time of both calls.")
        .differs(ANOTHER_FILE),
    of_table_1("table 1, select on 10 files", 5.41, "select-10 alone").differs(NONE_READY),
    of_table_1("table 1, select on 10 TCP connections", 5.69, "select-10 alone")
        .differs("Here it is asked of 10 ends of pipes, and one of them can be read."),
    of_table_1("table 1, signal handler, install", 1.56, "signal-install alone"),
    of_table_1("table 1, signal handler, overhead", 4.29, "signal-sent alone")
        .means("Time of a signal to the own process, caught, without the call that sends it.")
        .differs(
            "Here the call that sends the signal is in the time; `signal-none` is that call alone.",
        ),
    of_table_1("table 1, pipe latency", 11.16, "pipe alone")
        .means("Time in which a byte goes to another process and back on one CPU."),
    of_table_1("table 1, fork and exit", 190.75, "fork-exit alone")
        .means("Time from the fork to the end of the wait for the child, which ends at once."),
    of_table_1("table 1, fork and execve", 581.55, "fork-exec alone")
        .means("Time from the fork to the end of the wait for a child that runs a program.")
        .differs(CHILD),
    of_table_1("table 1, fork and sh -c", 3051.28, "fork-sh alone")
        .means("Time from the fork to the end of the wait for a shell that runs a program.")
        .differs(CHILD),
];

const CHILD: &str =
    "The child ran a program of LMbench; here it runs `true` without an environment.";

/// On machines without SMT, the article's both seats of a core are two cores here.
pub(super) fn nearest(old: &Historic) -> Vec<Nearest> {
    let Some(variant) = old.variant else { return Vec::new() };
    let two_cores = || variant.strip_suffix(Company::BothSeats.name()).map(|it| (it, TWO_CORES));
    let every = || variant.strip_suffix(Company::BusySibling.name()).map(|it| (it, EVERY_CORE));
    let instead = two_cores().or_else(every).map(|(head, (company, why))| {
        Nearest::instead(old.metric, format!("{head}{}", company.name()), why)
    });
    [Nearest::of(old.metric, variant)].into_iter().chain(instead).collect()
}

const TWO_CORES: (Company, &str) =
    (Company::TwoCores, "two cores, because no two seats share one here");
const EVERY_CORE: (Company, &str) =
    (Company::EverySeat, "the same on each core, because no two seats share one here");

#[cfg(test)]
mod tests {
    use hocket_kernels::system::Start;

    use super::*;

    #[test]
    fn steps_are_the_ends_of_flat_stretches() {
        let two_caches = [(16, 1.0), (32, 1.1), (64, 3.0), (128, 3.2), (256, 6.0), (512, 20.0)];
        assert_eq!(steps_after(&two_caches), [32, 128]);
        assert_eq!(steps_after(&[(16, 1.0), (32, 1.1)]), [0; 0]);
        assert_eq!(steps_after(&[]), [0; 0]);
    }

    #[test]
    fn sizes_and_caches_are_told_as_people_do() {
        assert_eq!([48, 2048, 1536].map(kib_told), ["48 KiB", "2 MiB", "1536 KiB"]);
        assert_eq!(caches(&Host::described_with_smt()), "L3 8 MiB");
    }

    #[test]
    fn every_group_of_a_sentence_has_primitives() {
        for (head, group) in GROUPS {
            assert!(!group().is_empty(), "{head}");
        }
        assert!(group_has(Primitive::Start(Start::PosixSpawn)));
    }

    fn group_has(primitive: Primitive) -> bool {
        GROUPS.iter().any(|(_, group)| group().contains(&primitive))
    }
}
