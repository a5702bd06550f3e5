//! The pitch of one voice: waves of the file overlap at other distances (WSOLA).
//!
//! Each wave continues the last one, so a voice keeps its shape. Of a chord no wave continues all notes: see
//! [`vocoder`](super::vocoder).

use std::num::{NonZeroU16, NonZeroU32};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use hocket_media::Audio;
use wsola::{Config, TimeStretch};

use super::{Knot, Unmade, content_at, sample};

/// Steps of the stretcher, and how far it looks for a wave that continues the last one: half a period of 50 Hz.
const WINDOWS: Config = Config { hop_ms: 15.0, search_ms: 10.0 };
/// Steps before the first frame that is wanted. The first one fades in.
const LEAD: usize = 2;
/// Frames that the stretcher gets at once.
const CHUNK: usize = 4096;

impl From<wsola::Error> for Unmade {
    fn from(error: wsola::Error) -> Unmade {
        Unmade::Refused(error.to_string())
    }
}

/// All pieces in one go. `stop` is looked at before each step.
pub(super) fn at_pitch(
    audio: &Audio,
    knots: &[Knot],
    frames: usize,
    stop: &AtomicBool,
) -> Result<Vec<Vec<f32>>, Unmade> {
    let sides = audio.channels.len();
    let channels = u16::try_from(sides).ok().and_then(NonZeroU16::new);
    let Some((rate_hz, channels)) = NonZeroU32::new(audio.sample_rate_hz).zip(channels) else {
        return Ok(vec![vec![0.0; frames]; sides]);
    };
    let rate = f64::from(audio.sample_rate_hz);
    let mut stretcher = TimeStretch::with_config(rate_hz, channels, WINDOWS)?;
    let step = stretcher.min_output_buff_size() / sides;
    let lead = LEAD * step;
    let content = |frame: usize| {
        let at_s = (frame as f64 - lead as f64) / rate;
        content_at(knots, at_s) * rate
    };
    let mut source = Source { audio, next: content(0).floor() as i64 };
    // Where the stretcher is in what it got.
    let (origin, mut place) = (source.next as f64, 0.0);
    let mut rows: Vec<Vec<f32>> = (0..sides).map(|_| Vec::with_capacity(frames + lead)).collect();
    let mut block = vec![0.0; step * sides];
    while rows[0].len() < frames + lead {
        // Relaxed: the flag publishes nothing.
        if stop.load(Relaxed) {
            return Err(Unmade::Stopped);
        }
        let next = content(rows[0].len() + step) - origin;
        stretcher.set_tempo(((next - place) / step as f64) as f32);
        source.fill(&mut stretcher, &mut block)?;
        place += step as f64 * f64::from(stretcher.tempo());
        for frame in block.chunks_exact(sides) {
            rows.iter_mut().zip(frame).for_each(|(row, sample)| row.push(*sample));
        }
    }
    rows.iter_mut().for_each(|row| {
        row.drain(..lead);
        row.truncate(frames);
    });
    Ok(rows)
}

/// A file from some frame on.
struct Source<'a> {
    audio: &'a Audio,
    next: i64,
}

impl Source<'_> {
    /// Fills a block, with as much of the file as that takes.
    fn fill(&mut self, stretcher: &mut TimeStretch, block: &mut [f32]) -> Result<(), Unmade> {
        loop {
            match stretcher.pull(block) {
                Ok(_) => return Ok(()),
                Err(wsola::Error::NotEnoughInput) => stretcher.push(&self.chunk()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn chunk(&mut self) -> Vec<f32> {
        let places = self.next..self.next + CHUNK as i64;
        self.next = places.end;
        let rows = &self.audio.channels;
        places.flat_map(|at| rows.iter().map(move |row| sample(row, at))).collect()
    }
}
