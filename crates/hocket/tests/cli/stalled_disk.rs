//! Playing in real time from a file system that stops answering for ten seconds. It needs the rights to mount one; without
//! them the test says so.
//!
//! A frozen file system still answers reads. So the audio lies in an image within an image: the outer file system is
//! frozen, a write to the inner one waits for it in the inner loop device, and every read waits behind that write.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hocket_media::{Audio, AudioWriter, FileFormat, WavFormat, decode};
use serde_json::Value;

use crate::support::{hocket, run};

const FOLDER: &str = "HOCKET_TEST_STALLED_DISK";
const PASSED: &str = "the stalled disk cost silence and nothing else";
const RATE_HZ: usize = 48_000;
/// Of the file, and of what is played.
const SECONDS: usize = 20;
/// Much longer than what is read ahead lasts, and within what a take has room for. One take lies on this disk, the other one
/// on another.
const STALL: Duration = Duration::from_secs(10);
/// A loaded machine takes its time.
const PATIENCE: Duration = Duration::from_secs(600);
/// After so many seconds `timeout` ends whatever is left.
const AT_MOST_S: &str = "900";

/// Makes the images and mounts them; takes the folder. The system reads little ahead there. Otherwise it would have the whole
/// file before the disk stalls.
const MOUNT: &str = "cd \"$1\" && mkdir -p outer inner && truncate -s 128M image && mkfs.ext4 -q -F image \
                     && mount -o loop image outer && truncate -s 96M outer/image && mkfs.ext4 -q -F outer/image \
                     && mount -o loop outer/image inner \
                     && blockdev --setra 64 \"$(findmnt -n -o SOURCE inner)\"";
const UNMOUNT: &str = "umount \"$1/inner\"; umount \"$1/outer\"";

#[test]
fn a_file_system_that_stalls_costs_silence_and_the_song_goes_on() {
    let name = "a_file_system_that_stalls_costs_silence_and_the_song_goes_on";
    let folder = tempfile::tempdir().unwrap();
    // A namespace of its own, so that nothing stays mounted: it goes with its last process, and loop devices with it.
    let unshare = |script: &str| {
        let mut command = Command::new("timeout");
        command.args(["-k", "10", AT_MOST_S, "unshare", "-m", "sh", "-c", script, "sh"]);
        command.arg(folder.path());
        command.env(FOLDER, folder.path());
        command
    };
    let probe = format!("{MOUNT} && fsfreeze -f outer && fsfreeze -u outer && {UNMOUNT}");
    let why = match unshare(&probe).output() {
        Ok(probe) if probe.status.success() => None,
        Ok(probe) => {
            Some(String::from_utf8_lossy(&probe.stderr).lines().last().unwrap_or("").into())
        }
        Err(error) => Some(error.to_string()),
    };
    if let Some(why) = why {
        println!("SKIPPED {name}: no loop devices can be mounted and frozen here: {why}");
        return;
    }
    let script = format!("{MOUNT} && cd / && (shift; \"$@\"); status=$?; {UNMOUNT}; exit $status");
    let mut command = unshare(&script);
    command.arg(std::env::current_exe().unwrap());
    command.args(["--exact", "stalled_disk::plays_while_the_disk_is_stalled"]);
    let output = command.args(["--ignored", "--nocapture"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains(PASSED), "{text}{error}");
}

/// Reads of the inner file system wait until it is dropped.
struct Stall {
    outer: PathBuf,
    writer: Child,
    later: Child,
}

impl Stall {
    fn begin(folder: &Path) -> Stall {
        let outer = folder.join("outer");
        // If this process ends early, a frozen file system would keep the namespace: another one thaws it then.
        let thaw = "sleep 30; fsfreeze -u \"$1\" 2>/dev/null";
        let mut later = Command::new("setsid");
        later.args(["sh", "-c", thaw, "sh"]).arg(&outer).stdout(Stdio::null());
        let later = later.stderr(Stdio::null()).spawn().unwrap();
        assert!(Command::new("fsfreeze").arg("-f").arg(&outer).status().unwrap().success());
        let script = "echo more >> \"$1/other\" && sync -f \"$1/other\"";
        let writer =
            Command::new("sh").args(["-c", script, "sh"]).arg(folder.join("inner")).spawn();
        Stall { outer, writer: writer.unwrap(), later }
    }
}

impl Drop for Stall {
    fn drop(&mut self) {
        let _ = Command::new("fsfreeze").arg("-u").arg(&self.outer).status();
        let _ = self.writer.wait();
        let _ = self.later.kill();
        let _ = self.later.wait();
    }
}

#[test]
#[ignore = "a part of the test above: plays from a disk that stops"]
fn plays_while_the_disk_is_stalled() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let (file, take) = (folder.join("inner/long.wav"), folder.join("take.wav"));
    write_noise(&file);
    let session = folder.join("session.toml");
    std::fs::write(&session, text_of(&file)).unwrap();
    let expected = rendered(&session, &folder.join("expected.wav"));
    leave_cache(&file);

    let mut play = hocket(&["play", session.to_str().unwrap(), "--json", "--disk-buffer", "512K"]);
    let master = format!("master={}", take.display());
    let stalled_take = folder.join("inner/take.wav");
    let track = format!("one={}", stalled_take.display());
    play.args(["--length", &SECONDS.to_string(), "--take", &master, "--take", &track]);
    let play = play.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let started = Instant::now();
    while take.metadata().map_or(0, |file| file.len()) < RATE_HZ as u64 {
        assert!(started.elapsed() < PATIENCE, "nothing is played");
        std::thread::sleep(Duration::from_millis(10));
    }
    let stall = Stall::begin(&folder);
    std::thread::sleep(STALL);
    drop(stall);
    let output = play.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");

    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let silent = told["disk"]["silent_frames"].as_u64().unwrap() as usize;
    assert!(silent > 0, "the disk stood still for {STALL:?}, and no frame is silent");
    let streams = told["disk"]["streams"].as_array().unwrap();
    assert_eq!(streams.len(), 1, "{told:#}");
    assert_eq!(streams[0]["file"], file.to_str().unwrap());
    let gap = &streams[0]["gaps"][0];
    assert!(gap["cause"].as_str().unwrap().contains("too slow"), "{told:#}");
    let at = gap["position"].as_u64().unwrap() as usize;
    let heard = decode(&take).unwrap();
    let longest = check_take(&heard, &expected, at, silent);
    let waited = decode(&stalled_take).unwrap();
    assert!(waited.channels == heard.channels, "the take on the stalled disk lacks something");
    println!("{PASSED}: {silent} of {} frames, {longest} at a time", heard.frames());
}

