//! `hocket play --osc`: a real program on the virtual device, steered through real UDP sockets.

use std::net::UdpSocket;
use std::process::Command;
use std::time::{Duration, Instant};

use hocket_engine::seats_of;
use hocket_machine::Topology;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use rosc::{OscBundle, OscMessage, OscPacket, OscTime, OscType};
use serde_json::Value;

use crate::json_run::{ENDLESS, JsonRun, PATIENCE};
use crate::plugins::Machine;
use crate::support::{check_refused, hocket, one_track, run, session};

/// A run that listens.
struct Playing {
    run: JsonRun,
    socket: UdpSocket,
}

impl Playing {
    fn start(file: &str, more: &[&str]) -> Playing {
        Playing::start_as(hocket, file, more)
    }

    fn start_as(command: impl Fn(&[&str]) -> Command, file: &str, more: &[&str]) -> Playing {
        let args = [&[file, "--osc", "0"][..], more].concat();
        let (run, port) = JsonRun::start_as(command, &args, port);
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(("127.0.0.1", port)).unwrap();
        Playing { run, socket }
    }

    fn send(&self, addr: &str, args: &[OscType]) {
        let message = OscMessage { addr: addr.into(), args: args.to_vec() };
        self.send_packet(OscPacket::Message(message));
    }

    fn send_packet(&self, packet: OscPacket) {
        self.socket.send(&rosc::encoder::encode(&packet).unwrap()).unwrap();
    }

    /// Asks until an answer comes: a packet may be lost, or have to wait.
    #[track_caller]
    fn status(&self) -> Vec<OscType> {
        let begun = Instant::now();
        self.socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        let mut bytes = [0; 512];
        // Answers to earlier questions that came late.
        self.socket.set_nonblocking(true).unwrap();
        while self.socket.recv(&mut bytes).is_ok() {}
        self.socket.set_nonblocking(false).unwrap();
        loop {
            self.send("/status", &[]);
            if let Ok(length) = self.socket.recv(&mut bytes) {
                let (rest, packet) = rosc::decoder::decode_udp(&bytes[..length]).unwrap();
                let OscPacket::Message(message) = packet else { panic!("{packet:?}") };
                assert_eq!((message.addr.as_str(), rest.len()), ("/status", 0));
                return message.args;
            }
            assert!(begun.elapsed() < PATIENCE, "no answer");
        }
    }

    /// Sends a message that is answered at its own address, and waits for that. It is sent again while nothing has been
    /// measured yet, and where a packet is lost.
    #[track_caller]
    fn ask(&self, addr: &str, args: &[OscType]) -> (i32, String) {
        let begun = Instant::now();
        self.socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut bytes = [0; 2048];
        self.send(addr, args);
        loop {
            match self.socket.recv(&mut bytes) {
                Ok(length) => {
                    let (_, packet) = rosc::decoder::decode_udp(&bytes[..length]).unwrap();
                    let OscPacket::Message(message) = packet else { panic!("{packet:?}") };
                    if message.addr != addr {
                        // The answer to an earlier question, which came late.
                        continue;
                    }
                    let [done, text] = <[OscType; 2]>::try_from(message.args).unwrap();
                    let (done, text) = (done.int().unwrap(), text.string().unwrap());
                    if !text.contains("no costs have been measured") {
                        return (done, text);
                    }
                    std::thread::sleep(Duration::from_millis(100));
                    self.send(addr, args);
                }
                Err(_) => self.send(addr, args),
            }
            assert!(begun.elapsed() < PATIENCE, "no answer");
        }
    }

    /// Asks for the end until it comes. Returns the result and the messages.
    fn quit(self) -> (Value, String) {
        // The run may have ended, and its port with it.
        self.run.end(0, || drop(self.socket.send(b"/quit\0\0\0,\0\0\0")))
    }
}

/// The port that the program says it has.
fn port(message: &str) -> Option<u16> {
    let (_, port) = message.rsplit_once("listens for OSC on 127.0.0.1:")?;
    Some(port.parse().unwrap())
}

fn peak(line: &Value) -> f64 {
    line["peaks"][0]["peak"].as_f64().unwrap()
}

