//! What a CLAP plug-in may call. Each call only sets a flag, but for two: one that asks for tasks runs them, and one that
//! logs copies its line.

use std::ffi::CStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use clack_extensions::audio_ports::{AudioPortRescanFlags, HostAudioPorts, HostAudioPortsImpl};
use clack_extensions::latency::{HostLatency, HostLatencyImpl};
use clack_extensions::log::{HostLog, HostLogImpl, LogSeverity};
use clack_extensions::params::{
    HostParams, HostParamsImplMainThread, HostParamsImplShared, ParamClearFlags, ParamRescanFlags,
};
use clack_extensions::preset_discovery::HostPresetLoadImpl;
use clack_extensions::preset_discovery::prelude::{HostPresetLoad, Location};
use clack_extensions::state::{HostState, HostStateImpl};
use clack_extensions::tail::{HostTail, HostTailImpl};
use clack_extensions::thread_check::{HostThreadCheck, HostThreadCheckImpl};
use clack_extensions::thread_pool::{HostThreadPool, HostThreadPoolImpl};
use clack_host::prelude::*;

use super::ffi;
use super::log::Log;
use super::main_thread::{Role, as_pool, role};

/// What a plug-in has asked for. Relaxed everywhere: each flag stands for itself and publishes nothing.
#[derive(Debug, Default)]
pub struct Flags {
    /// A call on the main thread.
    callback: AtomicBool,
    /// To be made anew.
    restart: AtomicBool,
    /// To be asked for its tail.
    tail: AtomicBool,
    /// What the main thread has read last.
    latency: AtomicU32,
    /// What it has logged.
    pub log: Log,
}

impl Flags {
    /// Whether the main thread has something to do. It takes what that is, so each block asks until then.
    pub fn wants_main(&self) -> bool {
        self.callback.load(Relaxed) || self.log.has_news()
    }

    pub fn take_callback(&self) -> bool {
        take(&self.callback)
    }

    pub fn take_restart(&self) -> bool {
        take(&self.restart)
    }

    pub fn take_tail(&self) -> bool {
        take(&self.tail)
    }

    pub fn latency(&self) -> u32 {
        self.latency.load(Relaxed)
    }

    pub fn set_latency(&self, frames: u32) {
        self.latency.store(frames, Relaxed);
    }
}

/// Mostly there is nothing to take, and then a load is enough.
fn take(flag: &AtomicBool) -> bool {
    flag.load(Relaxed) && flag.swap(false, Relaxed)
}

/// Hocket, as a plug-in meets it.
pub struct Hocket;

impl HostHandlers for Hocket {
    type Shared<'a> = OfAnyThread;
    type MainThread<'a> = OfMainThread;
    type AudioProcessor<'a> = OfAudioThread;

    fn declare_extensions(builder: &mut HostExtensions<Self>, _: &Self::Shared<'_>) {
        builder
            .register::<HostThreadCheck>()
            .register::<HostAudioPorts>()
            .register::<HostLatency>()
            .register::<HostLog>()
            .register::<HostParams>()
            .register::<HostPresetLoad>()
            .register::<HostState>()
            .register::<HostTail>()
            .register::<HostThreadPool>();
    }
}

/// Calls on any thread.
pub struct OfAnyThread(pub Arc<Flags>);

impl SharedHandler<'_> for OfAnyThread {
    fn request_restart(&self) {
        self.0.restart.store(true, Relaxed);
    }

    /// It processes always.
    fn request_process(&self) {}

    fn request_callback(&self) {
        self.0.callback.store(true, Relaxed);
    }
}

impl HostThreadCheckImpl for OfAnyThread {
    fn is_main_thread(&self) -> bool {
        role() == Role::Main
    }

    fn is_audio_thread(&self) -> bool {
        role() == Role::Audio
    }
}

impl HostLogImpl for OfAnyThread {
    /// What only a plug-in's author wants to know is dropped.
    fn log(&self, severity: LogSeverity, message: &str) {
        if severity >= LogSeverity::Warning {
            self.0.log.add(message);
        }
    }
}

impl HostParamsImplShared for OfAnyThread {
    /// It processes always, and every block flushes.
    fn request_flush(&self) {}
}

/// Calls on the main thread.
pub struct OfMainThread(pub Arc<Flags>);

impl MainThreadHandler<'_> for OfMainThread {}

impl HostLatencyImpl for OfMainThread {
    /// The latency is read after each activation and after each call on the main thread.
    fn changed(&self) {
        self.0.callback.store(true, Relaxed);
    }
}

impl HostParamsImplMainThread for OfMainThread {
    /// Sessions name the parameters that the scan found.
    fn rescan(&self, _: ParamRescanFlags) {}

    fn clear(&self, _: ClapId, _: ParamClearFlags) {}
}

impl HostPresetLoadImpl for OfMainThread {
    fn on_error(&self, _: Location<'_>, _: Option<&CStr>, _: i32, message: Option<&CStr>) {
        if let Some(message) = message {
            self.0.log.add(&message.to_string_lossy());
        }
    }

    fn loaded(&self, _: Location<'_>, _: Option<&CStr>) {}
}

impl HostStateImpl for OfMainThread {
    fn mark_dirty(&self) {}
}

impl HostAudioPortsImpl for OfMainThread {
    /// Ports stay as they are.
    fn is_rescan_flag_supported(&self, _: AudioPortRescanFlags) -> bool {
        false
    }

    fn rescan(&self, _: AudioPortRescanFlags) {}
}

/// Calls on the audio thread.
pub struct OfAudioThread(pub Arc<Flags>);

impl AudioProcessorHandler<'_> for OfAudioThread {}

impl HostTailImpl for OfAudioThread {
    fn changed(&mut self) {
        self.0.tail.store(true, Relaxed);
    }
}

impl HostThreadPoolImpl for OfAudioThread {
    /// Runs the tasks on this thread and on the workers that have nothing else to do in this block. The answer is always that
    /// they ran, also where nobody helps.
    fn request_exec(&mut self, tasks: u32) -> Result<(), HostError> {
        // A task asks for no tasks, and outside of `process` nobody lends them.
        match role() == Role::Audio && ffi::share(tasks, &|task| as_pool(task)) {
            true => Ok(()),
            false => Err(HostError::Message("tasks are for plug-ins that process")),
        }
    }
}
