//! Long audio files that cannot stream as they are: they play from temporary files without a name, with the bits of files in memory and
//! with as little memory as any stream.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use hocket_media::{AudioWriter, FileFormat, WavFormat, decode};

use crate::interrupted::{POLL, await_that, interrupt, kill, start_of};
use crate::support::{Ran, check_refused, files, hocket, in_small_file_system, root, run};

pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Compressed audio that keeps a state from block to block: mono, IMA ADPCM, 505 frames in each block. Every code is valid.
pub fn adpcm(rate_hz: u32, blocks: u32, seed: u32) -> Vec<u8> {
    let mut bytes = b"RIFF".to_vec();
    bytes.extend((52 + blocks * 256).to_le_bytes());
    bytes.extend(b"WAVEfmt \x14\0\0\0\x11\0\x01\0");
    bytes.extend(rate_hz.to_le_bytes());
    bytes.extend((rate_hz / 505 * 256).to_le_bytes());
    bytes.extend(b"\0\x01\x04\0\x02\0\xf9\x01fact\x04\0\0\0");
    bytes.extend((blocks * 505).to_le_bytes());
    bytes.extend(b"data");
    bytes.extend((blocks * 256).to_le_bytes());
    let mut state = seed;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    for _ in 0..blocks {
        bytes.extend([random(), random(), random() % 89, 0]);
        bytes.extend((0..252).map(|_| random()));
    }
    bytes
}

fn of_corpus(name: &str) -> Vec<u8> {
    std::fs::read(root().join("fuzz/corpus/audio").join(name)).unwrap()
}

/// Ogg Vorbis, mono at 22.05 kHz: the pages of a file of a second, so many times. Nothing before its end says how long it is.
fn vorbis(seconds: u64) -> Vec<u8> {
    let short = of_corpus("vorbis-q2-22k05-mono.ogg");
    let (mut pages, mut rest) = (Vec::new(), &short[..]);
    while !rest.is_empty() {
        let lengths = &rest[27..27 + usize::from(rest[26])];
        let sound: usize = lengths.iter().map(|length| usize::from(*length)).sum();
        let (page, behind) = rest.split_at(27 + lengths.len() + sound);
        pages.push(page.to_vec());
        rest = behind;
    }
    let ends_at = |page: &[u8]| u64::from_le_bytes(page[6..14].try_into().unwrap());
    let heads = pages.iter().filter(|page| ends_at(&page[..]) == 0).cloned();
    let mut all: Vec<Vec<u8>> = heads.collect();
    for second in 0..seconds {
        for page in pages.iter().filter(|page| ends_at(&page[..]) > 0) {
            let mut page = page.clone();
            let end = ends_at(&page[..]) + second * 22_050;
            page[6..14].copy_from_slice(&end.to_le_bytes());
            all.push(page);
        }
    }
    for (number, page) in (0u32..).zip(&mut all) {
        // Only the first page begins a stream, and none ends it.
        page[5] &= 2;
        page[18..22].copy_from_slice(&number.to_le_bytes());
        page[22..26].fill(0);
        let sum = checksum(page);
        page[22..26].copy_from_slice(&sum.to_le_bytes());
    }
    all.concat()
}

/// As Ogg has it.
fn checksum(page: &[u8]) -> u32 {
    let shifted = |sum: u32, _| if sum >> 31 == 1 { (sum << 1) ^ 0x04c1_1db7 } else { sum << 1 };
    page.iter().fold(0, |sum, byte| (0..8).fold(sum ^ (u32::from(*byte) << 24), shifted))
}

/// A stereo file of noise, 15 s long.
pub fn noise(path: &Path, rate_hz: u32, samples: WavFormat) {
    let frames = 15 * rate_hz;
    let row = |seed: u32| -> Vec<f32> {
        let sample = |i: u32| (i.wrapping_mul(2_654_435_761).wrapping_add(seed) >> 8) as f32;
        (0..frames).map(|i| sample(i) / (1 << 24) as f32 - 0.5).collect()
    };
    let format = FileFormat::of(path).unwrap();
    let mut writer = AudioWriter::create(path, format, rate_hz, samples, frames.into()).unwrap();
    writer.write(&row(5), &row(6_000_000)).unwrap();
    writer.finish().unwrap();
}

