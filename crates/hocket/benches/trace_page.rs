//! How smooth the page of a long trace is: `cargo bench -p hocket --bench trace_page -- [--record FILE [--force]]`.
//!
//! The page of 12,500 blocks with 100,000 spans, in a headless Chromium with a window of 1280 x 900:
//!
//! - *load*: from the start of the navigation to the second frame that the browser shows after the load event. The first
//!   start is not counted.
//! - *pan*: the timeline moves by a key's step in each frame for two seconds, once with all blocks in sight and once with a
//!   hundredth of them. Frames that are shown per second; Chromium shows 60 at most.
//!
//! Nothing is judged. Without `--bench` a small page is opened once, to see that it works; without Chromium it is skipped.

#[allow(dead_code)]
#[path = "../../hocket-lab/tests/browser/mod.rs"]
mod browser;
#[allow(dead_code)]
#[path = "../tests/cli/chromium.rs"]
mod chromium;
#[allow(dead_code)]
#[path = "../../hocket-lab/tests/trace_fixture/mod.rs"]
mod trace_fixture;

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use browser::Scheme;
use chromium::Chromium;
use hocket_lab::provenance::{BenchCommand, bench_exit};
use hocket_lab::stats::median;
use hocket_lab::trace_page::html;
use serde_json::{Value, json};

/// Waits until the page has been shown, and says how long ago its navigation began.
const SHOWN: &str = "new Promise(done => {
    const shown = () => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now())));
    document.readyState === 'complete' ? shown() : addEventListener('load', shown);
})";
/// Moves the timeline with each frame, there and back again, and counts the frames of two seconds.
const PAN: &str = "new Promise(done => {
    const plot = document.querySelector('.plot'), begun = performance.now();
    let frames = 0, moved = 0, last = plot.dataset.from;
    const step = () => {
        const key = frames % 40 < 20 ? 'ArrowRight' : 'ArrowLeft';
        plot.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
        if (plot.dataset.from !== last) moved += 1;
        last = plot.dataset.from;
        frames += 1;
        const ms = performance.now() - begun;
        ms < 2000 ? requestAnimationFrame(step) : done({ frames, moved, per_second: 1000 * frames / ms });
    };
    requestAnimationFrame(step);
})";
/// Zooms in to some hundredth of what is in sight.
const ZOOM: &str = "for (let n = 0; n < 9; n++) {
    document.querySelector('.plot').dispatchEvent(new KeyboardEvent('keydown', { key: '+', bubbles: true, cancelable: true }));
}";
const ALL: &str = "document.querySelector('.plot').dispatchEvent(
    new KeyboardEvent('keydown', { key: '0', bubbles: true, cancelable: true }))";

fn main() -> ExitCode {
    bench_exit("trace_page", run())
}

fn run() -> Result<(), String> {
    let command = BenchCommand::read()?;
    let Some(browser) = browser::chromium("trace_page") else {
        return command.record().map_or(Ok(()), |_| Err("no record without a Chromium".into()));
    };
    let (blocks, starts) = if command.measures() { (12_500, 10) } else { (50, 1) };
    let result = measure(&browser, blocks, starts);
    command.keep("hocket-trace-page/1", json!({ "result": result }))
}

fn measure(browser: &Path, blocks: u64, starts: usize) -> Value {
    let run = trace_fixture::run(blocks);
    let begun = Instant::now();
    let page = html(std::slice::from_ref(&run));
    let written_ms = begun.elapsed().as_secs_f64() * 1e3;
    let (spans, bytes) = (run.spans(), page.len());
    println!("a page of {blocks} blocks, {spans} spans, {bytes} bytes, made in {written_ms:.0} ms");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("trace.html");
    std::fs::write(&file, page).expect("written");
    let url = format!("file://{}", file.display());
    let mut chromium = Chromium::start(browser, Scheme::Light);
    chromium.resize(1280, 900);
    let version = chromium.call("Browser.getVersion", json!({}))["product"].clone();
    let (mut load_ms, mut pans) = (Vec::new(), Vec::new());
    for start in 0..=starts {
        chromium.open("about:blank");
        chromium.open(&url);
        let shown = chromium.eval(SHOWN).as_f64().expect("a time");
        chromium.eval(ALL);
        let all = chromium.eval(PAN);
        chromium.eval(ZOOM);
        let part = chromium.eval(PAN);
        assert!(all["moved"].as_u64().max(part["moved"].as_u64()) > Some(0), "nothing moves");
        if start > 0 {
            load_ms.push(shown);
            pans.push(json!({ "all": all, "part": part }));
        }
    }
    assert!(chromium.complaints().is_empty(), "{:#?}", chromium.complaints());
    tell("load, ms", load_ms.clone());
    for what in ["all", "part"] {
        let rates = pans.iter().filter_map(|pan| pan[what]["per_second"].as_f64()).collect();
        tell(&format!("pan with {what} in sight, frames a second"), rates);
    }
    json!({
        "browser": version, "blocks": blocks, "spans": spans, "bytes": bytes, "made_ms": written_ms,
        "load_ms": load_ms, "pans": pans,
    })
}

fn tell(what: &str, mut values: Vec<f64>) {
    values.sort_by(f64::total_cmp);
    let (Some(low), Some(high)) = (values.first(), values.last()) else { return };
    let middle = median(&values).unwrap_or(f64::NAN);
    println!("{what}: {middle:.1} ({low:.1} to {high:.1})");
}
