//! `hocket play` and `hocket devices` on a real jackd with its dummy driver.
//!
//! Each test has a server of its own. They take turns, because a machine holds only eight JACK servers.

#[allow(dead_code)]
#[path = "../../../hocket-devices/tests/jackd/mod.rs"]
mod jackd;
#[allow(dead_code)]
#[path = "../cli/pty.rs"]
mod pty;
#[allow(dead_code)]
#[path = "../cli/sentry.rs"]
mod sentry;
mod clock;
mod documented;
mod freewheel;
mod hosts;
mod inputs;
mod latency;
mod loopback;
mod others;
mod service;
mod startup;
mod strangers;
mod transport;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jackd::{Mode, REAL_TIME, Server, may_be_real_time, send, wait_until};
use serde_json::Value;

const RATE_HZ: u32 = 48_000;
const PARTIES: [&str; 4] = ["ours", "server", "machine", "unknown"];
/// A server that nobody starts.
const NOBODY: &str = "hocket-nobody";

fn alone() -> MutexGuard<'static, ()> {
    static STAGE: Mutex<()> = Mutex::new(());
    STAGE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn band() -> String {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join("sessions/band.toml").display().to_string()
}

/// The program, with this server as the usual one.
fn hocket(server: &str, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hocket"));
    command.args(args).stdin(Stdio::null());
    command.env("JACK_DEFAULT_SERVER", server).env("HOCKET_PROFILE", "none");
    command.env_remove("HOCKET_DEVICE");
    command
}

