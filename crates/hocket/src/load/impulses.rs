//! Impulse responses of sessions: audio files that an effect plays sound through.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use hocket_convolution::{Impulse, KIND, PARAMS, effect, flops_per_frame};
use hocket_dsp::Processor;
use hocket_engine::EffectSource;
use hocket_media::Audio;
use hocket_plan::{Effect, FileRefusal, ParamSpec};

/// The most memory for all responses together.
const MAX_BYTES: u64 = 1 << 30;
/// The longest response. Halls last 10 seconds.
const MAX_S: f64 = 30.0;

/// The files that were read: each once, and once more per sample rate. They stay for the process.
#[derive(Default)]
pub(super) struct Impulses {
    files: Mutex<Files>,
}

#[derive(Default)]
struct Files {
    /// By their places without links and `..`, so that another spelling is the same file.
    decoded: HashMap<PathBuf, Result<Arc<Audio>, FileRefusal>>,
    ready: HashMap<(PathBuf, u32), Result<Arc<Impulse>, FileRefusal>>,
    bytes: u64,
}

impl Files {
    /// A file as it is, decoded when it is asked for first.
    fn audio(&mut self, path: &Path, place: &Path) -> Result<Arc<Audio>, FileRefusal> {
        if let Some(known) = self.decoded.get(place) {
            return known.clone();
        }
        let audio = decoded(path).and_then(|audio| {
            let bytes = audio.frames() as u64 * audio.channels.len() as u64 * 4;
            self.take(bytes).map(|()| Arc::new(audio))
        });
        self.decoded.insert(place.to_owned(), audio.clone());
        audio
    }

    /// The response at a sample rate.
    fn impulse(&mut self, path: &Path, rate_hz: u32) -> Result<Arc<Impulse>, FileRefusal> {
        let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let key = (place, rate_hz);
        if let Some(known) = self.ready.get(&key) {
            return known.clone();
        }
        let impulse = self.audio(path, &key.0).and_then(|audio| prepared(&audio, rate_hz));
        let impulse = impulse
            .and_then(|impulse| self.take(impulse.memory_bytes()).map(|()| Arc::new(impulse)));
        self.ready.insert(key, impulse.clone());
        impulse
    }

    fn take(&mut self, bytes: u64) -> Result<(), FileRefusal> {
        if bytes > MAX_BYTES - self.bytes {
            return Err(FileRefusal {
                cause: format!(
                    "it makes the impulse responses larger than {} MiB together",
                    MAX_BYTES >> 20
                ),
                remedy: "use fewer or shorter ones".to_owned(),
            });
        }
        self.bytes += bytes;
        Ok(())
    }
}

/// Refuses a file that is too long before it decodes it, where the file says how long it is.
fn decoded(path: &Path) -> Result<Audio, FileRefusal> {
    let unreadable = |error: hocket_media::MediaError| FileRefusal {
        cause: format!("no impulse response: {error}"),
        remedy: "name an audio file with an impulse response".to_owned(),
    };
    let facts = hocket_media::probe(path).map_err(unreadable)?;
    refuse_long(facts.frames.unwrap_or(0), facts.sample_rate_hz)?;
    let audio = hocket_media::decode(path).map_err(unreadable)?;
    refuse_long(audio.frames() as u64, audio.sample_rate_hz)?;
    Ok(audio)
}

fn refuse_long(frames: u64, rate_hz: u32) -> Result<(), FileRefusal> {
    let length_s = frames as f64 / f64::from(rate_hz);
    if length_s <= MAX_S {
        return Ok(());
    }
    Err(FileRefusal {
        cause: format!("it lasts {length_s:.1} s, and an impulse response at most {MAX_S} s"),
        remedy: "name an impulse response, or cut the file".to_owned(),
    })
}

/// At another rate, a response has more or fewer frames, each of which weighs less or more.
fn prepared(audio: &Audio, rate_hz: u32) -> Result<Impulse, FileRefusal> {
    let refused = |error: hocket_convolution::ImpulseError| FileRefusal {
        cause: error.cause,
        remedy: error.remedy.to_owned(),
    };
    if audio.sample_rate_hz == rate_hz {
        return Impulse::new(&audio.channels).map_err(refused);
    }
    let weight = (f64::from(audio.sample_rate_hz) / f64::from(rate_hz)) as f32;
    let mut converted = hocket_media::resample(audio, rate_hz);
    converted.channels.iter_mut().flatten().for_each(|sample| *sample *= weight);
    Impulse::new(&converted.channels).map_err(refused)
}

impl Impulses {
    fn of(&self, effect: &Effect, rate_hz: Option<u32>) -> Result<Arc<Impulse>, FileRefusal> {
        let path = effect.file.as_deref().ok_or_else(|| FileRefusal {
            cause: format!("an effect of the kind '{KIND}' names no file"),
            remedy: "name an impulse response: file = \"...\"".to_owned(),
        })?;
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let rate_hz = match rate_hz {
            Some(rate_hz) => rate_hz,
            // As it is: whether it can be played does not depend on the rate.
            None => {
                let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
                files.audio(path, &place)?.sample_rate_hz
            }
        };
        files.impulse(path, rate_hz)
    }
}

impl EffectSource for Impulses {
    fn params(&self, kind: &str) -> Option<Vec<ParamSpec>> {
        (kind == KIND).then(|| PARAMS.iter().map(hocket_engine::param_spec).collect())
    }

    fn has_side_chain(&self, _: &str) -> bool {
        false
    }

    fn has_event_input(&self, _: &str) -> bool {
        false
    }

    fn cost(&self, effect: &Effect, rate_hz: u32) -> f64 {
        self.of(effect, Some(rate_hz)).map_or(0.0, |impulse| flops_per_frame(&impulse))
    }

    fn latency_frames(&self, _: &Effect, _: u32) -> u32 {
        0
    }

    fn build(&self, of: &Effect, rate_hz: u32) -> Result<Box<dyn Processor>, String> {
        let impulse = self.of(of, Some(rate_hz)).map_err(|FileRefusal { cause, remedy }| {
            let file = of.file.as_deref().unwrap_or(Path::new("")).display();
            format!("'{file}': {cause}; {remedy}")
        })?;
        Ok(effect(&impulse, &of.values, rate_hz))
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
        self.of(effect, None).map(drop)
    }
}
