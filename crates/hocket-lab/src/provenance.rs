//! Whether a record may lie among the published ones, in `docs/results` of Hocket's repository.
//!
//! A record names the commit of the program that made it. The stamp is from the build, and a build notices neither
//! edited sources nor a later commit. So every record says whether the sources were [`edited`], and [`check`] compares
//! program and tree when the record is made. It refuses a place in `docs/results` unless the tree has no changes, the
//! program was built from its commit, and no source is newer than the program. Any other place is fine.

use std::fs::File;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::OnceLock;
use std::time::SystemTime;

use hocket_files::OutputFile;
use serde::Deserialize;

use crate::record::Build;

const PUBLISHED: &str = "docs/results";
/// Where their pictures are.
const PICTURES: &str = "docs/pictures";

/// The program that makes the record.
struct Program {
    build: Build,
    /// When its file was written.
    written: Option<SystemTime>,
}

/// Checks the place of a record; call it before anything is measured.
///
/// Cost: outside of `docs/results` it looks at the path; there it runs git a few times.
///
/// # Errors
/// Why a record at this place would not be what it says, and what to do.
pub fn check(record: &Path) -> Result<(), String> {
    let Some(tree) = tree_that_publishes(record) else { return Ok(()) };
    let program = Program { build: crate::about::build(), written: written() };
    let checked = program.check(&tree).and_then(|()| check_words(&tree, std::env::args()));
    checked.map_err(|why| {
        format!("{}: records in {PUBLISHED} are made from a clean tree: {why}", record.display())
    })
}

/// A record holds the words of its command, and nobody else has this folder.
fn check_words(tree: &Path, words: impl IntoIterator<Item = String>) -> Result<(), String> {
    let tree = tree.display().to_string();
    // The first word is the program; records leave its folder out.
    match words.into_iter().skip(1).find(|word| word.contains(&tree)) {
        Some(word) => Err(format!(
            "'{word}' would be in the record and names a folder of this machine; give a path relative to the present folder"
        )),
        None => Ok(()),
    }
}

/// Whether the tree in which this program lies has other sources than its last commit, or newer ones than the program:
/// then no commit says what was measured. False where the tree is gone, as that of an installed program is.
///
/// Cost: the first call runs git twice and looks at every source.
pub fn edited() -> bool {
    static EDITED: OnceLock<bool> = OnceLock::new();
    *EDITED.get_or_init(|| {
        let program = std::env::current_exe().unwrap_or_default();
        let is_tree = |folder: &&Path| folder.join("crates/hocket-lab").is_dir();
        let Some(tree) = program.ancestors().find(is_tree) else { return false };
        changes(tree).is_ok_and(|changes| {
            changes.is_some() || newer_source(tree, written()).is_ok_and(|it| it.is_some())
        })
    })
}

/// When the file of this program was written.
fn written() -> Option<SystemTime> {
    std::env::current_exe().and_then(std::fs::metadata).and_then(|it| it.modified()).ok()
}

/// The first change that is not committed. Records that were just made, and their pictures, are no changes of the program.
fn changes(tree: &Path) -> Result<Option<String>, String> {
    let but = [PUBLISHED, PICTURES].map(|folder| format!(":!{folder}"));
    let changes = git(tree, &["status", "--porcelain", "--", ".", &but[0], &but[1]])?;
    Ok(changes.lines().next().map(|first| first.trim().to_owned()))
}

/// A source that may have been another one when the program was built.
fn newer_source(tree: &Path, program: Option<SystemTime>) -> Result<Option<String>, String> {
    let sources = git(tree, &["ls-files", "crates/*/src/*", "crates/*/benches/*", "*Cargo.*"])?;
    let written = |name: &str| tree.join(name).symlink_metadata().and_then(|it| it.modified());
    let is_newer = |name: &&str| match (written(name), program) {
        (Ok(source), Some(program)) => source > program,
        _ => true,
    };
    Ok(sources.lines().find(is_newer).map(Into::into))
}

/// The option with which a benchmark replaces what is no record.
pub const FORCE: &str = "--force";

/// Checks the place of a benchmark's record; call it before anything is measured. A record takes the place of an older
/// record, and of nothing else without `force`.
///
/// # Errors
/// As [`check`]; something else is there, or nothing can be written there.
pub fn check_place(path: &Path, force: bool) -> Result<(), String> {
    check(path)?;
    let name = path.display();
    if path.is_file() && !force && !may_replace(path) {
        return Err(format!(
            "{name}: there is a file that is no record, and nothing was changed; name another file, or replace it with \
             {FORCE}"
        ));
    }
    // A pipe or a device takes what it gets.
    if path.exists() && !path.is_file() && !path.is_dir() {
        return Ok(());
    }
    // Dropped unfinished, it leaves nothing.
    OutputFile::create(path).map(drop).map_err(|error| refused(path, &error))
}