/// One track with a clip for each of these descriptions.
fn session(folder: &Path, rate_hz: u32, clips: &[String]) -> PathBuf {
    let path = folder.join("session.toml");
    let clips = clips.join(", ");
    let text = format!(
        "[session]\nsample_rate_hz = {rate_hz}\n\n[[track]]\nname = \"one\"\nclip = [{clips}]\n"
    );
    std::fs::write(&path, text).unwrap();
    path
}

/// From the start, from the middle, as a loop, and to the end.
fn every_clip(file: &str) -> Vec<String> {
    let all = [
        "length_s = 11",
        "offset_s = 5.123456, length_s = 0.7, start_s = 0.2, gain_db = -6, fade_in_s = 0.05",
        "offset_s = 9.9, loop = true, length_s = 7, start_s = 0.1, gain_db = -6",
        "offset_s = 8.5, start_s = 1.3, fade_out_s = 0.05, gain_db = -12",
    ];
    all.map(|clip| format!("{{ file = \"{file}\", {clip} }}")).to_vec()
}

fn render(session: &Path, out: &Path, more: &[&str]) -> Ran {
    let args = ["render", text(session), "-v", "--force", "--format", "32f", "-o", text(out)];
    let ran = run(&[&args[..], more].concat());
    assert_eq!(ran.code, Some(0), "{more:?}: {}", ran.err);
    ran
}

#[test]
fn what_plays_from_a_temporary_file_has_the_bits_of_memory() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    // Joined files: their sound goes on behind the announced end, and their last frames are cut.
    std::fs::write(at("a.mp3"), of_corpus("mp3-48k-22k05-mono-mpeg2.mp3").repeat(40)).unwrap();
    std::fs::write(at("b.wav"), adpcm(44_100, 1_400, 7)).unwrap();
    noise(&at("c.flac"), 48_000, WavFormat::Pcm24);
    noise(&at("d.wav"), 44_100, WavFormat::Float32);
    std::fs::write(at("e.ogg"), vorbis(120)).unwrap();
    // At their own rates, at another one, and at one with which they have hardly a common divisor.
    let cases: [(&str, &[u32], &[&str]); 5] = [
        ("a.mp3", &[22_050, 48_000, 44_101], &[]),
        ("b.wav", &[44_100, 48_000, 47_111], &[]),
        ("c.flac", &[48_000, 44_101], &["--strict"]),
        ("d.wav", &[48_000, 47_111], &[]),
        ("e.ogg", &[22_050, 48_000], &[]),
    ];
    for (name, rates, more) in cases {
        for rate_hz in rates {
            let session = session(folder.path(), *rate_hz, &every_clip(name));
            let bytes_of = |more: &[&str]| {
                let out = at("out.wav");
                let said = render(&session, &out, more).err;
                (std::fs::read(out).unwrap(), said)
            };
            let (expected, said) = bytes_of(&["--disk-buffer", "0"]);
            assert!(said.contains(&format!("{name}: in memory")), "{said}");
            assert!(expected.iter().filter(|byte| **byte != 0).count() > 10_000);
            let (found, said) = bytes_of(&[more, &["--workers", "2"]].concat());
            assert!(
                said.contains(&format!("{name}: plays from the disk, decoded into ")),
                "{said}"
            );
            assert!(found == expected, "{name} at {rate_hz} Hz");
        }
    }
}

