//! The machine profile: written by `tune`, used by the others while it holds.

use crate::support::{Ran, check_refused, example, hocket, root, run};

fn with_profile(path: &std::path::Path, args: &[&str]) -> Ran {
    hocket(args).env("HOCKET_PROFILE", path).output().unwrap().into()
}

/// A profile of this machine by one short experiment, and its folder.
fn tuned() -> Option<(tempfile::TempDir, std::path::PathBuf)> {
    let folder = tempfile::tempdir().unwrap();
    let (records, profile) = (folder.path().join("lab.sqlite"), folder.path().join("m.toml"));
    let records = records.display().to_string();
    let lab = run(&["lab", "run", "schedules", "--time", "6s", "--records", &records]);
    assert_eq!(lab.code, Some(0), "{}", lab.err);
    let output = profile.display().to_string();
    let tune = run(&["tune", "--from-records", "--records", &records, "--output", &output]);
    if tune.code == Some(3) {
        println!("SKIPPED tuned: {}", tune.err);
        return None;
    }
    assert_eq!(tune.code, Some(0), "{}", tune.err);
    // A few seconds need not tell: then that is said, and nothing is recommended.
    assert!(tune.out.contains("64 frames: ") && tune.out.contains("Profile: "), "{}", tune.out);
    Some((folder, profile))
}

#[test]
fn a_profile_decides_until_it_expires() {
    let Some((_folder, profile)) = tuned() else { return };
    let session = example("band.toml").display().to_string();
    let play = ["play", &session, "--length", "0.2", "--priority", "0"];
    let used = with_profile(&profile, &play);
    assert_eq!(used.code, Some(0), "{}", used.err);
    assert!(used.err.contains("defaults by the machine profile"), "{}", used.err);
    assert_eq!(with_profile(&profile, &["tune", "--check"]).code, Some(0));

    let text = std::fs::read_to_string(&profile).unwrap();
    let (before, after) = text.split_once("kernel = \"").unwrap();
    std::fs::write(&profile, format!("{before}kernel = \"1.{after}")).unwrap();
    let expired = with_profile(&profile, &play);
    assert_eq!(expired.code, Some(0), "{}", expired.err);
    assert!(expired.err.contains("no longer holds: the kernel was '1."), "{}", expired.err);
    assert!(!expired.err.contains("defaults by"), "{}", expired.err);
    let check = with_profile(&profile, &["tune", "--check"]);
    assert!(check.code == Some(1) && check.out.contains("the kernel was"), "{}", check.out);
    let mut named = play.to_vec();
    let path = profile.display().to_string();
    named.extend(["--profile", &path]);
    check_refused(&named, 2, &["no longer holds", "hocket tune"]);
}

#[test]
fn a_damaged_profile_is_refused_by_name_and_left_out_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let profile = folder.path().join("machine.toml");
    std::fs::write(&profile, "version = 2\nmade = 3\n").unwrap();
    let session = example("band.toml").display().to_string();
    let wav = folder.path().join("band.wav").display().to_string();
    let render = ["render", &session, "-o", &wav, "--length", "0.1"];
    let left_out = with_profile(&profile, &render);
    assert_eq!(left_out.code, Some(0), "{}", left_out.err);
    assert!(left_out.err.contains("going on without it"), "{}", left_out.err);
    let mut named = render.to_vec();
    let path = profile.display().to_string();
    named.extend(["--profile", &path]);
    check_refused(&named, 2, &["machine.toml", "made", "hocket tune"]);
    named[6] = "--no-profile";
    check_refused(&named[..7], 0, &[]);
    check_refused(&["tune", "--check", "--output", "nowhere.toml"], 2, &["nowhere.toml"]);
}

#[test]
fn records_without_anything_to_tune_by_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let records = folder.path().join("lab.sqlite").display().to_string();
    let profile = folder.path().join("m.toml").display().to_string();
    let tune = ["tune", "--from-records", "--records", &records, "--output", &profile];
    check_refused(&tune, 2, &["lab.sqlite"]);
    let lab = run(&["lab", "run", "aa", "--time", "1s", "--records", &records]);
    assert_eq!(lab.code, Some(0), "{}", lab.err);
    check_refused(&tune, 2, &["holds no run of siblings"]);
    assert!(!folder.path().join("m.toml").exists());
    let notes = folder.path().join("notes.txt");
    std::fs::write(&notes, "important").unwrap();
    let onto = notes.display().to_string();
    check_refused(&["tune", "--output", &onto], 2, &["notes.txt", "did not write", "--force"]);
    for (onto, word) in [(&onto, "Hocket did not write"), (&records, "this file is --records, too")]
    {
        let report = ["lab", "report", "--records", &records, "-o", onto];
        check_refused(&report, 2, &[word, "nothing was changed"]);
    }
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), "important");
    // A page takes the place of an older one.
    let page = folder.path().join("page.html").display().to_string();
    for _ in 0..2 {
        assert_eq!(run(&["lab", "report", "--records", &records, "-o", &page]).code, Some(0));
    }
    let nowhere = root().join("Cargo.toml/profile.toml").display().to_string();
    check_refused(&["tune", "--output", &nowhere], 3, &["Cargo.toml", "--output"]);
}
