//! Pages of runs that are ordinary, empty, odd and hostile.

mod lab_fixture;

use hocket_lab::harness::{Plot, Results};
use hocket_lab::pages::{Lab, html, pictures, short, text};
use hocket_lab::store::RunRecord;
use lab_fixture::{record, results};
use serde_json::json;

fn not_measurable(id: &str) -> Results {
    let mut results = results(id, 0, 1.0);
    results.run.design = None;
    results.run.not_measurable = Some("the machine has one CPU".into());
    results
}

/// Page and text, after checking what must hold of every one.
fn both(record: &RunRecord, all: &[Results]) -> (String, String) {
    let lab = Lab::of(record, all);
    let (page, text) = (html(&lab), text(&lab));
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"));
    assert!(!page.contains("<script") && !page.contains("http-equiv=\"refresh\""));
    assert!(!page.contains("src=") && !page.contains("url("), "it would load something");
    assert!(!page.contains('\u{1b}') && !text.contains('\u{1b}'));
    assert!(!page.contains("=\"NaN") && !page.contains("NaN ") && text.ends_with('\n'));
    (page, text)
}

#[test]
fn a_difference_stands_first_and_what_is_below_the_floor_is_grey() {
    let record = record(json!({}));
    let all =
        [results("aa", 60, 1.0), results("false-sharing", 60, 1.5), results("wake", 60, 1.0005)];
    let (page, text) = both(&record, &all);
    let opening = page
        .find("The smallest difference that this machine can show today")
        .expect("it opens with it");
    let verdicts = page.find("<h2>Verdicts</h2>").expect("a summary");
    assert!(opening < verdicts && verdicts < page.find("Clock").expect("a clock"));
    assert!(page.contains("+50.0 %") && text.contains("+50.0 %"));
    assert!(page.contains("class=\"not-shown\"") && page.contains("no difference shown"));
    assert!(page.contains("run 3 (1a2b3c4d) of 2026-05-01"), "every figure names its record");
    assert!(text.contains("steal"), "{text}");
}

#[test]
fn then_stands_beside_now_with_its_source() {
    let record = record(json!({}));
    let all = [results("false-sharing", 60, 2.0)];
    let (page, text) = both(&record, &all);
    for told in [&page, &text] {
        assert!(
            told.contains("a book, page 7")
                && told.contains("1.10 µs")
                && told.contains("a processor of 2002")
        );
    }
    assert!(page.contains("1.10 µs → 103 ns"), "in one unit");
}

#[test]
fn what_cannot_be_measured_is_told_with_its_reason() {
    let record = record(json!({}));
    let (page, text) = both(&record, &[not_measurable("false-sharing")]);
    assert!(page.contains("the machine has one CPU") && text.contains("the machine has one CPU"));
}

/// Every round failed, and a warm-up came first that did not.
fn failed_throughout(id: &str, cause: &str) -> Results {
    let mut results = results(id, 1, 1.0);
    results.rows.iter_mut().for_each(|row| row.warm_up = true);
    results.run.faults = vec![cause.into(), "another, later".into()];
    results
}

#[test]
fn rounds_that_all_failed_are_told_with_the_cause_and_blamed_on_nobody_else() {
    let record = record(json!({}));
    let cause = "process start 0: it died of signal 9";
    let failed = || failed_throughout("wake", cause);
    let mut aa = results("aa", 60, 1.0);
    aa.rows.iter_mut().for_each(|row| row.flags = vec!["foreign".into()]);
    let others = ["false-sharing", "locks", "barrier"].map(|id| results(id, 60, 1.5));
    for (all, has_figures) in [
        (vec![aa.clone(), failed()], false),
        (vec![failed_throughout("aa", cause)], false),
        (vec![failed_throughout("aa", cause), failed()], false),
        ([vec![aa.clone(), failed()], others.to_vec()].concat(), true),
    ] {
        let lab = Lab::of(&record, &all);
        assert_eq!(lab.has_figures(), has_figures);
        let told = short(&lab).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(cause) && told.contains("very round"), "{told}");
        assert!(!told.contains("too few rounds") && !told.contains("enough rounds"), "{told}");
        assert_eq!(told.contains("Other programs"), has_figures, "{told}");
        both(&record, &all);
    }
    // One variant alone fails, each time.
    let mut partly = results("wake", 60, 1.5);
    partly.rows.retain(|row| row.variant == "a");
    partly.run.faults = vec![cause.into()];
    let all = [aa.clone(), partly];
    let told = short(&Lab::of(&record, &all)).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        told.contains("A turn failed in every round of wake") && told.contains(cause),
        "{told}"
    );
    assert!(!told.contains("too few rounds") && !told.contains("Other programs"), "{told}");
    let ordinary = [aa, not_measurable("wake")];
    let lab = Lab::of(&record, &ordinary);
    assert!(!lab.has_figures() && lab.failed().next().is_none(), "it has its reason");
}

