//! What a reader has before the first command, and the shell that runs it.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use tempfile::TempDir;

use crate::from_text;
use crate::support::{Ran, root, run};

const MDA: &str = "/usr/lib/lv2/mda.lv2";

/// Whether the LV2 plug-ins that the pages name are here.
pub fn has_mda() -> bool {
    Path::new(MDA).exists() && hocket_plugins::lv2::available().is_ok()
}

/// The repository's folder without anything made by Hocket, and what the pages say that the reader brings.
pub fn fresh_folder() -> TempDir {
    let folder = folder();
    link(&folder, root().join("docs/results/lab-quick-2cpu-vm.sqlite"), "all.sqlite");
    folder
}

/// What the examples of a command's help need: each stands for itself.
pub fn help_folder(name: &str) -> TempDir {
    let folder = folder();
    for records in ["out/lab.sqlite", "desk.sqlite"] {
        copy(&folder, three_runs(), records);
    }
    copy(&folder, &root().join("docs/results/bench-band-2cpu-vm.json"), "out/record.json");
    for take in ["take.wav", "takes/take.wav"] {
        copy(&folder, &sound(), take);
    }
    std::fs::write(folder.path().join("hosts.toml"), "[[host]]\nname = \"node1\"\n").unwrap();
    // `lab plan` makes this folder anew.
    if name == "hocket lab merge" {
        copy(&folder, three_runs(), "plan/records/node1.sqlite");
    }
    folder
}

/// What both have.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    link(&folder, root().join("sessions"), "sessions");
    link(&folder, root().join("docs/results"), "docs/results");
    link(&folder, root().join("crates/hocket-machine/tests/fixtures/smt4-2c.xml"), "server.xml");
    link(&folder, PathBuf::from(env!("CARGO_BIN_EXE_hocket")), "bin/hocket");
    if has_mda() {
        link(&folder, MDA.into(), "lv2/mda.lv2");
    }
    std::fs::write(folder.path().join("hosts"), "node1\nnode2  cpus=0-7\n").unwrap();
    for sound_of_reader in ["in.wav", "recording.wav"] {
        copy(&folder, &sound(), sound_of_reader);
    }
    copy(&folder, &root().join("sessions/midi/small-tune.mid"), "song.mid");
    // What other tools have recorded.
    for (name, recorded) in [
        ("perf.txt", from_text::PERF),
        ("pipewire.json", from_text::PIPEWIRE),
        ("JackEngineProfiling.log", from_text::JACK),
    ] {
        std::fs::write(folder.path().join(name), recorded).unwrap();
    }
    // The reader's program to measure, which is the example here.
    link(&folder, root().join("guests"), "guests");
    let program = folder.path().join("program");
    std::fs::write(&program, "#!/bin/sh\nexec python3 guests/python/guest.py\n").unwrap();
    std::fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    // The run to compare with.
    copy(&folder, three_runs(), "base.sqlite");
    folder
}

fn sound() -> PathBuf {
    root().join("sessions/audio/29800__stomachache__3.wav")
}

fn link(folder: &TempDir, from: PathBuf, to: &str) {
    std::os::unix::fs::symlink(from.canonicalize().unwrap(), place(folder, to)).unwrap();
}

fn copy(folder: &TempDir, from: &Path, to: &str) {
    std::fs::copy(from, place(folder, to)).unwrap();
}

fn place(folder: &TempDir, name: &str) -> PathBuf {
    let place = folder.path().join(name);
    std::fs::create_dir_all(place.parent().unwrap()).unwrap();
    place
}

/// A record file with three short runs, measured once for all commands that only read one.
fn three_runs() -> &'static Path {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("documented.sqlite");
        let _ = std::fs::remove_file(&file);
        // The pages compare wake-ups, and figures of which there are old ones.
        for ids in [&["aa"][..], &["aa"], &["wake", "smt-load"]] {
            let more = ["--time", "1s", "--records", file.to_str().unwrap()];
            let ran = run(&[&["lab", "run"], ids, &more].concat());
            assert_eq!(ran.code, Some(0), "{}", ran.err);
        }
        file
    })
}

/// Nothing of this user decides: neither a profile nor a sound server, nor plug-ins besides those of [`MDA`]. `tune` and
/// `plugin` keep what they write in the folder. A command that hangs ends with exit code 124.
pub fn in_shell(folder: &Path, command: &str) -> Ran {
    let at = |name: &str| folder.join(name);
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = Command::new("timeout");
    shell.args(["600", "sh", "-c", command]).current_dir(folder).stdin(Stdio::null());
    shell.env("PATH", format!("{}:{path}", at("bin").display()));
    shell.env("HOME", at("home")).env("LV2_PATH", at("lv2")).env("CLAP_PATH", at("clap"));
    shell.env("VST3_PATH", at("vst3"));
    shell.env("XDG_CONFIG_HOME", at("config")).env("XDG_CACHE_HOME", at("cache"));
    shell.env_remove("HOCKET_PROFILE").env("HOCKET_DEVICE", "virtual");
    shell.output().unwrap().into()
}
