//! SoundFonts as instruments of sessions, and where one is found that nobody names.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use hocket_dsp::Processor;
use hocket_engine::EffectSource;
use hocket_plan::{Effect, FileRefusal, ParamSpec};
use hocket_soundfont::font::DRUMS;
use hocket_soundfont::{FLOPS_PER_FRAME, KIND, PARAMS, SoundFont, instrument};

use super::stamp::Stamp;
use crate::failure::Failure;

/// The most memory for all SoundFonts together.
const MAX_BYTES: u64 = 1 << 30;
/// How many presets a message names.
const NAMED: usize = 6;
/// The variable that names the SoundFont of MIDI files.
pub(super) const VARIABLE: &str = "HOCKET_SOUNDFONT";
/// Where distributions put a General MIDI set, the usual one first.
const PLACES: [&str; 6] = [
    "/usr/share/sounds/sf2/default-GM.sf2",
    "/usr/share/sounds/sf2/FluidR3_GM.sf2",
    "/usr/share/sounds/sf2/TimGM6mb.sf2",
    "/usr/share/soundfonts/default.sf2",
    "/usr/share/soundfonts/FluidR3_GM.sf2",
    "/usr/share/soundfonts/FluidR3_GM2-2.sf2",
];

/// The files that were read: each once, however many instruments play it. They stay for the process, and those that were written anew
/// until there is no room for others.
#[derive(Default)]
pub(super) struct SoundFonts {
    files: Mutex<Files>,
}

struct Files {
    known: HashMap<Stamp, Known>,
    /// For all of them.
    most_bytes: u64,
}

struct Known {
    /// Under which it was read.
    path: PathBuf,
    font: Arc<SoundFont>,
}

impl Default for Files {
    fn default() -> Files {
        Files { known: HashMap::new(), most_bytes: MAX_BYTES }
    }
}

impl Files {
    /// A file as it is, read when it is asked for first. What is refused is read again: it may have been repaired.
    fn font(&mut self, path: &Path) -> Result<Arc<SoundFont>, FileRefusal> {
        // Of a file that is not there, opening tells more.
        let stamp = Stamp::of(path).ok();
        if let Some(known) = stamp.and_then(|stamp| self.known.get(&stamp)) {
            return Ok(Arc::clone(&known.font));
        }
        let font = self.open(path)?;
        if let Some(stamp) = stamp {
            let known = Known { path: path.to_owned(), font: Arc::clone(&font) };
            self.known.insert(stamp, known);
        }
        Ok(font)
    }

    /// What was written anew since, and nobody plays, is forgotten if there is no room otherwise.
    fn open(&mut self, path: &Path) -> Result<Arc<SoundFont>, FileRefusal> {
        self.open_beside(path).or_else(|refusal| {
            let known_before = self.known.len();
            self.known.retain(|stamp, known| {
                Arc::strong_count(&known.font) > 1
                    || Stamp::of(&known.path).is_ok_and(|now| now == *stamp)
            });
            if self.known.len() < known_before { self.open_beside(path) } else { Err(refusal) }
        })
    }

    fn open_beside(&self, path: &Path) -> Result<Arc<SoundFont>, FileRefusal> {
        let held_bytes: u64 = self.known.values().map(|known| known.font.memory_bytes()).sum();
        let room_bytes = self.most_bytes.saturating_sub(held_bytes);
        let font = SoundFont::open_within(path, room_bytes).map_err(|error| FileRefusal {
            cause: error.cause().to_owned(),
            remedy: error.remedy().to_owned(),
        })?;
        if font.memory_bytes() <= room_bytes { Ok(Arc::new(font)) } else { Err(self.too_large()) }
    }

    fn too_large(&self) -> FileRefusal {
        FileRefusal {
            cause: format!(
                "it makes the SoundFonts larger than {} MiB together",
                self.most_bytes >> 20
            ),
            remedy: "use fewer or smaller SoundFonts".to_owned(),
        }
    }
}

impl SoundFonts {
    /// The file of an effect, which holds what the effect wants.
    fn of(&self, effect: &Effect) -> Result<Arc<SoundFont>, FileRefusal> {
        let path = effect.file.as_deref().ok_or_else(|| FileRefusal {
            cause: format!("an effect of the kind '{KIND}' names no file"),
            remedy: "name a SoundFont: file = \"...\"".to_owned(),
        })?;
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let font = files.font(path)?;
        let value = |name: &str| {
            let index = PARAMS.iter().position(|param| param.name == name);
            let value = index.and_then(|index| effect.values.get(index));
            value.map(|value| value.round()).filter(|value| *value >= 0.0).map(|value| value as u16)
        };
        match (value("bank"), value("program")) {
            (None, None) => Ok(font),
            // Which program the MIDI chooses, nobody knows yet.
            (Some(bank), None) => match font.presets().iter().any(|preset| preset.bank == bank) {
                true => Ok(font),
                false => Err(missing(&font, format!("it has no presets in bank {bank}"))),
            },
            (bank, Some(program)) => {
                let banks = bank.map_or(vec![0, DRUMS], |bank| vec![bank]);
                if banks.iter().any(|bank| font.preset(*bank, program).is_some()) {
                    return Ok(font);
                }
                let bank = bank.unwrap_or(0);
                Err(missing(&font, format!("it has no program {program} in bank {bank}")))
            }
        }
    }
}

