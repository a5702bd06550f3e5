//! DAWproject files: unpacked into a folder that lasts as long as the session, and told once what does not play.

use std::path::Path;
use std::time::Instant;

use hocket_dawproject::{Import, ImportError, Imported};
use hocket_dsp::{Block, StereoMut};
use hocket_plan::Effect;
use tempfile::TempDir;

use crate::failure::{Exit, Failure};
use crate::output::note;

/// How a project becomes a session.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProjectUse {
    /// What stands in for each device that is not played costs this many microseconds per 64 frames.
    pub stand_in_us: Option<f64>,
    /// A project of which something does not play is refused.
    pub strict: bool,
}

/// The ending of project files.
const ENDING: &str = "dawproject";
/// The effect that costs time and changes nothing: a meter of many windows.
const STAND_IN: &str = "correlation";
/// The most windows that one has.
const WINDOWS: f64 = 16.0;
/// The block that costs of devices are counted for.
const FRAMES: usize = 64;

/// Whether a path names a project and not a session file.
pub(crate) fn is_project(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case(ENDING))
}

/// Reads a project and unpacks its audio files into a temporary folder, which goes with the value returned.
///
/// # Errors
/// Exit code 2: it is wrong, or `--strict` refuses it. Exit code 3: the files cannot be written.
pub(super) fn open(path: &Path, how: ProjectUse) -> Result<(Imported, TempDir), Failure> {
    let folder = tempfile::Builder::new().prefix("hocket-project-").tempdir();
    let folder = folder.map_err(|error| {
        Failure::not_possible(format!(
            "{}: a folder for audio files cannot be made: {error}; set TMPDIR to a folder that you may write to",
            std::env::temp_dir().display()
        ))
    })?;
    let imported = import(path, folder.path(), how)?;
    Ok((imported, folder))
}

/// Reads a project and unpacks its audio files into `folder`.
///
/// # Errors
/// As [`open`].
pub(crate) fn import(path: &Path, folder: &Path, how: ProjectUse) -> Result<Imported, Failure> {
    let catalogue = super::effects();
    let stand_in = how.stand_in_us.map_or_else(Vec::new, stand_in);
    let stop = crate::interrupt::flag()?;
    let import = Import { catalogue: &catalogue, stand_in: &stand_in, stop: Some(&stop) };
    let imported =
        hocket_dawproject::import(path, folder, &import).map_err(|error| match error {
            ImportError::Wrong(error) => Failure::bad_input(error),
            ImportError::NotPossible(text) => Failure::not_possible(text),
            ImportError::Stopped => Failure {
                exit: Exit::Interrupted,
                message: format!("{}: {error}; nothing was written", path.display()),
            },
        })?;
    if how.strict && !imported.remarks.is_empty() {
        let list = imported.remarks.join("\n");
        return Err(Failure::bad_input(format!(
            "{list}\n{}: not all of this project plays, as said above; leave out --strict to play the rest",
            path.display()
        )));
    }
    if let Some(us) = how.stand_in_us.filter(|_| imported.replaced > 0) {
        let count: f64 = stand_in.iter().map(windows).sum();
        note(format_args!(
            "{} devices have stand-ins of about {us} µs per {FRAMES} frames: {count} windows of {STAND_IN}",
            imported.replaced
        ));
    }
    Ok(imported)
}

/// As many windows of the meter as take that long on this machine.
fn stand_in(us: f64) -> Vec<Effect> {
    let of_one = measured_us();
    let count = if of_one > 0.0 { (us / of_one * WINDOWS).round().max(1.0) } else { 1.0 };
    let mut left = count;
    let mut effects = Vec::new();
    while left > 0.0 {
        effects.extend(meter(left.min(WINDOWS)));
        left -= WINDOWS;
    }
    effects
}

fn meter(windows: f64) -> Option<Effect> {
    let kind = hocket_dsp::kind(STAND_IN)?;
    let mut values = kind.defaults();
    values[kind.index_of("windows")?] = windows as f32;
    Some(Effect::new(STAND_IN, values))
}

fn windows(effect: &Effect) -> f64 {
    let kind = hocket_dsp::kind(STAND_IN);
    let index = kind.and_then(|kind| kind.index_of("windows"));
    index.and_then(|index| effect.values.get(index)).map_or(0.0, |count| f64::from(*count))
}

/// How long a meter with all its windows takes for a block, in microseconds: the least of many, which is then free of
/// interruptions.
fn measured_us() -> f64 {
    let Some((kind, effect)) = hocket_dsp::kind(STAND_IN).zip(meter(WINDOWS)) else { return 0.0 };
    let mut processor = (kind.build)(&effect.values, 48_000);
    let sound = |at: usize| (at as f32 * 0.37).sin() * 0.5;
    let (mut left, mut right): (Vec<f32>, Vec<f32>) =
        (0..FRAMES).map(|at| (sound(at), sound(at + 7))).unzip();
    let mut once = || {
        let begin = Instant::now();
        let main = StereoMut { left: &mut left, right: &mut right };
        processor.process(&mut Block::new(main));
        begin.elapsed().as_secs_f64() * 1e6
    };
    (0..300).map(|_| once()).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projects_are_known_by_their_ending() {
        assert!(is_project(Path::new("a/Song.dawproject")));
        assert!(is_project(Path::new("SONG.DAWPROJECT")));
        assert!(!is_project(Path::new("song.toml")));
        assert!(!is_project(Path::new("-")));
    }

    #[test]
    fn stand_ins_are_meters_that_change_nothing() {
        let effects = stand_in(100.0);
        assert!(!effects.is_empty());
        assert!(effects.iter().all(|effect| effect.kind == STAND_IN && windows(effect) >= 1.0));
    }
}
