//! How long sound is on its way, in the device's own figures.

/// How late sound is because of the device; the effects of a session add to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Latency {
    /// From a frame that the engine puts out to the frame that is heard. `None`: nothing is connected.
    pub out_frames: Option<u32>,
    /// From a frame that sounds to the frame that the engine gets. `None`: nothing is connected.
    pub in_frames: Option<u32>,
    /// Frames per second.
    pub rate_hz: u32,
}

impl Latency {
    /// Out, in milliseconds.
    pub fn out_ms(&self) -> Option<f64> {
        self.out_frames.map(|frames| self.ms(frames))
    }

    /// In, in milliseconds.
    pub fn in_ms(&self) -> Option<f64> {
        self.in_frames.map(|frames| self.ms(frames))
    }

    /// Frames as milliseconds.
    pub fn ms(&self, frames: u32) -> f64 {
        f64::from(frames) * 1e3 / f64::from(self.rate_hz.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_become_milliseconds_at_the_rate() {
        let latency = Latency { out_frames: Some(96), in_frames: None, rate_hz: 48_000 };
        assert_eq!((latency.out_ms(), latency.in_ms()), (Some(2.0), None));
    }
}
