//! Takes of an input, where what Hocket plays comes back to it: as through a card whose output is connected to its input.
//!
//! In JACK a client's cycle reads what another one wrote in the cycle before, where the two are connected in a circle. So the way
//! round is the card's own delay and a block.

#[path = "sentry/card.rs"]
mod card;

use std::path::Path;
use std::process::Stdio;

use card::Card;
use serde_json::Value;

use super::jackd::{Mode, Server, send, wait_until};
use super::{RATE_HZ, alone, check, hocket, json, run};

/// A song of noise through a limiter, which delays it by 96 frames. Nothing plays the input.
const SESSION: &str = "[session]\nsample_rate_hz = 48000\nlength_s = 2\n[[input]]\nname = \"mic\"\nchannels = 1\n\
                       [[track]]\nname = \"one\"\nclip = [{ file = \"noise.wav\" }]\n\
                       [master]\n[[master.effect]]\nkind = \"limiter\"\n\
                       [[take]]\ninput = \"mic\"\nfile = \"mic.wav\"\n\
                       [[take]]\ninput = \"mic\"\nfile = \"moved.wav\"\noffset_frames = 7\n\
                       [[take]]\ninput = \"mic\"\nfile = \"late.wav\"\nalign = \"none\"\n\
                       [[take]]\nfrom = \"master\"\nfile = \"song.wav\"\nalign = \"song\"\n";
const LIMITER: usize = 96;

/// A folder with the session and its sound.
fn session() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let layout = hocket_media::WavLayout {
        samples: hocket_media::WavFormat::Float32,
        sample_rate_hz: RATE_HZ,
        channels: 1,
    };
    let frames = 4 * u64::from(RATE_HZ);
    let mut bytes = layout.header(frames);
    let mut state = 1_u32;
    let noise = (0..frames).map(|_| {
        // A linear congruential generator (Numerical Recipes), of which the upper bits are good.
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 25) as f32 - 0.25
    });
    layout.encode(noise, &mut bytes, &mut hocket_media::Written::default());
    std::fs::write(folder.path().join("noise.wav"), bytes).unwrap();
    let file = folder.path().join("song.toml");
    std::fs::write(&file, SESSION).unwrap();
    (folder, file.display().to_string())
}

fn decoded(folder: &Path, name: &str) -> Vec<Vec<f32>> {
    hocket_media::decode(&folder.join(name)).unwrap().channels
}

#[track_caller]
fn check_equal(what: &str, recorded: &[f32], song: &[f32]) {
    let differs = |(a, b): (&f32, &f32)| a.to_bits() != b.to_bits();
    let place = recorded.iter().zip(song).position(differs);
    assert_eq!(place, None, "{what}: the first frame that differs");
}

fn manifest(folder: &Path, name: &str) -> toml::Table {
    let text = std::fs::read_to_string(folder.join(format!("{name}.take.toml"))).unwrap();
    text.parse().unwrap()
}

/// The take of the input is the song, frame by frame and from the song's first frame to its last one.
fn a_take_is_in_time_with_the_song(test: &str, frames: u32, latency: [u32; 2], more: &[&str]) {
    let _alone = alone();
    let Some(server) = Server::start(test, RATE_HZ, frames, Mode::WaitsForClients) else { return };
    let round = latency[0] + latency[1];
    let card = Card::open(&server.name, (round - frames) as usize, latency);
    let (folder, session) = session();
    let args = ["play", &session, "--device", "jack", "--connect", "card", "--json", "-v"];
    let output = run(&server.name, &[&args[..], more].concat());
    drop(card);
    check(&output, 0, &["hocket:main_1 -> card:in_1", "card:out_1 -> hocket:mic_1"]);
    let told = json(&output);
    let shown = format!("{:#}", told["takes"]);

    let all = 2 * RATE_HZ as usize;
    let song = decoded(folder.path(), "song.wav");
    let late = round as usize + LIMITER;
    for (name, dropped) in [("mic.wav", late), ("moved.wav", late + 7), ("late.wav", 0)] {
        let recorded = &decoded(folder.path(), name)[0];
        assert_eq!((recorded.len(), song[0].len()), (all, all), "{shown}");
        match dropped >= late {
            true => {
                let (moved, rest) = (dropped - late, all - (dropped - late));
                check_equal(name, &recorded[..rest], &song[0][moved..]);
                assert!(recorded[rest..].iter().any(|sample| *sample != 0.0) || moved == 0);
            }
            false => {
                assert!(recorded[..late].iter().all(|sample| *sample == 0.0), "{name}");
                check_equal(name, &recorded[late..], &song[0]);
            }
        }
        let notes = manifest(folder.path(), name);
        let number = |key: &str| notes.get(key).and_then(toml::Value::as_integer).unwrap_or(0);
        let left = late.saturating_sub(dropped) as i64;
        assert_eq!((number("dropped_frames"), number("latency_frames")), (dropped as i64, left));
    }
    assert!(
        song[0].iter().all(|sample| sample.is_finite()) && song[0][100..1000] != song[0][200..1100]
    );
    let aligned = &told["takes"][0]["aligned"];
    let number = |key: &str| aligned[key].as_u64().unwrap();
    assert_eq!([number("out_frames"), number("in_frames")], latency.map(u64::from), "{shown}");
    assert_eq!((number("session_frames"), number("frames")), (LIMITER as u64, late as u64));
    assert_eq!((number("short_frames"), &aligned["to"]), (0, &"song".into()), "{shown}");
    assert_eq!(aligned["latency_changed"], Value::Null, "{shown}");
    assert_eq!(told["takes"][3]["aligned"]["frames"], LIMITER, "{shown}");
}

