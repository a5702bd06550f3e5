//! The pictures of all blocks.

use super::analysis::{Analysis, Judgement, Measured};
use crate::harness::Estimate;
use crate::numbers::of;
use crate::page_parts::plots::{self, Drawn, Firm, Ratio, Ridge};
use crate::stats::Summary;

/// When the outputs were ready, and below them how late the bare wake-up loop was: both count from the planned start,
/// so they share the axis and the deadline.
pub(super) fn ready(analysis: &Analysis) -> Option<Drawn> {
    let engine = analysis.measured().map(|(row, m)| ridge(&row.label, m, &m.ready_sorted, m.ready));
    let bare = analysis.wake.as_ref().map(|wake| Ridge {
        label: "bare wake-up loop".into(),
        note: format!("{} late", of(wake.late)),
        sorted: &wake.sorted,
        summary: wake.lateness,
        faint: true,
    });
    let ridges: Vec<Ridge> = engine.chain(bare).collect();
    let title = match (ridges.first().is_some_and(|it| it.faint), analysis.wake.is_some()) {
        (true, _) => "Wake-up lateness after the planned time",
        (false, true) => "Output ready, and the bare loop awake, after the block's planned start",
        (false, false) => "Output ready after the block's planned start",
    };
    plots::ridges(title, &ridges, Some(analysis.period_ns))
}

/// How long the processing took, which the deadline would misjudge by the wake-up.
pub(super) fn took(analysis: &Analysis) -> Option<Drawn> {
    let ridges = analysis.measured().map(|(row, m)| ridge(&row.label, m, &m.took_sorted, m.took));
    let title = "Block time from the leader's awakening to the complete output";
    plots::ridges(title, &ridges.collect::<Vec<_>>(), None)
}

fn ridge<'a>(label: &str, m: &Measured, sorted: &'a [f64], summary: Summary) -> Ridge<'a> {
    let note = format!("{} late", of(m.late));
    Ridge { label: label.into(), note, sorted, summary, faint: false }
}

/// Median block times against the first variant's.
pub(super) fn changes(analysis: &Analysis) -> Option<Drawn> {
    let ratios = analysis.measured().filter_map(|(row, m)| {
        let typical = m.typical?;
        let ends = typical.interval().map(|it| (it.low, it.high)).unzip();
        Some(Ratio {
            label: row.label.clone(),
            name: row.label.clone(),
            group: String::new(),
            ratio: Estimate { value: typical.comparison.ratio, low: ends.0, high: ends.1 },
            floor: analysis.floor.map(f64::exp_m1),
            firm: match analysis.judgement(row).is_some_and(Judgement::is_shown) {
                true => Firm::Shown,
                false => Firm::No,
            },
        })
    });
    let ratios: Vec<Ratio> = ratios.collect();
    (!ratios.is_empty())
        .then(|| plots::forest("Median block times against the first variant's", &ratios))
}
