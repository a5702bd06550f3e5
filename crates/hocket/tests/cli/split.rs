//! `hocket split`: the parts sound together as the whole, and what cannot be cut is refused with the reason.
//!
//! The network is played by hand here: what a part puts out is written to a file that begins as late as the network would
//! bring it, and this file is what host 0 hears. `devices/hosts.rs` does the same with JACK and two networks.

use std::path::{Path, PathBuf};

use hocket_media::{AudioWriter, FileFormat, WavFormat, decode};

use crate::support::{check_refused, example, files, run, session};

/// Two groups with sends from tracks and groups, before and after the fader, a lane on a send, and latency in one group.
const GROUPS: &str = r#"[session]
format = 2
sample_rate_hz = 44100
length_s = 1.5
[[track]]
name = "alone"
clip = [{ file = "loop.flac", start_s = 0.01 }]
send = [{ to = "hall", gain_db = -3 }]
[[track]]
name = "one"
output = "A"
clip = [{ file = "loop.flac" }]
send = [{ to = "hall", gain_db = -7, tap = "pre" }, { to = "room", gain_db = -5 }]
[[track.automation]]
send = "room"
parameter = "gain_db"
points = [[0, -20], [1, 0]]
[[track]]
name = "two"
output = "B"
clip = [{ file = "loop.flac", start_s = 0.1, gain_db = -2 }]
[[track.effect]]
kind = "limiter"
[[track]]
name = "three"
output = "inner"
pan = 0.3
clip = [{ file = "loop.flac", start_s = 0.2 }]
send = [{ to = "hall" }]
[[group]]
name = "A"
gain_db = -1
[[group]]
name = "B"
send = [{ to = "hall", gain_db = -9 }]
[[group]]
name = "inner"
output = "B"
send = [{ to = "room", tap = "pre" }]
[[return]]
name = "hall"
[[return.effect]]
kind = "fdn"
mix = 1
[[return]]
name = "room"
gain_db = -4
[master]
[[master.effect]]
kind = "compressor"
"#;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[track_caller]
fn succeeds(args: &[&str]) -> String {
    let ran = run(args);
    assert_eq!(ran.code, Some(0), "{args:?}\n{}", ran.err);
    ran.out + &ran.err
}

fn rows(path: &Path) -> Vec<Vec<f32>> {
    decode(path).unwrap().channels
}

/// Rendered, a part with what the others have put out.
fn rendered(file: &Path, out: &Path, more: &[&str]) -> Vec<Vec<f32>> {
    let fixed = ["render", text(file), "-o", text(out), "--format", "32f", "--length", "1.5"];
    succeeds(&[&fixed[..], more].concat());
    rows(out)
}

/// The sound behind so many frames of silence.
fn write_late(sound: &[Vec<f32>], frames: usize, rate_hz: u32, to: &Path) {
    let late = |row: &Vec<f32>| [vec![0.0; frames], row.clone()].concat();
    let (left, right) = (late(&sound[0]), late(&sound[1]));
    let (wav, floats) = (FileFormat::Wav, WavFormat::Float32);
    let mut writer = AudioWriter::create(to, wav, rate_hz, floats, left.len() as u64).unwrap();
    writer.write(&left, &right).unwrap();
    writer.finish().unwrap();
}

/// Lines of connections.txt that carry the first channel of a link: host, name, frames, strip.
fn links(folder: &Path) -> Vec<(usize, String, usize, String)> {
    let text = std::fs::read_to_string(folder.join("connections.txt")).unwrap();
    let fields = text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t'));
    let link = |mut fields: std::str::Split<'_, char>| {
        let host = fields.next()?.parse().unwrap();
        let name = fields.next()?.strip_prefix("hocket:")?.strip_suffix("_1")?.to_owned();
        let frames = fields.nth(2)?.parse().unwrap();
        let strip = fields.next()?.split('\'').nth(1)?.to_owned();
        Some((host, name, frames, strip))
    };
    fields.filter_map(link).collect()
}

