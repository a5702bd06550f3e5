//! Files that appear whole or not at all.

use std::ffi::{OsStr, OsString};
use std::fs::{DirEntry, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::expected::{Displaced, Found, expect_present, expected_at};
use crate::links::target_of;
use crate::name::rename_new;
use crate::standard_output::{self, is_standard_output};

/// A file that is written under a temporary name beside its target, a *part*, and takes the target's name on
/// [`OutputFile::commit`]. Dropped before that, it removes the part. Pipes, devices and standard output are written to
/// directly.
///
/// A part is locked for as long as it is written, so a part without a lock belongs to nobody.
#[derive(Debug)]
pub struct OutputFile {
    file: File,
    /// `None` where nothing is left to name or to remove: a stream, or a committed file.
    part: Option<Part>,
}

#[derive(Debug)]
struct Part {
    /// As the caller names it.
    path: PathBuf,
    target: PathBuf,
    temporary: PathBuf,
}

/// Makes temporary names unique within the process. Relaxed: only uniqueness matters, nothing is
/// published with it.
static SERIAL: AtomicU32 = AtomicU32::new(0);

const ENDING: &str = ".part";

/// The most bytes that the name of an output may have. Names have 255 on Linux, and that of a part needs 20 more: two dots, a
/// process of up to 7 digits, a serial number of 5, and its ending.
pub const LONGEST_NAME: usize = 235;

/// So many files may lie beside a target that others took.
const MOST_BESIDE: u32 = 1000;

impl OutputFile {
    /// Begins a file. Links are followed, so that a link's target is replaced or made and not the link itself.
    ///
    /// # Errors
    /// The folder is missing or may not be written to, or `path` is a folder.
    pub fn create(path: &Path) -> io::Result<Self> {
        if is_standard_output(path) {
            return Ok(Self { file: standard_output::file()?, part: None });
        }
        let target = match std::fs::metadata(path) {
            Ok(there) if there.is_dir() => return Err(ErrorKind::IsADirectory.into()),
            Ok(there) if !there.is_file() => {
                let file = OpenOptions::new().write(true).open(path)?;
                return Ok(Self { file, part: None });
            }
            Ok(_) => path.canonicalize()?,
            Err(_) => target_of(path)?,
        };
        if target.file_name().is_none() {
            return Err(io::Error::new(ErrorKind::InvalidFilename, "it has no file name"));
        }
        let (file, temporary) = new_part(&target)?;
        Ok(Self { file, part: Some(Part { path: path.into(), target, temporary }) })
    }

    /// The open file.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Where it is until it has its name; `None` for a stream.
    pub fn part(&self) -> Option<&Path> {
        self.part.as_ref().map(|part| part.temporary.as_path())
    }

    /// Whether what is written is gone at once, so that nothing can be corrected later.
    pub fn is_stream(&self) -> bool {
        self.part.is_none()
    }

    /// Puts the content on the disk and then under its name, unless something else is there than
    /// [`expect_present`] saw.
    ///
    /// # Errors
    /// The disk is full or fails; then the part is removed, and what had the name stays. [`Displaced`]: something else
    /// is there; it stays, and the content is beside it under another name.
    pub fn commit(mut self) -> io::Result<()> {
        let Some(part) = &self.part else { return Ok(()) };
        // Some file systems report a full disk only here, and after a crash the rename must not have
        // overtaken the data.
        self.file.sync_all()?;
        let displaced = part.take_name()?;
        sync_folder(&part.target);
        self.part = None;
        displaced
            .map_or(Ok(()), |displaced| Err(io::Error::new(ErrorKind::AlreadyExists, displaced)))
    }

    /// As [`commit`](Self::commit), but fails if something has the name by now, as [`rename_new`] does.
    ///
    /// # Errors
    /// As [`commit`](Self::commit); [`io::ErrorKind::AlreadyExists`]. What had the name stays.
    pub fn commit_new(mut self) -> io::Result<()> {
        let Some(part) = &self.part else { return Ok(()) };
        self.file.sync_all()?;
        rename_new(&part.temporary, &part.target)?;
        sync_folder(&part.target);
        self.part = None;
        Ok(())
    }
}

/// Writes a text that appears whole or not at all, as [`OutputFile`] does.
///
/// Thread: control. Cost: O(bytes), waits for the disk.
///
/// # Errors
/// As [`OutputFile::create`] and [`OutputFile::commit`], or the disk is full: what had the name stays.
pub fn write_text(path: &Path, text: &str) -> io::Result<()> {
    let mut output = OutputFile::create(path)?;
    output.file().write_all(text.as_bytes())?;
    output.commit()
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some(part) = self.part.take() {
            // The error that led here has been reported already.
            let _ = std::fs::remove_file(&part.temporary);
        }
    }
}