#[test]
fn a_take_is_in_time_with_the_song_at_64_frames() {
    const NAME: &str = "a_take_is_in_time_with_the_song_at_64_frames";
    a_take_is_in_time_with_the_song(NAME, 64, [640, 129], &[]);
}

/// A controller may stop and move the song, so its length is not known before it has ended.
#[test]
fn a_take_is_in_time_with_a_song_that_may_be_steered() {
    const NAME: &str = "a_take_is_in_time_with_a_song_that_may_be_steered";
    a_take_is_in_time_with_the_song(NAME, 64, [640, 129], &["--osc", "0"]);
}

#[test]
fn a_take_is_in_time_with_the_song_at_1024_frames() {
    const NAME: &str = "a_take_is_in_time_with_the_song_at_1024_frames";
    a_take_is_in_time_with_the_song(NAME, 1024, [2048, 1031], &[]);
}

/// Nothing is moved within a take. What was left out at the start is missing at the end of one that is interrupted.
#[test]
fn a_latency_that_changes_meanwhile_is_told_and_moves_nothing() {
    const NAME: &str = "a_latency_that_changes_meanwhile_is_told_and_moves_nothing";
    let _alone = alone();
    let Some(server) = Server::start(NAME, RATE_HZ, 64, Mode::WaitsForClients) else { return };
    let card = Card::open(&server.name, 700 - 64, [500, 200]);
    let (folder, session) = session();
    let log = folder.path().join("log.jsonl");
    let logged = || std::fs::read_to_string(&log).unwrap_or_default();
    let args =
        ["play", &session, "--device", "jack", "--connect", "card", "--length", "600", "--log"];
    let mut command = hocket(&server.name, &[&args[..], &[log.to_str().unwrap()]].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let size = || std::fs::metadata(folder.path().join("mic.wav")).map_or(0, |facts| facts.len());
    wait_until("the take", || size() > 100_000);
    card.set_latency([900, 300]);
    wait_until("the latency", || logged().contains("\"event\":\"latency\""));
    send(child.id(), "-INT");
    let output = child.wait_with_output().unwrap();
    drop(card);
    let late = 700 + LIMITER;
    let words = format!(
        "{late} frames left out at its start to be in time with the song (out 500, in 200, effects 96), and {late} frames \
         shorter for that, because the play ended before they came in"
    );
    let changed =
        "the latency changed meanwhile to out 900 frames, in 300 frames: nothing was moved";
    check(&output, 130, &[&words, changed]);
    let (song, mic) =
        (&decoded(folder.path(), "song.wav")[0], &decoded(folder.path(), "mic.wav")[0]);
    // The song's own delay is left out there, too.
    assert_eq!(mic.len() + 700, song.len());
    check_equal("mic.wav", mic, song);

    let lines: Vec<Value> =
        logged().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (first, last) = (&lines[0]["takes"][0], &lines[lines.len() - 1]["takes"][0]);
    assert_eq!((&first["bus"], &first["aligned"]["frames"]), (&"mic".into(), &late.into()));
    let aligned = &last["aligned"];
    assert_eq!((&aligned["frames"], &aligned["short_frames"]), (&late.into(), &late.into()));
    assert_eq!(aligned["latency_changed"]["out_frames"], 900, "{last:#}");
    // What is as it arrives, and what a strip put out, have nothing to do with it.
    let takes = lines[lines.len() - 1]["takes"].as_array().unwrap();
    assert!(
        takes[2..].iter().all(|take| take["aligned"]["latency_changed"].is_null()),
        "{takes:#?}"
    );
}

#[test]
fn a_take_of_an_input_that_nothing_is_connected_to_leaves_nothing_out_and_says_so() {
    const NAME: &str =
        "a_take_of_an_input_that_nothing_is_connected_to_leaves_nothing_out_and_says_so";
    let _alone = alone();
    let Some(server) = Server::start(NAME, RATE_HZ, 256, Mode::WaitsForClients) else { return };
    let (folder, session) = session();
    let args = ["play", &session, "--device", "jack", "--connect", "no", "--length", "0.5"];
    let output = run(&server.name, &args);
    let why = "because nothing is connected to the outputs";
    let warned = format!("warning: take mic: its latency is unknown, {why}");
    check(&output, 0, &[&warned, &format!("24000 frames, nothing left out for latency, {why}")]);
    assert_eq!(decoded(folder.path(), "mic.wav")[0].len(), 24_000);
}
