//! The real-time end of a take.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use hocket_dsp::rows as moves;
use hocket_rt::{RingReader, RingWriter};

use super::missing::{Missing, MissingCounts, MissingWriter};
use crate::chunk::MemoryRange;

/// Frames on their way to the disk.
#[derive(Debug)]
pub(crate) struct Piece {
    /// Frames that found no room, or were skipped, before these.
    pub silence_before: u64,
    pub frames: usize,
    /// Nothing follows.
    pub is_last: bool,
    /// `[channels][stride]`; of each row the first `frames` count.
    samples: Box<[f32]>,
    stride: usize,
}

impl Piece {
    pub fn new(channels: usize, stride: usize) -> Piece {
        let samples = vec![0.0; channels * stride].into_boxed_slice();
        Piece { silence_before: 0, frames: 0, is_last: false, samples, stride }
    }

    /// Frame after frame, channel after channel.
    pub fn interleaved(&self) -> impl Iterator<Item = f32> + '_ {
        let channels = self.samples.len() / self.stride.max(1);
        let frame =
            move |at| (0..channels).map(move |channel| self.samples[channel * self.stride + at]);
        (0..self.frames).flat_map(frame)
    }
}

/// How often a take that may wait looks for room.
const LOOK: Duration = Duration::from_millis(2);

/// What the input has in hand: the piece that it fills, and its ends of the rings.
///
/// Two have it: the [`TakeInput`], and the recorder, which ends the take when it stops. Both only try the lock, and
/// nobody ever waits in it. So the audio side never waits, and its unlock finds nobody to wake. It fails only when the
/// recorder is ending the take at that moment, and then there is nothing left to do.
#[derive(Debug)]
pub(crate) struct Hand {
    channels: usize,
    chunk_frames: usize,
    filled: RingWriter<Piece>,
    empty: RingReader<Piece>,
    /// The piece that is being filled.
    piece: Option<Piece>,
    /// Kept for the end, so that it always finds a piece. It holds no samples. Without it, the take has ended.
    last: Option<Piece>,
    /// Frames that found no room since the latest piece.
    silence: u64,
}

/// See [`Hand`].
pub(crate) type SharedHand = Arc<Mutex<Hand>>;

