//! What is written reads back, and what cannot be written leaves nothing behind.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use hocket_media::{WavFormat, WavWriter, WriteError, decode};
use proptest::prelude::*;

const FORMATS: [WavFormat; 3] = [WavFormat::Pcm16, WavFormat::Pcm24, WavFormat::Float32];

fn names(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn write_all(path: &Path, format: WavFormat, frames: usize) -> Result<(), WriteError> {
    let mut writer = WavWriter::create(path, 48_000, format)?;
    let row = vec![0.25; 64];
    for _ in 0..frames / 64 {
        writer.write(&row, &row)?;
    }
    writer.finish().map(|_| ())
}

#[test]
fn every_16_bit_value_survives_a_round_trip() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("all.wav");
    let all: Vec<f32> = (i16::MIN..=i16::MAX).map(|v| f32::from(v) / 32_768.0).collect();
    for format in FORMATS {
        let mut writer = WavWriter::create(&path, 44_100, format).unwrap();
        writer.write(&all, &all).unwrap();
        let written = writer.finish().unwrap();
        assert_eq!((written.frames, written.clipped, written.not_finite), (65_536, 0, 0));
        let audio = decode(&path).unwrap();
        assert_eq!(audio.sample_rate_hz, 44_100);
        assert_eq!(audio.warnings, Vec::<String>::new());
        assert!(audio.channels[0] == all && audio.channels[1] == all, "{format:?}");
    }
}

#[test]
fn clipping_is_counted_and_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("clip.wav");
    let left = [0.0, 1.0, -1.0, 2.0, f32::NAN];
    let right = [0.999, -1.5, 0.5, 1e30, f32::INFINITY];
    for (format, clipped) in [(WavFormat::Pcm16, 4), (WavFormat::Pcm24, 4), (WavFormat::Float32, 0)]
    {
        let mut writer = WavWriter::create(&path, 48_000, format).unwrap();
        writer.write(&left, &right).unwrap();
        let written = writer.finish().unwrap();
        assert_eq!((written.clipped, written.not_finite), (clipped, 2), "{format:?}");
        let audio = decode(&path).unwrap();
        assert_eq!(audio.channels[0][2], -1.0);
        assert_eq!(audio.channels[0][4], 0.0);
    }
}

#[test]
fn halves_round_to_even() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("round.wav");
    let steps = [0.5f32, 1.5, 2.5, -0.5, -1.5, 0.75];
    let row: Vec<f32> = steps.iter().map(|x| x / 32_768.0).collect();
    let mut writer = WavWriter::create(&path, 48_000, WavFormat::Pcm16).unwrap();
    writer.write(&row, &row).unwrap();
    writer.finish().unwrap();
    let back: Vec<f32> = decode(&path).unwrap().channels[0].iter().map(|x| x * 32_768.0).collect();
    assert_eq!(back, [0.0, 2.0, 2.0, 0.0, -2.0, 1.0]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn floats_survive_in_any_division_into_blocks(
        samples in prop::collection::vec(-2f32..2.0, 0..3_000),
        block in 1usize..700,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("blocks.wav");
        let mut writer = WavWriter::create(&path, 48_000, WavFormat::Float32).unwrap();
        for block in samples.chunks(block) {
            writer.write(block, block).unwrap();
        }
        writer.finish().unwrap();
        let audio = decode(&path).unwrap();
        prop_assert_eq!(&audio.channels[0], &samples);
        prop_assert_eq!(&audio.channels[1], &samples);
    }
}

#[test]
fn a_dropped_writer_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("never.wav");
    let mut writer = WavWriter::create(&path, 48_000, WavFormat::Pcm16).unwrap();
    writer.write(&[0.5; 100], &[0.5; 100]).unwrap();
    assert_eq!(names(folder.path()).len(), 1, "the temporary file");
    drop(writer);
    assert_eq!(names(folder.path()), Vec::<PathBuf>::new());
}

#[test]
fn an_old_file_stays_until_the_new_one_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("take.wav");
    std::fs::write(&path, b"old").unwrap();
    let writer = WavWriter::create(&path, 48_000, WavFormat::Pcm16).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
    writer.finish().unwrap();
    assert_eq!(decode(&path).unwrap().frames(), 0);
    assert_eq!(names(folder.path()), [path]);
}

#[test]
fn bad_targets_are_refused_with_cause_and_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let text =
        |path: &Path| WavWriter::create(path, 48_000, WavFormat::Pcm16).unwrap_err().to_string();
    let message = text(folder.path());
    assert!(message.contains("a folder has this name; choose another"), "{message}");
    let message = text(&folder.path().join("none/x.wav"));
    assert!(message.contains("the folder does not exist; create the folder"), "{message}");
    std::fs::write(folder.path().join("file"), b"").unwrap();
    let message = text(&folder.path().join("file/x.wav"));
    assert!(message.contains("a part of the path is a file"), "{message}");
    let message = text(&folder.path().join("x".repeat(300)));
    assert!(message.contains("name"), "{message}");
}

