//! Files that hold the states of plug-ins.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hocket_files::{ReadError, read_bytes};

use crate::fields::At;
use crate::media::Folders;
use crate::mistakes::Mistakes;
use crate::source::io_cause;

/// All states of a session together: a sampler's state may hold its samples.
const MAX_BYTES: u64 = 256 << 20;

/// The states that a session names; reads each file once.
pub(crate) struct StateReader<'a> {
    mistakes: &'a Mistakes<'a>,
    folders: Folders,
    /// How many bytes there is still room for.
    room: u64,
    /// `None`: the file cannot be read, and that is reported.
    files: HashMap<PathBuf, Option<Arc<[u8]>>>,
}

impl<'a> StateReader<'a> {
    pub(crate) fn new(mistakes: &'a Mistakes<'a>) -> StateReader<'a> {
        let (folders, files) = (Folders::default(), HashMap::new());
        StateReader { mistakes, folders, room: MAX_BYTES, files }
    }

    /// The path of a state and its bytes; reports what is wrong with the file.
    pub(crate) fn state(&mut self, file: &At<&str>) -> Option<(PathBuf, Arc<[u8]>)> {
        let folder = self.mistakes.source().folder();
        let path: PathBuf = folder.join(file.value).components().collect();
        if let Some(known) = self.files.get(&path) {
            return known.clone().map(|bytes| (path, bytes));
        }
        let bytes = match self.read(&path) {
            Ok(bytes) => Some(bytes),
            Err((cause, remedy)) => {
                let cause = format!("the state file '{}' {cause}", path.display());
                self.mistakes.report(file.span.clone(), cause, remedy);
                None
            }
        };
        self.files.insert(path.clone(), bytes.clone());
        bytes.map(|bytes| (path, bytes))
    }

    /// The path of another file that an effect names and that can be opened; reports what is wrong with it.
    pub(crate) fn file(&self, file: &At<&str>) -> Option<PathBuf> {
        let folder = self.mistakes.source().folder();
        let path: PathBuf = folder.join(file.value).components().collect();
        let openable = self.folders.openable(&path, !self.mistakes.is_full());
        let report = |(cause, remedy): (String, String)| {
            let cause = format!("the file '{}' {cause}", path.display());
            self.mistakes.report(file.span.clone(), cause, remedy);
        };
        openable.map_err(report).ok()?;
        Some(path)
    }

    fn read(&mut self, path: &Path) -> Result<Arc<[u8]>, (String, String)> {
        self.folders.openable(path, !self.mistakes.is_full())?;
        let bytes = read_bytes(path, self.room).map_err(|error| match error {
            ReadError::Io(error) => {
                (format!("cannot be read: {}", io_cause(&error)), "make sure that you may read it")
            }
            ReadError::TooLarge(_) | ReadError::Binary => {
                let cause =
                    format!("makes the states larger than {} MiB together", MAX_BYTES >> 20);
                (
                    cause,
                    "name the file that a plug-in saved, or use fewer plug-ins with large states",
                )
            }
        });
        let bytes = bytes.map_err(|(cause, remedy)| (cause, remedy.to_owned()))?;
        self.room -= bytes.len() as u64;
        Ok(bytes.into())
    }
}
