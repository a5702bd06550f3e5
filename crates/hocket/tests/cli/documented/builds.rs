//! Whether what a command of `make` or `cargo` names is there. Nothing is built.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

use super::pages::is_variable;
use crate::support::root;

/// What is not there; empty where all is.
pub fn missing(command: &str) -> Vec<String> {
    let words = command.split_whitespace().skip_while(|word| is_variable(word));
    let words: Vec<&str> = words.collect();
    match words[0] {
        "make" => missing_of_make(&words[1..]),
        _ => Cargo::new(&words[1..]).missing(),
    }
}

fn missing_of_make(words: &[&str]) -> Vec<String> {
    let (folder, targets) = match words {
        ["-C", folder, targets @ ..] => (*folder, targets),
        _ => (".", words),
    };
    let Ok(makefile) = std::fs::read_to_string(root().join(folder).join("Makefile")) else {
        return vec![format!("{folder}/Makefile")];
    };
    let is_target = |name: &str| makefile.lines().any(|line| line.starts_with(&format!("{name}:")));
    let targets = targets.iter().filter(|word| !is_variable(word) && !is_target(word));
    targets.map(|target| format!("target {target}")).collect()
}

/// A command line of cargo.
struct Cargo<'a> {
    subcommand: &'a str,
    /// Before `--`.
    own: &'a [&'a str],
    /// Behind it: for the program that is run.
    passed: &'a [&'a str],
}

const SUBCOMMANDS: [&str; 7] = ["bench", "build", "doc", "install", "run", "test", "tree"];

/// Options with a value in the next word.
const WITH_VALUE: [&str; 8] =
    ["-p", "-e", "--features", "--format", "--path", "--bench", "--example", "--test"];

impl<'a> Cargo<'a> {
    fn new(words: &'a [&'a str]) -> Cargo<'a> {
        let (subcommand, rest) = words.split_first().unwrap_or((&"", &[]));
        let (own, passed) = match rest.iter().position(|word| *word == "--") {
            Some(at) => (&rest[..at], &rest[at + 1..]),
            None => (rest, &[][..]),
        };
        Cargo { subcommand, own, passed }
    }

    fn missing(&self) -> Vec<String> {
        if !SUBCOMMANDS.contains(&self.subcommand) {
            return vec![format!("cargo {}", self.subcommand)];
        }
        if self.packages().is_empty() {
            return vec![format!("package {}", self.value("-p").unwrap_or_default())];
        }
        let mut missing = self.missing_targets();
        missing.extend(self.missing_features());
        missing.extend(self.missing_tests());
        missing.extend(self.missing_passed());
        let path = self.value("--path");
        let is_package = |path: &&str| root().join(path).join("Cargo.toml").is_file();
        missing
            .extend(path.filter(|path| !is_package(path)).map(|path| format!("package in {path}")));
        missing
    }

    fn value(&self, option: &str) -> Option<&'a str> {
        let at = self.own.iter().position(|word| *word == option)?;
        self.own.get(at + 1).copied()
    }

    /// The named package, or all of them.
    fn packages(&self) -> Vec<&'static Value> {
        let name = self.value("-p");
        workspace()
            .iter()
            .filter(|package| name.is_none_or(|name| package["name"] == name))
            .collect()
    }

    /// Every target of a kind in them.
    fn targets(&self, kind: &str) -> impl Iterator<Item = &'static Value> {
        let all = self.packages().into_iter().flat_map(|package| package["targets"].as_array());
        let is_of_kind = move |target: &&Value| {
            target["kind"].as_array().is_some_and(|all| all.contains(&kind.into()))
        };
        all.flatten().filter(is_of_kind).collect::<Vec<_>>().into_iter()
    }

    fn missing_targets(&self) -> Vec<String> {
        let named = ["bench", "example", "test"].into_iter().filter_map(|kind| {
            let name = self.value(&format!("--{kind}"))?;
            let is_there = self.targets(kind).any(|target| target["name"] == name);
            (!is_there).then(|| format!("{kind} {name}"))
        });
        named.collect()
    }

    fn missing_features(&self) -> Vec<String> {
        let is_there = |feature: &str| {
            let (package, feature) = feature.split_once('/').unwrap_or(("", feature));
            let mut packages = workspace().iter().filter(|known| match package {
                "" => self.packages().contains(known),
                _ => known["name"] == package,
            });
            packages.any(|known| known["features"].get(feature).is_some())
        };
        let features = self.value("--features").into_iter().flat_map(|all| all.split(','));
        features
            .filter(|feature| !is_there(feature))
            .map(|name| format!("feature {name}"))
            .collect()
    }

    /// Words that choose tests: a module or a test has to bear each.
    fn missing_tests(&self) -> Vec<String> {
        if self.subcommand != "test" {
            return Vec::new();
        }
        let words = self.own.iter().enumerate();
        let words = words.filter(|(at, word)| {
            let is_value = *at > 0 && WITH_VALUE.contains(&self.own[at - 1]);
            !is_value && !word.starts_with('-')
        });
        let sources: Vec<String> =
            self.packages().into_iter().flat_map(|package| sources(&folder_of(package))).collect();
        let is_there = |word: &str| {
            let name = word.trim_end_matches("::");
            let (module, test) = (format!("mod {name}"), format!("fn {name}"));
            sources.iter().any(|source| source.contains(&module) || source.contains(&test))
        };
        words.filter(|(_, word)| !is_there(word)).map(|(_, word)| format!("test {word}")).collect()
    }

    /// Options and subcommands of a program of this repository.
    fn missing_passed(&self) -> Vec<String> {
        if self.value("--bench") == Some("executors") {
            let passed: Vec<String> = self.passed.iter().map(ToString::to_string).collect();
            return hocket_lab::executors::Options::parse(&passed).err().into_iter().collect();
        }
        let sources: Vec<String> = match (self.subcommand, self.value("--bench")) {
            ("bench", Some(name)) => {
                let target = self.targets("bench").find(|target| target["name"] == name);
                target.map(source_of).into_iter().collect()
            }
            ("run", _) => self
                .packages()
                .into_iter()
                .flat_map(|package| sources(&folder_of(package)))
                .collect(),
            _ => return Vec::new(),
        };
        let is_there = |word: &str| {
            let literal = format!("\"{word}\"");
            sources.iter().any(|source| source.contains(&literal))
        };
        let first = self.passed.iter().take(1);
        let options = self.passed.iter().skip(1).filter(|word| word.starts_with("--"));
        first
            .chain(options)
            .filter(|word| !is_there(word))
            .map(|word| format!("argument {word}"))
            .collect()
    }
}

