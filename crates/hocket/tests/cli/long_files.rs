//! Long audio files of another rate than the session's, and files that are too long to be in memory.

use std::fs::OpenOptions;
use std::path::Path;

use hocket_media::{AudioWriter, FileFormat, WavFormat, WavLayout, decode, resample};

use crate::support::{check_refused, run};

const RATE_HZ: u32 = 44_100;
/// 3 hours.
const LONG_FRAMES: u64 = 3 * 3600 * RATE_HZ as u64;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn noise(frames: usize, seed: u32) -> Vec<f32> {
    let sample = |i: u32| (i.wrapping_mul(2_654_435_761).wrapping_add(seed) >> 8) as f32;
    (0..frames as u32).map(|i| sample(i) / (1 << 24) as f32 - 0.5).collect()
}

fn write(path: &Path, rate_hz: u32, samples: WavFormat, rows: [&[f32]; 2]) {
    let (format, frames) = (FileFormat::of(path).unwrap(), rows[0].len() as u64);
    let mut writer = AudioWriter::create(path, format, rate_hz, samples, frames).unwrap();
    writer.write(rows[0], rows[1]).unwrap();
    writer.finish().unwrap();
}

/// A stereo file of 16 bits that lasts 3 hours, with sound in a few places. It takes little of the disk, because nothing is
/// written in between.
pub fn write_long(path: &Path, sounds: &[(u64, Vec<u8>)]) {
    use std::os::unix::fs::FileExt;
    let layout = WavLayout { samples: WavFormat::Pcm16, sample_rate_hz: RATE_HZ, channels: 2 };
    let header = layout.header(LONG_FRAMES);
    let file = OpenOptions::new().write(true).create_new(true).open(path).unwrap();
    file.write_all_at(&header, 0).unwrap();
    file.set_len(header.len() as u64 + 4 * LONG_FRAMES).unwrap();
    for (frame, bytes) in sounds {
        file.write_all_at(bytes, header.len() as u64 + 4 * frame).unwrap();
    }
}

fn session(folder: &Path, clips: &str) -> String {
    let path = folder.join("session.toml");
    let text = format!(
        "[session]\nsample_rate_hz = 48000\n\n[[track]]\nname = \"one\"\nclip = [\n{clips}\n]\n"
    );
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// In every way that a clip can play a file of 14 seconds.
fn clips(file: &str) -> String {
    let all = [
        "length_s = 0.4",
        "offset_s = 3.3, length_s = 0.2, start_s = 0.1, fade_in_s = 0.05, fade_out_s = 0.07",
        "offset_s = 3.51, length_s = 0.3, start_s = 0.2",
        "offset_s = 7.123456, length_s = 0.3, start_s = 0.2, gain_db = -6",
        "offset_s = 10.0, length_s = 0.15, loop = true, start_s = 0.05",
        "offset_s = 13.9, start_s = 0.3, fade_out_s = 0.05",
        "offset_s = 13.97, loop = true, length_s = 0.5",
        "offset_s = 13.5, length_s = 5.0, start_s = 0.6",
    ];
    all.map(|clip| format!("    {{ file = \"{file}\", {clip} }},")).join("\n")
}

#[test]
fn what_clips_play_of_a_file_of_another_rate_has_the_bits_of_the_whole_file() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let frames = 14 * RATE_HZ as usize;
    let (left, right) = (noise(frames, 5), noise(frames, 6_000_000));
    for (name, samples) in [("a.wav", WavFormat::Pcm24), ("b.flac", WavFormat::Pcm16)] {
        write(&at(name), RATE_HZ, samples, [&left, &right]);
        let whole = resample(&decode(&at(name)).unwrap(), 48_000).channels;
        write(&at("whole.wav"), 48_000, WavFormat::Float32, [&whole[0], &whole[1]]);
        let render = |file: &str, more: &[&str]| {
            let session = session(folder.path(), &clips(file));
            let out = at("out.wav");
            let args = ["render", &session, "-v", "--force", "--format", "32f", "-o", text(&out)];
            let ran = run(&[&args[..], more].concat());
            assert_eq!(ran.code, Some(0), "{}", ran.err);
            (std::fs::read(&out).unwrap(), ran.err)
        };
        let (expected, _) = render("whole.wav", &["--disk-buffer", "0"]);
        assert!(expected.iter().filter(|byte| **byte != 0).count() > 10_000);
        for more in [&[][..], &["--disk-buffer", "0", "--workers", "2"], &["--strict"]] {
            let (found, said) = render(name, more);
            assert!(found == expected, "{name} {more:?}");
            // 0.4, 0.51, 0.3, 0.15 and 0.5 seconds.
            let words = format!("{name}: in memory: 44100 Hz, channels: 2, 1.86 s of 14.00 s");
            assert!(said.contains(&words), "{said}");
        }
    }
}