/// `None`: the other side has it.
pub(crate) fn try_hand(hand: &SharedHand) -> Option<MutexGuard<'_, Hand>> {
    match hand.try_lock() {
        Ok(hand) => Some(hand),
        Err(TryLockError::Poisoned(hand)) => Some(hand.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Takes frames for a recording, from one thread at a time.
///
/// Where the disk is too slow, frames find no room. They are counted, and the file has silence of equal length in
/// their place.
///
/// The drop ends the take: what was given so far is written. So does the stop of the recorder; what is given after it is
/// lost, and counted as such. Drop it on a control thread, since that frees memory.
#[derive(Debug)]
pub struct TakeInput {
    hand: SharedHand,
    frames: u64,
    /// Only the input adds. Relaxed: it publishes nothing.
    lost_frames: Arc<AtomicU64>,
    missing: MissingWriter,
    memory: Vec<MemoryRange>,
}

impl TakeInput {
    /// `filled` has room for every piece and the last one. Shape: channels, and frames per piece.
    pub(crate) fn new(
        shape: (usize, usize),
        filled: RingWriter<Piece>,
        empty: RingReader<Piece>,
        (missing, memory): (MissingWriter, Vec<MemoryRange>),
    ) -> TakeInput {
        let (channels, chunk_frames) = shape;
        let (piece, last, silence) = (None, Some(Piece::new(0, 0)), 0);
        let hand = Hand { channels, chunk_frames, filled, empty, piece, last, silence };
        TakeInput {
            hand: Arc::new(Mutex::new(hand)),
            frames: 0,
            lost_frames: Arc::default(),
            missing,
            memory,
        }
    }

    /// For the recorder.
    pub(crate) fn hand(&self) -> SharedHand {
        Arc::clone(&self.hand)
    }

    /// The count of lost frames, for those who look from beside.
    pub(crate) fn lost(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.lost_frames)
    }

    /// The count of frames that never arrived, for those who look from beside.
    pub(crate) fn missing(&self) -> Arc<MissingCounts> {
        self.missing.counts()
    }

    /// The pieces: what a caller may lock.
    pub fn memory(&self) -> &[MemoryRange] {
        &self.memory
    }

    /// All frames so far: given, skipped and lost.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// All frames so far that found no room.
    pub fn lost_frames(&self) -> u64 {
        self.lost_frames.load(Relaxed)
    }

    /// Takes frames; returns how many found room. After the stop of the recorder none does.
    ///
    /// Shape: all rows have one length. Row `i` is channel `i`; channels without a row are silent, rows beyond the
    /// channels are ignored. Unit: linear, 1.0 = full scale.
    ///
    /// Thread: real-time. Cost: O(frames). No allocation or system call; never waits.
    pub fn write(&mut self, rows: &[&[f32]]) -> usize {
        let frames = rows.first().map_or(0, |row| row.len());
        let at = try_hand(&self.hand).map_or(0, |mut hand| {
            let at = hand.fill(rows, 0);
            hand.silence += (frames - at) as u64;
            at
        });
        self.count(frames, at);
        at
    }

    /// As [`TakeInput::write`], but waits for room: for takes of what is not played in real time.
    ///
    /// Thread: control; waits for the disk, at most `patience`. What finds no room until then is lost as it is there.
    pub fn write_waiting(&mut self, rows: &[&[f32]], patience: Duration) -> usize {
        let frames = rows.first().map_or(0, |row| row.len());
        let (begun, mut at) = (Instant::now(), 0);
        loop {
            // A take that has ended gets no room any more.
            let Some(mut hand) = try_hand(&self.hand).filter(|hand| !hand.has_ended()) else {
                break;
            };
            at = hand.fill(rows, at);
            if at == frames || begun.elapsed() >= patience {
                hand.silence += (frames - at) as u64;
                break;
            }
            drop(hand);
            std::thread::sleep(LOOK);
        }
        self.count(frames, at);
        at
    }

    /// Counts frames of which the first `at` found room.
    fn count(&mut self, frames: usize, at: usize) {
        self.lost_frames.store(self.lost_frames() + (frames - at) as u64, Relaxed);
        self.frames += frames as u64;
    }

    /// Says that frames passed which nobody had: periods that the device skipped. They become silence.
    ///
    /// Thread: real-time. Cost: constant. Never waits.
    pub fn skip(&mut self, frames: u64) {
        if frames == 0 {
            return;
        }
        if let Some(mut hand) = try_hand(&self.hand) {
            hand.send();
            hand.silence += frames;
        }
        self.frames += frames;
    }

    /// Says that frames of the input never arrived between what was given last and what comes next, such as periods that the
    /// device skipped. Nothing takes their place, so the recording is as long as what it was given. The first 1,000 places
    /// are in the manifest and in the report.
    ///
    /// Thread: real-time. Cost: constant. No allocation or system call; never waits.
    pub fn miss(&mut self, frames: u64) {
        if frames > 0 {
            self.missing.add(Missing { at_frame: self.frames, frames });
        }
    }
}

impl Hand {
    /// Takes the frames from `at` on that find room; returns the first that does not.
    fn fill(&mut self, rows: &[&[f32]], mut at: usize) -> usize {
        let frames = rows.first().map_or(0, |row| row.len());
        while at < frames {
            let (channels, chunk_frames) = (self.channels, self.chunk_frames);
            let Some(piece) = self.next_piece() else { break };
            let run = (frames - at).min(chunk_frames - piece.frames);
            for channel in 0..channels {
                let from = channel * piece.stride + piece.frames;
                let out = &mut piece.samples[from..from + run];
                match rows.get(channel) {
                    Some(row) => moves::copy(out, &row[at..at + run]),
                    None => moves::fill(out, 0.0),
                }
            }
            piece.frames += run;
            at += run;
            if piece.frames == chunk_frames {
                self.send();
            }
        }
        at
    }

    /// `None`: there is no room, or the take has ended.
    fn next_piece(&mut self) -> Option<&mut Piece> {
        if self.piece.is_none() && !self.has_ended() {
            let mut next = self.empty.pop()?;
            next.frames = 0;
            next.silence_before = std::mem::take(&mut self.silence);
            self.piece = Some(next);
        }
        self.piece.as_mut()
    }

    fn send(&mut self) {
        if let Some(piece) = self.piece.take() {
            let sent = self.filled.push(piece);
            debug_assert!(sent.is_ok(), "there are more pieces than were made");
        }
    }

    fn has_ended(&self) -> bool {
        self.last.is_none()
    }

    /// Ends the take: hands over the piece that is not full, and the last one. A second call does nothing.
    ///
    /// Thread: control.
    pub(crate) fn end(&mut self) {
        self.send();
        if let Some(mut last) = self.last.take() {
            (last.silence_before, last.is_last) = (self.silence, true);
            let sent = self.filled.push(last);
            debug_assert!(sent.is_ok(), "the last piece has a place of its own");
        }
    }
}

impl Drop for TakeInput {
    fn drop(&mut self) {
        // If the recorder has it, it is ending the take itself.
        if let Some(mut hand) = try_hand(&self.hand) {
            hand.end();
        }
    }
}

pub(crate) fn memory_of(pieces: &[Piece]) -> Vec<MemoryRange> {
    pieces.iter().map(|piece| MemoryRange::of(&piece.samples)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Recorder, RecorderSettings, TakeFormat, TakeReport, TakeSettings, WavFormat};

    const LONG: Duration = Duration::from_secs(120);

    impl TakeInput {
        /// Hands over a piece that says it is longer than its memory, which the recorder's thread cannot take.
        fn send_impossible_piece(&mut self) {
            let mut hand = try_hand(&self.hand).unwrap();
            hand.fill(&[&[0.25; 8]], 0);
            hand.piece.as_mut().unwrap().frames = usize::MAX;
            hand.send();
        }
    }

    fn settings(path: &std::path::Path) -> TakeSettings {
        let format = TakeFormat::Wav(WavFormat::Float32);
        TakeSettings { format, ring_frames: 256, ..TakeSettings::new(path, 48_000, 1) }
    }

    fn recorder() -> Recorder {
        Recorder::start(RecorderSettings { chunk_frames: 64, ..RecorderSettings::default() })
    }

    fn check_panicked(report: &TakeReport) {
        let error = report.error.as_ref().unwrap().to_string();
        assert!(error.contains("panicked") && error.contains("report this"), "{error}");
    }

    #[test]
    fn a_panic_of_the_recorder_ends_its_take_with_the_cause_and_no_other_take() {
        let folder = tempfile::tempdir().unwrap();
        let recorder = recorder();
        let (mut bad, bad_take) =
            recorder.begin(&settings(&folder.path().join("bad.wav"))).unwrap();
        let (mut good, good_take) =
            recorder.begin(&settings(&folder.path().join("good.wav"))).unwrap();
        bad.send_impossible_piece();
        let report = bad_take.finish(LONG).unwrap();
        check_panicked(&report);
        // What waits for room does not wait for a take that has ended.
        assert_eq!(bad.write_waiting(&[&[0.5; 4096]], Duration::MAX), 0);
        assert_eq!(bad.lost_frames(), 4096);
        assert_eq!(good.write_waiting(&[&[0.5; 4096]], LONG), 4096);
        drop(good);
        let report = good_take.finish(LONG).unwrap();
        assert!(report.error.is_none() && report.frames == 4096, "{report:?}");
        assert_eq!(hocket_media::decode(&folder.path().join("bad.wav")).unwrap().frames(), 0);
    }
}
