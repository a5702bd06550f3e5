//! The page of a trace as text: what it says, what it may load and run, and names that try to break out.

mod trace_fixture;

use std::collections::BTreeMap;

use hocket_lab::site::{INDEX, make};
use hocket_lab::trace_page::html;
use hocket_trace::system::{DEFERRED, InterruptOn, WokenOn};
use serde_json::Value;
use trace_fixture::{LATE, UNITS, run};

/// The numbers for the script.
fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("<script type=\"application/json\" id=\"trace\">").unwrap();
    let (json, _) = rest.split_once("</script>").unwrap();
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"))
}

#[test]
fn it_says_in_words_what_was_late_and_why() {
    let page = html(&[run(20)]);
    for words in [
        "<h1>The Band</h1>",
        "Misses in 20 blocks: 2 (1 late block, 1 skipped period).",
        "block 3 came 250 µs too late: preview ran for 700 µs on the seat of worker 1",
        "also: worker 1 was moved 2 times",
        "<td class=\"left\">seat-taken</td>",
        "<td class=\"is-late\">250.0</td>",
        "Kept: 20 blocks, all that were played.",
        "the CPU&#39;s counters cannot be read",
        "<noscript>",
    ] {
        let plain = words.replace("&#39;", "'");
        assert!(page.contains(words) || page.contains(&plain), "'{words}' is missing:\n{page}");
    }
    let mut calm = run(3);
    calm.misses = Default::default();
    let page = html(&[calm]);
    assert!(page.contains("All 3 blocks were in time.") && !page.contains("Late blocks</h2>"));
    assert!(page.contains("The least slack: 450 µs, in block 0."));
}

#[test]
fn two_runs_stand_one_under_the_other() {
    let (first, mut second) = (run(20), run(7));
    second.about.policy = "critical / off / spin".into();
    (second.misses, second.blocks[3].verdict) = (Default::default(), None);
    second.limits.push("the second saw less".into());
    let policy = first.about.policy.clone();
    let page = html(&[first, second]);
    for words in [
        format!("Timeline A: {policy}</h2>"),
        "Timeline B: critical / off / spin</h2>".into(),
        "A: Misses in 20 blocks: 2 (1 late block, 1 skipped period).".into(),
        "B: All 7 blocks were in time.".into(),
        "<b>B</b> · critical / off / spin · 7 blocks played".into(),
        "B was played after A.".into(),
        "the second saw less.".into(),
    ] {
        assert!(page.contains(&words), "'{words}' is missing:\n{page}");
    }
    assert_eq!(page.matches("the CPU's counters cannot be read").count(), 1, "said once");
    let timelines: Vec<usize> =
        page.match_indices("section class=\"stage\"").map(|it| it.0).collect();
    let table = page.find("Late blocks A: ").expect("a table");
    assert!(timelines.len() == 2 && timelines[1] < table, "nothing stands between the timelines");
    for (id, blocks) in [("trace", 20), ("trace-b", 7)] {
        let (_, rest) = page.split_once(&format!("id=\"{id}\">")).unwrap();
        let data: Value = serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap();
        assert_eq!(data["blocks"].as_array().map(Vec::len), Some(blocks), "{id}");
    }
    for id in ["find", "find-b", "found", "found-b"] {
        assert_eq!(page.matches(&format!(" id=\"{id}\"")).count(), 1, "{id}");
    }
}

