//! A run of `hocket play` that prints a JSON object each second: what the tests of OSC and of the page share.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::hocket;

/// Only there to end a hang.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// A song without end: one track that sounds all the time, and one without a sound.
pub const ENDLESS: &str = "[session]\nname = \"try\"\nsample_rate_hz = 44100\n\n\
    [[track]]\nname = \"one\"\nclip = [{ file = \"loop.flac\", loop = true }]\n\n\
    [[track]]\nname = \"Room Mic\"\n";

pub struct JsonRun {
    child: Child,
    out: BufReader<ChildStdout>,
    /// The messages behind the one that was looked for.
    messages: JoinHandle<String>,
}

impl JsonRun {
    /// Starts it, and reads messages until `found` finds something in one. Returns that, too.
    #[track_caller]
    pub fn start<T>(args: &[&str], found: impl Fn(&str) -> Option<T>) -> (JsonRun, T) {
        JsonRun::start_as(hocket, args, found)
    }

    /// The same for a program that `command` starts with these arguments.
    #[track_caller]
    pub fn start_as<T>(
        command: impl Fn(&[&str]) -> Command,
        args: &[&str],
        found: impl Fn(&str) -> Option<T>,
    ) -> (JsonRun, T) {
        let args = [&["play", "--headless", "--json"][..], args].concat();
        let mut command = command(&args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut err = BufReader::new(child.stderr.take().unwrap());
        let mut read = String::new();
        let found = loop {
            assert!(err.read_line(&mut read).unwrap() > 0, "no such message: {read}");
            if let Some(found) = read.trim_end().lines().last().and_then(&found) {
                break found;
            }
        };
        let messages = std::thread::spawn(move || {
            let mut text = String::new();
            err.read_to_string(&mut text).unwrap();
            text
        });
        let out = BufReader::new(child.stdout.take().unwrap());
        (JsonRun { child, out, messages }, found)
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The next object.
    pub fn line(&mut self) -> Value {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// Reads objects until one is as it should be.
    #[track_caller]
    pub fn await_line(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let line = self.line();
            if is_it(&line) {
                return line;
            }
            assert!(begun.elapsed() < PATIENCE, "never {what}: {line:#}");
        }
    }

    /// Asks for its end until it comes with this exit code. Returns the last object and the messages.
    #[track_caller]
    pub fn end(mut self, code: i32, mut ask: impl FnMut()) -> (Value, String) {
        let begun = Instant::now();
        let status = loop {
            ask();
            match self.child.try_wait().unwrap() {
                Some(status) => break status,
                None => std::thread::sleep(Duration::from_millis(50)),
            }
            if begun.elapsed() > PATIENCE {
                self.child.kill().unwrap();
                panic!("the program did not end");
            }
        };
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).unwrap();
        let messages = self.messages.join().unwrap();
        assert_eq!(status.code(), Some(code), "{messages}");
        assert!(!messages.contains("panicked"), "{messages}");
        let last = rest.lines().last().unwrap();
        (serde_json::from_str(last).unwrap(), messages)
    }
}
