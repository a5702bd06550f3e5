//! Files that are not what they claim: every one is refused with place, cause and remedy, and none is a panic.

use hocket_machine::Topology;
use proptest::prelude::*;

/// Reads `body` inside a topology of format 2.
fn read(body: &str) -> Result<Topology, String> {
    from_text(&format!("<topology version=\"2.0\">\n{body}\n</topology>"))
}

fn from_text(text: &str) -> Result<Topology, String> {
    Topology::from_xml(text, "FILE").map_err(|e| e.to_string())
}

fn machine(objects: &str) -> String {
    format!("<object type=\"Machine\">{objects}</object>")
}

fn pu(cpu: &str) -> String {
    format!("<object type=\"PU\" os_index=\"{cpu}\"/>")
}

/// The message has all of `parts` and is one line.
fn refused(result: Result<Topology, String>, parts: &[&str]) {
    let message = result.expect_err("must be refused");
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
    assert!(
        message.starts_with("FILE") && !message.contains('\n') && message.contains("; "),
        "{message}"
    );
}

#[test]
fn what_is_not_xml_is_refused() {
    refused(from_text(""), &["not well-formed"]);
    refused(from_text("machine: 4 cores"), &["FILE:1:1", "lstopo"]);
    refused(from_text("<topology>\n  <object type=\"Machine\">\n"), &["FILE:", "not well-formed"]);
    refused(
        from_text("<topology version=\"2.0\"><object type='Machine' type='Machine'/></topology>"),
        &["FILE:1:"],
    );
}

#[test]
fn other_xml_is_refused() {
    refused(from_text("<?xml version=\"1.0\"?>\n<svg/>"), &["FILE:2:1", "<svg>", "<topology>"]);
    refused(from_text("<topology version=\"4.1\"/>"), &["FILE:1:1", "4.1", "export-xml-flags v2"]);
    refused(from_text("<topology version=\"-1\"/>"), &["`-1`"]);
    refused(from_text("<topology version=\"banana\"/>"), &["banana"]);
    refused(read(""), &["no object of type Machine"]);
    refused(read("<object type=\"Package\"/>"), &["FILE:2:1", "`Package`", "no Machine"]);
    refused(read("<object/>"), &["FILE:2:1", "no Machine"]);
    let two = format!("{}\n{}", machine(&pu("0")), machine(&pu("1")));
    refused(read(&two), &["FILE:3:1", "second outermost object"]);
}

/// Format 1 has other outermost objects than a Machine; what cannot enclose CPUs is refused there too.
#[test]
fn outermost_objects_of_format_1_are_checked() {
    let v1 = |body: &str| from_text(&format!("<topology>\n{body}\n</topology>"));
    let within = |kind: &str| format!("<object type=\"{kind}\">{}{}</object>", pu("0"), pu("1"));
    for kind in ["System", "Machine", "Group", "NUMANode", "Socket", "Core"] {
        assert_eq!(v1(&within(kind)).map(|t| t.seats.len()), Ok(2), "{kind}");
        if kind != "Machine" {
            refused(read(&within(kind)), &["FILE:2:1", kind, "no Machine"]);
        }
    }
    assert_eq!(v1(&pu("0")).map(|t| t.seats.len()), Ok(1), "a machine of one CPU");
    for kind in ["Bridge", "PCIDev", "Misc", "banana", ""] {
        refused(v1(&within(kind)), &["FILE:2:1", kind, "no Machine", "lstopo"]);
    }
    refused(v1("<object type=\"NUMANode\" os_index=\"0\"/>"), &["FILE:2:1", "no PU"]);
    refused(v1("<object type=\"NUMANode\" local_memory=\"x\"/>"), &["FILE:2:1", "local_memory"]);
    refused(v1(&(within("NUMANode") + &within("NUMANode"))), &["second outermost object"]);
    let cluster = format!("<object type=\"System\">{0}{0}</object>", machine(&pu("0")));
    refused(v1(&cluster), &["FILE:2:", "0 is described twice"]);
}

