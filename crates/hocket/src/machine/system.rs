//! The running system: its facts, and what it grants.

use std::collections::BTreeMap;
use std::fmt::Write;

use comfy_table::{Cell, ContentArrangement, Table};
use hocket_machine::facts::MachineFacts;
use hocket_machine::grants::Grant;
use hocket_machine::{CpuSet, Fact};

use super::layout::{WIDTH, line, prose};

pub(super) fn system(out: &mut String, facts: &MachineFacts) {
    line(out, "\nSystem");
    let mut fact = |name: &str, value: String| prose(out, 2, &format!("{name}: {value}"));
    fact("distribution", facts.distribution.to_string());
    fact("kernel", format!("{}, preemption {}", facts.kernel_release, facts.preemption));
    fact("hypervisor", facts.hypervisor.to_string());
    fact("SMT", facts.smt.to_string());
    fact("governors", governors(facts));
    fact("clock source", facts.clocksource.to_string());
    fact("load", load(&facts.load));
    fact("isolated CPUs", facts.isolated_cpus.to_string());
    fact("CPUs without tick", facts.tickless_cpus.to_string());
    fact("real-time throttle", facts.real_time_throttle.to_string());
}

/// Each governor with its CPUs, or the one reason why there is none.
fn governors(facts: &MachineFacts) -> String {
    let mut by_name: BTreeMap<&str, CpuSet> = BTreeMap::new();
    for (&cpu, clock) in &facts.clocks {
        if let Some(name) = clock.governor.value() {
            by_name.entry(name).or_default().insert(cpu);
        }
    }
    if by_name.is_empty() {
        return "unknown (the kernel does not control the clocks here)".into();
    }
    let each = by_name.iter().map(|(name, cpus)| format!("{name} on CPUs {cpus}"));
    each.collect::<Vec<_>>().join("; ")
}

fn load(load: &Fact<[f64; 3]>) -> String {
    match load {
        Fact::Value([one, five, fifteen]) => {
            format!("{one:.2} {five:.2} {fifteen:.2} (1, 5, 15 minutes)")
        }
        Fact::Unknown(why) => format!("unknown ({why})"),
    }
}

pub(super) fn grant_table(out: &mut String, grants: &[Grant]) {
    let mut table = Table::new();
    table.set_content_arrangement(ContentArrangement::Dynamic);
    if table.width().is_none() {
        table.set_width(WIDTH as u16);
    }
    table.set_header(["granted here", "", "why, and what would help"]);
    for grant in grants {
        let mut why = grant.detail.clone();
        if let Some(remedy) = &grant.remedy {
            let _ = write!(why, "; to get it: {remedy}");
        }
        let yes = if grant.granted { "yes" } else { "no" };
        table.add_row([Cell::new(grant.name.label()), Cell::new(yes), Cell::new(why)]);
    }
    let _ = writeln!(out, "\n{table}");
}
