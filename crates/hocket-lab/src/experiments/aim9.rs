//! `aim9`: operations that a single user of a machine does.

mod test;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hocket_files::ScratchFolder;
use hocket_kernels::system::{Operation, Ran, run_in_processes};

use super::folder;
use super::jobs::{NO_SMT, ONE_CORE};
use super::kernel::company::Company;
use super::words::{by_company, then_and_now};
use crate::harness::timed::calibrate;
use crate::harness::{
    About, Axis, Bar, Check, Design, Experiment, Fault, Historic, Host, Metric, NamedRatio,
    Nearest, NotMeasurable, Opened, Parameter, Plot, Prepared, Results, Rounds, Sample, Section,
    Sentence, Size, Variant, judged_together, ratio_told, ratios_sentence,
};
use crate::numbers;
use test::Test;

/// See [`About`].
pub struct Aim9;

static ABOUT: About = About {
    id: "aim9",
    section: Section::System,
    question: "How fast does one user's work go?",
    origin: "Vianney, \"Hyper-Threading speeds Linux\", 2003, table 2, which used AIM9 (AIM Independent Resource Benchmark, \
             Suite IX, version 1.1); operations from the descriptions of its tests, written anew. The figures are not AIM9 \
             results",
    method: "One test many times in a row, in one process that is forked for the turn and has done it some times before the \
             clock starts. `sieve`: the numbers below a million, a byte each; every one that is left strikes out its \
             multiples. `sync-write-random`, `sync-write`, `sync-copy`: blocks of 1024 bytes, each of which waits for the disk \
             (O_SYNC), at random places of a file, to a file that grows, from one file to another. `disk-write-random`, \
             `disk-write`, `disk-copy`, `disk-read-random`, `disk-read`: the same without a wait, through the page cache. The \
             file has 1 MB, in a full run 5 MB; it is made and removed outside of the time. `add-int`, `add-double`, \
             `multiply-int`, `multiply-double`, `divide-int`, `divide-double`: 64 bits, each operation with the result of \
             the one before. `strings`: words of 4 bytes are joined, copied, turned round, counted, compared, searched. \
             `sort`: 1009 numbers. `pipe`: 1024 bytes are written into a pipe and read back by the same process. `signal`: \
             SIGUSR1 to the own process, caught. `fork`: a process that ends; `exec`: one that runs `true`; `shell`: one \
             that runs `sh -c true`; each is waited for. `alone`: on one CPU; `both-seats`: the same process may use both \
             seats of the core; `two-cores`: two cores; `busy-sibling`, in a full run: the sibling computes filters. Every \
             result is checked: numbers that are left, blocks that are read back, bytes, signals, exit codes.",
    limits: "One process at a time: what a second seat adds, others use (the system's own threads, children). Whether a \
             block has reached the disk, only the disk knows: a virtual or cached one may say so too early, so the figures \
             of `sync-` are those of this disk, file system and host, which the record names. AIM9 counts the time in \
             which `sync_disk_rw` makes its file, but not the blocks; here neither is counted. Arithmetic, strings and sort \
             do what their names say and not what AIM9's routines do. Of AIM9, the tests with shared memory, sockets, \
             directories, page and break tests are left out: `kernel` has their primitives.",
    metrics: &[Metric::more("rate", "1/s")
        .means("Operations a second, from before the first to after the last. An operation is a sieve of a million numbers, \
                a block of 1024 bytes, an addition, multiplication or division, one thing done with all words or a \
                search for one, a sort, a signal, or a process.")],
    parameters: &[Parameter::new("turn", &TURN), Parameter::new("file-blocks", &test::FILE_BLOCKS)],
};

const TURN: [Duration; 2] = [Duration::from_millis(4), Duration::from_millis(40)];
/// Fewer than usual in a quick run: each has to find out first how often to do every test.
const STARTS: [u32; 2] = [3, 10];
const COMPANIES: [Company; 4] =
    [Company::Alone, Company::BothSeats, Company::TwoCores, Company::BusySibling];

