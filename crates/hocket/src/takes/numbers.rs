//! Names for what is recorded run after run: `mix.wav`, then `mix-2.wav`, `mix-3.wav`.
//!
//! All files of a run have the same number, so what was recorded together has one number. It is one more than the highest
//! that is there, and not the first free one: then the newest run has the highest number, whatever was deleted.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::NOTES;

/// Gives the takes and the log of a run its number, unless none of them is there yet. Returns whether it has. A folder that
/// cannot be read counts as empty: beginning the take there fails, and that error names the reason.
///
/// Thread: control. Cost: reads the folder of each file.
pub(super) fn number(files: &mut [&mut PathBuf]) -> bool {
    let last = files.iter().filter_map(|file| last_number(file)).max();
    let Some(last) = last else { return false };
    for file in files {
        **file = numbered(file, last.saturating_add(1));
    }
    true
}

/// The highest number of a take with this name, or of the notes of one; 1 is the name as it is.
fn last_number(file: &Path) -> Option<u64> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let there = std::fs::read_dir(folder.unwrap_or(Path::new("."))).ok()?;
    there.flatten().filter_map(|entry| number_of(&entry.file_name(), file)).max()
}

/// The number of a file beside `file`, if it is one of its takes or their notes.
fn number_of(there: &OsStr, file: &Path) -> Option<u64> {
    let there = there.as_bytes();
    let there = there.strip_suffix(NOTES.as_bytes()).unwrap_or(there);
    if there == file.file_name()?.as_bytes() {
        return Some(1);
    }
    let there = there.strip_prefix(file.file_stem()?.as_bytes())?.strip_prefix(b"-")?;
    let digits = match file.extension() {
        Some(ending) => there.strip_suffix(ending.as_bytes())?.strip_suffix(b".")?,
        None => there,
    };
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    is_number.then(|| str::from_utf8(digits).ok()?.parse().ok()).flatten()
}

/// `mix.wav` as `mix-2.wav`.
fn numbered(file: &Path, number: u64) -> PathBuf {
    let mut name = file.file_stem().unwrap_or_default().as_bytes().to_vec();
    name.extend(format!("-{number}").into_bytes());
    if let Some(ending) = file.extension() {
        name.push(b'.');
        name.extend(ending.as_bytes());
    }
    file.with_file_name(OsString::from_vec(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_and_their_notes_have_a_number_and_other_files_have_none() {
        let of = |there: &str| number_of(OsStr::new(there), Path::new("/any/mix.wav"));
        assert_eq!([of("mix.wav"), of("mix.wav.take.toml")], [Some(1); 2]);
        assert_eq!([of("mix-2.wav"), of("mix-30.wav.take.toml")], [Some(2), Some(30)]);
        for other in [
            "mix.flac",
            "mix-2.flac",
            "mix-2",
            "mix-.wav",
            "mix-a.wav",
            "mix-+2.wav",
            "mix-2-3.wav",
            "mix2.wav",
            "remix-2.wav",
            "mix-99999999999999999999.wav",
            "mix-2.wav.toml",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn all_files_of_a_run_have_one_number() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let numbered = |names: [&str; 2]| {
            let [mut take, mut log] = names.map(at);
            let is_numbered = number(&mut [&mut take, &mut log]);
            (is_numbered, [take, log])
        };
        let names = ["mix.wav", "evening.jsonl"];
        assert_eq!(numbered(names), (false, names.map(at)));
        // A run whose take was deleted.
        std::fs::write(at("evening-4.jsonl"), "").unwrap();
        assert_eq!(numbered(names), (true, ["mix-5.wav", "evening-5.jsonl"].map(at)));
        std::fs::write(at("mix-7.wav"), "").unwrap();
        assert_eq!(numbered(names), (true, ["mix-8.wav", "evening-8.jsonl"].map(at)));
    }

    #[test]
    fn a_number_stands_before_the_ending() {
        let named = |file: &str| numbered(Path::new(file), 12).display().to_string();
        assert_eq!(named("/any/mix.wav"), "/any/mix-12.wav");
        assert_eq!(named("a.b/Drums 1.take.flac"), "a.b/Drums 1.take-12.flac");
        assert_eq!(named("mix"), "mix-12");
    }

    #[test]
    fn names_that_are_no_text_keep_their_bytes() {
        let file = PathBuf::from(OsString::from_vec(b"/any/m\xffx.wav".to_vec()));
        let second = numbered(&file, 2);
        assert_eq!(second.as_os_str().as_bytes(), b"/any/m\xffx-2.wav");
        assert_eq!(number_of(second.file_name().unwrap(), &file), Some(2));
    }
}
