//! Of which machine a record is.

use serde_json::Value;

use super::entry::{Detail, Entry};
use crate::foreign::plain;
use crate::numbers::counted;
use crate::report::shared::{fact, usable};

/// A machine, as far as a record tells it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Machine {
    /// For people. Two machines of the same name count as one.
    pub(super) name: String,
}

impl Machine {
    /// Of `facts` and `topology` as records hold them.
    pub(super) fn of(machine: &Value) -> Machine {
        let Some(model) = fact(machine, "cpu_model").or_else(|| fact(machine, "architecture"))
        else {
            return Machine::unknown();
        };
        let cpus = match usable(machine).parse() {
            Ok(cpus) => counted(cpus, "CPU"),
            Err(_) => "an unknown number of CPUs".into(),
        };
        let guest = match fact(machine, "hypervisor") {
            Some(it) if it != "false" && it != "none" && !it.is_empty() => ", a virtual machine",
            _ => "",
        };
        Machine { name: plain(&format!("{model}, {cpus}{guest}")) }
    }

    pub(super) fn unknown() -> Machine {
        Machine { name: "Machine not known".into() }
    }
}

/// The machines of all records, by name.
pub(super) fn machines(entries: &[Entry]) -> Vec<&Machine> {
    let of_records = entries.iter().filter(|entry| !matches!(entry.detail, Detail::Trace));
    let mut machines: Vec<&Machine> = of_records.map(|entry| &entry.machine).collect();
    machines.sort();
    machines.dedup();
    machines
}
