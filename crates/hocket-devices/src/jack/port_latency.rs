//! How late the client's ports are, for the server's other clients.
//!
//! JACK has two figures for each port, each with the shortest and the longest way ([`LatencyRange`]):
//!
//! | figure | says | comes |
//! |---|---|---|
//! | capture | how long ago the sound at the port came in | from senders to receivers: a client sets its outputs |
//! | playback | how long it takes until the sound at the port is heard | from receivers to senders: a client sets its inputs |
//!
//! A client without an answer of its own counts as one that delays nothing and has every input in every output. A session delays
//! its outputs, each by its own number of frames, and an output hears some inputs only. So an output that goes through another
//! client and comes back at an input does not become later by itself with each recomputation.

use hocket_engine::OutputDelay;

use super::{Inputs, Jack};
use crate::{BlockObserver, LatencyRange};

impl<O: BlockObserver> Jack<O> {
    /// Has the server know these delays. Returns that of the main output, in frames of the server; `None`: there is none.
    ///
    /// Thread: control. Cost: a comparison; where they are others than before, the server asks all clients anew.
    pub(super) fn tell_delays(&self, delays: &[OutputDelay], rates: Rates) -> Option<u32> {
        self.client.set_passages(Passages::of(delays, &self.outputs, &self.inputs, rates));
        delays.first().map(|main| rates.of_server(main.frames))
    }
}

/// A way through the client.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct OutputPort {
    /// How late it is, for what comes in and for what the session itself plays.
    frames: u32,
    /// The numbers of the input ports that it hears: those for sound first, then those for MIDI.
    hears: Vec<usize>,
}

/// The ways through a client, by output port: those for sound first, then those for MIDI. Ports that are not listed carry no
/// sound.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Passages(Vec<OutputPort>);

/// What the server's rate makes of the engine's frames. Only PipeWire changes its rate while it plays, so what a converter adds
/// plays no part in ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rates {
    pub(super) engine_hz: u32,
    pub(super) server_hz: u32,
}

impl Rates {
    /// The server has the engine's.
    pub(super) fn same(rate_hz: u32) -> Rates {
        Rates { engine_hz: rate_hz, server_hz: rate_hz }
    }

    /// Frames of the engine as the nearest number of frames of the server.
    pub(super) fn of_server(&self, frames: u32) -> u32 {
        let (engine_hz, server_hz) = (u64::from(self.engine_hz.max(1)), u64::from(self.server_hz));
        let nearest = (u64::from(frames) * server_hz + engine_hz / 2) / engine_hz;
        u32::try_from(nearest).unwrap_or(u32::MAX)
    }
}

impl Passages {
    /// `channels`: of each output of the engine.
    pub(super) fn of(
        delays: &[OutputDelay],
        channels: &[usize],
        inputs: &Inputs,
        rates: Rates,
    ) -> Passages {
        let port = |delay: &OutputDelay| {
            let frames = rates.of_server(delay.frames);
            OutputPort { frames, hears: ports_of(delay, inputs) }
        };
        let ports = delays.iter().zip(channels);
        Passages(ports.flat_map(|(delay, channels)| vec![port(delay); *channels]).collect())
    }

    /// The capture latency of each output port. `inputs`: that of each input port; `None`: nothing is connected to it.
    ///
    /// An output that hears no connected input is as late as the session, because its sound begins there.
    pub(super) fn capture(
        &self,
        inputs: &[Option<LatencyRange>],
        outputs: usize,
    ) -> Vec<LatencyRange> {
        let nothing = OutputPort::default();
        let port = |number: usize| {
            let port = self.0.get(number).unwrap_or(&nothing);
            let heard = port.hears.iter().filter_map(|input| *inputs.get(*input)?);
            match heard.reduce(LatencyRange::or) {
                Some(came_in) => came_in.later(port.frames),
                None => LatencyRange::of(port.frames),
            }
        };
        (0..outputs).map(port).collect()
    }

    /// The playback latency of each input port. `outputs`: that of each output port; `None`: nothing is connected to it.
    ///
    /// Where no output is connected that hears an input, all of them count, and end at their ports.
    pub(super) fn playback(
        &self,
        outputs: &[Option<LatencyRange>],
        inputs: usize,
    ) -> Vec<LatencyRange> {
        let port = |input: usize| {
            let hear = || (0..).zip(&self.0).filter(|(_, port)| port.hears.contains(&input));
            let heard = hear().filter_map(|(number, port): (usize, &OutputPort)| {
                Some((*outputs.get(number)?)?.later(port.frames))
            });
            let at_ports = || hear().map(|(_, port)| LatencyRange::of(port.frames));
            heard
                .reduce(LatencyRange::or)
                .or_else(|| at_ports().reduce(LatencyRange::or))
                .unwrap_or_default()
        };
        (0..inputs).map(port).collect()
    }
}

