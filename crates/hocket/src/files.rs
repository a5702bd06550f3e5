//! The files of a command: what it reads and what it writes, known before any work begins.
//!
//! No output may be an input or another output, whatever names and links lead to it. An output replaces a file only if
//! Hocket wrote that file as the same kind of output, or with `--force`; see [`Kind`].

use std::fs::Metadata;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use hocket_files::{
    LONGEST_NAME, StandardOutput, closed_descriptor, expect_anything, expect_present,
    is_standard_input, is_standard_output, remove_dead_parts, target_of,
};
use hocket_lab::store::shared_on;

use crate::failure::Failure;
use crate::leftovers;

/// What an output is, and how an earlier one is recognised by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// WAV or FLAC whose header is Hocket's, and no take.
    Audio,
    /// JSON of the format `hocket-bench`.
    Record,
    /// JSON of the format `hocket-capacity`.
    Capacity,
    /// HTML whose generator is Hocket.
    Page,
    /// The mark of the folder of a site.
    Site,
    /// The profile of a machine, as `hocket tune` writes it.
    Profile,
    /// SVG that says it is from Hocket.
    Picture,
    /// Text, JSON or a protobuf that names the format `hocket-trace` or `hocket-threads`.
    Trace,
    /// The state of an LV2 plug-in. One of a CLAP plug-in has no mark, and one of a VST3
    /// plug-in has that of every host, so these count as somebody's work.
    State,
    /// A file that its reader has checked already: what is there is an input, too.
    Checked,
    /// A session: somebody's work, which is never replaced.
    Session,
    /// The log of a run: evidence of what happened, which only `--force` replaces.
    Log,
}

/// Endings by which other programs know a format.
#[rustfmt::skip]
const FORMATS: [&str; 28] = [
    "aif", "aiff", "csv", "dawproject", "flac", "gif", "htm", "html", "jpeg", "jpg", "json", "m4a", "md", "mid", "midi", "mp3",
    "ogg", "opus", "pdf", "pftrace", "png", "sqlite", "svg", "toml", "txt", "wav", "wave", "xml",
];

/// Enough for the mark of every kind.
const HEAD_BYTES: u64 = 4096;

impl Kind {
    fn wrote(self, path: &Path) -> bool {
        let head = head(path);
        let begins = |with: &str| head.starts_with(with.as_bytes());
        match self {
            Kind::Audio => hocket_media::is_output(&head),
            Kind::Record => hocket_lab::provenance::format_of(path)
                .is_some_and(|format| format.starts_with("hocket-bench/")),
            Kind::Capacity => hocket_lab::channels::is_record(path),
            Kind::Page => hocket_lab::report::is_page(&head),
            Kind::Site => begins(crate::report::SITE_MARK),
            Kind::Profile => begins(hocket_lab::tune::PROFILE_MARK),
            Kind::Picture => {
                let root = head.split(|byte| *byte == b'>').next().unwrap_or_default();
                begins("<svg") && is_in(root, " data-from=\"hocket")
            }
            Kind::Trace => {
                let formats = [hocket_trace::run::FORMAT, hocket_trace::system::FORMAT];
                let is_text = formats.iter().any(|format| begins(format));
                // Perfetto's begins like a text that begins with an empty line.
                let is_binary = begins("\n") && head.iter().any(|byte| *byte < b'\t');
                let is_events = begins("{\"otherData\":{\"format\":") || is_binary;
                is_text || is_events && formats.iter().any(|format| is_in(&head, format))
            }
            Kind::State => begins("{\"format\":\"hocket-lv2-state/"),
            Kind::Checked => true,
            Kind::Session | Kind::Log => false,
        }
    }

    /// Whether Hocket wrote the file at this path as this.
    pub(crate) fn is_of(self, path: &Path) -> bool {
        path.is_file() && self.wrote(path)
    }

    /// The endings that name its format, the usual one first; empty where others look at the ending, or any will do.
    fn endings(self) -> &'static [&'static str] {
        match self {
            Kind::Record | Kind::Capacity => &["json"],
            Kind::Page => &["html", "htm"],
            Kind::Picture => &["svg"],
            Kind::Profile | Kind::Session => &["toml"],
            Kind::Audio | Kind::Site | Kind::Trace | Kind::State | Kind::Checked | Kind::Log => &[],
        }
    }

    /// Whether the ending of a name says another format than what is written. One that says nothing is the user's choice.
    fn is_other_format(self, path: &Path) -> bool {
        let ending = path.extension().map(|it| it.to_string_lossy().to_ascii_lowercase());
        ending.is_some_and(|ending| {
            !self.endings().is_empty()
                && FORMATS.contains(&ending.as_str())
                && !self.endings().contains(&ending.as_str())
        })
    }

    /// Whether its folder is made if there is none. A folder that was mistyped would swallow a whole render.
    fn makes_folder(self) -> bool {
        !matches!(self, Kind::Audio | Kind::State | Kind::Session | Kind::Log)
    }
}

