//! Finding plug-ins: each library is looked at by a process of its own, and the result is kept.
//!
//! To describe a plug-in, its code has to run. It may crash, hang or print. So [`Scanner`] starts the program again
//! for each library, with a time limit, and that process ([`look`]) writes line by line what it finds into a file. If it
//! ends too early, the plug-in that it had begun with is refused, and another process goes on behind it.

use std::collections::{BTreeMap, HashSet};
use std::fs::{File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hocket_files::OutputFile;
use serde::{Deserialize, Serialize};

use crate::child::{self, Early};
use crate::description::{Description, Format};
use crate::{clap, lv2, vst3};

/// How long a process may take for one plug-in.
pub const LIMIT: Duration = Duration::from_secs(20);
/// How many plug-ins of a library may crash before the rest of it is left alone.
const MOST_CRASHES: usize = 3;
/// How deep folders below a search folder may lie.
const DEEPEST: usize = 4;
/// No description of a library is longer, and no file with the results of all of them.
const LONGEST: u64 = 64 << 20;
/// The format of the file that keeps results. Behind it follows which Hocket wrote them ([`Scanner::cache_key`]).
const CACHE_FORMAT: &str = "hocket-plugins/5";

/// A file or folder with plug-ins.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Library {
    /// Of its plug-ins.
    pub format: Format,
    /// Where it is.
    pub path: PathBuf,
}

/// Something that was found and cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Where.
    pub library: PathBuf,
    /// Why.
    pub why: String,
}

/// What a scan finds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// Plug-ins, also those that Hocket refuses.
    pub plugins: Vec<Description>,
    /// Libraries of which nothing more is known.
    pub problems: Vec<Problem>,
    /// Whether something may be found at the next look although the library stays as it is: no process could be started, or
    /// another library is missing. Such a result is not kept.
    #[serde(skip)]
    is_passing: bool,
}

/// Where plug-ins are looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    /// Folders of LV2 bundles.
    pub lv2: Vec<PathBuf>,
    /// Folders of CLAP files.
    pub clap: Vec<PathBuf>,
    /// Folders of VST3 bundles.
    pub vst3: Vec<PathBuf>,
}

impl Places {
    /// The usual ones of this system. `LV2_PATH` replaces those of LV2, as lilv has it; `CLAP_PATH` comes before those of
    /// CLAP, as CLAP has it. VST3 has no variable; `VST3_PATH` replaces its folders, as in other hosts.
    pub fn of_system(variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> Places {
        let home = variable("HOME").map(PathBuf::from);
        let below_home = |folder: &str| home.iter().map(|home| home.join(folder)).collect();
        let listed = |name: &str| -> Option<Vec<PathBuf>> {
            let list = variable(name).filter(|list| !list.is_empty())?;
            Some(std::env::split_paths(&list).filter(|path| path.is_absolute()).collect())
        };
        let usual = |mut folders: Vec<PathBuf>, more: &[&str]| {
            folders.extend(more.iter().map(PathBuf::from));
            folders
        };
        let lv2 = listed("LV2_PATH")
            .unwrap_or_else(|| usual(below_home(".lv2"), &["/usr/local/lib/lv2", "/usr/lib/lv2"]));
        let mut clap = listed("CLAP_PATH").unwrap_or_default();
        clap.extend(usual(below_home(".clap"), &["/usr/lib/clap"]));
        let vst3 = listed("VST3_PATH").unwrap_or_else(|| {
            usual(below_home(".vst3"), &["/usr/local/lib/vst3", "/usr/lib/vst3"])
        });
        Places { lv2, clap, vst3 }
    }

    /// Every library in them, each once, in the order of the folders: that of a user comes before the system's.
    pub fn libraries(&self) -> Vec<Library> {
        let mut found = Vec::new();
        for folder in &self.lv2 {
            let bundles = entries(folder).into_iter().filter(|path| is_bundle(path));
            found.extend(bundles.map(|path| Library { format: Format::Lv2, path }));
        }
        let is_clap = |path: &Path| path.extension().is_some_and(|ending| ending == "clap");
        self.clap
            .iter()
            .for_each(|folder| add(folder, DEEPEST, (Format::Clap, &is_clap), &mut found));
        let is_vst3 = |path: &Path| vst3::is_bundle(path);
        self.vst3
            .iter()
            .for_each(|folder| add(folder, DEEPEST, (Format::Vst3, &is_vst3), &mut found));
        let mut known = HashSet::new();
        found.retain(|library| known.insert(library.clone()));
        found
    }
}

fn is_bundle(path: &Path) -> bool {
    path.join("manifest.ttl").is_file()
}

/// The libraries of a format in a folder and below it.
fn add(
    folder: &Path,
    deep: usize,
    (format, is_library): (Format, &dyn Fn(&Path) -> bool),
    found: &mut Vec<Library>,
) {
    for path in entries(folder) {
        if is_library(&path) {
            found.push(Library { format, path });
        } else if deep > 0 && path.is_dir() {
            add(&path, deep - 1, (format, is_library), found);
        }
    }
}

/// What cannot be read holds nothing.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// A line of the file that [`look`] writes.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    /// A plug-in of this kind is next.
    Begins(String),
    /// It is described.
    Is(Box<Description>),
    /// The library does not load.
    Fails(String),
    /// There is no more.
    Ends,
}