/// Frames of a period, and of what the network and JACK take: two periods and one.
const PERIOD: usize = 128;
const NETWORK: usize = 3 * PERIOD;

/// The frame of the first sound.
fn first_sound(rows: &[Vec<f32>]) -> usize {
    let first = |row: &Vec<f32>| row.iter().position(|sample| *sample != 0.0);
    rows.iter().filter_map(first).min().expect("sound")
}

/// Cuts the session, plays the network by hand, and compares what host 0 puts out with a render of the whole.
#[track_caller]
fn check_same_bits(file: &Path, rate_hz: u32, hosts: usize) {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let whole = rendered(file, &at("whole.wav"), &[]);
    let cut = at("cut");
    let hosts_text = hosts.to_string();
    succeeds(&[
        "split",
        text(file),
        "--hosts",
        &hosts_text,
        "-o",
        text(&cut),
        "--frames",
        &PERIOD.to_string(),
    ]);
    for host in 1..hosts {
        let (part, stems) = (cut.join(format!("part-{host}.toml")), at(&format!("stems-{host}")));
        rendered(&part, &at(&format!("part-{host}.wav")), &["--stems", text(&stems)]);
    }
    let links = links(&cut);
    assert!(links.len() >= hosts - 1, "{links:?}");
    let mut inputs: Vec<String> = Vec::new();
    for (host, name, frames, strip) in &links {
        assert!(*frames >= NETWORK, "the network's part: {frames}");
        let sound = rows(&at(&format!("stems-{host}")).join(format!("{strip}.wav")));
        let late = at(&format!("{name}.wav"));
        // Stems are in time with their mix, which is as late as the latest of them.
        let of_host = links.iter().filter(|link| link.0 == *host).map(|link| link.2 - NETWORK);
        let with_mix = of_host.max().expect("this link");
        write_late(&sound, *frames - with_mix, rate_hz, &late);
        inputs.extend(["--input".to_owned(), format!("{name}={}", late.display())]);
    }
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    let joined = rendered(&cut.join("part-0.toml"), &at("joined.wav"), &inputs);
    assert_eq!(joined[0].len(), whole[0].len());
    let late = first_sound(&joined) - first_sound(&whole);
    let latest = links.iter().map(|link| link.2).max().expect("a link");
    assert!((1..=latest).contains(&late), "the song is {late} frames late");
    for (channel, (joined, whole)) in joined.iter().zip(&whole).enumerate() {
        let joined = &joined[late..];
        let differs = |(a, b): (&f32, &f32)| a.to_bits() != b.to_bits() && *a + *b != 0.0;
        let place = joined.iter().zip(whole).position(differs);
        assert_eq!(place, None, "channel {channel}, first frame that differs");
    }
}

#[test]
fn parts_of_groups_with_all_kinds_of_sends_sound_as_the_whole() {
    let (_folder, file) = session(GROUPS);
    check_same_bits(Path::new(&file), 44_100, 2);
    check_same_bits(Path::new(&file), 44_100, 3);
}

#[test]
fn parts_of_the_band_sound_as_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let band = example("band.toml");
    let audio = band.with_file_name("audio");
    let text = std::fs::read_to_string(&band).unwrap();
    let text = text.replace("\"audio/", &format!("\"{}/", audio.display()));
    // A reverb that moves by its own clock hears the song later on host 0.
    let still = text.replace("modulation_ms = 0.4", "modulation_ms = 0.0");
    assert!(still != text);
    let file = folder.path().join("band.toml");
    std::fs::write(&file, still).unwrap();
    check_same_bits(&file, 48_000, 2);
    check_same_bits(&file, 48_000, 4);
}

