//! What each strip costs: measured where a cost table knows it, else estimated.

use std::path::Path;

use hocket_plan::graph::EffectFacts;
use hocket_plan::split::expected_costs;
use hocket_plan::{ChainCost, CostTable, Session};
use hocket_session::read_costs;

use crate::failure::Failure;
use crate::output::note;

/// In the order of the session's strips. Estimates beside measured costs are scaled to them.
pub(super) fn of_strips(
    path: Option<&Path>,
    session: &Session,
    facts: &dyn EffectFacts,
) -> Result<Vec<f64>, Failure> {
    let expected = expected_costs(session, facts).map_err(Failure::bad_input)?;
    let Some(path) = path else { return Ok(expected) };
    let table = read_costs(path).map_err(Failure::bad_input)?;
    let measured = measured(&table, session);
    let known = measured.iter().flatten().count();
    let (name, all) = (path.display(), measured.len());
    if known == 0 {
        return Err(Failure::bad_input(format!(
            "--costs {name}: this table knows none of the session's {all} strips; measure them with \
             `hocket play SESSION --costs FILE`, or leave --costs out"
        )));
    }
    note(format_args!(
        "{name}: the costs of {known} of {all} strips, measured on {}",
        table.machine
    ));
    let both = || measured.iter().zip(&expected).filter_map(|(ns, flops)| Some(((*ns)?, flops)));
    let (ns, flops) = both().fold((0.0, 0.0), |sum, (ns, flops)| (sum.0 + ns, sum.1 + flops));
    let scale = if flops > 0.0 { ns / flops } else { 1.0 };
    let cost = |(ns, flops): (&Option<f64>, &f64)| ns.unwrap_or(flops * scale);
    Ok(measured.iter().zip(&expected).map(cost).collect())
}

/// Nanoseconds for each strip on the fastest kind of seat. A chain begins with the name of its strip.
fn measured(table: &CostTable, session: &Session) -> Vec<Option<f64>> {
    let ids = session.strip_ids();
    let names: Vec<&str> = ids.iter().map(|id| session.strip(*id).name.as_str()).collect();
    let mut costs = vec![None; ids.len()];
    for row in table.rows.iter().filter(|row| row.kind == 0) {
        let is_of =
            |name: &&str| row.chain.strip_prefix(*name).is_some_and(|it| it.starts_with(':'));
        let own = names.iter().enumerate().filter(|(_, name)| is_of(name));
        // One strip may be called as another one and a colon.
        let longest = own.max_by_key(|(_, name)| name.len());
        if let (Some((place, _)), Some(ns)) = (longest, time(row)) {
            *costs[place].get_or_insert(0.0) += ns;
        }
    }
    costs
}

fn time(row: &ChainCost) -> Option<f64> {
    row.alone_ns.or(row.shared_ns)
}