#[test]
fn a_machine_without_cpus_is_refused() {
    refused(read(&machine("")), &["FILE:2:1", "no PU"]);
    refused(read(&machine("<object type=\"Core\" os_index=\"0\"/>")), &["no PU"]);
}

#[test]
fn numbers_that_cannot_be_are_refused() {
    for cpu in ["", " ", "-5", "x", "1.5", "16384", "4294967295", "99999999999999999999", "0x1"] {
        refused(read(&machine(&pu(cpu))), &["FILE:2:24", "os_index"]);
    }
    refused(read(&machine("<object type=\"PU\"/>")), &["os_index"]);
    refused(read(&machine(&(pu("3") + &pu("3")))), &["3 is described twice"]);
    let cache = |size: &str| {
        machine(&format!("<object type=\"L2Cache\" cache_size=\"{size}\">{}</object>", pu("0")))
    };
    refused(read(&cache("-1")), &["cache_size=\"-1\""]);
    refused(read(&cache("99999999999999999999999")), &["cache_size"]);
    assert!(read(&cache("18446744073709551615")).is_ok());
    refused(read(&machine("<object type=\"NUMANode\" local_memory=\"much\"/>")), &["local_memory"]);
}

#[test]
fn masks_that_are_none_are_refused() {
    for mask in ["banana", "0x1;0x2", "-1", "0xf...g", "0x00000001,0xf...f"] {
        let body = format!("<object type=\"Machine\" cpuset=\"{mask}\">{}</object>", pu("0"));
        refused(read(&body), &["FILE:2:1", "cpuset"]);
    }
    let long = "ffffffff,".repeat(10_000);
    refused(
        read(&format!("<object type=\"Machine\" complete_cpuset=\"{long}f\">{}</object>", pu("0"))),
        &["16384"],
    );
    refused(read(&format!("{}<cpukind cpuset=\"?\"/>", machine(&pu("0")))), &["cpuset", "`?`"]);
}

#[test]
fn masks_may_be_absent_empty_or_endless() {
    assert_eq!(read(&machine(&pu("0"))).map(|t| t.seats.len()), Ok(1));
    for mask in ["", "0xf...f", "0xf...f,0x00000000", "0x0000000f,,0x1"] {
        let body = format!(
            "<object type=\"Machine\" allowed_cpuset=\"{mask}\" complete_cpuset=\"{mask}\">{}</object>",
            pu("0")
        );
        assert!(read(&body).is_ok(), "{mask}");
    }
    let all = read(&format!(
        "<object type=\"Machine\" allowed_cpuset=\"0xf...f,0x00000002\">{}{}</object>",
        pu("0"),
        pu("1")
    ));
    assert_eq!(all.map(|t| t.allowed_seats().len()), Ok(1));
}

#[test]
fn masks_that_contradict_the_nesting_are_noted() {
    let body = format!(
        "<object type=\"Machine\" cpuset=\"0x3\">{}</object>",
        "<object type=\"PU\" os_index=\"0\" cpuset=\"0x2\"/>"
    );
    let notes = read(&body).expect("usable").notes;
    assert!(notes.iter().any(|n| n.contains("contradict")), "{notes:?}");
}

#[test]
fn entities_are_refused_before_they_grow() {
    let bomb = "<!DOCTYPE topology [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;\">]>\n<topology>&b;</topology>";
    refused(from_text(bomb), &["FILE:1:21", "entities"]);
}

#[test]
fn nesting_without_end_is_refused() {
    for depth in [100, 20_000] {
        let body =
            format!("{}{}", "<object type=\"Group\">".repeat(depth), "</object>".repeat(depth));
        let result = read(&machine(&body));
        refused(result, &["nested"]);
    }
    let open = "<object type=\"Group\">".repeat(200_000);
    assert!(from_text(&format!("<topology>{open}")).is_err());
}

#[test]
fn many_memory_nodes_are_refused() {
    let nodes = "<object type=\"NUMANode\"/>".repeat(2000);
    refused(read(&machine(&(pu("0") + &nodes))), &["memory nodes"]);
}

