//! Which device plays, and at which rate and block length.

use hocket_devices::found::is_absent;
use hocket_devices::{Device, DeviceError, Format, Jack, JackError, JackOptions, Virtual};
use hocket_plan::Session;

use super::notes::Notes;
use crate::cli::PlayArgs;
use crate::failure::Failure;
use crate::output::{note, tell};

/// Names the device that plays where the command line names none.
const VARIABLE: &str = "HOCKET_DEVICE";
/// The block length where no server decides.
const FRAMES: u32 = 64;

/// The device, before the session is loaded.
pub(super) enum Chosen {
    /// The one without sound.
    Virtual,
    /// A client of a server that runs.
    Jack(Box<Jack<Notes>>),
}

impl Chosen {
    /// The device that was named, or else the best one that is there, which is then told.
    ///
    /// # Errors
    /// An unknown name, or a client name that is not possible: exit code 2. A device that is not there: 3.
    pub(super) fn find(args: &PlayArgs) -> Result<Chosen, Failure> {
        let variable = std::env::var(VARIABLE).ok().filter(|name| !name.is_empty());
        let (asked, name) = match (&args.device, variable) {
            (Some(name), _) => (format!("--device {name}"), name.clone()),
            (None, Some(name)) => (format!("{VARIABLE}={name}"), name),
            (None, None) => return Chosen::best(args),
        };
        match name.as_str() {
            "virtual" => Ok(Chosen::Virtual),
            "jack" => Ok(Chosen::Jack(Box::new(open(args).map_err(failure)?))),
            "alsa" | "pipewire" => Err(Failure::not_possible(format!(
                "{asked}: not built in; use jack: `hocket devices` says how to get there"
            ))),
            _ => Err(Failure::bad_input(format!(
                "{asked}: there is no such device; choose jack or virtual"
            ))),
        }
    }

    /// A JACK server, if one runs and takes a client.
    fn best(args: &PlayArgs) -> Result<Chosen, Failure> {
        match open(args) {
            Ok(jack) => {
                let (server, Format { rate_hz, frames }) = (jack.server_name(), jack.format());
                note(format_args!(
                    "plays on jack, because the server '{server}' runs: {rate_hz} Hz, blocks of {frames} frames"
                ));
                Ok(Chosen::Jack(Box::new(jack)))
            }
            Err(error @ JackError::Name(..)) => Err(failure(error)),
            Err(error) => {
                let told = format!("plays on the virtual device, without sound: {error}");
                match is_absent(&error) {
                    true => note(told),
                    false => tell(format_args!("warning: {told}")),
                }
                Ok(Chosen::Virtual)
            }
        }
    }

    /// The rate at which the session is loaded; `None`: its own.
    ///
    /// # Errors
    /// Another rate was asked for than the device has: exit code 3.
    pub(super) fn rate_hz(&self, asked: Option<u32>) -> Result<Option<u32>, Failure> {
        let Some(Format { rate_hz, .. }) = self.decided() else { return Ok(asked) };
        match asked.filter(|asked| *asked != rate_hz) {
            None => Ok(Some(rate_hz)),
            Some(asked) => Err(Failure::not_possible(format!(
                "--rate {asked}: the JACK server runs at {rate_hz} Hz; leave out --rate, and the session is converted, \
                 or restart the server at {asked} Hz"
            ))),
        }
    }

    /// The block length.
    ///
    /// # Errors
    /// Another one was asked for than the device has: exit code 3.
    pub(super) fn frames(&self, asked: Option<u32>) -> Result<u32, Failure> {
        let Some(Format { frames, .. }) = self.decided() else {
            return Ok(asked.unwrap_or(FRAMES));
        };
        match asked.filter(|asked| *asked != frames) {
            None => Ok(frames),
            Some(asked) => Err(Failure::not_possible(format!(
                "--frames {asked}: the JACK server plays blocks of {frames} frames; leave out --frames, or change \
                 the server (`jack_bufsize {asked}`)"
            ))),
        }
    }

    fn decided(&self) -> Option<Format> {
        match self {
            Chosen::Virtual => None,
            Chosen::Jack(jack) => Some(Device::format(jack.as_ref())),
        }
    }

    /// The device itself, with this format if it has none of its own.
    pub(super) fn device(self, format: Format) -> Box<dyn Device<Notes>> {
        match self {
            Chosen::Virtual => Box::new(Virtual::new(format)),
            Chosen::Jack(jack) => jack,
        }
    }

    /// Whether it brings sound into the inputs of a session.
    pub(super) fn has_inputs(&self) -> bool {
        matches!(self, Chosen::Jack(_))
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
    Failure::not_possible(error)
}

/// How the outputs of a session are called: the master, then its own names.
pub(super) fn output_names(session: &Session) -> Vec<String> {
    let own = session.outputs.iter().map(|output| output.name.clone());
    std::iter::once("main".to_string()).chain(own).collect()
}