#[test]
fn messages_steer_the_song() {
    let (_folder, file) = session(ENDLESS);
    let mut run = Playing::start(&file, &[]);
    run.run.await_line("sounding", |line| line["song"]["playing"] == true && peak(line) > 0.0);
    run.send("/stop", &[]);
    run.run.await_line("stopped", |line| line["song"]["playing"] == false);
    run.send("/locate", &[OscType::String("9:3".into())]);
    let there = run.run.await_line("there", |line| line["song"]["bar"] == "9.3.000");
    assert_eq!(there["song"]["playing"], false);
    run.send("/locate", &[OscType::Float(2.0)]);
    run.run.await_line("there", |line| line["song"]["seconds"] == 2.0);
    let [position, bar, plays, load, misses, ..] = <[OscType; 8]>::try_from(run.status()).unwrap();
    assert_eq!((position, bar), (OscType::Double(2.0), OscType::String("2.1.000".into())));
    assert_eq!(plays, OscType::Int(0));
    assert!(load.float().unwrap() > 0.0 && misses.int().unwrap() >= 0);

    // A bundle for the year 1900 or 2036 is obeyed at once, in its order.
    let message = |addr: &str, args| OscPacket::Message(OscMessage { addr: addr.into(), args });
    let text = |text: &str| OscType::String(text.into());
    run.send_packet(OscPacket::Bundle(OscBundle {
        timetag: OscTime { seconds: u32::MAX, fractional: 0 },
        content: vec![
            message("/loop", vec![text("3:1"), text("4:1")]),
            message("/locate", vec![text("3:1")]),
            message("/play", vec![]),
        ],
    }));
    let looping = |line: &Value| line["song"]["loop"] == serde_json::json!(["3.1.000", "4.1.000"]);
    run.run.await_line("looping", |line| line["song"]["playing"] == true && looping(line));
    for _ in 0..2 {
        let seconds = run.run.line()["song"]["seconds"].as_f64().unwrap();
        assert!((4.0..6.0).contains(&seconds), "{seconds}");
    }
    run.send("/loop", &[text("off")]);
    run.run.await_line("without a loop", |line| line["song"]["loop"].is_null());
    let (result, messages) = run.quit();
    assert_eq!(result["interrupted"], false);
    assert!(result["osc"]["obeyed"].as_u64().unwrap() >= 9, "{}", result["osc"]);
    assert!(!messages.contains("warning: OSC"), "{messages}");
}

#[test]
fn messages_move_faders() {
    let (_folder, file) = session(ENDLESS);
    let mut run = Playing::start(&file, &[]);
    let (sounds, silent) = (|line: &Value| peak(line) > 0.0, |line: &Value| peak(line) == 0.0);
    run.run.await_line("sounding", sounds);
    let silence = OscType::Float(f32::NEG_INFINITY);
    for (addr, off, on) in [
        ("/strip/master/mute", OscType::Int(1), OscType::Int(0)),
        ("/strip/one/volume", silence, OscType::Float(-3.0)),
        // Alone is heard what makes no sound.
        ("/strip/Room%20Mic/solo", OscType::Bool(true), OscType::Bool(false)),
    ] {
        run.send(addr, &[off]);
        run.run.await_line(addr, silent);
        run.send(addr, &[on]);
        run.run.await_line(addr, sounds);
    }
    run.send("/strip/one/pan", &[OscType::Float(0.5)]);
    run.send("/strip/nobody/mute", &[OscType::Int(1)]);
    run.send("/strip/one/volume", &[OscType::Float(90.0)]);
    run.status();
    let (result, messages) = run.quit();
    assert_eq!(result["osc"]["not_possible"], 2, "{}", result["osc"]);
    assert!(messages.contains("the session has no strip 'nobody'"), "{messages}");
    // The second one of its kind is counted.
    assert!(!messages.contains("a volume of"), "{messages}");
}

