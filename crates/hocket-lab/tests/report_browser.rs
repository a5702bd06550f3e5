//! The report in a real browser: a headless Chromium loads the page at desk and phone width, in
//! light and dark, with and without scripts, and tells what it laid out and what it complained of.
//!
//! Skipped with a printed reason where there is no Chromium; `HOCKET_CHROMIUM` names another one.

mod browser;
mod fixture;

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

use hocket_lab::record::BenchRecord;
use hocket_lab::report::{Analysis, html, svg_comparison};

use browser::{Scheme, View, assert_fits, chromium, look, objections, run, strings};

/// A desk and a phone.
const WIDTHS: [u32; 2] = [1280, 390];
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
        assert!(seen["lateRight"].as_f64().is_some_and(|right| right <= f64::from(view.width)));
        assert!(strings(&seen["out"]).is_empty(), "{} loses {}", view.name, seen["out"]);
        assert!(strings(&seen["covered"]).is_empty(), "{}: {}", view.name, seen["covered"]);
        assert_eq!(seen["loaded"], 0);
        assert_eq!((&seen["nameless"], &seen["unlabelled"]), (&0.into(), &0.into()));
        assert_eq!(seen["views"], serde_json::json!([[false, true], [true, false]]));
        assert_eq!(seen["enhanced"], if view.scripts { "yes" } else { "" });
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
}

/// The report as people with a keyboard or a screen reader meet it.
#[test]
fn axe_core_has_no_objections_to_the_report() {
    let Some(browser) = chromium("axe_core_has_no_objections_to_the_report") else { return };
    let page = html(&fixture::example(1));
    for (scheme, width) in [(Scheme::Light, 1280), (Scheme::Dark, 390)] {
        let objections = objections(&browser, scheme, &page, width);
        assert!(objections.is_empty(), "{width}: {objections:#?}");
    }
}

/// The check of that check: a picture without a name is noticed.
#[test]
fn axe_core_notices_a_nameless_picture() {
    let Some(browser) = chromium("axe_core_notices_a_nameless_picture") else { return };
    let page = html(&fixture::example(1)).replace("</main>", "<img src=\"data:,\"></main>");
    let objections = objections(&browser, Scheme::Light, &page, 1280);
    assert!(objections.iter().any(|line| line.starts_with("image-alt")), "{objections:#?}");
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
