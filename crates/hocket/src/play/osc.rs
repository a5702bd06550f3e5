//! `--osc`: programs and controllers steer a run by OSC messages over UDP.
//!
//! An ordinary thread of its own receives packets, and asks what they ask of the same steering as the keys. It shares
//! nothing with audio threads but what [`Steering`] and [`Strips`] send through the engine's handle.

pub(super) mod request;

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use hocket_lab::foreign;
use rosc::{OscMessage, OscPacket, OscType};
use serde_json::{Value, json};

use super::additions::{Additions, Answer};
use super::listen::{ListenAddress, remedy};
use super::steering::{Steered, Steering};
use super::strips::Strips;
use crate::failure::Failure;
use crate::output::{detail, note, tell};
use request::{Asked, LARGEST, Refusal, Request, is_answered, requests};

/// How long it waits for a packet before it looks whether the run has ended.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Packets are counted in spans of this length.
const SPAN: Duration = Duration::from_millis(100);
/// So many packets are taken in a span; the others wait in the system's buffer, or are lost where that is full.
const MESSAGES_A_SPAN: u32 = 100;
/// How long it waits after the socket has failed.
const AFTER_FAILURE: Duration = Duration::from_millis(20);

/// A port that is Hocket's.
pub(super) struct Listener {
    socket: UdpSocket,
    address: SocketAddr,
}

impl Listener {
    /// Takes the port, and tells which one it is.
    ///
    /// # Errors
    /// Another program has it, or the address is none of this computer's: exit code 3.
    pub(super) fn open(ListenAddress(asked): ListenAddress) -> Result<Listener, Failure> {
        let refused = |error: std::io::Error| {
            let what_to_do = remedy(&error);
            Failure::not_possible(format!("--osc {asked}: {error}; {what_to_do}"))
        };
        let socket = UdpSocket::bind(asked).map_err(refused)?;
        socket.set_read_timeout(Some(LOOK_EVERY)).map_err(refused)?;
        let address = socket.local_addr().map_err(refused)?;
        if !address.ip().is_loopback() {
            tell(format_args!(
                "warning: --osc {address}: every computer that reaches this address can steer and end this run, because \
                 OSC has no passwords"
            ));
        }
        note(format_args!("listens for OSC on {address}"));
        Ok(Listener { socket, address })
    }

    /// Obeys packets until the run ends. Returns what came.
    ///
    /// Thread: its own, control.
    pub(super) fn run(
        self,
        steering: Steering<'_>,
        strips: &Strips,
        additions: Additions,
    ) -> Heard {
        let heard = Heard { address: self.address, ..Heard::default() };
        let mut server = Server { socket: self.socket, steering, strips, additions, heard };
        let (mut span, mut count) = (Instant::now(), 0);
        while !server.has_ended() {
            if span.elapsed() >= SPAN {
                (span, count) = (Instant::now(), 0);
            }
            if count >= MESSAGES_A_SPAN {
                std::thread::sleep(SPAN.saturating_sub(span.elapsed()));
                continue;
            }
            count += server.receive();
        }
        server.heard
    }
}

/// What came during a run.
#[derive(Debug, Clone)]
pub(super) struct Heard {
    address: SocketAddr,
    /// Packets.
    packets: u64,
    /// Messages that were obeyed.
    obeyed: u64,
    /// Packets that are no OSC, messages with an unknown address, messages that were not possible.
    refused: [u64; 3],
}

impl Default for Heard {
    fn default() -> Heard {
        let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
        Heard { address, packets: 0, obeyed: 0, refused: [0; 3] }
    }
}

impl Heard {
    /// For people.
    pub(super) fn line(&self) -> String {
        let Heard { packets, obeyed, refused: [malformed, unknown, not_possible], .. } = self;
        format!(
            "OSC: {obeyed} messages obeyed; {malformed} packets were no OSC, {unknown} messages had an unknown address, \
             {not_possible} asked for what is not possible ({packets} packets)"
        )
    }

    /// For programs.
    pub(super) fn json(&self) -> Value {
        let [malformed, unknown, not_possible] = self.refused;
        json!({
            "address": self.address.to_string(),
            "packets": self.packets,
            "obeyed": self.obeyed,
            "malformed": malformed,
            "unknown": unknown,
            "not_possible": not_possible,
        })
    }

    /// Counts, and names the first one of its kind.
    fn refuse(&mut self, refusal: &Refusal, from: SocketAddr) {
        let kind = match refusal {
            Refusal::Malformed(_) => 0,
            Refusal::Unknown(_) => 1,
            Refusal::NotPossible(..) | Refusal::IsAnswer(_) => 2,
        };
        self.refused[kind] += 1;
        let what = foreign::plain(&refusal.text());
        match self.refused[kind] {
            1 => tell(format_args!(
                "warning: OSC from {from}: {what} (further ones of this kind are counted)"
            )),
            _ => detail(format_args!("OSC from {from}: {what}")),
        }
    }
}

/// Obeys messages.
struct Server<'a> {
    socket: UdpSocket,
    steering: Steering<'a>,
    strips: &'a Strips,
    additions: Additions,
    heard: Heard,
}

