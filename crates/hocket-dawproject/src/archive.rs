//! The ZIP archive: what may be in it, and its entries as text and as files.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use hocket_session::SessionError;
use zip::ZipArchive;
use zip::result::ZipError;

use crate::media::shortened;
use crate::{ImportError, MAX_TEXT_BYTES};

/// The text of a project in its archive.
pub(crate) const PROJECT: &str = "project.xml";
/// More files than any project has.
const MAX_ENTRIES: usize = 100_000;
/// What any archive may hold unpacked, and in parts of its own size. Deflate makes at most 1032 times as much; silence comes near.
const UNPACKED_BYTES: u64 = 4 << 30;
const UNPACKED_RATIO: u64 = 100;
/// What stays free on a disk after audio files have been written to it.
const SPARED_BYTES: u64 = 64 << 20;
/// Bytes that are copied at a time.
const PIECE_BYTES: usize = 1 << 16;
/// A longer name is cut; some file systems hold 255 bytes.
const LONGEST_NAME: usize = 80;

const DAMAGED: &str = "copy the file again, or export the project again";

/// A project's archive, and the folder into which its audio files are written.
pub(crate) struct Archive {
    stop: Arc<AtomicBool>,
    path: PathBuf,
    zip: ZipArchive<BufReader<File>>,
    folder: PathBuf,
    written: HashSet<String>,
    /// What may still be unpacked: paths may name one file in many ways.
    left_bytes: u64,
    /// The number that the next file of a name gets.
    numbers: HashMap<String, usize>,
    /// What people call the files in the folder, by their paths: the project, and the place in it.
    names: HashMap<PathBuf, String>,
}

/// Why an audio file cannot be had.
#[derive(Debug)]
pub(crate) enum NoMedia {
    /// Its clips are silent: what is wrong with it, as the end of a sentence that begins with its name.
    Missing(String),
    /// Nothing can be played here.
    NotPossible(String),
    /// The user stopped it.
    Stopped,
}

impl Archive {
    /// Opens the archive and looks at its list of files. `folder` is made when the first audio file is written.
    pub(crate) fn open(
        path: &Path,
        folder: &Path,
        stop: Arc<AtomicBool>,
    ) -> Result<Archive, ImportError> {
        let refused = |cause: String, remedy: &str| SessionError::of_file(path, cause, remedy);
        let unreadable = |error: std::io::Error| {
            let remedy = "check the spelling, and that you may read it";
            refused(format!("this project cannot be read: {}", io_cause(&error)), remedy)
        };
        let facts = std::fs::metadata(path).map_err(unreadable)?;
        if !facts.is_file() {
            let cause = "this is not a regular file".into();
            return Err(refused(cause, "name a .dawproject file").into());
        }
        let file = File::open(path).map_err(unreadable)?;
        let mut head = Vec::new();
        (&file).take(4).read_to_end(&mut head).map_err(unreadable)?;
        if !head.starts_with(b"PK") {
            let cause = match head.trim_ascii_start() {
                [] => "this file is empty",
                [b'<' | 0xef, ..] => {
                    "this is bare XML; a project is a ZIP archive with project.xml in it"
                }
                _ => "this is not a ZIP archive, which every project is",
            };
            return Err(refused(cause.into(), DAMAGED).into());
        }
        let mut zip = ZipArchive::new(BufReader::new(file)).map_err(|error| {
            refused(format!("this ZIP archive is damaged: {}", zip_cause(&error)), DAMAGED)
        })?;
        if zip.len() > MAX_ENTRIES {
            let cause = format!("this archive holds {} files, more than {MAX_ENTRIES}", zip.len());
            return Err(refused(cause, "export the project again").into());
        }
        // Readers of an archive in which two files share a name or bytes see different files.
        if zip.has_duplicate_names() {
            let cause = "two files in this archive have the same name".into();
            return Err(refused(cause, "export the project again").into());
        }
        let overlap = zip.has_overlapping_entries().map_err(|error| {
            refused(format!("this ZIP archive is damaged: {}", zip_cause(&error)), DAMAGED)
        })?;
        if overlap {
            let cause = "files in this archive overlap".into();
            return Err(refused(cause, "export the project again").into());
        }
        let left_bytes = UNPACKED_BYTES.max(facts.len().saturating_mul(UNPACKED_RATIO));
        check_unpacked(&zip, left_bytes).map_err(|cause| {
            let remedy =
                "if it is what you want, unpack it and pack it again without compression (zip -0)";
            refused(cause, remedy)
        })?;
        let (path, folder) = (path.to_owned(), folder.to_owned());
        let (written, numbers, names) = (HashSet::new(), HashMap::new(), HashMap::new());
        Ok(Archive { stop, path, zip, folder, written, left_bytes, numbers, names })
    }

