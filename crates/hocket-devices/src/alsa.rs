//! A sound card, or another PCM of ALSA, without a sound server between.
//!
//! The calling thread is the leader: it waits until the card has room for a period, brings in what was recorded, has the
//! engine compute the period, and writes it. Playback and capture start together where the card can link them.
//!
//! A failure to deliver in time (an *xrun*) stops the card. The leader then begins anew, behind as much silence as at
//! the start. A card that was suspended is woken; one that has gone ends the play.

#[allow(unsafe_code)]
mod libasound;
mod cycle;
mod sample;

use std::sync::atomic::AtomicBool;

use hocket_engine::Engine;
use hocket_machine::clock::monotonic_ns;
use hocket_machine::pin::current_thread;

use crate::wiring::{plan, port_names};
use crate::{BlockObserver, Channels, Device, DeviceError, Format, Latency, Played, Ready};
use cycle::{Card, Cycle};
use libasound::{Config, Pcm, Stream};

pub use libasound::CardFacts;

/// The PCM where none is named: what the user or the system calls the usual one.
pub const USUAL: &str = "default";
/// No name of a port is longer.
const LONGEST_NAME: usize = 64;

/// What to ask of a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlsaOptions {
    /// The name of a PCM, such as `default` or `hw:0`.
    pub pcm: String,
    /// Frames per second; a card that cannot takes the nearest rate.
    pub rate_hz: u32,
    /// Frames per period; a card that cannot takes the nearest length.
    pub frames: u32,
    /// Periods in the card's buffer.
    pub periods: u32,
}

/// Why a card is not there, or refuses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AlsaError {
    /// libasound cannot be loaded.
    #[error("no ALSA library: {0}; install it (Debian: libasound2)")]
    Library(String),
    /// There is no card.
    #[error("no sound card: the system has none that ALSA knows")]
    NoCard,
    /// The PCM cannot be opened.
    #[error("the ALSA device '{pcm}' cannot be opened: {why}; {remedy}")]
    Open {
        /// Its name.
        pcm: String,
        /// ALSA's own words.
        why: String,
        /// What helps.
        remedy: &'static str,
    },
    /// The PCM cannot play as it should.
    #[error("the ALSA device '{pcm}' refuses {what}: {why}; {remedy}")]
    Refused {
        /// Its name.
        pcm: String,
        /// What it refuses.
        what: &'static str,
        /// ALSA's own words.
        why: String,
        /// What helps.
        remedy: &'static str,
    },
    /// The rate or the period length is another one with the channels of the session.
    #[error(
        "the ALSA device '{pcm}' plays {channels} channels at {rate_hz} Hz in blocks of {frames} frames only; play with \
         --rate {rate_hz} --frames {frames}"
    )]
    Changed {
        /// Its name.
        pcm: String,
        /// Of the session.
        channels: u32,
        /// What it plays then.
        rate_hz: u32,
        /// Its period then.
        frames: u32,
    },
}

/// An open card. Nothing sounds yet.
pub struct Alsa {
    options: AlsaOptions,
    playback: Pcm,
    /// `None`: it records nothing, or nothing is recorded.
    capture: Option<Pcm>,
    channels: Channels,
}

/// The cards that the system has.
///
/// # Errors
/// [`AlsaError::Library`]. Thread: control.
pub fn cards() -> Result<Vec<CardFacts>, AlsaError> {
    libasound::load().map(libasound::cards).map_err(AlsaError::Library)
}

/// Opens the usual PCM, if the system has a card.
///
/// # Errors
/// [`AlsaError`]. Thread: control.
pub fn open_usual(options: AlsaOptions) -> Result<Alsa, AlsaError> {
    match cards()?.is_empty() {
        true => Err(AlsaError::NoCard),
        false => Alsa::open(options),
    }
}

impl Alsa {
    /// Opens a PCM for playing, and for recording where it can. Does not wait for one that is busy.
    ///
    /// Thread: control.
    ///
    /// # Errors
    /// [`AlsaError`].
    pub fn open(options: AlsaOptions) -> Result<Alsa, AlsaError> {
        libasound::load().map_err(AlsaError::Library)?;
        let playback = opened(&options, Stream::Playback, 2)?;
        // A card may have no input, or none while it plays.
        let capture = opened(&options, Stream::Capture, 2).ok();
        let capture = capture.filter(|capture| capture.format() == playback.format());
        Ok(Alsa { options, playback, capture, channels: Channels::default() })
    }

    /// The name of its PCM.
    pub fn pcm(&self) -> &str {
        &self.options.pcm
    }

    /// How it plays.
    pub fn format(&self) -> Format {
        self.playback.format()
    }

    /// Whether it records.
    pub fn records(&self) -> bool {
        self.capture.is_some()
    }

    /// Whether periods are copied straight into the card's buffer (`mmap`). Where a plug-in of ALSA is between, the system is
    /// called for each transfer.
    pub fn is_mapped(&self) -> bool {
        self.playback.is_mapped()
    }

    /// The same with so many channels. Periods have the length that the session was prepared for.
    fn reopen(&mut self, stream: Stream, channels: u32) -> Result<Pcm, AlsaError> {
        let Format { rate_hz, frames } = self.format();
        let options = AlsaOptions { rate_hz, frames, ..self.options.clone() };
        let pcm = opened(&options, stream, channels)?;
        match pcm.format() == self.format() {
            true => Ok(pcm),
            false => {
                let (pcm, Format { rate_hz, frames }) = (self.options.pcm.clone(), pcm.format());
                Err(AlsaError::Changed { pcm, channels, rate_hz, frames })
            }
        }
    }