#[test]
fn each_part_is_a_session_without_mistakes_also_from_another_folder() {
    let folder = tempfile::tempdir().unwrap();
    let out: PathBuf = folder.path().join("deep/cut");
    std::fs::create_dir(folder.path().join("deep")).unwrap();
    let told = succeeds(&["split", text(&example("band.toml")), "--hosts", "3", "-o", text(&out)]);
    assert!(told.contains("host 0: ") && told.contains("estimated"), "{told}");
    let names = ["connections.txt", "host-0.sh", "host-1.sh", "host-2.sh"];
    assert_eq!(files(&out)[..4], names);
    for host in 0..3 {
        succeeds(&["check", text(&out.join(format!("part-{host}.toml")))]);
        let part = std::fs::read_to_string(out.join(format!("part-{host}.toml"))).unwrap();
        assert!(!part.contains("file = \"/"), "a path of this machine: {part}");
    }
    // Again, with fewer hosts: what is left over goes.
    succeeds(&["split", text(&example("band.toml")), "--hosts", "2", "-o", text(&out)]);
    assert!(!files(&out).iter().any(|name| name.contains('2')), "{:?}", files(&out));
}

#[test]
fn wrong_numbers_of_hosts_are_refused_with_the_right_ones() {
    let (folder, file) = session(GROUPS);
    let out = folder.path().join("cut");
    for hosts in ["0", "4", "99999999"] {
        let args = ["split", &file, "--hosts", hosts, "-o", text(&out)];
        check_refused(&args, 2, &["hosts are not possible", "ask for 2 to 3"]);
    }
    let one = ["split", &file, "--hosts", "1", "-o", text(&out)];
    check_refused(&one, 2, &["one host plays the session as it is", "ask for 2 to 3"]);
    assert!(!out.exists(), "nothing was written");
}

#[test]
fn sessions_that_cannot_be_cut_are_refused_with_the_reason() {
    let check = |text: &str, words: &[&str]| {
        let (folder, file) = session(text);
        let out = folder.path().join("cut").display().to_string();
        check_refused(&["split", &file, "--hosts", "2", "-o", &out], 2, words);
    };
    let track = |more: &str| format!("[[track]]\nname = \"one\"\noutput = \"A\"\n{more}\n");
    let group = "[[group]]\nname = \"A\"\n";
    check("[[track]]\nname = \"one\"\n", &["no group can leave host 0", "[[group]]"]);
    check(&(track("solo = true") + group), &["'one' is soloed", "mute instead"]);
    let looped = "[transport]\nloop_to = 2\nloop_from = 0\n";
    check(&(looped.to_owned() + &track("") + group), &["a loop", "take [transport] out"]);
    let live = "[[input]]\nname = \"mic\"\n".to_owned() + &track("input = \"mic\"") + group;
    check(&live, &["'A' stays", "'one' plays the input 'mic'"]);
    let key = "[[track.effect]]\nkind = \"compressor\"\nkey = \"two\"\n";
    let side = track(key) + "[[track]]\nname = \"two\"\n" + group;
    check(&side, &["'A' stays", "'compressor' of 'one' listens to 'two'"]);
    let back =
        track("send = [{ to = \"R\", feedback = true }]") + group + "[[return]]\nname = \"R\"\n";
    check(&back, &["'A' stays", "'one' feeds back to 'R'"]);
    let cue = track("") + group + "[[output]]\nname = \"cue\"\nfrom = \"one\"\n";
    check(&cue, &["'A' stays", "the output 'cue' takes from it"]);
}

#[test]
fn a_project_is_refused_with_the_way_to_a_session() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("cut");
    let project = example("pulse.dawproject");
    let args = ["split", text(&project), "--hosts", "2", "-o", text(&out)];
    check_refused(&args, 2, &["no session file", "hocket session convert"]);
}

#[test]
fn groups_that_hear_one_another_stay_together() {
    let more = "[[track]]\nname = \"four\"\noutput = \"A\"\n[[track.effect]]\nkind = \"compressor\"\nkey = \"two\"\n";
    let (folder, file) = session(&GROUPS.replacen("[[group]]", &format!("{more}[[group]]"), 1));
    let out = folder.path().join("cut");
    check_refused(&["split", &file, "--hosts", "3", "-o", text(&out)], 2, &["; ask for 2\n"]);
    let told = succeeds(&["split", &file, "--hosts", "2", "-o", text(&out)]);
    assert!(told.contains("A, B"), "{told}");
}

