//! What comes with the program: completions, man pages, and the examples that open its help.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Ran, check_refused, files, root, run};

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

/// The examples of units: of the system and of a user, where each has the program and its sessions, and what systemd is asked.
const UNITS: [(&str, &str, &str, &[&str]); 2] = [
    ("packaging/hocket@.service", "/usr/bin/hocket", "/etc/hocket", &[]),
    ("packaging/user/hocket@.service", "%h/.local/bin/hocket", "%h/.config/hocket", &["--user"]),
];

/// What a line of a unit says.
fn says<'a>(unit: &'a str, key: &str) -> &'a str {
    let line = unit.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    line.unwrap_or_else(|| panic!("no {key} in {unit}"))
}

/// systemd itself reads the examples, with the program of this test in the place of the installed one.
#[test]
fn systemd_understands_the_units_and_the_program_their_command() {
    for (file, program, sessions, whose) in UNITS {
        let unit = text(&root().join(file));
        let start = says(&unit, "ExecStart").strip_prefix(&format!("{program} "));
        // Without a server and a session of that name: what is wrong then is the session alone.
        let start = start.unwrap().replace("jack", "virtual").replace(sessions, "/no/such");
        let start = start.replace("%i", "band");
        check_refused(&start.split(' ').collect::<Vec<_>>(), 2, &["/no/such/band.toml"]);

        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("hocket@band.service");
        let here = format!("ExecStart={}", env!("CARGO_BIN_EXE_hocket"));
        std::fs::write(&file, unit.replace(&format!("ExecStart={program}"), &here)).unwrap();
        let mut command = Command::new("systemd-analyze");
        let Ok(read) = command.args(whose).args(["verify", "--man=no"]).arg(&file).output() else {
            println!("SKIPPED systemd_understands_the_units: there is no systemd-analyze");
            return;
        };
        let said = String::from_utf8_lossy(&read.stderr);
        assert!(!said.contains("hocket@"), "{said}");
        // Without a manager of this user there is nothing to verify with.
        assert!(read.status.success() || !whose.is_empty(), "{said}");
    }
}