impl EffectSource for SoundFonts {
    fn params(&self, kind: &str) -> Option<Vec<ParamSpec>> {
        (kind == KIND).then(|| PARAMS.iter().map(hocket_engine::param_spec).collect())
    }

    fn has_side_chain(&self, _: &str) -> bool {
        false
    }

    fn has_event_input(&self, kind: &str) -> bool {
        kind == KIND
    }

    fn cost(&self, _: &Effect, _: u32) -> f64 {
        FLOPS_PER_FRAME
    }

    fn latency_frames(&self, _: &Effect, _: u32) -> u32 {
        0
    }

    fn build(&self, effect: &Effect, rate_hz: u32) -> Result<Box<dyn Processor>, String> {
        let font = self.of(effect).map_err(|FileRefusal { cause, remedy }| {
            let file = effect.file.as_deref().unwrap_or(Path::new("")).display();
            format!("'{file}': {cause}; {remedy}")
        })?;
        Ok(instrument(&font, &effect.values, rate_hz))
    }

    fn kinds(&self) -> &'static [&'static str] {
        &[KIND]
    }

    fn takes_state(&self, _: &str) -> bool {
        false
    }

    fn takes_file(&self, kind: &str) -> bool {
        kind == KIND
    }

    fn check_file(&self, effect: &Effect) -> Result<(), FileRefusal> {
        self.of(effect).map(drop)
    }
}

fn missing(font: &SoundFont, cause: String) -> FileRefusal {
    let presets = font.presets();
    let named = presets.iter().take(NAMED);
    let named: Vec<String> = named
        .map(|preset| format!("{}:{} '{}'", preset.bank, preset.program, preset.name))
        .collect();
    let more = if presets.len() > NAMED {
        format!(" and {} more", presets.len() - NAMED)
    } else {
        String::new()
    };
    FileRefusal {
        cause,
        remedy: format!("choose one that it has, as bank:program: {}{more}", named.join(", ")),
    }
}

/// The one that the user's environment names.
pub(super) fn of_variable() -> Option<PathBuf> {
    std::env::var_os(VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// The SoundFont for a MIDI file where the user names none.
///
/// # Errors
/// There is none in any of the usual places: exit code 2.
pub(super) fn usual() -> Result<PathBuf, Failure> {
    if let Some(path) = of_variable() {
        return Ok(path);
    }
    let there = PLACES.iter().map(Path::new).find(|path| path.is_file());
    there.map(Path::to_owned).ok_or_else(|| {
        Failure::bad_input(format!(
            "there is no SoundFont to play a MIDI file with: none is named, and none is in {}; install one (on Debian \
             `apt install timgm6mb-soundfont` or fluid-soundfont-gm), or name one with --soundfont FILE or {VARIABLE}",
            "/usr/share/sounds/sf2 or /usr/share/soundfonts"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Vec<u8> {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sessions/soundfonts/small.sf2");
        std::fs::read(path).unwrap()
    }

    #[test]
    fn a_file_is_read_once_under_all_its_names_and_again_when_it_is_another() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("a.sf2"), folder.path().join("b.sf2"));
        let mut files = Files::default();
        let Err(refusal) = files.font(&path) else { panic!("there is no file") };
        assert_eq!(refusal.cause, "this file does not exist");
        std::fs::write(&path, "no SoundFont").unwrap();
        assert!(files.font(&path).is_err());
        std::fs::write(&path, small()).unwrap();
        let one = files.font(&path).expect("it was repaired");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(Arc::ptr_eq(&one, &files.font(&link).unwrap()));
        // A byte behind the end changes nothing but the file.
        std::fs::write(&path, [small(), vec![0]].concat()).unwrap();
        assert!(!Arc::ptr_eq(&one, &files.font(&path).unwrap()));
    }

    #[test]
    fn what_was_written_anew_makes_room_when_nobody_plays_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sf2");
        std::fs::write(&path, small()).unwrap();
        let bytes = Files::default().font(&path).unwrap().memory_bytes();
        let mut files = Files { most_bytes: bytes, ..Files::default() };
        let played = files.font(&path).unwrap();
        std::fs::write(&path, [small(), vec![0]].concat()).unwrap();
        let Err(refusal) = files.font(&path) else { panic!("the earlier one is played") };
        assert!(!refusal.remedy.is_empty());
        drop(played);
        files.font(&path).expect("nobody plays what it was before");
        assert_eq!(files.known.len(), 1);
    }
}