    /// Channels as the session needs them, or as near as the card comes.
    fn fit(&mut self, outputs: u32, inputs: u32) -> Result<(), AlsaError> {
        if self.playback.channels() != outputs {
            self.playback.close();
            self.playback = self.reopen(Stream::Playback, outputs)?;
        }
        match (&self.capture, inputs) {
            (None, _) => {}
            (Some(_), 0) => self.capture = None,
            (Some(capture), inputs) if capture.channels() == inputs => {}
            (Some(_), inputs) => {
                self.capture = None;
                self.capture = Some(self.reopen(Stream::Capture, inputs)?);
            }
        }
        Ok(())
    }

    fn latency(&self, inputs: bool) -> Latency {
        let (Format { rate_hz, frames }, buffer) = (self.format(), self.playback.buffer());
        // A period is computed when there is room for it: behind the rest of the buffer.
        let out_frames = Some(buffer.saturating_sub(frames));
        let in_frames = self.capture.as_ref().filter(|_| inputs).map(|_| frames);
        Latency { out_frames, in_frames, rate_hz, ..Latency::default() }
    }
}

fn opened(options: &AlsaOptions, stream: Stream, channels: u32) -> Result<Pcm, AlsaError> {
    let AlsaOptions { pcm: name, rate_hz, frames, periods } = options;
    let mut pcm = Pcm::open(name, stream).map_err(|error| AlsaError::Open {
        pcm: name.clone(),
        remedy: remedy_to_open(error.code),
        why: error.text,
    })?;
    let wanted =
        Config { channels, rate_hz: *rate_hz, frames: *frames, periods: (*periods).max(2) };
    pcm.configure(&wanted).map_err(|(what, error)| AlsaError::Refused {
        pcm: name.clone(),
        what,
        why: error.text,
        remedy: "try another one: `hocket devices` lists the cards",
    })?;
    Ok(pcm)
}

fn remedy_to_open(code: i32) -> &'static str {
    match -code {
        libasound::EBUSY => {
            "another program has it: end that one, or play through its sound server"
        }
        libasound::EACCES | libasound::EPERM => {
            "the system does not let you: join the group audio (`sudo usermod -aG audio $USER`)"
        }
        _ => "`hocket devices` lists the cards",
    }
}

impl<O: BlockObserver> Device<O> for Alsa {
    fn name(&self) -> &'static str {
        "alsa"
    }

    fn format(&self) -> Format {
        Alsa::format(self)
    }

    fn prepare(&mut self, channels: &Channels) -> Result<Ready, DeviceError> {
        let count = |bundles: &[crate::Bundle]| {
            bundles.iter().map(|bundle| bundle.channels as u32).sum::<u32>()
        };
        let mono = channels.outputs.first().is_some_and(|main| main.channels == 1);
        let (outputs, inputs) =
            (count(&channels.outputs) + u32::from(mono), count(&channels.inputs));
        self.fit(outputs.max(1), inputs)?;
        self.channels = channels.clone();
        let own = port_names(channels, LONGEST_NAME);
        let theirs = |what: &str, pcm: Option<&Pcm>| -> Vec<String> {
            let all = 1..=pcm.map_or(0, Pcm::channels);
            all.map(|number| format!("{}:{what}_{number}", self.options.pcm)).collect()
        };
        let plays = theirs("playback", Some(&self.playback));
        let records = theirs("capture", self.capture.as_ref());
        let plan = plan((&own.outputs, &own.inputs), (&plays, &records), mono);
        let latency = self.latency(inputs > 0);
        Ok(Ready { connected: plan.pairs, unconnected: plan.unconnected, latency: Some(latency) })
    }

    fn play(
        &mut self,
        engine: Engine,
        mut observer: O,
        stop: &AtomicBool,
    ) -> Result<Played<O>, DeviceError> {
        let entered = engine.enter();
        // On its seat by now, so nobody has to look for it elsewhere.
        observer.led_by(current_thread());
        let leader = std::iter::once(entered.report.clone());
        let threads = leader.chain(engine.reports().iter().cloned()).collect();
        let card = Card::new(&self.options.pcm, &mut self.playback, self.capture.as_mut());
        let mut cycle = Cycle::new(engine, observer, card, &self.channels);
        let end = cycle.run(stop);
        // At the end it counts the threads that started while it played.
        let protection = entered.others().summary();
        drop(entered);
        let (engine, observer, xruns) = cycle.end(monotonic_ns());
        Ok(Played { engine, observer, end, threads, protection, xruns: Some(xruns) })
    }
}

impl std::fmt::Debug for Alsa {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Alsa").field("options", &self.options).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_converts_nothing_is_mapped_and_a_plug_in_is_not() {
        for (pcm, mapped) in [("null", true), ("plug:null", false)] {
            let pcm = pcm.to_owned();
            match Alsa::open(AlsaOptions { pcm, rate_hz: 48_000, frames: 256, periods: 2 }) {
                Ok(card) => assert_eq!(card.is_mapped(), mapped, "{card:?}"),
                Err(AlsaError::Library(why)) => println!("SKIPPED ALSA's null: {why}"),
                Err(error) => panic!("{error}"),
            }
        }
    }
}
