//! The catalogue: one file an experiment.
//!
//! An experiment is added by a file here and a line in [`ALL`].

pub mod aa;

pub mod siblings;
pub mod core_speed;
pub mod vcpu;

pub mod smt_kernels;
pub mod smt_bound;
pub mod smt_load;

pub mod ping_pong;
pub mod idle_cost;
pub mod wake;
pub mod barrier;

pub mod lost_updates;
pub mod locks;
pub mod producer_consumer;
pub mod false_sharing;
pub mod lock_scaling;

pub mod thread_scaling;
pub mod thread_limit;
pub mod loop_parallel;
pub mod data_split;

pub mod priority;
pub mod sibling_priority;
pub mod affinity;
pub mod pi;
pub mod protection;
pub mod tuning;

pub mod block_pattern;
pub mod load_pattern;
pub mod sessions;
pub mod capacity;
pub mod soak;
pub mod schedules;
pub mod wide_registers;

pub mod kernel;
pub mod aim9;
pub mod chat;
pub mod fileserver;
pub mod tcpstream;
pub mod openmp;
pub mod jvm;
pub mod guest;
pub mod affinity_guest;

mod beside;
mod calculators;
mod chance;
mod drawing;
pub mod folder;
mod jobs;
mod loads;
mod places;
mod playing;
mod words;

use crate::harness::Experiment;

/// Every experiment, by chapter; the order of lists, runs and reports.
pub static ALL: &[&dyn Experiment] = &[
    &aa::Aa,
    &siblings::Siblings,
    &core_speed::CoreSpeed,
    &vcpu::Vcpu,
    &smt_kernels::SmtKernels,
    &smt_bound::SmtBound,
    &smt_load::SmtLoad,
    &ping_pong::PingPong,
    &idle_cost::IdleCost,
    &wake::Wake,
    &barrier::Barrier,
    &lost_updates::LostIncrements,
    &locks::Locks,
    &producer_consumer::ProducerConsumer,
    &false_sharing::FalseSharing,
    &lock_scaling::LockScaling,
    &thread_scaling::ThreadScaling,
    &thread_limit::ThreadLimit,
    &loop_parallel::LoopParallel,
    &data_split::DataSplit,
    &priority::Priority,
    &sibling_priority::SiblingPriority,
    &affinity::Affinity,
    &pi::Pi,
    &protection::Protection,
    &tuning::Tuning,
    &block_pattern::BlockPattern,
    &load_pattern::LoadPatterns,
    &sessions::Sessions,
    &capacity::Capacity,
    &soak::Soak,
    &schedules::Schedules,
    &wide_registers::WideRegisters,
    &kernel::Kernel,
    &aim9::Aim9,
    &chat::ChatExperiment,
    &fileserver::FileServerExperiment,
    &tcpstream::TcpStreamExperiment,
    &openmp::OpenMp,
    &jvm::Jvm,
    &guest::Guest,
    &affinity_guest::AffinityGuest,
];

/// Whether an experiment measures a program that the user has to name, so that a run of all leaves it out.
pub fn needs_a_program(experiment: &dyn Experiment) -> bool {
    [guest::ID, affinity_guest::ID].contains(&experiment.about().id)
}

/// The experiment of this id.
pub fn find(id: &str) -> Option<&'static dyn Experiment> {
    ALL.iter().copied().find(|experiment| experiment.about().id == id)
}

