//! The report in a real browser: a headless Chromium loads the page at desk and phone width, in
//! light and dark, with and without scripts, and tells what it laid out and what it complained of.
//!
//! Skipped with a printed reason where there is no Chromium; `HOCKET_CHROMIUM` names another one.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use hocket_lab::record::{BenchRecord, fixture};
use hocket_lab::report::{Analysis, html, svg_comparison};
use serde_json::Value;

/// A desk and a phone.
const WIDTHS: [u32; 2] = [1280, 390];
/// Longer than a loaded machine takes, shorter than anybody waits.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Clone, Copy, PartialEq)]
enum Scheme {
    Light,
    Dark,
}

/// The browser to use, or nothing after saying why the test is skipped.
fn chromium(test: &str) -> Option<PathBuf> {
    let named = std::env::var_os("HOCKET_CHROMIUM").map(PathBuf::from);
    let usual = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .flat_map(|folder| usual.map(|name| folder.join(name)))
        .find(|candidate| candidate.is_file());
    let browser = named.or(found);
    if browser.is_none() {
        println!("SKIPPED {test}: no Chromium on the path; install one or set HOCKET_CHROMIUM");
    }
    browser
}

/// What the browser printed.
struct Said {
    dom: String,
    console: Vec<String>,
}

/// Runs the browser once with a fresh profile and no network of its own.
fn run(browser: &Path, scheme: Scheme, arguments: &[String]) -> Said {
    let profile = tempfile::tempdir().expect("a temporary folder");
    let (out, err) = (profile.path().join("out"), profile.path().join("err"));
    let preferred = if scheme == Scheme::Dark { 0 } else { 1 };
    let mut child = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--hide-scrollbars", "--enable-logging=stderr", "--v=0"])
        .arg(format!("--user-data-dir={}", profile.path().join("profile").display()))
        .arg(format!("--blink-settings=preferredColorScheme={preferred}"))
        .args(arguments)
        .stdin(Stdio::null())
        // Files instead of pipes: helpers of the browser may outlive it and hold a pipe open.
        .stdout(File::create(&out).expect("writable"))
        .stderr(File::create(&err).expect("writable"))
        .spawn()
        .expect("the browser starts");
    let start = Instant::now();
    while child.try_wait().expect("waited for").is_none() {
        if start.elapsed() > PATIENCE {
            let _ = child.kill();
            panic!("the browser did not end within {PATIENCE:?}");
        }
        std::thread::sleep(Duration::from_millis(30));
    }
    let read =
        |path: &Path| String::from_utf8_lossy(&std::fs::read(path).expect("readable")).into_owned();
    let console =
        read(&err).lines().filter(|line| line.contains("CONSOLE")).map(String::from).collect();
    Said { dom: read(&out), console }
}

/// A page to look at.
struct View<'a> {
    name: &'a str,
    page: &'a str,
    width: u32,
    scripts: bool,
}

