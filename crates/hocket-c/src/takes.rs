//! Takes: recordings that the leader hands over, block by block, and that other threads write to files.

use std::ffi::{CString, c_char, c_void};
use std::path::Path;
use std::slice::from_raw_parts;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::time::Duration;

use hocket_disk::{
    EventTakeInput, Recorder as DiskRecorder, RecorderSettings, Take as DiskTake, TakeFormat,
    TakeInput, TakeReport as DiskReport, TakeSettings as DiskSettings, WavFormat,
};
use hocket_engine::RowsRef;

use crate::border::{c_text, done, made, quiet, seen, text};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::ports::{Output, rows_of};
use crate::process::lead;
use crate::status::{Error, Status};

/// WAV with floats of 32 bits. Beyond 4 GiB it is RF64, as the other WAV formats are.
pub const HOCKET_TAKE_WAV_FLOAT: u32 = 0;
/// WAV of 24 bits.
pub const HOCKET_TAKE_WAV_24: u32 = 1;
/// WAV of 16 bits.
pub const HOCKET_TAKE_WAV_16: u32 = 2;
/// FLAC of 24 bits, up to 96 kHz and 8 channels.
pub const HOCKET_TAKE_FLAC_24: u32 = 3;
/// FLAC of 16 bits, up to 96 kHz and 8 channels.
pub const HOCKET_TAKE_FLAC_16: u32 = 4;

/// The most channels of a take.
const CHANNELS: usize = 64;

/// Writes takes to files, on threads of its own: one for each device, so that a disk that stalls holds up only its own
/// takes.
pub struct Recorder {
    recorder: DiskRecorder,
    /// The real-time ends of takes that may still be open.
    inputs: Mutex<Vec<Weak<Input>>>,
}

/// The real-time end of a take, until the take is finished. All threads only try the lock, so the real-time one never
/// waits for it.
type Input = Mutex<Option<Handed>>;

/// What the real-time end takes.
pub(crate) enum Handed {
    Audio(TakeInput),
    Events(EventTakeInput),
}

/// A recording in progress.
pub struct Take {
    input: Arc<Input>,
    take: Mutex<Option<DiskTake>>,
    /// 0: a take of events.
    channels: u32,
}

/// What to record, and where to.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct TakeSettings {
    /// The file. It must not exist: a recording never replaces anything.
    pub path: *const c_char,
    /// `HOCKET_TAKE_WAV_FLOAT` and so on.
    pub format: u32,
    /// Frames per second.
    pub rate_hz: u32,
    /// 1 to 64.
    pub channels: u32,
    /// Where in the song the first frame belongs. Programs that read the recording find it beside the file.
    pub start_frame: u64,
    /// How many frames later than they sounded the frames arrive (`hocket_output`).
    pub latency_frames: u64,
    /// How many frames find room while the disk does not answer. 0 means 15 s.
    pub ring_frames: u64,
}

/// Makes a recorder. Its threads start with the first take on their device. Returns NULL on failure.
///
/// Thread: control. Cost: allocates.
///
/// # Safety
/// P.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_recorder_new(error: *mut *mut Error) -> *mut Recorder {
    let recorder = || {
        let recorder = DiskRecorder::start(RecorderSettings::default());
        Ok(Recorder { recorder, inputs: Mutex::default() })
    };
    // SAFETY: P.
    unsafe { made(error, recorder) }
}

/// Ends all takes of a recorder with what was given so far, waits until they are on the disk, and frees the recorder.
/// The handles of its takes stay: finish or free each. NULL does nothing.
///
/// Thread: control. Cost: waits for the disk.
///
/// # Safety
/// P, H, X.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_recorder_free(recorder: *mut Recorder) {
    if !recorder.is_null() {
        // SAFETY: H (made by `border::made`), X.
        let recorder = unsafe { Box::from_raw(recorder) };
        quiet((), || drop(recorder));
    }
}

/// Begins a take: creates the file, and beside it one that ends in `.take.toml`, which says what the take is and where it
/// is silent (docs/disks.md). Frames are written as they come. Returns NULL on failure, and leaves nothing behind then.
///
/// Thread: control. Cost: waits for the disk; memory for `ring_frames`, and 512 KiB.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_take_begin(
    recorder: *const Recorder,
    settings: *const TakeSettings,
    error: *mut *mut Error,
) -> *mut Take {
    // SAFETY: P, H.
    unsafe {
        made(error, || {
            let Recorder { recorder, inputs } = seen(recorder, "recorder")?;
            let settings = seen(settings, "settings")?.read()?;
            let channels = settings.channels as u32;
            let (input, take) = recorder.begin(&settings).map_err(Failure::not_possible)?;
            Ok(Take::new(Handed::Audio(input), take, channels, inputs))
        })
    }
}