/// The numbers of the input ports that an output hears.
fn ports_of(delay: &OutputDelay, inputs: &Inputs) -> Vec<usize> {
    let mut ports = Vec::new();
    let mut first = 0;
    for (number, channels) in (0u16..).zip(&inputs.channels) {
        if delay.audio_inputs.contains(&number) {
            ports.extend(first..first + channels);
        }
        first += channels;
    }
    // The port for the song's place is the last one for sound.
    let first_midi = first + usize::from(inputs.place_in.is_some());
    let midi = inputs.midi.iter().enumerate();
    let heard = midi.filter(|(_, input)| delay.event_inputs.contains(input));
    ports.extend(heard.map(|(port, _)| first_midi + port));
    ports
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(min: u32, max: u32) -> LatencyRange {
        LatencyRange { min, max }
    }

    fn delay(frames: u32, audio_inputs: &[u16], event_inputs: &[u16]) -> OutputDelay {
        let (audio_inputs, event_inputs) = (audio_inputs.to_vec(), event_inputs.to_vec());
        OutputDelay { frames, audio_inputs, event_inputs }
    }

    /// A stereo voice, and keys with a channel and a MIDI port; a stereo master that hears all, and a send that hears the voice
    /// only.
    fn passages(rates: Rates) -> Passages {
        let inputs = Inputs { channels: vec![2, 1], midi: vec![1], ..Inputs::default() };
        let delays = [delay(100, &[0, 1], &[1]), delay(40, &[0], &[]), delay(30, &[], &[])];
        Passages::of(&delays, &[2, 1, 1], &inputs, rates)
    }

    #[test]
    fn an_output_is_later_than_the_inputs_that_it_hears_by_what_the_session_delays() {
        let passages = passages(Rates::same(48_000));
        let [left, right, keys, midi] = [range(64, 64), range(64, 128), range(8, 9), range(1, 2)];
        let all = [Some(left), Some(right), Some(keys), Some(midi)];
        let expected = [range(101, 228), range(101, 228), range(104, 168), range(30, 30)];
        assert_eq!(passages.capture(&all, 4), expected);
        // A port to which nothing is connected brings nothing, so it says nothing.
        let some = [None, Some(right), None, None];
        let expected = [range(164, 228), range(164, 228), range(104, 168), range(30, 30)];
        assert_eq!(passages.capture(&some, 4), expected);
        // Without inputs the session is the beginning. The last port is none for sound.
        let expected = [100, 100, 40, 30, 0].map(LatencyRange::of);
        assert_eq!(passages.capture(&[None; 4], 5), expected);
    }

    #[test]
    fn an_input_is_heard_after_the_outputs_that_hear_it() {
        let passages = passages(Rates::same(48_000));
        let all = [Some(range(256, 300)), None, Some(range(1_000, 1_000)), Some(range(5, 5))];
        let [voice, keys] = [range(356, 1_040), range(356, 400)];
        assert_eq!(passages.playback(&all, 5), [voice, voice, keys, keys, range(0, 0)]);
        let [voice, keys] = [range(40, 100), range(100, 100)];
        assert_eq!(passages.playback(&[None; 4], 4), [voice, voice, keys, keys]);
    }

    #[test]
    fn frames_are_those_of_the_server() {
        let rates = Rates { engine_hz: 48_000, server_hz: 96_000 };
        let inputs = [Some(range(10, 10)), None, None, None];
        let expected = [210, 210, 90, 60].map(LatencyRange::of);
        assert_eq!(passages(rates).capture(&inputs, 4), expected);
        assert_eq!(Rates { server_hz: 44_100, ..rates }.of_server(480), 441);
        assert_eq!(Rates::same(44_100).of_server(77), 77);
    }

    #[test]
    fn the_port_for_the_songs_place_lies_before_those_for_midi() {
        let inputs =
            Inputs { channels: vec![1], midi: vec![0], place_in: Some(1), ..Inputs::default() };
        assert_eq!(ports_of(&delay(0, &[0], &[0]), &inputs), [0, 2]);
        assert_eq!(ports_of(&delay(0, &[], &[0]), &inputs), [2]);
    }
}