impl Experiment for Aim9 {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, host: &Host, size: Size) -> Result<Design, NotMeasurable> {
        let rounds = Rounds { processes: size.of(STARTS), ..Rounds::usual(size) };
        let mut design = Design::facts(Vec::new(), rounds);
        let file_system = folder::file_system_told(&folder::below());
        for test in Test::all() {
            if let Some(why) = refused_here(test) {
                design.missing.push((test.name().into(), why));
                continue;
            }
            let here = companies(size).filter_map(|company| Some((company, company.cpus(host)?)));
            let on = if test.has_files() { file_system.as_str() } else { "" };
            design.group(
                "rate",
                here.map(|(company, cpus)| {
                    Variant::new(variant(test, company))
                        .with("test", test.name())
                        .with("company", company.name())
                        .with("file-system", on)
                        .on(&cpus, company.relation())
                        // The figures are of other processes than this one's threads, which only wait.
                        .crowded()
                }),
            );
        }
        if companies(size).any(|it| it.relation().is_some() && it.cpus(host).is_none()) {
            design.missing.push((Company::BothSeats.name().into(), NO_SMT.into()));
        }
        if Company::TwoCores.cpus(host).is_none() {
            design.missing.push((Company::TwoCores.name().into(), ONE_CORE.into()));
        }
        Ok(design.twinned())
    }

    fn prepare(&self, _: &dyn Fn() -> bool) -> Prepared {
        // Without one, the design says why the tests with files are missing.
        Ok(folder::make().ok())
    }

    fn open(&self, host: &Host, size: Size, design: &Design) -> Opened {
        self.open_in(host, size, design, None)
    }

    fn open_in(&self, _: &Host, size: Size, design: &Design, prepared: Option<&Path>) -> Opened {
        let turns = design.each(Turn::of)?;
        let mut bench = Bench::in_folder(size, prepared);
        turns.iter().for_each(|turn| bench.calibrate(turn));
        Ok(Box::new(move |variant: usize| {
            let turn = &turns[variant];
            let times = bench.times[turn.test.name()].clone()?;
            let ran = bench.run(turn, times)?;
            Ok(vec![sample(turn.test, &ran)])
        }))
    }

    fn findings(&self, results: &Results) -> Vec<Sentence> {
        let companies = COMPANIES[1..].iter().filter_map(|company| in_company(results, *company));
        let facts = GROUPS.iter().filter_map(|(head, group)| fact(results, head, *group));
        then(results).into_iter().chain(companies).chain(facts).collect()
    }

    fn plots(&self, results: &Results) -> Vec<Plot> {
        let then = then_and_now(results, "Operations a second, then and now", "1/s");
        [rates(results), in_companies(results), then].into_iter().flatten().collect()
    }

    fn historic(&self) -> Vec<Historic> {
        HISTORIC.to_vec()
    }

    fn nearest(&self, old: &Historic) -> Vec<Nearest> {
        let Some(variant) = old.variant else { return Vec::new() };
        let two_cores = variant.strip_suffix(Company::BothSeats.name()).map(|head| {
            let name = format!("{head}{}", Company::TwoCores.name());
            Nearest::instead(old.metric, name, "two cores, because no two seats share one here")
        });
        [Nearest::of(old.metric, variant)].into_iter().chain(two_cores).collect()
    }
}

fn companies(size: Size) -> impl Iterator<Item = Company> {
    let is_measured =
        move |company: &Company| size == Size::Full || *company != Company::BusySibling;
    COMPANIES.into_iter().filter(is_measured)
}

/// Each is tried once in the life of this process: several commands ask for the design more than once.
fn refused_here(test: Test) -> Option<String> {
    static KNOWN: Mutex<BTreeMap<&str, Option<String>>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.entry(test.name()).or_insert_with(|| test.refusal()).clone()
}

fn variant(test: Test, company: Company) -> String {
    format!("{} {}", test.name(), company.name())
}

/// One variant, ready to be measured.
#[derive(Debug, Clone)]
struct Turn {
    test: Test,
    company: Company,
    cpus: Vec<u32>,
}

impl Turn {
    fn of(variant: &Variant) -> Option<Turn> {
        let test = Test::named(variant.level("test"))?;
        let company = Company::named(variant.level("company"))?;
        Some(Turn { test, company, cpus: variant.cpus.clone() })
    }
}