/// What cargo says of the packages of this workspace.
fn workspace() -> &'static [Value] {
    static METADATA: OnceLock<Value> = OnceLock::new();
    let metadata = METADATA.get_or_init(|| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]);
        let output = cargo.current_dir(root()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    });
    metadata["packages"].as_array().unwrap()
}

fn folder_of(package: &Value) -> PathBuf {
    Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap().to_owned()
}

fn source_of(target: &Value) -> String {
    std::fs::read_to_string(target["src_path"].as_str().unwrap()).unwrap()
}

/// Every file of Rust in a folder and those below.
fn sources(folder: &Path) -> Vec<String> {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let text_of = |path: PathBuf| match path.is_dir() {
        true => sources(&path),
        false if path.extension().is_some_and(|ext| ext == "rs") => {
            vec![std::fs::read_to_string(path).unwrap()]
        }
        false => Vec::new(),
    };
    paths.flat_map(text_of).collect()
}

#[test]
fn what_a_command_of_make_or_cargo_names_is_looked_up() {
    for there in [
        "make install PREFIX=~/.local",
        "make -C examples/c",
        "cargo bench --bench executors -- --random 20 --seed 1",
        "cargo bench -p hocket --bench disks -- locate",
        "cargo run -q -p xtask -- check",
        "cargo test -p hocket-lab --features hostile store::",
        "VAR=1 cargo test -p hocket-engine --test engine editing -- --show-output",
        "cargo install --locked --path crates/hocket",
    ] {
        assert_eq!(missing(there), [""; 0], "{there}");
    }
    for gone in [
        "make coffee",
        "make -C examples/tea",
        "cargo brew -p hocket",
        "cargo bench --bench nothing",
        "cargo bench -p hocket --bench executors",
        "cargo bench --bench executors -- --at-random 20",
        "cargo bench -p hocket --bench disks -- locates",
        "cargo run -p xtask -- tea",
        "cargo test -p hocket-tea",
        "cargo test -p hocket-lab --features tea",
        "cargo test -p hocket-lab tea::",
        "cargo install --path crates/tea",
    ] {
        assert!(!missing(gone).is_empty(), "{gone}");
    }
}