    /// The text of `project.xml`.
    pub(crate) fn project(&mut self) -> Result<String, SessionError> {
        let path = self.path.clone();
        let refused = |cause: String, remedy: &str| SessionError::of_file(&path, cause, remedy);
        let Some(index) = self.zip.index_for_name(PROJECT) else {
            return Err(match self.zip.index_for_name("project.json") {
                Some(_) => {
                    let cause =
                        "this is a draft of the format (project.json); version 1.0 has project.xml";
                    refused(cause.into(), "export it again with a newer version of its program")
                }
                None => {
                    let cause = "this archive has no project.xml".into();
                    refused(cause, "name a DAWproject file of version 1.0")
                }
            });
        };
        let damaged = |cause: String| refused(format!("{PROJECT} is damaged: {cause}"), DAMAGED);
        let entry = self.zip.by_index(index).map_err(|error| damaged(zip_cause(&error)))?;
        let mut bytes = Vec::new();
        // What the archive says of its length is not trusted.
        let read = entry.take(MAX_TEXT_BYTES as u64 + 1).read_to_end(&mut bytes);
        if bytes.len() > MAX_TEXT_BYTES {
            let cause = format!("{PROJECT} is larger than {} MiB", MAX_TEXT_BYTES >> 20);
            return Err(refused(cause, "split the project"));
        }
        read.map_err(|error| damaged(io_cause(&error)))?;
        String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let cause = format!("{PROJECT} is not UTF-8 (byte {at})");
            refused(cause, "save project.xml with the encoding UTF-8")
        })
    }

    /// Where messages say that the text is.
    pub(crate) fn project_name(&self) -> PathBuf {
        self.path.join(PROJECT)
    }

    /// The file that a project names: one of the archive, which is written into the folder, or one beside it.
    pub(crate) fn file(&mut self, path: &str, is_external: bool) -> Result<PathBuf, NoMedia> {
        match is_external {
            true => self.external(path),
            false => self.embedded(path),
        }
    }

    /// A path of `/` and `\` alike: some programs write those of Windows.
    fn external(&self, path: &str) -> Result<PathBuf, NoMedia> {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let as_written = folder.join(path);
        let turned = folder.join(path.replace('\\', "/"));
        let found = [as_written, turned].into_iter().find(|path| path.is_file());
        found.ok_or_else(|| NoMedia::Missing("is not there".into()))
    }

    fn embedded(&mut self, path: &str) -> Result<PathBuf, NoMedia> {
        let turned = path.replace('\\', "/");
        let plain = turned.trim_start_matches("./");
        let names = [path, turned.as_str(), plain];
        let index = names.into_iter().find_map(|name| self.zip.index_for_name(name));
        let index = index.ok_or_else(|| NoMedia::Missing("is not in the archive".into()))?;
        let name = self.free_name(plain);
        let target = self.folder.join(&name);
        let here = |error: std::io::Error| {
            let (path, cause) = (target.display(), io_cause(&error));
            NoMedia::NotPossible(format!(
                "{path}: the file cannot be written: {cause}; free some space, or set TMPDIR to another folder"
            ))
        };
        std::fs::create_dir_all(&self.folder).map_err(here)?;
        let missing = |cause: String| NoMedia::Missing(format!("cannot be unpacked: {cause}"));
        let mut entry = self.zip.by_index(index).map_err(|error| missing(zip_cause(&error)))?;
        if !entry.is_file() {
            return Err(NoMedia::Missing("is no file".into()));
        }
        let size = entry.size();
        self.left_bytes = self.left_bytes.checked_sub(size).ok_or_else(|| {
            NoMedia::Missing("is named in so many ways that it takes too much room".into())
        })?;
        check_room(&self.folder, plain, size)?;
        let mut file = File::options().write(true).create_new(true).open(&target).map_err(here)?;
        let unpacked = copy(&mut entry, &mut file, size, &self.stop);
        drop(entry);
        match unpacked {
            Ok(()) => {
                self.written.insert(name);
                let called = format!("{}: {}", self.path.display(), shortened(plain));
                self.names.insert(target.clone(), called);
                Ok(target)
            }
            Err(Copying::Stopped) => {
                _ = std::fs::remove_file(&target);
                Err(NoMedia::Stopped)
            }
            Err(Copying::Reading(cause)) => {
                _ = std::fs::remove_file(&target);
                Err(missing(cause))
            }
            Err(Copying::Writing(error)) => {
                _ = std::fs::remove_file(&target);
                Err(here(error))
            }
        }
    }

    /// What people call the files in the folder, by their paths.
    pub(crate) fn names(self) -> HashMap<PathBuf, String> {
        self.names
    }

    /// What says that the user stopped the import.
    pub(crate) fn stop(&self) -> &AtomicBool {
        &self.stop
    }

    /// A new file in the folder, for audio that is made of another file.
    pub(crate) fn new_file(&mut self, wanted: &str, of: &Path) -> PathBuf {
        let name = self.free_name(wanted);
        let path = self.folder.join(&name);
        let of = self.names.get(of).cloned().unwrap_or_else(|| of.display().to_string());
        self.names.insert(path.clone(), format!("{of} (warped)"));
        self.written.insert(name);
        path
    }

    /// Removes a file that was written into the folder; others stay. One that cannot be removed does no harm.
    pub(crate) fn remove(&self, path: &Path) {
        if path.parent() == Some(&self.folder) {
            _ = std::fs::remove_file(path);
        }
    }

    /// A name for a file in the folder: of the path in the archive only the last part counts, so none leads elsewhere.
    fn free_name(&mut self, path: &str) -> String {
        let last = path.rsplit('/').next().unwrap_or_default();
        let (stem, ending) = last.rsplit_once('.').unwrap_or((last, ""));
        let stem = plain_name(stem);
        let stem = if stem.is_empty() { "audio".to_owned() } else { stem };
        let ending = match plain_name(ending) {
            ending if ending.is_empty() => String::new(),
            ending => format!(".{ending}"),
        };
        let numbered = |number: usize| match number {
            1 => format!("{stem}{ending}"),
            _ => format!("{stem} {number}{ending}"),
        };
        let next = self.numbers.entry(numbered(1)).or_insert(1);
        loop {
            let name = numbered(*next);
            *next += 1;
            if !self.written.contains(&name) {
                return name;
            }
        }
    }
}

