//! Devices: what asks an engine for block after block, and takes the sound.
//!
//! | device | thread of the leader | sound |
//! |---|---|---|
//! | [`Virtual`] | the caller's | none: a clock and a deadline |
//! | [`Jack`] | the real-time thread of a JACK server | the server's ports |
//! | [`Alsa`] | the caller's | a sound card |
//!
//! The life of a device:
//!
//! ```text
//! control thread
//!   Jack::open              says rate and block length: load the session at that rate
//!   Device::prepare         ports, connections; the latency is known
//!   Device::play            the engine goes to the leader, and comes back at the end
//!     leader, each block    BlockObserver::block, and BlockObserver::period behind the last one of a period
//!   drop                    the client leaves the server
//! ```
//!
//! [`found`] lists which devices are there, and what helps if one is not.
//!
//! The libraries of JACK and ALSA are loaded at run time, so a build needs no package of theirs, and a machine without
//! them has the virtual device.
#![deny(unsafe_code)]

pub mod found;
pub mod jack;
pub mod alsa;
#[allow(unsafe_code)]
mod library;
mod wiring;
mod period;
mod latency;
mod virtual_device;
mod xruns;

use std::sync::atomic::AtomicBool;

use hocket_engine::{BlockTimes, Engine, OutputDelay, ThreadReport};
use hocket_machine::pin::ThreadId;

pub use alsa::{Alsa, AlsaError, AlsaOptions};
pub use jack::{
    ClockFollowed, ClockSent, Connect, Jack, JackError, JackOptions, NoteEnds, ServerTransport,
};
pub use latency::{Latency, LatencyRange};
use period::joined;
pub use virtual_device::Virtual;
pub use xruns::{LateCycle, Xrun, XrunFault, Xruns};

/// Something that asks an engine for blocks and takes the sound. `O` takes notes of each block.
pub trait Device<O: BlockObserver> {
    /// Its name on the command line, such as `jack`.
    fn name(&self) -> &'static str;

    /// How it plays now.
    fn format(&self) -> Format;

    /// Makes everything ready so that the first block of [`Device::play`] is heard.
    ///
    /// Thread: control. Waits for the device, some of its periods as a rule.
    ///
    /// # Errors
    /// [`DeviceError`].
    fn prepare(&mut self, channels: &Channels) -> Result<Ready, DeviceError>;

    /// Plays until `observer` has had enough, `stop` becomes true or the device ends.
    ///
    /// Thread: control; it waits until the end. Which thread becomes the leader is the device's business.
    ///
    /// # Errors
    /// [`DeviceError`]. Engine and observer are then lost.
    fn play(
        &mut self,
        engine: Engine,
        observer: O,
        stop: &AtomicBool,
    ) -> Result<Played<O>, DeviceError>;

    /// Leaves the device for good, as a drop does, and says how that went.
    ///
    /// Thread: control. Waits at most some seconds.
    ///
    /// # Errors
    /// [`DeviceError`]: it does not let Hocket go. The end of the process will.
    fn leave(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }
}

