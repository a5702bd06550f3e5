//! What is printed.

use hocket_engine::ThreadReport;
use hocket_lab::stats::Comparison;

use crate::measure::Cell;
use crate::rivals::Rivals;
use crate::setup::{RATE_HZ, Setup};

/// What the run is, and who is not there.
pub fn head(setup: &Setup, rivals: &Rivals, blocks: usize) {
    println!(
        "comparison: {} workers, blocks of {} frames at {RATE_HZ} Hz, {blocks} blocks each; hocket {}; {}",
        setup.workers(),
        crate::network::FRAMES,
        setup.policy,
        rivals.versions().join("; ")
    );
    println!("  {}", hocket_lab::stats::ONE_START);
    for library in &rivals.missing {
        println!("  {library} was not there when this was built: left out (see the README)");
    }
}

/// What threads asked for and got, one line a thread.
pub fn threads<'a>(reports: impl Iterator<Item = &'a ThreadReport>) {
    for report in reports {
        let cpu = report.cpu_asked.map_or("any".into(), |cpu| cpu.to_string());
        println!(
            "  {:<10} asked for CPU {cpu}, {}; has CPU {}, {}",
            report.name, report.class_asked, report.cpus_got, report.class_got
        );
        if let Some(why) = &report.why {
            println!("  {:<10} {why}", "");
        }
    }
}

/// Above the rows.
pub fn columns() {
    println!(
        "{:<7} {:<6} {:<26} {:>8} {:>8} {:>9} {:>9}  {:>6} {:<16}  {:>9} {:<16}  {:>7} {:<16}  came",
        "graph",
        "mode",
        "executor",
        "p50 us",
        "p99 us",
        "p99.9 us",
        "max us",
        "eff.",
        "95 %",
        "Hocket/it",
        "95 %",
        "auto/it",
        "95 %"
    );
}

/// One line an executor.
pub fn rows(cell: &Cell) {
    for (figures, run) in cell.figures().iter().zip(&cell.runs) {
        let us = |ns: Option<f64>| ns.map_or("-".into(), |ns| format!("{:.1}", ns / 1000.0));
        let times = figures.times_ns;
        let (efficiency, efficiency_range) = ratio(figures.efficiency);
        let (hocket, hocket_range) = ratio(figures.hocket_ratio);
        let (auto, auto_range) = ratio(figures.auto_ratio);
        let line = format!(
            "{:<7} {:<6} {:<26} {:>8} {:>8} {:>9} {:>9}  {efficiency:>6} {efficiency_range:<16}  {hocket:>9} {hocket_range:<16}  {auto:>7} {auto_range:<16}  {}",
            cell.graph,
            cell.mode.name(),
            figures.who.name(),
            us(times.map(|t| t.p50)),
            us(times.map(|t| t.p99)),
            us(times.map(|t| t.p999)),
            us(times.map(|t| t.max)),
            comes(&run.came),
        );
        println!("{}", line.trim_end());
    }
    for (run, chose) in cell.runs.iter().filter_map(|run| Some((run, run.chose.as_ref()?))) {
        println!("  {}: {chose}", run.who.name());
    }
    for run in cell.runs.iter().filter(|run| run.periods > 1) {
        println!(
            "  {}: a turn takes {} periods, because its blocks are long",
            run.who.name(),
            run.periods
        );
    }
    for run in cell.runs.iter().filter(|run| run.between.awake > 0) {
        println!(
            "  {}: threads awake between blocks in {} of {} looks",
            run.who.name(),
            run.between.awake,
            run.between.taken
        );
    }
}

/// The share of blocks to which each worker beside the leader came.
fn comes(came: &[f64]) -> String {
    let others: Vec<String> = came.iter().skip(1).map(|share| format!("{share:.2}")).collect();
    others.join(" ")
}

/// The ratio and its interval, in columns; empty where there is none to speak of.
fn ratio(comparison: Option<Comparison>) -> (String, String) {
    let Some(comparison) = comparison else { return (String::new(), String::new()) };
    let range = |i: hocket_lab::stats::Interval| format!("[{:.3}, {:.3}]", i.low, i.high);
    let interval = comparison.interval.map_or("(too few blocks)".into(), range);
    (format!("{:.3}", comparison.ratio), interval)
}
