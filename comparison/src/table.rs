//! What is printed.

use hocket_engine::ThreadReport;
use hocket_lab::stats::Comparison;

use crate::executor::Who;
use crate::measure::Cell;
use crate::record::rayon_versions;
use crate::setup::{RATE_HZ, Setup};

/// What the run is.
pub fn head(setup: &Setup, blocks: usize) {
    println!(
        "comparison: {} workers, blocks of {} frames at {RATE_HZ} Hz, {blocks} blocks each; {}",
        setup.workers(),
        crate::network::FRAMES,
        rayon_versions()
    );
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
        "{:<7} {:<6} {:<32} {:>8} {:>9} {:>9}  {:>6} {:<16}  {:>8} {:<16}",
        "graph",
        "mode",
        "executor",
        "p50 us",
        "p99.9 us",
        "max us",
        "eff.",
        "95 %",
        "Hocket/it",
        "95 %"
    );
}

/// One line an executor.
pub fn rows(cell: &Cell) {
    for who in Who::ALL {
        let figures = cell.figures(who);
        let us = |ns: Option<f64>| ns.map_or("-".into(), |ns| format!("{:.1}", ns / 1000.0));
        let times = figures.times_ns;
        let (efficiency, efficiency_range) = ratio(figures.efficiency);
        let (hocket, hocket_range) = ratio(figures.hocket_ratio);
        let line = format!(
            "{:<7} {:<6} {:<32} {:>8} {:>9} {:>9}  {efficiency:>6} {efficiency_range:<16}  {hocket:>8} {hocket_range:<16}",
            cell.graph,
            cell.mode.name(),
            who.name(),
            us(times.map(|t| t.p50)),
            us(times.map(|t| t.p999)),
            us(times.map(|t| t.max)),
        );
        println!("{}", line.trim_end());
    }
}

/// The ratio and its interval, in columns; empty where there is none to speak of.
fn ratio(comparison: Option<Comparison>) -> (String, String) {
    let Some(comparison) = comparison else { return (String::new(), String::new()) };
    let range = |i: hocket_lab::stats::Interval| format!("[{:.3}, {:.3}]", i.low, i.high);
    let interval = comparison.interval.map_or("(too few blocks)".into(), range);
    (format!("{:.3}", comparison.ratio), interval)
}
