//! The page of a trace in a real browser: it draws, zooms, finds, and says what was chosen.
//!
//! Skipped with a printed reason where there is no Chromium; `HOCKET_CHROMIUM` names another one.

mod browser;
mod trace_fixture;

use std::path::Path;

use browser::{
    Scheme, View, assert_fits, chromium, look, objections, run as browse, strings, written,
};
use hocket_lab::threads_page;
use hocket_lab::trace_page::html;
use hocket_trace::sched_text::{self, Choice};
use hocket_trace::system::AboutSystem;
use serde_json::{Value, json};
use trace_fixture::run;

/// Does one thing after the other with the page, and writes down what it shows after each.
const DRIVER: &str = r##"
addEventListener("load", () => {
  const frame = document.querySelector("iframe"), w = frame.contentWindow, d = frame.contentDocument;
  const plot = d.querySelector(".plot"), find = d.querySelector("#find"), canvas = d.querySelector(".lanes-canvas");
  const key = (name, shift = false, on = plot) => on.dispatchEvent(new w.KeyboardEvent("keydown", { key: name, shiftKey: shift, bubbles: true, cancelable: true }));
  const type = (text) => { find.value = text; find.dispatchEvent(new w.Event("input")); };
  const press = (name) => d.querySelector(`button[aria-label="${name}"]`).click();
  // Parts of the width, and a row: 0 the blocks, then the lanes.
  const point = (kind, part, row, id = 1) => {
    const box = canvas.getBoundingClientRect();
    const at = { pointerId: id, clientX: box.left + part * box.width, clientY: box.top + 26 + 34 * row + 17, bubbles: true, cancelable: true };
    canvas.dispatchEvent(new w.PointerEvent("pointer" + kind, at));
  };
  const wheel = (options) => canvas.dispatchEvent(new w.WheelEvent("wheel", { deltaY: -120, bubbles: true, cancelable: true, ...options }));
  const seen = [];
  const note = () => seen.push({ from: +plot.dataset.from, to: +plot.dataset.to, says: d.querySelector(".trace .readout").textContent, found: d.querySelector("#found").textContent, plots: [...d.querySelectorAll(".plot")].map((e) => [+e.dataset.from, +e.dataset.to]) });
  try {
    note();
    for (const step of STEPS) { step({ key, type, press, point, wheel, find, d }); note(); }
    const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    const colours = new Set();
    for (let i = 0; i < pixels.length; i += 4) if (pixels[i + 3] === 255) colours.add(pixels[i] << 16 | pixels[i + 1] << 8 | pixels[i + 2]);
    const hex = (colour) => "#" + colour.toString(16).padStart(6, "0");
    const style = w.getComputedStyle(d.documentElement);
    const inks = Object.fromEntries(["late", "ink", "muted"].map((name) => [name, style.getPropertyValue("--" + name)]));
    const out = { seen, inks, painted: [...colours].map(hex), ground: w.getComputedStyle(plot).backgroundColor, strip: w.getComputedStyle(d.querySelector(".trace .legend .swatch")).backgroundColor, width: canvas.getBoundingClientRect().width, lanes: [...d.querySelectorAll(".names div")].map((e) => e.title), legend: [...d.querySelectorAll(".trace .legend li")].map((e) => e.textContent), samples: [...d.querySelectorAll(".trace .legend .swatch")].filter((e) => e.getBoundingClientRect().width > 5 && e.getBoundingClientRect().height > 5 && w.getComputedStyle(e).backgroundColor.startsWith("rgb(")).length, hidden: d.querySelectorAll(".stage [hidden]").length, colours: colours.size };
    document.getElementById("seen").textContent = JSON.stringify(out);
  } catch (error) { document.getElementById("seen").textContent = JSON.stringify({ error: String(error) }); }
});
"##;

/// What the page shows at first, and after each step. `steps` are functions in JavaScript, with commas between.
fn drive(browser: &Path, page: &str, steps: &str) -> Value {
    drive_in(browser, Scheme::Light, page, steps)
}

