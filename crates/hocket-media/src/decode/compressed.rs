//! Compressed formats, through Symphonia.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use symphonia::core::audio::GenericAudioBufferRef;
use symphonia::core::codecs::audio::{AudioDecoder, AudioDecoderOptions};
use symphonia::core::errors::Error;
use symphonia::core::formats::probe::Hint;
use symphonia::core::formats::{FormatOptions, FormatReader, Track, TrackType};
use symphonia::core::io::{MediaSourceStream, MediaSourceStreamOptions};
use symphonia::core::meta::MetadataOptions;
use symphonia::core::packet::Packet;
use symphonia::core::units::TimeBase;

use super::header::position;
use super::mp4::{Edits, Heard};
use super::{MAX_CHANNELS, MAX_SAMPLE_RATE_HZ, MAX_SAMPLES, MIN_SAMPLE_RATE_HZ, Source, sniff};
use crate::{Audio, AudioFacts, MediaError};

/// A stream that fails this often in a row has ended, whatever it says.
const MAX_FAILURES_IN_A_ROW: u32 = 4_096;
/// The longest damaged stretch that is kept as silence; a longer one is a lie in a time stamp.
const MAX_GAP_FRAMES: u64 = 1 << 20;

/// Decodes the first audio stream of the file. Symphonia is memory-safe but may still panic on
/// input its authors did not foresee; such a panic ends here as an error.
pub(super) fn decode(mut source: Source, format: String) -> Result<Audio, MediaError> {
    let edits = if format == sniff::MP4 { Edits::read(&mut source) } else { Edits::default() };
    with_stream(source, format, |stream| {
        let heard = edits.heard(stream.track.id, stream.sink.sample_rate_hz);
        stream.decode(heard)
    })
}

/// What the stream is, as its first block shows it.
pub(super) fn probe(source: Source, format: String) -> Result<AudioFacts, MediaError> {
    with_stream(source, format, Stream::begin)
}

/// Opens the stream and does something with it; a panic becomes an error.
fn with_stream<T>(
    source: Source,
    format: String,
    run: impl FnOnce(Stream) -> Result<T, MediaError>,
) -> Result<T, MediaError> {
    let Source { path, mut file, .. } = source;
    let run = AssertUnwindSafe(|| {
        std::io::Seek::rewind(&mut file).map_err(|source| MediaError::io(path, source))?;
        run(Stream::open(path, file, format.clone())?)
    });
    catch_unwind(run).unwrap_or_else(|_| {
        Err(MediaError::Decoder { path: path.into(), format, cause: "it panicked".into() })
    })
}

struct Stream {
    path: PathBuf,
    format: String,
    reader: Box<dyn FormatReader>,
    decoder: Box<dyn AudioDecoder>,
    track: Track,
    /// Time stamps count output frames, so a block that was dropped for its checksum shows as a
    /// gap, and padding at the end as a block that lasts shorter than what it decodes to.
    frame_stamps: bool,
    sink: Sink,
}

/// What has been decoded so far.
struct Sink {
    sample_rate_hz: u32,
    channels: Vec<Vec<f32>>,
    scratch: Vec<Vec<f32>>,
    /// Whether anything has been decoded yet: until then the channel count is the header's word.
    started: bool,
    announced: u64,
    damage: Damage,
}

/// Failures, summed up for one warning at the end.
#[derive(Default)]
struct Damage {
    blocks: u64,
    in_a_row: u32,
    /// Where the first was and what was wrong with it.
    first: Option<String>,
    ended: Option<&'static str>,
}

/// Whether there is more to decode.
enum Step {
    Go(Packet),
    Retry,
    End,
}