#[test]
fn files_that_are_no_text_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("topology.xml");
    std::fs::write(&path, b"<topology>\n\xff\xfe</topology>").expect("writable");
    let message = Topology::from_file(&path).expect_err("not UTF-8").to_string();
    assert!(message.contains("topology.xml:2:1") && message.contains("UTF-8"), "{message}");
    let message = Topology::from_file(folder.path()).expect_err("a folder").to_string();
    assert!(message.contains("; "), "{message}");
    let message =
        Topology::from_file(&folder.path().join("none.xml")).expect_err("absent").to_string();
    assert!(message.contains("none.xml") && message.contains("no such file"), "{message}");
}

/// Pieces of topologies, in any order and nesting.
fn piece() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        Just("0".to_string()),
        "[0-9]{1,6}",
        "-?[0-9a-fx]{0,12}",
        Just("4294967295".into())
    ];
    let mask =
        prop_oneof!["0x[0-9a-f]{8}", "(0x)?[0-9a-f,]{0,40}", Just("0xf...f".into()), ".{0,8}"];
    let kind = prop_oneof![
        Just("PU"),
        Just("Core"),
        Just("Package"),
        Just("Socket"),
        Just("NUMANode"),
        Just("L3Cache"),
        Just("L1iCache"),
        Just("Cache"),
        Just("Group"),
        Just("Machine"),
        Just("LCache"),
        Just("L99999999999Cache"),
        Just("Bridge"),
    ];
    (kind, number.clone(), mask.clone(), number, mask).prop_map(|(kind, index, cpuset, size, allowed)| {
        let escape = |s: &str| s.replace('&', "").replace(['<', '"'], "");
        format!(
            "<object type=\"{kind}\" os_index=\"{}\" cpuset=\"{}\" depth=\"{}\" cache_size=\"{}\" allowed_cpuset=\"{}\">",
            escape(&index), escape(&cpuset), escape(&size), escape(&size), escape(&allowed)
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Any text at all.
    #[test]
    fn text_never_panics(text in "\\PC{0,300}") {
        let _ = from_text(&text);
    }

    /// Well-formed nonsense.
    #[test]
    fn well_formed_nonsense_never_panics(pieces in prop::collection::vec((piece(), any::<bool>()), 0..30), kind in piece()) {
        let mut body = String::new();
        let mut open = 0;
        for (piece, close) in pieces {
            body += &piece;
            if close { body += "</object>" } else { open += 1 }
        }
        body += &"</object>".repeat(open);
        let row = kind.replace("<object", "<cpukind").replace('>', "/>");
        let _ = read(&format!("{}{row}", machine(&body)));
    }

    /// A good file with some bytes changed or cut.
    #[test]
    fn damaged_files_never_panic(at in 0_usize..4000, byte in any::<u8>(), cut in prop::option::of(0_usize..4000)) {
        let mut bytes = include_bytes!("fixtures/hybrid-2p4e.xml").to_vec();
        let len = bytes.len();
        bytes[at % len] = byte;
        bytes.truncate(cut.unwrap_or(len));
        let _ = from_text(&String::from_utf8_lossy(&bytes));
    }

    /// A machine of any regular shape has the counts it was made with.
    #[test]
    fn regular_machines_have_their_counts(packages in 1_u32..5, cores in 1_u32..9, threads in 1_u32..9) {
        let mut objects = String::new();
        let mut next = 0;
        for _ in 0..packages {
            objects += "<object type=\"Package\">";
            for _ in 0..cores {
                objects += "<object type=\"Core\">";
                for _ in 0..threads {
                    objects += &pu(&next.to_string());
                    next += 1;
                }
                objects += "</object>";
            }
            objects += "</object>";
        }
        let t = read(&machine(&objects)).expect("well-formed");
        prop_assert_eq!(t.seats.len() as u32, packages * cores * threads);
        prop_assert_eq!(t.cores.len() as u32, packages * cores);
        prop_assert_eq!(t.pairs.len() as u32, if threads > 1 { packages * cores } else { 0 });
        prop_assert!(t.pairs.iter().all(|p| p.seats.len() as u32 == threads));
        prop_assert_eq!(t.kinds.len(), 1);
    }
}