/// Describes the plug-ins of a library, but for the first `skip`, into a file. For the process of its own.
///
/// # Errors
/// The file cannot be written.
pub fn look(library: &Library, skip: usize, into: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(into)?;
    let ids = match library.format {
        Format::Lv2 => lv2::plugins(&library.path),
        Format::Clap => clap::plugins(&library.path),
        Format::Vst3 => vst3::plugins(&library.path),
    };
    match ids {
        Ok(ids) => {
            for id in ids.iter().skip(skip) {
                say(&mut file, &Line::Begins(library.format.kind(id)))?;
                say(&mut file, &Line::Is(Box::new(described(library, id))))?;
            }
        }
        Err(why) => say(&mut file, &Line::Fails(why))?,
    }
    say(&mut file, &Line::Ends)
}

fn described(library: &Library, id: &str) -> Description {
    let described = match library.format {
        Format::Lv2 => lv2::describe(&library.path, id),
        Format::Clap => clap::describe(&library.path, id),
        Format::Vst3 => vst3::describe(&library.path, id),
    };
    let kind = library.format.kind(id);
    described.unwrap_or_else(|why| {
        let refused = Description::refused(kind, library.path.clone(), why);
        Description { may_pass: true, ..refused }
    })
}

fn say(file: &mut File, line: &Line) -> io::Result<()> {
    let mut text = serde_json::to_string(line)?;
    text.push('\n');
    file.write_all(text.as_bytes())
}

/// Scans libraries.
#[derive(Debug, Clone)]
pub struct Scanner {
    /// A program that calls [`look`] with its last four arguments: format, path, how many to skip, file.
    pub program: PathBuf,
    /// Its first arguments.
    pub arguments: Vec<String>,
    /// How long it may take for one plug-in.
    pub limit: Duration,
    /// Where results are kept.
    pub cache: Option<PathBuf>,
}

impl Scanner {
    /// What is kept of libraries that have not changed since they were looked at. It looks at none of them.
    pub fn kept(&self, libraries: &[Library]) -> Found {
        let cache = self.read_cache();
        joined(libraries.iter().filter_map(|library| cache.get(library, stamp(&library.path))))
    }

    fn read_cache(&self) -> Cache {
        self.cache.as_deref().map(|path| Cache::read(path, &self.cache_key())).unwrap_or_default()
    }

    /// Which Hocket looks at plug-ins. Another one may run what this one refuses, or describe it in another way, so it keeps
    /// nothing that this one found: its version, its program's size and time, and the features that it offers.
    pub fn cache_key(&self) -> String {
        let mut hasher = DefaultHasher::new();
        lv2::OFFERED.hash(&mut hasher);
        if let Ok(program) = std::fs::metadata(&self.program) {
            program.len().hash(&mut hasher);
            program.modified().ok().hash(&mut hasher);
        }
        format!("{CACHE_FORMAT} {} {:016x}", env!("CARGO_PKG_VERSION"), hasher.finish())
    }

    /// Looks at every library that has changed since it was looked at last, and at those of which something was refused that
    /// may be fit now. Returns all plug-ins, sorted by kind; of several
    /// of one kind the first one that can be used.
    pub fn scan(&self, libraries: &[Library]) -> Found {
        let mut cache = self.read_cache();
        let stamps: Vec<u64> = libraries.iter().map(|library| stamp(&library.path)).collect();
        let kept = |(library, stamp): (&Library, &u64)| cache.get(library, *stamp).cloned();
        let mut found: Vec<Option<Found>> = libraries.iter().zip(&stamps).map(kept).collect();
        let new: Vec<usize> = (0..libraries.len()).filter(|at| found[*at].is_none()).collect();
        let mut is_new = false;
        for (at, looked) in self.look_at_all(libraries, &new) {
            if !looked.is_passing {
                cache.put(&libraries[at], stamps[at], looked.clone());
                is_new = true;
            }
            found[at] = Some(looked);
        }
        if let Some(path) = self.cache.as_deref().filter(|_| is_new) {
            cache.write(path, &self.cache_key());
        }
        joined(found.iter().flatten())
    }