impl Part {
    /// Gives it the name of its target, or, where something else is there than expected, a name beside it.
    fn take_name(&self) -> io::Result<Option<Displaced>> {
        let Some(expected) = expected_at(&self.path) else {
            std::fs::rename(&self.temporary, &self.target)?;
            return Ok(None);
        };
        let renamed = match Found::at(&self.target) {
            Found::Nothing => rename_new(&self.temporary, &self.target),
            there if there == expected => std::fs::rename(&self.temporary, &self.target),
            _ => Err(ErrorKind::AlreadyExists.into()),
        };
        match renamed {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let kept = self.stay_beside()?;
                Ok(Some(Displaced { kept }))
            }
            Err(error) => Err(error),
            Ok(()) => {
                // The same process may write it again.
                expect_present(&self.path);
                Ok(None)
            }
        }
    }

    /// Takes the first free name of `NAME-new.ENDING`, `NAME-new-2.ENDING`, ...
    fn stay_beside(&self) -> io::Result<PathBuf> {
        let mut taken = Err(ErrorKind::AlreadyExists.into());
        for number in 1..=MOST_BESIDE {
            let name = beside(&self.target, number);
            taken = rename_new(&self.temporary, &name).map(|()| name);
            if !matches!(&taken, Err(error) if error.kind() == ErrorKind::AlreadyExists) {
                break;
            }
        }
        taken
    }
}

/// A name beside a target, with the same ending, because the ending is the format.
fn beside(target: &Path, number: u32) -> PathBuf {
    let mut name = target.file_stem().unwrap_or_default().to_owned();
    name.push("-new");
    if number > 1 {
        name.push(format!("-{number}"));
    }
    if let Some(ending) = target.extension() {
        name.push(".");
        name.push(ending);
    }
    target.with_file_name(name)
}

/// A new part and its name.
fn new_part(target: &Path) -> io::Result<(File, PathBuf)> {
    loop {
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let mut name = prefix(target.file_name().unwrap_or_default());
        name.push(format!("{}-{serial}{ENDING}", std::process::id()));
        let temporary = target.with_file_name(name);
        let opened = OpenOptions::new().read(true).write(true).create_new(true).open(&temporary);
        let file = match opened {
            Ok(file) => file,
            // A killed process with this number left it.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(error),
        };
        // Not every file system has locks; without one nobody takes this part for a dead one either.
        let _ = file.lock();
        // Between the two calls another process may have taken it for dead and removed it.
        if file.metadata()?.nlink() > 0 {
            return Ok((file, temporary));
        }
    }
}

fn prefix(name: &OsStr) -> OsString {
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(".");
    hidden
}

/// Removes the parts of `target` that killed processes left; returns which.
pub fn remove_dead_parts(target: &Path) -> Vec<PathBuf> {
    let Ok(target) = target_of(target) else { return Vec::new() };
    let Some(name) = target.file_name() else { return Vec::new() };
    let Ok(entries) = std::fs::read_dir(folder_of(&target)) else { return Vec::new() };
    let names = entries.flatten().map(|entry| entry.file_name());
    let is_its = |part: &OsString| taken_apart(part).is_some_and(|(of, _)| of == name);
    let parts = names.filter(is_its).map(|part| target.with_file_name(part));
    parts.filter(|part| remove_dead(part)).collect()
}

