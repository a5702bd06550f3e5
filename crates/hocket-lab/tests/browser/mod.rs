//! A headless Chromium for tests: what it lays out and what it complains of.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Longer than a loaded machine takes, shorter than anybody waits.
const PATIENCE: Duration = Duration::from_secs(600);

#[derive(Clone, Copy, PartialEq)]
pub enum Scheme {
    Light,
    Dark,
}

/// The browser to use, or nothing after saying why the test is skipped.
pub fn chromium(test: &str) -> Option<PathBuf> {
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
pub struct Said {
    pub dom: String,
    /// What it complained of.
    pub console: Vec<String>,
}

/// Runs the browser once with a fresh profile and no network of its own.
pub fn run(browser: &Path, scheme: Scheme, arguments: &[String]) -> Said {
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
pub struct View<'a> {
    pub name: &'a str,
    pub page: &'a str,
    pub width: u32,
    pub scripts: bool,
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
  // Texts of pictures that leave them, and pairs that cover each other.
  const out = [], covered = [];
  for (const svg of [...d.querySelectorAll("svg[role=img]")].filter(visible)) {
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll("text")].filter(visible).map((e) => [e.textContent, e.getBoundingClientRect()]);
    for (const [words, box] of texts) {
      if (box.left < frame.left - 1.5 || box.right > frame.right + 1.5 || box.top < frame.top - 3 || box.bottom > frame.bottom + 3) out.push(words);
    }
    texts.forEach(([words, a], at) => {
      for (const [other, b] of texts.slice(at + 1)) {
        const over = Math.min(a.right, b.right) - Math.max(a.left, b.left), high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (over > 2 && high > 5) covered.push(words + " | " + other);
      }
    });
  }
  // Boxes that hide columns: each must say so with a shadow that stays, be reachable by keyboard and have a name.
  const hiding = [...d.querySelectorAll(".scroll")].filter((e) => visible(e) && e.scrollWidth > e.clientWidth + 1);
  const cueless = hiding.filter((e) => {
    const style = frame.contentWindow.getComputedStyle(e);
    const cue = style.backgroundImage.includes("gradient") && style.backgroundAttachment.includes("local") && style.backgroundAttachment.includes("scroll");
    return !cue || e.tabIndex !== 0 || !e.getAttribute("role") || !e.getAttribute("aria-label");
  }).map((e) => e.getAttribute("aria-label") ?? e.className);
  const late = [...d.querySelectorAll("th[scope=col]")].find((e) => e.textContent === "late");
  const deadLinks = [...d.querySelectorAll("a[href^='#']")].map((e) => e.getAttribute("href").slice(1)).filter((id) => !d.getElementById(id));
  return {
    scrollWidth: root.scrollWidth, clientWidth: root.clientWidth, wide,
    rows: [...d.querySelectorAll("tbody tr > th")].map((e) => e.textContent),
    loaded: frame.contentWindow.performance.getEntriesByType("resource").length,
    enhanced: root.dataset.enhanced ?? "",
    headings: [...d.querySelectorAll("h2")].map((e) => e.textContent),
    nameless: [...d.querySelectorAll("svg[role=img], [role=region], [role=group], figure")].filter((e) => !e.getAttribute("aria-label") && !e.querySelector("figcaption")).length,
    unlabelled: [...d.querySelectorAll("input")].filter((e) => !e.labels.length).length,
    auto, themes, views, out, covered,
    hiding: hiding.length, cueless, lateRight: late ? late.getBoundingClientRect().right : null, deadLinks,
    pictures: [...d.querySelectorAll("svg[role=img]")].filter(visible).length,
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
pub fn look(browser: &Path, scheme: Scheme, views: &[View]) -> (Value, Vec<String>) {
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
    (written(&said.dom), said.console)
}

/// What the outer page was given to show.
pub fn written(dom: &str) -> Value {
    let (_, rest) = dom.split_once("<pre id=\"seen\">").expect("the outer page was dumped");
    let (json, _) = rest.split_once("</pre>").expect("its end");
    let json = json
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&nbsp;", "\u{a0}")
        .replace("&amp;", "&");
    serde_json::from_str(&json).expect("the frames were looked at")
}

/// Runs axe-core on the page at this width, with everything unfolded; what it objects to, one line per rule and place.
pub fn objections(browser: &Path, scheme: Scheme, page: &str, width: u32) -> Vec<String> {
    // The page forbids foreign scripts, which this is: its policy goes, for the test alone.
    let policy = "<meta http-equiv=\"Content-Security-Policy\"";
    let (before, rest) = page.split_once(policy).expect("a page of ours");
    let (_, after) = rest.split_once('>').expect("the end of the tag");
    let page = format!("{before}{after}<script>{AXE}</script><script>{OBJECT}</script>");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (inner, outer) = (folder.path().join("page.html"), folder.path().join("outer.html"));
    std::fs::write(&inner, page).expect("written");
    let frame = format!(
        "<!doctype html><pre id=seen></pre><iframe name=page style=\"border:0;width:{width}px;height:900px\" \
         src=page.html></iframe><script>addEventListener('message', (it) => {{ \
         document.getElementById('seen').textContent = it.data; }});</script>"
    );
    std::fs::write(&outer, frame).expect("written");
    let arguments = [
        format!("--window-size={},1000", width.max(500)),
        "--virtual-time-budget=60000".into(),
        "--dump-dom".into(),
        format!("file://{}", outer.display()),
    ];
    let said = run(browser, scheme, &arguments);
    let seen = written(&said.dom);
    assert!(seen["checked"].as_u64() > Some(20), "axe-core did not run: {seen} {:?}", said.console);
    strings(&seen["objections"]).into_iter().map(String::from).collect()
}

pub const AXE: &str = include_str!("axe/axe.min.js");

/// Unfolds the page, asks axe-core for the rules of WCAG 2.2 A and AA and for its best practices, and sends what it
/// says to the outer page.
const OBJECT: &str = r#"
addEventListener("load", async () => {
  document.querySelectorAll("details").forEach((e) => { e.open = true; });
  const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
  let said;
  try {
    const found = await axe.run(document, { runOnly: tags, resultTypes: ["violations"] });
    const line = (rule, node) => `${rule.id}: ${node.target.join(" ")}: ${node.failureSummary.replace(/\s+/g, " ")}`;
    said = {
      checked: found.passes.length,
      objections: found.violations.flatMap((rule) => rule.nodes.slice(0, 3).map((node) => line(rule, node))),
    };
  } catch (error) { said = { error: String(error) }; }
  parent.postMessage(JSON.stringify(said), "*");
});
"#;

pub fn strings(value: &Value) -> Vec<&str> {
    value.as_array().map(|all| all.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
}

pub fn assert_fits(seen: &Value, name: &str) {
    assert_eq!(seen["error"], Value::Null, "{name}");
    assert!(strings(&seen["wide"]).is_empty(), "{name} is too wide: {}", seen["wide"]);
    assert_eq!(seen["scrollWidth"], seen["clientWidth"], "{name} scrolls sideways");
    assert!(strings(&seen["cueless"]).is_empty(), "{name} hides columns: {}", seen["cueless"]);
    assert!(strings(&seen["deadLinks"]).is_empty(), "{name}: {}", seen["deadLinks"]);
}