/// Records frames. Row i is channel i; 1.0 is full scale. `channel_count` is at most that of the take, and channels
/// without a row are silent. So are the frames if there is no row at all. `HOCKET_STATUS_BUSY`: some frames found no room, because the disk is too slow. They are
/// silent and counted.
///
/// Thread: real-time, such as the leader; one at a time. Cost: a copy. It does not allocate and does not wait.
///
/// # Safety
/// P (`channels` has `channel_count` rows of `frames` samples), H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_take_write(
    take: *const Take,
    channels: *const *const f32,
    channel_count: u32,
    frames: u32,
) -> Status {
    // SAFETY: P, H.
    let (take, rows) = unsafe { (take.as_ref(), rows_of(channels, channel_count)) };
    let (Some(take), Some(rows)) = (take, rows) else { return Status::BadInput };
    if rows.is_empty() {
        return take.skip(frames.into());
    }
    // SAFETY: P.
    let row = |channel: usize| unsafe { from_raw_parts(rows[channel], frames as usize) };
    quiet(Status::Fault, || take.write(rows.len(), frames, row))
}

/// Says that frames passed which nobody had, such as periods that a sound card skipped. They are silent in the file.
///
/// Thread: as `hocket_take_write`. Cost: none.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_take_skip(take: *const Take, frames: u64) -> Status {
    // SAFETY: P, H.
    let Some(take) = (unsafe { take.as_ref() }) else { return Status::BadInput };
    quiet(Status::Fault, || take.skip(frames))
}

/// Records an output of the last block: as many of its channels as the take has, the main ones first, then the extra
/// ones. It refuses an output that the graph does not have, and one with fewer channels than the take.
/// `HOCKET_STATUS_BUSY` as in `hocket_take_write`.
///
/// Thread: leader, between blocks. Cost: a copy. It does not allocate and does not wait.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_record(
    engine: *const Engine,
    output: u32,
    take: *const Take,
    frames: u32,
) -> Status {
    // SAFETY: P, H.
    let Some(take) = (unsafe { take.as_ref() }) else { return Status::BadInput };
    let mut recorded = Status::BadInput;
    // SAFETY: P, H.
    let status = unsafe {
        lead(engine, |leading| {
            let Some(known) = Output::of(leading, output) else { return };
            let Some(rows) = leading.output_rows(output as usize, frames as usize) else { return };
            recorded = take.record(rows, &known, frames);
        })
    };
    if status == Status::Ok { recorded } else { status }
}

/// How a take stands.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct TakeProgress {
    /// Frames that were given to the system.
    pub frames: u64,
    /// Frames that are on the disk, and that the file's header states.
    pub safe_frames: u64,
    /// Frames of silence among them, because they found no room or nobody had them.
    pub silent_frames: u64,
    /// Events of a take of events that found no room so far.
    pub lost_events: u64,
    /// Whether the take has failed. `hocket_take_finish` says why.
    pub failed: bool,
}

/// Writes how a take stands into `progress`.
///
/// Thread: control. Cost: a short lock; never waits for the disk.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_take_progress(
    take: *const Take,
    progress: *mut TakeProgress,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H.
    unsafe {
        done(error, || {
            let place = progress.as_mut().ok_or_else(|| Failure::null("progress"))?;
            let take = locked(&seen(take, "take")?.take);
            let status = take.as_ref().map(DiskTake::status).unwrap_or_default();
            *place = TakeProgress {
                frames: status.frames,
                safe_frames: status.safe_frames,
                silent_frames: status.silent_frames,
                lost_events: status.lost_events,
                failed: status.error.is_some(),
            };
            Ok(())
        })
    }
}

/// Frames of a recording that are silent because they found no room, or because nobody had them.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Silence {
    /// The recording's frame at which it begins.
    pub at_frame: u64,
    /// Its length in frames.
    pub frames: u64,
}

/// What became of a take. Texts and lists are valid until the callback returns.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct TakeReport {
    /// The file.
    pub path: *const c_char,
    /// The length of the recording in frames.
    pub frames: u64,
    /// All frames of silence that were put in.
    pub silent_frames: u64,
    /// Where they are: the first 10,000.
    pub silences: *const Silence,
    /// Number of `silences`.
    pub silence_count: usize,
    /// Samples beyond full scale that were set to full scale (not with floats).
    pub clipped: u64,
    /// Samples that were not finite and are silent.
    pub not_finite: u64,
    /// Of a take of events: messages in the file, with the ends of notes that sounded at its end.
    pub messages: u64,
    /// Of a take of events: events for which MIDI files have no message, such as changes of parameters.
    pub left_out: u64,
    /// Of a take of events: events that found no room.
    pub lost_events: u64,
    /// Why the recording is shorter than what was given. NULL: it is not. What is in the file is intact.
    pub why: *const c_char,
}

