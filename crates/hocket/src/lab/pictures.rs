//! `hocket lab report --pictures`: each plot of a run as a file.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use hocket_lab::pages::{self, Lab, PICTURE_MARK, Picture};

use crate::failure::Failure;

/// Writes the pictures of a run and says which. Before the first one is written every place is looked
/// at, so that a refusal leaves the folder as it was.
///
/// # Errors
/// Bad input where a file of that name is none of the lab's pictures, or nothing was drawn; not possible
/// where the folder cannot be written to.
pub(super) fn write(lab: &Lab<'_>, folder: &Path) -> Result<String, Failure> {
    let pictures = pages::pictures(lab);
    if pictures.is_empty() {
        return Err(Failure::bad_input(format!(
            "{}: the run has nothing to draw; see `hocket lab report` for what it has",
            lab.name()
        )));
    }
    let places: Vec<Place> =
        pictures.iter().map(|picture| Place::of(folder, picture)).collect::<Result<_, _>>()?;
    std::fs::create_dir_all(folder).map_err(|error| {
        Failure::not_possible(format!("{}: the folder cannot be made: {error}", folder.display()))
    })?;
    let mut said = String::new();
    for (place, picture) in places.iter().zip(&pictures) {
        hocket_lab::record::write_text_atomic(&place.path, &picture.svg)
            .map_err(Failure::not_possible)?;
        let did = if place.replaces { "replaced" } else { "wrote" };
        let _ = writeln!(said, "{did} {}: {}", place.path.display(), picture.title);
    }
    Ok(said)
}

/// Whether an earlier call wrote it.
fn is_picture(path: &Path) -> std::io::Result<bool> {
    let (there, mark) = (std::fs::read(path)?, PICTURE_MARK.as_bytes());
    Ok(there.windows(mark.len()).any(|part| part == mark))
}

/// Where a picture goes.
struct Place {
    path: PathBuf,
    replaces: bool,
}

impl Place {
    fn of(folder: &Path, picture: &Picture) -> Result<Place, Failure> {
        let path = folder.join(&picture.name);
        let ours = match std::fs::metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Place { path, replaces: false });
            }
            // What is no ordinary file, such as a pipe, is not even read.
            known => known.and_then(|known| Ok(known.is_file() && is_picture(&path)?)),
        };
        let ours =
            ours.map_err(|error| Failure::not_possible(format!("{}: {error}", path.display())))?;
        if !ours {
            return Err(Failure::bad_input(format!(
                "{}: there is a file that is no picture of the lab; move it away or name another folder",
                path.display()
            )));
        }
        Ok(Place { path, replaces: true })
    }
}
