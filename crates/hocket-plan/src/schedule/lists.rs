//! `lists`: level by level, a barrier after each level but the last.

use super::{Step, deal};
use crate::compile::{UnitGraph, UnitId};

pub(super) fn plan(units: &UnitGraph, workers: usize) -> Vec<Vec<Step>> {
    let levels = by_level(units);
    let mut lists = vec![Vec::new(); workers];
    let last = levels.len() - 1;
    for (level, ids) in levels.into_iter().enumerate() {
        for (list, dealt) in lists.iter_mut().zip(deal(units, ids, workers)) {
            list.extend(dealt.into_iter().map(Step::Run));
            if level < last {
                list.push(Step::Barrier);
            }
        }
    }
    lists
}

fn by_level(units: &UnitGraph) -> Vec<Vec<UnitId>> {
    let levels = units.levels();
    let depth = levels.iter().max().map_or(1, |max| max + 1);
    let mut by_level = vec![Vec::new(); depth];
    for (i, level) in levels.into_iter().enumerate() {
        by_level[level].push(UnitId(i as u32));
    }
    by_level
}
