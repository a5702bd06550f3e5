//! The record as one plot: channels over block lengths.

use super::record::{CapacityRecord, SizeRecord};
use super::runs::{Run, Verdict};
use super::text::{lasting, ways};
use crate::harness::{Axis, Estimate, Plot, Series};
use crate::page_parts::plots::{Drawn, drawn};
use crate::report::shared::fact;

const TITLE: &str = "Channels that hold, by block length";

/// The plot as a file of its own.
pub fn svg(record: &CapacityRecord) -> String {
    let picture =
        drawn(&plot(record)).unwrap_or_else(|| Drawn::empty("No number of channels held"));
    picture.file("hocket capacity", &caption(record))
}

fn plot(record: &CapacityRecord) -> Plot {
    let series = |name: &str, of: fn(&SizeRecord) -> Option<&Run>| {
        let point = |size| {
            let channels = of(size)?.played.channels as f64;
            Some((f64::from(size.frames), Estimate::exact(channels)))
        };
        let points: Vec<_> = record.sizes.iter().filter_map(point).collect();
        (!points.is_empty()).then(|| Series { name: name.into(), points })
    };
    let held = series("hold", |size| match size.verdict() {
        Verdict::Holds(run) => Some(run),
        _ => None,
    });
    let nearest = series("came nearest, with late blocks", |size| match size.verdict() {
        Verdict::Nearest(run) => Some(run),
        _ => None,
    });
    Plot::Lines {
        title: TITLE.into(),
        x: Axis::log("block length", "frames"),
        y: Axis::linear("channels", ""),
        series: held.into_iter().chain(nearest).collect(),
        marks: Vec::new(),
    }
}

/// Session, way, what was asked, machine and date.
fn caption(record: &CapacityRecord) -> String {
    let wanted = match record.wish.late_per_hour {
        Some(wanted) => format!("at most {wanted} late blocks an hour (95 %)"),
        None => "no late block in the run".into(),
    };
    let day = record.finished_at.get(..10).unwrap_or_default();
    let cpu = fact(&record.machine, "cpu_model").unwrap_or_else(|| "unknown".into());
    format!(
        "{} at {} Hz, {}. A number holds with {wanted}. Each was played for {} or longer. Machine: {cpu}, {day}.",
        record.session.name,
        record.session.rate_hz,
        ways(record).join("; "),
        lasting(record.wish.least_s),
    )
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::record;
    use super::*;

    #[test]
    fn the_plot_is_a_whole_picture_of_every_size() {
        let record = record(&[(64, &[(120, 0)]), (128, &[(300, 0)]), (256, &[(500, 4)])]);
        let svg = svg(&record);
        let document = roxmltree::Document::parse(&svg).unwrap();
        assert_eq!(document.root_element().attribute("data-from"), Some("hocket capacity"));
        for word in [TITLE, "hold", "came nearest", "Song at 48000 Hz", ">128<"] {
            assert!(svg.contains(word), "{word}:\n{svg}");
        }
        let Plot::Lines { series, .. } = plot(&record) else { panic!("no lines") };
        let points: Vec<Vec<(f64, f64)>> = series
            .iter()
            .map(|one| one.points.iter().map(|(x, e)| (*x, e.value)).collect())
            .collect();
        assert_eq!(points, [vec![(64.0, 120.0), (128.0, 300.0)], vec![(256.0, 500.0)]]);
    }

    #[test]
    fn where_nothing_holds_the_picture_says_so() {
        let mut record = record(&[(64, &[(8, 25)])]);
        record.sizes[0].found.runs[0].at_most_an_hour = None;
        assert!(svg(&record).contains("No number of channels held"));
    }
}
