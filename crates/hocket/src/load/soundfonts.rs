//! SoundFonts as instruments of sessions, and where one is found that nobody names.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use hocket_dsp::Processor;
use hocket_engine::EffectSource;
use hocket_plan::{Effect, FileRefusal, ParamSpec};
use hocket_soundfont::font::DRUMS;
use hocket_soundfont::{FLOPS_PER_FRAME, KIND, PARAMS, SoundFont, instrument};

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

/// The files that were read: each once, however many instruments play it. They stay for the process.
#[derive(Default)]
pub(super) struct SoundFonts {
    files: Mutex<Files>,
}

#[derive(Default)]
struct Files {
    /// By their places without links and `..`, so that another spelling is the same file.
    read: HashMap<PathBuf, Result<Arc<SoundFont>, FileRefusal>>,
    bytes: u64,
}

impl SoundFonts {
    /// A file, read when it is asked for first.
    fn font(&self, path: &Path) -> Result<Arc<SoundFont>, FileRefusal> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if let Some(known) = files.read.get(&place) {
            return known.clone();
        }
        let room = MAX_BYTES - files.bytes;
        let font = SoundFont::open_within(path, room).map(Arc::new).map_err(|error| FileRefusal {
            cause: error.cause().to_owned(),
            remedy: error.remedy().to_owned(),
        });
        let font = font.and_then(|font| match font.memory_bytes() <= room {
            true => Ok(font),
            false => Err(too_large()),
        });
        files.bytes += font.as_ref().map_or(0, |font| font.memory_bytes());
        files.read.insert(place, font.clone());
        font
    }

    /// The file of an effect, which holds what the effect wants.
    fn of(&self, effect: &Effect) -> Result<Arc<SoundFont>, FileRefusal> {
        let path = effect.file.as_deref().ok_or_else(|| FileRefusal {
            cause: format!("an effect of the kind '{KIND}' names no file"),
            remedy: "name a SoundFont: file = \"...\"".to_owned(),
        })?;
        let font = self.font(path)?;
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

fn too_large() -> FileRefusal {
    FileRefusal {
        cause: format!("it makes the SoundFonts larger than {} MiB together", MAX_BYTES >> 20),
        remedy: "use fewer or smaller SoundFonts".to_owned(),
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
