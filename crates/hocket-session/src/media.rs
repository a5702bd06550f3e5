//! The audio files of a session: each once, seen to be readable.

use std::collections::HashMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use hocket_plan::session::{Media, MediaId};

use crate::Span;
use crate::error::SessionError;
use crate::fields::At;
use crate::source::{Source, io_cause};
use crate::suggest::nearest;

/// Collects the audio files that clips name.
pub(crate) struct MediaList<'a> {
    source: &'a Source,
    resample: bool,
    media: Vec<Media>,
    spans: Vec<Span>,
    ids: HashMap<PathBuf, MediaId>,
}

impl<'a> MediaList<'a> {
    pub(crate) fn new(source: &'a Source, resample: bool) -> MediaList<'a> {
        MediaList { source, resample, media: Vec::new(), spans: Vec::new(), ids: HashMap::new() }
    }

    /// The id of a file; looks at a file only when it is named for the first time.
    pub(crate) fn id(&mut self, file: At<&str>) -> Result<MediaId, SessionError> {
        // Components drop a `.` and doubled slashes, so the same file is found again.
        let path: PathBuf = self.source.folder().join(file.value).components().collect();
        if let Some(id) = self.ids.get(&path) {
            return Ok(*id);
        }
        self.check(&path, &file)?;
        let id = MediaId(self.media.len());
        self.media.push(Media { path: path.clone(), resample: self.resample });
        self.spans.push(file.span);
        self.ids.insert(path, id);
        Ok(id)
    }

    fn check(&self, path: &Path, file: &At<&str>) -> Result<(), SessionError> {
        let fail = |cause: &str, remedy: String| {
            let cause = format!("the audio file '{}' {cause}", path.display());
            Err(self.source.error(file.span.clone(), cause, remedy))
        };
        match fs::metadata(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                fail("does not exist", missing_remedy(path))
            }
            Err(error) => fail(
                &format!("cannot be read: {}", io_cause(&error)),
                "correct the path, or make sure that you may read its folder".into(),
            ),
            Ok(facts) if facts.is_dir() => {
                fail("is a directory", "name an audio file in it".into())
            }
            // Opening a pipe or a device could wait for ever.
            Ok(facts) if !facts.is_file() => {
                fail("is not a regular file", "copy the audio into a file and name that".into())
            }
            Ok(_) => match File::open(path) {
                Ok(_) => Ok(()),
                Err(error) => fail(
                    &format!("cannot be read: {}", io_cause(&error)),
                    "make sure that you may read it".into(),
                ),
            },
        }
    }

    pub(crate) fn finish(self) -> (Vec<Media>, Vec<Span>) {
        (self.media, self.spans)
    }
}

/// How many names of a folder are looked at for a suggestion.
const LOOKED_AT: usize = 10_000;

fn missing_remedy(path: &Path) -> String {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let wanted = path.file_name().unwrap_or_default().to_string_lossy();
    let Ok(entries) = fs::read_dir(folder) else {
        return format!(
            "its folder '{}' cannot be read either; paths are relative to the session \
                        file's folder",
            folder.display()
        );
    };
    let mut names: Vec<String> = entries
        .take(LOOKED_AT)
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    names.sort();
    match nearest(&wanted, names.iter().map(String::as_str)) {
        Some(near) => format!("did you mean '{near}', which is in that folder?"),
        None => {
            "put it there, or correct the path; paths are relative to the session file's folder"
                .to_owned()
        }
    }
}
