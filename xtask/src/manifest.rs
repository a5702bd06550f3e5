//! The workspace's packages as cargo reads them.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// One package of the workspace.
#[derive(Debug)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its `Cargo.toml`, full path.
    pub manifest: PathBuf,
    /// What it declares, in cargo's order.
    pub dependencies: Vec<Dependency>,
    /// Root files of its library and binaries, full paths.
    pub roots: Vec<PathBuf>,
}

/// One declared dependency, under its true name even where the manifest renames it.
#[derive(Debug)]
pub struct Dependency {
    /// Name of the package depended on.
    pub name: String,
    /// When it is built.
    pub kind: Kind,
    /// The `cfg(...)` or target triple it is limited to.
    pub target: Option<String>,
}

/// When a dependency is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// For the library and binaries, or their build script.
    Build,
    /// For tests, examples and benches only.
    Dev,
}

impl Package {
    /// The folder that holds the package.
    pub fn folder(&self) -> &Path {
        self.manifest.parent().unwrap_or(&self.manifest)
    }

    /// The manifest's line that declares `dependency`, for messages.
    pub fn line_of(&self, dependency: &str) -> Option<usize> {
        let text = std::fs::read_to_string(&self.manifest).ok()?;
        let declares = |line: &str| {
            let rest = line.trim_start().trim_start_matches("[dependencies.");
            rest.strip_prefix(dependency).is_some_and(|rest| rest.starts_with(['.', ' ', '=', ']']))
        };
        text.lines().position(declares).map(|index| index + 1)
    }
}

/// The packages of the workspace at `root`, read without touching the network.
pub fn packages(root: &Path) -> Result<Vec<Package>, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cargo metadata: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    let json: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("cargo metadata: {error}"))?;
    Ok(array(&json["packages"]).map(package).collect())
}

fn package(json: &Value) -> Package {
    Package {
        name: text(&json["name"]),
        manifest: text(&json["manifest_path"]).into(),
        dependencies: array(&json["dependencies"]).map(dependency).collect(),
        roots: array(&json["targets"]).filter(|json| is_root(json)).map(source).collect(),
    }
}

fn dependency(json: &Value) -> Dependency {
    Dependency {
        name: text(&json["name"]),
        kind: if json["kind"] == "dev" { Kind::Dev } else { Kind::Build },
        target: json["target"].as_str().map(str::to_owned),
    }
}

fn is_root(target: &Value) -> bool {
    array(&target["kind"]).any(|kind| matches!(kind.as_str(), Some("lib" | "bin" | "proc-macro")))
}

fn source(target: &Value) -> PathBuf {
    text(&target["src_path"]).into()
}

fn array(json: &Value) -> impl Iterator<Item = &Value> {
    json.as_array().into_iter().flatten()
}

fn text(json: &Value) -> String {
    json.as_str().unwrap_or_default().to_owned()
}