/// Called with what became of a take.
pub type TakeReportFn = Option<unsafe extern "C" fn(user: *mut c_void, report: *const TakeReport)>;

/// Ends a take, waits until everything is on the disk, calls `tell` once with what became of it, and frees the take.
/// `HOCKET_STATUS_BUSY`: that takes longer than `patience_ms`, or a thread is writing to the take at this moment. The
/// take accepts no more frames, and the handle stays: call again, or free it. With `HOCKET_STATUS_OK` and
/// `HOCKET_STATUS_FAULT` the take is gone.
///
/// Thread: control; `tell` runs on the calling thread. Cost: waits for the disk.
///
/// # Safety
/// P, H, X, C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_take_finish(
    take: *mut Take,
    patience_ms: u64,
    tell: TakeReportFn,
    user: *mut c_void,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H.
    let status = unsafe {
        done(error, || {
            let tell = tell.ok_or_else(|| Failure::null("tell"))?;
            let report = seen(take, "take")?.finish(Duration::from_millis(patience_ms))?;
            // SAFETY: C.
            with_texts(&report, |report| tell(user, report));
            Ok(())
        })
    };
    if status == Status::Ok || status == Status::Fault {
        // SAFETY: H, X.
        unsafe { hocket_take_free(take) };
    }
    status
}

/// Ends a take and frees its handle without waiting for the disk. The recorder still writes what it was given. NULL
/// does nothing.
///
/// Thread: control. Cost: frees memory.
///
/// # Safety
/// P, H, X.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_take_free(take: *mut Take) {
    if !take.is_null() {
        // SAFETY: H (made by `border::made`), X.
        let take = unsafe { Box::from_raw(take) };
        quiet((), || drop(take));
    }
}

impl Drop for Recorder {
    /// The end of an input hands over what it still holds, so inputs end before the recorder does.
    fn drop(&mut self) {
        for input in locked(&self.inputs).iter().filter_map(Weak::upgrade) {
            loop {
                if let Some(mut input) = tried(&input) {
                    let ended = input.take();
                    drop(input);
                    break drop(ended);
                }
                // A thread writes to it at this moment.
                std::thread::yield_now();
            }
        }
    }
}

impl TakeSettings {
    /// # Safety
    /// P.
    unsafe fn read(&self) -> Result<DiskSettings, Failure> {
        let format = match self.format {
            HOCKET_TAKE_WAV_FLOAT => TakeFormat::Wav(WavFormat::Float32),
            HOCKET_TAKE_WAV_24 => TakeFormat::Wav(WavFormat::Pcm24),
            HOCKET_TAKE_WAV_16 => TakeFormat::Wav(WavFormat::Pcm16),
            HOCKET_TAKE_FLAC_24 => TakeFormat::Flac24,
            HOCKET_TAKE_FLAC_16 => TakeFormat::Flac16,
            other => {
                return Err(Failure::bad_input(format!(
                    "settings.format of {other} is not possible: choose HOCKET_TAKE_WAV_FLOAT, HOCKET_TAKE_WAV_24, \
                     HOCKET_TAKE_WAV_16, HOCKET_TAKE_FLAC_24 or HOCKET_TAKE_FLAC_16"
                )));
            }
        };
        let channels = self.channels as usize;
        if !(1..=CHANNELS).contains(&channels) {
            let text =
                format!("settings.channels of {channels} is not possible: choose 1 to {CHANNELS}");
            return Err(Failure::bad_input(text));
        }
        let rates = hocket_engine::Settings::RATES_HZ;
        if !rates.contains(&self.rate_hz) {
            let (own, min, max) = (self.rate_hz, rates.start(), rates.end());
            let text = format!("settings.rate_hz of {own} is not possible: choose {min} to {max}");
            return Err(Failure::bad_input(text));
        }
        // SAFETY: the caller's obligation.
        let path = Path::new(unsafe { text(self.path, "settings.path") }?);
        if path.exists() {
            let path = path.display();
            let text =
                format!("{path} exists: choose another name, since a recording replaces nothing");
            return Err(Failure::bad_input(text));
        }
        let usual = DiskSettings::new(path, self.rate_hz, channels);
        let ring_frames = match usize::try_from(self.ring_frames) {
            Ok(0) => usual.ring_frames,
            // A minute at 192 kHz is enough for every disk that answers at all.
            Ok(frames) if frames <= 60 * 192_000 => frames,
            _ => {
                let text = "settings.ring_frames is too large: choose at most 11520000";
                return Err(Failure::bad_input(text));
            }
        };
        let (start_frame, latency_frames) = (self.start_frame, self.latency_frames);
        Ok(DiskSettings { format, start_frame, latency_frames, ring_frames, ..usual })
    }
}