#[test]
fn a_folder_with_other_files_is_left_alone() {
    let (folder, file) = session(GROUPS);
    let before = files(folder.path());
    let args = ["split", &file, "--hosts", "2", "-o", text(folder.path())];
    check_refused(&args, 2, &["has not written", "nothing was changed"]);
    assert_eq!(files(folder.path()), before);
    let args = ["split", &file, "--hosts", "2", "-o", &file];
    check_refused(&args, 2, &["no folder", "nothing was changed"]);
}

#[test]
fn measured_costs_decide_where_a_table_knows_them() {
    let (folder, file) = session(GROUPS);
    let (costs, out) = (folder.path().join("costs.toml"), folder.path().join("cut"));
    let table = |name: &str| {
        format!(
            "format = \"hocket-costs/1\"\nframes = 64\nrate_hz = 44100\nmachine = \"mine\"\n\
             [[chain]]\nname = \"{name}: clips, pan\"\nkind = 0\nalone_ns = 5000000.0\n"
        )
    };
    let cut = || run(&["split", &file, "--hosts", "2", "-o", text(&out), "--costs", text(&costs)]);
    std::fs::write(&costs, table("one")).unwrap();
    let ran = cut();
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("the costs of 1 of 10 strips, measured on mine"), "{}", ran.err);
    assert!(ran.out.contains("measured"), "{}", ran.out);
    std::fs::write(&costs, table("nobody")).unwrap();
    let args = ["split", &file, "--hosts", "2", "-o", text(&out), "--costs", text(&costs)];
    check_refused(&args, 2, &["knows none of the session's", "hocket play"]);
}

#[test]
fn only_names_of_a_cut_are_removed_and_it_says_which() {
    let (folder, file) = session(GROUPS);
    let out = folder.path().join("cut");
    let cut = |hosts| ["split", &file, "--hosts", hosts, "-o", text(&out)];
    succeeds(&cut("3"));
    for copy in ["my-mix.toml", "part-00.toml", "part-.toml", "host-0.toml"] {
        std::fs::copy(out.join("part-0.toml"), out.join(copy)).unwrap();
        let before = files(&out);
        check_refused(&cut("2"), 2, &[copy, "has not written", "nothing was changed"]);
        assert_eq!(files(&out), before);
        std::fs::remove_file(out.join(copy)).unwrap();
    }
    let told = succeeds(&cut("2"));
    for gone in ["part-2.toml", "host-2.sh"] {
        assert!(told.contains(&format!("removed {}", out.join(gone).display())), "{told}");
        assert!(!out.join(gone).exists());
    }
}

#[test]
fn parts_that_a_killed_cut_left_keep_no_cut_out() {
    let (folder, file) = session(GROUPS);
    let out = folder.path().join("cut");
    let cut = ["split", &file, "--hosts", "2", "-o", text(&out)];
    succeeds(&cut);
    let before = files(&out);
    let dead = out.join(".part-1.toml.1234-0.part");
    std::fs::write(&dead, "half").unwrap();
    let told = succeeds(&cut);
    assert!(told.contains(&format!("removed {}", dead.display())), "{told}");
    assert_eq!(files(&out), before);
    // One that is written now, and one of something else, are foreign.
    let alive = hocket_files::OutputFile::create(&out.join("part-1.toml")).unwrap();
    check_refused(&cut, 2, &[".part-1.toml.", "has not written"]);
    drop(alive);
    std::fs::write(out.join(".mix.wav.1234-0.part"), "half").unwrap();
    check_refused(&cut, 2, &[".mix.wav.1234-0.part", "has not written"]);
}