#[test]
fn the_sibling_policy_changes_while_it_plays() {
    let (folder, file) = session(ENDLESS);
    let log = folder.path().join("log.jsonl");
    let text = |text: &str| OscType::String(text.into());
    let (seats, _) = seats_of(&Topology::discover().unwrap());
    let args = ["--policy", "off", "--schedule", "dataflow", "--log", log.to_str().unwrap()];
    let mut run = Playing::start(&file, &args);
    let mut changes = vec!["off"];
    if seats.cores() > 1 {
        changes.extend(["reserve-core", "off", "reserve-core"]);
    }
    if seats.has_pairs() {
        changes.extend(["idle-thread", "pair-barrier", "all", "off"]);
    }
    for policy in &changes {
        run.send("/policy", &[text(policy)]);
        run.run.await_line(policy, |line| line["sibling"] == *policy);
        let begun = Instant::now();
        while run.status()[6] != text(policy) {
            assert!(begun.elapsed() < PATIENCE, "never {policy}");
        }
    }
    run.send("/policy", &[text("partition")]);
    run.status();
    let (result, messages) = run.quit();
    assert_eq!(result["sibling"], *changes.last().unwrap());
    let granted = result["policy_granted"].as_str();
    match changes.last() {
        Some(&"reserve-core") => {
            assert!(granted.unwrap().contains("threads on CPUs"), "{granted:?}")
        }
        _ => assert_eq!(granted, None),
    }
    let lines = std::fs::read_to_string(&log).unwrap();
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let logged: Vec<Value> = lines.filter(|line| line["event"] == "change").collect();
    let logged: Vec<&str> = logged.iter().map(|line| line["sibling"].as_str().unwrap()).collect();
    assert_eq!(logged, changes[1..], "the first one was the policy of the start");
    assert!(
        messages.contains("/policy: policy partition begins and ends with a run"),
        "{messages}"
    );
    assert_eq!(result["osc"]["not_possible"], 1, "{}", result["osc"]);

    if !seats.has_pairs() {
        let run = Playing::start(&file, &["--policy", "off"]);
        run.send("/policy", &[text("all")]);
        run.send("/policy", &[text("nothing")]);
        run.status();
        let (result, messages) = run.quit();
        assert_eq!(
            (&result["sibling"], &result["osc"]["not_possible"]),
            (&"off".into(), &2.into())
        );
        assert!(messages.contains("policy all: no two seats share a core here"), "{messages}");
    }
}

#[test]
fn the_schedule_changes_while_it_plays() {
    let (_folder, file) = session(ENDLESS);
    let text = |text: &str| OscType::String(text.into());
    let mut run = Playing::start(&file, &[]);
    run.run.await_line("auto", |line| line["schedule"] == "auto");
    for schedule in ["dataflow", "lists", "steal", "critical", "serial", "auto"] {
        run.send("/schedule", &[text(schedule)]);
        let line = run.run.await_line(schedule, |line| line["schedule"] == schedule);
        let plan = line["plan"].as_str().unwrap();
        assert!(schedule == "auto" || plan.starts_with(schedule), "{plan}");
        // An answer to an earlier question may still be on its way.
        let begun = Instant::now();
        while run.status()[5] != text(schedule) {
            assert!(begun.elapsed() < PATIENCE, "never {schedule}");
        }
    }
    run.send("/schedule", &[text("steal")]);
    run.run.await_line("steal", |line| line["schedule"] == "steal");
    let (result, _) = run.quit();
    assert_eq!(result["schedule"], "steal");

    let mut run = Playing::start(&file, &["--schedule", "dataflow"]);
    run.send("/schedule", &[text("auto")]);
    run.run.await_line("dataflow still", |line| line["schedule"] == "dataflow");
    run.status();
    let (result, messages) = run.quit();
    assert_eq!(
        (&result["schedule"], &result["osc"]["not_possible"]),
        (&"dataflow".into(), &1.into())
    );
    assert!(messages.contains("only a run that began with it"), "{messages}");
}

#[test]
fn the_wait_changes_while_it_plays() {
    let (_folder, file) = session(ENDLESS);
    let text = |text: &str| OscType::String(text.into());
    let mut run = Playing::start(&file, &["--schedule", "dataflow", "--wait", "futex"]);
    run.run.await_line("futex", |line| line["wait"] == "futex");
    for wait in ["spin", "yield", "hybrid", "futex", "pause"] {
        run.send("/wait", &[text(wait)]);
        run.run.await_line(wait, |line| line["wait"] == wait);
    }
    run.send("/wait", &[text("sleep")]);
    run.status();
    let (result, messages) = run.quit();
    assert_eq!((&result["wait"], &result["osc"]["not_possible"]), (&"pause".into(), &1.into()));
    assert!(messages.contains("/wait: give the name of a wait: spin, pause, yield"), "{messages}");
}