fn run(server: &str, args: &[&str]) -> Output {
    hocket(server, args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn json(output: &Output) -> Value {
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}\n{out}\n{err}"))
}

#[track_caller]
fn check(output: &Output, code: i32, words: &[&str]) {
    let told = text(&output.stderr) + &text(&output.stdout);
    assert_eq!(output.status.code(), Some(code), "{told}");
    assert!(!told.contains("panicked"), "{told}");
    for word in words {
        assert!(told.contains(word), "nothing about '{word}':\n{told}");
    }
}

/// What an offline render of the band has, by channel.
fn rendered(rate_hz: u32, seconds: &str) -> Vec<Vec<f32>> {
    rendered_of(&band(), rate_hz, seconds)
}

fn rendered_of(session: &str, rate_hz: u32, seconds: &str) -> Vec<Vec<f32>> {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("band.wav").display().to_string();
    let rate = rate_hz.to_string();
    let args = ["render", session, "-o", &out, "--format", "32f", "--rate", &rate];
    let output = run(NOBODY, &[&args[..], &["--length", seconds]].concat());
    check(&output, 0, &[]);
    hocket_media::decode(Path::new(&out)).unwrap().channels
}

fn first_sound(channels: &[Vec<f32>]) -> usize {
    let sounds = |row: &Vec<f32>| row.iter().position(|sample| *sample != 0.0);
    channels.iter().filter_map(sounds).min().expect("nothing but silence")
}

/// The recording has every frame of the render with the same bits, from its first frame on.
#[track_caller]
fn check_same_bits(recorded: &[Vec<f32>], rendered: &[Vec<f32>]) {
    let begin = first_sound(recorded).checked_sub(first_sound(rendered)).expect("a beginning");
    for (channel, (recorded, rendered)) in recorded.iter().zip(rendered).enumerate() {
        let recorded = &recorded[begin..];
        assert!(recorded.len() >= rendered.len(), "{} of {}", recorded.len(), rendered.len());
        let differs = |(a, b): (&f32, &f32)| a.to_bits() != b.to_bits();
        let place = recorded.iter().zip(rendered).position(differs);
        assert_eq!(place, None, "channel {channel}, first frame that differs");
    }
}

/// The ports of a strip have what a take of it records.
#[test]
fn groups_have_ports_of_their_own() {
    let _alone = alone();
    let test = "groups_have_ports_of_their_own";
    let Some(server) = Server::start(test, RATE_HZ, 128, Mode::WaitsForClients) else { return };
    let other = server.client("other", (10, 0), 60 * RATE_HZ as usize);
    let args = ["play", &band(), "--device", "jack", "--connect", "other", "--ports", "groups"];
    check(&run(&server.name, &[&args[..], &["--length", "3"]].concat()), 0, &["blocks"]);
    let heard = other.end();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let takes = [("master", "mix.wav"), ("Drums", "drums.wav"), ("Bass", "bass.wav")];
    let takes = takes.map(|(name, file)| format!("--take={name}={}", at(file)));
    let args = ["play", &band(), "--device", "virtual", "--length", "3", "--headless"];
    let takes: Vec<&str> = takes.iter().map(String::as_str).collect();
    check(&run(NOBODY, &[&args[..], &takes[..]].concat()), 0, &[]);
    let begin = first_sound(&heard[..2]) - first_sound(&rendered(RATE_HZ, "3"));
    // The band's groups are Drums, Bass, Guitars and Keys, and Voices.
    for (file, first) in [("mix.wav", 0), ("drums.wav", 2), ("bass.wav", 4)] {
        let written = hocket_media::decode(Path::new(&at(file))).unwrap().channels;
        let heard: Vec<Vec<f32>> =
            heard[first..first + 2].iter().map(|row| row[begin..].to_vec()).collect();
        assert!(written[0].iter().any(|sample| *sample != 0.0), "{file}");
        check_same_bits(&heard, &written);
    }
}

/// Plays three seconds of the band into another client.
fn plays_what_render_writes(test: &str, rate_hz: u32, frames: u32) {
    let _alone = alone();
    let Some(server) = Server::start(test, rate_hz, frames, Mode::WaitsForClients) else { return };
    let other = server.client("other", (2, 0), 60 * rate_hz as usize);
    let args =
        ["play", &band(), "--device", "jack", "--connect", "other", "--length", "3", "--json"];
    let output = run(&server.name, &args);
    check(&output, 0, &["latency: out", "blocks"]);
    let told = json(&output);
    assert_eq!(told["device"], "jack");
    assert_eq!((&told["rate_hz"], &told["frames"]), (&rate_hz.into(), &frames.into()));
    assert!(told["frames_played"].as_u64().unwrap() >= 3 * u64::from(rate_hz), "{told:#}");
    assert_eq!(told["threads"][0]["name"], "leader");
    assert_eq!(told["device_ended"], Value::Null);
    check_same_bits(&other.end(), &rendered(rate_hz, "3"));
}

#[test]
fn another_client_hears_what_render_writes_at_64_frames() {
    plays_what_render_writes("another_client_hears_what_render_writes_at_64_frames", RATE_HZ, 64);
}

#[test]
fn another_client_hears_what_render_writes_at_256_frames() {
    plays_what_render_writes("another_client_hears_what_render_writes_at_256_frames", RATE_HZ, 256);
}

/// The leader is the server's thread, and the workers sit just below it.
#[test]
fn real_time_threads_of_the_server_play_what_render_writes_at_64_frames() {
    const TEST: &str = "real_time_threads_of_the_server_play_what_render_writes_at_64_frames";
    let _alone = alone();
    if !may_be_real_time() {
        println!("SKIPPED {TEST}: the system grants no real-time priority of {REAL_TIME}");
        return;
    }
    let Some(server) = Server::start(TEST, RATE_HZ, 64, Mode::RealTime) else { return };
    let other = server.client("other", (2, 0), 60 * RATE_HZ as usize);
    let play = ["play", &band(), "--device", "jack", "--connect", "other", "--length", "3"];
    let output = run(&server.name, &[&play[..], &["--json", "--schedule", "dataflow"]].concat());
    check(&output, 0, &["latency: out"]);
    let told = json(&output);
    let clients = REAL_TIME - 5;
    for (number, thread) in told["threads"].as_array().unwrap().iter().enumerate() {
        let priority = if number == 0 { clients } else { clients - 1 };
        assert_eq!(thread["class_got"], format!("SCHED_FIFO {priority}"), "{told:#}");
    }
    assert_eq!(told["workers"], told["threads"].as_array().unwrap().len());
    check_same_bits(&other.end(), &rendered(RATE_HZ, "3"));
}

#[test]
fn a_session_is_converted_to_the_rate_of_the_server() {
    plays_what_render_writes("a_session_is_converted_to_the_rate_of_the_server", 44_100, 128);
}

#[test]
fn other_block_lengths_of_the_server_change_no_bit() {
    const NAME: &str = "other_block_lengths_of_the_server_change_no_bit";
    let _alone = alone();
    let Some(server) = Server::start(NAME, RATE_HZ, 256, Mode::WaitsForClients) else { return };
    let other = server.client("other", (2, 0), 60 * RATE_HZ as usize);
    let args =
        ["play", &band(), "--device", "jack", "--connect", "other", "--length", "4", "--json"];
    let mut command = hocket(&server.name, &args);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("sound", || other.has_heard());
    let begin = other.length();
    // Shorter than the engine's blocks, and longer than they were.
    for (frames, more) in [("64", RATE_HZ as usize / 2), ("1024", RATE_HZ as usize)] {
        wait_until("the recording", || other.length() >= begin + more);
        match server.tool("jack_bufsize", &[frames]) {
            Some(done) => assert!(done, "jack_bufsize {frames}"),
            None => println!("SKIPPED {NAME}, {frames} frames: no jack_bufsize"),
        }
    }
    let output = child.wait_with_output().unwrap();
    check(&output, 0, &[]);
    let blocks = json(&output)["blocks"].as_u64().unwrap();
    assert!(blocks > 4 * u64::from(RATE_HZ) / 1024, "{blocks} blocks of 1024 frames at most");
    check_same_bits(&other.end(), &rendered(RATE_HZ, "4"));
}

/// When the server changes its block length, the result names both lengths and the latency of the new one.
#[test]
fn another_block_length_of_the_server_is_told_with_its_latency() {
    const NAME: &str = "another_block_length_of_the_server_is_told_with_its_latency";
    let _alone = alone();
    let Some(server) = Server::start(NAME, RATE_HZ, 64, Mode::Usual) else { return };
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log.jsonl");
    let args = ["play", &band(), "--device", "jack", "--length", "600", "--log"];
    let mut command = hocket(&server.name, &[&args[..], &[log.to_str().unwrap()]].concat());
    if server.tool("jack_bufsize", &["64"]).is_none() {
        return println!("SKIPPED {NAME}: no jack_bufsize");
    }
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let logged = || std::fs::read_to_string(&log).unwrap_or_default();
    wait_until("the start", || logged().contains("\"event\":\"start\""));
    let lines = || logged().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let at_start = Vec::<Value>::remove(&mut lines(), 0)["latency"]["out_frames"].clone();
    // A change before the first cycle would be the beginning.
    let listed = || text(&run(&server.name, &["devices"]).stdout).contains("64 frames");
    wait_until("the server", listed);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(server.tool("jack_bufsize", &["512"]), Some(true), "jack_bufsize");
    wait_until("the latency", || logged().contains("\"event\":\"latency\""));
    send(child.id(), "-INT");
    let output = child.wait_with_output().unwrap();
    check(&output, 130, &["blocks of 64, 512 frames"]);
    let all: Vec<Value> = lines();
    assert!(all.iter().any(|line| line["device_frames"] == 512), "{all:#?}");
    let latency = all.iter().rfind(|line| line["event"] == "latency").unwrap();
    let now = latency["latency"]["out_frames"].as_u64().unwrap();
    assert!(now > at_start.as_u64().unwrap(), "{latency:#} {at_start}");
    let told = text(&output.stdout);
    assert!(told.contains(&format!("({now} frames)")), "{now}: {told}");
}

/// A play that records a take, and runs until something ends it.
struct Playing {
    child: Child,
    _folder: tempfile::TempDir,
    take: PathBuf,
}

impl Playing {
    fn start(server: &Server) -> Playing {
        Playing::start_with(server, &[])
    }

    fn start_with(server: &Server, more: &[&str]) -> Playing {
        let folder = tempfile::tempdir().unwrap();
        let take = folder.path().join("take.wav");
        let arg = format!("master={}", take.display());
        let args =
            ["play", &band(), "--device", "jack", "--length", "600", "--json", "--take", &arg];
        let mut command = hocket(&server.name, &[&args[..], more].concat());
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let playing = Playing { child, _folder: folder, take };
        let size = || std::fs::metadata(&playing.take).map_or(0, |facts| facts.len());
        wait_until("the take", || size() > 200_000);
        playing
    }

    /// How it ended; the take is whole, and as long as what was played.
    fn end(self, code: i32, words: &[&str]) -> Value {
        let Playing { child, _folder, take } = self;
        let output = child.wait_with_output().unwrap();
        check(&output, code, words);
        let told = json(&output);
        assert_eq!(told["takes"][0]["whole"], true, "{told:#}");
        let frames = hocket_media::decode(&take).unwrap().frames() as u64;
        assert!(frames > 0 && told["frames_played"] == frames, "{frames}: {told:#}");
        told
    }
}

#[test]
fn the_end_of_the_server_ends_the_play_and_loses_nothing() {
    const NAME: &str = "the_end_of_the_server_ends_the_play_and_loses_nothing";
    let _alone = alone();
    for signal in ["-TERM", "-KILL"] {
        let Some(mut server) = Server::start(NAME, RATE_HZ, 64, Mode::Usual) else { return };
        let playing = Playing::start(&server);
        server.end(signal);
        let told =
            playing.end(3, &["the JACK server", &server.name, "has ended", "start it again"]);
        assert!(told["device_ended"].as_str().unwrap().contains("has ended"), "{signal}: {told:#}");
    }
    // The next server removes what the killed one has left in shared memory.
    drop(Server::start(NAME, RATE_HZ, 64, Mode::Usual));
}

/// The play does not wait for a server that comes back. The next one asks the server anew.
#[test]
fn a_killed_server_that_comes_back_with_another_rate_plays_at_that_rate() {
    const NAME: &str = "a_killed_server_that_comes_back_with_another_rate_plays_at_that_rate";
    const OTHER_HZ: u32 = 44_100;
    let _alone = alone();
    let Some(mut server) = Server::start(NAME, RATE_HZ, 64, Mode::Usual) else { return };
    let playing = Playing::start(&server);
    server.end("-KILL");
    server.start_again(OTHER_HZ, 256, Mode::WaitsForClients);
    let told = playing.end(3, &["the JACK server", &server.name, "has ended", "start it again"]);
    assert_eq!(told["rate_hz"], RATE_HZ, "{told:#}");

    let other = server.client("other", (2, 0), 60 * OTHER_HZ as usize);
    let args = ["play", &band(), "--device", "jack", "--connect", "other", "--length", "2"];
    let output = run(&server.name, &[&args[..], &["--json"]].concat());
    check(&output, 0, &["latency: out"]);
    let told = json(&output);
    assert_eq!((&told["rate_hz"], &told["frames"]), (&OTHER_HZ.into(), &256.into()), "{told:#}");
    check_same_bits(&other.end(), &rendered(OTHER_HZ, "2"));
}

#[test]
fn signals_end_the_play_and_lose_nothing() {
    const NAME: &str = "signals_end_the_play_and_lose_nothing";
    let _alone = alone();
    let Some(server) = Server::start(NAME, RATE_HZ, 256, Mode::Usual) else { return };
    for signal in ["-INT", "-TERM"] {
        let playing = Playing::start(&server);
        send(playing.child.id(), signal);
        let told = playing.end(130, &[]);
        assert_eq!((&told["interrupted"], &told["device_ended"]), (&true.into(), &Value::Null));
    }
    assert!(server.tool("jack_lsp", &[]).unwrap_or(true), "the server goes on");
}

#[test]
fn a_server_that_does_not_answer_is_left_all_the_same() {
    const NAME: &str = "a_server_that_does_not_answer_is_left_all_the_same";
    let _alone = alone();
    let Some(server) = Server::start(NAME, RATE_HZ, 256, Mode::Usual) else { return };
    let playing = Playing::start(&server);
    let told = server.while_it_stands(|| {
        send(playing.child.id(), "-INT");
        playing.end(130, &["does not answer while Hocket leaves it"])
    });
    assert_eq!(told["interrupted"], Value::Bool(true), "{told:#}");
}

/// After a stop the server's own count of frames leaps by far more than has passed, and its clock is wrong for seconds.
#[test]
fn a_server_that_stood_still_skipped_the_periods_that_passed_and_no_more() {
    const NAME: &str = "a_server_that_stood_still_skipped_the_periods_that_passed_and_no_more";
    const STOPS: u64 = 3;
    const STOP: Duration = Duration::from_millis(300);
    let _alone = alone();
    let Some(server) = Server::start(NAME, RATE_HZ, 64, Mode::Usual) else { return };
    let begun = Instant::now();
    let playing = Playing::start(&server);
    for _ in 0..STOPS {
        server.pause(STOP);
        std::thread::sleep(Duration::from_millis(100));
    }
    send(playing.child.id(), "-INT");
    let told = playing.end(130, &[]);
    let period = Duration::from_nanos(64_000_000_000 / u64::from(RATE_HZ));
    let periods = |time: Duration| (time.as_nanos() / period.as_nanos()) as u64;
    let of = |what: &str| told[what].as_u64().unwrap();
    // The first cycle after a stop is late and not skipped, and the next one begins at once.
    let least = STOPS * (periods(STOP) - 2);
    assert!(of("skipped") + of("late") >= least, "{least}: {told:#}");
    let most = periods(begun.elapsed()) + STOPS;
    assert!(of("blocks") + of("skipped") <= most, "{most}: {told:#}");
}

#[test]
fn a_slow_client_is_told_as_xruns() {
    const NAME: &str = "a_slow_client_is_told_as_xruns";
    let _alone = alone();
    let Some(server) = Server::start(NAME, RATE_HZ, 256, Mode::Usual) else { return };
    let other = server.client("other", (1, 0), 0);
    other.sleep_in_cycles(Duration::from_millis(40));
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log.jsonl");
    let args = ["play", &band(), "--device", "jack", "--length", "0.5", "--json", "--log"];
    let output = run(&server.name, &[&args[..], &[log.to_str().unwrap()]].concat());
    check(&output, 0, &[]);
    let told = json(&output);
    let of = |who: &str| told["xruns"][who].as_u64().unwrap();
    assert!(PARTIES.map(of).iter().sum::<u64>() > 0, "{told:#}");

    let log = std::fs::read_to_string(&log).unwrap();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["device"], "jack");
    let xruns: Vec<&Value> = lines.iter().filter(|line| line["event"] == "xrun").collect();
    // Nobody else knows that the other client sleeps: only a late block of ours can say otherwise.
    for line in xruns.iter().filter(|line| line["block"].is_null()) {
        assert_eq!(line["whose"], "server", "{line:#}");
    }
    for party in PARTIES {
        let its = xruns.iter().filter(|line| line["whose"] == party);
        let logged: u64 = its.map(|line| line["count"].as_u64().unwrap()).sum();
        assert_eq!(logged, of(party), "{party}: {log}");
    }
}