#[test]
fn links_and_pipes_in_the_folder_are_foreign() {
    let (folder, file) = session(GROUPS);
    let (out, mine) = (folder.path().join("cut"), folder.path().join("mine.toml"));
    let cut = ["split", &file, "--hosts", "2", "-o", text(&out)];
    succeeds(&cut);
    let part = out.join("part-0.toml");
    std::fs::rename(&part, &mine).unwrap();
    let before = std::fs::read(&mine).unwrap();
    std::os::unix::fs::symlink(&mine, &part).unwrap();
    check_refused(&cut, 2, &["part-0.toml", "has not written"]);
    assert_eq!(std::fs::read(&mine).unwrap(), before);
    std::fs::remove_file(&part).unwrap();
    // Nobody writes to the pipe, so who opens it waits for ever.
    assert!(std::process::Command::new("mkfifo").arg(&part).status().unwrap().success());
    check_refused(&cut, 2, &["part-0.toml", "has not written"]);
}

#[test]
fn inputs_are_never_replaced() {
    let (folder, file) = session(GROUPS);
    let out = folder.path().join("cut");
    succeeds(&["split", &file, "--hosts", "3", "-o", text(&out)]);
    let (part, table) = (out.join("part-0.toml"), out.join("part-2.toml"));
    let before = std::fs::read(&part).unwrap();
    let over = ["split", text(&part), "--hosts", "3", "-o", text(&out)];
    check_refused(&over, 2, &["this file is the session, too", "nothing was changed"]);
    let costs = ["split", &file, "--hosts", "2", "-o", text(&out), "--costs", text(&table)];
    check_refused(&costs, 2, &["this file is --costs, too", "nothing was changed"]);
    assert_eq!(std::fs::read(&part).unwrap(), before);
    assert!(table.exists());
}

#[test]
fn a_part_is_not_cut_again() {
    let (folder, file) = session(GROUPS);
    let (out, again) = (folder.path().join("cut"), folder.path().join("again"));
    succeeds(&["split", &file, "--hosts", "2", "-o", text(&out)]);
    let words = ["cut already", "cut the whole session with more hosts"];
    for part in ["part-0.toml", "part-1.toml"] {
        let part = out.join(part);
        check_refused(&["split", text(&part), "--hosts", "2", "-o", text(&again)], 2, &words);
    }
    // Also without the mark.
    let part = std::fs::read_to_string(out.join("part-0.toml")).unwrap();
    let bare = out.join("bare.toml");
    std::fs::write(&bare, part.split_once('\n').unwrap().1).unwrap();
    check_refused(&["split", text(&bare), "--hosts", "2", "-o", text(&again)], 2, &words);
    assert!(!again.exists(), "nothing was written");
}

#[test]
fn an_address_is_one_word() {
    let (folder, file) = session(GROUPS);
    let out = folder.path().join("cut");
    let cut = |address| ["split", &file, "--hosts", "2", "-o", text(&out), "--address", address];
    for wrong in ["", "a b", "a\nreboot", "a\rb", "a\tb", "a\u{1b}b", "a\u{202e}b", "a\u{2028}b"] {
        check_refused(&cut(wrong), 2, &["an address has no spaces"]);
    }
    assert!(!out.exists(), "nothing was written");
    succeeds(&cut("a;$(reboot)"));
    let script = std::fs::read_to_string(out.join("host-1.sh")).unwrap();
    assert_eq!(script.matches("reboot").count(), 1, "{script}");
    assert!(script.contains("-a 'a;$(reboot)' "), "{script}");
}

#[test]
fn hidden_characters_of_names_are_seen_in_the_table() {
    let name = "A\u{202e}\u{2028}";
    let (folder, file) = session(&GROUPS.replace("\"A\"", &format!("\"{name}\"")));
    let out = folder.path().join("cut");
    succeeds(&["split", &file, "--hosts", "2", "-o", text(&out)]);
    succeeds(&["split", &file, "--hosts", "3", "-o", text(&out)]);
    let table = std::fs::read_to_string(out.join("connections.txt")).unwrap();
    assert!(table.contains("'A\\u{202e}\\u{2028}'"), "{table}");
    assert!(!table.contains(['\u{202e}', '\u{2028}']), "{table}");
}
