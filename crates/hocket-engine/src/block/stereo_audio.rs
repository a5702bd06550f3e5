//! Audio in memory.

/// A stereo file in memory at the engine's sample rate; every sample is finite.
#[derive(Debug, Clone, PartialEq)]
pub struct StereoAudio {
    left: Vec<f32>,
    right: Vec<f32>,
    contained: usize,
}

impl StereoAudio {
    /// From planar channels: one plays on both sides; of more than two, the first two play.
    ///
    /// Samples that are not finite become silence, so that no file can spoil a mix.
    /// [`StereoAudio::contained`] counts them.
    ///
    /// Thread: control; allocates.
    pub fn from_planar(channels: &[Vec<f32>]) -> StereoAudio {
        let left = channels.first().cloned().unwrap_or_default();
        let right = channels.get(1).cloned().unwrap_or_else(|| left.clone());
        let mut audio = StereoAudio { left, right, contained: 0 };
        let frames = audio.left.len().min(audio.right.len());
        audio.left.truncate(frames);
        audio.right.truncate(frames);
        for sample in audio.left.iter_mut().chain(&mut audio.right) {
            if !sample.is_finite() {
                *sample = 0.0;
                audio.contained += 1;
            }
        }
        audio
    }

    /// Length in frames.
    pub fn frames(&self) -> usize {
        self.left.len()
    }

    /// Left row.
    pub fn left(&self) -> &[f32] {
        &self.left
    }

    /// Right row.
    pub fn right(&self) -> &[f32] {
        &self.right
    }

    /// How many samples were not finite.
    pub fn contained(&self) -> usize {
        self.contained
    }
}