#[cfg(test)]
mod advice_tests;
#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::{Host, Section, Size};

    fn is_name(name: &str) -> bool {
        !name.is_empty()
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    }

    #[test]
    fn the_catalogue_is_told_in_full() {
        for about in ALL.iter().map(|experiment| experiment.about()) {
            assert!(is_name(about.id), "{}", about.id);
            assert!(about.question.ends_with('?'), "{}: {}", about.id, about.question);
            assert!(
                !about.method.is_empty() && !about.limits.is_empty() && !about.origin.is_empty()
            );
            assert!(!about.metrics.is_empty(), "{}", about.id);
            assert!(about.metrics.iter().all(|m| is_name(m.name) && !m.definition.is_empty()));
            let definitions = about.metrics.iter().map(|metric| metric.definition);
            for text in [about.question, about.method, about.limits].into_iter().chain(definitions)
            {
                let words: Vec<&str> = text.split_whitespace().collect();
                let unit =
                    |word: &&str| word.trim_end_matches(|c: char| !c.is_alphanumeric()) == "us";
                assert!(!words.iter().any(unit), "{}: µs, not us: {text}", about.id);
            }
        }
        let mut ids: Vec<_> = ALL.iter().map(|experiment| experiment.about().id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), ALL.len(), "two experiments have one id");
        assert_eq!(ALL[0].about().section, Section::Method);
    }

    #[test]
    fn designs_are_possible_and_name_declared_metrics() {
        let host = Host::discover().unwrap();
        for experiment in ALL {
            let about = experiment.about();
            for size in [Size::Quick, Size::Full] {
                let Ok(design) = experiment.design(&host, size) else { continue };
                assert_eq!(design.fault(), None, "{}", about.id);
                assert!(
                    design.contrasts.iter().all(|c| about.metric(&c.metric).is_some()),
                    "{}",
                    about.id
                );
            }
        }
    }

    /// Each figure has a metric and, unless it says what differs, the metric's meaning: a unit that converts, a figure
    /// of one variant, and no other conditions in its definition.
    #[test]
    fn historic_figures_stand_beside_what_they_mean_or_say_what_differs() {
        for experiment in ALL {
            let about = experiment.about();
            let historic = experiment.historic();
            let labels: std::collections::BTreeSet<_> =
                historic.iter().map(|old| (old.label, old.metric)).collect();
            assert_eq!(labels.len(), historic.len(), "{}: labels do not tell apart", about.id);
            for old in historic {
                let named = format!("{}, {}", about.id, old.label);
                let metric = about.metric(old.metric).expect(&named);
                assert!(old.definition.ends_with('.') && old.value.is_finite(), "{named}");
                if let Some(differs) = old.differs {
                    assert!(differs.ends_with('.'), "{named}: {differs}");
                    nearest_is_designed(*experiment, &old);
                    let has_none = experiment.nearest(&old).is_empty();
                    assert_eq!(has_none, NOTHING_NEAR.contains(&old.label), "{named}");
                    continue;
                }
                let converts = crate::numbers::conversion(metric.unit, old.unit).is_some();
                assert!(converts, "{named}: {} beside {}", old.unit, metric.unit);
                assert!(old.variant.is_some(), "{named}: beside no variant");
                let other = OTHER_CONDITIONS.iter().find(|words| old.definition.contains(*words));
                assert_eq!(other, None, "{named}: {}", old.definition);
            }
        }
    }

    /// Old figures that nothing of today stands near: limits are read, and not reached.
    const NOTHING_NEAR: [&str; 2] =
        ["Sun HotSpot 1.5, Windows XP Pro 32 bit, 4 GB", "case 2: most threads"];

    /// Whether what is named as nearest to an old figure can be measured on some machine.
    fn nearest_is_designed(experiment: &dyn Experiment, old: &crate::harness::Historic) {
        for near in experiment.nearest(old) {
            let named = format!("{}, {}: {}", experiment.about().id, old.label, near.variant);
            assert!(experiment.about().metric(near.metric).is_some(), "{named}");
            let hosts = [Host::described_with_smt(), with_two_cores()];
            for variant in [Some(&near.variant), near.from.as_ref()].into_iter().flatten() {
                let is_here = |host: &Host| is_designed_on(host, experiment, variant);
                assert!(hosts.iter().any(is_here), "{named}: {variant}");
            }
        }
    }

    /// The rows of the article of 2003 on Linux, in per cent, and in which experiment each stands.
    const ROWS_OF_2003: [(&str, &str, &str, &str); 10] = [
        ("lmbench", "pipe_latency", "kernel", "pipe latency, 2003"),
        ("lmbench", "fork_exit", "kernel", "fork and exit, 2003"),
        ("lmbench", "fork_execve", "kernel", "fork and execve, 2003"),
        ("lmbench", "fork_sh", "kernel", "fork and sh -c, 2003"),
        ("lmbench", "single_threaded_functions", "kernel", "functions of one thread, 2003"),
        ("aim9", "sync_random_disk_writes", "aim9", "synchronous random disk writes, 2003"),
        ("aim9", "sync_sequential_disk_writes", "aim9", "synchronous sequential disk writes, 2003"),
        ("aim9", "sync_disk_copies", "aim9", "synchronous disk copies, 2003"),
        ("aim9", "integer_sieve", "aim9", "integer sieve, 2003"),
        ("aim9", "others", "aim9", "all other tests, 2003"),
    ];

    #[test]
    fn every_row_of_the_article_on_linux_stands_beside_something_of_today() {
        let Some(shared) = shared() else {
            println!(
                "SKIPPED every_row_of_the_article_on_linux: no shared data (set HOCKET_SHARED)"
            );
            return;
        };
        let files = std::fs::read_dir(shared.join("data/historic")).unwrap();
        let is_it = |path: &std::path::PathBuf| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("002"))
        };
        let path = files.map(|file| file.unwrap().path()).find(is_it).expect("the table of 2003");
        let table: toml::Table = std::fs::read_to_string(path).unwrap().parse().expect("TOML");
        let printed = |group: &str| table[group].as_table().unwrap();
        let rows = printed("lmbench").len() + printed("aim9").len();
        assert_eq!(rows, ROWS_OF_2003.len(), "a row is missing here");
        for (group, key, id, label) in ROWS_OF_2003 {
            let mut value = Vec::new();
            numbers(&printed(group)[key], &mut value);
            let experiment = find(id).unwrap();
            let historic = experiment.historic();
            let old = historic.iter().find(|old| old.label == label).expect(label);
            assert_eq!((old.unit, value), ("%", vec![old.value]), "{label}");
            assert!(!experiment.nearest(old).is_empty(), "{label}");
        }
    }

    /// The operations of table 1 as the research names them, and the label of each.
    const TABLE_1: [(&str, usize, &str); 14] = [
        ("simple syscall", 0, "table 1, simple system call"),
        ("read / write", 0, "table 1, read"),
        ("read / write", 1, "table 1, write"),
        ("stat / fstat / open+close", 0, "table 1, stat"),
        ("stat / fstat / open+close", 1, "table 1, fstat"),
        ("stat / fstat / open+close", 2, "table 1, open and close"),
        ("select 10 fd / 10 tcp fd", 0, "table 1, select on 10 files"),
        ("select 10 fd / 10 tcp fd", 1, "table 1, select on 10 TCP connections"),
        ("signal install / overhead", 0, "table 1, signal handler, install"),
        ("signal install / overhead", 1, "table 1, signal handler, overhead"),
        ("pipe latency", 0, "table 1, pipe latency"),
        ("fork+exit", 0, "table 1, fork and exit"),
        ("fork+execve", 0, "table 1, fork and execve"),
        ("fork+/bin/sh -c", 0, "table 1, fork and sh -c"),
    ];

    #[test]
    fn the_times_of_table_1_are_those_that_were_read() {
        let text = shared().and_then(|it| std::fs::read_to_string(it.join("research/lab.md")).ok());
        let Some(text) = text else {
            println!(
                "SKIPPED the_times_of_table_1_are_those_that_were_read: no shared data (set HOCKET_SHARED)"
            );
            return;
        };
        let historic = find("kernel").unwrap().historic();
        let of_table = historic.iter().filter(|old| old.label.starts_with("table 1, "));
        assert_eq!(of_table.count(), TABLE_1.len());
        for (operation, at, label) in TABLE_1 {
            let row = text.lines().find(|line| line.starts_with(&format!("| {operation} |")));
            let cells: Vec<&str> = row.expect(operation).split('|').map(str::trim).collect();
            let read: f64 = cells[2].split('/').nth(at).unwrap().trim().parse().unwrap();
            let old = historic.iter().find(|old| old.label == label).expect(label);
            assert_eq!((old.value, old.unit), (read, "us"), "{label}");
        }
    }

    /// Experiments whose method says that a round warms up leave one out, in a quick and in a full run.
    #[test]
    fn rounds_that_are_said_to_warm_up_are_left_out() {
        let host = Host::described_with_smt();
        let mut said = 0;
        for experiment in ALL {
            let about = experiment.about();
            let says = about.method.contains("round of each process start warms up");
            for size in [Size::Quick, Size::Full] {
                let Ok(design) = experiment.design(&host, size) else { continue };
                assert!(!says || design.rounds.warm_up == 1, "{}, {}", about.id, size.name());
                said += usize::from(says);
            }
        }
        assert!(said >= 6, "chat, fileserver and tcpstream say so");
    }

    /// Words of definitions that no metric of ours has.
    const OTHER_CONDITIONS: [&str; 10] = [
        "the one CPU of the system",
        "up to 512 threads",
        "SMT disabled",
        "without SMT",
        "several large files",
        "10 rooms",
        "at most",
        "SuperPi",
        "slowest",
        "one thread, kernel",
    ];

    /// The folder of the shared data, where there is one with old figures.
    fn shared() -> Option<std::path::PathBuf> {
        let folder = std::env::var_os("HOCKET_SHARED").map_or_else(
            || std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
            std::path::PathBuf::from,
        );
        folder.join("data/historic").is_dir().then_some(folder)
    }

    /// The figures as they were extracted from the printed texts, apart from this code.
    #[test]
    fn historic_figures_are_those_that_were_printed() {
        let Some(shared) = shared() else {
            println!(
                "SKIPPED historic_figures_are_those_that_were_printed: no shared data (set HOCKET_SHARED)"
            );
            return;
        };
        let files = std::fs::read_dir(shared.join("data/historic")).unwrap();
        let mut printed = Vec::new();
        for file in files {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
            let table: toml::Table = text.parse().expect("TOML");
            numbers(&toml::Value::Table(table), &mut printed);
            // Some tables are told in a comment above what they were made of.
            let comments = text.lines().filter_map(|line| line.split_once('#'));
            let words = comments.flat_map(|(_, comment)| {
                comment.split(|c: char| !(c.is_ascii_digit() || c == '.'))
            });
            printed.extend(words.filter_map(|word| word.trim_matches('.').parse::<f64>().ok()));
        }
        for experiment in ALL {
            for old in experiment.historic() {
                let known =
                    derived(old.label) || printed.iter().any(|n| (n - old.value).abs() < 1e-9);
                assert!(known, "{}: {} {}", experiment.about().id, old.label, old.value);
            }
        }
    }

    /// Figures from elsewhere than the texts of the shared data, or computed from theirs.
    fn derived(label: &str) -> bool {
        // Those of table 1 have a test of their own.
        let elsewhere = [
            "chat, ",
            "integer sieve, Pentium",
            "AIM9, Pentium",
            "multithreaded applications",
            "table 1, ",
            "dbench 1, ",
        ];
        elsewhere.iter().any(|start| label.starts_with(start))
            || label == "lost, Hyper-Threading on"
            || label == "lost, one CPU"
    }

    const SOURCES: &str = include_str!("../../../docs/lab-sources.md");

    /// `ID.METRIC` or `ID.METRIC[VARIANT]` between back quotes.
    #[test]
    fn what_the_page_of_the_sources_names_exists() {
        let mut named = 0;
        for text in SOURCES.split('`').skip(1).step_by(2) {
            let Some((id, rest)) = text.split_once('.') else { continue };
            let (metric, variant) = match rest.strip_suffix(']').and_then(|it| it.split_once('[')) {
                Some((metric, variant)) => (metric, Some(variant)),
                None => (rest, None),
            };
            if !is_name(id) || !is_name(metric) {
                continue;
            }
            let experiment = find(id).unwrap_or_else(|| panic!("{text}: no such experiment"));
            assert!(experiment.about().metric(metric).is_some(), "{text}: no such figure");
            let exists = variant.is_none_or(|variant| is_designed(experiment, variant));
            assert!(exists, "{text}: no such variant");
            named += 1;
        }
        assert!(named > 50, "only {named} names were found");
        let blocks = SOURCES.split("\n\n").filter(|block| block.starts_with("    Thread"));
        let patterns: Vec<_> = blocks.map(crate::patterns::LoadPattern::parse).collect();
        assert_eq!(patterns.len(), 2);
        assert!(patterns.iter().all(Result::is_ok), "{patterns:?}");
    }

    /// Whether a machine with SMT has this variant, or the design says what this machine lacks for it. Without a compiler or a
    /// JDK there is no design, and nothing to hold the name against.
    fn is_designed(experiment: &dyn Experiment, variant: &str) -> bool {
        is_designed_on(&Host::described_with_smt(), experiment, variant)
    }

    /// Two CPUs that share no core.
    fn with_two_cores() -> Host {
        Host { cpus: vec![0, 1], ..Host::described_with_smt() }
    }

    fn is_designed_on(host: &Host, experiment: &dyn Experiment, variant: &str) -> bool {
        let designs = [Size::Quick, Size::Full].map(|size| experiment.design(host, size));
        if let [Err(why), Err(_)] = &designs {
            let id = experiment.about().id;
            println!("SKIPPED the variants of {id} that the page of the sources names: {why}");
            return true;
        }
        designs.into_iter().flatten().any(|design| {
            design.variants.iter().any(|known| fits(variant, &known.name))
                || design.missing.iter().any(|(what, _)| variant.contains(what.as_str()))
        })
    }

    /// `N` stands for any number.
    fn fits(pattern: &str, name: &str) -> bool {
        let Some((head, tail)) = pattern.split_once('N') else { return pattern == name };
        let number = name.strip_prefix(head).and_then(|rest| rest.strip_suffix(tail));
        number.is_some_and(|it| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit()))
    }

    fn numbers(value: &toml::Value, out: &mut Vec<f64>) {
        match value {
            toml::Value::Integer(number) => out.push(*number as f64),
            toml::Value::Float(number) => out.push(*number),
            toml::Value::Array(all) => all.iter().for_each(|value| numbers(value, out)),
            toml::Value::Table(all) => all.values().for_each(|value| numbers(value, out)),
            _ => {}
        }
    }
}