    /// Several at once, because each mostly waits for its process.
    fn look_at_all(&self, libraries: &[Library], new: &[usize]) -> Vec<(usize, Found)> {
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        std::thread::scope(|scope| {
            for _ in 0..workers.min(new.len()) {
                scope.spawn(|| {
                    // Relaxed: each number goes to one thread, and publishes nothing.
                    while let Some(at) = new.get(next.fetch_add(1, Relaxed)) {
                        let found = self.look_at(&libraries[*at]);
                        done.lock().unwrap_or_else(PoisonError::into_inner).push((*at, found));
                    }
                });
            }
        });
        done.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn look_at(&self, library: &Library) -> Found {
        let mut found = Found::default();
        let problem = |why: String| Problem { library: library.path.clone(), why };
        if library.path.to_str().is_none() {
            // Sessions and results are text.
            let library = PathBuf::from(library.path.to_string_lossy().into_owned());
            let why = "its name is not UTF-8: rename it".into();
            found.problems.push(Problem { library, why });
            return found;
        }
        for _ in 0..MOST_CRASHES {
            let skip = found.plugins.len();
            match self.look_once(library, skip, &mut found) {
                Ok(None) => return found,
                // The next process begins behind the plug-in that ended this one.
                Ok(Some(_)) if found.plugins.len() > skip => {}
                Ok(Some(early)) => {
                    found.is_passing |= early.is_passing;
                    found.problems.push(problem(format!("it {} while it was loaded", early.why)));
                    return found;
                }
                Err(error) => {
                    found.is_passing = true;
                    found.problems.push(problem(format!("it cannot be looked at: {error}")));
                    return found;
                }
            }
        }
        let why =
            "several of its plug-ins end the process that loads them; the rest was left alone";
        found.problems.push(problem(why.into()));
        found
    }

    /// One process. Returns why it ended too early.
    fn look_once(
        &self,
        library: &Library,
        skip: usize,
        found: &mut Found,
    ) -> io::Result<Option<Early>> {
        let file = tempfile::NamedTempFile::new()?;
        let format = library.format.word();
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .args([format.as_ref(), library.path.as_os_str()])
            .args([skip.to_string().as_ref(), file.path().as_os_str()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let ended = child::wait(&mut child, file.path(), self.limit)?;
        let mut lines = Lines::read(file.path())?;
        let early = Early::of(ended);
        if let (false, Some(kind)) = (lines.complete, lines.begun.take()) {
            lines.refuse(library, kind, format!("it {} while it was loaded", early.why));
        }
        for kind in std::mem::take(&mut lines.unreadable) {
            lines.refuse(library, kind, "what it says of itself cannot be read".into());
        }
        found.is_passing |= lines.plugins.iter().any(|plugin| plugin.may_pass);
        found.plugins.append(&mut lines.plugins);
        found.is_passing |= lines.failure.is_some();
        let problem = |why| Problem { library: library.path.clone(), why };
        found.problems.extend(lines.failure.map(problem));
        Ok((!lines.complete).then_some(early))
    }
}

/// What a process wrote.
#[derive(Debug, Default)]
struct Lines {
    plugins: Vec<Description>,
    failure: Option<String>,
    begun: Option<String>,
    /// Kinds of plug-ins whose descriptions are no descriptions.
    unreadable: Vec<String>,
    complete: bool,
}

impl Lines {
    /// A line that was cut off says nothing.
    fn read(path: &Path) -> io::Result<Lines> {
        let text = hocket_files::read_bytes(path, LONGEST).map_err(io::Error::other)?;
        let text = String::from_utf8_lossy(&text);
        let mut lines = Lines::default();
        for line in text.lines().filter_map(|line| serde_json::from_str(line).ok()) {
            match line {
                Line::Begins(kind) => lines.begin(Some(kind)),
                Line::Is(plugin) => {
                    lines.plugins.push(*plugin);
                    lines.begun = None;
                }
                Line::Fails(why) => lines.failure = Some(why),
                Line::Ends => {
                    lines.begin(None);
                    lines.complete = true;
                }
            }
        }
        Ok(lines)
    }

    /// The next plug-in. The one before was described in a line of its own, if that could be read.
    fn begin(&mut self, next: Option<String>) {
        let before = std::mem::replace(&mut self.begun, next);
        self.unreadable.extend(before);
    }

    fn refuse(&mut self, library: &Library, kind: String, why: String) {
        let refused = Description::refused(kind, library.path.clone(), why);
        self.plugins.push(Description { is_broken: true, ..refused });
    }
}

/// Of several plug-ins of one kind, the first one that can be used, else the first one.
fn joined<'a>(all: impl Iterator<Item = &'a Found>) -> Found {
    let mut by_kind = BTreeMap::new();
    let mut problems = Vec::new();
    for found in all {
        for plugin in &found.plugins {
            let known: &mut Description =
                by_kind.entry(plugin.kind.clone()).or_insert_with(|| plugin.clone());
            if known.refusal.is_some() && plugin.refusal.is_none() {
                known.clone_from(plugin);
            }
        }
        problems.extend(found.problems.iter().cloned());
    }
    Found { plugins: by_kind.into_values().collect(), problems, is_passing: false }
}

/// A number that changes when the library does: names, sizes and times of its files.
fn stamp(path: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    add_stamp(path, &mut hasher);
    entries(path).iter().for_each(|file| add_stamp(file, &mut hasher));
    if let Some(file) = vst3::library_place(path) {
        add_stamp(&file, &mut hasher);
    }
    hasher.finish()
}

fn add_stamp(path: &Path, hasher: &mut DefaultHasher) {
    let Ok(data) = std::fs::metadata(path) else { return };
    path.hash(hasher);
    data.len().hash(hasher);
    data.modified().ok().hash(hasher);
}

/// What was found earlier.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Cache {
    format: String,
    libraries: BTreeMap<String, Kept>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    stamp: u64,
    found: Found,
}

impl Cache {
    /// A file that is missing, damaged or of another Hocket holds nothing.
    fn read(path: &Path, key: &str) -> Cache {
        let file = hocket_files::read_bytes(path, LONGEST).ok();
        let cache: Option<Cache> = file.and_then(|text| serde_json::from_slice(&text).ok());
        cache.filter(|cache| cache.format == key).unwrap_or_default()
    }