/// Every frame is the session's at that time, or silent; the silent ones are those that were counted, and the end sounds.
/// Returns the longest silence.
fn check_take(heard: &Audio, expected: &Audio, first: usize, counted: usize) -> usize {
    let (mut silent, mut run, mut longest) = (0, 0, 0);
    for frame in 0..heard.frames() {
        let [is, should] =
            [heard, expected].map(|audio| [0, 1].map(|row: usize| audio.channels[row][frame]));
        run = if is == should { 0 } else { run + 1 };
        assert!(run == 0 || (is == [0.0; 2] && frame >= first), "frame {frame}: {is:?}");
        silent += usize::from(run > 0);
        longest = longest.max(run);
    }
    assert_eq!(silent, counted, "the count is what is heard");
    assert_eq!(run, 0, "it plays again at the end");
    longest
}

fn text_of(file: &Path) -> String {
    format!(
        "[session]\nsample_rate_hz = {RATE_HZ}\nlength_s = {SECONDS}\n[[track]]\nname = \"one\"\n\
         clip = [{{ file = \"{}\" }}]\n",
        file.display()
    )
}

fn rendered(session: &Path, output: &Path) -> Audio {
    let (session, file) = (session.to_str().unwrap(), output.to_str().unwrap());
    let ran = run(&["render", session, "-o", file, "--format", "32f"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    decode(output).unwrap()
}

/// Noise in which no frame is silent.
fn write_noise(path: &Path) {
    let frames = SECONDS * RATE_HZ;
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        0.1 + (state >> 8) as f32 / (1 << 26) as f32
    };
    let rows: [Vec<f32>; 2] = [(); 2].map(|()| (0..frames).map(|_| next()).collect());
    let (samples, length) = (WavFormat::Float32, frames as u64);
    let mut writer =
        AudioWriter::create(path, FileFormat::Wav, RATE_HZ as u32, samples, length).unwrap();
    writer.write(&rows[0], &rows[1]).unwrap();
    writer.finish().unwrap();
}

/// Reads of the file go to the disk from then on.
fn leave_cache(path: &Path) {
    let file = std::fs::File::open(path).unwrap();
    file.sync_all().unwrap();
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
}
