//! What was asked for on the command line.

use std::path::{Path, PathBuf};

use crate::finding::Finding;
use crate::{block_path, deps, links, safety, words};

/// Printed for `--help` and after a usage error.
pub const HELP: &str = "\
usage: cargo run -q -p xtask -- <check>... [--root DIR]
       cargo run -q -p xtask -- header|site [--root DIR]

checks:
  check-deps     every crate depends only on what its row in xtask/src/deps/rules.rs allows
  check-safety   unsafe code stands only where it may, and every other crate forbids it
  check-block    the block path names nothing that allocates, locks, prints or calls the system
  check-words    no build machine's paths, registry addresses or foreign words in tracked files;
                 no hard phrases in the texts that are in plain English
  check-links    links between pages lead to files and headings; the site's contents name each page
  check          all of them

header           writes crates/hocket-c/include/hocket.h anew
site             gathers the pages of the site in target/site/src, for mdbook

--root DIR checks another checkout (default: this one)
";

/// What to do.
pub enum Command {
    /// Print [`HELP`].
    Help,
    /// Write the C header of the checkout at this root.
    Header(PathBuf),
    /// Gather the pages of the site of the checkout at this root.
    Site(PathBuf),
    /// Run `checks` on the checkout at `root`.
    Run {
        /// In the order in which they were named.
        checks: Vec<Check>,
        /// The workspace root.
        root: PathBuf,
    },
}

/// One check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Dependencies and the standard library's modules.
    Deps,
    /// Where `unsafe` stands.
    Safety,
    /// What code in and around a block names.
    Block,
    /// Words and paths.
    Words,
    /// Links between pages.
    Links,
}

impl Check {
    /// All, fastest to explain first.
    const ALL: [Check; 5] = [Check::Deps, Check::Safety, Check::Block, Check::Words, Check::Links];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Check::Deps => "check-deps",
            Check::Safety => "check-safety",
            Check::Block => "check-block",
            Check::Words => "check-words",
            Check::Links => "check-links",
        }
    }

    /// Runs it on the checkout at `root`. `Err`: it could not look (no cargo, unreadable files).
    pub fn run(self, root: &Path) -> Result<Vec<Finding>, String> {
        match self {
            Check::Deps => deps::check(root),
            Check::Safety => safety::check(root),
            Check::Block => block_path::check(root),
            Check::Words => words::check(root),
            Check::Links => links::check(root),
        }
    }
}

/// Reads the arguments that follow the program's name.
pub fn parse(mut args: impl Iterator<Item = String>) -> Result<Command, String> {
    let (mut checks, mut makes) = (Vec::new(), Vec::new());
    let mut root = own_checkout();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--help" | "-h" => return Ok(Command::Help),
            "--root" => root = args.next().ok_or("--root needs a folder")?.into(),
            "header" | "site" => makes.push(arg),
            "check" => checks.extend(Check::ALL),
            name => checks.push(check_named(name)?),
        }
    }
    match (checks.is_empty(), makes.as_slice()) {
        (true, []) => Err("no check named".into()),
        (false, []) => Ok(Command::Run { checks, root }),
        (true, [header]) if header == "header" => Ok(Command::Header(root)),
        (true, [_site]) => Ok(Command::Site(root)),
        (_, [first, ..]) => Err(format!("`{first}` stands alone")),
    }
}

fn check_named(name: &str) -> Result<Check, String> {
    let found = Check::ALL.into_iter().find(|check| check.name() == name);
    found.ok_or_else(|| format!("unknown check `{name}`"))
}

/// The checkout that this program was built from.
fn own_checkout() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_path_buf()
}
