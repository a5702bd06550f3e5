//! A client's ports, and their buffers during a cycle.

use std::ffi::c_void;

use super::functions::{Functions, JackPort, MidiEvent};

/// Which way a port goes, as jack.h has it (`JackPortIsInput`, `JackPortIsOutput`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::jack) enum Direction {
    /// Sound goes into the port's client.
    Input = 1,
    /// Sound comes from the port's client.
    Output = 2,
}

/// What a port carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::jack) enum Kind {
    /// A channel of sound.
    Audio,
    /// Messages of MIDI 1.0.
    Midi,
}

impl Kind {
    /// `JACK_DEFAULT_AUDIO_TYPE`, `JACK_DEFAULT_MIDI_TYPE`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Audio => "32 bit float mono audio",
            Kind::Midi => "8 bit raw midi",
        }
    }
}

/// Which latency of a port: `jack_latency_callback_mode_t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::jack) enum Side {
    /// How long ago the sound at the port came in.
    Capture = 0,
    /// How long it takes until the sound at the port is heard.
    Playback = 1,
}

/// A port, and its buffer while a cycle lasts.
struct Port {
    port: *mut JackPort,
    buffer: *mut c_void,
}

/// All ports of a client.
pub(in crate::jack) struct Ports {
    functions: &'static Functions,
    /// Their buffers are fetched where they are written.
    outputs: Vec<*mut JackPort>,
    inputs: Vec<Port>,
    /// MIDI comes in here.
    midi: Vec<Port>,
    /// MIDI goes out here.
    midi_outputs: Vec<Port>,
}

// SAFETY: a port is a name of libjack, which any thread may use. Buffers are read during a cycle only (`OpenPorts`),
// by the thread that fetched them.
unsafe impl Send for Ports {}

impl Ports {
    pub(super) fn none(functions: &'static Functions) -> Ports {
        let [inputs, midi, midi_outputs] = [const { Vec::new() }; 3];
        Ports { functions, outputs: Vec::new(), inputs, midi, midi_outputs }
    }

    pub(super) fn add(&mut self, port: *mut JackPort, kind: Kind, direction: Direction) {
        let with_buffer = Port { port, buffer: std::ptr::null_mut() };
        match (kind, direction) {
            (Kind::Midi, Direction::Input) => self.midi.push(with_buffer),
            (Kind::Midi, Direction::Output) => self.midi_outputs.push(with_buffer),
            (Kind::Audio, Direction::Output) => self.outputs.push(port),
            (Kind::Audio, Direction::Input) => self.inputs.push(with_buffer),
        }
    }

    /// Fetches every buffer but those of audio outputs, once per cycle: libjack mixes what is connected to an input port when
    /// it is asked. MIDI outputs are empty then.
    ///
    /// # Safety
    /// In the process callback of the client, which lasts for `frames` frames and longer than `'c`.
    pub(super) unsafe fn open<'c>(&'c mut self, frames: u32) -> OpenPorts<'c> {
        for port in self.inputs.iter_mut().chain(&mut self.midi) {
            // SAFETY: Types and Open; the caller is in the callback.
            port.buffer = unsafe { (self.functions.port_buffer)(port.port, frames) };
        }
        for port in &mut self.midi_outputs {
            // SAFETY: Types and Open; the caller is in the callback. One cycle: this buffer is the port's alone.
            unsafe {
                port.buffer = (self.functions.port_buffer)(port.port, frames);
                if !port.buffer.is_null() {
                    (self.functions.midi_clear)(port.buffer);
                }
            }
        }
        OpenPorts { ports: self, frames: frames as usize }
    }
}

/// The buffers of a cycle. Ports are numbered in the order of their registration; outputs, inputs, and MIDI
/// ports of both ways each from 0.
///
/// Thread: the server's, during the cycle.
pub(in crate::jack) struct OpenPorts<'c> {
    ports: &'c mut Ports,
    frames: usize,
}

impl OpenPorts<'_> {
    /// How many output ports for sound there are.
    pub(in crate::jack) fn outputs(&self) -> usize {
        self.ports.outputs.len()
    }

    /// What an output port will play. Empty where there is no such port or libjack has no buffer.
    ///
    /// To be written at once: PipeWire's library may unmap the buffer during a cycle, when the device changes its rate or
    /// goes. A block's work between fetching and writing made that a crash. Cost: one call of libjack.
    pub(in crate::jack) fn output(&mut self, number: usize) -> &mut [f32] {
        let Some(port) = self.ports.outputs.get(number) else { return &mut [] };
        // SAFETY: Types and Open; the process callback lasts.
        let buffer = unsafe { (self.ports.functions.port_buffer)(*port, self.frames as u32) };
        if buffer.is_null() {
            return &mut [];
        }
        // SAFETY: One cycle. `self` is borrowed, so there is no other slice of this buffer.
        unsafe { std::slice::from_raw_parts_mut(buffer.cast(), self.frames) }
    }

    /// What came in at an input port. Empty where there is no such port or libjack has no buffer.
    pub(in crate::jack) fn input(&self, number: usize) -> &[f32] {
        match self.ports.inputs.get(number) {
            Some(port) if !port.buffer.is_null() => {
                // SAFETY: One cycle. Nobody writes an input's buffer while the cycle lasts.
                unsafe { std::slice::from_raw_parts(port.buffer.cast_const().cast(), self.frames) }
            }
            _ => &[],
        }
    }

    /// Hands over each message that came in at a MIDI port, in the order of their frames.
    pub(in crate::jack) fn messages(&self, number: usize, mut take: impl FnMut(u32, &[u8])) {
        let Some(port) = self.ports.midi.get(number).filter(|port| !port.buffer.is_null()) else {
            return;
        };
        let functions = self.ports.functions;
        // SAFETY: Types and One cycle.
        let count = unsafe { (functions.midi_count)(port.buffer) };
        for index in 0..count {
            let mut event = MidiEvent { time: 0, size: 0, bytes: std::ptr::null_mut() };
            // SAFETY: Types and One cycle.
            let answer = unsafe { (functions.midi_event)(&raw mut event, port.buffer, index) };
            if answer == 0 && !event.bytes.is_null() {
                // SAFETY: One cycle.
                take(event.time, unsafe { std::slice::from_raw_parts(event.bytes, event.size) });
            }
        }
    }

    /// Sends a message at a frame of the cycle through a MIDI output. Frames of later messages are no earlier. `false`: there is
    /// no room, or no such port.
    pub(in crate::jack) fn send(&mut self, number: usize, frame: u32, message: &[u8]) -> bool {
        let port = self.ports.midi_outputs.get(number).filter(|port| !port.buffer.is_null());
        let Some(port) = port.filter(|_| (frame as usize) < self.frames) else { return false };
        let write = self.ports.functions.midi_write;
        // SAFETY: Types and One cycle; libjack copies the message.
        unsafe { write(port.buffer, frame, message.as_ptr(), message.len()) == 0 }
    }

    /// Silence on every output from a frame on. A server does not clear buffers itself.
    pub(in crate::jack) fn silence_from(&mut self, frame: usize) {
        for number in 0..self.ports.outputs.len() {
            let row = self.output(number);
            let from = frame.min(row.len());
            hocket_engine::rows::fill(&mut row[from..], 0.0);
        }
    }
}
