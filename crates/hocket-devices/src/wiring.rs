//! Names of ports, and which is connected to which.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use crate::{Bundle, Channels};

/// What the ports are connected to at the start. A patch bay can change it at any time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Connect {
    /// The ports of the sound card, in their order.
    #[default]
    Physical,
    /// Nothing.
    No,
    /// The ports of this client, in their order.
    Client(String),
}

impl FromStr for Connect {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Connect, Infallible> {
        Ok(match text {
            "physical" => Connect::Physical,
            "no" => Connect::No,
            client => Connect::Client(client.trim_end_matches(':').into()),
        })
    }
}

impl fmt::Display for Connect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Connect::Physical => f.write_str("physical"),
            Connect::No => f.write_str("no"),
            Connect::Client(name) => f.write_str(name),
        }
    }
}

/// Names of ports without the client's.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PortNames {
    pub(super) outputs: Vec<String>,
    pub(super) inputs: Vec<String>,
    pub(super) midi: Vec<String>,
}

/// One port per channel: `main_1`, `main_2`; and one for MIDI: `keys_midi`. No two ports of a client have one name, whichever way they go.
pub(super) fn port_names(channels: &Channels, longest: usize) -> PortNames {
    let mut taken = BTreeSet::new();
    let mut names = |bundles: &[Bundle]| {
        let mut names = Vec::new();
        for bundle in bundles {
            let all = (1..=bundle.channels).map(|channel| channel.to_string());
            names.extend(all.map(|channel| unused(&mut taken, &bundle.name, &channel, longest)));
        }
        names
    };
    let (outputs, inputs) = (names(&channels.outputs), names(&channels.inputs));
    let with_events = channels.inputs.iter().filter(|input| input.events);
    let midi = with_events.map(|input| unused(&mut taken, &input.name, "midi", longest)).collect();
    PortNames { outputs, inputs, midi }
}

fn unused(taken: &mut BTreeSet<String>, bundle: &str, what: &str, longest: usize) -> String {
    let bundle = bundle.replace([':', '\0'], "_");
    let names = (1..).map(|attempt| {
        let end = match attempt {
            1 => format!("_{what}"),
            more => format!("-{more}_{what}"),
        };
        let mut name = bundle.clone();
        while name.len() + end.len() > longest && name.pop().is_some() {}
        name + &end
    });
    let mut new = names.filter(|name| taken.insert(name.clone()));
    new.next().unwrap_or_default()
}

/// Connections, from and to, and what is left.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) pairs: Vec<(String, String)>,
    pub(super) unconnected: Vec<String>,
}

/// Own ports (outputs, inputs) and those of others (what plays, what records), each in their order. A main output with
/// one channel plays on both sides.
pub(super) fn plan(
    (outputs, inputs): (&[String], &[String]),
    (plays, records): (&[String], &[String]),
    mono: bool,
) -> Plan {
    let twice = outputs.first().filter(|_| mono);
    let from: Vec<&String> = twice.into_iter().chain(outputs).collect();
    let out = from.iter().zip(plays).map(|(from, to)| ((*from).clone(), to.clone()));
    let into = records.iter().zip(inputs).map(|(from, to)| (from.clone(), to.clone()));
    let pairs: Vec<(String, String)> = out.chain(into).collect();
    let is_free = |port: &&String| !pairs.iter().any(|(from, to)| from == *port || to == *port);
    let unconnected = outputs.iter().chain(inputs).filter(is_free).cloned().collect();
    Plan { pairs, unconnected }
}

impl Plan {
    /// Adds own MIDI ports, and those of others that send, each in their order.
    pub(super) fn add_midi(&mut self, midi: &[String], senders: &[String]) {
        let pairs = senders.iter().zip(midi).map(|(from, to)| (from.clone(), to.clone()));
        self.pairs.extend(pairs);
        self.unconnected.extend(midi.iter().skip(senders.len()).cloned());
    }
}

/// The names of the clients that have these ports, but for one.
pub(super) fn clients<'a>(ports: impl Iterator<Item = &'a String>, but: &str) -> String {
    let client = |port: &'a String| port.split_once(':').map(|(client, _)| client);
    let names: BTreeSet<&str> = ports.filter_map(client).filter(|name| *name != but).collect();
    match names.is_empty() {
        true => "none".into(),
        false => names.into_iter().collect::<Vec<_>>().join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle(name: &str, channels: usize) -> Bundle {
        Bundle { name: name.into(), channels, events: false }
    }

    fn texts(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_channel_has_a_port_with_a_name_of_its_own() {
        let channels = Channels {
            outputs: vec![bundle("main", 2), bundle("cue: left", 1)],
            inputs: vec![bundle("main", 1), bundle("voice", 2)],
            ..Channels::default()
        };
        let names = port_names(&channels, 100);
        assert_eq!(names.outputs, ["main_1", "main_2", "cue_ left_1"]);
        assert_eq!(names.inputs, ["main-2_1", "voice_1", "voice_2"]);
        assert!(names.midi.is_empty());
        let outputs = vec![bundle("öööö", 2)];
        let names = port_names(&Channels { outputs, ..Channels::default() }, 7);
        assert_eq!(names.outputs, ["öö_1", "öö_2"], "cut between letters");
    }

    #[test]
    fn ports_are_connected_in_their_order_as_far_as_they_go() {
        let own = (&texts(&["h:main_1", "h:main_2", "h:cue_1"])[..], &texts(&["h:voice_1"])[..]);
        let there =
            (&texts(&["system:p1", "system:p2"])[..], &texts(&["system:c1", "system:c2"])[..]);
        let plan = plan(own, there, false);
        let pairs: Vec<String> =
            plan.pairs.iter().map(|(from, to)| format!("{from} {to}")).collect();
        assert_eq!(pairs, ["h:main_1 system:p1", "h:main_2 system:p2", "system:c1 h:voice_1"]);
        assert_eq!(plan.unconnected, ["h:cue_1"]);
    }

    #[test]
    fn an_input_with_events_has_a_midi_port_too() {
        let keys = |channels| Bundle { events: true, ..bundle("keys", channels) };
        let inputs = vec![keys(1), bundle("voice", 1), keys(2)];
        let names = port_names(&Channels { inputs, ..Channels::default() }, 100);
        assert_eq!(names.inputs, ["keys_1", "voice_1", "keys-2_1", "keys_2"]);
        assert_eq!(names.midi, ["keys_midi", "keys-2_midi"]);
        let mut plan = Plan::default();
        plan.add_midi(&names.midi, &texts(&["system:midi_capture_1"]));
        assert_eq!(plan.pairs, [("system:midi_capture_1".into(), "keys_midi".into())]);
        assert_eq!(plan.unconnected, ["keys-2_midi"]);
    }

    #[test]
    fn one_channel_plays_on_both_sides() {
        let plan = plan((&texts(&["h:main_1"]), &[]), (&texts(&["s:1", "s:2"]), &[]), true);
        let to: Vec<&str> = plan.pairs.iter().map(|(_, to)| &**to).collect();
        assert_eq!(to, ["s:1", "s:2"]);
        assert!(plan.unconnected.is_empty());
    }

    #[test]
    fn a_connection_is_read_and_written_as_one_word() {
        for text in ["physical", "no", "ardour"] {
            assert_eq!(text.parse::<Connect>().unwrap().to_string(), text);
        }
        assert_eq!("ardour:".parse(), Ok(Connect::Client("ardour".into())));
    }
}
