//! `hocket play --web`: a real program on the virtual device, and requests over real TCP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::net::sockopt::set_socket_recv_buffer_size;
use serde_json::{Value, json};

use crate::json_run::{ENDLESS, JsonRun, PATIENCE};
use crate::support::{check_refused, one_track, run, session};

/// A run with a page.
pub struct Playing {
    pub run: JsonRun,
    /// For a browser, with the token if there is one.
    pub url: String,
    address: SocketAddr,
}

impl Playing {
    pub fn start(file: &str, more: &[&str]) -> Playing {
        let (run, url) = JsonRun::start(&[&[file, "--web=0"][..], more].concat(), url);
        let address = url.split('/').nth(2).unwrap().parse().unwrap();
        Playing { run, url, address }
    }

    /// Steered by a token that the program makes.
    pub fn steered(file: &str) -> Playing {
        Playing::start(file, &["--web-token", "random"])
    }

    fn token(&self) -> &str {
        self.url.split_once("#token=").expect("a token").1
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// The answer to these bytes.
    fn ask(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        // What is refused before its end may not be taken to its end.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let read = stream.read_to_end(&mut answer);
        assert!(read.is_ok() || !answer.is_empty(), "{read:?}");
        String::from_utf8(answer).unwrap()
    }

    /// A request with the program's own host.
    fn request(&self, line: &str, headers: &str, body: &str) -> String {
        let (host, length) = (self.address, body.len());
        let text = format!(
            "{line} HTTP/1.1\r\nHost: {host}\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
        );
        self.ask(text.as_bytes())
    }

    /// A command with the token. Returns what was done.
    #[track_caller]
    fn command(&self, path: &str, body: &str) -> String {
        let authorization = format!("Authorization: Bearer {}\r\n", self.token());
        let answer = self.request(&format!("POST {path}"), &authorization, body);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{path}: {answer}");
        answer.split_once("\r\n\r\n").unwrap().1.trim().to_owned()
    }

    pub fn watch(&self) -> Watching {
        let mut stream = self.connect();
        let ask = format!("GET /events HTTP/1.1\r\nHost: {}\r\n\r\n", self.address);
        stream.write_all(ask.as_bytes()).unwrap();
        let mut lines = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(lines.read_line(&mut head).unwrap() > 0, "no head: {head}");
        }
        Watching { head, lines }
    }

    /// Ends it by a signal. Returns the result and the messages.
    pub fn end(self) -> (Value, String) {
        let args = ["-TERM".to_owned(), self.run.id().to_string()];
        assert!(Command::new("kill").args(args).status().unwrap().success());
        self.run.end(130, || ())
    }
}

/// The address that the program prints.
fn url(message: &str) -> Option<String> {
    let (_, url) = message.split_once("page: ")?;
    Some(url.split(' ').next().unwrap().to_owned())
}

/// A stream of events.
pub struct Watching {
    head: String,
    lines: BufReader<TcpStream>,
}

impl Watching {
    /// The next event, or `None` where the stream has ended.
    fn event(&mut self) -> Option<(String, Value)> {
        let mut name = String::new();
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            if let Some(text) = line.strip_prefix("event: ") {
                name = text.trim_end().to_owned();
            } else if let Some(data) = line.strip_prefix("data: ") {
                return Some((name, serde_json::from_str(data).unwrap()));
            }
        }
    }

    /// The next event of this name.
    #[track_caller]
    fn await_event(&mut self, name: &str) -> Value {
        loop {
            let (known, data) = self.event().expect(name);
            if known == name {
                return data;
            }
        }
    }
}

#[track_caller]
fn check_status(answer: &str, status: u32, word: &str) {
    let begins = format!("HTTP/1.1 {status} ");
    assert!(answer.starts_with(&begins) && answer.contains(word), "no {status}, {word}: {answer}");
}