/// Operations that were made, and how often each is to be done.
struct Bench {
    size: Size,
    folder: Option<PathBuf>,
    /// Where nobody has made one; gone with this value.
    _own: Option<ScratchFolder>,
    operations: BTreeMap<&'static str, Box<dyn Operation>>,
    times: BTreeMap<&'static str, Result<u64, Fault>>,
}

impl Bench {
    fn in_folder(size: Size, prepared: Option<&Path>) -> Bench {
        let own = if prepared.is_none() { folder::make().ok() } else { None };
        let folder = prepared.map(Path::to_path_buf);
        Bench {
            size,
            folder: folder.or_else(|| own.as_ref().map(|own| own.path().to_path_buf())),
            _own: own,
            operations: BTreeMap::new(),
            times: BTreeMap::new(),
        }
    }

    /// Alone, once for each test. What fails here fails in its own turns; the others are measured.
    fn calibrate(&mut self, turn: &Turn) {
        let name = turn.test.name();
        if let Some(Ok(_)) = self.times.get(name) {
            return;
        }
        let alone = Turn { company: Company::Alone, cpus: turn.cpus[..1].to_vec(), ..turn.clone() };
        let times =
            calibrate(self.size.of(TURN), |times| self.run(&alone, times).map(|ran| ran.ns));
        self.times.insert(name, times);
    }

    /// After a failure the operation is made anew.
    fn run(&mut self, turn: &Turn, times: u64) -> Result<Ran, Fault> {
        let (places, busy) = turn.company.places(&turn.cpus);
        let name = turn.test.name();
        let operation = match self.operations.remove(name) {
            Some(operation) => operation,
            None => turn.test.operation(self.folder.as_deref(), self.size)?,
        };
        let mut one = [operation];
        let ran = run_in_processes(&mut one, &places, busy, times)
            .map_err(|why| self.fault(turn.test, &why))?;
        self.operations.extend(one.map(|operation| (name, operation)));
        ran.first().copied().ok_or_else(|| Fault::new("no process"))
    }

    fn fault(&self, test: Test, why: &str) -> Fault {
        match &self.folder {
            Some(folder) if test.has_files() => folder::refused(folder, &why),
            _ => Fault(format!("{}: {}", test.name(), test::with_remedy(why))),
        }
    }
}

fn sample(test: Test, ran: &Ran) -> Sample {
    let what = format!("{}: the number of right operations", test.name());
    let check = Check::equal(&what, ran.right, ran.times);
    let operations = ran.times * test.operations();
    Sample::new("rate", operations as f64 * 1e9 / ran.ns.max(1) as f64, operations, check)
}

/// What the article says of a test, in per cent of its rate.
fn printed(test: Test) -> f64 {
    if test == Test::Sieve { SIEVE_2003 } else { SYNC_2003 }
}

/// The article's tests with both seats of a core, beside its figures.
fn then(results: &Results) -> Option<Sentence> {
    let pair = |test: Test| {
        let [alone, both] = [Company::Alone, Company::BothSeats].map(|it| variant(test, it));
        NamedRatio::new(test.name(), alone, both, "rate")
    };
    let tests = Test::of_the_article();
    let judged = judged_together(results, &tests.map(pair));
    let told = judged.iter().filter_map(|(name, ratio)| {
        let then = printed(tests.into_iter().find(|test| test.name() == name)?);
        Some(format!("{name} {}, in 2003 {then:+.0} %", ratio_told(ratio)))
    });
    let told: Vec<String> = told.collect();
    let text = format!(
        "rate of one process that may use both seats of a core instead of one: {}",
        told.join("; ")
    );
    let ratios = judged.iter().map(|(_, ratio)| ratio);
    (!told.is_empty()).then(|| Sentence::about(text, ratios))
}

/// All tests in this company, against alone.
fn in_company(results: &Results, company: Company) -> Option<Sentence> {
    let pair = |test: Test| {
        let [alone, other] = [Company::Alone, company].map(|company| variant(test, company));
        NamedRatio::new(test.name(), alone, other, "rate")
    };
    let pairs: Vec<NamedRatio> = Test::all().into_iter().map(pair).collect();
    ratios_sentence(results, &format!("rate {}", company.told()), &pairs)
}

