//! Breaks each rule on a copy of this workspace's manifests and sees it refused by name.

mod support;

use support::Copy;

#[test]
fn an_untouched_copy_passes() {
    Copy::new().check_passes("check");
}

#[test]
fn a_leaf_must_not_learn_of_another() {
    let copy = Copy::new();
    copy.add_dependency("hocket-plan", "hocket-dsp", "path = \"../hocket-dsp\"");
    copy.check_refuses("check-deps", &["hocket-plan", "hocket-dsp", "workspace-edge"]);
}

#[test]
fn no_leaf_may_learn_of_any_other_crate() {
    for leaf in ["plan", "dsp", "rt", "machine", "trace", "media"] {
        let copy = Copy::new();
        let leaf = format!("hocket-{leaf}");
        copy.add_dependency(&leaf, "hocket-engine", "path = \"../hocket-engine\"");
        copy.check_refuses("check-deps", &[&leaf, "hocket-engine", "workspace-edge"]);
    }
}

#[test]
fn renaming_and_making_optional_hide_nothing() {
    let copy = Copy::new();
    let says = "package = \"hocket-dsp\"\npath = \"../hocket-dsp\"\noptional = true";
    copy.add_dependency("hocket-plan", "sound", says);
    copy.check_refuses("check-deps", &["hocket-plan", "hocket-dsp", "workspace-edge"]);
}

#[test]
fn a_leafs_tests_keep_to_the_same_edges() {
    let copy = Copy::new();
    copy.add_section(
        "hocket-trace",
        "[dev-dependencies.hocket-engine]\npath = \"../hocket-engine\"",
    );
    copy.check_refuses("check-deps", &["hocket-trace", "in its tests", "workspace-edge"]);
}

#[test]
fn the_engine_must_not_learn_of_files_or_the_lab() {
    for joiner in ["session", "media", "lab"] {
        let copy = Copy::new();
        let joiner = format!("hocket-{joiner}");
        copy.add_dependency("hocket-engine", &joiner, &format!("path = \"../{joiner}\""));
        copy.check_refuses("check-deps", &["hocket-engine", &joiner, "workspace-edge"]);
    }
}

#[test]
fn serde_stays_at_the_edges() {
    for inside in ["plan", "dsp", "rt", "media", "engine"] {
        let copy = Copy::new();
        let inside = format!("hocket-{inside}");
        copy.add_dependency(&inside, "serde_json", "workspace = true");
        copy.check_refuses("check-deps", &[&inside, "serde_json", "serde-at-the-edges"]);
    }
}

#[test]
fn the_plan_and_the_processors_take_no_foreign_crate() {
    for pure in ["hocket-plan", "hocket-dsp"] {
        let copy = Copy::new();
        copy.add_dependency(pure, "libc", "workspace = true");
        copy.check_refuses("check-deps", &[pure, "libc", "external-list"]);
    }
}

#[test]
fn loom_stands_under_its_own_cfg_only() {
    let copy = Copy::new();
    copy.set_manifest("hocket-rt", "[dependencies]\nloom = \"0.7\"");
    copy.check_refuses("check-deps", &["hocket-rt", "loom", "cfg(loom)", "external-list"]);
    copy.set_manifest("hocket-rt", "[target.'cfg(loom)'.dependencies]\nloom = \"0.7\"");
    copy.check_passes("check-deps");
}

#[test]
fn the_plan_has_no_threads_clocks_files_or_network() {
    for module in ["thread", "time", "fs", "net", "process", "env", "io"] {
        let copy = Copy::new();
        copy.add_source("hocket-plan", &format!("use std::{module};\n"));
        let path = format!("std::{module}");
        copy.check_refuses("check-deps", &["hocket-plan", "src/added.rs:1", &path, "std-use"]);
    }
}

#[test]
fn processors_have_no_locks() {
    let copy = Copy::new();
    copy.add_source("hocket-dsp", "\nuse std::{\n    sync::{Arc, Mutex},\n};\n");
    copy.check_refuses("check-deps", &["src/added.rs:3", "std::sync::Mutex", "std-use"]);
}

#[test]
fn a_new_crate_starts_with_a_decision() {
    let copy = Copy::new();
    copy.add_crate("hocket-looper");
    copy.check_refuses("check-deps", &["hocket-looper", "rules.rs", "unlisted-crate"]);
}

#[test]
fn a_crate_needs_a_subject() {
    for ending in ["core", "common", "utils"] {
        let copy = Copy::new();
        let name = format!("hocket-{ending}");
        copy.add_crate(&name);
        copy.check_refuses("check-deps", &[&name, "crate-with-a-subject"]);
    }
}

#[test]
fn unsafe_code_has_its_place() {
    let code = "// SAFETY: none.\npub fn f() { unsafe { g() } }\n";
    let copy = Copy::new();
    copy.add_source("hocket-rt", code);
    copy.check_passes("check-safety");
    copy.add_source("hocket-plan", code);
    copy.check_refuses("check-safety", &["src/added.rs:2", "unsafe-has-its-place"]);
}

#[test]
fn what_allocates_in_the_block_path_is_seen() {
    let copy = Copy::new();
    copy.check_passes("check-block");
    copy.write("crates/hocket-engine/src/block/one.rs", "fn f() {\n    vec![0.0; 64];\n}\n");
    copy.check_refuses("check-block", &["block/one.rs:2", "block-path"]);
}

#[test]
fn a_crate_that_stops_forbidding_unsafe_code_is_seen() {
    let copy = Copy::new();
    copy.write("crates/hocket-plan/src/lib.rs", "//! Open.\n");
    copy.check_refuses("check-safety", &["hocket-plan", "forbid(unsafe_code)"]);
}

#[test]
fn a_crate_that_leaves_the_workspaces_lints_is_seen() {
    let copy = Copy::new();
    copy.replace("crates/hocket-plan/Cargo.toml", "[lints]\nworkspace = true\n", "");
    copy.check_refuses("check-safety", &["hocket-plan", "workspace-lints"]);
}

#[test]
fn a_machines_path_in_any_text_file_is_seen() {
    let copy = Copy::new();
    copy.write("docs/run.md", &format!("# Run\ncd {}hocket\n", home()));
    copy.check_refuses("check-words", &["docs/run.md:2", "no-machine-paths"]);
}

#[test]
fn a_hard_phrase_in_a_plain_text_is_seen() {
    let copy = Copy::new();
    copy.write("docs/play.md", &format!("# Playing\nwhat {} here\n", ["is", "told"].join(" ")));
    copy.check_refuses("check-words", &["docs/play.md:2", "plain-english"]);
}

#[test]
fn pictures_and_sound_are_not_read_as_text() {
    let copy = Copy::new();
    copy.write("docs/run.bin", &format!("\0{}hocket", home()));
    copy.check_passes("check-words");
}

#[test]
fn bad_usage_is_told_apart_from_findings() {
    let copy = Copy::new();
    assert_eq!(copy.run("check-everything").status.code(), Some(2));
    std::fs::remove_file(copy.path("Cargo.toml")).expect("the copy has a root manifest");
    assert_eq!(copy.run("check-deps").status.code(), Some(3));
}

/// A folder that no file may name, this one included.
fn home() -> String {
    ["", "home", "somebody", ""].join("/")
}
