//! Which devices are there, and what helps if one is not.

use hocket_engine::{BlockTimes, Engine};

use crate::alsa::{self, AlsaOptions, CardFacts};
use crate::jack::{ServerFacts, pipewire};
use crate::{Alsa, AlsaError, BlockObserver, Connect, Jack, JackError, JackOptions};

/// A device, there or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its name on the command line.
    pub name: &'static str,
    /// Whether it is there.
    pub state: State,
}

/// Whether a device is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It is always there: a clock without sound.
    NoSound,
    /// A JACK server runs.
    Server(ServerFacts),
    /// There are sound cards; with each, why it does not play at present.
    Cards(Vec<(CardFacts, Option<String>)>),
    /// It is not there: the reason and the remedy, in one sentence.
    Missing(String),
    /// Hocket reaches it through the device `jack`: how, in one sentence.
    ThroughJack(&'static str),
}

/// Nobody.
struct Nobody;

impl BlockObserver for Nobody {
    fn block(&mut self, _: &BlockTimes, _: &Engine) -> bool {
        false
    }
}

/// All devices, the best first.
///
/// Thread: control. Becomes a client of the JACK server for a moment, if one runs, and starts none. Opens each card for a
/// moment, and plays nothing.
pub fn devices() -> Vec<Found> {
    let jack = jack();
    let pipewire = through_jack(&jack, pipewire::runs());
    vec![
        Found { name: "jack", state: jack },
        Found { name: "alsa", state: alsa() },
        Found { name: "virtual", state: State::NoSound },
        Found { name: "pipewire", state: pipewire },
    ]
}

/// How PipeWire is reached. `runs`: it has its socket here.
fn through_jack(jack: &State, runs: bool) -> State {
    match jack {
        State::Server(facts) if facts.is_pipewire() => State::ThroughJack(
            "no device of its own: jack plays on it, through PipeWire's JACK library",
        ),
        _ if !runs => State::Missing("no PipeWire runs for this user: it has no socket".into()),
        State::Server(_) => State::ThroughJack(
            "no device of its own, and jack is a JACK server here: `pw-jack hocket play ... --device jack` plays on PipeWire",
        ),
        _ => State::ThroughJack(
            "no device of its own: it runs, and jack reaches it through PipeWire's JACK library; see there what is missing",
        ),
    }
}

fn jack() -> State {
    let options =
        JackOptions { server: None, client_name: "hocket-devices".into(), connect: Connect::No };
    match Jack::<Nobody>::open(options) {
        Ok(jack) => State::Server(jack.server()),
        Err(error) => State::Missing(error.to_string()),
    }
}

fn alsa() -> State {
    match alsa::cards() {
        Ok(cards) if cards.is_empty() => State::Missing(AlsaError::NoCard.to_string()),
        Ok(cards) => State::Cards(cards.into_iter().map(looked_at).collect()),
        Err(error) => State::Missing(error.to_string()),
    }
}

/// A card, and why it does not play at present.
fn looked_at(card: CardFacts) -> (CardFacts, Option<String>) {
    let options = AlsaOptions { pcm: card.pcm.clone(), rate_hz: 48_000, frames: 256, periods: 2 };
    let why = Alsa::open(options).err().map(|error| error.to_string());
    (card, why)
}

/// Whether an error says that there is no server to play on, and not that one refuses.
pub fn is_absent(error: &JackError) -> bool {
    use JackError::{Library, NoPipeWireLibrary, NoPipeWirePorts, NoServer};
    matches!(error, Library(_) | NoServer(_) | NoPipeWireLibrary | NoPipeWirePorts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_pipewire_depends_on_what_runs() {
        let missing = State::Missing(JackError::NoPipeWireLibrary.to_string());
        assert!(
            matches!(through_jack(&missing, false), State::Missing(why) if why.contains("no PipeWire runs"))
        );
        assert!(
            matches!(through_jack(&missing, true), State::ThroughJack(how) if how.contains("what is missing"))
        );
        assert!(is_absent(&JackError::NoPipeWireLibrary), "then a card plays, without a warning");
        assert!(!is_absent(&JackError::PipeWire("it does not answer".into())));
    }
}
