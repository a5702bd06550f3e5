//! From a client that has been taken to one that is connected.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::libjack::{self, Client, Direction, Kind};
use super::port_latency::Rates;
use super::wires::{Own, Refusal, Wires};
use super::{CLOCK_PORT, CLOCKS, Connect, Inputs, Jack, JackError, PLACE, PlacePort};
use crate::{BlockObserver, Change, Channels, Ready, wiring};

/// A connection holds from the cycle after the next one at the latest.
const CYCLES_TO_CONNECT: u64 = 3;
/// How long the end of a server may take to be noticed: a thread of its library does that.
const NOTICED: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(10);

impl<O: BlockObserver> Jack<O> {
    /// Registers the ports, joins the server's cycles, connects the ports, and waits until that holds.
    pub(super) fn make_ready(&mut self, channels: &Channels) -> Result<Ready, JackError> {
        if let Some(why) = self.ended(Duration::ZERO) {
            return Err(JackError::Ended(why));
        }
        let longest = self.client.longest_port_name() - self.client.name().len() - 1;
        let names = wiring::port_names(channels, longest);
        let register = |client: &mut Client, names: &[String], kind, direction| {
            let one = |name: &String| {
                let port = client.register(name, kind, direction);
                port.ok_or_else(|| JackError::Port(name.clone()))
            };
            names.iter().map(one).collect::<Result<Vec<String>, JackError>>()
        };
        let outputs = register(&mut self.client, &names.outputs, Kind::Audio, Direction::Output)?;
        let inputs = register(&mut self.client, &names.inputs, Kind::Audio, Direction::Input)?;
        let midi = register(&mut self.client, &names.midi, Kind::Midi, Direction::Input)?;
        self.inputs = Inputs::of(channels);
        self.outputs = channels.outputs.iter().map(|output| output.channels).collect();
        let place = [PLACE.to_owned()];
        match self.place {
            PlacePort::None => {}
            PlacePort::Sends => {
                register(&mut self.client, &place, Kind::Audio, Direction::Output)?;
                self.inputs.place_out = Some(outputs.len());
            }
            PlacePort::Follows => {
                register(&mut self.client, &place, Kind::Audio, Direction::Input)?;
                self.inputs.place_in = Some(inputs.len());
            }
        }
        let [out, back] = CLOCKS.map(|name| [name.to_owned()]);
        if self.clocks.sent.is_some() {
            register(&mut self.client, &out, Kind::Midi, Direction::Output)?;
            self.inputs.clock_out = Some(CLOCK_PORT);
        }
        if self.clocks.followed.is_some() {
            register(&mut self.client, &back, Kind::Midi, Direction::Input)?;
            self.inputs.clock_in = Some(midi.len());
        }
        let delays = &channels.delays[..];
        let session_frames = self.tell_delays(delays, Rates::same(self.client.sample_rate()));
        let slot = Arc::clone(&self.slot);
        let process = Box::new(move |cycle, ports: &mut libjack::OpenPorts<'_>| {
            slot.cycle(cycle, ports);
        });
        self.client.activate(process).map_err(JackError::Activate)?;
        let mono = channels.outputs.first().is_some_and(|main| main.channels == 1);
        let own = Own { outputs, inputs, midi, mono };
        let ports_gone = self.client.events().ports_gone();
        let mut plan = own.plan(&self.find_targets()?);
        let is_named = matches!(self.options.connect, Connect::Client(_));
        let made = own.connect(plan.pairs, &*self, is_named).map_err(|refused| {
            let Refusal { from, to, code } = refused;
            JackError::Connect(format!(
                "JACK does not connect {from} to {to} (code {code}); give --connect no, and connect the ports by hand"
            ))
        })?;
        let has_none =
            |own: &&String| !made.pairs.iter().any(|(from, to)| [from, to].contains(own));
        plan.unconnected.extend(made.lost.iter().filter(has_none).cloned());
        if !made.lost.is_empty() {
            self.tell(Change::Lost(made.lost.clone()));
        }
        self.await_cycles(CYCLES_TO_CONNECT, self.stop.as_deref())?;
        self.wires = Wires::new(own, &made, ports_gone);
        self.client.recompute_latencies();
        let latency = self.latency_of(&self.wires, session_frames);
        Ok(Ready { connected: made.pairs, unconnected: plan.unconnected, latency: Some(latency) })
    }

    /// Why the server refuses something. One that has ended refuses ports and clients before its end is noticed.
    pub(super) fn cause_of(&self, error: JackError) -> JackError {
        let is_request = matches!(error, JackError::Port(_) | JackError::Activate(_));
        let patience = if is_request { NOTICED } else { Duration::ZERO };
        let begun = Instant::now();
        loop {
            if let Some(why) = self.ended(Duration::ZERO) {
                return JackError::Ended(why);
            }
            if begun.elapsed() >= patience {
                return error;
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }
}
