//! `hocket play`, heard by a program that others wrote (`jack_rec`), on JACK and on PipeWire with a sink that plays to nobody.

use std::f64::consts::TAU;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use hocket_media::{WavFormat, WavWriter};

use super::jackd::{Mode, Server, send, wait_until};
use super::{RATE_HZ, alone, band, check, hocket, rendered};

/// Seconds that are recorded, and those of a render in which the recording has to be found.
const SECONDS: [&str; 2] = ["3", "32"];
/// So many equal frames say where in the render a recording is.
const MARK: usize = 256;

/// `jack_rec` writes integers of 32 bits, which a sample may miss by a half step, and reading makes `f32` of them again.
fn is_same(recorded: f32, rendered: f32) -> bool {
    (f64::from(recorded) - f64::from(rendered)).abs()
        <= f64::from(rendered).abs() * 2f64.powi(-23) + 2f64.powi(-30)
}

/// Both channels of a file.
struct Stereo([Vec<f32>; 2]);

impl Stereo {
    fn of(channels: Vec<Vec<f32>>) -> Stereo {
        Stereo(channels.try_into().expect("two channels"))
    }

    fn frames(&self) -> usize {
        self.0[0].len()
    }

    /// How many frames from here on are those of the other from there on.
    fn same(&self, from: usize, other: &Stereo, there: usize) -> usize {
        let most = (self.frames() - from).min(other.frames() - there);
        let differs = |at: &usize| {
            let pair = |side: usize| (self.0[side][from + at], other.0[side][there + at]);
            ![0, 1].into_iter().all(|side| is_same(pair(side).0, pair(side).1))
        };
        (0..most).find(differs).unwrap_or(most)
    }
}

/// The stretches of a recording that are stretches of the render, in its order. Everything between them is silence.
fn stretches(recorded: &Stereo, rendered: &Stereo) -> Vec<usize> {
    let (mut found, mut at, mut after) = (Vec::new(), 0, 0);
    while at + MARK <= recorded.frames() {
        if recorded.0.iter().all(|row| row[at] == 0.0) {
            at += 1;
            continue;
        }
        let is_there = |from: &usize| recorded.same(at, rendered, *from) >= MARK;
        let there = (after..rendered.frames() - MARK).find(is_there);
        let there = there.unwrap_or_else(|| panic!("frame {at} is nothing that a render has"));
        let length = recorded.same(at, rendered, there);
        found.push(length);
        (at, after) = (at + length, there + length);
    }
    found
}

fn is_here(program: &str, test: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_here = std::env::split_paths(&path).any(|folder| folder.join(program).exists());
    if !is_here {
        println!("SKIPPED {test}: no {program}");
    }
    is_here
}

/// Arguments of `jack_rec`. Its buffer is so large that a slow disk costs no frame.
fn recording<'a>(file: &'a str, ports: [&'a str; 2]) -> [&'a str; 10] {
    let [left, right] = ports;
    ["-f", file, "-d", SECONDS[0], "-b", "32", "-B", "480000", left, right]
}

fn check_recording(file: &Path) -> Vec<usize> {
    let recorded = Stereo::of(hocket_media::decode(file).unwrap().channels);
    let found = stretches(&recorded, &Stereo::of(rendered(RATE_HZ, SECONDS[1])));
    assert!(found.iter().sum::<usize>() >= RATE_HZ as usize, "{found:?}");
    found
}

fn play(mut command: Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn a_recorder_of_others_hears_what_render_writes() {
    const NAME: &str = "a_recorder_of_others_hears_what_render_writes";
    let _alone = alone();
    if !is_here("jack_rec", NAME) {
        return;
    }
    let Some(server) = Server::start(NAME, RATE_HZ, 256, Mode::WaitsForClients) else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("heard.wav");
    let args = ["play", &band(), "--device", "jack", "--length", "600"];
    let child = play(hocket(&server.name, &args));
    let name = file.display().to_string();
    let arguments = recording(&name, ["hocket:main_1", "hocket:main_2"]);
    // It fails until there are these ports.
    wait_until("jack_rec", || server.tool("jack_rec", &arguments) == Some(true));
    send(child.id(), "-INT");
    check(&child.wait_with_output().unwrap(), 130, &[]);
    let found = check_recording(&file);
    assert_eq!(found.len(), 1, "a server that waits for its clients loses nothing: {found:?}");
}

/// How the program comes to PipeWire's JACK library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// `pw-jack` starts it.
    PwJack,
    /// It finds no JACK server, and then PipeWire's library.
    ByItself,
}

