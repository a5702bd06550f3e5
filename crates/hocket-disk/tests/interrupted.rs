//! Recordings whose program is killed, and recordings that fill the disk. Each records in a process of its own: this
//! test program, started again for one of its ignored tests.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{Random, wait_for};
use hocket_disk::{
    Recorder, RecorderSettings, Recovery, TakeFormat, TakeInput, TakeSettings, TakeStatus,
    WavFormat, recover,
};
use hocket_media::decode;

const FOLDER: &str = "HOCKET_DISK_TEST_FOLDER";

/// What is recorded at a frame: a value of 16 bits, so that every format holds it exactly.
fn sample(frame: u64, channel: u64) -> f32 {
    let mixed = (frame * 2 + channel).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
    (mixed as i64 - 32_768) as f32 / 32_768.0
}

fn give(input: &mut TakeInput, frames: u64) {
    let at = input.frames();
    let row = |channel| (at..at + frames).map(|frame| sample(frame, channel)).collect::<Vec<_>>();
    input.write(&[&row(0), &row(1)]);
}

/// How many frames of a recording are what was given: all, or the test ends.
fn check(path: &Path) -> u64 {
    let audio = decode(path).unwrap();
    assert_eq!(audio.channels.len(), 2);
    for (channel, row) in audio.channels.iter().enumerate() {
        for (frame, &x) in row.iter().enumerate() {
            assert_eq!(x, sample(frame as u64, channel as u64), "{} at {frame}", path.display());
        }
    }
    audio.frames() as u64
}

/// This program, for one of its ignored tests.
fn child(test: &str, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored", "--nocapture"]).env(FOLDER, folder);
    command
}

fn folder_of_child() -> Option<PathBuf> {
    std::env::var_os(FOLDER).map(PathBuf::from)
}

const KILLED: [(&str, TakeFormat); 3] = [
    ("float.wav", TakeFormat::Wav(WavFormat::Float32)),
    ("24.wav", TakeFormat::Wav(WavFormat::Pcm24)),
    ("16.flac", TakeFormat::Flac16),
];

