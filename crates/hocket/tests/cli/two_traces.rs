//! `hocket trace --from`: traces that Hocket wrote before, one by itself, and two on one page.
//!
//! In a browser it is skipped with a printed reason where there is no Chromium; `HOCKET_CHROMIUM` names another one.

use std::path::Path;

use crate::browser::{self, Scheme};
use crate::chromium::Chromium;
use crate::support::{Ran, check_refused, files, run};
use crate::trace::hopeless;

/// A cycle that is late, with a name that would be an element.
const PIPEWIRE: &str = r#"[{ "type": "clock", "flags": 0, "id": 52, "rate": "1/48000", "duration": 64 },
{ "type": "driver", "id": 52, "name": "alsa_output", "prev": 0, "signal": 5000000000, "awake": 5000010000, "finish": 5001400000, "status": "finished" },
{ "type": "follower", "id": 80, "name": "<b>io</b>", "prev": 0, "signal": 5000012000, "awake": 5000030000, "finish": 5001390000, "status": "finished" },
{ } ]
"#;

/// A folder with a trace of a session whose blocks are late: a period is 5 µs.
struct Traces {
    folder: tempfile::TempDir,
}

impl Traces {
    fn new() -> Traces {
        let (folder, session) = hopeless();
        let traces = Traces { folder };
        std::fs::write(traces.at("pw.json"), PIPEWIRE).unwrap();
        let played = ["--blocks", "20", "--frames", "1", "--rate", "192000", "-o"];
        let ran = run(&[&["trace", &session], &played[..], &[&traces.at("a.json")]].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        traces
    }

    fn at(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.at(name)).unwrap()
    }

    fn from(&self, from: &[&str], to: &str) -> Ran {
        let from: Vec<String> = from.iter().map(|name| self.at(name)).collect();
        let mut args = vec!["trace"];
        from.iter().for_each(|file| args.extend(["--from", file]));
        let to = self.at(to);
        args.extend(["-o", &to]);
        run(&args)
    }
}

/// With every span, time, miss and cause: as trace events it has the same bytes.
#[test]
fn a_trace_is_read_again_as_it_was() {
    let traces = Traces::new();
    let ran = traces.from(&["a.json"], "again.json");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(traces.read("again.json"), traces.read("a.json"));
    assert!(
        ran.out.starts_with("a.json: ") && ran.out.contains("kept: 20 blocks, "),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("misses: ") && ran.out.contains(" late block"), "{}", ran.out);
    for name in ["again.txt", "again.html", "again.pftrace"] {
        assert_eq!(traces.from(&["a.json"], name).code, Some(0));
    }
    assert_eq!(
        traces.read("again.txt").lines().filter(|line| line.starts_with("block ")).count(),
        20
    );
}

#[test]
fn two_files_stand_on_one_page() {
    let traces = Traces::new();
    let ran = traces.from(&["a.json", "pw.json"], "both.html");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.out.matches("\nmisses: ").count(), 2, "{}", ran.out);
    let page = traces.read("both.html");
    for words in
        ["Timeline A: a.json</h2>", "Timeline B: pw.json</h2>", "A and B are from two files."]
    {
        assert!(page.contains(words), "'{words}' is missing");
    }
    assert!(!page.contains("<b>io"));
}

#[test]
fn files_that_do_not_fit_on_a_page_are_refused() {
    let traces = Traces::new();
    let write = |name: &str, text: &str| std::fs::write(traces.at(name), text).unwrap();
    let whole = traces.read("a.json");
    write("cut.json", &whole[..whole.char_indices().nth(whole.chars().count() / 2).unwrap().0]);
    write("newer.json", &whole.replacen("hocket-trace/1", "hocket-trace/7", 1));
    write(
        "foreign.json",
        "{\"traceEvents\":[\n{\"name\":\"a\",\"ph\":\"X\",\"ts\":0,\"dur\":1}\n]}\n",
    );
    write("edited.json", &whole.replacen("\"ph\":\"X\"", "\"ph\":7", 1));
    write("perf.txt", crate::from_text::PERF);
    std::fs::copy(traces.at("a.json"), traces.at("same.json")).unwrap();
    let before = files(traces.folder.path());
    let with = |from: &[&str], to: &str, words: &[&str]| {
        let ran = traces.from(from, to);
        assert_eq!(ran.code, Some(2), "{from:?}: {}", ran.err);
        assert_eq!(ran.err.lines().count(), 1, "one clear error: {}", ran.err);
        words
            .iter()
            .for_each(|word| assert!(ran.err.contains(word), "'{word}' is missing: {}", ran.err));
        assert!(ran.out.is_empty(), "{}", ran.out);
    };
    with(&["a.json", "cut.json"], "x.html", &["cut.json: the trace is cut", "copy it again"]);
    with(
        &["newer.json", "a.json"],
        "x.html",
        &["newer.json: ", "hocket-trace/7", "hocket-trace/1", "version"],
    );
    with(
        &["a.json", "foreign.json"],
        "x.html",
        &["foreign.json: no event of the scheduler (sched_switch) is in its 3 lines"],
    );
    with(
        &["edited.json", "a.json"],
        "x.html",
        &["edited.json: line ", "no event", "as `hocket trace` wrote it"],
    );
    with(&["a.json", "gone.json"], "x.html", &["gone.json"]);
    with(&["a.json", "perf.txt"], "x.html", &["perf.txt: ", "a page to itself"]);
    with(&["a.json", "a.json"], "x.html", &["given twice", "differ"]);
    with(&["a.json", "same.json"], "x.json", &["only a page shows two traces", ".html"]);
    with(&["a.json", "same.json", "pw.json"], "x.html", &["3 times", "two"]);
    with(&["a.json"], "a.json", &["a.json"]);
    let (a, x) = (traces.at("a.json"), traces.at("x.html"));
    check_refused(
        &["trace", "--from", &a, "--threads", "b", "-o", &x],
        2,
        &["a.json", "--threads"],
    );
    check_refused(&["trace", &a, "--from", &a, "-o", &x], 2, &["--from"]);
    assert_eq!(files(traces.folder.path()), before, "nothing was written");
}

