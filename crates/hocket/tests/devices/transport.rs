//! `hocket play --transport jack`: the song is where the server's transport is, to the frame, and keys and OSC ask the server.
//!
//! Beside Hocket, a client that shares no code with it hears the song and sees the transport. JACK's own `jack_transport`
//! moves it where that is installed.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::JoinHandle;

use hocket_media::{AudioWriter, FileFormat, WavFormat};
use rosc::{OscMessage, OscPacket, OscType};
use serde_json::Value;

use super::jackd::sentry::{OtherClient, ROLLING, STOPPED, SongCycle};
use super::jackd::{Mode, Server, wait_until};
use super::pty::{Pty, end, missing};
use super::{NOBODY, RATE_HZ, alone, check, hocket, run, text};

/// A file of this length plays from the disk.
pub(super) const LONG: usize = 481_000;
/// Frames that the other client records.
pub(super) const ROOM: usize = 60 * RATE_HZ as usize;

/// A session of one clip of so many frames, which begins at frame 72000 and never has the same samples again; and the same
/// session with a loop.
pub(super) struct OneClip {
    _folder: tempfile::TempDir,
    pub(super) file: String,
    pub(super) looped: String,
}

impl OneClip {
    pub(super) fn new(frames: usize) -> OneClip {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("clip.wav");
        let (wav, floats) = (FileFormat::Wav, WavFormat::Float32);
        let mut writer = AudioWriter::create(&path, wav, RATE_HZ, floats, frames as u64).unwrap();
        writer.write(&noise(frames, 1), &noise(frames, 2)).unwrap();
        writer.finish().unwrap();
        let write = |name: &str, more: &str| {
            let session = format!(
                "[session]\nformat = 2\nname = \"known\"\nsample_rate_hz = {RATE_HZ}\n\n{more}\
                 [[track]]\nname = \"one\"\nclip = [{{ file = \"clip.wav\", start_s = 1.5 }}]\n"
            );
            let file = folder.path().join(name);
            std::fs::write(&file, session).unwrap();
            file.display().to_string()
        };
        let file = write("known.toml", "");
        let looped = write("looped.toml", "[transport]\nloop_from = 0\nloop_to = 2\n\n");
        OneClip { _folder: folder, file, looped }
    }
}

/// Never zero, so that silence is not mistaken for sound.
fn noise(frames: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    let sample = |_| {
        // Knuth's MMIX.
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        0.01 + 0.2 * (state >> 40) as f32 / (1u64 << 24) as f32
    };
    (0..frames).map(sample).collect()
}

/// What an offline render has, by channel, from the song's start on.
pub(super) fn rendered(file: &str, rate_hz: u32) -> Vec<Vec<f32>> {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.wav").display().to_string();
    let rate = rate_hz.to_string();
    check(&run(NOBODY, &["render", file, "-o", &out, "--format", "32f", "--rate", &rate]), 0, &[]);
    hocket_media::decode(Path::new(&out)).unwrap().channels
}

/// A run that follows, and prints an object each second.
pub(super) struct Following {
    child: Child,
    out: BufReader<ChildStdout>,
    messages: JoinHandle<String>,
    socket: UdpSocket,
}

impl Following {
    /// Starts it, and waits until it plays.
    fn start(server: &Server, file: &str, more: &[&str]) -> Following {
        let args = ["--transport", "jack", "--connect", "other"];
        Following::start_with(server, file, &[&args[..], more].concat())
    }