fn drive_in(browser: &Path, scheme: Scheme, page: &str, steps: &str) -> Value {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let page = page.replace('&', "&amp;").replace('"', "&quot;");
    let frame =
        format!("<iframe style=\"border:0;width:1200px;height:900px\" srcdoc=\"{page}\"></iframe>");
    let driver = DRIVER.replace("STEPS", &format!("[{steps}]"));
    let outer = folder.path().join("outer.html");
    let text = format!("<!doctype html><pre id=seen></pre>{frame}<script>{driver}</script>");
    std::fs::write(&outer, text).expect("written");
    let arguments = [
        "--window-size=1400,1000".into(),
        "--virtual-time-budget=4000".into(),
        "--dump-dom".into(),
        format!("file://{}", outer.display()),
    ];
    let said = browse(browser, scheme, &arguments);
    assert!(said.console.is_empty(), "{:#?}", said.console);
    let seen = written(&said.dom);
    assert_eq!(seen["error"], Value::Null);
    seen
}

/// How much time the timeline shows.
fn width(seen: &Value, step: usize) -> f64 {
    let at = |key: &str| seen["seen"][step][key].as_f64().expect("a time");
    at("to") - at("from")
}

fn says(seen: &Value, step: usize) -> &str {
    seen["seen"][step]["says"].as_str().expect("text")
}

#[test]
fn the_page_is_whole_at_both_widths_with_and_without_scripts() {
    let test = "the_page_is_whole_at_both_widths_with_and_without_scripts";
    let Some(browser) = chromium(test) else { return };
    let page = html(&[run(50)]);
    let view = |name, width, scripts| View { name, page: &page, width, scripts };
    let views = [view("desk", 1280, true), view("phone", 390, true), view("still", 390, false)];
    let (seen, mut console) = look(&browser, Scheme::Dark, &views);
    console.retain(|line| !line.contains("sandboxed and the 'allow-scripts' permission"));
    assert!(console.is_empty(), "{console:#?}");
    for view in &views {
        let seen = &seen[view.name];
        assert_fits(seen, view.name);
        assert_eq!((&seen["loaded"], &seen["nameless"]), (&json!(0), &json!(0)));
        assert_eq!(seen["enhanced"], if view.scripts { "yes" } else { "" });
        assert_eq!(seen["headings"], json!(["Timeline", "Late blocks", "What it does not show"]));
        assert_ne!(seen["themes"]["light"], seen["themes"]["dark"]);
    }
}

#[test]
fn it_draws_lanes_by_seat_and_begins_at_the_worst_block() {
    let Some(browser) = chromium("it_draws_lanes_by_seat_and_begins_at_the_worst_block") else {
        return;
    };
    let seen = drive(&browser, &html(&[run(50)]), "");
    let lanes =
        ["", "blocks", "worker 0 (leader), CPU 0", "worker 1, CPU 1", "other threads, CPU 1"];
    assert_eq!(seen["lanes"], json!(lanes));
    assert!(says(&seen, 0).starts_with("Block 3: awake after 10.0 µs, late by 250.0 µs, "));
    assert!(says(&seen, 0).contains("Why: block 3 came 250 µs too late: preview ran for 700 µs"));
    let way = "Its output waited longest for vocals: play, eq, comp 1,175.0 µs; master 50.0 µs";
    assert!(says(&seen, 0).contains(way), "{}", says(&seen, 0));
    // The strips that take most time first; colours of four units, a block, a deadline, text and lines.
    assert_eq!(seen["legend"][0], "vocals");
    // Every entry but the note at the end shows its colour.
    let entries = seen["legend"].as_array().map_or(0, Vec::len);
    assert_eq!(seen["samples"], entries - 1);
    assert!(seen["colours"].as_u64() > Some(8), "{}", seen["colours"]);
    assert_eq!(seen["hidden"], 0);
}

