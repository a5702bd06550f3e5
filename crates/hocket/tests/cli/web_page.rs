//! The page of `hocket play --web` in a real browser, served by a real run.
//!
//! Skipped with a printed reason where there is no Chromium; `HOCKET_CHROMIUM` names another one.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::browser::{self, AXE, Scheme, strings};
use crate::chromium::Chromium;
use crate::json_run::ENDLESS;
use crate::support::session;
use crate::web::Playing;

/// A desk and a phone.
const SIZES: [(u32, u32); 2] = [(1280, 900), (390, 844)];

/// Names that would be markup, and names without end.
fn hostile() -> String {
    let long = "Supercalifragilistic".repeat(6);
    let markup = "<img src=x onerror=alert(1)>";
    let track = |name: &str| format!("\n[[track]]\nname = \"{name}\"\n");
    let clip = "clip = [{ file = \"loop.flac\", loop = true }]\n";
    let outputs = format!("\n[[output]]\nname = \"{long}\"\nfrom = \"master\"\n");
    format!(
        "[session]\nname = \"{markup} {long}\"\nsample_rate_hz = 44100\n{outputs}{}{clip}{}{}",
        track(markup),
        track(&long),
        track("&amp; \\\"quoted\\\"")
    )
}

fn chromium(test: &str, scheme: Scheme) -> Option<Chromium> {
    Some(Chromium::start(&browser::chromium(test)?, scheme))
}

#[track_caller]
fn open(page: &mut Chromium, run: &Playing) {
    page.open(&run.url);
    page.await_that("document.getElementById('headline')?.textContent.startsWith('Playing')");
}

fn text(page: &mut Chromium, id: &str) -> String {
    let found = page.eval(&format!("document.getElementById('{id}').textContent"));
    found.as_str().unwrap().to_owned()
}

#[test]
fn the_page_follows_the_run_and_its_keys_steer_it() {
    let test = "the_page_follows_the_run_and_its_keys_steer_it";
    let Some(mut page) = chromium(test, Scheme::Light) else { return };
    let (_folder, file) = session(ENDLESS);
    let mut run = Playing::steered(&file);
    page.resize(SIZES[0].0, SIZES[0].1);
    open(&mut page, &run);
    assert_eq!(text(&mut page, "session"), "try");
    page.await_that("document.getElementById('said').textContent === 'this token steers'");
    // The token is no longer where others see it.
    assert_eq!(page.eval("location.hash"), "");

    // What it draws goes on.
    let drawn = page.eval(
        "new Promise((done) => {
           const seen = [], time = document.getElementById('time');
           new MutationObserver((_, it) => {
             if (seen.push(time.textContent) >= 10) { it.disconnect(); done(seen); }
           }).observe(time, { childList: true, characterData: true, subtree: true });
         })",
    );
    assert_eq!(strings(&drawn).len(), 10);
    page.await_that(
        "document.querySelectorAll('#times rect[height]:not([height=\"0\"])').length > 1",
    );
    page.await_that("document.querySelectorAll('#workers tr').length > 0");

    page.press(" ", "Space");
    run.run.await_line("stopped", |line| line["song"]["playing"] == false);
    page.await_that("document.getElementById('play').textContent === 'play'");
    page.press("]", "BracketRight");
    page.await_that("document.getElementById('bar').textContent.endsWith('.1.000')");
    page.press("0", "Digit0");
    page.await_that("document.getElementById('bar').textContent === '1.1.000'");
    page.press("ArrowRight", "ArrowRight");
    page.await_that("document.getElementById('bar').textContent === '2.1.000'");
    page.press("[", "BracketLeft");
    page.await_that("document.getElementById('bar').textContent === '1.1.000'");
    page.press("?", "Slash");
    page.await_that("document.getElementById('keys').open");

    // In a field, keys are text.
    page.eval("document.getElementById('to').focus()");
    page.press("5", "Digit5");
    page.press(":", "Semicolon");
    page.press("1", "Digit1");
    page.press("Enter", "Enter");
    page.await_that("document.getElementById('bar').textContent === '5.1.000'");
    page.eval("document.activeElement.blur()");
    page.press(" ", "Space");
    run.run.await_line("playing", |line| line["song"]["playing"] == true);

    // Faders, with the keyboard as browsers have it.
    let value = "document.querySelector('#strips input').getAttribute('aria-valuetext')";
    assert_eq!(page.eval(value), "0.0 dB");
    page.eval("document.querySelector('#strips input').focus()");
    page.press("ArrowLeft", "ArrowLeft");
    page.await_that("document.getElementById('said').textContent === 'one: -0.5 dB'");
    assert_eq!(page.eval(value), "−0.5 dB");
    let peak = |line: &Value| line["peaks"][0]["peak"].as_f64().unwrap();
    let mute = "document.querySelector('#strips button[aria-label=\"mute one\"]')";
    page.eval(&format!("{mute}.focus()"));
    page.press(" ", "Space");
    page.await_that(&format!("{mute}.getAttribute('aria-pressed') === 'true'"));
    run.run.await_line("muted", |line| peak(line) == 0.0);
    page.press("Enter", "Enter");
    page.await_that(&format!("{mute}.getAttribute('aria-pressed') === 'false'"));
    run.run.await_line("loud", |line| peak(line) > 0.0);
    // A solo of the track without a sound silences the other one.
    let solo = "document.querySelector('#strips button[aria-label=\"solo Room Mic\"]')";
    let other = "document.querySelector('#strips li').classList.contains('silent')";
    page.eval(&format!("{solo}.focus()"));
    for (key, is_on) in [(" ", true), ("Enter", false)] {
        page.press(key, if is_on { "Space" } else { key });
        page.await_that(&format!("{solo}.getAttribute('aria-pressed') === '{is_on}'"));
        page.await_that(&format!("{other} === {is_on}"));
        run.run.await_line("solo", |line| (peak(line) == 0.0) == is_on);
    }
    // A button keeps its key: the song was not stopped.
    run.run.await_line("playing", |line| line["song"]["playing"] == true);

    // The token outlives a new load of the page.
    page.eval("window.isOld = true");
    page.call("Page.reload", json!({}));
    page.await_that("!window.isOld && document.getElementById('controls')?.hidden === false");
    page.await_that("document.getElementById('headline').textContent.startsWith('Playing')");

    assert!(page.complaints().is_empty(), "{:#?}", page.complaints());
    let own = run.url.split('#').next().unwrap().to_owned();
    let is_foreign = |url: &&String| !url.starts_with(&own) && !url.starts_with("data:");
    let requests = page.requests();
    assert_eq!(requests.iter().filter(is_foreign).collect::<Vec<_>>(), Vec::<&String>::new());
    run.end();
    page.await_that("document.getElementById('headline').textContent === 'The run has ended.'");
}