#[cfg(unix)]
#[test]
fn a_pipe_gets_a_header_that_states_the_length() {
    use std::io::Read;
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || {
            let mut bytes = Vec::new();
            std::fs::File::open(pipe).unwrap().read_to_end(&mut bytes).map(|_| bytes)
        }
    });
    let writer = WavWriter::create(&pipe, 48_000, WavFormat::Pcm24).unwrap();
    let mut writer = writer.expecting(3);
    writer.write(&[0.5; 3], &[-0.5; 3]).unwrap();
    writer.finish().unwrap();
    let file = folder.path().join("read.wav");
    std::fs::write(&file, reader.join().unwrap().unwrap()).unwrap();
    let audio = decode(&file).unwrap();
    assert_eq!((audio.frames(), audio.warnings.as_slice()), (3, &[][..]));
    assert_eq!(audio.channels, [vec![0.5; 3], vec![-0.5; 3]]);
}

#[cfg(unix)]
#[test]
fn a_link_is_followed_and_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let (target, link) = (folder.path().join("target.wav"), folder.path().join("link.wav"));
    std::fs::write(&target, b"old").unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    write_all(&link, WavFormat::Pcm16, 640).unwrap();
    assert!(link.is_symlink());
    assert_eq!(decode(&target).unwrap().frames(), 640);
}

/// The parts of the tests below that run in a child process with limits of its own.
#[test]
fn child_writes_to_the_folder_in_the_environment() {
    let Some(folder) = std::env::var_os("HOCKET_TEST_WRITE_TO") else { return };
    let path = Path::new(&folder).join("large.wav");
    match write_all(&path, WavFormat::Float32, 1 << 20) {
        Ok(()) => println!("WROTE"),
        Err(error) => println!("REFUSED {error}"),
    }
    println!("LEFT {}", names(Path::new(&folder)).len());
}

/// Runs the test above under `sh` with `setup` done first; gives its output.
fn child(setup: &str, folder: &Path) -> std::io::Result<String> {
    let test = "child_writes_to_the_folder_in_the_environment";
    let script = format!("{setup} exec \"$0\" --exact {test} --nocapture");
    let output = Command::new("sh")
        .args(["-c", &script])
        .arg(std::env::current_exe()?)
        .arg(folder)
        .env("HOCKET_TEST_WRITE_TO", folder)
        .output()?;
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok(String::from_utf8_lossy(&output.stdout).into_owned() + &error)
}

#[test]
fn a_file_size_limit_is_one_clear_error() {
    let folder = tempfile::tempdir().unwrap();
    let output = child("trap '' XFSZ; ulimit -f 200 || exit 9;", folder.path());
    match output {
        Ok(output) if output.contains("REFUSED") => {
            assert!(output.contains("the largest size allowed here; raise the limit"), "{output}");
            assert!(output.contains("LEFT 0"), "{output}");
        }
        other => {
            println!("SKIPPED a_file_size_limit_is_one_clear_error: no ulimit here: {other:?}")
        }
    }
}

#[test]
fn a_full_disk_is_one_clear_error() {
    let folder = tempfile::tempdir().unwrap();
    // A mount name space of its own, so that the tiny disk goes with the child.
    let script = format!(
        "mount -t tmpfs -o size=256k none \"$1\" && exec \"$0\" --exact {} --nocapture",
        "child_writes_to_the_folder_in_the_environment"
    );
    let output = Command::new("unshare")
        .args(["--mount", "--map-root-user", "sh", "-c", &script])
        .arg(std::env::current_exe().unwrap())
        .arg(folder.path())
        .env("HOCKET_TEST_WRITE_TO", folder.path())
        .output();
    let text = output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned());
    match text {
        Ok(text) if text.contains("LEFT") => {
            assert!(text.contains("the disk is full; free some space"), "{text}");
            assert!(text.contains("LEFT 0"), "{text}");
        }
        other => println!("SKIPPED a_full_disk_is_one_clear_error: no mount name space: {other:?}"),
    }
}

#[test]
fn a_read_only_folder_is_one_clear_error() {
    let script = "mount -t tmpfs -o ro none \"$1\" && exec \"$0\" --exact \
                  child_writes_to_the_folder_in_the_environment --nocapture";
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new("unshare")
        .args(["--mount", "--map-root-user", "sh", "-c", script])
        .arg(std::env::current_exe().unwrap())
        .arg(folder.path())
        .env("HOCKET_TEST_WRITE_TO", folder.path())
        .output();
    let text = output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned());
    match text {
        Ok(text) if text.contains("LEFT") => {
            assert!(text.contains("the file system is read-only; choose a folder"), "{text}");
        }
        other => {
            println!("SKIPPED a_read_only_folder_is_one_clear_error: no name space: {other:?}")
        }
    }
}