#[test]
fn a_watcher_sees_the_run() {
    let (_folder, file) = session(ENDLESS);
    let run = Playing::start(&file, &[]);
    let mut watching = run.watch();
    check_status(&watching.head, 200, "text/event-stream");
    let facts = watching.await_event("facts");
    assert_eq!((&facts["steers"], &facts["classes"]), (&json!(false), &json!(30)));
    assert_eq!(facts["most_updates_per_s"], 30);
    let first = watching.await_event("now");
    assert_eq!(first["format"], "hocket-play-now/1");
    assert_eq!(first["session"], "try");
    assert_eq!(first["periods_by_5_percent_of_the_deadline"].as_array().unwrap().len(), 30);
    assert!(first["device"][0].as_str().unwrap().contains("virtual"), "{first}");
    let strips = watching.await_event("strips");
    let names: Vec<&Value> = strips.as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["one", "Room Mic", "master"]);
    let played = |now: &Value| now["played_s"].as_f64().unwrap();
    let begun = Instant::now();
    while watching.await_event("now")["peaks"][0]["peak"].as_f64().unwrap() == 0.0 {
        assert!(begun.elapsed() < PATIENCE, "no sound");
    }
    for _ in 0..30 {
        watching.await_event("now");
    }
    assert!(played(&watching.await_event("now")) > played(&first));
    let (result, messages) = run.end();
    assert!(result["web"]["updates"].as_u64().unwrap() >= 30, "{}", result["web"]);
    assert!(!messages.contains("warning: page"), "{messages}");
    // What was on its way before comes first.
    while let Some((name, _)) = watching.event() {
        if name == "end" {
            return;
        }
    }
    panic!("nobody says that the run has ended");
}

/// 30 a second are the most. How many there are depends on the machine, so that is printed alone.
#[test]
fn a_watcher_gets_each_update_that_was_sent_and_at_most_thirty_a_second() {
    const UPDATES: u32 = 75;
    let (_folder, file) = session(ENDLESS);
    let run = Playing::start(&file, &[]);
    let begun = Instant::now();
    let mut watching = run.watch();
    let played: Vec<f64> =
        (0..UPDATES).map(|_| watching.await_event("now")["played_s"].as_f64().unwrap()).collect();
    let took = begun.elapsed();
    // The first one comes at once, and the second one may.
    assert!(took >= Duration::from_nanos(1_000_000_000 / 30) * (UPDATES - 2), "{took:?}");
    assert!(played.is_sorted(), "{played:?}");
    let (result, _) = run.end();
    let rest = std::iter::from_fn(|| watching.event()).filter(|(name, _)| name == "now").count();
    let web = &result["web"];
    assert_eq!(web["updates"].as_u64(), Some(u64::from(UPDATES) + rest as u64), "{web}");
    let per_second = f64::from(UPDATES) / took.as_secs_f64();
    println!("{per_second:.1} updates per second, {} skipped", web["updates_skipped"]);
}

#[test]
fn the_page_is_whole_and_lets_nothing_else_run() {
    let (_folder, file) = session(ENDLESS);
    let run = Playing::start(&file, &[]);
    let nonce = |page: &str| {
        let (_, rest) = page.split_once("script-src 'nonce-").expect("a policy");
        rest.split_once('\'').unwrap().0.to_owned()
    };
    let [one, other] = [(); 2].map(|()| run.request("GET /", "", ""));
    for page in [&one, &other] {
        check_status(page, 200, "frame-ancestors 'none'");
        assert!(page.ends_with("</html>\n"), "{page}");
        assert_eq!(page.matches(&format!("nonce=\"{}\"", nonce(page))).count(), 2);
        assert!(page.contains("--paper:") && !page.contains("{theme}"));
        for foreign in ["http://", "https://", "innerHTML", " onclick", "@import"] {
            let body = page.split_once("\r\n\r\n").unwrap().1;
            let body = body.replace("http://www.w3.org/2000/svg", "");
            assert!(!body.contains(foreign), "{foreign}");
        }
    }
    assert_ne!(nonce(&one), nonce(&other));
    let (result, _) = run.end();
    assert_eq!(result["web"]["pages"], 2);
}

#[test]
fn without_a_token_nobody_steers() {
    let (_folder, file) = session(ENDLESS);
    let run = Playing::start(&file, &[]);
    for headers in ["", "Authorization: Bearer 0123456789abcdef\r\n"] {
        check_status(&run.request("POST /stop", headers, ""), 403, "--web-token");
    }
    let mut watching = run.watch();
    for _ in 0..5 {
        assert_eq!(watching.await_event("now")["song"]["playing"], true);
    }
    let (result, messages) = run.end();
    assert_eq!((&result["web"]["forbidden"], &result["web"]["obeyed"]), (&json!(2), &json!(0)));
    assert_eq!(messages.matches("warning: page, request from 127.0.0.1:").count(), 1, "{messages}");
}