/// What both timelines show, and where their chosen blocks begin on the screen.
const SEEN: &str = "[...document.querySelectorAll('.stage')].map((stage) => ({
    from: +stage.querySelector('.plot').dataset.from, to: +stage.querySelector('.plot').dataset.to,
    says: stage.querySelector('.readout').textContent, found: stage.querySelector('.found').textContent }))";
/// How many values the pixels of each lane chart have. Asked last, because the browser complains if it is asked twice.
const PAINTED: &str = "[...document.querySelectorAll('.lanes-canvas')].map((it) =>
    new Set(it.getContext('2d').getImageData(0, 0, 400, 120).data).size)";

#[test]
fn the_page_of_two_files_works_in_a_browser() {
    let Some(browser) = browser::chromium("the_page_of_two_files_works_in_a_browser") else {
        return;
    };
    let traces = Traces::new();
    assert_eq!(traces.from(&["a.json", "pw.json"], "both.html").code, Some(0));
    for (scheme, width) in [(Scheme::Light, 1280), (Scheme::Dark, 390)] {
        let mut page = Chromium::start(&browser, scheme);
        page.resize(width, 900);
        open(&mut page, &traces.at("both.html"));
        let wide = page.eval("document.documentElement.scrollWidth");
        assert!(wide.as_u64() <= Some(width.into()), "{wide} at {width}");
        let seen = page.eval(SEEN);
        let number = |which: usize, key: &str| seen[which][key].as_f64().unwrap();
        let length = |which: usize| number(which, "to") - number(which, "from");
        assert!((length(0) - length(1)).abs() < 3.0, "the same scale: {seen}");
        for (which, why) in [(0, "Block "), (1, "Block 0: awake after 10.0 µs, late by 66.7 µs")]
        {
            let says = seen[which]["says"].as_str().unwrap();
            assert!(says.starts_with(why) && says.contains("late by"), "{says}");
        }
        // A zoom in the first is one of both.
        page.eval("document.querySelector('.plot').dispatchEvent(new KeyboardEvent('keydown', { key: '+', bubbles: true }))");
        let zoomed = page.eval(SEEN);
        for which in [0, 1] {
            let now =
                zoomed[which]["to"].as_f64().unwrap() - zoomed[which]["from"].as_f64().unwrap();
            assert!(now < 0.7 * length(which), "{which}: {zoomed}");
        }
        // Each has a search of its own.
        for (id, text, found) in [("find", "one", None), ("find-b", "io", Some("1 span"))] {
            page.eval(&format!(
                "{{ const it = document.getElementById('{id}'); it.value = '{text}'; it.dispatchEvent(new Event('input')); }}"
            ));
            let which = usize::from(found.is_some());
            let seen = page.eval(SEEN);
            let words = seen[which]["found"].as_str().unwrap();
            assert!(
                found.map_or(words.ends_with("spans") && words != "0 spans", |it| words == it),
                "{id}: {seen}"
            );
        }
        assert_eq!(page.complaints(), Vec::<String>::new());
        let painted = page.eval(PAINTED);
        for which in [0, 1] {
            assert!(painted[which].as_u64() > Some(5), "nothing is drawn: {painted}");
        }
    }
}

fn open(page: &mut Chromium, file: &str) {
    page.open(&format!("file://{}", Path::new(file).display()));
    page.await_that("document.documentElement.dataset.enhanced === 'yes'");
}
