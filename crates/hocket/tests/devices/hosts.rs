//! `hocket split` on two hosts: two networks of this machine, a pair of virtual cards between them, and a jackd in each.
//!
//! The commands that connect the ports are those of the scripts that `hocket split` writes. Both servers wait for their clients,
//! so nothing is lost on a busy machine.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::jackd::{Mode, Server, wait_until};
use super::{NOBODY, alone, band, check, first_sound, hocket, rendered_of, run, send, text};

const RATE_HZ: u32 = 48_000;
const FRAMES: &str = "256";
const TEST: &str = "two_hosts_sound_as_one";

/// Two networks, and a cable between them. They go when this is dropped.
struct Networks {
    names: [String; 2],
    /// That of the first network.
    address: String,
}

impl Networks {
    /// `None`, and a line that says why: the system does not grant it.
    fn make() -> Option<Networks> {
        let number = std::process::id();
        let names = ["a", "b"].map(|end| format!("hkt{number}{end}"));
        // A network of its own for each run, and nobody else is in these.
        let address = |end: u32| format!("10.{}.{}.{end}", 64 + number / 256 % 64, number % 256);
        let networks = Networks { address: address(1), names: names.clone() };
        let [a, b] = &names;
        let (card_a, card_b) = (format!("v{a}"), format!("v{b}"));
        let mut lines = vec![
            format!("netns add {a}"),
            format!("netns add {b}"),
            format!("link add {card_a} netns {a} type veth peer name {card_b} netns {b}"),
        ];
        for (name, card, end) in [(a, &card_a, 1), (b, &card_b, 2)] {
            lines.push(format!("-n {name} addr add {}/24 dev {card}", address(end)));
            lines.push(format!("-n {name} link set {card} up"));
            lines.push(format!("-n {name} link set lo up"));
            // JACK's manager listens to a group of addresses, too.
            lines.push(format!("-n {name} route add 224.0.0.0/4 dev {card}"));
        }
        for line in lines {
            let output = Command::new("ip").args(line.split(' ')).output();
            let failed = match output {
                Ok(output) if output.status.success() => continue,
                Ok(output) => text(&output.stderr).trim().to_owned(),
                Err(error) => error.to_string(),
            };
            println!("SKIPPED {TEST}: no networks of its own (ip {line}): {failed}");
            return None;
        }
        Some(networks)
    }
}

impl Drop for Networks {
    fn drop(&mut self) {
        for name in &self.names {
            let mut command = Command::new("ip");
            command.args(["netns", "del", name]).stderr(Stdio::null());
            let _ = command.status();
        }
    }
}

/// Why JACK cannot carry ports through a network here.
fn missing() -> Option<String> {
    let folders = std::env::var("JACK_DRIVER_DIR").map_or_else(
        |_| {
            let below = std::fs::read_dir("/usr/lib").into_iter().flatten().flatten();
            let below = below.map(|entry| entry.path().join("jack"));
            below.chain([PathBuf::from("/usr/lib/jack")]).collect()
        },
        |folder| vec![PathBuf::from(folder)],
    );
    let has = |file: &str| folders.iter().any(|folder: &PathBuf| folder.join(file).exists());
    let files = ["netmanager.so", "jack_net.so"].into_iter().filter(|file| !has(file));
    let tools = ["jack_load", "jack_connect"].into_iter();
    let tools = tools.filter(|tool| Command::new(tool).arg("-h").output().is_err());
    let all: Vec<&str> = files.chain(tools).collect();
    (!all.is_empty()).then(|| format!("JACK has no {}", all.join(", ")))
}

/// A run of a part.
struct Playing {
    command: Command,
    child: Child,
    /// What it says.
    said: PathBuf,
}

impl Playing {
    fn start(server: &Server, folder: &Path, host: usize, more: &[&str]) -> Playing {
        let part = folder.join(format!("part-{host}.toml")).display().to_string();
        let args = ["play", &part, "--device", "jack", "--connect", "no", "--quiet"];
        let mut command = hocket(&server.name, &[&args[..], more].concat());
        let said = folder.join(format!("said-{host}.txt"));
        let child = spawn(&mut command, &said);
        Playing { command, child, said }
    }

    /// It has not ended by itself. If the server refused it, it starts again: JACK takes no client while no cycle has run for
    /// five seconds, as on a busy machine before the other host has found this one.
    #[track_caller]
    fn check_plays(&mut self) {
        let Some(ended) = self.child.try_wait().unwrap() else { return };
        let said = std::fs::read_to_string(&self.said).unwrap_or_default();
        let is_refused = ended.code() == Some(3) && said.contains("refuses a client");
        assert!(is_refused, "a part no longer plays: {ended}: {said}");
        self.child = spawn(&mut self.command, &self.said);
    }
}

fn spawn(command: &mut Command, said: &Path) -> Child {
    let file = std::fs::File::create(said).unwrap();
    command.stdout(Stdio::null()).stderr(file).spawn().unwrap()
}

impl Drop for Playing {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            send(self.child.id(), "-INT");
            let _ = self.child.wait();
        }
    }
}

/// The arguments of each `jack_connect` in a script.
fn connections(folder: &Path, host: usize) -> Vec<[String; 2]> {
    let script = std::fs::read_to_string(folder.join(format!("host-{host}.sh"))).unwrap();
    let line = |line: &str| {
        let mut words = line.strip_prefix("jack_connect ")?.split(' ').map(str::to_owned);
        Some([words.next()?, words.next()?])
    };
    script.lines().filter_map(line).collect()
}