#[test]
fn the_token_steers_the_song_and_its_strips() {
    let (_folder, file) = session(ENDLESS);
    let mut run = Playing::steered(&file);
    check_status(&run.request("POST /stop", "", ""), 401, "needs the token");
    let wrong = "Authorization: Bearer 0123456789abcdef0123456789abcdef\r\n";
    check_status(&run.request("POST /stop", wrong, ""), 401, "not the token");
    assert_eq!(run.command("/token", ""), "this token steers");

    let peak = |line: &Value| line["peaks"][0]["peak"].as_f64().unwrap();
    let (sounds, silent) = (|line: &Value| peak(line) > 0.0, |line: &Value| peak(line) == 0.0);
    run.run.await_line("sounding", |line| line["song"]["playing"] == true && sounds(line));
    let strips = run.watch().await_event("strips");
    assert_eq!((&strips[0]["volume_db"], &strips[0]["heard"]), (&json!(0.0), &json!(true)));
    for (path, off, on) in [
        ("/strip/master/mute", "[true]", "[false]"),
        ("/strip/one/volume", "[null]", "[-3]"),
        ("/strip/Room%20Mic/solo", "1", "0"),
    ] {
        run.command(path, off);
        run.run.await_line(path, silent);
        run.command(path, on);
        run.run.await_line(path, sounds);
    }
    // Every change of a strip is sent to all.
    let mut watching = run.watch();
    let strips = watching.await_event("strips");
    assert_eq!((&strips[0]["volume_db"], &strips[1]["solo"]), (&json!(-3.0), &json!(false)));
    run.command("/strip/one/pan", "[0.5]");
    assert_eq!(watching.await_event("strips")[0]["pan"], 0.5);
    drop(watching);

    run.command("/stop", "");
    run.run.await_line("stopped", |line| line["song"]["playing"] == false);
    run.command("/locate", "[\"9:3\"]");
    run.run.await_line("there", |line| line["song"]["bar"] == "9.3.000");
    assert_eq!(run.command("/loop", "[\"3:1\", \"4:1\"]"), "loop on: 3.1.000 to 4.1.000");
    run.run.await_line("looping", |line| line["song"]["loop"] == json!(["3.1.000", "4.1.000"]));
    run.command("/loop", "\"off\"");
    run.command("/play", "");
    run.run.await_line("playing", |line| {
        line["song"]["playing"] == true && line["song"]["loop"].is_null()
    });

    let authorization = format!("Authorization: Bearer {}\r\n", run.token());
    for (path, body, status, word) in [
        ("/strip/nobody/mute", "[1]", 409, "no strip 'nobody'"),
        ("/strip/one/volume", "[90]", 409, "at most 24"),
        ("/strip/one/volume", "[\"loud\"]", 400, "give a number"),
        ("/strip/one/volume", "{", 400, "no JSON"),
        ("/locate", "[\"x:y\"]", 400, "such as 9:1"),
        ("/notes/off", "", 409, "no notes come in"),
        ("/no/such/thing", "", 404, "nothing at"),
        ("/quit", "", 404, "the song and its strips alone"),
        ("/schedule", "[\"serial\"]", 404, "alone"),
    ] {
        let answer = run.request(&format!("POST {path}"), &authorization, body);
        check_status(&answer, status, word);
    }
    let (result, _) = run.end();
    let web = &result["web"];
    assert_eq!((&web["forbidden"], &web["not_possible"]), (&json!(2), &json!(9)), "{web}");
    assert_eq!(web["obeyed"], 12, "{web}");
}

#[test]
fn other_hosts_and_other_pages_are_refused() {
    let (_folder, file) = session(ENDLESS);
    let run = Playing::steered(&file);
    let authorization = format!("Authorization: Bearer {}", run.token());
    for (headers, status) in [
        ("Host: evil.example".to_owned(), 403),
        (format!("Host: evil.example:{}", run.address.port()), 403),
        ("Host: 192.168.1.5".to_owned(), 403),
        ("Accept: */*".to_owned(), 400),
        (format!("Host: {}\r\nOrigin: http://evil.example", run.address), 403),
        (format!("Host: {}\r\nOrigin: null", run.address), 403),
        (format!("Host: {}\r\nSec-Fetch-Site: cross-site", run.address), 403),
    ] {
        for line in ["POST /stop", "GET /events"] {
            let text = format!("{line} HTTP/1.1\r\n{headers}\r\n{authorization}\r\n\r\n");
            check_status(&run.ask(text.as_bytes()), status, "");
        }
    }
    // A tunnel has a port of its own.
    let text = format!(
        "POST /stop HTTP/1.1\r\nHost: localhost:1\r\nOrigin: http://localhost:1\r\n{authorization}\r\n\r\n"
    );
    check_status(&run.ask(text.as_bytes()), 200, "stopped");
    let (result, _) = run.end();
    assert_eq!(result["web"]["obeyed"], 1);
}