/// Two files may be of two sessions, machines and periods: what differs is said of each.
#[test]
fn two_files_are_told_apart() {
    let (mut first, mut second) = (run(20), run(7));
    (first.about.file, first.about.machine) = ("monday.json".into(), "one, 4 CPUs".into());
    (second.about.file, second.about.machine) = ("<b>.json".into(), "other, 8 CPUs".into());
    let same = html(&[first.clone(), second.clone()]);
    for words in [
        "<h1>The Band</h1>",
        "<p class=\"setting\">48 frames at 48000 Hz · deadline 1000 µs</p>",
        "<b>A</b> · monday.json · one, 4 CPUs · dataflow / all / hybrid · 20 blocks played</p>",
        "<b>B</b> · &lt;b&gt;.json · other, 8 CPUs · dataflow",
        "Timeline A: monday.json</h2>",
        "Timeline B: &lt;b&gt;.json</h2>",
        "Late blocks B: &lt;b&gt;.json</h2>",
        "A and B are from two files. Their timelines have the same scale",
    ] {
        assert!(same.contains(words), "'{words}' is missing:\n{same}");
    }
    assert!(!same.contains("periods differ") && !same.contains("<b>.json"));
    (second.about.session, second.about.frames) = ("Solo <i>".into(), 96);
    second.about.period_ns *= 2;
    let other = html(&[first, second]);
    for words in [
        "<title>The Band and Solo &lt;i&gt; – hocket trace</title>",
        "<b>A</b> · The Band · monday.json",
        "<b>B</b> · Solo &lt;i&gt; · &lt;b&gt;.json",
        "7 blocks played · 96 frames at 48000 Hz · deadline 2000 µs</p>",
        "Their periods differ",
    ] {
        assert!(other.contains(words), "'{words}' is missing:\n{other}");
    }
}

#[test]
fn what_found_no_room_is_counted() {
    let mut run = run(5);
    (run.lost_blocks, run.lost_spans) = (12_345, 3);
    let page = html(&[run]);
    assert!(page.contains("There was no room for 12,345 others. There was no room for 3 spans."));
}

#[test]
fn the_script_gets_every_span() {
    let run = run(20);
    let data = data(&html(std::slice::from_ref(&run)));
    let blocks = data["blocks"].as_array().unwrap();
    assert_eq!(blocks.len(), 20);
    let late = &blocks[LATE.0 as usize];
    assert_eq!(late, &serde_json::json!([3, 3_000_000, 10_000, 1_250_000, 1_000_000, 1, 0]));
    let numbers: usize =
        data["spans"].as_array().unwrap().iter().map(|lane| lane.as_array().unwrap().len()).sum();
    assert_eq!(numbers, 4 * run.spans());
    // Vocals of block 5, which is planned two periods behind block 3.
    let vocals = [6_025_000, 475_000, 2, 5].map(Value::from);
    let help = data["spans"][1].as_array().unwrap();
    assert!(help.chunks(4).any(|span| *span == vocals), "{help:?}");
    assert_eq!(data["names"][0], serde_json::json!(UNITS));
    let others = serde_json::json!([[1, ["preview (99)"], [3_100_000, 700_000, 0, 3]]]);
    assert_eq!(data["others"], others);
}

#[test]
fn wake_ups_and_interrupts_have_lanes_of_their_cpus() {
    let mut run = run(5);
    let by = Some("<b>ui</b> (9)".into());
    run.blocks[2].wakes = vec![WokenOn { at_ns: 10_000, cpu: 1, woken: "audio (7)".into(), by }];
    let on = |number| InterruptOn { start_ns: 5_000, end_ns: 8_000, cpu: 0, number };
    run.blocks[2].interrupts = vec![on(34), on(DEFERRED | 1)];
    let expected = serde_json::json!([
        ["interrupts", 0, ["irq 34"], [2_005_000, 3_000, 0, 2]],
        ["put off by interrupts", 0, ["softirq TIMER"], [2_005_000, 3_000, 0, 2]],
        ["wake-ups", 1, ["audio (7) woken by <b>ui</b> (9)"], [2_010_000, 0, 0, 2]],
    ]);
    let page = html(&[run]);
    assert_eq!(data(&page)["beside"], expected);
    assert!(!page.contains("<b>ui"), "it breaks out");
}

#[test]
fn the_page_names_nothing_outside_itself() {
    let page = html(&[run(5)]);
    for outside in ["http:", "https:", "//cdn", "url(", "@import", "src=", "<base", "<iframe"] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.contains("default-src 'none'") || page.contains("default-src &#39;none&#39;"));
}