#[test]
fn damage_is_told_in_the_same_words_as_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let session = session(folder.path(), 48_000, &["{ file = \"a.mp3\" }".into()]);
    let warnings = |more: &[&str]| -> Vec<String> {
        let said = render(&session, &at("out.wav"), more).err;
        said.lines().filter(|line| line.contains("warning: ")).map(str::to_owned).collect()
    };
    let refused = at("refused.wav");
    // Of 1000 frames: the file ends early, or goes on behind its end.
    for (announced, word) in [(1500, "ends early"), (600, "behind the announced end")] {
        crate::long_files::write_mp3(&at("a.mp3"), 1000, announced);
        let in_memory = warnings(&["--disk-buffer", "0"]);
        assert!(in_memory.len() == 1 && in_memory[0].contains(word), "{in_memory:?}");
        assert_eq!(warnings(&[]), in_memory);
        let strict = ["render", text(&session), "-o", text(&refused), "--strict"];
        check_refused(&strict, 2, &["session.toml:6:", "a.mp3", word]);
    }
}

/// A header that announces 5 s of 26 is believed until more comes.
#[test]
fn a_file_that_is_longer_than_it_says_plays_from_a_temporary_file() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    crate::long_files::write_mp3(&at("a.mp3"), 1000, 200);
    let session = session(folder.path(), 44_100, &["{ file = \"a.mp3\" }".into()]);
    let said = render(&session, &at("out.wav"), &[]).err;
    assert!(said.contains("a.mp3: plays from the disk, decoded into "), "{said}");
    assert!(said.contains("behind the announced end"), "{said}");
    assert!(decode(&at("out.wav")).unwrap().length_s() > 25.0);
}

/// So many names of one file of ten minutes, each a file of the session.
const NAMES: usize = 12;

/// A session that plays a second of each, in a folder of its own.
fn many_long_files() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let first = folder.path().join("0.wav");
    std::fs::write(&first, adpcm(48_000, 600 * 48_000 / 505, 3)).unwrap();
    let name = |number: usize| format!("{number}.wav");
    (1..NAMES).for_each(|n| std::fs::hard_link(&first, folder.path().join(name(n))).unwrap());
    let clip = |n: usize| format!("{{ file = \"{}\", offset_s = 590, length_s = 1 }}", name(n));
    let session = session(folder.path(), 48_000, &(0..NAMES).map(clip).collect::<Vec<_>>());
    (folder, session)
}

/// Decoded in memory, each takes 230 MB, and all of them 2.7 GB. The process may not have as much.
#[test]
fn long_compressed_files_take_no_more_memory_than_any_stream() {
    let (folder, session) = many_long_files();
    let limited = |name: &str, more: &[&str]| {
        let out = folder.path().join(name);
        let ran = Command::new("bash")
            .args(["-c", "ulimit -v 2000000; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_hocket")])
            .args(["render", text(&session), "-o", text(&out), "--workers", "1"])
            .args(["--policy", "off"])
            .args(more)
            .env("HOCKET_PROFILE", "none")
            .output()
            .unwrap();
        (Ran::from(ran), out)
    };
    let (ran, out) = limited("out.wav", &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(decode(&out).unwrap().peak() > 0.01);
    // The limit is one that files in memory exceed: otherwise the above would show nothing.
    let (ran, _) = limited("memory.wav", &["--disk-buffer", "0"]);
    assert_ne!(ran.code, Some(0), "{}", ran.err);
}

/// Files without a name that a process has open in this folder, and that have something in them.
fn nameless(process: u32, folder: &Path) -> usize {
    let entries = std::fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    let is_one = |entry: &std::fs::DirEntry| {
        let target = std::fs::read_link(entry.path()).unwrap_or_default();
        let is_gone = target.to_string_lossy().ends_with(" (deleted)");
        let is_begun = std::fs::metadata(entry.path()).is_ok_and(|file| file.len() > 0);
        target.starts_with(folder) && is_gone && is_begun
    };
    entries.filter(is_one).count()
}

