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
    /// By how much the session's effects delay the main output. `None`: the device does not follow that.
    pub session_frames: Option<u32>,
    /// How late the first port of the main output is for other clients of the server, as the server has it. `None`: nobody asks
    /// for that, or the server takes no such figure.
    pub port_frames: Option<LatencyRange>,
}

/// How late sound is: by the shortest of its ways and by the longest. libjack's `jack_latency_range_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LatencyRange {
    /// Frames by the shortest way.
    pub min: u32,
    /// Frames by the longest way.
    pub max: u32,
}

impl LatencyRange {
    /// Of one way.
    pub const fn of(frames: u32) -> LatencyRange {
        LatencyRange { min: frames, max: frames }
    }

    /// So much later.
    #[must_use]
    pub const fn later(self, frames: u32) -> LatencyRange {
        let LatencyRange { min, max } = self;
        LatencyRange { min: min.saturating_add(frames), max: max.saturating_add(frames) }
    }

    /// Of these ways and those.
    #[must_use]
    pub fn or(self, other: LatencyRange) -> LatencyRange {
        LatencyRange { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
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
        let latency = Latency { out_frames: Some(96), rate_hz: 48_000, ..Latency::default() };
        assert_eq!((latency.out_ms(), latency.in_ms()), (Some(2.0), None));
    }
}
