//! Projects made for tests, and where real ones are.
#![allow(dead_code, reason = "each test takes what it needs")]

use std::io::Write;
use std::path::{Path, PathBuf};

use hocket_dawproject::{Import, ImportError, Imported, import};
use hocket_engine::Effects;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// The catalogue of the engine.
pub static CATALOGUE: Effects = Effects::builtin();

/// How tests import.
pub const HOW: Import<'static> =
    Import { catalogue: &CATALOGUE, stand_in: &[], stop: None, checks_schema: false };

/// A project in a folder of its own.
pub struct Made {
    pub folder: tempfile::TempDir,
    pub path: PathBuf,
}

impl Made {
    /// An archive with these files.
    pub fn of(files: &[(&str, &[u8])]) -> Made {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("song.dawproject");
        let mut zip = ZipWriter::new(std::fs::File::create(&path).expect("a file"));
        let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        for (name, bytes) in files {
            zip.start_file(*name, stored).expect("a new entry");
            zip.write_all(bytes).expect("room");
        }
        zip.finish().expect("room");
        Made { folder, path }
    }

    /// A project of this text with a second of a ramp in `audio/ramp.wav`, at 48 kHz.
    pub fn project(xml: &str) -> Made {
        Made::of(&[("project.xml", xml.as_bytes()), ("audio/ramp.wav", &ramp(48_000))])
    }

    pub fn import(&self) -> Result<Imported, ImportError> {
        import(&self.path, &self.unpacked(), &HOW)
    }

    pub fn unpacked(&self) -> PathBuf {
        self.folder.path().join("unpacked")
    }

    /// The session of a project that is right.
    #[track_caller]
    pub fn read(&self) -> Imported {
        match self.import() {
            Ok(imported) => imported,
            Err(error) => panic!("{error}"),
        }
    }

    /// The message of a project that is wrong.
    #[track_caller]
    pub fn refused(&self) -> String {
        match self.import() {
            Ok(imported) => panic!("it is read: {:?}", imported.loaded.session),
            Err(error) => error.to_string(),
        }
    }
}

/// A WAV file of floats, mono at 48 kHz, that rises from 0 to 0.5.
pub fn ramp(frames: u32) -> Vec<u8> {
    let samples = (0..frames).map(|at| 0.5 * at as f32 / frames as f32);
    wav(&samples.collect::<Vec<f32>>())
}

/// A WAV file of floats, mono at 48 kHz.
pub fn wav(samples: &[f32]) -> Vec<u8> {
    let data = samples.len() as u32 * 4;
    let mut bytes = Vec::new();
    bytes.extend(b"RIFF");
    bytes.extend((36 + data).to_le_bytes());
    bytes.extend(b"WAVEfmt ");
    bytes.extend(16_u32.to_le_bytes());
    bytes.extend(3_u16.to_le_bytes());
    bytes.extend(1_u16.to_le_bytes());
    bytes.extend(48_000_u32.to_le_bytes());
    bytes.extend(192_000_u32.to_le_bytes());
    bytes.extend(4_u16.to_le_bytes());
    bytes.extend(32_u16.to_le_bytes());
    bytes.extend(b"data");
    bytes.extend(data.to_le_bytes());
    samples.iter().for_each(|sample| bytes.extend(sample.to_le_bytes()));
    bytes
}

/// A project of these tracks and lanes, at 120 beats per minute.
pub fn song(structure: &str, arrangement: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Project version=\"1.0\">\n\
         <Application name=\"test\" version=\"1\"/>\n\
         <Transport><Tempo unit=\"bpm\" value=\"120\" id=\"tempo\"/></Transport>\n\
         <Structure>\n{structure}\n</Structure>\n<Arrangement>\n{arrangement}\n</Arrangement>\n</Project>\n"
    )
}

/// A track `one` with a channel, and the master.
pub const ONE: &str = "<Track contentType=\"audio\" id=\"one\" name=\"one\"><Channel id=\"one-c\" destination=\"m\" role=\"regular\">\
    <Volume unit=\"linear\" value=\"1\" id=\"one-v\"/><Pan unit=\"normalized\" value=\"0.5\" id=\"one-p\"/>\
    <Mute value=\"false\" id=\"one-m\"/></Channel></Track>\n\
    <Track contentType=\"audio\" id=\"mt\" name=\"Master\"><Channel id=\"m\" role=\"master\"/></Track>";

/// Lanes of the track `one`.
pub fn lanes(inside: &str) -> String {
    format!("<Lanes timeUnit=\"beats\"><Lanes track=\"one\">{inside}</Lanes></Lanes>")
}

/// The audio file that every project made here has.
pub const AUDIO: &str = "<Audio channels=\"1\" sampleRate=\"48000\" duration=\"1\"><File path=\"audio/ramp.wav\"/></Audio>";

/// The data beside the repository; says that a test is skipped where there is none.
pub fn shared(test: &str) -> Option<PathBuf> {
    let given = std::env::var_os("HOCKET_SHARED").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let data = given.unwrap_or(beside).join("data/dawproject");
    if data.is_dir() {
        return Some(data);
    }
    println!("SKIPPED {test}: no {} (set HOCKET_SHARED)", data.display());
    None
}