type Group = (&'static str, fn(Test) -> bool);

/// Which tests a sentence has together.
const GROUPS: [Group; 4] = [
    ("blocks of 1024 bytes that wait for the disk", Test::waits),
    ("blocks of 1024 bytes through the page cache", |it| it.has_files() && !it.waits()),
    ("computing", |it| {
        matches!(it, Test::Sieve | Test::Arithmetic(_) | Test::Strings | Test::Sort)
    }),
    ("pipes, signals, processes", |it| matches!(it, Test::Pipe | Test::Signal | Test::Start(_))),
];

/// `HEAD: sieve 412/s [408, 415], ...`, all alone; of files, where they are.
fn fact(results: &Results, head: &str, is_in: fn(Test) -> bool) -> Option<Sentence> {
    let told = |test: Test| {
        let rate = results.estimate(&variant(test, Company::Alone), "rate")?;
        Some(format!("{} {}", test.name(), numbers::estimate(&rate, "1/s")))
    };
    let tests = || Test::all().into_iter().filter(|test| is_in(*test));
    let told: Vec<String> = tests().filter_map(told).collect();
    let of = |test: Test| {
        let name = variant(test, Company::Alone);
        let found = results.designed().iter().find(|variant| variant.name == name)?;
        Some(found.level("file-system")).filter(|level| !level.is_empty())
    };
    let place = tests().find_map(of).map(|on| format!(", on {on}")).unwrap_or_default();
    (!told.is_empty()).then(|| Sentence::fact(format!("{head}{place}: {}", told.join(", "))))
}

fn rates(results: &Results) -> Option<Plot> {
    let bar = |test: Test| {
        let estimate = results.estimate(&variant(test, Company::Alone), "rate")?;
        Some(Bar { label: test.name().into(), estimate, group: String::new() })
    };
    let bars: Vec<Bar> = Test::all().into_iter().filter_map(bar).collect();
    (!bars.is_empty()).then(|| Plot::Bars {
        title: "Operations a second, alone on a CPU".into(),
        axis: Axis::log("rate", "1/s"),
        bars,
    })
}

fn in_companies(results: &Results) -> Option<Plot> {
    let title = "How many times the rate that one process has alone on a CPU";
    by_company(results, title, Axis::linear("rate against alone", "times"))
}

const SIEVE_2003: f64 = 60.0;
const SYNC_2003: f64 = -35.0;
const ARTICLE: &str = "Vianney, \"Hyper-Threading speeds Linux\", 2003, table 2 (one Xeon MP 1.6 GHz with two seats, Linux \
                       2.4.19, AIM9)";
const BOOTED: &str = "Rate with SMT against without, the system booted for each.";
const SEATS: &str = "The system was booted with and without SMT; here the process may use one seat of a core or both, with \
                     SMT on.";
const DISKS: &str = "The system was booted with and without SMT, and wrote to a SCSI disk; here the process may use one seat of \
                     a core or both, with SMT on, and the disk is another.";

const fn of_2003(label: &'static str, value: f64, variant: &'static str) -> Historic {
    let figure = Historic::new(label, value, "%", "rate").beside(variant);
    figure.means(BOOTED).differs(SEATS).printed_in(ARTICLE)
}

const PENTIUM: &str = "Linux kernel mailing list, 20 March 2003 (Pentium III 868 MHz, 128 MB, kernel 2.5.65, AIM9, 60 s a test)";

const fn of_a_pentium(label: &'static str, value: f64, variant: &'static str) -> Historic {
    Historic::new(label, value, "1/s", "rate").beside(variant).printed_in(PENTIUM)
}

static HISTORIC: [Historic; 11] = [
    of_2003("integer sieve, 2003", SIEVE_2003, "sieve both-seats"),
    of_2003("synchronous random disk writes, 2003", SYNC_2003, "sync-write-random both-seats")
        .differs(DISKS),
    of_2003("synchronous sequential disk writes, 2003", SYNC_2003, "sync-write both-seats")
        .differs(DISKS),
    of_2003("synchronous disk copies, 2003", SYNC_2003, "sync-copy both-seats").differs(DISKS),
    of_2003("all other tests, 2003", 0.0, "strings both-seats"),
    of_a_pentium("integer sieve, Pentium III, 2003", 3.38, "sieve alone")
        .means("Sieves of a million numbers a second."),
    of_a_pentium("AIM9, Pentium III, sync_disk_wrt", 73.84, "sync-write alone")
        .means("Kilobytes a second, in blocks of 1 KB to a file with O_SYNC."),
    of_a_pentium("AIM9, Pentium III, sync_disk_cp", 73.90, "sync-copy alone")
        .means("Kilobytes a second, in blocks of 1 KB from a file to one with O_SYNC."),
    of_a_pentium("AIM9, Pentium III, sync_disk_rw", 161.76, "sync-write-random alone")
        .means("Kilobytes a second, in blocks of 1 KB at random places of a file with O_SYNC.")
        .differs("Its time has the writes that make the file; here they are outside of it."),
    of_a_pentium("AIM9, Pentium III, disk_wrt", 49_100.0, "disk-write alone")
        .means("Kilobytes a second, in blocks of 1 KB through the page cache."),
    of_a_pentium("AIM9, Pentium III, disk_rd", 219_775.0, "disk-read alone")
        .means("Kilobytes a second, in blocks of 1 KB through the page cache."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_siblings_one_process_has_one_seat_and_both() {
        let host = Host::described_with_smt();
        let design = Aim9.design(&host, Size::Full).unwrap();
        assert_eq!(design.fault(), None);
        assert_eq!(design.each(Turn::of).unwrap().len(), design.variants.len());
        let cpus = |name: &str| &design.variants[design.index(name).unwrap()].cpus[..];
        assert_eq!((cpus("sieve alone"), cpus("sieve both-seats")), (&[0][..], &[0, 2][..]));
        assert_eq!((cpus("sort two-cores"), cpus("sort busy-sibling")), (&[0, 1][..], &[0, 2][..]));
        let quick = Aim9.design(&host, Size::Quick).unwrap();
        assert!(quick.index("sieve busy-sibling").is_none());
        let known = |old: &Historic| {
            let name = old.variant.unwrap_or_default();
            let test = name.split(' ').next().unwrap_or_default();
            design.index(name).is_some() || design.missing.iter().any(|(what, _)| what == test)
        };
        assert!(HISTORIC.iter().all(known));
    }

    #[test]
    fn without_siblings_that_is_said() {
        let mut host = Host::described_with_smt();
        host.cpus = vec![0];
        let design = Aim9.design(&host, Size::Quick).unwrap();
        let is_missing = |name: &str| design.missing.iter().any(|(what, _)| what == name);
        assert!(is_missing("both-seats") && is_missing("two-cores"));
        assert!(design.contrasts.is_empty());
    }

    #[test]
    fn one_turn_of_each_variant_here_passes_its_check_and_leaves_nothing() {
        let host = Host::discover().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut design = Aim9.design(&host, Size::Quick).unwrap();
        // One of each kind.
        design.variants.retain(|it| {
            ["sieve", "sync-write", "sync-copy", "sort", "pipe", "signal", "shell"]
                .contains(&it.level("test"))
        });
        let prepared = Some(folder.path());
        let mut apparatus = Aim9.open_in(&host, Size::Quick, &design, prepared).unwrap();
        for (index, variant) in design.variants.iter().enumerate() {
            let samples = apparatus.measure(index).unwrap();
            let [sample] = samples.as_slice() else { panic!("{}", variant.name) };
            assert_eq!(sample.check, Check::Passed, "{}", variant.name);
            assert!(sample.value > 0.0);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn rates_count_operations_and_wrong_ones_are_found() {
        let ran = Ran { ns: 500_000_000, times: 2, right: 2, without_switches_ns: 0 };
        let found = sample(Test::Sieve, &ran);
        assert_eq!((found.value, found.ops, found.check), (20.0, 10, Check::Passed));
        assert!(matches!(sample(Test::Sort, &Ran { right: 1, ..ran }).check, Check::Failed(_)));
    }
}
