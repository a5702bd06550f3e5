//! The session that plays, and a file whose samples count.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::counting;

/// Strips that are edited at random.
pub const STRIPS: [&str; 9] =
    ["Choir", "Bass", "Guitar", "Kick", "Snare", "Bells", "Band", "Room", "master"];

/// Each with its file and its first effect.
const TRACKS: [(&str, &str, &str); 6] = [
    ("Choir", "ambi_choir.flac", "kind = \"compressor\"\nthreshold_db = -24\nratio = 4"),
    (
        "Bass",
        "bass_thick_c.flac",
        "kind = \"amp\"\noversampling = 4\ndrive_db = 24\nlevel_db = -12",
    ),
    ("Guitar", "guit_em9.flac", "kind = \"eq\"\nband1_type = 5\nband1_freq_hz = 90"),
    ("Kick", "drum_heavy_kick.flac", "kind = \"compressor\"\nthreshold_db = -14\nratio = 4"),
    (
        "Snare",
        "drum_snare_hard.flac",
        "kind = \"eq\"\nband1_type = 1\nband1_freq_hz = 200\nband1_gain_db = 3",
    ),
    ("Bells", "perc_bell.flac", "kind = \"freeverb\"\nroom = 0.5\nmix = 0.3"),
];

/// Where it all is.
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Creates the folder and writes the session.
    ///
    /// # Errors
    /// It exists, or cannot be written.
    pub fn create(path: &Path) -> Result<Folder, String> {
        let refused = |error: std::io::Error| format!("{}: {error}", path.display());
        std::fs::create_dir(path).map_err(refused)?;
        let folder = Folder { path: path.canonicalize().map_err(refused)? };
        std::fs::write(folder.path.join("counting.wav"), counting::file()).map_err(refused)?;
        std::fs::write(folder.session(), text()).map_err(refused)?;
        Ok(folder)
    }

    pub fn session(&self) -> PathBuf {
        self.path.join("soak.toml")
    }

    /// The take of the track that counts.
    pub fn counted(&self) -> PathBuf {
        self.path.join("counted.wav")
    }

    /// The take of the master.
    pub fn master(&self) -> PathBuf {
        self.path.join("master.wav")
    }
}

/// The counting track is recorded before its fader, which no edit moves, so the take counts as long as the song plays on.
fn text() -> String {
    let audio = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sessions/audio");
    let mut text = format!(
        "[session]\nname = \"Soak\"\nsample_rate_hz = {}\nresample = true\n\n",
        counting::RATE_HZ
    );
    for (name, file, effect) in TRACKS {
        let file = audio.join(file);
        let _ = write!(
            text,
            "[[track]]\nname = \"{name}\"\noutput = \"Band\"\ngain_db = -12\n\
             clip = [{{ file = \"{}\", loop = true }}]\n\n[[track.effect]]\n{effect}\n\n\
             [[track.send]]\nto = \"Room\"\ngain_db = -9\n\n",
            file.display()
        );
    }
    text + "[[track]]\nname = \"Counting\"\nmute = true\nclip = [{ file = \"counting.wav\", loop = true }]\n\n\
        [[group]]\nname = \"Band\"\n\n[[group.effect]]\nkind = \"compressor\"\nthreshold_db = -10\nratio = 2\n\n\
        [[return]]\nname = \"Room\"\ngain_db = -6\n\n[[return.effect]]\nkind = \"fdn\"\nlines = 16\nmix = 1\n\n\
        [[take]]\nfrom = \"Counting\"\ntap = \"pre\"\nfile = \"counted.wav\"\n"
}