impl Recorder {
    /// Begins a take of events.
    pub(crate) fn begin_events(
        &self,
        settings: &hocket_disk::EventTakeSettings,
    ) -> Result<Take, Failure> {
        let begun = self.recorder.begin_events(settings);
        let (input, take) = begun.map_err(Failure::not_possible)?;
        Ok(Take::new(Handed::Events(input), take, 0, &self.inputs))
    }
}

impl Take {
    /// `inputs`: those of its recorder.
    fn new(input: Handed, take: DiskTake, channels: u32, inputs: &Mutex<Vec<Weak<Input>>>) -> Take {
        let (input, take) = (Arc::new(Mutex::new(Some(input))), Mutex::new(Some(take)));
        let mut inputs = locked(inputs);
        inputs.retain(|input| input.strong_count() > 0);
        inputs.push(Arc::downgrade(&input));
        Take { input, take, channels }
    }

    pub(crate) fn input(&self) -> Option<MutexGuard<'_, Option<Handed>>> {
        tried(&self.input)
    }

    fn write<'a>(&self, count: usize, frames: u32, row: impl Fn(usize) -> &'a [f32]) -> Status {
        if count > self.channels as usize {
            return Status::BadInput;
        }
        let Some(mut input) = self.input() else { return Status::Busy };
        let Some(Handed::Audio(input)) = input.as_mut() else { return Status::BadInput };
        let mut rows: [&[f32]; CHANNELS] = [&[]; CHANNELS];
        rows[..count].iter_mut().enumerate().for_each(|(channel, place)| *place = row(channel));
        match input.write(&rows[..count]) {
            taken if taken == frames as usize => Status::Ok,
            _ => Status::Busy,
        }
    }

    fn skip(&self, frames: u64) -> Status {
        let Some(mut input) = self.input() else { return Status::Busy };
        let Some(Handed::Audio(input)) = input.as_mut() else { return Status::BadInput };
        input.skip(frames);
        Status::Ok
    }

    fn record(&self, rows: RowsRef<'_>, known: &Output, frames: u32) -> Status {
        let (count, all) = (self.channels as usize, (known.main + known.extra) as usize);
        if count > all || rows.frames() != frames as usize {
            return Status::BadInput;
        }
        // The rows of the side chain lie between the main and the extra ones.
        let side = rows.len() - all;
        let row = |channel| {
            let side = if channel < known.main as usize { 0 } else { side };
            rows.row(channel + side)
        };
        self.write(count, frames, row)
    }

    /// Ends the take and waits for its report.
    fn finish(&self, patience: Duration) -> Result<DiskReport, Failure> {
        let busy = |text: &str| Failure { status: Status::Busy, text: text.to_owned() };
        let input = self.input().map(|mut input| input.take());
        let input =
            input.ok_or_else(|| busy("a thread is writing to the take: finish it again"))?;
        // Outside the lock, so that the real-time thread finds it free.
        drop(input);
        let mut take = locked(&self.take);
        let ended = take.take().ok_or_else(|| Failure::bad_input("the take has been finished"))?;
        ended.finish(patience).map_err(|still| {
            *take = Some(still);
            busy("the disk has not written all of the take yet: finish it again")
        })
    }
}

fn with_texts(report: &DiskReport, use_it: impl FnOnce(&TakeReport)) {
    let path = c_text(&report.path.to_string_lossy());
    let why: Option<CString> = report.error.as_ref().map(|error| c_text(&error.to_string()));
    let silence = |it: &hocket_disk::Silence| Silence { at_frame: it.at_frame, frames: it.frames };
    let silences: Vec<Silence> = report.silences.iter().map(silence).collect();
    let events = report.events.unwrap_or_default();
    use_it(&TakeReport {
        path: path.as_ptr(),
        frames: report.frames,
        silent_frames: report.silent_frames,
        silences: silences.as_ptr(),
        silence_count: silences.len(),
        clipped: report.clipped,
        not_finite: report.not_finite,
        messages: events.written,
        left_out: events.left_out,
        lost_events: events.lost,
        why: why.as_ref().map_or(std::ptr::null(), |why| why.as_ptr()),
    });
}

fn tried(input: &Input) -> Option<MutexGuard<'_, Option<Handed>>> {
    match input.try_lock() {
        Ok(input) => Some(input),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// C programs use these types from several threads at once.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Recorder>();
    shared::<Take>();
};
