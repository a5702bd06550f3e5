//! The inference beside what the system says.

use hocket_machine::Topology;

use super::{CpuPair, Inference, Relation};

/// A pair on which measurement and system differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disagreement {
    /// The CPUs.
    pub pair: CpuPair,
    /// Whether the system calls them siblings; the measurement says the opposite.
    pub system_says_siblings: bool,
}

/// The inference beside what the system says.
#[derive(Debug, Clone, PartialEq)]
pub struct SystemView {
    /// How many pairs both decide alike.
    pub agreed: usize,
    /// How many the measurement leaves open.
    pub unknown: usize,
    /// How many the system says nothing about: a CPU or its core is missing there.
    pub silent: usize,
    /// Where they differ.
    pub disagreements: Vec<Disagreement>,
    /// The system names no siblings at all, but some were measured: a virtual machine, or a
    /// kernel that was told wrong, hides them.
    pub hides_siblings: bool,
    /// The same in one sentence.
    pub sentence: String,
}

/// Compares pair by pair. `hypervisor`: the name of what this runs under, `None` on bare metal.
///
/// A topology that was read from a file is taken to number CPUs as the measurements do.
pub fn compare_with_system(
    inference: &Inference,
    topology: &Topology,
    hypervisor: Option<&str>,
) -> SystemView {
    let says = |pair| said(topology, pair);
    compare(inference, says, topology.has_smt(), hypervisor)
}

/// The same where only pairs are known: `says` whether the system calls two CPUs siblings, `None`
/// where it does not say.
pub fn compare_said(
    inference: &Inference,
    says: impl Fn(CpuPair) -> Option<bool>,
    hypervisor: Option<&str>,
) -> SystemView {
    let names_siblings = inference.findings.keys().any(|pair| says(*pair) == Some(true));
    compare(inference, says, names_siblings, hypervisor)
}

fn compare(
    inference: &Inference,
    says: impl Fn(CpuPair) -> Option<bool>,
    names_siblings: bool,
    hypervisor: Option<&str>,
) -> SystemView {
    let mut view = SystemView {
        agreed: 0,
        unknown: 0,
        silent: 0,
        disagreements: Vec::new(),
        hides_siblings: !names_siblings && !inference.cores.is_empty(),
        sentence: String::new(),
    };
    for (pair, finding) in &inference.findings {
        match (finding.relation, says(*pair)) {
            (Relation::Unknown, _) => view.unknown += 1,
            (_, None) => view.silent += 1,
            (found, Some(says)) if (found == Relation::Siblings) == says => view.agreed += 1,
            (_, Some(says)) => {
                view.disagreements.push(Disagreement { pair: *pair, system_says_siblings: says });
            }
        }
    }
    view.sentence = sentence(&view, inference, hypervisor);
    view
}

/// Whether the system calls them siblings; `None` where it does not say.
fn said(topology: &Topology, (a, b): CpuPair) -> Option<bool> {
    let core = |cpu| topology.seats[topology.seat_of_cpu(cpu)?].core;
    Some(core(a)? == core(b)?)
}

fn sentence(view: &SystemView, inference: &Inference, hypervisor: Option<&str>) -> String {
    let system = match hypervisor {
        Some(name) => format!("the virtual machine ({name})"),
        None => "the system".to_string(),
    };
    let open = match view.unknown {
        0 => String::new(),
        n => format!("; {n} of {} pairs remain unknown", inference.findings.len()),
    };
    if view.hides_siblings {
        let cores = inference.cores.iter().map(|core| listed(core)).collect::<Vec<_>>().join("; ");
        return format!("{system} hides siblings: measured to share a core are CPUs {cores}{open}");
    }
    match (view.disagreements.first(), view.agreed) {
        (Some(first), _) => {
            let (a, b) = first.pair;
            let says = if first.system_says_siblings { "share a core" } else { "are apart" };
            let finds = if first.system_says_siblings { "are apart" } else { "share a core" };
            let count = view.disagreements.len();
            format!(
                "{count} pairs differ: {system} says that CPUs {a} and {b} {says}, by measurement they {finds}{open}"
            )
        }
        (None, 0) => format!("nothing that {system} says could be checked{open}"),
        (None, 1) => format!("{system} and the measurement agree on the one pair{open}"),
        (None, n) => format!("{system} and the measurement agree on {n} pairs{open}"),
    }
}

fn listed(cpus: &[u32]) -> String {
    cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(" and ")
}