impl Server<'_> {
    /// Also where the user has asked for the end: what comes later is not for this run.
    fn has_ended(&self) -> bool {
        self.steering.live().has_ended() || self.steering.live().has_quit()
    }

    /// Takes a packet, if one comes soon. Returns how many messages came: a bundle has several, and what is no OSC counts
    /// as one.
    fn receive(&mut self) -> u32 {
        // One byte more than is read shows that a packet is too large.
        let mut bytes = [0; LARGEST + 1];
        match self.socket.recv_from(&mut bytes) {
            Ok((length, from)) => self.obey_packet(&bytes[..length], from),
            Err(error) => {
                use std::io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
                // Such as an answer that nobody received.
                if !matches!(error.kind(), Interrupted | TimedOut | WouldBlock) {
                    std::thread::sleep(AFTER_FAILURE);
                }
                0
            }
        }
    }

    fn obey_packet(&mut self, packet: &[u8], from: SocketAddr) -> u32 {
        self.heard.packets += 1;
        let mut requests = requests(packet);
        one_answer(&mut requests);
        let count = requests.len() as u32;
        for request in requests {
            if self.has_ended() {
                break;
            }
            if let Some(answer) = request.as_ref().err().and_then(answer_to) {
                // Who asked may have gone.
                let _ = self.socket.send_to(&answer, from);
            }
            let done = request.and_then(|(addr, request)| {
                let obeyed = self.obey(&addr, request, from);
                obeyed.map_err(|why| Refusal::NotPossible(addr, why))
            });
            match done {
                Ok(what) => {
                    self.heard.obeyed += 1;
                    detail(format_args!("OSC: {what}"));
                }
                Err(refusal) => self.heard.refuse(&refusal, from),
            }
        }
        count.max(1)
    }

    fn obey(&mut self, addr: &str, request: Request, from: SocketAddr) -> Steered {
        match request {
            Request::Play => self.steering.play(),
            Request::Stop => self.steering.stop(),
            Request::Locate(position) => self.steering.locate_to(position),
            Request::LoopOn => self.steering.loop_on(),
            Request::LoopOff => self.steering.loop_off(),
            Request::Loop(start, end) => self.steering.loop_between(start, end),
            Request::Strip(name, change) => self.strips.change(&name, change),
            Request::Effects(name, change) => {
                self.additions.ask(name, change, self.answer_later(addr, from))
            }
            Request::Schedule(schedule) => self.steering.set_schedule(schedule),
            Request::Wait(wait) => self.steering.set_wait(wait.into()),
            Request::Spans(spans) => self.steering.set_spans(spans),
            Request::Policy(policy) => self.steering.set_policy(policy),
            Request::EndNotes => self.steering.end_notes(),
            Request::Status => self.answer_status(from),
            Request::Quit => self.steering.quit(),
        }
    }

    /// Answers when it is known whether it was done.
    fn answer_later(&self, addr: &str, to: SocketAddr) -> Answer {
        let (addr, socket) = (addr.to_owned(), self.socket.try_clone());
        Box::new(move |is_done, text| {
            // Who asked may have gone; the run says it, too.
            if let (Ok(socket), Some(bytes)) = (socket, answer(&addr, is_done, text)) {
                let _ = socket.send_to(&bytes, to);
            }
        })
    }

    /// Position in seconds and as a bar, whether the song plays, the mean load (1.0 is the whole period), misses, schedule,
    /// sibling policy and wait.
    fn answer_status(&self, to: SocketAddr) -> Steered {
        let live = self.steering.live();
        let policy = self.steering.policy().map(|name| OscType::String(name.into()));
        let mut args = vec![
            OscType::Double(self.steering.seconds()),
            OscType::String(self.steering.bar()),
            OscType::Int(i32::from(live.song.plays.load(Relaxed))),
            OscType::Float(live.mean_load() as f32),
            OscType::Int(i32::try_from(live.misses.load(Relaxed)).unwrap_or(i32::MAX)),
        ];
        args.extend(policy);
        let answer = OscPacket::Message(OscMessage { addr: "/status".into(), args });
        let bytes = rosc::encoder::encode(&answer).map_err(|error| error.to_string())?;
        self.socket.send_to(&bytes, to).map_err(|error| error.to_string())?;
        Ok(format!("status to {to}"))
    }
}

/// The packet that says at the address that was asked whether it was done, as 1 or 0, and in words.
pub(super) fn answer(addr: &str, is_done: bool, text: &str) -> Option<Vec<u8>> {
    let args = vec![OscType::Int(i32::from(is_done)), OscType::String(text.into())];
    let answer = OscPacket::Message(OscMessage { addr: addr.into(), args });
    rosc::encoder::encode(&answer).ok()
}

/// The packet that answers a message which is refused. `None`: it gets no answer.
pub(super) fn answer_to(refusal: &Refusal) -> Option<Vec<u8>> {
    match refusal {
        Refusal::NotPossible(addr, why) if is_answered(addr) => {
            answer(addr, false, &foreign::plain(why))
        }
        _ => None,
    }
}

/// A packet gets at most one answer to `/status`, which is the longest. So a sender with a forged address cannot flood that
/// address.
fn one_answer(requests: &mut Vec<Asked>) {
    let mut answered = false;
    requests.retain(|request| {
        let asks = matches!(request, Ok((_, Request::Status)));
        !(asks && std::mem::replace(&mut answered, true))
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_gets_one_answer() {
        let ask = |request| Ok(("/x".to_owned(), request));
        let mut all = vec![ask(Request::Status), ask(Request::Play), ask(Request::Status)];
        one_answer(&mut all);
        let kept: Vec<bool> = all.iter().map(|it| matches!(it, Ok((_, Request::Status)))).collect();
        assert_eq!(kept, [true, false]);
    }
}