    /// The same with another transport, or connected to others.
    pub(super) fn start_with(server: &Server, file: &str, more: &[&str]) -> Following {
        let args = ["play", file, "--device", "jack", "--headless", "--json", "--osc", "0"];
        let mut command = hocket(&server.name, &[&args[..], more].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (mut err, mut begin) = (BufReader::new(child.stderr.take().unwrap()), String::new());
        let port = loop {
            let before = begin.len();
            assert!(err.read_line(&mut begin).unwrap() > 0, "it names no port: {begin}");
            if let Some((_, port)) = begin[before..].split_once("listens for OSC on 127.0.0.1:") {
                break port.trim().parse::<u16>().unwrap();
            }
        };
        let messages = std::thread::spawn(move || {
            err.read_to_string(&mut begin).unwrap();
            begin
        });
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(("127.0.0.1", port)).unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let mut following = Following { child, out, messages, socket };
        while following.line()["blocks"].as_u64().unwrap() == 0 {}
        following
    }

    /// The next object.
    pub(super) fn line(&mut self) -> Value {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    pub(super) fn send(&self, addr: &str, args: &[OscType]) {
        let message = OscMessage { addr: addr.into(), args: args.to_vec() };
        let packet = rosc::encoder::encode(&OscPacket::Message(message)).unwrap();
        self.socket.send(&packet).unwrap();
    }

    /// Ends it without a chance to say so.
    pub(super) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// The result and the messages of a run that ends.
    pub(super) fn end(mut self, code: i32) -> (Value, String) {
        let status = self.child.wait().unwrap();
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).unwrap();
        let messages = self.messages.join().unwrap();
        assert_eq!(status.code(), Some(code), "{messages}");
        assert!(!messages.contains("panicked"), "{messages}");
        (serde_json::from_str(rest.lines().last().unwrap()).unwrap(), messages)
    }
}

/// Has the transport do something: with JACK's own tool, or without it with the other client.
fn ask(server: &Server, other: &OtherClient, command: &str) {
    let mut tool = Command::new("jack_transport");
    tool.env("JACK_DEFAULT_SERVER", &server.name).env("JACK_NO_START_SERVER", "1");
    tool.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Ok(mut tool) = tool.spawn() {
        let commands = format!("{command}\nquit\n");
        tool.stdin.take().unwrap().write_all(commands.as_bytes()).unwrap();
        assert!(tool.wait().unwrap().success(), "jack_transport: {command}");
        return;
    }
    println!("no jack_transport: the other client asks for {command}");
    match command.split_once(' ') {
        Some(("locate", frame)) => other.locate(frame.parse().unwrap()),
        _ if command == "play" => other.start(),
        _ => other.stop(),
    }
}

pub(super) fn await_rolling(other: &OtherClient, from: u32, until: u32) {
    wait_until(&format!("rolling from {from} to {until}"), || {
        let (state, frame) = other.transport();
        state == ROLLING && (until..until + 60 * RATE_HZ).contains(&frame)
    });
}

pub(super) fn await_standing(other: &OtherClient, frame: u32) {
    wait_until(&format!("standing at {frame}"), || other.transport() == (STOPPED, frame));
}

/// Every frame in these cycles is what the render has where the transport was, and silence where it stood still.
#[track_caller]
pub(super) fn check_frames(heard: &[Vec<f32>], cycles: &[SongCycle], rendered: &[Vec<f32>]) {
    for cycle in cycles {
        for (channel, (heard, rendered)) in heard.iter().zip(rendered).enumerate() {
            for offset in 0..cycle.frames {
                let song = cycle.frame as usize + offset;
                let plays = rendered.get(song).copied().filter(|_| cycle.state == ROLLING);
                let (plays, heard) = (plays.unwrap_or(0.0), heard[cycle.at + offset]);
                let is_same = plays.to_bits() == heard.to_bits() || (plays, heard) == (0.0, 0.0);
                assert!(is_same, "{heard} for {plays}: channel {channel}, {offset} of {cycle:?}");
            }
        }
    }
}

/// The cycles of a part of the recording, from a place to another one.
pub(super) fn part(cycles: &[SongCycle], begin: usize, end: usize) -> Vec<SongCycle> {
    let inside = |cycle: &&SongCycle| cycle.at >= begin && cycle.at + cycle.frames <= end;
    cycles.iter().filter(inside).copied().collect()
}

/// Plays, stops and moves a clip of so many frames in every way.
fn a_clip_sounds_where_it_lies(test: &str, frames: usize) {
    let _alone = alone();
    let Some(server) = Server::start(test, RATE_HZ, 128, Mode::WaitsForClients) else { return };
    let session = OneClip::new(frames);
    let rendered = rendered(&session.file, RATE_HZ);
    let other = server.client("other", (2, 0), ROOM);
    let mut run = Following::start(&server, &session.looped, &[]);
    let begin = other.length();
    assert_eq!(run.line()["song"]["transport"], "jack");
    // By a program that is not ours, to a frame within a cycle, before the clip.
    ask(&server, &other, "locate 70001");
    await_standing(&other, 70_001);
    ask(&server, &other, "play");
    await_rolling(&other, 70_001, 120_000);
    ask(&server, &other, "locate 300007");
    await_rolling(&other, 300_007, 310_000);
    ask(&server, &other, "stop");
    wait_until("a stop", || other.transport().0 == STOPPED);
    // By OSC: the server takes the song there.
    run.send("/locate", &[OscType::Double(2.0)]);
    await_standing(&other, 96_000);
    run.send("/play", &[]);
    await_rolling(&other, 96_000, 100_000);
    run.send("/locate", &[OscType::String("4:1".into())]);
    await_rolling(&other, 288_000, 290_000);
    run.send("/stop", &[]);
    wait_until("a stop", || other.transport().0 == STOPPED);
    run.send("/loop", &[OscType::String("on".into())]);
    // Behind the end of the song the run goes on, and the song comes back.
    let behind = 10 * LONG as u32;
    other.locate(behind);
    other.start();
    await_rolling(&other, behind, behind + 4_000);
    assert_eq!(run.child.try_wait().unwrap(), None, "it has ended with the song");
    other.locate(71_000);
    await_rolling(&other, 71_000, 80_000);
    let end = other.length();
    run.send("/quit", &[]);
    let (told, messages) = run.end(0);
    other.stop();
    assert_eq!((&told["transport"], &told["device_ended"]), (&"jack".into(), &Value::Null));
    assert_eq!((&told["osc"]["obeyed"], &told["osc"]["not_possible"]), (&5.into(), &1.into()));
    let words = ["follows the JACK server's transport, which is stopped at 0.0 s"];
    let loops = ["the session's loop is off", "no loop: the song follows the JACK server's"];
    for word in words.iter().chain(&loops) {
        assert!(messages.contains(word), "nothing about '{word}': {messages}");
    }
    let streams = frames >= LONG;
    assert_eq!(told["disk"].is_object(), streams, "{told:#}");
    if streams && told["disk"]["silent_frames"] != 0 {
        return println!("SKIPPED {test}, the bits: the disk was too slow: {}", told["disk"]);
    }
    let (heard, cycles) = other.end_with_cycles();
    check_frames(&heard, &part(&cycles, begin, end), &rendered);
}

#[test]
fn a_clip_in_memory_sounds_where_it_lies() {
    a_clip_sounds_where_it_lies("a_clip_in_memory_sounds_where_it_lies", LONG - 20_000);
}

#[test]
fn a_clip_from_the_disk_sounds_where_it_lies() {
    a_clip_sounds_where_it_lies("a_clip_from_the_disk_sounds_where_it_lies", LONG);
}

#[test]
fn frames_of_the_transport_are_those_of_the_servers_rate() {
    const NAME: &str = "frames_of_the_transport_are_those_of_the_servers_rate";
    let _alone = alone();
    let Some(mut server) = Server::start(NAME, 44_100, 256, Mode::WaitsForClients) else { return };
    let session = OneClip::new(LONG);
    let rendered = rendered(&session.file, 44_100);
    let other = server.client("other", (2, 0), ROOM);
    // It comes when the server rolls already.
    other.locate(60_000);
    other.start();
    let run = Following::start(&server, &session.file, &["--length", "600"]);
    let begin = other.length();
    let from = other.transport().1;
    await_rolling(&other, from, from + 20_000);
    other.locate(66_000);
    await_rolling(&other, 66_000, 70_000);
    let end = other.length();
    server.end("-KILL");
    let (told, messages) = run.end(3);
    assert!(told["device_ended"].as_str().unwrap().contains("has ended"), "{told:#}");
    assert!(messages.contains("which rolls at"), "{messages}");
    let (heard, cycles) = other.end_with_cycles();
    let sounds = heard[0].iter().any(|sample| *sample != 0.0);
    assert!(sounds, "nothing but silence");
    check_frames(&heard, &part(&cycles, begin, end), &rendered);
}

#[test]
fn a_run_ends_after_its_length_wherever_the_transport_is() {
    const NAME: &str = "a_run_ends_after_its_length_wherever_the_transport_is";
    let _alone = alone();
    let Some(server) = Server::start(NAME, RATE_HZ, 256, Mode::Usual) else { return };
    let session = OneClip::new(1_000);
    let file = session.file.as_str();
    let args = ["play", file, "--device", "jack", "--transport", "jack", "--length", "0.5"];
    check(&run(&server.name, &args), 0, &["follows the JACK server's transport", "misses: "]);
    // The variable names the device, too.
    let mut command = hocket(&server.name, &args[..2]);
    command
        .args(["--transport", "jack", "--length", "0.2", "--quiet"])
        .env("HOCKET_DEVICE", "jack");
    check(&command.output().unwrap(), 0, &["misses: "]);
}

#[test]
fn only_the_device_jack_has_the_servers_transport() {
    let session = OneClip::new(1_000);
    let file = session.file.as_str();
    let play = |more: &[&str]| run(NOBODY, &[&["play", file], more].concat());
    let words = ["--transport jack: only the device jack", "give --device jack"];
    check(&play(&["--transport", "jack"]), 2, &words);
    let instead = [&words[..], &["instead of --device virtual"]].concat();
    check(&play(&["--transport", "jack", "--device", "virtual"]), 2, &instead);
    let output = hocket(NOBODY, &["play", file, "--transport", "jack"])
        .env("HOCKET_DEVICE", "virtual")
        .output()
        .unwrap();
    check(&output, 2, &["instead of HOCKET_DEVICE=virtual"]);
    check(&play(&["--transport", "midi"]), 2, &["--transport", "midi", "own, jack"]);
    let told = text(&play(&["--transport", "own", "--device", "virtual"]).stdout);
    assert!(told.contains("misses: "), "{told}");
}

#[test]
fn keys_ask_the_server() {
    const NAME: &str = "keys_ask_the_server";
    let _alone = alone();
    let Some(server) = Server::start(NAME, RATE_HZ, 256, Mode::Usual) else { return };
    let session = OneClip::new(1_000);
    let other = server.client("other", (0, 1), 0);
    let file = session.file.as_str();
    let args = ["play", file, "--device", "jack", "--transport", "jack", "--connect", "no"];
    let pty = Pty::open();
    let Some(mut child) = pty.start(&hocket(&server.name, &args)) else { return missing(NAME) };
    let mut reading = pty.read();
    reading.await_word("JACK");
    reading.press(" ");
    wait_until("rolling", || other.transport().0 == ROLLING);
    reading.press(" ");
    wait_until("a stop", || other.transport().0 == STOPPED);
    reading.press("0");
    await_standing(&other, 0);
    // The song follows the server, and bars are counted from where the song is.
    reading.await_word("1.1.000");
    reading.press("]");
    await_standing(&other, 96_000);
    reading.press("l");
    reading.await_word("none;");
    reading.press("q");
    assert_eq!(end(&mut child).code(), Some(0));
    assert!(reading.text().contains("misses: "), "the result follows");
}
