//! The quick form, outside a run of the lab: what a machine says of itself beside what is measured.

use std::time::Duration;

use super::{Pairs, hypervisor, measured_cpus, pairs::pairs_of, variants};
use crate::harness::{Design, Host, NotMeasurable, Rounds, Sentence, Size};
use crate::siblings::{Inference, SystemView, compare_with_system, infer};

/// What was measured, and how it compares with what the system says.
#[derive(Debug, Clone, PartialEq)]
pub struct Verification {
    /// Usable CPUs that were left out, because there are too many for a quick look.
    pub left_out: usize,
    /// Who shares a core.
    pub inference: Inference,
    /// The comparison.
    pub system: SystemView,
    /// All of it in sentences, the most important first.
    pub sentences: Vec<Sentence>,
}

/// Measures who shares a core, as the experiment `siblings` does in its quick form but once, for about
/// `limit` at most; what is not measured by then is unknown. Thread: control; others come and go, pinned
/// to the CPUs of this process.
///
/// # Errors
/// Where there are no two usable CPUs or a thread cannot be pinned to one.
pub fn verify(host: &Host, limit: Duration) -> Result<Verification, NotMeasurable> {
    let cpus = measured_cpus::cpus(host, 32);
    if cpus.len() < 2 {
        return Err(NotMeasurable::new("a pair needs two CPUs, and this process may use one"));
    }
    let design = Design::facts(variants(host, &cpus), Rounds::few(Size::Quick));
    let measured = Pairs::new(pairs_of(&design), Size::Quick).and_then(|pairs| pairs.all(limit));
    let known = measured.map_err(NotMeasurable::new)?;
    let inference = infer(&known);
    let system = compare_with_system(&inference, &host.topology, hypervisor().as_deref());
    let evidence = super::Evidence { cpus: cpus.clone(), known, inference, system };
    Ok(Verification {
        left_out: host.cpus.len() - cpus.len(),
        sentences: super::told::sentences(&evidence),
        inference: evidence.inference,
        system: evidence.system,
    })
}
