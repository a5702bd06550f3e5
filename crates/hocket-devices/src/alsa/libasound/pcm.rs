//! One direction of a card.

use std::ffi::{CString, c_int, c_long, c_uint, c_ulong};

use super::functions::{Functions, Handle, HwParams, SwParams, load};
use super::{EAGAIN, EINTR, EPIPE, ESTRPIPE, Error};
use crate::Format;
use crate::alsa::sample::SampleFormat;

/// `SND_PCM_NONBLOCK`: a busy card is refused at once, and transfers never wait.
const NONBLOCK: c_int = 1;
/// `SND_PCM_ACCESS_RW_INTERLEAVED`.
const INTERLEAVED: c_int = 3;
/// `SND_PCM_ACCESS_MMAP_INTERLEAVED`: the card's buffer lies in the memory of the process.
const MAPPED: c_int = 0;
/// `SND_PCM_TYPE_HW`, `_FILE` and `_NULL`. Plug-ins copy the samples anyway, and some map badly.
const WITHOUT_CONVERSION: [c_int; 3] = [0, 3, 4];

/// Which way sound goes: `snd_pcm_stream_t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::alsa) enum Stream {
    Playback = 0,
    Capture = 1,
}

impl SampleFormat {
    /// `snd_pcm_format_t`.
    fn code(self) -> c_int {
        match self {
            SampleFormat::Float => 14,
            SampleFormat::S32 => 10,
            SampleFormat::S24In3 => 32,
            SampleFormat::S16 => 2,
        }
    }
}

/// What is asked of a PCM; it takes what is nearest.
#[derive(Debug, Clone, Copy)]
pub(in crate::alsa) struct Config {
    pub(in crate::alsa) channels: u32,
    pub(in crate::alsa) rate_hz: u32,
    pub(in crate::alsa) frames: u32,
    pub(in crate::alsa) periods: u32,
}

/// Why a PCM does not go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::alsa) enum Trouble {
    /// It ran empty, or over.
    Xrun,
    /// The system slept.
    Suspended,
    /// Not now.
    Later,
    /// It has gone, or fails for good.
    Gone(String),
}

/// An open PCM.
pub(in crate::alsa) struct Pcm {
    functions: &'static Functions,
    handle: Handle,
    channels: u32,
    format: Format,
    buffer: u32,
    sample: SampleFormat,
    mapped: bool,
}

// SAFETY: One at a time; libasound binds a PCM to no thread.
unsafe impl Send for Pcm {}

impl Pcm {
    /// Opens it, and waits for nobody.
    pub(in crate::alsa) fn open(name: &str, stream: Stream) -> Result<Pcm, Error> {
        let functions = load().map_err(|text| Error { code: -1, text })?;
        let name = CString::new(name)
            .map_err(|_| Error { code: -1, text: "its name has a zero byte".into() })?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: Types; the name lasts as long as the call.
        let code =
            unsafe { (functions.open)(&raw mut handle, name.as_ptr(), stream as c_int, NONBLOCK) };
        functions.checked(code)?;
        let format = Format { rate_hz: 0, frames: 0 };
        let sample = SampleFormat::Float;
        Ok(Pcm { functions, handle, channels: 0, format, buffer: 0, sample, mapped: false })
    }

    /// Chooses format, channels, rate, period and buffer. Names what was refused.
    pub(in crate::alsa) fn configure(
        &mut self,
        wanted: &Config,
    ) -> Result<(), (&'static str, Error)> {
        let mut params: *mut HwParams = std::ptr::null_mut();
        // SAFETY: Types, Parameters.
        let code = unsafe { (self.functions.hw_malloc)(&raw mut params) };
        self.functions.checked(code).map_err(|error| ("parameters", error))?;
        // SAFETY: Parameters.
        let done = unsafe { self.configure_hardware(params, wanted) };
        // SAFETY: Parameters.
        unsafe { (self.functions.hw_free)(params) };
        done?;
        self.configure_software().map_err(|error| ("to be started by hand", error))
    }

