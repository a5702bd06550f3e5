//! Which device plays, and at which rate and block length.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Receiver;

use hocket_devices::alsa::{self, open_usual};
use hocket_devices::found::is_absent;
use hocket_devices::{
    Alsa, AlsaError, AlsaOptions, Change, Connect, Device, DeviceError, Format, Jack, JackError,
    JackOptions, NoteEnds, ServerTransport, Virtual,
};
use hocket_plan::Session;

use super::notes::Notes;
use crate::cli::{PlayArgs, TransportArg};
use crate::failure::Failure;
use crate::output::{note, tell};

/// The device with a transport of its own.
const JACK: &str = "jack";
/// Names the device that plays where the command line names none.
const VARIABLE: &str = "HOCKET_DEVICE";
/// The block length where no server decides.
const FRAMES: u32 = 64;
/// The block length and the rate that are asked of a sound card: what any card can, without xruns as a rule.
const CARD: Format = Format { rate_hz: 48_000, frames: 256 };

/// The device, before the session is loaded.
pub(super) enum Chosen {
    /// The one without sound.
    Virtual,
    /// A client of a server that runs.
    Jack(Box<Jack<Notes>>),
    /// A sound card, or another PCM of ALSA.
    Alsa(Box<Alsa>),
}

impl Chosen {
    /// The device that was named, or else the best one that is there, which is then told.
    ///
    /// # Errors
    /// An unknown name, a client name that is not possible, or a transport without its device: exit code 2. A device that is
    /// not there: 3.
    pub(super) fn find(args: &PlayArgs) -> Result<Chosen, Failure> {
        let named = named(args);
        check_transport(args, named.as_ref())?;
        let chosen = match named {
            Some(named) => Chosen::named(args, &named)?,
            None => Chosen::best(args)?,
        };
        chosen.unused(args).into_iter().for_each(tell);
        Ok(chosen)
    }

    /// Whether a thread of the device's server leads, and not one of this process.
    pub(super) fn leads(&self) -> bool {
        matches!(self, Chosen::Jack(_))
    }

    /// What was asked for and means nothing to this device.
    fn unused(&self, args: &PlayArgs) -> Vec<String> {
        let is_jack = matches!(self, Chosen::Jack(_));
        let is_card = matches!(self, Chosen::Alsa(_));
        let options = [
            ("--client", "jack", !is_jack && args.client != PlayArgs::CLIENT),
            ("--connect", "jack", !is_jack && args.connect != Connect::Physical),
            ("--periods", "alsa", !is_card && args.periods != PlayArgs::PERIODS),
        ];
        let unused = options.into_iter().filter(|(_, _, is_unused)| *is_unused);
        unused
            .map(|(option, device, _)| format!("{option} changes nothing: only {device} has it"))
            .collect()
    }

    fn named(args: &PlayArgs, Named { asked, name }: &Named) -> Result<Chosen, Failure> {
        match name.as_str() {
            "virtual" => Ok(Chosen::Virtual),
            JACK => Ok(Chosen::Jack(Box::new(open(args).map_err(failure)?))),
            "alsa" => card(args, alsa::USUAL, asked),
            pcm if pcm.starts_with("alsa:") => card(args, &pcm["alsa:".len()..], asked),
            "pipewire" => Err(Failure::not_possible(format!(
                "{asked}: not built in; use jack: `hocket devices` says how to get there"
            ))),
            _ => Err(Failure::bad_input(format!(
                "{asked}: there is no such device; choose jack, alsa, alsa:PCM or virtual"
            ))),
        }
    }

    /// A JACK server, if one runs and takes a client; else a sound card, if one is free.
    fn best(args: &PlayArgs) -> Result<Chosen, Failure> {
        let no_jack = match open_with_card(args) {
            Ok(jack) => {
                let (server, Format { rate_hz, frames }) = (jack.server_name(), jack.format());
                note(format_args!(
                    "plays on jack, because the server '{server}' runs: {rate_hz} Hz, blocks of {frames} frames"
                ));
                return Ok(Chosen::Jack(Box::new(jack)));
            }
            Err(error @ JackError::Name(..)) => return Err(failure(error)),
            Err(error) => error,
        };
        let no_card = match open_usual(card_options(args, alsa::USUAL)) {
            Ok(card) => {
                let Format { rate_hz, frames } = card.format();
                let told = format!(
                    "plays on alsa, {rate_hz} Hz, blocks of {frames} frames, because there is a sound card: {no_jack}"
                );
                say(told, is_absent(&no_jack));
                return Ok(Chosen::Alsa(Box::new(card)));
            }
            Err(error) => error,
        };
        let told = format!("plays on the virtual device, without sound: {no_jack}; {no_card}");
        let no_card = matches!(no_card, AlsaError::NoCard | AlsaError::Library(_));
        say(told, is_absent(&no_jack) && no_card);
        Ok(Chosen::Virtual)
    }

