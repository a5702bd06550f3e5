//! What a profile holds for: it expires when any of it changes.

use std::collections::BTreeSet;

use hocket_machine::facts::MachineFacts;
use hocket_machine::{Fact, Topology};
use serde::{Deserialize, Serialize};

/// What measurements depend on and what changes without anybody measuring again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conditions {
    /// The version of Hocket that measured; empty in profiles of before.
    #[serde(default)]
    pub hocket: String,
    /// The processor's model.
    pub processor: String,
    /// Its microcode, which decides over mitigations and with them over the price of system calls.
    pub microcode: String,
    /// The kernel's release.
    pub kernel: String,
    /// The hypervisor, or `none`.
    pub hypervisor: String,
    /// The frequency governors in use.
    pub governor: String,
    /// The usable CPUs, by core: CPUs of one core joined by `+`, cores separated by blanks.
    pub topology: String,
}

impl Conditions {
    /// Of this machine, at this moment.
    pub fn of(facts: &MachineFacts, topology: &Topology) -> Conditions {
        Conditions {
            hocket: env!("CARGO_PKG_VERSION").into(),
            processor: told(&facts.cpu_model),
            microcode: told(&facts.microcode),
            kernel: told(&facts.kernel_release),
            hypervisor: told(&facts.hypervisor),
            governor: governors(facts),
            topology: by_core(topology),
        }
    }

    /// What is no longer as it was, a sentence each; empty: the profile holds.
    pub fn changed(&self, now: &Conditions) -> Vec<String> {
        let pairs = [
            ("the version of Hocket", &self.hocket, &now.hocket),
            ("the processor", &self.processor, &now.processor),
            ("the microcode", &self.microcode, &now.microcode),
            ("the kernel", &self.kernel, &now.kernel),
            ("the hypervisor", &self.hypervisor, &now.hypervisor),
            ("the frequency governor", &self.governor, &now.governor),
            ("the usable CPUs by core", &self.topology, &now.topology),
        ];
        let other = pairs.into_iter().filter(|(_, then, now)| then != now);
        other.map(|(what, then, now)| format!("{what} was '{then}' and is '{now}'")).collect()
    }
}

/// Reasons vary in wording between versions of Hocket and do not count as a change.
fn told(fact: &Fact<String>) -> String {
    fact.value().map_or_else(|| "unknown".into(), |value| value.trim().to_string())
}

fn governors(facts: &MachineFacts) -> String {
    let all: BTreeSet<String> = facts.clocks.values().map(|clock| told(&clock.governor)).collect();
    match all.is_empty() {
        true => "unknown".into(),
        false => Vec::from_iter(all).join(", "),
    }
}

fn by_core(topology: &Topology) -> String {
    let mut cores: Vec<(usize, Vec<String>)> = Vec::new();
    for seat in topology.seats.iter().filter(|seat| seat.allowed && seat.online) {
        let core = seat.core.unwrap_or(topology.cores.len() + seat.index);
        let cpu = seat.cpu.to_string();
        match cores.iter_mut().find(|(known, _)| *known == core) {
            Some((_, cpus)) => cpus.push(cpu),
            None => cores.push((core, vec![cpu])),
        }
    }
    let told: Vec<String> = cores.into_iter().map(|(_, cpus)| cpus.join("+")).collect();
    told.join(" ")
}
