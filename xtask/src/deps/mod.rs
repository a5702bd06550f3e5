//! Every crate depends only on what its row in the table allows, and the pure crates stay away
//! from threads, clocks and files.
//!
//! The table is [`rules::CRATES`]. A crate without a row is refused as well, so a new crate starts
//! with a decision about its neighbours.

mod rules;
mod std_use;

use std::path::Path;

use crate::finding::{Finding, relative};
use crate::manifest::{self, Dependency, Kind, Package};
use crate::{repo, tokens};
use rules::{CrateRule, External};

/// Checks every package of the workspace at `root`.
pub fn check(root: &Path) -> Result<Vec<Finding>, String> {
    let root = &root.canonicalize().map_err(|error| format!("{}: {error}", root.display()))?;
    let mut findings = Vec::new();
    for package in manifest::packages(root)? {
        findings.extend(forbidden_name(root, &package));
        match rules::of(&package.name) {
            Some(rule) => findings.extend(check_package(root, &package, rule)?),
            None => findings.push(unlisted(root, &package)),
        }
    }
    Ok(findings)
}

fn check_package(root: &Path, package: &Package, rule: &CrateRule) -> Result<Vec<Finding>, String> {
    let refused = |dependency| refusal(root, package, rule, dependency);
    let mut findings: Vec<Finding> = package.dependencies.iter().filter_map(refused).collect();
    if !rule.std_banned.is_empty() {
        findings.extend(check_std_use(root, package, rule)?);
    }
    Ok(findings)
}

/// Why this dependency is refused, if it is.
fn refusal(root: &Path, package: &Package, rule: &CrateRule, dep: &Dependency) -> Option<Finding> {
    let (name, remedy) = broken_rule(rule, dep)?;
    let behind = if dep.kind == Kind::Dev { " in its tests" } else { "" };
    Some(Finding {
        file: relative(root, &package.manifest),
        line: package.line_of(&dep.name),
        rule: name,
        what: format!("{} must not depend on {}{behind}", package.name, dep.name),
        remedy,
    })
}

fn broken_rule(rule: &CrateRule, dep: &Dependency) -> Option<(&'static str, String)> {
    if rules::is_ours(&dep.name) {
        return edge(rule, dep).map(|remedy| ("workspace-edge", remedy));
    }
    if dep.kind == Kind::Dev {
        return None;
    }
    if rules::is_serialiser(&dep.name) && !rule.serde {
        return Some(("serde-at-the-edges", rules::serde_remedy()));
    }
    external(rule, dep).map(|remedy| ("external-list", remedy))
}

fn edge(rule: &CrateRule, dep: &Dependency) -> Option<String> {
    let for_tests = dep.kind == Kind::Dev && rule.workspace_dev.contains(&dep.name.as_str());
    if rule.workspace.contains(&dep.name.as_str()) || for_tests {
        return None;
    }
    Some(format!("it may know {}, because {}", list(rule.workspace), rule.because))
}

fn external(rule: &CrateRule, dep: &Dependency) -> Option<String> {
    let External::Only(allowed) = rule.external else {
        return None;
    };
    let names: Vec<&str> = allowed.iter().map(|allow| allow.name).collect();
    match allowed.iter().find(|allow| allow.name == dep.name) {
        None => Some(format!("it may use {}, because {}", list(&names), rule.because)),
        Some(allow) => match allow.only_under {
            Some(target) if dep.target.as_deref() != Some(target) => {
                Some(format!("only under [target.'{target}'.dependencies]"))
            }
            _ => None,
        },
    }
}

/// Refuses the banned modules of the standard library in the package's own sources.
fn check_std_use(root: &Path, package: &Package, rule: &CrateRule) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    for file in repo::rust_files(&package.folder().join("src"))? {
        let source = std::fs::read_to_string(&file)
            .map_err(|error| format!("{}: {error}", file.display()))?;
        for used in std_use::paths(&tokens::tokens(&source)) {
            let banned = used.is_banned_by(rule.std_banned);
            findings.extend(banned.then(|| Finding {
                file: relative(root, &file),
                line: Some(used.line),
                rule: "std-use",
                what: format!("{} must not use {used}", package.name),
                remedy: format!("move it to the crate that may, because {}", rule.because),
            }));
        }
    }
    Ok(findings)
}

fn forbidden_name(root: &Path, package: &Package) -> Option<Finding> {
    let ending = package.name.strip_prefix("hocket-")?;
    rules::NO_SUBJECT.contains(&ending).then(|| Finding {
        file: relative(root, &package.manifest),
        line: package.line_of("name"),
        rule: "crate-with-a-subject",
        what: format!("a crate must not be called {}", package.name),
        remedy: "name its subject, or move its parts to the crates that use them".into(),
    })
}

fn unlisted(root: &Path, package: &Package) -> Finding {
    Finding {
        file: relative(root, &package.manifest),
        line: package.line_of("name"),
        rule: "unlisted-crate",
        what: format!("{} has no row in the table of crates", package.name),
        remedy: "decide what it may know and add a row to xtask/src/deps/rules.rs".into(),
    }
}

fn list(names: &[&str]) -> String {
    if names.is_empty() { "no other".into() } else { names.join(", ") }
}
