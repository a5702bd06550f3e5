//! Running the program, and sessions to run it on.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The repository's root.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// An example session.
pub fn example(name: &str) -> PathBuf {
    root().join("sessions").join(name)
}

/// The program with arguments.
pub fn hocket(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hocket"));
    // Whatever profile and sound server this machine has, tests begin without them.
    command.args(args).env("HOCKET_PROFILE", "none").env("HOCKET_DEVICE", "virtual");
    command
}

/// What came out.
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        Ran {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Runs to the end.
pub fn run(args: &[&str]) -> Ran {
    hocket(args).output().unwrap().into()
}

/// The program ends with `code` and says all of `words`, without a panic.
#[track_caller]
pub fn check_refused(args: &[&str], code: i32, words: &[&str]) {
    let ran = run(args);
    assert_eq!(ran.code, Some(code), "{args:?}\n{}", ran.err);
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
    for word in words {
        assert!(ran.err.contains(word), "{args:?} does not say '{word}':\n{}", ran.err);
    }
}

/// A folder with a session file of this text and a copy of a real recording, `loop.flac`.
pub fn session(text: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(example("audio/drum_snare_hard.flac"), folder.path().join("loop.flac")).unwrap();
    let file = folder.path().join("try.toml");
    std::fs::write(&file, text).unwrap();
    (folder, file.display().to_string())
}

/// A session of one track; `more` is added to the track.
pub fn one_track(more: &str) -> (tempfile::TempDir, String) {
    session(&format!(
        "[session]\nname = \"try\"\nsample_rate_hz = 44100\n\n[[track]]\nname = \"one\"\n\
         clip = [{{ file = \"loop.flac\" }}]\n{more}\n"
    ))
}

/// A session of the tracks `one` and `two` with an equaliser each: strips that `--lanes auto` runs abreast.
pub fn two_alike() -> (tempfile::TempDir, String) {
    let track = |name: &str| {
        let clip = "clip = [{ file = \"loop.flac\" }]\neffect = [{ kind = \"eq\" }]";
        format!("\n[[track]]\nname = \"{name}\"\n{clip}\n")
    };
    session(&format!("[session]\nsample_rate_hz = 44100\n{}{}", track("one"), track("two")))
}

/// Whether `--lanes auto` runs strips abreast on this CPU: it needs registers for four rows.
pub fn runs_abreast() -> bool {
    #[cfg(target_arch = "x86_64")]
    let is_wide = std::arch::is_x86_feature_detected!("avx2");
    #[cfg(not(target_arch = "x86_64"))]
    let is_wide = false;
    is_wide
}

/// Runs a shell's script with a file system of so many KiB at this folder, in a namespace of its own. `None`: none can be
/// mounted here.
pub fn in_small_file_system(kib: u32, folder: &Path, script: &str) -> Option<Ran> {
    let run = |script: &str| {
        let mount = format!("mount -t tmpfs -o size={kib}k none \"$1\"");
        let mut command = Command::new("unshare");
        command.args(["-rm", "sh", "-c", &format!("{mount} && {script}"), "sh"]).arg(folder);
        command.env("HOCKET_PROFILE", "none").env("HOCKET_DEVICE", "virtual").output().ok()
    };
    run("true").filter(|probe| probe.status.success())?;
    run(script).map(Ran::from)
}

/// A WAV file: stereo, both sides the same, 32-bit floats.
pub fn write_wav(path: &Path, rate_hz: u32, samples: &[f32]) {
    let mut bytes = Vec::new();
    let data = samples.len() as u32 * 8;
    bytes.extend(b"RIFF");
    bytes.extend((36 + data).to_le_bytes());
    bytes.extend(b"WAVEfmt ");
    bytes.extend(16u32.to_le_bytes());
    for word in [3u16, 2] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend(rate_hz.to_le_bytes());
    bytes.extend((rate_hz * 8).to_le_bytes());
    for word in [8u16, 32] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend(b"data");
    bytes.extend(data.to_le_bytes());
    samples.iter().for_each(|sample| {
        bytes.extend(sample.to_le_bytes());
        bytes.extend(sample.to_le_bytes());
    });
    std::fs::write(path, bytes).unwrap();
}

/// Names of everything in a folder.
pub fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