/// An empty file, or JSON that calls itself a record of Hocket. The state of a plug-in is no record.
fn may_replace(path: &Path) -> bool {
    let is_empty = std::fs::metadata(path).is_ok_and(|about| about.len() == 0);
    let is_record = |format: &str| format.starts_with("hocket-") && !format.contains("-state/");
    is_empty || format_of(path).is_some_and(|format| is_record(&format))
}

/// What a JSON file calls its own format: `format`, not within anything else. `None` where it says nothing or is no JSON.
///
/// Cost: reads the file to its end.
pub fn format_of(path: &Path) -> Option<String> {
    #[derive(Deserialize)]
    struct Head {
        format: String,
    }
    let file = BufReader::new(File::open(path).ok()?);
    // It reads past everything else without keeping it.
    serde_json::from_reader::<_, Head>(file).ok().map(|head| head.format)
}

/// Writes a record of a benchmark, all of it or nothing.
///
/// # Errors
/// As [`check`]; or it cannot be written.
pub fn write(path: &Path, record: &serde_json::Value) -> Result<(), String> {
    check(path)?;
    let written = OutputFile::create(path).and_then(|mut out| {
        out.file().write_all(record.to_string().as_bytes())?;
        out.commit()
    });
    written.map_err(|error| refused(path, &error))
}

/// The command line of a benchmark that may leave a record: `[--record FILE [--force]]`, and what it has besides.
pub struct BenchCommand {
    words: Vec<String>,
}

impl BenchCommand {
    /// That of this program. Call it before anything is measured.
    ///
    /// # Errors
    /// As [`check_place`].
    pub fn read() -> Result<BenchCommand, String> {
        let command = BenchCommand { words: std::env::args().skip(1).collect() };
        let force = command.words.iter().any(|word| word == FORCE);
        command.record().map_or(Ok(()), |path| check_place(path, force))?;
        Ok(command)
    }

    /// Whether it is to measure. `cargo test` leaves `--bench` out: it only asks whether the benchmark works.
    pub fn measures(&self) -> bool {
        self.words.iter().any(|word| word == "--bench")
    }

    /// The word behind an option.
    pub fn value(&self, option: &str) -> Option<&str> {
        let at = self.words.iter().position(|word| word == option)?;
        self.words.get(at + 1).map(String::as_str)
    }

    /// The file for the record.
    pub fn record(&self) -> Option<&Path> {
        self.value("--record").map(Path::new)
    }

    /// Writes the record, if one is asked for: `result`, an object, with its format, the program and the machine.
    ///
    /// # Errors
    /// As [`write()`]; or the machine cannot be described.
    pub fn keep(&self, format: &str, mut result: serde_json::Value) -> Result<(), String> {
        let Some(path) = self.record() else { return Ok(()) };
        let topology = hocket_machine::Topology::discover().map_err(|error| error.to_string())?;
        result["format"] = format.into();
        result["hocket"] = serde_json::json!(crate::about::build());
        result["machine"] = serde_json::json!(crate::about::machine(&topology));
        write(path, &result)
    }
}

/// How a benchmark of this name ends: with 3 and the reason, if it could not be done.
pub fn bench_exit(name: &str, done: Result<(), String>) -> ExitCode {
    let Err(message) = done else { return ExitCode::SUCCESS };
    eprintln!("{name}: {message}");
    ExitCode::from(3)
}

fn refused(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}; choose a folder that exists and can be written to", path.display())
}

/// The repository among whose published records this one would be.
fn tree_that_publishes(record: &Path) -> Option<PathBuf> {
    // The folder itself may be yet to be made.
    let above = record.ancestors().skip(1);
    let mut above = above.map(|it| if it.as_os_str().is_empty() { Path::new(".") } else { it });
    let folder = above.find_map(|folder| folder.canonicalize().ok())?;
    let is_tree = |tree: &&Path| {
        folder.starts_with(tree.join(PUBLISHED)) && tree.join("crates/hocket-lab").is_dir()
    };
    folder.ancestors().find(is_tree).map(Path::to_owned)
}

impl Program {
    fn check(&self, tree: &Path) -> Result<(), String> {
        if let Some(first) = changes(tree)? {
            return Err(format!("'{first}' is not committed; commit it first"));
        }
        let head = git(tree, &["rev-parse", "HEAD"])?;
        let commit = self.build.commit.as_deref().unwrap_or("an unknown commit");
        if !head.starts_with(commit) {
            let head = head.get(..commit.len()).unwrap_or(&head);
            return Err(format!(
                "the program is from {commit}, the tree is at {head}; build it again"
            ));
        }
        if self.build.dirty {
            return Err("the program was built with changes in the tree; build it again".into());
        }
        match newer_source(tree, self.written)? {
            Some(source) => Err(format!(
                "{source} is newer than the program; build it again (after `cargo clean -p hocket-lab`, if cargo sees \
                 nothing to do)"
            )),
            None => Ok(()),
        }
    }
}