/// The fills of units are the same in both schemes, because their names are dark text. All else changes.
#[test]
fn the_timeline_has_the_colours_of_the_scheme() {
    let Some(browser) = chromium("the_timeline_has_the_colours_of_the_scheme") else { return };
    let page = html(&[run(50)]);
    let [light, dark] =
        [Scheme::Light, Scheme::Dark].map(|scheme| drive_in(&browser, scheme, &page, ""));
    assert_eq!(light["ground"], "rgb(255, 255, 255)");
    assert_eq!(dark["ground"], "rgb(27, 31, 37)");
    let has = |seen: &Value, colour: &Value| strings(&seen["painted"]).contains(&text(colour));
    for ink in ["late", "ink", "muted"] {
        let [of_light, of_dark] = [&light["inks"][ink], &dark["inks"][ink]];
        assert_ne!(of_light, of_dark, "{ink}");
        assert!(has(&light, of_light) && !has(&light, of_dark), "{ink}: {light:#}");
        assert!(has(&dark, of_dark) && !has(&dark, of_light), "{ink}: {dark:#}");
    }
    assert_eq!(light["strip"], dark["strip"]);
    for seen in [&light, &dark] {
        assert!(has(seen, &json!(hex(text(&seen["strip"])))), "no unit: {seen:#}");
    }
}

fn text(value: &Value) -> &str {
    value.as_str().expect("text").trim()
}

/// `#0a141e` of `rgb(10, 20, 30)`.
fn hex(rgb: &str) -> String {
    let inside = rgb.trim_start_matches("rgb(").trim_end_matches(')');
    let parts = inside.split(", ").map(|part| part.parse::<u8>().expect("a part of a colour"));
    format!("#{}", parts.map(|part| format!("{part:02x}")).collect::<String>())
}

#[test]
fn keys_zoom_pan_and_go_from_block_to_block() {
    let Some(browser) = chromium("keys_zoom_pan_and_go_from_block_to_block") else { return };
    let steps = "({key}) => key('+'), ({key}) => key('ArrowRight'), ({key}) => key('-'), ({key}) => key('b'), \
                 ({key}) => key('L', true), ({key}) => key('0'), ({press}) => press('Show block 3'), \
                 ({press}) => press('Zoom in')";
    let seen = drive(&browser, &html(&[run(50)]), steps);
    assert!((width(&seen, 1) / width(&seen, 0) - 0.6).abs() < 0.01);
    assert!((width(&seen, 2) - width(&seen, 1)).abs() < 2.0, "a pan zooms nothing");
    assert!(seen["seen"][2]["from"].as_f64() > seen["seen"][1]["from"].as_f64());
    assert!((width(&seen, 3) / width(&seen, 0) - 1.0).abs() < 0.01);
    assert!(says(&seen, 4).starts_with("Block 4: ") && says(&seen, 5).starts_with("Block 3: "));
    assert!(width(&seen, 6) >= 51_000_000.0, "everything is 51 periods");
    assert!(width(&seen, 7) < 2_000_000.0 && width(&seen, 8) < width(&seen, 7));
}

#[test]
fn a_unit_is_found() {
    let Some(browser) = chromium("a_unit_is_found") else { return };
    let steps = "({type}) => type('VOCALS'), ({key, find}) => key('Enter', false, find), \
                 ({key, find}) => key('Enter', false, find), ({key, find}) => key('Enter', true, find), \
                 ({type}) => type('no such unit'), ({type}) => type('')";
    let seen = drive(&browser, &html(&[run(50)]), steps);
    assert_eq!(seen["seen"][1]["found"], "50 spans");
    assert!(
        says(&seen, 2).starts_with("vocals: play, eq, comp: worker 1, CPU 1, 25.0 to 1,200.0 µs")
    );
    assert!(says(&seen, 2).contains(" µs, without a CPU for 650.5 µs of it. Block 3: "));
    assert!(!says(&seen, 3).contains("without a CPU"), "nobody asked in that block");
    assert!(says(&seen, 2).contains("Block 3: ") && says(&seen, 3).contains("Block 4: "));
    assert!(says(&seen, 4).contains("Block 3: "));
    assert_eq!(
        (&seen["seen"][5]["found"], &seen["seen"][6]["found"]),
        (&json!("0 spans"), &json!(""))
    );
}