/// A service starts again where the sound server has ended, and plays nothing a second time for another reason.
#[test]
fn a_service_starts_again_only_where_the_device_has_ended() {
    let (_folder, file) = crate::support::one_track("");
    let play = ["play", &file, "--length", "0.1"];
    let with = |more: &[&str]| run(&[&play[..], more].concat());
    let not_whole = with(&["--log", "/dev/full"]);
    assert_eq!(not_whole.code, Some(4), "{}", not_whole.err);
    let stays_down = [
        run(&["play", "/no/such.toml"]),
        not_whole,
        with(&["--frames", "1", "--rate", "192000", "--max-misses", "0", "--priority", "0"]),
    ];
    let mut no_server = crate::support::hocket(&[&play[..], &["--device", "jack"]].concat());
    no_server.env("JACK_DEFAULT_SERVER", "hocket-nobody");
    let no_server: Ran = no_server.output().unwrap().into();
    assert_eq!(no_server.code, Some(3), "{}", no_server.err);
    for (file, ..) in UNITS {
        let unit = text(&root().join(file));
        let prevents: Vec<i32> = says(&unit, "RestartPreventExitStatus")
            .split(' ')
            .map(|code| code.parse().unwrap())
            .collect();
        assert_eq!(says(&unit, "Restart"), "on-failure");
        for ran in &stays_down {
            let code = ran.code.unwrap();
            assert!(code == 0 || prevents.contains(&code), "{file}: {code}: {}", ran.err);
        }
        assert_eq!(prevents, [1, 2, 4], "{file}");
        assert!(!prevents.contains(&no_server.code.unwrap()), "{file}");
        assert_eq!(says(&unit, "SuccessExitStatus"), "130");
        // Takes may wait 60 s for their disk and the log 10 s, and a server that hangs is left after 35 s.
        assert!(says(&unit, "TimeoutStopSec").parse::<u32>().unwrap() >= 105, "{file}");
        let start = says(&unit, "ExecStart");
        assert!(start.contains(" --number-takes ") && start.contains(" --log "), "{start}");
    }
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
        "share/hocket/sessions/impulses/small-room.wav",
        "share/hocket/sessions/soundfonts/small.sf2",
        "share/doc/hocket/LICENSE-MIT",
        "share/doc/hocket/hocket@.service",
        "share/doc/hocket/user/hocket@.service",
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

/// The command of docs/live.md that copies the examples, as written, after `make install PREFIX=~/.local`.
#[test]
fn the_examples_are_copied_as_the_page_says() {
    let page = text(&root().join("docs/live.md"));
    let copy = page.lines().find_map(|line| {
        let line = line.strip_prefix("    cp -r ~/")?;
        Some(format!("cp -r ~/{}", line.split(" #").next()?))
    });
    let tree = Tree::new();
    let (home, work) = (tree.at("home"), tree.at("work"));
    let mut script = Command::new(tree.at("tree/packaging/install.sh"));
    script.args(["install", "", home.join(".local").to_str().unwrap()]);
    let ran: Ran = script.env("CARGO_TARGET_DIR", tree.at("tree/target")).output().unwrap().into();
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    std::fs::create_dir(&work).unwrap();
    let line = format!("{} && ~/.local/bin/hocket check sessions/band.toml", copy.unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-c", &line]).current_dir(&work).env("HOME", &home);
    let ran: Ran = shell.output().unwrap().into();
    assert_eq!(ran.code, Some(0), "`{line}`: {}", ran.err);
    let installed = self::tree(&home.join(".local/share/hocket/sessions"));
    assert_eq!(self::tree(&work.join("sessions")), installed);
}

/// A copy of what the script installs, with the program of this test, and the folder it is installed to.
struct Tree {
    folder: tempfile::TempDir,
}

impl Tree {
    fn new() -> Tree {
        let tree = Tree { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir_all(tree.at("tree/target/dist")).unwrap();
        let (program, place) = (env!("CARGO_BIN_EXE_hocket"), tree.at("tree/target/dist/hocket"));
        // Splitting off all symbols of a test's program takes half a minute each time.
        let small = Command::new("objcopy").args(["--strip-all", program]).arg(&place).status();
        if !small.is_ok_and(|status| status.success()) {
            std::fs::copy(program, place).unwrap();
        }
        let names = ["packaging", "sessions", "README.md", "CHANGELOG.md"];
        let copied = names.into_iter().chain(["LICENSE-MIT", "LICENSE-APACHE"]);
        let mut copy = Command::new("cp");
        copy.arg("-r").args(copied.map(|name| root().join(name))).arg(tree.at("tree"));
        assert!(copy.status().unwrap().success());
        tree
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn session(&self, name: &str) -> PathBuf {
        self.at("root/opt/share/hocket/sessions").join(name)
    }

    fn list(&self) -> PathBuf {
        self.at("root/opt/share/hocket/installed.txt")
    }

    fn run(&self, what: &str) -> Ran {
        let mut script = Command::new(self.at("tree/packaging/install.sh"));
        script.args([what, self.at("root").to_str().unwrap(), "/opt"]);
        script.envs([("DEBFULLNAME", "Somebody"), ("DEBEMAIL", "somebody@example.org")]);
        script.env("CARGO_TARGET_DIR", self.at("tree/target")).output().unwrap().into()
    }

    /// Installs or removes; what it said of files that were edited.
    #[track_caller]
    fn done(&self, what: &str) -> Vec<String> {
        let ran = self.run(what);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        ran.out.lines().filter(|line| line.contains("edited")).map(Into::into).collect()
    }
}

/// The regular files of a folder whose names match the last part of the path, which may have one star.
fn matching(path: &Path) -> Vec<String> {
    let pattern = path.file_name().unwrap().to_str().unwrap();
    let fits = |name: &str| match pattern.split_once('*') {
        None => name == pattern,
        Some((begin, end)) => {
            !name.starts_with('.') && name.starts_with(begin) && name.ends_with(end)
        }
    };
    let entries = std::fs::read_dir(path.parent().unwrap()).into_iter().flatten();
    let names = entries.map(Result::unwrap).filter(|entry| entry.path().is_file());
    names.map(|entry| entry.file_name().into_string().unwrap()).filter(|name| fits(name)).collect()
}

/// The Debian package without cargo-deb: every file that the manifest names is there once `make deb` has made its own, and the
/// examples in it are those of `make install`.
#[test]
fn what_the_package_names_is_there_and_has_every_example() {
    let tree = Tree::new();
    let staged = tree.run("stage");
    assert_eq!(staged.code, Some(0), "{}", staged.err);
    let manifest: toml::Table = text(&root().join("crates/hocket/Cargo.toml")).parse().unwrap();
    let mut held: Vec<String> = Vec::new();
    for asset in manifest["package"]["metadata"]["deb"]["assets"].as_array().unwrap() {
        let [from, to] = [0, 1].map(|at| asset[at].as_str().unwrap());
        let from = from.strip_prefix("../../").expect("a path from the crate's folder");
        let path = match from.strip_prefix("target/package/") {
            Some(made) => tree.at("root").join(made),
            None => root().join(from),
        };
        let found = matching(&path);
        assert!(!found.is_empty(), "{from} names no file");
        let into_folder = |name: String| match to.ends_with('/') {
            true => format!("{to}{name}"),
            false => to.to_owned(),
        };
        held.extend(found.into_iter().map(into_folder));
    }
    check_fields(&tree, &manifest);
    std::fs::remove_dir_all(tree.at("root")).unwrap();
    tree.done("install");
    let examples = |all: &[String], folder: &str| {
        let names = all.iter().filter_map(|name| name.strip_prefix(folder)).map(str::to_owned);
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    };
    let installed = examples(&self::tree(&tree.at("root")), "opt/share/hocket/sessions/");
    assert_eq!(examples(&held, "usr/share/hocket/sessions/"), installed);
    assert!(installed.len() > 20, "{installed:?}");
}

/// What Debian demands of a package besides its files: a changelog of this version by somebody with an address, which Debian's
/// own tool reads, and a description that is no sentence.
fn check_fields(tree: &Tree, manifest: &toml::Table) {
    let package = &manifest["package"];
    let description = package["description"].as_str().unwrap();
    let article = ["A ", "An ", "The "].into_iter().find(|it| description.starts_with(it));
    assert!(article.is_none() && !description.ends_with('.'), "{description}");
    let deb = &package["metadata"]["deb"];
    assert_eq!(deb["changelog"].as_str(), Some("../../target/package/changelog"));
    let changelog = tree.at("root/changelog");
    let said = text(&changelog);
    let version = env!("CARGO_PKG_VERSION");
    assert!(said.starts_with(&format!("hocket ({version}-1) ")), "{said}");
    let maintainer = tree.run("maintainer").out;
    let maintainer = maintainer.trim();
    assert_eq!(maintainer, "Somebody <somebody@example.org>");
    assert!(said.contains(&format!("\n -- {maintainer}  ")), "{said}");
    assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
    let mut parse = Command::new("dpkg-parsechangelog");
    match parse.arg("-l").arg(&changelog).args(["--all", "-S", "Maintainer"]).output() {
        Err(_) => println!("SKIPPED what_the_package_names_is_there: no dpkg-parsechangelog"),
        Ok(read) => {
            let warned = String::from_utf8_lossy(&read.stderr);
            assert!(read.status.success() && warned.is_empty(), "{warned}");
            assert_eq!(String::from_utf8_lossy(&read.stdout).trim(), maintainer);
        }
    }
}

/// Adds a line, as a user does who edits a session.
fn edit(path: &Path, line: &str) -> String {
    let text = std::fs::read_to_string(path).unwrap() + line;
    std::fs::write(path, &text).unwrap();
    text
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn an_example_that_was_edited_survives_installs_and_the_removal() {
    let tree = Tree::new();
    assert!(tree.done("install").is_empty());
    let (band, new) = (tree.session("band.toml"), tree.session("band.toml.new"));
    let mine = edit(&band, "# mine\n");
    assert!(tree.done("install").is_empty(), "this version has nothing new");
    assert!(text(&band) == mine && !new.exists());

    let theirs = edit(&tree.at("tree/sessions/band.toml"), "# theirs\n");
    let notes = edit(&tree.at("tree/sessions/notes.toml"), "# theirs\n");
    let said = tree.done("install");
    assert!(said.len() == 1 && said[0].contains("band.toml.new"), "{said:?}");
    assert_eq!((text(&band), text(&new)), (mine.clone(), theirs));
    assert_eq!(text(&tree.session("notes.toml")), notes, "nobody edited this one");
    assert!(tree.done("install").is_empty() && new.exists());

    assert_eq!(tree.done("uninstall").len(), 1);
    assert_eq!(text(&band), mine);
    assert_eq!(self::tree(&tree.at("root")), ["opt/share/hocket/sessions/band.toml"]);
    // Nobody knows any more what was installed here, so this is somebody's.
    assert_eq!(tree.done("install").len(), 1);
    assert!(text(&band) == mine && new.exists());
}

#[test]
fn an_offered_example_that_was_taken_or_edited_is_treated_so() {
    let tree = Tree::new();
    tree.done("install");
    let (band, new) = (tree.session("band.toml"), tree.session("band.toml.new"));
    let mine = edit(&band, "# mine\n");
    edit(&tree.at("tree/sessions/band.toml"), "# theirs\n");
    tree.done("install");
    let edited = edit(&new, "# mine, too\n");
    edit(&tree.at("tree/sessions/band.toml"), "# theirs again\n");
    assert!(tree.done("install")[0].contains("is not installed"));
    assert_eq!((text(&band), text(&new)), (mine, edited));

    std::fs::remove_file(&new).unwrap();
    std::fs::copy(tree.at("tree/sessions/band.toml"), &band).unwrap();
    assert!(tree.done("install").is_empty());
    assert!(tree.done("uninstall").is_empty());
    assert!(self::tree(&tree.at("root")).is_empty());
}

/// The first versions kept names and no checksums.
#[test]
fn an_old_list_of_names_protects_the_examples() {
    let tree = Tree::new();
    tree.done("install");
    let names: String =
        text(&tree.list()).lines().map(|line| format!("{}\n", &line[66..])).collect();
    std::fs::write(tree.list(), names + "share/hocket/installed.txt\n").unwrap();
    let band = tree.session("band.toml");
    let mine = edit(&band, "# mine\n");
    let program = tree.at("tree/target/dist/hocket");
    let newer = std::fs::OpenOptions::new().append(true).open(program);
    newer.unwrap().write_all(b"another build").unwrap();
    let said = tree.done("install");
    assert!(said.len() == 1 && said[0].contains("may have been edited"), "{said:?}");
    assert_eq!(text(&band), mine);
    assert_eq!(tree.done("uninstall").len(), 1);
    assert_eq!(self::tree(&tree.at("root")), ["opt/share/hocket/sessions/band.toml"]);
}

#[test]
fn a_program_of_somebody_else_is_refused_and_nothing_is_installed() {
    let tree = Tree::new();
    let there = tree.at("root/opt/bin/hocket");
    std::fs::create_dir_all(there.parent().unwrap()).unwrap();
    std::fs::write(&there, "somebody else's").unwrap();
    let refused = tree.run("install");
    assert_eq!(refused.code, Some(3), "{}", refused.err);
    for word in ["opt/bin/hocket: ", "nothing was changed", "PREFIX"] {
        assert!(refused.err.contains(word), "no '{word}' in {}", refused.err);
    }
    assert_eq!(self::tree(&tree.at("root")), ["opt/bin/hocket"]);
    assert_eq!(text(&there), "somebody else's");
}