#[test]
fn the_server_decides_rate_and_block_length() {
    const NAME: &str = "the_server_decides_rate_and_block_length";
    let _alone = alone();
    let Some(server) = Server::start(NAME, RATE_HZ, 256, Mode::Usual) else { return };
    let play = |more: &[&str]| {
        run(&server.name, &[&["play", &band(), "--length", "0.2"][..], more].concat())
    };
    check(&play(&["--device", "jack", "--rate", "44100"]), 3, &["48000 Hz", "leave out --rate"]);
    check(&play(&["--device", "jack", "--frames", "64"]), 3, &["256 frames", "jack_bufsize 64"]);
    check(&play(&["--device", "jack", "--client", "a:b"]), 2, &["--client", "without a colon"]);
    check(&play(&["--device", "jack", "--connect", "gone"]), 3, &["--connect gone", "system"]);
    let same = ["--rate", "48000", "--frames", "256", "--connect", "no", "--client", "mine"];
    check(&play(&same), 0, &["out unknown", "mine:main_1, mine:main_2", "xruns: "]);
    // The best device that is there.
    check(
        &play(&["-v"]),
        0,
        &["plays on jack", "hocket:main_1 -> system:playback_1", "latency: out"],
    );
    check(&play(&["--device", "virtual"]), 0, &["misses"]);
    let listed = run(&server.name, &["devices"]);
    check(&listed, 0, &[&server.name, "48000 Hz, blocks of 256 frames", "latency out", "virtual"]);
    let listed = json(&run(&server.name, &["devices", "--json"]));
    assert_eq!(listed["devices"][0]["server"]["ports_that_play"], 2, "{listed:#}");
}

