use roxmltree::{Document, Node};

use super::*;
use crate::harness::{Axis, Bar, Dumbbell, Mark, Rank, Series, Span};
use crate::numbers::OF_BLOCKS;
use crate::stats::Summary;

const LONG: &str = "a very long name <of> a \"variant\" & more \u{7} that goes on and on beyond every column there is, again and again";

fn odd() -> [f64; 9] {
    [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -5.0, 1e-300, 1e300, f64::MAX, 3.0]
}

fn spread(value: f64) -> Estimate {
    Estimate { value, low: Some(value * 0.9), high: Some(value * 1.2) }
}

/// Each kind with so many entries whose figures are `value(at)`.
fn plots(n: usize, value: &dyn Fn(usize) -> f64) -> Vec<Plot> {
    let name = |at: usize| if at % 3 == 1 { format!("{at} {LONG}") } else { format!("v{at}") };
    let title = LONG.to_string();
    let mut plots = Vec::new();
    for axis in [Axis::linear("time", "ns"), Axis::log(LONG, "ns"), Axis::log("", "")] {
        let bars = (0..n).map(|at| Bar {
            label: name(at),
            estimate: spread(value(at)),
            group: format!("g{}", at / 4),
        });
        plots.push(Plot::Bars { title: title.clone(), axis: axis.clone(), bars: bars.collect() });
        let points =
            |by: f64| (0..n).map(|at| (value(at).abs() + 1.0, spread(value(at) * by))).collect();
        let series = (0..n.min(20))
            .map(|at| Series { name: name(at), points: points(at as f64 + 1.0) })
            .collect();
        let marks = (0..n.min(9)).map(|at| Mark { at: value(at), label: name(at) }).collect();
        plots.push(Plot::Lines { title: title.clone(), x: axis.clone(), y: axis, series, marks });
    }
    let pair = |at: usize| Dumbbell {
        label: name(at),
        then: (at % 4 != 2).then(|| value(at)),
        source: LONG.into(),
        now: (at % 5 != 3).then(|| spread(value(at) / 7.0)),
    };
    plots.push(Plot::Dumbbell {
        title: title.clone(),
        unit: "us".into(),
        rows: (0..n).map(pair).collect(),
    });
    let cells = (0..n)
        .map(|row| (0..n).map(|column| (row != column).then(|| value(row + column))).collect())
        .collect();
    let names: Vec<String> =
        (0..n).map(|at| if n > 20 { at.to_string() } else { name(at) }).collect();
    let borders = (1..n).step_by(2).collect();
    plots.push(Plot::Heat {
        title: title.clone(),
        unit: "ns".into(),
        rows: names.clone(),
        columns: names,
        cells,
        borders,
    });
    let ranks = (0..n).map(|at| Rank { name: name(at), mean_rank: value(at) }).collect();
    plots.push(Plot::Ranks { title: title.clone(), ranks, critical_difference: value(n) });
    let span = |at: usize| Span {
        lane: at % (n + 1),
        from_ns: at as u64 * 1000,
        to_ns: value(at) as u64,
        label: name(at),
    };
    plots.push(Plot::Timeline {
        title,
        lanes: (0..n).map(name).collect(),
        spans: (0..n).map(span).collect(),
    });
    plots
}

/// Figures, legends and tables of a plot, once as a page has them.
fn drawing(plot: &Plot) -> Option<String> {
    let figure = drawn(plot)?.figure(&html! { "source" }).into_string();
    assert!(!figure.contains("NaN") && !figure.contains("inf\""), "{figure}");
    Some(figure)
}

/// Left and right end of a text that lies, by the table of letter widths.
fn ends(text: &Node<'_, '_>) -> (f64, f64) {
    let number =
        |name: &str| text.attribute(name).and_then(|x| x.parse::<f64>().ok()).expect("a place");
    let (x, width) = (number("x"), ink::width(text.text().unwrap_or_default()));
    match text.attribute("text-anchor") {
        Some("middle") => (x - width / 2.0, x + width / 2.0),
        Some("end") => (x - width, x),
        _ => (x, x + width),
    }
}

/// Every picture is well-formed, says what it is, and no text in it leaves it or covers another one.
fn check(figure: &str) {
    let document = Document::parse(figure).unwrap_or_else(|error| panic!("{error}: {figure}"));
    for svg in document
        .descendants()
        .filter(|node| node.has_tag_name("svg") || node.tag_name().name() == "svg")
    {
        if svg.attribute("role") != Some("img") {
            continue;
        }
        let named = |name: &str| svg.children().any(|child| child.tag_name().name() == name);
        assert!(named("title") && named("desc"));
        let view: Vec<f64> =
            svg.attribute("viewBox").unwrap().split(' ').map(|n| n.parse().unwrap()).collect();
        let lying: Vec<_> = svg
            .descendants()
            .filter(|node| node.tag_name().name() == "text" && node.attribute("x").is_some())
            .collect();
        let boxes: Vec<(f64, f64, f64, &str)> = lying
            .iter()
            .map(|text| {
                let (left, right) = ends(text);
                (
                    left,
                    right,
                    text.attribute("y").unwrap().parse().unwrap(),
                    text.text().unwrap_or_default(),
                )
            })
            .collect();
        for (left, right, y, words) in &boxes {
            assert!(
                *left >= -1.0 && *right <= view[2] + 1.0,
                "{words:?} {left} to {right} of {}",
                view[2]
            );
            assert!(*y >= 8.0 && *y <= view[3], "{words:?} at {y} of {}", view[3]);
        }
        for (at, a) in boxes.iter().enumerate() {
            let over = |b: &&(f64, f64, f64, &str)| {
                (a.2 - b.2).abs() < 9.0 && a.0 < b.1 - 0.5 && b.0 < a.1 - 0.5
            };
            if let Some(b) = boxes[at + 1..].iter().find(over) {
                panic!(
                    "{:?} covers {:?} in {}",
                    a,
                    b,
                    svg.attribute("aria-label").unwrap_or_default()
                );
            }
        }
    }
}