/// Waits until this process, or the one that it has started, decodes into a temporary file.
#[track_caller]
pub fn await_nameless(child: &Child, folder: &Path) {
    let folder = folder.canonicalize().unwrap();
    await_that("nothing is decoded into a temporary file", POLL, || {
        let processes = [Some(child.id()), start_of(child)];
        let is_seen = |process: u32| nameless(process, &folder) > 0;
        processes.into_iter().flatten().any(is_seen).then_some(())
    });
}

#[test]
fn however_it_ends_nothing_is_left() {
    let (folder, session) = many_long_files();
    let out = folder.path().join("out.wav");
    for signal in ["-INT", "-KILL"] {
        let temporary = tempfile::tempdir().unwrap();
        let args = ["render", text(&session), "-o", text(&out), "--length", "80000", "--force"];
        let mut command = hocket(&args);
        command.env("TMPDIR", temporary.path()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        await_nameless(&child, temporary.path());
        assert_eq!(files(temporary.path()), [""; 0], "it has no name while it is written");
        match signal {
            "-INT" => assert_eq!(interrupt(child), Some(130)),
            signal => {
                kill(signal, child.id());
                child.wait().unwrap();
            }
        }
        assert_eq!(files(temporary.path()), [""; 0], "{signal}");
    }
}

#[test]
fn a_folder_that_is_missing_or_full_is_told_with_what_helps() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("a.wav"), adpcm(48_000, 1_400, 7)).unwrap();
    let session = session(folder.path(), 48_000, &["{ file = \"a.wav\" }".into()]);
    let out = at("out.wav");
    let args = ["render", text(&session), "-o", text(&out)];
    let refused = |ran: Ran, words: &[&str]| {
        assert_eq!(ran.code, Some(3), "{}", ran.err);
        let place = ["session.toml:6:", "a.wav", "TMPDIR"];
        for word in place.iter().chain(words) {
            assert!(ran.err.contains(word), "'{word}' is not in {}", ran.err);
        }
        assert!(!out.exists());
    };
    let missing = at("none");
    let ran = hocket(&args).env("TMPDIR", &missing).output().unwrap();
    refused(ran.into(), &[text(&missing), "the folder does not exist"]);
    // The same failure as a full disk, at another place: no file may have more than a megabyte.
    let ran = Command::new("bash")
        .args(["-c", "ulimit -f 1000; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_hocket")])
        .args(args)
        .env("HOCKET_PROFILE", "none")
        .env("TMPDIR", folder.path())
        .output()
        .unwrap();
    refused(ran.into(), &["the largest size allowed", "with more room", "length_s"]);
}

/// A session that plays all of each of these files, in this order.
fn playing(folder: &Path, rate_hz: u32, names: &[&str]) -> PathBuf {
    let clip = |name: &&str| format!("{{ file = \"{name}\" }}");
    session(folder, rate_hz, &names.iter().map(clip).collect::<Vec<_>>())
}

/// Short and long files, at the session's rate and at others. One is decoded per CPU at a time, and messages keep the session's order.
#[test]
fn files_that_are_decoded_at_once_are_told_in_the_sessions_order() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("a.wav"), adpcm(48_000, 4_000, 1)).unwrap();
    std::fs::write(at("b.wav"), adpcm(48_000, 100, 2)).unwrap();
    std::fs::write(at("c.ogg"), vorbis(60)).unwrap();
    noise(&at("d.flac"), 44_100, WavFormat::Pcm16);
    crate::long_files::write_mp3(&at("e.mp3"), 1000, 1500);
    std::fs::write(at("f.wav"), adpcm(48_000, 1_400, 3)).unwrap();
    crate::long_files::write_mp3(&at("g.mp3"), 1000, 600);
    let names = ["a.wav", "b.wav", "c.ogg", "d.flac", "e.mp3", "f.wav", "g.mp3"];
    let session = playing(folder.path(), 48_000, &names);
    let (out, memory) = (at("out.wav"), at("memory.wav"));
    let said = render(&session, &out, &[]).err;
    let place = |name: &&str| {
        let told = [format!("{name}: plays from the disk, decoded"), format!("{name}: in memory")];
        let place = told.iter().find_map(|told| said.find(told));
        place.unwrap_or_else(|| panic!("{name} is not in {said}"))
    };
    let places: Vec<usize> = names.iter().map(place).collect();
    assert!(places.is_sorted(), "{said}");
    let warnings = ["ends early", "behind the announced end"].map(|word| said.find(word));
    assert!(warnings[0].is_some() && warnings[0] < warnings[1], "{said}");
    render(&session, &memory, &["--disk-buffer", "0"]);
    assert!(std::fs::read(out).unwrap() == std::fs::read(memory).unwrap());
}

