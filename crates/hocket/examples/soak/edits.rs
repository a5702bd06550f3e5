//! Edits at random, by OSC, that a seed repeats.

use std::net::UdpSocket;
use std::time::Duration;

use rosc::{OscMessage, OscPacket, OscType};

use crate::session::STRIPS;

/// The song is located within this.
const SONG_S: u64 = 60;
const SCHEDULES: [&str; 6] = ["auto", "serial", "lists", "dataflow", "steal", "critical"];

/// Sends edits, and counts them.
pub struct Edits {
    random: u64,
    sent: u64,
    transport: u64,
    /// The song stands still, so the next edit lets it go on.
    is_stopped: bool,
}

impl Edits {
    /// Answers to `/status` are not waited for.
    pub fn new(seed: u64, socket: &UdpSocket) -> Edits {
        // What cannot be set is a socket that waits for nothing anyway.
        let _ = socket.set_nonblocking(true);
        Edits { random: seed | 1, sent: 0, transport: 0, is_stopped: false }
    }

    /// Messages that were sent.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Those that stop, start or move the song: each breaks the counting once at most.
    pub fn transport(&self) -> u64 {
        self.transport
    }

    /// How long until the next one.
    pub fn pause(&mut self) -> Duration {
        Duration::from_millis(20 + self.below(180))
    }

    /// Sends one.
    pub fn next(&mut self, socket: &UdpSocket) {
        let (addr, args) = self.edit();
        self.sent += 1;
        let message = OscMessage { addr, args };
        if let Ok(bytes) = rosc::encoder::encode(&OscPacket::Message(message)) {
            // What is lost here is an edit less.
            let _ = socket.send(&bytes);
        }
        // The answers to earlier questions.
        while socket.recv(&mut [0; 512]).is_ok() {}
    }

    fn edit(&mut self) -> (String, Vec<OscType>) {
        if std::mem::take(&mut self.is_stopped) {
            self.transport += 1;
            return ("/play".into(), Vec::new());
        }
        let strip = STRIPS[self.below(STRIPS.len() as u64) as usize];
        let of_strip = |what: &str| format!("/strip/{strip}/{what}");
        let number = |number: f32| vec![OscType::Float(number)];
        match self.below(20) {
            0 => {
                (self.is_stopped, self.transport) = (true, self.transport + 1);
                ("/stop".into(), Vec::new())
            }
            1 => {
                self.transport += 1;
                let position = self.below(1000 * SONG_S) as f32 / 1000.0;
                ("/locate".into(), number(position))
            }
            2 => {
                let schedule = SCHEDULES[self.below(6) as usize];
                ("/schedule".into(), vec![OscType::String(schedule.into())])
            }
            3 => ("/status".into(), Vec::new()),
            4..=6 => (of_strip("mute"), number(self.below(2) as f32)),
            7..=8 => (of_strip("solo"), number(u64::from(self.below(4) == 0) as f32)),
            9..=13 => (of_strip("pan"), number(self.below(201) as f32 / 100.0 - 1.0)),
            _ => (of_strip("volume"), number(self.below(360) as f32 / 10.0 - 36.0)),
        }
    }

    /// SplitMix64.
    fn below(&mut self, most: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % most
    }
}
