//! Figures that say what a setting costs: measured on other machines, and kept as records.

use std::fmt;

use serde::Serialize;

/// A figure, and where it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Figure {
    /// For people.
    pub what: &'static str,
    /// In Hocket's repository.
    pub record: &'static str,
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.what, self.record)
    }
}

/// What a class is worth.
pub(super) const CLASSES: Figure = Figure {
    what: "beside three busy threads on its CPU, work of 30 ms took 113 ms in the ordinary class, and 29 ms with SCHED_FIFO",
    record: "docs/results/lab-quick-2cpu-vm.sqlite",
};

/// What a class is worth to a thread that sleeps.
pub(super) const SLEEPS: Figure = Figure {
    what: "sleeps ended 77 µs late in the median in the ordinary class, and 37 µs with SCHED_FIFO",
    record: "docs/results/lab-quick-2cpu-vm.sqlite",
};

/// What a page costs that is not there.
pub(super) const PAGE_FAULT: Figure = Figure {
    what: "a page fault took 1.3 µs without any disk",
    record: "docs/results/lab-kernel-2cpu-vm-quiet-host.json",
};

/// What a page costs that is on a disk.
pub(super) const DISK: Figure =
    Figure { what: "a read took 0.25 ms", record: "docs/results/disks-locate-2cpu-vm.json" };

/// What no program can make up for.
pub(super) const WAKE_UPS: Figure = Figure {
    what: "in ten minutes, 206 of 450000 wake-ups of a bare real-time loop were too late for a block of 64 frames",
    record: "docs/results/live-2cpu-vm.json",
};

/// What a host takes.
pub(super) const HOST: Figure = Figure {
    what: "in ten minutes on a virtual machine, 18 of 408 late blocks were late because the host took the CPU",
    record: "docs/results/live-2cpu-vm.json",
};

/// What a reading of a good clock costs.
pub(super) const CLOCK: Figure = Figure {
    what: "a reading of the clock tsc took 29 ns",
    record: "docs/results/lab-kernel-2cpu-vm.json",
};

/// What the other half of a core costs.
pub(super) const SIBLINGS: Figure = Figure {
    what: "on a Core i7 965 in 2009, the slowest block took 1861 µs without SMT and 2528 µs with it",
    record: "docs/scheduling.md",
};

/// All of them.
#[cfg(test)]
const ALL: [Figure; 8] = [CLASSES, SLEEPS, PAGE_FAULT, DISK, WAKE_UPS, HOST, CLOCK, SIBLINGS];

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use hocket_lab::stats::quantile_sorted;
    use serde_json::Value;

    use super::*;

    fn path(figure: Figure) -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(figure.record)
    }

    fn record(figure: Figure) -> Value {
        let text = std::fs::read_to_string(path(figure)).expect("a record");
        serde_json::from_str(&text).expect("JSON")
    }

    fn median(mut values: Vec<f64>) -> f64 {
        values.sort_by(f64::total_cmp);
        quantile_sorted(&values, 0.5).expect("values")
    }

    /// The median of a variant in the lab's record.
    fn of_lab(experiment: &str, variant: &str, metric: &str) -> f64 {
        let read_only = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
        let open = rusqlite::Connection::open_with_flags(path(CLASSES), read_only);
        let lab = open.expect("a record");
        let sql = "SELECT value FROM rows WHERE experiment = ?1 AND variant = ?2 AND metric = ?3 AND warm_up = 0";
        let mut query = lab.prepare(sql).expect("the lab's schema");
        let rows = query.query_map([experiment, variant, metric], |row| row.get::<_, f64>(0));
        median(rows.expect("rows").collect::<Result<_, _>>().expect("numbers"))
    }

    #[track_caller]
    fn check_says(figure: Figure, parts: &[String]) {
        for part in parts {
            assert!(figure.what.contains(part.as_str()), "not '{part}': {figure}");
        }
    }

    #[test]
    fn every_figure_names_a_record_that_is_there() {
        for figure in ALL {
            assert!(path(figure).is_file(), "{figure}");
        }
    }

    #[test]
    fn figures_are_those_of_the_lab() {
        let time = |variant| of_lab("priority", variant, "time");
        let [alone, equal, fifo] = ["alone", "equal same-cpu 3-load", "fifo same-cpu 3-load"];
        let [alone, equal, fifo] =
            [alone, equal, fifo].map(|variant| format!("{:.0} ms", time(variant)));
        check_says(CLASSES, &[format!("work of {alone} took {equal}"), format!("and {fifo} with")]);
        let late = |variant| format!("{:.0} µs", of_lab("wake", variant, "lateness") / 1e3);
        check_says(SLEEPS, &[late("clock ordinary idle"), late("clock fifo idle")]);
    }

    #[test]
    fn figures_are_those_of_the_other_records() {
        let kernel = record(PAGE_FAULT);
        let figures = kernel["experiments"].as_array().expect("experiments").iter();
        let mut figures = figures.flat_map(|one| one["figures"].as_array().expect("figures"));
        let page = figures.find(|one| one["variant"] == "page-fault alone").expect("page faults");
        let ns = page["estimate"]["value"].as_f64().expect("a number");
        check_says(PAGE_FAULT, &[format!("{:.1} µs", ns / 1e3)]);

        let reads = &record(DISK)["measured"]["locate"]["samples"]["read_ns"];
        let reads = reads.as_array().expect("reads").iter().filter_map(Value::as_f64);
        check_says(DISK, &[format!("{:.2} ms", median(reads.collect()) / 1e6)]);

        let check = &record(CLOCK)["meta"]["clock"]["check"];
        let source = check["clocksource"]["value"].as_str().expect("a name");
        let ns = check["monotonic_cost_ns"].as_f64().expect("a number");
        check_says(CLOCK, &[format!("the clock {source} took {ns:.0} ns")]);

        let play = &record(WAKE_UPS)["plays"][0];
        let both = &play["compared"];
        check_says(WAKE_UPS, &[format!("{} of {}", both["late_wake_ups"], both["wake_ups"])]);
        let (told, late) = (&play["told"], &play["told"]["late"]);
        check_says(HOST, &[format!("{} of {late}", told["causes"]["host-steal"])]);

        let text = std::fs::read_to_string(path(SIBLINGS)).expect("a page");
        assert!(text.contains("from 2528 to") && text.contains("1861 µs at the maximum"));
    }
}
