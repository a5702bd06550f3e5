//! A client's ports, and their buffers during a cycle.

use super::functions::{Functions, JackPort};

/// Which way a port goes, as jack.h has it (`JackPortIsInput`, `JackPortIsOutput`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::jack) enum Direction {
    /// Sound goes into the port's client.
    Input = 1,
    /// Sound comes from the port's client.
    Output = 2,
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
    buffer: *mut f32,
}

/// All ports of a client.
pub(in crate::jack) struct Ports {
    functions: &'static Functions,
    outputs: Vec<Port>,
    inputs: Vec<Port>,
}

// SAFETY: a port is a name of libjack, which any thread may use. Buffers are read during a cycle only (`OpenPorts`),
// by the thread that fetched them.
unsafe impl Send for Ports {}

impl Ports {
    pub(super) fn none(functions: &'static Functions) -> Ports {
        Ports { functions, outputs: Vec::new(), inputs: Vec::new() }
    }

    pub(super) fn add(&mut self, port: *mut JackPort, direction: Direction) {
        let port = Port { port, buffer: std::ptr::null_mut() };
        match direction {
            Direction::Output => self.outputs.push(port),
            Direction::Input => self.inputs.push(port),
        }
    }

    /// Fetches every buffer, once per cycle: libjack mixes what is connected to an input port when it is asked.
    ///
    /// # Safety
    /// In the process callback of the client, which lasts for `frames` frames and longer than `'c`.
    pub(super) unsafe fn open<'c>(&'c mut self, frames: u32) -> OpenPorts<'c> {
        for port in self.outputs.iter_mut().chain(&mut self.inputs) {
            // SAFETY: Types and Open; the caller is in the callback.
            port.buffer = unsafe { (self.functions.port_buffer)(port.port, frames) }.cast();
        }
        OpenPorts { ports: self, frames: frames as usize }
    }
}

/// The buffers of a cycle. Ports are numbered in the order of their registration, each direction from 0.
///
/// Thread: the server's, during the cycle.
pub(in crate::jack) struct OpenPorts<'c> {
    ports: &'c mut Ports,
    frames: usize,
}

impl OpenPorts<'_> {
    /// What an output port will play. Empty where there is no such port or libjack has no buffer.
    pub(in crate::jack) fn output(&mut self, number: usize) -> &mut [f32] {
        match self.ports.outputs.get(number) {
            Some(port) if !port.buffer.is_null() => {
                // SAFETY: One cycle. `self` is borrowed, so there is no other slice of this buffer.
                unsafe { std::slice::from_raw_parts_mut(port.buffer, self.frames) }
            }
            _ => &mut [],
        }
    }

    /// What came in at an input port. Empty where there is no such port or libjack has no buffer.
    pub(in crate::jack) fn input(&self, number: usize) -> &[f32] {
        match self.ports.inputs.get(number) {
            Some(port) if !port.buffer.is_null() => {
                // SAFETY: One cycle. Nobody writes an input's buffer while the cycle lasts.
                unsafe { std::slice::from_raw_parts(port.buffer, self.frames) }
            }
            _ => &[],
        }
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