    /// A cache that cannot be written costs time in the next run, and nothing else.
    fn write(&mut self, path: &Path, key: &str) {
        self.format = key.into();
        let Some(folder) = path.parent() else { return };
        let written = std::fs::create_dir_all(folder)
            .and_then(|()| Ok(serde_json::to_vec(self)?))
            .and_then(|text| {
                let mut output = OutputFile::create(path)?;
                output.file().write_all(&text)?;
                output.commit()
            });
        drop(written);
    }

    fn key(library: &Library) -> String {
        format!("{}{}", library.format.prefix(), library.path.display())
    }

    fn get(&self, library: &Library, stamp: u64) -> Option<&Found> {
        let kept = self.libraries.get(&Cache::key(library))?;
        (kept.stamp == stamp).then_some(&kept.found)
    }

    fn put(&mut self, library: &Library, stamp: u64, found: Found) {
        self.libraries.insert(Cache::key(library), Kept { stamp, found });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_follow_the_variables() {
        let places = Places::of_system(|name| match name {
            "HOME" => Some("/h".into()),
            "CLAP_PATH" => Some("/a:relative:/b".into()),
            "VST3_PATH" => Some("/c:d".into()),
            _ => None,
        });
        let paths = |folders: &[PathBuf]| -> Vec<String> {
            folders.iter().map(|folder| folder.display().to_string()).collect()
        };
        assert_eq!(paths(&places.lv2), ["/h/.lv2", "/usr/local/lib/lv2", "/usr/lib/lv2"]);
        assert_eq!(paths(&places.clap), ["/a", "/b", "/h/.clap", "/usr/lib/clap"]);
        assert_eq!(paths(&places.vst3), ["/c"]);
        let only = Places::of_system(|name| (name == "LV2_PATH").then(|| "/x".into()));
        assert_eq!(paths(&only.lv2), ["/x"]);
        assert_eq!(paths(&only.vst3), ["/usr/local/lib/vst3", "/usr/lib/vst3"]);
    }

    #[test]
    fn a_library_that_changes_gets_another_stamp() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("manifest.ttl"), "one").unwrap();
        let first = stamp(folder.path());
        assert_eq!(stamp(folder.path()), first);
        std::fs::write(folder.path().join("manifest.ttl"), "longer").unwrap();
        assert_ne!(stamp(folder.path()), first);
    }

