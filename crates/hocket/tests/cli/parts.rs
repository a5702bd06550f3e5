//! A part of a render has the samples of the whole, and stems add up to the mix.

use std::path::Path;

use crate::support::{check_refused, example, files, hocket, one_track, run, session};

/// Both rows of a render to `folder/name`, as floats.
fn rendered(session: &str, folder: &Path, name: &str, more: &[&str]) -> [Vec<f32>; 2] {
    let out = folder.join(name);
    let args = ["render", session, "-o", out.to_str().unwrap(), "--format", "32f"];
    let ran = run(&[&args[..], more].concat());
    assert_eq!(ran.code, Some(0), "{more:?}: {}", ran.err);
    rows(&out)
}

fn rows(path: &Path) -> [Vec<f32>; 2] {
    hocket_media::decode(path).unwrap().channels.try_into().unwrap()
}

#[test]
fn a_region_has_the_samples_of_the_whole_render() {
    let folder = tempfile::tempdir().unwrap();
    let band = example("band.toml");
    let band = band.to_str().unwrap();
    let whole = rendered(band, folder.path(), "whole.wav", &["--length", "4"]);
    let rate = 48_000.0;
    let check = |more: &[&str], from_s: f64, to_s: f64| {
        let part = rendered(band, folder.path(), "part.wav", more);
        let (from, to) = ((from_s * rate) as usize, (to_s * rate) as usize);
        for (part, whole) in part.iter().zip(&whole) {
            assert_eq!(part.len(), to - from, "{more:?}");
            assert!(part[..] == whole[from..to], "{more:?}");
        }
    };
    check(&["--from", "1.23", "--to", "2.5"], 1.23, 2.5);
    check(&["--from", "1.23", "--length", "0.5", "--frames", "777"], 1.23, 1.73);
    check(&["--to", "0.75"], 0.0, 0.75);
}

#[test]
fn a_region_may_begin_at_a_bar() {
    let (folder, file) = one_track("");
    let at = |more: &[&str]| rendered(&file, folder.path(), "part.wav", more);
    // 120 quarter notes per minute in 4/4: a bar lasts two seconds.
    let in_bars = at(&["--from", "1:1", "--to", "2:2"]);
    assert_eq!(in_bars, at(&["--from", "0", "--to", "2.5"]));
    assert_eq!(in_bars[0].len(), 110_250);
}

#[test]
fn a_region_that_is_not_there_is_refused() {
    let (folder, file) = one_track("");
    let out = folder.path().join("out.wav");
    let check = |more: &[&str], words: &[&str]| {
        let args = ["render", &file, "-o", out.to_str().unwrap()];
        check_refused(&[&args[..], more].concat(), 2, words);
        assert_eq!(files(folder.path()), ["loop.flac", "try.toml"]);
    };
    check(&["--from", "2", "--to", "1"], &["--to 1", "before --from"]);
    check(&["--from", "1", "--to", "1"], &["--to 1", "no frames"]);
    check(&["--from", "5000"], &["--from 5000", "the session ends before", "--to"]);
    check(&["--from", "-1"], &["--from -1", "0 to 1000000"]);
    check(&["--from", "1:5"], &["--from 1:5", "bar 1 has no beat 5"]);
    check(&["--from", "soon"], &["soon", "12.5", "9:1"]);
    check(&["--to", "1", "--length", "1"], &["--to", "--length"]);
}

/// Two tracks, of which one comes late through a limiter, a group and a return. Nothing behind their faders changes them.
const LINEAR: &str = "[session]\nsample_rate_hz = 44100\nlength_s = 2\n\
     [[track]]\nname = \"a/b\"\ngain_db = -9\nclip = [{ file = \"loop.flac\" }]\n\
     [[track.send]]\nto = \"hall\"\ngain_db = -6\n\
     [[track]]\nname = \"A_B\"\ngain_db = -12\npan = 0.3\noutput = \"sub\"\n\
     clip = [{ file = \"loop.flac\", start_s = 0.3, loop = true }]\n\
     [[group]]\nname = \"sub\"\ngain_db = -3\n[[group.effect]]\nkind = \"limiter\"\n\
     [[return]]\nname = \"hall\"\ngain_db = -2\n[[return.effect]]\nkind = \"fdn\"\nmix = 1\n";