#[test]
#[ignore = "a part of the next test: records until it is killed"]
fn records_until_it_is_killed() {
    let Some(folder) = folder_of_child() else { return };
    let settings = RecorderSettings { chunk_frames: 256, ..RecorderSettings::default() };
    let sync_every = Duration::from_millis(20);
    let recorder = Recorder::start(RecorderSettings {
        sync_every,
        poll: Duration::from_millis(1),
        ..settings
    });
    let mut inputs: Vec<_> = KILLED
        .map(|(name, format)| {
            let settings = TakeSettings::new(&folder.join(name), 48_000, 2);
            recorder.begin(&TakeSettings { format, ring_frames: 1 << 21, ..settings }).unwrap()
        })
        .into();
    loop {
        for (input, _) in &mut inputs {
            give(input, 480);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn after_kill_9_everything_that_was_synced_is_there_and_recovered_sample_by_sample() {
    let mut random = Random(std::process::id().into());
    let (mut stated_frames, mut recovered_frames) = (0, 0);
    for _ in 0..6 {
        let folder = tempfile::tempdir().unwrap();
        let mut recording = child("records_until_it_is_killed", folder.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let last = folder.path().join(KILLED[2].0);
        wait_for("the recording has begun", || {
            last.metadata().is_ok_and(|metadata| metadata.len() > 200)
        });
        std::thread::sleep(Duration::from_millis(random.below(300)));
        recording.kill().unwrap();
        recording.wait().unwrap();
        for (name, _) in KILLED {
            let path = folder.path().join(name);
            // The header is valid: what it states is there, and right.
            let stated = stated(&path);
            let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
            let recovery = recover(&path).unwrap();
            let frames = match recovery {
                Recovery::Intact { frames } => frames,
                Recovery::Repaired { frames, stated: before } => {
                    assert_eq!(before.unwrap_or(0), stated, "{name}");
                    frames
                }
                other => panic!("{name}: {other}"),
            };
            assert!(frames >= stated, "{name}");
            if frames > 0 {
                assert_eq!(check(&path), frames, "{name}");
            }
            assert_eq!(std::fs::metadata(&path).unwrap().modified().unwrap(), modified, "{name}");
            assert_eq!(recover(&path).unwrap(), Recovery::Intact { frames }, "{name}");
            let manifest =
                std::fs::read_to_string(folder.path().join(format!("{name}.take.toml"))).unwrap();
            let manifest: toml::Table = manifest.parse().unwrap();
            assert_eq!((manifest["file"].as_str(), manifest.get("end")), (Some(name), None));
            (stated_frames, recovered_frames) = (stated_frames + stated, recovered_frames + frames);
        }
    }
    println!("the headers stated {stated_frames} frames, recovered {recovered_frames}");
    assert!(recovered_frames > 0);
}

/// What the header states, after every frame of it was compared.
fn stated(path: &Path) -> u64 {
    let file = std::fs::File::open(path).unwrap();
    let Ok(mut stream) = hocket_media::StreamDecoder::open(path, std::sync::Arc::new(file)) else {
        return 0;
    };
    // Of a FLAC file that states nothing, the decoder counts what is there.
    let is_flac = path.extension().is_some_and(|ending| ending == "flac");
    if is_flac && stream.info().seek == hocket_disk::SeekCost::FromTheStart {
        return 0;
    }
    let frames = stream.info().frames as usize;
    let mut rows = vec![vec![0.0; frames]; 2];
    let mut slices: Vec<&mut [f32]> = rows.iter_mut().map(|row| &mut row[..]).collect();
    assert_eq!(stream.read(0, &mut slices).unwrap(), frames, "{}", path.display());
    for (channel, row) in rows.iter().enumerate() {
        let right = |(frame, x): (usize, &f32)| *x == sample(frame as u64, channel as u64);
        assert!(row.iter().enumerate().all(right), "{}", path.display());
    }
    frames as u64
}

/// An image within an image. While the outer file system is frozen, the image of the inner one stands still, and a copy of it is
/// what a power cut leaves: what the inner one has in memory alone is not in it. What a real disk may lose besides, what it said to
/// have and has not, is.
const IMAGES: &str = "cd \"$1\" && mkdir outer inner after && truncate -s 96M image && mkfs.ext4 -q -F image \
                      && mount -o loop image outer && truncate -s 64M outer/image && mkfs.ext4 -q -F outer/image \
                      && mount -o loop outer/image inner";
const CUT: &str = "cd \"$1\" && fsfreeze -f outer && { cp --sparse=always outer/image copy; status=$?; \
                   fsfreeze -u outer; exit $status; }";
const AFTER: &str = "cd \"$1\" && mount -o loop copy after";
const AFTERWARDS: &str = "cd \"$1\" && umount after";

fn sh(script: &str, folder: &Path) {
    let output = Command::new("sh").args(["-c", script, "sh"]).arg(folder).output().unwrap();
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
#[ignore = "a part of the next test: records in real time, and looks at what a power cut leaves"]
fn records_while_the_power_is_cut() {
    let Some(folder) = folder_of_child() else { return };
    let recorder = Recorder::start(RecorderSettings::default());
    let begin = |(name, format): (&str, TakeFormat)| {
        let settings = TakeSettings::new(&folder.join("inner").join(name), 48_000, 2);
        recorder.begin(&TakeSettings { format, ..settings }).unwrap()
    };
    let mut takes = KILLED.map(begin);
    let begun = Instant::now();
    let (mut safe, mut most_lost) = ([0; KILLED.len()], 0);
    for _ in 0..4 {
        let earlier = safe;
        // Until every take is on the disk further than the last time, and then for a while without a sync.
        wait_for("all takes are synced", || {
            for (input, _) in &mut takes {
                let due = begun.elapsed().as_millis() as u64 * 48;
                give(input, due - input.frames());
            }
            safe = takes.each_ref().map(|(_, take)| take.status().safe_frames);
            safe.iter().zip(earlier).all(|(safe, earlier)| *safe > earlier)
        });
        let given = takes.each_ref().map(|(input, _)| input.frames());
        sh(CUT, &folder);
        sh(AFTER, &folder);
        for (at, (name, _)) in KILLED.into_iter().enumerate() {
            let path = folder.join("after").join(name);
            let stated = stated(&path);
            assert!(stated >= safe[at], "{name}: {stated} frames, and {} were safe", safe[at]);
            let recovered = match recover(&path).unwrap() {
                Recovery::Intact { frames } | Recovery::Repaired { frames, .. } => frames,
                other => panic!("{name}: {other}"),
            };
            assert!(recovered >= stated && check(&path) == recovered, "{name}");
            most_lost = most_lost.max(given[at].saturating_sub(recovered));
        }
        sh(AFTERWARDS, &folder);
    }
    for (input, take) in takes {
        drop(input);
        let report = take.finish(Duration::from_secs(600)).unwrap();
        assert!(report.error.is_none(), "{report:?}");
    }
    // How much that is depends on the disk, so nothing is asserted of it.
    println!("at most {} ms were lost", most_lost / 48);
    println!("{PASSED}");
}

#[test]
fn a_power_cut_leaves_all_that_was_called_safe() {
    let folder = tempfile::tempdir().unwrap();
    // A namespace of its own, so that nothing stays mounted.
    let unshare = |script: &str| {
        let mut command = Command::new("timeout");
        command.args(["-k", "10", "900", "unshare", "-m", "sh", "-c", script, "sh"]);
        command.arg(folder.path()).env(FOLDER, folder.path());
        command
    };
    let end = "umount inner outer; rm -r image outer inner after";
    let mut probe = unshare(&format!(
        "{IMAGES} && fsfreeze -f outer && fsfreeze -u outer; status=$?; {end}; exit $status"
    ));
    let why = match probe.output() {
        Ok(probe) if probe.status.success() => None,
        Ok(probe) => {
            Some(String::from_utf8_lossy(&probe.stderr).lines().last().unwrap_or("").into())
        }
        Err(error) => Some(error.to_string()),
    };
    if let Some(why) = why {
        println!(
            "SKIPPED a_power_cut_leaves_all_that_was_called_safe: no loop devices can be mounted and frozen here: {why}"
        );
        return;
    }
    let recording = child("records_while_the_power_is_cut", folder.path());
    let script = format!(
        "{IMAGES} && (shift; \"$@\"); status=$?; cd \"$1\"; umount inner outer; exit $status"
    );
    run(unshare(&script).arg(recording.get_program()).args(recording.get_args()));
}

#[test]
#[ignore = "a part of the next tests: records more than there is room for"]
fn records_more_than_there_is_room_for() {
    let Some(folder) = folder_of_child() else { return };
    let settings = RecorderSettings { chunk_frames: 256, ..RecorderSettings::default() };
    let recorder = Recorder::start(RecorderSettings { poll: Duration::from_millis(1), ..settings });
    let begin = |name: &str, format| {
        let settings = TakeSettings::new(&folder.join(name), 48_000, 2);
        recorder.begin(&TakeSettings { format, ring_frames: 1 << 20, ..settings }).unwrap()
    };
    let (mut small, small_take) = begin("small.wav", TakeFormat::Wav(WavFormat::Float32));
    give(&mut small, 1000);
    drop(small);
    let report = small_take.finish(Duration::from_secs(600)).unwrap();
    assert!(report.error.is_none(), "{report:?}");
    for (name, format) in
        [("large.wav", TakeFormat::Wav(WavFormat::Float32)), ("large.flac", TakeFormat::Flac16)]
    {
        let (mut input, take) = begin(name, format);
        wait_for("the disk is full", || {
            give(&mut input, 4800);
            let TakeStatus { error, .. } = take.status();
            error.is_some()
        });
        let error = take.status().error.unwrap();
        assert!(error.contains(name), "{error}");
        assert!(error.contains("free some space") || error.contains("raise the limit"), "{error}");
        // It goes on taking frames, for nothing.
        give(&mut input, 4800);
        drop(input);
        let report = take.finish(Duration::from_secs(600)).unwrap();
        assert!(report.error.is_some() && report.frames > 0, "{report:?}");
        let audio = decode(&folder.join(name)).unwrap();
        assert_eq!(
            (audio.frames() as u64, &audio.warnings[..]),
            (report.frames, &[][..]),
            "{name}"
        );
        assert_eq!(check(&folder.join(name)), report.frames);
        // Room for the next one.
        std::fs::remove_file(folder.join(name)).unwrap();
    }
    assert_eq!(check(&folder.join("small.wav")), 1000, "other takes are untouched");
    println!("{PASSED}");
}

/// What the child prints at its end, so that a child that does nothing is noticed.
const PASSED: &str = "both takes ended as they should";

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains(PASSED),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Starts the child through a shell, after `before`.
fn through_shell(before: &str, folder: &Path) -> Command {
    let recording = child("records_more_than_there_is_room_for", folder);
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("{before} && exec \"$0\" \"$@\"")).arg(recording.get_program());
    shell.args(recording.get_args()).env(FOLDER, folder);
    shell
}

#[test]
fn a_file_at_its_size_limit_ends_its_take_alone_and_stays_intact() {
    let folder = tempfile::tempdir().unwrap();
    // Blocks of 512 bytes. Without the trap the signal would end the process.
    run(&mut through_shell("trap '' XFSZ && ulimit -f 1000", folder.path()));
}

#[test]
fn a_full_disk_ends_its_take_alone_and_leaves_it_intact() {
    let folder = tempfile::tempdir().unwrap();
    let mount = "mount -t tmpfs -o size=600k none \"$HOCKET_DISK_TEST_FOLDER\"";
    let probe = Command::new("unshare")
        .args(["-rm", "sh", "-c", mount])
        .env(FOLDER, folder.path())
        .output();
    if !probe.is_ok_and(|probe| probe.status.success()) {
        println!(
            "SKIPPED a_full_disk_ends_its_take_alone_and_leaves_it_intact: no mount in a namespace of its own here"
        );
        return;
    }
    let recording = through_shell(mount, folder.path());
    let mut command = Command::new("unshare");
    command.arg("-rm").arg(recording.get_program()).args(recording.get_args());
    run(command.env(FOLDER, folder.path()));
}