/// The files of one command.
#[derive(Debug)]
pub(crate) struct Files {
    force: bool,
    seen: Vec<Seen>,
    /// Files whose folder [`Files::make_folders`] makes.
    in_new_folders: Vec<PathBuf>,
}

#[derive(Debug)]
struct Seen {
    /// As the user knows it: `the session`, `--record`.
    what: String,
    file: Identity,
}

/// Which file a path means.
#[derive(Debug, PartialEq, Eq)]
enum Identity {
    /// A regular file: device and inode.
    There(u64, u64),
    /// None yet: device and inode of the nearest folder that exists, and the way from there.
    New(u64, u64, PathBuf),
}

impl Identity {
    /// `None` for what cannot be overwritten: pipes, devices, folders, and what is not reachable at all.
    fn of(path: &Path) -> Option<Identity> {
        let path = if is_standard_input(path) { Path::new("/dev/stdin") } else { path };
        match std::fs::metadata(path) {
            Ok(there) => Identity::of_file(&there),
            Err(_) => {
                let path = target_of(path).ok()?;
                let (folder, way) = nearest_folder(&path)?;
                let folder = std::fs::metadata(folder).ok()?;
                Some(Identity::New(folder.dev(), folder.ino(), without_detours(way)))
            }
        }
    }

    /// As [`Identity::of`], where `-` is standard output.
    fn of_output(path: &Path) -> Option<Identity> {
        match is_standard_output(path) {
            true => StandardOutput.metadata().ok().and_then(|there| Identity::of_file(&there)),
            false => Identity::of(path),
        }
    }

    fn of_file(there: &Metadata) -> Option<Identity> {
        there.is_file().then(|| Identity::There(there.dev(), there.ino()))
    }
}

impl Files {
    /// Of a command that knows no file yet. `force`: may replace what Hocket did not write.
    pub(crate) fn new(force: bool) -> Files {
        Files { force, seen: Vec::new(), in_new_folders: Vec::new() }
    }

    /// The command reads this file. Name inputs before outputs.
    pub(crate) fn reads(&mut self, what: impl Into<String>, path: &Path) {
        let file = Identity::of(path);
        self.seen.extend(file.map(|file| Seen { what: what.into(), file }));
    }

    /// The session file and the audio files that it names.
    pub(crate) fn reads_session(&mut self, path: &Path, sources: impl Iterator<Item = PathBuf>) {
        self.reads("the session", path);
        for source in sources {
            self.reads("a file of the session", &source);
        }
    }

    /// The command prints what it read. Call it behind the inputs, before outputs are named.
    ///
    /// # Errors
    /// Standard output leads into an input (`>> FILE`): nothing is changed.
    pub(crate) fn prints(&self) -> Result<(), Failure> {
        let Some(file) = Identity::of_output(Path::new("-")) else { return Ok(()) };
        match self.seen.iter().find(|seen| seen.file == file) {
            None => Ok(()),
            Some(input) => Err(Failure::bad_input(format!(
                "standard output leads into {}, and nothing was changed; print into another file",
                input.what
            ))),
        }
    }

    /// The command adds to this file, or makes it. The code that opens it refuses a file to which nothing can be added.
    ///
    /// # Errors
    /// The file is an input or another output: nothing is changed.
    pub(crate) fn adds_to(&mut self, what: &str, path: &Path) -> Result<(), Failure> {
        let Some(file) = Identity::of_output(path) else { return Ok(()) };
        if let Some(other) = self.seen.iter().find(|seen| seen.file == file) {
            return Err(Failure::bad_input(format!(
                "{what} {}: this file is {}, too, and nothing was changed; name another file",
                path.display(),
                other.what
            )));
        }
        self.seen.push(Seen { what: what.into(), file });
        Ok(())
    }

