//! `--plugin-faults`: plug-ins on the audio threads that spoil the sound again and again.

use std::sync::{Mutex, MutexGuard, PoisonError};

use hocket_dsp::Processor;
use hocket_machine::clock::{TickRate, ticks};
use hocket_plugins::isolate::Pace;
use hocket_plugins::watch::{Clock, Finding, OnFault, Watch};

use super::source::PLUGINS;
use crate::output::tell;

/// What watches plug-ins, where something does.
#[derive(Default)]
pub(super) struct Watching(Mutex<Option<Watch>>);

impl Watching {
    fn now(&self) -> MutexGuard<'_, Option<Watch>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The plug-in, watched if wanted.
    pub(super) fn over(
        &self,
        plugin: Box<dyn Processor>,
        title: &str,
        rate_hz: u32,
    ) -> Box<dyn Processor> {
        match &*self.now() {
            Some(watch) => watch.over(plugin, title, rate_hz),
            None => plugin,
        }
    }

    /// As [`Watching::over`], for a plug-in that sends events.
    pub(super) fn over_sender(
        &self,
        plugin: Box<dyn Processor>,
        title: &str,
        rate_hz: u32,
    ) -> Box<dyn Processor> {
        match &*self.now() {
            Some(watch) => watch.over_sender(plugin, title, rate_hz),
            None => plugin,
        }
    }
}

/// Watches the plug-ins that are built from now on, but for those in processes of their own. Where nobody waits for a block, none
/// takes too long.
///
/// Thread: control. Cost: the first time 50 ms, to measure the clock.
pub(crate) fn set_up(on_fault: OnFault, pace: Pace) {
    let clock = || Clock { now: ticks, per_second: TickRate::get().ticks_per_second };
    let clock = (pace == Pace::RealTime).then(clock);
    *PLUGINS.watched.now() = Some(Watch::new(on_fault, clock));
}

/// The plug-ins that play and have faults.
pub(crate) fn findings() -> Vec<Finding> {
    PLUGINS.watched.now().as_ref().map(Watch::findings).unwrap_or_default()
}

/// Reports each finding when it is new.
#[derive(Default)]
pub(crate) struct News {
    told: Vec<Finding>,
}

impl News {
    /// Thread: control.
    pub(crate) fn look(&mut self) {
        for finding in findings() {
            if !self.told.contains(&finding) {
                tell(format_args!("warning: {finding}"));
                self.told.push(finding);
            }
        }
    }
}
