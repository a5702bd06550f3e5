//! How a plug-in's ports fit the two channels of a strip.
//!
//! | inputs | outputs | what happens |
//! |---|---|---|
//! | 2 | 2 | left and right |
//! | 1 | 1 | two instances, one per side |
//! | 1 | 2 | the mean of both sides goes in |
//! | 2 | 1 | what comes out plays on both sides |
//! | 0 | 1 or 2 | an instrument: what comes out is added to what the strip has, as the built-in `synth` does |
//! | up to 2 | 0 | it sends events alone: what the strip has passes |
//!
//! A side chain has up to two channels. One channel gets the mean of both sides; each of two instances gets its own side.
//! All else is refused. In a strip of one channel, both sides are that channel.

use serde::{Deserialize, Serialize};

use hocket_dsp::{StereoMut, StereoRef};

/// How many audio ports of each sort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Layout {
    /// Main inputs.
    pub inputs: usize,
    /// Main outputs.
    pub outputs: usize,
    /// Inputs that only steer.
    pub side_chain: usize,
}

impl Layout {
    /// `sends_events`: whether it sends events, for which it needs no audio.
    ///
    /// # Errors
    /// Why these ports do not fit a strip.
    pub fn check(&self, sends_events: bool) -> Result<(), String> {
        let Layout { inputs, outputs, side_chain } = *self;
        let refused = |what: &str, found: usize, most: &str| {
            Err(format!("it has {found} audio {what}, and a strip has {most}"))
        };
        match (inputs, outputs, side_chain) {
            (_, 0, _) if !sends_events => Err("it has no audio output".into()),
            (3.., ..) => refused("inputs", inputs, "two channels"),
            (_, 3.., _) => refused("outputs", outputs, "two channels"),
            (_, _, 3..) => refused("side-chain inputs", side_chain, "a side chain of two channels"),
            _ => Ok(()),
        }
    }

    /// Sound passes a plug-in without audio outputs at once, so its events have to be as fast. `frames`: its own latency.
    ///
    /// # Errors
    /// Why a plug-in with this latency does not fit a strip.
    pub fn check_latency(&self, frames: u32) -> Result<(), String> {
        match self.outputs {
            0 if frames > 0 => Err(format!(
                "it has no audio output, and its events are {frames} frames late, which no sound would be"
            )),
            _ => Ok(()),
        }
    }

    /// How many instances play a strip of so many channels.
    pub fn instances(&self) -> usize {
        if (self.inputs, self.outputs) == (1, 1) { 2 } else { 1 }
    }

    /// Fills a main input of an instance.
    pub fn feed(&self, instance: usize, channel: usize, from: StereoRef<'_>, into: &mut [f32]) {
        match self.inputs {
            1 if self.instances() == 1 => mean(from, into),
            1 => copy(side(from, instance), into),
            _ => copy(side(from, channel), into),
        }
    }

    /// Fills a side-chain input of an instance; with silence where nothing is connected.
    pub fn feed_key(
        &self,
        instance: usize,
        channel: usize,
        key: Option<StereoRef<'_>>,
        into: &mut [f32],
    ) {
        match (key, self.side_chain) {
            (None, _) => into.fill(0.0),
            (Some(key), 1) if self.instances() == 2 => copy(side(key, instance), into),
            (Some(key), 1) => mean(key, into),
            (Some(key), _) => copy(side(key, channel), into),
        }
    }

    /// Puts an output of an instance into the strip.
    pub fn put(&self, instance: usize, channel: usize, from: &[f32], into: &mut StereoMut<'_>) {
        let both = self.outputs == 1 && self.instances() == 1;
        let place = if self.instances() == 2 { instance } else { channel };
        if both || place == 0 {
            self.join(from, into.left);
        }
        if (both || place == 1) && !into.right.is_empty() {
            self.join(from, into.right);
        }
    }

    fn join(&self, from: &[f32], into: &mut [f32]) {
        let pairs = into.iter_mut().zip(from);
        match self.inputs {
            0 => pairs.for_each(|(into, from)| *into += from),
            _ => pairs.for_each(|(into, from)| *into = *from),
        }
    }
}

fn side<'a>(of: StereoRef<'a>, side: usize) -> &'a [f32] {
    if side == 0 || of.right.is_empty() { of.left } else { of.right }
}

fn copy(from: &[f32], into: &mut [f32]) {
    into.iter_mut().zip(from).for_each(|(into, from)| *into = *from);
}

fn mean(from: StereoRef<'_>, into: &mut [f32]) {
    let sides = side(from, 0).iter().zip(side(from, 1));
    into.iter_mut().zip(sides).for_each(|(into, (left, right))| *into = (left + right) / 2.0);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(inputs: usize, outputs: usize) -> Layout {
        Layout { inputs, outputs, side_chain: 0 }
    }

    /// What an identity with these ports makes of left 1 and right 3.
    fn through(layout: Layout) -> (f32, f32) {
        let (mut left, mut right) = ([1.0], [3.0]);
        let mut rows = vec![vec![[0.0]; 2]; 2];
        for (instance, rows) in rows.iter_mut().enumerate().take(layout.instances()) {
            for (channel, row) in rows.iter_mut().enumerate().take(layout.inputs) {
                layout.feed(instance, channel, StereoRef { left: &left, right: &right }, row);
            }
        }
        let mut into = StereoMut { left: &mut left, right: &mut right };
        for (instance, rows) in rows.iter().enumerate().take(layout.instances()) {
            for channel in 0..layout.outputs {
                let from = rows[channel.min(layout.inputs.max(1) - 1)];
                layout.put(instance, channel, &from, &mut into);
            }
        }
        (left[0], right[0])
    }

    #[test]
    fn every_layout_plays_on_both_sides() {
        assert_eq!(through(layout(2, 2)), (1.0, 3.0));
        assert_eq!(through(layout(1, 1)), (1.0, 3.0));
        assert_eq!(through(layout(1, 2)), (2.0, 2.0));
        assert_eq!(through(layout(2, 1)), (1.0, 1.0));
    }

    #[test]
    fn an_instrument_is_added() {
        let (mut left, mut right) = ([1.0], [3.0]);
        let mut into = StereoMut { left: &mut left, right: &mut right };
        layout(0, 1).put(0, 0, &[0.5], &mut into);
        assert_eq!((left, right), ([1.5], [3.5]));
    }

    #[test]
    fn what_does_not_fit_is_refused_with_the_reason() {
        let refused = |inputs, outputs| layout(inputs, outputs).check(false).unwrap_err();
        assert_eq!(refused(2, 0), "it has no audio output");
        assert_eq!(layout(0, 0).check(true), Ok(()), "it sends events");
        assert!(layout(4, 0).check(true).is_err());
        assert!(layout(0, 0).check_latency(0).is_ok() && layout(0, 0).check_latency(9).is_err());
        assert_eq!(layout(2, 2).check_latency(9), Ok(()));
        assert_eq!(refused(2, 6), "it has 6 audio outputs, and a strip has two channels");
        assert_eq!(refused(4, 2), "it has 4 audio inputs, and a strip has two channels");
    }
}