#[test]
fn all_files_that_find_no_room_are_named_in_the_sessions_order() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let names = ["a.wav", "b.wav", "c.wav"];
    for (seed, name) in (1..).zip(names) {
        std::fs::write(at(name), adpcm(48_000, 1_400, seed)).unwrap();
    }
    let session = playing(folder.path(), 48_000, &names);
    let out = at("out.wav");
    let line = "ulimit -f 1000; exec \"$0\" \"$@\"";
    let ran = Command::new("bash")
        .args(["-c", line, env!("CARGO_BIN_EXE_hocket"), "render", text(&session)])
        .args(["-o", text(&out)])
        .env("HOCKET_PROFILE", "none")
        .env("TMPDIR", folder.path())
        .output()
        .unwrap();
    all_are_named(&ran.into(), &names, "the largest size allowed");
    assert!(!out.exists());
}

/// Each once, in this order, with its place and what helps.
#[track_caller]
fn all_are_named(ran: &Ran, names: &[&str], why: &str) {
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert_eq!(ran.err.matches(why).count(), names.len(), "{}", ran.err);
    assert_eq!(ran.err.matches("TMPDIR").count(), names.len(), "{}", ran.err);
    let place = |name: &&str| ran.err.find(&format!("{name}': its temporary file in ")).unwrap();
    let places: Vec<usize> = names.iter().map(place).collect();
    assert!(places.is_sorted() && ran.err.contains("session.toml:6:"), "{}", ran.err);
}

/// Their headers say that they have 5 s, and so less than there is room for.
#[test]
fn a_disk_that_fills_up_is_told_for_every_file() {
    const NAME: &str = "a_disk_that_fills_up_is_told_for_every_file";
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let names = ["a.mp3", "b.mp3"];
    names.iter().for_each(|name| crate::long_files::write_mp3(&at(name), 1000, 200));
    let session = playing(folder.path(), 44_100, &names);
    let (out, small) = (at("out.wav"), tempfile::tempdir().unwrap());
    let (program, session, to) = (env!("CARGO_BIN_EXE_hocket"), text(&session), text(&out));
    let script = format!(
        "TMPDIR=\"$1\" '{program}' render '{session}' -o '{to}'; rc=$?; ls \"$1\"; exit $rc"
    );
    let Some(ran) = in_small_file_system(4096, small.path(), &script) else {
        return println!("SKIPPED {NAME}: no mount in a namespace of its own here");
    };
    all_are_named(&ran, &names, "the disk is full");
    assert_eq!(ran.out, "", "nothing is left");
    assert!(!out.exists());
}

/// 10 TB, more than any disk that runs this test has. The error comes before anything is decoded.
#[test]
fn missing_disk_space_is_an_error_before_anything_is_decoded() {
    let folder = tempfile::tempdir().unwrap();
    crate::long_files::write_mp3(&folder.path().join("a.mp3"), 20, 1_200_000_000);
    let session = session(folder.path(), 48_000, &["{ file = \"a.mp3\" }".into()]);
    let out = folder.path().join("out.wav");
    assert_eq!(run(&["check", text(&session)]).code, Some(0));
    let args = ["render", text(&session), "-o", text(&out), "--force", "-v"];
    check_refused(&args, 3, &["session.toml:6:", "a.mp3", "are free", "TMPDIR", "length_s"]);
    assert!(!run(&args).err.contains("decoded into"));
}
