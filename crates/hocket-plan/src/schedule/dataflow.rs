//! `dataflow`: assigns only the units without predecessors; the rest follow their predecessors.

use super::{Step, deal};
use crate::compile::{UnitGraph, UnitId};

pub(super) fn plan(units: &UnitGraph, workers: usize) -> Vec<Vec<Step>> {
    let ready = (0..units.units().len())
        .map(|i| UnitId(i as u32))
        .filter(|id| units.units()[id.index()].predecessors.is_empty())
        .collect();
    let dealt = deal(units, ready, workers);
    dealt.into_iter().map(|list| list.into_iter().map(Step::Run).collect()).collect()
}
