//! A program on a real pseudo-terminal of its own: its picture, keys for it, and how it leaves the terminal.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};

use crate::sentry::pseudo_terminal;

/// Only there to end a hang.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// A terminal of 80 by 24, and the name by which a program opens it.
pub struct Pty {
    master: OwnedFd,
    slave: String,
    /// Keeps the modes alive, and shows them.
    modes: File,
}

impl Pty {
    pub fn open() -> Pty {
        let (master, slave) = pseudo_terminal();
        let modes = open(&slave, OFlags::NOCTTY);
        let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&modes, size).unwrap();
        Pty { master, slave, modes }
    }

    pub fn modes(&self) -> Modes {
        Modes::of(&tcgetattr(&self.modes).unwrap())
    }

    /// Starts a program with this terminal as its own; its messages go elsewhere. `None`: this system cannot do so.
    pub fn start(&self, program: &Command) -> Option<Child> {
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(program.get_program()).args(program.get_args());
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let end = || Stdio::from(open(&self.slave, OFlags::NOCTTY));
        command.env("TERM", "xterm-256color").stdin(end()).stdout(end()).stderr(Stdio::null());
        command.spawn().ok()
    }

    /// Fills the terminal until it takes no more.
    pub fn stall(&self) {
        let mut end = open(&self.slave, OFlags::NOCTTY | OFlags::NONBLOCK);
        while end.write(&[b'.'; 256]).is_ok() {}
        while end.write(b".").is_ok() {}
    }

    /// Reads in a thread of its own, so that the terminal never stands still.
    pub fn read(&self) -> Reading {
        let text = Arc::new(Mutex::new(String::new()));
        let (mut master, to) = (File::from(self.master.try_clone().unwrap()), Arc::clone(&text));
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = master.read(&mut bytes) {
                to.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        Reading { text, keys: File::from(self.master.try_clone().unwrap()) }
    }
}

fn open(path: &str, flags: OFlags) -> File {
    OpenOptions::new().read(true).write(true).custom_flags(flags.bits() as i32).open(path).unwrap()
}

/// What a program changes that reads keys.
#[derive(Debug, PartialEq, Eq)]
pub struct Modes(u32, u32, u32, u32);

impl Modes {
    fn of(all: &Termios) -> Modes {
        let [input, output] = [all.input_modes.bits(), all.output_modes.bits()];
        Modes(input, output, all.control_modes.bits(), all.local_modes.bits())
    }
}

pub struct Reading {
    text: Arc<Mutex<String>>,
    keys: File,
}

impl Reading {
    pub fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for a word of the picture, which is drawn anew until it comes: else only what changed is sent.
    #[track_caller]
    pub fn await_word(&mut self, word: &str) {
        let begun = Instant::now();
        let from = self.text.lock().unwrap().len();
        while !self.text.lock().unwrap()[from..].contains(word) {
            assert!(begun.elapsed() < PATIENCE, "nothing of '{word}': {:?}", self.text.lock());
            self.press("\x0c");
            std::thread::sleep(Duration::from_millis(150));
        }
    }

    pub fn text(&self) -> String {
        // What was written before the program ended is there a moment later.
        std::thread::sleep(Duration::from_millis(300));
        self.text.lock().unwrap().clone()
    }
}

pub fn end(child: &mut Child) -> ExitStatus {
    let begun = Instant::now();
    loop {
        match child.try_wait().unwrap() {
            Some(status) => return status,
            None if begun.elapsed() > PATIENCE => {
                child.kill().unwrap();
                panic!("the program did not end");
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// Says that a test did not run, because programs cannot be started on a terminal here.
pub fn missing(test: &str) {
    println!("SKIPPED {test}: no setsid (Debian: util-linux)");
}