    /// The rate at which the session is loaded; `None`: its own.
    ///
    /// # Errors
    /// Another rate was asked for than the device has: exit code 3.
    pub(super) fn rate_hz(&self, asked: Option<u32>) -> Result<Option<u32>, Failure> {
        let Some(Format { rate_hz, .. }) = self.decided() else { return Ok(asked) };
        let Some(asked) = asked.filter(|asked| *asked != rate_hz) else { return Ok(Some(rate_hz)) };
        Err(Failure::not_possible(match self {
            Chosen::Alsa(card) => format!(
                "--rate {asked}: the ALSA device '{}' runs at {rate_hz} Hz; leave out --rate, and the session is converted",
                card.pcm()
            ),
            _ => format!(
                "--rate {asked}: the JACK server runs at {rate_hz} Hz; leave out --rate, and the session is converted, \
                 or restart the server at {asked} Hz"
            ),
        }))
    }

    /// The block length.
    ///
    /// # Errors
    /// Another one was asked for than the device has: exit code 3.
    pub(super) fn frames(&self, asked: Option<u32>) -> Result<u32, Failure> {
        let Some(Format { frames, .. }) = self.decided() else {
            return Ok(asked.unwrap_or(FRAMES));
        };
        let Some(asked) = asked.filter(|asked| *asked != frames) else { return Ok(frames) };
        Err(Failure::not_possible(match self {
            Chosen::Alsa(card) => format!(
                "--frames {asked}: the ALSA device '{}' plays blocks of {frames} frames, which is the nearest that it \
                 can; give that, or leave out --frames",
                card.pcm()
            ),
            _ => format!(
                "--frames {asked}: the JACK server plays blocks of {frames} frames; leave out --frames, or change \
                 the server (`jack_bufsize {asked}`)"
            ),
        }))
    }

    fn decided(&self) -> Option<Format> {
        match self {
            Chosen::Virtual => None,
            Chosen::Jack(jack) => Some(Device::format(jack.as_ref())),
            Chosen::Alsa(card) => Some(card.format()),
        }
    }

    /// For those who want the notes that come in to end; `None`: none come in.
    pub(super) fn note_ends(&self) -> Option<Arc<NoteEnds>> {
        match self {
            Chosen::Jack(jack) => Some(jack.note_ends()),
            Chosen::Virtual | Chosen::Alsa(_) => None,
        }
    }

    /// Ctrl-C ends a wait for the device.
    pub(super) fn stop_with(&mut self, stop: &Arc<AtomicBool>) {
        if let Chosen::Jack(jack) = self {
            jack.stop_with(Arc::clone(stop));
        }
    }

    /// The device itself, with this format if it has none of its own.
    pub(super) fn device(self, format: Format) -> Box<dyn Device<Notes>> {
        match self {
            Chosen::Virtual => Box::new(Virtual::new(format)),
            Chosen::Jack(jack) => jack,
            Chosen::Alsa(card) => card,
        }
    }

    /// Has the song follow another transport, if that was asked for: from then on the song is where that is. `waits`: it does
    /// not start before everything is ready. Before [`Chosen::device`].
    pub(super) fn follow(&mut self, asked: TransportArg, waits: bool) -> Option<ServerTransport> {
        match (self, asked) {
            (Chosen::Jack(jack), TransportArg::Jack) => Some(jack.follow_transport(waits)),
            (Chosen::Jack(jack), TransportArg::Port) => {
                jack.follow_port();
                None
            }
            _ => None,
        }
    }

    /// Has the device say where the song is, for another Hocket. Before [`Chosen::device`].
    pub(super) fn send_transport(&mut self) {
        if let Chosen::Jack(jack) = self {
            jack.send_transport();
        }
    }