#[test]
fn a_burst_of_rubbish_is_counted_and_named_once() {
    let (_folder, file) = session(ENDLESS);
    let mut run = Playing::start(&file, &[]);
    run.run.await_line("playing", |line| line["song"]["playing"] == true);
    let mut runner = TestRunner::deterministic();
    let bytes = proptest::collection::vec(proptest::num::u8::ANY, 0..3000);
    for number in 0..300 {
        let mut packet = bytes.new_tree(&mut runner).unwrap().current();
        match number % 4 {
            // What begins well.
            0 => packet.splice(..0, *b"#bundle\0\0\0\0\0\0\0\0\x01\0\0\0\x10/play\0\0\0").count(),
            1 => packet.splice(..0, *b"/locate\0,fffffff").count(),
            _ => 0,
        };
        // The system may refuse what it has no room for.
        let _ = run.socket.send(&packet);
    }
    run.send("/no/such/thing", &[]);
    run.status();
    let (result, messages) = run.quit();
    let osc = &result["osc"];
    assert!(osc["malformed"].as_u64().unwrap() > 0, "{osc}");
    assert!(osc["packets"].as_u64().unwrap() > osc["malformed"].as_u64().unwrap(), "{osc}");
    let named = messages.lines().filter(|line| line.contains("a packet is no OSC"));
    assert_eq!(named.count(), 1, "{messages}");
    assert!(messages.matches("warning: OSC").count() <= 3, "{messages}");
}

/// Two runs that took each other's answers for questions would never stop, once a packet with a forged sender came.
#[test]
fn an_answer_is_not_answered() {
    let (_folder, file) = session(ENDLESS);
    let run = Playing::start(&file, &[]);
    let (add, args) = ("/strip/one/effect/add", [OscType::Int(1)]);
    let status = run.status();
    let other = UdpSocket::bind("127.0.0.1:0").unwrap();
    other.connect(run.socket.peer_addr().unwrap()).unwrap();
    other.set_nonblocking(true).unwrap();
    for (addr, args) in [("/status", status), (add, vec![OscType::Int(0), text("no effect")])] {
        let message = OscPacket::Message(OscMessage { addr: addr.into(), args });
        other.send(&rosc::encoder::encode(&message).unwrap()).unwrap();
    }
    // What comes behind them is answered, so they would have been.
    let (done, said) = run.ask(add, &args);
    assert!(done == 0 && said.starts_with("give the kind of an effect"), "{said}");
    let nothing = other.recv(&mut [0; 2048]).unwrap_err();
    assert_eq!(nothing.kind(), std::io::ErrorKind::WouldBlock);
    let (result, messages) = run.quit();
    assert!(result["osc"]["not_possible"].as_u64().unwrap() >= 3, "{}", result["osc"]);
    assert!(messages.contains("/status: this is the answer of another run"), "{messages}");
}

