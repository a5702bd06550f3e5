//! `hocket bench --counters`: ratios where the machine has counters, and the reason where it has none.

use hocket_lab::record::{BenchRecord, Counted};

use crate::support::{one_track, run};

const HEADING: &str = "Hardware counters of the leader and the workers";

/// Every machine answers: with counts that are none of a part of the time, or with the reason.
fn check_answer(counted: &Counted) {
    for group in &counted.groups {
        assert!(group.turns > 0 && group.running_ns > 0 && !group.counts.is_empty(), "{group:?}");
    }
    let said = counted.limits.iter().chain(counted.missing.iter().map(|missing| &missing.why));
    assert!(said.clone().all(|why| !why.is_empty()));
    assert!(!counted.groups.is_empty() || said.count() > 0, "{counted:?}");
}

#[test]
fn a_bench_with_counters_prints_ratios_or_says_why_not_and_measures_all_else() {
    let (folder, file) = one_track("");
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (record, page) = (at("r.json"), at("r.html"));
    let mut args = vec!["bench", &file, "--blocks", "80", "--blocks-per-round", "20"];
    args.extend(["--starts", "2", "--policy", "off,all", "--disturb", "none", "--counters"]);
    let ran = run(&[&args[..], &["--record", &record, "--report", &page]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains(HEADING), "{}", ran.out);
    let has_ratios = ran.out.contains("CPI");
    let says_why = ran.out.contains("Not measurable here");
    assert!(has_ratios || says_why, "{}", ran.out);

    let measured = BenchRecord::read(&record).unwrap();
    for variant in &measured.variants {
        assert_eq!(variant.blocks(), 80, "{}", variant.name);
        let counted = variant.counted.as_ref().expect("asked for");
        check_answer(counted);
        // A reason that both starts give is there once.
        let mut limits = counted.limits.clone();
        limits.dedup();
        assert_eq!(limits, counted.limits);
    }
    let again = run(&["report", &record]);
    assert!(again.code == Some(0) && again.out.contains(HEADING), "{}", again.out);
    let page = std::fs::read_to_string(&page).unwrap();
    assert!(page.contains(HEADING) && page.contains("Not measurable here") == says_why);
}

#[test]
fn a_bench_counts_only_if_it_is_asked() {
    let (folder, file) = one_track("");
    let record = folder.path().join("r.json").to_str().unwrap().to_owned();
    let mut args = vec!["bench", &file, "--blocks", "20", "--policy", "off", "--disturb", "none"];
    args.extend(["--starts", "1", "--record", &record]);
    let ran = run(&args);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(!ran.out.contains(HEADING), "{}", ran.out);
    let measured = BenchRecord::read(&record).unwrap();
    assert!(measured.variants.iter().all(|variant| variant.counted.is_none()));
}

#[test]
fn the_doctor_says_what_can_be_counted_or_why_not() {
    let ran = run(&["doctor", "--seconds", "0"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let line = ran.out.lines().find(|line| line.contains("hardware counters: ")).unwrap();
    let is_known = line.starts_with("ok") && line.contains("can be counted");
    assert!(is_known || line.starts_with("unknown"), "{line}");
}

const BY_KIND: &str = "Counted by kind of node";

/// The nodes of a session by kind. The kernel's own events are counted on every machine that allows it.
#[test]
fn a_bench_counts_the_nodes_of_the_session_by_kind_or_says_why_not() {
    let (folder, file) = one_track("");
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (record, page) = (at("r.json"), at("r.html"));
    // As many turns as there are groups, on every kind of core.
    let mut args = vec!["bench", &file, "--blocks", "160", "--blocks-per-round", "20"];
    args.extend(["--starts", "2", "--policy", "off,all", "--disturb", "none"]);
    args.push("--counters-per-kind");
    let ran = run(&[&args[..], &["--record", &record, "--report", &page]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains(HEADING), "{}", ran.out);

    let measured = BenchRecord::read(&record).unwrap();
    for variant in &measured.variants {
        assert_eq!(variant.blocks(), 160, "{}", variant.name);
        let counted = variant.counted.as_ref().expect("asked for");
        assert!(counted.per_kind);
        // What the kernel counts makes no ratios, so no table of ratios has it.
        assert!(counted.groups.iter().all(|group| group.core != "software"));
        if counted.kinds.is_empty() {
            assert!(!counted.limits.is_empty(), "{counted:?}");
            println!("SKIPPED counts by kind: {}", counted.limits.join("; "));
            continue;
        }
        for kind in ["play", "fader", "sums"] {
            let found = counted.kinds.iter().find(|it| it.kind == kind).expect(kind);
            assert!(found.readings > 0 && found.nodes >= found.readings, "{found:?}");
        }
        for reading in &counted.readings {
            let of_group = counted.kinds.iter().filter(|it| it.group == reading.group);
            assert!(of_group.map(|it| it.readings).sum::<u64>() >= reading.readings, "{counted:?}");
        }
        assert!(ran.out.contains("A reading of the"), "{}", ran.out);
    }
    let counted = measured.variants.iter().filter_map(|variant| variant.counted.as_ref());
    let tables = counted.filter(|counted| !counted.kinds.is_empty()).count();
    assert_eq!(ran.out.matches(BY_KIND).count(), tables, "{}", ran.out);
    let page = std::fs::read_to_string(&page).unwrap();
    assert_eq!(page.contains(BY_KIND), tables > 0);
}
