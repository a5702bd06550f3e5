//! What the slowdowns of a pair say: does it share the units of a core?

use super::{Kernel, Slowdown};

/// A slowdown beyond this is contention. Two cores of one cluster stay below 1.05; siblings whose
/// units are saturated by one thread lie between 1.2 and 2.
const SHARED: f64 = 1.10;

/// What a pair shares.
#[derive(Debug, Clone, PartialEq)]
pub enum Units {
    /// Most of the units of a core: at least two kernels slow down and none certainly does not,
    /// or three do.
    All,
    /// None: no kernel slows down, and at least two certainly do not.
    None,
    /// Some and some not, as the two cores of a module with one floating-point unit.
    Some(Vec<Kernel>),
    /// The figures are too uncertain, or nothing was measured.
    Unclear,
}

/// What these slowdowns say.
pub(super) fn units(slowdowns: &[Slowdown]) -> Units {
    let sharing: Vec<Kernel> =
        slowdowns.iter().filter(|s| s.ratio.low() > SHARED).map(|s| s.kernel).collect();
    let free = slowdowns.iter().filter(|s| s.ratio.high() < SHARED).count();
    match (sharing.len(), free) {
        (3.., _) | (2, 0) => Units::All,
        (0, 2..) => Units::None,
        (1.., 1..) => Units::Some(sharing),
        _ => Units::Unclear,
    }
}
