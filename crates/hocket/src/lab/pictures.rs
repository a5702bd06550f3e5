//! `hocket lab report --pictures`: each plot of a run as a file.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use hocket_lab::pages::{self, Lab, Picture};

use crate::failure::Failure;
use crate::files::{Files, Kind};

/// The pictures of a run, and where they go.
pub(super) struct Pictures {
    pictures: Vec<(PathBuf, Picture)>,
}

impl Pictures {
    /// Draws them. Every place is looked at before the first one is written, so that a refusal leaves the folder as it
    /// was.
    ///
    /// # Errors
    /// Nothing was drawn, or as [`Files::writes`].
    pub(super) fn of(lab: &Lab<'_>, folder: &Path, files: &mut Files) -> Result<Pictures, Failure> {
        let drawn = pages::pictures(lab);
        if drawn.is_empty() {
            return Err(Failure::bad_input(format!(
                "{}: the run has nothing to draw; see `hocket lab report` for what it has",
                lab.name()
            )));
        }
        let mut pictures = Vec::new();
        for picture in drawn {
            let path = folder.join(&picture.name);
            files.writes("--pictures", &path, Kind::Picture)?;
            pictures.push((path, picture));
        }
        Ok(Pictures { pictures })
    }

    /// Writes them and says which.
    ///
    /// # Errors
    /// The disk is full or fails: exit code 3.
    pub(super) fn write(&self) -> Result<String, Failure> {
        let mut said = String::new();
        for (path, picture) in &self.pictures {
            let did = if path.exists() { "replaced" } else { "wrote" };
            hocket_lab::record::write_text_atomic(path, &picture.svg)
                .map_err(Failure::not_possible)?;
            let _ = writeln!(said, "{did} {}: {}", path.display(), picture.title);
        }
        Ok(said)
    }
}