/// How many updates come depends on the machine, so that is printed alone; `web.rs` shows that they are 30 a second at most.
#[test]
fn every_update_that_was_sent_arrives_in_the_browser() {
    const SECONDS: u32 = 5;
    let test = "every_update_that_was_sent_arrives_in_the_browser";
    let Some(mut page) = chromium(test, Scheme::Light) else { return };
    let (_folder, file) = session(ENDLESS);
    let run = Playing::start(&file, &[]);
    open(&mut page, &run);
    page.await_that("true");
    let before = page.messages("now").len();
    let changed = page.eval(&format!(
        "new Promise((done) => {{
           let changed = 0;
           const it = new MutationObserver(() => changed++);
           it.observe(document.getElementById('time'), {{ childList: true, characterData: true, subtree: true }});
           setTimeout(() => {{ it.disconnect(); done(changed); }}, {SECONDS}000);
         }})"
    ));
    let came = page.messages("now").len() - before;
    let changed = changed.as_u64().unwrap();
    println!("{test}: in {SECONDS} s {came} updates; the time, in tenths, changed {changed} times");
    assert!(came > 1 && changed > 1, "{came} {changed}");
    assert!(page.complaints().is_empty(), "{:#?}", page.complaints());
    let (result, _) = run.end();
    page.await_that("document.getElementById('headline').textContent === 'The run has ended.'");
    // The end came behind all of them.
    let all = page.messages("now");
    assert!(all.is_sorted(), "{all:?}");
    let sent = result["web"]["updates"].as_u64().unwrap() as usize;
    // After three seconds without an update, as on a busy machine, the page connects anew: what was on its way is lost.
    let times = page.messages("facts").len();
    assert!(
        all.len() == sent || (times > 1 && all.len() < sent),
        "{} {times}: {}",
        all.len(),
        result["web"]
    );
}

#[test]
fn without_a_token_the_page_only_watches() {
    let test = "without_a_token_the_page_only_watches";
    let Some(mut page) = chromium(test, Scheme::Light) else { return };
    let (folder, file) = session(ENDLESS);
    let take = format!("master={}", folder.path().join("take.wav").display());
    let mut run = Playing::start(&file, &["--take", &take]);
    open(&mut page, &run);
    page.await_that("!document.getElementById('read-only').hidden");
    let hidden = "['controls', 'ask'].every((id) => document.getElementById(id).hidden)";
    assert_eq!(page.eval(hidden), true);
    page.await_that("document.querySelectorAll('#strips li').length === 3");
    page.await_that("document.querySelector('#takes li').textContent.endsWith('take.wav')");
    let enabled = "document.querySelectorAll('#strips :enabled').length";
    assert_eq!(page.eval(enabled), 0);
    page.press(" ", "Space");
    run.run.await_line("playing", |line| line["song"]["playing"] == true);
    assert!(page.complaints().is_empty(), "{:#?}", page.complaints());
    let (result, _) = run.end();
    assert_eq!(result["web"]["forbidden"], 0, "it does not even ask");
}