/// `PROCESS-SERIAL`
pub(crate) fn are_numbers(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.split_once('-').is_some_and(|(process, serial)| digits(process) && digits(serial))
}

/// Whether nobody held its lock, and it is gone. The lock is held until then, so nobody can take the part meanwhile.
fn remove_dead(part: &Path) -> bool {
    // A part is no link, and a pipe must not be opened: that waits for its writer.
    if !part.symlink_metadata().is_ok_and(|there| there.is_file()) {
        return false;
    }
    let Ok(file) = File::open(part) else { return false };
    file.try_lock().is_ok() && std::fs::remove_file(part).is_ok()
}

/// A part that nobody writes any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadPart {
    /// Where it is.
    pub path: PathBuf,
    /// The file that it was to become.
    pub target: PathBuf,
    /// How much of it was written.
    pub bytes: u64,
}

/// The parts that killed processes left in a folder, whatever they were to become, by name. Nothing is removed: a name
/// and a free lock do not show that a part is of no use to anybody.
pub fn dead_parts_in(folder: &Path) -> Vec<DeadPart> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut dead: Vec<DeadPart> = entries.filter_map(|entry| dead_part(&entry)).collect();
    dead.sort_by(|one, other| one.path.cmp(&other.path));
    dead
}

fn dead_part(entry: &DirEntry) -> Option<DeadPart> {
    let name = entry.file_name();
    let (target, process) = taken_apart(&name)?;
    // As in `remove_dead`.
    entry.file_type().ok().filter(|what| what.is_file())?;
    let path = entry.path();
    let file = File::open(&path).ok()?;
    file.try_lock().ok()?;
    let bytes = file.metadata().ok()?.len();
    // A part that begins is empty, and has no lock yet.
    let may_begin = bytes == 0 && Path::new("/proc").join(process).exists();
    (!may_begin).then(|| DeadPart { target: path.with_file_name(target), path, bytes })
}

/// Target and process of a part's name, `.NAME.PROCESS-SERIAL.part`.
fn taken_apart(name: &OsStr) -> Option<(&OsStr, &str)> {
    let rest = name.as_bytes().strip_prefix(b".")?.strip_suffix(ENDING.as_bytes())?;
    let dot = rest.iter().rposition(|byte| *byte == b'.').filter(|dot| *dot > 0)?;
    let numbers = std::str::from_utf8(&rest[dot + 1..]).ok().filter(|text| are_numbers(text))?;
    let (process, _) = numbers.split_once('-')?;
    Some((OsStr::from_bytes(&rest[..dot]), process))
}