fn git(tree: &Path, args: &[&str]) -> Result<String, String> {
    let output = Command::new("git").arg("-C").arg(tree).args(args).output();
    let output = output.map_err(|error| format!("git cannot be asked: {error}; install it"))?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(format!("git {}: {}", args.join(" "), why.trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().into())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_published_record_names_no_folder_of_the_machine() {
        let words = |path: &str| ["/ann/hocket/target/hocket", "--record", path].map(Into::into);
        let check = |path| check_words(Path::new("/ann/hocket"), words(path));
        assert_eq!(check("../../docs/results/record.json"), Ok(()));
        assert!(check("/ann/hocket/docs/results/record.json").unwrap_err().contains("relative"));
    }

    struct Repository {
        folder: tempfile::TempDir,
    }

    impl Repository {
        /// With one source and one published record.
        fn new() -> Repository {
            let repository = Repository { folder: tempfile::tempdir().unwrap() };
            repository.write("crates/hocket-lab/src/lib.rs", "// one\n");
            repository.write("docs/results/old.json", "{}");
            repository.git(&["init", "-q"]);
            repository.commit();
            repository
        }

        fn tree(&self) -> PathBuf {
            self.folder.path().canonicalize().unwrap()
        }

        fn write(&self, name: &str, text: &str) {
            let path = self.folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }

        fn git(&self, args: &[&str]) -> String {
            let who = ["-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"];
            git(self.folder.path(), &[&who[..], args].concat()).unwrap()
        }

        fn commit(&self) {
            self.git(&["add", "-A"]);
            self.git(&["commit", "-q", "-m", "all"]);
        }

        /// Built now from what is there.
        fn program(&self, dirty: bool) -> Program {
            let commit = Some(self.git(&["rev-parse", "--short=12", "HEAD"]));
            let build = Build { commit, dirty, ..crate::about::build() };
            Program { build, written: Some(SystemTime::now() + Duration::from_secs(1)) }
        }

        fn refused(&self, program: &Program, part: &str) {
            let why = program.check(&self.tree()).unwrap_err();
            assert!(why.contains(part), "{why}");
        }
    }

    #[test]
    fn only_a_program_of_this_very_tree_makes_published_records() {
        let repository = Repository::new();
        let program = repository.program(false);
        assert_eq!(program.check(&repository.tree()), Ok(()));
        repository.refused(&repository.program(true), "changes in the tree");
        let older = SystemTime::UNIX_EPOCH;
        let older = Program { written: Some(older), ..repository.program(false) };
        repository.refused(&older, "crates/hocket-lab/src/lib.rs is newer");

        repository.write("docs/results/new.json", "{}");
        assert_eq!(
            program.check(&repository.tree()),
            Ok(()),
            "records are made one after the other"
        );
        repository.write("crates/hocket-lab/src/lib.rs", "// two\n");
        repository.refused(&program, "is not committed");
        repository.commit();
        repository.refused(&program, "the tree is at");
        assert_eq!(repository.program(false).check(&repository.tree()), Ok(()));
    }

    #[test]
    fn a_record_replaces_a_record_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let record = serde_json::json!({"a": vec![1; 100_000], "format": "hocket-effects/1"});
        write(&at("record.json"), &record).unwrap();
        std::fs::write(at("empty.json"), "").unwrap();
        for name in ["record.json", "empty.json", "new.json"] {
            assert_eq!(check_place(&at(name), false), Ok(()), "{name}");
        }
        for (name, text) in [("song.json", "{\"format\":\"mine\"}"), ("notes.txt", "notes")] {
            std::fs::write(at(name), text).unwrap();
            assert!(check_place(&at(name), false).unwrap_err().contains("--force"), "{name}");
            assert_eq!(check_place(&at(name), true), Ok(()));
            assert_eq!(std::fs::read_to_string(at(name)).unwrap(), text);
        }
        assert!(check_place(&at("none/r.json"), false).unwrap_err().contains("choose a folder"));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 4);
    }

    #[test]
    fn other_places_are_fine() {
        let repository = Repository::new();
        let folder = repository.folder.path();
        assert_eq!(tree_that_publishes(&folder.join("record.json")), None);
        assert_eq!(tree_that_publishes(&folder.join("docs/results.json")), None);
        assert_eq!(tree_that_publishes(&folder.join("docs/none/record.json")), None);
        let published = folder.join("docs/results/record.json");
        assert_eq!(tree_that_publishes(&published), Some(repository.tree()));
        let deeper = folder.join("docs/results/new/record.json");
        assert_eq!(tree_that_publishes(&deeper), Some(repository.tree()));
        std::fs::remove_dir_all(folder.join("crates")).unwrap();
        assert_eq!(tree_that_publishes(&published), None, "somebody else's folder of this name");
    }
}