#[test]
fn rubbish_is_refused_and_counted() {
    let (_folder, file) = session(ENDLESS);
    let run = Playing::start(&file, &[]);
    let large = |what: usize| "x".repeat(what);
    check_status(&run.ask(format!("GET /{} HTTP/1.1\r\n", large(20_000)).as_bytes()), 431, "large");
    check_status(&run.request("POST /stop", "", &large(2_000)), 413, "too large");
    let chunks = "Transfer-Encoding: chunked\r\n";
    check_status(&run.request("POST /stop", chunks, ""), 400, "chunks");
    check_status(&run.ask(b"\x16\x03\x01\x02\x00\x01\r\n\r\n"), 400, "no ASCII");
    check_status(&run.ask(b"GET / HTTP/2\r\n\r\n"), 400, "HTTP/1.1");
    check_status(&run.request("GET /etc/passwd", "", ""), 404, "nothing here");
    check_status(&run.request("DELETE /", "", ""), 405, "Allow: GET, POST");
    let (result, _) = run.end();
    assert_eq!(result["web"]["malformed"], 5, "{}", result["web"]);
}

#[test]
fn a_hundred_connections_that_hang_hold_nothing_up() {
    let (_folder, file) = session(ENDLESS);
    let mut run = Playing::steered(&file);
    let hanging: Vec<TcpStream> = (0..100)
        .map(|number| {
            let mut stream = run.connect();
            match number % 3 {
                0 => {}
                1 => stream.write_all(b"GET / HT").unwrap(),
                _ => stream.write_all(b"POST /play HTTP/1.1\r\nContent-Length: 9\r\n\r\n").unwrap(),
            }
            stream
        })
        .collect();
    check_status(&run.request("GET /", "", ""), 200, "</html>");
    assert_eq!(run.command("/stop", ""), "stopped");
    run.run.await_line("stopped", |line| line["song"]["playing"] == false);
    assert_eq!(run.command("/play", ""), "playing");
    let before = run.run.await_line("playing", |line| line["song"]["playing"] == true);
    run.watch().await_event("now");
    let later = run.run.line();
    assert!(later["blocks"].as_u64() > before["blocks"].as_u64(), "{later}");
    // They are open still.
    let (result, messages) = run.end();
    drop(hanging);
    assert_eq!(result["web"]["obeyed"], 2, "{messages}");
}

#[test]
fn a_hundred_watchers_are_too_many() {
    let (_folder, file) = session(ENDLESS);
    let run = Playing::steered(&file);
    let watching: Vec<Watching> = (0..100).map(|_| run.watch()).collect();
    let is_in = |it: &&Watching| it.head.starts_with("HTTP/1.1 200 ");
    assert_eq!(watching.iter().filter(is_in).count(), 16);
    for it in watching.iter().filter(|it| !is_in(it)) {
        check_status(&it.head, 503, "");
    }
    // Commands come through.
    assert_eq!(run.command("/stop", ""), "stopped");
    for mut it in watching.into_iter().filter(|it| is_in(&it)) {
        it.await_event("now");
    }
    run.end();
}

#[test]
fn a_watcher_that_takes_nothing_is_skipped() {
    let (_folder, file) = session(ENDLESS);
    let run = Playing::start(&file, &[]);
    let slow = run.watch();
    set_socket_recv_buffer_size(slow.lines.get_ref(), 4096).unwrap();
    let mut watching = run.watch();
    // What the system keeps on both sides is full before that.
    for _ in 0..200 {
        watching.await_event("now");
    }
    let (result, _) = run.end();
    let web = &result["web"];
    assert!(web["updates_skipped"].as_u64().unwrap() > 0, "{web}");
}