#[test]
fn only_the_known_script_may_run() {
    let page = html(&[run(5)]);
    let (_, rest) = page.split_once("<script>").expect("a script");
    let (script, rest) = rest.split_once("</script>").expect("its end");
    assert!(!rest.contains("<script"), "one script that runs");
    let digest = base64(&<sha2::Sha256 as sha2::Digest>::digest(script.as_bytes()));
    let policy = format!("script-src 'sha256-{digest}'");
    assert!(
        page.contains(&policy) || page.contains(&policy.replace('\'', "&#39;")),
        "the page must let its own script run: sha256-{digest}"
    );
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let group = |three: &[u8]| {
        let bits = three.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - three.len()));
        let digit = |at: usize| match at <= three.len() {
            true => DIGITS[(bits >> (18 - 6 * at)) as usize & 63] as char,
            false => '=',
        };
        (0..4).map(digit).collect::<String>()
    };
    bytes.chunks(3).map(group).collect()
}

/// The pages of a site whose folder has these files, by their names.
fn site_of(files: &[(&str, String)]) -> BTreeMap<String, String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let mut pages = BTreeMap::new();
    let roots = [folder.path().to_path_buf()];
    let made = make(&roots, &folder.path().join("site"), |name, text| {
        pages.insert(name.to_owned(), text.to_owned());
        Ok::<(), ()>(())
    });
    made.unwrap();
    pages
}

/// A copy belongs to the site, and so would its scripts.
#[test]
fn a_site_has_no_trace_with_other_scripts() {
    let page = html(&[run(5)]);
    let charset = "<meta charset=\"utf-8\">";
    let policy = "<meta http-equiv=\"Content-Security-Policy\"";
    let known = page.split_once("script-src ").unwrap().1.split_once(';').unwrap().0;
    let changes = [
        ("none.html", policy, "<meta name=\"note\"".to_owned()),
        ("any.html", known, "'unsafe-inline'".into()),
        ("another.html", known, "'sha256-AAAA'".into()),
        ("more.html", known, format!("{known} 'sha256-AAAA'")),
        ("before.html", charset, format!("{charset}<script>alert(1)</script>")),
        ("comment.html", charset, format!("{charset}<!--")),
    ];
    let mut files = vec![("good.html", page.clone())];
    for (name, part, other) in &changes {
        assert!(page.contains(part), "{part}");
        files.push((name, page.replacen(part, other, 1)));
    }
    let site = site_of(&files);
    let traces: Vec<&String> =
        site.iter().filter(|(name, _)| name.starts_with("trace-")).map(|it| it.1).collect();
    assert!(traces == [&page], "{:?}", site.keys());
    let (_, unread) = site[INDEX].split_once("Files that could not be used</h2>").unwrap();
    for (name, ..) in changes {
        assert!(unread.contains(name), "{name}: {unread}");
    }
    let why = "not copied: its scripts are not those of this version";
    assert_eq!(unread.matches(why).count(), 6, "{unread}");
}

#[test]
fn a_site_has_the_pages_of_threads() {
    let page = hocket_lab::threads_page::html(&Default::default());
    let site = site_of(&[("threads.html", page.clone())]);
    assert!(site.values().any(|copy| *copy == page), "{:?}", site.keys());
}

#[test]
fn names_from_elsewhere_stay_text() {
    let evil = "</title></style></script><script>alert(1)</script><img src=x onerror=alert(1)>\"'\u{1b}[31m\u{202e}";
    let mut run = run(6);
    run.about.session = evil.into();
    run.about.policy = evil.into();
    run.limits.push(evil.into());
    run.remarks.push(evil.into());
    run.threads.iter_mut().for_each(|thread| thread.name = evil.into());
    run.unit_names[0].iter_mut().for_each(|name| *name = evil.into());
    for block in &mut run.blocks {
        block.others.iter_mut().for_each(|on| on.intervals[0].name = evil.into());
        if let Some(verdict) = &mut block.verdict {
            (verdict.text, verdict.others[0].text) = (evil.into(), evil.into());
        }
    }
    let page = html(&[run]);
    assert!(!page.contains("<img") && !page.contains("<script>alert"), "it breaks out");
    assert_eq!(page.matches("</script>").count(), 2);
    assert!(page.chars().all(|c| c == '\n' || !hocket_lab::foreign::is_hidden(c)));
    let names = &data(&page)["names"][0];
    assert_eq!(names[0], hocket_lab::foreign::plain(evil).as_str());
}

#[test]
fn a_run_without_blocks_has_a_page() {
    let page = html(&[run(0)]);
    assert_eq!(data(&page)["blocks"], serde_json::json!([]));
}