    /// What changes of it while it plays. Before [`Chosen::device`].
    pub(super) fn changes(&mut self) -> Option<Receiver<Change>> {
        match self {
            Chosen::Jack(jack) => Some(jack.changes()),
            _ => None,
        }
    }

    /// Whether it brings sound into the inputs of a session.
    pub(super) fn has_inputs(&self) -> bool {
        match self {
            Chosen::Virtual => false,
            Chosen::Jack(_) => true,
            Chosen::Alsa(card) => card.records(),
        }
    }
}

/// A device that is asked for by its name.
struct Named {
    /// Who asks for it, for messages: `--device jack`.
    asked: String,
    name: String,
}

/// The device of the command line, or else that of the variable.
fn named(args: &PlayArgs) -> Option<Named> {
    if let Some(name) = &args.device {
        return Some(Named { asked: format!("--device {name}"), name: name.clone() });
    }
    let name = std::env::var(VARIABLE).ok().filter(|name| !name.is_empty())?;
    Some(Named { asked: format!("{VARIABLE}={name}"), name })
}

/// A run that is to follow a server must not go without it, so it is not left to what is there.
fn check_transport(args: &PlayArgs, named: Option<&Named>) -> Result<(), Failure> {
    if args.send_transport && args.transport == TransportArg::Port {
        return Err(Failure::bad_input(
            "--send-transport and --transport port: a song that follows a port sends none; take one of the two out",
        ));
    }
    let option = match args.transport {
        TransportArg::Own if args.send_transport => {
            "--send-transport: only the device jack has this port".to_owned()
        }
        TransportArg::Own if args.send_clock => {
            "--send-clock: only the device jack has this port".to_owned()
        }
        TransportArg::Own => return Ok(()),
        other => format!("--transport {}: only the device jack has this transport", other.name()),
    };
    if named.is_some_and(|named| named.name == JACK) {
        return Ok(());
    }
    let instead = named.map_or(String::new(), |named| format!(" instead of {}", named.asked));
    Err(Failure::bad_input(format!("{option}; give --device jack{instead}")))
}

/// An absence is the usual case on many machines, and all else a warning.
fn say(told: String, is_usual: bool) {
    match is_usual {
        true => note(told),
        false => tell(format_args!("warning: {told}")),
    }
}

fn card(args: &PlayArgs, pcm: &str, asked: &str) -> Result<Chosen, Failure> {
    let card = Alsa::open(card_options(args, pcm))
        .map_err(|error| Failure::not_possible(format!("{asked}: {error}")))?;
    Ok(Chosen::Alsa(Box::new(card)))
}

fn card_options(args: &PlayArgs, pcm: &str) -> AlsaOptions {
    AlsaOptions {
        pcm: pcm.into(),
        rate_hz: args.rate.unwrap_or(CARD.rate_hz),
        frames: args.frames.unwrap_or(CARD.frames),
        periods: args.periods,
    }
}

/// As [`open`], but where nobody asks for the device, PipeWire has to have a card.
fn open_with_card(args: &PlayArgs) -> Result<Jack<Notes>, JackError> {
    let jack = open(args)?;
    match args.connect == Connect::Physical && jack.is_without_card() {
        true => Err(JackError::NoPipeWirePorts),
        false => Ok(jack),
    }
}

fn open(args: &PlayArgs) -> Result<Jack<Notes>, JackError> {
    let (client_name, connect) = (args.client.clone(), args.connect.clone());
    Jack::open(JackOptions { server: None, client_name, connect })
}

fn failure(error: JackError) -> Failure {
    match error {
        JackError::Name(..) => Failure::bad_input(format!("--client: {error}")),
        _ => Failure::not_possible(format!("--device jack: {error}")),
    }
}

/// What a device refuses.
pub(super) fn refused(error: DeviceError) -> Failure {
    match error {
        DeviceError::Jack(JackError::Stopped) => Failure::interrupted(),
        error => Failure::not_possible(error),
    }
}

/// How the outputs of a session are called: the master, then its own names.
pub(super) fn output_names(session: &Session) -> Vec<String> {
    let own = session.outputs.iter().map(|output| output.name.clone());
    std::iter::once("main".to_string()).chain(own).collect()
}