    /// The command writes this file. What a killed run left half-written under this name is removed, and what it left of
    /// others in the folder is named at the end. The folder of a record, page, picture, trace or profile may be missing;
    /// [`Files::make_folders`] makes it.
    ///
    /// # Errors
    /// The file is an input or another output, is not Hocket's to replace, or cannot be written: nothing is changed.
    pub(crate) fn writes(&mut self, what: &str, path: &Path, kind: Kind) -> Result<(), Failure> {
        if is_standard_output(path) {
            // The shell may have opened an input for it.
            return self.adds_to(what, path);
        }
        if matches!(kind, Kind::Record | Kind::Capacity | Kind::Profile) {
            hocket_lab::provenance::check(path).map_err(Failure::bad_input)?;
        }
        self.adds_to(what, path)?;
        match std::fs::metadata(path) {
            Ok(there) if there.is_file() => self.check_replaceable(what, path, &there, kind)?,
            // A pipe or a device takes what it gets.
            Ok(there) if !there.is_dir() => return Ok(()),
            _ => {}
        }
        check_name(what, path, kind)?;
        let tried = match kind.makes_folder() {
            true => check_writable_below(path),
            false => check_writable(path),
        };
        tried.map_err(|why| Failure { message: format!("{what} {why}"), ..why })?;
        if kind.makes_folder() {
            self.in_new_folders.push(path.into());
        }
        remove_dead_parts_of(path);
        // With `--force` the user has decided, whatever comes.
        if self.force {
            expect_anything(path)
        } else {
            expect_present(path)
        }
        Ok(())
    }

    /// Makes the folders that outputs need. Call it when nothing can be refused any more, so that what is refused leaves
    /// no folder behind.
    ///
    /// # Errors
    /// The system refuses it: exit code 3.
    pub(crate) fn make_folders(&self) -> Result<(), Failure> {
        self.in_new_folders.iter().try_for_each(|path| make_folder(path))
    }

    fn check_replaceable(
        &self,
        what: &str,
        path: &Path,
        there: &Metadata,
        kind: Kind,
    ) -> Result<(), Failure> {
        let own = there.len() == 0 || kind.wrote(path) && !is_take(path);
        match self.force || own {
            true => Ok(()),
            false => Err(Failure::bad_input(format!(
                "{what} {}: there is a file {}, and nothing was changed; name another file, or replace it with --force",
                path.display(),
                if kind == Kind::Log { "already" } else { "that Hocket did not write as such" }
            ))),
        }
    }
}

/// For a command that prints what it reads, and writes no files.
///
/// # Errors
/// As [`Files::prints`].
pub(crate) fn check_prints(what: &str, path: &Path) -> Result<(), Failure> {
    let mut files = Files::new(false);
    files.reads(what, path);
    files.prints()
}

/// Whether the name says what is written, and leaves room for the name of a part.
fn check_name(what: &str, path: &Path, kind: Kind) -> Result<(), Failure> {
    let refuse = |why: String| {
        Err(Failure::bad_input(format!(
            "{what} {}: {why}, and nothing was changed",
            path.display()
        )))
    };
    if kind.is_other_format(path) {
        let right: Vec<String> = kind.endings().iter().map(|ending| format!(".{ending}")).collect();
        return refuse(format!(
            "the ending says another format than is written; choose {}",
            right.join(" or ")
        ));
    }
    // What a link leads to is written, under its own name.
    let target = target_of(path).unwrap_or_else(|_| path.into());
    let bytes = target.file_name().map_or(0, |name| name.len());
    match bytes > LONGEST_NAME {
        true => refuse(format!("its name has {bytes} bytes; choose one of at most {LONGEST_NAME}")),
        false => Ok(()),
    }
}

/// Removes what killed runs left half-written under this name, and says what. What they left of other files in the folder is
/// named when the command ends.
pub(crate) fn remove_dead_parts_of(path: &Path) {
    // Where other machines may write, too, a free lock does not show that nobody writes.
    if shared_on(path).is_none() {
        leftovers::tell_removed(remove_dead_parts(path));
    }
    if let Ok(target) = target_of(path) {
        leftovers::look_in(folder_of(&target));
    }
}

/// Whether this is a recording: it has a manifest beside it, under this name or the one that links lead to. No other run
/// makes it again. Recordings by earlier versions have no other mark.
fn is_take(path: &Path) -> bool {
    let has_manifest = |path: &Path| {
        let mut manifest = path.as_os_str().to_owned();
        manifest.push(".take.toml");
        Path::new(&manifest).exists()
    };
    has_manifest(path) || target_of(path).is_ok_and(|target| has_manifest(&target))
}

fn is_in(bytes: &[u8], mark: &str) -> bool {
    bytes.windows(mark.len()).any(|part| part == mark.as_bytes())
}

