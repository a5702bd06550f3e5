//! What a client is connected to: at the start, and while it plays ([`Wires`]).

use std::time::{Duration, Instant};

use super::libjack::{Direction, Kind, Side};
use super::wires::{Found, Patchbay, Targets, Wires};
use super::{Blocks, Connect, Jack, JackError};
use crate::{BlockObserver, Change, Latency, wiring};

/// How often the control thread looks at the connections. Each one costs some questions to the server.
const LOOK_AT_WIRES_EVERY: Duration = Duration::from_millis(500);

impl<O: BlockObserver> Jack<O> {
    pub(super) fn find_targets(&self) -> Result<Targets, JackError> {
        let all = |physical| Targets {
            plays: self.client.all_ports(Kind::Audio, Direction::Input, physical),
            records: self.client.all_ports(Kind::Audio, Direction::Output, physical),
            senders: self.client.all_ports(Kind::Midi, Direction::Output, physical),
        };
        match &self.options.connect {
            Connect::No => Ok(Targets::default()),
            Connect::Physical => Ok(all(true)),
            Connect::Client(name) => {
                let Targets { plays, records, senders } = all(false);
                let own = format!("{name}:");
                let of = |ports: Vec<String>| -> Vec<String> {
                    ports.into_iter().filter(|port| port.starts_with(&own)).collect()
                };
                let ports = plays.iter().chain(&records).chain(&senders);
                let others = wiring::clients(ports, &self.client.name());
                let targets =
                    Targets { plays: of(plays), records: of(records), senders: of(senders) };
                if [&targets.plays, &targets.records, &targets.senders]
                    .iter()
                    .all(|of| of.is_empty())
                {
                    return Err(JackError::Connect(format!(
                        "--connect {name}: no client of this name has audio or MIDI ports; there are: {others}"
                    )));
                }
                Ok(targets)
            }
        }
    }
}

/// Connections, latency and block length, as they were last seen.
pub(super) struct Watched<'a> {
    pub(super) wires: &'a mut Wires,
    pub(super) latency: Latency,
    pub(super) frames: u32,
    pub(super) freewheels: bool,
    pub(super) looked: Instant,
}

impl<O: BlockObserver> Jack<O> {
    /// Connects again what went with the ports of others, and tells what has changed.
    pub(super) fn follow_wires(&self, seen: &mut Watched<'_>, frames: u32, blocks: &Blocks) {
        if std::mem::replace(&mut seen.frames, frames) != frames {
            self.tell(Change::Frames(frames));
        }
        let freewheels = self.client.events().freewheels();
        let before = std::mem::replace(&mut seen.freewheels, freewheels);
        if before == freewheels && seen.looked.elapsed() < LOOK_AT_WIRES_EVERY {
            return;
        }
        seen.looked = Instant::now();
        if before || freewheels {
            // The server takes the card's connections away meanwhile and makes them again, a little later. Keys may be held there.
            let cut = if freewheels { seen.wires.cut_now(self) } else { Vec::new() };
            return cut.into_iter().for_each(|port| self.note_ends.ask(port));
        }
        let Found { lost, connected, cut } = seen.wires.look(self);
        // Keys may be held that nobody will let go.
        cut.into_iter().for_each(|port| self.note_ends.ask(port));
        if !lost.is_empty() {
            self.tell(Change::Lost(lost));
        }
        if !connected.is_empty() {
            self.tell(Change::Connected(connected));
        }
        let session_frames = self.tell_delays(&blocks.control.output_delays(), blocks.rates);
        let latency = self.latency_of(seen.wires, session_frames);
        if std::mem::replace(&mut seen.latency, latency) != latency {
            self.tell(Change::Latency(latency));
        }
    }

    pub(super) fn latency_of(&self, wires: &Wires, session_frames: Option<u32>) -> Latency {
        // Also what somebody else has connected.
        let connected = |own: &[String]| -> Vec<String> {
            own.iter().flat_map(|port| self.client.connections(port)).collect()
        };
        let ((outputs, inputs), (mut plays, mut records)) = (wires.own(), wires.others());
        plays.extend(connected(outputs));
        match inputs.is_empty() {
            false => records.extend(connected(inputs)),
            // Nothing is brought in, so this says what the card would take.
            true => records = self.client.all_ports(Kind::Audio, Direction::Output, true),
        }
        let main = outputs.first().filter(|_| self.client.answers_latencies());
        let port_frames = main.and_then(|port| self.client.latency(port, Side::Capture));
        Latency { session_frames, port_frames, ..self.latency(&plays, &records) }
    }
}

impl<O: BlockObserver> Patchbay for Jack<O> {
    fn exists(&self, port: &str) -> bool {
        self.client.has_port(port)
    }

    fn connections(&self, own: &str) -> Vec<String> {
        self.client.connections(own)
    }

    fn connect(&self, from: &str, to: &str) -> Result<(), i32> {
        self.client.connect(from, to)
    }

    fn targets(&self) -> Targets {
        self.find_targets().unwrap_or_default()
    }

    fn ports_gone(&self) -> u64 {
        self.client.events().ports_gone()
    }
}