/// Looks at each frame and writes what it sees into the outer page.
const PROBE: &str = r#"
const seen = (frame) => {
  const d = frame.contentDocument, root = d.documentElement;
  const inScroll = (e) => e.closest(".scroll") !== null || e.closest(".vh") !== null;
  const wide = [...d.body.querySelectorAll("*")].filter((e) => {
    if (inScroll(e) || e.closest("svg")?.parentElement?.closest("svg")) return false;
    const box = e.getBoundingClientRect();
    return box.width > 0 && box.right > root.clientWidth + 1 && !(e instanceof frame.contentWindow.SVGElement && e.tagName !== "svg");
  }).map((e) => e.tagName + "." + e.getAttribute("class") + " " + Math.round(e.getBoundingClientRect().right));
  const visible = (e) => e.getClientRects().length > 0;
  const paper = () => frame.contentWindow.getComputedStyle(d.body).backgroundColor;
  const auto = paper();
  const themes = {};
  for (const theme of ["light", "dark"]) {
    d.getElementById("theme-" + theme).checked = true;
    themes[theme] = paper();
  }
  d.getElementById("theme-auto").checked = true;
  const shown = (id) => { d.getElementById(id).checked = true; return [".view-ready", ".view-took"].map((c) => visible(d.querySelector(c))); };
  const views = d.getElementById("view-took") ? [shown("view-took"), shown("view-ready")] : [];
  const timeline = d.querySelector(".timeline");
  let keyboard = "";
  if (timeline) {
    timeline.querySelector(".scroll").dispatchEvent(new frame.contentWindow.KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
    keyboard = timeline.querySelector(".readout").textContent;
  }
  return {
    scrollWidth: root.scrollWidth, clientWidth: root.clientWidth, wide,
    rows: [...d.querySelectorAll("tbody tr > th")].map((e) => e.textContent),
    ridges: [...d.querySelectorAll(".view-ready .ridge b")].map((e) => e.textContent),
    loaded: frame.contentWindow.performance.getEntriesByType("resource").length,
    enhanced: root.dataset.enhanced ?? "", buttons: d.querySelectorAll("button").length,
    headings: [...d.querySelectorAll("h2")].map((e) => e.textContent),
    nameless: [...d.querySelectorAll("svg[role=img], [role=region], [role=group], figure")].filter((e) => !e.getAttribute("aria-label") && !e.querySelector("figcaption")).length,
    unlabelled: [...d.querySelectorAll("input")].filter((e) => !e.labels.length).length,
    auto, themes, views, keyboard,
  };
};
window.addEventListener("load", () => {
  const out = {};
  for (const frame of document.querySelectorAll("iframe")) {
    try { out[frame.name] = seen(frame); } catch (error) { out[frame.name] = { error: String(error) }; }
  }
  document.getElementById("seen").textContent = JSON.stringify(out);
});
"#;

/// Loads the views in frames of their widths and returns what the browser saw in each.
fn look(browser: &Path, scheme: Scheme, views: &[View]) -> (Value, Vec<String>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let frames: String = views
        .iter()
        .map(|view| {
            let sandbox = if view.scripts { "" } else { "sandbox=\"allow-same-origin\"" };
            format!(
                "<iframe name=\"{}\" {sandbox} style=\"width:{}px;height:900px\" srcdoc=\"{}\"></iframe>",
                view.name,
                view.width,
                view.page.replace('&', "&amp;").replace('"', "&quot;")
            )
        })
        .collect();
    let outer = folder.path().join("outer.html");
    let text = format!("<!doctype html><pre id=seen></pre>{frames}<script>{PROBE}</script>");
    std::fs::write(&outer, text).expect("written");
    let arguments = [
        "--window-size=1400,1000".into(),
        "--virtual-time-budget=4000".into(),
        "--dump-dom".into(),
        format!("file://{}", outer.display()),
    ];
    let said = run(browser, scheme, &arguments);
    let (_, rest) = said.dom.split_once("<pre id=\"seen\">").expect("the outer page was dumped");
    let (json, _) = rest.split_once("</pre>").expect("its end");
    let json = json
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&nbsp;", "\u{a0}")
        .replace("&amp;", "&");
    (serde_json::from_str(&json).expect("the frames were looked at"), said.console)
}

fn strings(value: &Value) -> Vec<&str> {
    value.as_array().map(|all| all.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
}

fn assert_fits(seen: &Value, name: &str) {
    assert_eq!(seen["error"], Value::Null, "{name}");
    assert!(strings(&seen["wide"]).is_empty(), "{name} is too wide: {}", seen["wide"]);
    assert_eq!(seen["scrollWidth"], seen["clientWidth"], "{name} scrolls sideways");
}

#[test]
fn the_page_is_whole_at_both_widths_with_and_without_scripts() {
    let test = "the_page_is_whole_at_both_widths_with_and_without_scripts";
    let Some(browser) = chromium(test) else { return };
    let record = fixture::example(1);
    let page = html(&record);
    let view = |name, width, scripts| View { name, page: &page, width, scripts };
    let views = [
        view("desk", WIDTHS[0], true),
        view("phone", WIDTHS[1], true),
        view("still", WIDTHS[1], false),
    ];
    let (seen, mut console) = look(&browser, Scheme::Light, &views);
    // The still frame is one that may not run scripts, which the browser remarks.
    console.retain(|line| !line.contains("sandboxed and the 'allow-scripts' permission"));
    assert!(console.is_empty(), "{console:#?}");
    let labels: Vec<String> =
        Analysis::of(&record).rows.iter().map(|row| row.label.clone()).collect();
    for view in &views {
        let seen = &seen[view.name];
        assert_fits(seen, view.name);
        let rows = strings(&seen["rows"]);
        assert!(
            labels.iter().all(|label| rows.contains(&label.as_str())),
            "{labels:?} in {rows:?}"
        );
        assert_eq!(strings(&seen["ridges"]), labels[..5]);
        assert_eq!(seen["loaded"], 0);
        assert_eq!((&seen["nameless"], &seen["unlabelled"]), (&0.into(), &0.into()));
        assert_eq!(seen["views"], serde_json::json!([[false, true], [true, false]]));
        assert_eq!(seen["enhanced"], if view.scripts { "yes" } else { "" });
        assert_eq!(seen["buttons"].as_u64() > Some(0), view.scripts);
    }
    let headings = strings(&seen["desk"]["headings"]);
    let wanted = [
        "All blocks",
        "Then and now",
        "Inside a block",
        "The machine",
        "How it was measured",
        "What it does not show",
        "Repeat it",
    ];
    assert_eq!(headings, wanted);
    let readout = seen["desk"]["keyboard"].as_str().expect("text");
    assert!(readout.contains(": worker 0 (leader), ") && readout.ends_with(" µs"), "{readout}");
}

#[test]
fn themes_follow_the_system_and_the_reader() {
    let Some(browser) = chromium("themes_follow_the_system_and_the_reader") else { return };
    let page = html(&fixture::example_without_pairs(4));
    let views = [View { name: "desk", page: &page, width: 1280, scripts: false }];
    let [light, dark] = [Scheme::Light, Scheme::Dark]
        .map(|scheme| look(&browser, scheme, &views).0["desk"].clone());
    assert_ne!(light["auto"], dark["auto"]);
    for seen in [&light, &dark] {
        assert_eq!(seen["themes"]["light"], light["auto"]);
        assert_eq!(seen["themes"]["dark"], dark["auto"]);
    }
}

/// A record with everything long: names, threads, cores, strips.
fn bulky() -> BenchRecord {
    let mut record = fixture::example(1);
    let long = "Supercalifragilistic".repeat(12);
    record.session.name.clone_from(&long);
    record.command.push(long.clone());
    record.partial = Some(long.clone());
    record.machine["facts"]["cgroup"] = serde_json::json!({ "value": long });
    for (at, variant) in record.variants.iter_mut().enumerate() {
        variant.name = format!("{long} {at}");
        variant.threads = (0..64)
            .map(|thread| {
                let mut grant = fixture::example(1).variants[0].threads[0].clone();
                grant.thread = format!("worker {thread}");
                grant.cpu_got = Some(thread);
                grant.why = Some(long.clone());
                grant
            })
            .collect();
        for trace in variant.ordinary.iter_mut().chain(&mut variant.worst) {
            trace.unit_names.iter_mut().for_each(|name| name.insert_str(0, &long));
            trace.lanes[0].name.clone_from(&long);
        }
    }
    let core = record.machine["topology"]["cores"][0].clone();
    record.machine["topology"]["cores"] = vec![core; 96].into();
    record.machine["topology"]["packages"][0]["cores"] = (0..96).collect::<Vec<u32>>().into();
    record
}

#[test]
fn long_names_and_many_cores_do_not_widen_the_page() {
    let Some(browser) = chromium("long_names_and_many_cores_do_not_widen_the_page") else { return };
    let page = html(&bulky());
    let views = WIDTHS.map(|width| View {
        name: if width > 1000 { "desk" } else { "phone" },
        page: &page,
        width,
        scripts: true,
    });
    let (seen, console) = look(&browser, Scheme::Light, &views);
    assert!(console.is_empty(), "{console:#?}");
    views.iter().for_each(|view| assert_fits(&seen[view.name], view.name));
}

/// The check of the checks: a page that does load and run what it may not is noticed.
#[test]
fn forbidden_scripts_and_requests_are_noticed() {
    let Some(browser) = chromium("forbidden_scripts_and_requests_are_noticed") else { return };
    let page = html(&fixture::example(1)).replace(
        "</main>",
        "<script>document.title='x'</script><img src=\"http://127.0.0.1:9/x.png\"><div style=\"width:3000px;height:1px\"></div></main>",
    );
    let views = [View { name: "desk", page: &page, width: 1280, scripts: true }];
    let (seen, console) = look(&browser, Scheme::Light, &views);
    let complaints = console.join("\n");
    assert!(
        complaints.contains("inline script") && complaints.contains("127.0.0.1"),
        "{complaints}"
    );
    assert!(!strings(&seen["desk"]["wide"]).is_empty());
}

/// Colours of a picture, and the one in its corner.
fn colours(png: &Path) -> (BTreeSet<[u8; 3]>, [u8; 3]) {
    let file = std::io::BufReader::new(File::open(png).expect("a screenshot"));
    let mut reader = png::Decoder::new(file).read_info().expect("a PNG");
    let mut pixels = vec![0; reader.output_buffer_size().expect("of this size")];
    let info = reader.next_frame(&mut pixels).expect("complete");
    let step = info.color_type.samples();
    let all =
        || pixels[..info.buffer_size()].chunks(step).map(|pixel| [pixel[0], pixel[1], pixel[2]]);
    (all().collect(), all().nth(3).expect("a pixel"))
}

#[test]
fn screenshots_show_something_in_every_theme_and_width() {
    let Some(browser) = chromium("screenshots_show_something_in_every_theme_and_width") else {
        return;
    };
    // HOCKET_SCREENSHOTS keeps them for looking at.
    let kept = std::env::var_os("HOCKET_SCREENSHOTS").map(PathBuf::from);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = kept.unwrap_or_else(|| folder.path().to_path_buf());
    let page = folder.path().join("page.html");
    std::fs::write(&page, html(&fixture::example(1))).expect("written");
    for (scheme, theme, paper) in [(Scheme::Light, "light", 0xfa), (Scheme::Dark, "dark", 0x14)] {
        for width in WIDTHS {
            let frame = folder.path().join("frame.html");
            // A window cannot be as narrow as a phone, a frame can.
            let text = format!(
                "<!doctype html><body style=\"margin:0\"><iframe src=page.html style=\"border:0;width:{width}px;height:6000px\"></iframe>"
            );
            std::fs::write(&frame, text).expect("written");
            let shot = out.join(format!("report-{width}-{theme}.png"));
            let arguments = [
                format!("--window-size={},6000", width.max(500)),
                format!("--screenshot={}", shot.display()),
                format!("file://{}", frame.display()),
            ];
            run(&browser, scheme, &arguments);
            let (colours, corner) = colours(&shot);
            assert!(colours.len() > 100, "{theme} {width}: {} colours", colours.len());
            assert_eq!(corner[0], paper, "{theme} {width}: the page's own background");
        }
    }
}

#[test]
fn the_picture_for_a_read_me_is_drawn() {
    let Some(browser) = chromium("the_picture_for_a_read_me_is_drawn") else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (picture, shot) = (folder.path().join("picture.svg"), folder.path().join("shot.png"));
    std::fs::write(&picture, svg_comparison(&fixture::example(1))).expect("written");
    let arguments = [
        "--window-size=960,520".into(),
        format!("--screenshot={}", shot.display()),
        format!("file://{}", picture.display()),
    ];
    let said = run(&browser, Scheme::Light, &arguments);
    assert!(said.console.is_empty(), "{:?}", said.console);
    assert!(colours(&shot).0.len() > 50);
}