/// The first bytes; nothing of what cannot be read, which Hocket then did not write.
fn head(path: &Path) -> Vec<u8> {
    use std::io::Read;
    let mut head = Vec::new();
    if let Ok(file) = std::fs::File::open(path) {
        let _ = file.take(HEAD_BYTES).read_to_end(&mut head);
    }
    head
}

/// Where a file lies or would lie.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// What of a path is there already, and the way from there. `None` where the present folder itself is gone.
fn nearest_folder(path: &Path) -> Option<(&Path, &Path)> {
    let above = path.ancestors().skip(1);
    let mut above = above.map(|it| if it.as_os_str().is_empty() { Path::new(".") } else { it });
    let folder = above.find(|folder| folder.exists())?;
    Some((folder, path.strip_prefix(folder).unwrap_or(path)))
}

/// A path without `.` and `..`. Nothing of it is there, so no link leads elsewhere.
fn without_detours(way: &Path) -> PathBuf {
    let mut straight = PathBuf::new();
    for part in way.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => _ = straight.pop(),
            part => straight.push(part),
        }
    }
    straight
}

/// Makes the folder of an output, if there is none.
fn make_folder(path: &Path) -> Result<(), Failure> {
    let made = target_of(path).and_then(|target| std::fs::create_dir_all(folder_of(&target)));
    made.map_err(|error| {
        Failure::not_possible(format!(
            "{}: its folder cannot be made: {error}; name a file in a folder that you may write to",
            path.display()
        ))
    })
}

/// Finds out before a long run whether its result can be kept.
pub(crate) fn check_writable(path: &Path) -> Result<(), Failure> {
    if path.is_dir() {
        let text = format!("{}: is a folder; name a file in it", path.display());
        return Err(Failure::bad_input(text));
    }
    try_folder(path, folder_of(&checked_target(path)?))
}

/// As [`check_writable`], for a file whose folder is yet to be made.
fn check_writable_below(path: &Path) -> Result<(), Failure> {
    match nearest_folder(&checked_target(path)?) {
        Some((folder, _)) if !path.is_dir() => try_folder(path, folder),
        _ => check_writable(path),
    }
}

/// Where the file itself is or will be: a part of it is written there, not beside a link.
fn checked_target(path: &Path) -> Result<PathBuf, Failure> {
    if let Some(number) = closed_descriptor(path) {
        return Err(Failure::not_possible(format!(
            "{}: cannot be written: file descriptor {number} is not open; open it in the shell, as in `{number}> FILE`",
            path.display()
        )));
    }
    target_of(path).map_err(|error| {
        let path = path.display();
        Failure::not_possible(format!("{path}: cannot be written: {error}; name another file"))
    })
}

fn try_folder(path: &Path, folder: &Path) -> Result<(), Failure> {
    // It has no name, so nothing is left of it whatever happens.
    let trial = tempfile::tempfile_in(folder);
    trial.map(|_| ()).map_err(|error| {
        // The error's own text names the trial file, which means nothing to a user.
        let cause = match error.kind() {
            ErrorKind::NotFound => "there is no such folder".into(),
            kind => kind.to_string(),
        };
        Failure::not_possible(format!(
            "{}: cannot be written: {cause}; choose a folder that exists and may be written to",
            path.display()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_the_same_by_every_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("a"), "text").unwrap();
        std::fs::hard_link(at("a"), at("hard")).unwrap();
        std::os::unix::fs::symlink(at("a"), at("soft")).unwrap();
        std::os::unix::fs::symlink(folder.path(), at("again")).unwrap();
        for name in ["hard", "soft", "again/a", "again/./again/hard"] {
            assert_eq!(Identity::of(&at(name)), Identity::of(&at("a")), "{name}");
        }
        assert_eq!(Identity::of(&at("again/new")), Identity::of(&at("new")));
        assert_ne!(Identity::of(&at("newer")), Identity::of(&at("new")));
        for name in ["again/x/y/new", "x/./y/new", "x/z/../y/new"] {
            assert_eq!(Identity::of(&at(name)), Identity::of(&at("x/y/new")), "{name}");
        }
        assert_ne!(Identity::of(&at("x/new")), Identity::of(&at("x/y/new")));
        std::os::unix::fs::symlink("x/y/new", at("dangling")).unwrap();
        assert_eq!(Identity::of(&at("dangling")), Identity::of(&at("x/y/new")));
        assert_eq!(Identity::of(Path::new("/dev/null")), None);
    }
}