#[test]
fn a_run_that_is_steered_ends_with_its_song() {
    let (_folder, file) = one_track("");
    let ran = run(&["play", &file, "--headless", "--osc", "0"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("OSC: 0 messages obeyed"), "{}", ran.out);
}

#[test]
fn a_port_that_is_taken_is_refused_and_one_for_all_is_warned_of() {
    let (_folder, file) = one_track("");
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let words = [port.as_str(), "in use", "choose another port"];
    check_refused(&["play", &file, "--length", "0.1", "--osc", &port], 3, &words);
    // A documentation address, which no computer has.
    let words = ["192.0.2.1:9000", "choose an address of this computer"];
    check_refused(&["play", &file, "--length", "0.1", "--osc", "192.0.2.1:9000"], 3, &words);
    check_refused(&["play", &file, "--osc", "here"], 2, &["--osc", "such as 9000"]);
    let ran = run(&["play", &file, "--length", "0.1", "--osc", "0.0.0.0:0"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("warning: --osc 0.0.0.0:"), "{}", ran.err);
    let ran = run(&["play", &file, "--length", "0.1", "--osc", "[::1]:0"]);
    // Not every machine has IPv6.
    assert!(!ran.err.contains("warning"), "{}", ran.err);
}

fn text(text: &str) -> OscType {
    OscType::String(text.into())
}

/// Whether an effect fits depends on the machine, so it joins by force; the sound shows that it plays.
#[test]
fn an_effect_joins_and_leaves_while_it_plays() {
    let (_folder, file) = session(ENDLESS);
    let mut run = Playing::start(&file, &["--frames", "1024"]);
    run.run.await_line("sounding", |line| peak(line) > 0.0);
    let (done, said) = run.ask("/strip/one/effect/add", &[text("eq"), text("force")]);
    assert!(done == 1 && said.starts_with("one: added eq"), "{said}");
    assert!(said.contains("it needs ") && said.contains(" µs are free"), "{said}");
    // Without its key, a compressor hears its own track.
    let (done, said) = run.ask("/strip/master/effect/add", &[text("compressor"), text("force")]);
    assert!(done == 1 && said.starts_with("master: added compressor"), "{said}");
    let (done, said) = run.ask("/strip/one/effect/remove", &[OscType::Int(1)]);
    assert_eq!((done, said.as_str()), (1, "one: removed eq"));
    for (addr, args, why) in [
        ("/strip/one/effect/remove", OscType::Int(1), "one: it has no effect 1, but 0"),
        (
            "/strip/one/effect/add",
            text("vocoder"),
            "one: there is no effect vocoder: the kinds are",
        ),
        ("/strip/one/effect/add", text("soundfont"), "one: soundfont needs a file"),
        ("/strip/nobody/effect/add", text("eq"), "nobody: the session has no such strip"),
    ] {
        let (done, said) = run.ask(addr, &[args]);
        assert!(done == 0 && said.starts_with(why), "{said}");
    }
    for args in [&[][..], &[OscType::Int(1)], &[text("freeverb"), text("bad")]] {
        let (done, said) = run.ask("/strip/one/effect/add", args);
        assert!(done == 0 && said.starts_with("give the kind of an effect"), "{said}");
    }
    let (done, said) = run.ask("/strip/one/effect/remove", &[text("eq")]);
    assert_eq!((done, said.as_str()), (0, "give a number"));
    // Faders move as before.
    run.send("/strip/one/mute", &[OscType::Int(1)]);
    run.run.await_line("silent", |line| peak(line) == 0.0);
    let (_, messages) = run.quit();
    assert!(messages.contains("one: added eq"), "{messages}");
    assert!(messages.contains("warning: one: there is no effect vocoder"), "{messages}");
}

/// The test plug-in sleeps for longer than a period, on any machine.
#[test]
fn a_plug_in_that_does_not_fit_is_refused_with_what_it_needs() {
    let test = "a_plug_in_that_does_not_fit_is_refused_with_what_it_needs";
    let Some(machine) = Machine::with_test_clap(test, "sleeps") else { return };
    let (_folder, file) = session(ENDLESS);
    let command = |args: &[&str]| machine.command(args);
    let mut run = Playing::start_as(command, &file, &["--frames", "1024"]);
    run.run.await_line("sounding", |line| peak(line) > 0.0);
    let add = "/strip/one/effect/add";
    let plug_in = text("clap:test.hocket.gain");
    let (done, said) = run.ask(add, std::slice::from_ref(&plug_in));
    let why = "one: clap:test.hocket.gain is not added: it needs ";
    assert!(done == 0 && said.starts_with(why), "{said}");
    assert!(said.contains("ask again with \"force\""), "{said}");
    // In a process of its own it takes the engine no time, but its answers come too late.
    let (done, said) = run.ask(add, &[plug_in.clone(), text("isolate")]);
    assert!(done == 0 && said.contains("it failed in ") && said.contains("or was late"), "{said}");
    let (done, said) = run.ask(add, &[plug_in, text("isolate"), text("force")]);
    let forced = "one: added clap:test.hocket.gain, as asked, although it does not fit: ";
    assert!(done == 1 && said.starts_with(forced), "{said}");
    run.quit();
}
