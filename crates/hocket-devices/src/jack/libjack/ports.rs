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
    /// Their buffers are fetched where they are read and written.
    outputs: Vec<*mut JackPort>,
    inputs: Vec<*mut JackPort>,
    /// MIDI comes in here.
    midi: Vec<Port>,
    /// MIDI goes out here.
    midi_outputs: Vec<Port>,
}

// SAFETY: a port is a name of libjack, which any thread may use. Buffers are used during a cycle only (`OpenPorts`),
// by the thread that fetched them.
unsafe impl Send for Ports {}

impl Ports {
    pub(super) fn none(functions: &'static Functions) -> Ports {
        let [outputs, inputs] = [const { Vec::new() }; 2];
        Ports { functions, outputs, inputs, midi: Vec::new(), midi_outputs: Vec::new() }
    }

    pub(super) fn add(&mut self, port: *mut JackPort, kind: Kind, direction: Direction) {
        let with_buffer = Port { port, buffer: std::ptr::null_mut() };
        match (kind, direction) {
            (Kind::Midi, Direction::Input) => self.midi.push(with_buffer),
            (Kind::Midi, Direction::Output) => self.midi_outputs.push(with_buffer),
            (Kind::Audio, Direction::Output) => self.outputs.push(port),
            (Kind::Audio, Direction::Input) => self.inputs.push(port),
        }
    }

    /// The input ports, those for sound first.
    pub(super) fn all_inputs(&self) -> Vec<*mut JackPort> {
        self.inputs.iter().copied().chain(self.midi.iter().map(|port| port.port)).collect()
    }

    /// The output ports, those for sound first.
    pub(super) fn all_outputs(&self) -> Vec<*mut JackPort> {
        self.outputs.iter().copied().chain(self.midi_outputs.iter().map(|port| port.port)).collect()
    }

    /// Fetches the buffers of MIDI ports, once per cycle. MIDI outputs are empty then.
    ///
    /// # Safety
    /// In the process callback of the client, which lasts for `frames` frames and longer than `'c`.
    pub(super) unsafe fn open<'c>(&'c mut self, frames: u32) -> OpenPorts<'c> {
        for port in &mut self.midi {
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
        let buffer = self.buffer(self.ports.outputs.get(number));
        if buffer.is_null() {
            return &mut [];
        }
        // SAFETY: One cycle. `self` is borrowed, so there is no other slice of this buffer.
        unsafe { std::slice::from_raw_parts_mut(buffer.cast(), self.frames) }
    }

    /// What came in at an input port. Empty where there is no such port or libjack has no buffer.
    ///
    /// To be read at once, as [`OpenPorts::output`] is to be written. Cost: one call of libjack, which mixes what is connected
    /// to the port.
    pub(in crate::jack) fn input(&mut self, number: usize) -> &[f32] {
        let buffer = self.buffer(self.ports.inputs.get(number));
        if buffer.is_null() {
            return &[];
        }
        // SAFETY: One cycle. libjack writes an input's buffer when it is fetched, and `self` is borrowed until then.
        unsafe { std::slice::from_raw_parts(buffer.cast_const().cast(), self.frames) }
    }

    /// Null where there is no such port or libjack has no buffer.
    fn buffer(&self, port: Option<&*mut JackPort>) -> *mut c_void {
        let Some(port) = port else { return std::ptr::null_mut() };
        // SAFETY: Types and Open; the process callback lasts.
        unsafe { (self.ports.functions.port_buffer)(*port, self.frames as u32) }
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

#[cfg(test)]
mod tests {
    use super::super::load;
    use super::*;

    const FRAMES: usize = 4;

    /// A port whose buffer is another one each time it is fetched. What is in the others then is gone.
    struct Moves {
        buffers: [[f32; FRAMES]; 2],
        fetched: usize,
    }

    /// # Safety
    /// `port` is a [`Moves`] that nobody else uses.
    unsafe extern "C" fn moved(port: *mut JackPort, _: u32) -> *mut c_void {
        // SAFETY: the caller's promise.
        let port = unsafe { &mut *port.cast::<Moves>() };
        port.fetched += 1;
        let (now, before) = (port.fetched % 2, (port.fetched + 1) % 2);
        port.buffers[now] = [port.fetched as f32; FRAMES];
        port.buffers[before] = [f32::NAN; FRAMES];
        port.buffers[now].as_mut_ptr().cast()
    }

    #[test]
    fn what_comes_in_is_read_where_it_is_by_then() {
        let functions = match load() {
            Ok(functions) => functions,
            Err(why) => {
                return println!("SKIPPED what_comes_in_is_read_where_it_is_by_then: {why}");
            }
        };
        let functions: &'static Functions =
            Box::leak(Box::new(Functions { port_buffer: moved, ..*functions }));
        let mut port = Moves { buffers: [[0.0; FRAMES]; 2], fetched: 0 };
        let mut ports = Ports::none(functions);
        ports.add((&raw mut port).cast(), Kind::Audio, Direction::Input);
        // SAFETY: no cycle is needed, because `moved` is the only function that is called, and its port lives longer.
        let mut open = unsafe { ports.open(FRAMES as u32) };
        // As two blocks of one cycle do.
        for read in 1..=2 {
            assert_eq!(open.input(0), [read as f32; FRAMES]);
        }
        assert!(open.input(1).is_empty(), "there is no such port");
    }
}