#[test]
fn mouse_and_touch_choose_drag_and_pinch() {
    let Some(browser) = chromium("mouse_and_touch_choose_drag_and_pinch") else { return };
    let steps = "\
        ({point}) => { point('down', 0.5, 1); point('up', 0.5, 1); }, \
        ({point}) => { point('down', 0.5, 2); point('up', 0.5, 2); }, \
        ({point}) => { point('down', 0.5, 3); point('up', 0.5, 3); }, \
        ({point}) => { point('down', 0.8, 1); point('move', 0.5, 1); point('up', 0.5, 1); }, \
        ({point}) => { point('down', 0.4, 1, 1); point('down', 0.6, 1, 2); point('move', 0.8, 1, 2); \
                       point('up', 0.8, 1, 2); point('up', 0.4, 1, 1); }, \
        ({wheel}) => wheel({}), \
        ({wheel}) => wheel({ ctrlKey: true }), \
        ({key}) => key('ArrowUp'), ({key}) => key('ArrowRight', true)";
    let seen = drive(&browser, &html(&[run(50)]), steps);
    assert!(says(&seen, 1).starts_with("wait: nothing was ready: worker 0 (leader), CPU 0, "));
    assert!(says(&seen, 2).starts_with("vocals: play, eq, comp: worker 1, CPU 1, "));
    assert!(says(&seen, 3).starts_with("preview (99): other threads, CPU 1, 100.0 to 800.0 µs"));
    let from = |step: usize| seen["seen"][step]["from"].as_f64().unwrap();
    assert!((from(4) - from(3) - 0.3 * width(&seen, 3)).abs() < 0.01 * width(&seen, 3), "a drag");
    assert_eq!(says(&seen, 4), says(&seen, 3), "a drag chooses nothing");
    assert!((width(&seen, 5) / width(&seen, 4) - 0.5).abs() < 0.02, "fingers twice as far apart");
    assert!(
        (width(&seen, 6) - width(&seen, 5)).abs() < 2.0,
        "without focus, the wheel is the page's"
    );
    assert!(width(&seen, 7) < width(&seen, 6));
    assert_ne!(says(&seen, 9), says(&seen, 8));
}

/// Ten thousand blocks, and one: the script neither fails nor leaves its page.
#[test]
fn large_and_small_runs_are_drawn() {
    let Some(browser) = chromium("large_and_small_runs_are_drawn") else { return };
    for blocks in [1, 4, 10_000] {
        let steps = "({key}) => key('0'), ({key}) => key('l'), ({key}) => key('+')";
        let seen = drive(&browser, &html(&[run(blocks)]), steps);
        let periods = blocks as f64 + if blocks > 4 { 1.0 } else { 0.0 };
        assert!(width(&seen, 1) >= periods * 1_000_000.0, "{blocks}: {}", width(&seen, 1));
        assert!(width(&seen, 3) < width(&seen, 2));
    }
}

/// Two runs: the late block begins at 3 ms of the first and at 1 ms of the second, which lacks two blocks.
fn two_runs() -> String {
    let mut second = run(50);
    second.blocks.drain(..2);
    html(&[run(50), second])
}

#[test]
fn of_two_runs_the_chosen_blocks_stand_one_under_the_other() {
    let test = "of_two_runs_the_chosen_blocks_stand_one_under_the_other";
    let Some(browser) = chromium(test) else { return };
    let steps = "({key}) => key('+'), ({key}) => key('ArrowRight'), \
                 ({key, d}) => key('-', false, d.querySelectorAll('.plot')[1]), ({key}) => key('b'), \
                 ({d}) => d.querySelectorAll('button[aria-label=\"Show block 3\"]')[1].click()";
    let seen = drive(&browser, &two_runs(), steps);
    let plot = |step: usize, which: usize| {
        let of = |at: usize| seen["seen"][step]["plots"][which][at].as_f64().expect("a time");
        [of(0), of(1)]
    };
    // Block 4 begins at 5 ms, because a period is skipped before it.
    for (step, begin) in [(0, 3e6), (1, 3e6), (2, 3e6), (3, 3e6), (4, 5e6), (5, 5e6)] {
        let ([from, to], [below, until]) = (plot(step, 0), plot(step, 1));
        assert!((from - begin - (below - 1e6)).abs() < 3.0, "step {step}: {seen:#}");
        assert!((to - from - (until - below)).abs() < 3.0, "step {step}: {seen:#}");
    }
    let width = |step| plot(step, 0)[1] - plot(step, 0)[0];
    assert!(width(1) < 0.7 * width(0) && width(3) > 1.5 * width(2), "each zooms both");
    assert_ne!(plot(1, 1), plot(2, 1), "the second moves with the first");
}

