//! Compressed formats, through Symphonia.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use symphonia::core::codecs::audio::well_known::{CODEC_ID_MP1, CODEC_ID_MP2, CODEC_ID_MP3};
use symphonia::core::codecs::audio::{AudioDecoder, AudioDecoderOptions};
use symphonia::core::errors::Error;
use symphonia::core::formats::probe::Hint;
use symphonia::core::formats::{FormatOptions, FormatReader, Track, TrackType};
use symphonia::core::io::{MediaSourceStream, MediaSourceStreamOptions};
use symphonia::core::meta::MetadataOptions;
use symphonia::core::packet::Packet;
use symphonia::core::units::{Duration, TimeBase};

use super::mp4::{Edits, Heard};
use super::sink::Sink;
use super::{MAX_SAMPLE_RATE_HZ, MIN_SAMPLE_RATE_HZ, Source, mp3, sniff};
use crate::bytes::{LastFailure, Reader};
use crate::{Audio, AudioFacts, MediaError};

/// A stream that fails this often in a row has ended, whatever it says.
const MAX_FAILURES_IN_A_ROW: u32 = 4_096;

/// Decodes the first audio stream of the file, up to so many samples. Symphonia is memory-safe but may still panic on
/// input its authors did not foresee; such a panic ends here as an error.
pub(super) fn decode(
    mut source: Source,
    format: String,
    limit_samples: usize,
) -> Result<Audio, MediaError> {
    let edits = if format == sniff::MP4 { Edits::read(&mut source) } else { Edits::default() };
    with_stream(source, format, |stream| {
        let heard = edits.heard(stream.track.id, stream.sink.sample_rate_hz);
        stream.decode(heard, limit_samples)
    })
}

/// What the stream is, as its first block shows it.
pub(super) fn probe(source: Source, format: String) -> Result<AudioFacts, MediaError> {
    with_stream(source, format, Stream::begin)
}

/// Opens the stream and does something with it; a panic becomes an error.
pub(super) fn with_stream<T>(
    source: Source,
    format: String,
    run: impl FnOnce(Stream) -> Result<T, MediaError>,
) -> Result<T, MediaError> {
    let path = source.path;
    let run = AssertUnwindSafe(|| run(Stream::open(source, Default::default(), format.clone())?));
    catch_unwind(run).unwrap_or_else(|_| Err(panicked(path, format)))
}

pub(super) fn panicked(path: &Path, format: String) -> MediaError {
    MediaError::Decoder { path: path.into(), format, cause: "it panicked".into() }
}

/// The first audio stream of a file while it is decoded.
pub(super) struct Stream {
    path: PathBuf,
    format: String,
    pub reader: Box<dyn FormatReader>,
    pub decoder: Box<dyn AudioDecoder>,
    pub track: Track,
    /// Time stamps count output frames, so a block that was dropped for its checksum shows as a
    /// gap, and padding at the end as a block that lasts shorter than what it decodes to.
    pub frame_stamps: bool,
    /// Of an MP3 file: the time stamp at which it ends as its header says. Symphonia cuts off what follows.
    stated_end: Option<i64>,
    /// What follows, until it is enough to be sound.
    behind: Vec<Packet>,
    is_joined: bool,
    pub sink: Sink,
}

/// Whether there is more to decode.
enum Step {
    Go(Packet),
    Retry,
    End,
}

impl Stream {
    /// `failure` keeps what the system says when it cannot be read.
    pub fn open(
        mut source: Source,
        failure: LastFailure,
        format: String,
    ) -> Result<Self, MediaError> {
        let path = source.path;
        let is_guess = sniff::is_mp3(&format) && !mp3::states_length(&mut source)?;
        let reader = Reader::new(source.bytes, source.len, failure);
        let stream = MediaSourceStream::new(Box::new(reader), MediaSourceStreamOptions::default());
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
        let channels = params.channels.as_ref().map_or(0, |map| map.count());
        let mut sink = Sink::new(rate, channels, &track);
        sink.is_guess = is_guess;
        let padding = track.padding.unwrap_or(0);
        let is_mp3 = matches!(params.codec, CODEC_ID_MP1 | CODEC_ID_MP2 | CODEC_ID_MP3);
        let end = |frames: u64| i64::try_from(frames + u64::from(padding)).ok();
        // A guess ends nothing.
        let stated_end = match is_guess {
            true => Some(i64::MIN),
            false => track.num_frames.and_then(end),
        };
        let stated_end = stated_end.filter(|_| is_mp3 && sniff::is_mp3(&format));
        let frame_stamps =
            TimeBase::try_from_recip(rate).is_some_and(|b| track.time_base == Some(b));
        let path = path.into();
        let (behind, is_joined) = (Vec::new(), is_guess);
        Ok(Self {
            path,
            format,
            reader,
            decoder,
            track,
            frame_stamps,
            stated_end,
            behind,
            is_joined,
            sink,
        })
    }

