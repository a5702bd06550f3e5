//! What comes with the program: completions, man pages, and the examples that open its help.

use std::path::Path;
use std::process::Command;

use crate::support::{check_refused, files, root, run};

#[test]
fn the_help_opens_with_three_examples_that_are_whole_commands() {
    let help = run(&["--help"]).out;
    let (before, _) = help.split_once("Usage:").expect("the help has a usage");
    let examples: Vec<&str> =
        before.lines().filter_map(|line| line.strip_prefix("  hocket ")).collect();
    assert_eq!(examples.len(), 3, "{before}");
    for example in examples {
        let name = example.split_whitespace().next().unwrap();
        assert_eq!(run(&[name, "--help"]).code, Some(0), "{example}");
    }
}

#[test]
fn every_command_has_a_man_page_and_hidden_ones_have_none() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(run(&["generate", folder.path().to_str().unwrap()]).code, Some(0));
    let pages = files(&folder.path().join("man"));
    for name in [
        "hocket",
        "hocket-bench",
        "hocket-check",
        "hocket-devices",
        "hocket-doctor",
        "hocket-lab",
        "hocket-lab-run",
        "hocket-play",
        "hocket-session-convert",
    ] {
        assert!(pages.contains(&format!("{name}.1")), "{name} is not among {pages:?}");
    }
    for hidden in ["generate", "child"] {
        assert!(pages.iter().all(|page| !page.contains(hidden)), "{hidden} is among {pages:?}");
    }
    let page = std::fs::read_to_string(folder.path().join("man/hocket-render.1")).unwrap();
    for word in [".TH ", "SYNOPSIS", "OPTIONS", "band.flac", "quiet"] {
        assert!(page.contains(word), "no '{word}' in\n{page}");
    }
    let wanted = ["bash/hocket", "zsh/_hocket", "fish/hocket.fish"];
    assert!(wanted.iter().all(|name| folder.path().join(name).is_file()));
}

/// Bash itself reads its completions and offers commands, options and values.
#[test]
fn bash_completes_commands_options_and_values() {
    let Ok(found) = Command::new("bash").arg("--version").output() else {
        println!("SKIPPED bash_completes_commands_options_and_values: there is no bash");
        return;
    };
    assert!(found.status.success());
    let complete = |typed: &str| {
        let script = "eval \"$COMPLETIONS\"; COMP_WORDS=($TYPED); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); \
                      _hocket hocket \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD - 1]}\"; \
                      printf '%s\\n' \"${COMPREPLY[@]}\"";
        let ran = Command::new("bash")
            .args(["--norc", "-c", script])
            .env("COMPLETIONS", run(&["completions", "bash"]).out)
            .env("TYPED", typed)
            .output()
            .unwrap();
        String::from_utf8_lossy(&ran.stdout).into_owned()
    };
    let offered = |typed: &str, word: &str| {
        let words = complete(typed);
        assert!(
            words.lines().any(|line| line.trim() == word),
            "'{typed}' offers no {word}: {words}"
        );
    };
    offered("hocket re", "render");
    offered("hocket lab ru", "run");
    offered("hocket play --sched", "--schedule");
    offered("hocket render --format 3", "32f");
    assert!(!complete("hocket ").contains("generate"), "a hidden command is offered");
}

#[test]
fn completions_are_printed_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = run(&["completions", shell]);
        assert!(ran.code == Some(0) && ran.out.contains("hocket"), "{shell}: {}", ran.err);
    }
}

/// systemd itself reads the example of a unit, with the program of this test in the place of the installed one.
#[test]
fn systemd_understands_the_unit_and_the_program_its_command() {
    let unit = std::fs::read_to_string(root().join("packaging/hocket@.service")).unwrap();
    let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/bin/hocket "));
    // Without a server and a session of that name: what is wrong then is the session alone.
    let start = start.unwrap().replace("jack", "virtual").replace("/etc/hocket/%i", "/no/such");
    check_refused(&start.split(' ').collect::<Vec<_>>(), 2, &["/no/such.toml"]);

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hocket@band.service");
    let here = unit
        .replace("ExecStart=/usr/bin/hocket", concat!("ExecStart=", env!("CARGO_BIN_EXE_hocket")));
    std::fs::write(&file, here).unwrap();
    let Ok(read) = Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&file).output()
    else {
        println!("SKIPPED systemd_understands_the_unit: there is no systemd-analyze");
        return;
    };
    let said = String::from_utf8_lossy(&read.stderr);
    assert!(read.status.success() && !said.contains("hocket@"), "{said}");
}

/// Every regular file below a folder, relative to it.
fn tree(root: &Path) -> Vec<String> {
    let mut open = vec![root.to_path_buf()];
    let mut found = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap().is_dir() {
                true => open.push(entry.path()),
                false => found.push(entry.path().strip_prefix(root).unwrap().display().to_string()),
            }
        }
    }
    found.sort();
    found
}

/// What `make install` and `make uninstall` do after the build, with the program of this test in the build's place.
#[test]
fn what_is_installed_works_and_is_removed_without_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    let (target, destination) = (folder.path().join("target"), folder.path().join("root"));
    std::fs::create_dir_all(target.join("dist")).unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_hocket"), target.join("dist/hocket")).unwrap();
    let there = destination.join("opt/share/man/man1/other.1");
    std::fs::create_dir_all(there.parent().unwrap()).unwrap();
    std::fs::write(&there, "somebody else's").unwrap();
    let script = |what: &str| {
        let mut command = Command::new(root().join("packaging/install.sh"));
        let output = command
            .args([what, destination.to_str().unwrap(), "/opt"])
            .env("CARGO_TARGET_DIR", &target)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    script("install");
    let installed = tree(&destination);
    for name in [
        "bin/hocket",
        "share/man/man1/hocket.1",
        "share/man/man1/hocket-lab-run.1",
        "share/bash-completion/completions/hocket",
        "share/zsh/site-functions/_hocket",
        "share/fish/vendor_completions.d/hocket.fish",
        "share/hocket/sessions/band.toml",
        "share/hocket/sessions/audio/PROVENANCE.md",
        "share/hocket/sessions/midi/bass.mid",
        "share/doc/hocket/LICENSE-MIT",
    ] {
        assert!(installed.contains(&format!("opt/{name}")), "{name} is missing in {installed:#?}");
    }
    let at = |name: &str| destination.join("opt").join(name);
    let band = at("share/hocket/sessions/band.toml");
    let ran = Command::new(at("bin/hocket")).arg("check").arg(band).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let (small, whole) = (at("bin/hocket"), target.join("dist/hocket"));
    if Command::new("objcopy").arg("--version").output().is_ok() {
        let size = |path: &Path| std::fs::metadata(path).unwrap().len();
        assert!(size(&small) < size(&whole) && at("bin/.debug/hocket.debug").is_file());
    }
    script("install");
    assert_eq!(tree(&destination), installed, "a second time changes nothing");
    script("uninstall");
    assert_eq!(tree(&destination), ["opt/share/man/man1/other.1"]);
}