    fn refused(kind: &str) -> Description {
        Description::refused(kind.into(), "/a".into(), "no".into())
    }

    #[test]
    fn of_two_of_a_kind_the_one_that_can_be_used_counts() {
        let usable = Description { refusal: None, library: "/b".into(), ..refused("clap:x") };
        let found =
            |plugin: &Description| Found { plugins: vec![plugin.clone()], ..Found::default() };
        let both = [found(&refused("clap:x")), found(&usable), found(&refused("clap:x"))];
        assert_eq!(joined(both.iter()).plugins, [usable]);
    }

    #[test]
    fn a_description_that_cannot_be_read_is_a_plugin_that_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let described = serde_json::to_string(&Line::Is(Box::new(refused("clap:c")))).unwrap();
        let text = format!(
            "{{\"begins\":\"clap:a\"}}\n{{\"is\":{{\"min\":null}}}}\n{{\"begins\":\"clap:b\"}}\n{{\"is\":7}}\n\
             {{\"begins\":\"clap:c\"}}\n{described}\n\"ends\"\n"
        );
        std::fs::write(file.path(), text).unwrap();
        let lines = Lines::read(file.path()).unwrap();
        assert_eq!(lines.unreadable, ["clap:a", "clap:b"]);
        assert!(lines.complete && lines.begun.is_none() && lines.plugins.len() == 1);
    }

    #[test]
    fn a_library_whose_name_is_no_text_is_a_problem_and_everything_else_is_found() {
        use std::os::unix::ffi::OsStringExt;
        let folder = tempfile::tempdir().unwrap();
        let name = std::ffi::OsString::from_vec(b"caf\xe9.clap".to_vec());
        let library = Library { format: Format::Clap, path: folder.path().join(name) };
        let cache = folder.path().join("cache.json");
        let scanner = Scanner {
            program: "/no/such/program".into(),
            arguments: Vec::new(),
            limit: LIMIT,
            cache: Some(cache.clone()),
        };
        let found = scanner.scan(&[library]);
        assert!(found.problems[0].why.contains("UTF-8"), "{found:?}");
        assert!(serde_json::to_string(&found).is_ok() && cache.exists());
    }

    #[test]
    fn what_is_not_the_librarys_fault_is_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.clap");
        std::fs::write(&path, "").unwrap();
        let libraries = [Library { format: Format::Clap, path }];
        let cache = folder.path().join("cache.json");
        let scanner = Scanner {
            program: "/no/such/program".into(),
            arguments: Vec::new(),
            limit: LIMIT,
            cache: Some(cache.clone()),
        };
        assert_eq!(scanner.scan(&libraries).problems.len(), 1);
        assert!(scanner.read_cache().libraries.is_empty());
    }

    #[test]
    fn another_program_keeps_nothing_of_what_this_one_found() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("a.clap"), "").unwrap();
        std::fs::write(at("hocket"), "one build").unwrap();
        let scanner = Scanner {
            program: at("hocket"),
            arguments: Vec::new(),
            limit: LIMIT,
            cache: Some(at("cache.json")),
        };
        let libraries = [Library { format: Format::Clap, path: at("a.clap") }];
        let mut cache = Cache::default();
        let found = Found { plugins: vec![refused("clap:x")], ..Found::default() };
        cache.put(&libraries[0], stamp(&libraries[0].path), found.clone());
        cache.write(&at("cache.json"), &scanner.cache_key());
        assert_eq!(scanner.kept(&libraries), found);
        std::fs::write(at("hocket"), "another build").unwrap();
        assert_eq!(scanner.kept(&libraries), Found::default());
    }

    #[test]
    fn bundles_and_files_are_found_each_once() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("one.lv2")).unwrap();
        std::fs::create_dir_all(at("vendor")).unwrap();
        std::fs::write(at("one.lv2/manifest.ttl"), "").unwrap();
        std::fs::write(at("vendor/two.clap"), "").unwrap();
        std::fs::create_dir_all(at("vendor/three.vst3/Contents/inner.vst3")).unwrap();
        let folders = vec![folder.path().to_path_buf(); 2];
        let places = Places { lv2: folders.clone(), clap: folders.clone(), vst3: folders };
        let libraries = places.libraries();
        let paths: Vec<_> = libraries.iter().map(|library| library.path.clone()).collect();
        assert_eq!(paths, [at("one.lv2"), at("vendor/two.clap"), at("vendor/three.vst3")]);
    }
}