#[test]
fn a_run_that_is_steered_ends_with_its_song_and_one_that_is_watched_does_so_too() {
    let (_folder, file) = one_track("");
    for more in [&[][..], &["--web-token", "random"]] {
        let ran = run(&[&["play", &file, "--headless", "--web=0"], more].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert!(ran.out.contains("page: loaded 0 times, 0 commands obeyed"), "{}", ran.out);
    }
}

#[test]
fn a_port_that_is_taken_and_a_network_that_nobody_asked_for_are_refused() {
    let (_folder, file) = one_track("");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let web = format!("--web={port}");
    let play = |more: &[&'static str]| [&["play", &file, "--length", "0.1"][..], more].concat();
    let ran = run(&["play", &file, "--length", "0.1", &web]);
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    for word in ["--web=", port.as_str(), "in use", "choose another port"] {
        assert!(ran.err.contains(word), "{word}: {}", ran.err);
    }
    check_refused(&play(&["--web=0.0.0.0:0"]), 2, &["--web=0.0.0.0:0", "--web-anywhere"]);
    check_refused(&play(&["--web=here"]), 2, &["--web", "such as 9000"]);
    check_refused(&play(&["--web-token", "random"]), 2, &["--web"]);
    check_refused(&play(&["--web-anywhere"]), 2, &["--web"]);
    // A documentation address, which no computer has.
    let elsewhere = play(&["--web=192.0.2.1:9000", "--web-anywhere"]);
    check_refused(&elsewhere, 3, &["192.0.2.1:9000", "choose an address of this computer"]);
    let ran = run(&play(&["--web=0.0.0.0:0", "--web-anywhere", "--web-token", "random"]));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("nothing is encrypted"), "{}", ran.err);
    assert!(ran.err.contains("page: http://127.0.0.1:"), "{}", ran.err);
}

#[test]
fn a_token_in_a_file_is_read_and_never_printed() {
    let (folder, file) = session(ENDLESS);
    let path = folder.path().join("token");
    let set = |text: &str, mode| {
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
    };
    let name = path.display().to_string();
    let args = ["play", &file, "--length", "0.1", "--web=0", "--web-token", &name];
    check_refused(&args, 2, &["--web-token", "token", "No such file", "--web-token random"]);
    for wrong in ["", "short\n", "with spaces in it, which is no token\n"] {
        set(wrong, 0o600);
        check_refused(&args, 2, &["holds no token", "16 to 256"]);
    }
    set("0123456789abcdef-_\n", 0o644);
    let ran = run(&args);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("other users can read it: chmod 600"), "{}", ran.err);
    assert!(!ran.err.contains("0123456789abcdef"), "{}", ran.err);

    set("0123456789abcdef-_\n", 0o600);
    let run = Playing::start(&file, &["--web-token", &name]);
    let bearer = "Authorization: Bearer 0123456789abcdef-_\r\n";
    check_status(&run.request("POST /stop", bearer, ""), 200, "stopped");
    let (_, messages) = run.end();
    assert!(!messages.contains("warning: --web"), "{messages}");
}

#[test]
fn a_sender_that_has_said_everything_is_answered() {
    let (_folder, file) = session(ENDLESS);
    let run = Playing::start(&file, &[]);
    let mut stream = run.connect();
    let ask = format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", run.address);
    stream.write_all(ask.as_bytes()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    check_status(&answer, 200, "</html>");
    run.end();
}

/// The commands of docs/play.md for scripts, as written but for the port: each is done.
#[test]
fn the_pages_commands_for_scripts_are_done() {
    const TEST: &str = "the_pages_commands_for_scripts_are_done";
    let page = std::fs::read_to_string(crate::support::root().join("docs/play.md")).unwrap();
    let commands: Vec<&str> =
        page.lines().map(str::trim_start).filter(|line| line.starts_with("curl ")).collect();
    assert!(commands.len() >= 2, "{commands:?}");
    if Command::new("curl").arg("--version").output().is_err() {
        println!("SKIPPED {TEST}: curl is not installed");
        return;
    }
    let playing = Playing::steered(crate::support::example("band.toml").to_str().unwrap());
    for written in commands {
        let line = written.replace("127.0.0.1:4625", &playing.address.to_string());
        let line = line.replace("curl ", "curl --silent --noproxy '*' --fail-with-body ");
        let mut shell = Command::new("sh");
        shell.args(["-c", &line]).env("TOKEN", playing.token());
        let ran: crate::support::Ran = shell.output().unwrap().into();
        assert_eq!(ran.code, Some(0), "`{written}`: {}{}", ran.out, ran.err);
    }
    playing.end();
}