fn folder_of(target: &Path) -> &Path {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Makes the new name itself survive a power cut. Not every file system can; the content is
/// safe in either case, so a failure is no error.
fn sync_folder(target: &Path) {
    if let Ok(folder) = File::open(folder_of(target)) {
        let _ = folder.sync_all();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn the_longest_name_has_a_part_and_a_longer_one_has_none() {
        let mut of_longest = prefix(OsStr::new(&"a".repeat(LONGEST_NAME)));
        // The largest number of a process on Linux.
        of_longest.push(format!("4194304-99999{ENDING}"));
        assert_eq!(of_longest.len(), 255);
        let folder = tempfile::tempdir().unwrap();
        let longest = folder.path().join("a".repeat(LONGEST_NAME));
        write_text(&longest, "whole").unwrap();
        assert_eq!(std::fs::read_to_string(longest).unwrap(), "whole");
        assert!(OutputFile::create(&folder.path().join("a".repeat(255))).is_err());
    }

    #[test]
    fn only_parts_without_an_owner_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out.wav");
        let dead = folder.path().join(".out.wav.1234-0.part");
        let others = [".out.wav.mine.part", ".other.wav.1234-0.part", "out.wav.1234-0.part"];
        for name in others {
            std::fs::write(folder.path().join(name), "kept").unwrap();
        }
        std::fs::write(&dead, "half a file").unwrap();
        let mut alive = OutputFile::create(&target).unwrap();
        alive.file().write_all(b"whole").unwrap();
        assert_eq!(remove_dead_parts(&target), [dead]);
        alive.commit().unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), b"whole");
        assert!(others.iter().all(|name| folder.path().join(name).exists()));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 4);
    }

    #[test]
    fn dead_parts_of_every_target_are_found_and_stay() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let dead = [".a.b.wav.1234-0.part", ".new.toml.77-12.part"];
        let others =
            [".a.wav.mine.part", "..1-2.part", ".1-2.part", "a.wav.1-2.part", ".a.wav.1-2.PART"];
        for name in dead.iter().chain(&others) {
            std::fs::write(at(name), "half").unwrap();
        }
        std::os::unix::fs::symlink(at("a.wav.1-2.part"), at(".link.wav.1-2.part")).unwrap();
        std::fs::create_dir(at(".folder.wav.1-2.part")).unwrap();
        // Just begun by a process that lives, which has no lock yet.
        let begun = format!(".begun.wav.{}-7.part", std::process::id());
        std::fs::write(at(&begun), "").unwrap();
        let mut alive = OutputFile::create(&at("alive.wav")).unwrap();
        alive.file().write_all(b"half").unwrap();
        let before = std::fs::read_dir(folder.path()).unwrap().count();
        let part =
            |name: &str, target: &str| DeadPart { path: at(name), target: at(target), bytes: 4 };
        let expected = [part(dead[0], "a.b.wav"), part(dead[1], "new.toml")];
        assert_eq!(dead_parts_in(folder.path()), expected);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), before);
        assert!(dead_parts_in(&at("none")).is_empty());
    }

    #[test]
    fn only_what_was_seen_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let text = |name: &str| std::fs::read_to_string(at(name)).unwrap();
        let target = at("out.wav");
        expect_present(&target);
        write_text(&target, "first").unwrap();
        // What this process wrote itself it may write again.
        write_text(&target, "second").unwrap();
        assert_eq!(text("out.wav"), "second");
        let late = OutputFile::create(&target).unwrap();
        std::fs::write(&target, "longer, and theirs").unwrap();
        let error = late.commit().unwrap_err();
        let kept = &Displaced::of(&error).unwrap().kept;
        assert_eq!(kept.file_name().unwrap(), "out-new.wav");
        assert!(Displaced::of(&write_text(&target, "third").unwrap_err()).is_some());
        assert_eq!(
            (text("out.wav"), text("out-new-2.wav")),
            ("longer, and theirs".into(), "third".into())
        );
        crate::expect_anything(&target);
        write_text(&target, "fourth").unwrap();
        assert_eq!(text("out.wav"), "fourth");
        let new = at("new");
        expect_present(&new);
        let file = OutputFile::create(&new).unwrap();
        std::fs::write(&new, "theirs").unwrap();
        assert!(Displaced::of(&file.commit().unwrap_err()).is_some());
        assert_eq!((text("new"), text("new-new")), ("theirs".into(), String::new()));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 5, "and no part");
    }

    #[test]
    fn a_link_that_leads_nowhere_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("target", &link).unwrap();
        write_text(&link, "text").unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(std::fs::read_to_string(folder.path().join("target")).unwrap(), "text");
    }

    #[test]
    fn a_device_is_written_to_and_not_replaced() {
        let null = Path::new("/dev/null");
        let mut file = OutputFile::create(null).unwrap();
        assert!(file.is_stream());
        file.file().write_all(b"gone").unwrap();
        file.commit().unwrap();
        assert!(!std::fs::metadata(null).unwrap().is_file());
    }
}