/// Letters, digits and a few signs: nothing that a shell, a file system or a session file would take for something else.
fn plain_name(name: &str) -> String {
    let is_plain =
        |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '(' | ')' | '+' | '.');
    let plain: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    let mut cut = String::new();
    for c in plain.trim_matches([' ', '.']).chars() {
        if cut.len() + c.len_utf8() > LONGEST_NAME {
            break;
        }
        cut.push(c);
    }
    cut
}

enum Copying {
    Reading(String),
    Writing(std::io::Error),
    Stopped,
}

/// Copies an entry, which has `size` bytes by its own account; its checksum is compared at its end.
fn copy(
    entry: &mut impl std::io::Read,
    file: &mut File,
    size: u64,
    stop: &AtomicBool,
) -> Result<(), Copying> {
    let mut piece = vec![0; PIECE_BYTES];
    let mut done = 0;
    loop {
        // Relaxed: the flag publishes nothing.
        if stop.load(Relaxed) {
            return Err(Copying::Stopped);
        }
        let count = match entry.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Copying::Reading(io_cause(&error))),
        };
        done += count as u64;
        if done > size {
            return Err(Copying::Reading("it holds more than it says".into()));
        }
        file.write_all(&piece[..count]).map_err(Copying::Writing)?;
    }
    match done == size {
        true => Ok(()),
        false => Err(Copying::Reading("it holds less than it says".into())),
    }
}

/// Whether the files say that they are so large together. What one of them has more is not unpacked.
fn check_unpacked(zip: &ZipArchive<BufReader<File>>, most_bytes: u64) -> Result<(), String> {
    let Some(bytes) = zip.decompressed_size() else { return Ok(()) };
    let most_bytes = u128::from(most_bytes);
    match bytes <= most_bytes {
        true => Ok(()),
        false => Err(format!(
            "the files of this archive say that they hold {} MiB unpacked, and {} MiB are the most that are unpacked ({} MiB, \
             or {UNPACKED_RATIO} times the archive's own size)",
            bytes >> 20,
            most_bytes >> 20,
            UNPACKED_BYTES >> 20
        )),
    }
}

/// Refuses a file that the disk has no room for, before anything of it is written.
pub(crate) fn check_room(folder: &Path, name: &str, bytes: u64) -> Result<(), NoMedia> {
    let Ok(disk) = rustix::fs::statvfs(folder) else { return Ok(()) };
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    match bytes.saturating_add(SPARED_BYTES) > free {
        false => Ok(()),
        true => Err(NoMedia::NotPossible(format!(
            "{}: '{name}' of the project needs {} MiB and the disk has {} MiB free; free some space, or set TMPDIR to \
             another folder",
            folder.display(),
            bytes >> 20,
            free >> 20
        ))),
    }
}

/// What the system says, without its number and as the end of a sentence.
pub(crate) fn io_cause(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_ascii_lowercase());
    first.into_iter().chain(chars).collect()
}

fn zip_cause(error: &ZipError) -> String {
    match error {
        ZipError::Io(error) => io_cause(error),
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_nowhere_else() {
        assert_eq!(plain_name("../../etc"), "_.._etc");
        assert_eq!(plain_name(".."), "");
        assert_eq!(plain_name("a\u{0}b\nc"), "a_b_c");
        assert_eq!(plain_name(&"x".repeat(500)).len(), LONGEST_NAME);
        assert_eq!(plain_name(&"é".repeat(500)).len(), LONGEST_NAME);
    }

    #[test]
    fn a_file_under_many_names_takes_the_room_of_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.dawproject");
        let mut zip = zip::ZipWriter::new(File::create(&path).unwrap());
        zip.start_file("a.wav", zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(&[0; 600]).unwrap();
        zip.finish().unwrap();
        let mut archive =
            Archive::open(&path, &folder.path().join("unpacked"), Arc::default()).unwrap();
        archive.left_bytes = 1_000;
        archive.file("a.wav", false).unwrap();
        let NoMedia::Missing(why) = archive.file("././a.wav", false).unwrap_err() else {
            panic!("no other refusal")
        };
        assert!(why.contains("so many ways"), "{why}");
    }
}