fn connect_all(server: &Server, playing: &mut Playing, pairs: &[[String; 2]]) {
    for [from, to] in pairs {
        // A client whose ports are not there yet will have them soon. The tool may also give up although the server connects.
        wait_until(&format!("{from} to {to}"), || {
            playing.check_plays();
            server.tool("jack_connect", &[from, to]) == Some(true)
                || are_connected(server, from, to)
        });
    }
}

fn are_connected(server: &Server, from: &str, to: &str) -> bool {
    let mut command = Command::new("jack_lsp");
    let output = command.args(["-c", from]).env("JACK_DEFAULT_SERVER", &server.name).output();
    let output = output.map(|output| text(&output.stdout).to_owned()).unwrap_or_default();
    // Below each port, what it is connected to.
    let below = output.lines().skip_while(|line| *line != from).skip(1);
    below.take_while(|line| line.starts_with(' ')).any(|line| line.trim() == to)
}

#[test]
fn two_hosts_sound_as_one() {
    let _alone = alone();
    if let Some(why) = missing() {
        println!("SKIPPED {TEST}: {why}");
        return;
    }
    let Some(networks) = Networks::make() else { return };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("cut");
    let (cut, latency) = (out.display().to_string(), "2");
    let session = still_band(folder.path());
    let args = ["split", &session, "--hosts", "2", "-o", &cut, "--frames", FRAMES];
    check(&run(NOBODY, &[&args[..], &["--net-latency", latency]].concat()), 0, &["host 1"]);

    let [a, b] = &networks.names;
    let inside = |name| ["ip", "netns", "exec", name];
    let rate = RATE_HZ.to_string();
    let driver = ["dummy", "--rate", &rate, "--period", FRAMES];
    let mode = Mode::WaitsForClients;
    let Some(host0) = Server::start_in(TEST, &inside(a), mode, &driver) else { return };
    assert_eq!(host0.tool("jack_load", &["netmanager"]), Some(true), "JACK's network manager");
    let [(to_host0, _), (from_host1, _)] = [count(&out, 0), count(&out, 1)];
    let channels = from_host1.to_string();
    assert!(to_host0 > 0 && from_host1 > 0);
    let driver = ["net", "-a", &networks.address, "-n", "host1", "-C", "1", "-P", &channels];
    let driver = [&driver[..], &["-i", "0", "-o", "0", "-l", latency]].concat();
    let Some(host1) = Server::start_in(TEST, &inside(b), mode, &driver) else { return };

    let recorder = host0.client("recorder", (2, 0), 60 * RATE_HZ as usize);
    let follows = ["--transport", "port"];
    let leads = ["--transport", "jack", "--send-transport"];
    let mut part1 = Playing::start(&host1, &out, 1, &follows);
    let mut part0 = Playing::start(&host0, &out, 0, &leads);
    connect_all(&host1, &mut part1, &connections(&out, 1));
    connect_all(&host0, &mut part0, &connections(&out, 0));
    let recorded = [1, 2].map(|n| [format!("hocket:main_{n}"), format!("recorder:in_{n}")]);
    connect_all(&host0, &mut part0, &recorded);
    recorder.start();
    wait_until("sound", || recorder.has_heard());
    let from = recorder.length();
    wait_until("three seconds", || recorder.length() > from + 4 * RATE_HZ as usize);
    let heard = recorder.end();
    drop((part0, part1));
    check_same_sound(&heard, &rendered_of(&session, RATE_HZ, "3"));
}

/// The band, with a reverb that does not move: on host 0 it would hear the song at another time of its own clock.
fn still_band(folder: &Path) -> String {
    let band = PathBuf::from(band());
    let audio = band.with_file_name("audio").canonicalize().unwrap();
    let text = std::fs::read_to_string(&band).unwrap();
    let text = text.replace("\"audio/", &format!("\"{}/", audio.display()));
    let still = text.replace("modulation_ms = 0.4", "modulation_ms = 0.0");
    assert!(still != text);
    let file = folder.join("band.toml");
    std::fs::write(&file, still).unwrap();
    file.display().to_string()
}

/// The same bits but for the sign of zeros, from the first sound on.
#[track_caller]
fn check_same_sound(heard: &[Vec<f32>], whole: &[Vec<f32>]) {
    let begin = first_sound(heard).checked_sub(first_sound(whole)).expect("a beginning");
    for (channel, (heard, whole)) in heard.iter().zip(whole).enumerate() {
        let heard = &heard[begin..];
        assert!(heard.len() >= whole.len(), "{} of {}", heard.len(), whole.len());
        let differs = |(a, b): (&f32, &f32)| a.to_bits() != b.to_bits() && *a + *b != 0.0;
        let place = heard.iter().zip(whole).position(differs);
        assert_eq!(place, None, "channel {channel}, first frame that differs");
    }
}

/// How many ports of JACK's network a script connects, and how many others.
fn count(folder: &Path, host: usize) -> (usize, usize) {
    let through = if host == 0 { "host1:from_slave" } else { "system:playback" };
    let pairs = connections(folder, host);
    let is_through = |pair: &&[String; 2]| pair.iter().any(|port| port.starts_with(through));
    let count = pairs.iter().filter(is_through).count();
    (count, pairs.len() - count)
}
