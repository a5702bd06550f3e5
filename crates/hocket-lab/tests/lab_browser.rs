//! The lab's page and its pictures in a real browser, at desk and phone width, in light and dark.
//!
//! Skipped with a printed reason where there is no Chromium; `HOCKET_CHROMIUM` names another one.

mod browser;
mod lab_fixture;

use browser::{Scheme, View, assert_fits, chromium, look, objections, strings};
use hocket_lab::harness::{Axis, Bar, Dumbbell, Estimate, Mark, Plot, Rank, Results, Series, Span};
use hocket_lab::pages::{Lab, html, pictures};
use hocket_lab::store::RunRecord;
use lab_fixture::{record, results};
use serde_json::json;

fn estimate(at: usize) -> Estimate {
    let value = 250_000.0 * 1.9f64.powi(at as i32);
    Estimate { value, low: Some(value * 0.8), high: Some(value * 1.3) }
}

fn names(n: usize) -> impl Iterator<Item = (usize, String)> {
    let name = |at| match at % 3 {
        2 => format!("a variant with a long name that holds several levels {at}"),
        _ => format!("variant {at}"),
    };
    (0..n).map(move |at| (at, name(at)))
}

/// One of each kind, with so many entries.
fn plots(n: usize) -> Vec<Plot> {
    let title = "A title".to_string();
    let lists: Vec<String> = names(n).map(|(_, name)| name).collect();
    let points = |by: usize| [1, 2, 8, 512].map(|at: usize| (at as f64, estimate(at % 7 + by)));
    vec![
        Plot::Bars {
            title: title.clone(),
            axis: Axis::log("passes", "1/s"),
            bars: names(n)
                .map(|(at, label)| Bar {
                    label,
                    estimate: estimate(at),
                    group: format!("{}", at / 4),
                })
                .collect(),
        },
        Plot::Dumbbell {
            title: title.clone(),
            unit: "ns".into(),
            rows: names(n)
                .map(|(at, label)| Dumbbell {
                    label,
                    then: Some(1e5 * at as f64),
                    source: "a book".into(),
                    now: (at % 4 != 3).then(|| estimate(at)),
                })
                .collect(),
        },
        Plot::Lines {
            title: title.clone(),
            x: Axis::log("threads", ""),
            y: Axis::log("time", "ns"),
            series: names(n).map(|(at, name)| Series { name, points: points(at).into() }).collect(),
            marks: [2.0, 2.0, 8.0].map(|at| Mark { at, label: format!("CPUs of {at}") }).into(),
        },
        Plot::Heat {
            title: title.clone(),
            unit: "ns".into(),
            rows: lists.clone(),
            columns: lists.clone(),
            cells: (0..n)
                .map(|a| (0..n).map(|b| (a != b).then_some((a * b) as f64)).collect())
                .collect(),
            borders: (1..n).step_by(2).collect(),
        },
        Plot::Ranks {
            title: title.clone(),
            ranks: names(n).map(|(at, name)| Rank { name, mean_rank: 1.0 + at as f64 }).collect(),
            critical_difference: 2.5,
        },
        Plot::Timeline {
            title,
            lanes: lists,
            spans: (0..n as u64)
                .map(|at| Span {
                    lane: at as usize,
                    from_ns: at * 1000,
                    to_ns: 9000 + at * 3000,
                    label: "filters".into(),
                })
                .collect(),
        },
    ]
}

fn run() -> (RunRecord, Vec<Results>) {
    let all =
        [results("aa", 30, 1.0), results("false-sharing", 30, 1.5), results("wake", 30, 1.0005)];
    (record(json!({"cpus": [0, 1]})), all.into())
}

#[test]
fn the_page_of_the_lab_is_whole_at_both_widths_and_in_both_schemes() {
    let test = "the_page_of_the_lab_is_whole_at_both_widths_and_in_both_schemes";
    let Some(browser) = chromium(test) else { return };
    let (record, all) = run();
    let mut lab = Lab::of(&record, &all);
    lab.chapters[1].plots = plots(3);
    lab.chapters[2].plots = plots(13);
    let page = html(&lab);
    let view = |name, width, scripts| View { name, page: &page, width, scripts };
    let views = [view("desk", 1280, true), view("phone", 400, true)];
    for scheme in [Scheme::Light, Scheme::Dark] {
        let (seen, console) = look(&browser, scheme, &views);
        assert!(console.is_empty(), "{console:#?}");
        for view in &views {
            let seen = &seen[view.name];
            assert_fits(seen, view.name);
            assert_eq!(seen["loaded"], 0, "{}", view.name);
            assert!(seen["pictures"].as_u64() >= Some(14), "{}: {}", view.name, seen["pictures"]);
            assert!(strings(&seen["out"]).is_empty(), "{} loses {}", view.name, seen["out"]);
            assert!(strings(&seen["covered"]).is_empty(), "{}: {}", view.name, seen["covered"]);
            assert_eq!((&seen["nameless"], &seen["unlabelled"]), (&0.into(), &0.into()));
            assert_ne!(seen["themes"]["light"], seen["themes"]["dark"]);
        }
        let chosen = if scheme == Scheme::Light { "light" } else { "dark" };
        assert_eq!(seen["desk"]["auto"], seen["desk"]["themes"][chosen]);
    }
}

#[test]
fn axe_core_has_no_objections_to_the_page_of_the_lab() {
    let test = "axe_core_has_no_objections_to_the_page_of_the_lab";
    let Some(browser) = chromium(test) else { return };
    let (record, all) = run();
    let mut lab = Lab::of(&record, &all);
    lab.chapters[1].plots = plots(3);
    let page = html(&lab);
    for (scheme, width) in [(Scheme::Light, 1280), (Scheme::Dark, 390)] {
        let objections = objections(&browser, scheme, &page, width);
        assert!(objections.is_empty(), "{width}: {objections:#?}");
    }
}

#[test]
fn picture_files_of_the_lab_hold_all_their_words() {
    let Some(browser) = chromium("picture_files_of_the_lab_hold_all_their_words") else { return };
    let (record, all) = run();
    let mut lab = Lab::of(&record, &all);
    lab.chapters[1].plots = plots(13);
    let themes = "<input type=radio id=theme-auto><input type=radio id=theme-light><input type=radio id=theme-dark>";
    let body: String = pictures(&lab).into_iter().map(|picture| picture.svg).collect();
    let page = format!("<!doctype html><body>{themes}<div style=\"width:1800px\">{body}</div>");
    let (seen, console) = look(
        &browser,
        Scheme::Light,
        &[View { name: "files", page: &page, width: 1900, scripts: false }],
    );
    let seen = &seen["files"];
    assert!(console.iter().all(|line| line.contains("sandboxed")), "{console:#?}");
    assert_eq!((&seen["error"], &seen["loaded"]), (&serde_json::Value::Null, &0.into()));
    assert!(seen["pictures"].as_u64() >= Some(8), "{seen}");
    assert!(strings(&seen["out"]).is_empty(), "lost: {}", seen["out"]);
    assert!(strings(&seen["covered"]).is_empty(), "covered: {}", seen["covered"]);
}
