//! A copy of the workspace's manifests with sources that hold next to nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// The copy; gone when dropped.
pub struct Copy {
    folder: TempDir,
}

impl Copy {
    /// Copies every manifest of this workspace and gives each crate root one line.
    pub fn new() -> Copy {
        let copy = Copy { folder: TempDir::new().expect("a temporary folder") };
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask has a parent");
        copy.take(root, "Cargo.toml");
        for folder in crate_folders(root) {
            copy.take(root, &format!("{folder}/Cargo.toml"));
            copy.write_root(root, &folder);
        }
        // Examples that a manifest names, and the folders of the block path.
        for example in ["embed", "small"] {
            let file = format!("crates/hocket-engine/examples/{example}.rs");
            if root.join(&file).exists() {
                copy.write(&file, "#![forbid(unsafe_code)]\n");
            }
        }
        for folder in ["block", "leader"] {
            copy.write(&format!("crates/hocket-engine/src/{folder}/one.rs"), "fn f() {}\n");
        }
        copy
    }

    fn take(&self, root: &Path, file: &str) {
        let text = fs::read_to_string(root.join(file)).expect("a readable manifest");
        self.write(file, &text);
    }

    fn write_root(&self, root: &Path, folder: &str) {
        let denies = ["hocket-engine", "hocket-kernels", "hocket-devices", "hocket-plugins"];
        let denies = denies.iter().any(|name| folder.ends_with(name));
        let level = if denies { "deny" } else { "forbid" };
        for name in ["src/lib.rs", "src/main.rs"] {
            let file = format!("{folder}/{name}");
            if root.join(&file).exists() {
                self.write(&file, &format!("#![{level}(unsafe_code)]\n"));
            }
        }
    }

    /// Adds a dependency: its name and what the manifest says of it.
    pub fn add_dependency(&self, name: &str, dependency: &str, says: &str) {
        self.add_section(name, &format!("[dependencies.{dependency}]\n{says}"));
    }

    /// Writes a manifest that has nothing but the given sections.
    pub fn set_manifest(&self, name: &str, sections: &str) {
        let head = format!("[package]\nname = \"{name}\"\n\n[lints]\nworkspace = true\n");
        self.write(&format!("crates/{name}/Cargo.toml"), &format!("{head}\n{sections}\n"));
    }

    /// Adds a section at the end of the crate's manifest.
    pub fn add_section(&self, name: &str, section: &str) {
        let file = format!("crates/{name}/Cargo.toml");
        let text = fs::read_to_string(self.path(&file)).expect("a manifest");
        self.write(&file, &format!("{text}\n{section}\n"));
    }

    /// Adds the source file `src/added.rs` to a crate.
    pub fn add_source(&self, name: &str, text: &str) {
        self.write(&format!("crates/{name}/src/added.rs"), text);
    }

    /// Adds a crate that follows every rule but has no row in the table.
    pub fn add_crate(&self, name: &str) {
        self.set_manifest(name, "");
        self.write(&format!("crates/{name}/src/lib.rs"), "#![forbid(unsafe_code)]\n");
    }

    /// Replaces the first `from`, which must be there.
    pub fn replace(&self, file: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.path(file)).expect("a file of the copy");
        assert!(text.contains(from), "{file} has no {from:?}");
        self.write(file, &text.replacen(from, to, 1));
    }

    /// Writes a file and the folders above it.
    pub fn write(&self, file: &str, text: &str) {
        let path = self.path(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders of the copy");
        fs::write(path, text).expect("a file of the copy");
    }

    /// The full path of a file.
    pub fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    /// Runs a check on the copy.
    pub fn run(&self, check: &str) -> Output {
        Command::new(env!("CARGO_BIN_EXE_xtask"))
            .args([check, "--root"])
            .arg(self.folder.path())
            .output()
            .expect("xtask runs")
    }

    /// Asserts that a check finds nothing.
    pub fn check_passes(&self, check: &str) {
        let output = self.run(check);
        assert_eq!(output.status.code(), Some(0), "{}", message(&output));
    }

    /// Asserts that a check fails with one finding that names all of `words`.
    pub fn check_refuses(&self, check: &str, words: &[&str]) {
        let output = self.run(check);
        let message = message(&output);
        assert_eq!(output.status.code(), Some(1), "{message}");
        let named = message.lines().any(|line| words.iter().all(|word| line.contains(word)));
        assert!(named, "no finding names all of {words:?}:\n{message}");
    }
}

fn message(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Folders of the workspace's members, relative to `root`.
fn crate_folders(root: &Path) -> Vec<String> {
    let crates = fs::read_dir(root.join("crates")).expect("a folder of crates");
    let names = crates.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut folders: Vec<String> = names.map(|name| format!("crates/{name}")).collect();
    folders.retain(|folder| root.join(folder).join("Cargo.toml").exists());
    folders.push("xtask".into());
    folders
}