impl Stream {
    fn open(path: &Path, file: std::fs::File, format: String) -> Result<Self, MediaError> {
        let stream = MediaSourceStream::new(Box::new(file), MediaSourceStreamOptions::default());
        let fail = |error: Error| refusal(path, &format, &error);
        let probe = symphonia::default::get_probe();
        let (format_options, meta_options) = (FormatOptions::default(), MetadataOptions::default());
        let reader =
            probe.probe(&Hint::new(), stream, format_options, meta_options).map_err(fail)?;
        let Some(track) = reader.default_track(TrackType::Audio).cloned() else {
            return Err(malformed(path, &format, "it has no audio track"));
        };
        let Some(params) = track.codec_params.as_ref().and_then(|params| params.audio()) else {
            return Err(malformed(path, &format, "its audio track has no parameters"));
        };
        let rate = params.sample_rate.unwrap_or(0);
        if !(MIN_SAMPLE_RATE_HZ..=MAX_SAMPLE_RATE_HZ).contains(&rate) {
            return Err(malformed(path, &format, format!("a sample rate of {rate} Hz")));
        }
        let decoder = symphonia::default::get_codecs()
            .make_audio_decoder(params, &AudioDecoderOptions::default())
            .map_err(fail)?;
        let sink = Sink::new(rate, params.channels.as_ref().map_or(0, |map| map.count()), &track);
        let frame_stamps =
            TimeBase::try_from_recip(rate).is_some_and(|b| track.time_base == Some(b));
        Ok(Self { path: path.into(), format, reader, decoder, track, frame_stamps, sink })
    }

    /// All of it, or the part that is `heard`.
    fn decode(mut self, heard: Option<Heard>) -> Result<Audio, MediaError> {
        while self.advance()? {}
        self.finish(heard)
    }

    /// Up to the first block that can be decoded: only that knows rate and channels for certain.
    fn begin(mut self) -> Result<AudioFacts, MediaError> {
        while !self.sink.started && self.advance()? {}
        let frames = Some(self.sink.announced).filter(|frames| *frames > 0);
        let audio = self.finish(None)?;
        let (sample_rate_hz, channels) = (audio.sample_rate_hz, audio.channels.len());
        Ok(AudioFacts { sample_rate_hz, channels, frames })
    }

    /// Decodes a packet; whether there may be another one.
    fn advance(&mut self) -> Result<bool, MediaError> {
        match self.next_packet() {
            Step::Go(packet) => self.decode_packet(&packet)?,
            Step::Retry => {}
            Step::End => return Ok(false),
        }
        if self.sink.damage.in_a_row >= MAX_FAILURES_IN_A_ROW {
            self.sink.damage.ended = Some("too much of it is damaged");
        }
        Ok(self.sink.damage.ended.is_none())
    }

    fn next_packet(&mut self) -> Step {
        match self.reader.next_packet() {
            Ok(Some(packet)) if packet.track_id == self.track.id => Step::Go(packet),
            Ok(Some(_)) => {
                self.sink.damage.in_a_row += 1;
                Step::Retry
            }
            Ok(None) => Step::End,
            Err(Error::IoError(error)) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                self.sink.damage.ended = Some("it is cut off");
                Step::End
            }
            Err(Error::ResetRequired) => {
                self.sink.damage.ended = Some("another stream follows, which is ignored");
                Step::End
            }
            Err(error) => {
                self.sink.note(&error);
                Step::Retry
            }
        }
    }

    fn decode_packet(&mut self, packet: &Packet) -> Result<(), MediaError> {
        if self.frame_stamps {
            self.sink.silence_until(packet.pts.get());
        }
        let valid = if self.frame_stamps { packet.dur.get() } else { u64::MAX };
        match self.decoder.decode(packet) {
            Ok(buffer) => self.sink.append(&buffer, valid),
            Err(error) => self.sink.note(&error),
        }
        if self.sink.samples() > MAX_SAMPLES {
            return Err(MediaError::TooLarge {
                path: self.path.clone(),
                limit_samples: MAX_SAMPLES,
            });
        }
        Ok(())
    }

    fn finish(self, heard: Option<Heard>) -> Result<Audio, MediaError> {
        let Self { path, format, mut sink, .. } = self;
        if !sink.started {
            let cause = sink.damage.first.unwrap_or_else(|| "it holds no audio".into());
            return Err(malformed(&path, &format, cause));
        }
        let warnings = sink.warnings();
        sink.keep(heard);
        sink.channels.iter_mut().for_each(Vec::shrink_to_fit);
        Ok(Audio { sample_rate_hz: sink.sample_rate_hz, channels: sink.channels, warnings })
    }
}