    /// # Safety
    /// Parameters.
    unsafe fn configure_hardware(
        &mut self,
        params: *mut HwParams,
        wanted: &Config,
    ) -> Result<(), (&'static str, Error)> {
        let (functions, pcm) = (self.functions, self.handle);
        let check = |what, code| functions.checked(code).map_err(|error| (what, error)).map(drop);
        let none = std::ptr::null_mut::<c_int>();
        let (mut channels, mut rate): (c_uint, c_uint) = (wanted.channels, wanted.rate_hz);
        let mut period = c_ulong::from(wanted.frames);
        // SAFETY: Types, Open; the caller has Parameters. Numbers are this function's own.
        unsafe {
            check("to be configured", (functions.hw_any)(pcm, params))?;
            self.mapped = WITHOUT_CONVERSION.contains(&(functions.kind)(pcm))
                && (functions.hw_access)(pcm, params, MAPPED) >= 0;
            if !self.mapped {
                check("interleaved samples", (functions.hw_access)(pcm, params, INTERLEAVED))?;
            }
            let has =
                |format: &SampleFormat| (functions.hw_has_format)(pcm, params, format.code()) == 0;
            let sample = SampleFormat::ALL.into_iter().find(has).unwrap_or(SampleFormat::S16);
            let format = (functions.hw_format)(pcm, params, sample.code());
            check("samples as floats or as integers of 32, 24 or 16 bits", format)?;
            check("these channels", (functions.hw_channels)(pcm, params, &raw mut channels))?;
            // Where ALSA would resample, its real rate is better: the session is converted to that, once.
            let _ = (functions.hw_resample)(pcm, params, 0);
            check("this rate", (functions.hw_rate)(pcm, params, &raw mut rate, none))?;
            check("this period", (functions.hw_period)(pcm, params, &raw mut period, none))?;
            let mut buffer = period * c_ulong::from(wanted.periods);
            check("this buffer", (functions.hw_buffer)(pcm, params, &raw mut buffer))?;
            check("this format", (functions.hw_install)(pcm, params))?;
            check("its period", (functions.hw_got_period)(params, &raw mut period, none))?;
            check("its buffer", (functions.hw_got_buffer)(params, &raw mut buffer))?;
            self.format = Format { rate_hz: rate, frames: period as u32 };
            (self.channels, self.buffer, self.sample) = (channels, buffer as u32, sample);
        }
        Ok(())
    }

    /// Wakes the leader for a whole period. Starts only on request.
    fn configure_software(&mut self) -> Result<(), Error> {
        let (functions, pcm) = (self.functions, self.handle);
        let mut params: *mut SwParams = std::ptr::null_mut();
        let (frames, never) = (c_ulong::from(self.format.frames), c_ulong::from(self.buffer) * 2);
        // SAFETY: Types, Open, Parameters.
        unsafe {
            functions.checked((functions.sw_malloc)(&raw mut params))?;
            let all = functions
                .checked((functions.sw_current)(pcm, params))
                .and_then(|_| functions.checked((functions.sw_avail_min)(pcm, params, frames)))
                .and_then(|_| functions.checked((functions.sw_start)(pcm, params, never)))
                .and_then(|_| functions.checked((functions.sw_install)(pcm, params)));
            (functions.sw_free)(params);
            all.map(drop)
        }
    }

    pub(in crate::alsa) fn format(&self) -> Format {
        self.format
    }

    pub(in crate::alsa) fn channels(&self) -> u32 {
        self.channels
    }

    /// Frames of the whole buffer.
    pub(in crate::alsa) fn buffer(&self) -> u32 {
        self.buffer
    }

    pub(in crate::alsa) fn sample(&self) -> SampleFormat {
        self.sample
    }

    /// Whether a transfer copies into the card's buffer, without a call of the system.
    pub(in crate::alsa) fn is_mapped(&self) -> bool {
        self.mapped
    }

    fn frame_bytes(&self) -> usize {
        self.channels as usize * self.sample.bytes()
    }

    /// Whether it is a file or nothing at all (`SND_PCM_TYPE_FILE`, `_NULL`), which has no clock of its own.
    pub(in crate::alsa) fn is_clockless(&self) -> bool {
        // SAFETY: Types, Open.
        !self.handle.is_null() && matches!(unsafe { (self.functions.kind)(self.handle) }, 3 | 4)
    }

    /// Has `other` start and stop with this one; whether the card can do that.
    pub(in crate::alsa) fn link(&mut self, other: &mut Pcm) -> bool {
        let is_open = !self.handle.is_null() && !other.handle.is_null();
        // SAFETY: Types, Open, for both. A close takes a PCM out of its group.
        is_open && unsafe { (self.functions.link)(self.handle, other.handle) } >= 0
    }

