//! The site of `hocket report` in a real browser, from its files.
//!
//! Skipped with a printed reason where there is no Chromium; `HOCKET_CHROMIUM` names another one.

use std::path::Path;

use serde_json::Value;

use crate::browser::{self, Scheme, View, assert_fits, look, objections, strings};
use crate::chromium::Chromium;
use crate::site::{Site, results, three_benches};

/// A desk and a phone.
const SIZES: [(u32, u32); 2] = [(1280, 900), (390, 844)];
const PAGES: [&str; 4] = ["index.html", "trends.html", "capacity.html", "compare.html"];

fn site() -> Site {
    let benches = three_benches();
    Site::of(&[&results(), benches.path()])
}

#[test]
fn pages_of_a_site_fit_every_width_and_both_themes() {
    let test = "pages_of_a_site_fit_every_width_and_both_themes";
    let Some(browser) = browser::chromium(test) else { return };
    let site = site();
    let mut pages: Vec<String> = PAGES.map(String::from).to_vec();
    let all = site.pages();
    let first = |begins: &str| all.iter().find(|name| name.starts_with(begins)).cloned();
    pages.extend(["change-to-bench", "benchmark-executors"].into_iter().filter_map(first));
    assert_eq!(pages.len(), 6);
    let texts: Vec<(String, String)> =
        pages.into_iter().map(|name| (name.clone(), site.page(&name))).collect();
    for scheme in [Scheme::Light, Scheme::Dark] {
        let views: Vec<View> = texts
            .iter()
            .flat_map(|(name, page)| {
                SIZES.map(|(width, _)| View { name, page, width, scripts: true })
            })
            .collect();
        for view in &views {
            let (seen, console) = look(&browser, scheme, std::slice::from_ref(view));
            assert!(console.is_empty(), "{}: {console:?}", view.name);
            check_view(&seen[view.name], &format!("{} at {}", view.name, view.width));
        }
        for (name, page) in &texts {
            let width = SIZES[usize::from(scheme == Scheme::Dark)].0;
            let said = objections(&browser, scheme, page, width);
            assert!(said.is_empty(), "{name}: {said:#?}");
        }
    }
}

#[track_caller]
fn check_view(seen: &Value, name: &str) {
    assert_fits(seen, name);
    assert_eq!(seen["loaded"], 0, "{name} loads something");
    assert!(strings(&seen["out"]).is_empty(), "{name}: {}", seen["out"]);
    assert_eq!(seen["unlabelled"], 0, "{name}");
    assert_ne!(seen["themes"]["light"], seen["themes"]["dark"], "{name}");
}

fn url(path: &Path) -> String {
    format!("file://{}", path.display())
}

#[test]
fn two_records_are_picked_with_keys() {
    let test = "two_records_are_picked_with_keys";
    let Some(browser) = browser::chromium(test) else { return };
    let site = site();
    let mut page = Chromium::start(&browser, Scheme::Light);
    page.resize(SIZES[0].0, SIZES[0].1);
    page.open(&url(&site.path("compare.html")));
    // The first two are ones that were judged.
    page.await_that("document.querySelectorAll('#figures tbody tr').length > 3");
    page.await_that("[...document.querySelectorAll('#figures td:last-child')].some((cell) => cell.textContent === 'differs')");
    // Another first record, chosen as the keyboard does: no verdict, and the address names it.
    page.eval("document.getElementById('first').focus()");
    page.press("ArrowRight", "ArrowRight");
    page.await_that("location.hash !== ''");
    page.await_that("document.getElementById('said').textContent.includes('There is no verdict')");
    page.await_that("[...document.querySelectorAll('#figures td:last-child')].every((cell) => cell.textContent === '–')");
    let hash = page.eval("location.hash");
    page.open("about:blank");
    page.open(&format!("{}{}", url(&site.path("compare.html")), hash.as_str().unwrap()));
    page.await_that("document.getElementById('said')?.textContent.includes('There is no verdict')");
    // From page to page.
    page.eval("document.querySelector('nav a[href=\"index.html\"]').click()");
    page.await_that("document.title.startsWith('Records')");
    assert_eq!(page.complaints(), Vec::<String>::new());
    let own = url(&site.path(""));
    let foreign = |url: &String| {
        !url.starts_with(&own) && !url.starts_with("data:") && !url.starts_with("about:")
    };
    let foreign: Vec<String> = page.requests().into_iter().filter(foreign).collect();
    assert!(foreign.is_empty(), "{foreign:?}");
}
