//! The audio files of a session: each once, seen to be readable.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use hocket_plan::session::{Media, MediaId};

use crate::Span;
use crate::fields::At;
use crate::mistakes::Mistakes;
use crate::source::io_cause;
use crate::suggest::Words;

/// What a session asks of an audio file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MediaUse {
    /// The rate at which the session was made.
    pub sample_rate_hz: u32,
    /// Whether a file of another rate may be converted.
    pub resample: bool,
}

/// Why an audio file cannot be played.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediaRefusal {
    /// What is wrong, one sentence without a full stop.
    pub cause: String,
    /// What to do about it, one sentence without a full stop.
    pub remedy: String,
}

/// Looks into an audio file, for a reader of sessions that knows no audio format.
pub type MediaCheck<'a> = dyn Fn(&Path, MediaUse) -> Result<(), MediaRefusal> + 'a;

/// Collects the audio files that clips name.
pub(crate) struct MediaList<'a> {
    mistakes: &'a Mistakes<'a>,
    wanted: MediaUse,
    check: &'a MediaCheck<'a>,
    folders: Folders,
    media: Vec<Media>,
    spans: Vec<Span>,
    /// `None`: the file cannot be played, and that is reported.
    ids: HashMap<PathBuf, Option<MediaId>>,
}

impl<'a> MediaList<'a> {
    pub(crate) fn new(
        mistakes: &'a Mistakes<'a>,
        wanted: MediaUse,
        check: &'a MediaCheck<'a>,
    ) -> MediaList<'a> {
        let (media, spans, ids) = (Vec::new(), Vec::new(), HashMap::new());
        let folders = Folders::default();
        MediaList { mistakes, wanted, check, folders, media, spans, ids }
    }

    /// The id of a file; looks at a file only when it is named for the first time.
    pub(crate) fn id(&mut self, file: At<&str>) -> Option<MediaId> {
        // Components drop a `.` and doubled slashes, so the same file is found again.
        let folder = self.mistakes.source().folder();
        let path: PathBuf = folder.join(file.value).components().collect();
        if let Some(id) = self.ids.get(&path) {
            return *id;
        }
        let id = self.is_playable(&path, &file).then_some(MediaId(self.media.len()));
        if id.is_some() {
            self.media.push(Media { path: path.clone(), resample: self.wanted.resample });
            self.spans.push(file.span);
        }
        self.ids.insert(path, id);
        id
    }

    fn is_playable(&self, path: &Path, file: &At<&str>) -> bool {
        let name = path.display();
        let seen = !self.mistakes.is_full();
        if let Err((cause, remedy)) = self.folders.openable(path, seen) {
            let cause = format!("the audio file '{name}' {cause}");
            self.mistakes.report(file.span.clone(), cause, remedy);
            return false;
        }
        match (self.check)(path, self.wanted) {
            Ok(()) => true,
            Err(MediaRefusal { cause, remedy }) => {
                self.mistakes.report(file.span.clone(), format!("'{name}': {cause}"), remedy);
                false
            }
        }
    }

    pub(crate) fn finish(self) -> (Vec<Media>, Vec<Span>) {
        (self.media, self.spans)
    }
}

/// The names in folders of missing files, each listed once: a session may name thousands that are gone.
#[derive(Debug, Default)]
pub(crate) struct Folders {
    /// `None`: the folder cannot be read.
    names: RefCell<HashMap<PathBuf, Option<Words>>>,
}

/// How many names of a folder are looked at for a suggestion.
const LOOKED_AT: usize = 10_000;

impl Folders {
    /// Whether the file can be opened; else cause and remedy. `seen`: whether anybody will see these.
    pub(crate) fn openable(&self, path: &Path, seen: bool) -> Result<(), (String, String)> {
        let fail = |cause: &str, remedy: &str| Err((cause.to_owned(), remedy.to_owned()));
        let unreadable = |error: &std::io::Error| format!("cannot be read: {}", io_cause(error));
        match fs::metadata(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let remedy = if seen { self.missing_remedy(path) } else { String::new() };
                fail("does not exist", &remedy)
            }
            Err(error) => {
                let remedy = "correct the path, or make sure that you may read its folder";
                fail(&unreadable(&error), remedy)
            }
            Ok(facts) if facts.is_dir() => fail("is a directory", "name a file in it"),
            // Opening a pipe or a device could wait for ever.
            Ok(facts) if !facts.is_file() => {
                fail("is not a regular file", "copy its contents into a file and name that")
            }
            Ok(_) => match File::open(path) {
                Ok(_) => Ok(()),
                Err(error) => fail(&unreadable(&error), "make sure that you may read it"),
            },
        }
    }

    fn missing_remedy(&self, path: &Path) -> String {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let wanted = path.file_name().unwrap_or_default().to_string_lossy();
        let mut names = self.names.borrow_mut();
        let names = names.entry(folder.to_owned()).or_insert_with(|| listed(folder));
        let Some(names) = names else {
            return format!(
                "its folder '{}' cannot be read either; paths are relative to the session \
                            file's folder",
                folder.display()
            );
        };
        match names.nearest(&wanted) {
            Some(near) => format!("did you mean '{near}', which is in that folder?"),
            None => {
                "put it there, or correct the path; paths are relative to the session file's folder"
                    .to_owned()
            }
        }
    }
}

/// The names in a folder, sorted.
fn listed(folder: &Path) -> Option<Words> {
    let entries = fs::read_dir(folder).ok()?.take(LOOKED_AT);
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    Some(Words::new(names))
}