    /// All of it, or the part that is `heard`.
    fn decode(mut self, heard: Option<Heard>, limit_samples: usize) -> Result<Audio, MediaError> {
        while self.step() {
            if self.sink.samples() > limit_samples {
                return Err(MediaError::TooLarge { path: self.path, limit_samples });
            }
        }
        self.finish(heard)
    }

    /// Up to the first block that can be decoded: only that knows rate and channels for certain.
    fn begin(mut self) -> Result<AudioFacts, MediaError> {
        while !self.sink.started && self.step() {}
        let frames = Some(self.sink.announced).filter(|frames| *frames > 0);
        let audio = self.finish(None)?;
        let (sample_rate_hz, channels) = (audio.sample_rate_hz, audio.channels.len());
        Ok(AudioFacts { sample_rate_hz, channels, frames })
    }

    /// Decodes one packet; whether there may be another.
    pub fn step(&mut self) -> bool {
        match self.next_packet() {
            Step::Go(packet) => self.take_packet(packet),
            Step::Retry => {}
            Step::End => return false,
        }
        if self.sink.damage.in_a_row >= MAX_FAILURES_IN_A_ROW {
            self.sink.damage.ended = Some("too much of it is damaged");
        }
        self.sink.damage.ended.is_none()
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

    /// Decodes a packet. Those behind the stated end wait until there are enough of them.
    fn take_packet(&mut self, packet: Packet) {
        if self.is_joined || !self.is_behind(&packet) {
            return self.decode_packet(packet);
        }
        if self.behind.last().is_some_and(|last| !mp3::is_alike(&last.data, &packet.data)) {
            self.behind.clear();
        }
        self.behind.push(packet);
        if self.behind.len() == mp3::ENOUGH_FRAMES {
            self.is_joined = true;
            let packets = std::mem::take(&mut self.behind);
            packets.into_iter().for_each(|packet| self.decode_packet(packet));
        }
    }

    fn is_behind(&self, packet: &Packet) -> bool {
        self.stated_end.is_some_and(|end| packet.pts.get() >= end)
    }

    fn decode_packet(&mut self, mut packet: Packet) {
        let is_behind = self.is_behind(&packet);
        if is_behind {
            packet.trim_end = Duration::ZERO;
        }
        if self.frame_stamps {
            self.sink.silence_until(packet.pts.get());
        }
        let valid = if self.frame_stamps { packet.dur.get() } else { u64::MAX };
        let valid = if is_behind { u64::MAX } else { valid };
        let before = self.sink.frames();
        match self.decoder.decode(&packet) {
            Ok(buffer) => self.sink.append(&buffer, valid),
            Err(error) => self.sink.note(&error),
        }
        if is_behind {
            self.sink.behind += self.sink.frames() - before;
        }
    }

    /// The refusal of a stream in which nothing could be decoded.
    pub fn check_started(&self) -> Result<(), MediaError> {
        if self.sink.started {
            return Ok(());
        }
        let cause = self.sink.damage.first.clone().unwrap_or_else(|| "it holds no audio".into());
        Err(malformed(&self.path, &self.format, cause))
    }

    fn finish(self, heard: Option<Heard>) -> Result<Audio, MediaError> {
        self.check_started()?;
        let mut sink = self.sink;
        let warnings = sink.warnings();
        sink.keep(heard);
        sink.channels.iter_mut().for_each(Vec::shrink_to_fit);
        Ok(Audio { sample_rate_hz: sink.sample_rate_hz, channels: sink.channels, warnings })
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