#[test]
fn runs_with_little_or_odd_figures_are_reported() {
    let odd = [json!(null), json!({"clock": 7, "grants": {}, "machine": [], "limits": "x"})];
    for record in odd.map(record) {
        both(&record, &[]);
        for (rounds, by) in [(0, 1.0), (1, 1.0), (20, 0.0), (20, f64::NAN), (20, -1.0), (20, 1e300)]
        {
            both(&record, &[results("aa", rounds, by), results("no such experiment", rounds, by)]);
        }
    }
}

#[test]
fn every_plot_of_a_chapter_is_on_the_page_with_its_table() {
    let record = record(json!({}));
    let all = [results("false-sharing", 12, 1.5)];
    let mut lab = Lab::of(&record, &all);
    let names = vec!["CPU 0".to_string(), "CPU 1".into()];
    let cells = vec![vec![None, Some(42.0)], vec![Some(43.0), None]];
    let heat = Plot::Heat {
        title: "hand-over".into(),
        unit: "ns".into(),
        rows: names.clone(),
        columns: names,
        cells,
        borders: vec![],
    };
    lab.chapters[0].plots = vec![heat];
    assert!(html(&lab).contains("CPU 0, CPU 1: 42.0 ns") && text(&lab).contains("42.00"));
}

#[test]
fn every_plot_is_a_file_that_needs_no_other() {
    let record = record(json!({"cpus": [0, 1]}));
    let all = [results("aa", 12, 1.0), results("false-sharing", 12, 1.5), results("../x", 12, 1.5)];
    let files = pictures(&Lab::of(&record, &all));
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    let wanted = ["aa.svg", "aa-2.svg", "false-sharing.svg", "false-sharing-2.svg"];
    assert!(wanted.iter().all(|name| names.contains(name)), "{names:?}");
    assert!(names.iter().all(|name| !name.contains('/') && !name.contains("..")), "{names:?}");
    assert_eq!(names.iter().collect::<std::collections::BTreeSet<_>>().len(), names.len());
    for file in &files {
        let svg = &file.svg;
        assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"), "{}", file.name);
        let needs = ["var(", "url(", "href", "<script", "@import", "\u{1b}"];
        assert!(needs.iter().all(|needed| !svg.contains(needed)), "{}", file.name);
        let mark = "data-from=\"hocket lab\"";
        let says = ["run 3 (1a2b3c4d) of 2026-05-01", "2 CPUs", "<desc>", "<title>", mark];
        assert!(says.iter().all(|said| svg.contains(said)), "{}: {svg}", file.name);
        roxmltree::Document::parse(svg).expect("well-formed");
    }
}

#[test]
fn the_title_says_what_was_found_and_each_section_leads_back() {
    let record = record(json!({}));
    let all = [results("aa", 30, 1.0), results("false-sharing", 30, 1.5), results("wake", 30, 1.2)];
    let lab = Lab::of(&record, &all);
    let page = html(&lab);
    assert!(lab.title().starts_with("2 experiments: "), "{}", lab.title());
    assert!(page.contains(&format!("<title>{} – hocket lab</title>", lab.title())));
    assert!(page.contains(&format!("<h1>{}</h1>", lab.title())));
    let (_, sections) = page.split_once("id=\"ground\"").expect("what the figures rest on");
    let backs = sections.matches("<a href=\"#verdicts\">Back to the verdicts</a>").count();
    let ends = sections.matches("<h2>").count() + sections.matches("<article").count();
    assert!(backs == ends && ends > 3, "{backs} {ends}");
    let single = [results("aa", 30, 1.0), results("false-sharing", 30, 1.5)];
    let lab = Lab::of(&record, &single);
    assert!(lab.title().contains("+50.0 %"), "{}", lab.title());
}

#[test]
fn names_between_backticks_are_marked() {
    let record = record(json!({}));
    let (page, text) = both(&record, &[results("barrier", 30, 1.2)]);
    assert!(page.contains("<code>hybrid</code>") && !page.contains("`hybrid`"), "{page}");
    assert!(page.contains("<code>futex</code>") && text.contains("barrier"), "{text}");
}