#[test]
fn without_a_server_the_virtual_device_plays_and_says_why() {
    let _alone = alone();
    let play = ["play", &band(), "--length", "0.2"];
    let missing = [NOBODY, "start one"];
    let library = jackd::sentry::Library::load();
    if let Err(why) = library {
        return println!("SKIPPED without_a_server_the_virtual_device_plays_and_says_why: {why}");
    }
    check(&run(NOBODY, &play), 0, &[&missing[..], &["plays on the virtual device"]].concat());
    check(&run(NOBODY, &[&play[..], &["--device", "jack"]].concat()), 3, &missing);
    check(&run(NOBODY, &["devices"]), 0, &[&missing[..], &["not there", "alsa"]].concat());
    let listed = json(&run(NOBODY, &["devices", "--json"]));
    assert_eq!(listed["devices"][0]["there"], false, "{listed:#}");
    let is_virtual = |device: &&Value| device["name"] == "virtual";
    let found = listed["devices"].as_array().unwrap().iter().find(is_virtual).unwrap();
    assert_eq!(found["there"], true, "{listed:#}");
}

#[test]
fn without_the_library_the_virtual_device_plays_and_says_why() {
    let _alone = alone();
    // The loader finds these first, and they are no libraries.
    let folder = tempfile::tempdir().unwrap();
    for name in ["libjack.so.0", "libjack.so"] {
        std::fs::write(folder.path().join(name), "no library").unwrap();
    }
    let run = |args: &[&str]| {
        hocket(NOBODY, args).env("LD_LIBRARY_PATH", folder.path()).output().unwrap()
    };
    let missing = ["no JACK library: ", "libjack", "install it"];
    let play = ["play", &band(), "--length", "0.2"];
    check(&run(&play), 0, &[&missing[..], &["plays on the virtual device"]].concat());
    check(&run(&[&play[..], &["--device", "jack"]].concat()), 3, &missing);
    check(&run(&["devices"]), 0, &missing);
}
