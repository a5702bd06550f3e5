//! DAWproject files: unpacked into a folder that lasts as long as the session, and told once what does not play.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Instant;

use hocket_dawproject::{Import, ImportError, Imported};
use hocket_dsp::{Block, StereoMut};
use hocket_files::ScratchFolder;
use hocket_plan::Effect;

use crate::failure::{Exit, Failure};
use crate::output::note;

/// How a project or a MIDI file becomes a session.
#[derive(Debug, Clone, Default)]
pub struct ProjectUse {
    /// What plays a MIDI file; `None`: the usual one.
    pub soundfont: Option<PathBuf>,
    /// What stands in for each device that is not played costs this many microseconds per 64 frames.
    pub stand_in_us: Option<f64>,
    /// How many windows of the meter that is; `None` measures it.
    pub windows: Option<u32>,
    /// A project of which something does not play is refused.
    pub strict: bool,
    /// With `strict`: so is one whose text is not what the format's schema allows.
    pub checks_schema: bool,
}

/// How the folders begin into which projects are unpacked, among the temporary files.
pub(crate) const PREFIX: &str = "hocket-project-";
/// The ending of project files.
const ENDING: &str = "dawproject";
/// The effect that costs time and changes nothing: a meter of many windows.
const STAND_IN: &str = "correlation";
/// The most windows that one has.
const WINDOWS: u32 = 16;
/// The block that costs of devices are counted for.
const FRAMES: usize = 64;

/// Whether a path names a project and not a session file.
pub(crate) fn is_project(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case(ENDING))
}

/// Refuses `--stand-in` for what is no project: there it would change nothing.
///
/// # Errors
/// Exit code 2.
pub(crate) fn refuse_stand_in(path: &Path, how: &ProjectUse) -> Result<(), Failure> {
    match how.stand_in_us {
        Some(_) if !is_project(path) => Err(Failure::bad_input(format!(
            "--stand-in: {} is no DAWproject file (.{ENDING}), so no device needs a stand-in; leave it out",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// Reads a project and unpacks its audio files into a temporary folder, which goes with the value returned.
///
/// # Errors
/// Exit code 2: it is wrong, or `--strict` refuses it. Exit code 3: the files cannot be written.
pub(super) fn open(path: &Path, how: ProjectUse) -> Result<(Imported, ScratchFolder), Failure> {
    let folder = ScratchFolder::create(&std::env::temp_dir(), PREFIX);
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
    let count = how.stand_in_us.map(|us| how.windows.unwrap_or_else(|| windows_for(us)));
    let stand_in = count.map_or_else(Vec::new, stand_in);
    let stop = crate::interrupt::flag()?;
    let import = Import {
        catalogue: &catalogue,
        stand_in: &stand_in,
        stop: Some(&stop),
        checks_schema: how.strict && how.checks_schema,
    };
    let imported =
        hocket_dawproject::import(path, folder, &import).map_err(|error| match error {
            ImportError::Wrong(error) => Failure::bad_input(error),
            ImportError::NotPossible(text) => Failure::not_possible(text),
            ImportError::Stopped => Failure {
                exit: Exit::Interrupted,
                message: format!("{}: {error}; nothing was written", path.display()),
            },
        })?;
    if how.strict {
        refuse_any(path, &imported)?;
    }
    if let Some(us) = how.stand_in_us.filter(|_| imported.replaced > 0) {
        note(format_args!(
            "{} devices have stand-ins of about {us} µs per {FRAMES} frames: {} windows of {STAND_IN}",
            imported.replaced,
            count.unwrap_or_default()
        ));
    }
    Ok(imported)
}

/// For `--strict`: everything has to play as it was meant, and the text has to be what the schema allows, if that was looked at.
fn refuse_any(path: &Path, imported: &Imported) -> Result<(), Failure> {
    let Imported { remarks, deviations, .. } = imported;
    let why = match (remarks.is_empty(), deviations.is_empty()) {
        (true, true) => return Ok(()),
        (false, _) => {
            "not all of this project plays, as said above; leave out --strict to play the rest"
        }
        (true, false) => {
            "the project is not what the format's schema allows, as said above; leave out --strict to play it"
        }
    };
    let list: Vec<&str> = remarks.iter().chain(deviations).map(String::as_str).collect();
    let text = format!("{}\n{}: {why}", list.join("\n"), path.display());
    Err(Failure::bad_input(text))
}

/// How many windows of the meter take that long on this machine. The same number each time within a process, which
/// measures once.
pub(crate) fn windows_for(us: f64) -> u32 {
    static US: OnceLock<f64> = OnceLock::new();
    let of_all = *US.get_or_init(measured_us);
    if of_all > 0.0 { (us / of_all * f64::from(WINDOWS)).round().max(1.0) as u32 } else { 1 }
}

/// Meters with so many windows in all.
fn stand_in(windows: u32) -> Vec<Effect> {
    let full = (0..windows / WINDOWS).map(|_| WINDOWS);
    full.chain([windows % WINDOWS]).filter(|windows| *windows > 0).filter_map(meter).collect()
}

fn meter(windows: u32) -> Option<Effect> {
    let kind = hocket_dsp::kind(STAND_IN)?;
    let mut values = kind.defaults();
    values[kind.index_of("windows")?] = windows as f32;
    Some(Effect::new(STAND_IN, values))
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
    fn stand_ins_have_the_windows_that_were_asked_for() {
        let windows = hocket_dsp::kind(STAND_IN).unwrap().index_of("windows").unwrap();
        let of = |count| -> Vec<f32> {
            let meters = stand_in(count);
            assert!(meters.iter().all(|effect| effect.kind == STAND_IN));
            meters.iter().map(|effect| effect.values[windows]).collect()
        };
        assert_eq!((of(1), of(16), of(35)), (vec![1.0], vec![16.0], vec![16.0, 16.0, 3.0]));
        assert_eq!(windows_for(1000.0), windows_for(1000.0));
    }

    #[test]
    fn projects_are_known_by_their_ending() {
        assert!(is_project(Path::new("a/Song.dawproject")));
        assert!(is_project(Path::new("SONG.DAWPROJECT")));
        assert!(!is_project(Path::new("song.toml")));
        assert!(!is_project(Path::new("-")));
    }
}