/// Who takes notes of every block.
pub trait BlockObserver: Send + 'static {
    /// The thread that will lead, before the first block.
    ///
    /// Thread: control, or that one.
    fn led_by(&mut self, _leader: ThreadId) {}

    /// So many frames, at the engine's rate, have passed at the inputs since the last block, and never reached the engine. Comes
    /// before the block behind them.
    ///
    /// Thread: leader, between blocks. No allocation, lock or system call.
    fn missed(&mut self, _frames: u64) {}

    /// A block has been processed. Returns whether to go on. Its planned start and deadline are those of its period: a
    /// period of the device is several blocks where it is longer than the engine's largest block.
    ///
    /// Thread: leader, between blocks. No allocation, lock or system call.
    fn block(&mut self, times: &BlockTimes, engine: &Engine) -> bool;

    /// A period is over, and these are the times of its blocks together: a miss or a load is a period's. Comes after
    /// the last of its blocks, also if that one was enough.
    ///
    /// Thread: leader, between blocks. No allocation, lock or system call.
    fn period(&mut self, _times: &BlockTimes) {}

    /// From the next block on the device has no clock and asks for blocks as fast as they come, as a JACK server does in freewheel, or it
    /// has a clock again.
    ///
    /// Thread: leader, between blocks, or control behind the last one. No allocation, lock or system call.
    fn freewheels(&mut self, _freewheels: bool) {}

    /// As [`BlockObserver::block`], of a block without a deadline. Its times say nothing, and no period follows it.
    ///
    /// Thread: leader, between blocks. It may wait, for a disk: some seconds in all, because a server does not wait for ever.
    fn freewheeled(&mut self, times: &BlockTimes, engine: &Engine) -> bool {
        self.block(times, engine)
    }

    /// From the next block on the device has this rate, and the engine keeps its own: frames are converted. Where it is the
    /// engine's again, they are not.
    ///
    /// Thread: control, between blocks.
    fn changed_rate(&mut self, _device_hz: u32) {}

    /// The server or the card has reported an xrun. Comes after the period in which the leader learned of it, and once more
    /// behind the last one.
    ///
    /// Thread: leader, between blocks, or control after the last one. No allocation, lock or system call.
    fn xrun(&mut self, _xrun: &Xrun) {}
}

/// Rate and block length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// Frames per second.
    pub rate_hz: u32,
    /// Frames per block.
    pub frames: u32,
}

/// What a session has for a device: outputs and inputs, in the order in which the engine numbers them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Channels {
    /// What the engine puts out; the first is the main one.
    pub outputs: Vec<Bundle>,
    /// What it takes in.
    pub inputs: Vec<Bundle>,
    /// How late each output is ([`Control::output_delays`](hocket_engine::Control::output_delays)), for other clients of a server.
    /// Empty: nothing is known before it plays.
    pub delays: Vec<OutputDelay>,
}

/// The channels of one output or input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle {
    /// For people and for names of ports.
    pub name: String,
    /// How many channels.
    pub channels: usize,
    /// Whether the engine takes notes and MIDI there ([`Engine::events_mut`]); for inputs.
    pub events: bool,
}

/// What a prepared device says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ready {
    /// Pairs of connected ports, from and to.
    pub connected: Vec<(String, String)>,
    /// Own ports that nothing is connected to.
    pub unconnected: Vec<String>,
    /// `None`: there is no sound.
    pub latency: Option<Latency>,
}

/// What has changed of a device while it plays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Its periods have so many frames now.
    Frames(u32),
    /// These own ports have lost their connections, because the ports of others are gone. They are connected again when such
    /// ports are there.
    Lost(Vec<String>),
    /// Connected again: pairs of ports, from and to.
    Connected(Vec<(String, String)>),
    /// How long sound is on its way now.
    Latency(Latency),
}

/// What came of it.
pub struct Played<O> {
    /// The engine, after its last block.
    pub engine: Engine,
    /// Who took notes.
    pub observer: O,
    /// Why it ended.
    pub end: End,
    /// What each thread obtained; the leader first.
    pub threads: Vec<ThreadReport>,
    /// What the sibling policy requested of the system, and what came of it; `None`: it requested nothing.
    pub protection: Option<String>,
    /// Failures of the device to deliver in time; `None`: the device counts misses only.
    pub xruns: Option<Xruns>,
}

/// Why playing ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// The observer had enough.
    Finished,
    /// The caller asked to stop.
    Stopped,
    /// The device ended; a sentence that says how, and what helps.
    DeviceEnded(String),
}

/// Why a device cannot play.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// JACK.
    #[error(transparent)]
    Jack(#[from] JackError),
    /// ALSA.
    #[error(transparent)]
    Alsa(#[from] AlsaError),
}