/// A PipeWire of the test's own, with a sink that is a clock and plays to nobody.
struct PipeWire {
    process: Child,
    folder: tempfile::TempDir,
}

impl PipeWire {
    fn start() -> PipeWire {
        let server = PipeWire::without_sink();
        server.add_sink();
        server
    }

    fn without_sink() -> PipeWire {
        let folder = tempfile::tempdir().unwrap();
        let process = PipeWire::command(folder.path(), "pipewire").spawn().unwrap();
        let server = PipeWire { process, folder };
        wait_until("pipewire", || server.run("pw-cli", &["info", "0"]));
        server
    }

    /// The card is pulled out.
    fn remove_sink(&self) {
        assert!(self.run("pw-cli", &["destroy", "card"]));
    }

    /// Its ports count as those of a card.
    fn add_sink(&self) {
        let sink = "{ factory.name=support.null-audio-sink node.name=card media.class=Audio/Sink \
                    object.linger=true audio.position=[FL FR] \
                    adapter.auto-port-config={ mode=dsp monitor=true position=preserve } }";
        assert!(self.run("pw-cli", &["create-node", "adapter", sink]));
    }

    /// In a folder for its socket.
    fn command(folder: &Path, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("XDG_RUNTIME_DIR", folder).env("PIPEWIRE_RUNTIME_DIR", folder);
        command.env_remove("DBUS_SESSION_BUS_ADDRESS").env_remove("PIPEWIRE_REMOTE");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn run(&self, program: &str, args: &[&str]) -> bool {
        let mut command = PipeWire::command(self.folder.path(), program);
        command.args(args).status().is_ok_and(|status| status.success())
    }

    /// The program, in an environment where this PipeWire runs.
    fn hocket(&self, way: Way, args: &[&str]) -> Command {
        let program = env!("CARGO_BIN_EXE_hocket");
        let mut command = match way {
            Way::PwJack => PipeWire::command(self.folder.path(), "pw-jack"),
            Way::ByItself => PipeWire::command(self.folder.path(), program),
        };
        if way == Way::PwJack {
            command.arg(program);
        }
        command.args(args).stdout(Stdio::piped());
        command.env("HOCKET_PROFILE", "none").env_remove("HOCKET_DEVICE");
        command.env_remove("JACK_DEFAULT_SERVER");
        command
    }
}

impl Drop for PipeWire {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_sink_of_pipewire_gets_what_render_writes() {
    const NAME: &str = "a_sink_of_pipewire_gets_what_render_writes";
    let _alone = alone();
    if has_pipewire(NAME) {
        check_sink(&PipeWire::start(), Way::PwJack);
    }
}

#[test]
fn without_a_jack_server_and_pw_jack_pipewire_is_found() {
    const NAME: &str = "without_a_jack_server_and_pw_jack_pipewire_is_found";
    let _alone = alone();
    if !has_pipewire(NAME) {
        return;
    }
    let server = PipeWire::without_sink();
    let devices = |name: Option<&str>| {
        let mut command = server.hocket(Way::ByItself, &["devices"]);
        name.iter().for_each(|name| _ = command.env("JACK_DEFAULT_SERVER", name));
        command.output().unwrap()
    };
    let said = devices(None);
    if super::text(&said.stdout).contains("server 'default'") {
        return println!("SKIPPED {NAME}: a JACK server runs here");
    }
    check(&said, 0, &["server 'PipeWire'", "library /usr/lib", "jack plays on it"]);
    let play = ["play", &band(), "--length", "0.2"];
    let usual = || server.hocket(Way::ByItself, &play).stderr(Stdio::piped()).output().unwrap();
    check(&usual(), 0, &["PipeWire runs, and has no sound card that plays"]);
    server.add_sink();
    check(&usual(), 0, &["plays on jack, because the server 'PipeWire' runs"]);
    check_sink(&server, Way::ByItself);

    // Who names a JACK server means that one.
    check(&devices(Some(super::NOBODY)), 0, &["no JACK server 'hocket-nobody' runs"]);
    let Some(jackd) = Server::start(NAME, RATE_HZ, 256, Mode::Usual) else { return };
    let beside = devices(Some(&jackd.name));
    check(&beside, 0, &[&format!("server '{}'", jackd.name), "`pw-jack hocket play"]);
}

const TONE_HZ: f64 = 1_000.0;

/// A tone, and a chain without sound whose blocks take a good part of a period.
fn tone_beside_long_work(folder: &Path) -> String {
    let (file, wav) = (folder.join("tone.toml"), folder.join("tone.wav"));
    let at =
        |frame: u32| 0.5 * (TAU * TONE_HZ * f64::from(frame) / f64::from(RATE_HZ)).sin() as f32;
    let tone: Vec<f32> = (0..RATE_HZ).map(at).collect();
    let mut writer = WavWriter::create(&wav, RATE_HZ, WavFormat::Float32).unwrap();
    writer.write(&tone, &tone).unwrap();
    writer.finish().unwrap();
    let head = format!("[session]\nsample_rate_hz = {RATE_HZ}\nlength_s = 600\n");
    let tone = "[[track]]\nname = \"Tone\"\nclip = [{ file = \"tone.wav\", loop = true }]\n";
    let chain = "[[track.effect]]\nkind = \"fdn\"\n".repeat(160);
    std::fs::write(&file, format!("{head}{tone}[[track]]\nname = \"Long\"\n{chain}")).unwrap();
    file.display().to_string()
}

/// JACK's own servers keep their rate. PipeWire changes it while its clients play, and its library (0.3.65) then unmaps
/// buffers of ports during a cycle.
fn force_rate(server: &PipeWire, rate_hz: u32) {
    let force = ["-n", "settings", "0", "clock.force-rate", &rate_hz.to_string()];
    assert!(server.run("pw-metadata", &force), "pw-metadata");
}

fn plays_into_a_take(server: &PipeWire, take: &Path, more: &[&str]) -> Child {
    let session = tone_beside_long_work(server.folder.path());
    let arg = format!("master={}", take.display());
    let args = ["play", &session, "--device", "jack", "--connect", "card", "--length", "600"];
    let args = [&args[..], &["--json", "--take", &arg], more].concat();
    let child = play(server.hocket(Way::PwJack, &args));
    let size = || std::fs::metadata(take).map_or(0, |facts| facts.len());
    wait_until("the take", || size() > 200_000);
    child
}

#[test]
fn a_play_goes_on_at_another_rate_of_the_server_and_back() {
    const NAME: &str = "a_play_goes_on_at_another_rate_of_the_server_and_back";
    let _alone = alone();
    if !has_pipewire(NAME) || !is_here("pw-metadata", NAME) {
        return;
    }
    let server = PipeWire::start();
    let [take, heard, log] =
        ["take.wav", "heard.wav", "log.jsonl"].map(|name| server.folder.path().join(name));
    let child = plays_into_a_take(&server, &take, &["--log", &log.display().to_string()]);
    let logged = || std::fs::read_to_string(&log).unwrap_or_default();
    force_rate(&server, 44_100);
    let line = "\"device_rate_hz\":44100";
    wait_until("the other rate", || logged().contains(line));
    let name = heard.display().to_string();
    let arguments = recording(&name, ["card:monitor_FL", "card:monitor_FR"]);
    wait_until("the tone at the other rate", || {
        assert!(server.run("pw-jack", &[&["jack_rec"][..], &arguments].concat()), "jack_rec");
        let recorded = hocket_media::decode(&heard).unwrap();
        recorded.sample_rate_hz == 44_100 && tone_frames(&recorded.channels[0], 44_100) >= 44_100
    });
    force_rate(&server, RATE_HZ);
    wait_until("the old rate", || logged().contains("\"device_rate_hz\":48000"));
    send(child.id(), "-INT");
    let output = child.wait_with_output().unwrap();
    check(&output, 130, &["the device now runs at 44100 Hz", "runs at 48000 Hz again"]);
    let told = super::json(&output);
    assert!(told["device_ended"].is_null() && told["device_rate_hz"] == RATE_HZ, "{told:#}");
    check_take(&told, &take);
    // The engine has played its own frames without a gap, whatever the server did.
    let recorded = hocket_media::decode(&take).unwrap().channels;
    assert_eq!(tone_frames(&recorded[0], RATE_HZ), recorded[0].len() - 2);
}

/// How many frames in a row are the tone: each follows from the two before, as silence does, too.
fn tone_frames(samples: &[f32], rate_hz: u32) -> usize {
    let turn = 2.0 * (TAU * TONE_HZ / f64::from(rate_hz)).cos();
    let follows = |three: &[f32]| {
        let [before, here, after] = [0, 1, 2].map(|at| f64::from(three[at]));
        (before + after - turn * here).abs() < 1e-3
    };
    let (mut most, mut frames, mut loudest) = (0, 0, 0.0f32);
    for three in samples.windows(3) {
        let goes_on = follows(three);
        frames = if goes_on { frames + 1 } else { 0 };
        loudest = if goes_on { loudest.max(three[1].abs()) } else { 0.0 };
        most = most.max(if loudest > 0.3 { frames } else { 0 });
    }
    most
}

#[track_caller]
fn check_take(told: &serde_json::Value, take: &Path) {
    assert_eq!(told["takes"][0]["whole"], true, "{told:#}");
    let recorded = hocket_media::decode(take).unwrap();
    assert_eq!(recorded.sample_rate_hz, RATE_HZ);
    assert_eq!(told["frames_played"], recorded.frames() as u64, "{told:#}");
}

/// What came in while PipeWire took another rate is lost: the take of an input says so, and that of a strip is whole.
#[test]
fn a_take_of_an_input_is_not_whole_after_another_rate_of_the_server() {
    const NAME: &str = "a_take_of_an_input_is_not_whole_after_another_rate_of_the_server";
    let _alone = alone();
    if !has_pipewire(NAME) || !is_here("pw-metadata", NAME) {
        return;
    }
    let server = PipeWire::start();
    let path = |name: &str| server.folder.path().join(name);
    let session = tone_beside_long_work(server.folder.path());
    let with_input = "[[input]]\nname = \"mic\"\n[[take]]\ninput = \"mic\"\nfile = \"mic.wav\"\n";
    let text = std::fs::read_to_string(&session).unwrap();
    std::fs::write(&session, text + with_input).unwrap();
    let (take, log) = (path("take.wav"), path("log.jsonl"));
    let master = format!("master={}", take.display());
    let log_name = log.display().to_string();
    let args = ["play", &session, "--device", "jack", "--connect", "card", "--length", "600"];
    let args = [&args[..], &["--json", "--take", &master, "--log", &log_name]].concat();
    let child = play(server.hocket(Way::PwJack, &args));
    let size = || std::fs::metadata(&take).map_or(0, |facts| facts.len());
    wait_until("the take", || size() > 200_000);
    force_rate(&server, 44_100);
    let logged = || std::fs::read_to_string(&log).unwrap_or_default();
    wait_until("the other rate", || logged().contains("\"device_rate_hz\":44100"));
    wait_until("the loss", || logged().contains("never arrived"));
    send(child.id(), "-INT");
    let output = child.wait_with_output().unwrap();
    check(&output, 4, &["of the input never arrived"]);
    let told = super::json(&output);
    check_take(&told, &take);
    let mic = &told["takes"][1];
    assert_eq!((&mic["bus"], &mic["whole"]), (&"mic".into(), &false.into()), "{told:#}");
    assert!(mic["missing_frames"].as_u64().unwrap() > 0, "{told:#}");
    let frames = |take: &serde_json::Value| take["frames"].as_u64().unwrap();
    // It was interrupted, so what was left out at its start is missing at its end.
    let short = mic["aligned"]["short_frames"].as_u64().unwrap();
    assert_eq!(frames(mic) + short, frames(&told["takes"][0]), "{told:#}");
}

#[test]
fn another_rate_of_the_server_ends_a_play_that_counts_its_frames() {
    const NAME: &str = "another_rate_of_the_server_ends_a_play_that_counts_its_frames";
    let _alone = alone();
    if !has_pipewire(NAME) || !is_here("pw-metadata", NAME) {
        return;
    }
    let server = PipeWire::start();
    let take = server.folder.path().join("take.wav");
    let child = plays_into_a_take(&server, &take, &["--send-clock"]);
    force_rate(&server, 44_100);
    let output = child.wait_with_output().unwrap();
    let words = ["now runs at 44100 Hz", "was prepared for 48000 Hz", "play again"];
    check(&output, 3, &words);
    let told = super::json(&output);
    assert!(told["device_ended"].as_str().unwrap().contains("44100 Hz"), "{told:#}");
    check_take(&told, &take);
}

/// PipeWire tells a client of its end by another call than JACK's servers do.
#[test]
fn the_end_of_pipewire_ends_the_play_at_once_and_loses_nothing() {
    const NAME: &str = "the_end_of_pipewire_ends_the_play_at_once_and_loses_nothing";
    let _alone = alone();
    if !has_pipewire(NAME) {
        return;
    }
    for signal in ["-TERM", "-KILL"] {
        let mut server = PipeWire::start();
        let take = server.folder.path().join("take.wav");
        let child = plays_into_a_take(&server, &take, &[]);
        send(server.process.id(), signal);
        server.process.wait().unwrap();
        let output = child.wait_with_output().unwrap();
        check(&output, 3, &["the JACK server", "has ended; start it again"]);
        let told = super::json(&output);
        // Not only after it has asked for nothing for a long time.
        let why = told["device_ended"].as_str().unwrap();
        assert!(why.contains("has ended"), "{signal}: {told:#}");
        check_take(&told, &take);
    }
}

/// A card goes and comes back, twice. Hocket says so, and plays on it again.
#[test]
fn a_card_that_comes_back_is_connected_again() {
    const NAME: &str = "a_card_that_comes_back_is_connected_again";
    let _alone = alone();
    if !has_pipewire(NAME) {
        return;
    }
    let server = PipeWire::start();
    let [take, log] = ["take.wav", "log.jsonl"].map(|name| server.folder.path().join(name));
    let child = plays_into_a_take(&server, &take, &["--log", &log.display().to_string()]);
    let logged = |what: &str| {
        let log = std::fs::read_to_string(&log).unwrap_or_default();
        log.matches(what).count()
    };
    for times in 1..=2 {
        server.remove_sink();
        let lost = "\"lost\":[\"hocket:main_1\",\"hocket:main_2\"]";
        wait_until("the loss", || logged(lost) == times);
        server.add_sink();
        let connected = "\"connected\":[[\"hocket:main_1\",\"card:playback_FL\"],[\"hocket:main_2\",\"card:playback_FR\"]]";
        wait_until("the connection", || logged(connected) == times);
        let heard = server.folder.path().join(format!("heard-{times}.wav"));
        let name = heard.display().to_string();
        let arguments = recording(&name, ["card:monitor_FL", "card:monitor_FR"]);
        wait_until("the tone", || {
            assert!(server.run("pw-jack", &[&["jack_rec"][..], &arguments].concat()), "jack_rec");
            let recorded = hocket_media::decode(&heard).unwrap();
            tone_frames(&recorded.channels[0], RATE_HZ) >= RATE_HZ as usize / 2
        });
    }
    send(child.id(), "-INT");
    let output = child.wait_with_output().unwrap();
    let warning = "warning: hocket:main_1, hocket:main_2: what this was connected to is gone";
    check(&output, 130, &[warning, "connected again: hocket:main_1 -> card:playback_FL"]);
    let told = super::json(&output);
    assert_eq!(told["ports_lost"], serde_json::json!([]), "{told:#}");
    check_take(&told, &take);
}

fn has_pipewire(test: &str) -> bool {
    ["pipewire", "pw-cli", "pw-jack", "jack_rec"].into_iter().all(|it| is_here(it, test))
}

/// PipeWire leaves a late client out, so on a busy machine the recording may have several stretches.
#[track_caller]
fn check_sink(server: &PipeWire, way: Way) {
    let file: PathBuf = server.folder.path().join("heard.wav");
    let args =
        ["play", &band(), "--device", "jack", "--connect", "card", "--length", "600", "--json"];
    let child = play(server.hocket(way, &args));
    let name = file.display().to_string();
    let arguments = recording(&name, ["card:monitor_FL", "card:monitor_FR"]);
    let records = || server.run("pw-jack", &[&["jack_rec"][..], &arguments].concat());
    // Nothing but silence until the play is connected.
    wait_until("sound", || {
        assert!(records(), "jack_rec");
        let channels = hocket_media::decode(&file).unwrap().channels;
        let sounding = channels[0].iter().filter(|sample| **sample != 0.0).count();
        sounding >= RATE_HZ as usize
    });
    send(child.id(), "-INT");
    let output = child.wait_with_output().unwrap();
    check(&output, 130, &[]);
    assert_eq!(super::json(&output)["device"], "jack");
    check_recording(&file);
}
