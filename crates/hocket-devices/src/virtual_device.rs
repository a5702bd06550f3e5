//! The built-in device behind the trait: the calling thread is the leader.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use hocket_engine::{Engine, VirtualDevice};
use hocket_machine::pin::current_thread;

use crate::{BlockObserver, Channels, Device, DeviceError, End, Format, Played, Ready};

/// A clock and a deadline, and no sound.
#[derive(Debug, Clone, Copy)]
pub struct Virtual(Format);

impl Virtual {
    /// With this rate and block length.
    pub fn new(format: Format) -> Virtual {
        Virtual(format)
    }
}

impl<O: BlockObserver> Device<O> for Virtual {
    fn name(&self) -> &'static str {
        "virtual"
    }

    fn format(&self) -> Format {
        self.0
    }

    fn prepare(&mut self, _channels: &Channels) -> Result<Ready, DeviceError> {
        Ok(Ready::default())
    }

    fn play(
        &mut self,
        mut engine: Engine,
        mut observer: O,
        stop: &AtomicBool,
    ) -> Result<Played<O>, DeviceError> {
        let mut device = VirtualDevice::new(self.0.frames, self.0.rate_hz);
        let entered = engine.enter();
        // On its seat by now, so nobody has to look for it elsewhere.
        observer.led_by(current_thread());
        let mut end = End::Finished;
        device.run(&mut engine, u64::MAX, |times, engine| {
            let more = observer.block(times, engine);
            observer.period(times);
            // Relaxed: the flag publishes nothing.
            if more && stop.load(Relaxed) {
                end = End::Stopped;
            }
            more && end == End::Finished
        });
        let leader = std::iter::once(entered.report.clone());
        let threads = leader.chain(engine.reports().iter().cloned()).collect();
        let protection = entered.others().summary();
        drop(entered);
        Ok(Played { engine, observer, end, threads, protection, xruns: None })
    }
}
