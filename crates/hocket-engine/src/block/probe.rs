//! Who looks on while the parts of a unit run: nobody, or a thread's counters.

/// The number of what comes before a chain's nodes: its events, its delay lines, its sums.
pub(crate) const SUMS: u16 = 0;

/// Sees each part of a unit end. A part is a chain's sums, or one node; two nodes that run abreast are one part.
pub(crate) trait Probe {
    /// A part has run that has so many nodes of this kind.
    fn ran(&mut self, kind: u16, nodes: u32);

    /// A part panicked.
    fn lost(&mut self);
}

/// Nearly always: the compiler leaves the calls out.
pub(crate) struct Nobody;

impl Probe for Nobody {
    #[inline(always)]
    fn ran(&mut self, _kind: u16, _nodes: u32) {}

    #[inline(always)]
    fn lost(&mut self) {}
}