#[test]
fn a_page_of_two_runs_is_whole_and_has_no_faults() {
    let Some(browser) = chromium("a_page_of_two_runs_is_whole_and_has_no_faults") else { return };
    let page = two_runs();
    let view = |name, width, scripts| View { name, page: &page, width, scripts };
    let views = [view("desk", 1280, true), view("phone", 390, true)];
    let (seen, console) = look(&browser, Scheme::Light, &views);
    assert!(console.is_empty(), "{console:#?}");
    for view in &views {
        let seen = &seen[view.name];
        assert_fits(seen, view.name);
        assert_eq!((&seen["nameless"], &seen["enhanced"]), (&json!(0), &json!("yes")));
        let headings = seen["headings"].as_array().expect("headings");
        let begin =
            |at: usize| headings[at].as_str().unwrap_or("").split(':').next().map(str::to_owned);
        let begins: Vec<_> = (0..headings.len()).filter_map(begin).collect();
        let names =
            ["Timeline A", "Timeline B", "Late blocks A", "Late blocks B", "What it does not show"];
        assert_eq!(begins, names);
    }
    let objections = objections(&browser, Scheme::Dark, &page, 390);
    assert!(objections.is_empty(), "{objections:#?}");
}

#[test]
fn axe_core_has_no_objections() {
    let Some(browser) = chromium("axe_core_has_no_objections") else { return };
    let page = html(&[run(50)]);
    for (scheme, width) in [(Scheme::Light, 1280), (Scheme::Dark, 390)] {
        let objections = objections(&browser, scheme, &page, width);
        assert!(objections.is_empty(), "{width}: {objections:#?}");
    }
}

/// As `perf script` prints it. A name would be a picture, if it were not text.
const PERF: &str = "\
    swapper 0 [000] 100.000000: sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=engine next_pid=11 next_prio=20
    engine 11 [000] 100.000100: sched:sched_waking: comm=<img src=x> pid=12 prio=120 target_cpu=001
    swapper 0 [001] 100.000150: sched:sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=<img src=x> next_pid=12 next_prio=120
    engine 11 [000] 100.000200: sched:sched_switch: prev_comm=engine prev_pid=11 prev_prio=20 prev_state=R ==> next_comm=stranger next_pid=13 next_prio=0
    stranger 13 [000] 100.000300: sched:sched_switch: prev_comm=stranger prev_pid=13 prev_prio=0 prev_state=S ==> next_comm=engine next_pid=11 next_prio=20
    <img src=x> 12 [001] 100.000350: sched:sched_switch: prev_comm=<img src=x> prev_pid=12 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
    engine 11 [000] 100.000360: sched:sched_waking: comm=<img src=x> pid=12 prio=120 target_cpu=001
    swapper 0 [001] 100.000380: sched:sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=<img src=x> next_pid=12 next_prio=120
    <img src=x> 12 [001] 100.000390: sched:sched_switch: prev_comm=<img src=x> prev_pid=12 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
    engine 11 [000] 100.000400: sched:sched_switch: prev_comm=engine prev_pid=11 prev_prio=20 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
";

/// The page of `--attach` and of `--from` a text of the scheduler.
fn page_of_threads() -> String {
    let about = AboutSystem {
        hocket: "0.1.0".into(),
        program: "engine, <img src=x> of perf.txt".into(),
        ..AboutSystem::default()
    };
    let choice = Choice { threads: vec!["engine".into(), "12".into()], ..Choice::default() };
    let system = sched_text::read(PERF.as_bytes(), about, &choice, || false);
    threads_page::html(&system.expect("a text of the scheduler"))
}