#[test]
fn stems_add_up_to_the_mix_and_are_as_long() {
    let (folder, file) = session(LINEAR);
    let stems = folder.path().join("stems");
    let more = ["--stems", stems.to_str().unwrap()];
    let mix = rendered(&file, folder.path(), "mix.wav", &more);
    assert_eq!(files(&stems), ["A_B 2.wav", "a_b.wav", "hall.wav", "sub.wav"]);
    let stem = |name: &str| rows(&stems.join(name));
    let parts = ["a_b.wav", "sub.wav", "hall.wav"].map(stem);
    for channel in 0..2 {
        assert_eq!(mix[channel].len(), 88_200);
        assert!(mix[channel].iter().any(|x| x.abs() > 0.05), "the mix is silent");
        for (frame, mixed) in mix[channel].iter().enumerate() {
            let sum: f32 = parts.iter().map(|part| part[channel][frame]).sum();
            assert!((sum - mixed).abs() < 1e-6, "channel {channel}, frame {frame}: {sum} {mixed}");
        }
        assert!(parts.iter().all(|part| part[channel].iter().any(|x| x.abs() > 1e-3)));
        assert_eq!(stem("A_B 2.wav")[channel].len(), 88_200);
    }
    // A part of them is the part of the whole, also of what was late.
    let part = rendered(
        &file,
        folder.path(),
        "part.wav",
        &[&more[..], &["--from", "0.9", "--to", "1.4"]].concat(),
    );
    let (from, to) = (39_690, 61_740);
    assert!(part[0][..] == mix[0][from..to]);
    for (name, whole) in ["a_b.wav", "sub.wav", "hall.wav"].iter().zip(&parts) {
        assert!(stem(name)[1][..] == whole[1][from..to], "{name}");
    }
    // Without stems the mix has the same bits.
    assert!(rendered(&file, folder.path(), "alone.wav", &[]) == mix);
}

#[test]
fn stems_replace_nothing_of_others_and_leave_nothing_behind() {
    let (folder, file) = session(LINEAR);
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let render = |out: &str, stems: &str| {
        ["render", &file, "-o", out, "--stems", stems, "--length", "0.1"].map(str::to_owned)
    };
    let refused = |out: &str, stems: &str, code: i32, words: &[&str]| {
        let args = render(out, stems);
        check_refused(&args.each_ref().map(String::as_str), code, words);
    };
    let before = ["loop.flac", "try.toml"];
    refused(&at("out.wav"), &at("try.toml"), 2, &["--stems", "a file", "name a folder"]);
    refused(&at("out.wav"), &at("none/stems"), 3, &["none/stems", "cannot be written"]);
    assert_eq!(files(folder.path()), before);
    // The folder that was made goes again when the render fails.
    refused("/dev/full", &at("stems"), 3, &["/dev/full", "disk is full"]);
    assert_eq!(files(folder.path()), before);
    // A link that leads nowhere names the folder that is made.
    std::os::unix::fs::symlink("linked", at("link")).unwrap();
    let linked = render(&at("mix.wav"), &at("link"));
    let ran = run(&linked.each_ref().map(String::as_str));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(Path::new(&at("linked")).join("hall.wav").is_file(), "{}", ran.err);
    for name in ["link", "mix.wav"] {
        std::fs::remove_file(at(name)).unwrap();
    }
    std::fs::remove_dir_all(at("linked")).unwrap();
    std::fs::create_dir(at("stems")).unwrap();
    std::fs::write(at("stems/hall.wav"), "somebody's work").unwrap();
    refused(
        &at("out.wav"),
        &at("stems"),
        2,
        &["stems/hall.wav", "Hocket did not write", "--force"],
    );
    refused(&at("stems/sub.wav"), &at("stems"), 2, &["stems/sub.wav", "--output"]);
    assert_eq!(files(Path::new(&at("stems"))), ["hall.wav"]);
    let mut forced = render(&at("out.wav"), &at("stems")).to_vec();
    forced.push("--force".into());
    let forced: Vec<&str> = forced.iter().map(String::as_str).collect();
    assert!(hocket(&forced).status().unwrap().success());
    assert_eq!(files(Path::new(&at("stems"))).len(), 4);
    assert_eq!(rows(Path::new(&at("stems/hall.wav")))[0].len(), 4410);
}
