//! The answer to a server that asks how late our ports are.
//!
//! The server asks through libjack's own thread, twice in a row: first all clients from senders to receivers, then back.
//!
//! PipeWire gets no answer. Its library (seen in 0.3.65) writes what a client sets to its socket in the thread of the callback, beside
//! other threads that write there, and now and then ends the process over it.

use std::ffi::c_int;
use std::sync::{Arc, Mutex, PoisonError};

use super::functions::{Argument, Functions, Handle, JackPort};
use super::ports::{Ports, Side};
use crate::LatencyRange;
use crate::jack::port_latency::Passages;

/// The ways through the client, as the control thread saw them last. No real-time thread locks it, and nobody calls libjack
/// under the lock.
#[derive(Debug, Clone, Default)]
pub(super) struct SharedPassages(Arc<Mutex<Arc<Passages>>>);

impl SharedPassages {
    fn get(&self) -> Arc<Passages> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns whether they were others.
    pub(super) fn set(&self, passages: Passages) -> bool {
        let mut now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let are_others = **now != passages;
        *now = Arc::new(passages);
        are_others
    }
}

/// What the latency callback gets.
pub(super) struct LatencyArgument {
    functions: &'static Functions,
    /// Those for sound first, then those for MIDI.
    inputs: Vec<*mut JackPort>,
    outputs: Vec<*mut JackPort>,
    passages: SharedPassages,
}

impl LatencyArgument {
    pub(super) fn new(
        functions: &'static Functions,
        ports: &Ports,
        passages: SharedPassages,
    ) -> LatencyArgument {
        let (inputs, outputs) = (ports.all_inputs(), ports.all_outputs());
        LatencyArgument { functions, inputs, outputs, passages }
    }

    /// `None`: nothing is connected to the port.
    fn range(&self, port: *mut JackPort, side: Side) -> Option<LatencyRange> {
        // SAFETY: Types, Open: libjack calls back while the client is open.
        let connections = unsafe { (self.functions.port_connected)(port) };
        (connections > 0).then(|| range(self.functions, port, side))
    }

    fn set(&self, ports: &[*mut JackPort], ranges: &[LatencyRange], side: Side) {
        let Some(set) = self.functions.set_port_latency else { return };
        for (port, range) in ports.iter().zip(ranges) {
            let mut range = *range;
            // SAFETY: as in `range`; libjack only reads it.
            unsafe { set(*port, side as c_int, &raw mut range) };
        }
    }

    fn answer(&self, side: Side) {
        let passages = self.passages.get();
        let of = |ports: &[*mut JackPort]| -> Vec<_> {
            ports.iter().map(|port| self.range(*port, side)).collect()
        };
        match side {
            Side::Capture => {
                let ranges = passages.capture(&of(&self.inputs), self.outputs.len());
                self.set(&self.outputs, &ranges, side);
            }
            Side::Playback => {
                let ranges = passages.playback(&of(&self.outputs), self.inputs.len());
                self.set(&self.inputs, &ranges, side);
            }
        }
    }
}

/// What the server has for a port. The client is open.
pub(super) fn range(functions: &Functions, port: *mut JackPort, side: Side) -> LatencyRange {
    let mut range = LatencyRange::default();
    // SAFETY: Types, Open: each caller has an open client.
    unsafe { (functions.port_latency)(port, side as c_int, &raw mut range) };
    range
}

extern "C" fn on_latency(side: c_int, argument: Argument) {
    // SAFETY: Outlives; `listen` passed this pointer, and nobody changes what is behind it.
    let argument = unsafe { &*argument.cast_const().cast::<LatencyArgument>() };
    match side {
        0 => argument.answer(Side::Capture),
        1 => argument.answer(Side::Playback),
        // A later version's.
        _ => {}
    }
}

/// From now on the server's questions are answered. Before the activation. `false`: the library or the server has no such
/// question.
///
/// # Safety
/// Open; `argument` outlives the client.
pub(super) unsafe fn listen(
    functions: &Functions,
    handle: Handle,
    argument: *mut LatencyArgument,
) -> bool {
    let (Some(listen), Some(_)) = (functions.on_latency, functions.set_port_latency) else {
        return false;
    };
    // SAFETY: Types, and the caller's obligation.
    unsafe { listen(handle, on_latency, argument.cast()) == 0 }
}