/// The token of a file is typed in.
#[test]
fn a_wrong_token_is_refused_and_the_right_one_steers() {
    let test = "a_wrong_token_is_refused_and_the_right_one_steers";
    let Some(mut page) = chromium(test, Scheme::Light) else { return };
    let (_folder, file) = session(ENDLESS);
    let run = Playing::steered(&file);
    let (own, token) = run.url.split_once("#token=").unwrap();
    page.open(own);
    page.await_that("document.getElementById('ask')?.hidden === false");
    page.eval("document.getElementById('token').focus()");
    page.call("Input.insertText", json!({ "text": "wrong" }));
    page.press("Enter", "Enter");
    page.await_that("document.getElementById('said').textContent.includes('not the token')");
    page.call("Input.insertText", json!({ "text": token }));
    page.press("Enter", "Enter");
    page.await_that("!document.getElementById('controls').hidden");
    assert_eq!(page.eval("document.getElementById('ask').hidden"), true);
    run.end();
}

#[test]
fn names_are_text_and_nothing_scrolls_sideways() {
    let test = "names_are_text_and_nothing_scrolls_sideways";
    let Some(mut page) = chromium(test, Scheme::Dark) else { return };
    let (folder, file) = session(&hostile());
    let run = Playing::steered(&file);
    // HOCKET_SCREENSHOTS keeps them for looking at.
    let kept = std::env::var_os("HOCKET_SCREENSHOTS").map(PathBuf::from);
    let out = kept.unwrap_or_else(|| folder.path().to_path_buf());
    for (width, height) in SIZES {
        page.resize(width, height);
        open(&mut page, &run);
        page.await_that("!document.getElementById('controls').hidden");
        page.await_that("document.querySelectorAll('#strips li').length === 4");
        page.eval("document.getElementById('keys').open = true");
        let seen = page.eval(
            "(() => {
               const root = document.documentElement;
               const isWide = (it) => it.getBoundingClientRect().right > root.clientWidth + 1 && !it.closest('.vh');
               return {
                 widths: [root.scrollWidth, root.clientWidth],
                 wide: [...document.body.querySelectorAll('*')].filter(isWide).map((it) => it.outerHTML.slice(0, 80)),
                 images: document.querySelectorAll('img').length,
                 names: [...document.querySelectorAll('#strips b')].map((it) => it.textContent),
                 paper: getComputedStyle(document.body).backgroundColor,
               };
             })()",
        );
        // A desk has a scroll bar within its width.
        let widths = &seen["widths"];
        assert_eq!(widths[0], widths[1], "{width}: {seen:#}");
        assert!(widths[1].as_u64() <= Some(width.into()), "{width}: {seen:#}");
        assert!(strings(&seen["wide"]).is_empty(), "{width}: {seen:#}");
        assert_eq!(seen["images"], 0);
        assert_eq!(strings(&seen["names"])[0], "<img src=x onerror=alert(1)>");
        assert_eq!(strings(&seen["names"])[2], "&amp; \"quoted\"");
        assert_eq!(seen["paper"], "rgb(20, 23, 27)");
        let picture = page.call("Page.captureScreenshot", json!({ "captureBeyondViewport": true }));
        std::fs::write(out.join(format!("play-{width}.base64")), picture["data"].as_str().unwrap())
            .unwrap();
    }
    assert!(page.complaints().is_empty(), "{:#?}", page.complaints());
    run.end();
}

/// The page as people with a keyboard or a screen reader meet it.
#[test]
fn axe_core_has_no_objections_to_the_page() {
    let test = "axe_core_has_no_objections_to_the_page";
    let (_folder, file) = session(&hostile());
    let run = Playing::steered(&file);
    for (scheme, (width, height)) in [Scheme::Light, Scheme::Dark].into_iter().zip(SIZES) {
        let Some(mut page) = chromium(test, scheme) else { return };
        page.resize(width, height);
        open(&mut page, &run);
        page.await_that("document.querySelectorAll('#strips li').length === 4");
        page.eval("document.getElementById('keys').open = true");
        let found = objections(&mut page);
        assert!(found.is_empty(), "{width}: {found:#?}");
        // The check of that check: a field without a name is noticed.
        page.eval("document.querySelector('main').append(document.createElement('select'))");
        let found = objections(&mut page);
        assert!(found.iter().any(|line| line.starts_with("select-name")), "{found:#?}");
    }
    run.end();
}

/// What axe-core objects to by the rules of WCAG 2.2 A and AA and by its best practices, one line per rule and place.
fn objections(page: &mut Chromium) -> Vec<String> {
    page.eval(&format!("{AXE}; true"));
    let found = page.eval(
        "axe.run(document, {
           runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
           resultTypes: ['violations'],
         }).then((found) => ({
           checked: found.passes.length,
           objections: found.violations.flatMap((rule) => rule.nodes.slice(0, 3).map((node) =>
             `${rule.id}: ${node.target.join(' ')}: ${node.failureSummary}`)),
         }))",
    );
    assert!(found["checked"].as_u64() > Some(20), "axe-core did not run: {found}");
    strings(&found["objections"]).into_iter().map(String::from).collect()
}
