//! A file system that stops for a while: an image on a loop device, frozen by the system. It needs the rights to mount
//! one; without them the test says so.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use common::{noise, wait_for};
use hocket_disk::{Recorder, RecorderSettings, Silence, TakeSettings};
use hocket_media::decode;

const FOLDER: &str = "HOCKET_DISK_TEST_MOUNT";
const PASSED: &str = "the frozen disk cost silence and nothing else";

#[test]
fn a_file_system_that_stops_costs_silence_and_nothing_else() {
    let name = "a_file_system_that_stops_costs_silence_and_nothing_else";
    let folder = tempfile::tempdir().unwrap();
    let mount = folder.path().join("mount");
    std::fs::create_dir(&mount).unwrap();
    // A namespace of its own, so that nothing stays mounted.
    let script = "truncate -s 32M \"$1/image\" && mkfs.ext4 -q -F \"$1/image\" \
                  && mount -o loop \"$1/image\" \"$1/mount\" && fsfreeze -f \"$1/mount\" \
                  && fsfreeze -u \"$1/mount\" && umount \"$1/mount\"";
    let unshare = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", script, "sh"]).arg(folder.path());
        command.env(FOLDER, &mount);
        command
    };
    let probe = unshare(script).output();
    if !probe.as_ref().is_ok_and(|probe| probe.status.success()) {
        let why = probe.map_or_else(
            |error| error.to_string(),
            |probe| {
                String::from_utf8_lossy(&probe.stderr).lines().last().unwrap_or_default().to_owned()
            },
        );
        println!("SKIPPED {name}: no loop device can be mounted and frozen here: {why}");
        return;
    }
    let script = "mount -o loop \"$1/image\" \"$1/mount\" && shift && \"$@\"; \
                  status=$?; umount \"$HOCKET_DISK_TEST_MOUNT\"; exit $status";
    let mut command = unshare(script);
    command.arg(std::env::current_exe().unwrap());
    command.args(["--exact", "records_while_the_disk_is_frozen", "--ignored", "--nocapture"]);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains(PASSED), "{text}{error}");
}

/// Thaws the file system also where a test fails: what is frozen cannot be unmounted.
struct Frozen(PathBuf);

impl Frozen {
    fn new(mount: &Path) -> Frozen {
        assert!(Command::new("fsfreeze").arg("-f").arg(mount).status().unwrap().success());
        Frozen(mount.into())
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        let _ = Command::new("fsfreeze").arg("-u").arg(&self.0).status();
    }
}

#[test]
#[ignore = "a part of the test above: records to a disk that stops"]
fn records_while_the_disk_is_frozen() {
    let Some(mount) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let path = mount.join("take.wav");
    let poll = Duration::from_millis(1);
    let recorder = Recorder::start(RecorderSettings {
        chunk_frames: 512,
        poll,
        ..RecorderSettings::default()
    });
    let settings = TakeSettings { ring_frames: 48_000, ..TakeSettings::new(&path, 48_000, 1) };
    let (mut input, take) = recorder.begin(&settings).unwrap();
    let mut given: Vec<f32> = Vec::new();
    let mut give = |input: &mut hocket_disk::TakeInput| {
        let block = noise(480, given.len() as u64);
        given.extend(&block);
        input.write(&[&block]) == 480
    };
    for _ in 0..50 {
        assert!(give(&mut input));
    }
    let frozen = Frozen::new(&mount);
    wait_for("frames find no room", || {
        give(&mut input);
        input.lost_frames() > 0
    });
    assert!(take.status().writing_since.is_some(), "the status says that the disk does not answer");
    drop(frozen);
    wait_for("there is room again", || give(&mut input));
    for _ in 0..50 {
        give(&mut input);
    }
    let lost = input.lost_frames();
    drop(input);
    let report = take.finish(Duration::from_secs(600)).unwrap();
    assert!(report.error.is_none(), "{report:?}");
    assert_eq!((report.frames, report.silent_frames), (given.len() as u64, lost));
    for Silence { at_frame, frames } in &report.silences {
        given[*at_frame as usize..(at_frame + frames) as usize].fill(0.0);
    }
    assert!(decode(&path).unwrap().channels[0] == given);
    println!("{PASSED}: {lost} of {} frames", given.len());
}