    /// A call without further arguments.
    fn call(&mut self, function: unsafe extern "C" fn(Handle) -> c_int) -> Result<(), Trouble> {
        if self.handle.is_null() {
            return Err(Trouble::Gone("it is closed".into()));
        }
        // SAFETY: Types, Open, One at a time.
        let code = unsafe { function(self.handle) };
        self.trouble(code.into()).map(drop)
    }

    /// Ready to be filled and started.
    pub(in crate::alsa) fn prepare(&mut self) -> Result<(), Trouble> {
        self.call(self.functions.prepare)
    }

    pub(in crate::alsa) fn start(&mut self) -> Result<(), Trouble> {
        self.call(self.functions.start)
    }

    /// Stops at once.
    pub(in crate::alsa) fn stop(&mut self) {
        let _ = self.call(self.functions.drop);
    }

    /// After the system has slept. Where the driver cannot, a new start does.
    pub(in crate::alsa) fn resume(&mut self) -> Result<(), Trouble> {
        self.call(self.functions.resume)
    }

    /// Waits until a period can be transferred, at most so long; whether it can.
    pub(in crate::alsa) fn wait(&mut self, most_ms: i32) -> Result<bool, Trouble> {
        if self.handle.is_null() {
            return Err(Trouble::Gone("it is closed".into()));
        }
        // SAFETY: Types, Open, One at a time.
        let code = unsafe { (self.functions.wait)(self.handle, most_ms) };
        match self.trouble(code.into()) {
            Err(Trouble::Later) => Ok(false),
            other => other.map(|ready| ready > 0),
        }
    }

    /// Frames that can be transferred now.
    pub(in crate::alsa) fn available(&mut self) -> Result<u32, Trouble> {
        if self.handle.is_null() {
            return Err(Trouble::Gone("it is closed".into()));
        }
        // SAFETY: Types, Open, One at a time.
        let code = unsafe { (self.functions.available)(self.handle) };
        self.trouble(code).map(|frames| frames as u32)
    }

    /// Writes whole frames; returns how many bytes it took.
    pub(in crate::alsa) fn write(&mut self, bytes: &[u8]) -> Result<usize, Trouble> {
        let frames = bytes.len() / self.frame_bytes().max(1);
        if self.handle.is_null() || self.frame_bytes() == 0 {
            return Err(Trouble::Gone("it is closed".into()));
        }
        let write = if self.mapped { self.functions.write_mapped } else { self.functions.write };
        // SAFETY: Types, Open, One at a time, Room: `frames` whole frames are in `bytes`.
        let code = unsafe { write(self.handle, bytes.as_ptr().cast(), frames as c_ulong) };
        self.transferred(code)
    }

    /// Reads whole frames; returns how many bytes it gave.
    pub(in crate::alsa) fn read(&mut self, bytes: &mut [u8]) -> Result<usize, Trouble> {
        let frames = bytes.len() / self.frame_bytes().max(1);
        if self.handle.is_null() || self.frame_bytes() == 0 {
            return Err(Trouble::Gone("it is closed".into()));
        }
        let read = if self.mapped { self.functions.read_mapped } else { self.functions.read };
        // SAFETY: Types, Open, One at a time, Room: `frames` whole frames fit into `bytes`.
        let code = unsafe { read(self.handle, bytes.as_mut_ptr().cast(), frames as c_ulong) };
        self.transferred(code)
    }

    /// Bytes that a transfer moved. None at all is none at present.
    fn transferred(&self, code: c_long) -> Result<usize, Trouble> {
        match self.trouble(code)? {
            0 => Err(Trouble::Later),
            frames => Ok(frames as usize * self.frame_bytes()),
        }
    }

    fn trouble(&self, code: c_long) -> Result<c_long, Trouble> {
        if code >= 0 {
            return Ok(code);
        }
        Err(match -code as c_int {
            EPIPE => Trouble::Xrun,
            ESTRPIPE => Trouble::Suspended,
            EAGAIN | EINTR => Trouble::Later,
            // Allocates, and the play ends with it.
            _ => match self.functions.checked(code as c_int) {
                Ok(_) => Trouble::Later,
                Err(error) => Trouble::Gone(error.text),
            },
        })
    }

    /// Gives the card back. Every later call is refused.
    pub(in crate::alsa) fn close(&mut self) {
        let handle = std::mem::replace(&mut self.handle, std::ptr::null_mut());
        if !handle.is_null() {
            // SAFETY: Types, Open: the handle is forgotten.
            unsafe { (self.functions.close)(handle) };
        }
    }
}

impl Drop for Pcm {
    fn drop(&mut self) {
        self.close();
    }
}