impl Sink {
    fn new(sample_rate_hz: u32, channels: usize, track: &Track) -> Self {
        let channels = if channels <= MAX_CHANNELS { channels } else { 0 };
        Self {
            sample_rate_hz,
            channels: vec![Vec::new(); channels],
            scratch: Vec::new(),
            started: false,
            announced: track.num_frames.unwrap_or(0),
            damage: Damage::default(),
        }
    }

    fn frames(&self) -> usize {
        self.channels.first().map_or(0, Vec::len)
    }

    fn samples(&self) -> usize {
        self.frames() * self.channels.len()
    }

    /// How far it is decoded, in words.
    fn position(&self) -> String {
        position(self.frames() as u64, self.sample_rate_hz)
    }

    fn note(&mut self, error: &Error) {
        let here = self.position();
        self.damage.first.get_or_insert_with(|| format!("{here}: {error}"));
        self.damage.blocks += 1;
        self.damage.in_a_row += 1;
    }

    fn warnings(&self) -> Vec<String> {
        let Damage { blocks, first, ended, .. } = &self.damage;
        let mut warnings = Vec::new();
        if *blocks > 0 {
            let first = first.as_deref().unwrap_or_default();
            warnings.push(format!("damaged blocks: {blocks} (the first {first})"));
        }
        let (announced, here) = (self.announced, self.position());
        match ended {
            Some(why) => warnings.push(format!("the stream ends {here}: {why}")),
            None if (self.frames() as u64) < announced => {
                warnings
                    .push(format!("the file ends early, {here}: {announced} frames are announced"));
            }
            None => {}
        }
        warnings
    }

    /// Leaves the part that is heard, where the file holds any of it.
    fn keep(&mut self, heard: Option<Heard>) {
        let frames = self.frames();
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
    fn append(&mut self, buffer: &GenericAudioBufferRef<'_>, valid: u64) {
        let spec = buffer.spec();
        let (rate, channels) = (spec.rate(), spec.channels().count());
        if buffer.frames() == 0 {
            self.damage.in_a_row += 1;
            return;
        }
        if !self.started && (1..=MAX_CHANNELS).contains(&channels) {
            self.started = true;
            self.sample_rate_hz = rate;
            let silence = vec![0.0; self.frames()];
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
    fn silence_until(&mut self, stamp: i64) {
        let here = self.frames() as u64;
        let stamp = u64::try_from(stamp).unwrap_or(0);
        let gap = stamp.saturating_sub(here);
        let plausible = gap <= MAX_GAP_FRAMES && (self.announced == 0 || stamp < self.announced);
        if gap == 0 || !plausible || self.channels.is_empty() {
            return;
        }
        let to = (here + gap) as usize;
        self.channels.iter_mut().for_each(|row| row.resize(to, 0.0));
        if self.damage.blocks == 0 {
            self.damage.blocks = 1;
            let here = position(here, self.sample_rate_hz);
            self.damage.first = Some(format!("{here}: {gap} frames, silent now"));
        }
    }
}

fn malformed(path: &Path, format: &str, cause: impl Into<String>) -> MediaError {
    MediaError::Malformed { path: path.into(), format: format.into(), cause: cause.into() }
}

/// The error for a stream that cannot be opened at all.
fn refusal(path: &Path, format: &str, error: &Error) -> MediaError {
    let path = PathBuf::from(path);
    let format = format.to_owned();
    match error {
        Error::Unsupported(what) => {
            MediaError::Unsupported { path, format: format!("{format} ({what})") }
        }
        Error::IoError(source) if source.kind() == std::io::ErrorKind::UnexpectedEof => {
            MediaError::Malformed { path, format, cause: "it is cut off in its header".into() }
        }
        error => MediaError::Malformed { path, format, cause: error.to_string() },
    }
}
