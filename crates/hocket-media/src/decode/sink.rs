//! What has been decoded of a compressed stream.

use symphonia::core::audio::GenericAudioBufferRef;
use symphonia::core::errors::Error;
use symphonia::core::formats::Track;

use super::MAX_CHANNELS;
use super::header::position;
use super::mp4::Heard;

/// The longest damaged stretch that is kept as silence; a longer one is a lie in a time stamp.
const MAX_GAP_FRAMES: u64 = 1 << 20;

/// What has been decoded so far, all of it or the latest part.
pub(super) struct Sink {
    pub sample_rate_hz: u32,
    pub channels: Vec<Vec<f32>>,
    /// How many frames before those in `channels` were decoded and dropped.
    base: u64,
    scratch: Vec<Vec<f32>>,
    /// Whether anything has been decoded yet: until then the channel count is the header's word.
    pub started: bool,
    pub announced: u64,
    /// Nothing in the file says what is announced.
    pub is_guess: bool,
    /// How many frames followed behind those that are announced.
    pub behind: u64,
    pub damage: Damage,
}

/// Failures, summed up for one warning at the end.
#[derive(Default)]
pub(super) struct Damage {
    blocks: u64,
    pub in_a_row: u32,
    /// Where the first was and what was wrong with it.
    pub first: Option<String>,
    pub ended: Option<&'static str>,
}

impl Sink {
    pub fn new(sample_rate_hz: u32, channels: usize, track: &Track) -> Self {
        let channels = if channels <= MAX_CHANNELS { channels } else { 0 };
        Self {
            sample_rate_hz,
            channels: vec![Vec::new(); channels],
            base: 0,
            scratch: Vec::new(),
            started: false,
            announced: track.num_frames.unwrap_or(0),
            is_guess: false,
            behind: 0,
            damage: Damage::default(),
        }
    }

    /// How many frames are decoded, those that were dropped included.
    pub fn frames(&self) -> u64 {
        self.base + self.kept() as u64
    }

    fn kept(&self) -> usize {
        self.channels.first().map_or(0, Vec::len)
    }

    /// How many samples are in memory.
    pub fn samples(&self) -> usize {
        self.kept() * self.channels.len()
    }

    /// The first frame in memory.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Drops what is in memory, and goes on behind it.
    pub fn clear(&mut self) {
        self.go_on_at(self.frames());
    }

    /// Moves what is in memory to `rows`, in the place of what they hold, and goes on behind it.
    pub fn take(&mut self, rows: &mut Vec<Vec<f32>>) {
        let next = self.frames();
        rows.resize(self.channels.len(), Vec::new());
        std::mem::swap(rows, &mut self.channels);
        self.go_on_at(next);
    }

    /// Drops what is in memory; what is decoded next is frame `frame`.
    pub fn go_on_at(&mut self, frame: u64) {
        self.base = frame;
        self.channels.iter_mut().for_each(Vec::clear);
    }

    /// Copies frames from `position` on to the rows from frame `at` on; returns how many of them are in memory.
    pub fn copy(&self, position: u64, rows: &mut [&mut [f32]], at: usize) -> usize {
        let Some(from) = position.checked_sub(self.base).map(|from| from as usize) else {
            return 0;
        };
        let wanted = rows.first().map_or(0, |row| row.len() - at);
        let count = wanted.min(self.kept().saturating_sub(from));
        if count == 0 {
            // The stream has ended, maybe long before.
            return 0;
        }
        for (row, channel) in rows.iter_mut().zip(&self.channels) {
            row[at..at + count].copy_from_slice(&channel[from..from + count]);
        }
        count
    }

    /// How far it is decoded, in words.
    fn position(&self) -> String {
        position(self.frames(), self.sample_rate_hz)
    }

    pub fn note(&mut self, error: &Error) {
        let here = self.position();
        self.damage.first.get_or_insert_with(|| format!("{here}: {error}"));
        self.damage.blocks += 1;
        self.damage.in_a_row += 1;
    }

    /// What is wrong with a stream that was decoded to its end.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.faults();
        if self.is_guess {
            return warnings;
        }
        let (announced, here) = (self.announced, self.position());
        if self.damage.ended.is_none() && self.frames() < announced {
            warnings.push(format!("the file ends early, {here}: {announced} frames are announced"));
        }
        if self.behind > 0 {
            let (end, more) = (position(announced, self.sample_rate_hz), self.behind);
            warnings.push(format!(
                "the sound goes on behind the announced end, {end}: {more} frames more, as where files were joined"
            ));
        }
        warnings
    }

    /// What was damaged so far.
    pub fn faults(&self) -> Vec<String> {
        let Damage { blocks, first, ended, .. } = &self.damage;
        let mut faults = Vec::new();
        if *blocks > 0 {
            let first = first.as_deref().unwrap_or_default();
            faults.push(format!("damaged blocks: {blocks} (the first {first})"));
        }
        if let Some(why) = ended {
            faults.push(format!("the stream ends {}: {why}", self.position()));
        }
        faults
    }

    /// Leaves the part that is heard, where the file holds any of it.
    pub fn keep(&mut self, heard: Option<Heard>) {
        let frames = self.kept();
        let Some(Heard { start, end }) = heard.filter(|heard| heard.start < frames as u64) else {
            return;
        };
        let end = usize::try_from(end).map_or(frames, |end| end.min(frames));
        for row in &mut self.channels {
            row.truncate(end);
            row.drain(..start as usize);
        }
    }

    /// Appends the first `valid` frames of a decoded block, or all if it is shorter.
    pub fn append(&mut self, buffer: &GenericAudioBufferRef<'_>, valid: u64) {
        let spec = buffer.spec();
        let (rate, channels) = (spec.rate(), spec.channels().count());
        if buffer.frames() == 0 {
            self.damage.in_a_row += 1;
            return;
        }
        if !self.started && (1..=MAX_CHANNELS).contains(&channels) {
            self.started = true;
            self.sample_rate_hz = rate;
            let silence = vec![0.0; self.kept()];
            self.channels.resize(channels, silence);
        }
        if channels != self.channels.len() || rate != self.sample_rate_hz {
            self.damage.ended = Some("its channel count or sample rate changes");
            return;
        }
        self.damage.in_a_row = 0;
        buffer.copy_to_vecs_planar(&mut self.scratch);
        for (row, decoded) in self.channels.iter_mut().zip(&self.scratch) {
            let valid = decoded.len().min(usize::try_from(valid).unwrap_or(usize::MAX));
            row.extend_from_slice(&decoded[..valid]);
        }
    }

    /// Fills up with silence to frame `stamp`, where blocks were dropped before it.
    pub fn silence_until(&mut self, stamp: i64) {
        let here = self.frames();
        let stamp = u64::try_from(stamp).unwrap_or(0);
        let gap = stamp.saturating_sub(here);
        let plausible = gap <= MAX_GAP_FRAMES && (self.announced == 0 || stamp < self.announced);
        if gap == 0 || !plausible || self.channels.is_empty() {
            return;
        }
        let to = self.kept() + gap as usize;
        self.channels.iter_mut().for_each(|row| row.resize(to, 0.0));
        if self.damage.blocks == 0 {
            self.damage.blocks = 1;
            let here = position(here, self.sample_rate_hz);
            self.damage.first = Some(format!("{here}: {gap} frames, silent now"));
        }
    }
}