#[test]
fn the_page_of_threads_is_whole_at_both_widths_and_names_are_text() {
    let test = "the_page_of_threads_is_whole_at_both_widths_and_names_are_text";
    let Some(browser) = chromium(test) else { return };
    let page = page_of_threads();
    let view = |name, width| View { name, page: &page, width, scripts: true };
    let views = [view("desk", 1280), view("phone", 390)];
    for scheme in [Scheme::Light, Scheme::Dark] {
        let (seen, console) = look(&browser, scheme, &views);
        assert!(console.is_empty(), "{console:#?}");
        for view in &views {
            check_threads(&seen[view.name], scheme, view.name);
        }
    }
}

fn check_threads(seen: &Value, scheme: Scheme, name: &str) {
    assert_fits(seen, name);
    let none = ["loaded", "nameless", "unlabelled"].map(|what| &seen[what]);
    assert_eq!(none, [&json!(0); 3], "{name}: {seen:#}");
    assert_eq!((&seen["out"], &seen["covered"]), (&json!([]), &json!([])), "{name}");
    assert_eq!(seen["pictures"], 1, "the longest wait; the whole time has a canvas");
    let tables = ["Threads", "Who was in the way", "Who ran at the same time", "Who woke whom"];
    let headings =
        [&["Timeline", "Around the longest wait"][..], &tables, &["What it does not show"]]
            .concat();
    assert_eq!(seen["headings"], json!(headings), "{name}");
    assert!(strings(&seen["rows"]).contains(&"<img src=x> (12)"), "{name}: {}", seen["rows"]);
    let [here, other] = match scheme {
        Scheme::Light => ["light", "dark"],
        Scheme::Dark => ["dark", "light"],
    };
    assert_eq!(seen["auto"], seen["themes"][here], "{name}");
    assert_ne!(seen["auto"], seen["themes"][other], "{name}");
}

#[test]
fn the_timeline_of_threads_zooms_finds_and_says_who_woke_whom() {
    let test = "the_timeline_of_threads_zooms_finds_and_says_who_woke_whom";
    let Some(browser) = chromium(test) else { return };
    let steps = "p => p.type('ready'), p => p.key('Enter', false, p.find), \
        p => p.key('Enter', false, p.find), p => p.key('0'), p => p.key('+'), p => p.key('b'), \
        p => p.d.querySelector('[data-begin] button').click(), p => { p.key('0'); p.type(''); }, \
        p => { p.point('down', 0.3, 0); p.point('up', 0.3, 0); }";
    let seen = drive(&browser, &page_of_threads(), steps);
    let lanes =
        ["", "engine (11), thread", "<img src=x> (12), thread", "CPU 0, who ran", "CPU 1, who ran"];
    assert_eq!(seen["lanes"], json!(lanes));
    assert!(says(&seen, 0).starts_with("A thread's lane has the CPUs where it ran."));
    assert_eq!(seen["seen"][1]["found"], "2 spans");
    let preempted = "ready: engine (11), thread, 200.0 to 300.0 µs, took 100.0 µs.";
    assert_eq!(says(&seen, 2).trim(), preempted);
    let woken =
        "ready, woken by engine (11): <img src=x> (12), thread, 360.0 to 380.0 µs, took 20.0 µs.";
    assert_eq!(says(&seen, 3).trim(), woken);
    let shown = |step: usize| (width(&seen, step) / 1e3).round();
    assert_eq!([shown(4), shown(5), shown(6)], [408.0, 245.0, 245.0], "no blocks to go to");
    assert_eq!(shown(7), 408.0, "the longest wait with twice its length before and after it");
    let chosen = says(&seen, 9);
    assert!(chosen.starts_with("CPU 0: engine (11), thread, 0.0 to 200.0 µs"), "{chosen}");
    let late = text(&seen["inks"]["late"]);
    assert!(
        strings(&seen["painted"]).contains(&late),
        "who is ready has the colour of what is late"
    );
}

#[test]
fn axe_core_has_no_objections_to_the_page_of_threads() {
    let test = "axe_core_has_no_objections_to_the_page_of_threads";
    let Some(browser) = chromium(test) else { return };
    let page = page_of_threads();
    for (scheme, width) in [(Scheme::Light, 1280), (Scheme::Dark, 390)] {
        let objections = objections(&browser, scheme, &page, width);
        assert!(objections.is_empty(), "{width}: {objections:#?}");
    }
}