#[test]
fn every_kind_is_drawn_well_whatever_its_figures_are() {
    for n in [1, 2, 7, 24] {
        for plot in plots(n, &|at| 10.0 + 37.0 * at as f64) {
            check(&drawing(&plot).expect("there is something to draw"));
        }
        for plot in plots(n, &|at| odd()[at % odd().len()]) {
            drawing(&plot).iter().for_each(|figure| check(figure));
        }
        for shift in 0..odd().len() {
            let same = |_| odd()[shift];
            plots(n.min(2), &same).iter().filter_map(drawing).for_each(|figure| check(&figure));
        }
    }
}

#[test]
fn distributions_are_drawn_well_whatever_their_values_are() {
    assert!(ridges("", &[], None).is_none());
    let usual: Vec<f64> = (1..900).map(|n| 4e5 + 1e3 * f64::from(n)).collect();
    let odd = [[0.0, 0.0], [f64::MIN, f64::MAX], [1e3, 1e6], [-5.0, f64::INFINITY]];
    for values in odd.map(Vec::from).into_iter().chain([vec![1e5; 400], usual]) {
        let summary = Summary::of_sorted(&values).unwrap();
        let ridge = |label: &str, faint| Ridge {
            label: label.into(),
            note: "3 of 900 late".into(),
            sorted: &values,
            summary,
            faint,
        };
        let all = [ridge("a", false), ridge(LONG, false), ridge("loop", true)];
        for deadline in [None, Some(2e4), Some(1.3e6), Some(1e12)] {
            let figure = ridges(LONG, &all, deadline).unwrap().figure(&html! { "source" });
            assert!(!figure.0.contains("NaN") && figure.0.contains("3 of 900 late"));
            check(&figure.0);
        }
    }
}

#[test]
fn a_lane_with_much_on_it_is_drawn_longer() {
    let timeline = |n: usize| {
        let stretch = |at: usize| Stretch {
            lane: at % 2,
            from: at as f64 * 1e4 - 2e4,
            to: at as f64 * 1e4 - 1e4,
            label: format!("kick {at}"),
            class: "fill s0".into(),
        };
        let stretches = (0..n).map(stretch).collect();
        let lanes = vec!["worker 0 (leader), CPU 0".into(), LONG.into()];
        let deadline = Some(n as f64 * 1e4);
        let (title, legend, unit) = ("a block".into(), Vec::new(), OF_BLOCKS);
        Timeline { title, lanes, stretches, deadline, unit, legend }
    };
    let figure = |n| timeline(n).drawn().figure(&html! { "source" }).into_string();
    let (few, many) = (figure(20), figure(300));
    [&few, &many].into_iter().for_each(|figure| check(figure));
    assert!(few.contains("viewBox=\"0 0 920 ") && many.contains("viewBox=\"0 0 4600 "));
    assert!(many.contains("class=\"scroll\" tabindex=\"0\""), "{many}");
}

#[test]
fn plots_without_anything_are_left_out() {
    assert!(plots(0, &|_| 1.0).iter().all(|plot| drawn(plot).is_none()));
}

#[test]
fn a_map_of_128_cpus_is_whole_and_of_a_size_that_loads() {
    let names: Vec<String> = (0..128).map(|cpu| format!("CPU {cpu}")).collect();
    let latency = |a: usize, b: usize| {
        Some(if a == b {
            return None;
        } else if a / 2 == b / 2 {
            9.0
        } else {
            60.0 + (a ^ b) as f64
        })
    };
    let cells = (0..128).map(|a| (0..128).map(|b| latency(a, b)).collect()).collect();
    let borders = (1..127).step_by(2).collect();
    let plot = Plot::Heat {
        title: "hand-over".into(),
        unit: "ns".into(),
        rows: names.clone(),
        columns: names,
        cells,
        borders,
    };
    let figure = drawing(&plot).unwrap();
    check(&figure);
    assert_eq!(
        figure.matches("class=\"frame\"").count(),
        64 + 1,
        "a frame a core and one in the legend"
    );
    assert!(figure.contains("CPU 0, CPU 1: 9.00 ns"));
    assert!(figure.len() < 4_000_000, "{} bytes", figure.len());
}

#[test]
fn lines_with_one_place_say_which_in_their_title() {
    let at = |place: f64, x: Axis| {
        let series = vec![Series { name: "one".into(), points: vec![(place, spread(3.0))] }];
        let y = Axis::linear("channels", "");
        let lines = Plot::Lines { title: "it".into(), x, y, series, marks: Vec::new() };
        drawn(&lines).unwrap().title().to_owned()
    };
    assert_eq!(at(128.0, Axis::log("block length", "frames")), "it: block length 128 frames");
    assert_eq!(at(2.0, Axis::linear("threads", "")), "it: 2 threads");
    assert_eq!(at(5.0, Axis::log("pause", "us")), "it: pause 5 µs");
}

#[test]
fn names_from_records_stay_text() {
    let bars = vec![Bar {
        label: "</svg><script>alert(1)</script>".into(),
        estimate: spread(1.0),
        group: "<b>".into(),
    }];
    let figure =
        drawing(&Plot::Bars { title: "<i>".into(), axis: Axis::linear("<u>", "<s>"), bars })
            .unwrap();
    assert!(
        ["<script", "<b>", "<i>", "<u>", "<s>"].iter().all(|tag| !figure.contains(tag)),
        "{figure}"
    );
}