#[test]
fn three_hours_at_another_rate_play_where_clips_play_them() {
    let folder = tempfile::tempdir().unwrap();
    let sound: Vec<u8> =
        (0..40_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    write_long(&folder.path().join("long.wav"), &[(LONG_FRAMES / 2, sound)]);
    let half_s = 3 * 3600 / 2;
    let session = session(
        folder.path(),
        &format!("{{ file = \"long.wav\", offset_s = {half_s}, length_s = 0.5 }}"),
    );
    let ran = run(&["check", &session]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let out = folder.path().join("out.wav");
    let ran = run(&["render", &session, "-v", "-o", text(&out)]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("0.50 s of 10800.00 s"), "{}", ran.err);
    let played = decode(&out).unwrap();
    let last = (10_000.0 * 48_000.0 / 44_100.0) as usize;
    let peak = |row: &[f32]| row.iter().fold(0.0f32, |peak, x| peak.max(x.abs()));
    assert!(peak(&played.channels[0][last - 500..last]) > 0.3);
    assert!(peak(&played.channels[0][last + 600..24_000]) < 1e-4);
    // At its own rate, all of it plays from the disk.
    let ran = run(&["render", &session, "-v", "--rate", "44100", "--force", "-o", text(&out)]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("plays from the disk"), "{}", ran.err);
}

#[test]
fn a_file_of_which_too_much_is_played_for_the_memory_plays_from_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    write_long(&folder.path().join("long.wav"), &[]);
    let session = session(folder.path(), "{ file = \"long.wav\" }");
    let out = folder.path().join("out.wav");
    let render = ["render", &session, "-o", text(&out)];
    let in_memory = |rate: &str, words: &[&str]| {
        let args = [&render[..], &["--force", "--rate", rate, "--disk-buffer", "0"]].concat();
        check_refused(
            &args,
            2,
            &[&["session.toml:7:10: ", "leave out --disk-buffer 0"][..], words].concat(),
        );
        assert!(!out.exists());
    };
    in_memory("48000", &["its clips play more than 536870912 samples of audio"]);
    in_memory("44100", &["more than 536870912 samples of audio"]);
    for rate in ["48000", "44100"] {
        assert_eq!(run(&["check", &session, "--rate", rate]).code, Some(0));
    }
    // What is rendered is a part of it.
    let ran = run(&[&render[..], &["-v", "--from", "0.1", "--length", "0.2"]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("plays from the disk, decoded into "), "{}", ran.err);
    assert!(ran.err.contains("10.30 s of 10800.00 s"), "{}", ran.err);
}

#[test]
fn a_render_that_ends_early_has_the_bits_of_the_whole_one() {
    let folder = tempfile::tempdir().unwrap();
    let frames = 25 * RATE_HZ as usize;
    let (left, right) = (noise(frames, 50), noise(frames, 9_000_000));
    write(&folder.path().join("a.wav"), RATE_HZ, WavFormat::Pcm16, [&left, &right]);
    let session = session(
        folder.path(),
        "{ file = \"a.wav\", fade_out_s = 24 }, { file = \"a.wav\", start_s = 11, offset_s = 3 }",
    );
    let out = folder.path().join("out.wav");
    let render = |more: &[&str]| {
        let args = ["render", &session, "-v", "--force", "--format", "32f", "-o", text(&out)];
        let ran = run(&[&args[..], more].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        (decode(&out).unwrap().channels, ran.err)
    };
    let (whole, all) = render(&[]);
    assert!(all.contains("25.00 s of 25.00 s"), "{all}");
    let (part, said) = render(&["--length", "1.2"]);
    // The second clip plays 0.2 s of it.
    assert!(said.contains("11.20 s of 25.00 s"), "{said}");
    let bits = |row: &[f32]| row.iter().map(|x| x.to_bits()).collect::<Vec<u32>>();
    for (part, whole) in part.iter().zip(&whole) {
        assert_eq!(part.len(), 57_600);
        assert!(bits(part) == bits(&whole[..57_600]));
    }
}

/// Frames of silence at 44.1 kHz, behind one that announces so many of them.
pub fn write_mp3(path: &Path, frames: usize, announced: u32) {
    const BYTES: usize = 417;
    let mut frame = vec![0; BYTES];
    frame[..4].copy_from_slice(&[0xff, 0xfb, 0x90, 0x00]);
    let mut first = frame.clone();
    first[36..44].copy_from_slice(b"Xing\0\0\0\x01");
    first[44..48].copy_from_slice(&announced.to_be_bytes());
    std::fs::write(path, [first, frame.repeat(frames)].concat()).unwrap();
}

#[test]
fn joined_files_play_to_their_end_with_a_warning_or_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    write_mp3(&folder.path().join("two.mp3"), 40, 20);
    let session = session(folder.path(), "{ file = \"two.mp3\" }");
    let out = folder.path().join("out.wav");
    let render = ["render", &session, "-o", text(&out)];
    let ran = run(&render);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let words = ["session.toml:7:10: ", "goes on behind the announced end, after 0.522 s"];
    assert!(words.iter().all(|word| ran.err.contains(word)), "{}", ran.err);
    let frames = decode(&out).unwrap().frames();
    assert!(frames >= 40 * 1_152 * 160 / 147, "{frames}");
    check_refused(&["check", &session, "--strict"], 2, &words);
    check_refused(&[&render[..], &["--strict", "--force"]].concat(), 2, &words);
}

#[test]
fn a_compressed_file_that_is_too_long_for_the_memory_plays_from_the_disk_or_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    write_mp3(&folder.path().join("long.mp3"), 20, 500_000);
    let session = session(folder.path(), "{ file = \"long.mp3\", length_s = 1 }");
    let out = folder.path().join("out.wav");
    assert_eq!(run(&["check", &session]).code, Some(0));
    let render = ["render", &session, "-o", text(&out)];
    let ran = run(&[&render[..], &["-v"]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("long.mp3: plays from the disk, decoded into "), "{}", ran.err);
    std::fs::remove_file(&out).unwrap();
    let words = ["more than 536870912 samples of audio", "leave out --disk-buffer 0"];
    check_refused(&[&render[..], &["--disk-buffer", "0"]].concat(), 2, &words);
    assert!(!out.exists());
    // The preview is read as a whole.
    let text_of = std::fs::read_to_string(&session).unwrap();
    std::fs::write(&session, text_of + "\n[preview]\nfile = \"long.mp3\"\n").unwrap();
    let words = ["more than 536870912 samples of audio", "leave out the preview"];
    check_refused(&["check", &session], 2, &words);
    check_refused(&render, 2, &words);
    assert_eq!(run(&["check", &session]).err, run(&render).err);
}
